/* Measures, reads and writes the scales of quantised output. */
#include "beamformer_state.h"

#include "beam/beam_internal.h"
#include "formats/spectra/header_keys.h"
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The levels of a channel's mean and of one standard deviation. */
static double mean_level(int nbit)
{
    return nbit == 8 ? 64 : 4;
}

static double sigma_levels(int nbit)
{
    return nbit == 8 ? 8 : 2;
}

/* --- measuring -------------------------------------------------------------------------------- */

/* Rows are kept as floats, so that those which scales are measured on are formed once, and a pipe
 * is no different from a file. */
enum { KEPT_BYTES = 256 << 20, KEPT_LEAST = 16 };

/* Beams of a group are added in their order, and groups in theirs, so that the sums do not depend
 * on threads. */
enum { NGROUP = 64 };

/* Rows of a second, or as many as memory holds, whole units of sums. */
static size_t rows_to_keep(const struct psr_beam_scales_desc *d)
{
    const struct psr_beam_sums *sums = d->sums;
    const size_t each = sums->unit / sums->tds;
    const double row_bytes = (double)d->nbeam * (double)d->in->nfreq * sizeof(float);
    const int64_t nsamp = d->in->nsamp;
    double most = fmin(KEPT_BYTES, (double)d->mem_bytes / 8) / row_bytes;
    double n = fmax(fmin(1 / ((double)sums->tds * d->in->tsamp_s), most), KEPT_LEAST);
    n = nsamp >= 0 ? fmin(n, (double)nsamp / (double)sums->tds) : n;
    return n > (double)each ? (size_t)n / each * each : each;
}

void psr_beam_scales_keep(struct psr_beam_scales *s, size_t b, size_t first, const void *rows,
                          size_t n)
{
    const size_t nfreq = s->d.in->nfreq;
    memcpy(s->kept + (b * s->kept_most + first) * nfreq, rows, n * nfreq * sizeof *s->kept);
}

/* [nfreq] each, of channels: of a beam's rows, and then sums over a group's beams. */
struct beam_moments {
    double *n, *mean, *square; /* square: sum of squares about the mean */
    double *nbeam, *means, *variances;
};

enum { NMOMENT = sizeof(struct beam_moments) / sizeof(double *) };

static struct beam_moments moments_of_group(double *m, size_t nfreq, size_t g)
{
    m += g * NMOMENT * nfreq;
    return (struct beam_moments){
        m, m + nfreq, m + 2 * nfreq, m + 3 * nfreq, m + 4 * nfreq, m + 5 * nfreq};
}

/* Intensities of 0 are gaps. */
static void add_beam(const struct beam_moments *m, const float *x, size_t nfreq, size_t nrow)
{
    double *restrict n = m->n, *restrict mean = m->mean, *restrict square = m->square;
    for (size_t f = 0; f < nfreq; f++)
        n[f] = mean[f] = square[f] = 0;
    for (size_t k = 0; k < nrow; k++)
        for (size_t f = 0; f < nfreq; f++) {
            mean[f] += (double)x[k * nfreq + f];
            n[f] += x[k * nfreq + f] != 0;
        }
    for (size_t f = 0; f < nfreq; f++)
        mean[f] /= n[f] > 0 ? n[f] : 1;
    for (size_t k = 0; k < nrow; k++)
        for (size_t f = 0; f < nfreq; f++) {
            double d = (double)x[k * nfreq + f] - mean[f];
            square[f] += x[k * nfreq + f] != 0 ? d * d : 0;
        }
    for (size_t f = 0; f < nfreq; f++) {
        m->nbeam[f] += n[f] > 0;
        m->means[f] += mean[f];
        m->variances[f] += square[f] / (n[f] > 0 ? n[f] : 1);
    }
}

/* Means over all beams of each beam's own mean and variance, so that a source in some of them has
 * little influence.  The variance of a sum that is repeated over several rows is that of a mean
 * over them.  A channel that never varies keeps its one value at the mean's level. */
static void scale_channel(struct psr_beam_scales *s, double *m, size_t f)
{
    const struct psr_beam_sums *sums = s->d.sums;
    double n = 0, mean = 0, variance = 0;
    for (size_t g = 0; g < NGROUP; g++) {
        const struct beam_moments group = moments_of_group(m, sums->nfreq, g);
        n += group.nbeam[f];
        mean += group.means[f];
        variance += group.variances[f];
    }
    double sigma = sqrt(variance / fmax(n, 1));
    double levels = sigma_levels(s->d.nbit) / sqrt((double)sums->length[f] / (double)sums->tds);
    double gain = sigma > 0 ? levels / sigma : 1;
    s->gain[f] = (float)gain;
    s->offset[f] = (float)(mean / fmax(n, 1) - mean_level(s->d.nbit) / gain);
}

psr_status psr_beam_scales_measure(struct psr_beam_scales *s, int nthread, psr_err *err)
{
    const size_t nfreq = s->d.in->nfreq, nbeam = s->d.nbeam;
    double *m = calloc(NGROUP * nfreq, NMOMENT * sizeof *m);
    (void)nthread; /* without OpenMP */
    if (!m)
        return psr_fail_nomem(err, "moments of beams",
                              NGROUP * (double)nfreq * NMOMENT * sizeof *m);
#pragma omp parallel for schedule(dynamic) num_threads(nthread)
    for (size_t g = 0; g < NGROUP; g++) {
        const struct beam_moments group = moments_of_group(m, nfreq, g);
        for (size_t b = g * nbeam / NGROUP; b < (g + 1) * nbeam / NGROUP; b++)
            add_beam(&group, s->kept + b * s->kept_most * nfreq, nfreq, s->kept_n);
    }
    for (size_t f = 0; f < nfreq; f++)
        scale_channel(s, m, f);
    free(m);
    return PSR_OK;
}

const void *psr_beam_scales_quantise(const struct psr_beam_scales *s, size_t b)
{
    const size_t nfreq = s->d.in->nfreq;
    const float *from = s->kept + b * s->kept_most * nfreq;
    const float top = s->d.nbit == 8 ? 255 : 15;
    uint8_t *levels = (uint8_t *)(s->kept + b * s->kept_most * nfreq), *to = levels;
    for (size_t k = 0; k < s->kept_n; k++, from += nfreq)
        for (size_t f = 0; f < nfreq; f++) {
            unsigned level = psr_beam_quantise_value(from[f], s->offset[f], s->gain[f], top);
            if (s->d.nbit == 8)
                *to++ = (uint8_t)level;
            else if (f % 2 == 0)
                *to = (uint8_t)level;
            else
                *to++ |= (uint8_t)(level << 4);
        }
    return levels;
}

/* --- files ------------------------------------------------------------------------------------ */

struct scale_reader {
    struct psr_beam_scales *s;
    size_t next; /* channel; none before the bits are known */
    bool has_bits;
};

/* "bits N", then a row "CHANNEL OFFSET SCALE" for each channel in turn. */
static psr_status take_scale(void *ctx, const struct psr_text_row *row, psr_err *err)
{
    struct scale_reader *r = ctx;
    const size_t nfreq = r->s->d.in->nfreq;
    int64_t bits, channel;
    double offset, gain;
    psr_status st;
    if (!r->has_bits) {
        if (strcmp(row->word[0], "bits") != 0)
            return psr_text_row_fail(row, err, "bits", "'%s' where 'bits N' should be",
                                     row->word[0]);
        st = psr_text_row_int(row, 1, "bits", r->s->d.nbit, r->s->d.nbit, &bits, err);
        r->has_bits = true;
        return st;
    }
    st = psr_text_row_int(row, 0, "channel", (int64_t)r->next, (int64_t)r->next, &channel, err);
    if (!st && r->next == nfreq)
        st = psr_text_row_fail(row, err, "channel", "a channel beyond the %zu of the voltages",
                               nfreq);
    if (!st)
        st = psr_text_row_double(row, 1, "offset", -1e38, 1e38, &offset, err);
    if (!st)
        st = psr_text_row_double(row, 2, "scale", -1e38, 1e38, &gain, err);
    if (st)
        return st;
    r->s->offset[r->next] = (float)offset;
    r->s->gain[r->next++] = (float)gain;
    return PSR_OK;
}

static psr_status read_scales(struct psr_beam_scales *s, psr_err *err)
{
    const size_t nfreq = s->d.in->nfreq;
    struct scale_reader r = {.s = s};
    psr_status st = psr_text_table_read(s->d.file, take_scale, &r, err);
    if (!st && r.next < nfreq)
        st = psr_fail(err, PSR_EFORMAT, "%s: scales of %zu channels, the voltages have %zu",
                      s->d.file, r.next, nfreq);
    return st;
}

psr_status psr_beam_scales_write(const struct psr_beam_scales *s, psr_outfile *f, psr_err *err)
{
    psr_status st = psr_outfile_printf(f, err,
                                       "# level = (intensity - offset) scale: channel, offset, "
                                       "scale\nbits %d\n",
                                       s->d.nbit);
    for (size_t c = 0; c < s->d.in->nfreq && !st; c++)
        st = psr_outfile_printf(f, err, "%zu %.9g %.9g\n", c, (double)s->offset[c],
                                (double)s->gain[c]);
    return st;
}

/* --- all -------------------------------------------------------------------------------------- */

static psr_status start_measuring(struct psr_beam_scales *s, psr_err *err)
{
    s->kept_most = rows_to_keep(&s->d);
    const size_t bytes = s->d.nbeam * s->kept_most * s->d.in->nfreq * sizeof *s->kept;
    s->kept = malloc(bytes);
    s->measures = true;
    return s->kept ? PSR_OK : psr_fail_nomem(err, "beams to measure scales on", (double)bytes);
}

psr_status psr_beam_scales_begin(struct psr_beam_scales *s, const struct psr_beam_scales_desc *desc,
                                 psr_err *err)
{
    const size_t nfreq = desc->in->nfreq;
    s->d = *desc;
    if (desc->nbit == 32)
        return PSR_OK;
    if (desc->nbit == 4 && nfreq % 2)
        return psr_fail_field(err, PSR_EINVAL, "nbits",
                              "%s: spectra of %zu channels of -nbits 4 end within a byte",
                              desc->in->name, nfreq);
    s->offset = calloc(nfreq, sizeof *s->offset);
    s->gain = calloc(nfreq, sizeof *s->gain);
    if (!s->offset || !s->gain)
        return psr_fail_nomem(err, "scales", (double)nfreq * 8);
    return desc->file ? read_scales(s, err) : start_measuring(s, err);
}

psr_status psr_beam_scales_apply(const struct psr_beam_scales *s, psr_beam *plan, psr_err *err)
{
    return psr_beam_quantise(plan, s->d.nbit, s->offset, s->gain, err);
}

void psr_beam_scales_release(struct psr_beam_scales *s)
{
    free(s->kept);
    free(s->offset);
    free(s->gain);
}

/* Determines the number of samples per sum, and repeats longer sums over rows. */

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
        s->unit *=
            s->length[f] / (size_t)psr_common_divisor((int64_t)s->unit, (int64_t)s->length[f]);
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
void psr_beam_sums_spread(const struct psr_beam_sums *s, void *rows, size_t nrow, size_t row_bytes,
                          bool means)
{
    const int nbit = (int)(row_bytes * 8 / s->nfreq);
    for (size_t f = 0; f < s->nfreq; f++) {
        const size_t ratio = s->length[f] / s->tds;
        const float part = means ? (float)ratio : 1;
        for (size_t k = nrow; s->length[f] > s->tds && k-- > 0;) {
            uint8_t *to = (uint8_t *)rows + k * row_bytes;
            const uint8_t *from = (const uint8_t *)rows + k / ratio * row_bytes;
            if (nbit == 32)
                ((float *)(void *)to)[f] = ((const float *)(const void *)from)[f] / part;
            else
                copy_level(to, from, f, nbit);
        }
    }
}
