/* Reads the command line of gpuffa. */
#include "gpuffa.h"

#include <math.h>
#include <string.h>

static void add_trials(struct cli_table *list, struct gpuffa_options *o)
{
    const struct cli_option options[] = {
        {"DMs of an observation", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"lodm", CLI_DOUBLE, &o->lodm, "DM", "First DM, pc cm^-3 (default 0).", 0, 1e6},
        {"dmstep", CLI_DOUBLE, &o->dmstep, "DM", "Step between DMs, pc cm^-3 (default 1).", 0, 1e6},
        {"numdms", CLI_INT, &o->ndm, "N", "Number of DMs (default 10).", 1, PSR_PIPELINE_NDM},
        {"nobary, topo", CLI_FLAG, &o->nobary, NULL, "Do not barycentre: keep topocentric times.",
         0, 0},
    };
    CLI_ADD(list, options);
}

static void add_files(struct cli_table *list, struct gpuffa_options *o)
{
    const struct cli_option options[] = {
        {"Input and output", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"files", CLI_TEXT, &o->files, "FILE",
         "Also search the files listed in FILE, one per line; - is standard input.", 0, 0},
        {"o", CLI_TEXT, &o->root, "ROOT",
         "Write files whose names begin with ROOT: ROOT_ffa.csv (default: the input's name without "
         "suffix, in the current folder); - is standard output.",
         0, 0},
        {"stack", CLI_FLAG, &o->stack, NULL,
         "Inputs are epochs of one position at one DM: write one list of what they hold together, "
         "ROOT_ffa.csv of -o. S/N is that of one epoch that is as improbable; longer epochs are "
         "searched up to the length of the shortest.",
         0, 0},
        {"Running", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"device", CLI_TEXT, &o->ffa.search.device, "NAME",
         "Devices that search: auto (a GPU if there is one, the default), cpu, cuda, or the "
         "numbers of GPUs that share the files or DMs: 0,1,2,3 or all.",
         0, 0},
        {"batch", CLI_INT, &o->ffa.search.batch, "N",
         "Most files searched at once (default: depends on memory).", 1, 4096},
    };
    CLI_ADD(list, options);
    cli_add_limits(list, &o->ffa.search.nthread, &o->ffa.search.mem_bytes);
    cli_add_verbosity(list, &o->quiet, &o->verbose);
}

static void check_combinations(const struct gpuffa_options *o, const struct cli *tool, int n,
                               char *const *operand)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(operand[i], "-"))
            cli_usage_error(tool,
                            "-: a series has an .inf beside it, and comes from a file (-files "
                            "- takes names of files from standard input)");
    if (n < 1 && !o->files)
        cli_usage_error(tool, "no input given: name .dat or .tim files, or an observation");
    const bool observation = n > 0 && gpuffa_is_observation(operand[0]);
    for (int i = 1; i < n; i++)
        if (gpuffa_is_observation(operand[i]) != observation)
            cli_usage_error(tool, "series and observations: search them one after the other");
    if (observation && o->files)
        cli_usage_error(tool, "-files takes names of series");
    if (!observation && (!isnan(o->lodm) || !isnan(o->dmstep) || o->ndm || o->nobary))
        cli_usage_error(
            tool, "-lodm, -dmstep, -numdms and -nobary are for observations: a series has its DM");
    if (o->stack && (observation || !o->root))
        cli_usage_error(tool, "-stack is for series, and needs -o");
    if (!observation && o->root && !o->stack && (n > 1 || o->files))
        cli_usage_error(tool, "-o names the output of one file");
}

int gpuffa_options_parse(struct gpuffa_options *o, struct cli *tool, int argc, char **argv)
{
    struct cli_table table = {.n = 0};
    *o = (struct gpuffa_options){.lodm = NAN, .dmstep = NAN};
    ffa_options_init(&o->ffa);
    ffa_options_add(&table, &o->ffa);
    add_trials(&table, o);
    add_files(&table, o);
    *tool = (struct cli){
        .name = "gpuffa",
        .operands = "[OPTION]... FILE...",
        .examples = "gpuffa obs_DM12.50.dat\n"
                    "gpuffa -lodm 0 -dmstep 0.5 -numdms 200 obs.fil\n"
                    "gpuffa -stack -o all epoch*_DM12.50.dat\n"
                    "gpuffa -pmin 0.5 -pmax 30 -zaplist lines.birds obs_DM*.dat\n",
        .summary =
            "Search time series (.dat, .tim), or an observation at many DMs, for slow pulsars with "
            "the fast folding algorithm: every period is folded, so that narrow pulses of long "
            "periods, whose power is in many harmonics, are found.",
        .options = table.option,
        .noptions = table.n,
    };
    const int n = cli_parse(tool, argc, argv);
    ffa_options_complete(&o->ffa, tool);
    check_combinations(o, tool, n, argv + 1);
    o->lodm = isnan(o->lodm) ? 0 : o->lodm;
    o->dmstep = isnan(o->dmstep) ? 1 : o->dmstep;
    o->ndm = o->ndm ? o->ndm : 10;
    return n;
}
