/* realfft and rednoise: transform series and spectra, and whiten spectra. */
#include "psrpresto.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct realfft {
    struct cli tool;
    bool forward, inverse, remove_input, disk, memory, rednoise;
    const char *tmpdir, *outdir;
    struct presto_red red;
};

static psr_status remove_file(const char *path, psr_err *err)
{
    return unlink(path) ? psr_fail_errno(err, "%s", path) : PSR_OK;
}

/* The whitened spectrum, with an .inf of its own. */
static psr_status write_red(const struct realfft *r, const char *path, const char *root, float *x,
                            int64_t n, psr_err *err)
{
    struct psr_spectrum_file file;
    psr_status st = psr_spectrum_describe(&file, path, err);
    if (st == PSR_OK)
        st = presto_deredden(x, n / 2, &r->red, file.tobs_s, err);
    return st ? st : psr_spectrum_write(root, x, n / 2, &file.inf, err);
}

/* The whitened spectrum has an .inf of its own. */
static psr_status add_red(struct psr_overwrite_check *files, const char *of, const char *root,
                          psr_err *err)
{
    psr_status st = presto_add_output(files, of, root, ".fft", err);
    return st ? st : presto_add_output(files, of, root, ".inf", err);
}

/* Names of a transform: the suffix of its operand says which, .fft has one back, all others are a .dat. */
struct transform {
    bool back;
    char *in, *root, *out;
};

static struct transform name_transform(const struct realfft *r, const char *path)
{
    const char *dot = strrchr(path, '.'), *slash = strrchr(path, '/');
    const bool spectrum = dot && !strcmp(dot, ".fft");
    struct transform t = {.back = r->inverse || (spectrum && !r->forward)};
    if (t.back && r->rednoise)
        cli_usage_error(&r->tool, "-rednoise is of a spectrum: not of an inverse transform");
    char *stem = presto_root(&r->tool, path, NULL);
    char *dir = presto_join(&r->tool, r->outdir ? r->outdir : "", r->outdir ? "/" : "");
    char *named = presto_join(&r->tool, dir, r->outdir && slash ? stem + (slash + 1 - path) : stem);
    t.in = presto_join(&r->tool, stem, spectrum ? ".fft" : ".dat");
    t.root = presto_join(&r->tool, named, r->rednoise ? "_red" : "");
    t.out = presto_join(&r->tool, t.root, spectrum ? ".dat" : ".fft");
    free(stem);
    free(dir);
    free(named);
    return t;
}

static void clear_transform(struct transform *t)
{
    free(t->in);
    free(t->root);
    free(t->out);
}

static psr_status realfft_files(void *ctx, const char *path, struct psr_overwrite_check *files,
                                psr_err *err)
{
    const struct realfft *r = ctx;
    struct transform t = name_transform(r, path);
    psr_status st = psr_overwrite_check_input(files, t.in, err);
    if (st == PSR_OK)
        st = r->rednoise ? add_red(files, path, t.root, err)
                         : psr_overwrite_check_output(files, t.out, path, err);
    clear_transform(&t);
    return st;
}

static psr_status realfft_part(void *ctx, const char *path, psr_err *err)
{
    const struct realfft *r = ctx;
    struct transform t = name_transform(r, path);
    float *x = NULL;
    int64_t n;
    psr_status st = presto_read_floats(t.in, &x, &n, err);
    if (st == PSR_OK)
        st = psr_spectrum_transform(x, n, t.back, err);
    if (st == PSR_OK)
        st = r->rednoise ? write_red(r, t.in, t.root, x, n, err)
                         : presto_write_floats(t.out, x, n, err);
    free(x);
    if (st == PSR_OK && r->remove_input)
        st = remove_file(t.in, err);
    clear_transform(&t);
    return st;
}

int presto_realfft(int argc, char **argv)
{
    struct realfft r = {.red = PRESTO_RED_DEFAULTS};
    struct cli_table table = {.n = 0};
    const struct cli_option options[] = {
        {"Transform", CLI_HEADING, NULL, NULL, 0, 0, NULL},
        {"fwd", CLI_FLAG, &r.forward, NULL, 0, 0, "Transform to a spectrum, whatever the suffix."},
        {"inv", CLI_FLAG, &r.inverse, NULL, 0, 0, "Transform back, whatever the suffix."},
        {"del", CLI_FLAG, &r.remove_input, NULL, 0, 0,
         "Remove each input once its output is complete."},
        {"disk", CLI_FLAG, &r.disk, NULL, 0, 0, "Ignored: transforms are made in memory."},
        {"mem", CLI_FLAG, &r.memory, NULL, 0, 0, "Ignored, likewise."},
        {"tmpdir", CLI_TEXT, &r.tmpdir, "DIR", 0, 0, "Ignored, likewise."},
        {"outdir", CLI_TEXT, &r.outdir, "DIR", 0, 0, "Write there, not beside the input."},
        {"Red noise", CLI_HEADING, NULL, NULL, 0, 0, NULL},
        {"rednoise", CLI_FLAG, &r.rednoise, NULL, 0, 0,
         "Write the whitened spectrum, as ROOT_red.fft with its .inf."},
    };
    CLI_ADD(&table, options);
    presto_add_red(&table, &r.red);
    r.tool = (struct cli){
        .name = "realfft",
        .operands = "[OPTION]... FILE...",
        .summary = "Transform series (.dat) to spectra (.fft), and spectra back.",
        .examples = "realfft obs_DM*.dat\n"
                    "realfft -rednoise obs_DM12.00.dat\n"
                    "realfft -inv obs_DM12.00_red.fft\n",
        .options = table.option,
        .noptions = table.n,
    };
    const int n = cli_parse(&r.tool, argc, argv);
    if (r.forward && r.inverse)
        r.forward = false; /* as there */
    if (r.disk && r.memory)
        cli_usage_error(&r.tool, "-disk and -mem exclude each other");
    return presto_run(&(struct presto_job){&r.tool, realfft_part, &r, realfft_files}, n, argv + 1);
}

/* --- rednoise --------------------------------------------------------------------------------- */

struct rednoise {
    struct cli tool;
    bool inplace;
    struct presto_red red;
};

static psr_status rednoise_files(void *ctx, const char *path, struct psr_overwrite_check *files,
                                 psr_err *err)
{
    const struct rednoise *r = ctx;
    char *stem = presto_root(&r->tool, path, ".fft"), *root = presto_join(&r->tool, stem, "_red");
    psr_status st = psr_overwrite_check_input(files, path, err);
    if (st == PSR_OK)
        st = add_red(files, path, root, err);
    free(stem);
    free(root);
    return st;
}

static psr_status rednoise_part(void *ctx, const char *path, psr_err *err)
{
    const struct rednoise *r = ctx;
    struct psr_spectrum_file file;
    float *x = NULL;
    int64_t n;
    char *stem = presto_root(&r->tool, path, ".fft"), *root = presto_join(&r->tool, stem, "_red");
    psr_status st = psr_spectrum_describe(&file, path, err);
    if (st == PSR_OK)
        st = presto_read_floats(path, &x, &n, err);
    if (st == PSR_OK)
        st = presto_deredden(x, n / 2, &r->red, file.tobs_s, err);
    if (st == PSR_OK)
        st = psr_spectrum_write(root, x, n / 2, &file.inf, err);
    free(x);
    free(stem);
    free(root);
    return st == PSR_OK && r->inplace ? remove_file(path, err) : st;
}

int presto_rednoise(int argc, char **argv)
{
    struct rednoise r = {.red = PRESTO_RED_DEFAULTS};
    struct cli_table table = {.n = 0};
    const struct cli_option options[] = {
        {"Red noise", CLI_HEADING, NULL, NULL, 0, 0, NULL},
        {"inplace", CLI_FLAG, &r.inplace, NULL, 0, 0,
         "Remove the input once ROOT_red.fft is complete."},
    };
    CLI_ADD(&table, options);
    presto_add_red(&table, &r.red);
    r.tool = (struct cli){
        .name = "rednoise",
        .operands = "[OPTION]... FILE.fft",
        .summary = "Divide a spectrum by the root of its local mean power: ROOT_red.fft, with its "
                   ".inf.",
        .examples = "rednoise obs_DM12.00.fft\n"
                    "rednoise obs_DM*.fft\n"
                    "rednoise -startwidth 8 -endwidth 200 obs_DM12.00.fft\n",
        .options = table.option,
        .noptions = table.n,
    };
    const int n = cli_parse(&r.tool, argc, argv);
    return presto_run(&(struct presto_job){&r.tool, rednoise_part, &r, rednoise_files}, n,
                      argv + 1);
}
