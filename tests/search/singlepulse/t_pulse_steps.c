/* The steps of the single-pulse search, each against its plain counterpart, and their statistics.
 */
#include "tests/support/pulse_reference.h"

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

/* Of medians of nine, a ninth of x apart, again and again; x is destroyed. */
static double rough_median(float *x, size_t n)
{
    for (; n >= 36; n /= 9)
        for (size_t j = 0, m = n / 9; j < m; j++) {
            float nine[9];
            for (size_t q = 0; q < 9; q++)
                nine[q] = x[j + q * m];
            x[j] = (float)exact_median(nine, 9);
        }
    return exact_median(x, n);
}

/* A line through samples, and whether rounding could decide on one of them. */
struct plain_line {
    struct pulse_piece piece;
    bool doubtful;
};

/* The line through the samples of x within 3 sigma of the line before it, so many rounds from medians. */
static struct plain_line measure_plainly(const float *x, size_t n, int rounds,
                                         double (*median)(float *, size_t))
{
    float *copy = tap_take(n, sizeof *copy);
    memcpy(copy, x, n * sizeof *x);
    double level = median(copy, n), slope = 0, middle = 0, sigma;
    for (size_t t = 0; t < n; t++)
        copy[t] = fabsf(x[t] - (float)level);
    sigma = 1.4826022 * median(copy, n);
    free(copy);
    double s1 = 0;
    bool doubtful = false;
    for (int round = 0; round < rounds; round++) {
        double st = 0, sx = 0, stt = 0, stx = 0, sxx = 0, limit = 3 * sigma, at = level;
        double from = middle, by = slope;
        s1 = 0;
        for (int pass = 0; pass < 2; pass++)
            for (size_t t = 0; t < n; t++) {
                double v = (double)x[t], off = fabs(v - at - by * ((double)t - from));
                doubtful = doubtful || fabs(off - limit) < 1e-4 * sigma;
                if (off > limit)
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
        sigma = sqrt((sxx - slope * stx) / (s1 - 2) / 0.97333692466);
    }
    return (struct plain_line){{s1, middle, level, slope, sigma}, doubtful};
}

/* The greatest difference of level, sigma (relative) and slope over n samples, in sigma. */
static double compare_lines(const struct pulse_piece *a, const struct pulse_piece *b, size_t n)
{
    double level = b->level + b->slope * (a->pos - b->pos), off;
    off = worse(fabs(a->level - level), fabs(a->sigma - b->sigma));
    return worse(off, fabs(a->slope - b->slope) * (double)n) / b->sigma;
}

/* How far the levels of parts are from the means of their samples within 3 sigma of the line; those of
 * parts with less than a quarter of their samples there are not numbers. */
static double compare_parts(const struct pulse_piece *piece, const double level[PULSE_PARTS],
                            const float *x, size_t n)
{
    size_t part = (n + 63) / 64 * 64 / PULSE_PARTS;
    double off = 0;
    for (size_t p = 0; p < PULSE_PARTS; p++) {
        double sum = 0, good = 0, edge = 0;
        for (size_t t = p * part; t < (p + 1) * part && t < n; t++) {
            double v = (double)x[t] - (piece->level + piece->slope * ((double)t - piece->pos));
            if (fabs(fabs(v) - 3 * piece->sigma) < 1e-4 * piece->sigma)
                edge = 1; /* rounding decides */
            if (fabs(v) <= 3 * piece->sigma)
                sum += (double)x[t], good++;
        }
        if (4 * good < (double)part)
            off = worse(off, isnan(level[p]) ? 0 : 1e9);
        else
            off = worse(off, edge > 0 ? 0 : fabs(level[p] - sum / good));
    }
    return off;
}

/* Three rounds from rough medians, to rounding; and how far that is from where many rounds from the
 * medians end, in samples at 3 sigma: one changes the level by 3 sigma / n, and sigma by
 * (9 - 1) / 2 / 0.973 / n of itself.  In some pieces there are up to five (of 1500), in most none: 0.03
 * on average, and 0.1 in 60 pieces at the most of 200 times. */
static void test_measure(uint64_t *seed)
{
    double off_line = 0, off_part = 0, part[PULSE_PARTS], mean_level = 0, mean_sigma = 0;
    int doubtful = 0;
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
        struct pulse_piece got;
        psr_pulse_measure(&got, part, x, n, (n + 63) / 64 * 64, 0, work);
        off_part = worse(off_part, compare_parts(&got, part, x, n) / sigma);
        struct plain_line want = measure_plainly(x, n, 3, rough_median);
        doubtful += want.doubtful;
        if (!want.doubtful) {
            off_line = worse(off_line, compare_lines(&got, &want.piece, n));
            off_line = worse(off_line, fabs(got.good - want.piece.good));
        }
        struct pulse_piece ends = measure_plainly(x, n, 12, exact_median).piece;
        double level = ends.level + ends.slope * (got.pos - ends.pos), one = 1 / ends.good;
        mean_level += fabs(got.level - level) / sigma / (3 * one) / 60;
        mean_sigma += fabs(got.sigma / ends.sigma - 1) / (4.1 * one) / 60;
        free(x);
    }
    ok(off_line < 1e-4 && doubtful < 12,
       "lines of pieces, with slopes and strong pulses: %.1e sigma", off_line);
    ok(mean_level < 0.25 && mean_sigma < 0.25,
       "they are those of many rounds but for %.3f samples, by their levels, and %.3f, by sigma",
       mean_level, mean_sigma);
    ok(off_part < 1e-3, "levels of its parts (%.1e sigma)", off_part);
}

static void test_measure_few_levels(uint64_t *seed)
{
    float x[1200], work[PULSE_WORK(1200)];
    double level[PULSE_PARTS];
    struct pulse_piece got;
    static const double part[] = {0.5, 0.3, 0.1, 0.02};
    for (int k = 0; k < 4; k++) {
        double ones = 0;
        for (size_t t = 0; t < 1200; t++) {
            x[t] = tap_uniform(seed) < part[k];
            ones += (double)x[t] / 1200;
        }
        psr_pulse_measure(&got, level, x, 1200, 1216, 0, work);
        ok(fabs(got.sigma / sqrt(ones * (1 - ones)) - 1) < 0.03,
           "one-bit series, %g of the samples 1: sigma %.4f", part[k], got.sigma);
    }
    for (size_t t = 0; t < 1200; t++)
        x[t] = 7;
    psr_pulse_measure(&got, level, x, 1200, 1216, 0, work);
    ok(got.sigma == 0 && got.good == 1200, "a constant piece has no scatter");
    for (size_t t = 0; t < 1190; t++)
        x[t] = t % 2 ? NAN : INFINITY;
    psr_pulse_measure(&got, level, x, 1200, 1216, 0, work);
    ok(got.good == 0, "a piece of ten good samples has no figures");
    psr_pulse_measure(&got, level, x, 1, 1216, 0, work);
    ok(got.good == 0, "one sample has no figures");
}

static void test_measure_gaps(uint64_t *seed)
{
    float *x = make_noise(seed, 1216, 5, 2), work[PULSE_WORK(1216)];
    double level[PULSE_PARTS];
    double sum = 0;
    for (size_t t = 0; t < 1216; t++)
        sum += t < 800 ? (double)t : 0;
    for (size_t t = 800; t < 1216; t++)
        x[t] = t % 2 ? -INFINITY : 3e33f;
    struct pulse_piece got;
    psr_pulse_measure(&got, level, x, 1216, 1216, 10000, work);
    near(got.pos, 10000 + sum / 800, 3, "position is the mean of the good samples'");
    near(got.level, 5, 0.4, "level without the bad samples");
    near(got.sigma, 2, 0.2, "scatter without the bad samples");
    int there = 0;
    for (int p = 0; p < PULSE_PARTS; p++)
        there += !isnan(level[p]) && fabs(level[p] - 5) < 1;
    ok(there == 6 && isnan(level[6]) && isnan(level[7]), "%d parts of such have levels", there);
    free(x);
}

static void test_knot(void)
{
    enum { RING = 16 };
    struct pulse_figures ring[RING] = {0};
    const int64_t length = 512;
    for (int q = 0; q < 12; q++) {
        double pos = 512 * (q + 0.5) - 0.5;
        ring[q].piece = (struct pulse_piece){512, pos, 100 + 0.25 * pos, 0.25, 3};
    }
    struct pulse_baseline_node node;
    double worst = 0;
    for (int k = 0; k < 12; k++) {
        pulse_baseline_node_make(&node, ring, RING, k, 11, length);
        worst = worse(worst, fabs(node.level - (100 + 0.25 * node.pos)));
    }
    ok(worst < 1e-9, "a straight trend is followed to both ends (%g)", worst);
    near(node.sigma, 3, 1e-12, "sigma is that of the pieces");
    ring[5].piece.level += 1000;
    ring[6].piece.sigma = 5.9;
    pulse_baseline_node_make(&node, ring, RING, 6, 11, length);
    near(node.level, 100 + 0.25 * node.pos, 130, "one piece out of line moves the level little");
    near(node.sigma, 3, 1e-12, "one noisy piece does not move sigma");
    ring[6].piece.sigma = 9;
    pulse_baseline_node_make(&node, ring, RING, 6, 11, length);
    near(node.sigma, 9, 1e-12, "a very noisy piece goes by its own sigma");
    ring[6].piece.sigma = 0.5;
    pulse_baseline_node_make(&node, ring, RING, 6, 11, length);
    ok(node.dead, "a very quiet piece is dead");
    for (int q = 0; q < 12; q++)
        ring[q].piece.good = 0;
    pulse_baseline_node_make(&node, ring, RING, 6, 11, length);
    ok(!node.known, "no pieces, no node");
    ring[3].piece = (struct pulse_piece){512, 3.5 * 512 - 0.5, 7, 0.5, 1};
    pulse_baseline_node_make(&node, ring, RING, 6, 11, length);
    near(node.level, 7 + 0.5 * 3 * 512, 1e-9, "one piece alone gives its own line");
}

/* The greatest sum of each width that ends in a piece, and every so many of them. */
static void test_add_up(uint64_t *seed)
{
    double worst = 0;
    int wrong = 0;
    for (int trial = 0; trial < 12; trial++) {
        size_t maxwidth = (size_t)list_of_widths[tap_between(seed, 0, NLIST - 1)];
        size_t length = psr_pulse_piece_length(maxwidth), carry = maxwidth - 1;
        size_t n = trial % 3 ? length : (size_t)tap_between(seed, 1, (int64_t)length),
               m = carry + n;
        float *z = make_noise(seed, m, 0.3, 1), *work = tap_take(PULSE_SUMS * m, sizeof *work);
        double *plain = tap_take(m, sizeof *plain);
        struct pulse_figures f = {.length = (int32_t)tap_between(seed, 0, PULSE_LENGTHS - 1)};
        struct pulse_scale s;
        psr_pulse_set_scale(&s, maxwidth, length, -1);
        if (trial % 2)
            z[tap_between(seed, 0, (int64_t)m - 1)] = -INFINITY;
        for (size_t t = 0; t < m; t++)
            plain[t] = (double)z[t];
        psr_pulse_add_up(&f, &s, z, 0, n, work);
        psr_pulse_size_draws(&f);
        for (int i = 0; i < s.nwidth; i++) {
            double most = 0, root = sqrt(list_of_widths[i]);
            for (size_t end = carry; end < m; end++) {
                double snr = boxcar_plainly(plain, m, (int64_t)end + 1 - list_of_widths[i],
                                            list_of_widths[i]);
                most = fmax(most, snr);
                size_t after = end - carry + 1, d = after / (size_t)s.step;
                if (after % (size_t)s.step || d > PULSE_DRAWS)
                    continue;
                double draw = (double)(f.draw[d - 1][i] / s.unit[f.length][i]) / root;
                wrong += isinf(snr) ? draw > -1e30 : !(fabs(draw - snr) < 1e-5 * (1 + fabs(snr)));
            }
            worst = worse(worst, fabs((double)f.most[i] / root - most));
        }
        free(z);
        free(work);
        free(plain);
    }
    ok(worst < 2e-5, "the greatest S/N of each width as summed plainly (%.1e)", worst);
    ok(wrong == 0, "and those that its scatter is measured from");
    ok(psr_pulse_width_at_most(0.1) == 1 && psr_pulse_width_at_most(29.9) == 20 &&
           psr_pulse_width_at_most(30) == 30 && psr_pulse_width_at_most(INFINITY) == 300,
       "longest boxcar of the list within a limit");
}

/* Loud pieces for ever: bounded, in order, apart. */
static void test_storm(uint64_t *seed)
{
    enum { MAXWIDTH = 30, LENGTH = 512, PIECES = 300 };
    struct pulse_peaks p;
    struct pulse_room room = {0};
    float norm[PULSE_COLUMNS], *z = make_noise(seed, MAXWIDTH - 1 + LENGTH * PIECES, 0, 1);
    bool fits = true;
    size_t most = 0;
    for (int i = 0; i < PULSE_COLUMNS; i++)
        norm[i] = i < NLIST ? (float)(1 / sqrt(list_of_widths[i])) : 0;
    psr_pulse_peaks_init(&p, MAXWIDTH, LENGTH, PULSE_STORM, 1, 1000);
    for (int64_t k = 0; k < PIECES; k++) {
        fits = fits && psr_pulse_peak_select(&p, &room, k, z + k * LENGTH, LENGTH, norm, 0);
        most = p.npiece > most ? p.npiece : most;
    }
    fits = fits && psr_pulse_settle(&p, &room, 0) && psr_pulse_prune(&p);
    ok(fits && most <= 4, "no more than 4 pieces wait (%zu)", most);
    ok(p.nevent == 1000 && p.dropped > 0, "no more events than allowed, the rest counted (%lld)",
       (long long)p.dropped);
    int bad = 0;
    for (size_t k = 1; k < p.nevent; k++) {
        const struct psr_event *a = &p.event[k - 1], *b = &p.event[k];
        bad += a->sample - a->width / 2 + a->width > b->sample - b->width / 2;
    }
    ok(bad == 0, "events in order and apart");
    psr_pulse_peaks_clear(&p);
    free(room.memory);
    free(z);
}

static double upper_tail(double x)
{
    return 0.5 * erfc(x / sqrt(2.0));
}

/* On white noise S/N of every width is N(0, 1): its spread, and how often it exceeds thresholds. */
static void test_noise(uint64_t *seed)
{
    enum { N = 1 << 20 };
    float *x = make_noise(seed, N, 1000, 20);
    struct plain p = plain_prepare(x, N, 300, -1);
    double *sum = tap_take(N + 1, sizeof *sum);
    for (size_t t = 0; t < N; t++)
        sum[t + 1] = sum[t] + p.z[t];
    for (int i = 0; i < NLIST; i++) {
        size_t width = (size_t)list_of_widths[i];
        double w = list_of_widths[i], s = 0, ss = 0, take = sqrt(w / N);
        int above[3] = {0};
        for (size_t t = 0; t + width <= N; t++) {
            double snr = (sum[t + width] - sum[t]) * p.norm[(t + width - 1) / p.length][i];
            s += snr, ss += snr * snr;
            for (int k = 0; k < 3; k++)
                above[k] += snr > 2 + k;
        }
        double mean = s / N, std = sqrt(ss / N - mean * mean);
        ok(fabs(mean) < 5 * take + 0.01, "width %.0f: mean S/N %.4f", w, mean);
        ok(fabs(std - 1) < 3 * take + 0.015, "width %.0f: spread of S/N %.4f", w, std);
        for (int k = 0; k < 3; k++) {
            /* Exceedances come in clumps of at most the width. */
            double want = N * upper_tail((2 + k) / std);
            ok(fabs(above[k] - want) < 5 * sqrt(want * w) + 0.02 * want,
               "width %.0f: %d above %d, %.1f expected", w, above[k], 2 + k, want);
        }
    }
    free(x);
    free(sum);
    plain_free(&p);
}

/* S/N of the boxcar of a width at a place, as the plain search has it; with a fixed baseline over what
 * white noise scatters, for what a pulse adds to the scatter that it is measured by is not its loss. */
static double snr_at(const struct plain *p, size_t at, int i)
{
    int w = list_of_widths[i];
    size_t k = (at + (size_t)w - 1) / p->length;
    double white = 1 / plain_white(w, (double)p->length, p->baseline[k]);
    return boxcar_plainly(p->z, p->n, (int64_t)at, w) *
           (p->fixed < 0 ? sqrt(w) * p->norm[k][i] : white);
}

/* How much of a weak pulse of S/N 10 at a place is found: the S/N that it adds to its boxcar, of so many
 * runs.  Returned: the mean; *error: how far from the mean of all runs that may be, 5 standard errors */
static double measure_kept(uint64_t *seed, size_t n, size_t at, int i, int fixed, double *error)
{
    enum { RUNS = 30 };
    int w = list_of_widths[i];
    double sum = 0, squares = 0;
    for (int run = 0; run < RUNS; run++) {
        float *x = make_noise(seed, n, 3, 1);
        struct plain p = plain_prepare(x, n, 300, fixed);
        double kept = -snr_at(&p, at, i) / 10;
        plain_free(&p);
        for (int j = 0; j < w; j++)
            x[at + (size_t)j] += (float)(10 / sqrt((double)w));
        p = plain_prepare(x, n, 300, fixed);
        kept += snr_at(&p, at, i) / 10;
        plain_free(&p);
        sum += kept / RUNS, squares += kept * kept / RUNS;
        free(x);
    }
    *error = 5 * sqrt((squares - sum * sum) / (RUNS - 1));
    return sum;
}

/* Mean of a normal variable about a, counted where it is within 3 of 0, of all its weight. */
static double clipped_part(double a, double *weight)
{
    double near = upper_tail(-3 - a) - upper_tail(3 - a);
    *weight = near;
    return a * near + (exp(-(3 + a) * (3 + a) / 2) - exp(-(3 - a) * (3 - a) / 2)) / sqrt(2 * M_PI);
}

/* What is left of a pulse of w samples of height a from sample 0 on, less a baseline that smooths the
 * levels of parts n times over, if noise leaves these where they are: the first part is its own only
 * neighbour.  Levels count up to a bound. */
static double expect_kept(int w, double a, int n, size_t length, double bound)
{
    double there, without, clipped = clipped_part(a, &there), sum = 0, part = (double)length / 8;
    double level[3][PLAIN_PARTS] = {0};
    struct plain p = {.length = length, .npiece = 3, .bounded = level};
    (void)clipped_part(0, &without);
    for (int j = 0; j < PLAIN_PARTS; j++) {
        double share = fmax(fmin(w / part - j, 1), 0);
        level[0][j] = share * clipped / (share * there + (1 - share) * without);
        level[0][j] = fmin(level[0][j], bound);
    }
    for (int t = 0; n && t < w; t++) {
        double at = (t + 0.5) / part - 0.5, low = floor(at);
        double from = plain_smooth(&p, 0, (int64_t)low, n),
               to = plain_smooth(&p, 0, (int64_t)low + 1, n);
        from = isnan(from) ? 0 : from;
        sum += from + (at - low) * (to - from);
    }
    return (1 - sum / w / a) / plain_white(w, (double)length, n);
}

/* Of the nodes' own line, length 0, at the middle of that pulse: no more than of one through the means
 * of three pieces and of three others, two pieces after them. */
static double expect_kept_by_nodes(int w, double a, size_t length)
{
    double there, left = clipped_part(a, &there) * w / (double)length / 3;
    double before =
        1.5 - w / 2.0 / (double)length; /* pieces from there to the middle of the three */
    return (1 - left * (1 + before / 2) / a) / plain_white(w, (double)length, 0);
}

/* At the start, where a baseline has nothing before the pulse to go by, of each length: between what levels
 * without a bound leave and such with the bound of white noise, 6 standard deviations of a part.  A
 * piece with a pulse goes to the end of the order of its neighbours', whose middle half moves by less
 * than a standard deviation of one: of sigma, and of the level where no smoothing takes it off again. */
static void test_loss_at_start(uint64_t *seed)
{
    static const int widths[] = {8, 14};
    for (size_t c = 0; c < 2 * PLAIN_LENGTHS; c++) {
        int i = widths[c / PLAIN_LENGTHS], n = (int)(c % PLAIN_LENGTHS), w = list_of_widths[i];
        size_t length = psr_pulse_piece_length(300);
        double a = 10 / sqrt(w), error, kept = measure_kept(seed, 10 * length, 0, i, n, &error);
        double least = expect_kept(w, a, n, length, INFINITY);
        double most = expect_kept(w, a, n, length, 6 * sqrt(8 / (double)length));
        error += 1 / sqrt(2 * (double)length);
        if (n == 0)
            least = expect_kept_by_nodes(w, a, length), error += 1 / sqrt((double)length) / a;
        ok(kept > least - error && kept < most + error,
           "width %d at the start keeps %.4f of its S/N with length %d, %.4f to %.4f expected "
           "within %.4f",
           w, kept, n, least, most, error);
    }
}

/* In the middle, with the best lengths: 0.99 to 1.00 in the mean of many runs, which scatter by 0.01 to
 * 0.03 about it.  Of 30 runs, a bound is more than ten standard errors off. */
static void test_loss(uint64_t *seed)
{
    static const struct {
        int i;
        size_t at;
        double least, most;
    } cases[] = {{8, 10000, 0.97, 1.03},
                 {11, 10000, 0.94, 1.04},
                 {14, 10000, 0.82, 1.06},
                 {14, 10300, 0.82, 1.06}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        double error, kept = measure_kept(seed, 20000, cases[c].at, cases[c].i, -1, &error);
        ok(kept > cases[c].least && kept < cases[c].most,
           "width %d at sample %zu keeps %.4f of its S/N", list_of_widths[cases[c].i], cases[c].at,
           kept);
    }
}

int main(void)
{
    uint64_t seed = tap_seed();
    test_measure(&seed);
    test_measure_few_levels(&seed);
    test_measure_gaps(&seed);
    test_knot();
    test_add_up(&seed);
    test_storm(&seed);
    test_noise(&seed);
    test_loss_at_start(&seed);
    test_loss(&seed);
    return done_testing();
}
