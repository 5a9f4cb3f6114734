#!/usr/bin/env bash
# check_wheel.sh TARBALL FOLDER: makes a wheel in a bare Debian 11, whose glibc is 2.31, and tests it in bare Debians 11, 12 and 13
# (Python 3.9, 3.11, 3.13), where neither the sources nor a compiler are.  TARBALL is that of make dist; the wheel goes to FOLDER.
# Needs root, mmdebstrap, pip, and a network for Debian's packages and PyPI's.  SUITES names other suites to test in; BASE keeps
# the userlands in that folder for the next time.
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
    rm -rf "$base/$1/work" && mkdir "$base/$1/work"
}

userland compilers bullseye ca-certificates,dpkg-dev,gcc,g++,make,pkg-config,libfftw3-dev,liberfa-dev,libxxhash-dev,zlib1g-dev,python3,python3-pip,python3-setuptools,python3-wheel,python3-cffi,patchelf,binutils,file
tar -xf "$tarball" -C "$base/compilers/work" --strip-components=1 --one-top-level=psrkit
build() { inside compilers sh -ec "cd /work && $1"; }
# Debian 11's own source is no longer on the servers.
echo "deb-src http://deb.debian.org/debian bookworm main" >"$base/compilers/etc/apt/sources.list.d/source.list"
timed "source of cfitsio" build 'apt-get update && apt-get source --tar-only cfitsio && mkdir fits && tar -xf cfitsio_*.orig.tar.* -C fits --strip-components=1'
timed "cfitsio without curl" build 'cd fits && ./configure --disable-curl --prefix=/work/inst && make -j2 shared && make install'
timed "psrkit for glibc 2.31" build 'mkdir b && cd b && PKG_CONFIG_PATH=/work/inst/lib/pkgconfig ../psrkit/configure --without-cuda --disable-static --prefix=/work/inst && make -j2 && make install'
timed "wheel" build 'CFITSIO=/work/inst/lib/libcfitsio.so psrkit/python/make_wheel.sh /work/inst /work/wheel'
rm -f "$out"/psrkit-*.whl
cp "$base"/compilers/work/wheel/*.whl "$out/"
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
    site=$base/python-$suite/work
    # The last three are what pytest needs of a Python that is older than pip's.
    timed "numpy, cffi and pytest for Python $version" "$python" -m pip download -q --disable-pip-version-check --only-binary :all: \
        --python-version "$version" --platform manylinux2014_x86_64 --platform manylinux_2_28_x86_64 -d "$site/packages" \
        numpy cffi pytest exceptiongroup tomli typing_extensions
    cp "$wheel" "$site/packages"
    cp -R "$(dirname "$0")/tests" "$(dirname "$0")/pyproject.toml" "$site/"
    timed "pip install, Python $version" inside "python-$suite" sh -ec \
        'python3 -m venv /work/v && /work/v/bin/pip install -q --no-index --find-links /work/packages psrkit pytest'
    inside "python-$suite" sh -c 'command -v cc' && { echo "FAILED: there is a compiler" >&2; exit 1; }
    timed "tests, Python $version" inside "python-$suite" env PATH=/work/v/bin:/usr/bin:/bin PSRKIT_TEST_SLOW="${PSRKIT_TEST_SLOW:-4}" sh -ec \
        'cd /work && python -m pytest -q -p no:cacheprovider -rs tests'
    tail -n 1 "$work/log"
done
