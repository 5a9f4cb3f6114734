#!/usr/bin/env bats
# accelsift: ACCEL_sift.py's list to the byte, its own whatever the order of lists, and what it refuses.

load helper

setup() {
    cd "$BATS_TEST_TMPDIR"
    tar xzf "$golden/sift/lists.tar.gz"
}

@test "-compat presto prints the list of ACCEL_sift.py to the byte" {
    accelsift -compat presto $(cat "$golden/sift/order.txt") >sifted
    cmp sifted "$golden/sift/sifted.txt"
    accelsift -compat presto -sigma_threshold 60 g_DM*_ACCEL_20 >none
    [ ! -s none ]
}

@test "the order of lists and the number of threads do not matter" {
    accelsift -rejects r1 -o c1.csv -o j1.json -o t1 g_DM*_ACCEL_20
    printf '%s\n' g_DM*_ACCEL_20 | tac >names
    accelsift -ncpus 1 -rejects r2 -o c2.csv -o j2.json -o t2 $(cat names)
    shuf --random-source=<(yes) names >shuffled
    accelsift -ncpus 3 -rejects r3 -o c3.csv -o j3.json -o t3 -list shuffled
    for n in 2 3; do
        cmp r1 r$n
        cmp c1.csv c$n.csv
        cmp j1.json j$n.json
        cmp t1 t$n
    done
    accelsift -csv g_DM*_ACCEL_20 | cmp - c1.csv
    accelsift -json -o j4 g_DM*_ACCEL_20
    cmp j1.json j4
    [ "$(grep -c '^g_DM' t1)" -eq 2 ]
    [ "$(wc -l <r1)" -eq 45 ]
    [ "$(wc -l <c1.csv)" -eq 3 ]
    [ "$(wc -l <j1.json)" -eq 2 ]
}

@test "rejected candidates have their reasons" {
    accelsift -v -short_period 0.03 -rejects r -o t g_DM*_ACCEL_20 2>said
    grep -q 'accelsift: 30 lists, 46 candidates: 1 good, 11 of short periods, 31 hits of others, 2 at few DMs, 1 harmonics' said
    [ "$(grep -c 'period below short_period$' r)" -eq 11 ]
    [ "$(grep -c 'hit of g_DM39.50_ACCEL_20:1$' r)" -eq 29 ]
    [ "$(grep -c 'hit of g_DM39.50_ACCEL_20:2$' r)" -eq 2 ]
    [ "$(grep -c 'at fewer DMs than min_num_DMs$' r)" -eq 2 ]
    # Power in its harmonics 2 and 4 only, which are 7 and 14 of the pulsar.
    [ "$(grep -c '^g_DM39.50_ACCEL_20:2 .*harmonic of g_DM39.50_ACCEL_20:1, 7/2 of its frequency$' r)" -eq 1 ]
}

@test "known birds and lists of birdies" {
    accelsift g_DM*_ACCEL_20 >all
    grep -q ' 113.74' all
    accelsift -known_birds_p 113.7,0.1 g_DM*_ACCEL_20 >p
    fails grep -q ' 113.74' p
    accelsift -known_birds_f 8.79,0.01 -known_birds_f 1,0.1 g_DM*_ACCEL_20 >f
    fails grep -q ' 113.74' f
    echo '8.79 0.02' >b.zaplist
    accelsift -birds b.zaplist g_DM*_ACCEL_20 >b
    cmp b f
    run -0 --separate-stderr accelsift -compat presto -known_birds_p 113.7,0.1 $(cat "$golden/sift/order.txt")
    one_line 'never uses its known birds: ignored'
    [ "$output" = "$(cat "$golden/sift/sifted.txt")" ]
}

@test "pulsars of a catalogue are named" {
    printf 'NAME,P0,DM\nJ0000+1137,0.11374,41\nJ1111+11,0.5,40\n' >cat.csv
    accelsift -catalogue cat.csv -csv -o c g_DM*_ACCEL_20
    [ "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "note") n = i } NR == 2 { print $n }' c)" = J0000+1137 ]
    accelsift -catalogue cat.csv g_DM*_ACCEL_20 >t
    grep -q '(30)  = J0000+1137$' t
    awk 'BEGIN { print "NAME,P0,DM"; for (i = 0; i < 3000; i++) printf "J%d,%.6f,40\n", i, 0.001 * 1.003 ^ i }' >many.csv
    accelsift -catalogue many.csv g_DM*_ACCEL_20 | grep -qE '[(]30[)]  = J[0-9]+[?]$'
    printf '#CATALOGUE 2\nPSRJ J0000+1137\nF0 17.5836\nDM 41\n@---\n' >cat.db
    accelsift -catalogue cat.db g_DM*_ACCEL_20 | grep -q '(30)  = 1/2 J0000+1137$'
    [ "$(accelsift -catalogue cat.db g_DM*_ACCEL_20 | sed 's/  = .*//')" = "$(accelsift g_DM*_ACCEL_20)" ]
}

@test "a bad list is named, and the others are sifted" {
    accelsift g_DM*_ACCEL_20 >all
    head -n 5 g_DM33.00_ACCEL_20 >g_DM60.00_ACCEL_20
    sed '4s/^1 /1x/' g_DM33.50_ACCEL_20 >g_DM61.00_ACCEL_20
    run -1 --separate-stderr accelsift -o some g_DM*_ACCEL_20 nowhere_DM1.00_ACCEL_0
    [ "$(printf '%s\n' "$stderr" | wc -l)" -eq 3 ]
    grep -q '^accelsift: g_DM60.00_ACCEL_20: line 5: candidate 1 has 0 of ' <<<"$stderr"
    grep -q "^accelsift: g_DM61.00_ACCEL_20: line 4: Cand = '1x' is no such number$" <<<"$stderr"
    grep -q '^accelsift: nowhere_DM1.00_ACCEL_0: No such file' <<<"$stderr"
    cmp some all
}

@test "names with line ends and backslashes come back from the list" {
    odd=$'a\nb\\n\r#_DM40.00_ACCEL_20'
    cp g_DM40.00_ACCEL_20 "$odd"
    accelsift -min_num_DMs 1 -o odd.sift -rejects odd.rejects "$odd"
    [ "$(wc -l <odd.sift)" -eq "$(accelsift -min_num_DMs 1 g_DM40.00_ACCEL_20 | wc -l)" ]
    [ "$(grep -c '^a\\nb\\\\n\\r#_DM40.00_ACCEL_20:[0-9]' odd.sift)" -ge 1 ]
    fakebin -q -period 100 -nchans 16 -nbits 8 -tsamp 1000 -tobs 20 -fch1 1500 -foff 10 -seed 1 -o in.fil
    gpufold -q -topo -noplot -nosearch -cands odd.sift -o f in.fil
    ls f_"$odd"_Cand_*.pfd || { ls -b f*; false; }
}

@test "a list that is named twice is counted once" {
    accelsift g_DM*_ACCEL_20 >once
    ln -s g_DM40.00_ACCEL_20 again_DM40.00_ACCEL_20
    run -0 --separate-stderr accelsift g_DM*_ACCEL_20 ./g_DM33.00_ACCEL_20 again_DM40.00_ACCEL_20
    diff once <(echo "$output")
    [ "$(grep -c 'named before, read once$' <<<"$stderr")" -eq 2 ]
}

@test "one candidate, and none" {
    accelsift -min_num_DMs 1 g_DM39.50_ACCEL_20 >one
    [ "$(grep -c '^g_DM' one)" -ge 1 ]
    accelsift -min_num_DMs 1 -sigma_threshold 20 -compat presto g_DM39.50_ACCEL_20 >one
    [ "$(grep -c '^g_DM' one)" -eq 1 ]
    accelsift -sigma_threshold 100 g_DM39.50_ACCEL_20 >none
    [ "$(wc -l <none)" -eq 1 ]
}

@test "mistakes are refused" {
    refuses 2 'no list given' accelsift
    refuses 2 "'sigproc' is not presto" accelsift -compat sigproc x
    refuses 2 'ACCEL_sift.py has no -birds' accelsift -compat presto -birds b x
    refuses 2 'ACCEL_sift.py has no -catalogue' accelsift -compat presto -catalogue b x
    refuses 2 '-known_birds_p 12: must be a value and its error' accelsift -known_birds_p 12 x
    refuses 2 "-known_birds_f 12,x: 'x' is not a number" accelsift -known_birds_f 12,x x
    refuses 2 'r_err' accelsift -r_err 0 x
    refuses 1 'b: No such file' accelsift -birds b g_DM39.50_ACCEL_20
    refuses 1 'b: No such file' accelsift -catalogue b g_DM39.50_ACCEL_20
    refuses 1 'g_DM39.50_ACCEL_20' accelsift -o g_DM39.50_ACCEL_20 g_DM39.50_ACCEL_20
    refuses 2 'one list has one format' accelsift -csv -json g_DM39.50_ACCEL_20
    refuses 1 'x' accelsift -o x -o x g_DM39.50_ACCEL_20
    refuses 1 'No space left' accelsift -o /dev/full g_DM39.50_ACCEL_20
    leaves_no 'x'
}

@test "gpufold folds the list" {
    printf 'NAME,P0,DM\nJ0000+1137,0.11374,41\n' >cat.csv
    accelsift -catalogue cat.csv -o cands g_DM*_ACCEL_20
    gpufold -q -topo -nosearch -noplot -n 16 -nsub 8 -npart 4 -cands cands -o f "$g8"
    [ "$(ls f_*.pfd | wc -l)" -eq 2 ]
    [ "$(cat f_*.bestprof | grep -c 'Best DM *= *\(39.500\|43.500\)$')" = 2 ]
}
