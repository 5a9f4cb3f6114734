#!/usr/bin/env bats
# configure: CUDA for the GPUs of this machine, and not where there is none.

load helper

# What configure says of CUDA, with programs of ours for nvcc and nvidia-smi.
choose() {
    mkdir -p bin build
    printf '#!/bin/sh\n[ "$1" != --list-gpu-code ] || echo sm_80 sm_90 | tr " " "\\n"\nexit %s\n' 1 >bin/nvcc
    printf '#!/bin/sh\n%s\n' "$1" >bin/nvidia-smi
    chmod +x bin/*
    shift
    (cd build && PATH=$BATS_TEST_TMPDIR/bin:$PATH "$root/configure" --without-cairo "$@" >log 2>&1) || return
    sed -n 's/^psr_cuda_summary = //p' build/Makefile
}

setup() {
    root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    cd "$BATS_TEST_TMPDIR"
    [ -n "${PSRKIT_LONG-}" ] || skip "PSRKIT_LONG is not set"
    # What configure finds does not hang on how this build was made.
    if grep -q '^SANITIZE_CFLAGS = .' "$builddir/Makefile"; then
        skip "asked of the build without sanitizers"
    fi
    [ -x "$root/configure" ] || skip "no configure"
    [ ! -f "$root/config.status" ] || skip "built in the source's folder"
}

@test "without a GPU, CUDA is left out, and how to add it is said" {
    [ "$(choose 'exit 9')" = "no: no GPU is seen here (--with-cuda-arch=all adds CUDA for every GPU, =sm_90 for one kind)" ]
}

@test "CUDA is built for the GPUs that the driver shows, each kind once" {
    said=$(choose 'printf "9.0\n8.0\n9.0\n"')
    [[ $said == "no: $BATS_TEST_TMPDIR/bin/nvcc does not compile for sm_80,sm_90; it knows sm_80 sm_90" ]]
}

@test "architectures that are named must be built" {
    fails choose 'exit 9' --with-cuda-arch=sm_80
    grep -q 'does not compile for sm_80' build/log
}
