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
        [ ! -h "$alias" ] || [[ " $tools " == *" $(readlink "$alias") "* || $alias == */ACCEL_sift.py ]]
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

@test "prepdata writes ROOT.dat of one DM, the samples of gpudedisp" {
    cd "$BATS_TEST_TMPDIR"
    ln -s "$(command -v gpudedisp)" prepdata
    ./prepdata -q -nobary -dm 47 -o a "$g8"
    gpudedisp -q -nobary -lodm 47 -numdms 1 -o b "$g8"
    cmp a.dat b_DM47.00.dat
    grep -q 'without suffix  *=  a$' a.inf
    grep -q 'Dispersion measure (cm-3 pc)  *=  47$' a.inf
    ./prepdata -q -nobary -o zero "$g8"
    [ -f zero.dat ]
    refuses 2 'prepdata: -shorts: ' ./prepdata -shorts -o x "$g8"
    refuses 2 'prepdata: one series is written, at -dm' ./prepdata -lodm 3 -numdms 2 -o x "$g8"
    refuses 2 "gpudedisp: unknown option '-dm'" gpudedisp -dm 47 -o x "$g8"
    refuses 2 'dmprec: 0 is below 2' gpudedisp -dmprec 0 -numdms 1 -o x "$g8"
}

@test "single_pulse_search.py finds what gpudedisp finds, and plots lists" {
    cd "$BATS_TEST_TMPDIR"
    fakebin -q -seed 3 -tobs 4 -tsamp 100 -nchans 32 -nbits 8 -fch1 1500 -foff 4 -period 0 -add "burst dm=40 t=2 width=2e-3 snr=15" -o b.fil
    gpudedisp -q -noclip -lodm 40 -numdms 1 -singlepulse -threshold 5 -maxwidth 0.003 -o a b.fil
    mv a_DM40.00.singlepulse theirs
    psrpresto single_pulse_search.py -p a_DM40.00.dat
    # gpudedisp's series ends earlier than the file, which is padded.
    diff <(head -n 5 theirs) <(head -n 5 a_DM40.00.singlepulse)
    [ "$(awk '!/#/ && $2 > 10' a_DM40.00.singlepulse | wc -l)" = 1 ]
    [ ! -e a_singlepulse.ps ]
    if command -v gnuplot >/dev/null; then
        psrpresto single_pulse_search.py -s 1 -e 3 a_DM40.00.singlepulse
        [[ "$(head -c 4 a_singlepulse.ps)" == %!PS ]]
    fi
    refuses 2 'b.fil: neither .dat nor .singlepulse' psrpresto single_pulse_search.py b.fil
    echo nonsense >a_DM40.00.singlepulse
    refuses 3 'line 1: no single pulse' psrpresto single_pulse_search.py -p a_DM40.00.singlepulse
}

@test "ACCEL_sift.py runs accelsift with the numbers in it" {
    command -v python3 >/dev/null || skip "there is no python3"
    cd "$BATS_TEST_TMPDIR"
    for dm in 10.00 11.00 12.00; do
        cp "$golden/acc3_z200h8_ACCEL_200" "x_DM${dm}_ACCEL_200"
        cp "$golden/acc3.inf" "x_DM$dm.inf"
    done
    accelsift -q -compat presto x_DM*_ACCEL_200 >want
    python3 "$srcdir/tools/psrpresto/ACCEL_sift.py" >got
    cmp want got
    sed 's/^known_birds_f.*/known_birds_f = [(1e3, 1e9)]/' "$srcdir/tools/psrpresto/ACCEL_sift.py" >mine.py
    [ "$(python3 mine.py | wc -l)" -le 1 ]
    rm x_DM*
    refuses 1 'ACCEL_sift.py: no list is named' python3 mine.py
}
