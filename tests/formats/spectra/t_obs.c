/* obs: frequencies, dates, telescopes, and the check that every reader relies on. */
#include <psrkit/obs.h>

#include "base/obs_internal.h"
#include "tests/support/tap.h"
#include <string.h>

static struct psr_obs make_band(size_t nchan, double fch1, double foff)
{
    struct psr_obs obs;
    psr_obs_init(&obs);
    obs.nchan = nchan;
    obs.nif = 1;
    obs.nbit = 8;
    obs.tsamp_s = 64e-6;
    obs.fch1_mhz = fch1;
    obs.foff_mhz = foff;
    return obs;
}

/* PRESTO counts up from lo_freq = fch1 - (nchan - 1) |foff|; doubles must agree to the last bit. */
static void test_frequencies(void)
{
    struct psr_obs down = make_band(1000, 1549.963, -0.0732421875 / 3);
    double df = 0.0732421875 / 3, lo = 1549.963 - 999 * df;
    bool same = true;
    for (size_t c = 0; c < 1000; c++)
        same &= psr_obs_freq_mhz(&down, c) == lo + (double)(999 - c) * df;
    ok(same, "a descending band has PRESTO's frequencies, bit for bit");
    ok(psr_obs_lowest_mhz(&down) == lo && psr_obs_highest_mhz(&down) == lo + 999 * df,
       "its ends are its first and last channels");
    struct psr_obs up = make_band(32, 1376, 4);
    ok(psr_obs_freq_mhz(&up, 0) == 1376 && psr_obs_freq_mhz(&up, 31) == 1500 &&
           psr_obs_lowest_mhz(&up) == 1376 && psr_obs_highest_mhz(&up) == 1500,
       "an ascending band goes up from fch1");
    struct psr_obs one = make_band(1, 820, 0);
    ok(psr_obs_freq_mhz(&one, 0) == 820 && psr_obs_lowest_mhz(&one) == 820 &&
           psr_obs_highest_mhz(&one) == 820 && psr_obs_check(&one, "x", NULL) == PSR_OK,
       "one channel needs no foff");
    double table[3] = {1400, 1200, 1300};
    struct psr_obs listed = make_band(3, 1400, -100);
    listed.freq_mhz = table;
    ok(psr_obs_freq_mhz(&listed, 1) == 1200 && psr_obs_lowest_mhz(&listed) == 1200 &&
           psr_obs_highest_mhz(&listed) == 1400 && psr_obs_check(&listed, "x", NULL) == PSR_OK,
       "a table of frequencies is used as it is");
}

static void test_copy(void)
{
    psr_err err;
    double *table = malloc(2 * sizeof *table);
    struct psr_obs a = make_band(2, 1400, -1), b;
    if (!table)
        abort();
    table[0] = 1400;
    table[1] = 1399;
    a.freq_mhz = table;
    ok(psr_obs_copy(&b, &a, &err) == PSR_OK && b.freq_mhz != table && b.freq_mhz[1] == 1399,
       "a copy has its own frequencies");
    psr_obs_clear(&a);
    ok(!a.freq_mhz && a.nchan == 0 && a.nsamp == -1 && !strcmp(a.source, "Unknown") &&
           b.freq_mhz[0] == 1400,
       "clearing the one leaves the other");
    psr_obs_clear(&b);
    psr_obs_clear(&b);
}

static void refuse(const struct psr_obs *obs, const char *words)
{
    psr_err err = {.msg = ""};
    bool refused = psr_obs_check(obs, "bad.fil", &err) == PSR_EFORMAT;
    if (!ok(refused && strstr(err.msg, "bad.fil: ") == err.msg && strstr(err.msg, words),
            "refused: %s", words))
        diag("said: %s", err.msg);
}

static void test_check(void)
{
    struct psr_obs good = make_band(64, 1400, -1), bad = good;
    ok(psr_obs_check(&good, "x", NULL) == PSR_OK, "a plain observation passes");
    bad.nchan = 0;
    refuse(&bad, "nchans = 0, must be 1 to 1048576");
    bad.nchan = (1 << 20) + 1;
    refuse(&bad, "nchans = 1048577");
    bad = good, bad.nif = 17;
    refuse(&bad, "nifs = 17, must be 1 to 16");
    bad = good, bad.nbit = 12;
    refuse(&bad, "nbits = 12 of unsigned samples, must be 1, 2, 4, 8, 16 or 32");
    bad = good, bad.kind = PSR_INT, bad.nbit = 4;
    refuse(&bad, "nbits = 4 of signed samples, must be 8 or 16");
    bad = good, bad.kind = PSR_FLOAT;
    refuse(&bad, "nbits = 8 of floating-point samples, must be 32");
    bad = good, bad.kind = (enum psr_kind)7;
    refuse(&bad, "kind of samples = 7");
    bad = good, bad.tsamp_s = 0;
    refuse(&bad, "tsamp = 0 s");
    bad.tsamp_s = 1e-300;
    refuse(&bad, "tsamp = 1e-300 s, must be at least 1e-15");
    bad.tsamp_s = NAN;
    refuse(&bad, "tsamp = nan s");
    bad.tsamp_s = 1e6;
    refuse(&bad, "tsamp = 1000000 s, must be at least 1e-15 and below 1e+06");
    bad = good, bad.fch1_mhz = -5;
    refuse(&bad, "fch1 = -5 MHz, must be above 0");
    bad.fch1_mhz = INFINITY;
    refuse(&bad, "fch1 = inf MHz");
    bad = good, bad.foff_mhz = 0;
    refuse(&bad, "foff = 0 MHz, must tell 64 channels apart");
    bad.foff_mhz = NAN;
    refuse(&bad, "foff = nan MHz is not a number");
    bad.foff_mhz = -30;
    refuse(&bad, "the band of 64 channels ends at -490 MHz, must be above 0");
    double table[64];
    for (int c = 0; c < 64; c++)
        table[c] = 1400 + c;
    bad = good, bad.freq_mhz = table;
    table[9] = table[50];
    refuse(&bad, "two channels at 1450 MHz, all must differ");
    table[9] = 0;
    refuse(&bad, "frequency of channel 9 = 0 MHz, must be above 0");
}

static void test_dates(void)
{
    struct psr_mjd d = {.day = 56789, .frac = 0.75}, e;
    e = psr_mjd_add(d, 43200);
    ok(e.day == 56790 && e.frac == 0.25, "half a day later");
    e = psr_mjd_add(d, -86400);
    ok(e.day == 56788 && e.frac == 0.75, "a day earlier");
    e = psr_mjd_add((struct psr_mjd){.day = 5, .frac = 0}, -1e-15);
    ok(e.frac >= 0 && e.frac < 1 && psr_mjd_diff_s((struct psr_mjd){.day = 5}, e) <= 0,
       "a fraction stays below 1");
    uint64_t random = tap_seed();
    double worst = 0;
    for (int i = 0; i < 1000; i++) {
        struct psr_mjd a = {.day = 40000 + (long)tap_between(&random, 0, 30000),
                            .frac = tap_uniform(&random)};
        double s = (tap_uniform(&random) - 0.5) * 2e6;
        worst = fmax(worst, fabs(psr_mjd_diff_s(a, psr_mjd_add(a, s)) - s));
    }
    near(worst, 0, 1e-9, "the difference undoes the sum to a nanosecond");
}

static void test_telescopes(void)
{
    ok(!strcmp(psr_machine_name(0), "FAKE") && !strcmp(psr_machine_name(65), "KAT-DC2") &&
           !strcmp(psr_machine_name(10), "Unknown") && !strcmp(psr_machine_name(-1), "Unknown"),
       "instruments by SIGPROC's numbers");
    ok(!strcmp(psr_telescope_name(4), "Parkes") && !strcmp(psr_telescope_name(64), "MeerKAT") &&
           !strcmp(psr_telescope_name(0), "Fake") && !strcmp(psr_telescope_name(77), "Unknown") &&
           !strcmp(psr_telescope_name(-1), "Unknown"),
       "names of SIGPROC's numbers");
    bool back = true;
    for (int id = -1; id < 100; id++)
        if (strcmp(psr_telescope_name(id), "Unknown") != 0)
            back &= psr_telescope_id(psr_telescope_name(id)) == id;
    ok(back && psr_telescope_id("Unknown") == -1 && psr_telescope_id("") == -1,
       "each name leads back to its number");
    /* 516 is what prepsubband writes for GBT at 1438 MHz. */
    near(round(psr_telescope_beam_arcsec("GBT", 1438)), 516, 0, "the beam of GBT at 1438 MHz");
    near(psr_telescope_beam_arcsec("Unknown", 600), 3600, 0, "no dish: a degree");
    /* The diameters that prepsubband takes, in metres; a degree where it knows none. */
    static const struct {
        int id;
        double dish_m;
    } known[] = {{1, 200}, {3, 100}, {4, 64}, {5, 76}, {6, 100}, {8, 100}, {20, 20}, {21, 350}};
    int wrong = 0;
    for (int id = 0; id < 100; id++) {
        double want = 3600;
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            if (known[k].id == id)
                want = 1.2 * 299792458 / 1.4e9 / known[k].dish_m * 3600 * 180 / M_PI;
        wrong += !(fabs(psr_telescope_beam_arcsec(psr_telescope_name(id), 1400) / want - 1) < 1e-9);
    }
    ok(wrong == 0, "the beams of all dishes (%d wrong)", wrong);
}

int main(void)
{
    test_frequencies();
    test_copy();
    test_check();
    test_dates();
    test_telescopes();
    return done_testing();
}
