#!/usr/bin/env bats

load helper

@test "the demo finds its pulsar and its burst" {
    run -0 "$srcdir/tests/tools/demo.sh" "$BATS_TEST_TMPDIR"
}
