/* accel_template.h: responses matched to a drift, around one place of a spectrum.
 *
 * A signal of mean frequency r and drift z, in bins over the observation (0 <= u < 1), puts into
 * bin k of a spectrum the amplitude K(k - r; z), and the response of bins x_k to it is A:
 *
 *   K(q; z) = int_0^1 exp{2 pi i [-(q + z/2) u + z u^2/2]} du
 *   A(r, z) = sum_k x_k conj(K(k - r; z))
 *
 * (Ransom, Eikenberry and Middleditch 2002, section 4).  K is nowhere made here: the bins are taken
 * back to a time series, the drift is taken out of that, and what is left is transformed again,
 * which gives A at every half bin of r at once.  With bins of unit variance in each part, |A|^2 / 2
 * is distributed as accelsearch's powers: exp(-P) in noise. */
#ifndef PSRKIT_ACCEL_TEMPLATE_H
#define PSRKIT_ACCEL_TEMPLATE_H

#include <psrkit/status.h>
#include <stddef.h>
#include <stdint.h>

PSR_API_BEGIN

typedef struct psr_accel_template psr_accel_template;

/* Takes bins first .. first + n - 1 of a spectrum; others count as 0.
 * Given:    x [n][2], re and im; n 1 .. 2^24; copied
 * Status:   PSR_EINVAL (n), PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_accel_template_create(psr_accel_template **out, const float *x,
                                                    int64_t first, size_t n, psr_err *err);

/* A place and what is there. */
struct psr_accel_template_peak {
    double r, z;
    double power;     /* |A|^2 / 2 */
    double phase_rad; /* of A, in [0, 2 pi) */
    double centroid;  /* mean time of the signal, 0 .. 1: 1/2 for one that is on throughout */
    double purity;    /* rms duration over that of a signal that is on throughout */
};

/* A at (r, z).  Powers differ from those of the sum above by 1 % at most where the bins reach at
 * least |z| / 2 + 8 beyond r to both sides. */
void psr_accel_template_respond(const psr_accel_template *m, double r, double z,
                                struct psr_accel_template_peak *peak);

/* The same of a signal of jerk w, in bins over the observation, and mean drift z:
 *
 *   K(q; z, w) = int_0^1 exp{2 pi i [-(q + z/2 - w/12) u + (z - w/2) u^2/2 + w u^3/6]} du */
void psr_accel_template_respond_jerk(const psr_accel_template *m, double r, double z, double w,
                                     struct psr_accel_template_peak *peak);

/* The most power at the half bins of rlo .. rhi and z = zlo, zlo + zstep .. zhi; the first of
 * equals.  Only r, z and power of peak are set; the power is 0 where nothing was looked at.
 * Given:    zstep > 0
 * Returned: places looked at */
size_t psr_accel_template_search(psr_accel_template *m, double rlo, double rhi, double zlo,
                                 double zhi, double zstep, struct psr_accel_template_peak *peak);

/* One drift of the (r, z) plane.
 * Given:    rlo   a whole or half bin
 * Returned: power [n] at r = rlo, rlo + 1/2, ..; 0 beyond the bins that A is made from */
void psr_accel_template_row(psr_accel_template *m, double z, double rlo, size_t n, float *power);

/* NULL is fine. */
void psr_accel_template_destroy(psr_accel_template *m);

PSR_API_END
#endif
