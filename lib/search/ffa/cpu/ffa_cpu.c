/* The fast folding search on the CPU: threads over series, or over steps of one. */
#include "ffa_cpu.h"

#include "base/threads/threads.h"
#include "base/tool.h"

#include <math.h>
#include <stdlib.h>

struct state {
    const struct psr_ffa_search *search;
    const struct psr_ffa_loops *loops;
    struct psr_ffa_room *room;     /* [nthread] */
    struct psr_ffa_series *series; /* [nthread] */
    int64_t bytes;
};

/* One series, searched or with every trial kept. */
struct job {
    const struct psr_ffa_search *search;
    const struct psr_ffa_loops *loops;
    const struct psr_ffa_series *series;
    uint32_t number;
    struct psr_ffa_found *found; /* or NULL: */
    float *snr;
    int *width;
};

/* --- memory ----------------------------------------------------------------------------------- */

/* Memory by cache lines; bytes counts it. */
static void *take(struct state *st, size_t n, size_t size)
{
    const size_t bytes = (n * size + 63) / 64 * 64 + 64;
    st->bytes += (int64_t)bytes;
    return aligned_alloc(64, bytes);
}

struct sizes {
    size_t n, part, row, rows; /* rows: bytes of sums of rows */
};

static struct sizes find_sizes(const struct psr_ffa_search *s)
{
    struct sizes z = {0, 0, 0, 0};
    for (size_t i = 0; i < s->nstep; i++) {
        const struct psr_ffa_step *k = &s->step[i];
        const size_t part = 2 * k->nparts + 2 * k->half + 2;
        z.n = k->n > z.n ? k->n : z.n;
        z.part = part > z.part ? part : z.part;
    }
    for (size_t i = 0; i < s->nfold; i++) {
        const struct psr_ffa_step *k = &s->step[s->fold[i].step];
        const size_t rows = s->fold[i].nrow * psr_ffa_stride(k, s->fold[i].nbin) *
                            (k->floats ? sizeof(float) : sizeof(int16_t));
        z.rows = rows > z.rows ? rows : z.rows;
    }
    for (size_t r = 0; r < s->nrange; r++)
        z.row = (size_t)s->range[r].bmax > z.row ? (size_t)s->range[r].bmax : z.row;
    return z;
}

static bool take_room(struct state *st, struct psr_ffa_room *room, const struct sizes *z)
{
    room->sums = take(st, z->n + PSR_FFA_PAD, sizeof *room->sums);
    room->part = take(st, z->part + PSR_FFA_PAD, sizeof *room->part);
    room->q = take(st, z->n + PSR_FFA_PAD, sizeof(float));
    room->rows[0] = take(st, z->rows + PSR_FFA_PAD * sizeof(float), 1);
    room->rows[1] = take(st, z->rows + PSR_FFA_PAD * sizeof(float), 1);
    room->chunk = take(st, PSR_FFA_CHUNK * (z->row + PSR_FFA_PAD), sizeof(float));
    room->total = take(st, 2 * z->row + PSR_FFA_PAD, sizeof *room->total);
    return room->sums && room->part && room->q && room->rows[0] && room->rows[1] && room->chunk &&
           room->total;
}

static bool take_series(struct state *st, struct psr_ffa_series *series)
{
    const size_t n = st->search->nsamp;
    series->prefix = take(st, n + 1, sizeof *series->prefix);
    series->level = take(st, 2 * (n / PSR_FFA_BLOCK), sizeof *series->level);
    return series->prefix && series->level;
}

static void destroy(void *state)
{
    struct state *st = state;
    for (int i = 0; i < st->search->nthread; i++) {
        struct psr_ffa_room *room = st->room ? &st->room[i] : NULL;
        if (room) {
            free(room->sums);
            free(room->part);
            free(room->q);
            free(room->rows[0]);
            free(room->rows[1]);
            free(room->chunk);
            free(room->total);
        }
        if (st->series) {
            free(st->series[i].prefix);
            free(st->series[i].level);
        }
    }
    free(st->room);
    free(st->series);
    free(st);
}

/* Series that are loaded at a time: as many as there are threads to search them. */
static int count_loaded(const struct psr_ffa_search *s)
{
    return s->batch < (size_t)s->nthread ? 1 : s->nthread;
}

static psr_status create(void **state, const struct psr_ffa_search *s, psr_err *err)
{
    const struct sizes z = find_sizes(s);
    struct state *st = calloc(1, sizeof *st);
    if (!st)
        return psr_fail_nomem(err, "a search", sizeof *st);
    st->search = s;
    st->loops = psr_ffa_loops_choose(psr_isa_find());
    st->room = calloc((size_t)s->nthread, sizeof *st->room);
    st->series = calloc((size_t)s->nthread, sizeof *st->series);
    bool done = st->room && st->series;
    for (int i = 0; i < s->nthread && done; i++)
        done = take_room(st, &st->room[i], &z) &&
               (i >= count_loaded(s) || take_series(st, &st->series[i]));
    const bool fits = st->bytes <= s->mem_bytes;
    const double bytes = (double)st->bytes;
    if (done && fits) {
        *state = st;
        return PSR_OK;
    }
    destroy(st);
    if (done)
        return psr_fail_field(err, PSR_EINVAL, "mem_bytes",
                              "search: %.3g bytes for %d threads are above the limit of %lld",
                              bytes, s->nthread, (long long)s->mem_bytes);
    return psr_fail_nomem(err, "a search", bytes);
}

/* --- work ------------------------------------------------------------------------------------- */

struct collector {
    const struct job *job;
    uint32_t fold;
    size_t trial0;
    psr_status status;
    psr_err *err;
};

static void keep_score(void *ctx, size_t i, struct psr_ffa_score score)
{
    struct collector *c = ctx;
    c->job->snr[c->trial0 + i] = score.snr;
    if (c->job->width)
        c->job->width[c->trial0 + i] = score.width;
}

static void keep_hit(void *ctx, size_t i, struct psr_ffa_score score)
{
    struct collector *c = ctx;
    struct psr_ffa_found *found = c->job->found;
    if (!((double)score.snr > c->job->search->sigma) || c->status)
        return;
#pragma omp critical(psr_ffa_found)
    {
        c->status =
            psr_grow(&found->hit, &found->cap, found->n, sizeof *found->hit, "trials", c->err);
        if (!c->status)
            found->hit[found->n++] = (struct psr_ffa_hit){c->job->number, c->fold, c->trial0 + i,
                                                          score.snr, score.width};
    }
}

static psr_status search_step(const struct job *job, size_t step, struct psr_ffa_room *room,
                              psr_err *err)
{
    const struct psr_ffa_search *s = job->search;
    const struct psr_ffa_step *k = &s->step[step];
    struct collector c = {.job = job, .err = err};
    psr_ffa_cpu_sample(k, job->loops, job->series->prefix, room);
    for (size_t i = 0; i < k->nfold && !c.status; i++) {
        if (psr_is_stopped(&s->stop))
            return psr_fail(err, PSR_ESTOPPED, "search: stopped");
        c.fold = (uint32_t)(k->fold0 + i);
        c.trial0 = s->fold[c.fold].trial0;
        psr_ffa_cpu_fold(s, job->loops, &s->fold[c.fold], job->found ? (float)s->sigma : -INFINITY,
                         room, job->found ? keep_hit : keep_score, &c);
    }
    return c.status;
}

/* Steps of one series by all threads.  Those with most samples, so with most work, come first. */
static psr_status search_steps(struct state *st, const struct job *job, int nthread, psr_err *err)
{
    psr_status status = PSR_OK;
#pragma omp parallel for num_threads(nthread) schedule(dynamic) if (nthread > 1)
    for (size_t i = 0; i < st->search->nstep; i++) {
        psr_err mine;
        psr_status got =
            status ? status : search_step(job, i, &st->room[psr_thread_number()], &mine);
        if (got) {
#pragma omp critical(psr_ffa_failed)
            if (!status) {
                status = got;
                if (err)
                    *err = mine;
            }
        }
    }
    return status;
}

static psr_status search_series(struct state *st, const float *x, size_t number, int slot,
                                int nthread, struct psr_ffa_found *found, psr_err *err)
{
    struct psr_ffa_series *series = &st->series[slot];
    struct psr_ffa_room *room = &st->room[slot];
    psr_status status = PSR_OK;
    psr_ffa_cpu_load(st->search, st->loops, x, series);
    found->bad[number] = series->bad;
    found->rms[number] = series->rms;
    if (series->bad >= 0 || !(series->rms > 0))
        return PSR_OK;
    const struct job job = {st->search, st->loops, series, (uint32_t)number, found, NULL, NULL};
    if (nthread > 1)
        return search_steps(st, &job, nthread, err);
    for (size_t i = 0; i < st->search->nstep && !status; i++)
        status = search_step(&job, i, room, err);
    return status;
}

static psr_status execute(void *state, size_t nseries, const float *const *in,
                          struct psr_ffa_found *found, psr_err *err)
{
    struct state *st = state;
    const int nthread = st->search->nthread;
    psr_status status = PSR_OK;
    if (count_loaded(st->search) == 1 || nseries < (size_t)nthread) {
        for (size_t i = 0; i < nseries && !status; i++)
            status = search_series(st, in[i], i, 0, nthread, found, err);
        return status;
    }
#pragma omp parallel for num_threads(nthread) schedule(dynamic)
    for (size_t i = 0; i < nseries; i++) {
        psr_err mine;
        psr_status got =
            status ? status : search_series(st, in[i], i, psr_thread_number(), 1, found, &mine);
        if (got) {
#pragma omp critical(psr_ffa_failed)
            if (!status) {
                status = got;
                if (err)
                    *err = mine;
            }
        }
    }
    return status;
}

static psr_status periodogram(void *state, const float *in, float *snr, int *width, psr_err *err)
{
    struct state *st = state;
    psr_ffa_cpu_load(st->search, st->loops, in, &st->series[0]);
    const struct job job = {st->search, st->loops, &st->series[0], 0, NULL, snr, width};
    return search_steps(st, &job, st->search->nthread, err);
}

static int64_t bytes(const void *state)
{
    return ((const struct state *)state)->bytes;
}

const struct psr_ffa_ops psr_ffa_cpu = {"cpu", create, execute, periodogram, bytes, destroy};
