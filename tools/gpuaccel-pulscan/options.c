/* Reads the command line of gpuaccel-pulscan, and checks what its table cannot express. */
#include "gpuaccel-pulscan.h"

#include "tools/common/plotfile.h"
#include <string.h>

/* Combinations that the table cannot express. */
static void check_combinations(const struct accel_options *o, const struct cli *tool, int n,
                               char *const *operand)
{
    const struct psr_fourier_desc *d = &o->fourier.search;
    for (int i = 0; i < n; i++)
        if (!strcmp(operand[i], "-"))
            cli_usage_error(tool, "-: spectra have an .inf beside them, and come from files "
                                  "(-files - takes names of files from standard input)");
    if (n < 1 && !o->files)
        cli_usage_error(tool, "no input given: name .fft, .dat, .sdat or .tim files");
    if (o->csv && o->json)
        cli_usage_error(tool, "-csv and -json exclude each other");
    if (o->root && (n > 1 || o->files) && !o->csv && !o->json)
        cli_usage_error(tool, "-o names the output of one file; use -outdir with several");
    if (o->plot && (d->rblock || d->pulscan))
        cli_usage_error(tool, "-plot: candidates of blocks have no plane around them");
    if (o->plot && !plotfile_has_suffix(o->plot))
        cli_usage_error(tool, "-plot: '%s' does not end in %s", o->plot, plotfile_suffixes);
    if (o->root && o->outdir)
        cli_usage_error(tool, "-o and -outdir exclude each other");
    const char *table = o->csv ? "-csv" : o->json ? "-json" : NULL;
    if (d->pulscan && table)
        cli_usage_error(tool, "-compat pulscan: Pulscan has no %s", table);
    if (d->presto && table)
        cli_usage_error(tool, "-compat presto: accelsearch's list is made without %s", table);
}

bool accel_has_table(const struct accel_options *o)
{
    return o->csv || o->json;
}

int accel_options_parse(struct accel_options *o, struct cli *tool, int argc, char **argv)
{
    struct cli_table table;
    *o = (struct accel_options){.csv = false};
    fourier_options_init(&o->fourier);
    accel_fill_table(&table, o);
    *tool = (struct cli){
        .name = "gpuaccel-pulscan",
        .operands = "[OPTION]... FILE.fft|FILE.dat|FILE.sdat|FILE.tim...",
        .examples = "gpuaccel-pulscan -zmax 200 obs_DM*.dat\n"
                    "gpuaccel-pulscan -search matched -zmax 100 -wmax 200 obs_DM*.dat\n"
                    "gpuaccel-pulscan -rednoise -zaplist obs.zaplist -csv obs_DM*.dat\n",
        .summary = "Search Fourier spectra, or the series they are made of, for accelerated "
                   "pulsars, as Pulscan or as accelsearch does, and write what accelsearch writes.",
        .options = table.option,
        .noptions = table.n,
    };
    const bool accelsearch = cli_is_run_as(argv[0], "accelsearch");
    int n = cli_parse(tool, argc, argv);
    fourier_options_complete(&o->fourier, tool, accelsearch);
    if (o->root && !strcmp(o->root, "-") && !o->json && !o->fourier.search.pulscan)
        o->csv = true;
    check_combinations(o, tool, n, argv + 1);
    return n;
}
