/* Which multiple of a candidate's period has turns that do not differ: of made turns in white and in red noise, with gaps and
 * pulses of uneven height. */
#include <psrkit/experimental/fold.h>

#include "search/fold/fold_internal.h"
#include "tests/support/tap.h"

#include <math.h>
#include <string.h>

enum { NBIN = 64, TURNS = PSR_FOLD_RATIO_TURNS, NCASE = 100 };

static psr_err err;

/* Turns of a candidate; pulse k is in every "every"th turn. */
struct scene {
    long nturn;
    double snr;    /* of the whole fold */
    double width;  /* standard deviation, turns */
    int every;     /* of 1, 2, 3 */
    double second; /* height of a second pulse half a turn on */
    double other;  /* height of pulses in the other turns */
    double late;   /* turns by which those are late */
    double red;    /* standard deviation of red noise, of that of a bin */
    double uneven; /* standard deviation of the logarithm of heights */
    double lost;   /* share of turns without a pulse */
    double beside; /* amplitude of a wave of 9 2/3 periods a turn, of the scatter of a bin */
};

static double place_pulse(double at, double width, long b)
{
    double off = ((double)b + 0.5) / NBIN - at;
    off -= rint(off);
    return exp(-0.5 * off * off / width / width);
}

/* A height for each turn. */
static double draw_height(const struct scene *s, uint64_t *seed)
{
    const double height = exp(s->uneven * tap_normal(seed));
    return tap_uniform(seed) < s->lost ? 0 : height;
}

static void add_turn(const struct scene *s, long turn, double height, double *red, double *to,
                     uint64_t *seed)
{
    const bool is_own = turn % s->every == 0;
    const double own = height * draw_height(s, seed) * (is_own ? 1 : s->other);
    const double keep = exp(-1.0 / NBIN);
    for (long b = 0; b < NBIN; b++) {
        *red = keep * *red + sqrt(1 - keep * keep) * s->red * tap_normal(seed);
        const double phase = 2 * M_PI * 29 / 3.0 * ((double)turn + (double)b / NBIN);
        to[b] += 50 + tap_normal(seed) + *red + s->beside * sin(phase) +
                 own * (place_pulse(is_own ? 0.3 : 0.3 + s->late, s->width, b) +
                        s->second * place_pulse(0.8, s->width, b));
    }
}

static void make_fold(struct psr_pfd *p, const struct scene *s, uint64_t *seed)
{
    const long ncycle = s->nturn / TURNS, npart = PSR_FOLD_RATIO_PARTS;
    *p = (struct psr_pfd){.nperiod = 1,
                          .npdot = 1,
                          .nsub = 1,
                          .npart = (int32_t)npart,
                          .nbin = NBIN * TURNS,
                          .nchan = 1,
                          .tsamp_s = 1e-3,
                          .fold = {.f = 1 / (NBIN * TURNS * 20e-3)},
                          .topo = {.p = NBIN * TURNS * 20e-3}};
    if (psr_pfd_allocate(p, &err) != PSR_OK)
        exit(EXIT_FAILURE);
    const double n = (double)s->nturn / s->every;
    const double height = s->snr / sqrt(n * NBIN * sqrt(M_PI) * s->width);
    double red = s->red * tap_normal(seed);
    for (long c = 0; c < ncycle; c++) {
        const long part = c * npart / ncycle;
        double *profile = p->profile + part * p->nbin;
        for (long k = 0; k < TURNS; k++)
            add_turn(s, c * TURNS + k, height, &red, profile + k * NBIN, seed);
        p->stats[part].numdata += p->topo.p / p->tsamp_s;
        p->stats[part].prof_var += 1;
        p->stats[part].prof_avg += 50;
    }
}

/* Of NCASE folds, those of which the ratio is over / under. */
static long count_ratios(const struct scene *s, int over, int under, uint64_t *seed)
{
    long n = 0;
    for (long i = 0; i < NCASE; i++) {
        struct psr_pfd p;
        struct psr_fold_ratio r;
        make_fold(&p, s, seed);
        n += psr_fold_find_ratio(&r, &p, &err) == PSR_OK && r.over == over && r.under == under;
        psr_pfd_clear(&p);
    }
    return n;
}

/* Nothing makes the period another one that is not one. */
static void test_kept(uint64_t *seed)
{
    static const struct {
        const char *what;
        struct scene s;
        long moved; /* at most */
    } of[] = {
        {"white noise", {.nturn = 60, .snr = 16, .width = 0.02, .every = 1}, 4},
        {"white noise without a pulse", {.nturn = 60, .width = 0.02, .every = 1}, 4},
        {"many turns", {.nturn = 180, .snr = 16, .width = 0.02, .every = 1}, 4},
        {"24 turns in red noise", {.nturn = 24, .snr = 30, .width = 0.01, .every = 1, .red = 1}, 4},
        {"48 turns in red noise", {.nturn = 48, .snr = 20, .width = 0.02, .every = 1, .red = 1}, 4},
        {"red noise without a pulse", {.nturn = 24, .width = 0.02, .every = 1, .red = 2}, 15},
        {"uneven pulses", {.nturn = 24, .snr = 40, .width = 0.01, .every = 1, .uneven = 0.7}, 4},
        {"lost turns", {.nturn = 30, .snr = 40, .width = 0.01, .every = 1, .lost = 0.3}, 4},
        {"lost turns in red noise",
         {.nturn = 18, .snr = 30, .width = 0.01, .every = 1, .lost = 0.3, .red = 1},
         4},
        {"another pulsar beside",
         {.nturn = 72, .snr = 20, .width = 0.01, .every = 1, .beside = 0.4},
         4},
        {"12 turns", {.nturn = 12, .snr = 30, .width = 0.01, .every = 1, .lost = 0.3, .red = 1}, 4},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const long n = count_ratios(&of[i].s, 1, 1, seed);
        ok(n >= NCASE - of[i].moved, "%s: %ld of %d keep their period", of[i].what, n, NCASE);
    }
}

static void test_found(uint64_t *seed)
{
    static const struct {
        const char *what;
        struct scene s;
        int over, under, least;
    } of[] = {
        {"every second turn", {.nturn = 60, .snr = 15, .width = 0.02, .every = 2}, 2, 1, 96},
        {"every third turn", {.nturn = 60, .snr = 15, .width = 0.02, .every = 3}, 3, 1, 96},
        {"every second of 18 turns", {.nturn = 18, .snr = 15, .width = 0.02, .every = 2}, 2, 1, 94},
        {"every third of 18 turns", {.nturn = 18, .snr = 15, .width = 0.02, .every = 3}, 3, 1, 94},
        {"every second turn, red noise",
         {.nturn = 40, .snr = 20, .width = 0.02, .every = 2, .red = 1},
         2,
         1,
         94},
        {"every third turn, red noise",
         {.nturn = 40, .snr = 20, .width = 0.02, .every = 3, .red = 1},
         3,
         1,
         94},
        {"half the height in other turns",
         {.nturn = 120, .snr = 28, .width = 0.02, .every = 2, .other = 0.5},
         2,
         1,
         96},
        {"as high, but later, in other turns",
         {.nturn = 120, .snr = 20, .width = 0.02, .every = 2, .other = 1, .late = 0.08},
         2,
         1,
         96},
        {"equal components half a turn apart",
         {.nturn = 60, .snr = 20, .width = 0.02, .every = 1, .second = 1},
         1,
         2,
         94},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const long n = count_ratios(&of[i].s, of[i].over, of[i].under, seed);
        ok(n >= of[i].least, "%s: %ld of %d are %d/%d", of[i].what, n, NCASE, of[i].over,
           of[i].under);
    }
}

/* Sub-bands whose sum is a fold have its ratio: a pulse in every second turn, in one of four. */
static void test_sub_bands(uint64_t *seed)
{
    const struct scene s = {.nturn = 60, .snr = 25, .width = 0.02, .every = 2};
    enum { NSUB = 4 };
    long same = 0, two = 0;
    for (long i = 0; i < NCASE; i++) {
        struct psr_pfd whole, p;
        struct psr_fold_ratio want, r;
        make_fold(&whole, &s, seed);
        p = whole;
        p.nsub = NSUB;
        if (psr_pfd_allocate(&p, &err) != PSR_OK)
            exit(EXIT_FAILURE);
        for (size_t row = 0; row < (size_t)whole.npart * NSUB; row++) {
            const size_t part = row / NSUB, nbin = (size_t)p.nbin;
            p.stats[row] = whole.stats[part];
            p.stats[row].prof_var /= NSUB;
            for (size_t b = 0; b < nbin; b++) {
                const double level = 1000 * (double)(row % NSUB);
                p.profile[row * nbin + b] =
                    row % NSUB ? level : whole.profile[part * nbin + b] - 6000;
            }
        }
        two += psr_fold_find_ratio(&want, &whole, &err) == PSR_OK && want.over == 2;
        same += psr_fold_find_ratio(&r, &p, &err) == PSR_OK && r.over == want.over &&
                r.under == want.under;
        psr_pfd_clear(&p);
        psr_pfd_clear(&whole);
    }
    ok(same == NCASE && two > NCASE / 2, "four sub-bands: %ld of %d as one, %ld 2/1", same, NCASE,
       two);
}

static void test_refusals(uint64_t *seed)
{
    const struct scene s = {.nturn = 12, .snr = 20, .width = 0.02, .every = 1};
    struct psr_pfd p;
    struct psr_fold_ratio r;
    make_fold(&p, &s, seed);
    const struct psr_pfd whole = p;
    p.nsub = 0;
    ok(psr_fold_find_ratio(&r, &p, &err) == PSR_EINVAL && strstr(err.msg, "0 sub-bands"),
       "no sub-band: %s", err.msg);
    p = whole;
    p.nbin = 7;
    ok(psr_fold_find_ratio(&r, &p, &err) == PSR_EINVAL && strstr(err.msg, "7 bins"),
       "bins that are no multiple: %s", err.msg);
    p.nbin = TURNS;
    ok(psr_fold_find_ratio(&r, &p, &err) == PSR_EINVAL, "a bin a turn");
    p = whole;
    p.fold.f = 0;
    ok(psr_fold_find_ratio(&r, &p, &err) == PSR_EINVAL, "no frequency");
    p = whole;
    memset(p.profile, 0, (size_t)p.npart * (size_t)p.nbin * sizeof *p.profile);
    ok(psr_fold_find_ratio(&r, &p, &err) == PSR_OK && r.over == 1 && r.under == 1, "nothing");
    psr_pfd_clear(&p);
}

int main(void)
{
    uint64_t seed = tap_seed();
    test_kept(&seed);
    test_found(&seed);
    test_sub_bands(&seed);
    test_refusals(&seed);
    return done_testing();
}
