/* pointing: lists of beams, which way they look, and gains. */
#include <psrkit/experimental/array.h>

#include "base/obs_internal.h"
#include "beam/beam_internal.h"
#include "tests/support/beam_ref.h"
#include "tests/support/scratch.h"

static const char *write_text(const char *text)
{
    const char *path = scratch("x.txt");
    scratch_write_text(path, text);
    return path;
}

/* --- lists ------------------------------------------------------------------------------------ */

static void test_lists(void)
{
    struct psr_pointings a;
    psr_err err = {0};
    ok(!psr_pointings_read(&a,
                           write_text("theta 1.5 -2 # here\n\ntheta 3 4 at 600\nazel 90 45\n"
                                      "radec 05:34:31.97 +22:00:52.1\ntrack 83.5 22\n"
                                      "lattice 2 3 -1 10 0.5 2 at 500\n"),
                           &err),
       "a list of beams %s", err.msg);
    ok(a.n == 11 && a.tracks, "one each, and 2 x 3");
    ok(a.pointing[0].kind == PSR_POINTING_THETA && a.pointing[0].at_mhz == 0 &&
           a.pointing[1].at_mhz == 600,
       "theta");
    ok(a.pointing[2].kind == PSR_POINTING_AZEL && a.pointing[2].y == 45, "azimuth and elevation");
    ok(fabs(a.pointing[3].x - 83.63320833) < 1e-7 && !a.pointing[3].track && a.pointing[4].track,
       "RA and Dec");
    ok(a.pointing[8].x == -0.5 + 0 && a.pointing[7].x == -1 && a.pointing[7].y == 14 &&
           a.pointing[10].y == 14,
       "a lattice, east-west fastest");
    psr_pointings_clear(&a);
}

static void not_a_list(const char *text, const char *part)
{
    struct psr_pointings a;
    psr_err err = {0};
    ok(psr_pointings_read(&a, write_text(text), &err) == PSR_EFORMAT && strstr(err.msg, part) &&
           !a.pointing,
       "refused: %s", err.msg);
}

static void test_bad_lists(void)
{
    not_a_list("# none\n", "no beams");
    not_a_list("theta 1\n", "theta' is missing");
    not_a_list("theta 1 nan\n", "not a number");
    not_a_list("theta 1 2 near 600\n", "'at MHZ'");
    not_a_list("theta 1 2 at\n", "frequency (MHz) is missing");
    not_a_list("theta 1 2 at 600 MHz\n", "a word too many");
    not_a_list("azel 0 -1\n", "elevation");
    not_a_list("radec 83\n", "wants a right ascension");
    not_a_list("radec 83 100\n", "declination");
    not_a_list("lattice 2000 2000 0 0 1 1\n", "more than 1048576 beams");
    not_a_list("beam 1 2\n", "'beam' is none of");
}

/* --- directions ------------------------------------------------------------------------------- */

static struct psr_array chord(size_t m, size_t n, uint64_t *seed)
{
    struct psr_array a = ref_array(m, n, m * n, 0, seed);
    a.has_site = true;
    a.lon_deg = -119.62;
    a.lat_deg = 49.32;
    a.height_m = 545;
    return a;
}

static const double degree = M_PI / 180;

/* Hour angle and declination to direction cosines by the textbook, not by the library. */
static void cosines_of(double ha_deg, double dec_deg, double lat_deg, double *north, double *east)
{
    double h = ha_deg * degree, d = dec_deg * degree, l = lat_deg * degree;
    *north = sin(d) * cos(l) - cos(d) * cos(h) * sin(l);
    *east = -cos(d) * sin(h);
}

/* What a wave from that direction leaves in one sample: the path of a dish nearer to the source is
 * shorter, which PHASE_SIGN says the sign of. */
static void receive(const struct psr_array *a, double freq_mhz, double north, double east,
                    int phase_sign, uint8_t *in)
{
    double lambda_m = 299.792458 / freq_mhz;
    for (size_t d = 0; d < a->ndish; d++) {
        double x_north = a->ns_m * (double)((size_t)a->cell[d] / a->n);
        double x_east = a->ew_m * (double)((size_t)a->cell[d] % a->n);
        double turns = phase_sign * (x_north * north + x_east * east) / lambda_m;
        in[d] = ref_byte((int)rint(7 * cos(2 * M_PI * turns)), (int)rint(7 * sin(2 * M_PI * turns)),
                         (struct psr_nibbles){false, false});
        in[a->ndish + d] = in[d];
    }
}

/* Beams at a source and at its mirror images, of a source at hour angle and declination at the noon
 * that J2000 began with. */
static void check_direction(struct psr_array *a, double ha_deg, double dec_deg, int phase_sign)
{
    const double freq_mhz = 600;
    const struct psr_mjd noon = {51544, 0.5};
    const double sidereal_deg = 18.697374558 * 15; /* at Greenwich */
    double north, east, ra_deg = sidereal_deg + a->lon_deg - ha_deg;
    ra_deg -= 360 * floor(ra_deg / 360);
    struct psr_pointing pointing = {.kind = PSR_POINTING_RADEC, .x = ra_deg, .y = dec_deg};
    struct psr_pointings pointings = {&pointing, 1, false};
    struct psr_pointing_frame frame = {a, 1, &freq_mhz, phase_sign};
    double ns[4], ew[4];
    psr_err err = {0};
    uint8_t *in = tap_take(2 * a->ndish, 1);
    cosines_of(ha_deg, dec_deg, a->lat_deg, &north, &east);
    receive(a, freq_mhz, north, east, phase_sign, in);
    ok(!psr_pointings_theta(&pointings, &frame, noon, noon, ns, ew, &err), "pointed %s", err.msg);
    for (int i = 1; i < 4; i++) {
        ns[i] = i & 1 ? -ns[0] : ns[0];
        ew[i] = i & 2 ? -ew[0] : ew[0];
    }
    size_t tds = 1, nrow;
    struct psr_beam_desc d = {.size = sizeof d,
                              .array = a,
                              .nfreq = 1,
                              .tds = &tds,
                              .pattern = PSR_BEAM_POINTS,
                              .nbeam = 4,
                              .theta_ns = ns,
                              .theta_ew = ew,
                              .backend = "cpu"};
    psr_beam *p = NULL;
    float out[4] = {0};
    ok(!psr_beam_create(&p, &d, &err) && !psr_beam_execute(p, in, 1, out, 1, &nrow, &err),
       "formed %s", err.msg);
    double full = 2 * 49 * (double)(a->ndish * a->ndish);
    ok(out[0] > 0.95 * full, "hour angle %g, declination %g, sign %d: the beam there has %.3f",
       ha_deg, dec_deg, phase_sign, (double)out[0] / full);
    for (int i = 1; i < 4; i++)
        if (fabs(ns[i] - ns[0]) + fabs(ew[i] - ew[0]) > 1)
            ok(out[i] < 0.5 * full, "mirrored %d: %.3f", i, (double)out[i] / full);
    double az_deg, el_deg, ra, dec;
    ok(psr_pointing_azel(&frame, freq_mhz, ns[0], ew[0], &az_deg, &el_deg), "back to the sky");
    near(el_deg, 90 - acos(sqrt(1 - north * north - east * east)) / degree, 0.02, "elevation");
    ok(!psr_pointing_to_sky(a, noon, az_deg, el_deg, &ra, &dec, &err) &&
           fabs(remainder(ra - ra_deg, 360)) < 1e-6 && fabs(dec - dec_deg) < 1e-6,
       "and to right ascension and declination");
    psr_beam_destroy(p);
    free(in);
}

static void test_directions(uint64_t *seed)
{
    struct psr_array a = chord(12, 10, seed);
    for (int sign = -1; sign <= 1; sign += 2) {
        check_direction(&a, 0, a.lat_deg + 1.5, sign); /* on the meridian, north of the zenith */
        check_direction(&a, -2.5, a.lat_deg, sign);    /* east */
        check_direction(&a, 2, a.lat_deg - 2, sign);   /* south-west */
    }
    double freq_mhz = 600, ns, ew;
    struct psr_pointing pointing = {.kind = PSR_POINTING_AZEL, .x = 0, .y = 88};
    struct psr_pointings pointings = {&pointing, 1, false};
    struct psr_pointing_frame frame = {&a, 1, &freq_mhz, -1};
    struct psr_mjd never = {0, 0};
    ok(!psr_pointings_theta(&pointings, &frame, never, never, &ns, &ew, NULL) && ns > 0 &&
           fabs(ew) < 1e-12,
       "north of the zenith is +theta");
    pointing.x = 90;
    ok(!psr_pointings_theta(&pointings, &frame, never, never, &ns, &ew, NULL) && ew > 0 &&
           fabs(ns) < 1e-12,
       "east of it is +theta'");
    psr_array_clear(&a);
}

static void test_frequencies(uint64_t *seed)
{
    struct psr_array a = chord(6, 7, seed);
    double freq_mhz[3] = {400, 600, 800}, ns[6], ew[6];
    struct psr_pointing pointing[2] = {{.x = 1, .y = -2}, {.x = 1, .y = -2, .at_mhz = 600}};
    struct psr_pointings pointings = {pointing, 2, false};
    struct psr_pointing_frame frame = {&a, 3, freq_mhz, -1};
    struct psr_mjd never = {0, 0};
    ok(!psr_pointings_theta(&pointings, &frame, never, never, ns, ew, NULL), "three channels");
    ok(ns[0] == 1 && ns[2] == 1 && ns[4] == 1 && ew[4] == -2, "theta alone is the same in all");
    ok(fabs(ns[1] - 2. / 3) < 1e-15 && fabs(ns[3] - 1) < 1e-15 && fabs(ew[5] + 8. / 3) < 1e-15,
       "at a frequency it moves with the channel");
    psr_array_clear(&a);
}

static void not_pointed(struct psr_pointing pointing, struct psr_array *a, long day,
                        const char *part)
{
    double freq_mhz = 600, ns, ew;
    struct psr_pointings pointings = {&pointing, 1, false};
    struct psr_pointing_frame frame = {a, 1, &freq_mhz, -1};
    struct psr_mjd when = {day, 0.5};
    psr_err err = {0};
    ok(psr_pointings_theta(&pointings, &frame, when, when, &ns, &ew, &err) == PSR_EINVAL &&
           strstr(err.msg, part),
       "refused: %s", err.msg);
}

static void test_not_in_field(uint64_t *seed)
{
    struct psr_array a = chord(6, 7, seed);
    not_pointed((struct psr_pointing){.x = 103, .y = 0}, &a, 60000, "outside the sky");
    not_pointed((struct psr_pointing){.x = 80, .y = 80}, &a, 60000, "outside the sky");
    not_pointed((struct psr_pointing){.kind = PSR_POINTING_RADEC, .x = 10, .y = -80}, &a, 60000,
                "below the horizon");
    not_pointed((struct psr_pointing){.kind = PSR_POINTING_RADEC, .x = 10, .y = 50}, &a, 0,
                "no date of UTC");
    a.has_site = false;
    not_pointed((struct psr_pointing){.kind = PSR_POINTING_RADEC, .x = 10, .y = 50}, &a, 60000,
                "no site");
    psr_array_clear(&a);
}

static void test_tracking(uint64_t *seed)
{
    struct psr_array a = chord(6, 7, seed);
    double freq_mhz = 600, ns[2], ew[2];
    struct psr_pointing pointing[2] = {
        {.kind = PSR_POINTING_RADEC, .x = 160, .y = 50},
        {.kind = PSR_POINTING_RADEC, .track = true, .x = 160, .y = 50}};
    struct psr_pointings pointings = {pointing, 2, true};
    struct psr_pointing_frame frame = {&a, 1, &freq_mhz, -1};
    struct psr_mjd noon = {51544, 0.5};
    ok(!psr_pointings_theta(&pointings, &frame, noon, noon, ns, ew, NULL) && ns[0] == ns[1] &&
           ew[0] == ew[1],
       "at the start both are at one place");
    ok(!psr_pointings_theta(&pointings, &frame, noon, psr_mjd_add(noon, 600), ns, ew, NULL) &&
           ew[1] < ew[0],
       "ten minutes later the one that tracks is further west");
    psr_array_clear(&a);
}

static void test_factors(void)
{
    double ns[2][6] = {{1, 1, 1, 2, 2, 2}, {3, 3, 3, 5, 5, 5}};
    double ew[2][6] = {{7, 8, 9, 7, 8, 9}, {1, 2, 3, 1, 2, 3}};
    size_t n_ns, n_ew;
    psr_pointings_factor(ns[0], ew[0], 2, 6, &n_ns, &n_ew);
    ok(n_ns == 2 && n_ew == 3, "2 x 3 directions are a product");
    psr_pointings_factor(ew[0], ns[0], 2, 6, &n_ns, &n_ew);
    ok(n_ns == 0 && n_ew == 0, "in another order they are none");
    ew[1][5] = 4;
    psr_pointings_factor(ns[0], ew[0], 2, 6, &n_ns, &n_ew);
    ok(n_ns == 0, "nor where one channel differs");
    psr_pointings_factor(ns[0], ew[0], 1, 1, &n_ns, &n_ew);
    ok(n_ns == 1 && n_ew == 1, "one beam is a product of one and one");
    psr_pointings_factor(ns[0], ew[0], 1, 3, &n_ns, &n_ew);
    ok(n_ns == 1 && n_ew == 3, "a row is a product");
}

/* --- gains ------------------------------------------------------------------------------------ */

static void test_gains(void)
{
    float *w = NULL;
    psr_err err = {0};
    ok(!psr_gains_read(write_text("# gains\n* * 1 0.5 0\n1 0 2 3 -4\n"), 2, 3, &w, &err),
       "gains as text %s", err.msg);
    if (w)
        ok(w[0] == 1 && w[1] == 0 && w[2] == 0.5f && w[2 * (3 + 1)] == 0.5f &&
               w[2 * (6 + 2)] == 3 && w[2 * (6 + 2) + 1] == -4 && w[2 * (9 + 2)] == 1,
           "all dishes 1 of all channels, one dish of one, and 1 elsewhere");
    free(w);
}

/* A NumPy file of n complex numbers k + i k/2. */
static const char *write_npy(const char *header, size_t n, bool wide)
{
    const char *path = scratch("x.npy");
    FILE *f = fopen(path, "wb");
    size_t length = strlen(header);
    unsigned char start[10] = {
        0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)length, (unsigned char)(length >> 8)};
    bool fine = f && fwrite(start, 1, 10, f) == 10 && fwrite(header, 1, length, f) == length;
    for (size_t i = 0; i < 2 * n && fine; i++) {
        double x = i % 2 ? (double)(i / 2) / 2 : (double)(i / 2);
        float y = (float)x;
        fine = wide ? fwrite(&x, sizeof x, 1, f) == 1 : fwrite(&y, sizeof y, 1, f) == 1;
    }
    if (!fine || fclose(f) != 0) {
        printf("Bail out! %s\n", path);
        exit(EXIT_FAILURE);
    }
    return path;
}

static void not_gains(const char *path, const char *part)
{
    float *w = NULL;
    psr_err err = {0};
    ok(psr_gains_read(path, 2, 3, &w, &err) == PSR_EFORMAT && strstr(err.msg, part) && !w,
       "refused: %s", err.msg);
}

static void test_npy(void)
{
    static const char single[] = "{'descr': '<c8', 'fortran_order': False, 'shape': (2, 2, 3), }\n";
    static const char wide[] = "{'descr': '<c16', 'fortran_order': False, 'shape': (2, 2, 3), }\n";
    for (int i = 0; i < 2; i++) {
        float *w = NULL;
        psr_err err = {0};
        ok(!psr_gains_read(write_npy(i ? wide : single, 12, i), 2, 3, &w, &err),
           "gains as NumPy's %s", err.msg);
        ok(w && w[2 * 7] == 7 && w[2 * 7 + 1] == 3.5f, "in C's order");
        free(w);
    }
    char padded[1200]; /* as NumPy aligns the data, but further */
    snprintf(padded, sizeof padded, "%.*s%*s\n", (int)sizeof single - 3, single, 1000, "");
    float *w = NULL;
    psr_err err = {0};
    ok(!psr_gains_read(write_npy(padded, 12, false), 2, 3, &w, &err) && w && w[2 * 11] == 11 &&
           w[2 * 11 + 1] == 5.5f,
       "after a header of a thousand bytes %s", err.msg);
    free(w);
    not_gains(write_npy(single, 11, false), "ends before its 12");
    not_gains(write_npy(single, 13, false), "goes on after its 12");
    not_gains(
        write_npy("{'descr': '<c8', 'fortran_order': False, 'shape': (3, 2, 2), }\n", 12, false),
        "must be (2, 2, 3)");
    not_gains(
        write_npy("{'descr': '<c8', 'fortran_order': True, 'shape': (2, 2, 3), }\n", 12, false),
        "Fortran");
    not_gains(
        write_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2, 3), }\n", 12, false),
        "must be complex");
    not_gains(write_npy("{}", 0, false), "must be complex");
}

static void test_bad_gains(void)
{
    float *w;
    psr_err err = {0};
    ok(psr_gains_read(scratch("none"), 2, 3, &w, &err) == PSR_EIO, "%s", err.msg);
    not_gains(write_text("2 0 0 1 0\n"), "channel: 2 is above 1");
    not_gains(write_text("0 2 0 1 0\n"), "polarisation: 2 is above 1");
    not_gains(write_text("0 0 3 1 0\n"), "dish: 3 is above 2");
    not_gains(write_text("0 0 0 1\n"), "imaginary part is missing");
    not_gains(write_text("0 0 0 nan 0\n"), "not a number");
    not_gains(write_text("0 0 0 1 0 0\n"), "a word too many");
    static const char single[] = "{'descr': '<c8', 'fortran_order': False, 'shape': (2, 2, 3), }\n";
    const char *path = write_npy(single, 12, false);
    FILE *f = fopen(path, "r+b");
    float bad = NAN;
    ok(f && fseek(f, 10 + (long)strlen(single) + 8 * 8, SEEK_SET) == 0 &&
           fwrite(&bad, sizeof bad, 1, f) == 1 && fclose(f) == 0,
       "a gain that is no number");
    not_gains(path, "channel 1, polarisation 0, dish 2");
}

int main(void)
{
    uint64_t seed = tap_seed();
    scratch_make();
    test_lists();
    test_bad_lists();
    test_directions(&seed);
    test_frequencies(&seed);
    test_not_in_field(&seed);
    test_tracking(&seed);
    test_factors();
    test_gains();
    test_npy();
    test_bad_gains();
    return done_testing();
}
