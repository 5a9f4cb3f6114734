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
    struct psr_ffa_step *step;     /* [nstep] of the search, with their groups */
    size_t ngroup, nsums;          /* most sums of a group */
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
        const size_t nrow = s->fold[i].nrow, nbin = (size_t)s->fold[i].nbin;
        const size_t rows =
            nrow * psr_ffa_stride(nbin) * (k->floats ? sizeof(float) : sizeof(int16_t));
        z.rows = rows > z.rows ? rows : z.rows;
    }
    for (size_t r = 0; r < s->nrange; r++)
        z.row = (size_t)s->range[r].bmax > z.row ? (size_t)s->range[r].bmax : z.row;
    return z;
}

static bool take_side(struct state *st, struct psr_ffa_side *side, const struct sizes *z)
{
    side->q = take(st, z->n + PSR_FFA_PAD, sizeof(float));
    side->rows = take(st, z->rows + PSR_FFA_PAD * sizeof(float), 1);
    side->spare = take(st, z->rows + PSR_FFA_PAD * sizeof(float), 1);
    side->part =
        take(st, (PSR_FFA_LEAVES - 2) * PSR_FFA_PART * (z->row + PSR_FFA_PAD), sizeof(float));
    side->chunk = take(st, PSR_FFA_CHUNK * 2 * (z->row + PSR_FFA_PAD), sizeof(float));
    side->total = take(st, 3 * (z->row + PSR_FFA_PAD), sizeof *side->total);
    return side->q && side->rows && side->spare && side->part && side->chunk && side->total;
}

static void free_side(struct psr_ffa_side *side)
{
    free(side->q);
    free(side->rows);
    free(side->spare);
    free(side->part);
    free(side->chunk);
    free(side->total);
}

static bool take_room(struct state *st, struct psr_ffa_room *room, const struct sizes *z)
{
    room->part = take(st, z->part + PSR_FFA_PAD, sizeof *room->part);
    return room->part && take_side(st, &room->data, z) &&
           (!st->search->ngap || take_side(st, &room->count, z));
}

static bool take_series(struct state *st, struct psr_ffa_series *series)
{
    series->sums = take(st, st->nsums, sizeof *series->sums);
    series->level = take(st, 2 * (st->search->nsamp / PSR_FFA_BLOCK), sizeof *series->level);
    return series->sums && series->level;
}

/* Groups of steps of at most twice as many samples as the series, for each of which it is read once. */
static bool make_groups(struct state *st)
{
    const struct psr_ffa_search *s = st->search;
    size_t first = 0, at = 0;
    st->step = malloc(s->nstep * sizeof *st->step);
    for (size_t i = 0; st->step && i < s->nstep; i++) {
        st->step[i] = s->step[i];
        const size_t n = st->step[i].n + PSR_FFA_PAD;
        if (i && (at + n > 2 * s->nsamp || i - first == PSR_FFA_GROUP)) {
            st->ngroup++;
            first = i;
            at = 0;
        }
        st->step[i].group = st->ngroup;
        st->step[i].sums0 = at;
        at += n;
        st->nsums = at > st->nsums ? at : st->nsums;
    }
    st->ngroup++;
    return st->step;
}

static void destroy(void *state)
{
    struct state *st = state;
    for (int i = 0; i < st->search->nthread; i++) {
        struct psr_ffa_room *room = st->room ? &st->room[i] : NULL;
        if (room) {
            free(room->part);
            free_side(&room->data);
            free_side(&room->count);
        }
        if (st->series) {
            free(st->series[i].sums);
            free(st->series[i].level);
        }
    }
    free(st->room);
    free(st->series);
    free(st->step);
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
    bool done = st->room && st->series && make_groups(st);
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

static psr_status search_step(const struct job *job, const struct psr_ffa_step *k,
                              struct psr_ffa_room *room, psr_err *err)
{
    const struct psr_ffa_search *s = job->search;
    const float floor = job->found ? (float)s->sigma : -INFINITY;
    struct collector c = {.job = job, .err = err};
    psr_ffa_cpu_sample(s, k, job->loops, job->series->sums + k->sums0, room);
    for (size_t i = 0; i < k->nfold && !c.status; i++) {
        if (psr_is_stopped(&s->stop))
            return psr_fail(err, PSR_ESTOPPED, "search: stopped");
        c.fold = (uint32_t)(k->fold0 + i);
        c.trial0 = s->fold[c.fold].trial0;
        psr_ffa_cpu_fold(s, job->loops, &s->fold[c.fold], floor, room,
                         job->found ? keep_hit : keep_score, &c);
    }
    return c.status;
}

/* The first failure of several threads. */
struct failure {
    psr_status status;
    psr_err *err;
};

static psr_status look(struct failure *f)
{
    psr_status status;
#pragma omp atomic read
    status = f->status;
    return status;
}

static void fail_once(struct failure *f, psr_status status, const psr_err *err)
{
    if (!status)
        return;
#pragma omp critical(psr_ffa_failed)
    if (!look(f)) {
        if (f->err)
            *f->err = *err;
#pragma omp atomic write
        f->status = status;
    }
}

/* All steps of a series, by nthread threads; slot is the room of one. */
static psr_status search_steps(struct state *st, const struct job *job, const float *x, int slot,
                               int nthread, psr_err *err)
{
    struct failure failure = {PSR_OK, err};
    size_t first = 0;
    for (size_t group = 0; group < st->ngroup && !failure.status; group++) {
        size_t end = first;
        while (end < st->search->nstep && st->step[end].group == group)
            end++;
        psr_ffa_cpu_sum(st->search, st->loops, x, &st->series[slot], end - first, st->step + first);
#pragma omp parallel for num_threads(nthread) schedule(dynamic) if (nthread > 1)
        for (size_t i = first; i < end; i++) {
            psr_err mine;
            const int room = nthread > 1 ? psr_thread_number() : slot;
            if (!look(&failure))
                fail_once(&failure, search_step(job, &st->step[i], &st->room[room], &mine), &mine);
        }
        first = end;
    }
    return failure.status;
}

static psr_status search_series(struct state *st, const float *x, size_t number, int slot,
                                int nthread, struct psr_ffa_found *found, psr_err *err)
{
    struct psr_ffa_series *series = &st->series[slot];
    psr_ffa_cpu_load(st->search, st->loops, x, series);
    found->bad[number] = series->bad;
    found->rms[number] = series->rms;
    if (series->bad >= 0 || !(series->rms > 0))
        return PSR_OK;
    const struct job job = {st->search, st->loops, series, (uint32_t)number, found, NULL, NULL};
    return search_steps(st, &job, x, slot, nthread, err);
}

static psr_status execute(void *state, size_t nseries, const float *const *in,
                          struct psr_ffa_found *found, psr_err *err)
{
    struct state *st = state;
    const int nthread = st->search->nthread;
    struct failure failure = {PSR_OK, err};
    if (count_loaded(st->search) == 1 || nseries < (size_t)nthread) {
        for (size_t i = 0; i < nseries && !failure.status; i++)
            failure.status = search_series(st, in[i], i, 0, nthread, found, err);
        return failure.status;
    }
#pragma omp parallel for num_threads(nthread) schedule(dynamic)
    for (size_t i = 0; i < nseries; i++) {
        psr_err mine;
        if (!look(&failure))
            fail_once(&failure, search_series(st, in[i], i, psr_thread_number(), 1, found, &mine),
                      &mine);
    }
    return failure.status;
}

static psr_status periodogram(void *state, const float *in, float *snr, int *width, psr_err *err)
{
    struct state *st = state;
    psr_ffa_cpu_load(st->search, st->loops, in, &st->series[0]);
    const struct job job = {st->search, st->loops, &st->series[0], 0, NULL, snr, width};
    return search_steps(st, &job, in, 0, st->search->nthread, err);
}

static int64_t bytes(const void *state)
{
    return ((const struct state *)state)->bytes;
}

const struct psr_ffa_ops psr_ffa_cpu = {"cpu", create, execute, periodogram, bytes, destroy};
