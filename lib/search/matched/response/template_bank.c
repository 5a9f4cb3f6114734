/* Computes the responses of a search and their transforms. */
#include "response.h"

#include "base/threads/threads.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

int psr_template_reach(int jmax, int lmax)
{
    /* Of opposite signs, or of the same: the deviation at one end is (w / 6 +- z) / 2. */
    return psr_response_halfwidth(PSR_STEP_Z * jmax, PSR_STEP_W * lmax, false);
}

static double of_z(size_t t, int jmax)
{
    return PSR_STEP_Z * ((double)(t % (2 * (size_t)jmax + 1)) - jmax);
}

static double of_w(size_t t, int jmax, int lmax)
{
    return PSR_STEP_W * ((double)(t / (2 * (size_t)jmax + 1)) - lmax);
}

static size_t count(int jmax, int lmax)
{
    return (2 * (size_t)jmax + 1) * (2 * (size_t)lmax + 1);
}

double psr_template_bank_bytes(const struct psr_correlator *c, int jmax, int lmax, bool taps)
{
    double n = (double)count(jmax, lmax);
    double bytes = 2.0 * sizeof(float) * (double)psr_correlator_block(c);
    for (size_t t = 0; taps && t < count(jmax, lmax); t++) {
        int half = psr_response_halfwidth(of_z(t, jmax), of_w(t, jmax, lmax), false);
        bytes += 4.0 * sizeof(float) * (double)psr_template_taps(half) / n;
    }
    return n * bytes;
}

static psr_status allocate(struct psr_template_bank *b, bool taps, psr_err *err)
{
    size_t ntap = 0, nfloat = 2 * b->n * psr_correlator_block(b->correlator);
    b->half = malloc(b->n * sizeof *b->half);
    b->spectrum = psr_line_alloc(nfloat);
    b->at = taps ? malloc(b->n * sizeof *b->at) : NULL;
    if (!b->half || !b->spectrum || (taps && !b->at))
        return psr_fail_nomem(err, "templates", (double)nfloat * sizeof *b->spectrum);
    for (size_t t = 0; t < b->n; t++) {
        b->half[t] = psr_response_halfwidth(of_z(t, b->jmax), of_w(t, b->jmax, b->lmax), false);
        if (taps)
            b->at[t] = ntap;
        ntap += 4 * psr_template_taps(b->half[t]);
    }
    b->taps = taps ? psr_line_alloc(ntap) : NULL;
    return taps && !b->taps ? psr_fail_nomem(err, "templates", (double)ntap * sizeof *b->taps)
                            : PSR_OK;
}

/* k [4 half] at half bins from -half: its whole bins, or those half a bin above. */
static void take_half(struct psr_template_bank *b, size_t t, const float complex *k, int odd,
                      float complex *alone, float *work)
{
    const int half = b->half[t];
    for (int i = 0; i < 2 * half; i++)
        alone[i] = k[2 * i + odd];
    psr_correlator_take_response(b->correlator, alone, half, odd, work,
                                 psr_template_spectrum(b, t, odd));
    if (!b->taps)
        return;
    size_t n = psr_template_taps(half);
    float *re = b->taps + b->at[t] + 2 * (size_t)odd * n, *im = re + n;
    memset(re, 0, 2 * n * sizeof *re);
    for (int i = 0; i < 2 * half; i++) {
        re[i] = crealf(alone[i]);
        im[i] = cimagf(alone[i]);
    }
}

static psr_status make_template(struct psr_template_bank *b, size_t t, bool sampled,
                                struct psr_response_maker *maker, float complex *k, float *work,
                                psr_err *err)
{
    double z = of_z(t, b->jmax), w = of_w(t, b->jmax, b->lmax);
    const int half = b->half[t];
    size_t n = 4 * (size_t)half;
    psr_status st = sampled && fabs(w) > 0 ? psr_response_sample(maker, z, w, 0, 2, half, k, err)
                                           : psr_response_make(maker, z, w, -half, 2, n, k, err);
    for (int odd = 0; odd < 2 && !st; odd++)
        take_half(b, t, k, odd, k + n, work);
    return st;
}

static psr_status fill(struct psr_template_bank *b, bool sampled, int nthread,
                       const struct psr_stop *stop, psr_err *err)
{
    const size_t reach = (size_t)psr_template_reach(b->jmax, b->lmax);
    psr_status all = PSR_OK;
#pragma omp parallel num_threads(psr_count_threads(nthread))
    {
        psr_err why;
        struct psr_response_maker *maker = NULL;
        float complex *k = malloc(6 * reach * sizeof *k);
        float *work = psr_line_alloc(psr_correlator_block(b->correlator));
        psr_status st = psr_response_maker_create(&maker, &why);
        if (!st && (!k || !work))
            st = psr_fail_nomem(&why, "templates", 48.0 * (double)reach);
#pragma omp for schedule(dynamic)
        for (size_t t = 0; t < b->n; t++)
            if (!st && stop && psr_is_stopped(stop))
                st = psr_fail(&why, PSR_ESTOPPED, "stopped");
            else if (!st)
                st = make_template(b, t, sampled, maker, k, work, &why);
#pragma omp critical(psr_template_bank)
        if (st && !all) {
            all = st;
            if (err)
                *err = why;
        }
        psr_response_maker_destroy(maker);
        free(k);
        free(work);
    }
    return all;
}

psr_status psr_template_bank_create(struct psr_template_bank **out, const struct psr_correlator *c,
                                    int jmax, int lmax, bool sampled, bool taps, int nthread,
                                    const struct psr_stop *stop, psr_err *err)
{
    struct psr_template_bank *b = calloc(1, sizeof *b);
    *out = NULL;
    if (!b)
        return psr_fail_nomem(err, "templates", sizeof *b);
    b->jmax = jmax;
    b->lmax = lmax;
    b->n = count(jmax, lmax);
    b->correlator = c;
    psr_status st = allocate(b, taps, err);
    if (!st)
        st = fill(b, sampled, nthread, stop, err);
    if (st)
        psr_template_bank_destroy(b);
    else
        *out = b;
    return st;
}

void psr_template_bank_destroy(struct psr_template_bank *b)
{
    if (!b)
        return;
    free(b->half);
    free(b->at);
    free(b->spectrum);
    free(b->taps);
    free(b);
}
