/* clean_plan.h: internals of a cleaning plan (private). */
#ifndef PSR_RFI_RULES_CLEAN_PLAN_H
#define PSR_RFI_RULES_CLEAN_PLAN_H

#include <psrkit/experimental/clean.h>

#include "clip.h"
#include "dsp/block_sums.h"

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

/* Weights of zero-DM: the mask's padding, or else the means of the first block. */
void psr_clean_balance(psr_clean *p, const struct psr_clean_block *first);

/* Writes a block out with its samples replaced, or zero-DM removed. */
void psr_clean_emit(const psr_clean *p, struct psr_clean_block *k);

#endif
