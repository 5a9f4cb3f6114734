/* The candidates of gpufold: from options, from accelsearch's records, from a table. */
#include "gpufold.h"

#include <psrkit/accel.h>
#include <psrkit/series.h>
#include <psrkit/tool.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LINE_BYTES = 4096, COLUMNS = 8, CAND_MAX = 1 << 20 };

psr_status gpufold_list_add(struct gpufold_list *list, const struct psr_folder_candidate *cand,
                            const char *name, bool by_period, psr_err *err)
{
    char made[64];
    if (list->n == list->room) {
        const size_t room = list->room ? 2 * list->room : 16;
        void *more = realloc(list->cand, room * sizeof *list->cand);
        if (!more)
            return psr_fail_nomem(err, "candidates", (double)room * sizeof *list->cand);
        list->cand = more;
        list->room = room;
    }
    if (!name && by_period)
        snprintf(made, sizeof made, "%.2fms_Cand", 1000 / cand->f);
    else if (!name)
        snprintf(made, sizeof made, "%.2fHz_Cand", cand->f);
    list->cand[list->n] = *cand;
    list->cand[list->n].name = strdup(name ? name : made);
    list->cand[list->n].plot_device = NULL;
    return list->cand[list->n++].name ? PSR_OK : psr_fail_nomem(err, "candidates", 64);
}

void gpufold_list_clear(struct gpufold_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        free((void *)list->cand[i].name);
        free((void *)list->cand[i].plot_device);
    }
    free(list->cand);
    memset(list, 0, sizeof *list);
}

/* What all candidates of a command have in common. */
static struct psr_folder_candidate begin_candidate(const struct gpufold_options *o)
{
    struct psr_folder_candidate c = {.phase = o->phs, .dm = o->dm, .nbin = o->nbin};
    if (o->binary)
        c.orbit = (struct psr_fold_orbit){.period_s = o->pb,
                                          .ecc = o->ecc,
                                          .asini_s = o->asini,
                                          .omega_deg = o->w,
                                          .t0_mjd = o->to};
    return c;
}

/* As prepfold: each derivative is given by period or by frequency, the latter first. */
static void set_spin(struct psr_folder_candidate *c, double p, double pd, double pdd, double f,
                     double fd, double fdd)
{
    c->f = f > 0 ? f : 1 / p;
    p = f > 0 ? 1 / f : p;
    if (fd != 0)
        pd = -fd / (c->f * c->f);
    c->fd = fd != 0 ? fd : pd != 0 ? -pd / (p * p) : 0;
    c->fdd = fdd != 0 ? fdd : pdd != 0 ? 2 * pd * pd / (p * p * p) - pdd / (p * p) : 0;
}

/* --- accelsearch ------------------------------------------------------------------------------ */

/* Length of the series that ROOT_ACCEL_200.cand was searched in, by ROOT.inf. */
static psr_status read_length(const char *accelfile, double *length_s, bool *bary, psr_err *err)
{
    const char *end = strstr(accelfile, "_ACCEL");
    if (!end)
        return psr_fail(err, PSR_EINVAL, "-accelfile %s: its name has no _ACCEL", accelfile);
    const size_t n = (size_t)(end - accelfile);
    char *path = malloc(n + sizeof ".inf");
    struct psr_inf inf;
    if (!path)
        return psr_fail_nomem(err, accelfile, (double)n);
    memcpy(path, accelfile, n);
    memcpy(path + n, ".inf", sizeof ".inf");
    psr_status st = psr_inf_read(&inf, path, err);
    free(path);
    if (!st) {
        *length_s = (double)inf.nbin * inf.tbin_s;
        *bary = inf.barycentric;
    }
    return st;
}

/* Records hold means over the search; folds begin with the values at its start. */
static psr_status add_record(struct gpufold_list *list, const struct gpufold_options *o, FILE *file,
                             int64_t number, double length_s, psr_err *err)
{
    unsigned char bytes[PSR_ACCEL_RECORD_BYTES];
    struct psr_accel_record record;
    char name[64];
    if (fseeko(file, (off_t)((number - 1) * (int64_t)sizeof bytes), SEEK_SET) != 0 ||
        fread(bytes, sizeof bytes, 1, file) != 1)
        return psr_fail(err, PSR_EINVAL, "%s: has no candidate %lld", o->accelfile,
                        (long long)number);
    psr_accel_unpack(&record, bytes);
    struct psr_folder_candidate c = begin_candidate(o);
    const double z0 = record.z - 0.5 * record.w, r0 = record.r - 0.5 * z0 - record.w / 6;
    c.f = r0 / length_s;
    c.fd = z0 / (length_s * length_s);
    c.fdd = record.w / (length_s * length_s * length_s);
    c.from_beginning = true;
    if (!(c.f > 0) || !isfinite(c.fd) || !isfinite(c.fdd))
        return psr_fail(err, PSR_EFORMAT,
                        "%s: candidate %lld: r = %g, z = %g, w = %g: no frequency", o->accelfile,
                        (long long)number, record.r, record.z, record.w);
    snprintf(name, sizeof name, "%s_Cand_%lld", strstr(o->accelfile, "_JERK") ? "JERK" : "ACCEL",
             (long long)number);
    return gpufold_list_add(list, &c, name, false, err);
}

/* "all", or numbers and ranges: 1,3,5-9. */
static psr_status add_records(struct gpufold_list *list, const struct gpufold_options *o,
                              FILE *file, double length_s, psr_err *err)
{
    const char *text = o->accelcand;
    psr_status st = PSR_OK;
    if (!strcmp(text, "all")) {
        fseeko(file, 0, SEEK_END);
        const int64_t n = (int64_t)ftello(file) / PSR_ACCEL_RECORD_BYTES;
        for (int64_t i = 1; i <= n && !st; i++)
            st = add_record(list, o, file, i, length_s, err);
        return st;
    }
    while (!st) {
        char *end;
        const long first = strtol(text, &end, 10);
        const long last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        if (end == text || first < 1 || last < first || last > CAND_MAX || (*end && *end != ','))
            return psr_fail(err, PSR_EINVAL,
                            "-accelcand %s: must be all, or numbers and ranges such as 1,3,5-9",
                            o->accelcand);
        for (long i = first; i <= last && !st; i++)
            st = add_record(list, o, file, i, length_s, err);
        if (!*end)
            break;
        text = end + 1;
    }
    return st;
}

static psr_status add_accel(struct gpufold_list *list, const struct gpufold_options *o,
                            psr_err *err)
{
    double length_s = 0;
    bool bary = false;
    psr_status st = read_length(o->accelfile, &length_s, &bary, err);
    if (st)
        return st;
    FILE *file = fopen(o->accelfile, "re");
    if (!file)
        return psr_fail_errno(err, "%s", o->accelfile);
    st = add_records(list, o, file, length_s, err);
    fclose(file);
    return st;
}

/* --- tables ----------------------------------------------------------------------------------- */

static const char *const keys[] = {"name", "DM", "p", "pd", "pdd", "f", "fd", "fdd"};
enum { NAME, DM, P, PD, PDD, F, FD, FDD, NKEY };

struct table {
    struct psr_text_lines lines;
    int column[COLUMNS]; /* index in keys */
    size_t ncolumn;
};

/* "# name DM p pd": what the columns are. */
static psr_status read_header(struct table *t, char *line, psr_err *err)
{
    bool has[NKEY] = {false};
    char *save, *word = strtok_r(line + 1, " \t\r\n", &save);
    for (; word; word = strtok_r(NULL, " \t\r\n", &save)) {
        int k = 0;
        while (k < NKEY && strcasecmp(word, keys[k]) != 0)
            k++;
        if (k == NKEY || has[k] || t->ncolumn == COLUMNS)
            return psr_fail(err, PSR_EFORMAT, "%s: line %ld: column '%.64s' is not known, or twice",
                            t->lines.name, t->lines.number, word);
        has[k] = true;
        t->column[t->ncolumn++] = k;
    }
    if (!has[DM] || has[P] == has[F] || (has[P] && (has[FD] || has[FDD])) ||
        (has[F] && (has[PD] || has[PDD])))
        return psr_fail(err, PSR_EFORMAT,
                        "%s: line %ld: columns must be DM and either p, pd, pdd or f, fd, fdd",
                        t->lines.name, t->lines.number);
    return PSR_OK;
}

static psr_status read_row(struct gpufold_list *list, const struct gpufold_options *o,
                           const struct table *t, char *line, psr_err *err)
{
    double value[NKEY] = {0};
    const char *name = NULL;
    char *save, *word = strtok_r(line, " \t\r\n", &save);
    if (!word || *word == '#')
        return PSR_OK;
    for (size_t i = 0; i < t->ncolumn; i++, word = strtok_r(NULL, " \t\r\n", &save)) {
        const int k = t->column[i];
        if (word && k == NAME)
            name = word;
        else if (!word || psr_parse_double("", word, k == DM || k == P || k == F ? 0 : -1e30, 1e30,
                                           &value[k], NULL))
            return psr_fail(err, PSR_EFORMAT, "%s: line %ld: %s = '%.64s' is no such number",
                            t->lines.name, t->lines.number, keys[k], word ? word : "");
    }
    if (word || (name && strchr(name, '/')) || !(value[P] > 0 || value[F] > 0))
        return psr_fail(err, PSR_EFORMAT, "%s: line %ld: %s", t->lines.name, t->lines.number,
                        word                        ? "more columns than the header"
                        : name && strchr(name, '/') ? "a name with /"
                                                    : "a period or frequency of 0");
    struct psr_folder_candidate c = begin_candidate(o);
    c.dm = value[DM];
    set_spin(&c, value[P], value[PD], value[PDD], value[F], value[FD], value[FDD]);
    return gpufold_list_add(list, &c, name, value[P] > 0, err);
}

/* A wrong line is reported; the others are folded. */
static psr_status read_rows(struct gpufold_list *list, const struct gpufold_options *o,
                            struct table *t, const struct cli *tool, psr_err *err)
{
    char line[LINE_BYTES];
    bool there = true;
    for (;;) {
        psr_status st = psr_text_lines_next(&t->lines, line, sizeof line, &there, err);
        if (st || !there)
            return st;
        if (!t->ncolumn && line[strspn(line, " \t\r\n")] == '\0')
            continue;
        if (!t->ncolumn && *line != '#')
            return psr_fail(err, PSR_EFORMAT, "%s: line %ld: the first must be # and columns",
                            t->lines.name, t->lines.number);
        st = t->ncolumn ? read_row(list, o, t, line, err) : read_header(t, line, err);
        if (st && !t->ncolumn)
            return st;
        if (st == PSR_EFORMAT && t->ncolumn && t->lines.number > 1) {
            cli_report(tool, err);
            list->faulty = true;
        } else if (st)
            return st;
    }
}

static psr_status add_table(struct gpufold_list *list, const struct gpufold_options *o,
                            const struct cli *tool, psr_err *err)
{
    struct table t = {.ncolumn = 0};
    psr_status st = psr_text_lines_open(&t.lines, o->candfile, PSR_TABLE_MAX_BYTES, err);
    if (st)
        return st;
    st = read_rows(list, o, &t, tool, err);
    psr_text_lines_close(&t.lines);
    if (!st && !list->n)
        st = psr_fail(err, PSR_EFORMAT, "%s: no candidate", o->candfile);
    return st;
}

/* --- all -------------------------------------------------------------------------------------- */

psr_status gpufold_list_make(struct gpufold_list *list, const struct gpufold_options *o,
                             const struct cli *tool, psr_err *err)
{
    psr_status st = PSR_OK;
    if (o->accelfile)
        st = add_accel(list, o, err);
    else if (o->candfile)
        st = add_table(list, o, tool, err);
    else {
        struct psr_folder_candidate c = begin_candidate(o);
        set_spin(&c, o->p, o->pd, o->pdd, o->f, o->fd, o->fdd);
        st = gpufold_list_add(list, &c, NULL, o->p > 0, err);
    }
    const double factor = o->pfact != 1 ? 1 / o->pfact : o->ffact;
    for (size_t i = 0; i < list->n && factor != 1; i++) {
        list->cand[i].f *= factor;
        list->cand[i].fd *= factor;
        list->cand[i].fdd *= factor;
    }
    return st;
}
