/* gpuaccel-pulscan.h: the pieces of gpuaccel-pulscan: its command line, its files. */
#ifndef PSR_TOOLS_GPUACCEL_PULSCAN_H
#define PSR_TOOLS_GPUACCEL_PULSCAN_H

#include "base/tool.h"
#include "tools/common/cli.h"
#include "tools/common/devices.h"
#include "tools/common/fourier_options.h"
#include "tools/common/plot/planeplot.h"
#include <psrkit/experimental/fourier.h>
#include <psrkit/experimental/outfile.h>
#include <psrkit/series.h>
#include <stdio.h>

struct accel_options {
    struct fourier_options fourier;
    const char *files; /* a list of names; "-" is standard input */
    const char *root, *outdir;
    bool csv, json;
    const char *plot;
    bool quiet, verbose;
};

/* Reads the command line into o (defaults set here); mistakes end the program with exit code 2.
 * Returned: *tool for messages; the number of inputs, in argv[1 .. n] */
int accel_options_parse(struct accel_options *o, struct cli *tool, int argc, char **argv);

/* One input under way. */
struct accel_file {
    const char *path;
    struct psr_spectrum_file about;
    psr_output_group *group; /* what is written of it; NULL where nothing is, and once it is */
    psr_status status;       /* of reading and of searching it */
    psr_err err;
    struct psr_fourier_result result; /* until it is written */
};

/* Files that are searched at once. */
struct accel_batch {
    struct accel_file *file;      /* [nfile], room for batch_max */
    struct psr_fourier_input *in; /* [nfile] */
    size_t nfile;                 /* those to come */
    double read_s;
};

/* A device that searches. */
struct accel_device {
    psr_fourier *search;
    double search_s, measure_s; /* of the last batch */
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
    int nthread;
    bool odd_told, epoch_told; /* that a sample is left out, that an .inf has no epoch */

    struct devices devices;
    struct accel_device *device; /* [devices.name.n] */
    size_t nslot, max; /* of their plans: slots, and files that all of them search at once */
    size_t slot;       /* that they search */
    bool no_device;    /* what -device names is not there, or is lost: no more files */

    struct accel_batch batch[PSR_FOURIER_SLOTS]; /* slots of the ring */
    struct psr_monitor monitor;
    struct psr_read_ring ring; /* batches of one shape, loaded ahead if it has two slots */
    size_t ngathered;          /* batches whose files are all known */
    struct psr_async_task loading;

    struct plotfile plot;
    struct planeplot plane; /* of the best candidate, with -plot */
    psr_outfile *table;     /* of -csv and -json; NULL otherwise */
    int code;               /* exit code, if files failed */
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

/* Whether a file is described by an .inf beside it. */
bool accel_has_inf(const char *path);

/* One table is written, and no lists. */
bool accel_has_table(const struct accel_options *o);

/* Keeps other runs from writing the files of this one; on error j->err tells.  Returned:
 * file->group */
PSR_MUST_CHECK psr_status accel_claim_files(struct accel_job *j, struct accel_file *file);
void accel_release_names(struct accel_job *j);

/* Adds a file to a batch; if it is of another shape, those before are searched first. */
PSR_MUST_CHECK psr_status accel_add(struct accel_job *j, const struct accel_file *file);

/* Has the batch searched if it is full; drain, whatever is left. */
void accel_search_full(struct accel_job *j);
void accel_drain(struct accel_job *j);
void accel_release_batches(struct accel_job *j);

/* One search for each device that is named. */
PSR_MUST_CHECK psr_status accel_create_devices(struct accel_job *j);
void accel_release_devices(struct accel_job *j);

/* One line on standard error; one bad file is no reason to leave the others. */
void accel_report(struct accel_job *j, const char *path, const psr_err *err);

/* Remarks, unless -quiet: on the .inf of a file, on options without effect, on what was found. */
void accel_note_inf(struct accel_job *j, const struct accel_file *file);
void accel_note_ignored(struct accel_job *j);
void accel_note_red_noise(struct accel_job *j, const char *path,
                          const struct psr_fourier_result *result);
void accel_note_left_out(struct accel_job *j, const char *path, size_t left_out);

/* The path of an output beside the input, or where -o and -outdir say: malloc'd, NULL for want of
 * memory. */
char *accel_output_root(const struct accel_job *j, const char *path);

#endif
