/* trials.h: the trial DMs of a run, line by line (private). */
#ifndef PSR_RUN_DEDISPERSE_LINES_TRIALS_H
#define PSR_RUN_DEDISPERSE_LINES_TRIALS_H

#include <psrkit/ddplan.h>
#include <psrkit/obs.h>

/* PRESTO reads at most 100 bytes per line of an .inf file, four of them indent. */
enum { PSR_NOTE_MAX = 90 };

/* A line of a dedispersion plan: consecutive trials with the same sampling.  DMs without a plan are
 * a plan of one line. */
struct psr_line {
    size_t first, ndm; /* range [first, first + ndm) of all trials */
    int64_t downsamp;
    int64_t nsub;            /* sub-bands, 0 if not given */
    int64_t most;            /* maximum length of a series before barycentring; -1: unlimited */
    char note[PSR_NOTE_MAX]; /* origin of the series, for their headers; "" for none */
    size_t part;             /* 0: of the whole band; else of part - 1 of the list */
    int64_t
        least_width; /* samples of the shortest boxcars that are searched; 0: all; 1: all, of finer
                            samples than those of the whole band */
};

/* A part of the band that is dedispersed by itself. */
struct psr_band_part {
    unsigned char *keep; /* [nchan] 0 excludes a channel */
    size_t nkept;
    double low_mhz, high_mhz; /* centres of its lowest and highest channel */
};

/* Initialise with zeros. */
struct psr_trial_list {
    double *dm; /* [ndm] of all lines */
    size_t ndm;
    struct psr_line *line; /* [nline] */
    size_t nline;
    struct psr_band_part *part; /* [npart] */
    size_t npart;
    size_t nwhole, ndm_whole; /* with parts: lines and trials of the whole band, the first ones */
    const char *plan_name;    /* for messages */
    struct psr_planfile plan; /* empty if the trials are from elsewhere */
};

/* Upper limits of a line. */
struct psr_line_limits {
    const char *whose; /* prefix in messages: "" or "prepsubband's " */
    int64_t ndm, downsamp, nsub;
};

/* Reads the lines of a plan file, sorted by first DM.
 * Status: those of psr_planfile_read; PSR_EINVAL naming a line beyond the limits */
PSR_MUST_CHECK psr_status psr_trials_read_plan(struct psr_trial_list *t, const char *path,
                                               const struct psr_line_limits *limits, psr_err *err);

/* Makes one line with the DMs of a file (psr_dms_read).
 * Status: those of psr_dms_read */
PSR_MUST_CHECK psr_status psr_trials_read_dms(struct psr_trial_list *t, const char *path,
                                              struct psr_line line, psr_err *err);

/* Makes one line of line.ndm DMs: a copy of dm or, if that is NULL, from lodm in steps of dmstep.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_trials_make(struct psr_trial_list *t, struct psr_line line,
                                          const double *dm, double lodm, double dmstep,
                                          psr_err *err);

/* Splits the only line by how many samples trials may sum (psr_scrunch), which multiplies the line's
 * downsamp: lines in order of that, the trials of each in the order they were in.
 * Given:  smear   samples over which DM 1 smears a pulse within a channel, before the line's downsamp
 *         most    limit of downsamp
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_trials_scrunch(struct psr_trial_list *t, double smear, double ratio,
                                             int64_t most, psr_err *err);

/* Appends lines of parts of the band: halves, quarters .. 2^-nhalve of the kept channels, by frequency, rounded up,
 * each overlapping the next by half, and of 8 channels at least; part by part from the highest frequencies down.  A
 * part has those trials of each line, by rising DM, between which its delay changes by a sample, or by as many as
 * that of the whole band does from one trial to the next, on average.
 * Given:  keep   [nchan]
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_trials_add_parts(struct psr_trial_list *t, const struct psr_obs *obs,
                                               const unsigned char *keep, double dmconst,
                                               size_t nhalve, psr_err *err);

/* Appends lines for boxcars that are longer than the longest of a search: a part that is the whole band, with lines that
 * sum so many more samples that this one reaches longest_s, their trials thinned as those of parts.  Lines that reach it
 * have none.  After psr_trials_add_parts.
 * Given:  keep   [nchan]; most   limit of downsamp
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_trials_add_wide(struct psr_trial_list *t, const struct psr_obs *obs,
                                              const unsigned char *keep, double dmconst,
                                              double longest_s, int64_t most, psr_err *err);

/* Appends, for pulses that are short for the samples of a plan: a part that is the whole band, with a line for each
 * that sums samples, which sums so many times fewer, rounded up, and has as many more DMs.  After psr_trials_add_wide.
 * Given:  keep   [nchan]; times   1 or more
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_trials_add_fine(struct psr_trial_list *t, const struct psr_obs *obs,
                                              const unsigned char *keep, int64_t times,
                                              psr_err *err);

/* Lines, and trials, of the whole band. */
size_t psr_trials_whole_lines(const struct psr_trial_list *t);
size_t psr_trials_whole_ndm(const struct psr_trial_list *t);

/* Number of sub-bands if sub-bands are the output: that of the input, if it has sub-bands, else of
 * the line, else prepsubband's default. */
enum { PSR_NSUB_DEFAULT = 32 };
size_t psr_line_count_subbands(const struct psr_line *l, const struct psr_obs *obs,
                               bool from_subbands);

/* True if a line has sub-bands. */
bool psr_trials_have_nsub(const struct psr_trial_list *t);

/* Checks that the plan was made for this band.
 * Given:  input   name of the input, for the message
 * Status: PSR_EINVAL naming plan, field, value and the value of the input */
PSR_MUST_CHECK psr_status psr_trials_check_band(const struct psr_trial_list *t,
                                                const struct psr_obs *obs, const char *input,
                                                psr_err *err);

/* Removes trials, and lines without trials.
 * Given: drop   [ndm] */
void psr_trials_drop(struct psr_trial_list *t, const bool *drop);

/* Frees all memory; may be called again. */
void psr_trials_clear(struct psr_trial_list *t);

#endif
