#include "fakebin.h"

#include <math.h>

static const struct fakebin_options defaults = {
    .period_ms = -1,
    .dm = -1,
    .width_percent = 4,
    .snrpeak = 1,
    .orbit = {10, 0, 90, 0, 0, 1.4, 5},
    .nchans = 128,
    .nbits = 4,
    .nifs = 1,
    .tsamp_us = 80,
    .tobs_s = 10,
    .tstart_mjd = 50000,
    .fch1_mhz = 433.968,
    .foff_mhz = 0.062,
    .dmconst = "presto",
    .seed = -1,
    .redindex = -2,
};

/* Voltages have a band, sources in the sky, and nothing else that filterbanks have. */
static void check_voltages(const struct fakebin_options *o, const struct cli *tool)
{
    const struct {
        const char *name;
        bool given;
    } alien[] = {
        {"period", o->period_ms >= 0}, {"dm", o->dm >= 0},
        {"binary", o->binary},         {"add", o->add.n > 0},
        {"addfile", o->addfile.n > 0}, {"nifs", o->nifs != 1},
        {"nbits", o->nbits != 4},      {"rednoise", o->rednoise > 0},
        {"bandpass", o->bandpass},     {"evenodd", o->evenodd},
        {"psrfits", o->psrfits},       {"dat", o->dat},
        {"truth", o->truth},           {"headerless", o->headerless},
        {"swapout", o->swapout},
    };
    for (size_t i = 0; o->array && i < sizeof alien / sizeof *alien; i++)
        if (alien[i].given)
            cli_usage_error(tool, "-array excludes -%s: voltages are noise and -source",
                            alien[i].name);
}

/* Combinations that the table cannot express. */
static void check_combinations(struct fakebin_options *o, const struct cli *tool, int noperands)
{
    if (noperands > 0)
        cli_usage_error(tool, "no operands are taken: -o FILE names the output");
    if (o->nbits != 1 && o->nbits != 2 && o->nbits != 4 && o->nbits != 8 && o->nbits != 16 &&
        o->nbits != 32)
        cli_usage_error(tool, "-nbits: %d, must be 1, 2, 4, 8, 16 or 32", (int)o->nbits);
    if (o->dat && (o->psrfits || o->headerless || o->swapout || o->evenodd))
        cli_usage_error(tool, "-dat excludes -psrfits, -headerless, -swapout and -evenodd");
    if (o->psrfits && (o->headerless || o->swapout))
        cli_usage_error(tool, "-psrfits excludes -headerless and -swapout");
    if (o->dat && !o->output)
        cli_usage_error(tool, "-dat needs -o ROOT, the start of the files' names");
    check_voltages(o, tool);
    o->foff_mhz = -fabs(o->foff_mhz);
    if (o->evenodd) {
        o->nbits = 32;
        o->dm = 0;
        o->nosmear = true;
    }
    if (o->tobs_s * 1e6 < o->tsamp_us / 2)
        cli_usage_error(tool, "-tobs: %g s is shorter than a sample", o->tobs_s);
    if (o->fch1_mhz + (double)(o->nchans - 1) * o->foff_mhz <= 0)
        cli_usage_error(tool, "-fch1: %d channels of %g MHz below %g MHz reach 0", (int)o->nchans,
                        -o->foff_mhz, o->fch1_mhz);
}

void fakebin_options_parse(struct fakebin_options *o, struct cli *tool, int argc, char **argv)
{
    *o = defaults;
    struct fakebin_orbit *b = &o->orbit;
    const struct cli_option table[] = {
        {"The pulsar", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"period", CLI_DOUBLE, &o->period_ms, "MS",
         "Period in ms (default: random, 1 to 1000, or none with -add); 0: no pulsar.", 0, 1e8},
        {"width", CLI_DOUBLE, &o->width_percent, "PERCENT",
         "Width of its top-hat pulse, percent of the period (default 4).", 1e-4, 100},
        {"snrpeak", CLI_DOUBLE, &o->snrpeak, "S",
         "S/N of one sample at the peak, all channels added (default 1).", 0, 1e6},
        {"dm", CLI_DOUBLE, &o->dm, "DM", "DM in pc cm^-3 (default: random, 1 to 1000).", 0, 1e6},
        {"nosmear", CLI_FLAG, &o->nosmear, NULL,
         "Do not widen the pulse by sampling and dispersion within a channel.", 0, 0},
        {"pdot", CLI_DOUBLE, &o->pdot, "X", "Period derivative, s/s (default 0).", -1, 1},
        {"accn", CLI_DOUBLE, &o->accn, "A",
         "Acceleration, m/s^2; the period is then that at mid-observation (default 0).", -1e7, 1e7},
        {"legacy-phase", CLI_FLAG, &o->legacy_phase, NULL,
         "Take the phase as t/P(t), as SIGPROC's fake does: its drift is twice what was asked.", 0,
         0},
        {"Its orbit", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"binary", CLI_FLAG, &o->binary, NULL, "Put the pulsar in a binary.", 0, 0},
        {"bper", CLI_DOUBLE, &b->period_h, "H", "Orbital period in hours (default 10).", 1e-6, 1e9},
        {"becc", CLI_DOUBLE, &b->ecc, "E", "Eccentricity (default 0).", 0, 0.9999},
        {"binc", CLI_DOUBLE, &b->inc_deg, "DEG", "Inclination (default 90).", -360, 360},
        {"bomega", CLI_DOUBLE, &b->omega_deg, "DEG", "Longitude of periastron (default 0).", -1e6,
         1e6},
        {"bphase", CLI_DOUBLE, &b->phase, "X",
         "Time of periastron after the start, in orbits (default 0).", -1e6, 1e6},
        {"bpmass", CLI_DOUBLE, &b->pulsar_msun, "M", "Mass of the pulsar, suns (default 1.4).",
         1e-6, 1e9},
        {"bcmass", CLI_DOUBLE, &b->companion_msun, "M", "Mass of the companion, suns (default 5).",
         1e-9, 1e9},
        {"More signals", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"add", CLI_LIST, &o->add, "TEXT",
         "Add a signal, as \"burst dm=475 t=2.0 width=2e-3 snr=20\"; may be repeated.", 0, 0},
        {"addfile", CLI_LIST, &o->addfile, "FILE", "Add one signal for each line of FILE.", 0, 0},
        {"The observation", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"tobs", CLI_DOUBLE, &o->tobs_s, "SEC", "Length in s (default 10).", 1e-9, 1e9},
        {"tsamp", CLI_DOUBLE, &o->tsamp_us, "US", "Sample time in microseconds (default 80).", 1e-3,
         1e9},
        {"tstart", CLI_DOUBLE, &o->tstart_mjd, "MJD", "Start (default 50000.0).", 0, 1e6},
        {"nchans", CLI_INT, &o->nchans, "N", "Channels (default 128).", 1, 1 << 20},
        {"nbits", CLI_INT, &o->nbits, "N", "Bits per sample: 1 2 4 8 16 32 (default 4).", 1, 32},
        {"nifs", CLI_INT, &o->nifs, "N", "IFs, alike but for their noise (default 1).", 1, 16},
        {"fch1", CLI_DOUBLE, &o->fch1_mhz, "MHZ",
         "Centre of the first and highest channel (default 433.968).", 1e-3, 1e9},
        {"foff", CLI_DOUBLE, &o->foff_mhz, "MHZ",
         "Width of a channel; its sign is dropped (default 0.062).", -1e6, 1e6},
        {"source", CLI_LIST, &o->source, "NAME",
         "Name of the source in the header. With -array: theta,theta',snr[,dm=,t=,width=], a "
         "source in the sky; may be given again.",
         0, 0},
        {"dmconst", CLI_TEXT, &o->dmconst, "K",
         "Dispersion constant: presto (1/2.41e-4, default), sigproc (4148.741601) or a value in "
         "MHz^2 s.",
         0, 0},
        {"array", CLI_TEXT, &o->array, "FILE",
         "Write voltages of this array's dishes, in a DADA file for frbbeam.", 0, 0},
        {"Noise", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"seed", CLI_INT, &o->seed, "N", "Seed (default -1: from the clock).", -1, 9e18},
        {"rednoise", CLI_DOUBLE, &o->rednoise, "S",
         "Add red noise common to all channels, of S sigma of a channel (default 0).", 0, 1e6},
        {"redindex", CLI_DOUBLE, &o->redindex, "X",
         "Power law of the red noise in frequency (default -2).", -4, 0},
        {"bandpass", CLI_TEXT, &o->bandpass, "FILE",
         "Multiply each channel's power by a number of FILE, highest channel first.", 0, 0},
        {"evenodd", CLI_FLAG, &o->evenodd, NULL,
         "Nothing but 0 and 1 in alternate channels, 32 bits.", 0, 0},
        {"Output", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"o", CLI_TEXT, &o->output, "FILE", "Write FILE (default: standard output).", 0, 0},
        {"psrfits", CLI_FLAG, &o->psrfits, NULL, "Write PSRFITS instead of filterbank.", 0, 0},
        {"dat", CLI_FLAG, &o->dat, NULL,
         "Write the dedispersed series instead: FILE_DM12.00.dat with its .inf.", 0, 0},
        {"truth", CLI_TEXT, &o->truth, "FILE", "Write a table of what was put in.", 0, 0},
        {"headerless", CLI_FLAG, &o->headerless, NULL, "Write no header.", 0, 0},
        {"swapout", CLI_FLAG, &o->swapout, NULL, "Write big-endian numbers, in the header too.", 0,
         0},
        {"Running", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"ncpus", CLI_INT, &o->ncpus, "N", "Threads (default: all cores).", 1, 4096},
        {"q", CLI_FLAG, &o->quiet, NULL, "No remarks, no progress.", 0, 0},
        {"v", CLI_FLAG, &o->verbose, NULL, "Say what is made and how fast.", 0, 0},
    };
    *tool = (struct cli){
        .name = "fakebin",
        .operands = "[OPTION]... [-o FILE]",
        .summary = "Make a synthetic observation: noise with pulsars and bursts, as SIGPROC "
                   "filterbank, PSRFITS or a dedispersed series; or voltages of an array.",
        .options = table,
        .noptions = sizeof table / sizeof *table,
    };
    int n = cli_parse(tool, argc, argv);
    check_combinations(o, tool, n);
}
