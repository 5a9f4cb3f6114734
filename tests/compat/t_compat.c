/* compat: against prepsubband's rules stated over whole arrays, to the bit. */
#include <psrkit/ddplan.h>

#include "compat/presto/dedisp_presto.h"
#include "rfi/rules/clean_internal.h"
#include "tests/support/mask_bytes.h"

enum { MAX_CHAN = 24, MAX_DM = 4, MAX_BLOCKS = 14, MAX_BLOCK = 240 };

static psr_err err;

struct scene {
    struct psr_compat_desc d;
    double dm[MAX_DM];
    unsigned char keep[MAX_CHAN];
    struct mask_says says;
    struct psr_mask mask;
    size_t nsamp;
    float x[MAX_BLOCKS * MAX_BLOCK * MAX_CHAN]; /* [nsamp][nchan] from the lowest channel */
    float *band;                                /* [samples][nsub] */
    float *want;                                /* [ndm][samples] */
};

/* --- the rules -------------------------------------------------------------------------------- */

static void as52(const float *z, size_t n, double *mean, double *sd)
{
    double var = 0;
    *mean = (double)z[0];
    for (size_t t = 1; t < n; t++) {
        double step = ((double)z[t] - *mean) / (double)(t + 1);
        var += (double)(t + 1) * (double)t * step * step;
        *mean += step;
    }
    *sd = n > 1 ? sqrt(var / (double)(n - 1)) : 0;
}

struct running {
    bool begun;
    float avg, sd, level[MAX_CHAN];
};

static float mix(bool begun, float was, double now)
{
    return (float)(begun ? 0.9 * (double)was + 0.1 * now : now);
}

static void clip(struct running *r, float sigma, float *x, size_t n, size_t nchan)
{
    float z[MAX_BLOCK] = {0}, sorted[MAX_BLOCK] = {0}, good[MAX_BLOCK] = {0};
    double sum[MAX_CHAN] = {0}, mean, sd;
    size_t ngood = 0;
    for (size_t t = 0; t < n; t++) {
        z[t] = 0;
        for (size_t c = 0; c < nchan; c++)
            z[t] += x[t * nchan + c];
        sorted[t] = z[t];
    }
    as52(z, n, &mean, &sd);
    tap_sort_floats(sorted, n);
    float median = (float)(((double)sorted[(n - 1) / 2] + (double)sorted[n / 2]) / 2);
    float low = (float)((double)median - 3.0 * sd), high = (float)((double)median + 3.0 * sd);
    for (size_t t = 0; t < n; t++)
        if (z[t] > low && z[t] < high) {
            good[ngood++] = z[t];
            for (size_t c = 0; c < nchan; c++)
                sum[c] += (double)x[t * nchan + c];
        }
    if (ngood)
        as52(good, ngood, &mean, &sd);
    r->avg = mix(r->begun, r->avg, ngood ? mean : (double)r->avg);
    r->sd = mix(r->begun, r->sd, ngood ? sd : (double)r->sd);
    for (size_t c = 0; c < nchan; c++)
        r->level[c] =
            mix(r->begun, r->level[c], ngood ? sum[c] / (double)ngood : (double)r->level[c]);
    r->begun = true;
    for (size_t t = 0; t < n; t++)
        if (fabsf(z[t] - r->avg) > sigma * r->sd)
            memcpy(x + t * nchan, r->level, nchan * sizeof *x);
}

static void zerodm(const struct scene *s, const float *padding, float *x, size_t nblock)
{
    size_t nchan = s->d.nchan, n = s->d.block;
    float band[MAX_CHAN], total = 0;
    for (size_t c = 0; c < nchan; c++)
        total += padding[c];
    for (size_t c = 0; c < nchan; c++) {
        float sum = 0;
        for (size_t t = 0; t < n; t++)
            sum += x[t * nchan + c];
        band[c] = total != 0 ? padding[c] : sum / (float)n;
    }
    total = 0;
    for (size_t c = 0; c < nchan; c++)
        total += band[c];
    for (size_t t = 0; t < nblock * n; t++) {
        float sum = 0;
        for (size_t c = 0; c < nchan; c++)
            sum += x[t * nchan + c];
        for (size_t c = 0; c < nchan; c++)
            x[t * nchan + c] -= band[c] / total * sum - band[c];
    }
}

static void clean(struct scene *s, size_t nblock)
{
    struct running r = {.begun = false};
    float padding[MAX_CHAN] = {0};
    unsigned char masked[MAX_CHAN] = {0};
    size_t nchan = s->d.nchan, n = s->d.block;
    if (s->d.mask)
        memcpy(padding, s->mask.padding, nchan * sizeof *padding);
    if (s->d.zerodm)
        zerodm(s, padding, s->x, nblock);
    for (size_t b = 0; b < nblock; b++) {
        float *x = s->x + b * n * nchan;
        bool whole = false;
        double late = (double)(s->d.first + (int64_t)((b ? b - 1 : 0) * n));
        if (s->d.mask)
            whole = psr_mask_span(&s->mask, late * s->d.tsamp_s, (double)n * s->d.tsamp_s,
                                  PSR_MASK_PRESTO, masked);
        if (s->d.clip_sigma > 0 && !s->d.zerodm && !whole) {
            clip(&r, (float)s->d.clip_sigma, x, n, nchan);
            memcpy(padding, r.level, nchan * sizeof *padding);
        }
        for (size_t t = 0; t < n; t++)
            for (size_t c = 0; c < nchan; c++) {
                if (masked[c])
                    x[t * nchan + c] = padding[c];
                if (!s->keep[c])
                    x[t * nchan + c] = 0;
            }
    }
}

static double delay_s(double dm, double freq_mhz)
{
    return dm / (0.000241 * freq_mhz * freq_mhz);
}

static size_t nearest(double x)
{
    return (size_t)floor(x + 0.5);
}

/* Samples by which channel c is later than the highest of its sub-band. */
static size_t shift_in_subband(const struct psr_compat_desc *d, size_t c)
{
    size_t width = d->nchan / d->nsub, top = c / width * width + width - 1;
    double mean_dm = 0;
    for (size_t i = 0; i < d->ndm; i++)
        mean_dm += d->dm[i];
    mean_dm /= (double)d->ndm;
    double step_mhz = d->width_mhz * (double)width;
    double top_mhz = d->lofreq_mhz + step_mhz - d->width_mhz + (double)(top / width) * step_mhz;
    double late =
        delay_s(mean_dm, d->lofreq_mhz + (double)c * d->width_mhz) - delay_s(mean_dm, top_mhz);
    return nearest(late / d->tsamp_s);
}

/* Returned: samples of each series. */
static size_t state_rules(struct scene *s)
{
    const struct psr_compat_desc *d = &s->d;
    size_t nblock = s->nsamp / d->block, width = d->nchan / d->nsub, ds = d->downsamp;
    double top_mhz = d->lofreq_mhz + (double)(d->nchan - 1) * d->width_mhz;
    double sweep_s =
        delay_s(s->dm[d->ndm - 1], d->lofreq_mhz) - delay_s(s->dm[d->ndm - 1], top_mhz);
    size_t pieces = (size_t)(sweep_s / d->tsamp_s) / d->block + 1;
    size_t calls = nblock ? (nblock - 1) / pieces : 0, n = (nblock - (nblock > 0)) * d->block / ds;
    clean(s, nblock);
    s->band = calloc(n * d->nsub + 1, sizeof *s->band);
    double step_mhz = d->width_mhz * (double)width;
    double first_mhz = d->lofreq_mhz + step_mhz - d->width_mhz;
    for (size_t t = 0; t < n; t++)
        for (size_t j = 0; j < d->nsub; j++) {
            float mean = 0;
            for (size_t u = 0; u < ds; u++) {
                float sum = 0;
                for (size_t c = j * width; c < (j + 1) * width; c++)
                    sum += s->x[(t * ds + u + shift_in_subband(d, c)) * d->nchan + c];
                mean += sum;
            }
            s->band[t * d->nsub + j] = ds > 1 ? mean / (float)ds : mean;
        }
    size_t nout = calls > 1 ? (calls - 1) * pieces * d->block / ds : 0;
    s->want = calloc(d->ndm * nout + 1, sizeof *s->want);
    for (size_t i = 0; i < d->ndm; i++)
        for (size_t t = 0; t < nout; t++)
            for (size_t j = 0; j < d->nsub; j++) {
                double late = delay_s(s->dm[i], first_mhz + (double)j * step_mhz) -
                              delay_s(s->dm[i], first_mhz + (double)(d->nsub - 1) * step_mhz);
                size_t at = t + nearest(late / ((double)ds * d->tsamp_s));
                s->want[i * nout + t] += s->band[at * d->nsub + j];
            }
    return nout;
}

/* --- scenes ----------------------------------------------------------------------------------- */

static size_t divisor(uint64_t *seed, size_t n)
{
    size_t d;
    do
        d = (size_t)tap_between(seed, 1, (int64_t)n);
    while (n % d);
    return d;
}

static void fill_scene(struct scene *s, uint64_t *seed)
{
    int burst = 0;
    for (size_t t = 0; t < s->nsamp; t++) {
        if (burst == 0 && tap_between(seed, 0, 60) == 0)
            burst = (int)tap_between(seed, 1, 6);
        for (size_t c = 0; c < s->d.nchan; c++)
            s->x[t * s->d.nchan + c] =
                (float)(90 + 20 * tap_uniform(seed) + (burst > 0 ? 15 : 0) + (double)c);
        burst -= burst > 0;
    }
}

static void make_scene(struct scene *s, uint64_t *seed)
{
    struct psr_compat_desc *d = &s->d;
    memset(s, 0, sizeof *s);
    d->nchan = (size_t)tap_between(seed, 1, MAX_CHAN);
    d->nbit = 32;
    d->kind = PSR_FLOAT;
    d->lofreq_mhz = 1000 + 400 * tap_uniform(seed);
    d->width_mhz = 0.5 + 4 * tap_uniform(seed);
    d->tsamp_s = 1e-3;
    d->block = (size_t)(12 * tap_between(seed, 5, MAX_BLOCK / 12));
    d->downsamp = divisor(seed, d->block);
    d->nsub = divisor(seed, d->nchan);
    d->ndm = (size_t)tap_between(seed, 1, MAX_DM);
    d->dm = s->dm;
    for (size_t i = 0; i < d->ndm; i++)
        s->dm[i] = (i ? s->dm[i - 1] : 0) + 150 * tap_uniform(seed);
    d->clip_sigma = tap_between(seed, 0, 2) ? 1.5 + 3 * tap_uniform(seed) : 0;
    d->zerodm = tap_between(seed, 0, 3) == 0;
    d->first = tap_between(seed, 0, 500);
    d->keep = s->keep;
    for (size_t c = 0; c < d->nchan; c++)
        s->keep[c] = tap_between(seed, 0, 4) > 0;
    struct mask_bytes file, stats;
    mask_random(&s->says, seed, (int)d->nchan, (double)d->block * d->tsamp_s * 1.5);
    mask_file(&file, &s->says);
    mask_stats(&stats, &s->says);
    if (psr_mask_parse(&s->mask, file.b, file.n, "m", &err) != PSR_OK ||
        psr_mask_parse_stats(&s->mask, stats.b, stats.n, "s", &err) != PSR_OK)
        abort();
    d->mask = tap_between(seed, 0, 1) ? &s->mask : NULL;
    s->nsamp = (size_t)tap_between(seed, 0, MAX_BLOCKS * (int64_t)d->block);
    fill_scene(s, seed);
}

static void free_scene(struct scene *s)
{
    psr_mask_clear(&s->mask);
    free(s->band);
    free(s->want);
}

/* Returned: samples of each series, in got [nseries][*stride], malloc'd. */
static size_t run_plan(const struct scene *s, const float *x, size_t nseries, float **got,
                       size_t *stride)
{
    psr_compat *p;
    size_t n = 0, more;
    if (psr_compat_create(&p, &s->d, &err) != PSR_OK) {
        diag("%s", err.msg);
        abort();
    }
    size_t piece = psr_compat_piece(p);
    *stride = s->nsamp + piece;
    *got = calloc(nseries * *stride, sizeof **got);
    float *out = calloc(nseries * piece, sizeof *out);
    for (size_t t = 0; t + s->d.block <= s->nsamp; t += s->d.block) {
        psr_compat_execute(p, x + t * s->d.nchan, out, piece, &more);
        for (size_t i = 0; i < nseries; i++)
            memcpy(*got + i * *stride + n, out + i * piece, more * sizeof *out);
        n += more;
    }
    free(out);
    psr_compat_destroy(p);
    return n;
}

/* The data with their highest channel first. */
static float *turn_over(const struct scene *s)
{
    float *x = malloc(sizeof s->x);
    for (size_t t = 0; x && t < s->nsamp; t++)
        for (size_t c = 0; c < s->d.nchan; c++)
            x[t * s->d.nchan + c] = s->x[t * s->d.nchan + s->d.nchan - 1 - c];
    return x;
}

static bool refuses(struct psr_compat_desc d, const char *word)
{
    psr_compat *p;
    psr_status st = psr_compat_create(&p, &d, &err);
    bool told = st == PSR_EINVAL && !p && strstr(err.msg, word);
    if (!told)
        diag("status %d: %s", (int)st, st ? err.msg : "");
    psr_compat_destroy(p);
    return told;
}

/* PRESTO shifts a channel into the block before at most.  Returned: the scene is of that kind; if not,
 * refused says whether it was refused. */
static bool within_block(const struct scene *s, bool *refused)
{
    size_t most = 0;
    for (size_t c = 0; c < s->d.nchan; c++)
        most = shift_in_subband(&s->d, c) > most ? shift_in_subband(&s->d, c) : most;
    *refused = most > s->d.block && refuses(s->d, "more sub-bands are needed");
    return most <= s->d.block;
}

static void test_rules(uint64_t *seed)
{
    static struct scene s;
    int bad = 0, some = 0;
    for (int k = 0; k < 60; k++) {
        float *got, *x;
        size_t stride;
        bool refused;
        make_scene(&s, seed);
        if (!within_block(&s, &refused)) {
            bad += !refused;
            free_scene(&s);
            continue;
        }
        s.d.reverse = k % 2;
        x = s.d.reverse ? turn_over(&s) : malloc(sizeof s.x);
        if (!s.d.reverse)
            memcpy(x, s.x, sizeof s.x);
        size_t n = run_plan(&s, x, s.d.ndm, &got, &stride), want = state_rules(&s);
        bool same = n == want;
        for (size_t i = 0; i < s.d.ndm && same; i++)
            same = !memcmp(got + i * stride, s.want + i * n, n * sizeof *got);
        if (!same)
            diag(
                "scene %d: %zu channels, %zu sub-bands, blocks of %zu, ds %zu, clip %g, zerodm %d, "
                "mask %d: %zu samples of %zu",
                k, s.d.nchan, s.d.nsub, s.d.block, s.d.downsamp, s.d.clip_sigma, s.d.zerodm,
                s.d.mask != NULL, n, want);
        bad += !same;
        some += n > 0;
        free(got);
        free(x);
        free_scene(&s);
    }
    ok(bad == 0 && some > 20, "PRESTO's rules give the same bits (%d bad, %d with samples)", bad,
       some);
}

static void test_subbands(uint64_t *seed)
{
    static struct scene s;
    int bad = 0;
    for (int k = 0; k < 10; k++) {
        float *got;
        size_t stride;
        bool refused;
        make_scene(&s, seed);
        s.d.subbands = true;
        s.d.ndm = 1;
        if (!within_block(&s, &refused)) {
            bad += !refused;
            free_scene(&s);
            continue;
        }
        size_t n = run_plan(&s, s.x, s.d.nsub, &got, &stride), want = state_rules(&s);
        bad += n != want;
        for (size_t j = 0; j < s.d.nsub; j++)
            for (size_t t = 0; t < n && t < want; t++)
                bad += got[j * stride + t] != s.band[t * s.d.nsub + j];
        free(got);
        free_scene(&s);
    }
    ok(bad == 0, "sub-bands have the same bits (%d bad)", bad);
}

static void test_errors(void)
{
    const double dm[1] = {50}, low[1] = {-50}, high[1] = {1e7};
    const struct psr_mask mask = {.nchan = 5};
    const struct psr_compat_desc good = {.nchan = 6,
                                         .nbit = 8,
                                         .lofreq_mhz = 1000,
                                         .width_mhz = 2,
                                         .block = 2400,
                                         .tsamp_s = 1e-4,
                                         .nsub = 3,
                                         .downsamp = 1,
                                         .ndm = 1,
                                         .dm = dm,
                                         .clip_sigma = 6};
    struct psr_compat_desc d = good;
    d.nsub = 4;
    ok(refuses(d, "4 sub-bands do not divide 6"), "sub-bands that do not divide");
    d = good, d.downsamp = 7;
    ok(refuses(d, "by 7 does not divide"), "downsampling that does not divide the block");
    d = good, d.clip_sigma = NAN;
    ok(refuses(d, "nan sigma"), "a threshold that is no number");
    d = good, d.mask = &mask;
    ok(refuses(d, "5 channels"), "a mask of other data");
    d = good, d.dm = low;
    ok(refuses(d, "DM -50"), "a DM below 0");
    d = good, d.dm = high;
    ok(refuses(d, "more sub-bands are needed"), "a sub-band swept over more than a block");
    d = good, d.lofreq_mhz = 0;
    ok(refuses(d, "must be above 0"), "no frequency");
    psr_compat_destroy(NULL);
}

int main(void)
{
    uint64_t seed = tap_seed();
    test_rules(&seed);
    test_subbands(&seed);
    test_errors();
    return done_testing();
}
