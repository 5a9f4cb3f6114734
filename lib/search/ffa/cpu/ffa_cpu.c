/* The fast folding search on the CPU: threads over series, or over steps of one. */
#include "ffa_cpu.h"

#include "base/base.h"
#include "base/threads/threads.h"
#include "search/ffa/ffa_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- inner loops of each instruction set ------------------------------------------------------ */

#if defined __x86_64__
#include <immintrin.h>
#elif defined __aarch64__
#include <arm_neon.h>
#endif

enum { BYTES_base = 16, BYTES_avx2 = 32, BYTES_avx512 = 64 };

#define CHOOSE(a, b, mask) (((a) & (mask)) | ((b) & ~(mask)))

static inline __attribute__((always_inline)) int16_t add_word(int a, int b)
{
    const int c = a + b;
    return (int16_t)(c > 32767 ? 32767 : c < -32768 ? -32768 : c);
}

typedef int32_t plain_ints __attribute__((vector_size(16)));
static inline plain_ints more_ints(plain_ints a, plain_ints b)
{
    return CHOOSE(a, b, a > b);
}

/* Saturating sums and larger elements of words, larger elements of integers, products of words with 1
 * in pairs. */
#if defined __x86_64__
#define ADD_WORDS_base(a, b)    (words_base) _mm_adds_epi16((__m128i)(a), (__m128i)(b))
#define ADD_WORDS_avx2(a, b)    (words_avx2) _mm256_adds_epi16((__m256i)(a), (__m256i)(b))
#define ADD_WORDS_avx512(a, b)  (words_avx512) _mm512_adds_epi16((__m512i)(a), (__m512i)(b))
#define MORE_WORDS_base(a, b)   (words_base) _mm_max_epi16((__m128i)(a), (__m128i)(b))
#define MORE_WORDS_avx2(a, b)   (words_avx2) _mm256_max_epi16((__m256i)(a), (__m256i)(b))
#define MORE_WORDS_avx512(a, b) (words_avx512) _mm512_max_epi16((__m512i)(a), (__m512i)(b))
#define MORE_INTS_base(a, b)    more_ints(a, b)
#define MORE_INTS_avx2(a, b)    (ints_avx2) _mm256_max_epi32((__m256i)(a), (__m256i)(b))
#define MORE_INTS_avx512(a, b)  (ints_avx512) _mm512_max_epi32((__m512i)(a), (__m512i)(b))
#define PAIRS_base(a)           (ints_base) _mm_madd_epi16((__m128i)(a), _mm_set1_epi16(1))
#define PAIRS_avx2(a)           (ints_avx2) _mm256_madd_epi16((__m256i)(a), _mm256_set1_epi16(1))
#define PAIRS_avx512(a)         (ints_avx512) _mm512_madd_epi16((__m512i)(a), _mm512_set1_epi16(1))
#define ROOTS_base(a)           (floats_base) _mm_sqrt_ps((__m128)(a))
#define ROOTS_avx2(a)           (floats_avx2) _mm256_sqrt_ps((__m256)(a))
#define ROOTS_avx512(a)         (floats_avx512) _mm512_sqrt_ps((__m512)(a))

/* The largest element. */
static inline __attribute__((always_inline)) int most_of_8(__m128i v)
{
    v = _mm_max_epi16(v, _mm_srli_si128(v, 8));
    v = _mm_max_epi16(v, _mm_srli_si128(v, 4));
    v = _mm_max_epi16(v, _mm_srli_si128(v, 2));
    return (int16_t)_mm_extract_epi16(v, 0);
}
#define MOST_base(v) most_of_8((__m128i)(v))
#define MOST_16(v)                                                                                 \
    most_of_8(_mm_max_epi16(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1)))
#define MOST_avx2(v) MOST_16((__m256i)(v))
#define MOST_avx512(v)                                                                             \
    MOST_16(_mm256_max_epi16(_mm512_castsi512_si256((__m512i)(v)),                                 \
                             _mm512_extracti64x4_epi64((__m512i)(v), 1)))
#elif defined __aarch64__
#define ADD_WORDS_base(a, b)  (words_base) vqaddq_s16((int16x8_t)(a), (int16x8_t)(b))
#define MORE_WORDS_base(a, b) (words_base) vmaxq_s16((int16x8_t)(a), (int16x8_t)(b))
#define MORE_INTS_base(a, b)  (ints_base) vmaxq_s32((int32x4_t)(a), (int32x4_t)(b))
#define PAIRS_base(a)         (ints_base) vpaddlq_s16((int16x8_t)(a))
#define ROOTS_base(a)         (floats_base) vsqrtq_f32((float32x4_t)(a))
#define MOST_base(v)          vmaxvq_s16((int16x8_t)(v))
#else
typedef int16_t plain_words __attribute__((vector_size(16)));
typedef float plain_floats __attribute__((vector_size(16)));

static inline plain_words add_words(plain_words a, plain_words b)
{
    for (int k = 0; k < 8; k++)
        a[k] = add_word(a[k], b[k]);
    return a;
}
static inline int most_of_8(plain_words v)
{
    int most = v[0];
    for (int k = 1; k < 8; k++)
        most = v[k] > most ? v[k] : most;
    return most;
}
static inline plain_words more_words(plain_words a, plain_words b)
{
    return CHOOSE(a, b, a > b);
}
static inline plain_ints add_pairs(plain_words a)
{
    return (plain_ints){a[0] + a[1], a[2] + a[3], a[4] + a[5], a[6] + a[7]};
}
static inline plain_floats roots(plain_floats a)
{
    return (plain_floats){sqrtf(a[0]), sqrtf(a[1]), sqrtf(a[2]), sqrtf(a[3])};
}
#define ADD_WORDS_base(a, b)  add_words(a, b)
#define MORE_WORDS_base(a, b) more_words(a, b)
#define MORE_INTS_base(a, b)  more_ints(a, b)
#define PAIRS_base(a)         add_pairs(a)
#define ROOTS_base(a)         roots(a)
#define MOST_base(v)          most_of_8(v)
#endif

/* Steps through the rows that shift s takes of a sum of "rows" of nrow rows, as psr_ffa_row. */
struct walk {
    size_t row, rest, step, period;
};

static inline struct walk begin_walk(size_t s, size_t rows, size_t nrow)
{
    const size_t period = 2 * (nrow - 1), at = 2 * s * (rows - 1) + (nrow - 1);
    return (struct walk){at / period, at % period, 2 * (rows - 1), period};
}

static inline void step_walk(struct walk *w)
{
    w->rest += w->step;
    if (w->rest >= w->period) {
        w->rest -= w->period;
        w->row++;
    }
}

#define LOOPS(s)                                                                                   \
    {                                                                                              \
        merge_words_##s, merge_floats_##s, sum_words_##s, sum_floats_##s, total_##s,               \
            may_exceed_##s, largest_##s, rate_counted_##s, centre_##s, round_samples_##s,          \
            sum_block_##s, all_finite_##s, round_sums_##s, count_below_##s                         \
    }

#define PSR_LANES "search/ffa/cpu/ffa_cpu_lanes.h"
#include "base/threads/isa_lanes.h"

static const struct psr_ffa_loops loops[PSR_NISA] = PSR_ISA_EACH(LOOPS);

const struct psr_ffa_loops *psr_ffa_loops_choose(enum psr_isa isa)
{
    return &loops[isa];
}

struct state {
    const struct psr_ffa_search *search;
    const struct psr_ffa_loops *loops;
    struct psr_ffa_room *room;     /* [nthread] */
    struct psr_ffa_series *series; /* [nthread] */
    struct psr_ffa_step *step;     /* [nstep] of the search, with their groups */
    size_t ngroup, nsums;          /* most sums of a group */
    int64_t bytes;
};

/* One series, searched or with every trial kept. */
struct job {
    const struct psr_ffa_search *search;
    const struct psr_ffa_loops *loops;
    const struct psr_ffa_series *series;
    uint32_t number;
    struct psr_ffa_found *found; /* or NULL: */
    float *snr;
    int *width;
    struct psr_progress *work; /* steps of all series */
};

/* --- memory ----------------------------------------------------------------------------------- */

/* Memory by cache lines; bytes counts it. */
static void *take(struct state *st, size_t n, size_t size)
{
    const size_t bytes = (n * size + 63) / 64 * 64 + 64;
    st->bytes += (int64_t)bytes;
    return aligned_alloc(64, bytes);
}

struct sizes {
    size_t n, part, row, rows; /* rows: bytes of sums of rows */
};

static struct sizes find_sizes(const struct psr_ffa_search *s)
{
    struct sizes z = {0, 0, 0, 0};
    for (size_t i = 0; i < s->nstep; i++) {
        const struct psr_ffa_step *k = &s->step[i];
        const size_t part = 2 * k->nparts + 2 * k->half + 2;
        z.n = k->n > z.n ? k->n : z.n;
        z.part = part > z.part ? part : z.part;
    }
    for (size_t i = 0; i < s->nfold; i++) {
        const struct psr_ffa_step *k = &s->step[s->fold[i].step];
        const size_t nrow = s->fold[i].nrow, nbin = (size_t)s->fold[i].nbin;
        const size_t rows =
            nrow * psr_ffa_stride(nbin) * (k->floats ? sizeof(float) : sizeof(int16_t));
        z.rows = rows > z.rows ? rows : z.rows;
    }
    for (size_t r = 0; r < s->nrange; r++)
        z.row = (size_t)s->range[r].bmax > z.row ? (size_t)s->range[r].bmax : z.row;
    return z;
}

static bool take_side(struct state *st, struct psr_ffa_side *side, const struct sizes *z)
{
    side->q = take(st, z->n + PSR_FFA_PAD, sizeof(float));
    side->rows = take(st, z->rows + PSR_FFA_PAD * sizeof(float), 1);
    side->spare = take(st, z->rows + PSR_FFA_PAD * sizeof(float), 1);
    side->part =
        take(st, (PSR_FFA_LEAVES - 2) * PSR_FFA_PART * (z->row + PSR_FFA_PAD), sizeof(float));
    side->chunk = take(st, PSR_FFA_CHUNK * 2 * (z->row + PSR_FFA_PAD), sizeof(float));
    side->total = take(st, 3 * (z->row + PSR_FFA_PAD), sizeof *side->total);
    return side->q && side->rows && side->spare && side->part && side->chunk && side->total;
}

static void free_side(struct psr_ffa_side *side)
{
    free(side->q);
    free(side->rows);
    free(side->spare);
    free(side->part);
    free(side->chunk);
    free(side->total);
}

static bool take_room(struct state *st, struct psr_ffa_room *room, const struct sizes *z)
{
    room->part = take(st, z->part + PSR_FFA_PAD, sizeof *room->part);
    return room->part && take_side(st, &room->data, z) &&
           (!st->search->ngap || take_side(st, &room->count, z));
}

static bool take_series(struct state *st, struct psr_ffa_series *series)
{
    series->sums = take(st, st->nsums, sizeof *series->sums);
    series->level = take(st, 2 * (st->search->nsamp / PSR_FFA_BLOCK), sizeof *series->level);
    return series->sums && series->level;
}

/* Groups of steps of at most twice as many samples as the series, for each of which it is read once. */
static bool make_groups(struct state *st)
{
    const struct psr_ffa_search *s = st->search;
    size_t first = 0, at = 0;
    st->step = malloc(s->nstep * sizeof *st->step);
    for (size_t i = 0; st->step && i < s->nstep; i++) {
        st->step[i] = s->step[i];
        const size_t n = st->step[i].n + PSR_FFA_PAD;
        if (i && (at + n > 2 * s->nsamp || i - first == PSR_FFA_GROUP)) {
            st->ngroup++;
            first = i;
            at = 0;
        }
        st->step[i].group = st->ngroup;
        st->step[i].sums0 = at;
        at += n;
        st->nsums = at > st->nsums ? at : st->nsums;
    }
    st->ngroup++;
    return st->step;
}

static void destroy(void *state)
{
    struct state *st = state;
    for (int i = 0; i < st->search->nthread; i++) {
        struct psr_ffa_room *room = st->room ? &st->room[i] : NULL;
        if (room) {
            free(room->part);
            free_side(&room->data);
            free_side(&room->count);
        }
        if (st->series) {
            free(st->series[i].sums);
            free(st->series[i].level);
        }
    }
    free(st->room);
    free(st->series);
    free(st->step);
    free(st);
}

/* Series that are loaded at a time: as many as there are threads to search them. */
static int count_loaded(const struct psr_ffa_search *s)
{
    return s->batch < (size_t)s->nthread ? 1 : s->nthread;
}

static psr_status create(void **state, const struct psr_ffa_search *s, psr_err *err)
{
    const struct sizes z = find_sizes(s);
    struct state *st = calloc(1, sizeof *st);
    if (!st)
        return psr_fail_nomem(err, "a search", sizeof *st);
    st->search = s;
    st->loops = psr_ffa_loops_choose(psr_isa_find());
    st->room = calloc((size_t)s->nthread, sizeof *st->room);
    st->series = calloc((size_t)s->nthread, sizeof *st->series);
    bool done = st->room && st->series && make_groups(st);
    for (int i = 0; i < s->nthread && done; i++)
        done = take_room(st, &st->room[i], &z) &&
               (i >= count_loaded(s) || take_series(st, &st->series[i]));
    const bool fits = st->bytes <= s->mem_bytes;
    const double bytes = (double)st->bytes;
    if (done && fits) {
        *state = st;
        return PSR_OK;
    }
    destroy(st);
    if (done)
        return psr_fail_field(err, PSR_EINVAL, "mem_bytes",
                              "search: %.3g bytes for %d threads are above the limit of %lld",
                              bytes, s->nthread, (long long)s->mem_bytes);
    return psr_fail_nomem(err, "a search", bytes);
}

/* --- work ------------------------------------------------------------------------------------- */

struct collector {
    const struct job *job;
    uint32_t fold;
    size_t trial0;
    psr_status status;
    psr_err *err;
};

static void keep_score(void *ctx, size_t i, struct psr_ffa_score score)
{
    struct collector *c = ctx;
    c->job->snr[c->trial0 + i] = score.snr;
    if (c->job->width)
        c->job->width[c->trial0 + i] = score.width;
}

static void keep_hit(void *ctx, size_t i, struct psr_ffa_score score)
{
    struct collector *c = ctx;
    struct psr_ffa_found *found = c->job->found;
    if (!((double)score.snr > c->job->search->sigma) || c->status)
        return;
#pragma omp critical(psr_ffa_found)
    {
        c->status =
            psr_grow(&found->hit, &found->cap, found->n, sizeof *found->hit, "trials", c->err);
        if (!c->status)
            found->hit[found->n++] = (struct psr_ffa_hit){c->job->number, c->fold, c->trial0 + i,
                                                          score.snr, score.width};
    }
}

static psr_status search_step(const struct job *job, const struct psr_ffa_step *k,
                              struct psr_ffa_room *room, psr_err *err)
{
    const struct psr_ffa_search *s = job->search;
    const float floor = job->found ? (float)s->sigma : -INFINITY;
    struct collector c = {.job = job, .err = err};
    psr_ffa_cpu_sample(s, k, job->loops, job->series->sums + k->sums0, room);
    for (size_t i = 0; i < k->nfold && !c.status; i++) {
        if (psr_is_stopped(&s->stop))
            return psr_fail(err, PSR_ESTOPPED, "search: stopped");
        c.fold = (uint32_t)(k->fold0 + i);
        c.trial0 = s->fold[c.fold].trial0;
        psr_ffa_cpu_fold(s, job->loops, &s->fold[c.fold], floor, room,
                         job->found ? keep_hit : keep_score, &c);
    }
    return c.status;
}

/* The first failure of several threads. */
struct failure {
    psr_status status;
    psr_err *err;
};

static psr_status look(struct failure *f)
{
    psr_status status;
#pragma omp atomic read
    status = f->status;
    return status;
}

static void fail_once(struct failure *f, psr_status status, const psr_err *err)
{
    if (!status)
        return;
#pragma omp critical(psr_ffa_failed)
    if (!look(f)) {
        if (f->err)
            *f->err = *err;
#pragma omp atomic write
        f->status = status;
    }
}

/* All steps of a series, by nthread threads; slot is the room of one. */
static psr_status search_steps(struct state *st, const struct job *job, const float *x, int slot,
                               int nthread, psr_err *err)
{
    struct failure failure = {PSR_OK, err};
    size_t first = 0;
    for (size_t group = 0; group < st->ngroup && !failure.status; group++) {
        size_t end = first;
        while (end < st->search->nstep && st->step[end].group == group)
            end++;
        psr_ffa_cpu_sum(st->search, st->loops, x, &st->series[slot], end - first, st->step + first);
#pragma omp parallel for num_threads(nthread) schedule(dynamic) if (nthread > 1)
        for (size_t i = first; i < end; i++) {
            psr_err mine;
            const int room = nthread > 1 ? psr_thread_number() : slot;
            if (!look(&failure))
                fail_once(&failure, search_step(job, &st->step[i], &st->room[room], &mine), &mine);
            psr_progress_add(job->work, 1);
        }
        first = end;
    }
    return failure.status;
}

static psr_status search_series(struct state *st, const float *x, size_t number, int slot,
                                int nthread, struct psr_ffa_found *found, struct psr_progress *work,
                                psr_err *err)
{
    struct psr_ffa_series *series = &st->series[slot];
    psr_ffa_cpu_load(st->search, st->loops, x, series);
    found->bad[number] = series->bad;
    found->rms[number] = series->rms;
    if (series->bad >= 0 || !(series->rms > 0))
        return PSR_OK;
    const struct job job = {st->search, st->loops, series, (uint32_t)number,
                            found,      NULL,      NULL,   work};
    return search_steps(st, &job, x, slot, nthread, err);
}

static psr_status execute(void *state, size_t nseries, const float *const *in,
                          struct psr_ffa_found *found, psr_err *err)
{
    struct state *st = state;
    const int nthread = st->search->nthread;
    struct psr_progress work = {&st->search->stop, 0, (int64_t)(nseries * st->search->nstep)};
    struct failure failure = {PSR_OK, err};
    if (count_loaded(st->search) == 1 || nseries < (size_t)nthread) {
        for (size_t i = 0; i < nseries && !failure.status; i++)
            failure.status = search_series(st, in[i], i, 0, nthread, found, &work, err);
        return failure.status;
    }
#pragma omp parallel for num_threads(nthread) schedule(dynamic)
    for (size_t i = 0; i < nseries; i++) {
        psr_err mine;
        if (!look(&failure))
            fail_once(&failure,
                      search_series(st, in[i], i, psr_thread_number(), 1, found, &work, &mine),
                      &mine);
    }
    return failure.status;
}

static psr_status periodogram(void *state, const float *in, float *snr, int *width, psr_err *err)
{
    struct state *st = state;
    psr_ffa_cpu_load(st->search, st->loops, in, &st->series[0]);
    struct psr_progress work = {&st->search->stop, 0, (int64_t)st->search->nstep};
    const struct job job = {st->search, st->loops, &st->series[0], 0, NULL, snr, width, &work};
    return search_steps(st, &job, in, 0, st->search->nthread, err);
}

static int64_t bytes(const void *state)
{
    return ((const struct state *)state)->bytes;
}

const struct psr_ffa_ops psr_ffa_cpu = {"cpu", create, execute, periodogram, NULL, bytes, destroy};
