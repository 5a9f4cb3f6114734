/* The folds of a folder, and which candidates they are of. */
#include "psrreport.h"

#include "tools/common/cli.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- what gpufold says of folds beside their .pfd --------------------------------------------- */

/* the period that is told, and sigma after trials. */

/* The fold that a line is of: of this name, and with its numbers, as it may have been made anew since. */
static struct report_fold *find_fold(struct report *r, const struct json_value *object)
{
    const char *name = json_text(object, "candidate");
    const double sigma = json_number(object, "sigma");
    for (size_t i = 0; i < r->nfold; i++) {
        const struct psr_bestprof *b = &r->fold[i].best;
        if (!strcmp(b->candidate, name) && fabs(b->sigma - sigma) <= 1e-3 * fmax(1, sigma))
            return &r->fold[i];
    }
    return NULL;
}

/* 1/3, 1/2, 1, 2 or 3, which have ten digits in the file; not a number for others. */
static double take_ratio(double told)
{
    const double whole = told >= 1 ? round(told) : round(1 / told),
                 is = told >= 1 ? told : 1 / told;
    if (!(whole >= 1 && whole <= 3) || fabs(is - whole) > 1e-6)
        return NAN;
    return told >= 1 ? whole : 1 / whole;
}

static void scale(struct psr_bestprof_value value[3], double ratio)
{
    for (int k = 0; k < 3; k++) {
        value[k].value *= ratio;
        value[k].error *= ratio;
    }
}

static psr_status take_line(void *ctx, char *text, struct json_value *object, bool *keep,
                            psr_err *err)
{
    struct report *r = ctx;
    struct report_fold *f = find_fold(r, object);
    const double told = json_number(object, "p_ratio"), ratio = take_ratio(isnan(told) ? 1 : told);
    (void)text, (void)keep;
    if (isnan(ratio))
        return psr_fail_field(err, PSR_EFORMAT, "p_ratio",
                              "%.100s: p_ratio = %g, must be 1/3, 1/2, 1, 2 or 3",
                              json_text(object, "candidate"), told);
    if (!f || f->told)
        return PSR_OK;
    f->told = true;
    scale(f->best.topo, ratio);
    scale(f->best.bary, ratio);
    if (!isnan(json_number(object, "sigma_trials")))
        f->best.sigma_trials = json_number(object, "sigma_trials");
    return PSR_OK;
}

/* Of .fold.json, for folds that were read. */
static psr_status report_read_fold_numbers(struct report *r, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t i = 0; i < r->files.n && !st; i++)
        if (psr_path_ends(r->files.name[i], ".fold.json"))
            st = report_read_json(r, r->files.name[i], take_line, r, err);
    return st;
}

static psr_status read_fold(struct report *r, const char *name, psr_err *err)
{
    struct report_fold *f = &r->fold[r->nfold];
    struct psr_pfd pfd = {.ndm = 0};
    psr_err why;
    char *path = report_path(r, name);
    if (!path)
        return psr_fail_nomem(err, name, (double)strlen(name));
    psr_status st = psr_pfd_read(&pfd, path, 0, &why);
    if (!st)
        st = psr_fold_bestprof(&f->best, &pfd, &why);
    if (!st)
        st = psr_fold_is_narrow(&f->narrow, &pfd, &why);
    if (!st)
        st = psr_cand_measure(&f->score, &pfd, &why);
    if (st) {
        report_refuse(r, &why);
    } else {
        memcpy(f->ra, pfd.ra, sizeof f->ra);
        memcpy(f->dec, pfd.dec, sizeof f->dec);
        f->f_user = pfd.fold.f;
        f->fd_user = pfd.fold.fd;
        f->dm_user = pfd.ndm ? pfd.trial_dm[(pfd.ndm - 1) / 2] : f->best.dm;
        f->dm_step = pfd.ndm > 1 ? pfd.trial_dm[1] - pfd.trial_dm[0] : NAN;
        f->file = name;
        char picture[512];
        const int n = snprintf(picture, sizeof picture, "%s.png", name);
        f->picture = n < (int)sizeof picture ? psr_names_find(&r->files, picture) : NULL;
        r->nfold++;
    }
    psr_bestprof_clear(&f->best);
    psr_pfd_clear(&pfd);
    free(path);
    return PSR_OK;
}

psr_status report_read_folds(struct report *r, psr_err *err)
{
    struct run_progress bar;
    size_t n = 0, ndone = 0;
    psr_status st = PSR_OK;
    for (size_t i = 0; i < r->files.n; i++)
        n += psr_path_ends(r->files.name[i], ".pfd");
    if (!n)
        return PSR_OK;
    r->fold = calloc(n, sizeof *r->fold);
    if (!r->fold)
        return psr_fail_nomem(err, "folds", (double)n * sizeof *r->fold);
    run_progress_start(&bar, run_progress_mode(r->opt->quiet || r->is_row, false), (int64_t)n,
                       "folds", 1);
    for (size_t i = 0; i < r->files.n && !st && !run_stop_signal(); i++)
        if (psr_path_ends(r->files.name[i], ".pfd")) {
            st = read_fold(r, r->files.name[i], err);
            run_progress_update(&bar, (int64_t)++ndone);
        }
    run_progress_end(&bar);
    return st ? st : report_read_fold_numbers(r, err);
}

/* --- candidates ------------------------------------------------------------------------------- */

static bool is_known(double x)
{
    return isfinite(x) && x != 0;
}

double report_fold_period(const struct report_fold *f, double *error)
{
    const struct psr_bestprof_value *p =
        is_known(f->best.topo[0].value) ? &f->best.topo[0] : &f->best.bary[0];
    if (error)
        *error = p->error * 1e-3;
    return p->value * 1e-3;
}

/* Significance of the fold, else of the search. */
static double report_significance(const struct report_cand *c)
{
    const double of_fold = c->fold ? c->fold->best.sigma : NAN;
    return isnan(of_fold) ? c->value[CAND_SIGMA] : of_fold;
}

enum report_class report_classify(const struct report_cand *c)
{
    const size_t n = c->note ? strlen(c->note) : 0;
    if (n && c->note[n - 1] != '?')
        return REPORT_KNOWN;
    return psr_sift_marks_count(c->marks) ? REPORT_MARKED : REPORT_GOOD;
}

PSR_COMPARE_POINTERS(by_candidate, struct report_fold,
                     PSR_THEN(strcmp(a->best.candidate, b->best.candidate),
                              strcmp(a->file, b->file)));

/* In the order of the list; folds that it does not have follow by significance. */
static int by_rank(const void *a, const void *b)
{
    const struct report_cand *x = a, *y = b;
    const double s = report_significance(x), t = report_significance(y);
    const bool last = report_classify(x) == REPORT_MARKED;
    if (last != (report_classify(y) == REPORT_MARKED))
        return last ? 1 : -1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (isnan(s) != isnan(t))
        return isnan(s) ? 1 : -1;
    if (s != t && !isnan(s))
        return s > t ? -1 : 1;
    const int order = strcmp(x->list ? x->list : "", y->list ? y->list : "");
    if (order || !x->fold || !y->fold)
        return order ? order
                     : (x->value[CAND_NUMBER] > y->value[CAND_NUMBER]) -
                           (x->value[CAND_NUMBER] < y->value[CAND_NUMBER]);
    return strcmp(x->fold->file, y->fold->file);
}

/* gpufold and prepfold call a fold after its candidate, LIST_Cand_NUMBER or ACCEL_Cand_NUMBER. */
static struct report_fold *find_by_name(struct report_fold *const *sorted, size_t n,
                                        const struct report_cand *c)
{
    char name[PSR_TEXT_MAX + 32];
    size_t low = 0, high = n;
    snprintf(name, sizeof name, "%.250s_Cand_%.0f", c->list, c->value[CAND_NUMBER]);
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (strcmp(sorted[middle]->best.candidate, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    const bool found = low < n && !strcmp(sorted[low]->best.candidate, name) && !sorted[low]->taken;
    return found ? sorted[low] : NULL;
}

/* The frequency of the fold is that of its start, half the drift away from that of the search. */
static struct report_fold *find_by_place(struct report_fold *const *sorted, size_t n,
                                         const struct report_cand *c)
{
    const double *v = c->value;
    const double tolerance = (2 + fabs(v[CAND_Z])) / v[CAND_TOBS_S];
    for (size_t i = 0; i < n; i++) {
        struct report_fold *f = sorted[i];
        const double dm = isnan(f->dm_user) ? 0 : fabs(f->dm_user - v[CAND_DM]);
        if (!f->taken && fabs(f->f_user - v[CAND_FREQ_HZ]) <= tolerance &&
            dm <= fmax(0.01 * v[CAND_DM], 0.5))
            return f;
    }
    return NULL;
}

/* A fold says which part of the band its pulse is in, which a search cannot. */
static void set_fold(struct report_cand *c, struct report_fold *f)
{
    const size_t n = c->marks[0] == '-' ? 0 : strlen(c->marks);
    c->fold = f;
    f->taken = true;
    if (f->narrow && !strstr(c->marks, "narrow"))
        snprintf(c->marks + n, sizeof c->marks - n, "%snarrow", n ? "+" : "");
}

/* A fold that the list does not have: of a candidate given by hand, or of an ephemeris, PSR_NAME. */
static psr_status add_fold(struct report *r, struct report_fold *f, psr_err *err)
{
    struct report_cand c = {.rank = SIZE_MAX};
    for (int k = 0; k < CAND_NVALUE; k++)
        c.value[k] = NAN;
    c.value[CAND_DM] = f->best.dm;
    c.value[CAND_PERIOD_S] = report_fold_period(f, NULL);
    c.value[CAND_FREQ_HZ] = 1 / c.value[CAND_PERIOD_S];
    const char *name = f->best.candidate, *known = strncmp(name, "PSR_", 4) != 0 ? "" : name + 4;
    psr_status st = report_add_candidate(r, &c, name, known, err);
    if (!st)
        set_fold(&r->cand[r->ncand - 1], f);
    return st;
}

psr_status report_join_folds(struct report *r, psr_err *err)
{
    struct report_fold **sorted = calloc(r->nfold + 1, sizeof *sorted);
    psr_status st = sorted ? PSR_OK : psr_fail_nomem(err, "folds", (double)r->nfold * 8);
    for (size_t i = 0; i < r->nfold && !st; i++)
        sorted[i] = &r->fold[i];
    if (!st && r->nfold) {
        qsort((void *)sorted, r->nfold, sizeof *sorted, by_candidate);
        for (int by_place = 0; by_place < 2; by_place++)
            for (size_t i = 0; i < r->ncand; i++) {
                struct report_cand *c = &r->cand[i];
                if (c->fold)
                    continue;
                struct report_fold *f = by_place ? find_by_place(sorted, r->nfold, c)
                                                 : find_by_name(sorted, r->nfold, c);
                if (f)
                    set_fold(c, f);
            }
    }
    for (size_t i = 0; i < r->nfold && !st; i++)
        if (!r->fold[i].taken)
            st = add_fold(r, &r->fold[i], err);
    if (!st && r->ncand)
        qsort(r->cand, r->ncand, sizeof *r->cand, by_rank);
    free((void *)sorted);
    return st;
}
