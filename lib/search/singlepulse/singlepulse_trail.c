/* Searches a series from what was before alone, part by part, so that a pulse is known soon after its end. */
#include "singlepulse_internal.h"

#include <math.h>
#include <string.h>

/* --- adapts the search to the noise: scatter of boxcars, several columns side by side --------- */

enum { COLUMNS = PULSE_COLUMNS };

/* --- scatter in white noise ------------------------------------------------------------------- */

/* Share of a boxcar's sum that smoothing by a normal curve of that variance keeps. */
static double find_share(double width, double variance)
{
    double r = sqrt(2 * variance);
    return erf(width / r) - r / (sqrt(M_PI) * width) * (1 - exp(-width * width / (2 * variance)));
}

/* Scatter of the S/N of white noise once a baseline was taken off: smoothing over 2^n - 1 parts on
 * either side, a triangle, between the middles of parts is close to a normal curve of the same
 * variance; and so are the nodes', to their nine pieces. */
static double find_white_scatter(double width, double length, int n)
{
    double part = length / PULSE_PARTS, nodes = PULSE_PARTS * (2 * PULSE_REACH + 1);
    double variance = n ? (pow(4, n) - 1) / 6 + 0.25 : nodes * nodes / 8;
    variance *= part * part;
    return sqrt(1 - 2 * find_share(width, variance) + find_share(width, 2 * variance));
}

/* Boxcars every "step" samples that count as one in white noise, as they share samples: the sum of
 * squares of their correlations. */
static double find_crowd(double width, double step)
{
    double sum = 1;
    for (double delay = step; delay < width; delay += step)
        sum += 2 * (1 - delay / width) * (1 - delay / width);
    return sum;
}

void psr_pulse_set_scale(struct pulse_scale *s, size_t maxwidth, size_t length, int fixed)
{
    int c = 0;
    *s = (struct pulse_scale){.maxwidth = (int32_t)maxwidth, .step = 1, .fixed = fixed};
    while (2 * (size_t)s->step * PULSE_DRAWS <= length)
        s->step *= 2;
#define SET_UNIT(width, a, b, searched)                                                            \
    if (searched && width <= s->maxwidth) {                                                        \
        for (int n = 0; n < PULSE_LENGTHS; n++)                                                    \
            s->unit[n][c] =                                                                        \
                (float)(1 / (sqrt(width) * find_white_scatter(width, (double)length, n)));         \
        s->crowd[c] = find_crowd(width, s->step);                                                  \
        c++;                                                                                       \
    }
    SET_UNIT(1, 0, 0, true)
    PULSE_RECIPES(SET_UNIT)
#undef SET_UNIT
    s->nwidth = c;
}

/* What a baseline of length n averages over, in pieces: its weights, a triangle's, have an inverse sum
 * of squares of 3 s^3 / (2 s^2 + 1) parts, s = 2^n. */
static double find_span(int n, bool causal)
{
    if (causal)
        return (double)PULSE_TRAILING(n) / PULSE_PARTS;
    double side = pow(2, n);
    return n ? 3 * side * side * side / (2 * side * side + 1) / PULSE_PARTS : 2 * PULSE_REACH + 1;
}

int psr_pulse_choose_fixed(double samples, size_t length, bool causal)
{
    int best = 0;
    for (int n = 1; n < PULSE_LENGTHS; n++)
        if (fabs(log(samples / (find_span(n, causal) * (double)length))) <
            fabs(log(samples / (find_span(best, causal) * (double)length))))
            best = n;
    return best;
}

double psr_pulse_span(int n, size_t length, bool causal)
{
    return find_span(n, causal) * (double)length;
}

/* --- columns side by side --------------------------------------------------------------------- */

/* Compiled into the functions below, where "columns" is a number. */
#define INLINE static inline __attribute__((always_inline))

/* Puts the smaller of each column into a. */
INLINE void exchange(float *restrict a, float *restrict b, int columns)
{
    for (int c = 0; c < columns; c++) {
        float x = a[c], y = b[c];
        a[c] = x < y ? x : y;
        b[c] = x < y ? y : x;
    }
}

/* Sorts each column of n rows, by Batcher's exchanges. */
INLINE void sort_columns(float *v, int n, int columns)
{
    int top = 1;
    while (2 * top < n)
        top *= 2;
    for (int p = top; p > 0; p /= 2)
        for (int q = top, r = 0, d = p;; d = q - p, q /= 2, r = p) {
            for (int i = 0; i < n - d; i++)
                if ((i & p) == r)
                    exchange(v + i * columns, v + (i + d) * columns, columns);
            if (q == p)
                break;
        }
}

/* As pulse_take_middle, of each column. */
INLINE void take_middles(float *middle, float *size, int n, int least, int columns)
{
    int32_t have[COLUMNS] = {0};
    for (int j = 0; j < n; j++)
        for (int c = 0; c < columns; c++)
            have[c] += size[j * columns + c] < INFINITY;
    sort_columns(size, n, columns);
    for (int c = 0; c < columns; c++)
        middle[c] = have[c] < least ? INFINITY : size[have[c] / 2 * columns + c];
}

INLINE void add_squares(float *restrict sum, float *restrict n, const float *restrict v, int rows,
                        const float *restrict limit, int columns)
{
    float s[COLUMNS], m[COLUMNS];
    for (int c = 0; c < columns; c++)
        s[c] = sum[c], m[c] = n[c];
    for (int j = 0; j < rows; j++)
        for (int c = 0; c < columns; c++) {
            float x = v[j * columns + c], near = fabsf(x) <= limit[c] ? 1.0f : 0.0f;
            x = near > 0 ? x : 0.0f;
            s[c] += x * x;
            m[c] += near;
        }
    for (int c = 0; c < columns; c++)
        sum[c] = s[c], n[c] = m[c];
}

PSR_CLONES
static void size_draws(float *middle, const float *v)
{
    float size[PULSE_DRAWS * COLUMNS];
    for (int j = 0; j < PULSE_DRAWS * COLUMNS; j++) {
        float s = fabsf(v[j]);
        size[j] = s <= PULSE_HUGE ? s : INFINITY;
    }
    take_middles(middle, size, PULSE_DRAWS, PULSE_LEAST, COLUMNS);
}

void psr_pulse_size_draws(struct pulse_figures *f)
{
    size_draws(f->draw_size, f->draw[0]);
}

PSR_CLONES
static void find_draw_limits(float *limit, float *size, int n)
{
    take_middles(limit, size, n, 1, COLUMNS);
    for (int c = 0; c < COLUMNS; c++)
        limit[c] = pulse_limit(limit[c]);
}

PSR_CLONES
static void add_draws(float *sum, float *n, const float *v, const float *limit)
{
    add_squares(sum, n, v, PULSE_DRAWS, limit, COLUMNS);
}

void psr_pulse_find_norms(struct pulse_figures *ring, int64_t nring, const struct pulse_scale *s,
                          int64_t k, int64_t b)
{
    struct pulse_figures *f = &ring[k % nring];
    float size[PULSE_WINDOW][COLUMNS], limit[COLUMNS], sum[COLUMNS] = {0}, n[COLUMNS] = {0};
    int64_t a = pulse_window(b);
    for (int64_t q = a; q <= b; q++)
        memcpy(size[q - a], ring[q % nring].draw_size, sizeof *size);
    find_draw_limits(limit, size[0], (int)(b - a + 1));
    for (int64_t q = a; q <= b; q++)
        add_draws(sum, n, ring[q % nring].draw[0], limit);
    for (int c = 0; c < s->nwidth; c++)
        f->norm[c] = pulse_find_norm(s->unit[f->length][c], pulse_mean_square(sum[c], n[c]), n[c],
                                     s->crowd[c]);
}

PSR_CLONES
static void find_test_limits(float *limit, float *size, int n)
{
    take_middles(limit, size, n, 1, PULSE_TESTS);
    for (int c = 0; c < PULSE_TESTS; c++)
        limit[c] = pulse_limit(limit[c]);
}

PSR_CLONES
static void add_tests(float *sum, float *n, const float *v, const float *limit)
{
    add_squares(sum, n, v, PULSE_PARTS, limit, PULSE_TESTS);
}

void psr_pulse_test_squares(double square[PULSE_LENGTHS], const struct pulse_figures *ring,
                            int64_t nring, int64_t a, int64_t b)
{
    float size[PULSE_WINDOW][PULSE_TESTS], limit[PULSE_TESTS];
    float sum[PULSE_TESTS] = {0}, n[PULSE_TESTS] = {0};
    for (int64_t q = a; q <= b; q++)
        memcpy(size[q - a], ring[q % nring].test_size, sizeof *size);
    find_test_limits(limit, size[0], (int)(b - a + 1));
    for (int64_t q = a; q <= b; q++)
        add_tests(sum, n, ring[q % nring].test[0], limit);
    for (int c = 0; c < PULSE_LENGTHS; c++)
        square[c] = pulse_mean_square(sum[c], n[c]);
}

/* --- searches a series from what was before alone --------------------------------------------- */

enum { LANES = PULSE_LANES };

typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));
typedef int32_t masks __attribute__((vector_size(LANES * sizeof(int32_t))));

/* --- scatter in white noise ------------------------------------------------------------------- */

/* Variance of the sum over a boxcar less its baseline, per sample, as the mean over where the boxcar lies
 * among parts: each part's baseline is the mean of the r parts before it.
 * A sample counts 1 in the boxcar, and -1/(r part) in the baseline of each sample of the r parts after its
 * own. */
static double find_variance(int64_t width, int64_t part, int64_t r)
{
    double sum = 0, all = (double)(r * part);
    for (int64_t phase = 0; phase < part; phase++) {
        const int64_t last =
            (phase + width - 1) / part; /* part of its last sample; the first's is 0 */
        for (int64_t u = -r; u <= last; u++) {
            int64_t from = (u + 1) * part, to = (u + 1 + r) * part;
            int64_t begin = u * part > phase ? u * part : phase, end = (u + 1) * part;
            from = from > phase ? from : phase;
            to = to < phase + width ? to : phase + width;
            end = end < phase + width ? end : phase + width;
            double share = to > from ? (double)(to - from) / all : 0;
            double inside = end > begin ? (double)(end - begin) : 0;
            sum += inside * (1 - share) * (1 - share) + ((double)part - inside) * share * share;
        }
    }
    return sum / (double)(part * width);
}

static void set_units(struct pulse_scale *s, int c, int64_t width, int64_t part)
{
    for (int n = 0; n < PULSE_LENGTHS; n++)
        s->unit[n][c] =
            (float)(1 / sqrt((double)width * find_variance(width, part, PULSE_TRAILING(n))));
}

void psr_pulse_trail_scale(struct pulse_scale *s, size_t length)
{
    int c = 0;
#define SET_UNITS(width, a, b, searched)                                                           \
    if (searched && width <= s->maxwidth)                                                          \
        set_units(s, c++, width, (int64_t)length / PULSE_PARTS);
    SET_UNITS(1, 0, 0, true)
    PULSE_RECIPES(SET_UNITS)
#undef SET_UNITS
}

/* --- from before ------------------------------------------------------------------------------ */

/* A series and its state while piece k is at work. */
struct walk {
    const struct psr_singlepulse *p;
    struct pulse_series_state *series;
    struct pulse_trail *trail;
    struct pulse_figures *figure; /* of the piece */
    struct pulse_bench *bench;
    size_t trial, part; /* samples of a part */
    int64_t k;
};

static void set_piece(struct walk *w, int64_t k)
{
    w->k = k;
    w->figure = &w->series->figure[k % PULSE_KEPT];
}

static double *level_of(const struct walk *w, int64_t s)
{
    return &w->trail->level[s % PULSE_TRAIL];
}

/* Of the nine pieces before piece k, from the last that began anew.  0: there is none */
static double find_scatter(const struct walk *w)
{
    struct pulse_near near;
    struct pulse_tile all;
    double noisy;
    const int64_t k = w->k, centre = k > PULSE_REACH ? k - PULSE_REACH - 1 : 0;
    int64_t first = centre > PULSE_REACH ? centre - PULSE_REACH : 0;
    first = first > w->trail->since ? first : w->trail->since;
    pulse_take_near(&near, w->series->figure, PULSE_KEPT, centre, first, k - 1);
    pulse_join_pieces(&all, &near, 0, PULSE_AROUND_NODE - 1, INFINITY);
    return all.pieces ? pulse_find_scatter(&near, &all, &noisy) : 0;
}

/* Means of the levels of the last parts before part s, of each length; one without any is the next longer.
 * Returned: false where there is none at all */
static bool predict(const struct walk *w, int64_t s, double level[PULSE_LENGTHS])
{
    double sum = 0, count = 0;
    int n = PULSE_LENGTHS - 1;
    for (int64_t back = 1; back <= PULSE_TRAIL; back++) {
        double v = back <= s ? *level_of(w, s - back) : NAN;
        if (v == v)
            sum += v, count += 1;
        if (back == PULSE_TRAILING(n))
            level[n--] = count > 0 ? sum / count : NAN;
    }
    for (n = 1; n < PULSE_LENGTHS; n++)
        if (isnan(level[n]))
            level[n] = level[n - 1];
    return count > 0;
}

/* All that is known of the piece before its first sample. */
static void begin_piece(struct walk *w)
{
    const struct psr_singlepulse *p = w->p;
    struct pulse_figures *ring = w->series->figure, *f = w->figure;
    struct pulse_trail *t = w->trail;
    double square[PULSE_LENGTHS], least = 1 / (double)w->part;
    const int64_t k = w->k, a = pulse_window(k - 1);
    psr_pulse_test_squares(square, ring, PULSE_KEPT, a, k - 1);
    f->length = p->scale.fixed >= 0
                    ? p->scale.fixed
                    : pulse_choose_length(square, k ? ring[(k - 1) % PULSE_KEPT].length : -1);
    double largest = square[f->length] > least ? square[f->length] : least;
    t->bound = (double)PULSE_BOUND * sqrt(largest);
    t->scatter = find_scatter(w);
    t->ndead = 0;
    t->known = predict(w, k * PULSE_PARTS, t->predicted[0]) && t->scatter > 0;
    psr_pulse_find_norms(ring, PULSE_KEPT, &p->scale, k, k - 1);
}

/* --- parts ------------------------------------------------------------------------------------ */

PSR_CLONES
static void flatten_part(float *restrict z, const float *restrict x, size_t n, double level,
                         double scale)
{
    for (size_t j = 0; j < n; j++)
        z[j] = pulse_flatten_sample(x[j], 0, level, 0, scale, 0);
}

/* Of the samples that are there: their number, and the sums of them and of their squares. */
struct part_sums {
    double good, sum, square;
};

/* Samples that are at most so large.  Given:  z [n], a multiple of lanes */
PSR_CLONES
static void add_part(struct part_sums *all, const float *z, size_t n, float limit)
{
    lanes sum = {0}, square = {0}, good = {0}, one = good + 1.0f;
    for (size_t j = 0; j < n; j += LANES) {
        lanes v;
        memcpy(&v, z + j, sizeof v);
        masks near_line = (masks)(v <= limit) & (masks)(v >= -limit);
        v = (lanes)((masks)v & near_line);
        good += (lanes)((masks)one & near_line);
        sum += v;
        square += v * v;
    }
    *all = (struct part_sums){0};
    for (int l = 0; l < LANES; l++) {
        all->good += (double)good[l];
        all->sum += (double)sum[l];
        all->square += (double)square[l];
    }
}

/* A part far quieter than what was before holds no data. */
static bool is_dead(const float *z, size_t n)
{
    struct part_sums s;
    add_part(&s, z, n, PULSE_HUGE);
    if (s.good < PULSE_MIN_GOOD)
        return false;
    double mean = s.sum / s.good;
    return s.square / s.good - mean * mean < PULSE_QUIET * PULSE_QUIET;
}

static double bound_level(const struct pulse_trail *t, double off)
{
    return fmax(fmin(off, t->bound), -t->bound) * t->scatter;
}

/* The level of a part, until its piece is measured. */
static double find_level(const struct walk *w, const float *z, size_t n, double level)
{
    struct part_sums s;
    add_part(&s, z, n, (float)PULSE_CLIP);
    return 4 * s.good >= (double)w->part ? level + bound_level(w->trail, s.sum / s.good) : NAN;
}

/* Flattens n samples of part j, and pads them to whole lanes.  Returned: them, with those before */
static const float *take_part(const struct walk *w, int j, size_t n)
{
    struct pulse_trail *t = w->trail;
    const size_t at = (size_t)j * w->part;
    const int64_t s = w->k * PULSE_PARTS + j;
    double level = t->predicted[j][w->figure->length];
    float *before = t->flat + at, *z = before + w->p->maxwidth - 1;
    size_t padded = (n + LANES - 1) / LANES * LANES;
    flatten_part(z, t->raw + at, n, level, t->scatter > 0 ? 1 / t->scatter : 0);
    for (size_t i = n; i < padded; i++)
        z[i] = -INFINITY;
    bool dead = !(t->scatter > 0) || is_dead(z, padded);
    for (size_t i = 0; i < n && dead; i++)
        z[i] = -INFINITY;
    t->ndead += dead;
    *level_of(w, s) = dead ? NAN : find_level(w, z, padded, level);
    return before;
}

static bool search_part(const struct walk *w, int j, size_t n)
{
    const struct psr_singlepulse *p = w->p;
    struct pulse_peaks *picker = &w->series->picker;
    struct pulse_figures *f = w->figure;
    const int64_t s = w->k * PULSE_PARTS + j;
    const float *flat = take_part(w, j, n);
    psr_pulse_add_up(f, &p->scale, flat, (size_t)j * w->part, n, w->bench->work);
    w->trail->next = s + 1;
    if (pulse_is_loud(f, p->scale.nwidth, p->threshold))
        return psr_pulse_peak_select(picker, &w->bench->room, s, flat, n, f->norm, w->trial);
    return psr_pulse_settle(picker, &w->bench->room, w->trial);
}

/* --- pieces ----------------------------------------------------------------------------------- */

static void measure_piece(const struct walk *w, size_t n)
{
    struct pulse_figures *f = w->figure;
    psr_pulse_measure(&f->piece, f->level, w->trail->raw, n, w->p->length,
                      w->k * (int64_t)w->p->length, w->bench->work);
}

/* Before anything is known a piece is measured by itself. */
static bool search_first(const struct walk *w, size_t n)
{
    struct pulse_trail *t = w->trail;
    bool fine = true;
    measure_piece(w, n);
    t->scatter = w->figure->piece.good > 0 ? w->figure->piece.sigma : 0;
    for (int j = 0; j < PULSE_PARTS; j++)
        for (int l = 0; l < PULSE_LENGTHS; l++)
            t->predicted[j][l] = w->figure->piece.level;
    for (size_t at = 0, j = 0; at < n && fine; at += w->part, j++)
        fine = search_part(w, (int)j, n - at < w->part ? n - at : w->part);
    return fine;
}

/* Whether the level or the scatter of the piece are not those of what was before. */
static bool has_jumped(const struct walk *w)
{
    const struct pulse_trail *t = w->trail;
    const struct pulse_piece *own = &w->figure->piece;
    double sum = 0, ratio = own->sigma / t->scatter;
    for (int j = 0; j < PULSE_PARTS; j++)
        sum += t->predicted[j][w->figure->length];
    return fabs(own->level - sum / PULSE_PARTS) > PULSE_JUMP * t->scatter || ratio > PULSE_LOUDER ||
           ratio * PULSE_LOUDER < 1;
}

/* The levels of a whole piece take the place of those found part by part, and show how good each length's
 * baseline was. */
static void learn_levels(const struct walk *w)
{
    struct pulse_trail *t = w->trail;
    struct pulse_figures *f = w->figure;
    bool jumped = t->known && has_jumped(w);
    t->since = jumped ? w->k : t->since;
    for (int s = 0; s < PULSE_TRAIL && jumped; s++)
        t->level[s] = NAN;
    for (int j = 0; j < PULSE_PARTS; j++) {
        const double before = t->predicted[j][f->length];
        double *level = level_of(w, w->k * PULSE_PARTS + j);
        for (int l = 0; l < PULSE_LENGTHS && t->known && !isnan(*level); l++)
            f->test[j][l] = (float)((f->level[j] - t->predicted[j][l]) / t->scatter);
        if (jumped || !t->known)
            *level = f->level[j];
        else if (!isnan(*level) && !isnan(f->level[j]))
            *level = before + bound_level(t, (f->level[j] - before) / t->scatter);
        else
            *level = NAN;
    }
}

/* A piece that has no data in part tells nothing; one that is quiet throughout may be a new beginning. */
static void end_piece(const struct walk *w)
{
    struct pulse_trail *t = w->trail;
    struct pulse_figures *f = w->figure;
    bool data = f->piece.good > 0 && f->piece.sigma > 0 && t->scatter > 0;
    for (int j = 0; j < PULSE_PARTS; j++)
        for (int l = 0; l < PULSE_LENGTHS; l++)
            f->test[j][l] = NAN;
    if (data && (!t->ndead || (t->known && t->ndead == PULSE_PARTS)))
        learn_levels(w);
    else
        f->piece.good = 0;
    for (int j = 0; j < PULSE_PARTS && !(f->piece.good > 0 || t->known); j++)
        *level_of(w, w->k * PULSE_PARTS + j) = NAN;
    for (int l = 0; l < PULSE_LENGTHS; l++)
        f->test_size[l] = pulse_size_parts(f->test[0] + l, PULSE_TESTS);
    psr_pulse_size_draws(f);
    memmove(t->flat, t->flat + w->p->length, (w->p->maxwidth - 1) * sizeof *t->flat);
}

/* Searches what the sample before "at" of the piece completes. */
static bool advance(struct walk *w, size_t at)
{
    const int j = (int)(at / w->part) - 1;
    bool fine = true;
    if (j == 0)
        begin_piece(w);
    if (w->trail->known) {
        if (j > 0)
            (void)predict(w, w->k * PULSE_PARTS + j, w->trail->predicted[j]);
        fine = search_part(w, j, w->part);
    }
    if (j + 1 < PULSE_PARTS)
        return fine;
    if (w->trail->known)
        measure_piece(w, at);
    else
        fine = fine && search_first(w, at);
    end_piece(w);
    return fine;
}

static struct walk start_walk(const struct psr_singlepulse *p, size_t i, struct pulse_bench *b)
{
    return (struct walk){.p = p,
                         .series = &p->series[i],
                         .trail = &p->series[i].trail,
                         .bench = b,
                         .trial = i,
                         .part = p->length / PULSE_PARTS};
}

void psr_pulse_trail_init(struct psr_singlepulse *p, size_t i, float *samples)
{
    struct pulse_trail *t = &p->series[i].trail;
    *t = (struct pulse_trail){.raw = samples, .flat = samples + p->length};
    for (size_t j = 0; j + 1 < p->maxwidth; j++)
        t->flat[j] = -INFINITY;
    for (int s = 0; s < PULSE_TRAIL; s++)
        t->level[s] = NAN;
}

bool psr_pulse_trail_push(const struct psr_singlepulse *p, size_t i, struct pulse_bench *b,
                          const float *x, size_t n)
{
    struct walk w = start_walk(p, i, b);
    const int64_t length = (int64_t)p->length;
    bool fine = true;
    for (size_t done = 0; done < n && fine;) {
        const int64_t pos = p->pos + (int64_t)done;
        const size_t at = (size_t)(pos % length), to_end = w.part - at % w.part;
        const size_t take = n - done < to_end ? n - done : to_end;
        set_piece(&w, pos / length);
        memcpy(w.trail->raw + at, x + done, take * sizeof *x);
        psr_pulse_blank(p, i, pos, w.trail->raw + at, take);
        done += take;
        if (take == to_end)
            fine = advance(&w, at + take);
    }
    return fine;
}

bool psr_pulse_trail_finish(const struct psr_singlepulse *p, size_t i, struct pulse_bench *b)
{
    struct walk w = start_walk(p, i, b);
    const size_t at = (size_t)(p->pos % (int64_t)p->length), rest = at % w.part;
    const int j = (int)(at / w.part);
    set_piece(&w, p->pos / (int64_t)p->length);
    if (!at)
        return true;
    if (!j)
        begin_piece(&w);
    if (!w.trail->known)
        return search_first(&w, at);
    if (!rest)
        return true;
    if (j)
        (void)predict(&w, w.k * PULSE_PARTS + j, w.trail->predicted[j]);
    return search_part(&w, j, rest);
}
