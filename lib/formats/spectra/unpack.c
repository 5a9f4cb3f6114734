/* Unpacks and packs the samples of one spectrum, 1 to 32 bits each. */
#include "unpack.h"

#include "base/threads/isa.h"

#include <math.h>
#include <string.h>

bool psr_row_known(int nbit, enum psr_kind kind)
{
    switch (kind) {
    case PSR_UINT:
        return nbit >= 1 && nbit <= 32 && !(nbit & (nbit - 1));
    case PSR_INT:
        return nbit == 8 || nbit == 16;
    case PSR_FLOAT:
        return nbit == 32;
    }
    return false;
}

size_t psr_row_bytes(size_t nchan, int nbit)
{
    return (nchan * (size_t)nbit + 7) / 8;
}

static void unpack_bits(double *x, const uint8_t *row, size_t nchan, int nbit)
{
    unsigned mask = (1u << nbit) - 1;
    for (size_t c = 0; c < nchan; c++) {
        size_t bit = c * (size_t)nbit;
        x[c] = (double)((unsigned)row[bit / 8] >> bit % 8 & mask);
    }
}

#define COPY(OUT, TO, IN, FROM)                                                                    \
    for (size_t c = 0; c < nchan; c++)                                                             \
    ((OUT *)(TO))[c] = (OUT)((const IN *)(FROM))[c]

/* The formats of whole bytes: kind, bits, and the type that holds them. */
#define WHOLE_BYTES(DO)                                                                            \
    DO(PSR_UINT, 8, uint8_t)                                                                       \
    DO(PSR_UINT, 16, uint16_t)                                                                     \
    DO(PSR_UINT, 32, uint32_t)                                                                     \
    DO(PSR_INT, 8, int8_t)                                                                         \
    DO(PSR_INT, 16, int16_t)                                                                       \
    DO(PSR_FLOAT, 32, float)

/* A format as one number. */
#define FORMAT(KIND, NBIT) ((int)(KIND)*64 + (NBIT))

void psr_row_unpack(double *x, const void *row, size_t nchan, int nbit, enum psr_kind kind)
{
#define UNPACK(KIND, NBIT, TYPE)                                                                   \
    case FORMAT(KIND, NBIT):                                                                       \
        COPY(double, x, TYPE, row);                                                                \
        break;
    switch (FORMAT(kind, nbit)) {
        WHOLE_BYTES(UNPACK)
    default:
        unpack_bits(x, row, nchan, nbit);
    }
}

/* The nearest whole numbers within [least, most]; least for what is no number. */
PSR_CLONES static void row_fit(double *restrict fitted, const double *restrict x, size_t n,
                               double least, double most)
{
    for (size_t c = 0; c < n; c++) {
        const double nearest = floor(x[c] + 0.5), above = nearest > least ? nearest : least;
        fitted[c] = above < most ? above : most;
    }
}

static void pack_chunk(uint8_t *row, const double *x, size_t nchan, int nbit, enum psr_kind kind)
{
#define PACK(KIND, NBIT, TYPE)                                                                     \
    case FORMAT(KIND, NBIT):                                                                       \
        COPY(TYPE, row, double, x);                                                                \
        break;
    switch (FORMAT(kind, nbit)) {
        WHOLE_BYTES(PACK)
    default: {
        memset(row, 0, psr_row_bytes(nchan, nbit));
        for (size_t c = 0; c < nchan; c++) {
            size_t bit = c * (size_t)nbit;
            row[bit / 8] = (uint8_t)(row[bit / 8] | (unsigned)x[c] << bit % 8);
        }
    }
    }
}

void psr_row_pack(void *row, const double *x, size_t nchan, int nbit, enum psr_kind kind)
{
    enum { CHUNK = 64 }; /* a whole number of bytes at any depth */
    const double span = ldexp(1, nbit), least = kind == PSR_INT ? -span / 2 : 0;
    uint8_t *at = row;
    for (size_t first = 0; first < nchan; first += CHUNK) {
        double fitted[CHUNK];
        size_t n = nchan - first < CHUNK ? nchan - first : CHUNK;
        if (kind != PSR_FLOAT)
            row_fit(fitted, x + first, n, least, least + span - 1);
        pack_chunk(at + psr_row_bytes(first, nbit), kind == PSR_FLOAT ? x + first : fitted, n, nbit,
                   kind);
    }
}

/* The last byte may hold fewer fields than it has room for; its empty ones come first after the
 * bytes are reversed, and are shifted out. */
static void reverse_bits(uint8_t *row, size_t nchan, int nbit)
{
    size_t n = psr_row_bytes(nchan, nbit);
    for (size_t i = 0, j = n - 1; i <= j && j < n; i++, j--) {
        uint8_t front = row[i];
        row[i] = psr_byte_reverse(row[j], nbit);
        row[j] = psr_byte_reverse(front, nbit);
    }
    unsigned empty = (unsigned)(n * 8 - nchan * (size_t)nbit);
    for (size_t i = 0; empty && i < n; i++) {
        unsigned next = i + 1 < n ? row[i + 1] : 0;
        row[i] = (uint8_t)((row[i] | next << 8) >> empty);
    }
}

#define SWAP_ENDS(TYPE)                                                                            \
    for (size_t i = 0, j = nchan - 1; i < j; i++, j--) {                                           \
        TYPE front = ((TYPE *)row)[i];                                                             \
        ((TYPE *)row)[i] = ((TYPE *)row)[j];                                                       \
        ((TYPE *)row)[j] = front;                                                                  \
    }

void psr_row_reverse(void *row, size_t nchan, int nbit)
{
    switch (nbit) {
    case 8:
        SWAP_ENDS(uint8_t)
        break;
    case 16:
        SWAP_ENDS(uint16_t)
        break;
    case 32:
        SWAP_ENDS(uint32_t)
        break;
    default:
        reverse_bits(row, nchan, nbit);
    }
}

#define DEFINE_ADD(NAME, IN, OUT)                                                                  \
    static void NAME(void *out, const void *in, size_t nchan, int nif)                             \
    {                                                                                              \
        OUT *sum = out;                                                                            \
        COPY(OUT, sum, IN, in);                                                                    \
        for (int p = 1; p < nif; p++) {                                                            \
            const IN *x = (const IN *)in + (size_t)p * nchan;                                      \
            for (size_t c = 0; c < nchan; c++)                                                     \
                sum[c] = (OUT)(sum[c] + (OUT)x[c]);                                                \
        }                                                                                          \
    }

DEFINE_ADD(add_u8, uint8_t, uint16_t)
DEFINE_ADD(add_u16, uint16_t, uint32_t)
DEFINE_ADD(add_i8, int8_t, int16_t)
DEFINE_ADD(add_i16, int16_t, float)
DEFINE_ADD(add_float, float, float)

#define DEFINE_ADD_BITS(NAME, NBIT)                                                                \
    static void NAME(void *out, const void *in, size_t nchan, int nif)                             \
    {                                                                                              \
        uint8_t *sum = out;                                                                        \
        memset(sum, 0, nchan);                                                                     \
        for (int p = 0; p < nif; p++) {                                                            \
            const uint8_t *x = (const uint8_t *)in + (size_t)p * psr_row_bytes(nchan, NBIT);       \
            for (size_t c = 0; c < nchan; c++) {                                                   \
                unsigned v = (unsigned)x[c * NBIT / 8] >> c * NBIT % 8 & ((1u << NBIT) - 1);       \
                sum[c] = (uint8_t)(sum[c] + v);                                                    \
            }                                                                                      \
        }                                                                                          \
    }

DEFINE_ADD_BITS(add_u1, 1)
DEFINE_ADD_BITS(add_u2, 2)
DEFINE_ADD_BITS(add_u4, 4)

const struct psr_if_sum *psr_if_sum_find(int nbit, enum psr_kind kind)
{
    /* Sums of 16-bit signed samples are exact in a float, and no signed 32-bit format exists. */
    static const struct psr_if_sum rules[] = {
        {1, PSR_UINT, 8, PSR_UINT, add_u1},    {2, PSR_UINT, 8, PSR_UINT, add_u2},
        {4, PSR_UINT, 8, PSR_UINT, add_u4},    {8, PSR_UINT, 16, PSR_UINT, add_u8},
        {16, PSR_UINT, 32, PSR_UINT, add_u16}, {8, PSR_INT, 16, PSR_INT, add_i8},
        {16, PSR_INT, 32, PSR_FLOAT, add_i16}, {32, PSR_FLOAT, 32, PSR_FLOAT, add_float},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].nbit == nbit && rules[i].kind == kind)
            return rules + i;
    return NULL;
}
