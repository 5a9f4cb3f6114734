/* Whether what is in a band is in a small part of it. */
#include "band_share.h"

#include <math.h>

static const double left_share = 0.5;

size_t psr_band_span(size_t n)
{
    return (n + PSR_BAND_SHARES - 1) / PSR_BAND_SHARES;
}

bool psr_band_is_narrow(const double *a, const unsigned char *counts, size_t n, size_t *first)
{
    const size_t span = psr_band_span(n);
    double all = 0, run = 0, most = -INFINITY;
    size_t ncount = 0, m = 0;
    bool narrow = false;
    for (size_t c = 0; c < n; c++) {
        all += a[c];
        ncount += counts[c];
    }
    for (size_t c = 0; c < n; c++) {
        run += a[c] - (c >= span ? a[c - span] : 0);
        m += counts[c];
        m -= c >= span ? counts[c - span] : 0;
        if (c + 1 < span)
            continue;
        const double rest = all - run, share = ncount ? 1 - (double)m / (double)ncount : 0;
        narrow = narrow || rest < left_share * all * sqrt(share) || m == ncount;
        if (first && run > most) {
            most = run;
            *first = c + 1 - span;
        }
    }
    return narrow && all > 0 && n >= PSR_BAND_SHARES;
}
