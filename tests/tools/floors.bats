#!/usr/bin/env bats
# Who knows whom: tools know of the library what is public, and no files know each other in a circle.

load helper

# private_includes FOLDER: what the sources of FOLDER/tools include of FOLDER/lib and FOLDER/kernels
# that is no public header.  base/tool.h is theirs, too: they hold its sources; and base/portable.h, which has none.
private_includes() {
    (cd "$1" && grep -noE '^ *# *include *["<][^">]+' tools/*/*.[ch] tools/*/*/*.[ch] | sed -E 's/: *# *include *["<]/ /' |
        while read -r where header; do
            case $header in psrkit/* | base/tool.h | base/portable.h) continue ;; esac
            [ ! -f "lib/$header" ] && [ ! -f "kernels/$header" ] || echo "$where includes $header"
        done)
}

@test "tools include public headers of the library alone" {
    found=$(private_includes "$srcdir")
    [ -z "$found" ] || { echo "$found"; return 1; }
    cd "$BATS_TEST_TMPDIR"
    mkdir -p tools/a/deep lib/psrkit lib/base kernels
    touch lib/psrkit/x.h lib/base/y.h kernels/z.h tools/a/own.h
    printf '#include %s\n' '<psrkit/x.h>' '"own.h"' '<stdio.h>' '"base/y.h"' '<base/y.h>' '"z.h"' >tools/a/main.c
    echo '#include "z.h"' >tools/a/deep/part.h
    [ "$(private_includes .)" = "tools/a/main.c:4 includes base/y.h
tools/a/main.c:5 includes base/y.h
tools/a/main.c:6 includes z.h
tools/a/deep/part.h:1 includes z.h" ]
}

# A machine may have CUDA's headers where every compiler looks, and hide that others cannot compile them.
@test "without CUDA no source needs its headers" {
    ! grep -q '^#define HAVE_CUDA 1' "$builddir/config.h" || skip "built with CUDA"
    found=$(cd "$builddir" && find lib tools -name '*.P*o' -exec grep -l 'cuda_runtime' {} +) || :
    [ -z "$found" ] || { echo "$found"; return 1; }
}

@test "without cairo all functions of pictures are there" {
    cd "$BATS_TEST_TMPDIR"
    ${CC:-cc} -std=gnu11 -D_GNU_SOURCE -I"$srcdir/lib" -I"$srcdir/tools" -I"$builddir" -c -o none.o "$srcdir/tools/common/plot/canvas_none.c"
    grep -oE '\bcanvas_[a-z_]+\(' "$srcdir/tools/common/plot/canvas.h" | tr -d '(' | sort -u >declared
    [ "$(wc -l <declared)" -gt 15 ]
    nm none.o | awk '$2 == "T" { print $3 }' | sort >defined
    found=$(comm -23 declared defined)
    [ -z "$found" ] || { echo "$found"; return 1; }
}

# room_pairs FOLDER: which rooms of FOLDER/lib include headers of which others.
room_pairs() {
    (cd "$1/lib" && grep -roE --include='*.[ch]' '^ *# *include *"[^"]+"' . | sed -E 's/^\.\///; s/: *# *include *"/ /; s/"$//' |
        while read -r file header; do
            room=${file%/*}
            [[ $header == */* && -f $header ]] || continue
            [ "$room" = "${header%/*}" ] || echo "$room ${header%/*}"
        done | sort -u)
}

@test "rooms of the library know each other one way" {
    room_pairs "$srcdir" >"$BATS_TEST_TMPDIR/pairs"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/pairs")" -gt 100 ]
    found=$(tsort "$BATS_TEST_TMPDIR/pairs" 2>&1 >"$BATS_TEST_TMPDIR/order")
    [ -z "$found" ] || { echo "$found"; return 1; }
    # What runs is above what it runs, and the base is below all.
    awk '{ at[$1] = NR } END { exit !(at["run/dedisperse"] < at["search/dedisp"] && at["formats/spectra"] < at["base"]) }' \
        "$BATS_TEST_TMPDIR/order"
    cd "$BATS_TEST_TMPDIR"
    mkdir -p lib/up lib/down
    touch lib/up/u.h lib/down/d.h
    echo '#include "down/d.h"' >lib/up/u.c
    echo '#include "up/u.h"' >lib/down/d.c
    [ "$(room_pairs .)" = "down up
up down" ]
}

# object_of FOLDER/FILE.c PREFIX: object, what the build made of it.
object_of() {
    object=${1##*/}
    object=$builddir/${1%/*}/$2-${object%.c}.o
}

# circles OBJECT...: the objects that use each other in a circle, those through which it closes.
circles() {
    nm -A -g "$@" 2>/dev/null | awk '
        { object = $1; sub(/:.*/, "", object) }
        $(NF - 1) == "U" { n++; user[n] = object; name[n] = $NF }
        $(NF - 1) != "U" && $(NF - 1) != "C" { home[$NF] = object }
        END {
            for (i = 1; i <= n; i++)
                if (home[name[i]] != "" && home[name[i]] != user[i])
                    print user[i], home[name[i]]
        }' | sort -u | tsort 2>&1 >/dev/null
}

@test "no circle of files in the library" {
    objects=()
    while read -r source; do
        object_of "$source" .libs/libpsrkit_objects_la
        [ ! -f "$object" ] || objects+=("$object")
    done < <(cd "$srcdir" && find lib -name '*.c')
    [ ${#objects[@]} -gt 100 ]
    found=$(circles "${objects[@]}")
    [ -z "$found" ] || { echo "$found"; return 1; }
}

# Rings are built where psrdada is: a stub of its interface has the sources compiled everywhere.
@test "nor where psrdada is there" {
    with_rings=(-I"$srcdir/tests/psrdada" -DHAVE_PSRDADA)
    objects=()
    with_them=$(cd "$srcdir" && grep -rl --include='*.c' HAVE_PSRDADA lib)
    while read -r source; do
        object_of "$source" .libs/libpsrkit_objects_la
        [ -f "$object" ] || continue
        if [[ $with_them == *"$source"* ]]; then
            object=$BATS_TEST_TMPDIR/$(basename "$source" .c).o
            # config.h may say that it is there, too.
            ${CC:-cc} -std=gnu11 -Wall -Wextra -Werror -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 "${with_rings[@]}" \
                -I"$srcdir/lib" -I"$builddir" -c -o "$object" "$srcdir/$source"
        fi
        objects+=("$object")
    done < <(cd "$srcdir" && find lib -name '*.c')
    nm "$BATS_TEST_TMPDIR/dada_ring.o" | grep -q 'U dada_hdu_connect'
    found=$(circles "${objects[@]}")
    [ -z "$found" ] || { echo "$found"; return 1; }
}

@test "no circle of files in a tool" {
    for tool in $tools; do
        objects=()
        while read -r source; do
            object_of "$source" "bin_${tool//-/_}"
            [[ $source != tools/common/* ]] || object_of "$source" .libs/libcommon_la
            [ ! -f "$object" ] || objects+=("$object")
        done < <(cd "$srcdir" && find "tools/$tool" tools/common -name '*.c')
        [ ${#objects[@]} -gt 2 ]
        found=$(circles "${objects[@]}")
        [ -z "$found" ] || { echo "$tool: $found"; return 1; }
    done
}

@test "the check above sees circles" {
    cd "$BATS_TEST_TMPDIR"
    echo 'void f(void); void h(void); void g(void); void g(void) { f(); }' >a.c
    echo 'void g(void); void f(void); void f(void) { }' >b.c
    echo 'void f(void); void h(void); void h(void) { f(); }' >c.c
    ${CC:-cc} -c a.c b.c c.c
    [ -z "$(circles a.o b.o c.o)" ]
    echo 'void f(void); void h(void); void f(void) { h(); }' >b.c
    ${CC:-cc} -c b.c
    circles a.o b.o c.o | grep -q 'b\.o'
}
