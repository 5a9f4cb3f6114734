/* ffa_cpu_kernel.h: inner loops of the fast folding search, for each instruction set (private).  Loops
 * over bins may read and write up to PSR_FFA_PAD elements behind a row; those of rows of sums write
 * rows in ascending order. */
#ifndef PSR_SEARCH_FFA_CPU_KERNEL_H
#define PSR_SEARCH_FFA_CPU_KERNEL_H

#include "base/threads/isa.h"
#include <stdbool.h>
#include <stdint.h>

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

#endif
