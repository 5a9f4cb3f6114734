/* Reads lists of beam directions, and converts them to grid coordinates. */
#include "astro/barycentre.h"
#include "base/base.h"
#include "formats/spectra/header_keys.h"

#include "beam_internal.h"
#include <psrkit/experimental/array.h>

#include <erfa.h>
#include <erfam.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BEAMS = 1 << 20 };

void psr_pointings_clear(struct psr_pointings *a)
{
    free(a->pointing);
    *a = (struct psr_pointings){0};
}

/* --- reading ---------------------------------------------------------------------------------- */

struct parser {
    struct psr_pointings *a;
    size_t room;
};

static psr_status add_pointing(struct parser *p, const struct psr_text_row *row,
                               struct psr_pointing pointing, psr_err *err)
{
    if (p->a->n == MOST_BEAMS)
        return psr_text_row_fail(row, err, "", "more than %d beams", MOST_BEAMS);
    psr_status st =
        psr_grow(&p->a->pointing, &p->room, p->a->n, sizeof *p->a->pointing, "beams", err);
    if (st)
        return st;
    p->a->pointing[p->a->n++] = pointing;
    p->a->tracks = p->a->tracks || pointing.track;
    return PSR_OK;
}

/* "at MHZ" from word i on, or nothing. */
static psr_status take_at(const struct psr_text_row *row, int i, double *at_mhz, psr_err *err)
{
    *at_mhz = 0;
    if (row->n == i)
        return PSR_OK;
    if (strcmp(row->word[i], "at") != 0)
        return psr_text_row_fail(row, err, "at", "'%s' where 'at MHZ' or nothing should be",
                                 row->word[i]);
    return psr_text_row_double(row, i + 1, "frequency (MHz)", 1e-3, 1e9, at_mhz, err);
}

static psr_status take_theta(void *ctx, const struct psr_text_row *row, psr_err *err)
{
    struct parser *p = ctx;
    struct psr_pointing pointing = {.kind = PSR_POINTING_THETA};
    psr_status st = psr_text_row_double(row, 1, "theta", -1e6, 1e6, &pointing.x, err);
    if (!st)
        st = psr_text_row_double(row, 2, "theta'", -1e6, 1e6, &pointing.y, err);
    if (!st)
        st = take_at(row, 3, &pointing.at_mhz, err);
    return st ? st : add_pointing(p, row, pointing, err);
}

/* "lattice NNS NEW THETA THETA' STEP STEP'": the east-west index runs fastest. */
static psr_status take_lattice(void *ctx, const struct psr_text_row *row, psr_err *err)
{
    struct parser *p = ctx;
    static const char *const what[] = {"theta", "theta'", "step of theta", "step of theta'"};
    int64_t n_ns, n_ew;
    double x[4], at_mhz;
    psr_status st = psr_text_row_int(row, 1, "north-south beams", 1, MOST_BEAMS, &n_ns, err);
    if (!st)
        st = psr_text_row_int(row, 2, "east-west beams", 1, MOST_BEAMS, &n_ew, err);
    for (int i = 0; i < 4 && !st; i++)
        st = psr_text_row_double(row, 3 + i, what[i], -1e6, 1e6, &x[i], err);
    if (!st)
        st = take_at(row, 7, &at_mhz, err);
    for (int64_t i = 0; !st && i < n_ns * n_ew; i++) {
        struct psr_pointing pointing = {.kind = PSR_POINTING_THETA,
                                        .x = x[0] + (double)(i / n_ew) * x[2],
                                        .y = x[1] + (double)(i % n_ew) * x[3],
                                        .at_mhz = at_mhz};
        st = add_pointing(p, row, pointing, err);
    }
    return st;
}

static psr_status take_azel(void *ctx, const struct psr_text_row *row, psr_err *err)
{
    struct parser *p = ctx;
    struct psr_pointing pointing = {.kind = PSR_POINTING_AZEL};
    psr_status st = psr_text_row_double(row, 1, "azimuth (degrees)", -360, 360, &pointing.x, err);
    if (!st)
        st = psr_text_row_double(row, 2, "elevation (degrees)", 0, 90, &pointing.y, err);
    return st ? st : add_pointing(p, row, pointing, err);
}

static psr_status take_radec(void *ctx, const struct psr_text_row *row, psr_err *err)
{
    struct parser *p = ctx;
    struct psr_pointing pointing = {.kind = PSR_POINTING_RADEC,
                                    .track = !strcmp(row->word[0], "track")};
    char text[2 * 128];
    psr_err why;
    if (row->n < 3)
        return psr_text_row_fail(row, err, row->word[0],
                                 "%s wants a right ascension and a declination", row->word[0]);
    snprintf(text, sizeof text, "%.120s,%.120s", row->word[1], row->word[2]);
    if (psr_position_parse(text, &pointing.x, &pointing.y, &why))
        return psr_text_row_fail(row, err, why.field, "%s", why.msg);
    return add_pointing(p, row, pointing, err);
}

static psr_status take_row(void *ctx, const struct psr_text_row *row, psr_err *err)
{
    static const struct psr_text_row_key keys[] = {
        {"theta", take_theta, 5}, {"lattice", take_lattice, 9}, {"azel", take_azel, 3},
        {"radec", take_radec, 3}, {"track", take_radec, 3},
    };
    return psr_text_row_take(row, keys, sizeof keys / sizeof *keys, ctx, err);
}

psr_status psr_pointings_read(struct psr_pointings *a, const char *path, psr_err *err)
{
    struct parser p = {.a = a};
    *a = (struct psr_pointings){0};
    psr_status st = psr_text_table_read(path, take_row, &p, err);
    if (!st && a->n == 0)
        st = psr_fail(err, PSR_EFORMAT, "%s: no beams in it", psr_path_called(path));
    if (st)
        psr_pointings_clear(a);
    return st;
}

/* --- the sky ---------------------------------------------------------------------------------- */

/* ERFA's parameters of a place and a date. */
static psr_status check_place(const struct psr_array *a, struct psr_mjd utc, psr_err *err)
{
    if (!a->has_site)
        return psr_fail_field(err, PSR_EINVAL, "site",
                              "beams: the array has no site, which directions in the sky need");
    if (utc.day < 36934)
        return psr_fail(err, PSR_EINVAL,
                        "beams: MJD %.9g is no date of UTC, which directions in the sky need",
                        (double)utc.day + utc.frac);
    return PSR_OK;
}

psr_status psr_pointing_from_sky(const struct psr_array *a, struct psr_mjd utc, double ra_deg,
                                 double dec_deg, double *az_deg, double *el_deg, psr_err *err)
{
    double az, zd, ha, dec, ra, origins;
    psr_status st = check_place(a, utc, err);
    if (st)
        return st;
    if (eraAtco13(ra_deg * ERFA_DD2R, dec_deg * ERFA_DD2R, 0, 0, 0, 0, ERFA_DJM0 + (double)utc.day,
                  utc.frac, 0, a->lon_deg * ERFA_DD2R, a->lat_deg * ERFA_DD2R, a->height_m, 0, 0, 0,
                  0, 0, 1, &az, &zd, &ha, &dec, &ra, &origins) < 0)
        return psr_fail(err, PSR_EINVAL, "beams: MJD %ld is no date of UTC", utc.day);
    *az_deg = az * ERFA_DR2D;
    *el_deg = 90 - zd * ERFA_DR2D;
    return PSR_OK;
}

psr_status psr_pointing_to_sky(const struct psr_array *a, struct psr_mjd utc, double az_deg,
                               double el_deg, double *ra_deg, double *dec_deg, psr_err *err)
{
    double ra, dec;
    psr_status st = check_place(a, utc, err);
    if (st)
        return st;
    if (eraAtoc13("A", az_deg * ERFA_DD2R, (90 - el_deg) * ERFA_DD2R, ERFA_DJM0 + (double)utc.day,
                  utc.frac, 0, a->lon_deg * ERFA_DD2R, a->lat_deg * ERFA_DD2R, a->height_m, 0, 0, 0,
                  0, 0, 1, &ra, &dec) < 0)
        return psr_fail(err, PSR_EINVAL, "beams: MJD %ld is no date of UTC", utc.day);
    *ra_deg = ra * ERFA_DR2D;
    *dec_deg = dec * ERFA_DR2D;
    return PSR_OK;
}

/* --- to the grid ------------------------------------------------------------------------------ */

/* Direction cosines of a beam that is a place in the sky, wherever that is given. */
static psr_status find_cosines(const struct psr_pointings *a, size_t i,
                               const struct psr_pointing_frame *f, struct psr_mjd when,
                               double *north, double *east, psr_err *err)
{
    const struct psr_pointing *pointing = a->pointing + i;
    double az_deg = pointing->x, el_deg = pointing->y;
    if (pointing->kind == PSR_POINTING_THETA) {
        psr_array_cosines(f->array, pointing->at_mhz, pointing->x, pointing->y, north, east);
        return PSR_OK;
    }
    if (pointing->kind == PSR_POINTING_RADEC) {
        psr_status st =
            psr_pointing_from_sky(f->array, when, pointing->x, pointing->y, &az_deg, &el_deg, err);
        if (st)
            return st;
        if (el_deg < 0)
            return psr_fail(err, PSR_EINVAL,
                            "beam %zu: %.6f %.6f is below the horizon, at elevation %.3f degrees",
                            i, pointing->x, pointing->y, el_deg);
    }
    *north = cos(el_deg * ERFA_DD2R) * cos(az_deg * ERFA_DD2R);
    *east = cos(el_deg * ERFA_DD2R) * sin(az_deg * ERFA_DD2R);
    return PSR_OK;
}

psr_status psr_pointings_theta(const struct psr_pointings *a, const struct psr_pointing_frame *f,
                               struct psr_mjd start, struct psr_mjd now, double *theta_ns,
                               double *theta_ew, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t i = 0; i < a->n && !st; i++) {
        struct psr_mjd when = a->pointing[i].track ? now : start;
        const struct psr_pointing *pointing = a->pointing + i;
        const bool moves = pointing->kind != PSR_POINTING_THETA || pointing->at_mhz > 0;
        double north = 0, east = 0, ns = pointing->x, ew = pointing->y;
        st = moves ? find_cosines(a, i, f, when, &north, &east, err) : PSR_OK;
        for (size_t c = 0; c < f->nfreq && !st; c++) {
            if (moves)
                psr_array_theta(f->array, f->freq_mhz[c], north, east, &ns, &ew);
            else
                psr_array_cosines(f->array, f->freq_mhz[c], ns, ew, &north, &east);
            const double r = hypot(north, east);
            if (!(r <= 1))
                st = psr_fail(err, PSR_EINVAL,
                              "beam %zu: at %g MHz its direction cosines are %.4f north and %.4f "
                              "east, outside the sky (%.4f, must be at most 1)",
                              i, f->freq_mhz[c], north, east, r);
            theta_ns[c * a->n + i] = -f->phase_sign * ns;
            theta_ew[c * a->n + i] = -f->phase_sign * ew;
        }
    }
    return st;
}

bool psr_pointing_azel(const struct psr_pointing_frame *f, double freq_mhz, double theta_ns,
                       double theta_ew, double *az_deg, double *el_deg)
{
    double north, east;
    psr_array_cosines(f->array, freq_mhz, -f->phase_sign * theta_ns, -f->phase_sign * theta_ew,
                      &north, &east);
    double r = hypot(north, east);
    *az_deg = r > 0 ? atan2(east, north) * ERFA_DR2D : 0;
    *az_deg += *az_deg < 0 ? 360 : 0;
    *el_deg = r <= 1 ? acos(r) * ERFA_DR2D : 0;
    return r <= 1;
}

/* Whether every channel's directions along one axis depend on one of the two indices only. */
static bool axis_factors(const double *theta, size_t nfreq, size_t n, size_t n_ew, bool first)
{
    for (size_t f = 0; f < nfreq; f++)
        for (size_t b = 0; b < n; b++)
            if (theta[f * n + b] != theta[f * n + (first ? b / n_ew * n_ew : b % n_ew)])
                return false;
    return true;
}

void psr_pointings_factor(const double *theta_ns, const double *theta_ew, size_t nfreq, size_t n,
                          size_t *n_ns, size_t *n_ew)
{
    size_t run = 1; /* beams that share the first one's theta */
    while (run < n && theta_ns[run] == theta_ns[0])
        run++;
    *n_ns = *n_ew = 0;
    if (n % run == 0 && axis_factors(theta_ns, nfreq, n, run, true) &&
        axis_factors(theta_ew, nfreq, n, run, false)) {
        *n_ns = n / run;
        *n_ew = run;
    }
}
