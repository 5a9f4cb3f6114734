/* stage_clean.h: selects channels, applies the mask and cleans spectra (private). */
#ifndef PSR_RUN_COMMON_STAGE_CLEAN_H
#define PSR_RUN_COMMON_STAGE_CLEAN_H

#include <psrkit/experimental/clean.h>
#include <psrkit/experimental/clean_auto.h>
#include <psrkit/experimental/sink.h>

typedef struct psr_stage_clean psr_stage_clean;

struct psr_stage_clean_desc {
    const char *input;         /* its name, for messages */
    const struct psr_obs *obs; /* of the input; borrowed */
    bool from_subbands;        /* the channels are sub-bands, to which no mask applies */
    const char *ignorechan;    /* as for psr_ignore_channels, or NULL */
    const char *mask;          /* name of rfifind's mask, or NULL */
    double clip_sigma;         /* 0: no clipping */
    bool zerodm;               /* disables clipping */
    bool floats;               /* output floats that contain the values of replaced samples */
    bool automatic;            /* as psr_clean_auto; no mask */
    bool endless;              /* as in psr_clean_auto_desc */
    bool weights;              /* as in psr_clean_auto_desc */
    const char *backend; /* of automatic cleaning, as in psr_clean_auto_desc; the CPU takes over
                                  if its device cannot be used, with the same bits */
    int device;
    bool presto;       /* only determine which channels are kept and masked, with prepsubband's
                          checks */
    int nthread;       /* 0: all cores */
    int64_t mem_bytes; /* for reading the mask, as in psr_mask_read */
};

/* Reads the lists and creates the cleaning plan.  *out is NULL on error.
 * Status: those of psr_ignore_channels, psr_mask_read, psr_mask_check psr_clean_create and
 *         psr_clean_auto_create */
PSR_MUST_CHECK psr_status psr_stage_clean_create(psr_stage_clean **out,
                                                 const struct psr_stage_clean_desc *desc,
                                                 psr_err *err);

const unsigned char *psr_stage_clean_keep(const psr_stage_clean *c);   /* [nchan] */
const struct psr_mask *psr_stage_clean_mask(const psr_stage_clean *c); /* NULL: none */

/* The cleaning plan; NULL if nothing is cleaned. */
const psr_clean *psr_stage_clean_plan(const psr_stage_clean *c);

/* The plan of automatic cleaning, or NULL. */
const psr_clean_auto *psr_stage_clean_auto(const psr_stage_clean *c);

/* Whether spectra go to a device, which reads them faster from memory of psr_device_pin. */
bool psr_stage_clean_on_device(const psr_stage_clean *c);

/* Spectra that cleaning takes at a time, and its memory; 0 if nothing is cleaned. */
size_t psr_stage_clean_block(const psr_stage_clean *c);
int64_t psr_stage_clean_bytes(const psr_stage_clean *c);

/* Output sample type. */
enum psr_kind psr_stage_clean_kind(const psr_stage_clean *c);
int psr_stage_clean_nbit(const psr_stage_clean *c);

/* Additional bytes for each spectrum of a block; 0 if it is cleaned in place. */
size_t psr_stage_clean_row_bytes(const psr_stage_clean *c);

/* Allocates memory for blocks of up to nsamp spectra; call once, before the first.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_stage_clean_reserve(psr_stage_clean *c, size_t nsamp, psr_err *err);

/* Processes a block; an empty one ends the input.
 * Returned: *block   the spectra cleaned so far, possibly a different number, with their masked
 *                    ranges and steps, until the next call; the spectra of a device stay for one call more
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_stage_clean_run(psr_stage_clean *c, struct psr_block *block,
                                              psr_err *err);

/* Fills the block with n blank spectra after the end of the input.
 * Given: n   at most the reserved number */
void psr_stage_clean_blank(const psr_stage_clean *c, struct psr_block *block, size_t n);

/* What became of spectra that have been cleaned: not a number where they are masked by the mask or by automatic
 * cleaning, or ignored; cleaned automatically they are divided by their scatter.  x [n][nchan], from spectrum first. */
void psr_stage_clean_mark(psr_stage_clean *c, int64_t first, size_t n, float *x);

/* As psr_clean_clips; none with automatic cleaning, which clips no spectra. */
size_t psr_stage_clean_clips(const psr_stage_clean *c, const struct psr_span **span);

/* Frees the object; NULL is allowed. */
void psr_stage_clean_destroy(psr_stage_clean *c);

/* Calls check for each: ROOT.clean.json, ROOT.clean.mask and ROOT.clean.stats.  Status: that of
 * check */
PSR_MUST_CHECK psr_status psr_clean_files_names(const char *root,
                                                psr_status (*check)(void *ctx, const char *name,
                                                                    psr_err *err),
                                                void *ctx, psr_err *err);

/* Writes them in PRESTO's layouts: an interval is a window, the last of them complete or not; a
 * channel is masked in it if it was in more than half of it.
 * Given:  input   its name
 *         obs   of the input
 * Status: those of psr_output_group_add and psr_outfile_write; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_clean_files_write(psr_output_group *group, const char *root,
                                                const char *input, const struct psr_obs *obs,
                                                const struct psr_clean_auto_report *report,
                                                psr_err *err);

#endif
