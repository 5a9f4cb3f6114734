# Configuration and table, and what a row asks for.
import csv
import os
import shlex
import subprocess

import snakemake
from snakemake.exceptions import WorkflowError
from snakemake.utils import min_version, validate

min_version("7.19")
validate(config, "config.schema.yaml")

RESULTS = config["results"].rstrip("/")


def read_table(path):
    """Files by name, of a table with the columns name and file; a name in several rows has all their files."""
    with open(path, newline="") as table:
        rows = list(csv.DictReader(table, delimiter="\t", restkey="further"))
    # A job on a node trusts what the run has validated; release 7 does not say which of them reads this.
    if getattr(workflow, "is_main_process", True):
        validate({"rows": rows}, "table.schema.yaml")
    files = {}
    for row in rows:
        files.setdefault(row["name"], []).append(row["file"])
    return files


def check_inputs(files, options):
    """A missing file and a wrong option are faults of whoever asks, and found before anything runs."""
    missing = [file for rows in files.values() for file in rows if not os.path.exists(file)]
    if missing:
        raise WorkflowError(f"{config['table']}: {len(missing)} files are missing, the first is {missing[0]}")
    command = ["psrsearch", "-n", "-q", *options, "--", *next(iter(files.values()))]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    except OSError:
        return  # it is on the nodes only, or in the image
    if done.returncode not in (0, 3):
        raise WorkflowError((done.stderr.strip().splitlines() or ["psrsearch failed"])[-1])


FILES = read_table(config["table"])
if getattr(workflow, "is_main_process", True):
    try:
        check_inputs(FILES, shlex.split(config["options"]))
    except ValueError as error:
        raise WorkflowError(f"options: {error}")


def read_inspected():
    """Rows of inspect.tsv by name; none before it is there."""
    path = f"{RESULTS}/inspect.tsv"
    if not os.path.exists(path):
        return {}
    with open(path, newline="") as table:
        return {row["name"]: row for row in csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE)}


INSPECTED = {}


def inspected(name):
    if name not in INSPECTED:
        INSPECTED.update(read_inspected())
    return INSPECTED.get(name, {"samples": 0})


def minutes_of(name):
    """Minutes that a search asks for, by the samples of all its series."""
    gsamples = float(inspected(name)["samples"]) * 1e-9
    return int(config["minutes"] + gsamples * config["minutes_per_gsample"])


def group_of(name):
    """Searches of small files share jobs of a cluster: --group-components small=N."""
    return "small" if float(inspected(name)["samples"]) <= config["small_gsamples"] * 1e9 else None


def is_inspected():
    """Whether inspect.tsv is newer than the table."""
    path = f"{RESULTS}/inspect.tsv"
    return os.path.exists(path) and os.stat(path).st_mtime_ns >= os.stat(config["table"]).st_mtime_ns


def readable(wildcards):
    """Names of all files whose headers can be read.  --batch takes no list that is known after a checkpoint only."""
    if not is_inspected():
        checkpoints.inspect.get()
    INSPECTED.clear()
    INSPECTED.update(read_inspected())
    return [name for name, row in INSPECTED.items() if not row["problem"]]


def results_of_readable(wildcards):
    return [f"{RESULTS}/{name}/search.json" for name in readable(wildcards)]


def outcome_line():
    """What a run that has ended says; its page replaces that of one that failed."""
    if os.path.exists(f"{RESULTS}/unfinished.html"):
        os.remove(f"{RESULTS}/unfinished.html")
    with open(f"{RESULTS}/failed.tsv") as failed:
        nfailed = len(failed.readlines()) - 1
    good = f"{len(FILES) - nfailed} of {len(FILES)} observations searched: {RESULTS}/report.html"
    return good if not nfailed else f"{good}; {nfailed} cannot be: {RESULTS}/failed.tsv"


# A recall searches so many copies of an observation, roughly: psrinject's options say how many.
COPIES = 20

# The executor of release 8 and later knows gpu; that of release 7 hands options to sbatch.
if not config["gpus"]:
    GPU_REQUEST = {}
elif int(snakemake.__version__.split(".")[0]) >= 8:
    GPU_REQUEST = {"gpu": config["gpus"]}
else:
    GPU_REQUEST = {"gpu": config["gpus"], "slurm_extra": f"'--gres=gpu:{config['gpus']}'"}


wildcard_constraints:
    name=r"[A-Za-z0-9][A-Za-z0-9_.+-]*",
