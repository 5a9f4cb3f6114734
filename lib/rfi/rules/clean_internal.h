/* clean_internal.h: clipping, zero-DM filtering and the writing of cleaned blocks (private). */
#ifndef PSR_RFI_RULES_CLEAN_INTERNAL_H
#define PSR_RFI_RULES_CLEAN_INTERNAL_H

#include "base/base.h"
#include "dsp/dsp.h"
#include <psrkit/experimental/clean.h>
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

struct psr_zerodm {
    size_t nchan;
    float *bandpass, *weight; /* [nchan]; owned by the caller */
    bool balanced;            /* they are set */
};

/* Sum of a spectrum in single precision, channel after channel. */
float psr_zerodm_sum(const float *x, size_t nchan);

/* Sets bandpass and weights: padding [nchan] or, if its sum is 0, the means of x [n][nchan]. */
void psr_zerodm_balance(struct psr_zerodm *z, const float *padding, const float *x, size_t n);

/* Changes x [n][nchan]. */
void psr_zerodm_remove(const struct psr_zerodm *z, float *x, size_t n);

enum { PSR_CLEAN_BATCH = 8 }; /* blocks processed together */

/* A block being processed. */
struct psr_clean_block {
    const unsigned char *in;
    unsigned char *out;
    size_t n;                  /* spectra */
    float *z, *work;           /* [block] */
    double *sum, *row;         /* [nchan] */
    unsigned char *good, *bad; /* [block] */
    struct psr_clip_block stats;
    size_t nbad;
    uint16_t *flip; /* [nflip] spectra at which bad changes */
    size_t nflip;
    bool any_masked;
    unsigned char *masked;  /* [nchan] */
    unsigned char *bitmask; /* [row_bytes] all bits of unmasked samples are set */
    float *level;           /* [nchan] what clipped samples become */
};

struct psr_clean {
    struct psr_clean_desc d;
    struct psr_own own;
    struct psr_layout in, out;
    unsigned char *keep;
    float *padding; /* [nchan] of the mask, in the order of the data */
    int nthread;
    struct psr_clip clip;
    float *bandpass, *weight; /* [nchan] of zero-DM */
    bool balanced;            /* they are set */
    unsigned char *held;      /* [block] spectra of an incomplete block */
    size_t nheld;
    int64_t ngiven, nclipped;
    struct psr_clean_block block[PSR_CLEAN_BATCH];
    unsigned char *ordered; /* [nchan] masked, from the lowest channel */
    float *current;         /* [nchan] value of the last step */
    size_t nopen;           /* channels whose current is not 0 */
    struct psr_step *step;
    size_t nstep, step_room;
    struct psr_span *span;
    size_t nspan, span_room;
    struct psr_span *clip_span;
    size_t nclip_span, clip_room;
};

/* Parses a .mask file of n bytes; name is for messages.
 * Status: PSR_EFORMAT, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_mask_parse(struct psr_mask *mask, const void *bytes, size_t n,
                                         const char *name, psr_err *err);

/* Parses the .stats file of a mask already parsed: padding[c] becomes the mean of the middle 80 %
 * of the interval means of channel c.
 * Status: PSR_EFORMAT, also if the statistics belong to another mask; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_mask_parse_stats(struct psr_mask *mask, const void *bytes, size_t n,
                                               const char *name, psr_err *err);

/* Checks that the mask was made from this observation: the same number of channels, and the same
 * start within 1e-9 days (obs->began if samples were skipped).
 * Given:  name   of the mask, for the message
 * Status: PSR_EINVAL naming mask, field, value and the value of the observation */
PSR_MUST_CHECK psr_status psr_mask_check(const struct psr_mask *mask, const struct psr_obs *obs,
                                         const char *name, psr_err *err);

/* Checks what PRESTO does not: that the frequencies agree within half a channel, and that the mask
 * reaches the end of the observation, if known, to within one interval.  For filterbank files with
 * ascending frequencies, rfifind writes a lowest frequency that is too low; that value is accepted
 * too.
 * Status: as psr_mask_check */
PSR_MUST_CHECK psr_status psr_mask_check_extent(const struct psr_mask *mask,
                                                const struct psr_obs *obs, const char *name,
                                                psr_err *err);

/* Given:    start_s, duration_s   range, from the start of the observation
 * Returned: masked [nchan], 1 or 0; true if one of the two intervals is masked entirely, in which
 *           case masked is 1 throughout
 * Notes:    as in PRESTO, a range that ends where an interval begins includes that interval, and a
 *           range beyond the last interval uses the last */
bool psr_mask_span(const struct psr_mask *mask, double start_s, double duration_s,
                   enum psr_mask_rule rule, unsigned char *masked);

/* Output sample type: that of the input, or 32-bit PSR_FLOAT after zero-DM or if floats are
 * requested. */
enum psr_kind psr_clean_kind(const psr_clean *p);
int psr_clean_nbit(const psr_clean *p);

/* Memory of the plan in bytes; exceeded only if there are very many steps. */
int64_t psr_clean_bytes(const psr_clean *p);

/* Upper limit of the absolute value of a step. */
double psr_clean_largest(const psr_clean *p);

/* Steps of the spectra that the last execute or finish returned, in time order within a channel.
 * Returned: their number; *step belongs to the plan and is valid until the next call */
size_t psr_clean_steps(const psr_clean *p, const struct psr_step **step);

/* Ranges of the spectra returned so far in which every kept channel is masked, ascending.
 * Returned: their number; *span as for psr_clean_steps */
size_t psr_clean_lost(const psr_clean *p, const struct psr_span **span);

/* Number of spectra clipped so far. */
int64_t psr_clean_clipped(const psr_clean *p);

/* Ranges of the spectra returned so far that were clipped, ascending; none without desc.clips.
 * Returned: their number; *span as for psr_clean_steps */
size_t psr_clean_clips(const psr_clean *p, const struct psr_span **span);

/* They may be called again, and for structs of zeros. */
void psr_rfi_stats_clear(struct psr_rfi_stats *stats);
void psr_rfi_list_clear(struct psr_rfi_list *list);
void psr_rfi_lines_clear(struct psr_rfi_lines *lines);

/* After the end of the stream, lines of the power spectrum of the sums of all channels, above 1 Hz.
 * Of more than 2^24 spectra, the spectra of parts of that length are added up.
 * Returned: *lines; the caller clears it, also after an error
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_rfifind_lines(psr_rfifind *p, struct psr_rfi_lines *lines,
                                            psr_err *err);

/* Number of spectra clipped so far. */
int64_t psr_rfifind_clipped(const psr_rfifind *p);

/* Makes a mask from statistics.
 * Given:    flags [nint][nchan]   PSR_RFI_PADDING or 0
 * Returned: flags, complete
 *           found [nint][nchan]   what PSR_RFI_BAD_FOUND stands for, enum psr_rfi_found; NULL: not
 *           wanted
 *           *mask   without times and frequencies, and without padding; the caller clears it, also
 *           after an error
 * Status:   PSR_EINVAL for an old mask of another shape and for lists that are none; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_rfi_mask(struct psr_mask *mask, unsigned char *flags,
                                       unsigned char *found, const struct psr_rfi_stats *stats,
                                       const struct psr_rfi_rules *rules, psr_err *err);

/* Readers check sizes against headers before they allocate, and write into cleared structs, which
 * the caller clears, also after an error.
 * Given:  mem_bytes   memory limit; 0: a quarter of the machine's
 * Status: PSR_EIO; PSR_EFORMAT naming file, field, value and limit; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_rfi_stats_read(struct psr_rfi_stats *stats, const char *path,
                                             int64_t mem_bytes, psr_err *err);

/* Into the struct that psr_rfi_stats_read filled, which must have the same shape. */
PSR_MUST_CHECK psr_status psr_rfi_moments_read(struct psr_rfi_stats *stats, const char *path,
                                               int64_t mem_bytes, psr_err *err);
PSR_MUST_CHECK psr_status psr_rfi_list_read(struct psr_rfi_list *list, const char *path,
                                            int64_t mem_bytes, psr_err *err);

/* Status: those of psr_outfile_write */
PSR_MUST_CHECK psr_status psr_rfi_stats_write(psr_outfile *f, const struct psr_rfi_stats *stats,
                                              psr_err *err);
PSR_MUST_CHECK psr_status psr_rfi_moments_write(psr_outfile *f, const struct psr_rfi_stats *stats,
                                                psr_err *err);
PSR_MUST_CHECK psr_status psr_rfi_list_write(psr_outfile *f, const struct psr_rfi_list *list,
                                             psr_err *err);

/* Lines as psr_zaplist_read takes them: each with its width; and, for PRESTO's makezaplist.py, those
 * that are no harmonics, with their number of harmonics and a width that covers all of them. */
PSR_MUST_CHECK psr_status psr_rfi_zaplist_write(psr_outfile *f, const struct psr_rfi_lines *lines,
                                                psr_err *err);
PSR_MUST_CHECK psr_status psr_rfi_birds_write(psr_outfile *f, const struct psr_rfi_lines *lines,
                                              psr_err *err);

#endif
