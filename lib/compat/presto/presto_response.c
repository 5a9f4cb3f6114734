/* Interpolates amplitudes as accelsearch does. */
#include "presto_response.h"

#include <math.h>
#include <stdlib.h>

enum { NMEAN = 20, GAP = 5 };
static const double NO_DRIFT = 1e-4, ON_BIN = 1e-5;

psr_status psr_presto_response_make(struct psr_presto_response *p, const float *x, int64_t nbin,
                                    psr_err *err)
{
    *p = (struct psr_presto_response){.x = x, .nbin = nbin};
    return psr_response_maker_create(&p->maker, err);
}

void psr_presto_response_clear(struct psr_presto_response *p)
{
    psr_response_maker_destroy(p->maker);
    free(p->k);
    *p = (struct psr_presto_response){0};
}

static bool is_held(const struct psr_presto_response *p, double z, double w, double offset,
                    int half)
{
    return p->half == half && !(p->z < z) && !(p->z > z) && !(p->w < w) && !(p->w > w) &&
           !(p->offset < offset) && !(p->offset > offset);
}

/* Fills k [2 half] with the response of a signal offset from a bin. */
static psr_status hold(struct psr_presto_response *p, double z, double w, double offset, int half,
                       psr_err *err)
{
    const size_t n = 2 * (size_t)half;
    if (is_held(p, z, w, offset, half))
        return PSR_OK;
    p->half = 0;
    if (n > p->room) {
        free(p->k);
        p->k = malloc(n * sizeof *p->k);
        p->room = p->k ? n : 0;
        if (!p->k)
            return psr_fail_nomem(err, "a response", (double)n * sizeof *p->k);
    }
    psr_status st = fabs(w) < NO_DRIFT
                        ? psr_response_make(p->maker, fabs(z) < NO_DRIFT ? 0 : z, 0, -half - offset,
                                            1, n, p->k, err)
                        : psr_response_sample(p->maker, z, w, offset, 1, half, p->k, err);
    if (st)
        return st;
    p->z = z;
    p->w = w;
    p->offset = offset;
    p->half = half;
    return PSR_OK;
}

static double complex bin_at(const struct psr_presto_response *p, int64_t k)
{
    return (double)p->x[2 * k] + I * (double)p->x[2 * k + 1];
}

psr_status psr_presto_amplitude(struct psr_presto_response *p, double r, double z, double w,
                                int half, double complex *a, psr_err *err)
{
    *a = 0;
    if (!(r >= 0 && r <= (double)p->nbin - 1))
        return PSR_OK;
    const int64_t whole = (int64_t)r;
    const double offset = r - (double)whole;
    if (fabs(w) < NO_DRIFT && fabs(z) < NO_DRIFT && (offset < ON_BIN || 1 - offset < ON_BIN)) {
        *a = bin_at(p, whole + (offset > 0.5));
        return PSR_OK;
    }
    psr_status st = hold(p, z, w, offset, half, err);
    double re = 0, im = 0;
    for (int64_t i = 0; i < 2 * half && !st; i++) {
        int64_t k = whole - half + i;
        if (k < 0 || k >= p->nbin)
            continue;
        double xr = (double)p->x[2 * k], xi = (double)p->x[2 * k + 1];
        double kr = (double)crealf(p->k[i]), ki = (double)cimagf(p->k[i]);
        re += xr * kr + xi * ki;
        im += xi * kr - xr * ki;
    }
    *a = re + I * im;
    return st;
}

static double within(const struct psr_presto_response *p, double r)
{
    return r < 0 ? 0 : r > (double)p->nbin ? (double)p->nbin : r;
}

psr_status psr_presto_local_power(struct psr_presto_response *p, double r, double z, double w,
                                  double *power, psr_err *err)
{
    const int half = psr_response_halfwidth(z, w, false);
    const double below = r - GAP - NMEAN / 2, above = r + GAP;
    const double range[2][2] = {{within(p, below), within(p, below + NMEAN / 2)},
                                {within(p, above), within(p, above + NMEAN / 2)}};
    double sum = 0;
    for (int side = 0; side < 2; side++)
        for (double at = range[side][0]; at < range[side][1]; at += 1) {
            double complex a;
            psr_status st = psr_presto_amplitude(p, at, z, w, half, &a, err);
            if (st)
                return st;
            sum += creal(a) * creal(a) + cimag(a) * cimag(a);
        }
    *power = sum / NMEAN;
    return PSR_OK;
}
