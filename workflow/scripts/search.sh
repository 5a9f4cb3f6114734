#!/usr/bin/env bash
# Searches one observation in the folder of the result, which gets the summary in JSON, or why these data cannot be searched.  If
# another attempt may help, there is no result, and the exit status is 1.
set -uo pipefail
result=${snakemake_output[0]} log=${snakemake_log[0]} lists=${snakemake_params[lists]}
dir=$(dirname "$result")
files=()
for ((i = 0; i < ${#snakemake_input[@]}; i++)); do files+=("${snakemake_input[$i]}"); done

of_machine='\<memory\>|with signal [0-9]|no space left|quota exceeded|input/output error|stale file|permission denied|read-only file'
of_machine+='|too many open files|\<cuda\>|writing the same files'

# The last error, of the step's own log if psrsearch names one.
reason() {
    local said=${errors##*$'\n'} step
    step=$(sed -n 's/.*; its messages are in \(.*\); command: .*/\1/p' <<<"$said")
    [ -z "$step" ] || said="${said%%; its messages*}: $(tail -n 1 "$step" | tr -d '\000')"
    printf '%s\n' "$said"
}

# Lists of every DM are thousands of small files.
pack() {
    local steps names=()
    [ "$lists" != keep ] || return 0
    for steps in "$dir"/*.steps.json; do
        steps=${steps##*/}
        mapfile -t -O "${#names[@]}" names < <(cd "$dir" && printf '%s\n' "${steps%.steps.json}"_DM*)
    done
    [ -e "$dir/${names[0]}" ] || return 0
    if [ "$lists" = pack ]; then
        printf '%s\n' "${names[@]}" | tar -C "$dir" --verbatim-files-from -czf "$dir/lists.tar.gz.part" -T - &&
            mv "$dir/lists.tar.gz.part" "$dir/lists.tar.gz" || return 1
    fi
    (cd "$dir" && printf '%s\0' "${names[@]}" | xargs -0 rm -f --)
}

# A quarter of the memory is left for what is not psrsearch's.
options=(-o "$dir" -mem "$((snakemake_resources[mem_mb] * 3 / 4))M" -ncpus "${snakemake[threads]}" -device "${snakemake_params[device]}")
eval "options+=(${snakemake_params[options]})"
errors=$(psrsearch -q -json "${options[@]}" -- "${files[@]}" 2>&1 >"$result.part")
code=$?
printf '%s\n' "$errors" >"$log"
if [ "$code" -eq 0 ]; then
    pack && mv "$result.part" "$result"
    exit
fi
rm -f "$result.part"
why=$(reason)
printf '%s\n' "$why" >>"$log"
printf '%s: %s\n' "$dir" "$why" >&2
# Of the machine, not of the data.
[ "$code" -eq 1 ] || exit 1
! grep -qiE "$of_machine" <<<"$why" || exit 1
why=$(tr '\000-\037' ' ' <<<"$why" | sed 's/[\\"]/\\&/g; s/ *$//')
printf '{"failed": "%s"}\n' "$why" >"$result.part" && mv "$result.part" "$result"
