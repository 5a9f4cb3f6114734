/* accelsearch: pulsars beside bright lines and beside other pulsars, and bright lines alone. */
#include <psrkit/experimental/accelsearch.h>
#include <psrkit/signif.h>

#include "search/matched/accel_plan.h"

#include "tests/support/accel_truth.h"

enum { NBIN = 6000, FAR = 300 };

static void bail(const psr_err *err)
{
    printf("Bail out! %s\n", err->msg);
    exit(EXIT_FAILURE);
}

/* Noise of mean power p. */
static float *make_noise(uint64_t *random, double p)
{
    float *x = tap_take(2 * NBIN, sizeof *x);
    for (size_t i = 0; i < 2 * NBIN; i++)
        x[i] = (float)(tap_normal(random) * sqrt(p / 2));
    return x;
}

struct signal {
    double r, z, power, phase_rad;
};

static void add(float *x, const struct signal *s)
{
    const double complex a = sqrt(s->power) * cexp(I * s->phase_rad);
    for (int64_t k = (int64_t)s->r - FAR; k <= (int64_t)s->r + FAR; k++)
        if (k > 0 && k < NBIN) {
            const double complex v = a * truth_response((double)k - s->r, s->z, 0);
            x[2 * k] += (float)creal(v);
            x[2 * k + 1] += (float)cimag(v);
        }
}

static struct signal draw_line(uint64_t *random, double r)
{
    static const double power[] = {400, 4000, 40000};
    const int kind = (int)tap_between(random, 0, 3);
    return (struct signal){
        .r = floor(r) + (kind == 0   ? 0
                         : kind == 1 ? 0.5
                                     : tap_uniform(random)),
        .z = kind == 3 ? 24 * tap_uniform(random) - 12 : 0,
        .power = power[tap_between(random, 0, 2)],
        .phase_rad = 2 * M_PI * tap_uniform(random),
    };
}

static psr_accelsearch *make_plan(int zmax, int numharm, double rlo, int nthread)
{
    const struct psr_accelsearch_desc d = {.size = sizeof d,
                                           .nbin = NBIN,
                                           .zmax = zmax,
                                           .numharm = numharm,
                                           .sigma = 2,
                                           .rlo = rlo,
                                           .nthread = nthread,
                                           .backend = "cpu"};
    psr_accelsearch *plan = NULL;
    psr_err err;
    if (psr_accelsearch_create(&plan, &d, &err))
        bail(&err);
    return plan;
}

static struct psr_accelsearch_result run(psr_accelsearch *plan, const float *x)
{
    const struct psr_accelsearch_input in = {.x = x};
    struct psr_accelsearch_result r;
    psr_err err;
    if (psr_accelsearch_execute(plan, &in, &r, &err))
        bail(&err);
    return r;
}

static const struct psr_accel_cand *find_near(const struct psr_accelsearch_result *found, double r)
{
    for (size_t k = 0; k < found->ncand; k++)
        if (fabs(found->cand[k].r.value - r) < 1)
            return &found->cand[k];
    return NULL;
}

/* Of a line, other candidates near it that are not noise. */
static size_t count_others(const struct psr_accelsearch_result *found, double r, int zmax)
{
    size_t n = 0;
    for (size_t k = 0; k < found->ncand; k++) {
        const struct psr_accel_cand *c = &found->cand[k];
        n += c->sigma > 4.5 && fabs(c->r.value - r) > 2 && fabs(c->r.value - r) < zmax;
    }
    return n;
}

static void test_beside(uint64_t *random, int zmax, double nearest, int ntrial)
{
    psr_accelsearch *plan = make_plan(zmax, 8, 100, 1);
    int lost = 0, misplaced = 0;
    size_t others = 0;
    for (int trial = 0; trial < ntrial; trial++) {
        const double r = 500 + tap_uniform(random), away = nearest + 20 * tap_uniform(random);
        struct signal line = draw_line(random, r + (tap_between(random, 0, 1) ? away : -away - 1));
        float *x = make_noise(random, 1);
        add(x, &line);
        struct psr_accelsearch_result found = run(plan, x);
        others += count_others(&found, line.r, zmax);
        for (int h = 1; h <= 8; h++)
            add(x, &(struct signal){h * r, 0, 20, h});
        found = run(plan, x);
        const struct psr_accel_cand *c = find_near(&found, r);
        lost += c == NULL || !find_near(&found, line.r);
        misplaced += c && (fabs(c->r.value - r) > 6 * c->r.error || c->sigma < 9);
        if (!c)
            diag("a pulsar at %.2f, a line at %.2f, drift %.2f, power %.0f", r, line.r, line.z,
                 line.power);
        free(x);
    }
    ok(lost == 0 && misplaced == 0,
       "zmax %d: %d of %d pulsars lost %.0f bins from lines, %d misplaced", zmax, lost, ntrial,
       nearest, misplaced);
    ok(others == 0, "the lines alone have no other candidates (%zu)", others);
    psr_accelsearch_destroy(plan);
}

/* Adds a steady pulse of 16 harmonics at r bins, which is no whole number. */
static void add_slow(float *x, double r, double power, double turns)
{
    for (int h = 1; h <= 16; h++)
        for (int64_t k = 1; k < NBIN; k++) {
            const double q = (double)k - h * r;
            const double complex v = sqrt(power * exp(-h * h / 200.0)) * sin(M_PI * q) /
                                     (M_PI * q) * cexp(I * M_PI * (2 * h * turns - q));
            x[2 * k] += (float)creal(v);
            x[2 * k + 1] += (float)cimag(v);
        }
}

/* Whether small multiples of two frequencies come so close that most of the harmonics of one are the other's. */
static bool is_ratio(double a, double b)
{
    for (int p = 1; p <= 4; p++)
        for (int q = 1; q <= 4; q++)
            if (fabs(p * a - q * b) < 8)
                return true;
    return false;
}

/* Slow pulsars are everywhere within 15 bins of some p/q of each other. */
static void test_two_slow(uint64_t *random, int zmax, int ntrial)
{
    psr_accelsearch *plan = make_plan(zmax, 16, 10, 1);
    int lost = 0, misplaced = 0;
    size_t rows[2] = {0, 0};
    for (int trial = 0; trial < ntrial; trial++) {
        double r[2] = {30 + 220 * tap_uniform(random), 0}, power[2];
        do
            r[1] = r[0] + 100 * tap_uniform(random) - 50;
        while (r[1] < 20 || is_ratio(r[0], r[1]));
        float *x = make_noise(random, 1);
        for (int k = 0; k < 2; k++) {
            power[k] = k ? 12 : 12 * pow(30, tap_uniform(random));
            add_slow(x, r[k], power[k], tap_uniform(random));
            struct psr_accelsearch_result found = run(plan, x);
            rows[k] += found.ncand;
            for (int m = 0; m <= k; m++) {
                const struct psr_accel_cand *c = find_near(&found, r[m]);
                lost += c == NULL;
                misplaced += c && fabs(c->r.value - r[m]) > 12 * c->r.error;
                if (!c)
                    diag("%d pulsars: none at %.2f (power %.0f), at %.2f (%.0f) another", k + 1,
                         r[m], power[m], r[1 - m], power[1 - m]);
            }
        }
        free(x);
    }
    ok(lost == 0 && misplaced == 0,
       "zmax %d: of %d pairs of slow pulsars %d lost, %d misplaced; %zu rows of one, %zu of two",
       zmax, ntrial, lost, misplaced, rows[0], rows[1]);
    psr_accelsearch_destroy(plan);
}

static void test_threads(uint64_t *random)
{
    psr_accelsearch *one = make_plan(50, 8, 100, 1), *four = make_plan(50, 8, 100, 4);
    float *x = make_noise(random, 1);
    for (int k = 0; k < 6; k++) {
        const struct signal line = draw_line(random, 400 + 800 * k + 40 * tap_uniform(random));
        add(x, &line);
    }
    const struct psr_accelsearch_result a = run(one, x), b = run(four, x);
    bool same = a.ncand == b.ncand;
    for (size_t k = 0; same && k < a.ncand; k++)
        same = memcmp(&a.cand[k].r, &b.cand[k].r, sizeof a.cand[k].r) == 0 &&
               memcmp(&a.cand[k].sigma, &b.cand[k].sigma, sizeof a.cand[k].sigma) == 0;
    ok(same && a.ncand >= 4, "six lines: the same %zu candidates on four threads", a.ncand);
    psr_accelsearch_destroy(one);
    psr_accelsearch_destroy(four);
    free(x);
}

/* --- the response alone ----------------------------------------------------------------------- */

struct parts {
    struct psr_accel_search s;
    struct psr_accel_normalise *norm;
    struct psr_correlator *correlator;
    struct psr_template_bank *bank;
    struct psr_accel_lines *lines;
};

/* Parts keep the address of p->s. */
static void make_parts(struct parts *p)
{
    const struct psr_accelsearch_desc d = {
        .size = sizeof d, .nbin = NBIN, .zmax = 50, .numharm = 1, .sigma = 2, .nthread = 1};
    psr_err err;
    if (psr_accel_search_resolve(&p->s, &d, &err))
        bail(&err);
    const int reach = psr_template_reach(p->s.jmax, 0);
    if (psr_accel_normalise_create(&p->norm, &p->s, reach, &err) ||
        psr_correlator_create(&p->correlator, reach, psr_correlator_bins(reach, 0), &err) ||
        psr_template_bank_create(&p->bank, p->correlator, p->s.jmax, 0, false, true, 1, NULL,
                                 &err) ||
        psr_accel_lines_create(&p->lines, &p->s, &err))
        bail(&err);
}

static void drop_parts(struct parts *p)
{
    psr_accel_lines_destroy(p->lines);
    psr_template_bank_destroy(p->bank);
    psr_correlator_destroy(p->correlator);
    psr_accel_normalise_destroy(p->norm);
    psr_accel_search_forget(&p->s);
}

/* Power of bins around r, less the lines that were found away from "kept". */
static double power_left(const struct parts *p, double r, double kept)
{
    float x[2 * 200];
    const struct psr_split bin = {x, x + 200};
    const int64_t first = (int64_t)r - 100;
    double sum = 0;
    psr_accel_normalise_load(p->norm, first, 200, bin);
    psr_accel_lines_clean(p->lines, kept, first, 200, bin);
    for (size_t i = 0; i < 400; i++)
        sum += (double)x[i] * (double)x[i];
    return sum;
}

/* Of a line, or of two that are none together, in noise of power 1. */
static void test_response(uint64_t *random, bool two)
{
    struct parts p = {.norm = NULL};
    make_parts(&p);
    float *x = make_noise(random, 1);
    struct signal line = draw_line(random, 3000);
    line.power = 40000;
    add(x, &line);
    if (two)
        add(x, &(struct signal){line.r + 4, line.z, 30000, 1});
    const struct psr_accelsearch_input in = {.x = x};
    psr_err err;
    struct psr_accel_hits hits = {.n = 3, .room = 3};
    hits.hit = tap_take(3, sizeof *hits.hit);
    const int64_t i = (int64_t)rint(2 * line.r);
    const int j = (int)rint(line.z / 2);
    hits.hit[0] = (struct psr_accel_hit){i + 8, j + 12, 0, 0, 40000.0F / 24};
    hits.hit[1] = (struct psr_accel_hit){i, j, 0, 0, 39000};
    hits.hit[2] = (struct psr_accel_hit){i + 2000, 0, 0, 0, 50};
    if (psr_accel_normalise_measure(p.norm, &in, &err) ||
        psr_accel_lines_subtract(p.lines, p.norm, p.bank, &hits, &err))
        bail(&err);
    const double left = power_left(&p, line.r, 0), all = power_left(&p, line.r, line.r);
    if (two)
        ok(hits.n == 3 && fabs(left - all) <= 1e-9 * all, "two lines side by side stay (%.0f)",
           left);
    else
        ok(hits.n == 2 && left < 280 && all > 30000,
           "r %.2f z %.2f: of %.0f in 200 bins %.0f are left", line.r, line.z, all, left);
    free(hits.hit);
    free(x);
    drop_parts(&p);
}

int main(void)
{
    uint64_t random = tap_seed();
    test_response(&random, false);
    test_response(&random, true);
    test_beside(&random, 20, 18, 6);
    test_beside(&random, 50, 18, 8);
    test_beside(&random, 120, 22, 4);
    test_two_slow(&random, 0, 12);
    test_two_slow(&random, 50, 6);
    test_threads(&random);
    return done_testing();
}
