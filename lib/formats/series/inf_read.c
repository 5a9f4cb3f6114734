/* Parses .inf files. */
#include "base/input/readfd.h"
#include "series_internal.h"

#include "base/tool.h"

#include <ctype.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    NUMBER_MAX = 80,
    MAX_EPOCH_DAY = 10000000,
};

/* Text that need not be terminated. */
struct slice {
    const char *at;
    size_t n;
};

struct parser {
    struct psr_inf *inf;
    const char *name;
    struct slice rest; /* lines not yet looked at */
    int line;
    int seen[PSR_INF_NFIELD]; /* the line a field stands on, or 0 */
    int breaks;               /* the line that says there are breaks, or 0 */
    psr_err *err;
};

static struct slice trim(struct slice s)
{
    for (; s.n && isspace((unsigned char)s.at[0]); s.at++)
        s.n--;
    while (s.n && isspace((unsigned char)s.at[s.n - 1]))
        s.n--;
    return s;
}

static struct slice drop_returns(struct slice line)
{
    while (line.n && line.at[line.n - 1] == '\r')
        line.n--;
    return line;
}

/* Removes one line from *rest, and returns it without its end. */
static struct slice take_line(struct slice *rest)
{
    const char *end = memchr(rest->at, '\n', rest->n);
    size_t n = end ? (size_t)(end - rest->at) : rest->n;
    struct slice line = {rest->at, n};
    size_t used = end ? n + 1 : n;
    rest->at += used;
    rest->n -= used;
    return drop_returns(line);
}

/* As much of s as room holds beside a NUL, but no part of a UTF-8 character. */
static struct slice cut(struct slice s, size_t room)
{
    if (s.n >= room)
        for (s.n = room - 1; s.n > 0 && ((unsigned char)s.at[s.n] & 0xc0) == 0x80; s.n--)
            ;
    return s;
}

static void copy_slice(char *to, struct slice s)
{
    memcpy(to, s.at, s.n);
    to[s.n] = '\0';
}

/* Whether label begins with these words, whatever its blanks and letters' case. */
static bool begins_with(struct slice label, const char *words)
{
    size_t i = 0;
    for (; *words; words++) {
        if (i == label.n)
            return false;
        if (*words == ' ') {
            if (!isspace((unsigned char)label.at[i]))
                return false;
            while (i < label.n && isspace((unsigned char)label.at[i]))
                i++;
        } else if (tolower((unsigned char)label.at[i++]) != tolower((unsigned char)*words)) {
            return false;
        }
    }
    return i == label.n || !isalnum((unsigned char)label.at[i]);
}

static psr_status fail_value(const struct parser *p, const char *field, struct slice value,
                             const char *why)
{
    int n = value.n < NUMBER_MAX ? (int)value.n : NUMBER_MAX;
    return psr_fail_field(p->err, PSR_EFORMAT, field, "%s: line %d: %s: '%.*s' %s", p->name,
                          p->line, field, n, value.at, why);
}

static psr_status read_real(const struct parser *p, const char *field, struct slice value,
                            double min, double max, double *to)
{
    char text[NUMBER_MAX], what[PSR_TEXT_MAX];
    psr_err why;
    if (value.n >= sizeof text)
        return fail_value(p, field, value, "is too long for a number");
    copy_slice(text, value);
    snprintf(what, sizeof what, "line %d: %s", p->line, field);
    if (psr_parse_double(what, text, min, max, to, &why))
        return psr_fail_field(p->err, PSR_EFORMAT, field, "%s: %s", p->name, why.msg);
    return PSR_OK;
}

/* PRESTO keeps counts in doubles, so files may contain 1e6. */
static psr_status read_whole(const struct parser *p, const char *field, struct slice value,
                             double min, double max, int64_t *to)
{
    double v = 0;
    psr_status st = read_real(p, field, value, min, max, &v);
    if (!st && v != floor(v))
        return fail_value(p, field, value, "is not a whole number");
    if (!st)
        *to = (int64_t)v;
    return st;
}

/* [-]A:B:C, each part but the first below 60 or, as PRESTO's rounding may have it, equal to it. */
static psr_status read_angle(const struct parser *p, const char *field, struct slice value,
                             double max, double scale, double *degrees)
{
    bool negative = value.n && value.at[0] == '-';
    struct slice left = value;
    if (value.n && (value.at[0] == '-' || value.at[0] == '+')) {
        left.at++;
        left.n--;
    }
    double sum = 0, unit = 1;
    for (int i = 0; i < 3; i++, unit /= 60) {
        const char *colon = i < 2 ? memchr(left.at, ':', left.n) : NULL;
        struct slice part = {left.at, colon ? (size_t)(colon - left.at) : left.n};
        if ((i < 2 && !colon) || !part.n || !isdigit((unsigned char)part.at[0]))
            return fail_value(p, field, value, "is not of the form 12:34:56.7");
        double v = 0;
        psr_status st = read_real(p, field, part, 0, i ? 60 : max, &v);
        if (st)
            return st;
        sum += v * unit;
        left.at += part.n + (colon != NULL);
        left.n -= part.n + (colon != NULL);
    }
    if (sum > max)
        return fail_value(p, field, value, "is out of range");
    *degrees = (negative ? -sum : sum) * scale;
    return PSR_OK;
}

static bool all_digits(struct slice s)
{
    size_t i = 0;
    while (i < s.n && isdigit((unsigned char)s.at[i]))
        i++;
    return i == s.n;
}

/* Day and fraction are read apart: together they do not fit a double. */
static psr_status read_epoch(const struct parser *p, const char *field, struct slice value,
                             struct psr_mjd *epoch)
{
    const char *point = memchr(value.at, '.', value.n);
    struct slice day = {value.at, point ? (size_t)(point - value.at) : value.n};
    struct slice frac = {point, value.n - day.n};
    struct slice digits = {day.at + day.n + 1, point ? frac.n - 1 : 0};
    if (!day.n || !all_digits(day) || !all_digits(digits))
        return fail_value(p, field, value, "is not a date such as 56789.0123");
    int64_t whole = 0;
    double part = 0;
    psr_status st = read_whole(p, field, day, 0, MAX_EPOCH_DAY, &whole);
    if (!st && digits.n)
        st = read_real(p, field, frac, 0, 1, &part);
    if (st)
        return st;
    bool carry = part >= 1; /* a fraction of very many nines */
    *epoch = (struct psr_mjd){.day = (long)whole + carry, .frac = carry ? 0 : part};
    return PSR_OK;
}

/* PRESTO writes 0 or 1 and takes any number for yes. */
static psr_status read_flag(const struct parser *p, const char *field, struct slice value,
                            bool *flag)
{
    int64_t v = 0;
    psr_status st = read_whole(p, field, value, 0, 1e6, &v);
    if (!st)
        *flag = v != 0;
    return st;
}

static psr_status read_band(const struct parser *p, struct slice value)
{
    const struct psr_inf_band *band = psr_inf_find_band(value.at, value.n);
    if (band) {
        strcpy(p->inf->band, band->name);
        return PSR_OK;
    }
    return psr_fail_field(
        p->err, PSR_EUNSUPPORTED, "band",
        "%s: line %d: observation of type '%.*s', must be Radio, IR, Optical, UV, "
        "X-ray or Gamma",
        p->name, p->line, value.n < 40 ? (int)value.n : 40, value.at);
}

static psr_status read_pair(struct parser *p, struct slice value)
{
    static const char field[] = PSR_INF_PAIR_LEAD;
    struct psr_inf *inf = p->inf;
    if (inf->nonoff == PSR_INF_MAX_ONOFF)
        return psr_fail(p->err, PSR_EFORMAT, "%s: line %d: more than %d on/off bin pairs", p->name,
                        p->line, PSR_INF_MAX_ONOFF);
    size_t split = 0;
    while (split < value.n && value.at[split] != ',' && !isspace((unsigned char)value.at[split]))
        split++;
    struct slice second = trim((struct slice){value.at + split, value.n - split});
    if (second.n && second.at[0] == ',')
        second = trim((struct slice){second.at + 1, second.n - 1});
    int64_t *pair = inf->onoff[inf->nonoff];
    psr_status st = read_whole(p, field, (struct slice){value.at, split}, 0, 0x1p53, &pair[0]);
    if (!st)
        st = read_whole(p, field, second, 0, 0x1p53, &pair[1]);
    if (st)
        return st;
    if (pair[1] < pair[0] || (inf->nonoff && pair[0] <= pair[-1]))
        return fail_value(p, field, value, "does not ascend");
    inf->nonoff++;
    return PSR_OK;
}

/* All that follows the line of the notes, less the indent of each line and the blank line at the
 * end. */
static void read_notes(struct parser *p, char *notes)
{
    const size_t room = sizeof p->inf->notes;
    size_t used = 0;
    for (bool first = true; p->rest.n && used + 1 < room; first = false) {
        struct slice line = take_line(&p->rest);
        if (!p->rest.n && !line.n)
            break;
        for (int i = 0; i < PSR_INF_INDENT && line.n && line.at[0] == ' '; i++) {
            line.at++;
            line.n--;
        }
        if (!first)
            notes[used++] = '\n';
        line = drop_returns(cut(line, room - used));
        copy_slice(notes + used, line);
        used += line.n;
    }
}

static psr_status read_field(struct parser *p, int i, struct slice value)
{
    const struct psr_inf_field *field = &psr_inf_fields[i];
    if (p->seen[i])
        return psr_fail_field(p->err, PSR_EFORMAT, field->lead,
                              "%s: line %d: %s stands on line %d already", p->name, p->line,
                              field->lead, p->seen[i]);
    p->seen[i] = p->line;
    void *member = (char *)p->inf + field->offset;
    bool breaks;
    int64_t count = 0;
    psr_status st;
    switch (field->kind) {
    case PSR_INF_TEXT:
        if (value.n)
            copy_slice(member, trim(cut(value, PSR_TEXT_MAX)));
        return PSR_OK;
    case PSR_INF_RA:
        return read_angle(p, field->lead, value, 24, 15, member);
    case PSR_INF_DEC:
        return read_angle(p, field->lead, value, 90, 1, member);
    case PSR_INF_EPOCH:
        p->inf->has_epoch = true;
        return read_epoch(p, field->lead, value, member);
    case PSR_INF_FLAG:
        return read_flag(p, field->lead, value, member);
    case PSR_INF_BINS:
        return read_whole(p, field->lead, value, 0, 0x1p53, member);
    case PSR_INF_BREAKS: /* the pairs themselves say more */
        st = read_flag(p, field->lead, value, &breaks);
        p->breaks = !st && breaks ? p->line : 0;
        return st;
    case PSR_INF_BAND:
        return read_band(p, value);
    case PSR_INF_COUNT:
        st = read_whole(p, field->lead, value, 0, 0x1p31 - 1, &count);
        *(long *)member = (long)count;
        return st;
    case PSR_INF_REAL:
    case PSR_INF_WHOLE:
    case PSR_INF_FIXED:
        return read_real(p, field->lead, value, -DBL_MAX, DBL_MAX, member);
    case PSR_INF_NOTES:
        read_notes(p, member);
        return PSR_OK;
    }
    return PSR_OK;
}

/* The sign that ends a label: the first outside parentheses, as old labels hold "(1=yes, 0=no)"; values may have
 * more. */
static const char *find_equals(struct slice line)
{
    int depth = 0;
    for (size_t i = 0; i < line.n; i++) {
        depth += (line.at[i] == '(') - (line.at[i] == ')');
        if (line.at[i] == '=' && depth <= 0)
            return line.at + i;
    }
    return memchr(line.at, '=', line.n);
}

static psr_status read_line(struct parser *p, struct slice line)
{
    const char *equals = find_equals(line);
    struct slice label =
        trim((struct slice){line.at, equals ? (size_t)(equals - line.at) : line.n});
    struct slice value = {line.at + line.n, 0};
    if (equals)
        value = trim((struct slice){equals + 1, line.n - (size_t)(equals + 1 - line.at)});
    bool is_pair = begins_with(label, PSR_INF_PAIR_LEAD);
    int i = 0;
    while (i < PSR_INF_NFIELD && !begins_with(label, psr_inf_fields[i].lead))
        i++;
    if (!is_pair && i == PSR_INF_NFIELD)
        return PSR_OK; /* a remark, or a line of files to come */
    if (!equals && (is_pair || psr_inf_fields[i].kind != PSR_INF_NOTES))
        return psr_fail(p->err, PSR_EFORMAT, "%s: line %d: no '=' after %.*s", p->name, p->line,
                        label.n < 60 ? (int)label.n : 60, label.at);
    return is_pair ? read_pair(p, value) : read_field(p, i, value);
}

/* Checks the required fields. */
static psr_status check_complete(const struct parser *p)
{
    const struct psr_inf *inf = p->inf;
    for (int i = 0; i < PSR_INF_NFIELD; i++) {
        const struct psr_inf_field *field = &psr_inf_fields[i];
        bool needed = field->offset == offsetof(struct psr_inf, nbin) ||
                      field->offset == offsetof(struct psr_inf, tbin_s);
        if (needed && !p->seen[i])
            return psr_fail_field(p->err, PSR_EFORMAT, field->lead, "%s: no line '%s%s'", p->name,
                                  field->lead, field->rest);
    }
    if (!(inf->tbin_s > 0))
        return psr_fail_field(p->err, PSR_EFORMAT, "tbin_s", "%s: bins of %g s, must be above 0",
                              p->name, inf->tbin_s);
    if (p->breaks && !inf->nonoff)
        return psr_fail(p->err, PSR_EFORMAT,
                        "%s: line %d: breaks in the data, but no line '%s': it must say 0 where "
                        "there are none",
                        p->name, p->breaks, PSR_INF_PAIR_LEAD);
    if (inf->nonoff && inf->onoff[inf->nonoff - 1][1] >= inf->nbin)
        return psr_fail(p->err, PSR_EFORMAT, "%s: %s %d: bin %lld is beyond the %lld of the series",
                        p->name, PSR_INF_PAIR_LEAD, inf->nonoff,
                        (long long)inf->onoff[inf->nonoff - 1][1], (long long)inf->nbin);
    return PSR_OK;
}

psr_status psr_inf_parse(struct psr_inf *inf, const char *text, size_t n, const char *name,
                         psr_err *err)
{
    struct parser p = {.inf = inf, .name = name, .rest = {text, n}, .err = err};
    memset(inf, 0, sizeof *inf);
    for (int i = 0; i < PSR_INF_NFIELD; i++)
        if (psr_inf_fields[i].kind == PSR_INF_TEXT)
            strcpy((char *)inf + psr_inf_fields[i].offset, "Unknown");
    if (n && memchr(text, '\0', n))
        return psr_fail(err, PSR_EFORMAT, "%s: not a text file", name);
    while (p.rest.n) {
        p.line++;
        psr_status st = read_line(&p, take_line(&p.rest));
        if (st)
            return st;
    }
    /* The lines of other bands are none of a file's; what is not radio has one channel without frequency. */
    const struct psr_inf_band *band = psr_inf_find_band(inf->band, strlen(inf->band));
    if (band && band->lines != PSR_INF_RADIO_LINES) {
        inf->nchan = 1;
        inf->dm = inf->lowest_mhz = inf->bandwidth_mhz = inf->chan_width_mhz = inf->beam_arcsec = 0;
    }
    return check_complete(&p);
}

psr_status psr_inf_read(struct psr_inf *inf, const char *path, psr_err *err)
{
    char *text;
    size_t n;
    psr_status st = psr_read_file(path, PSR_INF_MAX_BYTES, &text, &n, err);
    if (!st)
        st = psr_inf_parse(inf, text, n, path, err);
    free(text);
    return st;
}
