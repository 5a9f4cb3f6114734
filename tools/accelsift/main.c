/* accelsift: sifts the candidates of acceleration searches at many DMs. */
#include "folds.h"
#include "lists.h"
#include "options.h"

#include "base/tool.h"
#include "tools/common/run.h"
#include <glob.h>
#include <psrkit/experimental/outfile.h>
#include <stdio.h>
#include <stdlib.h>

struct run {
    struct accelsift_options opt;
    struct cli tool;
    struct psr_names lists;
    struct psr_zaplist birds, lines;
    struct psr_catalogue catalogue;
    int code; /* exit code, if lists were refused */
    struct accelsift_folds folds;
    struct psr_sift_cand *ranked; /* by folds; NULL: without them */
    psr_err err;
};

/* Format of an output, by the options or by its ending. */
static enum psr_sift_format choose_format(const struct accelsift_options *o, const char *path)
{
    if (o->csv || o->json)
        return o->csv ? PSR_SIFT_CSV : PSR_SIFT_JSON;
    if (psr_path_ends(path, ".csv"))
        return PSR_SIFT_CSV;
    return psr_path_ends(path, ".json") || psr_path_ends(path, ".jsonl") ? PSR_SIFT_JSON
                                                                         : PSR_SIFT_TEXT;
}

static void refuse(void *ctx, const char *path, const psr_err *why)
{
    struct run *r = ctx;
    (void)path;
    r->code = cli_worse(r->code, cli_report(&r->tool, why));
}

static psr_status name_matches(struct run *r, const char *pattern)
{
    glob_t found = {.gl_pathc = 0};
    const int code = glob(pattern, GLOB_ERR, NULL, &found);
    psr_status st = PSR_OK;
    if (code && code != GLOB_NOMATCH)
        st = code == GLOB_NOSPACE ? psr_fail_nomem(&r->err, pattern, 64)
                                  : psr_fail_errno(&r->err, "-globaccel %s", pattern);
    for (size_t i = 0; i < found.gl_pathc && !st; i++)
        st = psr_names_add(&r->lists, found.gl_pathv[i], &r->err);
    globfree(&found);
    return st;
}

static psr_status name_lists(struct run *r, char *const *path, int n)
{
    psr_status st = PSR_OK;
    for (int i = 0; i < n && !st; i++)
        st = psr_names_add(&r->lists, path[i], &r->err);
    if (!st && r->opt.list)
        st = psr_names_read(&r->lists, r->opt.list, &r->err);
    if (!st && r->opt.pattern)
        st = name_matches(r, r->opt.pattern);
    return st;
}

static psr_status check_names(struct run *r)
{
    struct psr_overwrite_check check = {0};
    const char *const input[] = {r->opt.list, r->opt.birds, r->opt.lines, r->opt.catalogue,
                                 r->opt.folds};
    const struct cli_list *to = &r->opt.outputs;
    psr_status st = PSR_OK;
    for (size_t i = 0; i < sizeof input / sizeof *input && !st; i++)
        st = psr_overwrite_check_input(&check, input[i], &r->err);
    for (size_t i = 0; i < r->lists.n && !st; i++)
        st = psr_overwrite_check_input(&check, r->lists.name[i], &r->err);
    for (size_t i = 0; i < to->n && !st; i++)
        st = psr_overwrite_check_output(&check, to->text[i], NULL, &r->err);
    if (!st)
        st = psr_overwrite_check_output(&check, r->opt.rejects, NULL, &r->err);
    psr_overwrite_check_clear(&check);
    return st;
}

static psr_status read_tables(struct run *r)
{
    struct accelsift_options *o = &r->opt;
    psr_status st = o->birds ? psr_zaplist_read(&r->birds, o->birds, &r->err) : PSR_OK;
    if (!st && o->catalogue)
        st = psr_catalogue_read(&r->catalogue, o->catalogue, &r->err);
    if (!st && o->lines)
        st = psr_zaplist_read(&r->lines, o->lines, &r->err);
    if (!st && o->folds)
        st = accelsift_folds_read(&r->folds, o->folds, &r->err);
    o->run.birds = o->birds ? &r->birds : NULL;
    o->run.lines = o->lines ? &r->lines : NULL;
    o->run.catalogue = o->catalogue ? &r->catalogue : NULL;
    return st;
}

static psr_status write_output(struct run *r, psr_output_group *group,
                               const struct psr_sift_result *result, const char *path,
                               enum psr_sift_format format)
{
    psr_outfile *f = NULL;
    psr_status st = psr_output_group_add(group, path, &f, &r->err);
    return st ? st : psr_sift_write(f, result, format, r->opt.run.presto, &r->err);
}

/* All lists appear together, or none does. */
static psr_status write_outputs(struct run *r, const struct psr_sift_result *result)
{
    const struct accelsift_options *o = &r->opt;
    const struct psr_output_group_desc d = {.size = sizeof d, .last = -1};
    psr_output_group *group = NULL;
    psr_status st = psr_output_group_create(&group, &d, &r->err);
    if (!st && !o->outputs.n)
        st = write_output(r, group, result, "-", choose_format(o, "-"));
    for (size_t i = 0; i < o->outputs.n && !st; i++)
        st = write_output(r, group, result, o->outputs.text[i],
                          choose_format(o, o->outputs.text[i]));
    if (!st && o->rejects)
        st = write_output(r, group, result, o->rejects, PSR_SIFT_REJECTS);
    if (!st)
        return psr_output_group_commit(group, &r->err);
    psr_output_group_abort(group);
    return st;
}

static void report(const struct run *r, const struct psr_sift_result *result, double seconds)
{
    static const char *const names[PSR_SIFT_NREASON] = {
        [PSR_SIFT_GOOD] = "good",
        [PSR_SIFT_LONG_PERIOD] = "of long periods",
        [PSR_SIFT_SHORT_PERIOD] = "of short periods",
        [PSR_SIFT_KNOWN_BIRD] = "known birds",
        [PSR_SIFT_THRESHOLD] = "below the threshold",
        [PSR_SIFT_HARM_POWER] = "of weak harmonics",
        [PSR_SIFT_ROGUE_HARM] = "of one high harmonic",
        [PSR_SIFT_DUPLICATE] = "hits of others",
        [PSR_SIFT_FEW_DMS] = "at few DMs",
        [PSR_SIFT_LOW_DM] = "at low DMs",
        [PSR_SIFT_DM_GAPS] = "with gaps in DM",
        [PSR_SIFT_HARMONIC] = "harmonics",
    };
    fprintf(stderr, "%s: %zu lists, %zu candidates:", r->tool.name, result->nlist, result->nread);
    for (size_t k = 0; k < PSR_SIFT_NREASON; k++)
        if (result->count[k] || k == PSR_SIFT_GOOD)
            fprintf(stderr, "%s %zu %s", k ? "," : "", result->count[k], names[k]);
    fprintf(stderr, "; %.3f s\n", seconds);
}

static psr_status sift(struct run *r, psr_sift *s)
{
    const double began_s = run_seconds();
    struct psr_sift_result result;
    psr_status st = psr_sift_read(s, (const char *const *)r->lists.name, r->lists.n, &r->err);
    if (!st)
        st = psr_sift_execute(s, &result, &r->err);
    if (!st && r->opt.folds) {
        st = accelsift_folds_rank(&r->folds, &result, &r->ranked, &r->err);
        result.cand = r->ranked;
    }
    if (!st)
        st = write_outputs(r, &result);
    if (!st && r->opt.verbose)
        report(r, &result, run_seconds() - began_s);
    return st;
}

static psr_status run(struct run *r, char *const *path, int n)
{
    struct psr_sift_desc *d = &r->opt.run;
    psr_sift *s = NULL;
    d->refuse = refuse;
    d->ctx = r;
    if (d->presto && d->nbird_p + d->nbird_f > 0 && !r->opt.quiet)
        cli_note(&r->tool, "-compat presto: ACCEL_sift.py never uses its known birds: ignored");
    psr_status st = name_lists(r, path, n);
    if (!st && !d->presto)
        st = accelsift_drop_repeats(&r->lists, r->opt.quiet ? NULL : &r->tool, &r->err);
    if (!st)
        st = check_names(r);
    if (!st)
        st = read_tables(r);
    if (!st)
        st = psr_sift_create(&s, d, &r->err);
    if (!st)
        st = sift(r, s);
    psr_sift_destroy(s);
    return st;
}

int main(int argc, char **argv)
{
    struct run r = {.code = EXIT_SUCCESS};
    const int n = accelsift_options_parse(&r.opt, &r.tool, argc, argv);
    run_catch_signals();
    run_limit_threads(&r.opt.ncpus, r.opt.quiet ? NULL : r.tool.name);
    r.opt.run.nthread = (int)r.opt.ncpus;
    psr_status st = run(&r, argv + 1, n);
    psr_names_clear(&r.lists);
    psr_zaplist_clear(&r.birds);
    psr_zaplist_clear(&r.lines);
    psr_catalogue_clear(&r.catalogue);
    accelsift_folds_clear(&r.folds);
    free(r.ranked);
    free((void *)r.opt.outputs.text);
    free((void *)r.opt.known_p.text);
    free((void *)r.opt.known_f.text);
    free((void *)r.opt.run.bird_p);
    free((void *)r.opt.run.bird_f);
    return cli_end(&r.tool, st, &r.err, r.code);
}
