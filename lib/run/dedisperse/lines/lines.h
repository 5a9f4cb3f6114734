/* lines.h: dedisperses spectra into the series of all lines of a plan, block by block (private). */
#ifndef PSR_RUN_DEDISPERSE_LINES_LINES_H
#define PSR_RUN_DEDISPERSE_LINES_LINES_H

#include <psrkit/ddplan.h>
#include <psrkit/experimental/clean.h>
#include <psrkit/experimental/dedisp.h>
#include <psrkit/experimental/sink.h>
#include <psrkit/obs.h>
#include <psrkit/series.h>

/* --- the trial DMs of a run, line by line ----------------------------------------------------- */

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

/* The methods that convert spectra to series of a plan's lines, as a table of
 * operations. */

struct psr_dedispersion_desc {
    const char *input;                   /* its name, for messages */
    const struct psr_trial_list *trials; /* borrowed */
    const struct psr_obs *obs;           /* of the input; borrowed */
    const struct psr_inf *inf;           /* of sub-band files, or NULL; borrowed */
    const unsigned char *keep;           /* [nchan] */
    double voverc;                       /* mean velocity of the observatory away from the
                                            source, over c */
    double dmconst;                      /* MHz^2 s */
    bool two_steps;                      /* use sub-bands for lines that have them */
    bool tree;                           /* use the tree algorithm, */
    double smear;                        /* with this tolerance */
    int tol;
    bool late;          /* as in psr_dedisp_desc */
    bool any_length;    /* a trial may have no samples if another has some */
    const char *device; /* as psr_pipeline_desc */
    int64_t nthread;    /* 0: all */
    int64_t mem_bytes;  /* for everything, cleaning included; 0: a quarter of the machine's */

    /* Format of the spectra, and the memory they already use. */
    struct psr_shared_beams *shared; /* plan of many beams; NULL: none, for other methods */
    size_t beam;                     /* of it */
    size_t most_block;               /* spectra of a block at most; 0: as many as are fast */
    int nbit;
    enum psr_kind kind;
    size_t read_bytes;      /* bytes of a spectrum as read */
    size_t cleaned_bytes;   /* additional bytes of a cleaned spectrum, if it is not cleaned in
                               place */
    const psr_clean *clean; /* NULL: spectra are not cleaned, or automatically */
    size_t clean_block;     /* spectra that cleaning takes at a time; 0: there is none */
    int64_t clean_bytes;    /* its memory */
    bool equalise;          /* series are kept a second time, equalised */

    /* Used only to reproduce prepsubband. */
    const struct psr_mask *mask; /* NULL: none */
    double clip_sigma;           /* 0: no clipping */
    bool zerodm, invert;
    bool subbands; /* output sub-bands instead of series */
};

struct psr_dedispersion_ops {
    /* Called before create: the number of samples that the largest delay of a line needs, and the
     * backend that would be used for this device.  NULL: 0, and "cpu". */
    psr_status (*maxshift)(const struct psr_dedispersion_desc *d, size_t line, size_t *maxshift,
                           psr_err *err);
    const char *(*backend)(const char *device);

    /* The state must be destroyed even on error.
     * Status: PSR_EINVAL, PSR_ENOMEM, PSR_EDEVICE */
    psr_status (*create)(void **state, const struct psr_dedispersion_desc *d, psr_err *err);

    /* Suggested spectra per block; all blocks but the last must have this length. */
    size_t (*block)(const void *state);

    /* Number of series of a line, NULL: its trials; and the largest number of samples of each that a
     * push of nsamp spectra completes, NULL: one more than it sums. */
    size_t (*nseries)(const void *state, size_t line);
    size_t (*most)(const void *state, size_t line, size_t nsamp);

    /* Samples per barycentring block, as in dsp.h. */
    size_t (*presto_block)(const void *state, size_t line);

    /* NULL: as the plan of the line says, if it has one.
     * Status: PSR_EUNSUPPORTED if nsamp spectra complete no sample of some trial of the line, or of
     *         all trials if any_length is set */
    psr_status (*check_length)(const void *state, size_t line, int64_t nsamp, psr_err *err);

    /* Takes spectra, which must stay unchanged until all lines have been run. */
    psr_status (*push)(void *state, const struct psr_block *block, psr_err *err);

    /* Returns the samples of a line that the last push completed: *n of each series in x. */
    psr_status (*run)(void *state, size_t line, float *x, size_t stride, size_t *n, psr_err *err);

    /* As psr_dedisp_multi_execute_device; NULL if series are never on devices. */
    psr_status (*run_device)(void *state, size_t line, struct psr_block *series, size_t *left,
                             psr_err *err);

    /* The plan of a line, for shifts and delays; NULL if lines have none.  What psr_dedisp_describe would
     * say of it; NULL: that. */
    const psr_dedisp *(*plan)(const void *state, size_t line);
    void (*describe)(const void *state, size_t line, struct psr_dedisp_info *info);

    void (*destroy)(void *state); /* NULL is allowed */
};

/* psrkit's series; the same by a plan of many beams; sub-bands at one DM; and prepsubband's series or
 * sub-bands. */
extern const struct psr_dedispersion_ops psr_dedispersion_direct, psr_dedispersion_beams,
    psr_dedispersion_subbands, psr_dedispersion_presto;

/* Bytes of a spectrum, as it is read and as it becomes beside that; and of its series, of the line that
 * has the most. */
double psr_dedispersion_spectrum_bytes(const struct psr_dedispersion_desc *d);
double psr_dedispersion_series_bytes(const struct psr_dedispersion_desc *d);

/* Returned: *mem_bytes, what the limit leaves to dedispersion
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_dedispersion_share_memory(const struct psr_dedispersion_desc *d,
                                                        int64_t *mem_bytes, psr_err *err);

/* About n spectra: whole blocks of cleaning, and no more than the input has. */
size_t psr_dedispersion_whole_block(const struct psr_dedispersion_desc *d, size_t n);

/* Counts its users. */
typedef struct psr_shared_beams psr_shared_beams;

/* Makes a plan for n beams if they can share one: two or more of them with tree sums of the same channels
 * and trials, of integers of 16 bits at most, on the host or on one device; DMs that rise within lines;
 * lines that sum different numbers of samples, each a multiple of the one before; no parts of the band;
 * and memory for the states of all.
 * Given:    desc [n]
 * Returned: a plan with one user, or NULL.  Beams that cannot share are no error: what is wrong with them,
 *           plans of their own will tell. */
psr_shared_beams *psr_shared_beams_create(const struct psr_dedispersion_desc *desc, size_t n);

/* Adds a user; the last one to leave frees the plan.  NULL is allowed. */
psr_shared_beams *psr_shared_beams_join(psr_shared_beams *s);
void psr_shared_beams_leave(psr_shared_beams *s);

/* Number of beams; and bytes for all of them. */
size_t psr_shared_beams_count(const psr_shared_beams *s);
double psr_shared_beams_bytes(const psr_shared_beams *s);

typedef struct psr_lines psr_lines;

struct psr_lines_desc {
    const struct psr_dedispersion_ops *ops;
    struct psr_dedispersion_desc dedispersion;
    int64_t numout; /* requested samples of every series; 0: all */
    bool same_end;  /* all series of a line end where that of the highest DM ends */
};

/* Status: those of psr_dedisp_multi_create, psr_subband_create or psr_compat_create, and of
 *         psr_mask_correction_create.  *out is NULL on error. */
PSR_MUST_CHECK psr_status psr_lines_create(psr_lines **out, const struct psr_lines_desc *desc,
                                           psr_err *err);

/* --- before the first block ------------------------------------------------------------------- */

/* Spectra per block; and whether blocks are copied to devices. */
size_t psr_lines_block(const psr_lines *l);
bool psr_lines_on_devices(const psr_lines *l);

/* Properties of a line: number of series, largest number of samples of each in a block of nsamp
 * spectra, presto_block of dsp.h, its plan (NULL: none), and the number of samples that its
 * largest delay needs. */
size_t psr_lines_nseries(const psr_lines *l, size_t line);
size_t psr_lines_most(const psr_lines *l, size_t line, size_t nsamp);
size_t psr_lines_presto_block(const psr_lines *l, size_t line);
const psr_dedisp *psr_lines_plan(const psr_lines *l, size_t line);
bool psr_lines_equalise(const psr_lines *l, size_t line); /* blocks have equalised series */
size_t psr_lines_maxshift(const psr_lines *l, size_t line);

/* What psr_dedisp_describe would say of a line that has a plan. */
void psr_lines_describe(const psr_lines *l, size_t line, struct psr_dedisp_info *info);

/* Status: PSR_EINVAL if nsamp spectra complete no sample of the line */
PSR_MUST_CHECK psr_status psr_lines_check_length(const psr_lines *l, size_t line, int64_t nsamp,
                                                 psr_err *err);

/* Allocates memory for the series of one line at a time, and lets series of resident lines stay on
 * their devices.
 * Given:  stride [nline]   samples
 *         resident [nline]
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_lines_reserve(psr_lines *l, const size_t *stride,
                                            const bool *resident, psr_err *err);

/* From now on a line has no series, as if it were full; or none that are equalised. */
void psr_lines_leave_out(psr_lines *l, size_t line);
void psr_lines_leave_plain(psr_lines *l, size_t line);

/* --- for every block -------------------------------------------------------------------------- */

/* Takes spectra, which must stay unchanged until every line that is not full has been run.
 * Status: those of psr_dedisp_multi_push; PSR_EUNSUPPORTED for gaps, if the method does not support
 *         them */
PSR_MUST_CHECK psr_status psr_lines_push(psr_lines *l, const struct psr_block *spectra,
                                         psr_err *err);

/* Returns the next range of the input without data that the line has not seen, in samples of the
 * line before barycentring; masked ranges too.  If a known range has grown, its new part is returned.
 * Returned: false if there is none; *told, true if it is masked and equalised series tell of it */
bool psr_lines_next_gap(psr_lines *l, size_t line, const struct psr_block *spectra,
                        struct psr_span *gap, bool *told);

/* Returns the samples of a line that the last push completed, with the contribution of masked
 * samples restored.
 * Returned: *series; if *left is not 0, call again for the rest
 * Status:   those of psr_dedisp_multi_execute, psr_dedisp_multi_execute_device and
 *           psr_mask_correction_execute */
PSR_MUST_CHECK psr_status psr_lines_run(psr_lines *l, size_t line, const struct psr_block *spectra,
                                        struct psr_block *series, bool *left, psr_err *err);

/* Limits barycentred samples to the requested number, and numbers and counts them. */
void psr_lines_count(psr_lines *l, size_t line, struct psr_block *series);

/* Ends the input.  From now on push blank spectra, which complete the remaining samples of trials
 * with less than the largest delay; series then mark which samples are valid.
 * Returned: *nblank, number of blank spectra to push; 0: none
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_lines_end(psr_lines *l, size_t *nblank, psr_err *err);

/* Length of the series of a line before barycentring, for the trial with the given shift.  Call it
 * after psr_lines_end. */
int64_t psr_lines_length(const psr_lines *l, size_t line, size_t shift);

bool psr_lines_is_resident(const psr_lines *l, size_t line);

/* Samples so far of the longest and of the shortest series; and whether one line, or every line,
 * has all requested samples. */
int64_t psr_lines_nout(const psr_lines *l, size_t line);
int64_t psr_lines_nleast(const psr_lines *l, size_t line);
bool psr_lines_is_full(const psr_lines *l, size_t line);
bool psr_lines_are_full(const psr_lines *l);

/* Frees the object; NULL is allowed. */
void psr_lines_destroy(psr_lines *l);

#endif
