#include "options.h"

#include <string.h>

static const struct gpudedisp_options defaults = {
    .if_choice = -1,
    .clip_sigma = 6,
    .numwapps = 1,
    .lodm = -1, /* below 0, as below: not given */
    .dmstep = -1,
    .dmconst = "presto",
    .algo = "direct",
    .format = "dat",
    .dmprec = 2,
    .threshold = 6,
    .device = "auto",
};

struct given {
    const char *name;
    bool given;
};

/* Refuses options that do not go with another. */
static void refuse(const struct cli *tool, const char *why, const struct given *option, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (option[k].given)
            cli_usage_error(tool, "%s %s", why, option[k].name);
}

static void check_sub(const struct gpudedisp_options *o, const struct cli *tool)
{
    const struct given alien[] = {
        {"-dms", o->dms != NULL},         {"-format tim", !strcmp(o->format, "tim")},
        {"-nowrite", o->nowrite},         {"-o -", o->root && !strcmp(o->root, "-")},
        {"-singlepulse", o->singlepulse},
    };
    if (o->sub)
        refuse(tool, "-sub writes files of sub-bands at -subdm: there is no", alien,
               sizeof alien / sizeof *alien);
}

static void check_resume(const struct gpudedisp_options *o, const struct cli *tool)
{
    const struct given alien[] = {
        {"-compat presto", o->compat != NULL},
        {"-format tim", !strcmp(o->format, "tim")},
        {"-nowrite", o->nowrite},
        {"-o -", o->root && !strcmp(o->root, "-")},
        {"-singlepulse", o->singlepulse},
        {"-sub", o->sub},
    };
    if (o->resume)
        refuse(tool, "-resume goes by .inf files of single series: not with", alien,
               sizeof alien / sizeof *alien);
}

/* PRESTO's limits, and what PRESTO does not do. */
static void check_compat(const struct gpudedisp_options *o, const struct cli *tool)
{
    if (!o->compat)
        return;
    if (strcmp(o->compat, "presto") != 0)
        cli_usage_error(tool, "-compat: '%s' is not presto", o->compat);
    const struct given alien[] = {
        {"-algo subband", !strcmp(o->algo, "subband")},
        {"-dmconst", strcmp(o->dmconst, "presto") != 0},
        {"-dms", o->dms != NULL},
        {"-format tim", !strcmp(o->format, "tim")},
        {"-nopad", o->nopad},
        {"-nowrite", o->nowrite},
        {"-o -", o->root && !strcmp(o->root, "-")},
        {"-singlepulse", o->singlepulse},
        {"-tol 1", o->tol != 0},
    };
    refuse(tool, "-compat presto: prepsubband has no", alien, sizeof alien / sizeof *alien);
    const struct {
        const char *name;
        int64_t value, max;
    } limit[] = {{"numdms", o->numdms, GPUDEDISP_PRESTO_NUMDMS},
                 {"nsub", o->nsub, GPUDEDISP_PRESTO_NSUB},
                 {"downsamp", o->downsamp, GPUDEDISP_PRESTO_DOWNSAMP}};
    for (size_t k = 0; k < sizeof limit / sizeof *limit; k++)
        if (limit[k].value > limit[k].max)
            cli_usage_error(tool, "-%s: %lld is above prepsubband's %lld", limit[k].name,
                            (long long)limit[k].value, (long long)limit[k].max);
}

/* A plan says what these say. */
static void check_plan(const struct gpudedisp_options *o, const struct cli *tool, int noperands,
                       char **operand)
{
    const struct given rival[] = {
        {"-lodm", o->lodm >= 0},  {"-dmstep", o->dmstep >= 0},    {"-numdms", o->numdms > 0},
        {"-dms", o->dms != NULL}, {"-downsamp", o->downsamp > 0}, {"-nsub", o->nsub > 0},
        {"-sub", o->sub},
    };
    for (size_t k = 0; o->plan && k < sizeof rival / sizeof *rival; k++)
        if (rival[k].given)
            cli_usage_error(tool, "-plan and %s exclude each other", rival[k].name);
    for (int k = 0; o->plan && !strcmp(o->plan, "-") && k < noperands; k++)
        if (!strcmp(operand[k], "-"))
            cli_usage_error(tool, "-plan - and input - exclude each other: there is one standard "
                                  "input");
}

static void fill_trials(struct gpudedisp_options *o)
{
    o->lodm = o->lodm >= 0 ? o->lodm : 0;
    o->dmstep = o->dmstep >= 0 ? o->dmstep : 1;
    o->numdms = o->numdms ? o->numdms : 10;
    o->downsamp = o->downsamp ? o->downsamp : 1;
}

/* Combinations that the table cannot express. */
static void check_combinations(const struct gpudedisp_options *o, const struct cli *tool,
                               int noperands)
{
    if (noperands < 1)
        cli_usage_error(tool, "no input given: name files, or - for standard input");
    if (!o->root && (!o->nowrite || o->singlepulse))
        cli_usage_error(tool, "-o ROOT is missing: the start of every output name");
    if (o->nowrite && !o->singlepulse && !o->verbose)
        cli_usage_error(tool, "-nowrite leaves nothing to do without -singlepulse or -v");
    if (strcmp(o->algo, "direct") != 0 && strcmp(o->algo, "subband") != 0)
        cli_usage_error(tool, "-algo: '%s' is neither direct nor subband", o->algo);
    if (!strcmp(o->algo, "subband") && !o->nsub && !o->plan)
        cli_usage_error(tool, "-algo subband needs -nsub");
    if (!strcmp(o->algo, "subband") && o->tol)
        cli_usage_error(tool, "-tol belongs to -algo direct");
    if (strcmp(o->format, "dat") != 0 && strcmp(o->format, "tim") != 0)
        cli_usage_error(tool, "-format: '%s' is neither dat nor tim", o->format);
    check_compat(o, tool);
    check_sub(o, tool);
    check_resume(o, tool);
    if (o->filterbank && o->psrfits)
        cli_usage_error(tool, "-filterbank and -psrfits exclude each other");
    if (o->plot && !o->singlepulse)
        cli_usage_error(tool, "-plot shows single pulses: it needs -singlepulse");
    if (o->root && !strcmp(o->root, "-") && o->singlepulse && !o->nowrite)
        cli_usage_error(tool, "-o - takes the series or, with -nowrite, the events; not both");
    if (o->root && !strcmp(o->root, "-") && !o->nowrite && !o->dms && !o->plan && o->numdms != 1)
        cli_usage_error(tool, "-o - takes one series: give -numdms 1");
}

int gpudedisp_options_parse(struct gpudedisp_options *o, struct cli *tool, int argc, char **argv)
{
    *o = defaults;
    struct cli_table table;
    gpudedisp_fill_table(&table, o);
    *tool = (struct cli){
        .name = "gpudedisp",
        .operands = "[OPTION]... -o ROOT FILE... | -",
        .summary = "Dedisperse telescope data (SIGPROC filterbank, PSRFITS, files of sub-bands) at "
                   "many trial DMs, "
                   "exactly, and search for single pulses.",
        .options = table.option,
        .noptions = table.n,
    };
    int n = cli_parse(tool, argc, argv);
    check_plan(o, tool, n, argv + 1);
    fill_trials(o);
    check_combinations(o, tool, n);
    if (o->sub) {
        o->lodm = o->subdm;
        o->numdms = 1;
    }
    return n;
}
