/* Defaults of descriptions, as their headers and manual pages state them. */
#include <psrkit/ddplan.h>
#include <psrkit/experimental/beam.h>
#include <psrkit/experimental/clean.h>
#include <psrkit/experimental/fold.h>
#include <psrkit/pipeline.h>

#include "tests/support/tap.h"

#include <string.h>

static void test_folder(void)
{
    struct psr_folder_desc d;
    psr_folder_defaults(&d);
    ok(d.size == sizeof d && d.if_choice == -1 && d.clip_sigma == 6, "a fold: input");
    ok(d.start == 0 && d.end == 1 && d.npart == 64, "a fold: all of it, in 64 parts");
    ok(d.pstep == 2 && d.pdstep == 4 && d.dmstep == 2 && d.npfact == 2 && d.ndmfact == 3,
       "a fold: prepfold's trials");
    ok(!d.nosearch && !d.nopsearch && !d.nopdsearch && !d.nodmsearch && !d.searchpdd && !d.view,
       "a fold: what is searched");
}

static void test_pipeline(void)
{
    struct psr_pipeline_desc d;
    struct psr_sink_pulses_desc pulses;
    psr_pipeline_defaults(&d);
    psr_sink_pulses_defaults(&pulses);
    ok(d.size == sizeof d && d.if_choice == -1 && d.clip_sigma == 6, "series: input");
    ok(d.lodm == 0 && d.dmstep == 1 && d.ndm == 10 && d.downsamp == 1 && d.nsub == 0,
       "series: 10 trials from 0 on");
    ok(d.dmconst == PSR_DMCONST_PRESTO && d.dm_decimals == 2 && !strcmp(d.device, "auto") &&
           !strcmp(d.program, "psrkit"),
       "series: constant, names and device");
    ok(!d.pulses && pulses.threshold == 6 && pulses.time_tol == 3 && pulses.trial_tol == 3,
       "series: pulses");
}

static void test_rfi(void)
{
    struct psr_rfi_run_desc d;
    struct psr_rfi_rules rules;
    psr_rfi_run_defaults(&d);
    psr_rfi_rules_defaults(&rules);
    ok(d.size == sizeof d && !d.source && !d.rules, "interference: input");
    ok(d.interval_s == 30 && d.clip_sigma == 6 && rules.size == sizeof rules &&
           rules.time_sigma == 10 && rules.freq_sigma == 4 && rules.chan_frac == 0.7 &&
           rules.int_frac == 0.3,
       "interference: rfifind's rules");
}

static void test_beamformer(void)
{
    struct psr_beamformer_desc d;
    psr_beamformer_defaults(&d);
    ok(d.size == sizeof d && d.beam == -1 && !d.grid && d.cadence_s == 1 && d.tds == 0 &&
           d.nbits == 8 && !strcmp(d.device, "auto"),
       "beams");
}

int main(void)
{
    test_folder();
    test_pipeline();
    test_rfi();
    test_beamformer();
    return done_testing();
}
