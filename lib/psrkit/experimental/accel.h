/* accel.h: candidates of a Fourier search: template responses, refinement, and PRESTO's files. */
#ifndef PSRKIT_ACCEL_H
#define PSRKIT_ACCEL_H

#include <psrkit/experimental/outfile.h>
#include <psrkit/experimental/pulscan.h>
#include <psrkit/status.h>
#include <stddef.h>
#include <stdint.h>

PSR_API_BEGIN

/* --- template responses ----------------------------------------------------------------------- */

/* Response of a spectrum to templates of drifting signals, near one frequency.
 *
 * A signal of mean frequency r and drift z, in bins over the observation (0 <= u < 1), has
 * amplitude K(k - r; z) in bin k of a spectrum; the response of bins x_k to it is A:
 *
 *   K(q; z) = int_0^1 exp{2 pi i [-(q + z/2) u + z u^2/2]} du
 *   A(r, z) = sum_k x_k conj(K(k - r; z))
 *
 * (Ransom, Eikenberry and Middleditch 2002, section 4).  K is not computed explicitly: the bins are
 * transformed back to a time series, the drift is removed there, and the result is transformed
 * again, which gives A at every half bin of r at once.  With unit variance of the real and
 * imaginary part of each bin, |A|^2 / 2 is distributed like accelsearch's powers: exp(-P) in noise.
 */

typedef struct psr_accel_template psr_accel_template;

/* Takes bins first .. first + n - 1 of a spectrum; all others count as 0.
 * Given:  x   [n][2], re and im; n 1 .. 2^24; copied
 * Status: PSR_EINVAL (n), PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_accel_template_create(psr_accel_template **out, const float *x,
                                                    int64_t first, size_t n, psr_err *err);

/* A position and the response there. */
struct psr_accel_template_peak {
    double r, z;
    double power;     /* |A|^2 / 2 */
    double phase_rad; /* of A, in [0, 2 pi) */
    double centroid;  /* mean time of the signal, 0 .. 1: 1/2 if it is always on */
    double purity;    /* rms duration relative to that of a signal that is always on */
};

/* Powers at one drift of the (r, z) plane.
 * Given:    rlo   a multiple of half a bin
 * Returned: power   [n] at r = rlo, rlo + 1/2, ..; 0 outside the bins that A is computed from */
void psr_accel_template_row(psr_accel_template *m, double z, double rlo, size_t n, float *power);

/* Frees the object; NULL is allowed. */
void psr_accel_template_destroy(psr_accel_template *m);

/* --- lists of candidates ---------------------------------------------------------------------- */

/* PRESTO's accelsearch files, which ACCEL_sift.py and prepfold -accelcand read, and plain tables. */

enum { PSR_ACCEL_NOTE_MAX = 21, PSR_ACCEL_RECORD_BYTES = 88 };

struct psr_accel_value {
    double value, error;
};

/* One harmonic of a candidate. */
struct psr_accel_harm {
    struct psr_accel_value power; /* relative to the local mean power */
    double sigma;                 /* of this power, for one trial */
    double raw;                   /* power before normalisation: raw / power.value is the local
                                     mean */
    struct psr_accel_value r, z, w;
    struct psr_accel_value phase_rad, centroid, purity;
};

struct psr_accel_cand {
    double sigma, power; /* summed power: chi^2 / 2 */
    double coherent;     /* of the harmonics added in phase; see below */
    int nharm;
    struct psr_accel_value r, z, w;    /* mean frequency, drift and jerk, in bins of the
                                          fundamental */
    const struct psr_accel_harm *harm; /* [nharm] */
    char note[PSR_ACCEL_NOTE_MAX];

    /* Used only by psr_accel_write_csv and psr_accel_write_json. */
    double dof, ln_p;     /* of the detected box: chi^2 is 2 power */
    int64_t first, width; /* its bins at the fundamental */
    bool sign_known;      /* the sign of z is determined */
    int64_t members;      /* number of hits merged into it */
};

struct psr_accel_list {
    const struct psr_accel_cand *cand; /* [ncand], best first */
    size_t ncand;
    bool jerk; /* w was searched and gets its own columns */
    double tobs_s;
};

/* Write one line per candidate: comma-separated values (psr_accel_write_csv_header writes the
 * header line), or JSON objects.  The first column is file.  Numbers have up to 10 digits. */
PSR_MUST_CHECK psr_status psr_accel_write_csv_header(psr_outfile *f, psr_err *err);
PSR_MUST_CHECK psr_status psr_accel_write_csv(psr_outfile *f, const struct psr_accel_list *list,
                                              const char *file, psr_err *err);
PSR_MUST_CHECK psr_status psr_accel_write_json(psr_outfile *f, const struct psr_accel_list *list,
                                               const char *file, psr_err *err);

/* A record of a .cand file: r, z and w of the candidate; power and the remaining fields of its
 * first harmonic. */
struct psr_accel_record {
    double r, z, w;
    float rerr, zerr, werr;
    float pow, powerr, sig, rawpow, phs, phserr, cen, cenerr, pur, purerr, locpow;
};

/* --- refinement of candidates of boxcars ------------------------------------------------------ */

/* Refines candidates found by boxcars and describes them as accelsearch does.
 *
 * A box gives the power in its bins, but neither the position of the signal within them nor the
 * sign of its drift.  Both come from template responses (above) around the box: the
 * harmonic with the most power is searched from 0.5 to 1.5 times the box's drift, with both signs,
 * and the best position is refined on all harmonics.
 *
 *   r, z            of the template response, if it is significant (chance below one in 1000 such
 *                   boxes of noise) and holds half of the box's excess; else the middle and the
 *                   width of the box, with errors that reflect this uncertainty
 *   sign of z       of the template response, or of the sign whose power is higher by 3
 *                   (significance of e^3); else the candidate is listed twice, once for each sign,
 *                   unless its z is below its error
 *   power           chi^2 / 2 of the box
 *   coherent        |sum_h A_h exp i(phi_1 - h phi_1)|^2 / 2 of the template responses at h r, h z
 *   harm[].power    P_h = 1 + s_h (P - H), where s_h is the harmonic's fraction of the box's excess
 *                   over noise and P the power that makes 2 H degrees of freedom as improbable as
 *                   the box.  The sum over h thus has the box's significance when read as the power
 *                   of a matched search
 *   harm[].raw      chi^2 / 2 of the harmonic's bins; the sum over h is power
 *   phase, centroid, purity   of the template response
 *   note            "z of either sign"; "lines side by side" if narrow candidates dominate its box
 *                   and no response explains it; the better candidate that it is a harmonic of, as
 *                   "H 35 of Cand 1" or "H 7/2 of Cand 1" (merging knows small ratios only); or
 *                   "even harmonics only", as for a pulsar of half the period
 *
 * Candidates whose refined positions equal those of better ones are merged with them. */

struct psr_refine_desc {
    size_t size;                /* sizeof the struct */
    int zmax;                   /* of the search: limit of the drift */
    bool boxes_only;            /* no template responses: hits do not know their bins, as with
                                   rblock and compat */
    const struct psr_span *zap; /* [nzap] bins that were treated as noise */
    size_t nzap;
    int nthread; /* 0: all cores */
};

struct psr_measured {
    struct psr_accel_cand *cand; /* [n], in the order of the candidates kept; owned */
    size_t n;
    struct psr_accel_harm *harm; /* storage that cand points to; owned */
};

PSR_API_END
#endif
