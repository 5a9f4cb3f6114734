/* block_sums.h: sums over a block of packed spectra, by spectrum and by channel (private). */
#ifndef PSR_DSP_BLOCK_SUMS_H
#define PSR_DSP_BLOCK_SUMS_H

#include <psrkit/obs.h>

/* How samples lie in memory. */
struct psr_layout {
    size_t nchan;
    int nbit;
    enum psr_kind kind;
    size_t row_bytes;
};

/* Given:    in [n]   spectra
 *           row [nchan]   overwritten
 * Returned: z [n]   sums over channels, rounded once
 *           sum [nchan]   sums over spectra, exact for integers of up to 16 bits; NULL: not
 *                         computed */
void psr_block_sums(const struct psr_layout *layout, const void *in, size_t n, float *z,
                    double *sum, double *row);

/* Converts one spectrum to floats; 32-bit integers are rounded. */
void psr_spectrum_widen(const struct psr_layout *layout, const void *in, float *x);

#endif
