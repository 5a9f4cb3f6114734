"""Runs psrsearch, and gives its results as objects."""
import difflib
import inspect
import os
import re
import shutil
import signal
import subprocess
import tempfile

from ._files import as_paths
from ._library import HERE, PROGRAM_FOLDER, FileError, UnsupportedError, InvalidError, Error, fail, lib, read_message
from ._lists import Report
from ._observation import FileObservation, as_observation


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


# Arguments of run(), and the options of psrsearch that they are; others have the same name.
OPTIONS = {"dm_max": "hidm", "dm_min": "lodm", "resolution_ms": "res", "coherent_dm": "cdm", "method": "search", "harmonics": "numharm",
           "flo_hz": "flo", "maxwidth_s": "maxwidth", "nfold": "ncands", "backend": "device", "nthread": "ncpus", "mem_bytes": "mem"}
READING = {"if_choice": "if", "no_weights": "noweights", "no_scales": "noscales", "no_offsets": "nooffsets", "invert": "invert"}
STATES = {lib.PSR_POLS_COHERENCE: "Coherence", lib.PSR_POLS_STOKES: "Stokes"}


def as_arguments(options):
    """Options as psrsearch takes them: dm_max=300 and hidm=300 are -hidm 300, segments=True is -segments."""
    words = []
    for name, value in options.items():
        name = OPTIONS.get(name, name)
        if value is True:
            words.append("-" + name)
        elif value is not None and value is not False:
            words += ["-" + name, os.fspath(value) if hasattr(value, "__fspath__") else str(value)]
    return words


def reading_options(obs):
    """How psrsearch is to read what was opened so."""
    if not isinstance(obs, FileObservation):
        return {}
    found = {READING[name]: value for name, value in obs._options.items() if name in READING and value is not False}
    if found.get("if", -1) < 0:
        found.pop("if", None)
    pols = obs._options.get("pols", lib.PSR_POLS_UNKNOWN)
    if pols != lib.PSR_POLS_UNKNOWN:
        if pols not in STATES:
            fail("pols", "that of an observation for run()", "stokes or coherence")
        found["state"] = STATES[pols]
    return found


def stop_program(process):
    """Ends the program as Ctrl-C does, so that it removes what it has not finished."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def run(obs, folder=None, *, dm_max=None, dm_min=None, budget=None, nfold=None, clean=None, ignorechan=None, barycentre=True,
        resolution_ms=None, coherent_dm=None, method=None, zmax=None, wmax=None, harmonics=None, sigma=None, flo_hz=None, segments=False,
        ffa=None, zap=False, zaplist=None, threshold=None, maxwidth_s=None, halve=None, fine=None, catalogue=None, par=None, backend=None,
        nthread=None, mem_bytes=None, progress=None, **options):
    """Searches an observation for pulsars and bursts as psrsearch does: mask, plan, search, sift, fold, report.

    Parameters
    ----------
    obs : Observation, path or list of paths
    folder : path, optional
        For all files of the search, which a later call resumes; default: a temporary folder that lasts as long as
        the result.
    dm_max, dm_min : float
        Range of DMs, pc cm^-3; default 0 to 1000.  Trials end where the sweep takes half of the observation.
    budget : {"fast", "normal", "deep"}
        Sets what is not given: method "matched" with zmax 0, 50 (the default) or 200; harmonics 8, 16 or 32; nfold 10, 50 or 100; fine
        1, 4 or 8.
    nfold : int
        Folds so many of the best candidates.
    clean : {"auto", "mask", "none"}
        How interference is removed: automatically (the default), by the mask of find_interference, or not.
    ignorechan : str
        Channels to leave out: "3,5:9,20:30:5", channel 0 is the lowest in frequency.
    barycentre : bool
        Times are those of the barycentre, where the header has position and telescope.
    resolution_ms, coherent_dm : float
        As in plan().
    method, zmax, wmax, harmonics, sigma, flo_hz
        As in search_periods(); of one DM.
    segments : bool
        Search halves and quarters of the observation for periods, too.
    ffa : {"auto", "none"}
        Search for slow pulsars by fast folding; auto: of two minutes or more, in budgets normal and deep.
    zap : bool
        Leave out frequencies that are lines at DM 0; zaplist is a file of such frequencies.
    threshold, maxwidth_s : float
        Of bursts, as in search_pulses(); default 6, and 0.5 s.
    halve, fine : int
        Search halves .. 1/2^halve of the band for bursts, too; search them with up to fine times finer samples and DMs.
    catalogue, par : path
        Known pulsars, whose candidates are named; an ephemeris to fold with, too.
    backend : str
        "auto", "cpu", "cuda", or numbers of GPUs: "0,1".
    nthread : int
        Threads; default: all cores.
    mem_bytes : int or str
        Limit of memory, bytes or as "4G".
    progress : callable, optional
        Is called with each line that psrsearch writes; stop it with an exception.
    **options
        Others of psrsearch, as ``psrsearch -h`` has them: position="17:48:00,-24:46:00", lists="files", ..  Also those above by its
        names: hidm=300, ncands=20, nobary=True.

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
    given = dict(
        dm_max=dm_max, dm_min=dm_min, budget=budget, nfold=nfold, clean=clean, ignorechan=ignorechan, resolution_ms=resolution_ms,
        coherent_dm=coherent_dm, method=method, zmax=zmax, wmax=wmax, harmonics=harmonics, sigma=sigma, flo_hz=flo_hz, segments=segments,
        ffa=ffa, zap=zap, zaplist=zaplist, threshold=threshold, maxwidth_s=maxwidth_s, halve=halve, fine=fine, catalogue=catalogue, par=par,
        backend=backend, nthread=nthread, mem_bytes=mem_bytes)
    if "o" in options:
        fail("o", options["o"], "given as folder")
    for name, option in OPTIONS.items():
        if given[name] is not None and option in options:
            fail(option, options[option], "given once: %s is %s" % (name, given[name]))
    obs = as_observation(obs) if not isinstance(obs, (list, tuple)) else obs
    options = dict({name: value for name, value in given.items() if value is not None and value is not False}, **options)
    if not barycentre:
        options["nobary"] = True
    kept = None
    if folder is None:
        kept = tempfile.TemporaryDirectory(prefix="psrkit")
        folder = os.path.join(kept.name, "search")
    with tempfile.TemporaryDirectory(prefix="psrkit") as scratch:
        paths = [os.fspath(path) for path in obs] if isinstance(obs, (list, tuple)) else as_paths(obs, scratch)[0]
        command = [find_program("psrsearch"), "-o", os.fspath(folder)] + as_arguments(dict(reading_options(obs), **options)) + paths
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
        named = {OPTIONS.get(name, name): name for name in options}
        word = next((word for word in re.findall(r"-(\w+)", last) if word in named), None)
        field = named.get(word, "status")
        last = re.sub(r"(?<!\w)-(%s)\b" % "|".join(named), lambda found: named[found.group(1)], last) if word else last
        last = last.replace("psrsearch --help", "help(psrkit.run)")
        if "unknown option" in last:
            near = difflib.get_close_matches(str(field), list(inspect.signature(run).parameters), 1)
            last += "".join("; do you mean %s?" % name for name in near)
        raise {2: InvalidError, 3: UnsupportedError}.get(status, Error)(
            last or "psrsearch: exit status %d" % status, field, options.get(field, status), read_message(last, field)[1])
