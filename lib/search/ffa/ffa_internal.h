/* ffa_internal.h: the arithmetic of the fast folding search, which every backend reproduces to the bit
 * (private).
 *
 * "round" is to the nearest integer, halves to even; "float" and "double" are IEEE 754, each operation
 * rounded, none fused; >> of unsigned 64-bit integers; int16 and int32 are two's complement.
 *
 * 1. Noise of a series x[nsamp] of floats.  Blocks of BLOCK = 1024 samples from sample 0 on, the rest at
 *    the end in none; those that touch a gap are left out.  Of a block, in doubles:
 *      y_i = x_i - x_0 (x_0 the first sample of the block), and with 16 lanes, lane l of
 *      i = l, l + 16, ..: A_l = sum y_i, Q_l = sum y_i y_i in order of i;
 *      A = sum of lanes by halves: lanes l and l + 8 for l < 8, then l and l + 4, 2, 1; Q likewise;
 *      mean = (float)(x_0 + A / 1024), var = (float)((Q - A A / 1024) / 1023)
 *    centre, v = the lower medians (element floor((n - 1) / 2) of the sorted n) of means and variances;
 *      sigma = sqrt(v / c^3), c = 1 - 2 / (9 x 1023), in doubles.
 *    A sample outside gaps that is not finite, or sigma or its reciprocal not normal: no search.
 *
 * 2. Integers of samples: FINE = 32 units a sigma.
 *      X_i = round(min(max((x_i - centre) * r, -32767), 32767)), floats, r = (float)(32 / sigma); 0 in gaps
 *      P_0 = 0, P_{i+1} = P_i + X_i, modulo 2^32 (uint32): differences of boundaries are right as int32.
 *
 * 3. Samples of a step.  advance = round(2^32 f_k / granule) (uint64), granule = the power of two with
 *    64 granule <= f_k < 128 granule, 1 below 128; f_k is from here on advance granule / 2^32.
 *      boundary(j) = granule ((j advance + 2^31) >> 32)            psr_ffa_boundary
 *      D_j = (int32)(P[boundary(j + 1)] - P[boundary(j)]),  j < n;  boundary(n) <= nsamp
 *
 * 4. Baseline.  part = samples of a part, nparts = floor(n / part), half = parts on either side.
 *      mu_r = (float)((double)(sum of D_j, int64, j = r part .. (r + 1) part - 1) / (double)part)
 *      B_r = lower median of mu_{r - half} .. mu_{r + half}, of those that exist
 *      e = 2 j - (part - 1), r = floor(e / (2 part)), l = e - 2 part r (integers)
 *      base_j = B_r + (B_{r+1} - B_r) * ((float)l * w), w = (float)(1.0 / (2 part)); B_0 if r < 0,
 *      B_{nparts-1} if r >= nparts - 1; 0 without a running median
 *      n_j = boundary(j + 1) - boundary(j), v = (float)(1 / f_k), scale = (float)(units / (32 sqrt(f_k)))
 *      y_j = ((float)D_j - base_j * ((float)n_j * v)) * scale
 *      q_j = round(min(max(y_j, -32767), 32767)), int16; in a step of floats q_j = y_j
 *
 * 5. Transforms.  Rows r = 0 .. m - 1 of b bins: q[r b + i].  Row s of the sum of rows [first, first + m):
 *      m = 1: the row itself.  Else with mh = floor(m / 2), mt = m - mh, psr_ffa_row(s, rows, m) =
 *      floor((2 s (rows - 1) + (m - 1)) / (2 (m - 1))) (integers):
 *      h = psr_ffa_row(s, mh, m), t = psr_ffa_row(s, mt, m), shift = (s - t) mod b
 *      row_s[i] = head_h[i] + tail_t[(i + shift) mod b],
 *      + saturates at -32768 and 32767 (int16), or is a float addition.  head is the sum of the first mh
 *      rows, tail of the others.  Only rows of the shifts s_lo .. s_hi - 1 of a fold are trials.
 *
 * 6. S/N of a row x of b bins.  C_0 = 0, C_{i+1} = C_i + x_{i mod b}, int32 (rows of floats: double, in
 *    order of i).  For each width w of the range, ascending:
 *      d_w = max over i < b of C_{i+w} - C_i,  sum = C_b
 *      z_w = gain_w * (float)d_w - loss_w * (float)sum, floats    (psr_ffa_gains: made in doubles)
 *    S/N is the largest z_w, of the first of equals.  A backend that needs only S/N above the
 *    threshold may leave out rows that a bound shows to be below it.
 *
 * 7. Gaps.  c_j = 1 if at least half of the samples of D_j are outside gaps, else 0; X is 0 in gaps.
 *      D_j with c_j = 1 of which some of "all" samples are missing becomes D_j all / (all - missing), in
 *      int64, truncated
 *      mu_r is the mean of the D_j with c_j = 1, if these are at least half of the part, else part r is
 *      left out of medians; B_r of a window without parts is B_{r-1}, or the first that there is, or 0
 *      q_j = 0 where c_j = 0.  c is transformed as q is.  With d, n sums of w bins of x and of counts, T
 *      and M those of all bins (int32, converted to float):
 *      z = ((d M - n T) / sqrt((n M) (M - n))) * (float)(1 / units), where n (M - n) > 0, largest over i;
 *      S/N is the largest over w, of the first of equals.  In steps of floats all in doubles up to the
 *      largest over i.
 *
 * Shapes, for 540 s at 64 us (8437500 samples) and the three default ranges: 10, 17 and 51 steps of 21, 41
 * and 81 folds; n from 650 thousand to 4500; about a million trials (psr_ffa_describe tells). */
#ifndef PSR_SEARCH_FFA_INTERNAL_H
#define PSR_SEARCH_FFA_INTERNAL_H

#include "base/base.h"
#include <psrkit/experimental/ffa.h>

enum {
    PSR_FFA_BLOCK = 1024, /* samples */
    PSR_FFA_FINE = 32,    /* units of X per sigma */
    PSR_FFA_PARTS = 25,   /* of the window of the running median */
    PSR_FFA_MAX_WIDTH = 24,
    PSR_FFA_UNITS = 8, /* most units of q per sigma */
};

/* Units below which a step is of floats: rounding adds 1 / (12 units^2) to the variance, so that S/N is
 * lower by 1 / (24 units^2) = 0.2 %. */
#define PSR_FFA_LEAST_UNITS 4.6
/* S/N at which one bin saturates, above 50 by the bins that a boxcar of zero mean subtracts. */
#define PSR_FFA_FULL_SNR 52.5

struct psr_ffa_widths {
    size_t n;
    int width[PSR_FFA_MAX_WIDTH]; /* bins, ascending */
};

/* A step of the ladder of a range that has trials; its folds are fold0 .. fold0 + nfold - 1. */
struct psr_ffa_step {
    int range, k;
    uint64_t advance;
    size_t granule;
    double f, tsamp_s;         /* f_k, t_k */
    size_t n;                  /* samples */
    size_t part, nparts, half; /* part 0: no running median */
    bool floats;
    double units; /* of q per sigma; 1 for floats */
    size_t fold0, nfold;
    size_t group,
        sums0; /* steps of a group fit into memory at a time: the place of its sums there */
};

/* One transform: trials trial0 .. are those of shifts s_lo .. s_hi - 1, at least one. */
struct psr_ffa_fold {
    size_t step;
    int nbin;
    size_t nrow, s_lo, s_hi, trial0;
};

/* A validated description. */
struct psr_ffa_search {
    size_t nsamp, batch, nrange;
    double tsamp_s, rmed_s, sigma, ntrial_eff;
    bool floats;
    struct psr_ffa_range range[PSR_FFA_MAX_RANGE];
    struct psr_ffa_widths widths[PSR_FFA_MAX_RANGE];
    struct psr_ffa_step *step; /* [nstep] */
    struct psr_ffa_fold *fold; /* [nfold] */
    size_t nstep, nfold, ntrial;
    struct psr_span *gap; /* [ngap] ascending, apart, within the series */
    size_t ngap;
    int nthread;
    int64_t mem_bytes;
    int device;
    struct psr_stop stop;
};

static inline size_t psr_ffa_boundary(const struct psr_ffa_step *k, size_t j)
{
    return (size_t)((j * k->advance + (UINT64_C(1) << 31)) >> 32) * k->granule;
}

/* The row of a sum of "rows" of m rows that shift s takes. */
static inline size_t psr_ffa_row(size_t s, size_t rows, size_t m)
{
    return (2 * s * (rows - 1) + (m - 1)) / (2 * (m - 1));
}

double psr_ffa_period(const struct psr_ffa_step *k, int nbin, size_t nrow, size_t s);

/* Whether the block from sample i on touches no gap.  *gap is 0 for the first block, and kept for those after it. */
static inline bool psr_ffa_block_is_whole(const struct psr_ffa_search *s, size_t i, size_t *gap)
{
    while (*gap < s->ngap && s->gap[*gap].first + s->gap[*gap].count <= (int64_t)i)
        ++*gap;
    return *gap >= s->ngap || s->gap[*gap].first >= (int64_t)(i + PSR_FFA_BLOCK);
}

/* Factors of z for profiles of nrow rows.
 * Returned: gain, loss [widths->n] */
void psr_ffa_gains(const struct psr_ffa_step *k, const struct psr_ffa_fold *fold,
                   const struct psr_ffa_widths *widths, float *gain, float *loss);

/* Steps, folds and trials. */
PSR_MUST_CHECK psr_status psr_ffa_make_ladder(struct psr_ffa_search *s, psr_err *err);

/* Section 1, from the means and variances of n blocks.
 * Returned: false: the series cannot be searched */
struct psr_ffa_noise {
    double sigma;
    float centre, scale;
};
bool psr_ffa_noise(const float *mean, const float *var, size_t n, struct psr_ffa_noise *noise);

/* Gives a plan other gaps, which costs much less than another plan.  Results of the last execute end.
 * Returned: *done   false: nothing changed, as the plan has gaps and is to have none, or the reverse
 * Status:   PSR_EINVAL as psr_ffa_create; PSR_ENOMEM, PSR_EDEVICE: the plan can only be destroyed */
PSR_MUST_CHECK psr_status psr_ffa_replace_gaps(psr_ffa *p, const struct psr_span *gap, size_t ngap,
                                               bool *done, psr_err *err);

/* The search of a plan. */
const struct psr_ffa_search *psr_ffa_resolved(const psr_ffa *p);

/* --- several series of one position, searched as one ------------------------------------------- */

/* The S/N z of a trial is the largest of its boxcars; that of noise exceeds it with p = 1 - (1 - Q(z))^M, with M
 * independent boxcars, such that one in fifty trials of a step has p below 0.02.  With N series 2 sum -ln p is chi^2 of
 * 2 N degrees of freedom, and the stack's S/N the z of one series that is as improbable: with one it is z, and the
 * threshold is that of one. */

/* All 0 at first. */
struct psr_ffa_stack {
    size_t n, ntrial, nsamp; /* series; trials and samples of each */
    double tsamp_s;
    float *sum, *best, *snr; /* [ntrial] of -ln p; largest S/N of a series; of the last */
    int *best_width, *width; /* [ntrial] likewise */
    double *nphase;          /* [nstep] sums of M */
};

/* Adds a series of p's last execute.
 * Status: PSR_EINVAL if trials differ from those of the first; those of psr_ffa_periodogram */
PSR_MUST_CHECK psr_status psr_ffa_stack_add(struct psr_ffa_stack *k, psr_ffa *p, size_t series,
                                            psr_err *err);

/* Peaks of the stack, of a plan with the same trials; result is valid until its next execute. */
PSR_MUST_CHECK psr_status psr_ffa_stack_peaks(const struct psr_ffa_stack *k, psr_ffa *p,
                                              struct psr_ffa_result *result, psr_err *err);
void psr_ffa_stack_clear(struct psr_ffa_stack *k);

#endif
