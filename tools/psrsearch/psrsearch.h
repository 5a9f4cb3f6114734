/* psrsearch.h: the steps of a search, their commands, files and records. */
#ifndef PSR_TOOLS_PSRSEARCH_H
#define PSR_TOOLS_PSRSEARCH_H

#include "base/tool.h"
#include "tools/common/cli.h"
#include <psrkit/obs.h>
#include <stdio.h>
#include <sys/types.h>

/* --- the command line ------------------------------------------------------------------------- */

struct psrsearch_options {
    char *const *input; /* [ninput] files of one observation */
    size_t ninput;
    const char *dir;

    bool filterbank, psrfits, no_weights, no_scales, no_offsets, invert;
    int64_t if_choice;                        /* -1: not given */
    const char *state;                        /* as for cli_parse_state */
    const char *clean, *weights, *ignorechan; /* weights NULL: not given */
    bool nobary;
    const char *position, *site;

    const char *budget;
    double lodm, hidm, res_ms; /* res_ms 0: the best possible */
    double cohdm;              /* of coherent dedispersion within channels; 0: none */
    const char *plan;          /* of DMs, instead of these; NULL: none */
    const char *search;        /* boxes, matched or both */
    bool zap;                  /* the lines that the mask's tool has found */
    const char *zaplist;       /* a list of others; NULL: none */
    int64_t zmax, wmax, numharm, ncands;
    bool segments;
    const char *ffa;                 /* auto, none, or options of the search for slow pulsars */
    bool budget_ffa;                 /* what auto is for the budget, of long observations */
    bool budget_ratios;              /* whether folds look for the right period */
    double sigma, flo_hz, threshold; /* as are those of 0: the tools' defaults */
    double maxwidth_s;               /* likewise */
    int64_t nhalve, nfine;           /* 0: not given */
    const char *catalogue, *par;

    const char *device;
    int64_t ncpus, mem_bytes; /* 0: not given */
    const char *lists;        /* one, or files */
    bool json, dry_run, quiet, verbose;
};

/* Reads the command line; mistakes end the program with exit code 2.
 * Returned: *tool for messages; all values of the budget that are not given */
void psrsearch_options_parse(struct psrsearch_options *o, struct cli *tool, int argc, char **argv);

/* --- steps ------------------------------------------------------------------------------------ */

enum psrsearch_kind {
    PSRSEARCH_MASK,
    PSRSEARCH_PLAN,
    PSRSEARCH_SEARCH,
    PSRSEARCH_SIFT,
    PSRSEARCH_FOLD,
    PSRSEARCH_SCORE,
    PSRSEARCH_PAR,
    PSRSEARCH_REPORT,
    PSRSEARCH_NSTEP,
};

struct psrsearch_step {
    const char *name;         /* static */
    struct psr_names command; /* its words, the tool's name first */
    char *program;            /* the tool's file; a bare name is looked up in PATH */
    const char *output;       /* end of the name of standard output; NULL: the log */
    bool wanted;
    bool yields; /* runs on what others leave of the processors */
};

/* A search: its steps and names. */
struct psrsearch_plan {
    char *root;  /* ROOT: of the first input, without folder and suffix */
    char *base;  /* DIR/ROOT */
    char *aside; /* DIR/steps/ROOT, of what nobody opens */
    char *dir;
    bool topo;     /* times are those at the telescope */
    double hidm;   /* as given, or as far as the observation is long enough */
    double mask_s; /* interval of the mask; 0: the tool's default */
    bool slow;     /* slow pulsars are searched for */
    bool beside;   /* the mask is made while the search runs */
    struct psrsearch_step step[PSRSEARCH_NSTEP];
};

/* Makes the commands of all steps; reads the header of the observation.
 * Returned: *p; the caller clears it, also after an error
 * Status: those of psr_source_open, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psrsearch_plan_make(struct psrsearch_plan *p,
                                              const struct psrsearch_options *o,
                                              const struct cli *tool, psr_err *err);
void psrsearch_plan_clear(struct psrsearch_plan *p);

/* Makes the commands, but for the programs' files; all else of *p is known.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psrsearch_commands_make(struct psrsearch_plan *p,
                                                  const struct psrsearch_options *o, psr_err *err);

/* Joins the texts, up to a NULL.
 * Returned: malloc'd; NULL where there is no memory */
char *psrsearch_join(const char *first, ...) __attribute__((sentinel));

/* The step's command as a line for a shell, malloc'd; NULL where there is no memory. */
char *psrsearch_command_line(const struct psrsearch_plan *p, const struct psrsearch_step *step);

/* --- files ------------------------------------------------------------------------------------ */

/* The files of DIR that a step has made, by their names, in their order; those in DIR/steps begin with steps/.
 * Status: PSR_EIO, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psrsearch_files_of(struct psr_names *files,
                                             const struct psrsearch_plan *p,
                                             enum psrsearch_kind step, psr_err *err);

/* Removes records and logs of a version that had them in DIR. */
PSR_MUST_CHECK psr_status psrsearch_old_remove(const struct psrsearch_plan *p, psr_err *err);

/* Removes what was being written when a run was killed. */
PSR_MUST_CHECK psr_status psrsearch_parts_remove(const struct psrsearch_plan *p, psr_err *err);

/* Checks that no file that a search writes is an input, a link or a pipe, and that DIR holds no other
 * search.
 * Status: PSR_EIO naming the file */
PSR_MUST_CHECK psr_status psrsearch_files_check(const struct psrsearch_plan *p,
                                                const struct psrsearch_options *o, psr_err *err);

/* Files, so that it can be seen which are others later. */
struct psrsearch_before {
    struct psrsearch_file {
        uint64_t dev, ino;
        int64_t bytes, mtime_s;
        long mtime_ns;
    } * file; /* [n]; the caller frees it */
    size_t n, room;
};

/* Looks at the files with names of a step, before it is run.
 * Status: PSR_EIO, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psrsearch_look_before(struct psrsearch_before *before,
                                                const struct psrsearch_plan *p,
                                                enum psrsearch_kind step, psr_err *err);

/* The files that the step has made since. */
PSR_MUST_CHECK psr_status psrsearch_made(struct psr_names *made,
                                         const struct psrsearch_before *before,
                                         const struct psrsearch_plan *p, enum psrsearch_kind step,
                                         psr_err *err);

/* The files of the folds that ROOT.fold.json has, those that an earlier run has completed among them; of others nothing
 * stays.
 * Given: cleaned   with the record of their cleaning */
PSR_MUST_CHECK psr_status psrsearch_folds_settle(struct psr_names *made,
                                                 const struct psrsearch_plan *p, bool cleaned,
                                                 psr_err *err);

/* Removes the files with names of a step that was killed, but for those that it has made now. */
PSR_MUST_CHECK psr_status psrsearch_leftovers_remove(const struct psrsearch_plan *p,
                                                     enum psrsearch_kind step,
                                                     const struct psr_names *made, psr_err *err);

/* Whether a step that has failed made all of its files but a picture, which no search ends for. */
bool psrsearch_lacks_picture_only(const struct psr_names *made, enum psrsearch_kind step);

/* The files that a record's line names and that are there; none if line is NULL. */
PSR_MUST_CHECK psr_status psrsearch_recorded(struct psr_names *names,
                                             const struct psrsearch_plan *p, const char *line,
                                             psr_err *err);

/* Removes the files that a record's line names and that still have its digest. */
PSR_MUST_CHECK psr_status psrsearch_remove_recorded(const struct psrsearch_plan *p,
                                                    const char *line, psr_err *err);

/* --- lines ------------------------------------------------------------------------------------ */

/* Takes a line, with its end; returns false for lack of memory. */
typedef bool psrsearch_take_line(void *ctx, const char *line);

/* Passes on all lines of a file, of any length.
 * Returned: *exists   false: there is no such file, and so no line
 * Status:   PSR_EIO, PSR_EFORMAT, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psrsearch_read_lines(const char *path, bool *exists,
                                               psrsearch_take_line *take, void *ctx, psr_err *err);

/* --- records ---------------------------------------------------------------------------------- */

/* steps/ROOT.steps.jsonl: a line for each complete step, for the summary, and for each step that has begun. */
struct psrsearch_records {
    char *path;
    bool exists;
    bool old;                     /* they are those of a version that had all its files in DIR */
    char *line[PSRSEARCH_NSTEP];  /* with its line end; NULL: no such step */
    char *summary;                /* NULL: none */
    char *begun[PSRSEARCH_NSTEP]; /* likewise; with what the step has left, if it was not killed */
};

/* Status: PSR_EIO, PSR_EFORMAT, PSR_ENOMEM; a missing file has no records */
PSR_MUST_CHECK psr_status psrsearch_records_read(struct psrsearch_records *r,
                                                 const struct psrsearch_plan *p, psr_err *err);
PSR_MUST_CHECK psr_status psrsearch_records_write(const struct psrsearch_records *r, psr_err *err);
void psrsearch_records_clear(struct psrsearch_records *r);

/* Whether a record says that the step was run so, on these inputs, and left the files that are
 * there.
 * Status: PSR_EIO, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psrsearch_is_complete(bool *complete, const struct psrsearch_records *r,
                                                const struct psrsearch_plan *p,
                                                const struct psrsearch_options *o,
                                                enum psrsearch_kind step, psr_err *err);

/* Records a step that has just ended and the files it has made; began is UTC. */
PSR_MUST_CHECK psr_status psrsearch_record(struct psrsearch_records *r,
                                           const struct psrsearch_plan *p,
                                           const struct psrsearch_options *o,
                                           enum psrsearch_kind step, const struct psr_names *made,
                                           time_t began, double seconds, psr_err *err);

/* Records a step that begins, or that has failed and left files. */
PSR_MUST_CHECK psr_status psrsearch_record_begun(struct psrsearch_records *r,
                                                 const struct psrsearch_plan *p,
                                                 enum psrsearch_kind step,
                                                 const struct psr_names *left, psr_err *err);

/* Records ROOT.psrsearch.json. */
PSR_MUST_CHECK psr_status psrsearch_record_summary(struct psrsearch_records *r,
                                                   const struct psrsearch_plan *p, psr_err *err);

/* Whether a run that was killed at this step left its files: it had no time to record them. */
bool psrsearch_was_killed_in(const struct psrsearch_records *r, const struct psrsearch_plan *p,
                             enum psrsearch_kind step);

/* Checks that a step's files are those of a record, or left by a killed run of this step: others
 * could be written over, or taken for results.
 * Status: PSR_EIO naming the file */
PSR_MUST_CHECK psr_status psrsearch_check_recorded(const struct psrsearch_records *r,
                                                   const struct psrsearch_plan *p,
                                                   enum psrsearch_kind step, psr_err *err);

/* What the record says of the time it took; 0 without one. */
double psrsearch_seconds(const struct psrsearch_records *r, enum psrsearch_kind step);

/* --- running ---------------------------------------------------------------------------------- */

/* The tool of a step that runs; initialise with zeros. */
struct psrsearch_child {
    pid_t pid;
    bool ended;
    int status;      /* of waitpid */
    double ended_s;  /* as run_seconds has it */
    int log, output; /* descriptors; -1: none */
};

/* Starts the tool of a step, with its messages in steps/ROOT_STEP.log.
 * Given:    bars     on a terminal, show the tool's progress
 * Returned: *child   to be waited for, unless that failed */
PSR_MUST_CHECK psr_status psrsearch_start(struct psrsearch_child *child,
                                          const struct psrsearch_plan *p, enum psrsearch_kind step,
                                          bool bars, psr_err *err);

/* Waits until it has ended, or another one beside it; signals are passed on to the first.
 * Given:    beside   NULL: none
 * Returned: whether the first has ended */
bool psrsearch_wait_either(struct psrsearch_child *child, struct psrsearch_child *beside);

/* Waits for its end; signals are passed on.
 * Status: PSR_EIO naming step, exit code, log and command; PSR_ESTOPPED */
PSR_MUST_CHECK psr_status psrsearch_wait(struct psrsearch_child *child,
                                         const struct psrsearch_plan *p, enum psrsearch_kind step,
                                         psr_err *err);

/* Copies the log of a step to a stream. */
void psrsearch_copy_log(const struct psrsearch_plan *p, enum psrsearch_kind step, FILE *to);

/* The last line of a log, cut to room.
 * Returned: whether the tool has said anything */
bool psrsearch_last_line(char *line, size_t room, const char *log);

/* Whether a file that has the name of a log is one: empty, or begun with "# COMMAND". */
bool psrsearch_is_log(const char *path);

/* --- results ---------------------------------------------------------------------------------- */

struct psrsearch_results {
    size_t nsifted; /* rows of the sifted list, before they are scored */
    size_t ncand, nknown, nfold, nburst;
    size_t nunfolded;              /* candidates that gpufold has left out */
    size_t nmarked, nburst_marked; /* of these, with marks of interference */
    size_t nlikely; /* candidates without marks whose probability is above PSR_CAND_LINE */
    struct {
        char name[PSR_TEXT_MAX], marks[32];
        double period_s, dm, sigma, snr, probability; /* NAN: not folded */
    } best;                                           /* row 1 of the scored list */
    struct {
        double snr, time_s, dm;
        char marks[32];
    } burst; /* row 1 of the list */
};

/* Counts what sifting has left, and reads all that the steps have found.
 * Given:  found   zeros before the first call
 * Status: PSR_EIO, PSR_EFORMAT, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psrsearch_results_count_sifted(struct psrsearch_results *found,
                                                         const struct psrsearch_plan *p,
                                                         psr_err *err);
PSR_MUST_CHECK psr_status psrsearch_results_read(struct psrsearch_results *found,
                                                 const struct psrsearch_plan *p,
                                                 const struct psrsearch_options *o, psr_err *err);

/* Writes ROOT.psrsearch.json, and the same to standard output if -json is given. */
PSR_MUST_CHECK psr_status psrsearch_summary_write(const struct psrsearch_results *found,
                                                  const struct psrsearch_plan *p,
                                                  const struct psrsearch_options *o,
                                                  const struct psrsearch_records *r, psr_err *err);
void psrsearch_summary_print(const struct psrsearch_results *found, const struct psrsearch_plan *p,
                             const struct psrsearch_records *r);

#endif
