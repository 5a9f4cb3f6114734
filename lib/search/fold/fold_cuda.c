/* Folds blocks on a CUDA device: memory, copies, launches.
 *
 * Candidates are folded some at a time, on two streams, a candidate always on the same: while the device
 * folds, the host lists the blocks of the next ones, and reads the next window. */
#include "base/tool.h"
#include "fold/fold_kernels.h"

#include "base/device/cuda_call.h"
#include "base/device/device_internal.h"
#include "fold_plan.h"
#include <stdlib.h>
#include <string.h>

/* --- lists of the blocks of a candidate: runs, and values of replaced samples ----------------- */

/* Bytes of an item. */
static size_t fold_list_size(enum psr_fold_list_kind kind)
{
    static const size_t size[PSR_FOLD_NLIST] = {
        [PSR_FOLD_BLOCKS] = sizeof(struct fold_k_block),
        [PSR_FOLD_RUNS] = sizeof(struct fold_k_run),
        [PSR_FOLD_OFFSETS] = sizeof(double),
        [PSR_FOLD_VALUES] = sizeof(float),
        [PSR_FOLD_PARTS] = sizeof(size_t),
    };
    return size[kind];
}

/* Room for n items more. */
static void *add(struct psr_fold_lists *l, enum psr_fold_list_kind kind, size_t n, psr_err *err)
{
    struct psr_fold_list *list = &l->list[kind];
    const size_t size = fold_list_size(kind), need = list->n + n;
    if (need > list->room || !list->item) {
        const size_t room = need + need / 2 + 16;
        if (psr_reserve(&list->item, &list->room, room, size, "the lists of a fold", err))
            return NULL;
    }
    list->n = need;
    return (char *)list->item + (need - n) * size;
}

static psr_status list_runs(struct psr_fold_lists *l, const struct psr_fold_cube *cube,
                            psr_err *err)
{
    struct fold_k_run *run = add(l, PSR_FOLD_RUNS, cube->runs.n, err);
    if (!run)
        return PSR_ENOMEM;
    for (size_t i = 0; i < cube->runs.n; i++) {
        const struct psr_fold_run *from = &cube->runs.run[i];
        run[i] = (struct fold_k_run){from->begin, from->end, from->bin, from->completes_turn,
                                     from->fraction};
    }
    return PSR_OK;
}

static psr_status list_block(struct psr_fold_lists *l, const struct psr_fold *f,
                             struct psr_fold_cube *cube, psr_err *err)
{
    const size_t n = f->d.block, per_part = f->d.part_blocks;
    const bool ends = (cube->next + 1) % per_part == 0;
    psr_status st = psr_fold_plan_block(f, cube, err);
    if (st)
        return st;
    const bool floats = !f->most || cube->has_steps;
    const struct fold_k_block new = {.run = l->list[PSR_FOLD_RUNS].n,
                                     .nrun = cube->runs.n,
                                     .at = (cube->next - f->begun) * n,
                                     .offset = l->list[PSR_FOLD_OFFSETS].n,
                                     .value = l->list[PSR_FOLD_VALUES].n,
                                     .t = (int64_t)(cube->next * n),
                                     .n = (uint32_t)n,
                                     .floats = floats,
                                     .values = cube->has_values,
                                     .ends = ends,
                                     .out = l->list[PSR_FOLD_PARTS].n};
    struct fold_k_block *block = add(l, PSR_FOLD_BLOCKS, 1, err);
    size_t *part = block && ends ? add(l, PSR_FOLD_PARTS, 1, err) : NULL;
    if (!block || (ends && !part))
        return PSR_ENOMEM;
    *block = new;
    if (ends)
        *part = cube->next / per_part;
    l->floats |= floats;
    cube->next++;
    st = list_runs(l, cube, err);
    if (st)
        return st;
    /* The values that hold throughout a block, or at its begin. */
    double *offset = add(l, PSR_FOLD_OFFSETS, f->d.nsub, err);
    if (!offset)
        return PSR_ENOMEM;
    memcpy(offset, cube->offset, f->d.nsub * sizeof *offset);
    if (!floats || !cube->has_values || !f->nkept)
        return PSR_OK;
    float *value = add(l, PSR_FOLD_VALUES, f->nkept, err);
    if (!value)
        return PSR_ENOMEM;
    memcpy(value, cube->value, f->nkept * sizeof *value);
    return PSR_OK;
}

/* Lists all blocks that are complete, in place of what was listed, and moves cube->next behind them.
 * Status: PSR_ENOMEM */
static psr_status fold_lists_fill(struct psr_fold_lists *lists, const struct psr_fold *f,
                                  struct psr_fold_cube *cube, psr_err *err)
{
    psr_status st = PSR_OK;
    for (int k = 0; k < PSR_FOLD_NLIST; k++)
        lists->list[k].n = 0;
    lists->floats = false;
    while (!st && psr_fold_is_ready(f, cube))
        st = list_block(lists, f, cube, err);
    return st;
}

/* --- folds blocks on a CUDA device: memory, copies, launches ---------------------------------- */

enum { GROUP = FOLD_K_GROUP, OLDEST_SM = 80, NSET = 2, CHUNK = PSR_FOLD_DEVICE_CHUNK };

/* Memory of a launch: lists first. */
enum room_kind { CAND = PSR_FOLD_NLIST, PROFILE, MEAN, SQUARE, ROW, NROOM };

/* Memory that grows: pinned, and the device's. */
struct room {
    void *host, *device;
    size_t bytes;
};

/* Channels, and the values of replaced samples. */
struct window {
    void *d_samples;
    struct room first_step, step;
};

/* Candidates first .. first + ncand - 1 that are folded at once. */
struct launch {
    cudaStream_t stream;
    const struct window *window;
    struct room room[NROOM];
    size_t first, ncand;
    size_t n[PSR_FOLD_NLIST]; /* items */
    size_t nprofile, turn_bins;
    uint32_t span; /* sub-bands of a thread block */
    bool floats, is_running;
};

/* Where a candidate's lists begin in those of the launch, and its profiles. */
struct place {
    size_t at[PSR_FOLD_NLIST], profile;
};

struct state {
    int device;
    int64_t taken, pinned;
    struct window window[NSET];
    size_t nwindow; /* so far: they take turns */
    uint32_t *d_band_first;
    int32_t *d_delay;                 /* [ncand][nkept] */
    double *d_sums;                   /* turn and sum of each candidate */
    struct fold_k_moments *d_moments; /* [ncand][ngroup] */
    size_t *sums;                     /* [ncand + 1] where each one's begin */
    size_t ngroup;
    struct psr_fold_lists own[CHUNK]; /* of each candidate of a launch */
    size_t *order;                    /* [ncand] of those of each launch, the fastest first */
    struct place place[CHUNK];
    struct launch launch[NSET];
};

/* --- memory ----------------------------------------------------------------------------------- */

static void free_room(struct room *r)
{
    psr_device_unpin(r->host);
    (void)cudaFree(r->device);
    *r = (struct room){.bytes = 0};
}

/* Rows are the device's alone, numbers of parts the host's; a little more saves growing each time. */
static cudaError_t make_room(struct state *c, struct room *r, enum room_kind kind, size_t bytes)
{
    if (r->bytes && bytes <= r->bytes)
        return cudaSuccess;
    const size_t more = bytes + bytes / 8 + 256;
    free_room(r);
    if (kind != ROW)
        TRY(psr_cuda_take_pinned(&r->host, more, &c->pinned));
    if ((size_t)kind != PSR_FOLD_PARTS)
        TRY(psr_cuda_take(&r->device, more, &c->taken));
    r->bytes = more;
    return cudaSuccess;
}

static cudaError_t take_lists(struct state *c, const struct psr_fold *f)
{
    uint32_t *first = calloc(f->d.nsub + 1, sizeof *first);
    if (!first)
        return cudaErrorMemoryAllocation;
    for (size_t j = 0; j <= f->d.nsub; j++)
        first[j] = (uint32_t)f->band_first[j];
    const cudaError_t e =
        psr_cuda_upload(&c->d_band_first, first, (f->d.nsub + 1) * sizeof *first, &c->taken);
    free(first);
    TRY(e);
    TRY(psr_cuda_take(&c->d_delay, f->d.ncand * f->nkept * sizeof *c->d_delay, &c->taken));
    for (size_t i = 0; i < f->d.ncand && f->nkept; i++)
        TRY(psr_cuda_send(c->d_delay + i * f->nkept, f->cube[i].delay,
                          f->nkept * sizeof *c->d_delay));
    return cudaSuccess;
}

static cudaError_t take_all(struct state *c, const struct psr_fold *f)
{
    const size_t window = f->nkept * f->room * (size_t)f->store + FOLD_K_SLACK;
    const size_t sums = c->sums[f->d.ncand] * sizeof *c->d_sums;
    const size_t moments = f->d.ncand * c->ngroup * sizeof *c->d_moments;
    TRY(cudaSetDevice(c->device));
    for (int k = 0; k < NSET; k++) {
        TRY(cudaStreamCreateWithFlags(&c->launch[k].stream, cudaStreamNonBlocking));
        TRY(psr_cuda_take(&c->window[k].d_samples, window, &c->taken));
        TRY(cudaMemset(c->window[k].d_samples, 0, window));
    }
    TRY(psr_cuda_take(&c->d_sums, sums, &c->taken));
    TRY(psr_cuda_take(&c->d_moments, moments, &c->taken));
    TRY(cudaMemset(c->d_sums, 0, sums));
    TRY(cudaMemset(c->d_moments, 0, moments));
    TRY(cudaStreamSynchronize(cudaStreamLegacy));
    return take_lists(c, f);
}

static void end_launch(struct launch *l)
{
    if (l->stream) {
        (void)cudaStreamSynchronize(l->stream);
        (void)cudaStreamDestroy(l->stream);
    }
    for (int r = 0; r < NROOM; r++)
        free_room(&l->room[r]);
}

static void destroy(void *state)
{
    struct state *c = state;
    (void)cudaSetDevice(c->device);
    for (int k = 0; k < NSET; k++)
        end_launch(&c->launch[k]);
    for (int k = 0; k < NSET; k++) {
        (void)cudaFree(c->window[k].d_samples);
        free_room(&c->window[k].first_step);
        free_room(&c->window[k].step);
    }
    void *const owned[] = {c->d_band_first, c->d_delay, c->d_sums, c->d_moments};
    for (size_t k = 0; k < sizeof owned / sizeof *owned; k++)
        (void)cudaFree(owned[k]);
    for (size_t i = 0; i < CHUNK; i++)
        for (int k = 0; k < PSR_FOLD_NLIST; k++)
            free(c->own[i].list[k].item);
    free(c->sums);
    free(c->order);
    free(c);
}

/* The lists of a candidate have as many runs as its bins pass: the longest first, so that no thread is last with them. */
static void order_candidates(struct state *c, const struct psr_fold *f)
{
    for (size_t i = 0; i < f->d.ncand; i++) {
        const size_t first = i / CHUNK * CHUNK;
        const double rate = f->cube[i].cand.f * (double)f->cube[i].cand.nbin;
        size_t at = i;
        for (; at > first; at--) {
            const struct psr_fold_candidate *before = &f->cube[first + c->order[at - 1]].cand;
            if (before->f * (double)before->nbin >= rate)
                break;
            c->order[at] = c->order[at - 1];
        }
        c->order[at] = i - first;
    }
}

static psr_status create(void **state, const struct psr_fold *f, int device, psr_err *err)
{
    psr_status st = psr_cuda_check_sm(device, OLDEST_SM, err);
    if (st)
        return st;
    struct state *c = calloc(1, sizeof *c);
    if (c) {
        c->sums = calloc(f->d.ncand + 1, sizeof *c->sums);
        c->order = calloc(f->d.ncand + 1, sizeof *c->order);
    }
    if (!c || !c->sums || !c->order) {
        free(c ? c->sums : NULL);
        free(c ? c->order : NULL);
        free(c);
        return psr_fail_nomem(err, "a fold", (double)f->d.ncand * sizeof *c->sums);
    }
    c->device = device;
    order_candidates(c, f);
    c->ngroup = f->nslice / f->d.ncand;
    for (size_t i = 0; i < f->d.ncand; i++)
        c->sums[i + 1] = c->sums[i] + 2 * c->ngroup * GROUP * f->cube[i].cand.nbin;
    const cudaError_t e = take_all(c, f);
    if (!e) {
        *state = c;
        return PSR_OK;
    }
    st = psr_cuda_fail(device, e, "start", err);
    destroy(c);
    return st;
}

/* --- lists ------------------------------------------------------------------------------------ */

/* Of n candidates from first on, each in its own. */
static psr_status list_all(struct state *c, struct psr_fold *f, size_t first, size_t n,
                           psr_err *err)
{
    psr_status st = PSR_OK;
    const int nthread = f->d.nthread;
#pragma omp parallel for schedule(dynamic) num_threads(nthread)
    for (size_t k = 0; k < n; k++) {
        const size_t i = c->order[first + k];
        psr_err why;
        const psr_status failed = fold_lists_fill(&c->own[i], f, &f->cube[first + i], &why);
        if (failed) {
#pragma omp critical(psr_fold_cuda_list)
            {
                st = failed;
                if (err)
                    *err = why;
            }
        }
    }
    return st;
}

static cudaError_t make_rooms(struct state *c, const struct psr_fold *f, struct launch *l)
{
    const size_t parts = l->n[PSR_FOLD_PARTS] * f->d.nsub * sizeof(double);
    const size_t nblock = l->ncand * c->ngroup * (GROUP / l->span);
    const size_t rows = l->floats ? nblock * (f->d.block + 1) * GROUP : 0;
    for (int k = 0; k < PSR_FOLD_NLIST; k++)
        TRY(make_room(c, &l->room[k], (enum room_kind)k, l->n[k] * fold_list_size(k)));
    TRY(make_room(c, &l->room[CAND], CAND, l->ncand * sizeof(struct fold_k_candidate)));
    TRY(make_room(c, &l->room[PROFILE], PROFILE, l->nprofile * sizeof(double)));
    TRY(make_room(c, &l->room[MEAN], MEAN, parts));
    TRY(make_room(c, &l->room[SQUARE], SQUARE, parts));
    return make_room(c, &l->room[ROW], ROW, rows * sizeof(float));
}

static void join_lists(const struct state *c, const struct launch *l, size_t i)
{
    const struct psr_fold_lists *own = &c->own[i];
    const size_t *at = c->place[i].at;
    for (int k = 0; k < PSR_FOLD_NLIST; k++) {
        const size_t size = fold_list_size(k);
        if (own->list[k].n)
            memcpy((char *)l->room[k].host + at[k] * size, own->list[k].item,
                   own->list[k].n * size);
    }
    struct fold_k_block *block = (struct fold_k_block *)l->room[PSR_FOLD_BLOCKS].host;
    for (size_t k = at[PSR_FOLD_BLOCKS]; k < at[PSR_FOLD_BLOCKS] + own->list[PSR_FOLD_BLOCKS].n;
         k++) {
        block[k].run += at[PSR_FOLD_RUNS];
        block[k].offset += at[PSR_FOLD_OFFSETS];
        block[k].value += at[PSR_FOLD_VALUES];
        block[k].out += at[PSR_FOLD_PARTS];
    }
}

static struct fold_k_candidate describe(const struct state *c, const struct psr_fold *f,
                                        const struct launch *l, size_t i)
{
    const size_t number = l->first + i, nbin = f->cube[number].cand.nbin;
    double *d_turn = c->d_sums + c->sums[number];
    return (struct fold_k_candidate){.nblock = (uint32_t)c->own[i].list[PSR_FOLD_BLOCKS].n,
                                     .nbin = (uint32_t)nbin,
                                     .block = c->place[i].at[PSR_FOLD_BLOCKS],
                                     .d_delay = c->d_delay + number * f->nkept,
                                     .d_turn = d_turn,
                                     .d_sum = d_turn + c->ngroup * GROUP * nbin,
                                     .d_moments = c->d_moments + number * c->ngroup,
                                     .slot = c->place[i].at[PSR_FOLD_PARTS],
                                     .profile = c->place[i].profile};
}

static cudaError_t join_all(struct state *c, const struct psr_fold *f, struct launch *l)
{
    const int nthread = f->d.nthread;
    l->nprofile = l->turn_bins = 0;
    l->floats = false;
    memset(l->n, 0, sizeof l->n);
    for (size_t i = 0; i < l->ncand; i++) {
        const size_t nbin = f->cube[l->first + i].cand.nbin;
        c->place[i].profile = l->nprofile;
        for (int k = 0; k < PSR_FOLD_NLIST; k++) {
            c->place[i].at[k] = l->n[k];
            l->n[k] += c->own[i].list[k].n;
        }
        l->nprofile += c->own[i].list[PSR_FOLD_PARTS].n * f->d.nsub * nbin;
        l->turn_bins = nbin > l->turn_bins ? nbin : l->turn_bins;
        l->floats |= c->own[i].floats;
    }
    l->span = fold_k_choose_span(c->ngroup, l->ncand);
    TRY(make_rooms(c, f, l));
    struct fold_k_candidate *cand = l->room[CAND].host;
#pragma omp parallel for schedule(dynamic) num_threads(nthread)
    for (size_t i = 0; i < l->ncand; i++) {
        join_lists(c, l, i);
        cand[i] = describe(c, f, l, i);
    }
    return cudaSuccess;
}

/* --- launches --------------------------------------------------------------------------------- */

static cudaError_t send(const struct launch *l, int r, size_t bytes)
{
    const struct room *room = &l->room[r];
    return bytes
               ? cudaMemcpyAsync(room->device, room->host, bytes, cudaMemcpyHostToDevice, l->stream)
               : cudaSuccess;
}

static cudaError_t fetch(const struct launch *l, int r, size_t bytes)
{
    const struct room *room = &l->room[r];
    return bytes
               ? cudaMemcpyAsync(room->host, room->device, bytes, cudaMemcpyDeviceToHost, l->stream)
               : cudaSuccess;
}

static cudaError_t start(const struct state *c, const struct psr_fold *f, struct launch *l)
{
    const size_t parts = l->n[PSR_FOLD_PARTS] * f->d.nsub * sizeof(double);
    const struct fold_k_fold k = {.d_window = l->window->d_samples,
                                  .room = f->room,
                                  .store = (int)f->store,
                                  .bias = f->bias,
                                  .nsub = f->d.nsub,
                                  .ncand = l->ncand,
                                  .block_max = f->d.block,
                                  .span = l->span,
                                  .d_band_first = c->d_band_first,
                                  .d_cand = l->room[CAND].device,
                                  .d_block = l->room[PSR_FOLD_BLOCKS].device,
                                  .d_run = l->room[PSR_FOLD_RUNS].device,
                                  .d_offset = l->room[PSR_FOLD_OFFSETS].device,
                                  .d_value = l->room[PSR_FOLD_VALUES].device,
                                  .d_first_step = l->window->first_step.device,
                                  .d_step = l->window->step.device,
                                  .d_row = l->room[ROW].device,
                                  .d_profile = l->room[PROFILE].device,
                                  .d_mean = l->room[MEAN].device,
                                  .d_square = l->room[SQUARE].device,
                                  .turn_bins = l->turn_bins};
    l->is_running = true;
    for (int r = 0; r < PSR_FOLD_PARTS; r++)
        TRY(send(l, r, l->n[r] * fold_list_size(r)));
    TRY(send(l, CAND, l->ncand * sizeof(struct fold_k_candidate)));
    TRY(fold_k_run_blocks(&k, l->stream));
    TRY(fetch(l, PROFILE, l->nprofile * sizeof(double)));
    TRY(fetch(l, MEAN, parts));
    return fetch(l, SQUARE, parts);
}

/* --- results ---------------------------------------------------------------------------------- */

static void take_parts(const struct psr_fold *f, const struct launch *l, size_t i)
{
    const struct fold_k_candidate *cand = (const struct fold_k_candidate *)l->room[CAND].host + i;
    const struct fold_k_block *block = l->room[PSR_FOLD_BLOCKS].host;
    const double *profile = (const double *)l->room[PROFILE].host + cand->profile;
    const double *mean = l->room[MEAN].host, *square = l->room[SQUARE].host;
    const size_t nsub = f->d.nsub, *part = l->room[PSR_FOLD_PARTS].host;
    struct psr_fold_cube *cube = &f->cube[l->first + i];
    const size_t n = nsub * cube->cand.nbin;
    for (size_t k = cand->block; k < cand->block + cand->nblock; k++) {
        const size_t slot = block[k].out;
        if (!block[k].ends)
            continue;
        memcpy(cube->profile + part[slot] * n, profile + (slot - cand->slot) * n,
               n * sizeof *profile);
        psr_fold_set_stats(f, cube, part[slot], mean + slot * nsub, square + slot * nsub);
    }
}

/* Waits for a launch, and takes the parts that ended. */
static psr_status finish_launch(const struct state *c, struct psr_fold *f, struct launch *l,
                                psr_err *err)
{
    const int nthread = f->d.nthread;
    if (!l->is_running)
        return PSR_OK;
    l->is_running = false;
    const cudaError_t e = cudaStreamSynchronize(l->stream);
    if (e)
        return psr_cuda_fail(c->device, e, "fold", err);
#pragma omp parallel for schedule(dynamic) num_threads(nthread) if (l->n[PSR_FOLD_PARTS])
    for (size_t i = 0; i < l->ncand; i++)
        take_parts(f, l, i);
    return PSR_OK;
}

/* --- run -------------------------------------------------------------------------------------- */

static cudaError_t send_steps(struct state *c, struct window *w, const struct psr_fold *f)
{
    const size_t firsts = (f->nkept + 1) * sizeof(uint32_t);
    size_t n = 0;
    TRY(make_room(c, &w->first_step, CAND, firsts));
    TRY(make_room(c, &w->step, CAND, f->nstep * sizeof(struct fold_k_step)));
    uint32_t *first = w->first_step.host;
    struct fold_k_step *step = w->step.host;
    for (size_t k = 0; k < f->nkept; k++) {
        first[k] = (uint32_t)n;
        for (size_t i = f->first_step[k]; i != SIZE_MAX; i = f->step[i].later)
            step[n++] = (struct fold_k_step){f->step[i].t, f->step[i].value};
    }
    first[f->nkept] = (uint32_t)n;
    TRY(psr_cuda_send(w->first_step.device, first, firsts));
    return n ? psr_cuda_send(w->step.device, step, n * sizeof *step) : cudaSuccess;
}

/* No launch uses it. */
static psr_status send_window(struct state *c, struct window *w, const struct psr_fold *f,
                              psr_err *err)
{
    const size_t bytes = f->nkept * f->room * (size_t)f->store;
    cudaError_t e = bytes ? psr_cuda_send(w->d_samples, f->window, bytes) : cudaSuccess;
    if (!e)
        e = send_steps(c, w, f);
    return e ? psr_cuda_fail(c->device, e, "fold", err) : PSR_OK;
}

static psr_status run_chunk(struct state *c, struct psr_fold *f, struct launch *l, psr_err *err)
{
    psr_status st = list_all(c, f, l->first, l->ncand, err);
    if (st)
        return st;
    cudaError_t e = join_all(c, f, l);
    if (!e && l->n[PSR_FOLD_BLOCKS])
        e = start(c, f, l);
    return e ? psr_cuda_fail(c->device, e, "fold", err) : PSR_OK;
}

/* Launches of a window, or all. */
static psr_status finish_launches(struct state *c, struct psr_fold *f, const struct window *of,
                                  psr_err *err)
{
    psr_status st = PSR_OK;
    for (int k = 0; k < NSET && !st; k++)
        if (!of || c->launch[k].window == of)
            st = finish_launch(c, f, &c->launch[k], err);
    return st;
}

/* Some launches still run when it returns. */
static psr_status run(void *state, struct psr_fold *f, psr_err *err)
{
    struct state *c = state;
    struct window *w = &c->window[c->nwindow++ % NSET];
    const cudaError_t e = cudaSetDevice(c->device);
    psr_status st = e ? psr_cuda_fail(c->device, e, "fold", err) : finish_launches(c, f, w, err);
    if (!st)
        st = send_window(c, w, f, err);
    for (size_t first = 0, k = 0; first < f->d.ncand && !st; first += CHUNK, k++) {
        struct launch *l = &c->launch[k % NSET];
        st = finish_launch(c, f, l, err);
        l->window = w;
        l->first = first;
        l->ncand = f->d.ncand - first < CHUNK ? f->d.ncand - first : CHUNK;
        if (!st)
            st = run_chunk(c, f, l, err);
    }
    return st;
}

/* --- the end ---------------------------------------------------------------------------------- */

/* Sums of the part at hand, and of its last turn. */
static cudaError_t take_slice(struct state *c, struct psr_fold *f, size_t i, size_t g)
{
    struct psr_fold_slice *s = &f->slice[g * f->d.ncand + i];
    const size_t cells = GROUP * s->bins.nbin;
    struct fold_k_moments m;
    TRY(cudaMemcpy(s->bins.sum, c->d_sums + c->sums[i] + (c->ngroup + g) * cells,
                   cells * sizeof(double), cudaMemcpyDeviceToHost));
    TRY(cudaMemcpy(s->bins.turn, c->d_sums + c->sums[i] + g * cells, cells * sizeof(double),
                   cudaMemcpyDeviceToHost));
    TRY(cudaMemcpy(&m, c->d_moments + i * c->ngroup + g, sizeof m, cudaMemcpyDeviceToHost));
    memcpy(s->mean, m.mean, s->n * sizeof *s->mean);
    memcpy(s->square, m.square, s->n * sizeof *s->square);
    s->count = m.count[0];
    return cudaSuccess;
}

static psr_status finish(void *state, struct psr_fold *f, psr_err *err)
{
    struct state *c = state;
    cudaError_t e = cudaSetDevice(c->device);
    psr_status st = e ? psr_cuda_fail(c->device, e, "fold", err) : finish_launches(c, f, NULL, err);
    if (st)
        return st;
    for (size_t i = 0; i < f->d.ncand && !e; i++) {
        const bool cut = f->cube[i].next < f->d.npart * f->d.part_blocks;
        for (size_t g = 0; g < c->ngroup && (cut || f->d.last_turn) && !e; g++)
            e = take_slice(c, f, i, g);
    }
    return e ? psr_cuda_fail(c->device, e, "fold", err) : PSR_OK;
}

const struct psr_fold_device_ops psr_fold_cuda = {
    .name = "cuda", .create = create, .run = run, .finish = finish, .destroy = destroy};
