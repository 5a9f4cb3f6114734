/* Turns loud pieces into events: gathers regions, settles them, and keeps their pulses. */
#include "singlepulse_internal.h"

#include "base/portable.h"
#include "base/tool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- which boxcars of a region are pulses of their own ---------------------------------------- */

/* First those that are bright, by S/N or by their height over the scatter of samples, whichever is
 * less: short baselines make wide boxcars scatter less, and one over two pulses would seem better than
 * either.  Then the others, by S/N.  Best first, a boxcar that overlaps no pulse is one, but for two kinds.  A shoulder: between it and
 * a pulse beside it the samples do not fall below its own level, so it belongs to that pulse.  And a
 * bridge: two narrower boxcars in it, with a valley between them, hold more than it does; then no
 * boxcar across that valley is a pulse. */

enum { CELL = 64 };

/* How far a valley lies below a level, in standard deviations: in a pulse of 100 samples noise digs one
 * of 5 in a thousand, of 6 in a million. */
static const float VALLEY = 6;

/* A boxcar is bright whose S/N and height, the sum over the root of the width, are beyond it. */
static const float BRIGHT = 8;
/* Of merits that are S/N: all below those of bright boxcars. */
static const float FAINT = 0x1p-32f;

/* Places count from the first sample before the region; a boxcar is known by its last. */
struct search {
    const struct pulse_region *r;
    size_t carry, m; /* samples before the region, and all */
    struct pulse_sum sum[PULSE_WIDTHS];
    int nwidth;
    float *alive[PULSE_WIDTHS]; /* [m] merits of boxcars that may be pulses, by last sample, or 0 */
    float *most;                /* [cells] */
    unsigned char *taken;       /* [m] samples that belong to pulses */
    struct pulse_hit *hit;      /* [m] */
    size_t nhit;
    struct side { /* [maxwidth] the best narrower boxcar on either side of a place */
        float merit, level;
    } * left, *right;
};

struct box {
    int c;              /* width */
    int64_t first, end; /* one past the last */
    float merit;
};

static float sum_of(const struct search *s, int c, int64_t first)
{
    return s->sum[c].sum[first];
}

/* Of boxcars that end with sample "last", in the region. */
static float norm_of(const struct search *s, int c, int64_t last)
{
    return s->r->norm[((size_t)last - s->carry) / s->r->length][c];
}

static size_t round_up(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* Makes the room hold what a region of m samples needs.  Returned: work for sums, or NULL */
static float *lay_out(struct search *s, struct pulse_room *room)
{
    size_t m = s->m, each = round_up(m * sizeof(float)),
           side = round_up(s->r->maxwidth * sizeof *s->left);
    size_t work = round_up((PULSE_SUMS - 1) * m * sizeof(float));
    size_t hits = round_up(m * sizeof *s->hit), marks = round_up(m);
    size_t bytes = work + (PULSE_WIDTHS + 1) * each + hits + marks + 2 * side;
    if (room->bytes < bytes) {
        free(room->memory);
        room->memory = malloc(bytes);
        room->bytes = room->memory ? bytes : 0;
    }
    if (!room->memory)
        return NULL;
    char *at = (char *)room->memory + work;
    for (int c = 0; c < PULSE_WIDTHS; c++, at += each)
        s->alive[c] = (float *)at;
    s->most = (float *)at;
    s->hit = (struct pulse_hit *)(at + each);
    s->taken = (unsigned char *)(at + each + hits);
    s->left = (struct side *)(at + each + hits + marks);
    s->right = (struct side *)(at + each + hits + marks + side);
    return room->memory;
}

/* --- boxcars that may be pulses --------------------------------------------------------------- */

PSR_CLONES
static void find_merits(float *restrict merit, const float *restrict sum, size_t n, float norm,
                        float unit, float threshold)
{
    for (size_t j = 0; j < n; j++) {
        float snr = sum[j] * norm, height = sum[j] * unit;
        float less = height < snr ? height : snr;
        merit[j] = snr >= threshold ? (less > BRIGHT ? less : snr * FAINT) : 0;
    }
}

static float find_cell(const struct search *s, size_t cell)
{
    size_t from = cell * CELL, to = from + CELL < s->m ? from + CELL : s->m;
    float most = 0;
    for (int c = 0; c < s->nwidth; c++)
        for (size_t e = from; e < to; e++)
            most = s->alive[c][e] > most ? s->alive[c][e] : most;
    return most;
}

static void find_alive(struct search *s)
{
    const struct pulse_region *r = s->r;
    for (int c = 0; c < s->nwidth; c++) {
        float unit = (float)(1 / sqrt(s->sum[c].width));
        memset(s->alive[c], 0, s->carry * sizeof(float));
        for (size_t t = 0; t < r->n; t += r->length) {
            size_t n = r->n - t < r->length ? r->n - t : r->length, end = s->carry + t;
            find_merits(s->alive[c] + end, s->sum[c].sum + end + 1 - (size_t)s->sum[c].width, n,
                        r->norm[t / r->length][c], unit, r->threshold);
        }
    }
    for (size_t cell = 0; cell * CELL < s->m; cell++)
        s->most[cell] = find_cell(s, cell);
}

/* Excludes the boxcars of column c whose last sample is from .. to. */
static void exclude_boxcars(struct search *s, int c, int64_t from, int64_t to)
{
    from = from > 0 ? from : 0;
    to = to < (int64_t)s->m - 1 ? to : (int64_t)s->m - 1;
    if (from <= to)
        memset(s->alive[c] + from, 0, (size_t)(to - from + 1) * sizeof(float));
}

static void update_cells(struct search *s, int64_t from, int64_t to)
{
    to = to < (int64_t)s->m - 1 ? to : (int64_t)s->m - 1;
    for (int64_t cell = from / CELL; cell <= to / CELL; cell++)
        if (s->most[cell] > 0)
            s->most[cell] = find_cell(s, (size_t)cell);
}

/* Samples first .. end - 1 belong to a pulse. */
static void take_samples(struct search *s, int64_t first, int64_t end)
{
    memset(s->taken + first, 1, (size_t)(end - first));
    for (int c = 0; c < s->nwidth; c++)
        exclude_boxcars(s, c, first, end + s->sum[c].width - 2);
    update_cells(s, first, end + (int64_t)s->r->maxwidth);
}

/* Of equal merit the earlier centre, then the narrower. */
static bool is_before(const struct search *s, const struct box *a, const struct box *b)
{
    int64_t at = a->first + s->sum[a->c].width / 2, than = b->first + s->sum[b->c].width / 2;
    return at != than ? at < than : a->c < b->c;
}

/* Returned: false where none is left */
static bool find_best(const struct search *s, struct box *best)
{
    float most = 0;
    for (size_t cell = 0; cell * CELL < s->m; cell++)
        most = s->most[cell] > most ? s->most[cell] : most;
    best->merit = 0;
    for (size_t cell = 0; most > 0 && cell * CELL < s->m; cell++) {
        if (s->most[cell] != most)
            continue;
        for (size_t e = cell * CELL; e < (cell + 1) * CELL && e < s->m; e++)
            for (int c = 0; c < s->nwidth; c++) {
                struct box b = {c, (int64_t)e + 1 - s->sum[c].width, (int64_t)e + 1, most};
                if (s->alive[c][e] == most && (best->merit == 0 || is_before(s, &b, best)))
                    *best = b;
            }
    }
    return most > 0;
}

/* --- shoulders -------------------------------------------------------------------------------- */

/* Whether some boxcar of samples first .. end - 1 lies far below a level. */
static bool has_valley(const struct search *s, int64_t first, int64_t end, float level)
{
    for (int c = 0; c < s->nwidth && s->sum[c].width <= end - first; c++) {
        int64_t w = s->sum[c].width;
        for (int64_t t = first; t + w <= end; t++) {
            int64_t last = t + w - 1 > (int64_t)s->carry ? t + w - 1 : (int64_t)s->carry;
            if ((level * (float)w - sum_of(s, c, t)) * norm_of(s, c, last) >= VALLEY)
                return true;
        }
    }
    return false;
}

/* Takes the boxcar for its neighbour's where no valley parts them.  Returned: whether it did */
static bool is_shoulder(struct search *s, const struct box *b)
{
    float level = sum_of(s, b->c, b->first) / (float)s->sum[b->c].width;
    int64_t near = (int64_t)s->r->maxwidth, from = b->first > near ? b->first - near : 0;
    int64_t to = b->end + near < (int64_t)s->m ? b->end + near : (int64_t)s->m;
    const unsigned char *before = memrchr(s->taken + from, 1, (size_t)(b->first - from));
    const unsigned char *after = memchr(s->taken + b->end, 1, (size_t)(to - b->end));
    if (before && !has_valley(s, before - s->taken + 1, b->first, level)) {
        take_samples(s, before - s->taken + 1, b->end);
        return true;
    }
    if (after && !has_valley(s, b->end, after - s->taken, level)) {
        take_samples(s, b->first, after - s->taken);
        return true;
    }
    return false;
}

/* --- bridges ---------------------------------------------------------------------------------- */

static void keep_better(struct side *side, float merit, float level)
{
    if (merit > side->merit)
        *side = (struct side){merit, level};
}

/* The best boxcars that are narrower than b and end at each place in it or before, and that begin
 * there or after; their centres lie in b. */
static void find_sides(const struct search *s, const struct box *b)
{
    int64_t n = b->end - b->first;
    memset(s->left, 0, (size_t)n * sizeof *s->left);
    memset(s->right, 0, (size_t)n * sizeof *s->right);
    for (int c = 0; c < b->c; c++) {
        int64_t w = s->sum[c].width, from = b->first + w - 1 - w / 2,
                to = b->end - 1 + w - 1 - w / 2;
        for (int64_t e = from; e <= to && e < (int64_t)s->m; e++) {
            float merit = s->alive[c][e];
            if (!(merit > 0))
                continue;
            int64_t first = e - w + 1 - b->first;
            float level = sum_of(s, c, e - w + 1) / (float)w;
            if (e < b->end)
                keep_better(&s->left[e - b->first], merit, level);
            if (first >= 0)
                keep_better(&s->right[first], merit, level);
        }
    }
    for (int64_t j = 1; j < n; j++) {
        keep_better(&s->left[j], s->left[j - 1].merit, s->left[j - 1].level);
        keep_better(&s->right[n - 1 - j], s->right[n - j].merit, s->right[n - j].level);
    }
}

/* Where b is a bridge, cuts all boxcars across its valley.  Returned: whether it was */
static bool is_bridge(struct search *s, const struct box *b)
{
    int64_t n = b->end - b->first, cut = 0, width = 0;
    float most = b->merit * b->merit;
    if (n < 3)
        return false;
    find_sides(s, b);
    for (int c = 0; c < b->c; c++) {
        int64_t w = s->sum[c].width;
        for (int64_t j = 1; j + w < n; j++) {
            const struct side *p = &s->left[j - 1], *q = &s->right[j + w];
            float both = p->merit * p->merit + q->merit * q->merit;
            float level = p->level < q->level ? p->level : q->level;
            int64_t first = b->first + j, last = first + w - 1;
            last = last > (int64_t)s->carry ? last : (int64_t)s->carry;
            if (p->merit > 0 && q->merit > 0 && both > most &&
                (level * (float)w - sum_of(s, c, first)) * norm_of(s, c, last) >= VALLEY)
                most = both, cut = first, width = w;
        }
    }
    if (width) {
        /* Excludes boxcars that extend beyond both ends of samples first .. end - 1. */
        int64_t end = cut + width;
        for (int c = 0; c < s->nwidth; c++)
            exclude_boxcars(s, c, end, cut + s->sum[c].width - 2);
        update_cells(s, end, cut + (int64_t)s->r->maxwidth);
    }
    return width > 0;
}

/* --- the region ------------------------------------------------------------------------------- */

/* Returned: hits in *hit [*nhit], in the room; false where memory ran out */
static bool pulse_settle_region(struct pulse_room *room, const struct pulse_region *r,
                                const struct pulse_hit **hit, size_t *nhit)
{
    struct search s = {.r = r, .carry = r->maxwidth - 1, .m = r->maxwidth - 1 + r->n};
    float *work = lay_out(&s, room);
    if (!work)
        return false;
    s.nwidth = psr_pulse_sums(s.sum, r->z, s.m, r->maxwidth, work);
    find_alive(&s);
    struct box b = {0};
    memset(s.taken, 0, s.m);
    if (s.r->taken > 0)
        take_samples(&s, 0, s.r->taken);
    while (find_best(&s, &b)) {
        if (is_shoulder(&s, &b) || is_bridge(&s, &b))
            continue;
        take_samples(&s, b.first, b.end);
        float snr = sum_of(&s, b.c, b.first) * norm_of(&s, b.c, b.end - 1);
        s.hit[s.nhit++] = (struct pulse_hit){b.first - (int64_t)s.carry, s.sum[b.c].width, snr};
    }
    *hit = s.hit;
    *nhit = s.nhit;
    return true;
}

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
PSR_COMPARE(compare_events, struct psr_event, PSR_THEN(PSR_FALLING(snr), PSR_RISING(sample)));

PSR_COMPARE(compare_samples, struct psr_event, PSR_RISING(sample));

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
    return pulse_settle_region(room, &r, &hit, &nhit) && add_events(p, hit, nhit, limit, trial);
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
    return !psr_reserve(&p->z, &p->z_room, need, sizeof *p->z, "samples", NULL) &&
           !psr_grow(&p->norm, &p->norm_room, p->npiece, sizeof *p->norm, "norms", NULL);
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
