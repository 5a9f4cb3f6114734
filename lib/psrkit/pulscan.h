/* pulscan.h: accelerated pulsars in Fourier spectra by boxcars (White et al., "Pulscan").
 *
 * A spectrum X of nbin complex bins, bin 0 being DC, is searched like this:
 *
 *   x_k = (X_k - m) / (1.4826 d)            real and imaginary parts each for itself, m the median
 *                                           and d the median absolute deviation of the stretch of
 *                                           normblock bins that holds k (lower medians)
 *   p_k = |x_k|^2,  p_0 = 0                 chi^2 of 2 degrees of freedom in noise
 *   s_H[i] = sum_{h=1..H} sum_{j<h} p[h i + j]       i < nbin / H
 *   B_{H,z}[i] = sum_{j<=z} s_H[i + j]      chi^2 of H(H+1)(z+1) degrees of freedom
 *
 * for every H of a list and z = 0, zstep, 2 zstep .. zmax or 0, 1, 2, 4 .. zmax.  A box becomes a
 * hit if its sigma is above the threshold and it is a peak: of the boxes of its z and H that begin
 * within max(PSR_PULSCAN_NEAR, z) bins of it, before or behind, none has more power, nor as much
 * and a lower start.  So a signal hides no other that is further away than its own side lobes and
 * the boxes it shares bins with.  Nor is a box a hit that may be a bright line's side lobe: where
 * the sum over its bins of E / (d^2 - 1/4), E the power over noise of the peaks of z = 0 of its H
 * that lie outside of it, at a distance of d bins up to 4096, and exceed its own, is no less than
 * its own.  psr_pulscan_merge makes candidates of hits.
 *
 * With rblock or compat set starts come in blocks instead, block b having i = 1 + b block ..
 * (b+1) block, and of every block, z and H the box of most power (the lowest of equals) becomes a
 * hit if its sigma is above the threshold.
 *
 * Box and bins.  A box holds bins i .. i + z of the fundamental and h i .. h (i + z) + h - 1 of
 * harmonic h.  No box holds bin 0 or a bin that does not exist, and where H > 1 none begins below
 * (H - 1)(z + 1), so that no bin of the spectrum is counted twice in one box.
 *
 * Sigma.  p = 1 - (1 - Q)^N_eff, Q the chance that chi^2 noise gives a box as much, N_eff the
 * effective number of independent boxes (psr_pulscan_trials), and sigma the Gaussian's whose tail
 * is p.  The stretches' finite length is allowed for, and so are the short blocks by which spectra
 * were de-reddened, whose medians scatter far more.  So the best sigma of a spectrum of noise is
 * above 2 in one spectrum of 44 or a few less, of a de-reddened one in between half and a quarter
 * as many where boxes are wider than the blocks.
 *
 * One plan, one caller's thread; plans are independent of each other.  Hits do not depend on the
 * number of threads nor on the batch, and those of spectra are the same to the bit on every backend.
 * Series are transformed in single precision: where that is done by another library, bin k differs
 * by some roundings of the rms of all bins and of the bin as far below the highest as k is above 0,
 * which was seen to be 5e-5 of its power at the high end of a red spectrum. */
#ifndef PSRKIT_PULSCAN_H
#define PSRKIT_PULSCAN_H

#include <psrkit/obs.h>
#include <psrkit/spectrum.h>

PSR_API_BEGIN

typedef struct psr_pulscan psr_pulscan;

enum psr_pulscan_significance {
    PSR_PULSCAN_EXACT, /* psr_chi2_logp */
    PSR_PULSCAN_POLY, /* the paper's polynomial, psr_pulscan_logp, for comparison; powers below 1.22
                         dof, where it makes no sense, are taken to be noise */
};

enum {
    PSR_PULSCAN_MAX_HARM = 32,
    PSR_PULSCAN_MAX_Z = 65535,
    PSR_PULSCAN_NEAR = 15, /* bins that a signal's side lobes bridge, as accelsearch's */
};

struct psr_pulscan_desc {
    size_t nbin; /* of every spectrum, bin 0 included */
    bool series; /* the input is series of 2 nbin samples, to be Fourier transformed first */
    struct psr_redden redden; /* series: de-redden the spectra like this; spectra: they were
                                 de-reddened like this before.  start 0: no */
    size_t batch;             /* most spectra in one execute; 0: 1 */

    int zmax;         /* 0 .. PSR_PULSCAN_MAX_Z */
    int zstep;        /* 0: 1 */
    bool logz;        /* z = 0, 1, 2, 4 ..; zstep is not looked at */
    const int *nharm; /* [nnharm] the H to search, ascending, 1 .. PSR_PULSCAN_MAX_HARM; copied */
    size_t nnharm;
    size_t block;     /* of rblock and compat: starts per block ("chunkwidth"); 0: 4096 */
    bool rblock;      /* one hit a block, z and H, which keeps its block's r only */
    size_t normblock; /* bins per stretch; 0: the larger of 30 zmax and 4096, at most nbin */
    int64_t rlo, rhi; /* the fundamental's boxes lie within bins rlo .. rhi; rhi 0: to the end */
    const struct psr_span *zap; /* [nzap] bins known to be bad, any order: they count as p = 2, the
                                   mean of noise; copied */
    size_t nzap;

    double sigma;   /* hits are above it */
    double ntrials; /* N_eff; 0: as calibrated */
    enum psr_pulscan_significance significance;
    bool compat; /* Pulscan's own list: z < zmax, boxes that run over the end, N = zmax nbin / (6.95
                    H) for every H by Bonferroni, r one bin low and rounded, a last stretch of its
                    own however short, data as they are where d = 0; zap, rlo, rhi are refused */

    int nthread;         /* 0: all cores */
    int64_t mem_bytes;   /* bound on what the plan allocates; 0: a quarter of the machine */
    const char *backend; /* "auto" "cpu" "cuda" "hybrid"; NULL is "auto" */
    int device;
};

struct psr_pulscan_hit {
    double sigma;
    double ln_p;   /* ln Q: of this box alone, before N_eff */
    double r;      /* where the fundamental is in bins: the middle of the box, or of the block */
    float power;   /* chi^2; psr_pulscan_dof(nharm, z) degrees of freedom */
    int nharm, z;  /* the box is z + 1 bins wide */
    int64_t first; /* its lowest bin of the fundamental; of the block, where rblock */
};

/* What execute found in one spectrum; the plan's, until the next execute. */
struct psr_pulscan_result {
    const struct psr_pulscan_hit *hit; /* [nhit] by H, then z, then first */
    size_t nhit;
    int64_t bad; /* the lowest bin (sample, of a series) that is no finite number: such a spectrum
                    is not searched; -1: none */
};

/* Notes:  stretches of all one value (d = 0) hold no data: their p is 0.
 * Status: PSR_EINVAL naming field, value and limit; PSR_ENOMEM; PSR_EDEVICE for a backend asked for
 *         and absent; PSR_EUNSUPPORTED for what a backend asked for by name does not do. */
PSR_MUST_CHECK psr_status psr_pulscan_create(psr_pulscan **out, const struct psr_pulscan_desc *desc,
                                             psr_err *err);

/* Memory of the plan from which an execute reads fastest, for spectrum s < batch: 2 nbin floats.
 * The caller may fill it and pass it on; series that are passed on are gone afterwards. */
float *psr_pulscan_input(psr_pulscan *p, size_t s);

/* Given:    in [nspec], each [nbin][2], re and im, or [2 nbin] samples; nspec <= batch
 * Returned: result [nspec]
 * Status:   PSR_EINVAL (nspec), PSR_ENOMEM (of hits too: none is dropped), PSR_EDEVICE */
PSR_MUST_CHECK psr_status psr_pulscan_execute(psr_pulscan *p, size_t nspec, const float *const *in,
                                              struct psr_pulscan_result *result, psr_err *err);

/* Normalised bins x_k, k = first .. first + n - 1, of spectrum s of the last execute, whose input
 * must still be where it was.
 * Returned: x [n][2]; zero for bins that do not exist, and bin 0
 * Status:   PSR_EINVAL (s), PSR_ENOMEM, PSR_EDEVICE */
PSR_MUST_CHECK psr_status psr_pulscan_amplitudes(psr_pulscan *p, size_t s, int64_t first, size_t n,
                                                 float *x, psr_err *err);

/* N_eff of the search (compat: of harmonic sum H = nharm). */
double psr_pulscan_trials(const psr_pulscan *p, int nharm);

/* The sigma that a box of this power has in the search; first counts where spectra were
 * de-reddened. */
double psr_pulscan_sigma(const psr_pulscan *p, double power, int nharm, int z, int64_t first);

struct psr_pulscan_info {
    const char *backend;                 /* static storage */
    size_t normblock, block, nz, nblock; /* blocks: of rblock and compat */
    int64_t bytes;                       /* allocated by the plan */
};
void psr_pulscan_describe(const psr_pulscan *p, struct psr_pulscan_info *info);

/* NULL is fine. */
void psr_pulscan_destroy(psr_pulscan *p);

/* --- candidates ------------------------------------------------------------------------------- */

/* Hits that are one signal. */
struct psr_pulscan_cand {
    struct psr_pulscan_hit best; /* the most significant, at the fundamental */
    size_t members;
    int64_t first, last; /* bins of the fundamental that the members on this frequency cover */
    bool lines;          /* narrow ones stand out of its box */
    float taken[PSR_PULSCAN_MAX_HARM]; /* chi^2, over the mean of noise, that is in its harmonics'
                                          bins and better candidates' */
};

struct psr_pulscan_merge_desc {
    bool keep_harmonics; /* do not join candidates whose frequencies are in small ratios */
    size_t max;          /* most candidates given; 0: no bound */
    psr_pulscan *plan; /* whose hits they are; NULL: join by frequency alone, as those of rblock */
    size_t spec;       /* their spectrum, of the last execute, whose input is still where it was */
};

/* Joins hits, best first: a hit belongs to the first candidate whose best box it touches, with no
 * more than PSR_PULSCAN_NEAR bins in between, unless it stands out of that box: a hit less than a
 * quarter as wide with more of its power over noise than 3/2 of the root of their widths' ratio,
 * which no drift leaves there.
 *
 * With a plan, a hit touches a candidate, too, where power goes on all the way between their boxes,
 * as that of red noise: over no more bins than either is wide, which hold, each cut at 8, a third of
 * what the hit's hold over noise, and more than noise by a chance of exp(-5).  And a box with a gap,
 * more than PSR_PULSCAN_NEAR bins that hold no more than noise and a sixth of the box's mean, is not
 * one signal but several side by side: it waits until the parts had their turn.
 *
 * A hit that touches none is weighed without the bins that candidates hold, which are those of their
 * harmonics as far as they hold power, and the lines that go on from there; and without the side
 * lobes of these, which fall as 1 / distance^2.  Where
 * that takes it to the search's sigma or below it belongs to the candidate that holds most of it;
 * else it waits its new turn.  What is then still the best is a new candidate.  Its fundamental is
 * the one whose harmonics hold power, from 16 times lower to PSR_PULSCAN_MAX_HARM times higher than
 * the hit's, if a box of the search there is above the search's sigma: that box becomes the best.
 * So sigma is never more than that of a box of the search, and mostly that of the hit.
 *
 * Without a plan, or where so little is left of a hit, a candidate belongs to the first better one
 * that it touches at a ratio of their frequencies of n, 1/n (n <= 16) or one of
 *   3/2 5/2 2/3 4/3 5/3 3/4 5/4 2/5 3/5 4/5 5/6 2/7 3/7 4/7 3/8 5/8 2/9 3/10 2/11 3/11 2/13 3/13
 *   2/15.
 *
 * Returned: *cand [*ncand] by falling sigma, then power, then rising r; malloc'd, caller frees;
 *           *left_out, candidates beyond max (NULL: not wanted)
 * Status:   PSR_ENOMEM; those of psr_pulscan_amplitudes */
PSR_MUST_CHECK psr_status psr_pulscan_merge(const struct psr_pulscan_hit *hit, size_t nhit,
                                            const struct psr_pulscan_merge_desc *desc,
                                            struct psr_pulscan_cand **cand, size_t *ncand,
                                            size_t *left_out, psr_err *err);

PSR_API_END
#endif
