/* Boxes of one tile of starts: first a few questions that noise answers with no, then, where one
 * was answered with yes, every width. */
#include "pulscan_cpu.h"

#include "base/clones.h"

#include <math.h>
#include <string.h>

enum { LANES = 32 };

static int widest(const struct psr_pulscan_search *s)
{
    return s->z[s->nz - 1] + 1;
}

size_t psr_tile_work(const struct psr_pulscan_search *s)
{
    return (size_t)PSR_TILE + (size_t)widest(s) + 1 + PSR_TILE;
}

/* c[j] = sum of x[0 .. j-1] - j mean, j <= n.  Returned: the largest |c|. */
static float add_up(const float *x, size_t n, double mean, float *c)
{
    double sum = 0;
    float most = 0;
    c[0] = 0;
    for (size_t j = 0; j < n; j++) {
        sum += (double)x[j] - mean;
        c[j + 1] = (float)sum;
        most = fabsf(c[j + 1]) > most ? fabsf(c[j + 1]) : most;
    }
    return most;
}

/* The largest of a[j] - b[j], j < PSR_TILE. */
PSR_CLONES
static float largest_difference(const float *a, const float *b)
{
    float best[LANES];
    for (int l = 0; l < LANES; l++)
        best[l] = -INFINITY;
    for (size_t j = 0; j < PSR_TILE; j += LANES)
        for (size_t l = 0; l < LANES; l++) {
            float d = a[j + l] - b[j + l];
            best[l] = d > best[l] ? d : best[l];
        }
    for (int l = 1; l < LANES; l++)
        best[0] = best[l] > best[0] ? best[l] : best[0];
    return best[0];
}

PSR_CLONES
static float largest(const float *x, size_t n)
{
    float best[LANES];
    for (int l = 0; l < LANES; l++)
        best[l] = -INFINITY;
    size_t j = 0;
    for (; j + LANES <= n; j += LANES)
        for (size_t l = 0; l < LANES; l++)
            best[l] = x[j + l] > best[l] ? x[j + l] : best[l];
    for (; j < n; j++)
        best[0] = x[j] > best[0] ? x[j] : best[0];
    for (int l = 1; l < LANES; l++)
        best[0] = best[l] > best[0] ? best[l] : best[0];
    return best[0];
}

PSR_CLONES
static void add_row(float *restrict sum, const float *x)
{
    for (size_t j = 0; j < PSR_TILE; j++)
        sum[j] += x[j];
}

/* --- every width ------------------------------------------------------------------------------ */

struct tile {
    const struct psr_pulscan_search *s;
    size_t harm;
    int64_t first;
    const float *sum; /* [PSR_TILE] of the present width */
};

static psr_status keep_peak(const struct tile *t, size_t z, int64_t from, int64_t to,
                            struct psr_pulscan_found *found, psr_err *err)
{
    const struct psr_boxes *box = &t->s->boxes[t->harm * t->s->nz + z];
    const float *sum = t->sum + (from - t->first);
    float best = largest(sum, (size_t)(to - from));
    if (!(best > box->floor))
        return PSR_OK;
    int64_t i = 0;
    while (sum[i] != best)
        i++;
    psr_status st = psr_pulscan_room(found, 1, err);
    if (!st)
        found->peak[found->n++] = (struct psr_pulscan_peak){
            .first = from + i, .power = best, .harm = (uint32_t)t->harm, .z = (uint32_t)z};
    return st;
}

/* The blocks that the tile holds starts of. */
static psr_status keep_peaks(const struct tile *t, size_t z, struct psr_pulscan_found *found,
                             psr_err *err)
{
    const struct psr_boxes *box = &t->s->boxes[t->harm * t->s->nz + z];
    int64_t block = t->s->block, end = t->first + PSR_TILE, from = t->first;
    end = box->hi < end ? box->hi : end;
    from = box->lo > from ? box->lo : from;
    while (from < end) {
        int64_t next = ((from - 1) / block + 1) * block + 1, to = next < end ? next : end;
        psr_status st = keep_peak(t, z, from, to, found, err);
        if (st)
            return st;
        from = to;
    }
    return PSR_OK;
}

/* Widths z0 .. z1 - 1 of the list, *done bins being in the sums already. */
static psr_status search_widths(const struct tile *t, const float *x, float *sum, size_t z0,
                                size_t z1, int *done, struct psr_pulscan_found *found, psr_err *err)
{
    for (size_t z = z0; z < z1; z++) {
        for (; *done <= t->s->z[z]; ++*done)
            add_row(sum, x + *done);
        psr_status st = keep_peaks(t, z, found, err);
        if (st)
            return st;
    }
    return PSR_OK;
}

/* --- a tile ----------------------------------------------------------------------------------- */

psr_status psr_tile_search(const struct psr_pulscan_search *s, size_t harm, const float *sum,
                           int64_t first, float *work, struct psr_pulscan_found *found,
                           psr_err *err)
{
    const struct psr_prefilter *sieve = s->sieve + harm * s->nz;
    const float *x = sum + first;
    const double mean = psr_pulscan_dof(s->harm[harm], 0);
    float *c = work, *box = work + PSR_TILE + widest(s) + 1;
    /* What rounding can do to a difference, and to the sums of search_widths. */
    const float most = add_up(x, (size_t)(PSR_TILE + widest(s)), mean, c);
    const float doubt = 1e-6f * most;
    struct tile tile = {s, harm, first, box};
    size_t z0 = 0;
    int done = 0;
    for (size_t k = 0; k < s->nsieve[harm]; k++) {
        const int w = sieve[k].width;
        size_t z1 = z0;
        while (z1 < s->nz && s->z[z1] < w)
            z1++;
        float best = largest_difference(c + w, c) + (float)(w * mean);
        if (!(best < sieve[k].floor * (1 - 1e-5f) - doubt)) {
            if (done == 0)
                memset(box, 0, PSR_TILE * sizeof *box);
            psr_status st = search_widths(&tile, x, box, z0, z1, &done, found, err);
            if (st)
                return st;
        }
        z0 = z1;
    }
    return PSR_OK;
}
