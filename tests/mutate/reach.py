#!/usr/bin/env python3
"""Which tests run which lines, for tests/mutate.sh.

  reach.py record OUT                        the record of a test: the lines that ran, from
                                             gcov --json-format --stdout on standard input
  reach.py tests FOLDER FILE LINE NAME...    of the tests NAME, whose records are FOLDER/NAME.covered, prints
                                             "MS NAME" of those that reach a line of lib/.../FILE, the fastest
                                             first; before them what was decided by: line, function or file

A line that holds no code, of a table or within a statement, counts as the last before it that does; where
the function or the file has none, as the whole function or file."""
import json
import os
import sys


def record(out):
    """Lines 'FILE LINE' that ran, 'FILE LINE -' that did not, 'FILE FIRST LAST NAME' of functions."""
    rows = set()
    for text in sys.stdin:
        for file in json.loads(text)["files"]:
            name = os.path.normpath(file["file"])
            if "lib/" not in name or not name.endswith(".c"):
                continue
            name = name[name.rindex("lib/"):]
            rows.update("%s %d%s" % (name, l["line_number"], "" if l["count"] else " -") for l in file["lines"])
            rows.update("%s %d %d %s" % (name, f["start_line"], f["end_line"], f["name"])
                        for f in file["functions"])
    rows -= {row + " -" for row in rows}
    with open(out, "w") as file:
        file.write("\n".join(sorted(rows)) + "\n")


def read(path, name):
    ran, code, functions = set(), set(), set()
    with open(path) as file:
        for row in file:
            field = row.split()
            if not field or field[0] != name:
                continue
            if len(field) == 4:
                functions.add((int(field[1]), int(field[2])))
                continue
            code.add(int(field[1]))
            if len(field) == 2:
                ran.add(int(field[1]))
    return ran, code, functions


def tests(folder, name, line, names):
    records, ms = {}, {}
    for test in names:
        path = os.path.join(folder, test)
        if all(os.path.exists(path + build) for build in (".covered", ".sanitized", ".plain")):
            records[test] = read(path + ".covered", name)
            with open(path + ".plain") as file:
                ms[test] = int(file.read())
    code = set().union(*(r[1] for r in records.values()))
    functions = set().union(*(r[2] for r in records.values()))
    first, last = max(((a, b) for a, b in functions if a <= line <= b), default=(1, 1 << 30))
    by = "function" if first > 1 else "file"
    inside = [l for l in code if first <= l <= line]
    if by == "function" and inside:
        first = last = max(inside)
        by = "line"
    print(by)
    for t, test in sorted((ms[test], test) for test, (ran, _, _) in records.items()
                          if any(first <= l <= last for l in ran)):
        print(t, test)


def main(argv):
    if len(argv) == 3 and argv[1] == "record":
        record(argv[2])
    elif len(argv) > 5 and argv[1] == "tests":
        tests(argv[2], argv[3], int(argv[4]), argv[5:])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv)
