#!/usr/bin/env bats
# gpudedisp -plan: every line as a run of its own would have it, in one pass; and what is refused.

load helper

setup() {
    cd "$BATS_TEST_TMPDIR"
    cat >plan <<'END'
# lodm dmstep ndms downsamp nsub
0     1   3  1  0
40    2   4  2  0
50    3   2  3  0
60    4   3  8  0
80    5   2  16 0
END
}

# by_lines ROOT ARGS...: a run for each line of the file plan, as ROOT.
by_lines() {
    local root=$1 lo step n ds nsub
    shift
    while read -r lo step n ds nsub; do
        case $lo in \#*) continue ;; esac
        gpudedisp -lodm "$lo" -dmstep "$step" -numdms "$n" -downsamp "$ds" -o "$root" "$@"
    done <plan
}

# same A B: the files of the two roots are the same, but for their names and the list of pulses,
# and there are as many as the plan has trials, N of each kind.
same() {
    compgen -G "$1_DM*" >/dev/null || return 1
    diff <(contents "$1") <(contents "$2")
}

# contents ROOT: a line for each file of the root without its name, and the lines of .inf files but their first, which is the name.
contents() {
    local file data=()
    for file in "$1"_DM*; do
        echo "${file#"$1"}"
        [[ $file == *.inf ]] || data+=("$file")
    done
    cat "${data[@]}" | md5sum
    [ ${#data[@]} -eq 0 ] || stat -c %s "${data[@]}"
    ! compgen -G "$1_DM*.inf" >/dev/null || awk 'FNR > 1' "$1"_DM*.inf
}

# both ARGS...: -plan, in one block and in many, and separate runs give the same.
both() {
    gpudedisp -q -plan plan -o a "$@"
    by_lines b -q "$@"
    same a b
    gpudedisp -q -mem 2M -ncpus 2 -plan plan -o a "$@"
    same a b
    rm -f a_DM* b_DM* a.cand b.cand
}

# refused CODE PATTERN ARGS...: exit CODE, one line that matches, and nothing left.
refused() {
    refuses "$1" "$2" gpudedisp "${@:3}"
    leaves_no 't[_.]*'
}

@test "lines are what separate runs write, at any depth" {
    need_long
    for bits in 1 2 4 16 32; do
        fakebin -nbits $bits -nchans 24 -tsamp 256 -tobs 3 -fch1 1500 -foff -4 -seed $bits -o f$bits.fil
        both -nobary -noclip f$bits.fil
    done
}

@test "lines are what separate runs write, on any threads" {
    both -nobary -noclip "$g8"
    both -nobary -noclip -nopad "$g8"
    both -nobary -noclip -format tim "$g8"
    both -nobary -noclip -ignorechan 3,7:9 -tol 1 -offset 1000 "$g8"
}

@test "so they are with mask, clipping, zero-DM and barycentring" {
    make_rfi
    both -mask "$mask" rfi.fil
    both -nobary -mask "$mask" -zerodm rfi.fil
    both -noclip -singlepulse -threshold 5 radec.fil
    by_lines b -q radec.fil
    gpudedisp -q -plan plan -o a radec.fil
    same a b
    grep -q 'Barycentered.*=  1' a_DM85.00.inf
}

@test "-numout cuts some lines, pads others, and does not hold up the rest" {
    both -nobary -numout 1500 "$g8"
    both -nobary -numout 20000 "$g8"
    both -nobary -numout 1500 -singlepulse -threshold 5 "$g8"
    both -numout 2500 -noclip "$g8"
}

@test "lines with sub-bands take them with -algo subband" {
    sed -i 's/^40 .*/40 2 4 2 8/; s/^60 .*/60 4 3 8 16/' plan
    gpudedisp -q -nobary -noclip -algo subband -plan plan -o a "$g8"
    gpudedisp -q -nobary -noclip -lodm 0 -numdms 3 -o b "$g8"
    gpudedisp -q -nobary -noclip -algo subband -nsub 8 -lodm 40 -dmstep 2 -numdms 4 -downsamp 2 -o b "$g8"
    gpudedisp -q -nobary -noclip -lodm 50 -dmstep 3 -numdms 2 -downsamp 3 -o b "$g8"
    gpudedisp -q -nobary -noclip -algo subband -nsub 16 -lodm 60 -dmstep 4 -numdms 3 -downsamp 8 -o b "$g8"
    gpudedisp -q -nobary -noclip -lodm 80 -dmstep 5 -numdms 2 -downsamp 16 -o b "$g8"
    same a b
    # Exact is the default, and a remark says so once.
    run -0 --separate-stderr gpudedisp -nobary -plan plan -o c "$g8"
    [ "$(grep -c 'direct is exact' <<<"$stderr")" -eq 1 ]
}

@test "a plan from a pipe, an input from a pipe, lines in any order" {
    gpudedisp -q -nobary -plan plan -o a "$g8"
    gpudedisp -q -nobary -plan - -o b "$g8" <plan
    same a b
    cat "$g8" | gpudedisp -q -nobary -plan plan -o c -
    # Of a pipe the .inf files hold no digest.
    sed -i '/^    psrkit /d' a_DM*.inf c_DM*.inf
    same a c
    sort -rn plan >falling
    gpudedisp -q -nobary -singlepulse -plan falling -o d "$g8"
    gpudedisp -q -nobary -singlepulse -plan plan -o e "$g8"
    cmp d.cand e.cand
}

@test "the plan of ddplan for a file is one for that file" {
    ddplan -d 60 -plan made "$g8"
    grep -q '^# band' made
    run -0 --separate-stderr gpudedisp -nobary -nowrite -v -plan made "$g8"
    [[ $stderr == *"downsampled by "* ]]
}

# scrunched F DS: the plan of -scrunch F -downsamp DS for DM 0, 15 .. 585 in the band of g8.
scrunched() {
    ddplan -d 60 -plan - "$g8" | awk -v ratio="$1" -v ds="$2" '
        /^# band/ {
            for (k = 3; k <= NF; k++) { split($k, word, "="); band[word[1]] = word[2] }
            width = band["bw_mhz"] / band["nchan"]
            low = band["fctr_mhz"] - (band["bw_mhz"] - width) / 2
            high = band["fctr_mhz"] + (band["bw_mhz"] - width) / 2
            smear = (low ^ -2 - high ^ -2) / 2.41e-4 / band["tsamp_s"] / (band["nchan"] - 1)
            for (i = 0; i < 40; i++) {
                for (n = 1; 2 * n * ratio <= 15 * i * smear / ds; n *= 2) { }
                count[n]++
                if (count[n] == 1) first[n] = 15 * i
            }
            for (n = 1; n <= 65536; n *= 2) if (count[n]) print first[n], 15, count[n], n * ds, 0
        }'
}

# scrunches_as_lines F DS...: trials with -scrunch F and -downsamp DS are those of the lines of such a plan.
scrunches_as_lines() {
    local ratio ds algo
    while [ $# -gt 0 ]; do
        ratio=$1 ds=$2
        shift 2
        scrunched "$ratio" "$ds" >plan
        for algo in direct tree; do
            gpudedisp -q -nobary -algo $algo -singlepulse -threshold 5 -plan plan -o a "$g8"
            gpudedisp -q -nobary -algo $algo -singlepulse -threshold 5 -lodm 0 -dmstep 15 -numdms 40 \
                -downsamp "$ds" -scrunch "$ratio" -o b "$g8"
            same a b
            cmp a.cand b.cand
        done
        rm a_DM* b_DM*
    done
}

@test "-scrunch makes lines of trials that dispersion within a channel smears" {
    scrunches_as_lines 1 1
    [ "$(scrunched 1 1 | wc -l)" -eq 5 ]
    [ "$(scrunched 20 1 | wc -l)" -eq 1 ]
}

@test "-scrunch with other factors, and downsampled" {
    need_long
    scrunches_as_lines 0.5 1 1 3 20 1
}

@test "-scrunch takes DMs in any order, and does not go with what says lines itself" {
    scrunched 1 1 >plan
    gpudedisp -q -nobary -plan plan -o a "$g8"
    for ((dm = 0; dm < 600; dm += 15)); do echo $((dm * 7 % 600)); done | sort -u >dms
    gpudedisp -q -nobary -dms dms -scrunch 1 -o b "$g8"
    same a b
    refused 2 '-scrunch makes the lines of its trials: not with -plan' -scrunch 1 -plan plan -o t "$g8"
    refused 2 'not with -compat presto' -scrunch 1 -compat presto -o t "$g8"
    refused 2 'not with -sub' -scrunch 1 -sub -o t "$g8"
    refused 2 '-scrunch: 0.01 is below 0.1' -scrunch 0.01 -o t "$g8"
}

@test "-singlepulse -nowrite writes events only, and they are those of separate runs" {
    gpudedisp -q -nobary -singlepulse -nowrite -threshold 5 -plan plan -o a "$g8"
    by_lines b -q -nobary -singlepulse -nowrite -threshold 5 "$g8"
    same a b
    [ -z "$(ls | grep -E 'dat$|inf$|tim$|part')" ]
    [ "$(ls | wc -l)" -eq $((1 + 2 * 15)) ] || { ls; false; }
    gpudedisp -q -nobary -singlepulse -nowrite -threshold 5 -plan plan -o - "$g8" >list
    cmp list a.cand
}

# The burst of 20 ms that make_burst puts at DM 100, where two lines meet.
make_burst() {
    fakebin -nbits 8 -nchans 64 -tsamp 1000 -tobs 60 -fch1 1500 -foff -4 -seed 5 -period 0 \
        -add "burst dm=100 t=20 width=0.02 snr=30" -o burst.fil
}

@test "one pulse in two lines is one pulse" {
    make_burst
    printf '%s\n' '60 2 20 1' '100 2 20 4' >plan
    gpudedisp -q -nobary -singlepulse -nowrite -plan plan -o a burst.fil
    gpudedisp -q -nobary -singlepulse -nowrite -lodm 60 -dmstep 2 -numdms 20 -o b burst.fil
    gpudedisp -q -nobary -singlepulse -nowrite -lodm 100 -dmstep 2 -numdms 20 -downsamp 4 -o c burst.fil
    [ "$(wc -l <b.cand)" -gt 1 ]
    [ "$(wc -l <c.cand)" -gt 1 ]
    # As many members as in both lists, and the better of the two on top.
    members() { awk 'NR > 1 { n += $7 } END { print n }' "$@"; }
    [ "$(members a.cand)" -eq $(($(members b.cand) + $(members c.cand))) ] || { head a.cand b.cand c.cand; false; }
    top=$(awk 'FNR == 2 && $1 > best { best = $1 } END { print best }' b.cand c.cand)
    awk -v top="$top" 'NR == 2 { good = $1 == top && $7 > 20 } END { exit !good }' a.cand
    # Samples count in those of the finest line, and trials through the plan.
    counts() {
        awk -v tsamp="$1" 'NR > 1 { d = $2 * tsamp - $3; if (d > 1e-5 || d < -1e-5 || $8 > $2 || $9 < $2 ||
            $6 != ($5 < 20 ? 60 + 2 * $5 : 100 + 2 * ($5 - 20))) exit 1 }' "$2"
    }
    counts 0.001 a.cand
    awk 'NR == 2 { good = $6 > 96 && $6 < 104 } END { exit !good }' a.cand
    printf '%s\n' '60 2 20 2' '100 2 20 4' >plan
    gpudedisp -q -nobary -singlepulse -nowrite -plan plan -o d burst.fil
    counts 0.002 d.cand
    at() { awk 'NR == 2 { printf "%.2f", $3 }' "$1"; }
    [ "$(at d.cand)" = "$(at a.cand)" ] || { head -n 3 a.cand d.cand; false; }
}

@test "the plot has the pulses of all lines" {
    need_pictures
    make_burst
    printf '%s\n' '60 2 20 1' '100 2 20 4' >plan
    gpudedisp -q -nobary -singlepulse -nowrite -plan plan -plot p.png -o a burst.fil
    [ "$(head -c 4 p.png | tail -c 3)" = PNG ]
}

@test "-compat presto goes through the lines as prepsubband would" {
    printf '%s\n' '0 1 3 1 8' '40 2 3 2' '60 4 2 4 16' >plan
    gpudedisp -q -nobary -compat presto -plan plan -o a "$g8"
    gpudedisp -q -nobary -compat presto -lodm 0 -dmstep 1 -numdms 3 -nsub 8 -o b "$g8"
    gpudedisp -q -nobary -compat presto -lodm 40 -dmstep 2 -numdms 3 -downsamp 2 -o b "$g8"
    gpudedisp -q -nobary -compat presto -lodm 60 -dmstep 4 -numdms 2 -downsamp 4 -nsub 16 -o b "$g8"
    same a b
    mkfifo pipe
    refused 1 'standard input: .*once for each line' -q -compat presto -plan plan -o t - </dev/null
    refused 1 'pipe: .*once for each line' -q -compat presto -plan plan -o t pipe
    echo '0 1 20000' >plan
    refused 1 "plan: line from DM 0: ndms 20000 is above prepsubband's 10000" -q -compat presto -plan plan -o t "$g8"
    printf '%s\n' '0 1 3' '2 1 3' >plan
    refused 1 'DMs 2 and 2 would both be' -q -compat presto -plan plan -o t "$g8"
}

@test "what a plan says cannot be said again" {
    for conflicting in "-lodm 0" "-dmstep 1" "-numdms 10" "-dms plan" "-downsamp 1" "-nsub 8"; do
        refused 2 "-plan and ${conflicting% *} exclude each other" -q -plan plan $conflicting -o t "$g8"
    done
    refused 2 '-plan and -sub exclude each other' -q -compat presto -sub -plan plan -o t "$g8"
    refused 2 'one standard input' -q -plan - -o t -
    refused 2 'one standard input' -q -plan - -o t "$g8" -
}

@test "a plan for another band is refused" {
    band=$(ddplan -d 60 -plan - "$g8" | sed -n 's/^# band //p')
    run_with() {
        { echo "# band $1"; echo '0 1 3'; } >plan
        shift
        refused 1 "$@" -q -nobary -plan plan -o t "$g8"
    }
    run_with "${band/nchan=32/nchan=64}" '^gpudedisp: plan: made for nchan 64, and .*g8.fil has 32$'
    run_with "$(sed 's/tsamp_s=[^ ]*/tsamp_s=6.4e-05/' <<<"$band")" 'plan: made for tsamp_s 6.4e-05 s, and .*g8.fil has 0.000'
    run_with "$(sed 's/fctr_mhz=[^ ]*/fctr_mhz=430/' <<<"$band")" 'plan: made for fctr_mhz 430 MHz, and .*g8.fil has '
    run_with "$(sed 's/bw_mhz=[^ ]*/bw_mhz=20/' <<<"$band")" 'plan: made for bw_mhz 20 MHz, and .*g8.fil has '
    # Numbers as people round them are not others.
    { echo "# band $(sed 's/tsamp_s=\([^ ]*\)/tsamp_s=\10001/' <<<"$band")"; echo '0 1 3'; } >plan
    gpudedisp -q -nobary -plan plan -o ok "$g8"
}

@test "bad plans are refused before anything is written" {
    refused 1 'missing.*No such file' -q -plan missing -o t "$g8"
    : >empty
    refused 3 'empty: no line of trials' -q -plan empty -o t "$g8"
    echo '0 1 x' >bad
    refused 3 "bad: line 1: ndms.*'x'" -q -plan bad -o t "$g8"
    printf '%s\n' '0 1 10 1' '9 1 10 2' >clash
    refused 1 'DMs 9 and 9 would both be t_DM9.00' -q -plan clash -o t "$g8"
    refused 1 'DMs 9 and 9 would both be t_DM9.00' -q -singlepulse -nowrite -plan clash -o t "$g8"
    printf '%s\n' '0 1 10 1' '1e5 1 10 2' >far
    refused 3 'DM 100009 sweeps over [0-9]+ samples' -q -plan far -o t "$g8"
    refused 1 'algo subband, and no line has sub-bands' -q -algo subband -plan plan -o t "$g8"
    printf '%s\n' '0 1 10 1 8' '20 2 10 1 7' >odd
    refused 1 'DM 20 to 38: .*7 sub-bands do not divide 32' -q -algo subband -plan odd -o t "$g8"
    refused 1 'standard output takes one trial' -q -plan plan -o - "$g8"
    echo '0 1 3 100000' >coarse
    refused 1 'coarse: line from DM 0: downsamp 100000 is above 65536' -q -plan coarse -o t "$g8"
    refused 1 '-mem: .*memory of [0-9.]+ KiB is below the [0-9.]+ KiB that' -q -noclip -device cpu -mem 64K -plan plan -o t "$g8"
}

@test "a killed run of a plan leaves nothing" {
    mkfifo pipe
    gpudedisp -q -nobary -plan plan -o t - <pipe 2>err &
    pid=$!
    exec 7>pipe
    head -c 500000 "$g8" >&7
    sleep 0.3
    kill -TERM $pid
    exec 7>&-
    code=0
    wait $pid || code=$?
    [ "$code" -eq 143 ]
    [ -z "$(find . -name 't[_.]*' -o -name '*.part*')" ]
}
