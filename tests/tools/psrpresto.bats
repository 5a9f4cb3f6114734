#!/usr/bin/env bats
# psrpresto: PRESTO's small programs.

load helper

# dat ROOT N: a series of the numbers 0 to N - 1, with its .inf of 1 ms.
dat() {
    awk -v n="$2" 'BEGIN { for (i = 0; i < n; i++) print i }' | od_floats >"$1.dat"
    sed "s/^\( Number of bins .*= \).*/\1 $2/; s/^\( Width of each .*= \).*/\1 0.001/; /On\/Off/d; s/^\( Any breaks .*= \).*/\1 0/" \
        "$golden/acc3.inf" >"$1.inf"
}

# Whole numbers below 2^24, one a line, as floats.
od_floats() {
    awk '{ x = $1; e = 0; while (2 ^ (e + 1) <= x) e++
        b = x ? (x / 2 ^ e - 1) * 2 ^ 23 + (e + 127) * 2 ^ 23 : 0
        printf "\\%03o\\%03o\\%03o\\%03o", b % 256, int(b / 256) % 256, int(b / 65536) % 256, int(b / 16777216)
        if (NR % 1000 == 0) print "" } END { print "" }' |
        while read -r floats; do printf "$floats"; done
}

setup() { cd "$BATS_TEST_TMPDIR"; }

@test "it is the program that its name or its first operand says" {
    dat x 8
    ln -s "$(command -v psrpresto)" readfile
    diff <(./readfile x.dat) <(psrpresto readfile x.dat)
    refuses 2 'psrpresto: no program named' psrpresto
    refuses 2 'psrpresto: there is no program readfiles' psrpresto readfiles x.dat
    refuses 2 'realfft: unknown option .-nosuch' psrpresto realfft -nosuch x.dat
    for name in makezaplist.py readfile realfft rednoise simple_zapbirds.py single_pulse_search.py zapbirds; do
        [ "$(psrpresto $name -help | sed -n '/^For example:/,/^$/p' | grep -c "^  $name ")" = 3 ]
    done
}

@test "readfile prints what the suffix says, or an option" {
    dat x 8
    diff <(psrpresto readfile x.dat) - <<'END'
Assuming the data is floating point.

        0:            0
        1:            1
        2:            2
        3:            3
        4:            4
        5:            5
        6:            6
        7:            7

End of file.

END
    diff <(psrpresto readfile -fc -index 1 3 x.dat) - <<'END'
        1:            2 +           3 i
        2:            4 +           5 i
END
    diff <(psrpresto readfile -i -index 6 x.dat) - <<'END'
        6:  1086324736
        7:  1088421888

End of file.

END
    [ "$(psrpresto readfile -byte x.dat | grep -c :)" = 32 ]
    : >x
    refuses 2 'readfile: ./x: its name does not say' psrpresto readfile ./x
    refuses 1 'gone.dat: No such file' psrpresto readfile -f gone.dat
    refuses 2 'the end is below the first' psrpresto readfile -index 5 3 x.dat
    psrpresto readfile "$g8" >out
    sed "s|'.*/g8.fil'|'g8.fil'|" out | diff - "$golden/g8.readfile"
    # head ends it without a word, as it ends cat.
    head -c 4000000 /dev/zero >long.dat
    run -141 --separate-stderr bash -o pipefail -c 'psrpresto readfile long.dat | head -n 3 >head.out'
    [ -z "$stderr" ]
    [ "$(sed -n 3p head.out)" = '        0:            0' ]
    refuses 2 'readfile: -rzwcand is not here: candidates stand as text' psrpresto readfile -rzwcand x_ACCEL_0.cand
    refuses 2 'readfile: -wapp is not here: ' psrpresto readfile -wapp x.dat
}

@test "realfft transforms, and back" {
    dat x 16
    psrpresto realfft x.dat
    # The sum of 0 to 15, of their differences, and all bins' real parts are -8.
    [ "$(psrpresto readfile x.fft | awk '/i$/ { print $2, ($1 == "0:" ? $4 : "") }' | sort -u | tr '\n' ' ')" = "-8  120 -8 " ]
    cp x.dat was
    psrpresto realfft x.fft
    [ "$(psrpresto readfile x.dat | awk '/:/ { d = $2 - ($1 + 0); if (d * d > 1e-10) print }' | wc -l)" = 0 ]
    mkdir out
    psrpresto realfft -outdir out -del x.dat
    [ -f out/x.fft ]
    [ ! -e x.dat ]
    # Many, some to each side; no .inf is needed.
    cp was y.dat
    cp was z.dat
    psrpresto realfft y.dat z.dat
    cmp y.fft z.fft
    head -c 20 was >odd.dat
    refuses 3 'odd.dat: 20 bytes' psrpresto realfft odd.dat
    [ ! -e odd.fft ]
    refuses 1 'gone.dat' psrpresto realfft gone.dat
    refuses 2 '-rednoise is of a spectrum' psrpresto realfft -rednoise y.fft
}

@test "rednoise and realfft -rednoise are one" {
    dat x 2048
    psrpresto realfft x.dat
    psrpresto rednoise x.fft
    psrpresto realfft -rednoise -outdir . x.dat
    cp x_red.fft first
    psrpresto rednoise -inplace x.fft
    cmp first x_red.fft
    [ ! -e x.fft ]
    grep -q 'without suffix  *=  x_red$' x_red.inf
    psrpresto realfft x_red.fft
    [ "$(wc -c <x_red.dat)" = 8192 ]
    refuses 2 'x.dat: must end in .fft' psrpresto rednoise x.dat
}

@test "makezaplist.py lists harmonics by frequency" {
    printf '%s\n' '# Freq Width' '60 0.05 2 1' '50.5 0.2 2 0 1' '7 0.1' >x.birds
    psrpresto makezaplist.py x.birds
    diff <(grep -v '^#' x.zaplist) - <<'END'
                     7                   0.1
B                 50.5                   0.2
                    60                  0.05
B                  101                   0.2
                   120                   0.1
END
    refuses 2 'x.zaplist: must end in .birds' psrpresto makezaplist.py x.zaplist
    echo 'PSR J1643-1224 10' >p.birds
    refuses 3 'p.birds: line 1: .* names a pulsar' psrpresto makezaplist.py p.birds
    [ ! -e p.zaplist ]
}

@test "zapbirds puts noise, or a constant, where the list says" {
    dat x 4096
    psrpresto realfft x.dat
    cp x.fft was
    # Bins 820 to 829 of 4.096 s.
    echo '201.2 2' >x.zaplist
    psrpresto zapbirds -zap -zapfile x.zaplist x.fft
    cp x.fft first
    changed() { cmp -l was "$1" | awk '{ print int(($1 - 1) / 8) }' | sort -nu | tr '\n' ' '; }
    [ "$(changed first)" = "820 821 822 823 824 825 826 827 828 " ] || { changed first; false; }
    cp was x.fft
    psrpresto zapbirds -zap -zapfile x.zaplist x.fft
    cmp first x.fft
    cp was x.fft
    psrpresto zapbirds -zap -zapfile x.zaplist -constamp x.fft
    [ "$(psrpresto readfile -fc -index 820 829 x.fft | awk '{ print $2, $4 }' | sort -u | wc -l)" = 1 ]
    # The telescope's velocity moves lines in a barycentred series: by a bin of 824.
    cp was x.fft
    psrpresto zapbirds -zap -zapfile x.zaplist -baryv 0.0012 x.fft
    [[ "$(changed x.fft)" == "821 "* ]]
    refuses 2 'gpurfifind finds' psrpresto zapbirds -in a -out b x.fft
    refuses 2 'needs -zapfile' psrpresto zapbirds -zap x.fft
    refuses 2 'x.dat: must end in .fft' psrpresto zapbirds -zap -zapfile x.zaplist x.dat
    ln -s x.fft l.fft
    ln -s x.inf l.inf
    refuses 1 'l.fft: is a link' psrpresto zapbirds -zap -zapfile x.zaplist l.fft
}

@test "simple_zapbirds.py reads the velocity from the .inf" {
    dat x 4096
    psrpresto realfft x.dat
    cp x.fft was
    echo '201.2 2' >x.birds
    psrpresto zapbirds -zap -zapfile x.birds x.fft
    cp x.fft topo
    cp was x.fft
    psrpresto simple_zapbirds.py x.birds x.fft
    cmp topo x.fft
    sed -i 's/^\( Barycentered.*= \).*/\1 1/; s/^\( Telescope used .*= \).*/\1 nowhere/
        s/^\( J2000 Right.*= \).*/\1 16:43:38.1/; s/^\( J2000 Decl.*= \).*/\1 -12:24:58.7/' x.inf
    refuses 3 "where telescope 'nowhere' stands is not known" psrpresto simple_zapbirds.py x.birds x.fft
    sed -i 's/nowhere/Parkes/' x.inf
    cp was x.fft
    psrpresto simple_zapbirds.py x.birds x.fft
    refuses 2 'needs FILE.birds and spectra' psrpresto simple_zapbirds.py x.birds
}

@test "accelsearch -compat presto -zaplist fills lines with noise, as accelsearch does" {
    need_data gbt_lband/Lband_topo_DM0.00.dat
    ln -s "$PSRKIT_TEST_DATA"/gbt_lband/Lband_topo_DM0.00.{dat,inf} .
    printf '%s\n' '28.76 0.1 3' '60 0.05 2 1' '100 0.2' '500.3 0.3 1 0 1' >L.birds
    psrpresto makezaplist.py L.birds
    gpuaccel-pulscan -compat presto -search matched -numharm 4 -zmax 0 -zaplist L.zaplist Lband_topo_DM0.00.dat
    # Sigma, summed power, harmonics and bin of what PRESTO finds with this list.
    diff <(awk '$1 ~ /^[1-9]$/ && NF > 9 && !seen[$1]++ { print $2, $3, $5, $8 }' Lband_topo_DM0.00_ACCEL_0) - <<'END'
8.86 54.81 1 6586.00(50)
8.15 57.75 4 6524.88(13)
5.26 36.62 4 6811.38(13)
3.30 20.14 1 1094.50(50)
2.29 16.99 1 11446.50(50)
END
}
