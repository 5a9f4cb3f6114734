/* Clips, filters at zero DM and writes cleaned spectra and the steps that record replaced values. */
#include "clean_internal.h"

#include "formats/spectra/unpack.h"
#include "stats/stats.h"

#include <math.h>
#include <string.h>

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

void psr_clean_balance(psr_clean *p, const struct psr_clean_block *k)
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

void psr_clean_emit(const psr_clean *p, struct psr_clean_block *k)
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
