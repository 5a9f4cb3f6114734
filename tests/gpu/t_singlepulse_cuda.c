/* The single-pulse search of series on CUDA devices: the events of the search on the CPU, to the
 * bit, however the stream is cut and the series are dealt out. */
#include "dsp/dsp.h"
#include "search/dedisp/dedisp_internal.h"
#include "search/singlepulse/singlepulse_internal.h"
#include "tests/support/pulse_tests.h"

#include <cuda_runtime_api.h>
#include <psrkit/ddplan.h>
#include <psrkit/device.h>
#include <psrkit/experimental/dedisp.h>

struct setup {
    float *x; /* [nseries][n] */
    size_t nseries, n, ndevice_series;
    double maxwidth_s, threshold; /* sampling time is 1 ms */
    size_t *sweep;
    struct psr_span mask[3];
    size_t nmask;
    uint64_t *cut; /* NULL: one block */
    size_t most;   /* samples of a block */
    size_t block;  /* that the plan is told */
    bool drifts;   /* the series are resampled on the way */
};

static double drift_s(const void *ctx, double t_s)
{
    return *(const double *)ctx * t_s;
}

static psr_resample *make_resample(const struct setup *s)
{
    psr_err err;
    static const double rate[] = {0.0083, -0.0061}; /* bins are added; bins are removed */
    psr_resample *r = NULL;
    if (s->drifts && psr_resample_create(&r,
                                         &(struct psr_resample_desc){.nseries = s->nseries,
                                                                     .tsamp_s = 1e-3,
                                                                     .drift = drift_s,
                                                                     .ctx = &rate[s->nseries % 2]},
                                         &err)) {
        diag("%s", err.msg);
        exit(EXIT_FAILURE);
    }
    return r;
}

static bool must(cudaError_t e, const char *what)
{
    if (e)
        diag("%s: %s", what, cudaGetErrorString(e));
    return !e;
}
#define MUST(call)                                                                                 \
    do {                                                                                           \
        if (!must(call, #call))                                                                    \
            exit(EXIT_FAILURE);                                                                    \
    } while (0)

static psr_singlepulse *make_plan(const struct setup *s)
{
    psr_err err;
    psr_singlepulse *p =
        plan_search((struct psr_singlepulse_desc){.size = sizeof(struct psr_singlepulse_desc),
                                                  .nseries = s->nseries,
                                                  .sweep = s->sweep,
                                                  .threshold = s->threshold,
                                                  .maxwidth_s = s->maxwidth_s,
                                                  .block = s->block});
    for (size_t k = 0; k < s->nmask; k++)
        if (psr_singlepulse_mask(p, s->mask[k], &err))
            diag("%s", err.msg);
    return p;
}

static bool fine(psr_status st, const psr_err *err)
{
    if (st)
        diag("%s", err->msg);
    return !st;
}

static psr_singlepulse *search_on_host(const struct setup *s)
{
    psr_err err;
    psr_singlepulse *p = make_plan(s);
    psr_resample *r = make_resample(s);
    size_t stride = r ? psr_resample_room(r, s->n) : s->n, n = s->n;
    float *x = tap_take(s->nseries * stride, sizeof *x);
    for (size_t i = 0; i < s->nseries; i++)
        memcpy(x + i * stride, s->x + i * s->n, s->n * sizeof *x);
    if ((r && !fine(psr_resample_execute(r, x, stride, s->n, &n, &err), &err)) ||
        !fine(psr_singlepulse_execute(p, x, stride, n, &err), &err) ||
        !fine(psr_singlepulse_finish(p, &err), &err))
        exit(EXIT_FAILURE);
    psr_resample_destroy(r);
    free(x);
    return p;
}

/* All series on device 0, dealt out to device_series with streams of their own. */
static psr_singlepulse *search_on_device(const struct setup *s)
{
    psr_err err;
    psr_singlepulse *p = make_plan(s);
    float *d_x;
    struct psr_device_series device_series[4] = {0};
    cudaStream_t stream[4];
    MUST(cudaMalloc((void **)&d_x, s->nseries * (s->n + 1) * sizeof *d_x));
    MUST(cudaMemcpy(d_x, s->x, s->nseries * s->n * sizeof *d_x, cudaMemcpyHostToDevice));
    for (size_t k = 0; k < s->ndevice_series; k++)
        MUST(cudaStreamCreate(&stream[k]));
    bool good = true;
    psr_resample *r = make_resample(s);
    const struct psr_resample_bin *bin = NULL;
    for (size_t done = 0, take; good && done < s->n; done += take) {
        take = s->n - done;
        if (s->cut) {
            size_t want = (size_t)tap_between(s->cut, 0, (int64_t)s->most);
            take = want < take ? want : take;
        }
        for (size_t k = 0; k < s->ndevice_series; k++) {
            size_t first = k * s->nseries / s->ndevice_series,
                   end = (k + 1) * s->nseries / s->ndevice_series;
            device_series[k] = (struct psr_device_series){.first = first,
                                                          .nseries = end - first,
                                                          .d_x = d_x + first * s->n + done,
                                                          .stride = s->n,
                                                          .stream = stream[k]};
        }
        size_t nbin = 0, nout;
        good = !r || fine(psr_resample_report(r, take, &bin, &nbin, &nout, &err), &err);
        good = good && fine(psr_singlepulse_execute_device(p, device_series, s->ndevice_series,
                                                           take, bin, nbin, &err),
                            &err);
    }
    good = good && fine(psr_singlepulse_finish(p, &err), &err);
    psr_resample_destroy(r);
    for (size_t k = 0; k < s->ndevice_series; k++)
        MUST(cudaStreamSynchronize(stream[k]));
    if (!good)
        exit(EXIT_FAILURE);
    MUST(cudaFree(d_x)); /* the streams must outlive the plan */
    return p;
}

static size_t count_events(const psr_singlepulse *p, size_t nseries)
{
    const struct psr_event *event;
    size_t n = 0;
    for (size_t i = 0; i < nseries; i++)
        n += psr_singlepulse_events(p, i, &event);
    return n;
}

static int compare_searches(const struct setup *s, size_t *nevent)
{
    psr_singlepulse *want = search_on_host(s), *got = search_on_device(s);
    int wrong = count_differences(got, want, s->nseries);
    *nevent += count_events(want, s->nseries);
    if (wrong)
        diag("%d differences: %zu series of %zu samples in %zu device_series, widths to %g s, "
             "threshold "
             "%g, %zu masks, drift %d, %zu events for %zu",
             wrong, s->nseries, s->n, s->ndevice_series, s->maxwidth_s, s->threshold, s->nmask,
             (int)s->drifts, count_events(got, s->nseries), count_events(want, s->nseries));
    psr_singlepulse_destroy(want);
    psr_singlepulse_destroy(got);
    return wrong;
}

/* Levels as of a counter, which clipping cannot deal with, and stretches without scatter. */
static void make_coarse(uint64_t *seed, float *x, size_t n)
{
    int style = (int)tap_between(seed, 0, 3);
    for (size_t t = 0; t < n; t++) {
        if (style == 0)
            x[t] = tap_uniform(seed) < 0.3;
        else if (style == 1)
            x[t] = floorf(x[t] / 4);
        else if (style == 2 && t / 1500 % 3 == 1)
            x[t] = 7;
    }
}

static void test_random(uint64_t *seed)
{
    const char *text = getenv("PSRKIT_TEST_COUNT");
    int wrong = 0, k, count = text ? atoi(text) / 3 + 1 : 100;
    size_t nevent = 0;
    for (k = 0; k < count && !wrong; k++) {
        static const double widths[] = {0, 0.0701, 1e-5, 0.0301, 0.1501};
        struct setup s = {.nseries = (size_t)tap_between(seed, 1, 9),
                          .n = (size_t)tap_between(seed, 0, k % 4 ? 20000 : 2000),
                          .threshold = k % 7 ? 4 + 2 * tap_uniform(seed) : 2,
                          .maxwidth_s = widths[tap_between(seed, 0, 4)],
                          .cut = k % 3 ? seed : NULL,
                          .most = (size_t)1 << tap_between(seed, 5, 15),
                          .block = k % 2 ? (size_t)1 << tap_between(seed, 10, 18) : 0,
                          .drifts = k % 5 > 2};
        s.ndevice_series = (size_t)tap_between(seed, 1, s.nseries < 4 ? (int64_t)s.nseries : 4);
        s.x = make_series(seed, s.nseries, s.n);
        s.sweep = tap_take(s.nseries, sizeof *s.sweep);
        make_coarse(seed, s.x, s.n);
        for (size_t i = 0; i < s.nseries; i++)
            s.sweep[i] = (size_t)tap_between(seed, 0, 300);
        for (s.nmask = 0; k % 2 && s.nmask < 3; s.nmask++)
            s.mask[s.nmask] =
                (struct psr_span){tap_between(seed, 0, (int64_t)s.n), tap_between(seed, 1, 3000)};
        wrong = compare_searches(&s, &nevent);
        free(s.x);
        free(s.sweep);
    }
    ok(!wrong && nevent > 100, "%d random streams: the same events (%zu of them)", k, nevent);
}

/* More hits than there is room for at once. */
static void test_storm(uint64_t *seed)
{
    size_t nevent = 0;
    struct setup s = {.nseries = 150, .n = 40000, .ndevice_series = 1, .threshold = 0.5};
    s.x = make_noise(seed, s.nseries * s.n, 0, 1);
    int wrong = compare_searches(&s, &nevent);
    ok(!wrong && nevent > 100000, "a storm of %zu events", nevent);
    free(s.x);
}

enum { NCHAN = 100, NDM = 70, NSAMP = 60000 };

/* Noise of 8 bits, and a pulse at DM 102. */
static unsigned char *make_spectra(const double freq_mhz[NCHAN], uint64_t *seed)
{
    unsigned char *in = tap_take(NSAMP, NCHAN);
    for (size_t n = 0; n < (size_t)NSAMP * NCHAN; n++)
        in[n] = (unsigned char)(tap_random(seed) >> 56);
    for (size_t c = 0; c < NCHAN; c++) {
        int64_t t = 30000 + psr_delay_samples(PSR_DMCONST_PRESTO, 102, freq_mhz[c], 1500, 1e-3);
        in[(size_t)t * NCHAN + c] = 255;
    }
    return in;
}

/* From spectra to events, series never leaving the device, in random blocks. */
static bool chain_on_device(psr_dedisp *plan, psr_singlepulse *search, const unsigned char *in,
                            uint64_t *seed)
{
    psr_err err;
    bool good = true;
    for (size_t t = 0, taken; good && t < NSAMP; t += taken) {
        const struct psr_device_series *device_series;
        size_t ndevice_series, nout, n = (size_t)tap_between(seed, 1, 9000);
        n = n < NSAMP - t ? n : NSAMP - t;
        good = fine(psr_dedisp_execute_device(plan, in + t * NCHAN, n, &taken, &device_series,
                                              &ndevice_series, &nout, &err),
                    &err) &&
               fine(psr_singlepulse_execute_device(search, device_series, ndevice_series, nout,
                                                   NULL, 0, &err),
                    &err);
    }
    return good && fine(psr_singlepulse_finish(search, &err), &err);
}

/* Series that stay on the device against series from the CPU. */
static void test_chain(uint64_t *seed)
{
    double freq_mhz[NCHAN], dm[NDM];
    psr_dedisp *host, *device;
    psr_singlepulse *want, *got;
    psr_err err;
    for (size_t c = 0; c < NCHAN; c++)
        freq_mhz[c] = 1500 - 3.0 * (double)c;
    for (size_t i = 0; i < NDM; i++)
        dm[i] = 3.0 * (double)i;
    unsigned char *in = make_spectra(freq_mhz, seed);
    struct psr_dedisp_desc d = {.size = sizeof d,
                                .nchan = NCHAN,
                                .freq_mhz = freq_mhz,
                                .tsamp_s = 1e-3,
                                .nbit = 8,
                                .kind = PSR_UINT,
                                .downsamp = 1,
                                .dmconst = PSR_DMCONST_PRESTO,
                                .ndm = NDM,
                                .dm = dm,
                                .mem_bytes = 64 << 20,
                                .backend = "cpu"};
    const struct psr_singlepulse_desc search = {
        .size = sizeof search, .nseries = NDM, .dm = dm, .tsamp_s = 1e-3, .threshold = 4.5};
    bool good = fine(psr_dedisp_create(&host, &d, &err), &err);
    d.backend = "cuda";
    good = good && fine(psr_dedisp_create(&device, &d, &err), &err) &&
           fine(psr_singlepulse_create(&want, &search, &err), &err) &&
           fine(psr_singlepulse_create(&got, &search, &err), &err);
    if (!ok(good, "plans from spectra to events"))
        exit(EXIT_FAILURE);
    size_t stride = psr_dedisp_ready(host, NSAMP), nout;
    float *out = tap_take(NDM * stride, sizeof *out);
    good = fine(psr_dedisp_execute(host, in, NSAMP, out, stride, &nout, &err), &err) &&
           fine(psr_singlepulse_execute(want, out, stride, nout, &err), &err) &&
           fine(psr_singlepulse_finish(want, &err), &err);
    good = good && chain_on_device(device, got, in, seed);
    ok(good && !count_differences(got, want, NDM), "series that stay on the device: %zu events",
       count_events(want, NDM));
    ok(psr_singlepulse_execute(got, out, stride, 1, &err) == PSR_EINVAL, "%s", err.msg);
    psr_singlepulse_destroy(want);
    psr_singlepulse_destroy(got);
    psr_dedisp_destroy(host);
    psr_dedisp_destroy(device);
    free(out);
    free(in);
}

int main(void)
{
    psr_err err;
    uint64_t seed = tap_seed();
    if (!psr_device_count(&err)) {
        skip("single pulses on a CUDA device", err.msg);
        return done_testing();
    }
    test_random(&seed);
    test_chain(&seed);
    if (!getenv("PSRKIT_TEST_SHORT"))
        test_storm(&seed);
    return done_testing();
}
