/* The sums of one DM's parts, rounded, and the trials that their bound does not exclude. */
#include "search/fold/kernels/fold_sum_kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A sum of squares fits into 31 bits, elements into 16. */
static const double norm_max = 46000, element_max = 32700;

static size_t count_rows(const struct psr_fold_sums *s, size_t level)
{
    return level ? s->level[level].n : s->ngroup << s->ntop;
}

double psr_fold_table_bytes(const struct psr_fold_sums *s)
{
    const double stride = (double)s->stride;
    double bytes = (double)count_rows(s, s->ntop) * stride * sizeof(int16_t);
    for (size_t level = 0; level == 0 || level < s->ntop; level++)
        bytes += (double)count_rows(s, level) * stride * sizeof(float);
    return bytes;
}

psr_status psr_fold_table_init(struct psr_fold_table *t, const struct psr_fold_sums *s,
                               psr_err *err)
{
    memset(t, 0, sizeof *t);
    t->group = calloc(count_rows(s, s->ntop), s->stride * sizeof *t->group);
    bool allocated = t->group;
    for (size_t level = 0; level == 0 || level < s->ntop; level++) {
        t->level[level] = calloc(count_rows(s, level), s->stride * sizeof **t->level);
        allocated = t->level[level] && allocated;
    }
    if (allocated)
        return PSR_OK;
    psr_fold_table_clear(t);
    return psr_fail_nomem(err, "sums of parts", psr_fold_table_bytes(s));
}

void psr_fold_table_clear(struct psr_fold_table *t)
{
    for (size_t level = 0; level < FOLD_LEVELS; level++)
        free(t->level[level]);
    free(t->group);
    memset(t, 0, sizeof *t);
}

/* Repeats the first nbin elements of a row up to its end. */
static void repeat_row(void *row, size_t nbin, size_t stride, size_t size)
{
    unsigned char *bytes = row;
    for (size_t have = nbin; have < stride; have *= 2) {
        const size_t more = have < stride - have ? have : stride - have;
        memcpy(bytes + have * size, bytes, more * size);
    }
}

/* --- scale ------------------------------------------------------------------------------------ */

/* What parts add up to at most, without their means. */
struct extent {
    double norm, element, value;
};

static struct extent measure_part(const double *part, size_t n, double *mean)
{
    struct extent e = {0, 0, 0};
    double sum = 0;
    for (size_t b = 0; b < n; b++)
        sum += part[b];
    *mean = sum / (double)n;
    for (size_t b = 0; b < n; b++) {
        const double x = part[b] - *mean;
        e.norm += x * x;
        e.element = fmax(e.element, fabs(x));
        e.value = fmax(e.value, fabs(part[b]));
    }
    e.norm = sqrt(e.norm);
    return e;
}

void psr_fold_table_set(struct psr_fold_table *t, const struct psr_fold_sums *s, const double *part)
{
    struct extent all = {0, 0, 0};
    for (size_t i = 0; i < s->npart; i++, part += s->nbin) {
        float *row = t->level[0] + i * s->stride;
        double mean;
        const struct extent e = measure_part(part, s->nbin, &mean);
        for (size_t b = 0; b < s->nbin; b++)
            row[b] = (float)(part[b] - mean);
        repeat_row(row, s->nbin, s->stride, sizeof *row);
        all.norm += e.norm;
        all.element += e.element;
        all.value += e.value;
    }
    /* Roundings: 1/2 of a count in every bin of a group; single precision, where a sum of 8
     * parts takes 4 steps of at most 2^-24 of the parts' norms each; and of double precision, of
     * what prepfold sums. */
    const double side = sqrt((double)s->nbin), groups = (double)s->ngroup;
    const double counts = 0.51 * groups * side;
    const double room =
        fmin((norm_max - counts) / all.norm, (element_max - 0.51 * groups) / all.element);
    t->most = all.norm;
    t->scale = room > 0 && isfinite(room) ? room : 0;
    t->slack = counts / t->scale + all.norm * 0x1p-20 +
               side * all.value * (double)(s->npart + 4) * 0x1p-50;
}

/* --- sums ------------------------------------------------------------------------------------- */

/* Groups of single parts are the parts: the sum is of a part and of nothing. */
static void round_groups(struct psr_fold_table *t, const struct psr_fold_sums *s,
                         const struct psr_fold_loops *loops)
{
    const float *below = t->level[s->ntop ? s->ntop - 1 : 0];
    const float scale = (float)(s->ntop ? t->scale : t->scale / 2);
    for (size_t i = 0; i < count_rows(s, s->ntop) && !psr_is_stopped(&s->stop); i++) {
        const uint32_t part = (uint32_t)(i * s->stride);
        const struct psr_fold_terms term =
            s->ntop ? s->level[s->ntop].sum[i] : (struct psr_fold_terms){part, part};
        int16_t *row = t->group + i * s->stride;
        loops->round(row, below + term.left, below + term.right, scale, s->padded);
        repeat_row(row, s->nbin, s->stride, sizeof *row);
    }
}

void psr_fold_table_fill(struct psr_fold_table *t, const struct psr_fold_sums *s)
{
    const struct psr_fold_loops *loops = psr_fold_loops_choose();
    for (size_t level = 1; level < s->ntop; level++) {
        const float *below = t->level[level - 1];
        for (size_t i = 0; i < s->level[level].n && !psr_is_stopped(&s->stop); i++) {
            const struct psr_fold_terms *term = &s->level[level].sum[i];
            float *row = t->level[level] + i * s->stride;
            loops->add(row, below + term->left, below + term->right, s->padded);
            repeat_row(row, s->nbin, s->stride, sizeof *row);
        }
    }
    round_groups(t, s, loops);
}

/* Trials whose elements are added within some milliseconds, between two questions whether to stop. */
static size_t count_at_once(const struct psr_fold_sums *s)
{
    const size_t most = (size_t)1 << 26, n = most / (s->ngroup * s->padded);
    return n ? n : 1;
}

/* Which elements of the last vector of a row count. */
static void set_used(const struct psr_fold_sums *s, int16_t used[FOLD_VECTOR])
{
    for (size_t k = 0; k < FOLD_VECTOR; k++)
        used[k] = s->padded - FOLD_VECTOR + k < s->nbin ? -1 : 0;
}

size_t psr_fold_table_find(const struct psr_fold_table *t, const struct psr_fold_sums *s,
                           size_t from, double norm)
{
    int16_t used[FOLD_VECTOR];
    const double least = (norm - t->slack) * t->scale;
    if (!(least > 0))
        return from;
    set_used(s, used);
    const double square = fmin(floor(least * least), INT32_MAX);
    const size_t step = count_at_once(s);
    while (from < s->ntrial && !psr_is_stopped(&s->stop)) {
        const size_t end = from + step < s->ntrial ? from + step : s->ntrial;
        from = psr_fold_loops_choose()->find(t->group, s->trial, s->ngroup, s->padded, used, from,
                                             end, (int32_t)square);
        if (from < end)
            return from;
    }
    return s->ntrial;
}

void psr_fold_table_measure(const struct psr_fold_table *t, const struct psr_fold_sums *s,
                            int32_t *norm)
{
    int16_t used[FOLD_VECTOR];
    set_used(s, used);
    psr_fold_loops_choose()->measure(t->group, s->trial, s->ngroup, s->padded, used, s->ntrial,
                                     norm);
}
