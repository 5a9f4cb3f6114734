/* The table of the options of a Fourier search. */
#include "fourier_options.h"

void fourier_options_add_input(struct cli_table *list, struct fourier_options *o)
{
    const struct cli_option options[] = {
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
         "Velocity towards the source over c, for the topocentric lines of -zaplist (default 0; of "
         "series that gpudedisp searches, that of its barycentring).",
         -0.1, 0.1},
    };
    CLI_ADD(list, options);
}

static void add_general(struct cli_table *list, struct fourier_options *o)
{
    const struct cli_option options[] = {
        {"Search", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"search", CLI_TEXT, &o->name, "NAME",
         "boxes: fast, less sensitive; matched: the search of accelsearch; both: one list, with "
         "the boxes that matched has not found (default boxes; if run as accelsearch, matched).",
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

static void add_matched(struct cli_table *list, struct fourier_options *o)
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

void fourier_options_add_search(struct cli_table *list, struct fourier_options *o)
{
    add_general(list, o);
    add_matched(list, o);
}
