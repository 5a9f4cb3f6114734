"""Lists that psrkit and PRESTO write: candidates, pulses, .inf files, results of a search."""
import contextlib
import csv
import glob
import json
import os
import re

import numpy as np

from ._arrays import address
from ._declarations import ffi
from ._files import output, write_bytes
from ._folding import read_pfd
from ._library import FileError, FormatError, check, check_names, fail, lib, new_error, path_bytes
from ._periods import UNITS
from ._pulses import MARKS, PULSE_UNITS
from ._table import Table, make_table, pad_rows, units_of


def read_accel(path):
    """Reads a list of accelsearch or gpuaccel-pulscan: ROOT_ACCEL_ZMAX.

    Returns
    -------
    Table
        sigma, freq_hz, period_s, fd, fdd, dm, nharm, power, coherent, r, z, w, number, harmonics (their powers, NaN behind the
        last), at (when it has these values: the middle); a row a candidate.  ``meta["inf"]`` has the description of the series.
    """
    rows, err = ffi.gc(ffi.new("struct psr_accel_rows *"), lib.psr_accel_rows_clear), new_error()
    name = os.fspath(path)
    if name.endswith((".cand", ".inf", ".txtcand")):
        fail("path", name, "the list ROOT_ACCEL_ZMAX, without an ending" if "_ACCEL_" in name else
             "a list ROOT_ACCEL_ZMAX; read_pulses reads .cand of pulses, read_inf .inf")
    check(lib.psr_accel_read(rows, path_bytes(path), False, err), err)
    row, tobs = [rows.row[i] for i in range(rows.n)], rows.tobs_s
    r, z, w = (np.array([getattr(item, name) for item in row], np.float64) for name in ("r", "z", "w"))
    with np.errstate(divide="ignore"):
        columns = [("sigma", "f8", [c.sigma for c in row]), ("freq_hz", "f8", r / tobs), ("period_s", "f8", tobs / r),
                   ("fd", "f8", z / tobs**2), ("fdd", "f8", w / tobs**3), ("dm", "f8", rows.inf.dm), ("nharm", "i4", [c.nharm for c in row]),
                   ("power", "f8", [c.power for c in row]), ("coherent", "f8", [c.coherent for c in row]), ("r", "f8", r), ("z", "f8", z),
                   ("w", "f8", w), ("number", "i8", [c.number for c in row])]
    harmonics = pad_rows([[c.harm_power[h] for h in range(c.nharm)] for c in row])
    columns += [("harmonics", "(%d,)f8" % harmonics.shape[1], harmonics), ("at", "U6", "middle")]
    return make_table(rows.n, columns, UNITS, {"inf": read_struct(rows.inf), "tobs_s": tobs})


def read_struct(c):
    """Numbers and texts of a struct of C as a dict."""
    found = {}
    for name, info in ffi.typeof(c).fields:
        value = getattr(c, name)
        if info.type.kind == "array":
            if info.type.item.cname == "char":
                found[name] = ffi.string(value).decode(errors="replace")
        elif info.type.kind == "struct":
            found[name] = tuple(getattr(value, part) for part, _ in info.type.fields)
        elif info.type.kind in ("primitive", "enum"):
            found[name] = value
    return found


def read_inf(path):
    """Reads an .inf file.

    Returns
    -------
    dict
        name, telescope, instrument, object, ra_deg, dec_deg, observer, epoch (day, fraction), barycentric, nbin, tbin_s, dm,
        lowest_mhz, bandwidth_mhz, nchan, chan_width_mhz, .. ; onoff: pairs of first and last bin with data.
    """
    c, err = ffi.new("struct psr_inf *"), new_error()
    check(lib.psr_inf_read(c, path_bytes(path), err), err)
    found = read_struct(c[0])
    found["onoff"] = [(c.onoff[i][0], c.onoff[i][1]) for i in range(found.pop("nonoff"))]
    return found


def write_inf(path, inf):
    """Writes an .inf file; inf is a dict as read_inf gives it."""
    c, err = ffi.new("struct psr_inf *"), new_error()
    check_names(inf, [name for name, _ in ffi.typeof("struct psr_inf").fields] + ["onoff"], "part of an .inf file")
    for name, value in inf.items():
        if name == "onoff":
            if len(value) > lib.PSR_INF_MAX_ONOFF:
                fail("onoff", "%d pairs" % len(value), "at most %d" % lib.PSR_INF_MAX_ONOFF)
            c.nonoff = len(value)
            for i, (first, last) in enumerate(value):
                c.onoff[i][0], c.onoff[i][1] = first, last
        elif name == "epoch":
            c.epoch.day, c.epoch.frac, c.has_epoch = value[0], value[1], True
        else:
            setattr(c, name, value.encode() if isinstance(value, str) else value)
    with output(path) as f:
        check(lib.psr_inf_write(f, c, err), err)


def read_series(path):
    """Reads a .dat file and the .inf beside it.

    Returns
    -------
    x : array [time] of float32
    inf : dict
        As read_inf.
    """
    if os.fspath(path).endswith((".fft", ".tim", ".inf", ".fil", ".fits")):
        fail("path", os.fspath(path), "a .dat file; numpy.fromfile(path, numpy.complex64) has a .fft")
    x, n, c, err = ffi.new("float **"), ffi.new("int64_t *"), ffi.new("struct psr_inf *"), new_error()
    check(lib.psr_dat_read(path_bytes(path), x, n, c, err), err)
    try:
        series = np.frombuffer(ffi.buffer(x[0], 4 * n[0]), np.float32).copy()
    finally:
        lib.free(x[0])
    return series, read_inf(os.path.splitext(os.fspath(path))[0] + ".inf")


def write_series(path, x, inf):
    """Writes ROOT.dat and ROOT.inf; path is ROOT.dat, inf a dict as read_inf gives it, whose nbin and name are set."""
    root, x = os.path.splitext(os.fspath(path))[0], np.ascontiguousarray(x, np.float32)
    with output(root + ".dat") as f:
        write_bytes(f, x)
    write_inf(root + ".inf", dict(inf, nbin=x.size, name=root))


CAND_COLUMNS = (("snr", "f8"), ("sample", "i8"), ("time_s", "f8"), ("filter", "f8"), ("trial", "i8"), ("dm", "f8"), ("members", "i8"),
                ("first", "i8"), ("last", "i8"), ("marks", "U24"))
EVENT_COLUMNS = (("dm", "f8"), ("snr", "f8"), ("time_s", "f8"), ("sample", "i8"), ("width", "i8"))


def read_rows(path, columns):
    """Rows of a text table as lists; lines that begin with # are left out, as is a line of names."""
    rows = []
    with open_text(path, errors="replace") as f:
        for number, line in enumerate(f, 1):
            words = line.split("\t") if "\t" in line else line.split()
            words = [word.strip() for word in words]
            if not line.strip() or line.startswith("#") or words[0].lower() in ("snr", "s/n", "dm"):
                continue
            if len(words) < len([c for c in columns if c[0] != "marks"]):
                raise FormatError("%s: line %d: %d columns, must be %d" % (path, number, len(words), len(columns)), "columns", len(words),
                                  len(columns))
            try:
                rows.append(tuple(word if kind[0] == "U" else (float if kind[0] == "f" else int)(word)
                                  for (_, kind), word in zip(columns, words + [""])))
            except ValueError:
                raise FormatError("%s: line %d: '%s' is not a row of numbers" % (path, number, line.strip()[:80]), "line", number,
                                  "a row of numbers") from None
    return rows


def read_pulses(path):
    """Reads pulses (.cand of gpudedisp) or detections (.singlepulse, also PRESTO's).

    Returns
    -------
    Table
        Of .cand: snr, dm, time_s, width_s, sample, trial, members, first, last, marks, as search_pulses; of .singlepulse: dm,
        snr, time_s, sample, width (samples).
    """
    if os.fspath(path).endswith(".singlepulse"):
        rows = read_rows(path, EVENT_COLUMNS)
        return Table(np.array(rows, dtype=list(EVENT_COLUMNS)), PULSE_UNITS)
    rows = read_rows(path, CAND_COLUMNS)
    cand = np.array(rows, dtype=list(CAND_COLUMNS))
    width = np.rint(2.0**cand["filter"]).astype(np.int64)
    with np.errstate(divide="ignore", invalid="ignore"):
        tsamp = np.where(cand["sample"] > 0, cand["time_s"] / cand["sample"], np.nan)
    step = float(np.median(tsamp[np.isfinite(tsamp)])) if np.isfinite(tsamp).any() else float("nan")
    marks = np.where(cand["marks"] == "-", "", cand["marks"])
    return make_table(len(cand), [(name, kind, cand[name]) for name, kind in CAND_COLUMNS if name not in ("filter", "marks")] + [
        ("width", "i8", width), ("width_s", "f8", width * step), ("marks", "U24", marks)], PULSE_UNITS, {"tsamp_s": step})


def write_pulses(path, pulses, tsamp_s=None):
    """Writes pulses of search_pulses as gpudedisp's .cand, which Heimdall's columns begin."""
    tsamp_s = tsamp_s or pulses.meta.get("tsamp_s")
    if not tsamp_s:
        fail("tsamp_s", tsamp_s, "given with pulses that do not know it")
    clusters, trials = ffi.new("struct psr_cluster[]", len(pulses) or 1), int(pulses["trial"].max()) + 1 if len(pulses) else 1
    dm, err = np.zeros(trials), new_error()
    scale = np.ones(trials, np.uint64)
    for c, row in zip(clusters, pulses):
        dm[row["trial"]] = row["dm"]
        c.best.snr, c.best.sample, c.best.width, c.best.trial = row["snr"], row["sample"], row["width"], row["trial"]
        c.members, c.first, c.last = row["members"], row["first"], row["last"]
        c.marks = sum(1 << MARKS.index(mark) for mark in re.split("[+,]", str(row["marks"])) if mark)
    with output(path) as f:
        check(lib.psr_cluster_write(f, address(dm, "double *"), address(scale, "size_t *"), tsamp_s, clusters, len(pulses), err), err)


@contextlib.contextmanager
def open_text(path, **options):
    """A file of text; raises errors of the package where it cannot be opened, or is no text."""
    try:
        with open(path, encoding="utf-8", **options) as f:
            yield f
    except UnicodeDecodeError as error:
        raise FormatError("%s: byte %d is 0x%02x: not a file of text" % (path, error.start, error.object[error.start]), "byte",
                          error.object[error.start], "UTF-8") from None
    except OSError as error:
        raise FileError("%s: %s" % (path, error.strerror), "path", os.fspath(path), error.strerror) from error


def read_jsonl(path):
    """Objects of a file with one JSON object a line."""
    with open_text(path) as f:
        try:
            return [json.loads(line) for line in f if line.strip()]
        except json.JSONDecodeError as error:
            raise FormatError("%s: %s" % (path, error), "line") from None


def read_csv(path):
    """A list of comma-separated values with a line of names, as a Table; missing numbers are nan."""
    with open_text(path, newline="") as f:
        try:
            rows = list(csv.reader(f))
        except csv.Error as error:
            raise FormatError("%s: %s" % (path, error), "line", None, "comma-separated values") from None
    if not rows:
        raise FormatError("%s: the file is empty" % path, "columns", 0, "a line of names")
    names, rows = [name.lstrip("# ") for name in rows[0]], rows[1:]
    columns = []
    for i, name in enumerate(names):
        words = [row[i] if i < len(row) else "" for row in rows]
        try:
            values = np.array([float(word) if word not in ("", "-") else np.nan for word in words])
        except ValueError:
            values = np.array(["" if word == "-" else word for word in words], dtype="U")
        if values.dtype.kind == "f" and not any(words) or name in ("marks", "note", "reasons", "file"):
            values = np.array(["" if word == "-" else word for word in words], dtype="U")
        columns.append((name, values.dtype if values.dtype.itemsize else "U1", values))
    return make_table(len(rows), columns, units_of(names))


class Report:
    """Results of a search, as psrsearch leaves them in a folder.

    Attributes
    ----------
    folder : str
    summary : dict
    candidates : Table
        Sifted, by rank: name of the list, dm, snr, sigma, period_s, freq_hz, marks, probability, ..
    pulses : Table
        As read_pulses.
    steps : list of dict
        command, seconds, outputs, .. of each step.
    fold_paths : list of str
        In the order of candidates; the name of a fold ends with the list and the number of its candidate, _LIST_Cand_NUMBER.
    """

    def __init__(self, folder):
        self.folder = os.fspath(folder)
        if not os.path.isdir(self.folder):
            raise FormatError("%s: not a folder with results of a search" % self.folder, "folder", self.folder, "a folder")
        self.summary = (self._objects("*.psrsearch.json*") or [{}])[0]
        tables = self._find("*.sift.csv")
        self.candidates = read_csv(tables[0]) if tables else make_table(0, [("dm", "f8", []), ("period_s", "f8", [])])
        pulses = [path for path in self._find("*.cand") if "_ACCEL_" not in path]
        self.pulses = read_pulses(pulses[0]) if pulses else make_table(0, [("snr", "f8", []), ("dm", "f8", [])], PULSE_UNITS)
        self.steps = [step for step in self._objects("*.steps.json*") if "step" in step]
        if not (self.summary or tables or self.steps):
            raise FormatError("%s: no results of a search in it" % self.folder, "folder", self.folder, "that of a search")
        self.fold_paths = sorted(self._find("*.pfd"), key=self._rank)

    def _rank(self, path):
        """Place among the candidates of the one that was folded; behind all if it is none of them."""
        name = os.path.basename(path)
        for i, row in enumerate(self.candidates if "cand" in self.candidates.dtype.names else []):
            if np.isfinite(row["cand"]) and name.endswith("%s_Cand_%d.pfd" % (os.path.basename(str(row["file"])), row["cand"])):
                return i
        return len(self.candidates)

    def _find(self, pattern):
        folder = glob.escape(self.folder)
        return sorted(glob.glob(os.path.join(folder, pattern)) + glob.glob(os.path.join(folder, "steps", pattern)))

    def _objects(self, pattern):
        found = self._find(pattern)
        return read_jsonl(found[0]) if found else []

    def folds(self):
        """The folds, in the order of candidates: list of Fold."""
        return [read_pfd(path) for path in self.fold_paths]

    def __repr__(self):
        return "<Report %s: %d candidates, %d pulses, %d folds>" % (self.folder, len(self.candidates), len(self.pulses), len(self.fold_paths))


def read_report(folder):
    """Reads the results of psrsearch from a folder.

    Returns
    -------
    Report
    """
    return Report(folder)
