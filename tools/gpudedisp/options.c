/* Converts gpudedisp's command line to a pipeline description. */
#include "gpudedisp.h"

#include <stdio.h>
#include <string.h>

struct given {
    const char *name;
    bool given;
};

/* Refuses options that do not go with another. */
static void reject_options(const struct cli *tool, const char *why, const struct given *option,
                           size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (option[k].given)
            cli_usage_error(tool, "%s %s", why, option[k].name);
}

static bool to_stdout(const struct gpudedisp_options *o)
{
    return o->run.root && !strcmp(o->run.root, "-");
}

static void check_sub(const struct gpudedisp_options *o, const struct cli *tool)
{
    const struct given conflicting[] = {
        {"-dms", o->run.dms != NULL},     {"-format tim", !strcmp(o->format, "tim")},
        {"-nowrite", o->nowrite},         {"-o -", to_stdout(o)},
        {"-singlepulse", o->singlepulse}, {"-accelsearch", o->accelsearch != NULL},
        {"-ffa", o->slow != NULL},
    };
    if (o->sub)
        reject_options(tool, "-sub writes files of sub-bands at -subdm: there is no", conflicting,
                       sizeof conflicting / sizeof *conflicting);
}

static void check_resume(const struct gpudedisp_options *o, const struct cli *tool)
{
    const struct given conflicting[] = {
        {"-compat presto", o->compat != NULL},
        {"-format tim", !strcmp(o->format, "tim")},
        {"-nowrite", o->nowrite},
        {"-o -", to_stdout(o)},
        {"-singlepulse", o->singlepulse},
        {"-accelsearch", o->accelsearch != NULL},
        {"-ffa", o->slow != NULL},
        {"-sub", o->sub},
    };
    if (o->run.resume)
        reject_options(tool, "-resume goes by .inf files of single series: not with", conflicting,
                       sizeof conflicting / sizeof *conflicting);
}

/* PRESTO's limits, and what PRESTO does not do. */
static void check_compat(const struct gpudedisp_options *o, const struct cli *tool)
{
    if (!o->compat)
        return;
    if (strcmp(o->compat, "presto") != 0)
        cli_usage_error(tool, "-compat: '%s' is not presto", o->compat);
    const struct given incompatible[] = {
        {"-algo subband", !strcmp(o->algo, "subband")},
        {"-algo tree", !strcmp(o->algo, "tree")},
        {"-dmconst", strcmp(o->dmconst, "presto") != 0},
        {"-dms", o->run.dms != NULL},
        {"-format tim", !strcmp(o->format, "tim")},
        {"-nopad", o->run.nopad},
        {"-nowrite", o->nowrite},
        {"-o -", to_stdout(o)},
        {"-singlepulse", o->singlepulse},
        {"-accelsearch", o->accelsearch != NULL},
        {"-ffa", o->slow != NULL},
        {"-tol 1", o->run.tol != 0},
    };
    reject_options(tool, "-compat presto: prepsubband has no", incompatible,
                   sizeof incompatible / sizeof *incompatible);
    const struct {
        const char *name;
        int64_t value, max;
    } limit[] = {{"numdms", o->run.ndm, PSR_PRESTO_NDM},
                 {"nsub", o->run.nsub, PSR_PRESTO_NSUB},
                 {"downsamp", o->run.downsamp, PSR_PRESTO_DOWNSAMP}};
    for (size_t k = 0; k < sizeof limit / sizeof *limit; k++)
        if (limit[k].value > limit[k].max)
            cli_usage_error(tool, "-%s: %lld is above prepsubband's %lld", limit[k].name,
                            (long long)limit[k].value, (long long)limit[k].max);
}

static void check_clean(const struct gpudedisp_options *o, const struct cli *tool)
{
    const struct given conflicting[] = {
        {"-compat presto", o->compat != NULL},
        {"-mask", o->run.mask != NULL},
        {"-sub", o->sub},
    };
    if (o->weights && strcmp(o->weights, "snr") != 0 && strcmp(o->weights, "none") != 0)
        cli_usage_error(tool, "-weights: '%s' is neither snr nor none", o->weights);
    if (o->weights && !strcmp(o->weights, "snr") && strcmp(o->clean, "auto") != 0)
        cli_usage_error(tool, "-weights snr needs -clean auto, which measures channels");
    if (cli_parse_clean(tool, o->clean))
        reject_options(tool, "-clean auto finds what a mask would tell: not with", conflicting,
                       sizeof conflicting / sizeof *conflicting);
}

static void check_live(const struct gpudedisp_options *o, const struct cli *tool)
{
    const struct psr_pipeline_desc *d = &o->run;
    const struct given conflicting[] = {
        {"-compat presto", o->compat != NULL},
        {"-sub", o->sub},
        {"-singlepulse", o->singlepulse},
        {"-accelsearch", o->accelsearch != NULL},
        {"-ffa", o->slow != NULL},
        {"-resume", d->resume},
        {"-plot", o->plot != NULL},
        {"-views", o->pulses.nview > 0},
        {"-json", o->pulses.json},
        {"-csv", o->pulses.csv},
        {"-position", d->position != NULL},
    };
    if (o->live)
        reject_options(tool,
                       "-live tells of pulses of an endless input, at topocentric times: not with",
                       conflicting, sizeof conflicting / sizeof *conflicting);
    else if (d->block_s > 0)
        cli_usage_error(tool, "-block belongs to -live");
    if ((d->ring_s > 0 || d->dump) && !o->live)
        cli_usage_error(tool, "-ring and -dump belong to -live");
    if (d->drop_s > 0 && !o->live)
        cli_usage_error(tool, "-drop belongs to -live");
    if (!d->dump != !(d->ring_s > 0))
        cli_usage_error(tool, "-ring and -dump need each other");
}

static void check_scrunch(const struct gpudedisp_options *o, const struct cli *tool)
{
    const struct given conflicting[] = {
        {"-compat presto", o->compat != NULL},
        {"-plan", o->run.plan != NULL},
        {"-sub", o->sub},
    };
    if (o->run.scrunch > 0)
        reject_options(tool, "-scrunch makes the lines of its trials: not with", conflicting,
                       sizeof conflicting / sizeof *conflicting);
}

static void check_beams(const struct gpudedisp_options *o, const struct cli *tool, int noperands,
                        char **operand)
{
    const struct psr_pipeline_desc *d = &o->run;
    const struct given conflicting[] = {
        {"-compat presto", o->compat != NULL},
        {"-sub", o->sub},
        {"-live", o->live},
        {"-accelsearch", o->accelsearch != NULL},
        {"-ffa", o->slow != NULL},
        {"-resume", d->resume},
        {"-plot", o->plot != NULL},
        {"-o -", to_stdout(o)},
        {"-plan -", d->plan && !strcmp(d->plan, "-")},
    };
    if (!o->beams)
        return;
    reject_options(tool, "-beams makes the files of each beam: not with", conflicting,
                   sizeof conflicting / sizeof *conflicting);
    if (!d->root)
        cli_usage_error(tool, "-o ROOT is missing: the start of every output name");
    for (int k = 0; k < noperands; k++)
        if (!strcmp(operand[k], "-"))
            cli_usage_error(tool, "-beams names beams after their files: not standard input");
}

static void check_algo(const struct gpudedisp_options *o, const struct cli *tool)
{
    const struct psr_pipeline_desc *d = &o->run;
    bool direct = !strcmp(o->algo, "direct"), subband = !strcmp(o->algo, "subband"),
         tree = !strcmp(o->algo, "tree");
    if (!direct && !subband && !tree)
        cli_usage_error(tool, "-algo: '%s' is none of direct, subband and tree", o->algo);
    if (subband && !d->nsub && !d->plan)
        cli_usage_error(tool, "-algo subband needs -nsub");
    if (!direct && d->tol)
        cli_usage_error(tool, "-tol belongs to -algo direct");
    if (!tree && d->smear > 0)
        cli_usage_error(tool, "-smear belongs to -algo tree");
    if (tree && o->sub)
        cli_usage_error(tool, "-sub writes sub-bands: there is no -algo tree");
}

/* Combinations that the table cannot express. */
static void check_combinations(const struct gpudedisp_options *o, const struct cli *tool,
                               int noperands)
{
    const struct psr_pipeline_desc *d = &o->run;
    if (noperands < 1)
        cli_usage_error(tool, "no input given: name files, or - for standard input");
    const bool searches = o->singlepulse || o->accelsearch || o->slow || o->live;
    if (!d->root && !o->live && (!o->nowrite || searches))
        cli_usage_error(tool, "-o ROOT is missing: the start of every output name");
    if (o->nowrite && !searches && !o->verbose)
        cli_usage_error(
            tool, "-nowrite leaves nothing to do without -singlepulse, -accelsearch, -ffa or -v");
    if (to_stdout(o) && (o->accelsearch || o->slow))
        cli_usage_error(tool, "-o - takes no lists of %s: they are files",
                        o->accelsearch ? "-accelsearch" : "-ffa");
    if (strcmp(o->lists, "files") != 0 && strcmp(o->lists, "one") != 0)
        cli_usage_error(tool, "-lists: '%s' is neither files nor one", o->lists);
    if (o->segments && !o->accelsearch)
        cli_usage_error(tool, "-segments needs -accelsearch");
    if (!strcmp(o->lists, "one") && ((!o->singlepulse && !o->accelsearch) || to_stdout(o)))
        cli_usage_error(tool, "-lists one packs what -singlepulse and -accelsearch write");
    check_algo(o, tool);
    if (strcmp(o->format, "dat") != 0 && strcmp(o->format, "tim") != 0)
        cli_usage_error(tool, "-format: '%s' is neither dat nor tim", o->format);
    check_compat(o, tool);
    check_clean(o, tool);
    check_sub(o, tool);
    check_resume(o, tool);
    check_scrunch(o, tool);
    check_live(o, tool);
    if (o->filterbank && o->psrfits)
        cli_usage_error(tool, "-filterbank and -psrfits exclude each other");
    const char *list = o->pulses.json ? "json" : o->pulses.csv ? "csv" : NULL;
    if (list && !o->singlepulse)
        cli_usage_error(tool, "-%s lists single pulses: it needs -singlepulse", list);
    if (list && to_stdout(o))
        cli_usage_error(tool, "-%s writes ROOT.pulses.%s%s: -o - names no file", list, list,
                        o->pulses.json ? "l" : "");
    if (o->pulses.nview && !o->singlepulse)
        cli_usage_error(tool, "-views shows single pulses: it needs -singlepulse");
    if (o->run.nhalve && !o->singlepulse)
        cli_usage_error(tool, "-halve searches for single pulses: it needs -singlepulse");
    if (o->run.nfine > 1 && !o->singlepulse)
        cli_usage_error(tool, "-fine searches for single pulses: it needs -singlepulse");
    if (o->plot && !o->singlepulse)
        cli_usage_error(tool, "-plot shows single pulses: it needs -singlepulse");
    if (to_stdout(o) && o->singlepulse && !o->nowrite)
        cli_usage_error(tool, "-o - takes the series or, with -nowrite, the events; not both");
    if (to_stdout(o) && !o->nowrite && !o->live && !d->dms && !d->plan && d->ndm != 1)
        cli_usage_error(tool, "-o - takes one series: give -numdms 1");
}

static void fill_trials(struct gpudedisp_options *o)
{
    struct psr_pipeline_desc *d = &o->run;
    d->lodm = d->lodm >= 0 ? d->lodm : 0;
    d->dmstep = d->dmstep >= 0 ? d->dmstep : 1;
    d->ndm = d->ndm ? d->ndm : 10;
    d->downsamp = d->downsamp ? d->downsamp : 1;
    /* Clipping takes blocks of 2400 spectra, which pulses would wait for. */
    if (d->clip_sigma < 0)
        d->clip_sigma = o->live ? 0 : 6;
}

/* The options of the search are those of files; -o says where pulses are told. */
static void fill_live(struct gpudedisp_options *o)
{
    struct psr_pipeline_desc *d = &o->run;
    if (!o->live)
        return;
    o->events = d->root ? d->root : "-";
    o->live_search =
        (struct psr_sink_live_desc){.size = sizeof o->live_search, .search = &o->pulses};
    d->live = &o->live_search;
    d->root = NULL;
    d->nobary = true;
    d->files = PSR_FILES_NONE;
    d->checksums = false;
    if (strcmp(o->events, "-") != 0 && !line_output_is_socket(o->events))
        d->also = o->events;
}

/* What words say, as fields. */
static void fill_description(struct gpudedisp_options *o)
{
    struct psr_pipeline_desc *d = &o->run;
    d->input = o->filterbank ? PSR_INPUT_SIGPROC : o->psrfits ? PSR_INPUT_PSRFITS : PSR_INPUT_AUTO;
    d->algo = !strcmp(o->algo, "subband") ? PSR_DEDISP_SUBBAND
              : !strcmp(o->algo, "tree")  ? PSR_DEDISP_TREE
                                          : PSR_DEDISP_DIRECT;
    d->presto = o->compat != NULL;
    d->clean_auto = !strcmp(o->clean, "auto");
    d->clean_weights = o->weights && !strcmp(o->weights, "snr");
    d->files = o->sub                                      ? PSR_FILES_SUBBANDS
               : o->nowrite                                ? PSR_FILES_NONE
               : !strcmp(o->format, "tim") || to_stdout(o) ? PSR_FILES_TIM
                                                           : PSR_FILES_DAT;
    d->pulses = o->singlepulse ? &o->pulses : NULL;
    /* Where something else is done with the series, checksums only cost time. */
    d->checksums = o->verbose && o->nowrite && !o->singlepulse && !o->accelsearch && !o->slow;
    d->also = o->plot;
    d->pack = !strcmp(o->lists, "one");
    fill_live(o);
    d->program = "gpudedisp";
    if (o->sub) {
        d->lodm = o->subdm;
        d->ndm = 1;
    }
}

/* Searches have the devices and the limits of the run. */
static void fill_ffa(struct gpudedisp_options *o, const struct cli *tool)
{
    struct psr_pipeline_desc *d = &o->run;
    if (!o->slow)
        return;
    ffa_options_parse(&o->ffa, tool, "-ffa", o->slow);
    o->ffa.search.device = d->device;
    o->ffa.search.nthread = d->nthread;
    o->ffa.search.mem_bytes = d->mem_bytes;
    o->ffa_search = (struct psr_sink_ffa_desc){.size = sizeof o->ffa_search,
                                               .nopad = d->nopad,
                                               .noinf = d->files == PSR_FILES_DAT || d->fourier,
                                               .search = &o->ffa.search,
                                               .zaplist = o->ffa.zaplist,
                                               .mem_bytes = d->mem_bytes};
    d->ffa = &o->ffa_search;
}

static void fill_search(struct gpudedisp_options *o, const struct cli *tool)
{
    struct psr_pipeline_desc *d = &o->run;
    struct psr_fourier_desc *search = &o->fourier.search;
    if (!o->accelsearch)
        return;
    fourier_options_parse(&o->fourier, tool, "-accelsearch", o->accelsearch);
    if (!search->presto)
        search->device = d->device;
    search->nthread = d->nthread;
    search->mem_bytes = d->mem_bytes;
    o->fourier_search = (struct psr_sink_fourier_desc){.size = sizeof o->fourier_search,
                                                       .nopad = d->nopad,
                                                       .noinf = d->files == PSR_FILES_DAT,
                                                       .search = search,
                                                       .zaplist = o->fourier.zaplist,
                                                       .segments = o->segments,
                                                       .mem_bytes = d->mem_bytes};
    d->fourier = &o->fourier_search;
}

/* One trial, at -dm, whose files are ROOT.dat and ROOT.inf. */
static void add_prepdata(struct cli_table *table, struct gpudedisp_options *o, struct cli *tool)
{
    static const struct cli_elsewhere elsewhere[] = {
        {"shorts", "samples are written as floats, which all of PRESTO reads"}, {NULL, NULL}};
    const struct cli_option options[] = {
        {"dm", CLI_DOUBLE, &o->run.lodm, "DM", 0, 1e6, "DM, pc cm^-3 (default 0)."},
    };
    cli_add_heading(table, "prepdata");
    CLI_ADD(table, options);
    tool->name = "prepdata";
    tool->summary = "Dedisperse telescope data (SIGPROC filterbank, PSRFITS, DADA, sub-band files) "
                    "exactly at one DM.";
    tool->examples = "prepdata -dm 62 -mask obs_rfifind.mask -o obs_DM62.00 obs.fil\n"
                     "prepdata -nobary -dm 0 -o obs_topo_DM0.00 obs.fil\n"
                     "prepdata -dm 62 -downsamp 4 -clean auto -o obs_DM62.00 obs.fits\n";
    tool->elsewhere = elsewhere;
    tool->noptions = table->n;
}

static void fill_prepdata(struct gpudedisp_options *o, const struct cli *tool)
{
    if (o->run.ndm || o->run.dms || o->run.plan || o->sub)
        cli_usage_error(tool, "one series is written, at -dm: prepsubband or gpudedisp write more");
    o->run.ndm = 1;
    o->run.dm_decimals = 0;
}

int gpudedisp_options_parse(struct gpudedisp_options *o, struct cli *tool, int argc, char **argv)
{
    struct cli_table table = {.n = 0};
    *o = (struct gpudedisp_options){.dmconst = "presto",
                                    .algo = "direct",
                                    .format = "dat",
                                    .clean = "none",
                                    .lists = "files",
                                    .numwapps = 1};
    psr_pipeline_defaults(&o->run);
    psr_sink_pulses_defaults(&o->pulses);
    o->run.lodm = o->run.dmstep = -1; /* not given, as are the next */
    o->run.clip_sigma = -1;
    o->run.ndm = o->run.downsamp = 0;
    gpudedisp_fill_table(&table, o);
    *tool = (struct cli){
        .name = "gpudedisp",
        .operands = "[OPTION]... -o ROOT FILE... | -",
        .examples = "gpudedisp -lodm 0 -dmstep 1 -numdms 400 -singlepulse -nowrite -o obs obs.fil\n"
                    "gpudedisp -plan obs.plan -clean auto -o obs obs.fil\n"
                    "gpudedisp -mask obs_rfifind.mask -lodm 40 -numdms 100 -o obs obs.fil\n",
        .summary = "Dedisperse telescope data (SIGPROC filterbank, PSRFITS, DADA, sub-band files) "
                   "exactly at many trial DMs, and search for single pulses.",
        .options = table.option,
        .noptions = table.n,
    };
    o->prepdata = cli_is_run_as(argv[0], "prepdata");
    if (o->prepdata)
        add_prepdata(&table, o, tool);
    int n = cli_parse(tool, argc, argv);
    if (o->prepdata)
        fill_prepdata(o, tool);
    /* A plan says what these say. */
    char **operand = argv + 1;
    const struct psr_pipeline_desc *d = &o->run;
    const struct given conflicting[] = {
        {"-lodm", d->lodm >= 0},  {"-dmstep", d->dmstep >= 0},    {"-numdms", d->ndm > 0},
        {"-dms", d->dms != NULL}, {"-downsamp", d->downsamp > 0}, {"-nsub", d->nsub > 0},
        {"-sub", o->sub},
    };
    for (size_t k = 0; d->plan && k < sizeof conflicting / sizeof *conflicting; k++)
        if (conflicting[k].given)
            cli_usage_error(tool, "-plan and %s exclude each other", conflicting[k].name);
    for (int k = 0; d->plan && !strcmp(d->plan, "-") && k < n; k++)
        if (!strcmp(operand[k], "-"))
            cli_usage_error(tool, "-plan - and input - exclude each other: there is one standard "
                                  "input");
    check_beams(o, tool, n, argv + 1);
    fill_trials(o);
    check_combinations(o, tool, n);
    o->run.pols = cli_parse_state(tool, o->state);
    fill_description(o);
    fill_search(o, tool);
    fill_ffa(o, tool);
    return n;
}
