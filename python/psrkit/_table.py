"""Lists as structured arrays that know their units."""
import numpy as np


SUFFIXES = (("_ms2", "m s-2"), ("_mhz", "MHz"), ("_hz", "Hz"), ("_s", "s"), ("_deg", "deg"), ("mjd", "d"), ("mjd_inf", "d"), ("mjd_top", "d"))


def units_of(names):
    """Units of columns by the end of their names, as lists of psrkit have them."""
    found = {name: unit for name in names for suffix, unit in SUFFIXES if name.endswith(suffix)}
    found.update({name: "pc cm-3" for name in names if name.lower() in ("dm", "dm_lo", "dm_hi")})
    return found


class Table(np.ndarray):
    """A structured array, a column for each field, with units.

    ``table["dm"]`` is a column, ``table[0]`` a row, ``table.units["dm"]`` a unit as astropy writes it.
    ``table.meta`` has what belongs to the list as a whole.
    """

    def __new__(cls, array, units=None, meta=None):
        new = np.asarray(array).view(cls)
        new.units, new.meta = dict(units or {}), dict(meta or {})
        return new

    def __array_finalize__(self, other):
        self.units, self.meta = getattr(other, "units", {}), getattr(other, "meta", {})

    def __getitem__(self, key):
        found = super().__getitem__(key)
        if isinstance(found, Table) and found.dtype.names is None:
            return np.asarray(found)
        return found

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


def pad_rows(rows):
    """Lists of numbers as the rows of an array, with NaN behind the shorter ones."""
    array = np.full((len(rows), max([1] + [len(row) for row in rows])), np.nan)
    for to, row in zip(array, rows):
        to[:len(row)] = row
    return array


def make_table(n, columns, units=None, meta=None):
    """A Table of n rows; columns are (name, format, values)."""
    array = np.zeros(n, np.dtype([(name, kind) for name, kind, _ in columns]))
    for name, _, values in columns:
        array[name] = values
    return Table(array, units, meta)
