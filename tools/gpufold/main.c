/* gpufold: folds pulsar candidates in one pass over telescope data. */
#include "gpufold.h"

#include "tools/common/cli.h"
#include "tools/common/plot/canvas.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct run {
    struct gpufold_options opt;
    struct cli tool;
    struct psr_candlist list;
    size_t first;    /* of those that are folded: they have one range */
    size_t nrefused; /* of these */
    int code;        /* exit code, if a candidate was wrong and has been reported */
    struct run_progress progress;
    int64_t nsamp; /* of a pass */
    atomic_size_t nkept;
    struct gpufold_numbers *number; /* [list.n] with -json or -harmonics */
    size_t nprinted;                /* of these */
    psr_status printed;
    struct gpufold_record record; /* with -resume and numbers */
    struct gpufold_roots roots;
    psr_err err;
};

static bool is_stopped(void *ctx)
{
    (void)ctx;
    return run_stop_signal() != 0;
}

static void show_progress(void *ctx, int64_t nread)
{
    struct run *r = ctx;
    run_show(&r->progress, "spectra", nread, r->nsamp);
}

static void show_folds(void *ctx, int64_t done, int64_t total)
{
    struct run *r = ctx;
    run_show_folds(&r->progress, done, total);
}

static psr_status take(void *ctx, size_t i, const struct psr_folder_fold *fold, psr_err *err)
{
    struct run *r = ctx;
    psr_status st = gpufold_write(r->roots.cand, fold, &r->tool, err);
    r->nkept += !st;
    if (st || !r->number)
        return st;
    st = gpufold_numbers_take(&r->number[r->first + i], fold, err);
    if (!st)
        gpufold_record_add(&r->record, &r->number[r->first + i], fold->pfd->digest);
    return st;
}

/* The lines of the list before its candidate end.  A full disk is told when the stream is closed. */
static void print_lines(struct run *r, size_t end)
{
    for (; r->opt.json && r->nprinted < end && !r->printed; r->nprinted++) {
        char *line = NULL;
        if (!r->number[r->nprinted].is_folded)
            continue;
        r->printed = gpufold_make_json(&line, &r->number[r->nprinted], &r->err);
        if (line)
            fputs(line, stdout);
        fflush(stdout);
        free(line);
    }
}

/* In the order of the candidates, unless their periods are still looked at. */
static void then(void *ctx, size_t i)
{
    struct run *r = ctx;
    if (!r->opt.harmonics)
        print_lines(r, r->first + i + 1);
}

/* Looks for the right periods.  Nothing that fails here ends the run but a stop. */
static psr_status end_harmonics(struct run *r, const psr_folder *f)
{
    psr_err why;
    const size_t n = r->opt.run.ncand;
    psr_status st = gpufold_find_ratios(&r->opt, f, r->number + r->first, n, &why);
    if (st == PSR_ESTOPPED) {
        r->err = why;
        return st;
    }
    if (st)
        psr_note(&r->opt.run.notes, "-harmonics: periods stay as they are: %s", why.msg);
    return PSR_OK;
}

static void refuse_line(void *ctx, const psr_err *why)
{
    struct run *r = ctx;
    r->code = cli_worse(r->code, cli_report(&r->tool, why));
}

/* What is out of its range in a list is no mistake of the command line. */
static psr_status blame_list(const struct run *r, psr_err *err)
{
    const bool listed = r->opt.accelfile || r->opt.candfile;
    if (listed && err->code == PSR_EINVAL &&
        (!strcmp(err->field, "period") || !strcmp(err->field, "cand")))
        err->code = PSR_EFORMAT;
    return err->code;
}

static void refuse(void *ctx, size_t i, const psr_err *why)
{
    struct run *r = ctx;
    const int code = r->code;
    psr_err said = *why;
    (void)i;
    (void)blame_list(ctx, &said);
    refuse_line(ctx, &said);
    r->nrefused++;
    if (r->opt.tolerant)
        r->code = code;
}

static bool skip(void *ctx, size_t i, uint64_t digest, struct timespec changed)
{
    struct run *r = ctx;
    const char *name = r->opt.run.cand[i].name;
    const bool kept =
        gpufold_exists(r->roots.cand, name, digest, changed, r->opt.run.view) &&
        (!r->number || gpufold_record_find(&r->record, &r->number[r->first + i], name, digest));
    r->nkept += kept;
    return kept;
}

static void report(const struct run *r, const psr_folder *f, double seconds)
{
    struct psr_folder_report is;
    psr_folder_describe(f, &is);
    fprintf(stderr, "gpufold: %zu candidates: %zu parts of %zu spectra, %zu sub-bands, %zu %s",
            r->opt.run.ncand, is.npart, is.part_blocks * is.block, is.nsub, is.npass,
            is.npass == 1 ? "pass" : "passes");
    if (is.barycentred)
        fprintf(stderr, ", v/c %.7g", is.voverc);
    fprintf(stderr,
            ", %lld spectra clipped, %.3f s: %.3f s reading, %.3f s folding, %.3f s searching and "
            "writing\n",
            (long long)is.clipped, seconds, is.read_s, is.fold_s, is.result_s);
}

static psr_status fold(struct run *r)
{
    psr_folder *f = NULL;
    const double began_s = run_seconds();
    struct psr_folder_report is;
    r->nrefused = 0;
    psr_status st = psr_folder_create(&f, &r->opt.run, &r->err);
    if (st == PSR_EINVAL && r->opt.tolerant && r->nrefused == r->opt.run.ncand) {
        psr_note(&r->opt.run.notes, "%s", r->err.msg);
        return PSR_OK;
    }
    if (st)
        return blame_list(r, &r->err);
    psr_folder_describe(f, &is);
    if (is.nskipped)
        psr_note(&r->opt.run.notes, "%zu of %zu candidates are complete", is.nskipped,
                 r->opt.run.ncand);
    /* A period in milliseconds where seconds are meant often still fits into the input. */
    enum { FEW_TURNS = 5 };
    const double p_s = r->opt.p > 0 ? r->opt.p : r->opt.f > 0 ? 1 / r->opt.f : 0;
    const double folded_s = (double)is.nsamp * is.obs->tsamp_s;
    if (p_s * FEW_TURNS > folded_s)
        psr_note(&r->opt.run.notes, "the period is %.9g seconds: %.3g turns in %.6g s", p_s,
                 folded_s / p_s, folded_s);
    run_progress_start(&r->progress, run_progress_mode(r->opt.quiet, r->opt.verbose), is.nsamp,
                       "spectra", 1);
    r->nsamp = is.nsamp;
    st = psr_folder_run(f, &r->err);
    if (!st && r->opt.verbose)
        report(r, f, run_seconds() - began_s);
    if (!st && r->opt.harmonics)
        st = end_harmonics(r, f);
    psr_folder_destroy(f);
    run_progress_end(&r->progress);
    if (!st)
        print_lines(r, r->first + r->opt.run.ncand);
    return st ? st : r->printed;
}

/* Folds candidates that were found in segments over these, and the others over what the options say. */
static psr_status fold_ranges(struct run *r)
{
    struct psr_folder_desc *d = &r->opt.run;
    const double start = d->start, end = d->end;
    const char *clean_root = d->clean_root;
    psr_status st = PSR_OK;
    for (d->ncand = 0; r->first < r->list.n && !st; r->first += d->ncand) {
        const struct psr_folder_candidate *c = d->cand = r->list.cand + r->first;
        const bool whole = c->end == 0;
        for (d->ncand = 1; r->first + d->ncand < r->list.n; d->ncand++)
            if (c[d->ncand].start != c->start || c[d->ncand].end != c->end)
                break;
        if (!whole && (start != 0 || end != 1))
            return psr_fail_field(
                &r->err, PSR_EINVAL, "start",
                "-start %g and -end %g: %s is of a segment, and is folded over it", start, end,
                c->name);
        d->start = whole ? start : c->start;
        d->end = whole ? end : c->end;
        d->clean_root = whole ? clean_root : NULL;
        st = fold(r);
    }
    return st;
}

static psr_status run(struct run *r)
{
    struct psr_folder_desc *d = &r->opt.run;
    if (!r->opt.quiet)
        d->notes = (struct psr_notes){cli_note, &r->tool};
    d->take = take;
    d->then = then;
    d->view = !r->opt.noplot && canvas_can_draw();
    if (!r->opt.noplot && !canvas_can_draw())
        psr_note(&d->notes, "no pictures: built without cairo");
    d->refuse = refuse;
    d->skip = r->opt.resume ? skip : NULL;
    d->keep_spectra = r->opt.harmonics;
    d->should_stop = is_stopped;
    d->progress = show_progress;
    d->searched = show_folds;
    d->ctx = r;
    psr_status st = gpufold_list_make(&r->list, &r->opt, refuse_line, r, &r->err);
    if (!st)
        st = gpufold_roots_find(&r->roots, &r->opt, &r->err);
    if (!st)
        st = gpufold_check_names(&r->opt, &r->roots, &r->list, &r->err);
    d->clean_root = r->roots.clean;
    const bool numbers = r->opt.json || r->opt.harmonics;
    const size_t n = r->list.n;
    r->number = numbers ? calloc(n + 1, sizeof *r->number) : NULL;
    if (!st && numbers && !r->number)
        st = psr_fail_nomem(&r->err, "numbers", (double)n * sizeof *r->number);
    if (!st && numbers && r->opt.resume)
        st = gpufold_record_open(&r->record, r->roots.cand, &r->err);
    return st ? st : fold_ranges(r);
}

int main(int argc, char **argv)
{
    struct run r = {.record = {.fd = -1}};
    size_t npath = (size_t)gpufold_options_parse(&r.opt, &r.tool, argc, argv);
    r.opt.run.path = (const char *const *)(argv + 1);
    r.opt.run.npath = npath;
    run_catch_signals();
    run_limit_threads(&r.opt.run.nthread, r.opt.quiet ? NULL : r.tool.name);
    psr_status st = run(&r);
    gpufold_record_close(&r.record, st != PSR_OK);
    cli_note_kept(&r.tool, r.opt.quiet || (r.number && !r.opt.resume), r.nkept, r.list.n,
                  r.opt.resume
                      ? "folds are complete: the same command goes on from there"
                      : "folds are complete: the same command with -resume goes on from there");
    free(r.number);
    psr_candlist_clear(&r.list);
    gpufold_roots_clear(&r.roots);
    return cli_end(&r.tool, st, &r.err, r.code);
}
