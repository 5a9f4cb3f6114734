/* pulse_causal.h: the causal single-pulse search written out plainly, in double precision, for its tests. */
#ifndef PSR_PULSE_CAUSAL_H
#define PSR_PULSE_CAUSAL_H

#include "pulse_reference.h"

/* A series in parts (p.length samples each), eight of which make a piece. */
struct causal {
    struct plain p; /* z, and norms of parts */
    size_t piece;
    int64_t npart;
    double *level; /* [npart] as the next parts see it, not a number where there is none */
    double (*error)[PLAIN_PARTS]; /* [length][piece] of predictions of parts, over the scatter */
    double *draw[NLIST];          /* [piece * PLAIN_DRAWS] */
    int *baseline;                /* [piece] */
    double *sigma;                /* [piece] of its own line; 0: it has none */
    int64_t npiece, since;        /* since: piece that began anew */
    int ndead;                    /* parts of the piece without data */
};

static const int causal_back[PLAIN_LENGTHS] = {64, 32, 16, 8, 4};

/* Mean of the middle half of sigmas of equal or unequal weight: pieces of a causal search are whole, so weights
 * are their good samples. */
static double causal_midmean(const double *v, const double *weight, int n)
{
    double sorted[16][2], total = 0, sum = 0, at = 0;
    int m = 0;
    for (int j = 0; j < n; j++) {
        int k = m++;
        for (; k > 0 && sorted[k - 1][0] > v[j]; k--)
            memcpy(sorted[k], sorted[k - 1], sizeof *sorted);
        sorted[k][0] = v[j], sorted[k][1] = weight[j];
        total += weight[j];
    }
    for (int j = 0; j < m; j++) {
        double from = fmax(at, total / 4), to = fmin(at + sorted[j][1], 3 * total / 4);
        sum += fmax(to - from, 0) * sorted[j][0];
        at += sorted[j][1];
    }
    return sum / (total / 2);
}

/* Scatter that pieces before k have; 0: none. */
static double causal_scatter(const struct causal *c, int64_t k)
{
    double v[9], weight[9], all;
    int n = 0, kept = 0;
    for (int64_t q = k > 9 ? k - 9 : 0; q < k; q++)
        if (c->sigma[q] > 0 && q >= c->since)
            v[n] = c->sigma[q], weight[n++] = c->p.figure[q].piece.good;
    if (!n)
        return 0;
    all = causal_midmean(v, weight, n);
    for (int j = 0; j < n; j++)
        if (v[j] <= 2 * all)
            v[kept] = v[j], weight[kept++] = weight[j];
    return causal_midmean(v, weight, kept);
}

/* Baseline of part s, of a length or the next longer one that has any. */
static double causal_predict(const struct causal *c, int64_t s, int n)
{
    for (; n >= 0; n--) {
        double sum = 0, count = 0;
        for (int64_t q = s - causal_back[n]; q < s; q++)
            if (q >= 0 && !isnan(c->level[q]))
                sum += c->level[q], count += 1;
        if (count > 0)
            return sum / count;
    }
    return NAN;
}

/* Variance of a boxcar's S/N in white noise, by summing the weights of each sample. */
static double causal_white(int width, int64_t part, int n)
{
    int64_t r = causal_back[n], most = (r + 2) * part + width;
    double *weight = tap_take((size_t)(most + part), sizeof *weight), sum = 0;
    for (int64_t phase = 0; phase < part; phase++) {
        int64_t first = r * part + phase;
        memset(weight, 0, (size_t)(most + part) * sizeof *weight);
        for (int64_t t = first; t < first + width; t++)
            weight[t] += 1;
        for (int64_t q = first / part; q <= (first + width - 1) / part; q++) {
            double in = fmin((double)((q + 1) * part), (double)(first + width)) -
                        fmax((double)(q * part), (double)first);
            for (int64_t t = (q - r) * part; t < q * part; t++)
                weight[t] -= in / (double)(r * part);
        }
        for (int64_t t = 0; t < most + part; t++)
            sum += weight[t] * weight[t];
    }
    free(weight);
    return sqrt(sum / (double)(part * width));
}

static double causal_square(const double *v, int64_t a, int64_t b, size_t each, double *count)
{
    *count = 0;
    return b < a ? 0 : plain_square(v + (size_t)a * each, (size_t)(b - a + 1), each, count);
}

/* The length of baselines of piece k, and what parts may be off. */
static double causal_choose(struct causal *c, int64_t k)
{
    double square[PLAIN_LENGTHS], count;
    int64_t a = k >= PLAIN_WINDOW ? k - PLAIN_WINDOW : 0;
    int best = 0;
    for (int n = 0; n < PLAIN_LENGTHS; n++)
        square[n] = causal_square(c->error[(int64_t)n * c->npiece], a, k - 1, PLAIN_PARTS, &count);
    for (int n = PLAIN_LENGTHS - 1; n > 0; n--)
        best = sqrt(square[n]) < 0.97 * sqrt(square[best]) ? n : best;
    if (k && sqrt(square[best]) > 0.97 * sqrt(square[c->baseline[k - 1]]))
        best = c->baseline[k - 1];
    c->baseline[k] = c->p.fixed >= 0 ? c->p.fixed : best;
    return 6 * sqrt(fmax(square[c->baseline[k]], 1 / (double)c->p.length));
}

static void causal_norms(struct causal *c, int64_t k, double white[NLIST][PLAIN_LENGTHS])
{
    int64_t a = k >= PLAIN_WINDOW ? k - PLAIN_WINDOW : 0, step = 1;
    while (2 * step * PLAIN_DRAWS <= (int64_t)c->piece)
        step *= 2;
    for (int i = 0; i < NLIST && list_of_widths[i] <= (int)c->p.maxwidth; i++) {
        double count, w = list_of_widths[i], crowd = 1;
        double more = causal_square(c->draw[i], a, k - 1, PLAIN_DRAWS, &count) - 1;
        for (int64_t delay = step; (double)delay < w; delay += step)
            crowd += 2 * pow(1 - (double)delay / w, 2);
        double allowed = 4.5 * sqrt(2 * crowd / count);
        more = count == 0 || fabs(more) <= allowed ? 0 : more - copysign(allowed, more);
        for (int64_t s = k * PLAIN_PARTS; s < (k + 1) * PLAIN_PARTS && s < c->npart; s++)
            c->p.norm[s][i] = 1 / sqrt(w) / white[i][c->baseline[k]] / sqrt(1 + more);
    }
}

static void causal_draw(struct causal *c, int64_t k, double white[NLIST][PLAIN_LENGTHS])
{
    int64_t step = 1;
    while (2 * step * PLAIN_DRAWS <= (int64_t)c->piece)
        step *= 2;
    for (int i = 0; i < NLIST && list_of_widths[i] <= (int)c->p.maxwidth; i++)
        for (int d = 0; d < PLAIN_DRAWS; d++) {
            int64_t end = k * (int64_t)c->piece + step * (d + 1), w = list_of_widths[i];
            c->draw[i][k * PLAIN_DRAWS + d] =
                boxcar_plainly(c->p.z, c->p.n, end - w, (int)w) / white[i][c->baseline[k]];
        }
}

/* Flattens part s by a level and a scatter.  Returned: what the part counts for, before its piece is measured */
static double causal_flatten(struct causal *c, int64_t s, double level, double sigma, double bound)
{
    double sum = 0, squares = 0, good = 0, near_sum = 0, near_good = 0;
    size_t from = (size_t)s * c->p.length, to = from + c->p.length;
    to = to < c->p.n ? to : c->p.n;
    for (size_t t = from; t < to; t++) {
        double v = (double)c->p.x[t], z = (v - level) / sigma;
        bool there = fabs(v) <= 1e30 && sigma > 0;
        c->p.z[t] = there ? z : -INFINITY;
        sum += there ? z : 0, squares += there ? z * z : 0, good += there;
        near_sum += there && fabs(z) <= 3 ? z : 0, near_good += there && fabs(z) <= 3;
    }
    bool dead = !(sigma > 0) || (good >= 16 && squares / good - pow(sum / good, 2) < 1 / 16.0);
    c->ndead += dead;
    for (size_t t = from; t < to && dead; t++)
        c->p.z[t] = -INFINITY;
    if (dead || 4 * near_good < (double)c->p.length)
        return NAN;
    return level + sigma * fmax(fmin(near_sum / near_good, bound), -bound);
}

/* The levels of a measured piece replace those of its parts. */
static void causal_settle_levels(struct causal *c, int64_t k, double predicted[][PLAIN_LENGTHS],
                                 bool known, double sigma, double bound)
{
    const struct pulse_figures *f = &c->p.figure[k];
    double mean = 0;
    bool data = f->piece.good > 0 && c->sigma[k] > 0 && sigma > 0 &&
                (!c->ndead || (known && c->ndead == PLAIN_PARTS));
    for (int j = 0; j < PLAIN_PARTS * PLAIN_LENGTHS && !data; j++)
        c->error[(int64_t)(j / PLAIN_PARTS) * c->npiece + k][j % PLAIN_PARTS] = NAN;
    for (int j = 0; j < PLAIN_PARTS && !data && !known; j++)
        c->level[k * PLAIN_PARTS + j] = NAN;
    if (!data) {
        c->sigma[k] = 0;
        return;
    }
    for (int j = 0; j < PLAIN_PARTS; j++)
        mean += predicted[j][c->baseline[k]] / PLAIN_PARTS;
    double ratio = c->sigma[k] / sigma;
    bool jumped =
        known && (fabs(f->piece.level - mean) / sigma > 1 || fmax(ratio, 1 / ratio) > 1.5);
    c->since = jumped ? k : c->since;
    for (int64_t s = 0; s < k * PLAIN_PARTS && jumped; s++)
        c->level[s] = NAN;
    for (int j = 0; j < PLAIN_PARTS; j++) {
        double *level = &c->level[k * PLAIN_PARTS + j], own = predicted[j][c->baseline[k]];
        bool there = jumped || !known || !isnan(*level);
        for (int n = 0; n < PLAIN_LENGTHS; n++)
            c->error[(int64_t)n * c->npiece + k][j] =
                there && known && !jumped ? (f->level[j] - predicted[j][n]) / sigma : NAN;
        *level = !there || isnan(f->level[j]) ? NAN
                 : jumped || !known
                     ? f->level[j]
                     : own + sigma * fmax(fmin((f->level[j] - own) / sigma, bound), -bound);
    }
}

static void causal_piece(struct causal *c, int64_t k, double white[NLIST][PLAIN_LENGTHS])
{
    double predicted[PLAIN_PARTS][PLAIN_LENGTHS], bound = causal_choose(c, k);
    double sigma = causal_scatter(c, k);
    const int64_t first = k * PLAIN_PARTS;
    c->ndead = 0;
    bool known = sigma > 0 && !isnan(causal_predict(c, first, 0));
    double level = c->p.figure[k].piece.level;
    if (!known)
        sigma = c->p.figure[k].piece.good > 0 ? c->sigma[k] : 0;
    for (int64_t s = first; s < first + PLAIN_PARTS && s < c->npart; s++) {
        for (int n = 0; n < PLAIN_LENGTHS; n++)
            predicted[s - first][n] = known ? causal_predict(c, s, n) : level;
        c->level[s] = causal_flatten(c, s, predicted[s - first][c->baseline[k]], sigma, bound);
    }
    causal_norms(c, k, white);
    if ((size_t)(k + 1) * c->piece > c->p.n)
        return;
    causal_settle_levels(c, k, predicted, known, sigma, bound);
    causal_draw(c, k, white);
}

static void causal_measure(struct causal *c)
{
    float *work = tap_take(PULSE_WORK(c->piece), sizeof *work);
    for (int64_t k = 0; k < c->npiece; k++) {
        size_t from = (size_t)k * c->piece, left = c->p.n - from;
        psr_pulse_measure(&c->p.figure[k].piece, c->p.figure[k].level, c->p.x + from,
                          left < c->piece ? left : c->piece, c->piece, (int64_t)from, work);
        c->sigma[k] = c->p.figure[k].piece.good > 0 ? c->p.figure[k].piece.sigma : 0;
    }
    free(work);
}

static void causal_take(struct causal *c)
{
    c->p.figure = tap_take((size_t)c->npiece, sizeof *c->p.figure);
    c->p.norm = tap_take((size_t)c->npart, sizeof *c->p.norm);
    c->p.z = tap_take(c->p.n, sizeof *c->p.z);
    c->level = tap_take((size_t)c->npart, sizeof *c->level);
    c->error = tap_take((size_t)c->npiece * PLAIN_LENGTHS, sizeof *c->error);
    c->baseline = tap_take((size_t)c->npiece, sizeof *c->baseline);
    c->sigma = tap_take((size_t)c->npiece, sizeof *c->sigma);
    for (int i = 0; i < NLIST; i++)
        c->draw[i] = tap_take((size_t)c->npiece * PLAIN_DRAWS, sizeof *c->draw[i]);
    c->p.storm = PLAIN_PARTS;
    c->p.npiece = c->npart;
}

static void causal_free(struct causal *c)
{
    free(c->level);
    free(c->error);
    free(c->baseline);
    free(c->sigma);
    for (int i = 0; i < NLIST; i++)
        free(c->draw[i]);
}

/* As search_plainly, from what was before alone. */
__attribute__((unused)) static size_t search_causally(const float *x, size_t n, size_t maxwidth,
                                                      int fixed, double threshold,
                                                      struct psr_event **events)
{
    double white[NLIST][PLAIN_LENGTHS];
    struct causal c = {.p = {.x = x, .n = n, .maxwidth = maxwidth, .fixed = fixed}};
    c.piece = psr_pulse_piece_length(maxwidth);
    c.p.length = c.piece / PLAIN_PARTS;
    c.npiece = (int64_t)((n + c.piece - 1) / c.piece);
    c.npart = (int64_t)((n + c.p.length - 1) / c.p.length);
    causal_take(&c);
    causal_measure(&c);
    for (int i = 0; i < NLIST; i++)
        for (int l = 0; l < PLAIN_LENGTHS; l++)
            white[i][l] = list_of_widths[i] <= (int)maxwidth
                              ? causal_white(list_of_widths[i], (int64_t)c.p.length, l)
                              : 1;
    for (int64_t k = 0; k < c.npiece; k++)
        causal_piece(&c, k, white);
    size_t found = plain_find_events(&c.p, threshold, events);
    plain_free(&c.p);
    causal_free(&c);
    return found;
}

#endif
