/* pulscan.h: searches Fourier spectra for accelerated pulsars with boxcars (White et al.,
 * "Pulscan").
 *
 * For a spectrum X of nbin complex bins, where bin 0 is DC, the search computes:
 *
 *   x_k = (X_k - m) / (1.4826 d)            real and imaginary parts separately; m is the median
 *                                           and d the median absolute deviation of the block of
 *                                           normblock bins that contains k (lower medians)
 *   p_k = |x_k|^2,  p_0 = 0                 chi^2 with 2 degrees of freedom in noise
 *   s_H[i] = sum_{h=1..H} sum_{j<h} p[h i + j]       i < nbin / H
 *   B_{H,z}[i] = sum_{j<=z} s_H[i + j]      chi^2 with H(H+1)(z+1) degrees of freedom
 *
 * for every H of a list and z = 0, zstep, 2 zstep .. zmax or 0, 1, 2, 4 .. zmax.  A box is a hit if
 * its sigma is above the threshold and it is a peak: among the boxes of the same z and H that begin
 * within max(PSR_PULSCAN_NEAR, z) bins of it on either side, none has more power, or equal power
 * and a lower start.  A signal therefore hides only signals within its side lobes or within boxes
 * that share its bins.  A box that may be a side lobe of a bright line is not a hit either.  For
 * this, E / (d^2 - 1/4) is summed over the bins of the box, where E is the excess power over noise
 * of those peaks of z = 0 and the same H that are outside the box, at a distance of d bins up to
 * 4096, and exceed its own excess; the box is a side lobe if the sum is above 0 and at least its
 * own excess.  Lines of up to 32 bins of drift whose response is fitted (chi^2 above 200 in one bin,
 * less than a twentieth of it left) do not count there within 96 bins, if without their responses the
 * box has more than half of its excess and is above the threshold.
 * psr_pulscan_merge turns hits into candidates.
 *
 * With rblock or compat, starts are divided into blocks instead: block b contains i = 1 + b block
 * .. (b+1) block.  In every block, for every z and H, the box with the most power (the lowest of
 * equals) is a hit if its sigma is above the threshold.
 *
 * Boxes and bins.  A box contains bins i .. i + z of the fundamental and h i .. h (i + z) + h - 1
 * of harmonic h.  No box contains bin 0 or a bin that does not exist, and if H > 1 no box begins
 * below (H - 1)(z + 1), so that no bin of the spectrum is counted twice in one box.
 *
 * Sigma.  p = 1 - (1 - Q)^N_eff, where Q is the probability that a box of chi^2 noise has at least
 * this power and N_eff the effective number of independent boxes (psr_pulscan_trials); sigma is
 * that of the Gaussian tail p.  It accounts for the finite length of the normalisation blocks, and
 * for the short blocks with which spectra were de-reddened, whose medians scatter much more.  The
 * best sigma of a noise spectrum therefore exceeds 2 in one spectrum in 44 or slightly fewer; in
 * de-reddened spectra with boxes wider than the blocks, in half to a quarter as many.
 *
 * Not thread-safe: use each plan from one thread; plans are independent of each other.  Hits do not
 * depend on the number of threads or the batch, and hits of spectra are the same to the bit on
 * every backend.  Series are transformed in single precision: with another FFT library, bin k
 * differs by some rounding errors of the rms of all bins and of the bin as far below the highest as
 * k is above 0, measured as 5e-5 of its power at the high end of a red spectrum. */
#ifndef PSRKIT_PULSCAN_H
#define PSRKIT_PULSCAN_H

#include <psrkit/obs.h>
#include <psrkit/series.h>

PSR_API_BEGIN

typedef struct psr_pulscan psr_pulscan;

enum psr_pulscan_significance {
    PSR_PULSCAN_EXACT, /* psr_chi2_logp */
    PSR_PULSCAN_POLY,  /* the paper's polynomial, psr_pulscan_logp, for comparison; powers below
                          1.22 dof, where it is meaningless, count as noise */
};

enum {
    PSR_PULSCAN_MAX_HARM = 32,
    PSR_PULSCAN_MAX_Z = 65535,
    PSR_PULSCAN_NEAR = 15, /* largest gap in bins that side lobes of a signal bridge, as in
                              accelsearch */
};

struct psr_pulscan_desc {
    size_t size; /* sizeof the struct */
    size_t nbin; /* of every spectrum, bin 0 included */
    bool series; /* the input is series of 2 nbin samples, which are Fourier transformed first */
    struct psr_redden redden; /* series: de-redden the spectra like this; spectra: they have been
                                 de-reddened like this.  start 0: no */
    size_t batch;             /* largest number of spectra per execute; 0: 1 */

    int zmax;         /* 0 .. PSR_PULSCAN_MAX_Z */
    int zstep;        /* 0: 1 */
    bool logz;        /* z = 0, 1, 2, 4 ..; zstep is ignored */
    const int *nharm; /* [nnharm] the H to search, ascending, 1 .. PSR_PULSCAN_MAX_HARM; copied */
    size_t nnharm;
    size_t block;     /* for rblock and compat: starts per block ("chunkwidth"); 0: 4096 */
    bool rblock;      /* one hit per block, z and H, with only the block's r */
    size_t normblock; /* bins per normalisation block; 0: the larger of 30 zmax and 4096, at most
                         nbin */
    int64_t rlo, rhi; /* boxes of the fundamental are within bins rlo .. rhi; rhi 0: to the end */
    const struct psr_span *zap; /* [nzap] bins known to be bad, in any order: they count as p =
                                   2, the mean of noise; copied */
    size_t nzap;

    double sigma;   /* threshold of hits */
    double ntrials; /* N_eff; 0: calibrated */
    enum psr_pulscan_significance significance;
    bool compat; /* reproduce Pulscan's list: z < zmax, boxes that extend beyond the end, N =
                    zmax nbin / (6.95 H) for every H by Bonferroni, r one bin low and rounded, a
                    separate last block however short, data unchanged if d = 0; zap, rlo, rhi are
                    rejected */

    int nthread;         /* 0: all cores */
    int64_t mem_bytes;   /* limit on the plan's memory; 0: a quarter of the machine's */
    const char *backend; /* "auto" "cpu" "cuda" "hybrid"; NULL is "auto" */
    int device;

    bool (*should_stop)(void *ctx); /* polled by any thread, often, on the CPU; NULL: never */
    void *ctx;
    /* Told how much of an execute is done on the CPU, by one thread at a time; NULL: not. */
    void (*progress)(void *ctx, int64_t done, int64_t total);
};

struct psr_pulscan_hit {
    double sigma;
    double ln_p;   /* ln Q of this box alone, before N_eff */
    double r;      /* bin of the fundamental: the middle of the box, or of the block */
    float power;   /* chi^2; psr_pulscan_dof(nharm, z) degrees of freedom */
    int nharm, z;  /* the box is z + 1 bins wide */
    int64_t first; /* its lowest bin at the fundamental; with rblock, of the block */
};

/* Results of an execute for one spectrum, owned by the plan and valid until the next execute. */
struct psr_pulscan_result {
    const struct psr_pulscan_hit *hit; /* [nhit] by H, then z, then first */
    size_t nhit;
    int64_t bad; /* the lowest bin (sample of a series) that is not finite: such a spectrum is
                    not searched; -1: none */
};

/* Notes:  normalisation blocks with all values equal (d = 0) contain no data: their p is 0
 * Status: PSR_EINVAL naming field, value and limit; PSR_ENOMEM; PSR_EDEVICE if the requested
 *         backend is not available; PSR_EUNSUPPORTED if a backend requested by name does not
 *         support the search */
PSR_MUST_CHECK psr_status psr_pulscan_create(psr_pulscan **out, const struct psr_pulscan_desc *desc,
                                             psr_err *err);

/* Given:    in [nspec], each [nbin][2], re and im, or [2 nbin] samples; nspec <= batch
 * Returned: result [nspec]
 * Status:   PSR_EINVAL (nspec), PSR_ENOMEM (of hits too: none is dropped), PSR_EDEVICE,
 *           PSR_ESTOPPED if should_stop returned true */
PSR_MUST_CHECK psr_status psr_pulscan_execute(psr_pulscan *p, size_t nspec, const float *const *in,
                                              struct psr_pulscan_result *result, psr_err *err);

/* Computes normalised bins x_k, k = first .. first + n - 1, of spectrum s of the last execute,
 * whose input must still be valid.
 * Returned: x [n][2]; zero for bins that do not exist, and bin 0
 * Status:   PSR_EINVAL (s), PSR_ENOMEM, PSR_EDEVICE */
PSR_MUST_CHECK psr_status psr_pulscan_amplitudes(psr_pulscan *p, size_t s, int64_t first, size_t n,
                                                 float *x, psr_err *err);

struct psr_pulscan_info {
    size_t size;                         /* sizeof the struct */
    const char *backend;                 /* static storage */
    size_t normblock, block, nz, nblock; /* block, nblock: for rblock and compat */
    int64_t bytes;                       /* allocated by the plan */
};
void psr_pulscan_describe_sized(const psr_pulscan *p, struct psr_pulscan_info *info, size_t size);
#define psr_pulscan_describe(p, info) psr_pulscan_describe_sized((p), (info), sizeof *(info))

/* Frees the plan; NULL is allowed. */
void psr_pulscan_destroy(psr_pulscan *p);

/* --- candidates ------------------------------------------------------------------------------- */

/* A candidate: hits of one signal. */
struct psr_pulscan_cand {
    struct psr_pulscan_hit best; /* the most significant, at the fundamental */
    size_t members;
    int64_t first, last; /* bins of the fundamental that the members on this frequency cover */
    bool lines;          /* narrow candidates dominate its box */
    float taken[PSR_PULSCAN_MAX_HARM]; /* chi^2 above the mean of noise in bins that its
                                          harmonics share with better candidates */
};

struct psr_pulscan_merge_desc {
    size_t size;         /* sizeof the struct */
    bool keep_harmonics; /* do not merge candidates whose frequencies have small ratios */
    size_t max;          /* largest number of candidates returned; 0: all */
    psr_pulscan *plan;   /* plan of the hits; NULL: merge by frequency only, as hits of rblock */
    size_t spec;         /* their spectrum in the last execute, whose input must still be valid */
};

PSR_API_END
#endif
