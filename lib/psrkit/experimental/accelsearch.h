/* accelsearch.h: searches Fourier spectra for pulsars in binaries with matched filters over
 * frequency, drift and jerk, as PRESTO's accelsearch does (Ransom, Eikenberry and Middleditch 2002;
 * Andersen and Ransom 2018).
 *
 * For a spectrum X of nbin complex bins, where bin 0 is DC, the search computes:
 *
 *   x_k = X_k / sqrt(local mean power)       mean power 1 in noise
 *   A(r, z, w) = sum_k x_k conj(K(k - r; z, w)),  P = |A|^2
 *   S_H(r, z, w) = sum_{h=1..H} P(r h/H, z h/H, w h/H)       each at the nearest grid point
 *
 * K is the response of a signal of mean frequency r, drift z and jerk w, in bins over the
 * observation, within 0.55 |z| + 16 bins of r (with jerk: 1.1 times the largest deviation, plus
 * 16).  The grid is r = 0, 1/2, 1 ..; z = 0, +-2 .. +-zmax; w = 0, +-20 .. +-wmax.  H is 1, 2, 4 ..
 * numharm.  (r, z, w) is that of the highest harmonic, to which rlo, rhi, zmax and wmax apply; the
 * r, z and w of a candidate are these divided by H.
 *
 * Candidates.  The grid is divided into cells of 4 half bins of the highest harmonic (2 with 16
 * harmonics, 1 with 32); the best point of each cell, over all drifts and jerks, counts if S_H is
 * above the threshold.  Lines brighter than four times the threshold of one harmonic, of which
 * the response to one (r, z, w) leaves less than a twentieth, are then subtracted from the
 * points that have a harmonic more than 2 bins from them; points that lose more than half of
 * their power, or fall below the threshold, no longer count.  A point is a peak if no such point
 * with a fundamental less than 15 bins away has a higher sigma.  Peaks whose fundamentals have
 * small ratios to better ones are dropped, unless keep_harmonics is set.  r, z and w of a
 * candidate are then refined to the maximum of the power of all harmonics; sigma and power are
 * those of the grid point.
 *
 * Sigma.  The significance of chi^2 = 2 S_H with 2 H degrees of freedom in any of
 * psr_accelsearch_trials independent points.  Their number was calibrated in noise: the best sigma
 * of a noise spectrum is above 2 in one spectrum in 44.  A compatible search counts trials as
 * accelsearch does.
 *
 * Not thread-safe: use each plan from one thread; plans are independent of each other.  Lists do
 * not depend on the backend, the number of threads, the batch or mem_bytes; but series may be
 * transformed on a GPU by cuFFT, on the host by FFTW: their bins then differ by some 1e-7 of the
 * highest amplitude, lists in last digits and by rows as close to the threshold. */
#ifndef PSRKIT_ACCELSEARCH_H
#define PSRKIT_ACCELSEARCH_H

#include <psrkit/experimental/accel.h>
#include <psrkit/obs.h>
#include <psrkit/series.h>

PSR_API_BEGIN

typedef struct psr_accelsearch psr_accelsearch;

enum {
    PSR_ACCELSEARCH_MAX_HARM = 32,
    PSR_ACCELSEARCH_MAX_Z = 1200,
    PSR_ACCELSEARCH_MAX_W = 4000,
    PSR_ACCELSEARCH_NSTAGE = 6, /* 1, 2, 4 .. 32 harmonics */
};

/* Definition of the local mean power. */
enum psr_accelsearch_norm {
    PSR_ACCELSEARCH_MEDIAN, /* the median of a block of bins divided by ln 2 */
    PSR_ACCELSEARCH_LOCAL,  /* the mean of the bins at a distance of 5 to 15 on both sides */
    PSR_ACCELSEARCH_PHOTON, /* one number, psr_accelsearch_input.photons */
};

struct psr_accelsearch_desc {
    size_t size; /* sizeof the struct */
    size_t nbin; /* of every spectrum, bin 0 included */

    int zmax;        /* 0 .. PSR_ACCELSEARCH_MAX_Z, rounded up to an even number */
    int wmax;        /* 0 .. PSR_ACCELSEARCH_MAX_W, rounded up to a multiple of 20; 0: no jerk */
    int numharm;     /* 1, 2, 4, 8, 16 or 32 */
    double sigma;    /* threshold of candidates */
    double rlo, rhi; /* range of bins of the highest harmonic, inclusive; rhi 0: to the end */
    enum psr_accelsearch_norm norm;
    const struct psr_span
        *zap; /* [nzap] bins known to be bad, in any order: they count as 0; copied */
    size_t nzap;

    size_t max;          /* largest number of candidates returned; 0: all */
    bool keep_harmonics; /* -noharmremove */
    bool free_harmonics; /* -noharmpolish: measure each harmonic separately */

    /* Reproduce the list of accelsearch on one thread, with its order, neighbours, blocks, rounding
     * and arithmetic. */
    bool compat;
    bool compat_jerk;  /* -wmax was given, if only as 0 */
    bool compat_inmem; /* -inmem was given */

    /* Transform series of 2 nbin samples, and divide their spectra by redden (start 0: by nothing), as
     * psr_rfft_execute and psr_spectrum_deredden do.  Not with compat. */
    bool series;
    struct psr_redden redden;

    size_t batch;        /* largest number of spectra of an execute; 0: 1 */
    int nthread;         /* 0: all cores */
    int64_t mem_bytes;   /* limit on the plan's memory; 0: a quarter of the machine's */
    const char *backend; /* "auto" "cuda" "cpu"; NULL is "auto"; with compat only "cpu" */
    int device;

    bool (*should_stop)(void *ctx); /* polled by any thread, often; NULL: never */
    void *ctx;
    /* Told how much of an execute is done on the CPU, by one thread at a time; NULL: not. */
    void (*progress)(void *ctx, int64_t done, int64_t total);
};

/* A spectrum [nbin][2], or a series [2 nbin].  A GPU copies memory of psr_device_pin fastest. */
struct psr_accelsearch_input {
    const float *x;
    double photons;  /* PSR_ACCELSEARCH_PHOTON: the sum of the series; not used with series */
    float *spectrum; /* [nbin][2]; returned with series: the spectrum searched; may be x */
};

/* Results of an execute for one spectrum, owned by the plan and valid until the next execute. */
struct psr_accelsearch_result {
    const struct psr_accel_cand *cand; /* [ncand], best first */
    size_t ncand;
    size_t nremoved; /* number of removed harmonics of better candidates */
    size_t nleft;    /* number of candidates beyond max, neither measured nor returned */
    int64_t bad; /* the lowest bin, or sample, that is not finite: such a spectrum is not searched;
                  * -1: none */
};

/* Status: PSR_EINVAL naming field, value and limit; PSR_ENOMEM; PSR_EDEVICE if the requested
 *         backend is not available; PSR_ESTOPPED */
PSR_MUST_CHECK psr_status psr_accelsearch_create(psr_accelsearch **out,
                                                 const struct psr_accelsearch_desc *desc,
                                                 psr_err *err);

/* Status: PSR_ENOMEM; PSR_EDEVICE; PSR_ESTOPPED if should_stop returned true */
PSR_MUST_CHECK psr_status psr_accelsearch_execute(psr_accelsearch *p,
                                                  const struct psr_accelsearch_input *in,
                                                  struct psr_accelsearch_result *result,
                                                  psr_err *err);

/* Properties of the plan. */
struct psr_accelsearch_info {
    size_t size; /* sizeof the struct */
    const char *backend;
    int zmax, wmax; /* rounded */
    double rlo, rhi;
    size_t ntemplate; /* drifts times jerks */
    bool inmem;       /* compat: the plane is kept in memory, which changes its rows */
    int64_t bytes;
};

void psr_accelsearch_describe_sized(const psr_accelsearch *p, struct psr_accelsearch_info *info,
                                    size_t size);
#define psr_accelsearch_describe(p, info)                                                          \
    psr_accelsearch_describe_sized((p), (info), sizeof *(info))

/* Frees the plan; NULL is allowed. */
void psr_accelsearch_destroy(psr_accelsearch *p);

PSR_API_END
#endif
