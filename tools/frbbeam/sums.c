/* How many samples are summed in each channel, and what becomes of channels with longer sums. */
#include "frbbeam.h"

#include "formats/rows.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TDS = 1 << 20 };

/* --- lengths ---------------------------------------------------------------------------------- */

/* Takes "MHZ N" for all channels at MHZ and above that no row with a higher frequency has taken. */
struct taker {
    struct frbbeam_job *j;
    double *from_mhz; /* [nfreq] of the row that each channel has taken; -1 for none */
};

static psr_status take_row(void *ctx, const struct psr_row *row, psr_err *err)
{
    const struct taker *t = ctx;
    const struct frbbeam_job *j = t->j;
    double mhz;
    int64_t n;
    psr_status st = psr_row_double(row, 0, "frequency (MHz)", 0, 1e9, &mhz, err);
    if (!st)
        st = psr_row_int(row, 1, "samples", 1, MOST_TDS, &n, err);
    if (!st && row->n > 2)
        st = psr_row_fail(row, err, "'%s' is a word too many", row->word[2]);
    for (size_t f = 0; f < j->nfreq && !st; f++) {
        if (j->freq_mhz[f] >= mhz && t->from_mhz[f] == mhz)
            st = psr_row_fail(row, err, "a second row from %g MHz", mhz);
        if (j->freq_mhz[f] >= mhz && t->from_mhz[f] < mhz) {
            t->from_mhz[f] = mhz;
            j->sum[f] = (size_t)n;
        }
    }
    return st;
}

static psr_status read_lengths(struct frbbeam_job *j)
{
    struct taker t = {.j = j, .from_mhz = malloc(j->nfreq * sizeof *t.from_mhz)};
    if (!t.from_mhz)
        return psr_fail_nomem(&j->err, "channels", (double)j->nfreq * sizeof *t.from_mhz);
    for (size_t f = 0; f < j->nfreq; f++)
        t.from_mhz[f] = -1;
    psr_status st = psr_rows_read(j->opt.tds_file, take_row, &t, &j->err);
    for (size_t f = 0; f < j->nfreq && !st; f++)
        if (t.from_mhz[f] < 0)
            st = psr_fail(&j->err, PSR_EFORMAT, "%s: no row for channel %zu, at %g MHz",
                          j->opt.tds_file, f, j->freq_mhz[f]);
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
static psr_status check_lengths(struct frbbeam_job *j)
{
    j->tds = j->sum[0];
    for (size_t f = 1; f < j->nfreq; f++)
        j->tds = j->sum[f] < j->tds ? j->sum[f] : j->tds;
    j->unit = j->tds;
    for (size_t f = 0; f < j->nfreq; f++) {
        if (j->sum[f] % j->tds)
            return psr_fail(
                &j->err, PSR_EFORMAT,
                "%s: sums of %zu samples at %g MHz, must be a multiple of the shortest, "
                "%zu",
                j->opt.tds_file, j->sum[f], j->freq_mhz[f], j->tds);
        j->unit = j->unit / common_divisor(j->unit, j->sum[f]) * j->sum[f];
        if (j->unit > MOST_TDS)
            return psr_fail(&j->err, PSR_EFORMAT,
                            "%s: sums end together after more than %d samples: make the long ones "
                            "multiples of each other",
                            j->opt.tds_file, MOST_TDS);
    }
    return PSR_OK;
}

psr_status frbbeam_sums_read(struct frbbeam_job *j)
{
    const double about_s = 1e-3;
    size_t each = (size_t)fmin(fmax(1, rint(about_s / j->tsamp_s)), MOST_TDS);
    each = j->opt.tds ? (size_t)j->opt.tds : each;
    j->sum = calloc(j->nfreq, sizeof *j->sum);
    if (!j->sum)
        return psr_fail_nomem(&j->err, "channels", (double)j->nfreq * sizeof *j->sum);
    for (size_t f = 0; f < j->nfreq; f++)
        j->sum[f] = each;
    psr_status st = j->opt.tds_file ? read_lengths(j) : PSR_OK;
    return st ? st : check_lengths(j);
}

/* --- rows ------------------------------------------------------------------------------------- */

size_t frbbeam_sums_rows(const struct frbbeam_job *j, size_t n)
{
    const uint64_t unit = j->unit, t0 = (uint64_t)j->nread;
    return (size_t)((t0 + n) / unit - t0 / unit) * (j->unit / j->tds);
}

/* Gives channel f of a row what an earlier row has there. */
static void copy_level(uint8_t *to, const uint8_t *from, size_t f, int nbit)
{
    const unsigned mask = f % 2 ? 0xf0 : 0x0f;
    if (nbit == 8)
        to[f] = from[f];
    else
        to[f / 2] = (uint8_t)((to[f / 2] & ~mask) | (from[f / 2] & mask));
}

/* From the last row to the first, as a sum stands in no row after its own last. */
static void spread_channel(const struct frbbeam_job *j, uint8_t *rows, size_t nrow, size_t f)
{
    const size_t bytes = psr_beam_row_bytes(j->plan), ratio = j->sum[f] / j->tds;
    const int nbit = (int)(bytes * 8 / j->nfreq);
    const float share = j->opt.nbits == 32 ? (float)ratio : 1;
    for (size_t k = nrow; k-- > 0;) {
        uint8_t *to = rows + k * bytes;
        const uint8_t *from = rows + k / ratio * bytes;
        if (nbit == 32)
            ((float *)(void *)to)[f] = ((const float *)(const void *)from)[f] / share;
        else
            copy_level(to, from, f, nbit);
    }
}

void frbbeam_sums_spread(const struct frbbeam_job *j, void *rows, size_t nrow)
{
    for (size_t f = 0; f < j->nfreq; f++)
        if (j->sum[f] > j->tds)
            spread_channel(j, rows, nrow, f);
}
