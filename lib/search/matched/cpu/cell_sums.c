/* Computes the harmonic sums of the half bins of a cell by their definition. */
#include "cell_sums.h"

#include <string.h>

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

double psr_cell_sums_bytes(const struct psr_accel_search *s)
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
