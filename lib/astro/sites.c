/* Parses sites and positions in the sky. */
#include "barycentre.h"

#include "base/tool.h"

#include <erfa.h>
#include <erfam.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

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
