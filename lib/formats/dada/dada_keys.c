/* Recognises DADA headers, and reads when their data begin. */
#include "dada_keys.h"

#include "base/c_locale.h"
#include "base/obs_internal.h"

#include <erfa.h>
#include <erfam.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- reads and writes dates of DADA headers --------------------------------------------------- */

psr_status psr_dada_read_utc(const char *name, const char *text, int64_t picoseconds,
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

struct psr_mjd psr_dada_read_mjd(const char *text)
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
    *start = (struct psr_mjd){0, 0};
    psr_status st = psr_header_keys_double(k, "OBS_OFFSET", false, 0, 9e18, &offset, err);
    if (!st)
        st = psr_header_keys_int(k, "PICOSECONDS", false, 0, 999999999999, &pico, err);
    if (!st)
        st = psr_header_keys_double(k, "MJD_START", false, 0, 1e6, &day, err);
    if (!st && utc)
        st = psr_dada_read_utc(k->name, utc, pico, start, err);
    else if (!st && mjd)
        *start = psr_dada_read_mjd(mjd);
    const double seconds = offset / bytes_per_second;
    if (!st && !(seconds < OBSERVATION_S_MAX))
        st = psr_fail_field(err, PSR_EFORMAT, "OBS_OFFSET",
                            "%s: OBS_OFFSET is %.17g bytes, %.3g s, limit %d s", k->name, offset,
                            seconds, OBSERVATION_S_MAX);
    if (!st)
        *start = psr_mjd_add(*start, seconds);
    return st;
}
