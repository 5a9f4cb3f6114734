#include "subbands.h"

#include <math.h>
#include <psrkit/series.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct subbands {
    char stem[PSR_TEXT_MAX]; /* ROOT_DM12.00.sub */
    size_t nsub;
    enum subbands_rule rule;
    int64_t saturated;
    psr_output_group *group;
    psr_outfile **file; /* [nsub + 1] the group's; the last is the .inf */
};

int subbands_digits(size_t nsub)
{
    int n = 1;
    for (size_t most = 10; nsub > most; most *= 10)
        n++;
    return n;
}

static psr_status create_parts(struct subbands *b, const struct subbands_desc *d, psr_err *err)
{
    struct psr_output_group_desc claim = psr_series_claim(&(struct psr_series_desc){
        .root = d->root, .dm_decimals = d->dm_decimals, .ndm = 1, .dm = &d->dm});
    claim.kind = "sub";
    psr_status st = psr_output_group_create(&b->group, &claim, err);
    if (!st)
        st = psr_output_group_check_room(b->group,
                                         (double)d->nsub * (double)d->nsamp * sizeof(int16_t), err);
    b->file = calloc(b->nsub + 1, sizeof *b->file);
    if (!st && !b->file)
        st = psr_fail_nomem(err, "sub-bands", (double)b->nsub * sizeof *b->file);
    for (size_t s = 0; s <= b->nsub && !st; s++) {
        char name[PSR_TEXT_MAX + 16];
        if (s < b->nsub)
            snprintf(name, sizeof name, "%s%0*u", b->stem, subbands_digits(b->nsub), (unsigned)s);
        else
            snprintf(name, sizeof name, "%s.inf", b->stem);
        st = psr_output_group_add(b->group, name, &b->file[s], err);
    }
    return st;
}

psr_status subbands_create(struct subbands **out, const struct subbands_desc *d, psr_err *err)
{
    char stem[PSR_TEXT_MAX + 1];
    struct psr_inf inf;
    *out = NULL;
    struct subbands *b = calloc(1, sizeof *b);
    if (!b)
        return psr_fail_nomem(err, "sub-bands", sizeof *b);
    b->nsub = d->nsub;
    b->rule = d->rule;
    snprintf(stem, sizeof stem, "%s_DM%.*f.sub", d->root, d->dm_decimals, d->dm);
    psr_status st = psr_inf_set_name(&inf, stem, err);
    if (!st) {
        strcpy(b->stem, stem);
        st = create_parts(b, d, err);
    }
    if (st)
        subbands_abort(b);
    else
        *out = b;
    return st;
}

/* On the machines PRESTO runs on, what 32 bits cannot hold becomes 0. */
static int16_t wrap(float x)
{
    double rounded = (double)x + 0.5;
    return fabs(rounded) < 0x1p31 ? (int16_t)(uint16_t)(int32_t)rounded : 0;
}

static int16_t saturate(struct subbands *b, float x)
{
    double rounded = floor((double)x + 0.5);
    bool fits = rounded >= INT16_MIN && rounded <= INT16_MAX;
    b->saturated += !fits;
    return fits ? (int16_t)rounded : rounded > 0 ? INT16_MAX : rounded < 0 ? INT16_MIN : 0;
}

psr_status subbands_write(struct subbands *b, size_t s, const float *x, size_t n, psr_err *err)
{
    int16_t *narrow = malloc(n ? n * sizeof *narrow : 1);
    if (!narrow)
        return psr_fail_nomem(err, "a sub-band", (double)n * sizeof *narrow);
    for (size_t t = 0; t < n; t++)
        narrow[t] = b->rule == SUBBANDS_WRAP ? wrap(x[t]) : saturate(b, x[t]);
    psr_status st = psr_outfile_write(b->file[s], narrow, n * sizeof *narrow, err);
    free(narrow);
    return st;
}

int64_t subbands_saturated(const struct subbands *b)
{
    return b->saturated;
}

psr_status subbands_finish(struct subbands *b, struct psr_inf *inf, psr_err *err)
{
    psr_status st = psr_inf_set_name(inf, b->stem, err);
    if (!st)
        st = psr_inf_write(b->file[b->nsub], inf, err);
    if (!st) {
        st = psr_output_group_commit(b->group, err);
        b->group = NULL;
    }
    subbands_abort(b);
    return st;
}

void subbands_abort(struct subbands *b)
{
    if (!b)
        return;
    psr_output_group_abort(b->group);
    free(b->file);
    free(b);
}
