#!/usr/bin/env bash
# Changes random places of lib/*.c by one operator, one at a time, and counts the changes that the tests notice.
#   mutate.sh [-s SEED] [-n COUNT] [-d FOLDER] [-a]
# -s  of the random numbers that choose the places; printed                          (from the clock)
# -n  stop after so many changes that compile to other code than the library's                  (100)
# -d  keep the copy of the tree, its builds and what is known of the tests here     (./mutate.d)
# -a  test again, of SEED's changes, those that were not caught
# Works on a copy of the tracked files, which it builds three times: as it is, under the sanitizers, and
# counting the lines that each test runs.  A change is tested by the tests that run its line, the fastest
# first, up to the first that fails; then by the same under the sanitizers.  One core, hours.
# Outcomes:  killed       a test failed, or did not end (TEST, or TEST under the sanitizers)
#            survived     none did
#            equivalent   none did, and tests/mutate/equivalent.txt says why none can
#            same code    the compiler makes the same object of it (not counted)
#            not built    it does not compile (not counted)
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
seed=$(date +%s) count=100 work=$PWD/mutate.d again=
while getopts s:n:d:a option; do
    case $option in
    s) seed=$OPTARG ;;
    n) count=$OPTARG ;;
    d) work=$OPTARG ;;
    a) again=yes ;;
    *) exit 2 ;;
    esac
done
mkdir -p "$work/tmp"
work=$(cd "$work" && pwd)
export TMPDIR=$work/tmp ASAN_OPTIONS=hard_rss_limit_mb=6000
tree=$work/tree here=$top/tests/mutate log=$work/log
: >"$log"

# --- the copy and its builds ---------------------------------------------------------------------------

copy_tree() {
    mkdir -p "$tree"
    rm -rf "$tree/tests" # what was removed since; the builds hold the objects
    (cd "$top" && git ls-files -z | tar c --null -T -) | tar x -C "$tree"
    # A run that was killed left an object with a change.
    [ ! -f "$work/changing" ] || touch "$tree/$(cat "$work/changing")"
    rm -f "$work/changing"
    if [ ! -x "$tree/configure" ] || [ "$tree/configure.ac" -nt "$tree/configure" ]; then
        (cd "$tree" && autoreconf -fi >>"$log" 2>&1)
    fi
}

# build NAME CONFIGURE-OPTION...
build() {
    local dir=$work/$1
    shift
    mkdir -p "$dir"
    [ -f "$dir/Makefile" ] || (cd "$dir" && "$tree/configure" --without-cuda "$@" >>"$log" 2>&1)
    make -C "$dir" all >>"$log" 2>&1
    make -C "$dir" check TESTS= >>"$log" 2>&1
}

# run BUILD TEST SECONDS: as `make check` does; its output is in $work/out.
run() {
    local build=$work/$1 test=$2 limit=$3 rc=0
    case $test in
    *.bats) make -C "$build" all >>"$log" 2>&1 ;;
    *) make -C "$build" "$test" >>"$log" 2>&1 ;;
    esac
    (
        ulimit -f 4000000
        [ "$1" = sanitized ] || ulimit -v 12000000
        exec timeout -k 5 "$limit" make -s -C "$build" "$test.run"
    ) >"$work/out" 2>&1 </dev/null || rc=$?
    rm -rf "${TMPDIR:?}"/*
    return $rc
}

# --- what each test runs -------------------------------------------------------------------------------

# up_to_date TEST RECORD: nothing that the test runs is newer than the record.
up_to_date() {
    local file=$work/covered/$1
    [ -f "$2" ] || return 1
    case $1 in
    *.bats)
        file=$tree/$1
        [ -z "$(find "$work"/covered/bin "$work"/covered/lib -type f -perm -u+x -newer "$2")" ] || return 1
        ;;
    esac
    [ ! "$file" -nt "$2" ]
}

record_test() {
    local test=$1 out=$work/lines/$1.lines began rc=0
    up_to_date "$test" "$out" && return
    mkdir -p "$(dirname "$out")"
    printf '== what %s runs\n' "$test"
    find "$work/covered" -name '*.gcda' -delete
    began=$(date +%s%N)
    run plain "$test" 600 || rc=1
    printf '%d %s\n' $((($(date +%s%N) - began) / 1000000)) "$test" >"$out.ms"
    [ -f "$out.sound" ] || run sanitized "$test" 1800 || rc=2
    [ $rc -ne 0 ] || touch "$out.sound"
    run covered "$test" 1200 || rc=3
    if [ $rc -ne 0 ]; then
        printf '== LEFT OUT: %s fails without a change (build %d)\n' "$test" $rc
        rm -f "$out" "$out.ms"
        return
    fi
    (cd "$work/covered" && find lib -name '*.gcda' -exec gcov --json-format --stdout {} +) 2>>"$log" |
        python3 "$here/reach.py" record "$out"
}

prepare() {
    copy_tree
    build plain CC="${CC:-ccache gcc}" CFLAGS=-O3
    build sanitized CC="${CC:-ccache gcc}" CFLAGS=-O1 --enable-sanitize
    build covered CC=gcc CFLAGS="-O1 --coverage -fprofile-update=single"
    local test tests
    tests=$(make -s -C "$work/plain" list-tests)
    for test in $tests; do
        record_test "$test"
    done
    (cd "$work/lines" && find . -name '*.ms' -exec cat {} +) | sort -n | awk '{ print $2, $1 }' >"$work/times"
}

# --- one change ----------------------------------------------------------------------------------------

# try_tests BUILD SLOWNESS TEST...: sets killer and why, and fails, at the first test that fails.
try_tests() {
    local build=$1 slowness=$2 test ms rc
    shift 2
    for test in "$@"; do
        ms=$(awk -v t="$test" '$1 == t { print $2 }' "$work/times")
        rc=0
        run "$build" "$test" $((20 + slowness * ms / 1000)) || rc=$?
        [ $rc -eq 0 ] && continue
        killer=$test
        why=$(grep -aEm 1 '^not ok|^Bail out|ERROR: |runtime error' "$work/out" || tail -n 1 "$work/out")
        [ $rc -ne 124 ] && [ $rc -ne 137 ] || why="did not end"
        return 1
    done
}

# Of lib/FLOOR/FILE.c: what make makes, and the object.
made_of() { printf '%s/libpsrkit_objects_la-%s.lo' "$(dirname "$1")" "$(basename "$1" .c)"; }
object_of() { printf '%s/.libs/libpsrkit_objects_la-%s.o' "$(dirname "$1")" "$(basename "$1" .c)"; }

# judge FILE LINE: sets outcome, killer and why for the change that is in the tree.
judge() {
    local file=$1 line=$2 object by tests
    object=$(object_of "$file")
    killer='' why=''
    if ! make -C "$work/plain" "$(made_of "$file")" >>"$log" 2>&1; then
        outcome='not built'
        return
    elif cmp -s "$work/plain/$object" "$work/original.o"; then
        outcome='same code'
        return
    fi
    mapfile -t tests < <(python3 "$here/reach.py" tests "$work/lines" "$file" "$line")
    by=${tests[0]} tests=("${tests[@]:1}")
    mapfile -t tests < <(awk 'NR == FNR { want[$1]; next } $1 in want { print $1 }' \
        <(printf '%s\n' "${tests[@]}") "$work/times")
    [ -n "${tests[0]-}" ] || tests=()
    outcome=killed
    try_tests plain 10 "${tests[@]}" || return 0
    make -C "$work/sanitized" "$(made_of "$file")" >>"$log" 2>&1
    try_tests sanitized 30 "${tests[@]}" || { killer="$killer, sanitized"; return 0; }
    outcome=survived why="${#tests[@]} tests run its $by"
}

# The line with the change, without what is around it.
changed_line() { sed -n "$2{s/^[ \t]*//;s/[ \t]*\\\\\{0,1\}\$//;p}" "$1"; }

# listed FILE OLD-LINE NEW-LINE: the reason why it is equivalent, from the list.
listed() {
    was="- $2" is="+ $3" awk -v f="$1" -v RS= -F '\n' '
        $1 == f && $2 == ENVIRON["was"] && $3 == ENVIRON["is"] { print $4; found = 1 }
        END { exit !found }' \
        "$here/equivalent.txt"
}

# try_change FILE LINE OFFSET LENGTH OLD NEW: a row of the results.
try_change() {
    local file=$1 line=$2 object old_line new_line reason
    object=$(object_of "$file")
    make -C "$work/plain" "$(made_of "$file")" >>"$log" 2>&1
    cp "$work/plain/$object" "$work/original.o"
    cp "$tree/$file" "$work/original.c"
    echo "$file" >"$work/changing"
    python3 "$here/places.py" apply "$work/original.c" "$3" "$4" "$6" >"$tree/$file"
    old_line=$(changed_line "$work/original.c" "$line") new_line=$(changed_line "$tree/$file" "$line")
    judge "$file" "$line"
    cp "$work/original.c" "$tree/$file"
    rm "$work/changing"
    if [ "$outcome" = survived ] && reason=$(listed "$file" "$old_line" "$new_line"); then
        outcome=equivalent why=$reason
    fi
    printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$file" "$line" "$3" "$5" "$6" "$outcome" \
        "$killer" "$why" "$old_line" "$new_line" | tr -d '\r'
}

# --- all of them ---------------------------------------------------------------------------------------

counted() { awk -F '\t' '$6 != "same code" && $6 != "not built"' "$1" | wc -l; }

try_all() {
    local results=$1 file line offset length old new
    while IFS=$'\t' read -r file line offset length old new; do
        [ "$(counted "$results")" -lt "$count" ] || break
        ! awk -F '\t' -v f="$file" -v o="$offset" '$1 == f && $3 == o { found = 1 } END { exit !found }' \
            "$results" || continue
        try_change "$file" "$line" "$offset" "$length" "$old" "$new" </dev/null | tee -a "$results" | show
    done
}

show() {
    awk -F '\t' '{
        change = $5 == "" ? "drop " $4 : $4 " to " $5
        printf "%-38s %-40.40s  %-10s %s\n", substr($1, 5) ":" $2, change, $6, $7 == "" ? $8 : $7
    }'
}

report() {
    printf '\nseed %s\n' "$seed"
    awk -F '\t' '{
        what = $6
        if (what == "killed")
            what = $7 ~ /sanitized/ ? "killed under the sanitizers only" : "killed"
        n[what]++
        if (what !~ /same|built/) all++
    }
    END {
        split("killed,killed under the sanitizers only,survived,equivalent", order, ",")
        for (i = 1; i <= 4; i++) printf "%5d %s\n", n[order[i]], order[i]
        printf "%5d changes in all, and %d that make the same code, %d that do not compile\n", all, n["same code"], n["not built"]
    }' "$1"
}

prepare
results=$work/results.$seed
touch "$results"
if [ -n "$again" ]; then
    awk -F '\t' '$6 != "survived"' "$results" >"$results.kept"
    mv "$results.kept" "$results"
fi
printf '== seed %s\n' "$seed"
(cd "$tree" && for file in lib/*/*.c; do
    [ ! -f "$work/plain/$(object_of "$file")" ] || printf '%s\n' "$file"
done | LC_ALL=C sort | xargs python3 "$here/places.py" pick "$seed" $((3 * count))) |
    grep -v '^#' | (cd "$tree" && try_all "$results")
show <"$results" >"$work/table.$seed"
report "$results" | tee -a "$work/table.$seed"
