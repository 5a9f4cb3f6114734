/* The search on the CPU. */
#include "search/matched/accel_backend.h"
#include "sieve.h"

#include <stdlib.h>

struct cpu {
    struct psr_correlator *correlator;
    struct psr_template_bank *bank;
    struct psr_sieve *sieve;
};

static void destroy(void *state)
{
    struct cpu *c = state;
    psr_sieve_destroy(c->sieve);
    psr_template_bank_destroy(c->bank);
    psr_correlator_destroy(c->correlator);
    free(c);
}

static psr_status fill(struct cpu *c, const struct psr_accel_search *s, psr_err *err)
{
    const int reach = psr_template_reach(s->jmax, s->lmax);
    psr_status st =
        psr_correlator_create(&c->correlator, reach, psr_correlator_bins(reach, 0), err);
    if (st)
        return st;
    double bytes = psr_template_bank_bytes(c->correlator, s->jmax, s->lmax, true);
    if (bytes > (double)s->mem_bytes)
        return psr_fail_field(
            err, PSR_ENOMEM, "mem_bytes",
            "search: zmax %d and wmax %d need %.0f MB of templates, and the limit is %.0f MB",
            2 * s->jmax, 20 * s->lmax, bytes / 1e6, (double)s->mem_bytes / 1e6);
    st = psr_template_bank_create(&c->bank, c->correlator, s->jmax, s->lmax, false, true,
                                  s->nthread, &s->stop, err);
    if (st)
        return st;
    return psr_sieve_create(&c->sieve, s, c->correlator, c->bank, bytes, err);
}

static psr_status create(void **state, const struct psr_accel_search *s, size_t batch, psr_err *err)
{
    (void)batch; /* one after the other */
    struct cpu *c = calloc(1, sizeof *c);
    if (!c)
        return psr_fail_nomem(err, "a search", sizeof *c);
    psr_status st = fill(c, s, err);
    if (st)
        destroy(c);
    else
        *state = c;
    return st;
}

static psr_status search(void *state, const struct psr_accel_batch *b, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t i = 0; i < b->n && !st; i++) {
        st = psr_accel_normalise_measure(b->norm[i], &b->in[i], err);
        if (!st)
            st = psr_sieve_search(((struct cpu *)state)->sieve, b->norm[i], &b->hits[i], err);
        if (!st && b->found)
            st = b->found(b->ctx, i, err);
    }
    return st;
}

static const struct psr_template_bank *bank(const void *state)
{
    return ((const struct cpu *)state)->bank;
}

static double bytes(const void *state)
{
    return ((const struct cpu *)state)->sieve->bytes;
}

const struct psr_accel_ops psr_accel_cpu = {
    .name = "cpu",
    .create = create,
    .search = search,
    .bank = bank,
    .bytes = bytes,
    .destroy = destroy,
};
