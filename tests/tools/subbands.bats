#!/usr/bin/env bats
# gpudedisp -sub, and gpudedisp on the files of sub-bands that it wrote, in the default mode.

load helper

setup() {
    cd "$BATS_TEST_TMPDIR"
    sub="-q -sub -subdm 47 -nsub 8"
    one="-q -nobary -noclip -nopad -lodm 47 -numdms 1"
}

# numbers FILE: its 16-bit integers, one a line.
numbers() { od -An -v -t d2 -w2 "$1"; }

@test "sub-bands are PRESTO's, and none is lost to look-ahead" {
    gpudedisp $sub -noclip -o t "$g8"
    gpudedisp $sub -noclip -compat presto -o p "$g8"
    [ "$(ls t_DM47.00.sub* | wc -l)" -eq 9 ]
    [ "$(stat -c %s p_DM47.00.sub0)" -eq 48000 ]
    # 29696 spectra, and 7 of sweep inside the lowest sub-band.
    for j in 0 1 2 3 4 5 6 7; do
        [ "$(stat -c %s t_DM47.00.sub$j)" -eq $((29689 * 2)) ]
        cmp <(head -c 48000 t_DM47.00.sub$j) p_DM47.00.sub$j
    done
    diff <(sed 1d p_DM47.00.sub.inf) <(sed 1d t_DM47.00.sub.inf | sed 's/=  29689/=  24000/' | grep -v psrkit)
}

@test "dedispersed again they give the bits of -algo subband" {
    gpudedisp $sub -noclip -o t "$g8"
    gpudedisp $one -o again t_DM47.00.sub?
    gpudedisp $one -algo subband -nsub 8 -o once "$g8"
    cmp again_DM47.00.dat once_DM47.00.dat
    grep -q 'Number of channels  *=  32$' again_DM47.00.inf
    grep -q 'Dispersion measure (cm-3 pc)  *=  47$' again_DM47.00.inf
    # A pattern that takes the .inf along, other trials, threads and blocks.
    gpudedisp -q -noclip -nopad -nobary -lodm 45 -numdms 4 -ncpus 2 -mem 1M -o more t_DM47.00.sub*
    cmp <(head -c 100000 again_DM47.00.dat) <(head -c 100000 more_DM47.00.dat)
}

@test "sums beyond 16 bits are cut to them, with a remark" {
    make_rfi
    run -0 --separate-stderr gpudedisp -sub -subdm 0 -nsub 1 -noclip -o t rfi.fil
    [[ $stderr != *"beyond 16 bits"* ]]
    # 300 channels of 255 in one sub-band: 76500.
    fakebin -period 0 -nbits 8 -nchans 300 -tsamp 256 -tobs 0.256 -fch1 1500 -foff -1 -seed 1 -o noise.fil
    header=$(($(grep -abo HEADER_END noise.fil | head -n 1 | cut -d : -f 1) + 10))
    { head -c $header noise.fil; head -c 300000 /dev/zero | tr '\0' '\377'; } >full.fil
    run -0 --separate-stderr gpudedisp -sub -subdm 0 -nsub 1 -noclip -o full full.fil
    [[ $stderr == *"1000 samples of sub-bands lie beyond 16 bits"* ]]
    [ "$(numbers full_DM0.00.sub0 | sort -u | tr -d ' ')" = 32767 ]
}

@test "-mem bounds blocks and what is held, and changes no bit" {
    make_rfi
    for mem in 4G 2M 1300K; do
        gpudedisp $sub -subdm 300 -mem $mem -o $mem rfi.fil
        gpudedisp $sub -subdm 300 -downsamp 3 -noclip -mem $mem -o n$mem rfi.fil
    done
    for j in 0 1 2 3 4 5 6 7; do
        for mem in 2M 1300K; do
            cmp 4G_DM300.00.sub$j ${mem}_DM300.00.sub$j
            cmp n4G_DM300.00.sub$j n${mem}_DM300.00.sub$j
        done
    done
    for mem in 100K 472K; do
        run -1 --separate-stderr gpudedisp $sub -subdm 300 -mem $mem -o no rfi.fil
        echo "$stderr"
        [ "$(wc -l <<<"$stderr")" -eq 1 ]
    done
    [[ $stderr == "gpudedisp: sub-bands: memory of "*"iB is below the "*"iB that 32 channels delayed by "* ]]
    [ ! -e no_DM300.00.sub0 ]
}

@test "cleaning comes first, and values below 0 are rounded" {
    make_rfi
    gpudedisp $sub -noclip -o raw rfi.fil
    gpudedisp $sub -o clipped rfi.fil
    gpudedisp $sub -noclip -mask "$golden/mask/r_rfifind.mask" -o masked rfi.fil
    [ "$(cmp -l raw_DM47.00.sub3 clipped_DM47.00.sub3 | wc -l)" -ge 4 ]
    [ "$(cmp -l raw_DM47.00.sub3 clipped_DM47.00.sub3 | wc -l)" -lt 100 ]
    # Channels 13 and 14 are masked from 12000 to 19200: sub-band 3 has 12 to 15.
    read -r first last < <(cmp -l raw_DM47.00.sub3 masked_DM47.00.sub3 |
        awk '{ at = int(($1 - 1) / 2); if (NR == 1) printf "%d ", at } END { print at }')
    [ "$first" -ge 11990 ]
    [ "$last" -lt 19200 ]
    [ "$last" -gt 19100 ]
    cmp raw_DM47.00.sub4 masked_DM47.00.sub4
    gpudedisp $sub -zerodm -downsamp 3 -o z rfi.fil
    [ "$(stat -c %s z_DM47.00.sub0)" -eq $((29689 / 3 * 2)) ]
    # Blocks of 1024 have no mean once it is taken off, so about half the values are negative.
    gpudedisp $one -runavg -o flat raw_DM47.00.sub?
    od -An -v -t f4 -w4 flat_DM47.00.dat | awk '{ s += $1; n += $1 < 0 } END { exit !(n > NR / 3 && s / NR < 1 && s / NR > -1) }'
    gpudedisp -q -sub -subdm 47 -runavg -noclip -o flat raw_DM47.00.sub?
    paste <(numbers raw_DM47.00.sub2) <(numbers flat_DM47.00.sub2) |
        awk '{ if (NR <= 1024) { sum += $1; raw[NR] = $1; flat[NR] = $2 } }
             END { for (t = 1; t <= 1024; t++) { x = raw[t] - sum / 1024; d = x - flat[t]
                   if (d > 0.5 || d < -0.5) exit 1 } }'
}

@test "sub-bands are not barycentred, and what they were made from is, later" {
    make_rfi
    run -0 --separate-stderr gpudedisp -sub -subdm 47 -nsub 8 -o t rfi.fil
    [[ $stderr == *"sub-bands are not barycentred"* ]]
    grep -q 'Barycentered?           (1 yes, 0 no)  =  0' t_DM47.00.sub.inf
    gpudedisp -q -noclip -nopad -lodm 47 -numdms 1 -o bary t_DM47.00.sub?
    gpudedisp -q -noclip -nopad -lodm 47 -numdms 1 -o raw rfi.fil
    for name in Epoch Barycentered 'J2000 Right' 'J2000 Decl' 'Central freq' 'Number of channels'; do
        diff <(grep "^ $name" bary_DM47.00.inf | cut -c 1-60) <(grep "^ $name" raw_DM47.00.inf | cut -c 1-60)
    done
}

# refused CODE PATTERN ARGS...: one line that matches, and no file.
refused() {
    refuses "$1" "$2" gpudedisp -q -nobary -o x "${@:3}"
    leaves_no 'x[_.]*'
}

@test "what cannot be is refused with one line" {
    gpudedisp $sub -noclip -o t "$g8"
    refused 3 't_DM47.00.sub7: is of the same set' t_DM47.00.sub[0-6]
    refused 3 't_DM47.00.sub3: sub-band 3 follows 1' t_DM47.00.sub[0134567]
    refused 1 'sub3 is given twice' t_DM47.00.sub3 t_DM47.00.sub?
    refused 1 'a mask is of channels' -mask "$golden/mask/r_rfifind.mask" t_DM47.00.sub?
    refused 3 'cannot be inverted' -invert t_DM47.00.sub?
    refused 1 'channel' -ignorechan 8 t_DM47.00.sub?
    refused 1 '7 do not divide 32' -sub -nsub 7 "$g8"
    refused 2 'there is no -singlepulse' -sub -singlepulse "$g8"
    refused 2 'there is no -dms' -sub -dms f "$g8"
    refused 2 '-subdm: 4001 is above 4000' -sub -subdm 4001 "$g8"
    rm t_DM47.00.sub.inf
    refused 1 't_DM47.00.sub.inf: No such file' t_DM47.00.sub?
}

@test "sub-bands of an unknown epoch are told" {
    gpudedisp -q -sub -nsub 4 -o t "$g8"
    sed -i '/Epoch of observation/d' t_DM0.00.sub.inf
    run -0 --separate-stderr gpudedisp -nobary -numdms 1 -o x t_DM0.00.sub?
    one_line 't_DM0.00.sub.inf: no epoch of observation: MJD 0 is taken'
    sed -i 's/^ Any breaks.*=  0/ Any breaks in the data? (1 yes, 0 no) = 1/' t_DM0.00.sub.inf
    refuses 3 "t_DM0.00.sub.inf: line [0-9]+: breaks in the data, but no line 'On/Off bin pair'" \
        gpudedisp -nobary -numdms 1 -o x t_DM0.00.sub?
}
