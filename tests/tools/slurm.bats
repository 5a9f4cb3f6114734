#!/usr/bin/env bats
# workflow/ on one node of Slurm, which is killed in the middle.  `make check-slurm` runs it, not `make check`: it takes minutes.

load helper
load slurm
load workflow

setup() {
    cd "$BATS_TEST_TMPDIR"
    export XDG_CACHE_HOME=$PWD/cache
    command -v snakemake >/dev/null || skip "snakemake is not installed: the workflow was NOT tried with Slurm"
    snakemake --help >help 2>&1
    grep -q -- --slurm-status-command help || skip "snakemake has no snakemake-executor-plugin-slurm: the workflow was NOT tried with Slurm"
    PATH=$PATH:/usr/sbin:/sbin
    slurm_dir=$PWD/slurm
    missing=$(slurm_have) || skip "$missing: the workflow was NOT tried with Slurm"
    slurm_start || { slurm_stop; skip "no Slurm can be started here: the workflow was NOT tried with it"; }
    flow=$srcdir/workflow
    local="snakemake -s $flow/Snakefile --profile $flow/profiles/laptop --configfile c.yaml --cores 2"
    go="snakemake -s $flow/Snakefile --profile $flow/profiles/slurm --configfile c.yaml --cores 2 --jobs 4"
    go="$go --slurm-status-command squeue --slurm-init-seconds-before-status-checks 2 --latency-wait 5"
    go="$go --slurm-no-account --default-resources slurm_partition=all --resources mem_mb=1800 --group-components small=4"
}

teardown() {
    [ -z "${slurm_dir-}" ] || slurm_stop
    cd /
}

# Observations of two lengths: short ones share jobs.
make_table() {
    local i
    printf 'name\tfile\n' >table.tsv
    for i in 1 2 3 4 5 6; do
        add_row "$i" $((i > 4 ? 24 : 6))
    done
    head -c 2000 f2.fil >cut && mv cut f2.fil
    printf 'table: table.tsv\noptions: "-hidm 60 -res 2 -clean none"\nthreads: 1\nmem_mb: 400\nsmall_gsamples: 0.0003\n' >c.yaml
}

# A search has begun, or the run has ended.
has_begun() {
    [ -n "$(ls began.* 2>/dev/null)" ] || ! kill -0 "$run" 2>/dev/null
}

# failed_run: shows what it said.
failed_run() {
    tail -n 100 said results/failed.tsv results/*/search.log .snakemake/slurm_logs/*/*.log 2>/dev/null
    return 1
}

@test "slurmd and its jobs are killed in the middle: they are requeued, and the results are the same" {
    make_table
    $local --config results=ref >ref.log 2>&1
    rm -r .snakemake
    # Searches wait until the node has been killed.
    tools_here
    mv bin/gpudedisp bin/real
    printf '#!/bin/sh\n: >began.$$\n[ -e killed ] || sleep 300\nexec %s/bin/real "$@"\n' "$PWD" >bin/gpudedisp
    chmod +x bin/gpudedisp
    $go >said 2>&1 3>&- &
    run=$!
    slurm_until 120 has_begun || failed_run
    [ -n "$(ls began.*)" ] || failed_run
    # Slurm misses jobs that are older than some seconds.
    sleep 6
    slurm_crash
    : >killed
    kill -0 $run
    slurmd_start
    wait $run || failed_run
    grep -q 'requeue JobId=.* due to node failure' "$slurm_dir/slurmctld.log"
    grep -q '5 of 6 observations searched: results/report.html; 1 cannot be: results/failed.tsv' said || failed_run
    same_results ref results
    # Short observations shared a job, the long ones had their own.
    [ "$(grep -c 'JobId=[0-9]* InitPrio' "$slurm_dir/slurmctld.log")" -lt 8 ]
    run -0 $go -n
    [[ $output == *'Nothing to be done'* ]]
}
