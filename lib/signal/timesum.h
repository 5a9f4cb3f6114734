/* timesum.h: consecutive spectra to their sums, channel by channel (private). */
#ifndef PSR_SIGNAL_TIMESUM_H
#define PSR_SIGNAL_TIMESUM_H

#include <psrkit/obs.h>

struct psr_timesum;

struct psr_timesum_desc {
    size_t nchan;
    int nbit;           /* of the input: 1 2 4 8 16 */
    enum psr_kind kind; /* of the input: unsigned, or 8 bits signed, which count with 128 added */
    size_t ratio;       /* spectra in a sum, >= 1 */
    int sum_nbit;       /* of the output, unsigned: 8 or 16, wide enough */
    int nthread;
};

/* Bits that a sum of n samples takes, as above, or 0 where 16 do not hold it or there is no such
 * input. */
int psr_timesum_nbit(int nbit, enum psr_kind kind, size_t n);

/* Status: PSR_ENOMEM. */
PSR_MUST_CHECK psr_status psr_timesum_create(struct psr_timesum **out,
                                             const struct psr_timesum_desc *desc, psr_err *err);

/* Takes the next nsamp spectra, packed, each from a byte boundary, aligned for their samples.
 * Returned: how many sums are complete, in out [][nchan]; room for nsamp / ratio + 1 is enough.
 *           What is incomplete is kept for the next call. */
size_t psr_timesum_run(struct psr_timesum *ts, const void *in, size_t nsamp, void *out);

/* NULL is fine. */
void psr_timesum_destroy(struct psr_timesum *ts);

#endif
