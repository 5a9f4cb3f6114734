/* Finds the spectra of a time range. */
#include "edit_state.h"

#include "base/obs_internal.h"
#include "base/tool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Further than any observation, and exact in a double. */
static const double spectra_max = 0x1p52, days_max = 1e6, seconds_max = 1e12;

/* Copies text without the suffix; false if it does not end so, or is longer than any number. */
static bool cut_suffix(char *number, size_t room, const char *text, const char *suffix)
{
    const size_t n = strlen(text), nsuffix = strlen(suffix);
    if (n <= nsuffix || n - nsuffix >= room || strcmp(text + n - nsuffix, suffix) != 0)
        return false;
    memcpy(number, text, n - nsuffix);
    number[n - nsuffix] = '\0';
    return true;
}

/* Together a double holds no more than a microsecond. */
psr_status psr_edit_date(const char *what, const char *text, struct psr_mjd *date, psr_err *err)
{
    char number[64];
    double day, frac = 0;
    psr_status st = PSR_OK;
    snprintf(number, sizeof number, "%s", text);
    char *point = strchr(number, '.');
    if (point && point[1] && strspn(point + 1, "0123456789") == strlen(point + 1)) {
        st = psr_parse_double(what, point, 0, 1, &frac, err);
        *point = '\0';
    }
    if (!st)
        st = psr_parse_double(what, number, 0, days_max, &day, err);
    if (st)
        return st;
    *date =
        psr_mjd_add((struct psr_mjd){.day = (long)floor(day), .frac = day - floor(day) + frac}, 0);
    return PSR_OK;
}

static psr_status find_date(const char *what, const char *text, const char *number,
                            const struct psr_obs *obs, double *spectra, psr_err *err)
{
    struct psr_mjd date;
    psr_status st = psr_edit_date(what, number, &date, err);
    if (st)
        return st;
    const double seconds = psr_mjd_diff_s(obs->tstart, date);
    *spectra = rint(seconds / obs->tsamp_s);
    if (*spectra >= 0)
        return PSR_OK;
    return psr_fail_field(err, PSR_EINVAL, what, "%s: %s is %.9g s before the first spectrum", what,
                          text, -seconds);
}

static psr_status find_spectrum(const char *what, const char *text, const struct psr_obs *obs,
                                double *spectra, psr_err *err)
{
    char number[64];
    double seconds = 0;
    int64_t count = 0;
    psr_status st;
    if (cut_suffix(number, sizeof number, text, "smp")) {
        st = psr_parse_int(what, number, 0, (int64_t)spectra_max, &count, err);
        *spectra = (double)count;
        return st;
    }
    if (cut_suffix(number, sizeof number, text, "mjd"))
        return find_date(what, text, number, obs, spectra, err);
    st = psr_parse_double(what, text, 0, seconds_max, &seconds, err);
    *spectra = rint(seconds / obs->tsamp_s);
    return st;
}

psr_status psr_edit_time(const char *what, const char *text, const struct psr_obs *obs,
                         int64_t *spectrum, psr_err *err)
{
    psr_err why;
    double spectra = 0;
    psr_status st = find_spectrum(what, text, obs, &spectra, &why);
    if (st)
        return psr_fail_field(err, st, what, "edit: %.500s", why.msg);
    if (spectra > spectra_max)
        return psr_fail_field(err, PSR_EINVAL, what, "edit: %s: %s is %g spectra, must be below %g",
                              what, text, spectra, spectra_max);
    *spectrum = (int64_t)spectra;
    return PSR_OK;
}

psr_status psr_edit_find_range(psr_edit *p, psr_err *err)
{
    const int64_t nsamp = p->in.nsamp;
    int64_t end = nsamp;
    psr_status st = PSR_OK;
    p->start = 0;
    if (p->d.format == PSR_EDIT_YOUR)
        return psr_edit_cutout_range(p->d.burst, &p->in, p->d.tsum, &p->start, &p->count, err);
    if (p->d.start)
        st = psr_edit_time("start", p->d.start, &p->in, &p->start, err);
    if (!st && p->d.end)
        st = psr_edit_time("end", p->d.end, &p->in, &end, err);
    if (st)
        return st;
    if (nsamp >= 0 && p->start >= nsamp)
        return psr_fail_field(err, PSR_EINVAL, "start",
                              "edit: start %s is spectrum %lld, the input has %lld", p->d.start,
                              (long long)p->start, (long long)nsamp);
    if (nsamp >= 0 && end > nsamp)
        return psr_fail_field(err, PSR_EINVAL, "end",
                              "edit: end %s is spectrum %lld, the input has %lld", p->d.end,
                              (long long)end, (long long)nsamp);
    if (p->d.end && end <= p->start)
        return psr_fail_field(err, PSR_EINVAL, "end",
                              "edit: end %s is spectrum %lld, must be after the start, %lld",
                              p->d.end, (long long)end, (long long)p->start);
    p->count = end < 0 ? -1 : end - p->start;
    return PSR_OK;
}
