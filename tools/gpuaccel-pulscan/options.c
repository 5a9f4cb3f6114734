/* Reads the command line of gpuaccel-pulscan, and checks what its table cannot express. */
#include "gpuaccel-pulscan.h"
#include "tools/common/plot/plotfile.h"

#include <string.h>

#define AT(member) CLI_AT(struct accel_options, member)

static const struct cli_option files[] = {
    {"Input", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"files", CLI_TEXT, AT(files), "FILE", 0, 0,
     "Also search the files listed in FILE, one per line; - is standard input."},
};

static const struct cli_option output[] = {
    {"Output", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"o", CLI_TEXT, AT(root), "ROOT", 0, 0,
     "Write files whose names begin with ROOT (default: the input's name without suffix); with "
     "-csv or -json, write the table to ROOT; - is -csv on standard output."},
    {"outdir", CLI_TEXT, AT(outdir), "DIR", 0, 0,
     "Write to DIR instead of the folder of the input."},
    {"csv", CLI_FLAG, AT(csv), NULL, 0, 0,
     "Print one table of comma-separated values for all files on standard output instead of "
     "ACCEL files."},
    {"json", CLI_FLAG, AT(json), NULL, 0, 0, "The same as JSON, one object per line."},
    {"maxcands", CLI_INT, AT(fourier.search.maxcands), "N", 0, 1e9,
     "Largest number of candidates per file (default 200; 0: all); a note reports more."},
    {"plot", CLI_TEXT, AT(plot), "FILE.png", 0, 0,
     "Plot the (r, z) plane around the best candidate; format by suffix: png, pdf, svg, eps "
     "or ps (needs cairo)."},
    {"fftout", CLI_FLAG, AT(fourier.search.keep_spectra), NULL, 0, 0,
     "Write the spectra of .dat files as ROOT.fft, or ROOT_red.fft with -rednoise."},
    {"Running", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"device", CLI_TEXT, AT(fourier.search.device), "NAME", 0, 0,
     "Devices that search: auto (a GPU if there is one, the default), cpu, cuda, hybrid (boxes "
     "only), or the numbers of GPUs that share the files: 0,1,2,3 or all; -compat presto: the "
     "CPU."},
    {"batch", CLI_INT, AT(fourier.search.batch), "N", 1, 4096,
     "Files searched at once (default: depends on the device)."},
};

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
    struct cli_table table = {.n = 0};
    *o = (struct accel_options){.csv = false};
    fourier_options_init(&o->fourier);
    CLI_FILL(&table, files, o);
    fourier_options_add_input(&table, &o->fourier);
    fourier_options_add_search(&table, &o->fourier);
    CLI_FILL(&table, output, o);
    cli_add_limits(&table, &o->fourier.search.nthread, &o->fourier.search.mem_bytes);
    cli_add_verbosity(&table, &o->quiet, &o->verbose);
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
