/* pipeline_state.h: the rooms of a pipeline, between its setup, its loop and its report (private).
 *
 * Nobody below includes this: a room is told what it needs in its own description. */
#ifndef PSR_PIPELINE_PIPELINE_STATE_H
#define PSR_PIPELINE_PIPELINE_STATE_H

#include "input.h"
#include "lines.h"
#include "provenance.h"
#include "read_ahead.h"
#include "sinks.h"
#include "stage_barycentre.h"
#include "stage_clean.h"
#include "trials.h"

#include <psrkit/pipeline.h>

struct psr_pipeline {
    struct psr_pipeline_desc d;
    int nthread;
    struct psr_trial_list trials;
    struct psr_input_file input;
    psr_stage_clean *clean;
    psr_stage_barycentre *barycentre;
    psr_provenance *provenance; /* NULL: headers say nothing */
    psr_lines *lines;
    psr_sinks *sinks;
    psr_read_ahead *reader;
    psr_output_group *group;       /* of all files; NULL: there are none */
    struct psr_sink_stream stream; /* what sinks are told; the next three are its own */
    struct psr_sink_line *line;    /* [nline] */
    struct psr_mjd *epoch;         /* [ndm] */
    size_t *shift;                 /* [ndm] */

    int64_t nread; /* spectra so far */
    double start_s, ready_s;
    double read_s, clean_s, dedisperse_s;
    struct psr_pipeline_line *reported; /* [nline] */
};

/* --- setup: what there is can be released whatever the status --------------------------------- */

/* Makes everything but final names. */
PSR_MUST_CHECK psr_status psr_pipeline_prepare(struct psr_pipeline *p, psr_err *err);
void psr_pipeline_release(struct psr_pipeline *p);

/* The DMs that the description asks for. */
PSR_MUST_CHECK psr_status psr_pipeline_make_trials(struct psr_pipeline *p, psr_err *err);

/* Refuses outputs that would be written over a file that is read, over each other or through a link;
 * and keeps other runs from making the same files. */
PSR_MUST_CHECK psr_status psr_pipeline_check_names(struct psr_pipeline *p, psr_err *err);
PSR_MUST_CHECK psr_status psr_pipeline_claim_outputs(struct psr_pipeline *p, psr_err *err);

/* What sinks are told: as far as trials and input tell, again where trials have been dropped; when
 * series begin; and how far trials look ahead. */
PSR_MUST_CHECK psr_status psr_pipeline_describe_stream(struct psr_pipeline *p, psr_err *err);
PSR_MUST_CHECK psr_status psr_pipeline_list_epochs(struct psr_pipeline *p, psr_err *err);
PSR_MUST_CHECK psr_status psr_pipeline_list_shifts(struct psr_pipeline *p, psr_err *err);

/* Which way leads from spectra to series, and what it is told. */
const struct psr_dedispersion_ops *psr_pipeline_dedispersion(const struct psr_pipeline_desc *d);
struct psr_dedispersion_desc psr_pipeline_describe_dedispersion(const struct psr_pipeline *p);

/* Sets the lines' notes; and drops the trials whose files are there already, maybe all. */
PSR_MUST_CHECK psr_status psr_pipeline_mark_series(struct psr_pipeline *p, psr_err *err);
PSR_MUST_CHECK psr_status psr_pipeline_resume(struct psr_pipeline *p, psr_err *err);

/* --- the run ---------------------------------------------------------------------------------- */

/* Takes blocks through until the input ends, the series are full or the caller stops. */
PSR_MUST_CHECK psr_status psr_pipeline_loop(struct psr_pipeline *p, psr_err *err);

/* Takes one block, which says whether it is the last. */
PSR_MUST_CHECK psr_status psr_pipeline_take_block(struct psr_pipeline *p, bool *last, psr_err *err);

/* Completes the files of the group. */
PSR_MUST_CHECK psr_status psr_pipeline_complete(struct psr_pipeline *p, psr_err *err);

#endif
