/* output_group.h: output files that get their final names together, or not at all.
 *
 * While a run writes the files, another run with the same files is rejected; the message gives the
 * process and host of the first.  Old files of these names are removed before the first new file is
 * renamed, so that a run killed at any moment leaves files of only one run under these names: some
 * of the old ones, or some of the new ones. */
#ifndef PSRKIT_OUTPUT_GROUP_H
#define PSRKIT_OUTPUT_GROUP_H

#include <psrkit/api.h>
#include <psrkit/outfile.h>

PSR_API_BEGIN

typedef struct psr_output_group psr_output_group;

/* The files that a run claims.  Of two runs with the same root and kind, the second is rejected if
 * their numbers overlap or if both have common files. */
struct psr_output_group_desc {
    const char *root;    /* prefix of all names; the lock is ROOT.lock; NULL, "-" or not a regular
                         file: no lock */
    const char *kind;    /* what the numbers count, a word of at most 15 letters: DM, beam */
    int64_t first, last; /* numbers of this run; first > last: none */
    bool common;         /* the run also writes files without a number */
    struct psr_notes notes;
};

/* Claims the files; their folder must exist.
 * Status: PSR_EIO (another run is writing them, or the folder is not writable), PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_output_group_create(psr_output_group **out,
                                                  const struct psr_output_group_desc *desc,
                                                  psr_err *err);

/* Checks that the file system has room for this many bytes; passes if the file system does not
 * report its free space.
 * Status: PSR_EIO with both numbers */
PSR_MUST_CHECK psr_status psr_output_group_check_room(const psr_output_group *g, double bytes,
                                                      psr_err *err);

/* Creates the next file.  Files are renamed in the order in which they were added: add the one that
 * vouches for the others last.
 * Returned: *file, owned by the group
 * Status:   those of psr_outfile_create */
PSR_MUST_CHECK psr_status psr_output_group_add(psr_output_group *g, const char *name,
                                               psr_outfile **file, psr_err *err);

/* As psr_output_group_add, for a file that exists already; the group owns it even if the status is
 * PSR_ENOMEM. */
PSR_MUST_CHECK psr_status psr_output_group_take(psr_output_group *g, psr_outfile *file,
                                                psr_err *err);

/* Marks a file of an earlier run, which this run does not replace, for removal with the others. */
PSR_MUST_CHECK psr_status psr_output_group_drop(psr_output_group *g, const char *name,
                                                psr_err *err);

/* Writes out all buffered bytes, removes the old files and renames the new ones; frees g on success and
 * on error.  On error the renamed files are removed.
 * Status: those of psr_outfile_commit */
PSR_MUST_CHECK psr_status psr_output_group_commit(psr_output_group *g, psr_err *err);

/* Removes the files not yet renamed; NULL is allowed. */
void psr_output_group_abort(psr_output_group *g);

PSR_API_END
#endif
