/* Finds order statistics of floats without sorting them all. */
#include "stats.h"

#include "base/threads/isa.h"
#include "base/tool.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* --- eigenvalues of small symmetric matrices -------------------------------------------------- */

#if defined __clang__
#pragma STDC FP_CONTRACT OFF
#endif

enum { SWEEPS = 30 };

/* Tangent of the angle that makes a[p][q] zero, at most 45 degrees. */
static double rotation_of(const double *a, size_t n, size_t p, size_t q)
{
    double tau = (a[q * n + q] - a[p * n + p]) / (2 * a[p * n + q]);
    return (tau < 0 ? -1 : 1) / (fabs(tau) + sqrt(1 + tau * tau));
}

/* Rows p and q of n numbers, stride apart, become c p - s q and s p + c q. */
static void mix(double *p, double *q, size_t n, size_t stride, double c, double s)
{
    for (size_t k = 0; k < n * stride; k += stride) {
        double x = p[k], y = q[k];
        p[k] = c * x - s * y;
        q[k] = s * x + c * y;
    }
}

/* Returned: whether anything was left to rotate */
static int sweep(double *a, double *vector, size_t n)
{
    int moved = 0;
    for (size_t p = 0; p + 1 < n; p++)
        for (size_t q = p + 1; q < n; q++) {
            double least = DBL_EPSILON * sqrt(fabs(a[p * n + p] * a[q * n + q]));
            if (fabs(a[p * n + q]) <= fmax(least, DBL_MIN))
                continue;
            double t = rotation_of(a, n, p, q), c = 1 / sqrt(1 + t * t);
            mix(a + p * n, a + q * n, n, 1, c, c * t);
            mix(a + p, a + q, n, n, c, c * t);
            mix(vector + p * n, vector + q * n, n, 1, c, c * t);
            moved = 1;
        }
    return moved;
}

void psr_eigen_symmetric(double *a, size_t n, double *value, double *vector)
{
    for (size_t i = 0; i < n * n; i++)
        vector[i] = i % (n + 1) == 0;
    for (int k = 0; k < SWEEPS && sweep(a, vector, n); k++)
        ;
    for (size_t i = 0; i < n; i++)
        value[i] = a[i * n + i];
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            if (value[j] > value[i]) {
                double x = value[i];
                value[i] = value[j];
                value[j] = x;
                for (size_t k = 0; k < n; k++) {
                    x = vector[i * n + k];
                    vector[i * n + k] = vector[j * n + k];
                    vector[j * n + k] = x;
                }
            }
}

/* --- sorts and merges spans of bins ----------------------------------------------------------- */

PSR_COMPARE(by_first, struct psr_span, PSR_RISING(first));

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

size_t psr_spans_join(struct psr_span *span, size_t nspan)
{
    size_t n = 0;
    if (nspan)
        qsort(span, nspan, sizeof *span, by_first);
    for (size_t k = 0; k < nspan; k++) {
        const struct psr_span next = span[k];
        struct psr_span *last = n ? &span[n - 1] : NULL;
        int64_t end = next.first + next.count;
        if (last && next.first <= last->first + last->count)
            last->count = end > last->first + last->count ? end - last->first : last->count;
        else
            span[n++] = next;
    }
    return n;
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

/* --- computes means and variances of floats --------------------------------------------------- */

void psr_moments_running(const float *x, size_t n, double *mean, double *var)
{
    *mean = (double)x[0];
    *var = 0;
    for (size_t t = 1; t < n; t++) {
        double before = (double)t, count = before + 1;
        double step = ((double)x[t] - *mean) / count;
        *var += count * before * step * step;
        *mean += step;
    }
    if (n > 1)
        *var /= (double)(n - 1);
}

void psr_moments_lanes(const float *x, size_t n, double *mean, double *var)
{
    enum { LANES = 16 };
    double sum[LANES] = {0}, square[LANES] = {0};
    size_t whole = n / LANES * LANES;
    for (size_t t = 0; t < whole; t += LANES)
        for (size_t k = 0; k < LANES; k++)
            sum[k] += (double)x[t + k];
    for (size_t t = whole; t < n; t++)
        sum[0] += (double)x[t];
    for (size_t k = 1; k < LANES; k++)
        sum[0] += sum[k];
    double m = sum[0] / (double)n;
    for (size_t t = 0; t < whole; t += LANES)
        for (size_t k = 0; k < LANES; k++)
            square[k] += ((double)x[t + k] - m) * ((double)x[t + k] - m);
    for (size_t t = whole; t < n; t++)
        square[0] += ((double)x[t] - m) * ((double)x[t] - m);
    for (size_t k = 1; k < LANES; k++)
        square[0] += square[k];
    *mean = m;
    *var = n > 1 ? square[0] / (double)(n - 1) : 0;
}

/* --- finds order statistics of floats without sorting them all -------------------------------- */

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

PSR_COMPARE_VALUES(by_value, float);

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

enum { RANKED = 16, COUNTED = 1024 };

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

/* Of n finite floats, up to RANKED: counts the rank of each, as branches on random numbers cost more than all comparisons. */
static double median_by_ranks(const float *x, size_t n)
{
    const int below = (int)(n - 1) / 2, above = (int)n / 2;
    float y[RANKED], low = 0, high = 0;
    int rank[RANKED] = {0};
    for (size_t i = 0; i < RANKED; i++)
        y[i] = i < n ? x[i] : INFINITY;
    for (int j = 0; j < RANKED; j++)
        for (int i = 0; i < RANKED; i++)
            rank[i] += (y[j] < y[i]) | ((y[j] == y[i]) & (j < i));
    for (int i = 0; i < RANKED; i++) {
        low = rank[i] == below ? y[i] : low;
        high = rank[i] == above ? y[i] : high;
    }
    return ((double)low + (double)high) / 2;
}

PSR_CLONES
static bool are_finite(const float *x, size_t n)
{
    int32_t bad = 0;
    for (size_t i = 0; i < n; i++)
        bad |= !(fabsf(x[i]) <= FLT_MAX);
    return !bad;
}

/* What follows x, number n / 2 - 1 of n in order. */
PSR_CLONES
static float find_next(const float *v, size_t n, float x)
{
    float next = INFINITY;
    int32_t not_above = 0;
    for (size_t i = 0; i < n; i++) {
        const float above = v[i] > x ? v[i] : INFINITY;
        not_above += v[i] <= x;
        next = above < next ? above : next;
    }
    return (size_t)not_above > n / 2 ? x : next;
}

/* Of many finite floats, by counting instead of branches. */
static double median_by_counts(const float *x, size_t n)
{
    const float low = psr_quantile_select(x, n, (n - 1) / 2);
    const float high = n % 2 ? low : find_next(x, n, low);
    return ((double)low + (double)high) / 2;
}

double psr_quantile_median(float *x, size_t n)
{
    const bool few = n >= RANKED / 2 && n <= RANKED, many = n >= COUNTED && n <= INT32_MAX;
    if ((few || many) && are_finite(x, n))
        return few ? median_by_ranks(x, n) : median_by_counts(x, n);
    place_rank(x, (ptrdiff_t)n, (ptrdiff_t)(n / 2));
    if (n % 2)
        return (double)x[n / 2];
    float below = x[0];
    for (size_t i = 1; i < n / 2; i++)
        below = x[i] > below ? x[i] : below;
    return ((double)below + (double)x[n / 2]) / 2;
}
