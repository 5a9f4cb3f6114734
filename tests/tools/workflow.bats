#!/usr/bin/env bats
# workflow/: Snakemake searches a table of files; one that is damaged stops no other, and the page names it.

load helper
load workflow

setup() {
    cd "$BATS_TEST_TMPDIR"
    command -v snakemake >/dev/null || skip "snakemake is not installed: the workflow was NOT tried"
    export XDG_CACHE_HOME=$PWD/cache HOME=$PWD
    flow=$srcdir/workflow
    go="snakemake -s $flow/Snakefile --profile $flow/profiles/laptop --configfile c.yaml --cores 2"
    printf 'table: table.tsv\noptions: "-hidm 60 -res 2 -clean none"\nthreads: 1\n' >c.yaml
    printf 'name\tfile\n' >table.tsv
}

# make_files N: f1.fil and more, and their rows.
make_files() {
    local i
    for i in $(seq "$1"); do add_row "$i" 6; done
}

# PSRKIT_FILES of them.
@test "damaged files among others: those are done, the page names these, and a second run does what is left" {
    n=${PSRKIT_FILES:-4}
    make_files "$n"
    cp f3.fil good
    head -c 2000 good >f3.fil
    printf 'HEAD' >header.fil
    printf 'header\theader.fil\n' >>table.tsv
    run -0 $go
    [[ $output == *"$((n - 1)) of $((n + 1)) observations searched: results/report.html; 2 cannot be: results/failed.tsv"* ]]
    for i in $(seq "$n"); do
        [ "$i" = 3 ] || "$builddir/tests/support/page_check" "results/f$i/report.html" >page
        [ "$i" = 3 ] || grep -q '"bursts": [1-9]' "results/f$i/search.json"
        [ -s "results/f$i/benchmark.tsv" ]
    done
    "$builddir/tests/support/page_check" results/report.html
    grep -q "$((n - 1)) folders are complete, 2 are not" results/report.html
    grep -q '<a href="./f1/report.html">f1</a>' results/report.html
    grep -q '<td>f3</td>.*no report: .*psrsearch: step mask failed with exit code 3: gpurfifind: ' results/report.html
    grep -q '<td>header</td>.*no report: psrsearch: header.fil: no SIGPROC header' results/report.html
    [ "$(cut -f1 results/failed.tsv | tr '\n' ' ')" = 'name f3 header ' ]
    [ "$(wc -l <results/searches.json)" -eq $((n + 1)) ]
    grep -q '^{"name": "header", "failed": "psrsearch: header.fil: no SIGPROC header' results/searches.json
    # The lists of every DM are in one file.
    tar -tf results/f1/f1.lists | grep -qx 'f1_DM0.00.inf'
    fails ls results/f1/*_DM0.00.inf
    run -0 $go -n
    [[ $output == *'Nothing to be done'* ]]
    cp good f3.fil
    cp good header.fil
    run -0 $go -R inspect
    [ "$(grep -c 'rule search:' <<<"$output")" -eq 2 ]
    grep -q "$((n + 1)) folders are complete, 0 are not" results/report.html
    # Bytes that are no UTF-8 stop nothing.
    printf '{"failed": "\377 of f1"}\n' >results/f1/search.json
    printf '{"bursts": \n' >results/f2/search.json
    run -0 $go -R overview
    grep -q 'of f1' results/failed.tsv
    grep -q '^f2.*results/f2/search.json: Expecting value' results/failed.tsv
}

@test "inject: the recall over all observations, without those that are damaged" {
    local i
    for i in 1 2 3; do add_row $i 20; done
    head -c 2000 f3.fil >x && mv x f3.fil
    printf 'HEAD' >header.fil
    printf 'header\theader.fil\n' >>table.tsv
    printf 'inject: "-pulsars 0 -bursts 4 -each 2 -snr 25:30 -dm 10:40 -width 4e-3:8e-3"\n' >>c.yaml
    run -0 $go
    [ "$(grep -vc '^#' results/recall/recall.tsv)" = 8 ]
    awk -F'\t' '!/^#/ && $9 == "-" { n++ } END { exit n < 6 }' results/recall/recall.tsv
    grep -q '<h2>Bursts</h2>' results/recall/recall.html
    [ ! -s results/recall/f3/recall.tsv ]
    [ ! -e results/recall/header ]
    fails cmp -s results/recall/f1/000000.tsv results/recall/f2/000000.tsv # each has signals of its own
    run -0 $go -n
    [[ $output == *'Nothing to be done'* ]]
}

@test "faults of whoever asks are none of the data, and found before anything runs" {
    make_files 1
    for options in '-hidmm 60' '-budget slow' '-par no.par' "-hidm '60" '-hidm 60 $(touch ran)' '-hidm 60; touch ran'; do
        printf 'table: table.tsv\noptions: "%s"\n' "$options" >c.yaml
        run -1 $go -n
        run -1 $go
        [ ! -e ran ]
        [ ! -e results/failed.tsv ]
    done
    printf 'table: table.tsv\noptions: "-hidmm 60"\n' >c.yaml
    run -1 $go -n
    [[ $output == *"unknown option '-hidmm'"* ]]
    printf 'table: table.tsv\n' >c.yaml
    printf 'none\tnone.fil\n' >>table.tsv
    run -1 $go -n
    [[ $output == *'1 files are missing, the first is none.fil'* ]]
    for name in report.html inspect.tsv recall; do
        printf 'name\tfile\n%s\tf1.fil\n' $name >table.tsv
        run -1 $go -n
    done
}

@test "the configuration and the table are checked; lint" {
    make_files 1
    printf 'tables: table.tsv\n' >c.yaml
    run -1 $go -n
    [[ $output == *table* ]]
    printf 'table: table.tsv\nmem_mb: few\n' >c.yaml
    run -1 $go -n
    [[ $output == *few* ]]
    printf 'table: table.tsv\n' >c.yaml
    run -0 $go --lint
    printf '../x\tf1.fil\n' >>table.tsv
    run -1 $go -n
    [[ $output == *../x* ]]
    printf 'name\tfiles\n' >table.tsv
    run -1 $go -n
}

@test "a search that was killed is tried again with more memory, and one for which the disk is full is not over" {
    make_files 1
    tools_here
    mv bin/gpudedisp bin/real
    printf '#!/bin/sh\necho "$*" >>calls\n[ -e tried ] || { : >tried; kill -KILL $$; }\nexec %s/bin/real "$@"\n' "$PWD" >bin/gpudedisp
    chmod +x bin/gpudedisp
    run -0 $go
    [ "$(grep -oE -- '-mem [0-9]+' calls | tr '\n' ' ')" = '-mem 3145728000 -mem 6291456000 ' ]
    # Disks are full for as long as this says so.
    printf '#!/bin/sh\necho "gpudedisp: x: cannot write: No space left on device" >&2\nexit 1\n' >bin/gpudedisp
    rm -r results
    run -1 $go
    [[ $output == *'results/f1: psrsearch: step search failed with exit code 1: gpudedisp: x: cannot write: No space left on device'* ]]
    [ ! -e results/f1/search.json ]
    grep -q '<td>f1</td>.*No space left on device' results/unfinished.html
    mv bin/real bin/gpudedisp
    run -0 $go
    [[ $output == *'1 of 1 observations searched: results/report.html'* ]]
}

@test "a full disk: one line, nothing half-written, and the next run goes on" {
    unshare -rm true 2>/dev/null || skip "no mounts of one's own here: a full disk was NOT tried"
    make_files 2
    mkdir ref
    $go --config results=ref >said 2>&1
    rm -r .snakemake
    mkdir small
    cat >on_small_disk <<END
mount -t tmpfs -o size=400k none small && cp -a full/. small/ 2>/dev/null
$go --config results=small/r retries=0 >said 2>&1
echo \$? >code
cp -a small/. full/
END
    mkdir full
    unshare -rm bash on_small_disk
    [ "$(cat code)" -eq 1 ]
    grep -q 'No space left on device' said
    [ "$(grep -c 'No space left on device' said)" -le 2 ]
    fails grep -q Traceback said
    [ -z "$(find full -name '*.part')" ]
    rmdir small
    mv full small
    $go --config results=small/r >said 2>&1
    same_results ref small/r
}

@test "two runs in one folder: Snakemake refuses the second; killed, the next goes on" {
    make_files 1
    tools_here
    printf '#!/bin/sh\n: >began\nexec sleep 100\n' >bin/gpudedisp
    setsid $go >first.log 2>&1 3>&- &
    first=$!
    for _ in $(seq 500); do [ -e began ] || sleep 0.05; done
    [ -e began ]
    run -1 $go
    [[ $output == *lock* ]]
    kill -KILL -- -"$first"
    wait $first 2>/dev/null || true
    copy_tools bin gpudedisp
    $go --unlock
    run -0 $go
    [[ $output == *'1 of 1 observations searched: results/report.html'* ]]
    [ ! -e results/unfinished.html ]
}

@test "the recipe of doc/archive.md finds the burst in real files" {
    need_data askap_frb180417_beam29.fil
    ln -s "$PSRKIT_TEST_DATA" data
    commands_of "$srcdir/doc/archive.md" >commands.sh
    WORKFLOW=$flow run -0 bash -euo pipefail commands.sh
    n=$(($(wc -l <survey.tsv) - 1))
    [[ $output == *"$n of $n observations searched: results/report.html"* ]]
    grep '^{"name": "askap_frb180417_beam29.fil"' results/searches.json >summary
    # FRB 180417: DM 474.8.
    sed 's/.*"best_burst"//' summary | grep -oE '"dm": [0-9.]+' | awk '{ print; exit !($2 > 465 && $2 < 485) }'
    sed 's/.*"best_burst"//' summary | grep -oE '"snr": [0-9.]+' | awk '{ print; exit !($2 > 15) }'
}
