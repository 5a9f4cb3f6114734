#!/usr/bin/env bats
# doc/tutorial.md: its commands run as they stand and find what it says.

load helper

# near GOT WANT TOLERANCE
near() {
    awk -v a="$1" -v b="$2" -v tol="$3" 'BEGIN { d = a - b; exit !(d <= tol && -d <= tol) }' ||
        { echo "$1 is not within $3 of $2"; false; }
}

# row NUMBER FILE: that row of an accelsearch list, as words.
row() {
    awk -v n="$1" '$1 == n { print; exit }' "$2"
}

@test "the tutorial's commands find the burst, the pulsar and the binary" {
    cd "$BATS_TEST_TMPDIR"
    commands_of "$srcdir/doc/tutorial.md" >commands.sh
    [ "$(grep -cE '^(fakebin|ddplan|gpudedisp|gpuaccel-pulscan|chi2sig|accelsift|gpufold|psrreport) ' commands.sh)" = 9 ]
    grep -q '^#define PSR_CAIRO_SO' "$builddir/config.h" || sed -i -E 's/ -plot [a-z]+\.png//; s/ -o smearing\.png//' commands.sh
    bash -euo pipefail commands.sh >said

    read -r snr _ time _ _ dm _ < <(grep -v '^#' obs.cand)
    near "$snr" 20.3 1
    near "$time" 81.27 0.002
    near "$dm" 212 2
    near "$(awk 'END { print $3 }' said)" -187.5 0.5

    read -r _ sigma _ _ harmonics period frequency r _ < <(row 1 obs_DM68.00_ACCEL_100)
    near "$sigma" 28.4 1
    [ "$harmonics" = 8 ]
    near "${period%%(*}" 89.3 0.001
    near "${r%%(*}" 3005.996 0.05

    # The binary is the row whose frequency is near 217.51 Hz.
    read -r _ sigma _ _ _ _ frequency _ _ z _ < <(awk '$7 ~ /^217\.5/ { print; exit }' obs_DM54.00_ACCEL_100)
    near "$sigma" 12.2 2
    near "${frequency%%(*}" 217.5101 0.001
    near "${z%%(*}" 28.37 0.5

    [ "$(grep -c '^obs_' obs.sift)" = 2 ]
    near "$(awk '/^obs_DM54/ { print $8 }' obs.sift)" 4.59749 1e-4
    best=obs_obs_DM54.00_ACCEL_100_Cand_2.pfd.bestprof
    near "$(awk '/Best DM/ { print $NF }' $best)" 54 0.5
    awk '/Reduced chi-sqr/ { print; exit !($NF > 40) }' $best
    "$builddir/tests/support/page_check" report.html
    [ "$(wc -l <candidates.csv)" -eq 3 ]
    awk '$1 == "burst" && $2 == 150 { n++ } END { exit n != 1 }' added.fil.truth
    [ "$(stat -c %s added.fil)" = "$(stat -c %s obs.fil)" ]
}

# recipe PROGRAM: the first command of the page that begins so, without its picture.
recipe() {
    commands_of "$srcdir/doc/tutorial.md" | grep -m 1 "^$1 " | sed -E 's/ -plot [a-z]+\.png//; s/ -o smearing\.png//'
}

@test "its recipes find a burst and a pulsar in real observations" {
    data=${PSRKIT_TEST_DATA-none}
    [ -r "$data/28.fil" ] && [ -r "$data/GBT_J1807-0847.dat" ] || skip "PSRKIT_TEST_DATA has no real observations: NO recipe was tried on one"
    cd "$BATS_TEST_TMPDIR"
    # FRB 20180417A with ASKAP, at DM 475.5 and 2.028 s.
    ln -s "$data/28.fil" obs.fil
    bash -euo pipefail <<<"$(recipe ddplan | sed 's/-d 300/-d 600/'; recipe 'gpudedisp -nobary -plan')" >said
    read -r snr _ time _ _ dm _ < <(grep -v '^#' obs.cand | sort -rn)
    near "$snr" 16.6 1
    near "$time" 2.029 0.005
    near "$dm" 475.5 5
    # PSR J1807-0847 with the GBT, dedispersed: one list, so one DM is enough.
    for kind in dat inf; do cp "$data/GBT_J1807-0847.$kind" obs_DM112.38.$kind; done
    bash -euo pipefail <<<"$(recipe gpuaccel-pulscan; recipe accelsift | sed 's/accelsift/& -min_num_DMs 1/'
        recipe gpufold | sed 's/ -nsub 32//; s/obs\.fil/-ncands 1 obs_DM112.38.dat/'; recipe psrreport)" >said
    near "$(awk '/^obs_DM/ { print $8; exit }' obs.sift)" 163.711 0.01
    near "$(awk '/P_topo/ { print $5; exit }' obs_obs_DM112.38_ACCEL_100_Cand_1.pfd.bestprof)" 163.711 0.03
    "$builddir/tests/support/page_check" report.html
    # The same burst by one command.
    psrsearch -q -nobary -hidm 600 -res 2 -ncands 0 -json obs.fil >summary
    grep -qE '"best_burst": \{"snr": 1[5-8]\.[0-9]+, "time_s": 2\.0[23][0-9]*, "dm": 47[0-9]' summary
}

@test "every picture and page that the documents show is there" {
    cd "$srcdir"
    for page in README.md doc/*.md; do
        grep -oE '\]\([^)#:]+\)' "$page" | sed 's/^](//; s/)$//' | while read -r target; do
            [ -e "$(dirname "$page")/$target" ] || { echo "$page: no $target"; exit 1; }
        done
    done
}
