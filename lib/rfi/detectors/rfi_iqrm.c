/* Finds channels that are out of line with their neighbours, by votes. */
#include "rfi_detectors.h"

#include "stats/stats.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const double PER_SIGMA = 1.3489795; /* inter-quartile range of a Gaussian */

/* Of 2^20 channels there are 30. */
enum { MOST_LAGS = 32 };

struct psr_rfi_iqrm {
    size_t nchan;
    float sigma;
    float *difference;          /* [nchan] */
    uint32_t *cast, *received;  /* [nchan] votes */
    float limit[2 * MOST_LAGS]; /* of each lag, down and up */
};

psr_status psr_rfi_iqrm_create(psr_rfi_iqrm **out, size_t nchan, double sigma, psr_err *err)
{
    psr_rfi_iqrm *p = *out = calloc(1, sizeof *p);
    if (!p)
        return psr_fail_nomem(err, "votes", sizeof *p);
    p->nchan = nchan;
    p->sigma = (float)sigma;
    p->difference = malloc(nchan * sizeof *p->difference);
    p->cast = malloc(nchan * sizeof *p->cast);
    p->received = malloc(nchan * sizeof *p->received);
    if (p->difference && p->cast && p->received)
        return PSR_OK;
    psr_rfi_iqrm_destroy(p);
    *out = NULL;
    return psr_fail_nomem(err, "votes", 12 * (double)nchan);
}

void psr_rfi_iqrm_destroy(psr_rfi_iqrm *p)
{
    if (!p)
        return;
    free(p->difference);
    free(p->cast);
    free(p->received);
    free(p);
}

static size_t next_lag(size_t lag)
{
    return lag < 4 ? lag + 1 : lag + lag / 2;
}

static size_t largest_lag(const psr_rfi_iqrm *p)
{
    return p->nchan / 10;
}

/* The channel that channel c is compared with. */
static size_t voter_of(size_t c, size_t lag, bool up)
{
    return up ? c + lag : c - lag;
}

static void compare(psr_rfi_iqrm *p, const float *x, size_t lag, bool up)
{
    const size_t n = p->nchan - lag, first = up ? 0 : lag;
    for (size_t k = 0; k < n; k++)
        p->difference[k] = x[first + k] - x[voter_of(first + k, lag, up)];
}

/* Returned: the difference above which a channel gets a vote; infinite: there is no scatter */
static float find_limit(const float *difference, size_t n, float sigma)
{
    const float low = psr_quantile_select(difference, n, n / 4);
    const float middle = psr_quantile_select(difference, n, n / 2);
    const float high = psr_quantile_select(difference, n, 3 * n / 4);
    if (!(high > low))
        return INFINITY;
    return middle + sigma * (float)((double)(high - low) / PER_SIGMA);
}

/* Calls count for every vote against a channel at this lag. */
static void vote(psr_rfi_iqrm *p, size_t lag, bool up, float limit,
                 void (*count)(psr_rfi_iqrm *, size_t voter, size_t c, unsigned char *),
                 unsigned char *bad)
{
    const size_t first = up ? 0 : lag;
    for (size_t k = 0; k < p->nchan - lag; k++)
        if (p->difference[k] > limit)
            count(p, voter_of(first + k, lag, up), first + k, bad);
}

static void count_vote(psr_rfi_iqrm *p, size_t voter, size_t c, unsigned char *bad)
{
    (void)bad;
    p->cast[voter]++;
    p->received[c]++;
}

static void apply_vote(psr_rfi_iqrm *p, size_t voter, size_t c, unsigned char *bad)
{
    if (p->cast[voter] < p->received[c])
        bad[c] = 1;
}

void psr_rfi_iqrm_find(psr_rfi_iqrm *p, const float *x, unsigned char *bad)
{
    memset(p->cast, 0, p->nchan * sizeof *p->cast);
    memset(p->received, 0, p->nchan * sizeof *p->received);
    memset(bad, 0, p->nchan);
    for (int pass = 0; pass < 2; pass++) {
        float *limit = p->limit;
        for (size_t lag = 1; lag <= largest_lag(p); lag = next_lag(lag))
            for (int up = 0; up < 2; up++, limit++) {
                compare(p, x, lag, up);
                if (!pass)
                    *limit = find_limit(p->difference, p->nchan - lag, p->sigma);
                vote(p, lag, up, *limit, pass ? apply_vote : count_vote, bad);
            }
    }
}
