/* Spectra of pulses and the marks that they give: against plain loops, in any pieces; pulses of the whole
 * band and of parts of it; refusals. */
#include "search/singlepulse/singlepulse_internal.h"
#include "tests/support/tap.h"

#include <math.h>
#include <psrkit/experimental/singlepulse.h>
#include <string.h>

enum { MOST = 48, ROUNDS = 200 };

/* Spectra [t0, t0 + n) around a pulse. */
struct scene {
    size_t nchan, n;
    int64_t t0, first, width, delay[MOST];
    float *x; /* [n][nchan] */
};

static float *at(const struct scene *s, int64_t t, size_t c)
{
    return &s->x[(size_t)(t - s->t0) * s->nchan + c];
}

/* Noise with a pulse of this height in channels [from, to), of which some samples are masked. */
static void make_scene(struct scene *s, double height, size_t from, size_t to, double masked,
                       uint64_t *seed)
{
    int64_t latest = 0;
    s->width = tap_between(seed, 1, 40);
    s->first = tap_between(seed, -20, 500);
    for (size_t c = 0; c < s->nchan; c++) {
        s->delay[c] = tap_between(seed, 0, 60);
        latest = s->delay[c] > latest ? s->delay[c] : latest;
    }
    s->t0 = s->first - 200;
    s->n = (size_t)(400 + s->width + latest);
    s->x = malloc(s->n * s->nchan * sizeof *s->x);
    for (size_t i = 0; i < s->n * s->nchan; i++)
        s->x[i] = (float)(100 + tap_normal(seed));
    for (size_t c = from; c < to; c++)
        for (int64_t u = 0; u < s->width; u++)
            *at(s, s->first + s->delay[c] + u, c) += (float)height;
    for (size_t k = 0; masked > 0 && k < 3 * s->nchan; k++) {
        const size_t c = (size_t)tap_between(seed, 0, (int64_t)s->nchan - 1);
        const int64_t t = s->t0 + tap_between(seed, 0, (int64_t)s->n - 1);
        const int64_t end = t + (int64_t)(masked * tap_uniform(seed) * (double)s->n);
        for (int64_t u = t; u < end && u < s->t0 + (int64_t)s->n; u++)
            *at(s, u, c) = NAN;
    }
}

/* --- plainly ---------------------------------------------------------------------------------- */

static bool find_excess(const struct scene *s, size_t c, double *a)
{
    const int64_t flank = 2 * s->width > 32 ? 2 * s->width : 32;
    double in = 0, out = 0;
    int64_t nin = 0, nout = 0;
    for (int64_t u = -flank; u < s->width + flank; u++) {
        const double x = (double)*at(s, s->first + s->delay[c] + u, c);
        const bool inside = u >= 0 && u < s->width;
        if (isnan(x))
            continue;
        in += inside ? x : 0;
        nin += inside;
        out += inside ? 0 : x;
        nout += !inside;
    }
    *a = nin && nout >= s->width ? in - (double)nin * out / (double)nout : 0;
    return nin && nout >= s->width;
}

/* Marks, but for cases that rounding decides: then *clear is false. */
static unsigned mark_plainly(const struct scene *s, double *a, bool *clear)
{
    const size_t span = (s->nchan + 7) / 8;
    size_t n = 0, least = s->nchan, most = 0;
    bool counts[MOST], narrow = false;
    double all = 0;
    for (size_t c = 0; c < s->nchan; c++) {
        counts[c] = find_excess(s, c, &a[c]);
        n += counts[c];
        all += a[c];
    }
    *clear = fabs(all) > 1e-6;
    for (size_t c0 = 0; c0 + span <= s->nchan; c0++) {
        double run = 0;
        size_t m = 0;
        for (size_t c = c0; c < c0 + span; c++) {
            run += a[c];
            m += counts[c];
        }
        const double root = n > m ? sqrt(1 - (double)m / (double)n) : 0;
        *clear = *clear && fabs(all - run - all / 2 * root) > 1e-6;
        narrow = narrow || all - run < all / 2 * root || m == n;
    }
    for (int64_t u = -s->width; u < 2 * s->width; u++) {
        size_t here = 0;
        for (size_t c = 0; c < s->nchan; c++)
            here += !isnan(*at(s, s->first + s->delay[c] + u, c));
        least = here < least ? here : least;
        most = here > most ? here : most;
    }
    return (narrow && all > 0 && s->nchan >= 8 ? PSR_PULSE_NARROW : 0U) |
           ((double)least < 0.75 * (double)most ? PSR_PULSE_EDGE : 0U);
}

/* --- the plan --------------------------------------------------------------------------------- */

/* Pushes what the pulse needs and more, in pieces. */
static unsigned mark(const struct scene *s, double *a, uint64_t *seed)
{
    const struct psr_pulse_spectrum_desc d = {.size = sizeof d,
                                              .nchan = s->nchan,
                                              .delay = s->delay,
                                              .first = s->first,
                                              .width = s->width};
    psr_pulse_spectrum *p;
    psr_err err;
    int64_t first, end;
    if (psr_pulse_spectrum_create(&p, &d, &err)) {
        diag("%s", err.msg);
        return 1U << 20;
    }
    psr_pulse_spectrum_range(p, &first, &end);
    first -= tap_between(seed, 0, 30);
    for (int64_t n; first < end; first += n) {
        n = tap_between(seed, 1, 90);
        n = n < s->t0 + (int64_t)s->n - first ? n : s->t0 + (int64_t)s->n - first;
        psr_pulse_spectrum_push(p, first, (size_t)n, at(s, first, 0));
    }
    unsigned marks = psr_pulse_spectrum_marks(p, a);
    psr_pulse_spectrum_destroy(p);
    return marks;
}

static void test_plainly(uint64_t *seed)
{
    int wrong = 0, narrow = 0, edge = 0, skipped = 0;
    for (int k = 0; k < ROUNDS; k++) {
        struct scene s = {.nchan = (size_t)tap_between(seed, 1, MOST)};
        const size_t from = (size_t)tap_between(seed, 0, (int64_t)s.nchan - 1);
        const size_t to = from + 1 + (size_t)tap_between(seed, 0, (int64_t)(s.nchan - from) - 1);
        double got[MOST], want[MOST];
        bool clear;
        make_scene(&s, 3 * tap_uniform(seed), from, to, k % 3 ? 0.5 : 0, seed);
        const unsigned marks = mark(&s, got, seed), should = mark_plainly(&s, want, &clear);
        bool same = !clear || marks == should;
        for (size_t c = 0; c < s.nchan; c++)
            same = same && fabs(got[c] - want[c]) < 1e-6;
        wrong += !same;
        skipped += !clear;
        narrow += (should & PSR_PULSE_NARROW) != 0;
        edge += (should & PSR_PULSE_EDGE) != 0;
        free(s.x);
    }
    ok(wrong == 0 && skipped < ROUNDS / 5,
       "%d pulses: %d marks or spectra differ from plain ones (%d narrow, %d at edges; rounding "
       "decides %d)",
       ROUNDS, wrong, narrow, edge, skipped);
    ok(narrow >= 5 && edge >= 5 && narrow < ROUNDS && edge < ROUNDS, "both kinds are there");
}

/* A pulse of S/N 6 in the whole band, and in part of it, in 48 channels. */
static void test_kinds(uint64_t *seed)
{
    static const struct {
        size_t from, to;
        double least, most; /* share marked */
    } kinds[] = {{0, MOST, 0, 0.005}, {8, 32, 0, 0.04}, {20, 26, 0.97, 1}, {31, 32, 0.97, 1}};
    const int npulse = tap_cases(200, 5 * ROUNDS);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        int marked = 0;
        for (int i = 0; i < npulse; i++) {
            struct scene s = {.nchan = MOST};
            bool clear;
            double a[MOST];
            const double nlit = (double)(kinds[k].to - kinds[k].from);
            uint64_t again = *seed;
            make_scene(&s, 0, 0, 0, 0, seed); /* only for its width */
            free(s.x);
            make_scene(&s, 8 * sqrt(MOST / (double)s.width) / nlit, kinds[k].from, kinds[k].to, 0,
                       &again);
            marked += (mark_plainly(&s, a, &clear) & PSR_PULSE_NARROW) != 0;
            free(s.x);
        }
        const double share = (double)marked / npulse;
        ok(share >= kinds[k].least && share <= kinds[k].most,
           "S/N 8 in channels %zu to %zu of %d: %.1f %% are narrow", kinds[k].from, kinds[k].to - 1,
           MOST, 100 * share);
    }
}

static void refuse(struct psr_pulse_spectrum_desc d, const char *field)
{
    psr_pulse_spectrum *p;
    psr_err err = {0};
    ok(psr_pulse_spectrum_create(&p, &d, &err) == PSR_EINVAL && !strcmp(err.field, field) && !p,
       "refused: %s", err.msg);
}

static void test_refusals(void)
{
    const int64_t delay[2] = {0, 3}, early[2] = {0, -1};
    const struct psr_pulse_spectrum_desc good = {
        .size = sizeof good, .nchan = 2, .delay = delay, .first = 5, .width = 2};
    struct psr_pulse_spectrum_desc d;
    refuse((d = good, d.nchan = 0, d), "nchan");
    refuse((d = good, d.width = 0, d), "width");
    refuse((d = good, d.first = INT64_MAX, d), "first");
    refuse((d = good, d.delay = early, d), "delay");
    psr_pulse_spectrum_destroy(NULL);
}

int main(void)
{
    uint64_t seed = tap_seed();
    test_plainly(&seed);
    test_kinds(&seed);
    test_refusals();
    return done_testing();
}
