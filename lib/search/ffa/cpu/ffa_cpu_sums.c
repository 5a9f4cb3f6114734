/* Sums of a series between the boundaries of several steps, tile by tile, so that samples are read from
 * memory once. */
#include "ffa_cpu.h"

#include <string.h>

enum { TILE = 4 * PSR_FFA_BLOCK };

/* Where a step stands. */
struct progress {
    uint64_t at;     /* the next boundary, as in psr_ffa_boundary, before it is shifted */
    uint32_t before; /* prefix sum at the last one */
    size_t done;     /* samples */
};

/* Integers of n samples from x on; n is at most TILE. */
static void round_tile(const struct psr_ffa_loops *loops, const struct psr_ffa_series *series,
                       const float *x, size_t n, int32_t *value)
{
    float some[TILE];
    if (n < TILE) {
        memset(some, 0, sizeof some);
        x = memcpy(some, x, n * sizeof *some);
    }
    loops->round_samples(x, TILE, series->centre, series->scale, value);
}

/* Sets samples in gaps to 0. */
static void clear_gaps(const struct psr_ffa_search *s, size_t first, size_t n, size_t *gap,
                       int32_t *value)
{
    const int64_t begin = (int64_t)first, end = begin + (int64_t)n;
    while (*gap < s->ngap && s->gap[*gap].first + s->gap[*gap].count <= begin)
        ++*gap;
    for (size_t g = *gap; g < s->ngap && s->gap[g].first < end; g++) {
        const int64_t last = s->gap[g].first + s->gap[g].count;
        const int64_t lo = s->gap[g].first > begin ? s->gap[g].first : begin;
        const int64_t hi = last < end ? last : end;
        memset(value + (lo - begin), 0, (size_t)(hi - lo) * sizeof *value);
    }
}

/* Samples of a step that end within the tile: total [n + 1] are prefix sums of samples first .. */
static void sum_tile(const struct psr_ffa_step *k, struct progress *p, const uint32_t *total,
                     size_t first, size_t n, int32_t *sums)
{
    const uint64_t last = (uint64_t)((first + n) / k->granule + 1) << 32;
    uint64_t at = p->at;
    uint32_t before = p->before;
    if (at >= last)
        return;
    size_t end = p->done + (size_t)((last - at + k->advance - 1) / k->advance);
    end = end < k->n ? end : k->n;
    for (size_t j = p->done; j < end; j++, at += k->advance) {
        const uint32_t after = total[(size_t)(at >> 32) * k->granule - first];
        sums[j] = (int32_t)(after - before);
        before = after;
    }
    *p = (struct progress){at, before, end};
}

void psr_ffa_cpu_sum(const struct psr_ffa_search *s, const struct psr_ffa_loops *loops,
                     const float *x, struct psr_ffa_series *series, size_t nstep,
                     const struct psr_ffa_step *step)
{
    struct progress p[PSR_FFA_GROUP];
    int32_t value[TILE];
    uint32_t total[TILE + 1] = {0};
    size_t gap = 0;
    for (size_t i = 0; i < nstep; i++)
        p[i] = (struct progress){step[i].advance + (UINT64_C(1) << 31), 0, 0};
    for (size_t first = 0; first < s->nsamp; first += TILE) {
        const size_t n = s->nsamp - first < TILE ? s->nsamp - first : TILE;
        round_tile(loops, series, x + first, n, value);
        clear_gaps(s, first, n, &gap, value);
        for (size_t i = 0; i < n; i++)
            total[i + 1] = total[i] + (uint32_t)value[i];
        for (size_t i = 0; i < nstep; i++)
            sum_tile(&step[i], &p[i], total, first, n, series->sums + step[i].sums0);
        total[0] = total[n];
    }
}
