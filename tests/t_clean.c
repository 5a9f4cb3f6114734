/* clean and patch: against a plain statement of what cleaning is, on any cut of the stream. */
#include <psrkit/delays.h>
#include <psrkit/patch.h>

#include "mask_bytes.h"

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
    double *x; /* [nsamp][nchan] what goes in */
    double *y; /* the same, cleaned */
    unsigned char *packed;
    size_t row_bytes;
};

/* --- scenes ----------------------------------------------------------------------------------- */

static void pack_sample(struct scene *s, int t, int c)
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

static double clamp(double v, const struct scene *s)
{
    if (s->kind == PSR_FLOAT)
        return (double)(float)v;
    double low = s->kind == PSR_INT ? -ldexp(1, s->nbit - 1) : 0,
           high = low + ldexp(1, s->nbit) - 1;
    return floor(v < low ? low : v > high ? high : v);
}

static void fill_scene(struct scene *s, uint64_t *seed)
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

static bool read_says(struct scene *s)
{
    struct mask_bytes file, stats;
    mask_file(&file, &s->says);
    mask_stats(&stats, &s->says);
    return psr_mask_parse(&s->mask, file.b, file.n, "m", &err) == PSR_OK &&
           psr_mask_parse_stats(&s->mask, stats.b, stats.n, "s", &err) == PSR_OK;
}

static void make_scene(struct scene *s, uint64_t *seed)
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

static void free_scene(struct scene *s)
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

static int compare_floats(const void *a, const void *b)
{
    return (*(const float *)a > *(const float *)b) - (*(const float *)a < *(const float *)b);
}

static double mean_of(const float *z, const bool *use, int n)
{
    double sum = 0, count = 0;
    for (int t = 0; t < n; t++)
        if (!use || use[t])
            sum += (double)z[t], count++;
    return sum / count;
}

static double sd_of(const float *z, const bool *use, int n)
{
    double mean = mean_of(z, use, n), sum = 0, count = 0;
    for (int t = 0; t < n; t++)
        if (!use || use[t])
            sum += ((double)z[t] - mean) * ((double)z[t] - mean), count++;
    return count > 1 ? sqrt(sum / (count - 1)) : 0;
}

static void learn(struct running *r, const float *z, const bool *good, const double *x, int n,
                  int nchan)
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

static void clip_plainly(struct running *r, double sigma, const double *x, double *y, int n,
                         int nchan)
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
    qsort(sorted, (size_t)n, sizeof *sorted, compare_floats);
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
static int interval(const struct scene *s, double time_s)
{
    int i = (int)(time_s / s->says.dtint_s);
    return i < s->says.nint ? i : s->says.nint - 1;
}

static bool is_masked(const struct scene *s, int64_t t0, int c)
{
    double start_s = (double)(s->first + t0) * s->tsamp_s, end_s = start_s + BLOCK * s->tsamp_s;
    int lo = interval(s, start_s), hi = interval(s, end_s),
        low = s->ascending ? c : s->nchan - 1 - c;
    return s->says.zap_int[lo] || s->says.zap_int[hi] || s->says.zap_chan[low] ||
           s->says.listed[lo][low] || s->says.listed[hi][low];
}

static bool is_whole(const struct scene *s, int64_t t0)
{
    double start_s = (double)(s->first + t0) * s->tsamp_s, end_s = start_s + BLOCK * s->tsamp_s;
    return s->says.zap_int[interval(s, start_s)] || s->says.zap_int[interval(s, end_s)];
}

static double padding(const struct scene *s, int c)
{
    return (double)s->mask.padding[s->ascending ? c : s->nchan - 1 - c];
}

static void balance_plainly(const struct scene *s)
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
    }
    for (int t = 0; t < s->nsamp; t++) {
        double sum = 0;
        for (int c = 0; c < s->nchan; c++)
            sum += s->x[t * s->nchan + c];
        for (int c = 0; c < s->nchan; c++)
            s->y[t * s->nchan + c] -= total == 0 ? -band[c] : band[c] / total * sum - band[c];
    }
}

static void clean_plainly(const struct scene *s)
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

static psr_clean *make_plan(const struct scene *s, int nthread)
{
    psr_clean *p = NULL;
    psr_status st = psr_clean_create(&p,
                                     &(struct psr_clean_desc){
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
    psr_patch *patch;
    float *out; /* [ndm][nsamp] */
    size_t nout, ndm;
};

static void run_stream(const struct scene *s, struct consumer *k, uint64_t *seed, int nthread)
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

static double unpack(const struct scene *s, const psr_clean *p, const void *block, size_t t, int c)
{
    int nbit = psr_clean_nbit(p);
    const unsigned char *row =
        (const unsigned char *)block + t * (((size_t)s->nchan * (size_t)nbit + 7) / 8);
    if (nbit < 8)
        return row[c * nbit / 8] >> c * nbit % 8 & ((1 << nbit) - 1);
    union {
        float f;
        uint32_t u32;
        uint16_t u16;
        int16_t i16;
        uint8_t u8;
        int8_t i8;
    } v = {.u32 = 0};
    memcpy(&v, row + c * nbit / 8, (size_t)nbit / 8);
    if (psr_clean_kind(p) == PSR_FLOAT)
        return (double)v.f;
    if (s->kind == PSR_INT)
        return nbit == 8 ? v.i8 : v.i16;
    return nbit == 8 ? v.u8 : nbit == 16 ? v.u16 : v.u32;
}

/* Every kept cell: the sample, or what a zero stands for. */
static void compare_cells(struct consumer *k, const psr_clean *p, const void *block, size_t n)
{
    const struct scene *s = k->scene;
    const struct psr_step *step;
    size_t nstep = psr_clean_steps(p, &step);
    for (int c = 0; c < s->nchan; c++) {
        if (!s->keep[c])
            continue;
        size_t next = 0;
        for (size_t t = 0; t < n; t++) {
            for (;
                 next < nstep && (step[next].c != (size_t)c || step[next].t <= k->at + (int64_t)t);
                 next++)
                if (step[next].c == (size_t)c)
                    k->value[c] = step[next].value;
            double got = unpack(s, p, block, t, c), value = (double)k->value[c];
            double want = s->y[(size_t)(k->at + (int64_t)t) * (size_t)s->nchan + (size_t)c];
            k->bad += value != 0 && got != 0;
            double size = fabs(want) + (s->nbit < 16 ? 1 : 1000) * (s->zerodm ? s->nchan : 1);
            k->bad += !(fabs(got + value - want) <= 2e-6 * size);
        }
        for (; next < nstep; next++)
            k->bad += step[next].c == (size_t)c;
    }
}

static void test_cells(uint64_t *seed)
{
    int bad = 0;
    for (int k = 0; k < 40; k++) {
        struct scene s;
        make_scene(&s, seed);
        clean_plainly(&s);
        struct consumer consumer = {.take = compare_cells, .scene = &s};
        run_stream(&s, &consumer, seed, 1 + k % 3);
        if (consumer.bad)
            diag("scene %d: %d channels, %d spectra, %d bits kind %d, sigma %g, zerodm %d, mask "
                 "%d: %d "
                 "bad",
                 k, s.nchan, s.nsamp, s.nbit, (int)s.kind, s.sigma, s.zerodm, s.with_mask,
                 consumer.bad);
        bad += consumer.bad;
        free_scene(&s);
    }
    ok(bad == 0, "cells are replaced as plainly stated, whatever the cut");
}

/* --- through dedispersion --------------------------------------------------------------------- */

static void dedisperse(struct consumer *k, const psr_clean *p, const void *block, size_t n)
{
    const struct psr_step *step;
    size_t nstep = psr_clean_steps(p, &step), nout, stride = (size_t)k->scene->nsamp;
    k->bad +=
        psr_dedisp_execute(k->plan, block, n, k->out + k->nout, stride, &nout, &err) != PSR_OK;
    if (k->patch)
        k->bad += psr_patch_execute(k->patch, step, nstep, k->out + k->nout, stride, nout, &err) !=
                  PSR_OK;
    k->nout += nout;
}

static psr_dedisp *make_dedisp(const struct scene *s, const double *dm, size_t ndm, size_t ds,
                               size_t nsub, int nthread)
{
    double freq_mhz[MAX_CHAN];
    psr_dedisp *plan = NULL;
    for (int c = 0; c < s->nchan; c++)
        freq_mhz[c] = 1400 + 8 * (s->ascending ? c : s->nchan - 1 - c);
    struct psr_dedisp_desc d = {
        .nchan = (size_t)s->nchan, .freq_mhz = freq_mhz, .tsamp_s = s->tsamp_s};
    d.nbit = s->zerodm ? 32 : s->nbit;
    d.kind = s->zerodm ? PSR_FLOAT : s->kind;
    d.downsamp = ds;
    d.dmconst = PSR_DMCONST_PRESTO;
    d.ndm = ndm;
    d.dm = dm;
    d.keep = s->with_keep ? s->keep : NULL;
    d.algo = nsub ? PSR_DEDISP_SUBBAND : PSR_DEDISP_DIRECT;
    d.nsub = nsub;
    d.nthread = nthread;
    if (psr_dedisp_create(&plan, &d, &err) != PSR_OK) {
        diag("%s", err.msg);
        abort();
    }
    return plan;
}

/* A sample of a trial, from the cleaned cells. */
static double sum_plainly(const struct scene *s, const psr_dedisp *plan, size_t i, size_t t,
                          size_t ds, double *size)
{
    double sum = 0;
    *size = 0;
    for (int c = 0; c < s->nchan; c++) {
        int64_t pre = psr_dedisp_predelay(plan, (size_t)c);
        int64_t d = psr_dedisp_delay(plan, i, (size_t)c) - psr_round((double)pre / (double)ds);
        for (size_t u = 0; s->keep[c] && u < ds; u++) {
            size_t at = (t + (size_t)d) * ds + (size_t)pre + u;
            double v = s->y[at * (size_t)s->nchan + (size_t)c];
            sum += v / (double)ds;
            *size += (fabs(v) + (s->zerodm ? (s->nbit < 16 ? 256 : 1000) : 0)) / (double)ds;
        }
    }
    return sum;
}

static float *run_series(const struct scene *s, struct consumer *k, const double *dm, size_t ds,
                         size_t nsub, uint64_t *seed, int nthread)
{
    k->take = dedisperse;
    k->scene = s;
    k->plan = make_dedisp(s, dm, k->ndm, ds, nsub, nthread);
    k->out = calloc(k->ndm * (size_t)s->nsamp, sizeof *k->out);
    psr_clean *p = make_plan(s, 1);
    struct psr_patch_desc d = {k->plan, (size_t)s->nchan,     k->ndm,
                               ds,      psr_clean_largest(p), nthread};
    if (psr_clean_kind(p) != PSR_FLOAT && psr_patch_create(&k->patch, &d, &err) != PSR_OK)
        abort();
    psr_clean_destroy(p);
    run_stream(s, k, seed, nthread);
    return k->out;
}

static int compare_series(const struct scene *s, const struct consumer *k, size_t ds)
{
    int bad = 0;
    for (size_t i = 0; i < k->ndm; i++)
        for (size_t t = 0; t < k->nout; t++) {
            double size, want = sum_plainly(s, k->plan, i, t, ds, &size);
            bad += !(fabs((double)k->out[i * (size_t)s->nsamp + t] - want) <= 1e-6 * size + 1e-6);
        }
    return bad;
}

static void free_consumer(struct consumer *k)
{
    psr_patch_destroy(k->patch);
    psr_dedisp_destroy(k->plan);
    free(k->out);
}

static void test_series(uint64_t *seed)
{
    int bad = 0, cut = 0;
    for (int n = 0; n < 24; n++) {
        struct scene s;
        make_scene(&s, seed);
        clean_plainly(&s);
        size_t ds = (size_t)tap_between(seed, 1, 4), nsub = n % 3 == 2 ? 1 : 0;
        double dm[MAX_DM];
        for (int i = 0; i < MAX_DM; i++)
            dm[i] = 300 * tap_uniform(seed);
        struct consumer a = {.ndm = MAX_DM}, b = {.ndm = MAX_DM};
        run_series(&s, &a, dm, ds, nsub, seed, 1);
        run_series(&s, &b, dm, ds, nsub, seed, 3);
        int wrong = a.bad + b.bad + compare_series(&s, &a, ds);
        if (wrong)
            diag("scene %d: %d channels, %d spectra, %d bits kind %d, ds %zu, nsub %zu: %d bad", n,
                 s.nchan, s.nsamp, s.nbit, (int)s.kind, ds, nsub, wrong);
        bad += wrong;
        cut +=
            a.nout != b.nout || memcmp(a.out, b.out, MAX_DM * (size_t)s.nsamp * sizeof *a.out) != 0;
        free_consumer(&a);
        free_consumer(&b);
        free_scene(&s);
    }
    ok(bad == 0, "series of integers and patches are those of the cleaned cells (%d bad)", bad);
    ok(cut == 0, "and have the same bits whatever the cut and the threads");
}

/* --- the rest --------------------------------------------------------------------------------- */

static void count_nothing(struct consumer *k, const psr_clean *p, const void *block, size_t n)
{
    const struct psr_span *span;
    (void)block, (void)n;
    k->nout = psr_clean_lost(p, &span);
    k->ndm = k->nout ? (size_t)span[0].first : 0;
    k->bad = k->nout ? (int)span[0].count : 0;
}

static void test_lost(uint64_t *seed)
{
    struct scene s;
    do {
        make_scene(&s, seed);
        if (s.nsamp == MAX_SAMP || s.nsamp < 3 * BLOCK)
            free_scene(&s);
    } while (s.nsamp == MAX_SAMP || s.nsamp < 3 * BLOCK);
    memset(s.says.zap_int, 0, sizeof s.says.zap_int);
    memset(s.says.zap_chan, 0, sizeof s.says.zap_chan);
    memset(s.says.listed, 0, sizeof s.says.listed);
    s.says.nint = 9;
    s.says.dtint_s = 0.999 * BLOCK * s.tsamp_s;
    s.says.zap_int[2] = 1;
    s.first = 0;
    s.with_mask = true;
    psr_mask_clear(&s.mask);
    ok(read_says(&s), "a mask of one interval");
    struct consumer k = {.take = count_nothing, .scene = &s};
    psr_clean *p = make_plan(&s, 1);
    psr_clean_destroy(p);
    run_stream(&s, &k, seed, 1);
    ok(k.nout == 1 && k.ndm == BLOCK && k.bad == 2 * BLOCK,
       "blocks that touch a masked interval are lost: from %zu, %d spectra", k.ndm, k.bad);
    free_scene(&s);
}

static bool refuses(struct psr_clean_desc d, const char *word)
{
    psr_clean *p;
    psr_status st = psr_clean_create(&p, &d, &err);
    bool told = st == PSR_EINVAL && !p && strstr(err.msg, word);
    if (!told)
        diag("status %d: %s", (int)st, st ? err.msg : "");
    psr_clean_destroy(p);
    return told;
}

static void test_errors(void)
{
    const struct psr_clean_desc good = {.nchan = 4, .nbit = 8, .tsamp_s = 1, .clip_sigma = 6};
    struct psr_clean_desc d = good;
    struct psr_mask mask = {.nchan = 5};
    d.nchan = 0;
    ok(refuses(d, "0 channels"), "no channels");
    d = good, d.nbit = 3;
    ok(refuses(d, "3-bit"), "3 bits");
    d = good, d.clip_sigma = -1;
    ok(refuses(d, "-1 sigma"), "a negative threshold");
    d = good, d.tsamp_s = 0;
    ok(refuses(d, "0 s"), "no sampling time");
    d = good, d.mask = &mask;
    ok(refuses(d, "5 channels"), "a mask of other data");
    psr_patch *patch;
    struct psr_patch_desc pd = {.nchan = 4, .ndm = 0, .downsamp = 1};
    ok(psr_patch_create(&patch, &pd, &err) == PSR_EINVAL && !patch, "a patch of no trials");
    pd = (struct psr_patch_desc){.nchan = 4, .ndm = 1, .downsamp = 1, .largest = NAN};
    ok(psr_patch_create(&patch, &pd, &err) == PSR_EINVAL && !patch, "a patch of no numbers");
    pd.largest = 9;
    ok(psr_patch_create(&patch, &pd, &err) == PSR_OK, "a patch");
    struct psr_step step = {0, 0, 10};
    ok(psr_patch_execute(patch, &step, 1, NULL, 0, 0, &err) == PSR_EINVAL && strstr(err.msg, "10"),
       "a value beyond what was said");
    psr_patch_destroy(patch);
    psr_patch_destroy(NULL);
    psr_clean_destroy(NULL);
}

/* A block all alike teaches nothing, and does not make the rest of the stream bad. */
static void test_constant_start(void)
{
    enum { N = 3 * BLOCK, NCHAN = 4 };
    uint8_t *x = calloc(N, NCHAN), *y = calloc(N + BLOCK, NCHAN);
    uint64_t random = 7;
    psr_clean *p;
    size_t n;
    struct psr_clean_desc d = {.nchan = NCHAN, .nbit = 8, .tsamp_s = 1, .clip_sigma = 6};
    memset(x, 100, BLOCK * NCHAN);
    for (int k = BLOCK * NCHAN; k < N * NCHAN; k++)
        x[k] = (uint8_t)tap_between(&random, 80, 120);
    bool good = psr_clean_create(&p, &d, &err) == PSR_OK &&
                psr_clean_execute(p, x, N, y, &n, &err) == PSR_OK;
    ok(good && n == N && psr_clean_clipped(p) == 0 && !memcmp(x, y, N * NCHAN),
       "a constant start is not clipped, and clips nothing");
    psr_clean_destroy(p);
    free(x);
    free(y);
}

/* Not-a-number and infinity, in the first block and later, hurt no other spectrum. */
static void test_no_numbers(bool zerodm)
{
    enum { N = 3 * BLOCK, NCHAN = 4, NBAD = 4 };
    static const int bad[NBAD] = {5, 100, BLOCK + 7, N - 1};
    static const float what[NBAD] = {NAN, INFINITY, -INFINITY, NAN};
    float *x = calloc(N * NCHAN, sizeof *x), *y = calloc((N + BLOCK) * NCHAN, sizeof *y);
    float *z = calloc((N + BLOCK) * NCHAN, sizeof *z);
    uint64_t random = 7;
    size_t n = 0, m = 0;
    int wrong = 0;
    psr_clean *p, *q;
    struct psr_clean_desc d = {.nchan = NCHAN, .nbit = 32, .kind = PSR_FLOAT, .tsamp_s = 1};
    d.clip_sigma = 8;
    d.zerodm = zerodm;
    for (int k = 0; k < N * NCHAN; k++)
        x[k] = (float)tap_between(&random, 80, 120);
    bool good =
        psr_clean_create(&p, &d, &err) == PSR_OK && psr_clean_create(&q, &d, &err) == PSR_OK;
    good = good && psr_clean_execute(p, x, N, y, &n, &err) == PSR_OK;
    for (int k = 0; k < NBAD; k++)
        x[bad[k] * NCHAN + k] = what[k];
    good = good && psr_clean_execute(q, x, N, z, &m, &err) == PSR_OK && n == N && m == N;
    for (int k = 0; k < N * NCHAN; k++) {
        int t = k / NCHAN;
        bool hurt = t == bad[0] || t == bad[1] || t == bad[2] || t == bad[3];
        wrong += !(fabsf(z[k] - y[k]) <= (hurt ? 30.0f : zerodm ? 0.2f : 0.0f));
    }
    ok(good && wrong == 0 && psr_clean_clipped(q) == (zerodm ? 0 : NBAD),
       "no numbers are replaced, zero-DM %d (%d bad, %lld clipped)", zerodm, wrong,
       (long long)psr_clean_clipped(q));
    psr_clean_destroy(p);
    psr_clean_destroy(q);
    free(x);
    free(y);
    free(z);
}

/* Whole blocks may be cleaned where they lie. */
static void test_in_place(uint64_t *seed)
{
    int bad = 0;
    for (int k = 0; k < 12; k++) {
        struct scene s;
        make_scene(&s, seed);
        s.zerodm = false;
        size_t whole = (size_t)s.nsamp / BLOCK * BLOCK, na = 0, nb = 0, bytes = s.row_bytes;
        unsigned char *out = malloc(((size_t)s.nsamp + BLOCK) * bytes);
        psr_clean *a = make_plan(&s, 1), *b = make_plan(&s, 2);
        bad += !out || psr_clean_execute(a, s.packed, (size_t)s.nsamp, out, &na, &err) != PSR_OK;
        bad += psr_clean_execute(b, s.packed, (size_t)s.nsamp, s.packed, &nb, &err) != PSR_OK;
        bad += na != whole || nb != whole || memcmp(out, s.packed, whole * bytes) != 0;
        bad += psr_clean_finish(a, out, &na, &err) != PSR_OK;
        bad += psr_clean_finish(b, s.packed, &nb, &err) != PSR_OK;
        bad += na != nb || memcmp(out, s.packed, na * bytes) != 0;
        psr_clean_destroy(a);
        psr_clean_destroy(b);
        free(out);
        free_scene(&s);
    }
    ok(bad == 0, "whole blocks are cleaned in place (%d bad)", bad);
}

int main(void)
{
    uint64_t seed = tap_seed();
    test_in_place(&seed);
    test_cells(&seed);
    test_series(&seed);
    test_lost(&seed);
    test_constant_start();
    test_no_numbers(false);
    test_no_numbers(true);
    test_errors();
    return done_testing();
}
