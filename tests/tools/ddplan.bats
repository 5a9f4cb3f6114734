#!/usr/bin/env bats
# ddplan beside DDplan.py, whose text for six searches is in golden/ddplan, and what it adds.

load helper

setup() {
    golden=$srcdir/tests/golden/ddplan
    cd "$BATS_TEST_TMPDIR"
}

# refused PART-OF-MESSAGE OPTION...: exit 2, nothing on standard output, one line that says it.
refused() {
    local part=$1
    shift
    run -2 --separate-stderr ddplan "$@"
    [ -z "$output" ]
    [ "$(wc -l <<<"$stderr")" -eq 1 ]
    [[ $stderr == "ddplan: "*"$part"* ]] || { echo "$*: $stderr"; return 1; }
}

# fake NAME: a program that appends its command line to calls.
fake() {
    mkdir -p bin
    printf '#!/bin/sh\necho "%s $*" >>calls\n%s\n' "$1" "${2-}" >"bin/$1"
    chmod +x "bin/$1"
}

@test "the text is DDplan.py's, byte for byte" {
    cp "$golden/psr60.fil" .
    for text in "$golden"/*.txt; do
        read -r -a words < <(head -n 1 "$text" | sed 's/.*-o x.eps//')
        { head -n 1 "$text"; ddplan "${words[@]}" 2>/dev/null; echo "[exit $?]"; } | cmp - "$text"
    done
}

@test "long names are DDplan.py's, and --cohdm works" {
    ddplan -l 1 -d 99 -f 600 -b 40 -n 96 -k 960 -c 30 -t 1e-4 -s 32 -p 2 -r 0.3 >short
    ddplan --loDM 1 --hiDM=99 --fctr 600 --bw 40 --numchan 96 --blocklen 960 --cohdm 30 \
        --dt 1e-4 --subbands 32 --procs 2 --res 0.3 >long
    cmp short long
    ddplan -l 1 -d 99 -f 600 -b 40 -n 96 -k 960 --cDM 30 -t 1e-4 -s 32 -p 2 -r 0.3 | cmp - short
}

@test "a prime block length plans without downsampling" {
    run -0 ddplan -k 1021
    [[ $output == *"    0.000   1000.000    0.10       1   10000  "* ]]
}

@test "flags take precedence over the file" {
    run -0 ddplan -d 100 -t 1e-3 -n 64 "$golden/psr60.fil"
    [[ $output == *"dt = 0.000128 s"* ]]
    [[ $output == *"Minimum sample time        : 1 ms"* ]]
}

@test "PSRFITS files say their band, block length and coherent DM" {
    [ -n "${PSRKIT_TEST_DATA-}" ] || skip "PSRKIT_TEST_DATA is not set"
    run -0 ddplan -d 100 "$PSRKIT_TEST_DATA/parkes_4bit.sf"
    for part in "dt = 0.000512 s" "numchan = 416" "blocklen = 2048" "BW = 3328 MHz" \
        "fctr = 2368 MHz" "coherently dedispersed at DM = 56.712 pc/cm^3"; do
        [[ $output == *"$part"* ]] || { echo "no $part in: $output"; return 1; }
    done
}

@test "--plan writes the lines, and reads them back as a band" {
    ddplan -d 500 -s 32 --plan p.plan >text
    [[ $(head -n 1 text; sed -n 2p text) == *"Minimum total"* ]]
    ddplan -d 500 -s 32 --plan - >q.plan
    diff <(grep -v '^# ddplan' p.plan) <(grep -v '^# ddplan' q.plan)
    grep -qx '# band tsamp_s=6.4e-05 nchan=1024 fctr_mhz=1400 bw_mhz=300' p.plan
    grep -qx '# lodm dmstep ndms downsamp nsub' p.plan
    [ "$(grep -vc '^#' p.plan)" -eq 2 ]
    ddplan -d 500 -s 32 -k 2400 >own
    ddplan -d 500 -s 32 p.plan | tail -n +10 | diff - own
}

@test "-w prints a script that gives gpudedisp the whole plan" {
    fake gpudedisp 'cat <&3 >>calls'
    ddplan -d 500 -w >s.sh
    PATH=$PWD/bin:$PATH sh s.sh "my file.fil" b.fil
    diff calls - <<'END'
gpudedisp -plan /dev/fd/3 -o my file my file.fil b.fil
# lodm dmstep ndms downsamp nsub
0 0.1 2297 1 0
229.7 0.3 737 2 0
450.8 0.5 99 4 0
END
    run -2 sh s.sh
    # And it takes it.
    ddplan -d 30 -w "$srcdir/tests/golden/g8.fil" >real.sh
    sed -i 's/^gpudedisp/& -q -nobary -nowrite -v/' real.sh
    sh real.sh
}

@test "-w quotes the names of files" {
    fake gpudedisp
    cp "$golden/psr60.fil" "it's \$HOME.fil"
    ddplan -d 50 -w "it's \$HOME.fil" >s.sh 2>/dev/null
    PATH=$PWD/bin:$PATH sh s.sh
    grep -qF -- "-o it's \$HOME it's \$HOME.fil" calls
}

@test "-w -for prepsubband chooses sub-bands and leaves no gap" {
    fake prepsubband
    ddplan -d 300 -p 7 -w -for prepsubband 2>note >s.sh
    grep -q '64 sub-bands' note
    PATH=$PWD/bin:$PATH sh s.sh x.fil
    # $3 sub-bands, $5 first DM, $7 step, $9 trials: a call begins where the one before ends
    awk '{ if ($3 != 64 || (NR > 1 && ($5 - end) ^ 2 > 1e-6)) bad = 1; end = $5 + $7 * $9 }
         END { exit bad || end < 300 }' calls
}

@test "-json is JSON and holds the plan" {
    ddplan -d 300 -json -cost -rates add=1e10,read=1e9,write=1e9,tree=4e10 >p.json
    grep -q '"ndm": 2532' p.json
    command -v python3 >/dev/null || skip "no python3 to read JSON with"
    python3 - <<'END'
import json
p = json.load(open("p.json"))
assert [l["ndm"] for l in p["lines"]] == [2297, 235]
assert p["cost"]["add"]["amount"] == 600 / 64e-6 * 1024 * (2297 + 235 / 2)
assert abs(p["cost"]["tree"]["seconds"] - p["cost"]["add"]["seconds"] / 4) < 1e-6 * p["cost"]["add"]["seconds"]
assert p["cost"]["cheapest"] == "tree" and abs(p["cost"]["tree"]["loss"] - (1 - 1.07 ** -0.5)) < 1e-9
assert abs(p["cost"]["write"]["amount"] - 600 / 64e-6 * 4 * (2297 + 235 / 2)) < 1
END
}

@test "-cost says what is measured, given and assumed" {
    run -0 ddplan -d 100 -n 64 -cost -T 60 -nbit 2 -rates read=2e9
    [[ $output == *"of 60 s, 937500 spectra of 2 bits:"* ]]
    [[ $output == *"read       15 MB"*"2 GB  /s, given"* ]]
    [[ $output == *"add/s, measured"* ]]
    [[ $output == *"1 GB  /s, assumed"* ]]
    [[ $output == *"-algo tree adds at"*"add/s, measured"* ]]
    run -0 ddplan -d 100 -n 64 -cost -rates add=1e10,tree=4e10 -smear 1.21
    [[ $output == *"Cheapest: -algo tree, 4.0 times"*"loses about 9.1 %"* ]]
    run -0 ddplan -d 100 -n 64 -cost -rates add=4e10,tree=1e10
    [[ $output == *"Cheapest: exact sums"* ]]
    run -0 ddplan -d 100 -n 64 -s 8 -cost -rates add=1e10
    [[ $output != *tree* ]]
}

@test "-o draws by the suffix, and a failed plot leaves nothing" {
    need_pictures
    ddplan -d 100 -o p.png >text
    ddplan -d 100 | cmp - text
    [[ $(head -c 4 p.png | tail -c 3) == PNG ]]
    ddplan -d 100 -s 32 -o p >/dev/null
    [[ $(head -c 11 p.eps) == "%!PS-Adobe-" ]]
    ddplan -d 100 -c 20 -o p.svg >/dev/null
    grep -q '<svg' p.svg
    run -1 ddplan -d 100 -o none/where/p.png
    [ "$(ls | grep -c part)" -eq 0 ]
}

@test "the plans of surveys are what ddplan makes of their bands" {
    for plan in "$srcdir"/data/surveys/*.plan; do
        run -0 grep -c '^[0-9]' "$plan"
        made=$(sed -n 's/^# ddplan //p' "$plan")
        [ -n "$made" ] || continue
        read -r -a words <<<"$made"
        ddplan "${words[@]}" >again
        diff <(grep '^[0-9]\|^# band' "$plan") <(grep '^[0-9]\|^# band' again)
    done
}

@test "absurd input is refused" {
    refused "nothing asked"
    refused "bandwidth is 0" -b 0
    refused "reaches down to -100 MHz" -b 3000
    refused "centre frequency is -1400" -f -1400
    refused "high DM 5 is not above low DM 10" -l 10 -d 5
    refused "low DM is -1" -l -1
    refused "high DM is 1e+09" -d 1e9
    refused "sample time is 0" -t 0
    refused "number of channels is 0" -n 0
    refused "block length is 0" -k 0
    refused "sub-bands is -1" -s -1
    refused "processors is 0" -p 0
    refused "resolution is -1" -r -1
    refused "coherent DM is -1" -c -1
    refused "'nan' is not a number" -d nan
    refused "'5x' is not a number" --hiDM=5x
    refused "unknown option '-z'" -z
    refused "-t needs a value" -t
    refused "-w, -json and -plan - each take standard output" -w -json
    refused "-cost goes with the text or with -json" -cost -w
    refused "-rates belongs to -cost" -rates add=1
    refused "-smear belongs to -cost" -smear 1.1
    refused "'mul=1' is not read=N" -cost -rates mul=1
    refused "'foo' is neither gpudedisp nor prepsubband" -w -for foo
    refused "-s 100 does not divide the 1024 channels" -s 100 -plan -
}

@test "-dm_tol lists the DMs of Heimdall" {
    # Heads, tails and numbers of what dedisp_generate_dm_list makes of the same bands.
    ddplan -dm_tol 1.25 -d 1000 -t 64e-6 -f 1382 -b 400 -n 1024 >a
    [ "$(wc -l <a)" -eq 1197 ]
    [ "$(sed -n '1,3p;1196,1197p' a | paste -sd ' ')" = "0 0.180006832 0.360011697 998.566895 1001.48273" ]
    ddplan -dm_tol 1.1 -dm_pulse_width 1000 -l 10 -d 500 -t 983e-6 -f 600 -b 400 -n 16384 >b
    [ "$(wc -l <b)" -eq 2879 ]
    [ "$(sed -n '1,3p;2878,2879p' b | paste -sd ' ')" = "10 10.1672316 10.3344631 499.949738 500.126038" ]
    gpudedisp -q -nobary -dms <(head -n 5 a) -nowrite -singlepulse -o x "$g8"
    refused "-dm_tol lists DMs instead of a plan: not with -plan" -dm_tol 1.25 -plan -
    refused "-dm_tol lists DMs instead of a plan: not with -cost" -dm_tol 1.25 -cost
    refused "-dm_pulse_width belongs to -dm_tol" -dm_pulse_width 40
    refused "more than 1000000 DMs" -dm_tol 1.0001 -dm_pulse_width 0 -t 1e-9 -n 1000000 -d 1e5
}

@test "files that cannot be read or written fail" {
    run -1 --separate-stderr ddplan -d 100 absent.fil
    [[ $stderr == "ddplan: absent.fil"* ]]
    mkfifo pipe
    refuses 1 'pipe: is a pipe' timeout 20 ddplan -d 100 pipe
    echo text >notes.fil
    run -3 ddplan -d 100 notes.fil
    echo '0 1 5' >bandless.plan
    run -3 ddplan -d 100 bandless.plan
    [[ $output == *"no line '# band'"* ]]
    run -1 ddplan -d 100 -plan no/such/folder
    [ -w /dev/full ] || skip "no /dev/full"
    run -1 bash -c 'ddplan -d 100 >/dev/full'
    [[ $output == *"No space left"* ]]
}
