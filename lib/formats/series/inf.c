/* Converts between .inf descriptions and observations. */
#include <psrkit/series.h>

#include "base/c_locale.h"
#include "base/path.h"
#include "inf_fields.h"
#include "series_internal.h"
#include <psrkit/obs.h>

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

/* Proleptic Gregorian date of an MJD, counted in years that begin in March so that the leap day
 * comes last: 400 years have 146097 days, 100 have 36524, 4 have 1461, and five months have 153. */
static void date_of_day(long day, long *year, int *month, int *date)
{
    const long from_march_0000 = 678881; /* MJD -678881 is 1 March of year 0 */
    long d = day + from_march_0000;
    long era = (d >= 0 ? d : d - 146096) / 146097;
    long in_era = d - era * 146097;
    long years = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
    long in_year = in_era - (365 * years + years / 4 - years / 100);
    long from_march = (5 * in_year + 2) / 153;
    *date = (int)(in_year - (153 * from_march + 2) / 5) + 1;
    *month = (int)(from_march < 10 ? from_march + 3 : from_march - 9);
    *year = years + era * 400 + (*month <= 2);
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
    date_of_day(mjd.day + minutes / 1440, &year, &month, &date);
    minutes %= 1440;
    snprintf(text, DATE_MAX, "%4ld-%02d-%02dT%02ld:%02ld:%s%s", year, month, date, minutes / 60,
             minutes % 60, atoi(seconds) < 10 ? "0" : "", seconds);
}

/* The login name; a container need not have one. */
static void find_analyst(char *name)
{
    char room[PASSWD_BYTES];
    struct passwd entry, *found = NULL;
    const char *user = NULL;
    if (getpwuid_r(getuid(), &entry, room, sizeof room, &found) == 0 && found)
        user = found->pw_name;
    if (!user || !*user)
        user = getenv("USER");
    snprintf(name, PSR_TEXT_MAX, "%s", user && *user ? user : "unknown");
}

static void set_band(struct psr_inf *inf, const struct psr_obs *obs)
{
    const struct psr_obs_band band = psr_obs_band(obs);
    inf->nchan = (long)obs->nchan;
    inf->chan_width_mhz = band.spacing_mhz;
    inf->lowest_mhz = band.lowest_mhz;
    inf->bandwidth_mhz = (double)obs->nchan * inf->chan_width_mhz;
    inf->beam_arcsec = obs->beam_arcsec;
    if (inf->beam_arcsec < 0)
        inf->beam_arcsec =
            psr_telescope_beam_arcsec(obs->telescope, (band.lowest_mhz + band.highest_mhz) / 2);
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
    set_band(inf, obs);
    find_analyst(inf->analyst);
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

bool psr_inf_is_artificial(const struct psr_inf *inf)
{
    return !strcmp(inf->telescope, "None (Artificial Data Set)");
}
