/* Leaves out what known interference explains. */
#include "ffasearch_state.h"

#include <math.h>

/* Interference of a period is found at multiples of it, with a boxcar of up to its length: then its harmonic that
 * is the interference's frequency is one of the first 1 / duty. */
static bool is_at_bird(const struct psr_bird *b, double f_hz, double duty, double tobs_s)
{
    const double h = round(b->freq_hz / f_hz);
    return h >= 1 && h * duty <= 1 && fabs(h * f_hz - b->freq_hz) <= b->width_hz / 2 + 0.5 / tobs_s;
}

static bool is_zapped(const struct psr_ffasearch_desc *d, double tobs_s, bool barycentric,
                      const struct psr_ffa_peak *p)
{
    for (size_t k = 0; k < d->zaplist->n; k++) {
        struct psr_bird b = d->zaplist->bird[k];
        if (barycentric != b.barycentric)
            b.freq_hz *= barycentric ? 1 + d->baryv : 1 / (1 + d->baryv);
        if (is_at_bird(&b, p->freq_hz, p->duty, tobs_s))
            return true;
    }
    return false;
}

size_t psr_ffasearch_zap(const struct psr_ffasearch_desc *d, double tobs_s, bool barycentric,
                         struct psr_ffa_peak *peak, size_t *n)
{
    size_t left = 0;
    if (!d->zaplist)
        return 0;
    for (size_t k = 0; k < *n; k++)
        if (!is_zapped(d, tobs_s, barycentric, &peak[k]))
            peak[left++] = peak[k];
    const size_t zapped = *n - left;
    *n = left;
    return zapped;
}
