/* Restores the contribution of masked samples in dedispersed series. */
#include "mask_correction.h"

#include "base/threads/isa.h"
#include "base/threads/threads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP = 64 /* samples of a series that share a mark */ };

/* A thread's room: changes of the series at each sample, and which groups have any. */
struct psr_mask_scratch {
    int64_t *change;
    unsigned char *mark;
};

psr_status psr_mask_correction_create(psr_mask_correction **out,
                                      const struct psr_mask_correction_desc *desc, psr_err *err)
{
    int bits;
    *out = NULL;
    double most = desc->largest * (double)desc->nchan * (double)desc->downsamp;
    if (desc->nchan < 1 || desc->ndm < 1 || desc->downsamp < 1)
        return psr_fail(
            err, PSR_EINVAL,
            "mask correction: %zu channels, %zu trials, downsampling by %zu: all must be above 0",
            desc->nchan, desc->ndm, desc->downsamp);
    if (!(desc->largest >= 0) || !(most < 0x1p200))
        return psr_fail_field(err, PSR_EINVAL, "largest",
                              "mask correction: values up to %g, must be 0 to 2^200 in sum",
                              desc->largest);

    psr_mask_correction *p = calloc(1, sizeof *p);
    if (!p)
        return psr_fail_nomem(err, "patching series", sizeof *p);
    p->d = *desc;
    p->nthread = psr_count_threads(desc->nthread);
    (void)frexp(desc->largest * (double)desc->nchan * (double)desc->downsamp, &bits);
    p->shift = 60 - bits < 48 ? 60 - bits : 48;
    p->current = psr_own(&p->own, desc->nchan, sizeof *p->current);
    p->level = psr_own(&p->own, desc->ndm, sizeof *p->level);
    p->first = psr_own(&p->own, desc->nchan + 2, sizeof *p->first);
    p->scratch = psr_own(&p->own, (size_t)p->nthread, sizeof *p->scratch);
    psr_status st = psr_own_check(&p->own, "patching series", err);
    if (st) {
        psr_mask_correction_destroy(p);
        return st;
    }
    *out = p;
    return PSR_OK;
}

static psr_status grow_scratch(psr_mask_correction *p, size_t n, psr_err *err)
{
    if (n <= p->room)
        return PSR_OK;
    for (int k = 0; k < p->nthread; k++) {
        struct psr_mask_scratch *s = &p->scratch[k];
        free(s->change);
        free(s->mark);
        s->change = calloc(n, sizeof *s->change);
        s->mark = calloc(n / GROUP + 1, 1);
        if (!s->change || !s->mark) {
            p->room = 0;
            return psr_fail_nomem(err, "patching series", 8 * (double)n);
        }
    }
    p->room = n;
    return PSR_OK;
}

/* --- one trial -------------------------------------------------------------------------------- */

/* The series changes by delta at sample t of those that are given now; what came earlier than the
 * series begins is there from its first sample on. */
static void change_at(struct psr_mask_scratch *s, int64_t t, size_t n, int64_t delta)
{
    if (t < 0 || t >= (int64_t)n)
        return;
    s->change[t] += delta;
    s->mark[t / GROUP] = 1;
}

/* Adds what the series is off by; leaves the scratch as it was. */
static int64_t add_changes(struct psr_mask_scratch *s, float *out, size_t n, int64_t level,
                           double unit)
{
    for (size_t t0 = 0; t0 < n; t0 += GROUP) {
        size_t end = n - t0 < GROUP ? n : t0 + GROUP;
        float off = (float)((double)level * unit);
        if (s->mark[t0 / GROUP]) {
            for (size_t t = t0; t < end; t++) {
                level += s->change[t];
                s->change[t] = 0;
                out[t] += (float)((double)level * unit);
            }
            s->mark[t0 / GROUP] = 0;
        } else if (level) {
            for (size_t t = t0; t < end; t++)
                out[t] += off;
        }
    }
    return level;
}

/* --- scatter ---------------------------------------------------------------------------------- */

/* What makes up for missing noise; not a number if too little is left. */
static float find_factor(const struct psr_mask_noise *noise, double missing)
{
    double left = noise->variance - missing;
    return left >= PSR_MASK_LEAST * noise->variance ? (float)sqrt(noise->variance / left) : NAN;
}

PSR_CLONES
static void equalise_samples(float *restrict out, const float *restrict in, size_t n, float level,
                             float factor)
{
    for (size_t t = 0; t < n; t++)
        out[t] = level + (in[t] - level) * factor;
}

/* As add_changes. */
static int64_t equalise_series(struct psr_mask_scratch *s, const struct psr_mask_noise *noise,
                               const float *in, float *out, size_t n, int64_t missing, double unit)
{
    const float level = (float)noise->level;
    for (size_t t0 = 0; t0 < n; t0 += GROUP) {
        size_t end = n - t0 < GROUP ? n : t0 + GROUP;
        float factor = find_factor(noise, (double)missing * unit);
        if (!s->mark[t0 / GROUP]) {
            equalise_samples(out + t0, in + t0, end - t0, level, factor);
            continue;
        }
        for (size_t t = t0; t < end; t++) {
            missing += s->change[t];
            factor = s->change[t] ? find_factor(noise, (double)missing * unit) : factor;
            s->change[t] = 0;
            out[t] = level + (in[t] - level) * factor;
        }
        s->mark[t0 / GROUP] = 0;
    }
    return missing;
}

/* --- all trials ------------------------------------------------------------------------------- */

/* Scales the series from in to out; without noise, restores those of out. */
static psr_status correct(psr_mask_correction *p, const struct psr_step *step, size_t nstep,
                          const struct psr_mask_noise *noise, const float *in, float *out,
                          size_t stride, size_t n, psr_err *err)
{
    const double unit = psr_mask_unit(p);
    bool off = false;
    psr_status st = psr_mask_take_steps(p, step, nstep, err);
    if (!st)
        st = grow_scratch(p, n, err);
    if (st || !n)
        return st;
#pragma omp parallel for schedule(dynamic) num_threads(p->nthread) reduction(|| : off)
    for (size_t i = 0; i < p->d.ndm; i++) {
        struct psr_mask_scratch *s = &p->scratch[psr_thread_number()];
        float *to = out + i * stride;
        uint32_t channel = UINT32_MAX;
        int64_t delay = 0, now = p->ngiven;
        for (size_t k = 0; k < p->nedge; k++) {
            const struct psr_mask_edge *e = &p->edge[k];
            delay = e->c != channel ? psr_mask_delay(p, i, e->c) : delay;
            channel = e->c;
            int64_t t = e->q - delay, rest = t + 1;
            change_at(s, (t > 0 ? t : 0) - now, n, e->part);
            if (e->whole != e->part)
                change_at(s, (rest > 0 ? rest : 0) - now, n, e->whole - e->part);
        }
        p->level[i] = noise ? equalise_series(s, noise, in + i * stride, to, n, p->level[i], unit)
                            : add_changes(s, to, n, p->level[i], unit);
        off = off || p->level[i];
    }
    p->off = off;
    p->ngiven += (int64_t)n;
    psr_mask_drop_edges(p);
    return PSR_OK;
}

psr_status psr_mask_correction_execute(psr_mask_correction *p, const struct psr_step *step,
                                       size_t nstep, float *out, size_t stride, size_t n,
                                       psr_err *err)
{
    if (psr_mask_correction_touches(p, nstep))
        return correct(p, step, nstep, NULL, NULL, out, stride, n, err);
    p->ngiven += (int64_t)n;
    return PSR_OK;
}

psr_status psr_mask_correction_equalise(psr_mask_correction *p, const struct psr_step *step,
                                        size_t nstep, const struct psr_mask_noise *noise,
                                        const float *in, float *out, size_t stride, size_t n,
                                        psr_err *err)
{
    return correct(p, step, nstep, noise, in, out, stride, n, err);
}

void psr_mask_correction_destroy(psr_mask_correction *p)
{
    if (!p)
        return;
    for (int k = 0; p->scratch && k < p->nthread; k++) {
        free(p->scratch[k].change);
        free(p->scratch[k].mark);
    }
    psr_mask_device_destroy(p->device);
    free(p->edge);
    free(p->sorted);
    psr_own_free(&p->own);
    free(p);
}
