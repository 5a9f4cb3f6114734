/* Finds order statistics of floats without sorting them all. */
#include "stats.h"

#include "base/threads/clones.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    LANES = 16,
    SAMPLE = 64,
    FEW = 96, /* numbers that are sorted rather than counted */
};

/* The result is in [lo, hi]: nlo numbers are below lo, nhi are not above hi, nlo <= k < nhi. */
struct bracket {
    float lo, hi;
    size_t nlo, nhi;
};

PSR_CLONES
static size_t count_below(const float *x, size_t n, float t)
{
    int32_t c[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int l = 0; l < LANES; l++)
            c[l] += x[i + (size_t)l] < t;
    size_t sum = 0;
    for (int l = 0; l < LANES; l++)
        sum += (size_t)c[l];
    for (; i < n; i++)
        sum += x[i] < t;
    return sum;
}

/* Returned: out [at most FEW + LANES], the numbers in [lo, hi], FEW of them at most. */
PSR_CLONES
static void gather(const float *x, size_t n, const struct bracket *b, float *out)
{
    const float lo = b->lo, hi = b->hi;
    size_t i = 0, m = 0;
    for (; i + LANES <= n; i += LANES) {
        int32_t any = 0;
        for (int l = 0; l < LANES; l++)
            any += (x[i + (size_t)l] >= lo) & (x[i + (size_t)l] <= hi);
        if (any == 0)
            continue;
        for (size_t j = i; j < i + LANES; j++) {
            out[m] = x[j];
            m += (x[j] >= lo) & (x[j] <= hi);
        }
    }
    for (; i < n; i++) {
        out[m] = x[i];
        m += (x[i] >= lo) & (x[i] <= hi);
    }
}

static int by_value(const void *pa, const void *pb)
{
    float a = *(const float *)pa, b = *(const float *)pb;
    return (a > b) - (a < b);
}

static void sort_few(float *x, size_t n)
{
    qsort(x, n, sizeof *x, by_value);
}

static void split(struct bracket *b, const float *x, size_t n, size_t k, float t)
{
    if (!(t > b->lo && t <= b->hi))
        return;
    size_t c = count_below(x, n, t);
    if (c <= k) {
        b->lo = t;
        b->nlo = c;
    } else {
        b->hi = nextafterf(t, -INFINITY);
        b->nhi = c;
    }
}

/* Bits of floats as integers of the same order. */
static int64_t to_key(float f)
{
    int32_t i;
    memcpy(&i, &f, sizeof i);
    return i < 0 ? -(int64_t)(i & INT32_MAX) : i;
}

static float from_key(int64_t key)
{
    int32_t i = (int32_t)(key < 0 ? -key : key);
    float f;
    memcpy(&f, &i, sizeof f);
    return key < 0 ? -f : f;
}

float psr_quantile_select(const float *x, size_t n, size_t k)
{
    struct bracket b = {-FLT_MAX, FLT_MAX, 0, n};
    if (n > FEW) {
        /* Two values between which the result probably lies, from a small sample. */
        float s[SAMPLE];
        for (size_t i = 0; i < SAMPLE; i++)
            s[i] = x[(2 * i + 1) * n / (2 * SAMPLE)];
        sort_few(s, SAMPLE);
        size_t at = k * SAMPLE / n, away = SAMPLE / 8;
        if (at >= away)
            split(&b, x, n, k, s[at - away]);
        if (at + away < SAMPLE)
            split(&b, x, n, k, s[at + away]);
    }
    for (int round = 0; b.nhi - b.nlo > FEW && b.lo < b.hi; round++) {
        if (round < 4) {
            /* Two values that enclose the result if the numbers are uniform over the bracket. */
            const struct bracket was = b;
            double gap = ((double)was.hi - was.lo) / (double)(was.nhi - was.nlo);
            double at = was.lo + gap * ((double)(k - was.nlo) + 0.5), away = gap * FEW / 3;
            split(&b, x, n, k, (float)(at - away));
            split(&b, x, n, k, (float)(at + away));
        }
        int64_t lo = to_key(b.lo), hi = to_key(b.hi);
        if (b.nhi - b.nlo > FEW && round > 0)
            split(&b, x, n, k, from_key(lo + (hi - lo + 1) / 2));
    }
    if (!(b.lo < b.hi))
        return b.lo;
    float few[FEW + LANES];
    gather(x, n, &b, few);
    sort_few(few, b.nhi - b.nlo);
    return few[k - b.nlo];
}

/* --- the median of a few ---------------------------------------------------------------------- */

static void swap(float *a, float *b)
{
    float was = *a;
    *a = *b;
    *b = was;
}

/* Partially sorts x: x[k] is as in sorted order, and nothing before it is greater. */
static void place_rank(float *x, ptrdiff_t n, ptrdiff_t k)
{
    ptrdiff_t lo = 0, hi = n - 1;
    while (lo < hi) {
        float pivot = x[(lo + hi) / 2];
        ptrdiff_t i = lo, j = hi;
        while (i <= j) {
            while (x[i] < pivot)
                i++;
            while (x[j] > pivot)
                j--;
            if (i <= j)
                swap(x + i++, x + j--);
        }
        lo = k > j ? i : lo;
        hi = k < i ? j : hi;
        if (k > j && k < i)
            return;
    }
}

double psr_quantile_median(float *x, size_t n)
{
    place_rank(x, (ptrdiff_t)n, (ptrdiff_t)(n / 2));
    if (n % 2)
        return (double)x[n / 2];
    float below = x[0];
    for (size_t i = 1; i < n / 2; i++)
        below = x[i] > below ? x[i] : below;
    return ((double)below + (double)x[n / 2]) / 2;
}
