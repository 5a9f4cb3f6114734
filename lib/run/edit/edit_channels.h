/* edit_channels.h: copies ranges of channels of packed spectra, in either order (private). */
#ifndef PSR_RUN_EDIT_EDIT_CHANNELS_H
#define PSR_RUN_EDIT_EDIT_CHANNELS_H

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

#endif
