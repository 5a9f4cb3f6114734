/* Writes .inf files in PRESTO's layout. */
#include "base/c_locale.h"
#include "inf_fields.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { VALUE_MAX = 64 };

/* A line break inside a value would make two lines of one. */
static psr_status write_text(psr_outfile *f, const char *text, psr_err *err)
{
    char line[PSR_TEXT_MAX];
    bool blank = true;
    size_t n = 0;
    for (; n + 1 < sizeof line && text[n]; n++) {
        line[n] = (unsigned char)text[n] < 0x20 ? '?' : text[n];
        blank &= line[n] == ' ';
    }
    line[n] = '\0';
    return psr_outfile_printf(f, err, "%s\n", blank ? "Unknown" : line);
}

/* value in degrees or hours to ten-thousandths of a second, rounded once so that no 60 appears. */
static void format_angle(char *text, double value, double wrap)
{
    int64_t units = llround(fabs(value) * 36e6);
    if (wrap > 0)
        units %= llround(wrap * 36e6);
    int64_t minutes = units / 600000;
    snprintf(text, VALUE_MAX, "%s%02lld:%02lld:%02lld.%04lld", value < 0 && units ? "-" : "",
             (long long)(minutes / 60), (long long)(minutes % 60), (long long)(units / 10000 % 60),
             (long long)(units % 10000));
}

static double wrap_hours(double ra_deg)
{
    double hours = fmod(ra_deg / 15, 24);
    return hours < 0 ? hours + 24 : hours;
}

static void format_epoch(char *text, struct psr_mjd epoch)
{
    char frac[VALUE_MAX];
    psr_c_locale_snprintf(frac, sizeof frac, "%.15f", epoch.frac);
    long carry = frac[0] == '1'; /* rounded up to a whole day */
    snprintf(text, VALUE_MAX, "%ld%s", epoch.day + carry, frac + 1);
}

static psr_status write_breaks(psr_outfile *f, const struct psr_inf *inf, psr_err *err)
{
    psr_status st = psr_outfile_printf(f, err, "%d\n", inf->nonoff > 0);
    for (int i = 0; i < inf->nonoff && !st; i++)
        st = psr_outfile_printf(f, err, " %s #%3d                   =  %-11lld, %-11lld\n",
                                PSR_INF_PAIR_LEAD, i + 1, (long long)inf->onoff[i][0],
                                (long long)inf->onoff[i][1]);
    return st;
}

/* The first line is indented even where it is empty, others only where they are not. */
static psr_status write_notes(psr_outfile *f, const char *notes, psr_err *err)
{
    psr_status st = PSR_OK;
    for (bool first = true; !st && notes; first = false) {
        size_t n = strcspn(notes, "\n");
        st = psr_outfile_printf(f, err, "%*s%.*s\n", first || n ? PSR_INF_INDENT : 0, "", (int)n,
                                notes);
        notes = notes[n] ? notes + n + 1 : NULL;
    }
    return st ? st : psr_outfile_write(f, "\n", 1, err);
}

/* Radio where nothing is said. */
static const struct psr_inf_band *band_of(const struct psr_inf *inf)
{
    const struct psr_inf_band *band = psr_inf_find_band(inf->band, strlen(inf->band));
    return band ? band : psr_inf_bands;
}

static psr_status write_value(psr_outfile *f, const struct psr_inf *inf,
                              const struct psr_inf_field *field, psr_err *err)
{
    const void *member = (const char *)inf + field->offset;
    char text[VALUE_MAX];
    switch (field->kind) {
    case PSR_INF_TEXT:
        return write_text(f, member, err);
    case PSR_INF_RA:
        format_angle(text, wrap_hours(*(const double *)member), 24);
        return write_text(f, text, err);
    case PSR_INF_DEC:
        format_angle(text, *(const double *)member, 0);
        return write_text(f, text, err);
    case PSR_INF_EPOCH:
        format_epoch(text, *(const struct psr_mjd *)member);
        return write_text(f, text, err);
    case PSR_INF_FLAG:
        return psr_outfile_printf(f, err, "%d\n", *(const bool *)member);
    case PSR_INF_BINS:
        return psr_outfile_printf(f, err, "%-11lld\n", (long long)*(const int64_t *)member);
    case PSR_INF_BREAKS:
        return write_breaks(f, inf, err);
    case PSR_INF_BAND:
        return write_text(f, band_of(inf)->name, err);
    case PSR_INF_COUNT:
        return psr_outfile_printf(f, err, "%ld\n", *(const long *)member);
    case PSR_INF_REAL:
        return psr_outfile_printf(f, err, "%.*g\n", field->digits, *(const double *)member);
    case PSR_INF_FIXED:
        return psr_outfile_printf(f, err, "%.*f\n", field->digits, *(const double *)member);
    case PSR_INF_WHOLE:
        return psr_outfile_printf(f, err, "%.0f\n", *(const double *)member);
    case PSR_INF_NOTES:
        return write_notes(f, member, err);
    }
    return PSR_OK;
}

psr_status psr_inf_write(psr_outfile *f, const struct psr_inf *inf, psr_err *err)
{
    bool artificial = psr_inf_is_artificial(inf);
    psr_status st = PSR_OK;
    for (int i = 0; i < PSR_INF_NFIELD && !st; i++) {
        const struct psr_inf_field *field = &psr_inf_fields[i];
        if ((artificial && !field->always) || !(field->bands & band_of(inf)->lines))
            continue;
        if (field->kind == PSR_INF_NOTES)
            st = psr_outfile_printf(f, err, " %s:\n", field->lead);
        else
            st = psr_outfile_printf(f, err, " %s%-*s =  ", field->lead,
                                    38 - (int)strlen(field->lead), field->rest);
        if (!st)
            st = write_value(f, inf, field, err);
    }
    return st;
}
