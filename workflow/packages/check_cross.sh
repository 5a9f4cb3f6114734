#!/usr/bin/env bash
# check_cross.sh TARBALL: compiles psrkit for aarch64 in a bare Debian 12 and runs the C tests under qemu-user, then looks at all
# sources as clang for macOS does, if $PYTHON has ziglang (of PyPI).  TARBALL is that of make dist.
# Needs root, mmdebstrap, and a network for Debian's packages; says how long each step took.  BASE keeps the userland in that folder
# for the next time.
set -euo pipefail
[ $# = 1 ] || { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
tarball=$(realpath "$1")
python=${PYTHON:-python3}
[ "$(id -u)" = 0 ] || { echo "check_cross.sh: only root can change into another userland" >&2; exit 1; }
command -v mmdebstrap >/dev/null || { echo "check_cross.sh: there is no mmdebstrap" >&2; exit 1; }
work=$(mktemp -d "${TMPDIR:-/tmp}/psrkit-cross.XXXXXX")
mkdir -p "${BASE:-$work}"
root=${BASE:-$work}/cross
trap 'umount "$root/proc" 2>/dev/null || :; rm -rf "$work"' EXIT

# timed NAME COMMAND...: runs it, its output into a log that is shown if it fails.
timed() {
    local name=$1 began=$SECONDS
    shift
    "$@" >"$work/log" 2>&1 || { tail -n 50 "$work/log"; echo "FAILED: $name" >&2; exit 1; }
    printf '%-44s %4d s\n' "$name" $((SECONDS - began))
}
inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 sh -ec "cd /build/b && $1"; }

[ -d "$root" ] || timed "bare bookworm with arm64" mmdebstrap --variant=apt --architectures=amd64,arm64 \
    --include=gcc-aarch64-linux-gnu,g++-aarch64-linux-gnu,make,pkg-config,qemu-user-static,libcairo2-dev:arm64,libcfitsio-dev:arm64,liberfa-dev:arm64,libfftw3-dev:arm64,libhdf5-dev:arm64,libxxhash-dev:arm64,zlib1g-dev:arm64 \
    bookworm "$root" "deb http://deb.debian.org/debian bookworm main"
mount -t proc proc "$root/proc"
rm -rf "$root/build" && mkdir -p "$root/build/b"
tar -xf "$tarball" -C "$root/build" --strip-components=1 --one-top-level=psrkit
timed "psrkit for aarch64" inside 'PKG_CONFIG_LIBDIR=/usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig \
    ../psrkit/configure --host=aarch64-linux-gnu --without-cuda --enable-werror && make -j"$(nproc)"'
timed "its C tests" inside 'make -j"$(nproc)" check TESTS='

macos() {
    local file files=0 bad=0 began=$SECONDS
    "$python" -c 'import ziglang' 2>/dev/null || { echo "SKIPPED: macOS, $python has no ziglang"; return; }
    mkdir "$work/include"
    cp -RL "$root"/usr/include/{cairo,erfa*.h,fftw3.h,fitsio.h,hdf5/serial/*.h,longnam.h,xxh*.h,zconf.h,zlib.h} "$work/include/" 2>/dev/null || :
    # HDF5's header includes it where it was configured with glibc.
    : >"$work/include/features.h"
    cd "$root/build/psrkit"
    for file in $(find lib tools -name '*.c' ! -name '*_cuda.c'); do
        files=$((files + 1))
        # The driver has no object to store, and there is no CUDA for macOS.
        "$python" -m ziglang cc -target aarch64-macos -std=c11 -fsyntax-only -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -Ilib -Ikernels -I../b -I. \
            -I"$work/include" -I"$work/include/cairo" "$file" 2>&1 | grep 'error: ' | grep -v -e 'failed to rename' -e cuda_runtime && bad=$((bad + 1)) || :
    done
    printf '%-44s %4d s: %d files, %d fail\n' "syntax for macOS" $((SECONDS - began)) $files $bad
    [ $bad = 0 ]
}
failed=0
macos || failed=1

# Last, as they take an hour of two cores; one that fails does not stop the others.
began=$SECONDS
inside "make -k -j\"\$(nproc)\" check TESTS='\$(UNIT_TESTS)' LOG_COMPILER=qemu-aarch64-static" >"$work/log" 2>&1 || failed=1
printf '%-44s %4d s\n' "its C tests under qemu" $((SECONDS - began))
grep -E '^# (PASS|FAIL|SKIP|ERROR):|^(FAIL|ERROR): [^ ]*$' "$work/log"
exit $failed
