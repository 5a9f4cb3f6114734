/* Quantises floats to samples of 1 to 16 bits. */
#include "fake_internal.h"

#include "base/threads/isa.h"

#include <math.h>
#include <string.h>

/* Full scale runs from -4 to 4. */
static const double range = 8, lowest = -4;

/* For one instruction set and one width of levels.  Adding 2^23 leaves a float's nearest whole
 * number in its low bits. */
#define DEFINE_LEVELS(LEVEL, SUFFIX, ISA)                                                          \
    ISA static void level_of_##LEVEL##_##SUFFIX(LEVEL *level, const float *x, size_t n,            \
                                                float scale, float offset, float top)              \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            float v = x[i] * scale + offset;                                                       \
            v = v > 0.0f ? v : 0.0f;                                                               \
            v = v < top ? v : top;                                                                 \
            v += 8388608.0f;                                                                       \
            uint32_t bits;                                                                         \
            memcpy(&bits, &v, sizeof bits);                                                        \
            level[i] = (LEVEL)bits;                                                                \
        }                                                                                          \
    }

DEFINE_LEVELS(uint8_t, base, )
DEFINE_LEVELS(uint16_t, base, )
#if defined __x86_64__
DEFINE_LEVELS(uint8_t, avx2, PSR_ISA_FOR_AVX2)
DEFINE_LEVELS(uint16_t, avx2, PSR_ISA_FOR_AVX2)
DEFINE_LEVELS(uint8_t, avx512, PSR_ISA_FOR_AVX512)
DEFINE_LEVELS(uint16_t, avx512, PSR_ISA_FOR_AVX512)
#endif

static void (*const to_bytes[PSR_NISA])(uint8_t *, const float *, size_t, float, float,
                                        float) = PSR_ISA_TABLE(level_of_uint8_t);
static void (*const to_words[PSR_NISA])(uint16_t *, const float *, size_t, float, float,
                                        float) = PSR_ISA_TABLE(level_of_uint16_t);

/* The first sample is in the low bits. */
static void pack_levels(uint8_t *out, const uint8_t *level, size_t n, int nbit)
{
    if (nbit == 4)
        for (size_t i = 0; i < n / 2; i++)
            out[i] = (uint8_t)(level[2 * i] | level[2 * i + 1] << 4);
    else if (nbit == 2)
        for (size_t i = 0; i < n / 4; i++) {
            const uint8_t *l = level + 4 * i;
            out[i] = (uint8_t)(l[0] | l[1] << 2 | l[2] << 4 | l[3] << 6);
        }
    else
        for (size_t i = 0; i < n / 8; i++) {
            const uint8_t *l = level + 8 * i;
            out[i] = (uint8_t)(l[0] | l[1] << 1 | l[2] << 2 | l[3] << 3 | l[4] << 4 | l[5] << 5 |
                               l[6] << 6 | l[7] << 7);
        }
}

void psr_quantise(void *out, const float *x, size_t n, int nbit, uint8_t *scratch)
{
    const float top = (float)((1 << nbit) - 1);
    const float scale = (float)((double)top / range), offset = (float)(-lowest * (double)scale);
    enum psr_isa isa = psr_isa_find();
    if (nbit == 16) {
        to_words[isa](out, x, n, scale, offset, top);
    } else if (nbit == 8) {
        to_bytes[isa](out, x, n, scale, offset, top);
    } else {
        to_bytes[isa](scratch, x, n, scale, offset, top);
        pack_levels(out, scratch, n, nbit);
    }
}

void psr_quantised_moments(int nbit, double x, double sigma, double *mean, double *variance)
{
    if (nbit == 32) {
        *mean = x;
        *variance = sigma * sigma;
        return;
    }
    /* Beyond 10 bits finer levels change nothing that matters here. */
    const int top = (1 << (nbit < 10 ? nbit : 10)) - 1;
    const double scale = top / range;
    double first = 0, second = 0; /* sums of P(level >= q) and of (2 q - 1) P(level >= q) */
    for (int q = 1; q <= top; q++) {
        double from = (q - 0.5) / scale + lowest - x;
        double above = sigma > 0 ? 0.5 * erfc(from / sigma / sqrt(2)) : from <= 0;
        first += above;
        second += (2 * q - 1) * above;
    }
    *mean = first / scale + lowest;
    *variance = (second - first * first) / (scale * scale);
}
