/* Scales of quantised output: measured, read, written. */
#include "frbbeam.h"

#include "beam/beam_backend.h"
#include "formats/rows.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Where the mean and one standard deviation of a channel go among the levels. */
static double mean_level(int64_t nbits)
{
    return nbits == 8 ? 64 : 4;
}

static double sigma_levels(int64_t nbits)
{
    return nbits == 8 ? 8 : 2;
}

/* --- measuring -------------------------------------------------------------------------------- */

/* Rows are kept as floats, so that those which scales are measured on are formed once, and a pipe
 * is no different from a file. */
enum { KEPT_BYTES = 256 << 20, KEPT_LEAST = 16 };

/* Beams of a group are added in their order, and groups in theirs, so that the sums do not depend
 * on threads. */
enum { NGROUP = 64 };

/* Rows of a second, or as many as memory holds, whole units of sums. */
static size_t rows_to_keep(const struct frbbeam_job *j)
{
    const size_t each = j->unit / j->tds;
    const double row_bytes = (double)j->nbeam * (double)j->nfreq * sizeof(float);
    const int64_t nsamp = psr_voltages_nsamp(j->voltages);
    double most = fmin(KEPT_BYTES, (double)j->mem_bytes / 8) / row_bytes;
    double n = fmax(fmin(1 / ((double)j->tds * j->tsamp_s), most), KEPT_LEAST);
    n = nsamp >= 0 ? fmin(n, (double)nsamp / (double)j->tds) : n;
    return n > (double)each ? (size_t)n / each * each : each;
}

static psr_status keep_rows(struct frbbeam_job *j, const struct frbbeam_task *t, size_t b,
                            psr_err *err)
{
    const size_t row = j->nfreq * sizeof(float), at = j->kept_n - t->n;
    char *from = t->rows + b * t->stride * row;
    (void)err;
    frbbeam_sums_spread(j, from, t->n);
    memcpy((char *)j->kept + (b * j->kept_most + at) * row, from, t->n * row);
    return PSR_OK;
}

void frbbeam_scales_keep(struct frbbeam_job *j, char *rows, size_t n)
{
    const struct frbbeam_task t = {.step = keep_rows, .rows = rows, .stride = j->stride, .n = n};
    j->kept_n += n;
    frbbeam_crew_start(j, &t);
}

/* [nfreq] each, of channels: of a beam's rows, and then sums over a group's beams. */
struct moments {
    double *n, *mean, *square; /* square: sum of squares about the mean */
    double *nbeam, *means, *variances;
};

enum { NMOMENT = sizeof(struct moments) / sizeof(double *) };

static struct moments moments_of_group(double *m, size_t nfreq, size_t g)
{
    m += g * NMOMENT * nfreq;
    return (struct moments){
        m, m + nfreq, m + 2 * nfreq, m + 3 * nfreq, m + 4 * nfreq, m + 5 * nfreq};
}

/* Intensities of 0 are gaps. */
static void add_beam(const struct moments *m, const float *x, size_t nfreq, size_t nrow)
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

/* Means over all beams of each beam's own mean and variance: a source in some of them moves neither
 * far.  A sum that stands in several rows is worth a mean over them.  A channel that never varies
 * keeps its one value at the mean's level. */
static void scale_channel(struct frbbeam_job *j, double *m, size_t f)
{
    double n = 0, mean = 0, variance = 0;
    for (size_t g = 0; g < NGROUP; g++) {
        const struct moments group = moments_of_group(m, j->nfreq, g);
        n += group.nbeam[f];
        mean += group.means[f];
        variance += group.variances[f];
    }
    double sigma = sqrt(variance / fmax(n, 1));
    double levels = sigma_levels(j->opt.nbits) / sqrt((double)j->sum[f] / (double)j->tds);
    double gain = sigma > 0 ? levels / sigma : 1;
    j->gain[f] = (float)gain;
    j->offset[f] = (float)(mean / fmax(n, 1) - mean_level(j->opt.nbits) / gain);
}

static psr_status measure_scales(struct frbbeam_job *j)
{
    double *m = calloc(NGROUP * j->nfreq, NMOMENT * sizeof *m);
    if (!m)
        return psr_fail_nomem(&j->err, "moments of beams",
                              NGROUP * (double)j->nfreq * NMOMENT * sizeof *m);
#pragma omp parallel for schedule(dynamic) num_threads(frbbeam_threads(j))
    for (size_t g = 0; g < NGROUP; g++) {
        const struct moments group = moments_of_group(m, j->nfreq, g);
        for (size_t b = g * j->nbeam / NGROUP; b < (g + 1) * j->nbeam / NGROUP; b++)
            add_beam(&group, j->kept + b * j->kept_most * j->nfreq, j->nfreq, j->kept_n);
    }
    for (size_t f = 0; f < j->nfreq; f++)
        scale_channel(j, m, f);
    free(m);
    return PSR_OK;
}

/* --- what was kept ---------------------------------------------------------------------------- */

/* Makes levels of a beam's floats, in their place. */
static void quantise_beam(const struct frbbeam_job *j, size_t b)
{
    const float *from = j->kept + b * j->kept_most * j->nfreq;
    const float top = j->opt.nbits == 8 ? 255 : 15;
    uint8_t *to = (uint8_t *)j->kept + b * j->kept_most * j->nfreq * sizeof(float);
    for (size_t k = 0; k < j->kept_n; k++, from += j->nfreq)
        for (size_t f = 0; f < j->nfreq; f++) {
            unsigned level = psr_beam_level(from[f], j->offset[f], j->gain[f], top);
            if (j->opt.nbits == 8)
                *to++ = (uint8_t)level;
            else if (f % 2 == 0)
                *to = (uint8_t)level;
            else
                *to++ |= (uint8_t)(level << 4);
        }
}

static psr_status write_kept(struct frbbeam_job *j, const struct frbbeam_task *t, size_t b,
                             psr_err *err)
{
    quantise_beam(j, b);
    return frbbeam_output_write(j, t, b, err);
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

static psr_status use_scales(struct frbbeam_job *j)
{
    return psr_beam_quantise(j->plan, (int)j->opt.nbits, j->offset, j->gain, &j->err);
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

psr_status frbbeam_scales_begin(struct frbbeam_job *j)
{
    if (j->opt.nbits == 32)
        return PSR_OK;
    if (j->opt.nbits == 4 && j->nfreq % 2)
        return psr_fail(&j->err, PSR_EINVAL,
                        "%s: spectra of %zu channels of -nbits 4 end within a byte", j->path[0],
                        j->nfreq);
    if (j->opt.scale) {
        psr_status st = read_scales(j);
        return st ? st : use_scales(j);
    }
    j->kept_most = rows_to_keep(j);
    const size_t bytes = j->nbeam * j->kept_most * j->nfreq * sizeof(float);
    j->kept = malloc(bytes);
    j->measures = true;
    j->stride = j->stride_floats;
    return j->kept ? PSR_OK : psr_fail_nomem(&j->err, "beams to measure scales on", (double)bytes);
}

psr_status frbbeam_scales_end(struct frbbeam_job *j)
{
    psr_status st = frbbeam_crew_wait(j);
    const struct frbbeam_task t = {.step = write_kept,
                                   .rows = (char *)j->kept,
                                   .stride = j->kept_most * 32 / (size_t)j->opt.nbits,
                                   .n = j->kept_n};
    j->measures = false;
    j->stride = j->stride_rows;
    if (!st && j->kept_n > 0)
        st = measure_scales(j);
    if (!st)
        st = use_scales(j);
    if (!st)
        frbbeam_crew_start(j, &t);
    return st;
}
