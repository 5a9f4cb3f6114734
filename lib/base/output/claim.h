/* claim.h: prevents two runs from writing the same files (private).
 *
 * A run claims its outputs by a record in ROOT.lock, and holds a system lock on its record.  A dead
 * process holds no lock, so its record can be reused.  Dropping the last claim removes the file; a
 * killed run leaves it, which does no harm. */
#ifndef PSR_BASE_OUTPUT_CLAIM_H
#define PSR_BASE_OUTPUT_CLAIM_H

#include <psrkit/experimental/outfile.h>

struct psr_claim;

/* True if root is a prefix of file names or a regular file, and not a pipe or device, where runs
 * cannot collide. */
bool psr_claim_is_of_files(const char *root);

/* Claims what desc describes.
 * Returned: *out, NULL if there is nothing to lock: standard output, a device, or a file system
 *           without locks (with a note)
 * Status:   PSR_EIO naming the process and host with the same claim, or the system's error;
 *           PSR_ENOMEM
 * Notes:    uses locks of open file descriptions (F_OFD_SETLK), which NFS passes to its server, and
 *           which also exclude two claims of one process */
PSR_MUST_CHECK psr_status psr_claim_take(struct psr_claim **out,
                                         const struct psr_output_group_desc *desc, psr_err *err);

/* Drops the claim; NULL is allowed. */
void psr_claim_drop(struct psr_claim *claim);

#endif
