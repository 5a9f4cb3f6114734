/* noise_bits.h: Gaussian noise in samples of 1, 2, 4 and 8 bits, and shares of it that are said and found. */
#ifndef PSR_TESTS_NOISE_BITS_H
#define PSR_TESTS_NOISE_BITS_H

#include "tap.h"
#include <math.h>
#include <psrkit/signif.h>

enum { NOISE_TABLE = 1 << 16 };

static inline double two_tails(double sigma)
{
    return 2 * exp(psr_gauss_logp(sigma).ln_sf);
}

/* Equally probable samples of a Gaussian. */
static inline void fill_table(int nbit, unsigned char table[NOISE_TABLE])
{
    static const double mean[] = {[1] = 0.5, [2] = 1.5, [4] = 7.5, [8] = 100};
    static const double scatter[] = {[1] = 0.5, [2] = 0.9, [4] = 2.5, [8] = 20};
    const double most = (1 << nbit) - 1;
    for (int k = 0; k < NOISE_TABLE; k++) {
        const double z = psr_gauss_sigma(psr_logp_from_sf(log(1 - (k + 0.5) / NOISE_TABLE)));
        table[k] = (unsigned char)fmin(fmax(floor(mean[nbit] + scatter[nbit] * z + 0.5), 0), most);
    }
}

/* Samples drawn from a table, packed; n bytes. */
static inline void draw_noise(int nbit, const unsigned char table[NOISE_TABLE], unsigned char *out,
                              size_t n, uint64_t *seed)
{
    const int each = 8 / nbit;
    uint64_t random = 0;
    for (size_t k = 0; k < n; k++) {
        unsigned byte = 0;
        for (int b = 0; b < each; b++, random >>= 16) {
            if ((k * (size_t)each + (size_t)b) % 4 == 0)
                random = tap_random(seed);
            byte |= (unsigned)table[random & 0xffff] << b * nbit;
        }
        out[k] = (unsigned char)byte;
    }
}

/* Shares of noise that a test marks: between these. */
struct share {
    double least, most;
};

/* Within five times the scatter of so many. */
static inline void compare_share(int nbit, const char *what, double sigma, size_t got, double of,
                                 struct share say)
{
    const double least = say.least * of, most = say.most * of;
    ok((double)got <= most + 5 * sqrt(most) + 1 && (double)got >= least - 5 * sqrt(least),
       "%d bits, %-19s %3g: %6zu of %8.0f, %.3g; said: %.3g to %.3g", nbit, what, sigma, got, of,
       (double)got / of, say.least, say.most);
}

#endif
