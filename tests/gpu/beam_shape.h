/* beam_shape.h: random arrays, weights, directions and voltages for t_beam_cuda.c. */
#ifndef PSR_TESTS_GPU_BEAM_SHAPE_H
#define PSR_TESTS_GPU_BEAM_SHAPE_H

#include "tests/support/beam_ref.h"

struct shape {
    struct psr_beam_desc d;
    struct psr_array a;
    size_t *tds, nt;
    float *weight;
    double *theta_ns, *theta_ew;
    uint8_t *in;
};

static void drop(struct shape *s)
{
    psr_array_clear(&s->a);
    free(s->tds);
    free(s->weight);
    free(s->theta_ns);
    free(s->theta_ew);
    free(s->in);
}

static double *random_directions(size_t n, size_t places, uint64_t *seed)
{
    double *theta = tap_take(n, sizeof *theta);
    for (size_t i = 0; i < n; i++) {
        theta[i] = (tap_uniform(seed) - 0.5) * 3 * (double)places;
        if (tap_between(seed, 0, 3) == 0)
            theta[i] = rint(2 * theta[i]) / 2;
    }
    return theta;
}

/* What is not left to chance; 0 is. */
struct wish {
    size_t nfreq, tds, nbeam;
};

static void choose_directions(struct shape *s, int pattern, size_t nbeam, uint64_t *seed)
{
    s->d.pattern = (enum psr_beam_pattern)pattern;
    if (pattern == PSR_BEAM_GRID)
        return;
    s->d.nbeam = nbeam ? nbeam : (size_t)tap_between(seed, 1, 400);
    s->d.n_ns = (size_t)tap_between(seed, 1, 70);
    s->d.n_ew = (size_t)tap_between(seed, 1, 120);
    bool points = pattern == PSR_BEAM_POINTS;
    size_t ns = points ? s->d.nbeam : s->d.n_ns, ew = points ? s->d.nbeam : s->d.n_ew;
    s->theta_ns = random_directions(s->d.nfreq * ns, s->a.m, seed);
    s->theta_ew = random_directions(s->d.nfreq * ew, s->a.n, seed);
    s->d.theta_ns = s->theta_ns;
    s->d.theta_ew = s->theta_ew;
}

static void choose_weights(struct shape *s, uint64_t *seed)
{
    size_t n = s->d.nfreq * 2 * s->d.array->ndish * 2;
    double size = pow(10, 8 * (tap_uniform(seed) - 0.5));
    s->weight = tap_take(n, sizeof *s->weight);
    for (size_t i = 0; i < n; i++)
        s->weight[i] = (float)(size * (tap_uniform(seed) - 0.5));
    s->d.weight = s->weight;
}

static void fill(struct shape *s, uint64_t *seed)
{
    size_t bytes = s->nt * s->d.nfreq * 2 * s->a.ndish;
    s->in = tap_take(bytes, 1);
    for (size_t i = 0; i < bytes; i++)
        s->in[i] = (uint8_t)(tap_random(seed) >> 40);
}

static void choose_as(struct shape *s, const size_t g[3], int pattern, struct wish wish,
                      uint64_t *seed)
{
    bool some = tap_between(seed, 0, 3) == 0, uneven = tap_between(seed, 0, 2) == 0;
    size_t ndish = some ? (size_t)tap_between(seed, 1, (int64_t)(g[0] * g[1])) : g[2];
    memset(s, 0, sizeof *s);
    s->a = ref_array(g[0], g[1], ndish, some ? 3 : 0, seed);
    s->nt = (size_t)tap_between(seed, 40, 160);
    s->d = (struct psr_beam_desc){.size = sizeof(struct psr_beam_desc),
                                  .array = &s->a,
                                  .nfreq = (size_t)tap_between(seed, 1, 5)};
    s->d.nfreq = wish.nfreq ? wish.nfreq : s->d.nfreq;
    s->d.nibbles.offset_binary = tap_between(seed, 0, 1);
    s->d.nibbles.real_low = tap_between(seed, 0, 1);
    s->tds = tap_take(s->d.nfreq, sizeof *s->tds);
    for (size_t f = 0; f < s->d.nfreq; f++)
        s->tds[f] = wish.tds       ? wish.tds
                    : f && !uneven ? s->tds[0]
                                   : (size_t)tap_between(seed, 1, 45);
    s->d.tds = s->tds;
    s->d.mem_bytes = 1 << 30;
    choose_directions(s, pattern, wish.nbeam, seed);
    if (tap_between(seed, 0, 3))
        choose_weights(s, seed);
    fill(s, seed);
}

static void choose(struct shape *s, const size_t g[3], int pattern, uint64_t *seed)
{
    choose_as(s, g, pattern, (struct wish){0}, seed);
}

#endif
