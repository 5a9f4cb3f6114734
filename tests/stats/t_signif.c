/* signif: tails of chi-squared and Gaussian against a table of 60-digit arithmetic, and the laws
 * that inverses, trials and sigma obey. */
#include <psrkit/signif.h>

#include "tests/support/tap.h"
#include <float.h>
#include <string.h>

/* |got - want| / |want|; what is too small for a double need only be small. */
static double relative(double got, double want)
{
    if (fabs(want) < 1e-300)
        return fabs(got) < 1e-300 ? 0 : INFINITY;
    return fabs(got / want - 1);
}

struct worst {
    double error, power, dof;
};

static void keep_worst(struct worst *w, double error, double power, double dof)
{
    if (!(error <= w->error)) /* a NaN is the worst of all */
        *w = (struct worst){error, power, dof};
}

static void judge(const struct worst *w, double limit, const char *what)
{
    ok(w->error <= limit, "%s within %g: worst %.2g at power %.17g, dof %.17g", what, limit,
       w->error, w->power, w->dof);
}

static int open_table(FILE **file, const char *name)
{
    const char *srcdir = getenv("srcdir");
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/golden/%s", srcdir ? srcdir : ".", name);
    *file = fopen(path, "r");
    return ok(*file != NULL, "open %s", path);
}

/* The whole range is in two parts: up to 1e6 degrees of freedom and beyond. */
static void test_table(const char *name, int least)
{
    FILE *file;
    if (!open_table(&file, name))
        return;
    char line[512];
    int nrow = 0;
    struct worst sf[2] = {{0}}, cdf[2] = {{0}}, sigma = {0}, inverse = {0};
    while (fgets(line, sizeof line, file)) {
        double power, dof, ln_sf, ln_cdf, s;
        if (sscanf(line, "%lf %lf %lf %lf %lf", &power, &dof, &ln_sf, &ln_cdf, &s) != 5)
            continue;
        nrow++;
        int part = dof > 1e6;
        struct psr_logp p = psr_chi2_logp(power, dof);
        keep_worst(&sf[part], relative(p.ln_sf, ln_sf), power, dof);
        keep_worst(&cdf[part], relative(p.ln_cdf, ln_cdf), power, dof);
        keep_worst(&sigma, fabs(psr_gauss_sigma(p) - s) / fmax(1, fabs(s)), power, dof);
        keep_worst(&inverse, relative(psr_chi2_threshold(p, dof), power), power, dof);
    }
    fclose(file);
    ok(nrow >= least, "%s has %d rows", name, nrow);
    if (sf[0].dof > 0) {
        judge(&sf[0], 1e-12, "ln p");
        judge(&cdf[0], 1e-12, "ln(1-p)");
    }
    judge(&sf[1], 1e-10, "ln p beyond 1e6 dof");
    judge(&cdf[1], 1e-10, "ln(1-p) beyond 1e6 dof");
    judge(&sigma, 1e-12, "sigma");
    judge(&inverse, 1e-10, "the inverse");
}

static double log_uniform(uint64_t *seed, double lo, double hi)
{
    return lo * exp(tap_uniform(seed) * log(hi / lo));
}

/* A power and a dof, mostly where the tails are of interest. */
static void draw_point(uint64_t *seed, double *power, double *dof)
{
    *dof = log_uniform(seed, 1, 1e8);
    if (tap_random(seed) & 1)
        *dof = round(*dof);
    switch (tap_between(seed, 0, 3)) {
    case 0:
        *power = log_uniform(seed, 1e-3, 1e12);
        break;
    case 1:
        *power = *dof * log_uniform(seed, 0.1, 10);
        break;
    default:
        *power = fmax(*dof + sqrt(2 * *dof) * (30 * tap_uniform(seed) - 10), 1e-3);
    }
}

/* What rounding may do against the direction, relative. */
static const double slack = 4e-13;

static bool falls(double before, double after)
{
    return after <= before + slack * fabs(before);
}

/* Steps of 1e-11 in power must show; those in dof must not go the wrong way. */
static void test_monotone(uint64_t *seed)
{
    struct worst against = {0}, flat = {0};
    for (int i = 0; i < 200000; i++) {
        double power, dof;
        draw_point(seed, &power, &dof);
        double step = log_uniform(seed, 1e-11, 1e-1);
        struct psr_logp p = psr_chi2_logp(power, dof);
        struct psr_logp further = psr_chi2_logp(power * (1 + step), dof);
        struct psr_logp freer = psr_chi2_logp(power, dof * (1 + step));
        bool right = falls(p.ln_sf, further.ln_sf) && falls(further.ln_cdf, p.ln_cdf) &&
                     falls(freer.ln_sf, p.ln_sf) && falls(p.ln_cdf, freer.ln_cdf);
        bool shows = further.ln_sf < p.ln_sf || p.ln_sf > -1e-290;
        keep_worst(&against, right ? 0 : 1, power, dof);
        keep_worst(&flat, shows ? 0 : 1, power, dof);
    }
    judge(&against, 0, "p falls with power and rises with dof");
    judge(&flat, 0, "p falls at every step of power");
}

static void test_round_trips(uint64_t *seed)
{
    struct worst chi = {0}, back = {0}, gauss = {0};
    for (int i = 0; i < 20000; i++) {
        double power, dof;
        draw_point(seed, &power, &dof);
        double found = psr_chi2_threshold(psr_chi2_logp(power, dof), dof);
        keep_worst(&chi, relative(found, power), power, dof);
        double sigma = 80 * tap_uniform(seed) - 40;
        double s = psr_gauss_sigma(psr_gauss_logp(sigma));
        keep_worst(&gauss, fabs(s - sigma) / fmax(1, fabs(sigma)), sigma, 0);
        double threshold = psr_chi2_threshold(psr_gauss_logp(sigma), dof);
        s = psr_gauss_sigma(psr_chi2_logp(threshold, dof));
        /* One rounding of the power moves sigma by sqrt(dof / 2) 1e-16, and of a power far below
         * the least double nothing is left. */
        if (threshold > 1e-300)
            keep_worst(&back, fabs(s - sigma) / fmax(1, 1e-3 * sqrt(dof)), sigma, dof);
    }
    judge(&chi, 1e-10, "power -> p -> power");
    judge(&gauss, 1e-14, "sigma -> p -> sigma");
    judge(&back, 1e-11, "sigma -> power -> sigma");
}

/* Whatever p is: a power, whose smaller tail is p again, or one too small for a double. */
static void test_any_p(uint64_t *seed)
{
    struct worst back = {0}, small = {0};
    for (int i = 0; i < 20000; i++) {
        double dof = log_uniform(seed, 1, 1e8);
        struct psr_logp p = psr_logp_from_sf(-log_uniform(seed, 1e-22, 1e13));
        if (i % 2)
            p = (struct psr_logp){p.ln_cdf, p.ln_sf};
        if (isinf(p.ln_sf) || isinf(p.ln_cdf))
            continue;
        double power = psr_chi2_threshold(p, dof);
        struct psr_logp q = psr_chi2_logp(fmax(power, 1e-290), dof);
        if (!(power < 1e-290))
            keep_worst(&back,
                       p.ln_sf < p.ln_cdf ? relative(q.ln_sf, p.ln_sf)
                                          : relative(q.ln_cdf, p.ln_cdf),
                       power, dof);
        else
            keep_worst(&small, power >= 0 && q.ln_cdf >= p.ln_cdf ? 0 : 1, power, dof);
    }
    judge(&back, 1e-11, "p -> power -> p, to the ends of p");
    judge(&small, 0, "powers that are too small for a double");
}

static void test_gauss(void)
{
    struct psr_logp p = psr_gauss_logp(0);
    near(p.ln_sf, -log(2.0), 2e-16, "half of all is beyond sigma 0");
    near(psr_gauss_sigma(p), 0, 1e-15, "and back");
    p = psr_gauss_logp(5);
    near(exp(p.ln_sf), 2.866515718791939e-7, 1e-20, "5 sigma");
    p = psr_gauss_logp(-5);
    near(exp(p.ln_cdf), 2.866515718791939e-7, 1e-20, "-5 sigma");
    near(psr_gauss_sigma(psr_logp_from_sf(-5e11)), 999999.999985265, 1e-8, "ln p = -5e11");
    ok(psr_gauss_sigma((struct psr_logp){0, -INFINITY}) == -INFINITY, "p = 1 is -inf");
    ok(psr_gauss_sigma((struct psr_logp){-INFINITY, 0}) == INFINITY, "p = 0 is inf");
    ok(isinf(psr_gauss_logp(INFINITY).ln_sf) && psr_gauss_logp(INFINITY).ln_cdf == 0,
       "sigma = inf");
    bool even = true;
    for (double s = 0.01; s < 30; s *= 1.1) {
        struct psr_logp a = psr_gauss_logp(s), b = psr_gauss_logp(-s);
        even &= a.ln_sf == b.ln_cdf && a.ln_cdf == b.ln_sf;
        even &= fabs(exp(a.ln_sf) - 0.5 * erfc(s / sqrt(2.0))) <= 5e-13 * exp(a.ln_sf);
    }
    ok(even, "sigma and -sigma are mirror images, and agree with erfc");
}

static struct psr_logp logp_of(long double p)
{
    return (struct psr_logp){(double)logl(p), (double)log1pl(-p)};
}

/* Against long double, where that has the range. */
static void test_trials_plain(uint64_t *seed)
{
    struct worst sidak = {0}, bonferroni = {0};
    for (int i = 0; i < 20000; i++) {
        long double p = expl((long double)log_uniform(seed, 1e-3, 60) * -1);
        double n = log_uniform(seed, 1, 1e6);
        long double u = (long double)n * log1pl(-p); /* ln of what should be 1 - p */
        long double ln_one = u > -1 ? logl(-expm1l(u)) : log1pl(-expl(u));
        struct psr_logp got = psr_logp_trials(logp_of(p), n, PSR_TRIALS_SIDAK);
        keep_worst(&sidak, relative(got.ln_sf, (double)ln_one), (double)p, n);
        keep_worst(&sidak, relative(got.ln_cdf, (double)u), (double)p, n);
        got = psr_logp_trials(logp_of(p), n, PSR_TRIALS_BONFERRONI);
        double want = (double)fminl(0, logl(p) + logl(n));
        keep_worst(&bonferroni, fabs(got.ln_sf - want) / fmax(1, fabs(want)), (double)p, n);
    }
    judge(&sidak, 1e-12, "Sidak (p for power, n for dof)");
    judge(&bonferroni, 1e-14, "Bonferroni");
}

static void test_trials_extremes(void)
{
    enum psr_trials both[] = {PSR_TRIALS_BONFERRONI, PSR_TRIALS_SIDAK};
    for (int i = 0; i < 2; i++) {
        struct psr_logp p = psr_logp_trials(psr_logp_from_sf(-1e4), 1e300, both[i]);
        near(p.ln_sf, -1e4 + 300 * log(10.0), 1e-11, "1e300 trials of ln p = -1e4");
        struct psr_logp q = psr_logp_trials(p, 1e-300, both[i]);
        near(q.ln_sf, -1e4, 1e-10, "1/n undoes n");
        p = psr_logp_trials(psr_gauss_logp(-2), 1, both[i]);
        ok(p.ln_sf == psr_gauss_logp(-2).ln_sf, "one trial changes nothing");
        p = psr_logp_trials(psr_logp_from_sf(-1), 1e300, both[i]);
        ok(p.ln_sf == 0 && psr_gauss_sigma(p) < -1e100, "more trials than 1/p leave nothing");
        ok(isnan(psr_logp_trials(p, 0, both[i]).ln_sf) &&
               isnan(psr_logp_trials(p, NAN, both[i]).ln_sf),
           "no trials are no trials");
    }
    struct psr_logp p = {-1e-80, log(1e-80)}; /* 1 - p = 1e-80 */
    near(psr_logp_trials(p, 7, PSR_TRIALS_SIDAK).ln_cdf, 7 * log(1e-80), 1e-9,
         "Sidak keeps 1 - p where p is near 1");
    p = psr_logp_trials(psr_gauss_logp(5), 1 / 3.0, PSR_TRIALS_SIDAK);
    p = psr_logp_trials(p, 3, PSR_TRIALS_SIDAK);
    near(psr_gauss_sigma(p), 5, 1e-13, "a third of a trial, three times");
    struct psr_logp a = psr_logp_trials(psr_logp_from_sf(-300), exp(280), PSR_TRIALS_SIDAK);
    near(a.ln_sf, -20 - exp(-20) / 2, 1e-13, "Sidak below Bonferroni by p^2/2");
}

static void test_edges(void)
{
    struct psr_logp p = psr_chi2_logp(0, 5);
    ok(p.ln_sf == 0 && p.ln_cdf == -INFINITY, "power 0");
    p = psr_chi2_logp(-3, 5);
    ok(p.ln_sf == 0 && p.ln_cdf == -INFINITY, "negative power");
    p = psr_chi2_logp(INFINITY, 5);
    ok(p.ln_sf == -INFINITY && p.ln_cdf == 0, "infinite power");
    const double bad[][2] = {{NAN, 5}, {5, NAN}, {5, 0}, {5, 0.99}, {5, -1}, {5, INFINITY}};
    bool all = true;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        p = psr_chi2_logp(bad[i][0], bad[i][1]);
        all &= isnan(p.ln_sf) && isnan(p.ln_cdf);
    }
    ok(all, "NaN, and dof below 1 or infinite, give NaN");
    p = psr_chi2_logp(1e12, 2);
    ok(p.ln_sf == -5e11 && p.ln_cdf == 0 && !signbit(p.ln_cdf), "dof 2 is exp(-power / 2)");
    p = psr_chi2_logp(1e300, 1e12);
    ok(isfinite(p.ln_sf) && p.ln_cdf == 0, "power 1e300");
    struct psr_logp none = {NAN, NAN};
    ok(isnan(psr_chi2_threshold(none, 5)) && isnan(psr_gauss_sigma(none)) &&
           isnan(psr_gauss_logp(NAN).ln_sf) && isnan(psr_logp_from_sf(0.1).ln_sf) &&
           isnan(psr_chi2_threshold(psr_gauss_logp(1), 0.5)),
       "NaN passes through");
    ok(psr_chi2_threshold(psr_chi2_logp(0, 5), 5) == 0 &&
           psr_chi2_threshold(psr_chi2_logp(INFINITY, 5), 5) == INFINITY,
       "thresholds of p = 1 and p = 0");
}

/* As the header says: where the polynomial holds, and that it does not elsewhere. */
static void test_pulscan(void)
{
    ok(psr_pulscan_dof(1, 0) == 2 && psr_pulscan_dof(4, 10) == 220, "H(H+1)(z+1)");
    struct worst holds = {0};
    const double reach[][2] = {{300, 2.6}, {1e4, 2.6}, {1e6, 2.6}, {100, 5.5}, {20, 22}, {2, 210}};
    for (size_t i = 0; i < sizeof reach / sizeof *reach; i++)
        for (double ratio = reach[i][1]; ratio < 1e5; ratio *= 1.01) {
            double dof = reach[i][0], power = dof * ratio;
            double truth = psr_chi2_logp(power, dof).ln_sf;
            keep_worst(&holds, relative(psr_pulscan_logp(power, dof), truth), power, dof);
        }
    judge(&holds, 0.02, "the polynomial where it holds");
    ok(psr_pulscan_logp(100, 105) == 0, "the polynomial is 0 from dof = 1.05 power");
    double truth = psr_chi2_logp(1071, 1000).ln_sf;
    ok(psr_pulscan_logp(1071, 1000) < 10 * truth, "the polynomial is far off near the ridge");
}

int main(void)
{
    uint64_t seed = tap_seed();
    test_table("signif_table.txt", 2000);
    test_table("signif_wide.txt", 120);
    test_monotone(&seed);
    test_round_trips(&seed);
    test_any_p(&seed);
    test_gauss();
    test_trials_plain(&seed);
    test_trials_extremes();
    test_edges();
    test_pulscan();
    return done_testing();
}
