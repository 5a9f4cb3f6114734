/* Pipelines of many beams: each makes what it makes alone, whether they share a plan or not; which beams
 * share; and their state.  Compiled for each backend. */
#include "tests/support/tap.h"

#include "tests/support/sum_sink.h"

#include <psrkit/pipeline.h>
#include <string.h>

#ifndef PIPELINE_DEVICE
#define PIPELINE_DEVICE "cpu"
#endif
enum { MAXBEAM = 4, MAXCHAN = 90, MAXDM = 60, SHAPES = 60 };

struct shape {
    struct psr_obs obs[MAXBEAM];
    double dm[MAXDM];
    char ignored[16];
    size_t nbeam, nsamp[MAXBEAM];
    unsigned char *data[MAXBEAM];
    size_t row_bytes;
    struct psr_pipeline_desc d;
    bool shares; /* what should come of it */
};

/* --- shapes ----------------------------------------------------------------------------------- */

static void choose_obs(struct psr_obs *obs, uint64_t *seed)
{
    static const int bits[] = {1, 2, 4, 8, 16};
    psr_obs_init(obs);
    obs->nchan = (size_t)tap_between(seed, 8, MAXCHAN);
    obs->nif = 1;
    obs->nbit = bits[tap_between(seed, 0, 4)];
    obs->kind = PSR_UINT;
    obs->tsamp_s = 1e-3;
    obs->fch1_mhz = 700;
    obs->foff_mhz = tap_uniform(seed) < 0.5 ? 2 : -2;
    obs->nsamp = -1;
}

static void choose_trials(struct shape *s, uint64_t *seed)
{
    s->d.ndm = tap_between(seed, 1, MAXDM);
    double step = 3 * tap_uniform(seed);
    bool falls = tap_uniform(seed) < 0.15 && s->d.ndm > 1;
    for (int64_t i = 0; i < s->d.ndm; i++)
        s->dm[falls ? s->d.ndm - 1 - i : i] = step * (double)i;
    s->shares &= !falls;
    s->d.dm = s->dm;
    s->d.downsamp = tap_between(seed, 1, 3);
    s->d.scrunch = tap_uniform(seed) < 0.5 ? 0.3 + tap_uniform(seed) : 0;
}

/* What keeps beams from sharing, now and then. */
static void choose_method(struct shape *s, uint64_t *seed)
{
    s->d.algo = tap_uniform(seed) < 0.9 ? PSR_DEDISP_TREE : PSR_DEDISP_DIRECT;
    s->d.smear = 1.02 + tap_uniform(seed);
    if (tap_uniform(seed) < 0.3) {
        snprintf(s->ignored, sizeof s->ignored, "1,3:5");
        s->d.ignorechan = s->ignored;
    }
    if (tap_uniform(seed) < 0.1 && s->nbeam > 1) {
        s->obs[s->nbeam - 1].tsamp_s *= 1.001;
        s->shares = false;
    }
    s->shares &= s->d.algo == PSR_DEDISP_TREE && s->nbeam > 1;
}

static void choose(struct shape *s, uint64_t *seed)
{
    memset(s, 0, sizeof *s);
    psr_pipeline_defaults(&s->d);
    s->d.nobary = true;
    s->d.noclip = tap_uniform(seed) < 0.5;
    s->d.device = PIPELINE_DEVICE;
    s->d.checksums = true;
    s->d.block_s = tap_uniform(seed) < 0.7 ? 0.02 + 0.3 * tap_uniform(seed) : 0;
    s->d.nthread = tap_between(seed, 1, 3);
    s->shares = true;
    s->nbeam = (size_t)tap_between(seed, 1, MAXBEAM);
    choose_obs(&s->obs[0], seed);
    s->row_bytes = (s->obs[0].nchan * (size_t)s->obs[0].nbit + 7) / 8;
    for (size_t b = 0; b < s->nbeam; b++) {
        s->obs[b] = s->obs[0];
        s->nsamp[b] = (size_t)tap_between(seed, 1500, 3000);
        s->data[b] = tap_take(s->nsamp[b], s->row_bytes);
        for (size_t n = 0; n < s->nsamp[b] * s->row_bytes; n++)
            s->data[b][n] = (unsigned char)(tap_random(seed) >> 56);
    }
    choose_trials(s, seed);
    choose_method(s, seed);
}

static void drop(struct shape *s)
{
    for (size_t b = 0; b < s->nbeam; b++)
        free(s->data[b]);
}

/* --- runs ------------------------------------------------------------------------------------- */

struct result {
    size_t ndm;
    unsigned long crc[MAXDM];
    int64_t count[MAXDM];
    double sum[MAXDM]; /* where series stay on devices, too */
};

static struct psr_pipeline_desc describe(const struct shape *s, size_t beam,
                                         const struct psr_sink *sink)
{
    struct psr_pipeline_desc d = s->d;
    d.obs = &s->obs[beam];
    d.nshare = s->nbeam;
    d.checksums = !sink;
    d.sink = sink;
    d.nsink = sink ? 1 : 0;
    return d;
}

static void take_result(struct result *r, psr_pipeline *p)
{
    const struct psr_checksums *c = psr_pipeline_result(p, "checksums");
    const struct sum_sink *s = psr_pipeline_result(p, "sums");
    struct psr_pipeline_report report;
    psr_pipeline_describe(p, &report);
    r->ndm = report.ndm;
    for (size_t i = 0; i < r->ndm; i++) {
        r->crc[i] = c ? c->crc[i] : 0;
        r->count[i] = c ? c->count[i] : s->count[i];
        r->sum[i] = s ? s->sum[i] : 0;
    }
}

static bool fails(psr_status st, const psr_err *err, const char *what)
{
    if (st)
        diag("%s: %s", what, err->msg);
    return st != PSR_OK;
}

static bool run_alone(const struct shape *s, size_t beam, const struct psr_sink *sink,
                      struct result *r)
{
    struct psr_pipeline_desc d = describe(s, beam, sink);
    psr_pipeline *p;
    psr_err err;
    if (fails(psr_pipeline_create(&p, &d, &err), &err, "create"))
        return false;
    bool fine =
        !fails(psr_pipeline_execute(p, s->data[beam], s->nsamp[beam], &err), &err, "step") &&
        !fails(psr_pipeline_finish(p, &err), &err, "finish");
    if (fine)
        take_result(r, p);
    psr_pipeline_destroy(p);
    return fine;
}

/* Spectra of beams come in turns, any number. */
static bool step_beams(const struct shape *s, psr_pipeline *const *p, uint64_t *seed)
{
    size_t taken[MAXBEAM] = {0}, open = s->nbeam;
    psr_err err;
    while (open) {
        size_t b = (size_t)tap_between(seed, 0, (int64_t)s->nbeam - 1);
        size_t n = (size_t)tap_between(seed, 0, 700), left = s->nsamp[b] - taken[b];
        n = n < left ? n : left;
        if (fails(psr_pipeline_execute(p[b], s->data[b] + taken[b] * s->row_bytes, n, &err), &err,
                  "step"))
            return false;
        taken[b] += n;
        open -= n && n == left;
    }
    for (size_t b = s->nbeam; b-- > 0;)
        if (fails(psr_pipeline_finish(p[b], &err), &err, "finish"))
            return false;
    return true;
}

static bool is_state_right(const struct shape *s, psr_pipeline *p)
{
    struct psr_pipeline_report r;
    psr_pipeline_describe(p, &r);
    bool right = r.nsharing == (s->shares ? s->nbeam : 0) && (r.shared_bytes > 0) == s->shares;
    for (size_t k = 0; k < r.nline; k++)
        right &= r.line[k]->plan->bytes > 0 && r.line[k]->plan->adds_direct > 0 &&
                 !strcmp(r.line[k]->plan->backend, PIPELINE_DEVICE);
    if (!right)
        diag("%zu share %.0f bytes, should be %zu; %zu lines of %zu trials", r.nsharing,
             r.shared_bytes, s->shares ? s->nbeam : 0, r.nline, r.ndm);
    return right;
}

static bool run_many(const struct shape *s, const struct psr_sink *sink, struct result *r,
                     uint64_t *seed)
{
    struct psr_pipeline_desc d[MAXBEAM];
    const struct psr_pipeline_desc *to[MAXBEAM];
    psr_pipeline *p[MAXBEAM];
    psr_err err;
    for (size_t b = 0; b < s->nbeam; b++) {
        d[b] = describe(s, b, sink);
        to[b] = &d[b];
    }
    if (fails(psr_pipeline_create_beams(p, to, s->nbeam, &err), &err, "create beams"))
        return false;
    bool fine = true;
    for (size_t b = 0; b < s->nbeam && fine; b++)
        fine = is_state_right(s, p[b]);
    fine = fine && step_beams(s, p, seed);
    for (size_t b = 0; b < s->nbeam; b++) {
        if (fine)
            take_result(&r[b], p[b]);
        psr_pipeline_destroy(p[b]);
    }
    return fine;
}

static bool check_shape(const struct shape *s, uint64_t *seed)
{
    static struct result alone, many[MAXBEAM];
    const struct psr_sink sum = {.ops = &sum_sink};
    for (int pass = 0; pass < 2; pass++) {
        const struct psr_sink *sink = pass ? &sum : NULL;
        memset(many, 0, sizeof many);
        if (!run_many(s, sink, many, seed))
            return false;
        for (size_t b = 0; b < s->nbeam; b++) {
            memset(&alone, 0, sizeof alone);
            if (!run_alone(s, b, sink, &alone))
                return false;
            if (memcmp(&alone, &many[b], sizeof alone)) {
                diag("beam %zu of %zu, %s: not what it makes alone", b, s->nbeam,
                     pass ? "sums" : "checksums");
                return false;
            }
        }
    }
    return true;
}

static void test_random(uint64_t *seed)
{
    static struct shape s;
    const char *text = getenv("PSRKIT_TEST_COUNT");
    int n, nshared = 0, nown = 0, count = text ? atoi(text) : SHAPES;
    for (n = 0; n < count; n++) {
        uint64_t now = *seed;
        choose(&s, seed);
        bool fine = check_shape(&s, seed);
        nshared += s.shares;
        nown += !s.shares;
        if (!fine)
            diag("shape %d, state %llu: %zu channels of %d bits, %lld trials, downsamp %lld, "
                 "scrunch %g, "
                 "algo %d",
                 n, (unsigned long long)now, s.obs[0].nchan, s.obs[0].nbit, (long long)s.d.ndm,
                 (long long)s.d.downsamp, s.d.scrunch, (int)s.d.algo);
        drop(&s);
        if (!fine)
            break;
    }
    ok(n == count && nshared && (nown || text),
       "%d shapes, %d of them share a plan: what each makes alone", n, nshared);
}

/* --- what fails ------------------------------------------------------------------------------- */

static void test_failures(uint64_t *seed)
{
    static struct shape s;
    psr_pipeline *p[2];
    psr_err err;
    choose(&s, seed);
    struct psr_pipeline_desc good = describe(&s, 0, NULL), bad = good;
    const struct psr_pipeline_desc *both[2] = {&good, &bad};
    bad.ndm = 0;
    psr_status st = psr_pipeline_create_beams(p, both, 2, &err);
    ok(st == PSR_EINVAL && !strcmp(err.field, "ndm") && !p[0] && !p[1], "%s", err.msg);
    bad = good;
    good.algo = bad.algo = PSR_DEDISP_TREE;
    good.smear = bad.smear = 0.5; /* no plan, shared or not */
    st = psr_pipeline_create_beams(p, both, 2, &err);
    ok(st == PSR_EINVAL && strstr(err.msg, "smearing") && !p[0] && !p[1], "%s", err.msg);
    ok(!psr_pipeline_create_beams(p, both, 0, &err), "no beams");
    drop(&s);
}

int main(void)
{
    uint64_t seed = tap_seed();
    if (strcmp(PIPELINE_DEVICE, "cpu") != 0) {
        psr_err err;
        if (!psr_device_count(&err)) {
            skip("pipelines of beams on a device", err.msg);
            return done_testing();
        }
    }
    test_random(&seed);
    test_failures(&seed);
    return done_testing();
}
