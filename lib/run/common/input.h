/* input.h: opens the source of spectra of a pipeline (private). */
#ifndef PSR_RUN_COMMON_INPUT_H
#define PSR_RUN_COMMON_INPUT_H

#include "run/dedisperse/lines/trials.h"

#include <psrkit/experimental/source.h>

struct psr_input_desc {
    struct psr_source_desc source;       /* npath 0: the caller provides the spectra */
    const struct psr_obs *obs;           /* and this describes them */
    double start;                        /* fraction of a file to skip; 0: use source.skip */
    bool presto;                         /* with prepsubband's rounding */
    const struct psr_trial_list *trials; /* used for that rounding */
};

/* Initialise with zeros. */
struct psr_input_file {
    const char *name;          /* for messages */
    psr_source *source;        /* NULL if the caller provides the spectra */
    const struct psr_obs *obs; /* borrowed from the source or the caller, as are all below */
    const struct psr_inf *inf; /* as psr_source_inf */
    int file_nbit;             /* as psr_source_file_nbit */
    size_t row_bytes;          /* bytes per spectrum in a block */
    int64_t skip;              /* spectra before the first */
};

/* Status: those of psr_source_open; PSR_EINVAL for a fraction of an input of unknown length */
PSR_MUST_CHECK psr_status psr_input_open(struct psr_input_file *in,
                                         const struct psr_input_desc *desc, psr_err *err);

/* Closes the source; may be called again. */
void psr_input_close(struct psr_input_file *in);

#endif
