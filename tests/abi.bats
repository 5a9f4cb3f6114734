#!/usr/bin/env bats
# Programs built with another version of the headers run with today's library.

load helper

shared=$builddir/lib/.libs/libpsrkit.so

setup() {
    cd "$BATS_TEST_TMPDIR"
    [ -f "$shared" ] || skip "there is no shared library"
    if nm -D "$shared" | grep -qE '__(asan|tsan|msan)_init'; then
        skip "built with sanitizers"
    fi
}

# Prints what program $1 says that was built with the headers in folder $2.
run_with() {
    ${CC:-cc} -std=c11 -g -Wall -Wextra -Werror -I"$2" -o program "$srcdir/tests/abi/$1.c" "$shared"
    LD_LIBRARY_PATH=$builddir/lib/.libs ./program
}

# Makes folder $1 with headers in which structs that carry their size have one field less or more.
make_headers() {
    for header in "$srcdir"/lib/psrkit/*.h "$srcdir"/lib/psrkit/experimental/*.h; do
        mkdir -p "$1/$(dirname "${header#"$srcdir/lib/"}")"
        awk -v version="$1" -f "$srcdir/tests/abi/vary.awk" "$header" >"$1/${header#"$srcdir/lib/"}"
    done
}

@test "a program built with the kept headers runs as one built with today's" {
    run_with stable "$srcdir/lib" >today
    [ "$(wc -l <today)" -ge 9 ]
    diff today <(run_with stable "$srcdir/tests/abi/kept")
}

@test "a program whose structs lack their last fields runs, and nothing behind them is overwritten" {
    make_headers older
    [ "$(cat older/psrkit/*.h older/psrkit/experimental/*.h | grep -c 'size_t size;')" -ge 30 ]
    for program in stable experimental; do
        run_with $program "$srcdir/lib" >today
        diff today <(run_with $program older)
    done
}

@test "a program whose structs have a field that the library does not know runs" {
    make_headers newer
    for program in stable experimental; do
        run_with $program "$srcdir/lib" >today
        diff today <(run_with $program newer)
    done
}
