#!/usr/bin/env python3
"""Runs notebooks in percent form, and makes a page of Markdown of each, with what it printed and its pictures.

Usage: make_pages.py FOLDER NOTEBOOK.py...
"""
import contextlib
import io
import os
import re
import sys


def split_cells(text):
    """(is text, lines) of each cell."""
    for cell in re.split(r"^# %%", text, flags=re.M)[1:]:
        head, _, body = cell.partition("\n")
        if "[markdown]" in head:
            yield True, re.sub(r"^# ?", "", body.strip(), flags=re.M)
        else:
            yield False, body.strip("\n")


def run_cell(code, scope, name):
    """What a cell printed, and its figure."""
    printed = io.StringIO()
    scope["figure"] = None
    with contextlib.redirect_stdout(printed):
        exec(compile(code, name, "exec"), scope)
    return printed.getvalue(), scope["figure"]


def make_page(path, folder):
    name = os.path.splitext(os.path.basename(path))[0]
    page, scope = [], {"__name__": "__main__"}
    with open(path) as f:
        cells = list(split_cells(f.read()))
    for i, (is_text, body) in enumerate(cells):
        if is_text:
            page.append(body + "\n")
            continue
        printed, figure = run_cell(body, scope, path)
        page.append("```python\n%s\n```\n" % body.rstrip())
        if printed:
            page.append("".join("    %s\n" % line for line in printed.splitlines()))
        if figure is not None:
            picture = "%s_%d.png" % (name, i)
            figure.savefig(os.path.join(folder, picture), dpi=100)
            page.append("![%s](%s)\n" % (name, picture))
    with open(os.path.join(folder, name + ".md"), "w") as f:
        f.write("\n".join(page))


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    for notebook in sys.argv[2:]:
        make_page(notebook, sys.argv[1])
