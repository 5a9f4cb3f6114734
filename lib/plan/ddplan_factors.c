/* Chooses the downsampling factors of a plan. */
#include "ddplan_internal.h"

#include <stdbool.h>

enum { MAX_FACTOR = 259 };

/* Ratios are compared in whole numbers: b / a < 3/2 where 2 b < 3 a. */
static bool is_crowded(const bool divides[MAX_FACTOR + 1])
{
    int last = 1;
    for (int n = 2; n <= MAX_FACTOR; n++) {
        if (!divides[n])
            continue;
        if (2 * n < 3 * last)
            return true;
        last = n;
    }
    return false;
}

/* The factor to follow last: 1.5 times it rounded up, else twice it, else the next beyond 1.5
 * times it; 0 where there is none. */
static int next_factor(const bool divides[MAX_FACTOR + 1], int last)
{
    int half_more = (3 * last + 1) / 2;
    if (half_more <= MAX_FACTOR && divides[half_more])
        return half_more;
    if (2 * last <= MAX_FACTOR && divides[2 * last])
        return 2 * last;
    for (int n = half_more; n <= MAX_FACTOR; n++)
        if (divides[n])
            return n;
    return 0;
}

int psr_ddplan_factors(int64_t blocklen, int64_t factor[PSR_DDPLAN_MAX_FACTORS])
{
    bool divides[MAX_FACTOR + 1] = {false};
    for (int n = 1; n <= MAX_FACTOR; n++)
        divides[n] = blocklen % n == 0;
    bool crowded = is_crowded(divides);
    int n = 0;
    factor[n++] = 1;
    if (crowded) {
        for (int small = 2; small <= 3; small++)
            if (divides[small])
                factor[n++] = small;
        int next;
        while (n < PSR_DDPLAN_MAX_FACTORS && (next = next_factor(divides, (int)factor[n - 1])))
            factor[n++] = next;
    } else {
        for (int f = 2; f <= MAX_FACTOR && n < PSR_DDPLAN_MAX_FACTORS; f++)
            if (divides[f])
                factor[n++] = f;
    }
    return n;
}
