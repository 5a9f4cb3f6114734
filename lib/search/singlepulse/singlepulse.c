/* The plan of the single-pulse search: streams in, events out. */
#include "singlepulse_plan.h"

#include "base/grow.h"
#include "base/threads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const size_t DEFAULT_MAX_EVENTS = 10 * 1000 * 1000;

enum {
    SLOTS = PULSE_REACH + 2, /* pieces whose samples are held on the host */
    MAX_SERIES = 1 << 24,
    MAX_THREADS = 4096,
};

static psr_status check_desc(const struct psr_singlepulse_desc *d, psr_err *err)
{
    if (d->nseries < 1 || d->nseries > MAX_SERIES)
        return psr_fail(err, PSR_EINVAL, "single pulses: %zu series, 1 to %d are possible",
                        d->nseries, MAX_SERIES);
    if (!(d->tsamp_s > 0) || !isfinite(d->tsamp_s))
        return psr_fail(err, PSR_EINVAL, "single pulses: sampling time %g s is not above 0",
                        d->tsamp_s);
    if (!(d->threshold > 0) || !(d->threshold < (double)PULSE_HUGE))
        return psr_fail(err, PSR_EINVAL, "single pulses: threshold %g is not above 0",
                        d->threshold);
    if (!(d->maxwidth_s >= 0) || !isfinite(d->maxwidth_s))
        return psr_fail(err, PSR_EINVAL, "single pulses: longest boxcar %g s is below 0",
                        d->maxwidth_s);
    if (d->nthread < 0 || d->nthread > MAX_THREADS)
        return psr_fail(err, PSR_EINVAL, "single pulses: %d threads, 0 to %d are possible",
                        d->nthread, MAX_THREADS);
    return PSR_OK;
}

static int count_threads(int asked, size_t nseries)
{
    int n = psr_count_threads(asked);
    return (size_t)n < nseries ? n : (int)nseries;
}

static bool allocate_bench(struct pulse_bench *b, size_t room, size_t length)
{
    size_t work = PULSE_SUMS * room;
    work = work > PULSE_WORK(length) ? work : PULSE_WORK(length);
    b->flat = malloc(room * sizeof *b->flat);
    b->best = malloc(room * sizeof *b->best);
    b->work = malloc(work * sizeof *b->work);
    b->width = malloc(room * sizeof *b->width);
    return b->flat && b->best && b->work && b->width;
}

static bool allocate_plan(struct psr_singlepulse *p, const struct psr_singlepulse_desc *d)
{
    size_t events = d->max_events ? d->max_events : DEFAULT_MAX_EVENTS;
    size_t share = events / p->nseries > 0 ? events / p->nseries : 1;
    p->sweep = calloc(p->nseries, sizeof *p->sweep);
    p->lane = calloc(p->nseries, sizeof *p->lane);
    if (!p->sweep || !p->lane)
        return false;
    for (size_t i = 0; i < p->nseries; i++) {
        psr_pulse_peaks_init(&p->lane[i].picker, share);
        p->sweep[i] = d->sweep ? d->sweep[i] : 0;
        p->maxsweep = p->sweep[i] > p->maxsweep ? p->sweep[i] : p->maxsweep;
    }
    return true;
}

/* What a search on the host needs. */
static bool allocate_samples(struct psr_singlepulse *p)
{
    size_t held = SLOTS * p->length, carry = p->maxwidth - 1, each = held + carry;
    p->samples = malloc(p->nseries * each * sizeof *p->samples);
    p->bench = calloc((size_t)p->nthread, sizeof *p->bench);
    if (!p->samples || !p->bench)
        return false;
    for (size_t i = 0; i < p->nseries; i++) {
        struct pulse_lane *lane = &p->lane[i];
        lane->piece = p->samples + i * each;
        lane->carry = lane->piece + held;
        for (size_t j = 0; j < carry; j++)
            lane->carry[j] = -INFINITY;
    }
    for (int k = 0; k < p->nthread; k++)
        if (!allocate_bench(&p->bench[k], p->room, p->length))
            return false;
    return true;
}

static psr_status use_host(struct psr_singlepulse *p, psr_err *err)
{
    if (p->share)
        return psr_fail(err, PSR_EINVAL, "single pulses: series have moved within the stream");
    if (p->samples || allocate_samples(p))
        return PSR_OK;
    double bytes = (double)p->nseries * (double)((SLOTS * p->length + p->maxwidth) * 4);
    return psr_fail_nomem(err, "the series of a single-pulse search", bytes);
}

psr_status psr_singlepulse_create(psr_singlepulse **out, const struct psr_singlepulse_desc *desc,
                                  psr_err *err)
{
    *out = NULL;
    psr_status st = check_desc(desc, err);
    if (st)
        return st;
    struct psr_singlepulse *p = calloc(1, sizeof *p);
    if (!p)
        return psr_fail_nomem(err, "a single-pulse search", sizeof *p);
    p->nseries = desc->nseries;
    /* A width given in seconds means whole samples even where the quotient rounds down. */
    p->maxwidth = psr_pulse_width_at_most(
        desc->maxwidth_s > 0 ? desc->maxwidth_s / desc->tsamp_s * (1 + 1e-9) : INFINITY);
    p->length = psr_pulse_piece_length(p->maxwidth);
    p->room = p->length + p->maxwidth;
    p->block = desc->block;
    p->threshold = (float)desc->threshold;
    p->nthread = count_threads(desc->nthread, p->nseries);
    if (!allocate_plan(p, desc)) {
        psr_singlepulse_destroy(p);
        return psr_fail_nomem(err, "a single-pulse search",
                              (double)desc->nseries * sizeof(struct pulse_lane));
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
    if (p->pos > 0 && span.first - (int64_t)p->maxsweep < p->pos)
        return psr_fail(err, PSR_EINVAL,
                        "single pulses: mask from sample %lld comes after sample %lld was searched",
                        (long long)span.first, (long long)p->pos - 1);
    psr_status st =
        psr_grow(&p->mask, &p->mask_room, p->nmask, sizeof *p->mask, "masked stretches", err);
    if (!st)
        p->mask[p->nmask++] = span;
    return st;
}

/* Makes the masked ones of samples [pos, pos + n) of series i no numbers. */
static void blank_masked(const struct psr_singlepulse *p, size_t i, int64_t pos, float *x, size_t n)
{
    for (size_t s = 0; s < p->nmask; s++) {
        int64_t from = p->mask[s].first - (int64_t)p->sweep[i] - pos;
        int64_t to = p->mask[s].first + p->mask[s].count - pos;
        for (int64_t j = from > 0 ? from : 0; j < to && j < (int64_t)n; j++)
            x[j] = NAN;
    }
}

/* Searches the n samples that follow the carry in b->flat, the first with absolute index first, and
 * keeps the last as the next carry. */
static bool search_flat(const struct psr_singlepulse *p, size_t i, struct pulse_bench *b,
                        int64_t first, size_t n)
{
    struct pulse_lane *lane = &p->lane[i];
    size_t carry = p->maxwidth - 1, m = carry + n, lead = p->maxwidth / 2;
    memcpy(b->flat, lane->carry, carry * sizeof *b->flat);
    psr_pulse_best(b->flat, m, p->maxwidth, b->best, b->width, b->work);
    int64_t base = first - (int64_t)carry;
    for (size_t c = lead; c < lead + n; c++) {
        if (!(b->best[c] >= p->threshold))
            continue;
        struct pulse_hit hit = {base + (int64_t)c, b->best[c], b->width[c]};
        if (!psr_pulse_peak_select(&lane->picker, hit, p->maxwidth, i))
            return false;
    }
    memcpy(lane->carry, b->flat + n, carry * sizeof *b->flat);
    return true;
}

static void flatten_piece(const struct psr_singlepulse *p, const struct pulse_lane *lane, float *z,
                          int64_t k, size_t n)
{
    const float *x = lane->piece + (size_t)(k % SLOTS) * p->length;
    int64_t first = k * (int64_t)p->length;
    size_t half = n < p->length / 2 ? n : p->length / 2;
    if (!lane->own.known || lane->own.dead) {
        for (size_t j = 0; j < n; j++)
            z[j] = -INFINITY;
        return;
    }
    const struct pulse_baseline_node *own = &lane->own;
    const struct pulse_baseline_node *before = lane->before.known ? &lane->before : own;
    const struct pulse_baseline_node *after = lane->after.known ? &lane->after : own;
    psr_pulse_flatten(z, x, half, first, before, own);
    psr_pulse_flatten(z + half, x + half, n - half, first + (int64_t)half, own, after);
}

/* Searches piece k, of n samples, where pieces up to index last have been measured. */
static bool search_piece(const struct psr_singlepulse *p, size_t i, struct pulse_bench *b,
                         int64_t k, int64_t last, size_t n)
{
    struct pulse_lane *lane = &p->lane[i];
    if (k == 0)
        psr_pulse_baseline_node(&lane->own, lane->ring, 0, last, p->length);
    lane->after.known = false;
    if (k < last)
        psr_pulse_baseline_node(&lane->after, lane->ring, k + 1, last, p->length);
    flatten_piece(p, lane, b->flat + p->maxwidth - 1, k, n);
    bool done = search_flat(p, i, b, k * (int64_t)p->length, n);
    lane->before = lane->own;
    lane->own = lane->after;
    return done;
}

static void measure_piece(const struct psr_singlepulse *p, size_t i, struct pulse_bench *b,
                          int64_t k, size_t n)
{
    struct pulse_lane *lane = &p->lane[i];
    psr_pulse_measure(&lane->ring[k % PULSE_RING], lane->piece + (size_t)(k % SLOTS) * p->length, n,
                      k * (int64_t)p->length, b->work);
}

/* Takes n samples of series i and searches the pieces they complete. */
static bool push_series(const struct psr_singlepulse *p, size_t i, struct pulse_bench *b,
                        const float *x, size_t n)
{
    struct pulse_lane *lane = &p->lane[i];
    int64_t length = (int64_t)p->length;
    for (size_t done = 0; done < n;) {
        int64_t pos = p->pos + (int64_t)done, k = pos / length;
        size_t at = (size_t)(pos % length);
        size_t take = n - done < p->length - at ? n - done : p->length - at;
        float *held = lane->piece + (size_t)(k % SLOTS) * p->length + at;
        memcpy(held, x + done, take * sizeof *x);
        blank_masked(p, i, pos, held, take);
        done += take;
        if (at + take < p->length)
            break;
        measure_piece(p, i, b, k, p->length);
        int64_t ready = k - PULSE_REACH - 1;
        if (ready >= 0 && !search_piece(p, i, b, ready, k, p->length))
            return false;
    }
    return true;
}

/* Searches the pieces of series i still held, the last of them perhaps short. */
static bool finish_series(const struct psr_singlepulse *p, size_t i, struct pulse_bench *b)
{
    int64_t length = (int64_t)p->length, full = p->pos / length;
    size_t rest = (size_t)(p->pos % length);
    int64_t last = rest > 0 ? full : full - 1;
    if (rest > 0)
        measure_piece(p, i, b, full, rest);
    int64_t k = full - PULSE_REACH - 1;
    for (k = k > 0 ? k : 0; k <= last; k++)
        if (!search_piece(p, i, b, k, last, k < full ? p->length : rest))
            return false;
    /* Nothing follows the end, so that the last samples can be centres too. */
    size_t after = p->maxwidth - p->maxwidth / 2 - 1;
    for (size_t j = 0; j < after; j++)
        b->flat[p->maxwidth - 1 + j] = -INFINITY;
    struct pulse_peaks *picker = &p->lane[i].picker;
    return search_flat(p, i, b, p->pos, after) && psr_pulse_settle(picker, i) &&
           psr_pulse_prune(picker);
}

psr_status psr_singlepulse_execute(psr_singlepulse *p, const float *x, size_t stride, size_t nsamp,
                                   psr_err *err)
{
    if (stride < nsamp)
        return psr_fail(err, PSR_EINVAL, "single pulses: stride %zu is below %zu samples", stride,
                        nsamp);
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
    *events = p->lane[i].picker.event;
    return p->lane[i].picker.nevent;
}

int64_t psr_singlepulse_dropped(const psr_singlepulse *p)
{
    int64_t dropped = 0;
    for (size_t i = 0; i < p->nseries; i++)
        dropped += p->lane[i].picker.dropped;
    return dropped;
}

size_t psr_singlepulse_maxwidth(const psr_singlepulse *p)
{
    return p->maxwidth;
}

void psr_singlepulse_destroy(psr_singlepulse *p)
{
    if (!p)
        return;
    for (size_t i = 0; p->lane && i < p->nseries; i++)
        psr_pulse_peaks_clear(&p->lane[i].picker);
    for (int k = 0; p->bench && k < p->nthread; k++) {
        free(p->bench[k].flat);
        free(p->bench[k].best);
        free(p->bench[k].work);
        free(p->bench[k].width);
    }
    psr_pulse_free_partitions(p);
    free(p->bench);
    free(p->samples);
    free(p->lane);
    free(p->sweep);
    free(p->mask);
    free(p);
}
