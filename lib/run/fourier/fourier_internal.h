/* fourier_internal.h: names of a search (private). */
#ifndef PSR_RUN_FOURIER_FOURIER_INTERNAL_H
#define PSR_RUN_FOURIER_FOURIER_INTERNAL_H

#include <psrkit/experimental/fourier.h>

/* What follows the root in the name of list k.
 * Returned: false if there is no list k */
bool psr_fourier_suffix(const struct psr_fourier_desc *d, int k, char text[PSR_FOURIER_SUFFIX]);

#endif
