/* ephemeris: phases against a direct evaluation of the Taylor series and the orbit, the phases that a
 * fold uses at a telescope, what .par files say, and what is refused of them. */
#include <psrkit/ephemeris.h>

#include "base/obs_internal.h"
#include "run/fold/folder.h"
#include "tests/support/scratch.h"
#include "tests/support/tap.h"

static psr_err err;
static uint64_t seed;

static double draw(double low, double high)
{
    return low + (high - low) * tap_uniform(&seed);
}

/* --- a direct evaluation -------------------------------------------------------------------------- */

static long double ecc_anomaly(long double mean, long double e)
{
    long double low = mean - e, high = mean + e;
    for (int i = 0; i < 90; i++) {
        const long double middle = (low + high) / 2;
        *(middle - e * sinl(middle) < mean ? &low : &high) = middle;
    }
    return low;
}

/* Delay at pulsar time dt since the ascending node or periastron. */
static long double delay(const struct psr_ephemeris *e, long double dt)
{
    const long double turns = dt / e->pb_s, x = e->asini_s + e->xdot * dt;
    const long double mean = 2 * (long double)M_PI * (turns - e->pbdot * turns * turns / 2);
    if (e->laplace) { /* Lange et al. 2001, to first order */
        const long double eps1 = e->eps1 + e->eps1dot * dt, eps2 = e->eps2 + e->eps2dot * dt;
        return x *
               (sinl(mean) + eps2 / 2 * sinl(2 * mean) - eps1 / 2 * cosl(2 * mean) - 1.5L * eps1);
    }
    const long double ecc = e->ecc + e->edot * dt;
    const long double big = ecc_anomaly(mean, ecc);
    /* As far from the mean anomaly as the eccentric one, and more (Damour and Deruelle 1986, eq. 16). */
    const long double half = remainderl(big, 2 * (long double)M_PI) / 2;
    const long double ahead = 2 * atan2l(sqrtl(1 + ecc) * sinl(half), sqrtl(1 - ecc) * cosl(half)) -
                              2 * half + big - mean;
    const long double w =
        e->omega_deg * (long double)M_PI / 180 +
        e->omdot_rads * (dt + (e->by_anomaly ? ahead * e->pb_s / (2 * (long double)M_PI) : 0));
    return x * (sinl(w) * (cosl(big) - ecc) + cosl(w) * sqrtl(1 - ecc * ecc) * sinl(big)) +
           e->gamma_s * sinl(big);
}

/* Turns since PEPOCH of what arrives t_s after a date. */
static long double direct_turns(const struct psr_ephemeris *e, double mjd, long double t_s)
{
    const long double since_t0 = (long double)(mjd - e->t0_mjd) * 86400 + t_s;
    const long double since = (long double)(mjd - e->pepoch_mjd) * 86400 + t_s;
    long double late = 0, sum = 0, term = 1;
    for (int i = 0; e->pb_s > 0 && i < 60; i++)
        late = delay(e, since_t0 - late);
    for (int k = 0; k < PSR_EPHEMERIS_NF; k++) {
        term *= (since - late) / (k + 1);
        sum += e->f[k] * term;
    }
    for (size_t i = 0; i < e->nglitch; i++) {
        const struct psr_glitch *g = &e->glitch[i];
        const long double dt = (long double)(mjd - g->epoch_mjd) * 86400 + t_s - late;
        if (dt < 0)
            continue;
        sum += dt * (g->f0 + dt / 2 * (g->f1 + dt / 3 * g->f2));
        sum -= g->decay_s > 0 ? (long double)(g->f0d * g->decay_s) * expl(-dt / g->decay_s) : 0;
    }
    return sum;
}

/* Not in an observation, of which the series around its start does not know it: from 55200 on, within a
 * day and 6 h, and as much as an orbit delays. */
static double draw_glitch_mjd(void)
{
    const double mjd = draw(55000, 55400);
    return mjd > 55199.5 && mjd < 55201.5 ? mjd - 2 : mjd;
}

static struct psr_ephemeris draw_ephemeris(int kind)
{
    struct psr_ephemeris e = {
        .f = {draw(0.1, 700), draw(-1e-10, 1e-10), draw(-1e-20, 1e-20), 1e-29},
        .pepoch_mjd = draw(55000, 55300)};
    e.nglitch = 2;
    for (int i = 0; i < 2; i++)
        e.glitch[i] = (struct psr_glitch){.epoch_mjd = draw_glitch_mjd(),
                                          .f0 = draw(-1e-6, 1e-5),
                                          .f1 = draw(-1e-13, 1e-13),
                                          .f2 = draw(-1e-22, 1e-22),
                                          .f0d = i ? draw(0, 1e-6) : 0,
                                          .decay_s = i ? draw(5, 100) * 86400 : 0};
    if (kind == 0)
        return e;
    e.pb_s = exp(draw(log(3600), log(1e7)));
    e.asini_s = draw(0, 1) * fmin(30, e.pb_s * 1e-4);
    e.t0_mjd = draw(55000, 55300);
    e.pbdot = draw(-1e-11, 1e-11);
    e.xdot = draw(-1e-12, 1e-12);
    e.laplace = kind == 2;
    if (e.laplace) {
        e.eps1 = draw(-1e-6, 1e-6);
        e.eps2 = draw(-1e-6, 1e-6);
        e.eps1dot = draw(-1e-16, 1e-16);
    } else {
        e.ecc = draw(0, 0.8);
        e.omega_deg = draw(0, 360);
        e.edot = draw(-1e-15, 1e-15);
        e.omdot_rads = draw(-1e-9, 1e-9);
        e.by_anomaly = draw(0, 1) < 0.5;
        e.gamma_s = draw(-5e-4, 5e-4);
    }
    return e;
}

static void test_phases(void)
{
    static const char *const name[] = {"isolated pulsars", "orbits", "orbits by their node"};
    for (int kind = 0; kind < 3; kind++) {
        double worst = 0;
        for (int i = 0; i < 200; i++) {
            const struct psr_ephemeris e = draw_ephemeris(kind);
            const double mjd = 55200 + draw(0, 1), length_s = draw(1, 20000);
            struct psr_ephemeris_local l;
            if (psr_ephemeris_at(&l, &e, mjd, &err)) {
                diag("%s", err.msg);
                worst = INFINITY;
                continue;
            }
            const long double start = psr_ephemeris_turns(&l, psr_ephemeris_emission_s(&l, 0));
            for (int k = 1; k <= 5; k++) {
                const double t = length_s * k / 5;
                const long double got =
                    psr_ephemeris_turns(&l, psr_ephemeris_emission_s(&l, t)) - start;
                const long double want = direct_turns(&e, mjd, t) - direct_turns(&e, mjd, 0);
                worst = fmax(worst, (double)fabsl(got - want));
            }
        }
        ok(worst < 1e-5, "phases of 200 %s, up to 6 h long: within %.2g turns", name[kind], worst);
    }
}

/* --- at a telescope -------------------------------------------------------------------------------- */

static void test_fold(void)
{
    const double start = 55200.3125, length_s = 18000;
    struct psr_site site;
    struct psr_bary target;
    struct psr_fold_bary bary = {.on = false};
    double worst = 0, spin_only = 0;
    psr_site_find("GBT", &site);
    psr_bary_init(&target, &site, 83.6, 22.01);
    const bool made = !psr_fold_bary_init(&bary, &target, start, length_s, &err);
    for (int i = 0; made && i < 12; i++) {
        const struct psr_ephemeris e = draw_ephemeris(i % 3);
        struct psr_fold_delays delays = {.n = 0};
        struct psr_fold_spin fold;
        struct psr_fold_orbit orbit;
        if (psr_fold_model_init(&delays, &fold, &orbit, &e, &bary, bary.epoch_mjd, length_s,
                                &err)) {
            diag("%s", err.msg);
            worst = INFINITY;
            break;
        }
        long double offset = 0;
        for (int k = 0; k <= 200; k++) {
            const double t = (length_s - 1) * k / 200, at = t / delays.time_s[1];
            const size_t j = (size_t)at;
            const double d =
                delays.delay_s[j] + (at - (double)j) * (delays.delay_s[j + 1] - delays.delay_s[j]);
            const long double u = (long double)t - d;
            const long double got = u * (fold.f + u * (fold.fd / 2 + u * fold.fdd / 6));
            struct psr_mjd tdb;
            const bool found = !psr_bary_time(
                &target, psr_mjd_add((struct psr_mjd){55200, 0.3125}, t), &tdb, &err);
            const long double arrival =
                ((long double)tdb.day - (long double)bary.epoch_mjd + (long double)tdb.frac) *
                86400;
            const long double want = direct_turns(&e, bary.epoch_mjd, arrival);
            offset = k ? offset : got - want;
            worst = fmax(worst, found ? (double)fabsl(got - want - offset) / e.f[0] : INFINITY);
            const long double v = t;
            spin_only =
                fmax(spin_only,
                     i % 3 ? 0
                           : (double)fabsl(v * (fold.f + v * (fold.fd / 2 + v * fold.fdd / 6)) -
                                           want - offset) /
                                 e.f[0]);
        }
        ok(i % 3 == 0 ? orbit.period_s == 0
                      : fabs(orbit.asini_s - e.asini_s) < 1e-4 && orbit.t0_mjd <= bary.epoch_mjd &&
                            orbit.t0_mjd > bary.epoch_mjd - orbit.period_s / 86400 &&
                            orbit.omega_deg >= 0 && orbit.omega_deg < 360,
           "the orbit for the .pfd");
        psr_fold_delays_clear(&delays);
    }
    psr_fold_bary_clear(&bary);
    /* dates of the clock are rounded to 0.6 us */
    ok(worst < 2e-6, "phases of folds of 5 h at a telescope: within %.2g s", worst);
    ok(spin_only > worst, "where a fit of the spin alone leaves %.2g s", spin_only);
}

/* --- files ------------------------------------------------------------------------------------------ */

static psr_status read_text(struct psr_ephemeris *e, const char *text)
{
    const char *path = scratch("a.par");
    scratch_write_text(path, text);
    return psr_ephemeris_read(e, path, &err);
}

static const char *const isolated =
    "# comment\nC another\nPSRJ J1234/56\nRAJ 12:30:00 1 0.1\nDECJ -45:30:00\n"
    "F0 2.5 1\nF1 -1D-15\nF3 1e-30\nPEPOCH 55000.5\nDM 10\nDM1 0.5\n"
    "PMRA 36000\nPMDEC -36e3\nDMX_0001 3\nTZRMJD 1\nJUMP -fe L 1 1\nFD1 1e-5\n"
    "CLK TT(BIPM)\nUNITS TDB\n";

static void test_isolated(void)
{
    struct psr_ephemeris e;
    double ra, dec;
    ok(!read_text(&e, isolated) && !strcmp(e.name, "1234_56") && e.f[0] == 2.5 &&
           e.f[1] == -1e-15 && e.f[2] == 0 && e.f[3] == 1e-30 && e.pepoch_mjd == 55000.5 &&
           e.pb_s == 0,
       "spin (%s)", err.msg);
    ok(psr_ephemeris_dm(&e, 55000.5 + 2 * 365.25) == 11, "DM and its derivative");
    psr_ephemeris_position(&e, 55000.5 + 365.25, &ra, &dec);
    ok(fabs(dec + 45.51) < 1e-9 && fabs(ra - 187.5 - 0.01 / cos(45.5 * M_PI / 180)) < 1e-9,
       "position and proper motion");
    ok(!read_text(&e, "P0 0.5\nP1 1e-15\nPEPOCH 55000\n") && e.f[0] == 2 &&
           fabs(e.f[1] / -4e-15 - 1) < 1e-15 && !e.has_position,
       "a period");
    ok(!read_text(&e, "F 3\n") && e.f[0] == 3, "a frequency alone");
    ok(!read_text(&e, "F0 1\nELONG 90\nELAT 0\nPMELONG 10\nPMELAT 2\n") && e.has_position &&
           fabs(e.ra_deg - 90) < 1e-12 && fabs(e.dec_deg - 84381.406 / 3600) < 1e-12 &&
           fabs(e.pm_ra_mas - 10) < 1e-3 && fabs(e.pm_dec_mas - 2) < 1e-3,
       "an ecliptic position at the solstice");
    const double tilt = 84381.406 / 3600 * M_PI / 180;
    ok(!read_text(&e, "F0 1\nLAMBDA 0\nBETA 0\nPMLAMBDA 10\nPMBETA 2\n") &&
           fabs(e.dec_deg) < 1e-12 && fabs(e.pm_ra_mas - 10 * cos(tilt) + 2 * sin(tilt)) < 1e-3 &&
           fabs(e.pm_dec_mas - 10 * sin(tilt) - 2 * cos(tilt)) < 1e-3,
       "and at the equinox");
}

static void test_orbits(void)
{
    struct psr_ephemeris e;
    ok(!read_text(&e, "F0 10\nBINARY DD\nPB 0.5\nA1 2\nT0 55000\nECC 0.1\nOM 30\nOMDOT 0.1\nPBDOT "
                      "-2.5\nXDOT 1e-14\n"
                      "SINI 0.9\nM2 0.2\n") &&
           e.pb_s == 43200 && e.asini_s == 2 && e.t0_mjd == 55000 && e.ecc == 0.1 &&
           e.omega_deg == 30 && e.by_anomaly &&
           fabs(e.omdot_rads / (0.1 * M_PI / 180 / 31557600) - 1) < 1e-15 && e.pbdot == -2.5e-12 &&
           e.xdot == 1e-14 && !e.laplace,
       "DD, numbers in units of 1e-12, a weak Shapiro delay");
    ok(!read_text(
           &e,
           "F0 10\nBINARY ell1\nFB0 1e-4\nFB1 1e-20\nA1 2\nTASC 55000\nEPS1 1e-5\nEPS2 -2e-5\n") &&
           e.laplace && fabs(e.pb_s - 1e4) < 1e-9 && fabs(e.pbdot / -1e-12 - 1) < 1e-12 &&
           e.eps1 == 1e-5 && e.eps2 == -2e-5,
       "ELL1 by orbital frequency");
}

/* Of kinds that are refused otherwise. */
static void test_zeros(void)
{
    struct psr_ephemeris e;
    ok(!read_text(&e, "F0 1\nWAVE1 0\nFB2 0.0\nCM 0D0\nGLQ_1 0\n"),
       "terms of refused kinds may be 0: %s", err.msg);
    ok(!read_text(
           &e, "F0 2\nF1 1e-15\nPEPOCH 55000\nGLEP_2 54000\nGLF0_2 1D-6\nGLF1_2 0 1\nGLPH_2 0.3\n"
               "GLF0D_2 1e-7\nGLTD_2 10\n") &&
           e.nglitch == 1 && e.glitch[0].epoch_mjd == 54000 && e.glitch[0].f0 == 1e-6 &&
           e.glitch[0].f0d == 1e-7 && e.glitch[0].decay_s == 864000,
       "a glitch");
}

/* Times in TCB are longer: 15.5 s a year, from the beginning of 1977 on. */
static void test_tcb(void)
{
    const double k = 1 + 1.55051979176e-8;
    struct psr_ephemeris tdb, tcb;
    ok(!read_text(
           &tdb,
           "F0 2.5\nF1 -1e-12\nPEPOCH 55000\nDM 10\nBINARY DD\nPB 1\nA1 2\nT0 55010\nECC 0.1\n") &&
           !read_text(
               &tcb,
               "F0 2.5\nF1 -1e-12\nPEPOCH 55000\nDM 10\nBINARY DD\nPB 1\nA1 2\nT0 55010\nECC 0.1\n"
               "UNITS TCB\n"),
       "the same file in TDB and in TCB");
    ok(fabs(tcb.f[0] / tdb.f[0] / k - 1) < 1e-15 && fabs(tcb.f[1] / tdb.f[1] / k / k - 1) < 1e-15 &&
           fabs(tcb.pb_s * k / tdb.pb_s - 1) < 1e-15 &&
           fabs(tcb.asini_s * k / tdb.asini_s - 1) < 1e-15 && tcb.ecc == tdb.ecc,
       "frequencies are higher in TDB, times shorter");
    ok(fabs((tdb.pepoch_mjd - tcb.pepoch_mjd) * 86400 - 15.8834) < 1e-3 &&
           fabs((tdb.t0_mjd - tcb.t0_mjd) * 86400 - 15.8968) < 1e-3,
       "dates are earlier by %.4f s", (tdb.pepoch_mjd - tcb.pepoch_mjd) * 86400);
}

/* By Kopeikin 1996, of an orbit that proper motion turns. */
static void test_kopeikin(void)
{
    struct psr_ephemeris e;
    const double mas = M_PI / 180 / 3.6e6 / (365.25 * 86400);
    ok(!read_text(&e, "F0 10\nPEPOCH 55000\nRAJ 1:0:0\nDECJ 2:0:0\nPMRA 100\nPMDEC 50\nBINARY "
                      "DDK\nPB 50\nA1 30\n"
                      "T0 55000\nECC 0.1\nOM 20\nKIN 60\nKOM 90\n") &&
           fabs(e.xdot / (30 * -100 * mas / tan(M_PI / 3)) - 1) < 1e-9 &&
           fabs(e.omdot_rads / (50 * mas / sin(M_PI / 3)) - 1) < 1e-9,
       "DDK: x and omega change by proper motion");
    ok(!read_text(&e, "F0 10\nBINARY BTX\nFB0 1e-5\nFB2 0\nA1 3\nT0 55000\n") &&
           e.pb_s == 1 / 1e-5 &&
           !read_text(&e, "F0 10\nBINARY DDS\nPB 5\nA1 3\nT0 55000\nSHAPMAX 1\nM2 0.1\n"),
       "BTX, and DDS with a weak Shapiro delay");
}

static void test_wrong(void)
{
    static const struct {
        const char *text, *says;
    } wrong[] = {
        {"PSR x\n", "no F0"},
        {"F0 1\nF1 1e-9\n", "no PEPOCH"},
        {"F0 x\n", "line 1: F0: 'x' is not a number"},
        {"F0\n", "line 1: F0 is missing"},
        {"F0 -1\n", "line 1: F0: -1 is below 1e-06"},
        {"F0 1\nF0 2\n", "line 2: F0: a second one, after line 1"},
        {"F0 1\nF13 2\n", "line 2: F13: more than F12"},
        {"F0 1\nDM 1\nDM 1\n", "line 3: DM: a second one, after line 2"},
        {"F0 1\nRAJ 10:00:00\n", "no DECJ"},
        {"F0 1\nDECJ 10:00:00\n", "no RAJ"},
        {"F0 1\nELAT 10\n", "no ELAT and ELONG"},
        {"F0 1\nDECJ 99:00:00\nRAJ 1:0:0\n", "line 3: "},
        {"F0 1\nPB 1\n", "no BINARY"},
        {"F0 1\nBINARY\n", "line 2: BINARY is missing"},
        {"F0 1\nBINARY DD\nA1 1\nT0 1\n", "no PB"},
        {"F0 1\nBINARY DD\nPB 1\nT0 1\n", "no A1"},
        {"F0 1\nBINARY DD\nPB 1\nA1 1\n", "no T0"},
        {"F0 1\nBINARY DDGR\nPB 1\nA1 1\nT0 1\n", "line 2: BINARY: DDGR is not covered"},
        {"F0 1\nGLF0_1 1e-6\n", "line 2: glitch 1: no GLEP"},
        {"F0 1\nGLEP_33 55000\n", "line 2: GLEP_33: more than 32 glitches"},
        {"F0 1\nGLQ_1 55000\n", "line 2: GLQ_1: glitches of other terms"},
        {"F0 1\nWAVE1 1 1\n", "line 2: WAVE1: waves"},
        {"F0 1\nFB2 1\n", "line 2: FB2: more than FB1"},
        {"F0 1\nQUARK 1\n", "line 2: QUARK: not known"},
        {"F0 1\nUNITS SI\n", "line 2: UNITS: SI is not covered"},
        {"F0 400\nBINARY DD\nPB 1\nA1 1\nT0 1\nSINI 0.99\nM2 1\n",
         "line 6: SINI: moves the phase by"},
        {"F0 400\nBINARY ELL1H\nPB 1\nA1 1\nTASC 1\nH3 1e-4\n", "line 6: H3: moves the phase by"},
        {"F0 17\nBINARY ELL1\nPB 1\nA1 1\nTASC 1\nGAMMA 0.0043\n",
         "line 6: GAMMA: moves the phase by"},
        {"F0 400\nBINARY ELL1\nPB 1\nA1 9\nTASC 1\nEPS1 1e-2\n",
         "line 6: EPS1: moves the phase by"},
    };
    struct psr_ephemeris e;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ok(read_text(&e, wrong[i].text) == PSR_EFORMAT && strstr(err.msg, wrong[i].says) &&
               strstr(err.msg, "a.par: "),
           "%s", err.msg);
    struct psr_ephemeris_local l;
    ok(psr_ephemeris_read(&e, scratch("none"), &err) == PSR_EIO, "%s", err.msg);
    ok(!read_text(&e, "F0 1\nF1 -1e-6\nPEPOCH 55000\n") &&
           psr_ephemeris_at(&l, &e, 56000, &err) == PSR_EINVAL,
       "%s", err.msg);
    ok(!read_text(&e, "F0 1\nBINARY DD\nPB 1e-4\nA1 9\nT0 1\n") &&
           psr_ephemeris_at(&l, &e, 1, &err) == PSR_EINVAL,
       "%s", err.msg);
}

/* Whether a line "NAME value" is refused for its value alone. */
static bool is_out_of_range(const char *name, double value)
{
    struct psr_ephemeris e;
    char text[80], says[80];
    snprintf(text, sizeof text, "%s %.17g\n", name, value);
    snprintf(says, sizeof says, "line 1: %s: ", name);
    *err.msg = '\0';
    return read_text(&e, text) == PSR_EFORMAT && strstr(err.msg, says) &&
           (strstr(err.msg, " is below ") || strstr(err.msg, " is above "));
}

/* The least and the most of each number are read, and the next beyond are not. */
static void test_limits(void)
{
    static const struct {
        const char *name;
        double least, most;
    } number[] = {{"P0", 1e-5, 1e6},      {"P", 1e-5, 1e6},       {"P1", -1, 1},
                  {"PEPOCH", 0, 1e6},     {"ELONG", -360, 360},   {"LAMBDA", -360, 360},
                  {"ELAT", -90, 90},      {"BETA", -90, 90},      {"PMRA", -1e5, 1e5},
                  {"PMDEC", -1e5, 1e5},   {"PMELONG", -1e5, 1e5}, {"PMLAMBDA", -1e5, 1e5},
                  {"PMELAT", -1e5, 1e5},  {"PMBETA", -1e5, 1e5},  {"POSEPOCH", 0, 1e6},
                  {"DM", 0, 1e6},         {"DM1", -1e6, 1e6},     {"DM2", -1e6, 1e6},
                  {"DM3", -1e6, 1e6},     {"DMEPOCH", 0, 1e6},    {"PB", 1e-6, 1e6},
                  {"FB0", 1e-12, 1e3},    {"FB1", -1, 1},         {"PBDOT", -1e6, 1e6},
                  {"A1", 0, 1e6},         {"XDOT", -1e6, 1e6},    {"A1DOT", -1e6, 1e6},
                  {"ECC", 0, 0.9999999},  {"E", 0, 0.9999999},    {"EDOT", -1e6, 1e6},
                  {"OM", -720, 720},      {"OMDOT", -1e6, 1e6},   {"T0", 0, 1e6},
                  {"TASC", 0, 1e6},       {"EPS1", -1, 1},        {"EPS2", -1, 1},
                  {"EPS1DOT", -1e6, 1e6}, {"EPS2DOT", -1e6, 1e6}, {"M2", -1e3, 1e6},
                  {"SINI", -1, 1},        {"SHAPMAX", -100, 100}, {"H3", -1, 1},
                  {"H4", -1, 1},          {"STIG", -1, 1},        {"STIGMA", -1, 1},
                  {"VARSIGMA", -1, 1},    {"GAMMA", -1e3, 1e3},   {"DR", -1, 1},
                  {"DTHETA", -1, 1},      {"DTH", -1, 1},         {"A0", -1e3, 1e3},
                  {"B0", -1e3, 1e3}};
    int wrong = 0;
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
        const char *name = number[i].name;
        const bool fine = !is_out_of_range(name, number[i].least) &&
                          is_out_of_range(name, nextafter(number[i].least, -INFINITY)) &&
                          !is_out_of_range(name, number[i].most) &&
                          is_out_of_range(name, nextafter(number[i].most, INFINITY));
        wrong += !fine;
        if (!fine)
            diag("%s: %s", name, err.msg);
    }
    ok(wrong == 0, "numbers from the least to the most that they may be (%d are not)", wrong);
}

int main(void)
{
    seed = tap_seed();
    scratch_make();
    test_phases();
    test_fold();
    test_isolated();
    test_orbits();
    test_zeros();
    test_tcb();
    test_kopeikin();
    test_wrong();
    test_limits();
    return done_testing();
}
