/* accelsearch.h: pulsars in binaries by matched responses over frequency, drift and jerk, the
 * search of PRESTO's accelsearch (Ransom, Eikenberry and Middleditch 2002; Andersen and Ransom
 * 2018).
 *
 * A spectrum X of nbin complex bins, bin 0 being DC, is searched like this:
 *
 *   x_k = X_k / sqrt(local mean power)       mean power 1 in noise
 *   A(r, z, w) = sum_k x_k conj(K(k - r; z, w)),  P = |A|^2
 *   S_H(r, z, w) = sum_{h=1..H} P(r h/H, z h/H, w h/H)       every place the nearest that there is
 *
 * K is the response of a signal of mean frequency r, drift z and jerk w, in bins over the
 * observation, within 0.55 |z| + 16 bins of r (1.1 times the largest deviation and 16, with jerk).
 * Places are r = 0, 1/2, 1 ..; z = 0, +-2 .. +-zmax; w = 0, +-20 .. +-wmax.  H is 1, 2, 4 ..
 * numharm.  (r, z, w) is the highest harmonic's, which is what rlo, rhi, zmax and wmax bound; a
 * candidate's own are those over H.
 *
 * Candidates.  Places go by 4 half bins of the highest harmonic (2 with 16 harmonics, 1 with 32): of
 * these the best of all drifts and jerks counts, if S_H is above the threshold.  A peak is such a
 * place that has none of higher sigma whose fundamental is less than 15 bins away.  Peaks whose
 * fundamentals are in small ratios to better ones are dropped, unless keep_harmonics.  Peaks are
 * measured: r, z and w of a candidate are where the powers of all harmonics together are highest;
 * sigma and power are those of the place.
 *
 * Sigma.  That of the chance of noise to give chi^2 = 2 S_H with 2 H degrees of freedom in any of
 * psr_accelsearch_trials independent places.  These were counted in noise: its best sigma is above 2
 * in one spectrum of 44.  A compatible search counts as accelsearch does.
 *
 * One plan, one caller's thread; plans are independent of each other.  Lists do not depend on the
 * number of threads, on the batch or on mem_bytes. */
#ifndef PSRKIT_ACCELSEARCH_H
#define PSRKIT_ACCELSEARCH_H

#include <psrkit/accel.h>
#include <psrkit/obs.h>
#include <psrkit/spectrum.h>

PSR_API_BEGIN

typedef struct psr_accelsearch psr_accelsearch;

enum {
    PSR_ACCELSEARCH_MAX_HARM = 32,
    PSR_ACCELSEARCH_MAX_Z = 1200,
    PSR_ACCELSEARCH_MAX_W = 4000,
    PSR_ACCELSEARCH_NSTAGE = 6, /* 1, 2, 4 .. 32 harmonics */
};

/* What the local mean power is. */
enum psr_accelsearch_norm {
    PSR_ACCELSEARCH_MEDIAN, /* the median of a block of bins over ln 2 */
    PSR_ACCELSEARCH_LOCAL,  /* the mean of bins 5 to 15 away to both sides */
    PSR_ACCELSEARCH_PHOTON, /* one number, psr_accelsearch_input.photons */
};

struct psr_accelsearch_desc {
    size_t nbin; /* of every spectrum, bin 0 included */

    int zmax;        /* 0 .. PSR_ACCELSEARCH_MAX_Z, rounded up to an even number */
    int wmax;        /* 0 .. PSR_ACCELSEARCH_MAX_W, rounded up to a multiple of 20; 0: no jerk */
    int numharm;     /* 1, 2, 4, 8, 16 or 32 */
    double sigma;    /* candidates are above it */
    double rlo, rhi; /* bins that the highest harmonic lies in, both included; rhi 0: to the end */
    enum psr_accelsearch_norm norm;
    const struct psr_span
        *zap; /* [nzap] bins known to be bad, any order: they count as 0; copied */
    size_t nzap;

    size_t max;          /* most candidates given; 0: no bound */
    bool keep_harmonics; /* -noharmremove */
    bool free_harmonics; /* -noharmpolish: harmonics are measured each for itself */

    /* The list that accelsearch of one thread gives, with its order, its neighbours, its blocks, its
     * rounding and its arithmetic. */
    bool compat;
    bool compat_jerk;  /* -wmax was given, if only as 0 */
    bool compat_inmem; /* -inmem was given */

    int nthread;         /* 0: all cores */
    int64_t mem_bytes;   /* bound on what the plan allocates; 0: a quarter of the machine */
    const char *backend; /* "auto" "cpu"; NULL is "auto" */
    int device;
};

/* A spectrum [nbin][2]. */
struct psr_accelsearch_input {
    const float *x;
    double photons; /* PSR_ACCELSEARCH_PHOTON: the sum of the series */
};

/* What execute found in one spectrum; the plan's, until the next execute. */
struct psr_accelsearch_result {
    const struct psr_accel_cand *cand; /* [ncand], best first */
    size_t ncand;
    size_t nremoved; /* harmonics of better ones */
    size_t nleft;    /* beyond max, and neither measured nor given */
    int64_t bad; /* the lowest bin that is no finite number: such a spectrum is not searched; -1 */
};

/* Status: PSR_EINVAL naming field, value and limit; PSR_ENOMEM; PSR_EDEVICE for a backend asked for
 *         and absent. */
PSR_MUST_CHECK psr_status psr_accelsearch_create(psr_accelsearch **out,
                                                 const struct psr_accelsearch_desc *desc,
                                                 psr_err *err);

/* Status: PSR_ENOMEM; PSR_EDEVICE */
PSR_MUST_CHECK psr_status psr_accelsearch_execute(psr_accelsearch *p,
                                                  const struct psr_accelsearch_input *in,
                                                  struct psr_accelsearch_result *result,
                                                  psr_err *err);

/* One list: those of a matched search, and behind them those of another list of which none of them is
 * within 15 bins, each in its order.
 * Returned: *all [*n], malloc'd, caller frees; what it points into stays whose it was
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_accelsearch_join(const struct psr_accelsearch_result *matched,
                                               const struct psr_accel_cand *other, size_t nother,
                                               struct psr_accel_cand **all, size_t *n, psr_err *err);

/* Independent places that sums of so many harmonics are held against. */
double psr_accelsearch_trials(const psr_accelsearch *p, int nharm);

/* The power S_H above which a place of so many harmonics is a candidate. */
double psr_accelsearch_threshold(const psr_accelsearch *p, int nharm);

/* What the plan settled on. */
struct psr_accelsearch_info {
    const char *backend;
    int zmax, wmax; /* rounded */
    double rlo, rhi;
    size_t ntemplate; /* drifts times jerks */
    bool inmem;       /* compat: the plane is kept, which changes its rows */
    int64_t bytes;
};

void psr_accelsearch_describe(const psr_accelsearch *p, struct psr_accelsearch_info *info);

/* NULL is fine. */
void psr_accelsearch_destroy(psr_accelsearch *p);

PSR_API_END
#endif
