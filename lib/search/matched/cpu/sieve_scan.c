/* Sums bounds over harmonics, and powers where the sum of bounds exceeds the threshold. */
#include "search/matched/cpu/sieve.h"

#include "base/base.h"
#include "base/threads/isa.h"

#include <stdlib.h>
#include <string.h>

/* --- inner loops of each instruction set ------------------------------------------------------ */

/* A code is bits 20 to 27 of a float, from the exponent of 2^-6 on. */
enum { CUT_BITS = 20, ROUND_UP = (1 << CUT_BITS) - 1, LEAST_CODE = (127 - 6) << 3 };

typedef uint8_t bytes __attribute__((vector_size(SIEVE_LANES)));
typedef uint8_t any_bytes __attribute__((vector_size(SIEVE_LANES), aligned(1), may_alias));
typedef uint32_t words __attribute__((vector_size(4 * SIEVE_LANES)));
typedef float floats __attribute__((vector_size(4 * SIEVE_LANES)));
typedef float any_floats __attribute__((vector_size(4 * SIEVE_LANES), aligned(4), may_alias));
#define GET_BYTES(p)     ((bytes)(*(const any_bytes *)(p)))
#define GET_FLOATS(p)    ((floats)(*(const any_floats *)(p)))
#define PUT_FLOATS(p, v) (*(any_floats *)(p) = (v))

#define LOOPS(s)                                                                                   \
    {                                                                                              \
        encode_##s, decode_##s, add_##s, find_##s                                                  \
    }

#define PSR_LANES "search/matched/cpu/sieve_lanes.h"
#include "base/threads/isa_lanes.h"

static const struct psr_sieve_loops loops[PSR_NISA] = PSR_ISA_EACH(LOOPS);

const struct psr_sieve_loops *psr_sieve_loops_choose(void)
{
    return &loops[psr_isa_find()];
}

static void sieve_map_make(struct psr_sieve_map *map, int h, int log)
{
    map->h = h;
    map->log = log;
    for (int odd = 0; odd < 2; odd++)
        for (int k = 0; k < SIEVE_LANES; k++) {
            int first = SIEVE_LANES * odd;
            map->offset[odd][k] = (uint8_t)((((first + k) * h) >> log) - ((first * h) >> log));
        }
}

/* The power that a code stands for. */
static float sieve_decode(uint8_t code)
{
    uint32_t bits = (uint32_t)(code + LEAST_CODE) << CUT_BITS;
    float power;
    memcpy(&power, &bits, sizeof power);
    return power;
}

/* --- harmonic sums of the half bins of a cell, by their definition ---------------------------- */

static int reach_of(const struct psr_accel_search *s, int k)
{
    return psr_template_reach(psr_harmonic_step(s->jmax, k, s->numharm),
                              psr_harmonic_step(s->lmax, k, s->numharm));
}

psr_status psr_cell_sums_create(struct psr_cell_sums *c, const struct psr_accel_search *s,
                                const struct psr_template_bank *bank, psr_err *err)
{
    *c = (struct psr_cell_sums){.s = s, .bank = bank, .cell = psr_cell_size(s->numharm), .i = -1};
    psr_status st = PSR_OK;
    for (int k = 1; k <= s->numharm && !st; k++) {
        c->reach[k] = reach_of(s, k);
        st = psr_direct_create(&c->near[k], c->reach[k], PSR_MOST_CELL, err);
    }
    return st;
}

void psr_cell_sums_clear(struct psr_cell_sums *c)
{
    for (int k = 1; k <= PSR_ACCELSEARCH_MAX_HARM; k++)
        psr_direct_clear(&c->near[k]);
}

/* Bytes that it takes. */
static double cell_sums_bytes(const struct psr_accel_search *s)
{
    double bins = 0;
    for (int k = 1; k <= s->numharm; k++)
        bins += 2.0 * reach_of(s, k) + 24;
    return 8 * bins;
}

void psr_cell_sums_move(struct psr_cell_sums *c, const struct psr_accel_normalise *norm, int64_t i)
{
    if (i != c->i || norm != c->norm)
        memset(c->loaded, 0, sizeof c->loaded);
    c->i = i;
    c->norm = norm;
}

void psr_cell_sums_add(struct psr_cell_sums *c, float sum[PSR_MOST_CELL], int j, int l, int h,
                       int log)
{
    const int H = 1 << log, k = h * (c->s->numharm >> log);
    const size_t t = psr_template_number(c->bank->jmax, c->bank->lmax, psr_harmonic_step(j, h, H),
                                         psr_harmonic_step(l, h, H));
    int64_t last = -1;
    float power = 0;
    if (!c->loaded[k])
        psr_direct_load(&c->near[k], c->norm, psr_harmonic_bin(c->i, h, H), c->reach[k], c->cell);
    c->loaded[k] = true;
    for (int n = 0; n < c->cell; n++) {
        int64_t here = psr_harmonic_bin(c->i + n, h, H);
        if (here != last)
            power = psr_direct_power(&c->near[k], c->bank, t, here);
        last = here;
        sum[n] += power;
    }
}

static bool is_better(const struct psr_accel_hit *a, const struct psr_accel_hit *b)
{
    if (a->power > b->power || a->power < b->power)
        return a->power > b->power;
    if (a->l != b->l || a->j != b->j)
        return a->l != b->l ? a->l < b->l : a->j < b->j;
    return a->i < b->i;
}

void psr_cell_sums_keep(const struct psr_cell_sums *c, const float sum[PSR_MOST_CELL], int j, int l,
                        int stage, struct psr_accel_hit *best)
{
    for (int n = 0; n < c->cell; n++) {
        struct psr_accel_hit hit = {c->i + n, j, l, stage, sum[n]};
        if (hit.i >= c->s->ilo && hit.i <= c->s->ihi && is_better(&hit, best))
            *best = hit;
    }
}

enum { TILE = 8 * SIEVE_SPAN, MOST_ENTRIES = 1 << 18, LINE = 64 };

static const double ROUNDING = 1e-5; /* of sums in another order */

/* A bound above the cut: of a cell of the tile, and of drift and jerk. */
struct entry {
    float bound;
    uint16_t cell;
    int16_t j, l, stage;
};

struct scanner {
    const struct psr_sieve *v;
    struct psr_sieve_map map[PSR_ACCELSEARCH_NSTAGE][PSR_ACCELSEARCH_MAX_HARM]; /* [stage][h] */
    float *bound;                                                               /* [TILE] */
    struct entry *entry;                                                        /* [MOST_ENTRIES] */
    size_t nentry;
    struct psr_accel_hit *best; /* [TILE][nstage], power 0: none yet */
    struct psr_cell_sums sums;
    int64_t first; /* cell of the tile */
    struct psr_accel_hits hits;
};

/* --- create and destroy ----------------------------------------------------------------------- */

double psr_sieve_scan_bytes(const struct psr_sieve *v)
{
    return cell_sums_bytes(v->s) + 4.0 * TILE + (double)MOST_ENTRIES * sizeof(struct entry) +
           (double)TILE * v->s->nstage * sizeof(struct psr_accel_hit);
}

static psr_status scanner_make(struct scanner **out, const struct psr_sieve *v, psr_err *err)
{
    struct scanner *n = calloc(1, sizeof *n);
    *out = n;
    if (!n)
        return psr_fail_nomem(err, "a sieve", sizeof *n);
    n->v = v;
    for (int stage = 1; stage < v->s->nstage; stage++)
        for (int h = 1; h < 1 << stage; h += 2)
            sieve_map_make(&n->map[stage][h], h, stage);
    n->bound = psr_line_alloc(TILE);
    n->entry = malloc(MOST_ENTRIES * sizeof *n->entry);
    n->best = calloc((size_t)TILE * (size_t)v->s->nstage, sizeof *n->best);
    if (!n->bound || !n->entry || !n->best)
        return psr_fail_nomem(err, "a sieve", psr_sieve_scan_bytes(v));
    return psr_cell_sums_create(&n->sums, v->s, v->bank, err);
}

static const uint8_t *row_of(const struct psr_sieve_strip *t, int j, int l)
{
    return t->code + psr_template_number(t->jmax, t->lmax, j, l) * t->pitch;
}

/* --- powers ----------------------------------------------------------------------------------- */

/* The bounds of all harmonics of a sum, in its order, and their sum. */
static double gather_bounds(const struct scanner *n, const struct entry *e,
                            float bound[PSR_ACCELSEARCH_MAX_HARM])
{
    double sum = 0;
    int k = 0;
    for (int stage = 0; stage <= e->stage; stage++)
        for (int h = 1; h < 1 << stage || h == 1; h += 2) {
            /* The bound that the sieve has for harmonic h of H. */
            const int H = 1 << stage;
            const struct psr_sieve_strip *t = psr_sieve_strip_of(n->v, h, stage);
            const int64_t cell = ((n->first + e->cell) * h) >> stage;
            const uint8_t *code =
                row_of(t, psr_harmonic_step(e->j, h, H), psr_harmonic_step(e->l, h, H)) +
                (cell - t->origin);
            bound[k] = sieve_decode(stage == 0 || code[0] > code[1] ? code[0] : code[1]);
            sum += (double)bound[k++];
        }
    return sum;
}

static float most_of(const float *x, int n)
{
    float most = x[0];
    for (int i = 1; i < n; i++)
        most = x[i] > most ? x[i] : most;
    return most;
}

/* Sums the powers of an entry, unless it becomes clear that the sum will be no better than least. */
static void sum_powers(struct scanner *n, const struct entry *e, float least)
{
    struct psr_accel_hit *best = &n->best[(size_t)e->cell * (size_t)n->v->s->nstage];
    float sum[PSR_MOST_CELL] = {0}, bound[PSR_ACCELSEARCH_MAX_HARM];
    double rest = gather_bounds(n, e, bound);
    const bool bounded = rest < (double)SIEVE_MOST;
    psr_cell_sums_move(&n->sums, n->v->norm, (n->first + e->cell) * n->v->cell);
    for (int stage = 0, k = 0; stage <= e->stage; stage++) {
        for (int h = 1; h < 1 << stage || h == 1; h += 2) {
            rest -= (double)bound[k++];
            psr_cell_sums_add(&n->sums, sum, e->j, e->l, h, stage);
            double most = rest + (double)most_of(sum, n->v->cell);
            if (bounded && most < (double)least * (1 - ROUNDING))
                return;
        }
        psr_cell_sums_keep(&n->sums, sum, e->j, e->l, stage, &best[stage]);
    }
}

/* By cell, the highest bound first. */
PSR_COMPARE(by_cell_and_bound, struct entry, PSR_THEN(PSR_RISING(cell), PSR_FALLING(bound)));

/* Sums the powers of all entries that may be best.  A bound at the top of its range bounds nothing. */
static void sum_entries(struct scanner *n)
{
    qsort(n->entry, n->nentry, sizeof *n->entry, by_cell_and_bound);
    for (size_t k = 0; k < n->nentry; k++) {
        const struct entry *e = &n->entry[k];
        const float cut = n->v->s->cut[e->stage];
        float best = n->best[(size_t)e->cell * (size_t)n->v->s->nstage + (size_t)e->stage].power;
        if (e->bound >= best || e->bound >= SIEVE_MOST)
            sum_powers(n, e, best > cut ? best : cut);
    }
    n->nentry = 0;
}

/* --- bounds ----------------------------------------------------------------------------------- */

static void note_bounds(struct scanner *n, int j, int l, int stage, size_t ncell)
{
    const float cut = n->v->s->cut[stage];
    for (size_t at = 0; (at = n->v->loops->find(n->bound, at, ncell, cut)) < ncell;) {
        if (n->nentry + SIEVE_SPAN > MOST_ENTRIES)
            sum_entries(n);
        for (size_t end = at + SIEVE_SPAN; at < end; at++)
            if (n->bound[at] > cut)
                n->entry[n->nentry++] = (struct entry){n->bound[at], (uint16_t)at, (int16_t)j,
                                                       (int16_t)l, (int16_t)stage};
    }
}

/* Bounds of harmonic h of 2^log that the sum of a drift and jerk reads, from the strip's origin. */
static const uint8_t *row_for(const struct scanner *n, int j, int l, int h, int log)
{
    const int H = 1 << log;
    return row_of(psr_sieve_strip_of(n->v, h, log), psr_harmonic_step(j, h, H),
                  psr_harmonic_step(l, h, H));
}

/* The first of them that the tile reads. */
static int64_t offset_in_row(const struct scanner *n, int h, int log)
{
    return ((n->first * h) >> log) - psr_sieve_strip_of(n->v, h, log)->origin;
}

/* Rows are so far apart that no processor foresees which comes next.  Inlined, as GCC drops calls of
 * functions that do nothing but fetch. */
static inline __attribute__((always_inline)) void prefetch(const uint8_t *code, size_t n)
{
    for (size_t at = 0; at <= n; at += LINE)
        __builtin_prefetch(code + at);
}

static psr_status scan_tile(struct scanner *n, int64_t first, size_t ncell, psr_err *err)
{
    const struct psr_accel_search *s = n->v->s;
    const size_t nstage = (size_t)s->nstage, nbest = ncell * nstage;
    psr_status st = PSR_OK;
    n->first = first;
    memset(n->best, 0, nbest * sizeof *n->best);
    for (int l = -s->lmax; l <= s->lmax; l++) {
        if (psr_is_stopped(&s->stop))
            return psr_fail(err, PSR_ESTOPPED, "stopped");
        for (int j = -s->jmax; j <= s->jmax; j++) {
            /* Sums the bounds of one drift and jerk of the highest harmonic over the tile, and
             * fetches those of the next drift. */
            const struct psr_sieve *v = n->v;
            const int next = j < v->s->jmax ? j + 1 : j;
            const size_t ngroup = ncell / SIEVE_LANES;
            prefetch(row_for(n, next, l, 1, 0) + offset_in_row(n, 1, 0), ncell);
            v->loops->decode(n->bound, row_for(n, j, l, 1, 0) + offset_in_row(n, 1, 0), ngroup);
            note_bounds(n, j, l, 0, ncell);
            for (int stage = 1; stage < v->s->nstage; stage++) {
                for (int h = 1; h < 1 << stage; h += 2) {
                    prefetch(row_for(n, next, l, h, stage) + offset_in_row(n, h, stage),
                             (ncell * (size_t)h) >> stage);
                    v->loops->add(n->bound, row_for(n, j, l, h, stage),
                                  psr_sieve_strip_of(v, h, stage)->origin, &n->map[stage][h],
                                  n->first / SIEVE_LANES, ngroup);
                }
                note_bounds(n, j, l, stage, ncell);
            }
        }
    }
    sum_entries(n);
    for (const struct psr_accel_hit *cell = n->best; cell < n->best + nbest; cell += nstage)
        for (size_t k = 0; k < nstage && !st; k++)
            if (cell[k].power > s->cut[k]) {
                st = psr_grow(&n->hits.hit, &n->hits.room, n->hits.n, sizeof *n->hits.hit, "hits",
                              err);
                if (!st)
                    n->hits.hit[n->hits.n++] = cell[k];
            }
    return st;
}

static psr_status join(struct psr_accel_hits *all, const struct psr_accel_hits *mine, psr_err *err)
{
    for (size_t k = 0; k < mine->n; k++) {
        psr_status st = psr_grow(&all->hit, &all->room, all->n, sizeof *all->hit, "hits", err);
        if (st)
            return st;
        all->hit[all->n++] = mine->hit[k];
    }
    return PSR_OK;
}

psr_status psr_sieve_scan(const struct psr_sieve *v, int64_t first, int64_t count,
                          struct psr_accel_hits *hits, struct psr_progress *work, psr_err *err)
{
    psr_status all = PSR_OK;
#pragma omp parallel num_threads(v->s->nthread)
    {
        struct scanner *n;
        psr_err why;
        psr_status st = scanner_make(&n, v, &why);
#pragma omp for schedule(dynamic)
        for (int64_t from = first; from < first + count; from += TILE) {
            int64_t left = first + count - from;
            if (!st)
                st = scan_tile(n, from, (size_t)(left < TILE ? left : TILE), &why);
            psr_progress_add(work, left < TILE ? left : TILE);
        }
#pragma omp critical(psr_sieve)
        {
            if (!st)
                st = join(hits, &n->hits, &why);
            if (st && !all) {
                all = st;
                if (err)
                    *err = why;
            }
        }
        if (n) {
            psr_cell_sums_clear(&n->sums);
            free(n->bound);
            free(n->entry);
            free(n->best);
            free(n->hits.hit);
            free(n);
        }
    }
    return all;
}
