#!/usr/bin/env bats
# psrinject: what was injected is searched, matched and counted; a run goes on where it ended.

load helper

setup() {
    cd "$BATS_TEST_TMPDIR"
}

@test "mistakes are one line each" {
    refuses 2 'no input' psrinject -o d
    refuses 2 '-o DIR is needed' psrinject "$g8"
    refuses 2 "must be the lower one first" psrinject -snr 9:6 -o d "$g8"
    refuses 2 "'x' is not a number" psrinject -dm 1:x -o d "$g8"
    refuses 2 'nothing is added' psrinject -pulsars 0 -bursts 0 -o d "$g8"
    refuses 2 'must have one for each of 1 inputs' psrinject -interference quiet,sparks -o d "$g8"
    refuses 2 "''" psrinject -interference quiet, -o d "$g8"
    refuses 1 'No such file' psrinject -o d none.fil
    [ ! -e d ]
}

@test "bright signals are found, faint ones are lost, and a run goes on where it ended" {
    fakebin -q -period 0 -nchans 32 -nbits 8 -tobs 12 -tsamp 1024 -fch1 1500 -foff 8 -seed 3 -o t.fil
    bright=(-q -pulsars 1 -bursts 5 -each 3 -dm 15:60 -period 0.1:0.2 -search "-budget fast -hidm 80 -ncands 3")
    psrinject "${bright[@]}" -snr 25:30 -jobs 2 -o d t.fil
    [ "$(grep -c '^pulsar' d/recall.tsv)" = 1 ]
    [ "$(grep -c '^burst' d/recall.tsv)" = 5 ]
    awk -F'\t' '!/^#/ && ($9 != "-" || $8 < 0.6 * $7 || $8 > 1.5 * $7) { exit 1 }' d/recall.tsv
    grep -q 'Found: 5 of 5' d/recall.html
    grep -q '<circle' d/recall.html
    [ "$(ls d | tr '\n' ' ')" = "000000.tsv 000001.tsv recall.html recall.tsv settings " ]
    cp d/recall.tsv was
    stat -c %Y.%i d/000000.tsv >first
    rm d/000001.tsv d/recall.tsv
    psrinject "${bright[@]}" -snr 25:30 -o d t.fil
    cmp d/recall.tsv was
    stat -c %Y.%i d/000000.tsv | cmp - first
    refuses 1 'has the results of other options' psrinject "${bright[@]}" -snr 25:31 -o d t.fil
    psrinject "${bright[@]}" -snr 1 -pulsars 0 -bursts 3 -o faint t.fil
    awk -F'\t' '!/^#/ && ($9 != "search" || $8 != 0) { exit 1 }' faint/recall.tsv
    grep -q 'Found: 0 of 3' faint/recall.html
}

@test "kinds of interference have curves, shares and a column of their own" {
    local i
    for i in 1 2; do
        fakebin -q -period 0 -nchans 32 -nbits 8 -tobs 12 -tsamp 1024 -fch1 1500 -foff 8 -seed $i -o $i.fil
    done
    few=(-q -pulsars 0 -bursts 8 -each 2 -dm 15:60 -snr 20:30 -search "-budget fast -hidm 80")
    psrinject "${few[@]}" -interference quiet,tones -o d 1.fil 2.fil
    [ "$(grep -v '^#' d/recall.tsv | cut -f 10 | sort | uniq -c | tr -s ' \n' ' ')" = " 4 quiet 4 tones " ]
    grep -qE "<td>quiet</td>(<td[^>]*>4</td>){2}<td[^>]*>1.000</td><td>0.800 to 1.000</td>" d/recall.html
    [ "$(grep -c '<figcaption>interference' d/recall.html)" = 1 ]
    refuses 1 'has the results of other options' psrinject "${few[@]}" -o d 1.fil 2.fil
    psrinject "${few[@]}" -o names 1.fil 2.fil
    [ "$(grep -v '^#' names/recall.tsv | cut -f 10 | sort -u | tr '\n' ' ')" = "1.fil 2.fil " ]
    psrinject "${few[@]}" -o one 1.fil
    [ "$(grep -c '<figcaption>interference' one/recall.html)" = 0 ]
    psrinject -q -join -o all d names one
    [ "$(grep -vc '^#' all/recall.tsv)" = 24 ]
    [ "$(ls all | tr '\n' ' ')" = "recall.html recall.tsv " ]
    for i in quiet tones 1.fil 2.fil; do grep -q "<td>$i</td>" all/recall.html; done
    for i in 1 2 3 4 5 6 7 8 9; do
        mkdir k$i
        sed "s/quiet/k$i/" d/recall.tsv >k$i/recall.tsv
    done
    psrinject -q -join -o many k?
    grep -qE "<td>others</td>(<td[^>]*>12</td>){2}" many/recall.html # k7, k8 and k9; of tones there is one kind
    refuses 1 'x/recall.tsv: No such file' psrinject -q -join -o all2 x
    refuses 2 '-join excludes -interference' psrinject -q -join -interference a -o all2 one
    # tables of runs before there was the column
    sed -i 's/\t-$//' one/00*.tsv
    rm one/recall.*
    psrinject "${few[@]}" -o one 1.fil
    [ "$(grep -v '^#' one/recall.tsv | cut -f 10 | sort -u)" = - ]
}

@test "a tool that fails is told, with where its messages are" {
    run -1 --separate-stderr psrinject -q -pulsars 0 -bursts 1 -search "-sideways" -o d "$g8"
    [[ $stderr == *'psrsearch failed with exit code 2'*'/log'* ]]
    grep -q sideways d/000000/log
    [ ! -e d/recall.tsv ]
}
