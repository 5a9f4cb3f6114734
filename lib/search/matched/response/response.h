/* response.h: the response of Fourier bins to a drifting signal (private).
 *
 * A signal of mean frequency r, drift z and jerk w, in bins over the observation, puts into bin k
 * the amplitude K(k - r; z, w):
 *
 *   K(q; z, w) = int_0^1 exp{2 pi i [-(q + z/2 - w/12) u + (z - w/2) u^2/2 + w u^3/6]} du
 *
 * (Ransom, Eikenberry and Middleditch 2002; Andersen and Ransom 2018). */
#ifndef PSR_SEARCH_MATCHED_RESPONSE_RESPONSE_H
#define PSR_SEARCH_MATCHED_RESPONSE_RESPONSE_H

#include "base/base.h"
#include "search/matched/response/accel_internal.h"
#include <complex.h>
#include <fftw3.h>
#include <psrkit/experimental/accel.h>
#include <psrkit/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- inner loops of correlations, for each instruction set: n is a multiple of CORRELATE_LANES ---- */

enum { CORRELATE_LANES = 16 };

/* Complex numbers whose parts lie apart. */
struct psr_split {
    float *re, *im;
};

struct psr_correlate_loops {
    /* The product z = x y of 4 n numbers, and the first step of its transform back, by decimation
     * in frequency: out[c][i] = turn_c[i] sum_a i^(a c) z[a n + i], turn_0 = 1, turn[c - 1] the
     * others. */
    void (*multiply_quarter)(const struct psr_split out[4], struct psr_split x, struct psr_split y,
                             const struct psr_split twiddle[3], size_t n);

    /* p[i] = |z[i]|^2, and p[i] = max(p[i], |z[i]|^2). */
    void (*power)(float *p, struct psr_split z, size_t n);
    void (*power_most)(float *p, struct psr_split z, size_t n);
};

/* --- bins over the square root of their local mean power --- */

/* Contiguous blocks from bin 1 on, longer at higher frequencies, up to 8192 bins.  The mean power is a
 * block's median power over ln 2 at its middle, and interpolated linearly between middles. */
struct psr_accel_normalise;

/* Given:    s       must outlive the plan
 *           reach   of the widest response: its signal is no more than a quarter of any block
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_accel_normalise_create(struct psr_accel_normalise **out,
                                                     const struct psr_accel_search *s, int reach,
                                                     psr_err *err);

/* Measures a spectrum, which is kept. */
PSR_MUST_CHECK psr_status psr_accel_normalise_measure(struct psr_accel_normalise *norm,
                                                      const struct psr_accelsearch_input *in,
                                                      psr_err *err);

/* Keeps a spectrum whose blocks' mean powers [nblock] are known. */
void psr_accel_normalise_take(struct psr_accel_normalise *norm,
                              const struct psr_accelsearch_input *in, const double *mean);

/* Where blocks begin.
 * Returned: how many; *first [nblock + 1], of which the last is the end; *longest, in bins */
size_t psr_accel_normalise_blocks(const struct psr_accel_normalise *norm, const int64_t **first,
                                  size_t *longest);

/* Returned: out [n], bins first .. of the spectrum measured last, normalised; 0 for bin 0, for bins
 *           that do not exist and for those zapped */
void psr_accel_normalise_load(const struct psr_accel_normalise *norm, int64_t first, size_t n,
                              struct psr_split out);

/* Returned: scale [n], what each of these bins is multiplied by; 0 where it is 0 */
void psr_accel_normalise_scale(const struct psr_accel_normalise *norm, int64_t first, size_t n,
                               float *scale);

/* The mean power at bin k of that spectrum; at bin 1 or the last, where there is no bin k. */
double psr_accel_normalise_at(const struct psr_accel_normalise *norm, int64_t k);

/* NULL is fine. */
void psr_accel_normalise_destroy(struct psr_accel_normalise *norm);

/* Correlates blocks of bins with responses by Fourier transforms.
 *
 * The transform of a block, times the transform of a response, transformed back, is the correlation
 * at whole bins; the response shifted by half a bin gives the half bins.  Output is interleaved in
 * eight phases: half bin i of a block is element i / 8 of phase i % 8. */

enum { PSR_PHASES = 8 };

struct psr_correlator {
    const struct psr_correlate_loops *loops;
    size_t bins;                 /* in a block */
    size_t lead;                 /* bins of it before the first that a correlation is for */
    size_t good;                 /* bins that a correlation is for, a multiple of 64 */
    size_t points;               /* of a phase: a quarter of the bins */
    struct psr_split twiddle[3]; /* [points] factors of the transform's first step */
    fftwf_plan forward, back;
};

/* The fastest block length, in bins, to correlate "need" bins with responses that reach halfwidth to
 * both sides; need 0: very many bins. */
size_t psr_correlator_bins(int halfwidth, size_t need);

/* Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_correlator_create(struct psr_correlator **out, int halfwidth,
                                                size_t bins, psr_err *err);

/* NULL is fine. */
void psr_correlator_destroy(struct psr_correlator *c);

/* Memory for n floats, aligned to a cache line; NULL if there is none.  The caller frees it. */
float *psr_line_alloc(size_t n);

/* Floats that hold a block's or half a template's transform, and what a thread works with. */
size_t psr_correlator_block(const struct psr_correlator *c);
size_t psr_correlator_work(const struct psr_correlator *c);

/* Where the parts of a transform of n numbers lie in such memory. */
struct psr_split psr_split_at(float *x, size_t n);

/* Work   a block's bins at psr_split_at(work, c->bins); overwritten
 * out    its transform */
void psr_correlator_take_block(const struct psr_correlator *c, float *work, float *out);

/* K [2 halfwidth]   response at q = -halfwidth, -halfwidth + 1 .., or half a bin above
 * out               its transform, as correlations use it */
void psr_correlator_take_response(const struct psr_correlator *c, const float complex *k,
                                  int halfwidth, int odd, float *work, float *out);

/* Powers of one block and one response, even and odd.
 * Returned: power [8 / group][points], the most of each group phases that follow each other */
void psr_correlator_most(const struct psr_correlator *c, float *block, float *const response[2],
                         size_t group, float *work, float *power);

/* The same of half bins 2 from .. 2 (from + n) - 1 of the block, in order: row [2 n]. */
void psr_correlator_row(const struct psr_correlator *c, float *block, float *const response[2],
                        size_t from, size_t n, float *work, float *row);

/* The responses of a search, drift by drift and jerk by jerk.
 *
 * Template (j, l) is that of z = 2 j, w = 20 l, |j| <= jmax, |l| <= lmax. */

enum { PSR_STEP_Z = 2, PSR_STEP_W = 20 };

struct psr_template_bank {
    int jmax, lmax;
    size_t n; /* templates */
    const struct psr_correlator *correlator;
    int *half;       /* [n] bins to both sides */
    float *spectrum; /* [n][2][psr_correlator_block] for correlations: even, odd */
    size_t *at;      /* [n] where in taps a template begins; NULL without taps */
    float *taps;     /* [2][2][psr_template_taps(half)]: even and odd, re and im */
};

/* Half the width of the widest. */
int psr_template_reach(int jmax, int lmax);

static inline size_t psr_template_number(int jmax, int lmax, int j, int l)
{
    return (size_t)(l + lmax) * (2 * (size_t)jmax + 1) + (size_t)(j + jmax);
}

/* Taps of so wide a template, with zeros to fill whole lanes. */
static inline size_t psr_template_taps(int half)
{
    return (2 * (size_t)half + CORRELATE_LANES - 1) / CORRELATE_LANES * CORRELATE_LANES;
}

/* Bytes that a bank takes. */
double psr_template_bank_bytes(const struct psr_correlator *c, int jmax, int lmax, bool taps);

/* Given:    sampled   templates with jerk are accelsearch's, psr_response_sample
 *           taps      to be made too
 *           nthread   threads that make them
 *           stop      NULL: never
 * Status:   PSR_ENOMEM, PSR_ESTOPPED */
PSR_MUST_CHECK psr_status psr_template_bank_create(struct psr_template_bank **out,
                                                   const struct psr_correlator *c, int jmax,
                                                   int lmax, bool sampled, bool taps, int nthread,
                                                   const struct psr_stop *stop, psr_err *err);

static inline float *psr_template_spectrum(const struct psr_template_bank *b, size_t t, int odd)
{
    return b->spectrum + (2 * t + (size_t)odd) * psr_correlator_block(b->correlator);
}

/* NULL is fine. */
void psr_template_bank_destroy(struct psr_template_bank *b);

/* Bins to either side of r within which accelsearch takes K: 1.1 times the largest deviation of the
 * frequency from its mean, and 16, or 48 where it measures candidates. */
int psr_response_halfwidth(double z, double w, bool fine);

/* Makes responses; one thread uses a maker at a time. */
struct psr_response_maker;

PSR_MUST_CHECK psr_status psr_response_maker_create(struct psr_response_maker **out, psr_err *err);

/* Given:    step   1 or 2: points in a bin
 * Returned: k [n], K at q = first + i / step; float, off by 1e-7 at most */
PSR_MUST_CHECK psr_status psr_response_make(struct psr_response_maker *m, double z, double w,
                                            double first, int step, size_t n, float complex *k,
                                            psr_err *err);

/* The same as accelsearch computes it if w is not 0: from so few samples of a real cosine that it is
 * off by some thousandths.
 * Given:    offset   of the signal from a bin, 0 <= offset < 1
 * Returned: k [2 step half], K at q = -half - offset + i / step */
PSR_MUST_CHECK psr_status psr_response_sample(struct psr_response_maker *m, double z, double w,
                                              double offset, int step, int half, float complex *k,
                                              psr_err *err);

/* NULL is fine. */
void psr_response_maker_destroy(struct psr_response_maker *m);

/* Normalised bins around a place. */
struct psr_direct {
    int64_t first, room;
    struct psr_split bin; /* [room] */
};

/* Room for places of so many half bins and responses that reach so far.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_direct_create(struct psr_direct *d, int reach, int places,
                                            psr_err *err);

/* Loads what half bins i .. of so many places need. */
void psr_direct_load(struct psr_direct *d, const struct psr_accel_normalise *norm, int64_t i,
                     int reach, int places);

/* |A|^2 of template t at half bin i, with the same bits in every build and on every processor. */
float psr_direct_power(const struct psr_direct *d, const struct psr_template_bank *bank, size_t t,
                       int64_t i);

void psr_direct_clear(struct psr_direct *d);

/* A line of mean frequency r, drift z and jerk w. */
struct psr_line_response {
    double r, z, w, power;
    int64_t first;
    size_t n;
    float *re, *im; /* [n] its part of bins first ..; re is malloc'd, and holds both */
};

/* Moves r, z and, with jerk, w to the highest power near them. */
void psr_line_fit(struct psr_line_response *line, const psr_accel_template *around, bool jerk);

/* Fills re and im for a line of amplitude 1.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_line_make(struct psr_line_response *line,
                                        struct psr_response_maker *maker, psr_err *err);

/* Multiplies re and im by the amplitude of least squares, and sets the power.
 * Given:    x       [n] bins first ..; noise: their mean power without signals
 * Returned: whether it is a line: no more than a twentieth of its power is left around it */
bool psr_line_scale(struct psr_line_response *line, struct psr_split x, double noise);

/* Subtracts its part from bins first .. first + n - 1. */
void psr_line_subtract(const struct psr_line_response *line, int64_t first, size_t n,
                       struct psr_split x);

#endif
