/* Adds rows of packed samples to sums, and makes rows of sums. */
#include "edit_state.h"

#include "base/threads/isa.h"
#include "formats/spectra/unpack.h"

#include <string.h>

/* Function names are unique in the library: see PSR_CLONES. */
#define DEFINE_ADD(NAME, TYPE)                                                                     \
    PSR_CLONES static void edit_add_##NAME(int32_t *restrict sum, const TYPE *restrict x,          \
                                           size_t n)                                               \
    {                                                                                              \
        for (size_t c = 0; c < n; c++)                                                             \
            sum[c] += x[c];                                                                        \
    }                                                                                              \
    PSR_CLONES static void edit_fold_##NAME(int32_t *restrict sum, const TYPE *restrict x,         \
                                            size_t n, size_t fsum)                                 \
    {                                                                                              \
        for (size_t c = 0; c < n; c++) {                                                           \
            int32_t s = 0;                                                                         \
            for (size_t f = 0; f < fsum; f++)                                                      \
                s += x[c * fsum + f];                                                              \
            sum[c] += s;                                                                           \
        }                                                                                          \
    }                                                                                              \
    static void edit_take_##NAME(int32_t *sum, const void *x, size_t n, size_t fsum)               \
    {                                                                                              \
        if (fsum == 1)                                                                             \
            edit_add_##NAME(sum, x, n);                                                            \
        else                                                                                       \
            edit_fold_##NAME(sum, x, n, fsum);                                                     \
    }
DEFINE_ADD(u8, uint8_t)
DEFINE_ADD(i8, int8_t)
DEFINE_ADD(u16, uint16_t)
DEFINE_ADD(i16, int16_t)

#define DEFINE_UNPACK(NBIT)                                                                        \
    PSR_CLONES static void edit_unpack_##NBIT(uint8_t *restrict out, const uint8_t *restrict in,   \
                                              size_t n)                                            \
    {                                                                                              \
        for (size_t i = 0; i < n * NBIT / 8; i++)                                                  \
            for (unsigned k = 0; k < 8 / NBIT; k++)                                                \
                out[i * (8 / NBIT) + k] = (uint8_t)(in[i] >> k * NBIT & ((1u << NBIT) - 1));       \
    }
DEFINE_UNPACK(1)
DEFINE_UNPACK(2)
DEFINE_UNPACK(4)

const uint8_t *psr_edit_bytes(const uint8_t *row, const struct psr_edit_slice *s, int nbit,
                              uint8_t *scratch)
{
    const size_t n = s->n * s->fsum, whole = n - n % 8;
    const uint8_t *from = row + s->first * s->fsum * (size_t)nbit / 8;
    if (nbit == 8)
        return from;
    (nbit == 4 ? edit_unpack_4 : nbit == 2 ? edit_unpack_2 : edit_unpack_1)(scratch, from, whole);
    for (size_t c = whole; c < n; c++)
        scratch[c] =
            (uint8_t)(from[c * (size_t)nbit / 8] >> c * (size_t)nbit % 8 & ((1u << nbit) - 1));
    return scratch;
}

void psr_edit_add_whole(int32_t *sum, const uint8_t *row, const struct psr_edit_slice *s, int nbit,
                        enum psr_kind kind, uint8_t *scratch)
{
    const void *from =
        nbit == 16 ? row + s->first * s->fsum * 2 : psr_edit_bytes(row, s, nbit, scratch);
    if (nbit == 16)
        (kind == PSR_INT ? edit_take_i16 : edit_take_u16)(sum, from, s->n, s->fsum);
    else
        (kind == PSR_INT ? edit_take_i8 : edit_take_u8)(sum, from, s->n, s->fsum);
}

PSR_CLONES static void edit_step(uint8_t *restrict level, const uint8_t *restrict x,
                                 const uint8_t *restrict step, size_t n)
{
    for (size_t c = 0; c < n; c++)
        level[c] = (uint8_t)(level[c] + (x[c] > step[c]));
}

/* Three at a time: 2 and 4 bits have 3 and 15. */
PSR_CLONES static void edit_steps(uint8_t *restrict level, const uint8_t *restrict x,
                                  const uint8_t *restrict step, size_t stride, size_t n)
{
    const uint8_t *restrict second = step + stride, *restrict third = second + stride;
    for (size_t c = 0; c < n; c++)
        level[c] = (uint8_t)(level[c] + (x[c] > step[c]) + (x[c] > second[c]) + (x[c] > third[c]));
}

void psr_edit_climb(uint8_t *level, const uint8_t *x, const uint8_t *step, size_t nstep,
                    size_t stride, size_t n)
{
    memcpy(level, step, n);
    size_t k = 1;
    for (; k + 2 <= nstep; k += 3)
        edit_steps(level, x, step + k * stride, stride, n);
    for (; k <= nstep; k++)
        edit_step(level, x, step + k * stride, n);
}

void psr_edit_add_any(double *sum, const uint8_t *row, const struct psr_edit_slice *s, int nbit,
                      enum psr_kind kind, double *scratch)
{
    psr_row_unpack(scratch, row + s->first * s->fsum * (size_t)nbit / 8, s->n * s->fsum, nbit,
                   kind);
    for (size_t c = 0; c < s->n; c++)
        for (size_t f = 0; f < s->fsum; f++)
            sum[c] += scratch[c * s->fsum + f];
}

/* A half more than the numerator keeps quotients off whole numbers, where rounding could decide; the bias makes
 * them positive, where truncation is floor. */
PSR_CLONES static void edit_divide(int32_t *sum, size_t n, double half, double per, double bias)
{
    for (size_t c = 0; c < n; c++)
        sum[c] = (int32_t)(((double)sum[c] + half) * per + bias) - (int32_t)bias;
}

void psr_edit_mean_whole(int32_t *sum, size_t n, int64_t count)
{
    const double bias = 1 << 16;
    if (count > 1)
        edit_divide(sum, n, (double)(count / 2) + 0.5, 1 / (double)count, bias);
}

#define DEFINE_CONVERT(NAME, TO, FROM)                                                             \
    PSR_CLONES static void edit_##NAME(TO *restrict out, const FROM *restrict x, size_t n)         \
    {                                                                                              \
        for (size_t c = 0; c < n; c++)                                                             \
            out[c] = (TO)x[c];                                                                     \
    }
DEFINE_CONVERT(pack_u8, uint8_t, int32_t)
DEFINE_CONVERT(pack_u16, uint16_t, int32_t)
DEFINE_CONVERT(pack_floats, float, int32_t)
DEFINE_CONVERT(widen_u16, uint16_t, uint8_t)
DEFINE_CONVERT(widen_floats, float, uint8_t)

void psr_edit_widen(uint8_t *rows, const uint8_t *x, const struct psr_edit_slice *s, int nbit)
{
    uint8_t *to = rows + s->first * (size_t)nbit / 8;
    if (nbit == 32)
        edit_widen_floats((float *)to, x, s->n);
    else if (nbit == 16)
        edit_widen_u16((uint16_t *)to, x, s->n);
    else
        memcpy(to, x, s->n);
}

static void pack_bits(uint8_t *out, const int32_t *sum, size_t n, int nbit)
{
    memset(out, 0, psr_row_bytes(n, nbit));
    for (size_t c = 0; c < n; c++)
        out[c * (size_t)nbit / 8] |= (uint8_t)((unsigned)sum[c] << c * (size_t)nbit % 8);
}

/* Signed ones are in two's complement: the same bits. */
void psr_edit_pack_whole(uint8_t *rows, const int32_t *sum, const struct psr_edit_slice *s,
                         int nbit)
{
    uint8_t *to = rows + s->first * (size_t)nbit / 8;
    if (nbit == 32)
        edit_pack_floats((float *)to, sum, s->n);
    else if (nbit == 16)
        edit_pack_u16((uint16_t *)to, sum, s->n);
    else if (nbit == 8)
        edit_pack_u8(to, sum, s->n);
    else
        pack_bits(to, sum, s->n, nbit);
}

PSR_CLONES static void edit_scale_floats(float *restrict x, const int32_t *restrict sum,
                                         const float *restrict offset, const float *restrict gain,
                                         size_t n)
{
    for (size_t c = 0; c < n; c++)
        x[c] = ((float)sum[c] - offset[c]) * gain[c];
}

void psr_edit_to_scaled(float *x, const int32_t *sum, const float *offset, const float *gain,
                        size_t n)
{
    edit_scale_floats(x, sum, offset, gain, n);
}

void psr_edit_to_floats(float *x, const int32_t *sum, size_t n)
{
    edit_pack_floats(x, sum, n);
}
