/* dedisp_presto.h: reproduces prepsubband's output bit for bit (private).
 *
 * psr_dedisp and psr_clean differ from PRESTO where PRESTO loses or misplaces data.  This module
 * follows PRESTO there too, so that users can compare the two: single-precision sums in PRESTO's
 * order, two-step dedispersion, means of downsampled samples, a mask applied one block late, masked
 * samples replaced by the running means of clipping, and the end of the input lost to look-ahead.
 * The code is simple and not optimised.
 *
 * Input of existing sub-bands is treated as in PRESTO: clipped and balanced as if they were
 * channels, zero-DM without weights, and no block lost before the second step.
 *
 * Channels are numbered from the lowest frequency here. */
#ifndef PSR_COMPAT_PRESTO_DEDISP_PRESTO_H
#define PSR_COMPAT_PRESTO_DEDISP_PRESTO_H

#include <psrkit/experimental/clean.h>
#include <psrkit/series.h>

typedef struct psr_compat psr_compat;

enum { PSR_COMPAT_BLOCK = 2400 }; /* spectra per read of a filterbank file in PRESTO */

struct psr_compat_desc {
    size_t nchan;
    int nbit; /* of the input, like kind */
    enum psr_kind kind;
    bool reverse;                 /* treat the first channel of the input as the highest */
    double lofreq_mhz, width_mhz; /* centre of the lowest channel; channel spacing, > 0 */
    double voverc;                /* mean velocity of the observatory away from the source, over
                                     c */
    double tsamp_s;
    size_t block; /* spectra per block */
    size_t nsub, downsamp;
    size_t ndm;
    const double *dm;            /* [ndm]; the last is the highest; copied */
    bool summed;                 /* the input holds nsub sub-bands made of nchan channels: each
                                    spectrum then has nsub samples instead of nchan */
    bool subbands;               /* output the sub-bands at the mean DM instead of the trials */
    double clip_sigma;           /* 0: no clipping */
    bool zerodm;                 /* disables clipping */
    const struct psr_mask *mask; /* with padding; NULL: none; must outlive the plan */
    const unsigned char *keep;   /* [nchan] 0: channel is ignored; copied; NULL keeps all */
    int64_t first;               /* spectra skipped at the start of the observation */
};

/* Status: PSR_EINVAL naming field, value and limit; PSR_ENOMEM. */
PSR_MUST_CHECK psr_status psr_compat_create(psr_compat **out, const struct psr_compat_desc *desc,
                                            psr_err *err);

/* Spectra that PRESTO processes as one piece: whole blocks, longer than the dispersion sweep.  Uses
 * the frequencies, tsamp_s, block and the last DM of desc.
 * Status: as psr_compat_create */
PSR_MUST_CHECK psr_status psr_compat_worklen(const struct psr_compat_desc *desc, size_t *worklen,
                                             psr_err *err);

/* Samples per series that an execute returns, if it returns any. */
size_t psr_compat_piece(const psr_compat *p);

/* Processes the next block.
 * Given:    in   [block][nchan] packed, each spectrum starting on a byte boundary
 *           stride   at least psr_compat_piece
 * Returned: out   [ndm or nsub][stride]; *nout, psr_compat_piece or 0
 * Notes:    samples not returned before the input ends are lost, as in PRESTO */
void psr_compat_execute(psr_compat *p, const void *in, float *out, size_t stride, size_t *nout);

/* Frees the plan; NULL is allowed. */
void psr_compat_destroy(psr_compat *p);

struct psr_presto_view {
    struct psr_obs obs; /* the observation as PRESTO sees it */
    bool reverse;       /* the first channel of the source is treated as the highest */
};

/* Given: invert   as in psr_source_desc, which has already inverted the band */
void psr_presto_view_make(struct psr_presto_view *view, const struct psr_obs *obs, bool invert);

/* Fills the part of a description that determines blocks and delays, for an input with this view.
 * Given: inf   of sub-band files, or NULL
 *        nsub   sub-bands; for sub-band files, the number of files
 *        dm [ndm]   borrowed */
struct psr_compat_desc psr_presto_describe(const struct psr_presto_view *view,
                                           const struct psr_inf *inf, size_t nsub, const double *dm,
                                           size_t ndm);

/* Number of the nsamp spectra that PRESTO skips for this start fraction.
 * Status: those of psr_compat_worklen */
PSR_MUST_CHECK psr_status psr_presto_skip(const struct psr_compat_desc *desc, double start,
                                          int64_t nsamp, int64_t *skip, psr_err *err);

#endif
