/* Sorts and merges spans of bins. */
#include "spans.h"

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
