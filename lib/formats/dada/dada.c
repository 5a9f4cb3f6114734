/* Reads and writes DADA headers. */
#include "dada_keys.h"

#include "base/c_locale.h"

#include "base/obs_internal.h"
#include "base/tool.h"
#include "dada_internal.h"
#include <psrkit/experimental/dada.h>

#include <erfa.h>
#include <erfam.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum key {
    HDR_SIZE,
    NCHAN,
    NPOL,
    NANT,
    NBIT,
    NDIM,
    ORDER,
    FREQ,
    BW,
    TSAMP,
    UTC_START,
    PICOSECONDS,
    MJD_START,
    OBS_OFFSET,
    BYTES_PER_SECOND,
    ENCODING,
    REAL_NIBBLE,
    PHASE_SIGN,
    TELESCOPE,
    SOURCE,
    NKEY
};

enum { VALUE_MAX = PSR_DADA_NAME_MAX };

/* What values a key may have: a number in [min, max], one of the words in "words", or any word. */
static const struct {
    const char *name;
    bool needed, whole;
    double min, max;
    const char *words; /* separated by |; NULL for numbers; "" for any word */
} keys[NKEY] = {
    [HDR_SIZE] = {"HDR_SIZE", false, true, PSR_DADA_HEADER, PSR_DADA_HEADER_MAX, NULL},
    [NCHAN] = {"NCHAN", true, true, 1, 1 << 20, NULL},
    [NPOL] = {"NPOL", true, true, 1, 4, NULL},
    [NANT] = {"NANT", true, true, 1, 1 << 18, NULL},
    [NBIT] = {"NBIT", true, true, 1, 64, NULL},
    [NDIM] = {"NDIM", true, true, 1, 2, NULL},
    [ORDER] = {"ORDER", true, false, 0, 0, ""},
    [FREQ] = {"FREQ", true, false, 1e-3, 1e9, NULL},
    [BW] = {"BW", true, false, -1e9, 1e9, NULL},
    [TSAMP] = {"TSAMP", true, false, 1e-6, 1e9, NULL},
    [UTC_START] = {"UTC_START", false, false, 0, 0, ""},
    [PICOSECONDS] = {"PICOSECONDS", false, true, 0, 999999999999, NULL},
    [MJD_START] = {"MJD_START", false, false, 0, 1e6, NULL},
    [OBS_OFFSET] = {"OBS_OFFSET", false, true, 0, 9e18, NULL},
    [BYTES_PER_SECOND] = {"BYTES_PER_SECOND", false, false, 0, 1e18, NULL},
    [ENCODING] = {"ENCODING", false, false, 0, 0, "TWOSCOMPLEMENT|OFFSETBINARY"},
    [REAL_NIBBLE] = {"REAL_NIBBLE", false, false, 0, 0, "HIGH|LOW"},
    [PHASE_SIGN] = {"PHASE_SIGN", false, true, -1, 1, NULL},
    [TELESCOPE] = {"TELESCOPE", false, false, 0, 0, ""},
    [SOURCE] = {"SOURCE", false, false, 0, 0, ""},
};

/* The values of a header, key by key. */
struct fields {
    const char *name; /* of the file */
    char value[NKEY][VALUE_MAX];
    bool given[NKEY];
    double number[NKEY]; /* of those that are no words */
    int64_t whole[NKEY];
    int word[NKEY]; /* which of the words */
    char *other;
    size_t other_n, other_room;
};

double psr_dada_freq_mhz(const struct psr_dada *h, size_t c)
{
    return h->freq_mhz + h->bw_mhz * (((double)c + 0.5) / (double)h->nchan - 0.5);
}

size_t psr_dada_sample_bytes(const struct psr_dada *h)
{
    return (size_t)h->nchan * 2 * (size_t)h->nant;
}

void psr_dada_clear(struct psr_dada *h)
{
    free(h->other);
    *h = (struct psr_dada){0};
}

/* --- lines ------------------------------------------------------------------------------------ */

static psr_status keep_line(struct fields *s, const char *line, size_t n, psr_err *err)
{
    if (s->other_n + n + 2 > s->other_room) {
        size_t room = 2 * (s->other_n + n + 2);
        char *grown = realloc(s->other, room);
        if (!grown)
            return psr_fail_nomem(err, "a DADA header", (double)room);
        s->other = grown;
        s->other_room = room;
    }
    memcpy(s->other + s->other_n, line, n);
    s->other_n += n;
    s->other[s->other_n++] = '\n';
    s->other[s->other_n] = '\0';
    return PSR_OK;
}

static enum key find_key(const char *word, size_t n)
{
    int k = 0;
    while (k < NKEY && (strlen(keys[k].name) != n || strncmp(keys[k].name, word, n) != 0))
        k++;
    return (enum key)k;
}

static psr_status take_line(struct fields *s, const char *line, size_t n, psr_err *err)
{
    static const char blank[] = " \t\r";
    char text[VALUE_MAX];
    size_t whole = n, at = strspn(line, blank);
    const char *comment = memchr(line, '#', n);
    n = comment ? (size_t)(comment - line) : n;
    if (at >= n)
        return PSR_OK;
    size_t name_n = strcspn(line + at, " \t\r\n#"), value_at = at + name_n;
    value_at += strspn(line + value_at, blank);
    size_t value_n = value_at < n ? strcspn(line + value_at, " \t\r\n#") : 0;
    enum key k = find_key(line + at, name_n);
    if (k == NKEY)
        return keep_line(s, line, whole, err);
    if (value_n == 0 || value_n >= VALUE_MAX)
        return psr_fail_field(err, PSR_EFORMAT, keys[k].name,
                              "%s: %s has no value, or one of more than %d characters", s->name,
                              keys[k].name, VALUE_MAX - 1);
    memcpy(text, line + value_at, value_n);
    text[value_n] = '\0';
    if (s->given[k] && strcmp(text, s->value[k]) != 0)
        return psr_fail_field(err, PSR_EFORMAT, keys[k].name, "%s: %s is %s, and it is %s", s->name,
                              keys[k].name, s->value[k], text);
    memcpy(s->value[k], text, value_n + 1);
    s->given[k] = true;
    return PSR_OK;
}

static psr_status take_lines(struct fields *s, const char *text, psr_err *err)
{
    psr_status st = PSR_OK;
    while (*text && !st) {
        size_t n = strcspn(text, "\n");
        st = take_line(s, text, n, err);
        text += n + (text[n] == '\n');
    }
    return st;
}

/* --- values ----------------------------------------------------------------------------------- */

/* Position of value among words, upper and lower case and '_' or '-' within being the same. */
static int find_word(const char *value, const char *words)
{
    char plain[VALUE_MAX];
    size_t n = 0;
    for (; *value; value++)
        if (*value != '_' && *value != '-')
            plain[n++] = *value;
    plain[n] = '\0';
    for (int w = 0; *words; w++) {
        size_t length = strcspn(words, "|");
        if (length == n && !strncasecmp(words, plain, n))
            return w;
        words += length + (words[length] == '|');
    }
    return -1;
}

static psr_status read_value(struct fields *s, enum key k, psr_err *err)
{
    psr_err why;
    psr_status st = PSR_OK;
    if (!s->given[k])
        return keys[k].needed ? psr_fail_field(err, PSR_EFORMAT, keys[k].name, "%s: %s is missing",
                                               s->name, keys[k].name)
                              : PSR_OK;
    if (keys[k].words && !*keys[k].words)
        return PSR_OK;
    if (keys[k].words) {
        s->word[k] = find_word(s->value[k], keys[k].words);
        return s->word[k] >= 0 ? PSR_OK
                               : psr_fail_field(err, PSR_EFORMAT, keys[k].name,
                                                "%s: %s is %s, must be one of %s", s->name,
                                                keys[k].name, s->value[k], keys[k].words);
    }
    if (keys[k].whole)
        st = psr_parse_int(keys[k].name, s->value[k], (int64_t)keys[k].min, (int64_t)keys[k].max,
                           &s->whole[k], &why);
    else
        st = psr_parse_double(keys[k].name, s->value[k], keys[k].min, keys[k].max, &s->number[k],
                              &why);
    return st ? psr_fail_field(err, PSR_EFORMAT, why.field, "%s: %s", s->name, why.msg) : PSR_OK;
}

static psr_status check_kind(const struct fields *s, psr_err *err)
{
    static const struct {
        enum key key;
        const char *value;
    } only[] = {{NPOL, "2"}, {NBIT, "4"}, {NDIM, "2"}, {ORDER, "TFPA"}};
    for (size_t i = 0; i < sizeof only / sizeof *only; i++)
        if (strcmp(s->value[only[i].key], only[i].value) != 0)
            return psr_fail_field(err, PSR_EUNSUPPORTED, keys[only[i].key].name,
                                  "%s: %s is %s, only %s is read", s->name, keys[only[i].key].name,
                                  s->value[only[i].key], only[i].value);
    if (s->number[BW] == 0)
        return psr_fail_field(err, PSR_EFORMAT, "BW", "%s: BW is 0", s->name);
    if (s->number[FREQ] <= fabs(s->number[BW]) / 2)
        return psr_fail_field(err, PSR_EFORMAT, "BW",
                              "%s: BW %g MHz about FREQ %g MHz goes below 0", s->name,
                              s->number[BW], s->number[FREQ]);
    if (s->given[PHASE_SIGN] && s->whole[PHASE_SIGN] == 0)
        return psr_fail_field(err, PSR_EFORMAT, "PHASE_SIGN",
                              "%s: PHASE_SIGN is 0, must be -1 or 1", s->name);
    double rate = 2e6 * (double)s->whole[NCHAN] * (double)s->whole[NANT] / s->number[TSAMP];
    if (s->given[BYTES_PER_SECOND] && !(fabs(s->number[BYTES_PER_SECOND] - rate) <= 1e-5 * rate))
        return psr_fail_field(err, PSR_EFORMAT, "BYTES_PER_SECOND",
                              "%s: BYTES_PER_SECOND is %s, NCHAN, NANT and TSAMP make it %.12g B/s",
                              s->name, s->value[BYTES_PER_SECOND], rate);
    return PSR_OK;
}

static psr_status read_start(const struct fields *s, struct psr_dada *h, psr_err *err)
{
    const double close_s = 0.01; /* an MJD may be written with few digits */
    struct psr_mjd utc = {0, 0}, mjd = {0, 0};
    if (s->given[PICOSECONDS] && !s->given[UTC_START])
        return psr_fail_field(err, PSR_EFORMAT, "PICOSECONDS", "%s: PICOSECONDS without UTC_START",
                              s->name);
    psr_status st = PSR_OK;
    if (s->given[UTC_START])
        st = psr_dada_read_utc(s->name, s->value[UTC_START], s->whole[PICOSECONDS], &utc, err);
    if (st)
        return st;
    if (s->given[MJD_START])
        mjd = psr_dada_read_mjd(s->value[MJD_START]);
    if (s->given[UTC_START] && s->given[MJD_START] && fabs(psr_mjd_diff_s(utc, mjd)) > close_s)
        return psr_fail_field(
            err, PSR_EFORMAT, "MJD_START", "%s: UTC_START %s and MJD_START %s are %.3f s apart",
            s->name, s->value[UTC_START], s->value[MJD_START], fabs(psr_mjd_diff_s(utc, mjd)));
    h->has_start = s->given[UTC_START] || s->given[MJD_START];
    h->start = s->given[UTC_START] ? utc : mjd;
    return PSR_OK;
}

static psr_status fill_header(struct psr_dada *h, struct fields *s, psr_err *err)
{
    h->nchan = s->whole[NCHAN];
    h->nant = s->whole[NANT];
    h->freq_mhz = s->number[FREQ];
    h->bw_mhz = s->number[BW];
    h->tsamp_us = s->number[TSAMP];
    h->obs_offset = s->whole[OBS_OFFSET];
    h->nibbles.offset_binary = s->given[ENCODING] && s->word[ENCODING] == 1;
    h->nibbles.real_low = s->given[REAL_NIBBLE] && s->word[REAL_NIBBLE] == 1;
    h->phase_sign = s->given[PHASE_SIGN] ? (int)s->whole[PHASE_SIGN] : -1;
    h->header_bytes = s->given[HDR_SIZE] ? s->whole[HDR_SIZE] : PSR_DADA_HEADER;
    snprintf(h->telescope, sizeof h->telescope, "%s", s->value[TELESCOPE]);
    snprintf(h->source, sizeof h->source, "%s", s->value[SOURCE]);
    psr_status st = read_start(s, h, err);
    if (st)
        return st;
    h->other = s->other;
    s->other = NULL;
    return PSR_OK;
}

psr_status psr_dada_parse(struct psr_dada *h, const void *bytes, size_t n, const char *name,
                          size_t *need, psr_err *err)
{
    struct fields *s = calloc(1, sizeof *s);
    char *text = malloc(n + 1);
    psr_status st = PSR_OK;
    *h = (struct psr_dada){0};
    *need = 0;
    if (!s || !text) {
        st = psr_fail_nomem(err, "a DADA header", (double)n);
        goto done;
    }
    memcpy(text, bytes, n);
    text[n] = '\0';
    s->name = name;
    st = take_lines(s, text, err);
    for (int k = 0; k < NKEY && !st; k++) {
        st = read_value(s, (enum key)k, err);
        if (k == HDR_SIZE && !st && s->given[k] && (size_t)s->whole[k] > n) {
            *need = (size_t)s->whole[k];
            st = psr_fail(err, PSR_EFORMAT, "%s: ends within its header", name);
        }
    }
    if (!st)
        st = check_kind(s, err);
    if (!st)
        st = fill_header(h, s, err);
done:
    free(text);
    if (s)
        free(s->other);
    free(s);
    return st;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Room for every key that is known here. */
enum { KNOWN_MAX = 4096, MICROSECOND_PS = 1000000 };

static int print_known(char *to, size_t room, const struct psr_dada *h)
{
    int n = psr_c_locale_snprintf(
        to, room,
        "HDR_SIZE %lld\nNCHAN %lld\nNPOL 2\nNANT %lld\nNBIT 4\nNDIM 2\nORDER TFPA\nFREQ %.15g\n"
        "BW %.15g\nTSAMP %.15g\nOBS_OFFSET %lld\nENCODING %s\nREAL_NIBBLE %s\nPHASE_SIGN %d\n",
        (long long)h->header_bytes, (long long)h->nchan, (long long)h->nant, h->freq_mhz, h->bw_mhz,
        h->tsamp_us, (long long)h->obs_offset,
        h->nibbles.offset_binary ? "OFFSETBINARY" : "TWOSCOMPLEMENT",
        h->nibbles.real_low ? "LOW" : "HIGH", h->phase_sign);
    if (h->telescope[0])
        n += psr_c_locale_snprintf(to + n, room - (size_t)n, "TELESCOPE %s\n", h->telescope);
    if (h->source[0])
        n += psr_c_locale_snprintf(to + n, room - (size_t)n, "SOURCE %s\n", h->source);
    if (h->has_start)
        n += psr_dada_print_start(to + n, room - (size_t)n, h->start, MICROSECOND_PS);
    return n;
}

psr_status psr_dada_write(psr_outfile *f, const struct psr_dada *h, psr_err *err)
{
    size_t other_n = h->other ? strlen(h->other) : 0, room = (size_t)h->header_bytes;
    char known[KNOWN_MAX];
    size_t n = (size_t)print_known(known, sizeof known, h);
    if (h->header_bytes > PSR_DADA_HEADER_MAX || n + other_n >= room)
        return psr_fail(err, PSR_EINVAL, "DADA header: %zu bytes of keys in HDR_SIZE of %lld",
                        n + other_n, (long long)h->header_bytes);
    char *all = calloc(room, 1);
    if (!all)
        return psr_fail_nomem(err, "a DADA header", (double)room);
    memcpy(all, known, n);
    if (other_n)
        memcpy(all + n, h->other, other_n);
    psr_status st = psr_outfile_write(f, all, room, err);
    free(all);
    return st;
}
