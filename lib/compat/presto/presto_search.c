/* Searches block by block as accelsearch does, with a plane per harmonic or one plane in memory. */
#include "presto_internal.h"

#include "base/threads/isa.h"
#include "base/threads/threads.h"
#include "base/tool.h"
#include "search/matched/cpu/sieve.h"
#include "stats/stats.h"
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* --- keeps the list of candidates as accelsearch does: neighbours and order ------------------- */

/* The first candidate but the last whose r is not below, or the last. */
static size_t find_next(const struct psr_presto_list *list, double r)
{
    size_t lo = 0, hi = list->n - 1;
    if (list->inversions > 0) {
        while (lo < hi && list->cand[lo].r < r)
            lo++;
        return lo;
    }
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (list->cand[mid].r < r)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static size_t falls_around(const struct psr_presto_list *list, size_t at)
{
    size_t n = 0;
    if (at > 0 && at < list->n)
        n += list->cand[at - 1].r > list->cand[at].r;
    if (at + 1 < list->n)
        n += list->cand[at].r > list->cand[at + 1].r;
    return n;
}

static void replace(struct psr_presto_list *list, size_t at, const struct psr_presto_cand *cand)
{
    list->inversions -= falls_around(list, at);
    list->cand[at] = *cand;
    list->inversions += falls_around(list, at);
}

static void count_falls(struct psr_presto_list *list)
{
    list->inversions = 0;
    for (size_t k = 1; k < list->n; k++)
        list->inversions += list->cand[k - 1].r > list->cand[k].r;
}

static psr_status put_in(struct psr_presto_list *list, size_t at,
                         const struct psr_presto_cand *cand, psr_err *err)
{
    psr_status st =
        psr_grow(&list->cand, &list->room, list->n, sizeof *list->cand, "candidates", err);
    if (st)
        return st;
    memmove(list->cand + at + 1, list->cand + at, (list->n - at) * sizeof *list->cand);
    list->cand[at] = *cand;
    list->n++;
    if (list->inversions > 0 || falls_around(list, at) > 0)
        count_falls(list);
    return PSR_OK;
}

psr_status psr_presto_list_add(struct psr_presto_list *list, const struct psr_presto_cand *cand,
                               bool *added, psr_err *err)
{
    bool ignored;
    added = added ? added : &ignored;
    *added = true;
    if (list->n == 0)
        return put_in(list, 0, cand, err);
    size_t next = find_next(list, cand->r);
    bool prev_near = next > 0 && fabs(cand->r - list->cand[next - 1].r) < PSR_ACCEL_CLOSEST;
    bool next_near = fabs(cand->r - list->cand[next].r) < PSR_ACCEL_CLOSEST;
    if (prev_near || next_near) {
        /* Replaces near candidates of lower sigma. */
        bool prev_beaten = prev_near && list->cand[next - 1].sigma < cand->sigma;
        bool next_beaten = next_near && list->cand[next].sigma < cand->sigma;
        if (prev_beaten)
            replace(list, next - 1, cand);
        if (prev_beaten && next_beaten) {
            list->n--;
            memmove(list->cand + next, list->cand + next + 1,
                    (list->n - next) * sizeof *list->cand);
            count_falls(list);
        } else if (next_beaten)
            replace(list, next, cand);
        *added = prev_beaten || next_beaten;
        return PSR_OK;
    }
    bool behind = next == list->n - 1 && list->cand[next].r < cand->r - PSR_ACCEL_CLOSEST;
    return put_in(list, next + behind, cand, err);
}

/* --- in order --------------------------------------------------------------------------------- */

struct ranked {
    const struct psr_presto_cand *cand;
    size_t rank;
};

PSR_COMPARE(by_sigma, struct ranked,
            PSR_THEN(PSR_FALLING(cand->sigma),
                     PSR_THEN(PSR_FALLING(cand->power), PSR_RISING(rank))));

psr_status psr_presto_list_sort(const struct psr_presto_list *list, struct psr_accel_peaks *peaks,
                                psr_err *err)
{
    struct ranked *order = malloc((list->n + 1) * sizeof *order);
    psr_status st = order ? PSR_OK : psr_fail_nomem(err, "candidates", 16.0 * (double)list->n);
    peaks->n = 0;
    for (size_t k = 0; k < list->n && !st; k++)
        order[k] = (struct ranked){&list->cand[k], k};
    if (!st)
        qsort(order, list->n, sizeof *order, by_sigma);
    for (size_t k = 0; k < list->n && !st; k++) {
        const struct psr_presto_cand *c = order[k].cand;
        st = psr_grow(&peaks->peak, &peaks->room, peaks->n, sizeof *peaks->peak, "candidates", err);
        if (!st)
            peaks->peak[peaks->n++] = (struct psr_accel_peak){
                .r = c->r,
                .z = c->z,
                .w = c->w,
                .sigma = (double)c->sigma,
                .power = (double)c->power,
                .nharm = c->nharm,
            };
    }
    free(order);
    return st;
}

/* --- the inner loop of accelsearch's sums, for each instruction set --------------------------- */

enum { PRESTO_LANES = 8 };

/* Where PRESTO_LANES half bins that follow each other find those of a fraction of their frequency:
 * at first + offset[], first from the beginning of a row. */
struct psr_presto_place {
    int64_t first;
    int32_t offset[PRESTO_LANES]; /* 0 .. 7 */
};

/* sum[8 g + k] += row[place[g].first + place[g].offset[k]]; eight floats from each first on are
 * read. */
typedef void psr_presto_add(float *sum, const float *row, const struct psr_presto_place *place,
                            size_t ngroup);

typedef float floats __attribute__((vector_size(4 * PRESTO_LANES)));
typedef int32_t ints __attribute__((vector_size(4 * PRESTO_LANES)));
typedef float any_floats __attribute__((vector_size(4 * PRESTO_LANES), aligned(4), may_alias));
typedef int32_t any_ints __attribute__((vector_size(4 * PRESTO_LANES), aligned(4), may_alias));

#define PSR_LANES "compat/presto/presto_lanes.h"
#include "base/threads/isa_lanes.h"

static psr_presto_add *const adds[PSR_NISA] = PSR_ISA_TABLE(add);

enum { WAVE = 4, FIRST_BIN = 8, SLACK = 2 * PRESTO_LANES };

struct psr_presto_search {
    const struct psr_accel_search *s;
    struct psr_presto_layout y;
    struct psr_presto_fraction
        *fraction; /* [nfraction] the highest harmonic, then by stage and h */
    size_t nfraction;
    psr_presto_add *add;
    const struct psr_sieve_loops *loops;
    size_t pitch; /* half bins of a row of a block, with what fills whole spans */
    float *plane; /* inmem: [2 jmax + 1][length] from half bin 0 on */
    size_t length;
    int nworker;
    double bytes;
    struct worker *worker; /* [nworker] */
};

/* What a thread works with. */
struct worker {
    struct psr_presto_block block;
    float *sum;                     /* [rows][pitch]; one row where there is a plane */
    struct psr_presto_place *place; /* [nfraction][pitch / 8] */
};

/* Hits of a block, stage by stage. */
struct found {
    struct psr_accel_hits stage[PSR_ACCELSEARCH_NSTAGE];
    psr_status status;
    psr_err err;
};

static size_t rows_of(const struct psr_presto_search *p)
{
    return p->plane ? 1 : (2 * (size_t)p->s->jmax + 1) * (2 * (size_t)p->s->lmax + 1);
}

/* --- create and destroy ----------------------------------------------------------------------- */

static psr_status make_fractions(struct psr_presto_search *p, psr_err *err)
{
    p->fraction = calloc((size_t)p->s->numharm, sizeof *p->fraction);
    if (!p->fraction)
        return psr_fail_nomem(err, "a search", (double)p->s->numharm * sizeof *p->fraction);
    int nstage = p->y.inmem ? 1 : p->s->nstage;
    for (int stage = 0; stage < nstage; stage++)
        for (int h = 1; h < 1 << stage || h == 1; h += 2) {
            psr_status st =
                psr_presto_fraction_make(&p->fraction[p->nfraction++], p->s, &p->y, h, stage, err);
            if (st)
                return st;
        }
    for (size_t k = 0; k < p->nfraction; k++)
        p->bytes += psr_presto_fraction_bytes(&p->fraction[k]);
    return PSR_OK;
}

static psr_status make_plane(struct psr_presto_search *p, psr_err *err)
{
    if (!p->y.inmem || p->s->nstage == 1)
        return PSR_OK;
    p->length = 2 * (size_t)(p->y.highest + p->y.uselen) + SLACK;
    size_t n = (2 * (size_t)p->s->jmax + 1) * p->length;
    p->bytes += (double)n * sizeof *p->plane;
    if (p->bytes > (double)p->s->mem_bytes)
        return psr_fail(err, PSR_ENOMEM,
                        "search: the plane that accelsearch keeps needs %.0f MB, and the limit is "
                        "%.0f MB",
                        p->bytes / 1e6, (double)p->s->mem_bytes / 1e6);
    p->plane = calloc(n, sizeof *p->plane);
    return p->plane ? PSR_OK : psr_fail_nomem(err, "the plane", (double)n * sizeof *p->plane);
}

static psr_status make_worker(struct psr_presto_search *p, struct worker *w, psr_err *err)
{
    w->sum = calloc(rows_of(p) * p->pitch, sizeof *w->sum);
    w->place = calloc((size_t)p->s->numharm * p->pitch / PRESTO_LANES, sizeof *w->place);
    if (!w->sum || !w->place)
        return psr_fail_nomem(err, "a block", (double)(rows_of(p) * p->pitch) * sizeof *w->sum);
    return psr_presto_block_make(&w->block, p->fraction, p->nfraction, err);
}

/* As many workers as there are threads and memory for them. */
static psr_status make_workers(struct psr_presto_search *p, psr_err *err)
{
    const double places = (double)(p->s->numharm * (int)p->pitch) / PRESTO_LANES;
    double each = psr_presto_block_bytes(p->fraction, p->nfraction) +
                  (double)(rows_of(p) * p->pitch) * sizeof(float) +
                  places * sizeof(struct psr_presto_place);
    p->nworker = p->s->nthread;
    while (p->nworker > 1 && p->bytes + p->nworker * each > (double)p->s->mem_bytes)
        p->nworker--;
    p->bytes += p->nworker * each;
    if (p->bytes > (double)p->s->mem_bytes)
        return psr_fail(err, PSR_ENOMEM, "search: a block needs %.0f MB, and the limit is %.0f MB",
                        p->bytes / 1e6, (double)p->s->mem_bytes / 1e6);
    p->worker = calloc((size_t)p->nworker, sizeof *p->worker);
    psr_status st = p->worker ? PSR_OK : psr_fail_nomem(err, "a search", 64.0 * p->nworker);
    for (int k = 0; k < p->nworker && !st; k++)
        st = make_worker(p, &p->worker[k], err);
    return st;
}

psr_status psr_presto_search_create(struct psr_presto_search **out,
                                    const struct psr_accel_search *s,
                                    const struct psr_presto_layout *y, psr_err *err)
{
    struct psr_presto_search *p = calloc(1, sizeof *p);
    *out = NULL;
    if (!p)
        return psr_fail_nomem(err, "a search", sizeof *p);
    p->s = s;
    p->y = *y;
    p->add = adds[psr_isa_find()];
    p->loops = psr_sieve_loops_choose();
    p->pitch = ((size_t)y->uselen + SIEVE_SPAN - 1) / SIEVE_SPAN * SIEVE_SPAN;
    psr_status st = make_fractions(p, err);
    if (!st)
        st = make_plane(p, err);
    if (!st)
        st = make_workers(p, err);
    if (st)
        psr_presto_search_destroy(p);
    else
        *out = p;
    return st;
}

void psr_presto_search_destroy(struct psr_presto_search *p)
{
    if (!p)
        return;
    for (size_t k = 0; k < p->nfraction; k++)
        psr_presto_fraction_clear(&p->fraction[k]);
    for (int k = 0; k < p->nworker && p->worker; k++) {
        psr_presto_block_clear(&p->worker[k].block);
        free(p->worker[k].sum);
        free(p->worker[k].place);
    }
    free(p->worker);
    free(p->fraction);
    free(p->plane);
    free(p);
}

double psr_presto_search_bytes(const struct psr_presto_search *p)
{
    return p->bytes;
}

/* --- places ----------------------------------------------------------------------------------- */

/* i h/H at the nearest half bin: of two the even one, or the upper. */
static int64_t place_of(int64_t i, int h, int log, bool even)
{
    const int64_t H = INT64_C(1) << log, whole = (i * h) >> log, twice = 2 * ((i * h) & (H - 1));
    return whole + (twice > H || (twice == H && (!even || whole % 2 != 0)));
}

/* For half bins from i on; origin is where rows begin. */
static void fill_places(const struct psr_presto_search *p, struct psr_presto_place *place,
                        int64_t i, int h, int log, int64_t origin)
{
    const bool even = !p->plane;
    for (size_t g = 0; g < ((size_t)p->y.uselen + PRESTO_LANES - 1) / PRESTO_LANES; g++) {
        int64_t first = place_of(i + (int64_t)(PRESTO_LANES * g), h, log, even);
        place[g].first = first - origin;
        for (int k = 0; k < PRESTO_LANES; k++)
            place[g].offset[k] =
                (int32_t)(place_of(i + (int64_t)(PRESTO_LANES * g) + k, h, log, even) - first);
    }
}

/* --- a block ---------------------------------------------------------------------------------- */

static psr_status note(const struct psr_presto_search *p, struct found *f, const float *sum,
                       int64_t i, int j, int l, int stage)
{
    const size_t n = (size_t)p->y.uselen;
    const float cut = p->s->cut[stage];
    struct psr_accel_hits *hits = &f->stage[stage];
    for (size_t at = 0; (at = p->loops->find(sum, at, p->pitch, cut)) < p->pitch;)
        for (size_t end = at + SIEVE_SPAN; at < end; at++) {
            if (at >= n || !(sum[at] > cut))
                continue;
            psr_status st =
                psr_grow(&hits->hit, &hits->room, hits->n, sizeof *hits->hit, "hits", &f->err);
            if (st)
                return st;
            hits->hit[hits->n++] = (struct psr_accel_hit){i + (int64_t)at, j, l, stage, sum[at]};
        }
    return PSR_OK;
}

static psr_status note_all(const struct psr_presto_search *p, const struct worker *w,
                           struct found *f, int64_t i, int stage)
{
    const struct psr_accel_search *s = p->s;
    const float *sum = w->sum;
    psr_status st = PSR_OK;
    for (int l = -s->lmax; l <= s->lmax; l++)
        for (int j = -s->jmax; j <= s->jmax && !st; j++, sum += p->pitch)
            st = note(p, f, sum, i, j, l, stage);
    return st;
}

/* The range of steps whose nearest of h/H is k. */
static void steps_to(int k, int most, int h, int log, int range[2])
{
    range[0] = most + 1;
    range[1] = -most - 1;
    for (int j = -most; j <= most; j++)
        if (psr_harmonic_step(j, h, 1 << log) == k) {
            range[0] = j < range[0] ? j : range[0];
            range[1] = j;
        }
}

static void add_fraction(const struct psr_presto_search *p, struct worker *w,
                         const struct psr_presto_fraction *f,
                         const struct psr_accelsearch_input *in, int64_t i)
{
    const int64_t lo = place_of(i, f->h, f->log, true);
    const int64_t hi = place_of(i + p->y.uselen - 1, f->h, f->log, true);
    const int64_t first = lo / 2, n = (hi + 1) / 2 - first + 1;
    fill_places(p, w->place, i, f->h, f->log, 2 * first);
    psr_presto_block_take(&w->block, p->s, f, in, first, (size_t)n);
    for (int l = -f->lmax; l <= f->lmax && !psr_is_stopped(&p->s->stop); l++)
        for (int j = -f->jmax; j <= f->jmax; j++) {
            psr_presto_block_row(&w->block, f, j, l, w->block.row);
            /* Adds a row of a fraction to all that it is a part of. */
            const float *row = w->block.row;
            const struct psr_accel_search *s = p->s;
            const size_t ngroup = ((size_t)p->y.uselen + PRESTO_LANES - 1) / PRESTO_LANES;
            int js[2], ls[2];
            steps_to(j, s->jmax, f->h, f->log, js);
            steps_to(l, s->lmax, f->h, f->log, ls);
            for (int b = ls[0]; b <= ls[1]; b++)
                for (int a = js[0]; a <= js[1]; a++)
                    p->add(w->sum + psr_template_number(s->jmax, s->lmax, a, b) * p->pitch, row,
                           w->place, ngroup);
        }
}

/* Computes every fraction from its own bins. */
static psr_status search_block(const struct psr_presto_search *p, struct worker *w,
                               const struct psr_accelsearch_input *in, int64_t first,
                               struct found *out)
{
    const struct psr_accel_search *s = p->s;
    const struct psr_presto_fraction *f = p->fraction;
    float *sum = w->sum;
    psr_presto_block_take(&w->block, s, f, in, first, (size_t)p->y.uselen / 2);
    for (int l = -s->lmax; l <= s->lmax && !psr_is_stopped(&s->stop); l++)
        for (int j = -s->jmax; j <= s->jmax; j++, sum += p->pitch)
            psr_presto_block_row(&w->block, f, j, l, sum);
    psr_status st = note_all(p, w, out, 2 * first, 0);
    for (int stage = 1; stage < s->nstage && !st; stage++) {
        for (int h = 1; h < 1 << stage; h += 2)
            add_fraction(p, w, ++f, in, 2 * first);
        st = note_all(p, w, out, 2 * first, stage);
    }
    if (psr_is_stopped(&s->stop)) /* rows are missing then */
        return psr_fail(&out->err, PSR_ESTOPPED, "stopped");
    return st;
}

/* --- the plane -------------------------------------------------------------------------------- */

static float *plane_row(const struct psr_presto_search *p, int j)
{
    return p->plane + (size_t)(j + p->s->jmax) * p->length;
}

/* Stores the powers of n bins from first on in the plane. */
static void fill_plane(const struct psr_presto_search *p, struct worker *w,
                       const struct psr_accelsearch_input *in, int64_t first, size_t n)
{
    psr_presto_block_take(&w->block, p->s, p->fraction, in, first, n);
    for (int j = -p->s->jmax; j <= p->s->jmax; j++)
        psr_presto_block_row(&w->block, p->fraction, j, 0, plane_row(p, j) + 2 * first);
}

/* Sums all harmonics of the block from bin first on from the plane. */
static psr_status search_plane(const struct psr_presto_search *p, struct worker *w, int64_t first,
                               struct found *out)
{
    const struct psr_accel_search *s = p->s;
    const size_t n = (size_t)p->y.uselen, ngroup = (n + PRESTO_LANES - 1) / PRESTO_LANES;
    psr_status st = PSR_OK;
    for (int stage = 1; stage < s->nstage; stage++)
        for (int h = 1; h < 1 << stage; h += 2)
            fill_places(p,
                        w->place + ((1 << (stage - 1)) + h / 2) * (int64_t)p->pitch / PRESTO_LANES,
                        2 * first, h, stage, 0);
    for (int j = -s->jmax; j <= s->jmax && !st; j++) {
        memcpy(w->sum, plane_row(p, j) + 2 * first, n * sizeof *w->sum);
        st = note(p, out, w->sum, 2 * first, j, 0, 0);
        for (int stage = 1; stage < s->nstage && !st; stage++) {
            for (int h = 1; h < 1 << stage; h += 2)
                p->add(w->sum, plane_row(p, psr_harmonic_step(j, h, 1 << stage)),
                       w->place + ((1 << (stage - 1)) + h / 2) * (int64_t)p->pitch / PRESTO_LANES,
                       ngroup);
            st = note(p, out, w->sum, 2 * first, j, 0, stage);
        }
    }
    return st;
}

/* Blocks below rlo begin at bin 8; from rlo on, the plane has the powers of the blocks there. */
static void make_lower_plane(const struct psr_presto_search *p,
                             const struct psr_accelsearch_input *in)
{
    const int64_t step = p->y.uselen / 2, n = (p->y.rlo - FIRST_BIN + step - 1) / step;
#pragma omp parallel for schedule(dynamic) num_threads(p->nworker)
    for (int64_t k = 0; k < n; k++) {
        int64_t first = FIRST_BIN + k * step, left = p->y.rlo - first;
        if (psr_is_stopped(&p->s->stop))
            continue;
        fill_plane(p, &p->worker[psr_thread_number()], in, first,
                   (size_t)(left < step ? left : step));
    }
}

static void make_plane_of_blocks(const struct psr_presto_search *p,
                                 const struct psr_accelsearch_input *in)
{
    const int64_t step = p->y.uselen / 2;
#pragma omp parallel for schedule(dynamic) num_threads(p->nworker)
    for (int64_t k = 0; k < p->y.nblock; k++)
        if (!psr_is_stopped(&p->s->stop))
            fill_plane(p, &p->worker[psr_thread_number()], in, p->y.rlo + k * step, (size_t)step);
}

/* --- the list --------------------------------------------------------------------------------- */

static psr_status insert(const struct psr_presto_search *p, const struct psr_accel_hits *hits,
                         struct psr_presto_list *list, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t k = 0; k < hits->n && !st; k++) {
        const struct psr_accel_hit *h = &hits->hit[k];
        const double nharm = 1 << h->stage;
        const struct psr_presto_cand cand = {
            .r = 0.5 * (double)h->i / nharm,
            .z = PSR_STEP_Z * h->j / nharm,
            .w = PSR_STEP_W * h->l / nharm,
            .power = h->power,
            .sigma =
                (float)psr_presto_sigma((double)h->power, 1 << h->stage, p->s->trials[h->stage]),
            .nharm = 1 << h->stage,
        };
        st = psr_presto_list_add(list, &cand, NULL, err);
    }
    return st;
}

psr_status psr_presto_search_run(struct psr_presto_search *p,
                                 const struct psr_accelsearch_input *in,
                                 struct psr_presto_list *list, psr_err *err)
{
    const int64_t wave = (int64_t)WAVE * p->nworker;
    struct found *found = calloc((size_t)wave, sizeof *found);
    psr_status st = found ? PSR_OK : psr_fail_nomem(err, "hits", (double)wave * sizeof *found);
    list->n = list->inversions = 0;
    if (p->plane && !st) {
        make_lower_plane(p, in);
        make_plane_of_blocks(p, in);
    }
    for (int64_t first = 0; first < p->y.nblock && !st; first += wave) {
        int64_t left = p->y.nblock - first;
        if (psr_is_stopped(&p->s->stop))
            st = psr_fail(err, PSR_ESTOPPED, "stopped");
        else {
            const int64_t n = left < wave ? left : wave, step = p->y.uselen / 2;
#pragma omp parallel for schedule(dynamic) num_threads(p->nworker)
            for (int64_t k = 0; k < n; k++) {
                struct worker *w = &p->worker[psr_thread_number()];
                int64_t bin = p->y.rlo + (first + k) * step;
                found[k].status = p->plane ? search_plane(p, w, bin, &found[k])
                                           : search_block(p, w, in, bin, &found[k]);
            }
            /* In the order of blocks, stages, jerks, drifts and frequencies. */
            for (int64_t k = 0; k < n; k++)
                for (int stage = 0; stage < p->s->nstage; stage++) {
                    if (found[k].status && !st)
                        st = psr_fail_field(err, found[k].status, found[k].err.field, "%s",
                                            found[k].err.msg);
                    if (!st)
                        st = insert(p, &found[k].stage[stage], list, err);
                    found[k].stage[stage].n = 0;
                }
        }
    }
    for (int64_t k = 0; k < wave && found; k++)
        for (int stage = 0; stage < PSR_ACCELSEARCH_NSTAGE; stage++)
            free(found[k].stage[stage].hit);
    free(found);
    return st;
}
