/* Folds one block of a slice: sub-bands are summed, turned into rows, and added to phase bins. */
#include "base/threads/isa.h"

#include "fold_plan.h"
#include "search/fold/kernels/fold_sums.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- the inner loops of a fold's search, for each instruction set ----------------------------- */

struct psr_fold_loops {
    /* to[k] = left[k] + right[k] */
    void (*add)(float *to, const float *left, const float *right, size_t padded);

    /* to[k] = (left[k] + right[k]) scale, rounded; its magnitude is below 2^15. */
    void (*round)(int16_t *to, const float *left, const float *right, float scale, size_t padded);

    /* The first of the trials from .. n - 1 whose sum has a square norm of at least "least"; n: none.
     * Given: trial   [n][ngroup] places in table
     *        used   [FOLD_VECTOR] -1 for elements of the last vector that count, else 0 */
    size_t (*find)(const int16_t *table, const uint32_t *trial, size_t ngroup, size_t padded,
                   const int16_t *used, size_t from, size_t n, int32_t least);

    /* norm[i] = the square norm of trial i, i < n. */
    void (*measure)(const int16_t *table, const uint32_t *trial, size_t ngroup, size_t padded,
                    const int16_t *used, size_t n, int32_t *norm);
};

typedef int16_t words __attribute__((vector_size(2 * FOLD_VECTOR)));
typedef int16_t any_words __attribute__((vector_size(2 * FOLD_VECTOR), aligned(2), may_alias));
typedef uint32_t codes __attribute__((vector_size(4 * FOLD_VECTOR)));
typedef float floats __attribute__((vector_size(4 * FOLD_VECTOR)));
typedef float any_floats __attribute__((vector_size(4 * FOLD_VECTOR), aligned(4), may_alias));
#define GET_WORDS(p)     ((words)(*(const any_words *)(p)))
#define PUT_WORDS(p, v)  (*(any_words *)(p) = (v))
#define GET_FLOATS(p)    ((floats)(*(const any_floats *)(p)))
#define PUT_FLOATS(p, v) (*(any_floats *)(p) = (v))

#define LOOPS(s)                                                                                   \
    {                                                                                              \
        add_##s, round_##s, find_##s, measure_##s                                                  \
    }

#define PSR_LANES "search/fold/kernels/fold_sum_lanes.h"
#include "base/threads/isa_lanes.h"

static const struct psr_fold_loops loops_of[PSR_NISA] = PSR_ISA_EACH(LOOPS);

static const struct psr_fold_loops *fold_loops_choose(void)
{
    return &loops_of[psr_isa_find()];
}

/* Rows whose statistics are summed at once. */
enum { RUN = 64 };
enum { GROUP = PSR_FOLD_GROUP, TILE = PSR_FOLD_TILE };

/* --- sums over channels, as floats ------------------------------------------------------------ */

PSR_CLONES static void add_bytes(uint16_t *restrict sum, const uint8_t *restrict x, size_t n)
{
    for (size_t t = 0; t < n; t++)
        sum[t] = (uint16_t)(sum[t] + x[t]);
}

PSR_CLONES static void take_sums(float *restrict band, uint16_t *restrict sum, float bias, size_t n)
{
    for (size_t t = 0; t < n; t++) {
        band[t] += (float)sum[t] + bias;
        sum[t] = 0;
    }
}

PSR_CLONES static void add_words(float *restrict band, const uint16_t *restrict x, float bias,
                                 size_t n)
{
    for (size_t t = 0; t < n; t++)
        band[t] += (float)x[t] + bias;
}

PSR_CLONES static void add_floats(float *restrict band, const float *restrict x, size_t n)
{
    for (size_t t = 0; t < n; t++)
        band[t] += x[t];
}

/* Bytes are summed as integers as long as 16 bits hold the sum. */
static void sum_band(const struct psr_fold *f, const struct psr_fold_cube *cube, size_t j,
                     size_t block, uint16_t *sum, float *band)
{
    const size_t n = f->d.block, stride = f->room;
    size_t pending = 0;
    memset(band, 0, n * sizeof *band);
    for (size_t k = f->band_first[j]; k < f->band_first[j + 1]; k++) {
        const size_t delay = (size_t)cube->delay[k];
        const unsigned char *x = f->window + (k * stride + block * n + delay) * (size_t)f->store;
        if (f->store == PSR_FOLD_U16)
            add_words(band, (const uint16_t *)(const void *)x, f->bias, n);
        else if (f->store == PSR_FOLD_F32)
            add_floats(band, (const float *)(const void *)x, n);
        else
            add_bytes(sum, x, n);
        pending += f->store == PSR_FOLD_U8;
        if (pending == UINT16_MAX / UINT8_MAX) {
            take_sums(band, sum, f->bias * (float)pending, n);
            pending = 0;
        }
    }
    if (pending)
        take_sums(band, sum, f->bias * (float)pending, n);
}

/* --- statistics ------------------------------------------------------------------------------- */

/* Adds samples to a sub-band's mean and sum of squares (Chan, Golub and LeVeque 1983, eq. 2.1). */
static void merge_sums(struct psr_fold_slice *s, size_t j, double more, double mean, double square)
{
    const double have = (double)s->count, all = have + more, step = mean - s->mean[j];
    s->square[j] += square + step * step * have * more / all;
    s->mean[j] += step * more / all;
}

/* Of up to RUN rows: sums of the differences from shift, and of their squares. */
PSR_CLONES static void sum_rows(const float *restrict row, size_t nrow,
                                const double *restrict shift, double *restrict sum,
                                double *restrict square)
{
    memset(sum, 0, GROUP * sizeof *sum);
    memset(square, 0, GROUP * sizeof *square);
    for (size_t t = 0; t < nrow; t++, row += GROUP)
        for (size_t j = 0; j < GROUP; j++) {
            const double x = (double)row[j] - shift[j];
            sum[j] += x;
            square[j] += x * x;
        }
}

/* Of n words, in runs whose squares 32 bits hold; exact. */
static void measure_words(const struct psr_fold *f, const int16_t *x, size_t n, int64_t *sum,
                          int64_t *square)
{
    const size_t fitting = f->most ? INT32_MAX / (f->most * f->most) : n;
    for (size_t t = 0, m; t < n; t += m) {
        int32_t part, squares;
        m = n - t < fitting ? n - t : fitting;
        f->loops->moments(x + t, m, &part, &squares);
        *sum += part;
        *square += squares;
    }
}

/* --- blocks ----------------------------------------------------------------------------------- */

/* Sums sub-band j of the slice in a tile of n samples from t on, and deals it to pieces. */
static void sum_tile(const struct psr_fold *f, struct psr_fold_slice *s, struct psr_fold_scratch *w,
                     size_t j, size_t t, size_t n)
{
    const struct psr_fold_cube *cube = s->cube;
    const size_t begin = f->band_first[s->first + j], end = f->band_first[s->first + j + 1];
    const unsigned char *at = f->window + (cube->next - f->begun) * f->d.block + t;
    int64_t sum = 0, square = 0;
    for (size_t k = begin; k < end; k++)
        w->lane[k - begin] = at + k * f->room + (size_t)cube->delay[k];
    f->loops->sum_bytes((uint16_t *)w->line, (uint16_t *)w->line + TILE / 2, w->lane, end - begin,
                        n);
    measure_words(f, w->line, (n + 1) / 2, &sum, &square);
    measure_words(f, w->line + TILE / 2, n / 2, &sum, &square);
    const double all = (double)n, mean = (double)sum / all;
    merge_sums(s, j, all, mean + w->offset[j],
               ((double)square * all - (double)sum * (double)sum) / all);
    /* Eight samples to a piece. */
    for (size_t i = 0; i < TILE / 8; i++)
        memcpy((w->piece + j % 8 * GROUP + j / 8 * 8) + i * 8 * GROUP, w->line + i * 8,
               8 * sizeof *w->line);
}

static void fold_words(const struct psr_fold *f, struct psr_fold_slice *s,
                       struct psr_fold_scratch *w)
{
    const struct psr_fold_cube *cube = s->cube;
    const size_t block = f->d.block;
    memcpy(w->offset, cube->offset + s->first, s->n * sizeof *w->offset);
    for (size_t t = 0; t < block; t += TILE) {
        const size_t n = block - t < TILE ? block - t : TILE;
        for (size_t j = 0; j < s->n; j++)
            sum_tile(f, s, w, j, t, n);
        f->loops->turn(w->word + t * GROUP, w->piece);
        f->loops->turn(w->word + (t + 1) * GROUP, w->piece + TILE / 2 * GROUP);
        s->count += (int64_t)n;
    }
    f->loops->fold_words(&s->bins, cube->runs.run, cube->runs.n, w->word, (uint16_t)f->most,
                         w->offset);
}

static void fold_floats(const struct psr_fold *f, struct psr_fold_slice *s,
                        struct psr_fold_scratch *w)
{
    const struct psr_fold_cube *cube = s->cube;
    const size_t n = f->d.block;
    for (size_t j = 0; j < s->n; j++)
        sum_band(f, cube, s->first + j, cube->next - f->begun, w->sum, w->band + j * n);
    psr_fold_replaced_add(f, cube, s->first, s->n, w->band);
    psr_cornerturn_run(w->cornerturn, w->band, s->n, w->row, GROUP, 0);
    psr_cornerturn_reset(w->cornerturn);
    for (size_t t = 0; t < n; t += RUN) {
        const float *row = w->row + t * GROUP;
        size_t nrow = n - t < RUN ? n - t : RUN;
        const double more = (double)nrow;
        for (size_t j = 0; j < s->n; j++)
            w->shift[j] = s->count > 0 ? s->mean[j] : (double)row[j];
        sum_rows(row, nrow, w->shift, w->run, w->square);
        for (size_t j = 0; j < s->n; j++) {
            const double off = w->run[j] / more;
            merge_sums(s, j, more, w->shift[j] + off, w->square[j] - more * off * off);
        }
        s->count += (int64_t)nrow;
    }
    f->loops->fold_floats(&s->bins, cube->runs.run, cube->runs.n, w->row);
}

/* --- parts ------------------------------------------------------------------------------------ */

/* As prepfold: a bin varies as the samples in it would. */
struct psr_fold_stats psr_fold_make_stats(size_t n, double count, double mean, double square,
                                          const double *profile)
{
    const double nbin = (double)n;
    struct psr_fold_stats st = {.numprof = nbin, .numdata = count};
    if (!(count > 0))
        return st;
    double avg = 0, chi = 0;
    for (size_t b = 0; b < n; b++)
        avg += profile[b];
    avg /= nbin;
    for (size_t b = 0; b < n; b++)
        chi += (profile[b] - avg) * (profile[b] - avg);
    st.data_avg = mean;
    st.data_var = count > 1 ? fmax(square, 0) / (count - 1) : 0;
    st.prof_avg = avg;
    st.prof_var = st.data_var * count / nbin;
    st.redchi = st.prof_var > 0 && nbin > 1 ? chi / (st.prof_var * (nbin - 1)) : 0;
    return st;
}

void psr_fold_end_part(const struct psr_fold *f, struct psr_fold_slice *s, size_t part)
{
    struct psr_fold_cube *cube = s->cube;
    const size_t nbin = cube->cand.nbin;
    for (size_t j = 0; j < s->n; j++) {
        const size_t at = part * f->d.nsub + s->first + j;
        double *profile = cube->profile + at * nbin;
        for (size_t b = 0; b < nbin; b++)
            profile[b] = s->bins.sum[b * GROUP + j];
        cube->stats[at] =
            psr_fold_make_stats(nbin, (double)s->count, s->mean[j], s->square[j], profile);
    }
    memset(s->bins.sum, 0, nbin * GROUP * sizeof *s->bins.sum);
    memset(s->mean, 0, s->n * sizeof *s->mean);
    memset(s->square, 0, s->n * sizeof *s->square);
    s->count = 0;
}

void psr_fold_block(const struct psr_fold *f, struct psr_fold_slice *s, struct psr_fold_scratch *w)
{
    const size_t next = s->cube->next + 1;
    if (f->most && !s->cube->has_steps)
        fold_words(f, s, w);
    else
        fold_floats(f, s, w);
    if (next % f->d.part_blocks == 0)
        psr_fold_end_part(f, s, next / f->d.part_blocks - 1);
}

void psr_fold_set_stats(const struct psr_fold *f, struct psr_fold_cube *cube, size_t part,
                        const double *mean, const double *square)
{
    const size_t nbin = cube->cand.nbin;
    const double count = (double)f->d.part_blocks * (double)f->d.block;
    for (size_t j = 0; j < f->d.nsub; j++) {
        const size_t at = part * f->d.nsub + j;
        cube->stats[at] =
            psr_fold_make_stats(nbin, count, mean[j], square[j], cube->profile + at * nbin);
    }
}

/* The sums of one DM's parts, rounded, and the trials that their bound does not exclude. */

/* A sum of squares fits into 31 bits, elements into 16. */
static const double norm_max = 46000, element_max = 32700;

static size_t count_rows(const struct psr_fold_sums *s, size_t level)
{
    return level ? s->level[level].n : s->ngroup << s->ntop;
}

double psr_fold_table_bytes(const struct psr_fold_sums *s)
{
    const double stride = (double)s->stride;
    double bytes = (double)count_rows(s, s->ntop) * stride * sizeof(int16_t);
    for (size_t level = 0; level == 0 || level < s->ntop; level++)
        bytes += (double)count_rows(s, level) * stride * sizeof(float);
    return bytes;
}

void psr_fold_table_clear(struct psr_fold_table *t)
{
    for (size_t level = 0; level < FOLD_LEVELS; level++)
        free(t->level[level]);
    free(t->group);
    memset(t, 0, sizeof *t);
}

psr_status psr_fold_table_init(struct psr_fold_table *t, const struct psr_fold_sums *s,
                               psr_err *err)
{
    memset(t, 0, sizeof *t);
    t->group = calloc(count_rows(s, s->ntop), s->stride * sizeof *t->group);
    bool allocated = t->group;
    for (size_t level = 0; level == 0 || level < s->ntop; level++) {
        t->level[level] = calloc(count_rows(s, level), s->stride * sizeof **t->level);
        allocated = t->level[level] && allocated;
    }
    if (allocated)
        return PSR_OK;
    psr_fold_table_clear(t);
    return psr_fail_nomem(err, "sums of parts", psr_fold_table_bytes(s));
}

/* Repeats the first nbin elements of a row up to its end. */
static void repeat_row(void *row, size_t nbin, size_t stride, size_t size)
{
    unsigned char *bytes = row;
    for (size_t have = nbin; have < stride; have *= 2) {
        const size_t more = have < stride - have ? have : stride - have;
        memcpy(bytes + have * size, bytes, more * size);
    }
}

/* --- scale ------------------------------------------------------------------------------------ */

/* What parts add up to at most, without their means. */
struct extent {
    double norm, element, value;
};

void psr_fold_table_set(struct psr_fold_table *t, const struct psr_fold_sums *s, const double *part)
{
    struct extent all = {0, 0, 0};
    for (size_t i = 0; i < s->npart; i++, part += s->nbin) {
        float *row = t->level[0] + i * s->stride;
        double mean;
        const size_t n = s->nbin;
        struct extent e = {0, 0, 0};
        double sum = 0;
        for (size_t b = 0; b < n; b++)
            sum += part[b];
        mean = sum / (double)n;
        for (size_t b = 0; b < n; b++) {
            const double x = part[b] - mean;
            e.norm += x * x;
            e.element = fmax(e.element, fabs(x));
            e.value = fmax(e.value, fabs(part[b]));
        }
        e.norm = sqrt(e.norm);
        for (size_t b = 0; b < s->nbin; b++)
            row[b] = (float)(part[b] - mean);
        repeat_row(row, s->nbin, s->stride, sizeof *row);
        all.norm += e.norm;
        all.element += e.element;
        all.value += e.value;
    }
    /* Roundings: 1/2 of a count in every bin of a group; single precision, where a sum of 8
     * parts takes 4 steps of at most 2^-24 of the parts' norms each; and of double precision, of
     * what prepfold sums. */
    const double side = sqrt((double)s->nbin), groups = (double)s->ngroup;
    const double counts = 0.51 * groups * side;
    const double room =
        fmin((norm_max - counts) / all.norm, (element_max - 0.51 * groups) / all.element);
    t->most = all.norm;
    t->scale = room > 0 && isfinite(room) ? room : 0;
    t->slack = counts / t->scale + all.norm * 0x1p-20 +
               side * all.value * (double)(s->npart + 4) * 0x1p-50;
}

/* --- sums ------------------------------------------------------------------------------------- */

void psr_fold_table_fill(struct psr_fold_table *t, const struct psr_fold_sums *s)
{
    const struct psr_fold_loops *loops = fold_loops_choose();
    for (size_t level = 1; level < s->ntop; level++) {
        const float *below = t->level[level - 1];
        for (size_t i = 0; i < s->level[level].n && !psr_is_stopped(&s->stop); i++) {
            const struct psr_fold_terms *term = &s->level[level].sum[i];
            float *row = t->level[level] + i * s->stride;
            loops->add(row, below + term->left, below + term->right, s->padded);
            repeat_row(row, s->nbin, s->stride, sizeof *row);
        }
    }
    /* Groups of single parts are the parts: the sum is of a part and of nothing. */
    const float *below = t->level[s->ntop ? s->ntop - 1 : 0];
    const float scale = (float)(s->ntop ? t->scale : t->scale / 2);
    for (size_t i = 0; i < count_rows(s, s->ntop) && !psr_is_stopped(&s->stop); i++) {
        const uint32_t part = (uint32_t)(i * s->stride);
        const struct psr_fold_terms term =
            s->ntop ? s->level[s->ntop].sum[i] : (struct psr_fold_terms){part, part};
        int16_t *row = t->group + i * s->stride;
        loops->round(row, below + term.left, below + term.right, scale, s->padded);
        repeat_row(row, s->nbin, s->stride, sizeof *row);
    }
}

/* Which elements of the last vector of a row count. */
static void set_used(const struct psr_fold_sums *s, int16_t used[FOLD_VECTOR])
{
    for (size_t k = 0; k < FOLD_VECTOR; k++)
        used[k] = s->padded - FOLD_VECTOR + k < s->nbin ? -1 : 0;
}

size_t psr_fold_table_find(const struct psr_fold_table *t, const struct psr_fold_sums *s,
                           size_t from, double norm)
{
    int16_t used[FOLD_VECTOR];
    const double least = (norm - t->slack) * t->scale;
    if (!(least > 0))
        return from;
    set_used(s, used);
    const double square = fmin(floor(least * least), INT32_MAX);
    /* Trials whose elements are added within some milliseconds, between two questions whether to stop. */
    const size_t most = (size_t)1 << 26, n = most / (s->ngroup * s->padded);
    const size_t step = n ? n : 1;
    while (from < s->ntrial && !psr_is_stopped(&s->stop)) {
        const size_t end = from + step < s->ntrial ? from + step : s->ntrial;
        from = fold_loops_choose()->find(t->group, s->trial, s->ngroup, s->padded, used, from, end,
                                         (int32_t)square);
        if (from < end)
            return from;
    }
    return s->ntrial;
}

void psr_fold_table_measure(const struct psr_fold_table *t, const struct psr_fold_sums *s,
                            int32_t *norm)
{
    int16_t used[FOLD_VECTOR];
    set_used(s, used);
    fold_loops_choose()->measure(t->group, s->trial, s->ngroup, s->padded, used, s->ntrial, norm);
}
