/* The tree algorithm in words of two outputs on one CUDA device: its memory, and its stages for the
 * next outputs. */
#include "dedisp_cuda.h"

#include "base/tool.h"

#include <stdlib.h>
#include <string.h>

/* --- plans the tree algorithm in words of two outputs ----------------------------------------- */

/* Nothing here needs a device. */

enum { LATEST = 1 << 25 }; /* delay in a grid's tiles */

bool psr_words_fit(const struct psr_dedisp_layout *s)
{
    uint64_t most = psr_dedisp_layout_sample_max(s);
    return most && most <= UINT8_MAX && s->tree.nlevel > 2 && s->maxoff < LATEST;
}

/* --- rows between the stages ------------------------------------------------------------------ */

PSR_COMPARE(by_row_and_delay, struct psr_words_row, PSR_THEN(PSR_RISING(row), PSR_RISING(lo)));

/* What the second stage copies is what the first makes, joined as long as there is no gap. */
static psr_status unite_rows(struct psr_words *w, size_t gap, psr_err *err)
{
    size_t bytes = w->ncopy * sizeof *w->made;
    w->made = malloc(bytes);
    if (!w->made)
        return psr_fail_nomem(err, "rows of a tree", (double)bytes);
    memcpy(w->made, w->want, bytes);
    qsort(w->made, w->ncopy, sizeof *w->made, by_row_and_delay);
    for (size_t k = 0; k < w->ncopy; k++) {
        const struct psr_words_row *one = w->made + k;
        struct psr_words_row *last = w->made + w->nmade - 1;
        if (w->nmade && last->row == one->row && one->lo - last->hi <= (int64_t)gap)
            last->hi = one->hi > last->hi ? one->hi : last->hi;
        else
            w->made[w->nmade++] = *one;
    }
    return PSR_OK;
}

static int64_t find_row(const struct psr_words *w, const struct psr_words_row *want)
{
    size_t lo = 0, hi = w->nmade;
    while (hi - lo > 1) {
        size_t mid = (lo + hi) / 2;
        if (by_row_and_delay(w->made + mid, want) <= 0)
            lo = mid;
        else
            hi = mid;
    }
    return w->made[lo].at;
}

static size_t row_words(const struct words_k_group *g, size_t half)
{
    size_t ntile = ((size_t)(g->hi - g->v0) + half + WORDS_TILE - 1) / WORDS_TILE;
    return ntile * WORDS_TILE;
}

/* Words of all rows between the stages for 2 half outputs at once. */
static size_t words_count(const struct psr_words *w, size_t half)
{
    size_t words = 8 * WORDS_ROW; /* read beyond the last row */
    for (const struct words_k_group *g = w->group; g < w->group + w->ngroup; g++)
        words += g->nupper * row_words(g, half);
    return words;
}

/* Gives rows between the stages their places, for up to 2 half outputs at once, and every source its
 * position: of channels with runs of pitch bytes. */
static void words_place(struct psr_words *w, size_t half, size_t pitch)
{
    int64_t next = 0;
    struct psr_words_row *made = w->made;
    for (const struct words_k_group *g = w->group; g < w->group + w->ngroup; g++)
        for (size_t k = 0; k < g->nupper; k++, made++) {
            made->at = w->row[g->row + g->nlower + k].at = next - g->v0;
            next += (int64_t)row_words(g, half);
        }
    for (size_t k = 0; k < w->ncopy; k++)
        w->copy[k].from = find_row(w, w->want + k) + w->want[k].lo;
    for (struct words_k_chan *c = w->chan; c < w->chan + w->nchan; c++)
        c->at = (c->at >> 32) * (int64_t)pitch + (int32_t)c->at;
}

/* --- the plan --------------------------------------------------------------------------------- */

/* Plans both stages.
 * Given:    first, ndm   trials of this device
 *           gap   delays further apart than this are made as separate rows
 *           shared   bytes of shared memory of a thread block
 * Status:   PSR_ENOMEM.  To be freed after a failure too. */
static psr_status words_make(struct psr_words *w, const struct psr_dedisp_layout *s, size_t first,
                             size_t ndm, size_t gap, size_t shared, psr_err *err)
{
    struct psr_words_maker *m = calloc(1, sizeof *m);
    *w = (struct psr_words){.third = s->tree.nlevel > 3};
    if (!m)
        return psr_fail_nomem(err, "rows of a tree", sizeof *m);
    m->tree = &s->tree;
    m->words = w;
    m->first = first;
    m->shared = shared;
    m->low = w->third ? 2 : 1;
    size_t nnode = s->tree.level[m->low].nnode, bytes = nnode * WORDS_TRIALS * sizeof *m->part;
    w->nstep = w->third ? nnode : (nnode + WORDS_PARTS - 1) / WORDS_PARTS;
    m->part = malloc(bytes);
    psr_status bad = m->part ? PSR_OK : psr_fail_nomem(err, "rows of a tree", (double)bytes);
    if (!bad && !(bad = psr_words_plan_trials(m, ndm, err)) && !(bad = unite_rows(w, gap, err)))
        bad = psr_words_plan_rows(m, err);
    free(m->part);
    free(m);
    return bad;
}

enum { MADE_BYTES = 1 << 30 }; /* of rows for a buffer: more outputs at once gain nothing */

/* --- memory ----------------------------------------------------------------------------------- */

/* Words of a row that stand for n outputs, at most. */
static size_t half_of(size_t n)
{
    return ((n + 1) / 2 + WORDS_ROUND - 1) / WORDS_ROUND * WORDS_ROUND;
}

psr_status psr_cuda_tree_fail(const struct psr_cuda *c, int64_t most, double need, psr_err *err)
{
    char want[PSR_SIZE_TEXT], have[PSR_SIZE_TEXT];
    return psr_fail_field(
        err, PSR_ENOMEM, "mem_bytes",
        "dedispersion: device %d: %s for the rows of a tree, a quarter of memory, is below %s",
        c->device, psr_size_text(have, (double)most), psr_size_text(want, need));
}

/* Bytes of rows for up to n outputs at once. */
static double made_bytes(const struct psr_cuda *c, size_t n)
{
    return 4.0 * (double)words_count(&c->words, half_of(n));
}

/* The most outputs at once, whose rows fit: twice, as sums of both buffers overlap. */
static psr_status choose_chunk(struct psr_cuda *c, int64_t most, psr_err *err)
{
    size_t n = (c->nout_max + WORDS_TILE - 1) / WORDS_TILE;
    int64_t each = most / 2 < MADE_BYTES ? most / 2 : MADE_BYTES;
    while (n > 1 && made_bytes(c, n * WORDS_TILE) > (double)each)
        n = n * 7 / 8;
    c->tree_chunk = n * WORDS_TILE;
    double need = made_bytes(c, c->tree_chunk);
    return need <= (double)each ? PSR_OK : psr_cuda_tree_fail(c, most, 2 * need, err);
}

static cudaError_t upload_words(struct psr_cuda *c)
{
    const struct psr_words *w = &c->words;
    struct psr_cuda_words *d = &c->d_words;
    size_t nstep = w->ntrial_group * w->nstep, bytes = 4 * words_count(w, half_of(c->tree_chunk));
    TRY(psr_cuda_upload(&d->d_group, w->group, w->ngroup * sizeof *w->group, &c->bytes));
    TRY(psr_cuda_upload(&d->d_chan, w->chan, w->nchan * sizeof *w->chan, &c->bytes));
    TRY(psr_cuda_upload(&d->d_row, w->row, w->nrow * sizeof *w->row, &c->bytes));
    TRY(psr_cuda_upload(&d->d_load, w->load, nstep * sizeof *w->load, &c->bytes));
    TRY(psr_cuda_upload(&d->d_step, w->step, nstep * sizeof *w->step, &c->bytes));
    TRY(psr_cuda_upload(&d->d_copy, w->copy, w->ncopy * sizeof *w->copy, &c->bytes));
    TRY(psr_cuda_upload(&d->d_trial, w->trial, w->ntrial_group * WORDS_TRIALS * sizeof *w->trial,
                        &c->bytes));
    for (int k = 0; k < 2; k++) {
        TRY(psr_cuda_take(&d->d_made[k], bytes, &c->bytes));
        TRY(cudaMemset(d->d_made[k], 0, bytes)); /* words that nobody uses are copied too */
    }
    return cudaStreamSynchronize(cudaStreamLegacy);
}

psr_status psr_cuda_words_start(struct psr_cuda *c, int64_t most, size_t gap, size_t shared,
                                psr_err *err)
{
    psr_status st =
        words_make(&c->words, c->s, c->first_trial, c->s->ndm, half_of(gap), shared, err);
    if (st || (st = choose_chunk(c, most, err)))
        return st;
    words_place(&c->words, half_of(c->tree_chunk), c->pitch);
    cudaError_t e = upload_words(c);
    return e ? psr_cuda_fail(c->device, e, "rows of a tree", err) : PSR_OK;
}

void psr_cuda_words_free(struct psr_cuda *c)
{
    struct psr_cuda_words *d = &c->d_words;
    void *const device[] = {d->d_group, d->d_chan,  d->d_row,     d->d_load,   d->d_step,
                            d->d_copy,  d->d_trial, d->d_made[0], d->d_made[1]};
    for (size_t n = 0; n < sizeof device / sizeof *device; n++)
        cudaFree(device[n]);
    struct psr_words *w = &c->words;
    free(w->group);
    free(w->chan);
    free(w->row);
    free(w->made);
    free(w->load);
    free(w->step);
    free(w->copy);
    free(w->want);
    free(w->trial);
    *w = (struct psr_words){0};
}

/* --- sums ------------------------------------------------------------------------------------- */

static cudaError_t make_trials(const struct psr_cuda *c, const struct dedisp_k_io *io, size_t t0,
                               size_t n, cudaStream_t stream)
{
    const struct psr_words *w = &c->words;
    const struct psr_cuda_words *d = &c->d_words;
    const struct words_k_trials trials = {
        .d_load = d->d_load,
        .d_step = d->d_step,
        .d_copy = d->d_copy,
        .d_trial = d->d_trial,
        .ngroup = w->ntrial_group,
        .nstep = w->nstep,
        .third = w->third,
        .rows = WORDS_FIRST + w->ring,
        .nrow = w->nthird,
        .shared = WORDS_FIRST + w->ring + psr_words_third_bytes(w),
        .d_in = d->d_made[c->current],
        .d_out = io->d_out + t0,
        .out_pitch = io->out_pitch,
        .n = n,
        .half = half_of(n),
        .bias = io->bias,
        .downsamp = io->downsamp,
    };
    return words_k_make_trials(&trials, stream);
}

cudaError_t psr_cuda_words_sums(const struct psr_cuda *c, const struct dedisp_k_io *io,
                                cudaStream_t stream)
{
    for (size_t t0 = 0; t0 < io->nout; t0 += c->tree_chunk) {
        size_t left = io->nout - t0, n = left < c->tree_chunk ? left : c->tree_chunk;
        const struct psr_words *w = &c->words;
        const struct psr_cuda_words *d = &c->d_words;
        const struct words_k_rows rows = {
            .d_group = d->d_group,
            .ngroup = w->ngroup,
            .d_chan = d->d_chan,
            .d_row = d->d_row,
            .last = w->last,
            .shared = w->shared,
            .d_in = io->d_runs,
            .at = io->at + t0,
            .d_out = d->d_made[c->current],
            .half = half_of(n),
        };
        TRY(words_k_make_rows(&rows, stream));
        TRY(make_trials(c, io, t0, n, stream));
    }
    return cudaSuccess;
}
