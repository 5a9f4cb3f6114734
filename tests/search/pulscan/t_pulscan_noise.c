/* pulscan: false alarms.  The best candidate of a spectrum of noise is above sigma in a share Q of
 * all spectra, Q the Gaussian's tail.
 *
 * `t_pulscan_noise` looks at few settings and spectra; `t_pulscan_noise NSPEC NBIN [SEED]` at many
 * settings, and prints the table of tests/science/false_alarms.txt. */
#include <psrkit/experimental/pulscan.h>
#include <psrkit/fake.h>
#include <psrkit/signif.h>

#include "fake/fake_internal.h"
#include "formats/series/series_internal.h"
#include "search/pulscan/pulscan_internal.h"
#include "tests/support/tap.h"
#include <string.h>

static const int sums[] = {1, 2, 3, 4};

/* The blocks of realfft -rednoise, and longer ones. */
static const struct psr_redden reddens[] = {
    {0}, {6, 100, 0x1p40, false, false}, {50, 1000, 0x1p40, false, false}};
enum { NREDDEN = sizeof reddens / sizeof *reddens };

struct setting {
    int zmax, nharm;
    bool logz, rblock;
    int redden; /* of the table above; 0: no */
};

enum { NSIGMA = 3 };

/* Some 20 figures are judged with each seed. */
static const double LEAST_CHANCE = 1e-7;

struct outcome {
    int above[NSIGMA];     /* spectra whose best candidate is above 1, 2, 3 */
    double *place, ntrial; /* [nplace] of those above 0.9, 0 to 1 along what is searched */
    int nplace;
};

struct survey {
    size_t nbin;
    int nspec, nsetting;
    uint64_t seed;
    const struct setting *setting; /* [nsetting] */
    struct outcome *outcome;       /* [nsetting] */
};

static psr_pulscan *make_plan(const struct survey *s, const struct setting *how)
{
    const struct psr_pulscan_desc d = {
        .size = sizeof d,
        .nbin = s->nbin,
        .zmax = how->zmax,
        .logz = how->logz,
        .rblock = how->rblock,
        .nharm = sums,
        .nnharm = (size_t)how->nharm,
        .sigma = 0.9,
        .redden = reddens[how->redden],
        .nthread = 1,
        .backend = "cpu",
    };
    psr_pulscan *plan;
    psr_err err;
    if (psr_pulscan_create(&plan, &d, &err)) {
        printf("Bail out! %s\n", err.msg);
        exit(EXIT_FAILURE);
    }
    return plan;
}

/* Where a box begins, from 0 to 1 along the starts that boxes of its kind have. */
static double place_of(const struct psr_pulscan_hit *h, size_t nbin)
{
    double lo = fmax(1, (h->nharm - 1.0) * (h->z + 1));
    double hi = floor((double)nbin / h->nharm) - h->z;
    return ((double)h->first - lo + 0.5) / (hi - lo);
}

static void search_one(psr_pulscan *plan, const float *x, const struct survey *s, int k)
{
    struct psr_pulscan_result r;
    struct psr_pulscan_cand *cand;
    const struct psr_pulscan_merge_desc how = {
        .size = sizeof how, .max = 1, .plan = s->setting[k].rblock ? NULL : plan};
    size_t n;
    psr_err err;
    if (psr_pulscan_execute(plan, 1, &x, &r, &err) ||
        psr_pulscan_merge(r.hit, r.nhit, &how, &cand, &n, NULL, &err)) {
        printf("Bail out! %s\n", err.msg);
        exit(EXIT_FAILURE);
    }
    struct outcome *o = &s->outcome[k];
    for (int i = 0; n > 0 && i < NSIGMA; i++)
        o->above[i] += cand[0].best.sigma > i + 1;
    if (n > 0 && !s->setting[k].rblock)
        o->place[o->nplace++] = place_of(&cand[0].best, s->nbin);
    free(cand);
}

/* The same noise, as it is and de-reddened. */
static void make_noise(const struct survey *s, uint32_t stream, float *const x[NREDDEN])
{
    psr_err err;
    psr_rng_normal(s->seed, stream, 0, 2 * s->nbin, x[0]);
    for (int k = 1; k < NREDDEN; k++) {
        memcpy(x[k], x[0], 2 * s->nbin * sizeof **x);
        if (psr_spectrum_deredden(x[k], (int64_t)s->nbin, &reddens[k], &err)) {
            printf("Bail out! %s\n", err.msg);
            exit(EXIT_FAILURE);
        }
    }
}

static void run(struct survey *s)
{
    s->outcome = tap_take((size_t)s->nsetting, sizeof *s->outcome);
    psr_pulscan **plan = tap_take((size_t)s->nsetting, sizeof *plan);
    float *x[NREDDEN];
    for (int k = 0; k < NREDDEN; k++)
        x[k] = tap_take(2 * s->nbin, sizeof **x);
    for (int k = 0; k < s->nsetting; k++) {
        plan[k] = make_plan(s, &s->setting[k]);
        s->outcome[k].place = tap_take((size_t)s->nspec, sizeof(double));
        s->outcome[k].ntrial = psr_pulscan_trials(plan[k], 1);
    }
    for (int c = 0; c < s->nspec; c++) {
        make_noise(s, (uint32_t)c, x);
#pragma omp parallel for schedule(dynamic)
        for (int k = 0; k < s->nsetting; k++)
            search_one(plan[k], x[s->setting[k].redden], s, k);
    }
    for (int k = 0; k < s->nsetting; k++)
        psr_pulscan_destroy(plan[k]);
    free(plan);
    for (int k = 0; k < NREDDEN; k++)
        free(x[k]);
}

/* --- judgement -------------------------------------------------------------------------------- */

/* The chance that n numbers drawn evenly from 0 to 1 lie as far from even (Kolmogorov). */
static double evenness(double *x, int n)
{
    double d = 0, p = 0;
    tap_sort_doubles(x, (size_t)n);
    for (int i = 0; i < n; i++)
        d = fmax(d, fmax(x[i] - (double)i / n, (double)(i + 1) / n - x[i]));
    double t = d * (sqrt(n) + 0.12 + 0.11 / sqrt(n));
    for (int j = 1; j <= 100; j++)
        p += 2 * (j % 2 ? 1 : -1) * exp(-2.0 * j * j * t * t);
    return n > 0 ? fmin(fmax(p, 0), 1) : NAN;
}

/* The chance of a count from first to last, of which mean are expected (Poisson). */
static double chance_of(int first, int last, double mean)
{
    double p = 0;
    for (int n = first; n <= last; n++)
        p += exp(n * log(mean) - mean - lgamma(n + 1.0));
    return p;
}

/* Whether the share can be between Q / 3 and Q, and of de-reddened spectra between Q / 8 and 2 Q:
 * not where chance alone would give such a count less often than LEAST_CHANCE. */
static bool allowed(int above, int nspec, int sigma, bool reddened)
{
    double want = nspec * exp(psr_gauss_logp(sigma).ln_sf);
    double low = reddened ? want / 8 : want / 3, high = reddened ? 2 * want : want;
    int most = (int)(fmax(above, high) + 10 * sqrt(high)) + 50;
    return chance_of(above, most, high) > LEAST_CHANCE && chance_of(0, above, low) > LEAST_CHANCE;
}

static bool judge(const struct survey *s, int k, char *text, size_t room)
{
    const struct setting *how = &s->setting[k];
    struct outcome *o = &s->outcome[k];
    double even = how->rblock ? NAN : evenness(o->place, o->nplace);
    bool good = isnan(even) || even > LEAST_CHANCE;
    static const char *const red[] = {"", ", blocks 6 ln k", ", blocks 50 ln k"};
    int n = snprintf(text, room, "zmax %4d, H %d, %s%s%s, N_eff %9.4g:", how->zmax, how->nharm,
                     how->logz ? "log z  " : "every z", how->rblock ? ", r-block" : "         ",
                     red[how->redden], o->ntrial);
    for (int i = 0; i < NSIGMA; i++) {
        double want = s->nspec * exp(psr_gauss_logp(i + 1).ln_sf);
        bool fits = allowed(o->above[i], s->nspec, i + 1, how->redden > 0);
        n += snprintf(text + n, room - (size_t)n, " %5d (%.2f Q)%s", o->above[i],
                      o->above[i] / want, fits ? "" : "!");
        good = good && fits;
    }
    if (!isnan(even))
        snprintf(text + n, room - (size_t)n, "  r even: p = %.3f", even);
    return good;
}

static void report(struct survey *s)
{
    diag("%d spectra of %zu bins, seed %llu: best candidates above sigma 1, 2, 3 and as shares of "
         "what the Gaussian has",
         s->nspec, s->nbin, (unsigned long long)s->seed);
    for (int k = 0; k < s->nsetting; k++) {
        char text[512];
        bool good = judge(s, k, text, sizeof text);
        ok(good, "%s", text);
        free(s->outcome[k].place);
    }
    free(s->outcome);
}

static void run_few(void)
{
    static const struct setting few[] = {
        {.zmax = 0, .nharm = 1},
        {.zmax = 1, .nharm = 4},
        {.zmax = 60, .nharm = 1},
        {.zmax = 200, .nharm = 4},
        {.zmax = 200, .nharm = 4, .logz = true, .rblock = true},
        {.zmax = 200, .nharm = 4, .redden = 1},
    };
    struct survey s = {.nbin = 16384, .nspec = 1000, .seed = tap_seed(), .setting = few};
    s.nsetting = sizeof few / sizeof *few;
    run(&s);
    report(&s);
}

static void run_many(int nspec, size_t nbin, uint64_t seed)
{
    static const int zmax[] = {0, 10, 50, 200, 600, 1200};
    static struct setting all[6 * 4 * 2 + 4 + 2 * 6];
    struct survey s = {.nbin = nbin, .nspec = nspec, .seed = seed, .setting = all};
    for (int z = 0; z < 6; z++)
        for (int h = 1; h <= 4; h++)
            for (int kind = 0; kind < (zmax[z] == 0 ? 1 : zmax[z] == 200 ? 3 : 2); kind++)
                all[s.nsetting++] = (struct setting){zmax[z], h, kind == 1, kind == 2, 0};
    for (int redden = 1; redden < NREDDEN; redden++)
        for (int z = 0; z <= 200; z += 200)
            for (int h = 1; h <= 4; h += h)
                all[s.nsetting++] = (struct setting){z, h, false, false, redden};
    run(&s);
    report(&s);
}

int main(int argc, char **argv)
{
    if (argc >= 3)
        run_many(atoi(argv[1]), (size_t)atoll(argv[2]), argc > 3 ? (uint64_t)atoll(argv[3]) : 7);
    else
        run_few();
    return done_testing();
}
