/* edit_state.h: state of a run from observations to an observation, for its files (private). */
#ifndef PSR_RUN_EDIT_EDIT_STATE_H
#define PSR_RUN_EDIT_EDIT_STATE_H

#include "edit_channels.h"
#include "edit_output.h"
#include "edit_values.h"
#include "run/common/stage_clean.h"
#include <psrkit/experimental/filterbank.h>
#include <psrkit/experimental/outfile.h>

struct psr_edit {
    struct psr_edit_desc d;
    struct psr_edit_burst burst; /* of a cut-out */
    psr_source *source;
    const char *input;
    struct psr_obs in, out; /* the input from its first spectrum on, and what is written */
    int64_t start, count;   /* spectra of the input; count -1: to its end */
    int64_t discard;        /* spectra to read and forget: of an input that cannot seek */
    struct psr_obs cut;     /* the input from the start of the range on */
    psr_fake *signals;      /* that are added; NULL: none */
    size_t nsignal;
    psr_stage_clean *clean; /* NULL: not cleaned */
    int nbit;               /* after cleaning */
    enum psr_kind kind;
    struct psr_edit_channels channels;
    psr_edit_shift *shift;   /* NULL: channels are not shifted */
    size_t block;            /* spectra at a time */
    uint8_t *read;           /* [block] as they are read */
    uint8_t *selected;       /* [block] of the channels that are written; NULL: all, as they are */
    psr_edit_values *values; /* NULL: samples stay as they are */
    struct psr_edit_output output;
    bool scaled; /* the output knows what levels stand for */
    int nthread;
    int64_t nread, nwritten;
    double read_s, edit_s, write_s;
};

/* --- what is read and written (edit_layout.c) --- */

/* Finds start and count.
 * Status: PSR_EINVAL for a range that is empty, or beyond the end of an input of known length */
PSR_MUST_CHECK psr_status psr_edit_find_range(psr_edit *p, psr_err *err);

/* Applies them to in.
 * Status: PSR_EINVAL, PSR_EUNSUPPORTED */
PSR_MUST_CHECK psr_status psr_edit_correct(psr_edit *p, psr_err *err);

/* --- cleaning (edit_layout.c) --- */

/* Cleans the block that was read; *n = 0 ends the input.
 * Returned: *rows [*n], perhaps more or fewer */
PSR_MUST_CHECK psr_status psr_edit_clean_run(psr_edit *p, const uint8_t **rows, size_t *n,
                                             psr_err *err);

/* Finds channels, values and out from in, start and count.
 * Status: PSR_EINVAL, PSR_EUNSUPPORTED, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_edit_lay_out(psr_edit *p, psr_err *err);

#endif
