/* trials.h: the DMs of a run, line by line (private). */
#ifndef PSR_PIPELINE_TRIALS_H
#define PSR_PIPELINE_TRIALS_H

#include <psrkit/obs.h>
#include <psrkit/planfile.h>

/* PRESTO reads lines of an .inf file into 100 bytes, four of them an indent. */
enum { PSR_NOTE_MAX = 90 };

/* A line of a dedispersion plan: trials that follow each other and share a sampling.  DMs without a
 * plan are a plan of one line. */
struct psr_line {
    size_t first, ndm; /* trials [first, first + ndm) of all */
    int64_t downsamp;
    int64_t nsub; /* sub-bands, 0 where not given */
    int64_t most; /* samples of a series, before they are barycentred; -1: no bound */
    char
        note[PSR_NOTE_MAX]; /* what makes the series, for their headers; "" where nothing is said */
};

/* All zero at first. */
struct psr_trial_list {
    double *dm; /* [ndm] of all lines */
    size_t ndm;
    struct psr_line *line; /* [nline] */
    size_t nline;
    const char *plan_name;    /* for messages */
    struct psr_planfile plan; /* empty where the trials are from elsewhere */
};

/* Upper limits of a line. */
struct psr_line_limits {
    const char *whose; /* for messages: "" or "prepsubband's " */
    int64_t ndm, downsamp, nsub;
};

/* The lines of a plan in a file, by rising DM.
 * Status: those of psr_planfile_read; PSR_EINVAL for a line beyond the limits, naming it. */
PSR_MUST_CHECK psr_status psr_trials_read_plan(struct psr_trial_list *t, const char *path,
                                               const struct psr_line_limits *limits, psr_err *err);

/* One line with the DMs of a file (psr_dms_read).  Status: those of psr_dms_read. */
PSR_MUST_CHECK psr_status psr_trials_read_dms(struct psr_trial_list *t, const char *path,
                                              struct psr_line line, psr_err *err);

/* One line of line.ndm DMs: a copy of dm or, where that is NULL, from lodm on, dmstep apart.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_trials_make(struct psr_trial_list *t, struct psr_line line,
                                          const double *dm, double lodm, double dmstep,
                                          psr_err *err);

/* Sub-bands where they are what is asked for: those of the input, where it holds some, or of the line,
 * or as many as prepsubband makes. */
enum { PSR_NSUB_DEFAULT = 32 };
size_t psr_line_count_subbands(const struct psr_line *l, const struct psr_obs *obs,
                               bool from_subbands);

/* Whether some line has sub-bands. */
bool psr_trials_have_nsub(const struct psr_trial_list *t);

/* Whether the plan was made for a band like this one.
 * Given:  input   name of the input, for the message
 * Status: PSR_EINVAL naming plan, field, value and what the input has. */
PSR_MUST_CHECK psr_status psr_trials_check_band(const struct psr_trial_list *t,
                                                const struct psr_obs *obs, const char *input,
                                                psr_err *err);

/* Leaves out trials, and lines of which none stay.
 * Given:  drop [ndm] */
void psr_trials_drop(struct psr_trial_list *t, const bool *drop);

/* Frees all; safe to call again. */
void psr_trials_clear(struct psr_trial_list *t);

#endif
