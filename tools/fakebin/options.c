/* Parses fakebin's command line. */
#include "fakebin.h"

#include <math.h>
#include <string.h>

static const struct fakebin_options defaults = {
    .period_ms = -1,
    .dm = -1,
    .width_percent = 4,
    .snrpeak = 1,
    .orbit = FAKEBIN_ORBIT,
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
    .rate = 1,
};

/* Voltages have a band, sources in the sky, and nothing else that filterbanks have. */
static void check_voltages(const struct fakebin_options *o, const struct cli *tool)
{
    const struct {
        const char *name;
        bool given;
    } incompatible[] = {
        {"period", o->period_ms >= 0},
        {"dm", o->dm >= 0},
        {"binary", o->binary},
        {"add", o->add.n > 0},
        {"addfile", o->addfile.n > 0},
        {"nifs", o->nifs != 1},
        {"nbits", o->nbits != 4},
        {"rednoise", o->rednoise > 0},
        {"bandpass", o->bandpass},
        {"evenodd", o->evenodd},
        {"psrfits", o->psrfits},
        {"dat", o->dat},
        {"truth", o->truth},
        {"headerless", o->headerless},
        {"swapout", o->swapout},
        {"rfi", o->rfi.n > 0},
        {"udp", o->udp},
    };
    for (size_t i = 0; o->array && i < sizeof incompatible / sizeof *incompatible; i++)
        if (incompatible[i].given)
            cli_usage_error(tool, "-array excludes -%s: voltages are noise and -source",
                            incompatible[i].name);
}

/* What is sent is a filterbank, and no file. */
static void check_network(const struct fakebin_options *o, const struct cli *tool)
{
    if (o->udp && (o->output || o->dat || o->psrfits || o->headerless || o->swapout))
        cli_usage_error(tool, "-udp excludes -o, -dat, -psrfits, -headerless and -swapout");
    if (!o->udp && (o->loss > 0 || o->reorder > 0 || o->rate != 1))
        cli_usage_error(tool, "-rate, -loss and -reorder need -udp");
    if (o->udp && o->nifs != 1)
        cli_usage_error(tool, "-udp: -nifs %d, must be 1", (int)o->nifs);
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
    if ((o->dat || o->evenodd) && o->rfi.n > 0)
        cli_usage_error(tool, "-rfi excludes -dat and -evenodd: it needs channels of noise");
    if (o->psrfits && (o->headerless || o->swapout))
        cli_usage_error(tool, "-psrfits excludes -headerless and -swapout");
    if (o->dat && !o->output)
        cli_usage_error(tool, "-dat needs -o ROOT, the start of the files' names");
    if (o->truth && !strcmp(o->truth, o->output ? o->output : "-"))
        cli_usage_error(tool, "-truth: '%s' is where the observation goes", o->truth);
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

void fakebin_options_parse(struct fakebin_options *o, struct cli *tool, int argc, char **argv)
{
    *o = defaults;
    struct cli_table table;
    fakebin_fill_table(&table, o);
    *tool = (struct cli){
        .name = "fakebin",
        .operands = "[OPTION]... [-o FILE | -udp ADDRESS:PORT]",
        .summary = "Make a synthetic observation: noise with pulsars and bursts, as SIGPROC "
                   "filterbank, PSRFITS or a dedispersed series; or voltages of an array.",
        .options = table.option,
        .noptions = table.n,
    };
    int n = cli_parse(tool, argc, argv);
    check_combinations(o, tool, n);
}
