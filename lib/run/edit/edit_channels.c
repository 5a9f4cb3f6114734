/* Copies ranges of channels of packed spectra, in either order. */
#include "edit_state.h"

#include "formats/spectra/unpack.h"

#include <psrkit/ddplan.h>
#include <stdlib.h>
#include <string.h>

/* Shifts channels by their dispersion delays. */

/* Channels that are copied together: their samples are in one cache line. */
enum { TILE = 64 };

struct psr_edit_shift {
    size_t nchan, row_bytes, max; /* max: the largest delay, spectra */
    int nbit;
    size_t *delay; /* [nchan] spectra */
    uint8_t *held; /* [room] spectra, of which [from, from + n) wait for later ones */
    size_t room, from, n;
    uint8_t *out; /* [out_room] */
    size_t out_room;
};

static psr_status find_delays(psr_edit_shift *s, const struct psr_obs *obs, double dm, psr_err *err)
{
    const double highest_mhz = psr_obs_highest_mhz(obs);
    const int64_t most = INT64_C(1) << 31;
    for (size_t c = 0; c < s->nchan; c++) {
        const int64_t delay = psr_delay_samples(PSR_DMCONST_PRESTO, dm, psr_obs_freq_mhz(obs, c),
                                                highest_mhz, obs->tsamp_s);
        if (delay < 0 || delay >= most)
            return psr_fail_field(err, PSR_EINVAL, "dm",
                                  "edit: dm %g is a delay of %lld spectra, must be below %lld", dm,
                                  (long long)delay, (long long)most);
        s->delay[c] = (size_t)delay;
        s->max = s->max > s->delay[c] ? s->max : s->delay[c];
    }
    return PSR_OK;
}

void psr_edit_shift_destroy(psr_edit_shift *s)
{
    if (!s)
        return;
    free(s->delay);
    free(s->held);
    free(s->out);
    free(s);
}

psr_status psr_edit_shift_create(psr_edit_shift **out, const struct psr_obs *obs, double dm,
                                 psr_err *err)
{
    *out = NULL;
    psr_edit_shift *s = calloc(1, sizeof *s);
    if (!s)
        return psr_fail_nomem(err, "delays", sizeof *s);
    s->nchan = obs->nchan;
    s->nbit = obs->nbit;
    s->row_bytes = psr_row_bytes(obs->nchan, obs->nbit);
    s->delay = calloc(s->nchan, sizeof *s->delay);
    psr_status st = s->delay ? find_delays(s, obs, dm, err)
                             : psr_fail_nomem(err, "delays", (double)s->nchan * sizeof *s->delay);
    if (st)
        psr_edit_shift_destroy(s);
    else
        *out = s;
    return st;
}

int64_t psr_edit_shift_max(const psr_edit_shift *s)
{
    return (int64_t)s->max;
}

/* Held spectra move to the front only where the end is met, so that each moves seldom. */
static psr_status append(psr_edit_shift *s, const uint8_t *in, size_t n, psr_err *err)
{
    if (s->from + s->n + n > s->room && s->n + n <= s->room) {
        memmove(s->held, s->held + s->from * s->row_bytes, s->n * s->row_bytes);
        s->from = 0;
    }
    if (s->from + s->n + n > s->room) {
        const size_t room =
            2 * (s->max + n) > s->from + s->n + n ? 2 * (s->max + n) : s->from + s->n + n;
        psr_status st = psr_reserve(&s->held, &s->room, room, s->row_bytes,
                                    "spectra of the largest delay", err);
        if (st)
            return st;
    }
    if (n)
        memcpy(s->held + (s->from + s->n) * s->row_bytes, in, n * s->row_bytes);
    s->n += n;
    return PSR_OK;
}

#define DEFINE_SHIFT(NAME, TYPE)                                                                   \
    static void NAME(const psr_edit_shift *s, size_t nrow, size_t first, size_t end)               \
    {                                                                                              \
        const TYPE *in = (const TYPE *)(const void *)s->held + s->from * s->nchan;                 \
        TYPE *out = (TYPE *)(void *)s->out;                                                        \
        for (size_t t = 0; t < nrow; t++)                                                          \
            for (size_t c = first; c < end; c++)                                                   \
                out[t * s->nchan + c] = in[(t + s->delay[c]) * s->nchan + c];                      \
    }

DEFINE_SHIFT(shift_8, uint8_t)
DEFINE_SHIFT(shift_16, uint16_t)
DEFINE_SHIFT(shift_32, uint32_t)

static void edit_shift_bits(const psr_edit_shift *s, size_t nrow, size_t first, size_t end)
{
    const uint8_t *in = s->held + s->from * s->row_bytes;
    const size_t nbit = (size_t)s->nbit;
    const unsigned mask = (1u << nbit) - 1;
    for (size_t t = 0; t < nrow; t++)
        for (size_t c = first; c < end; c++) {
            const uint8_t *row = in + (t + s->delay[c]) * s->row_bytes;
            const size_t at = c * nbit / 8, bit = c * nbit % 8;
            s->out[t * s->row_bytes + at] |= (uint8_t)((row[at] >> bit & mask) << bit);
        }
}

static psr_status make_room(psr_edit_shift *s, size_t nrow, psr_err *err)
{
    psr_status st = psr_reserve(&s->out, &s->out_room, nrow, s->row_bytes, "spectra", err);
    if (!st && s->nbit < 8 && nrow)
        memset(s->out, 0, nrow * s->row_bytes);
    return st;
}

psr_status psr_edit_shift_run(psr_edit_shift *s, const uint8_t *in, size_t n, const uint8_t **rows,
                              size_t *nrow, psr_err *err)
{
    psr_status st = append(s, in, n, err);
    const size_t ready = s->n > s->max ? s->n - s->max : 0;
    if (!st)
        st = make_room(s, ready, err);
    if (st)
        return st;
    for (size_t first = 0; first < s->nchan; first += TILE) {
        const size_t end = first + TILE < s->nchan ? first + TILE : s->nchan;
        (s->nbit == 8    ? shift_8
         : s->nbit == 16 ? shift_16
         : s->nbit == 32 ? shift_32
                         : edit_shift_bits)(s, ready, first, end);
    }
    s->from += ready;
    s->n -= ready;
    *rows = s->out;
    *nrow = ready;
    return PSR_OK;
}

/* Eight at a time: this is the common case, and must keep up with memory. */
static void reverse_bytes(uint8_t *out, const uint8_t *in, size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t v;
        memcpy(&v, in + n - i - 8, sizeof v);
        v = __builtin_bswap64(v);
        memcpy(out + i, &v, sizeof v);
    }
    for (; i < n; i++)
        out[i] = in[n - 1 - i];
}

#define DEFINE_REVERSE(NAME, TYPE)                                                                 \
    static void NAME(uint8_t *out, const uint8_t *in, size_t n)                                    \
    {                                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            memcpy(out + i * sizeof(TYPE), in + (n - 1 - i) * sizeof(TYPE), sizeof(TYPE));         \
    }

DEFINE_REVERSE(reverse_16, uint16_t)
DEFINE_REVERSE(reverse_32, uint32_t)

/* Given: turned [256]   each byte with its samples in reverse order */
static void reverse_row(uint8_t *out, const uint8_t *in, size_t nchan, int nbit,
                        const uint8_t *turned)
{
    const size_t nbyte = nchan * (size_t)nbit / 8;
    if (nbit == 32)
        reverse_32(out, in, nchan);
    else if (nbit == 16)
        reverse_16(out, in, nchan);
    else
        reverse_bytes(out, in, nbyte);
    for (size_t i = 0; nbit < 8 && i < nbyte; i++)
        out[i] = turned[out[i]];
}

static void copy_row(const struct psr_edit_channels *c, uint8_t *out, const uint8_t *in,
                     const uint8_t *turned)
{
    const size_t bit = c->first * (size_t)c->nbit, nbyte = c->nchan * (size_t)c->nbit / 8;
    if (bit % 8) {
        /* Whole bytes from a bit on that is not the first of its byte: they touch one byte more. */
        const uint8_t *from = in + bit / 8;
        const unsigned shift = bit % 8;
        for (size_t i = 0; i < nbyte; i++)
            out[i] = (uint8_t)((from[i] | (unsigned)from[i + 1] << 8) >> shift);
        if (c->reverse)
            psr_row_reverse(out, c->nchan, c->nbit);
    } else if (c->reverse) {
        reverse_row(out, in + bit / 8, c->nchan, c->nbit, turned);
    } else {
        memcpy(out, in + bit / 8, nbyte);
    }
}

void psr_edit_channels_copy(const struct psr_edit_channels *c, uint8_t *out, const uint8_t *in,
                            size_t nsamp)
{
    const size_t in_bytes = psr_row_bytes(c->nchan_in, c->nbit),
                 out_bytes = psr_row_bytes(c->nchan, c->nbit);
    uint8_t turned[256] = {0};
    for (unsigned v = 0; v < sizeof turned && c->nbit < 8; v++)
        turned[v] = psr_byte_reverse(v, c->nbit);
    for (size_t t = 0; t < nsamp; t++)
        copy_row(c, out + t * out_bytes, in + t * in_bytes, turned);
}
