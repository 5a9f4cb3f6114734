/* A device that is lost in the middle: every plan on it says so, with the device and what it was
 * doing, and can still be destroyed; and the CPU takes over where the backend was left to choose.
 *
 * With LOST_DEVICE 1 (t_lost_pair_cuda) it is the second of two that share the trials; where that is
 * played, it is the one that is named, and the first goes on (see pair.h). */
#include "base/device/device_internal.h"
#include "lost.h"
#include "pair.h"
#include "search/dedisp/dedisp_internal.h"
#include "search/singlepulse/singlepulse_internal.h"
#include "tests/support/tap.h"

#include <psrkit/ddplan.h>
#include <psrkit/device.h>
#include <psrkit/experimental/pulscan.h>
#include <psrkit/experimental/singlepulse.h>
#include <string.h>

#ifndef LOST_DEVICE
#define LOST_DEVICE 0
#endif
#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x)
#define DEVICE   "device " TEXT(LOST_DEVICE) ": "

enum { NCHAN = 64, NDM = 40, NSAMP = 5000, NBIN = 20000 };

/* Everything that works on the device, having worked once. */
struct plans {
    struct psr_dedisp_desc desc;
    double freq_mhz[NCHAN], dm[NDM];
    unsigned char *in;
    float *out, *spectrum;
    psr_dedisp *host, *stay;                       /* series come back; series stay */
    const struct psr_device_series *device_series; /* of the latter */
    size_t ndevice_series, nout;
    psr_singlepulse *search;
    psr_dedisp_multi *fan;
    psr_pulscan *pulscan;
};

static psr_status create(struct plans *p, psr_err *err)
{
    static const int nharm[] = {1};
    const struct psr_dedisp_multi_line line[] = {{.downsamp = 1, .ndm = NDM, .dm = p->dm},
                                                 {.downsamp = 4, .ndm = NDM, .dm = p->dm}};
    psr_status st;
    if ((st = psr_dedisp_create(&p->host, &p->desc, err)) ||
        (st = psr_dedisp_create(&p->stay, &p->desc, err)))
        return st;
    st = psr_singlepulse_create(
        &p->search,
        &(struct psr_singlepulse_desc){.size = sizeof(struct psr_singlepulse_desc),
                                       .nseries = NDM,
                                       .dm = p->dm,
                                       .tsamp_s = p->desc.tsamp_s,
                                       .threshold = 6},
        err);
    if (!st)
        st = psr_dedisp_multi_create(
            &p->fan, &(struct psr_dedisp_multi_desc){.stream = p->desc, .nline = 2, .line = line},
            err);
    if (!st)
        st = psr_pulscan_create(&p->pulscan,
                                &(struct psr_pulscan_desc){.size = sizeof(struct psr_pulscan_desc),
                                                           .nbin = NBIN,
                                                           .zmax = 20,
                                                           .nharm = nharm,
                                                           .nnharm = 1,
                                                           .sigma = 2,
                                                           .device = LOST_DEVICE,
                                                           .backend = "cuda"},
                                err);
    return st;
}

static psr_status push_search(struct plans *p, psr_err *err)
{
    size_t taken;
    psr_status st = psr_dedisp_execute_device(p->stay, p->in, NSAMP, &taken, &p->device_series,
                                              &p->ndevice_series, &p->nout, err);
    return st ? st
              : psr_singlepulse_execute_device(p->search, p->device_series, p->ndevice_series,
                                               p->nout, NULL, 0, err);
}

static psr_status run_fan(struct plans *p, psr_err *err)
{
    size_t n;
    psr_status st = psr_dedisp_multi_push(p->fan, p->in, NSAMP, err);
    for (size_t k = 0; k < 2 && !st; k++)
        st = psr_dedisp_multi_execute(p->fan, k, p->out, NSAMP, &n, err);
    return st;
}

static psr_status run_pulscan(struct plans *p, psr_err *err)
{
    struct psr_pulscan_result result;
    const float *in = p->spectrum;
    return psr_pulscan_execute(p->pulscan, 1, &in, &result, err);
}

static psr_status run_host(struct plans *p, psr_err *err)
{
    size_t n;
    return psr_dedisp_execute(p->host, p->in, NSAMP, p->out, NSAMP, &n, err);
}

static void fill(struct plans *p, uint64_t *seed)
{
    static const int devices[] = {0, 1};
    p->in = tap_take(NSAMP, NCHAN);
    p->out = tap_take(NDM * NSAMP, sizeof *p->out);
    p->spectrum = tap_take(2 * NBIN, sizeof *p->spectrum);
    for (size_t n = 0; n < (size_t)NSAMP * NCHAN; n++)
        p->in[n] = (unsigned char)(tap_random(seed) >> 56);
    for (size_t n = 0; n < 2 * NBIN; n++)
        p->spectrum[n] = (float)(tap_uniform(seed) - 0.5);
    for (size_t c = 0; c < NCHAN; c++)
        p->freq_mhz[c] = 1500 - (double)c;
    for (size_t i = 0; i < NDM; i++)
        p->dm[i] = (double)i;
    p->desc = (struct psr_dedisp_desc){.size = sizeof(struct psr_dedisp_desc),
                                       .nchan = NCHAN,
                                       .freq_mhz = p->freq_mhz,
                                       .tsamp_s = 1e-4,
                                       .nbit = 8,
                                       .kind = PSR_UINT,
                                       .downsamp = 1,
                                       .dmconst = PSR_DMCONST_PRESTO,
                                       .ndm = NDM,
                                       .dm = p->dm,
                                       .backend = "cuda",
                                       .devices = devices,
                                       .ndevice = LOST_DEVICE + 1};
}

#if LOST_DEVICE == 0
static void lose(void)
{
    cudaError_t e = lost_trap();
    ok(e != cudaSuccess, "the device is lost: %s", cudaGetErrorString(e));
}

static bool is_named(const char *msg, const char *start)
{
    return !strncmp(msg, start, strlen(start));
}

static void test_first(const struct plans *p)
{
    (void)p;
}
#else
static void lose(void)
{
    pair_lose();
    diag("the second device is lost%s", pair_is_played() ? ", which this test plays" : "");
}

static bool is_named(const char *msg, const char *start)
{
    const size_t n = strlen(start), at = (size_t)(strstr(start, "device ") - start) + 7;
    const bool other = !pair_is_played() && strlen(msg) > n && msg[at] == '0';
    return !strncmp(msg, start, at) && (other || msg[at] == '1') &&
           !strncmp(msg + at + 1, start + at + 1, n - at - 1);
}

static void test_first(const struct plans *p)
{
    struct psr_dedisp_desc desc = p->desc;
    psr_dedisp *other;
    psr_err err = {0};
    size_t n;
    if (!pair_is_played()) {
        skip("the first device is not lost", "CUDA may take both from the process");
        return;
    }
    desc.ndevice = 1;
    psr_status st = psr_dedisp_create(&other, &desc, &err);
    if (!st)
        st = psr_dedisp_execute(other, p->in, NSAMP, p->out, NSAMP, &n, &err);
    ok(!st, "the first device is not lost");
    psr_dedisp_destroy(other);
}
#endif

static void told(psr_status st, const psr_err *err, const char *start)
{
    bool pass = st == PSR_EDEVICE && is_named(err->msg, start);
    ok(pass, "%s", st ? err->msg : "no error");
    if (!pass)
        diag("want PSR_EDEVICE and '%s...'", start);
}

static void test_loss(struct plans *p)
{
    struct psr_device device;
    psr_dedisp *other;
    psr_err err = {0};
    struct psr_dedisp_info info;
    void *pin;
    lose();
    told(run_host(p, &err), &err, DEVICE "dedispersion: ");
    told(push_search(p, &err), &err, DEVICE "dedispersion: ");
    told(psr_singlepulse_finish(p->search, &err), &err, DEVICE "single-pulse search: ");
    told(psr_device_series_fetch(p->device_series, p->ndevice_series, 1, p->out, 1, &err), &err,
         DEVICE "copying series: ");
    told(run_fan(p, &err), &err, DEVICE);
    told(run_pulscan(p, &err), &err, DEVICE);
    told(psr_device_describe(LOST_DEVICE, &device, &err), &err, DEVICE);
    told(psr_dedisp_create(&other, &p->desc, &err), &err, "dedispersion on CUDA: " DEVICE);
    psr_dedisp_describe(p->host, &info);
    test_first(p);
    p->desc.backend = "auto";
    psr_status st = psr_dedisp_create(&other, &p->desc, &err);
    if (!st)
        psr_dedisp_describe(other, &info);
    ok(!st && !strcmp(info.backend, "cpu"), "auto goes on with the CPU");
    psr_dedisp_destroy(other);
    ok(!psr_device_pin(&pin, 1000, &err), "there is memory for blocks, if not page-locked");
    psr_device_unpin(pin);
}

int main(void)
{
    struct plans p = {0};
    psr_err err = {0};
    uint64_t seed = tap_seed();
    if (!psr_device_count(&err)) {
        skip("a device that is lost", err.msg);
        return done_testing();
    }
    fill(&p, &seed);
    bool there = !create(&p, &err) && !run_host(&p, &err) && !push_search(&p, &err) &&
                 !run_fan(&p, &err) && !run_pulscan(&p, &err);
    if (ok(there, "plans on a device that is there"))
        test_loss(&p);
    else
        diag("%s", err.msg);
    psr_dedisp_destroy(p.host);
    psr_singlepulse_destroy(p.search);
    psr_dedisp_destroy(p.stay);
    psr_dedisp_multi_destroy(p.fan);
    psr_pulscan_destroy(p.pulscan);
    free(p.in);
    free(p.out);
    free(p.spectrum);
    ok(true, "plans on a lost device can be destroyed");
    return done_testing();
}
