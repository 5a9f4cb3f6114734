/* accel_fft.cuh: two transforms of 2048 points by a thread block, in one type of number.
 *
 * Y_p[m] = sum_f Z_p[f] exp(+2 pi i m f / 2048), p = 0, 1, by 256 threads of 16 points.  With
 * f = f0 + 16 f1 + 256 f2 and m = m0 + 8 m1 + 128 m2:
 *
 *   sum over f2 in thread f0 + 16 f1           -> m0    radix 8, of both p
 *   times exp(2 pi i f1 m0 / 128), sum over f1  -> m1    radix 16
 *   times exp(2 pi i f0 (m0 + 8 m1) / 2048), sum over f0 -> m2   radix 16
 *
 * Between the steps, points go through shared memory.  n = 2 m + p counts half bins where p = 1 is
 * half a bin above p = 0: n = n0 + 16 n1 + 256 n2 with n0 = 2 m0 + p, n1 = m1, n2 = m2.  The 64
 * threads of group g share the 256-point transforms of n0 = 4 g .. 4 g + 3, and exchange points only
 * among themselves after the first step.
 *
 * A number is a float, or two halves that belong to two spectra.  All of it also compiles for the
 * host, where tests/gpu/accel_fft_host.cu runs it thread by thread. */
#ifndef PSR_KERNELS_ACCEL_FFT_CUH
#define PSR_KERNELS_ACCEL_FFT_CUH

#include <cuda_fp16.h>

#define ACCEL_HD __host__ __device__ __forceinline__

enum {
    ACCEL_NTHREAD = 256,
    ACCEL_POINTS = 16,              /* of a thread */
    ACCEL_BINS = 2048,              /* of a transform */
    ACCEL_ROW = 17,                 /* points from n1 to n1 after the second step */
    ACCEL_REGION = 16 * 17 + 4,     /* from n0 to n0: four apart, against bank conflicts */
    ACCEL_ROOM = 16 * ACCEL_REGION, /* points in shared memory */
};

/* --- numbers ---------------------------------------------------------------------------------- */

ACCEL_HD float accel_fma(float a, float b, float c)
{
    return fmaf(a, b, c);
}

ACCEL_HD __half2 accel_fma(__half2 a, __half2 b, __half2 c)
{
#ifdef __CUDA_ARCH__
    return __hfma2(a, b, c);
#else
    const float2 x = __half22float2(a), y = __half22float2(b), z = __half22float2(c);
    return __floats2half2_rn(fmaf(x.x, y.x, z.x), fmaf(x.y, y.y, z.y));
#endif
}

template <class R> ACCEL_HD R accel_number(float x);

template <> ACCEL_HD float accel_number<float>(float x)
{
    return x;
}

template <> ACCEL_HD __half2 accel_number<__half2>(float x)
{
    return __float2half2_rn(x);
}

template <class R> struct accel_complex {
    R re, im;
};

/* A stored factor, the same for both spectra. */
template <class R> struct accel_factor;

template <> struct accel_factor<float> {
    float2 x;
    ACCEL_HD float re() const
    {
        return x.x;
    }
    ACCEL_HD float im() const
    {
        return x.y;
    }
    ACCEL_HD static accel_factor make(float re, float im)
    {
        return {make_float2(re, im)};
    }
};

template <> struct accel_factor<__half2> {
    __half2 x;
    ACCEL_HD __half2 re() const
    {
        return __low2half2(x);
    }
    ACCEL_HD __half2 im() const
    {
        return __high2half2(x);
    }
    ACCEL_HD static accel_factor make(float re, float im)
    {
        return {__floats2half2_rn(re, im)};
    }
};

template <class R> ACCEL_HD accel_complex<R> operator+(accel_complex<R> a, accel_complex<R> b)
{
    return {a.re + b.re, a.im + b.im};
}

template <class R> ACCEL_HD accel_complex<R> operator-(accel_complex<R> a, accel_complex<R> b)
{
    return {a.re - b.re, a.im - b.im};
}

template <class R> ACCEL_HD accel_complex<R> accel_times(accel_complex<R> a, R re, R im)
{
    return {accel_fma(a.re, re, -(a.im * im)), accel_fma(a.re, im, a.im * re)};
}

template <class R> ACCEL_HD accel_complex<R> operator*(accel_complex<R> a, accel_factor<R> b)
{
    return accel_times(a, b.re(), b.im());
}

template <class R> ACCEL_HD accel_complex<R> accel_times_i(accel_complex<R> a)
{
    return {-a.im, a.re};
}

/* Times exp(2 pi i k / 16). */
template <int K, class R> ACCEL_HD accel_complex<R> accel_rotate(accel_complex<R> a)
{
    const float c1 = 0.92387953251128674F, s1 = 0.38268343236508977F;
    const R half = accel_number<R>(0.70710678118654752F);
    if (K == 0)
        return a;
    if (K == 2)
        return {(a.re - a.im) * half, (a.re + a.im) * half};
    if (K == 4)
        return accel_times_i(a);
    if (K == 6)
        return {-(a.re + a.im) * half, (a.re - a.im) * half};
    const float re = K == 1 ? c1 : K == 3 ? s1 : -c1, im = K == 1 ? s1 : K == 3 ? c1 : -s1;
    static_assert(K <= 4 || K == 6 || K == 9, "a radix of 16 has no other factors");
    return accel_times(a, accel_number<R>(re), accel_number<R>(im));
}

/* --- transforms in a thread ------------------------------------------------------------------- */

/* Of a[0], a[STEP] ..: four points in place, in order. */
template <int STEP, class R> ACCEL_HD void accel_dft4(accel_complex<R> *a)
{
    accel_complex<R> s = a[0] + a[2 * STEP], d = a[0] - a[2 * STEP];
    accel_complex<R> t = a[STEP] + a[3 * STEP], u = accel_times_i(a[STEP] - a[3 * STEP]);
    a[0] = s + t;
    a[STEP] = d + u;
    a[2 * STEP] = s - t;
    a[3 * STEP] = d - u;
}

/* Eight points that follow each other, in place, in order. */
template <class R> ACCEL_HD void accel_dft8(accel_complex<R> *a)
{
    accel_complex<R> even[4], odd[4];
    for (int k = 0; k < 4; k++) {
        even[k] = a[k] + a[k + 4];
        odd[k] = a[k] - a[k + 4];
    }
    odd[1] = accel_rotate<2>(odd[1]);
    odd[2] = accel_rotate<4>(odd[2]);
    odd[3] = accel_rotate<6>(odd[3]);
    accel_dft4<1>(even);
    accel_dft4<1>(odd);
    for (int k = 0; k < 4; k++) {
        a[2 * k] = even[k];
        a[2 * k + 1] = odd[k];
    }
}

/* Sixteen points in place, in order. */
template <class R> ACCEL_HD void accel_dft16(accel_complex<R> *a)
{
    for (int k = 0; k < 4; k++)
        accel_dft4<4>(a + k); /* a[k + 4 q]: sum over the upper digit, of output digit q */
    a[5] = accel_rotate<1>(a[5]);
    a[6] = accel_rotate<2>(a[6]);
    a[7] = accel_rotate<3>(a[7]);
    a[9] = accel_rotate<2>(a[9]);
    a[10] = accel_rotate<4>(a[10]);
    a[11] = accel_rotate<6>(a[11]);
    a[13] = accel_rotate<3>(a[13]);
    a[14] = accel_rotate<6>(a[14]);
    a[15] = accel_rotate<9>(a[15]);
    for (int q = 0; q < 4; q++)
        accel_dft4<1>(a + 4 * q); /* a[4 q + p] is output q + 4 p */
    for (int q = 0; q < 4; q++)
        for (int p = q + 1; p < 4; p++) {
            accel_complex<R> swap = a[4 * q + p];
            a[4 * q + p] = a[4 * p + q];
            a[4 * p + q] = swap;
        }
}

/* --- places ----------------------------------------------------------------------------------- */

/* After the second and third step a thread has one n0 and f0, or one n0 and n1. */
struct accel_place {
    int n0, low;
};

ACCEL_HD accel_place accel_second(int thread)
{
    return {thread / 16, thread % 16};
}

ACCEL_HD accel_place accel_third(int thread)
{
    int group = thread / 64;
    return {4 * group + thread % 4, thread % 64 / 4};
}

/* --- steps ------------------------------------------------------------------------------------ */

/* z [16]: Z_p[thread + 256 f2] at f2 + 8 p. */
template <class R>
ACCEL_HD void accel_first_step(accel_complex<R> *z, const accel_factor<R> *twiddle)
{
    accel_dft8(z);
    accel_dft8(z + 8);
    for (int m0 = 1; m0 < 8; m0++) {
        z[m0] = z[m0] * twiddle[m0];
        z[8 + m0] = z[8 + m0] * twiddle[m0];
    }
}

template <class R>
ACCEL_HD void accel_put_first(accel_complex<R> *room, const accel_complex<R> *z, int thread)
{
    for (int m0 = 0; m0 < 8; m0++)
        for (int p = 0; p < 2; p++)
            room[(2 * m0 + p) * ACCEL_REGION + thread] = z[m0 + 8 * p];
}

template <class R>
ACCEL_HD void accel_get_second(accel_complex<R> *z, const accel_complex<R> *room, int thread)
{
    const accel_place at = accel_second(thread);
    for (int f1 = 0; f1 < 16; f1++)
        z[f1] = room[at.n0 * ACCEL_REGION + at.low + 16 * f1];
}

template <class R>
ACCEL_HD void accel_put_second(accel_complex<R> *room, const accel_complex<R> *z, int thread)
{
    const accel_place at = accel_second(thread);
    for (int n1 = 0; n1 < 16; n1++)
        room[at.n0 * ACCEL_REGION + ACCEL_ROW * n1 + at.low] = z[n1];
}

template <class R>
ACCEL_HD void accel_get_third(accel_complex<R> *z, const accel_complex<R> *room, int thread)
{
    const accel_place at = accel_third(thread);
    for (int f0 = 0; f0 < 16; f0++)
        z[f0] = room[at.n0 * ACCEL_REGION + ACCEL_ROW * at.low + f0];
}

/* --- factors ---------------------------------------------------------------------------------- */

/* Twiddle factors: [16][8] of the first step, by f1 and m0, then [8][16][16] of the second, by m0, m1 and f0:
 * ACCEL_TWIDDLES pairs. */
enum { ACCEL_TWIDDLES_1 = 16 * 8, ACCEL_TWIDDLES = ACCEL_TWIDDLES_1 + 8 * 16 * 16 };

ACCEL_HD int accel_twiddle_1(int thread)
{
    return thread / 16 * 8;
}

/* Of n1 = 0; those of the next are 16 on. */
ACCEL_HD int accel_twiddle_2(int thread)
{
    const accel_place at = accel_second(thread);
    return ACCEL_TWIDDLES_1 + at.n0 / 2 * 256 + at.low;
}

#endif
