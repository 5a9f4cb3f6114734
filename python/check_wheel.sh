#!/usr/bin/env bash
# check_wheel.sh TARBALL FOLDER: makes a wheel in a bare Debian 11, whose glibc is 2.31, and tests it in bare Debians 11, 12 and 13
# (Python 3.9, 3.11, 3.13), where neither the sources nor a compiler are.  TARBALL is that of make dist; the wheel goes to FOLDER.
# Needs root, mmdebstrap, pip, and a network for Debian's packages and PyPI's.  SUITES names other suites to test in; BASE keeps
# the userlands in that folder for the next time; PSRKIT_TEST_DATA has files that some tests read.
set -euo pipefail
[ $# = 2 ] || { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
tarball=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
python=${PYTHON:-python3}
most_libraries=10
[ "$(id -u)" = 0 ] || { echo "check_wheel.sh: only root can change into another userland" >&2; exit 1; }
command -v mmdebstrap >/dev/null || { echo "check_wheel.sh: there is no mmdebstrap" >&2; exit 1; }
work=$(mktemp -d "${TMPDIR:-/tmp}/psrkit-wheel.XXXXXX")
base=${BASE:-$work}
trap 'umount "$base"/*/proc 2>/dev/null || :; rm -rf "$work"' EXIT
mkdir -p "$base"

# timed NAME COMMAND...: runs it, its output into a log that is shown if it fails.
timed() {
    local name=$1 began=$SECONDS
    shift
    "$@" >"$work/log" 2>&1 || { tail -n 50 "$work/log"; echo "FAILED: $name" >&2; exit 1; }
    printf '%-50s %4d s\n' "$name" $((SECONDS - began))
}
inside() {
    local root=$base/$1
    shift
    chroot "$root" env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}
# userland NAME SUITE PACKAGES: makes one that is not there yet.
userland() {
    [ -d "$base/$1" ] || timed "bare $2 with $1" mmdebstrap --variant=apt --include="$3" "$2" "$base/$1" \
        "deb http://deb.debian.org/debian $2 main"
    cp /etc/resolv.conf "$base/$1/etc/" 2>/dev/null || :
    mount -t proc proc "$base/$1/proc"
    rm -rf "$base/$1/build" && mkdir "$base/$1/build"
}

# from_pypi ROOT VERSION PACKAGES...: brings wheels for a Python of that version into packages/, the one place where a userland looks.
from_pypi() {
    local root=$1 version=$2
    shift 2
    timed "from PyPI for Python $version: $1 .." "$python" -m pip download -q --disable-pip-version-check --only-binary :all: \
        --python-version "$version" --platform manylinux2014_x86_64 --platform manylinux_2_28_x86_64 -d "$base/$root/build/packages" "$@"
}

userland compilers bullseye ca-certificates,dpkg-dev,gcc,g++,make,pkg-config,libfftw3-dev,liberfa-dev,libxxhash-dev,zlib1g-dev,python3,python3-venv,patchelf,binutils,file
tar -xf "$tarball" -C "$base/compilers/build" --strip-components=1 --one-top-level=psrkit
build() { inside compilers sh -ec "cd /build && $1"; }
# Debian 11's own source is no longer on the servers.
echo "deb-src http://deb.debian.org/debian bookworm main" >"$base/compilers/etc/apt/sources.list.d/source.list"
timed "source of cfitsio" build 'apt-get update && apt-get source --tar-only cfitsio && mkdir fits && tar -xf cfitsio_*.orig.tar.* -C fits --strip-components=1'
timed "cfitsio without curl" build 'cd fits && ./configure --disable-curl --prefix=/build/inst && make -j2 shared && make install'
timed "psrkit for glibc 2.31" build 'mkdir b && cd b && PKG_CONFIG_PATH=/build/inst/lib/pkgconfig ../psrkit/configure --without-cuda --disable-static --prefix=/build/inst && make -j2 && make install'
# Debian 11's setuptools does not read names from pyproject.toml.
from_pypi compilers 3.9 setuptools wheel cffi
timed "setuptools and wheel" build 'python3 -m venv v && v/bin/pip install -q --no-index --find-links packages -U setuptools wheel cffi'
timed "wheel" build 'PYTHON=/build/v/bin/python CFITSIO=/build/inst/lib/libcfitsio.so psrkit/python/make_wheel.sh /build/inst /build/wheel'
rm -f "$out"/psrkit-*.whl
cp "$base"/compilers/build/wheel/*.whl "$out/"
wheel=$(echo "$out"/psrkit-*.whl)
libraries=$(unzip -l "$wheel" | grep -c ' psrkit/_lib/.')
printf '%s: %d libraries, %d programs, %d bytes\n' "${wheel##*/}" "$libraries" "$(unzip -l "$wheel" | grep -c ' psrkit/_bin/.')" "$(stat -c %s "$wheel")"
[ "$libraries" -le $((most_libraries + 1)) ] || { echo "FAILED: more than $most_libraries libraries beside psrkit's" >&2; exit 1; }
if "$python" -c 'import auditwheel' 2>/dev/null; then
    "$python" -m auditwheel show "$wheel" | grep 'is consistent with\|manylinux' | head -n 2
else
    echo "SKIPPED: there is no auditwheel"
fi

for suite in ${SUITES:-bullseye bookworm trixie}; do
    userland "python-$suite" "$suite" python3-minimal,python3-venv,ca-certificates
    version=$(inside "python-$suite" python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    site=$base/python-$suite/build
    # The last three are what pytest needs of a Python that is older than pip's.  The oldest has the oldest numpy, and nothing else.
    packages=(cffi pytest exceptiongroup tomli typing_extensions)
    [ "$version" = 3.9 ] && packages=('numpy<2' "${packages[@]}") || packages=(numpy astropy matplotlib pandas "${packages[@]}")
    from_pypi "python-$suite" "$version" "${packages[@]}"
    cp "$wheel" "$site/packages"
    cp -R "$base"/compilers/build/psrkit/python/{tests,notebooks,pyproject.toml} "$site/"
    mkdir "$site/data"
    [ -z "${PSRKIT_TEST_DATA:-}" ] || cp -R "$PSRKIT_TEST_DATA"/{parkes_*.fil,*.inf,*.dat,*.fft,gbt_lband,presto_folds} "$site/data/"
    timed "pip install, Python $version" inside "python-$suite" sh -ec \
        'python3 -m venv /build/v && cd /build/packages && /build/v/bin/pip install -q --no-index --find-links . *.whl'
    inside "python-$suite" sh -c 'command -v cc' && { echo "FAILED: there is a compiler" >&2; exit 1; }
    timed "tests, Python $version" inside "python-$suite" env PATH=/build/v/bin:/usr/bin:/bin PSRKIT_TEST_SLOW="${PSRKIT_TEST_SLOW:-4}" \
        PSRKIT_TEST_DATA=/build/data sh -ec 'cd /build && PATH=$PATH:$(echo /build/v/lib/python3*/site-packages/psrkit/_bin) python -m pytest -q -p no:cacheprovider -rs tests'
    inside "python-$suite" /build/v/bin/python -c 'import numpy; print("numpy", numpy.__version__)'
    grep SKIPPED "$work/log" || :
    tail -n 1 "$work/log"
done
