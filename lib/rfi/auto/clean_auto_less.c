/* Automatic cleaning: what to subtract of the noise that sub-bands have in common. */
#include "clean_auto_plan.h"

#include <string.h>

/* Where x belongs in n sorted floats. */
static size_t place_of(const float *sorted, size_t n, float x)
{
    size_t low = 0;
    while (n) {
        size_t half = n / 2;
        if (sorted[low + half] < x) {
            low += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return low;
}

/* Medians of the 2 h + 1 values around each of n, of those that there are. */
static void run_median(const float *x, size_t n, size_t h, float *out)
{
    float sorted[1 << PSR_AUTO_WIDTHS];
    size_t have = 0;
    for (size_t t = 0; t < n + h; t++) {
        if (t > 2 * h) {
            size_t at = place_of(sorted, have--, x[t - 2 * h - 1]);
            memmove(sorted + at, sorted + at + 1, (have - at) * sizeof *sorted);
        }
        if (t < n) {
            size_t at = place_of(sorted, have, x[t]);
            memmove(sorted + at + 1, sorted + at, (have++ - at) * sizeof *sorted);
            sorted[at] = x[t];
        }
        if (t >= h)
            out[t - h] = (float)(((double)sorted[(have - 1) / 2] + (double)sorted[have / 2]) / 2);
    }
}

/* Subtracts from n values their mean over most + 1 around each, of those that there are. */
static void take_slow(float *x, size_t n, size_t most, float *work)
{
    const size_t h = most / 2;
    int64_t sum = 0, have = 0;
    memcpy(work, x, n * sizeof *x);
    for (size_t t = 0; t < n + h; t++) {
        if (t < n) {
            sum += psr_auto_fixed(work[t]);
            have++;
        }
        if (t > 2 * h) {
            sum -= psr_auto_fixed(work[t - 2 * h - 1]);
            have--;
        }
        if (t >= h)
            x[t - h] = psr_auto_less_mean(work[t - h], sum, (size_t)have);
    }
}

static void project_block(psr_clean_auto *p, const struct psr_auto_block *b,
                          const struct psr_auto_modes *m)
{
    for (size_t t = b->first; t < b->first + b->n; t++)
        psr_auto_project(m, p->ngroup,
                         b->ncount && !p->spark[t] && !p->burst[t] ? p->sum + t * p->ngroup : NULL,
                         b->count, p->mode + t, p->window);
}

static void subtract_in_block(psr_clean_auto *p, const struct psr_auto_block *b,
                              const struct psr_auto_modes *m)
{
    for (size_t t = b->first; t < b->first + b->n; t++)
        for (size_t g = 0; g < p->ngroup; g++) {
            bool counts = b->ncount && b->count[g];
            p->less[t * p->ngroup + g] =
                counts ? psr_auto_less(m, g, b->count[g], p->median + t, p->window) : 0;
        }
}

void psr_auto_subtract(psr_clean_auto *p, const struct psr_auto_modes *m)
{
#pragma omp parallel for schedule(dynamic) num_threads(p->nthread)
    for (size_t k = 0; k < p->nrange; k++)
        project_block(p, &p->block[k], m);
#pragma omp parallel for schedule(dynamic) num_threads(p->nthread)
    for (size_t k = 0; k < m->n; k++) {
        float *a = p->mode + k * p->window, *out = p->median + k * p->window;
        run_median(a, p->n, m->width[k] / 2, out);
        if (m->slowest[k])
            take_slow(out, p->n, m->slowest[k], a);
    }
#pragma omp parallel for schedule(dynamic) num_threads(p->nthread)
    for (size_t k = 0; k < p->nrange; k++)
        subtract_in_block(p, &p->block[k], m);
}
