/* The steps of the single-pulse search, each against its plain counterpart, and their statistics.
 */
#include "pulse_tests.h"

/* The larger; not a number where either is. */
static double worse(double a, double b)
{
    return a >= b ? a : b >= a ? b : NAN;
}

static double exact_median(float *x, size_t n)
{
    tap_sort_floats(x, n);
    return (double)x[n / 2];
}

/* The line through the samples of x within 3 sigma of it, by iteration from exact medians. */
static struct pulse_piece measure_plainly(const float *x, size_t n)
{
    float *copy = malloc(n * sizeof *copy);
    memcpy(copy, x, n * sizeof *x);
    double level = exact_median(copy, n), slope = 0, middle = 0, sigma;
    for (size_t t = 0; t < n; t++)
        copy[t] = fabsf(x[t] - (float)level);
    sigma = 1.4826 * exact_median(copy, n);
    free(copy);
    double s1 = 0;
    for (int round = 0; round < 12; round++) {
        double st = 0, sx = 0, stt = 0, stx = 0, sxx = 0, limit = 3 * sigma, at = level;
        double from = middle, by = slope;
        s1 = 0;
        for (int pass = 0; pass < 2; pass++)
            for (size_t t = 0; t < n; t++) {
                double v = (double)x[t];
                if (fabs(v - at - by * ((double)t - from)) > limit)
                    continue;
                if (pass == 0) {
                    s1++, st += (double)t, sx += v;
                    middle = st / s1, level = sx / s1;
                } else {
                    stt += ((double)t - middle) * ((double)t - middle);
                    stx += ((double)t - middle) * (v - level);
                    sxx += (v - level) * (v - level);
                }
            }
        slope = stx / stt;
        sigma = sqrt((sxx - slope * stx) / (s1 - 2) / 0.973337);
    }
    return (struct pulse_piece){s1, middle, level, slope, sigma};
}

static void test_measure(uint64_t *seed)
{
    double off_level = 0, off_sigma = 0, off_slope = 0;
    float work[PULSE_WORK(1500)];
    for (int trial = 0; trial < 60; trial++) {
        size_t n = (size_t)tap_between(seed, 400, 1500);
        double sigma = exp(4 * tap_normal(seed)), mean = 1e3 * sigma * tap_normal(seed);
        double slope = trial % 2 ? 3 * sigma / (double)n * tap_normal(seed) : 0;
        float *x = make_noise(seed, n, mean, sigma);
        for (size_t t = 0; t < n; t++)
            x[t] += (float)(slope * (double)t);
        if (trial % 3 == 0) /* a strong pulse over a quarter of the piece */
            for (size_t t = n / 8; t < n / 8 + n / 4; t++)
                x[t] += (float)(50 * sigma);
        struct pulse_piece want = measure_plainly(x, n), got;
        psr_pulse_measure(&got, x, n, 0, work);
        double level = want.level + want.slope * (got.pos - want.pos);
        off_level = worse(off_level, fabs(got.level - level) / sigma);
        off_sigma = worse(off_sigma, fabs(got.sigma / want.sigma - 1));
        off_slope = worse(off_slope, fabs(got.slope - want.slope) * (double)n / sigma);
        free(x);
    }
    diag("against the converged fit: level %.4f sigma, sigma %.4f, slope %.4f sigma over the piece",
         off_level, off_sigma, off_slope);
    ok(off_level < 0.02, "level of a piece, with slopes and strong pulses");
    ok(off_sigma < 0.02, "scatter of a piece");
    ok(off_slope < 0.1, "slope of a piece");
}

static void test_measure_few_levels(uint64_t *seed)
{
    float x[1200], work[PULSE_WORK(1200)];
    struct pulse_piece got;
    static const double part[] = {0.5, 0.3, 0.1, 0.02};
    for (int k = 0; k < 4; k++) {
        double ones = 0;
        for (size_t t = 0; t < 1200; t++) {
            x[t] = tap_uniform(seed) < part[k];
            ones += (double)x[t] / 1200;
        }
        psr_pulse_measure(&got, x, 1200, 0, work);
        ok(fabs(got.sigma / sqrt(ones * (1 - ones)) - 1) < 0.03,
           "one-bit series, %g of the samples 1: sigma %.4f", part[k], got.sigma);
    }
    for (size_t t = 0; t < 1200; t++)
        x[t] = 7;
    psr_pulse_measure(&got, x, 1200, 0, work);
    ok(got.sigma == 0 && got.good == 1200, "a constant piece has no scatter");
    for (size_t t = 0; t < 1190; t++)
        x[t] = t % 2 ? NAN : INFINITY;
    psr_pulse_measure(&got, x, 1200, 0, work);
    ok(got.good == 0, "a piece of ten good samples has no figures");
    psr_pulse_measure(&got, x, 1, 0, work);
    ok(got.good == 0, "one sample has no figures");
}

static void test_measure_gaps(uint64_t *seed)
{
    float *x = make_noise(seed, 1216, 5, 2), work[PULSE_WORK(1216)];
    double sum = 0;
    for (size_t t = 0; t < 1216; t++)
        sum += t < 800 ? (double)t : 0;
    for (size_t t = 800; t < 1216; t++)
        x[t] = t % 2 ? -INFINITY : 3e33f;
    struct pulse_piece got;
    psr_pulse_measure(&got, x, 1216, 10000, work);
    near(got.pos, 10000 + sum / 800, 3, "position is the mean of the good samples'");
    near(got.level, 5, 0.4, "level without the bad samples");
    near(got.sigma, 2, 0.2, "scatter without the bad samples");
    free(x);
}

static void test_knot(void)
{
    struct pulse_piece ring[PULSE_RING] = {0};
    const size_t length = 512;
    for (int q = 0; q < 12; q++) {
        double pos = 512 * (q + 0.5) - 0.5;
        ring[q] = (struct pulse_piece){512, pos, 100 + 0.25 * pos, 0.25, 3};
    }
    struct pulse_baseline_node node;
    double worst = 0;
    for (int k = 0; k < 12; k++) {
        psr_pulse_baseline_node(&node, ring, k, 11, length);
        worst = worse(worst, fabs(node.level - (100 + 0.25 * node.pos)));
    }
    ok(worst < 1e-9, "a straight trend is followed to both ends (%g)", worst);
    near(node.sigma, 3, 1e-12, "sigma is that of the pieces");
    ring[5].level += 1000;
    ring[6].sigma = 5.9;
    psr_pulse_baseline_node(&node, ring, 6, 11, length);
    near(node.level, 100 + 0.25 * node.pos, 130, "one piece out of line moves the level little");
    near(node.sigma, 3, 1e-12, "one noisy piece does not move sigma");
    ring[6].sigma = 9;
    psr_pulse_baseline_node(&node, ring, 6, 11, length);
    near(node.sigma, 9, 1e-12, "a very noisy piece goes by its own sigma");
    ring[6].sigma = 0.5;
    psr_pulse_baseline_node(&node, ring, 6, 11, length);
    ok(node.dead, "a very quiet piece is dead");
    for (int q = 0; q < 12; q++)
        ring[q].good = 0;
    psr_pulse_baseline_node(&node, ring, 6, 11, length);
    ok(!node.known, "no pieces, no node");
    ring[3] = (struct pulse_piece){512, 3.5 * 512 - 0.5, 7, 0.5, 1};
    psr_pulse_baseline_node(&node, ring, 6, 11, length);
    near(node.level, 7 + 0.5 * 3 * 512, 1e-9, "one piece alone gives its own line");
}

static void test_best(uint64_t *seed)
{
    double worst = 0;
    int wrong = 0;
    for (int trial = 0; trial < 12; trial++) {
        size_t maxwidth = (size_t)list_of_widths[tap_between(seed, 0, NLIST - 1)];
        size_t m = maxwidth + (size_t)tap_between(seed, 0, 700);
        float *z = make_noise(seed, m, 0.3, 1), *best = malloc(m * sizeof *best);
        float *work = malloc(PULSE_SUMS * m * sizeof *work);
        int32_t *width = malloc(m * sizeof *width);
        double *plain = malloc(m * sizeof *plain);
        if (trial % 2)
            z[tap_between(seed, 0, (int64_t)m - 1)] = -INFINITY;
        for (size_t t = 0; t < m; t++)
            plain[t] = (double)z[t];
        psr_pulse_best(z, m, maxwidth, best, width, work);
        for (size_t c = maxwidth / 2; c <= m - (maxwidth - maxwidth / 2) && c < m; c++) {
            double want = -INFINITY;
            for (int i = 0; i < NLIST && list_of_widths[i] <= (int)maxwidth; i++)
                want = fmax(want, boxcar_plainly(plain, m, (int64_t)c - list_of_widths[i] / 2,
                                                 list_of_widths[i]));
            double at = boxcar_plainly(plain, m, (int64_t)c - width[c] / 2, width[c]);
            if (isinf(want) && isinf((double)best[c]))
                continue;
            worst = worse(worst, fabs((double)best[c] - want));
            wrong += !(fabs(at - want) < 1e-5 * (1 + fabs(want)));
        }
        free(z);
        free(best);
        free(work);
        free(width);
        free(plain);
    }
    ok(worst < 2e-5, "best S/N of every sample as summed plainly (%.1e)", worst);
    ok(wrong == 0, "and its width");
    ok(psr_pulse_width_at_most(0.1) == 1 && psr_pulse_width_at_most(29.9) == 20 &&
           psr_pulse_width_at_most(30) == 30 && psr_pulse_width_at_most(INFINITY) == 300,
       "longest boxcar of the list within a limit");
}

/* Random hits, many of equal S/N, against every hit compared with every other. */
static void test_pick(uint64_t *seed)
{
    int wrong = 0, total = 0;
    for (int trial = 0; trial < 200; trial++) {
        struct pulse_peaks p;
        psr_pulse_peaks_init(&p, 1000000);
        size_t maxwidth = (size_t)list_of_widths[tap_between(seed, 0, NLIST - 1)], n = 0;
        struct psr_event want[400];
        bool fits = true;
        for (int64_t t = 0; t < 900; t++) {
            if (tap_between(seed, 0, 99) >= (trial % 10) * 4 + 1)
                continue;
            int w = list_of_widths[tap_between(seed, 0, NLIST - 1)];
            w = w > (int)maxwidth ? (int)maxwidth : w;
            struct pulse_hit hit = {t, (float)tap_between(seed, 5, 40), w};
            fits = fits && psr_pulse_peak_select(&p, hit, maxwidth, 3);
            if (n < 400)
                want[n++] = (struct psr_event){(double)hit.snr, t, w, 3};
        }
        fits = fits && psr_pulse_settle(&p, 3);
        if (n == 400) {
            psr_pulse_peaks_clear(&p);
            continue;
        }
        n = compete_plainly(want, n);
        bool same = fits && n == p.nevent;
        for (size_t k = 0; same && k < n; k++)
            same = p.event[k].snr == want[k].snr && p.event[k].sample == want[k].sample &&
                   p.event[k].width == want[k].width && p.event[k].trial == 3;
        wrong += !same;
        total += (int)n;
        psr_pulse_peaks_clear(&p);
    }
    ok(wrong == 0 && total > 1000, "overlapping hits compete as they should (%d events)", total);
}

/* Hits at every sample for ever: bounded, in order, apart. */
static void test_storm(uint64_t *seed)
{
    struct pulse_peaks p;
    psr_pulse_peaks_init(&p, 1000);
    bool fits = true;
    size_t most = 0;
    for (int64_t t = 0; t < 300000; t++) {
        struct pulse_hit hit = {t, (float)(5 + 10 * tap_uniform(seed)),
                                list_of_widths[tap_between(seed, 0, 8)]};
        fits = fits && psr_pulse_peak_select(&p, hit, 30, 0);
        most = p.nhit > most ? p.nhit : most;
    }
    fits = fits && psr_pulse_settle(&p, 0) && psr_pulse_prune(&p);
    ok(fits && most <= 1024, "no more than 1024 hits wait (%zu)", most);
    ok(p.nevent == 1000 && p.dropped > 0, "no more events than allowed, the rest counted (%lld)",
       (long long)p.dropped);
    int bad = 0;
    for (size_t k = 1; k < p.nevent; k++)
        bad += overlap_plainly(&p.event[k - 1], &p.event[k]) ||
               p.event[k].sample < p.event[k - 1].sample;
    ok(bad == 0, "events in order and apart");
    psr_pulse_peaks_clear(&p);
}

static double upper_tail(double x)
{
    return 0.5 * erfc(x / sqrt(2.0));
}

/* On white noise S/N of every width is N(0, 1): its spread, and how often it exceeds thresholds. */
static void test_noise(uint64_t *seed)
{
    enum { N = 1 << 21 };
    static const int widths[] = {1, 3, 14, 45, 100, 300};
    float *x = make_noise(seed, N, 1000, 20);
    double *z = flatten_plainly(x, N, 300), *sum = calloc(N + 1, sizeof *sum);
    for (size_t t = 0; t < N; t++)
        sum[t + 1] = sum[t] + z[t];
    for (int i = 0; i < 6; i++) {
        double w = widths[i], s = 0, ss = 0;
        int above[3] = {0};
        for (size_t t = 0; t + (size_t)widths[i] <= N; t++) {
            double snr = (sum[t + (size_t)widths[i]] - sum[t]) / sqrt(w);
            s += snr, ss += snr * snr;
            for (int k = 0; k < 3; k++)
                above[k] += snr > 2 + k;
        }
        double mean = s / N, std = sqrt(ss / N - mean * mean), take = sqrt(w / N);
        ok(fabs(mean) < 5 * take + 0.01, "width %d: mean S/N %.4f", widths[i], mean);
        ok(fabs(std - (1 - w / 10944)) < 3 * take + 0.003, "width %d: spread of S/N %.4f",
           widths[i], std);
        for (int k = 0; k < 3; k++) {
            /* Exceedances come in clumps of at most the width. */
            double want = N * upper_tail((2 + k) / std);
            ok(fabs(above[k] - want) < 5 * sqrt(want * w) + 0.02 * want,
               "width %d: %d above %d, %.1f expected", widths[i], above[k], 2 + k, want);
        }
    }
    free(x);
    free(z);
    free(sum);
}

/* How much of a weak pulse the baseline takes: the S/N it adds to the boxcar where it lies. */
static void test_loss(uint64_t *seed)
{
    enum { N = 60000, RUNS = 20 };
    static const struct {
        int width;
        size_t at; /* 0: the very start */
        double least, most;
    } cases[] = {{30, 30000, 0.985, 1},     {100, 30000, 0.975, 1}, {300, 30000, 0.94, 0.995},
                 {300, 30300, 0.94, 0.985}, {30, 0, 0.95, 1},       {300, 0, 0.8, 0.95}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        int w = cases[c].width;
        double kept = 0;
        for (int run = 0; run < RUNS; run++) {
            float *x = make_noise(seed, N, 3, 1);
            double *z = flatten_plainly(x, N, 300);
            double without = boxcar_plainly(z, N, (int64_t)cases[c].at, w);
            free(z);
            for (int j = 0; j < w; j++)
                x[cases[c].at + (size_t)j] += (float)(10 / sqrt((double)w));
            z = flatten_plainly(x, N, 300);
            kept += (boxcar_plainly(z, N, (int64_t)cases[c].at, w) - without) / 10 / RUNS;
            free(z);
            free(x);
        }
        ok(kept > cases[c].least && kept < cases[c].most,
           "width %d at sample %zu keeps %.4f of its S/N", w, cases[c].at, kept);
    }
}

int main(void)
{
    uint64_t seed = tap_seed();
    test_measure(&seed);
    test_measure_few_levels(&seed);
    test_measure_gaps(&seed);
    test_knot();
    test_best(&seed);
    test_pick(&seed);
    test_storm(&seed);
    test_noise(&seed);
    test_loss(&seed);
    return done_testing();
}
