#!/usr/bin/env bats
# Plots: what a user, a file or the environment says is never a command; one that cannot be drawn is
# noticed at the start, and costs no results.

load helper

setup() {
    need_pictures
    ndrawn=0
    cd "$BATS_TEST_TMPDIR"
    pulses="-q -nobary -noclip -lodm 40 -numdms 3 -singlepulse -threshold 4 -nowrite"
}

# hostile names: each would make the file "ran", were it a command to a shell or a program that draws.
hostile=('|touch ran #' '| touch ran; #' '`touch ran`' '$(touch ran)' "'; system('touch ran'); '" '";system("touch ran");"'
    $'x\ntouch ran\n' $'\n!touch ran\n' '@x%d{a}_b^c\' '~' '-' '%s%n' "it's" $'\033[2J' $'\303(' 'ä')

# nothing_ran: no command of a name was run, and no file was begun and left.
nothing_ran() {
    [ ! -e ran ] || { echo "ran: $*"; false; }
    [ -z "$(find . -name '*.part*')" ] || { find .; false; }
}

# is_svg FILE: it is whole, and well-formed, which are_well_formed says of all at the end.
is_svg() {
    grep -q '^</svg>' "./$1" || { ls; false; }
    mkdir -p drawn
    mv "./$1" drawn/$((++ndrawn))
}

are_well_formed() {
    [ "$(ls drawn | wc -l)" -eq "$ndrawn" ]
    command -v python3 >/dev/null || return 0
    python3 -c 'import sys, xml.dom.minidom
for name in sys.argv[1:]: xml.dom.minidom.parse(name)' drawn/*
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
        gpuaccel-pulscan -q -zmax 0 -plot "$name.svg" line.dat
        is_svg "$name.svg"
        nothing_ran gpuaccel-pulscan "$name"
    done
    for name in "${hostile[@]}"; do
        gpudedisp $pulses -plot "$name.svg" -o t "$g8"
        is_svg "$name.svg"
        nothing_ran gpudedisp "$name"
    done
    are_well_formed
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
    are_well_formed
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
    copy_tools cut/bin ddplan gpuaccel-pulscan gpudedisp
    name=$(sed -n 's/^#define PSR_CAIRO_SO "\(.*\)"/\1/p' "$builddir/config.h")
    sed -i "s/$name/${name//[0-9]/_}/" cut/bin/*
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
        left_out "^$name: p.png: no picture: it needs cairo: .*cannot open" "cut/bin/$name" $plot p.png ${tool[$name]}
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

@test "every format is drawn whole, and looks at no settings" {
    make_line
    for suffix in png pdf svg eps ps PNG; do
        ddplan -d 100 -s 32 -o "d.$suffix" >/dev/null
        gpuaccel-pulscan -q -zmax 0 -plot "a.$suffix" line.dat
        gpudedisp $pulses -plot "g.$suffix" -o t "$g8"
        for file in d a g; do
            case $suffix in
            png | PNG) tail -c 8 $file.$suffix | head -c 4 | grep -qa IEND ;;
            svg) cp $file.svg $file.kept && is_svg $file.svg && mv $file.kept $file.svg ;;
            *) tail -c 6 $file.$suffix | grep -qa '%%EOF' ;;
            esac
        done
    done
    head -c 11 d.eps | grep -qa '%!PS-Adobe-'
    grep -qa EPSF <(head -n 1 d.eps)
    fails grep -qa EPSF <(head -n 1 d.ps)
    # 1000 and 900 pixels at 1.25 dots
    [ "$(od -An -tx1 -j16 -N8 d.png | tr -d ' \n')" = 000004e20000032c ]
    [ "$(od -An -tx1 -j16 -N8 a.png | tr -d ' \n')" = 000004650000032c ]
    LC_ALL=de_DE.UTF-8 LC_NUMERIC=de_DE.UTF-8 ddplan -d 100 -s 32 -o again.svg >/dev/null
    cmp d.svg again.svg
    are_well_formed
}

@test "a plot that fails leaves the results" {
    make_line
    gpudedisp $pulses -o - "$g8" >want
    gpuaccel-pulscan -q -zmax 20 -sigma 8 line.dat
    mkdir want.d
    mv line_ACCEL* want.d
    ddplan -d 100 >plan
    # No file may have more than 30 KiB.
    small() { (ulimit -f 30 && exec "$@"); }
    run -1 --separate-stderr small gpudedisp $pulses -plot p.png -o - "$g8"
    one_line '^gpudedisp: p.png: cannot write: '
    [ "$output" = "$(cat want)" ]
    run -1 --separate-stderr small gpuaccel-pulscan -q -zmax 20 -sigma 8 -plot p.png line.dat
    one_line '^gpuaccel-pulscan: p.png: cannot write: '
    for file in want.d/*; do cmp "$file" "${file#want.d/}"; done
    run -1 --separate-stderr small ddplan -d 100 -o p.png
    one_line '^ddplan: p.png: cannot write: '
    [ "$output" = "$(cat plan)" ]
    leaves_no p.png
}
