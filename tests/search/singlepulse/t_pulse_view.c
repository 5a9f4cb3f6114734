/* Pictures of the spectra around pulses: against plain loops, in any pieces; where a pulse is; refusals. */
#include "search/singlepulse/singlepulse_internal.h"
#include "tests/support/tap.h"

#include <math.h>
#include <psrkit/experimental/singlepulse.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 150, ROUNDS = 60 };

struct scene {
    size_t nchan, n;
    int64_t t0, delay[MOST], first, width;
    float *x; /* [n][nchan] from spectrum t0 on */
};

static float value_at(const struct scene *s, int64_t t, size_t c)
{
    return t < s->t0 || t >= s->t0 + (int64_t)s->n ? NAN : s->x[(size_t)(t - s->t0) * s->nchan + c];
}

static void make_scene(struct scene *s, uint64_t *seed)
{
    s->nchan = (size_t)tap_between(seed, 1, MOST);
    s->width = tap_between(seed, 1, 9);
    s->first = tap_between(seed, -20, 500);
    s->t0 = s->first - 200;
    s->n = 700;
    s->x = tap_take(s->n * s->nchan, sizeof *s->x);
    for (size_t c = 0; c < s->nchan; c++)
        s->delay[c] = tap_between(seed, 0, 150);
    for (size_t i = 0; i < s->n * s->nchan; i++)
        s->x[i] = tap_uniform(seed) < 0.02 ? NAN : (float)(100 + 5 * tap_normal(seed));
    for (size_t t = 0; t < s->n && s->nchan > 2; t++)
        s->x[t * s->nchan + 1] = 7; /* without scatter */
    for (size_t c = 0; c < s->nchan; c++)
        for (int64_t u = 0; u < s->width; u++)
            s->x[(size_t)(s->first + s->delay[c] + u - s->t0) * s->nchan + c] += 30;
}

static psr_pulse_view *view(const struct scene *s, uint64_t *seed)
{
    const struct psr_pulse_spectrum_desc d = {sizeof d, s->nchan, s->delay, s->first, s->width};
    psr_pulse_view *p = NULL;
    psr_err err;
    int64_t first, end;
    if (psr_pulse_view_create(&p, &d, &err))
        exit(EXIT_FAILURE);
    psr_pulse_view_range(p, &first, &end);
    if (first < s->t0 || end > s->t0 + (int64_t)s->n)
        exit(EXIT_FAILURE);
    for (size_t t = 0, n; t < s->n; t += n) {
        n = (size_t)tap_between(seed, 1, 300);
        n = n < s->n - t ? n : s->n - t;
        psr_pulse_view_push(p, s->t0 + (int64_t)t, n, s->x + t * s->nchan);
    }
    return psr_pulse_view_finish(p, &err) == PSR_OK ? p : NULL;
}

/* Mean and scatter of a channel over the range. */
static bool measure(const struct scene *s, const psr_pulse_view *p, size_t c, double *mean,
                    double *scatter)
{
    int64_t first, end, n = 0;
    double sum = 0, square = 0;
    psr_pulse_view_range(p, &first, &end);
    for (int64_t t = first; t < end; t++)
        if (!isnan(value_at(s, t, c))) {
            sum += (double)value_at(s, t, c);
            n++;
        }
    *mean = sum / (double)n;
    for (int64_t t = first; t < end; t++)
        if (!isnan(value_at(s, t, c)))
            square += ((double)value_at(s, t, c) - *mean) * ((double)value_at(s, t, c) - *mean);
    *scatter = sqrt(square / (double)n);
    return *scatter > 1e-6;
}

static double cell(const struct scene *s, const psr_pulse_view *p,
                   const struct psr_pulse_picture *of, size_t row, size_t column, bool aligned)
{
    const size_t end = (row + 1) * of->nrow_chan;
    double sum = 0, mean, scatter;
    int64_t n = 0;
    for (size_t c = row * of->nrow_chan; c < end && c < s->nchan; c++)
        for (int64_t k = 0; k < of->step; k++) {
            const int64_t t = of->first + (int64_t)column * of->step + k;
            const double x = (double)value_at(s, t + (aligned ? s->delay[c] : 0), c);
            int64_t first, last;
            psr_pulse_view_range(p, &first, &last);
            if (isnan(x) || t + (aligned ? s->delay[c] : 0) >= last ||
                !measure(s, p, c, &mean, &scatter))
                continue;
            sum += (x - mean) / scatter;
            n++;
        }
    return n ? sum / sqrt((double)n) : NAN;
}

static bool same(const struct scene *s, const psr_pulse_view *p, const struct psr_pulse_picture *of,
                 bool aligned, uint64_t *seed)
{
    bool fine = of->nt <= 96 && of->nf <= 64 && of->nf * of->nrow_chan >= s->nchan;
    for (int k = 0; k < 20 && fine; k++) {
        const size_t row = (size_t)tap_between(seed, 0, (int64_t)of->nf - 1),
                     column = (size_t)tap_between(seed, 0, (int64_t)of->nt - 1);
        const double want = cell(s, p, of, row, column, aligned),
                     got = (double)of->value[row * of->nt + column];
        fine = isnan(want) ? isnan(got) : fabs(got - want) < 1e-3 * (1 + fabs(want));
    }
    return fine;
}

static void test_plainly(uint64_t *seed)
{
    int good = 0, found = 0, most = 0;
    for (int round = 0; round < ROUNDS; round++) {
        struct scene s;
        struct psr_pulse_picture aligned, swept, series;
        make_scene(&s, seed);
        psr_pulse_view *p = view(&s, seed);
        psr_pulse_view_pictures(p, &aligned, &swept, &series);
        good += same(&s, p, &aligned, true, seed) && same(&s, p, &swept, false, seed) &&
                same(&s, p, &series, true, seed) && series.nf == 1;
        size_t best = 0;
        for (size_t k = 1; k < series.nt; k++)
            best = series.value[k] > series.value[best] ? k : best;
        const int64_t at = series.first + (int64_t)best * series.step;
        found += at + series.step > s.first && at < s.first + s.width;
        most++;
        psr_pulse_view_destroy(p);
        free(s.x);
    }
    ok(good == most, "%d of %d pictures are those of plain loops", good, most);
    ok(found == most, "%d of %d pulses are where they were", found, most);
}

static void test_errors(void)
{
    const int64_t delay[] = {0, -1};
    const struct psr_pulse_spectrum_desc bad[] = {{sizeof *bad, 0, delay, 0, 1},
                                                  {sizeof *bad, 1, delay, 0, 0},
                                                  {sizeof *bad, 2, delay, 0, 1}};
    const char *const field[] = {"nchan", "width", "delay"};
    for (size_t i = 0; i < 3; i++) {
        psr_pulse_view *p = NULL;
        psr_err err;
        ok(psr_pulse_view_create(&p, &bad[i], &err) == PSR_EINVAL && !strcmp(err.field, field[i]) &&
               !p,
           "refused: %s", err.msg);
    }
    psr_pulse_view_destroy(NULL);
}

int main(void)
{
    uint64_t seed = tap_seed();
    test_plainly(&seed);
    test_errors();
    return done_testing();
}
