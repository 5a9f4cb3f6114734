/* output_group.h: output files that take their names together, or not at all.
 *
 * While a run writes them, no other run begins with the same files: a second one is told which process
 * of which host is at work.  What bore their names before is removed before the first of them is
 * renamed, so that a run that is killed, at whatever moment, leaves files of one run under these
 * names: some of the old ones, or some of the new ones, never both. */
#ifndef PSRKIT_OUTPUT_GROUP_H
#define PSRKIT_OUTPUT_GROUP_H

#include <psrkit/api.h>
#include <psrkit/outfile.h>

PSR_API_BEGIN

typedef struct psr_output_group psr_output_group;

/* What is claimed: of two runs whose root and kind are the same, the second is refused where their
 * numbers overlap or both have common files. */
struct psr_output_group_desc {
    const char *root; /* what all names begin with: the lock is ROOT.lock; NULL, "-" and what is no
                            regular file: there is none */
    const char *kind; /* what is counted, a word of at most 15 letters: DM, beam */
    int64_t first, last; /* those of this run; first > last: none */
    bool common;         /* files without a number, too */
    struct psr_notes notes;
};

/* Claims the files; their folder must be there.
 * Status: PSR_EIO (another run is writing them, a folder that cannot be written to), PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_output_group_create(psr_output_group **out,
                                                  const struct psr_output_group_desc *desc,
                                                  psr_err *err);

/* Whether the file system has room for so many bytes; one that does not say has.
 * Status: PSR_EIO with both numbers */
PSR_MUST_CHECK psr_status psr_output_group_check_room(const psr_output_group *g, double bytes,
                                                      psr_err *err);

/* Starts the next file.  Files take their names in the order in which they were added: last the one
 * that vouches for the others.
 * Returned: *file, the group's
 * Status:   those of psr_outfile_create */
PSR_MUST_CHECK psr_status psr_output_group_add(psr_output_group *g, const char *name,
                                               psr_outfile **file, psr_err *err);

/* As psr_output_group_add, of a file that was created before; it is the group's whatever the status,
 * PSR_OK or PSR_ENOMEM. */
PSR_MUST_CHECK psr_status psr_output_group_take(psr_output_group *g, psr_outfile *file,
                                                psr_err *err);

/* A file of an earlier run that this one has none in place of is removed with the others. */
PSR_MUST_CHECK psr_status psr_output_group_drop(psr_output_group *g, const char *name,
                                                psr_err *err);

/* Brings all bytes to the system, removes what bears the names, and names all; g is gone whatever the
 * status.  On error the files that were named are removed.
 * Status: those of psr_outfile_commit */
PSR_MUST_CHECK psr_status psr_output_group_commit(psr_output_group *g, psr_err *err);

/* Removes what was not named; NULL is fine. */
void psr_output_group_abort(psr_output_group *g);

PSR_API_END
#endif
