/* How many binaries the search finds, beside Pulscan's own algorithm (the compatible search), as a
 * function of zmax: figures 2 and 4 of White et al. with the pulsars of their Table 1, e < 0.95.
 *
 *   sensitivity [NPULSAR [NNOISE [SEED]]]
 *
 * A pulsar is found where a hit within 1 % of its mean frequency beats the threshold, which is what
 * one noise spectrum in a hundred beats anywhere; so both searches have the same false alarms,
 * whatever they call sigma.  The observation is 600 s of 128 us; the band of 1024 channels is one
 * channel here, of the same signal to noise, whose dispersion smears as one of the 1024 does. */
#include "fake/fake_internal.h"
#include "formats/series/series_internal.h"

#include <psrkit/ddplan.h>
#include <psrkit/experimental/pulscan.h>
#include <psrkit/fake.h>
#include <psrkit/series.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NSAMP = 4687500, NBIN = NSAMP / 2, NZMAX = 7, NMETHOD = 2, NSUM = 2 };

static const double TSAMP_S = 128e-6;
static const int zmaxes[NZMAX] = {50, 100, 200, 400, 600, 800, 1200};
static const int sums[] = {1, 2, 3, 4};
static const int most_harmonics[NSUM] = {1, 4};

static void stop(const char *why)
{
    fprintf(stderr, "sensitivity: %s\n", why);
    exit(EXIT_FAILURE);
}

/* --- the pulsars of Table 1 ------------------------------------------------------------------- */

struct dice {
    uint64_t seed, n;
};

static double uniform(struct dice *d, double lo, double hi)
{
    return lo + (hi - lo) * psr_rng_uniform(d->seed, 1, d->n++);
}

static double log_uniform(struct dice *d, double lo, double hi)
{
    return lo * exp(uniform(d, 0, log(hi / lo)));
}

static struct psr_fake_signal draw_pulsar(uint64_t seed)
{
    struct dice d = {seed, 0};
    struct psr_fake_signal s = {
        .kind = PSR_FAKE_PULSAR, .shape = PSR_FAKE_TOPHAT, .smear = true, .binary = true};
    s.period_s = log_uniform(&d, 1e-3, 10e-3);
    s.width_s = s.period_s * log_uniform(&d, 0.05, 0.5);
    s.peak = log_uniform(&d, 0.01, 0.1);
    s.dm = log_uniform(&d, 100, 1000);
    s.orbit.period_s = 3600 * log_uniform(&d, 1, 10);
    s.orbit.t0_s = s.orbit.period_s * uniform(&d, 0, 1);
    double mass = log_uniform(&d, 0.5, 5), companion = log_uniform(&d, 0.5, 5);
    s.orbit.asini_s = psr_orbit_asini_s(s.orbit.period_s, acos(0), mass, companion);
    s.orbit.ecc = uniform(&d, 0, 0.95);
    return s;
}

/* Returned: x [NSAMP + 2], a spectrum; *r, the mean frequency in bins */
static void make_pulsar(uint64_t seed, const psr_rfft *rfft, float *x, double *r)
{
    const struct psr_fake_signal signal = draw_pulsar(seed);
    struct psr_obs obs;
    psr_obs_init(&obs);
    obs.nchan = 1;
    obs.nif = 1;
    obs.nbit = 32;
    obs.kind = PSR_FLOAT;
    obs.fch1_mhz = 1550;
    obs.foff_mhz = -0.292968752;
    obs.tsamp_s = TSAMP_S;
    obs.nsamp = NSAMP;
    obs.tstart.day = 60000;
    const struct psr_fake_desc desc = {.size = sizeof desc,
                                       .obs = &obs,
                                       .seed = seed,
                                       .dmconst = PSR_DMCONST_PRESTO,
                                       .nsignal = 1,
                                       .signal = &signal,
                                       .noise_sigma = 1};
    psr_fake *fake;
    psr_err err;
    struct psr_fake_truth truth;
    if (psr_fake_create(&fake, &desc, &err) || psr_fake_execute(fake, 0, NSAMP, x, &err) ||
        psr_fake_report(fake, 0, &truth, &err))
        stop(err.msg);
    psr_fake_destroy(fake);
    psr_rfft_execute(rfft, x, x);
    *r = truth.r;
}

/* --- searches --------------------------------------------------------------------------------- */

struct search {
    int zmax, nharm;
    bool compat;
    psr_pulscan *plan;
    double *best;  /* [npulsar] largest statistic near the pulsar; -inf: none */
    double *noise; /* [nnoise] and anywhere in noise */
    double threshold;
};

static void make_search(struct search *s, int npulsar, int nnoise)
{
    const struct psr_pulscan_desc d = {
        .size = sizeof d,
        .nbin = NBIN,
        .zmax = s->zmax,
        .zstep = s->compat ? 2 : 1,
        .nharm = sums,
        .nnharm = (size_t)s->nharm,
        .block = s->compat ? 32768 : 4096,
        .sigma = 0,
        .compat = s->compat,
        .backend = "cpu",
    };
    psr_err err;
    if (psr_pulscan_create(&s->plan, &d, &err))
        stop(err.msg);
    s->best = calloc((size_t)npulsar, sizeof *s->best);
    s->noise = calloc((size_t)nnoise, sizeof *s->noise);
    if (!s->best || !s->noise)
        stop("no memory");
}

/* The largest sigma of hits from bin lo to hi.  Pulscan's is cut at 0 where its number of trials is
 * more than there are; its threshold never gets there. */
static double best_of(const struct search *s, const float *x, double lo, double hi)
{
    struct psr_pulscan_result result;
    psr_err err;
    double best = -INFINITY;
    if (psr_pulscan_execute(s->plan, 1, &x, &result, &err))
        stop(err.msg);
    for (size_t k = 0; k < result.nhit; k++)
        if (result.hit[k].r >= lo && result.hit[k].r <= hi)
            best = fmax(best, result.hit[k].sigma);
    return best;
}

static int falling(const void *pa, const void *pb)
{
    double a = *(const double *)pa, b = *(const double *)pb;
    return (a < b) - (a > b);
}

static int count_above(const double *x, int n, double threshold)
{
    int above = 0;
    for (int i = 0; i < n; i++)
        above += x[i] > threshold;
    return above;
}

/* --- the table -------------------------------------------------------------------------------- */

static void print_table(struct search search[NSUM][NZMAX][NMETHOD], int npulsar)
{
    printf(
        "harmonics  zmax  psrkit  (threshold)  Pulscan  (threshold)  psrkit only  Pulscan only\n");
    for (int h = 0; h < NSUM; h++)
        for (int z = 0; z < NZMAX; z++) {
            const struct search *a = &search[h][z][0], *b = &search[h][z][1];
            int only_a = 0, only_b = 0;
            for (int i = 0; i < npulsar; i++) {
                bool in_a = a->best[i] > a->threshold, in_b = b->best[i] > b->threshold;
                only_a += in_a && !in_b;
                only_b += in_b && !in_a;
            }
            printf("%9d %5d %7d  %10.2f  %8d  %10.2f  %11d  %12d\n", a->nharm, a->zmax,
                   count_above(a->best, npulsar, a->threshold), a->threshold,
                   count_above(b->best, npulsar, b->threshold), b->threshold, only_a, only_b);
        }
}

static void each(struct search search[NSUM][NZMAX][NMETHOD], const float *x, int i, double lo,
                 double hi, bool noise)
{
    for (int k = 0; k < NSUM * NZMAX * NMETHOD; k++) {
        struct search *s = &search[0][0][0] + k;
        *(noise ? &s->noise[i] : &s->best[i]) = best_of(s, x, lo, hi);
    }
}

int main(int argc, char **argv)
{
    int npulsar = argc > 1 ? atoi(argv[1]) : 300, nnoise = argc > 2 ? atoi(argv[2]) : 400;
    uint64_t seed = argc > 3 ? (uint64_t)atoll(argv[3]) : 1;
    static struct search search[NSUM][NZMAX][NMETHOD];
    psr_rfft *rfft;
    psr_err err;
    float *x = malloc((NSAMP + 2) * sizeof *x);
    if (!x || npulsar < 1 || nnoise < 100)
        stop("at least 1 pulsar, 100 noise spectra, and memory");
    if (psr_rfft_create(&rfft, NSAMP, &err))
        stop(err.msg);
    for (int k = 0; k < NSUM * NZMAX * NMETHOD; k++) {
        struct search *s = &search[0][0][0] + k;
        s->nharm = most_harmonics[k / NMETHOD / NZMAX];
        s->zmax = zmaxes[k / NMETHOD % NZMAX];
        s->compat = k % NMETHOD;
        make_search(s, npulsar, nnoise);
    }
    for (int i = 0; i < nnoise; i++) {
        psr_rng_normal(seed, (uint32_t)i, 0, NSAMP, x);
        each(search, x, i, 0, INFINITY, true);
    }
    for (int i = 0; i < npulsar; i++) {
        double r;
        make_pulsar(seed * 1000000 + (uint64_t)i, rfft, x, &r);
        each(search, x, i, 0.99 * r, 1.01 * r, false);
    }
    for (int k = 0; k < NSUM * NZMAX * NMETHOD; k++) {
        struct search *s = &search[0][0][0] + k;
        qsort(s->noise, (size_t)nnoise, sizeof *s->noise, falling);
        s->threshold = fmax(s->noise[nnoise / 100], 0);
    }
    printf("%d pulsars, thresholds of one false alarm in %d of %d spectra of noise; seed %llu\n",
           npulsar, 100, nnoise, (unsigned long long)seed);
    print_table(search, npulsar);
    for (int k = 0; k < NSUM * NZMAX * NMETHOD; k++) {
        struct search *s = &search[0][0][0] + k;
        psr_pulscan_destroy(s->plan);
        free(s->best);
        free(s->noise);
    }
    psr_rfft_destroy(rfft);
    free(x);
    return EXIT_SUCCESS;
}
