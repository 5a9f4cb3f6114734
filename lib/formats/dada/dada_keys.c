/* Recognises DADA headers, and reads when their data begin. */
#include "dada_keys.h"

#include "base/obs_internal.h"
#include "dada_date.h"

#include <string.h>

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
