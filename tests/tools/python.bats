#!/usr/bin/env bats
# The Python package, built against the headers and the library of the build.  PSRKIT_PYTHON names another python3.

load helper

shared=$builddir/lib/.libs/libpsrkit.so
python=${PSRKIT_PYTHON:-python3}

need_python() {
    [ -f "$shared" ] || skip "there is no shared library"
    if nm -D "$shared" | grep -qE '__(asan|tsan|msan)_init'; then
        skip "built with sanitizers"
    fi
    module=$("$python" -c 'import importlib.util, sys
print(*[name for name in sys.argv[1:] if not importlib.util.find_spec(name)][:1])' "$@") || module=interpreter
    [ -z "$module" ] || skip "THE PYTHON PACKAGE IS NOT TESTED: $python has no $module"
}

# Makes what make install would: a folder with headers, library and programs.
make_prefix() {
    mkdir -p prefix/include prefix/lib
    ln -s "$srcdir/lib/psrkit" prefix/include/psrkit
    ln -s "$builddir/lib/.libs/libpsrkit.so.1" prefix/lib/
    ln -s "$builddir/bin" prefix/bin
    export PSRKIT_PREFIX=$PWD/prefix
}

# Copies the package, for none of what is made from it to get into the sources.
copy_package() {
    cp -R "$srcdir/python" "$1"
    chmod -R u+w "$1"
    rm -rf "$1"/psrkit/_declarations.py "$1"/psrkit/_constants.py "$1"/build
}

@test "the package's tests pass" {
    need_python numpy cffi pytest
    cd "$BATS_TEST_TMPDIR"
    copy_package site
    "$python" site/declarations.py "$srcdir/lib" site/psrkit
    cd site
    PYTHONPATH=$PWD PSRKIT_LIBRARY=$shared PSRKIT_INCLUDE=$srcdir/lib PATH=$builddir/bin:$PATH \
        "$python" -m pytest -q -p no:cacheprovider -rs tests
}

@test "pip installs the package against an installed library, from its folder, and in a long check from its sdist" {
    need_python numpy cffi setuptools wheel pip
    cd "$BATS_TEST_TMPDIR"
    make_prefix
    copy_package source
    pip=("$python" -m pip install -q --no-index --no-build-isolation --no-deps --disable-pip-version-check --root-user-action=ignore)
    "${pip[@]}" --target site ./source
    sites=site
    if [ -n "${PSRKIT_LONG-}" ]; then
        (cd source && "$python" setup.py -q sdist -d ../sdist 2>/dev/null)
        rm -r source
        "${pip[@]}" --target again sdist/psrkit-*.tar.gz
        diff -r -x __pycache__ -x '*.dist-info' site again
        sites+=' again'
    fi
    cat >try.py <<'PY'
import os
import psrkit
assert psrkit.library_path.startswith(os.environ["PSRKIT_PREFIX"]), psrkit.library_path
obs = psrkit.fake([psrkit.burst(4.0, dm=50, snr=40)], nchan=64, seed=3)
assert abs(psrkit.search_pulses(obs, [40.0, 50.0, 60.0])["dm"][0] - 50) < 1
PY
    for site in $sites; do
        PYTHONPATH=$PWD/$site "$python" try.py
    done
}

@test "a library of another version is refused in one line" {
    need_python numpy cffi
    cd "$BATS_TEST_TMPDIR"
    cp -R "$srcdir/python/psrkit" .
    chmod -R u+w psrkit
    "$python" "$srcdir/python/declarations.py" "$srcdir/lib" psrkit
    sed -i 's/^VERSION_MINOR = .*/VERSION_MINOR = 99/' psrkit/_constants.py
    PSRKIT_LIBRARY=$shared run "$python" -c 'import psrkit'
    [ "$status" = 1 ]
    [[ "$output" == *"is version 1.0."*", but the package was built for 1.99.x" ]]
    PSRKIT_LIBRARY=nowhere.so run "$python" -c 'import psrkit'
    [[ "$output" == *"cannot load nowhere.so"* ]]
}
