/* The transforms of the matched search on the host: every thread does a step before any does the
 * next. */
#include "accel_fft_host.h"
#include "matched/accel_fft.cuh"

#include <stdlib.h>

static double first_of(float x)
{
    return x;
}

static double first_of(__half2 x)
{
    return __low2float(x);
}

template <class R> struct threads {
    accel_factor<R> twiddle[ACCEL_TWIDDLES];
    accel_complex<R> room[ACCEL_ROOM], z[ACCEL_NTHREAD][ACCEL_POINTS];
};

template <class R> static void transform(threads<R> &t)
{
    for (int n = 0; n < ACCEL_NTHREAD; n++)
        accel_first_step(t.z[n], t.twiddle + accel_twiddle_1(n));
    for (int n = 0; n < ACCEL_NTHREAD; n++)
        accel_put_first(t.room, t.z[n], n);
    for (int n = 0; n < ACCEL_NTHREAD; n++) {
        accel_get_second(t.z[n], t.room, n);
        accel_dft16(t.z[n]);
        for (int n1 = 0; n1 < ACCEL_POINTS; n1++)
            t.z[n][n1] = t.z[n][n1] * t.twiddle[accel_twiddle_2(n) + 16 * n1];
    }
    for (int n = 0; n < ACCEL_NTHREAD; n++)
        accel_put_second(t.room, t.z[n], n);
    for (int n = 0; n < ACCEL_NTHREAD; n++) {
        accel_get_third(t.z[n], t.room, n);
        accel_dft16(t.z[n]);
    }
}

template <class R>
static bool run(enum accel_k_number kind, const double (*in)[2], double (*out)[2])
{
    threads<R> *t = (threads<R> *)malloc(sizeof *t);
    if (!t)
        return false;
    accel_k_twiddle_fill(kind, t->twiddle);
    for (int f = 0; f < 2 * ACCEL_BINS; f++) {
        const int p = f / ACCEL_BINS, n = f % ACCEL_NTHREAD;
        t->z[n][f % ACCEL_BINS / ACCEL_NTHREAD + 8 * p] = {accel_number<R>((float)in[f][0]),
                                                           accel_number<R>((float)in[f][1])};
    }
    transform(*t);
    for (int n = 0; n < ACCEL_NTHREAD; n++)
        for (int n2 = 0; n2 < ACCEL_POINTS; n2++) {
            const accel_place at = accel_third(n);
            double *to = out[at.n0 % 2 * ACCEL_BINS + at.n0 / 2 + 8 * at.low + 128 * n2];
            to[0] = first_of(t->z[n][n2].re);
            to[1] = first_of(t->z[n][n2].im);
        }
    free(t);
    return true;
}

bool accel_fft_host(enum accel_k_number kind, const double (*in)[2], double (*out)[2])
{
    return kind == ACCEL_HALF ? run<__half2>(kind, in, out) : run<float>(kind, in, out);
}
