/* dedisp: series as prepsubband made them of SIGPROC's noise, sample for sample. */
#include <psrkit/ddplan.h>
#include <psrkit/experimental/dedisp.h>

#include "search/dedisp/dedisp_internal.h"
#include "tests/support/tap.h"
#include <string.h>

/* The input: 32 channels of 256 us from 1500 MHz down in steps of 4, behind a header of 243 bytes.
 * PRESTO's trials: DM 40, 47, 54; its series of DM 47 is kept. */
enum { NCHAN = 32, NDM = 3, HEADER_BYTES = 243, FILE_MAX = 1 << 20 };

struct golden {
    const char *name, *input;
    int nbit;
    size_t nsub, downsamp, ndat; /* ndat: samples kept, padding left out */
    bool invert;
};

static const struct golden cases[] = {
    {"nsubfull", "g8.fil", 8, 32, 1, 24000, false}, {"noclip", "g8.fil", 8, 8, 1, 24000, false},
    {"invert", "g8.fil", 8, 8, 1, 8000, true},      {"downsamp16", "g8.fil", 8, 8, 16, 1500, false},
    {"downsamp3", "g8.fil", 8, 8, 3, 8000, false},  {"nbits1", "g1.fil", 1, 8, 1, 4800, false},
    {"nbits2", "g2.fil", 2, 8, 1, 4800, false},
};

static size_t load(const char *name, unsigned char *data)
{
    char path[1024];
    const char *dir = getenv("srcdir");
    snprintf(path, sizeof path, "%s/tests/golden/%s", dir ? dir : ".", name);
    FILE *f = fopen(path, "rb");
    if (!f) {
        diag("cannot open %s", path);
        return 0;
    }
    size_t bytes = fread(data, 1, FILE_MAX, f);
    fclose(f);
    return bytes;
}

static psr_status make_plan(psr_dedisp **p, const struct golden *g, psr_err *err)
{
    static const double dm[NDM] = {40, 47, 54};
    double freq_mhz[NCHAN];
    for (size_t c = 0; c < NCHAN; c++)
        freq_mhz[g->invert ? NCHAN - 1 - c : c] = 1376.0 + 4.0 * (double)(NCHAN - 1 - c);
    struct psr_dedisp_desc d = {
        .size = sizeof d,
        .nchan = NCHAN,
        .freq_mhz = freq_mhz,
        .tsamp_s = 256e-6,
        .nbit = g->nbit,
        .downsamp = g->downsamp,
        .dmconst = PSR_DMCONST_PRESTO,
        .ndm = NDM,
        .dm = dm,
        .algo = g->nsub < NCHAN ? PSR_DEDISP_SUBBAND : PSR_DEDISP_DIRECT,
        .nsub = g->nsub,
        .nthread = 2,
        .backend = "cpu",
    };
    return psr_dedisp_create(p, &d, err);
}

/* Largest relative difference from PRESTO's samples; huge where there are too few. */
static double compare(psr_dedisp *p, const struct golden *g, const unsigned char *in, size_t nsamp,
                      const unsigned char *dat)
{
    static float out[NDM * 40000];
    size_t n = psr_dedisp_ready(p, nsamp), got;
    psr_err err;
    if (n < g->ndat || n > 40000 || psr_dedisp_execute(p, in, nsamp, out, n, &got, &err))
        return HUGE_VAL;
    double worst = 0;
    for (size_t t = 0; t < g->ndat; t++) {
        float presto;
        memcpy(&presto, dat + 4 * t, 4);
        worst = fmax(worst, fabs(out[n + t] - presto) / fmax(fabs(presto), 1));
    }
    return worst;
}

/* PRESTO rounds each sub-band's mean over three samples, and this library the sum once. */
static void test_golden(const struct golden *g)
{
    static unsigned char in[FILE_MAX], dat[FILE_MAX];
    char name[64];
    psr_dedisp *p = NULL;
    psr_err err = {0};
    snprintf(name, sizeof name, "%s.dat", g->name);
    size_t nin = load(g->input, in), ndat = load(name, dat);
    bool ready = nin > HEADER_BYTES && ndat >= 4 * g->ndat && !make_plan(&p, g, &err);
    if (ok(ready, "%s: input, PRESTO's series, a plan", g->name)) {
        size_t nsamp = (nin - HEADER_BYTES) * 8 / (NCHAN * (size_t)g->nbit);
        double worst = compare(p, g, in + HEADER_BYTES, nsamp, dat);
        ok(worst <= (g->downsamp == 3 ? 2e-7 : 0), "%s: PRESTO's %zu samples", g->name, g->ndat);
        diag("%s: largest relative difference %g", g->name, worst);
    } else {
        diag("%zu and %zu bytes; %s", nin, ndat, err.msg);
    }
    psr_dedisp_destroy(p);
}

int main(void)
{
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++)
        test_golden(cases + n);
    return done_testing();
}
