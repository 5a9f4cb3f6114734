#!/usr/bin/env bats
# make install-aliases: PRESTO's names for psrkit's tools, for those who want them.

load helper

# run_make TARGET: in the build folder, installing below the test's own.
run_make() {
    env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -s -C "$builddir" DESTDIR="$BATS_TEST_TMPDIR/to" \
        bindir=/bin "$@"
}

@test "prepsubband is a link to gpudedisp and does the same" {
    run_make install-aliases
    cd "$BATS_TEST_TMPDIR"
    [ "$(readlink to/bin/prepsubband)" = gpudedisp ]
    copy_tools to/bin gpudedisp
    options="-q -nobary -nsub 8 -lodm 47 -numdms 1"
    to/bin/prepsubband $options -o a "$srcdir/tests/golden/g8.fil"
    gpudedisp $options -o b "$srcdir/tests/golden/g8.fil"
    cmp a_DM47.00.dat b_DM47.00.dat
    cmp <(tail -n +2 a_DM47.00.inf) <(tail -n +2 b_DM47.00.inf)
    run -2 to/bin/prepsubband -nosuch x.fil
    [[ $output == gpudedisp:* ]]
    # All of them lead to a tool.
    for alias in to/bin/*; do
        [ ! -h "$alias" ] || [[ " $tools " == *" $(readlink "$alias") "* || $alias == */ACCEL_sift.py ]]
    done
    # Again is fine, and uninstall takes it away.
    run_make install-aliases
    run_make uninstall-local
    [ ! -e to/bin/prepsubband ]
    [ ! -h to/bin/prepsubband ]
    [ -e to/bin/gpudedisp ]
}

@test "another program of that name stays" {
    cd "$BATS_TEST_TMPDIR"
    mkdir -p to/bin
    echo theirs >to/bin/prepsubband
    run run_make install-aliases
    [ "$status" -ne 0 ]
    [[ $output == *"/bin/prepsubband is there already"* ]]
    run_make uninstall-local
    [ "$(cat to/bin/prepsubband)" = theirs ]
}

@test "prepdata writes ROOT.dat of one DM, the samples of gpudedisp" {
    cd "$BATS_TEST_TMPDIR"
    ln -s "$(command -v gpudedisp)" prepdata
    ./prepdata -q -nobary -dm 47 -o a "$g8"
    gpudedisp -q -nobary -lodm 47 -numdms 1 -o b "$g8"
    cmp a.dat b_DM47.00.dat
    grep -q 'without suffix  *=  a$' a.inf
    grep -q 'Dispersion measure (cm-3 pc)  *=  47$' a.inf
    ./prepdata -q -nobary -o zero "$g8"
    [ -f zero.dat ]
    refuses 2 'prepdata: -shorts is not here: ' ./prepdata -shorts -o x "$g8"
    refuses 2 'prepdata: one series is written, at -dm' ./prepdata -lodm 3 -numdms 2 -o x "$g8"
    refuses 2 "gpudedisp: unknown option '-dm'" gpudedisp -dm 47 -o x "$g8"
    refuses 2 'dmprec: 0 is below 2' gpudedisp -dmprec 0 -numdms 1 -o x "$g8"
    ./prepdata -help | grep -q '^  prepdata -dm '
}

@test "what another program of the name has, and there is not, is a line that says what does it" {
    cd "$BATS_TEST_TMPDIR"
    refuses 2 'gpufold: -psr is not here: .*-par FILE' gpufold -psr B0329+54 "$g8"
    refuses 2 'gpufold: -events is not here: .*prepfold' gpufold -events -p 1 "$g8"
    refuses 2 'zapbirds: -in is not here: .*zaplist' psrpresto zapbirds -in a -out b x.fft
    refuses 2 'zapbirds: -zap is missing: .*zaplist' psrpresto zapbirds x.fft
    refuses 2 'single_pulse_search.py: -z is not here: gzip' psrpresto single_pulse_search.py -z x.dat
    cp "$golden/acc3_z200h8_ACCEL_200" x_ACCEL_200
    cp "$golden/acc3.inf" x.inf
    refuses 3 'x_ACCEL_200: candidate 1: .*no frequency; the list of numbers is that in .cand' \
        gpufold -accelcand 1 -accelfile x_ACCEL_200 "$g8"
}

@test "single_pulse_search.py finds what gpudedisp finds, and plots lists" {
    cd "$BATS_TEST_TMPDIR"
    fakebin -q -seed 3 -tobs 4 -tsamp 100 -nchans 32 -nbits 8 -fch1 1500 -foff 4 -period 0 -add "burst dm=40 t=2 width=2e-3 snr=15" -o b.fil
    gpudedisp -q -noclip -lodm 40 -numdms 1 -singlepulse -threshold 5 -maxwidth 0.003 -o a b.fil
    mv a_DM40.00.singlepulse theirs
    psrpresto single_pulse_search.py -p a_DM40.00.dat
    # gpudedisp's series ends earlier than the file, which is padded.
    diff <(head -n 5 theirs) <(head -n 5 a_DM40.00.singlepulse)
    [ "$(awk '!/#/ && $2 > 10' a_DM40.00.singlepulse | wc -l)" = 1 ]
    [ ! -e a_singlepulse.ps ]
    if grep -q '^#define PSR_CAIRO_SO' "$builddir/config.h"; then
        psrpresto single_pulse_search.py -s 1 -e 3 a_DM40.00.singlepulse
        [[ "$(head -c 4 a_singlepulse.ps)" == %!PS ]]
    fi
    refuses 2 'b.fil: neither .dat nor .singlepulse' psrpresto single_pulse_search.py b.fil
    echo nonsense >a_DM40.00.singlepulse
    refuses 3 'line 1: no single pulse' psrpresto single_pulse_search.py -p a_DM40.00.singlepulse
    # Lines without a pulse may stand anywhere.
    printf '%s\n' '# DM Sigma' '  40.00 5.20 0.018700 187 14' '' '   # mine' '40.00 5.88 0.116600 1166 4' '' >a_DM40.00.singlepulse
    psrpresto single_pulse_search.py -p a_DM40.00.singlepulse
    refuses 1 'nosuch: No such file' psrpresto readfile nosuch
}

@test "ACCEL_sift.py runs accelsift with the numbers in it" {
    command -v python3 >/dev/null || skip "there is no python3"
    cd "$BATS_TEST_TMPDIR"
    for dm in 10.00 11.00 12.00; do
        cp "$golden/acc3_z200h8_ACCEL_200" "x_DM${dm}_ACCEL_200"
        cp "$golden/acc3.inf" "x_DM$dm.inf"
    done
    accelsift -q -compat presto x_DM*_ACCEL_200 >want
    python3 "$srcdir/tools/psrpresto/ACCEL_sift.py" >got
    cmp want got
    sed 's/^known_birds_f.*/known_birds_f = [(1e3, 1e9)]/' "$srcdir/tools/psrpresto/ACCEL_sift.py" >mine.py
    [ "$(python3 mine.py | wc -l)" -le 1 ]
    rm x_DM*
    refuses 1 'ACCEL_sift.py: no list is named' python3 mine.py
}

# observation FILE: 6 s of the tutorial's band, with a position that fakebin does not write.
observation() {
    fakebin -q -seed 7 -tobs 6 -tsamp 72 -nchans 96 -nbits 4 -fch1 1447.5 -foff 1 -tstart 53010.484826 -period 4.621638 \
        -dm 62 -width 8 -snrpeak 2 -rfi "mains level=0.02" -add "burst dm=62 t=3 width=2e-3 snr=20" -o made.fil
    { head -c 16 made.fil
      printf '\7\0\0\0src_raj\xcd\xcc\xcc\xcc\x90\x0f\x04\x41\7\0\0\0src_dej\x33\x33\x33\x33\xab\xe5\xfd\xc0'
      tail -c +17 made.fil; } >"$1"
    rm made.fil
}

# Not among the lines, as nothing here stands for them: exploredat, explorefft, get_TOAs.py, dedisp.py (doc/presto.md).
@test "the lines of PRESTO's search tutorial, unchanged but for their line breaks, on a made observation of its shape" {
    command -v python3 >/dev/null || skip "there is no python3"
    to=$BATS_TEST_TMPDIR/to
    env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -s -C "$builddir" DESTDIR="$to" bindir=/bin pkgdatadir=/share install-aliases
    copy_tools "$to/bin" $tools
    command -v python >/dev/null || ln -s "$(command -v python3)" "$to/bin/python"
    export PATH=$to/bin:$PATH PRESTO=$to/share
    mkdir "$BATS_TEST_TMPDIR/work"
    cd "$BATS_TEST_TMPDIR/work"
    observation GBT_Lband_PSR.fil
    printf '%s\n' '# Freq Width #harm grow? bary?' '50.0 0.3 4 0 0' >Lband.birds
    while IFS= read -r line; do
        bash -o pipefail -c "$line" >>../out 2>../said </dev/null || { echo "failed: $line"; cat ../said; return 1; }
    done <<'END'
readfile GBT_Lband_PSR.fil
rfifind -time 2.0 -o Lband GBT_Lband_PSR.fil
prepdata -nobary -o Lband_topo_DM0.00 -dm 0.0 -mask Lband_rfifind.mask GBT_Lband_PSR.fil
realfft Lband_topo_DM0.00.dat
accelsearch -numharm 4 -zmax 0 Lband_topo_DM0.00.dat
cp Lband_rfifind.inf Lband.inf
makezaplist.py Lband.birds
zapbirds -zap -zapfile Lband.zaplist Lband_topo_DM0.00.fft
prepdata -o tmp GBT_Lband_PSR.fil | grep Average
DDplan.py -d 500.0 -n 96 -b 96 -t 0.000072 -f 1400.0 -s 32 -r 0.5
prepsubband -nsub 32 -lodm 0.0 -dmstep 2.0 -numdms 24 -downsamp 4 -mask Lband_rfifind.mask -o Lband GBT_Lband_PSR.fil
prepsubband -nsub 32 -lodm 48.0 -dmstep 2.0 -numdms 24 -downsamp 4 -mask Lband_rfifind.mask -o Lband GBT_Lband_PSR.fil
prepsubband -nsub 32 -lodm 96.0 -dmstep 2.0 -numdms 4 -downsamp 4 -mask Lband_rfifind.mask -o Lband GBT_Lband_PSR.fil
prepsubband -sub -subdm 72.0 -nsub 32 -downsamp 4 -mask Lband_rfifind.mask -o Lband GBT_Lband_PSR.fil
mkdir subbands
mv *.sub* subbands/
rm -f Lband*topo* tmp*
realfft *.dat # works with multiple files now
ls *.fft | xargs -n 1 zapbirds -zap -zapfile Lband.zaplist -baryv -5.697334e-05
simple_zapbirds Lband.birds *.fft
accelsearch -zmax 0 Lband_DM0.00.fft
ls *.fft | xargs -n 1 accelsearch -zmax 0 -flo 15
cp $PRESTO/examplescripts/ACCEL_sift.py .
python ACCEL_sift.py > cands.txt
prepfold -accelcand 1 -accelfile Lband_DM62.00_ACCEL_0.cand Lband_DM62.00.dat
prepfold -dm 62.0 -accelcand 1 -accelfile Lband_DM62.00_ACCEL_0.cand subbands/Lband_DM72.00.sub??
prepfold -n 64 -nsub 96 -p 0.004621638 -dm 62.0 GBT_Lband_PSR.fil
single_pulse_search.py *.dat
single_pulse_search.py *DM1??.??*.singlepulse
END
    grep -q 'Average topocentric velocity (c) = -5.599[0-9]*e-05' ../out
    # The pulsar is the best candidate, at its DM, and the folds and the burst are there.
    [[ "$(sed -n 2p cands.txt)" == Lband_DM62.00_ACCEL_0:1\ * ]]
    [ -s GBT_Lband_PSR_4.62ms_Cand.pfd ]
    [ -s Lband_DM62.00_ACCEL_Cand_1.pfd ]
    awk '!/^#/ && $2 > 12 && $3 > 2.9 && $3 < 3.1 { found = 1 } END { exit !found }' Lband_DM62.00.singlepulse
}

install_completions() {
    cd "$BATS_TEST_TMPDIR"
    env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -s -C "$builddir" DESTDIR="$PWD" datadir=/share install-completions
    ln -s "$(command -v psrpresto)" realfft
    PATH=$PWD:$PATH
}

@test "bash completes options of tools, and of PRESTO's names" {
    install_completions
    [ "$(readlink share/bash-completion/completions/gpufold)" = psrkit ]
    source share/bash-completion/completions/realfft
    complete -p gpudedisp realfft makezaplist.py >/dev/null
    try() { COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _psrkit; }
    try gpudedisp -singlep
    [ "${COMPREPLY[*]}" = -singlepulse ]
    try realfft x.dat --out
    [ "${COMPREPLY[*]}" = -outdir ]
    try gpudedisp -n
    [ "${#COMPREPLY[@]}" -gt 5 ]
    try gpudedisp obs
    [ "${#COMPREPLY[@]}" = 0 ]
}

@test "fish completes options with their descriptions" {
    install_completions
    command -v fish >/dev/null || skip "there is no fish"
    [ "$(fish --no-config -c 'source share/fish/vendor_completions.d/realfft.fish; complete -C "realfft -outd"' | cut -f 1)" = -outdir ]
}

@test "zsh completes options" {
    install_completions
    command -v zsh >/dev/null || skip "there is no zsh"
    head -n 1 share/zsh/site-functions/_psrkit | grep -q '^#compdef .*gpudedisp.* realfft'
    zsh -f -n share/zsh/site-functions/_psrkit
}

# waits_for PATTERN: until the terminal shows it, 20 s at most.
waits_for() {
    for _ in $(seq 100); do
        tmux -S "sock.${shell%% *}" capture-pane -p | grep -qE -- "$1" && return
        sleep 0.2
    done
    tmux -S "sock.${shell%% *}" capture-pane -p
    tmux -S "sock.${shell%% *}" kill-server
    return 1
}

@test "in a terminal, a tab completes an option of a tool and of PRESTO's name" {
    command -v tmux >/dev/null || skip "there is no tmux"
    [ -r /usr/share/bash-completion/bash_completion ] || skip "there is no bash-completion"
    install_completions
    ln -s "$(command -v gpuaccel-pulscan)" accelsearch
    begin="PS1='ready> '; XDG_DATA_DIRS=$PWD/share; . /usr/share/bash-completion/bash_completion; complete -p cd"
    for shell in "bash --norc" "zsh -f" fish; do
        command -v "${shell%% *}" >/dev/null || continue
        case $shell in
        zsh*) begin="PS1='ready> '; fpath=($PWD/share/zsh/site-functions \$fpath); autoload -Uz compinit; compinit -u -D" ;;
        fish) begin="function fish_prompt; echo 'ready> '; end" ;;
        esac
        # The search for leaks of a tool that zsh starts may never end: it waits for a stop that the shell has taken.
        tmux -S "sock.${shell%% *}" -f /dev/null new-session -d -x 200 -y 20 "env HOME=$PWD ASAN_OPTIONS=detect_leaks=0 XDG_DATA_DIRS=$PWD/share TERM=screen PATH='$PATH' $shell" 3>&-
        tmux -S "sock.${shell%% *}" send-keys -l "$begin"
        tmux -S "sock.${shell%% *}" send-keys Enter
        waits_for '^ready>'
        for typed in "gpudedisp -singlep:ulse" "accelsearch -zm:ax" "realfft -outd:ir"; do
            tmux -S "sock.${shell%% *}" send-keys C-l
            tmux -S "sock.${shell%% *}" send-keys -l "${typed%:*}"
            tmux -S "sock.${shell%% *}" send-keys Tab
            waits_for "^(ready> )?${typed%:*}${typed#*:}"
            tmux -S "sock.${shell%% *}" send-keys C-u
        done
        tmux -S "sock.${shell%% *}" kill-server
    done
}

@test "uninstall removes what was installed" {
    install_completions
    env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -s -C "$builddir" DESTDIR="$PWD" datadir=/share uninstall-hook
    [ -z "$(find share ! -type d)" ]
}
