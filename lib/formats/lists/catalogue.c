/* Reads catalogues of pulsars: psrcat's database, and separated values with a header. */
#include <psrkit/experimental/sift.h>

#include "base/base.h"
#include "base/input/readfd.h"
#include "lists_internal.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LINE_BYTES = 4096, MOST_COLUMNS = 256, SHOWN = 60 };

/* Parameters that are read, as both kinds of file call them. */
enum key {
    PSRJ,
    JNAME,
    NAME,
    PSRB,
    F0,
    P0,
    F1,
    P1,
    PEPOCH,
    DM,
    RAJ,
    DECJ,
    RAJD,
    DECJD,
    PB,
    A1,
    ECC,
    NKEY
};

static const char *const keys[NKEY] = {"PSRJ", "JNAME", "NAME",   "PSRB", "F0",  "P0",
                                       "F1",   "P1",    "PEPOCH", "DM",   "RAJ", "DECJ",
                                       "RAJD", "DECJD", "PB",     "A1",   "ECC"};

/* The values of one pulsar, as far as they are known. */
struct fields {
    bool has[NKEY];
    double value[NKEY];
    char name[PSR_PULSAR_NAME_MAX];
    enum key name_key; /* names in the order above are preferred */
};

struct parser {
    struct psr_catalogue *catalogue;
    size_t room;
    const char *name;
    long line;
    char text[LINE_BYTES];
    int column[MOST_COLUMNS]; /* of separated values: a key, or -1 */
    int ncolumn;
    char separator;
    psr_err *err;
};

static int find_key(const char *word)
{
    for (int k = 0; k < NKEY; k++)
        if (!strcasecmp(word, keys[k]))
            return k;
    return -1;
}

static psr_status bad_value(const struct parser *p, int key, const char *word)
{
    return psr_fail_field(p->err, PSR_EFORMAT, keys[key],
                          "%s: line %ld: %s = '%.*s' is no such value", p->name, p->line, keys[key],
                          SHOWN, word);
}

/* hh, hh:mm or hh:mm:ss.s, with a sign. */
static bool read_angle(const char *word, double *value)
{
    const bool negative = *word == '-';
    double unit = 1;
    *value = 0;
    word += *word == '-' || *word == '+';
    for (int part = 0; part < 3; part++, unit /= 60) {
        char *end;
        if (!isdigit((unsigned char)*word))
            return false;
        *value += psr_c_locale_strtod(word, &end) * unit;
        word = end;
        if (!*word)
            break;
        if (*word++ != ':')
            return false;
    }
    *value = negative ? -*value : *value;
    return isfinite(*value);
}

/* Limits: what is beyond them is no such quantity. */
static bool is_sensible(int key, double v)
{
    switch (key) {
    case F0:
        return v > 0 && v < 1e6;
    case P0:
        return v > 1e-6 && v < 1e9;
    case DM:
        return fabs(v) < 1e6;
    case RAJ:
        return v >= 0 && v <= 24;
    case RAJD:
        return v >= 0 && v <= 360;
    case DECJ:
    case DECJD:
        return fabs(v) <= 90;
    case PB:
    case A1:
        return v >= 0 && v < 1e12;
    case ECC:
        return v >= 0 && v < 1;
    default:
        return fabs(v) < 1e12;
    }
}

static psr_status take_value(const struct parser *p, struct fields *f, int key, const char *word)
{
    char *end;
    if (!*word || !strcmp(word, "*") || !strcmp(word, "-"))
        return PSR_OK;
    if (key <= PSRB) {
        if (strlen(word) >= sizeof f->name)
            return bad_value(p, key, word);
        if (!f->name[0] || (int)f->name_key > key) {
            strcpy(f->name, word);
            f->name_key = (enum key)key;
        }
        return PSR_OK;
    }
    double *v = &f->value[key];
    if (key == RAJ || key == DECJ) {
        if (!read_angle(word, v))
            return bad_value(p, key, word);
    } else {
        *v = psr_c_locale_strtod(word, &end);
        if (end == word || *end)
            return bad_value(p, key, word);
    }
    f->has[key] = true;
    return isfinite(*v) && is_sensible(key, *v) ? PSR_OK : bad_value(p, key, word);
}

static double pick(const struct fields *f, int key, double otherwise)
{
    return f->has[key] ? f->value[key] : otherwise;
}

/* A pulsar without a name or a frequency cannot be recognised. */
static psr_status add_pulsar(struct parser *p, const struct fields *f)
{
    struct psr_catalogue *c = p->catalogue;
    if (!f->name[0] || !(f->has[F0] || f->has[P0]))
        return PSR_OK;
    psr_status st = psr_grow(&c->pulsar, &p->room, c->n, sizeof *c->pulsar, "pulsars", p->err);
    if (st)
        return st;
    const double f0 = f->has[F0] ? f->value[F0] : 1 / f->value[P0];
    struct psr_pulsar *to = &c->pulsar[c->n++];
    *to = (struct psr_pulsar){
        .f0_hz = f0,
        .f1 = f->has[F1] ? f->value[F1] : -pick(f, P1, 0) * f0 * f0,
        .pepoch_mjd = pick(f, PEPOCH, 0),
        .dm = pick(f, DM, NAN),
        .ra_deg = f->has[RAJD] ? f->value[RAJD] : 15 * pick(f, RAJ, NAN),
        .dec_deg = f->has[DECJD] ? f->value[DECJD] : pick(f, DECJ, NAN),
        .pb_d = pick(f, PB, 0),
        .a1_s = pick(f, A1, 0),
        .ecc = pick(f, ECC, 0),
    };
    memcpy(to->name, f->name, sizeof to->name);
    return PSR_OK;
}

/* --- psrcat.db -------------------------------------------------------------------------------- */

/* --- separated values ------------------------------------------------------------------------- */

/* The next value, without quotes and blanks around it. */
static char *next_cell(char **at, char separator)
{
    char *cell = *at, *end = cell;
    bool quoted = false;
    while (*end && (quoted || *end != separator))
        quoted ^= *end++ == '"';
    *at = *end ? end + 1 : NULL;
    *end = '\0';
    while (*cell && (isspace((unsigned char)*cell) || *cell == '"'))
        cell++;
    for (end = cell + strlen(cell);
         end > cell && (isspace((unsigned char)end[-1]) || end[-1] == '"');)
        *--end = '\0';
    return cell;
}

static psr_status take_header(struct parser *p)
{
    bool has[NKEY] = {false};
    p->separator = strchr(p->text, ';') ? ';' : ',';
    for (char *at = p->text + (p->text[0] == '#'); at;) {
        if (p->ncolumn == MOST_COLUMNS)
            return psr_fail(p->err, PSR_EFORMAT, "%s: line %ld: more than %d columns", p->name,
                            p->line, MOST_COLUMNS);
        const char *cell = next_cell(&at, p->separator);
        const int key = find_key(cell);
        if (key >= 0 && has[key])
            return psr_fail_field(p->err, PSR_EFORMAT, keys[key], "%s: line %ld: column %s twice",
                                  p->name, p->line, keys[key]);
        p->column[p->ncolumn++] = key;
        if (key >= 0)
            has[key] = true;
    }
    if ((has[PSRJ] || has[JNAME] || has[NAME] || has[PSRB]) && (has[F0] || has[P0]))
        return PSR_OK;
    return psr_fail(p->err, PSR_EFORMAT,
                    "%s: line %ld: neither psrcat's database nor a header with NAME (or PSRJ) and "
                    "F0 or P0",
                    p->name, p->line);
}

/* A row whose first values are empty (psrcat's line of units) has no name, and counts as none. */
static psr_status take_row(struct parser *p)
{
    struct fields f = {.name = ""};
    psr_status st = PSR_OK;
    int i = 0;
    for (char *at = p->text; at && !st; i++) {
        const char *cell = next_cell(&at, p->separator);
        if (i >= p->ncolumn && *cell)
            return psr_fail(p->err, PSR_EFORMAT, "%s: line %ld: more values than the %d columns",
                            p->name, p->line, p->ncolumn);
        if (i < p->ncolumn && p->column[i] >= 0 && *cell != '(')
            st = take_value(p, &f, p->column[i], cell);
    }
    return st ? st : add_pulsar(p, &f);
}

/* --- the file --------------------------------------------------------------------------------- */

static psr_status take_text_line(struct parser *p, bool database, struct fields *f)
{
    if (database) {
        char *save, *word = strtok_r(p->text, " \t\r", &save);
        if (!word || *word == '#')
            return PSR_OK;
        if (*word == '@') {
            psr_status st = add_pulsar(p, f);
            *f = (struct fields){.name = ""};
            return st;
        }
        const int key = find_key(word);
        word = strtok_r(NULL, " \t\r", &save);
        return key >= 0 && word ? take_value(p, f, key, word) : PSR_OK;
    }
    if (!p->text[strspn(p->text, " \t\r")] || (p->ncolumn && p->text[0] == '#'))
        return PSR_OK;
    return p->ncolumn ? take_row(p) : take_header(p);
}

psr_status psr_catalogue_parse(struct psr_catalogue *catalogue, const char *text, size_t n,
                               const char *name, psr_err *err)
{
    struct parser p = {.catalogue = catalogue, .name = name, .err = err};
    struct fields f = {.name = ""};
    /* psrcat's database has a parameter in the first line that is no comment, before a blank. */
    static const char begins[] = "#CATALOGUE";
    const bool database = (n >= sizeof begins - 1 && !memcmp(text, begins, sizeof begins - 1)) ||
                          memmem(text, n, "\n@", 2) != NULL;
    psr_status st = PSR_OK;
    *catalogue = (struct psr_catalogue){.n = 0};
    while (n > 0 && !st) {
        const char *end = memchr(text, '\n', n);
        const size_t length = end ? (size_t)(end - text) : n;
        p.line++;
        if (length >= sizeof p.text || memchr(text, '\0', length))
            return psr_fail(err, PSR_EFORMAT, "%s: line %ld: too long, or binary", name, p.line);
        memcpy(p.text, text, length);
        p.text[length] = '\0';
        st = take_text_line(&p, database, &f);
        text += length + (end != NULL);
        n -= length + (end != NULL);
    }
    if (!st && !database && !p.ncolumn)
        st = psr_fail(err, PSR_EFORMAT, "%s: empty: no header", name);
    return st ? st : add_pulsar(&p, &f);
}

psr_status psr_catalogue_read(struct psr_catalogue *catalogue, const char *path, psr_err *err)
{
    char *text;
    size_t n;
    *catalogue = (struct psr_catalogue){.n = 0};
    psr_status st = psr_read_file(path, PSR_CATALOGUE_MAX_BYTES, &text, &n, err);
    if (!st)
        st = psr_catalogue_parse(catalogue, text, n, path, err);
    free(text);
    return st;
}

void psr_catalogue_clear(struct psr_catalogue *catalogue)
{
    free(catalogue->pulsar);
    *catalogue = (struct psr_catalogue){.n = 0};
}
