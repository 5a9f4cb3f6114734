/* The plan of the single-pulse search: streams in, events out. */
#include "singlepulse_internal.h"

#include "base/base.h"
#include "base/threads/threads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const size_t DEFAULT_MAX_EVENTS = 10 * 1000 * 1000;

enum {
    SLOTS = PULSE_TO_SEARCH + 2, /* pieces whose samples are held on the host */
    MAX_SERIES = 1 << 24,
    MAX_THREADS = 4096,
};

static psr_status check_desc(const struct psr_singlepulse_desc *d, psr_err *err)
{
    if (d->nseries < 1 || d->nseries > MAX_SERIES)
        return psr_fail_field(err, PSR_EINVAL, "nseries",
                              "single pulses: %zu series, 1 to %d are possible", d->nseries,
                              MAX_SERIES);
    if (!(d->tsamp_s > 0) || !isfinite(d->tsamp_s))
        return psr_fail_field(err, PSR_EINVAL, "tsamp_s",
                              "single pulses: sampling time %g s is not above 0", d->tsamp_s);
    if (!(d->threshold > 0) || !(d->threshold < (double)PULSE_HUGE))
        return psr_fail_field(err, PSR_EINVAL, "threshold",
                              "single pulses: threshold %g is not above 0", d->threshold);
    if (!(d->detrend >= 0) || !isfinite(d->detrend))
        return psr_fail_field(err, PSR_EINVAL, "detrend",
                              "single pulses: baseline of %g samples is below 0", d->detrend);
    if (!(d->maxwidth_s >= 0) || !isfinite(d->maxwidth_s))
        return psr_fail_field(err, PSR_EINVAL, "maxwidth_s",
                              "single pulses: longest boxcar %g s is below 0", d->maxwidth_s);
    if (d->nthread < 0 || d->nthread > MAX_THREADS)
        return psr_fail_field(err, PSR_EINVAL, "nthread",
                              "single pulses: %d threads, 0 to %d are possible", d->nthread,
                              MAX_THREADS);
    return PSR_OK;
}

/* A width given in seconds means whole samples even where the quotient rounds down. */
size_t psr_singlepulse_longest(double maxwidth_s, double tsamp_s)
{
    return psr_pulse_width_at_most(maxwidth_s > 0 ? maxwidth_s / tsamp_s * (1 + 1e-9) : INFINITY);
}

static int count_threads(int asked, size_t nseries)
{
    int n = psr_count_threads(asked);
    return (size_t)n < nseries ? n : (int)nseries;
}

static bool allocate_plan(struct psr_singlepulse *p, const struct psr_singlepulse_desc *d)
{
    size_t events = d->max_events ? d->max_events : DEFAULT_MAX_EVENTS;
    size_t share = events / p->nseries > 0 ? events / p->nseries : 1;
    p->sweep = psr_own(&p->own, p->nseries, sizeof *p->sweep);
    p->series = psr_own(&p->own, p->nseries, sizeof *p->series);
    p->bench = psr_own(&p->own, (size_t)p->nthread, sizeof *p->bench);
    if (!p->bench)
        return false;
    for (size_t i = 0; i < p->nseries; i++) {
        psr_pulse_peaks_init(&p->series[i].picker, p->maxwidth,
                             p->causal ? p->length / PULSE_PARTS : p->length,
                             p->causal ? PULSE_PARTS : PULSE_STORM, p->threshold, share);
        p->sweep[i] = d->sweep ? d->sweep[i] : 0;
        p->maxsweep = p->sweep[i] > p->maxsweep ? p->sweep[i] : p->maxsweep;
    }
    return true;
}

/* What a search on the host needs. */
static bool allocate_samples(struct psr_singlepulse *p)
{
    size_t each = p->causal ? PULSE_TRAIL_ROOM(p) : SLOTS * p->length;
    const size_t sums = PULSE_SUMS * p->room, most = PULSE_WORK(p->length);
    p->samples = psr_own(&p->own, p->nseries * each, sizeof *p->samples);
    p->figure = psr_own(&p->own, p->nseries, PULSE_KEPT * sizeof *p->figure);
    for (int k = 0; k < p->nthread; k++) {
        p->bench[k].flat = psr_own(&p->own, p->room, sizeof *p->bench[k].flat);
        p->bench[k].work = psr_own(&p->own, sums > most ? sums : most, sizeof *p->bench[k].work);
    }
    if (p->own.failed)
        return false;
    for (size_t i = 0; i < p->nseries; i++) {
        p->series[i].figure = p->figure + i * PULSE_KEPT;
        if (p->causal)
            psr_pulse_trail_init(p, i, p->samples + i * each);
        else
            p->series[i].piece = p->samples + i * each;
    }
    return true;
}

static psr_status use_host(struct psr_singlepulse *p, psr_err *err)
{
    if (p->share)
        return psr_fail(err, PSR_EINVAL, "single pulses: series have moved within the stream");
    if (p->samples || allocate_samples(p))
        return PSR_OK;
    double each = (double)(SLOTS * p->length * sizeof(float)) + PULSE_KEPT * sizeof *p->figure;
    return psr_fail_nomem(err, "the series of a single-pulse search", (double)p->nseries * each);
}

psr_status psr_singlepulse_create(psr_singlepulse **out, const struct psr_singlepulse_desc *desc,
                                  psr_err *err)
{
    struct psr_singlepulse_desc d;
    *out = NULL;
    psr_status st = psr_copy_desc(&d, sizeof d, desc, "single pulses", err);
    if (st)
        return st;
    st = check_desc(&d, err);
    if (st)
        return st;
    struct psr_singlepulse *p = calloc(1, sizeof *p);
    if (!p)
        return psr_fail_nomem(err, "a single-pulse search", sizeof *p);
    p->nseries = d.nseries;
    p->maxwidth = psr_singlepulse_longest(d.maxwidth_s, d.tsamp_s);
    p->length = psr_pulse_piece_length(p->maxwidth);
    p->room = p->length + p->maxwidth;
    p->causal = d.causal;
    p->late = d.late;
    psr_pulse_set_scale(&p->scale, p->maxwidth, p->length,
                        d.detrend > 0 ? psr_pulse_choose_fixed(d.detrend, p->length, p->causal)
                                      : -1);
    if (p->causal)
        psr_pulse_trail_scale(&p->scale, p->length);
    p->block = d.block;
    p->threshold = (float)d.threshold;
    p->nthread = count_threads(d.nthread, p->nseries);
    if (!allocate_plan(p, &d)) {
        psr_singlepulse_destroy(p);
        return psr_fail_nomem(err, "a single-pulse search",
                              (double)d.nseries * sizeof(struct pulse_series_state));
    }
    *out = p;
    return PSR_OK;
}

psr_status psr_singlepulse_mask(psr_singlepulse *p, struct psr_span span, psr_err *err)
{
    if (span.count < 0 || span.first > INT64_MAX - span.count)
        return psr_fail(err, PSR_EINVAL, "single pulses: masked stretch of %lld samples from %lld",
                        (long long)span.count, (long long)span.first);
    if (span.count == 0 || span.first + span.count <= 0)
        return PSR_OK;
    const int64_t reach = p->late ? 0 : (int64_t)p->maxsweep;
    if (p->pos > 0 && span.first - reach < p->pos)
        return psr_fail(err, PSR_EINVAL,
                        "single pulses: mask from sample %lld comes after sample %lld was searched",
                        (long long)span.first, (long long)p->pos - 1);
    psr_status st =
        psr_grow(&p->mask, &p->mask_room, p->nmask, sizeof *p->mask, "masked stretches", err);
    if (!st)
        p->mask[p->nmask++] = span;
    return st;
}

/* --- stages ----------------------------------------------------------------------------------- */

/* A series and its state: pieces up to index last, which has n samples, are measured. */
struct course {
    const struct psr_singlepulse *p;
    struct pulse_series_state *series;
    struct pulse_bench *bench;
    size_t trial, n;
    int64_t last;
};

static struct pulse_figures *figures_of(const struct course *c, int64_t k)
{
    return &c->series->figure[k % PULSE_KEPT];
}

static float *piece_of(const struct course *c, int64_t k)
{
    return c->series->piece + (size_t)(k % SLOTS) * c->p->length;
}

static size_t samples_of(const struct course *c, int64_t k)
{
    return k < c->last ? c->p->length : c->n;
}

static void measure_piece(const struct course *c)
{
    struct pulse_figures *f = figures_of(c, c->last);
    psr_pulse_measure(&f->piece, f->level, piece_of(c, c->last), c->n, c->p->length,
                      c->last * (int64_t)c->p->length, c->bench->work);
}

/* The samples before piece k that boxcars which end in it may reach, and its own. */
static const float *join_pieces(const struct course *c, int64_t k)
{
    size_t carry = c->p->maxwidth - 1;
    float *flat = c->bench->flat;
    for (size_t j = 0; j < carry && !k; j++)
        flat[j] = -INFINITY;
    if (k)
        memcpy(flat, piece_of(c, k - 1) + c->p->length - carry, carry * sizeof *flat);
    memcpy(flat + carry, piece_of(c, k), samples_of(c, k) * sizeof *flat);
    return flat;
}

static void flatten_piece(const struct course *c, int64_t k)
{
    const struct pulse_figures *ring = c->series->figure;
    int64_t b = pulse_tests_end(k, c->last), a = pulse_window(b);
    double square[PULSE_LENGTHS];
    int32_t fixed = c->p->scale.fixed;
    if (fixed < 0)
        psr_pulse_test_squares(square, ring, PULSE_KEPT, a, b);
    figures_of(c, k)->length =
        fixed >= 0 ? fixed : pulse_choose_length(square, k ? figures_of(c, k - 1)->length : -1);
    psr_pulse_flatten(piece_of(c, k), samples_of(c, k), c->p->length, figures_of(c, k));
    psr_pulse_add_up(figures_of(c, k), &c->p->scale, join_pieces(c, k), 0, samples_of(c, k),
                     c->bench->work);
    psr_pulse_size_draws(figures_of(c, k));
}

static bool search_piece(const struct course *c, int64_t k)
{
    struct pulse_figures *f = figures_of(c, k);
    psr_pulse_find_norms(c->series->figure, PULSE_KEPT, &c->p->scale, k,
                         pulse_draws_end(k, c->last));
    return !pulse_is_loud(f, c->p->scale.nwidth, c->p->threshold) ||
           psr_pulse_peak_select(&c->series->picker, &c->bench->room, k, join_pieces(c, k),
                                 samples_of(c, k), f->norm, c->trial);
}

/* Does what pieces are ready for once piece m, from the last on those that never come, is measured. */
static bool advance(const struct course *c, int64_t m)
{
    int64_t ramp = m - PULSE_TO_RAMP, smooth = m - PULSE_TO_SMOOTH;
    int64_t flatten = m - PULSE_TO_FLATTEN, search = m - PULSE_TO_SEARCH;
    if (ramp >= 0 && ramp <= c->last) {
        /* The nodes are known up to the one after piece k. */
        int64_t length = (int64_t)c->p->length;
        struct pulse_figures *ring = c->series->figure, *f = figures_of(c, ramp);
        for (int64_t q = ramp ? ramp + 1 : 0; q <= ramp + 1 && q <= c->last; q++)
            pulse_baseline_node_make(&figures_of(c, q)->node, ring, PULSE_KEPT, q, c->last, length);
        pulse_set_ramps(ring, PULSE_KEPT, ramp, c->last, length);
        pulse_find_rest(f, length);
        f->rest_size = pulse_size_parts(f->rest, 1);
        pulse_bound_rest(f, pulse_rest_square(ring, PULSE_KEPT, pulse_window(ramp), ramp), length);
    }
    if (smooth >= 0 && smooth <= c->last)
        pulse_smooth_rest(c->series->figure, PULSE_KEPT, smooth, c->last);
    if (flatten >= 0 && flatten <= c->last)
        flatten_piece(c, flatten);
    return search < 0 || search > c->last || search_piece(c, search);
}

/* Takes n samples of series i and searches the pieces they complete. */
static bool push_series(const struct psr_singlepulse *p, size_t i, struct pulse_bench *b,
                        const float *x, size_t n)
{
    struct course c = {.p = p, .series = &p->series[i], .bench = b, .trial = i, .n = p->length};
    int64_t length = (int64_t)p->length;
    if (p->causal)
        return psr_pulse_trail_push(p, i, b, x, n);
    for (size_t done = 0; done < n;) {
        int64_t pos = p->pos + (int64_t)done;
        size_t at = (size_t)(pos % length);
        size_t take = n - done < p->length - at ? n - done : p->length - at;
        c.last = pos / length;
        memcpy(piece_of(&c, c.last) + at, x + done, take * sizeof *x);
        psr_pulse_blank(p, i, pos, piece_of(&c, c.last) + at, take);
        done += take;
        if (at + take < p->length)
            break;
        measure_piece(&c);
        if (!advance(&c, c.last))
            return false;
    }
    return true;
}

/* Searches the pieces of series i still held, the last of them perhaps short. */
static bool finish_series(const struct psr_singlepulse *p, size_t i, struct pulse_bench *b)
{
    struct course c = {.p = p, .series = &p->series[i], .bench = b, .trial = i, .n = p->length};
    int64_t whole = p->pos / (int64_t)p->length, m = whole;
    size_t rest = (size_t)(p->pos % (int64_t)p->length);
    bool fine = true;
    if (p->causal)
        fine = psr_pulse_trail_finish(p, i, b);
    c.last = whole - 1;
    if (rest && !p->causal) {
        c.last = whole;
        c.n = rest;
        measure_piece(&c);
    }
    for (; m <= c.last + PULSE_TO_SEARCH && fine && !p->causal; m++)
        fine = advance(&c, m);
    struct pulse_peaks *picker = &p->series[i].picker;
    return fine && psr_pulse_settle(picker, &b->room, i) && psr_pulse_prune(picker);
}

psr_status psr_singlepulse_execute(psr_singlepulse *p, const float *x, size_t stride, size_t nsamp,
                                   psr_err *err)
{
    if (stride < nsamp)
        return psr_fail_field(err, PSR_EINVAL, "stride",
                              "single pulses: stride %zu is below %zu samples", stride, nsamp);
    if (p->ended)
        return psr_fail(err, PSR_EINVAL, "single pulses: samples after the end of the stream");
    psr_status st = use_host(p, err);
    if (st)
        return st;
    int failed = 0;
#pragma omp parallel for schedule(dynamic) num_threads(p->nthread) reduction(| : failed)
    for (size_t i = 0; i < p->nseries; i++)
        failed |= !push_series(p, i, &p->bench[psr_thread_number()], x + i * stride, nsamp);
    p->pos += (int64_t)nsamp;
    psr_pulse_forget_masks(p);
    return failed ? psr_fail(err, PSR_ENOMEM, "no memory for single-pulse events") : PSR_OK;
}

psr_status psr_singlepulse_finish(psr_singlepulse *p, psr_err *err)
{
    if (p->ended)
        return psr_fail(err, PSR_EINVAL, "single pulses: the stream has ended already");
    p->ended = true;
    if (p->share)
        return psr_pulse_finish_partitions(p, err);
    psr_status st = use_host(p, err);
    if (st)
        return st;
    int failed = 0;
#pragma omp parallel for schedule(dynamic) num_threads(p->nthread) reduction(| : failed)
    for (size_t i = 0; i < p->nseries; i++)
        failed |= !finish_series(p, i, &p->bench[psr_thread_number()]);
    return failed ? psr_fail(err, PSR_ENOMEM, "no memory for single-pulse events") : PSR_OK;
}

size_t psr_singlepulse_events(const psr_singlepulse *p, size_t i, const struct psr_event **events)
{
    *events = p->series[i].picker.event;
    return p->series[i].picker.nevent;
}

int64_t psr_singlepulse_settled(const psr_singlepulse *p, size_t i)
{
    const struct pulse_series_state *s = &p->series[i];
    int64_t next = p->pos / (int64_t)p->length - PULSE_TO_SEARCH;
    if (p->ended)
        return INT64_MAX;
    if (p->share)
        return INT64_MIN;
    if (p->causal)
        next = s->trail.next;
    return psr_pulse_peaks_settled(&s->picker, next > 0 ? next : 0);
}

void psr_singlepulse_forget(psr_singlepulse *p)
{
    for (size_t i = 0; i < p->nseries; i++)
        p->series[i].picker.nevent = 0;
}

int64_t psr_singlepulse_dropped(const psr_singlepulse *p)
{
    int64_t dropped = 0;
    for (size_t i = 0; i < p->nseries; i++)
        dropped += p->series[i].picker.dropped;
    return dropped;
}

size_t psr_singlepulse_maxwidth(const psr_singlepulse *p)
{
    return p->maxwidth;
}

double psr_singlepulse_detrend(const psr_singlepulse *p)
{
    return p->scale.fixed < 0 ? 0 : psr_pulse_span(p->scale.fixed, p->length, p->causal);
}

void psr_singlepulse_destroy(psr_singlepulse *p)
{
    if (!p)
        return;
    for (size_t i = 0; p->series && i < p->nseries; i++)
        psr_pulse_peaks_clear(&p->series[i].picker);
    for (int k = 0; p->bench && k < p->nthread; k++)
        free(p->bench[k].room.memory);
    psr_pulse_free_partitions(p);
    psr_own_free(&p->own);
    free(p->mask);
    free(p);
}
