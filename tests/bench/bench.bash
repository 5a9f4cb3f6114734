# bench.bash: what scripts that print a figure of speed share: the tools of the build folder, how
# often to repeat, a folder of their own, and a clock.
set -euo pipefail
repeats=${1:-5}
PATH=${builddir:-$PWD}/bin:${builddir:-$PWD}/tests:$PATH
dir=$(mktemp -d "${TMPDIR:-/tmp}/psrkit-bench.XXXXXX")
trap 'rm -rf "$dir"' EXIT

# seconds COMMAND...: wall-clock time of one run.
seconds() {
    local began=$EPOCHREALTIME
    "$@" >/dev/null 2>&1
    awk -v a="$began" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.3f\n", b - a }'
}

# middle: the upper median of the numbers on standard input.
middle() { sort -n | awk '{ x[NR] = $1 } END { print x[int(NR / 2) + 1] }'; }
