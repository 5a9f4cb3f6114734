#!/usr/bin/env python3
"""How many false pulses gpudedisp -live has in white and in red noise, beside the search of the same file.

    tests/science/live_noise.py [HOURS [SEED]] >live_noise.txt

Makes HOURS (default 10) files of an hour of noise for each kind: 64 channels of 4 MHz below 1500 MHz, 1 ms,
8 bits, and red noise common to all channels as fakebin -rednoise makes it.  Searches each at DM 0 alone
and at 31 DMs up to 300, with -live and with -singlepulse -json, and counts what both tell of above S/N 6, 7 and
8, per hour, and how much of it has no mark.  Needs psrkit's tools in PATH, and 250 MB under TMPDIR.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

CHANNELS, SECONDS = 64, 3600
SKY = f"-q -nchans {CHANNELS} -nbits 8 -tsamp 1000 -fch1 1500 -foff 4 -period 0 -tobs {SECONDS}"
# Red noise of the sum of all channels, times its white noise; index of its power.
KINDS = [(0, -2), (1, -1), (1, -2), (1, -3), (4, -1), (4, -2), (4, -3), (16, -2)]
TRIALS = {"DM 0": "-lodm 0 -dmstep 10 -numdms 1", "31 DMs": "-lodm 0 -dmstep 10 -numdms 31"}
WIDTHS = [0.05, 0.3]
LEVELS = [6, 7, 8]


def run(command, folder):
    subprocess.run(command, shell=True, cwd=folder, check=True)


def read_pulses(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def search(folder, trials, width):
    """Pulses of both searches of noise.fil."""
    options = f"-q {trials} -maxwidth {width} -threshold {LEVELS[0]}"
    run(f"gpudedisp -live {options} -o - - <noise.fil >live", folder)
    run(f"gpudedisp -singlepulse -json -nowrite -nobary {options} -o file noise.fil", folder)
    return read_pulses(folder / "live"), read_pulses(folder / "file.pulses.jsonl")


def describe(strength, index):
    return f"red {strength}, {index}" if strength else "white"


def count(pulses, hours):
    """Per hour above each level: all, and those without a mark."""
    some = [[p for p in pulses if p["snr"] >= level] for level in LEVELS]
    return " ".join(f"{len(s) / hours:8.1f} {sum(not p['marks'] for p in s) / hours:7.1f}" for s in some)


def main():
    hours = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    found = {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for kind in KINDS:
            for hour in range(hours):
                # common to all channels it adds up, the noise of each only by its square
                sigma = kind[0] / CHANNELS**0.5
                red = f"-rednoise {sigma:.6f} -redindex {kind[1]}"
                run(f"fakebin {SKY} -seed {seed + hour} {red} -o noise.fil", folder)
                for trials in TRIALS:
                    for width in WIDTHS:
                        pair = search(folder, TRIALS[trials], width)
                        for how, pulses in zip(("live", "file"), pair):
                            found.setdefault((trials, width, kind, how), []).extend(pulses)
    print(f"false pulses an hour, of {hours} hours, seed {seed}: all, and those without a mark")
    for trials in TRIALS:
        for width in WIDTHS:
            head = " ".join(f"{'above ' + str(level):>16}" for level in LEVELS)
            print(f"\n{trials}, boxcars up to {width} s\n{'':20}{head}")
            for kind in KINDS:
                for how in ("live", "file"):
                    label = describe(*kind) if how == "live" else ""
                    print(f"{label:14} {how:5}{count(found[trials, width, kind, how], hours)}")


main()
