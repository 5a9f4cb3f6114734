#!/usr/bin/env bash
# Changes random places of the library by one operator, one at a time, and counts the changes that the tests notice.
#   mutate.sh [-s SEED] [-n COUNT] [-j JOBS] [-m MINUTES] [-t 'TEST...'] [-d FOLDER] [-a]
# -s  of the random numbers that choose the places; printed                          (from the clock)
# -n  changes to try, which compile to other code than the library's                            (100)
# -j  changes to try at a time, each in a copy of the builds                              (all cores)
# -m  for a change; one that no test noticed until then is undecided                             (20)
# -t  only these tests, named as for `make check TESTS=...`                               (all tests)
# -d  keeps the copy of the tree, its builds and what is known of the tests              (./mutate.d)
# -a  goes on with SEED's changes: those not tried yet, and those that were not caught
# Works on a copy of the tracked files, which it builds three times: as it is, under the sanitizers, and
# counting the lines that each test runs.  A change is tested by the tests that run its line, the fastest
# first, up to the first that fails; then by the same under the sanitizers.
# Outcomes:  killed       a test failed, or did not end (TEST, or TEST under the sanitizers)
#            survived     none did
#            undecided    none did in time
#            equivalent   none did, and tests/mutate/equivalent.txt says why none can
#            same code    the compiler makes the same object of it (not counted)
#            not built    it does not compile (not counted)
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
seed=$(date +%s) count=100 jobs=$(nproc) minutes=20 tests='' work=$PWD/mutate.d again=''
while getopts s:n:j:m:t:d:a option; do
    case $option in
    s) seed=$OPTARG ;;
    n) count=$OPTARG ;;
    j) jobs=$OPTARG ;;
    m) minutes=$OPTARG ;;
    t) tests=$OPTARG ;;
    d) work=$OPTARG ;;
    a) again=yes ;;
    *) exit 2 ;;
    esac
done
mkdir -p "$work"
work=$(cd "$work" && pwd)
here=$top/tests/mutate log=$work/log results=$work/results.$seed
: >"$log"
export ASAN_OPTIONS=hard_rss_limit_mb=6000 OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive PSRKIT_LONG=1

# shellcheck disable=SC2016 # of the command
# in_parallel FUNCTION: calls it with each line of standard input, JOBS at a time; each has a worker's folder.
in_parallel() {
    xargs -d '\n' -r -n 1 -P "$jobs" --process-slot-var=slot bash -euo pipefail -c '
        worker=$work/worker.$slot
        export TMPDIR=$worker/tmp
        mkdir -p "$TMPDIR"
        "$0" "$1" </dev/null' "$1"
}

# --- the copy and its builds ---------------------------------------------------------------------------

copy_tree() {
    local tree=$work/tree
    mkdir -p "$tree"
    rm -rf "$tree/tests" # what was removed since; the builds hold the objects
    (cd "$top" && git ls-files -z | tar c --null -T -) | tar x -C "$tree"
    if [ ! -x "$tree/configure" ] || [ "$tree/configure.ac" -nt "$tree/configure" ]; then
        (cd "$tree" && autoreconf -fi >>"$log" 2>&1)
    fi
}

# make_in BUILD ...: a build finds its tree beside it, so that both can be copied.
make_in() {
    local dir=$1
    shift
    make -C "$dir" abs_top_builddir="$dir" abs_top_srcdir="${dir%/*}/tree" "$@"
}

configure_in() {
    mkdir -p "$work/$1"
    cd "$work/$1"
    shift
    [ -f Makefile ] || ../tree/configure --without-cuda "$@"
}

build() {
    case $1 in
    plain) configure_in plain CFLAGS=-O3 ;;
    sanitized) configure_in sanitized CFLAGS=-O1 --enable-sanitize ;;
    covered) configure_in covered CC="${CC##*ccache }" CFLAGS='-O1 --coverage -fprofile-update=single' ;;
    esac
    make_in "$work/$1" -j"$jobs" all
    make_in "$work/$1" -j"$jobs" check TESTS=
} >>"$log" 2>&1

# Copies a build without the programs of tests: each change links them anew.
copy_build() {
    mkdir "$worker/$1"
    (cd "$work/$1" && find . -path './tests/*' -type f -perm -u+x ! -name '*.so' -o ! -type d -print0 |
        tar c --null -T -) | tar x -C "$worker/$1"
}

make_worker() {
    worker=$work/worker.$1
    rm -rf "$worker"
    mkdir -p "$worker"
    cp -a "$work/tree" "$worker/tree"
    copy_build plain
    copy_build sanitized
}

# run BUILD TEST SECONDS: as `make check` does; what it prints is in $worker/out.
run() {
    local dir=$1 test=$2 limit=$3 program=$2 rc=0
    [ "${test%.bats}" = "$test" ] || program=cli-programs
    make_in "$dir" "$program" >>"$log" 2>&1 || { echo "mutate.sh: $dir: cannot make $program: see $log" >&2; exit 255; }
    (
        case $dir in */sanitized) ;; *) ulimit -v 12000000 ;; esac
        timeout -k 5 "$limit" bash -c 'make_in "$@"' _ "$dir" -s "$test.run"
    ) >"$worker/out" 2>&1 || rc=$?
    rm -rf "${TMPDIR:?}"/*
    return $rc
}

# --- what each test runs -------------------------------------------------------------------------------

# Nothing that the test runs is newer than the record of it.
is_recorded() {
    local dir=$work/$1 test=$2 record=$3 program=$work/$1/$2
    [ -f "$record" ] || return 1
    if [ "${test%.bats}" != "$test" ]; then
        program=$work/tree/$test
        [ -z "$(find "$dir/bin" "$dir/lib" -type f -perm -u+x -newer "$record")" ] || return 1
    fi
    [ ! "$program" -nt "$record" ]
}

# 'BUILD TEST': leaves in lines/TEST.BUILD the lines that it runs, of covered, or the milliseconds that it takes.
record_test() {
    local build=${1% *} test=${1#* } counts=$worker/counts dir record began
    dir=$worker/$build record=$work/lines/$test.$build
    [ "$build" != covered ] || dir=$work/covered
    ! is_recorded "$build" "$test" "$record" || return 0
    rm -rf "$record" "$counts"
    mkdir -p "${record%/*}" "$counts$work/covered"
    began=$(date +%s%N)
    if ! GCOV_PREFIX=$counts run "$dir" "$test" 1800 && [ "$build" != covered ]; then
        printf '== LEFT OUT: %s fails without a change, %s: %s\n' "$test" "$build" "$(complaint)"
    elif [ "$build" = covered ]; then # counting alone can fail it, as where files may not grow
        (cd "$work/covered" && find lib -name '*.gcno' -print0 | tar c --null -T -) | tar x -C "$counts$work/covered"
        (cd "$counts$work/covered" && find lib -name '*.gcda' -exec gcov --json-format --stdout {} +) 2>>"$log" |
            python3 "$here/reach.py" record "$record.new"
        mv "$record.new" "$record"
    else
        printf '%d\n' $((($(date +%s%N) - began) / 1000000)) >"$record"
    fi
}

prepare() {
    copy_tree
    printf '%s\n' plain sanitized covered | jobs=3 in_parallel build
    [ -n "$tests" ] || tests=$(make -s -C "$work/plain" list-tests | tr '\n' ' ')
    export tests
    seq 0 $((jobs - 1)) | in_parallel make_worker
    printf '== what each of %d tests runs\n' "$(wc -w <<<"$tests")"
    # The slow ones first.
    for build in sanitized covered plain; do
        # shellcheck disable=SC2086 # names of tests
        printf "$build %s\n" $tests
    done | in_parallel record_test
}

# --- one change ----------------------------------------------------------------------------------------

# What a test that failed says of it.
complaint() {
    grep -aEm 1 '^not ok|^Bail out|ERROR: |runtime error' "$worker/out" || tail -n 1 "$worker/out"
}

# try_tests BUILD SLOWNESS 'MS TEST'...: fails, with outcome, killer and why set, at the first test that does.
try_tests() {
    local dir=$worker/$1 slowness=$2 timed rc
    shift 2
    for timed in "$@"; do
        if [ $SECONDS -gt $((60 * minutes)) ]; then
            outcome=undecided why="after $minutes minutes, before ${timed#* }"
            return 1
        fi
        rc=0
        run "$dir" "${timed#* }" $((20 + slowness * ${timed% *} / 1000)) || rc=$?
        if [ $rc -ne 0 ]; then
            outcome=killed killer=${timed#* } why=$(complaint)
            [ $rc -ne 124 ] && [ $rc -ne 137 ] || why="did not end"
            return 1
        fi
    done
}

# Of lib/.../FILE.c: what make makes, and the object.
made_of() { printf '%s/libpsrkit_objects_la-%s.lo' "$(dirname "$1")" "$(basename "$1" .c)"; }
object_of() { printf '%s/.libs/libpsrkit_objects_la-%s.o' "$(dirname "$1")" "$(basename "$1" .c)"; }

# The line with the change, without what is around it.
changed_line() { sed -n "$2{s/^[ \t]*//;s/[ \t]*\\\\\{0,1\}\$//;p}" "$1/$file" | tr -d '\r'; }

# Whether, and why, the list says that the change is equivalent.
is_equivalent() {
    was="- $(changed_line "$work/tree" "$1")" is="+ $(changed_line "$worker/tree" "$1")" awk -v f="$file" -v RS= -F '\n' '
        $1 == f && $2 == ENVIRON["was"] && $3 == ENVIRON["is"] { print $4; found = 1 }
        END { exit !found }' "$here/equivalent.txt"
}

# Reads a place into variables, and changes the worker's tree there.
change() {
    IFS=$'\t' read -r _ file line offset length _ new <<<"$1"
    python3 "$here/places.py" apply "$work/tree/$file" "$offset" "$length" "$new" >"$worker/tree/$file"
}

# Prints the place, and whether the change there makes other code.
compile_change() {
    local file line offset length new outcome='not built'
    change "$1"
    if make_in "$worker/plain" "$(made_of "$file")" >>"$log" 2>&1; then
        outcome='other code'
        ! cmp -s "$worker/plain/$(object_of "$file")" "$work/plain/$(object_of "$file")" || outcome='same code'
    fi
    cp "$work/tree/$file" "$worker/tree/$file"
    printf '%s\t%s\n' "$1" "$outcome"
}

# Adds the place, the outcome, the killer, why, and the line as it was and is, to the results.
try_change() {
    local file line offset length new outcome=survived killer='' why='' by timed row
    change "$1"
    # shellcheck disable=SC2086 # names of tests
    mapfile -t timed < <(python3 "$here/reach.py" tests "$work/lines" "$file" "$line" $tests)
    by=${timed[0]} timed=("${timed[@]:1}")
    if try_tests plain 10 "${timed[@]}" && ! try_tests sanitized 30 "${timed[@]}"; then
        killer=${killer:+$killer, sanitized}
    fi
    if [ $outcome = survived ]; then
        why=$(is_equivalent "$line") && outcome=equivalent || why="${#timed[@]} tests run its $by"
    fi
    row=$(printf '%s\t' "$1" "$outcome" "$killer" "$why" "$(changed_line "$work/tree" "$line")"
        changed_line "$worker/tree" "$line")
    cp "$work/tree/$file" "$worker/tree/$file"
    printf '%s\n' "$row" >>"$results"
    show <<<"$row"
}

# --- all of them ---------------------------------------------------------------------------------------

show() {
    awk -F '\t' '{
        change = $7 == "" ? "drop " $6 : $6 " to " $7
        printf "%-38s %-40.40s  %-10s %s\n", substr($2, 5) ":" $3, change, $8, $9 == "" ? $10 : $9
    }'
}

# Leaves in places.SEED, numbered, the first places whose changes make other code, COUNT of them.
choose_places() {
    local all=$work/all.$seed compiled=$work/compiled.$seed from=1 found=0
    (cd "$work/tree" && find lib -name '*.c' | while read -r file; do
        [ ! -f "$work/plain/$(object_of "$file")" ] || printf '%s\n' "$file"
    done | LC_ALL=C sort | xargs python3 "$here/places.py" pick "$seed" $((3 * count + 20))) |
        awk '!/^#/ { print ++n "\t" $0 }' >"$all"
    if [ -n "$again" ] && [ -s "$work/places.$seed" ] && ! grep -qvxFf "$all" "$work/places.$seed"; then
        return # they have not changed
    fi
    : >"$compiled"
    while [ "$found" -lt "$count" ] && [ $from -le "$(wc -l <"$all")" ]; do
        tail -n +$from "$all" | head -n $((count - found)) | in_parallel compile_change >>"$compiled"
        from=$((from + count - found))
        found=$(grep -c 'other code$' "$compiled" || true)
    done
    sort -n "$compiled" | sed -n 's/\tother code$//p' >"$work/places.$seed"
}

report() {
    printf '\nseed %s\n' "$seed"
    awk -F '\t' '{
        n[$8 == "killed" && $9 ~ /sanitized/ ? "killed under the sanitizers only" : $8]++
    }
    END {
        count = split("killed,killed under the sanitizers only,survived,undecided,equivalent", order, ",")
        for (i = 1; i <= count; i++)
            printf "%5d %s\n", n[order[i]], order[i]
        printf "%5d changes in all", NR
    }' "$results"
    awk -F '\t' '{ n[$8]++ } END { printf ", beside %d that make the same code and %d that do not compile\n", n["same code"], n["not built"] }' \
        "$work/compiled.$seed"
}

CC=${CC:-gcc}
export CC here log minutes results work
# shellcheck disable=SC2046 # the functions of this file
export -f $(declare -F | cut -d ' ' -f 3)
prepare
choose_places
if [ -z "$again" ] || [ ! -f "$results" ]; then
    : >"$results"
fi
awk -F '\t' '$8 == "killed" || $8 == "equivalent"' "$results" >"$results.kept"
mv "$results.kept" "$results"
printf '== seed %s\n' "$seed"
awk -F '\t' 'FILENAME == ARGV[1] { tried[$1]; next } !($1 in tried)' "$results" "$work/places.$seed" | in_parallel try_change
sort -n "$results" | show >"$work/table.$seed"
report | tee -a "$work/table.$seed"
