# gpufold on a GPU against gpufold on the CPU: the same files, to the byte.

load ../tools/helper

setup() {
    cd "$BATS_TEST_TMPDIR"
    # A pulsar, and interference: spectra that are clipped, a channel that is masked at times.
    fakebin -q -period 0 -nbits 8 -nchans 256 -tsamp 256 -tobs 30 -fch1 1500 -foff -1 -seed 3 \
        -add "pulsar period=0.0893 dm=60 width=5e-3 snr=30" -rfi "spark rate=1 level=3 width=2e-3" -o a.fil
    awk 'BEGIN { srand(3); print "# name DM p"
        for (i = 0; i < 40; i++) printf "c%d %.3f %.9f\n", i, 300 * rand(), 0.002 * exp(rand() * log(500)) }' >list
    echo 'q 60 0.0893' >>list
    run gpufold -q -nosearch -noplot -topo -p 0.1 -dm 60 -device cuda -o t a.fil
    # A device that is there and fails is no reason to skip.
    [ "$status" -eq 0 ] || [[ $output == *": device "* ]] || skip "$output"
    [ "$status" -eq 0 ]
}

# same FILE OPTION...: both devices.
same() {
    local device
    for device in cpu cuda; do
        rm -rf "$device"
        mkdir "$device"
        (cd "$device" && gpufold -q -noplot -topo -cands ../list -device "$device" "${@:2}" -o o ../"$1")
    done
    [ "$(ls cpu | wc -l)" -ge 82 ]
    diff -rq cpu cuda
}

@test "folds and searches on a GPU are those of the CPU" {
    same a.fil
    same a.fil -nosearch -n 50 -noclip
    same a.fil -nosearch -n 200 -nsub 64 -npart 7 -mem 64M
}

@test "cleaned folds on a GPU are those of the CPU" {
    same a.fil -nosearch -clean auto
    same a.fil -nosearch -zerodm
}

@test "folds of other depths on a GPU are those of the CPU" {
    for nbits in 1 2 4 16 32; do
        fakebin -q -period 89.3 -dm 60 -snrpeak 0.5 -nbits $nbits -nchans 96 -tsamp 256 -tobs 12 -fch1 1500 -foff -1 -seed 3 -o b.fil
        same b.fil -nosearch -nsub 32
    done
}
