/* dada_ring.h: psrdada's ring buffers in shared memory, as pipes (private).
 *
 * A ring dada://KEY, KEY in hexadecimal as dada_db takes it, has a header block and data blocks.  Here it is the
 * stream of a DADA file: the header, HDR_SIZE bytes, and the data.  A thread moves them between the
 * ring and a pipe. */
#ifndef PSR_BASE_INPUT_DADA_RING_H
#define PSR_BASE_INPUT_DADA_RING_H

#include <psrkit/status.h>
#include <stdbool.h>

typedef struct psr_dada_ring psr_dada_ring;

bool psr_dada_ring_is_name(const char *path);

/* The key in a name, 0 if there is none. */
unsigned long psr_dada_ring_key(const char *path);

/* Waits for a header, and becomes a reader of the ring until the end of its data.
 * Returned: *fd   to read from and to close, which ends the thread
 * Status:   PSR_EUNSUPPORTED without psrdada; PSR_EINVAL for a key that is none; PSR_EIO; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_dada_ring_read(int *fd, const char *path, psr_err *err);

/* Becomes the writer of the ring.  Readers see the header when the first data come.
 * Returned: *fd   to write to and to close, before finish
 * Status:   as psr_dada_ring_read */
PSR_MUST_CHECK psr_status psr_dada_ring_write(psr_dada_ring **out, int *fd, const char *path,
                                              psr_err *err);

/* Waits until readers can have all that was written, announces the end of data, and frees the ring; NULL is allowed.
 * Given:  all   false: what the ring has no room for is dropped, as it is after a signal whose handler was
 *               installed without SA_RESTART
 * Status: PSR_EFORMAT if it did not begin with a DADA header that fits, and data; PSR_EIO */
PSR_MUST_CHECK psr_status psr_dada_ring_finish(psr_dada_ring *r, bool all, psr_err *err);

#endif
