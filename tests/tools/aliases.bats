#!/usr/bin/env bats
# make install-aliases: PRESTO's names for psrkit's tools, for those who want them.

load helper

# run_make TARGET: in the build folder, installing below the test's own.
run_make() {
    env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -s -C "$builddir" DESTDIR="$BATS_TEST_TMPDIR/to" \
        bindir=/bin "$@"
}

@test "prepsubband is a link to gpudedisp and does the same" {
    run_make install-aliases
    cd "$BATS_TEST_TMPDIR"
    [ "$(readlink to/bin/prepsubband)" = gpudedisp ]
    copy_tools to/bin gpudedisp
    options="-q -nobary -nsub 8 -lodm 47 -numdms 1"
    to/bin/prepsubband $options -o a "$srcdir/tests/golden/g8.fil"
    gpudedisp $options -o b "$srcdir/tests/golden/g8.fil"
    cmp a_DM47.00.dat b_DM47.00.dat
    cmp <(tail -n +2 a_DM47.00.inf) <(tail -n +2 b_DM47.00.inf)
    run -2 to/bin/prepsubband -nosuch x.fil
    [[ $output == gpudedisp:* ]]
    # All of them lead to a tool.
    for alias in to/bin/*; do
        [ ! -h "$alias" ] || [[ " $tools " == *" $(readlink "$alias") "* ]]
    done
    # Again is fine, and uninstall takes it away.
    run_make install-aliases
    run_make uninstall-local
    [ ! -e to/bin/prepsubband ]
    [ ! -h to/bin/prepsubband ]
    [ -e to/bin/gpudedisp ]
}

@test "another program of that name stays" {
    cd "$BATS_TEST_TMPDIR"
    mkdir -p to/bin
    echo theirs >to/bin/prepsubband
    run run_make install-aliases
    [ "$status" -ne 0 ]
    [[ $output == *"/bin/prepsubband is there already"* ]]
    run_make uninstall-local
    [ "$(cat to/bin/prepsubband)" = theirs ]
}
