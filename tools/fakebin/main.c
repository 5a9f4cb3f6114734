/* fakebin: makes synthetic observations. */
#include "fakebin.h"

#include "tools/common/cli.h"
#include "tools/common/quote.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- the options of fakebin, in the order of --help ------------------------------------------- */

#define AT(member) CLI_AT(struct fakebin_options, member)

static const struct cli_option options[] = {
    {"Pulsar", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"period", CLI_DOUBLE, AT(period_ms), "MS", 0, 1e8,
     "Period in ms (default: random, 1 to 1000, or none with -add); 0: no pulsar."},
    {"width", CLI_DOUBLE, AT(width_percent), "PERCENT", 1e-4, 100,
     "Width of its top-hat pulse, percent of the period (default 4)."},
    {"snrpeak", CLI_DOUBLE, AT(snrpeak), "S", 0, 1e6,
     "S/N of one sample at the peak, all channels added (default 1)."},
    {"dm", CLI_DOUBLE, AT(dm), "DM", 0, 1e6, "DM in pc cm^-3 (default: random, 1 to 1000)."},
    {"nosmear", CLI_FLAG, AT(nosmear), NULL, 0, 0,
     "Do not broaden the pulse by sampling and dispersion within a channel."},
    {"pdot", CLI_DOUBLE, AT(pdot), "X", -1, 1, "Period derivative, s/s (default 0)."},
    {"accn", CLI_DOUBLE, AT(accn), "A", -1e7, 1e7,
     "Acceleration, m/s^2; -period is then the period at mid-observation (default 0)."},
    {"legacy-phase", CLI_FLAG, AT(legacy_phase), NULL, 0, 0,
     "Compute the phase as t/P(t), as SIGPROC's fake does, which doubles the drift."},
    {"Orbit", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"binary", CLI_FLAG, AT(binary), NULL, 0, 0, "Put the pulsar in a binary."},
    {"bper", CLI_DOUBLE, AT(orbit.period_h), "H", 1e-6, 1e9,
     "Orbital period in hours (default 10)."},
    {"becc", CLI_DOUBLE, AT(orbit.ecc), "E", 0, 0.9999, "Eccentricity (default 0)."},
    {"binc", CLI_DOUBLE, AT(orbit.inc_deg), "DEG", -360, 360, "Inclination (default 90)."},
    {"bomega", CLI_DOUBLE, AT(orbit.omega_deg), "DEG", -1e6, 1e6,
     "Longitude of periastron (default 0)."},
    {"bphase", CLI_DOUBLE, AT(orbit.phase), "X", -1e6, 1e6,
     "Time of periastron after the start, in orbits (default 0)."},
    {"bpmass", CLI_DOUBLE, AT(orbit.pulsar_msun), "M", 1e-6, 1e9,
     "Mass of the pulsar, solar masses (default 1.4)."},
    {"bcmass", CLI_DOUBLE, AT(orbit.companion_msun), "M", 1e-9, 1e9,
     "Mass of the companion, solar masses (default 5)."},
    {"More signals", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"add", CLI_LIST, AT(add), "TEXT", 0, 0,
     "Add a signal, e.g. \"burst dm=475 t=2.0 width=2e-3 snr=20\"; may be repeated."},
    {"addfile", CLI_LIST, AT(addfile), "FILE", 0, 0, "Add one signal for each line of FILE."},
    {"Observation", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"tobs", CLI_DOUBLE, AT(tobs_s), "SEC", 1e-9, 1e9, "Length in s (default 10)."},
    {"tsamp", CLI_DOUBLE, AT(tsamp_us), "US", 1e-3, 1e9,
     "Sample time in microseconds (default 80)."},
    {"tstart", CLI_DOUBLE, AT(tstart_mjd), "MJD", 0, 1e6,
     "Start (default 50000.0, with -vdif 60000.0)."},
    {"nchans", CLI_INT, AT(nchans), "N", 1, 1 << 20, "Channels (default 128)."},
    {"nbits", CLI_INT, AT(nbits), "N", 1, 32, "Bits per sample: 1 2 4 8 16 32 (default 4)."},
    {"nifs", CLI_INT, AT(nifs), "N", 1, 16,
     "Number of IFs, with equal signals and independent noise (default 1)."},
    {"fch1", CLI_DOUBLE, AT(fch1_mhz), "MHZ", 1e-3, 1e9,
     "Centre of the first and highest channel (default 433.968)."},
    {"foff", CLI_DOUBLE, AT(foff_mhz), "MHZ", -1e6, 1e6,
     "Channel width; its sign is ignored (default 0.062)."},
    {"source", CLI_LIST, AT(source), "NAME", 0, 0,
     "Name of the source in the header. With -array: theta,theta',snr[,dm=,t=,width=], a "
     "source in the sky; may be repeated."},
    {"dmconst", CLI_TEXT, AT(dmconst), "K", 0, 0,
     "Dispersion constant: presto (1/2.41e-4, default), sigproc (4148.741601) or a value in "
     "MHz^2 s."},
    {"array", CLI_TEXT, AT(array), "FILE", 0, 0,
     "Write voltages of the dishes of this array as a DADA file for frbbeam."},
    {"vdif", CLI_FLAG, AT(vdif), NULL, 0, 0,
     "Write voltages of one telescope as VDIF frames for gpudigifil: channels of -foff MHz, "
     "sampled at that rate, -nifs polarisations, and signals of -add."},
    {"real", CLI_FLAG, AT(real), NULL, 0, 0,
     "Of -vdif: real samples, at twice the rate (default: complex)."},
    {"Noise", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"seed", CLI_INT, AT(seed), "N", -1, 9e18, "Seed (default -1: from the clock)."},
    {"rednoise", CLI_DOUBLE, AT(rednoise), "S", 0, 1e6,
     "Add red noise common to all channels, S sigma of one channel (default 0)."},
    {"redindex", CLI_DOUBLE, AT(redindex), "X", -4, 0,
     "Spectral index of the red noise (default -2)."},
    {"bandpass", CLI_TEXT, AT(bandpass), "FILE", 0, 0,
     "Multiply each channel's power by a number from FILE, highest channel first."},
    {"rfi", CLI_LIST, AT(rfi), "TEXT", 0, 0,
     "Add interference: tone, radar, phone, mains, spark, jump, bandpass or drop, e.g. \"spark "
     "rate=2 width=1e-3 level=1\"; may be repeated."},
    {"evenodd", CLI_FLAG, AT(evenodd), NULL, 0, 0,
     "Write only 0 and 1 in alternate channels, 32 bits."},
    {"Output", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"o", CLI_TEXT, AT(output), "FILE", 0, 0,
     "Write the observation to FILE; - is standard output (default), dada://KEY a ring of "
     "psrdada."},
    {"psrfits", CLI_FLAG, AT(psrfits), NULL, 0, 0, "Write PSRFITS instead of filterbank."},
    {"dat", CLI_FLAG, AT(dat), NULL, 0, 0,
     "Write the dedispersed series instead: FILE_DM12.00.dat with its .inf."},
    {"truth", CLI_TEXT, AT(truth), "FILE", 0, 0, "Write a table of the injected signals."},
    {"headerless", CLI_FLAG, AT(headerless), NULL, 0, 0, "Write no header."},
    {"swapout", CLI_FLAG, AT(swapout), NULL, 0, 0,
     "Write big-endian numbers, including the header."},
    {"Network", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"udp", CLI_TEXT, AT(udp), "ADDRESS:PORT", 0, 0,
     "Send the filterbank in numbered datagrams instead, or the frames of -vdif, at the rate "
     "at which they are sampled."},
    {"rate", CLI_DOUBLE, AT(rate), "X", 0, 1e9,
     "Send at X times that rate (default 1); 0: as fast as it is made."},
    {"loss", CLI_DOUBLE, AT(loss), "P", 0, 0.999,
     "Do not send this fraction of the datagrams (default 0)."},
    {"twice", CLI_DOUBLE, AT(twice), "P", 0, 1,
     "Send this fraction of the others twice (default 0)."},
    {"reorder", CLI_INT, AT(reorder), "N", 0, 65536,
     "Send datagrams out of order, up to N after their turn (default 0)."},
    {"Running", CLI_HEADING, NULL, NULL, 0, 0, NULL},
};

static const struct cli_option verbosity[] = {
    {"q", CLI_FLAG, AT(quiet), NULL, 0, 0, "No notes, no progress."},
    {"v", CLI_FLAG, AT(verbose), NULL, 0, 0, "Report what is made and how fast."},
};

/* --- fakebin: makes synthetic observations ---------------------------------------------------- */

/* Parses fakebin's command line. */

static const struct fakebin_options defaults = {
    .period_ms = -1,
    .dm = -1,
    .width_percent = 4,
    .snrpeak = 1,
    .orbit = SIGNALS_ORBIT,
    .nchans = 128,
    .nbits = 4,
    .nifs = 1,
    .tsamp_us = 80,
    .tobs_s = 10,
    .tstart_mjd = -1,
    .fch1_mhz = 433.968,
    .foff_mhz = 0.062,
    .dmconst = "presto",
    .seed = -1,
    .redindex = -2,
    .rate = 1,
};

/* Voltages have a band, sources or signals, and nothing else that filterbanks have. */
static void check_voltages(const struct fakebin_options *o, const struct cli *tool)
{
    const struct {
        const char *name;
        bool given, in_vdif; /* -vdif has it, -array has not */
    } incompatible[] = {
        {"period", o->period_ms >= 0, false},
        {"dm", o->dm >= 0, false},
        {"binary", o->binary, false},
        {"add", o->add.n > 0, true},
        {"addfile", o->addfile.n > 0, true},
        {"nifs", o->nifs != 1, true},
        {"nbits", o->nbits != 4, true},
        {"rednoise", o->rednoise > 0, false},
        {"bandpass", o->bandpass, false},
        {"evenodd", o->evenodd, false},
        {"psrfits", o->psrfits, false},
        {"dat", o->dat, false},
        {"truth", o->truth, false},
        {"headerless", o->headerless, false},
        {"swapout", o->swapout, false},
        {"rfi", o->rfi.n > 0, false},
        {"udp", o->udp, true},
        {"tsamp", o->vdif && o->tsamp_us != 80, false},
        {"source", o->vdif && o->source.n > 0, false},
    };
    if (o->array && o->vdif)
        cli_usage_error(tool, "-array excludes -vdif: one telescope or many");
    if (o->real && !o->vdif)
        cli_usage_error(tool, "-real needs -vdif");
    for (size_t i = 0; i < sizeof incompatible / sizeof *incompatible; i++) {
        if (o->array && incompatible[i].given)
            cli_usage_error(tool, "-array excludes -%s: voltages are noise and -source",
                            incompatible[i].name);
        if (o->vdif && incompatible[i].given && !incompatible[i].in_vdif)
            cli_usage_error(tool, "-vdif excludes -%s: voltages are noise and -add",
                            incompatible[i].name);
    }
}

/* What is sent is a filterbank, and no file. */
static void check_network(const struct fakebin_options *o, const struct cli *tool)
{
    if (o->udp && (o->output || o->dat || o->psrfits || o->headerless || o->swapout))
        cli_usage_error(tool, "-udp excludes -o, -dat, -psrfits, -headerless and -swapout");
    if (!o->udp && (o->loss > 0 || o->twice > 0 || o->reorder > 0 || o->rate != 1))
        cli_usage_error(tool, "-rate, -loss, -twice and -reorder need -udp");
    if (o->udp && !o->vdif && o->nifs != 1)
        cli_usage_error(tool, "-udp: -nifs %d, must be 1", (int)o->nifs);
}

/* Reads the command line into o (defaults set here); mistakes end the program with exit code 2.
 * Returned: *tool for messages */
static void fakebin_options_parse(struct fakebin_options *o, struct cli *tool, int argc,
                                  char **argv)
{
    *o = defaults;
    struct cli_table table = {.n = 0};
    CLI_FILL(&table, options, o);
    cli_add_limits(&table, &o->ncpus, NULL);
    CLI_FILL(&table, verbosity, o);
    *tool = (struct cli){
        .name = "fakebin",
        .operands = "[OPTION]... [-o FILE | -udp ADDRESS:PORT]",
        .examples = "fakebin -period 20 -dm 50 -snrpeak 0.3 -tobs 60 -o psr.fil\n"
                    "fakebin -add \"burst dm=475 t=2.0 width=2e-3 snr=20\" -o frb.fil\n"
                    "fakebin -vdif -tobs 1 -o obs.vdif\n",
        .summary =
            "Make a synthetic observation: noise with pulsars and bursts, as SIGPROC "
            "filterbank, PSRFITS or a dedispersed series; or voltages of a telescope or an array.",
        .options = table.option,
        .noptions = table.n,
    };
    int n = cli_parse(tool, argc, argv);
    /* Combinations that the table cannot express. */
    if (n > 0)
        cli_usage_error(tool, "no operands are taken: -o FILE names the output");
    if (o->nbits != 1 && o->nbits != 2 && o->nbits != 4 && o->nbits != 8 && o->nbits != 16 &&
        o->nbits != 32)
        cli_usage_error(tool, "-nbits: %d, must be 1, 2, 4, 8, 16 or 32", (int)o->nbits);
    if (o->dat && (o->psrfits || o->headerless || o->swapout || o->evenodd))
        cli_usage_error(tool, "-dat excludes -psrfits, -headerless, -swapout and -evenodd");
    if ((o->dat || o->evenodd) && o->rfi.n > 0)
        cli_usage_error(tool, "-rfi excludes -dat and -evenodd: it needs channels of noise");
    if (o->psrfits && (o->headerless || o->swapout))
        cli_usage_error(tool, "-psrfits excludes -headerless and -swapout");
    if (o->dat && !o->output)
        cli_usage_error(tool, "-dat needs -o ROOT, the start of the files' names");
    if (o->truth && !strcmp(o->truth, o->output ? o->output : "-"))
        cli_usage_error(tool, "-truth: '%s' is where the observation goes", o->truth);
    if (o->tstart_mjd < 0)
        o->tstart_mjd = o->vdif ? 60000 : 50000; /* frames have dates from 2000 on */
    check_voltages(o, tool);
    check_network(o, tool);
    if (o->nchans > 1 && o->foff_mhz == 0)
        cli_usage_error(tool, "-foff: 0 does not tell %d channels apart", (int)o->nchans);
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

static size_t rows_of_block(const struct fakebin_job *j)
{
    const size_t row = psr_fake_row_bytes(j->plan),
                 most = j->opt.udp ? FAKEBIN_SENT_BYTES : FAKEBIN_BLOCK_BYTES,
                 rows = row < most ? most / row : 1;
    return (int64_t)rows < j->obs.nsamp ? rows : (size_t)j->obs.nsamp;
}

static psr_status make_blocks(struct fakebin_job *j, double *making_s)
{
    const size_t rows = rows_of_block(j), row_bytes = psr_fake_row_bytes(j->plan);
    void *block = malloc(rows * row_bytes);
    if (!block)
        return psr_fail_nomem(&j->err, "block", (double)(rows * row_bytes));
    struct run_progress progress;
    run_progress_start(&progress, run_progress_mode(j->opt.quiet, j->opt.verbose), j->obs.nsamp,
                       "MB", (double)row_bytes / 1e6);
    psr_status st = PSR_OK;
    for (int64_t done = 0; done < j->obs.nsamp && !st && !run_stop_signal();) {
        int64_t left = j->obs.nsamp - done;
        size_t n = left < (int64_t)rows ? (size_t)left : rows;
        double began_s = run_seconds();
        st = psr_fake_execute(j->plan, done, n, block, &j->err);
        *making_s += run_seconds() - began_s;
        if (!st)
            st = fakebin_output_write(j, block, n);
        done += (int64_t)n;
        run_progress_update(&progress, done);
    }
    run_progress_end(&progress);
    free(block);
    return st;
}

static psr_status run(struct fakebin_job *j)
{
    double began_s = run_seconds(), making_s = 0;
    if (j->opt.array)
        return fakebin_voltages(j);
    if (j->opt.vdif)
        return fakebin_vdif(j);
    psr_status st = fakebin_prepare(j);
    if (st == PSR_EINVAL) /* what is out of its range came from the command line */
        cli_usage_error(&j->tool, "%s", j->err.msg);
    if (!st)
        st = fakebin_check_names(j);
    if (!st)
        st = fakebin_output_open(j);
    if (!st)
        st = make_blocks(j, &making_s);
    if (!st && !run_stop_signal() && j->opt.truth)
        st = fakebin_write_truth(j);
    if (!st && !run_stop_signal())
        st = fakebin_output_close(j);
    double bytes = st ? 0 : (double)j->obs.nsamp * (double)psr_fake_row_bytes(j->plan);
    double took_s = run_seconds() - began_s;
    if (!st && j->opt.verbose)
        fprintf(stderr, "%s: %s; seed %lld; %.0f MB in %.3f s, %.3f s of them writing: %.2f GB/s\n",
                j->tool.name, j->obs.source, (long long)j->opt.seed, bytes / 1e6, took_s,
                took_s - making_s, bytes / took_s / 1e9);
    return st;
}

int main(int argc, char **argv)
{
    struct fakebin_job job = {.command = quote_command("fakebin", argc, argv)};
    fakebin_options_parse(&job.opt, &job.tool, argc, argv);
    if (!job.opt.output && !job.opt.udp && isatty(STDOUT_FILENO))
        cli_usage_error(&job.tool, "standard output is a terminal: redirect it, or give -o FILE");
    run_catch_signals();
    run_limit_threads(&job.opt.ncpus, job.opt.quiet ? NULL : job.tool.name);
    psr_status st = job.command ? run(&job) : psr_fail_nomem(&job.err, "command line", argc);
    fakebin_release(&job);
    cli_note_kept(&job.tool, job.opt.quiet || !job.opt.output, 0, 1, NULL);
    return cli_end(&job.tool, st, &job.err, EXIT_SUCCESS);
}
