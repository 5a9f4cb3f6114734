/* Complex transforms of moderate length, real and imaginary parts apart.
 *
 * Stockham's algorithm: before a pass of radix r the series is [n / s][s], s the product of the radices
 * so far; with m = n / s / r, point (p, k) of the result, p < m, k < r, is the sum over j of
 * exp(-2 pi i j k / r) x(p + m j), times exp(-2 pi i p k / (m r)), at r p + k.  The first pass, of s = 1, works on
 * several p at a time, the others on several of the s series. */
#include "rfi_fft.h"

#include "base/clones.h"

#include <fftw3.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PASSES = 16, FIRST = 8, STEP = 8 };

struct pass {
    int radix;
    size_t m, s;
    float *twiddle; /* first pass [radix - 1][re, im][m], others [m][radix - 1][re, im] */
};

struct psr_rfi_fft {
    size_t n;
    int npass;
    struct pass pass[MOST_PASSES];
    fftwf_plan other; /* instead */
};

/* --- create and destroy ----------------------------------------------------------------------- */

/* Radices after the first one; 0 if there are other factors. */
static int split_length(size_t n, int radix[MOST_PASSES])
{
    static const int known[] = {4, 2, 5, 3};
    int count = 0;
    if (n % FIRST || n > PSR_RFI_FFT_LONGEST)
        return 0;
    radix[count++] = FIRST;
    n /= FIRST;
    for (int k = 0; k < 4; k++)
        for (; n % (size_t)known[k] == 0 && count < MOST_PASSES; n /= (size_t)known[k])
            radix[count++] = known[k];
    return n == 1 ? count : 0;
}

static psr_status fill_twiddles(struct pass *w, psr_err *err)
{
    const size_t r = (size_t)w->radix, others = r - 1;
    w->twiddle = fftwf_malloc(2 * others * w->m * sizeof *w->twiddle);
    if (!w->twiddle)
        return psr_fail_nomem(err, "a transform", 8 * (double)others * (double)w->m);
    for (size_t p = 0; p < w->m; p++)
        for (size_t k = 1; k < r; k++) {
            const double angle = -2 * M_PI * (double)(p * k) / (double)(w->m * r);
            const size_t at = w->s == 1 ? 2 * (k - 1) * w->m + p : 2 * (p * others + k - 1);
            w->twiddle[at] = (float)cos(angle);
            w->twiddle[at + (w->s == 1 ? w->m : 1)] = (float)sin(angle);
        }
    return PSR_OK;
}

/* FFTW's estimates depend on nothing but the length, so that results do not vary. */
static psr_status plan_other(psr_rfi_fft *p, psr_err *err)
{
    fftwf_iodim64 dim = {.n = (ptrdiff_t)p->n, .is = 1, .os = 1};
    fftwf_complex *a = fftwf_malloc(p->n * sizeof *a), *b = fftwf_malloc(p->n * sizeof *b);
    if (a && b) {
        fftwf_make_planner_thread_safe();
        p->other = fftwf_plan_guru64_dft(1, &dim, 0, NULL, a, b, FFTW_FORWARD, FFTW_ESTIMATE);
    }
    fftwf_free(a);
    fftwf_free(b);
    return p->other ? PSR_OK : psr_fail_nomem(err, "a transform", 16 * (double)p->n);
}

psr_status psr_rfi_fft_create(psr_rfi_fft **out, size_t n, psr_err *err)
{
    int radix[MOST_PASSES];
    psr_rfi_fft *p = *out = calloc(1, sizeof *p);
    if (!p)
        return psr_fail_nomem(err, "a transform", sizeof *p);
    p->n = n;
    p->npass = split_length(n, radix);
    psr_status st = p->npass ? PSR_OK : plan_other(p, err);
    for (int k = 0; k < p->npass && !st; k++) {
        const size_t s = k ? p->pass[k - 1].s * (size_t)p->pass[k - 1].radix : 1;
        p->pass[k] = (struct pass){radix[k], n / s / (size_t)radix[k], s, NULL};
        st = fill_twiddles(&p->pass[k], err);
    }
    if (st) {
        psr_rfi_fft_destroy(p);
        *out = NULL;
    }
    return st;
}

void psr_rfi_fft_destroy(psr_rfi_fft *p)
{
    if (!p)
        return;
    for (int k = 0; k < p->npass; k++)
        fftwf_free(p->pass[k].twiddle);
    if (p->other)
        fftwf_destroy_plan(p->other);
    free(p);
}

/* --- passes ----------------------------------------------------------------------------------- */

struct point {
    float re, im;
};

static inline struct point plus(struct point a, struct point b)
{
    return (struct point){a.re + b.re, a.im + b.im};
}

static inline struct point minus(struct point a, struct point b)
{
    return (struct point){a.re - b.re, a.im - b.im};
}

/* -i a */
static inline struct point times_minus_i(struct point a)
{
    return (struct point){a.im, -a.re};
}

static inline struct point scaled(struct point a, float f)
{
    return (struct point){a.re * f, a.im * f};
}

static inline struct point times(struct point a, float re, float im)
{
    return (struct point){a.re * re - a.im * im, a.re * im + a.im * re};
}

static inline void dft4(struct point *a)
{
    const struct point b0 = plus(a[0], a[2]), b1 = minus(a[0], a[2]);
    const struct point b2 = plus(a[1], a[3]), b3 = times_minus_i(minus(a[1], a[3]));
    a[0] = plus(b0, b2);
    a[1] = plus(b1, b3);
    a[2] = minus(b0, b2);
    a[3] = minus(b1, b3);
}

static inline void dft8(struct point *a)
{
    static const float half = 0.707106781186547524F;
    struct point even[4] = {a[0], a[2], a[4], a[6]}, odd[4] = {a[1], a[3], a[5], a[7]};
    dft4(even);
    dft4(odd);
    odd[1] = scaled((struct point){odd[1].re + odd[1].im, odd[1].im - odd[1].re}, half);
    odd[2] = times_minus_i(odd[2]);
    odd[3] = scaled((struct point){odd[3].im - odd[3].re, -odd[3].re - odd[3].im}, half);
    for (int k = 0; k < 4; k++) {
        a[k] = plus(even[k], odd[k]);
        a[k + 4] = minus(even[k], odd[k]);
    }
}

PSR_CLONES
static void fft_first(const struct pass *w, const float *restrict x, const float *restrict xi,
                      float *restrict y, float *restrict yi)
{
    const size_t m = w->m;
    const float *restrict t = w->twiddle;
    for (size_t p = 0; p < m; p++) {
        struct point a[FIRST];
        for (size_t j = 0; j < FIRST; j++)
            a[j] = (struct point){x[p + m * j], xi[p + m * j]};
        dft8(a);
        y[FIRST * p] = a[0].re;
        yi[FIRST * p] = a[0].im;
        for (size_t k = 1; k < FIRST; k++) {
            const struct point b = times(a[k], t[2 * (k - 1) * m + p], t[2 * (k - 1) * m + m + p]);
            y[FIRST * p + k] = b.re;
            yi[FIRST * p + k] = b.im;
        }
    }
}

/* STEP series at a time; real parts and imaginary parts of a few points.  Functions take them by
 * address: a call would pass vectors that not every instruction set has. */
typedef float vector __attribute__((vector_size(STEP * sizeof(float))));
typedef float loose
    __attribute__((vector_size(STEP * sizeof(float)), aligned(sizeof(float)), may_alias));
#define ALWAYS_INLINE static inline __attribute__((always_inline))

ALWAYS_INLINE void vector_dft2(vector *r, vector *i)
{
    const vector br = r[1], bi = i[1];
    r[1] = r[0] - br;
    i[1] = i[0] - bi;
    r[0] += br;
    i[0] += bi;
}

ALWAYS_INLINE void vector_dft3(vector *r, vector *i)
{
    static const float s = 0.866025403784438647F;
    const vector pr = r[1] + r[2], pi = i[1] + i[2];
    const vector mr = (r[1] - r[2]) * s, mi = (i[1] - i[2]) * s;
    const vector er = r[0] - pr * 0.5F, ei = i[0] - pi * 0.5F;
    r[0] += pr;
    i[0] += pi;
    r[1] = er + mi;
    i[1] = ei - mr;
    r[2] = er - mi;
    i[2] = ei + mr;
}

ALWAYS_INLINE void vector_dft4(vector *r, vector *i)
{
    const vector ar = r[0] + r[2], ai = i[0] + i[2], br = r[0] - r[2], bi = i[0] - i[2];
    const vector cr = r[1] + r[3], ci = i[1] + i[3], dr = r[1] - r[3], di = i[1] - i[3];
    r[0] = ar + cr;
    i[0] = ai + ci;
    r[1] = br + di;
    i[1] = bi - dr;
    r[2] = ar - cr;
    i[2] = ai - ci;
    r[3] = br - di;
    i[3] = bi + dr;
}

ALWAYS_INLINE void vector_dft5(vector *r, vector *i)
{
    static const float c1 = 0.309016994374947424F, c2 = -0.809016994374947424F;
    static const float s1 = 0.951056516295153572F, s2 = 0.587785252292473129F;
    const vector p1r = r[1] + r[4], p1i = i[1] + i[4], m1r = r[1] - r[4], m1i = i[1] - i[4];
    const vector p2r = r[2] + r[3], p2i = i[2] + i[3], m2r = r[2] - r[3], m2i = i[2] - i[3];
    const vector e1r = r[0] + (p1r * c1 + p2r * c2), e1i = i[0] + (p1i * c1 + p2i * c2);
    const vector e2r = r[0] + (p1r * c2 + p2r * c1), e2i = i[0] + (p1i * c2 + p2i * c1);
    const vector o1r = m1r * s1 + m2r * s2, o1i = m1i * s1 + m2i * s2;
    const vector o2r = m1r * s2 - m2r * s1, o2i = m1i * s2 - m2i * s1;
    r[0] += p1r + p2r;
    i[0] += p1i + p2i;
    r[1] = e1r + o1i;
    i[1] = e1i - o1r;
    r[2] = e2r + o2i;
    i[2] = e2i - o2r;
    r[3] = e2r - o2i;
    i[3] = e2i + o2r;
    r[4] = e1r - o1i;
    i[4] = e1i + o1r;
}

/* Of s series, a multiple of STEP. */
#define DEFINE_PASS(NAME, RADIX, DFT)                                                              \
    PSR_CLONES                                                                                     \
    static void NAME(const struct pass *w, const float *x, const float *xi, float *y, float *yi)   \
    {                                                                                              \
        const size_t m = w->m, s = w->s;                                                           \
        for (size_t p = 0; p < m; p++) {                                                           \
            const float *t = w->twiddle + 2 * p * (RADIX - 1);                                     \
            for (size_t q = 0; q < s; q += STEP) {                                                 \
                const size_t from = q + s * p, to = q + s * p * RADIX;                             \
                vector r[RADIX], i[RADIX];                                                         \
                for (size_t j = 0; j < RADIX; j++) {                                               \
                    r[j] = *(const loose *)(x + from + s * m * j);                                 \
                    i[j] = *(const loose *)(xi + from + s * m * j);                                \
                }                                                                                  \
                DFT(r, i);                                                                         \
                *(loose *)(y + to) = r[0];                                                         \
                *(loose *)(yi + to) = i[0];                                                        \
                for (size_t k = 1; k < RADIX; k++) {                                               \
                    *(loose *)(y + to + s * k) = r[k] * t[2 * k - 2] - i[k] * t[2 * k - 1];        \
                    *(loose *)(yi + to + s * k) = r[k] * t[2 * k - 1] + i[k] * t[2 * k - 2];       \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }

DEFINE_PASS(fft_pass_2, 2, vector_dft2)
DEFINE_PASS(fft_pass_3, 3, vector_dft3)
DEFINE_PASS(fft_pass_4, 4, vector_dft4)
DEFINE_PASS(fft_pass_5, 5, vector_dft5)

static void run_pass(const struct pass *w, size_t n, const float *x, float *y)
{
    switch (w->radix) {
    case FIRST:
        fft_first(w, x, x + n, y, y + n);
        return;
    case 2:
        fft_pass_2(w, x, x + n, y, y + n);
        return;
    case 3:
        fft_pass_3(w, x, x + n, y, y + n);
        return;
    case 4:
        fft_pass_4(w, x, x + n, y, y + n);
        return;
    default:
        fft_pass_5(w, x, x + n, y, y + n);
    }
}

/* --- execute ---------------------------------------------------------------------------------- */

static void run_other(const psr_rfi_fft *p, float *x, float *work)
{
    const size_t n = p->n;
    for (size_t t = 0; t < n; t++) {
        work[2 * t] = x[t];
        work[2 * t + 1] = x[n + t];
    }
    fftwf_execute_dft(p->other, (fftwf_complex *)work, (fftwf_complex *)x);
    for (size_t t = 0; t < n; t++) {
        work[t] = x[2 * t];
        work[n + t] = x[2 * t + 1];
    }
}

float *psr_rfi_fft_execute(const psr_rfi_fft *p, float *x, float *work)
{
    float *from = x, *to = work;
    if (!p->npass) {
        run_other(p, x, work);
        return work;
    }
    for (int k = 0; k < p->npass; k++) {
        run_pass(&p->pass[k], p->n, from, to);
        float *was = from;
        from = to;
        to = was;
    }
    return from;
}
