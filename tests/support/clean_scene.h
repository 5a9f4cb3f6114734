/* clean_scene.h: streams to clean, and a plain statement of what cleaning is. */
#ifndef PSR_TESTS_CLEAN_SCENE_H
#define PSR_TESTS_CLEAN_SCENE_H

#include "mask_bytes.h"
#include "rfi/rules/clean_internal.h"
#include "search/dedisp/mask/mask_correction.h"

enum { MAX_CHAN = 40, BLOCK = PSR_CLEAN_BLOCK, MAX_SAMP = 4 * BLOCK, MAX_DM = 5 };

static psr_err err;

struct scene {
    int nchan, nsamp, nbit;
    enum psr_kind kind;
    bool ascending, zerodm, with_mask, with_keep;
    double sigma, tsamp_s;
    int64_t first;
    struct mask_says says;
    struct psr_mask mask;
    unsigned char keep[MAX_CHAN];
    double *x;             /* [nsamp][nchan] what goes in */
    double *y;             /* the same, cleaned */
    double band[MAX_CHAN]; /* size of what zero-DM puts back */
    unsigned char *packed;
    size_t row_bytes;
};

/* --- scenes ----------------------------------------------------------------------------------- */

__attribute__((unused)) static void pack_sample(struct scene *s, int t, int c)
{
    double v = s->x[t * s->nchan + c];
    unsigned char *row = s->packed + (size_t)t * s->row_bytes;
    if (s->nbit < 8) {
        int bit = c * s->nbit;
        row[bit / 8] = (unsigned char)(row[bit / 8] | (unsigned)v << bit % 8);
    } else if (s->kind == PSR_FLOAT) {
        float f = (float)v;
        memcpy(row + c * 4, &f, 4);
    } else {
        int64_t number = (int64_t)v;
        memcpy(row + c * s->nbit / 8, &number, (size_t)s->nbit / 8);
    }
}

__attribute__((unused)) static double clamp(double v, const struct scene *s)
{
    if (s->kind == PSR_FLOAT)
        return (double)(float)v;
    double low = s->kind == PSR_INT ? -ldexp(1, s->nbit - 1) : 0,
           high = low + ldexp(1, s->nbit) - 1;
    return floor(v < low ? low : v > high ? high : v);
}

__attribute__((unused)) static void fill_scene(struct scene *s, uint64_t *seed)
{
    double span = s->nbit < 16 ? ldexp(1, s->nbit) : 1000, level[MAX_CHAN];
    for (int c = 0; c < s->nchan; c++)
        level[c] = (s->kind == PSR_INT ? -0.1 : 0.4) * span + 0.1 * span * tap_uniform(seed);
    int burst = 0;
    for (int t = 0; t < s->nsamp; t++) {
        if (burst == 0 && tap_between(seed, 0, 400) == 0)
            burst = (int)tap_between(seed, 1, 20);
        double extra = burst > 0 ? 0.5 * span : 0;
        burst -= burst > 0;
        for (int c = 0; c < s->nchan; c++)
            s->x[t * s->nchan + c] =
                clamp(level[c] + extra + 0.3 * span * (tap_uniform(seed) - 0.5), s);
        for (int c = 0; c < s->nchan; c++)
            pack_sample(s, t, c);
    }
}

__attribute__((unused)) static bool read_says(struct scene *s)
{
    struct mask_bytes file, stats;
    mask_file(&file, &s->says);
    mask_stats(&stats, &s->says);
    return psr_mask_parse(&s->mask, file.b, file.n, "m", &err) == PSR_OK &&
           psr_mask_parse_stats(&s->mask, stats.b, stats.n, "s", &err) == PSR_OK;
}

__attribute__((unused)) static void make_scene(struct scene *s, uint64_t *seed)
{
    static const struct {
        int nbit;
        enum psr_kind kind;
    } format[] = {{1, PSR_UINT},  {2, PSR_UINT}, {4, PSR_UINT},  {8, PSR_UINT},   {8, PSR_INT},
                  {16, PSR_UINT}, {16, PSR_INT}, {32, PSR_UINT}, {32, PSR_FLOAT}, {8, PSR_UINT}};
    int f = (int)tap_between(seed, 0, 9);
    *s = (struct scene){.nbit = format[f].nbit, .kind = format[f].kind, .tsamp_s = 1.0 / 1024};
    s->nchan = (int)tap_between(seed, 1, MAX_CHAN);
    s->nsamp = (int)tap_between(seed, 1, tap_between(seed, 0, 3) ? MAX_SAMP : BLOCK);
    s->ascending = tap_between(seed, 0, 1);
    s->zerodm = tap_between(seed, 0, 3) == 0;
    s->with_mask = tap_between(seed, 0, 1);
    s->with_keep = tap_between(seed, 0, 1);
    s->sigma = tap_between(seed, 0, 3) ? 2 + 4 * tap_uniform(seed) : 0;
    s->first = tap_between(seed, 0, 1) ? tap_between(seed, 0, 2 * BLOCK) : 0;
    mask_random(&s->says, seed, s->nchan, (double)tap_between(seed, 1, 3) * BLOCK * s->tsamp_s);
    for (int c = 0; c < s->nchan; c++)
        s->keep[c] = !s->with_keep || tap_between(seed, 0, 3) > 0;
    s->keep[0] = 1;
    size_t cells = (size_t)s->nsamp * (size_t)s->nchan;
    s->row_bytes = ((size_t)s->nchan * (size_t)s->nbit + 7) / 8;
    s->x = calloc(cells, sizeof *s->x);
    s->y = calloc(cells, sizeof *s->y);
    s->packed = calloc((size_t)s->nsamp, s->row_bytes);
    if (!s->x || !s->y || !s->packed || !read_says(s))
        abort();
    fill_scene(s, seed);
}

__attribute__((unused)) static void free_scene(struct scene *s)
{
    psr_mask_clear(&s->mask);
    free(s->x);
    free(s->y);
    free(s->packed);
}

/* --- the plain statement ---------------------------------------------------------------------- */

struct running {
    float avg, sd, level[MAX_CHAN];
    bool begun;
};

__attribute__((unused)) static double mean_of(const float *z, const bool *use, int n)
{
    double sum = 0, count = 0;
    for (int t = 0; t < n; t++)
        if (!use || use[t])
            sum += (double)z[t], count++;
    return sum / count;
}

__attribute__((unused)) static double sd_of(const float *z, const bool *use, int n)
{
    double mean = mean_of(z, use, n), sum = 0, count = 0;
    for (int t = 0; t < n; t++)
        if (!use || use[t])
            sum += ((double)z[t] - mean) * ((double)z[t] - mean), count++;
    return count > 1 ? sqrt(sum / (count - 1)) : 0;
}

__attribute__((unused)) static void learn(struct running *r, const float *z, const bool *good,
                                          const double *x, int n, int nchan)
{
    double avg = mean_of(z, good, n), sd = sd_of(z, good, n);
    r->avg = (float)(r->begun ? 0.9 * (double)r->avg + 0.1 * avg : avg);
    r->sd = (float)(r->begun ? 0.9 * (double)r->sd + 0.1 * sd : sd);
    for (int c = 0; c < nchan; c++) {
        double sum = 0, count = 0;
        for (int t = 0; t < n; t++)
            if (good[t])
                sum += x[t * nchan + c], count++;
        double level = sum / count;
        r->level[c] = (float)(r->begun ? 0.9 * (double)r->level[c] + 0.1 * level : level);
    }
    r->begun = true;
}

__attribute__((unused)) static void clip_plainly(struct running *r, double sigma, const double *x,
                                                 double *y, int n, int nchan)
{
    static float z[BLOCK], sorted[BLOCK];
    static bool good[BLOCK];
    int ngood = 0;
    for (int t = 0; t < n; t++) {
        double sum = 0;
        for (int c = 0; c < nchan; c++)
            sum += x[t * nchan + c];
        sorted[t] = z[t] = (float)sum;
    }
    tap_sort_floats(sorted, (size_t)n);
    double median = ((double)sorted[n / 2] + (double)sorted[(n - 1) / 2]) / 2,
           sd = sd_of(z, NULL, n);
    for (int t = 0; t < n; t++)
        ngood += good[t] = fabs((double)z[t] - median) < 3 * sd;
    if (ngood && (n == BLOCK || !r->begun))
        learn(r, z, good, x, n, nchan);
    for (int t = 0; t < n && r->begun; t++)
        if (fabs((double)z[t] - (double)r->avg) > sigma * (double)r->sd)
            for (int c = 0; c < nchan; c++)
                y[t * nchan + c] = (double)r->level[c];
}

/* Interval of a time, at most the last. */
__attribute__((unused)) static int interval(const struct scene *s, double time_s)
{
    int i = (int)(time_s / s->says.dtint_s);
    return i < s->says.nint ? i : s->says.nint - 1;
}

__attribute__((unused)) static bool is_masked(const struct scene *s, int64_t t0, int c)
{
    double start_s = (double)(s->first + t0) * s->tsamp_s, end_s = start_s + BLOCK * s->tsamp_s;
    int lo = interval(s, start_s), hi = interval(s, end_s),
        low = s->ascending ? c : s->nchan - 1 - c;
    return s->says.zap_int[lo] || s->says.zap_int[hi] || s->says.zap_chan[low] ||
           s->says.listed[lo][low] || s->says.listed[hi][low];
}

__attribute__((unused)) static bool is_whole(const struct scene *s, int64_t t0)
{
    double start_s = (double)(s->first + t0) * s->tsamp_s, end_s = start_s + BLOCK * s->tsamp_s;
    return s->says.zap_int[interval(s, start_s)] || s->says.zap_int[interval(s, end_s)];
}

__attribute__((unused)) static double padding(const struct scene *s, int c)
{
    return (double)s->mask.padding[s->ascending ? c : s->nchan - 1 - c];
}

__attribute__((unused)) static void balance_plainly(struct scene *s)
{
    double band[MAX_CHAN], total = 0;
    int n = s->nsamp < BLOCK ? s->nsamp : BLOCK;
    for (int c = 0; c < s->nchan; c++) {
        band[c] = 0;
        for (int t = 0; t < n; t++)
            band[c] += s->x[t * s->nchan + c] / n;
        if (s->with_mask)
            band[c] = padding(s, c);
        total += band[c];
        s->band[c] = fabs(band[c]);
    }
    for (int t = 0; t < s->nsamp; t++) {
        double sum = 0;
        for (int c = 0; c < s->nchan; c++)
            sum += s->x[t * s->nchan + c];
        for (int c = 0; c < s->nchan; c++)
            s->y[t * s->nchan + c] -= total == 0 ? -band[c] : band[c] / total * sum - band[c];
    }
}

__attribute__((unused)) static void clean_plainly(struct scene *s)
{
    struct running running = {.begun = false};
    memcpy(s->y, s->x, (size_t)s->nsamp * (size_t)s->nchan * sizeof *s->y);
    if (s->zerodm)
        balance_plainly(s);
    for (int t0 = 0; t0 < s->nsamp; t0 += BLOCK) {
        int n = s->nsamp - t0 < BLOCK ? s->nsamp - t0 : BLOCK;
        double *x = s->x + t0 * s->nchan, *y = s->y + t0 * s->nchan;
        if (!s->zerodm && s->sigma > 0 && !(s->with_mask && is_whole(s, t0)))
            clip_plainly(&running, s->sigma, x, y, n, s->nchan);
        for (int t = 0; s->with_mask && t < n; t++)
            for (int c = 0; c < s->nchan; c++)
                if (is_masked(s, t0, c))
                    y[t * s->nchan + c] = padding(s, c);
    }
}

/* --- the plan --------------------------------------------------------------------------------- */

__attribute__((unused)) static psr_clean *make_plan(const struct scene *s, int nthread)
{
    psr_clean *p = NULL;
    psr_status st = psr_clean_create(&p,
                                     &(struct psr_clean_desc){
                                         .size = sizeof(struct psr_clean_desc),
                                         .nchan = (size_t)s->nchan,
                                         .nbit = s->nbit,
                                         .kind = s->kind,
                                         .ascending = s->ascending,
                                         .tsamp_s = s->tsamp_s,
                                         .first = s->first,
                                         .clip_sigma = s->sigma,
                                         .zerodm = s->zerodm,
                                         .mask = s->with_mask ? &s->mask : NULL,
                                         .keep = s->with_keep ? s->keep : NULL,
                                         .nthread = nthread,
                                         .clips = true,
                                     },
                                     &err);
    if (st != PSR_OK) {
        diag("%s", err.msg);
        abort();
    }
    return p;
}

/* A cleaned stream in pieces: what the callback sees is each piece and its steps. */
struct consumer {
    void (*take)(struct consumer *k, const psr_clean *p, const void *block, size_t n);
    const struct scene *scene;
    int64_t at; /* spectra seen */
    int bad;
    float value[MAX_CHAN]; /* what zeros stand for */
    psr_dedisp *plan;
    psr_mask_correction *patch;
    float *out; /* [ndm][nsamp] */
    size_t nout, ndm;
};

__attribute__((unused)) static void run_stream(const struct scene *s, struct consumer *k,
                                               uint64_t *seed, int nthread)
{
    psr_clean *p = make_plan(s, nthread);
    size_t out_row = ((size_t)s->nchan * (size_t)psr_clean_nbit(p) + 7) / 8, n;
    for (int t = 0; t <= s->nsamp;) {
        int most = tap_between(seed, 0, 2) ? 3 * BLOCK : 700, left = s->nsamp - t;
        int more = left ? (int)tap_between(seed, 1, left < most ? left : most) : 0;
        void *out = malloc(((size_t)more + BLOCK - 1) * out_row);
        /* A copy of the exact size, so that a sanitizer sees any step beyond it. */
        unsigned char *in = malloc((size_t)more * s->row_bytes + 1);
        if (!out || !in)
            abort();
        memcpy(in, s->packed + (size_t)t * s->row_bytes, (size_t)more * s->row_bytes);
        psr_status st = more ? psr_clean_execute(p, in, (size_t)more, out, &n, &err)
                             : psr_clean_finish(p, out, &n, &err);
        k->bad += st != PSR_OK;
        k->take(k, p, out, n);
        k->at += (int64_t)n;
        free(out);
        free(in);
        t += more ? more : 1;
    }
    k->bad += k->at != s->nsamp;
    psr_clean_destroy(p);
}

#endif
