#!/usr/bin/env bats
# spcoincidence: marks what most beams see, and keeps everything.

load helper

setup() {
    cd "$BATS_TEST_TMPDIR"
    for b in 1 2 3 4; do
        sky="-q -seed $b -nbits 32 -nchans 32 -tsamp 256 -tobs 6 -fch1 1500 -foff 4"
        pulse=
        [ $b -ne 2 ] || pulse="burst dm=150 t=4.5 width=4e-3 snr=20"
        fakebin $sky ${pulse:+-add "$pulse"} -add "burst dm=0 t=2.2 width=4e-3 snr=15" -o b$b.fil
        gpudedisp -q -nobary -nowrite -singlepulse -noclip -lodm 0 -dmstep 15 -numdms 20 -o b$b b$b.fil
    done
}

@test "interference in all beams is marked, a pulse in one is not" {
    spcoincidence b?.cand >all
    [ "$(grep -vc '^#' all)" -eq "$(cat b?.cand | grep -vc '^#')" ]
    awk -F'\t' '/^#/ { next } $3 > 2.1 && $3 < 2.3 { n++; bad += $10 !~ /beams/ || $11 != 4 }
        $3 > 4.4 && $3 < 4.6 && $6 == 150 && $12 == "b2.cand" { pulse++; bad += $10 != "-" || $11 != 1 }
        END { exit !(n >= 4 && pulse == 1 && !bad) }' all
    # Best first.
    grep -v '^#' all | cut -f 1 | sort -gr | cmp - <(grep -v '^#' all | cut -f 1)
    spcoincidence -share 1 b?.cand >none
    fails grep -q beams <(grep -v '^#' none)
}

@test "-update writes marks into the lists, and takes old ones away" {
    cp b1.cand before
    spcoincidence -update b?.cand
    [ "$(cut -f 1-9 b1.cand | cksum)" = "$(cut -f 1-9 before | cksum)" ]
    grep -q 'beams$' b1.cand
    cp b1.cand marked
    spcoincidence -update b?.cand
    cmp b1.cand marked
    # Lists of before have commas.
    grep -q '+beams$' b1.cand || sed -i '0,/beams$/s/beams$/edge+beams/' b1.cand
    sed -i 's/+beams$/,beams/' b1.cand
    spcoincidence -update b?.cand
    grep -q '+beams$' b1.cand
    cp before b1.cand
    spcoincidence -update b?.cand
    spcoincidence -update -share 1 b?.cand
    cmp b1.cand before
}

@test "a list is one beam by whatever names" {
    mkdir d
    ln b1.cand d/hard
    ln -s ../b1.cand d/soft
    cp b1.cand before
    for other in b1.cand ./b1.cand d/../b1.cand d/hard d/soft; do
        refuses 1 "$other: is given twice" spcoincidence b1.cand b2.cand $other
        refuses 1 "$other: is given twice" spcoincidence -update b1.cand b2.cand $other
        refuses 1 "$other|one file" spcoincidence -o $other b1.cand b2.cand
    done
    # All lists can be written, or none is.
    rm b1.cand
    refuses 1 'd/soft: ' spcoincidence -update b2.cand b3.cand d/soft
    cp before b1.cand
    cp b2.cand was
    refuses 1 'd/soft: is a link' spcoincidence -update b2.cand b3.cand d/soft
    cmp b2.cand was
}

@test "bad input is one line" {
    run -2 --separate-stderr spcoincidence b1.cand
    [[ $stderr == *"at least 2"* ]]
    run -1 --separate-stderr spcoincidence b1.cand b1.cand
    [[ $stderr == *"b1.cand: is given twice" ]]
    run -1 --separate-stderr spcoincidence b1.cand none.cand
    [[ $stderr == *"none.cand"* ]]
    printf '5\t6\n' >short
    run -3 --separate-stderr spcoincidence b1.cand short
    [[ $stderr == *"short: line 1: 2 columns"* ]]
    printf '5\tx\t1\t1\t1\t1\t1\t1\t1\n' >word
    run -3 --separate-stderr spcoincidence b1.cand word
    [[ $stderr == *"word: line 1: sample: 'x' is not a number"* ]]
    run -1 --separate-stderr spcoincidence -o b1.cand b1.cand b2.cand
    [[ $stderr == *"b1.cand"* ]]
}

@test "on a terminal it shows how far it is, with -q it does not" {
    type script >/dev/null || skip "there is no script"
    script -qec "spcoincidence -o all b?.cand" terminal >/dev/null </dev/null
    tr '\r' '\n' <terminal | grep -q '^\[[#.]*\] *[0-9]*%  [0-9.e+]* lists/s'
    script -qec "spcoincidence -q -o quiet b?.cand" terminal >/dev/null </dev/null
    fails grep -q '%' terminal
    cmp all quiet
}
