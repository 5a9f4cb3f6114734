/* Table of the lines of an .inf file, for its reader and writer. */
#include "inf_fields.h"

#include <string.h>
#include <strings.h>

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
