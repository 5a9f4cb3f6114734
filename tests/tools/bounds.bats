#!/usr/bin/env bats
# Every text and table that is read has an end, whatever is given for it: what is none, or does not end, is an
# error within bounds of time and memory.

load helper

setup() {
    cd "$BATS_TEST_TMPDIR"
    printf 'grid 3 2\nspacing 8 6\nsite -119 49 500\ndish 0 0 0\ndish 1 0 1\ndish 2 1 1\n' >s.array
    printf 'theta 0 0\n' >s.beams
    bound="ulimit -v 3000000"
    ! ldd "$builddir/bin/gpudedisp" | grep -q san || bound=:
}

# ends COMMAND...: it must exit with 1, or 3 for bad data, and one line, and within its bounds.
ends() {
    run --separate-stderr timeout 100 bash -c "$bound; exec \"\$@\"" bash "$@"
    [ "$status" -eq 1 ] || [ "$status" -eq 3 ] || { echo "exit code $status: $*: $stderr"; false; }
    one_line "${pattern-.}"
    [ -z "$output" ]
    leaves_no 'x[._]*'
}

# endless LINE COMMAND...: reads a pipe that says LINE for ever, as its last word.
endless() {
    local line=$1
    shift
    rm -f pipe
    mkfifo pipe
    yes "$line" >pipe 2>/dev/null &
    local writer=$!
    ends "$@"pipe
    kill $writer 2>/dev/null || true
    wait $writer || true
}

# never_text LINES COMMAND...: no kind of file is more than an error to the command, whose last word it ends.
never_text() {
    local lines=$1
    shift
    pattern='zero: .*(longer than|byte 0|beyond|binary|not a regular file|no number|[Nn]umber of|zeros)' ends "$@"/dev/zero
    pattern='Is a directory|not a regular file' ends "$@".
    pattern='No such file' ends "$@"gone
    head -c 100000 /dev/urandom >noise
    ends "$@"noise
    local line
    # Wide lines come to their bound with less work; a long check has narrow ones.
    local wide
    printf -v wide '%80s' ''
    [ -z "${PSRKIT_LONG-}" ] || wide=
    while IFS= read -r line; do
        pattern='pipe: ' endless "$line$wide" "$@"
    done <<<"$lines"
}

@test "lists and plans of gpudedisp" {
    one="gpudedisp -q -nobary -noclip -o x"
    never_text $'\n3\n# a comment' $one "$g8" -ignorechan=
    never_text $'\n3\n# a comment' $one "$g8" -dms=
    never_text $'\n0 1 3 1 0\n# a comment' $one "$g8" -plan=
    never_text $'\n3' $one "$g8" -mask=
}

@test "masks take no more than -mem" {
    one="gpudedisp -q -nobary -noclip -o x $g8"
    cp "$golden"/mask/r_rfifind.mask m.mask
    for stats in /dev/zero pipe .; do
        [ $stats = . ] || ln -sf $stats m.stats
        [ $stats != pipe ] || { rm -f pipe; mkfifo pipe; }
        [ $stats != . ] || { rm m.stats; mkdir m.stats; }
        pattern='m.stats: (not a regular file|Is a directory)' ends $one -mask m.mask
    done
    rmdir m.stats
    # 4096 channels and 262144 intervals: a header that allows 4 GiB.
    { head -c 48 m.mask; printf '\0\20\0\0\0\0\4\0\1\0\0\0'; } >big.mask
    truncate -s 3G big.mask
    pattern='-mem: big.mask: reading it takes 6 GiB, the limit is 100 MiB' ends $one -mem 100M -mask big.mask
    truncate -s 5G big.mask
    pattern='big.mask: 5368709120 bytes, and its 262144 intervals of 4096 channels make 4297080900 at most' \
        ends $one -mem 100M -mask big.mask
    # What is no mask is not read.
    cp "$g8" big.fil
    truncate -s 3G big.fil
    ends $one -mem 100M -mask big.fil
    truncate -s 3G m.stats
    pattern='m.stats: 7 intervals of 32 channels take 2688 bytes, and 32212[0-9]* are there' ends $one -mask m.mask
}

@test "lists, birds and descriptions of gpuaccel-pulscan" {
    fakebin -q -dat -nchans 1 -tsamp 1000 -tobs 2.048 -period 20 -dm 0 -seed 1 -o a
    mv a_DM0.00.dat a.dat
    mv a_DM0.00.inf a.inf
    one="gpuaccel-pulscan -q -device cpu -csv -o x"
    never_text $'\n# a comment\na.dat' $one -files=
    never_text $'\n# a comment\n50 1' $one a.dat -zaplist=
    for inf in /dev/zero pipe; do
        rm -f pipe
        mkfifo pipe
        yes ' Any breaks in the data? (1 yes, 0 no)  =  0' >pipe 2>/dev/null &
        writer=$!
        ln -sf $inf a.inf
        run -3 --separate-stderr timeout 100 bash -c "$bound; exec gpuaccel-pulscan -q -device cpu -o x a.dat"
        one_line 'a.inf: '
        leaves_no 'x[._]*'
        kill $writer || true
    done
}

@test "tables of fakebin" {
    need_long
    one="fakebin -q -seed 1 -tobs 0.1 -nchans 32 -o x"
    never_text $'\n1\n1 2 3' $one -bandpass=
    never_text $'\n# a comment\nburst dm=10 t=0.05 width=0.01 snr=20' $one -addfile=
    never_text $'\n1 2 3' $one -add='burst dm=1 t=0.05 width=0.01 snr=9 shape='
    never_text $'\n# a comment\ndish 0 none\ndish 0 0 0' fakebin -q -tobs 0.001 -fch1 700 -o x -array=
}

@test "tables of frbbeam" {
    need_long
    fakebin -q -seed 3 -array s.array -nchans 4 -fch1 700 -foff 1 -tsamp 100 -tobs 0.02 -o v.dada
    one="frbbeam -q -device cpu -o x v.dada"
    never_text $'\n# a comment\ndish 0 none' $one -beams=s.beams -array=
    never_text $'\n# a comment\ntheta 0 0\nlattice 1000 1000 0 0 0.1 0.1' $one -array=s.array -beams=
    never_text $'\n# a comment\n* * * 1 0' $one -array=s.array -beams=s.beams -weights=
    never_text $'\n# a comment\nbits 8' $one -array=s.array -beams=s.beams -scale=
    never_text $'\n# a comment\n0 2' $one -array=s.array -beams=s.beams -tds=@
    # NumPy's kind says how much there is.
    { printf '\x93NUMPY\1\0v\0'; printf "%-117s\n" "{'descr': '<c8', 'fortran_order': False, 'shape': (4, 2, 3), }"; } >head.npy
    rm -f pipe
    mkfifo pipe
    cat head.npy /dev/zero >pipe 2>/dev/null &
    writer=$!
    pattern='pipe: goes on after its 24 numbers' ends $one -array=s.array -beams=s.beams -weights=pipe
    kill $writer || true
}

@test "candidates of chi2sig, plans of ddplan" {
    never_text $'\n# a comment\nsigma power' chi2sig -accel ''
    mkfifo list
    { head -n 20 "$golden/acc3_numharm4.pulscand"; yes "$(sed -n 2p "$golden/acc3_numharm4.pulscand")"; } >list 2>/dev/null &
    writer=$!
    pattern='list: line [0-9]*: beyond 67108864 bytes' ends chi2sig -accel list
    kill $writer || true
    ln -s /dev/zero zero.plan
    pattern='zero.plan: ' ends ddplan zero.plan
    mkfifo pipe.plan
    yes '# a comment' >pipe.plan 2>/dev/null &
    writer=$!
    pattern='pipe.plan: ' ends ddplan pipe.plan
    kill $writer || true
}
