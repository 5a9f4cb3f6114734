#!/usr/bin/env bats
# gpudedisp's barycentring: PRESTO's numbers, what it says, and what it does without a position.

load helper

setup() {
    cd "$BATS_TEST_TMPDIR"
    make_radec
    trials="-lodm 40 -dmstep 7 -numdms 3"
}

# field FILE LABEL: the value of a line of an .inf file.
field() {
    sed -n "s/^ $2.*=  //p" "$1"
}

# same_epoch MJD MJD N: whether two dates of the same day are within N 1e-15 days.
same_epoch() {
    local off=$((10#${1#*.} - 10#${2#*.}))
    [ "${off#-}" -le "$3" ] || { echo "$1 and $2 differ by ${off#-}e-15 d"; false; }
}

@test "series and epochs are prepsubband's" {
    gpudedisp -q $trials -algo subband -nsub 8 -o t radec.fil
    # Of this file prepsubband writes what it writes with -nobary, less sample 8337.
    cmp -n $((23999 * 4)) t_DM47.00.dat <(head -c $((8337 * 4)) "$golden/noclip.dat"; tail -c +$((8338 * 4 + 1)) "$golden/noclip.dat")
    for dm in 40.00 47.00 54.00; do
        presto=$golden/inf/bary-t_DM$dm.inf
        same_epoch "$(field t_DM$dm.inf Epoch)" "$(field "$presto" Epoch)" 10000
        own='Data file name|Data analyzed by|On/Off bin pair #  1|Epoch|    psrkit '
        diff <(grep -vE "$own" t_DM$dm.inf) <(grep -vE "$own" "$presto")
    done
    # Two bins were removed.
    field t_DM54.00.inf 'On.Off bin pair #  1' | grep -q '^0          , 29621 '
}

@test "it is said what is done, and with which ephemeris" {
    run -0 --separate-stderr gpudedisp $trials -ephem DE421 -v -o t radec.fil
    [[ $stderr == *"from GBT towards RA 114.463533, Dec -30.661308"*"v/c 5.999928e-05"*epv00*"not DE421"* ]]
    [[ $stderr == *"added 0 and removed 2 bins"* ]]
    run -0 --separate-stderr gpudedisp $trials -q -o t radec.fil
    [ -z "$stderr" ]
}

@test "-nobary leaves times as they are" {
    run -0 --separate-stderr gpudedisp $trials -nobary -o t radec.fil
    [ -z "$stderr" ]
    [ "$(field t_DM40.00.inf Barycentered)" = 0 ]
    same_epoch "$(field t_DM40.00.inf Epoch)" "$(field "$golden/inf/radec_nobary-t_DM40.00.inf" Epoch)" 0
    gpudedisp -q $trials -nobary -o g "$g8"
    cmp t_DM47.00.dat g_DM47.00.dat
}

@test "without a position there is a warning and no barycentring" {
    run -0 --separate-stderr gpudedisp $trials -o t "$g8"
    [[ $stderr == *"g8.fil: the header has no position: no barycentring"*"-position"* ]]
    [ "$(field t_DM40.00.inf Barycentered)" = 0 ]
    gpudedisp -q $trials -nobary -o g "$g8"
    cmp t_DM47.00.dat g_DM47.00.dat
    cmp <(tail -n +2 t_DM47.00.inf | grep -v psrkit) <(tail -n +2 g_DM47.00.inf | grep -v psrkit)
}

@test "-position and -site stand in for the header" {
    gpudedisp -q $trials -o t radec.fil
    patch radec.fil telescope_id 0 63
    patch radec.fil src_raj 6 00
    gpudedisp -q $trials -position 07:37:51.248,-30:39:40.71 -site=-79.839835,38.433121,823 -o u radec.fil
    [ "$(field u_DM40.00.inf 'J2000 Right')" = 07:37:51.2480 ]
    # The coordinates are good to some 30 m: 1e-12 d.
    same_epoch "$(field t_DM40.00.inf Epoch)" "$(field u_DM40.00.inf Epoch)" 3000

    # Degrees do as well.
    gpudedisp -q $trials -position 114.463533333,-30.661308333 -site=-79.839835,38.433121,823 -o v radec.fil
    same_epoch "$(field u_DM40.00.inf Epoch)" "$(field v_DM40.00.inf Epoch)" 100
    # A position given to a file that has none.
    gpudedisp -q $trials -position 1:2:3,-4:5:6 -o w "$g8"
    [ "$(field w_DM40.00.inf Barycentered)" = 1 ]
    [ "$(field w_DM40.00.inf 'J2000 Decl')" = -04:05:06.0000 ]
}

@test "an unknown telescope is taken for the Earth's centre, which is said" {
    gpudedisp -q $trials -o t radec.fil
    patch radec.fil telescope_id 0 63
    run -0 --separate-stderr gpudedisp $trials -o u radec.fil
    [[ $stderr == *"radec.fil: where telescope 'Unknown' stands is not known: the Earth's centre"* ]]
    [[ $stderr == *"from the Earth's centre towards"* ]]
    # 21 ms at most, and not nothing.
    same_epoch "$(field t_DM40.00.inf Epoch)" "$(field u_DM40.00.inf Epoch)" 250000000
    [ "$(field t_DM40.00.inf Epoch)" != "$(field u_DM40.00.inf Epoch)" ]
}

@test "a file without a date is not barycentred" {
    for byte in 0 1 2 3 4 5 6 7; do
        patch radec.fil tstart $byte 00
    done
    run -0 --separate-stderr gpudedisp $trials -o t radec.fil
    [[ $stderr == *"MJD 0 is no date: no barycentring"* ]]
    [ "$(field t_DM40.00.inf Barycentered)" = 0 ]
    # Beyond 2100 the Earth's orbit is not known: bytes 5 to 7 of 1e5.
    patch radec.fil tstart 5 6A
    patch radec.fil tstart 6 F8
    patch radec.fil tstart 7 40
    run -0 --separate-stderr gpudedisp $trials -o t radec.fil
    [[ $stderr == *"MJD 100000 is no date: no barycentring"* ]]
}

@test "bad positions and sites are refused" {
    for bad in "-position 12" "-position 1:2,3" "-position 25:0:0,0" "-site 1,2" "-site 1,91,0" "-site x,2,3"; do
        refuses 1 '(position|site|ascension|declination|latitude|longitude)' \
            gpudedisp $trials -q $bad -o t radec.fil
    done
    leaves_no 't[_.]*'
}

@test "threads, memory, pipes and -downsamp do as they should" {
    gpudedisp -q $trials -ncpus 1 -o a radec.fil
    gpudedisp -q $trials -ncpus 3 -mem 16M -o b radec.fil
    run -0 --separate-stderr gpudedisp $trials -o c - <radec.fil
    [[ $stderr == *"(at the start)"* ]]
    for dm in 40.00 47.00 54.00; do
        cmp a_DM$dm.dat b_DM$dm.dat
        cmp a_DM$dm.dat c_DM$dm.dat
    done
    # Half as many samples drift by half as many bins.
    gpudedisp -v $trials -downsamp 2 -o d radec.fil 2>err
    grep -q 'added 0 and removed 1 bins' err
}

@test "a .tim says that it is barycentric" {
    gpudedisp -q -lodm 47 -numdms 1 -o - radec.fil >t.tim
    grep -qUa barycentric t.tim
    at=$(grep -obUa tstart t.tim | head -n 1 | cut -d: -f1)
    tail -c +$((at + 7)) t.tim | head -c 8 | od -An -tf8 | grep -q ' 56789.0120828'
    gpudedisp -q -nobary -lodm 47 -numdms 1 -o - radec.fil >t.tim
    fails grep -qUa barycentric t.tim
}

@test "events are found to the end of barycentred series, whether bins are added or removed" {
    fakebin -q -period 0 -nbits 8 -nchans 64 -tsamp 256 -tobs 12 -fch1 1500 -foff -4 -seed 3 \
        -add "burst dm=120 t=11.86 width=2e-3 snr=25" -o burst.fil
    for position in 05:34:31.97,+22:00:52.1 17:34:31.97,-22:00:52.1; do
        gpudedisp -position $position -site 149,-33,400 -lodm 0 -dmstep 2 -numdms 100 -singlepulse -nowrite \
            -o o burst.fil 2>note
        grep -o 'v/c [-0-9.e]*' note | awk '{ print $2 < 0 }' >>removed
        awk 'NR == 2 { good = $1 > 15 && $3 > 11.85 && $3 < 11.87 && $6 >= 116 && $6 <= 124 } END { exit !good }' o.cand ||
            { head -n 3 o.cand; false; }
    done
    [ "$(sort -u removed | wc -l)" -eq 2 ]
}

@test "a bin removed within the last sweep does not end a search" {
    fakebin -q -period 0 -nbits 8 -nchans 32 -tsamp 1000 -tobs 6.5 -tstart 59000 -fch1 400 -foff 2 -seed 1 -o s.fil
    gpudedisp -v -position 12:34:56,-12:34:56 -site=-79.839835,38.433121,823 -lodm 0 -dmstep 2 -numdms 40 -singlepulse \
        -nowrite -o o s.fil 2>note
    [[ $(<note) == *"added 0 and removed 1 bins"* ]]
}
