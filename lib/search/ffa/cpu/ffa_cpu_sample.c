/* Samples of a step of the ladder: sums between boundaries, less their running median. */
#include "ffa_cpu.h"

#include "base/threads/isa.h"

#include <math.h>
#include <string.h>

static void sum_between(const struct psr_ffa_step *k, const uint32_t *prefix, int32_t *sums)
{
    uint32_t before = 0;
    for (size_t j = 0; j < k->n; j++) {
        const uint32_t after = prefix[psr_ffa_boundary(k, j + 1)];
        sums[j] = (int32_t)(after - before);
        before = after;
    }
}

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

static size_t place_of(const float *sorted, size_t n, float x)
{
    size_t at = 0;
    for (size_t i = 0; i < n; i++)
        at += sorted[i] < x;
    return at;
}

static void put_in(float *sorted, size_t *n, float x)
{
    const size_t at = place_of(sorted, *n, x);
    memmove(sorted + at + 1, sorted + at, (*n - at) * sizeof *sorted);
    sorted[at] = x;
    (*n)++;
}

static void take_out(float *sorted, size_t *n, float x)
{
    const size_t at = place_of(sorted, *n, x);
    (*n)--;
    memmove(sorted + at, sorted + at + 1, (*n - at) * sizeof *sorted);
}

/* Running medians of mu; sorted has room for a window. */
static void find_medians(const struct psr_ffa_step *k, const float *mu, float *median,
                         float *sorted)
{
    size_t n = 0, end = 0;
    for (size_t r = 0; r < k->nparts; r++) {
        for (; end < k->nparts && end <= r + k->half; end++)
            put_in(sorted, &n, mu[end]);
        if (r > k->half)
            take_out(sorted, &n, mu[r - k->half - 1]);
        median[r] = sorted[(n - 1) / 2];
    }
}

static void put(const struct psr_ffa_step *k, void *q, size_t j, float y)
{
    const float magic = 12582912;
    if (k->floats) {
        ((float *)q)[j] = y;
        return;
    }
    y = y > -32767 ? y : -32767;
    y = y < 32767 ? y : 32767;
    ((int16_t *)q)[j] = (int16_t)((y + magic) - magic);
}

/* Samples j0 .. j1 - 1 above a line: base + slope (first + 2 i) w for the i-th of them. */
static void put_span(const struct psr_ffa_step *k, const int32_t *sums, size_t j0, size_t j1,
                     const float line[2], size_t first, void *q)
{
    const float scale = (float)(k->units / (PSR_FFA_FINE * sqrt(k->f)));
    const float w = k->part ? (float)(1.0 / (2.0 * (double)k->part)) : 0;
    for (size_t j = j0; j < j1; j++) {
        const float t = (float)(first + 2 * (j - j0)) * w;
        put(k, q, j, ((float)sums[j] - (line[0] + line[1] * t)) * scale);
    }
}

void psr_ffa_cpu_sample(const struct psr_ffa_search *s, const struct psr_ffa_step *k,
                        const uint32_t *prefix, struct psr_ffa_room *room)
{
    float *mu = room->part, *median = mu + k->nparts, *sorted = median + k->nparts;
    (void)s;
    sum_between(k, prefix, room->sums);
    if (!k->part) {
        put_span(k, room->sums, 0, k->n, (const float[2]){0, 0}, 0, room->q);
        return;
    }
    average_parts(k, room->sums, mu);
    find_medians(k, mu, median, sorted);
    /* Line r begins at the first j with 2 j - (part - 1) >= 2 part r. */
    size_t j = k->part / 2;
    put_span(k, room->sums, 0, j, (const float[2]){median[0], 0}, 0, room->q);
    for (size_t r = 0; r + 1 < k->nparts; r++, j += k->part)
        put_span(k, room->sums, j, j + k->part,
                 (const float[2]){median[r], median[r + 1] - median[r]}, 1 - k->part % 2, room->q);
    put_span(k, room->sums, j, k->n, (const float[2]){median[k->nparts - 1], 0}, 0, room->q);
}
