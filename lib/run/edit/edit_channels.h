/* edit_channels.h: copies ranges of channels of packed spectra, in either order, and shifts channels in time (private). */
#ifndef PSR_RUN_EDIT_EDIT_CHANNELS_H
#define PSR_RUN_EDIT_EDIT_CHANNELS_H

#include <psrkit/obs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct psr_edit_channels {
    size_t nchan_in, first, nchan; /* of nchan_in, nchan from first on; both fill whole bytes */
    int nbit;
    bool reverse;
};

/* Copies bits without change, in one thread: memory is slower.
 * Given:    in [nsamp][nchan_in], packed
 * Returned: out [nsamp][nchan], packed; not in */
void psr_edit_channels_copy(const struct psr_edit_channels *c, uint8_t *out, const uint8_t *in,
                            size_t nsamp);

typedef struct psr_edit_shift psr_edit_shift;

/* Given:  obs   channels, nbit and tsamp_s of the spectra
 *         dm   pc cm^-3; delays are those to the highest channel, to the nearest spectrum
 * Status: PSR_EINVAL for a delay of 2^31 spectra or more, PSR_ENOMEM.  *out is NULL on error. */
PSR_MUST_CHECK psr_status psr_edit_shift_create(psr_edit_shift **out, const struct psr_obs *obs,
                                                double dm, psr_err *err);

/* The largest delay: so many spectra fewer come out. */
int64_t psr_edit_shift_max(const psr_edit_shift *s);

/* Takes the next spectra.
 * Given:    in [n][nchan], packed
 * Returned: *rows [*nrow], packed, valid until the next call: spectrum t holds, of each channel, the sample its delay
 *           after t
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_edit_shift_run(psr_edit_shift *s, const uint8_t *in, size_t n,
                                             const uint8_t **rows, size_t *nrow, psr_err *err);

void psr_edit_shift_destroy(psr_edit_shift *s); /* NULL is allowed */

#endif
