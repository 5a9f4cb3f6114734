/* pipeline: the library's pipeline without the tool: a sink of the caller's against sums done plainly,
 * files, what a stop and a failure leave, and what a description may not say.  Compiled for each
 * backend. */
#include "tests/support/scratch.h"
#include "tests/support/sum_sink.h"
#include "tests/support/tap.h"
#include <psrkit/ddplan.h>
#include <psrkit/experimental/ffa.h>
#include <psrkit/experimental/fourier.h>
#include <psrkit/pipeline.h>
#include <psrkit/series.h>
#include <string.h>
#include <time.h>

#ifndef PIPELINE_DEVICE
#define PIPELINE_DEVICE "cpu"
#endif
enum { MAXCHAN = 40, MAXDM = 12, SHAPES = 25 };

/* Spectra of the caller's, of 8 bits. */
struct shape {
    struct psr_obs obs;
    size_t nsamp, ndm;
    double dm[MAXDM];
    unsigned char *data;
};

static void choose(struct shape *s, uint64_t *seed)
{
    memset(s, 0, sizeof *s);
    psr_obs_init(&s->obs);
    s->obs.nchan = (size_t)tap_between(seed, 1, MAXCHAN);
    s->obs.nif = 1;
    s->obs.nbit = 8;
    s->obs.kind = PSR_UINT;
    s->obs.tsamp_s = 1e-3;
    s->obs.fch1_mhz = 1400;
    s->obs.foff_mhz = tap_uniform(seed) < 0.5 ? 2.5 : -2.5;
    s->nsamp = (size_t)tap_between(seed, 150, 9000);
    s->ndm = (size_t)tap_between(seed, 1, MAXDM);
    for (size_t i = 0; i < s->ndm; i++)
        s->dm[i] = 300 * tap_uniform(seed);
    s->data = tap_take(s->nsamp, s->obs.nchan);
    for (size_t k = 0; k < s->nsamp * s->obs.nchan; k++)
        s->data[k] = (unsigned char)tap_random(seed);
}

static void describe(struct psr_pipeline_desc *d, const struct shape *s)
{
    psr_pipeline_defaults(d);
    d->obs = &s->obs;
    d->dm = s->dm;
    d->ndm = (int64_t)s->ndm;
    d->noclip = true;
    d->nobary = true;
    d->device = PIPELINE_DEVICE;
}

static int64_t delay(const struct shape *s, double dm, size_t c, size_t ds)
{
    return psr_delay_samples(PSR_DMCONST_PRESTO, dm, psr_obs_freq_mhz(&s->obs, c),
                             psr_obs_highest_mhz(&s->obs), (double)ds * s->obs.tsamp_s);
}

/* Delay of the lowest channel. */
static int64_t shift(const struct shape *s, double dm, size_t ds)
{
    int64_t most = 0;
    for (size_t c = 0; c < s->obs.nchan; c++)
        most = delay(s, dm, c, ds) > most ? delay(s, dm, c, ds) : most;
    return most;
}

/* How many samples trial i has: to its own end, or to that of the highest DM. */
static int64_t count_samples(const struct shape *s, size_t i, size_t ds, bool same_end)
{
    int64_t most = shift(s, s->dm[i], ds), have = (int64_t)(s->nsamp / ds);
    for (size_t k = 0; k < s->ndm && same_end; k++)
        most = shift(s, s->dm[k], ds) > most ? shift(s, s->dm[k], ds) : most;
    return have > most ? have - most : 0;
}

static double sum_trial(const struct shape *s, size_t i, size_t ds, int64_t nout)
{
    double sum = 0;
    for (size_t c = 0; c < s->obs.nchan; c++) {
        size_t first = (size_t)delay(s, s->dm[i], c, ds) * ds;
        for (size_t t = first; t < first + (size_t)nout * ds; t++)
            sum += s->data[t * s->obs.nchan + c];
    }
    return sum / (double)ds;
}

/* Pushes all spectra, in pieces of any length. */
static psr_status push_all(psr_pipeline *p, const struct shape *s, uint64_t *seed, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t t = 0, n; t < s->nsamp && !st; t += n) {
        n = (size_t)tap_between(seed, 1, 3000);
        n = n < s->nsamp - t ? n : s->nsamp - t;
        st = psr_pipeline_execute(p, s->data + t * s->obs.nchan, n, err);
    }
    return st;
}

/* --- a sink ----------------------------------------------------------------------------------- */

static bool sums_agree(const struct shape *s, size_t ds, bool same_end, const struct sum_sink *sums)
{
    bool same = sums && sums->finished && sums->n == s->ndm;
    for (size_t i = 0; same && i < s->ndm; i++) {
        int64_t n = count_samples(s, i, ds, same_end);
        double want = sum_trial(s, i, ds, n);
        if (sums->count[i] != n || sums->sum[i] != want) {
            diag("DM %g: %lld samples, sum %.17g; want %lld, %.17g", s->dm[i],
                 (long long)sums->count[i], sums->sum[i], (long long)n, want);
            same = false;
        }
    }
    return same;
}

static void test_sink(uint64_t *seed)
{
    static const struct psr_sink row[] = {{&sum_sink, NULL}};
    int agreed = 0, resident = 0;
    for (int k = 0; k < SHAPES; k++) {
        struct shape s;
        struct psr_pipeline_desc d;
        psr_pipeline *p = NULL;
        psr_err err = {0};
        choose(&s, seed);
        describe(&d, &s);
        d.downsamp = (int64_t)1 << tap_between(seed, 0, 2);
        d.sametail = k % 4 == 0;
        d.sink = row;
        d.nsink = 1;
        psr_status st = psr_pipeline_create(&p, &d, &err);
        if (!st)
            st = push_all(p, &s, seed, &err);
        if (!st)
            st = psr_pipeline_finish(p, &err);
        const struct sum_sink *sums = p ? psr_pipeline_result(p, "sums") : NULL;
        if (st)
            diag("%s", err.msg);
        agreed += !st && sums_agree(&s, (size_t)d.downsamp, d.sametail, sums);
        resident += sums && sums->on_devices > 0;
        psr_pipeline_destroy(p);
        free(s.data);
    }
    ok(agreed == SHAPES, "a sink of the caller's has the sums of %d of %d runs", agreed, SHAPES);
    ok(resident == (strcmp(PIPELINE_DEVICE, "cpu") ? SHAPES : 0),
       "series came on the device that made them in %d runs", resident);
}

/* A sink that takes its time, in milliseconds. */
static const struct {
    int push, finish;
} slow = {3, 40};

static int npush;

static void wait_ms(int ms)
{
    const struct timespec t = {0, ms * 1000000L};
    nanosleep(&t, NULL);
}

static psr_status slow_push(void *state, size_t line, const struct psr_block *b, psr_err *err)
{
    npush++;
    wait_ms(slow.push);
    return sum_sink_push(state, line, b, err);
}

static psr_status slow_finish(void *state, const struct psr_sink_end *end, psr_err *err)
{
    wait_ms(slow.finish);
    return sum_sink_finish(state, end, err);
}

/* Times are charged to the part that takes them. */
static void test_times(uint64_t *seed)
{
    struct psr_sink_ops ops = sum_sink;
    ops.push = slow_push;
    ops.push_device = NULL;
    ops.finish = slow_finish;
    const struct psr_sink row[] = {{&ops, NULL}};
    struct shape s;
    struct psr_pipeline_desc d;
    struct psr_pipeline_report r = {0};
    psr_pipeline *p = NULL;
    psr_err err;
    choose(&s, seed);
    describe(&d, &s);
    d.sink = row;
    d.nsink = 1;
    npush = 0;
    psr_status st = psr_pipeline_create(&p, &d, &err);
    if (!st)
        st = push_all(p, &s, seed, &err);
    if (!st)
        st = psr_pipeline_finish(p, &err);
    if (!st)
        psr_pipeline_describe(p, &r);
    const double slept_s = 1e-3 * (npush * slow.push + slow.finish);
    const double parts_s = r.read_s + r.clean_s + r.dedisperse_s + r.write_s + r.search_s;
    diag("%d pushes; reading %.4f, cleaning %.4f, dedispersion %.4f, writing %.4f, search %.4f of "
         "%.4f s",
         npush, r.read_s, r.clean_s, r.dedisperse_s, r.write_s, r.search_s, r.run_s);
    ok(!st && npush > 0 && r.search_s >= slept_s, "a sink is charged with what it takes, %.3f s",
       slept_s);
    ok(r.read_s >= 0 && r.clean_s >= 0 && r.write_s >= 0 && r.dedisperse_s > 0 &&
           r.dedisperse_s + r.write_s <= parts_s - slept_s && parts_s <= r.run_s + 1e-3,
       "and no other part is; all together take no longer than the run");
    psr_pipeline_destroy(p);
    free(s.data);
}

/* --- files ------------------------------------------------------------------------------------ */

static psr_status write_series(const struct shape *s, const char *root, uint64_t *seed, bool finish,
                               psr_err *err)
{
    struct psr_pipeline_desc d;
    psr_pipeline *p = NULL;
    describe(&d, s);
    d.root = root;
    d.files = PSR_FILES_DAT;
    d.nopad = true;
    psr_status st = psr_pipeline_create(&p, &d, err);
    if (!st)
        st = push_all(p, s, seed, err);
    if (!st && finish)
        st = psr_pipeline_finish(p, err);
    psr_pipeline_destroy(p);
    return st;
}

static void test_files(uint64_t *seed)
{
    struct shape s;
    psr_err err = {0};
    char root[PATH_MAX], path[PATH_MAX + 32];
    float *x = NULL;
    int64_t n = 0;
    double sum = 0;
    static struct psr_inf inf;
    choose(&s, seed);
    s.ndm = 2;
    s.dm[0] = 10;
    s.dm[1] = 20;
    snprintf(root, sizeof root, "%s", scratch("t"));
    ok(write_series(&s, root, seed, false, &err) == PSR_OK && scratch_count("") == 0,
       "a pipeline that is destroyed leaves nothing");
    ok(write_series(&s, root, seed, true, &err) == PSR_OK && scratch_count("") == 4,
       "one that finishes leaves a .dat and an .inf of each trial%s", err.msg);
    snprintf(path, sizeof path, "%s_DM20.00.dat", root);
    ok(psr_dat_read(path, &x, &n, &inf, &err) == PSR_OK && n == count_samples(&s, 1, 1, false),
       "which have the samples there are");
    for (int64_t t = 0; t < n; t++)
        sum += (double)x[t];
    ok(sum == sum_trial(&s, 1, 1, n), "and the right ones");
    free(x);
    free(s.data);
    scratch_empty();
}

static bool stop(void *ctx)
{
    int *left = ctx;
    return (*left)-- <= 0;
}

static void test_stop(uint64_t *seed)
{
    struct shape s;
    struct psr_pipeline_desc d;
    psr_pipeline *p = NULL;
    psr_err err = {0};
    int left = 0;
    char root[PATH_MAX];
    choose(&s, seed);
    snprintf(root, sizeof root, "%s", scratch("t"));
    describe(&d, &s);
    d.root = root;
    d.files = PSR_FILES_DAT;
    d.should_stop = stop;
    d.ctx = &left;
    psr_status st = psr_pipeline_create(&p, &d, &err);
    if (!st)
        st = push_all(p, &s, seed, &err);
    ok(st == PSR_OK && psr_pipeline_finish(p, &err) == PSR_ESTOPPED,
       "a caller who wants to stop is heeded");
    psr_pipeline_destroy(p);
    ok(scratch_count("") == 0, "and nothing is left");
    free(s.data);
    scratch_empty();
}

/* --- what is refused -------------------------------------------------------------------------- */

static void refused(const struct psr_pipeline_desc *d, const char *part)
{
    psr_pipeline *p;
    psr_err err = {0};
    psr_status st = psr_pipeline_create(&p, d, &err);
    ok(st == PSR_EINVAL && !p && strstr(err.msg, part), "refused: %s", err.msg);
    psr_pipeline_destroy(p);
}

static psr_status take_burst(void *ctx, const struct psr_burst *burst, psr_err *err)
{
    (void)ctx;
    (void)burst;
    (void)err;
    return PSR_OK;
}

static void test_refusals(uint64_t *seed)
{
    static const struct psr_sink_ops deaf = {.name = "deaf"};
    static const struct psr_sink sink[] = {{&deaf, NULL}};
    struct later {
        struct psr_pipeline_desc d;
        int64_t more;
    } later = {.more = 0};
    struct shape s;
    struct psr_pipeline_desc good, d;
    struct psr_sink_pulses_desc pulses;
    struct psr_sink_live_desc live = {.size = sizeof live};
    psr_sink_pulses_defaults(&pulses);
    choose(&s, seed);
    describe(&good, &s);
    good.checksums = true;
    d = good, d.size = 0, refused(&d, "size = 0 bytes");
    d = good, d.obs = NULL, refused(&d, "neither path nor obs");
    d = good, d.files = PSR_FILES_DAT, refused(&d, "root is missing");
    d = good, d.ndm = 0, refused(&d, "ndm = 0, must be 1 to 1000000");
    d = good, d.downsamp = 65537, refused(&d, "downsamp = 65537, must be 1 to 65536");
    d = good, d.start = 2, refused(&d, "start = 2, must be 0 to 1");
    d = good, d.scrunch = 0.01, refused(&d, "scrunch = 0.01, must be 0 or 0.1 to 100");
    d = good, d.scrunch = NAN, refused(&d, "scrunch = nan");
    d = good, d.scrunch = 1, d.plan = "plan", refused(&d, "not with plan");
    d = good, d.presto = true, refused(&d, "prepsubband has no checksums");
    d = good, d.files = PSR_FILES_SUBBANDS, d.root = "x",
    refused(&d, "at one DM: there is no checksums");
    d = good, d.resume = true, refused(&d, "not with no series");
    d = good, d.block_s = -1, refused(&d, "block_s = -1 s, must be 0 to 1e6 s");
    d = good, d.live = &live, refused(&d, "live.search is missing");
    live.search = &pulses, refused(&d, "nobody takes the pulses");
    live.burst = take_burst, refused(&d, "searched live, without checksums");
    d.checksums = d.nobary = false, refused(&d, "searched live, without barycentring");
    d.nobary = true, pulses.time_tol = -1, refused(&d, "time_tol of -1 samples");
    d.dump = ".", refused(&d, "ring_s = 0 s, must be above 0 with dump, and 0 without");
    d.ring_s = 0.1, refused(&d, "-ring 0.1 s: must be two blocks of 0.");
    d.ring_s = 1, d.block_s = 0.6, refused(&d, "-block 0.6 s: pulses are told after blocks of ");
    d = good, d.ring_s = 1, refused(&d, "ring_s, dump and drop_s need a live search");
    d = good, d.sink = sink, d.nsink = 1, refused(&d, "sink 0 has no name, begin, push or abort");
    later.d = good;
    later.d.size = sizeof later;
    later.more = 1;
    refused(&later.d, "of the description is not known to this library");
    later.more = 0;
    psr_pipeline *p;
    psr_err err = {0};
    ok(psr_pipeline_create(&p, &later.d, &err) == PSR_OK,
       "a longer description that says no more "
       "is fine%s",
       err.msg);
    psr_pipeline_destroy(p);
    free(s.data);
}

/* --- searches of whole series ------------------------------------------------------------------ */

/* Names and bytes of the files that a search has left. */
static uint64_t digest_files(int *nfile)
{
    uint64_t sum = UINT64_C(14695981039346656037);
    struct dirent **entry;
    const int n = scandir(scratch_dir, &entry, NULL, alphasort);
    *nfile = 0;
    for (int k = 0; k < n; k++) {
        const bool found = !strncmp(entry[k]->d_name, "found", 5);
        FILE *f = found ? fopen(scratch(entry[k]->d_name), "rb") : NULL;
        for (const char *c = entry[k]->d_name; f && *c; c++)
            sum = (sum ^ (unsigned char)*c) * UINT64_C(1099511628211);
        for (int c; f && (c = getc(f)) != EOF;)
            sum = (sum ^ (unsigned)c) * UINT64_C(1099511628211);
        *nfile += f != NULL;
        if (f)
            fclose(f);
        free(entry[k]);
    }
    free(entry);
    return sum;
}

static psr_status search_series(const struct shape *s, const char *devices, uint64_t *seed,
                                psr_err *err)
{
    struct psr_pipeline_desc d;
    struct psr_fourier_desc fourier;
    struct psr_ffasearch_desc ffa;
    psr_pipeline *p = NULL;
    describe(&d, s);
    psr_fourier_defaults(&fourier);
    psr_ffasearch_defaults(&ffa);
    fourier.zmax = 4;
    fourier.device = ffa.device = devices;
    d.root = scratch("found");
    d.files = PSR_FILES_NONE;
    d.fourier = &(struct psr_sink_fourier_desc){.size = sizeof *d.fourier, .search = &fourier};
    d.ffa = &(struct psr_sink_ffa_desc){.size = sizeof *d.ffa, .noinf = true, .search = &ffa};
    psr_status st = psr_pipeline_create(&p, &d, err);
    if (!st)
        st = push_all(p, s, seed, err);
    if (!st)
        st = psr_pipeline_finish(p, err);
    psr_pipeline_destroy(p);
    return st;
}

/* The processor stands for many devices. */
static void test_searches(uint64_t *seed)
{
    static const char *const devices[] = {"cpu", "cpu,cpu", "cpu,cpu,cpu"};
    struct shape s;
    psr_err err = {.msg = ""};
    uint64_t sum[3];
    int nfile[3];
    choose(&s, seed);
    free(s.data);
    s.obs.tsamp_s = 1e-2;
    s.nsamp = 8192;
    s.ndm = MAXDM;
    for (size_t i = 0; i < s.ndm; i++)
        s.dm[i] = 10 * (double)i;
    s.data = tap_take(s.nsamp, s.obs.nchan);
    for (size_t k = 0; k < s.nsamp * s.obs.nchan; k++)
        s.data[k] = (unsigned char)(tap_random(seed) % 200 + (k / s.obs.nchan % 321 < 20) * 50);
    ok(search_series(&s, "cpu,abacus", seed, &err) == PSR_EDEVICE, "a device is missing: %s",
       err.msg);
    (void)digest_files(nfile);
    ok(*nfile == 0, "no file is left");
    *err.msg = '\0';
    for (int k = 0; k < 3; k++) {
        ok(search_series(&s, devices[k], seed, &err) == PSR_OK, "-device %s %s", devices[k],
           err.msg);
        sum[k] = digest_files(&nfile[k]);
        ok(sum[k] == sum[0] && nfile[k] == nfile[0] && nfile[k] > 2 * MAXDM, "%d files, the same",
           nfile[k]);
    }
    free(s.data);
    psr_obs_clear(&s.obs);
}

int main(void)
{
    uint64_t seed = tap_seed();
    psr_err why;
    scratch_make();
    if (strcmp(PIPELINE_DEVICE, "cpu") && !psr_device_count(&why)) {
        skip("a pipeline on a device", why.msg);
        return done_testing();
    }
    test_sink(&seed);
    test_times(&seed);
    test_files(&seed);
    test_stop(&seed);
    test_refusals(&seed);
    test_searches(&seed);
    return done_testing();
}
