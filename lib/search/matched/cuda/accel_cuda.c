/* The search on a CUDA device, by pairs of spectra: while one pair is searched, the next is
 * copied, transformed and normalised, and the host verifies and measures what was found in the one
 * before. */
#include "accel_cuda.h"

#include "base/device/device_internal.h"

#include <psrkit/device.h>
#include <stdlib.h>

/* --- state ------------------------------------------------------------------------------------ */

enum { TOGETHER = 64 };              /* responses that are sent at once */
static const double FREE_PART = 0.9; /* of the device's free memory */

/* --- responses -------------------------------------------------------------------------------- */

static void fill_response(const struct psr_accel_cuda *c, size_t t, char *to)
{
    const float *re[2], *im[2];
    for (int odd = 0; odd < 2; odd++) {
        struct psr_split x =
            psr_split_at(psr_template_spectrum(c->bank, t, odd), c->correlator->bins);
        re[odd] = x.re;
        im[odd] = x.im;
    }
    accel_k_response_fill(c->plan.kind, to, re, im);
}

static cudaError_t send_responses(struct psr_accel_cuda *c)
{
    const size_t each = accel_k_response_bytes(c->plan.kind), n = c->bank->n;
    const int nthread = c->s->nthread;
    (void)nthread; /* without OpenMP */
    TRY(psr_cuda_take(&c->d_response, n * each, &c->bytes));
    char *room = malloc(TOGETHER * each);
    cudaError_t e = room ? cudaSuccess : cudaErrorMemoryAllocation;
    for (size_t first = 0; first < n && !e; first += TOGETHER) {
        size_t count = n - first < TOGETHER ? n - first : TOGETHER;
#pragma omp parallel for num_threads(nthread)
        for (size_t k = 0; k < count; k++)
            fill_response(c, first + k, room + k * each);
        e = psr_cuda_send((char *)c->d_response + first * each, room, count * each);
    }
    free(room);
    return e;
}

static cudaError_t send_taps(struct psr_accel_cuda *c)
{
    const struct psr_template_bank *b = c->bank;
    const size_t last = b->n - 1, ntap = b->at[last] + 4 * psr_template_taps(b->half[last]);
    uint64_t *at = malloc(b->n * sizeof *at);
    if (!at)
        return cudaErrorMemoryAllocation;
    for (size_t t = 0; t < b->n; t++)
        at[t] = b->at[t];
    cudaError_t e = psr_cuda_upload(&c->d_at, at, b->n * sizeof *at, &c->bytes);
    free(at);
    TRY(e);
    TRY(psr_cuda_upload(&c->d_half, b->half, b->n * sizeof *b->half, &c->bytes));
    return psr_cuda_upload(&c->d_taps, b->taps, ntap * sizeof *b->taps, &c->bytes);
}

static cudaError_t send_twiddles(struct psr_accel_cuda *c, enum accel_k_number kind, void *to)
{
    void *twiddle = malloc(accel_k_twiddle_bytes(kind));
    if (!twiddle)
        return cudaErrorMemoryAllocation;
    accel_k_twiddle_fill(kind, twiddle);
    cudaError_t e = psr_cuda_upload(to, twiddle, accel_k_twiddle_bytes(kind), &c->bytes);
    free(twiddle);
    return e;
}

static psr_status make_responses(struct psr_accel_cuda *c, psr_err *err)
{
    const struct psr_accel_search *s = c->s;
    const int reach = psr_template_reach(s->jmax, s->lmax);
    psr_status st = psr_correlator_create(&c->correlator, reach, ACCEL_BLOCK, err);
    if (!st)
        st = psr_template_bank_create(&c->bank, c->correlator, s->jmax, s->lmax, false, true,
                                      s->nthread, &s->stop, err);
    if (st)
        return st;
    cudaError_t e = send_responses(c);
    free(c->bank->spectrum); /* the host has no use for them */
    c->bank->spectrum = NULL;
    if (!e)
        e = send_taps(c);
    return e ? psr_accel_cuda_fail(c, e, "responses", err) : PSR_OK;
}

/* --- memory ----------------------------------------------------------------------------------- */

static cudaError_t take_slot(struct psr_accel_cuda *c, struct psr_accel_slot *slot)
{
    const size_t bins = (2 * c->s->nbin + 2) * sizeof(float);
    TRY(cudaEventCreateWithFlags(&slot->copied, cudaEventDisableTiming));
    TRY(cudaEventCreateWithFlags(&slot->done, cudaEventDisableTiming));
    for (int p = 0; p < c->plan.npair; p++)
        TRY(psr_cuda_take(&slot->d_x[p], bins, &c->bytes));
    TRY(psr_cuda_take(&slot->d_hit, PSR_ACCEL_HITS * sizeof *slot->d_hit, &c->bytes));
    TRY(psr_cuda_take(&slot->d_count, 2 * sizeof *slot->d_count, &c->bytes));
    return psr_cuda_take_pinned(&slot->h_count, 2 * sizeof *slot->h_count, &c->bytes);
}

static cudaError_t take_strips(struct psr_accel_cuda *c)
{
    struct psr_accel_cuda_plan *p = &c->plan;
    const size_t nblock = (size_t)p->nblock;
    for (int k = p->whole ? c->s->numharm : 1; k <= c->s->numharm; k++)
        TRY(psr_cuda_take(&p->strip[k].d_bound, (size_t)p->strip[k].room * sizeof(uint32_t),
                          &c->bytes));
    TRY(psr_cuda_take(&c->d_x, nblock * accel_k_block_bytes(p->kind), &c->bytes));
    return psr_cuda_take(&c->d_square, nblock * ACCEL_PAIR * sizeof *c->d_square, &c->bytes);
}

static cudaError_t take_all(struct psr_accel_cuda *c)
{
    int least, most; /* the next pair's bins get multiprocessors as soon as some are free */
    TRY(cudaDeviceGetStreamPriorityRange(&least, &most));
    TRY(cudaStreamCreateWithPriority(&c->in, cudaStreamNonBlocking, most));
    TRY(cudaStreamCreateWithPriority(&c->work, cudaStreamNonBlocking, least));
    TRY(send_twiddles(c, ACCEL_FLOAT, &c->d_twiddle_float));
    TRY(send_twiddles(c, c->plan.kind, &c->d_twiddle));
    for (int k = 0; k < c->plan.nslot; k++)
        TRY(take_slot(c, &c->slot[k]));
    TRY(psr_cuda_take(&c->d_entry, PSR_ACCEL_ENTRIES * sizeof *c->d_entry, &c->bytes));
    return take_strips(c);
}

/* --- start and end ---------------------------------------------------------------------------- */

psr_status psr_accel_cuda_start(struct psr_accel_cuda *c, enum accel_k_number kind, size_t batch,
                                psr_err *err)
{
    struct psr_device device;
    psr_err why;
    psr_status st = psr_device_describe(c->s->device, &device, &why);
    if (st)
        return psr_fail(err, st, "search on CUDA: %s", why.msg);
    double limit = FREE_PART * (double)device.mem_free;
    limit = limit < (double)c->s->mem_bytes ? limit : (double)c->s->mem_bytes;
    /* Series are transformed here where that is the same work for all, and where there is cuFFT
     * and memory for it; else the host does. */
    const struct psr_accel_search *s = c->s;
    double room = 0;
    c->transforms =
        s->series && psr_accel_cuda_levels(c) && !s->redden.presto &&
        psr_cufft_room(2 * s->nbin, &room, NULL) == PSR_OK &&
        psr_accel_cuda_plan_make(&c->plan, s, kind, batch, limit - room, NULL) == PSR_OK;
    st = c->transforms ? PSR_OK : psr_accel_cuda_plan_make(&c->plan, s, kind, batch, limit, err);
    if (st)
        return st;
    cudaError_t e = cudaSetDevice(c->s->device);
    c->started = !e;
    if (e || (e = take_all(c)))
        return psr_accel_cuda_fail(c, e, "start", err);
    st = psr_accel_cuda_prepare(c, err);
    return st ? st : make_responses(c, err);
}

static void free_device(struct psr_accel_cuda *c)
{
    (void)cudaSetDevice(c->s->device);
    (void)cudaDeviceSynchronize();
    psr_cufft_close(&c->fft);
    void *const device[] = {
        c->d_twiddle_float, c->d_twiddle, c->d_response, c->d_x,     c->d_square,
        c->d_taps,          c->d_at,      c->d_half,     c->d_entry, c->d_redden,
        c->d_redness,       c->d_first,   c->d_zap};
    for (size_t n = 0; n < sizeof device / sizeof *device; n++)
        cudaFree(device[n]);
    for (int k = 0; k <= PSR_ACCELSEARCH_MAX_HARM; k++)
        cudaFree(c->plan.strip[k].d_bound);
    for (int k = 0; k < PSR_ACCEL_SLOTS; k++) {
        for (int p = 0; p < ACCEL_PAIR; p++)
            cudaFree(c->slot[k].d_x[p]);
        cudaFree(c->slot[k].d_mean);
        psr_device_unpin(c->slot[k].h_mean);
        cudaFree(c->slot[k].d_bad);
        psr_device_unpin(c->slot[k].h_bad);
        cudaFree(c->slot[k].d_hit);
        cudaFree(c->slot[k].d_count);
        psr_device_unpin(c->slot[k].h_count);
        if (c->slot[k].copied)
            cudaEventDestroy(c->slot[k].copied);
        if (c->slot[k].done)
            cudaEventDestroy(c->slot[k].done);
        psr_device_unpin(c->h_stage[k]);
        if (c->staged[k])
            cudaEventDestroy(c->staged[k]);
    }
    if (c->in)
        cudaStreamDestroy(c->in);
    if (c->work)
        cudaStreamDestroy(c->work);
}

void psr_accel_cuda_free(struct psr_accel_cuda *c)
{
    if (c->started)
        free_device(c);
    psr_accel_normalise_destroy(c->norm);
    psr_template_bank_destroy(c->bank);
    psr_correlator_destroy(c->correlator);
    free(c->place);
}

static psr_status finish(struct psr_accel_cuda *c, struct psr_accel_slot *slot,
                         const struct psr_accel_batch *b, psr_err *err)
{
    psr_status st = slot->n ? psr_accel_cuda_collect(c, slot, err) : PSR_OK;
    for (size_t p = 0; p < slot->n && !st; p++) {
        const size_t spec = slot->first + p;
        psr_accel_cuda_take_levels(c, slot, p, b);
        st = psr_accel_cuda_settle(c->s, c->bank, b->norm[spec], c->place, c->nplace, (int)p,
                                   &b->hits[spec], err);
        if (!st && b->found)
            st = b->found(b->ctx, spec, err);
    }
    slot->n = 0;
    return st;
}

static psr_status search(void *state, const struct psr_accel_batch *b, psr_err *err)
{
    struct psr_accel_cuda *c = state;
    cudaError_t e = cudaSetDevice(c->s->device);
    if (e)
        return psr_accel_cuda_fail(c, e, "search", err);
    const int nslot = c->plan.nslot;
    psr_status st = PSR_OK;
    int current = 0;
    for (size_t first = 0; first < b->n && !st; first += (size_t)c->plan.npair) {
        struct psr_accel_slot *slot = &c->slot[current];
        st = finish(c, slot, b, err); /* one slot: the pair before */
        if (!st)
            st = psr_accel_cuda_upload(c, slot, b, first, err);
        if (!st)
            st = psr_accel_cuda_launch(c, slot, err);
        current = (current + 1) % nslot;
        if (!st && nslot > 1)
            st = finish(c, &c->slot[current], b, err);
    }
    for (int k = 0; k < nslot && !st; k++)
        st = finish(c, &c->slot[k], b, err);
    if (st) {
        (void)cudaStreamSynchronize(c->in);
        (void)cudaStreamSynchronize(c->work);
        for (int k = 0; k < PSR_ACCEL_SLOTS; k++)
            c->slot[k].n = 0;
    }
    return st;
}

static bool transforms(const void *state)
{
    return ((const struct psr_accel_cuda *)state)->transforms;
}

static bool checks(const void *state)
{
    return psr_accel_cuda_levels(state);
}

static const struct psr_template_bank *bank(const void *state)
{
    return ((const struct psr_accel_cuda *)state)->bank;
}

static double bytes(const void *state)
{
    return (double)((const struct psr_accel_cuda *)state)->bytes;
}

static void destroy(void *state)
{
    psr_accel_cuda_free(state);
    free(state);
}

/* Leaves nothing behind where it fails, so that another backend can be tried. */
static psr_status create(void **state, const struct psr_accel_search *s, size_t batch, psr_err *err)
{
    struct psr_accel_cuda *c = calloc(1, sizeof *c);
    *state = NULL;
    if (!c)
        return psr_fail_nomem(err, "a search", sizeof *c);
    c->s = s;
    psr_status st = psr_accel_cuda_start(c, ACCEL_FLOAT, batch, err);
    if (st)
        destroy(c);
    else
        *state = c;
    return st;
}

const struct psr_accel_ops psr_accel_cuda = {
    .name = "cuda",
    .create = create,
    .search = search,
    .transforms = transforms,
    .checks = checks,
    .bank = bank,
    .bytes = bytes,
    .destroy = destroy,
};
