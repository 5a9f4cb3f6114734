# helper.bash: `load helper` first in every .bats file.  Gives bats 1.2, as Ubuntu 22.04 has it, what
# the tests use of 1.5 and later: run -CODE, run --separate-stderr, BATS_TEST_TMPDIR.

bats_require_minimum_version() { :; }

# Later versions come here without it too, once a file before its tests: they remove the folder of
# the run.
if [ -z "${BATS_TEST_TMPDIR-}" ]; then
    BATS_TEST_TMPDIR=$(mktemp -d "${BATS_RUN_TMPDIR:-${BATS_TMPDIR:-/tmp}}/psrkit.XXXXXX")
    teardown() {
        cd /
        rm -rf "$BATS_TEST_TMPDIR" "$BATS_TEST_TMPDIR".stderr.*
    }
fi

# Without a process, and not read byte by byte.
split_output() {
    local IFS=$'\n'
    set -f
    # shellcheck disable=SC2206
    lines=($output)
    set +f
}

# run [-CODE] [--separate-stderr] COMMAND...: sets status, output and lines, and stderr if separate;
# with -CODE, fails unless the command exits so.
run() {
    local want='' separate='' flags=$- errors=$BATS_TEST_TMPDIR.stderr.$BASHPID
    while [[ ${1-} == -* ]]; do
        [ "$1" = --separate-stderr ] && separate=yes || want=${1#-}
        shift
    done
    set +eET
    stderr=
    if [ -n "$separate" ]; then
        output=$("$@" 2>"$errors")
        status=$?
        [ ! -s "$errors" ] || stderr=$(<"$errors")
    else
        output=$("$@" 2>&1)
        status=$?
    fi
    split_output
    set "-$flags"
    if [ -n "$want" ] && [ "$status" -ne "$want" ]; then
        printf 'exit code %s, not %s, of: %s\n%s\n%s\n' "$status" "$want" "$*" "$output" "$stderr"
        return 1
    fi
}

golden=$srcdir/tests/golden
g8=$golden/g8.fil # 29696 spectra of 32 channels, 8 bits, without a position, of Parkes

# need_data FILE: skips the test where real observations are not at hand.
need_data() {
    [ -r "${PSRKIT_TEST_DATA:-/nonexistent}/$1" ] || skip "PSRKIT_TEST_DATA has no $1"
}

# need_long: skips a case that takes long, but in `make check-long` and .ci/run.
need_long() {
    [ -n "${PSRKIT_LONG-}" ] || skip "a long case: PSRKIT_LONG=1 or make check-long runs it"
}

# leaves_cases: says of a test that it runs some of its cases, unless in `make check-long` and .ci/run.
leaves_cases() {
    [ -n "${PSRKIT_LONG-}" ] || echo "# some cases are left for PSRKIT_LONG=1: $BATS_TEST_DESCRIPTION" >&3
}

# in_long COMMAND...: runs it there only, as a case that others stand for.
in_long() {
    if [ -n "${PSRKIT_LONG-}" ]; then "$@"; else leaves_cases; fi
}

# need_pictures: skips the test in a build that draws none.
need_pictures() {
    grep -q '^#define PSR_CAIRO_SO' "$builddir/config.h" || skip "built without cairo"
}

# one_line PATTERN: standard error of the last run was one line that matches.
one_line() {
    [[ $stderr != *$'\n'* ]] || { echo "stderr: $stderr"; false; }
    [[ $stderr =~ $1 ]] || { echo "stderr: $stderr"; false; }
}

# refuses CODE PATTERN COMMAND...: it must exit with CODE, say one line that matches, and print nothing.
refuses() {
    local code=$1 pattern=$2
    shift 2
    run -"$code" --separate-stderr "$@"
    one_line "$pattern"
    [ -z "$output" ]
}

# fails COMMAND...: it must not succeed.  A line "! COMMAND" checks nothing, as bash goes on after it.
fails() {
    if "$@"; then
        echo "succeeded: $*"
        return 1
    fi
}

# leaves_no NAME: no such file is there, nor one that was begun.
leaves_no() {
    [ -z "$(find . -name "$1" -o -name '*.part*')" ] || { find .; false; }
}

# patch FILE KEY BYTE HEX: replaces one byte of the value of KEY in a filterbank's header.
patch() {
    local at
    at=$(grep -obUa "$2" "$1" | head -n 1 | cut -d: -f1)
    printf "\\x$4" | dd of="$1" bs=1 seek=$((at + ${#2} + $3)) conv=notrunc status=none
}

# make_radec: radec.fil, the data of g8.fil with a position, of the GBT.
make_radec() {
    cat "$golden/headers/radec.hdr" <(tail -c $((29696 * 32)) "$g8") >radec.fil
}

# make_rfi: rfi.fil, radec.fil with interference, of which mask is the mask.
make_rfi() {
    make_radec
    gzip -dc "$golden/rfi.diff.gz" >rfi.diff
    "$builddir/tests/support/add_bytes" radec.fil rfi.diff >rfi.fil
    mask=$golden/mask/r_rfifind.mask
}

# side_by_side NAME...: functions that wait most of the time, each in a folder of its own and with its own output; all must
# succeed.
side_by_side() {
    local name pids=() bad=0
    for name; do
        mkdir "$name"
        (cd "$name" && set -e && "$name") >"$name.out" 2>&1 3>&- &
        pids+=($!)
    done
    for name; do
        wait "${pids[0]}" || { echo "$name:"; cat "$name.out"; bad=1; }
        pids=("${pids[@]:1}")
    done
    return $bad
}

# commands_of PAGE: its commands for a shell.
commands_of() {
    sed -n '/^```sh$/,/^```$/{/^```/d;p}' "$1"
}

# choose_address: at, an address and port to receive at; of all of 127.0.0.0/8 this address is nobody else's.
choose_address() {
    at=127.$((RANDOM % 250 + 1)).$((RANDOM % 250 + 1)).$((RANDOM % 250 + 1)):$((20000 + RANDOM % 30000))
}

# await_receiver: until somebody receives at the port.
await_receiver() {
    local port i
    port=$(printf ':%04X ' "${at##*:}")
    for ((i = 0; i < 200; i++)); do
        ! grep -q "$port" /proc/net/udp || return 0
        sleep 0.05
    done
    return 1
}

# copy_tools DIR TOOL...: copies programs, and the library that they look for beside their folder.
copy_tools() {
    local dir=$1 tool
    shift
    mkdir -p "$dir" "$dir/../lib"
    cp -L "$builddir/lib/libpsrkit.so.1" "$dir/../lib/"
    for tool; do cp "$builddir/bin/$tool" "$dir/"; done
}

# ends_soon PID SECONDS: it ends within so long after SIGTERM; where other programs run, within so long on a processor, and
# four times as long.
ends_soon() {
    local since=${EPOCHREALTIME/./} most=$(($2 * 1000)) before now
    times >"$BATS_TEST_TMPDIR/times" # not in a subshell, which has no children
    before=$(($(children_ms) + $(awk -v tick="$(getconf CLK_TCK)" '
        { sub(/.*\) /, ""); print int(1000 * ($12 + $13) / tick) }' "/proc/$1/stat")))
    kill -TERM "$1"
    wait "$1" || echo "exit code $?"
    local took=$(((${EPOCHREALTIME/./} - since) / 1000))
    times >"$BATS_TEST_TMPDIR/times"
    now=$(children_ms)
    echo "took $took ms, $((now - before)) ms of a processor"
    [ "$took" -lt "$most" ] || { [ "$took" -lt "$((4 * most))" ] && [ "$((now - before))" -lt "$most" ]; }
}

# Processor time of children that ended, of what bash's times has written.
children_ms() {
    awk 'NR == 2 { split($0, a, /[ms ]+/); print int(1000 * (60 * (a[1] + a[3]) + a[2] + a[4])) }' "$BATS_TEST_TMPDIR/times"
}
