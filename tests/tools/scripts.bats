#!/usr/bin/env bats
# What is written for a shell, or about the command: no name in it is a command, or a line of its own.

load helper

setup() {
    cd "$BATS_TEST_TMPDIR"
    mkdir bin
    # Notes what it is called with, a word a line, whatever is in the word.
    for tool in gpudedisp prepsubband; do
        printf '%s\n' '#!/bin/bash' 'for word; do printf "%q\n" "$word"; done >>calls' >bin/$tool
    done
    chmod +x bin/*
}

hostile=($'x\ntouch ran' $'x\n`touch ran`\n#' '`touch ran`' '$(touch ran)' "'; touch ran; '" "'\$(touch ran)'" '";touch ran;"'
    'x; touch ran' '| touch ran' '&& touch ran' '> ran' '${x:=ran}' '\' "\\'" '-w' '--device=x' '* ?' '~' '#' $'\r' $'\t' $'\033[2J' $'\303(' '!!' 'END')

# runs_clean SCRIPT: as sh and as bash; nothing but what it calls was run.
runs_clean() {
    local shell
    for shell in sh bash; do
        rm -f calls
        PATH=$PWD/bin:$PATH $shell "$@"
        [ ! -e ran ] || { cat "$1"; false; }
    done
}

@test "a script of -w runs no name" {
    for name in "${hostile[@]}"; do
        cp "$golden/ddplan/psr60.fil" "./$name.fil"
        for for in gpudedisp prepsubband; do
            ddplan -d 20 -w -for $for -- "$name.fil" >s.sh 2>/dev/null
            runs_clean s.sh
            file=$name.fil
            [[ $file != -* ]] || file=./$file
            # Its last words are the root and the file.
            [ "$(tail -n 2 calls)" = "$(printf '%q\n' "${file%.fil}" "$file")" ] || { cat calls s.sh; false; }
            [ "$(sed -n 2p s.sh | cut -c-8)" = '# ddplan' ]
            [ "$(sed -n 3p s.sh)" = 'set -e' ]
        done
        rm "./$name.fil"
    done
}

@test "nor one of an option, nor one it is given" {
    for name in "${hostile[@]}"; do
        ddplan -d 20 -w -plan "./$name.plan" >s.sh
        [ "$(sed -n 3p s.sh)" = '# Usage: sh SCRIPT FILE...' ]
        runs_clean s.sh "./$name.fil"
        [ "$(tail -n 1 calls)" = "$(printf '%q' "./$name.fil")" ]
        # The plan says how it was made in one line, and holds no more.
        [ "$(grep -c '^#' "./$name.plan")" -eq 3 ]
        cmp <(tail -n +2 "./$name.plan") <(ddplan -d 20 -plan - | tail -n +2)
        rm "./$name.plan"
    done
}

@test "the note of a command is one line, and the command" {
    for name in "${hostile[@]}"; do
        fakebin -q -tobs 0.1 -period 0 -seed 1 -source "$name" -truth truth -o x.fil
        [ "$(grep -c '^#' truth)" -eq 3 ]
        sed -n '1s/^# //p' truth >again
        rm x.fil truth
        bash again
        [ -s truth ]
        [ ! -e ran ]
        sed -n '1s/^# //p' truth | cmp - again
    done
    command -v python3 >/dev/null || skip "no python3 to read JSON with"
    for name in "${hostile[@]}"; do
        cp "$golden/ddplan/psr60.fil" "./$name.fil"
        ddplan -d 20 -json -- "$name.fil" >p.json
        python3 -c 'import json; json.load(open("p.json", encoding="utf-8"))'
    done
}
