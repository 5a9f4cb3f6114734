/* pipeline: series with a common scatter where automatic cleaning masks channels, against sums done
 * plainly: of the cleaned samples, and of what is missing. */
#include "tests/support/tap.h"

#include "rfi/auto/clean_auto_plan.h"
#include "tests/support/scratch.h"
#include <psrkit/ddplan.h>
#include <psrkit/experimental/clean_auto.h>
#include <psrkit/pipeline.h>
#include <string.h>

enum { NCHAN_MOST = 40, MAXDM = 6, SHAPES = 12 };

/* Spectra of the caller's, with interference that is masked, and what becomes of them. */
struct shape {
    struct psr_obs obs;
    size_t nsamp, ndm, ds;
    double dm[MAXDM];
    bool drop, moves;              /* a channel is ignored; bins are added or removed */
    unsigned char *data, *cleaned; /* [nsamp][nchan] */
    float *missing;                /* [nsamp][nchan] */
};

static bool is_kept(const struct shape *s, size_t c)
{
    return !s->drop || c != 1;
}

/* --- spectra ---------------------------------------------------------------------------------- */

static void add(struct shape *s, size_t t0, size_t n, size_t c0, size_t nchan, int level)
{
    for (size_t t = t0; t < t0 + n && t < s->nsamp; t++)
        for (size_t c = c0; c < c0 + nchan && c < s->obs.nchan; c++) {
            int x = s->data[t * s->obs.nchan + c] + level;
            s->data[t * s->obs.nchan + c] = (unsigned char)(x < 255 ? x : 255);
        }
}

static void make_spectra(struct shape *s, uint64_t *seed)
{
    const size_t nchan = s->obs.nchan;
    s->data = tap_take(s->nsamp, nchan);
    for (size_t k = 0; k < s->nsamp * nchan; k++)
        s->data[k] = (unsigned char)fmin(fmax(rint(80 + 8 * tap_normal(seed)), 0), 255);
    for (int k = 0; k < 12; k++) /* tones, and a part of the band */
        add(s, (size_t)tap_between(seed, 0, (int64_t)s->nsamp - 1),
            (size_t)tap_between(seed, 50, 900), (size_t)tap_between(seed, 0, (int64_t)nchan - 1),
            k < 10 ? 1 : nchan / 3, 40);
    for (int k = 0; k < 3; k++) /* sparks */
        add(s, (size_t)tap_between(seed, 0, (int64_t)s->nsamp - 1), 5, 0, nchan, 60);
    add(s, 0, s->nsamp, nchan / 2, 1, 0);
    for (size_t t = 0; t < s->nsamp; t++) /* a dead channel */
        s->data[t * nchan + nchan / 2] = 3;
}

static void choose(struct shape *s, int k, uint64_t *seed)
{
    memset(s, 0, sizeof *s);
    psr_obs_init(&s->obs);
    s->obs.nchan = (size_t)tap_between(seed, 16, NCHAN_MOST);
    s->obs.nif = 1;
    s->obs.nbit = 8;
    s->obs.kind = PSR_UINT;
    s->obs.tsamp_s = 1e-3;
    s->obs.fch1_mhz = 1400;
    s->obs.foff_mhz = k % 2 ? 4 : -4;
    s->obs.tstart = (struct psr_mjd){57000, 0.25};
    s->drop = k % 3 == 1;
    s->moves = k % 4 == 3;
    s->obs.has_position = true;
    s->obs.ra_deg = 80;
    s->obs.dec_deg = 22;
    s->ds = (size_t)tap_between(seed, 1, 3);
    s->nsamp = (size_t)tap_between(seed, 3000, 12000);
    s->ndm = (size_t)tap_between(seed, 1, MAXDM);
    for (size_t i = 0; i < s->ndm; i++)
        s->dm[i] = i ? (double)i + 400 * tap_uniform(seed) * (double)(i % 3) : 0;
    make_spectra(s, seed);
}

/* Cleans all spectra at once. */
static void clean(struct shape *s)
{
    const size_t nchan = s->obs.nchan;
    unsigned char keep[NCHAN_MOST];
    const struct psr_step *step;
    struct psr_clean_auto_desc d = {.size = sizeof d,
                                    .nchan = nchan,
                                    .nbit = 8,
                                    .kind = PSR_UINT,
                                    .tsamp_s = s->obs.tsamp_s,
                                    .clip_sigma = 6,
                                    .keep = keep,
                                    .nthread = 1};
    psr_clean_auto *p;
    psr_err err;
    size_t n = 0, got = 0;
    s->cleaned = tap_take(s->nsamp + 32768, nchan);
    s->missing = tap_take(s->nsamp * nchan, sizeof *s->missing);
    memset(s->missing, 0, s->nsamp * nchan * sizeof *s->missing);
    for (size_t c = 0; c < nchan; c++)
        keep[c] = is_kept(s, c);
    bool good = !psr_clean_auto_create(&p, &d, &err);
    for (int part = 0; part < 2 && good; part++, n += got) {
        good = part ? !psr_clean_auto_finish(p, s->cleaned + n * nchan, &got, &err)
                    : !psr_clean_auto_execute(p, s->data, s->nsamp, s->cleaned, &got, &err);
        const size_t nstep = psr_clean_auto_missing(p, &step);
        for (size_t k = 0; k < nstep; k++)
            for (size_t t = (size_t)step[k].t; t < s->nsamp; t++)
                s->missing[t * nchan + step[k].c] = step[k].value;
    }
    if (!ok(good && n == s->nsamp, "%zu spectra are cleaned", n))
        diag("%s", err.msg);
    psr_clean_auto_destroy(p);
}

/* --- a sink that keeps everything ------------------------------------------------------------- */

struct keeper {
    struct psr_sink_stream stream;
    float *x, *y; /* [ndm][room] series, and equalised ones */
    size_t room, n, own[MAXDM];
    int64_t ngap;
    bool all; /* every block had both */
};

static psr_status keeper_begin(void **state, const void *desc, const struct psr_sink_stream *stream,
                               psr_err *err)
{
    struct keeper *k = calloc(1, sizeof *k);
    (void)err;
    *state = k;
    k->stream = *stream;
    k->room = *(const size_t *)desc;
    k->x = calloc(stream->ndm * k->room, sizeof *k->x);
    k->y = calloc(stream->ndm * k->room, sizeof *k->y);
    k->all = true;
    return PSR_OK;
}

static psr_status keeper_push(void *state, size_t line, const struct psr_block *b, psr_err *err)
{
    struct keeper *k = state;
    (void)line;
    (void)err;
    k->all &= b->equalised != NULL && (size_t)b->first == k->n && k->n + b->n <= k->room;
    for (size_t i = 0; i < k->stream.ndm && k->all; i++) {
        memcpy(k->x + i * k->room + k->n, b->series + i * b->stride, b->n * sizeof *k->x);
        memcpy(k->y + i * k->room + k->n, b->equalised + i * b->stride, b->n * sizeof *k->y);
        k->own[i] += b->own ? b->own[i] : b->n;
    }
    k->n += b->n;
    return PSR_OK;
}

static psr_status keeper_gap(void *state, size_t line, struct psr_span span, psr_err *err)
{
    struct keeper *k = state;
    (void)line;
    (void)err;
    k->ngap += span.count > 0;
    return PSR_OK;
}

static psr_status keeper_finish(void *state, const struct psr_sink_end *end, psr_err *err)
{
    (void)state;
    (void)end;
    (void)err;
    return PSR_OK;
}

static const void *keeper_result(const void *state)
{
    return state;
}

static void keeper_abort(void *state)
{
    struct keeper *k = state;
    if (k) {
        free(k->x);
        free(k->y);
    }
    free(k);
}

static const struct psr_sink_ops keeper = {
    .name = "keeper",
    .begin = keeper_begin,
    .push = keeper_push,
    .gap = keeper_gap,
    .finish = keeper_finish,
    .result = keeper_result,
    .abort = keeper_abort,
};

/* --- plainly ---------------------------------------------------------------------------------- */

/* Sums over kept channels of the cleaned samples, and of what is missing, that sample t of a trial has. */
static void sum_plainly(const struct shape *s, double dm, size_t t, double *sum, double *missing,
                        double *nkept)
{
    const size_t nchan = s->obs.nchan;
    *sum = *missing = *nkept = 0;
    for (size_t c = 0; c < nchan; c++) {
        if (!is_kept(s, c))
            continue;
        const int64_t d =
            psr_delay_samples(PSR_DMCONST_PRESTO, dm, psr_obs_freq_mhz(&s->obs, c),
                              psr_obs_highest_mhz(&s->obs), (double)s->ds * s->obs.tsamp_s);
        *nkept += 1;
        for (size_t u = 0; u < s->ds; u++) {
            const size_t at = ((t + (size_t)d) * s->ds + u) * nchan + c;
            *sum += s->cleaned[at] / (double)s->ds;
            *missing += (double)s->missing[at] / (double)s->ds;
        }
    }
}

/* Samples that differ.  Returned: *nless, those with part of the band missing; *nnone, with too little */
static size_t compare(const struct shape *s, const struct keeper *k, size_t *nless, size_t *nnone)
{
    size_t bad = 0;
    for (size_t i = 0; i < s->ndm; i++)
        for (size_t t = 0; t < k->own[i]; t++) {
            double sum, missing, n;
            sum_plainly(s, s->dm[i], t, &sum, &missing, &n);
            const double left = n - missing, x = (double)k->x[i * k->room + t],
                         y = (double)k->y[i * k->room + t];
            const double want = 32 * n + (sum - 32 * n) * sqrt(n / left);
            *nless += missing > 0;
            *nnone += left < n / 8;
            bad += !(fabs(x - sum) < 1e-3);
            bad +=
                left < n / 8 - 1e-9 ? !isnan(y) : left > n / 8 + 1e-9 && !(fabs(y - want) < 1e-2);
        }
    return bad;
}

/* Barycentred: equalised samples are no less than those that they are made of, in size, which they would be in half of
 * all cases if bins were moved elsewhere. */
static size_t compare_moved(const struct shape *s, const struct keeper *k, size_t *nless)
{
    const double level = 32.0 * (double)(s->obs.nchan - s->drop);
    size_t bad = 0;
    for (size_t i = 0; i < s->ndm; i++)
        for (size_t t = 0; t < k->own[i]; t++) {
            const double x = (double)k->x[i * k->room + t] - level,
                         y = (double)k->y[i * k->room + t] - level;
            *nless += fabs(y) > fabs(x) * 1.001;
            bad += !isnan(y) && !(y * x >= 0 && fabs(y) >= fabs(x) * 0.9999 - 1e-2);
        }
    return bad > 4 * s->ndm ? bad : 0; /* means of two may be */
}

/* Pushes all spectra, in pieces of any length. */
static psr_status run(psr_pipeline *p, const struct shape *s, uint64_t *seed, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t t = 0, n; t < s->nsamp && !st; t += n) {
        n = (size_t)tap_between(seed, 1, 3000);
        n = n < s->nsamp - t ? n : s->nsamp - t;
        st = psr_pipeline_execute(p, s->data + t * s->obs.nchan, n, err);
    }
    return st ? st : psr_pipeline_finish(p, err);
}

static void describe(struct psr_pipeline_desc *d, const struct shape *s, const struct psr_sink *row)
{
    static struct psr_sink_pulses_desc pulses;
    psr_pipeline_defaults(d);
    d->obs = &s->obs;
    d->dm = s->dm;
    d->ndm = (int64_t)s->ndm;
    d->downsamp = (int64_t)s->ds;
    d->nobary = !s->moves;
    d->device = "cpu";
    d->clean_auto = true;
    d->clip_sigma = 6;
    d->ignorechan = s->drop ? "1" : NULL;
    psr_sink_pulses_defaults(&pulses);
    d->pulses = &pulses;
    d->root = scratch("equalised");
    d->sink = row;
    d->nsink = 1;
}

static void test_shape(int which, uint64_t *seed)
{
    struct shape s;
    struct psr_pipeline_desc d;
    psr_pipeline *p = NULL;
    psr_err err = {0};
    char ignored[16];
    choose(&s, which, seed);
    const size_t room = s.nsamp + 64;
    const struct psr_sink row[] = {{&keeper, &room}};
    clean(&s);
    describe(&d, &s, row);
    /* -ignorechan counts from the lowest channel. */
    snprintf(ignored, sizeof ignored, "%zu", s.obs.foff_mhz > 0 ? 1 : s.obs.nchan - 2);
    d.ignorechan = s.drop ? ignored : NULL;
    psr_status st = psr_pipeline_create(&p, &d, &err);
    if (!st)
        st = run(p, &s, seed, &err);
    const struct keeper *k = st ? NULL : psr_pipeline_result(p, "keeper");
    size_t nless = 0, nnone = 0, bad = 0;
    if (k)
        bad = s.moves ? compare_moved(&s, k, &nless) : compare(&s, k, &nless, &nnone);
    if (!ok(k && k->all && !bad && nless > 0,
            "%zu channels, %zu spectra, %zu DMs, downsampling %zu%s: %zu samples differ; %zu with "
            "less "
            "of the band, %zu with too little",
            s.obs.nchan, s.nsamp, s.ndm, s.ds, s.moves ? ", barycentred" : "", bad, nless, nnone))
        diag("%s", err.msg);
    psr_pipeline_destroy(p);
    free(s.data);
    free(s.cleaned);
    free(s.missing);
}

int main(void)
{
    uint64_t seed = tap_seed();
    scratch_make();
    for (int k = 0; k < SHAPES; k++)
        test_shape(k, &seed);
    return done_testing();
}
