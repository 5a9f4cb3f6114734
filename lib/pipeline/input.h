/* input.h: where the spectra of a pipeline come from (private). */
#ifndef PSR_PIPELINE_INPUT_H
#define PSR_PIPELINE_INPUT_H

#include "trials.h"

#include <psrkit/source.h>

struct psr_input_desc {
    struct psr_source_desc source; /* npath 0: the caller has the spectra */
    const struct psr_obs *obs;     /* and these are they */
    double start;                  /* fraction of a file that is left out; 0: source.skip tells */
    bool presto;                   /* as prepsubband counts it */
    const struct psr_trial_list *trials; /* that it counts by */
};

/* All zero at first. */
struct psr_input_file {
    const char *name;          /* for messages */
    psr_source *source;        /* NULL where the caller has the spectra */
    const struct psr_obs *obs; /* as are all below: borrowed from the source or the caller */
    const struct psr_inf *inf; /* as psr_source_inf */
    int file_nbit;             /* as psr_source_file_nbit */
    size_t row_bytes;          /* of a spectrum in a block */
};

/* Status: those of psr_source_open; PSR_EINVAL where a fraction of an unknown length is asked for. */
PSR_MUST_CHECK psr_status psr_input_open(struct psr_input_file *in,
                                         const struct psr_input_desc *desc, psr_err *err);

/* Safe to call again. */
void psr_input_close(struct psr_input_file *in);

#endif
