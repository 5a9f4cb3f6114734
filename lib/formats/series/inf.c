/* Converts between .inf descriptions and observations. */
#include "base/base.h"
#include "series_internal.h"
#include <psrkit/obs.h>
#include <psrkit/series.h>

#include <math.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { DATE_MAX = 128, PASSWD_BYTES = 16384, PRESTO_NAME_MAX = 199 };

psr_status psr_inf_set_name(struct psr_inf *inf, const char *stem, psr_err *err)
{
    const char *base = psr_path_file(stem);
    const size_t n = strlen(stem), nbase = strlen(base);
    if (n >= sizeof inf->name)
        return psr_fail_field(err, PSR_EINVAL, "name",
                              "%.60s...: the path of a series has %zu bytes, at most %zu "
                              "fit",
                              stem, n, sizeof inf->name - 1);
    if (nbase > PRESTO_NAME_MAX)
        return psr_fail_field(
            err, PSR_EINVAL, "name",
            "%.60s...: the name of a series has %zu bytes; PRESTO reads at most %d in "
            "an .inf file",
            base, nbase, PRESTO_NAME_MAX);
    strcpy(inf->name, n > PRESTO_NAME_MAX ? base : stem);
    return PSR_OK;
}

/* As PRESTO writes dates, with six significant digits of seconds, but never 60 of them. */
static void format_date(char *text, struct psr_mjd mjd)
{
    const double least_s = 1e-4; /* below it %g would turn to exponents */
    char seconds[24];
    long minutes = (long)(mjd.frac * 1440);
    double s = mjd.frac * PSR_DAY_S - 60 * (double)minutes;
    psr_c_locale_snprintf(seconds, sizeof seconds, "%.6g", s < least_s ? 0 : s);
    if (atoi(seconds) == 60) {
        minutes++;
        strcpy(seconds, "0");
    }
    long year;
    int month, date;
    /* Proleptic Gregorian date of an MJD, counted in years that begin in March so that the leap day
     * comes last: 400 years have 146097 days, 100 have 36524, 4 have 1461, and five months have 153. */
    const long day = mjd.day + minutes / 1440;
    const long from_march_0000 = 678881; /* MJD -678881 is 1 March of year 0 */
    long d = day + from_march_0000;
    long era = (d >= 0 ? d : d - 146096) / 146097;
    long in_era = d - era * 146097;
    long years = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
    long in_year = in_era - (365 * years + years / 4 - years / 100);
    long from_march = (5 * in_year + 2) / 153;
    date = (int)(in_year - (153 * from_march + 2) / 5) + 1;
    month = (int)(from_march < 10 ? from_march + 3 : from_march - 9);
    year = years + era * 400 + (month <= 2);
    minutes %= 1440;
    snprintf(text, DATE_MAX, "%4ld-%02d-%02dT%02ld:%02ld:%s%s", year, month, date, minutes / 60,
             minutes % 60, atoi(seconds) < 10 ? "0" : "", seconds);
}

void psr_inf_from_obs(struct psr_inf *inf, const struct psr_obs *obs, int file_nbit)
{
    char date[DATE_MAX];
    memset(inf, 0, sizeof *inf);
    snprintf(inf->telescope, PSR_TEXT_MAX, "%s", obs->telescope);
    snprintf(inf->instrument, PSR_TEXT_MAX, "%s", obs->instrument);
    snprintf(inf->object, PSR_TEXT_MAX, "%s", obs->source);
    snprintf(inf->observer, PSR_TEXT_MAX, "%s", *obs->observer ? obs->observer : "unset");
    inf->ra_deg = obs->has_position ? obs->ra_deg : 0;
    inf->dec_deg = obs->has_position ? obs->dec_deg : 0;
    inf->epoch = obs->tstart;
    inf->barycentric = obs->barycentric;
    const struct psr_obs_band band = psr_obs_band(obs);
    inf->nchan = (long)obs->nchan;
    inf->chan_width_mhz = band.spacing_mhz;
    inf->lowest_mhz = band.lowest_mhz;
    inf->bandwidth_mhz = (double)obs->nchan * inf->chan_width_mhz;
    inf->beam_arcsec = obs->beam_arcsec;
    if (inf->beam_arcsec < 0)
        inf->beam_arcsec =
            psr_telescope_beam_arcsec(obs->telescope, (band.lowest_mhz + band.highest_mhz) / 2);
    /* The login name; a container need not have one. */
    char *name = inf->analyst;
    char room[PASSWD_BYTES];
    struct passwd entry, *found = NULL;
    const char *user = NULL;
    if (getpwuid_r(getuid(), &entry, room, sizeof room, &found) == 0 && found)
        user = found->pw_name;
    if (!user || !*user)
        user = getenv("USER");
    snprintf(name, PSR_TEXT_MAX, "%s", user && *user ? user : "unknown");
    format_date(date, obs->began.day ? obs->began : obs->tstart);
    snprintf(inf->notes, sizeof inf->notes,
             "Project ID %s, Date: %s.\n%s.  Samples have %d bits.\n",
             *obs->project_id ? obs->project_id : "unset", obs->has_date ? obs->date : date,
             *obs->poln ? obs->poln : "2 polns were summed", file_nbit);
}

void psr_inf_to_obs(const struct psr_inf *inf, struct psr_obs *obs)
{
    psr_obs_clear(obs);
    obs->nchan = (size_t)inf->nchan;
    obs->fch1_mhz = inf->lowest_mhz;
    obs->foff_mhz = inf->chan_width_mhz;
    obs->tsamp_s = inf->tbin_s;
    obs->nsamp = inf->nbin;
    obs->tstart = inf->epoch;
    obs->barycentric = inf->barycentric;
    obs->ra_deg = inf->ra_deg;
    obs->dec_deg = inf->dec_deg;
    obs->has_position = inf->ra_deg != 0 || inf->dec_deg != 0;
    obs->refdm = inf->dm;
    obs->telescope_id = psr_telescope_id(inf->telescope);
    const struct {
        char *to;
        const char *from;
    } text[] = {{obs->source, inf->object},
                {obs->telescope, inf->telescope},
                {obs->instrument, inf->instrument},
                {obs->observer, inf->observer}};
    for (size_t k = 0; k < sizeof text / sizeof *text; k++)
        memcpy(text[k].to, text[k].from, PSR_TEXT_MAX);
}

/* --- table of the lines of an .inf file, for its reader and writer ---------------------------- */

#define LINE(lead, rest, kind, member, always, digits, bands)                                      \
    {                                                                                              \
        lead, rest, PSR_INF_##kind, offsetof(struct psr_inf, member), always, digits,              \
            PSR_INF_##bands##_LINES                                                                \
    }
#define FIELD(lead, rest, kind, member, always) LINE(lead, rest, kind, member, always, 0, ALL)
#define RADIO(lead, rest, kind, member, digits) LINE(lead, rest, kind, member, false, digits, RADIO)

/* clang-format off */
const struct psr_inf_field psr_inf_fields[PSR_INF_NFIELD] = {
    FIELD("Data file name", " without suffix", TEXT, name, true),
    FIELD("Telescope", " used", TEXT, telescope, true),
    FIELD("Instrument", " used", TEXT, instrument, false),
    FIELD("Object", " being observed", TEXT, object, false),
    FIELD("J2000 Right Ascension", " (hh:mm:ss.ssss)", RA, ra_deg, false),
    FIELD("J2000 Declination", "     (dd:mm:ss.ssss)", DEC, dec_deg, false),
    FIELD("Data observed by", "", TEXT, observer, false),
    FIELD("Epoch of observation", " (MJD)", EPOCH, epoch, false),
    FIELD("Barycentered?", "           (1 yes, 0 no)", FLAG, barycentric, false),
    FIELD("Number of bins", " in the time series", BINS, nbin, true),
    LINE("Width of each", " time series bin (sec)", REAL, tbin_s, true, 15, ALL),
    FIELD("Any breaks", " in the data? (1 yes, 0 no)", BREAKS, nonoff, true),
    FIELD("Type of observation", " (EM band)", BAND, band, false),
    RADIO("Beam diameter", " (arcsec)", WHOLE, beam_arcsec, 0),
    RADIO("Dispersion measure", " (cm-3 pc)", REAL, dm, 12),
    RADIO("Central freq", " of low channel (MHz)", REAL, lowest_mhz, 12),
    RADIO("Total bandwidth", " (MHz)", REAL, bandwidth_mhz, 12),
    RADIO("Number of channels", "", COUNT, nchan, 0),
    RADIO("Channel bandwidth", " (MHz)", REAL, chan_width_mhz, 12),
    LINE("Photometric filter", " used", TEXT, filter, false, 0, OPTICAL),
    {"Field-of-view diameter", " (arcsec)", PSR_INF_FIXED, offsetof(struct psr_inf, fov_arcsec), false, 2,
     PSR_INF_OPTICAL_LINES | PSR_INF_ENERGY_LINES},
    LINE("Central energy", " (kev)", FIXED, energy_kev, false, 1, ENERGY),
    LINE("Energy bandpass", " (kev)", FIXED, energy_band_kev, false, 1, ENERGY),
    LINE("Central wavelength", " (nm)", FIXED, wavelength_nm, false, 1, OPTICAL),
    LINE("Bandpass", " (nm)", FIXED, wavelength_band_nm, false, 1, OPTICAL),
    FIELD("Data analyzed by", "", TEXT, analyst, true),
    FIELD("Any additional notes", "", NOTES, notes, true),
};
/* clang-format on */

const struct psr_inf_band psr_inf_bands[PSR_INF_NBAND] = {
    {"Radio", PSR_INF_RADIO_LINES},     {"IR", PSR_INF_OPTICAL_LINES},
    {"Optical", PSR_INF_OPTICAL_LINES}, {"UV", PSR_INF_OPTICAL_LINES},
    {"X-ray", PSR_INF_ENERGY_LINES},    {"Gamma", PSR_INF_ENERGY_LINES},
};

const struct psr_inf_band *psr_inf_find_band(const char *name, size_t n)
{
    for (size_t i = 0; i < PSR_INF_NBAND; i++)
        if (strlen(psr_inf_bands[i].name) == n && !strncasecmp(name, psr_inf_bands[i].name, n))
            return &psr_inf_bands[i];
    return NULL;
}

/* --- writing ---------------------------------------------------------------------------------- */

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
    case PSR_INF_BREAKS: {
        psr_status st = psr_outfile_printf(f, err, "%d\n", inf->nonoff > 0);
        for (int i = 0; i < inf->nonoff && !st; i++)
            st = psr_outfile_printf(f, err, " %s #%3d                   =  %-11lld, %-11lld\n",
                                    PSR_INF_PAIR_LEAD, i + 1, (long long)inf->onoff[i][0],
                                    (long long)inf->onoff[i][1]);
        return st;
    }
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
    case PSR_INF_NOTES: {
        /* The first line is indented even where it is empty, others only where they are not. */
        const char *notes = member;
        psr_status st = PSR_OK;
        for (bool first = true; !st && notes; first = false) {
            size_t n = strcspn(notes, "\n");
            st = psr_outfile_printf(f, err, "%*s%.*s\n", first || n ? PSR_INF_INDENT : 0, "",
                                    (int)n, notes);
            notes = notes[n] ? notes + n + 1 : NULL;
        }
        return st ? st : psr_outfile_write(f, "\n", 1, err);
    }
    }
    return PSR_OK;
}

psr_status psr_inf_write(psr_outfile *f, const struct psr_inf *inf, psr_err *err)
{
    /* Telescope name of data made by PRESTO's makedata; such files lack most lines. */
    bool artificial = !strcmp(inf->telescope, "None (Artificial Data Set)");
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
