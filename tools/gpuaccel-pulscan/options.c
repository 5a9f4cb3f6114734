/* Reads the command line of gpuaccel-pulscan, and checks what its table cannot express. */
#include "gpuaccel-pulscan.h"

#include "tools/common/gnuplot.h"
#include <string.h>

/* What is not given gets its value once it is known which search it is for. */
static struct accel_options default_options(void)
{
    struct accel_options o = {.significance = "exact"};
    psr_fourier_defaults(&o.search);
    o.search.zmax = o.search.numharm = -1;
    return o;
}

static void check_numharm(const struct accel_options *o, const struct cli *tool)
{
    static const int64_t known[] = {1, 2, 4, 8, 16, 32};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (o->search.numharm == known[i])
            return;
    if (o->search.numharm != 3)
        cli_usage_error(tool, "-numharm: %lld is none of 1, 2, 3, 4, 8, 16 and 32",
                        (long long)o->search.numharm);
    if (o->search.matched)
        cli_usage_error(tool, "-numharm: a matched search sums 1, 2, 4, 8, 16 or 32, not 3");
}

/* An option, and whether it stands on the command line. */
struct given {
    const char *name;
    bool given;
};

/* The first of n that is given and should not be. */
static void reject_options(const struct cli *tool, const struct given *option, size_t n,
                           const char *why)
{
    for (size_t k = 0; k < n; k++)
        if (option[k].given)
            cli_usage_error(tool, "%s %s", why, option[k].name);
}
#define REFUSE(tool, list, why) reject_options(tool, list, sizeof(list) / sizeof *(list), why)

/* What Pulscan does not do, or does in one way only. */
static void check_pulscan(const struct accel_options *o, const struct cli *tool)
{
    const struct given incompatible[] = {
        {"-zaplist", o->zaplist != NULL},
        {"-rlo", o->search.rlo >= 0},
        {"-rhi", o->search.rhi >= 0},
        {"-rednoise", o->search.rednoise},
        {"-csv", o->csv},
        {"-json", o->json},
    };
    REFUSE(tool, incompatible, "-compat pulscan: Pulscan has no");
    if (o->search.matched)
        cli_usage_error(tool, "-compat pulscan: Pulscan searches with boxes only");
    if (o->search.numharm > 4)
        cli_usage_error(tool, "-numharm: %lld is above Pulscan's 4", (long long)o->search.numharm);
}

/* accelsearch zaps what it has transformed itself, by levels of its own, and never goes to lobin. */
static void check_presto(const struct accel_options *o, const struct cli *tool)
{
    const struct given incompatible[] = {{"-zaplist", o->zaplist != NULL},
                                         {"-lobin", o->search.lobin > 0},
                                         {"-rednoise", o->search.rednoise},
                                         {"-csv", o->csv},
                                         {"-json", o->json},
                                         {"-fftout", o->search.keep_spectra}};
    REFUSE(tool, incompatible, "-compat presto: accelsearch's list is made without");
    if (!o->search.matched || o->search.boxes)
        cli_usage_error(tool, "-compat presto: accelsearch's list is that of -search matched");
    if (strcmp(o->search.device, "auto") != 0 && strcmp(o->search.device, "cpu") != 0)
        cli_usage_error(tool, "-device %s: accelsearch's list is made on the CPU only",
                        o->search.device);
}

/* Before what is not given gets its value. */
static void check_matched(const struct accel_options *o, const struct cli *tool)
{
    const struct given boxes[] = {{"-zstep", o->search.zstep > 0},
                                  {"-logz", o->search.logz},
                                  {"-chunkwidth", o->search.chunkwidth > 0},
                                  {"-normalizechunkwidth", o->search.normalizechunkwidth > 0},
                                  {"-rblock", o->search.rblock},
                                  {"-turbo", o->search.turbo > 0},
                                  {"-confirm", o->search.confirm}};
    if (!o->search.boxes)
        REFUSE(tool, boxes, "-search matched: only boxes have");
    if (o->search.rblock || o->search.turbo == 1 || o->search.turbo == 2)
        cli_usage_error(tool,
                        "-search both, -confirm: candidates of blocks have no place to compare");
    if (o->search.zmax > PSR_ACCELSEARCH_MAX_Z)
        cli_usage_error(tool, "-zmax: %lld is above the %d of a matched search",
                        (long long)o->search.zmax, PSR_ACCELSEARCH_MAX_Z);
    if (o->search.photon + o->median + o->search.locpow > 1)
        cli_usage_error(tool, "-photon, -median and -locpow exclude each other");
    if (!strcmp(o->search.device, "hybrid") && !o->search.boxes)
        cli_usage_error(tool, "-device hybrid: only boxes have that");
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
        cli_usage_error(tool, "no input given: name .fft, .dat or .sdat files");
    if (o->csv && o->json)
        cli_usage_error(tool, "-csv and -json exclude each other");
    if (o->root && (n > 1 || o->files) && !o->csv && !o->json)
        cli_usage_error(tool, "-o names the output of one file; use -outdir with several");
    if (o->search.confirm && o->search.pulscan)
        cli_usage_error(tool, "-compat pulscan: Pulscan has no -confirm");
    if (o->plot && (o->search.rblock || o->search.pulscan))
        cli_usage_error(tool, "-plot: candidates of blocks have no plane around them");
    if (o->plot && !gnuplot_has_suffix(o->plot))
        cli_usage_error(tool, "-plot: '%s' does not end in %s", o->plot, gnuplot_suffixes);
    if (o->root && o->outdir)
        cli_usage_error(tool, "-o and -outdir exclude each other");
    if (strcmp(o->significance, "exact") != 0 && strcmp(o->significance, "poly") != 0)
        cli_usage_error(tool, "-significance: '%s' is neither exact nor poly", o->significance);
    if (o->search.endwidth && o->search.endwidth < o->search.startwidth)
        cli_usage_error(tool, "-endwidth %lld is below -startwidth %lld",
                        (long long)o->search.endwidth, (long long)o->search.startwidth);
    if (o->search.fhi_hz < o->search.flo_hz)
        cli_usage_error(tool, "-fhi %g is below -flo %g", o->search.fhi_hz, o->search.flo_hz);
    if (o->search.rhi >= 0 && o->search.rhi < o->search.rlo)
        cli_usage_error(tool, "-rhi %g is below -rlo %g", o->search.rhi, o->search.rlo);
    if (o->search.lobin > 0 && !o->search.matched)
        cli_usage_error(tool, "-lobin: boxes search whole spectra, which begin at bin 0");
    check_numharm(o, tool);
    if (o->search.pulscan)
        check_pulscan(o, tool);
    if (o->search.presto)
        check_presto(o, tool);
}

/* The name that the program is run as, perhaps a link, selects its defaults. */
static bool is_run_as(const char *program, const char *name)
{
    const char *slash = strrchr(program, '/');
    return !strcmp(slash ? slash + 1 : program, name);
}

static void choose_search(struct accel_options *o, const struct cli *tool, const char *program)
{
    const bool presto = o->compat && !strcmp(o->compat, "presto");
    const bool pulscan = o->compat && !strcmp(o->compat, "pulscan");
    if (o->compat && !presto && !pulscan)
        cli_usage_error(tool, "-compat: '%s' is neither pulscan nor presto", o->compat);
    if (!o->search_name)
        o->search_name =
            presto || (!pulscan && is_run_as(program, "accelsearch")) ? "matched" : "boxes";
    o->search.boxes = !strcmp(o->search_name, "boxes") || !strcmp(o->search_name, "both");
    o->search.matched = !strcmp(o->search_name, "matched") || !strcmp(o->search_name, "both");
    if (!o->search.boxes && !o->search.matched)
        cli_usage_error(tool, "-search: '%s' is none of boxes, matched and both", o->search_name);
    if (o->search.confirm && o->search.boxes && o->search.matched)
        cli_usage_error(tool, "-confirm: -search both lists all that the matched search finds");
    o->search.matched |= o->search.confirm && !pulscan;
    o->search.presto = presto;
    o->search.pulscan = pulscan;
}

/* -turbo and -o - stand for other flags; Pulscan's list has other defaults. */
static void set_defaults(struct accel_options *o)
{
    const bool pulscan = o->search.pulscan;
    o->search.rblock |= o->search.turbo == 1 || o->search.turbo == 2;
    o->search.logz |= o->search.turbo == 3;
    if (o->root && !strcmp(o->root, "-") && !o->json && !pulscan)
        o->csv = true;
    o->search.zmax = o->search.zmax < 0 ? 200 : o->search.zmax;
    o->search.numharm = o->search.numharm < 0 ? (pulscan             ? 1
                                                 : o->search.matched ? 8
                                                                     : 4)
                                              : o->search.numharm;
    if (o->search.wmax > 0) /* as accelsearch */
        o->search.wmax = (o->search.wmax + 19) / 20 * 20;
    o->search.zstep = o->search.zstep && o->search.turbo != 2 ? o->search.zstep : 2;
    if (!pulscan)
        o->search.zmax += o->search.zmax % 2; /* as accelsearch */
    if (pulscan && o->search.turbo == 1 && o->search.zstep == 2)
        o->search.turbo = 2; /* as Pulscan takes it; the name of its list says so */
    if (pulscan && !o->search.chunkwidth)
        o->search.chunkwidth = 32768;
    if (pulscan && !o->search.normalizechunkwidth)
        o->search.normalizechunkwidth = 30 * o->search.zmax;
}

bool accel_has_table(const struct accel_options *o)
{
    return o->csv || o->json;
}

int accel_options_parse(struct accel_options *o, struct cli *tool, int argc, char **argv)
{
    *o = default_options();
    struct cli_table table;
    accel_fill_table(&table, o);
    *tool = (struct cli){
        .name = "gpuaccel-pulscan",
        .operands = "[OPTION]... FILE.fft|FILE.dat|FILE.sdat...",
        .summary = "Search Fourier spectra, or the series they are made of, for accelerated "
                   "pulsars, as Pulscan or as accelsearch does, and write what accelsearch writes.",
        .options = table.option,
        .noptions = table.n,
    };
    const char *program = argv[0];
    int n = cli_parse(tool, argc, argv);
    choose_search(o, tool, program);
    if (o->search.matched)
        check_matched(o, tool);
    set_defaults(o);
    check_combinations(o, tool, n, argv + 1);
    o->search.significance = strcmp(o->significance, "poly") ? PSR_PULSCAN_EXACT : PSR_PULSCAN_POLY;
    return n;
}
