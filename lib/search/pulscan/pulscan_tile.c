/* Boxes of one tile of starts: first a few questions that noise answers with no, then, where one
 * was answered with yes, every width. */
#include "pulscan_cpu.h"

#include "base/threads/clones.h"

#include <math.h>
#include <string.h>

enum { LANES = 32 };

static int widest(const struct psr_pulscan_search *s)
{
    return s->z[s->nz - 1] + 1;
}

/* Boxes of the starts so far beyond a tile can outdo its peaks. */
static int64_t margin(const struct psr_pulscan_search *s)
{
    return s->by_block ? 0 : psr_pulscan_reach(s->z[s->nz - 1]);
}

size_t psr_tile_work(const struct psr_pulscan_search *s)
{
    return (size_t)PSR_TILE + (size_t)widest(s) + 1 + PSR_TILE + 2 * (size_t)margin(s);
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
static void add_row(float *restrict sum, const float *x, size_t n)
{
    for (size_t j = 0; j < n; j++)
        sum[j] += x[j];
}

/* --- every width ------------------------------------------------------------------------------ */

struct tile {
    const struct psr_pulscan_search *s;
    size_t harm;
    int64_t first;    /* gives peaks at first .. first + PSR_TILE - 1 */
    const float *sum; /* s_H */
    float *box;       /* [count] power of the boxes that begin at from and behind */
    int64_t from, count;
    int done;  /* bins that they hold so far */
    bool wide; /* boxes reach beyond the tile by the margin */
    struct psr_pulscan_found *found;
};

static const struct psr_boxes *boxes_of(const struct tile *t, size_t z)
{
    return &t->s->boxes[t->harm * t->s->nz + z];
}

static void begin_boxes(struct tile *t, int64_t from, int64_t count)
{
    t->from = from;
    t->count = count;
    t->done = 0;
    memset(t->box, 0, (size_t)count * sizeof *t->box);
}

static void widen_boxes(struct tile *t, int bins)
{
    for (; t->done < bins; t->done++)
        add_row(t->box, t->sum + t->from + t->done, (size_t)t->count);
}

static psr_status keep(const struct tile *t, size_t z, int64_t first, psr_err *err)
{
    psr_status st = psr_pulscan_room(t->found, 1, err);
    if (!st)
        t->found->peak[t->found->n++] = (struct psr_pulscan_peak){.first = first,
                                                                  .power = t->box[first - t->from],
                                                                  .harm = (uint32_t)t->harm,
                                                                  .z = (uint32_t)z};
    return st;
}

/* --- the best of each block ------------------------------------------------------------------- */

static psr_status keep_best(const struct tile *t, size_t z, int64_t from, int64_t to, psr_err *err)
{
    const float *box = t->box + (from - t->from);
    float best = largest(box, (size_t)(to - from));
    if (!(best > boxes_of(t, z)->floor))
        return PSR_OK;
    int64_t i = 0;
    while (box[i] != best)
        i++;
    return keep(t, z, from + i, err);
}

/* The blocks that the tile holds starts of. */
static psr_status search_blocks(const struct tile *t, size_t z, int64_t from, int64_t to,
                                psr_err *err)
{
    int64_t block = t->s->block;
    while (from < to) {
        int64_t next = ((from - 1) / block + 1) * block + 1, end = next < to ? next : to;
        psr_status st = keep_best(t, z, from, end, err);
        if (st)
            return st;
        from = end;
    }
    return PSR_OK;
}

/* --- peaks ------------------------------------------------------------------------------------ */

/* Room for all that is in reach of the tile.  Most tiles do without. */
static void take_margins(struct tile *t)
{
    const int64_t n = psr_pulscan_length(t->s, t->s->harm[t->harm]), far = margin(t->s);
    const int64_t from = t->first > far ? t->first - far : 1, end = t->first + PSR_TILE;
    const int64_t last = end + far < n ? end + far : n > end ? n : end;
    const int bins = t->done;
    begin_boxes(t, from, last - from);
    widen_boxes(t, bins);
    t->wide = true;
}

/* The first of box[i + 1 .. end - 1] with more power than box[i], or end. */
static int64_t find_higher(const float *box, int64_t i, int64_t end)
{
    int64_t k = i + 1;
    while (k < end && !(box[k] > box[i]))
        k++;
    return k;
}

/* Whether any of box[from .. i - 1] has as much power as box[i]. */
static bool is_outdone(const float *box, int64_t from, int64_t i)
{
    for (int64_t k = i - 1; k >= from; k--)
        if (box[k] >= box[i])
            return true;
    return false;
}

/* Peaks among box[from .. to - 1], of any of box[lo .. hi - 1] outdone.  What a box has in its reach
 * behind it that is no higher than itself is no peak. */
static psr_status search_peaks(const struct tile *t, size_t z, int64_t from, int64_t to,
                               psr_err *err)
{
    const struct psr_boxes *all = boxes_of(t, z);
    const int64_t reach = psr_pulscan_reach(t->s->z[z]), end = t->from + t->count;
    const int64_t lo = all->lo > t->from ? all->lo - t->from : 0;
    const int64_t hi = all->hi < end ? all->hi - t->from : t->count;
    const float *box = t->box;
    psr_status st = PSR_OK;
    for (int64_t i = from - t->from; !st && i < to - t->from;) {
        if (!(box[i] > all->floor)) {
            i++;
            continue;
        }
        const int64_t far = i + reach + 1 < hi ? i + reach + 1 : hi,
                      next = find_higher(box, i, far);
        if (next == far && !is_outdone(box, i - reach > lo ? i - reach : lo, i))
            st = keep(t, z, t->from + i, err);
        i = next;
    }
    return st;
}

/* --- a tile ----------------------------------------------------------------------------------- */

psr_status psr_tile_search(const struct psr_pulscan_search *s, size_t harm, const float *sum,
                           int64_t first, float *work, struct psr_pulscan_found *found,
                           psr_err *err)
{
    const struct psr_prefilter *prefilter = s->prefilter + harm * s->nz;
    const double mean = psr_pulscan_dof(s->harm[harm], 0);
    float *c = work;
    /* What rounding can do to a difference, and to the sums of search_widths. */
    const float most = add_up(sum + first, (size_t)(PSR_TILE + widest(s)), mean, c);
    const float doubt = 1e-6f * most;
    struct tile tile = {s, harm, first, sum, work + PSR_TILE + widest(s) + 1, .found = found};
    size_t z0 = 0;
    if (psr_is_stopped(&s->stop))
        return psr_fail(err, PSR_ESTOPPED, "stopped");
    for (size_t k = 0; k < s->nprefilter[harm]; k++) {
        const int w = prefilter[k].width;
        size_t z1 = z0;
        while (z1 < s->nz && s->z[z1] < w)
            z1++;
        float best = largest_difference(c + w, c) + (float)(w * mean);
        if (!(best < prefilter[k].floor * (1 - 1e-5f) - doubt)) {
            if (tile.count == 0)
                begin_boxes(&tile, first, PSR_TILE);
            /* Widths z0 .. z1 - 1 of the list. */
            psr_status st = PSR_OK;
            for (size_t z = z0; !st && z < z1; z++) {
                const struct psr_boxes *all = boxes_of(&tile, z);
                const int64_t end = tile.first + PSR_TILE,
                              from = all->lo > tile.first ? all->lo : tile.first;
                const int64_t to = all->hi < end ? all->hi : end;
                widen_boxes(&tile, tile.s->z[z] + 1);
                if (z % 64 == 0 && psr_is_stopped(&tile.s->stop))
                    return psr_fail(err, PSR_ESTOPPED, "stopped");
                if (from >= to)
                    continue;
                if (tile.s->by_block) {
                    st = search_blocks(&tile, z, from, to, err);
                    continue;
                }
                if (!(largest(tile.box + (from - tile.from), (size_t)(to - from)) > all->floor))
                    continue;
                if (!tile.wide)
                    take_margins(&tile);
                st = search_peaks(&tile, z, from, to, err);
            }
            if (st)
                return st;
        }
        z0 = z1;
    }
    return PSR_OK;
}
