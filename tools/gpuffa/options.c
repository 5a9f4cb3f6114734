/* Reads the command line of gpuffa. */
#include "gpuffa.h"

#include <string.h>

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
        {"Running", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"device", CLI_TEXT, &o->ffa.search.device, "NAME",
         "Device that searches: auto (a GPU if there is one, the default), cpu, cuda, or the "
         "number "
         "of a GPU.",
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
        cli_usage_error(tool, "no input given: name .dat or .tim files");
    if (o->root && (n > 1 || o->files))
        cli_usage_error(tool, "-o names the output of one file");
}

int gpuffa_options_parse(struct gpuffa_options *o, struct cli *tool, int argc, char **argv)
{
    struct cli_table table = {.n = 0};
    *o = (struct gpuffa_options){.quiet = false};
    ffa_options_init(&o->ffa);
    ffa_options_add(&table, &o->ffa);
    add_files(&table, o);
    *tool = (struct cli){
        .name = "gpuffa",
        .operands = "[OPTION]... FILE.dat|FILE.tim...",
        .examples = "gpuffa obs_DM12.50.dat\n"
                    "gpuffa -pmin 0.5 -pmax 30 -zaplist lines.birds obs_DM*.dat\n",
        .summary =
            "Search time series for slow pulsars with the fast folding algorithm: every "
            "period is folded, so that narrow pulses of long periods, whose power is in many "
            "harmonics, are found.",
        .options = table.option,
        .noptions = table.n,
    };
    const int n = cli_parse(tool, argc, argv);
    ffa_options_complete(&o->ffa, tool);
    check_combinations(o, tool, n, argv + 1);
    return n;
}
