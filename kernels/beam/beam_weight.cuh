/* beam_weight.cuh: the main theorem's factors U of a direction (Smith 2022 eq. 8), many of one
 * direction at a time, and the weights of places of a refined axis. */
#ifndef PSR_KERNELS_BEAM_WEIGHT_CUH
#define PSR_KERNELS_BEAM_WEIGHT_CUH

#include "beam/beam_kernels.h"

/* The angle pi (2 theta - q) / 2n as a whole step and a remainder. */
struct beam_direction {
    int nearest; /* whole number to 2 theta */
    float amplitude, s, c;
};

__device__ __forceinline__ beam_direction beam_point_along(int n, double theta)
{
    const double twice = 2 * theta, nearest = rint(twice);
    const float off = (float)(twice - nearest), period = 2 * (float)n;
    beam_direction d;
    d.nearest = (int)nearest;
    d.amplitude = sinpif(off) / period;
    sincospif(off / period, &d.s, &d.c);
    return d;
}

/* Whole steps from q, 0 .. 2n - 1. */
__device__ __forceinline__ int beam_steps(const beam_direction &d, int n, int q)
{
    const int step = (d.nearest - q) % (2 * n);
    return step < 0 ? step + 2 * n : step;
}

/* sin and cos of pi step / 2n */
__device__ __forceinline__ float2 beam_transpose(int n, int step)
{
    float2 t;
    sincospif((float)(step > n ? step - 2 * n : step) / (2 * (float)n), &t.x, &t.y);
    return t;
}

/* With x = 2 theta - q: sin(pi x) cot(pi x / 2n) / 2n, and 1 at the pole. */
__device__ __forceinline__ float beam_factor(const beam_direction &d, int step, float2 phasor)
{
    const float s = phasor.x * d.c + phasor.y * d.s, c = phasor.y * d.c - phasor.x * d.s;
    if (fabsf(s) < 1e-12f)
        return 1;
    const float y = d.amplitude * __fdividef(c, s);
    return step & 1 ? -y : y;
}

/* The weight of a place of the refined axis at distance x, |x| < TAPS / 2: the "exponential
 * of a semicircle" of Barnett, Magland & af Klinteberg (2019), whose constant was chosen for places
 * twice as dense as the sums need.  Off by 1.6e-4 at most. */
template <class T> __device__ __forceinline__ T beam_spread(T x)
{
    const T width = (T)BEAM_TAPS, sharp = (T)2.29 * width, z = 1 - 4 * x * x / (width * width);
    return z > 0 ? exp(sharp * (sqrt(z) - 1)) : 0;
}

#endif
