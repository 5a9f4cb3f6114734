/* rfi_shapes: cells unlike others of their channel: false alarms in noise of several depths, and
 * interference found. */
#include "rfi/detectors/rfi_detectors.h"
#include "rfi/statistics/rfi_statistics.h"

#include "tests/support/rfi_block_moments.h"
#include "tests/support/tap.h"
#include <psrkit/signif.h>
#include <string.h>

enum { CHANS = 256, INTS = 48, CELLS = CHANS * INTS, N = 2400, TABLE = 1 << 16 };

static const unsigned flags[3] = {PSR_RFI_FOUND_SK, PSR_RFI_FOUND_SKEWNESS, PSR_RFI_FOUND_KURTOSIS};
static const char *const names[3] = {"spectral kurtosis", "skewness", "kurtosis"};

static psr_err err;

/* Quantised noise of one channel: the value for each 16 random bits. */
static void fill_table(unsigned char *table, int nbit, double mean, double sd)
{
    const double most = (1 << nbit) - 1;
    for (int k = 0; k < TABLE; k++) {
        const double p = (k + 0.5) / TABLE;
        const double z = p < 0.5 ? psr_gauss_sigma(psr_logp_from_sf(log(p)))
                                 : -psr_gauss_sigma(psr_logp_from_sf(log1p(-p)));
        const double x = floor(mean + sd * z + 0.5);
        table[k] = (unsigned char)(x < 0 ? 0 : x > most ? most : x);
    }
}

/* Sums of ten powers, as bytes: far from a Gaussian. */
static void fill_power_table(unsigned char *table, double mean)
{
    for (int k = 0; k < TABLE; k++) {
        const double chi2 = psr_chi2_threshold(psr_logp_from_sf(log((k + 0.5) / TABLE)), 20);
        const double x = floor(mean * chi2 / 20 + 0.5);
        table[k] = (unsigned char)(x > 255 ? 255 : x);
    }
}

static void sample(const unsigned char *table, uint64_t *seed, unsigned char *x)
{
    for (int t = 0; t < N; t += 4) {
        uint64_t r = tap_random(seed);
        for (int k = 0; k < 4; k++, r >>= 16)
            x[t + k] = table[r & (TABLE - 1)];
    }
}

static struct psr_rfi_cell measure(const unsigned char *x)
{
    const struct psr_layout layout = {1, 8, PSR_UINT, 1};
    struct psr_rfi_moments m = {0};
    if (find_block_moments(&layout, x, N, NULL, &m, &err) != PSR_OK)
        diag("%s", err.msg);
    return psr_rfi_cell_from_moments(&m);
}

/* Noise; channels differ in level and scatter. */
static struct psr_rfi_cell *make_noise(int nbit, bool powers, uint64_t *seed)
{
    static const double mean[] = {[1] = 0.4, [2] = 1.5, [4] = 7, [8] = 100};
    static const double sd[] = {[1] = 0.5, [2] = 0.9, [4] = 2.2, [8] = 18};
    static unsigned char table[TABLE], x[N];
    struct psr_rfi_cell *cell = tap_take(CELLS, sizeof *cell);
    for (size_t c = 0; c < CHANS; c++) {
        const double gain = 1 + 0.2 * tap_uniform(seed);
        if (c % 16)
            ; /* as the channel before */
        else if (powers)
            fill_power_table(table, 60 * gain);
        else
            fill_table(table, nbit, mean[nbit] * gain, sd[nbit] * gain);
        for (size_t i = 0; i < INTS; i++) {
            sample(table, seed, x);
            cell[i * CHANS + c] = measure(x);
        }
    }
    return cell;
}

static int count(const unsigned char *found, unsigned flag)
{
    int n = 0;
    for (size_t k = 0; k < CELLS; k++)
        n += (found[k] & flag) != 0;
    return n;
}

static void test_noise(int nbit, bool powers, uint64_t *seed)
{
    static unsigned char found[CELLS];
    const double sigma = 3.2, want = CELLS * 2 * exp(psr_gauss_logp(sigma).ln_sf); /* 17 */
    const double most = powers ? 3 * want : want;
    const struct psr_rfi_shape_rules rules = {sigma, sigma, sigma};
    struct psr_rfi_cell *cell = make_noise(nbit, powers, seed);
    memset(found, 0, sizeof found);
    psr_status st = psr_rfi_test_shapes(cell, INTS, CHANS, &rules, found, &err);
    for (int k = 0; k < 3; k++) {
        const int got = count(found, flags[k]);
        ok(st == PSR_OK && got <= most + 5 * sqrt(most),
           "%d bits%s: %s marks %d cells, %.0f expected of a Gaussian", nbit,
           powers ? " of powers" : "", names[k], got, want);
        if (k == 0)
            ok(got >= want / 2 - 3 * sqrt(want / 2), "and not too few");
    }
    memset(found, 0, sizeof found);
    st =
        psr_rfi_test_shapes(cell, INTS, CHANS, &(struct psr_rfi_shape_rules){6, 6, 6}, found, &err);
    ok(st == PSR_OK && count(found, 0xff) <= 1, "and none at 6 sigma (%d)", count(found, 0xff));
    free(cell);
}

/* Interference in a tenth of a channel's intervals: short pulses, a tone, a slow rise. */
static void test_found(uint64_t *seed)
{
    static unsigned char table[TABLE], x[N], found[CELLS];
    struct psr_rfi_cell *cell = make_noise(8, false, seed);
    fill_table(table, 8, 100, 18);
    for (size_t i = 0; i < INTS; i++)
        for (size_t c = 10; c <= 40; c += 15) {
            sample(table, seed, x);
            for (int t = 0; t < N && i % 10 == 3; t++) {
                const double extra = c == 10   ? (t % 100 < 3 ? 80 : 0)
                                     : c == 25 ? 55 * cos(0.05 * t)
                                               : 70.0 * (t % 1000 > 900);
                x[t] = (unsigned char)fmin(fmax(x[t] + extra, 0), 255);
            }
            cell[i * CHANS + c] = measure(x);
        }
    memset(found, 0, sizeof found);
    psr_status st =
        psr_rfi_test_shapes(cell, INTS, CHANS, &(struct psr_rfi_shape_rules){5, 5, 5}, found, &err);
    unsigned all[3] = {0xff, 0xff, 0xff}, others = 0;
    for (size_t k = 0; k < CELLS; k++) {
        const size_t i = k / CHANS, c = k % CHANS;
        if (i % 10 == 3 && c >= 10 && c <= 40 && (c - 10) % 15 == 0)
            all[(c - 10) / 15] &= found[k];
        else
            others += found[k] != 0;
    }
    ok(st == PSR_OK && all[0] & PSR_RFI_FOUND_SK && all[0] & PSR_RFI_FOUND_KURTOSIS,
       "pulses are found by spectral kurtosis and kurtosis");
    ok((all[1] & PSR_RFI_FOUND_SK) && (all[1] & PSR_RFI_FOUND_KURTOSIS), "and a tone by both (%#x)",
       all[1]);
    ok((all[2] & PSR_RFI_FOUND_SKEWNESS) != 0, "bursts by skewness");
    ok(others <= 1, "and nothing else (%u)", others);
    free(cell);
}

/* Too little for a median; nothing at all; each test alone. */
static void test_edges(uint64_t *seed)
{
    static unsigned char found[CELLS];
    struct psr_rfi_cell *cell = make_noise(8, false, seed);
    int bad = 0;
    for (size_t nint = 0; nint < 6; nint++) {
        memset(found, 0, sizeof found);
        bad += psr_rfi_test_shapes(cell, nint, CHANS, &(struct psr_rfi_shape_rules){6, 6, 6}, found,
                                   &err) != PSR_OK;
        bad += count(found, 0xff);
    }
    ok(bad == 0, "few intervals are no interference (%d)", bad);
    memset(cell, 0, CELLS * sizeof *cell);
    psr_status st =
        psr_rfi_test_shapes(cell, INTS, CHANS, &(struct psr_rfi_shape_rules){1, 1, 1}, found, &err);
    ok(st == PSR_OK && count(found, 0xff) == 0, "nor are cells without data");
    free(cell);
    for (int k = 0; k < 3; k++) {
        cell = make_noise(8, false, seed);
        cell[5 * CHANS + 7] = (struct psr_rfi_cell){N, 100, 3000, 4, 9};
        memset(found, 0, sizeof found);
        st = psr_rfi_test_shapes(
            cell, INTS, CHANS,
            &(struct psr_rfi_shape_rules){k == 0 ? 7 : 0, k == 1 ? 7 : 0, k == 2 ? 7 : 0}, found,
            &err);
        ok(st == PSR_OK && found[5 * CHANS + 7] == flags[k] && count(found, 0xff) == 1,
           "%s alone marks the cell", names[k]);
        free(cell);
    }
}

int main(void)
{
    uint64_t seed = tap_seed();
    for (int nbit = 1; nbit <= 8; nbit *= 2)
        test_noise(nbit, false, &seed);
    test_noise(8, true, &seed);
    test_found(&seed);
    test_edges(&seed);
    return done_testing();
}
