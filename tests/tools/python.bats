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
    for module in "$@"; do
        "$python" -c "import $module" 2>/dev/null || skip "THE PYTHON PACKAGE IS NOT TESTED: $python has no $module"
    done
}

# Makes what make install would: a folder with headers, library and programs.
make_prefix() {
    mkdir -p prefix/include prefix/lib
    ln -s "$srcdir/lib/psrkit" prefix/include/psrkit
    ln -s "$builddir/lib/.libs/libpsrkit.so.1" prefix/lib/
    ln -s "$builddir/bin" prefix/bin
    export PSRKIT_PREFIX=$PWD/prefix
}

@test "pip installs the package against an installed library, and its tests pass" {
    need_python numpy cffi setuptools wheel pip pytest
    cd "$BATS_TEST_TMPDIR"
    make_prefix
    cp -R "$srcdir/python" source
    chmod -R u+w source
    rm -f source/psrkit/_declarations.py source/psrkit/_constants.py
    "$python" -m pip install -q --no-index --no-build-isolation --no-deps --disable-pip-version-check --root-user-action=ignore --target site ./source
    mkdir run
    cp -R source/tests source/notebooks source/pyproject.toml run
    cd run
    PYTHONPATH=../site PSRKIT_INCLUDE=$srcdir/lib "$python" -m pytest -q -p no:cacheprovider -rs tests
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
