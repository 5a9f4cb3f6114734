/* pulscan: signals side by side are candidates of their own, and parts of one signal are not. */
#include "tests/support/pulscan_list.h"
#include <psrkit/signif.h>
#include <string.h>

enum { NBIN = 1 << 15, ZMAX = 200, TRIES = 20, SUMS = 4 };

static void start(struct found *f)
{
    static const int sums[SUMS] = {1, 2, 3, 4};
    const struct psr_pulscan_desc d = {.size = sizeof d,
                                       .nbin = NBIN,
                                       .zmax = ZMAX,
                                       .zstep = 2,
                                       .nharm = sums,
                                       .nnharm = SUMS,
                                       .sigma = 2,
                                       .rlo = 130,
                                       .backend = "cpu"};
    start_search(f, &d);
}

/* A signal whose harmonics fill the bins of a box each, with this much chi^2 over noise in all. */
struct signal {
    int64_t first;
    int z, nharm;
    double excess;
};

static void add_signal(float *x, const struct signal *s, uint64_t *seed)
{
    const double bins = (double)(s->z + 1) * s->nharm * (s->nharm + 1) / 2;
    for (int h = 1; h <= s->nharm; h++)
        for (int64_t k = h * s->first; k < h * (s->first + s->z + 1); k++) {
            const double turn = 2 * M_PI * tap_uniform(seed), size = sqrt(s->excess / bins);
            x[2 * k] += (float)(size * cos(turn));
            x[2 * k + 1] += (float)(size * sin(turn));
        }
}

/* As bright as so many times what scatters in its box. */
static struct signal make_signal(int64_t first, int z, int nharm, double times)
{
    const double dof = (double)(z + 1) * nharm * (nharm + 1);
    return (struct signal){first, z, nharm, times * sqrt(2 * dof)};
}

static bool lies_in(double r, const struct signal *s)
{
    return r > (double)s->first - 1.5 && r < (double)(s->first + s->z) + 2.5;
}

/* Whether a candidate is the signal: its middle, or that of one of the harmonics it is a sum of, lies
 * in the signal's bins, to accelsearch's 1.5. */
static bool is_signal(const struct psr_pulscan_hit *best, const struct signal *s)
{
    for (int h = 1; h <= best->nharm; h++)
        if (lies_in(h * best->r, s))
            return true;
    return false;
}

static bool is_listed(const struct found *f, const struct signal *s)
{
    for (size_t c = 0; c < f->n; c++)
        if (is_signal(&f->cand[c].best, s))
            return true;
    return false;
}

/* --- two ------------------------------------------------------------------------------------- */

/* A bright one, and a faint one on either side, from so many bins away on, and as far as it is
 * wide.  The faint one has at least so many scatters of noise that noise hides it in less than one
 * case of 100,000: a line needs more of them, as its chi^2 has but two degrees of freedom. */
static const struct kind {
    const char *name;
    int z_lo, z_hi, nharm, gap_lo, gap_hi;
    double times;
} kinds[] = {
    {"lines", 0, 0, 1, 16, 3000, 52},
    {"harmonic sums", 0, 0, 4, 16, 1200, 30},
    {"drifts", 10, 100, 1, 16, 60, 30},
    {"drifts far apart", 10, 100, 1, 60, 3000, 30},
    {"sums of drifts", 10, 40, 4, 16, 1200, 30},
};

static double ln_p_alone(const struct signal *s)
{
    const double dof = (double)(s->z + 1) * s->nharm * (s->nharm + 1);
    return psr_chi2_logp(dof + s->excess, dof).ln_sf;
}

/* Whether a box of the sum of n harmonics, so many bins wide, may be as significant with both in it as
 * the brighter alone: noise of the powers, 60 of 900, moves either by less than 0.4 in five scatters. */
static bool is_better_together(const struct signal *a, const struct signal *b, double bins, int n)
{
    const double dof = bins * n * (n + 1);
    return bins <= ZMAX + 1 && psr_chi2_logp(dof + a->excess + b->excess, dof).ln_sf <
                                   0.6 * fmin(ln_p_alone(a), ln_p_alone(b));
}

/* Whether harmonics of both, brought to one frequency, overlap, are too near to be told apart there, or
 * stand out more together: then one box of a sum may hold them, and they are one candidate, rightly. */
static bool are_related(const struct signal *a, const struct signal *b)
{
    for (int h = 1; h <= SUMS; h++)
        for (int k = 1; k <= SUMS; k++) {
            double lo = fmax((double)a->first / h, (double)b->first / k);
            double hi = fmin((double)(a->first + a->z + 1) / h, (double)(b->first + b->z + 1) / k);
            double from = fmin((double)a->first / h, (double)b->first / k);
            double to = fmax((double)(a->first + a->z + 1) / h, (double)(b->first + b->z + 1) / k);
            if (h != k && (hi - lo > -PSR_PULSCAN_NEAR - 1 ||
                           is_better_together(a, b, ceil(to - from) + 1, h > k ? h : k)))
                return true;
        }
    return false;
}

static int64_t largest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void draw_two(const struct kind *k, uint64_t *seed, struct signal *a, struct signal *b)
{
    do {
        const int za = (int)tap_between(seed, k->z_lo, k->z_hi);
        const int zb = (int)tap_between(seed, k->z_lo, k->z_hi);
        const int64_t at = tap_between(seed, 4000, 4100);
        const int64_t gap = largest(tap_between(seed, k->gap_lo, k->gap_hi), zb + 1);
        const int64_t beside = tap_random(seed) & 1 ? at + za + 1 + gap : at - gap - zb - 1;
        *a = make_signal(at, za, k->nharm, 100 + 100 * tap_uniform(seed));
        *b = make_signal(beside, zb, k->nharm, k->times + 20 * tap_uniform(seed));
    } while (are_related(a, b));
}

/* Rows that are neither, nor noise far from both. */
static size_t count_parts(const struct found *f, const struct signal *a, const struct signal *b)
{
    size_t n = 0;
    for (size_t c = 0; c < f->n; c++) {
        const struct psr_pulscan_hit *best = &f->cand[c].best;
        const double away =
            fmin(fabs(best->r - (double)a->first), fabs(best->r - (double)b->first));
        n += !is_signal(best, a) && !is_signal(best, b) && away < 400;
    }
    return n;
}

static void test_two(struct found *f, const struct kind *k, uint64_t *seed)
{
    int bright = 0, faint = 0;
    size_t parts = 0;
    for (int i = 0; i < TRIES; i++) {
        struct signal a, b;
        draw_two(k, seed, &a, &b);
        float *x = make_noise(NBIN, seed);
        add_signal(x, &a, seed);
        add_signal(x, &b, seed);
        search(f, x);
        bright += is_listed(f, &a);
        faint += is_listed(f, &b);
        parts += count_parts(f, &a, &b);
        if (!is_listed(f, &a) || !is_listed(f, &b))
            diag("%s: of %d bins from %lld and %d from %lld one is not listed: %zu rows", k->name,
                 a.z + 1, (long long)a.first, b.z + 1, (long long)b.first, f->n);
        free(x);
    }
    ok(bright == TRIES && faint == TRIES && parts <= 2,
       "%s: %d bright ones, %d faint ones of %d, %zu rows of parts", k->name, bright, faint, TRIES,
       parts);
}

/* --- one that goes on -------------------------------------------------------------------------- */

/* A drift that grows faint, and a little less so again, but nowhere ends: one row, and in up to one of
 * four a second, where noise deepens the faint part.  20 of them with 13 more are less likely than
 * 1 in 10,000. */
static void test_one(struct found *f, uint64_t *seed)
{
    size_t rows = 0;
    for (int i = 0; i < TRIES; i++) {
        const int64_t at = tap_between(seed, 4000, 4100);
        const int z = (int)tap_between(seed, 50, 100), low = (int)tap_between(seed, 20, 49);
        const int again = (int)tap_between(seed, 20, 60);
        const struct signal part[] = {{at, z, 1, 400.0 * (z + 1)},
                                      {at + z + 1, low - 1, 1, 6.0 * low},
                                      {at + z + 1 + low, again, 1, 9.0 * (again + 1)}};
        float *x = make_noise(NBIN, seed);
        for (int k = 0; k < 3; k++)
            add_signal(x, &part[k], seed);
        search(f, x);
        rows += f->n;
        free(x);
    }
    ok((double)rows <= 1.6 * TRIES, "%d drifts that go on: %zu rows", TRIES, rows);
}

/* Pulses of 24 harmonics of one power each, between bins, so that their side lobes are as bright as
 * they can be, and add up in phase: one row, and of one in ten up to five lobes. */
static void test_lobes(struct found *f, uint64_t *seed)
{
    size_t rows = 0, right = 0;
    for (int i = 0; i < TRIES; i++) {
        const double r = (double)tap_between(seed, 300, 900) + 0.5;
        const double size = sqrt(pow(10, 3.5 + 1.5 * tap_uniform(seed)));
        float *x = make_noise(NBIN, seed);
        for (int64_t h = 1; h < 48; h += 2)
            for (int64_t k = 1; k < NBIN; k++)
                x[2 * k] += (float)(size / (M_PI * ((double)h * r - (double)k)));
        search(f, x);
        rows += f->n;
        right += f->n > 0 && fabs(f->cand[0].best.r - r) < 1;
        free(x);
    }
    ok(right == TRIES && rows <= 5 * TRIES / 2, "%d pulses with side lobes: %zu rows", TRIES, rows);
}

int main(void)
{
    uint64_t seed = tap_seed();
    struct found f;
    start(&f);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        test_two(&f, &kinds[k], &seed);
    test_one(&f, &seed);
    test_lobes(&f, &seed);
    stop_search(&f);
    return done_testing();
}
