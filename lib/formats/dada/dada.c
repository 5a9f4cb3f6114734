/* Reads and writes DADA headers. */
#include "dada_internal.h"

#include "base/base.h"
#include "base/obs_internal.h"

#include <erfa.h>
#include <erfam.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { VALUE_MAX = PSR_DADA_NAME_MAX };

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

/* --- sizes and dates -------------------------------------------------------------------------- */

/* Reads UTC_START, "2024-11-20-03:04:05" with or without a fraction of a second, plus PICOSECONDS. */
static psr_status read_utc(const char *name, const char *text, int64_t picoseconds,
                           struct psr_mjd *date, psr_err *err)
{
    int year, month, day, hour, minute, n = 0;
    double epoch, mjd;
    bool good =
        sscanf(text, "%4d-%2d-%2d-%2d:%2d:%n", &year, &month, &day, &hour, &minute, &n) == 5 &&
        n > 0 && text[n] >= '0' && text[n] <= '9';
    char *end = NULL;
    double second = good ? psr_c_locale_strtod(text + n, &end) : 0;
    if (!good || *end || !(second >= 0 && second < 61) || hour < 0 || hour > 23 || minute < 0 ||
        minute > 59 || eraCal2jd(year, month, day, &epoch, &mjd) != 0)
        return psr_fail_field(err, PSR_EFORMAT, "UTC_START",
                              "%s: UTC_START is %.64s, must be yyyy-mm-dd-hh:mm:ss", name, text);
    struct psr_mjd midnight = {(long)mjd, 0};
    *date = psr_mjd_add(midnight, hour * 3600 + minute * 60 + second + 1e-12 * (double)picoseconds);
    return PSR_OK;
}

/* The date of MJD_START, which is a number; the day apart from its fraction, so that no digit is lost. */
static struct psr_mjd read_mjd(const char *text)
{
    const char *point = strchr(text, '.');
    const double number = psr_c_locale_strtod(text, NULL), day = floor(number);
    bool plain = point && strspn(point + 1, "0123456789") == strlen(point + 1);
    double frac = plain ? psr_c_locale_strtod(point, NULL) : number - day;
    return (struct psr_mjd){(long)day, frac};
}

int psr_dada_print_start(char *to, size_t room, struct psr_mjd start, int64_t unit_ps)
{
    const int64_t second_ps = 1000000000000, day_s = (int64_t)PSR_DAY_S;
    int year, month, day;
    double frac;
    int64_t ps = (int64_t)llround(start.frac * (PSR_DAY_S * 1e12) / (double)unit_ps) * unit_ps;
    if (ps >= day_s * second_ps) {
        start.day++;
        ps = 0;
    }
    if (eraJd2cal(ERFA_DJM0, (double)start.day, &year, &month, &day, &frac) != 0)
        return 0;
    const int64_t second = ps / second_ps;
    return psr_c_locale_snprintf(to, room,
                                 "UTC_START %04d-%02d-%02d-%02d:%02d:%02d\nPICOSECONDS %lld\n",
                                 year, month, day, (int)(second / 3600), (int)(second / 60 % 60),
                                 (int)(second % 60), (long long)(ps % second_ps));
}

enum { OBSERVATION_S_MAX = 1000000000 };

psr_status psr_dada_read_size(const struct psr_header_keys *k, int64_t *size, psr_err *err)
{
    const struct psr_header_number number = {"HDR_SIZE",          false, PSR_DADA_HEADER,
                                             PSR_DADA_HEADER_MAX, size,  NULL};
    *size = PSR_DADA_HEADER;
    return psr_header_keys_numbers(k, &number, 1, err);
}

bool psr_dada_is_header(const uint8_t *bytes, size_t n)
{
    static const char *const words[] = {"HDR_SIZE", "HDR_VERSION", "UTC_START", "NBIT"};
    n = n < PSR_DADA_HEADER ? n : PSR_DADA_HEADER;
    for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
        const size_t length = strlen(words[w]);
        for (size_t i = 0; i + length < n && bytes[i]; i++)
            if (!memcmp(bytes + i, words[w], length) && (i == 0 || bytes[i - 1] == '\n') &&
                (bytes[i + length] == ' ' || bytes[i + length] == '\t'))
                return true;
    }
    return false;
}

psr_status psr_dada_read_start(const struct psr_header_keys *k, double bytes_per_second,
                               struct psr_mjd *start, psr_err *err)
{
    const char *utc = psr_header_keys_text(k, "UTC_START"),
               *mjd = psr_header_keys_text(k, "MJD_START");
    double offset = 0, day = 0;
    int64_t pico = 0;
    const struct psr_header_number numbers[] = {
        {"OBS_OFFSET", false, 0, 9e18, NULL, &offset},
        {"PICOSECONDS", false, 0, 999999999999, &pico, NULL},
        {"MJD_START", false, 0, 1e6, NULL, &day},
    };
    *start = (struct psr_mjd){0, 0};
    psr_status st = psr_header_keys_numbers(k, numbers, sizeof numbers / sizeof *numbers, err);
    if (!st && utc)
        st = read_utc(k->name, utc, pico, start, err);
    else if (!st && mjd)
        *start = read_mjd(mjd);
    const double seconds = offset / bytes_per_second;
    if (!st && !(seconds < OBSERVATION_S_MAX))
        st = psr_fail_field(err, PSR_EFORMAT, "OBS_OFFSET",
                            "%s: OBS_OFFSET is %.17g bytes, %.3g s, limit %d s", k->name, offset,
                            seconds, OBSERVATION_S_MAX);
    if (!st)
        *start = psr_mjd_add(*start, seconds);
    return st;
}

/* --- headers of voltages ---------------------------------------------------------------------- */

static bool is_known(const char *key)
{
    static const char *const known[] = {
        "HDR_SIZE",  "NCHAN",       "NPOL",       "NANT",       "NBIT",
        "NDIM",      "ORDER",       "FREQ",       "BW",         "TSAMP",
        "UTC_START", "PICOSECONDS", "MJD_START",  "OBS_OFFSET", "BYTES_PER_SECOND",
        "ENCODING",  "REAL_NIBBLE", "PHASE_SIGN", "TELESCOPE",  "SOURCE"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(key, known[i]))
            return true;
    return false;
}

/* Keys that are known have one value; lines of others are kept. */
static psr_status take_lines(struct psr_dada *h, const struct psr_header_keys *k, size_t n,
                             psr_err *err)
{
    char *to = h->other = malloc(n + 2);
    if (!to)
        return psr_fail_nomem(err, "a DADA header", (double)n);
    for (const struct psr_header_key *e = k->entry; e < k->entry + k->n; e++) {
        if (!is_known(e->key)) {
            memcpy(to, e->line, e->length);
            to += e->length;
            *to++ = '\n';
        } else if (!e->value || strlen(e->value) >= VALUE_MAX)
            return psr_fail_field(err, PSR_EFORMAT, e->key,
                                  "%s: %s has no value, or one of more than %d characters", k->name,
                                  e->key, VALUE_MAX - 1);
        else if (strcmp(e->value, psr_header_keys_text(k, e->key)) != 0)
            return psr_fail_field(err, PSR_EFORMAT, e->key, "%s: %s is %s, and it is %.63s",
                                  k->name, e->key, e->value, psr_header_keys_text(k, e->key));
    }
    *to = '\0';
    if (to == h->other) {
        free(to);
        h->other = NULL;
    }
    return PSR_OK;
}

/* Upper and lower case, and '_' or '-' within, are the same.
 * Returned: *second, whether the word of a key is the second one; false where there is none */
static psr_status read_word(const struct psr_header_keys *k, const char *key,
                            const char *const words[2], bool *second, psr_err *err)
{
    const char *text = psr_header_keys_text(k, key);
    char plain[VALUE_MAX];
    size_t n = 0;
    for (const char *at = text; at && *at; at++)
        if (*at != '_' && *at != '-')
            plain[n++] = *at;
    plain[n] = '\0';
    *second = text && !strcasecmp(plain, words[1]);
    if (!text || *second || !strcasecmp(plain, words[0]))
        return PSR_OK;
    return psr_fail_field(err, PSR_EFORMAT, key, "%s: %s is %s, must be one of %s|%s", k->name, key,
                          text, words[0], words[1]);
}

static psr_status read_numbers(struct psr_dada *h, const struct psr_header_keys *k, psr_err *err)
{
    int64_t npol, nbit, ndim, phase_sign = -1;
    double rate = -1;
    const struct psr_header_number numbers[] = {
        {"NCHAN", true, 1, 1 << 20, &h->nchan, NULL},
        {"NPOL", true, 1, 4, &npol, NULL},
        {"NANT", true, 1, 1 << 18, &h->nant, NULL},
        {"NBIT", true, 1, 64, &nbit, NULL},
        {"NDIM", true, 1, 2, &ndim, NULL},
        {"FREQ", true, 1e-3, 1e9, NULL, &h->freq_mhz},
        {"BW", true, -1e9, 1e9, NULL, &h->bw_mhz},
        {"TSAMP", true, 1e-6, 1e9, NULL, &h->tsamp_us},
        {"OBS_OFFSET", false, 0, 9e18, &h->obs_offset, NULL},
        {"BYTES_PER_SECOND", false, 0, 1e18, NULL, &rate},
        {"PHASE_SIGN", false, -1, 1, &phase_sign, NULL},
    };
    psr_status st = psr_header_keys_numbers(k, numbers, sizeof numbers / sizeof *numbers, err);
    h->phase_sign = (int)phase_sign;
    if (!st && h->phase_sign == 0)
        st = psr_fail_field(err, PSR_EFORMAT, "PHASE_SIGN", "%s: PHASE_SIGN is 0, must be -1 or 1",
                            k->name);
    if (st)
        return st;
    const double want = 1e6 * (double)psr_dada_sample_bytes(h) / h->tsamp_us;
    if (rate >= 0 && !(fabs(rate - want) <= 1e-5 * want))
        return psr_fail_field(err, PSR_EFORMAT, "BYTES_PER_SECOND",
                              "%s: BYTES_PER_SECOND is %s, NCHAN, NANT and TSAMP make it %.12g B/s",
                              k->name, psr_header_keys_text(k, "BYTES_PER_SECOND"), want);
    return PSR_OK;
}

static psr_status check_kind(const struct psr_dada *h, const struct psr_header_keys *k,
                             psr_err *err)
{
    static const struct {
        const char *key, *value;
    } only[] = {{"NPOL", "2"}, {"NBIT", "4"}, {"NDIM", "2"}, {"ORDER", "TFPA"}};
    for (size_t i = 0; i < sizeof only / sizeof *only; i++) {
        const char *text = psr_header_keys_text(k, only[i].key);
        if (!text)
            return psr_fail_field(err, PSR_EFORMAT, only[i].key, "%s: %s is missing", k->name,
                                  only[i].key);
        if (strcmp(text, only[i].value) != 0)
            return psr_fail_field(err, PSR_EUNSUPPORTED, only[i].key,
                                  "%s: %s is %s, only %s is read", k->name, only[i].key, text,
                                  only[i].value);
    }
    if (h->bw_mhz == 0)
        return psr_fail_field(err, PSR_EFORMAT, "BW", "%s: BW is 0", k->name);
    if (h->freq_mhz <= fabs(h->bw_mhz) / 2)
        return psr_fail_field(err, PSR_EFORMAT, "BW",
                              "%s: BW %g MHz about FREQ %g MHz goes below 0", k->name, h->bw_mhz,
                              h->freq_mhz);
    return PSR_OK;
}

static psr_status read_start(struct psr_dada *h, const struct psr_header_keys *k, psr_err *err)
{
    const double close_s = 0.01; /* an MJD may be written with few digits */
    const char *utc_text = psr_header_keys_text(k, "UTC_START"),
               *mjd_text = psr_header_keys_text(k, "MJD_START");
    struct psr_mjd utc = {0, 0}, mjd = {0, 0};
    int64_t pico = 0;
    double day = 0;
    const struct psr_header_number numbers[] = {
        {"PICOSECONDS", false, 0, 999999999999, &pico, NULL},
        {"MJD_START", false, 0, 1e6, NULL, &day},
    };
    psr_status st = psr_header_keys_numbers(k, numbers, sizeof numbers / sizeof *numbers, err);
    if (!st && psr_header_keys_text(k, "PICOSECONDS") && !utc_text)
        st = psr_fail_field(err, PSR_EFORMAT, "PICOSECONDS", "%s: PICOSECONDS without UTC_START",
                            k->name);
    if (!st && utc_text)
        st = read_utc(k->name, utc_text, pico, &utc, err);
    if (st)
        return st;
    if (mjd_text)
        mjd = read_mjd(mjd_text);
    if (utc_text && mjd_text && fabs(psr_mjd_diff_s(utc, mjd)) > close_s)
        return psr_fail_field(err, PSR_EFORMAT, "MJD_START",
                              "%s: UTC_START %s and MJD_START %s are %.3f s apart", k->name,
                              utc_text, mjd_text, fabs(psr_mjd_diff_s(utc, mjd)));
    h->has_start = utc_text || mjd_text;
    h->start = utc_text ? utc : mjd;
    return PSR_OK;
}

psr_status psr_dada_parse(struct psr_dada *h, const void *bytes, size_t n, const char *name,
                          size_t *need, psr_err *err)
{
    static const char *const encodings[] = {"TWOSCOMPLEMENT", "OFFSETBINARY"};
    static const char *const nibbles[] = {"HIGH", "LOW"};
    struct psr_header_keys k = {.name = name};
    *h = (struct psr_dada){0};
    *need = 0;
    psr_status st = psr_header_keys_lines(&k, bytes, n, err);
    if (!st)
        st = take_lines(h, &k, n, err);
    if (!st)
        st = psr_dada_read_size(&k, &h->header_bytes, err);
    if (!st && h->header_bytes > (int64_t)n) {
        *need = (size_t)h->header_bytes;
        st = psr_fail(err, PSR_EFORMAT, "%s: ends within its header", name);
    }
    if (!st)
        st = read_numbers(h, &k, err);
    if (!st)
        st = read_word(&k, "ENCODING", encodings, &h->nibbles.offset_binary, err);
    if (!st)
        st = read_word(&k, "REAL_NIBBLE", nibbles, &h->nibbles.real_low, err);
    if (!st)
        st = check_kind(h, &k, err);
    const char *telescope = psr_header_keys_text(&k, "TELESCOPE"),
               *source = psr_header_keys_text(&k, "SOURCE");
    snprintf(h->telescope, sizeof h->telescope, "%s", telescope ? telescope : "");
    snprintf(h->source, sizeof h->source, "%s", source ? source : "");
    if (!st)
        st = read_start(h, &k, err);
    psr_header_keys_clear(&k);
    if (st)
        psr_dada_clear(h);
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
