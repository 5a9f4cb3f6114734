/* Converts times at a telescope to times at the barycentre. */
#include "barycentre.h"

#include "base/obs_internal.h"
#include "base/tool.h"

#include <erfa.h>
#include <erfam.h>
#include <math.h>
#include <psrkit/experimental/fourier.h>
#include <psrkit/obs.h>
#include <stdio.h>
#include <string.h>

/* --- sites --------------------------------------------------------------------------------------- */

/* Takes one piece of text up to a separator, or to the end where that is 0.
 * Returned: what follows it, or NULL where the separator is missing or the piece is too long. */
static const char *next_piece(const char *text, char separator, char *piece, size_t room)
{
    size_t n = separator ? strcspn(text, (const char[]){separator, '\0'}) : strlen(text);
    if (n >= room || text[n] != separator)
        return NULL;
    memcpy(piece, text, n);
    piece[n] = '\0';
    return text + n + (separator != '\0');
}

psr_status psr_site_parse(const char *text, struct psr_site *site, psr_err *err)
{
    static const struct {
        const char *what;
        double min, max;
        char separator;
    } part[3] = {
        {"longitude of the site (degrees east)", -360, 360, ','},
        {"latitude of the site (degrees north)", -90, 90, ','},
        {"height of the site (m)", -1e4, 1e5, '\0'},
    };
    char piece[64];
    double value[3];
    const char *rest = text;
    for (int i = 0; i < 3; i++) {
        rest = next_piece(rest, part[i].separator, piece, sizeof piece);
        if (!rest)
            return psr_fail_field(err, PSR_EINVAL, "site", "site '%.100s' is not LON,LAT,H", text);
        psr_status st =
            psr_parse_double(part[i].what, piece, part[i].min, part[i].max, value + i, err);
        if (st)
            return st;
    }
    if (eraGd2gc(ERFA_WGS84, value[0] * ERFA_DD2R, value[1] * ERFA_DD2R, value[2], site->xyz_m))
        return psr_fail_field(err, PSR_EINVAL, "site",
                              "site '%.100s' has no place on the ellipsoid", text);
    return PSR_OK;
}

/* Given:    piece   a sign if wanted, then units:minutes:seconds or a plain number of degrees
 * Returned: units where there are colons, degrees where there are none, as *sexagesimal tells */
static psr_status parse_angle(const char *what, const char *piece, double limit, bool *sexagesimal,
                              double *value, psr_err *err)
{
    char digits[3][64];
    const char *rest = piece + strspn(piece, " +-");
    *sexagesimal = strchr(piece, ':') != NULL;
    if (!*sexagesimal)
        return psr_parse_double(what, piece, -limit, limit, value, err);
    double part[3];
    psr_status st = PSR_OK;
    for (int i = 0; i < 3 && !st; i++) {
        rest = next_piece(rest, i < 2 ? ':' : '\0', digits[i], sizeof digits[i]);
        if (!rest)
            return psr_fail_field(err, PSR_EINVAL, what, "%s: '%s' has not two colons", what,
                                  piece);
        st = psr_parse_double(what, digits[i], 0, i ? 60 : limit, part + i, err);
    }
    if (st)
        return st;
    *value = part[0] + (part[1] + part[2] / 60) / 60;
    if (memchr(piece, '-', strcspn(piece, "0123456789")))
        *value = -*value;
    return PSR_OK;
}

psr_status psr_position_parse(const char *text, double *ra_deg, double *dec_deg, psr_err *err)
{
    char piece[2][64];
    bool hours, degrees;
    const char *rest = next_piece(text, ',', piece[0], sizeof piece[0]);
    if (!rest || !next_piece(rest, '\0', piece[1], sizeof piece[1]))
        return psr_fail_field(err, PSR_EINVAL, "position", "position '%.100s' is not RA,DEC", text);
    psr_status st = parse_angle("right ascension", piece[0], 360, &hours, ra_deg, err);
    if (!st)
        st = parse_angle("declination", piece[1], 90, &degrees, dec_deg, err);
    if (st)
        return st;
    if (hours)
        *ra_deg *= 15;
    if (fabs(*ra_deg) > 360 || *ra_deg < 0 || fabs(*dec_deg) > 90)
        return psr_fail_field(
            err, PSR_EINVAL, "position",
            "position '%.100s': right ascension must be 0 to 24 h, declination -90 to 90 degrees",
            text);
    return PSR_OK;
}

enum { GRID_S = 20, VELOCITY_S = 60, UTC_BEGAN = 36934 /* MJD of 1960 January 1 */ };

void psr_bary_init(struct psr_bary *b, const struct psr_site *site, double ra_deg, double dec_deg)
{
    double xyz_m[3];
    memset(b, 0, sizeof *b);
    memcpy(xyz_m, site->xyz_m, sizeof xyz_m);
    b->geocentre = xyz_m[0] == 0 && xyz_m[1] == 0 && xyz_m[2] == 0;
    if (!b->geocentre &&
        eraGc2gd(ERFA_WGS84, xyz_m, &b->east_rad, &b->north_rad, &b->height_m) != 0)
        b->geocentre = true;
    if (!b->geocentre) {
        b->axis_km = hypot(xyz_m[0], xyz_m[1]) / 1000;
        b->equator_km = xyz_m[2] / 1000;
    }
    eraS2c(ra_deg * ERFA_DD2R, dec_deg * ERFA_DD2R, b->source);
}

/* Seconds from TT at the site to TDB at the barycentre; tt and ut1 are MJD. */
static double delay_s(const struct psr_bary *b, double tt, double ut1)
{
    double from_sun[2][3], from_barycentre[2][3], site_au[3], r_au[3], s_au[3];
    double source[3] = {b->source[0], b->source[1], b->source[2]};
    eraEpv00(ERFA_DJM0, tt, from_sun, from_barycentre);
    /* The site against the Earth's centre on the axes of the GCRS, au. */
    double celestial[3][3], pv[2][3];
    memset(site_au, 0, 3 * sizeof *site_au);
    if (!b->geocentre) {
        eraC2i06a(ERFA_DJM0, tt, celestial);
        eraPvtob(b->east_rad, b->north_rad, b->height_m, 0, 0, eraSp00(ERFA_DJM0, tt),
                 eraEra00(ERFA_DJM0, ut1), pv);
        eraTrxp(celestial, pv[0], pv[0]);
        eraSxp(1 / ERFA_DAU, pv[0], site_au);
    }
    eraPpp(from_barycentre[0], site_au, r_au);
    eraPpp(from_sun[0], site_au, s_au);
    double einstein_s =
        eraDtdb(ERFA_DJM0, tt, fmod(ut1, 1), b->east_rad, b->axis_km, b->equator_km);
    double roemer_s = eraPdp(source, r_au) * ERFA_AULT;
    double shapiro_s = ERFA_SRS * ERFA_AULT * log(eraPm(s_au) + eraPdp(source, s_au));
    return einstein_s + roemer_s + shapiro_s;
}

/* Days have 86400 s here: on one that ends with a leap second files count on all the same, and
 * ERFA's own conversion would stretch it. */
static psr_status find_tt_utc(struct psr_mjd utc, double *tt_utc_s, psr_err *err)
{
    const double tt_tai_s = 32.184;
    int year, month, day;
    double frac, tai_utc_s;
    if (utc.day < UTC_BEGAN || !(utc.frac >= 0 && utc.frac < 1) ||
        eraJd2cal(ERFA_DJM0, (double)utc.day, &year, &month, &day, &frac) != 0 ||
        eraDat(year, month, day, utc.frac, &tai_utc_s) < 0)
        return psr_fail(err, PSR_EINVAL, "MJD %.9g is no date of UTC: it began in 1960",
                        (double)utc.day + utc.frac);
    *tt_utc_s = tai_utc_s + tt_tai_s;
    return PSR_OK;
}

psr_status psr_bary_time(const struct psr_bary *b, struct psr_mjd utc, struct psr_mjd *tdb,
                         psr_err *err)
{
    double tt_utc_s = 0;
    psr_status st = find_tt_utc(utc, &tt_utc_s, err);
    if (st)
        return st;
    double ut1 = (double)utc.day + utc.frac;
    *tdb = psr_mjd_add(utc, tt_utc_s + delay_s(b, ut1 + tt_utc_s / PSR_DAY_S, ut1));
    return PSR_OK;
}

/* The whole delay's rate, Einstein's part included. */
static double velocity_at(const struct psr_bary *b, double tt, double ut1)
{
    double step = VELOCITY_S / PSR_DAY_S;
    return (delay_s(b, tt - step, ut1 - step) - delay_s(b, tt + step, ut1 + step)) /
           (2.0 * VELOCITY_S);
}

static psr_status average_velocity(const struct psr_bary *b, struct psr_mjd utc, int64_t n,
                                   double *voverc, psr_err *err)
{
    const int64_t enough = 4096; /* 20 hours, which all but calibrators stay below */
    int64_t step = n / enough + 1, nsum = 0;
    double tt_utc_s = 0, sum = 0;
    psr_status st = find_tt_utc(utc, &tt_utc_s, err);
    if (st)
        return st;
    for (int64_t k = 0; k < n; k += step, nsum++) {
        double ut1 = (double)utc.day + utc.frac + (double)(GRID_S * k) / PSR_DAY_S;
        sum += velocity_at(b, ut1 + tt_utc_s / PSR_DAY_S, ut1);
    }
    *voverc = sum / (double)nsum;
    return PSR_OK;
}

psr_status psr_bary_velocity(const struct psr_bary *b, struct psr_mjd utc, double *voverc,
                             psr_err *err)
{
    return average_velocity(b, utc, 1, voverc, err);
}

psr_status psr_bary_mean_velocity(const struct psr_bary *b, struct psr_mjd utc, double length_s,
                                  double *voverc, psr_err *err)
{
    const double longest_s = 3e8;
    if (!(length_s >= 0 && length_s < longest_s))
        return psr_fail_field(err, PSR_EINVAL, "length_s", "observation of %g s, must be 0 to %g s",
                              length_s, longest_s);
    return average_velocity(b, utc, (int64_t)(length_s * 1.1 / GRID_S + 5.5) + 1, voverc, err);
}

/* Days from UTC to TDB at the barycentre, by dates in one double each. */
static double drift_at(const struct psr_bary_clock *clock, double utc)
{
    double tt = utc + clock->tt_utc_s / PSR_DAY_S;
    double tdb = tt + delay_s(&clock->bary, tt, utc) / PSR_DAY_S;
    return tdb - utc;
}

psr_status psr_bary_clock_init(struct psr_bary_clock *clock, const struct psr_bary *b,
                               struct psr_mjd utc, psr_err *err)
{
    *clock = (struct psr_bary_clock){.bary = *b, .start = (double)utc.day + utc.frac};
    psr_status st = find_tt_utc(utc, &clock->tt_utc_s, err);
    if (!st)
        clock->drift = drift_at(clock, clock->start);
    return st;
}

double psr_bary_drift_s(const void *ctx, double t_s)
{
    const struct psr_bary_clock *clock = ctx;
    return (drift_at(clock, clock->start + t_s / PSR_DAY_S) - clock->drift) * PSR_DAY_S;
}

/* --- the velocity of a telescope during the series that an .inf describes --------------------- */

psr_status psr_inf_velocity(const struct psr_inf *inf, double *voverc, psr_err *err)
{
    struct psr_site site;
    struct psr_bary target;
    if (!inf->has_epoch || (inf->ra_deg == 0 && inf->dec_deg == 0))
        return psr_fail_field(err, PSR_EFORMAT, inf->has_epoch ? "ra_deg" : "epoch",
                              "%s.inf: no %s: the telescope's velocity is not known", inf->name,
                              inf->has_epoch ? "position" : "epoch");
    if (!psr_site_find(inf->telescope, &site))
        return psr_fail_field(err, PSR_EFORMAT, "telescope",
                              "%s.inf: where telescope '%s' stands is not known, nor its velocity",
                              inf->name, inf->telescope);
    psr_bary_init(&target, &site, inf->ra_deg, inf->dec_deg);
    return psr_bary_mean_velocity(&target, inf->epoch, (double)inf->nbin * inf->tbin_s, voverc,
                                  err);
}
