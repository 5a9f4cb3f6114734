/* Detects channelised voltages, and sums them over time and frequency. */
#include "detect.h"

#include "base/threads/isa.h"

size_t psr_detect_nproduct(enum psr_detect what, size_t npol)
{
    return npol == 1 ? 1 : what == PSR_DETECT_EACH ? 2 : 4;
}

PSR_CLONES static void detect_powers(const float *restrict p, size_t n, float *restrict x)
{
    for (size_t c = 0; c < n; c++)
        x[c] += p[2 * c] * p[2 * c] + p[2 * c + 1] * p[2 * c + 1];
}

/* Adds the power of each channel. */
static void add_power(const float *p, size_t nchan, size_t fsum, float *x)
{
    if (fsum == 1)
        detect_powers(p, nchan, x);
    for (size_t c = 0; c < nchan && fsum > 1; c++)
        for (size_t k = c * fsum; k < (c + 1) * fsum; k++)
            x[c] += p[2 * k] * p[2 * k] + p[2 * k + 1] * p[2 * k + 1];
}

static void add_spectrum(enum psr_detect what, const float *v, size_t npol, size_t nchan,
                         size_t fsum, float *x)
{
    const size_t n = nchan / fsum;
    const float *q = v + 2 * nchan;
    if (npol == 2 && what != PSR_DETECT_EACH) {
        /* All four products of a channel, in the order in which they are stored. */
        const size_t second = what == PSR_DETECT_STOKES_CIRCULAR ? 3 : 1;
        const size_t third = what == PSR_DETECT_STOKES_CIRCULAR ? 1 : 2;
        const bool stokes = what != PSR_DETECT_COHERENCE;
        const float twice = stokes ? 2 : 1;
        for (size_t c = 0; c < n; c++)
            for (size_t k = c * fsum; k < (c + 1) * fsum; k++) {
                const float *a = v + 2 * k, *b = q + 2 * k;
                const float pp = a[0] * a[0] + a[1] * a[1], qq = b[0] * b[0] + b[1] * b[1];
                x[c] += stokes ? pp + qq : pp;
                x[second * n + c] += stokes ? pp - qq : qq;
                x[third * n + c] += twice * (a[0] * b[0] + a[1] * b[1]);
                x[(third + 1) * n + c] += twice * (a[0] * b[1] - a[1] * b[0]);
            }
        return;
    }
    add_power(v, n, fsum, x);
    if (npol == 2)
        add_power(q, n, fsum, x + n);
}

void psr_detect(enum psr_detect what, const float *v, size_t nspectrum, size_t npol, size_t nchan,
                const bool *good, size_t tsum, size_t fsum, size_t fill, float *x, uint32_t *weight,
                int nthread)
{
    const size_t row = psr_detect_nproduct(what, npol) * (nchan / fsum);
    const size_t nrow = (fill + nspectrum + tsum - 1) / tsum;
    (void)nthread; /* without OpenMP */
#pragma omp parallel for num_threads(nthread) schedule(static)
    for (size_t r = 0; r < nrow; r++) {
        const size_t from = r * tsum < fill ? 0 : r * tsum - fill, stop = (r + 1) * tsum - fill;
        for (size_t s = from; s < stop && s < nspectrum; s++) {
            if (!good[s])
                continue;
            add_spectrum(what, v + 2 * s * npol * nchan, npol, nchan, fsum, x + r * row);
            weight[r]++;
        }
    }
}
