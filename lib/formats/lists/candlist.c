/* Lists of candidates to fold: adding to them, unique names, and numbers of their lines. */
#include "base/base.h"
#include "formats/series/series_internal.h"
#include "formats/spectra/header_keys.h"
#include "lists_internal.h"
#include "search/matched/response/accel_internal.h"

#include <math.h>
#include <psrkit/experimental/accel.h>
#include <psrkit/series.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 64 };

/* --- lists ------------------------------------------------------------------------------------ */

psr_status psr_candlist_add(struct psr_candlist *list, const struct psr_folder_candidate *cand,
                            const char *name, bool by_period, psr_err *err)
{
    char made[NAME_BYTES];
    psr_status st =
        psr_grow(&list->cand, &list->room, list->n, sizeof *list->cand, "candidates", err);
    if (st)
        return st;
    if (!name && by_period)
        snprintf(made, sizeof made, "%.2fms_Cand", 1000 / cand->f);
    else if (!name)
        snprintf(made, sizeof made, "%.2fHz_Cand", cand->f);
    char *copy = strdup(name ? name : made);
    if (!copy)
        return psr_fail_nomem(err, "candidates", NAME_BYTES);
    list->cand[list->n] = *cand;
    list->cand[list->n].name = copy;
    list->cand[list->n++].plot_device = NULL;
    return PSR_OK;
}

void psr_candlist_cut(struct psr_candlist *list, size_t n)
{
    while (list->n > n) {
        list->n--;
        free((void *)list->cand[list->n].name);
        free((void *)list->cand[list->n].plot_device);
    }
}

void psr_candlist_clear(struct psr_candlist *list)
{
    psr_candlist_cut(list, 0);
    free(list->cand);
    memset(list, 0, sizeof *list);
}

void psr_candlist_set_spin(struct psr_folder_candidate *c, double p, double pd, double pdd,
                           double f, double fd, double fdd)
{
    c->f = f > 0 ? f : 1 / p;
    p = f > 0 ? 1 / f : p;
    if (fd != 0)
        pd = -fd / (c->f * c->f);
    c->fd = fd != 0 ? fd : pd != 0 ? -pd / (p * p) : 0;
    c->fdd = fdd != 0 ? fdd : pdd != 0 ? 2 * pd * pd / (p * p * p) - pdd / (p * p) : 0;
}

/* --- unique names ----------------------------------------------------------------------------- */

struct named {
    const char *name;
    size_t i; /* in the list */
};

PSR_COMPARE(compare_names, struct named, PSR_THEN(strcmp(a->name, b->name), PSR_RISING(i)));

PSR_COMPARE(compare_name_only, struct named, strcmp(a->name, b->name));

/* Given: n   of the name so far; becomes that of the new one */
static char *make_name(const struct named *sorted, size_t count, const char *name, size_t *n)
{
    const size_t room = strlen(name) + 24;
    char *made = malloc(room);
    struct named key = {made, 0};
    do {
        if (made)
            snprintf(made, room, "%s_%zu", name, ++*n);
    } while (made && bsearch(&key, sorted, count, sizeof *sorted, compare_name_only));
    return made;
}

psr_status psr_candlist_make_unique(struct psr_candlist *list, const struct psr_notes *notes,
                                    psr_err *err)
{
    struct named *sorted = calloc(list->n + 1, sizeof *sorted);
    char **made = calloc(list->n + 1, sizeof *made);
    psr_status st = PSR_OK;
    for (size_t i = 0; sorted && i < list->n; i++)
        sorted[i] = (struct named){list->cand[i].name, i};
    if (!sorted || !made)
        st = psr_fail_nomem(err, "names", (double)list->n * sizeof *sorted);
    else
        qsort(sorted, list->n, sizeof *sorted, compare_names);
    for (size_t k = 1, n = 1; k < list->n && !st; k++) {
        if (strcmp(sorted[k].name, sorted[k - 1].name) != 0) {
            n = 1;
            continue;
        }
        char *name = made[sorted[k].i] = make_name(sorted, list->n, sorted[k].name, &n);
        if (!name)
            st = psr_fail_nomem(err, "names", NAME_BYTES);
        else
            psr_note(notes, "candidate %zu: another is called %s: this one is %s", sorted[k].i + 1,
                     sorted[k].name, name);
    }
    for (size_t i = 0; made && i < list->n; i++)
        if (made[i]) {
            free((void *)list->cand[i].name);
            list->cand[i].name = made[i];
        }
    free(sorted);
    free(made);
    return st;
}

/* --- lines ------------------------------------------------------------------------------------ */

psr_status psr_candlist_fail(const struct psr_candlist_lines *l, psr_err *err, const char *field,
                             const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    psr_status st = psr_text_fail_line(l->text.name, l->text.number, err, field, fmt, ap);
    va_end(ap);
    return st;
}

psr_status psr_candlist_number(const struct psr_candlist_lines *l, const char *field,
                               const char *text, double unit, double min, double max, double *value,
                               psr_err *err)
{
    psr_err why;
    if (psr_parse_double(field, text, min / unit, max / unit, value, &why))
        return psr_candlist_fail(l, err, field, "%.250s", why.msg);
    *value *= unit;
    return PSR_OK;
}

/* Candidates to fold from the records of an acceleration search. */

enum { NUMBER_MAX = 1 << 24 };

bool psr_candlist_set_bins(struct psr_folder_candidate *c, double r, double z, double w,
                           double length_s)
{
    const double z0 = z - 0.5 * w, r0 = r - 0.5 * z0 - w / 6;
    c->f = r0 / length_s;
    c->fd = z0 / (length_s * length_s);
    c->fdd = w / (length_s * length_s * length_s);
    c->at = PSR_FOLD_AT_BEGINNING;
    return c->f > 0 && isfinite(c->f) && isfinite(c->fd) && isfinite(c->fdd);
}

/* What ROOT.inf says of the series that ROOT_ACCEL_200.cand was searched in. */
static psr_status read_inf(struct psr_candlist_accel *a, psr_err *err)
{
    const char *end = strstr(a->path, "_ACCEL");
    for (const char *more = end; more; more = strstr(more + 1, "_ACCEL"))
        end = more;
    if (!end)
        return psr_fail(err, PSR_EINVAL, "-accelfile %s: its name has no _ACCEL", a->path);
    const size_t n = (size_t)(end - a->path);
    char *path = malloc(n + sizeof ".inf");
    struct psr_inf inf;
    if (!path)
        return psr_fail_nomem(err, a->path, (double)n);
    memcpy(path, a->path, n);
    memcpy(path + n, ".inf", sizeof ".inf");
    psr_status st = psr_inf_read(&inf, path, err);
    free(path);
    if (!st) {
        a->length_s = (double)inf.nbin * inf.tbin_s;
        a->dm = inf.dm;
    }
    return st;
}

psr_status psr_candlist_accel_open(struct psr_candlist_accel *a, const char *path, psr_err *err)
{
    a->path = path;
    psr_status st = read_inf(a, err);
    if (st)
        return st;
    a->file = psr_open_file(path);
    return a->file ? PSR_OK : psr_fail_errno(err, "%s", path);
}

void psr_candlist_accel_close(struct psr_candlist_accel *a)
{
    if (a->file)
        fclose(a->file);
    a->file = NULL;
}

/* What was found in a segment is folded over it, and its values are those of its first sample. */
static void set_range(struct psr_folder_candidate *cand, struct psr_segment segment)
{
    if (segment.of == 1)
        return;
    cand->start = (segment.number - 1.0) / segment.of;
    cand->end = (double)segment.number / segment.of;
    cand->at = PSR_FOLD_AT_START;
}

psr_status psr_candlist_accel_get(const struct psr_candlist_accel *a, int64_t number,
                                  struct psr_folder_candidate *cand, psr_err *err)
{
    unsigned char bytes[PSR_ACCEL_RECORD_BYTES];
    struct psr_accel_record record;
    if (number < 1 || number > NUMBER_MAX ||
        fseeko(a->file, (off_t)((number - 1) * (int64_t)sizeof bytes), SEEK_SET) != 0 ||
        fread(bytes, sizeof bytes, 1, a->file) != 1)
        return psr_fail(err, PSR_EINVAL, "%s: has no candidate %lld", a->path, (long long)number);
    psr_accel_unpack(&record, bytes);
    if (!psr_candlist_set_bins(cand, record.r, record.z, record.w, a->length_s))
        return psr_fail(
            err, PSR_EFORMAT, "%s: candidate %lld: r = %g, z = %g, w = %g: no frequency%s", a->path,
            (long long)number, record.r, record.z, record.w,
            psr_path_ends(a->path, ".cand") ? "" : "; the list of numbers is that in .cand");
    set_range(cand, psr_segment_find(a->path));
    return PSR_OK;
}

static psr_status add_record(struct psr_candlist *list, const struct psr_candlist_accel *a,
                             int64_t number, const struct psr_candlist_desc *d, psr_err *err)
{
    char name[64];
    struct psr_folder_candidate c = d->common;
    psr_status st = psr_candlist_accel_get(a, number, &c, err);
    snprintf(name, sizeof name, "%s_Cand_%lld", strstr(a->path, "_JERK") ? "JERK" : "ACCEL",
             (long long)number);
    return st ? st : psr_candlist_add(list, &c, name, false, err);
}

static psr_status add_all(struct psr_candlist *list, const struct psr_candlist_accel *a,
                          const struct psr_candlist_desc *d, psr_err *err)
{
    psr_status st = PSR_OK;
    if (fseeko(a->file, 0, SEEK_END) != 0)
        return psr_fail_errno(err, "%s", a->path);
    const int64_t n = (int64_t)ftello(a->file) / PSR_ACCEL_RECORD_BYTES;
    for (int64_t i = 1; i <= n && !st; i++) {
        st = add_record(list, a, i, d, err);
        if (st == PSR_EFORMAT && d->refuse) {
            d->refuse(d->ctx, err);
            st = PSR_OK;
        }
    }
    return st || list->n ? st : psr_fail(err, PSR_EFORMAT, "%s: no candidate", a->path);
}

static psr_status add_numbers(struct psr_candlist *list, const struct psr_candlist_accel *a,
                              const char *numbers, const struct psr_candlist_desc *d, psr_err *err)
{
    psr_status st = PSR_OK;
    for (const char *text = numbers; !st;) {
        char *end;
        const long first = strtol(text, &end, 10);
        const long last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        if (end == text || first < 1 || last < first || last > NUMBER_MAX || (*end && *end != ','))
            return psr_fail(err, PSR_EINVAL,
                            "-accelcand %s: must be all, or numbers and ranges such as 1,3,5-9",
                            numbers);
        for (long i = first; i <= last && !st; i++)
            st = add_record(list, a, i, d, err);
        if (!*end)
            break;
        text = end + 1;
    }
    return st;
}

psr_status psr_candlist_read_accel(struct psr_candlist *list, const char *path, const char *numbers,
                                   const struct psr_candlist_desc *desc, psr_err *err)
{
    struct psr_candlist_accel a = {.path = NULL};
    struct psr_candlist_desc d;
    psr_status st = psr_copy_desc(&d, sizeof d, desc, "candlist", err);
    if (!st)
        st = psr_candlist_accel_open(&a, path, err);
    if (!st)
        st = strcmp(numbers, "all") ? add_numbers(list, &a, numbers, &d, err)
                                    : add_all(list, &a, &d, err);
    psr_candlist_accel_close(&a);
    return st;
}

psr_status psr_candlist_accel_all(struct psr_candlist *list, const char *path,
                                  const struct psr_candlist_desc *desc, psr_err *err)
{
    struct psr_candlist_accel a = {.path = NULL};
    struct psr_candlist_desc d = *desc;
    psr_status st = psr_candlist_accel_open(&a, path, err);
    if (!st && !d.has_dm)
        d.common.dm = a.dm;
    if (!st)
        st = add_all(list, &a, &d, err);
    psr_candlist_accel_close(&a);
    return st;
}
