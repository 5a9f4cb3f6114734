"""Searches one observation in the folder of the result, which gets the summary in JSON, or why these data cannot be searched.  If
another attempt may help, there is no result, and the exit status is 1."""
import glob
import json
import os
import shlex
import subprocess
import sys

BAD_DATA = 3  # exit status of psrsearch, as of all tools


def folder_of_result():
    """The folder of the search."""
    return os.path.dirname(snakemake.output[0])


def search(part):
    """Exit status and messages; the summary goes into part."""
    # A quarter of the memory is left for what is not psrsearch's.
    memory = f"{snakemake.resources['mem_mb'] * 3 // 4}M"
    command = ["psrsearch", "-q", "-json", "-o", folder_of_result(), "-mem", memory, "-ncpus", str(snakemake.threads)]
    command += ["-device", snakemake.params.device, *shlex.split(snakemake.params.options), "--", *snakemake.input]
    with open(part, "wb") as to:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=to, stderr=subprocess.PIPE)
    return done.returncode, done.stderr.decode(errors="replace")


def drop_lists():
    """Removes the lists of every DM."""
    folder = folder_of_result()
    for name in glob.glob(os.path.join(glob.escape(folder), "*.lists")):
        os.remove(name)


def main():
    result = snakemake.output[0]
    part = result + ".part"
    code, errors = search(part)
    with open(snakemake.log[0], "w", encoding="utf-8") as log:
        log.write(errors)
    if code == 0:
        if snakemake.params.lists == "drop":
            drop_lists()
        os.replace(part, result)
        return
    os.remove(part)
    # The name of the log of a step is not needed: the log is beside the result.
    said = errors.strip().splitlines() or [f"psrsearch ended with {code}"]
    why = said[-1].split("; its messages are in ")[0]
    print(f"{folder_of_result()}: {why}", file=sys.stderr)
    if code != BAD_DATA:
        sys.exit(1)
    with open(part, "w", encoding="utf-8") as to:
        print(json.dumps({"failed": why}), file=to)
    os.replace(part, result)


main()
