# For tests of workflow/.

# add_row I SECONDS: fI.fil, a small observation with a burst, and its row of table.tsv.
add_row() {
    fakebin -q -seed "$1" -tobs "$2" -tsamp 1024 -nchans 32 -nbits 8 -fch1 1500 -foff 8 \
        -add "burst dm=30 t=3 width=0.004 snr=40" -o "f$1.fil"
    printf 'f%s\tf%s.fil\n' "$1" "$1" >>table.tsv
}

# tools_here: bin/ has the tools, which may be replaced.
tools_here() {
    copy_tools bin $tools
    PATH=$PWD/bin:$PATH
}

# same_results DIR DIR: the same files with the same candidates; dates, times and messages aside.
same_results() {
    local f
    diff <(cd "$1" && find . -type f ! -name '*.log' | sort) <(cd "$2" && find . -type f ! -name '*.log' | sort)
    (cd "$1" && find . -name '*.sift' -o -name '*.cand' -o -name '*.mask' -o -name failed.tsv) | while read -r f; do
        cmp "$1/$f" "$2/$f"
    done
}
