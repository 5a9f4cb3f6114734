# Completion for psrkit's tools in bash: their options, as --help lists them, and files.
_psrkit() {
    local word=${COMP_WORDS[COMP_CWORD]}
    COMPREPLY=()
    [[ $word == -* ]] || return 0
    mapfile -t COMPREPLY < <(compgen -W "$("${COMP_WORDS[0]}" --help 2>/dev/null |
        sed -nE 's/^  (-[^ ,]+(, -[^ ,]+)*).*/\1/p' | tr -d ,)" -- "${word/#--/-}")
}
complete -o default -F _psrkit @TOOLS@
