/* Scales of quantised output: measured, read, written. */
#include "frbbeam.h"

#include "formats/rows.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where the mean and one standard deviation of a channel go among the levels. */
static double mean_level(int64_t nbits)
{
    return nbits == 8 ? 64 : 4;
}

static double sigma_levels(int64_t nbits)
{
    return nbits == 8 ? 8 : 2;
}

size_t frbbeam_scale_samples(const struct frbbeam_job *j)
{
    if (j->opt.nbits == 32 || j->opt.scale)
        return 0;
    double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / 4;
    if (j->opt.mem_bytes)
        memory = (double)j->opt.mem_bytes;
    double n = fmin(1 / j->tsamp_s, memory / 4 / (double)j->sample_bytes);
    double least = 16 * (double)j->tds; /* sums that a deviation can be told from */
    n = fmax(n, least);
    int64_t have = psr_voltages_nsamp(j->voltages);
    return have >= 0 && (double)have < n ? (size_t)have : (size_t)n;
}

/* --- measuring -------------------------------------------------------------------------------- */

struct frbbeam_moments {
    double *sum, *square; /* [nbeam][nfreq] about the first row's value */
    float *first;         /* [nbeam][nfreq] */
    int64_t nrow;
};

static psr_status add_rows(struct frbbeam_job *j, size_t nrow)
{
    struct frbbeam_moments *m = j->moments;
    const float *out = j->out[j->forming];
#pragma omp parallel for num_threads(j->nthread)
    for (size_t b = 0; b < j->nbeam; b++)
        for (size_t k = 0; k < nrow; k++)
            for (size_t f = 0; f < j->nfreq; f++) {
                size_t i = b * j->nfreq + f;
                float x = out[(b * j->stride + k) * j->nfreq + f];
                if (m->nrow == 0 && k == 0)
                    m->first[i] = x;
                double d = (double)x - (double)m->first[i];
                m->sum[i] += d;
                m->square[i] += d * d;
            }
    m->nrow += (int64_t)nrow;
    return PSR_OK;
}

/* Means over all beams of each beam's own mean and variance: a source in some of them moves neither
 * far.  A channel that never varies keeps its one value at the mean's level. */
static void scale_channels(struct frbbeam_job *j, const struct frbbeam_moments *m)
{
    const double n = (double)m->nrow, nbeam = (double)j->nbeam;
    for (size_t f = 0; f < j->nfreq; f++) {
        double mean = 0, variance = 0;
        for (size_t i = f; i < j->nbeam * j->nfreq; i += j->nfreq) {
            double off = m->sum[i] / n;
            mean += ((double)m->first[i] + off) / nbeam;
            variance += fmax(0, m->square[i] / n - off * off) / nbeam;
        }
        double gain = variance > 0 ? sigma_levels(j->opt.nbits) / sqrt(variance) : 1;
        j->gain[f] = (float)gain;
        j->offset[f] = (float)(mean - mean_level(j->opt.nbits) / gain);
    }
}

static psr_status measure(struct frbbeam_job *j, const uint8_t *in, size_t nt)
{
    struct frbbeam_moments m = {.nrow = 0};
    size_t n = j->nbeam * j->nfreq;
    m.sum = calloc(n, sizeof *m.sum);
    m.square = calloc(n, sizeof *m.square);
    m.first = calloc(n, sizeof *m.first);
    psr_status st = PSR_OK;
    if (!m.sum || !m.square || !m.first)
        st = psr_fail_nomem(&j->err, "moments of beams", (double)n * 20);
    j->moments = &m;
    if (!st)
        st = frbbeam_form(j, in, nt, add_rows);
    j->moments = NULL;
    if (!st && m.nrow > 0)
        scale_channels(j, &m);
    free(m.sum);
    free(m.square);
    free(m.first);
    j->nread = 0;
    memset(j->stage_s, 0, sizeof j->stage_s);
    psr_beam_reset(j->plan);
    return st;
}

/* --- files of scales -------------------------------------------------------------------------- */

struct scale_reader {
    struct frbbeam_job *j;
    size_t next; /* channel; none before the bits are known */
    bool has_bits;
};

/* "bits N", then a row "CHANNEL OFFSET SCALE" for each channel in turn. */
static psr_status take_row(void *ctx, const struct psr_row *row, psr_err *err)
{
    struct scale_reader *r = ctx;
    struct frbbeam_job *j = r->j;
    int64_t bits, channel;
    double offset, gain;
    psr_status st;
    if (!r->has_bits) {
        if (strcmp(row->word[0], "bits") != 0)
            return psr_row_fail(row, err, "'%s' where 'bits N' should be", row->word[0]);
        st = psr_row_int(row, 1, "bits", j->opt.nbits, j->opt.nbits, &bits, err);
        r->has_bits = true;
        return st;
    }
    st = psr_row_int(row, 0, "channel", (int64_t)r->next, (int64_t)r->next, &channel, err);
    if (!st && r->next == j->nfreq)
        st = psr_row_fail(row, err, "a channel beyond the %zu of the voltages", j->nfreq);
    if (!st)
        st = psr_row_double(row, 1, "offset", -1e38, 1e38, &offset, err);
    if (!st)
        st = psr_row_double(row, 2, "scale", -1e38, 1e38, &gain, err);
    if (st)
        return st;
    j->offset[r->next] = (float)offset;
    j->gain[r->next++] = (float)gain;
    return PSR_OK;
}

static psr_status read_scales(struct frbbeam_job *j)
{
    struct scale_reader r = {.j = j};
    psr_status st = psr_rows_read(j->opt.scale, take_row, &r, &j->err);
    if (!st && r.next < j->nfreq)
        st = psr_fail(&j->err, PSR_EFORMAT, "%s: scales of %zu channels, the voltages have %zu",
                      j->opt.scale, r.next, j->nfreq);
    return st;
}

psr_status frbbeam_write_scales(struct frbbeam_job *j, psr_outfile *f)
{
    psr_status st = psr_outfile_printf(f, &j->err,
                                       "# level = (intensity - offset) scale: channel, offset, "
                                       "scale\nbits %d\n",
                                       (int)j->opt.nbits);
    for (size_t c = 0; c < j->nfreq && !st; c++)
        st = psr_outfile_printf(f, &j->err, "%zu %.9g %.9g\n", c, (double)j->offset[c],
                                (double)j->gain[c]);
    return st;
}

psr_status frbbeam_set_scales(struct frbbeam_job *j, const uint8_t *in, size_t nt)
{
    if (j->opt.nbits == 32)
        return PSR_OK;
    psr_status st = j->opt.scale ? read_scales(j) : measure(j, in, nt);
    return st ? st : psr_beam_quantise(j->plan, (int)j->opt.nbits, j->offset, j->gain, &j->err);
}
