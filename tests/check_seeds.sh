#!/usr/bin/env bash
# Runs a test with SEEDS seeds, from FIRST_SEED on, and prints a line: how many, and which failed.  A test
# whose first run prints no seed (tap_seed does) draws no random numbers, and is run once.
#   check_seeds.sh TEST
set -uo pipefail
test=$1
seeds=${SEEDS:-20} first=${FIRST_SEED:-1} limit=${SEED_SECONDS:-900}
log=$(mktemp "${TMPDIR:-/tmp}/psrkit-seeds.XXXXXX")
trap 'rm -f "$log"' EXIT

only_skips() { awk '/^ok /{ n++; skipped += / # SKIP/ } END { exit !(n > 0 && n == skipped) }' "$log"; }

failed=() notes=() ran=0
for ((seed = first; seed < first + seeds; seed++)); do
    rc=0
    { PSRKIT_TEST_SEED=$seed timeout -k 5 "$limit" "$test" >"$log" 2>&1 </dev/null || rc=$?; } 2>/dev/null
    ran=$((ran + 1))
    if [ $rc -ne 0 ]; then
        failed+=("$seed")
        notes+=("    seed $seed, exit status $rc: $(grep -aEm 1 '^not ok|^Bail out' "$log" || tail -n 1 "$log")")
    elif only_skips; then
        printf 'SKIP: %s did NOT run: %s\n' "$test" "$(sed -n '/ # SKIP /{s/.* # SKIP //p;q;}' "$log")"
        exit 0
    fi
    grep -q "^# PSRKIT_TEST_SEED=$seed\$" "$log" || break
done

if [ $ran -eq "$seeds" ]; then
    printf '%s: %d seeds, %d to %d' "$test" "$seeds" "$first" $((first + seeds - 1))
else
    printf '%s: draws no random numbers, run once' "$test"
fi
printf ', %d failed%s\n' ${#failed[@]} "${failed:+: ${failed[*]}}"
[ ${#failed[@]} -eq 0 ] || { printf '%s\n' "${notes[@]}"; exit 1; }
