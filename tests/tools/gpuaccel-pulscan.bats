#!/usr/bin/env bats
# gpuaccel-pulscan from the command line: what it finds, its files, and what it says of bad input.

load helper

setup() {
    cd "$BATS_TEST_TMPDIR"
}

# make_series ROOT PERIOD SNR MORE...: 60 s of a pulsar under an acceleration, as ROOT.dat and ROOT.inf.
make_series() {
    local root=$1 period=$2 snr=$3
    shift 3
    fakebin -q -seed 5 -tobs 67.108864 -tsamp 512 -nchans 8 -fch1 1500 -foff 4 -period 0 -dat -o m \
        -add "pulsar period=$period dm=0 width=0.001 snr=$snr $*" -truth truth.txt
    mv m_DM0.00.dat "$root.dat"
    mv m_DM0.00.inf "$root.inf"
}

# field ROOT NUMBER: a column of the best candidate of ROOT_ACCEL_N, its error dropped.
field() { sed -n 4p "$1" | awk -v n="$2" '{ sub(/\(.*/, "", $n); print $n }'; }

near() { awk -v a="$1" -v b="$2" -v tol="$3" 'BEGIN { d = a - b; exit !(d <= tol && -d <= tol) }'; }

@test "--help and --version go to standard output and exit 0" {
    run -0 --separate-stderr gpuaccel-pulscan --help
    [[ $output == Usage:* && -z $stderr ]]
    run -0 --separate-stderr gpuaccel-pulscan -version
    [[ $output == "gpuaccel-pulscan (psrkit) "* ]]
}

@test "accelerated pulsars are found, with the sign of their drift" {
    for accn in 4000 -4000; do
        make_series p 0.0051 40 accn=$accn
        read -r _ _ _ _ _ _ _ _ r z _ < <(grep '^pulsar' truth.txt)
        run -0 --separate-stderr gpuaccel-pulscan -device cpu -zmax 100 -numharm 4 p.dat
        [ -z "$output$stderr" ]
        near "$(field p_ACCEL_100 8)" "$r" 0.3
        near "$(field p_ACCEL_100 10)" "$z" 2
        [ "$(stat -c %s p_ACCEL_100.cand)" -eq $((88 * $(grep -c '^[0-9]' p_ACCEL_100))) ]
        [ -s p_ACCEL_100.txtcand ]
        grep -q 'Number of bins in the time series      =  131072' p_ACCEL_100
    done
    [ -z "$(find . -name '*.part*')" ]
}

@test "a .dat file gives what its .fft gives, on any number of threads" {
    make_series p 0.0051 40 accn=3000
    gpuaccel-pulscan -device cpu -fftout -zmax 100 p.dat
    [ -s p.fft ]
    mv p_ACCEL_100 whole
    for n in 1 2 3; do
        gpuaccel-pulscan -device cpu -ncpus $n -zmax 100 p.fft
        cmp p_ACCEL_100 whole
        gpuaccel-pulscan -device cpu -ncpus $n -zmax 100 p.dat
        cmp p_ACCEL_100 whole
    done
}

@test "a real pulsar is found at a harmonic of its frequency" {
    need_data GBT_J1807-0847.dat
    for suffix in dat fft; do
        run -0 --separate-stderr gpuaccel-pulscan -device cpu -zmax 2 -numharm 4 -outdir . \
            "$PSRKIT_TEST_DATA/GBT_J1807-0847.$suffix"
        r=$(field GBT_J1807-0847_ACCEL_2 8)
        awk -v r="$r" 'BEGIN { for (h = 1; h <= 6; h++) { d = r - h * 131.17; if (d * d < 1) exit 0 }; exit 1 }'
    done
}

# lovell NUMBER NAME: a series of the Lovell telescope, raw signed bytes and the sampling in a header, as NAME.dat and .inf.
lovell() {
    local from=$PSRKIT_TEST_DATA/lovell/psr$1
    "$builddir/tests/support/bytes_dat" <"$from.dat" >"$2.dat"
    awk -v name="$2" -v n="$(stat -c %s "$from.dat")" '
        FNR == NR { if ($1 == "Tsamp") ms = $2; next }
        /Data file name/ { sub(/=.*/, "=  " name) }
        /Number of bins/ { sub(/=.*/, "=  " n) }
        /Width of each/ { sub(/=.*/, "=  " ms / 1000) }
        { print }' "$from.hdr" p.inf >"$2.inf"
}

# listed LIST ROWS HZ OFF: whether one of the first rows is within OFF of that frequency.
listed() {
    awk -v most="$2" -v hz="$3" -v off="$4" '
        /^[0-9]/ { n++; f = $7; sub(/\(.*/, "", f); if (n <= most && f - hz <= off && hz - f <= off) found = 1 }
        /Power \// { exit }
        END { exit !found }' "$1"
}

@test "real pulsars among mains stand at their own periods in the first three rows" {
    need_data lovell/psr3.dat
    make_series p 0.0051 40 accn=0
    for pulsar in "0 1929+10 4.41444" "2 0626+24 2.09806" "3 1508+55 1.35177" "5 0329+54 1.39938"; do
        read -r number name hz <<<"$pulsar"
        lovell "$number" "$name"
        for extra in "" -rednoise; do
            gpuaccel-pulscan -device cpu -zmax 0 -numharm 16 $extra "$name.dat"
            listed "${name}_ACCEL_0" 3 "$hz" 0.002 || { head -n 8 "${name}_ACCEL_0"; false; }
        done
    done
}

@test "lines of real interference stand at their own frequencies" {
    need_data gbt_lband/Lband_topo_DM0.00.fft
    for numharm in 8 16; do
        gpuaccel-pulscan -device cpu -zmax 0 -numharm $numharm -chunkwidth 64 -outdir . \
            "$PSRKIT_TEST_DATA/gbt_lband/Lband_topo_DM0.00.fft"
        list=Lband_topo_DM0.00_ACCEL_0
        for hz in 28.760 59.991 170.987; do
            listed $list 3 $hz 0.02 || { head -n 14 $list; false; }
        done
        listed $list 20 178.495 0.02 || { head -n 14 $list; false; }
    done
}

@test "a bright slow pulsar has its turn before the wide boxes that hold its harmonics" {
    need_data GBT_J1807-0847.fft
    for zmax in 50 200 1200; do
        gpuaccel-pulscan -device cpu -zmax $zmax -outdir . "$PSRKIT_TEST_DATA/GBT_J1807-0847.fft"
        awk -v most=$((1 + (zmax > 1000))) '/^[0-9]/ && $1 <= most {
                r = $8 / 131.174; z = $10; if (r > 0.999 && r < 1.001 && z < 0.1 && z > -0.1) found = 1 }
            END { exit !found }' GBT_J1807-0847_ACCEL_$zmax
        [ $zmax -ne 1200 ] || grep -q 'lines side by side' GBT_J1807-0847_ACCEL_$zmax
    done
}

@test "noise gives a .txtcand and no ACCEL file" {
    fakebin -q -seed 8 -tobs 33.024 -tsamp 512 -nchans 4 -period 0 -dat -o n
    run -0 gpuaccel-pulscan -device cpu -sigma 5 n_DM0.00.dat
    [ -f n_DM0.00_ACCEL_200.txtcand ]
    [ ! -e n_DM0.00_ACCEL_200 ]
}

@test "-rlo, -rhi, -flo and -fhi bound the search" {
    make_series p 0.0051 60 accn=0
    for range in "-rlo 20000 -rhi 30000" "-fhi 100" "-flo 500"; do
        gpuaccel-pulscan -device cpu -numharm 1 -zmax 20 -sigma 6 -csv $range p.dat >table
        awk -F, -v range="$range" 'NR > 1 && $9 > 13000 && $9 < 13300 { exit 1 }' table
    done
    gpuaccel-pulscan -device cpu -numharm 1 -zmax 20 -sigma 6 -csv -rlo 13000 -rhi 13300 p.dat >table
    awk -F, 'NR > 1 { n++; if ($9 < 12999 || $9 > 13301) bad = 1 } END { exit !(n > 0 && !bad) }' table
}

@test "-zaplist leaves a frequency out" {
    make_series p 0.0051 60 accn=0
    gpuaccel-pulscan -device cpu -numharm 1 -zmax 4 -sigma 6 -csv p.dat >before
    [ "$(wc -l <before)" -gt 1 ]
    echo "196.0784 1 10" >p.birds
    gpuaccel-pulscan -device cpu -numharm 1 -zmax 4 -sigma 6 -csv -zaplist p.birds p.dat >after
    [ "$(wc -l <after)" -eq 1 ]
}

@test "tables: one for all files, as CSV and JSON, in pipes" {
    make_series a 0.0051 50 accn=0
    make_series b 0.0033 50 accn=2000
    gpuaccel-pulscan -device cpu -zmax 50 -csv a.dat b.dat >table.csv
    [ "$(grep -c '^file,cand,sigma,' table.csv)" -eq 1 ]
    grep -q '^a.dat,1,' table.csv
    grep -q '^b.dat,1,' table.csv
    printf 'a.dat\nb.dat\n' | gpuaccel-pulscan -device cpu -zmax 50 -files - -o - | cmp - table.csv
    gpuaccel-pulscan -device cpu -zmax 50 -csv -batch 2 a.dat b.dat | cmp - table.csv
    gpuaccel-pulscan -device cpu -zmax 50 -csv -batch 7 a.dat b.dat | cmp - table.csv
    gpuaccel-pulscan -device cpu -zmax 50 -csv -o t.csv a.dat b.dat
    cmp t.csv table.csv
    gpuaccel-pulscan -device cpu -zmax 50 -json a.dat b.dat >table.json
    [ "$(wc -l <table.json)" -eq $(($(wc -l <table.csv) - 1)) ]
    grep -q '^{"file": "a.dat", "cand": 1, "sigma": ' table.json
    [ ! -e a_ACCEL_50 ]
    run -1 --separate-stderr gpuaccel-pulscan -device cpu -csv -o /dev/full a.dat
    one_line 'No space left'
}

@test "one bad file is named, and the others are searched" {
    make_series good 0.0051 50 accn=0
    cp good.dat noinf.dat
    cp good.inf short.inf
    head -c 1000 good.dat >short.dat
    cp good.inf nan.inf
    { head -c 40000 good.dat && printf '\0\0\300\177' && tail -c +40005 good.dat; } >nan.dat
    cp good.inf zero.inf
    head -c "$(stat -c %s good.dat)" /dev/zero >zero.dat
    cp good.inf inf.inf
    { head -c 80 good.dat && printf '\0\0\200\177' && tail -c +85 good.dat; } >inf.dat
    printf 'rubbish\n' >bad.inf
    cp good.dat bad.dat
    run -1 --separate-stderr gpuaccel-pulscan -device cpu -zmax 20 noinf.dat short.dat nan.dat zero.dat \
        inf.dat bad.dat gone.dat good.dat
    [ "$(printf '%s\n' "$stderr" | wc -l)" -eq 7 ] || { echo "$stderr"; false; }
    [[ $stderr == *"noinf.dat: there is no noinf.inf"* ]]
    [[ $stderr == *"short.dat: 1000 bytes, but the 131072 samples"* ]]
    [[ $stderr == *"nan.dat: sample 10000 is no finite number"* ]]
    [[ $stderr == *"inf.dat: sample 20 is no finite number"* ]]
    [[ $stderr == *"zero.dat: all samples are 0"* ]]
    [[ $stderr == *"bad.inf"* && $stderr == *"gone.dat: No such file"* ]]
    [ -s good_ACCEL_20 ]
    [ "$(ls ./*_ACCEL_20 | wc -l)" -eq 1 ]
}

@test "of a series of an odd length the last sample is left out" {
    make_series p 0.0051 50 accn=0
    for n in 131070 131071; do
        head -c $((n * 4)) p.dat >$n.dat
        sed "s/=  131072/=  $n/" p.inf >$n.inf
    done
    gpuaccel-pulscan -device cpu -zmax 20 -csv 131070.dat >even.csv
    run -0 --separate-stderr gpuaccel-pulscan -device cpu -zmax 20 -csv 131071.dat
    one_line '131071.dat: 131071 samples, an odd number: the last one is left out'
    diff <(sed s/131070/131071/ even.csv) <(echo "$output")
    [[ ${lines[1]} == *,67.10784,, ]] # T = dt (N - 1)
    gpuaccel-pulscan -q -device cpu -zmax 20 131070.dat 131071.dat
    diff <(sed '/Data file name/d' 131070_ACCEL_20) <(sed '/Data file name/d' 131071_ACCEL_20)
    grep -q 'Number of bins in the time series      =  131070 ' 131071_ACCEL_20
    cmp 131070_ACCEL_20.cand 131071_ACCEL_20.cand
    # One remark, however many there are; its spectrum is not that of its .inf.
    cp 131071.dat other.dat
    cp 131071.inf other.inf
    run -0 --separate-stderr gpuaccel-pulscan -device cpu -zmax 20 131071.dat other.dat
    one_line 'here and in other files'
    refuses 1 'other.dat: its spectrum is of one sample less and needs an .inf of its own' \
        gpuaccel-pulscan -q -device cpu -zmax 20 -fftout other.dat
    leaves_no other.fft
    mkdir out
    gpuaccel-pulscan -q -device cpu -zmax 20 -fftout -outdir out 131071.dat
    grep -q 'Number of bins in the time series      =  131070 ' out/131071.inf
    gpuaccel-pulscan -device cpu -zmax 20 -csv out/131071.fft | cut -d, -f2- | diff <(cut -d, -f2- even.csv) -
}

@test "an .inf without an epoch is told, one with breaks and no pairs refused" {
    make_series p 0.0051 50 accn=0
    sed -i '/Epoch of observation/d' p.inf
    cp p.inf q.inf
    cp p.dat q.dat
    run -0 --separate-stderr gpuaccel-pulscan -device cpu -zmax 20 p.dat q.dat
    one_line '[pq].dat: its .inf has no epoch of observation, which counts as MJD 0'
    sed -i 's/^ Any breaks.*=  0/ Any breaks in the data? (1 yes, 0 no) = 1/' p.inf
    refuses 3 "p.inf: line [0-9]+: breaks in the data, but no line 'On/Off bin pair'" \
        gpuaccel-pulscan -device cpu -zmax 20 p.dat
}

@test "-fftout leaves the input's .inf as it is" {
    make_series p 0.0051 50 accn=0
    sed -i 's/^ Data analyzed by.*/&   /' p.inf
    sha256sum p.inf p.dat >sums
    gpuaccel-pulscan -device cpu -zmax 20 -fftout p.dat
    [ -s p.fft ]
    sha256sum -c --quiet sums
    mkdir out
    gpuaccel-pulscan -device cpu -zmax 20 -fftout -outdir out p.dat
    cmp p.fft out/p.fft
    grep -q 'without suffix          =  out/p$' out/p.inf
    gpuaccel-pulscan -device cpu -zmax 20 -rednoise -fftout p.dat
    grep -q 'without suffix          =  p_red$' p_red.inf
    sha256sum -c --quiet sums
}

@test "samples of any size are searched alike, and no spectrum beyond floats is written" {
    make_series p 0.0051 50 accn=0
    # Bytes added to the exponents of all samples multiply by 2^64, 2^120 and 2^-80.
    printf '\0\0\0\040' >by64
    printf '\0\0\0\074' >by120
    printf '\0\0\0\330' >by-80
    for k in 64 120 -80; do
        for _ in $(seq 17); do
            cat by$k by$k >twice
            mv twice by$k
        done
        "$builddir/tests/support/add_bytes" p.dat by$k >x$k.dat
        cp p.inf x$k.inf
    done
    for more in '' -rednoise; do
        gpuaccel-pulscan -device cpu -zmax 20 -csv $more p.dat | cut -d, -f2- >want
        [ "$(wc -l <want)" -gt 1 ]
        for k in 64 120 -80; do
            run -0 --separate-stderr gpuaccel-pulscan -device cpu -zmax 20 -csv $more x$k.dat
            [ -z "$stderr" ]
            cut -d, -f2- <<<"$output" | diff want -
        done
    done
    gpuaccel-pulscan -device cpu -zmax 20 -fftout -csv x64.dat | cut -d, -f2- | head -n 1 >/dev/null
    [ -s x64.fft ]
    gpuaccel-pulscan -device cpu -zmax 20 -csv x64.fft | cut -d, -f2- >got
    gpuaccel-pulscan -device cpu -zmax 20 -csv x64.dat | cut -d, -f2- | diff - got
    run -3 --separate-stderr gpuaccel-pulscan -device cpu -zmax 20 -fftout -csv x120.dat
    one_line 'x120.dat: its spectrum reaches [0-9.e+]+, and a .fft file holds at most 3.4e\+38'
    leaves_no x120.fft
}

@test "messages do not go into the table where standard error is closed" {
    make_series a 0.0051 50 accn=0
    run -1 gpuaccel-pulscan -device cpu -zmax 20 -csv -o open.csv a.dat gone.dat
    run -1 bash -c 'gpuaccel-pulscan -v -device cpu -zmax 20 -csv -o closed.csv a.dat gone.dat 2>&-'
    cmp open.csv closed.csv
}

@test "a search without candidates leaves no list of an earlier one" {
    make_series p 0.0051 50 accn=0
    gpuaccel-pulscan -device cpu -zmax 20 p.dat
    [ -s p_ACCEL_20 ]
    [ -s p_ACCEL_20.cand ]
    run -0 --separate-stderr gpuaccel-pulscan -device cpu -zmax 20 -sigma 900 p.dat
    [ -z "$stderr" ]
    [ -f p_ACCEL_20.txtcand ]
    [ ! -e p_ACCEL_20 ]
    [ ! -e p_ACCEL_20.cand ]
}

@test "files of one length are searched together" {
    for i in 1 2 3 4 5; do
        fakebin -q -seed $i -tobs $((30 + i % 2)) -tsamp 1000 -nchans 2 -period 0 -dat -o $i \
            -add "pulsar period=0.05 dm=0 width=0.005 snr=60"
    done
    gpuaccel-pulscan -device cpu -csv -zmax 4 -maxcands 1 [1-5]_DM0.00.dat | tail -n +2 | cut -d_ -f1 >order
    [ "$(tr -d '\n' <order)" = 13524 ]
}

# same_on_devices SEARCH...: lists, tables and notes of seven files of two lengths, one of them not to be read, are those
# of one device on two and on three.
same_on_devices() {
    for devices in cpu cpu,cpu cpu,cpu,cpu; do
        mkdir $devices
        run -3 --separate-stderr gpuaccel-pulscan -device $devices -outdir $devices -maxcands 3 "$@" [1-7].dat
        echo "$stderr" >$devices/notes
        run -3 gpuaccel-pulscan -q -device $devices -csv -maxcands 3 "$@" [1-7].dat
        echo "$output" >$devices/table
    done
    [ "$(ls cpu/*_ACCEL_4* | wc -l)" -ge 18 ]
    diff -r cpu cpu,cpu
    diff -r cpu cpu,cpu,cpu
    rm -r cpu*
}

@test "several devices share the files, and give what one gives" {
    for i in 1 2 3 4 5 6 7; do
        fakebin -q -seed $i -tobs $((30 + i / 6)) -tsamp 1000 -nchans 2 -period 0 -dat -o $i \
            -add "pulsar period=0.05 dm=0 width=0.005 snr=60"
        mv ${i}_DM0.00.dat $i.dat
        mv ${i}_DM0.00.inf $i.inf
    done
    truncate -s -400 3.dat
    same_on_devices -zmax 4 -numharm 4
    same_on_devices -zmax 4 -search matched -numharm 4 -batch 2
    same_on_devices -zmax 4 -search both -numharm 4
    run -1 --separate-stderr gpuaccel-pulscan -device cpu,abacus [1-7].dat
    [[ "$stderr" == *abacus* ]]
    leaves_no '*_ACCEL*'
}

@test "a batch holds no more files than may be open" {
    make_series p 0.0051 50 accn=0
    for i in $(seq 60); do
        ln p.dat $i.dat
        ln p.inf $i.inf
    done
    (ulimit -n 48 && gpuaccel-pulscan -device cpu -numharm 1 -zmax 4 -batch 4096 [0-9]*.dat)
    [ "$(ls [0-9]*_ACCEL_4 | wc -l)" -eq 60 ]
}

@test "two inputs do not write the same files" {
    make_series p 0.0051 50 accn=0
    gpuaccel-pulscan -device cpu -zmax 20 -fftout p.dat
    mkdir other out
    cp p.fft p.inf other
    run -1 --separate-stderr gpuaccel-pulscan -device cpu -zmax 20 p.fft p.dat
    one_line 'p_ACCEL_20 would be written of p.fft and of p.dat'
    run -1 --separate-stderr gpuaccel-pulscan -device cpu -zmax 20 -outdir out p.fft other/p.fft
    one_line 'out/p_ACCEL_20 would be written of p.fft and of other/p.fft'
    run -1 --separate-stderr gpuaccel-pulscan -device cpu -zmax 20 p.fft p.fft
    one_line 'p.fft: given twice'
    [ -s p_ACCEL_20 ]
    [ -s out/p_ACCEL_20 ]
    run -0 --separate-stderr gpuaccel-pulscan -device cpu -zmax 20 -csv p.fft p.dat other/p.fft
}

@test "a table does not take the place of an input" {
    make_series p 0.0051 50 accn=0
    cp p.dat was.dat
    cp p.inf was.inf
    ln -s p.dat link
    echo p.dat >list
    for out in p.dat ./p.dat link p.inf; do
        refuses 1 "^gpuaccel-pulscan: $out would be written over p\..*, which is read" \
            gpuaccel-pulscan -device cpu -csv -o $out p.dat
        refuses 1 "would be written over .*, which is read" gpuaccel-pulscan -device cpu -json -o $out -files list
    done
    cmp p.dat was.dat
    cmp p.inf was.inf
    gpuaccel-pulscan -device cpu -csv -zmax 20 -o was.dat p.dat # another's, as any file
}

@test "lists of files may hold comments, blanks and carriage returns" {
    make_series a 0.0051 50 accn=0
    printf '# beam 1\r\n\r\n  a.dat \r\n\t# done' >list
    run -0 --separate-stderr gpuaccel-pulscan -device cpu -zmax 20 -csv -files list
    [[ $output == *$'\na.dat,1,'* ]]
    run -1 --separate-stderr gpuaccel-pulscan -device cpu -files gone
    one_line 'gone: No such file'
    refuses 3 '^gpuaccel-pulscan: a.dat: line 1: (a byte 0: this is no text|longer than)' \
        gpuaccel-pulscan -device cpu -files a.dat
    refuses 3 '/dev/zero: line 1: longer than' gpuaccel-pulscan -device cpu -files /dev/zero
    refuses 1 '^gpuaccel-pulscan: .: Is a directory' gpuaccel-pulscan -device cpu -files .
}

@test "what cannot be searched is said once, and says what to change" {
    make_series a 0.0051 50 accn=0
    run -1 --separate-stderr gpuaccel-pulscan -device cpu -outdir gone a.dat a.dat
    one_line '-outdir gone: No such file or directory'
    run -1 --separate-stderr gpuaccel-pulscan -device cpu -outdir a.inf a.dat
    one_line '-outdir a.inf: not a directory'
    run -1 --separate-stderr gpuaccel-pulscan -device cpu -flo 1000 a.dat
    one_line 'a.dat: nothing to search: -flo is bin 67108, and the last of 65536 is at 976.548 Hz'
    run -1 --separate-stderr gpuaccel-pulscan -device cpu -mem 100K a.dat
    one_line 'a.dat: .* the limit is 0 MB \(-mem\)'
    run -2 --separate-stderr gpuaccel-pulscan -device cpu -
    one_line '-files - takes names'
}

# lists FILE PERIOD: whether a table has a candidate of this period.
lists() { awk -F, -v p="$2" 'NR > 1 && $13 > p * 0.9999 && $13 < p * 1.0001 { found = 1 } END { exit !found }' "$1"; }

@test "a bright pulsar hides no others beside it" {
    fakebin -q -seed 1 -dat -nchans 1 -tsamp 256 -tobs 307.2 -period 0 -o three \
        -add "pulsar period=0.05013 dm=0 width=0.0025 snr=60" -add "pulsar period=0.0523 dm=0 width=0.0025 snr=25" \
        -add "pulsar period=0.04713 dm=0 width=0.0025 snr=18"
    gpuaccel-pulscan -device cpu -csv three_DM0.00.dat >table
    [ "$(head -n 1 table | cut -d, -f13)" = period_s ]
    for period in 0.05013 0.0523 0.04713; do
        lists table $period || { echo "no $period"; cat table; false; }
    done
}

@test "interference does not flood the list" {
    make_series p 0.0051 400 accn=0
    run -0 --separate-stderr gpuaccel-pulscan -device cpu -zmax 100 -noharmremove -maxcands 5 p.dat
    [ "$(grep -c '^ [0-9]' p_ACCEL_100)" -le 10 ]
    one_line 'p.dat: [0-9]+ more candidates are left out: -maxcands 5'
}

@test "bin 0 and red noise give no candidates from 1 Hz on" {
    fakebin -q -seed 3 -tobs 134.217728 -tsamp 512 -nchans 8 -period 0 -rednoise 3 -nbits 32 -dat -o red
    for extra in "" -rednoise; do
        gpuaccel-pulscan -device cpu -sigma 4 -csv $extra red_DM0.00.dat >table
        [ "$(wc -l <table)" -le 3 ] || { cat table; false; }
    done
}

@test "steep red noise gives no candidates, from series and spectra" {
    for seed in 6 20 52; do
        fakebin -q -seed $seed -tobs 268.435456 -tsamp 512 -nchans 4 -period 0 -rednoise 3 -redindex -2 -nbits 32 \
            -dat -o $seed
    done
    gpuaccel-pulscan -device cpu -fftout -csv -sigma 900 [0-9]*.dat
    for suffix in dat fft; do
        gpuaccel-pulscan -device cpu -rednoise -sigma 4 -csv [0-9]*.$suffix >table
        [ "$(wc -l <table)" -eq 1 ] || { cat table; false; }
    done
    gpuaccel-pulscan -device cpu -rednoise -endwidth 100 -sigma 4 -csv [0-9]*.dat >table
    [ "$(wc -l <table)" -gt 3 ]
}

@test "red noise that is left in is said once, and of spectra that have it only" {
    for seed in 6 20; do
        fakebin -q -seed $seed -tobs 268.435456 -tsamp 512 -nchans 4 -period 0 -rednoise 3 -redindex -2 -nbits 32 \
            -dat -o r$seed
    done
    make_series p 0.0051 40 accn=0
    gpuaccel-pulscan -q -device cpu -fftout -csv -sigma 900 r*.dat p.dat
    for suffix in dat fft; do
        run -0 --separate-stderr gpuaccel-pulscan -device cpu -csv r*.$suffix
        one_line "^gpuaccel-pulscan: r20_DM0.00.$suffix: red noise below .* Hz .*: -rednoise takes it out"
        run -0 --separate-stderr gpuaccel-pulscan -device cpu -csv p.$suffix
        [ -z "$stderr" ]
        run -0 --separate-stderr gpuaccel-pulscan -device cpu -rednoise -csv r*.$suffix
        [ -z "$stderr" ]
    done
    run -0 --separate-stderr gpuaccel-pulscan -q -device cpu -csv r6_DM0.00.fft
    [ -z "$stderr" ]
}

@test "-rednoise leaves a spectrum as it is that was de-reddened" {
    make_series p 0.0051 40 accn=3000
    gpuaccel-pulscan -device cpu -rednoise -fftout -csv p.dat >series
    for extra in "" "-endwidth 100" "-endwidth 3000"; do
        gpuaccel-pulscan -device cpu $extra -csv p_red.fft >alone
        gpuaccel-pulscan -device cpu $extra -rednoise -csv p_red.fft | cmp - alone
    done
}

@test "real red noise is said, and -rednoise takes it out of spectra as of series" {
    need_data gbt_lband/Lband_topo_DM0.00.fft
    run -0 --separate-stderr gpuaccel-pulscan -device cpu -zmax 0 -numharm 16 -csv "$PSRKIT_TEST_DATA/GBT_J1807-0847.fft"
    one_line 'GBT_J1807-0847.fft: red noise below'
    for suffix in dat fft; do
        run -0 --separate-stderr gpuaccel-pulscan -device cpu -rednoise -outdir . \
            "$PSRKIT_TEST_DATA/gbt_lband/Lband_topo_DM0.00.$suffix"
        [ -z "$stderr" ]
        listed Lband_topo_DM0.00_ACCEL_200 1 28.760 0.02
        listed Lband_topo_DM0.00_ACCEL_200 4 59.991 0.02
    done
}

@test "a spectrum that was de-reddened is known, and has the sigma of its series" {
    make_series p 0.0051 40 accn=3000
    gpuaccel-pulscan -device cpu -rednoise -endwidth 100 -fftout -csv p.dat | cut -d, -f2- >series
    gpuaccel-pulscan -device cpu -csv p_red.fft | cut -d, -f2- | cmp - series
    gpuaccel-pulscan -device cpu -rednoise -endwidth 100 -csv p.dat | cut -d, -f2- | cmp - series
    sigma=$(sed -n 2p series | cut -d, -f2)
    printf '\0' | dd of=p_red.fft bs=1 count=1 conv=notrunc status=none
    printf '\1' | dd of=p_red.fft bs=1 seek=1 count=1 conv=notrunc status=none
    higher=$(gpuaccel-pulscan -device cpu -csv p_red.fft | sed -n 2p | cut -d, -f3)
    awk -v a="$sigma" -v b="$higher" 'BEGIN { exit !(b > a * 1.03) }'
}

@test "-rednoise leaves drifting signals in" {
    make_series p 0.0051 30 accn=20000
    sigma=$(gpuaccel-pulscan -device cpu -rednoise -csv p.dat | sed -n 2p | cut -d, -f3)
    near "$sigma" 9 3
    gpuaccel-pulscan -device cpu -rednoise -endwidth 100 -sigma 5 -csv p.dat >short
    [ "$(wc -l <short)" -eq 1 ]
}

@test "Pulscan's own list" {
    make_series p 0.0051 50 accn=1000
    gpuaccel-pulscan -device cpu -fftout -sigma 30 p.dat
    run -0 gpuaccel-pulscan -device cpu -compat pulscan -zmax 64 -numharm 2 p.fft
    list=p_ZMAX_64_NUMHARM_2_TURBO_0.pulscand
    [ -s "$list" ]
    cp "$list" of_fft
    gpuaccel-pulscan -device cpu -compat pulscan -zmax 64 -numharm 2 p.dat
    cmp of_fft "$list"
    cmp <(head -n 1 "$list") <(head -n 1 "$golden/acc3_numharm4.pulscand")
    tail -n +2 "$list" | awk 'length($0) != 125 || NF != 10 { bad = 1 } END { exit bad || !NR }'
    tail -n +2 "$golden/acc3_numharm4.pulscand" | awk 'length($0) != 125 || NF != 10 { bad = 1 } END { exit bad || !NR }'
    sort -c -s -k1,1gr <(tail -n +2 "$list")
    gpuaccel-pulscan -device cpu -compat pulscan -zmax 64 -numharm 2 -sigma 900 p.fft
    [ "$(wc -l <"$list")" -eq 1 ]
    # Its turbo 2 is every other z, whatever -zstep says, and its turbo 1 with -zstep 2 is that.
    list=p_ZMAX_64_NUMHARM_1_TURBO_2.pulscand
    run -0 gpuaccel-pulscan -device cpu -compat pulscan -zmax 64 -turbo 1 p.fft
    mv "$list" turbo1
    run -0 gpuaccel-pulscan -device cpu -compat pulscan -zmax 64 -turbo 2 -zstep 1 p.fft
    cmp "$list" turbo1
    run -2 gpuaccel-pulscan -compat pulscan -zaplist x p.fft
}

@test "accelsearch's flags are taken, those that say nothing here too" {
    make_series p 0.0051 50 accn=0
    run -0 --separate-stderr gpuaccel-pulscan -device cpu -q -ncpus 2 -lobin 0 -numharm 8 -zmax 49 -wmax 20 \
        -sigma 3 -rlo 5 -rhi 30000 -flo 2 -fhi 800 -inmem -photon -median -locpow -baryv 0.0001 \
        -otheropt -noharmpolish -noharmremove p.dat
    [ -z "$stderr" ]
    [ -s p_ACCEL_50 ]
}

@test "a device that is not there is one line, whatever the number of files" {
    make_series a 0.0051 50 accn=0
    for i in b c; do cp a.dat $i.dat && cp a.inf $i.inf; done
    run -1 --separate-stderr gpuaccel-pulscan -device 999 a.dat b.dat c.dat
    one_line '^gpuaccel-pulscan: .*'
    run -1 --separate-stderr gpuaccel-pulscan -device abacus a.dat b.dat
    one_line abacus
    CUDA_VISIBLE_DEVICES= run -1 --separate-stderr gpuaccel-pulscan -device all a.dat b.dat
    one_line '^gpuaccel-pulscan: .*'
}

@test "-confirm lists what a matched search finds around the boxes" {
    make_series p 0.0051 40 accn=4000
    read -r _ _ _ _ _ _ _ _ r z _ < <(grep '^pulsar' truth.txt)
    gpuaccel-pulscan -device cpu -confirm -zmax 100 p.dat
    near "$(field p_ACCEL_100 8)" "$r" 0.3
    near "$(field p_ACCEL_100 10)" "$z" 2
    gpuaccel-pulscan -device cpu -confirm -zmax 100 -csv p.dat |
        awk -F, 'NR > 1 && ($6 != 2 * $8 || $3 < 2) { bad = 1 } END { exit bad || NR < 2 }'
    # Its rows are rows of the matched search, and each is near a box.
    gpuaccel-pulscan -device cpu -confirm -zmax 100 -noharmremove -csv -o confirmed p.dat
    gpuaccel-pulscan -device cpu -search matched -zmax 100 -noharmremove -maxcands 0 -csv -o all p.dat
    gpuaccel-pulscan -device cpu -zmax 100 -numharm 8 -noharmremove -maxcands 0 -csv -o boxes p.dat
    [ "$(wc -l <confirmed)" -gt 1 ]
    cut -d, -f 9 all >all_r
    cut -d, -f 9 confirmed | tail -n +2 | grep -vxFf all_r >strangers || true
    [ ! -s strangers ]
}

@test "-confirm searches jerks, and keeps its lists from others'" {
    make_series p 0.0051 60 accn=4000
    gpuaccel-pulscan -device cpu -confirm -zmax 100 -wmax 20 -numharm 2 p.dat
    head -n 1 p_ACCEL_100_JERK_20 | grep -q "FFT 'w'"
    gpuaccel-pulscan -device cpu -confirm -zmax 100 p.dat
    run -1 --separate-stderr gpuaccel-pulscan -device cpu -q -zmax 100 p.dat
    one_line "is a list of -search boxes -confirm"
    run -1 --separate-stderr gpuaccel-pulscan -device cpu -q -search matched -zmax 100 p.dat
    one_line "is a list of -search boxes -confirm"
    run -2 --separate-stderr gpuaccel-pulscan -confirm -numharm 3 p.dat
    run -2 --separate-stderr gpuaccel-pulscan -confirm -zmax 1300 p.dat
}

@test "-rblock knows the block only" {
    make_series p 0.0051 60 accn=0
    gpuaccel-pulscan -device cpu -rblock -chunkwidth 1000 -numharm 1 -zmax 4 -sigma 6 -csv p.dat >table
    awk -F, 'NR == 2 { d = $9 - 13158; good = d < 500 && d > -500 && $10 > 499 && $10 < 520 } END { exit !good }' table
}

@test "mistakes on the command line exit 2 with one line" {
    local args
    for args in "" "-numharm 5 x.dat" "-zmax -3 x.dat" "-sigma 0 x.dat" "-csv -json x.dat" \
        "-significance rough x.dat" "-o a x.dat y.dat" "-flo 5 -fhi 4 x.dat" "-lobin 3 x.fft" \
        "-compat other x.fft" "-nosuchflag"; do
        run -2 --separate-stderr gpuaccel-pulscan $args
        one_line '^gpuaccel-pulscan: '
    done
    run -1 --separate-stderr gpuaccel-pulscan -zaplist gone.birds x.dat
    one_line 'gone.birds'
}

@test "a .tim gives the list of the .dat, and a spectrum with an .inf of its own" {
    fakebin -q -seed 3 -nbits 8 -nchans 16 -tsamp 1000 -fch1 1500 -foff 1 -tobs 32.769 -period 50 -dm 20 -snrpeak 1 -o in.fil
    for format in dat tim; do
        gpudedisp -q -nobary -noclip -nopad -lodm 20 -numdms 1 -format $format -o $format in.fil
    done
    gpuaccel-pulscan -q -search matched -zmax 0 -fftout dat_DM20.00.dat tim_DM20.00.tim
    cmp dat_DM20.00_ACCEL_0.cand tim_DM20.00_ACCEL_0.cand
    cmp dat_DM20.00.fft tim_DM20.00.fft
    grep -q 'Number of bins in the time series      =  32768 ' tim_DM20.00.inf
    # A file that is cut within a sample is an error.
    { head -c "$(($(grep -obUa HEADER_END tim_DM20.00.tim | cut -d: -f1) + 10))" tim_DM20.00.tim; printf abc; } >cut.tim
    refuses 3 'cut.tim: 3 bytes of samples, must be a multiple of 4' gpuaccel-pulscan -q cut.tim
}
