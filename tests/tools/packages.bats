#!/usr/bin/env bats
# What a release is made of: versions, packages.

load helper

version=$(sed -n 's/^AC_INIT(\[psrkit\], \[\([0-9.]*\)\].*/\1/p' "$srcdir/configure.ac")

@test "tools, headers, pages, news and packages have one version" {
    [ "$(gpudedisp --version | sed -n '1s/.* //p')" = "$version" ]
    [ "$(sed -n 's/^#define PSR_VERSION_[A-Z]* //p' "$srcdir/lib/psrkit/psrkit.h" | paste -sd.)" = "$version" ]
    [ "$(sed -n 's/^version = "\(.*\)" if "sdist".*/\1/p' "$srcdir/python/setup.py")" = "$version" ]
    [ "$(grep -m1 -E '^[0-9.]+$' "$srcdir/NEWS")" = "$version" ]
    [ "$(sed -n 's/^  version: "\(.*\)"/\1/p' "$srcdir/workflow/packages/conda/recipe.yaml")" = "$version" ]
    [[ $(head -n 1 "$srcdir/workflow/packages/debian/changelog") == "psrkit ($version-"* ]]
    for tool in $tools; do
        sed -n '1,3p' "$srcdir/man/$tool.1" | grep -qF "\"psrkit $version\"" || { echo "man/$tool.1: run make man"; return 1; }
    done
}

@test "make install puts everything where a package has it" {
    [ -z "$(sed -n 's/^#define HAVE_CUDA 1/cuda/p' "$builddir/config.h")" ] && limit=8 || limit=30
    cd "$BATS_TEST_TMPDIR"
    env -u MAKEFLAGS -u MFLAGS make -s -C "$builddir" install install-aliases DESTDIR="$PWD/root" prefix=/usr >log 2>&1 || { cat log; return 1; }
    while read -r pattern; do
        compgen -G "root/${pattern/lib\/\*/lib}" >/dev/null || { echo "make install has no $pattern"; return 1; }
    done < <(cat "$srcdir"/workflow/packages/debian/*.install)
    [ -x root/usr/share/psrkit/demo.sh ]
    if nm -D "$builddir/lib/.libs/libpsrkit.so" | grep -qE '__(asan|tsan)_init'; then
        skip "built with sanitizers: no size"
    fi
    find root -type f \( -perm -100 -o -name '*.so.*' \) -exec strip {} + 2>/dev/null || true
    [ "$(du -sm root | cut -f1)" -lt $limit ]
}

@test "the conda recipe is rendered with and without CUDA" {
    python=$(command -v python3) || skip "there is no python3"
    "$python" -c 'import rattler_build' 2>/dev/null || skip "py-rattler-build is not installed"
    "$python" "$srcdir/workflow/packages/conda/render.py" >"$BATS_TEST_TMPDIR/said"
    [ "$(grep -c "^psrkit $version cpu_" "$BATS_TEST_TMPDIR/said")" = 1 ]
    [ "$(grep -c "^psrkit $version cuda_" "$BATS_TEST_TMPDIR/said")" = 1 ]
    [ "$(grep -c cuda-nvcc "$BATS_TEST_TMPDIR/said")" = 1 ]
}
