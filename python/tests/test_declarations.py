"""The declarations have the sizes and offsets that a C compiler gives the headers."""
import os
import shutil
import subprocess

import pytest

from psrkit import _constants
from psrkit._declarations import ffi
from psrkit._library import lib


def list_structs():
    """Structs that the headers define, and their fields."""
    for name in ffi.list_types()[1]:
        try:
            ffi.sizeof("struct " + name)
        except (ffi.error, TypeError, ValueError):  # it is opaque
            continue
        if name.startswith("psr_"):
            yield name, ffi.typeof("struct " + name)


def expected_lines():
    for name, ctype in list_structs():
        yield "%s %d" % (name, ffi.sizeof(ctype))
        for field, info in ctype.fields:
            yield "%s.%s %d %d" % (name, field, info.offset, ffi.sizeof(info.type))


def test_sizes_and_offsets(tmp_path):
    include, compiler = os.environ.get("PSRKIT_INCLUDE"), os.environ.get("CC", "cc").split()
    if not include or not shutil.which(compiler[0]):
        pytest.skip("needs PSRKIT_INCLUDE and a C compiler")
    body = []
    for name, ctype in list_structs():
        body.append('printf("%s %%zu\\n", sizeof(struct %s));' % (name, name))
        for field, _ in ctype.fields:
            body.append('printf("%s.%s %%zu %%zu\\n", offsetof(struct %s, %s), sizeof ((struct %s *)0)->%s);' % (
                name, field, name, field, name, field))
    assert len(body) > 800
    source = tmp_path / "sizes.c"
    source.write_text("#include <psrkit/psrkit.h>\n#include <psrkit/experimental.h>\n#include <stdio.h>\nint main(void)\n{\n%s\n}\n" %
                      "\n".join(body))
    program = str(tmp_path / "sizes")
    subprocess.run(compiler + ["-std=c11", "-I" + include, "-o", program, str(source)], check=True)
    assert subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines() == list(expected_lines())


def test_constants():
    assert _constants.DMCONST_PRESTO == 1 / 2.41e-4
    assert lib.PSR_INF_MAX_ONOFF == 40


def test_every_function_is_exported():
    missing = []
    for name in dir(lib):
        try:
            getattr(lib, name)
        except AttributeError:
            missing.append(name)
    assert not missing
    assert len(dir(lib)) > 250
