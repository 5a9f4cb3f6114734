/* Levels beside pulses: even pulses, changes of the level, several narrow signals at once, hum; in any pieces. */
#include "search/singlepulse/singlepulse_internal.h"
#include "tests/support/tap.h"

#include <math.h>
#include <stdlib.h>

enum { NCHAN = 64, WIDTH = 24, SPECTRA = 400, FIRST = 130, ROUNDS = 400, SWEEP = 40 };

static const struct kind {
    const char *name;
    double snr, step,
        hum; /* S/N of the pulse; height of a step beside it and of a hum, in S/N of a boxcar */
    size_t nnarrow; /* of the pulse: in so many groups of six channels, else in all */
    int64_t sweep;
    unsigned mark;      /* which */
    double least, most; /* share that has it */
} kinds[] = {
    {"an even pulse", 7, 0, 0, 0, SWEEP, PSR_PULSE_NARROW | PSR_PULSE_EDGE, 0, 0.01},
    {"a bright pulse", 20, 0, 0, 0, SWEEP, PSR_PULSE_NARROW | PSR_PULSE_EDGE, 0, 0.01},
    {"a step of the level", 0, 24, 0, 0, SWEEP, PSR_PULSE_EDGE, 0.99, 1},
    {"nothing", 0, 0, 0, 0, SWEEP, PSR_PULSE_EDGE, 0.6, 1},
    {"a pulse in hum", 10, 0, 10, 0, SWEEP, PSR_PULSE_EDGE, 0, 0.03},
    {"two narrow signals", 7, 0, 0, 2, SWEEP, PSR_PULSE_NARROW, 0.9, 1},
    {"two narrow signals with a long sweep", 7, 0, 0, 2, 30 * WIDTH, PSR_PULSE_NARROW, 0, 0},
    {"a bright pulse in a third of the band", 15, 0, 0, 4, SWEEP, PSR_PULSE_NARROW, 0, 0.3},
};

struct scene {
    int64_t delay[NCHAN], first, n;
    float *x; /* [n][NCHAN] */
};

static void add(struct scene *s, const struct kind *k, uint64_t *seed)
{
    const double unit = sqrt(WIDTH * (double)NCHAN) / WIDTH / NCHAN; /* of S/N, in all channels */
    const double phase = 2 * M_PI * tap_uniform(seed);
    bool lit[NCHAN] = {false};
    for (size_t g = 0; g < k->nnarrow; g++)
        for (size_t c = 0; c < 6; c++)
            lit[g * NCHAN / k->nnarrow + 3 + c] = true;
    for (int64_t t = 0; t < s->n; t++)
        for (size_t c = 0; c < NCHAN; c++) {
            const int64_t u = t - s->delay[c] - FIRST;
            const double share = k->nnarrow ? (double)NCHAN / (6 * (double)k->nnarrow) : 1;
            const bool in = u >= 0 && u < WIDTH && (!k->nnarrow || lit[c]);
            const double level = (u >= WIDTH / 2 ? k->step : 0) +
                                 k->hum * sin(2 * M_PI * (double)t / (3.1 * WIDTH) + phase);
            s->x[t * NCHAN + (int64_t)c] =
                (float)(100 + tap_normal(seed) + unit * (level + (in ? k->snr * share : 0)));
        }
}

static void make(struct scene *s, const struct kind *k, uint64_t *seed)
{
    for (size_t c = 0; c < NCHAN; c++)
        s->delay[c] = k->sweep * (int64_t)c / (NCHAN - 1);
    s->n = SPECTRA + k->sweep;
    s->x = malloc((size_t)s->n * NCHAN * sizeof *s->x);
    add(s, k, seed);
}

/* Pushes the spectra in pieces of up to so many. */
static unsigned mark(const struct scene *s, int64_t most, uint64_t *seed)
{
    const struct psr_pulse_spectrum_desc d = {
        .size = sizeof d, .nchan = NCHAN, .delay = s->delay, .first = FIRST, .width = WIDTH};
    psr_pulse_levels *p;
    psr_err err;
    if (psr_pulse_levels_create(&p, &d, &err)) {
        diag("%s", err.msg);
        return 1U << 20;
    }
    for (int64_t t = 0, n; t < s->n; t += n) {
        n = tap_between(seed, 1, most);
        n = n < s->n - t ? n : s->n - t;
        psr_pulse_levels_push(p, t, (size_t)n, s->x + t * NCHAN);
    }
    const unsigned marks = psr_pulse_levels_marks(p);
    psr_pulse_levels_destroy(p);
    return marks;
}

static void test_kind(const struct kind *k, uint64_t *seed)
{
    int marked = 0, differ = 0;
    for (int i = 0; i < ROUNDS; i++) {
        struct scene s;
        make(&s, k, seed);
        const unsigned marks = mark(&s, s.n, seed);
        marked += (marks & k->mark) != 0;
        differ += i < 20 && mark(&s, 50, seed) != marks;
        free(s.x);
    }
    const double share = (double)marked / ROUNDS;
    ok(share >= k->least && share <= k->most && !differ,
       "%s, S/N %g: %.2f %% marked, wanted %g to %g; %d differ in pieces", k->name, k->snr,
       100 * share, 100 * k->least, 100 * k->most, differ);
}

/* Channels without samples, or without noise, have no level. */
static void test_empty(uint64_t *seed)
{
    struct scene s;
    make(&s, &kinds[2], seed);
    for (int64_t i = 0; i < s.n * NCHAN; i++)
        s.x[i] = NAN;
    ok(mark(&s, s.n, seed) == 0, "no samples: no marks");
    for (int64_t i = 0; i < s.n * NCHAN; i++)
        s.x[i] = 7;
    ok(mark(&s, s.n, seed) == 0, "constant samples: no marks");
    free(s.x);
    psr_pulse_levels_destroy(NULL);
}

int main(void)
{
    uint64_t seed = tap_seed();
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        test_kind(&kinds[k], &seed);
    test_empty(&seed);
    return done_testing();
}
