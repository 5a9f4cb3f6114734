/* presto_zap: interference zapped as zapbirds does, after rednoise, to the byte. */
#include <psrkit/experimental/fourier.h>

#include "tests/support/scratch.h"
#include "tests/support/tap.h"

#include <limits.h>

enum { NBIN = 1500 };
static const double TOBS_S = 2 * NBIN * 0.01;

/* The list of tests/golden/zap.zaplist: topocentric and barycentric lines, narrower than a bin, wide, that overlap,
 * near both ends, beyond the end. */
static struct psr_bird birds[] = {
    {.freq_hz = 20.01, .width_hz = 0.5}, {.freq_hz = 10, .width_hz = 0.01},
    {.freq_hz = 20.2, .width_hz = 0.4},  {.freq_hz = 30.007, .width_hz = 0.1, .barycentric = true},
    {.freq_hz = 2, .width_hz = 0.2},     {.freq_hz = 49.98, .width_hz = 0.2},
    {.freq_hz = 70, .width_hz = 1}};
static const struct psr_zaplist list = {birds, sizeof birds / sizeof *birds};

/* A spectrum that is red at first, of integers over 64. */
static void make_spectrum(float *x)
{
    uint64_t random = 5;
    for (int i = 0; i < 2 * NBIN; i++)
        x[i] = (float)(floor(1e6 * (tap_uniform(&random) - 0.5) / (1 + 0.01 * i)) / 64);
}

static void test_golden(void)
{
    static float x[2 * NBIN];
    const char *srcdir = getenv("srcdir");
    char path[PATH_MAX];
    size_t n = 0, nleft = 9;
    psr_err err = {.msg = ""};
    const struct psr_redden how = {6, 100, 6 * TOBS_S, .presto = true};
    snprintf(path, sizeof path, "%s/tests/golden/zap_red.fft", srcdir ? srcdir : ".");
    char *golden = scratch_read(path, &n);
    make_spectrum(x);
    psr_status st = psr_spectrum_deredden(x, NBIN, &how, &err);
    if (st == PSR_OK)
        st = psr_spectrum_zap(x, NBIN,
                              &(struct psr_zap){.list = &list, .tobs_s = TOBS_S, .baryv = 1e-4},
                              &nleft, &err);
    ok(st == PSR_OK && golden && n == sizeof x && !memcmp(golden, x, n) && nleft == 0,
       "rednoise and zapbirds, to the byte %s", err.msg);
    free(golden);
}

static void test_constant(void)
{
    static float x[2 * NBIN];
    size_t nleft = 9;
    psr_err err;
    struct psr_bird bird = {.freq_hz = 20, .width_hz = 0.2}; /* bins 597 to 602 */
    const struct psr_zaplist one = {&bird, 1};
    const struct psr_zap how = {&one, TOBS_S, 0, true};
    for (int k = 0; k < NBIN; k++)
        x[2 * k] = k < 600 ? 3 : 4;
    psr_status st = psr_spectrum_zap(x, NBIN, &how, &nleft, &err);
    int nchanged = 0;
    for (int k = 0; k < NBIN; k++)
        nchanged += x[2 * k] != (k < 600 ? 3.0F : 4.0F);
    ok(st == PSR_OK && nleft == 0 && nchanged == 6 && x[2 * 597] == x[2 * 602] &&
           x[2 * 600 + 1] == 0,
       "a constant in 6 bins: %d", nchanged);
    near((double)x[2 * 600], sqrt(12.5 / log(2)), 1e-5, "of the level of both sides");
    x[2 * 600] = 7;
    st = psr_spectrum_zap(x, 900, &how, &nleft, &err);
    near((double)x[2 * 600], sqrt(9 / log(2)), 1e-5, "or of the one that is there");
    x[2 * 600] = 7;
    ok(!st &&
           !psr_spectrum_zap(x, 1000, &(struct psr_zap){&one, TOBS_S / 2, 0, true}, &nleft, &err) &&
           nleft == 0 && !psr_spectrum_zap(x, 602, &how, &nleft, &err) && nleft == 0 &&
           !psr_spectrum_zap(x, 500, &(struct psr_zap){&one, TOBS_S / 3, 0, true}, &nleft, &err) &&
           nleft == 1,
       "a line without room on either side stays");
}

int main(void)
{
    scratch_make();
    test_golden();
    test_constant();
    return done_testing();
}
