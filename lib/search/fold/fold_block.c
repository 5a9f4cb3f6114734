/* Folds one block of one candidate: sub-bands are summed, turned, and spread over phase bins. */
#include "fold_plan.h"

#include "base/clones.h"

#include <math.h>
#include <string.h>

/* Rows whose statistics are summed in single precision. */
enum { RUN = 64 };

/* --- sums over channels ----------------------------------------------------------------------- */

PSR_CLONES static void add_bytes(uint16_t *restrict sum, const uint8_t *restrict x, size_t n)
{
    for (size_t t = 0; t < n; t++)
        sum[t] = (uint16_t)(sum[t] + x[t]);
}

PSR_CLONES static void take_sums(float *restrict band, uint16_t *restrict sum, float bias, size_t n)
{
    for (size_t t = 0; t < n; t++) {
        band[t] += (float)sum[t] + bias;
        sum[t] = 0;
    }
}

PSR_CLONES static void add_words(float *restrict band, const uint16_t *restrict x, float bias,
                                 size_t n)
{
    for (size_t t = 0; t < n; t++)
        band[t] += (float)x[t] + bias;
}

PSR_CLONES static void add_floats(float *restrict band, const float *restrict x, size_t n)
{
    for (size_t t = 0; t < n; t++)
        band[t] += x[t];
}

/* Bytes are summed as integers as long as 16 bits hold the sum. */
static void sum_band(const struct psr_fold *f, const struct psr_fold_cube *cube, size_t j,
                     size_t block, uint16_t *sum, float *band)
{
    const size_t n = f->d.block, stride = (f->ahead + 1) * n;
    size_t pending = 0;
    memset(band, 0, n * sizeof *band);
    for (size_t k = f->band_first[j]; k < f->band_first[j + 1]; k++) {
        const size_t delay = (size_t)cube->delay[k];
        const unsigned char *x = f->window + (k * stride + block * n + delay) * (size_t)f->store;
        if (f->store == PSR_FOLD_U16)
            add_words(band, (const uint16_t *)(const void *)x, f->bias, n);
        else if (f->store == PSR_FOLD_F32)
            add_floats(band, (const float *)(const void *)x, n);
        else
            add_bytes(sum, x, n);
        pending += f->store == PSR_FOLD_U8;
        if (pending == UINT16_MAX / UINT8_MAX) {
            take_sums(band, sum, f->bias * (float)pending, n);
            pending = 0;
        }
    }
    if (pending)
        take_sums(band, sum, f->bias * (float)pending, n);
}

/* --- statistics ------------------------------------------------------------------------------- */

/* Of up to RUN rows: sums of the differences from shift, and of their squares. */
PSR_CLONES static void sum_rows(const float *restrict row, size_t nrow, size_t n,
                                const float *restrict shift, float *restrict sum,
                                float *restrict square)
{
    memset(sum, 0, n * sizeof *sum);
    memset(square, 0, n * sizeof *square);
    for (size_t t = 0; t < nrow; t++, row += n)
        for (size_t j = 0; j < n; j++) {
            const float x = row[j] - shift[j];
            sum[j] += x;
            square[j] += x * x;
        }
}

/* Adds rows to the mean and the sum of squares (Chan, Golub and LeVeque 1983, eq. 2.1). */
static void merge_rows(struct psr_fold_slice *s, const float *row, size_t nrow,
                       struct psr_fold_scratch *w)
{
    const double have = (double)s->count, more = (double)nrow, all = have + more;
    for (size_t j = 0; j < s->n; j++)
        w->shift[j] = have > 0 ? (float)s->mean[j] : row[j];
    sum_rows(row, nrow, s->n, w->shift, w->run, w->square);
    for (size_t j = 0; j < s->n; j++) {
        const double off = (double)w->run[j] / more, mean = (double)w->shift[j] + off;
        const double step = mean - s->mean[j];
        s->square[j] += (double)w->square[j] - more * off * off + step * step * have * more / all;
        s->mean[j] += step * more / all;
    }
    s->count += (int64_t)nrow;
}

/* --- spreading -------------------------------------------------------------------------------- */

PSR_CLONES static void add_whole(double *restrict to, const float *restrict row, size_t n)
{
    for (size_t j = 0; j < n; j++)
        to[j] += (double)row[j];
}

PSR_CLONES static void add_weighted(double *restrict to, const float *restrict row, double weight,
                                    size_t n)
{
    for (size_t j = 0; j < n; j++)
        to[j] += weight * (double)row[j];
}

PSR_CLONES static void add_rotation(double *restrict sum, double *restrict rotation, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        sum[i] += rotation[i];
        rotation[i] = 0;
    }
}

static void spread_sample(struct psr_fold_slice *s, double phase, double width, const float *row)
{
    struct psr_fold_weight weight;
    psr_fold_spread_begin(&s->spread, phase, width);
    while (psr_fold_spread_next(&s->spread, &weight)) {
        if (weight.value == 1)
            add_whole(s->rotation + weight.bin * s->n, row, s->n);
        else if (weight.value != 0)
            add_weighted(s->rotation + weight.bin * s->n, row, weight.value, s->n);
        if (weight.completes_rotation)
            add_rotation(s->sum, s->rotation, s->cube->cand.nbin * s->n);
    }
}

/* Times are computed as prepfold does: those of the part, of the block in it, of the sample. */
static void spread_rows(const struct psr_fold *f, struct psr_fold_slice *s, const float *row)
{
    const size_t per_part = f->d.part_blocks, part = s->next / per_part;
    const double block_s = (double)f->d.block * f->d.tsamp_s;
    const double begin_s =
        (double)(part * per_part) * block_s + (double)(s->next % per_part) * block_s;
    long double phase = psr_fold_phase(&s->clock, begin_s);
    long double low = phase - floorl(phase);
    for (size_t t = 0; t < f->d.block; t++, row += s->n) {
        const long double next =
            psr_fold_phase(&s->clock, begin_s + (double)(t + 1) * f->d.tsamp_s);
        const long double width = next - phase, high = low + width;
        spread_sample(s, (double)low, (double)width, row);
        low = high - floorl(high);
        phase = next;
    }
}

void psr_fold_block(const struct psr_fold *f, struct psr_fold_slice *s,
                    struct psr_fold_scratch *scratch, size_t block)
{
    const size_t n = f->d.block;
    for (size_t j = 0; j < s->n; j++)
        sum_band(f, s->cube, s->first + j, block, scratch->sum, scratch->band + j * n);
    const float *row = scratch->band; /* one sub-band lies as it should */
    if (s->n > 1) {
        psr_cornerturn_run(scratch->cornerturn, scratch->band, s->n, scratch->row, s->n, 0);
        psr_cornerturn_reset(scratch->cornerturn);
        row = scratch->row;
    }
    for (size_t t = 0; t < n; t += RUN)
        merge_rows(s, row + t * s->n, n - t < RUN ? n - t : RUN, scratch);
    spread_rows(f, s, row);
    s->next++;
    if (s->next % f->d.part_blocks == 0)
        psr_fold_end_part(f, s, s->next / f->d.part_blocks - 1);
}

/* --- parts ------------------------------------------------------------------------------------ */

/* As prepfold: a bin varies as the samples in it would. */
static struct psr_fold_stats make_stats(const struct psr_fold_slice *s, size_t j,
                                        const double *profile)
{
    const double nbin = (double)s->cube->cand.nbin, count = (double)s->count;
    struct psr_fold_stats st = {.numprof = nbin, .numdata = count};
    if (!s->count)
        return st;
    double avg = 0, chi = 0;
    for (size_t b = 0; b < s->cube->cand.nbin; b++)
        avg += profile[b];
    avg /= nbin;
    for (size_t b = 0; b < s->cube->cand.nbin; b++)
        chi += (profile[b] - avg) * (profile[b] - avg);
    st.data_avg = s->mean[j];
    st.data_var = count > 1 ? fmax(s->square[j], 0) / (count - 1) : 0;
    st.prof_avg = avg;
    st.prof_var = st.data_var * count / nbin;
    st.redchi = st.prof_var > 0 && nbin > 1 ? chi / (st.prof_var * (nbin - 1)) : 0;
    return st;
}

void psr_fold_end_part(const struct psr_fold *f, struct psr_fold_slice *s, size_t part)
{
    struct psr_fold_cube *cube = s->cube;
    const size_t nbin = cube->cand.nbin;
    for (size_t j = 0; j < s->n; j++) {
        const size_t at = part * f->d.nsub + s->first + j;
        double *profile = cube->profile + at * nbin;
        for (size_t b = 0; b < nbin; b++)
            profile[b] = s->sum[b * s->n + j];
        cube->stats[at] = make_stats(s, j, profile);
    }
    memset(s->sum, 0, nbin * s->n * sizeof *s->sum);
    memset(s->mean, 0, s->n * sizeof *s->mean);
    memset(s->square, 0, s->n * sizeof *s->square);
    s->count = 0;
}
