#!/usr/bin/env bash
# check_packages.sh FOLDER [BASE.tar]: installs the .deb files of a folder in a bare Debian and runs their tests there
# (debian/tests).  BASE.tar, as mmdebstrap --variant=apt makes it, saves making one.
# Needs root, mmdebstrap, and a network for Debian's packages; says how long each step took and how large the packages are.
set -euo pipefail
folder=$(cd "$1" && pwd)
tests=$(cd "$(dirname "$0")/debian/tests" && pwd)
suite=${SUITE:-$(. /etc/os-release && echo "$VERSION_CODENAME")}
[ "$(id -u)" = 0 ] || { echo "check_packages.sh: only root can change into another userland" >&2; exit 1; }
command -v mmdebstrap >/dev/null || { echo "check_packages.sh: there is no mmdebstrap" >&2; exit 1; }
work=$(mktemp -d "${TMPDIR:-/tmp}/psrkit-packages.XXXXXX")
root=$work/root
trap 'umount "$root/proc" 2>/dev/null || :; rm -rf "$work"' EXIT

# timed NAME COMMAND...: runs it, its output into a log that is shown if it fails.
timed() {
    local name=$1 began=$SECONDS
    shift
    "$@" >"$work/log" 2>&1 || { cat "$work/log"; echo "FAILED: $name" >&2; exit 1; }
    printf '%-44s %4d s\n' "$name" $((SECONDS - began))
}
inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }

if [ $# -gt 1 ]; then
    mkdir "$root" && timed "unpacked $2" tar -C "$root" -xf "$2"
else
    timed "bare $suite" mmdebstrap --variant=apt "$suite" "$root"
fi
cp /etc/resolv.conf "$root/etc/" 2>/dev/null || :
mount -t proc proc "$root/proc"
mkdir "$root/packages" "$root/tests"
timed "apt update" inside apt-get update
cp "$folder"/*.deb "$root/packages"
cp "$tests"/* "$root/tests"
for stanza in psrkit:search "libpsrkit-dev gcc libc6-dev pkg-config:library" psrkit-presto-names:presto-names psrkit-doc:; do
    names=()
    for name in ${stanza%:*}; do
        found=$(cd "$root" && echo packages/"${name}"_*.deb)
        [ -e "$root/$found" ] && names+=("./$found") || names+=("$name")
    done
    # The library comes with the tools, as from an archive.
    [ "${stanza%%:*}" != psrkit ] || names+=(./packages/libpsrkit1_*.deb)
    timed "apt install ${stanza%:*}" inside sh -c 'cd / && apt-get install -y '"${names[*]}"
    test=${stanza##*:}
    [ -z "$test" ] || timed "debian/tests/$test" inside sh -c "mkdir -p /tmp/$test && cd / && AUTOPKGTEST_TMP=/tmp/$test /tests/$test"
done
inside dpkg-query -W -f '${Package} ${Installed-Size} KiB installed\n' 'psrkit*' 'libpsrkit*'
if inside sh -c 'dpkg -l | grep -i nvidia'; then
    echo "FAILED: packages of NVIDIA were installed" >&2
    exit 1
fi
