#!/usr/bin/env bats
# gpudedisp -resume, and the line in .inf files that it goes by.

load helper

setup() {
    golden=$srcdir/tests/golden
    cd "$BATS_TEST_TMPDIR"
    cp "$golden/g8.fil" in.fil
    touch -d '1 hour ago' in.fil
    ten="-nobary -lodm 40 -dmstep 2 -numdms 10"
}

# sums ROOT: of all its files.
sums() { sha256sum "$1"_DM*.dat "$1"_DM*.inf; }

# resumed WANT ARGS...: runs with -resume and checks of how many trials it left how many.
resumed() {
    local want=$1
    shift
    run -0 --separate-stderr gpudedisp -resume "$@"
    [[ $stderr == *": $want"*" trials are there already"* ]] || { echo "stderr: $stderr"; false; }
}

# same ROOT: its files are those of sums.want.
same() { diff sums.want <(sums "$1"); }

@test "an .inf file says what made it, in one line that PRESTO can read" {
    gpudedisp -q $ten -o t in.fil
    line=$(grep psrkit t_DM40.00.inf)
    [[ $line =~ ^\ \ \ \ psrkit\ [0-9.]+\ gpudedisp,\ direct,\ settings\ [0-9a-f]{16}$ ]]
    [ ${#line} -lt 99 ]
    [ "$(grep -c psrkit t_DM58.00.inf)" -eq 1 ]
    # Where PRESTO's own lines are they stay: riptide counts on '=' in column 40 before the notes.
    [ "$(grep -c '^.\{40\}=' t_DM40.00.inf)" -eq 22 ]
    gpudedisp -q -nobary -algo subband -nsub 8 -numdms 1 -o s in.fil
    grep -q '^    psrkit .* gpudedisp, subband 8, ' s_DM0.00.inf
    gpudedisp -q -nobary -zerodm -numdms 1 -o z in.fil
    grep -q '^    psrkit .* gpudedisp, direct, [a-z]*, settings ' z_DM0.00.inf
    gpudedisp -q -sub -subdm 40 -nsub 8 -o u in.fil
    grep -q '^    psrkit .* gpudedisp, sub-bands, cpu, settings ' u_DM40.00.sub.inf
    gpudedisp -q -compat presto -nobary -nsub 8 -numdms 1 -o p in.fil
    run -1 grep psrkit p_DM0.00.inf
}

@test "threads, memory and names do not change it" {
    gpudedisp -q $ten -ncpus 1 -o a in.fil
    cp in.fil copy.fil
    gpudedisp -q $ten -ncpus 3 -mem 16M -o b ./copy.fil
    for dm in 40 50 58; do
        diff <(sed 1d a_DM$dm.00.inf) <(sed 1d b_DM$dm.00.inf)
    done
}

@test "what is there is left, what is missing is made" {
    gpudedisp -q $ten -o t in.fil
    sums t >sums.want
    stat -c '%n %y' t_* >before
    resumed '10 of 10' $ten -o t in.fil
    stat -c '%n %y' t_* | diff before -
    rm t_DM40.00.dat t_DM44.00.inf t_DM58.00.*
    stat -c %y t_DM42.00.dat >before
    resumed '7 of 10' $ten -o t in.fil
    same t
    stat -c %y t_DM42.00.dat | diff before -
    [ -z "$(find . -name '*.part*')" ]
}

@test "the trial of the longest sweep left, the others keep their lengths" {
    for more in -nopad '-nopad -sametail' '-numout 29000' '-downsamp 3 -nopad' '-zerodm -nopad' '-clip 3 -nopad' '-tol 1' \
        '-algo subband -nsub 8'; do
        gpudedisp -q $ten $more -o t in.fil
        sums t >sums.want
        rm t_DM42.00.inf t_DM50.00.dat
        gpudedisp -q -resume $ten $more -o t in.fil
        same t || { echo "$more"; false; }
        rm -f t_*
    done
    make_radec
    touch -d '1 hour ago' radec.fil
    gpudedisp -q -lodm 40 -dmstep 2 -numdms 10 -nopad -o t radec.fil
    sums t >sums.want
    rm t_DM58.00.inf t_DM42.00.dat
    resumed '8 of 10' -lodm 40 -dmstep 2 -numdms 10 -nopad -o t radec.fil
    same t
}

@test "trials that depend on each other are made together" {
    gpudedisp -q $ten -algo subband -nsub 8 -o t in.fil
    rm t_DM40.00.dat
    resumed '0 of 10' $ten -algo subband -nsub 8 -o t in.fil
    resumed '10 of 10' $ten -algo subband -nsub 8 -o t in.fil
    gpudedisp -q $ten -zerodm -o t in.fil
    rm t_DM40.00.dat
    resumed '0 of 10' $ten -zerodm -o t in.fil
}

@test "a plan goes on where it was, and lines that are whole are not touched" {
    printf '%s\n' '0 1 3 1 0' '40 2 4 2 0' '50 3 2 4 8' >plan
    for more in '' '-algo subband' -zerodm; do
        gpudedisp -q -nobary $more -plan plan -o t in.fil
        sums t >sums.want
        resumed '9 of 9' -nobary $more -plan plan -o t in.fil
        rm t_DM42.00.dat t_DM44.00.inf t_DM50.00.* t_DM53.00.*
        gpudedisp -q -resume -nobary $more -plan plan -o t in.fil
        same t
        rm t_DM0.00.dat t_DM1.00.dat t_DM2.00.dat
        resumed '6 of 9' -nobary $more -plan plan -o t in.fil
        same t
        # The same trials, asked for one line at a time.
        [[ $more == *subband* ]] || resumed '4 of 4' -nobary $more -lodm 40 -dmstep 2 -numdms 4 -downsamp 2 -o t in.fil
    done
}

@test "another option, input or mask, and it is made again" {
    { cat "$golden/headers/radec.hdr"; tail -c 950272 in.fil; } >rfi.fil
    touch -d '1 hour ago' rfi.fil
    cp "$golden"/mask/* .
    few="-nobary -lodm 40 -numdms 3"
    gpudedisp -q $few -o t rfi.fil
    for more in -noclip -zerodm '-clip 5' '-mask r_rfifind.mask' '-ignorechan 3' '-downsamp 2' '-nopad' \
        '-numout 20000' '-offset 1' '-start 0.1' '-invert' '-tol 1' '-algo subband -nsub 8' \
        '-algo tree' '-dmconst sigproc' '-sametail' '-lodm 0'; do
        resumed '0 of ' $few $more -o t rfi.fil || { echo "$more"; false; }
        gpudedisp -q $few -o t rfi.fil
    done
    # More trials, and those there are stay as they are; but for those that all end with the highest.
    resumed '3 of 4' $few -numdms 4 -o t rfi.fil
    gpudedisp -q $few -sametail -o t rfi.fil
    resumed '0 of 4' $few -sametail -numdms 4 -o t rfi.fil
    resumed '0 of ' -lodm 40 -numdms 3 -o t rfi.fil
    resumed '3 of 3' -lodm 40 -numdms 3 -o t rfi.fil
    resumed '0 of ' -lodm 40 -numdms 3 -position 1,2 -o t rfi.fil
    resumed '0 of ' -lodm 40 -numdms 3 -position 1,2 -site 1,2,3 -o t rfi.fil
    # The same mask with all of interval 3 masked.
    gpudedisp -q $few -mask r_rfifind.mask -o t rfi.fil
    resumed '3 of 3' $few -mask r_rfifind.mask -o t rfi.fil
    { head -c 64 r_rfifind.mask; printf '\1\0\0\0\3\0\0\0'; tail -c +69 r_rfifind.mask; } >whole
    mv whole r_rfifind.mask
    resumed '0 of 3' $few -mask r_rfifind.mask -o t rfi.fil
}

@test "an input that was changed, and files that were, are made again" {
    few="-nobary -lodm 40 -numdms 3"
    gpudedisp -q $few -o t in.fil
    resumed '3 of 3' $few -o t in.fil
    # Touched: it could have been changed anywhere.
    touch in.fil
    resumed '0 of 3' $few -o t in.fil
    resumed '3 of 3' $few -o t in.fil
    # Changed at its beginning, its time put back; longer.
    printf x | dd of=in.fil bs=1 seek=1000 conv=notrunc 2>/dev/null
    touch -d '1 hour ago' in.fil
    resumed '0 of 3' $few -o t in.fil
    head -c 320 /dev/zero >>in.fil
    touch -d '1 hour ago' in.fil
    resumed '0 of 3' $few -o t in.fil
    sums t >sums.want
    truncate -s -4 t_DM40.00.dat
    resumed '2 of 3' $few -o t in.fil
    same t
    sed -i 's/Dispersion measure (cm-3 pc)           =  41/Dispersion measure (cm-3 pc)           =  42/' t_DM41.00.inf
    resumed '2 of 3' $few -o t in.fil
    same t
    : >t_DM42.00.inf
    resumed '2 of 3' $few -o t in.fil
    same t
}

@test "killed at any moment it goes on from there" {
    many="-q -nobary -noclip -lodm 0 -dmstep 0.01 -numdms 200 -nopad"
    gpudedisp $many -o want in.fil
    (cd "$BATS_TEST_TMPDIR" && sha256sum want_DM*.dat | sed 's/want_/t_/') >sums.want
    # With other options, files of the same names and sizes.
    gpudedisp $many -ignorechan 5 -o t in.fil
    for n in 05 1 15 2 3; do
        # In the foreground timeout outlives it, so that nothing holds its lock when the next one starts.
        timeout --foreground -s KILL 0.$n gpudedisp $many -resume -o t in.fil || true
    done
    gpudedisp $many -resume -o t in.fil
    sha256sum -c --quiet sums.want
    for f in want_*.inf; do diff <(sed 1d "$f") <(sed 1d "t${f#want}"); done
}

# refused CODE PATTERN ARGS...: one line that matches.
refused() {
    refuses "$1" "$2" gpudedisp -q -nobary -resume -o x "${@:3}"
    leaves_no 'x[_.]*'
}

@test "it wants files, and .inf files" {
    refused 2 'not with -format tim' -format tim in.fil
    refused 2 'not with -singlepulse' -singlepulse in.fil
    refused 2 'not with -compat presto' -compat presto in.fil
    refused 2 'not with -sub' -sub in.fil
    refused 2 'not with -nowrite' -nowrite -v in.fil
    run -1 --separate-stderr gpudedisp -q -nobary -resume -o x - <in.fil
    [[ $stderr == *"needs files"* ]]
}
