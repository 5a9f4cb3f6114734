/* accel_template.h: response of a spectrum to templates of drifting signals, near one frequency.
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
#ifndef PSRKIT_ACCEL_TEMPLATE_H
#define PSRKIT_ACCEL_TEMPLATE_H

#include <psrkit/status.h>
#include <stddef.h>
#include <stdint.h>

PSR_API_BEGIN

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

/* Response at (r, z).  Powers differ from the sum above by at most 1 % if the bins extend at least
 * |z| / 2 + 8 beyond r on both sides. */
void psr_accel_template_respond(const psr_accel_template *m, double r, double z,
                                struct psr_accel_template_peak *peak);

/* The same for a signal of jerk w, in bins over the observation, and mean drift z:
 *
 *   K(q; z, w) = int_0^1 exp{2 pi i [-(q + z/2 - w/12) u + (z - w/2) u^2/2 + w u^3/6]} du */
void psr_accel_template_respond_jerk(const psr_accel_template *m, double r, double z, double w,
                                     struct psr_accel_template_peak *peak);

/* Finds the highest power at the half bins of rlo .. rhi and z = zlo, zlo + zstep .. zhi; the first
 * of equals.  Sets only r, z and power of peak; power is 0 if nothing was searched.
 * Given:    zstep   > 0
 * Returned: number of positions searched */
size_t psr_accel_template_search(psr_accel_template *m, double rlo, double rhi, double zlo,
                                 double zhi, double zstep, struct psr_accel_template_peak *peak);

/* Powers at one drift of the (r, z) plane.
 * Given:    rlo   a multiple of half a bin
 * Returned: power   [n] at r = rlo, rlo + 1/2, ..; 0 outside the bins that A is computed from */
void psr_accel_template_row(psr_accel_template *m, double z, double rlo, size_t n, float *power);

/* Frees the object; NULL is allowed. */
void psr_accel_template_destroy(psr_accel_template *m);

PSR_API_END
#endif
