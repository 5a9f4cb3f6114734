/* limits: of every number of the large descriptions, the last value that is allowed and the first that
 * is not; and of a pipeline every pair of fields that exclude each other. */
#include "run/beamform/beamformer_state.h"
#include "run/dedisperse/pipeline_state.h"
#include "search/dedisp/dedisp_internal.h"
#include "search/matched/accel_plan.h"
#include "search/pulscan/pulscan_internal.h"

#include "tests/support/tap.h"
#include <psrkit/ddplan.h>
#include <string.h>

static psr_status take_pipeline(const struct psr_pipeline_desc *d, psr_err *err)
{
    struct psr_pipeline_desc to;
    struct psr_pipeline_searches searches;
    return psr_pipeline_take_desc(&to, &searches, d, err);
}

static psr_status take_beamformer(const struct psr_beamformer_desc *d, psr_err *err)
{
    struct psr_beamformer_desc to;
    return psr_beamformer_take_desc(&to, d, err);
}

/* The field may be "in", and may not be "out". */
#define LIMIT(check, good, field, in, out)                                                         \
    do {                                                                                           \
        psr_err why_ = {.msg = ""};                                                                \
        __typeof__(good) d_ = good;                                                                \
        d_.field = in;                                                                             \
        psr_status inside_ = check(&d_, &why_);                                                    \
        if (inside_)                                                                               \
            diag("%s", why_.msg);                                                                  \
        d_.field = out;                                                                            \
        psr_status outside_ = check(&d_, &why_);                                                   \
        ok(!inside_ && outside_ == PSR_EINVAL && why_.msg[0],                                      \
           #check ": " #field " may be " #in ", not " #out);                                       \
    } while (0)

static void test_pulscan(void)
{
    static const int upto4[] = {1, 2, 3, 4}, upto32[] = {1, 32}, to33[] = {1, 33}, twice[] = {2, 2};
    static const struct psr_span none[] = {{3, 0}}, negative[] = {{3, -1}};
    struct psr_pulscan_desc good = {.nbin = 1 << 18, .nharm = upto4, .nnharm = 4};
    struct psr_pulscan_desc compat = good, zapped = good, redden = good;
    compat.compat = true;
    compat.zmax = 10;
    compat.zap = none;
    zapped.nzap = 1;
    zapped.zap = none;
    redden.redden = (struct psr_redden){6, 100, 1000, false, false};
    LIMIT(psr_pulscan_check, good, nbin, 16, 15);
    LIMIT(psr_pulscan_check, good, nbin, (size_t)1 << 40, ((size_t)1 << 40) + 1);
    LIMIT(psr_pulscan_check, good, batch, 1 << 16, (1 << 16) + 1);
    LIMIT(psr_pulscan_check, redden, redden.start, 2, 1);
    LIMIT(psr_pulscan_check, redden, redden.start, 0, -1);
    LIMIT(psr_pulscan_check, redden, redden.end, 6, 5);
    LIMIT(psr_pulscan_check, good, nthread, 4096, 4097);
    LIMIT(psr_pulscan_check, good, nthread, 0, -1);
    LIMIT(psr_pulscan_check, good, mem_bytes, 0, -1);
    LIMIT(psr_pulscan_check, good, zmax, 0, -1);
    LIMIT(psr_pulscan_check, compat, zmax, 1, 0);
    LIMIT(psr_pulscan_check, good, zmax, 65535, 65536);
    LIMIT(psr_pulscan_check, good, zstep, 0, -1);
    LIMIT(psr_pulscan_check, good, zstep, 65535, 65536);
    LIMIT(psr_pulscan_check, good, block, (size_t)1 << 40, ((size_t)1 << 40) + 1);
    LIMIT(psr_pulscan_check, good, normblock, 0, 1);
    LIMIT(psr_pulscan_check, good, normblock, 16, 15);
    LIMIT(psr_pulscan_check, good, normblock, 1 << 30, (1 << 30) + 1);
    LIMIT(psr_pulscan_check, good, nnharm, 1, 0);
    LIMIT(psr_pulscan_check, good, nnharm, 4, 33);
    struct psr_pulscan_desc two = good;
    two.nnharm = 2;
    LIMIT(psr_pulscan_check, two, nharm, upto32, to33);
    LIMIT(psr_pulscan_check, two, nharm, upto4, twice);
    LIMIT(psr_pulscan_check, good, rlo, 0, -1);
    LIMIT(psr_pulscan_check, good, rlo, (1 << 18) - 1, 1 << 18);
    LIMIT(psr_pulscan_check, good, rhi, 0, -1);
    struct psr_pulscan_desc from = good;
    from.rlo = 100;
    LIMIT(psr_pulscan_check, from, rhi, 100, 99);
    LIMIT(psr_pulscan_check, zapped, zap, none, negative);
    LIMIT(psr_pulscan_check, compat, nzap, 0, 1);
    LIMIT(psr_pulscan_check, compat, rlo, 1, 2);
    LIMIT(psr_pulscan_check, compat, rhi, 0, 1);
    LIMIT(psr_pulscan_check, compat, series, false, true);
    LIMIT(psr_pulscan_check, compat, ntrials, 0, 1);
    LIMIT(psr_pulscan_check, good, sigma, 1e4, 1.0001e4);
    LIMIT(psr_pulscan_check, good, sigma, -1e4, -1.0001e4);
    LIMIT(psr_pulscan_check, good, ntrials, 1e300, 1.1e300);
    LIMIT(psr_pulscan_check, good, ntrials, 0, -1e-9);
    LIMIT(psr_pulscan_check, good, significance, PSR_PULSCAN_POLY,
          (enum psr_pulscan_significance)2);
    struct psr_pulscan_desc few = good;
    few.nbin = 100;
    LIMIT(psr_pulscan_check, few, zmax, 49, 50);
}

static void test_accelsearch(void)
{
    static const struct psr_span none[] = {{3, 0}}, negative[] = {{3, -1}};
    struct psr_accelsearch_desc good = {.nbin = 1000, .numharm = 1};
    struct psr_accelsearch_desc zapped = good, compat = good, from = good;
    zapped.nzap = 1;
    zapped.zap = none;
    compat.compat = true;
    compat.zap = none;
    from.rlo = 100;
    LIMIT(psr_accelsearch_check, good, zmax, 1200, 1201);
    LIMIT(psr_accelsearch_check, good, zmax, 0, -1);
    LIMIT(psr_accelsearch_check, good, wmax, 4000, 4001);
    LIMIT(psr_accelsearch_check, good, wmax, 0, -1);
    LIMIT(psr_accelsearch_check, good, numharm, 1, 0);
    LIMIT(psr_accelsearch_check, good, numharm, 32, 64);
    LIMIT(psr_accelsearch_check, good, numharm, 16, 24);
    LIMIT(psr_accelsearch_check, good, nbin, 16, 15);
    LIMIT(psr_accelsearch_check, good, nbin, (size_t)1 << 40, ((size_t)1 << 40) + 1);
    LIMIT(psr_accelsearch_check, good, rlo, 0, -0.1);
    LIMIT(psr_accelsearch_check, good, rlo, 999, 999.1);
    LIMIT(psr_accelsearch_check, good, rhi, 0, -0.1);
    LIMIT(psr_accelsearch_check, from, rhi, 100, 99.9);
    LIMIT(psr_accelsearch_check, zapped, zap, none, negative);
    LIMIT(psr_accelsearch_check, compat, nzap, 0, 1);
    LIMIT(psr_accelsearch_check, good, sigma, 0, -0.1);
    LIMIT(psr_accelsearch_check, good, sigma, 1e4, 1.0001e4);
    LIMIT(psr_accelsearch_check, good, norm, PSR_ACCELSEARCH_PHOTON, (enum psr_accelsearch_norm)3);
    LIMIT(psr_accelsearch_check, good, norm, PSR_ACCELSEARCH_LOCAL, (enum psr_accelsearch_norm)4);
    LIMIT(psr_accelsearch_check, good, nthread, 0, -1);
    LIMIT(psr_accelsearch_check, good, nthread, 4096, 4097);
    LIMIT(psr_accelsearch_check, good, mem_bytes, 0, -1);
}

static void test_dedisp(void)
{
    enum { NCHAN = 1 << 20 };
    static const double dm[] = {0, 10}, below[] = {0, -0.1}, endless[] = {0, INFINITY};
    static double freq_mhz[NCHAN + 1];
    static const double zero[] = {1400, 1400, 0}, turned[] = {1400, 1390, 1395};
    for (int c = 0; c <= NCHAN; c++)
        freq_mhz[c] = 1400 - 1e-4 * c;
    struct psr_dedisp_desc good = {.nchan = 6,
                                   .nbit = 8,
                                   .kind = PSR_UINT,
                                   .tsamp_s = 1e-3,
                                   .dmconst = PSR_DMCONST_PRESTO,
                                   .downsamp = 1,
                                   .freq_mhz = freq_mhz,
                                   .ndm = 2,
                                   .dm = dm,
                                   .algo = PSR_DEDISP_DIRECT};
    struct psr_dedisp_desc three = good, sub = good;
    three.nchan = 3;
    sub.algo = PSR_DEDISP_SUBBAND;
    sub.nsub = 2;
    LIMIT(psr_dedisp_check, good, nchan, 1, 0);
    LIMIT(psr_dedisp_check, good, nchan, NCHAN, NCHAN + 1);
    LIMIT(psr_dedisp_check, good, nbit, 16, 7);
    LIMIT(psr_dedisp_check, good, tsamp_s, 1e-9, 0);
    LIMIT(psr_dedisp_check, good, tsamp_s, 10, INFINITY);
    LIMIT(psr_dedisp_check, good, dmconst, 1, 0);
    LIMIT(psr_dedisp_check, good, dmconst, 4e3, INFINITY);
    LIMIT(psr_dedisp_check, good, downsamp, 1, 0);
    LIMIT(psr_dedisp_check, good, downsamp, 65536, 65537);
    LIMIT(psr_dedisp_check, three, freq_mhz, freq_mhz, zero);
    LIMIT(psr_dedisp_check, good, ndm, 1, 0);
    LIMIT(psr_dedisp_check, good, ndm, 2, (1 << 24) + 1);
    LIMIT(psr_dedisp_check, good, dm, dm, below);
    LIMIT(psr_dedisp_check, good, dm, dm, endless);
    LIMIT(psr_dedisp_check, good, tol, 0, -1);
    LIMIT(psr_dedisp_check, good, tol, 1, 2);
    LIMIT(psr_dedisp_check, good, nthread, 0, -1);
    LIMIT(psr_dedisp_check, good, nthread, 4096, 4097);
    LIMIT(psr_dedisp_check, good, ndevice, 1024, 1025);
    LIMIT(psr_dedisp_check, good, mem_bytes, 0, -1);
    LIMIT(psr_dedisp_check, sub, algo, PSR_DEDISP_DIRECT, (enum psr_dedisp_algo)7);
    LIMIT(psr_dedisp_check, sub, nsub, 1, 0);
    LIMIT(psr_dedisp_check, sub, nsub, 6, 4);
    sub.nchan = 3;
    sub.nsub = 1;
    LIMIT(psr_dedisp_check, sub, freq_mhz, freq_mhz, turned);
    sub.freq_mhz = freq_mhz + 1;
    LIMIT(psr_dedisp_check, sub, nchan, 3, 0);
}

static void test_beamformer(void)
{
    static const char *const paths[] = {"v.dada"};
    struct psr_beamformer_desc good;
    psr_beamformer_defaults(&good);
    good.path = paths;
    good.npath = 1;
    good.array = "a";
    good.root = "r";
    good.grid = true;
    good.nbits = 8;
    LIMIT(take_beamformer, good, beam, -1, -2);
    LIMIT(take_beamformer, good, beam, 1 << 20, (1 << 20) + 1);
    LIMIT(take_beamformer, good, tds, 0, -1);
    LIMIT(take_beamformer, good, tds, 1 << 20, (1 << 20) + 1);
    LIMIT(take_beamformer, good, nthread, 0, -1);
    LIMIT(take_beamformer, good, nthread, 4096, 4097);
    LIMIT(take_beamformer, good, mem_bytes, 0, -1);
    LIMIT(take_beamformer, good, cadence_s, 1e-9, 0);
    LIMIT(take_beamformer, good, cadence_s, 1e9, NAN);
    LIMIT(take_beamformer, good, nbits, 4, 5);
    LIMIT(take_beamformer, good, nbits, 8, 16);
    LIMIT(take_beamformer, good, nbits, 32, 33);
    LIMIT(take_beamformer, good, npath, 1, 0);
    LIMIT(take_beamformer, good, array, "b", NULL);
    LIMIT(take_beamformer, good, root, "b", NULL);
    LIMIT(take_beamformer, good, device, "cpu", NULL);
    LIMIT(take_beamformer, good, grid, true, false);
    LIMIT(take_beamformer, good, beams, NULL, "b");
    struct psr_beamformer_desc piped = good, scaled = good;
    piped.root = "-";
    piped.beam = 0;
    scaled.scale = "s";
    LIMIT(take_beamformer, piped, beam, 0, -1);
    LIMIT(take_beamformer, scaled, nbits, 4, 32);
}

/* --- the pipeline ----------------------------------------------------------------------------- */

static struct psr_pipeline_desc make_pipeline(void)
{
    static const char *const paths[] = {"f.fil"};
    struct psr_pipeline_desc d;
    psr_pipeline_defaults(&d);
    d.path = paths;
    d.npath = 1;
    d.root = "r";
    return d;
}

static void test_pipeline(void)
{
    static struct psr_obs obs;
    struct psr_pipeline_desc good = make_pipeline();
    LIMIT(take_pipeline, good, ndm, 1, 0);
    LIMIT(take_pipeline, good, ndm, PSR_PIPELINE_NDM, PSR_PIPELINE_NDM + 1);
    LIMIT(take_pipeline, good, downsamp, 1, 0);
    LIMIT(take_pipeline, good, downsamp, 65536, 65537);
    LIMIT(take_pipeline, good, nsub, 0, -1);
    LIMIT(take_pipeline, good, nsub, 1 << 20, (1 << 20) + 1);
    LIMIT(take_pipeline, good, offset, 0, -1);
    LIMIT(take_pipeline, good, numout, 0, -1);
    LIMIT(take_pipeline, good, dm_decimals, 2, 1);
    LIMIT(take_pipeline, good, dm_decimals, 4, 5);
    LIMIT(take_pipeline, good, nthread, 0, -1);
    LIMIT(take_pipeline, good, nthread, 4096, 4097);
    LIMIT(take_pipeline, good, mem_bytes, 0, -1);
    LIMIT(take_pipeline, good, start, 0, -0.01);
    LIMIT(take_pipeline, good, start, 1, 1.01);
    LIMIT(take_pipeline, good, clip_sigma, 0, -0.01);
    LIMIT(take_pipeline, good, npath, 1, 0);
    struct psr_pipeline_desc own = good;
    own.npath = 0;
    own.obs = &obs;
    LIMIT(take_pipeline, own, obs, &obs, NULL);
    struct psr_sink_pulses_desc found;
    psr_sink_pulses_defaults(&found);
    struct psr_pipeline_desc series = good, pulses = good, subbands = good, neither = good;
    series.files = PSR_FILES_DAT, subbands.files = PSR_FILES_SUBBANDS;
    pulses.pulses = &found;
    subbands.ndm = 1;
    LIMIT(take_pipeline, series, root, "r", NULL);
    LIMIT(take_pipeline, pulses, root, "r", NULL);
    LIMIT(take_pipeline, subbands, root, "r", NULL);
    neither.root = NULL;
    LIMIT(take_pipeline, neither, files, PSR_FILES_NONE, PSR_FILES_DAT);
    series.root = pulses.root = "-";
    LIMIT(take_pipeline, series, pulses, NULL, &found);
    LIMIT(take_pipeline, pulses, files, PSR_FILES_NONE, PSR_FILES_DAT);
    LIMIT(take_pipeline, subbands, root, "r", "-");
}

static psr_status begin(void **s, const void *d, const struct psr_sink_stream *stream, psr_err *err)
{
    (void)s, (void)d, (void)stream, (void)err;
    return PSR_OK;
}

static psr_status push(void *s, size_t line, const struct psr_block *series, psr_err *err)
{
    (void)s, (void)line, (void)series, (void)err;
    return PSR_OK;
}

static void stop(void *s)
{
    (void)s;
}

static void test_sinks(void)
{
    static const struct psr_sink_ops whole = {
        .name = "n", .begin = begin, .push = push, .abort = stop};
    struct psr_sink_ops some = whole;
    struct psr_sink row = {&some, NULL};
    struct psr_pipeline_desc d = make_pipeline();
    psr_err err;
    d.sink = &row;
    d.nsink = 1;
    ok(take_pipeline(&d, &err) == PSR_OK, "a sink that has all it needs");
    some.name = NULL;
    ok(take_pipeline(&d, &err) == PSR_EINVAL, "not without a name");
    some = whole, some.begin = NULL;
    ok(take_pipeline(&d, &err) == PSR_EINVAL, "nor begin");
    some = whole, some.push = NULL;
    ok(take_pipeline(&d, &err) == PSR_EINVAL, "nor push");
    some = whole, some.abort = NULL;
    ok(take_pipeline(&d, &err) == PSR_EINVAL, "nor abort");
    row.ops = NULL;
    ok(take_pipeline(&d, &err) == PSR_EINVAL, "nor nothing at all");
}

static void test_conflicts(void)
{
    static const struct psr_sink_ops whole = {
        .name = "n", .begin = begin, .push = push, .abort = stop};
    static const struct psr_sink row[] = {{&whole, NULL}};
    static struct psr_obs obs;
    struct psr_pipeline_desc presto = make_pipeline(), subbands = presto, resume = presto;
    struct psr_sink_pulses_desc found;
    psr_sink_pulses_defaults(&found);
    presto.presto = resume.resume = true;
    presto.files = resume.files = PSR_FILES_DAT;
    subbands.files = PSR_FILES_SUBBANDS;
    subbands.ndm = 1;
    resume.obs = &obs;
    LIMIT(take_pipeline, presto, algo, PSR_DEDISP_DIRECT, PSR_DEDISP_SUBBAND);
    LIMIT(take_pipeline, presto, dms, NULL, "l");
    LIMIT(take_pipeline, presto, files, PSR_FILES_DAT, PSR_FILES_TIM);
    LIMIT(take_pipeline, presto, nopad, false, true);
    LIMIT(take_pipeline, presto, pulses, NULL, &found);
    LIMIT(take_pipeline, presto, checksums, false, true);
    LIMIT(take_pipeline, presto, tol, 0, 1);
    LIMIT(take_pipeline, subbands, plan, NULL, "p");
    LIMIT(take_pipeline, subbands, dms, NULL, "l");
    LIMIT(take_pipeline, subbands, checksums, false, true);
    LIMIT(take_pipeline, subbands, pulses, NULL, &found);
    LIMIT(take_pipeline, subbands, ndm, 1, 2);
    subbands.sink = resume.sink = row;
    LIMIT(take_pipeline, subbands, nsink, 0, 1);
    LIMIT(take_pipeline, resume, nsink, 0, 1);
    LIMIT(take_pipeline, resume, presto, false, true);
    LIMIT(take_pipeline, resume, files, PSR_FILES_DAT, PSR_FILES_TIM);
    LIMIT(take_pipeline, resume, files, PSR_FILES_DAT, PSR_FILES_NONE);
    LIMIT(take_pipeline, resume, files, PSR_FILES_DAT, PSR_FILES_SUBBANDS);
    LIMIT(take_pipeline, resume, pulses, NULL, &found);
    LIMIT(take_pipeline, resume, checksums, false, true);
    LIMIT(take_pipeline, resume, npath, 1, 0);
    LIMIT(take_pipeline, resume, root, "r", "-");
}

int main(void)
{
    test_pulscan();
    test_accelsearch();
    test_dedisp();
    test_beamformer();
    test_pipeline();
    test_sinks();
    test_conflicts();
    return done_testing();
}
