/* subband.h: sub-bands, the first of PRESTO's two steps of dedispersion.
 *
 * The band is cut into nsub sub-bands of neighbouring channels.  Sub-band j is
 *   out[j][t] = 1/ds sum_u sum_c x[c][t ds + u + d(c)], u = 0 .. ds - 1,
 * over its kept channels c, with d(c) the delay at one DM against the highest channel of the
 * sub-band, in whole samples of the input.  Dispersion inside the sub-band is gone then, near that
 * DM, and that between sub-bands is left for later.
 *
 * A plan is a stream: each execute takes the next spectra and gives what has become complete.  What
 * comes out does not depend on how the stream was cut, nor on threads; sums of integers are exact
 * up to 2^24. */
#ifndef PSRKIT_SUBBAND_H
#define PSRKIT_SUBBAND_H

#include <psrkit/obs.h>

PSR_API_BEGIN

typedef struct psr_subband psr_subband;

struct psr_subband_desc {
    size_t nchan;
    const double *freq_mhz; /* [nchan] channel centres in the order of the data, which is that of
                               frequency, up or down; copied */
    double tsamp_s;         /* of the input */
    int nbit;               /* of the input, as kind */
    enum psr_kind kind;
    size_t downsamp;           /* ds >= 1 */
    size_t nsub;               /* a divisor of nchan */
    double dmconst;            /* MHz^2 s; see delays.h */
    double dm;                 /* pc cm^-3, >= 0 */
    const unsigned char *keep; /* [nchan] 0 leaves a channel out; NULL keeps all; copied */
    int nthread;               /* 0: all cores */
    int64_t mem_bytes;         /* bound on the spectra that the plan holds; 0: none */
};

/* Status: PSR_EINVAL naming field, value and limit; PSR_ENOMEM, where mem_bytes cannot hold the
 *         sweep saying how much would.  *out is NULL on error. */
PSR_MUST_CHECK psr_status psr_subband_create(psr_subband **out, const struct psr_subband_desc *desc,
                                             psr_err *err);

/* The largest d(c), in spectra: what sub-bands are shorter than the input by. */
size_t psr_subband_maxshift(const psr_subband *p);

/* Of the spectra that the plan holds. */
int64_t psr_subband_bytes(const psr_subband *p);

/* Samples per sub-band that the next execute would give for nsamp more spectra. */
size_t psr_subband_ready(const psr_subband *p, size_t nsamp);

/* Given:    in [nsamp][nchan] packed, each spectrum from a byte boundary
 *           out [nsub][stride]; stride >= psr_subband_ready(p, nsamp)
 * Returned: out[j][0 .. *nout - 1], sub-band 0 being the lowest in frequency
 * Notes:    over a whole stream of N spectra there are floor((N - maxshift) / ds) samples.
 * Status:   PSR_EINVAL (stride). */
PSR_MUST_CHECK psr_status psr_subband_execute(psr_subband *p, const void *in, size_t nsamp,
                                              float *out, size_t stride, size_t *nout,
                                              psr_err *err);

/* NULL is fine. */
void psr_subband_destroy(psr_subband *p);

PSR_API_END
#endif
