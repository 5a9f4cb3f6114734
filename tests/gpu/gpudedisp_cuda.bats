# gpudedisp on GPUs against gpudedisp on the CPU: the same files, to the byte.

load ../tools/helper

setup() {
    cd "$BATS_TEST_TMPDIR"
    # A burst, and interference: spectra that are clipped, over all of the band.
    fakebin -period 0 -nbits 8 -nchans 256 -tsamp 256 -tobs 12 -fch1 1500 -foff -1 -seed 3 \
        -add "burst dm=120 t=5 width=2e-3 snr=25" -o a.fil
    header=$(($(grep -obUam1 HEADER_END a.fil | cut -d: -f1) + 10))
    for t in 2500 2501 9000 30000; do
        head -c 256 /dev/zero | tr '\0' '\377' |
            dd of=a.fil bs=1 seek=$((header + 256 * t)) conv=notrunc status=none
    done
    run gpudedisp -q -nobary -numdms 1 -nowrite -v -device all a.fil
    # A device that is there and fails is no reason to skip.
    [ "$status" -eq 0 ] || [[ $output == *": device "* ]] || skip "$output"
    [ "$status" -eq 0 ]
}

# same OPTION...: on the CPU, on one GPU, and dealt out twice to one.
same() {
    local device
    for device in cpu cuda 0,0 all; do
        rm -rf "$device"
        mkdir "$device"
        (cd "$device" && gpudedisp -q -nobary -lodm 0 -dmstep 2 -numdms 100 -device "$device" "$@" -o o ../a.fil)
    done
    [ "$(ls cpu | wc -l)" -gt 50 ]
    for device in cuda 0,0 all; do diff -rq cpu "$device"; done
}

@test "series on GPUs are those of the CPU" {
    same
    same -downsamp 3 -tol 1 -noclip
    same -algo subband -nsub 32
}

@test "series of floats on GPUs are near those of the CPU" {
    for device in cpu cuda 0,0; do
        gpudedisp -q -nobary -zerodm -lodm 0 -dmstep 2 -numdms 3 -device $device -o "z$device" a.fil
    done
    cmp zcuda_DM2.00.dat z0,0_DM2.00.dat
    [ "$(stat -c %s zcpu_DM2.00.dat)" = "$(stat -c %s zcuda_DM2.00.dat)" ]
}

@test "events of series that stay on GPUs are those of the CPU" {
    same -singlepulse -nowrite -threshold 5
    [ "$(cat cpu/*.singlepulse | wc -l)" -gt 20 ]
    same -singlepulse -nowrite -threshold 5 -noclip -downsamp 2
    same -singlepulse -nowrite -threshold 5 -clip 3 -maxwidth 0.01
    same -singlepulse -nowrite -threshold 5 -numout 20000
}

@test "events of barycentred series that stay on GPUs are those of the CPU" {
    for device in cpu cuda 0,0; do
        rm -rf "$device"
        mkdir "$device"
        (cd "$device" && gpudedisp -q -position 05:34:31.97,+22:00:52.1 -site 149,-33,400 -lodm 0 -dmstep 2 -numdms 100 \
            -device $device -singlepulse -nowrite -threshold 5 -o o ../a.fil)
    done
    [ "$(cat cpu/*.singlepulse | wc -l)" -gt 20 ]
    for device in cuda 0,0; do diff -rq cpu $device; done
}

@test "events of all lines of a plan are the same" {
    printf '0 1 90 1 0\n90 2 40 2 0\n170 3 20 6 0\n' >plan
    for device in cpu cuda 0,0 all; do
        rm -rf "$device"
        mkdir "$device"
        (cd "$device" && gpudedisp -q -nobary -plan ../plan -device $device -singlepulse -nowrite -threshold 5 \
            -o o ../a.fil)
        (cd "$device" && gpudedisp -q -nobary -plan ../plan -device $device -o s ../a.fil)
    done
    [ "$(cat cpu/*.singlepulse | wc -l)" -gt 20 ]
    for device in cuda 0,0 all; do diff -rq cpu $device; done
}

@test "events beside series are the same" {
    same -singlepulse -threshold 5.5
}

@test "events of series that are cleaned automatically, of what channels are left, are those of the CPU" {
    # Half of the band, single channels and all of it are masked for some time; there is no data in some.
    fakebin -period 0 -nbits 8 -nchans 256 -tsamp 256 -tobs 24 -fch1 1500 -foff -1 -seed 4 -o a.fil \
        -add "burst dm=120 t=5 width=2e-3 snr=25" -add "burst dm=40 t=15 width=1e-3 snr=30" \
        -rfi "spark rate=3 width=2e-3" -rfi "drop share=.01 bw=32" -rfi "tone freq=1400 level=2 mod=0" \
        -rfi "phone freq=1450 bw=40"
    same -clean auto -singlepulse -nowrite -threshold 5
    [ "$(cat cpu/*.singlepulse | wc -l)" -gt 20 ]
    [ "$(sed -n 's/.*"spark_spectra": \([0-9]*\).*/\1/p' cpu/o.clean.json)" -gt 100 ]
    same -clean auto -singlepulse -nowrite -threshold 5 -downsamp 3 -numout 20000
    same -clean auto -singlepulse -threshold 6 -ignorechan 3:9
    same -clean auto -singlepulse -nowrite -threshold 6 -algo subband -nsub 32 -mem 300M
    printf '0 1 90 1 0\n90 2 40 2 0\n170 3 20 6 0\n' >plan
    for device in cpu cuda 0,0; do
        rm -rf "$device"
        mkdir "$device"
        (cd "$device" && gpudedisp -q -nobary -plan ../plan -device $device -clean auto -singlepulse -nowrite \
            -threshold 5 -o o ../a.fil)
        (cd "$device" && gpudedisp -q -position 05:34:31.97,+22:00:52.1 -site 149,-33,400 -lodm 0 -dmstep 2 -numdms 100 \
            -device $device -clean auto -singlepulse -nowrite -threshold 5 -o b ../a.fil)
    done
    [ "$(cat cpu/b*.singlepulse | wc -l)" -gt 20 ]
    for device in cuda 0,0; do diff -rq cpu $device; done
    # Series stay as they are for the search for pulsars beside it.
    for device in cuda 0,0; do
        mkdir "with $device" "without $device"
        (cd "with $device" && gpudedisp -q -nobary -plan ../plan -device $device -clean auto -nowrite -singlepulse \
            -threshold 5 -accelsearch "-zmax 0 -numharm 1" -o o ../a.fil)
        cmp cpu/o.cand "with $device/o.cand"
        rm "with $device"/*.singlepulse "with $device/o.cand"
        (cd "without $device" && gpudedisp -q -nobary -plan ../plan -device $device -clean auto -nowrite \
            -accelsearch "-zmax 0 -numharm 1" -o o ../a.fil)
        diff -rq "with $device" "without $device"
    done
}

@test "lists of searches are the same on every device, marks included" {
    # A sky with interference, one without, and those given in PSRKIT_TEST_SKIES.
    sky="fakebin -q -period 0.217 -dm 40 -nbits 8 -nchans 64 -tsamp 512 -tobs 40 -fch1 1500 -foff -4"
    $sky -seed 8 -add "burst dm=60 t=12 width=4e-3 snr=14" -o quiet.fil
    $sky -seed 9 -add "burst dm=60 t=12 width=4e-3 snr=14" -rfi "spark rate=3 width=6e-4 level=2" \
        -rfi "phone freq=1400 bw=30" -rfi "tone freq=1450 level=9 period=0.37 width=5e-4" -o loud.fil
    for device in cpu 0; do
        mkdir $device
        for f in quiet.fil loud.fil ${PSRKIT_TEST_SKIES:-}; do
            psrsearch -q -position 05:34:31.97,+22:00:52.1 -site 149,-33,400 -hidm 100 -device $device -o $device "$f"
        done
    done
    for list in cpu/*.cand cpu/*.sift cpu/*.sift.csv; do
        case $list in *_ACCEL_*) ;; *) cmp "$list" "0/${list#cpu/}" ;; esac
    done
    [ "$(cat cpu/quiet.cand cpu/loud.cand | wc -l)" -gt 4 ]
}

@test "slow pulsars beside stretches that a mask leaves without data are those of the CPU" {
    fakebin -q -seed 5 -tobs 64 -tsamp 1000 -nchans 32 -fch1 1500 -foff 10 -nbits 8 -period 0 -o obs.fil \
        -add "pulsar period=1.3 dm=200 width=0.03 snr=25"
    gpurfifind -q -time 4 -zapints 0:7,12 -o most obs.fil # of intervals of 4.8 s
    for device in cpu cuda 0,0; do
        mkdir $device
        (cd $device && gpudedisp -q -nobary -lodm 0 -dmstep 50 -numdms 9 -device $device -nowrite \
            -mask ../most_rfifind.mask -ffa "-pmin 0.5 -pmax 4" -o o ../obs.fil)
        cmp cpu/o_ffa.csv $device/o_ffa.csv
    done
    [[ $(sed -n 2p 0,0/o_ffa.csv) == 1.299* ]]
}

@test "-v says where the time went" {
    run -0 --separate-stderr gpudedisp -v -nobary -singlepulse -nowrite -numdms 50 -device 0,0 -o t a.fil
    [[ $stderr == *"2 devices: copy in "*" turn "*" dedisperse "*" search "* ]]
    [[ $stderr == *"setup "*" run "*" read "* ]]
}

# lost BYTES OPTION...: a GPU of the devices is lost once so much of the input has been read.
lose=(LD_PRELOAD="$builddir/tests/gpu/lose_device.so" gpudedisp)
devices=cuda
number=0
lost() {
    local after=$1
    shift
    run -1 --separate-stderr env LOSE_AFTER="$after" "${lose[@]}" \
        -q -nobary -lodm 0 -dmstep 2 -numdms 100 -mem 100M -device $devices "$@" a.fil
    echo "$stderr" >&2
    [ "$(wc -l <<<"$stderr")" = 1 ]
    [[ $stderr == "gpudedisp: device "$number": "*": after "*" spectra of a.fil; "* ]]
}

lost_anywhere() {
    ls >before
    for after in 1000000 6000000 11900000; do
        lost $after -o t
        [[ $stderr == *"; no file was written" ]]
        lost $after -singlepulse -nowrite -o t
        [[ $stderr == *"; no file was written" ]]
        lost $after -singlepulse -o t
        [[ $stderr == *"; no file was written" ]]
    done
    ls | diff before -
}

@test "a GPU that is lost in the middle is told, and nothing is left" {
    lost_anywhere
    lost 6000000 -numdms 1 -o -
    [[ $stderr == *"; what went to standard output is not whole" ]]
    ls | diff before -
}

@test "so is the second of two, where one may play both" {
    devices=0,1
    if gpudedisp -q -v -nobary -numdms 2 -nowrite -device 0,1 a.fil; then
        lose=(LOSE_DEVICE=1 "${lose[@]}")
        number=[01] # CUDA may take both from the process, and the first one asked is named
    else
        number=1
        lose=("$builddir/tests/gpu/gpudedisp_pair")
        echo "# one GPU plays both" >&3
        "${lose[@]}" -q -nobary -lodm 0 -dmstep 2 -numdms 100 -device 0,1 -o two a.fil
        gpudedisp -q -nobary -lodm 0 -dmstep 2 -numdms 100 -device 0 -o one a.fil
        for i in one_*.dat; do cmp $i two${i#one}; done
    fi
    lost_anywhere
}

@test "a GPU that gpuaccel-pulscan loses is one line" {
    gpudedisp -q -nobary -lodm 0 -dmstep 2 -numdms 30 -device cuda -o t a.fil
    run -1 --separate-stderr env LD_PRELOAD="$builddir/tests/gpu/lose_device.so" LOSE_AFTER=2000000 \
        gpuaccel-pulscan -q -device cuda -batch 2 -ncpus 1 t_*.dat
    [[ $stderr == "gpuaccel-pulscan: device 0: "*": after "*" files; t_DM"*".dat and those after it are not searched" ]]
    [ "$(wc -l <<<"$stderr")" = 1 ]
}

@test "devices that are not there are refused" {
    run -1 --separate-stderr gpudedisp -q -numdms 2 -device 0,99 -o t a.fil
    [[ $stderr == *"device 99"* ]]
    run -1 --separate-stderr gpudedisp -q -numdms 2 -device 0,x -o t a.fil
    [[ $stderr == *"-device"* ]]
    [ ! -e t_DM0.00.dat ]
}
