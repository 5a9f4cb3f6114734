/* The options of gpuaccel-pulscan, in the order of --help. */
#include "gpuaccel-pulscan.h"

static void add_input(struct cli_table *list, struct accel_options *o)
{
    const struct cli_option options[] = {
        {"Input", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"files", CLI_TEXT, &o->files, "FILE",
         "Also search the files listed in FILE, one per line; - is standard input.", 0, 0},
        {"rednoise", CLI_FLAG, &o->search.rednoise, NULL,
         "Remove red noise from .dat and .fft files: the line between the ends of a series, and "
         "local medians as in realfft -rednoise (default: do not change the spectrum).",
         0, 0},
        {"startwidth", CLI_INT, &o->search.startwidth, "N",
         "Length of the first block of -rednoise, bins (default 6).", 2, 50},
        {"endwidth", CLI_INT, &o->search.endwidth, "N",
         "Length of the last block of -rednoise, bins; reproduces realfft if given (default: 30 "
         "zmax, at least 100). For a .fft file without red noise, the length that was used to "
         "remove it (default 100).",
         50, PSR_FOURIER_ENDWIDTH},
        {"endfreq", CLI_DOUBLE, &o->search.endfreq_hz, "HZ",
         "Frequency from which the blocks of -rednoise have their last length (default 6 Hz).", 0.1,
         1e6},
        {"zaplist", CLI_TEXT, &o->zaplist, "FILE",
         "Ignore frequencies: PRESTO's .zaplist or .birds.", 0, 0},
        {"baryv", CLI_DOUBLE, &o->search.baryv, "V",
         "Velocity towards the source over c, for the topocentric lines of -zaplist (default 0).",
         -0.1, 0.1},
    };
    CLI_ADD(list, options);
}

static void add_search(struct cli_table *list, struct accel_options *o)
{
    const struct cli_option options[] = {
        {"Search", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"search", CLI_TEXT, &o->search_name, "NAME",
         "boxes: fast, less sensitive; matched: the search of accelsearch; both: one "
         "list, with the boxes that matched has not found (default boxes; if run as accelsearch, "
         "matched).",
         0, 0},
        {"zmax", CLI_INT, &o->search.zmax, "N",
         "Largest drift in bins over the observation, rounded up to even (default 200); for "
         "matched, of the highest harmonic.",
         0, PSR_PULSCAN_MAX_Z - 1},
        {"wmax", CLI_INT, &o->search.wmax, "N",
         "Also search jerks up to N bins over the observation, rounded up to a multiple of 20 "
         "(default: none); ignored for boxes, which tolerate jerk.",
         0, PSR_ACCELSEARCH_MAX_W},
        {"numharm", CLI_INT, &o->search.numharm, "N",
         "Largest number of harmonics summed: 1, 2, 3 (boxes), 4, 8, 16 or 32; smaller sums are "
         "searched too (default 4; matched 8).",
         1, 32},
        {"sigma", CLI_DOUBLE, &o->search.sigma, "S", "Sigma threshold of candidates (default 2).",
         1, 1000},
        {"flo", CLI_DOUBLE, &o->search.flo_hz, "HZ",
         "Lowest frequency of the fundamental, or for matched of the highest harmonic summed "
         "(default 1 Hz).",
         0, 1e9},
        {"fhi", CLI_DOUBLE, &o->search.fhi_hz, "HZ",
         "Highest frequency, likewise (default 10000 Hz).", 0, 1e9},
        {"rlo", CLI_DOUBLE, &o->search.rlo, "R", "Lowest bin, instead of -flo.", 0, 0x1p53},
        {"rhi", CLI_DOUBLE, &o->search.rhi, "R", "Highest bin, instead of -fhi.", 0, 0x1p53},
        {"lobin", CLI_DOUBLE, &o->search.lobin, "R",
         "For matched, search no bin below R (default 0).", 0, 0x1p53},
        {"zstep", CLI_INT, &o->search.zstep, "N", "Step between drifts (default 2).", 1,
         PSR_PULSCAN_MAX_Z},
        {"logz", CLI_FLAG, &o->search.logz, NULL, "Search only drifts 0, 1, 2, 4, 8 ..: faster.", 0,
         0},
        {"chunkwidth", CLI_INT, &o->search.chunkwidth, "N",
         "Bins per block of -rblock and -compat, which keep the best box of each width (default "
         "4096; -compat: 32768).",
         1, 0x1p31},
        {"normalizechunkwidth", CLI_INT, &o->search.normalizechunkwidth, "N",
         "Bins per normalisation block (default: 30 zmax, at least 4096).", 2, 0x1p31},
        {"rblock", CLI_FLAG, &o->search.rblock, NULL,
         "Keep one box per block and width, and report its block but not its position within it.",
         0, 0},
        {"turbo", CLI_INT, &o->search.turbo, "N",
         "As in Pulscan: 1 is -rblock, 2 is -rblock -zstep 2, 3 is -logz.", 0, 3},
        {"significance", CLI_TEXT, &o->significance, "NAME",
         "exact (default), or poly: the polynomial of White et al.", 0, 0},
        {"noharmremove", CLI_FLAG, &o->search.noharmremove, NULL,
         "Keep candidates whose frequencies have small ratios.", 0, 0},
        {"confirm", CLI_FLAG, &o->search.confirm, NULL,
         "List only what the matched search finds within 15 bins of a box, as it lists it, with "
         "-wmax too; takes the time of both.",
         0, 0},
        {"compat", CLI_TEXT, &o->compat, "NAME",
         "pulscan: reproduce Pulscan's list, ROOT_ZMAX_N_NUMHARM_N_TURBO_N.pulscand; presto: "
         "reproduce the list of accelsearch on one thread; both including their faults.",
         0, 0},
    };
    CLI_ADD(list, options);
}

static void add_matched(struct cli_table *list, struct accel_options *o)
{
    const struct cli_option options[] = {
        {"Matched search", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"median", CLI_FLAG, &o->median, NULL,
         "Normalise powers by the medians of blocks (the default).", 0, 0},
        {"locpow", CLI_FLAG, &o->search.locpow, NULL,
         "Normalise by the mean of the 20 surrounding bins.", 0, 0},
        {"photon", CLI_FLAG, &o->search.photon, NULL, "Normalise by the sum of the series.", 0, 0},
        {"noharmpolish", CLI_FLAG, &o->search.noharmpolish, NULL,
         "Measure each harmonic of a candidate separately.", 0, 0},
        {"inmem", CLI_FLAG, &o->search.inmem, NULL,
         "With -compat presto: as accelsearch -inmem; otherwise ignored.", 0, 0},
        {"otheropt", CLI_FLAG, &o->otheropt, NULL, "Ignored: it has no effect in accelsearch.", 0,
         0},
    };
    CLI_ADD(list, options);
}

static void add_output(struct cli_table *list, struct accel_options *o)
{
    const struct cli_option options[] = {
        {"Output", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"o", CLI_TEXT, &o->root, "ROOT",
         "Prefix of output names (default: the input's name without suffix); with -csv or -json, "
         "the table; - is -csv on standard output.",
         0, 0},
        {"outdir", CLI_TEXT, &o->outdir, "DIR", "Write to DIR instead of the folder of the input.",
         0, 0},
        {"csv", CLI_FLAG, &o->csv, NULL,
         "Print one table of comma-separated values for all files on standard output instead of "
         "ACCEL files.",
         0, 0},
        {"json", CLI_FLAG, &o->json, NULL, "The same as JSON, one object per line.", 0, 0},
        {"maxcands", CLI_INT, &o->search.maxcands, "N",
         "Largest number of candidates per file (default 200; 0: all); a note reports more.", 0,
         1e9},
        {"plot", CLI_TEXT, &o->plot, "FILE.png",
         "Plot the (r, z) plane around the best candidate; format by suffix: png, pdf, svg, eps "
         "or ps (needs gnuplot).",
         0, 0},
        {"fftout", CLI_FLAG, &o->search.keep_spectra, NULL,
         "Write the spectra of .dat files as ROOT.fft, or ROOT_red.fft with -rednoise.", 0, 0},
    };
    CLI_ADD(list, options);
}

static void add_running(struct cli_table *list, struct accel_options *o)
{
    const struct cli_option options[] = {
        {"Running", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"device", CLI_TEXT, &o->search.device, "NAME",
         "Device that searches: auto (a GPU if there is one, the default), cpu, cuda, hybrid "
         "(boxes "
         "only), or the number of a GPU; -compat presto: the CPU.",
         0, 0},
        {"batch", CLI_INT, &o->search.batch, "N",
         "Files searched at once (default: depends on the device).", 1, 4096},
    };
    CLI_ADD(list, options);
    cli_add_limits(list, &o->search.ncpus, &o->search.mem_bytes);
    cli_add_verbosity(list, &o->quiet, &o->verbose);
}

void accel_fill_table(struct cli_table *list, struct accel_options *o)
{
    list->n = 0;
    add_input(list, o);
    add_search(list, o);
    add_matched(list, o);
    add_output(list, o);
    add_running(list, o);
}
