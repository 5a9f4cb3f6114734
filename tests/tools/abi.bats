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

# Prints structs of public headers that are NAME FIRST-FIELD, and those that hold by value one that may grow.
check_structs='
    function without_comments(text,    out, at) {
        while ((at = index(text, "/*"))) {
            out = out substr(text, 1, at - 1)
            text = substr(text, at + 2)
            text = substr(text, index(text, "*/") + 2)
        }
        return out text
    }
    { text = text without_comments($0) }
    END {
        while (match(text, /struct psr_[a-z0-9_]+ *\{[^}]*\};/)) {
            body = substr(text, RSTART, RLENGTH)
            text = substr(text, RSTART + RLENGTH)
            name = body
            sub(/ *\{.*/, "", name)
            sub(/^[^{]*\{[ \n]*/, "", body)
            structs[name] = body
        }
        for (name in structs) {
            grows = structs[name] ~ /^size_t size;/
            if (name ~ /_(desc|info|report|rules|truth)$/ && !grows)
                print name " has no size"
            for (other in structs)
                if (structs[other] ~ /^size_t size;/ && structs[name] ~ "(^|[^a-z_])" other " [a-z]")
                    print name " holds a " other
        }
    }'

@test "descriptions and reports carry their size, and none lies in another struct" {
    cd "$srcdir/lib"
    found=$(awk -v RS='\001' "$check_structs" psrkit/*.h psrkit/experimental/*.h)
    [ -z "$found" ] || { echo "$found"; false; }
    cd "$BATS_TEST_TMPDIR"
    printf '%s\n' 'struct psr_a_desc {' '    size_t size; /* its */' '};' 'struct psr_b {' '    struct psr_a_desc a;' '};' \
        'struct psr_c_desc {' '    int a;' '};' >t.h
    [ "$(awk -v RS='\001' "$check_structs" t.h | wc -l)" = 2 ]
}
