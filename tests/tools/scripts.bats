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

# The scripts for sites without Snakemake, as a shell runs them.
@test "the array script of sbatch and the process for Nextflow search a file" {
    cd "$BATS_TEST_TMPDIR"
    fakebin -q -seed 1 -nchans 32 -nbits 8 -tsamp 512 -tobs 10 -fch1 1500 -foff 8 -add "burst dm=40 t=3 width=4e-3 snr=30" -o b.fil
    printf 'nowhere.fil\nb.fil\n' >files.txt
    SLURM_ARRAY_TASK_ID=2 run -0 bash "$srcdir/workflow/sbatch/psrkit.sbatch" files.txt results -hidm 60 -res 2 -clean none -ncands 0
    [ -s results/b/report.html ]
    SLURM_ARRAY_TASK_ID=1 run bash "$srcdir/workflow/sbatch/psrkit.sbatch" files.txt results -hidm 60
    [ "$status" != 0 ]
    SLURM_ARRAY_TASK_ID=3 run -1 bash "$srcdir/workflow/sbatch/psrkit.sbatch" files.txt results
    [ "$output" = "files.txt has no line 3" ]
    script=$(sed -n '/"""/,/"""/{/"""/d;p}' "$srcdir/workflow/nextflow/psrkit.nf" | sed 's/\${task\.cpus}/1/g')
    name=b2 observation=b.fil options="-hidm 60 -res 2 -clean none -ncands 0" run -0 bash -euo pipefail -c "$script"
    [ -s b2/report.html ]
    grep -q '"bursts": [1-9]' b2/search.json
}
