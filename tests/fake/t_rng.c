/* Random numbers: the published values, sameness however they are drawn, and their statistics. */
#include <psrkit/fake.h>

#include "fake/fake_internal.h"
#include "tests/support/tap.h"
#include <string.h>

enum { NMANY = 1 << 20 };

/* Known answers of the Random123 distribution for a key and counter of zeros, and for a key of ones
 * and a stream through rounds that differ; the first was published with the paper. */
static void test_known(void)
{
    static const uint32_t want[4] = {0x9c6ca96a, 0xe17eae66, 0xfc10ecd4, 0x5256a7d8};
    uint32_t w[64];
    bool same = true;
    psr_rng_words(0, 0, 0, 64, w);
    for (int k = 0; k < 4; k++)
        same = same && w[16 * k] == want[k];
    ok(same, "Threefry4x32-20 of zeros is as published");
}

/* Threefry once more, one word at a time. */
static void threefry(uint32_t *x, const uint32_t *key, uint64_t block)
{
    static const int r[8][2] = {{10, 26}, {11, 21}, {13, 27}, {23, 5},
                                {6, 20},  {17, 11}, {25, 10}, {18, 20}};
    uint32_t k[5] = {key[0], key[1], key[2], key[3],
                     0x1BD11BDA ^ key[0] ^ key[1] ^ key[2] ^ key[3]};
    uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), 0, 0};
    for (int i = 0; i < 4; i++)
        x[i] = counter[i] + k[i];
    for (int round = 0; round < 20; round++) {
        int b = round % 2 ? 3 : 1, d = 4 - b;
        const int *turn = r[round % 8];
        x[0] += x[b];
        x[b] = (x[b] << turn[0] | x[b] >> (32 - turn[0])) ^ x[0];
        x[2] += x[d];
        x[d] = (x[d] << turn[1] | x[d] >> (32 - turn[1])) ^ x[2];
        if (round % 4 == 3) {
            uint32_t s = (uint32_t)round / 4 + 1;
            for (uint32_t i = 0; i < 4; i++)
                x[i] += k[(s + i) % 5];
            x[3] += s;
        }
    }
}

/* A deviate in double precision, and the radius of its pair. */
static double reference_normal(uint64_t seed, uint32_t stream, uint64_t n, double *radius)
{
    uint32_t x[4], key[4] = {(uint32_t)seed, (uint32_t)(seed >> 32), stream, 0};
    threefry(x, key, 16 * (n / 64) + n % 16);
    int word = (int)(n / 16 % 4), pair = word & 2;
    double r = sqrt(-2 * log((x[pair] / 2 + 0.5) / 0x1p31));
    double angle = 2 * 3.14159265358979323846 * x[pair + 1] / 0x1p32;
    *radius = r;
    return word & 1 ? r * sin(angle) : r * cos(angle);
}

static void test_reference(uint64_t *state)
{
    double worst = 0;
    bool same = true;
    for (int trial = 0; trial < 200; trial++) {
        uint64_t seed = tap_random(state), first = tap_random(state) >> (trial % 50);
        uint32_t stream = (uint32_t)tap_random(state), w[100];
        float x[100];
        size_t n = (size_t)tap_between(state, 1, 100);
        first &= UINT64_MAX >> 1;
        psr_rng_normal(seed, stream, first, n, x);
        psr_rng_words(seed, stream, first, n, w);
        for (size_t i = 0; i < n; i++) {
            uint64_t at = first + i;
            uint32_t y[4], key[4] = {(uint32_t)seed, (uint32_t)(seed >> 32), stream, 0};
            threefry(y, key, 16 * (at / 64) + at % 16);
            same = same && w[i] == y[at / 16 % 4];
            double radius, want = reference_normal(seed, stream, at, &radius);
            worst = fmax(worst, fabs((double)x[i] - want) / (1 + 0.1 / radius));
        }
    }
    ok(same, "words are those of Threefry at random places");
    ok(worst < 1e-6, "deviates equal those in double precision (%.1e)", worst);
}

static double correlate(const float *x, int delay)
{
    double sum = 0;
    for (int i = 0; i + delay < NMANY; i++)
        sum += (double)x[i] * (double)x[i + delay];
    return sum / sqrt(NMANY - delay);
}

static void test_normals(uint64_t seed)
{
    static const int delays[] = {1, 2, 15, 16, 17, 32, 48, 64, 128, 1000, 1024};
    float *x = malloc(NMANY * sizeof *x);
    double moment[5] = {0}, worst = 0, distance = 0;
    psr_rng_normal(seed, 0, 0, NMANY, x);
    for (int i = 0; i < NMANY; i++)
        for (int k = 1; k < 5; k++)
            moment[k] += pow((double)x[i], k) / NMANY;
    ok(fabs(moment[1]) < 4 / sqrt(NMANY), "mean %.2g", moment[1]);
    ok(fabs(moment[2] - 1) < 4 * sqrt(2.0 / NMANY), "variance less 1: %.2g", moment[2] - 1);
    ok(fabs(moment[3]) < 4 * sqrt(15.0 / NMANY), "third moment %.2g", moment[3]);
    ok(fabs(moment[4] - 3) < 4 * sqrt(96.0 / NMANY), "fourth moment less 3: %.2g", moment[4] - 3);
    for (size_t k = 0; k < sizeof delays / sizeof *delays; k++)
        worst = fmax(worst, fabs(correlate(x, delays[k])));
    ok(worst < 4.5, "neighbours are independent: largest of 11 correlations %.1f sigma", worst);
    tap_sort_floats(x, NMANY);
    for (int i = 0; i < NMANY; i++) {
        double below = 0.5 * erfc(-(double)x[i] / sqrt(2));
        distance = fmax(distance, fmax(below - (double)i / NMANY, (i + 1.0) / NMANY - below));
    }
    distance *= sqrt(NMANY);
    ok(distance < 2.2, "Kolmogorov-Smirnov distance %.2f of %d deviates", distance, NMANY);
    free(x);
}

/* Squares of pairs, neighbours in the same block or beyond: chi-square on a 16 x 16 grid. */
static void test_pairs(uint64_t seed)
{
    enum { SIDE = 16 };
    static int count[SIDE * SIDE];
    uint32_t *w = malloc(NMANY * sizeof *w);
    double worst = 0;
    psr_rng_words(seed, 7, 0, NMANY, w);
    for (int delay = 1; delay <= 64; delay *= 2) {
        double chi2 = 0;
        memset(count, 0, sizeof count);
        for (int i = 0; i + delay < NMANY; i++)
            count[(w[i] >> 28) * SIDE + (w[i + delay] >> 28)]++;
        double want = (double)(NMANY - delay) / (SIDE * SIDE);
        for (int b = 0; b < SIDE * SIDE; b++)
            chi2 += (count[b] - want) * (count[b] - want) / want;
        worst = fmax(worst, fabs(chi2 - 255) / sqrt(2 * 255.0));
    }
    ok(worst < 4.5, "pairs fill the plane evenly: chi-square off by %.1f sigma at worst", worst);
    free(w);
}

static void test_uniform(uint64_t seed)
{
    double sum = 0, low = 1, high = 0;
    for (uint64_t i = 0; i < 10000; i++) {
        double u = psr_rng_uniform(seed, 3, i);
        sum += u;
        low = fmin(low, u);
        high = fmax(high, u);
    }
    ok(low >= 0 && low < 1e-3 && high < 1 && high > 0.999, "uniform numbers lie in [0, 1)");
    ok(fabs(sum / 10000 - 0.5) < 4 * sqrt(1 / 12.0 / 10000), "their mean is 1/2");
    ok(psr_rng_uniform(seed, 3, 5) != psr_rng_uniform(seed, 4, 5) &&
           psr_rng_uniform(seed, 3, 5) != psr_rng_uniform(seed + 1, 3, 5),
       "streams and seeds differ");
}

int main(void)
{
    uint64_t seed = tap_seed(), state = seed;
    test_known();
    test_reference(&state);
    test_normals(seed);
    test_pairs(seed);
    test_uniform(seed);
    return done_testing();
}
