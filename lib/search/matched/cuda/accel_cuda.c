/* The search on a CUDA device, by pairs of spectra: while one pair is searched, the next is
 * copied, transformed and normalised, and the host verifies and measures what was found in the one
 * before. */
#include "accel_cuda.h"

#include <stdlib.h>

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
