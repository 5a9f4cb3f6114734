/* The options of a Fourier search: what their table cannot express. */
#include "fourier_options.h"

#include <stdlib.h>
#include <string.h>

/* --- the table of the options of a Fourier search --------------------------------------------- */

#define AT(member) CLI_AT(struct fourier_options, member)

static const struct cli_option input[] = {
    {"rednoise", CLI_FLAG, AT(search.rednoise), NULL, 0, 0,
     "Remove red noise from .dat and .fft files: the line between the ends of a series, and "
     "local medians as in realfft -rednoise (default: do not change the spectrum)."},
    {"startwidth", CLI_INT, AT(search.startwidth), "N", 2, 50,
     "Length of the first block of -rednoise, bins (default 6)."},
    {"endwidth", CLI_INT, AT(search.endwidth), "N", 50, PSR_FOURIER_ENDWIDTH,
     "Length of the last block of -rednoise, bins; reproduces realfft if given (default: 30 "
     "zmax, at least 100). For a .fft file without red noise, the length that was used to "
     "remove it (default 100)."},
    {"endfreq", CLI_DOUBLE, AT(search.endfreq_hz), "HZ", 0.1, 1e6,
     "Frequency from which the blocks of -rednoise have their last length (default 6 Hz)."},
    {"zaplist", CLI_TEXT, AT(zaplist), "FILE", 0, 0,
     "Ignore frequencies: PRESTO's .zaplist or .birds."},
    {"baryv", CLI_DOUBLE, AT(search.baryv), "V", -0.1, 0.1,
     "Velocity towards the source over c, for the topocentric lines of -zaplist (default 0; of "
     "series that gpudedisp searches, that of its barycentring)."},
};

static const struct cli_option search[] = {
    {"Search", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"search", CLI_TEXT, AT(name), "NAME", 0, 0,
     "boxes: fast, less sensitive; matched: the search of accelsearch; both: one list, with "
     "the boxes that matched has not found (default boxes; if run as accelsearch, matched)."},
    {"zmax", CLI_INT, AT(search.zmax), "N", 0, PSR_PULSCAN_MAX_Z - 1,
     "Largest drift in bins over the observation, rounded up to even (default 200); for "
     "matched, of the highest harmonic."},
    {"wmax", CLI_INT, AT(search.wmax), "N", 0, PSR_ACCELSEARCH_MAX_W,
     "Also search jerks up to N bins over the observation, rounded up to a multiple of 20 "
     "(default: none); ignored for boxes, which tolerate jerk."},
    {"numharm", CLI_INT, AT(search.numharm), "N", 1, 32,
     "Largest number of harmonics summed: 1, 2, 3 (boxes), 4, 8, 16 or 32; smaller sums are "
     "searched too (default 4; matched 8)."},
    {"sigma", CLI_DOUBLE, AT(search.sigma), "S", 1, 1000,
     "Sigma threshold of candidates (default 2)."},
    {"flo", CLI_DOUBLE, AT(search.flo_hz), "HZ", 0, 1e9,
     "Lowest frequency of the fundamental, or for matched of the highest harmonic summed "
     "(default 1 Hz)."},
    {"fhi", CLI_DOUBLE, AT(search.fhi_hz), "HZ", 0, 1e9,
     "Highest frequency, likewise (default 10000 Hz)."},
    {"rlo", CLI_DOUBLE, AT(search.rlo), "R", 0, 0x1p53, "Lowest bin, instead of -flo."},
    {"rhi", CLI_DOUBLE, AT(search.rhi), "R", 0, 0x1p53, "Highest bin, instead of -fhi."},
    {"lobin", CLI_DOUBLE, AT(search.lobin), "R", 0, 0x1p53,
     "For matched, search no bin below R (default 0)."},
    {"zstep", CLI_INT, AT(search.zstep), "N", 1, PSR_PULSCAN_MAX_Z,
     "Step between drifts (default 2)."},
    {"logz", CLI_FLAG, AT(search.logz), NULL, 0, 0, "Search only drifts 0, 1, 2, 4, 8 ..: faster."},
    {"chunkwidth", CLI_INT, AT(search.chunkwidth), "N", 1, 0x1p31,
     "Bins per block of -rblock and -compat, which keep the best box of each width (default "
     "4096; -compat: 32768)."},
    {"normalizechunkwidth", CLI_INT, AT(search.normalizechunkwidth), "N", 2, 0x1p31,
     "Bins per normalisation block (default: 30 zmax, at least 4096)."},
    {"rblock", CLI_FLAG, AT(search.rblock), NULL, 0, 0,
     "Keep one box per block and width, and report its block but not its position within it."},
    {"turbo", CLI_INT, AT(search.turbo), "N", 0, 3,
     "As in Pulscan: 1 is -rblock, 2 is -rblock -zstep 2, 3 is -logz."},
    {"significance", CLI_TEXT, AT(significance), "NAME", 0, 0,
     "exact (default), or poly: the polynomial of White et al."},
    {"noharmremove", CLI_FLAG, AT(search.noharmremove), NULL, 0, 0,
     "Keep candidates whose frequencies have small ratios."},
    {"confirm", CLI_FLAG, AT(search.confirm), NULL, 0, 0,
     "List only what the matched search finds within 15 bins of a box, as it lists it, with "
     "-wmax too; takes the time of both."},
    {"compat", CLI_TEXT, AT(compat), "NAME", 0, 0,
     "pulscan: reproduce Pulscan's list, ROOT_ZMAX_N_NUMHARM_N_TURBO_N.pulscand; presto: "
     "reproduce the list of accelsearch on one thread; both including their faults."},
    {"Matched search", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"median", CLI_FLAG, AT(median), NULL, 0, 0,
     "Normalise powers by the medians of blocks (the default)."},
    {"locpow", CLI_FLAG, AT(search.locpow), NULL, 0, 0,
     "Normalise by the mean of the 20 surrounding bins."},
    {"photon", CLI_FLAG, AT(search.photon), NULL, 0, 0, "Normalise by the sum of the series."},
    {"noharmpolish", CLI_FLAG, AT(search.noharmpolish), NULL, 0, 0,
     "Measure each harmonic of a candidate separately."},
    {"inmem", CLI_FLAG, AT(search.inmem), NULL, 0, 0,
     "With -compat presto: as accelsearch -inmem; otherwise ignored."},
    {"otheropt", CLI_FLAG, AT(otheropt), NULL, 0, 0, "Ignored: it has no effect in accelsearch."},
};

void fourier_options_add_input(struct cli_table *list, struct fourier_options *o)
{
    CLI_FILL(list, input, o);
}

void fourier_options_add_search(struct cli_table *list, struct fourier_options *o)
{
    CLI_FILL(list, search, o);
}

/* --- the options of a Fourier search: what their table cannot express ------------------------- */

void fourier_options_init(struct fourier_options *o)
{
    *o = (struct fourier_options){.significance = "exact"};
    psr_fourier_defaults(&o->search);
    o->search.zmax = o->search.numharm = -1; /* known once it is known which search it is for */
}

/* --- checks ----------------------------------------------------------------------------------- */

static void check_numharm(const struct fourier_options *o, const struct cli *tool)
{
    const struct psr_fourier_desc *d = &o->search;
    static const int64_t known[] = {1, 2, 4, 8, 16, 32};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (d->numharm == known[i])
            return;
    if (d->numharm != 3)
        cli_usage_error(tool, "-numharm: %lld is none of 1, 2, 3, 4, 8, 16 and 32",
                        (long long)d->numharm);
    if (d->matched)
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
static void check_pulscan(const struct fourier_options *o, const struct cli *tool)
{
    const struct psr_fourier_desc *d = &o->search;
    const struct given incompatible[] = {
        {"-zaplist", o->zaplist != NULL},
        {"-rlo", d->rlo >= 0},
        {"-rhi", d->rhi >= 0},
        {"-rednoise", d->rednoise},
    };
    REFUSE(tool, incompatible, "-compat pulscan: Pulscan has no");
    if (d->matched)
        cli_usage_error(tool, "-compat pulscan: Pulscan searches with boxes only");
    if (d->numharm > 4)
        cli_usage_error(tool, "-numharm: %lld is above Pulscan's 4", (long long)d->numharm);
}

/* accelsearch never goes to lobin. */
static void check_presto(const struct fourier_options *o, const struct cli *tool)
{
    const struct psr_fourier_desc *d = &o->search;
    const struct given incompatible[] = {
        {"-lobin", d->lobin > 0}, {"-rednoise", d->rednoise}, {"-fftout", d->keep_spectra}};
    REFUSE(tool, incompatible, "-compat presto: accelsearch's list is made without");
    if (!d->matched || d->boxes)
        cli_usage_error(tool, "-compat presto: accelsearch's list is that of -search matched");
    if (strcmp(d->device, "auto") != 0 && strcmp(d->device, "cpu") != 0)
        cli_usage_error(tool, "-device %s: accelsearch's list is made on the CPU only", d->device);
}

/* Before what is not given gets its value. */
static void check_matched(const struct fourier_options *o, const struct cli *tool)
{
    const struct psr_fourier_desc *d = &o->search;
    const struct given boxes[] = {{"-zstep", d->zstep > 0},
                                  {"-logz", d->logz},
                                  {"-chunkwidth", d->chunkwidth > 0},
                                  {"-normalizechunkwidth", d->normalizechunkwidth > 0},
                                  {"-rblock", d->rblock},
                                  {"-turbo", d->turbo > 0},
                                  {"-confirm", d->confirm}};
    if (!d->boxes)
        REFUSE(tool, boxes, "-search matched: only boxes have");
    if (d->rblock || d->turbo == 1 || d->turbo == 2)
        cli_usage_error(tool,
                        "-search both, -confirm: candidates of blocks have no place to compare");
    if (d->zmax > PSR_ACCELSEARCH_MAX_Z)
        cli_usage_error(tool, "-zmax: %lld is above the %d of a matched search", (long long)d->zmax,
                        PSR_ACCELSEARCH_MAX_Z);
    if (d->photon + o->median + d->locpow > 1)
        cli_usage_error(tool, "-photon, -median and -locpow exclude each other");
    if (!strcmp(d->device, "hybrid") && !d->boxes)
        cli_usage_error(tool, "-device hybrid: only boxes have that");
}

/* -turbo stands for other flags; Pulscan's list has other defaults. */
static void set_defaults(struct fourier_options *o)
{
    struct psr_fourier_desc *d = &o->search;
    const bool pulscan = d->pulscan;
    d->rblock |= d->turbo == 1 || d->turbo == 2;
    d->logz |= d->turbo == 3;
    d->zmax = d->zmax < 0 ? 200 : d->zmax;
    d->numharm = d->numharm < 0 ? (pulscan ? 1 : d->matched ? 8 : 4) : d->numharm;
    if (d->wmax > 0) /* as accelsearch */
        d->wmax = (d->wmax + 19) / 20 * 20;
    d->zstep = d->zstep && d->turbo != 2 ? d->zstep : 2;
    if (!pulscan)
        d->zmax += d->zmax % 2; /* as accelsearch */
    if (pulscan && d->turbo == 1 && d->zstep == 2)
        d->turbo = 2; /* as Pulscan takes it; the name of its list says so */
    if (pulscan && !d->chunkwidth)
        d->chunkwidth = 32768;
    if (pulscan && !d->normalizechunkwidth)
        d->normalizechunkwidth = 30 * d->zmax;
}

static void check_values(const struct fourier_options *o, const struct cli *tool)
{
    const struct psr_fourier_desc *d = &o->search;
    if (d->confirm && d->pulscan)
        cli_usage_error(tool, "-compat pulscan: Pulscan has no -confirm");
    if (strcmp(o->significance, "exact") != 0 && strcmp(o->significance, "poly") != 0)
        cli_usage_error(tool, "-significance: '%s' is neither exact nor poly", o->significance);
    if (d->endwidth && d->endwidth < d->startwidth)
        cli_usage_error(tool, "-endwidth %lld is below -startwidth %lld", (long long)d->endwidth,
                        (long long)d->startwidth);
    if (d->fhi_hz < d->flo_hz)
        cli_usage_error(tool, "-fhi %g is below -flo %g", d->fhi_hz, d->flo_hz);
    if (d->rhi >= 0 && d->rhi < d->rlo)
        cli_usage_error(tool, "-rhi %g is below -rlo %g", d->rhi, d->rlo);
    if (d->lobin > 0 && !d->matched)
        cli_usage_error(tool, "-lobin: boxes search whole spectra, which begin at bin 0");
}

void fourier_options_complete(struct fourier_options *o, const struct cli *tool, bool matched)
{
    struct psr_fourier_desc *d = &o->search;
    const bool presto = o->compat && !strcmp(o->compat, "presto");
    const bool pulscan = o->compat && !strcmp(o->compat, "pulscan");
    if (o->compat && !presto && !pulscan)
        cli_usage_error(tool, "-compat: '%s' is neither pulscan nor presto", o->compat);
    if (!o->name)
        o->name = presto || (!pulscan && matched) ? "matched" : "boxes";
    d->boxes = !strcmp(o->name, "boxes") || !strcmp(o->name, "both");
    d->matched = !strcmp(o->name, "matched") || !strcmp(o->name, "both");
    if (!d->boxes && !d->matched)
        cli_usage_error(tool, "-search: '%s' is none of boxes, matched and both", o->name);
    if (d->confirm && d->boxes && d->matched)
        cli_usage_error(tool, "-confirm: -search both lists all that the matched search finds");
    d->matched |= d->confirm && !pulscan;
    d->presto = presto;
    d->pulscan = pulscan;
    if (o->search.matched)
        check_matched(o, tool);
    set_defaults(o);
    check_values(o, tool);
    check_numharm(o, tool);
    if (o->search.pulscan)
        check_pulscan(o, tool);
    if (o->search.presto)
        check_presto(o, tool);
    o->search.significance = strcmp(o->significance, "poly") ? PSR_PULSCAN_EXACT : PSR_PULSCAN_POLY;
}

/* --- from one text ---------------------------------------------------------------------------- */

void fourier_options_parse(struct fourier_options *o, const struct cli *tool, const char *option,
                           const char *text)
{
    struct cli_table table = {.n = 0};
    fourier_options_init(o);
    cli_add_heading(&table, "Input");
    fourier_options_add_input(&table, o);
    fourier_options_add_search(&table, o);
    struct cli inner = {.summary = "Search series as gpuaccel-pulscan does.",
                        .options = table.option,
                        .noptions = table.n};
    o->words = cli_parse_words(&inner, tool, option, text);
    fourier_options_complete(o, &inner, true);
}

void fourier_options_clear(struct fourier_options *o)
{
    free(o->words);
    o->words = NULL;
}

/* --- the fast folding search --------------------------------------------------------------------- */

void ffa_options_init(struct ffa_options *o)
{
    *o = (struct ffa_options){.rmed_s = -1};
    psr_ffasearch_defaults(&o->search);
}

void ffa_options_add(struct cli_table *list, struct ffa_options *o)
{
    const struct cli_option options[] = {
        {"Search", CLI_HEADING, NULL, NULL, 0, 0, NULL},
        {"pmin", CLI_DOUBLE, &o->search.pmin_s, "SEC", 1e-6, 1e6,
         "Shortest period, seconds (default 0.2, or what has 240 samples)."},
        {"pmax", CLI_DOUBLE, &o->search.pmax_s, "SEC", 1e-6, 1e6,
         "Longest period, seconds (default 120, but at most a tenth of the series; what is given "
         "is "
         "searched up to a quarter)."},
        {"bmin", CLI_INT, &o->search.bmin, "N", 8, PSR_FFA_MAX_BINS,
         "Fewest bins of a profile, at all periods (default: 240 to 0.5 s, 480 to 2 s, 960 from "
         "there on; less where samples are too long)."},
        {"bmax", CLI_INT, &o->search.bmax, "N", 9, PSR_FFA_MAX_BINS,
         "Most bins of a profile, with -bmin (default: a twelfth more than -bmin)."},
        {"ducymax", CLI_DOUBLE, &o->search.ducymax, "SHARE", 1e-3, 0.5,
         "Widest pulse, of a period (default 0.3)."},
        {"sigma", CLI_DOUBLE, &o->search.sigma, "SNR", 1, 1e6,
         "Least S/N of a candidate (default: noise reaches it in one of ten series of this "
         "length)."},
        {"rmed", CLI_DOUBLE, &o->rmed_s, "SEC", 0, 1e6,
         "Subtract the running median of so many seconds (default: of two periods or more; 0: "
         "none)."},
        {"zaplist", CLI_TEXT, &o->zaplist, "FILE", 0, 0,
         "Leave out periods whose harmonics are at the frequencies of this .zaplist or .birds "
         "file."},
        {"baryv", CLI_DOUBLE, &o->search.baryv, "V", -0.1, 0.1,
         "Mean velocity of the telescope towards the source over c, for -zaplist and barycentred "
         "series (default 0)."},
    };
    CLI_ADD(list, options);
}

void ffa_options_complete(struct ffa_options *o, const struct cli *tool)
{
    struct psr_ffasearch_desc *d = &o->search;
    if (d->bmax && !d->bmin)
        cli_usage_error(tool, "-bmax needs -bmin");
    if (d->bmax && d->bmax <= d->bmin)
        cli_usage_error(tool, "-bmax = %lld must be above -bmin, %lld", (long long)d->bmax,
                        (long long)d->bmin);
    if (d->pmax_s > 0 && d->pmax_s <= d->pmin_s)
        cli_usage_error(tool, "-pmax = %g s must be above -pmin, %g s", d->pmax_s, d->pmin_s);
    d->rmed_s = o->rmed_s < 0 ? 0 : o->rmed_s > 0 ? o->rmed_s : -1;
}

void ffa_options_parse(struct ffa_options *o, const struct cli *tool, const char *option,
                       const char *text)
{
    struct cli_table table = {.n = 0};
    ffa_options_init(o);
    ffa_options_add(&table, o);
    struct cli inner = {
        .summary = "Search series as gpuffa does.", .options = table.option, .noptions = table.n};
    o->words = cli_parse_words(&inner, tool, option, text);
    ffa_options_complete(o, &inner);
}

void ffa_options_clear(struct ffa_options *o)
{
    free(o->words);
    o->words = NULL;
}
