#compdef @TOOLS@
# Completion for psrkit's tools in zsh: their options, as --help lists them, and files.
local -a flags
flags=(${(f)"$("$words[1]" --help 2>/dev/null |
    sed -nE 's/^  (-[^ ,]+)((, -[^ ,]+)*)( [A-Z][^ ]*)? *(.*)/\1\2:\5/p' |
    awk -F: '{ text = substr($0, length($1) + 2); gsub(/:/, "\\:", text)
        n = split($1, name, ", "); for (i = 1; i <= n; i++) print name[i] ":" text }')"})
if [[ $PREFIX == -* ]]; then
    _describe -o option flags
else
    _files
fi
