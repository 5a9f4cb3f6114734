#!/usr/bin/env bats
# Plots: what a user, a file or the environment says is never a command; one that cannot be drawn is
# noticed at the start, and costs no results.

load helper

setup() {
    command -v gnuplot >/dev/null || skip "gnuplot is not installed"
    cd "$BATS_TEST_TMPDIR"
    pulses="-q -nobary -noclip -lodm 40 -numdms 3 -singlepulse -threshold 4 -nowrite"
}

# hostile names: each would make the file "ran", were it a command to gnuplot or to a shell.
hostile=('|touch ran #' '| touch ran; #' '`touch ran`' '$(touch ran)' "'; system('touch ran'); '" '";system("touch ran");"'
    $'x\ntouch ran\n' $'\n!touch ran\n' '@x%d{a}_b^c\' '~' '-' '%s%n' "it's" $'\033[2J' $'\303(' 'ä')

# nothing_ran: no command of a name was run, and no file was begun and left.
nothing_ran() {
    [ ! -e ran ] || { echo "ran: $*"; false; }
    [ -z "$(find . -name '*.part*')" ] || { find .; false; }
}

# is_svg FILE: it is well-formed, and of gnuplot.
is_svg() {
    grep -q '^</svg>' "./$1" || { ls; false; }
    command -v python3 >/dev/null || return 0
    python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "./$1"
}

# make_line: line.dat, whose spectrum has a line.
make_line() {
    fakebin -q -dat -nchans 1 -tsamp 1000 -tobs 16.384 -period 20 -dm 0 -width 5 -snrpeak 2 -seed 1 -o line
    mv line_DM0.00.dat line.dat
    mv line_DM0.00.inf line.inf
}

@test "the name of a plot is no command" {
    make_line
    for name in "${hostile[@]}"; do
        ddplan -d 20 -o "$name.svg" >/dev/null
        is_svg "$name.svg"
        nothing_ran ddplan "$name"
        rm "./$name.svg"
        gpuaccel-pulscan -q -zmax 0 -plot "$name.svg" line.dat
        is_svg "$name.svg"
        nothing_ran gpuaccel-pulscan "$name"
        rm "./$name.svg"
    done
    for name in "${hostile[@]}"; do
        gpudedisp $pulses -plot "$name.svg" -o t "$g8"
        is_svg "$name.svg"
        nothing_ran gpudedisp "$name"
        rm "./$name.svg"
    done
}

@test "nor is the name of what is plotted" {
    make_line
    for name in "${hostile[@]}"; do
        cp "$g8" "./$name.fil"
        gpudedisp $pulses -plot p.svg -o t "./$name.fil"
        is_svg p.svg
        cp line.dat "./$name.dat"
        cp line.inf "./$name.inf"
        gpuaccel-pulscan -q -zmax 0 -plot q.svg "./$name.dat"
        is_svg q.svg
        nothing_ran "$name"
    done
    # And it is there to be read.
    cp "$g8" 'a%d_{b}^2 `c` <d>.fil'
    gpudedisp $pulses -plot p.svg -o t 'a%d_{b}^2 `c` <d>.fil'
    grep -qF 'a%d_{b}^2 `c` &lt;d' p.svg
}

@test "nor are settings and the environment" {
    make_line
    ddplan -d 20 -o want.svg >/dev/null
    gpuaccel-pulscan -q -zmax 0 -plot wanted.svg line.dat
    mkdir -p home/.config/gnuplot lib
    for rc in home/.gnuplot home/.config/gnuplot/gnuplotrc .gnuplot gnuplotrc lib/gnuplotrc; do
        printf '%s\n' "system('touch $PWD/ran')" "set title 'other'" "set terminal dumb" >$rc
    done
    other=(HOME="$PWD/home" XDG_CONFIG_HOME="$PWD/home/.config" GNUTERM=dumb GNUPLOT_LIB="$PWD/lib" FIT_SCRIPT="touch ran"
        GNUPLOT_DRIVER_DIR="$PWD/lib" GNUPLOT_PS_DIR="$PWD/lib" GNUPLOT_DEFAULT_GDFONT=none GNUPLOT_FONTPATH='!touch ran'
        GNUHELP="$PWD/lib" PAGER='touch ran' SHELL="$PWD/lib/sh" LC_NUMERIC=de_DE.UTF-8 LANGUAGE=de)
    env "${other[@]}" ddplan -d 20 -o got.svg >/dev/null
    cmp want.svg got.svg
    env "${other[@]}" gpuaccel-pulscan -q -zmax 0 -plot got.svg line.dat
    cmp wanted.svg got.svg
    nothing_ran
}

# broken WHAT: a gnuplot before the other that fails where its script has WHAT in it.
broken() {
    mkdir -p broken
    printf '%s\n' '#!/bin/sh' 'script=$(cat)' "case \$script in *'$1'*) echo 'no font' >&2; exit 3;; esac" \
        "printf '%s\n' \"\$script\" | $(command -v gnuplot) -d" >broken/gnuplot
    chmod +x broken/gnuplot
}

# left_out WHAT COMMAND...: exits with 1 and the one line WHAT; its text and files, without names of their own, are those
# in want.
left_out() {
    local what=$1
    shift
    rm -rf t[._]* line_ACCEL* p.plan
    run -1 --separate-stderr "$@"
    one_line "$what"
    [ "$output" = "$(cat want/text)" ]
    for file in want/*[._]*; do cmp <(grep -av '^# ddplan' "$file") <(grep -av '^# ddplan' "${file#want/}"); done
}

# wanted COMMAND...: what it makes without a plot.
wanted() {
    rm -rf want t[._]* line_ACCEL* p.plan
    mkdir want
    "$@" >want/text
    for file in t[._]* line_ACCEL* p.plan; do [ ! -e "$file" ] || mv "$file" want; done
}

@test "a plot that cannot be drawn is reported at the start, and the results are made" {
    make_line
    mkdir nothing
    broken 'set terminal'
    local -A tool=([gpudedisp]="$pulses -o t $g8" [gpuaccel-pulscan]='-q line.dat' [ddplan]='-d 20 -plan p.plan')
    for name in gpudedisp gpuaccel-pulscan ddplan; do
        plot=-plot
        [ $name != ddplan ] || plot=-o
        wanted $name ${tool[$name]}
        for where in none/p.png p.png/p.png; do
            touch p.png
            left_out "^$name: $where: cannot create" $name $plot $where ${tool[$name]}
            rm p.png
        done
        for path in "$PWD/nothing" "$PWD/broken:$PATH"; do
            why='plots need gnuplot, which is not in PATH'
            [ "$path" = "$PWD/nothing" ] || why='gnuplot failed: no font'
            left_out "^$name: p.png: $why\$" env PATH="$path" "$builddir/bin/$name" $plot p.png ${tool[$name]}
        done
    done
    leaves_no 'p.png'
    # At the start: the spectra of this input never come.
    mkfifo in
    (head -c 5000 "$g8"; exec sleep 60) >in &
    writer=$!
    gpudedisp $pulses -plot none/p.png -o t - <in 2>err &
    reader=$!
    for _ in $(seq 200); do [ -s err ] && break; sleep 0.05; done
    grep -q 'none/p.png: cannot create' err
    kill $reader $writer
}

@test "a plot that fails leaves the results" {
    make_line
    broken plot
    run_broken() { PATH=$PWD/broken:$PATH run -1 --separate-stderr "$@"; }
    for more in -nowrite ''; do
        gpudedisp ${pulses/-nowrite/$more} -o a "$g8"
        run_broken gpudedisp ${pulses/-nowrite/$more} -plot p.png -o b "$g8"
        one_line '^gpudedisp: p.png: gnuplot failed: no font$'
        for file in a[._]*; do
            [[ $file == *.inf ]] || cmp "$file" "b${file#a}"
        done
        [ "$(ls a[._]* | wc -l)" -eq "$(ls b[._]* | wc -l)" ]
    done
    gpudedisp $pulses -o - "$g8" >want
    run_broken gpudedisp $pulses -plot p.png -o - "$g8"
    [ "$output" = "$(cat want)" ]

    gpuaccel-pulscan -q -zmax 20 line.dat
    mkdir want.d
    mv line_ACCEL* want.d
    run_broken gpuaccel-pulscan -q -zmax 20 -plot p.png line.dat
    one_line '^gpuaccel-pulscan: p.png: gnuplot failed: no font$'
    for file in want.d/*; do cmp "$file" "${file#want.d/}"; done
    gpuaccel-pulscan -q -zmax 20 -csv line.dat >want
    run_broken gpuaccel-pulscan -q -zmax 20 -plot p.png -csv -o got line.dat
    cmp want got
    run_broken gpuaccel-pulscan -q -zmax 20 -plot p.png -csv -o - line.dat
    [ "$output" = "$(cat want)" ]

    ddplan -d 100 -plan want.plan >want
    run_broken ddplan -d 100 -plan got.plan -o p.png
    one_line '^ddplan: p.png: gnuplot failed: no font$'
    [ "$output" = "$(cat want)" ]
    cmp <(grep -v '^# ddplan' want.plan) <(grep -v '^# ddplan' got.plan)
    leaves_no p.png
}

@test "a signal does not wait for gnuplot" {
    make_line
    mkdir slow
    printf '%s\n' '#!/bin/sh' 'case $(cat) in *plot*) : >began; exec sleep 60;; esac' >slow/gnuplot
    chmod +x slow/gnuplot
    PATH=$PWD/slow:$PATH gpuaccel-pulscan -q -plot p.png line.dat &
    pid=$!
    for _ in $(seq 600); do [ -e began ] && break; sleep 0.05; done
    [ -e began ]
    kill -TERM $pid
    code=0
    wait $pid || code=$?
    [ "$code" -eq 143 ]
    [ -s line_ACCEL_200 ]
    leaves_no p.png
}
