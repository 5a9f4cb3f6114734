/* Sorts and merges spans of bins. */
#include "stats.h"

#include <math.h>
#include <stdlib.h>

static int by_first(const void *pa, const void *pb)
{
    const struct psr_span *a = pa, *b = pb;
    return (a->first > b->first) - (a->first < b->first);
}

size_t psr_spans_tidy(struct psr_span *span, size_t n, int64_t lo, int64_t end)
{
    size_t kept = 0;
    int64_t done = lo;
    if (n > 0)
        qsort(span, n, sizeof *span, by_first);
    for (size_t i = 0; i < n; i++) {
        int64_t first = span[i].first, count = span[i].count;
        int64_t behind = first >= end || count >= end - first ? end : first + count;
        first = first > done ? first : done;
        if (behind <= first)
            continue;
        span[kept++] = (struct psr_span){first, behind - first};
        done = behind;
    }
    return kept;
}

/* Whether what is in a band is in a small part of it. */

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
