/* Eigenvalues of small symmetric matrices. */
#include "stats.h"

#include <float.h>
#include <math.h>

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
