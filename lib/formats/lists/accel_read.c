/* Reads accelsearch's text file: the candidates, the powers of their harmonics, the .inf. */
#include <psrkit/experimental/sift.h>

#include "base/base.h"
#include "base/input/readfd.h"
#include "formats/series/series_internal.h"
#include "lists_internal.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    ROW_WORDS = 12,       /* candidates: to the acceleration */
    HARM_WORDS = 4,       /* harmonics: to the power */
    NUMBER_WIDTH = 4,     /* of the column of candidate numbers */
    SHOWN = 40,           /* bytes of a word in messages */
    EXACT_DIGITS = 15,    /* of numbers that a double holds exactly */
    EXACT_TENS = 22,      /* powers of ten likewise */
    CUT_EXPONENT = 5,     /* sifting.py's exponent of a power that lost its own */
    MOST_POWER = 1 << 30, /* bins of a candidate */
};

struct word {
    const char *at;
    size_t n;
};

struct parser {
    struct psr_accel_rows *rows;
    const char *name;
    bool presto;
    long line;
    size_t room, npower;
    size_t *first; /* [rows->n] of each row's powers */
    int *nread;    /* [rows->n] harmonics read */
    size_t first_room, nread_room;
    size_t current, next; /* rows whose harmonics are read, and come next */
    psr_err *err;
};

/* --- words and numbers ------------------------------------------------------------------------ */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Returned: words found, at most `most` */
static int split(const char *at, const char *end, struct word *word, int most)
{
    int n = 0;
    while (n < most) {
        while (at < end && is_blank(*at))
            at++;
        if (at == end)
            return n;
        word[n].at = at;
        while (at < end && !is_blank(*at))
            at++;
        word[n].n = (size_t)(at - word[n].at);
        n++;
    }
    return n;
}

/* A number at the start of a word.  Short decimals are exact integers over exact powers of ten,
 * whose quotient is the nearest double; others are left to strtod.
 * Returned: bytes used, 0 if there is no number */
static size_t take_number(struct word w, double *value)
{
    static const double ten[EXACT_TENS + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                               1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                               1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const bool negative = w.n > 0 && w.at[0] == '-';
    size_t i = negative;
    int ndigit = 0, nfrac = 0;
    bool dot = false;
    uint64_t digits = 0;
    for (; i < w.n && ndigit <= EXACT_DIGITS; i++) {
        if (w.at[i] == '.' && !dot) {
            dot = true;
        } else if (isdigit((unsigned char)w.at[i])) {
            digits = 10 * digits + (uint64_t)(w.at[i] - '0');
            ndigit++;
            nfrac += dot;
        } else {
            break;
        }
    }
    if (ndigit > 0 && ndigit <= EXACT_DIGITS && (i == w.n || w.at[i] == '(')) {
        *value = (double)digits / ten[nfrac];
        *value = negative ? -*value : *value;
        return i;
    }
    char *end;
    *value = psr_c_locale_strtod(w.at, &end);
    const size_t used = (size_t)(end - w.at);
    return used <= w.n && isfinite(*value) ? used : 0;
}

static psr_status bad_value(const struct parser *p, const char *what, struct word w)
{
    const int n = w.n < SHOWN ? (int)w.n : SHOWN;
    return psr_fail_field(p->err, PSR_EFORMAT, what, "%s: line %ld: %s = '%.*s' is no such number",
                          p->name, p->line, what, n, w.at);
}

/* What stands after a number: (error), or (error)x10^exponent, perhaps cut. */
struct suffix {
    double error; /* in units of the number */
    bool has_tens, cut;
    int exponent;
};

/* Errors have the unit of the last digit unless they have a point. */
static bool read_suffix(struct word number, struct word rest, struct suffix *s)
{
    static const char tens[] = "x10^";
    *s = (struct suffix){.error = 0};
    if (rest.n == 0)
        return true;
    const char *close = memchr(rest.at, ')', rest.n);
    if (rest.at[0] != '(' || !close) /* cut within the error: no exponent can have followed */
        return rest.at[0] == '(';
    struct word inner = {rest.at + 1, (size_t)(close - rest.at - 1)};
    char text[SHOWN] = "";
    memcpy(text, inner.at, inner.n < SHOWN ? inner.n : SHOWN - 1);
    s->error = psr_c_locale_strtod(text, NULL);
    const char *dot = memchr(number.at, '.', number.n);
    if (dot && !strchr(text, '.'))
        s->error *= pow(10, -(double)(number.at + number.n - dot - 1));
    struct word after = {close + 1, (size_t)(rest.at + rest.n - close - 1)};
    const size_t given = after.n < 4 ? after.n : 4;
    if (strncmp(after.at, tens, given) != 0)
        return false;
    s->has_tens = after.n >= 4;
    s->cut = after.n > 0 && after.n <= 4;
    for (size_t i = 4; i < after.n; i++)
        if (!isdigit((unsigned char)after.at[i]) && !(i == 4 && after.at[i] == '-' && after.n > 5))
            return false;
    if (after.n > 4 && after.n < SHOWN)
        s->exponent = atoi(after.at + 4);
    return after.n < 8;
}

/* An exponent that the width of the column cut off.  The error of a power P is sqrt(2 P). */
static int find_exponent(const struct parser *p, double value, const struct suffix *s)
{
    if (!s->cut)
        return s->exponent;
    if (p->presto)
        return s->has_tens ? CUT_EXPONENT : 0;
    const double ratio = value / s->error;
    return s->error > 0 && value > 0 ? (int)lrint(log10(2 * ratio * ratio / value)) : CUT_EXPONENT;
}

/* A number with its error and exponent. */
static psr_status read_value(const struct parser *p, const char *what, struct word w, bool power,
                             double *value)
{
    struct suffix s;
    const size_t used = take_number(w, value);
    if (used == w.n && used > 0)
        return PSR_OK;
    const struct word number = {w.at, used}, rest = {w.at + used, w.n - used};
    if (used == 0 || !read_suffix(number, rest, &s))
        return bad_value(p, what, w);
    if (power || !p->presto)
        *value *= pow(10, find_exponent(p, *value, &s));
    return isfinite(*value) ? PSR_OK : bad_value(p, what, w);
}

/* accelsearch prints nan for a sigma whose probability is not a number.  Nothing depends on it: the
 * harmonics give sigma and power anew. */
static bool is_nan(struct word w)
{
    const size_t sign = w.n > 0 && w.at[0] == '-';
    return w.n - sign == 3 && !strncasecmp(w.at + sign, "nan", 3);
}

static psr_status read_count(const struct parser *p, const char *what, struct word w, int64_t most,
                             int64_t *value)
{
    *value = 0;
    for (size_t i = 0; i < w.n; i++) {
        if (!isdigit((unsigned char)w.at[i]) || *value > most)
            return bad_value(p, what, w);
        *value = 10 * *value + (w.at[i] - '0');
    }
    return *value >= 1 && *value <= most ? PSR_OK : bad_value(p, what, w);
}

/* Numbers of 10000 and more have lost digits. */
static psr_status read_number(const struct parser *p, struct word w, int64_t last, int64_t *number)
{
    psr_status st = read_count(p, "Cand", w, INT64_C(1000000000), number);
    if (!st && w.n == NUMBER_WIDTH && last >= 9999)
        *number = last + 1;
    return st;
}

/* --- candidates ------------------------------------------------------------------------------- */

static psr_status append_row(struct parser *p, const struct psr_accel_row *row)
{
    struct psr_accel_rows *rows = p->rows;
    psr_status st = psr_grow(&rows->row, &p->room, rows->n, sizeof *rows->row, p->name, p->err);
    if (!st)
        st = psr_grow(&p->first, &p->first_room, rows->n, sizeof *p->first, p->name, p->err);
    if (!st)
        st = psr_grow(&p->nread, &p->nread_room, rows->n, sizeof *p->nread, p->name, p->err);
    if (st)
        return st;
    p->first[rows->n] = p->npower;
    p->nread[rows->n] = 0;
    p->npower += (size_t)row->nharm;
    rows->row[rows->n++] = *row;
    return PSR_OK;
}

static psr_status read_row(struct parser *p, const char *line, const char *end)
{
    struct psr_accel_row row = {.number = 0};
    struct word word[ROW_WORDS];
    const int nword = split(line, end, word, ROW_WORDS), needed = 10 + p->rows->jerk;
    int64_t nharm = 0;
    if (p->rows->power)
        return psr_fail(p->err, PSR_EFORMAT, "%s: line %ld: a candidate after the harmonics",
                        p->name, p->line);
    if (nword < needed)
        return psr_fail(p->err, PSR_EFORMAT, "%s: line %ld: %d columns, must be %d or more",
                        p->name, p->line, nword, needed);
    const int64_t last = p->rows->n ? p->rows->row[p->rows->n - 1].number : 0;
    const struct {
        const char *name;
        int word;
        bool power;
        double *to;
    } column[] = {{"Sigma", 1, false, &row.sigma},
                  {"Summed Power", 2, true, &row.power},
                  {"Coherent Power", 3, true, &row.coherent},
                  {"FFT 'r'", 7, false, &row.r},
                  {"FFT 'z'", 9, false, &row.z},
                  {"FFT 'w'", 10, false, &row.w}};
    psr_status st = read_number(p, word[0], last, &row.number);
    for (size_t k = 0; k < 5 + (size_t)p->rows->jerk && !st; k++) {
        const struct word w = word[column[k].word];
        if (k < 3 && is_nan(w)) /* not r, z and w */
            *column[k].to = NAN;
        else
            st = read_value(p, column[k].name, w, column[k].power, column[k].to);
    }
    if (!st)
        st = read_count(p, "Num Harm", word[4], PSR_ACCEL_LIST_MAX_HARM, &nharm);
    if (!st && !(row.r > 0 && row.r < 1e15))
        st = bad_value(p, "FFT 'r'", word[7]);
    row.nharm = (int)nharm;
    return st ? st : append_row(p, &row);
}

/* --- harmonics -------------------------------------------------------------------------------- */

/* Memory for all powers, when the first one comes. */
static psr_status begin_powers(struct parser *p)
{
    struct psr_accel_rows *rows = p->rows;
    if (rows->power)
        return PSR_OK;
    rows->power = calloc(p->npower ? p->npower : 1, sizeof *rows->power);
    if (!rows->power)
        return psr_fail_nomem(p->err, p->name, 8.0 * (double)p->npower);
    for (size_t i = 0; i < rows->n; i++)
        rows->row[i].harm_power = rows->power + p->first[i];
    return PSR_OK;
}

static psr_status check_complete(const struct parser *p, size_t i)
{
    const struct psr_accel_row *row = &p->rows->row[i];
    if (p->nread[i] == row->nharm)
        return PSR_OK;
    return psr_fail(p->err, PSR_EFORMAT, "%s: line %ld: candidate %lld has %d of %d harmonics",
                    p->name, p->line, (long long)row->number, p->nread[i], row->nharm);
}

static psr_status take_power(struct parser *p, struct word w)
{
    const size_t i = p->current;
    double power;
    psr_status st = read_value(p, "Power", w, true, &power);
    if (st)
        return st;
    if (power < 0 || p->nread[i] == p->rows->row[i].nharm)
        return power < 0 ? bad_value(p, "Power", w)
                         : psr_fail(p->err, PSR_EFORMAT,
                                    "%s: line %ld: candidate %lld has more than its %d harmonics",
                                    p->name, p->line, (long long)p->rows->row[i].number,
                                    p->rows->row[i].nharm);
    p->rows->power[p->first[i] + (size_t)p->nread[i]++] = power;
    return PSR_OK;
}

/* The candidate with this number: the next one, unless the list was edited. */
static size_t find_row(const struct parser *p, int64_t number)
{
    const struct psr_accel_rows *rows = p->rows;
    if (p->next < rows->n && rows->row[p->next].number == number)
        return p->next;
    size_t i = 0;
    while (i < rows->n && rows->row[i].number != number)
        i++;
    return i;
}

static psr_status read_first_harmonic(struct parser *p, const char *line, const char *end)
{
    struct word word[HARM_WORDS];
    int64_t number;
    psr_status st = begin_powers(p);
    if (st)
        return st;
    if (split(line, end, word, HARM_WORDS) < HARM_WORDS)
        return psr_fail(p->err, PSR_EFORMAT, "%s: line %ld: no power", p->name, p->line);
    if (p->current < p->rows->n && (st = check_complete(p, p->current)))
        return st;
    const int64_t last = p->current < p->rows->n ? p->rows->row[p->current].number : 0;
    if ((st = read_number(p, word[0], last, &number)))
        return st;
    p->current = find_row(p, number);
    p->next = p->current + 1;
    if (p->current == p->rows->n)
        return bad_value(p, "Cand", word[0]);
    return take_power(p, word[3]);
}

static psr_status read_harmonic(struct parser *p, const char *line, const char *end)
{
    struct word word[HARM_WORDS];
    if (split(line, end, word, HARM_WORDS) < HARM_WORDS - 1)
        return check_complete(p, p->current);
    return take_power(p, word[2]);
}

/* --- the file --------------------------------------------------------------------------------- */

static bool starts(const char *line, const char *end, const char *with)
{
    const size_t n = strlen(with);
    return (size_t)(end - line) >= n && !memcmp(line, with, n);
}

static psr_status read_line(struct parser *p, const char *line, const char *end)
{
    if (line == end)
        return PSR_OK;
    if (isdigit((unsigned char)line[0]))
        return read_row(p, line, end);
    if (line[0] == ' ' && end - line > 1 && isdigit((unsigned char)line[1]))
        return read_first_harmonic(p, line, end);
    if (p->current < p->rows->n && p->nread[p->current] < p->rows->row[p->current].nharm)
        return read_harmonic(p, line, end);
    if (p->line == 1)
        p->rows->jerk = memmem(line, (size_t)(end - line), "FFT 'w'", 7) != NULL;
    return PSR_OK;
}

static psr_status read_inf(struct parser *p, const char *text, size_t n)
{
    char name[PSR_TEXT_MAX + SHOWN];
    struct psr_accel_rows *rows = p->rows;
    snprintf(name, sizeof name, "%.*s: the .inf after line %ld", PSR_TEXT_MAX, p->name, p->line);
    psr_status st = psr_inf_parse(&rows->inf, text, n, name, p->err);
    if (st)
        return st;
    rows->tobs_s = (double)rows->inf.nbin * rows->inf.tbin_s;
    if (!(rows->tobs_s > 0) || !isfinite(rows->tobs_s))
        return psr_fail(p->err, PSR_EFORMAT, "%s: its series is %g s long", name, rows->tobs_s);
    return PSR_OK;
}

static psr_status read_text(struct parser *p, const char *text, size_t n)
{
    const char *at = text, *const end = text + n;
    psr_status st = PSR_OK;
    p->current = SIZE_MAX;
    if (memchr(text, '\0', n))
        return psr_fail(p->err, PSR_EFORMAT, "%s: a byte 0: this is no text", p->name);
    while (at < end && !st && !starts(at, end, " Data file name")) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        p->line++;
        st = read_line(p, at, stop);
        at = stop < end ? stop + 1 : end;
    }
    for (size_t i = 0; i < p->rows->n && !st; i++)
        st = check_complete(p, i);
    if (!st && at == end)
        return psr_fail(p->err, PSR_EFORMAT,
                        "%s: line %ld: ends without the .inf of its series: cut short, or no list "
                        "of accelsearch",
                        p->name, p->line);
    return st ? st : read_inf(p, at, (size_t)(end - at));
}

psr_status psr_accel_parse(struct psr_accel_rows *rows, const char *text, size_t n,
                           const char *name, bool presto, psr_err *err)
{
    struct parser p = {.rows = rows, .name = name, .presto = presto, .err = err};
    *rows = (struct psr_accel_rows){.n = 0};
    psr_status st = read_text(&p, text, n);
    free(p.first);
    free(p.nread);
    return st;
}

bool psr_accel_is_list(const char *name)
{
    static const char mark[] = "_ACCEL_";
    const char *at = strstr(psr_path_file(name), mark);
    for (const char *next = at; next && (next = strstr(next + 1, mark));)
        at = next;
    return at && isdigit((unsigned char)at[strlen(mark)]) && !strchr(at, '.');
}

psr_status psr_accel_read(struct psr_accel_rows *rows, const char *path, bool presto, psr_err *err)
{
    char *text;
    size_t n;
    *rows = (struct psr_accel_rows){.n = 0};
    psr_status st = psr_read_file(path, PSR_ACCEL_LIST_MAX_BYTES, &text, &n, err);
    if (!st)
        st = psr_accel_parse(rows, text, n, path, presto, err);
    free(text);
    return st;
}

void psr_accel_rows_clear(struct psr_accel_rows *rows)
{
    free(rows->row);
    free(rows->power);
    *rows = (struct psr_accel_rows){.n = 0};
}
