"""Runs psrsearch, and gives its results as objects."""
import os
import re
import shutil
import signal
import subprocess
import tempfile

from ._files import as_paths
from ._library import HERE, PROGRAM_FOLDER, FileError, UnsupportedError, InvalidError, Error, fail, read_message
from ._lists import Report
from ._observation import as_observation


def find_program(name):
    """A program of psrkit: of the wheel, of the library's installation, or of PATH."""
    folders = [os.path.join(HERE, "_bin")] + ([PROGRAM_FOLDER] if PROGRAM_FOLDER else [])
    for folder in folders:
        path = os.path.join(folder, name)
        if os.access(path, os.X_OK):
            return path
    path = shutil.which(name)
    if path is None:
        raise FileError("%s is not installed" % name, "program", name, "a program in PATH")
    return path


def as_arguments(options):
    """Options as psrsearch takes them: hidm=300 is -hidm 300, report=True is -report."""
    words = []
    for name, value in options.items():
        if value is True:
            words.append("-" + name)
        elif value is not None and value is not False:
            words += ["-" + name, os.fspath(value) if hasattr(value, "__fspath__") else str(value)]
    return words


def stop_program(process):
    """Ends the program as Ctrl-C does, so that it removes what it has not finished."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def run(obs, folder=None, *, progress=None, **options):
    """Searches an observation for pulsars and bursts as psrsearch does: mask, plan, search, sift, fold, report.

    Parameters
    ----------
    obs : Observation, path or list of paths
    folder : path, optional
        For all files of the search, which a later call resumes; default: a temporary folder that lasts as long as
        the result.
    progress : callable, optional
        Is called with each line that psrsearch writes; stop it with an exception.
    **options
        Options of psrsearch(1): hidm=300, budget="fast", ncands=20, nobary=True, ..

    Returns
    -------
    Report

    Raises
    ------
    InvalidError
        For options that psrsearch does not take.
    UnsupportedError
        For data that are malformed or not supported.
    Error
        If a step fails; the message is that of psrsearch.
    """
    if "o" in options:
        fail("o", options["o"], "given as folder")
    obs = as_observation(obs) if not isinstance(obs, (list, tuple)) else obs
    kept = None
    if folder is None:
        kept = tempfile.TemporaryDirectory(prefix="psrkit")
        folder = os.path.join(kept.name, "search")
    with tempfile.TemporaryDirectory(prefix="psrkit") as scratch:
        paths = [os.fspath(path) for path in obs] if isinstance(obs, (list, tuple)) else as_paths(obs, scratch)[0]
        command = [find_program("psrsearch"), "-o", os.fspath(folder)] + as_arguments(options) + paths
        run_program(command, progress, options)
    found = Report(folder)
    found._kept = kept
    return found


def run_program(command, progress, options):
    """Runs a program of psrkit; raises what its exit status means, of the option that its last line names."""
    last = ""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               errors="replace", start_new_session=True)
    try:
        for line in process.stderr:
            last = line.strip() or last
            if progress and progress is not True:
                progress(line.rstrip("\n"))
        status = process.wait()
    except BaseException:
        stop_program(process)
        raise
    finally:
        process.stderr.close()
    if status:
        field = next((word for word in re.findall(r"-(\w+)", last) if word in options), "status")
        raise {2: InvalidError, 3: UnsupportedError}.get(status, Error)(
            last or "psrsearch: exit status %d" % status, field, options.get(field, status), read_message(last, field)[1])
