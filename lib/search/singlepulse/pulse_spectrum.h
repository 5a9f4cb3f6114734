/* pulse_spectrum.h: what spectra and pictures of pulses share (private). */
#ifndef PSR_SEARCH_PULSE_SPECTRUM_H
#define PSR_SEARCH_PULSE_SPECTRUM_H

#include <psrkit/experimental/singlepulse.h>

/* Status: PSR_EINVAL naming field, value and limit */
PSR_MUST_CHECK psr_status psr_pulse_spectrum_check(const struct psr_pulse_spectrum_desc *d,
                                                   psr_err *err);

#endif
