/* The options of fakebin, in the order of --help. */
#include "fakebin.h"

static void add_pulsar(struct cli_table *list, struct fakebin_options *o)
{
    const struct cli_option options[] = {
        {"Pulsar", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"period", CLI_DOUBLE, &o->period_ms, "MS",
         "Period in ms (default: random, 1 to 1000, or none with -add); 0: no pulsar.", 0, 1e8},
        {"width", CLI_DOUBLE, &o->width_percent, "PERCENT",
         "Width of its top-hat pulse, percent of the period (default 4).", 1e-4, 100},
        {"snrpeak", CLI_DOUBLE, &o->snrpeak, "S",
         "S/N of one sample at the peak, all channels added (default 1).", 0, 1e6},
        {"dm", CLI_DOUBLE, &o->dm, "DM", "DM in pc cm^-3 (default: random, 1 to 1000).", 0, 1e6},
        {"nosmear", CLI_FLAG, &o->nosmear, NULL,
         "Do not broaden the pulse by sampling and dispersion within a channel.", 0, 0},
        {"pdot", CLI_DOUBLE, &o->pdot, "X", "Period derivative, s/s (default 0).", -1, 1},
        {"accn", CLI_DOUBLE, &o->accn, "A",
         "Acceleration, m/s^2; -period is then the period at mid-observation (default 0).", -1e7,
         1e7},
        {"legacy-phase", CLI_FLAG, &o->legacy_phase, NULL,
         "Compute the phase as t/P(t), as SIGPROC's fake does, which doubles the drift.", 0, 0},
    };
    CLI_ADD(list, options);
}

static void add_orbit(struct cli_table *list, struct fakebin_options *o)
{
    struct signals_orbit *b = &o->orbit;
    const struct cli_option options[] = {
        {"Orbit", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"binary", CLI_FLAG, &o->binary, NULL, "Put the pulsar in a binary.", 0, 0},
        {"bper", CLI_DOUBLE, &b->period_h, "H", "Orbital period in hours (default 10).", 1e-6, 1e9},
        {"becc", CLI_DOUBLE, &b->ecc, "E", "Eccentricity (default 0).", 0, 0.9999},
        {"binc", CLI_DOUBLE, &b->inc_deg, "DEG", "Inclination (default 90).", -360, 360},
        {"bomega", CLI_DOUBLE, &b->omega_deg, "DEG", "Longitude of periastron (default 0).", -1e6,
         1e6},
        {"bphase", CLI_DOUBLE, &b->phase, "X",
         "Time of periastron after the start, in orbits (default 0).", -1e6, 1e6},
        {"bpmass", CLI_DOUBLE, &b->pulsar_msun, "M",
         "Mass of the pulsar, solar masses (default 1.4).", 1e-6, 1e9},
        {"bcmass", CLI_DOUBLE, &b->companion_msun, "M",
         "Mass of the companion, solar masses (default 5).", 1e-9, 1e9},
    };
    CLI_ADD(list, options);
}

static void add_signals(struct cli_table *list, struct fakebin_options *o)
{
    const struct cli_option options[] = {
        {"More signals", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"add", CLI_LIST, &o->add, "TEXT",
         "Add a signal, e.g. \"burst dm=475 t=2.0 width=2e-3 snr=20\"; may be repeated.", 0, 0},
        {"addfile", CLI_LIST, &o->addfile, "FILE", "Add one signal for each line of FILE.", 0, 0},
    };
    CLI_ADD(list, options);
}

static void add_observation(struct cli_table *list, struct fakebin_options *o)
{
    const struct cli_option options[] = {
        {"Observation", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"tobs", CLI_DOUBLE, &o->tobs_s, "SEC", "Length in s (default 10).", 1e-9, 1e9},
        {"tsamp", CLI_DOUBLE, &o->tsamp_us, "US", "Sample time in microseconds (default 80).", 1e-3,
         1e9},
        {"tstart", CLI_DOUBLE, &o->tstart_mjd, "MJD",
         "Start (default 50000.0, with -vdif 60000.0).", 0, 1e6},
        {"nchans", CLI_INT, &o->nchans, "N", "Channels (default 128).", 1, 1 << 20},
        {"nbits", CLI_INT, &o->nbits, "N", "Bits per sample: 1 2 4 8 16 32 (default 4).", 1, 32},
        {"nifs", CLI_INT, &o->nifs, "N",
         "Number of IFs, with equal signals and independent noise (default 1).", 1, 16},
        {"fch1", CLI_DOUBLE, &o->fch1_mhz, "MHZ",
         "Centre of the first and highest channel (default 433.968).", 1e-3, 1e9},
        {"foff", CLI_DOUBLE, &o->foff_mhz, "MHZ",
         "Channel width; its sign is ignored (default 0.062).", -1e6, 1e6},
        {"source", CLI_LIST, &o->source, "NAME",
         "Name of the source in the header. With -array: theta,theta',snr[,dm=,t=,width=], a "
         "source in the sky; may be repeated.",
         0, 0},
        {"dmconst", CLI_TEXT, &o->dmconst, "K",
         "Dispersion constant: presto (1/2.41e-4, default), sigproc (4148.741601) or a value in "
         "MHz^2 s.",
         0, 0},
        {"array", CLI_TEXT, &o->array, "FILE",
         "Write voltages of the dishes of this array as a DADA file for frbbeam.", 0, 0},
        {"vdif", CLI_FLAG, &o->vdif, NULL,
         "Write voltages of one telescope as VDIF frames for gpudigifil: channels of -foff MHz, "
         "sampled at that rate, -nifs polarisations, and signals of -add.",
         0, 0},
        {"real", CLI_FLAG, &o->real, NULL,
         "Of -vdif: real samples, at twice the rate (default: complex).", 0, 0},
    };
    CLI_ADD(list, options);
}

static void add_noise(struct cli_table *list, struct fakebin_options *o)
{
    const struct cli_option options[] = {
        {"Noise", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"seed", CLI_INT, &o->seed, "N", "Seed (default -1: from the clock).", -1, 9e18},
        {"rednoise", CLI_DOUBLE, &o->rednoise, "S",
         "Add red noise common to all channels, S sigma of one channel (default 0).", 0, 1e6},
        {"redindex", CLI_DOUBLE, &o->redindex, "X", "Spectral index of the red noise (default -2).",
         -4, 0},
        {"bandpass", CLI_TEXT, &o->bandpass, "FILE",
         "Multiply each channel's power by a number from FILE, highest channel first.", 0, 0},
        {"rfi", CLI_LIST, &o->rfi, "TEXT",
         "Add interference: tone, radar, phone, mains, spark, jump, bandpass or drop, e.g. \"spark "
         "rate=2 width=1e-3 level=1\"; may be repeated.",
         0, 0},
        {"evenodd", CLI_FLAG, &o->evenodd, NULL,
         "Write only 0 and 1 in alternate channels, 32 bits.", 0, 0},
    };
    CLI_ADD(list, options);
}

static void add_output(struct cli_table *list, struct fakebin_options *o)
{
    const struct cli_option options[] = {
        {"Output", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"o", CLI_TEXT, &o->output, "FILE",
         "Write the observation to FILE; - is standard output (default), dada://KEY a ring of "
         "psrdada.",
         0, 0},
        {"psrfits", CLI_FLAG, &o->psrfits, NULL, "Write PSRFITS instead of filterbank.", 0, 0},
        {"dat", CLI_FLAG, &o->dat, NULL,
         "Write the dedispersed series instead: FILE_DM12.00.dat with its .inf.", 0, 0},
        {"truth", CLI_TEXT, &o->truth, "FILE", "Write a table of the injected signals.", 0, 0},
        {"headerless", CLI_FLAG, &o->headerless, NULL, "Write no header.", 0, 0},
        {"swapout", CLI_FLAG, &o->swapout, NULL, "Write big-endian numbers, including the header.",
         0, 0},
    };
    CLI_ADD(list, options);
}

static void add_network(struct cli_table *list, struct fakebin_options *o)
{
    const struct cli_option options[] = {
        {"Network", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"udp", CLI_TEXT, &o->udp, "ADDRESS:PORT",
         "Send the filterbank in numbered datagrams instead, or the frames of -vdif, at the rate "
         "at which they are sampled.",
         0, 0},
        {"rate", CLI_DOUBLE, &o->rate, "X",
         "Send at X times that rate (default 1); 0: as fast as it is made.", 0, 1e9},
        {"loss", CLI_DOUBLE, &o->loss, "P",
         "Do not send this fraction of the datagrams (default 0).", 0, 0.999},
        {"twice", CLI_DOUBLE, &o->twice, "P", "Send this fraction of the others twice (default 0).",
         0, 1},
        {"reorder", CLI_INT, &o->reorder, "N",
         "Send datagrams out of order, up to N after their turn (default 0).", 0, 65536},
    };
    CLI_ADD(list, options);
}

static void add_running(struct cli_table *list, struct fakebin_options *o)
{
    const struct cli_option running[] = {{"Running", CLI_HEADING, NULL, NULL, NULL, 0, 0}};
    const struct cli_option verbosity[] = {
        {"q", CLI_FLAG, &o->quiet, NULL, "No notes, no progress.", 0, 0},
        {"v", CLI_FLAG, &o->verbose, NULL, "Report what is made and how fast.", 0, 0},
    };
    CLI_ADD(list, running);
    cli_add_limits(list, &o->ncpus, NULL);
    CLI_ADD(list, verbosity);
}

void fakebin_fill_table(struct cli_table *list, struct fakebin_options *o)
{
    list->n = 0;
    add_pulsar(list, o);
    add_orbit(list, o);
    add_signals(list, o);
    add_observation(list, o);
    add_noise(list, o);
    add_output(list, o);
    add_network(list, o);
    add_running(list, o);
}
