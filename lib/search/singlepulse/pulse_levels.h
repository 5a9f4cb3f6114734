/* pulse_levels.h: tells pulses from changes of the level and from several narrow signals (private). */
#ifndef PSR_SEARCH_SINGLEPULSE_PULSE_LEVELS_H
#define PSR_SEARCH_SINGLEPULSE_PULSE_LEVELS_H

#include <psrkit/experimental/singlepulse.h>

typedef struct psr_pulse_levels psr_pulse_levels;

/* Given:  desc   as for psr_pulse_spectrum_create, and valid there
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_pulse_levels_create(psr_pulse_levels **out,
                                                  const struct psr_pulse_spectrum_desc *desc,
                                                  psr_err *err);

/* Takes spectra x [n][nchan] from "first" on, each once; not a number: no sample.  Needs those of
 * psr_pulse_spectrum_range; passes over others. */
void psr_pulse_levels_push(psr_pulse_levels *p, int64_t first, size_t n, const float *x);

/* Returned: PSR_PULSE_EDGE     the pulse does not stand above what is beside it, or the level before it and that
 *                              after it differ by more than the pulse
 *           PSR_PULSE_NARROW   it is of some sub-bands only, weak without what they have more than most, and so short
 *                              a sweep that its delay tells little */
unsigned psr_pulse_levels_marks(psr_pulse_levels *p);

/* Frees the object; NULL is allowed. */
void psr_pulse_levels_destroy(psr_pulse_levels *p);

#endif
