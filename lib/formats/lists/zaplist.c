/* Reads PRESTO's .zaplist and .birds files. */
#include <psrkit/series.h>

#include "base/base.h"
#include "base/input/readfd.h"
#include "formats/series/series_internal.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_BYTES = 512, MAX_COLUMNS = 5, MAX_HARMONICS = 100000 };
static const double HZ_MAX = 1e9;

struct line {
    const char *name;
    long number;
    char text[LINE_MAX_BYTES];
};

static psr_status bad_line(const struct line *line, const char *what, psr_err *err)
{
    return psr_fail(err, PSR_EFORMAT, "%s: line %ld: '%.80s' %s", line->name, line->number,
                    line->text, what);
}

/* Returned: columns read into v, or -1 where the line is no numbers or has too many of them. */
static int read_columns(const char *text, double *v)
{
    int n = 0;
    for (;;) {
        text += strspn(text, " \t");
        if (!*text)
            return n;
        char *end;
        if (n == MAX_COLUMNS)
            return -1;
        v[n] = psr_c_locale_strtod(text, &end);
        if (end == text || !isfinite(v[n]) || (*end && *end != ' ' && *end != '\t'))
            return -1;
        n++;
        text = end;
    }
}

/* What a comment says of the power; 0: nothing. */
static double find_power(const char *text)
{
    static const char word[] = "# power ";
    const char *at = strstr(text, word);
    const double power = at ? psr_c_locale_strtod(at + strlen(word), NULL) : 0;
    return power > 0 && isfinite(power) ? power : 0;
}

static psr_status take_line(struct psr_zaplist *list, size_t *room, struct line *line, psr_err *err)
{
    double v[MAX_COLUMNS];
    char *text = line->text;
    const double power = find_power(text);
    text[strcspn(text, "#\r")] = '\0';
    text += strspn(text, " \t");
    if (!*text)
        return PSR_OK;
    if (*text == 'P')
        return psr_fail(err, PSR_EUNSUPPORTED,
                        "%s: line %ld: '%.80s' names a pulsar; give its frequency and width",
                        line->name, line->number, text);
    bool barycentric = *text == 'B';
    int n = read_columns(text + barycentric, v);
    if (n < 2)
        return bad_line(line, "is not a frequency and a width", err);
    struct psr_bird like = (struct psr_bird){.barycentric = barycentric, .power = power};
    double nharm = n > 2 ? v[2] : 1;
    if (v[0] < 0 || v[0] > HZ_MAX || v[1] < 0 || v[1] > HZ_MAX)
        return bad_line(line, "is not a frequency and a width of 0 to 1e9 Hz", err);
    if (!(nharm >= 1 && nharm <= MAX_HARMONICS) || nharm != floor(nharm))
        return bad_line(line, "does not have a number of harmonics of 1 to 100000", err);
    bool grow = n > 3 && v[3] != 0;
    psr_status st = PSR_OK;
    like.barycentric = like.barycentric || (n > 4 && v[4] != 0);
    for (int h = 1; h <= (int)nharm && st == PSR_OK; h++) {
        if (list->n == PSR_ZAPLIST_MAX_BIRDS)
            return psr_fail(err, PSR_EFORMAT, "%s: more than %d birdies", line->name,
                            PSR_ZAPLIST_MAX_BIRDS);
        like.freq_hz = h * v[0];
        like.width_hz = grow ? h * v[1] : v[1];
        st = psr_grow(&list->bird, room, list->n, sizeof *list->bird, "a list of birdies", err);
        if (st == PSR_OK)
            list->bird[list->n++] = like;
    }
    return st;
}

psr_status psr_zaplist_parse(struct psr_zaplist *list, const char *text, size_t n, const char *name,
                             psr_err *err)
{
    struct line line = {.name = name};
    size_t room = 0;
    psr_status st = PSR_OK;
    *list = (struct psr_zaplist){0};
    while (n > 0 && st == PSR_OK) {
        const char *end = memchr(text, '\n', n);
        size_t length = end ? (size_t)(end - text) : n;
        size_t kept = length < sizeof line.text ? length : sizeof line.text - 1;
        line.number++;
        memcpy(line.text, text, kept);
        line.text[kept] = '\0';
        if (strlen(line.text) < length && !strchr(line.text, '#'))
            return bad_line(&line, "is too long, or binary", err);
        st = take_line(list, &room, &line, err);
        text += length + (end != NULL);
        n -= length + (end != NULL);
    }
    return st;
}

psr_status psr_zaplist_read(struct psr_zaplist *list, const char *path, psr_err *err)
{
    char *text;
    size_t n;
    *list = (struct psr_zaplist){0};
    psr_status st = psr_read_file(path, PSR_ZAPLIST_MAX_BYTES, &text, &n, err);
    if (st == PSR_OK)
        st = psr_zaplist_parse(list, text, n, path, err);
    free(text);
    return st;
}

psr_status psr_zaplist_bins(const struct psr_zaplist *list, double tobs_s, double baryv,
                            int64_t nbin, struct psr_span **span, size_t *n, psr_err *err)
{
    *n = 0;
    *span = calloc(list->n ? list->n : 1, sizeof **span);
    if (!*span)
        return psr_fail_nomem(err, "zapped bins", (double)list->n * sizeof **span);
    for (size_t i = 0; i < list->n; i++) {
        const struct psr_bird *b = &list->bird[i];
        double scale = b->barycentric ? tobs_s : tobs_s * (1 + baryv);
        double middle = b->freq_hz * scale, half = 0.5 * b->width_hz * scale;
        half = half < 0.5 ? 0.5 : half;
        double lo = floor(middle - half), hi = ceil(middle + half);
        lo = lo < 1 ? 1 : lo;
        hi = hi > (double)nbin ? (double)nbin : hi;
        if (lo < hi)
            (*span)[(*n)++] = (struct psr_span){(int64_t)lo, (int64_t)(hi - lo)};
    }
    return PSR_OK;
}

void psr_zaplist_clear(struct psr_zaplist *list)
{
    free(list->bird);
    *list = (struct psr_zaplist){0};
}
