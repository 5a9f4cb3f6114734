# One node of Slurm, of this user, in the current folder: slurm_start, slurm_stop, slurm_crash.  Ports, keys and sockets are its
# own, so that it meets no other Slurm of the machine.

slurm_have() {
    local program
    PATH=$PATH:/usr/sbin:/sbin
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
AuthInfo=socket=$PWD/munge/socket,cred_expire=5
CredType=cred/munge
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
StateSaveLocation=$PWD/state
SlurmdSpoolDir=$PWD/spool
SlurmctldPidFile=$PWD/slurmctld.pid
SlurmdPidFile=$PWD/slurmd.pid
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
    slurmd -D -f "$SLURM_CONF" >slurmd.log 2>&1 3>&- &
    slurmd=$!
}

slurm_start() {
    export SLURM_CONF=$PWD/slurm.conf
    mkdir -p munge state spool
    chmod 700 munge
    slurm_config >slurm.conf
    head -c 1024 /dev/urandom >munge/key
    chmod 400 munge/key
    munged -F -f --key-file munge/key -S munge/socket --pid-file munge/pid --log-file munge/log --seed-file munge/seed \
        >munge/out 2>&1 3>&- &
    munged=$!
    slurm_until 10 [ -S munge/socket ] || return 1
    slurmctld -D -f "$SLURM_CONF" >slurmctld.log 2>&1 3>&- &
    slurmctld=$!
    slurmd_start
    slurm_until 30 slurm_node_is idle
}

# Processes of jobs of this Slurm, and those that hold them.
slurm_job_pids() {
    local process pid
    for process in /proc/[0-9]*; do
        pid=${process#/proc/}
        tr '\0' '\n' 2>/dev/null <"$process/environ" >environ.txt || continue
        grep -qx "SLURM_CONF=$SLURM_CONF" environ.txt && grep -q ^SLURM_JOB_ID= environ.txt || continue
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
