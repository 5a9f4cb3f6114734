# Completion for psrkit's tools in fish: their options, as --help lists them, and files.
function __psrkit_options
    set -l tool (commandline -opc)[1]
    $tool --help 2>/dev/null | sed -nE 's/^  (-[^ ,]+)((, -[^ ,]+)*)( [A-Z][^ ]*)? *(.*)/\1\2\t\5/p' |
        awk -F'\t' '{ n = split($1, name, ", "); for (i = 1; i <= n; i++) print name[i] "\t" $2 }'
end
for tool in @TOOLS@
    complete -c $tool -n 'string match -q -- "-*" (commandline -ct)' -f -a '(__psrkit_options)'
end
