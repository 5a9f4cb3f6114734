/* dada_keys.h: what headers of voltages and of spectra in DADA files have in common (private). */
#ifndef PSR_FORMATS_DADA_DADA_KEYS_H
#define PSR_FORMATS_DADA_DADA_KEYS_H

#include "formats/spectra/header_keys.h"

#include <psrkit/experimental/dada.h>
#include <psrkit/obs.h>

/* Reads UTC_START, "2024-11-20-03:04:05" with or without a fraction of a second, plus PICOSECONDS.
 * Given:  name   the file, for the message
 * Status: PSR_EFORMAT */
PSR_MUST_CHECK psr_status psr_dada_read_utc(const char *name, const char *text, int64_t picoseconds,
                                            struct psr_mjd *date, psr_err *err);

/* The date of MJD_START, which is a number; the day apart from its fraction, so that no digit is
 * lost. */
struct psr_mjd psr_dada_read_mjd(const char *text);

/* Prints the lines of UTC_START and PICOSECONDS, the latter a multiple of unit_ps.
 * Returned: characters, 0 for a year that the calendar does not have */
int psr_dada_print_start(char *to, size_t room, struct psr_mjd start, int64_t unit_ps);

/* Whether these can be the first bytes of a DADA file. */
bool psr_dada_is_header(const uint8_t *bytes, size_t n);

/* Date of the first sample: UTC_START with PICOSECONDS, or MJD_START, and OBS_OFFSET; MJD 0 if there is none.
 * Status: PSR_EFORMAT naming file, key, value and limit */
PSR_MUST_CHECK psr_status psr_dada_read_start(const struct psr_header_keys *k,
                                              double bytes_per_second, struct psr_mjd *start,
                                              psr_err *err);

#endif
