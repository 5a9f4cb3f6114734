/* stage_clean.h: which channels and samples count, and interference out of the spectra (private). */
#ifndef PSR_PIPELINE_STAGE_CLEAN_H
#define PSR_PIPELINE_STAGE_CLEAN_H

#include <psrkit/block.h>
#include <psrkit/mask.h>

typedef struct psr_stage_clean psr_stage_clean;

struct psr_stage_clean_desc {
    const char *input;         /* its name, for messages */
    const struct psr_obs *obs; /* of the input; borrowed */
    bool from_subbands;        /* the channels are sub-bands of others, and no mask is of them */
    const char *ignorechan;    /* as psr_ignore_channels takes it, or NULL */
    const char *mask;          /* name of rfifind's mask, or NULL */
    double clip_sigma;         /* 0: no clipping */
    bool zerodm;               /* and then there is no clipping */
    bool floats;               /* give floats, with the values of replaced samples in place */
    bool presto;       /* only say which channels are kept and masked, as far as prepsubband asks */
    int nthread;       /* 0: all cores */
    int64_t mem_bytes; /* for reading the mask, as psr_mask_read takes it */
};

/* Reads the lists and plans the cleaning.
 * Status: those of psr_ignore_channels, psr_mask_read, psr_mask_check and psr_clean_create.  *out
 *         is NULL on error. */
PSR_MUST_CHECK psr_status psr_stage_clean_create(psr_stage_clean **out,
                                                 const struct psr_stage_clean_desc *desc,
                                                 psr_err *err);

const unsigned char *psr_stage_clean_keep(const psr_stage_clean *c);   /* [nchan] */
const struct psr_mask *psr_stage_clean_mask(const psr_stage_clean *c); /* NULL: none */

/* The plan that cleans; NULL where there is nothing to clean. */
const psr_clean *psr_stage_clean_plan(const psr_stage_clean *c);

/* How spectra come out. */
enum psr_kind psr_stage_clean_kind(const psr_stage_clean *c);
int psr_stage_clean_nbit(const psr_stage_clean *c);

/* Bytes that a spectrum takes beside the one that was read; 0 where it is cleaned in place. */
size_t psr_stage_clean_row_bytes(const psr_stage_clean *c);

/* Makes room for blocks of up to nsamp spectra; to be called once, before the first.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_stage_clean_reserve(psr_stage_clean *c, size_t nsamp, psr_err *err);

/* Takes a block; one without spectra ends the input.
 * Returned: *block   the spectra that are clean by now, which are not always as many, and what is
 *                    known of them
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_stage_clean_run(psr_stage_clean *c, struct psr_block *block,
                                              psr_err *err);

/* Fills the memory of a block of the input that has ended with n spectra of nothing.
 * Given:  n   at most what was reserved */
void psr_stage_clean_blank(const psr_stage_clean *c, struct psr_block *block, size_t n);

/* NULL is fine. */
void psr_stage_clean_destroy(psr_stage_clean *c);

#endif
