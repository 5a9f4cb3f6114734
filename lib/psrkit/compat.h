/* compat.h: prepsubband's own numbers, to the bit.
 *
 * What psr_dedisp and psr_clean do differently, because PRESTO's way loses or misplaces data, is
 * done here in PRESTO's way, so that a user can hold one against the other: single-precision sums
 * in its order, its two steps, its means of downsampled samples, a mask that comes one block late,
 * masked samples replaced by the running means of clipping, and the end of the input lost for
 * look-ahead.  It is plain code with no aim at speed.
 *
 * Sub-bands made before are taken up where PRESTO takes them up: clipped and balanced as if they
 * were channels, zero-DM without weights, and no block of them lost before the second step.
 *
 * Channels are numbered from the lowest frequency here. */
#ifndef PSRKIT_COMPAT_H
#define PSRKIT_COMPAT_H

#include <psrkit/mask.h>

PSR_API_BEGIN

typedef struct psr_compat psr_compat;

enum { PSR_COMPAT_BLOCK = 2400 }; /* spectra that PRESTO reads of a filterbank file at a time */

struct psr_compat_desc {
    size_t nchan;
    int nbit; /* of the input, as kind */
    enum psr_kind kind;
    bool reverse;                 /* the input's first channel is taken for the highest */
    double lofreq_mhz, width_mhz; /* lowest channel's centre; from one channel to the next, > 0 */
    double voverc;                /* mean velocity of the observatory, away from the source */
    double tsamp_s;
    size_t block; /* spectra per block */
    size_t nsub, downsamp;
    size_t ndm;
    const double *dm;            /* [ndm]; the last is the highest; copied */
    bool summed;                 /* the input holds nsub sub-bands of nchan channels, not channels:
                                    for nchan read nsub where its samples are meant */
    bool subbands;               /* give the sub-bands at the mean DM and not the trials */
    double clip_sigma;           /* 0: no clipping */
    bool zerodm;                 /* and then there is no clipping */
    const struct psr_mask *mask; /* with padding; NULL: none; lives as long as the plan */
    const unsigned char *keep;   /* [nchan] 0: an ignored channel; copied; NULL keeps all */
    int64_t first;               /* spectra skipped at the start of the observation */
};

/* Status: PSR_EINVAL naming field, value and limit; PSR_ENOMEM. */
PSR_MUST_CHECK psr_status psr_compat_create(psr_compat **out, const struct psr_compat_desc *desc,
                                            psr_err *err);

/* Spectra that PRESTO takes as one piece of work: whole blocks, longer than the sweep.  Status as
 * psr_compat_create, of which it looks at frequencies, tsamp_s, block and the last DM. */
PSR_MUST_CHECK psr_status psr_compat_worklen(const struct psr_compat_desc *desc, size_t *worklen,
                                             psr_err *err);

/* Samples per series that an execute gives when it gives any. */
size_t psr_compat_piece(const psr_compat *p);

/* Takes the next block.
 * Given:    in [block][nchan] packed, each spectrum from a byte boundary
 *           stride >= piece
 * Returned: out [ndm or nsub][stride]; *nout, piece or 0
 * Notes:    what has not come out when the input ends never does. */
void psr_compat_execute(psr_compat *p, const void *in, float *out, size_t stride, size_t *nout);

/* NULL is fine. */
void psr_compat_destroy(psr_compat *p);

PSR_API_END
#endif
