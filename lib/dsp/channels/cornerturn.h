/* cornerturn.h: transposes packed spectra [t][c] to one run of samples per channel [k][t], with
 * downsampling (private). */
#ifndef PSR_DSP_CHANNELS_CORNERTURN_H
#define PSR_DSP_CHANNELS_CORNERTURN_H

#include <psrkit/obs.h>

struct psr_cornerturn;

struct psr_cornerturn_desc {
    size_t nchan;
    int nbit;           /* 1 2 4 8 16 32 */
    enum psr_kind kind; /* signed samples are offset by half their range */
    size_t nkept;
    const size_t *chan; /* [nkept] channels to output; borrowed */
    const int32_t *pre; /* [nkept] samples to skip at the start of each; borrowed */
    size_t downsamp;    /* consecutive samples summed */
    size_t store_bytes; /* bytes of an output: 1 2 4 unsigned, wide enough; 4 float for 32-bit
                           input */
    int nthread;
};

PSR_MUST_CHECK psr_status psr_cornerturn_create(struct psr_cornerturn **out,
                                                const struct psr_cornerturn_desc *desc,
                                                psr_err *err);

/* Takes the next nsamp spectra.  Sum q of channel k, over downsamp samples from pre + q downsamp
 * on, is written to lane[k * stride + q - first] once complete; incomplete sums are kept for the
 * next call. */
void psr_cornerturn_run(struct psr_cornerturn *ct, const void *in, size_t nsamp, void *lane,
                        size_t stride, uint64_t first);

/* The next call begins a new stream. */
void psr_cornerturn_reset(struct psr_cornerturn *ct);
void psr_cornerturn_destroy(struct psr_cornerturn *ct);

#endif
