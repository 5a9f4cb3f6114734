/* pulscan: candidates are named by the fundamental whose harmonics hold power. */
#include <psrkit/series.h>

#include "formats/series/series_internal.h"
#include "search/pulscan/pulscan_internal.h"
#include "tests/support/pulscan_list.h"
#include <complex.h>
#include <string.h>

enum { NBIN = 1 << 15, MOST_HARMONIC = 200, MOST_SIGNALS = 3, TRIES = 50 };

/* What is in a spectrum. */
struct truth {
    double r[MOST_SIGNALS], off[MOST_SIGNALS]; /* fundamentals, and how far off they may be named */
    int n;
};

static double between(uint64_t *seed, double lo, double hi)
{
    return lo + (hi - lo) * tap_uniform(seed);
}

static double between_logs(uint64_t *seed, double lo, double hi)
{
    return exp(between(seed, log(lo), log(hi)));
}

/* A line of that power, where noise has 1 (x has a variance of 1 in re and im each). */
static void add_line(float *x, double r, double power, double phase)
{
    int64_t near = (int64_t)r;
    for (int64_t k = near - 300; k <= near + 300; k++) {
        if (k < 1 || k >= NBIN)
            continue;
        double d = M_PI * (r - (double)k), size = sqrt(2 * power) * (d * d > 0 ? sin(d) / d : 1);
        double complex a = size * cexp(I * (d + phase));
        x[2 * k] += (float)creal(a);
        x[2 * k + 1] += (float)cimag(a);
    }
}

/* Harmonics of these shares of a power, all of one phase. */
static void add_pulse(float *x, double r, const double *share, double power, uint64_t *seed)
{
    double sum = 0, phase = 2 * M_PI * tap_uniform(seed);
    for (int h = 1; h <= MOST_HARMONIC; h++)
        sum += share[h - 1];
    for (int h = 1; h <= MOST_HARMONIC && h * r < NBIN; h++)
        if (share[h - 1] > 1e-9 * sum)
            add_line(x, h * r, power * share[h - 1] / sum, h * phase);
}

/* A Gaussian pulse, this part of the period wide at half its height. */
static void add_gaussian(float *x, double r, double duty, double power, uint64_t *seed)
{
    double share[MOST_HARMONIC];
    for (int h = 1; h <= MOST_HARMONIC; h++)
        share[h - 1] = exp(-pow(2 * M_PI * h * duty / 2.3548, 2));
    add_pulse(x, r, share, power, seed);
}

/* --- kinds of signals ------------------------------------------------------------------------- */

static double any_r(uint64_t *seed)
{
    return between_logs(seed, 200, 4000);
}

static void make_line(float *x, struct truth *t, double duty, uint64_t *seed)
{
    (void)duty;
    *t = (struct truth){{between_logs(seed, 400, 30000)}, {1}, 1};
    add_line(x, t->r[0], between_logs(seed, 40, 1e5), 6 * tap_uniform(seed));
}

static void make_pulse(float *x, struct truth *t, double duty, uint64_t *seed)
{
    *t = (struct truth){{any_r(seed)}, {1}, 1};
    add_gaussian(x, t->r[0], duty, between_logs(seed, 250, 2e4), seed);
}

/* Odd harmonics only; even ones only, which are all those of twice the frequency. */
static void make_some(float *x, struct truth *t, int first, uint64_t *seed)
{
    double share[MOST_HARMONIC] = {0}, fall = between(seed, 0, 2), r = any_r(seed);
    int n = (int)tap_between(seed, 2, 8);
    for (int k = 0, h = first; k < n; k++, h += 2)
        share[h - 1] = pow(h, -fall);
    *t = (struct truth){{first * r}, {1}, 1};
    add_pulse(x, r, share, between_logs(seed, 100, 1e4), seed);
}

static void make_odd(float *x, struct truth *t, double duty, uint64_t *seed)
{
    (void)duty;
    make_some(x, t, 1, seed);
}

static void make_even(float *x, struct truth *t, double duty, uint64_t *seed)
{
    (void)duty;
    make_some(x, t, 2, seed);
}

/* Turns of a frequency that wanders over some bins, once up and down and a little more. */
static double wander(double u, double r, double bins, double cycles)
{
    return r * u + bins * (u - sin(2 * M_PI * cycles * u) / (2 * M_PI * cycles)) / 2;
}

/* Mains: harmonics of any strength, of a frequency that wanders. */
static void make_mains(float *x, struct truth *t, double duty, uint64_t *seed)
{
    (void)duty;
    double r = between(seed, 2500, 4000), bins = between(seed, 1, 12), cycles = between(seed, 1, 2);
    float *y = tap_take(2 * NBIN + 2, sizeof *y);
    psr_rfft *plan = NULL;
    psr_err err;
    for (int h = 1, n = (int)tap_between(seed, 2, 6); h <= n; h++) {
        double power = between_logs(seed, 300, 1e5), phase = 6 * tap_uniform(seed);
        double size = 2 * sqrt(2 * power) / (2.0 * NBIN);
        for (int64_t i = 0; i < 2 * NBIN; i++) {
            double turns = h * wander((double)i / (2.0 * NBIN), r, bins, cycles);
            y[i] += (float)(size * cos(2 * M_PI * turns + phase));
        }
    }
    if (psr_rfft_create(&plan, 2 * NBIN, &err) != PSR_OK)
        diag("%s", err.msg);
    psr_rfft_execute(plan, y, y);
    psr_rfft_destroy(plan);
    for (int64_t k = 2; k < 2 * NBIN; k++)
        x[k] += y[k];
    free(y);
    *t = (struct truth){{r + bins / 2}, {bins / 2 + 2}, 1};
}

static void make_several(float *x, struct truth *t, double n, uint64_t *seed)
{
    *t = (struct truth){.n = 0};
    while (t->n < (int)n) {
        double r = any_r(seed);
        bool apart = true;
        for (int i = 0; i < t->n; i++)
            apart = apart && fabs(t->r[i] - r) > 20;
        if (!apart)
            continue;
        add_gaussian(x, r, between_logs(seed, 0.01, 0.5), between_logs(seed, 300, 1e4), seed);
        t->r[t->n] = r;
        t->off[t->n++] = 1;
    }
}

/* --- search ----------------------------------------------------------------------------------- */

static void start(struct found *f)
{
    static const int sums[] = {1, 2, 3, 4, 8, 16};
    const struct psr_pulscan_desc d = {.size = sizeof d,
                                       .nbin = NBIN,
                                       .zmax = 1,
                                       .nharm = sums,
                                       .nnharm = sizeof sums / sizeof *sums,
                                       .block = 64,
                                       .sigma = 2,
                                       .rlo = 50,
                                       .backend = "cpu"};
    start_search(f, &d);
}

/* Whether candidate c has its middle where a signal is. */
static bool is_at(const struct psr_pulscan_cand *c, double r, double off)
{
    return (double)c->best.first <= r + off && (double)(c->best.first + c->best.z) >= r - off;
}

/* --- names ------------------------------------------------------------------------------------ */

/* A kind of signals; how many of all are to be listed at their own frequency, and how many rows
 * there may be for each.  A fraction of the frequency is preferred for odds of e^4.5 = 90 to 1, so that
 * noise gives one signal in 90 another name (lines: 12 of 1700).  Of 50, more than 6 with one are less
 * likely than 1e-5, and of the 700 of all kinds more than 24 than 1e-6; several at once may have
 * harmonics of each other. */
static const struct kind {
    const char *name;
    void (*make)(float *x, struct truth *t, double how, uint64_t *seed);
    double how, right, rows;
} kinds[] = {
    {"lines", make_line, 0, 0.88, 1.3},
    {"pulses of 1 %", make_pulse, 0.01, 0.88, 1.3},
    {"pulses of 3 %", make_pulse, 0.03, 0.88, 1.3},
    {"pulses of 10 %", make_pulse, 0.1, 0.88, 1.3},
    {"pulses of 25 %", make_pulse, 0.25, 0.88, 1.3},
    {"pulses of 50 %", make_pulse, 0.5, 0.88, 1.3},
    {"odd harmonics", make_odd, 0, 0.88, 1.3},
    {"even harmonics", make_even, 0, 0.88, 1.3},
    {"mains that wander", make_mains, 0, 0.87, 3},
    {"two at once", make_several, 2, 0.87, 1.3},
    {"three at once", make_several, 3, 0.87, 1.3},
};

/* Signals of all kinds, and those that are listed at their own frequency. */
struct tally {
    int right, n;
};

static void test_kind(struct found *f, const struct kind *kind, uint64_t *seed, struct tally *all)
{
    int right = 0, n = 0;
    size_t rows = 0;
    for (int k = 0; k < TRIES; k++) {
        struct truth t;
        float *x = make_noise(NBIN, seed);
        kind->make(x, &t, kind->how, seed);
        search(f, x);
        rows += f->n;
        for (int i = 0; i < t.n; i++, n++) {
            bool listed = false;
            for (size_t c = 0; c < f->n && !listed; c++)
                listed = is_at(&f->cand[c], t.r[i], t.off[i]);
            if (!listed)
                diag("%s: bin %.2f of %d is not listed: %zu candidates, the first of %d harmonics "
                     "from bin %lld",
                     kind->name, t.r[i], t.n, f->n, f->n ? f->cand[0].best.nharm : 0,
                     f->n ? (long long)f->cand[0].best.first : 0);
            right += listed;
        }
        free(x);
    }
    ok(right >= kind->right * n && (double)rows <= kind->rows * n,
       "%s: %d of %d have their own frequency, in %zu rows", kind->name, right, n, rows);
    all->right += right;
    all->n += n;
}

/* --- what is said of candidates --------------------------------------------------------------- */

/* chi^2 of a box's bins. */
static double power_of(psr_pulscan *plan, const struct psr_pulscan_hit *h)
{
    double sum = 0;
    for (int k = 1; k <= h->nharm; k++) {
        size_t n = (size_t)k * (size_t)(h->z + 1);
        float *x = tap_take(2 * n, sizeof *x);
        psr_err err;
        if (psr_pulscan_amplitudes(plan, 0, k * h->first, n, x, &err))
            diag("%s", err.msg);
        for (size_t i = 0; i < 2 * n; i++)
            sum += (double)x[i] * (double)x[i];
        free(x);
    }
    return sum;
}

/* A candidate is a box of the search; what better ones hold of its bins is told, and the rest has
 * its sigma. */
static void test_account(struct found *f, uint64_t *seed)
{
    size_t members = 0, hits = 0, wrong = 0, shared = 0, all = 0;
    for (int k = 0; k < TRIES; k++) {
        struct truth t;
        float *x = make_noise(NBIN, seed);
        make_several(x, &t, 3, seed);
        search(f, x);
        hits += f->result.nhit;
        for (size_t c = 0; c < f->n; c++) {
            const struct psr_pulscan_hit *h = &f->cand[c].best;
            double taken = 0, power = power_of(f->plan, h);
            for (int i = 0; i < h->nharm; i++)
                taken += (double)f->cand[c].taken[i];
            double sigma = psr_pulscan_sigma(f->plan, (double)h->power, h->nharm, h->z, h->first);
            wrong += fabs(power - taken - (double)h->power) > 1e-4 * power;
            wrong += fabs(sigma - h->sigma) > 1e-9 || h->sigma <= 2;
            wrong += c > 0 && h->sigma > f->cand[c - 1].best.sigma;
            members += f->cand[c].members;
            shared += taken > 10;
            all++;
        }
        free(x);
    }
    ok(wrong == 0, "powers less what better ones hold, and their sigma, falling: %zu wrong of %zu",
       wrong, all);
    ok(shared > 0 && members == hits, "every hit is a member of one, %zu share bins", shared);
}

/* Half of a bright line's frequency, whose harmonic it is, is another signal's. */
static void test_limits(struct found *f, uint64_t *seed)
{
    float *x = make_noise(NBIN, seed);
    add_line(x, 12000.3, 5000, 1);
    add_line(x, 7700.4, 3000, 2);
    search(f, x);
    ok(f->n >= 2 && is_at(&f->cand[0], 12000.3, 1) && is_at(&f->cand[1], 7700.4, 1) &&
           f->cand[0].best.nharm == 1 && f->cand[1].best.nharm == 1,
       "two lines are two, each of one harmonic: %zu", f->n);
    const struct psr_pulscan_merge_desc keep = {
        .size = sizeof keep, .plan = f->plan, .keep_harmonics = true};
    struct psr_pulscan_cand *cand;
    size_t n;
    psr_err err;
    psr_status st = psr_pulscan_merge(f->result.hit, f->result.nhit, &keep, &cand, &n, NULL, &err);
    ok(st == PSR_OK && n > f->n, "harmonics are kept where that is asked for: %zu", n);
    free(cand);
    free(x);
}

int main(void)
{
    uint64_t seed = tap_seed();
    struct found f;
    struct tally all = {0};
    start(&f);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        test_kind(&f, &kinds[k], &seed, &all);
    ok(all.n - all.right <= 24, "of all kinds %d of %d have", all.right, all.n);
    test_account(&f, &seed);
    test_limits(&f, &seed);
    stop_search(&f);
    return done_testing();
}
