/* clip.h: PRESTO's time-domain clipping, block by block (private).
 *
 * For each block of spectra, z[t] is the sum of spectrum t over channels.  Samples within 3
 * standard deviations of the median of z are good; their mean and scatter, and the mean of every
 * channel over the good spectra, enter running values with a weight of one tenth.  Spectra whose
 * sum deviates from the running mean by more than a threshold of running standard deviations are
 * bad, and are to be replaced by the running means of the channels. */
#ifndef PSR_RFI_RULES_CLIP_H
#define PSR_RFI_RULES_CLIP_H

#include <psrkit/status.h>
#include <stdbool.h>
#include <stddef.h>

/* Running values, in single precision as PRESTO keeps them. */
struct psr_clip {
    float sigma;   /* threshold */
    float avg, sd; /* of z */
    float *level;  /* [nchan] mean of each channel; owned by the caller */
    size_t nchan;
    bool begun;
};

/* Statistics of one block. */
struct psr_clip_block {
    double avg, sd; /* of the good samples of z */
    size_t ngood;
};

/* How means and variances are summed: in PRESTO's order, sample by sample, with its bits, NaN
 * included; or in SIMD lanes, over the samples that are not NaN. */
enum psr_moments { PSR_MOMENTS_RUNNING, PSR_MOMENTS_LANES };

/* Given:    z [n]; work [n] to be overwritten
 * Returned: *block; good [n], 1 or 0 */
void psr_clip_measure(struct psr_clip_block *block, const float *z, size_t n, unsigned char *good,
                      float *work, enum psr_moments how);

/* Updates the running values with a block.
 * Given: sum [nchan]   of each channel over the good spectra */
void psr_clip_update(struct psr_clip *clip, const struct psr_clip_block *block, const double *sum);

/* Returned: bad [n], 1 or 0; how many are bad */
size_t psr_clip_find(const struct psr_clip *clip, const float *z, size_t n, unsigned char *bad);

#endif
