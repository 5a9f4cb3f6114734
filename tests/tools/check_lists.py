"""Checks lists against the JSON Schemas of their rows.

Usage: check_lists.py SCHEMAS LIST...

LIST is FILE, or NAME=FILE if FILE's name does not end in that of a schema.  All columns must be in the schema, those of a table in its
order.  pandas and numpy, where they are, must read tables without options.
"""
import csv
import json
import os
import sys

import jsonschema


def schema_of(folder, path):
    names = [name[: -len(".schema.json")] for name in os.listdir(folder)]
    name, _, file = path.rpartition("=")
    name = name or max((n for n in names if path.endswith("." + n) or path.endswith("_" + n)), key=len, default=None)
    if name is None:
        sys.exit("%s: no schema has this name" % path)
    with open(os.path.join(folder, name + ".schema.json")) as f:
        return name, file, json.load(f)


def parse(text, schema):
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if text in ("", "nan") and "null" in kinds:
        return None
    return text if "string" in kinds else int(text) if "integer" in kinds else float(text)


def read_table(path, schema):
    """Rows of a table as objects; its columns must be those of the schema, in order."""
    with open(path, newline="") as f:
        lines = list(f)
    if path.endswith(".singlepulse"):
        names = list(schema["properties"])
        rows = [line.split() for line in lines[1:]]
    else:
        names, *rows = csv.reader(lines, delimiter="," if path.endswith(".csv") else "\t")
        names[0] = names[0].replace("# ", "")
    order = [name for name in schema["properties"] if name in names]
    if names != order:
        sys.exit("%s: columns %s, must be %s" % (path, names, order))
    return [{name: parse(text, schema["properties"][name]) for name, text in zip(names, row)} for row in rows]


def read_with_others(path, nrow):
    """What pandas and numpy make of a table without options."""
    try:
        import numpy
        import pandas
    except ImportError:
        return
    if path.endswith(".csv"):
        frame = pandas.read_csv(path)
    elif path.endswith(".cand"):
        frame = pandas.read_table(path)
        assert numpy.atleast_1d(numpy.genfromtxt(path)[..., 0]).size == nrow, path
    else:
        assert numpy.loadtxt(path, ndmin=2).shape[0] == nrow, path
        return
    assert len(frame) == nrow, path
    if path.endswith(".csv"):
        texts = {name for name in frame if frame[name].dtype == object or str(frame[name].dtype) == "str"}
        assert texts <= {"file", "found", "segment", "note", "marks", "reasons", "hits", "telescope", "frame", "scale"}, (path, texts)


def main(folder, *paths):
    for path in paths:
        name, path, schema = schema_of(folder, path)
        table = "json" not in name and not path.endswith((".json", ".jsonl"))
        if table:
            rows = read_table(path, schema)
            read_with_others(path, len(rows))
        else:
            with open(path) as f:
                rows = [json.loads(line) for line in f]
        for row in rows:
            unknown = set(row) - set(schema["properties"])
            if unknown:
                sys.exit("%s: not in the schema: %s" % (path, " ".join(sorted(unknown))))
            jsonschema.validate(row, schema)
        print("%s: %d rows are as %s says" % (path, len(rows), name))


if __name__ == "__main__":
    main(*sys.argv[1:])
