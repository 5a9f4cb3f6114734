/* barycentre: times against astropy's, sites, positions, and PRESTO's epochs. */

#include "astro/barycentre.h"
#include "base/obs_internal.h"
#include "tests/support/tap.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

struct line {
    char site[64];
    double ra_deg, dec_deg, delay_s, shapiro_s, voverc;
    struct psr_mjd utc;
};

static void init_bary(struct psr_bary *b, const char *where, double ra_deg, double dec_deg)
{
    struct psr_site site;
    psr_err err;
    if (!psr_site_find(where, &site) && psr_site_parse(where, &site, &err))
        ok(false, "%s", err.msg);
    psr_bary_init(b, &site, ra_deg, dec_deg);
}

/* How far a line of the table is from the truth, in seconds and in v/c. */
static void compare_line(const struct line *l, double *off_s, double *off_v)
{
    struct psr_bary b;
    struct psr_mjd tdb;
    psr_err err;
    double v = NAN;
    *off_s = *off_v = INFINITY;
    init_bary(&b, l->site, l->ra_deg, l->dec_deg);
    if (psr_bary_time(&b, l->utc, &tdb, &err) || psr_bary_velocity(&b, l->utc, &v, &err)) {
        diag("%s", err.msg);
        return;
    }
    *off_s = psr_mjd_diff_s(l->utc, tdb) - (l->delay_s + l->shapiro_s);
    *off_v = v - l->voverc;
}

static void test_table(void)
{
    const char *srcdir = getenv("srcdir");
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/tests/golden/bary_table.txt", srcdir ? srcdir : ".");
    FILE *f = fopen(path, "r");
    struct line l;
    int n = 0;
    double worst_s = 0, worst_v = 0, shapiro_s = 0;
    while (f && fscanf(f, "%63s %lf %lf %ld %lf %lf %lf %lf", l.site, &l.ra_deg, &l.dec_deg,
                       &l.utc.day, &l.utc.frac, &l.delay_s, &l.shapiro_s, &l.voverc) == 8) {
        double off_s, off_v;
        compare_line(&l, &off_s, &off_v);
        worst_s = fmax(worst_s, fabs(off_s));
        worst_v = fmax(worst_v, fabs(off_v));
        shapiro_s = fmax(shapiro_s, fabs(l.shapiro_s));
        n++;
    }
    if (f)
        fclose(f);
    ok(n == 100, "the table has 100 lines, read %d", n);
    ok(worst_s < 1e-6, "times agree with astropy's within 1 us");
    ok(worst_v < 2e-10, "velocities agree with astropy's within 2e-10");
    diag("worst: %.3g us, v/c %.3g; largest Shapiro delay %.3g us", worst_s * 1e6, worst_v,
         shapiro_s * 1e6);
}

/* Of an observation with the GBT, prepsubband said this. */
static void test_presto(void)
{
    const double epoch = 56789.0123456789, highest_mhz = 1500, length_s = 7.602176;
    static const struct {
        double dm, frac;
    } want[] = {{40, .012082973269571}, {47, .012082823879609}, {54, .012082674482372}};
    struct psr_mjd utc = {56789, epoch - 56789}, tdb;
    struct psr_bary b;
    psr_err err;
    double ra_deg = 0, dec_deg = 0, v = NAN;
    if (psr_position_parse("07:37:51.2480,-30:39:40.7100", &ra_deg, &dec_deg, &err))
        diag("%s", err.msg);
    init_bary(&b, "gbt", ra_deg, dec_deg);
    ok(!psr_bary_time(&b, utc, &tdb, &err) && !psr_bary_mean_velocity(&b, utc, length_s, &v, &err),
       "a date and a length are taken");
    near(v, 5.999928e-5, 0.6e-11, "PRESTO's mean velocity");
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        double f = highest_mhz * (1 + v);
        struct psr_mjd at = psr_mjd_add(tdb, -want[i].dm / (0.000241 * f * f));
        near(at.frac, want[i].frac, 1e-11, "PRESTO's epoch within 1e-11 d");
    }
}

/* The drift is the difference of two times, but for their rounding; no leap second falls in these
 * years. */
static void test_drift(uint64_t *random)
{
    double worst_s = 0;
    for (int k = 0; k < 20; k++) {
        struct psr_mjd utc = {tap_between(random, 57800, 60000), tap_uniform(random)}, first, later;
        double t_s = tap_uniform(random) * 40000;
        struct psr_bary b;
        struct psr_bary_clock clock;
        psr_err err;
        init_bary(&b, "Parkes", tap_uniform(random) * 360, tap_uniform(random) * 180 - 90);
        if (psr_bary_clock_init(&clock, &b, utc, &err) || psr_bary_time(&b, utc, &first, &err) ||
            psr_bary_time(&b, psr_mjd_add(utc, t_s), &later, &err)) {
            ok(false, "%s", err.msg);
            return;
        }
        double want_s = psr_mjd_diff_s(first, later) - t_s;
        double got_s = psr_bary_drift_s(&clock, t_s);
        worst_s = fmax(worst_s, fabs(got_s - want_s));
    }
    ok(worst_s < 3e-6, "a clock drifts as times do, within 3 us: %.3g us", worst_s * 1e6);
}

/* UTC was stopped for a second at the end of 2016; the telescope's samples were not. */
static void test_leap_second(void)
{
    struct psr_bary b;
    struct psr_bary_clock clock;
    psr_err err;
    init_bary(&b, "Arecibo", 80, 20);
    ok(!psr_bary_clock_init(&clock, &b, (struct psr_mjd){57753, 0.999}, &err), "a clock starts");
    double before = psr_bary_drift_s(&clock, 80), after = psr_bary_drift_s(&clock, 100);
    ok(fabs(after - before) < 0.01, "no second is gained in a leap second, but %g s",
       after - before);
}

static void test_sites(void)
{
    struct psr_site site, other;
    psr_err err;
    ok(psr_site_find("gbt", &site) && site.xyz_m[0] == 882589.289, "names in any case");
    ok(psr_site_find("kat-7", &site) && psr_site_find("K7", &other) &&
           !memcmp(&site, &other, sizeof site),
       "KAT-7 under both its names");
    ok(!psr_site_find_as_presto("KAT-7", &site) && site.xyz_m[0] == 0 &&
           psr_site_find_as_presto("k7", &site) && site.xyz_m[0] != 0 &&
           psr_site_find_as_presto("meerkat", &site) &&
           !psr_site_find_as_presto("Jodrell Bank", &site),
       "PRESTO knows fewer names");
    ok(psr_site_find("Geocenter", &site) && site.xyz_m[2] == 0, "the geocentre is a site");
    ok(!psr_site_find("Ooty", &site) && site.xyz_m[0] == 0, "an unknown site is the geocentre");
    ok(!psr_site_find("", &site) && !psr_site_find("GB", &site) && !psr_site_find("GBTx", &site) &&
           !psr_site_find("VLA|Parkes", &site),
       "parts of names are no names");
    ok(!psr_site_parse("-79.839835,38.433121,823", &site, &err) && psr_site_find("GBT", &other),
       "a site is parsed");
    for (int k = 0; k < 3; k++)
        near(site.xyz_m[k], other.xyz_m[k], 100, "the GBT is where its coordinates say");
    static const char *const bad[] = {"",        "1,2",     "1,2,3,4", "x,2,3", "1,91,3",
                                      "361,2,3", "1,2,1e9", "1,2,nan", "1 2 3", "1,,3"};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        ok(psr_site_parse(bad[k], &site, &err) == PSR_EINVAL, "site '%s': %s", bad[k], err.msg);
}

static void test_positions(void)
{
    static const struct {
        const char *text;
        double ra_deg, dec_deg;
    } good[] = {
        {"05:34:31.97,+22:00:52.1", 83.633208333333333, 22.014472222222222},
        {"83.6332,22.0145", 83.6332, 22.0145},
        {"0:0:0,-00:30:00", 0, -0.5},
        {"23:59:60,-90", 360, -90},
        {"12:30:00,-45:00:36.5", 187.5, -45.010138888888889},
    };
    static const char *const bad[] = {"",         "83.6",       "83.6,91",   "83.6,-91:0:0",
                                      "25:0:0,0", "-1,0",       "1:2,3:4",   "a,b",
                                      "1,2,3",    "12:61:00,0", "1:2:3:4,5", "361,0"};
    psr_err err;
    double ra = 0, dec = 0;
    for (size_t k = 0; k < sizeof good / sizeof *good; k++) {
        ok(!psr_position_parse(good[k].text, &ra, &dec, &err), "'%s' is a position", good[k].text);
        near(ra, good[k].ra_deg, 1e-12, "right ascension");
        near(dec, good[k].dec_deg, 1e-12, "declination");
    }
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        ok(psr_position_parse(bad[k], &ra, &dec, &err) == PSR_EINVAL, "'%s': %s", bad[k], err.msg);
}

static void test_refusals(void)
{
    struct psr_bary b;
    struct psr_bary_clock clock;
    struct psr_mjd tdb;
    double v;
    psr_err err;
    init_bary(&b, "Geocenter", 0, 0);
    ok(psr_bary_time(&b, (struct psr_mjd){0, 0}, &tdb, &err) == PSR_EINVAL, "%s", err.msg);
    ok(psr_bary_time(&b, (struct psr_mjd){36933, 0.9}, &tdb, &err) == PSR_EINVAL, "%s", err.msg);
    ok(psr_bary_time(&b, (struct psr_mjd){50000, NAN}, &tdb, &err) == PSR_EINVAL, "%s", err.msg);
    ok(psr_bary_velocity(&b, (struct psr_mjd){-5, 0}, &v, &err) == PSR_EINVAL, "%s", err.msg);
    ok(psr_bary_clock_init(&clock, &b, (struct psr_mjd){5, 0}, &err) == PSR_EINVAL, "%s", err.msg);
    ok(psr_bary_mean_velocity(&b, (struct psr_mjd){55555, 0}, -1, &v, &err) == PSR_EINVAL, "%s",
       err.msg);
    ok(!psr_bary_time(&b, (struct psr_mjd){90000, 0}, &tdb, &err), "the future is no failure");
}

int main(void)
{
    uint64_t random = tap_seed();
    test_table();
    test_presto();
    test_drift(&random);
    test_leap_second();
    test_sites();
    test_positions();
    test_refusals();
    return done_testing();
}
