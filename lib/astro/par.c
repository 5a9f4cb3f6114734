/* Reads .par files, and makes ephemerides of them. */
#include "formats/spectra/header_keys.h"

#include "barycentre.h"
#include <math.h>
#include <psrkit/ephemeris.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* --- parameters between their lines and an ephemeris ------------------------------------------ */

enum { PAR_MAX_BYTES = 1 << 22, PAR_TEXT = 64 };

/* clang-format off */
enum par_key {
    PAR_PSR, PAR_RAJ, PAR_DECJ, PAR_BINARY, PAR_UNITS, PAR_NTEXT,
    PAR_P0 = PAR_NTEXT, PAR_P1, PAR_PEPOCH, PAR_START, PAR_FINISH, PAR_ELONG, PAR_ELAT, PAR_PMRA, PAR_PMDEC, PAR_PMELONG,
    PAR_PMELAT, PAR_POSEPOCH, PAR_DM, PAR_DM1, PAR_DM2, PAR_DM3, PAR_DMEPOCH, PAR_PB, PAR_FB0, PAR_FB1,
    PAR_PBDOT, PAR_A1, PAR_XDOT, PAR_ECC, PAR_EDOT, PAR_OM, PAR_OMDOT, PAR_T0, PAR_TASC, PAR_EPS1,
    PAR_EPS2, PAR_EPS1DOT, PAR_EPS2DOT, PAR_M2, PAR_SINI, PAR_SHAPMAX, PAR_H3, PAR_H4, PAR_STIG,
    PAR_GAMMA, PAR_DR, PAR_DTHETA, PAR_A0, PAR_B0, PAR_KIN, PAR_KOM, PAR_NKEY
};
/* clang-format on */

/* Values are 0 without a line. */
struct par_file {
    const char *path;
    char text[PAR_NTEXT][PAR_TEXT];
    double value[PAR_NKEY];
    long line[PAR_NKEY]; /* from 1; 0: none */
    double f[PSR_EPHEMERIS_NF];
    long line_f[PSR_EPHEMERIS_NF];
    struct psr_glitch glitch[PSR_EPHEMERIS_NGLITCH]; /* by number, from 1; epoch 0: none */
    long line_glitch[PSR_EPHEMERIS_NGLITCH];
};

/* --- the ephemeris that parameters make ------------------------------------------------------- */

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

/* --- what is left out ------------------------------------------------------------------------- */

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

/* --- glitches, TCB ---------------------------------------------------------------------------- */

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

/* Fills *e.
 * Status: PSR_EFORMAT naming file, line, parameter and value for what is missing or not covered */
static psr_status par_settle(struct psr_ephemeris *e, const struct par_file *p, psr_err *err)
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

/* --- parameters ------------------------------------------------------------------------------- */

/* Numbers; what is above 1e-7 counts in units of 1e-12 where is_scaled, as in TEMPO2. */
static const struct number {
    const char *name;
    enum par_key key;
    double unit, min, max;
    bool is_scaled;
} numbers[] = {
    {"P0", PAR_P0, 1, 1e-5, 1e6, false},
    {"P", PAR_P0, 1, 1e-5, 1e6, false},
    {"P1", PAR_P1, 1, -1, 1, false},
    {"PEPOCH", PAR_PEPOCH, 1, 0, 1e6, false},
    {"START", PAR_START, 1, 0, 1e6, false},
    {"FINISH", PAR_FINISH, 1, 0, 1e6, false},
    {"ELONG", PAR_ELONG, 1, -360, 360, false},
    {"LAMBDA", PAR_ELONG, 1, -360, 360, false},
    {"ELAT", PAR_ELAT, 1, -90, 90, false},
    {"BETA", PAR_ELAT, 1, -90, 90, false},
    {"PMRA", PAR_PMRA, 1, -1e5, 1e5, false},
    {"PMDEC", PAR_PMDEC, 1, -1e5, 1e5, false},
    {"PMELONG", PAR_PMELONG, 1, -1e5, 1e5, false},
    {"PMLAMBDA", PAR_PMELONG, 1, -1e5, 1e5, false},
    {"PMELAT", PAR_PMELAT, 1, -1e5, 1e5, false},
    {"PMBETA", PAR_PMELAT, 1, -1e5, 1e5, false},
    {"POSEPOCH", PAR_POSEPOCH, 1, 0, 1e6, false},
    {"DM", PAR_DM, 1, 0, 1e6, false},
    {"DM1", PAR_DM1, 1, -1e6, 1e6, false},
    {"DM2", PAR_DM2, 1, -1e6, 1e6, false},
    {"DM3", PAR_DM3, 1, -1e6, 1e6, false},
    {"DMEPOCH", PAR_DMEPOCH, 1, 0, 1e6, false},
    {"PB", PAR_PB, 86400, 1e-6, 1e6, false},
    {"FB0", PAR_FB0, 1, 1e-12, 1e3, false},
    {"FB1", PAR_FB1, 1, -1, 1, false},
    {"PBDOT", PAR_PBDOT, 1, -1e6, 1e6, true},
    {"A1", PAR_A1, 1, 0, 1e6, false},
    {"XDOT", PAR_XDOT, 1, -1e6, 1e6, true},
    {"A1DOT", PAR_XDOT, 1, -1e6, 1e6, true},
    {"ECC", PAR_ECC, 1, 0, 0.9999999, false},
    {"E", PAR_ECC, 1, 0, 0.9999999, false},
    {"EDOT", PAR_EDOT, 1, -1e6, 1e6, true},
    {"OM", PAR_OM, 1, -720, 720, false},
    {"OMDOT", PAR_OMDOT, M_PI / 180 / (365.25 * 86400), -1e6, 1e6, false},
    {"T0", PAR_T0, 1, 0, 1e6, false},
    {"TASC", PAR_TASC, 1, 0, 1e6, false},
    {"EPS1", PAR_EPS1, 1, -1, 1, false},
    {"EPS2", PAR_EPS2, 1, -1, 1, false},
    {"EPS1DOT", PAR_EPS1DOT, 1, -1e6, 1e6, true},
    {"EPS2DOT", PAR_EPS2DOT, 1, -1e6, 1e6, true},
    {"M2", PAR_M2, 1, -1e3, 1e6, false},
    {"SINI", PAR_SINI, 1, -1, 1, false},
    {"SHAPMAX", PAR_SHAPMAX, 1, -100, 100, false},
    {"H3", PAR_H3, 1, -1, 1, false},
    {"H4", PAR_H4, 1, -1, 1, false},
    {"STIG", PAR_STIG, 1, -1, 1, false},
    {"STIGMA", PAR_STIG, 1, -1, 1, false},
    {"VARSIGMA", PAR_STIG, 1, -1, 1, false},
    {"GAMMA", PAR_GAMMA, 1, -1e3, 1e3, false},
    {"DR", PAR_DR, 1, -1, 1, false},
    {"DTHETA", PAR_DTHETA, 1, -1, 1, false},
    {"DTH", PAR_DTHETA, 1, -1, 1, false},
    {"A0", PAR_A0, 1, -1e3, 1e3, false},
    {"B0", PAR_B0, 1, -1e3, 1e3, false},
    {"KIN", PAR_KIN, 1, -360, 360, false},
    {"KOM", PAR_KOM, 1, -720, 720, false},
};

/* What neither changes during an observation, nor by PSR_EPHEMERIS_TURNS: names, and their starts.
 * A parallax of 10 mas moves the phase of a 1-ms pulsar by 0.01 turns in a year. */
static const char *const skipped[] = {
    "EPHEM",
    "CLK",
    "CLOCK",
    "TIMEEPH",
    "T2CMETHOD",
    "CORRECT_TROPOSPHERE",
    "PLANET_SHAPIRO",
    "DILATEFREQ",
    "DIALATEFREQ",
    "NE_SW",
    "NE1AU",
    "SOLARN0",
    "TRES",
    "CHI2",
    "CHI2R",
    "NTOA",
    "NITS",
    "INFO",
    "IBOOT",
    "MODE",
    "EPHVER",
    "DMDATA",
    "ECL",
    "PX",
    "RM",
    "NPRNT",
    "NHARMS",
    "TRACK",
    "PHOFF",
    "DMX",
    "SWM",
    "SWP",
    "K96",
    "COORD",
    "BADTOA",
    "DCOVFILE",
    "S",
    "DIST",
    "POSANGLE",
};
static const char *const skipped_starts[] = {
    "TZR",   "DMX",    "JUMP",    "T2E",    "TN",    "ECORR", "EFAC",
    "EQUAD", "DMEFAC", "DMEQUAD", "DMJUMP", "RNAMP", "RNIDX", "SWX",
};

/* Whole families that are not covered; every other name is not known. */
static const struct refused {
    const char *start, *what;
} refused[] = {
    {"GL", "glitches of other terms"}, {"WAVE", "waves"},
    {"IFUNC", "interpolated phases"},  {"SIFUNC", "interpolated phases"},
    {"ORBWAVE", "waves of the orbit"}, {"PW", "pieces of a spin"},
    {"FB", "more than FB1"},           {"CM", "chromatic delays"},
};

/* --- lines ------------------------------------------------------------------------------------ */

static bool starts_with(const char *text, const char *start)
{
    return !strncasecmp(text, start, strlen(start));
}

/* Fortran's exponents. */
static void convert_exponent(char *word)
{
    for (; *word; word++)
        if (*word == 'd' || *word == 'D')
            *word = 'e';
}

static psr_status take_line(struct par_file *p, enum par_key key, const struct psr_text_row *row,
                            psr_err *err)
{
    if (p->line[key])
        return psr_text_row_fail(row, err, row->word[0], "%s: a second one, after line %ld",
                                 row->word[0], p->line[key]);
    p->line[key] = row->number;
    return PSR_OK;
}

/* GLEP_1, GLF0_1, .. */
static psr_status take_glitch(struct par_file *p, const struct psr_text_row *row, bool *taken,
                              psr_err *err)
{
    static const struct {
        const char *start;
        size_t at;
        double unit, most;
    } term[] = {{"GLEP_", offsetof(struct psr_glitch, epoch_mjd), 1, 1e6},
                {"GLF0_", offsetof(struct psr_glitch, f0), 1, 1e3},
                {"GLF1_", offsetof(struct psr_glitch, f1), 1, 1},
                {"GLF2_", offsetof(struct psr_glitch, f2), 1, 1},
                {"GLF0D_", offsetof(struct psr_glitch, f0d), 1, 1e3},
                {"GLTD_", offsetof(struct psr_glitch, decay_s), 86400, 1e6},
                {"GLPH_", SIZE_MAX, 1, 1e9}}; /* the same throughout */
    const char *name = row->word[0];
    for (size_t k = 0; k < sizeof term / sizeof *term; k++) {
        const size_t n = strlen(term[k].start);
        int64_t i = 0;
        double value = 0;
        if (strncasecmp(name, term[k].start, n) != 0)
            continue;
        if (psr_parse_int(name, name + n, 1, PSR_EPHEMERIS_NGLITCH, &i, NULL))
            return psr_text_row_fail(row, err, name, "%s: more than %d glitches", name,
                                     PSR_EPHEMERIS_NGLITCH);
        *taken = true;
        if (row->n > 1)
            convert_exponent(row->word[1]);
        psr_status st = psr_text_row_double(row, 1, name, -term[k].most, term[k].most, &value, err);
        p->line_glitch[i - 1] = row->number;
        if (term[k].at != SIZE_MAX)
            *(double *)(void *)((char *)&p->glitch[i - 1] + term[k].at) = value * term[k].unit;
        return st;
    }
    return PSR_OK;
}

/* Whether the value is there, and 0. */
static bool is_zero(const struct psr_text_row *row)
{
    double value = 1;
    if (row->n > 1)
        convert_exponent(row->word[1]);
    return row->n > 1 && !psr_parse_double("value", row->word[1], -1e300, 1e300, &value, NULL) &&
           value == 0;
}

static psr_status take_other(const struct psr_text_row *row, psr_err *err)
{
    const char *name = row->word[0];
    for (size_t i = 0; i < sizeof skipped / sizeof *skipped; i++)
        if (!strcasecmp(name, skipped[i]))
            return PSR_OK;
    for (size_t i = 0; i < sizeof skipped_starts / sizeof *skipped_starts; i++)
        if (starts_with(name, skipped_starts[i]))
            return PSR_OK;
    if (starts_with(name, "FD") && strspn(name + 2, "0123456789") == strlen(name + 2))
        return PSR_OK;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (starts_with(name, refused[i].start) && is_zero(row))
            return PSR_OK;
        else if (starts_with(name, refused[i].start))
            return psr_text_row_fail(row, err, name, "%s: %s are not covered", name,
                                     refused[i].what);
    return psr_text_row_fail(row, err, name, "%.64s: not known, so it might move the phase", name);
}

static psr_status take_row(void *ctx, const struct psr_text_row *row, psr_err *err)
{
    static const struct {
        const char *name;
        enum par_key key;
    } texts[] = {{"PSR", PAR_PSR},  {"PSRJ", PAR_PSR},      {"PSRB", PAR_PSR},
                 {"RAJ", PAR_RAJ},  {"RA", PAR_RAJ},        {"DECJ", PAR_DECJ},
                 {"DEC", PAR_DECJ}, {"BINARY", PAR_BINARY}, {"UNITS", PAR_UNITS}};
    struct par_file *p = ctx;
    const char *name = row->word[0];
    if (!strcmp(name, "C")) /* TEMPO's comment */
        return PSR_OK;
    if ((*name == 'F' || *name == 'f') && strspn(name + 1, "0123456789") == strlen(name + 1)) {
        /* F0, F1, .. */
        int64_t k = 0;
        psr_status st = PSR_OK;
        const char *digits = row->word[0] + 1;
        if (*digits && psr_parse_int("F", digits, 0, PSR_EPHEMERIS_NF - 1, &k, NULL))
            return psr_text_row_fail(row, err, row->word[0], "%s: more than F%d is not covered",
                                     row->word[0], PSR_EPHEMERIS_NF - 1);
        if (p->line_f[k])
            return psr_text_row_fail(row, err, row->word[0], "%s: a second one, after line %ld",
                                     row->word[0], p->line_f[k]);
        p->line_f[k] = row->number;
        if (row->n > 1)
            convert_exponent(row->word[1]);
        st = psr_text_row_double(row, 1, row->word[0], k ? -1e9 : 1e-6, 1e9, &p->f[k], err);
        return st;
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!strcasecmp(name, texts[i].name)) {
            const enum par_key key = texts[i].key;
            psr_status st = take_line(p, key, row, err);
            if (st)
                return st;
            if (row->n < 2)
                return psr_text_row_fail(row, err, row->word[0], "%s is missing", row->word[0]);
            snprintf(p->text[key], sizeof p->text[key], "%s", row->word[1]);
            return PSR_OK;
        }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!strcasecmp(name, numbers[i].name)) {
            const struct number *n = &numbers[i];
            double value = 0;
            psr_status st = take_line(p, n->key, row, err);
            if (row->n > 1)
                convert_exponent(row->word[1]);
            if (!st)
                st = psr_text_row_double(row, 1, row->word[0], n->min, n->max, &value, err);
            if (n->is_scaled && fabs(value) > 1e-7)
                value *= 1e-12;
            p->value[n->key] = value * n->unit;
            return st;
        }
    bool taken = false;
    psr_status st = take_glitch(p, row, &taken, err);
    return st || taken ? st : take_other(row, err);
}

/* --- the file --------------------------------------------------------------------------------- */

psr_status psr_ephemeris_read(struct psr_ephemeris *e, const char *path, psr_err *err)
{
    struct par_file p = {.path = path};
    struct psr_text_lines lines;
    *e = (struct psr_ephemeris){.pepoch_mjd = 0};
    psr_status st = psr_text_lines_open(&lines, path, PAR_MAX_BYTES, err);
    if (st)
        return st;
    p.path = lines.name;
    st = psr_text_table_take(&lines, take_row, &p, err);
    psr_text_lines_close(&lines);
    return st ? st : par_settle(e, &p, err);
}
