"""Lists as structured arrays that know their units."""
import numpy as np

from ._library import check_names

SUFFIXES = (("_ms2", "m s-2"), ("_mhz", "MHz"), ("_hz", "Hz"), ("_s", "s"), ("_deg", "deg"), ("mjd", "d"), ("mjd_inf", "d"), ("mjd_top", "d"))


def units_of(names):
    """Units of columns by the end of their names, as lists of psrkit have them."""
    found = {name: unit for name in names for suffix, unit in SUFFIXES if name.endswith(suffix)}
    found.update({name: "pc cm-3" for name in names if name.lower() in ("dm", "dm_lo", "dm_hi")})
    return found


MOST_ROWS, LINE_WIDTH = 24, 120  # of a list that is printed


def find_tables(args):
    """Tables among arguments, and in lists of them."""
    for arg in args:
        if isinstance(arg, Table):
            yield arg
        elif isinstance(arg, (list, tuple)):
            yield from find_tables(arg)


def is_same(a, b):
    return a is b or (np.isscalar(a) and np.isscalar(b) and a == b)


def format_cell(value):
    """A value of a list, in few characters; of several the first two."""
    if isinstance(value, np.ndarray):
        return " ".join(format_cell(part) for part in value[:2]) + (" .." if len(value) > 2 else "")
    return "%.8g" % value if isinstance(value, np.floating) else str(value)


class Table(np.ndarray):
    """A structured array, a column for each field, with units.

    ``table["dm"]`` is a column, ``table[0]`` a row, ``table[a:b]`` and ``table[table["dm"] > 9]`` are lists of some rows,
    ``table.units["dm"]`` is a unit as astropy writes it, ``table.dtype.names`` are the names of the columns.
    ``table.meta`` has what belongs to the list as a whole.  Functions of numpy, as concatenate and sort, give lists with
    the units of the first; of meta stays what all have alike.
    """

    def __new__(cls, array, units=None, meta=None):
        new = np.asarray(array).view(cls)
        new.units, new.meta = dict(units or {}), dict(meta or {})
        return new

    def __array_finalize__(self, other):
        self.units, self.meta = getattr(other, "units", {}), getattr(other, "meta", {})

    def __getitem__(self, key):
        if isinstance(key, str) and self.dtype.names is not None:
            check_names([key], self.dtype.names, "column")
        found = super().__getitem__(key)
        if isinstance(found, Table) and found.dtype.names is None:
            return np.asarray(found)
        return found

    def __array_function__(self, function, types, args, kwargs):
        found, tables = super().__array_function__(function, types, args, kwargs), list(find_tables(args))
        if not isinstance(found, np.ndarray) or found.dtype.names is None or not tables:
            return found
        first = tables[0]
        meta = {key: value for key, value in first.meta.items() if all(is_same(value, other.meta.get(key)) for other in tables)}
        return Table(found, first.units, meta)

    def __str__(self):
        if self.ndim != 1 or self.dtype.names is None:
            return str(np.asarray(self))
        middle = len(self) - MOST_ROWS
        rows = list(range(len(self))) if middle <= 0 else list(range(MOST_ROWS - 2)) + list(range(len(self) - 2, len(self)))
        blocks, lines, width = [], [""] * (len(rows) + 2), 0
        for name in self.dtype.names:
            cells = [name, self.units.get(name, "")] + [format_cell(value) for value in np.asarray(self[name])[rows]]
            room = max(len(cell) for cell in cells) + 2
            if width and width + room > LINE_WIDTH:
                blocks.append(lines)
                lines, width = [""] * len(lines), 0
            lines, width = [line + cell.rjust(room) for line, cell in zip(lines, cells)], width + room
        if middle > 0:
            for block in blocks + [lines]:
                block.insert(len(block) - 2, "  ..")
        return "\n\n".join("\n".join(line.rstrip() for line in block) for block in blocks + [lines])

    def __repr__(self):
        return "<Table of shape %s\n%s>" % (self.shape, self)

    def __reduce__(self):
        make, args, state = super().__reduce__()
        return make, args, (state, self.units, self.meta)

    def __setstate__(self, state):
        super().__setstate__(state[0])
        self.units, self.meta = state[1:]

    def strongest(self, n=None, by="sigma"):
        """The n rows (default: all) of largest values in a column, the largest first: a Table."""
        return self[np.argsort(-np.asarray(self[by]), kind="stable")[:n]]

    def _columns(self):
        """(name, column) of all columns of numbers or text; those of several numbers become one each."""
        for name in self.dtype.names:
            column = np.asarray(self[name])
            if column.ndim == 1:
                yield name, column
            else:
                for i in range(column.shape[1]):
                    yield "%s_%d" % (name, i), column[:, i]

    def to_pandas(self):
        """The list as a pandas.DataFrame; ``attrs`` has the units."""
        import pandas

        frame = pandas.DataFrame(dict(self._columns()))
        frame.attrs["units"] = dict(self.units)
        return frame

    def to_table(self):
        """The list as an astropy.table.Table with units."""
        from astropy.table import Table as AstropyTable

        table = AstropyTable({name: np.asarray(self[name]) for name in self.dtype.names}, meta=dict(self.meta))
        for name, unit in self.units.items():
            if name in table.colnames:
                table[name].unit = unit
        return table


def pad_rows(rows, least=1):
    """Lists of numbers as the rows of an array, "least" long or longer, with NaN behind the shorter ones."""
    array = np.full((len(rows), max([least] + [len(row) for row in rows])), np.nan)
    for to, row in zip(array, rows):
        to[:len(row)] = row
    return array


def make_table(n, columns, units=None, meta=None):
    """A Table of n rows; columns are (name, format, values)."""
    array = np.zeros(n, np.dtype([(name, kind) for name, kind, _ in columns]))
    for name, _, values in columns:
        array[name] = values
    return Table(array, units, meta)
