/* Samples of a step of the ladder: sums less their running median. */
#include "ffa_cpu.h"

#include <math.h>
#include <string.h>

/* Means of the parts. */
static void average_parts(const struct psr_ffa_step *k, const int32_t *sums, float *mu)
{
    for (size_t r = 0; r < k->nparts; r++) {
        int64_t total = 0;
        for (size_t i = 0; i < k->part; i++)
            total += sums[r * k->part + i];
        mu[r] = (float)((double)total / (double)k->part);
    }
}

static void put_in(const struct psr_ffa_loops *loops, float *sorted, size_t *n, float x)
{
    const size_t at = loops->count_below(sorted, *n, x);
    memmove(sorted + at + 1, sorted + at, (*n - at) * sizeof *sorted);
    sorted[at] = x;
    (*n)++;
}

static void take_out(const struct psr_ffa_loops *loops, float *sorted, size_t *n, float x)
{
    const size_t at = loops->count_below(sorted, *n, x);
    (*n)--;
    memmove(sorted + at, sorted + at + 1, (*n - at) * sizeof *sorted);
}

/* Running medians of mu; sorted has room for a window. */
static void find_medians(const struct psr_ffa_step *k, const struct psr_ffa_loops *loops,
                         const float *mu, float *median, float *sorted)
{
    size_t n = 0, end = 0;
    for (size_t r = 0; r < k->nparts; r++) {
        for (; end < k->nparts && end <= r + k->half; end++)
            put_in(loops, sorted, &n, mu[end]);
        if (r > k->half)
            take_out(loops, sorted, &n, mu[r - k->half - 1]);
        median[r] = sorted[(n - 1) / 2];
    }
}

/* Samples j0 .. j1 - 1 above a line: line[0] + line[1] (first + 2 i) w for the i-th of them. */
static void put_span(const struct psr_ffa_step *k, const struct psr_ffa_loops *loops,
                     const int32_t *sums, void *q, size_t j0, size_t j1, const float line[2],
                     int first)
{
    const float scale = (float)(k->units / (PSR_FFA_FINE * sqrt(k->f)));
    const float w = k->part ? (float)(1.0 / (2.0 * (double)k->part)) : 0;
    float *out = (float *)q + j0;
    sums += j0;
    if (!k->floats)
        loops->round_sums(sums, j1 - j0, line, first, w, scale, (int16_t *)q + j0);
    else
        for (size_t i = 0; i < j1 - j0; i++) {
            const float t = (float)(first + 2 * (int)i) * w, base = line[0] + line[1] * t;
            out[i] = ((float)sums[i] - base) * scale;
        }
}

void psr_ffa_cpu_sample(const struct psr_ffa_step *k, const struct psr_ffa_loops *loops,
                        const int32_t *sums, struct psr_ffa_room *room)
{
    float *mu = room->part, *median = mu + k->nparts, *sorted = median + k->nparts;
    if (!k->part) {
        put_span(k, loops, sums, room->q, 0, k->n, (const float[2]){0, 0}, 0);
        return;
    }
    average_parts(k, sums, mu);
    find_medians(k, loops, mu, median, sorted);
    /* Line r begins at the first j with 2 j - (part - 1) >= 2 part r. */
    size_t j = k->part / 2;
    put_span(k, loops, sums, room->q, 0, j, (const float[2]){median[0], 0}, 0);
    for (size_t r = 0; r + 1 < k->nparts; r++, j += k->part)
        put_span(k, loops, sums, room->q, j, j + k->part,
                 (const float[2]){median[r], median[r + 1] - median[r]}, 1 - (int)(k->part % 2));
    put_span(k, loops, sums, room->q, j, k->n, (const float[2]){median[k->nparts - 1], 0}, 0);
}
