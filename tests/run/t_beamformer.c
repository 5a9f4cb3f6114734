/* beamformer: the library's beamformer without the tool: its files against a plan that is given the
 * same voltages at once, what a stop leaves, and what a description may not say. */
#include "beam/beam_internal.h"
#include "formats/spectra/spectra_reader.h"
#include "tests/support/scratch.h"
#include "tests/support/tap.h"
#include <psrkit/experimental/beam.h>
#include <psrkit/experimental/dada.h>
#include <psrkit/experimental/source.h>
#include <string.h>

enum { NDISH = 5, NCHAN = 4, NSAMP = 700, TDS = 3, NBEAM = 24 };

static const char array_text[] = "grid 3 2\nspacing 8 6\ndish 0 0 0\ndish 1 0 1\ndish 2 1 1\n"
                                 "dish 3 2 0\ndish 4 none\n";

struct voltages {
    char path[PATH_MAX], array[PATH_MAX], root[PATH_MAX];
    const char *paths[1];
    uint8_t *in;
    size_t bytes;
};

static void make(struct voltages *v, uint64_t *seed)
{
    struct psr_dada h = {.nchan = NCHAN,
                         .nant = NDISH,
                         .freq_mhz = 500,
                         .bw_mhz = -40,
                         .tsamp_us = 100,
                         .phase_sign = -1,
                         .header_bytes = 4096};
    psr_outfile *f = NULL;
    psr_err err = {0};
    snprintf(v->path, sizeof v->path, "%s", scratch("v.dada"));
    snprintf(v->array, sizeof v->array, "%s", scratch("a.array"));
    snprintf(v->root, sizeof v->root, "%s", scratch("x"));
    v->paths[0] = v->path;
    v->bytes = NSAMP * psr_dada_sample_bytes(&h);
    v->in = tap_take(v->bytes, 1);
    for (size_t i = 0; i < v->bytes; i++)
        v->in[i] = (uint8_t)tap_random(seed);
    scratch_write_text(v->array, array_text);
    psr_status st = psr_outfile_create(&f, v->path, &err);
    if (!st)
        st = psr_dada_write(f, &h, &err);
    if (!st)
        st = psr_outfile_write(f, v->in, v->bytes, &err);
    if (st || psr_outfile_commit(f, &err)) {
        printf("Bail out! %s\n", err.msg);
        exit(EXIT_FAILURE);
    }
}

static void describe(struct psr_beamformer_desc *d, const struct voltages *v)
{
    psr_beamformer_defaults(d);
    d->path = v->paths;
    d->npath = 1;
    d->array = v->array;
    d->grid = true;
    d->root = v->root;
    d->nbits = 32;
    d->tds = TDS;
    d->device = "cpu";
    d->nthread = 2;
}

/* What a plan makes of all voltages at once: [NBEAM][rows][NCHAN]. */
static float *form_at_once(const struct voltages *v, psr_err *err)
{
    const size_t nrow = NSAMP / TDS, tds[NCHAN] = {TDS, TDS, TDS, TDS};
    float *out = tap_take(NBEAM * nrow * NCHAN, sizeof *out);
    struct psr_array a;
    psr_beam *p = NULL;
    size_t n = 0;
    psr_status st = psr_array_read(&a, v->array, err);
    const struct psr_beam_desc d = {.size = sizeof d,
                                    .array = &a,
                                    .nfreq = NCHAN,
                                    .tds = tds,
                                    .pattern = PSR_BEAM_GRID,
                                    .nthread = 1,
                                    .backend = "cpu"};
    if (!st)
        st = psr_beam_create(&p, &d, err);
    if (!st)
        st = psr_beam_execute(p, v->in, NSAMP, out, nrow, &n, err);
    psr_beam_destroy(p);
    psr_array_clear(&a);
    if (st || n != nrow)
        diag("%s", err->msg);
    return out;
}

static bool beam_is(const struct voltages *v, size_t b, const float *want)
{
    const size_t bytes = NSAMP / TDS * NCHAN * sizeof *want;
    char path[PATH_MAX + 32];
    struct psr_obs obs = {0};
    size_t n = 0, header = 0;
    bool more, fine = false;
    psr_err err;
    snprintf(path, sizeof path, "%s_beam%04zu.fil", v->root, b);
    char *text = scratch_read(path, &n);
    if (text && !psr_sigproc_parse(&obs, &header, &more, text, n, path, NULL, &err))
        fine = n == header + bytes && !memcmp(text + header, want, bytes) &&
               obs.ibeam == (int)b + 1 && obs.nbeam == NBEAM && obs.nchan == NCHAN;
    psr_obs_clear(&obs);
    free(text);
    return fine;
}

static psr_status run(const struct psr_beamformer_desc *d, struct psr_beamformer_report *report,
                      psr_err *err)
{
    psr_beamformer *p = NULL;
    psr_status st = psr_beamformer_create(&p, d, err);
    if (!st)
        st = psr_beamformer_run(p, err);
    if (!st)
        st = psr_beamformer_finish(p, err);
    if (!st && report)
        psr_beamformer_describe(p, report);
    psr_beamformer_destroy(p);
    return st;
}

static void test_files(const struct voltages *v, int64_t mem_bytes)
{
    struct psr_beamformer_desc d;
    struct psr_beamformer_report report = {0};
    psr_err err = {0};
    size_t right = 0;
    float *want = form_at_once(v, &err);
    describe(&d, v);
    d.mem_bytes = mem_bytes;
    psr_status st = run(&d, &report, &err);
    for (size_t b = 0; b < NBEAM; b++)
        right += beam_is(v, b, want + b * (NSAMP / TDS) * NCHAN);
    if (!ok(!st && right == NBEAM, "files hold what a plan makes of all at once"))
        diag("%zu of %d: %s", right, NBEAM, err.msg);
    ok(report.nread == NSAMP && report.nrow == NSAMP / TDS && report.nbeam == NBEAM &&
           report.shortest == TDS && report.longest == TDS,
       "and the report says so");
    free(want);
}

/* --- what ends it ----------------------------------------------------------------------------- */

static bool stop(void *ctx)
{
    (void)ctx;
    return true;
}

static void test_stop(const struct voltages *v)
{
    struct psr_beamformer_desc d;
    psr_err err = {0};
    const int before = scratch_count("");
    describe(&d, v);
    d.root = scratch("y");
    d.should_stop = stop;
    ok(run(&d, NULL, &err) == PSR_ESTOPPED, "a caller who wants to stop is heeded");
    ok(scratch_count("") == before, "and nothing is left");
}

static void test_unfinished(const struct voltages *v)
{
    struct psr_beamformer_desc d;
    psr_beamformer *p = NULL;
    psr_err err = {0};
    const int before = scratch_count("");
    describe(&d, v);
    d.root = scratch("z");
    d.nbits = 4; /* scales are being measured when it ends */
    psr_status st = psr_beamformer_create(&p, &d, &err);
    psr_beamformer_destroy(p);
    ok(!st && scratch_count("") == before, "one that never ran leaves nothing");
    st = psr_beamformer_create(&p, &d, &err);
    if (!st)
        st = psr_beamformer_run(p, &err);
    psr_beamformer_destroy(p);
    ok(!st && scratch_count("") == before, "nor does one that never finished");
}

static void refused_as(const struct psr_beamformer_desc *d, psr_status status, const char *part)
{
    psr_beamformer *p;
    psr_err err = {0};
    psr_status st = psr_beamformer_create(&p, d, &err);
    ok(st == status && !p && strstr(err.msg, part), "refused: %s", err.msg);
    psr_beamformer_destroy(p);
}

static void refused(const struct psr_beamformer_desc *d, const char *part)
{
    refused_as(d, PSR_EINVAL, part);
}

static void test_refusals(const struct voltages *v)
{
    struct psr_beamformer_desc d;
#define REFUSED(change, part)                                                                      \
    do {                                                                                           \
        describe(&d, v);                                                                           \
        change;                                                                                    \
        refused(&d, part);                                                                         \
    } while (0)
    REFUSED(d.size = 0, "size = 0");
    REFUSED(d.npath = 0, "path is missing");
    REFUSED(d.array = NULL, "array is missing");
    REFUSED(d.root = NULL, "root is missing");
    REFUSED(d.grid = false, "either beams or grid");
    REFUSED(d.beams = "b", "either beams or grid");
    REFUSED(d.root = "-", "standard output takes one beam");
    REFUSED(d.scale = "s", "scale is for 4 and 8 bits");
    REFUSED(d.nbits = 16, "nbits = 16, must be 4, 8 or 32");
    REFUSED(d.beam = -2, "beam = -2, must be -1 to");
    REFUSED(d.beam = NBEAM, "there are beams 0 to 23");
    REFUSED(d.tds = -1, "tds = -1");
    describe(&d, v);
    d.tds = NSAMP + 1;
    refused_as(&d, PSR_EUNSUPPORTED, "holds 700 samples, fewer than the 701");
    REFUSED(d.nthread = -1, "nthread = -1");
    REFUSED(d.mem_bytes = -1, "mem_bytes = -1");
    REFUSED(d.cadence_s = 0, "cadence_s = 0");
    REFUSED(d.device = "2000", "2000");
}

int main(void)
{
    uint64_t seed = tap_seed();
    static struct voltages v;
    scratch_make();
    make(&v, &seed);
    test_files(&v, 0);
    test_files(&v, 1 << 20);
    test_stop(&v);
    test_unfinished(&v);
    test_refusals(&v);
    free(v.in);
    return done_testing();
}
