/* Computes blocks, widths and power thresholds of a search from its description. */
#include "pulscan_search.h"
#include "stats/spans.h"

#include "base/memory.h"
#include "base/threads/threads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- widths and harmonics --------------------------------------------------------------------- */

static int next_z(const struct psr_pulscan_desc *d, int z)
{
    if (d->logz)
        return z ? 2 * z : 1;
    return z + (d->zstep ? d->zstep : 1);
}

static psr_status set_widths(struct psr_pulscan_search *s, const struct psr_pulscan_desc *d,
                             psr_err *err)
{
    int end = d->zmax + !d->compat;
    for (int z = 0; z < end; z = next_z(d, z))
        s->nz++;
    s->nharm = d->nnharm;
    s->z = calloc(s->nz, sizeof *s->z);
    s->harm = calloc(s->nharm, sizeof *s->harm);
    s->nprefilter = calloc(s->nharm, sizeof *s->nprefilter);
    s->boxes = calloc(s->nharm * s->nz, sizeof *s->boxes);
    s->prefilter = calloc(s->nharm * s->nz, sizeof *s->prefilter);
    if (!s->z || !s->harm || !s->nprefilter || !s->boxes || !s->prefilter)
        return psr_fail_nomem(err, "widths of boxes", 40.0 * (double)(s->nharm * s->nz));
    for (size_t k = 0, z = 0; z < (size_t)end; z = (size_t)next_z(d, (int)z))
        s->z[k++] = (int)z;
    memcpy(s->harm, d->nharm, s->nharm * sizeof *s->harm);
    return PSR_OK;
}

/* --- stretches -------------------------------------------------------------------------------- */

static size_t normblock(const struct psr_pulscan_desc *d)
{
    size_t n = d->normblock;
    if (n == 0)
        n = d->compat || d->zmax > 136 ? 30 * (size_t)d->zmax : 4096;
    return n < d->nbin ? n : d->nbin;
}

/* The last block's medians include bins before it, so that they scatter like the others. */
static psr_status set_stretches(struct psr_pulscan_search *s, psr_err *err)
{
    int64_t nbin = (int64_t)s->nbin, n = (int64_t)s->normblock;
    s->nnorm_block = (size_t)((nbin + n - 1) / n);
    s->norm_block = calloc(s->nnorm_block, sizeof *s->norm_block);
    if (!s->norm_block)
        return psr_fail_nomem(err, "normalisation", (double)s->nnorm_block * sizeof *s->norm_block);
    for (size_t k = 0; k < s->nnorm_block; k++) {
        int64_t begin = (int64_t)k * n, end = begin + n < nbin ? begin + n : nbin;
        int64_t first = s->compat ? begin : end - n;
        s->norm_block[k] = (struct psr_norm_block){begin, end, first, end - first};
    }
    return PSR_OK;
}

static psr_status set_zaps(struct psr_pulscan_search *s, const struct psr_pulscan_desc *d,
                           psr_err *err)
{
    if (d->nzap == 0)
        return PSR_OK;
    s->zap = calloc(d->nzap, sizeof *s->zap);
    if (!s->zap)
        return psr_fail_nomem(err, "bins to zap", (double)d->nzap * sizeof *s->zap);
    memcpy(s->zap, d->zap, d->nzap * sizeof *s->zap);
    s->nzap = psr_spans_tidy(s->zap, d->nzap, 1, (int64_t)s->nbin);
    return PSR_OK;
}

/* --- boxes ------------------------------------------------------------------------------------ */

/* Below (H - 1)(z + 1) the bins of harmonic H - 1 reach into those of harmonic H. */
static void set_starts(const struct psr_pulscan_search *s, const struct psr_pulscan_desc *d,
                       int harm, int z, struct psr_boxes *b)
{
    int64_t n = psr_pulscan_length(s, harm);
    *b = (struct psr_boxes){.lo = 1, .hi = s->compat ? n : n - z};
    if (s->compat)
        return;
    int64_t apart = (int64_t)(harm - 1) * (z + 1);
    b->lo = d->rlo > 1 ? d->rlo : 1;
    b->lo = apart > b->lo ? apart : b->lo;
    if (d->rhi && d->rhi - z + 1 < b->hi)
        b->hi = d->rhi - z + 1;
}

/* Largest float that is not above power. */
static float round_down(double power)
{
    float f = (float)fmin(power, 3e38);
    return (double)f > power ? nextafterf(f, -INFINITY) : f;
}

static void set_boxes(struct psr_pulscan_search *s, const struct psr_pulscan_desc *d)
{
    for (size_t k = 0; k < s->nharm * s->nz; k++)
        set_starts(s, d, s->harm[k / s->nz], s->z[k % s->nz], &s->boxes[k]);
}

static void set_floors(struct psr_pulscan_search *s, const struct psr_significance *o, double sigma)
{
#pragma omp parallel for schedule(dynamic, 16) num_threads(s->nthread)
    for (size_t k = 0; k < s->nharm * s->nz; k++)
        if (!psr_is_stopped(&s->stop))
            s->boxes[k].floor =
                round_down(psr_significance_power(o, sigma, s->harm[k / s->nz], s->z[k % s->nz]));
}

/* Widths are taken together as long as noise puts the widest box of some thousands above the floor
 * of the narrowest, or of any between, only now and then: once in 500 tiles. */
static void set_prefilter(struct psr_pulscan_search *s, size_t h)
{
    enum { TILE = 4096 };
    const struct psr_boxes *box = s->boxes + h * s->nz;
    struct psr_prefilter *prefilter = s->prefilter + h * s->nz;
    const double ln_rare = log(0.002 / TILE);
    size_t n = 0;
    for (size_t k = 0; k < s->nz; n++) {
        prefilter[n] = (struct psr_prefilter){s->z[k] + 1, box[k].floor};
        for (k++; k < s->nz; k++) {
            float floor = fminf(prefilter[n].floor, box[k].floor);
            if (psr_chi2_logp((double)floor, psr_pulscan_dof(s->harm[h], s->z[k])).ln_sf > ln_rare)
                break;
            prefilter[n] = (struct psr_prefilter){s->z[k] + 1, floor};
        }
    }
    s->nprefilter[h] = n;
}

/* --- the whole -------------------------------------------------------------------------------- */

psr_status psr_pulscan_resolve(struct psr_pulscan_search *s, struct psr_significance *o,
                               const struct psr_pulscan_desc *d, psr_err *err)
{
    *s = (struct psr_pulscan_search){
        .nbin = d->nbin,
        .series = d->series,
        .redden = d->redden,
        .batch = d->batch ? d->batch : 1,
        .compat = d->compat,
        .normblock = normblock(d),
        .by_block = d->compat || d->rblock,
        .block = (d->compat || d->rblock) && d->block ? (int64_t)d->block : 4096,
        .rlo = d->rlo,
        .rhi = d->rhi && d->rhi < (int64_t)d->nbin ? d->rhi : (int64_t)d->nbin - 1,
        .logz = d->logz,
        .nthread = psr_count_threads(d->nthread),
        .mem_bytes = psr_count_memory(d->mem_bytes),
        .device = d->device,
        .stop = {d->should_stop, d->ctx},
    };
    psr_status st;
    if ((st = set_widths(s, d, err)) || (st = set_stretches(s, err)) || (st = set_zaps(s, d, err)))
        return st;
    set_boxes(s, d);
    *o = (struct psr_significance){
        .significance = d->significance,
        .compat = d->compat,
        .nbin = (double)d->nbin,
        .normblock = (double)s->normblock,
        .zmax = d->zmax,
        .trials = d->ntrials > 0 ? d->ntrials : psr_significance_calibrated(s),
        .redden = d->redden,
        .last = psr_significance_last_block(&d->redden, (int64_t)d->nbin),
    };
    set_floors(s, o, d->sigma);
    for (size_t h = 0; h < s->nharm && !psr_is_stopped(&s->stop); h++)
        set_prefilter(s, h);
    return psr_is_stopped(&s->stop) ? psr_fail(err, PSR_ESTOPPED, "stopped") : PSR_OK;
}

void psr_pulscan_forget(struct psr_pulscan_search *s)
{
    free(s->norm_block);
    free(s->zap);
    free(s->z);
    free(s->harm);
    free(s->nprefilter);
    free(s->boxes);
    free(s->prefilter);
}
