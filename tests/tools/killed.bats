#!/usr/bin/env bats
# Runs that are killed at every write, rename and removal, and two runs into the same files.

load helper

setup() {
    cd "$BATS_TEST_TMPDIR"
    # The sanitizers want to be loaded first.
    export ASAN_OPTIONS=${ASAN_OPTIONS-}:verify_asan_link_order=0
    killer=$builddir/tests/support/kill_at.so
    echo "PSRKIT_TEST_SEED=${PSRKIT_TEST_SEED=$RANDOM}"
    RANDOM=$PSRKIT_TEST_SEED
}

# sums DIR: a line for each of its files.
sums() {
    (cd "$1" && shopt -s nullglob dotglob && set -- * && [ $# -eq 0 ] || md5sum -- *)
}

# one_set DIR: the files of DIR are those of old or those of new, as many as there are, never both; of_old and of_new have their
# sums.
one_set() {
    local line name old= new=
    while read -r line; do
        name=${line#*  }
        case $name in *.part?????? | *.lock | '') continue ;; esac
        if [[ $'\n'$of_new$'\n' == *$'\n'"$line"$'\n'* ]]; then
            [[ $'\n'$of_old$'\n' == *$'\n'"$line"$'\n'* ]] || new+=" $name"
        elif [[ $'\n'$of_old$'\n' == *$'\n'"$line"$'\n'* ]]; then
            old+=" $name"
        else
            echo "$name is neither old nor new"
            return 1
        fi
    done <<<"$(sums "$1")"
    [ -z "$old" ] || [ -z "$new" ] || { echo "old:$old; new:$new"; return 1; }
}

# next_step: n, the next step to be killed at: every one in a long check, each second or so, drawn anew each time, in others.
next_step() {
    n=$((n + 1))
    [ -n "${PSRKIT_LONG-}" ] || [ "$n" -eq 1 ] || n=$((n + RANDOM % 3))
}

# killed_everywhere COMMAND...: runs it in at/, a copy of old/, killed before its first, second, ...
# step, until it ends by itself; each time at/ holds one set, and after "again" that of new/.
killed_everywhere() {
    local n=0 code=137 of_old of_new
    leaves_cases
    of_old=$(sums old)
    of_new=$(sums new)
    while [ "$code" -eq 137 ]; do
        next_step
        rm -rf at
        cp -a old at
        code=0
        { (cd at && KILL_AT=$n LD_PRELOAD=$killer exec "$@"); } >out 2>err || code=$?
        one_set at || { echo "killed at step $n"; return 1; }
        again at || { echo "after step $n"; return 1; }
    done
    [ "$code" -eq 0 ] || { cat err; return 1; }
    steps=$n
}

# same_as_new DIR: all files of new/, and no other but those of a run that was killed.
same_as_new() {
    diff -rq -x '*.part??????' new "$1"
}

# sets OLD... -- NEW...: makes old/ and new/ by two commands.
sets() {
    local old=()
    while [ "$1" != -- ]; do
        old+=("$1")
        shift
    done
    shift
    mkdir -p old new
    (cd old && "${old[@]}")
    (cd new && "$@")
}

@test "gpudedisp: series, events and their list are of one run" {
    cp "$g8" in.fil
    run="gpudedisp -q -nobary -lodm 40 -numdms 2 -singlepulse -threshold 4 -o t ../in.fil"
    sets $run -ignorechan 3 -- $run
    again() { (cd "$1" && $run) && same_as_new "$1"; }
    killed_everywhere $run
    [ "$steps" -gt 21 ] # seven files: written, removed, renamed
}

@test "gpudedisp: so are lines of prepsubband's method, sub-bands and .tim files" {
    need_long
    cp "$g8" in.fil
    again() { (cd "$1" && $run) && same_as_new "$1"; }
    run="gpudedisp -q -compat presto -nobary -plan ../plan -o t ../in.fil"
    printf '%s\n' '40 1 2 1 8' '50 1 1 1 8' >plan
    sets $run -ignorechan 3 -- $run
    killed_everywhere $run
    run="gpudedisp -q -sub -nsub 4 -o t ../in.fil"
    rm -rf old new
    sets $run -ignorechan 3 -- $run
    killed_everywhere $run
    run="gpudedisp -q -nobary -format tim -numdms 3 -o t ../in.fil"
    rm -rf old new
    sets $run -ignorechan 3 -- $run
    killed_everywhere $run
}

@test "gpudedisp -resume believes whole trials of its own only" {
    cp "$g8" in.fil
    touch -d '1 hour ago' in.fil
    run="gpudedisp -q -nobary -noclip -lodm 40 -numdms 3 -o t ../in.fil"
    sets $run -ignorechan 3 -- $run
    again() { (cd "$1" && $run -resume) && same_as_new "$1"; }
    killed_everywhere $run -resume
    in_long killed_everywhere $run
}

@test "gpufold -resume goes on with the folds, and prints the lines of all" {
    cp "$g8" in.fil
    touch -d '1 hour ago' in.fil
    printf '%s\n' '# name DM p' 'a 47 0.02' 'b 50 0.03' 'd 50 0.0001' 'c 60 0.04' >list
    run="gpufold -q -ncpus 1 -topo -n 16 -nsub 8 -npart 4 -refine -harmonics -json -tolerant -cands ../list -o t ../in.fil"
    mkdir old new
    (cd new && $run >lines)
    [ "$(grep -c . new/lines)" -eq 3 ]
    local n=0 code=137 left whole
    while [ "$code" -eq 137 ]; do
        next_step
        code=0
        rm -rf at
        cp -a old at
        { (cd at && KILL_AT=$n LD_PRELOAD=$killer exec $run -resume); } >out 2>err || code=$?
        left=$(find at -name '*.pfd' | wc -l)
        (cd at && ${run/-q /} -resume >lines 2>../said)
        # All that were whole are read back, but for one whose numbers were not recorded yet.
        [ "$left" -lt 2 ] || [ -z "$(find at -name '*.folded')" ] || { ls at; return 1; }
        whole=$(sed -nE 's/^gpufold: ([0-9]) of 4 candidates are complete/\1/p' said)
        [ "${whole:-0}" -ge $((left - 1)) ] || [ "$code" -eq 0 ] || { cat said; return 1; }
        same_as_new at || { echo "after step $n"; return 1; }
    done
    [ "$code" -eq 0 ] || { cat err; return 1; }
    [ "$n" -gt 9 ] # nine files
    # Numbers of other settings, of an input that has changed, and half a record are not believed.
    (cd at && KILL_AT=$((n - 2)) LD_PRELOAD=$killer exec $run -resume) >out 2>err || true
    cp -a at other
    (cd other && ${run/-q /} -nsub 4 -resume 2>../said >/dev/null)
    fails grep -q 'are complete' said
    truncate -s -1 at/t.folded
    (cd at && $run -resume >lines)
    same_as_new at
}

@test "50 kills and stops of gpufold -resume at any moment end in the same files" {
    local i how pid seed=${PSRKIT_TEST_SEED-$RANDOM} run began whole at_ms
    need_long
    echo "PSRKIT_TEST_SEED=$seed"
    RANDOM=$seed
    fakebin -q -seed 3 -tobs 8 -tsamp 256 -nchans 32 -nbits 8 -period 20 -dm 10 -o in.fil
    touch -d '1 hour ago' in.fil
    for ((i = 0; i < 12; i++)); do echo "c$i $((i + 5)) 0.02$i"; done | cat <(echo '# name DM p') - >list
    run="gpufold -q -topo -n 16 -nsub 8 -npart 4 -harmonics -json -clean auto -cands ../list -o t ../in.fil"
    mkdir new
    began=$(date +%s%N)
    (cd new && $run >lines)
    whole=$((($(date +%s%N) - began) / 1000000)) # ms
    mkdir at
    for ((i = 0; i < 50; i++)); do
        how=KILL
        [ $((RANDOM % 2)) = 0 ] || how=TERM
        at_ms=$((RANDOM % whole))
        (cd at && exec $run -resume >/dev/null) 3>&- &
        pid=$!
        sleep "$(printf '%d.%03d' $((at_ms / 1000)) $((at_ms % 1000)))"
        kill -$how $pid 2>/dev/null || true
        wait $pid || true
        [ $((RANDOM % 4)) != 0 ] || {
            (cd at && $run -resume >lines)
            same_as_new at
            rm -r at
            mkdir at
        }
    done
    (cd at && $run -resume >lines)
    same_as_new at
}

@test "fakebin: samples and truth are of one run" {
    again() { (cd "$1" && $run) && same_as_new "$1"; }
    for how in '-o x.fil' '-nbits 8 -psrfits -o x.fits' '-dat -o x'; do
        run="fakebin -q -tobs 0.1 -period 10 -dm 3 -truth t.txt $how -seed 1"
        rm -rf old new
        sets $run -add 'burst dm=3 t=0.05 width=0.01 snr=20' -- $run
        killed_everywhere $run
    done
}

@test "fbedit: spectra and the table of signals are of one run" {
    cp "$g8" in.fil
    again() { (cd "$1" && $run) && same_as_new "$1"; }
    run="fbedit -q -end 2000smp -o x.fil ../in.fil"
    sets $run -chans 0:16 -- $run
    killed_everywhere $run
    run="fbedit -q -seed 1 -end 2000smp -addfile ../one -o x.fil ../in.fil"
    echo 'burst dm=3 t=0.1 width=0.01 snr=20' >one
    rm -rf old new
    sets $run -chans 0:16 -add 'burst dm=3 t=0.2 width=0.01 snr=20' -- $run
    killed_everywhere $run
    ls new/x.fil.truth
}

@test "fbedit: kills and stops at any moment leave a whole file or none, and no process" {
    local i how kind from pid seed=${PSRKIT_TEST_SEED-$RANDOM} left kinds=(fil fits dada) inputs=(in.fil) runs=16
    [ -z "${PSRKIT_LONG-}" ] || runs=50
    echo "PSRKIT_TEST_SEED=$seed"
    RANDOM=$seed
    fakebin -q -period 0 -nchans 512 -nbits 8 -tobs 12 -tsamp 128 -fch1 1500 -foff -0.5 -seed 3 -o in.fil
    if grep -q '^#define PSR_HDF5_SO' "$builddir/config.h"; then
        kinds+=(h5)
        inputs+=(in.h5)
        fbedit -q -o in.h5 in.fil
    fi
    for kind in "${kinds[@]}"; do fbedit -q -nbits 16 -o whole.$kind in.fil; done
    for ((i = 0; i < runs; i++)); do
        kind=${kinds[i % ${#kinds[@]}]} from=${inputs[RANDOM % ${#inputs[@]}]} how=TERM
        [ $((RANDOM % 2)) = 0 ] || how=KILL
        fbedit -q -nbits 16 -o out.$kind $from &
        pid=$!
        sleep 0.$(printf %03d $((RANDOM % 150)))
        kill -$how $pid 2>/dev/null || true
        wait $pid || true
        [ ! -e out.$kind ] || cmp out.$kind whole.$kind
        left=$(find . -name 'out.*' ! -name out.$kind)
        [ -z "$left" ] || [ $how = KILL ] || { echo "stopped $i: $left"; return 1; }
        rm -f out.*
    done
    running() { # here, also those that read HDF5
        local p comm
        for p in /proc/[0-9]*; do
            { read -r comm <"$p/comm"; } 2>/dev/null || continue
            [ "$comm" != fbedit ] || [ "$(readlink "$p/cwd")" != "$PWD" ] || echo "$p"
        done
    }
    for ((i = 0; i < 50; i++)); do
        left=$(running)
        [ -n "$left" ] || break
        sleep 0.1
    done
    [ -z "$left" ] || { echo "$left"; return 1; }
}

@test "frbbeam: beams and scales are of one run" {
    printf 'grid 2 2\nspacing 8 6\nsite -119 49 500\ndish 0 0 0\ndish 1 0 1\n' >array
    printf 'theta 0 0\ntheta 0.5 0.25\n' >beams
    for k in a b; do
        fakebin -q -array array -nchans 4 -fch1 700 -foff 1 -tsamp 100 -tobs 0.1 -seed $((0x$k)) -o $k.dada
    done
    run="frbbeam -q -device cpu -array ../array -beams ../beams -o t"
    sets $run ../a.dada -- $run ../b.dada
    again() { (cd "$1" && $run ../b.dada) && same_as_new "$1"; }
    killed_everywhere $run ../b.dada
    ls new/t.scale
}

@test "gpuaccel-pulscan: lists of candidates are of one run" {
    for k in 1 2; do
        fakebin -q -seed $k -tobs 16.384 -tsamp 512 -nchans 8 -fch1 1500 -foff 4 -period 0 -dat -o $k \
            -add "pulsar period=0.0051 dm=0 width=0.001 snr=60"
        mkdir in$k
        for s in dat inf; do mv ${k}_DM0.00.$s in$k/p.$s; done
    done
    run="gpuaccel-pulscan -q -device cpu -zmax 4 -numharm 1 -outdir ."
    again() { (cd "$1" && $run ../in2/p.dat) && same_as_new "$1"; }
    sets $run ../in1/p.dat -- $run ../in2/p.dat
    [ -s new/p_ACCEL_4 ]
    killed_everywhere $run ../in2/p.dat
    # Nothing found: the lists of before go.
    run+=" -sigma 900"
    (cd new && $run ../in2/p.dat)
    [ ! -e new/p_ACCEL_4 ]
    killed_everywhere $run ../in2/p.dat
    run="gpuaccel-pulscan -q -device cpu -zmax 4 -numharm 1 -fftout -csv -outdir ."
    rm -rf old new
    sets $run ../in1/p.dat -- $run ../in2/p.dat
    rm -f old/*.csv new/*.csv
    again() { (cd "$1" && $run ../in2/p.dat >/dev/null) && same_as_new "$1"; }
    killed_everywhere $run ../in2/p.dat
}

@test "accelsift: all its lists are of one run" {
    cp "$golden/acc3_z200h8_ACCEL_200" "$golden/acc3_z200h8_ACCEL_200.cand" .
    run="accelsift -q -min_num_DMs 1 -low_DM_cutoff 0 -o t.sift -o t.csv -rejects t.txt ../acc3_z200h8_ACCEL_200"
    sets $run -sigma_threshold 9 -- $run
    again() { (cd "$1" && $run) && same_as_new "$1"; }
    killed_everywhere $run
}

# refused_meanwhile PATTERN COMMAND...: while process $first is at work, COMMAND is refused, and says
# who works there.
refused_meanwhile() {
    local pattern=$1
    shift
    refuses 1 "$pattern: process $first on $(uname -n) is writing the same files" "$@"
}

# waits_for NAME: until it is there.
waits_for() {
    for _ in $(seq 200); do
        ! compgen -G "$1" >/dev/null || return 0
        sleep 0.05
    done
    return 1
}

@test "two runs of gpudedisp into the same files: the second is refused" {
    cp "$g8" in.fil
    mkfifo pipe
    run="gpudedisp -q -nobary -singlepulse -o t"
    $run -lodm 40 -numdms 3 - <pipe 3>&- &
    first=$!
    exec 7>pipe
    head -c 500000 in.fil >&7
    waits_for 't.lock'
    refused_meanwhile "$PWD/t" gpudedisp -q -nobary -lodm 42 -numdms 3 -o "$PWD/t" in.fil
    refused_meanwhile ./t gpudedisp -q -nobary -lodm 38 -numdms 3 -nowrite -singlepulse -o ./t in.fil
    refused_meanwhile t gpudedisp -q -nobary -lodm 40 -numdms 1 -resume -o t in.fil
    refused_meanwhile t gpudedisp -q -compat presto -nobary -nsub 8 -lodm 40 -numdms 1 -o t in.fil
    refused_meanwhile t fakebin -q -tobs 0.1 -dat -period 10 -dm 41 -o t
    refused_meanwhile t $run -lodm 60 -numdms 1 in.fil # both would write t.cand
    # Other trials, and sub-bands, are other files.
    gpudedisp -q -nobary -lodm 50 -numdms 2 -o t in.fil
    gpudedisp -q -sub -subdm 40 -nsub 2 -o t in.fil
    tail -c +500001 in.fil >&7
    exec 7>&-
    wait $first
    [ ! -e t.lock ]
    [ "$(ls t_DM*.dat | wc -l)" -eq 5 ]
    # What was killed hinders nobody.
    $run -lodm 40 -numdms 3 - <pipe 3>&- &
    first=$!
    exec 7>pipe
    head -c 500000 in.fil >&7
    waits_for 't.lock'
    { kill -KILL $first && wait $first; } 2>/dev/null || true
    exec 7>&-
    [ -e t.lock ]
    $run -lodm 40 -numdms 3 in.fil
    [ ! -e t.lock ]
}

@test "two runs of the other tools into the same files: the second is refused" {
    fakebin -q -tobs 1e3 -tsamp 1 -nchans 2 -o x.fil 3>&- & # 1 GB
    first=$!
    waits_for 'x.fil.part*'
    kill -STOP $first
    refused_meanwhile ./x.fil fakebin -q -tobs 0.1 -o ./x.fil
    kill $first
    kill -CONT $first
    wait $first || true
    fakebin -q -tobs 0.1 -o x.fil
    printf 'grid 2 2\nspacing 8 6\nsite -119 49 500\ndish 0 0 0\ndish 1 0 1\n' >array
    printf 'theta 0 0\ntheta 0.5 0.25\n' >beams
    fakebin -q -array array -nchans 4 -fch1 700 -foff 1 -tsamp 100 -tobs 0.1 -o v.dada
    mkfifo pipe
    run="frbbeam -q -device cpu -array array -beams beams"
    $run -o b - <pipe 3>&- &
    first=$!
    exec 7>pipe
    head -c 5000 v.dada >&7
    waits_for 'b.lock'
    refused_meanwhile b $run -o b v.dada
    refused_meanwhile b $run -beam 1 -o b v.dada
    exec 7>&-
    wait $first
    # Beams of one root in several runs: their scales must be given.
    $run -scale b.scale -beam 0 -o b - <pipe 3>&- &
    first=$!
    exec 7>pipe
    head -c 5000 v.dada >&7
    waits_for 'b.lock'
    $run -scale b.scale -beam 1 -o b v.dada
    refused_meanwhile b $run -scale b.scale -beam 0 -o b v.dada
    exec 7>&-
    wait $first
    fakebin -q -seed 1 -tobs 16.384 -tsamp 512 -nchans 8 -period 0 -dat -o m
    accel="gpuaccel-pulscan -q -device cpu -zmax 4"
    # Of two that are searched at once the second is waited for.
    cp m_DM0.00.dat w.dat
    mkfifo w.inf
    $accel -sigma 900 -batch 2 m_DM0.00.dat w.dat 3>&- &
    first=$!
    waits_for 'm_DM0.00.lock'
    refused_meanwhile 'm_DM0.00.dat: m_DM0.00' $accel m_DM0.00.dat
    gpuaccel-pulscan -q -device cpu -zmax 8 m_DM0.00.dat
    $accel -csv m_DM0.00.dat >table
    cat m_DM0.00.inf >w.inf
    wait $first
    [ -e m_DM0.00_ACCEL_4.txtcand ]
    leaves_no '*.lock'
}

# ends_soon COMMAND...: it waits for a pipe, and the first SIGTERM ends it within 2 s.
ends_soon() {
    local run code=0 since
    "$@" 3>&- 2>/dev/null &
    run=$!
    sleep 1
    kill -0 $run
    since=$(date +%s%N)
    kill -TERM $run
    for _ in $(seq 100); do
        kill -0 $run 2>/dev/null || break
        sleep 0.05
    done
    kill -KILL $run 2>/dev/null || true
    wait $run || code=$?
    [ $code -eq 143 ]
    [ $((($(date +%s%N) - since) / 1000000)) -lt 2000 ]
}

@test "the first signal ends a run whose outputs are pipes that nobody reads" {
    printf 'grid 2 2\nspacing 8 6\nsite -119 49 500\ndish 0 0 0\ndish 1 0 1\n' >array
    printf 'theta 0 0\ntheta 0.5 0.25\n' >beams
    fakebin -q -array array -nchans 4 -fch1 700 -foff 1 -tsamp 100 -tobs 0.1 -o v.dada
    mkfifo b_beam0001.fil # threads that are not the first open it
    ends_soon frbbeam -q -device cpu -array array -beams beams -o b v.dada
    [ -p b_beam0001.fil ]
    [ ! -e b.lock ]
    mkfifo x.fil
    exec 7<>x.fil # it is open, and nothing is taken
    ends_soon fakebin -q -tobs 10 -o x.fil
    exec 7>&-
}

# Killed at random steps, of which each series that is searched has one, it goes on each time with what is left.
@test "a killed search goes on with the series that it has not searched" {
    local seed=${PSRKIT_TEST_SEED:-$RANDOM} kills=2 lists n at searched before
    [ -z "${PSRKIT_LONG-}" ] || kills=50
    echo "# PSRKIT_TEST_SEED=$seed"
    RANDOM=$seed
    fakebin -q -seed 7 -tobs 4 -tsamp 512 -nchans 16 -nbits 8 -fch1 1500 -foff 8 -o in.fil \
        -add "pulsar period=0.0391 dm=40 width=0.002 snr=40"
    for lists in one files; do
        run="gpudedisp -nobary -lodm 20 -numdms 60 -nowrite -singlepulse -lists $lists -o t ../in.fil"
        rm -rf new at
        mkdir new at
        (cd new && $run -accelsearch "-zmax 4 -numharm 2" 2>../said)
        fails grep -q 'earlier run' said
        before=0
        for ((n = 0; n < kills; n++)); do
            at=$((RANDOM % 60 + 1))
            (cd at && KILL_AT=$at LD_PRELOAD=$killer exec $run -accelsearch "-zmax 4 -numharm 2" 2>../said) || true
            # What is searched stays so, until the run ends.
            if [ ! -e at/t.searched ]; then # it came to its end, or not to its begin: again from the start
                [ ! -e at/t.cand ] || diff -r new at
                rm -rf at
                mkdir at
                before=0
                continue
            fi
            searched=$(tar tf at/t.searched 2>err | grep -c '_DM.*[.]searched$') || true
            [ "$searched" -ge "$before" ] || { echo "killed at $at: $searched of $before are left"; false; }
            before=$searched
        done
        # Other settings take nothing of it; what was written in part is cut off.
        if [ -e at/t.searched ]; then
            cp -a at other
            (cd other && $run -accelsearch "-zmax 4 -numharm 1" 2>../said)
            fails grep -q 'earlier run' said
            fails ls other/t.searched
            rm -r other
            printf garbage >>at/t.searched
        fi
        (cd at && $run -accelsearch "-zmax 4 -numharm 2" 2>../said)
        [ "$before" -eq 0 ] || grep -q "$before of 60 series were searched by an earlier run" said
        diff -r new at
    done
    # An input that has changed since takes nothing of it.
    rm -rf at && mkdir at
    (cd at && KILL_AT=25 LD_PRELOAD=$killer exec $run -accelsearch "-zmax 4 -numharm 2") || true
    tar tf at/t.searched 2>err | grep -q '[.]searched$'
    touch in.fil
    (cd at && $run -accelsearch "-zmax 4 -numharm 2" 2>../said)
    fails grep -q 'earlier run' said
    diff -r new at
}

# Of each series the record has what the search for slow pulsars has found, after its lists.
@test "so does a search for slow pulsars, beside the other and alone" {
    local seed=${PSRKIT_TEST_SEED:-$RANDOM} kills=2 n at more before
    [ -z "${PSRKIT_LONG-}" ] || kills=50
    echo "# PSRKIT_TEST_SEED=$seed"
    RANDOM=$seed
    fakebin -q -seed 7 -tobs 20 -tsamp 1024 -nchans 16 -nbits 8 -fch1 1500 -foff 8 -o in.fil \
        -add "pulsar period=0.713 dm=40 width=0.02 snr=40" -add "pulsar period=0.5 dm=1 width=0.02 snr=40"
    printf '2.0 0.02\n' >z.birds
    slow=(-ffa "-pmin 0.3 -pmax 0.8 -zaplist ../z.birds")
    for more in "-accelsearch=-zmax 0 -numharm 1" -nowrite; do
        run=(gpudedisp -nobary -lodm 20 -numdms 30 -nowrite "$more" "${slow[@]}" -o t ../in.fil)
        rm -rf new at
        mkdir new at
        (cd new && "${run[@]}" 2>../said)
        fails grep -q 'earlier run' said
        [ "$(wc -l <new/t_ffa.csv)" -gt 1 ]
        before=0
        for ((n = 0; n < kills; n++)); do
            at=$((n ? RANDOM % 60 + 1 : 50))
            [[ $n != 0 || $more != -nowrite ]] || at=20
            (cd at && KILL_AT=$at LD_PRELOAD=$killer exec "${run[@]}" 2>../said) || true
            if [ ! -e at/t.searched ]; then # it came to its end, or not to its begin: again from the start
                rm -rf at
                mkdir at
                before=0
                continue
            fi
            searched=$(tar tf at/t.searched 2>err | grep -c '_ffa[.]searched$') || true
            [ "$searched" -ge "$before" ] || { echo "killed at $at: $searched of $before are left"; false; }
            before=$searched
            [ "$before" -gt 0 ] || [ "$n" -gt 0 ]
        done
        if [ "$before" -gt 0 ]; then # other settings take nothing of it
            cp -a at other
            (cd other && "${run[@]/pmin 0.3/pmin 0.31}" 2>../said)
            fails grep -q 'slow pulsars by an earlier run' said
            rm -r other
        fi
        (cd at && "${run[@]}" 2>../said)
        [ "$before" -eq 0 ] || grep -q "$before of 30 series were searched for slow pulsars by an earlier run" said
        diff -r new at
    done
}

# ends_with MEMBER COMMAND...: runs it in at/, killed at the first step after which the record has a part of that name.
ends_with() {
    local member=$1 n
    shift
    for ((n = 1; n < 60; n++)); do
        rm -rf at
        mkdir at
        (cd at && KILL_AT=$n LD_PRELOAD=$killer exec "$@" 2>../said) || true
        ! tar tf at/t.searched 2>err | grep -qx "$member[.]searched" || return 0
    done
    echo "no step leaves $member"
    return 1
}

# Their events are recorded once the input has been read, before series are searched for periods.
@test "so do single pulses, of the whole band, its parts, and finer and longer samples" {
    local taken='single pulses: [1-9][0-9]* events of [1-9][0-9]* series are taken from t.searched' of n how
    fakebin -q -seed 7 -tobs 10 -tsamp 512 -nchans 32 -nbits 8 -fch1 1500 -foff -4 -o plain.fil \
        -add "burst dm=40 t=5 width=0.004 snr=30" -add "burst dm=5 t=2 width=0.3 snr=60" -add "burst dm=55 t=8 width=0.01 snr=25"
    make_radec # barycentred
    printf '%s\n' '0 5 6 1 0' '30 5 6 4 0' >plan
    run="gpudedisp -v -clean auto -plan ../plan -nowrite -singlepulse -threshold 5 -csv -views 3 -halve 1 -fine 4 -maxwidth 0.5 -o t"
    for of in 'radec.fil' '-nobary plain.fil'; do
        command=($run -accelsearch "-zmax 0 -numharm 1" ${of/ / ../})
        [[ $of == -* ]] || command[-1]=../$of
        rm -rf new killed
        mkdir new
        (cd new && "${command[@]}" 2>../said)
        fails grep -q "$taken" said
        ls new/t_fine.singlepulse new/t_*MHz.singlepulse new/t.bursts.jsonl new/t.pulses.csv
        [ "$(wc -l <new/t.cand)" -gt 1 ]
        ends_with t_pulses "${command[@]}"
        cp -a at killed
        (cd at && "${command[@]}" 2>../said)
        grep -q "$taken" said
        diff -r new at
    done
    # Of a record that is damaged or cut they are searched again; other settings take those of no other.
    n=$(LC_ALL=C grep -abo t_pulses.searched killed/t.searched | head -1 | cut -d: -f1)
    for how in 600 $((n / 2)) $((n - 600)) $((n + 520)) cut; do
        rm -rf at
        cp -a killed at
        case $how in
        cut) truncate -s $((n / 2)) at/t.searched ;;
        *) printf '\125' | dd of=at/t.searched bs=1 seek="$how" conv=notrunc 2>/dev/null ;;
        esac
        fails cmp -s at/t.searched killed/t.searched
        (cd at && "${command[@]}" 2>../said)
        fails grep -q "$taken" said
        diff -r new at || { echo "$how"; false; }
    done
    for how in '-threshold 5.5' '-maxwidth 0.4' '-detrend 1000' '-fine 3' '-halve 2' -noclip; do
        rm -rf at
        cp -a killed at
        (cd at && "${command[@]}" $how 2>../said)
        fails grep -q "$taken" said || { echo "$how"; false; }
        [ ! -e at/t.searched ]
    done
    # What is damaged of one series takes no other with it.
    rm -rf old
    mv killed old
    ends_with 't_DM.*' "${command[@]}"
    n=$(stat -c %s old/t.searched)
    cmp -n "$n" old/t.searched at/t.searched
    printf '\125' | dd of=at/t.searched bs=1 seek=$((n + 600)) conv=notrunc 2>/dev/null
    (cd at && "${command[@]}" 2>../said)
    grep -q "$taken" said
    fails grep -q 'earlier run' said
    diff -r new at
    mv old killed
    # An input that changes while the rest is searched is not that of the pulses.
    rm -rf at
    cp -a killed at
    cp -p plain.fil in.fil
    command[-1]=../in.fil
    ends_with t_pulses "${command[@]}"
    mkfifo birds
    (cd at && exec "${command[@]}" -accelsearch "-zmax 0 -numharm 1 -zaplist ../birds" 2>../said) 3>&- &
    exec 7>birds
    touch in.fil
    echo '50 0.1' >&7
    exec 7>&-
    fails wait $!
    grep -q '^gpudedisp: ../in.fil: it has changed since it was searched for single pulses$' said
    [ -z "$(ls at | grep -v searched)" ]
    command[-1]=../plain.fil
    # What makes pulses of events, and searches for periods, changes none.
    for how in '-timetol 9 -views 1' '-segments'; do
        rm -rf at new
        cp -a killed at
        mkdir new
        (cd new && "${command[@]}" $how 2>../said)
        (cd at && "${command[@]}" $how 2>../said)
        grep -q "$taken" said || { echo "$how"; false; }
        diff -r new at
    done
}

@test "single pulses alone are recorded, and the input is not read again" {
    local seed=${PSRKIT_TEST_SEED:-$RANDOM} kills=3 n how
    [ -z "${PSRKIT_LONG-}" ] || kills=50
    echo "# PSRKIT_TEST_SEED=$seed"
    RANDOM=$seed
    fakebin -q -seed 7 -tobs 20 -tsamp 512 -nchans 32 -nbits 8 -fch1 1500 -foff -4 -o in.fil \
        -add "burst dm=40 t=9 width=0.004 snr=30" -add "burst dm=55 t=14 width=0.01 snr=25"
    for how in -nowrite '-nowrite -halve 1 -csv -views 3' '-nowrite -clean auto'; do
        command=(gpudedisp -v -nobary -lodm 20 -numdms 30 -singlepulse -threshold 5 $how -o t ../in.fil)
        rm -rf new
        mkdir new
        (cd new && "${command[@]}" 2>../said)
        fails grep -q 'taken from' said
        [ ! -e new/t.searched ]
        ends_with t_pulses "${command[@]}"
        (cd at && "${command[@]}" 2>../said)
        grep -q 'single pulses: [1-9][0-9]* events of [1-9][0-9]* series are taken from t.searched' said
        [[ "$how" == *clean* ]] || grep -q '^gpudedisp: 0 spectra in;' said
        diff -r new at || { echo "$how"; false; }
        rm -rf at
        mkdir at
        for ((n = 0; n < kills; n++)); do
            (cd at && KILL_AT=$((RANDOM % 70 + 1)) LD_PRELOAD=$killer exec "${command[@]}" 2>../said) || true
        done
        (cd at && "${command[@]}" 2>../said)
        diff -r new at || { echo "$how"; false; }
    done
    # Of a pipe nothing is recorded.
    mkdir pipe
    cd pipe
    gpudedisp -q -nobary -lodm 20 -numdms 30 -singlepulse -threshold 5 -nowrite -o t - <../in.fil
    [ ! -e t.searched ]
}
