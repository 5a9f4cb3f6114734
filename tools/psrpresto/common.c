/* What the programs share: names, files of floats, red noise. */
#include "psrpresto.h"

#include "tools/common/run.h"

#include <errno.h>
#include <math.h>
#include <psrkit/experimental/outfile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *presto_join(const struct cli *tool, const char *a, const char *b)
{
    char *both = NULL;
    if (asprintf(&both, "%s%s", a, b) < 0)
        cli_usage_error(tool, "no memory for a name");
    return both;
}

char *presto_root(const struct cli *tool, const char *path, const char *suffix)
{
    const char *slash = strrchr(path, '/');
    const char *dot = strrchr(slash ? slash : path, '.');
    if (suffix && (!dot || strcmp(dot, suffix) != 0))
        cli_usage_error(tool, "%s: must end in %s", path, suffix);
    char *root = presto_join(tool, path, "");
    if (dot)
        root[dot - path] = '\0';
    return root;
}

/* Without it, a size beyond all memory would end the program when the pages are touched. */
static psr_status check_memory(const char *path, double bytes, psr_err *err)
{
    const double all = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    return bytes <= all || all <= 0 ? PSR_OK : psr_fail_nomem(err, path, bytes);
}

static psr_status read_open(FILE *f, const char *path, float **x, int64_t *n, psr_err *err)
{
    struct stat is;
    if (fstat(fileno(f), &is))
        return psr_fail_errno(err, "%s", path);
    if (!S_ISREG(is.st_mode) || is.st_size < 8 || is.st_size % 8)
        return psr_fail(err, PSR_EFORMAT, "%s: %lld bytes are no even number of floats", path,
                        (long long)is.st_size);
    *n = is.st_size / 4;
    const double bytes = (double)is.st_size + 8;
    psr_status st = check_memory(path, bytes, err);
    if (st != PSR_OK)
        return st;
    *x = malloc((size_t)is.st_size + 8);
    if (!*x)
        return psr_fail_nomem(err, path, bytes);
    errno = 0;
    if (fread(*x, 4, (size_t)*n, f) == (size_t)*n)
        return PSR_OK;
    return errno ? psr_fail_errno(err, "%s", path)
                 : psr_fail(err, PSR_EIO, "%s: became shorter while it was read", path);
}

psr_status presto_read_floats(const char *path, float **x, int64_t *n, psr_err *err)
{
    *x = NULL;
    FILE *f = fopen(path, "rbe");
    if (!f)
        return psr_fail_errno(err, "%s", path);
    psr_status st = read_open(f, path, x, n, err);
    fclose(f);
    if (st != PSR_OK) {
        free(*x);
        *x = NULL;
    }
    return st;
}

psr_status presto_write_floats(const char *path, const float *x, int64_t n, psr_err *err)
{
    psr_outfile *f;
    psr_status st = psr_outfile_create(&f, path, err);
    if (st != PSR_OK)
        return st;
    st = psr_outfile_write(f, x, (size_t)n * sizeof *x, err);
    if (st == PSR_OK)
        return psr_outfile_commit(f, err);
    psr_outfile_abort(f);
    return st;
}

psr_status presto_add_output(struct psr_overwrite_check *files, const char *of, const char *root,
                             const char *suffix, psr_err *err)
{
    char *out = NULL;
    if (asprintf(&out, "%s%s", root, suffix) < 0)
        return psr_fail_nomem(err, root, (double)strlen(root));
    psr_status st = psr_overwrite_check_output(files, out, of, err);
    free(out);
    return st;
}

int presto_run(const struct presto_job *job, int n, char **operand)
{
    struct psr_overwrite_check files = {0};
    psr_err err;
    psr_status st = PSR_OK;
    if (n < 1)
        cli_usage_error(job->tool, "no input given");
    for (int i = 0; i < n && st == PSR_OK; i++)
        st = job->add_files(job->ctx, operand[i], &files, &err);
    psr_overwrite_check_clear(&files);
    run_catch_signals();
    for (int i = 0; i < n && st == PSR_OK && !run_stop_signal(); i++)
        st = job->part(job->ctx, operand[i], &err);
    return cli_end(job->tool, st, &err, EXIT_SUCCESS);
}

void presto_add_red(struct cli_table *table, struct presto_red *r)
{
    const struct cli_option options[] = {
        {"startwidth", CLI_INT, &r->startwidth, "BINS", "First block (default 6).", 2, 50},
        {"endwidth", CLI_INT, &r->endwidth, "BINS", "Longest block (default 100).", 50, 500},
        {"endfreq", CLI_DOUBLE, &r->endfreq_hz, "HZ",
         "Where blocks have become the longest (default 6).", 0.1, 10},
    };
    CLI_ADD(table, options);
}

/* PRESTO divides in single precision. */
psr_status presto_deredden(float *x, int64_t nbin, const struct presto_red *r, double tobs_s,
                           psr_err *err)
{
    double stop = floor(r->endfreq_hz * tobs_s * (1 - 1e-6));
    while ((double)((float)stop / (float)tobs_s) < r->endfreq_hz)
        stop++;
    const struct psr_redden how = {
        .start = (int)r->startwidth, .end = (int)r->endwidth, .stop_bin = stop, .presto = true};
    return psr_spectrum_deredden(x, nbin, &how, err);
}
