/* Removes interference from a stream of spectra: masks, clipping, zero-DM. */
#include "base/base.h"
#include "base/threads/threads.h"
#include "clean_internal.h"
#include "formats/spectra/unpack.h"
#include "stats/stats.h"
#include <math.h>
#include <psrkit/experimental/clean.h>
#include <stdlib.h>
#include <string.h>

/* --- clips, filters at zero DM, and writes spectra and steps ---------------------------------- */

static void apply_bitmask(unsigned char *restrict row, const unsigned char *restrict bitmask,
                          size_t bytes)
{
    for (size_t n = 0; n < bytes; n++)
        row[n] &= bitmask[n];
}

/* Replaced samples become 0. */
static void emit_integers(const psr_clean *p, struct psr_clean_block *k)
{
    size_t bytes = p->in.row_bytes;
    if (k->out != k->in)
        memcpy(k->out, k->in, k->n * bytes);
    if (k->any_masked) {
        double ones = p->in.kind == PSR_INT ? -1 : ldexp(1, p->in.nbit) - 1;
        for (size_t c = 0; c < p->d.nchan; c++)
            k->row[c] = k->masked[c] ? 0 : ones;
        psr_row_pack(k->bitmask, k->row, p->d.nchan, p->in.nbit, p->in.kind);
    }
    for (size_t t = 0; t < k->n && (k->nbad || k->any_masked); t++) {
        if (k->nbad && k->bad[t])
            memset(k->out + t * bytes, 0, bytes);
        else if (k->any_masked)
            apply_bitmask(k->out + t * bytes, k->bitmask, bytes);
    }
}

/* A float has room for what replaces it. */
static void emit_floats(const psr_clean *p, struct psr_clean_block *k)
{
    size_t nchan = p->d.nchan;
    for (size_t t = 0; t < k->n; t++) {
        float *x = (float *)(void *)k->out + t * nchan;
        bool bad = k->nbad && k->bad[t];
        const unsigned char *from = k->in + t * p->in.row_bytes;
        if (bad)
            memcpy(x, k->level, nchan * sizeof *x);
        else if (from != (unsigned char *)x)
            psr_spectrum_widen(&p->in, from, x);
        for (size_t c = 0; k->any_masked && c < nchan; c++)
            x[c] = k->masked[c] ? p->padding[c] : x[c];
    }
}

static double sum_row(const double *row, size_t n)
{
    double total = 0;
    for (size_t c = 0; c < n; c++)
        total += row[c];
    return total;
}

/* Leaves in bandpass the means over the spectra of a block that are numbers.  Returned: their sum
 */
static double average_block(psr_clean *p, const struct psr_clean_block *k)
{
    size_t nchan = p->d.nchan, n = 0;
    double total = 0;
    memset(k->sum, 0, nchan * sizeof *k->sum);
    for (size_t t = 0; t < k->n; t++) {
        psr_row_unpack(k->row, k->in + t * p->in.row_bytes, nchan, p->in.nbit, p->in.kind);
        if (!isfinite(sum_row(k->row, nchan)))
            continue;
        n++;
        for (size_t c = 0; c < nchan; c++)
            k->sum[c] += k->row[c];
    }
    for (size_t c = 0; c < nchan; c++) {
        p->bandpass[c] = n ? (float)(k->sum[c] / (double)n) : 0;
        total += (double)p->bandpass[c];
    }
    return total;
}

/* Weights of zero-DM: the mask's padding, or else the means of the first block. */
static void clean_balance(psr_clean *p, const struct psr_clean_block *k)
{
    size_t nchan = p->d.nchan;
    double total = 0;
    for (size_t c = 0; c < nchan; c++)
        total += (double)p->padding[c];
    memcpy(p->bandpass, p->padding, nchan * sizeof *p->bandpass);
    if (total == 0)
        total = average_block(p, k);
    for (size_t c = 0; c < nchan; c++)
        p->weight[c] = total == 0 ? 0 : (float)((double)p->bandpass[c] / total);
    p->balanced = true;
}

static double sum_lanes(const float *x, size_t n)
{
    enum { LANES = 16 };
    float sum[LANES] = {0};
    size_t whole = n / LANES * LANES;
    for (size_t c = 0; c < whole; c += LANES)
        for (size_t k = 0; k < LANES; k++)
            sum[k] += x[c + k];
    double total = 0;
    for (size_t k = 0; k < LANES; k++)
        total += (double)sum[k];
    for (size_t c = whole; c < n; c++)
        total += (double)x[c];
    return total;
}

/* Writes a block out with its samples replaced, or zero-DM removed. */
static void clean_emit(const psr_clean *p, struct psr_clean_block *k)
{
    if (p->d.zerodm) {
        size_t nchan = p->d.nchan;
        for (size_t t = 0; t < k->n; t++) {
            float *x = (float *)(void *)k->out + t * nchan;
            psr_spectrum_widen(&p->in, k->in + t * p->in.row_bytes, x);
            float power = (float)sum_lanes(x, nchan);
            for (size_t c = 0; c < nchan; c++)
                x[c] -= p->weight[c] * power - p->bandpass[c];
            if (!isfinite(power))
                memcpy(x, p->bandpass, nchan * sizeof *x);
            for (size_t c = 0; k->any_masked && c < nchan; c++)
                x[c] = k->masked[c] ? p->padding[c] : x[c];
        }
    } else if (p->out.kind == PSR_FLOAT)
        emit_floats(p, k);
    else
        emit_integers(p, k);
}

/* Finds spectra to clip by PRESTO's rule. */

static void find_moments(const float *x, size_t n, enum psr_moments how, double *mean, double *sd)
{
    double var;
    if (how == PSR_MOMENTS_RUNNING)
        psr_moments_running(x, n, mean, &var);
    else
        psr_moments_lanes(x, n, mean, &var);
    *sd = sqrt(var);
}

void psr_clip_measure(struct psr_clip_block *block, const float *z, size_t n, unsigned char *good,
                      float *work, enum psr_moments how)
{
    *block = (struct psr_clip_block){0};
    memset(good, 0, n);
    size_t npart = n;
    if (how == PSR_MOMENTS_RUNNING)
        memcpy(work, z, n * sizeof *work);
    else {
        npart = 0;
        for (size_t t = 0; t < n; t++) {
            work[npart] = z[t];
            npart += (size_t)(isfinite(z[t]) != 0);
        }
    }
    if (npart == 0)
        return;
    find_moments(work, npart, how, &block->avg, &block->sd);
    float middle = (float)psr_quantile_median(work, npart);
    float low = (float)((double)middle - 3.0 * block->sd);
    float high = (float)((double)middle + 3.0 * block->sd);
    size_t ngood = 0;
    for (size_t t = 0; t < n; t++) {
        good[t] = z[t] > low && z[t] < high;
        work[ngood] = z[t];
        ngood += good[t];
    }
    if (ngood)
        find_moments(work, ngood, how, &block->avg, &block->sd);
    block->ngood = ngood;
}

static float mix(float running, double current)
{
    return (float)(0.9 * (double)running + 0.1 * current);
}

void psr_clip_update(struct psr_clip *clip, const struct psr_clip_block *block, const double *sum)
{
    bool any = block->ngood > 0, begun = clip->begun;
    double n = (double)block->ngood;
    double avg = any ? block->avg : (double)clip->avg, sd = any ? block->sd : (double)clip->sd;
    clip->avg = begun ? mix(clip->avg, avg) : (float)avg;
    clip->sd = begun ? mix(clip->sd, sd) : (float)sd;
    for (size_t c = 0; c < clip->nchan; c++) {
        double level = any ? sum[c] / n : (double)clip->level[c];
        clip->level[c] = begun ? mix(clip->level[c], level) : (float)level;
    }
    clip->begun = true;
}

size_t psr_clip_find(const struct psr_clip *clip, const float *z, size_t n, unsigned char *bad)
{
    float most = clip->sigma * clip->sd;
    size_t nbad = 0;
    for (size_t t = 0; t < n; t++) {
        bad[t] = fabsf(z[t] - clip->avg) > most;
        nbad += bad[t];
    }
    return nbad;
}

/* Subtracts the series at DM 0, in PRESTO's arithmetic. */

float psr_zerodm_sum(const float *x, size_t nchan)
{
    float sum = 0;
    for (size_t c = 0; c < nchan; c++)
        sum += x[c];
    return sum;
}

/* The mask's padding, or else the means of the first block, stay the bandpass from then on. */
void psr_zerodm_balance(struct psr_zerodm *z, const float *padding, const float *x, size_t n)
{
    size_t nchan = z->nchan;
    memcpy(z->bandpass, padding, nchan * sizeof *z->bandpass);
    if (psr_zerodm_sum(z->bandpass, nchan) == 0)
        for (size_t c = 0; c < nchan; c++) {
            float sum = 0;
            for (size_t t = 0; t < n; t++)
                sum += x[t * nchan + c];
            z->bandpass[c] = sum / (float)n;
        }
    float total = psr_zerodm_sum(z->bandpass, nchan);
    for (size_t c = 0; c < nchan; c++)
        z->weight[c] = z->bandpass[c] / total;
    z->balanced = true;
}

void psr_zerodm_remove(const struct psr_zerodm *z, float *x, size_t n)
{
    size_t nchan = z->nchan;
    for (size_t t = 0; t < n; t++, x += nchan) {
        float power = psr_zerodm_sum(x, nchan);
        for (size_t c = 0; c < nchan; c++)
            x[c] -= z->weight[c] * power - z->bandpass[c];
    }
}

/* --- the plan --------------------------------------------------------------------------------- */

enum { BLOCK = PSR_CLEAN_BLOCK, BATCH = PSR_CLEAN_BATCH };

/* --- create and destroy ----------------------------------------------------------------------- */

static psr_status check_desc(const struct psr_clean_desc *d, psr_err *err)
{
    if (d->nchan < 1 || d->nchan > (size_t)1 << 20)
        return psr_fail_field(err, PSR_EINVAL, "nchan",
                              "cleaning: %zu channels is outside 1 to 1048576", d->nchan);
    if (!psr_row_known(d->nbit, d->kind))
        return psr_fail_field(err, PSR_EINVAL, "nbit", "cleaning: no %d-bit samples of kind %d",
                              d->nbit, (int)d->kind);
    if (!(d->clip_sigma >= 0) || !isfinite(d->clip_sigma))
        return psr_fail_field(err, PSR_EINVAL, "clip_sigma",
                              "cleaning: clipping at %g sigma, must be 0 or more", d->clip_sigma);
    if (!(d->tsamp_s > 0) || !isfinite(d->tsamp_s) || d->first < 0)
        return psr_fail_field(err, PSR_EINVAL, "tsamp_s",
                              "cleaning: sampling time %g s, first spectrum %lld: must "
                              "be above 0, and 0 or more",
                              d->tsamp_s, (long long)d->first);
    if (d->mask && (d->mask->nchan != d->nchan || !d->mask->padding))
        return psr_fail_field(err, PSR_EINVAL, "mask", "cleaning: a mask of %zu channels%s, of %zu",
                              d->mask->nchan, d->mask->padding ? "" : " without statistics",
                              d->nchan);
    return PSR_OK;
}

static psr_status allocate(psr_clean *p, psr_err *err)
{
    const size_t nchan = p->d.nchan;
    p->keep = psr_own(&p->own, nchan, 1);
    p->ordered = psr_own(&p->own, nchan, 1);
    p->padding = psr_own(&p->own, nchan, sizeof *p->padding);
    p->clip.level = psr_own(&p->own, nchan, sizeof *p->clip.level);
    p->bandpass = psr_own(&p->own, nchan, sizeof *p->bandpass);
    p->weight = psr_own(&p->own, nchan, sizeof *p->weight);
    p->current = psr_own(&p->own, nchan, sizeof *p->current);
    p->held = psr_own(&p->own, BLOCK, p->in.row_bytes);
    for (struct psr_clean_block *k = p->block; k < p->block + BATCH; k++) {
        k->z = psr_own(&p->own, BLOCK, sizeof *k->z);
        k->work = psr_own(&p->own, BLOCK, sizeof *k->work);
        k->good = psr_own(&p->own, BLOCK, 1);
        k->bad = psr_own(&p->own, BLOCK, 1);
        k->flip = psr_own(&p->own, BLOCK, sizeof *k->flip);
        k->sum = psr_own(&p->own, nchan, sizeof *k->sum);
        k->row = psr_own(&p->own, nchan, sizeof *k->row);
        k->masked = psr_own(&p->own, nchan, 1);
        k->level = psr_own(&p->own, nchan, sizeof *k->level);
        k->bitmask = psr_own(&p->own, p->in.row_bytes, 1);
    }
    return psr_own_check(&p->own, "cleaning", err);
}

int64_t psr_clean_bytes(const psr_clean *p)
{
    return (int64_t)(BLOCK * p->in.row_bytes + BATCH * 30 * p->d.nchan);
}

/* The place in a spectrum of channel c counted from the lowest frequency. */
static size_t place_of(const psr_clean *p, size_t c)
{
    return p->d.ascending ? c : p->d.nchan - 1 - c;
}

static void take_desc(psr_clean *p)
{
    const struct psr_clean_desc *d = &p->d;
    memset(p->keep, 1, d->nchan);
    if (d->keep)
        memcpy(p->keep, d->keep, d->nchan);
    for (size_t c = 0; d->mask && c < d->nchan; c++)
        p->padding[place_of(p, c)] = d->mask->padding[c];
    p->clip.sigma = d->zerodm ? 0 : (float)d->clip_sigma;
    p->clip.nchan = d->nchan;
    p->d.keep = NULL;
    p->nthread = psr_count_threads(d->nthread);
}

psr_status psr_clean_create(psr_clean **out, const struct psr_clean_desc *desc, psr_err *err)
{
    struct psr_clean_desc d;
    *out = NULL;
    psr_status st = psr_copy_desc(&d, sizeof d, desc, "cleaning", err);
    if (st)
        return st;
    st = check_desc(&d, err);
    if (st)
        return st;
    psr_clean *p = calloc(1, sizeof *p);
    if (!p)
        return psr_fail_nomem(err, "cleaning", sizeof *p);
    p->d = d;
    p->in = (struct psr_layout){d.nchan, d.nbit, d.kind, psr_row_bytes(d.nchan, d.nbit)};
    p->out = p->in;
    if (d.zerodm || d.floats)
        p->out = (struct psr_layout){d.nchan, 32, PSR_FLOAT, d.nchan * sizeof(float)};
    st = allocate(p, err);
    if (st) {
        psr_clean_destroy(p);
        return st;
    }
    take_desc(p);
    *out = p;
    return PSR_OK;
}

enum psr_kind psr_clean_kind(const psr_clean *p)
{
    return p->out.kind;
}

int psr_clean_nbit(const psr_clean *p)
{
    return p->out.nbit;
}

double psr_clean_largest(const psr_clean *p)
{
    double largest = ldexp(1, p->in.nbit);
    for (size_t c = 0; c < p->d.nchan; c++)
        largest = fmax(largest, fabs((double)p->padding[c]));
    return largest;
}

void psr_clean_destroy(psr_clean *p)
{
    if (!p)
        return;
    psr_own_free(&p->own);
    free(p->step);
    free(p->span);
    free(p->clip_span);
    free(p);
}

/* --- what to replace -------------------------------------------------------------------------- */

/* Statistics of a block alone, whatever came before it.  A spectrum whose sum is not a number
 * deviates without limit. */
static void measure_block(const psr_clean *p, struct psr_clean_block *k)
{
    psr_block_sums(&p->in, k->in, k->n, k->z, p->in.nbit <= 16 ? k->sum : NULL, k->row);
    for (size_t t = 0; p->in.kind == PSR_FLOAT && t < k->n; t++)
        k->z[t] = isnan(k->z[t]) ? INFINITY : k->z[t];
    psr_clip_measure(&k->stats, k->z, k->n, k->good, k->work, PSR_MOMENTS_LANES);
    if (k->stats.ngood < k->n || p->in.nbit > 16) {
        /* Leaves in sum the sums over good spectra only. */
        bool exact = p->in.nbit <= 16;
        if (!exact)
            memset(k->sum, 0, p->d.nchan * sizeof *k->sum);
        for (size_t t = 0; t < k->n; t++) {
            if (exact ? k->good[t] : !k->good[t])
                continue;
            psr_row_unpack(k->row, k->in + t * p->in.row_bytes, p->d.nchan, p->in.nbit, p->in.kind);
            for (size_t c = 0; c < p->d.nchan; c++)
                k->sum[c] += exact ? -k->row[c] : k->row[c];
        }
    }
}

/* Blocks must come in order.  A block without good spectra (all equal, or not numbers) leaves the
 * running values as they are; so does the incomplete block at the end unless it is the only one. */
static void decide(psr_clean *p, struct psr_clean_block *k, int64_t t0)
{
    bool all = false;
    k->nbad = 0;
    if (p->d.mask) {
        double dt_s = p->d.tsamp_s;
        all = psr_mask_span(p->d.mask, (double)(p->d.first + t0) * dt_s, BLOCK * dt_s,
                            PSR_MASK_TOUCHED, p->ordered);
        k->any_masked = false;
        for (size_t c = 0; c < p->d.nchan; c++) {
            k->masked[place_of(p, c)] = p->ordered[c];
            k->any_masked |= p->ordered[c];
        }
    }
    if (!(p->clip.sigma > 0) || all)
        return;
    if (k->stats.ngood && (k->n == BLOCK || !p->clip.begun))
        psr_clip_update(&p->clip, &k->stats, k->sum);
    if (p->clip.begun)
        k->nbad = psr_clip_find(&p->clip, k->z, k->n, k->bad);
    memcpy(k->level, p->clip.level, p->d.nchan * sizeof *k->level);
    p->nclipped += (int64_t)k->nbad;
}

/* --- the account of it ------------------------------------------------------------------------ */

static psr_status add_step(psr_clean *p, int64_t t, size_t c, float value, psr_err *err)
{
    if (p->current[c] == value)
        return PSR_OK;
    psr_status st = psr_grow(&p->step, &p->step_room, p->nstep, sizeof *p->step,
                             "the account of replaced samples", err);
    if (st)
        return st;
    p->nopen += (value != 0) - (size_t)(p->current[c] != 0);
    p->current[c] = value;
    p->step[p->nstep++] = (struct psr_step){t, c, value};
    return PSR_OK;
}

/* Channel c of a block: masked throughout, or replaced where spectra are clipped. */
static psr_status add_channel(psr_clean *p, const struct psr_clean_block *k, int64_t t0, size_t c,
                              psr_err *err)
{
    if (k->any_masked && k->masked[c])
        return add_step(p, t0, c, p->padding[c], err);
    psr_status st = add_step(p, t0, c, k->nbad && k->bad[0] ? k->level[c] : 0, err);
    for (size_t f = 0; f < k->nflip && !st; f++)
        st = add_step(p, t0 + k->flip[f], c, k->bad[k->flip[f]] ? k->level[c] : 0, err);
    return st;
}

static psr_status add_steps(psr_clean *p, struct psr_clean_block *k, int64_t t0, psr_err *err)
{
    psr_status st = PSR_OK;
    k->nflip = 0;
    for (size_t t = 1; k->nbad && t < k->n; t++)
        if (k->bad[t] != k->bad[t - 1])
            k->flip[k->nflip++] = (uint16_t)t;
    if (p->out.kind == PSR_FLOAT || (!k->nbad && !k->any_masked && !p->nopen))
        return st;
    for (size_t c = 0; c < p->d.nchan && !st; c++)
        if (p->keep[c])
            st = add_channel(p, k, t0, c, err);
    return st;
}

static psr_status add_lost(psr_clean *p, const struct psr_clean_block *k, int64_t t0, psr_err *err)
{
    for (size_t c = 0; c < p->d.nchan; c++)
        if (!k->any_masked || (p->keep[c] && !k->masked[c]))
            return PSR_OK;
    struct psr_span *last = p->nspan ? p->span + p->nspan - 1 : NULL;
    if (last && last->first + last->count == t0) {
        last->count += (int64_t)k->n;
        return PSR_OK;
    }
    psr_status st = psr_grow(&p->span, &p->span_room, p->nspan, sizeof *p->span,
                             "the account of masked spectra", err);
    if (!st)
        p->span[p->nspan++] = (struct psr_span){t0, (int64_t)k->n};
    return st;
}

/* --- the stream ------------------------------------------------------------------------------- */

/* Blocks block[0 .. nblock - 1], with in, out and n set. */
static psr_status clean_batch(psr_clean *p, int nblock, psr_err *err)
{
    psr_status st = PSR_OK;
    if (p->d.zerodm && !p->balanced)
        clean_balance(p, &p->block[0]);
    if (p->clip.sigma > 0) {
#pragma omp parallel for num_threads(p->nthread) if (nblock > 1)
        for (int b = 0; b < nblock; b++)
            measure_block(p, &p->block[b]);
    }
    for (int b = 0; b < nblock && !st; b++) {
        struct psr_clean_block *k = &p->block[b];
        decide(p, k, p->ngiven);
        st = add_steps(p, k, p->ngiven, err);
        if (!st)
            st = add_lost(p, k, p->ngiven, err);
        if (!st) {
            /* Runs of clipped spectra go on in the next block. */
            for (size_t t = 0; p->d.clips && k->nbad && t < k->n && !st; t++) {
                struct psr_span *last = p->nclip_span ? p->clip_span + p->nclip_span - 1 : NULL;
                const int64_t now = p->ngiven + (int64_t)t;
                if (!k->bad[t])
                    continue;
                if (last && last->first + last->count == now) {
                    last->count++;
                    continue;
                }
                st = psr_grow(&p->clip_span, &p->clip_room, p->nclip_span, sizeof *p->clip_span,
                              "the account of clipped spectra", err);
                if (!st)
                    p->clip_span[p->nclip_span++] = (struct psr_span){now, 1};
            }
        }
        p->ngiven += (int64_t)k->n;
    }
#pragma omp parallel for num_threads(p->nthread) if (nblock > 1)
    for (int b = 0; b < nblock; b++)
        clean_emit(p, &p->block[b]);
    return st;
}

static psr_status clean_blocks(psr_clean *p, const unsigned char *in, size_t nsamp,
                               unsigned char *out, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t t = 0; t < nsamp && !st;) {
        int b = 0;
        for (; b < BATCH && t < nsamp; b++) {
            struct psr_clean_block *k = &p->block[b];
            k->n = nsamp - t < BLOCK ? nsamp - t : BLOCK;
            k->in = in + t * p->in.row_bytes;
            k->out = out + t * p->out.row_bytes;
            t += k->n;
        }
        st = clean_batch(p, b, err);
    }
    return st;
}

static size_t hold(psr_clean *p, const unsigned char *in, size_t nsamp)
{
    size_t n = nsamp < BLOCK - p->nheld ? nsamp : BLOCK - p->nheld;
    memcpy(p->held + p->nheld * p->in.row_bytes, in, n * p->in.row_bytes);
    p->nheld += n;
    return n;
}

psr_status psr_clean_execute(psr_clean *p, const void *in, size_t nsamp, void *out, size_t *nout,
                             psr_err *err)
{
    const unsigned char *at = in;
    unsigned char *to = out;
    psr_status st = PSR_OK;
    *nout = 0;
    p->nstep = 0;
    if (p->nheld) {
        size_t n = hold(p, at, nsamp);
        at += n * p->in.row_bytes;
        nsamp -= n;
    }
    if (p->nheld == BLOCK) {
        st = clean_blocks(p, p->held, BLOCK, to, err);
        to += BLOCK * p->out.row_bytes;
        *nout = BLOCK;
        p->nheld = 0;
    }
    size_t whole = nsamp / BLOCK * BLOCK;
    if (!st)
        st = clean_blocks(p, at, whole, to, err);
    *nout += whole;
    if (nsamp > whole)
        hold(p, at + whole * p->in.row_bytes, nsamp - whole);
    return st;
}

psr_status psr_clean_finish(psr_clean *p, void *out, size_t *nout, psr_err *err)
{
    *nout = p->nheld;
    p->nstep = 0;
    p->nheld = 0;
    return clean_blocks(p, p->held, *nout, out, err);
}

size_t psr_clean_steps(const psr_clean *p, const struct psr_step **step)
{
    *step = p->step;
    return p->nstep;
}

size_t psr_clean_lost(const psr_clean *p, const struct psr_span **span)
{
    *span = p->span;
    return p->nspan;
}

int64_t psr_clean_clipped(const psr_clean *p)
{
    return p->nclipped;
}

size_t psr_clean_clips(const psr_clean *p, const struct psr_span **span)
{
    *span = p->clip_span;
    return p->nclip_span;
}
