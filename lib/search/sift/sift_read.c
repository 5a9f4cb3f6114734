/* Takes candidates in: of files, read in parallel, and of lists in memory. */
#include "sift_state.h"

#include "base/base.h"
#include "formats/lists/lists_internal.h"
#include "formats/series/series_internal.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- detections of a fast folding search, as a Fourier search would list them ----------------- */

static int count_harmonics(double duty)
{
    const double n = duty > 0 ? floor(psr_sift_fold_share / duty) : PSR_ACCEL_LIST_MAX_HARM;
    return n < 1 ? 1 : n < PSR_ACCEL_LIST_MAX_HARM ? (int)n : PSR_ACCEL_LIST_MAX_HARM;
}

static double boxcar_power(double x)
{
    return x > 0 ? pow(sin(M_PI * x) / (M_PI * x), 2) : 1;
}

/* Gives a row of a fast folding search the harmonics of its boxcar, with the power that has its S/N as sigma.
 * Given:  power [PSR_ACCEL_LIST_MAX_HARM]   room that row points to afterwards */
static void sift_make_harmonics(struct psr_accel_row *row, double *power)
{
    const int n = count_harmonics(row->fold_duty);
    const double above = psr_sift_power_of(row->fold_snr, n) - n;
    double sum = 0;
    for (int h = 1; h <= n; h++)
        sum += power[h - 1] = boxcar_power(h * row->fold_duty);
    for (int h = 0; h < n; h++)
        power[h] = 1 + above * power[h] / sum;
    row->nharm = n;
    row->harm_power = power;
}

/* --- lists ------------------------------------------------------------------------------------ */

enum { FEWEST_DECIMALS = 2, MOST_DECIMALS = 6 };

/* The decimals of a DM. */
static int count_decimals(double dm)
{
    int n = FEWEST_DECIMALS;
    while (n < MOST_DECIMALS && fabs(dm * pow(10, n) - rint(dm * pow(10, n))) > 1e-4)
        n++;
    return n;
}

/* The name of one DM's part of a list: ROOT_DM12.50_ffa.csv of ROOT_ffa.csv; a list of one DM has that name. */
static char *name_part(const char *path, double dm)
{
    const int stem = (int)(strlen(path) - strlen("_ffa.csv"));
    char *name = NULL;
    double own;
    if (psr_series_find_dm(path, &own) >= 0 &&
        psr_sift_dm_key(own, false) == psr_sift_dm_key(dm, false))
        return strdup(path);
    return asprintf(&name, "%.*s_DM%.*f_ffa.csv", stem, path, count_decimals(dm), dm) < 0 ? NULL
                                                                                          : name;
}

/* Passes on the candidates of NAME_ffa.csv, a list for each DM.
 * Status: those of psr_ffa_list_read and of take */
static psr_status sift_read_ffa(struct psr_sift *s, const char *path, psr_sift_take_list *take,
                                psr_err *err)
{
    struct psr_ffa_detections list;
    psr_status st = psr_ffa_list_read(&list, path, err);
    for (size_t i = 0, end; i < list.n && !st; i = end) {
        end = i + 1;
        while (end < list.n &&
               psr_sift_dm_key(list.hit[end].dm, false) == psr_sift_dm_key(list.hit[i].dm, false))
            end++;
        /* Adds the n detections of one DM. */
        const struct psr_ffa_detection *hit = list.hit + i;
        size_t n = end - i;
        struct psr_accel_rows rows = {
            .row = calloc(n, sizeof *rows.row), .n = n, .tobs_s = list.tobs_s, .inf = list.inf};
        char *name = name_part(path, hit->dm);
        st = name && rows.row ? PSR_OK : psr_fail_nomem(err, path, (double)n);
        rows.inf.dm = hit->dm;
        for (size_t k = 0; k < n && !st; k++)
            rows.row[k] = (struct psr_accel_row){.number = hit[k].number,
                                                 .r = hit[k].freq_hz * list.tobs_s,
                                                 .fold_snr = hit[k].snr,
                                                 .fold_duty = hit[k].duty};
        if (!st)
            st = take(s, &rows, name, hit->dm, err);
        if (!st)
            s->list[s->nlist - 1].dm_decimals = count_decimals(hit->dm);
        free(rows.row);
        free(name);
    }
    psr_ffa_detections_clear(&list);
    return st;
}

/* --- takes candidates in: of files, read in parallel, and of lists in memory ------------------ */

/* A list that is read, before it is added. */
struct reading {
    struct psr_sift_list list;
    struct psr_sift_entries found;
    size_t nread, count[PSR_SIFT_NREASON];
    double faintest;
    psr_status status;
    psr_err err;
};

static psr_status append_entry(struct psr_sift_entries *to, const struct psr_sift_entry *e,
                               psr_err *err)
{
    psr_status st = psr_grow(&to->entry, &to->room, to->n, sizeof *to->entry, "candidates", err);
    if (!st) {
        /* Its harmonics' powers go to the end of the list's. */
        size_t n = (size_t)e->nharm;
        while (!st && to->power_room < to->npower + n)
            st = psr_grow(&to->power, &to->power_room, to->power_room, sizeof *to->power,
                          "candidates", err);
    }
    if (st)
        return st;
    to->entry[to->n] = *e;
    to->entry[to->n++].harm = to->npower;
    to->npower += (size_t)e->nharm;
    return PSR_OK;
}

/* Keeps the rows that pass, and the others if they are wanted. */
static psr_status take_rows(const struct psr_sift *s, struct reading *to,
                            const struct psr_accel_rows *rows, psr_err *err)
{
    psr_status st = PSR_OK;
    to->nread = rows->n;
    to->faintest = INFINITY;
    const double scale = s->nline ? psr_sift_topo_scale(s, &to->list) : 1;
    for (size_t i = 0; i < rows->n && !st; i++) {
        struct psr_accel_row row = rows->row[i];
        double made[PSR_ACCEL_LIST_MAX_HARM];
        enum psr_sift_lines lines = PSR_SIFT_NO_LINES;
        if (row.fold_snr > 0)
            sift_make_harmonics(&row, made);
        else
            lines = psr_sift_leave_lines_out(s, &to->list, scale, &row, made);
        struct psr_sift_entry e = psr_sift_make_entry(s, &row, rows->tobs_s);
        e.lines = lines;
        e.reason = psr_sift_judge(s, &e, row.harm_power, rows->tobs_s, rows->inf.barycentric);
        to->count[e.reason]++;
        to->faintest = fmin(to->faintest, e.sigma);
        if (e.reason != PSR_SIFT_GOOD && !s->d.keep_rejects)
            continue;
        st = append_entry(&to->found, &e, err);
        for (int h = 0; h < e.nharm && !st; h++)
            to->found.power[to->found.npower - (size_t)e.nharm + (size_t)h] =
                (float)row.harm_power[h];
    }
    return st;
}

static struct psr_sift_band find_band(const struct psr_inf *inf)
{
    const double low_mhz = inf->lowest_mhz - inf->chan_width_mhz / 2;
    const double width_mhz = inf->chan_width_mhz * (double)inf->nchan;
    return low_mhz > 0 && width_mhz > 0 ? (struct psr_sift_band){low_mhz, low_mhz + width_mhz}
                                        : (struct psr_sift_band){0, 0};
}

/* What is known of a list; its path is copied. */
static psr_status describe(const struct psr_sift *s, struct psr_sift_list *list, const char *path,
                           const struct psr_accel_rows *rows, double dm, psr_err *err)
{
    const bool keep_inf = s->d.catalogue || s->nline;
    list->path = strdup(path);
    if (keep_inf)
        list->inf = malloc(sizeof *list->inf);
    if (!list->path || (keep_inf && !list->inf))
        return psr_fail_nomem(err, path, (double)sizeof *list->inf);
    list->file = psr_path_file(list->path);
    list->tobs_s = rows->tobs_s;
    list->dm = dm;
    list->dm_key = psr_sift_dm_key(dm, s->d.presto);
    list->band = find_band(&rows->inf);
    list->segment = psr_segment_find(s->d.presto ? "" : path);
    if (list->inf)
        *list->inf = rows->inf;
    return PSR_OK;
}

static void clear_reading(struct reading *r)
{
    free(r->list.path);
    free(r->list.inf);
    free(r->found.entry);
    free(r->found.power);
    *r = (struct reading){.status = PSR_OK};
}

static psr_status read_list(const struct psr_sift *s, struct reading *r, const char *path)
{
    struct psr_accel_rows rows;
    double dm = 0;
    psr_status st = psr_accel_read(&rows, path, s->d.presto, &r->err);
    const int decimals = psr_sift_dm_of_name(path, s->d.presto, &dm);
    if (!st && decimals < 0 && s->d.presto)
        st = psr_fail_field(&r->err, PSR_EFORMAT, "DM",
                            "%s: its name has no DM with two decimals, as in ROOT_DM12.50_ACCEL_0",
                            path);
    if (!st)
        st = describe(s, &r->list, path, &rows, decimals < 0 ? rows.inf.dm : dm, &r->err);
    if (!st)
        st = take_rows(s, r, &rows, &r->err);
    r->list.dm_decimals = decimals < 0 ? 0 : decimals;
    psr_accel_rows_clear(&rows);
    return st;
}

/* Moves a list that was read to the others. */
static psr_status add_reading(struct psr_sift *s, struct reading *r, psr_err *err)
{
    psr_status st = psr_grow(&s->list, &s->list_room, s->nlist, sizeof *s->list, "lists", err);
    if (st)
        return st;
    s->list[s->nlist++] = r->list;
    r->list = (struct psr_sift_list){.path = NULL};
    for (size_t i = 0; i < r->found.n && !st; i++) {
        struct psr_sift_entry e = r->found.entry[i];
        e.list = s->nlist - 1;
        e.last = s->all.n;
        const float *power = r->found.power + e.harm;
        st = append_entry(&s->all, &e, err);
        if (!st && e.nharm)
            memcpy(s->all.power + s->all.npower - e.nharm, power, (size_t)e.nharm * sizeof *power);
    }
    s->nread += r->nread;
    s->faintest = fmin(s->faintest, r->faintest);
    for (size_t k = 0; k < PSR_SIFT_NREASON; k++)
        s->count[k] += r->count[k];
    return st;
}

static psr_status read_lists(psr_sift *s, const char *const *path, size_t n, psr_err *err)
{
    const size_t first = s->nlist;
    const struct psr_stop told = {.ctx = s->d.ctx, .progress = s->d.progress};
    struct psr_progress work = {&told, 0, (int64_t)n};
    struct reading *r = calloc(n ? n : 1, sizeof *r);
    if (!r)
        return psr_fail_nomem(err, "lists", (double)n * sizeof *r);
#pragma omp parallel for schedule(dynamic) num_threads(s->d.nthread)
    for (size_t i = 0; i < n; i++) {
        if (!psr_ffa_is_list(path[i]))
            r[i].status = read_list(s, &r[i], path[i]);
        psr_progress_add(&work, 1);
    }
    psr_status st = PSR_OK;
    for (size_t i = 0; i < n && !st; i++) {
        if (psr_ffa_is_list(path[i]))
            r[i].status = sift_read_ffa(s, path[i], psr_sift_add, &r[i].err);
        if (r[i].status == PSR_OK && psr_ffa_is_list(path[i]))
            continue;
        if (r[i].status == PSR_OK) {
            st = add_reading(s, &r[i], err);
        } else if (s->d.refuse && r[i].status != PSR_ENOMEM) {
            s->d.refuse(s->d.ctx, path[i], &r[i].err);
        } else {
            st = r[i].status;
            if (err)
                *err = r[i].err;
        }
    }
    for (size_t i = 0; i < n; i++)
        clear_reading(&r[i]);
    free(r);
    return st ? st : psr_sift_find_dms(s, first, err);
}

/* Adds the names of the lists of candidates in a file of lists; a wrong one is refused. */
static psr_status name_members(const struct psr_sift *s, struct psr_names *to, const char *path,
                               psr_err *err)
{
    struct psr_names all = {.n = 0};
    psr_err why;
    psr_status st = psr_lists_names(&all, path, &why);
    for (size_t i = 0; i < all.n && !st; i++)
        if (psr_accel_is_list(all.name[i]))
            st = psr_names_add(to, all.name[i], &why);
    psr_names_clear(&all);
    if (!st || !s->d.refuse || st == PSR_ENOMEM)
        return st ? psr_fail_field(err, st, why.field, "%s", why.msg) : PSR_OK;
    s->d.refuse(s->d.ctx, path, &why);
    return PSR_OK;
}

psr_status psr_sift_read(psr_sift *s, const char *const *path, size_t n, psr_err *err)
{
    struct psr_names all = {.n = 0};
    psr_status st = PSR_OK;
    for (size_t i = 0; i < n && !st; i++)
        st = psr_is_lists(path[i]) ? name_members(s, &all, path[i], err)
                                   : psr_names_add(&all, path[i], err);
    if (!st)
        st = read_lists(s, (const char *const *)all.name, all.n, err);
    psr_names_clear(&all);
    return st;
}

psr_status psr_sift_add(psr_sift *s, const struct psr_accel_rows *rows, const char *path, double dm,
                        psr_err *err)
{
    struct reading r = {.status = PSR_OK};
    if (!isfinite(dm) || !(rows->tobs_s > 0))
        return psr_fail_field(err, PSR_EINVAL, "dm", "%s: dm = %g, tobs = %g s: no trial", path, dm,
                              rows->tobs_s);
    psr_status st = describe(s, &r.list, path, rows, dm, err);
    if (!st)
        st = take_rows(s, &r, rows, err);
    if (!st)
        st = add_reading(s, &r, err);
    clear_reading(&r);
    return st;
}
