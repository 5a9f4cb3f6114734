#include "gpuaccel-pulscan.h"

#include "tools/common/gnuplot.h"
#include <string.h>

static const struct accel_options defaults = {
    .startwidth = 6,
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
    } incompatible[] = {
        {"-zaplist", o->zaplist != NULL}, {"-rlo", o->rlo >= 0}, {"-rhi", o->rhi >= 0},
        {"-rednoise", o->rednoise},       {"-csv", o->csv},      {"-json", o->json},
    };
    if (strcmp(o->compat, "pulscan") != 0)
        cli_usage_error(tool, "-compat: '%s' is not pulscan", o->compat);
    for (size_t k = 0; k < sizeof incompatible / sizeof *incompatible; k++)
        if (incompatible[k].given)
            cli_usage_error(tool, "-compat pulscan: Pulscan has no %s", incompatible[k].name);
    if (o->numharm > 4)
        cli_usage_error(tool, "-numharm: %lld is above Pulscan's 4", (long long)o->numharm);
}

/* Combinations that the table cannot express. */
static void check_combinations(const struct accel_options *o, const struct cli *tool, int n,
                               char *const *operand)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(operand[i], "-"))
            cli_usage_error(tool, "-: spectra have an .inf beside them, and come from files "
                                  "(-files - takes names of files from standard input)");
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
    if (o->endwidth && o->endwidth < o->startwidth)
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
    o->zstep = o->zstep && o->turbo != 2 ? o->zstep : 2;
    if (!pulscan)
        o->zmax += o->zmax % 2; /* as accelsearch */
    if (pulscan && o->turbo == 1 && o->zstep == 2)
        o->turbo = 2; /* as Pulscan takes it; the name of its list says so */
    if (pulscan && !o->chunkwidth)
        o->chunkwidth = 32768;
    if (pulscan && !o->normalizechunkwidth)
        o->normalizechunkwidth = 30 * o->zmax;
}

bool accel_has_table(const struct accel_options *o)
{
    return o->csv || o->json;
}

int accel_options_parse(struct accel_options *o, struct cli *tool, int argc, char **argv)
{
    *o = defaults;
    struct cli_table table;
    accel_fill_table(&table, o);
    *tool = (struct cli){
        .name = "gpuaccel-pulscan",
        .operands = "[OPTION]... FILE.fft|FILE.dat...",
        .summary = "Search Fourier spectra, or the series they are made of, for accelerated "
                   "pulsars, as Pulscan does, and write what accelsearch writes.",
        .options = table.option,
        .noptions = table.n,
    };
    int n = cli_parse(tool, argc, argv);
    settle(o);
    check_combinations(o, tool, n, argv + 1);
    return n;
}
