/* dada_internal.h: headers of DADA and voltages (private). */
#ifndef PSR_FORMATS_DADA_DADA_INTERNAL_H
#define PSR_FORMATS_DADA_DADA_INTERNAL_H

#include "formats/spectra/header_keys.h"

#include <psrkit/experimental/dada.h>
#include <psrkit/obs.h>

/* --- keys that headers of voltages and of spectra have in common ------------------------------ */

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

/* HDR_SIZE, or what it is where there is none.
 * Status: PSR_EFORMAT */
PSR_MUST_CHECK psr_status psr_dada_read_size(const struct psr_header_keys *k, int64_t *size,
                                             psr_err *err);

/* --- headers of voltages ---------------------------------------------------------------------- */

/* Centre frequency of channel c in MHz: FREQ + BW ((c + 1/2) / NCHAN - 1/2). */
double psr_dada_freq_mhz(const struct psr_dada *h, size_t c);

/* Parses a header.
 * Given:    bytes [n]   the start of a file, at least HDR_SIZE bytes
 *           name   the file, for messages
 * Returned: *h, initialised here; the caller clears it; cleared on error
 * Status:   PSR_EFORMAT naming file, key, value and limit: a key that is missing, repeated with a
 *           different value, out of range, or inconsistent with another; PSR_EUNSUPPORTED for
 *           another kind of voltages; PSR_ENOMEM.  *need is the size of the header if n is too
 *           small, else 0. */
PSR_MUST_CHECK psr_status psr_dada_parse(struct psr_dada *h, const void *bytes, size_t n,
                                         const char *name, size_t *need, psr_err *err);

void psr_dada_clear(struct psr_dada *h);

/* Opens files that follow each other: their headers must agree, and each must begin at most
 * PSR_VOLTAGES_GAP_S after the end of another.
 * Status: PSR_EIO; PSR_EFORMAT (as psr_dada_parse; headers that differ; an overlap or a longer gap,
 *         naming both files; a file without a whole sample); PSR_EINVAL (no input, a pipe among
 *         several); PSR_EUNSUPPORTED; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_voltages_open(psr_voltages **out,
                                            const struct psr_voltages_desc *desc, psr_err *err);

/* Header of the first file, with start moved to its first sample and obs_offset 0; owned by v. */
const struct psr_dada *psr_voltages_header(const psr_voltages *v);

/* Total number of samples, gaps included, or -1 if unknown until the input ends. */
int64_t psr_voltages_nsamp(const psr_voltages *v);

/* Reads the rest of the input in blocks of nt samples (the last may be shorter).  Threads share the
 * pieces of a file.
 * Notes:  voltages in gaps are 0; an incomplete sample at the end of a file or stream is dropped with a note
 * Status: PSR_EIO, and those of psr_voltages_open for a file that has changed since */
PSR_MUST_CHECK psr_status psr_voltages_pump(psr_voltages *v, size_t nt,
                                            const struct psr_voltages_sink *sink, psr_err *err);

/* Frees the stream; NULL is allowed. */
void psr_voltages_close(psr_voltages *v);

#endif
