/* Removes red noise from spectra with local medians, in PRESTO's blocks. */
#include "dsp/dsp.h"
#include "formats/series/series_internal.h"
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_MAX = 1 << 20, BLOCK_PRESTO = 500, BLOCK_WIDER = 100 }; /* bins */

/* Bins [first, first + n), of mean power level at bin first + n / 2. */
struct block {
    int64_t first, n;
    double level;
};

/* PRESTO looks at stop_bin from the third block on. */
int64_t psr_redden_length(const struct psr_redden *how, int64_t k, int64_t nbin)
{
    int64_t n = k > 1 ? (int64_t)(how->start * log((double)k)) : how->start;
    bool grows = (double)k < how->stop_bin || k <= 1 + how->start;
    if (n >= how->end || !grows) {
        /* PRESTO takes no blocks longer than 500.  Longer ones come by and by: over an eighth of their
         * frequency noise of any power law is a line, nearly, and a short block's bad median does not reach
         * far. */
        int64_t most = k / 8 > BLOCK_WIDER ? k / 8 : BLOCK_WIDER;
        n = how->end <= BLOCK_PRESTO || how->end < most ? how->end : most;
    }
    const int64_t rest = nbin - k, least = how->join_rest ? n + n / 2 : n;
    return rest < least ? rest : n;
}

size_t psr_redden_blocks(const struct psr_redden *how, int64_t nbin, struct psr_span *block)
{
    size_t n = 0;
    for (int64_t k = 1, each; k < nbin; k += each, n++) {
        each = psr_redden_length(how, k, nbin);
        if (block)
            block[n] = (struct psr_span){k, each};
    }
    return n;
}

/* PRESTO keeps medians, levels and slopes in single precision. */
static double round_level(double x, bool presto)
{
    return presto ? (double)(float)x : x;
}

static void measure_block(struct block *b, const float *x, float *power, bool presto)
{
    for (int64_t i = 0; i < b->n; i++) {
        const float *bin = x + 2 * (b->first + i);
        power[i] = bin[0] * bin[0] + bin[1] * bin[1];
    }
    const double median = round_level(psr_quantile_median(power, (size_t)b->n), presto);
    b->level = round_level(median / M_LN2, presto);
}

/* Levels on a line through level at bin from; presto: in single precision. */
struct line {
    double level, slope;
    bool presto;
};

static float scale_at(const struct line *line, int64_t distance)
{
    if (line->presto)
        return psr_rough_inverse_root((float)line->level + (float)line->slope * (float)distance);
    double here = line->level + line->slope * (double)distance;
    return here > 0 ? (float)(1 / sqrt(here)) : 0;
}

/* Bins [from, to). */
static void scale_bins(float *x, int64_t from, int64_t to, struct line line)
{
    for (int64_t k = from; k < to; k++) {
        float scale = scale_at(&line, k - from);
        x[2 * k] *= scale;
        x[2 * k + 1] *= scale;
    }
}

psr_status psr_spectrum_deredden(float *x, int64_t nbin, const struct psr_redden *how, psr_err *err)
{
    if (how->start < 2 || how->start > BLOCK_MAX)
        return psr_fail_field(err, PSR_EINVAL, "start",
                              "de-reddening: first block of %d bins, must be 2 to %d", how->start,
                              BLOCK_MAX);
    if (how->end < how->start || how->end > BLOCK_MAX)
        return psr_fail_field(err, PSR_EINVAL, "end",
                              "de-reddening: last block of %d bins, must be %d to %d", how->end,
                              how->start, BLOCK_MAX);

    const size_t longest = (size_t)how->end * 3 / 2; /* with a rest that joined */
    float *power = malloc(longest * sizeof *power);
    if (!power)
        return psr_fail_nomem(err, "de-reddening", (double)longest * sizeof *power);
    if (nbin > 1) {
        /* Between the middles of two blocks the level is a line.  Before the first middle it is
         * constant, and beyond the last it goes on as it went before. */
        struct block old = {.first = 1, .n = psr_redden_length(how, 1, nbin)};
        double slope = 0;
        measure_block(&old, x, power, how->presto);
        int64_t middle = old.first + old.n / 2;
        scale_bins(x, old.first, middle, (struct line){old.level, 0, how->presto});
        for (int64_t k = old.first + old.n; k < nbin; k += old.n) {
            struct block next = {.first = k, .n = psr_redden_length(how, k, nbin)};
            measure_block(&next, x, power, how->presto);
            slope =
                round_level(next.level - old.level, how->presto) / (0.5 * (double)(old.n + next.n));
            scale_bins(x, middle, next.first + next.n / 2,
                       (struct line){old.level, slope, how->presto});
            middle = next.first + next.n / 2;
            old = next;
        }
        scale_bins(x, middle, nbin, (struct line){old.level, slope, how->presto});
    }
    if (nbin > 0) {
        x[0] = 1;
        x[1] = 0;
    }
    free(power);
    return PSR_OK;
}

/* --- subtracts the line between the ends of a series, from the series or its spectrum --------- */

/* Samples whose mean an end is: with so many the line that white noise has moves no bin beyond the
 * first ten.  An even number, so that the Nyquist frequency adds nothing. */
static int64_t end_samples(int64_t n)
{
    int64_t m = n / 2048 * 2;
    return m < 2 ? 2 : m;
}

void psr_series_detrend_ends(float *x, int64_t n)
{
    const int64_t m = end_samples(n);
    double step = 0;
    if (n < 2 * m)
        return;
    for (int64_t t = 0; t < m; t++)
        step += (double)x[n - m + t] - (double)x[t];
    const double slope = step / (double)m / (double)(n - m), middle = (double)(n - 1) / 2;
    if (!isfinite(slope))
        return;
    for (int64_t t = 0; t < n; t++)
        x[t] = (float)((double)x[t] - slope * ((double)t - middle));
}

/* The mean of the last m samples less that of the first: of bin k they see 4 / m n times
 * sin^2(pi k m / n) (Im X_k cot(pi k / n) - Re X_k).  What there is beyond 64 n / m
 * bins is 0.15 % of a line. */
static double step_of_spectrum(const float *x, int64_t n, int64_t m)
{
    double sum = 0;
    for (int64_t k = 1; k < n / 2 && k <= 64 * n / m; k++) {
        double angle = M_PI * (double)k / (double)n, seen = sin(angle * (double)m);
        sum += seen * seen * ((double)x[2 * k + 1] / tan(angle) - (double)x[2 * k]);
    }
    return 4 * sum / ((double)m * (double)n);
}

/* A line of slope 1 has n (i cot(pi k / n) - 1) / 2 in bin k. */
void psr_spectrum_detrend_ends(float *x, int64_t nbin)
{
    const int64_t n = 2 * nbin, m = end_samples(n);
    if (n < 2 * m)
        return;
    const double height = step_of_spectrum(x, n, m) / (double)(n - m) * (double)n / 2;
    const double step_cos = cos(M_PI / (double)n), step_sin = sin(M_PI / (double)n);
    double c = step_cos, s = step_sin; /* of pi k / n, but for a factor that c / s has not */
    if (!isfinite(height))
        return;
    for (int64_t k = 1; k < nbin; k++) {
        x[2 * k] = (float)((double)x[2 * k] + height);
        x[2 * k + 1] = (float)((double)x[2 * k + 1] - height * c / s);
        double next = c * step_cos - s * step_sin;
        s = c * step_sin + s * step_cos;
        c = next;
    }
}
