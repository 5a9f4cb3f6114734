/* clean: against the plain statement, on any cut of the stream, and what it refuses. */
#include "rfi/rules/clean_internal.h"
#include "tests/support/clean_scene.h"

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

/* The size of what single precision rounds on the way to a cell.  Zero-DM takes off a share that can
 * be far larger than what it leaves. */
static double rounded(const struct scene *s, size_t cell)
{
    if (s->zerodm)
        return fabs(s->x[cell] - s->y[cell]) + 2 * s->band[cell % (size_t)s->nchan];
    return s->nbit < 16 ? 1 : 1000;
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
            size_t cell = (size_t)(k->at + (int64_t)t) * (size_t)s->nchan + (size_t)c;
            double want = s->y[cell];
            k->bad += value != 0 && got != 0;
            k->bad += !(fabs(got + value - want) <= 2e-6 * (fabs(want) + rounded(s, cell)));
        }
        for (; next < nstep; next++)
            k->bad += step[next].c == (size_t)c;
    }
}

/* Ranges of clipped spectra ascend, do not touch, end within what was returned, and hold as many as are counted. */
static void compare_clips(struct consumer *k, const psr_clean *p, const void *block, size_t n)
{
    const struct psr_span *span;
    int64_t all = 0, end = -1;
    (void)block;
    k->nout = psr_clean_clips(p, &span);
    for (size_t i = 0; i < k->nout; i++) {
        k->bad += span[i].first <= end || span[i].count < 1;
        end = span[i].first + span[i].count;
        all += span[i].count;
    }
    k->bad += end > k->at + (int64_t)n || all != psr_clean_clipped(p);
}

static void test_clips(uint64_t *seed)
{
    int bad = 0;
    size_t most = 0;
    for (int k = 0; k < 20; k++) {
        struct scene s;
        make_scene(&s, seed);
        struct consumer consumer = {.take = compare_clips, .scene = &s};
        run_stream(&s, &consumer, seed, 1 + k % 3);
        most = consumer.nout > most ? consumer.nout : most;
        bad += consumer.bad;
        free_scene(&s);
    }
    ok(bad == 0 && most > 0, "clipped spectra are told of, whatever the cut (%zu ranges)", most);
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

static bool refuses(struct psr_clean_desc d, const char *field)
{
    psr_clean *p;
    psr_status st = psr_clean_create(&p, &d, &err);
    bool told = st == PSR_EINVAL && !p && !strcmp(err.field, field);
    if (!told)
        diag("status %d: %s", (int)st, st ? err.msg : "");
    psr_clean_destroy(p);
    return told;
}

static void test_errors(void)
{
    const struct psr_clean_desc good = {
        .size = sizeof good, .nchan = 4, .nbit = 8, .tsamp_s = 1, .clip_sigma = 6};
    struct psr_clean_desc d = good;
    struct psr_mask mask = {.nchan = 5};
    d.nchan = 0;
    ok(refuses(d, "nchan"), "no channels");
    d = good, d.nbit = 3;
    ok(refuses(d, "nbit"), "3 bits");
    d = good, d.clip_sigma = -1;
    ok(refuses(d, "clip_sigma"), "a negative threshold");
    d = good, d.tsamp_s = 0;
    ok(refuses(d, "tsamp_s"), "no sampling time");
    d = good, d.mask = &mask;
    ok(refuses(d, "mask"), "a mask of other data");
    psr_mask_correction *patch;
    struct psr_mask_correction_desc pd = {.nchan = 4, .ndm = 0, .downsamp = 1};
    ok(psr_mask_correction_create(&patch, &pd, &err) == PSR_EINVAL && !patch,
       "a patch of no trials");
    pd = (struct psr_mask_correction_desc){.nchan = 4, .ndm = 1, .downsamp = 1, .largest = NAN};
    ok(psr_mask_correction_create(&patch, &pd, &err) == PSR_EINVAL && !patch,
       "a patch of no numbers");
    pd.largest = 9;
    ok(psr_mask_correction_create(&patch, &pd, &err) == PSR_OK, "a patch");
    struct psr_step step = {0, 0, 10};
    ok(psr_mask_correction_execute(patch, &step, 1, NULL, 0, 0, &err) == PSR_EINVAL &&
           strstr(err.msg, "10"),
       "a value beyond what was said");
    psr_mask_correction_destroy(patch);
    psr_mask_correction_destroy(NULL);
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
    struct psr_clean_desc d = {
        .size = sizeof d, .nchan = NCHAN, .nbit = 8, .tsamp_s = 1, .clip_sigma = 6};
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
    struct psr_clean_desc d = {
        .size = sizeof d, .nchan = NCHAN, .nbit = 32, .kind = PSR_FLOAT, .tsamp_s = 1};
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
    test_lost(&seed);
    test_clips(&seed);
    test_constant_start();
    test_no_numbers(false);
    test_no_numbers(true);
    test_errors();
    return done_testing();
}
