#!/usr/bin/env bats
# Every tool has a manual page, and the page says what --help says.

load helper

# The options that a tool's --help lists, with their dashes and under all their names.
options_of() {
    "$1" --help | sed -nE 's/^  (-[^ ,]+(, -[^ ,]+)*).*/\1/p' | tr -d ,
}

@test "every tool has a page with all its options" {
    for tool in $tools; do
        page=$srcdir/man/$tool.1
        [ -f "$page" ] || { echo "there is no man/$tool.1"; return 1; }
        [ -n "$(options_of "$tool")" ]
        for option in $(options_of "$tool"); do
            sed 's/\\-/-/g; s/\\f[BIRP]//g' "$page" | grep -qE -- "(^|[^[:alnum:]-])$option([^[:alnum:]-]|\$)" || {
                echo "man/$tool.1 lacks $option: run make man"
                return 1
            }
        done
    done
}

@test "--help begins with three examples, whose options the tool has" {
    for tool in $tools; do
        examples=$("$tool" --help | sed -n '/^For example:$/,/^$/s/^  //p')
        [ "$(wc -l <<<"$examples")" -ge 3 ] || { echo "$tool --help has fewer than three examples"; return 1; }
        [ "$("$tool" --help | sed -nE '1,/^$/d; /^[A-Z][a-z ]*:$/{p;q}')" = 'For example:' ]
        while read -r line; do
            [[ $line == "$tool "* ]]
            for word in $(sed 's/"[^"]*"//g' <<<"$line"); do
                [[ $word != -[a-zA-Z]* ]] || options_of "$tool" | tr ' ' '\n' | grep -qxe "$word" ||
                    { echo "$line: $tool has no $word"; return 1; }
            done
        done <<<"$examples"
    done
}

@test "--help fits a terminal of 80 columns" {
    for tool in $tools; do
        run bash -c '"$1" --help | grep -E "^.{80}"' _ "$tool"
        [ -z "$output" ] || { echo "$tool: $output"; return 1; }
    done
}

@test "the pages are what help2man makes of --help" {
    command -v help2man >/dev/null || skip "help2man is not installed"
    fresh=$BATS_TEST_TMPDIR
    env -u MAKEFLAGS -u MFLAGS make -C "$builddir" man man_folder="$fresh" >"$fresh/log" 2>&1 ||
        { cat "$fresh/log"; return 1; }
    for tool in $tools; do
        # The first lines hold the date and the version of help2man.
        diff <(grep -vE '^\.(TH|\\")' "$srcdir/man/$tool.1") \
            <(grep -vE '^\.(TH|\\")' "$fresh/$tool.1") ||
            { echo "man/$tool.1 is out of date: run make man"; return 1; }
    done
}

@test "psrkit.7 names every tool" {
    for tool in $tools; do
        grep -qx ".It Xr $tool 1" "$srcdir/man/psrkit.7" || { echo "psrkit.7 lacks $tool"; return 1; }
    done
}

@test "the pages have no markup errors" {
    command -v groff >/dev/null || skip "groff is not installed"
    for page in "$srcdir"/man/*.[1-8]; do
        run bash -c 'groff -man -mdoc -mandoc -ww -z -Tutf8 "$1" 2>&1' _ "$page"
        [ -z "$output" ] || { echo "$page: $output"; return 1; }
    done
}

@test "-o says of all tools what it writes, and where to" {
    for tool in $tools; do
        text=$("$tool" --help | sed -nE '/^  -o(, -[a-z]+)? [A-Z]+ /,/^  -[a-np-z]|^$/p' | tr -s ' \n' ' ')
        [ -n "$text" ] || [[ $tool == chi2sig || $tool == psrpresto ]] || { echo "$tool has no -o"; return 1; }
        [[ -z $text || $text =~ ^\ -o(, -[a-z]+)?\ (FILE|ROOT|DIR)\ Write\ [a-z\ \']+ ]] || { echo "$tool: $text"; return 1; }
        [[ $text != *ROOT\ Write* || $text == *"ROOT Write files whose names begin with ROOT"* ]] || { echo "$tool: $text"; return 1; }
    done
}

@test "a number out of its range is told with its unit" {
    while IFS='|' read -r command says; do
        run -2 --separate-stderr $command
        one_line "$says \(see"
    done <<'END'
gpufold -p -1 a|-p: -1 is below 1e-09 s
gpufold -f 0 a|-f: 0 is below 1e-09 Hz
gpufold -pd x a|-pd: 'x' is not a number of s/s
gpufold -pb -1 a|-pb: -1 is below 0 s
gpudedisp -lodm -1 a|-lodm: -1 is below 0 pc cm\^-3
gpudedisp -ring -1 a|-ring: -1 is below 1e-06 s
gpurfifind -time -1 a|-time: -1 is below 0 s
gpudigifil -freq -1 a|-freq: -1 is below 0.001 MHz
fakebin -tsamp 0|-tsamp: 0 is below 0.001 us
gpuaccel-pulscan -flo -1 a|-flo: -1 is below 0 Hz
psrsearch -maxwidth -1 a|-maxwidth: -1 is below 0.001 s
frbbeam -cadence 0 a|-cadence: 0 is below 1e-06 s
gpuffa -pmin -1 a|-pmin: -1 is below 1e-06 s
gpuffa -baryv 1 a|-baryv: 1 is above 0.1 c
gpuaccel-pulscan -rlo -1 a|-rlo: -1 is below 0 bins
fakebin -accn x|-accn: 'x' is not a number of m/s\^2
fakebin -bper 0|-bper: 0 is below 1e-06 hours
END
}
