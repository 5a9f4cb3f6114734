#!/usr/bin/env bats
# Lists that other programs read: each row is as the schema of its list says, and names, units and empty fields are those that
# pandas and numpy take without options.

load helper

python=${PSRKIT_PYTHON:-python3}

setup() {
    cd "$BATS_TEST_TMPDIR"
    "$python" -c 'import jsonschema' 2>/dev/null || skip "$python has no jsonschema"
}

check() {
    "$python" "$srcdir/tests/tools/check_lists.py" "$builddir/data/schemas" "$@"
}

make_sky() {
    fakebin -q -seed 3 -tobs 20 -tsamp 512 -nchans 64 -nbits 8 -fch1 1500 -foff 4 -add "pulsar period=0.0273 dm=20 width=0.001 snr=40" \
        -add "burst dm=40 t=5 width=8e-3 snr=25" -o x.fil
}

@test "a search's lists are as their schemas say" {
    make_sky
    psrsearch -q -nobary -hidm 50 -zmax 4 -ncands 2 -o d x.fil
    tar xf d/x.lists
    list=$(ls *.singlepulse | head -n 1)
    check d/x.cand d/x.pulses.csv d/x.bursts.jsonl d/x.sift.csv d/x.sift.jsonl d/x.fold.json d/steps/x.steps.jsonl "$list" >out
    [ "$(grep -c ': [1-9][0-9]* rows' out)" -eq 8 ]
}

@test "lists of one tool are as their schemas say, and a wrong one is not" {
    make_sky
    gpudedisp -q -nobary -noclip -lodm 20 -numdms 12 -dmstep 2 -singlepulse -halve 1 -json -csv -o s x.fil
    gpuaccel-pulscan -zmax 4 -csv s_DM20.00.dat >a.csv
    gpuaccel-pulscan -zmax 4 -json s_DM20.00.dat >a.jsonl
    fakebin -q -seed 4 -tobs 60 -tsamp 4000 -nchans 8 -nbits 8 -fch1 1500 -foff 16 -add "pulsar period=1.1 dm=0 width=0.05 snr=40" -o l.fil
    gpudedisp -q -nobary -noclip -lodm 0 -numdms 1 -o l l.fil
    gpuffa -q -o l l_DM0.00.dat
    check s.cand s.pulses.csv s.pulses.jsonl accel=a.csv accel=a.jsonl l_ffa.csv >out
    [ "$(grep -c ': [1-9][0-9]* rows' out)" -eq 6 ]
    sed 's/,width_s,/,width,/' s.pulses.csv >w.pulses.csv
    fails check w.pulses.csv
    sed 's/topocentric/7/; s/"beam": 0/"beam": "x"/' s.pulses.jsonl >w.pulses.jsonl
    fails check w.pulses.jsonl
}
