/* Makes an ephemeris of the parameters of a .par file, and refuses what it does not cover. */
#include "par_keys.h"

#include "barycentre.h"
#include "formats/spectra/header_keys.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Of the ecliptic, IERS 2010; earlier conventions differ by less than 0.1 arcseconds. */
static const double obliquity_rad = 84381.406 / 3600 * M_PI / 180, degree = M_PI / 180;

__attribute__((format(printf, 5, 6))) static psr_status fail_line(const struct par_file *p,
                                                                  long line, psr_err *err,
                                                                  const char *field,
                                                                  const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    psr_status st = psr_text_fail_line(p->path, line, err, field, fmt, ap);
    va_end(ap);
    return st;
}

static psr_status fail_missing(const struct par_file *p, psr_err *err, const char *field)
{
    return psr_fail_field(err, PSR_EFORMAT, field, "%s: no %s", p->path, field);
}

/* --- spin ------------------------------------------------------------------------------------- */

static psr_status settle_spin(struct psr_ephemeris *e, const struct par_file *p, psr_err *err)
{
    const char *name = p->text[PAR_PSR], *units = p->text[PAR_UNITS];
    bool drifts = p->value[PAR_P1] != 0;
    if (*units && strcasecmp(units, "TDB") != 0 && strcasecmp(units, "TCB") != 0)
        return fail_line(p, p->line[PAR_UNITS], err, "UNITS",
                         "UNITS: %s is not covered, TDB and TCB are", units);
    snprintf(e->name, sizeof e->name, "%s", name + (*name == 'J' || *name == 'B'));
    for (char *c = e->name; *c; c++)
        if (*c == '/')
            *c = '_';
    memcpy(e->f, p->f, sizeof e->f);
    if (!p->line_f[0] && !p->line[PAR_P0])
        return fail_missing(p, err, "F0");
    if (!p->line_f[0])
        e->f[0] = 1 / p->value[PAR_P0];
    if (!p->line_f[1])
        e->f[1] = -p->value[PAR_P1] * e->f[0] * e->f[0];
    for (int k = 1; k < PSR_EPHEMERIS_NF; k++)
        drifts |= e->f[k] != 0;
    if (drifts && !p->line[PAR_PEPOCH])
        return fail_missing(p, err, "PEPOCH");
    e->pepoch_mjd = p->value[PAR_PEPOCH];
    e->start_mjd = p->value[PAR_START];
    e->finish_mjd = p->value[PAR_FINISH];
    for (int k = 0; k < PSR_EPHEMERIS_NDM; k++)
        e->dm[k] = p->value[PAR_DM + k];
    e->dmepoch_mjd = p->line[PAR_DMEPOCH] ? p->value[PAR_DMEPOCH] : e->pepoch_mjd;
    return PSR_OK;
}

/* --- position --------------------------------------------------------------------------------- */

/* Equatorial position from ecliptic, degrees. */
static void convert_ecliptic(double lon, double lat, double *ra, double *dec)
{
    const double x = cos(lat * degree) * cos(lon * degree),
                 y = cos(lat * degree) * sin(lon * degree);
    const double z = sin(lat * degree), s = sin(obliquity_rad), c = cos(obliquity_rad);
    *ra = atan2(c * y - s * z, x) / degree;
    *ra += *ra < 0 ? 360 : 0;
    *dec = asin(fmax(-1, fmin(1, s * y + c * z))) / degree;
}

static psr_status settle_position(struct psr_ephemeris *e, const struct par_file *p, psr_err *err)
{
    const long *line = p->line;
    e->posepoch_mjd = line[PAR_POSEPOCH] ? p->value[PAR_POSEPOCH] : e->pepoch_mjd;
    e->has_position = line[PAR_RAJ] || line[PAR_DECJ] || line[PAR_ELONG] || line[PAR_ELAT];
    if (!e->has_position)
        return PSR_OK;
    if (line[PAR_ELONG] && line[PAR_ELAT]) {
        /* Proper motion by moving for a thousandth of a year. */
        const double lon = p->value[PAR_ELONG], lat = p->value[PAR_ELAT], step = 1e-3 / 3.6e6;
        double ra, dec;
        convert_ecliptic(lon, lat, &e->ra_deg, &e->dec_deg);
        convert_ecliptic(lon + p->value[PAR_PMELONG] * step / cos(lat * degree),
                         lat + p->value[PAR_PMELAT] * step, &ra, &dec);
        e->pm_ra_mas = remainder(ra - e->ra_deg, 360) * cos(e->dec_deg * degree) / step;
        e->pm_dec_mas = (dec - e->dec_deg) / step;
        return PSR_OK;
    }
    if (!line[PAR_RAJ] || !line[PAR_DECJ])
        return fail_missing(p, err,
                            line[PAR_RAJ]    ? "DECJ"
                            : line[PAR_DECJ] ? "RAJ"
                                             : "ELAT and ELONG");
    char text[2 * PAR_TEXT];
    psr_err why;
    snprintf(text, sizeof text, "%s,%s", p->text[PAR_RAJ], p->text[PAR_DECJ]);
    if (psr_position_parse(text, &e->ra_deg, &e->dec_deg, &why))
        return fail_line(p, line[PAR_RAJ], err, "RAJ", "%.250s", why.msg);
    e->pm_ra_mas = p->value[PAR_PMRA];
    e->pm_dec_mas = p->value[PAR_PMDEC];
    return PSR_OK;
}

/* --- orbit ------------------------------------------------------------------------------------ */

/* Changes of the projection by proper motion (Kopeikin 1996). */
static void settle_kopeikin(struct psr_ephemeris *e, const struct par_file *p)
{
    const double mas_s = M_PI / 180 / 3.6e6 / (365.25 * 86400);
    const double in = p->value[PAR_KIN] * degree, node = p->value[PAR_KOM] * degree;
    const double ra = e->pm_ra_mas * mas_s, dec = e->pm_dec_mas * mas_s;
    if (strcasecmp(p->text[PAR_BINARY], "DDK") != 0 || !(fabs(sin(in)) > 1e-3))
        return;
    e->xdot += e->asini_s * (dec * cos(node) - ra * sin(node)) / tan(in);
    e->omdot_rads += (ra * cos(node) + dec * sin(node)) / sin(in);
}

static psr_status check_model(const struct par_file *p, psr_err *err)
{
    static const char *const model[] = {"BT", "BTX", "DD", "DDS", "DDK", "ELL1", "ELL1H", "T2"};
    const char *name = p->text[PAR_BINARY];
    for (size_t i = 0; i < sizeof model / sizeof *model; i++)
        if (!strcasecmp(name, model[i]))
            return PSR_OK;
    return fail_line(p, p->line[PAR_BINARY], err, "BINARY",
                     "BINARY: %s is not covered, BT, BTX, DD, DDS, DDK, ELL1, ELL1H and T2 are",
                     name);
}

static psr_status settle_period(struct psr_ephemeris *e, const struct par_file *p, psr_err *err)
{
    const double *v = p->value;
    if (!p->line[PAR_PB] && !p->line[PAR_FB0])
        return fail_missing(p, err, "PB");
    e->pb_s = p->line[PAR_PB] ? v[PAR_PB] : 1 / v[PAR_FB0];
    e->pbdot = p->line[PAR_FB1] ? -v[PAR_FB1] * e->pb_s * e->pb_s : v[PAR_PBDOT];
    return PSR_OK;
}

static psr_status settle_orbit(struct psr_ephemeris *e, const struct par_file *p, psr_err *err)
{
    const double *v = p->value;
    if (!p->line[PAR_BINARY] && (p->line[PAR_PB] || p->line[PAR_FB0] || p->line[PAR_A1]))
        return fail_missing(p, err, "BINARY");
    if (!p->line[PAR_BINARY])
        return PSR_OK;
    psr_status st = check_model(p, err);
    if (!st)
        st = settle_period(e, p, err);
    if (st)
        return st;
    if (!p->line[PAR_A1])
        return fail_missing(p, err, "A1");
    if (!p->line[PAR_T0] && !p->line[PAR_TASC])
        return fail_missing(p, err, "T0");
    e->asini_s = v[PAR_A1];
    e->xdot = v[PAR_XDOT];
    e->laplace = p->line[PAR_TASC] && (!p->line[PAR_T0] || !p->line[PAR_ECC]);
    e->t0_mjd = v[e->laplace ? PAR_TASC : PAR_T0];
    e->ecc = v[PAR_ECC];
    e->edot = v[PAR_EDOT];
    e->omega_deg = v[PAR_OM];
    e->omdot_rads = v[PAR_OMDOT];
    e->by_anomaly = strncasecmp(p->text[PAR_BINARY], "BT", 2) != 0;
    e->eps1 = v[PAR_EPS1];
    e->eps2 = v[PAR_EPS2];
    e->eps1dot = v[PAR_EPS1DOT];
    e->eps2dot = v[PAR_EPS2DOT];
    e->gamma_s = e->laplace ? 0 : v[PAR_GAMMA];
    settle_kopeikin(e, p);
    return PSR_OK;
}

/* --- what is left out --------------------------------------------------------------------------- */

/* Largest difference of Shapiro delays along the orbit, s (Blandford and Teukolsky 1976). */
static double shapiro_s(double range_s, double s, double ecc)
{
    const double shape = fmin(fabs(s), 1 - 1e-9);
    return 2 * fabs(range_s) * (log((1 + shape) / (1 - shape)) + log((1 + ecc) / (1 - ecc)));
}

/* By the orthometric parameters (Freire and Wex 2010); of H3 alone the third harmonic. */
static double orthometric_s(const double *v)
{
    const double h3 = v[PAR_H3], stig = v[PAR_STIG] != 0 ? v[PAR_STIG]
                                        : h3 != 0        ? v[PAR_H4] / h3
                                                         : 0;
    if (stig == 0)
        return 8. / 3 * fabs(h3);
    return shapiro_s(h3 / (stig * stig * stig), 2 * stig / (1 + stig * stig), 0);
}

static psr_status check_left_out(const struct psr_ephemeris *e, const struct par_file *p,
                                 psr_err *err)
{
    const double *v = p->value, x = e->asini_s;
    const double s = p->line[PAR_SHAPMAX] ? 1 - exp(-v[PAR_SHAPMAX])
                     : p->line[PAR_KIN]   ? sin(v[PAR_KIN] * degree)
                                          : v[PAR_SINI];
    const struct {
        const char *name;
        enum par_key key;
        double effect_s;
    } left_out[] = {
        {"SINI", PAR_SINI, shapiro_s(PSR_TSUN_S * v[PAR_M2], s, e->ecc)},
        {"SHAPMAX", PAR_SHAPMAX, shapiro_s(PSR_TSUN_S * v[PAR_M2], s, e->ecc)},
        {"H3", PAR_H3, orthometric_s(v)},
        {"KIN", PAR_KIN, shapiro_s(PSR_TSUN_S * v[PAR_M2], s, e->ecc)},
        {"GAMMA", PAR_GAMMA, e->laplace ? 2 * fabs(v[PAR_GAMMA]) : 0},
        {"DR", PAR_DR, x * e->ecc * fabs(v[PAR_DR])},
        {"DTHETA", PAR_DTHETA, x * e->ecc * fabs(v[PAR_DTHETA])},
        {"A0", PAR_A0, 2 * fabs(v[PAR_A0])},
        {"B0", PAR_B0, 2 * fabs(v[PAR_B0])},
        /* ELL1 is the first order in eccentricity of the orbit here. */
        {"EPS1", PAR_EPS1, e->laplace ? x * (e->eps1 * e->eps1 + e->eps2 * e->eps2) : 0},
        {"EPS2", PAR_EPS2, e->laplace ? x * (e->eps1 * e->eps1 + e->eps2 * e->eps2) : 0},
    };
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++) {
        const double turns = left_out[i].effect_s * e->f[0];
        if (p->line[left_out[i].key] && !(turns <= PSR_EPHEMERIS_TURNS))
            return fail_line(p, p->line[left_out[i].key], err, left_out[i].name,
                             "%s: moves the phase by %.2g turns (%.2g s), above %g: not covered",
                             left_out[i].name, turns, left_out[i].effect_s, PSR_EPHEMERIS_TURNS);
    }
    return PSR_OK;
}

/* --- glitches, TCB ------------------------------------------------------------------------------ */

static psr_status settle_glitches(struct psr_ephemeris *e, const struct par_file *p, psr_err *err)
{
    for (size_t i = 0; i < PSR_EPHEMERIS_NGLITCH; i++) {
        const struct psr_glitch *g = &p->glitch[i];
        if (!p->line_glitch[i])
            continue;
        if (!(g->epoch_mjd > 0) || (g->f0d != 0 && !(g->decay_s > 0)))
            return fail_line(p, p->line_glitch[i], err, "GLEP",
                             "glitch %zu: no GLEP or GLTD above 0", i + 1);
        e->glitch[e->nglitch++] = *g;
    }
    return PSR_OK;
}

/* Times in TCB are longer by K, and both began at the beginning of 1977 (IAU 2006 resolution B3). */
static double date_of_tcb(double mjd)
{
    const double k = 1 + 1.55051979176e-8, began_mjd = 43144.0003725;
    return mjd > 0 ? began_mjd + (mjd - began_mjd) / k : mjd;
}

psr_status psr_par_settle(struct psr_ephemeris *e, const struct par_file *p, psr_err *err)
{
    psr_status st = settle_spin(e, p, err);
    if (!st)
        st = settle_position(e, p, err);
    if (!st)
        st = settle_orbit(e, p, err);
    if (!st)
        st = settle_glitches(e, p, err);
    if (!st && !strcasecmp(p->text[PAR_UNITS], "TCB")) {
        const double k = 1 + 1.55051979176e-8;
        double unit = k;
        double *const dates[] = {&e->pepoch_mjd, &e->posepoch_mjd, &e->dmepoch_mjd,
                                 &e->t0_mjd,     &e->start_mjd,    &e->finish_mjd};
        double *const rates[] = {&e->edot, &e->omdot_rads, &e->eps1dot, &e->eps2dot};
        for (int i = 0; i < PSR_EPHEMERIS_NF; i++, unit *= k)
            e->f[i] *= unit;
        for (size_t i = 0; i < sizeof dates / sizeof *dates; i++)
            *dates[i] = date_of_tcb(*dates[i]);
        for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
            *rates[i] *= k;
        e->dm[0] *= k;
        e->pb_s /= k;
        e->asini_s /= k;
        e->gamma_s /= k;
        for (size_t i = 0; i < e->nglitch; i++) {
            struct psr_glitch *g = &e->glitch[i];
            g->epoch_mjd = date_of_tcb(g->epoch_mjd);
            g->f0 *= k;
            g->f0d *= k;
            g->f1 *= k * k;
            g->f2 *= k * k * k;
            g->decay_s /= k;
        }
    }
    return st || e->pb_s == 0 ? st : check_left_out(e, p, err);
}
