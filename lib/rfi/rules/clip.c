/* Finds spectra to clip by PRESTO's rule. */
#include "clip.h"

#include "stats/moments.h"
#include "stats/quantile.h"

#include <math.h>
#include <string.h>

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
