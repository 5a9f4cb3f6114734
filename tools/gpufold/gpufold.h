/* gpufold.h: the parts of gpufold: options, the list of candidates, the files of each. */
#ifndef PSR_TOOLS_GPUFOLD_H
#define PSR_TOOLS_GPUFOLD_H

#include "tools/common/cli.h"
#include <psrkit/experimental/fold.h>
#include <psrkit/experimental/outfile.h>
#include <psrkit/experimental/sift.h>

struct gpufold_options {
    struct psr_folder_desc run; /* most options are its fields */
    bool filterbank, psrfits;
    const char *state, *clean, *compat;
    const char *root; /* of output names; NULL: the input without its suffix */

    /* One candidate. */
    double p, pd, pdd, f, fd, fdd, dm, phs;
    double pfact, ffact; /* of all candidates */
    int64_t nbin;
    bool binary;
    double pb, asini, ecc, to, w;

    /* Many. */
    const char *accelfile, *accelcand, *candfile;
    int64_t ncands; /* of a list, the first; 0: all */

    const char *parfile;
    struct psr_ephemeris ephemeris; /* what it says */

    bool fine, coarse, slow, searchfdd;
    bool json, noplot, resume, harmonics;
    bool tolerant; /* candidates that cannot be folded are no failure */
    const char *dmrange;
    bool noxwin; /* PRESTO's flag without effect here */
    bool quiet, verbose;
};

/* Reads the command line; mistakes end the program with exit code 2.
 * Returned: *tool for messages; the number of inputs, in argv[1 .. n] */
int gpufold_options_parse(struct gpufold_options *o, struct cli *tool, int argc, char **argv);

/* The candidates to fold.
 * Given:  refuse   is told of wrong lines of a list
 * Returned: o->ephemeris and o->run.ephemeris
 * Status: those of psr_candlist_read, psr_candlist_read_accel and psr_ephemeris_read */
PSR_MUST_CHECK psr_status gpufold_list_make(struct psr_candlist *list, struct gpufold_options *o,
                                            void (*refuse)(void *ctx, const psr_err *why),
                                            void *ctx, psr_err *err);

/* Roots of all output names: of the candidates', and of the record of cleaning. */
struct gpufold_roots {
    char *cand, *clean; /* owned */
};
PSR_MUST_CHECK psr_status gpufold_roots_find(struct gpufold_roots *roots,
                                             const struct gpufold_options *o, psr_err *err);
void gpufold_roots_clear(struct gpufold_roots *roots);

/* Checks the names of all outputs against the inputs and each other, and sets plot_device.
 * Status: those of psr_overwrite_check_output */
PSR_MUST_CHECK psr_status gpufold_check_names(const struct gpufold_options *o,
                                              const struct gpufold_roots *roots,
                                              struct psr_candlist *list, psr_err *err);

/* Draws the fold as PNG.
 * Status: PSR_EINVAL in a build without cairo, PSR_ENOMEM, those of psr_outfile_write */
PSR_MUST_CHECK psr_status gpufold_draw(psr_outfile *f, const struct psr_folder_fold *fold,
                                       psr_err *err);

struct canvas;

/* Writes ROOT_NAME.pfd, ROOT_NAME.pfd.bestprof, and ROOT_NAME.pfd.png if the fold has a view; a picture that fails
 * is left out with a note. */
PSR_MUST_CHECK psr_status gpufold_write(const char *root, const struct psr_folder_fold *fold,
                                        const struct cli *tool, psr_err *err);

/* Whether the files of a candidate are complete, of this digest, and newer than changed.
 * Given: picture   the PNG must be there too */
bool gpufold_exists(const char *root, const char *name, uint64_t digest, struct timespec changed,
                    bool picture);

/* What is said of a fold when its profiles are gone. */
struct gpufold_numbers {
    bool is_folded;
    struct psr_bestprof best; /* without the profile */
    int64_t ntrial, nsamp;
    double moved_bins; /* not a number: as far as the period is */
    bool narrow;
    struct psr_cand_score score;
    struct psr_fold_ratio ratio; /* the period that is told over that of best */
};

/* Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status gpufold_numbers_take(struct gpufold_numbers *numbers,
                                               const struct psr_folder_fold *fold, psr_err *err);

/* ROOT.folded: the numbers of the folds that a run with -resume has completed, for the next one if this is stopped or
 * killed; a run that ends well removes it.  Without it, as on a full disk, candidates are folded again. */
struct gpufold_record {
    char *path;
    int fd;                    /* -1: there is no record */
    struct gpufold_kept *kept; /* [n] of an earlier run */
    size_t n, room;
};

/* Opens what an earlier run has left, or an empty record.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status gpufold_record_open(struct gpufold_record *r, const char *root,
                                              psr_err *err);

/* Returned: whether it has the numbers of this fold, then in *numbers */
bool gpufold_record_find(const struct gpufold_record *r, struct gpufold_numbers *numbers,
                         const char *name, uint64_t digest);

/* Adds the numbers of a fold; several threads may. */
void gpufold_record_add(struct gpufold_record *r, const struct gpufold_numbers *numbers,
                        uint64_t digest);

void gpufold_record_close(struct gpufold_record *r, bool keep);

/* The numbers as a line of JSON.
 * Returned: *line, malloc'd, caller frees
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status gpufold_make_json(char **line, const struct gpufold_numbers *numbers,
                                            psr_err *err);

/* Sets the ratios of n numbers: of significant folds without an orbit, whose six turns are folded in another pass.
 * Given:  folded   has folded them
 * Status: those of psr_folder_create and psr_folder_run */
PSR_MUST_CHECK psr_status gpufold_find_ratios(const struct gpufold_options *options,
                                              const psr_folder *folded,
                                              struct gpufold_numbers *numbers, size_t n,
                                              psr_err *err);

#endif
