/* psrfits.h: writes PSRFITS search-mode files as a stream.
 *
 * The number of spectra is known in advance, so the writer never seeks: the output may be a pipe.
 */
#ifndef PSRKIT_PSRFITS_H
#define PSRKIT_PSRFITS_H

#include <psrkit/obs.h>
#include <psrkit/outfile.h>

PSR_API_BEGIN

typedef struct psr_psrfits psr_psrfits;

/* Writes the headers.
 * Given:  f   borrowed; the caller commits it
 *         obs   nsamp known; nif 1, 2 (AABB) or 4 (IQUV); PSR_UINT of 1 to 16 bits, or PSR_FLOAT
 *         nsblk   spectra per row, a multiple of 8
 * Notes:  16-bit samples are stored signed, with DAT_OFFS of 32768
 * Status: PSR_EFORMAT (as psr_obs_check), PSR_EINVAL, PSR_EUNSUPPORTED, PSR_ENOMEM, and those of
 *         psr_outfile_write.  *out is NULL on error. */
PSR_MUST_CHECK psr_status psr_psrfits_create(psr_psrfits **out, psr_outfile *f,
                                             const struct psr_obs *obs, size_t nsblk, psr_err *err);

/* Appends spectra.
 * Given:  spectra   [nsamp][nif][nchan] packed as in obs, the first channel in the low bits
 * Status: PSR_EINVAL for more spectra than obs.nsamp, and those of psr_outfile_write */
PSR_MUST_CHECK psr_status psr_psrfits_append(psr_psrfits *w, const void *spectra, size_t nsamp,
                                             psr_err *err);

/* Fills the last row with zeros, which NSTOT excludes from the data.
 * Status: PSR_EINVAL if spectra are missing, and those of psr_outfile_write */
PSR_MUST_CHECK psr_status psr_psrfits_finish(psr_psrfits *w, psr_err *err);

/* Frees the writer; NULL is allowed. */
void psr_psrfits_destroy(psr_psrfits *w);

PSR_API_END
#endif
