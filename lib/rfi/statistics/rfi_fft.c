/* Complex transforms of moderate length, real and imaginary parts apart: Stockham's algorithm. */
#include "rfi_statistics.h"

#include "base/threads/isa.h"

#include <fftw3.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

/* --- the passes of Stockham's transform, for each instruction set ----------------------------- */

enum { FIRST = PSR_RFI_FFT_FIRST, RADIX_MOST = 10 };
enum { WIDTH_base = 8, WIDTH_avx2 = 8, WIDTH_avx512 = 16 };

#define INLINE static inline __attribute__((always_inline))
#define V      NAME(vector)

/* The lower and the upper halves of a and b, element by element in turn. */
#if defined __clang__
#define SHUFFLE_8(a, b, ...)  __builtin_shufflevector(a, b, __VA_ARGS__)
#define SHUFFLE_16(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
typedef int32_t offsets_8 __attribute__((vector_size(32)));
typedef int32_t offsets_16 __attribute__((vector_size(64)));
#define SHUFFLE_8(a, b, ...)  __builtin_shuffle(a, b, (offsets_8){__VA_ARGS__})
#define SHUFFLE_16(a, b, ...) __builtin_shuffle(a, b, (offsets_16){__VA_ARGS__})
#endif
#define LOWER_8(a, b)  SHUFFLE_8(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define UPPER_8(a, b)  SHUFFLE_8(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define LOWER_16(a, b) SHUFFLE_16(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define UPPER_16(a, b)                                                                             \
    SHUFFLE_16(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define LOWER_base   LOWER_8
#define LOWER_avx2   LOWER_8
#define LOWER_avx512 LOWER_16
#define UPPER_base   UPPER_8
#define UPPER_avx2   UPPER_8
#define UPPER_avx512 UPPER_16

struct passes {
    size_t width;
    psr_rfi_pass_run *first, *other[RADIX_MOST + 1];
};

#define PASSES(s)                                                                                  \
    {                                                                                              \
        WIDTH_##s, fft_first_##s,                                                                  \
        {                                                                                          \
            NULL, NULL, fft_pass_2_##s, fft_pass_3_##s, fft_pass_4_##s, fft_pass_5_##s,            \
                fft_pass_6_##s, fft_pass_7_##s, fft_pass_8_##s, fft_pass_9_##s, fft_pass_10_##s    \
        }                                                                                          \
    }

#define PSR_LANES "rfi/statistics/rfi_fft_lanes.h"
#include "base/threads/isa_lanes.h"

static const struct passes passes[PSR_NISA] = PSR_ISA_EACH(PASSES);

psr_rfi_pass_run *psr_rfi_pass_choose(enum psr_isa isa, int radix, size_t s)
{
    const struct passes *p = &passes[isa];
    if (radix < 2 || radix > RADIX_MOST)
        return NULL;
    if (s == 1)
        return radix == FIRST ? p->first : NULL;
    /* What runs wider vectors runs these, too. */
    return s % p->width ? passes[PSR_ISA_AVX2].other[radix] : p->other[radix];
}

enum { MOST_PASSES = 16, SHORTEST = 128 };

struct psr_rfi_fft {
    size_t n;
    int npass;
    struct psr_rfi_pass pass[MOST_PASSES];
    psr_rfi_pass_run *run[MOST_PASSES];
    fftwf_plan other; /* instead */
};

/* --- create and destroy ----------------------------------------------------------------------- */

/* The first radix, then even ones before odd ones, so that most passes work on many series.
 * Returned: how many there are; 0: there are other factors */
static int split_length(size_t n, int radix[MOST_PASSES])
{
    static const int known[] = {10, 8, 6, 4, 2, 9, 7, 5, 3};
    int count = 0;
    if (n % PSR_RFI_FFT_FIRST || n < SHORTEST || n > PSR_RFI_FFT_LONGEST)
        return 0;
    radix[count++] = PSR_RFI_FFT_FIRST;
    n /= PSR_RFI_FFT_FIRST;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        for (; n % (size_t)known[k] == 0 && count < MOST_PASSES; n /= (size_t)known[k])
            radix[count++] = known[k];
    return n == 1 ? count : 0;
}

static psr_status fill_twiddles(struct psr_rfi_pass *w, psr_err *err)
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
        p->pass[k] = (struct psr_rfi_pass){radix[k], n / s / (size_t)radix[k], s, NULL};
        p->run[k] = psr_rfi_pass_choose(psr_isa_find(), radix[k], s);
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

/* --- execute ---------------------------------------------------------------------------------- */

float *psr_rfi_fft_execute(const psr_rfi_fft *p, float *x, float *work)
{
    float *from = x, *to = work;
    if (!p->npass) {
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
        return work;
    }
    for (int k = 0; k < p->npass; k++) {
        p->run[k](&p->pass[k], from, from + p->n, to, to + p->n);
        float *was = from;
        from = to;
        to = was;
    }
    return from;
}
