/* psrreport.h: what psrreport finds in a folder, and the parts that read it and write pages. */
#ifndef PSR_TOOLS_PSRREPORT_H
#define PSR_TOOLS_PSRREPORT_H

#include "base/tool.h"
#include "tools/common/cli.h"
#include "tools/common/json_read.h"
#include <psrkit/experimental/fold.h>
#include <psrkit/experimental/sift.h>
#include <psrkit/series.h>

struct psrreport_options {
    const char *output, *csv, *title; /* NULL: their defaults */
    const char *list;                 /* file of folders; NULL: none */
    const char *verdicts;             /* file of these; NULL: none */
    bool overview;
    int64_t rows, bursts;
    int64_t max_bytes; /* of pictures in a page */
    int64_t pointing_id, beam_id;
    const char *beam_name;
    bool quiet;
};

/* --- what a folder holds ---------------------------------------------------------------------- */

/* A fold: its .pfd, and the picture beside it. */
struct report_fold {
    const char *file, *picture; /* names; picture NULL: none; borrowed from the folder's names */
    struct psr_bestprof best;   /* without its profile */
    char ra[PSR_PFD_POSITION], dec[PSR_PFD_POSITION];
    double f_user, fd_user, dm_user; /* as it was folded, and the middle of the DMs searched */
    double dm_step;
    bool narrow; /* psr_fold_is_narrow */
    struct psr_cand_score score;
    bool taken; /* belongs to a candidate of the list */
    bool told;  /* its period and sigma after trials are those of a .fold.json */
};

/* accelsift's marks, that of a fold, and that of an overview. */
enum { REPORT_MARKS = PSR_SIFT_MARKS + sizeof ",narrow,beams", REPORT_FOUND = 24 };

enum report_number {
    CAND_NUMBER,
    CAND_DM,
    CAND_SNR,
    CAND_SIGMA,
    CAND_NUMHARM,
    CAND_PERIOD_S,
    CAND_FREQ_HZ,
    CAND_R,
    CAND_Z,
    CAND_TOBS_S,
    CAND_ACCEL_MS2,
    CAND_NUMHITS,
    CAND_NVALUE,
};

/* A candidate of a sifted list, or a fold that no candidate belongs to. */
struct report_cand {
    char *list, *note;         /* of the search; note: a known pulsar; owned, or NULL */
    char marks[REPORT_MARKS];  /* why it may be interference; - for nothing, empty if not known */
    char found[REPORT_FOUND];  /* by which searches; empty if not known */
    double value[CAND_NVALUE]; /* not a number: unknown */
    size_t rank;               /* in the list, from 1 */
    const char *verdict;       /* static; NULL: open */
    size_t nseen, nbeam;       /* beams of the pointing that see it, of so many; 0: not known */
    const struct report_fold *fold; /* NULL: not folded */
};

struct report_event {
    double dm, snr, time_s;
};

/* A group of events, as gpudedisp -singlepulse lists them. */
struct report_burst {
    double snr, time_s, dm, width_s, members;
    double first_s, last_s; /* from the first to the last sample of all members */
    char marks[32];
};

/* The spectra around a burst, a line of ROOT.bursts.jsonl. */
struct report_view {
    struct json_value *json;
    char *text;
    double time_s, dm;
};

struct report_step {
    struct json_value *json; /* the object of a line of ROOT.steps.jsonl */
    char *line;              /* its text */
};

struct report {
    const struct cli *tool;
    const struct psrreport_options *opt;
    const char *folder;
    bool is_row;               /* of an overview, which shows the progress */
    struct psr_names files;    /* names in the folder, sorted */
    int code;                  /* exit code, if there are problems */
    bool silent;               /* prints no problems */
    struct psr_names problems; /* lines about files that could not be used */
    bool has_inf;
    struct psr_inf inf; /* of the observation */

    struct report_step *step; /* [nstep] in their order */
    size_t nstep, step_room;

    const char *list;         /* name of the sifted list; NULL: none */
    size_t nlist;             /* lists of searches */
    struct report_cand *cand; /* [ncand] best first */
    size_t ncand, cand_room;
    struct report_fold *fold; /* [nfold] */
    size_t nfold;

    size_t nevent, event_room, events_seen;
    struct report_event *event; /* [nevent] the best of all */
    size_t nevent_file;
    struct report_burst *burst; /* [nburst] best first */
    size_t nburst, burst_room;
    struct report_view *view; /* [nview] */
    size_t nview, view_room;
    const char *burst_file; /* NULL: none */
    double length_s;        /* of the observation; 0: unknown */
};

/* Says in a line what is wrong with a file, which is then left out, and keeps the line for the page.
 * Returned: its exit code; report_refuse makes it that of the run */
int report_problem(struct report *r, const psr_err *why);
void report_refuse(struct report *r, const psr_err *why);

/* Path of a name in the folder, or of the file of verdicts.
 * Returned: malloc'd, caller frees; NULL without memory */
char *report_path(const struct report *r, const char *name);

/* Finds the names, and which files describe the observation.
 * Status: PSR_EIO for a folder that cannot be read, PSR_ENOMEM */
PSR_MUST_CHECK psr_status report_read_folder(struct report *r, psr_err *err);

/* Each reads its part of the folder; files that are wrong are refused.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status report_read_steps(struct report *r, psr_err *err);
PSR_MUST_CHECK psr_status report_read_candidates(struct report *r, psr_err *err);
PSR_MUST_CHECK psr_status report_read_folds(struct report *r, psr_err *err);

PSR_MUST_CHECK psr_status report_read_events(struct report *r, psr_err *err);
PSR_MUST_CHECK psr_status report_read_bursts(struct report *r, psr_err *err);
PSR_MUST_CHECK psr_status report_read_views(struct report *r, psr_err *err);

/* Adds a copy of a candidate, with the next rank if it has none.
 * Given:  list   of the acceleration search: its name is what follows the last slash, as that of
 *                folds
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status report_add_candidate(struct report *r, const struct report_cand *from,
                                               const char *list, const char *note, psr_err *err);

/* Whether this is the name of a list of a search: ROOT_ACCEL_200, with or without JERK, or ROOT_ffa.csv. */
bool report_is_search_list(const char *name);

/* Gives candidates their folds, adds the folds that are left, and sorts.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status report_join_folds(struct report *r, psr_err *err);

/* Which table a candidate is in: of the new ones, of known pulsars and their harmonics that chance does not
 * explain, or of those whose marks count and that come after all others. */
enum report_class { REPORT_GOOD, REPORT_KNOWN, REPORT_MARKED, REPORT_NCLASS };
enum report_class report_classify(const struct report_cand *c);

/* Best period, s, at the telescope where that is known; error may be NULL. */
double report_fold_period(const struct report_fold *f, double *error);

void report_clear(struct report *r);

/* --- lines of text ---------------------------------------------------------------------------- */

enum { REPORT_WORDS = 64 };

/* A line of a table, in words; a comment is one word that begins with #. */
struct report_line {
    char *word[REPORT_WORDS];
    size_t n;
    bool indented;
    const char *name; /* of the file */
    long number;
};

/* Passes on the lines of a file of the folder, until take fails; what is wrong is refused.
 * Given:  commas   words are separated by commas, and may be in quotes, else by blanks
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status report_read_lines(struct report *r, const char *name, bool commas,
                                            psr_status (*take)(void *ctx, struct report_line *line,
                                                               psr_err *err),
                                            void *ctx, psr_err *err);

/* A word as a number; PSR_EFORMAT "NAME: line N: WHAT: ..." */
PSR_MUST_CHECK psr_status report_number(const struct report_line *line, size_t word,
                                        const char *what, double *value, psr_err *err);

/* Passes on the lines of a file of JSON objects; *keep: take owns text and object.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status report_read_json(struct report *r, const char *name,
                                           psr_status (*take)(void *ctx, char *text,
                                                              struct json_value *object, bool *keep,
                                                              psr_err *err),
                                           void *ctx, psr_err *err);

/* --- pictures --------------------------------------------------------------------------------- */

/* Draws single pulses: S/N against time, and DM against time.
 * Returned: *bytes [*n], a PNG, malloc'd, caller frees
 * Status:   PSR_EINVAL in a build without cairo; PSR_ENOMEM */
PSR_MUST_CHECK psr_status report_draw_pulses(const struct report *r, unsigned char **bytes,
                                             size_t *n, psr_err *err);

/* The spectra around a burst; NULL: there are none. */
const struct report_view *report_find_view(const struct report *r, const struct report_burst *b);

/* S/N of cells of channels and times. */
struct report_picture {
    size_t nt, nf;
    double start_s, end_s; /* after the burst */
    double low_mhz, high_mhz, low, high;
    float *value; /* [nf][nt] from the lowest frequency; not a number: no data; owned */
};

/* Reads the picture of that name: series, aligned or swept; the caller frees its values.
 * Returned: false, and no values, where it is missing or damaged */
bool report_picture_read(struct report_picture *p, const struct report_view *view,
                         const char *name);

/* Of an event's dot. */
double report_event_radius(double snr);

/* Draws the spectra and the events around a burst, likewise. */
PSR_MUST_CHECK psr_status report_draw_burst(const struct report *r, const struct report_burst *b,
                                            unsigned char **bytes, size_t *n, psr_err *err);

/* --- pages ------------------------------------------------------------------------------------ */

/* Writes the page of a folder, and its candidates.csv.
 * Status: those of psr_outfile_write and psr_overwrite_check_output */
PSR_MUST_CHECK psr_status report_write(struct report *r, psr_err *err);

/* Writes candidates in the columns that CandyJar reads, after begin has written their names; of an overview with the folder in
 * the names of pictures.
 * Status: those of psr_outfile_write */
PSR_MUST_CHECK psr_status report_begin_candyjar(psr_outfile *f, psr_err *err);
PSR_MUST_CHECK psr_status report_write_candyjar(psr_outfile *f, const struct report *r,
                                                psr_err *err);

/* Whether a file begins with their names. */
bool report_is_candyjar(const char *path);

/* --- beams ------------------------------------------------------------------------------------ */

/* What the beams of each pointing see at once: folders whose observations were begun together by one telescope, in
 * different directions. */
struct report_beams;

/* Reads candidates and bursts of all folders that are beams.
 * Given:    like   a report that is empty
 * Returned: *to   the caller destroys it, also after an error
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status report_beams_read(struct report_beams **to, const struct report *like,
                                            char *const *folder, size_t n, psr_err *err);
void report_beams_destroy(struct report_beams *b);

/* Marks what more than half of the beams see, in the folder of that number, as its files have it.
 * Returned: marked [2]   so many more candidates and bursts */
void report_beams_mark(const struct report_beams *b, size_t folder, struct report *r,
                       size_t marked[2]);

/* Writes one page over folders, a row each.
 * Returned: *code   the exit code, if a file could not be used
 * Status:   those of psr_outfile_write */
PSR_MUST_CHECK psr_status report_overview(const struct cli *tool,
                                          const struct psrreport_options *opt, char *const *folder,
                                          size_t n, int *code, psr_err *err);

#endif
