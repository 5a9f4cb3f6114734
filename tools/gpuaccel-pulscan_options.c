#include "gpuaccel-pulscan.h"

#include "gnuplot.h"
#include <string.h>

static const struct accel_options defaults = {
    .startwidth = 6,
    .endwidth = 100,
    .endfreq_hz = 6,
    .zmax = -1,
    .numharm = -1,
    .sigma = 2,
    .rlo = -1,
    .rhi = -1,
    .flo_hz = 1,
    .fhi_hz = 10000,
    .significance = "exact",
    .maxcands = 200,
    .device = "auto",
};

static void check_numharm(const struct accel_options *o, const struct cli *tool)
{
    static const int64_t known[] = {1, 2, 3, 4, 8, 16, 32};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (o->numharm == known[i])
            return;
    cli_usage_error(tool, "-numharm: %lld is none of 1, 2, 3, 4, 8, 16 and 32",
                    (long long)o->numharm);
}

/* What Pulscan does not do, or does in one way only. */
static void check_compat(const struct accel_options *o, const struct cli *tool)
{
    const struct {
        const char *name;
        bool given;
    } alien[] = {
        {"-zaplist", o->zaplist != NULL}, {"-rlo", o->rlo >= 0}, {"-rhi", o->rhi >= 0},
        {"-rednoise", o->rednoise},       {"-csv", o->csv},      {"-json", o->json},
    };
    if (strcmp(o->compat, "pulscan") != 0)
        cli_usage_error(tool, "-compat: '%s' is not pulscan", o->compat);
    for (size_t k = 0; k < sizeof alien / sizeof *alien; k++)
        if (alien[k].given)
            cli_usage_error(tool, "-compat pulscan: Pulscan has no %s", alien[k].name);
    if (o->numharm > 4)
        cli_usage_error(tool, "-numharm: %lld is above Pulscan's 4", (long long)o->numharm);
}

/* Combinations that the table cannot express. */
static void check_combinations(const struct accel_options *o, const struct cli *tool, int n)
{
    if (n < 1 && !o->files)
        cli_usage_error(tool, "no input given: name .fft or .dat files");
    if (o->csv && o->json)
        cli_usage_error(tool, "-csv and -json exclude each other");
    if (o->root && (n > 1 || o->files) && !o->csv && !o->json)
        cli_usage_error(tool, "-o names the output of one file; use -outdir with several");
    if (o->confirm && (o->rblock || o->compat))
        cli_usage_error(tool, "-confirm: candidates of blocks have no place to look at");
    if (o->plot && (o->rblock || o->compat))
        cli_usage_error(tool, "-plot: candidates of blocks have no plane around them");
    if (o->plot && !gnuplot_has_suffix(o->plot))
        cli_usage_error(tool, "-plot: '%s' does not end in %s", o->plot, gnuplot_suffixes);
    if (o->root && o->outdir)
        cli_usage_error(tool, "-o and -outdir exclude each other");
    if (strcmp(o->significance, "exact") != 0 && strcmp(o->significance, "poly") != 0)
        cli_usage_error(tool, "-significance: '%s' is neither exact nor poly", o->significance);
    if (o->endwidth < o->startwidth)
        cli_usage_error(tool, "-endwidth %lld is below -startwidth %lld", (long long)o->endwidth,
                        (long long)o->startwidth);
    if (o->fhi_hz < o->flo_hz)
        cli_usage_error(tool, "-fhi %g is below -flo %g", o->fhi_hz, o->flo_hz);
    if (o->rhi >= 0 && o->rhi < o->rlo)
        cli_usage_error(tool, "-rhi %lld is below -rlo %lld", (long long)o->rhi, (long long)o->rlo);
    if (o->lobin > 0)
        cli_usage_error(tool, "-lobin: only whole spectra are searched, which begin at bin 0");
    check_numharm(o, tool);
    if (o->compat)
        check_compat(o, tool);
}

/* -turbo and -o - are other words for flags of our own; defaults differ for Pulscan's list. */
static void settle(struct accel_options *o)
{
    bool pulscan = o->compat != NULL;
    o->rblock |= o->turbo == 1 || o->turbo == 2;
    o->logz |= o->turbo == 3;
    if (o->root && !strcmp(o->root, "-") && !o->json && !pulscan)
        o->csv = true;
    o->zmax = o->zmax < 0 ? 200 : o->zmax;
    o->numharm = o->numharm < 0 ? (pulscan ? 1 : 4) : o->numharm;
    o->zstep = o->zstep ? o->zstep : 2;
    if (!pulscan)
        o->zmax += o->zmax % 2; /* as accelsearch */
    if (pulscan && !o->chunkwidth)
        o->chunkwidth = 32768;
    if (pulscan && !o->normalizechunkwidth)
        o->normalizechunkwidth = 30 * o->zmax;
}

int accel_options_parse(struct accel_options *o, struct cli *tool, int argc, char **argv)
{
    *o = defaults;
    const struct cli_option table[] = {
        {"Input", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"files", CLI_TEXT, &o->files, "FILE",
         "Search the files named in FILE too, one a line; - is standard input.", 0, 0},
        {"rednoise", CLI_FLAG, &o->rednoise, NULL,
         "Take red noise out, as realfft -rednoise does (default: leave the spectrum as it is).", 0,
         0},
        {"startwidth", CLI_INT, &o->startwidth, "N", "First block of -rednoise, bins (default 6).",
         2, 50},
        {"endwidth", CLI_INT, &o->endwidth, "N", "Last block of -rednoise, bins (default 100).", 50,
         500},
        {"endfreq", CLI_DOUBLE, &o->endfreq_hz, "HZ",
         "Where the blocks of -rednoise have their last width (default 6 Hz).", 0.1, 1e6},
        {"zaplist", CLI_TEXT, &o->zaplist, "FILE",
         "Leave frequencies out: PRESTO's .zaplist or .birds.", 0, 0},
        {"baryv", CLI_DOUBLE, &o->baryv, "V",
         "Velocity towards the source over that of light, for the topocentric lines of -zaplist "
         "(default 0).",
         -0.1, 0.1},
        {"Search", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"zmax", CLI_INT, &o->zmax, "N",
         "Largest drift in bins over the observation, rounded up to even (default 200).", 0,
         PSR_PULSCAN_MAX_Z - 1},
        {"numharm", CLI_INT, &o->numharm, "N",
         "Most harmonics summed: 1, 2, 3, 4 (default), 8, 16 or 32; lesser sums are searched too.",
         1, 32},
        {"sigma", CLI_DOUBLE, &o->sigma, "S", "Least sigma of a candidate (default 2).", 1, 1000},
        {"flo", CLI_DOUBLE, &o->flo_hz, "HZ", "Lowest frequency (default 1 Hz).", 0, 1e9},
        {"fhi", CLI_DOUBLE, &o->fhi_hz, "HZ", "Highest frequency (default 10000 Hz).", 0, 1e9},
        {"rlo", CLI_INT, &o->rlo, "R", "Lowest bin, in place of -flo.", 0, 0x1p53},
        {"rhi", CLI_INT, &o->rhi, "R", "Highest bin, in place of -fhi.", 0, 0x1p53},
        {"zstep", CLI_INT, &o->zstep, "N", "Step between drifts (default 2).", 1,
         PSR_PULSCAN_MAX_Z},
        {"logz", CLI_FLAG, &o->logz, NULL, "Search drifts 0, 1, 2, 4, 8 .. only: faster.", 0, 0},
        {"chunkwidth", CLI_INT, &o->chunkwidth, "N",
         "Bins per block, of which each width gives its best box (default 4096).", 1, 0x1p31},
        {"normalizechunkwidth", CLI_INT, &o->normalizechunkwidth, "N",
         "Bins whose median and scatter normalise them (default: 30 zmax, at least 4096).", 2,
         0x1p31},
        {"rblock", CLI_FLAG, &o->rblock, NULL,
         "Say in which block candidates are, not where in it.", 0, 0},
        {"turbo", CLI_INT, &o->turbo, "N", "Pulscan's: 1 and 2 are -rblock, 3 is -logz.", 0, 3},
        {"significance", CLI_TEXT, &o->significance, "NAME",
         "exact (default), or poly: the polynomial of White et al.", 0, 0},
        {"noharmremove", CLI_FLAG, &o->noharmremove, NULL,
         "Keep candidates whose frequencies are in small ratios.", 0, 0},
        {"confirm", CLI_FLAG, &o->confirm, NULL,
         "List what a matched search finds around the boxes, with its powers and accelsearch's "
         "trials, where that is above -sigma.",
         0, 0},
        {"compat", CLI_TEXT, &o->compat, "pulscan",
         "Give Pulscan's own list, its faults included: ROOT_ZMAX_N_NUMHARM_N_TURBO_N.pulscand.", 0,
         0},
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
        {"Running", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"device", CLI_TEXT, &o->device, "NAME",
         "Where to search: auto (a GPU where there is one, the default), cpu, cuda, hybrid, or the "
         "number of a GPU.",
         0, 0},
        {"ncpus", CLI_INT, &o->ncpus, "N", "Threads (default: all cores).", 1, 4096},
        {"batch", CLI_INT, &o->batch, "N", "Files searched at once (default: by the device).", 1,
         4096},
        {"mem", CLI_SIZE, &o->mem_bytes, "SIZE",
         "Bound on memory, as 512M or 4G (default: a quarter of the machine).", 0, 0},
        {"q", CLI_FLAG, &o->quiet, NULL, "No remarks, no progress.", 0, 0},
        {"v", CLI_FLAG, &o->verbose, NULL, "Say what is done and where the time went.", 0, 0},
        {"Accepted for accelsearch's sake", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"lobin", CLI_INT, &o->lobin, "N", "0 only.", 0, 0x1p53},
        {"wmax", CLI_DOUBLE, &o->wmax, "N", "Not used: boxes see drifts that drift.", 0, 4000},
        {"inmem", CLI_FLAG, &o->inmem, NULL, "Not used, nor are the next.", 0, 0},
        {"photon", CLI_FLAG, &o->photon, NULL, "Not used.", 0, 0},
        {"median", CLI_FLAG, &o->median, NULL, "Not used.", 0, 0},
        {"locpow", CLI_FLAG, &o->locpow, NULL, "Not used.", 0, 0},
        {"otheropt", CLI_FLAG, &o->otheropt, NULL, "Not used.", 0, 0},
        {"noharmpolish", CLI_FLAG, &o->noharmpolish, NULL, "Not used.", 0, 0},
    };
    *tool = (struct cli){
        .name = "gpuaccel-pulscan",
        .operands = "[OPTION]... FILE.fft|FILE.dat...",
        .summary = "Search Fourier spectra, or the series they are made of, for accelerated "
                   "pulsars, as Pulscan does, and write what accelsearch writes.",
        .options = table,
        .noptions = sizeof table / sizeof *table,
    };
    int n = cli_parse(tool, argc, argv);
    settle(o);
    check_combinations(o, tool, n);
    return n;
}
