/* rfi_iqrm: channels out of line with their neighbours, against the plain statement, and in noise. */
#include "rfi/detectors/rfi_detectors.h"

#include "rfi/rules/clean_internal.h"
#include "tests/support/tap.h"
#include <psrkit/experimental/clean.h>
#include <string.h>

enum { CHANS = 300 };

static psr_err err;

static int lags(int nchan, int *lag)
{
    int n = 0;
    for (int k = 1; k <= nchan / 10; k = k < 4 ? k + 1 : k + k / 2) {
        lag[n++] = k;
        lag[n++] = -k;
    }
    return n;
}

/* All votes in a table: votes[c][v], v against c. */
static void plain(const float *x, int nchan, double sigma, unsigned char *bad)
{
    static unsigned char votes[CHANS][CHANS];
    int lag[64], n = lags(nchan, lag), cast[CHANS] = {0}, received[CHANS] = {0};
    memset(votes, 0, sizeof votes);
    memset(bad, 0, (size_t)nchan);
    for (int k = 0; k < n; k++) {
        float d[CHANS];
        int m = 0;
        for (int c = 0; c < nchan; c++)
            if (c - lag[k] >= 0 && c - lag[k] < nchan)
                d[m++] = x[c] - x[c - lag[k]];
        tap_sort_floats(d, (size_t)m);
        float spread = d[3 * m / 4] - d[m / 4];
        for (int c = 0; c < nchan && spread > 0; c++) {
            int v = c - lag[k];
            if (v >= 0 && v < nchan &&
                x[c] - x[v] > d[m / 2] + (float)sigma * (float)((double)spread / 1.3489795))
                votes[c][v] = 1;
        }
    }
    for (int c = 0; c < nchan; c++)
        for (int v = 0; v < nchan; v++) {
            received[c] += votes[c][v];
            cast[v] += votes[c][v];
        }
    for (int c = 0; c < nchan; c++)
        for (int v = 0; v < nchan; v++)
            bad[c] |= votes[c][v] && cast[v] < received[c];
}

static void test_random(uint64_t *seed)
{
    int wrong = 0, found = 0;
    for (int k = 0; k < 300; k++) {
        int nchan = (int)tap_between(seed, 1, CHANS);
        double sigma = 1 + 4 * tap_uniform(seed);
        float x[CHANS];
        unsigned char want[CHANS], got[CHANS];
        psr_rfi_iqrm *p;
        for (int c = 0; c < nchan; c++) {
            x[c] = (float)(10 + 0.01 * c + tap_normal(seed) + (tap_between(seed, 0, 19) ? 0 : 8));
            x[c] = k % 3 ? x[c] : roundf(x[c]);
        }
        plain(x, nchan, sigma, want);
        if (psr_rfi_iqrm_create(&p, (size_t)nchan, sigma, &err) != PSR_OK)
            continue;
        psr_rfi_iqrm_find(p, x, got);
        psr_rfi_iqrm_destroy(p);
        wrong += memcmp(got, want, (size_t)nchan) != 0;
        for (int c = 0; c < nchan; c++)
            found += got[c];
    }
    ok(wrong == 0, "the votes are those of the plain statement (%d are not)", wrong);
    ok(found > 0, "and there are some (%d)", found);
}

/* Noise of some depth, in some unit, through the whole: how many of its cells are masked.  bias moves the mean of each
 * 20th channel. */
static int count_noise(int nbit, double unit, double bias, size_t nchan, size_t nint,
                       uint64_t *seed)
{
    enum { N = 480 };
    static const double mean[] = {[1] = 0.5, [2] = 1.5, [4] = 7.5, [8] = 100};
    static const double scatter[] = {[1] = 0.5, [2] = 0.9, [4] = 2.5, [8] = 20};
    struct psr_rfi_stats stats = {
        .nchan = nchan, .nint = nint, .ptsperint = N, .lobin = 5, .numbetween = 2};
    stats.power = tap_take(nchan * nint, sizeof(float));
    stats.mean = tap_take(nchan * nint, sizeof(float));
    stats.sd = tap_take(nchan * nint, sizeof(float));
    unsigned char *flags = tap_take(nchan * nint, 1);
    struct psr_mask mask;
    int bad = 0, most = (1 << nbit) - 1;
    for (size_t k = 0; k < nchan * nint; k++) {
        double sum = 0, squares = 0;
        const double moved = k % nchan % 20 ? 0 : bias;
        for (int t = 0; t < N; t++) {
            double x = floor(mean[nbit] + moved + scatter[nbit] * tap_normal(seed) + 0.5);
            x = x < 0 ? 0 : x > most ? most : x;
            sum += x;
            squares += x * x;
        }
        stats.mean[k] = (float)(unit * sum / N);
        stats.sd[k] = (float)(unit * sqrt((squares - sum * sum / N) / (N - 1)));
    }
    const struct psr_rfi_rules rules = {
        .time_sigma = 1000, .freq_sigma = 4, .chan_frac = 1, .int_frac = 1, .iqrm_sigma = 5};
    if (psr_rfi_mask(&mask, flags, NULL, &stats, &rules, &err) != PSR_OK)
        bad = 1 << 20;
    for (size_t k = 0; k < nchan * nint; k++)
        bad += (flags[k] & PSR_RFI_BAD_FOUND) != 0;
    psr_mask_clear(&mask);
    psr_rfi_stats_clear(&stats);
    free(flags);
    return bad;
}

/* As many as 1e-5 and 1e-3 of the cells allow: one, or 5 and three times their scatter. */
static void test_noise(uint64_t *seed)
{
    const int step = 8 / tap_cases(1, 4);
    for (int nbit = 1; nbit <= 8; nbit *= step) {
        int wide = count_noise(nbit, 1, 0, 1024, 40, seed),
            narrow = count_noise(nbit, 1, 0, 64, 80, seed);
        ok(wide <= 3, "noise of %d bits and 1024 channels has few false alarms (%d of 40960 cells)",
           nbit, wide);
        ok(narrow <= 12, "and of 64 channels (%d of 5120 cells)", narrow);
    }
}

/* Bits whose means differ are known as bits, and masked alike, in any unit. */
static void test_units(uint64_t *seed)
{
    static const double units[] = {1, 1e-9, 1e9, 0.3};
    const int step = 8 / tap_cases(1, 4);
    for (int nbit = 1; nbit <= 8; nbit *= step) {
        int n[4];
        const uint64_t from = tap_random(seed);
        for (int k = 0; k < 4; k++) {
            uint64_t same = from;
            n[k] = count_noise(nbit, units[k], 0.3, 256, 40, &same);
        }
        ok(n[1] == n[0] && n[2] == n[0] && n[3] == n[0],
           "%d bits in units of 1, 1e-9, 1e9 and 0.3: %d, %d, %d and %d cells", nbit, n[0], n[1],
           n[2], n[3]);
    }
}

static void test_empty(void)
{
    psr_rfi_iqrm *p;
    float x[64] = {0};
    unsigned char bad[64];
    psr_status st = psr_rfi_iqrm_create(&p, 64, 5, &err);
    if (st == PSR_OK)
        psr_rfi_iqrm_find(p, x, bad);
    ok(st == PSR_OK && !memchr(bad, 1, sizeof bad), "where all are equal none stands out");
    psr_rfi_iqrm_destroy(p);
    psr_rfi_iqrm_destroy(NULL);
}

int main(void)
{
    uint64_t seed = tap_seed();
    test_random(&seed);
    test_noise(&seed);
    test_units(&seed);
    test_empty();
    return done_testing();
}
