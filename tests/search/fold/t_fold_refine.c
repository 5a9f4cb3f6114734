/* fold refinement: period, p-dot and DM of made pulses, against their truth and against a plain sum of harmonics;
 * and whether a pulse is in a small part of the band. */
#include <psrkit/ddplan.h>
#include <psrkit/experimental/fold.h>

#include "search/fold/fold_internal.h"
#include "search/fold/trials/fold_state.h"
#include "tests/support/tap.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NPART = 16, NCASE = 300, MOST = 32 };

static psr_err err;

/* A pulse: drifts in turns from end to end, and by u^2, u from -1/2 to 1/2; sweep in turns per DM. */
struct truth {
    double f, fd, dm;    /* at the start */
    double snr, width;   /* of the whole fold; standard deviation, turns */
    const double *share; /* [nsub] of the amplitude, 1 on average */
};

struct scene {
    struct psr_pfd fold;
    struct psr_fold_times times;
};

static double find_length(const struct scene *s)
{
    return s->times.length_s;
}

/* Turns by which sub-band j is late, of a unit of DM. */
static double find_sweep(const struct psr_pfd *p, long j)
{
    const long per = p->nchan / p->nsub;
    const double high = (p->lofreq_mhz + (p->nchan - 1) * p->width_mhz) * (1 + p->voverc);
    const double own =
        (p->lofreq_mhz + (double)((j + 1) * per - 1) * p->width_mhz) * (1 + p->voverc);
    return PSR_DMCONST_PRESTO * (1 / (own * own) - 1 / (high * high)) * p->fold.f;
}

/* Turns by which the pulse is late in the middle of part i. */
static double find_drift(const struct scene *s, double f, double fd, long i)
{
    const double t = ((double)i + 0.5) * find_length(s) / s->fold.npart;
    return -((f - s->fold.fold.f) * t + (fd - s->fold.fold.fd) * t * t / 2);
}

static void make_scene(struct scene *s, const struct truth *truth, int nsub, int nbin,
                       uint64_t *seed)
{
    memset(s, 0, sizeof *s);
    s->times = (struct psr_fold_times){.block_s = 0.25, .part_blocks = 7};
    s->times.length_s = s->times.block_s * (double)s->times.part_blocks * NPART;
    s->fold = (struct psr_pfd){.ndm = nsub > 1 ? 3 : 0,
                               .nperiod = 3,
                               .npdot = 3,
                               .nsub = nsub,
                               .npart = NPART,
                               .nbin = nbin,
                               .nchan = nsub * 4,
                               .tsamp_s = 1e-3,
                               .voverc = 1e-4,
                               .lofreq_mhz = 1200,
                               .width_mhz = 300.0 / (nsub * 4),
                               .fold = {.f = 3.21, .fd = 1e-5},
                               .topo = {.p = 1 / 3.21}};
    if (psr_pfd_allocate(&s->fold, &err) != PSR_OK)
        exit(EXIT_FAILURE);
    const double rows = (double)NPART * nsub, n = nbin;
    /* The sum over bins of the squares of all rows' heights is snr^2. */
    const double height = truth->snr / sqrt(rows * n * sqrt(M_PI) * truth->width);
    for (long k = 0; k < NPART * nsub; k++) {
        const double at = 0.4 + find_drift(s, truth->f, truth->fd, k / nsub) +
                          truth->dm * find_sweep(&s->fold, k % nsub);
        for (long b = 0; b < nbin; b++) {
            double off = (double)b / n - at;
            off -= rint(off);
            const double pulse = exp(-0.5 * off * off / truth->width / truth->width);
            s->fold.profile[k * nbin + b] =
                50 + tap_normal(seed) +
                height * (truth->share ? truth->share[k % nsub] : 1) * pulse;
        }
        s->fold.stats[k] =
            (struct psr_fold_stats){.numdata = s->times.length_s / NPART / s->fold.tsamp_s,
                                    .numprof = n,
                                    .prof_avg = 50,
                                    .prof_var = 1};
    }
}

/* --- a plain sum ------------------------------------------------------------------------------ */

/* |S_h|^2 of harmonics 1 .. n in units of half the noise's, with weights h^2 if asked for. */
static double find_power(const struct scene *s, const struct psr_fold_refined *at, long n,
                         bool weigh)
{
    const struct psr_pfd *p = &s->fold;
    const double spb = 1 / p->fold.f / p->nbin / p->tsamp_s,
                 white = spb * 0.96 * pow(1 + pow(spb, 1.806), -1 / 1.806);
    double power = 0;
    for (long h = 1; h <= n; h++) {
        double complex sum = 0;
        for (long k = 0; k < (long)p->npart * p->nsub; k++) {
            const double turns = find_drift(s, at->f, at->fd, k / p->nsub) +
                                 (p->nsub > 1 ? at->dm * find_sweep(p, k % p->nsub) : 0);
            for (long b = 0; b < p->nbin; b++)
                sum += p->profile[k * p->nbin + b] *
                       cexp(-2 * M_PI * I * (double)h * ((double)b / p->nbin - turns));
        }
        power += creal(sum * conj(sum)) * (weigh ? (double)(h * h) : 1);
    }
    return 2 * power / (p->npart * p->nsub * (double)p->nbin * white);
}

static long count_harmonics(const struct scene *s, const struct psr_fold_refined *at)
{
    const long most = (s->fold.nbin - 1) / 2 < MOST ? (s->fold.nbin - 1) / 2 : MOST;
    long best = 1;
    double top = -INFINITY;
    for (long n = 1; n <= most; n++) {
        const double z = find_power(s, at, n, false) - 4 * (double)n;
        if (z > top) {
            top = z;
            best = n;
        }
    }
    return best;
}

/* --- refinement ------------------------------------------------------------------------------- */

/* Away from the truth by a part of a pulse in each direction. */
static struct psr_fold_refined begin_at(const struct scene *s, const struct truth *t,
                                        uint64_t *seed)
{
    const double len = find_length(s), x = t->width;
    const double linear = (2 * tap_uniform(seed) - 1) * x, square = (2 * tap_uniform(seed) - 1) * x,
                 sweep = s->fold.nsub > 1 ? find_sweep(&s->fold, 0) : INFINITY;
    return (struct psr_fold_refined){.f = t->f + (linear - square) / len,
                                     .fd = t->fd + 2 * square / len / len,
                                     .dm = t->dm + (2 * tap_uniform(seed) - 1) * x / sweep};
}

/* The expected errors of drift, p-dot's drift and DM are those of a maximum of the likelihood. */
static bool is_near(const struct scene *s, const struct truth *t,
                    const struct psr_fold_refined *got, bool drifts, long n)
{
    const struct psr_fold_refined at = {.f = t->f, .fd = t->fd, .dm = t->dm};
    const double len = find_length(s), bend = 4 * M_PI * M_PI * find_power(s, &at, n, true);
    const double square = (got->fd - t->fd) * len * len / 2,
                 linear = (got->f - t->f) * len + square;
    double mean = 0, mean2 = 0;
    for (long j = 0; j < s->fold.nsub; j++) {
        mean += find_sweep(&s->fold, j) / s->fold.nsub;
        mean2 += pow(find_sweep(&s->fold, j), 2) / s->fold.nsub;
    }
    const bool pass = fabs(linear) < 5 / sqrt(bend / 12) &&
                      (drifts ? fabs(square) < 5 / sqrt(bend / 180) : got->fd == 0) &&
                      fabs(got->dm - t->dm) < 5 / sqrt(bend * (mean2 - mean * mean));
    if (!pass)
        diag("f %.9g of %.9g, fd %.6g of %.6g, dm %.6g of %.6g", got->f, t->f, got->fd, t->fd,
             got->dm, t->dm);
    return pass;
}

/* Whether no neighbour has more power than rounding and the parabola allow. */
static bool is_maximum(const struct scene *s, const struct psr_fold_refined *got, long n,
                       bool drifts)
{
    const double len = find_length(s), step = 0.2 / (double)n;
    const double q = find_power(s, got, n, false);
    bool pass = true;
    for (int sign = -1; sign <= 1; sign += 2) {
        struct psr_fold_refined at = *got;
        at.f += sign * step / len;
        pass = pass && find_power(s, &at, n, false) < q;
        at = *got;
        at.dm += sign * step / find_sweep(&s->fold, 0);
        pass = pass && find_power(s, &at, n, false) < q;
        at = *got;
        at.f -= sign * step * 4 / len;
        at.fd += sign * step * 8 / len / len;
        pass = pass && (!drifts || find_power(s, &at, n, false) < q);
    }
    return pass;
}

static bool check_scene(bool drifts, uint64_t *seed)
{
    struct scene s;
    struct truth t = {.f = 3.21 + 0.3 / 28 * tap_uniform(seed),
                      .fd = 1e-5,
                      .dm = 20 + 30 * tap_uniform(seed),
                      .snr = 12 + 30 * tap_uniform(seed),
                      .width = 0.01 + 0.02 * tap_uniform(seed)};
    if (!drifts)
        t.fd = 0;
    else
        t.fd += (tap_uniform(seed) < 0.5 ? -1 : 1) * 2e-3;
    make_scene(&s, &t, 12, 40 + (int)tap_between(seed, 0, 9), seed);
    struct psr_fold_refined got = begin_at(&s, &t, seed);
    const long n = count_harmonics(&s, &got);
    const struct psr_fold_refined from = got;
    bool pass = psr_fold_refine(&got, &s.fold, &s.times, false, false, &err) == PSR_OK;
    pass = pass && is_near(&s, &t, &got, drifts, n) && is_maximum(&s, &got, n, drifts);
    struct psr_fold_refined kept = from;
    pass = pass && psr_fold_refine(&kept, &s.fold, &s.times, false, true, &err) == PSR_OK &&
           fabs(kept.fd - from.fd) < 1e-12;
    const struct psr_fold_refined off = {.f = t.f, .fd = t.fd, .dm = from.dm};
    const long m = count_harmonics(&s, &off);
    kept = off;
    pass = pass && psr_fold_refine(&kept, &s.fold, &s.times, true, true, &err) == PSR_OK &&
           fabs(kept.fd - t.fd) < 1e-12 && fabs(kept.f - t.f) < 1e-12 &&
           find_power(&s, &kept, m, false) > find_power(&s, &off, m, false);
    psr_pfd_clear(&s.fold);
    return pass;
}

static void check_refined(uint64_t *seed)
{
    const int nscene = tap_cases(4, 12);
    for (int drifts = 0; drifts < 2; drifts++) {
        int good = 0;
        for (int k = 0; k < nscene; k++)
            good += check_scene(drifts, seed);
        ok(good == nscene,
           "%d of %d pulses %s: truth within 5 errors, a maximum of the plain sum, kept values",
           good, nscene, drifts ? "with a p-dot" : "without p-dot, which is 0 then");
    }
}

/* A series has no DM; without a pulse, or with 2 bins, nothing changes. */
static void check_edges(uint64_t *seed)
{
    struct scene s;
    const struct truth t = {.f = 3.213, .fd = 1e-5, .dm = 0, .snr = 30, .width = 0.02};
    const struct psr_fold_refined from = {.f = 3.2132, .fd = 1e-5, .dm = 7};
    struct psr_fold_refined got = from;
    make_scene(&s, &t, 1, 50, seed);
    ok(psr_fold_refine(&got, &s.fold, &s.times, false, false, &err) == PSR_OK &&
           got.dm == from.dm && fabs(got.f - t.f) < 5e-4,
       "a series keeps its DM");
    for (int b = 0; b < NPART * 50; b++)
        s.fold.profile[b] = 50;
    got = from;
    ok(psr_fold_refine(&got, &s.fold, &s.times, false, false, &err) == PSR_OK &&
           fabs(got.f - from.f) < 1e-12,
       "without a pulse the frequency stays");
    psr_pfd_clear(&s.fold);
    make_scene(&s, &t, 9, 2, seed);
    got = from;
    bool narrow = true;
    ok(psr_fold_refine(&got, &s.fold, &s.times, false, false, &err) == PSR_OK &&
           memcmp(&got, &from, sizeof got) == 0 &&
           psr_fold_is_narrow(&narrow, &s.fold, &err) == PSR_OK && !narrow,
       "2 bins have no harmonics");
    psr_pfd_clear(&s.fold);
}

/* --- narrow ----------------------------------------------------------------------------------- */

enum shape { EVEN, SCINTILLATES, HALF, ONE, NSHAPE };

/* Shares of nsub sub-bands; scintles have exponential intensities and random widths. */
static void make_shares(double *share, int nsub, enum shape shape, uint64_t *seed)
{
    const int64_t width = tap_between(seed, 1, (nsub + 7) / 8),
                  first = tap_between(seed, 0, nsub - 1);
    double sum = 0, scintle = 0;
    for (int j = 0; j < nsub; j++) {
        if (j % width == 0)
            scintle = -log(1 - tap_uniform(seed));
        share[j] = shape == EVEN           ? 1
                   : shape == SCINTILLATES ? scintle
                   : shape == HALF         ? (j + first) % nsub < nsub / 2
                                           : j == first;
        sum += share[j];
    }
    for (int j = 0; j < nsub; j++)
        share[j] *= nsub / sum;
}

static int count_narrow(enum shape shape, int nsub, double least, uint64_t *seed)
{
    double *share = tap_take((size_t)nsub, sizeof *share);
    int n = 0;
    for (int k = 0; k < NCASE; k++) {
        struct scene s;
        const struct truth t = {.f = 3.212,
                                .fd = 1e-5,
                                .dm = 30,
                                .snr = least * (1 + 3 * tap_uniform(seed)),
                                .width = 0.01 + 0.05 * tap_uniform(seed),
                                .share = share};
        bool narrow = false;
        make_shares(share, nsub, shape, seed);
        make_scene(&s, &t, nsub, 32, seed);
        s.fold.dm = t.dm;
        s.fold.topo =
            (struct psr_fold_period){.p = 1 / t.f, .pd = -t.fd / s.fold.fold.f / s.fold.fold.f};
        n += psr_fold_is_narrow(&narrow, &s.fold, &err) == PSR_OK && narrow;
        psr_pfd_clear(&s.fold);
    }
    free(share);
    return n;
}

static void check_narrow(uint64_t *seed)
{
    static const struct {
        enum shape shape;
        const char *name;
        int nsub, from, to;
        double snr;
    } row[] = {
        {EVEN, "in the whole band", 32, 0, 0, 6},
        {SCINTILLATES, "that scintillate", 32, 0, 2, 12},
        {SCINTILLATES, "that scintillate, of 64 sub-bands", 64, 0, 2, 12},
        {HALF, "in half the band", 32, 0, 2, 8},
        {ONE, "in one of 32 sub-bands", 32, NCASE - 3, NCASE, 8},
        {ONE, "in one of 8 sub-bands", 8, NCASE - 3, NCASE, 10},
        {ONE, "in one of 7 sub-bands, too few to tell", 7, 0, 0, 10},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const int n = count_narrow(row[i].shape, row[i].nsub, row[i].snr, seed);
        ok(n >= row[i].from && n <= row[i].to, "%d of %d pulses %s are narrow", n, NCASE,
           row[i].name);
    }
}

/* Of every number of bins: primes, products of small ones, odd ones. */
static void check_transform(uint64_t *seed)
{
    enum { MOST_BINS = 520 };
    static double profile[MOST_BINS];
    static double complex got[MOST_BINS];
    double worst = 0;
    for (size_t nbin = 2; nbin <= MOST_BINS; nbin++) {
        double complex *root = psr_fold_roots(nbin);
        const size_t first = (size_t)tap_between(seed, 0, 1), n = nbin - first;
        double size = 0;
        for (size_t b = 0; b < nbin; b++) {
            profile[b] = 100 + tap_normal(seed);
            size += profile[b];
        }
        psr_fold_transform(profile, nbin, root, first, n, got);
        for (size_t k = first; k < nbin; k++) {
            double complex want = 0;
            for (size_t b = 0; b < nbin; b++)
                want += profile[b] * cexp(-2 * M_PI * I * (double)(b * k % nbin) / (double)nbin);
            worst = fmax(worst, cabs(want - got[k - first]) / size);
        }
        free(root);
    }
    ok(worst < 1e-14, "transforms of 2 to %d bins are within %.1e of the sum of a profile",
       MOST_BINS, worst);
}

int main(void)
{
    uint64_t seed = tap_seed();
    check_transform(&seed);
    check_refined(&seed);
    check_edges(&seed);
    check_narrow(&seed);
    return done_testing();
}
