/* fold_input.h: the spectra or the series that a folder reads, cleaned (private). */
#ifndef PSR_RUN_FOLD_FOLD_INPUT_H
#define PSR_RUN_FOLD_FOLD_INPUT_H

#include "run/common/input.h"
#include "run/common/stage_clean.h"

#include "formats/series/tim.h"

#include <psrkit/experimental/fold.h>
#include <psrkit/series.h>
#include <stdio.h>

/* Initialise with zeros. */
struct psr_fold_input {
    const char *name;
    bool is_series;
    struct psr_inf inf;  /* of a series */
    struct psr_tim tim;  /* how its samples are stored */
    struct psr_obs made; /* of a series, from inf; owned */
    FILE *file;          /* of a series */
    struct psr_input_file spectra;
    struct psr_obs obs;  /* borrows the table of frequencies */
    size_t block;        /* spectra folded at once: at first those that prepfold reads */
    size_t lookahead;    /* blocks that prepfold reads before it folds one */
    bool is_pipe;        /* can be read once */
    int64_t nsamp, skip; /* spectra in all; those before the first one folded */
    psr_read_ahead *ahead;
    psr_stage_clean *clean;
    float *values; /* of a series */
};

/* Opens the input at its beginning, and finds out about it.
 * Status: as psr_folder_create */
PSR_MUST_CHECK psr_status psr_fold_input_open(struct psr_fold_input *in,
                                              const struct psr_folder_desc *desc, psr_err *err);

/* Begins to read at in->skip, anew if it was read before. */
PSR_MUST_CHECK psr_status psr_fold_input_begin(struct psr_fold_input *in,
                                               const struct psr_folder_desc *desc, psr_err *err);

/* The next samples, cleaned; end is true with the last ones. */
PSR_MUST_CHECK psr_status psr_fold_input_next(struct psr_fold_input *in, struct psr_block *block,
                                              bool *end, psr_err *err);

/* Frees what reading needs; it may begin again. */
void psr_fold_input_end(struct psr_fold_input *in);

/* Sample type of the cleaned blocks. */
enum psr_kind psr_fold_input_kind(const struct psr_fold_input *in);
int psr_fold_input_nbit(const struct psr_fold_input *in);

void psr_fold_input_close(struct psr_fold_input *in);

#endif
