/* template_bank.h: the responses of a search, drift by drift and jerk by jerk (private).
 *
 * Template (j, l) is that of z = 2 j, w = 20 l, |j| <= jmax, |l| <= lmax. */
#ifndef PSR_SEARCH_MATCHED_RESPONSE_TEMPLATE_BANK_H
#define PSR_SEARCH_MATCHED_RESPONSE_TEMPLATE_BANK_H

#include "base/stop.h"
#include "correlate.h"

#include <stdbool.h>
#include <stdint.h>

enum { PSR_STEP_Z = 2, PSR_STEP_W = 20 };

struct psr_template_bank {
    int jmax, lmax;
    size_t n; /* templates */
    const struct psr_correlator *correlator;
    int *half;       /* [n] bins to both sides */
    float *spectrum; /* [n][2][psr_correlator_block] for correlations: even, odd */
    size_t *at;      /* [n] where in taps a template begins; NULL without taps */
    float *taps;     /* [2][2][psr_template_taps(half)]: even and odd, re and im */
};

/* Half the width of the widest. */
int psr_template_reach(int jmax, int lmax);

static inline size_t psr_template_number(int jmax, int lmax, int j, int l)
{
    return (size_t)(l + lmax) * (2 * (size_t)jmax + 1) + (size_t)(j + jmax);
}

/* Taps of so wide a template, with zeros to fill whole lanes. */
static inline size_t psr_template_taps(int half)
{
    return (2 * (size_t)half + CORRELATE_LANES - 1) / CORRELATE_LANES * CORRELATE_LANES;
}

/* Bytes that a bank takes. */
double psr_template_bank_bytes(const struct psr_correlator *c, int jmax, int lmax, bool taps);

/* Given:    sampled   templates with jerk are accelsearch's, psr_response_sample
 *           taps      to be made too
 *           nthread   threads that make them
 *           stop      NULL: never
 * Status:   PSR_ENOMEM, PSR_ESTOPPED */
PSR_MUST_CHECK psr_status psr_template_bank_create(struct psr_template_bank **out,
                                                   const struct psr_correlator *c, int jmax,
                                                   int lmax, bool sampled, bool taps, int nthread,
                                                   const struct psr_stop *stop, psr_err *err);

static inline float *psr_template_spectrum(const struct psr_template_bank *b, size_t t, int odd)
{
    return b->spectrum + (2 * t + (size_t)odd) * psr_correlator_block(b->correlator);
}

/* NULL is fine. */
void psr_template_bank_destroy(struct psr_template_bank *b);

#endif
