/* ffa_cpu.h: parts of the fast folding search on the CPU (private). */
#ifndef PSR_SEARCH_FFA_CPU_H
#define PSR_SEARCH_FFA_CPU_H

#include "base/threads/isa.h"
#include "search/ffa/ffa_backend.h"
#include <stdbool.h>
#include <stdint.h>

/* --- inner loops, for each instruction set ----------------------------------------------------- */

/* Loops over bins may read and write up to PSR_FFA_PAD elements behind a row; those of rows of sums write
 * rows in ascending order. */

/* Elements behind each buffer. */
enum { PSR_FFA_PAD = 64, PSR_FFA_LEVELS = 6, PSR_FFA_BOUNDED = 32, PSR_FFA_BOXES = 16 };

/* Rows first .. end - 1 of the sum of nrow rows, of which head has the first half, or, with from_first, those rows
 * of it that they take.  Strides in elements.  Behind each row are its first bins again, a vector and up to
 * another that is not whole. */
struct psr_ffa_merge {
    const void *head, *tail;
    void *out;
    size_t head_stride, tail_stride, out_stride, nbin, nrow, first, end;
    bool from_first;
};

/* A test that saves most boxcars.  Sums of 3^l bins of largest value m_l bound those of w bins, w =
 * sum_l digit_l 3^l, by sum_l digit_l m_l. */
struct psr_ffa_bounds {
    size_t nlevel, nwidth;
    float digit[PSR_FFA_LEVELS][PSR_FFA_BOUNDED]; /* and gain, loss: 0 from nwidth on */
    float gain[PSR_FFA_BOUNDED], loss[PSR_FFA_BOUNDED];
    float floor; /* the test is passed if some bound of z is above it */
};

/* Baseline of samples, and what they are scaled with: a sample is of one of two lengths, and the longer one where low +
 * advance, the fractions of boundaries, exceeds 2^32. */
struct psr_ffa_line {
    float base, slope, w, scale;
    float share[2]; /* of the baseline, of lengths */
    uint32_t low, advance;
    int first;
};

/* Numbers of samples of a profile's bins: the least, the largest, all. */
struct psr_ffa_counts {
    int least, most, all;
};

struct psr_ffa_loops {
    void (*merge_words)(const struct psr_ffa_merge *merge);
    void (*merge_floats)(const struct psr_ffa_merge *merge);

    /* Sums of 2 or 3 rows of a series, the next one behind each. */
    void (*sum_words)(const void *rows, size_t nrow, size_t nbin, void *sums, size_t stride);
    void (*sum_floats)(const void *rows, size_t nrow, size_t nbin, void *sums, size_t stride);

    /* Sum of n integers, exact below 2^53. */
    double (*total)(const int32_t *d, size_t n);

    /* Whether the row of nbin bins may have z above bounds->floor.  x has room for another nbin, which
     * change; scratch for PSR_FFA_LEVELS rows of 2 nbin + PSR_FFA_PAD. */
    bool (*may_exceed)(int16_t *x, size_t nbin, const struct psr_ffa_bounds *bounds,
                       int16_t *scratch);

    /* Largest sum of w bins from prefix sums [nbin + w]. */
    int32_t (*largest)(const int32_t *total, size_t nbin, size_t w);

    /* Largest (d M - n T) / sqrt(n M (M - n)) of w bins, d and n from prefix sums [nbin + w] of a profile
     * of total T and of numbers of samples of total M; -1e30 without any. */
    float (*rate_counted)(const int32_t *total, const int32_t *count, size_t nbin, size_t w);

    /* x less its mean for the samples of each bin, rounded, for bins that have some; out has room for PSR_FFA_PAD more. */
    struct psr_ffa_counts (*centre)(const int16_t *x, const int16_t *count, size_t nbin,
                                    int16_t *out);

    /* Integers of n samples, n a multiple of 16: round(min(max((x - centre) scale, -32767), 32767)). */
    void (*round_samples)(const float *x, size_t n, float centre, float scale, int32_t *out);

    /* Sums of 1024 values less the first of them, and of their squares, in 16 lanes. */
    void (*sum_block)(const float *x, double sum[16], double square[16]);

    bool (*all_finite)(const float *x, size_t n);

    /* round(min(max((d - (base + slope ((first + 2 i) w)) share) scale, -32767), 32767)) for i < n. */
    void (*round_sums)(const int32_t *d, size_t n, const struct psr_ffa_line *line, int16_t *out);

    /* Number of n sorted values below x; n + 16 may be read. */
    size_t (*count_below)(const float *sorted, size_t n, float x);
};

const struct psr_ffa_loops *psr_ffa_loops_choose(enum psr_isa isa);

/* --- the work of a thread ------------------------------------------------------------------------- */

/* Profiles that are made at a time; most rows that they need of half a sum; most parts whose sums are made whole. */
enum { PSR_FFA_CHUNK = 32, PSR_FFA_PART = PSR_FFA_CHUNK / 2 + 2, PSR_FFA_LEAVES = 8 };

/* Most steps whose samples are summed in one reading of a series. */
enum { PSR_FFA_GROUP = 256 };

/* A series as integers. */
struct psr_ffa_series {
    int32_t *sums; /* of a group of steps: a step's begin at its sums0 */
    float *level;  /* [2][blocks] */
    double rms;
    float centre, scale; /* X = (x - centre) scale */
    int64_t bad;
};

/* A step's samples, or their numbers outside gaps, and what is made of them. */
struct psr_ffa_side {
    void *q;       /* [n] elements of a step */
    void *rows;    /* sums of parts of the rows */
    void *spare;   /* of half of the largest part */
    void *part;    /* [PSR_FFA_LEAVES - 2][PSR_FFA_PART] rows of sums of several parts */
    void *chunk;   /* [PSR_FFA_CHUNK] profiles */
    double *total; /* prefix sums of a profile, int32 or double; sums of its boxes */
};

/* Memory of one thread; sizes are the largest of all steps, and PSR_FFA_PAD more. */
struct psr_ffa_room {
    float *part;                     /* [3][nparts] */
    struct psr_ffa_side data, count; /* count: if there are gaps */
};

/* Elements from one row of sums to the next: the widest vector's repeated, in whole vectors. */
static inline size_t psr_ffa_stride(size_t nbin)
{
    return (nbin + 63) / 32 * 32;
}

/* Fills series->rms and bad, and centre and scale if it can be searched. */
void psr_ffa_cpu_load(const struct psr_ffa_search *s, const struct psr_ffa_loops *loops,
                      const float *x, struct psr_ffa_series *series);

/* Sums of samples of steps step [nstep], nstep <= PSR_FFA_GROUP: series->sums. */
void psr_ffa_cpu_sum(const struct psr_ffa_search *s, const struct psr_ffa_loops *loops,
                     const float *x, struct psr_ffa_series *series, size_t nstep,
                     const struct psr_ffa_step *step);

/* Samples of a step from their sums: room->data.q; their numbers, if there are gaps. */
void psr_ffa_cpu_sample(const struct psr_ffa_search *s, const struct psr_ffa_step *k,
                        const struct psr_ffa_loops *loops, int32_t *sums,
                        struct psr_ffa_room *room);

struct psr_ffa_score {
    float snr;
    int width; /* index */
};

/* S/N of the trials of a fold of room->data.q.
 * Given: floor                below which trials may be left out
 *        use(ctx, i, score)   gets trial trial0 + i */
void psr_ffa_cpu_fold(const struct psr_ffa_search *s, const struct psr_ffa_loops *loops,
                      const struct psr_ffa_fold *fold, float floor, struct psr_ffa_room *room,
                      void (*use)(void *ctx, size_t i, struct psr_ffa_score score), void *ctx);

#endif
