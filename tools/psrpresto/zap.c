/* zapbirds, simple_zapbirds.py and makezaplist.py: known interference in spectra. */
#include "psrpresto.h"

#include "base/tool.h"

#include <psrkit/experimental/outfile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct zapbirds {
    struct cli tool;
    bool zap, constant, finds_velocity;
    const char *zapfile;
    double baryv;
    struct psr_zaplist list;
};

static psr_status zapbirds_files(void *ctx, const char *path, struct psr_overwrite_check *files,
                                 psr_err *err)
{
    const struct zapbirds *z = ctx;
    free(presto_root(&z->tool, path, ".fft"));
    psr_status st = psr_overwrite_check_input(files, z->zapfile, err);
    return st ? st : psr_overwrite_check_output(files, path, path, err);
}

static psr_status zapbirds_part(void *ctx, const char *path, psr_err *err)
{
    struct zapbirds *z = ctx;
    struct psr_spectrum_file file;
    double baryv = z->baryv;
    psr_status st = psr_zaplist_read(&z->list, z->zapfile, err);
    if (st == PSR_OK)
        st = psr_spectrum_describe(&file, path, err);
    bool sky = st == PSR_OK && file.inf.barycentric;
    for (size_t i = 0; st == PSR_OK && i < z->list.n; i++)
        sky |= z->list.bird[i].barycentric;
    if (st == PSR_OK && z->finds_velocity && sky) {
        /* The list as the spectrum of file has it: lines of the sky move with the telescope where the
         * series is not barycentred. */
        st = psr_inf_velocity(&file.inf, &baryv, err);
        for (size_t i = 0; i < z->list.n && !st && !file.inf.barycentric; i++)
            if (z->list.bird[i].barycentric)
                z->list.bird[i].freq_hz /= 1 + baryv;
        if (!st && !file.inf.barycentric)
            baryv = 0;
    }
    if (st == PSR_OK) {
        float *x;
        int64_t n;
        size_t nleft = 0;
        st = presto_read_floats(path, &x, &n, err);
        if (st == PSR_OK)
            st = psr_spectrum_zap(x, n / 2,
                                  &(struct psr_zap){.list = &z->list,
                                                    .tobs_s = file.tobs_s,
                                                    .baryv = baryv,
                                                    .constant = z->constant},
                                  &nleft, err);
        if (st == PSR_OK)
            st = presto_write_floats(path, x, n, err);
        free(x);
        if (st == PSR_OK && nleft > 0)
            fprintf(stderr,
                    "%s: %s: %zu lines have no room beside them to measure the power: they stay\n",
                    z->tool.name, path, nleft);
    }
    psr_zaplist_clear(&z->list);
    return st;
}

static const struct cli_option constant_row = {
    "constamp",
    CLI_FLAG,
    NULL,
    NULL,
    0,
    0,
    "Put a constant there, as PRESTO did up to 6.0.1, not noise of the level beside it."};

static void add_constant(struct cli_table *table, bool *constant)
{
    struct cli_option row = constant_row;
    row.value = constant;
    cli_table_add(table, &row, 1);
}

static const char by_hand[] = "lines are not chosen by hand in a plot: gpurfifind finds them "
                              "itself, in its .zaplist and .birds";

int presto_zapbirds(int argc, char **argv)
{
    static const struct cli_elsewhere elsewhere[] = {{"in, out", by_hand}, {NULL, NULL}};
    struct zapbirds z = {.baryv = 0};
    struct cli_table table = {.n = 0};
    const struct cli_option options[] = {
        {"Interference", CLI_HEADING, NULL, NULL, 0, 0, NULL},
        {"zap", CLI_FLAG, &z.zap, NULL, 0, 0, "Zap: change FILE.fft."},
        {"zapfile", CLI_TEXT, &z.zapfile, "FILE", 0, 0, "Frequencies and widths, Hz."},
        {"baryv", CLI_DOUBLE, &z.baryv, "V", -0.1, 0.1,
         "Mean velocity of the telescope over c, for a barycentred series (default 0)."},
    };
    CLI_ADD(&table, options);
    add_constant(&table, &z.constant);
    z.tool = (struct cli){
        .name = "zapbirds",
        .operands = "-zap -zapfile FILE [OPTION]... FILE.fft...",
        .summary = "Replace known interference in spectra.",
        .examples = "zapbirds -zap -zapfile obs.zaplist obs_DM12.00.fft\n"
                    "zapbirds -zap -zapfile obs.zaplist -baryv -5.7e-05 obs_DM*.fft\n"
                    "zapbirds -zap -zapfile obs.zaplist -constamp obs_DM12.00.fft\n",
        .elsewhere = elsewhere,
        .options = table.option,
        .noptions = table.n,
    };
    const int n = cli_parse(&z.tool, argc, argv);
    if (!z.zap)
        cli_usage_error(&z.tool, "-zap is missing: %s", by_hand);
    if (!z.zapfile)
        cli_usage_error(&z.tool, "-zap needs -zapfile");
    return presto_run(&(struct presto_job){&z.tool, zapbirds_part, &z, zapbirds_files}, n,
                      argv + 1);
}

int presto_simple_zapbirds(int argc, char **argv)
{
    struct zapbirds z = {.finds_velocity = true};
    struct cli_table table = {.n = 0};
    cli_add_heading(&table, "Interference");
    add_constant(&table, &z.constant);
    z.tool = (struct cli){
        .name = "simple_zapbirds.py",
        .operands = "[OPTION]... FILE.birds FILE.fft...",
        .summary = "Replace known interference in spectra, by the velocity of the telescope that "
                   "each .inf gives.",
        .examples = "simple_zapbirds.py obs.birds obs_DM*.fft\n"
                    "simple_zapbirds.py obs_rfifind.birds obs_DM12.00.fft\n"
                    "simple_zapbirds.py -constamp obs.birds obs_DM12.00.fft\n",
        .options = table.option,
        .noptions = table.n,
    };
    const int n = cli_parse(&z.tool, argc, argv);
    if (n < 2)
        cli_usage_error(&z.tool, "needs FILE.birds and spectra");
    z.zapfile = argv[1];
    return presto_run(&(struct presto_job){&z.tool, zapbirds_part, &z, zapbirds_files}, n - 1,
                      argv + 2);
}

/* --- makezaplist.py --------------------------------------------------------------------------- */

PSR_COMPARE(compare_birds, struct psr_bird, PSR_RISING(freq_hz));

static psr_status write_zaplist(const struct psr_zaplist *list, const char *path, psr_err *err)
{
    psr_outfile *f;
    psr_status st = psr_outfile_create(&f, path, err);
    if (st != PSR_OK)
        return st;
    st = psr_outfile_printf(f, err, "# Hz; B: barycentric\n# %20s  %20s\n", "Freq", "Width");
    for (size_t i = 0; i < list->n && !st; i++)
        st = psr_outfile_printf(f, err, "%c %20.15g  %20.15g\n",
                                list->bird[i].barycentric ? 'B' : ' ', list->bird[i].freq_hz,
                                list->bird[i].width_hz);
    if (st == PSR_OK)
        return psr_outfile_commit(f, err);
    psr_outfile_abort(f);
    return st;
}

static psr_status makezaplist_files(void *ctx, const char *path, struct psr_overwrite_check *files,
                                    psr_err *err)
{
    char *root = presto_root(ctx, path, ".birds");
    psr_status st = psr_overwrite_check_input(files, path, err);
    if (st == PSR_OK)
        st = presto_add_output(files, path, root, ".zaplist", err);
    free(root);
    return st;
}

static psr_status makezaplist_part(void *ctx, const char *path, psr_err *err)
{
    const struct cli *tool = ctx;
    struct psr_zaplist list = {.n = 0};
    char *root = presto_root(tool, path, ".birds"), *name = presto_join(tool, root, ".zaplist");
    psr_status st = psr_zaplist_read(&list, path, err);
    if (st == PSR_OK && list.n)
        qsort(list.bird, list.n, sizeof *list.bird, compare_birds);
    if (st == PSR_OK)
        st = write_zaplist(&list, name, err);
    psr_zaplist_clear(&list);
    free(root);
    free(name);
    return st;
}

int presto_makezaplist(int argc, char **argv)
{
    struct cli_table table = {.n = 0};
    cli_add_heading(&table, "Options");
    struct cli tool = {
        .name = "makezaplist.py",
        .operands = "FILE.birds",
        .summary = "Write FILE.zaplist: each harmonic of FILE.birds on a line, by frequency.",
        .examples =
            "makezaplist.py obs.birds\n"
            "makezaplist.py obs_rfifind.birds\n"
            "makezaplist.py beam1.birds && zapbirds -zap -zapfile beam1.zaplist beam1.fft\n",
        .options = table.option,
        .noptions = table.n,
    };
    const int n = cli_parse(&tool, argc, argv);
    return presto_run(&(struct presto_job){&tool, makezaplist_part, &tool, makezaplist_files}, n,
                      argv + 1);
}

/* --- realfft and rednoise ------------------------------------------------------------------------ */

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
