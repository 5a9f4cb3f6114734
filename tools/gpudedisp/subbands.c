#include "subbands.h"

#include "outset.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct subbands {
    char stem[PSR_TEXT_MAX]; /* ROOT_DM12.00.sub */
    size_t nsub;
    enum subbands_rule rule;
    int64_t saturated;
    struct outset files; /* [nsub + 1] the last is the .inf */
};

int subbands_digits(size_t nsub)
{
    int n = 1;
    for (size_t most = 10; nsub > most; most *= 10)
        n++;
    return n;
}

static psr_status create_parts(struct subbands *b, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t s = 0; s <= b->nsub && !st; s++) {
        char name[PSR_TEXT_MAX + 16];
        if (s < b->nsub)
            snprintf(name, sizeof name, "%s%0*u", b->stem, subbands_digits(b->nsub), (unsigned)s);
        else
            snprintf(name, sizeof name, "%s.inf", b->stem);
        psr_outfile *out;
        st = outset_create(&b->files, name, &out, err);
    }
    return st;
}

psr_status subbands_create(struct subbands **out, const char *root, int dm_decimals, double dm,
                           size_t nsub, enum subbands_rule rule, psr_err *err)
{
    psr_status st = PSR_OK;
    *out = NULL;
    struct subbands *b = calloc(1, sizeof *b);
    if (!b)
        return psr_fail_nomem(err, "sub-bands", sizeof *b);
    b->nsub = nsub;
    b->rule = rule;
    int n = snprintf(b->stem, sizeof b->stem, "%s_DM%.*f.sub", root, dm_decimals, dm);
    if (n >= (int)sizeof b->stem)
        st = psr_fail(err, PSR_EINVAL, "root of the output names has %d bytes too many",
                      n + 1 - (int)sizeof b->stem);
    if (!st)
        st = create_parts(b, err);
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
    psr_status st = psr_outfile_write(b->files.file[s].out, narrow, n * sizeof *narrow, err);
    free(narrow);
    return st;
}

int64_t subbands_saturated(const struct subbands *b)
{
    return b->saturated;
}

psr_status subbands_finish(struct subbands *b, struct psr_inf *inf, psr_err *err)
{
    snprintf(inf->name, sizeof inf->name, "%s", b->stem);
    psr_status st = psr_inf_write(b->files.file[b->nsub].out, inf, err);
    if (!st)
        st = outset_commit(&b->files, err);
    subbands_abort(b);
    return st;
}

void subbands_abort(struct subbands *b)
{
    if (!b)
        return;
    outset_abort(&b->files);
    free(b);
}
