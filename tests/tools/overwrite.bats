#!/usr/bin/env bats
# No output is a file that is read, no two outputs are one file, and none is written through a link:
# whatever the names, and before anything is written.

load helper

setup() {
    cd "$BATS_TEST_TMPDIR"
    two="-q -nobary -noclip -lodm 40 -numdms 2"
    is='would be written over .*, which is read'
    both='are one file, and would both be written|would be written twice'
    link=': is a link, and what it leads to would be lost'
}

# snapshot: names and sums of what is here.
snapshot() {
    find . -print -type f -exec md5sum {} + | sort
}

# keeps PATTERN COMMAND...: it must exit with 1 and one line that matches, and leave the folder as it is.
keeps() {
    local pattern=$1 before after
    shift
    before=$(snapshot)
    run -1 --separate-stderr "$@"
    one_line "$pattern"
    after=$(snapshot)
    [ "$before" = "$after" ] || { diff <(echo "$before") <(echo "$after"); false; }
}

# left_out PATTERN COMMAND...: it must exit with 1 and one line that matches, and leave links as they are; a picture costs
# no results.
left_out() {
    local pattern=$1
    shift
    find . -type l -printf '%p %l\n' | sort >"$BATS_TEST_TMPDIR.before"
    run -1 --separate-stderr "$@"
    one_line "$pattern"
    find . -type l -printf '%p %l\n' | sort | cmp - "$BATS_TEST_TMPDIR.before"
}

# make_line ROOT: ROOT.dat and ROOT.inf, with a line.
make_line() {
    fakebin -q -dat -nchans 1 -tsamp 1000 -tobs 16.384 -period 20 -dm 0 -width 5 -snrpeak 2 -seed 1 -o line
    mv line_DM0.00.dat "$1.dat"
    mv line_DM0.00.inf "$1.inf"
}

@test "gpuaccel-pulscan: a list is no link to an input" {
    make_line a
    make_line b
    search="gpuaccel-pulscan -q -device cpu -zmax 20"
    for suffix in '' .cand .txtcand; do
        for to in a.dat a.inf; do
            ln -s $to a_ACCEL_20$suffix
            keeps "a_ACCEL_20$suffix $is" $search a.dat
            rm a_ACCEL_20$suffix
            ln $to a_ACCEL_20$suffix
            keeps "a_ACCEL_20$suffix $is" $search a.dat
            keeps "a_ACCEL_20$suffix $is" $search -outdir . ./a.dat
            rm a_ACCEL_20$suffix
        done
    done
    # Of another input: this one is searched, that one is not.
    ln -s a.dat b_ACCEL_20.cand
    sum=$(md5sum <a.dat)
    run -1 --separate-stderr $search a.dat b.dat
    one_line "b_ACCEL_20.cand would be written over a.dat, which is read"
    [ "$sum" = "$(md5sum <a.dat)" ]
    [ -s a_ACCEL_20 ]
    [ ! -e b_ACCEL_20 ]
    [ ! -e b_ACCEL_20.txtcand ]
    rm b_ACCEL_20.cand a_ACCEL_20*
    echo '1 2' >z
    ln -s z a_ACCEL_20
    keeps "$is" $search -zaplist z a.dat
    rm a_ACCEL_20
    ln -s a.dat a_ZMAX_20_NUMHARM_1_TURBO_0.pulscand
    keeps "$is" $search -compat pulscan a.dat
}

@test "gpuaccel-pulscan: nor is a spectrum" {
    make_line a
    make_line b
    mkdir out
    search="gpuaccel-pulscan -q -device cpu -zmax 20 -fftout"
    for to in a.dat a.inf; do
        ln -s $to a.fft
        keeps "a.fft $is" $search a.dat
        rm a.fft
        for name in a_red.fft a_red.inf; do
            ln -s $to $name
            keeps "$name $is" $search -rednoise a.dat
            keeps "$name $is" $search -rednoise -fftout a.dat
            rm $name
        done
        ln -s ../$to out/a.inf
        keeps "out/a.inf $is" $search -outdir out a.dat
        rm out/a.inf
    done
    # What describes the series describes its spectrum, and stays.
    touch -d '2001-02-03' a.inf
    for where in '' '-outdir .'; do
        $search $where a.dat
        [ -s a.fft ]
        [ "$(stat -c %y a.inf | cut -c-10)" = 2001-02-03 ]
    done
    $search -o b a.dat
    [ -s b.fft ]
    [ -s b.inf ]
    rm a.fft
    $search -outdir out a.dat
    [ -s out/a.fft ]
    [ -s out/a.inf ]
    # A spectrum that is read is not made.
    cp out/a.fft .
    run -1 --separate-stderr $search -csv -o t a.dat a.fft
    one_line "a.fft would be written over a.fft, which is read"
    cmp a.fft out/a.fft
}

@test "gpuaccel-pulscan: nor are tables and plots, or each other" {
    make_line a
    search="gpuaccel-pulscan -q -device cpu -zmax 20"
    echo '1 2' >z
    echo a.dat >l
    for table in -csv -json; do
        keeps "z $is" $search -zaplist z $table -o z a.dat
        keeps "l $is" $search -files l $table -o l
        keeps "a.inf $is" $search -files l $table -o ./a.inf
        keeps "z.png $both" $search -plot z.png $table -o z.png a.dat
        keeps "$both" $search -plot z.png $table -o ./z.png a.dat
        ln -s z new
        keeps "$is" $search -zaplist z $table -o new a.dat
        rm new
    done
    cp a.dat p.png
    keeps "$is" $search -plot p.png -csv -o t -files <(printf '%s\n' a.dat) -zaplist p.png
    keeps "$both" $search -plot a_ACCEL_20.png -csv -o a_ACCEL_20.png a.dat
    run -1 --separate-stderr bash -c "$search -csv -o - a.dat >>a.inf"
    one_line "standard output would be written over a.inf, which is read"
    run -1 --separate-stderr bash -c "$search -csv -files - <l >>l"
    one_line "standard output would be written over (l|standard input), which is read"
    [ "$(cat l)" = a.dat ]
    # Two inputs, two names, one list.
    mkdir other
    cp a.dat a.inf other
    : >a_ACCEL_20.txtcand
    ln a_ACCEL_20.txtcand other/a_ACCEL_20.txtcand
    run -1 --separate-stderr $search a.dat other/a.dat
    one_line "other/a_ACCEL_20.txtcand would be written of a.dat and of other/a.dat"
    [ -s a_ACCEL_20 ]
    [ ! -e other/a_ACCEL_20 ]
}

@test "gpudedisp: nor is any of its files" {
    cp "$g8" in.fil
    search="-singlepulse -threshold 4"
    for name in t_DM40.00.dat t_DM41.00.inf t_DM41.00.singlepulse t.cand; do
        ln -s in.fil $name
        keeps "$name $is" gpudedisp $two $search -o t in.fil
        rm $name
        ln in.fil $name
        keeps "$name $is" gpudedisp $two $search -o t in.fil
        keeps "$name $is" gpudedisp $two $search -o "$PWD/t" ./in.fil
        rm $name
    done
    # Two of its own.
    : >t_DM40.00.dat
    ln t_DM40.00.dat t_DM41.00.inf
    keeps "$both" gpudedisp $two -o t in.fil
    keeps "$both" gpudedisp $two -compat presto -o t in.fil
    rm t_*
    : >t.cand
    ln t.cand p.png
    keeps "$both" gpudedisp $two $search -nowrite -plot p.png -o t in.fil
    rm t.cand p.png
    make_rfi
    cp "$golden"/mask/r_rfifind.* .
    for to in r_rfifind.mask r_rfifind.stats; do
        ln -s $to t_DM40.00.dat
        keeps "$to, which is read" gpudedisp $two -mask r_rfifind.mask -o t rfi.fil
        rm t_DM40.00.dat
    done
    printf '40 1 2 1 0\n60 1 2 2 0\n' >plan
    ln -s plan t_DM61.00.dat
    keeps "$is" gpudedisp -q -nobary -plan plan -o t in.fil
    keeps "$is" gpudedisp -q -nobary -compat presto -plan plan -o t in.fil
    rm t_DM61.00.dat
    # What describes sub-bands is read too.
    gpudedisp -q -sub -nsub 4 -o s in.fil
    ln s_DM0.00.sub.inf t_DM40.00.inf
    keeps "s_DM0.00.sub.inf, which is read" gpudedisp $two -o t s_DM0.00.sub?
    rm t_DM40.00.inf
    run -1 --separate-stderr bash -c 'gpudedisp -q -nobary -lodm 40 -numdms 1 -o - - <in.fil >>in.fil'
    one_line "standard output would be written over standard input"
    run -1 --separate-stderr bash -c 'gpudedisp -q -nobary -lodm 40 -numdms 1 -o - in.fil >>in.fil'
    one_line "standard output would be written over in.fil"
    cmp in.fil "$g8"
}

@test "gpudedisp: of trials that are done links are no matter" {
    cp "$g8" in.fil
    gpudedisp $two -o t in.fil
    mkdir store
    mv t_DM40.00.dat store
    ln -s store/t_DM40.00.dat t_DM40.00.dat
    keeps "t_DM40.00.dat$link" gpudedisp $two -o t in.fil
    gpudedisp $two -resume -o t in.fil
    [ -L t_DM40.00.dat ]
    rm t_DM41.00.inf
    gpudedisp $two -resume -o t in.fil
    [ -s t_DM41.00.inf ]
}

@test "ddplan: nor are plans and plots" {
    ddplan -d 20 -plan h.plan >/dev/null
    cp h.plan s.png
    keeps "h.plan $is" ddplan -plan h.plan h.plan
    keeps "$is" ddplan -plan ./h.plan "$PWD/h.plan"
    cp "$golden/ddplan/psr60.fil" g.png
    keeps "g.png $is" ddplan -o g.png g.png
    keeps "s.png $both" ddplan -d 20 -plan s.png -o s.png
    keeps "$both" ddplan -d 20 -plan new.png -o ./new.png
    ln -s h.plan l.plan
    keeps "l.plan $is" ddplan -plan l.plan h.plan
    run -1 --separate-stderr bash -c 'ddplan h.plan >>h.plan'
    one_line "standard output $is"
    run -1 --separate-stderr bash -c 'ddplan -d 20 -plan h.plan >>h.plan'
    one_line "$both"
}

@test "fakebin: nor are observations and tables" {
    seq 128 >band
    echo 1 2 3 >shape
    make="fakebin -q -seed 1 -tobs 0.1 -period 0"
    keeps "band $is" $make -bandpass band -o ./band
    keeps "shape $is" $make -add 'burst dm=1 t=0.05 width=0.01 snr=9 shape=shape' -o shape
    echo 'burst dm=1 t=0.05 width=0.01 snr=9 shape=shape' >list
    keeps "shape $is" $make -addfile list -truth ./shape -o x.fil
    keeps "list $is" $make -addfile list -truth list -o x.fil
    keeps "$both" $make -truth ./x.fil -o x.fil
    : >x.fil
    ln x.fil x.txt
    keeps "$both" $make -truth x.txt -o x.fil
    # The names of a series are not its root.
    ln -s band x_DM3.00.inf
    keeps "x_DM3.00.inf $is" $make -nchans 128 -dm 3 -dat -bandpass band -o x
    rm x_DM3.00.inf
    keeps "$both" $make -dm 3 -dat -truth x_DM3.00.dat -o x
    run -1 --separate-stderr bash -c "$make -truth t >t"
    one_line "$both"
    printf 'grid 3 2\nspacing 8 6\ndish 0 0 0\ndish 1 0 1\n' >s.array
    keeps "s.array $is" fakebin -q -tobs 0.001 -array s.array -fch1 700 -o ./s.array
}

@test "frbbeam: nor are beams and scales" {
    printf 'grid 3 2\nspacing 8 6\nsite -119 49 500\ndish 0 0 0\ndish 1 0 1\ndish 2 1 1\n' >s.array
    printf 'theta 0 0\ntheta 0.5 0.25 at 699\n' >s.beams
    fakebin -q -seed 3 -array s.array -nchans 4 -fch1 700 -foff 1 -tsamp 100 -tobs 0.1 -o v.dada
    form="frbbeam -q -device cpu -array s.array -beams s.beams -tds 2"
    for to in v.dada s.array s.beams; do
        for name in x_beam0001.fil x.scale; do
            ln -s $to $name
            keeps "$name $is" $form -o x v.dada
            rm $name
        done
    done
    : >x_beam0000.fil
    ln x_beam0000.fil x_beam0001.fil
    keeps "$both" $form -o x v.dada
    rm x_beam*
    ln -s v.dada other
    keeps "x_beam0001.fil$link" bash -c "ln -s elsewhere x_beam0001.fil; $form -o x v.dada; code=\$?; rm x_beam0001.fil; exit \$code"
    run -1 --separate-stderr bash -c "$form -beam 0 -o - v.dada >>v.dada"
    one_line "standard output $is"
    # Scales that are read stay, and are no mistake.
    $form -o x v.dada
    sum=$(md5sum <x.scale)
    $form -scale x.scale -o x v.dada
    [ "$sum" = "$(md5sum <x.scale)" ]
}

@test "chi2sig: rows do not go where they come from" {
    printf '30 2\n40 2\n' >rows
    run -1 --separate-stderr timeout 20 bash -c 'chi2sig <rows >>rows'
    one_line "standard output would be written over standard input, which is read"
    [ "$(cat rows)" = "$(printf '30 2\n40 2')" ]
    cp "$golden/acc3_z200h8_ACCEL_200" list
    run -1 --separate-stderr bash -c 'chi2sig -accel list >>list'
    one_line "standard output $is"
    cmp list "$golden/acc3_z200h8_ACCEL_200"
    chi2sig </dev/null >/dev/null
}

@test "gpufold, fbedit and PRESTO's small programs: nor are their outputs" {
    make_line a
    make_radec
    cp "$golden"/mask/r_rfifind.mask "$golden"/mask/r_rfifind.stats .
    for name in r_rfifind.mask r_rfifind.stats; do
        keeps "$name $is" fbedit -q -mask r_rfifind.mask -o $name radec.fil
    done
    printf 'name,period,dm\nx,0.02,47\n' >list
    keeps "standard output $is" bash -c 'gpufold -q -topo -cands list -json -noplot -o t radec.fil >>list'
    keeps "standard output $is" timeout 20 bash -c 'psrpresto readfile a.dat >>a.dat'
    keeps "standard output $is" timeout 20 bash -c 'psrpresto readfile radec.fil >>radec.fil'
    ln a.dat a.fft
    keeps "a.fft $is" psrpresto realfft a.dat
    rm a.fft
    cp a.dat a.fft
    cp a.dat b.dat
    cp a.inf b.inf
    keeps "a.fft $is" psrpresto realfft b.dat a.dat a.fft
    keeps "b.dat: given twice" psrpresto realfft b.dat a.fft b.dat
    [ ! -e b.fft ]
    rm a.fft
    ln a.inf a_red.inf
    keeps "a_red.inf $is" psrpresto realfft -rednoise a.dat
    rm a_red.inf
    ln a.dat a.singlepulse
    keeps "a.singlepulse $is" psrpresto single_pulse_search.py a.dat
    echo '50 0.1' >z.birds
    ln z.birds z.zaplist
    keeps "z.zaplist $is" psrpresto makezaplist.py z.birds
    psrpresto realfft a.dat
    keeps "a.fft $is" psrpresto zapbirds -zap -zapfile a.fft a.fft
}

@test "psrreport -overview: a page is none of the files that it is made from" {
    mkdir d
    echo '{"search": 1}' >d/x.psrsearch.json
    echo '{"begun": "plan"}' >d/x.steps.json
    for name in d/x.psrsearch.json ./d/x.steps.json; do
        sum=$(cat d/* | md5sum)
        run -1 --separate-stderr psrreport -q -overview -o "$name" d
        [[ $stderr == *"$name would be written over d/"*", which is read"* ]] || { echo "$stderr"; false; }
        [ "$sum" = "$(cat d/* | md5sum)" ]
    done
}

@test "a signal ends readfile at once" {
    truncate -s 4G a.dat
    psrpresto readfile a.dat >/dev/null 2>err &
    pid=$!
    sleep 0.5
    ends_soon $pid 3 >told || { cat told; false; }
    grep -qx 'exit code 143' told
}

# A tool reads more files than it is given: those with names that are derived from the input's.
@test "what is read beside an input is an input" {
    fakebin -q -seed 1 -tobs 4 -tsamp 256 -nchans 8 -nbits 8 -period 50 -dm 41 -snrpeak 3 -o s.fil
    gpudedisp -q -nobary -lodm 40 -dmstep 1 -numdms 3 -o s s.fil
    gpuaccel-pulscan -q -zmax 0 s_DM4?.00.dat
    lists="s_DM40.00_ACCEL_0 s_DM41.00_ACCEL_0 s_DM42.00_ACCEL_0"
    ls $lists s_DM40.00_ACCEL_0.cand s_DM40.00.inf
    find . -type f ! -name before | sort | xargs cksum >before
    for beside in s_DM40.00.inf ./s_DM40.00.inf s_DM40.00_ACCEL_0.cand s_DM40.00_ACCEL_0; do
        for option in -o "-csv -o" "-json -o" -rejects; do
            refuses 1 "$beside would be written over .*, which is read" accelsift $option $beside $lists
        done
    done
    refuses 1 's_DM40.00.inf would be written over' gpuaccel-pulscan -q -json -o s_DM40.00.inf s_DM40.00.dat
    find . -type f ! -name before | sort | xargs cksum | cmp before
    ln -s s_DM40.00.inf other.inf
    refuses 1 "other.inf" accelsift -o other.inf $lists
}

@test "what a killed run was writing goes when the file is made anew, and what is being written stays" {
    make="fakebin -q -seed 1 -tsamp 64 -nchans 256 -nbits 8 -period 50"
    $make -tobs 3000 -o t.fil 3>&- &
    first=$!
    for _ in $(seq 200); do [ -z "$(ls t.fil.part?????? 2>/dev/null)" ] || break; sleep 0.02; done
    part=$(ls t.fil.part??????)
    part=s${part#t}
    # Others' files with such names are no leftovers, nor is what a process that runs still writes.
    for name in "$part" s.fil.part000000 s.fil.partial; do echo mine >"$name"; done
    $make -tobs 0.01 -o s.fil
    [ "$(ls s.fil.part* | wc -l)" -eq 3 ]
    { kill -KILL $first && wait $first; } 2>/dev/null || true
    # Of a picture that a run can do without, too.
    cp "$part" "p.png.part${part##*.part}"
    ddplan -d 20 -o p.png >/dev/null 2>&1 || true
    [ ! -e "p.png.part${part##*.part}" ]
    make_line a
    cp "$part" "a.fft.part${part##*.part}"
    psrpresto realfft a.dat
    [ ! -e "a.fft.part${part##*.part}" ]
    $make -tobs 0.02 -o s.fil
    [ ! -e "$part" ]
    [ "$(cat s.fil.part000000 s.fil.partial)" = $'mine\nmine' ]
}

@test "no output goes through a link, but to what is no file" {
    make_line a
    cp "$g8" in.fil
    echo precious >kept
    ln -s kept way
    ln -s nowhere loose
    for name in way loose; do
        for suffix in .png _DM40.00.dat .cand _ACCEL_20.cand; do ln -s "$(readlink $name)" $name$suffix; done
        keeps "$name$link: remove it, or name $(readlink $name)" ddplan -d 20 -plan $name
        left_out "$name.png$link" ddplan -d 20 -o $name.png
        keeps "$name$link" fakebin -q -tobs 0.1 -o $name
        keeps "$name$link" fakebin -q -tobs 0.1 -truth $name -o x.fil
        keeps "${name}_DM40.00.dat$link" gpudedisp $two -o $name in.fil
        keeps "${name}_DM40.00.dat$link" gpudedisp $two -compat presto -o $name in.fil
        keeps "$name.cand$link" gpudedisp $two -singlepulse -nowrite -o $name in.fil
        left_out "$name.png$link" gpudedisp $two -singlepulse -nowrite -plot $name.png -o t in.fil
        [ -s t.cand ]
        left_out "$name.png$link" gpurfifind -q -time 0.05 -plot $name.png -o t in.fil
        [ -s t_rfifind.mask ]
        left_out "$name.png$link" gpuaccel-pulscan -q -device cpu -csv -plot $name.png -o t.csv a.dat
        [ -s t.csv ]
        rm t.cand t_* t.csv
        keeps "$name$link" gpudedisp -q -live -lodm 40 -numdms 2 -o $name in.fil
        keeps "${name}_ACCEL_20.cand$link" gpuaccel-pulscan -q -device cpu -zmax 20 -o $name a.dat
        keeps "$name$link" gpuaccel-pulscan -q -device cpu -csv -o $name a.dat
    done
    [ "$(cat kept)" = precious ]
    # Folders, devices and pipes may be reached in any way.
    mkdir real
    ln -s real folder
    ln -s /dev/null null
    gpuaccel-pulscan -q -device cpu -csv -o null a.dat
    gpuaccel-pulscan -q -device cpu -zmax 20 -outdir folder a.dat
    [ -s real/a_ACCEL_20 ]
    ddplan -d 20 -plan folder/p >/dev/null
    [ -s real/p ]
    ddplan -d 20 -plan >(cat >piped) >/dev/null
    for _ in $(seq 100); do [ -s piped ] && break; sleep 0.05; done
    [ -s piped ]
    # A pipe is opened once, and by its name.
    search="gpuaccel-pulscan -q -device cpu -zmax 20 a.dat"
    fold="gpufold -q -noplot -nosearch -p 0.1 -dm 40 -o t in.fil"
    for name in a_ACCEL_20 a_ACCEL_20.cand a_ACCEL_20.txtcand t_100.00ms_Cand.pfd t_100.00ms_Cand.pfd.bestprof; do
        rm -f a_ACCEL* t_*
        mkfifo $name
        cat $name >taken &
        case $name in a*) timeout 60 $search ;; *) timeout 60 $fold ;; esac
        wait $!
        [ -s taken ]
    done
    # HDF5 cannot be written to one, which is no fault of the data.
    if grep -q '^#define PSR_HDF5_SO' "$builddir/config.h"; then
        mkfifo pipe.h5
        cat pipe.h5 >taken &
        refuses 1 'HDF5 is written to a file, not to a pipe' fbedit -q in.fil -o pipe.h5
        wait $!
    fi
    [ -L folder ]
    [ -L null ]
}
