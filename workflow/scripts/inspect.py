"""Reads the headers of all files: the samples that a search of each makes, or why its data cannot be read.  Any other fault ends the
job: it is none of the data."""
import csv
import json
import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

BAD_DATA = 3  # exit status of all tools
COLUMNS = ["name", "bytes", "tobs_s", "dms", "samples", "problem"]


def read_table(path):
    """Files by name."""
    files = {}
    with open(path, newline="") as table:
        for row in csv.DictReader(table, delimiter="\t"):
            files.setdefault(row["name"], []).append(row["file"])
    return files


class DataError(Exception):
    """What is wrong with the data."""


def run(command):
    """Standard output; raises the last line of standard error if the command fails: DataError or RuntimeError."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"{command[0]} failed with exit code {done.returncode}"]
        raise (DataError if done.returncode == BAD_DATA else RuntimeError)(lines[-1])
    return done.stdout


def plan_cost(files, options):
    """The plan that psrsearch would make, with its cost; rates are not needed here, thus not measured."""
    commands = run(["psrsearch", "-n", "-q", *options, "--", *files]).splitlines()
    words = shlex.split(next(line for line in commands if line.startswith("ddplan ")))
    at = words.index("-plan")
    del words[at : at + 2]
    return json.loads(run(words[:1] + ["-json", "-cost", "-rates", "read=1e9,add=1e9,write=1e9,tree=1e9"] + words[1:]))


def inspect(name, files, options):
    try:
        plan = plan_cost(files, options)
        size = sum(os.path.getsize(file) for file in files)
    except DataError as error:
        return [name, 0, 0, 0, 0, " ".join(str(error).split())]
    # Series of 4-byte samples are what would be written.
    samples = int(plan["cost"]["write"]["amount"] / 4)
    return [name, size, plan["cost"]["tobs_s"], plan["ndm"], samples, ""]


def tell(folder, problem):
    """Where psrreport looks for the reason."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "search.log"), "w", encoding="utf-8") as log:
        print(problem, file=log)


def main():
    options = shlex.split(snakemake.params.options)
    files = read_table(snakemake.input[0])
    with ThreadPoolExecutor(snakemake.threads) as pool:
        try:
            rows = list(pool.map(lambda name: inspect(name, files[name], options), files))
        except (OSError, RuntimeError) as error:
            with open(snakemake.log[0], "w", encoding="utf-8") as log:
                print(error, file=log)
            sys.exit(f"inspect: {error}")
    with open(snakemake.output[0], "w", newline="", encoding="utf-8") as to:
        writer = csv.writer(to, delimiter="\t", quoting=csv.QUOTE_NONE, quotechar=None, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(rows)
    bad = [row for row in rows if row[-1]]
    with open(snakemake.log[0], "w", encoding="utf-8") as log:
        for row in bad:
            tell(os.path.join(snakemake.params.results, row[0]), row[-1])
            print(f"{row[0]}: {row[-1]}", file=log)


main()
