#!/usr/bin/env bats
# What a release is made of: versions.

load helper

version=$(sed -n 's/^AC_INIT(\[psrkit\], \[\([0-9.]*\)\].*/\1/p' "$srcdir/configure.ac")

@test "tools, headers, pages, news and packages have one version" {
    [ "$(gpudedisp --version | sed -n '1s/.* //p')" = "$version" ]
    [ "$(sed -n 's/^#define PSR_VERSION_[A-Z]* //p' "$srcdir/lib/psrkit/psrkit.h" | paste -sd.)" = "$version" ]
    [ "$(sed -n 's/^version = "\(.*\)" if "sdist".*/\1/p' "$srcdir/python/setup.py")" = "$version" ]
    [ "$(grep -m1 -E '^[0-9.]+$' "$srcdir/NEWS")" = "$version" ]
    for tool in $tools; do
        sed -n '1,3p' "$srcdir/man/$tool.1" | grep -qF "\"psrkit $version\"" || { echo "man/$tool.1: run make man"; return 1; }
    done
}
