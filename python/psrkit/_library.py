"""Loads libpsrkit.so, turns its errors into exceptions, and runs its long calls so that Ctrl-C ends them."""
import difflib
import glob
import os
import re
import threading

from . import _constants
from ._declarations import ffi

try:  # where the library was when the package was built
    from ._built import LIBRARY_FOLDER, PROGRAM_FOLDER
except ImportError:
    LIBRARY_FOLDER = PROGRAM_FOLDER = None

HERE = os.path.dirname(os.path.abspath(__file__))


def find_candidates():
    """Names to try, in order: PSRKIT_LIBRARY, that of a wheel, that of the build, the system's."""
    if os.environ.get("PSRKIT_LIBRARY"):
        return [os.environ["PSRKIT_LIBRARY"]]
    inside = sorted(glob.glob(os.path.join(HERE, "_lib", "libpsrkit*.so*")))
    built = [os.path.join(LIBRARY_FOLDER, "libpsrkit.so.1")] if LIBRARY_FOLDER else []
    return inside + [path for path in built if os.path.exists(path)] + ["libpsrkit.so.1"]


def load():
    names = find_candidates()
    for name in names:
        try:
            # Kept to the end of the process: threads that wait in it outlive the last reference.
            found = ffi.dlopen(name, ffi.RTLD_NOW | ffi.RTLD_NODELETE)
            break
        except OSError as error:
            why = error
    else:
        raise ImportError("psrkit: cannot load %s: %s; PSRKIT_LIBRARY names the library" % (" or ".join(names), why))
    version = ffi.string(found.psr_version()).decode()
    wanted = "%d.%d." % (_constants.VERSION_MAJOR, _constants.VERSION_MINOR)
    if not version.startswith(wanted):
        raise ImportError("psrkit: library %s is version %s, but the package was built for %sx" % (name, version, wanted))
    return found, name, version


lib, library_path, library_version = load()


class Error(Exception):
    """An error of psrkit.

    Attributes
    ----------
    field : str
        Name of what is wrong: an argument, a keyword of a header; "" if it has none.
    value
        Its value; None if it is not known.
    limit
        What is allowed, in words or as a number; None if it is not known.
    """

    def __init__(self, message, field="", value=None, limit=None):
        super().__init__(message)
        self.field, self.value, self.limit = field, value, limit


class InvalidError(Error, ValueError):
    """An argument is out of its range."""


class UnknownNameError(InvalidError, TypeError):
    """A dict, or a call, has a name that means nothing."""


class NoMemoryError(Error, MemoryError):
    """Memory ran out, or a limit of memory does not suffice."""


class FileError(Error, OSError):
    """Opening, reading or writing a file failed."""

    def __init__(self, message, field="", value=None, limit=None):
        Error.__init__(self, message, field, value, limit)

    def __str__(self):
        return self.args[0]


class FormatError(Error, ValueError):
    """The content of a file violates its format."""


class DeviceError(Error, RuntimeError):
    """A GPU failed, or there is none."""


class UnsupportedError(Error, NotImplementedError):
    """Valid, but not supported."""


class StoppedError(Error, RuntimeError):
    """The call was stopped by its caller."""


KINDS = {1: InvalidError, 2: NoMemoryError, 3: FileError, 4: FormatError, 5: DeviceError, 6: UnsupportedError, 7: StoppedError}

# Options of programs that messages of the library name, and arguments of the package; others differ by the dash.
ARGUMENTS = {"p": "period_s", "f": "freq_hz", "mem": "mem_bytes", "if N": "polarisation=N", "state Stokes": "pols='stokes'",
             "state Coherence": "pols='coherence'", "clean auto": "clean='auto'", "pmin": "pmin_s of ranges", "pmax": "pmax_s of ranges",
             "bmin": "bmin of ranges", "bmax": "bmax of ranges", "topo": "barycentre=False", "numharm": "harmonics",
             "maxcands": "max_candidates", "flo": "flo_hz", "fhi": "fhi_hz", "maxwidth": "maxwidth_s", "time": "interval_s"}
OPTION = re.compile(r"(?<![\w.)\]-])-(if N|state Stokes|state Coherence|clean auto|[a-z]\w*)\b")
FIELDS = {"numharm": "harmonics", "maxcands": "max_candidates", "if_choice": "polarisation", "hidm": "dm_max", "lodm": "dm_min",
          "period": "period_s"}  # of descriptions, which the package names otherwise


# Words before what is allowed, and before what is not.
LIMIT = re.compile(r"must be (.*)|is not (.*)|limit (?:of |is )?(.*)|((?:is |are )?(?:above|below|outside) .*)|at (?:least|most) (.*)")
UNIT = re.compile(r"\((?:[^()\d]|\^-?\d)*\)")
NUMBER = re.compile(r"[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|'[^']*'|\bnan\b|\binf\b")


def read_message(message, field):
    """Value and limit of a message of the library, in its words; None where it has none."""
    at = LIMIT.search(message)
    limit = next((text for text in at.groups() if text), None) if at else None
    head = UNIT.sub("", message[:at.start()] if at else message)
    begin = head.find(field) + len(field) if field and field in head else head.find(": ") + 1
    value = NUMBER.search(head, max(begin, 0))
    text = value.group().strip("'") if value else None
    try:
        return float(text) if text is not None else None, limit
    except ValueError:
        return text, limit


def to_python(value):
    """A C value as Python shows it; None for what has no plain form."""
    if isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, ffi.CData) and value != ffi.NULL and ffi.typeof(value) in (ffi.typeof("char *"), ffi.typeof("const char *")):
        return ffi.string(value).decode(errors="replace")
    return None


def name_argument(option):
    """The argument of an option, as a match of OPTION."""
    return ARGUMENTS.get(option.group(1), option.group(1))


def make_error(err, desc=None):
    """The exception of a psr_err; the value of its field is taken from the description that was refused."""
    message, field = ffi.string(err.msg).decode(errors="replace"), ffi.string(err.field).decode(errors="replace")
    value, limit = read_message(OPTION.sub(name_argument, message), field)
    if err.code == lib.PSR_EIO and not field:
        field, (value, _, limit) = "path", message.rpartition(": ")
    if desc is not None and field.isidentifier() and hasattr(desc, field):
        exact = to_python(getattr(desc, field))
        value = value if exact is None else exact
    message = message.replace("gpuaccel-pulscan searches it, gpufold folds it", "read_series reads a .dat, search_periods searches it, fold folds it")
    if field in FIELDS:
        message = re.sub(r"\b%s\b" % field, FIELDS[field], message)
    return KINDS.get(err.code, Error)(OPTION.sub(name_argument, message), FIELDS.get(field, field), value, limit)


def check(status, err, desc=None):
    """Raises what a status other than PSR_OK means."""
    if status:
        raise make_error(err, desc)


ERROR = ffi.typeof("psr_err *")


def new_error():
    return ffi.new(ERROR)


def fail(field, value, limit, what=None):
    """Raises InvalidError for an argument."""
    raise InvalidError("%s is %s, must be %s" % (what or field, value, limit), field, value, limit)


def check_names(given, known, what):
    """Raises UnknownNameError for the first name of a dict that is not known, and names one that is much like it."""
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(str(name).lower(), known, 1)
            limit = near[0] if near else ", ".join(known)
            raise UnknownNameError("unknown %s: %s; %s %s%s" % (what, name, "do you mean" if near else "there are", limit, "?" if near else ""),
                                   str(name), given[name] if isinstance(given, dict) else None, limit)


def path_bytes(path):
    return os.fsencode(os.fspath(path))


class Strings:
    """A C array of texts that lives as long as this object."""

    def __init__(self, texts):
        self.kept = [ffi.new("char[]", path_bytes(text)) for text in texts]
        self.array = ffi.new("char *[]", self.kept)


class Progress:
    """Calls progress(done, total); True is a bar of tqdm, where that is installed."""

    def __init__(self, progress, total, unit=" spectra"):
        self.call, self.total, self.bar = progress, total, None
        if progress is True:
            self.call = None
            try:
                from tqdm.auto import tqdm
            except ImportError:
                return
            self.bar = tqdm(total=total, unit=unit)

    def update(self, done):
        if self.bar is not None:
            self.bar.update(done - self.bar.n)
        elif self.call:
            self.call(done, self.total)

    def close(self):
        if self.bar is not None:
            self.bar.close()


class Watch:
    """What a long call of the library polls: should_stop, and progress if there is any.

    An exception of the caller's progress stops the call, which then raises it.
    """

    def __init__(self, progress=None, total=None):
        self.stop, self.error = False, None
        self.progress = Progress(progress, total)
        self.should_stop = ffi.callback("bool(void *)", lambda ctx: self.stop, error=True)
        self.on_progress = ffi.callback("void(void *, int64_t)", self.notify) if progress else ffi.NULL

    def notify(self, ctx, done):
        if not self.stop:
            self.guard(self.progress.update, done)

    def guard(self, function, *args):
        """Calls a function of the caller from a callback."""
        try:
            function(*args)
        except BaseException as error:
            self.error, self.stop = error, True

    def run(self, function, *args):
        """Calls function; while it runs the main thread takes signals, of which an exception ends it."""
        try:
            if threading.current_thread() is threading.main_thread():
                return self.run_beside(function, args)
            return function(*args)
        finally:
            self.progress.close()
            if self.error is not None:
                raise self.error

    def run_beside(self, function, args):
        done, result = threading.Event(), []

        def work():
            try:
                result.append(function(*args))
            except BaseException as error:  # such as that of a callback without memory
                self.error = self.error or error
            finally:
                done.set()

        thread = threading.Thread(target=work, name="psrkit")
        thread.start()
        while not done.is_set():
            try:
                done.wait(0.2)
            except BaseException as error:
                self.error, self.stop = self.error or error, True
        thread.join()
        return result[0] if result else None
