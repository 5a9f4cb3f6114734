/* gpuffa.h: the pieces of gpuffa: its command line, its batches of files. */
#ifndef PSR_TOOLS_GPUFFA_H
#define PSR_TOOLS_GPUFFA_H

#include "base/tool.h"
#include "tools/common/cli.h"
#include "tools/common/devices.h"
#include "tools/common/fourier_options.h"
#include <psrkit/experimental/ffa.h>
#include <psrkit/experimental/outfile.h>
#include <psrkit/pipeline.h>
#include <psrkit/series.h>

struct gpuffa_options {
    struct ffa_options ffa;
    const char *files; /* a list of names; "-" is standard input */
    const char *root;
    double lodm, dmstep; /* of an observation, as are the next two */
    int64_t ndm;
    bool nobary, stack;
    bool quiet, verbose;
};

/* One input under way. */
struct gpuffa_file {
    const char *path;
    struct psr_spectrum_file about;
    struct psr_ffasearch_shape shape;
    float *x;          /* [2 about.nbin] */
    psr_status status; /* of reading and of searching it */
    psr_err err;
};

struct gpuffa_job {
    struct gpuffa_options opt;
    struct cli tool;
    psr_err err; /* of the step that failed */
    struct psr_zaplist zaplist;
    struct psr_names inputs;
    struct psr_overwrite_check names; /* of all that is read and written */
    struct devices devices;
    psr_ffasearch **search; /* [devices.name.n] */
    struct gpuffa_file *
        file; /* [nfile], with room for max: files of one shape, searched at once, each device a share */
    struct psr_ffasearch_input *in;
    size_t nfile, max;
    int64_t shortest; /* samples of the shortest epoch of the stack; 0: not known */
    bool no_device, cut_told;
    int code; /* exit code, if files failed */
    size_t ndone, nsearched, ncand, nharmonic, nzapped;
    double read_s, search_s, write_s;
    struct run_progress progress;
};

/* The list that is made of an input: NAME_ffa.csv in the current folder, or ROOT_ffa.csv.
 * Returned: malloc'd, caller frees; NULL for lack of memory */
char *gpuffa_output_name(const struct gpuffa_job *j, const char *path);

/* Takes account of an epoch's length for the stack. */
void gpuffa_measure(struct gpuffa_job *j, const char *path);

/* Adds a file to its batch; searches batches that are full, and those of another shape. */
void gpuffa_add(struct gpuffa_job *j, const char *path);

/* Searches what was added; with -stack, adds it to the stack. */
void gpuffa_flush(struct gpuffa_job *j);

/* Writes the list of the stack. */
psr_status gpuffa_write_stack(struct gpuffa_job *j);

void gpuffa_release_batch(struct gpuffa_job *j);

/* Whether a name is that of an observation, not of a series. */
bool gpuffa_is_observation(const char *path);

/* Searches the inputs, one observation, at the DMs of the options, into ROOT_ffa.csv. */
psr_status gpuffa_search_observation(struct gpuffa_job *j);

#endif
