/* Transforms real series by FFTW. */
#include "formats/series/series_internal.h"

#include <psrkit/series.h>

#include <fftw3.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct psr_rfft {
    int64_t n;
    fftwf_plan plan; /* in place */
};

static const int64_t N_MAX = INT64_C(1) << 32;

psr_status psr_rfft_create(psr_rfft **out, int64_t n, psr_err *err)
{
    *out = NULL;
    if (n < 2 || n > N_MAX || n % 2)
        return psr_fail_field(err, PSR_EINVAL, "n",
                              "transform: %lld samples, must be even and 2 to %lld", (long long)n,
                              (long long)N_MAX);
    psr_rfft *p = calloc(1, sizeof *p);
    float *x = malloc((size_t)(n + 2) * sizeof *x);
    if (p && x) {
        p->n = n;
        /* FFTW's estimates look at no clock, so that a length always gets the same plan, and do not touch
         * the array. */
        fftwf_iodim64 dim = {.n = (ptrdiff_t)n, .is = 1, .os = 1};
        fftwf_make_planner_thread_safe();
        p->plan = fftwf_plan_guru64_dft_r2c(1, &dim, 0, NULL, x, (fftwf_complex *)x, FFTW_ESTIMATE);
    }
    free(x);
    if (!p || !p->plan) {
        free(p);
        return psr_fail_nomem(err, "a transform", (double)n * sizeof *x);
    }
    *out = p;
    return PSR_OK;
}

void psr_rfft_execute(const psr_rfft *p, const float *in, float *out)
{
    if (in != out)
        memcpy(out, in, (size_t)p->n * sizeof *out);
    fftwf_execute_dft_r2c(p->plan, out, (fftwf_complex *)out);
    out[1] = out[p->n];
}

void psr_rfft_execute_centred(const psr_rfft *p, const float *in, float *out)
{
    double sum = 0;
    for (int64_t i = 0; i < p->n; i++)
        sum += (double)in[i];
    const double mean = isfinite(sum) ? sum / (double)p->n : 0;
    for (int64_t i = 0; i < p->n; i++)
        out[i] = (float)((double)in[i] - mean);
    psr_rfft_execute(p, out, out);
    if (isfinite(sum))
        out[0] = (float)sum;
}

void psr_rfft_destroy(psr_rfft *p)
{
    if (!p)
        return;
    fftwf_destroy_plan(p->plan);
    free(p);
}

/* The last two floats are the Nyquist bin, which stands beside bin 0. */
static psr_status transform_back(float *x, int64_t n, psr_err *err)
{
    fftwf_iodim64 dim = {.n = (ptrdiff_t)n, .is = 1, .os = 1};
    fftwf_make_planner_thread_safe();
    fftwf_plan plan =
        fftwf_plan_guru64_dft_c2r(1, &dim, 0, NULL, (fftwf_complex *)x, x, FFTW_ESTIMATE);
    if (!plan)
        return psr_fail_nomem(err, "a transform", (double)n * sizeof *x);
    x[n] = x[1];
    x[1] = x[n + 1] = 0;
    fftwf_execute(plan);
    fftwf_destroy_plan(plan);
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)(x[i] / (double)n);
    return PSR_OK;
}

psr_status psr_spectrum_transform(float *x, int64_t n, bool back, psr_err *err)
{
    psr_rfft *p;
    psr_status st = psr_rfft_create(&p, n, err);
    if (st == PSR_OK && back)
        st = transform_back(x, n, err);
    else if (st == PSR_OK)
        psr_rfft_execute_centred(p, x, x);
    psr_rfft_destroy(p);
    return st;
}

/* --- chooses efficient lengths for Fourier transforms by PRESTO's rule ------------------------ */

/* PRESTO's lengths, which have only small factors. */
static const short round_numbers[] = {
    1000, 1008, 1024, 1056, 1120, 1152, 1200, 1232, 1280,  1296, 1344, 1408, 1440, 1536, 1568,
    1584, 1600, 1680, 1728, 1760, 1792, 1920, 1936, 2000,  2016, 2048, 2112, 2160, 2240, 2304,
    2352, 2400, 2464, 2560, 2592, 2640, 2688, 2800, 2816,  2880, 3024, 3072, 3136, 3168, 3200,
    3360, 3456, 3520, 3584, 3600, 3696, 3840, 3872, 3888,  3920, 4000, 4032, 4096, 4224, 4320,
    4400, 4480, 4608, 4704, 4752, 4800, 4928, 5040, 5120,  5184, 5280, 5376, 5488, 5600, 5632,
    5760, 5808, 6000, 6048, 6144, 6160, 6272, 6336, 6400,  6480, 6720, 6912, 7040, 7056, 7168,
    7200, 7392, 7680, 7744, 7776, 7840, 7920, 8000, 8064,  8192, 8400, 8448, 8624, 8640, 8800,
    8960, 9072, 9216, 9408, 9504, 9600, 9680, 9856, 10000,
};
enum { NROUND = sizeof round_numbers / sizeof *round_numbers };
_Static_assert(NROUND == 114, "PRESTO's table has 114 numbers");

int64_t psr_good_length(int64_t n)
{
    const int64_t largest = INT64_C(1) << 59; /* above it the products below could overflow */
    if (n <= 0)
        return 0;
    if (n > largest)
        return n;
    int64_t power = 1, scale = 1;
    while (power < n)
        power *= 2;
    while (round_numbers[NROUND - 1] * scale < n)
        scale *= 10;
    int i = 0;
    while (round_numbers[i] * scale < n)
        i++;
    int64_t round_number = round_numbers[i] * scale;
    return power < round_number ? power : round_number;
}
