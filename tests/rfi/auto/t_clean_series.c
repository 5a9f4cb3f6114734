/* clean, dedisp and patch: series of cleaned streams are those of the cleaned cells. */
#include "plan/ddplan_internal.h"
#include "rfi/rules/clean_internal.h"
#include "search/dedisp/dedisp_internal.h"
#include "tests/support/clean_scene.h"
#include <psrkit/ddplan.h>

static void dedisperse(struct consumer *k, const psr_clean *p, const void *block, size_t n)
{
    const struct psr_step *step;
    size_t nstep = psr_clean_steps(p, &step), nout, stride = (size_t)k->scene->nsamp;
    k->bad +=
        psr_dedisp_execute(k->plan, block, n, k->out + k->nout, stride, &nout, &err) != PSR_OK;
    if (k->patch)
        k->bad += psr_mask_correction_execute(k->patch, step, nstep, k->out + k->nout, stride, nout,
                                              &err) != PSR_OK;
    k->nout += nout;
}

static psr_dedisp *make_dedisp(const struct scene *s, const double *dm, size_t ndm, size_t ds,
                               size_t nsub, bool late, int nthread)
{
    double freq_mhz[MAX_CHAN];
    psr_dedisp *plan = NULL;
    for (int c = 0; c < s->nchan; c++)
        freq_mhz[c] = 1400 + 8 * (s->ascending ? c : s->nchan - 1 - c);
    struct psr_dedisp_desc d = {
        .size = sizeof d, .nchan = (size_t)s->nchan, .freq_mhz = freq_mhz, .tsamp_s = s->tsamp_s};
    d.nbit = s->zerodm ? 32 : s->nbit;
    d.kind = s->zerodm ? PSR_FLOAT : s->kind;
    d.downsamp = ds;
    d.dmconst = PSR_DMCONST_PRESTO;
    d.ndm = ndm;
    d.dm = dm;
    d.keep = s->with_keep ? s->keep : NULL;
    d.algo = nsub ? PSR_DEDISP_SUBBAND : PSR_DEDISP_DIRECT;
    d.nsub = nsub;
    d.late = late;
    d.nthread = nthread;
    if (psr_dedisp_create(&plan, &d, &err) != PSR_OK) {
        diag("%s", err.msg);
        abort();
    }
    return plan;
}

/* A sample of a trial, from the cleaned cells; before the first there is nothing. */
static double sum_plainly(const struct scene *s, const psr_dedisp *plan, size_t i, size_t t,
                          size_t ds, double *size)
{
    double sum = 0;
    *size = 0;
    for (int c = 0; c < s->nchan; c++) {
        int64_t pre = psr_dedisp_predelay(plan, (size_t)c);
        int64_t d = psr_dedisp_delay(plan, i, (size_t)c) - psr_round((double)pre / (double)ds);
        for (size_t u = 0; s->keep[c] && u < ds && (int64_t)t + d >= 0; u++) {
            size_t at = (size_t)((int64_t)t + d) * ds + (size_t)pre + u;
            double v = s->y[at * (size_t)s->nchan + (size_t)c];
            sum += v / (double)ds;
            *size += (fabs(v) + (s->zerodm ? (s->nbit < 16 ? 256 : 1000) : 0)) / (double)ds;
        }
    }
    return sum;
}

static float *run_series(const struct scene *s, struct consumer *k, const double *dm, size_t ds,
                         size_t nsub, bool late, uint64_t *seed, int nthread)
{
    k->take = dedisperse;
    k->scene = s;
    k->plan = make_dedisp(s, dm, k->ndm, ds, nsub, late, nthread);
    k->out = calloc(k->ndm * (size_t)s->nsamp, sizeof *k->out);
    psr_clean *p = make_plan(s, 1);
    struct psr_mask_correction_desc d = {
        k->plan, (size_t)s->nchan, k->ndm, ds, psr_clean_largest(p), nthread, NULL};
    if (psr_clean_kind(p) != PSR_FLOAT && psr_mask_correction_create(&k->patch, &d, &err) != PSR_OK)
        abort();
    psr_clean_destroy(p);
    run_stream(s, k, seed, nthread);
    return k->out;
}

static int compare_series(const struct scene *s, const struct consumer *k, size_t ds)
{
    int bad = 0;
    for (size_t i = 0; i < k->ndm; i++)
        for (size_t t = 0; t < k->nout; t++) {
            double size, want = sum_plainly(s, k->plan, i, t, ds, &size);
            bad += !(fabs((double)k->out[i * (size_t)s->nsamp + t] - want) <= 1e-6 * size + 1e-6);
        }
    return bad;
}

static void free_consumer(struct consumer *k)
{
    psr_mask_correction_destroy(k->patch);
    psr_dedisp_destroy(k->plan);
    free(k->out);
}

static void test_series(uint64_t *seed)
{
    int bad = 0, cut = 0;
    for (int n = 0; n < 24; n++) {
        struct scene s;
        make_scene(&s, seed);
        clean_plainly(&s);
        size_t ds = (size_t)tap_between(seed, 1, 4), nsub = n % 3 == 2 ? 1 : 0;
        const bool late = n % 3 == 1;
        double dm[MAX_DM];
        for (int i = 0; i < MAX_DM; i++)
            dm[i] = 300 * tap_uniform(seed);
        struct consumer a = {.ndm = MAX_DM}, b = {.ndm = MAX_DM};
        run_series(&s, &a, dm, ds, nsub, late, seed, 1);
        run_series(&s, &b, dm, ds, nsub, late, seed, 3);
        int wrong = a.bad + b.bad + compare_series(&s, &a, ds);
        if (wrong)
            diag(
                "scene %d: %d channels, %d spectra, %d bits kind %d, ds %zu, nsub %zu, late %d: %d "
                "bad",
                n, s.nchan, s.nsamp, s.nbit, (int)s.kind, ds, nsub, late, wrong);
        bad += wrong;
        cut +=
            a.nout != b.nout || memcmp(a.out, b.out, MAX_DM * (size_t)s.nsamp * sizeof *a.out) != 0;
        free_consumer(&a);
        free_consumer(&b);
        free_scene(&s);
    }
    ok(bad == 0, "series of integers and patches are those of the cleaned cells (%d bad)", bad);
    ok(cut == 0, "and have the same bits whatever the cut and the threads");
}

int main(void)
{
    uint64_t seed = tap_seed();
    test_series(&seed);
    return done_testing();
}
