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

/* A second, or what of it a quarter of the memory holds: a pipe's is kept. */
static size_t measured_samples(const struct frbbeam_job *j)
{
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

psr_status frbbeam_scales_add(struct frbbeam_job *j, size_t nrow)
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

static psr_status take_moments(struct frbbeam_job *j)
{
    size_t n = j->nbeam * j->nfreq;
    struct frbbeam_moments *m = j->moments = calloc(1, sizeof *m);
    if (m) {
        m->sum = calloc(n, sizeof *m->sum);
        m->square = calloc(n, sizeof *m->square);
        m->first = calloc(n, sizeof *m->first);
    }
    if (!m || !m->sum || !m->square || !m->first)
        return psr_fail_nomem(&j->err, "moments of beams", (double)n * 20);
    return PSR_OK;
}

void frbbeam_scales_release(struct frbbeam_job *j)
{
    if (!j->moments)
        return;
    free(j->moments->sum);
    free(j->moments->square);
    free(j->moments->first);
    free(j->moments);
    j->moments = NULL;
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

psr_status frbbeam_scales_begin(struct frbbeam_job *j, size_t *nsamp)
{
    *nsamp = 0;
    if (j->opt.nbits == 32)
        return PSR_OK;
    if (j->opt.scale)
        return read_scales(j);
    *nsamp = measured_samples(j);
    return take_moments(j);
}

psr_status frbbeam_scales_end(struct frbbeam_job *j)
{
    if (j->opt.nbits == 32)
        return PSR_OK;
    if (j->moments && j->moments->nrow > 0)
        scale_channels(j, j->moments);
    frbbeam_scales_release(j);
    psr_beam_reset(j->plan);
    j->nread = 0;
    return psr_beam_quantise(j->plan, (int)j->opt.nbits, j->offset, j->gain, &j->err);
}
