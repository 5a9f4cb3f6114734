/* pulse_reference.h: the single-pulse search written out plainly, in double precision, for its tests. */
#ifndef PSR_PULSE_REFERENCE_H
#define PSR_PULSE_REFERENCE_H

#include "pulse_tests.h"

enum { PLAIN_PARTS = 8, PLAIN_LENGTHS = 5, PLAIN_WINDOW = 16, PLAIN_DRAWS = 9, PLAIN_VALLEY = 6 };

/* A whole series and what is known of its pieces and their parts. */
struct plain {
    const float *x;
    size_t n, length, maxwidth;
    int fixed;                    /* length of all baselines; -1: each its best */
    int64_t npiece, storm;        /* storm: pieces above threshold in a row that are settled */
    struct pulse_figures *figure; /* [npiece] nodes, and levels of parts */
    double (*rest)[PLAIN_PARTS];  /* of levels; not a number where there is none */
    double (*bounded)[PLAIN_PARTS];
    int *baseline;         /* [npiece] its length, 0 to 4 */
    double *z;             /* [n] flattened */
    double (*norm)[NLIST]; /* [npiece] S/N of a sum of 1 */
};

static int compare_in_time(const void *a, const void *b)
{
    const struct psr_event *p = a, *q = b;
    return (p->sample > q->sample) - (p->sample < q->sample);
}

/* --- scatter ---------------------------------------------------------------------------------- */

/* The middle one of the sizes that are numbers; 0 where fewer than "least" are. */
static double plain_middle(const double *v, size_t n, size_t least)
{
    double size[64];
    size_t m = 0;
    for (size_t j = 0; j < n; j++)
        if (fabs(v[j]) < 1e30)
            size[m++] = fabs(v[j]);
    tap_sort_doubles(size, m);
    return m < least ? NAN : size[m / 2];
}

/* Mean square of the values of npiece pieces that lie within three standard deviations, as the middle
 * of the pieces' middle sizes has it.  Given:  v [npiece][each] */
static double plain_square(const double *v, size_t npiece, size_t each, double *count)
{
    double middle[PLAIN_WINDOW] = {0}, sum = 0;
    for (size_t k = 0; k < npiece; k++)
        middle[k] = plain_middle(v + k * each, each, 3);
    double limit = 3 * 1.4826022 * plain_middle(middle, npiece, 1);
    *count = 0;
    for (size_t j = 0; j < npiece * each; j++)
        if (fabs(v[j]) <= limit)
            sum += v[j] * v[j], *count += 1;
    return *count > 0 ? sum / *count / 0.97333692466 : 0;
}

/* --- the baseline ----------------------------------------------------------------------------- */

static void plain_knots(struct plain *p)
{
    float *work = tap_take(PULSE_WORK(p->length), sizeof *work);
    for (int64_t k = 0; k < p->npiece; k++) {
        size_t from = (size_t)k * p->length, left = p->n - from;
        psr_pulse_measure(&p->figure[k].piece, p->figure[k].level, p->x + from,
                          left < p->length ? left : p->length, p->length, (int64_t)from, work);
    }
    for (int64_t k = 0; k < p->npiece; k++)
        pulse_baseline_node_make(&p->figure[k].node, p->figure, p->npiece, k, p->npiece - 1,
                                 (int64_t)p->length);
    free(work);
}

/* v at time t of piece k, less the line between nodes, over the scatter there; NAN: no data. */
static double plain_flatten(const struct plain *p, int64_t k, double t, double v)
{
    double middle = ((double)k + 0.5) * (double)p->length;
    int64_t other = t < (double)k * (double)p->length + (double)(p->length / 2) ? k - 1 : k + 1;
    const struct pulse_baseline_node *own = &p->figure[k].node;
    if (!own->known || own->dead || t > middle + (double)p->length)
        return NAN;
    double level = own->level + own->slope * (t - own->pos), scale = 1 / own->sigma;
    if (other >= 0 && other < p->npiece && p->figure[other].node.known) {
        const struct pulse_baseline_node *to = &p->figure[other].node;
        double part = (t - own->pos) / (to->pos - own->pos);
        level = own->level + part * (to->level - own->level);
        scale += part * (1 / to->sigma - 1 / own->sigma);
    }
    return (v - level) * scale;
}

static void plain_rest(struct plain *p)
{
    for (int64_t k = 0; k < p->npiece; k++)
        for (int j = 0; j < PLAIN_PARTS; j++) {
            double at =
                ((double)(k * PLAIN_PARTS + j) + 0.5) * (double)p->length / PLAIN_PARTS - 0.5;
            p->rest[k][j] = plain_flatten(p, k, at, p->figure[k].level[j]);
        }
    for (int64_t k = 0; k < p->npiece; k++) {
        int64_t a = k >= PLAIN_WINDOW ? k - PLAIN_WINDOW + 1 : 0;
        double n, least = PLAIN_PARTS / (double)p->length;
        double square = plain_square(p->rest[a], (size_t)(k - a + 1), PLAIN_PARTS, &n);
        double bound = 6 * sqrt(fmax(square, least));
        for (int j = 0; j < PLAIN_PARTS; j++)
            p->bounded[k][j] =
                isnan(p->rest[k][j]) ? NAN : fmax(fmin(p->rest[k][j], bound), -bound);
    }
}

/* The level of part "at" of the whole series smoothed n times over, as piece k sees it: no further
 * than two pieces on either side.  NAN: there is none. */
static double plain_smooth(const struct plain *p, int64_t k, int64_t at, int n)
{
    if (at < (k - 2) * PLAIN_PARTS || at >= (k + 3) * PLAIN_PARTS)
        return NAN;
    if (n == 0 && (at < 0 || at >= p->npiece * PLAIN_PARTS))
        return NAN;
    if (n == 0)
        return p->bounded[at / PLAIN_PARTS][at % PLAIN_PARTS];
    double sum = 0, weight = 0;
    for (int side = -1; side <= 1; side++) {
        double v = plain_smooth(p, k, at + side * (1 << (n - 1)), n - 1), w = side ? 1 : 2;
        if (!isnan(v))
            sum += w * v, weight += w;
    }
    return weight > 0 ? sum / weight : NAN;
}

/* How far part j of piece k is from what a baseline of length n would be without it. */
static double plain_error(const struct plain *p, int64_t k, int j, int n)
{
    if (n == 0)
        return p->rest[k][j] * 36 / 35;
    double own = 1 / pow(2, n);
    return (p->rest[k][j] - plain_smooth(p, k, k * PLAIN_PARTS + j, n)) / (1 - own);
}

static void plain_lengths(struct plain *p)
{
    double *error[PLAIN_LENGTHS];
    for (int n = 0; n < PLAIN_LENGTHS; n++) {
        error[n] = tap_take((size_t)p->npiece * PLAIN_PARTS, sizeof **error);
        for (int64_t k = 0; k < p->npiece; k++)
            for (int j = 0; j < PLAIN_PARTS; j++)
                error[n][k * PLAIN_PARTS + j] = plain_error(p, k, j, n);
    }
    for (int64_t k = 0; k < p->npiece; k++) {
        int64_t b = k + 2 < p->npiece ? k + 2 : p->npiece - 1;
        int64_t a = b >= PLAIN_WINDOW ? b - PLAIN_WINDOW + 1 : 0;
        double scatter[PLAIN_LENGTHS], count;
        int best = 0;
        p->baseline[k] = p->fixed;
        if (p->fixed >= 0)
            continue;
        for (int n = 0; n < PLAIN_LENGTHS; n++)
            scatter[n] = sqrt(
                plain_square(error[n] + a * PLAIN_PARTS, (size_t)(b - a + 1), PLAIN_PARTS, &count));
        for (int n = PLAIN_LENGTHS - 1; n > 0; n--)
            best = scatter[n] < 0.97 * scatter[best] ? n : best;
        if (k && scatter[best] > 0.97 * scatter[p->baseline[k - 1]])
            best = p->baseline[k - 1];
        p->baseline[k] = best;
    }
    for (int n = 0; n < PLAIN_LENGTHS; n++)
        free(error[n]);
}

static void plain_correct_piece(struct plain *p, int64_t k)
{
    double edge[PLAIN_PARTS + 2], part = (double)p->length / PLAIN_PARTS;
    size_t from = (size_t)k * p->length, to = from + p->length;
    for (int j = 0; j < PLAIN_PARTS + 2; j++) {
        edge[j] = p->baseline[k] ? plain_smooth(p, k, k * PLAIN_PARTS + j - 1, p->baseline[k]) : 0;
        edge[j] = isnan(edge[j]) ? 0 : edge[j];
    }
    for (size_t t = from; t < to && t < p->n; t++) {
        double v = (double)p->x[t], at = ((double)(t - from) + 0.5) / part + 0.5;
        v = fabs(v) <= 1e30 ? plain_flatten(p, k, (double)t, v) : NAN;
        v -= edge[(int)at] + (at - floor(at)) * (edge[(int)at + 1] - edge[(int)at]);
        p->z[t] = isnan(v) ? -INFINITY : v;
    }
}

/* --- scatter of boxcars ----------------------------------------------------------------------- */

/* S/N of the boxcar [first, first + width) of z [n]; minus infinity where it does not fit. */
__attribute__((unused)) static double boxcar_plainly(const double *z, size_t n, int64_t first,
                                                     int width)
{
    if (first < 0 || first + width > (int64_t)n)
        return -INFINITY;
    double sum = 0;
    for (int64_t t = first; t < first + width; t++)
        sum += z[t];
    return sum / sqrt((double)width);
}

/* What smoothing by a normal curve leaves of the square of a boxcar, by Simpson's rule. */
static double plain_share(double width, double variance)
{
    enum { STEPS = 2000 };
    double sum = 0, h = width / STEPS;
    for (int j = 0; j <= STEPS; j++) {
        double u = j * h, v = (1 - u / width) * exp(-u * u / (2 * variance));
        sum += v * (j == 0 || j == STEPS ? 1 : j % 2 ? 4 : 2);
    }
    return 2 * sum * h / 3 / sqrt(2 * M_PI * variance);
}

/* Scatter of a boxcar's S/N in white noise, less a baseline of length n. */
static double plain_white(double width, double length, int n)
{
    double part = length / 8, variance = part * part * (n ? (pow(4, n) - 1) / 6 + 0.25 : 648);
    return sqrt(1 - 2 * plain_share(width, variance) + plain_share(width, 2 * variance));
}

static void plain_norms(struct plain *p)
{
    double *draw = tap_take((size_t)p->npiece * PLAIN_DRAWS, sizeof *draw);
    int64_t step = 1;
    while (2 * step * PLAIN_DRAWS <= (int64_t)p->length)
        step *= 2;
    for (int i = 0; i < NLIST && list_of_widths[i] <= (int)p->maxwidth; i++) {
        int w = list_of_widths[i];
        double white[PLAIN_LENGTHS], count;
        for (int n = 0; n < PLAIN_LENGTHS; n++)
            white[n] = plain_white(w, (double)p->length, n);
        for (int64_t k = 0; k < p->npiece; k++)
            for (int d = 0; d < PLAIN_DRAWS; d++) {
                int64_t end = k * (int64_t)p->length + step * (d + 1);
                draw[k * PLAIN_DRAWS + d] =
                    boxcar_plainly(p->z, p->n, end - w, w) / white[p->baseline[k]];
            }
        for (int64_t k = 0; k < p->npiece; k++) {
            int64_t b = k + 3 < p->npiece ? k + 3 : p->npiece - 1;
            int64_t a = b >= PLAIN_WINDOW ? b - PLAIN_WINDOW + 1 : 0;
            double square =
                plain_square(draw + a * PLAIN_DRAWS, (size_t)(b - a + 1), PLAIN_DRAWS, &count);
            double crowd = 1, more = square - 1;
            for (int64_t delay = step; delay < w; delay += step)
                crowd += 2 * pow(1 - (double)delay / w, 2);
            double allowed = 4.5 * sqrt(2 * crowd / count);
            more = count == 0 || fabs(more) <= allowed ? 0 : more - copysign(allowed, more);
            p->norm[k][i] = 1 / sqrt(w) / white[p->baseline[k]] / sqrt(1 + more);
        }
    }
    free(draw);
}

/* --- the whole -------------------------------------------------------------------------------- */

__attribute__((unused)) static struct plain plain_prepare(const float *x, size_t n, size_t maxwidth,
                                                          int fixed)
{
    struct plain p = {.x = x, .n = n, .maxwidth = maxwidth, .fixed = fixed, .storm = 4};
    p.length = psr_pulse_piece_length(maxwidth);
    p.npiece = (int64_t)((n + p.length - 1) / p.length);
    size_t m = (size_t)p.npiece;
    p.figure = tap_take(m, sizeof *p.figure);
    p.rest = tap_take(m, sizeof *p.rest);
    p.bounded = tap_take(m, sizeof *p.bounded);
    p.baseline = tap_take(m, sizeof *p.baseline);
    p.norm = tap_take(m, sizeof *p.norm);
    p.z = tap_take(n, sizeof *p.z);
    plain_knots(&p);
    plain_rest(&p);
    plain_lengths(&p);
    for (int64_t k = 0; k < p.npiece; k++)
        plain_correct_piece(&p, k);
    plain_norms(&p);
    return p;
}

static void plain_free(struct plain *p)
{
    free(p->figure);
    free(p->rest);
    free(p->bounded);
    free(p->baseline);
    free(p->norm);
    free(p->z);
}

/* --- what is a pulse -------------------------------------------------------------------------- */

struct plain_box {
    int64_t first, end;
    double snr, level; /* level: mean of its samples */
    double
        merit; /* what it is chosen by: S/N or height if both are above 8, else a little of S/N */
    int width;
};

/* All of one series above threshold, best first, and what is known of them. */
struct plain_pick {
    const struct plain *p;
    const double *sum;             /* [n + 1] of samples up to each, those without data as 0 */
    const int *hole;               /* [n + 1] samples without data up to each */
    struct plain_box *every, *box; /* all, and those of a region */
    size_t nevery, nbox;
    int64_t start;        /* of the region */
    unsigned char *taken; /* [n] */
    int64_t cut[512][2];
    size_t ncut;
};

static int compare_boxes(const void *pa, const void *pb)
{
    const struct plain_box *a = pa, *b = pb;
    int64_t at = a->first + a->width / 2, than = b->first + b->width / 2;
    if ((float)a->merit != (float)b->merit)
        return a->merit > b->merit ? -1 : 1;
    if (at != than)
        return at < than ? -1 : 1;
    return a->width - b->width;
}

static double plain_sum(const struct plain_pick *s, int64_t first, int64_t end)
{
    return s->hole[end] > s->hole[first] ? -INFINITY : s->sum[end] - s->sum[first];
}

static double plain_norm_at(const struct plain *p, int i, int64_t last)
{
    return p->norm[last / (int64_t)p->length][i];
}

/* Boxcars that end before the region are measured by its first piece. */
static double plain_norm_in(const struct plain_pick *s, int i, int64_t last)
{
    return plain_norm_at(s->p, i, last > s->start ? last : s->start);
}

static bool plain_is_free(const struct plain_pick *s, const struct plain_box *b)
{
    for (size_t c = 0; c < s->ncut; c++)
        if (b->first < s->cut[c][0] && b->end > s->cut[c][1])
            return false;
    for (int64_t t = b->first; t < b->end; t++)
        if (s->taken[t])
            return false;
    return true;
}

/* Whether a boxcar of samples from .. to - 1 lies six standard deviations below a level. */
static bool plain_valley(const struct plain_pick *s, int64_t from, int64_t to, double level)
{
    for (int i = 0; i < NLIST && list_of_widths[i] <= (int)s->p->maxwidth; i++)
        for (int64_t t = from; t + list_of_widths[i] <= to; t++)
            if ((level * list_of_widths[i] - plain_sum(s, t, t + list_of_widths[i])) *
                    plain_norm_in(s, i, t + list_of_widths[i] - 1) >=
                PLAIN_VALLEY)
                return true;
    return false;
}

static void plain_take(struct plain_pick *s, int64_t from, int64_t to)
{
    memset(s->taken + from, 1, (size_t)(to - from));
}

/* Gives b to what is taken beside it, if no valley parts them. */
static bool plain_shoulder(struct plain_pick *s, const struct plain_box *b)
{
    int64_t reach = (int64_t)s->p->maxwidth, before = b->first - 1, after = b->end;
    while (before >= 0 && before >= b->first - reach && !s->taken[before])
        before--;
    while (after < (int64_t)s->p->n && after < b->end + reach && !s->taken[after])
        after++;
    if (before >= 0 && before >= b->first - reach &&
        !plain_valley(s, before + 1, b->first, b->level)) {
        plain_take(s, before, b->end);
        return true;
    }
    if (after < (int64_t)s->p->n && after < b->end + reach &&
        !plain_valley(s, b->end, after, b->level)) {
        plain_take(s, b->first, after + 1);
        return true;
    }
    return false;
}

/* The best narrower boxcar centred in b that lies before (after) a place. */
static const struct plain_box *plain_side(const struct plain_pick *s, const struct plain_box *b,
                                          int64_t place, bool after)
{
    for (size_t j = 0; j < s->nbox; j++) {
        const struct plain_box *q = &s->box[j];
        int64_t centre = q->first + q->width / 2;
        if (q->width < b->width && centre >= b->first && centre < b->end &&
            (after ? q->first >= place : q->end <= place) && plain_is_free(s, q))
            return q;
    }
    return NULL;
}

/* Cuts across the valley of b, if it has one and the two boxcars beside it hold more than it; of valleys
 * between the same two across the narrowest, and of these the earliest. */
static bool plain_bridge(struct plain_pick *s, const struct plain_box *b)
{
    double most = b->merit * b->merit;
    int64_t at = 0, width = 0;
    for (int i = 0; i < NLIST && list_of_widths[i] < b->width; i++)
        for (int64_t first = b->first + 1; first + list_of_widths[i] < b->end; first++) {
            const int64_t end = first + list_of_widths[i];
            const struct plain_box *p = plain_side(s, b, first, false);
            const struct plain_box *q = plain_side(s, b, end, true);
            double both = p && q ? p->merit * p->merit + q->merit * q->merit : 0;
            if (both > most &&
                (fmin(p->level, q->level) * (double)(end - first) - plain_sum(s, first, end)) *
                        plain_norm_in(s, i, end - 1) >=
                    PLAIN_VALLEY)
                most = both, at = first, width = end - first;
        }
    if (width) {
        s->cut[s->ncut][0] = at;
        s->cut[s->ncut++][1] = at + width;
    }
    return width > 0;
}

static void plain_collect(struct plain_pick *s, double threshold)
{
    const struct plain *p = s->p;
    double *sum = tap_take(p->n + 1, sizeof *sum);
    int *hole = tap_take(p->n + 1, sizeof *hole);
    for (size_t t = 0; t < p->n; t++) {
        bool good = p->z[t] > -INFINITY;
        sum[t + 1] = sum[t] + (good ? p->z[t] : 0);
        hole[t + 1] = hole[t] + !good;
    }
    s->sum = sum, s->hole = hole;
    s->taken = tap_take(p->n, 1);
    s->every = tap_take(p->n * NLIST, sizeof *s->every);
    s->box = tap_take(p->n * NLIST, sizeof *s->box);
    for (int i = 0; i < NLIST && list_of_widths[i] <= (int)p->maxwidth; i++)
        for (int64_t t = 0; t + list_of_widths[i] <= (int64_t)p->n; t++) {
            int w = list_of_widths[i];
            double v = plain_sum(s, t, t + w), snr = v * plain_norm_at(p, i, t + w - 1);
            double height = v / sqrt(w);
            if (snr >= threshold)
                s->every[s->nevery++] = (struct plain_box){
                    t, t + w, snr, v / w, fmin(height, snr) > 8 ? fmin(height, snr) : snr * 0x1p-32,
                    w};
        }
    qsort(s->every, s->nevery, sizeof *s->every, compare_boxes);
}

struct plain_events {
    struct psr_event *event;
    size_t n;
    int64_t barrier; /* samples before it belong to events */
};

/* The events of boxcars that end in pieces a .. b - 1, but for those that end after "limit". */
static void plain_settle(struct plain_pick *s, int64_t a, int64_t b, int64_t limit,
                         struct plain_events *found)
{
    int64_t length = (int64_t)s->p->length, seen = a * length - (int64_t)s->p->maxwidth + 1;
    int64_t barrier = found->barrier;
    s->start = a * length;
    s->nbox = s->ncut = 0;
    for (size_t j = 0; j < s->nevery; j++)
        if ((s->every[j].end - 1) / length >= a && (s->every[j].end - 1) / length < b)
            s->box[s->nbox++] = s->every[j];
    for (int64_t t = 0; t < (int64_t)s->p->n; t++)
        s->taken[t] = t >= seen && t < found->barrier;
    for (size_t j = 0; j < s->nbox; j++) {
        const struct plain_box *q = &s->box[j];
        if (!plain_is_free(s, q) || plain_shoulder(s, q) || plain_bridge(s, q))
            continue;
        plain_take(s, q->first, q->end);
        if (q->end > limit)
            continue;
        found->event[found->n++] = (struct psr_event){q->snr, q->first + q->width / 2, q->width, 0};
        barrier = q->end > barrier ? q->end : barrier;
    }
    found->barrier = barrier;
}

/* Pieces above threshold in a row are settled together; of more than a storm the first half, when the next
 * comes. */
static void plain_settle_all(struct plain_pick *s, struct plain_events *found)
{
    bool *loud = tap_take((size_t)s->p->npiece, sizeof *loud);
    int64_t length = (int64_t)s->p->length, a = 0, have = 0;
    for (size_t j = 0; j < s->nevery; j++)
        loud[(s->every[j].end - 1) / length] = true;
    for (int64_t k = 0; k < s->p->npiece; k++) {
        if (have && !loud[k]) {
            plain_settle(s, a, k, INT64_MAX, found);
            have = 0;
        } else if (have == s->p->storm) {
            plain_settle(s, a, k, (a + have / 2) * length, found);
            a += have / 2, have -= have / 2;
        }
        a = have ? a : k;
        have += loud[k];
    }
    if (have)
        plain_settle(s, a, s->p->npiece, INT64_MAX, found);
    free(loud);
}

/* What is a pulse in flattened samples.  Returned: *events, malloc'd, by sample, and how many */
static size_t plain_find_events(const struct plain *p, double threshold, struct psr_event **events)
{
    struct plain_pick s = {.p = p};
    struct plain_events found = {.event = tap_take(p->n + 1, sizeof **events),
                                 .barrier = INT64_MIN};
    plain_collect(&s, threshold);
    plain_settle_all(&s, &found);
    qsort(found.event, found.n, sizeof *found.event, compare_in_time);
    free((void *)s.sum);
    free((void *)s.hole);
    free(s.taken);
    free(s.every);
    free(s.box);
    *events = found.event;
    return found.n;
}

/* The search of one series.  Returned: *events, malloc'd, by sample, and how many */
__attribute__((unused)) static size_t search_plainly(const float *x, size_t n, size_t maxwidth,
                                                     int fixed, double threshold,
                                                     struct psr_event **events)
{
    struct plain p = plain_prepare(x, n, maxwidth, fixed);
    size_t found = plain_find_events(&p, threshold, events);
    plain_free(&p);
    return found;
}

#endif
