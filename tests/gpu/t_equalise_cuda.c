/* Series on CUDA devices whose masked samples are restored, or that are given a common scatter: the bits of those on
 * the host, however the stream is cut and the series are dealt out. */
#include "tests/support/tap.h"

#include "base/device/device_internal.h"
#include "search/dedisp/mask/mask_correction.h"

#include <cuda_runtime_api.h>
#include <psrkit/ddplan.h>
#include <psrkit/device.h>
#include <string.h>

enum { NCHAN_MOST = 300, NDM_MOST = 40, SHARES_MOST = 3, SHAPES = 60 };

#define MUST(call)                                                                                 \
    do {                                                                                           \
        cudaError_t e_ = (call);                                                                   \
        if (e_) {                                                                                  \
            diag("%s: %s", #call, cudaGetErrorString(e_));                                         \
            exit(EXIT_FAILURE);                                                                    \
        }                                                                                          \
    } while (0)

struct shape {
    size_t nchan, ndm, ds, nspec, nshare, most; /* most: spectra of a block */
    double freq_mhz[NCHAN_MOST], dm[NDM_MOST];
    unsigned char keep[NCHAN_MOST];
    double density; /* steps a spectrum */
    bool restore;
    psr_dedisp *plan;
    psr_mask_correction *host, *device;
    struct psr_mask_noise noise;
    struct psr_step *step; /* [nstep] by time */
    size_t nstep;
    float *x, *want, *got; /* [ndm][room] */
    size_t room;
    float *d_x[SHARES_MOST];
    cudaStream_t stream[SHARES_MOST];
    size_t ntouched, nnone; /* samples that differ from the input; that are not a number */
};

static bool fine(psr_status st, const psr_err *err)
{
    if (st)
        diag("%s", err->msg);
    return !st;
}

/* --- what is drawn ---------------------------------------------------------------------------- */

/* Single channels, and sparks that take all. */
static void draw_steps(struct shape *s, uint64_t *seed)
{
    static const float part[] = {0, 1, 1, 0, 0.5F, 0.19F};
    const size_t most = s->nchan * (40 + (size_t)(s->density * (double)s->nspec));
    s->step = tap_take(most, sizeof *s->step);
    s->nstep = 0;
    for (size_t c = 0; c < s->nchan; c++)
        if (s->keep[c] && tap_uniform(seed) < 0.2)
            s->step[s->nstep++] = (struct psr_step){0, c, 1 - (float)tap_uniform(seed)};
    for (size_t t = 0; t < s->nspec; t++) {
        if (tap_uniform(seed) >= s->density / 4)
            continue;
        const bool all = tap_uniform(seed) < 0.2;
        const size_t lone = (size_t)tap_between(seed, 0, (int64_t)s->nchan - 1);
        const float value = (s->restore ? 255 : 1) * part[tap_between(seed, 0, 5)] *
                            (s->restore && lone % 2 ? -1.0F : 1.0F);
        for (size_t c = all ? 0 : lone; c < (all ? s->nchan : lone + 1); c++)
            if (s->keep[c] && s->nstep < most)
                s->step[s->nstep++] = (struct psr_step){(int64_t)t, c, value};
    }
}

static bool make_plans(struct shape *s, uint64_t *seed)
{
    psr_err err;
    const bool steps = s->nchan % 4 == 0 && tap_uniform(seed) < 0.5;
    const struct psr_dedisp_desc d = {.size = sizeof d,
                                      .nchan = s->nchan,
                                      .freq_mhz = s->freq_mhz,
                                      .tsamp_s = 1e-3,
                                      .nbit = 8,
                                      .kind = PSR_UINT,
                                      .downsamp = s->ds,
                                      .dmconst = PSR_DMCONST_PRESTO,
                                      .ndm = s->ndm,
                                      .dm = s->dm,
                                      .keep = s->keep,
                                      .algo = steps ? PSR_DEDISP_SUBBAND : PSR_DEDISP_DIRECT,
                                      .nsub = s->nchan / 4,
                                      .tol = (int)tap_between(seed, 0, 1),
                                      .mem_bytes = 1 << 30,
                                      .backend = "cpu"};
    if (!fine(psr_dedisp_create(&s->plan, &d, &err), &err))
        return false;
    const struct psr_mask_correction_desc m = {.plan = s->plan,
                                               .nchan = s->nchan,
                                               .ndm = s->ndm,
                                               .downsamp = s->ds,
                                               .largest = s->restore ? 255 : 1,
                                               .nthread = 2};
    return fine(psr_mask_correction_create(&s->host, &m, &err), &err) &&
           fine(psr_mask_correction_create(&s->device, &m, &err), &err);
}

static bool draw(struct shape *s, int k, uint64_t *seed)
{
    memset(s, 0, sizeof *s);
    s->nchan = (size_t)tap_between(seed, 1, k % 5 ? 40 : NCHAN_MOST);
    s->ndm = (size_t)tap_between(seed, 1, NDM_MOST);
    s->ds = (size_t)tap_between(seed, 1, k % 2 ? 5 : 1);
    s->nspec = (size_t)tap_between(seed, 1, 20000);
    s->most = (size_t)tap_between(seed, 1, k % 3 ? 9000 : 300);
    s->most = s->most * 40 < s->nspec ? s->nspec / 40 + 1 : s->most;
    s->nshare = (size_t)tap_between(seed, 1, s->ndm < SHARES_MOST ? (int64_t)s->ndm : SHARES_MOST);
    s->restore = k % 3 == 1;
    s->density = k % 4 ? 0.01 * tap_uniform(seed) : tap_uniform(seed);
    for (size_t c = 0; c < s->nchan; c++) {
        s->freq_mhz[c] = 1400 + (k % 2 ? 0.5 : -0.5) * (double)c;
        s->keep[c] = c == 0 || tap_uniform(seed) < 0.9;
        s->noise.variance += s->keep[c] ? 1 : 0;
    }
    s->noise.level = 32 * s->noise.variance;
    for (size_t i = 0; i < s->ndm; i++)
        s->dm[i] = (double)i * (k % 7 ? 40 : 900) * tap_uniform(seed);
    draw_steps(s, seed);
    s->room = s->nspec / s->ds + 1;
    s->x = tap_take(s->ndm * s->room, sizeof *s->x);
    s->want = tap_take(s->ndm * s->room, sizeof *s->want);
    s->got = tap_take(s->ndm * s->room, sizeof *s->got);
    for (size_t n = 0; n < s->ndm * s->room; n++)
        s->x[n] = (float)(s->noise.level + 5 * tap_normal(seed));
    return make_plans(s, seed);
}

/* --- a stream --------------------------------------------------------------------------------- */

static bool run_device(struct shape *s, const struct psr_step *step, size_t nstep, size_t at,
                       size_t n)
{
    struct psr_device_series in[SHARES_MOST];
    const struct psr_device_series *out = NULL;
    psr_err err;
    for (size_t k = 0; k < s->nshare; k++) {
        const size_t first = k * s->ndm / s->nshare, end = (k + 1) * s->ndm / s->nshare;
        in[k] = (struct psr_device_series){.first = first,
                                           .nseries = end - first,
                                           .d_x = s->d_x[k] + at,
                                           .stride = s->room,
                                           .stream = s->stream[k]};
    }
    const psr_status st =
        s->restore
            ? psr_mask_correction_execute_device(s->device, step, nstep, in, s->nshare, n, &err)
            : psr_mask_correction_equalise_device(s->device, step, nstep, &s->noise, in, s->nshare,
                                                  n, &out, &err);
    return fine(st, &err) && (!n || fine(psr_device_series_fetch(s->restore ? in : out, s->nshare,
                                                                 n, s->got + at, s->room, &err),
                                         &err));
}

/* The same on the host, in place. */
static bool run_host(struct shape *s, const struct psr_step *step, size_t nstep, size_t at,
                     size_t n)
{
    psr_err err;
    for (size_t i = 0; i < s->ndm && n; i++)
        memcpy(s->want + i * s->room + at, s->x + i * s->room + at, n * sizeof *s->want);
    return fine(
        s->restore
            ? psr_mask_correction_execute(s->host, step, nstep, s->want + at, s->room, n, &err)
            : psr_mask_correction_equalise(s->host, step, nstep, &s->noise, s->x + at, s->want + at,
                                           s->room, n, &err),
        &err);
}

static bool run_stream(struct shape *s, size_t *ngiven, uint64_t *seed)
{
    const size_t maxshift = psr_dedisp_maxshift(s->plan);
    size_t taken = 0, known = 0, given = 0;
    bool good = true;
    while (taken < s->nspec && good) {
        size_t n = (size_t)tap_between(seed, 0, (int64_t)s->most), first = known;
        taken += n < s->nspec - taken ? n : s->nspec - taken;
        while (known < s->nstep && s->step[known].t < (int64_t)taken)
            known++;
        const size_t sums = taken / s->ds, ready = sums > maxshift ? sums - maxshift : 0;
        good = run_host(s, s->step + first, known - first, given, ready - given) &&
               run_device(s, s->step + first, known - first, given, ready - given);
        given = ready;
    }
    *ngiven = given;
    return good;
}

static size_t count_differences(struct shape *s, size_t n)
{
    size_t bad = 0;
    for (size_t i = 0; i < s->ndm; i++)
        for (size_t t = 0; t < n; t++) {
            const float *want = s->want + i * s->room + t, *got = s->got + i * s->room + t;
            const bool none = isnan(*want);
            bad += none ? !isnan(*got) : memcmp(want, got, sizeof *want) != 0;
            s->nnone += none;
            s->ntouched += !none && fabsf(*want - s->x[i * s->room + t]) > 0.01F;
        }
    return bad;
}

static void take_devices(struct shape *s)
{
    for (size_t k = 0; k < s->nshare; k++) {
        const size_t first = k * s->ndm / s->nshare, end = (k + 1) * s->ndm / s->nshare;
        const size_t bytes = (end - first) * s->room * sizeof *s->x;
        MUST(cudaMalloc((void **)&s->d_x[k], bytes));
        MUST(cudaMemcpy(s->d_x[k], s->x + first * s->room, bytes, cudaMemcpyHostToDevice));
        MUST(cudaStreamCreateWithFlags(&s->stream[k], cudaStreamNonBlocking));
    }
    MUST(cudaStreamSynchronize(cudaStreamLegacy));
}

static void clear(struct shape *s)
{
    psr_mask_correction_destroy(s->host);
    psr_mask_correction_destroy(s->device);
    for (size_t k = 0; k < s->nshare; k++) {
        MUST(cudaStreamDestroy(s->stream[k]));
        MUST(cudaFree(s->d_x[k]));
    }
    psr_dedisp_destroy(s->plan);
    free(s->step);
    free(s->x);
    free(s->want);
    free(s->got);
}

static void test_shape(int k, size_t *ntouched, size_t *nnone, uint64_t *seed)
{
    struct shape s;
    size_t n = 0;
    if (!draw(&s, k, seed))
        exit(EXIT_FAILURE);
    take_devices(&s);
    const bool good = run_stream(&s, &n, seed);
    const size_t bad = count_differences(&s, n);
    ok(good && !bad,
       "%s: %zu channels, %zu trials on %zu devices, sums of %zu, %zu samples, %zu steps: %zu "
       "differ",
       s.restore ? "restored" : "equalised", s.nchan, s.ndm, s.nshare, s.ds, n, s.nstep, bad);
    *ntouched += s.ntouched;
    *nnone += s.nnone;
    clear(&s);
}

static void test_errors(uint64_t *seed)
{
    struct shape s;
    psr_err err;
    if (!draw(&s, 2, seed))
        exit(EXIT_FAILURE);
    take_devices(&s);
    struct psr_device_series in = {
        .nseries = s.ndm, .d_x = s.d_x[0], .stride = 8, .stream = s.stream[0]};
    const struct psr_device_series *out;
    ok(psr_mask_correction_equalise_device(s.device, NULL, 0, &s.noise, &in, 1, 9, &out, &err) ==
           PSR_EINVAL,
       "%s", err.msg);
    in.nseries++;
    ok(psr_mask_correction_equalise_device(s.device, NULL, 0, &s.noise, &in, 1, 8, &out, &err) ==
           PSR_EINVAL,
       "%s", err.msg);
    in.nseries--;
    const struct psr_step beyond = {0, 0, 2};
    ok(psr_mask_correction_equalise_device(s.device, &beyond, 1, &s.noise, &in, 1, 0, &out, &err) ==
           PSR_EINVAL,
       "%s", err.msg);
    in.device = psr_device_count(NULL);
    psr_mask_correction_destroy(s.device);
    s.device = NULL;
    const struct psr_mask_correction_desc m = {
        .plan = s.plan, .nchan = s.nchan, .ndm = s.ndm, .downsamp = s.ds, .largest = 1};
    if (!fine(psr_mask_correction_create(&s.device, &m, &err), &err))
        exit(EXIT_FAILURE);
    ok(psr_mask_correction_equalise_device(s.device, NULL, 0, &s.noise, &in, 1, 8, &out, &err) ==
           PSR_EDEVICE,
       "%s", err.msg);
    clear(&s);
}

int main(void)
{
    psr_err err;
    uint64_t seed = tap_seed();
    size_t ntouched = 0, nnone = 0;
    if (!psr_device_count(&err)) {
        skip("series of a common scatter on a CUDA device", err.msg);
        return done_testing();
    }
    for (int k = 0; k < SHAPES; k++)
        test_shape(k, &ntouched, &nnone, &seed);
    ok(ntouched > 1000 && nnone > 1000, "%zu samples are scaled, of %zu too little is left",
       ntouched, nnone);
    test_errors(&seed);
    return done_testing();
}
