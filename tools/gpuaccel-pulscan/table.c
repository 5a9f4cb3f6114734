/* The options of gpuaccel-pulscan, in the order of --help. */
#include "gpuaccel-pulscan.h"

static void add_input(struct cli_table *list, struct accel_options *o)
{
    const struct cli_option options[] = {
        {"Input", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"files", CLI_TEXT, &o->files, "FILE",
         "Search the files named in FILE too, one a line; - is standard input.", 0, 0},
        {"rednoise", CLI_FLAG, &o->rednoise, NULL,
         "Take red noise out, of .dat and .fft files: the line between a series' ends, and by "
         "medians as realfft -rednoise "
         "does (default: leave the spectrum as it is).",
         0, 0},
        {"startwidth", CLI_INT, &o->startwidth, "N", "First block of -rednoise, bins (default 6).",
         2, 50},
        {"endwidth", CLI_INT, &o->endwidth, "N",
         "Last block of -rednoise, bins: all is as with realfft then (default: 30 zmax, at least "
         "100); of a .fft file without red noise, the last of those it was taken out by (default "
         "100).",
         50, ACCEL_ENDWIDTH},
        {"endfreq", CLI_DOUBLE, &o->endfreq_hz, "HZ",
         "Where the blocks of -rednoise have their last width (default 6 Hz).", 0.1, 1e6},
        {"zaplist", CLI_TEXT, &o->zaplist, "FILE",
         "Leave frequencies out: PRESTO's .zaplist or .birds.", 0, 0},
        {"baryv", CLI_DOUBLE, &o->baryv, "V",
         "Velocity towards the source over that of light, for the topocentric lines of -zaplist "
         "(default 0).",
         -0.1, 0.1},
    };
    CLI_ADD(list, options);
}

static void add_search(struct cli_table *list, struct accel_options *o)
{
    const struct cli_option options[] = {
        {"Search", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"search", CLI_TEXT, &o->search, "NAME",
         "boxes: fast, and less deep; matched: all that accelsearch looks at, on the CPU; both: "
         "one "
         "list, of boxes what matched has not found (default boxes; run as accelsearch: matched).",
         0, 0},
        {"zmax", CLI_INT, &o->zmax, "N",
         "Largest drift in bins over the observation, rounded up to even (default 200); of the "
         "highest harmonic, if matched.",
         0, PSR_PULSCAN_MAX_Z - 1},
        {"wmax", CLI_INT, &o->wmax, "N",
         "Search jerks too, to N bins over the observation squared, rounded up to a multiple of 20 "
         "(default: none); boxes need it not, they see drifts that drift.",
         0, PSR_ACCELSEARCH_MAX_W},
        {"numharm", CLI_INT, &o->numharm, "N",
         "Most harmonics summed: 1, 2, 3 (boxes), 4, 8, 16 or 32; lesser sums are searched too "
         "(default 4; if matched, 8).",
         1, 32},
        {"sigma", CLI_DOUBLE, &o->sigma, "S", "Least sigma of a candidate (default 2).", 1, 1000},
        {"flo", CLI_DOUBLE, &o->flo_hz, "HZ",
         "Lowest frequency: of the fundamental, or if matched of the highest harmonic summed "
         "(default 1 Hz).",
         0, 1e9},
        {"fhi", CLI_DOUBLE, &o->fhi_hz, "HZ", "Highest frequency, likewise (default 10000 Hz).", 0,
         1e9},
        {"rlo", CLI_DOUBLE, &o->rlo, "R", "Lowest bin, in place of -flo.", 0, 0x1p53},
        {"rhi", CLI_DOUBLE, &o->rhi, "R", "Highest bin, in place of -fhi.", 0, 0x1p53},
        {"lobin", CLI_DOUBLE, &o->lobin, "R", "Search no bin below R, if matched (default 0).", 0,
         0x1p53},
        {"zstep", CLI_INT, &o->zstep, "N", "Step between drifts (default 2).", 1,
         PSR_PULSCAN_MAX_Z},
        {"logz", CLI_FLAG, &o->logz, NULL, "Search drifts 0, 1, 2, 4, 8 .. only: faster.", 0, 0},
        {"chunkwidth", CLI_INT, &o->chunkwidth, "N",
         "Bins per block of -rblock and -compat, of which each width gives its best box (default "
         "4096; "
         "-compat: 32768).",
         1, 0x1p31},
        {"normalizechunkwidth", CLI_INT, &o->normalizechunkwidth, "N",
         "Bins whose median and scatter normalise them (default: 30 zmax, at least 4096).", 2,
         0x1p31},
        {"rblock", CLI_FLAG, &o->rblock, NULL,
         "Keep one box a block and width, and say in which block it is, not where in it.", 0, 0},
        {"turbo", CLI_INT, &o->turbo, "N",
         "Pulscan's: 1 is -rblock, 2 is -rblock -zstep 2, 3 is -logz.", 0, 3},
        {"significance", CLI_TEXT, &o->significance, "NAME",
         "exact (default), or poly: the polynomial of White et al.", 0, 0},
        {"noharmremove", CLI_FLAG, &o->noharmremove, NULL,
         "Keep candidates whose frequencies are in small ratios.", 0, 0},
        {"confirm", CLI_FLAG, &o->confirm, NULL,
         "List what a matched search finds around the boxes, with its powers and accelsearch's "
         "trials, where that is above -sigma.",
         0, 0},
        {"compat", CLI_TEXT, &o->compat, "NAME",
         "pulscan: give Pulscan's own list, ROOT_ZMAX_N_NUMHARM_N_TURBO_N.pulscand; presto: give "
         "the "
         "list of accelsearch on one thread; their faults included.",
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
        {"locpow", CLI_FLAG, &o->locpow, NULL, "Normalise by the mean of 20 bins around.", 0, 0},
        {"photon", CLI_FLAG, &o->photon, NULL, "Normalise by the sum of the series.", 0, 0},
        {"noharmpolish", CLI_FLAG, &o->noharmpolish, NULL,
         "Measure each harmonic of a candidate for itself.", 0, 0},
        {"inmem", CLI_FLAG, &o->inmem, NULL,
         "With -compat presto: as accelsearch -inmem; else not used.", 0, 0},
        {"otheropt", CLI_FLAG, &o->otheropt, NULL, "Not used: accelsearch's has no effect.", 0, 0},
    };
    CLI_ADD(list, options);
}

static void add_output(struct cli_table *list, struct accel_options *o)
{
    const struct cli_option options[] = {
        {"Output", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"o", CLI_TEXT, &o->root, "ROOT",
         "Start of output names (default: the input's without its suffix); with -csv or -json, the "
         "table; - is -csv on standard output.",
         0, 0},
        {"outdir", CLI_TEXT, &o->outdir, "DIR", "Write to DIR rather than beside the input.", 0, 0},
        {"csv", CLI_FLAG, &o->csv, NULL,
         "One table of comma-separated values for all files, on standard output, in place of ACCEL "
         "files.",
         0, 0},
        {"json", CLI_FLAG, &o->json, NULL, "The same as JSON, an object a line.", 0, 0},
        {"maxcands", CLI_INT, &o->maxcands, "N",
         "Most candidates of a file (default 200; 0: no bound); a remark tells of more.", 0, 1e9},
        {"plot", CLI_TEXT, &o->plot, "FILE.png",
         "Draw the (r, z) plane around the best candidate of all; png, pdf, svg, eps or ps by "
         "suffix "
         "(needs gnuplot).",
         0, 0},
        {"fftout", CLI_FLAG, &o->fftout, NULL,
         "Write the spectra of .dat files as ROOT.fft, or ROOT_red.fft with -rednoise.", 0, 0},
    };
    CLI_ADD(list, options);
}

static void add_running(struct cli_table *list, struct accel_options *o)
{
    const struct cli_option options[] = {
        {"Running", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"device", CLI_TEXT, &o->device, "NAME",
         "Where to search: auto (a GPU where there is one, the default), cpu, cuda, hybrid, or the "
         "number of a GPU.",
         0, 0},
        {"batch", CLI_INT, &o->batch, "N", "Files searched at once (default: by the device).", 1,
         4096},
    };
    CLI_ADD(list, options);
    cli_add_limits(list, &o->ncpus, &o->mem_bytes);
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
