#!/usr/bin/env bats
# chi2sig from the command line: numbers, formats, candidate lists, and what it says of bad input.

load helper

setup() {
    cd "$BATS_TEST_TMPDIR"
}

# refused CODE PATTERN ARGS...: chi2sig must exit with CODE and say one line that matches.
refused() {
    run -"$1" --separate-stderr chi2sig "${@:3}" </dev/null
    one_line "$2"
}

# within COLUMN OTHER LIMIT [CONDITION]: in the rows of standard input that meet the awk condition, two
# columns differ by LIMIT at most, and there is such a row.
within() {
    awk -v a="$1" -v b="$2" -v limit="$3" \
        "!/^#/ && (${4-1}) { n++; d = \$a - \$b; if (d > limit || -d > limit) { print; bad = 1 } }
         END { exit !n || bad }"
}

@test "--help and --version go to standard output and exit 0" {
    run -0 --separate-stderr chi2sig --help
    [[ $output == Usage:* && -z $stderr ]]
    run -0 --separate-stderr chi2sig -version
    [[ $output == "chi2sig (psrkit) "* ]]
}

@test "one power, with all columns" {
    run -0 --separate-stderr chi2sig 812.4 44
    [ "${lines[0]}" = "# power dof ln_p log10_p ln_1mp sigma" ]
    [ "${lines[1]}" = "812.4 44 -325.383438048311 -141.31223164709 -4.87268518016951e-142 25.3468063578076" ] ||
        { echo "$output"; false; }
    [ "${#lines[@]}" -eq 2 ]
}

@test "the table of 60-digit values, through text" {
    grep -v '^#' "$golden/signif_table.txt" | awk '{ print $1, $2 }' >in
    chi2sig -csv <in | tail -n +2 | tr , ' ' >got
    grep -v '^#' "$golden/signif_table.txt" | paste -d ' ' - got | awk '
        function far(got, want) {
            if (want > -1e-300 && want < 1e-300) return got < -1e-300
            return got / want - 1 > 1e-11 || got / want - 1 < -1e-11
        }
        { n++; if (far($8, $3) || far($10, $4) || far($11 + ($5 < 0 ? -1 : 1), $5 + ($5 < 0 ? -1 : 1))) { print; bad++ } }
        END { exit n < 2000 || bad > 0 }'
}

@test "1e-12 in a million: nothing underflows" {
    run -0 chi2sig 1e12 2
    [[ ${lines[1]} == "1000000000000 2 -500000000000 -217147240951.626 0 999999.999985266" ]] ||
        { echo "$output"; false; }
    run -0 chi2sig 1e-300 2
    [[ ${lines[1]} == "1e-300 2 -5e-301 "* ]] || { echo "$output"; false; }
}

@test "-gauss prints the sigma alone, negative where p > 1/2" {
    run -0 chi2sig -gauss 812.4 44
    [ "$output" = 25.3468063578076 ]
    [[ $(chi2sig -gauss 30 44) == -1.* ]]
    [ "$(chi2sig -gauss -ntrials 1e9 30 44)" = -inf ]
}

@test "-ntrials by Bonferroni and Sidak" {
    [[ $(chi2sig -ntrials 1e9 812.4 44 | tail -1) == "812.4 44 -304.66017221136"* ]]
    chi2sig -ntrials 1000 -csv 60 20 | tail -1 | cut -d, -f3 >bonferroni
    chi2sig -ntrials 1000 -sidak -csv 60 20 | tail -1 | cut -d, -f3 >sidak
    # 1 - (1 - p)^1000 is 1 - exp(-u), u = 1000 (p + p^2 / 2), whose logarithm is ln u - u/2 + u^2/24.
    paste -d ' ' bonferroni sidak | awk '{
        u = exp($1); u *= 1 + u / 2000
        printf "%.15g %.15g\n", $2, log(u) - u / 2 + u * u / 24 }' | within 1 2 1e-9
    [[ $(chi2sig -ntrials 1e300 2000 2 | tail -1) == "2000 2 -309.22447210178"* ]]
}

@test "-inverse and -inverse-logp are undone by the forward way" {
    for how in "" -sidak; do
        for dof in 1 2 3.5 44 1000 1e6; do
            for sigma in -3 0.5 6 40; do
                power=$(chi2sig -inverse $sigma -ntrials 1e3 $how $dof | awk 'END { print $1 }')
                chi2sig -gauss -ntrials 1e3 $how "$power" $dof | awk -v s=$sigma '{ print $1, s }' | within 1 2 1e-8
            done
        done
    done
    power=$(chi2sig -inverse-logp -1e4 7 | awk 'END { print $1 }')
    chi2sig "$power" 7 | awk 'END { print $3, -10000 }' | within 1 2 1e-8
    printf '2\n4\n' | chi2sig -inverse-logp -50 -gauss | awk 'END { exit NR != 2 }'
}

@test "-harmonics and -z give H(H+1)(z+1) degrees of freedom" {
    [[ $(chi2sig -harmonics 4 -z 10 500 | tail -1) == "500 220 "* ]]
    [[ $(chi2sig -harmonics 2 500 | tail -1) == "500 6 "* ]]
    [[ $(printf '500\n600\n' | chi2sig -harmonics 1 -z 1 | tail -1) == "600 4 "* ]]
    [[ $(chi2sig -inverse 6 -harmonics 4 -z 10 | tail -1) == *" 220 "* ]]
}

@test "-accel: the sigmas that accelsearch lists come out" {
    # It counts (rhi - rlo)(numz + 1)(2 / 6.95) / H trials.
    for H in 1 2 4 8; do
        n=$(awk -v H=$H 'BEGIN { print int(130937 * 202 * 2 / 6.95 / H) }')
        chi2sig -accel -ntrials "$n" "$golden/acc3_z200h8_ACCEL_200" | within 6 7 0.0051 "\$2 == 2 * $H"
    done
    chi2sig -accel <"$golden/acc3_w200_JERK" | awk '!/^#/ { n++ } /^687.04 2 -343.52 / { good = 1 } END { exit n != 4 || !good }'
}

@test "-accel: the sigmas that Pulscan lists come out" {
    # It counts zmax bins / 6.95 / H trials.
    for H in 1 2 3 4; do
        n=$(awk -v H=$H 'BEGIN { print 200 * 131072 / 6.95 / H }')
        chi2sig -accel -ntrials "$n" "$golden/acc3_numharm4.pulscand" |
            paste -d ' ' - <(awk '{ print $NF }' "$golden/acc3_numharm4.pulscand") | within 6 7 1e-5 "\$8 == $H"
    done
}

# refused_whole PATTERN ARGS...: nothing is printed either.
refused_whole() {
    refuses "$1" "$2" chi2sig -accel "${@:3}" </dev/null
}

@test "-accel: other files are refused, and nothing is printed" {
    refused_whole 1 "no.such: No such file" no.such
    refused_whole 1 "^chi2sig: .: Is a directory" .
    for format in "" -csv -json; do
        { cat "$golden/acc3_numharm4.pulscand"; echo "1 2 3"; } >broken
        refused_whole 3 "broken: line [0-9]*: .* of Pulscan" $format broken
    done
    printf 'sigma power\n1 2\0 3 4 5 6 7 8 9 10\n' >broken
    refused_whole 3 "broken: line 2: (longer than .* bytes|a byte 0)" broken
    refused_whole 3 "/dev/zero: line 1: longer than" /dev/zero
    echo "hello world" >other
    refused 3 "other: neither an ACCEL file" -accel other
    : >empty
    refused 3 "empty: empty" -accel empty
    { head -3 "$golden/acc3_z200h8_ACCEL_200"; echo "1  15.29  x"; } >broken
    refused 3 "broken: line 4: '1  15.29  x' is not a candidate of accelsearch" -accel broken
    { head -1 "$golden/acc3_numharm4.pulscand"; echo "1 2 3"; } >broken
    refused 3 "broken: line 2: .* of Pulscan" -accel broken
}

@test "-accel: an empty line ends the rows of accelsearch, not those of Pulscan" {
    sed '3i\ ' "$golden/acc3_numharm4.pulscand" >spaced
    chi2sig -accel "$golden/acc3_numharm4.pulscand" | cmp - <(chi2sig -accel spaced)
}

@test "-json is JSON, with null for what is infinite" {
    command -v python3 >/dev/null || skip "python3 is not installed"
    printf '812.4 44\n0 3\n' | chi2sig -json -poly >out
    python3 - <<'EOF'
import json
rows = json.load(open('out'))
assert len(rows) == 2 and rows[0]['dof'] == 44 and rows[1]['ln_1mp'] is None and rows[1]['ln_p'] == 0
assert abs(rows[0]['sigma'] - 25.3468063578076) < 1e-12
assert abs(rows[0]['poly_ln_p'] - rows[0]['ln_p'] - rows[0]['poly_error']) < 1e-9
EOF
    printf '# none\n' | chi2sig -json | python3 -c 'import json, sys; assert json.load(sys.stdin) == []'
    chi2sig -accel -json "$golden/acc3_z200h8_ACCEL_200" | python3 -c 'import json, sys; assert len(json.load(sys.stdin)) == 9'
}

@test "-csv has a header, and rows that chi2sig reads again" {
    printf '5 4\n7 3\n' | chi2sig -csv >out
    [ "$(head -1 out)" = power,dof,ln_p,log10_p,ln_1mp,sigma ]
    tail -n +2 out | chi2sig -csv | cmp - out
}

@test "-poly says where the polynomial holds" {
    [[ $(chi2sig -poly 1e4 1000 | tail -1) == *" 1" ]]
    [[ $(chi2sig -poly 1071 1000 | tail -1) == *" 0" ]]
}

@test "blank lines, comments, commas, further columns and a missing newline are fine" {
    printf '# x\n\n  5 4\n5,4 junk\r\n\t5\t4' | chi2sig -gauss | awk '$1 == 0.561297140850279 { n++ } END { exit n != 3 || NR != 3 }'
}

@test "rows keep their order on any number of threads, also from a slow pipe" {
    awk 'BEGIN { for (i = 0; i < 300000; i++) print i % 977, 1 + i % 89 }' >in
    chi2sig -ncpus 1 <in >one
    chi2sig -ncpus 3 <in | cmp - one
    (head -c 1234567 in; sleep 0.1; tail -c +1234568 in) | chi2sig -ncpus 2 | cmp - one
    [ "$(wc -l <one)" -eq 300001 ]
}

@test "a bad row is named, and the rows before it are printed" {
    printf '5 4\n5 4\n5 x\n5 4\n' >in
    for n in 1 2 8; do
        run -3 --separate-stderr bash -c "chi2sig -ncpus $n <in"
        [[ $stderr == "chi2sig: standard input: line 3: '5 x' is not a power and a dof from 1 to 1e12" ]] ||
            { echo "$stderr"; false; }
        [ "${#lines[@]}" -eq 3 ]
    done
    for row in 5 "5 0" "5 -1" "nan 4" "5 1e13" "5 4x" "x" ",5,4" "5,,4" "5 , ,4" "5,"; do
        run -3 --separate-stderr bash -c "echo '$row' | chi2sig"
        [[ $stderr == *"line 1: '$row'"* ]] || { echo "$row: $stderr"; false; }
    done
    run -3 --separate-stderr bash -c "head -c 5000000 /dev/zero | tr '\\0' 5 | chi2sig"
    [[ $stderr == *"longer than"* ]]
}

@test "mistakes on the command line exit 2" {
    refused 2 "POWER: 'x' is not a number" x 4
    refused 2 "DOF: 0.5 is below 1" 5 0.5
    refused 2 "1 operands where POWER and DOF" 5
    refused 2 "3 operands" 5 4 3
    refused 2 "2 operands where DOF" -inverse 6 5 4
    refused 2 "unknown option '-nonesuch'" -nonesuch
    refused 2 "-ntrials: 0 is below 1" -ntrials 0 5 4
    refused 2 "-ntrials: .* above 1e.300" -ntrials 2e300 5 4
    refused 2 "-inverse and -inverse-logp exclude" -inverse 5 -inverse-logp -5 4
    refused 2 "-inverse-logp: 1 is above 0" -inverse-logp 1 4
    refused 2 "-csv and -json exclude" -csv -json 5 4
    refused 2 "-z needs -harmonics" -z 3 5
    refused 2 "-accel and -inverse exclude" -accel -inverse 5
    refused 2 "leave out -harmonics" -accel -harmonics 2
    refused 2 "excludes -poly" -gauss -poly 5 4
    refused 2 "-harmonics and -z give" -harmonics 100000 -z 1000000 5
    refused 2 "-ncpus: 0 is below 1" -ncpus 0
}

@test "a full disk is a failure" {
    [ -w /dev/full ] || skip "there is no /dev/full"
    run -1 --separate-stderr bash -c 'chi2sig 5 4 >/dev/full'
    [[ $stderr == "chi2sig: standard output: "* ]]
    run -1 --separate-stderr bash -c 'yes 5 4 | head -100000 | chi2sig >/dev/full'
    [[ $stderr == "chi2sig: standard output: "* ]]
    for what in '5 4' --help "-accel $golden/acc3_z200h8_ACCEL_200"; do
        run -1 --separate-stderr bash -c "chi2sig $what >&-"
        one_line '^chi2sig: standard output: Bad file descriptor'
    done
    run -1 --separate-stderr bash -c 'chi2sig <&-'
    one_line '^chi2sig: standard input: Bad file descriptor'
}

@test "the device header compiles" {
    nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
    [ -x "$nvcc" ] || skip "there is no nvcc"
    cat >user.cu <<'EOF'
#include "common/signif_device.cuh"
__global__ void sigmas(const double *power, const double *dof, double *sigma)
{
    sigma[threadIdx.x] = signif_gauss_sigma(signif_chi2_logp(power[threadIdx.x], dof[threadIdx.x]));
}
EOF
    "$nvcc" -std=c++17 -arch=sm_90 -I"$srcdir/lib" -I"$srcdir/kernels" -cubin -o user.cubin user.cu
}
