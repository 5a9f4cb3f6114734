"""Measures what a search finds of signals that are injected into copies of one observation.  What could not be searched has no signals.  A run that
was killed is gone on with."""
import json
import os
import shlex
import subprocess
import sys


def has_failed(path):
    with open(path, encoding="utf-8") as search:
        return "failed" in json.load(search)


def main():
    result = snakemake.output[0]
    if has_failed(snakemake.input.search):
        open(result, "w").close()
        return
    options = shlex.split(snakemake.params.inject)
    command = ["psrinject", "-q", "-o", os.path.dirname(result), "-ncpus", str(snakemake.threads), "-search", snakemake.params.options]
    command += ["-seed", str(snakemake.params.seed), *options, "--", *snakemake.input.files]
    with open(snakemake.log[0], "w", encoding="utf-8") as log:
        code = subprocess.run(command, stdin=subprocess.DEVNULL, stderr=log).returncode
    if code != 0:
        with open(snakemake.log[0], encoding="utf-8") as log:
            said = log.read().strip().splitlines() or [f"psrinject ended with {code}"]
        print(f"{os.path.dirname(result)}: {said[-1]}", file=sys.stderr)
        sys.exit(1)


main()
