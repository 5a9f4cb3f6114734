/* presto_response.h: amplitudes at any place, as accelsearch interpolates them (private). */
#ifndef PSR_COMPAT_PRESTO_PRESTO_RESPONSE_H
#define PSR_COMPAT_PRESTO_PRESTO_RESPONSE_H

#include "search/matched/response/response.h"

#include <stdint.h>

/* A spectrum, and a thread's latest response. */
struct psr_presto_response {
    const float *x; /* [nbin][2] */
    int64_t nbin;
    struct psr_response_maker *maker;
    float complex *k; /* [room] */
    size_t room;
    double z, w, offset; /* of the response that k holds */
    int half;            /* 0: none */
};

/* Status: PSR_ENOMEM.  psr_presto_response_clear in any case. */
PSR_MUST_CHECK psr_status psr_presto_response_make(struct psr_presto_response *p, const float *x,
                                                   int64_t nbin, psr_err *err);
void psr_presto_response_clear(struct psr_presto_response *p);

/* A(r, z, w) from bins up to half away; 0 where r is no bin's.
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_presto_amplitude(struct psr_presto_response *p, double r, double z,
                                               double w, int half, double complex *a, psr_err *err);

/* The mean power 5 to 15 bins away to both sides.
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_presto_local_power(struct psr_presto_response *p, double r, double z,
                                                 double w, double *power, psr_err *err);

#endif
