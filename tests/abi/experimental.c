/* Uses descriptions and reports of the experimental headers as a program of any version does. */
#include "boxed.h"

#include <psrkit/experimental.h>
#include <psrkit/psrkit.h>

enum { NCHAN = 4, NBIN = 4096 };

static psr_err err;

#define DEFAULTS(module)                                                                           \
    {                                                                                              \
        BOXED(struct psr_##module##_desc, d);                                                      \
        psr_##module##_defaults(&d.x);                                                             \
        CHECK_BEHIND(d);                                                                           \
        printf(#module ": %s\n", d.x.size == sizeof d.x ? "sized" : "of another size");            \
    }

/* A boxed description of zeros. */
#define DESC(module, name)                                                                         \
    BOXED(struct psr_##module##_desc, name);                                                       \
    memset(&name.x, 0, sizeof name.x);                                                             \
    name.x.size = sizeof name.x

static const double freq_mhz[NCHAN] = {1400, 1390, 1380, 1370}, dm[] = {0, 10};

static void dedisperse(void)
{
    DESC(dedisp, d);
    BOXED(struct psr_dedisp_info, info);
    d.x.nchan = NCHAN, d.x.freq_mhz = freq_mhz, d.x.tsamp_s = 1e-3, d.x.nbit = 8;
    d.x.downsamp = 1, d.x.dmconst = PSR_DMCONST_PRESTO, d.x.ndm = 2, d.x.dm = dm;
    d.x.backend = "cpu";
    psr_dedisp *p;
    CHECK(psr_dedisp_create(&p, &d.x, &err));
    psr_dedisp_describe(p, &info.x);
    CHECK_BEHIND(d);
    CHECK_BEHIND(info);
    printf("dedispersion on %s, %g additions\n", info.x.backend, info.x.adds_direct);
    psr_dedisp_destroy(p);
}

static void search_pulses(void)
{
    DESC(singlepulse, d);
    d.x.nseries = 2, d.x.dm = dm, d.x.tsamp_s = 1e-3, d.x.threshold = 6;
    psr_singlepulse *p;
    CHECK(psr_singlepulse_create(&p, &d.x, &err));
    CHECK_BEHIND(d);
    printf("boxcars up to %zu samples\n", psr_singlepulse_maxwidth(p));
    psr_singlepulse_destroy(p);
}

static void search_matched(const float *x)
{
    DESC(accelsearch, d);
    BOXED(struct psr_accelsearch_info, info);
    BOXED(struct psr_accelsearch_result, result);
    const struct psr_accelsearch_input in = {.x = x};
    d.x.nbin = NBIN, d.x.zmax = 20, d.x.numharm = 4, d.x.sigma = 3, d.x.rlo = 10;
    d.x.backend = "cpu";
    psr_accelsearch *p;
    CHECK(psr_accelsearch_create(&p, &d.x, &err));
    psr_accelsearch_describe(p, &info.x);
    CHECK(psr_accelsearch_execute(p, &in, &result.x, &err));
    CHECK_BEHIND(d);
    CHECK_BEHIND(info);
    CHECK_BEHIND(result);
    printf("matched: drifts to %d, %zu candidates\n", info.x.zmax, result.x.ncand);
    psr_accelsearch_destroy(p);
}

static void search_boxes(const float *x)
{
    const int nharm[] = {1, 2};
    DESC(pulscan, d);
    BOXED(struct psr_pulscan_info, info);
    d.x.nbin = NBIN, d.x.zmax = 20, d.x.nharm = nharm, d.x.nnharm = 2, d.x.rlo = 10;
    d.x.sigma = 3, d.x.backend = "cpu";
    psr_pulscan *p;
    CHECK(psr_pulscan_create(&p, &d.x, &err));
    psr_pulscan_describe(p, &info.x);
    CHECK_BEHIND(d);
    CHECK_BEHIND(info);
    printf("boxes on %s, bins of %g\n", info.x.backend, (double)x[0]);
    psr_pulscan_destroy(p);
}

static void search_spectra(void)
{
    float *x = malloc(2 * NBIN * sizeof *x);
    for (int k = 0; k < 2 * NBIN; k++)
        x[k] = (float)psr_rng_uniform(1, 0, k) - 0.5f;
    x[2 * 1000] = 30;
    search_matched(x);
    search_boxes(x);
    free(x);
}

int main(void)
{
    DEFAULTS(beamformer)
    DEFAULTS(filterbank)
    DEFAULTS(folder)
    DEFAULTS(fourier)
    DEFAULTS(pipeline)
    DEFAULTS(rfi_run)
    DEFAULTS(sift)
    dedisperse();
    search_pulses();
    search_spectra();
    return 0;
}
