/* pulscan: pulsars beside bright lines, and bright lines alone. */
#include "tests/support/accel_truth.h"
#include "tests/support/pulscan_list.h"

enum { NBIN = 6000, FAR = 300, SUMS = 4 };

static void start(struct found *f, int zmax, int nthread)
{
    static const int sums[SUMS] = {1, 2, 3, 4};
    const struct psr_pulscan_desc d = {.size = sizeof d,
                                       .nbin = NBIN,
                                       .zmax = zmax,
                                       .zstep = 2,
                                       .nharm = sums,
                                       .nnharm = SUMS,
                                       .sigma = 2,
                                       .rlo = 20,
                                       .nthread = nthread,
                                       .backend = "cpu"};
    start_search(f, &d);
}

/* A line of this power, over that of noise. */
struct signal {
    double r, z, power, phase_rad;
};

static void add(float *x, const struct signal *s)
{
    const double complex a = sqrt(2 * s->power) * cexp(I * s->phase_rad);
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

static bool has(const struct found *f, double r, double within)
{
    for (size_t k = 0; k < f->n; k++)
        if (fabs(f->cand[k].best.r - r) <= within + f->cand[k].best.z / 2.0)
            return true;
    return false;
}

/* Of a line, others near it that are not noise. */
static size_t count_others(const struct found *f, const struct signal *line, int zmax)
{
    size_t n = 0;
    for (size_t k = 0; k < f->n; k++) {
        const struct psr_pulscan_hit *best = &f->cand[k].best;
        const double away = fabs(best->r - line->r);
        n += best->sigma > 4.5 && away > 2 + best->z / 2.0 + fabs(line->z) / 2 && away < zmax;
    }
    return n;
}

static void test_beside(uint64_t *random, int zmax, int ntrial)
{
    struct found f;
    int lost = 0;
    size_t others = 0;
    start(&f, zmax, 1);
    for (int trial = 0; trial < ntrial; trial++) {
        const double r = 500 + tap_uniform(random), away = 25 + 20 * tap_uniform(random);
        const struct signal line =
            draw_line(random, r + (tap_between(random, 0, 1) ? away : -away - 1));
        float *x = make_noise(NBIN, random);
        add(x, &line);
        search(&f, x);
        others += count_others(&f, &line, zmax);
        for (int h = 1; h <= 8; h++)
            add(x, &(struct signal){h * r, 0, 25, h});
        search(&f, x);
        if (!has(&f, r, 1.5) || !has(&f, line.r, 1.5 + fabs(line.z) / 2)) {
            diag("a pulsar at %.2f, a line at %.2f, drift %.2f, power %.0f", r, line.r, line.z,
                 line.power);
            lost++;
        }
        free(x);
    }
    ok(lost == 0, "zmax %d: %d of %d pulsars lost beside lines", zmax, lost, ntrial);
    ok(others == 0, "the lines alone have no other candidates (%zu)", others);
    stop_search(&f);
}

static void test_threads(uint64_t *random)
{
    struct found one, four;
    start(&one, 50, 1);
    start(&four, 50, 4);
    float *x = make_noise(NBIN, random);
    for (int k = 0; k < 6; k++) {
        const struct signal line = draw_line(random, 400 + 800 * k + 40 * tap_uniform(random));
        add(x, &line);
    }
    search(&one, x);
    search(&four, x);
    bool same = one.n == four.n;
    for (size_t k = 0; same && k < one.n; k++)
        same = memcmp(&one.cand[k].best.r, &four.cand[k].best.r, sizeof(double)) == 0 &&
               memcmp(&one.cand[k].best.sigma, &four.cand[k].best.sigma, sizeof(double)) == 0;
    ok(same && one.n > 0, "six lines: the same %zu candidates on four threads", one.n);
    stop_search(&one);
    stop_search(&four);
    free(x);
}

int main(void)
{
    uint64_t random = tap_seed();
    test_beside(&random, 20, tap_cases(6, 20));
    test_beside(&random, 50, tap_cases(6, 20));
    test_beside(&random, 200, tap_cases(3, 10));
    test_threads(&random);
    return done_testing();
}
