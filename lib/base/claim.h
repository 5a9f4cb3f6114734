/* claim.h: keeps two runs from making the same files (private).
 *
 * A run claims its outputs in ROOT.lock, a record for each run, and holds a lock of the system on its
 * record: whoever died holds none, and its record is taken over.  The file goes with the last claim
 * that is dropped; a run that is killed leaves it, which hinders nobody. */
#ifndef PSR_BASE_CLAIM_H
#define PSR_BASE_CLAIM_H

#include <psrkit/output_group.h>

struct psr_claim;

/* Whether root is the start of files' names, or that of one file, and no pipe or device, of which two
 * runs cannot make a mixture. */
bool psr_claim_is_of_files(const char *root);

/* Claims what desc describes.
 * Returned: *out  NULL where there is nothing to lock: standard output, a device, a file system
 *                 without locks, of which a remark tells
 * Status:   PSR_EIO naming the process and the host that claim the same, or what the system said;
 *           PSR_ENOMEM
 * Notes:    the locks are those of open file descriptions (F_OFD_SETLK), which NFS passes on to its
 *           server, and which hold between two claims of one process too. */
PSR_MUST_CHECK psr_status psr_claim_take(struct psr_claim **out,
                                         const struct psr_output_group_desc *desc, psr_err *err);

/* NULL is fine. */
void psr_claim_drop(struct psr_claim *claim);

#endif
