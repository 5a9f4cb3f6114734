/* Searches spectra with boxcars on the CPU. */
#include "base/base.h"
#include "pulscan_internal.h"

#include "base/threads/isa.h"
#include "base/threads/threads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Boxes of one tile of starts: first a few questions that noise answers with no, then, where one
 * was answered with yes, every width. */

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

struct cpu {
    const struct psr_pulscan_search *s;
    struct psr_own own;
    struct psr_pulscan_series *series; /* NULL: spectra come as such */
    float *power;                      /* [nbin + pad] */
    float *sum;                        /* [nbin / 2 + pad] of two harmonics or more */
    float *work;                       /* [nthread][tile's work] */
    struct psr_norm_level *level;      /* [batch][nnorm_block] */
    const float **in;                  /* [batch] of the last execute */
    size_t pad;
    int64_t bytes;
};

static void destroy(void *state)
{
    struct cpu *c = state;
    psr_pulscan_series_destroy(c->series);
    psr_own_free(&c->own);
    free(c);
}

static double need(const struct cpu *c)
{
    const struct psr_pulscan_search *s = c->s;
    double sums = 1.5 * (double)s->nbin + 2.0 * (double)c->pad;
    double work = s->nthread * ((double)psr_tile_work(s) + 2.0 * (double)s->normblock);
    double levels = (double)s->batch * (double)s->nnorm_block * sizeof *c->level;
    double spectra = s->series ? psr_pulscan_series_bytes(s) : 8.0 * (double)(s->batch * s->nbin);
    return 4 * (sums + work) + levels + spectra + (double)s->batch * sizeof *c->in;
}

static int64_t bytes(const void *state)
{
    return ((const struct cpu *)state)->bytes;
}

static psr_status allocate(struct cpu *c, psr_err *err)
{
    const struct psr_pulscan_search *s = c->s;
    c->pad = psr_tile_work(s);
    double bytes = need(c);
    if (bytes > (double)s->mem_bytes)
        return psr_fail(err, PSR_ENOMEM, "search: %zu bins need %.0f MB, and the limit is %.0f MB",
                        s->nbin, bytes / 1e6, (double)s->mem_bytes / 1e6);
    c->bytes = (int64_t)bytes;
    c->power = psr_own(&c->own, s->nbin + c->pad, sizeof *c->power);
    c->sum = psr_own(&c->own, s->nbin / 2 + c->pad, sizeof *c->sum);
    c->work = psr_own(&c->own, (size_t)s->nthread * psr_tile_work(s), sizeof *c->work);
    c->level = psr_own(&c->own, s->batch * s->nnorm_block, sizeof *c->level);
    c->in = psr_own(&c->own, s->batch, sizeof *c->in);
    psr_status st = psr_own_check(&c->own, "a search", err);
    return st || !s->series ? st : psr_pulscan_series_create(&c->series, s, err);
}

static psr_status create(void **state, const struct psr_pulscan_search *s, psr_err *err)
{
    struct cpu *c = calloc(1, sizeof *c);
    if (!c)
        return psr_fail_nomem(err, "a search", sizeof *c);
    c->s = s;
    psr_status st = allocate(c, err);
    if (st)
        destroy(c);
    else
        *state = c;
    return st;
}

/* Series are transformed where they are. */
static float *input(void *state, size_t slot)
{
    const struct cpu *c = state;
    return c->series ? psr_pulscan_series_room(c->series, slot) : NULL;
}

/* sum[i] += power[h i] + .. + power[h i + h - 1], from the left. */
PSR_CLONES
static void add_harmonic(float *restrict sum, const float *power, size_t h, size_t n)
{
    switch (h) { /* widths that the compiler can unroll */
    case 2:
        for (size_t i = 0; i < n; i++)
            sum[i] += power[2 * i] + power[2 * i + 1];
        break;
    case 3:
        for (size_t i = 0; i < n; i++)
            sum[i] += power[3 * i] + power[3 * i + 1] + power[3 * i + 2];
        break;
    case 4:
        for (size_t i = 0; i < n; i++)
            sum[i] += power[4 * i] + power[4 * i + 1] + power[4 * i + 2] + power[4 * i + 3];
        break;
    default:
        for (size_t i = 0; i < n; i++) {
            float d = power[h * i];
            for (size_t j = 1; j < h; j++)
                d += power[h * i + j];
            sum[i] += d;
        }
    }
}

static psr_status join(struct psr_pulscan_found *all, struct psr_pulscan_found *mine, uint32_t spec,
                       psr_err *err)
{
    psr_status st = psr_pulscan_room(all, mine->n, err);
    for (size_t i = 0; !st && i < mine->n; i++) {
        all->peak[all->n] = mine->peak[i];
        all->peak[all->n++].spec = spec;
    }
    free(mine->peak);
    return st;
}

static psr_status search_sum(struct cpu *c, size_t harm, const float *sum, uint32_t spec,
                             struct psr_pulscan_found *found, struct psr_progress *progress,
                             psr_err *err)
{
    const struct psr_pulscan_search *s = c->s;
    const int64_t n = psr_pulscan_length(s, s->harm[harm]);
    const size_t room = psr_tile_work(s);
    psr_status st = PSR_OK;
#pragma omp parallel num_threads(s->nthread)
    {
        struct psr_pulscan_found mine = {.most = found->most};
        float *work = c->work + (size_t)psr_thread_number() * room;
        psr_err why;
        psr_status mist = PSR_OK;
#pragma omp for schedule(dynamic)
        for (int64_t first = 1; first < n; first += PSR_TILE) {
            if (!mist)
                mist = psr_tile_search(s, harm, sum, first, work, &mine, &why);
            psr_progress_add(progress, 1);
        }
#pragma omp critical(psr_pulscan_join)
        {
            psr_status jst = join(found, &mine, spec, &why);
            mist = mist ? mist : jst;
            if (mist && !st) {
                st = mist;
                if (err)
                    *err = why;
            }
        }
    }
    return st;
}

static psr_status search_one(struct cpu *c, uint32_t spec, struct psr_pulscan_found *found,
                             struct psr_progress *work, psr_err *err)
{
    const struct psr_pulscan_search *s = c->s;
    psr_status st = psr_pulscan_powers(s, c->in[spec], c->level + spec * s->nnorm_block, c->power,
                                       &found->bad[spec], err);
    if (st || found->bad[spec] >= 0)
        return st;
    for (int h = 1, k = 0; !st && (size_t)k < s->nharm; h++) {
        if (h > 1) {
            /* From the sum of h - 1 harmonics to that of h. */
            enum { PIECE = 16384 };
            const int64_t n = psr_pulscan_length(c->s, h);
            if (h == 2)
                memcpy(c->sum, c->power, (size_t)n * sizeof *c->sum);
#pragma omp parallel for schedule(static) num_threads(c->s->nthread)
            for (int64_t i = 0; i < n; i += PIECE)
                add_harmonic(c->sum + i, c->power + h * i, (size_t)h,
                             (size_t)(n - i < PIECE ? n - i : PIECE));
            memset(c->sum + n, 0, c->pad * sizeof *c->sum);
        }
        if (h == s->harm[k])
            st = search_sum(c, (size_t)k++, h == 1 ? c->power : c->sum, spec, found, work, err);
    }
    return st;
}

/* Tiles of a spectrum. */
static int64_t count_tiles(const struct psr_pulscan_search *s)
{
    int64_t n = 0;
    for (size_t k = 0; k < s->nharm; k++)
        n += (psr_pulscan_length(s, s->harm[k]) + PSR_TILE - 2) / PSR_TILE;
    return n;
}

static psr_status execute(void *state, size_t nspec, const float *const *in,
                          struct psr_pulscan_found *found, psr_err *err)
{
    struct cpu *c = state;
    struct psr_progress work = {&c->s->stop, 0, (int64_t)nspec * count_tiles(c->s)};
    psr_status st = PSR_OK;
    if (c->series)
        st = psr_pulscan_series_transform(c->series, nspec, in, found->bad, err);
    for (size_t i = 0; !st && i < nspec; i++) {
        c->in[i] = c->series ? psr_pulscan_series_spectrum(c->series, i) : in[i];
        if (found->bad[i] < 0)
            st = search_one(c, (uint32_t)i, found, &work, err);
    }
    return st;
}

static psr_status amplitudes(void *state, size_t slot, int64_t first, size_t n, float *x,
                             psr_err *err)
{
    const struct cpu *c = state;
    const struct psr_pulscan_search *s = c->s;
    (void)err;
    for (size_t i = 0; i < n; i++) {
        int64_t k = first + (int64_t)i;
        const struct psr_norm_level *level =
            &c->level[slot * s->nnorm_block + (size_t)k / (size_t)(s->norm_block[0].end)];
        for (int part = 0; part < 2; part++)
            x[2 * i + (size_t)part] =
                (c->in[slot][2 * k + part] - level->median[part]) * level->scale[part];
    }
    return PSR_OK;
}

const struct psr_pulscan_ops psr_pulscan_cpu = {
    .name = "cpu",
    .create = create,
    .input = input,
    .execute = execute,
    .amplitudes = amplitudes,
    .bytes = bytes,
    .destroy = destroy,
};
