/* dada_keys.h: what headers of voltages and of spectra in DADA files have in common (private). */
#ifndef PSR_FORMATS_DADA_DADA_KEYS_H
#define PSR_FORMATS_DADA_DADA_KEYS_H

#include "formats/spectra/header_keys.h"

#include <psrkit/experimental/dada.h>

/* Whether these can be the first bytes of a DADA file. */
bool psr_dada_is_header(const uint8_t *bytes, size_t n);

/* Date of the first sample: UTC_START with PICOSECONDS, or MJD_START, and OBS_OFFSET; MJD 0 if there is none.
 * Status: PSR_EFORMAT naming file, key, value and limit */
PSR_MUST_CHECK psr_status psr_dada_read_start(const struct psr_header_keys *k,
                                              double bytes_per_second, struct psr_mjd *start,
                                              psr_err *err);

#endif
