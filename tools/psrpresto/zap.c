/* zapbirds, simple_zapbirds.py and makezaplist.py: known interference in spectra. */
#include "psrpresto.h"

#include "base/tool.h"

#include <psrkit/experimental/outfile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
