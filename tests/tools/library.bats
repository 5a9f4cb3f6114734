#!/usr/bin/env bats
# Manners of libpsrkit: it holds no state of its own, never prints and never ends the program.

load helper

library=$builddir/lib/.libs/libpsrkit_objects.a
shared=$builddir/lib/.libs/libpsrkit.so

# The sanitizers put variables and calls of their own into every object.
need_plain_objects() {
    if nm "$library" 2>/dev/null | grep -qE '__(asan|tsan|msan)_init'; then
        skip "built with sanitizers"
    fi
}

# Prints the lines of objdump or nm output that do not belong to CUDA objects (nvcc registers each
# kernel through variables of its own).
without_kernels() {
    kernels=$(find "$srcdir/kernels" -name '*.cu' | sed 's|.*/||; s|\.cu$|.o|' | tr '\n' ' ')
    awk -v kernels=" $kernels" '
        /^[^ ]+\.o:/ { member = $1; sub(/:$/, "", member); theirs = index(kernels, " " member " ") }
        !theirs'
}

# Prints the variables of an archive's objects, constants left out (which PIE puts in .data.rel.ro).
variables_of() {
    objdump -t "$1" | without_kernels | awk '
        /^[^ ]+\.o:/ { member = $1 }
        /[ \t](\.t?(bss|data)|\*COM\*)/ && !/[ \t]\.data\.rel\.ro/ && $NF !~ /^\./ { print member, $NF }'
}

@test "no mutable variables at file scope" {
    need_plain_objects
    found=$(variables_of "$library")
    [ -z "$found" ] || { echo "$found"; return 1; }
}

@test "no call that ends the program" {
    need_plain_objects
    found=$(nm -A -u "$library" | grep -E ' (exit|_exit|_Exit|quick_exit|abort|raise|__assert_fail)$' || true)
    [ -z "$found" ] || { echo "$found"; return 1; }
}

@test "no printing" {
    need_plain_objects
    found=$(nm -A -u "$library" |
        grep -E ' (stdout|stderr|printf|vprintf|puts|putchar|perror|__v?printf_chk)$' || true)
    [ -z "$found" ] || { echo "$found"; return 1; }
}

@test "the checks above see what they look for" {
    cd "$BATS_TEST_TMPDIR"
    printf '%s\n' '#include <stdio.h>' '#include <stdlib.h>' 'static int hidden; int shown = 1;' \
        'static _Thread_local int mine;' \
        'int f(void) { static int n; printf("%d\n", hidden++ + mine++); if (n++) exit(1); return n; }' >bad.c
    ${CC:-cc} -c bad.c && ar cr bad.a bad.o
    [ "$(variables_of bad.a | wc -l)" = 4 ]
    [ "$(nm -A -u bad.a | grep -cE ' (exit|printf)$')" = 2 ]
}

# Locks of omp critical and reduction, and what clang makes of target_clones.
made_by_compilers='^\.gomp_critical_user_|\.resolver$'

@test "public names begin with psr_ or PSR_, and no two members share a name" {
    need_plain_objects
    [ -z "$(ar t "$library" | sort | uniq -d)" ]
    [ -z "$(cd "$srcdir/lib" && find . -name '*.c' | sed 's|.*/||' | sort | uniq -d)" ]
    found=$(nm -g --defined-only "$library" | without_kernels | awk 'NF { print $NF }' |
        grep -vE "^psr_|_k_[a-z]|^_Z|^__|$made_by_compilers" | grep -v ':$' || true)
    [ -z "$found" ] || { echo "$found"; return 1; }
    # They are global: two of one name would clash.
    found=$(nm -g --defined-only "$library" | awk '/\.resolver$/ { print $NF }' | sort | uniq -d)
    [ -z "$found" ] || { echo "two files have $found"; return 1; }
}

# Of the pairs FLOOR OBJECT on standard input prints the objects that use what a floor above theirs,
# or beside it, defines.
higher_uses() {
    local pairs
    pairs=$(cat)
    { echo "$pairs"; echo; cut -d' ' -f2- <<<"$pairs" | xargs -d '\n' nm -A -g; } | awk '
        BEGIN {
            n = split("base stats formats dsp astro plan rfi beam fake search compat candidate run", rooms, " ")
            for (i = 1; i <= n; i++)
                height[rooms[i]] = i
            n = 0
        }
        !named { named = NF == 0; room[$2] = $1; next }
        { from = $1; sub(/:.*/, "", from) }
        $(NF - 1) != "U" { home[$NF] = room[from] }
        $(NF - 1) == "U" && $NF ~ /^psr_/ { n++; floor[n] = room[from]; object[n] = from; name[n] = $NF }
        END {
            for (i = 1; i <= n; i++) {
                to = home[name[i]]
                if (to != "" && to != floor[i] && height[to] >= height[floor[i]])
                    print object[i], "uses", name[i], "of", to
            }
        }'
}

@test "each floor rests only on those under it" {
    # Every source, in folders of folders too, belongs to the floor of its first one.
    list_objects() {
        (cd "$srcdir/lib" && find . -name '*.c' | sed 's|^\./||' | while read -r source; do
            object=${source##*/}
            object=$builddir/lib/${source%/*}/.libs/libpsrkit_objects_la-${object%.c}.o
            [ ! -f "$object" ] || echo "${source%%/*} $object"
        done)
    }
    [ "$(list_objects | grep -c '/search/.*/')" -gt 60 ]
    found=$(list_objects | higher_uses)
    [ -z "$found" ] || { echo "$found"; return 1; }
    cd "$BATS_TEST_TMPDIR"
    echo 'void psr_low(void); void psr_low(void) { }' >low.c
    echo 'void psr_low(void); void psr_high(void); void psr_high(void) { psr_low(); }' >high.c
    ${CC:-cc} -c low.c high.c
    [ "$(printf '%s\n' 'dsp high.o' 'base low.o' | higher_uses | wc -l)" = 0 ]
    [ "$(printf '%s\n' 'dsp high.o' 'search low.o' | higher_uses | wc -l)" = 1 ]
    [ "$(printf '%s\n' 'beam high.o' 'search low.o' | higher_uses | wc -l)" = 1 ]
}

@test "no two headers give one name to two things" {
    found=$(cd "$srcdir" && grep -rhoE --include="*.h" '^(struct|enum|union) [a-z0-9_]+ \{' lib | awk '{ print $2 }' |
        sort | uniq -d)
    [ -z "$found" ] || { echo "$found"; return 1; }
}

public_headers() { (cd "$srcdir/lib" && ls psrkit/*.h psrkit/experimental/*.h); }

@test "every public header compiles alone, in C and in C++" {
    cd "$BATS_TEST_TMPDIR"
    for header in $(public_headers); do
        printf '#include <%s>\nint here;\n' "$header" >t.c
        ${CC:-cc} -std=c11 -Wall -Wextra -Wpedantic -Werror -I"$srcdir/lib" -fsyntax-only t.c
        command -v c++ >/dev/null || continue
        c++ -x c++ -std=c++11 -Wall -Wextra -Werror -I"$srcdir/lib" -fsyntax-only t.c
    done
}

@test "public headers are few, one for each subject" {
    [ "$(public_headers | grep -vc experimental)" -le 14 ]
    [ "$(public_headers | wc -l)" -le 30 ]
}

@test "every public header is installed, and is part of psrkit.h or experimental.h, and shows no private one" {
    for header in $(public_headers); do
        grep -q "lib/$header" "$srcdir/lib/local.mk"
        case $header in
        psrkit/psrkit.h | psrkit/experimental.h) continue ;;
        psrkit/experimental/*) all=experimental.h ;;
        *) all=psrkit.h ;;
        esac
        grep -qF "#include <$header>" "$srcdir/lib/psrkit/$all"
    done
    found=$(cd "$srcdir/lib" && grep -n '^#include "' $(public_headers) || true)
    [ -z "$found" ] || { echo "$found"; return 1; }
}

# Prints the functions that headers declare: by the compiler, of those at a path.
declared() {
    (cd "$srcdir/lib" && public_headers | grep "$1" | sed 's/.*/#include <&>/') >"$BATS_TEST_TMPDIR/all.h"
    ${CC:-cc} -I"$srcdir/lib" -E -x c - <"$BATS_TEST_TMPDIR/all.h" |
        awk -v path="$1" '/^# [0-9]+ "/ { theirs = $3 ~ path; next } theirs' | sed 's/(\*/*/g' |
        tr '\n' ' ' | sed 's/[;{}]/\n/g' | grep -v typedef | grep -oE '\bpsr_[a-z0-9_]+ *\(' | tr -d ' (' | sort -u
}

@test "the shared library shows what public headers declare, and no more: what is stable with version PSRKIT_1" {
    need_plain_objects
    declared 'psrkit/[a-z_]*[.]h' | sed 's/$/@@PSRKIT_1/' >"$BATS_TEST_TMPDIR/declared"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/declared")" -gt 80 ]
    [ "$(wc -l <"$BATS_TEST_TMPDIR/declared")" -le 220 ]
    declared 'psrkit/experimental/' | sed 's/$/@@PSRKIT_EXPERIMENTAL/' >>"$BATS_TEST_TMPDIR/declared"
    nm -D --defined-only "$shared" | awk '$2 ~ /[TDBRi]/ { print $3 }' | sort >"$BATS_TEST_TMPDIR/shown"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/shown")" -le 300 ]
    diff <(sort "$BATS_TEST_TMPDIR/declared") "$BATS_TEST_TMPDIR/shown"
}

@test "the shared library carries a soname, and the version of the tools" {
    readelf -d "$shared" | grep -qF 'soname: [libpsrkit.so.1]'
    grep -qaF "$(gpudedisp --version | sed -n '1s/.* //p')" "$shared"
}

@test "programs link the shared library, and load cfitsio with the first FITS file only" {
    need_plain_objects
    for tool in $tools; do
        ldd "$builddir/bin/$tool" >"$BATS_TEST_TMPDIR/needs"
        grep -q 'libpsrkit.so.1 => /' "$BATS_TEST_TMPDIR/needs"
        ! grep -q cfitsio "$BATS_TEST_TMPDIR/needs" || { echo "$tool needs cfitsio"; return 1; }
    done
    file=$PSRKIT_TEST_DATA/parkes_8bit_1.sf
    [ -f "$file" ] || skip "there is no $file"
    name=$(sed -n 's/^#define PSR_CFITSIO_SO "\(.*\)"/\1/p' "$builddir/config.h")
    cd "$BATS_TEST_TMPDIR"
    sed "s/$name/${name//[0-9]/_}/" "$builddir/lib/.libs/libpsrkit.so.1" >libpsrkit.so.1
    run env LD_LIBRARY_PATH=. gpudedisp -lodm 0 -dmstep 1 -numdms 2 -nobary -o here "$file"
    [ "$status" = 3 ]
    [[ "$output" == *"parkes_8bit_1.sf: FITS files need cfitsio: ${name//[0-9]/_}: cannot open"* ]]
}

saw_pulse='^DM  50: 256 at sample 1000 of '

@test "a C program links with the shared library" {
    need_plain_objects
    ${CC:-cc} -std=c11 -I"$srcdir/lib" -o "$BATS_TEST_TMPDIR/example" "$srcdir/tests/example.c" "$shared"
    LD_LIBRARY_PATH=$builddir/lib/.libs "$BATS_TEST_TMPDIR/example" | grep -q "$saw_pulse"
}

@test "doc/library.md shows tests/example.c as it is" {
    diff "$srcdir/tests/example.c" <(sed -n '/^```c$/,/^```$/{/^```/d;p}' "$srcdir/doc/library.md")
}

@test "programs need no CUDA libraries at run time" {
    command -v ldd >/dev/null || skip "there is no ldd"
    found=$(ldd "$builddir/tests/base/t_device" | grep -iE 'cuda|nvidia' || true)
    [ -z "$found" ] || { echo "$found"; return 1; }
}

@test "what a line of a test asks is heeded" {
    # bash goes on after "! A", and after "A && B" where A fails.
    found=$(cd "$srcdir/tests" && grep -nE '^ *(!|\[.*\] &&) ' ./*.bats gpu/*.bats | grep -vE '\|\||&& [a-z]+=' || true)
    [ -z "$found" ] || { echo "$found"; false; }
}

@test "the spacing of channels is asked of psr_obs_band, but where formats are read and written" {
    cd "$srcdir"
    # A band may have a table instead. Who makes a band sets it.
    found=$(grep -rn 'foff_mhz' lib --include='*.[ch]' | grep -vE '^lib/(formats|psrkit)/|foff_mhz = ') || true
    [ -z "$found" ] || { echo "$found"; return 1; }
}

@test "psrkit.pc belongs to the tree that it is in" {
    command -v pkg-config >/dev/null || skip "no pkg-config"
    grep -q '^libdir=${exec_prefix}/lib$' "$builddir/lib/psrkit.pc" || skip "configured with folders of its own"
    cd "$BATS_TEST_TMPDIR"
    mkdir -p "moved/lib/pkgconfig"
    [ -f "$builddir/lib/.libs/libpsrkit.a" ] || fails grep -e '-L/' "$builddir/lib/psrkit.pc"
    cp "$builddir/lib/psrkit.pc" moved/lib/pkgconfig/
    export PKG_CONFIG_PATH=$PWD/moved/lib/pkgconfig
    [ "$(cd "$(pkg-config --variable=libdir psrkit)" && pwd)" = "$PWD/moved/lib" ]
    mkdir moved/include
    [ "$(cd "$(pkg-config --variable=includedir psrkit)" && pwd)" = "$PWD/moved/include" ]
}
