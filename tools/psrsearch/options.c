/* The options of psrsearch, in the order of --help, and what the budgets stand for. */
#include "psrsearch.h"

#include <psrkit/pipeline.h>
#include <stdlib.h>
#include <string.h>

static const struct budget {
    const char *name, *search;
    int64_t zmax, numharm, ncands, nfine;
    double maxwidth_s; /* 0: gpudedisp's */
    bool ffa, ratios;
} budgets[] = {
    {"fast", "matched", 0, 8, 10, 1, 0, false, false},
    {"normal", "matched", 50, 16, 50, 4, 0.5, true, true},
    {"deep", "matched", 200, 32, 100, 8, 0.5, true, true},
};
enum { NBUDGET = sizeof budgets / sizeof *budgets };

#define AT(member) CLI_AT(struct psrsearch_options, member)

static const struct cli_option output[] = {
    {"Input and output", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"o", CLI_TEXT, AT(dir), "DIR", 0, 0,
     "Write all files into the folder DIR (default: ROOT_search)."},
};

static const struct cli_option search[] = {
    {"nobary, topo", CLI_FLAG, AT(nobary), NULL, 0, 0,
     "Do not barycentre: keep topocentric times."},
    {"position", CLI_TEXT, AT(position), "RA,DEC", 0, 0,
     "Position of the source, J2000 (default: from the header)."},
    {"site", CLI_TEXT, AT(site), "LON,LAT,H", 0, 0,
     "Place of the telescope, degrees and metres (default: from the header)."},
    {"Cleaning", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"clean", CLI_TEXT, AT(clean), "HOW", 0, 0,
     "auto (default): gpudedisp's own cleaning; mask: gpurfifind's mask; none."},
    {"weights", CLI_TEXT, AT(weights), "HOW", 0, 0,
     "Weights of channels in the search: snr, with -clean auto, or none, as gpudedisp's."},
    {"ignorechan", CLI_TEXT, AT(ignorechan), "LIST", 0, 0,
     "Ignore channels: 3,5:9,20:30:5 (channel 0 is the lowest in frequency), or a file of such "
     "text."},
    {"Search", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"budget", CLI_TEXT, AT(budget), "NAME", 0, 0,
     "fast: -search matched -zmax 0 -numharm 8 -ncands 10; normal (default): -zmax 50 -numharm "
     "16 -ncands 50; deep: -zmax 200 -numharm 32 -ncands 100."},
    {"lodm", CLI_DOUBLE, AT(lodm), "DM", 0, 1e6, "First DM, pc cm^-3 (default 0)."},
    {"hidm", CLI_DOUBLE, AT(hidm), "DM", 0, 1e6, "Last DM, pc cm^-3 (default 1000)."},
    {"res", CLI_DOUBLE, AT(res_ms), "MS", 0, 1e6,
     "Acceptable time resolution, ms (default: the best possible)."},
    {"cdm", CLI_DOUBLE, AT(cohdm), "DM", 0, 1e6,
     "DM at which the channels are coherently dedispersed (default: not)."},
    {"plan", CLI_TEXT, AT(plan), "FILE", 0, 0,
     "Search the DMs of this plan, in ddplan's format, not one of -lodm, -hidm, -res and "
     "-cdm."},
    {"search", CLI_TEXT, AT(search), "NAME", 0, 0, "boxes, matched or both."},
    {"zmax", CLI_INT, AT(zmax), "N", 0, 1200, "Largest drift in bins over the observation."},
    {"wmax", CLI_INT, AT(wmax), "N", 0, 4000,
     "Also search jerks up to N bins (default: none); 100 takes ten times as long."},
    {"numharm", CLI_INT, AT(numharm), "N", 1, 32,
     "Largest number of harmonics summed: 1, 2, 4, 8, 16 or 32."},
    {"segments", CLI_FLAG, AT(segments), NULL, 0, 0,
     "Search the halves and quarters of the observation for periodic signals, too; takes three "
     "to "
     "four times as long. Candidates found there are folded over that part."},
    {"ffa", CLI_TEXT, AT(ffa), "HOW", 0, 0,
     "Search for slow pulsars as gpuffa does, too: auto (default: in budgets normal and deep, "
     "of "
     "observations of 120 s or more), none, or that tool's options in one word (\"-pmin "
     "0.5\")."},
    {"sigma", CLI_DOUBLE, AT(sigma), "S", 1, 1000,
     "Sigma threshold of the candidates of one DM (default 2)."},
    {"flo", CLI_DOUBLE, AT(flo_hz), "HZ", 0, 1e9,
     "Lowest frequency, as in gpuaccel-pulscan (default 1 Hz)."},
    {"zap", CLI_FLAG, AT(zap), NULL, 0, 0,
     "Leave out the frequencies that are lines at DM 0: gpurfifind's list, which also has "
     "those "
     "of a bright pulsar of low DM."},
    {"zaplist", CLI_TEXT, AT(zaplist), "FILE", 0, 0,
     "Leave out the frequencies of this list: PRESTO's .zaplist or .birds."},
    {"threshold", CLI_DOUBLE, AT(threshold), "S", 1, 1e9, "S/N threshold of bursts (default 6)."},
    {"maxwidth", CLI_DOUBLE, AT(maxwidth_s), "SEC", 0.001, 1e6,
     "Widest burst in seconds (default 0.5; of budget fast gpudedisp's, 300 samples)."},
    {"halve", CLI_INT, AT(nhalve), "N", 1, PSR_PIPELINE_HALVE,
     "Search halves .. 1/2^N of the band for bursts, too, as gpudedisp's -halve (default 0: "
     "none, in each budget)."},
    {"fine", CLI_INT, AT(nfine), "N", 1, PSR_PIPELINE_FINE,
     "Search for bursts also with N times finer samples and DMs than the plan's, where that "
     "sums "
     "samples, as gpudedisp's -fine (default of the budgets: fast 1, none; normal 4; deep 8)."},
    {"Candidates", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"catalogue, catalog", CLI_TEXT, AT(catalogue), "FILE", 0, 0,
     "Name candidates at periods of known pulsars, and harmonics: psrcat's database, or CSV."},
    {"par", CLI_TEXT, AT(par), "FILE", 0, 0, "Also fold with this ephemeris."},
    {"ncands", CLI_INT, AT(ncands), "N", 0, 100000, "Fold the N best candidates."},
    {"Running", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"device", CLI_TEXT, AT(device), "NAME", 0, 0,
     "Device of the search: auto (a GPU if there is one, the default), cpu, cuda, or the "
     "numbers of GPUs that share the trials: 0,1,2,3 or all; folds take the first."},
    {"lists", CLI_TEXT, AT(lists), "NAME", 0, 0,
     "one (default): the lists of all DMs in one tar file, ROOT.lists. files: a file for each, "
     "as PRESTO has them."},
    {"json", CLI_FLAG, AT(json), NULL, 0, 0,
     "Print the summary, a line of JSON, on standard output."},
    {"n", CLI_FLAG, AT(dry_run), NULL, 0, 0, "Print the commands, for a shell, and do nothing."},
};

static bool is_one_of(const char *word, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(word, list[i]))
            return true;
    return false;
}

static const double default_hidm = 1000;

static void check_words(const struct psrsearch_options *o, const struct cli *tool)
{
    static const char *const searches[] = {"boxes", "matched", "both"};
    static const char *const lists[] = {"one", "files"};
    static const char *const cleans[] = {"auto", "mask", "none"}, *const weights[] = {"snr",
                                                                                      "none"};
    if (o->search && !is_one_of(o->search, searches, 3))
        cli_usage_error(tool, "-search: '%s' is none of boxes, matched and both", o->search);
    if (!is_one_of(o->clean, cleans, 3))
        cli_usage_error(tool, "-clean: '%s' is none of auto, mask and none", o->clean);
    if (!is_one_of(o->lists, lists, 2))
        cli_usage_error(tool, "-lists: '%s' is neither one nor files", o->lists);
    if (o->weights && !is_one_of(o->weights, weights, 2))
        cli_usage_error(tool, "-weights: '%s' is neither snr nor none", o->weights);
    if (o->weights && !strcmp(o->weights, "snr") && strcmp(o->clean, "auto") != 0)
        cli_usage_error(tool, "-weights snr needs -clean auto, which measures channels");
    (void)cli_parse_state(tool, o->state);
    if (o->filterbank && o->psrfits)
        cli_usage_error(tool, "-filterbank and -psrfits exclude each other");
    if (o->zap && o->zaplist)
        cli_usage_error(tool, "-zap and -zaplist exclude each other");
    if (o->quiet && o->verbose)
        cli_usage_error(tool, "-q and -v exclude each other");
    if (o->plan && (o->lodm != 0 || o->hidm != default_hidm || o->res_ms > 0 || o->cohdm > 0))
        cli_usage_error(tool, "-plan has its DMs: not with -lodm, -hidm, -res and -cdm");
    if (!(o->lodm < o->hidm))
        cli_usage_error(tool, "-lodm %g must be below -hidm %g", o->lodm, o->hidm);
}

static void apply_budget(struct psrsearch_options *o, const struct cli *tool)
{
    const struct budget *b = budgets;
    while (b < budgets + NBUDGET && strcmp(o->budget, b->name) != 0)
        b++;
    if (b == budgets + NBUDGET)
        cli_usage_error(tool, "-budget: '%s' is none of fast, normal and deep", o->budget);
    o->search = o->search ? o->search : b->search;
    o->zmax = o->zmax >= 0 ? o->zmax : b->zmax;
    o->numharm = o->numharm >= 0 ? o->numharm : b->numharm;
    o->ncands = o->ncands >= 0 ? o->ncands : b->ncands;
    o->nfine = o->nfine ? o->nfine : b->nfine;
    o->maxwidth_s = o->maxwidth_s > 0 ? o->maxwidth_s : b->maxwidth_s;
    o->budget_ffa = b->ffa;
    o->budget_ratios = b->ratios;
}

void psrsearch_options_parse(struct psrsearch_options *o, struct cli *tool, int argc, char **argv)
{
    struct cli_table table = {.n = 0};
    *o = (struct psrsearch_options){.if_choice = -1,
                                    .clean = "auto",
                                    .budget = "normal",
                                    .ffa = "auto",
                                    .lists = "one",
                                    .hidm = default_hidm,
                                    .zmax = -1,
                                    .numharm = -1,
                                    .ncands = -1};
    CLI_FILL(&table, output, o);
    cli_add_observation(&table, (struct cli_observation){.filterbank = &o->filterbank,
                                                         .psrfits = &o->psrfits,
                                                         .if_choice = &o->if_choice,
                                                         .state = &o->state,
                                                         .no_weights = &o->no_weights,
                                                         .no_scales = &o->no_scales,
                                                         .no_offsets = &o->no_offsets,
                                                         .invert = &o->invert});
    CLI_FILL(&table, search, o);
    cli_add_limits(&table, &o->ncpus, &o->mem_bytes);
    cli_add_verbosity(&table, &o->quiet, &o->verbose);
    *tool = (struct cli){
        .name = "psrsearch",
        .operands = "[OPTION]... FILE...",
        .examples = "psrsearch -hidm 300 obs.fil\n"
                    "psrsearch -n -hidm 300 obs.fil\n"
                    "psrsearch -o found obs_1.fits obs_2.fits\n",
        .summary = "Search telescope data (SIGPROC filterbank, PSRFITS) for pulsars and bursts "
                   "with the tools of psrkit, from a mask to folded candidates and a report.",
        .options = table.option,
        .noptions = table.n,
    };
    o->ninput = (size_t)cli_parse(tool, argc, argv);
    o->input = argv + 1;
    if (!o->ninput)
        cli_usage_error(tool, "no input given");
    for (size_t i = 0; i < o->ninput; i++)
        if (!strcmp(o->input[i], "-"))
            cli_usage_error(tool, "standard input can be read once only: name a file");
    check_words(o, tool);
    apply_budget(o, tool);
}
