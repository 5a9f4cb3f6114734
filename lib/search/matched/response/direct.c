/* Computes powers by the sum that defines them. */
#include "direct.h"

#include "base/threads/clones.h"

#include <stdlib.h>

#if defined __clang__
#pragma STDC FP_CONTRACT OFF
#endif

static int64_t room_for(int reach, int places)
{
    return 2 * reach + places / 2 + 2 + CORRELATE_LANES;
}

psr_status psr_direct_create(struct psr_direct *d, int reach, int places, psr_err *err)
{
    size_t room = (size_t)room_for(reach, places);
    float *x = psr_line_alloc(2 * room);
    *d = (struct psr_direct){.room = (int64_t)room};
    if (!x)
        return psr_fail_nomem(err, "bins", 8.0 * (double)room);
    d->bin = (struct psr_split){x, x + room};
    return PSR_OK;
}

void psr_direct_clear(struct psr_direct *d)
{
    free(d->bin.re);
    *d = (struct psr_direct){0};
}

void psr_direct_load(struct psr_direct *d, const struct psr_accel_normalise *norm, int64_t i,
                     int reach, int places)
{
    d->first = i / 2 - reach;
    psr_accel_normalise_load(norm, d->first, (size_t)room_for(reach, places), d->bin);
}

/* sum x conj(k), n a multiple of CORRELATE_LANES.  As many sums as lanes, whatever a register
 * holds. */
PSR_CLONES
static void correlate_taps(float sum[2], const float *xr, const float *xi, const float *kr,
                           const float *ki, size_t n)
{
    float re[CORRELATE_LANES] = {0}, im[CORRELATE_LANES] = {0};
    for (size_t i = 0; i < n; i += CORRELATE_LANES)
        for (size_t k = 0; k < CORRELATE_LANES; k++) {
            re[k] += xr[i + k] * kr[i + k] + xi[i + k] * ki[i + k];
            im[k] += xi[i + k] * kr[i + k] - xr[i + k] * ki[i + k];
        }
    for (size_t step = CORRELATE_LANES / 2; step > 0; step /= 2)
        for (size_t k = 0; k < step; k++) {
            re[k] += re[k + step];
            im[k] += im[k + step];
        }
    sum[0] = re[0];
    sum[1] = im[0];
}

float psr_direct_power(const struct psr_direct *d, const struct psr_template_bank *bank, size_t t,
                       int64_t i)
{
    const int odd = (int)(i & 1);
    size_t n = psr_template_taps(bank->half[t]),
           at = (size_t)(i / 2 - bank->half[t] + odd - d->first);
    const float *re = bank->taps + bank->at[t] + 2 * (size_t)odd * n;
    float sum[2];
    correlate_taps(sum, d->bin.re + at, d->bin.im + at, re, re + n, n);
    return sum[0] * sum[0] + sum[1] * sum[1];
}
