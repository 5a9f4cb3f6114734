/* rfi_fft, rfi_moments, rfi_periodic: the inner loops of each instruction set against plain
 * sums, and their bits against each other. */
#include "rfi/statistics/rfi_statistics.h"

#include "tests/support/tap.h"
#include <psrkit/experimental/clean.h>
#include <string.h>

static const int isas[] = {PSR_ISA_BASE, PSR_ISA_AVX2, PSR_ISA_AVX512};

/* Instruction sets that this processor has. */
static int count_isas(void)
{
    return (int)psr_isa_find() + 1;
}

static void draw_normals(float *x, size_t n, uint64_t *seed)
{
    for (size_t k = 0; k < n; k++)
        x[k] = (float)tap_normal(seed);
}

/* --- passes of the transform ------------------------------------------------------------------ */

static size_t compare_pass(int radix, size_t m, size_t s, uint64_t *seed)
{
    const size_t n = m * (size_t)radix * s, ntwiddle = 2 * ((size_t)radix - 1) * m;
    float *x = tap_take(2 * n, sizeof *x), *first = tap_take(2 * n, sizeof *first);
    float *y = tap_take(2 * n, sizeof *y);
    struct psr_rfi_pass pass = {radix, m, s, tap_take(ntwiddle, sizeof *pass.twiddle)};
    size_t differ = 0;
    draw_normals(x, 2 * n, seed);
    draw_normals(pass.twiddle, ntwiddle, seed);
    for (int k = 0; k < count_isas(); k++) {
        float *to = k ? y : first;
        psr_rfi_pass_choose((enum psr_isa)isas[k], radix, s)(&pass, x, x + n, to, to + n);
        differ += k && memcmp(first, y, 2 * n * sizeof *y) != 0;
    }
    free(x);
    free(first);
    free(y);
    free(pass.twiddle);
    return differ;
}

static void test_passes(uint64_t *seed)
{
    size_t differ =
        compare_pass(8, 16, 1, seed) + compare_pass(8, 17, 1, seed) + compare_pass(8, 900, 1, seed);
    for (int radix = 2; radix <= 10; radix++)
        for (size_t s = 8; s <= 48; s += 8)
            differ += compare_pass(radix, (size_t)tap_between(seed, 1, 20), s, seed);
    ok(differ == 0, "%d instruction sets transform with the same bits (%zu differ)", count_isas(),
       differ);
    ok(!psr_rfi_pass_choose(PSR_ISA_BASE, 11, 8) && !psr_rfi_pass_choose(PSR_ISA_BASE, 1, 8) &&
           !psr_rfi_pass_choose(PSR_ISA_BASE, 4, 1),
       "there are no passes of other radices");
}

/* --- bytes ------------------------------------------------------------------------------------ */

static bool sums_are_plain(const uint8_t *pair, size_t n, enum psr_isa isa)
{
    int64_t got[2][4] = {{0}}, want[2][4] = {{0}};
    for (size_t k = 0; k < 2 * n; k++) {
        int64_t d = (int64_t)pair[k] - PSR_RFI_BYTES_ORIGIN, power = 1;
        for (int j = 0; j < 4; j++)
            want[k % 2][j] += power *= d;
    }
    psr_rfi_bytes_choose(isa)->add_powers(pair, n, got);
    return memcmp(got, want, sizeof got) == 0;
}

/* Noise, all values, and the ones whose sums are largest. */
static void test_sums(uint64_t *seed)
{
    static const size_t lengths[] = {0, 32, 64, 480, 15360, 15392, 40000};
    size_t wrong = 0;
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
        for (int kind = 0; kind < 4; kind++) {
            const size_t n = lengths[l] / PSR_RFI_BYTES_STEP * PSR_RFI_BYTES_STEP;
            uint8_t *pair = tap_take(2 * n + 1, 1);
            for (size_t k = 0; k < 2 * n; k++)
                pair[k] = kind == 0   ? (uint8_t)tap_random(seed)
                          : kind == 1 ? (uint8_t)(127 + 20 * tap_normal(seed))
                          : kind == 2 ? 0
                                      : 255;
            for (int i = 0; i < count_isas(); i++)
                wrong += !sums_are_plain(pair, n, (enum psr_isa)isas[i]);
            free(pair);
        }
    ok(wrong == 0, "sums of powers are exact (%zu are not)", wrong);
}

static void test_scaling(uint64_t *seed)
{
    enum { N = 1001 };
    const float mean[2] = {100.25F, 3.5F}, factor[2] = {0.125F, 0.007F};
    uint8_t pair[2 * N];
    float z[2][N];
    size_t wrong = 0;
    for (size_t k = 0; k < 2 * N; k++)
        pair[k] = (uint8_t)tap_random(seed);
    for (int i = 0; i < count_isas(); i++) {
        psr_rfi_bytes_choose((enum psr_isa)isas[i])->scale(pair, N, mean, factor, z[0], z[1]);
        for (size_t t = 0; t < N; t++)
            for (size_t c = 0; c < 2; c++)
                wrong += z[c][t] != ((float)pair[2 * t + c] - mean[c]) * factor[c];
    }
    ok(wrong == 0, "samples are scaled (%zu are not)", wrong);
}

/* --- powers ----------------------------------------------------------------------------------- */

struct room {
    struct psr_rfi_power_room of[2];
};

static void take_room(struct room *r, size_t nbin)
{
    for (int c = 0; c < 2; c++)
        r->of[c] = (struct psr_rfi_power_room){tap_take(nbin, sizeof(float)),
                                               tap_take(nbin, sizeof(float)),
                                               tap_take(2 * nbin, sizeof(uint32_t))};
}

static void free_room(struct room *r)
{
    for (int c = 0; c < 2; c++) {
        free(r->of[c].whole);
        free(r->of[c].half);
        free(r->of[c].seed);
    }
}

/* Amplitude of channel c at bin k; 0 after the last one. */
static void find_amplitude(const float *z, size_t n, size_t k, int c, double amplitude[2])
{
    const size_t back = k ? n - k : 0;
    const double re = (double)z[k], im = (double)z[n + k];
    const double re_back = (double)z[back], im_back = (double)z[n + back];
    amplitude[0] = c ? im + im_back : re + re_back;
    amplitude[1] = c ? re - re_back : im - im_back;
    if (k > n / 2)
        amplitude[0] = amplitude[1] = 0;
}

static double worst_power(const float *z, size_t n, int c, const struct psr_rfi_powers *x)
{
    double worst = 0, largest = 0;
    for (size_t k = 0; k < x->nbin; k++) {
        double a[2], b[2];
        find_amplitude(z, n, k, c, a);
        find_amplitude(z, n, k + 1, c, b);
        const double whole = a[0] * a[0] + a[1] * a[1];
        const double half =
            ((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1])) * 4 / (M_PI * M_PI);
        worst = fmax(worst, fabs((double)x->whole[k] - whole) / (1 + whole));
        worst = fmax(worst, fabs((double)x->half[k] - half) / (1 + half));
        if (k >= PSR_RFI_LOBIN)
            largest = fmax(largest, (double)x->whole[k]);
    }
    return fmax(worst, fabs((double)x->largest - largest));
}

/* Whether the list is of just the powers above the seed, each once. */
static bool has_seeds(const struct psr_rfi_powers *x, float seed)
{
    unsigned char *listed = tap_take(2 * x->nbin, 1);
    bool good = true;
    for (size_t k = 0; k < x->nseed && good; k++) {
        good = x->seed[k] < 2 * x->nbin && !listed[x->seed[k]];
        listed[good ? x->seed[k] : 0] = 1;
    }
    for (size_t j = 0; j < 2 * x->nbin && good; j++)
        good = listed[j] == ((j % 2 ? x->half : x->whole)[j / 2] > seed);
    free(listed);
    return good;
}

static bool same_bits(const struct psr_rfi_powers *a, const struct psr_rfi_powers *b)
{
    return !memcmp(a->whole, b->whole, a->nbin * sizeof *a->whole) &&
           !memcmp(a->half, b->half, a->nbin * sizeof *a->half) && a->largest == b->largest &&
           a->nseed == b->nseed;
}

static void test_powers(uint64_t *seed)
{
    size_t differ = 0, unlisted = 0;
    double worst = 0;
    for (int times = 0; times < 60; times++) {
        const size_t n = (size_t)tap_between(seed, 20, times < 40 ? 120 : 5000);
        struct room room[2];
        struct psr_rfi_powers x[2][2];
        float *z = tap_take(2 * n, sizeof *z);
        draw_normals(z, 2 * n, seed);
        for (int i = 0; i < 2; i++)
            take_room(&room[i], n / 2 + 1);
        for (int i = 0; i < count_isas(); i++) {
            psr_rfi_powers_find((enum psr_isa)isas[i], z, n, n / 2 + 1, 5, room[!!i].of, x[!!i]);
            for (int c = 0; c < 2; c++) {
                worst = fmax(worst, worst_power(z, n, c, &x[!!i][c]));
                unlisted += !has_seeds(&x[!!i][c], 5);
                differ += i && !same_bits(&x[0][c], &x[1][c]);
            }
        }
        free_room(&room[0]);
        free_room(&room[1]);
        free(z);
    }
    ok(worst < 1e-5, "powers are those of sums and differences (%.1e off)", worst);
    ok(unlisted == 0, "those above the seed are listed (%zu lists are not so)", unlisted);
    ok(differ == 0, "with the same bits by each instruction set (%zu differ)", differ);
}

int main(void)
{
    uint64_t seed = tap_seed();
    test_passes(&seed);
    test_sums(&seed);
    test_scaling(&seed);
    test_powers(&seed);
    return done_testing();
}
