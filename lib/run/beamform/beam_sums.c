/* Determines the number of samples per sum, and repeats longer sums over rows. */
#include "beam_sums.h"

#include "formats/spectra/text_table.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TDS = 1 << 20 };

/* --- lengths ---------------------------------------------------------------------------------- */

/* Takes "MHZ N" for all channels at MHZ and above that no row with a higher frequency has taken. */
struct length_taker {
    const struct psr_beam_input *in;
    size_t *length;   /* [nfreq] */
    double *from_mhz; /* [nfreq] of the row that each channel has taken; -1 for none */
};

static psr_status take_length(void *ctx, const struct psr_text_row *row, psr_err *err)
{
    const struct length_taker *t = ctx;
    double mhz;
    int64_t n;
    psr_status st = psr_text_row_double(row, 0, "frequency (MHz)", 0, 1e9, &mhz, err);
    if (!st)
        st = psr_text_row_int(row, 1, "samples", 1, MOST_TDS, &n, err);
    if (!st && row->n > 2)
        st = psr_text_row_fail(row, err, "", "'%s' is a word too many", row->word[2]);
    for (size_t f = 0; f < t->in->nfreq && !st; f++) {
        const bool above = t->in->freq_mhz[f] >= mhz;
        if (above && t->from_mhz[f] == mhz)
            st = psr_text_row_fail(row, err, "", "a second row from %g MHz", mhz);
        if (above && t->from_mhz[f] < mhz) {
            t->from_mhz[f] = mhz;
            t->length[f] = (size_t)n;
        }
    }
    return st;
}

static psr_status read_lengths(struct psr_beam_sums *s, const struct psr_beam_input *in,
                               const char *file, psr_err *err)
{
    struct length_taker t = {in, s->length, malloc(s->nfreq * sizeof *t.from_mhz)};
    if (!t.from_mhz)
        return psr_fail_nomem(err, "channels", (double)s->nfreq * sizeof *t.from_mhz);
    for (size_t f = 0; f < s->nfreq; f++)
        t.from_mhz[f] = -1;
    psr_status st = psr_text_table_read(file, take_length, &t, err);
    for (size_t f = 0; f < s->nfreq && !st; f++)
        if (t.from_mhz[f] < 0)
            st = psr_fail(err, PSR_EFORMAT, "%s: no row for channel %zu, at %g MHz", file, f,
                          in->freq_mhz[f]);
    free(t.from_mhz);
    return st;
}

static size_t common_divisor(size_t a, size_t b)
{
    while (b > 0) {
        size_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Sums must fit into rows of the shortest, and end together from time to time. */
static psr_status check_lengths(struct psr_beam_sums *s, const struct psr_beam_input *in,
                                const char *file, psr_err *err)
{
    s->tds = s->longest = s->length[0];
    for (size_t f = 1; f < s->nfreq; f++) {
        s->tds = s->length[f] < s->tds ? s->length[f] : s->tds;
        s->longest = s->length[f] > s->longest ? s->length[f] : s->longest;
    }
    s->unit = s->tds;
    for (size_t f = 0; f < s->nfreq; f++) {
        if (s->length[f] % s->tds)
            return psr_fail(
                err, PSR_EFORMAT,
                "%s: sums of %zu samples at %g MHz, must be a multiple of the shortest, %zu", file,
                s->length[f], in->freq_mhz[f], s->tds);
        s->unit = s->unit / common_divisor(s->unit, s->length[f]) * s->length[f];
        if (s->unit > MOST_TDS)
            return psr_fail(err, PSR_EFORMAT,
                            "%s: sums end together after more than %d samples: make the long ones "
                            "multiples of each other",
                            file, MOST_TDS);
    }
    return PSR_OK;
}

psr_status psr_beam_sums_read(struct psr_beam_sums *s, const struct psr_beam_input *in, int64_t tds,
                              const char *file, psr_err *err)
{
    const double about_s = 1e-3;
    const size_t about = (size_t)fmin(fmax(1, rint(about_s / in->tsamp_s)), MOST_TDS);
    s->nfreq = in->nfreq;
    s->length = calloc(s->nfreq, sizeof *s->length);
    if (!s->length)
        return psr_fail_nomem(err, "channels", (double)s->nfreq * sizeof *s->length);
    for (size_t f = 0; f < s->nfreq; f++)
        s->length[f] = tds ? (size_t)tds : about;
    psr_status st = file ? read_lengths(s, in, file, err) : PSR_OK;
    return st ? st : check_lengths(s, in, file, err);
}

void psr_beam_sums_clear(struct psr_beam_sums *s)
{
    free(s->length);
}

/* --- rows ------------------------------------------------------------------------------------- */

size_t psr_beam_sums_rows(const struct psr_beam_sums *s, int64_t t0, size_t n)
{
    const uint64_t unit = s->unit, from = (uint64_t)t0;
    return (size_t)((from + n) / unit - from / unit) * (s->unit / s->tds);
}

/* Copies channel f of an earlier row into a row. */
static void copy_level(uint8_t *to, const uint8_t *from, size_t f, int nbit)
{
    const unsigned mask = f % 2 ? 0xf0 : 0x0f;
    if (nbit == 8)
        to[f] = from[f];
    else
        to[f / 2] = (uint8_t)((to[f / 2] & ~mask) | (from[f / 2] & mask));
}

/* From the last row to the first, as a sum stands in no row after its own last. */
static void spread_channel(const struct psr_beam_sums *s, uint8_t *rows, size_t nrow,
                           size_t row_bytes, bool means, size_t f)
{
    const size_t ratio = s->length[f] / s->tds;
    const int nbit = (int)(row_bytes * 8 / s->nfreq);
    const float part = means ? (float)ratio : 1;
    for (size_t k = nrow; k-- > 0;) {
        uint8_t *to = rows + k * row_bytes;
        const uint8_t *from = rows + k / ratio * row_bytes;
        if (nbit == 32)
            ((float *)(void *)to)[f] = ((const float *)(const void *)from)[f] / part;
        else
            copy_level(to, from, f, nbit);
    }
}

void psr_beam_sums_spread(const struct psr_beam_sums *s, void *rows, size_t nrow, size_t row_bytes,
                          bool means)
{
    for (size_t f = 0; f < s->nfreq; f++)
        if (s->length[f] > s->tds)
            spread_channel(s, rows, nrow, row_bytes, means, f);
}
