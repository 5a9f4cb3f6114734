/* dedisp_subband.h: makes sub-bands, the first of PRESTO's two dedispersion steps (private).
 *
 * The band is divided into nsub sub-bands of adjacent channels.  Sub-band j is
 *   out[j][t] = 1/ds sum_u sum_c x[c][t ds + u + d(c)], u = 0 .. ds - 1,
 * over its kept channels c, where d(c) is the delay at one DM relative to the highest channel of
 * the sub-band, in whole input samples.  This removes the dispersion within the sub-band for DMs
 * near that one; the delays between sub-bands are left to the second step.
 *
 * A plan processes a stream: each execute takes the next spectra and returns the samples that are
 * complete.  The output does not depend on block lengths or threads; sums of integers are exact up
 * to 2^24. */
#ifndef PSR_SEARCH_DEDISP_DEDISP_SUBBAND_H
#define PSR_SEARCH_DEDISP_DEDISP_SUBBAND_H

#include <psrkit/obs.h>

typedef struct psr_subband psr_subband;

struct psr_subband_desc {
    size_t nchan;
    const double *freq_mhz; /* [nchan] channel centres in the order of the data, ascending or
                               descending; copied */
    double tsamp_s;         /* of the input */
    int nbit;               /* of the input, like kind */
    enum psr_kind kind;
    size_t downsamp;           /* ds >= 1 */
    size_t nsub;               /* a divisor of nchan */
    double dmconst;            /* MHz^2 s; see ddplan.h */
    double dm;                 /* pc cm^-3, >= 0 */
    const unsigned char *keep; /* [nchan] 0 excludes a channel; NULL keeps all; copied */
    int nthread;               /* 0: all cores */
    int64_t mem_bytes;         /* limit on the spectra that the plan holds; 0: none */
};

/* Status: PSR_EINVAL naming field, value and limit; PSR_ENOMEM, with the amount needed if mem_bytes
 *         cannot hold the dispersion sweep.  *out is NULL on error. */
PSR_MUST_CHECK psr_status psr_subband_create(psr_subband **out, const struct psr_subband_desc *desc,
                                             psr_err *err);

/* The largest d(c), in spectra: the number of spectra lost to the largest delay. */
size_t psr_subband_maxshift(const psr_subband *p);

/* Bytes of the spectra that the plan holds. */
int64_t psr_subband_bytes(const psr_subband *p);

/* Samples per sub-band that the next execute returns for nsamp more spectra. */
size_t psr_subband_ready(const psr_subband *p, size_t nsamp);

/* Given:    in    [nsamp][nchan] packed, each spectrum starting on a byte boundary
 *           out   [nsub][stride]; stride >= psr_subband_ready(p, nsamp)
 * Returned: out[j][0 .. *nout - 1]; sub-band 0 is the lowest in frequency
 * Notes:    a stream of N spectra gives floor((N - maxshift) / ds) samples
 * Status:   PSR_EINVAL (stride) */
PSR_MUST_CHECK psr_status psr_subband_execute(psr_subband *p, const void *in, size_t nsamp,
                                              float *out, size_t stride, size_t *nout,
                                              psr_err *err);

/* Frees the plan; NULL is allowed. */
void psr_subband_destroy(psr_subband *p);

#endif
