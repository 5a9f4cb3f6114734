/* fold: candidates folded in one pass, against a naive fold in double precision; on a device if
 * FOLD_BACKEND names one, which must give the CPU's bits. */
#include <psrkit/ddplan.h>
#include <psrkit/device.h>
#include <psrkit/experimental/fold.h>

#include "search/fold/fold_internal.h"
#include "tests/support/tap.h"

#include <math.h>
#include <string.h>

#ifndef FOLD_BACKEND
#define FOLD_BACKEND "cpu"
#endif

static psr_err err;

enum { NCAND = 5, NCHAN = 48, NSAMP_MAX = 6000, NDELAY = 40, NSTEP_MAX = 8 * NCHAN };

struct scene {
    struct psr_fold_desc d;
    struct psr_fold_candidate cand[NCAND];
    double time_s[NDELAY], delay_s[NDELAY];
    unsigned char keep[NCHAN];
    double freq_mhz[NCHAN]; /* of a band with gaps, some channels out of order */
    size_t nsamp;
    struct psr_step step[NSTEP_MAX]; /* what zeros stand for */
    size_t nstep;
    double value[NSAMP_MAX][NCHAN]; /* as the spectra are ordered */
    unsigned char packed[NSAMP_MAX * NCHAN * 4];
};

static struct scene scene;

static void set_candidates(struct scene *s, uint64_t *seed)
{
    const double length_s = (double)s->nsamp * s->d.tsamp_s;
    for (int i = 0; i < NDELAY; i++) {
        s->time_s[i] = length_s * i / (NDELAY - 2); /* one beyond the end */
        s->delay_s[i] = 0.02 * length_s * sin(i * 0.2 + 1);
    }
    for (size_t i = 0; i < NCAND; i++) {
        struct psr_fold_candidate *c = &s->cand[i];
        const double turn = 2 + pow(tap_uniform(seed), 3) * (double)s->nsamp / 2;
        *c = (struct psr_fold_candidate){.f = 1 / (turn * s->d.tsamp_s),
                                         .phase = tap_uniform(seed),
                                         .dm = 300 * tap_uniform(seed),
                                         .nbin = (size_t)tap_between(seed, 1, 40)};
        c->fd = i % 2 ? (tap_uniform(seed) - 0.5) * c->f / length_s : 0;
        c->fdd = i % 3 ? (tap_uniform(seed) - 0.5) * c->f / length_s / length_s : 0;
        if (i == 3)
            c->ndelay = NDELAY, c->time_s = s->time_s, c->delay_s = s->delay_s;
    }
}

/* Some samples of some channels are 0, and stand for other values: now and then for long. */
static void replace(struct scene *s, uint64_t *seed)
{
    s->nstep = 0;
    if (s->d.nbit > 8 || tap_between(seed, 0, 1))
        return;
    for (size_t c = 0; c < NCHAN; c++) {
        int64_t t = 0;
        for (int k = 0; k < 4 && (!s->d.keep || s->keep[c]); k++) {
            const int64_t gap = tap_between(seed, 0, (int)s->nsamp);
            const float value = (float)tap_between(seed, 1, 1000) / 7;
            const int64_t length = tap_between(seed, 1, tap_between(seed, 0, 1) ? 5 : 2000);
            t += tap_between(seed, 0, 3) ? gap : 0;
            if (t + length >= (int64_t)s->nsamp)
                break;
            s->step[s->nstep++] = (struct psr_step){t, c, value};
            for (int64_t i = 0; i < length; i++, t++)
                s->value[t][c] = (double)value;
            s->step[s->nstep++] = (struct psr_step){t, c, 0};
        }
    }
}

static bool is_replaced(const struct scene *s, size_t t, size_t c)
{
    float value = 0;
    for (size_t i = 0; i < s->nstep; i++)
        if (s->step[i].c == c && s->step[i].t <= (int64_t)t)
            value = s->step[i].value;
    return value != 0;
}

static void pack(struct scene *s, uint64_t *seed)
{
    const struct psr_fold_desc *d = &s->d;
    const double low = d->kind == PSR_INT ? -ldexp(1, d->nbit - 1) : 0;
    unsigned char *to = s->packed;
    memset(s->packed, 0, sizeof s->packed);
    for (size_t t = 0; t < s->nsamp; t++) {
        for (size_t c = 0; c < d->nchan; c++) {
            uint64_t code = tap_random(seed) >> 20 & (((uint64_t)1 << d->nbit) - 1);
            float x = (float)(code & 0xffff) / 7;
            const double value = d->kind == PSR_FLOAT ? (double)x : (double)code + low;
            if (d->kind == PSR_INT)
                code ^= (uint64_t)1 << (d->nbit - 1);
            if (s->nstep && is_replaced(s, t, c))
                code = 0;
            else
                s->value[t][c] = value;
            if (d->kind == PSR_FLOAT)
                memcpy(to + 4 * c, &x, 4);
            else if (d->nbit == 16)
                memcpy(to + 2 * c, &code, 2);
            else
                to[c * (size_t)d->nbit / 8] |= (unsigned char)(code << c * (size_t)d->nbit % 8);
        }
        to += (d->nchan * (size_t)d->nbit + 7) / 8;
    }
}

static void make_scene(struct scene *s, uint64_t *seed, int nbit, enum psr_kind kind)
{
    static const size_t nsub[] = {1, 2, 3, 16, 48};
    s->d = (struct psr_fold_desc){
        .size = sizeof(struct psr_fold_desc),
        .nchan = NCHAN,
        .nbit = nbit,
        .kind = kind,
        .ascending = tap_between(seed, 0, 1),
        .lofreq_mhz = 400,
        .width_mhz = 2,
        .voverc = 1e-4,
        .tsamp_s = 1e-3,
        .nsub = nsub[tap_between(seed, 0, 4)],
        .in_phase = tap_between(seed, 0, 2) == 0,
        .block = (size_t)tap_between(seed, 1, tap_between(seed, 0, 3) ? 200 : 1500),
        .ahead = (size_t)tap_between(seed, 0, 1),
        .npart = (size_t)tap_between(seed, 1, 7),
        .cand = s->cand,
        .ncand = NCAND,
        .nthread = 1,
        .backend = FOLD_BACKEND};
    for (size_t c = 0; c < NCHAN; c++)
        s->freq_mhz[c] = 400 + (double)((c ^ 1) / 16 * 50 + (c ^ 1)) + tap_uniform(seed);
    s->d.freq_mhz = tap_between(seed, 0, 1) ? s->freq_mhz : NULL;
    s->d.part_blocks = (size_t)tap_between(seed, 1, 4);
    s->nsamp = (size_t)tap_between(seed, 1, NSAMP_MAX);
    for (size_t c = 0; c < NCHAN; c++)
        s->keep[c] = tap_between(seed, 0, 9) > 0;
    s->d.keep = tap_between(seed, 0, 1) ? s->keep : NULL;
    set_candidates(s, seed);
    replace(s, seed);
    pack(s, seed);
    if (s->d.ahead > s->d.npart * s->d.part_blocks)
        s->d.ahead = 0;
}

/* --- the reference ---------------------------------------------------------------------------- */

static double freq_of(const struct psr_fold_desc *d, size_t k)
{
    const double even = d->lofreq_mhz + (double)k * d->width_mhz;
    return (d->freq_mhz ? d->freq_mhz[d->ascending ? k : d->nchan - 1 - k] : even) *
           (1 + d->voverc);
}

/* Spectra by which channel k is advanced. */
static size_t delay_of(const struct psr_fold_desc *d, double dm, size_t k)
{
    const size_t per_band = d->in_phase ? d->nchan : d->nchan / d->nsub;
    const size_t end = (k / per_band + 1) * per_band;
    const double f = freq_of(d, k);
    double g = 0;
    for (size_t i = end - per_band; i < end; i++)
        g = fmax(g, freq_of(d, i));
    return (size_t)(PSR_DMCONST_PRESTO * dm * (1 / (f * f) - 1 / (g * g)) / d->tsamp_s + 0.5);
}

/* Turns since the first sample. */
static long double turns_at(const struct psr_fold_candidate *c, long double t)
{
    if (c->ndelay) {
        size_t i = 0;
        while (i + 2 < c->ndelay && t > c->time_s[i + 1])
            i++;
        t -= c->delay_s[i] + (t - c->time_s[i]) * (c->delay_s[i + 1] - c->delay_s[i]) /
                                 (c->time_s[i + 1] - c->time_s[i]);
    }
    return c->f * t + c->fd * t * t / 2 + c->fdd * t * t * t / 6;
}

struct cube {
    double *profile, *mean, *var, *count; /* [npart][nsub][nbin], [npart][nsub] */
};

/* Adds what of a sample lies in [from, to], of one turn, to its bins. */
static void spread(double *turn, size_t nbin, long double phase, long double from, long double to,
                   double density)
{
    for (size_t b = 0; b < 2 * nbin; b++) { /* a turn begins anywhere */
        const long double first = floorl(phase + from), lo = first + (long double)b / nbin,
                          hi = first + (long double)(b + 1) / nbin;
        const long double a = fmaxl(phase + from, lo), z = fminl(phase + to, hi);
        if (z > a)
            turn[b % nbin] += (double)(z - a) * density;
    }
}

/* Of one sub-band: every turn goes to the part in which it ends. */
static void fold_band(const struct scene *s, const struct psr_fold_candidate *c, size_t j,
                      size_t nblock, struct cube *cube)
{
    const struct psr_fold_desc *d = &s->d;
    const size_t per_band = d->nchan / d->nsub;
    double turn[64] = {0};
    const long double begin = turns_at(c, 0);
    for (size_t t = 0; t < nblock * d->block; t++) {
        const size_t part = t / d->block / d->part_blocks, at = part * d->nsub + j;
        double x = 0;
        for (size_t k = j * per_band; k < (j + 1) * per_band; k++) {
            const size_t chan = d->ascending ? k : d->nchan - 1 - k;
            if (!d->keep || d->keep[chan])
                x += s->value[t + delay_of(d, c->dm, k)][chan];
        }
        cube->count[at]++;
        const double off = x - cube->mean[at];
        cube->mean[at] += off / cube->count[at];
        cube->var[at] += off * (x - cube->mean[at]);
        const long double a = turns_at(c, t * (long double)d->tsamp_s) - begin,
                          b = turns_at(c, (t + 1) * (long double)d->tsamp_s) - begin;
        const double density = x / (double)(b - a);
        for (long double k = floorl(a); k < b; k++) {
            spread(turn, c->nbin, c->phase + begin, fmaxl(a, k), fminl(b, k + 1), density);
            for (size_t i = 0; b >= k + 1 && i < c->nbin; i++) {
                cube->profile[at * c->nbin + i] += turn[i];
                turn[i] = 0;
            }
        }
    }
}

static struct cube fold_naively(const struct scene *s, const struct psr_fold_candidate *c)
{
    const struct psr_fold_desc *d = &s->d;
    const size_t n = d->npart * d->nsub;
    struct cube cube = {tap_take(n * c->nbin, 8), tap_take(n, 8), tap_take(n, 8), tap_take(n, 8)};
    size_t most = 0;
    for (size_t k = 0; k < d->nchan; k++)
        if (!d->keep || d->keep[d->ascending ? k : d->nchan - 1 - k])
            most = delay_of(d, c->dm, k) > most ? delay_of(d, c->dm, k) : most;
    const size_t whole = s->nsamp / d->block, need = (most + d->block - 1) / d->block;
    const size_t ahead = need > d->ahead ? need : d->ahead, all = d->npart * d->part_blocks;
    const size_t can = whole > ahead ? whole - ahead : 0;
    for (size_t j = 0; j < d->nsub; j++)
        fold_band(s, c, j, can < all ? can : all, &cube);
    return cube;
}

/* --- comparison ------------------------------------------------------------------------------- */

/* A turn that ends within rounding of the end of a part may go to either. */
static int compare(const struct scene *s, const psr_fold *f, size_t i, double *worst)
{
    const struct psr_fold_desc *d = &s->d;
    const struct psr_fold_candidate *c = &s->cand[i];
    const double *got = psr_fold_profile(f, i);
    const struct psr_fold_stats *stats = psr_fold_statistics(f, i);
    struct cube want = fold_naively(s, c);
    int bad = 0;
    for (size_t k = 0; k < d->npart * d->nsub; k++) {
        double scale = 0, sum = 0, chi = 0;
        for (size_t b = 0; b < c->nbin; b++) {
            scale = fmax(scale, fabs(want.profile[k * c->nbin + b]));
            sum += want.profile[k * c->nbin + b];
        }
        for (size_t b = 0; b < c->nbin; b++) {
            const double w = want.profile[k * c->nbin + b], off = fabs(got[k * c->nbin + b] - w);
            *worst = scale > 0 ? fmax(*worst, off / scale) : *worst;
            bad += !(off <= 2e-6 * scale);
            chi += (w - sum / (double)c->nbin) * (w - sum / (double)c->nbin);
        }
        const double n = want.count[k], var = n > 1 ? want.var[k] / (n - 1) : 0;
        bad += stats[k].numdata != n || stats[k].numprof != (double)c->nbin;
        bad += !(fabs(stats[k].data_avg - want.mean[k]) <= 1e-6 * (fabs(want.mean[k]) + sqrt(var)));
        /* Floats of a sub-band are added up in single precision, which moves each sample a little. */
        const double adds = d->nbit == 32 ? (double)(d->nchan / d->nsub) : 0;
        const double moved = adds * 0x1p-24 * (fabs(want.mean[k]) + 5 * sqrt(var));
        const double rounded =
            1e-13 * want.mean[k] * want.mean[k] + 2 * moved * sqrt(2 * var) + moved * moved;
        bad += !(fabs(stats[k].data_var - var) <= 1e-5 * var + rounded);
        bad += !(fabs(stats[k].prof_avg - sum / (double)c->nbin) <= 2e-6 * scale);
        bad += !(fabs(stats[k].prof_var - var * n / (double)c->nbin) <=
                 1e-5 * stats[k].prof_var + rounded * n / (double)c->nbin);
        const double redchi = chi / (var * n / (double)c->nbin * ((double)c->nbin - 1));
        bad += c->nbin > 1 && var > 0 && !(fabs(stats[k].redchi - redchi) <= 2e-3 * redchi + 1e-4);
    }
    free(want.profile), free(want.mean), free(want.var), free(want.count);
    return bad;
}

/* Spectra t to t + n - 1, and their steps. */
static psr_status push(psr_fold *f, const struct scene *s, size_t t, size_t n)
{
    const size_t row = (s->d.nchan * (size_t)s->d.nbit + 7) / 8;
    struct psr_step step[NSTEP_MAX];
    size_t nstep = 0;
    for (size_t i = 0; i < s->nstep; i++)
        if (s->step[i].t >= (int64_t)t && s->step[i].t < (int64_t)(t + n))
            step[nstep++] = s->step[i];
    return psr_fold_execute(f, s->packed + t * row, n, step, nstep, &err);
}

static psr_fold *fold(const struct scene *s, const struct psr_fold_desc *d, uint64_t *seed)
{
    psr_fold *f;
    if (psr_fold_create(&f, d, &err) != PSR_OK) {
        diag("%s", err.msg);
        return NULL;
    }
    for (size_t t = 0, n; t < s->nsamp; t += n) {
        n = seed ? (size_t)tap_between(seed, 0, 500) : s->nsamp;
        n = n < s->nsamp - t ? n : s->nsamp - t;
        if (push(f, s, t, n))
            diag("%s", err.msg);
    }
    if (psr_fold_finish(f, &err))
        diag("%s", err.msg);
    return f;
}

static const struct {
    int nbit;
    enum psr_kind kind;
} depth[] = {{1, PSR_UINT}, {2, PSR_UINT},  {4, PSR_UINT}, {8, PSR_UINT},
             {8, PSR_INT},  {16, PSR_UINT}, {16, PSR_INT}, {32, PSR_FLOAT}};
enum { NDEPTH = sizeof depth / sizeof *depth };

static void test_against_reference(uint64_t *seed)
{
    int bad = 0;
    double worst = 0;
    for (int k = 0; k < 40; k++) {
        make_scene(&scene, seed, depth[k % NDEPTH].nbit, depth[k % NDEPTH].kind);
        psr_fold *f = fold(&scene, &scene.d, seed);
        for (size_t i = 0; i < NCAND && f; i++)
            bad += compare(&scene, f, i, &worst);
        bad += !f;
        psr_fold_destroy(f);
    }
    ok(bad == 0, "profiles and statistics agree with the naive fold (%d bad, worst %.2g)", bad,
       worst);
}

static bool is_same(const struct psr_fold_desc *d, const psr_fold *a, size_t i, const psr_fold *b,
                    size_t j, size_t nbin)
{
    const size_t n = d->npart * d->nsub;
    return !memcmp(psr_fold_profile(a, i), psr_fold_profile(b, j), n * nbin * sizeof(double)) &&
           !memcmp(psr_fold_statistics(a, i), psr_fold_statistics(b, j),
                   n * sizeof(struct psr_fold_stats));
}

/* The least power of two that is enough: so a device is given a few blocks at a time. */
static void limit_memory(struct psr_fold_desc *d)
{
    d->mem_bytes = 1 << 14;
    while (psr_fold_bytes(d) > (double)d->mem_bytes)
        d->mem_bytes *= 2;
}

static void test_same_bits(uint64_t *seed)
{
    int bad = 0;
    for (int k = 0; k < 16; k++) {
        make_scene(&scene, seed, depth[k % NDEPTH].nbit, depth[k % NDEPTH].kind);
        struct psr_fold_desc many = scene.d;
        scene.d.backend = "cpu";
        psr_fold *one = fold(&scene, &scene.d, NULL);
        many.nthread = 3;
        limit_memory(&many);
        psr_fold *other = fold(&scene, &many, seed);
        for (size_t i = 0; i < NCAND; i++)
            bad += !is_same(&scene.d, one, i, other, i, scene.cand[i].nbin);
        many.cand = &scene.cand[2];
        many.ncand = 1;
        psr_fold *alone = fold(&scene, &many, seed);
        bad += !is_same(&scene.d, one, 2, alone, 0, scene.cand[2].nbin);
        psr_fold_destroy(one);
        psr_fold_destroy(other);
        psr_fold_destroy(alone);
    }
    ok(bad == 0, "threads, calls and other candidates change no bit (%d bad)", bad);
}

/* More than a device folds at once. */
static void test_many(uint64_t *seed)
{
    enum { NMANY = 300 };
    static struct psr_fold_candidate cand[NMANY];
    int bad = 0;
    for (int k = 0; k < 3; k++) {
        make_scene(&scene, seed, 8, PSR_UINT);
        struct psr_fold_desc many = scene.d;
        scene.d.backend = "cpu";
        psr_fold *one = fold(&scene, &scene.d, NULL);
        for (size_t i = 0; i < NMANY; i++)
            cand[i] = scene.cand[i % NCAND];
        many.cand = cand;
        many.ncand = NMANY;
        limit_memory(&many);
        psr_fold *other = fold(&scene, &many, seed);
        for (size_t i = 0; i < NMANY && one && other; i++)
            bad += !is_same(&scene.d, one, i % NCAND, other, i, cand[i].nbin);
        bad += !one + !other;
        psr_fold_destroy(one);
        psr_fold_destroy(other);
    }
    ok(bad == 0, "nor do %d candidates (%d bad)", NMANY, bad);
}

/* 1200 samples of 1. */
static void make_constant(struct scene *s, const struct psr_fold_candidate *c)
{
    s->d = (struct psr_fold_desc){.size = sizeof(struct psr_fold_desc),
                                  .nchan = 1,
                                  .nbit = 32,
                                  .kind = PSR_FLOAT,
                                  .tsamp_s = 1e-3,
                                  .nsub = 1,
                                  .block = 100,
                                  .npart = 3,
                                  .part_blocks = 4,
                                  .cand = c,
                                  .ncand = 1,
                                  .nthread = 1};
    s->nsamp = 1200;
    s->nstep = 0;
    for (size_t t = 0; t < s->nsamp; t++)
        memcpy(s->packed + 4 * t, &(float){1}, 4);
}

/* Every sample of a whole number of turns is somewhere, once. */
static void test_nothing_is_lost(void)
{
    struct scene *s = &scene;
    const struct psr_fold_candidate c = {.f = 1 / 0.05, .nbin = 7};
    make_constant(s, &c);
    psr_fold *f = fold(s, &s->d, NULL);
    double sum = 0;
    for (size_t i = 0; i < 3 * 7; i++)
        sum += psr_fold_profile(f, 0)[i];
    ok(fabs(sum - 1200) < 1e-3 && psr_fold_is_full(f) && psr_fold_count(f) == 1200,
       "24 turns of 50 samples hold 1200 (%.9g)", sum);
    ok(psr_fold_statistics(f, 0)[1].data_var == 0 && psr_fold_statistics(f, 0)[1].redchi == 0,
       "a constant has no variance, and no chi-squared");
    psr_fold_destroy(f);
}

/* A constant stays flat where the end cuts a turn, whatever part it is in, and no sample is lost. */
static void test_last_turn(uint64_t *seed)
{
    int bad = 0;
    for (int k = 0; k < 20; k++) {
        struct scene *s = &scene;
        struct psr_fold_candidate c = {.f = 1 / (0.05 + tap_uniform(seed)),
                                       .nbin = (size_t)tap_between(seed, 1, 40),
                                       .phase = tap_uniform(seed)};
        make_constant(s, &c);
        s->d.last_turn = true;
        s->d.nblock = (size_t)tap_between(seed, 1, 12);
        psr_fold *f = fold(s, &s->d, seed);
        const double per_bin = 1 / (c.f * s->d.tsamp_s * (double)c.nbin);
        double folded = 0, low = INFINITY, high = 0, last = 0;
        for (size_t b = 0; b < c.nbin; b++) {
            double sum = 0;
            for (size_t i = 0; i < 3; i++)
                sum += psr_fold_profile(f, 0)[i * c.nbin + b];
            low = fmin(low, sum);
            high = fmax(high, sum);
        }
        for (size_t i = 0; i < 3; i++)
            folded += psr_fold_statistics(f, 0)[i].numdata;
        last = ceil(100 * (double)s->d.nblock * s->d.tsamp_s * c.f - 1e-9);
        bad += fabs(high - low) > 1e-6 * high || fabs(high - last * per_bin) > 1e-6 * high ||
               folded != 100 * (double)s->d.nblock || !psr_fold_is_full(f) ||
               psr_fold_count(f) != (int64_t)(100 * s->d.nblock);
        psr_fold_destroy(f);
    }
    ok(bad == 0, "a constant with a cut turn is flat, to the last block (%d bad)", bad);
}

/* --- refusals --------------------------------------------------------------------------------- */

static const double not_finite[2] = {NAN, 0};

static void refuse(const struct psr_fold_desc *d, psr_status want, const char *says)
{
    psr_fold *f;
    psr_status st = psr_fold_create(&f, d, &err);
    ok(st == want && !f && strstr(err.msg, says), "refused: %s", st ? err.msg : "not at all");
    psr_fold_destroy(f);
}

/* The window holds, of each channel, the blocks that the longest delay spans, the one that is folded,
 * and as many more, up to 4. */
static double naive_window(const struct psr_fold_desc *d, double dm)
{
    const double lowest = d->lofreq_mhz * (1 + d->voverc);
    const double highest = (d->lofreq_mhz + (double)(NCHAN - 1) * d->width_mhz) * (1 + d->voverc);
    const double delay_s =
        psr_delay_s(PSR_DMCONST_PRESTO, dm, lowest) - psr_delay_s(PSR_DMCONST_PRESTO, dm, highest);
    const double ahead = ceil(floor(delay_s / d->tsamp_s + 0.5) / (double)d->block);
    return (ahead + 1 + fmin(ahead, 4)) * (double)(d->block * NCHAN);
}

static void test_window(const struct psr_fold_desc *good)
{
    struct psr_fold_candidate cand[2] = {{.f = 1, .nbin = 8}, {.f = 1, .nbin = 8, .dm = 10}};
    struct psr_fold_desc d = *good;
    d.cand = cand;
    d.ncand = 2;
    d.nsub = 1;
    d.keep = NULL;
    d.freq_mhz = NULL;
    d.ahead = 0;
    d.backend = "cpu"; /* a device is given more at once */
    d.block = 37;
    const double low = psr_fold_bytes(&d) - naive_window(&d, 10);
    cand[0].dm = 200;
    const double high = psr_fold_bytes(&d) - naive_window(&d, 200);
    ok(low == high && naive_window(&d, 200) > 7 * naive_window(&d, 10),
       "the highest DM's window is counted: %.0f and %.0f bytes", naive_window(&d, 10),
       naive_window(&d, 200));
    const double each = psr_fold_bytes(&d) - naive_window(&d, 200);
    d.nbit = 16;
    ok(psr_fold_bytes(&d) - 2 * naive_window(&d, 200) - each == 512,
       "and so are its bytes of a sample");
    d.keep = (const unsigned char[NCHAN]){0};
    ok(psr_fold_bytes(&d) == each + 512, "and only channels that are kept");
}

static void test_refusals(uint64_t *seed)
{
    make_scene(&scene, seed, 8, PSR_UINT);
    const struct psr_fold_desc good = scene.d;
    struct psr_fold_desc d = good;
    static const double none[NCHAN] = {400, 0};
#define REFUSE(change, status, says) (d = good, change, refuse(&d, status, says))
    REFUSE(d.nbit = 7, PSR_EUNSUPPORTED, "7 bits");
    REFUSE(d.nsub = 5, PSR_EINVAL, "5 sub-bands do not divide 48");
    REFUSE(d.tsamp_s = 0, PSR_EINVAL, "sampling time");
    REFUSE(d.voverc = NAN, PSR_EINVAL, "velocity");
    REFUSE(d.width_mhz = -1, PSR_EINVAL, "width -1");
    REFUSE(d.freq_mhz = none, PSR_EINVAL, "channel 1 at 0 MHz");
    REFUSE(d.block = 0, PSR_EINVAL, "block = 0");
    REFUSE(d.npart = PSR_PFD_NPART_MAX + 1, PSR_EINVAL, "65536 parts");
    REFUSE(d.part_blocks = 0, PSR_EINVAL, "of 0 blocks");
    REFUSE(d.ahead = 1000, PSR_EINVAL, "1000 blocks ahead");
    REFUSE(d.ncand = 0, PSR_EINVAL, "0 candidates");
    REFUSE(d.mem_bytes = 1000, PSR_ENOMEM, "the limit is 1000 B");
    /* A device is given less at once where memory is less. */
    d = good, d.backend = "cpu";
    const double bytes = psr_fold_bytes(&d);
    d.mem_bytes = (int64_t)bytes;
    psr_fold *f = NULL;
    ok(psr_fold_create(&f, &d, &err) == PSR_OK, "%.0f bytes are enough", bytes);
    psr_fold_destroy(f);
    REFUSE((d.backend = "cpu", d.mem_bytes = (int64_t)bytes - 1), PSR_ENOMEM, "the limit is");
    test_window(&good);
    d = good, d.backend = "cpu";
    const double fewer = psr_fold_bytes(&d);
    d.npart++;
    double more = 0;
    for (size_t i = 0; i < good.ncand; i++)
        more += (double)good.nsub *
                (8 * (double)good.cand[i].nbin + (double)sizeof(struct psr_fold_stats));
    ok(psr_fold_bytes(&d) - fewer == more, "a part takes its profiles and their statistics");
    const struct psr_fold_candidate was = scene.cand[1];
    struct psr_fold_candidate *c = &scene.cand[1];
#define REFUSE_CAND(change, says) (*c = was, change, refuse(&good, PSR_EINVAL, says))
    REFUSE_CAND(c->nbin = 0, "candidate 2: 0 bins");
    REFUSE_CAND(c->f = -1, "candidate 2: f = -1");
    REFUSE_CAND(c->f = 501, "is 2 samples, must be 2 or more");
    REFUSE_CAND(c->fd = NAN, "fd = nan");
    REFUSE_CAND(c->dm = -1, "DM = -1");
    REFUSE_CAND((c->ndelay = 1, c->time_s = scene.time_s, c->delay_s = scene.delay_s), "1 delay");
    REFUSE_CAND((c->ndelay = 2, c->time_s = scene.time_s, c->delay_s = not_finite), "delay 0");
    d = good;
    d.tsamp_s = 1e-7;
    for (size_t i = 0; i < NCAND; i++)
        scene.cand[i] = (struct psr_fold_candidate){.f = 1, .nbin = 2, .dm = 9e5};
    d.nsub = 1;
    refuse(&d, PSR_EINVAL, "samples within a sub-band");
    ok(psr_fold_bytes(&good) > 0, "memory is counted: %.0f bytes", psr_fold_bytes(&good));
    d.nsub = 5;
    ok(psr_fold_bytes(&d) == 0, "and not of what cannot be folded");
}

int main(void)
{
    uint64_t seed = tap_seed();
    if (strcmp(FOLD_BACKEND, "cpu") != 0 && !psr_device_count(&err)) {
        skip("folding on a device", err.msg);
        return done_testing();
    }
    test_against_reference(&seed);
    test_same_bits(&seed);
    test_many(&seed);
    test_nothing_is_lost();
    test_last_turn(&seed);
    test_refusals(&seed);
    return done_testing();
}
