/* Detections of a fast folding search, as a Fourier search would list them. */
#include "sift_curve.h"

#include <math.h>

/* Harmonics of a boxcar up to this share of 1 / duty have most of its power. */
static const double SHARE = 0.6;

static int count_harmonics(double duty)
{
    const double n = duty > 0 ? floor(SHARE / duty) : PSR_ACCEL_LIST_MAX_HARM;
    return n < 1 ? 1 : n < PSR_ACCEL_LIST_MAX_HARM ? (int)n : PSR_ACCEL_LIST_MAX_HARM;
}

static double boxcar_power(double x)
{
    return x > 0 ? pow(sin(M_PI * x) / (M_PI * x), 2) : 1;
}

void psr_sift_make_harmonics(struct psr_accel_row *row, double *power)
{
    const int n = count_harmonics(row->fold_duty);
    const double above = psr_sift_power_of(row->fold_snr, n) - n;
    double sum = 0;
    for (int h = 1; h <= n; h++)
        sum += power[h - 1] = boxcar_power(h * row->fold_duty);
    for (int h = 0; h < n; h++)
        power[h] = 1 + above * power[h] / sum;
    row->nharm = n;
    row->harm_power = power;
}
