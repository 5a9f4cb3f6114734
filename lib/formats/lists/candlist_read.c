/* Reads a list of candidates to fold: which format it has, and line by line; those of PRESTO's ACCEL_sift.py. */
#include "base/base.h"

#include "formats/series/series_internal.h"
#include "lists_internal.h"
#include <errno.h>
#include <psrkit/experimental/sift.h>
#include <psrkit/obs.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* --- tables whose header names the columns, and comma-separated values ------------------------ */

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
    snprintf(copy, sizeof copy, "%.*s", (int)sizeof copy - 1, line);
    for (char *rest = copy; next_word(false, &rest);)
        n++;
    return n;
}

/* Reads a line that begins with #, or the first of comma-separated values; line is changed.
 * Returned: t->ncolumn, 0 for a comment */
static psr_status candlist_table_header(struct psr_candlist_table *t,
                                        const struct psr_candlist_lines *l, char *line,
                                        psr_err *err)
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

/* Takes a line that no header precedes as one of PulsarX, whose columns have their meaning by position.
 * Returned: t->ncolumn, 0: it is none */
static psr_status candlist_table_by_position(struct psr_candlist_table *t,
                                             const struct psr_candlist_lines *l, const char *line,
                                             psr_err *err)
{
    const size_t n = count_words(line), number = strspn(line, "0123456789");
    char header[128];
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        if (layouts[i].nword != n || !number || strcspn(line, " \t") != number)
            continue;
        snprintf(header, sizeof header, "#%s", layouts[i].names);
        return candlist_table_header(t, l, header, err);
    }
    return PSR_OK;
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

/* Adds the candidate of a row; line is changed. */
static psr_status candlist_table_row(const struct psr_candlist_table *t,
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

/* --- PRESTO's ACCEL_sift.py ------------------------------------------------------------------- */

enum {
    SIFT_CAND,
    SIFT_DM,
    SIFT_SNR,
    SIFT_SIGMA,
    SIFT_NHARM,
    SIFT_IPOW,
    SIFT_CPOW,
    SIFT_PERIOD,
    SIFT_R,
    SIFT_Z,
    SIFT_NWORD
};

static const char *const names[SIFT_NWORD] = {"file:candnum", "DM",   "SNR",   "sigma", "numharm",
                                              "ipow",         "cpow", "P(ms)", "r",     "z"};

static psr_status take_record(const struct psr_candlist_lines *l, const char *path, int64_t number,
                              struct psr_folder_candidate *c, psr_err *err)
{
    struct psr_candlist_accel a = {.path = NULL};
    psr_err why;
    psr_status st = psr_candlist_accel_open(&a, path, &why);
    if (!st)
        st = psr_candlist_accel_get(&a, number, c, &why);
    psr_candlist_accel_close(&a);
    return !st                ? PSR_OK
           : st == PSR_ENOMEM ? psr_fail_nomem(err, path, 64)
                              : psr_candlist_fail(l, err, names[SIFT_CAND], "%.250s", why.msg);
}

/* The list has the length of the series only as r P. */
static psr_status take_digits(const struct psr_candlist_lines *l, char *const word[SIFT_NWORD],
                              struct psr_folder_candidate *c, psr_err *err)
{
    double p, r = 0, z = 0;
    psr_status st =
        psr_candlist_number(l, names[SIFT_PERIOD], word[SIFT_PERIOD], 1e-3, 1e-9, 1e9, &p, err);
    if (!st)
        st = psr_candlist_number(l, names[SIFT_R], word[SIFT_R], 1, 1e-3, 1e15, &r, err);
    if (!st)
        st = psr_candlist_number(l, names[SIFT_Z], word[SIFT_Z], 1, -1e9, 1e9, &z, err);
    if (st)
        return st;
    return psr_candlist_set_bins(c, r, z, 0, r * p)
               ? PSR_OK
               : psr_candlist_fail(l, err, names[SIFT_Z], "r = %g, z = %g: no frequency", r, z);
}

static psr_status take_row(struct psr_candlist_lines *l, char *const word[SIFT_NWORD],
                           struct psr_folder_candidate *c, psr_err *err)
{
    int64_t number;
    psr_err why;
    char *colon = strrchr(word[SIFT_CAND], ':');
    if (!colon || colon == word[SIFT_CAND])
        return psr_candlist_fail(l, err, names[SIFT_CAND], "%s: '%.64s' is no file and number",
                                 names[SIFT_CAND], word[SIFT_CAND]);
    if (psr_parse_int(names[SIFT_CAND], colon + 1, 1, 1 << 24, &number, &why))
        return psr_candlist_fail(l, err, names[SIFT_CAND], "%.250s", why.msg);
    psr_status st = psr_candlist_number(l, names[SIFT_DM], word[SIFT_DM], 1, 0, 1e6, &c->dm, err);
    if (st)
        return st;
    *colon = '\0';
    /* FILE.cand in the folder of the list; the caller frees it. */
    const char *slash = *word[SIFT_CAND] == '/' ? NULL : strrchr(l->text.name, '/');
    const int folder = slash ? (int)(slash - l->text.name) + 1 : 0;
    const size_t room = (size_t)folder + strlen(word[SIFT_CAND]) + sizeof ".cand";
    char *path = malloc(room);
    if (path)
        snprintf(path, room, "%.*s%s.cand", folder, l->text.name, word[SIFT_CAND]);
    if (!path)
        return psr_fail_nomem(err, "names", 64);
    FILE *f = psr_open_file(path);
    const bool exists = f || errno != ENOENT;
    if (f)
        fclose(f);
    l->nwithout += !exists && !psr_ffa_is_list(word[SIFT_CAND]);
    st = exists ? take_record(l, path, number, c, err) : take_digits(l, word, c, err);
    free(path);
    *colon = ':';
    return st;
}

/* Cuts the line after FILE:NUMBER, in which there may be blanks.
 * Returned: the rest; the line itself if there is no such word */
static char *cut_name(char *line)
{
    for (char *colon = line + strlen(line); colon > line; colon--) {
        const size_t n = *colon == ':' ? strspn(colon + 1, "0123456789") : 0;
        char *end = colon + 1 + n;
        if (!n || (*end != ' ' && *end != '\t'))
            continue;
        *end = '\0';
        return end + 1;
    }
    return line;
}

/* Adds the candidate of a row; line is changed. */
static psr_status take_sifted(struct psr_candlist_lines *l, char *line, psr_err *err)
{
    char *word[SIFT_NWORD], *save = NULL, name[300];
    if (*line == ' ' || *line == '\t') /* at which DMs it was found */
        return PSR_OK;
    char *rest = cut_name(line);
    word[SIFT_CAND] = line;
    for (int i = rest != line; i < SIFT_NWORD; i++, rest = NULL)
        if (!(word[i] = strtok_r(rest, " \t", &save)))
            return psr_candlist_fail(l, err, names[i], "%s is missing", names[i]);
    struct psr_folder_candidate c = l->desc->common;
    psr_sift_unescape(word[SIFT_CAND]);
    psr_status st = take_row(l, word, &c, err);
    if (st)
        return st;
    char *colon = strrchr(word[SIFT_CAND], ':');
    const char *slash = strrchr(word[SIFT_CAND], '/');
    *colon = '\0';
    snprintf(name, sizeof name, "%.200s_Cand_%.20s", slash ? slash + 1 : word[SIFT_CAND],
             colon + 1);
    return psr_candlist_add(l->list, &c, name, false, err);
}

/* --- all formats ------------------------------------------------------------------------------ */

enum { LINE_BYTES = 4096 };

enum format { NONE, TABLE, SIFTED };

/* Returned: *is_row if the line is one itself */
static psr_status read_header(struct psr_candlist_lines *l, struct psr_candlist_table *table,
                              char *line, enum format *format, bool *is_row, psr_err *err)
{
    *is_row = false;
    if (*line == '#' && strstr(line, "file:candnum")) {
        *format = SIFTED;
        return PSR_OK;
    }
    if (*line != '#' && !strchr(line, ',')) {
        psr_status st = candlist_table_by_position(table, l, line, err);
        if (st || table->ncolumn) {
            *format = TABLE;
            *is_row = true;
            return st;
        }
        return psr_candlist_fail(l, err, "header",
                                 "no line before it that begins with # and names the columns, nor "
                                 "comma-separated names");
    }
    table->is_csv = *line != '#';
    psr_status st = candlist_table_header(table, l, line, err);
    if (!st && table->ncolumn)
        *format = TABLE;
    return st;
}

/* A wrong row is reported if desc says to whom, and the others are read. */
static psr_status read_lines(struct psr_candlist_lines *l, psr_err *err)
{
    char line[LINE_BYTES];
    struct psr_candlist_table table = {.ncolumn = 0};
    enum format format = NONE;
    psr_status st = PSR_OK;
    for (bool exists = true; !st;) {
        st = psr_text_lines_next(&l->text, line, sizeof line, &exists, err);
        if (st || !exists)
            break;
        line[strcspn(line, "\r\n")] = '\0';
        if (line[strspn(line, " \t")] == '\0' || (format != NONE && *line == '#'))
            continue;
        if (format == NONE) {
            bool is_row;
            st = read_header(l, &table, line, &format, &is_row, err);
            if (st || !is_row)
                continue;
        }
        st = format == TABLE ? candlist_table_row(&table, l, line, err) : take_sifted(l, line, err);
        if (st == PSR_EFORMAT && l->desc->refuse) {
            l->desc->refuse(l->desc->ctx, err);
            st = PSR_OK;
        }
    }
    if (!st && l->nwithout)
        psr_note(&l->desc->notes,
                 "%s: %zu candidates without their .cand beside it: folded with the "
                 "digits of the list",
                 l->text.name, l->nwithout);
    return st;
}

static bool is_accel(const char *path)
{
    const size_t n = strlen(path);
    return n > 5 && !strcmp(path + n - 5, ".cand") && strstr(path, "_ACCEL_");
}

/* All records of a file of lists, in its order. */
static psr_status read_members(struct psr_candlist *list, const char *path,
                               const struct psr_candlist_desc *d, psr_err *err)
{
    struct psr_names all = {.n = 0};
    psr_status st = psr_lists_names(&all, path, err);
    for (size_t i = 0; i < all.n && !st; i++)
        if (is_accel(all.name[i]))
            st = psr_candlist_accel_all(list, all.name[i], d, err);
    psr_names_clear(&all);
    return st || list->n ? st : psr_fail(err, PSR_EFORMAT, "%s: no candidate", path);
}

psr_status psr_candlist_read(struct psr_candlist *list, const char *path,
                             const struct psr_candlist_desc *desc, psr_err *err)
{
    struct psr_candlist_desc d;
    const size_t before = list->n;
    psr_status st = psr_copy_desc(&d, sizeof d, desc, "candlist", err);
    if (st)
        return st;
    struct psr_candlist_lines l = {.list = list, .desc = &d};
    if (psr_is_lists(path))
        return read_members(list, path, &d, err);
    if (is_accel(path))
        return psr_candlist_accel_all(list, path, &d, err);
    st = psr_text_lines_open(&l.text, path, PSR_TABLE_MAX_BYTES, err);
    if (st)
        return st;
    st = read_lines(&l, err);
    psr_text_lines_close(&l.text);
    if (!st && list->n == before)
        st = psr_fail(err, PSR_EFORMAT, "%s: no candidate", l.text.name);
    return st;
}
