/* pipeline_state.h: state of a pipeline, shared by its setup, loop and report (private).
 *
 * The parts of the pipeline do not include this header: each gets what it needs through its own
 * description. */
#ifndef PSR_RUN_DEDISPERSE_PIPELINE_STATE_H
#define PSR_RUN_DEDISPERSE_PIPELINE_STATE_H

#include "run/common/input.h"
#include "run/common/provenance.h"
#include "run/common/stage_clean.h"
#include "run/dedisperse/consumers/sinks.h"
#include "run/dedisperse/lines/lines.h"
#include "run/dedisperse/pulses/pulse_parts.h"
#include "stage_barycentre.h"

#include <psrkit/pipeline.h>

/* Copies of descriptions that one of a pipeline points to. */
struct psr_pipeline_searches {
    struct psr_sink_pulses_desc pulses, live_pulses;
    struct psr_sink_fourier_desc fourier;
    struct psr_sink_ffa_desc ffa;
    struct psr_sink_live_desc live;
};

/* Copies a description of any size with those that it points to, and checks what the parts of the pipeline do not check
 * themselves.
 * Status: PSR_EINVAL naming field, value and limit */
PSR_MUST_CHECK psr_status psr_pipeline_take_desc(struct psr_pipeline_desc *to,
                                                 struct psr_pipeline_searches *searches,
                                                 const struct psr_pipeline_desc *from,
                                                 psr_err *err);

/* A line of a report. */
struct psr_reported_line {
    struct psr_pipeline_line line;
    struct psr_dedisp_info plan;
};

struct psr_pipeline {
    struct psr_pipeline_desc d;
    struct psr_pipeline_searches searches; /* that d points to */
    int nthread;
    struct psr_trial_list trials;
    struct psr_input_file input;
    psr_stage_clean *clean;
    psr_stage_barycentre *barycentre;
    psr_provenance *provenance; /* NULL: not recorded in headers */
    psr_shared_beams *shared;   /* plan of many pipelines, of which this is a beam; NULL: none */
    size_t beam;
    psr_lines *lines;
    psr_sinks *sinks;
    psr_read_ahead *reader;
    psr_dump *dump;                /* NULL: spectra around pulses are not kept */
    psr_reread *reread;            /* NULL where the input cannot be read again */
    psr_output_group *group;       /* group of all files; NULL: no files */
    struct psr_sink_stream stream; /* passed to sinks; owns the next three fields */
    struct psr_sink_line *line;    /* [nline] */
    struct psr_mjd *epoch;         /* [ndm] */
    size_t *shift;                 /* [ndm] */

    int64_t nread; /* spectra so far */
    double start_s, ready_s;
    double read_s, clean_s, dedisperse_s, commit_s;
    struct psr_reported_line *reported; /* [nline]; report_line points to them */
    const struct psr_pipeline_line **report_line;
    struct psr_dump_counts dumps;
};

/* --- setup: all parts can be released whatever the status --------------------------------------
 */

/* Creates everything; files have temporary names.  In two steps: all that comes before plans, then the
 * rest, by the plan of many beams if there is one. */
PSR_MUST_CHECK psr_status psr_pipeline_prepare(struct psr_pipeline *p, psr_err *err);
PSR_MUST_CHECK psr_status psr_pipeline_prepare_input(struct psr_pipeline *p, psr_err *err);
PSR_MUST_CHECK psr_status psr_pipeline_prepare_run(struct psr_pipeline *p, psr_err *err);
void psr_pipeline_release(struct psr_pipeline *p);

/* Computes the DMs that the description requests. */
PSR_MUST_CHECK psr_status psr_pipeline_make_trials(struct psr_pipeline *p, psr_err *err);

/* Rejects outputs that would overwrite an input or each other, or are links; and prevents other
 * runs from writing the same files. */
PSR_MUST_CHECK psr_status psr_pipeline_check_names(struct psr_pipeline *p, psr_err *err);
PSR_MUST_CHECK psr_status psr_pipeline_claim_outputs(struct psr_pipeline *p, psr_err *err);

/* Opens the record of the series that are searched, which an earlier run may have left. */
PSR_MUST_CHECK psr_status psr_pipeline_open_record(struct psr_pipeline *p, psr_err *err);

/* Describe the series to sinks: properties known from trials and input, updated when trials have
 * been dropped; epochs; and delays of trials. */
PSR_MUST_CHECK psr_status psr_pipeline_describe_stream(struct psr_pipeline *p, psr_err *err);
PSR_MUST_CHECK psr_status psr_pipeline_list_epochs(struct psr_pipeline *p, psr_err *err);
PSR_MUST_CHECK psr_status psr_pipeline_list_shifts(struct psr_pipeline *p, psr_err *err);

/* Chooses the method of dedispersion and fills its description. */
const struct psr_dedispersion_ops *psr_pipeline_dedispersion(const struct psr_pipeline *p);
struct psr_dedispersion_desc psr_pipeline_describe_dedispersion(const struct psr_pipeline *p);

/* What a causal search waits, of the lines. */
double psr_pipeline_wait_s(const struct psr_pipeline *p);

/* Sets the notes of the lines; and drops trials whose files exist already, possibly all. */
PSR_MUST_CHECK psr_status psr_pipeline_mark_series(struct psr_pipeline *p, psr_err *err);
PSR_MUST_CHECK psr_status psr_pipeline_resume(struct psr_pipeline *p, psr_err *err);

#endif
