"""Builds the package against an installed psrkit, which PSRKIT_PREFIX or pkg-config finds.

The declarations are made from the installed headers (declarations.py).
"""
import os
import subprocess
import sys

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)


def ask_pkg_config(variable):
    try:
        return subprocess.run(["pkg-config", "--variable=" + variable, "psrkit"], check=True, capture_output=True,
                              text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        sys.exit("psrkit is not installed where pkg-config finds it: set PSRKIT_PREFIX, or PKG_CONFIG_PATH")


def find_installed():
    """Folders of the headers, the library and the programs."""
    prefix = os.environ.get("PSRKIT_PREFIX")
    if not prefix:
        return ask_pkg_config("includedir"), ask_pkg_config("libdir"), os.path.join(ask_pkg_config("prefix"), "bin")
    folders = [os.path.join(prefix, "lib"), os.path.join(prefix, "lib64")]
    found = [folder for folder in folders if os.path.exists(os.path.join(folder, "libpsrkit.so.1"))]
    if not found:
        sys.exit("PSRKIT_PREFIX=%s: there is no lib/libpsrkit.so.1" % prefix)
    return os.path.join(prefix, "include"), found[0], os.path.join(prefix, "bin")


def find_version():
    """Version of the headers, as psrkit.h has it."""
    import re

    with open(os.path.join(find_installed()[0], "psrkit", "psrkit.h")) as f:
        return ".".join(re.findall(r"#define PSR_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", f.read()))


class BuildWithDeclarations(build_py):
    def run(self):
        super().run()
        import declarations

        include, libraries, programs = find_installed()
        package = os.path.join(self.build_lib, "psrkit")
        os.makedirs(package, exist_ok=True)
        declarations.make(include, package)
        with open(os.path.join(package, "_built.py"), "w") as f:
            f.write("LIBRARY_FOLDER = %r\nPROGRAM_FOLDER = %r\n" % (libraries, programs))


# A source archive has no headers: its version is that of the library that it is built against.
version = "1.0.0" if "sdist" in sys.argv else find_version()
setup(version=version, cmdclass={"build_py": BuildWithDeclarations})
