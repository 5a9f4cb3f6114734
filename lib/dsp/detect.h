/* detect.h: detects channelised voltages (private). */
#ifndef PSR_DSP_DETECT_H
#define PSR_DSP_DETECT_H

#include <psrkit/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Products of the voltages p and q of two polarisations; a single one has only PSR_DETECT_EACH. */
enum psr_detect {
    PSR_DETECT_EACH,      /* |p|^2, |q|^2 */
    PSR_DETECT_COHERENCE, /* |p|^2, |q|^2, Re p* q, Im p* q */
    PSR_DETECT_STOKES,    /* I Q U V for a linear basis: |p|^2 + |q|^2, |p|^2 - |q|^2, 2 Re p* q,
                             2 Im p* q */
    PSR_DETECT_STOKES_CIRCULAR, /* for p left and q right: V is the second product of these, Q and U
                                   the last two */
};

/* Products per channel for npol polarisations. */
size_t psr_detect_nproduct(enum psr_detect what, size_t npol);

/* Spectra of products, each the sum over tsum spectra of voltages and fsum channels.
 * Given:    v      [nspectrum][npol][nchan] complex pairs
 *           good   [nspectrum]: those not good add nothing
 *           x, weight   zero, or what is left of a call before
 *           fill   spectra that are in x[0] already, below tsum
 * Returned: x      [(fill + nspectrum + tsum - 1) / tsum][nproduct][nchan / fsum]
 *           weight   [the same rows]: good spectra in each
 * Notes:    channels that are left over by fsum are the last ones, and are dropped */
void psr_detect(enum psr_detect what, const float *v, size_t nspectrum, size_t npol, size_t nchan,
                const bool *good, size_t tsum, size_t fsum, size_t fill, float *x, uint32_t *weight,
                int nthread);

#endif
