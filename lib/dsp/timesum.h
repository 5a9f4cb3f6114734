/* timesum.h: sums consecutive spectra, channel by channel (private). */
#ifndef PSR_DSP_TIMESUM_H
#define PSR_DSP_TIMESUM_H

#include <psrkit/obs.h>

struct psr_timesum;

struct psr_timesum_desc {
    size_t nchan;
    int nbit;           /* of the input: 1 2 4 8 16 */
    enum psr_kind kind; /* of the input: unsigned, or 8 bits signed, which are offset by 128 */
    size_t ratio;       /* spectra per sum, >= 1 */
    int sum_nbit;       /* of the output, unsigned: 8 or 16, wide enough */
    int nthread;
};

/* Bits for a sum of n samples, as above, or 0 if 16 are not enough or the input type is not
 * supported. */
int psr_timesum_nbit(int nbit, enum psr_kind kind, size_t n);

/* Status: PSR_ENOMEM. */
PSR_MUST_CHECK psr_status psr_timesum_create(struct psr_timesum **out,
                                             const struct psr_timesum_desc *desc, psr_err *err);

/* Takes the next nsamp spectra, packed, each on a byte boundary, aligned for their samples.
 * Returned: number of complete sums, in out [][nchan], which needs room for nsamp / ratio + 1;
 *           incomplete sums are kept for the next call */
size_t psr_timesum_run(struct psr_timesum *ts, const void *in, size_t nsamp, void *out);

/* Frees the object; NULL is allowed. */
void psr_timesum_destroy(struct psr_timesum *ts);

#endif
