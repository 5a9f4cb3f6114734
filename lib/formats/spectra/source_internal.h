/* source_internal.h: headers of formats of spectra (private). */
#ifndef PSR_FORMATS_SPECTRA_SOURCE_INTERNAL_H
#define PSR_FORMATS_SPECTRA_SOURCE_INTERNAL_H

#include <psrkit/experimental/source.h>

/* Forgets ranges that end at or before this spectrum, so that the account of an endless input does not grow. */
void psr_source_forget_gaps(psr_source *s, int64_t before);

/* Parses a header from the first n bytes of a file.
 * Given:    name   the file, for messages
 *           notes   for skipped keys
 * Returned: *obs, initialised here, cleared by the caller; nsamp is -1 unless the header has
 *           nsamples
 *           *header_bytes, offset of the first sample
 * Status:   PSR_EFORMAT; *need_more is set if n bytes were too few and more may help.
 *           PSR_EUNSUPPORTED for a big-endian header; PSR_ENOMEM.
 * Notes:    an unknown key is skipped if its value can only be an int32, a double or a text (a key
 *           must follow it); otherwise it is an error.  A position of 0, 0 is treated as unknown.
 */
PSR_MUST_CHECK psr_status psr_sigproc_parse(struct psr_obs *obs, size_t *header_bytes,
                                            bool *need_more, const void *bytes, size_t n,
                                            const char *name, const struct psr_notes *notes,
                                            psr_err *err);

/* Parses a header.
 * Given:    bytes [n]   the start of a file
 *           name   the file, for messages
 *           notes   for a missing date
 * Returned: *obs, initialised here, cleared by the caller; nsamp is -1
 *           *header_bytes, offset of the first sample
 * Status:   PSR_EFORMAT naming file, key, value and limit; *need_more is set if n bytes were too few and more may
 *           help.  PSR_EUNSUPPORTED, the same, for voltages, several beams or another order; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_dada_parse_spectra(struct psr_obs *obs, size_t *header_bytes,
                                                 bool *need_more, const void *bytes, size_t n,
                                                 const char *name, const struct psr_notes *notes,
                                                 psr_err *err);

/* Writes a header of 4096 bytes, which Heimdall and DSPSR can read, too.
 * Notes:  blanks in names become _; machine_id and what telescope_id says without a name are omitted
 * Status: PSR_EFORMAT (as psr_obs_check), PSR_EUNSUPPORTED (a table of frequencies, barycentric, more than 4 IFs,
 *         whole numbers of 32 bits), and those of psr_outfile_write */
PSR_MUST_CHECK psr_status psr_dada_write_spectra(psr_outfile *f, const struct psr_obs *obs,
                                                 psr_err *err);

/* What samples stand for, sample scale + offset, instead of themselves: DAT_SCL and DAT_OFFS of all rows.  Before the
 * first spectrum.
 * Given:  scale, offset   [nif][nchan]; samples of 16 bits count from 0 */
void psr_psrfits_set_scales(psr_psrfits *w, const float *scale, const float *offset);

#endif
