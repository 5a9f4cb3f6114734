#!/usr/bin/env bats
# What goes wrong around the tools: files that change, signals at bad moments, odd names and places.

load helper

setup() {
    cd "$BATS_TEST_TMPDIR"
    one="-q -nobary -noclip -lodm 47 -numdms 1"
}

@test "a file that is cut while it is read is an error, also with -q" {
    cp "$g8" in.fil
    chmod u+w in.fil
    for _ in 1 2 3; do tail -c 950272 "$g8" >>in.fil; done
    mkfifo out
    exec 7<>out
    gpudedisp $one -nopad -mem 2M -o - in.fil >out 2>err 7>&- &
    pid=$!
    # It has begun by now, and cannot go on far before the pipe is read again.
    head -c 60000 <&7 >/dev/null
    truncate -s 3000000 in.fil
    cat <&7 >/dev/null &
    cat=$!
    code=0
    wait $pid || code=$?
    kill $cat
    [ "$code" -eq 1 ]
    grep -qx 'gpudedisp: in.fil: ended after [0-9]* of 118784 spectra while it was read' err || { cat err; false; }
}

@test "a signal is heeded while series are padded" {
    numout=$(($(df --output=avail -B1 . | tail -n 1) / 32))
    for more in '' '-compat presto -nsub 8'; do
        gpudedisp -q -nobary -noclip -numdms 2 $more -numout $numout -o t "$g8" 2>err &
        pid=$!
        # Much more than the samples.
        while [ "$(cat t_DM0.00.dat.part* 2>/dev/null | head -c 2000000 | wc -c)" -lt 2000000 ]; do sleep 0.05; done
        kill -TERM $pid
        (sleep 3; kill -KILL $pid) 2>/dev/null &
        late=$!
        code=0
        wait $pid || code=$?
        kill $late
        [ "$code" -eq 143 ]
        [ ! -s err ]
        leaves_no 't[_.]*'
    done
}

@test "a signal is heeded within a second by searches of any size" {
    # So long that no machine ends within the 1.5 s before the signal.
    fakebin -q -dat -period 20 -dm 10 -tobs 100 -tsamp 64 -seed 1 -o a
    fakebin -q -period 0 -nchans 128 -nbits 8 -tsamp 64 -tobs 30 -fch1 1500 -foff 2 -seed 1 -o a.fil
    local seconds=1
    ! ldd "$builddir/bin/gpudedisp" | grep -q san || seconds=10
    long() {
        "$@" 2>err &
        sleep 1.5
        ends_soon $! $seconds >told || { echo "$*"; cat told; false; }
        grep -qx 'exit code 143' told || { echo "$*"; cat told err; false; }
        [ ! -s err ]
    }
    long gpuaccel-pulscan -q -search matched -zmax 100 -wmax 1000 -numharm 2 a_DM10.00.dat
    in_long long gpuaccel-pulscan -q -compat presto -zmax 100 -wmax 1000 -numharm 2 a_DM10.00.dat
    in_long long gpuaccel-pulscan -q -zmax 60000 a_DM10.00.dat
    long gpudedisp -q -nobary -singlepulse -nowrite -halve 4 -lodm 0 -dmstep 1 -numdms 400 -o x a.fil
    leaves_no '*ACCEL*'
    leaves_no 'x[._]*'
}

# stopped_at_pipe NAME COMMAND...: NAME is a pipe that the tool waits for; two signals within a moment, as timeout(1) sends
# them, are one.  It must end silently, by the signal, and leave nothing but NAME.
stopped_at_pipe() {
    local name=$1 code=0
    shift
    mkfifo "$name"
    "$@" 2>err &
    pid=$!
    for _ in $(seq 500); do ! grep -q wait_for_partner /proc/$pid/wchan || break; sleep 0.02; done
    grep -q wait_for_partner /proc/$pid/wchan || { kill -KILL $pid; skip "the kernel does not say what a process waits for"; }
    kill -TERM $pid
    kill -TERM $pid 2>/dev/null || true
    wait $pid || code=$?
    [ "$code" -eq 143 ] || { echo "$code: $*"; cat err; false; }
    [ ! -s err ] || { cat err; false; }
    rm "$name" err
    leaves_no '*.lock'
}

@test "a signal, even if it comes twice, leaves nothing begun and is not reported" {
    cp "$g8" in.fil
    cp "$golden/acc3_z200h8_ACCEL_200" "$golden/acc3_z200h8_ACCEL_200.cand" .
    for _ in 1 2 3 4 5; do stopped_at_pipe t_rfifind.mask gpurfifind -q -time 0.2 -o t in.fil; done
    stopped_at_pipe t.sift accelsift -q -o t.csv -o t.sift acc3_z200h8_ACCEL_200
    [ ! -e t.csv ]
    stopped_at_pipe p.png gpurfifind -q -time 0.2 -plot p.png -o t in.fil
    stopped_at_pipe p.plan ddplan -d 50 -plan p.plan -o p.png
    stopped_at_pipe p.png ddplan -d 50 -o p.png
    rm -f t_* p.*
    gpudedisp -q -nobary -nowrite -singlepulse -threshold 4 -o t in.fil
    cp t.cand u.cand
    stopped_at_pipe all spcoincidence -o all t.cand u.cand
}

@test "a FITS file that ends within its header is bad data" {
    fakebin -q -psrfits -period 0 -nchans 16 -nbits 8 -tsamp 1000 -tobs 2 -fch1 1500 -foff 10 -seed 1 -o a.sf
    for n in 1000 3000 7000; do
        head -c $n a.sf >b.sf
        refuses 3 '^gpudedisp: b.sf: ' gpudedisp -q -nobary -numdms 2 -o t b.sf
    done
}

# wide.fil: 6000 spectra of 16384 channels, a hole but for the header.
make_wide() {
    fakebin -q -period 0 -nchans 16384 -nbits 8 -tsamp 1000 -tobs 0.001 -fch1 1500 -foff 0.01 -seed 1 -o wide.fil
    truncate -s $(($(stat -c %s wide.fil) + 5999 * 16384)) wide.fil
}

@test "-mem bounds cleaning too, or says what that takes" {
    make_wide
    for more in '' '-sub -subdm 0'; do
        refuses 1 '-mem: 20 MiB, must be above the [0-9.]+ MiB ' gpudedisp -q -nobary -mem 20M $more -o t wide.fil
        leaves_no 't[_.]*'
    done
    refuses 1 '-mem: .*; cleaning takes 7[0-9.]+ MiB of 85 MiB' gpudedisp -q -nobary -mem 85M -numdms 5 -o t wide.fil
    ldd "$builddir/bin/gpudedisp" | grep -q san && skip "sanitizers take memory of their own"
    leaves_cases
    for more in ${PSRKIT_LONG:+-noclip ''} -zerodm '-clip 3 -singlepulse'; do
        mem=120
        [ "$more" = -zerodm ] && mem=300
        run -0 --separate-stderr gpudedisp -v -nobary -numdms 5 $more -mem ${mem}M -o t wide.fil
        peak=$(sed -n 's/.* peak \([0-9]*\) MB$/\1/p' <<<"$stderr")
        [ "$peak" -lt $((mem * 1048576 / 1000000 + 25)) ] || { echo "$more: $stderr"; false; }
        rm -f t_* t.cand
    done
}

# overlaps NAME COMMAND...: it must refuse to write over NAME, which it reads and which stays as it is.
overlaps() {
    local name=$1
    shift
    sum=$(md5sum "$name")
    run --separate-stderr "$@"
    [ "$status" -ne 0 ]
    [ -z "$output" ]
    one_line 'would be written over |is not written over'
    [ "$sum" = "$(md5sum "$name")" ] || { echo "$name has changed: $*"; false; }
    leaves_no '*.part*'
}

@test "what is read is not written over" {
    two="-q -nobary -lodm 40 -numdms 2"
    for name in t_DM41.00.dat t_DM40.00.inf; do
        cp "$g8" $name
        overlaps $name gpudedisp $two -o t $name
        overlaps $name gpudedisp $two -compat presto -o t $name
        overlaps $name gpudedisp $two -resume -o "$PWD/t" $name
        rm $name
    done
    cp "$g8" in.fil
    ln -s in.fil t_DM40.00.tim
    overlaps in.fil gpudedisp $two -format tim -o t in.fil
    ln in.fil t.cand
    overlaps in.fil gpudedisp $two -singlepulse -nowrite -o t in.fil
    rm t.cand t_DM40.00.tim
    ln -s in.fil t_DM40.00.singlepulse
    overlaps in.fil gpudedisp $two -singlepulse -nowrite -o t in.fil
    ln -s in.fil t_DM3.00.sub07
    overlaps in.fil gpudedisp -q -sub -nsub 16 -subdm 3 -o t in.fil
    cp in.fil in.png
    overlaps in.png gpudedisp $two -singlepulse -nowrite -plot in.png -o a in.png
    echo 40 >t_DM40.00.dat
    overlaps t_DM40.00.dat gpudedisp -q -nobary -dms t_DM40.00.dat -o t in.fil
    echo 3 >t_DM41.00.inf
    overlaps t_DM41.00.inf gpudedisp $two -ignorechan t_DM41.00.inf -o t in.fil
    echo '0 1 3 1 0' >t_DM0.00.inf
    overlaps t_DM0.00.inf gpudedisp -q -nobary -plan t_DM0.00.inf -o t in.fil
    echo 'burst dm=10 t=0.1 width=0.01 snr=20' >list
    overlaps list fakebin -q -tobs 0.1 -addfile list -o list
    overlaps list fakebin -q -tobs 0.1 -addfile list -truth ./list -o x.fil
    seq 128 >band
    overlaps band fakebin -q -tobs 0.1 -bandpass band -o band
    # Whose name is it that follows -plan?
    overlaps in.fil ddplan -d 100 -plan in.fil
    ddplan -d 100 -plan p.plan >/dev/null
    overlaps p.plan ddplan -d 200 -plan p.plan p.plan
}

# on_small_disk SIZE COMMAND...: runs it in a folder of so many bytes, then lists what is there.
on_small_disk() {
    local size=$1
    shift
    mkdir -p disk
    unshare -rm true 2>/dev/null || skip "no file system of its own can be mounted"
    run unshare -rm bash -c 'mount -t tmpfs -o size='"$size"' none disk && cd disk || exit 99
        "$@" 2>../err; code=$?; ls -A; exit $code' bash "$@"
    [ "$status" -ne 99 ] || skip "no file system of its own can be mounted"
}

@test "of files that belong together a full disk leaves none" {
    # The length of what comes through a pipe is not known before.
    on_small_disk 200k gpudedisp -q -sub -nsub 8 -o t - <"$g8"
    [ "$status" -eq 1 ] && [ -z "$output" ] || { echo "$output"; false; }
    grep -q 'sub3: cannot write: No space left on device' err
    # Events, and then no room for series.
    on_small_disk 500k gpudedisp -q -nobary -lodm 40 -numdms 5 -singlepulse -threshold 4 -o t - <"$g8"
    [ "$status" -eq 1 ] && [ -z "$output" ] || { echo "$output"; false; }
    grep -q '^gpudedisp: t_.*No space left on device' err
    on_small_disk 8k gpudedisp -q -nobary -lodm 40 -numdms 2 -singlepulse -threshold 2 -nowrite -o t "$g8"
    [ "$status" -eq 1 ] && [ -z "$output" ] || { echo "$output"; false; }
    need_pictures
    leaves_cases
    for suffix in png ${PSRKIT_LONG:+svg eps}; do
        rm -f e.cand
        on_small_disk 20k gpudedisp -q -nobary -lodm 40 -numdms 40 -singlepulse -threshold 3 -nowrite -plot p.$suffix -o ../e "$g8"
        [ "$status" -eq 1 ] && [ -z "$output" ] || { echo "$output"; false; }
        grep -qx "gpudedisp: p.$suffix: cannot write: No space left on device" err
        [ -s e.cand ]
        on_small_disk 8k ddplan -d 500 -o p.$suffix
        [ "$status" -eq 1 ] && [[ $output != *p.$suffix* ]] || { echo "$output"; false; }
        grep -qx "ddplan: p.$suffix: cannot write: No space left on device" err
        [[ $output == *"Low DM"* ]]
    done
}

@test "a fold that a full disk has no room for leaves none of its files" {
    for size in 8k 20k 60k; do
        on_small_disk $size gpufold -q -topo -p 0.02 -dm 47 -n 32 -nsub 32 -npart 8 -o t "$g8"
        [ "$status" -eq 1 ] && [ -z "$output" ] || { echo "$output"; false; }
        grep -q '^gpufold: t_20.00ms_Cand.pfd.*: .*No space left on device$' err || { cat err; false; }
    done
}

@test "what a disk has no room for is not begun" {
    on_small_disk 500k gpudedisp -q -nobary -lodm 40 -numdms 5 -o t "$g8"
    [ "$status" -eq 1 ] && [ -z "$output" ] || { echo "$output"; false; }
    grep -qx 'gpudedisp: t: the files take 591 KiB, and the file system has 49[0-9] KiB left' err || { cat err; false; }
    rm err
    on_small_disk 100k gpudedisp -q -sub -nsub 8 -o t "$g8"
    grep -q 'gpudedisp: t: the files take 464 KiB' err
    on_small_disk 100k gpudedisp -q -compat presto -nobary -nsub 8 -numdms 2 -o t "$g8"
    grep -q 'gpudedisp: t: the files take 237 KiB' err
    on_small_disk 100k fakebin -q -tobs 100 -o t.fil
    grep -q 'fakebin: t.fil: the files take 76.3 MiB' err
    on_small_disk 100k fakebin -q -tobs 100 -dat -o t
    grep -q 'fakebin: t: the files take 4.77 MiB' err
    for n in 4000000000000 9007199254740992; do
        refuses 1 't: the files take [0-9.e+]+ TiB' gpudedisp -nobary -numdms 2 -numout $n -o t "$g8"
    done
    refuses 1 't: the files take 1.86[0-9]+e\+09 TiB' fakebin -tobs 1e9 -tsamp 1e-3 -nchans 2048 -nbits 8 -o t
    refuses 2 '-numout: .*4611686018427387904' gpudedisp -numout 4611686018427387904 -o t "$g8"
    leaves_no 't[._]*'
}

@test "a plan beyond the limit on the size of files is an error" {
    run bash -c 'set -o pipefail; (ulimit -f 0; exec ddplan -d 100 -plan p) 2>&1 | cat'
    [ "$status" -eq 1 ]
    [ "$output" = 'ddplan: p: cannot write: File too large' ]
    leaves_no p
}

# name_taken NAME ARGS...: a run over g8.fil that cannot give NAME to a file, since a folder of that
# name has appeared meanwhile.
name_taken() {
    local name=$1
    shift
    mkfifo pipe
    gpudedisp -q "$@" -o t - <pipe 2>err &
    pid=$!
    exec 7>pipe
    head -c 500000 "$g8" >&7
    while [ -z "$(find . -name "$name.part*")" ]; do sleep 0.02; done
    rm -f "$name"
    mkdir "$name"
    tail -c +500001 "$g8" >&7
    exec 7>&-
    code=0
    wait $pid || code=$?
    [ "$code" -eq 1 ]
    grep -qx "gpudedisp: $name: cannot take its name: Is a directory" err || { cat err; false; }
    rmdir "$name"
    rm pipe
}

@test "of files that belong together none is named, or all are" {
    sub="-sub -nsub 4 -noclip"
    gpudedisp -q $sub -o t "$g8"
    sha256sum t_DM0.00.sub.inf t_DM0.00.sub[013] >sum
    name_taken t_DM0.00.sub2 $sub -ignorechan 3
    # The others are as they were.
    rest=$(printf '%s\n' err sum t_DM0.00.sub.inf t_DM0.00.sub0 t_DM0.00.sub1 t_DM0.00.sub3)
    sha256sum -c --quiet sum
    [ "$(ls)" = "$rest" ] || { ls; false; }
    name_taken t_DM41.00.dat -nobary -noclip -lodm 40 -numdms 3 -singlepulse -threshold 4
    [ "$(ls)" = "$rest" ] || { ls; false; }
}

@test "threads that cannot be started are done without" {
    ldd "$builddir/bin/gpudedisp" | grep -q san && skip "sanitizers start threads of their own"
    plain=
    if [ "$(id -u)" -eq 0 ]; then
        plain="setpriv --reuid=65534 --regid=65534 --clear-groups"
        chmod 777 .
    fi
    cp "$g8" in.fil
    $plain bash -c 'cat in.fil >/dev/null && exec gpudedisp --version' >/dev/null 2>&1 || skip "another user cannot run it"
    run --separate-stderr $plain bash -c 'ulimit -u 1; exec gpudedisp -nobary -noclip -lodm 40 -numdms 3 -ncpus 4 -o t in.fil'
    [ "$status" -eq 0 ]
    one_line 'of 4 threads 1 can be started, and are'
    gpudedisp -q -nobary -noclip -lodm 40 -numdms 3 -ncpus 2 -o u in.fil
    cmp t_DM42.00.dat u_DM42.00.dat
    run --separate-stderr $plain bash -c 'ulimit -u 1; exec fakebin -q -tobs 1 -seed 1 -ncpus 4 -o x.fil'
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    leaves_no '*.part*'
}

@test "sums that leave the range of floats are told" {
    fakebin -q -seed 1 -tobs 0.5 -nchans 16 -nbits 32 -tsamp 1000 -period 0 -o f.fil
    at=$(($(grep -obUa HEADER_END f.fil | head -n 1 | cut -d: -f1) + 10))
    tail -c +$((at + 1)) f.fil >samples
    printf '\0\0\0\077%.0s' {1..8000} >by126 # added to the exponents: times 2^126
    cat <(head -c $at f.fil) <("$builddir/tests/support/add_bytes" samples by126) >huge.fil
    for more in '' -zerodm '-algo subband -nsub 4' '-format tim'; do
        run -0 --separate-stderr gpudedisp -nobary -noclip -numdms 2 $more -o t huge.fil
        one_line '2 of 2 series hold samples that are no finite numbers, from DM 0.00 on'
        run -0 --separate-stderr gpudedisp -nobary -noclip -numdms 2 $more -o t f.fil
        [ -z "$stderr" ]
    done
}

@test "names that are too long are refused before anything is done" {
    long() { printf "%$1s" '' | tr ' ' r; }
    gpudedisp -q -nobary -numdms 2 -singlepulse -o "$(long 192)" "$g8"
    ls "$(long 192)_DM0.00.inf"
    rm r*
    refuses 1 'the name of a series has 200 bytes; PRESTO reads at most 199' \
        gpudedisp -nobary -numdms 2 -o "$(long 193)" "$g8"
    refuses 1 'the name of a series has 201 bytes' gpudedisp -nobary -dmprec 3 -numdms 1 -o "$(long 193)" "$g8"
    refuses 1 'the name of a series has [0-9]+ bytes' gpudedisp -q -sub -nsub 4 -o "$(long 190)" "$g8"
    refuses 1 'a name of 251 bytes; at most 244 fit' \
        gpudedisp -nobary -numdms 2 -nowrite -singlepulse -o "$(long 232)" "$g8"
    mkdir -p "$(long 180)/d"
    gpudedisp -q -nobary -numdms 1 -o "$(long 180)/d/t" "$g8"
    grep -q "without suffix          =  $(long 180)/d/t_DM0.00" "$(long 180)/d/t_DM0.00.inf"
    mkdir -p "$(long 220)/d"
    gpudedisp -q -nobary -numdms 1 -o "$(long 220)/d/t" "$g8"
    grep -q 'without suffix          =  t_DM0.00$' "$(long 220)/d/t_DM0.00.inf"
    refuses 1 'the path of a series has 2[0-9]+ bytes, at most 255' gpudedisp -nobary -numdms 1 -o "$(long 220)/d/$(long 40)" "$g8"
    refuses 1 'a name of 245 bytes; at most 244 fit' fakebin -tobs 0.1 -o "$(long 245)"
    refuses 1 'a name of 250 bytes; at most 244 fit' fakebin -tobs 0.1 -o x.fil -truth "$(long 250)"
    refuses 1 'a path of [0-9]+ bytes' fakebin -tobs 0.1 -o "$(long 4090)"
    fakebin -q -tobs 1 -tsamp 500 -nchans 2 -period 0 -dat -o p
    for s in dat inf; do mv p_DM0.00.$s "$(long 230).$s"; done
    refuses 1 'a name of 245 bytes; at most 244 fit' gpuaccel-pulscan -device cpu -zmax 200 "$(long 230).dat"
    leaves_no '*.lock'
}

@test "data that are too short for any search are bad data" {
    fakebin -q -tobs 0.01 -tsamp 1000 -nchans 4 -nbits 8 -period 0 -seed 1 -o a.fil
    fakebin -q -tobs 0.02 -tsamp 1000 -nchans 4 -period 0 -dat -seed 1 -o a
    refuses 3 'a_DM0.00.dat: 10 bins, 0.02 s, are too few to search, which takes 16' gpuaccel-pulscan -q a_DM0.00.dat
    refuses 3 'a_DM0.00.dat: 20 samples, 0.02 s, are too few to search' gpuffa -q a_DM0.00.dat
    refuses 3 '^gpu[a-z]*: a.fil: .*too few to search' gpuffa -q -nobary a.fil
    refuses 3 '^gpu[a-z]*: a.fil: .*too few to search' gpudedisp -q -nobary -nowrite -accelsearch '-zmax 4' -o t a.fil
    refuses 3 '^gpu[a-z]*: a.fil: .*too few to search' gpudedisp -q -nobary -nowrite -ffa '-pmax 5' -o t a.fil
    leaves_no 't[._]*'
}
