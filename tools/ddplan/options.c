/* Parses ddplan's command line, and reads the observation. */
#include "ddplan.h"
#include "tools/common/quote.h"

#include <math.h>
#include <psrkit/ddplan.h>
#include <psrkit/experimental/outfile.h>
#include <psrkit/experimental/source.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The options of ddplan, in the order of --help. */

static const double any = 1e300, whole = 1e15; /* ranges that accept every value */

#define AT(member) CLI_AT(struct ddplan_options, member)

static const struct cli_option options[] = {
    {"Search", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"l, loDM", CLI_DOUBLE, AT(given.lodm), "DM", -any, any, "Lowest DM, pc cm^-3 (default 0)."},
    {"d, hiDM", CLI_DOUBLE, AT(given.hidm), "DM", -any, any,
     "Highest DM, pc cm^-3 (default 1000)."},
    {"r, res", CLI_DOUBLE, AT(given.res_ms), "MS", -any, any,
     "Acceptable time resolution, ms (default: the best possible)."},
    {"s, subbands", CLI_INT, AT(given.nsub), "N", -whole, whole,
     "Dedisperse in two steps with N sub-bands (default 0: exactly, in one step)."},
    {"p, procs", CLI_INT, AT(given.nproc), "N", -whole, whole,
     "Processors that share the calls of mpiprepsubband (default 1)."},
    {"dm_tol", CLI_DOUBLE, AT(dm_tol), "F", 1.0001, 100,
     "Instead of a plan list the DMs, one a line for gpudedisp -dms, between which a pulse "
     "becomes at most F times as wide, as Heimdall does (there 1.25 by default)."},
    {"dm_pulse_width", CLI_DOUBLE, AT(dm_pulse_width_us), "US", 0, 1e8,
     "With -dm_tol: width of the pulse, microseconds (default 40)."},
    {"Observation (each overrides the value from a file)", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"t, dt", CLI_DOUBLE, AT(given.tsamp_s), "SEC", -any, any, "Sample time, s (default 64e-6)."},
    {"f, fctr", CLI_DOUBLE, AT(given.fctr_mhz), "MHZ", -any, any,
     "Centre frequency, MHz (default 1400)."},
    {"b, bw", CLI_DOUBLE, AT(given.bw_mhz), "MHZ", -any, any, "Bandwidth, MHz (default 300)."},
    {"n, numchan", CLI_INT, AT(given.nchan), "N", -whole, whole, "Channels (default 1024)."},
    {"k, blocklen", CLI_INT, AT(given.blocklen), "N", -whole, whole,
     "Spectra per block: downsampling factors divide it (default 1024)."},
    {"c, cDM, cohdm", CLI_DOUBLE, AT(given.cohdm), "DM", -any, any,
     "DM at which the channels are coherently dedispersed (default 0)."},
    {"Output", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"plan", CLI_TEXT, AT(plan), "FILE", 0, 0,
     "Write the plan for gpudedisp -plan to FILE; - is standard output."},
    {"w, write", CLI_FLAG, AT(script), NULL, 0, 0, "Print a shell script that runs the plan."},
    {"for", CLI_TEXT, AT(script_for), "PROGRAM", 0, 0,
     "Program the script calls: gpudedisp (default) or prepsubband."},
    {"json", CLI_FLAG, AT(json), NULL, 0, 0, "Print the plan as JSON."},
    {"o, output", CLI_TEXT, AT(draw), "FILE", 0, 0,
     "Write a plot of smearing against DM to FILE, a .png, .pdf, .svg, .ps or .eps; .eps is "
     "appended to other names (needs cairo)."},
    {"Cost", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"cost", CLI_FLAG, AT(cost), NULL, 0, 0,
     "Also print the cost of the plan in gpudedisp: bytes, additions, seconds."},
    {"rates", CLI_TEXT, AT(rates), "LIST", 0, 0,
     "Rates of the machine per second, as read=1e9,add=5e9,write=1e9,tree=5e10 (default: "
     "additions are measured, 1e9 bytes/s assumed)."},
    {"smear", CLI_DOUBLE, AT(smear), "F", 1.01, 100,
     "Factor of -algo tree, as of gpudedisp -smear (default 1.07)."},
    {"T, tobs", CLI_DOUBLE, AT(tobs_s), "SEC", 1e-6, 1e9,
     "Length of the observation, s (default: from the file, or 600)."},
    {"nbit", CLI_INT, AT(nbit), "N", 1, 32, "Bits per sample (default: from the file, or 8)."},
};

/* Spectra that PRESTO reads of a filterbank file at a time, which has no blocks of its own. */
enum { SIGPROC_BLOCKLEN = 2400 };

static const struct psr_ddplan_desc defaults = {
    .size = sizeof(struct psr_ddplan_desc),
    .band = {.tsamp_s = 64e-6, .fctr_mhz = 1400, .bw_mhz = 300, .nchan = 1024},
    .hidm = 1000,
    .blocklen = 1024,
    .nproc = 1,
};

static const struct ddplan_given nothing_given = {
    .lodm = NAN,
    .hidm = NAN,
    .fctr_mhz = NAN,
    .bw_mhz = NAN,
    .tsamp_s = NAN,
    .cohdm = NAN,
    .res_ms = NAN,
    .nchan = INT64_MIN,
    .blocklen = INT64_MIN,
    .nsub = INT64_MIN,
    .nproc = INT64_MIN,
};

static void take_double(double *to, double given)
{
    if (!isnan(given))
        *to = given;
}

static void take_int(int64_t *to, int64_t given)
{
    if (given != INT64_MIN)
        *to = given;
}

static void take_observation(struct ddplan_options *o, const struct psr_obs *obs, int file_nbit)
{
    struct psr_band *b = &o->desc.band;
    const struct psr_obs_band band = psr_obs_band(obs);
    b->tsamp_s = obs->tsamp_s;
    b->nchan = (int64_t)obs->nchan;
    b->bw_mhz = band.spacing_mhz * (double)obs->nchan;
    b->fctr_mhz = (band.lowest_mhz + band.highest_mhz) / 2;
    o->desc.blocklen = obs->block_nsamp > 0 ? obs->block_nsamp : SIGPROC_BLOCKLEN;
    o->desc.cohdm = obs->chan_dm;
    if (o->nbit == 0)
        o->nbit = file_nbit;
    if (o->tobs_s <= 0 && obs->nsamp > 0)
        o->tobs_s = (double)obs->nsamp * obs->tsamp_s;
}

static psr_status read_observation(struct ddplan_options *o, const struct cli *tool, psr_err *err)
{
    const char *dot = strrchr(o->files.text[0], '.');
    if (dot && !strcmp(dot, ".plan")) {
        /* A plan file that says what band it was made for. */
        const char *path = o->files.text[0];
        struct psr_planfile file;
        psr_status st = psr_planfile_read(&file, path, err);
        if (st == PSR_OK && !file.has_band)
            st = psr_fail(err, PSR_EFORMAT, "%s: no line '# band' in it", path);
        if (st == PSR_OK)
            o->desc.band = file.band;
        o->desc.blocklen = SIGPROC_BLOCKLEN;
        if (o->script)
            o->files.n = 0; /* the script will be told the observation */
        psr_planfile_clear(&file);
        return st;
    }
    psr_source *source;
    /* Only the header is read: any polarisation will do. */
    struct psr_source_desc desc = {
        .size = sizeof desc, .path = o->files.text, .npath = o->files.n, .if_choice = 0};
    desc.notes = (struct psr_notes){cli_note, (void *)(uintptr_t)tool};
    psr_status st = psr_source_open(&source, &desc, err);
    if (st == PSR_OK)
        take_observation(o, psr_source_obs(source), psr_source_file_nbit(source));
    psr_source_close(source);
    return st;
}

/* A list of DMs is no plan. */
static void check_tolerance(struct ddplan_options *o, const struct cli *tool)
{
    const struct ddplan_given *g = &o->given;
    const struct {
        const char *name;
        bool given;
    } conflicting[] = {{"-r", !isnan(g->res_ms)},
                       {"-s", g->nsub != INT64_MIN},
                       {"-p", g->nproc != INT64_MIN},
                       {"-k", g->blocklen != INT64_MIN},
                       {"-c", !isnan(g->cohdm)},
                       {"-plan", o->plan != NULL},
                       {"-w", o->script},
                       {"-json", o->json},
                       {"-o", o->draw != NULL},
                       {"-cost", o->cost}};
    for (size_t k = 0; o->dm_tol > 0 && k < sizeof conflicting / sizeof *conflicting; k++)
        if (conflicting[k].given)
            cli_usage_error(tool, "-dm_tol lists DMs instead of a plan: not with %s",
                            conflicting[k].name);
    if (!(o->dm_tol > 0) && !isnan(o->dm_pulse_width_us))
        cli_usage_error(tool, "-dm_pulse_width belongs to -dm_tol");
    if (isnan(o->dm_pulse_width_us))
        o->dm_pulse_width_us = 40;
}

/* A plan that will be run needs sub-bands of equally many channels. */
static void check_subbands(const struct ddplan_options *o, const struct cli *tool)
{
    const struct psr_ddplan_desc *d = &o->desc;
    if (d->nsub <= 0 || d->band.nchan <= 0 || d->band.nchan % d->nsub == 0)
        return;
    if (o->script || o->plan)
        cli_usage_error(tool, "-s %lld does not divide the %lld channels", (long long)d->nsub,
                        (long long)d->band.nchan);
    cli_note((void *)(uintptr_t)tool, "-s does not divide the number of channels: no program will "
                                      "dedisperse with these sub-bands");
}

/* DDplan.py takes any other name for the start of one that ends in .eps. */
static char *plot_name(const struct cli *tool, const char *name)
{
    char *path = NULL;
    if (asprintf(&path, "%s%s", name, plotfile_has_suffix(name) ? "" : ".eps") < 0)
        cli_usage_error(tool, "no memory for the command line");
    return path;
}

static psr_status check_names(const struct ddplan_options *o, psr_err *err)
{
    const bool plan_to_stdout = o->plan && !strcmp(o->plan, "-");
    struct psr_overwrite_check c = {0};
    struct stat is;
    psr_status st = PSR_OK;
    for (size_t i = 0; i < o->files.n && !st; i++)
        if (lstat(o->files.text[i], &is) == 0 && S_ISFIFO(is.st_mode))
            st = psr_fail(err, PSR_EIO, "%s: is a pipe, must be a file", o->files.text[i]);
    for (size_t i = 0; i < o->files.n && !st; i++)
        st = psr_overwrite_check_input(&c, o->files.text[i], err);
    if (!st)
        st = psr_overwrite_check_output(&c, o->plan, NULL, err);
    if (!st)
        st = psr_overwrite_check_optional(&c, o->plot, err);
    if (!st && !plan_to_stdout)
        st = psr_overwrite_check_output(&c, "-", NULL, err);
    psr_overwrite_check_clear(&c);
    return st;
}

/* Operands, then flags, then what depends on both. */
static psr_status set_defaults(struct ddplan_options *o, const struct cli *tool, psr_err *err)
{
    struct psr_ddplan_desc *d = &o->desc;
    psr_status st = PSR_OK;
    if (o->files.n)
        st = read_observation(o, tool, err);
    o->in_file = *d;
    const struct ddplan_given *g = &o->given;
    take_double(&d->lodm, g->lodm);
    take_double(&d->hidm, g->hidm);
    take_double(&d->cohdm, g->cohdm);
    take_double(&d->res_ms, g->res_ms);
    take_double(&d->band.fctr_mhz, g->fctr_mhz);
    take_double(&d->band.bw_mhz, g->bw_mhz);
    take_double(&d->band.tsamp_s, g->tsamp_s);
    take_int(&d->band.nchan, g->nchan);
    take_int(&d->blocklen, g->blocklen);
    take_int(&d->nsub, g->nsub);
    take_int(&d->nproc, g->nproc);
    if (st == PSR_OK && o->script && !strcmp(o->script_for, "prepsubband") && d->nsub == 0 &&
        d->band.nchan > 0) {
        d->nsub = psr_ddplan_nsub(d->band.nchan);
        fprintf(stderr, "%s: prepsubband will use %lld sub-bands\n", tool->name,
                (long long)d->nsub);
    }
    check_subbands(o, tool);
    return st;
}

psr_status ddplan_options_parse(struct ddplan_options *o, struct cli *tool, int argc, char **argv,
                                psr_err *err)
{
    struct cli_table table = {.n = 0};
    *o = (struct ddplan_options){.desc = defaults,
                                 .given = nothing_given,
                                 .script_for = "gpudedisp",
                                 .dm_pulse_width_us = NAN};
    CLI_FILL(&table, options, o);
    *tool = (struct cli){
        .name = "ddplan",
        .operands = "[OPTION]... [FILE]...",
        .examples = "ddplan -d 500 -plan obs.plan obs.fil\n"
                    "ddplan -d 500 -f 1400 -b 300 -n 1024 -t 64e-6 -o smearing.png\n"
                    "ddplan -d 500 -cost -json obs.fil\n",
        .summary =
            "Plan the trial DMs of a pulsar or burst search: ranges, steps and downsampling, "
            "as PRESTO's DDplan.py does.  The band is read from FILE, a filterbank or PSRFITS "
            "observation or the .plan of a survey.",
        .options = table.option,
        .noptions = table.n,
    };
    o->command = quote_command(tool->name, argc, argv);
    if (!o->command)
        return psr_fail_nomem(err, "the command line", argc);
    int noperands = cli_parse(tool, argc, argv);
    bool plan_to_stdout = o->plan && !strcmp(o->plan, "-");
    if (argc < 2)
        cli_usage_error(tool, "nothing asked: name a file or give options");
    if (o->script + o->json + plan_to_stdout > 1)
        cli_usage_error(tool, "-w, -json and -plan - each take standard output; choose one");
    if (o->cost && (o->script || plan_to_stdout))
        cli_usage_error(tool, "-cost goes with the text or with -json");
    if (o->rates && !o->cost)
        cli_usage_error(tool, "-rates belongs to -cost");
    if (o->smear > 0 && !o->cost)
        cli_usage_error(tool, "-smear belongs to -cost");
    if (strcmp(o->script_for, "gpudedisp") != 0 && strcmp(o->script_for, "prepsubband") != 0)
        cli_usage_error(tool, "-for: '%s' is neither gpudedisp nor prepsubband", o->script_for);
    check_tolerance(o, tool);
    o->plot = o->draw ? plot_name(tool, o->draw) : NULL;
    o->files.text = (const char **)(argv + 1);
    o->files.n = (size_t)noperands;
    psr_status st = check_names(o, err);
    return st ? st : set_defaults(o, tool, err);
}
