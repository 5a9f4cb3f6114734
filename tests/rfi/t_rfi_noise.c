/* Whether the tests of gpurfifind mark noise of 1, 2, 4 and 8 bits as often as its manual says, each by
 * itself and at several thresholds.
 *   t_rfi_noise [OBSERVATIONS]   of 128 channels, 128 intervals of 480 spectra; of each depth */
#include "rfi/rules/clean_internal.h"
#include "tests/support/noise_bits.h"
#include <psrkit/experimental/clean.h>
#include <psrkit/obs.h>
#include <string.h>

enum { CHANS = 128, INTS = 128, N = 480, CELLS = CHANS * INTS, SPECTRA = INTS * N };
enum { NDEPTH = 4, NSETTING = 3, NRUN = 3 };

static const int depth[NDEPTH] = {1, 2, 4, 8};
static psr_err err;

/* Standard deviation of the middle 80 % of a Gaussian. */
static const double MIDDLE = 0.6616;

/* --- what is said ----------------------------------------------------------------------------- */

/* A cell deviates from the median of its channel or from that of its interval. */
static struct share say_time(int nbit, double sigma)
{
    const double q = two_tails(MIDDLE * sigma);
    (void)nbit;
    return (struct share){q, 2.2 * q};
}

/* Of bits the standard deviation says no more than the mean. */
static struct share say_sd(int nbit, double sigma)
{
    return nbit > 1 ? say_time(nbit, sigma) : (struct share){0, 0};
}

/* Powers are in units of the cell's own variance, which limits them: rarer in short intervals. */
static struct share say_power(int nbit, double sigma)
{
    const double q = two_tails(sigma) / 2;
    (void)nbit;
    return (struct share){0.6 * q, 1.1 * q};
}

static struct share say_iqrm(int nbit, double sigma)
{
    (void)nbit;
    return (struct share){0, sigma < 5 ? 1 : 1e-3};
}

/* The median over the intervals, with which cells are compared, scatters itself. */
static double compared(double sigma)
{
    return two_tails(sigma / sqrt(1 + M_PI / 2 / INTS));
}

static struct share say_sk(int nbit, double sigma)
{
    (void)nbit;
    return (struct share){compared(sigma) / 2, compared(sigma)};
}

/* Bits have neither. */
static struct share say_shape(int nbit, double sigma)
{
    return (struct share){0, nbit > 1 ? compared(sigma) : 0};
}

struct test {
    const char *option;
    size_t field;   /* of the threshold in struct psr_rfi_rules */
    unsigned flag;  /* in flags */
    unsigned found; /* or in found */
    double sigma[NSETTING];
    struct share (*say)(int nbit, double sigma);
};

#define FIELD(name) offsetof(struct psr_rfi_rules, name)

static const struct test tests[] = {
    {"-timesig, mean", FIELD(time_sigma), PSR_RFI_BAD_MEAN, 0, {4, 5, 6}, say_time},
    {"-timesig, deviation", FIELD(time_sigma), PSR_RFI_BAD_SD, 0, {4, 5, 6}, say_sd},
    {"-freqsig", FIELD(freq_sigma), PSR_RFI_BAD_POWER, 0, {2, 3, 4}, say_power},
    {"-iqrm", FIELD(iqrm_sigma), 0, PSR_RFI_FOUND_LEVEL, {3, 4, 5}, say_iqrm},
    {"-sk", FIELD(sk_sigma), 0, PSR_RFI_FOUND_SK, {2, 3, 4}, say_sk},
    {"-skew", FIELD(skewness_sigma), 0, PSR_RFI_FOUND_SKEWNESS, {2, 3, 4}, say_shape},
    {"-kurt", FIELD(kurtosis_sigma), 0, PSR_RFI_FOUND_KURTOSIS, {2, 3, 4}, say_shape},
};
enum { NTEST = sizeof tests / sizeof *tests };

/* Runs of an observation: with different thresholds of what is searched while it is read. */
static const double burst[NRUN] = {3.5, 4, 4.5}, line[NRUN] = {1, 1.5, 2}, clip[NRUN] = {0, 0, 3};

struct counts {
    size_t cell[NTEST][NSETTING], burst[NRUN], line[NRUN], run[NRUN], clipped;
};

/* --- an observation --------------------------------------------------------------------------- */

static void count_cells(const struct psr_rfi_stats *stats, struct counts *n)
{
    static unsigned char flags[CELLS], found[CELLS];
    for (int t = 0; t < NTEST; t++)
        for (int s = 0; s < NSETTING; s++) {
            struct psr_rfi_rules rules = {
                .time_sigma = 1e6, .freq_sigma = 30, .chan_frac = 1, .int_frac = 1};
            struct psr_mask mask;
            memcpy((char *)&rules + tests[t].field, &tests[t].sigma[s], sizeof(double));
            memset(flags, 0, sizeof flags);
            if (psr_rfi_mask(&mask, flags, found, stats, &rules, &err) != PSR_OK)
                n->cell[t][s] += CELLS;
            for (size_t k = 0; k < CELLS; k++)
                n->cell[t][s] +=
                    (flags[k] & tests[t].flag) != 0 || (found[k] & tests[t].found) != 0;
            psr_mask_clear(&mask);
        }
}

static bool observe(int nbit, const unsigned char table[NOISE_TABLE], int run, struct counts *n,
                    uint64_t *seed)
{
    static unsigned char in[N * CHANS];
    psr_rfifind *p;
    struct psr_rfi_stats stats = {0};
    struct psr_rfi_list list = {0};
    struct psr_rfi_lines lines = {0};
    const struct psr_rfifind_desc desc = {.size = sizeof desc,
                                          .nchan = CHANS,
                                          .nbit = nbit,
                                          .kind = PSR_UINT,
                                          .tsamp_s = 256e-6,
                                          .block = N,
                                          .ptsperint = N,
                                          .clip_sigma = clip[run],
                                          .freq_sigma = 4,
                                          .nthread = 1,
                                          .cells = true,
                                          .burst_sigma = burst[run],
                                          .line_sigma = line[run]};
    psr_status st = psr_rfifind_create(&p, &desc, &err);
    for (int i = 0; i < INTS && !st; i++) {
        draw_noise(nbit, table, in, (size_t)N * CHANS * (size_t)nbit / 8, seed);
        st = psr_rfifind_execute(p, in, N, NULL, 0, &err);
    }
    if (!st)
        st = psr_rfifind_finish(p, &stats, &list, &err);
    if (!st)
        st = psr_rfifind_lines(p, &lines, &err);
    for (size_t i = 0; i < INTS && !st; i++)
        n->burst[run] += (size_t)lround((double)stats.burst[i] * N);
    n->line[run] += lines.n > 0;
    n->run[run]++;
    n->clipped += clip[run] > 0 ? (size_t)psr_rfifind_clipped(p) : 0;
    if (!st && !(clip[run] > 0))
        count_cells(&stats, n);
    psr_rfifind_destroy(p);
    psr_rfi_stats_clear(&stats);
    psr_rfi_list_clear(&list);
    psr_rfi_lines_clear(&lines);
    return st == PSR_OK;
}

/* --- compared --------------------------------------------------------------------------------- */

static void test_depth(int nbit, int nobs, uint64_t *seed)
{
    static unsigned char table[NOISE_TABLE];
    struct counts n = {0};
    bool good = true;
    fill_table(nbit, table);
    for (int k = 0; k < nobs && good; k++)
        good = observe(nbit, table, k % NRUN, &n, seed);
    ok(good, "%d observations of %d bits", nobs, nbit);
    const double cells = (double)(n.run[0] + n.run[1]) * CELLS;
    for (int t = 0; t < NTEST; t++)
        for (int s = 0; s < NSETTING; s++)
            compare_share(nbit, tests[t].option, tests[t].sigma[s], n.cell[t][s], cells,
                          tests[t].say(nbit, tests[t].sigma[s]));
    for (int r = 0; r < NRUN; r++) {
        const double q = two_tails(burst[r]), l = two_tails(line[r]) / 2;
        /* The scatter is that of few spectra: windows of 4096 mark less. */
        compare_share(nbit, "-bursts, spectra", burst[r], n.burst[r], (double)n.run[r] * SPECTRA,
                      (struct share){q, 3 * q});
        compare_share(nbit, "-lines", line[r], n.line[r], (double)n.run[r],
                      (struct share){l / 2, l});
    }
    compare_share(nbit, "-clip, spectra", clip[2], n.clipped, (double)n.run[2] * SPECTRA,
                  (struct share){0.8 * two_tails(clip[2]), 1.2 * two_tails(clip[2])});
}

int main(int argc, char **argv)
{
    uint64_t seed = tap_seed();
    const int nobs = argc > 1 ? (int)strtol(argv[1], NULL, 10) : NRUN;
    for (int k = 0; k < NDEPTH; k++)
        test_depth(depth[k], nobs, &seed);
    return done_testing();
}
