#!/usr/bin/env bats
# gpufold from the command line: folds equal prepfold's, lists of candidates, mistakes.

load helper

one="-q -topo -nosearch -noclip -noplot -n 16 -nsub 4 -npart 3"

setup() {
    cd "$BATS_TEST_TMPDIR"
    cp "$g8" g8.fil
}

# inputs: what tests/golden/fold/commands names.
inputs() {
    make_rfi
    cp "$golden"/fold/chan_rfifind.* "$golden"/fold/*.par .
    cp "$golden/noclip.dat" s.dat
    cp "$golden/noclip.dat" b.dat
    cp "$golden/inf/noclip-t_DM40.00.inf" s.inf
    sed 's/\(Barycentered? .*=  \)0/\11/' s.inf >b.inf
    cp "$golden/acc3_z200h8_ACCEL_200.cand" s_ACCEL_200.cand
}

@test "every header, bin and statistic is prepfold's" {
    inputs
    n=0
    while read -r name input options; do
        case $name in '#'* | psrfits | subbands) continue ;; esac
        gpufold -q -compat presto -nosearch -noplot $options -o "$name" "$input"
        "$builddir/tests/support/pfd_differ" "$golden/fold/$name.pfd" "$name"_*.pfd || { echo "$name: $options"; false; }
        n=$((n + 1))
    done <"$golden/fold/commands"
    [ "$n" -eq 17 ]
}

# redchi FILE: of a .bestprof.
redchi() { awk '/Reduced chi-sqr/ { print $NF }' "$1"; }

# snr TEMPLATE FILE: of the pulse of one .bestprof in the other, whose noise is that of its bins outside the pulse.
snr() {
    awk '/^#/ { next }
        FNR == NR { x[$1] = $2; sum += $2; n++; next }
        { y[$1] = $2; mean += $2 }
        END {
            for (b = 0; b < n; b++) { x[b] -= sum / n; most = x[b] > most ? x[b] : most }
            for (b = 0; b < n; b++) if (x[b] < most / 4) { off += y[b]; square += y[b] ^ 2; m++ }
            for (b = 0; b < n; b++) if (x[b] >= most / 4) { on += y[b]; k++ }
            print (on / k - off / m) * sqrt(k) / sqrt((square - off ^ 2 / m) / (m - 1)) }' "$1" "$2"
}

# same_numbers A B: two .bestprof files, by their numbers but for the last digits.
same_numbers() {
    awk -v limit=2e-6 '
        function far(a, b) { d = a - b; m = a < 0 ? -a : a; return (d < 0 ? -d : d) > limit * (m > 1e-9 ? m : 1e-9) }
        FNR == 1 { file++ }
        file == 1 { line[FNR] = $0; n = FNR; next }
        {
            if (split(line[FNR], a) != NF) bad++
            for (i = 1; i <= NF; i++)
                if (a[i] != $i && (a[i] !~ /^[-+0-9.e]+$/ || $i !~ /^[-+0-9.e]+$/ ||
                                   (a[i - 1] == "+/-" ? (a[i] - $i) ^ 2 > (0.01 * a[i]) ^ 2 : far(a[i], $i))))
                    { print FNR ": " a[i] " and " $i; bad++ }
        }
        END { exit bad > 0 || FNR < 30 || FNR < n }' "$1" "$2"
}

@test "the best DM, period, p-dot and p-dot-dot are prepfold's, with their numbers" {
    inputs
    n=0
    while read -r name input options; do
        case $name in '#'*) continue ;; esac
        gpufold -q -compat presto -noplot $options -o "$name" "$input"
        "$builddir/tests/support/pfd_differ" "$golden/fold/$name.pfd" "$name"_*.pfd || { echo "$name: $options"; false; }
        same_numbers "$golden/fold/$name.pfd.bestprof" "$name"_*.bestprof || { echo "$name: $options"; false; }
        n=$((n + 1))
    done <"$golden/fold/search_commands"
    [ "$n" -eq 16 ]
    sed 's/^\( *3 *\)[0-9]/\1x/' search_iso_*.bestprof >x
    fails same_numbers x search_iso_*.bestprof
    fails same_numbers search_dm_*.bestprof search_iso_*.bestprof
}

@test "without a position times are topocentric with one note; as prepfold towards 0, 0" {
    gpufold -q $one -p 0.02 -dm 47 -o topo g8.fil
    gpufold ${one/-q -topo} -p 0.02 -dm 47 -o plain g8.fil 2>says
    [ "$(wc -l <says)" = 1 ]
    grep -q '^gpufold: g8.fil: the header has no position: no barycentring, times are topocentric (-position RA,DEC gives one)$' says
    "$builddir/tests/support/pfd_differ" {topo,plain}_20.00ms_Cand.pfd
    gpufold ${one/-q -topo} -p 0.02 -dm 47 -compat presto -o presto g8.fil 2>says
    grep -q 'g8.fil: the header has no position: barycentred towards 0, 0, as prepfold does$' says
    fails "$builddir/tests/support/pfd_differ" {topo,presto}_20.00ms_Cand.pfd
    ln -s "$(command -v gpufold)" prepfold
    ./prepfold -q ${one/-topo} -p 0.02 -dm 47 -o name g8.fil
    "$builddir/tests/support/pfd_differ" {presto,name}_20.00ms_Cand.pfd
    gpufold -q ${one/-q -topo} -compat presto -position 0,0 -p 0.02 -dm 47 -o given g8.fil
    "$builddir/tests/support/pfd_differ" -profiles {presto,given}_20.00ms_Cand.pfd
    # The same period as gpudedisp's, whose series are topocentric, too.
    grep -q 'P_bary (ms) *=  N/A' plain_*.bestprof
    refuses 2 "-compat: 'x' is not presto" gpufold -p 0.02 -compat x g8.fil
    refuses 2 'is needed, not several' gpufold -p 0.02 -f 50 g8.fil
    refuses 2 '-accelcand needs -accelfile' gpufold -accelcand 1 g8.fil
}

@test "every sample of a short input is folded, and a part holds a turn" {
    numbers() { sed -n "s/^# $1 *= *//p" "$2"; }
    fakebin -q -seed 3 -period 0 -nbits 8 -nchans 64 -fch1 1464 -foff -2 -tsamp 512 -tobs 2.0972 -o a.fil \
        -add "pulsar period=0.21 dm=40 width=0.012 snr=20"
    gpufold -q -topo -noplot -n 32 -p 0.21 -dm 40 -o a a.fil
    [ "$(numbers 'Data Folded' a_*.bestprof)" = 4096 ]
    # Of 64 parts of 64 samples each 7 are joined, which hold a turn of 410.
    [ "$(od -An -td4 -j16 -N4 a_210.00ms_Cand.pfd | tr -d ' ')" = 10 ]
    awk '/Prob/ { gsub(/[^0-9.]/, "", $NF); exit !($(NF - 1) ~ /[0-9]/) }' a_*.bestprof
    # A length that no block divides, and a DM whose delays reach beyond the end.
    head -c -640 a.fil >b.fil
    for dm in 0 40 900; do
        gpufold -q -topo -noplot -nosearch -p 0.02 -dm $dm -o b$dm b.fil
        n=$(numbers 'Data Folded' b${dm}_*.bestprof)
        [ "$n" -ge 4083 ]
        [ "$n" -le 4086 ]
        fails grep -q nan b${dm}_*.bestprof
    done
    # From any sample on as a file that begins there, also where the delays reach beyond the end.
    leaves_cases
    for start in 2048 ${PSRKIT_LONG:+1024 3072}; do
        fbedit -q -start ${start}smp -o cut.fil a.fil
        for dm in 40 900; do
            gpufold -q -topo -noplot -nosearch -noclip -p 0.02 -dm $dm -start "$(awk "BEGIN { print $start / 4096 }")" -o s a.fil
            gpufold -q -topo -noplot -nosearch -noclip -p 0.02 -dm $dm -o c cut.fil
            "$builddir/tests/support/pfd_differ" -profiles s_20.00ms_Cand.pfd c_20.00ms_Cand.pfd
        done
    done
    refuses 3 'b.fil: 4086 samples to fold: prepfold would fold none of them' gpufold -q -topo -compat presto -p 0.02 -o c b.fil
    # prepfold leaves the end out, and gpufold says so.
    gpufold -topo -noplot -nosearch -compat presto -p 0.02 -dm 47 -o p g8.fil 2>says
    grep -q 'g8.fil: the last 3296 of 29696 samples are not folded (11.1 %), as in prepfold' says
    gpufold -topo -noplot -nosearch -p 0.02 -dm 47 -o w g8.fil 2>says
    [ ! -s says ]
    [ "$(numbers 'Data Folded' w_*.bestprof)" = 29696 ]
}

# number NAME: in the line of JSON on standard input.
number() { sed -n "s/.*\"$1\": \([^,}]*\).*/\1/p"; }

@test "the DM asked for is the DM folded at, where prepfold rounds to trials from 0 on" {
    local dm how presto
    for dm in 47.123 0.2; do
        fakebin -q -seed 3 -tobs 10 -tsamp 256 -nchans 64 -nbits 8 -fch1 1500 -foff -4 -o f$dm.fil \
            -add "pulsar period=0.0391 dm=$dm width=0.002 snr=60"
    done
    mv f47.123.fil f.fil
    for dm in 0 0.01 0.7 47.123 200; do
        for how in -nosearch -nodmsearch; do
            [ "$(gpufold -q -topo -noplot $how -npfact 1 -p 0.0391 -dm $dm -n 32 -json -o t f.fil | number dm)" = $dm ]
        done
        awk -v dm=$dm '/Best DM/ { exit !($NF - dm < 6e-4 && dm - $NF < 6e-4) }' t_39.10ms_Cand.pfd.bestprof
    done
    # Trials are 0.92 apart, and -refine goes below the first one, which is above 0.
    gpufold -q -topo -noplot -nosearch -refine -p 0.0391 -dm 0.7 -n 32 -json -o t f0.2.fil | number dm |
        awk '{ exit !($1 > 0 && $1 < 0.5) }'
    presto=$(gpufold -q -topo -noplot -nosearch -compat presto -p 0.0391 -dm 47.123 -n 32 -json -o p f.fil | number dm)
    [ "$presto" = 46.78139457 ]
}

@test "the search does not depend on the threads" {
    for n in 1 2 5; do
        gpufold -q -topo -p 0.02 -dm 40 -n 32 -nsub 16 -ncpus $n -o t$n g8.fil
    done
    cmp <(tail -c 60000 t1_*.pfd) <(tail -c 60000 t2_*.pfd)
    cmp t1_20.00ms_Cand.pfd.bestprof t2_20.00ms_Cand.pfd.bestprof
    cmp t1_20.00ms_Cand.pfd.bestprof t5_20.00ms_Cand.pfd.bestprof
}

@test "a line of JSON has the numbers" {
    gpufold -q -topo -p 0.02 -dm 40 -n 16 -nsub 4 -json -o t g8.fil >line
    [ "$(wc -l <line)" = 1 ]
    grep -q '^{"candidate": "20.00ms_Cand", "input": "g8.fil", "nbin": 16, "redchi": [0-9.]*, "sigma": [0-9.]*, "sigma_trials": [0-9.]*, ' line
    p=$(sed -n 's/.*"p_s_topo": \([0-9.e-]*\),.*/\1/p' line)
    awk -v p="$p" '/P_topo/ { d = p * 1000 - $5; exit !(p > 0 && d < 1e-9 && d > -1e-9) }' t_*.bestprof
    grep -q '"p_s_bary": null, .*"epoch_bary_mjd": null, "trials": 409825, "independent_trials": [0-9]*, "samples": 29696, "samples_folded": 29696, "marks": "-"[,}]' line
}

@test "-refine finds a slow pulsar's period and DM between the trials" {
    fakebin -q -seed 5 -tobs 60 -tsamp 2048 -nchans 32 -nbits 8 -fch1 1500 -foff 16 -o s.fil -period 0 \
        -add "pulsar period=2.713 dm=92 width=0.0814 snr=60"
    gpufold -q -topo -p 2.71 -dm 108 -fine -nodmsearch -json -noplot -o a s.fil >a.json
    gpufold -q -topo -p 2.71 -dm 108 -fine -nodmsearch -refine -json -noplot -o b s.fil >b.json
    value() { sed -n "s/.*\"$1\": \([-0-9.e]*\),.*/\1/p" "$2"; }
    awk -v p="$(value p_s_topo b.json)" 'BEGIN { exit !(p > 2.7124 && p < 2.7136) }'
    awk -v dm="$(value dm b.json)" 'BEGIN { exit !(dm > 87 && dm < 97) }'
    awk -v dm="$(value dm a.json)" 'BEGIN { exit !(dm > 100) }'
    [ "$(value pd_topo b.json)" = 0 ]
    awk -v a="$(value sigma a.json)" -v b="$(value sigma b.json)" 'BEGIN { exit !(b > a) }'
    # The files say the same.
    grep -q "^# Best DM  *=  *$(printf %.3f "$(value dm b.json)")" b_*.bestprof
    gpufold -q -topo -p 2.71 -dm 108 -fine -nodmsearch -refine -nopsearch -nopdsearch -noplot -json -o c s.fil >c.json
    [ "$(value p_s_topo c.json)" = 2.71 ]
}

@test "-refine keeps the DM in the range that was searched" {
    fakebin -q -seed 5 -tobs 30 -tsamp 2048 -nchans 32 -nbits 8 -fch1 1500 -foff 16 -o s.fil -period 0 \
        -add "pulsar period=1.713 dm=92 width=0.05 snr=60"
    dm() { gpufold -q -topo -p 1.713 -dm 80 -fine -nodmsearch -refine -json -noplot -o a "$@" s.fil | sed -n 's/.*"dm": \([0-9.]*\),.*/\1/p'; }
    awk -v dm="$(dm)" 'BEGIN { exit !(dm > 88 && dm < 96) }'
    [ "$(dm -dmrange 0,85)" = 85 ]
    [ "$(dm -dmrange 95,200)" = 95 ]
    refuses 2 '-dmrange 5: must be LO,HI' gpufold -p 1 -refine -dmrange 5 s.fil
    refuses 2 '-dmrange 5,5: must ascend' gpufold -p 1 -refine -dmrange 5,5 s.fil
    refuses 2 '-dmrange needs -refine' gpufold -p 1 -dmrange 5,6 s.fil
}

@test "-stay folds a pulsar beside a brighter one at its own period" {
    fakebin -q -seed 6 -tobs 88 -tsamp 2048 -nchans 16 -nbits 8 -fch1 1500 -foff -18 -o s.fil -period 0 \
        -add "pulsar period=0.95768 dm=90 width=0.05 snr=20" -add "pulsar period=1.221967 dm=70 width=0.02 snr=110"
    number() { sed -n 's/.*"'"$1"'": \([-0-9.e]*\|null\),.*/\1/p' a.json; }
    bins() { awk -v p="$(number p_s_topo)" 'BEGIN { d = 88 * (1 / p - 1 / 0.95768); print d < 0 ? -d : d }'; }
    fold() { gpufold -q -topo -p 0.9577 -dm 80 -fine -nodmsearch -refine -json -noplot -o a "$@" s.fil >a.json; }
    fold
    awk -v off="$(bins)" 'BEGIN { exit !(off > 0.5) }' # the other's 7/9
    [ "$(number moved_bins)" = null ]
    fold -stay 0.3
    awk -v off="$(bins)" 'BEGIN { exit !(off < 0.05) }'
    awk -v moved="$(number moved_bins)" 'BEGIN { exit !(moved > 0.5 && moved < 1) }'
    fold -stay 2
    awk -v off="$(bins)" 'BEGIN { exit !(off > 0.5) }'
    refuses 2 '-stay needs -refine' gpufold -p 1 -stay 0.3 s.fil
}

@test "-harmonics gives the shortest period whose turns do not differ" {
    common="-q -tobs 20 -tsamp 512 -nchans 32 -nbits 8 -fch1 1500 -foff 4 -period 0"
    fakebin $common -seed 5 -o s.fil -add "pulsar period=0.1 dm=40 width=0.004 snr=30"
    printf '%s\n' '# name DM p' 'a 40 0.0333333333' 'b 40 0.05' 'c 40 0.1' 'd 40 0.2' 'e 40 0.3' >list
    value() { sed -n "s/.*\"$1\": \([-0-9.e]*\),.*/\1/p"; }
    gpufold -topo -fine -nodmsearch -noplot -harmonics -json -cands list -o s s.fil >json 2>says
    [ "$(wc -l <json)" = 5 ]
    value p_s_topo <json | awk '{ print; bad += $1 < 0.0999 || $1 > 0.1001 } END { exit bad }'
    [ "$(value p_ratio <json | cut -c1-5 | xargs)" = "3 2 1 0.5 0.333" ]
    grep -q 'the shortest period whose turns do not differ is .* ms, 1/3 of ' says
    # Without it the period is that of the fold.
    gpufold -q -topo -fine -nodmsearch -noplot -json -cands list -o u s.fil | value p_ratio | grep -c '^1$' | grep -qx 5
    # Equal components half a turn apart are turns of half the period.
    fakebin $common -seed 6 -o e.fil -add "pulsar period=0.05 dm=40 width=0.004 snr=40"
    gpufold -q -topo -fine -nodmsearch -noplot -harmonics -json -p 0.1 -dm 40 -o e e.fil | value p_ratio | grep -qx 0.5
    refuses 2 '-harmonics needs a file, and excludes -par' gpufold -harmonics -par x.par s.fil
    refuses 2 '-harmonics needs a file' gpufold -harmonics -length 5 -p 0.1 -o x - <s.fil
}

@test "a pulsed tone in one channel is marked narrow, a pulsar is not" {
    fakebin -q -seed 6 -tobs 16 -tsamp 1024 -nchans 64 -nbits 8 -fch1 1500 -foff 4 -o x.fil -period 0 \
        -add "pulsar period=0.0391 dm=40 width=0.003 snr=20" -rfi "tone freq=1400 level=6 period=0.05 width=0.005"
    mkdir d
    gpufold -q -topo -p 0.0391 -dm 40 -noclip -json -noplot -o d/x x.fil >pulsar.json
    gpufold -q -topo -p 0.05 -dm 40 -noclip -fine -nodmsearch -refine -json -noplot -o d/x x.fil >tone.json
    grep -q '"marks": "-"[,}]' pulsar.json
    grep -q '"marks": "narrow"[,}]' tone.json
    psrreport -q d
    page=$(sed -n '/Likely interference/,$p' d/report.html)
    grep -q 'x_50.00ms_Cand.pfd' <<<"$page"
    grep -q '<td>narrow</td>' <<<"$page"
    fails grep -q 'x_39.10ms_Cand.pfd"' <<<"$page"
    grep -q ',narrow$' d/candidates.csv
}

@test "many candidates: files, and lines of JSON in their order, do not depend on threads and devices" {
    awk 'BEGIN { print "# name DM p"; for (i = 0; i < 7; i++) printf "c%d %d %.3f\n", i, 20 * i, 0.01 + i * i / 100 }' >list
    echo 'c7 0 0.00001' >>list
    leaves_cases
    while read -r n devices; do
        mkdir $n
        fails bash -c "cd $n && gpufold -q -topo -n 16 -nsub 16 -npart 10 -json -ncpus $n -device $devices -cands ../list -o t ../g8.fil >json 2>says"
        [ "$(sed 's/.*"candidate": "\(c[0-9]\)".*/\1/' $n/json | tr -d '\n')" = c0c1c2c3c4c5c6 ]
        for f in 1/*; do cmp "$f" $n/"${f#1/}"; done
    done <<<$'1 auto\n5 cpu\n3 cpu,cpu'${PSRKIT_LONG:+$'\n2 cpu\n4 cpu,cpu,cpu'}
    fails gpufold -q -topo -n 32 -nsub 16 -npart 20 -device cpu,tpu -cands list -o x g8.fil 2>why
    [ "$(grep -c tpu why)" -eq 1 ]
    leaves_no 'x_*'
}

@test "a picture of each fold, unless told otherwise" {
    gpufold -topo -p 0.02 -dm 40 -n 16 -nsub 4 -o t g8.fil 2>says
    if grep -q 'built without cairo' says; then
        [ ! -e t_20.00ms_Cand.pfd.png ]
        skip "built without cairo"
    fi
    # the signature, the header's length and type, 1200 x 860, and the end
    [ "$(od -An -tx1 -N24 t_20.00ms_Cand.pfd.png | tr -d ' \n')" = 89504e470d0a1a0a0000000d49484452000004b00000035c ]
    [ "$(tail -c 8 t_20.00ms_Cand.pfd.png | od -An -tx1)" = " 49 45 4e 44 ae 42 60 82" ]
    # series have no panels for frequency and DM; noise, and nothing at all, are drawn too
    cp "$golden/noclip.dat" s.dat
    cp "$golden/inf/noclip-t_DM40.00.inf" s.inf
    gpufold -q -p 0.0123 -n 1 -npart 5 -nosearch -o u s.dat
    [ -s u_12.30ms_Cand.pfd.png ]
    gpufold -q -topo -p 0.02 -dm 40 -n 16 -nsub 4 -ignorechan 0:31 -o v g8.fil
    [ -s v_20.00ms_Cand.pfd.png ]
    fails cmp -s t_20.00ms_Cand.pfd.png v_20.00ms_Cand.pfd.png
    gpufold -q -topo -p 0.02 -dm 40 -n 16 -nsub 4 -noplot -o w g8.fil
    [ -s w_20.00ms_Cand.pfd ]
    [ ! -e w_20.00ms_Cand.pfd.png ]
}

@test "of PSRFITS too" {
    need_data parkes_4bit.sf
    read -r name input options < <(grep '^psrfits' "$golden/fold/commands")
    gpufold -q -compat presto -nosearch -noplot $options -o "$name" "$PSRKIT_TEST_DATA/$input"
    "$builddir/tests/support/pfd_differ" "$golden/fold/$name.pfd" "$name"_*.pfd
}

@test "of sub-bands too" {
    gpudedisp -q -compat presto -sub -subdm 47 -nsub 8 -noclip -nobary -o s g8.fil
    read -r name input options < <(grep '^subbands' "$golden/fold/commands")
    gpufold -q -compat presto -nosearch -noplot $options -o "$name" $input
    "$builddir/tests/support/pfd_differ" "$golden/fold/$name.pfd" "$name"_*.pfd
    refuses 1 '-nsub 4: must be the 8 of the files' gpufold -q -topo -p 0.02 -nsub 4 -o t $input
    refuses 3 '-mask, -ignorechan, -zerodm and -clean auto are of channels, not of sub-bands' gpufold -q -topo -p 0.02 -zerodm -o t $input
    refuses 3 'is of the same set, which must be complete' gpufold -q -topo -p 0.02 -o t s_DM47.00.sub[0-3]
    leaves_no 't_*'
}

# whole_of FILE: without the name of its input.
whole_of() { tail -c +130 "$1"; }

@test "a pipe is folded as the file" {
    gpufold $one -p 0.02 -dm 47 -o a g8.fil
    cat g8.fil | gpufold $one -p 0.02 -dm 47 -length 7.602176 -o b -
    cmp <(whole_of a_20.00ms_Cand.pfd) <(whole_of b_20.00ms_Cand.pfd) || "$builddir/tests/support/pfd_differ" -profiles a_*.pfd b_*.pfd 1e-15
    mkfifo pipe
    cat g8.fil >pipe &
    gpufold $one -p 0.02 -dm 47 -length 5 -o c pipe
    wait || :
    gpufold $one -p 0.02 -dm 47 -length 5 -o d g8.fil
    "$builddir/tests/support/pfd_differ" -profiles c_*.pfd d_*.pfd 1e-15
    refuses 3 '-length is needed' bash -c "cat g8.fil | gpufold $one -p 0.02 -o t -"
    refuses 3 '-start needs a file' bash -c "cat g8.fil | gpufold $one -p 0.02 -length 5 -start 0.5 -o t -"
    refuses 2 'standard input needs -o' gpufold $one -p 0.02 -length 5 -
    refuses 2 '-resume needs a file' gpufold $one -p 0.02 -length 5 -resume -o t -
    refuses 3 'ended after' bash -c "cat g8.fil | gpufold $one -p 0.02 -length 9 -o t -"
    leaves_no 't_*'
}

@test "-length ends series and sub-bands too" {
    inputs
    gpufold -q -noplot -nosearch -p 0.0123 -n 16 -npart 5 -length 5 -o a s.dat
    head -c $((4 * 19531)) s.dat >short.dat
    cp s.inf short.inf
    gpufold -q -noplot -nosearch -p 0.0123 -n 16 -npart 5 -o b short.dat
    "$builddir/tests/support/pfd_differ" -profiles a_*.pfd b_*.pfd 1e-15
    gpufold -q -noplot -nosearch -p 0.0123 -n 16 -npart 5 -o c s.dat
    fails "$builddir/tests/support/pfd_differ" -profiles a_*.pfd c_*.pfd 1e-15
    refuses 1 '-length 1e-09 s: must be a sample or more' gpufold -q -p 0.0123 -length 1e-9 -o t s.dat
    gpudedisp -q -compat presto -sub -subdm 47 -nsub 8 -noclip -nobary -o s g8.fil
    gpufold -q -noplot -nosearch -topo -p 0.02 -dm 47 -n 16 -npart 3 -length 5 -o d s_DM47.00.sub[0-7]
    gpufold -q -noplot -nosearch -topo -p 0.02 -dm 47 -n 16 -npart 3 -o e s_DM47.00.sub[0-7]
    fails "$builddir/tests/support/pfd_differ" -profiles d_*.pfd e_*.pfd 1e-15
}

@test "-clean auto: a pulsar in interference, and what was removed, as gpudedisp writes it" {
    sky="-q -seed 5 -nbits 8 -nchans 64 -tsamp 512 -tobs 30 -fch1 1500 -foff 4 -period 442 -dm 60 -width 6 -snrpeak 0.3"
    fold="-q -topo -nosearch -noplot -n 64 -p 0.442 -dm 60"
    fakebin $sky -o calm.fil
    fakebin $sky -rfi "tone freq=1400 level=3 mod=1" -rfi "spark rate=1 level=1 width=60e-3" -o sky.fil
    gpufold $fold -clean auto -o a sky.fil
    gpufold $fold -o p sky.fil
    gpufold $fold -clean auto -o c calm.fil
    gpufold $fold -o n calm.fil
    leaves_no 'p_fold.clean.*'
    leaves_no 'n_fold.clean.*'
    awk -v a="$(snr n_*.bestprof a_*.bestprof)" -v p="$(snr n_*.bestprof p_*.bestprof)" -v c="$(snr n_*.bestprof c_*.bestprof)" \
        -v n="$(snr n_*.bestprof n_*.bestprof)" 'BEGIN { print a, p, c, n; exit !(n > 10 && c > 0.95 * n && a > 0.7 * n && p < 0.6 * n) }'
    # the record is that of a search; other candidates, threads, a pipe and several passes leave it and the folds as they are
    gpudedisp -q -clean auto -nobary -lodm 60 -numdms 1 -nowrite -singlepulse -o s sky.fil
    for x in json mask stats; do cmp a_fold.clean.$x s.clean.$x; done
    printf '%s\n' '# name DM p' 'a 60 0.442' 'b 700 0.7' 'c 2 0.3' 'd 300 0.5' 'e 20 0.6' 'f 30 0.8' >list
    gpufold ${fold/-p 0.442 -dm 60/} -mem 9M -ncpus 3 -clean auto -cands list -v -o t sky.fil 2>says
    grep -q '[23] passes' says
    cat sky.fil | gpufold $fold -clean auto -length 30 -o u -
    for x in t_a.pfd u_442.00ms_Cand.pfd; do
        "$builddir/tests/support/pfd_differ" -profiles a_442.00ms_Cand.pfd $x 1e-15
    done
    for x in json mask stats; do cmp a_fold.clean.$x t_fold.clean.$x; done
    refuses 2 "-clean: 'full' is neither auto nor none" gpufold $fold -clean full -o x sky.fil
    refuses 2 'not with -mask' gpufold $fold -clean auto -mask a_fold.clean.mask -o x sky.fil
    cp sky.fil x_fold.clean.mask
    refuses 1 'x_fold.clean.mask' gpufold $fold -clean auto -o x x_fold.clean.mask
    run -0 --separate-stderr gpufold ${fold#-q} -clean auto -resume -o a sky.fil
    [[ $stderr = *'1 of 1 candidates are complete'* ]]
    run -0 --separate-stderr gpufold ${fold#-q} -resume -o a sky.fil
    [[ $stderr != *complete* ]]
}

@test "-clean auto: pulsars whose pulses are longer than their sweep keep their folds and pulses" {
    sky="-q -seed 5 -nchans 64 -tsamp 320 -tobs 16 -fch1 1500 -foff 1.1 -period 250 -dm 30 -width 4"
    fold="-q -topo -nosearch -noplot -n 64 -p 0.25 -dm 30"
    pulses="-q -nobary -lodm 30 -numdms 1 -nowrite -singlepulse -threshold 5"
    for bits in 1 2 8; do
        fakebin $sky -nbits "$bits" -snrpeak 1.2 -o m.fil
        gpufold $fold -o "p$bits" m.fil
        gpufold $fold -clean auto -o "a$bits" m.fil
        awk -v a="$(snr p${bits}_*.bestprof a${bits}_*.bestprof)" -v p="$(snr p${bits}_*.bestprof p${bits}_*.bestprof)" \
            'BEGIN { print a, p; exit !(p > 10 && a > 0.95 * p) }'
        gpudedisp $pulses -o p m.fil
        gpudedisp $pulses -clean auto -o a m.fil
        awk '!/^#/ { n[FILENAME]++ } END { print n["p.cand"], n["a.cand"]
             exit !(n["p.cand"] > 20 && n["a.cand"] >= 0.95 * n["p.cand"]) }' p.cand a.cand
    done
}

@test "-resume skips what an identical run made, and nothing else" {
    printf '%s\n' '# name DM p' 'a 47 0.02' 'b 50 0.03' 'c 60 0.04' >list
    many="${one#-q } -cands list -o t"
    gpufold -q $many g8.fil
    cp t_a.pfd a; cp t_b.pfd b
    rm t_b.pfd
    touch -d '2020-01-01' stamp
    run -0 --separate-stderr gpufold $many -resume g8.fil
    [[ $stderr = *'2 of 3 candidates are complete'* ]]
    cmp t_b.pfd b
    run -0 --separate-stderr gpufold $many -resume g8.fil
    [[ $stderr = *'3 of 3 candidates are complete'* ]]
    # another option, a changed list, a younger input, a file cut short, a .bestprof that is gone
    run -0 --separate-stderr gpufold $many -zerodm -resume g8.fil
    [[ $stderr != *complete* ]]
    gpufold -q $many g8.fil
    sed -i 's/^b 50/b 51/' list
    run -0 --separate-stderr gpufold $many -resume g8.fil
    [[ $stderr = *'2 of 3'* ]]
    sleep 0.01
    touch g8.fil
    run -0 --separate-stderr gpufold $many -resume g8.fil
    [[ $stderr != *complete* ]]
    truncate -s -1 t_a.pfd
    rm t_c.pfd.bestprof
    run -0 --separate-stderr gpufold $many -resume g8.fil
    [[ $stderr = *'1 of 3'* ]]
    cmp t_a.pfd a
}

@test "the comparison sees what differs" {
    gpufold $one -p 0.02 -dm 47 -o a g8.fil
    gpufold $one -p 0.0200001 -dm 47 -o b g8.fil
    run -1 "$builddir/tests/support/pfd_differ" "a_20.00ms_Cand.pfd" "b_20.00ms_Cand.pfd"
    [[ $output = *fold:* ]]
    cp a_20.00ms_Cand.pfd c.pfd
    printf '\1\1\1\1' | dd of=c.pfd bs=1 seek=3000 conv=notrunc status=none
    run -1 "$builddir/tests/support/pfd_differ" a_20.00ms_Cand.pfd c.pfd
}

@test "candidates of a table are folded as if each were alone, in one pass or several" {
    many="-topo -nosearch -noclip -noplot -n 200 -nsub 16 -npart 12"
    bytes=$((12 * 16 * (200 + 7) * 8)) # of the profiles, and their 7 statistics
    printf '%s\n' '# name DM p pd' 'a 47 0.06 0' '' '# comment' 'b 120 0.0523 1e-6' 'c 0 0.6 0' >list
    gpufold -q $many -candfile list -o t g8.fil
    gpufold -q $many -p 0.0523 -pd 1e-6 -dm 120 -o u g8.fil
    cmp <(tail -c $bytes t_b.pfd) <(tail -c $bytes u_52.30ms_Cand.pfd)
    run -0 --separate-stderr gpufold $many -candfile list -mem 1800K -ncpus 1 -v -o v g8.fil
    [[ $stderr = *'pass 3 over the input: candidates 3 to 3 of 3 fit -mem'* ]]
    [[ $stderr = *'3 passes'* ]]
    gpufold -q $many -candfile list -ncpus 3 -o w g8.fil
    for x in a b c; do
        cmp <(tail -c $bytes t_$x.pfd) <(tail -c $bytes v_$x.pfd)
        cmp <(tail -c $bytes t_$x.pfd) <(tail -c $bytes w_$x.pfd)
    done
    refuses 1 'fold: 1 candidates take .*, the limit is 500 KiB' gpufold -q $many -candfile list -mem 500K -o x g8.fil
    leaves_no 'x_*'
}

@test "a wrong line is one line, and the others are folded" {
    printf '%s\n' '# name DM p' 'a 47 0.02' 'b x 0.02' 'c 1 0.0001' 'd 1 0.02 3' 'e 2 0.03' >list
    run -3 --separate-stderr gpufold $one -candfile list -o t g8.fil
    [ "$(wc -l <<<"$stderr")" -eq 3 ]
    grep -qx "gpufold: list: line 3: DM: 'x' is not a number" <<<"$stderr"
    grep -qx "gpufold: list: line 5: more columns than the header" <<<"$stderr"
    grep -q '^gpufold: c: period = 0.0001 s is 0.391 samples, must be 2 or more$' <<<"$stderr"
    [ "$(echo t_*.pfd)" = "t_a.pfd t_e.pfd" ]
    # -tolerant: what no option could fold is no failure, but a line that cannot be read is.
    run -3 --separate-stderr gpufold -tolerant $one -candfile list -o u g8.fil
    sed -i '/^[bd]/d' list
    run -0 --separate-stderr gpufold -tolerant $one -json -candfile list -o u g8.fil
    [ "$(wc -l <<<"$stderr")" -eq 1 ]
    [ "$(wc -l <<<"$output")" -eq 2 ]
    sed -i '/^[ae]/d' list
    run -3 --separate-stderr gpufold $one -candfile list -o v g8.fil
    run -0 --separate-stderr gpufold -tolerant ${one#-q } -json -candfile list -o v g8.fil
    [ -z "$output" ]
    grep -qx 'gpufold: g8.fil: no candidate can be folded' <<<"$stderr"
    refuses 2 '-tolerant needs a list' gpufold -tolerant $one -p 0.02 g8.fil
}

@test "equal names get numbers" {
    printf '# DM f\n1 50\n2 50\n' >twice
    run -0 --separate-stderr gpufold ${one#-q } -cands twice -o t g8.fil
    [[ $stderr = *'candidate 2: another is called 50.00Hz_Cand: this one is 50.00Hz_Cand_2'* ]]
    [ "$(echo t_*.pfd)" = "t_50.00Hz_Cand.pfd t_50.00Hz_Cand_2.pfd" ]
}

# bytes_of FILE: its profiles and statistics.
bytes_of() { tail -c $((3 * 4 * (16 + 7) * 8)) "$1"; }

@test "every format of lists is folded as prepfold's options are" {
    # Trials above DM 0 all: close to it a rounding is much of them.
    local near="$one -ndmfact 1"
    gpufold $near -f 50 -fd 0.01 -dm 47 -o a g8.fil
    # 29696 spectra of 256 us: the middle is at 3.801088 s
    f=$(awk 'BEGIN { printf "%.17g", 50 + 0.01 * 3.801088 }')
    acc=$(awk -v f="$f" 'BEGIN { printf "%.17g", -0.01 / f * 299792458 }')
    printf '#id dm acc F0 F1 S/N\n1 47 0 %s 0.01 9\n2 47 %s %s 0 9\n' "$f" "$acc" "$f" >pulsarx
    printf 'DM,f,fd,name\n47,50,0.01,csv\n' >csv
    epoch=$(awk 'BEGIN { printf "%.17g", 50000 + 3.801088 / 86400 }')
    printf '# name DM f fd epoch\nmid 47 %s 0.01 %s\n' "$f" "$epoch" >dated
    for list in pulsarx csv dated; do gpufold $near -cands $list -o b g8.fil; done
    cmp <(bytes_of a_50.00Hz_Cand.pfd) <(bytes_of b_csv.pfd)
    for x in b_Cand_1.pfd b_Cand_2.pfd b_mid.pfd; do
        # equal but for the rounding of dates and numbers: 1e-6 of the profiles
        "$builddir/tests/support/pfd_differ" -profiles a_50.00Hz_Cand.pfd $x 1e-9
    done
}

@test "a list of ACCEL_sift.py is folded as -accelcand, at the DM of the list" {
    inputs
    cp s.inf g_DM40.00.inf
    cp "$golden/acc3_z200h8_ACCEL_200.cand" g_DM40.00_ACCEL_200.cand
    sift='#      file:candnum     DM  SNR sigma numharm ipow cpow  P(ms)  r z numhits'
    printf '%s\ng_DM40.00_ACCEL_200:5 39.5 9 9 8 40 40 8.1 3 4 (2)\n  DM= 39.50 SNR=9 Sigma=9 ***\n' "$sift" >list
    gpufold $one -cands list -o t g8.fil
    gpufold $one -accelfile s_ACCEL_200.cand -accelcand 5 -dm 39.5 -o u g8.fil
    cmp <(bytes_of t_g_DM40.00_ACCEL_200_Cand_5.pfd) <(bytes_of u_ACCEL_Cand_5.pfd)
}

@test "an ephemeris with an orbit folds a binary as sharply as if it were alone" {
    pulsar="-q -tobs 400 -tsamp 1000 -nchans 4 -nbits 8 -dm 0 -period 50.1234 -snrpeak 2 -width 6 -seed 7 -dat"
    fakebin $pulsar -o alone
    fakebin $pulsar -binary -bper 0.1 -becc 0.3 -bomega 60 -bphase 0.3 -o orbit
    sed -i 's/\(Barycentered? .*=  \)0/\11/' ./*.inf
    # Kepler's third law gives x for 1.4 and 5 solar masses; pulsar time is observer time at the start, so that dates
    # of the file are earlier by the delay there.
    awk 'BEGIN {
        pi = atan2(0, -1); pb = 360; e = 0.3; w = pi / 3; n = 2 * pi / pb
        x = (4.925490947e-6 * 6.4 / (n * n)) ^ (1 / 3) * 5 / 6.4
        m = -0.3 * 2 * pi; for (E = m; i < 100; i++) E = m + e * sin(E)
        d = x * (sin(w) * (cos(E) - e) + cos(w) * sqrt(1 - e * e) * sin(E))
        printf "PSRJ J0000+0000\nP0 0.0501234\nPEPOCH 50000\nBINARY BT\nPB %.17g\nA1 %.17g\nT0 %.17g\nECC 0.3\nOM 60\n", \
            pb / 86400, x, 50000 + (0.3 * pb - d) / 86400
    }' >orbit.par
    gpufold -q -nosearch -noplot -n 50 -p 0.0501234 -o t alone_DM0.00.dat
    gpufold -q -nosearch -noplot -n 50 -par orbit.par -o t orbit_DM0.00.dat
    gpufold -q -nosearch -noplot -n 50 -p 0.0501234 -o u orbit_DM0.00.dat
    [ -f t_PSR_0000+0000.pfd.png ] || [ -f t_PSR_0000+0000.pfd ]
    awk -v alone="$(redchi t_50.12ms_Cand.pfd.bestprof)" -v orbit="$(redchi t_PSR_0000+0000.pfd.bestprof)" \
        -v smeared="$(redchi u_50.12ms_Cand.pfd.bestprof)" 'BEGIN {
            print alone, orbit, smeared; exit !(alone > 300 && (orbit / alone - 1) ^ 2 < 0.03 ^ 2 && smeared < 0.2 * alone)
        }'
}

@test "what an ephemeris does not cover is one line, and it needs the barycentre" {
    printf 'F0 10\nBINARY DDGR\nPB 1\nA1 1\nT0 1\n' >ddk.par
    refuses 3 'ddk.par: line 2: BINARY: DDGR is not covered' gpufold -q -par ddk.par -o t g8.fil
    printf 'PSR X\nF0 10\nGLEP_1 50000.00005\nGLF0_1 1e-6\n' >glitch.par
    run -1 --separate-stderr gpufold -q -par glitch.par -o t g8.fil
    [[ $stderr = *'PSR_X: glitch at MJD 50000.00005: in the observation: not covered'* ]]
    printf 'PSR X\nF0 4000\n' >fast.par
    run -1 --separate-stderr gpufold -q -par fast.par -o t g8.fil
    [[ $stderr = *'PSR_X: period = 0.00025'*'samples, must be 2 or more'* ]]
    refuses 2 '-par excludes -topo' gpufold -q -par ddk.par -topo g8.fil
    refuses 2 'one of -p' gpufold -q -par ddk.par -p 1 g8.fil
    leaves_no 't_*'
}

@test "an ephemeris is extrapolated beyond its dates with a line, and a frequency that it does not reach is refused" {
    printf 'PSR X\nF0 50\nF1 -1e-15\nPEPOCH 40000\nSTART 39000\nFINISH 49990.5 1\n' >old.par
    run -0 --separate-stderr gpufold -nosearch -noplot -n 16 -nsub 4 -npart 3 -par old.par -o t g8.fil
    [[ $stderr = *'g8.fil: begins 9.5 days after FINISH of the ephemeris (MJD 49990.5): extrapolated'* ]]
    [ -e t_PSR_X.pfd ]
    sed 's/^START.*/START 50010/; s/^FINISH.*/FINISH 50020/' old.par >new.par
    run -0 --separate-stderr gpufold -nosearch -noplot -n 16 -nsub 4 -npart 3 -par new.par -o u g8.fil
    [[ $stderr = *'g8.fil: ends 10.0 days before START of the ephemeris (MJD 50010.0): extrapolated'* ]]
    sed 's/^START.*/START 49000/; s/^FINISH.*/FINISH 50000.5/' old.par >now.par
    run -0 --separate-stderr gpufold -nosearch -noplot -n 16 -nsub 4 -npart 3 -par now.par -o u g8.fil
    [[ $stderr != *extrapolated* ]]
    printf 'PSR X\nF0 50\nF1 -1e-7\nPEPOCH 40000\n' >stopped.par
    run -1 --separate-stderr gpufold -q -par stopped.par -o v g8.fil
    [[ $stderr = *'PSR_X: F0 = -36.4 Hz at MJD 50000.0'*': must be above 0'* ]]
    leaves_no 'v_*'
}

@test "an epoch outside the input is one line, and the others are folded" {
    printf '%s\n' '# name DM p epoch' 'a 47 0.02 50000' 'early 47 0.02 49999.9' 'late 47 0.02 50001' 'none 47 0.02 0' 'b 47 0.03 50000.00005' >list
    run -1 --separate-stderr gpufold $one -cands list -o t g8.fil
    [ "$(wc -l <<<"$stderr")" -eq 3 ]
    grep -q '^gpufold: early: epoch = MJD 49999.9.*: must be in the input, MJD 50000.0*' <<<"$stderr"
    grep -q '^gpufold: late: epoch = MJD 50001.*: must be in the input' <<<"$stderr"
    [ "$(echo t_*.pfd)" = "t_a.pfd t_b.pfd" ]
}

@test "an ephemeris gives position, DM and name" {
    printf 'PSR B1234+56\nRAJ 12:34:00\nDECJ 56:00:00\nF0 50\nPEPOCH 50000\nDM 47\n' >a.par
    gpufold -q -nosearch -noclip -noplot -n 16 -nsub 4 -npart 3 -par a.par -o t g8.fil
    gpufold -q -nosearch -noclip -noplot -n 16 -nsub 4 -npart 3 -f 50 -dm 47 -position 12:34:00,56:00:00 -o u g8.fil
    "$builddir/tests/support/pfd_differ" -profiles t_PSR_1234+56.pfd u_50.00Hz_Cand.pfd 1e-9
    head -c 400 t_PSR_1234+56.pfd | grep -aq '12:34:00.0000'
    head -c 400 u_50.00Hz_Cand.pfd | grep -aq '56:00:00.0000'
    gpufold -q -nosearch -noclip -noplot -n 16 -nsub 4 -npart 3 -par a.par -dm 3 -o v g8.fil
    dm_of() { awk '/Best DM/ { print $NF }' "$1"; }
    awk -v a="$(dm_of t_PSR_1234+56.pfd.bestprof)" -v b="$(dm_of v_PSR_1234+56.pfd.bestprof)" \
        'BEGIN { print a, b; exit !(a > 37 && a < 57 && b < 13) }'
}

@test "candidates of an acceleration search by number, range, or all" {
    inputs
    run -3 --separate-stderr gpufold -q -nosearch -noplot -accelfile s_ACCEL_200.cand -o t s.dat
    [ "$(ls t_*.pfd | wc -l)" -eq 4 ]
    gpufold -q -nosearch -noplot -accelfile s_ACCEL_200.cand -accelcand 5,8-9 -o u s.dat
    [ "$(echo u_*.pfd)" = "u_ACCEL_Cand_5.pfd u_ACCEL_Cand_8.pfd u_ACCEL_Cand_9.pfd" ]
    cmp <(tail -c +200 t_ACCEL_Cand_8.pfd) <(tail -c +200 u_ACCEL_Cand_8.pfd)
    refuses 1 'has no candidate 99' gpufold -q -nosearch -noplot -accelfile s_ACCEL_200.cand -accelcand 99 -o v s.dat
    for bad in 0 x 3- 5-2 1,,2; do
        refuses 1 "-accelcand $bad: must be all, or numbers" \
            gpufold -q -nosearch -noplot -accelfile s_ACCEL_200.cand -accelcand "$bad" -o v s.dat
    done
    cp s_ACCEL_200.cand x.cand
    refuses 1 'its name has no _ACCEL' gpufold -q -nosearch -noplot -accelfile x.cand -o v s.dat
    leaves_no 'v*'
}

@test "mistakes are usage errors" {
    refuses 2 'no input given' gpufold -nosearch -p 0.02
    refuses 2 'one of -p, -f, -accelfile, -cands and -par' gpufold -nosearch g8.fil
    refuses 2 "unknown option '-plot': is it -noplot?" gpufold -plot x.png -p 1 g8.fil
    refuses 2 'one of -p, -f, -accelfile, -cands and -par' gpufold -nosearch -p 1 -f 1 g8.fil
    refuses 2 '-accelcand needs -accelfile' gpufold -nosearch -p 1 -accelcand 1 g8.fil
    refuses 2 '-pfact and -ffact exclude each other' gpufold -nosearch -p 1 -pfact 2 -ffact 2 g8.fil
    refuses 2 '-bin needs -pb, -x and -To' gpufold -nosearch -p 1 -bin g8.fil
    refuses 2 'need -bin' gpufold -nosearch -p 1 -pb 3 g8.fil
    refuses 2 'belong to -p or -f' gpufold -nosearch -candfile l -pd 1e-5 g8.fil
    refuses 2 '-start 0.5 must be below -end 0.5' gpufold -nosearch -p 1 -start 0.5 -end 0.5 g8.fil
    refuses 2 'exclude each other' gpufold -nosearch -p 1 -filterbank -psrfits g8.fil
}

@test "input that cannot be folded is one line, and leaves no file" {
    refuses 1 '-nsub 5: must divide its 32 channels' gpufold -q -topo -nosearch -p 0.02 -nsub 5 -o t g8.fil
    refuses 1 'No such file' gpufold -q -nosearch -p 0.02 -o t none.fil
    refuses 1 'no.inf: No such file' gpufold -q -nosearch -p 0.02 -o t no.dat
    head -c 40000 g8.fil >short.fil
    refuses 3 'short.fil: [0-9]* samples to fold, fewer than a block of 2400' \
        gpufold -q -topo -compat presto -nosearch -p 0.02 -o t short.fil
    run -1 --separate-stderr gpufold -q -topo -nosearch -p 1e-4 -o t g8.fil
    [[ $stderr = *'must be 2 or more'*'g8.fil: no candidate can be folded' ]]
    : >empty
    refuses 3 'empty: no candidate' gpufold $one -cands empty -o t g8.fil
    echo '# DM f pd' >bad
    refuses 3 'bad: line 1: columns must be DM and' gpufold $one -cands bad -o t g8.fil
    printf '# DM f epoch\n1 50 60000\n' >late
    run -1 --separate-stderr gpufold $one -cands late -o t g8.fil
    [[ $stderr = *'50.00Hz_Cand: epoch = MJD 60000.000000000: must be in the input, MJD 50000.'*'g8.fil: no candidate can be folded' ]]
    leaves_no 't_*'
}

@test "a folder that is missing or read-only is told before the input is read" {
    refuses 1 'none/t_20.00ms_Cand.pfd' gpufold $one -p 0.02 -o none/t none.fil
    mkdir ro
    chmod 555 ro
    plain=
    [ "$(id -u)" -ne 0 ] || plain="setpriv --reuid=65534 --regid=65534 --clear-groups"
    $plain bash -c "exec gpufold --version" >/dev/null 2>&1 || skip "another user cannot run it"
    refuses 1 'ro/t_20.00ms_Cand.pfd.*Permission denied' $plain gpufold $one -p 0.02 -o ro/t none.fil
}

@test "no output takes the place of an input" {
    for suffix in pfd pfd.bestprof pfd.png; do
        printf '# name DM p\nx 1 0.02\n' >t_x.$suffix
        refuses 1 "t_x.$suffix" gpufold $one -cands t_x.$suffix -o t g8.fil
        [ "$(wc -l <t_x.$suffix)" = 2 ]
        printf 'F0 50\nPSR x\n' >t_PSR_x.$suffix
        refuses 1 "t_PSR_x.$suffix" gpufold -q -par t_PSR_x.$suffix -o t g8.fil
    done
    cp g8.fil t_20.00ms_Cand.pfd
    refuses 1 't_20.00ms_Cand.pfd' gpufold $one -filterbank -p 0.02 -o t t_20.00ms_Cand.pfd
    cmp g8.fil t_20.00ms_Cand.pfd
}

@test "prepfold's default shapes and names" {
    gpufold -q -topo -nosearch -compat presto -f 100 g8.fil
    [ -f g8_100.00Hz_Cand.pfd ]
    # 32 sub-bands, 12 parts of one block, 39 bins of 10 ms at 256 us, and 32 channels
    read -r _ _ _ nsub npart nbin nchan < <(od -An -td4 -w28 -N28 g8_100.00Hz_Cand.pfd)
    [ "$nsub $npart $nbin $nchan" = "32 12 39 32" ]
    # where prepfold has no choice, the most sub-bands that divide the channels
    fakebin -q -nchans 48 -nbits 8 -tsamp 256 -tobs 8 -fch1 1500 -foff 4 -seed 2 -o c48.fil
    gpufold -q -topo -nosearch -f 100 c48.fil
    [ "$(od -An -td4 -j12 -N4 c48_100.00Hz_Cand.pfd | tr -d ' ')" -eq 24 ]
    # and where these would be too few to show a DM, the next number that divides
    fakebin -q -nchans 61 -nbits 8 -tsamp 256 -tobs 8 -fch1 1500 -foff 4 -seed 2 -period 0 -add "pulsar period=0.1 dm=90 width=0.004 snr=30" -o c61.fil
    gpufold -q -topo -noplot -json -nosearch -dm 90 -p 0.1 c61.fil >c61.json
    [ "$(od -An -td4 -j12 -N4 c61_100.00ms_Cand.pfd | tr -d ' ')" -eq 61 ]
    grep -q '"alpha": 0\.' c61.json
    fakebin -q -nchans 74 -nbits 8 -tsamp 256 -tobs 8 -fch1 1500 -foff 4 -seed 2 -o c74.fil
    gpufold -q -topo -nosearch -f 100 c74.fil
    [ "$(od -An -td4 -j12 -N4 c74_100.00Hz_Cand.pfd | tr -d ' ')" -eq 37 ]
    gpufold -q -topo -nosearch -p 0.1 -start 0.5 -end 1 g8.fil
    [ -f g8_0.50-1.00_100.00ms_Cand.pfd ]
}

@test "a device that is not there is told in one line" {
    fails gpufold -q -topo -n 20 -nsub 16 -npart 8 -p 0.02 -dm 47 -device tpu -o x g8.fil 2>why
    [ "$(cat why)" = "gpufold: fold search: no backend 'tpu' in this build" ]
    gpufold -q -topo -n 20 -nsub 16 -npart 8 -p 0.02 -dm 47 -device cpu -o x g8.fil
    gpufold -q -topo -n 20 -nsub 16 -npart 8 -p 0.02 -dm 47 -o y g8.fil
    "$builddir/tests/support/pfd_differ" x_20.00ms_Cand.pfd y_20.00ms_Cand.pfd
}

@test "a picture that cannot be drawn is left out, and the fold is there" {
    gpufold --help >/dev/null
    gpufold -q $one -p 0.02 -dm 47 -o a g8.fil
    [ -e a_20.00ms_Cand.pfd.png ] || skip "built without cairo"
    mkdir b_20.00ms_Cand.pfd.png
    run -0 --separate-stderr gpufold ${one#-q } -p 0.02 -dm 47 -json -o b g8.fil
    one_line '^gpufold: b_20.00ms_Cand.pfd.png: cannot '
    [ "$(wc -l <<<"$output")" -eq 1 ]
    "$builddir/tests/support/pfd_differ" a_20.00ms_Cand.pfd b_20.00ms_Cand.pfd
    [ -s b_20.00ms_Cand.pfd.bestprof ]
    # A link is left as it is.
    ln -s g8.fil c_20.00ms_Cand.pfd.png
    refuses 1 'would be written over g8.fil' gpufold ${one#-q } -p 0.02 -dm 47 -json -o c g8.fil
    ln -sf nowhere c_20.00ms_Cand.pfd.png
    run -0 --separate-stderr gpufold ${one#-q } -p 0.02 -dm 47 -json -o c g8.fil
    one_line '^gpufold: c_20.00ms_Cand.pfd.png: is a link'
    [ "$(readlink c_20.00ms_Cand.pfd.png)" = nowhere ]
    "$builddir/tests/support/pfd_differ" a_20.00ms_Cand.pfd c_20.00ms_Cand.pfd
}

@test "a .tim folds as the .dat does" {
    fakebin -q -seed 3 -nbits 8 -nchans 16 -tsamp 1000 -fch1 1500 -foff 1 -tobs 20 -period 50 -dm 20 -snrpeak 1 -o in.fil
    for format in dat tim; do
        gpudedisp -q -nobary -noclip -nopad -lodm 20 -numdms 1 -format $format -o $format in.fil
        gpufold -q -noplot -nosearch -p 0.05 -start 0.2 -o $format $format"_DM20.00.$format"
    done
    diff <(grep -v 'Input file' dat_*.bestprof) <(grep -v 'Input file' tim_*.bestprof)
}

@test "a period out of its range is a fault of the list that has it" {
    printf '#id dm acc F0 F1 S/N\n1 47 0 50 0 9\n2 47 0 0.00111111111 0 9\n' >two.txt
    run -3 --separate-stderr gpufold -q -topo -n 20 -nsub 16 -npart 8 -noplot -cands two.txt -o l g8.fil
    one_line '^gpufold: .*: period = 900.*s, must be at most the '
    [ "$(ls l_*.pfd | wc -l)" -eq 1 ]
    printf '#id dm acc F0 F1 S/N\n2 47 0 0.00111111111 0 9\n' >none.txt
    run -3 --separate-stderr gpufold -q -topo -n 20 -nsub 16 -npart 8 -noplot -cands none.txt -o n g8.fil
    grep -q '^gpufold: g8.fil: no candidate can be folded$' <<<"$stderr"
    run -1 --separate-stderr gpufold -q -topo -n 20 -nsub 16 -npart 8 -noplot -p 900 -dm 47 -o n g8.fil
}

@test "periods are in seconds, positive, and no longer than what is folded" {
    run -1 --separate-stderr gpufold -q -topo -noplot -p 30 -dm 47 -o a g8.fil
    grep -qE 'period = 30 s, must be at most the [0-9.]+ s that are folded \(-p is in seconds' <<<"$stderr"
    leaves_no 'a_*'
    # A few turns: the trials of prepfold would reach frequencies of 0 and below.
    for p in 1.2 2 3.1 4.5; do
        gpufold -q -topo -noplot -p $p -dm 47 -n 64 -nsub 8 -npart 8 -json -o b g8.fil >line
        awk -v p=$p -F'P_topo \\(ms\\) *= *' 'NF > 1 { split($2, a, " "); n++; exit !(a[1] >= 400 * p && a[1] <= 2000.001 * p) }' b_*.bestprof
        rm b_*
    done
    # One that fits a few times only is said to be in seconds.
    run --separate-stderr gpufold -topo -nosearch -noplot -p 2 -o few g8.fil
    [ "$status" -eq 0 ]
    [[ "$stderr" = *"the period is 2 seconds: "*" turns in "* ]] || { echo "$stderr"; false; }
    run --separate-stderr gpufold -topo -nosearch -noplot -p 0.01 -o many g8.fil
    [[ "$stderr" != *"seconds: "* ]] || { echo "$stderr"; false; }
}

@test "a run that is stopped says what is complete and how to go on" {
    fakebin -q -seed 3 -tobs 16 -tsamp 256 -nchans 16 -nbits 8 -period 2 -dm 10 -o s.fil
    touch -d '1 hour ago' s.fil
    for ((i = 10; i < 40; i++)); do echo "c$i 10 0.$i"; done | cat <(echo '# name DM p') - >list
    fold="gpufold -device cpu -ncpus 1 -topo -noplot -n 32 -cands list -o s s.fil"
    for more in '' '-json -resume'; do
        $fold $more >lines 2>said 3>&- &
        first=$!
        for _ in $(seq 2400); do
            [ "$(ls s_*.pfd 2>/dev/null | wc -l)" -lt 1 ] || break
            sleep 0.05
        done
        { kill -TERM $first; } 2>/dev/null || true
        wait $first || true
        how='with -resume goes on'
        [ -z "$more" ] || how='goes on'
        grep -qE "^gpufold: stopped: [1-9][0-9]* of 30 folds are complete: the same command $how" said || { cat said; false; }
        rm s_*
    done
}

@test "a search of any size ends soon after a signal, and bins are bounded by memory" {
    fakebin -q -seed 3 -tobs 16 -tsamp 256 -nchans 16 -nbits 8 -period 2 -dm 10 -o s.fil
    for bins in "-n 4000" "-n 64 -searchpdd -npfact 10"; do
        gpufold -q -device cpu -topo -p 2 -dm 10 -nsub 8 $bins -mem 16G -o s s.fil 3>&- &
        first=$!
        sleep 1
        at_ms=$(($(date +%s%N) / 1000000))
        { kill -TERM $first; } 2>/dev/null || true
        code=0
        wait $first || code=$?
        # 1 s, and more for a machine that is busy
        [ "$(($(date +%s%N) / 1000000 - at_ms))" -lt "${PSRKIT_STOP_MS:-4000}" ]
        [ "$code" -eq 143 ] || [ "$code" -eq 0 ]
        leaves_no '*.part*'
    done
    run -1 --separate-stderr gpufold -q -topo -p 2 -dm 10 -n 100000 -mem 4G -o s s.fil
    [[ $stderr == *'100000 bins make 400001 trials '*' allow at most 5792 bins'* ]]
}
