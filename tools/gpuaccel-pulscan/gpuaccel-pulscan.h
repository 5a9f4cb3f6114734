/* gpuaccel-pulscan.h: the pieces of gpuaccel-pulscan: its command line, its plan, its files. */
#ifndef PSR_TOOLS_GPUACCEL_PULSCAN_H
#define PSR_TOOLS_GPUACCEL_PULSCAN_H

#include "tools/common/cli.h"
#include "tools/common/planeplot.h"
#include "tools/common/run.h"
#include <psrkit/accel.h>
#include <psrkit/accelsearch.h>
#include <psrkit/outfile.h>
#include <psrkit/pulscan.h>
#include <psrkit/series.h>
#include <psrkit/tool.h>
#include <stdio.h>

enum { ACCEL_MAX_SUMS = 8, ACCEL_ENDWIDTH = 1 << 20, ACCEL_MAX_BATCHES = 2 };

struct accel_options {
    /* input */
    const char *files; /* a list of names; "-" is standard input */
    bool rednoise;
    int64_t startwidth, endwidth; /* bins; 0: by themselves */
    double endfreq_hz;
    const char *zaplist;
    double baryv;
    /* search */
    const char *search;          /* a name; NULL: by the program's */
    bool boxes, matched;         /* what that means; with -confirm both */
    int64_t zmax, wmax, numharm; /* wmax -1: not given */
    double sigma;
    double rlo, rhi; /* -1: by frequency */
    double lobin;
    double flo_hz, fhi_hz;
    int64_t zstep, chunkwidth, normalizechunkwidth; /* 0: by themselves */
    bool logz, rblock;
    int64_t turbo;
    const char *significance;
    bool noharmremove, confirm;
    const char *compat;   /* a name, or NULL */
    bool pulscan, presto; /* whose list that means */
    bool inmem, photon, median, locpow, otheropt, noharmpolish;
    /* output */
    const char *root, *outdir;
    bool csv, json, fftout;
    int64_t maxcands; /* 0: no bound */
    const char *plot;
    /* run */
    const char *device;
    int64_t ncpus; /* 0: all */
    int64_t batch; /* 0: by itself */
    int64_t mem_bytes;
    bool quiet, verbose;
};

/* Fills *table with options that set fields of *o. */
void accel_fill_table(struct cli_table *table, struct accel_options *o);

/* Reads the command line into o (defaults set here); mistakes end the program with exit code 2.
 * Returned: *tool for messages; the number of inputs, in argv[1 .. n] */
int accel_options_parse(struct accel_options *o, struct cli *tool, int argc, char **argv);

/* One input under way. */
struct accel_file {
    const char *path;
    struct psr_spectrum_file about;
    psr_output_group *group; /* what is written of it; NULL where nothing is, and once it is */
    double photons;          /* for a matched search, once whitened */
    psr_status status;       /* of reading it */
    psr_err err;
};

/* What makes files searchable with one plan. */
struct accel_shape {
    int64_t nbin;
    double tobs_s;
    bool series;   /* the plan transforms, and whitens for a matched search */
    bool reddened; /* before, by whoever wrote the files */
};

/* Files that are searched at once. */
struct accel_batch {
    psr_pulscan *plan;                      /* NULL before the first file, and without boxes */
    float *room;                            /* [batch_now][2 nbin] where no plan has some; owned */
    bool pinned;                            /* by psr_device_pin */
    struct accel_file *file;                /* [nfile], up to batch_max */
    size_t nfile;                           /* those to come */
    const float **in;                       /* [batch_max] */
    struct psr_pulscan_result *result;      /* [batch_max] */
    struct psr_accelsearch_result *matched; /* [batch_max] */
    double read_s;
};

struct accel_job {
    struct accel_options opt;
    struct cli tool;
    psr_err err; /* of the step that failed */
    struct psr_zaplist zaplist;
    struct psr_names inputs; /* all of them */
    char **path;             /* [npath] those to search */
    size_t npath;
    struct psr_overwrite_check names; /* of all that is read and written */
    int nharm[ACCEL_MAX_SUMS];        /* the harmonic sums to search */
    size_t nnharm;
    size_t batch_max, batch_now; /* files at once: at most, and of this shape */
    bool many;                   /* more than one input */
    bool odd_told, epoch_told;   /* that a sample is left out, that an .inf has no epoch */
    int nthread;

    struct accel_shape shape; /* of the plans */
    bool no_device;           /* what -device names is not there, or is lost: no more files */
    struct psr_span *zap;     /* [nzap] of this shape */
    size_t nzap;
    psr_rfft *rfft; /* where the tool transforms */
    psr_accelsearch *matched;

    struct accel_batch batch[ACCEL_MAX_BATCHES]; /* slots of the ring */
    struct psr_monitor monitor;
    struct psr_read_ring ring; /* batches of this shape, loaded ahead if it has two slots */
    size_t ngathered;          /* batches whose files are all known */
    struct psr_async_task loading;

    struct gnuplot plot;
    struct planeplot plane; /* of the best candidate, with -plot */
    psr_outfile *table;     /* of -csv and -json; NULL otherwise */
    size_t nfailed, nsearched, ncand;
    bool said_red; /* files of one kind have all red noise */
    int64_t ndone;
    double search_s, write_s;
    struct run_progress progress;
};

/* Gathers the names of inputs: operands, and what -files lists; on error j->err tells. */
PSR_MUST_CHECK psr_status accel_gather_names(struct accel_job *j, char **operand, size_t n);

/* Chooses the inputs to search, before anything is written: those whose outputs are no file that is
 * read, or that another one has; the others are reported.  On error, of what is written of all of
 * them, j->err tells. */
PSR_MUST_CHECK psr_status accel_check_names(struct accel_job *j);

/* What is behind the root in the name of list k of an input: of accelsearch's three, or with -compat
 * of Pulscan's one; false where there is no list k. */
enum { ACCEL_TEXT, ACCEL_CAND, ACCEL_TXTCAND, ACCEL_SUFFIX = 100 };
bool accel_suffix(const struct accel_options *o, int k, char text[ACCEL_SUFFIX]);

/* The first line of a .txtcand: which search the lists are of. */
void accel_mark(const struct accel_options *o, char line[ACCEL_SUFFIX]);

/* With -fftout: whether the .inf beside a series is that of its spectrum too, and is not written. */
bool accel_keeps_inf(const struct accel_job *j, const char *path, const char *root);

/* One table is written, and no lists. */
bool accel_has_table(const struct accel_options *o);

/* Keeps other runs from writing the files of this one; on error j->err tells.  Returned:
 * file->group */
PSR_MUST_CHECK psr_status accel_claim_files(struct accel_job *j, struct accel_file *file);
void accel_release_names(struct accel_job *j);

bool accel_same_shape(const struct accel_shape *a, const struct accel_shape *b);

/* Whether the tool, and not the plan, transforms series: their spectra are to be written. */
bool accel_transforms(const struct accel_job *j);

/* How the tool takes red noise out, if it does. */
struct psr_redden accel_redden(const struct accel_options *o, double tobs_s);

/* Makes the plans, and all that depends on nbin and tobs, for files of this shape, unless they are
 * there.  On error j->err tells, and there is no plan. */
PSR_MUST_CHECK psr_status accel_plan(struct accel_job *j, struct accel_shape shape);
void accel_plan_release(struct accel_job *j);

/* Makes the plan by which the tool transforms series of the shape, unless it is there: for long ones
 * it takes as much memory as half a series.  On error j->err tells. */
PSR_MUST_CHECK psr_status accel_plan_transform(struct accel_job *j);

/* Bins that -flo, -fhi, -rlo and -rhi mean, hi as far as there are any; those of -rlo and -rhi do not
 * count where PRESTO's list is asked for. */
PSR_MUST_CHECK psr_status accel_range(struct accel_job *j, double *lo, double *hi);

/* Makes the plan of the matched search; on error j->err tells. */
PSR_MUST_CHECK psr_status accel_matched_plan(struct accel_job *j);

/* Whitens the spectrum of a series for it, x [2 nbin].  Different files may be whitened by different
 * threads.
 * Returned: file->photons */
PSR_MUST_CHECK psr_status accel_whiten(const struct accel_job *j, struct accel_file *file, float *x,
                                       psr_err *err);

/* Searches the spectra of a batch that there are no boxes for; on error j->err tells. */
PSR_MUST_CHECK psr_status accel_matched_search(struct accel_job *j, struct accel_batch *b);

/* What it has found in spectrum s, which is searched now if there are boxes too; on error, of a bin
 * that is no number too, j->err tells.
 * Returned: *found, the plan's */
PSR_MUST_CHECK psr_status accel_matched_result(struct accel_job *j, struct accel_batch *b, size_t s,
                                               struct psr_accelsearch_result *found);

/* Reads a file into x [2 nbin] as the plan wants it, and writes its spectrum where that is asked
 * for.  Different files may be loaded by different threads. */
PSR_MUST_CHECK psr_status accel_load(const struct accel_job *j, const struct accel_file *file,
                                     float *x, psr_err *err);

PSR_MUST_CHECK psr_status accel_batch_create(struct accel_batch *b, size_t max, psr_err *err);
void accel_batch_release(struct accel_batch *b);

/* The batch that files are added to. */
struct accel_batch *accel_gathering(struct accel_job *j);

/* Has this batch loaded, while the one before is searched if the ring has two slots; drain leaves
 * nothing to be searched. */
void accel_flush(struct accel_job *j);
void accel_drain(struct accel_job *j);

/* Merges, measures and writes what was found in spectrum s of a batch; on error j->err tells. */
PSR_MUST_CHECK psr_status accel_write(struct accel_job *j, struct accel_batch *b, size_t s);

/* One line on standard error; one bad file is no reason to leave the others. */
void accel_report(struct accel_job *j, const char *path, const psr_err *err);

/* The path of an output beside the input, or where -o and -outdir say: malloc'd, NULL for want of
 * memory. */
char *accel_output_root(const struct accel_job *j, const char *path);

/* Leaves the matched candidates that a box is around: less than 15 bins from its bins.
 * Given:    cand [n], in the order of the list
 * Returned: *n */
PSR_MUST_CHECK psr_status accel_confirm(struct accel_job *j, const struct psr_pulscan_result *boxes,
                                        struct psr_accel_cand *cand, size_t *n);

/* Says, of the first such file, that red noise which was left in may lead its list. */
void accel_note_red_noise(struct accel_job *j, const struct accel_batch *b, size_t s,
                          const struct psr_measured *found);

#endif
