/* psrpresto.h: PRESTO's small programs, and what they share. */
#ifndef PSR_TOOLS_PSRPRESTO_H
#define PSR_TOOLS_PSRPRESTO_H

#include "tools/common/cli.h"
#include <psrkit/experimental/fourier.h>
#include <psrkit/experimental/outfile.h>

/* Each takes argc and argv as main does. */
int presto_makezaplist(int argc, char **argv);
int presto_readfile(int argc, char **argv);
int presto_realfft(int argc, char **argv);
int presto_rednoise(int argc, char **argv);
int presto_simple_zapbirds(int argc, char **argv);
int presto_singlepulse(int argc, char **argv);
int presto_zapbirds(int argc, char **argv);

/* Prints the header of an observation as readfile does. */
psr_status presto_print_header(const struct cli *tool, const char *path, bool fits, psr_err *err);

/* The path without its suffix; malloc'd, and ends the program where there is no memory.
 * Given:  suffix   with its dot; another one is a usage error; NULL: any */
char *presto_root(const struct cli *tool, const char *path, const char *suffix);
/* Both texts in one; likewise. */
char *presto_join(const struct cli *tool, const char *a, const char *b);

/* Reads or writes a file of n floats.
 * Returned: *x [*n], with room for two more; malloc'd, caller frees; NULL on error
 * Status:   PSR_EIO; PSR_EFORMAT (no whole number of pairs); PSR_ENOMEM, also above the memory of
 *           the machine */
psr_status presto_read_floats(const char *path, float **x, int64_t *n, psr_err *err);
psr_status presto_write_floats(const char *path, const float *x, int64_t n, psr_err *err);

/* Registers the output ROOT + suffix of an operand.
 * Status: those of psr_overwrite_check_output; PSR_ENOMEM */
psr_status presto_add_output(struct psr_overwrite_check *files, const char *of, const char *root,
                             const char *suffix, psr_err *err);

/* Registers what every operand reads and writes, before anything is written; then runs part on each of n operands, until
 * one fails; reports, and returns the exit code of main. */
struct presto_job {
    const struct cli *tool;
    psr_status (*part)(void *ctx, const char *path, psr_err *err);
    void *ctx;
    psr_status (*add_files)(void *ctx, const char *path, struct psr_overwrite_check *files,
                            psr_err *err);
};
int presto_run(const struct presto_job *job, int n, char **operand);

/* Rows of how red noise is removed, with PRESTO's limits and defaults; and what they say for an
 * observation of so many seconds. */
struct presto_red {
    int64_t startwidth, endwidth;
    double endfreq_hz;
};
#define PRESTO_RED_DEFAULTS                                                                        \
    {                                                                                              \
        6, 100, 6                                                                                  \
    }
void presto_add_red(struct cli_table *table, struct presto_red *r);
psr_status presto_deredden(float *x, int64_t nbin, const struct presto_red *r, double tobs_s,
                           psr_err *err);

#endif
