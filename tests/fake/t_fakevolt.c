/* fakevolt: noise that is noise, and sources where, when and as strong as they were asked for. */
#include <psrkit/ddplan.h>
#include <psrkit/fake.h>

#include "beam/beam_internal.h"
#include "formats/dada/dada_internal.h"
#include "tests/support/beam_ref.h"

enum { NCHAN = 4, NSAMP = 4000 };

struct sky {
    struct psr_array a;
    struct psr_dada h;
    struct psr_fakevolt_source s;
    struct psr_fakevolt_desc d;
    uint8_t *in;
};

static void make(struct sky *k, uint64_t *seed)
{
    memset(k, 0, sizeof *k);
    k->a = ref_array(6, 5, 24, 1, seed);
    k->h = (struct psr_dada){.nchan = NCHAN,
                             .nant = 24,
                             .freq_mhz = 500,
                             .bw_mhz = -40,
                             .tsamp_us = 100,
                             .phase_sign = -1,
                             .header_bytes = 4096};
    k->s = (struct psr_fakevolt_source){.theta_ns = 1.3, .theta_ew = -0.8, .snr = 50};
    k->d = (struct psr_fakevolt_desc){.size = sizeof(struct psr_fakevolt_desc),
                                      .array = &k->a,
                                      .header = &k->h,
                                      .nsamp = NSAMP,
                                      .seed = 7,
                                      .dmconst = PSR_DMCONST_PRESTO,
                                      .sigma = 2,
                                      .nsource = 1,
                                      .source = &k->s};
    k->in = tap_take(psr_dada_sample_bytes(&k->h), NSAMP);
}

static void drop(struct sky *k)
{
    psr_array_clear(&k->a);
    free(k->in);
}

static void fill(struct sky *k, int nthread, size_t block)
{
    psr_fakevolt *p = NULL;
    psr_err err = {0};
    k->d.nthread = nthread;
    bool fine = !psr_fakevolt_create(&p, &k->d, &err);
    for (size_t t = 0; t < NSAMP && fine; t += block) {
        size_t n = NSAMP - t < block ? NSAMP - t : block;
        fine =
            !psr_fakevolt_execute(p, (int64_t)t, n, k->in + t * psr_dada_sample_bytes(&k->h), &err);
    }
    if (!fine)
        diag("%s", err.msg);
    psr_fakevolt_destroy(p);
}

static void test_repeat(uint64_t *seed)
{
    struct sky k;
    make(&k, seed);
    size_t n = psr_dada_sample_bytes(&k.h) * NSAMP;
    uint8_t *once = tap_take(n, 1);
    fill(&k, 1, NSAMP);
    memcpy(once, k.in, n);
    fill(&k, 3, 77);
    ok(!memcmp(once, k.in, n), "threads and blocks change no bit");
    k.h.nibbles = (struct psr_nibbles){true, true};
    fill(&k, 1, NSAMP);
    size_t differ = 0;
    for (size_t i = 0; i < n; i++)
        differ += ref_voltage(k.in[i], k.h.nibbles) !=
                  ref_voltage(once[i], (struct psr_nibbles){false, false});
    ok(differ == 0, "another convention of the nibbles holds the same voltages");
    free(once);
    drop(&k);
}

/* Power of a beam in each sample, all channels and polarisations, each channel's signals advanced
 * by its delay. */
static void beam_power(const struct sky *k, double ns, double ew, double dm, double *power)
{
    size_t tds[NCHAN] = {1, 1, 1, 1};
    struct psr_beam_desc d = {.size = sizeof d,
                              .array = &k->a,
                              .nfreq = NCHAN,
                              .tds = tds,
                              .nibbles = k->h.nibbles,
                              .nthread = 1,
                              .backend = "cpu",
                              .pattern = PSR_BEAM_POINTS,
                              .nbeam = 1};
    double theta_ns[NCHAN], theta_ew[NCHAN];
    for (size_t f = 0; f < NCHAN; f++) {
        theta_ns[f] = ns * psr_dada_freq_mhz(&k->h, f) / k->h.freq_mhz;
        theta_ew[f] = ew * psr_dada_freq_mhz(&k->h, f) / k->h.freq_mhz;
    }
    d.theta_ns = theta_ns;
    d.theta_ew = theta_ew;
    psr_beam *p = NULL;
    float *out = tap_take(NSAMP * NCHAN, sizeof *out);
    size_t nrow;
    if (psr_beam_create(&p, &d, NULL) || psr_beam_execute(p, k->in, NSAMP, out, NSAMP, &nrow, NULL))
        diag("no beam");
    memset(power, 0, NSAMP * sizeof *power);
    for (size_t f = 0; f < NCHAN; f++) {
        int64_t shift = psr_delay_samples(PSR_DMCONST_PRESTO, dm, psr_dada_freq_mhz(&k->h, f),
                                          psr_dada_freq_mhz(&k->h, 0), 1e-4);
        for (int64_t t = 0; t + shift < NSAMP; t++)
            power[t] += (double)out[(t + shift) * NCHAN + (int64_t)f];
    }
    psr_beam_destroy(p);
    free(out);
}

/* S/N of the sum of samples [a, b) against the deviation of those outside. */
static double snr_of(const double *x, int a, int b)
{
    double sum = 0, square = 0, on = 0;
    int n = 0;
    for (int t = 0; t < 3000; t++)
        if (t < a - 20 || t >= b + 20) {
            sum += x[t];
            square += x[t] * x[t];
            n++;
        }
    double mean = sum / n, sigma = sqrt(square / n - mean * mean);
    for (int t = a; t < b; t++)
        on += x[t] - mean;
    return on / sigma / sqrt(b - a);
}

static void test_burst(uint64_t *seed)
{
    struct sky k;
    make(&k, seed);
    k.s.width_s = 0.01;
    k.s.t_s = 0.1;
    k.s.dm = 20;
    fill(&k, 1, NSAMP);
    double *x = tap_take(NSAMP, sizeof *x);
    beam_power(&k, 1.3, -0.8, 20, x);
    double there = snr_of(x, 950, 1050);
    ok(there > 40 && there < 58, "S/N in the beam at the source: %.1f of 50 asked for", there);
    ok(fabs(snr_of(x, 1150, 1250)) < 6, "none at another time");
    beam_power(&k, 1.3, -0.8, 0, x);
    ok(snr_of(x, 950, 1050) < 0.6 * there, "less at another DM");
    beam_power(&k, -1.3, 0.8, 20, x);
    ok(snr_of(x, 950, 1050) < 0.2 * there, "little in the beam on the other side");
    k.h.phase_sign = 1;
    fill(&k, 1, NSAMP);
    beam_power(&k, -1.3, 0.8, 20, x);
    ok(snr_of(x, 950, 1050) > 40, "and there it is with the other sign of phase");
    free(x);
    drop(&k);
}

/* Each with the delays of its own DM, at its own time and place. */
static void test_two_bursts(uint64_t *seed)
{
    struct sky k;
    make(&k, seed);
    struct psr_fakevolt_source two[2] = {k.s, k.s};
    two[0].width_s = two[1].width_s = 0.01;
    two[0].t_s = 0.1;
    two[0].dm = 20;
    two[1].t_s = 0.2;
    two[1].dm = 90;
    two[1].theta_ns = -1.3;
    k.d.source = two;
    k.d.nsource = 2;
    fill(&k, 1, NSAMP);
    double *x = tap_take(NSAMP, sizeof *x);
    for (int i = 0; i < 2; i++) {
        int at = (int)(two[i].t_s * 1e4);
        beam_power(&k, two[i].theta_ns, two[i].theta_ew, two[i].dm, x);
        double there = snr_of(x, at - 50, at + 50);
        beam_power(&k, two[i].theta_ns, two[i].theta_ew, two[1 - i].dm, x);
        double off = snr_of(x, at - 50, at + 50);
        ok(there > 35 && off < 0.6 * there,
           "burst %d of two: S/N %.1f at its DM, %.1f at the other's", i, there, off);
    }
    free(x);
    drop(&k);
}

static void test_noise(uint64_t *seed)
{
    struct sky k;
    make(&k, seed);
    k.d.nsource = 0;
    fill(&k, 1, NSAMP);
    size_t n = psr_dada_sample_bytes(&k.h) * NSAMP;
    double sum = 0, square = 0;
    for (size_t i = 0; i < n; i++) {
        double complex v = ref_voltage(k.in[i], k.h.nibbles);
        sum += creal(v) + cimag(v);
        square += creal(v) * creal(v) + cimag(v) * cimag(v);
    }
    near(sum / (2 * (double)n), 0, 0.01, "mean of the noise");
    near(square / (2 * (double)n), 4 + 1. / 12, 0.03, "its variance, rounding included");
    drop(&k);
}

static void refused(struct sky *k, const char *part)
{
    psr_fakevolt *p = NULL;
    psr_err err = {0};
    ok(psr_fakevolt_create(&p, &k->d, &err) != PSR_OK && !p && strstr(err.msg, part), "refused: %s",
       err.msg);
}

static void test_refusals(uint64_t *seed)
{
    struct sky k;
    make(&k, seed);
    k.s.snr = -1;
    refused(&k, "source 0: snr");
    k.s.snr = 1;
    k.d.sigma = 8;
    refused(&k, "noise of 8");
    k.d.sigma = 2;
    k.d.nsamp = 0;
    refused(&k, "0 samples");
    k.d.nsamp = 1;
    k.h.nant = 23;
    refused(&k, "23 inputs");
    k.a.m = 0;
    refused(&k, "grid of 0");
    psr_fakevolt_destroy(NULL);
    drop(&k);
}

static void test_zeros(void)
{
    const struct psr_fakevolt_desc d = {.size = sizeof d};
    psr_fakevolt *p;
    psr_err err;
    ok(psr_fakevolt_create(&p, &d, &err) == PSR_EINVAL && !p && !strcmp(err.field, "header"),
       "a description of zeros is refused: %s", err.msg);
}

int main(void)
{
    uint64_t seed = tap_seed();
    test_repeat(&seed);
    test_burst(&seed);
    test_two_bursts(&seed);
    test_noise(&seed);
    test_refusals(&seed);
    test_zeros();
    return done_testing();
}
