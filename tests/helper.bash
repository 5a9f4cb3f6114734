# helper.bash: `load helper` first in every .bats file.  Gives bats 1.2, as Ubuntu 22.04 has it, what
# the tests use of 1.5 and later: run -CODE, run --separate-stderr, BATS_TEST_TMPDIR.

bats_require_minimum_version() { :; }

# Later versions come here without it too, once a file before its tests: they remove the folder of
# the run.
if [ -z "${BATS_TEST_TMPDIR-}" ]; then
    BATS_TEST_TMPDIR=$(mktemp -d "${BATS_RUN_TMPDIR:-${BATS_TMPDIR:-/tmp}}/psrkit.XXXXXX")
    teardown() {
        cd /
        rm -rf "$BATS_TEST_TMPDIR"
    }
fi

# run [-CODE] [--separate-stderr] COMMAND...: sets status, output and lines, and stderr if separate;
# with -CODE, fails unless the command exits so.
run() {
    local want='' separate='' flags=$- errors
    while [[ ${1-} == -* ]]; do
        [ "$1" = --separate-stderr ] && separate=yes || want=${1#-}
        shift
    done
    errors=$(mktemp "$BATS_TEST_TMPDIR/stderr.XXXXXX")
    set +eET
    if [ -n "$separate" ]; then
        output=$("$@" 2>"$errors")
    else
        output=$("$@" 2>&1)
    fi
    status=$?
    stderr=$(cat "$errors")
    rm -f "$errors"
    IFS=$'\n' read -d '' -r -a lines <<<"$output"
    set "-$flags"
    if [ -n "$want" ] && [ "$status" -ne "$want" ]; then
        printf 'exit code %s, not %s, of: %s\n%s\n%s\n' "$status" "$want" "$*" "$output" "$stderr"
        return 1
    fi
}
