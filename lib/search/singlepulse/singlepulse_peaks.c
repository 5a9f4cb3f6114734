/* Turns loud pieces into events: gathers regions, settles them, and keeps their pulses. */
#include "singlepulse_internal.h"

#include "base/tool.h"
#include <stdlib.h>
#include <string.h>

void psr_pulse_peaks_init(struct pulse_peaks *p, size_t maxwidth, size_t length, size_t storm,
                          float threshold, size_t limit)
{
    *p = (struct pulse_peaks){.maxwidth = maxwidth,
                              .length = length,
                              .storm = storm,
                              .threshold = threshold,
                              .limit = limit,
                              .barrier = INT64_MIN};
}

void psr_pulse_peaks_clear(struct pulse_peaks *p)
{
    free(p->z);
    free(p->norm);
    free(p->event);
    psr_pulse_peaks_init(p, p->maxwidth, p->length, p->storm, p->threshold, p->limit);
}

/* --- events ----------------------------------------------------------------------------------- */

/* Best S/N first, of equals the earlier. */
static int compare_events(const void *a, const void *b)
{
    const struct psr_event *p = a, *q = b;
    if (p->snr != q->snr)
        return p->snr > q->snr ? -1 : 1;
    return (p->sample > q->sample) - (p->sample < q->sample);
}

static int compare_samples(const void *a, const void *b)
{
    const struct psr_event *p = a, *q = b;
    return (p->sample > q->sample) - (p->sample < q->sample);
}

bool psr_pulse_prune(struct pulse_peaks *p)
{
    if (p->nevent <= p->limit)
        return true;
    struct psr_event *sorted = malloc(p->nevent * sizeof *sorted);
    if (!sorted)
        return false;
    memcpy(sorted, p->event, p->nevent * sizeof *sorted);
    qsort(sorted, p->nevent, sizeof *sorted, compare_events);
    struct psr_event worst = sorted[p->limit - 1];
    free(sorted);
    size_t kept = 0;
    for (size_t j = 0; j < p->nevent; j++)
        if (compare_events(&p->event[j], &worst) <= 0)
            p->event[kept++] = p->event[j];
    p->dropped += (int64_t)(p->nevent - kept);
    p->nevent = kept;
    return true;
}

/* Keeps the hits that end by sample "limit" of the region as events, and moves the barrier. */
static bool add_events(struct pulse_peaks *p, const struct pulse_hit *hit, size_t nhit,
                       int64_t limit, size_t trial)
{
    int64_t start = p->piece * (int64_t)p->length;
    size_t before = p->nevent;
    for (size_t j = 0; j < nhit; j++) {
        const struct pulse_hit *h = &hit[j];
        int64_t first = start + h->first, end = first + h->width;
        if (end > start + limit)
            continue;
        if (psr_grow(&p->event, &p->event_room, p->nevent, sizeof *p->event, "events", NULL))
            return false;
        p->event[p->nevent++] =
            (struct psr_event){(double)h->snr, first + h->width / 2, h->width, trial};
        p->barrier = end > p->barrier ? end : p->barrier;
    }
    if (p->nevent > before)
        qsort(p->event + before, p->nevent - before, sizeof *p->event, compare_samples);
    return p->nevent / 2 < p->limit || psr_pulse_prune(p);
}

/* --- regions ---------------------------------------------------------------------------------- */

/* Settles the pulses that end by sample "limit" of the region. */
static bool settle(struct pulse_peaks *p, struct pulse_room *room, int64_t limit, size_t trial)
{
    const struct pulse_hit *hit;
    size_t nhit;
    int64_t taken = p->barrier - p->piece * (int64_t)p->length + (int64_t)p->maxwidth - 1;
    const struct pulse_region r = {.z = p->z,
                                   .norm = (const float(*)[PULSE_COLUMNS])p->norm,
                                   .n = p->n,
                                   .length = p->length,
                                   .maxwidth = p->maxwidth,
                                   .threshold = p->threshold,
                                   .taken = p->barrier > INT64_MIN && taken > 0 ? taken : 0};
    return psr_pulse_settle_region(room, &r, &hit, &nhit) && add_events(p, hit, nhit, limit, trial);
}

bool psr_pulse_settle(struct pulse_peaks *p, struct pulse_room *room, size_t trial)
{
    bool done = p->npiece == 0 || settle(p, room, INT64_MAX / 2, trial);
    p->npiece = p->n = 0;
    return done;
}

int64_t psr_pulse_peaks_settled(const struct pulse_peaks *p, int64_t next)
{
    int64_t first = (p->npiece ? p->piece : next) * (int64_t)p->length - (int64_t)p->maxwidth + 1;
    return first > p->barrier ? first : p->barrier;
}

/* Settles the front half and forgets it. */
static bool settle_front(struct pulse_peaks *p, struct pulse_room *room, size_t trial)
{
    size_t gone = p->npiece / 2, samples = gone * p->length;
    if (!settle(p, room, (int64_t)samples, trial))
        return false;
    p->npiece -= gone;
    p->n -= samples;
    p->piece += (int64_t)gone;
    memmove(p->z, p->z + samples, (p->maxwidth - 1 + p->n) * sizeof *p->z);
    memmove(p->norm, p->norm + gone, p->npiece * sizeof *p->norm);
    return true;
}

/* Room for one more piece. */
static bool make_room(struct pulse_peaks *p)
{
    size_t need = p->maxwidth - 1 + (p->npiece + 1) * p->length;
    if (need > p->z_room) {
        float *z = realloc(p->z, need * sizeof *z);
        if (!z)
            return false;
        p->z = z;
        p->z_room = need;
    }
    return !psr_grow(&p->norm, &p->norm_room, p->npiece, sizeof *p->norm, "norms", NULL);
}

bool psr_pulse_peak_select(struct pulse_peaks *p, struct pulse_room *room, int64_t piece,
                           const float *flat, size_t n, const float norm[PULSE_COLUMNS],
                           size_t trial)
{
    size_t carry = p->maxwidth - 1;
    if (p->npiece && p->piece + (int64_t)p->npiece != piece && !psr_pulse_settle(p, room, trial))
        return false;
    if (p->npiece == p->storm && !settle_front(p, room, trial))
        return false;
    if (!make_room(p))
        return false;
    if (!p->npiece) {
        p->piece = piece;
        memcpy(p->z, flat, carry * sizeof *flat);
    }
    memcpy(p->z + carry + p->n, flat + carry, n * sizeof *flat);
    memcpy(p->norm[p->npiece], norm, sizeof *p->norm);
    p->n += n;
    p->npiece++;
    return true;
}
