/* The options of gpuaccel-pulscan, in the order of --help. */
#include "gpuaccel-pulscan.h"

static void add_input(struct cli_table *list, struct accel_options *o)
{
    const struct cli_option options[] = {
        {"Input", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"files", CLI_TEXT, &o->files, "FILE",
         "Also search the files listed in FILE, one per line; - is standard input.", 0, 0},
    };
    CLI_ADD(list, options);
    fourier_options_add_input(list, &o->fourier);
}

static void add_output(struct cli_table *list, struct accel_options *o)
{
    const struct cli_option options[] = {
        {"Output", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"o", CLI_TEXT, &o->root, "ROOT",
         "Write files whose names begin with ROOT (default: the input's name without suffix); with "
         "-csv or -json, write the table to ROOT; - is -csv on standard output.",
         0, 0},
        {"outdir", CLI_TEXT, &o->outdir, "DIR", "Write to DIR instead of the folder of the input.",
         0, 0},
        {"csv", CLI_FLAG, &o->csv, NULL,
         "Print one table of comma-separated values for all files on standard output instead of "
         "ACCEL files.",
         0, 0},
        {"json", CLI_FLAG, &o->json, NULL, "The same as JSON, one object per line.", 0, 0},
        {"maxcands", CLI_INT, &o->fourier.search.maxcands, "N",
         "Largest number of candidates per file (default 200; 0: all); a note reports more.", 0,
         1e9},
        {"plot", CLI_TEXT, &o->plot, "FILE.png",
         "Plot the (r, z) plane around the best candidate; format by suffix: png, pdf, svg, eps "
         "or ps (needs cairo).",
         0, 0},
        {"fftout", CLI_FLAG, &o->fourier.search.keep_spectra, NULL,
         "Write the spectra of .dat files as ROOT.fft, or ROOT_red.fft with -rednoise.", 0, 0},
    };
    CLI_ADD(list, options);
}

static void add_running(struct cli_table *list, struct accel_options *o)
{
    const struct cli_option options[] = {
        {"Running", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"device", CLI_TEXT, &o->fourier.search.device, "NAME",
         "Devices that search: auto (a GPU if there is one, the default), cpu, cuda, hybrid (boxes "
         "only), or the numbers of GPUs that share the files: 0,1,2,3 or all; -compat presto: the "
         "CPU.",
         0, 0},
        {"batch", CLI_INT, &o->fourier.search.batch, "N",
         "Files searched at once (default: depends on the device).", 1, 4096},
    };
    CLI_ADD(list, options);
    cli_add_limits(list, &o->fourier.search.nthread, &o->fourier.search.mem_bytes);
    cli_add_verbosity(list, &o->quiet, &o->verbose);
}

void accel_fill_table(struct cli_table *list, struct accel_options *o)
{
    list->n = 0;
    add_input(list, o);
    fourier_options_add_search(list, &o->fourier);
    add_output(list, o);
    add_running(list, o);
}
