/* Which of the overlapping boxcars above threshold is the pulse. */
#include "pulse.h"

#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

/* Hits chained by overlaps are settled together, but a chain of this many longest boxcars is
 * settled from its front, as seen half its length ahead, so that a storm of interference takes
 * bounded memory and time. */
enum { STORM_WIDTHS = 8, STORM_MIN = 1024 };

void psr_pulse_peaks_init(struct pulse_peaks *p, size_t limit)
{
    *p = (struct pulse_peaks){.limit = limit, .barrier = INT64_MIN, .end = INT64_MIN};
}

void psr_pulse_peaks_clear(struct pulse_peaks *p)
{
    free(p->hit);
    free(p->event);
    psr_pulse_peaks_init(p, p->limit);
}

static int64_t first_of(const struct pulse_hit *h)
{
    return h->sample - h->width / 2;
}

static int64_t end_of(const struct pulse_hit *h)
{
    return first_of(h) + h->width;
}

/* Best S/N first, then the earlier. */
static int compare_hits(const void *a, const void *b)
{
    const struct pulse_hit *p = a, *q = b;
    if (p->snr != q->snr)
        return p->snr > q->snr ? -1 : 1;
    return (p->sample > q->sample) - (p->sample < q->sample);
}

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

static bool add_event(struct pulse_peaks *p, const struct pulse_hit *h, size_t trial)
{
    if (psr_grow(&p->event, &p->event_room, p->nevent, sizeof *p->event, "events", NULL))
        return false;
    p->event[p->nevent++] = (struct psr_event){(double)h->snr, h->sample, h->width, trial};
    return true;
}

/* Best first, every hit that overlaps none taken before it is an event, and kept as one where it
 * ends by limit.  Given:  covered, zeros, the first for sample from */
static bool take_best(struct pulse_peaks *p, unsigned char *covered, int64_t from, int64_t limit,
                      size_t trial)
{
    for (size_t j = 0; j < p->nhit; j++) {
        const struct pulse_hit *h = &p->hit[j];
        unsigned char *own = covered + (first_of(h) - from);
        if (memchr(own, 1, (size_t)h->width))
            continue;
        memset(own, 1, (size_t)h->width);
        if (end_of(h) <= limit && !add_event(p, h, trial))
            return false;
    }
    return true;
}

/* Leaves the hits that begin at the barrier or after it. */
static void drop_hits(struct pulse_peaks *p)
{
    size_t kept = 0;
    p->start = INT64_MAX;
    p->end = INT64_MIN;
    for (size_t j = 0; j < p->nhit; j++) {
        struct pulse_hit h = p->hit[j];
        if (first_of(&h) < p->barrier)
            continue;
        p->start = h.sample < p->start ? h.sample : p->start;
        p->end = end_of(&h) > p->end ? end_of(&h) : p->end;
        p->hit[kept++] = h;
    }
    p->nhit = kept;
}

/* Settles the events that end by limit.  Later hits are centred further on, so one that reaches
 * back past the end of such an event overlaps it. */
static bool settle_front(struct pulse_peaks *p, int64_t limit, size_t trial)
{
    if (p->nevent / 2 >= p->limit && !psr_pulse_prune(p))
        return false;
    int64_t from = INT64_MAX;
    for (size_t j = 0; j < p->nhit; j++)
        from = first_of(&p->hit[j]) < from ? first_of(&p->hit[j]) : from;
    unsigned char *covered = calloc((size_t)(p->end - from), 1);
    if (!covered)
        return false;
    qsort(p->hit, p->nhit, sizeof *p->hit, compare_hits);
    size_t before = p->nevent;
    bool done = take_best(p, covered, from, limit, trial);
    free(covered);
    if (p->nevent == before)
        return done;
    qsort(p->event + before, p->nevent - before, sizeof *p->event, compare_samples);
    const struct psr_event *last = &p->event[p->nevent - 1];
    p->barrier = last->sample - last->width / 2 + last->width;
    drop_hits(p);
    return done;
}

bool psr_pulse_settle(struct pulse_peaks *p, size_t trial)
{
    bool done = p->nhit == 0 || settle_front(p, INT64_MAX, trial);
    p->nhit = 0;
    return done;
}

bool psr_pulse_peak_select(struct pulse_peaks *p, struct pulse_hit hit, size_t maxwidth,
                           size_t trial)
{
    int64_t longest = (int64_t)maxwidth, storm = STORM_WIDTHS * longest;
    storm = storm > STORM_MIN ? storm : STORM_MIN;
    if (p->nhit > 0 && hit.sample - longest / 2 >= p->end && !psr_pulse_settle(p, trial))
        return false;
    if (p->nhit > 0 && hit.sample - p->start >= storm &&
        !settle_front(p, hit.sample - storm / 2, trial))
        return false;
    if (first_of(&hit) < p->barrier)
        return true;
    if (psr_grow(&p->hit, &p->hit_room, p->nhit, sizeof *p->hit, "hits", NULL))
        return false;
    p->start = p->nhit == 0 ? hit.sample : p->start;
    p->end = p->nhit == 0 || end_of(&hit) > p->end ? end_of(&hit) : p->end;
    p->hit[p->nhit++] = hit;
    return true;
}
