/* Finds the spectra of an interval to clip, with several threads. */
#include "rfi_clip.h"

#include "rfi/rules/zerodm.h"

#include <stdlib.h>
#include <string.h>

/* An interval is summed in this many parts whatever the number of threads, so that sums of floats
 * have the same bits. */
enum { PARTS = 16 };

struct part {
    double *sum, *row; /* [nchan] */
    float *wide;       /* [nchan] */
};

struct psr_rfi_clip {
    struct psr_rfi_clip_desc d;
    bool exact; /* integers whose sums are exact in single precision */
    struct psr_clip clip;
    float *z, *work;           /* [n] */
    unsigned char *good, *bad; /* [n] */
    uint32_t *list;            /* [n] */
    double *sum;               /* [nchan] */
    struct part part[PARTS];
};

static bool is_exact(const struct psr_layout *l)
{
    return l->kind != PSR_FLOAT && l->nbit <= 16 &&
           (double)l->nchan * (double)(1 << l->nbit) < (double)(1 << 24);
}

static bool allocate(psr_rfi_clip *p)
{
    const size_t n = p->d.n, nchan = p->d.layout.nchan;
    p->z = calloc(n, sizeof *p->z);
    p->work = calloc(n, sizeof *p->work);
    p->good = calloc(n, 1);
    p->bad = calloc(n, 1);
    p->list = calloc(n, sizeof *p->list);
    p->sum = calloc(nchan, sizeof *p->sum);
    p->clip.level = calloc(nchan, sizeof *p->clip.level);
    bool all = p->z && p->work && p->good && p->bad && p->list && p->sum && p->clip.level;
    for (int k = 0; k < PARTS; k++) {
        p->part[k].sum = calloc(nchan, sizeof *p->sum);
        p->part[k].row = calloc(nchan, sizeof *p->sum);
        p->part[k].wide = calloc(nchan, sizeof *p->z);
        all = all && p->part[k].sum && p->part[k].row && p->part[k].wide;
    }
    return all;
}

psr_status psr_rfi_clip_create(psr_rfi_clip **out, const struct psr_rfi_clip_desc *desc,
                               psr_err *err)
{
    psr_rfi_clip *p = *out = calloc(1, sizeof *p);
    if (!p)
        return psr_fail_nomem(err, "clipping", sizeof *p);
    p->d = *desc;
    p->exact = is_exact(&desc->layout);
    p->clip.sigma = (float)desc->sigma;
    p->clip.nchan = desc->layout.nchan;
    if (allocate(p))
        return PSR_OK;
    psr_rfi_clip_destroy(p);
    *out = NULL;
    return psr_fail_nomem(err, "clipping", 14 * (double)desc->n);
}

/* In the order of PRESTO, whose sums of floats begin with the lowest channel. */
static float sum_in_order(const psr_rfi_clip *p, const float *x)
{
    if (!p->d.reverse)
        return psr_zerodm_sum(x, p->d.layout.nchan);
    float sum = 0;
    for (size_t c = p->d.layout.nchan; c-- > 0;)
        sum += x[c];
    return sum;
}

static void sum_part(psr_rfi_clip *p, struct part *k, const unsigned char *in, size_t t0, size_t n)
{
    const struct psr_layout *l = &p->d.layout;
    if (p->exact)
        psr_block_sums(l, in + t0 * l->row_bytes, n, p->z + t0, k->sum, k->row);
    for (size_t t = t0; !p->exact && t < t0 + n; t++) {
        psr_spectrum_widen(l, in + t * l->row_bytes, k->wide);
        p->z[t] = sum_in_order(p, k->wide);
    }
}

/* Sums over good spectra.  Of exact sums the others are subtracted. */
static void sum_good_part(psr_rfi_clip *p, struct part *k, const unsigned char *in, size_t t0,
                          size_t n)
{
    const struct psr_layout *l = &p->d.layout;
    if (!p->exact)
        memset(k->sum, 0, l->nchan * sizeof *k->sum);
    for (size_t t = t0; t < t0 + n; t++) {
        if (p->exact ? p->good[t] : !p->good[t])
            continue;
        psr_spectrum_widen(l, in + t * l->row_bytes, k->wide);
        for (size_t c = 0; c < l->nchan; c++)
            k->sum[c] += (double)(p->exact ? -k->wide[c] : k->wide[c]);
    }
}

static void run_parts(psr_rfi_clip *p, const unsigned char *in,
                      void (*step)(psr_rfi_clip *, struct part *, const unsigned char *, size_t,
                                   size_t))
{
    const size_t n = p->d.n, width = (n + PARTS - 1) / PARTS;
#pragma omp parallel for num_threads(p->d.nthread) if (p->d.nthread > 1)
    for (size_t k = 0; k < PARTS; k++) {
        size_t first = k * width < n ? k * width : n;
        size_t end = first + width < n ? first + width : n;
        step(p, &p->part[k], in, first, end - first);
    }
}

static void add_parts(psr_rfi_clip *p)
{
    memset(p->sum, 0, p->d.layout.nchan * sizeof *p->sum);
    for (size_t k = 0; k < PARTS; k++)
        for (size_t c = 0; c < p->d.layout.nchan; c++)
            p->sum[c] += p->part[k].sum[c];
}

size_t psr_rfi_clip_find(psr_rfi_clip *p, const void *in, const float **level, const uint32_t **bad)
{
    struct psr_clip_block block;
    size_t nbad = 0;
    run_parts(p, in, sum_part);
    psr_clip_measure(&block, p->z, p->d.n, p->good, p->work, PSR_MOMENTS_RUNNING);
    if (!p->exact || block.ngood < p->d.n)
        run_parts(p, in, sum_good_part);
    add_parts(p);
    psr_clip_update(&p->clip, &block, p->sum);
    psr_clip_find(&p->clip, p->z, p->d.n, p->bad);
    for (size_t t = 0; t < p->d.n; t++)
        if (p->bad[t])
            p->list[nbad++] = (uint32_t)t;
    *level = p->clip.level;
    *bad = p->list;
    return nbad;
}

const float *psr_rfi_clip_sums(psr_rfi_clip *p, const void *in)
{
    if (in)
        run_parts(p, in, sum_part);
    return p->z;
}

void psr_rfi_clip_destroy(psr_rfi_clip *p)
{
    if (!p)
        return;
    void *const own[] = {p->z, p->work, p->good, p->bad, p->list, p->sum, p->clip.level};
    for (size_t n = 0; n < sizeof own / sizeof *own; n++)
        free(own[n]);
    for (int k = 0; k < PARTS; k++) {
        free(p->part[k].sum);
        free(p->part[k].row);
        free(p->part[k].wide);
    }
    free(p);
}
