/* Sums spectra and channels, and changes the type of samples. */
#include "edit_state.h"

#include "base/threads/isa.h"
#include "dsp/dsp.h"
#include "formats/spectra/unpack.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- adds rows of packed samples to sums, and makes rows of sums ------------------------------ */

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

/* A row of integers of up to 8 bits as bytes: [n fsum] of the slice, in scratch or in the row. */
static const uint8_t *edit_bytes(const uint8_t *row, const struct psr_edit_slice *s, int nbit,
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

/* Adds a row of integers of up to 16 bits.
 * Given:  sum   [n] of the slice
 *         scratch   [n fsum] bytes */
static void edit_add_whole(int32_t *sum, const uint8_t *row, const struct psr_edit_slice *s,
                           int nbit, enum psr_kind kind, uint8_t *scratch)
{
    const void *from =
        nbit == 16 ? row + s->first * s->fsum * 2 : edit_bytes(row, s, nbit, scratch);
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

/* Finds levels by the steps up to them: exact, and without a product for each sample.
 * Given:    x      [n]
 *           step   [1 + nstep][stride] the level of 0, and the number that must be exceeded for each level above it
 * Returned: level  [n] */
static void edit_climb(uint8_t *level, const uint8_t *x, const uint8_t *step, size_t nstep,
                       size_t stride, size_t n)
{
    memcpy(level, step, n);
    size_t k = 1;
    for (; k + 2 <= nstep; k += 3)
        edit_steps(level, x, step + k * stride, stride, n);
    for (; k <= nstep; k++)
        edit_step(level, x, step + k * stride, n);
}

/* Adds a row of any kind.
 * Given:  scratch   [n fsum] */
static void edit_add_any(double *sum, const uint8_t *row, const struct psr_edit_slice *s, int nbit,
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

/* Rounds sum / count to the nearest, halves up, in place: |sum| < 2^31. */
static void edit_mean_whole(int32_t *sum, size_t n, int64_t count)
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

/* Writes bytes as samples of nbit bits, 8 to 32: what sums of one sample are. */
static void edit_widen(uint8_t *rows, const uint8_t *x, const struct psr_edit_slice *s, int nbit)
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
static void edit_pack_whole(uint8_t *rows, const int32_t *sum, const struct psr_edit_slice *s,
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

/* The same, (sum - offset) gain. */
static void edit_to_scaled(float *x, const int32_t *sum, const float *offset, const float *gain,
                           size_t n)
{
    edit_scale_floats(x, sum, offset, gain, n);
}

static void edit_to_floats(float *x, const int32_t *sum, size_t n)
{
    edit_pack_floats(x, sum, n);
}

/* --- sums spectra and channels, and changes the type of samples ------------------------------- */

enum {
    HELD_BYTES = 1 << 26, /* of floats to measure levels on */
    SLICE = 1024,         /* channels that a thread takes, a multiple of 64 */
    FLAT_FSUM = 8,
    DIGITS = 1 << 14,   /* values that a thread digitises, a multiple of 64 */
    MIN_WORK = 1 << 21, /* samples for which threads are started */
};

struct psr_edit_values {
    struct psr_own own;
    struct psr_edit_values_desc d;
    enum psr_edit_rule rule;
    size_t nchan, nslice; /* of the output */
    int nbit, like_nbit;  /* of the output, and of the integers that the input was */
    enum psr_kind kind, like_kind;
    bool whole;     /* sums are of 32 bits; otherwise doubles */
    int32_t *sum;   /* [nchan] of the spectra that fill no sum yet */
    double *any;    /* [nchan] */
    int64_t filled; /* how many these are */
    void *scratch;  /* [nslice] of the samples that make a slice */
    size_t scratch_bytes;
    uint8_t *out;       /* [room] rows */
    float *x;           /* [room][nchan] values that become levels */
    bool *good;         /* [room] */
    size_t room, nheld; /* rows; those of x that wait for the scale */
    psr_rescale *scale;
    float gain, shift;
    float *
        stands; /* [2][nchan] scale and offset of what levels stand for; NULL before they are known */
    uint8_t
        *step; /* [levels][nchan] of bytes that become fewer bits, for edit_climb; NULL: no such */
};

/* --- rules ------------------------------------------------------------------------------------ */

static void choose_rule(psr_edit_values *v)
{
    const struct psr_edit_values_desc *d = &v->d;
    const bool is_signed = v->like_kind == PSR_INT;
    const double count = (double)(d->tsum * d->fsum),
                 largest = ldexp(1, is_signed ? v->like_nbit - 1 : v->like_nbit) - !is_signed;
    const double exact = 0x1p24, most = v->nbit == 32 ? exact : ldexp(1, v->nbit) - 1;
    if (v->like_kind == PSR_FLOAT)
        v->rule = v->nbit == 32 ? PSR_EDIT_SUMS : PSR_EDIT_LEVELS;
    else if (v->kind == PSR_UINT && is_signed)
        v->rule = PSR_EDIT_LEVELS;
    else if (v->kind == PSR_INT)
        v->rule = count > 1 ? PSR_EDIT_MEANS : PSR_EDIT_SUMS;
    else if (largest * count <= most)
        v->rule = PSR_EDIT_SUMS;
    else
        v->rule = largest <= most || v->nbit == 32 ? PSR_EDIT_MEANS : PSR_EDIT_LEVELS;
    v->whole = d->kind != PSR_FLOAT && d->nbit <= 16 && largest * count < 0x1p30;
}

static void choose_type(psr_edit_values *v)
{
    const struct psr_edit_values_desc *d = &v->d;
    const int nbit = v->like_nbit = d->like_nbit ? d->like_nbit : d->nbit;
    const enum psr_kind kind = v->like_kind = d->like_nbit ? d->like_kind : d->kind;
    const bool writable =
        kind == PSR_FLOAT || (kind == PSR_UINT && nbit <= 16) || (kind == PSR_INT && nbit == 8);
    v->nbit = d->nbits ? (int)d->nbits : writable ? nbit : 32;
    v->kind = v->nbit == 32 ? PSR_FLOAT : kind == PSR_INT && v->nbit == nbit ? PSR_INT : PSR_UINT;
}

static psr_status check(const psr_edit_values *v, psr_err *err)
{
    const struct psr_edit_values_desc *d = &v->d;
    const int64_t nbits = d->nbits, most = INT64_C(1) << 40;
    if (d->tsum < 1 || d->tsum > most)
        return psr_fail_field(err, PSR_EINVAL, "tsum", "edit: tsum %lld, must be 1 to %lld",
                              (long long)d->tsum, (long long)most);
    if (d->fsum < 1 || d->fsum > (int64_t)d->nchan)
        return psr_fail_field(err, PSR_EINVAL, "fsum",
                              "edit: fsum %lld, must be 1 to the number of channels, %zu",
                              (long long)d->fsum, d->nchan);
    if (nbits < 0 || nbits > 32 || (nbits & (nbits - 1)))
        return psr_fail_field(err, PSR_EINVAL, "nbits",
                              "edit: nbits %lld, must be 1, 2, 4, 8, 16 or 32", (long long)nbits);
    if (v->nchan * (size_t)v->nbit % 8)
        return psr_fail_field(err, PSR_EINVAL, "nbits",
                              "edit: %zu channels of %d bits end within a byte, must be a multiple "
                              "of %d",
                              v->nchan, v->nbit, 8 / v->nbit);
    return PSR_OK;
}

/* --- memory ----------------------------------------------------------------------------------- */

static psr_status grow(psr_edit_values *v, size_t nrow, psr_err *err)
{
    const size_t row_bytes = psr_row_bytes(v->nchan, v->nbit);
    if (nrow <= v->room)
        return PSR_OK;
    psr_status st = psr_resize(&v->out, nrow, row_bytes, "spectra", err);
    if (!st && v->rule == PSR_EDIT_LEVELS) {
        st = psr_resize(&v->x, nrow * v->nchan, sizeof *v->x, "spectra", err);
        st = st ? st : psr_resize(&v->good, nrow, sizeof *v->good, "spectra", err);
    }
    v->room = st ? v->room : nrow;
    return st;
}

static psr_status make_room(psr_edit_values *v, psr_err *err)
{
    const size_t per_slice = (v->nchan < SLICE ? v->nchan : SLICE) * (size_t)v->d.fsum;
    v->nslice = (v->nchan + SLICE - 1) / SLICE;
    v->scratch_bytes = per_slice * (v->whole ? 1 : sizeof(double));
    v->scratch = psr_own(&v->own, v->nslice, v->scratch_bytes);
    v->sum = psr_own(&v->own, v->nchan, sizeof *v->sum);
    v->any = psr_own(&v->own, v->nchan, sizeof *v->any);
    psr_status st = psr_own_check(&v->own, "sums of channels", err);
    if (st)
        return st;
    return v->rule == PSR_EDIT_LEVELS
               ? psr_rescale_create(&v->scale, v->nchan, 0, v->d.nthread, err)
               : PSR_OK;
}

psr_status psr_edit_values_create(psr_edit_values **out, const struct psr_edit_values_desc *desc,
                                  psr_err *err)
{
    *out = NULL;
    psr_edit_values *v = calloc(1, sizeof *v);
    if (!v)
        return psr_fail_nomem(err, "values", sizeof *v);
    v->d = *desc;
    v->nchan = desc->fsum > 0 ? desc->nchan / (size_t)desc->fsum : 0;
    choose_type(v);
    psr_status st = check(v, err);
    if (!st) {
        choose_rule(v);
        /* Above the noise there is more room than below it, for pulses; of 1 and 2 bits each level counts. */
        static const struct {
            int nbit;
            float mean, scatter;
        } levels[] = {{1, 0.5F, 1}, {2, 1.5F, 1}, {4, 6, 2}, {8, 64, 8}, {16, 16384, 2048}};
        for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
            if (levels[i].nbit == v->nbit) {
                v->gain = levels[i].scatter;
                v->shift = levels[i].mean;
            }
        st = make_room(v, err);
    }
    if (st)
        psr_edit_values_destroy(v);
    else
        *out = v;
    return st;
}

void psr_edit_values_destroy(psr_edit_values *v)
{
    if (!v)
        return;
    psr_rescale_destroy(v->scale);
    psr_own_free(&v->own);
    free(v->out);
    free(v->x);
    free(v->good);
    free(v->stands);
    free(v->step);
    free(v);
}

/* --- sums ------------------------------------------------------------------------------------- */

/* Given: to   of the values of all rows */
static void emit_whole(psr_edit_values *v, int32_t *sum, const struct psr_edit_slice *to)
{
    if (v->rule == PSR_EDIT_LEVELS) {
        edit_to_floats(v->x + to->first, sum, to->n);
    } else {
        if (v->rule == PSR_EDIT_MEANS)
            edit_mean_whole(sum, to->n, v->d.tsum * v->d.fsum);
        edit_pack_whole(v->out, sum, to, v->nbit);
    }
    memset(sum, 0, to->n * sizeof *sum);
}

static void emit_any(psr_edit_values *v, const struct psr_edit_slice *s, size_t row)
{
    double *sum = v->any + s->first;
    const double count = (double)(v->d.tsum * v->d.fsum);
    for (size_t c = 0; c < s->n && v->rule == PSR_EDIT_MEANS; c++)
        sum[c] /= count;
    if (v->rule == PSR_EDIT_LEVELS)
        for (size_t c = 0; c < s->n; c++)
            v->x[row * v->nchan + s->first + c] = (float)sum[c];
    else
        psr_row_pack(v->out + row * psr_row_bytes(v->nchan, v->nbit) +
                         s->first * (size_t)v->nbit / 8,
                     sum, s->n, v->nbit, v->kind);
    memset(sum, 0, s->n * sizeof *sum);
}

/* A slice of the channels of all spectra; rows follow from row on. */
static void sum_slice(psr_edit_values *v, size_t k, const uint8_t *in, size_t n, size_t row)
{
    const struct psr_edit_values_desc *d = &v->d;
    const size_t first = k * SLICE, rest = v->nchan - first,
                 row_bytes = psr_row_bytes(d->nchan, d->nbit);
    const struct psr_edit_slice s = {first, rest < SLICE ? rest : SLICE, (size_t)d->fsum};
    void *scratch = (uint8_t *)v->scratch + k * v->scratch_bytes;
    int64_t filled = v->filled;
    for (size_t t = 0; t < n; t++) {
        if (v->whole)
            edit_add_whole(v->sum + first, in + t * row_bytes, &s, d->nbit, d->kind, scratch);
        else
            edit_add_any(v->any + first, in + t * row_bytes, &s, d->nbit, d->kind, scratch);
        if (++filled < d->tsum)
            continue;
        filled = 0;
        if (v->whole)
            emit_whole(v, v->sum + first, &(struct psr_edit_slice){row * v->nchan + first, s.n, 1});
        else
            emit_any(v, &s, row);
        row++;
    }
}

/* Spectra that are not summed, and whose channels all fill sums, are one long row. */
static size_t sum_flat(psr_edit_values *v, const uint8_t *in, size_t n, size_t row)
{
    const struct psr_edit_values_desc *d = &v->d;
    const size_t nvalue = n * v->nchan, nslice = (nvalue + SLICE - 1) / SLICE, at = row * v->nchan;
    const int nthread = d->nthread;
    const bool threads = nthread > 1 && n * d->nchan >= MIN_WORK,
               wider = d->fsum == 1 && d->nbit <= 8 && d->kind == PSR_UINT && v->nbit >= 8 &&
                       v->rule == PSR_EDIT_SUMS;
    (void)threads;
#pragma omp parallel for schedule(static) num_threads(nthread) if (threads)
    for (size_t k = 0; k < nslice; k++) {
        uint8_t scratch[SLICE * FLAT_FSUM];
        const size_t first = k * SLICE, rest = nvalue - first;
        const struct psr_edit_slice from = {first, rest < SLICE ? rest : SLICE, (size_t)d->fsum},
                                    to = {at + first, from.n, 1};
        if (wider)
            edit_widen(v->out, edit_bytes(in, &from, d->nbit, scratch), &to, v->nbit);
        else {
            int32_t sum[SLICE] = {0};
            edit_add_whole(sum, in, &from, v->d.nbit, v->d.kind, scratch);
            emit_whole(v, sum, &to);
        }
    }
    return n;
}

/* Returned: rows that are complete */
static size_t sum_spectra(psr_edit_values *v, const uint8_t *in, size_t n, size_t row)
{
    const struct psr_edit_values_desc *d = &v->d;
    const int nthread = d->nthread;
    const bool threads = nthread > 1 && v->nslice > 1 && n * d->nchan >= MIN_WORK;
    if (v->whole && d->tsum == 1 && d->nchan == v->nchan * (size_t)d->fsum && d->fsum <= FLAT_FSUM)
        return sum_flat(v, in, n, row);
    (void)threads;
#pragma omp parallel for schedule(static) num_threads(nthread) if (threads)
    for (size_t k = 0; k < v->nslice; k++)
        sum_slice(v, k, in, n, row);
    const int64_t all = v->filled + (int64_t)n;
    v->filled = all % d->tsum;
    return (size_t)(all / d->tsum);
}

/* --- levels ----------------------------------------------------------------------------------- */

/* What is not a number has no level, and would leave none to others. */
static void find_good(psr_edit_values *v, size_t first, size_t n)
{
    for (size_t i = first; i < first + n; i++) {
        bool good = true;
        for (size_t c = 0; c < v->nchan; c++)
            good &= isfinite(v->x[i * v->nchan + c]) != 0;
        v->good[i] = good;
    }
}

static void digitise(psr_edit_values *v, size_t n)
{
    const int nthread = v->d.nthread;
    const size_t nvalue = n * v->nchan, npiece = (nvalue + DIGITS - 1) / DIGITS;
    const bool threads = nthread > 1 && nvalue >= MIN_WORK;
    (void)threads;
    psr_rescale_apply(v->scale, v->x, v->good, n);
#pragma omp parallel for schedule(static) num_threads(nthread) if (threads)
    for (size_t k = 0; k < npiece; k++) {
        const size_t first = k * DIGITS, rest = nvalue - first;
        psr_rescale_digitise(v->x + first, rest < DIGITS ? rest : DIGITS, v->nbit, v->gain,
                             v->shift, v->out + psr_row_bytes(first, v->nbit));
    }
}

static void climb_row(const psr_edit_values *v, const uint8_t *in, uint8_t *out)
{
    for (size_t first = 0; first < v->nchan; first += SLICE) {
        uint8_t scratch[SLICE], level[SLICE];
        const size_t rest = v->nchan - first;
        const struct psr_edit_slice s = {first, rest < SLICE ? rest : SLICE, 1};
        edit_climb(level, edit_bytes(in, &s, v->d.nbit, scratch), v->step + first,
                   ((size_t)1 << v->nbit) - 1, v->nchan, s.n);
        psr_rescale_pack(level, s.n, v->nbit, out + first * (size_t)v->nbit / 8);
    }
}

static void level_row(const psr_edit_values *v, const uint8_t *in, uint8_t *out)
{
    const struct psr_edit_values_desc *d = &v->d;
    const float *offset, *gain;
    if (v->step) {
        climb_row(v, in, out);
        return;
    }
    psr_rescale_scale(v->scale, &offset, &gain);
    for (size_t first = 0; first < v->nchan; first += SLICE) {
        int32_t sum[SLICE] = {0};
        uint8_t scratch[SLICE * FLAT_FSUM];
        float x[SLICE];
        const size_t rest = v->nchan - first;
        const struct psr_edit_slice s = {first, rest < SLICE ? rest : SLICE, (size_t)d->fsum};
        edit_add_whole(sum, in, &s, d->nbit, d->kind, scratch);
        edit_to_scaled(x, sum, offset + first, gain + first, s.n);
        psr_rescale_digitise(x, s.n, v->nbit, v->gain, v->shift, out + first * (size_t)v->nbit / 8);
    }
}

/* Levels of all values of these channels, as level_row computes them: they rise with the values. */
static void find_slice_steps(psr_edit_values *v, size_t first, size_t n)
{
    const unsigned top = (1U << v->nbit) - 1, never = 255;
    const float *offset, *gain;
    uint8_t *step = v->step + first, level[SLICE];
    psr_rescale_scale(v->scale, &offset, &gain);
    for (unsigned k = 0; k <= top; k++)
        memset(step + k * v->nchan, (int)never, n);
    for (unsigned value = 0; value < 1U << v->d.nbit; value++) {
        int32_t sum[SLICE];
        float x[SLICE];
        for (size_t c = 0; c < n; c++)
            sum[c] = (int32_t)value;
        edit_to_scaled(x, sum, offset + first, gain + first, n);
        psr_rescale_digitise(x, n, 8, v->gain, v->shift, level);
        for (size_t c = 0; c < n; c++) {
            const unsigned reached = level[c] < top ? level[c] : top;
            if (value == 0)
                step[c] = (uint8_t)reached;
            for (unsigned k = reached; value > 0 && k > step[c] && step[k * v->nchan + c] == never;
                 k--)
                step[k * v->nchan + c] = (uint8_t)(value - 1);
        }
    }
}

static psr_status find_steps(psr_edit_values *v, psr_err *err)
{
    const struct psr_edit_values_desc *d = &v->d;
    const size_t bytes = v->nchan << v->nbit;
    if (d->nbit > 8 || d->kind != PSR_UINT || d->fsum > 1 || d->tsum > 1 || v->nbit >= 8)
        return PSR_OK;
    v->step = malloc(bytes);
    if (!v->step)
        return psr_fail_nomem(err, "levels", (double)bytes);
    for (size_t first = 0; first < v->nchan; first += SLICE)
        find_slice_steps(v, first, v->nchan - first < SLICE ? v->nchan - first : SLICE);
    return PSR_OK;
}

/* A channel that does not vary stands for its mean. */
static psr_status find_stands(psr_edit_values *v, psr_err *err)
{
    const float *offset, *gain;
    v->stands = malloc(2 * v->nchan * sizeof *v->stands);
    if (!v->stands)
        return psr_fail_nomem(err, "scales of channels", 2 * (double)v->nchan * sizeof(float));
    psr_rescale_scale(v->scale, &offset, &gain);
    for (size_t c = 0; c < v->nchan; c++) {
        const float scale = gain[c] > 0 ? 1 / (gain[c] * v->gain) : 0;
        v->stands[c] = scale;
        v->stands[v->nchan + c] = offset[c] - v->shift * scale;
    }
    return find_steps(v, err);
}

/* Rows are held until there are enough of them to measure.
 * Given:    *nrow   new ones
 * Returned: *nrow that are digitised */
static psr_status make_levels(psr_edit_values *v, size_t *nrow, bool ended, psr_err *err)
{
    const size_t enough = HELD_BYTES / (v->nchan * sizeof *v->x) + 1;
    psr_status st = PSR_OK;
    find_good(v, v->nheld, *nrow);
    v->nheld += *nrow;
    *nrow = 0;
    if (!v->stands && v->nheld < enough && !ended)
        return PSR_OK;
    if (!v->stands) {
        psr_rescale_measure(v->scale, v->x, v->good, v->nheld < enough ? v->nheld : enough);
        st = find_stands(v, err);
    }
    *nrow = v->nheld;
    v->nheld = 0;
    if (!st)
        digitise(v, *nrow);
    return st;
}

psr_status psr_edit_values_run(psr_edit_values *v, const uint8_t *in, size_t n, bool last,
                               const uint8_t **rows, size_t *nrow, psr_err *err)
{
    const size_t more = (size_t)((v->filled + (int64_t)n) / v->d.tsum);
    size_t needed = v->nheld + more;
    /* Rows are held for a while: not copied with each block. */
    if (needed > v->room && v->nheld)
        needed *= 2;
    psr_status st = grow(v, needed, err);
    if (st)
        return st;
    *rows = v->out;
    *nrow = n;
    /* Whole numbers that are not summed over time go straight to their levels once these are known: floats of all rows
     * would go through memory several times. */
    if (v->stands && v->whole && v->d.tsum == 1 && v->d.fsum <= FLAT_FSUM) {
        const size_t in_bytes = psr_row_bytes(v->d.nchan, v->d.nbit),
                     out_bytes = psr_row_bytes(v->nchan, v->nbit);
        const int nthread = v->d.nthread;
        const bool threads = nthread > 1 && n * v->d.nchan >= MIN_WORK;
        (void)threads;
#pragma omp parallel for schedule(static) num_threads(nthread) if (threads)
        for (size_t t = 0; t < n; t++)
            level_row(v, in + t * in_bytes, v->out + t * out_bytes);
        return PSR_OK;
    }
    *nrow = sum_spectra(v, in, n, v->nheld);
    return v->rule == PSR_EDIT_LEVELS ? make_levels(v, nrow, last, err) : PSR_OK;
}

/* --- accounts --------------------------------------------------------------------------------- */

enum psr_edit_rule psr_edit_values_rule(const psr_edit_values *v)
{
    return v->rule;
}

int psr_edit_values_nbit(const psr_edit_values *v)
{
    return v->nbit;
}

enum psr_kind psr_edit_values_kind(const psr_edit_values *v)
{
    return v->kind;
}

void psr_edit_values_levels(const psr_edit_values *v, double *mean, double *scatter)
{
    *mean = (double)v->shift;
    *scatter = (double)v->gain;
}

const float *psr_edit_values_scale(const psr_edit_values *v)
{
    return v->stands;
}

const float *psr_edit_values_offset(const psr_edit_values *v)
{
    return v->stands ? v->stands + v->nchan : NULL;
}

int64_t psr_edit_values_left(const psr_edit_values *v)
{
    return v->filled;
}
