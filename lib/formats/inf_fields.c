/* Table of the lines of an .inf file, for its reader and writer. */
#include "inf_fields.h"

#include <string.h>

#define FIELD(lead, rest, kind, member, always)                                                    \
    {                                                                                              \
        lead, rest, PSR_INF_##kind, offsetof(struct psr_inf, member), always, 0                    \
    }
#define REAL(lead, rest, member, always, digits)                                                   \
    {                                                                                              \
        lead, rest, PSR_INF_REAL, offsetof(struct psr_inf, member), always, digits                 \
    }

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
    REAL("Width of each", " time series bin (sec)", tbin_s, true, 15),
    FIELD("Any breaks", " in the data? (1 yes, 0 no)", BREAKS, nonoff, true),
    FIELD("Type of observation", " (EM band)", BAND, name, false),
    FIELD("Beam diameter", " (arcsec)", WHOLE, beam_arcsec, false),
    REAL("Dispersion measure", " (cm-3 pc)", dm, false, 12),
    REAL("Central freq", " of low channel (MHz)", lowest_mhz, false, 12),
    REAL("Total bandwidth", " (MHz)", bandwidth_mhz, false, 12),
    FIELD("Number of channels", "", COUNT, nchan, false),
    REAL("Channel bandwidth", " (MHz)", chan_width_mhz, false, 12),
    FIELD("Data analyzed by", "", TEXT, analyst, true),
    FIELD("Any additional notes", "", NOTES, notes, true),
};
/* clang-format on */

bool psr_inf_is_artificial(const struct psr_inf *inf)
{
    return !strcmp(inf->telescope, "None (Artificial Data Set)");
}
