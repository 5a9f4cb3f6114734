#!/usr/bin/env python3
"""Makes the package's declarations from psrkit's headers, so that no field is typed twice.

Usage: declarations.py INCLUDE-FOLDER PACKAGE-FOLDER

Reads <psrkit/psrkit.h> and <psrkit/experimental.h> below INCLUDE-FOLDER and writes to PACKAGE-FOLDER

    _declarations.py   structs and functions, as cffi's ABI mode keeps them: no compiler is needed
    _constants.py      numbers that the headers define as macros, and the version of the headers
"""
import os
import re
import sys

import cffi

ROOTS = ("psrkit/psrkit.h", "psrkit/experimental.h")

# What the headers take from those of the system.  time_t is a long wherever glibc's is 64 bits.
SYSTEM = "struct timespec { long tv_sec; long tv_nsec; };\nvoid free(void *);\n"


def read_headers(include, name, seen):
    """Text of a header, those that it includes first; each header once."""
    if name in seen:
        return ""
    seen.add(name)
    with open(os.path.join(include, name)) as f:
        text = f.read()
    before = "".join(read_headers(include, other, seen) for other in re.findall(r"#include <(psrkit/[^>]+)>", text))
    return before + text


def without_comments(text):
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S).replace("\\\n", " ")


def find_constants(text):
    """Values of macros that are numbers, or arithmetic on numbers."""
    found = {}
    for name, value in re.findall(r"^#define (PSR_\w+)[ \t]+(.+?)[ \t]*$", text, flags=re.M):
        if re.fullmatch(r"[-+*/() 0-9.eE]+", value):
            found[name] = eval(value, {"__builtins__": {}})  # only digits and arithmetic get here
    return found


def without_attributes(text):
    """Removes __attribute__((..)), whose brackets may be nested."""
    while True:
        at = text.find("__attribute__")
        if at < 0:
            return text
        end = text.index("(", at)
        depth = 0
        while True:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
            if depth == 0:
                break
        text = text[:at] + text[end:]


def declarations_of(text):
    text = re.sub(r"^[ \t]*#.*$", "", text, flags=re.M)
    text = re.sub(r"\b(PSR_API_BEGIN|PSR_API_END|PSR_MUST_CHECK)\b", "", text)
    text = without_attributes(text)
    return re.sub(r"\n\s*\n+", "\n", text)


def make(include, package):
    seen = set()
    text = without_comments("".join(read_headers(include, root, seen) for root in ROOTS))
    constants = find_constants(text)
    ffi = cffi.FFI()
    ffi.cdef(SYSTEM + declarations_of(text))
    ffi.set_source("_declarations", None)
    ffi.emit_python_code(os.path.join(package, "_declarations.py"))
    with open(os.path.join(package, "_constants.py"), "w") as f:
        f.write("# Made by declarations.py from psrkit's headers.\n")
        f.writelines("%s = %r\n" % (name[len("PSR_"):], value) for name, value in sorted(constants.items()))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    make(sys.argv[1], sys.argv[2])
