/* Candidates to fold from tables whose header names the columns, and comma-separated values. */
#include "base/base.h"
#include "formats/series/series_internal.h"
#include "lists_internal.h"

#include <psrkit/obs.h>

#include <string.h>
#include <strings.h>

/* clang-format off */
enum key {
    NAME, ID, FILENAME, DM, P, PD, PDD, F, FD, FDD, ACC, R, Z, W, TOBS, EPOCH, PB, A1, T0, OM, ECC, NKEY
};
/* clang-format on */

_Static_assert((int)NKEY <= (int)PSR_CANDLIST_KEYS, "has has a place for each");

static const struct limits {
    double min, max;
    bool is_text, is_needed; /* empty fields count as 0 if not */
} limits[NKEY] = {
    [NAME] = {.is_text = true},
    [ID] = {.is_text = true},
    [FILENAME] = {.is_text = true},
    [DM] = {.min = 0, .max = 1e6, .is_needed = true},
    [P] = {.min = 1e-9, .max = 1e9, .is_needed = true},
    [PD] = {.min = -1e30, .max = 1e30},
    [PDD] = {.min = -1e30, .max = 1e30},
    [F] = {.min = 1e-9, .max = 1e9, .is_needed = true},
    [FD] = {.min = -1e30, .max = 1e30},
    [FDD] = {.min = -1e30, .max = 1e30},
    [ACC] = {.min = -1e9, .max = 1e9},
    [R] = {.min = 1e-3, .max = 1e15, .is_needed = true},
    [Z] = {.min = -1e9, .max = 1e9},
    [W] = {.min = -1e9, .max = 1e9},
    [TOBS] = {.min = 1e-9, .max = 1e12, .is_needed = true},
    [EPOCH] = {.min = 0, .max = 1e6, .is_needed = true},
    [PB] = {.min = 0, .max = 1e12},
    [A1] = {.min = 0, .max = 1e9},
    [T0] = {.min = 0, .max = 1e6},
    [OM] = {.min = 0, .max = 360},
    [ECC] = {.min = 0, .max = 0.9999999},
};

/* The first name of each is prepfold_multi's if it has one. */
struct psr_candlist_column {
    const char *name;
    enum key key;
    double unit;    /* s, Hz, m/s^2.. of the number 1 */
    bool is_middle; /* of searches that state values in the middle of the input */
};

static const struct psr_candlist_column columns[] = {
    {"name", NAME, 1, false},
    {"candidate", NAME, 1, false},
    {"id", ID, 1, false},
    {"cand", ID, 1, false},
    {"file", FILENAME, 1, false},
    {"DM", DM, 1, false},
    {"dm_new", DM, 1, false},
    {"p", P, 1, false},
    {"period", P, 1, false},
    {"period_s", P, 1, false},
    {"p_ms", P, 1e-3, false},
    {"period_ms", P, 1e-3, false},
    {"P(ms)", P, 1e-3, false},
    {"pd", PD, 1, false},
    {"pdot", PD, 1, false},
    {"pdd", PDD, 1, false},
    {"f", F, 1, false},
    {"freq", F, 1, false},
    {"freq_hz", F, 1, false},
    {"F0", F, 1, true},
    {"f0_new", F, 1, true},
    {"fd", FD, 1, false},
    {"fdot", FD, 1, false},
    {"F1", FD, 1, true},
    {"f1_new", FD, 1, true},
    {"fdd", FDD, 1, false},
    {"F2", FDD, 1, true},
    {"f2_new", FDD, 1, true},
    {"acc", ACC, 1, true},
    {"accel", ACC, 1, true},
    {"acc_new", ACC, 1, true},
    {"r", R, 1, false},
    {"z", Z, 1, false},
    {"w", W, 1, false},
    {"tobs_s", TOBS, 1, false},
    {"epoch", EPOCH, 1, false},
    {"pepoch", EPOCH, 1, false},
    {"PB", PB, 86400, false},
    {"A1", A1, 1, false},
    {"T0", T0, 1, false},
    {"OM", OM, 1, false},
    {"ECC", ECC, 1, false},
    {"OM_rad", OM, 57.29577951308232, false}, /* PulsarX's */
};

/* What PulsarX makes of the words of a line, which is told by their number.  It holds the frequency of
 * an orbit constant. */
static const struct layout {
    size_t nword;
    const char *names;
} layouts[] = {{6, "id DM acc F0 F1 S/N"},
               {7, "id DM acc F0 F1 F2 S/N"},
               {12, "id DM acc_old F0 f1_old f2_old PB A1 T0 OM_rad ECC S/N"}};

/* What else searches list. */
static const char *const ignored[] = {
    "S/N",    "snr",    "sigma",  "S/N_new", "dm_old",  "dm_err",  "f0_old",     "f0_err",
    "f1_old", "f1_err", "f2_old", "f2_err",  "acc_old", "acc_err", "dist_ymw16", "boxcar_width"};

/* --- words ------------------------------------------------------------------------------------ */

/* The next word of a line of words, or value of comma-separated ones, without quotes around it.
 * Given:    *rest   what is left of the line; NULL at its end
 * Returned: NULL at the end */
static char *next_word(bool is_csv, char **rest)
{
    char *at = *rest, *word, *end;
    if (!at)
        return NULL;
    at += strspn(at, " \t");
    if (!is_csv && *at == '\0')
        return *rest = NULL;
    word = end = at;
    if (is_csv && *at == '"') { /* doubled quotes stand for one */
        for (at++; *at && (*at != '"' || at[1] == '"'); at++) {
            at += *at == '"';
            *end++ = *at;
        }
        at += *at == '"';
        at += strcspn(at, ",");
    } else {
        at += strcspn(at, is_csv ? "," : " \t");
        for (end = at; is_csv && end > word && (end[-1] == ' ' || end[-1] == '\t'); end--)
            ;
    }
    *rest = *at ? at + 1 : NULL;
    *end = '\0';
    return word;
}

static const struct psr_candlist_column *find_column(const char *name)
{
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (!strcasecmp(name, columns[i].name))
            return &columns[i];
    return NULL;
}

static bool is_ignored(const char *name)
{
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        if (!strcasecmp(name, ignored[i]))
            return true;
    return false;
}

/* --- the header ------------------------------------------------------------------------------- */

/* Bins and length, then frequencies, then periods: the others are not used. */
static void choose_columns(struct psr_candlist_table *t)
{
    static const enum key by_period[] = {P, PD, PDD}, by_frequency[] = {F, FD, FDD, ACC},
                          by_bins[] = {R, Z, W, TOBS};
    const bool bins = t->has[R] && t->has[TOBS], frequency = !bins && t->has[F] && t->is_csv;
    for (size_t i = 0; i < t->ncolumn; i++) {
        const struct psr_candlist_column *c = t->column[i];
        bool drop = false;
        for (size_t k = 0; c && k < 3; k++)
            drop |= (bins || frequency) && c->key == by_period[k];
        for (size_t k = 0; c && k < 4; k++)
            drop |= (bins && c->key == by_frequency[k]) || (!bins && c->key == by_bins[k]);
        if (drop) {
            t->has[c->key] = false;
            t->column[i] = NULL;
        }
    }
    for (size_t i = 0; i < t->ncolumn; i++)
        t->is_middle |= t->column[i] && t->column[i]->is_middle;
}

static psr_status check_columns(const struct psr_candlist_table *t,
                                const struct psr_candlist_lines *l, psr_err *err)
{
    const bool *has = t->has;
    if (has[R] + has[P] + has[F] != 1 || (has[P] && (has[FD] || has[FDD])) ||
        (has[F] && (has[PD] || has[PDD])) || (!has[DM] && !has[FILENAME] && !l->desc->has_dm))
        return psr_candlist_fail(l, err, "columns",
                                 "columns must be DM and either p, pd, pdd or f, fd, fdd");
    if ((has[PB] || has[A1] || has[T0] || has[OM] || has[ECC]) && !(has[PB] && has[A1] && has[T0]))
        return psr_candlist_fail(l, err, "columns",
                                 "columns of an orbit must be PB, A1, T0 and may be OM, ECC");
    return PSR_OK;
}

/* #Pepoch 60000.5: what PulsarX writes before the header. */
static psr_status read_epoch(struct psr_candlist_table *t, const struct psr_candlist_lines *l,
                             char *line, psr_err *err)
{
    char *rest = line, *word = next_word(false, &rest);
    if (!word || strcasecmp(word, "Pepoch") != 0)
        return PSR_OK;
    word = next_word(false, &rest);
    return psr_candlist_number(l, "Pepoch", word ? word : "", 1, 0, 1e6, &t->epoch_mjd, err);
}

/* Whether a line that begins with # names columns. */
static bool is_header(const char *line)
{
    char copy[256];
    snprintf(copy, sizeof copy, "%s", line);
    for (char *rest = copy, *word; (word = next_word(false, &rest));) {
        const struct psr_candlist_column *c = find_column(word);
        if (c && (c->key == DM || c->key == P || c->key == F))
            return true;
    }
    return false;
}

static size_t count_words(const char *line)
{
    char copy[1024];
    size_t n = 0;
    snprintf(copy, sizeof copy, "%s", line);
    for (char *rest = copy; next_word(false, &rest);)
        n++;
    return n;
}

psr_status psr_candlist_table_by_position(struct psr_candlist_table *t,
                                          const struct psr_candlist_lines *l, const char *line,
                                          psr_err *err)
{
    const size_t n = count_words(line), number = strspn(line, "0123456789");
    char header[128];
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        if (layouts[i].nword != n || !number || strcspn(line, " \t") != number)
            continue;
        snprintf(header, sizeof header, "#%s", layouts[i].names);
        return psr_candlist_table_header(t, l, header, err);
    }
    return PSR_OK;
}

psr_status psr_candlist_table_header(struct psr_candlist_table *t,
                                     const struct psr_candlist_lines *l, char *line, psr_err *err)
{
    char unused[200] = "", *rest = line + !t->is_csv;
    if (!t->is_csv && !is_header(rest))
        return read_epoch(t, l, rest, err);
    for (char *word; (word = next_word(t->is_csv, &rest));) {
        const struct psr_candlist_column *c = find_column(word);
        const size_t n = strlen(unused);
        if (t->ncolumn == PSR_CANDLIST_COLUMNS)
            return psr_candlist_fail(l, err, "columns", "more than %d columns",
                                     PSR_CANDLIST_COLUMNS);
        if (c ? t->has[c->key] : !t->is_csv && !is_ignored(word))
            return psr_candlist_fail(l, err, "columns", "column '%.64s' is not known, or twice",
                                     word);
        if (c)
            t->has[c->key] = true;
        else
            snprintf(unused + n, sizeof unused - n, "%s%.40s", n ? ", " : "", word);
        t->column[t->ncolumn++] = c;
    }
    choose_columns(t);
    if (*unused)
        psr_note(&l->desc->notes, "%s: columns not used: %s", l->text.name, unused);
    return check_columns(t, l, err);
}

/* --- rows ------------------------------------------------------------------------------------- */

struct row {
    const char *text[NKEY]; /* NULL or empty: none */
    double value[NKEY];
};

static psr_status read_row(const struct psr_candlist_table *t, const struct psr_candlist_lines *l,
                           char *line, struct row *row, psr_err *err)
{
    char *rest = line, *word = NULL;
    psr_status st = PSR_OK;
    for (size_t i = 0; i < t->ncolumn && !st; i++) {
        const struct psr_candlist_column *c = t->column[i];
        word = next_word(t->is_csv, &rest);
        if (!word && !t->is_csv)
            return psr_candlist_fail(l, err, c ? c->name : "columns",
                                     "fewer columns than the %zu of the header", t->ncolumn);
        if (!c)
            continue;
        row->text[c->key] = word;
        const struct limits *limit = &limits[c->key];
        if (!limit->is_text && ((word && *word) || limit->is_needed))
            st = psr_candlist_number(l, c->name, word ? word : "", c->unit, limit->min, limit->max,
                                     &row->value[c->key], err);
    }
    if (!st && next_word(t->is_csv, &rest))
        return psr_candlist_fail(l, err, "columns", "more columns than the header");
    return st;
}

static psr_status set_dm(const struct psr_candlist_table *t, const struct psr_candlist_lines *l,
                         const struct row *row, struct psr_folder_candidate *c, psr_err *err)
{
    const char *file = row->text[FILENAME];
    if (t->has[DM])
        c->dm = row->value[DM];
    else if (!l->desc->has_dm && psr_series_find_dm(file ? file : "", &c->dm) < 0)
        return psr_candlist_fail(l, err, "file", "file: '%.200s' has no DM with a number in it",
                                 file ? file : "");
    return PSR_OK;
}

static psr_status set_spin(const struct psr_candlist_table *t, const struct psr_candlist_lines *l,
                           const struct row *row, struct psr_folder_candidate *c, psr_err *err)
{
    const double *v = row->value;
    if (t->has[R])
        return psr_candlist_set_bins(c, v[R], v[Z], v[W], v[TOBS])
                   ? PSR_OK
                   : psr_candlist_fail(l, err, "z", "r = %g, z = %g: no frequency", v[R], v[Z]);
    psr_candlist_set_spin(c, v[P], v[PD], v[PDD], v[F], v[FD], v[FDD]);
    if (c->fd == 0)
        c->fd = -v[ACC] / PSR_LIGHT_M_S * c->f;
    if (t->has[EPOCH] || t->epoch_mjd != 0) {
        c->at = PSR_FOLD_AT_EPOCH;
        c->epoch_mjd = t->has[EPOCH] ? v[EPOCH] : t->epoch_mjd;
    } else if (t->is_middle)
        c->at = PSR_FOLD_AT_MIDDLE;
    return PSR_OK;
}

psr_status psr_candlist_table_row(const struct psr_candlist_table *t,
                                  const struct psr_candlist_lines *l, char *line, psr_err *err)
{
    struct row row = {.text = {NULL}};
    struct psr_folder_candidate c = l->desc->common;
    char name[256];
    psr_status st = read_row(t, l, line, &row, err);
    if (!st)
        st = set_dm(t, l, &row, &c, err);
    if (!st)
        st = set_spin(t, l, &row, &c, err);
    if (st)
        return st;
    const double *v = row.value;
    if (t->has[PB] && v[PB] > 0)
        c.orbit = (struct psr_fold_orbit){.period_s = v[PB],
                                          .ecc = v[ECC],
                                          .asini_s = v[A1],
                                          .omega_deg = v[OM],
                                          .t0_mjd = v[T0]};
    /* Its own, or FILE_Cand_N, or Cand_N; empty: none. */
    const char *own = row.text[NAME], *file = row.text[FILENAME], *id = row.text[ID];
    const char *base = psr_path_file(file ? file : ""), *dot = strrchr(base, '.');
    const bool has_suffix = dot && (!strcmp(dot, ".dat") || !strcmp(dot, ".fft") ||
                                    !strcmp(dot, ".sdat") || !strcmp(dot, ".tim"));
    const int n = (int)(has_suffix ? (size_t)(dot - base) : strlen(base));
    snprintf(name, 256, "%s", own ? own : "");
    if (!*name && id && *id)
        snprintf(name, 256, "%.*s%sCand_%.40s", n < 200 ? n : 200, base, n ? "_" : "", id);
    if (strchr(name, '/'))
        return psr_candlist_fail(l, err, "name", "name: '%.64s' has a /", name);
    return psr_candlist_add(l->list, &c, *name ? name : NULL, t->has[P], err);
}
