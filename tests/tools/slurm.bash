# One node of Slurm, of this user, in the folder slurm_dir: slurm_start, slurm_crash, slurmd_start, slurm_stop.  Ports, keys and
# sockets are its own, so that it meets no other Slurm of the machine.

slurm_have() {
    local program
    for program in munged slurmctld slurmd sbatch squeue scontrol; do
        command -v $program >/dev/null || { echo "$program is not installed"; return 1; }
    done
}

slurm_config() {
    local host port=$((20000 + RANDOM % 10000))
    host=$(uname -n)
    host=${host%%.*}
    cat <<END
ClusterName=test
SlurmctldHost=$host
SlurmctldPort=$port
SlurmdPort=$((port + 1))
AuthType=auth/munge
# A job that is requeued waits for so long.
AuthInfo=socket=$slurm_dir/munge/socket,cred_expire=5
CredType=cred/munge
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
StateSaveLocation=$slurm_dir/state
SlurmdSpoolDir=$slurm_dir/spool
SlurmctldPidFile=$slurm_dir/slurmctld.pid
SlurmdPidFile=$slurm_dir/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobRequeue=1
BatchStartTimeout=1
SlurmdTimeout=10
MessageTimeout=2
SlurmctldDebug=debug
MinJobAge=3600
ReturnToService=2
SwitchType=switch/none
MpiDefault=none
NodeName=$host NodeAddr=127.0.0.1 CPUs=2 RealMemory=2000 State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=60 State=UP
END
}

# slurm_until SECONDS COMMAND...: fails if it has not succeeded by then.
slurm_until() {
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.2
    done
}

slurm_node_is() {
    [[ $(sinfo -h -o %t 2>/dev/null) == $1 ]]
}

slurmd_start() {
    slurmd -D -f "$SLURM_CONF" >"$slurm_dir/slurmd.log" 2>&1 3>&- &
    slurmd=$!
}

# Snakemake's executor starts srun without SLURM_CONF.
slurm_srun() {
    mkdir "$slurm_dir/bin"
    printf '#!/bin/sh\nSLURM_CONF=%q exec %q "$@"\n' "$SLURM_CONF" "$(command -v srun)" >"$slurm_dir/bin/srun"
    chmod +x "$slurm_dir/bin/srun"
    PATH=$slurm_dir/bin:$PATH
}

slurm_start() {
    export SLURM_CONF=$slurm_dir/slurm.conf
    slurmd='' slurmctld='' munged=''
    mkdir -p "$slurm_dir"/{munge,state,spool}
    chmod 700 "$slurm_dir/munge"
    slurm_config >"$SLURM_CONF"
    slurm_srun
    (umask 377 && head -c 1024 /dev/urandom >"$slurm_dir/munge/key")
    munged -F -f --key-file "$slurm_dir/munge/key" -S "$slurm_dir/munge/socket" --pid-file "$slurm_dir/munge/pid" \
        --log-file "$slurm_dir/munge/log" --seed-file "$slurm_dir/munge/seed" >"$slurm_dir/munge/out" 2>&1 3>&- &
    munged=$!
    slurm_until 10 [ -S "$slurm_dir/munge/socket" ] || return 1
    slurmctld -D -f "$SLURM_CONF" >"$slurm_dir/slurmctld.log" 2>&1 3>&- &
    slurmctld=$!
    slurmd_start
    slurm_until 30 slurm_node_is idle
}

# Processes of jobs of this Slurm, and those that hold them.
slurm_job_pids() {
    local process pid
    for process in /proc/[0-9]*; do
        pid=${process#/proc/}
        tr '\0' '\n' <"$process/environ" >"$slurm_dir/environ" || continue
        grep -qx "SLURM_CONF=$SLURM_CONF" "$slurm_dir/environ" && grep -q ^SLURM_JOB_ID= "$slurm_dir/environ" || continue
        echo "$pid"
        [[ $(tr '\0' ' ' <"/proc/$(ps -o ppid= -p "$pid" | tr -d ' ')/cmdline" 2>/dev/null) != slurmstepd:* ]] ||
            ps -o ppid= -p "$pid"
    done 2>/dev/null | sort -un
}

slurm_crash() {
    local pids
    pids=$(slurm_job_pids)
    [ -n "$pids" ] || return 1
    kill -KILL "$slurmd" $pids
    wait "$slurmd" 2>/dev/null || true
}

slurm_stop() {
    local pid
    [ -z "$(squeue -h -o %i 2>/dev/null)" ] || scancel -u "$(id -un)"
    for pid in $(slurm_job_pids); do kill -KILL "$pid" 2>/dev/null || true; done
    for pid in $slurmd $slurmctld $munged; do
        kill -TERM "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
}
