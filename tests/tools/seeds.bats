#!/usr/bin/env bats
# What `make check-seeds` says of tests that pass, fail, skip and draw nothing.

load helper

# program NAME LINE...: a test of these lines of shell.
program() {
    printf '%s\n' '#!/bin/sh' "${@:2}" >"$1"
    chmod +x "$1"
}

setup() {
    cd "$BATS_TEST_TMPDIR"
    export SEEDS=5 FIRST_SEED=7
}

@test "a test is repeated with every seed that is asked for" {
    program t 'echo "# PSRKIT_TEST_SEED=$PSRKIT_TEST_SEED"; echo $PSRKIT_TEST_SEED >>drawn; echo ok 1'
    run -0 "$srcdir/tests/check_seeds.sh" ./t
    [ "$output" = './t: 5 seeds, 7 to 11, 0 failed' ]
    [ "$(tr '\n' ' ' <drawn)" = '7 8 9 10 11 ' ]
}

@test "seeds that fail are named, with what failed" {
    program t 'echo "# PSRKIT_TEST_SEED=$PSRKIT_TEST_SEED"' 'echo "ok 1 - here"' \
        'case $PSRKIT_TEST_SEED in 8) echo "not ok 2 - there"; exit 1;; 11) kill -SEGV $$;; esac'
    run -1 "$srcdir/tests/check_seeds.sh" ./t
    [ "${lines[0]}" = './t: 5 seeds, 7 to 11, 2 failed: 8 11' ]
    [ "${lines[1]}" = '    seed 8, exit status 1: not ok 2 - there' ]
    [[ ${lines[2]} == '    seed 11, exit status 139: '* ]]
}

@test "a test that skips a part of what it tests has run" {
    program t 'echo "# PSRKIT_TEST_SEED=$PSRKIT_TEST_SEED"; seq -f "ok %.0f - one of very many" 20000' \
        'echo "ok 20001 - the last # SKIP not here"'
    run -0 "$srcdir/tests/check_seeds.sh" ./t
    [ "$output" = './t: 5 seeds, 7 to 11, 0 failed' ]
}

@test "a test that hangs fails" {
    program t 'echo "# PSRKIT_TEST_SEED=$PSRKIT_TEST_SEED"' '[ $PSRKIT_TEST_SEED != 9 ] || sleep 60'
    SEED_SECONDS=1 run -1 "$srcdir/tests/check_seeds.sh" ./t
    [ "${lines[0]}" = './t: 5 seeds, 7 to 11, 1 failed: 9' ]
}

@test "a test that draws nothing is run once" {
    program t 'echo >>ran' 'echo "ok 1 - here"'
    run -0 "$srcdir/tests/check_seeds.sh" ./t
    [ "$output" = './t: draws no random numbers, run once, 0 failed' ]
    [ "$(wc -l <ran)" -eq 1 ]
    program t 'echo "not ok 1 - here"; exit 1'
    run -1 "$srcdir/tests/check_seeds.sh" ./t
    [ "${lines[0]}" = './t: draws no random numbers, run once, 1 failed: 7' ]
}

@test "a test that skips everything did not run" {
    program t 'echo "ok 1 - beams # SKIP there is no GPU"'
    run -0 "$srcdir/tests/check_seeds.sh" ./t
    [ "$output" = 'SKIP: ./t did NOT run: there is no GPU' ]
    program t 'echo "# PSRKIT_TEST_SEED=$PSRKIT_TEST_SEED"' 'echo "ok 1 - memory # SKIP none"' 'echo "ok 2 - beams"'
    run -0 "$srcdir/tests/check_seeds.sh" ./t
    [ "$output" = './t: 5 seeds, 7 to 11, 0 failed' ]
}
