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
static psr_status check_red(const struct cli *tool, const char *in, const char *root, psr_err *err)
{
    char *fft = presto_join(tool, root, ".fft"), *inf = presto_join(tool, root, ".inf");
    psr_status st = presto_check_output(in, fft, err);
    if (st == PSR_OK)
        st = presto_check_output(in, inf, err);
    free(fft);
    free(inf);
    return st;
}

static psr_status transform_file(const struct realfft *r, const char *in, const char *root,
                                 const char *out, bool back, psr_err *err)
{
    float *x = NULL;
    int64_t n;
    psr_status st =
        r->rednoise ? check_red(&r->tool, in, root, err) : presto_check_output(in, out, err);
    if (st == PSR_OK)
        st = presto_read_floats(in, &x, &n, err);
    if (st == PSR_OK)
        st = psr_spectrum_transform(x, n, back, err);
    if (st == PSR_OK)
        st = r->rednoise ? write_red(r, in, root, x, n, err) : presto_write_floats(out, x, n, err);
    free(x);
    return st == PSR_OK && r->remove_input ? remove_file(in, err) : st;
}

/* The suffix names the transform: .fft has one back, all others are a .dat. */
static psr_status realfft_part(void *ctx, const char *path, psr_err *err)
{
    const struct realfft *r = ctx;
    const char *dot = strrchr(path, '.'), *slash = strrchr(path, '/');
    const bool spectrum = dot && !strcmp(dot, ".fft");
    const bool back = r->inverse || (spectrum && !r->forward);
    if (back && r->rednoise)
        cli_usage_error(&r->tool, "-rednoise is of a spectrum: not of an inverse transform");
    char *stem = presto_root(&r->tool, path, NULL);
    char *in = presto_join(&r->tool, stem, spectrum ? ".fft" : ".dat");
    char *dir = presto_join(&r->tool, r->outdir ? r->outdir : "", r->outdir ? "/" : "");
    char *named = presto_join(&r->tool, dir, r->outdir && slash ? stem + (slash + 1 - path) : stem);
    char *root = presto_join(&r->tool, named, r->rednoise ? "_red" : "");
    char *out = presto_join(&r->tool, root, spectrum ? ".dat" : ".fft");
    psr_status st = transform_file(r, in, root, out, back, err);
    char *const names[] = {stem, in, dir, named, root, out};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        free(names[i]);
    return st;
}

int presto_realfft(int argc, char **argv)
{
    struct realfft r = {.red = PRESTO_RED_DEFAULTS};
    struct cli_table table = {.n = 0};
    const struct cli_option options[] = {
        {"Transform", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"fwd", CLI_FLAG, &r.forward, NULL, "Transform to a spectrum, whatever the suffix.", 0, 0},
        {"inv", CLI_FLAG, &r.inverse, NULL, "Transform back, whatever the suffix.", 0, 0},
        {"del", CLI_FLAG, &r.remove_input, NULL, "Remove each input once its output is complete.",
         0, 0},
        {"disk", CLI_FLAG, &r.disk, NULL, "Ignored: transforms are made in memory.", 0, 0},
        {"mem", CLI_FLAG, &r.memory, NULL, "Ignored, likewise.", 0, 0},
        {"tmpdir", CLI_TEXT, &r.tmpdir, "DIR", "Ignored, likewise.", 0, 0},
        {"outdir", CLI_TEXT, &r.outdir, "DIR", "Write there, not beside the input.", 0, 0},
        {"Red noise", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"rednoise", CLI_FLAG, &r.rednoise, NULL,
         "Write the whitened spectrum, as ROOT_red.fft with its .inf.", 0, 0},
    };
    CLI_ADD(&table, options);
    presto_add_red(&table, &r.red);
    r.tool = (struct cli){
        .name = "realfft",
        .operands = "[OPTION]... FILE...",
        .summary = "Transform series (.dat) to spectra (.fft), and spectra back.",
        .examples = "realfft obs_DM12.00.dat\nrealfft -inv obs_DM12.00_red.fft\n",
        .options = table.option,
        .noptions = table.n,
    };
    const int n = cli_parse(&r.tool, argc, argv);
    if (r.forward && r.inverse)
        r.forward = false; /* as there */
    if (r.disk && r.memory)
        cli_usage_error(&r.tool, "-disk and -mem exclude each other");
    return presto_run(&(struct presto_job){&r.tool, realfft_part, &r}, n, argv + 1);
}

/* --- rednoise --------------------------------------------------------------------------------- */

struct rednoise {
    struct cli tool;
    bool inplace;
    struct presto_red red;
};

static psr_status rednoise_part(void *ctx, const char *path, psr_err *err)
{
    const struct rednoise *r = ctx;
    struct psr_spectrum_file file;
    float *x = NULL;
    int64_t n;
    char *stem = presto_root(&r->tool, path, ".fft"), *root = presto_join(&r->tool, stem, "_red");
    psr_status st = check_red(&r->tool, path, root, err);
    if (st == PSR_OK)
        st = psr_spectrum_describe(&file, path, err);
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
        {"Red noise", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"inplace", CLI_FLAG, &r.inplace, NULL, "Remove the input once ROOT_red.fft is complete.",
         0, 0},
    };
    CLI_ADD(&table, options);
    presto_add_red(&table, &r.red);
    r.tool = (struct cli){
        .name = "rednoise",
        .operands = "[OPTION]... FILE.fft",
        .summary = "Divide a spectrum by the root of its local mean power: ROOT_red.fft, with its "
                   ".inf.",
        .examples = "rednoise obs_DM12.00.fft\n",
        .options = table.option,
        .noptions = table.n,
    };
    const int n = cli_parse(&r.tool, argc, argv);
    return presto_run(&(struct presto_job){&r.tool, rednoise_part, &r}, n, argv + 1);
}
