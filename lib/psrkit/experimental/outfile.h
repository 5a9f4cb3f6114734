/* outfile.h: output files: complete or absent, alone or in groups, and never an input. */
#ifndef PSRKIT_OUTFILE_H
#define PSRKIT_OUTFILE_H

#include <psrkit/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

PSR_API_BEGIN

/* --- one file --------------------------------------------------------------------------------- */

/* Output files that appear complete or not at all.
 *
 * Output goes to PATH.partXXXXXX beside the final path and is renamed on commit, so a killed or
 * failed run leaves no file that looks complete. */

typedef struct psr_outfile psr_outfile;

/* Creates the temporary file.  A path that exists and is not a regular file (a terminal, /dev/full,
 * a pipe), or is a file descriptor (/dev/fd/3, /dev/stdout), is opened directly and not renamed.
 * "-" is standard output; dada://KEY is a ring of psrdada, which takes a DADA header and data, and ends the wait for
 * readers after a signal whose handler was installed without SA_RESTART.
 * Status: PSR_EIO naming the path, also for a write-protected file, and as psr_outfile_check_path;
 *         PSR_EUNSUPPORTED for a ring without psrdada; PSR_ENOMEM
 * Notes:  a file is parked from the start if three quarters of the process's file descriptors, or
 *         all but 32, are in use.  Use each file from one thread at a time; different files are
 *         independent. */
PSR_MUST_CHECK psr_status psr_outfile_create(psr_outfile **out, const char *path, psr_err *err);

/* Writes all n bytes, or fails.  EINTR and short writes are handled.  After a failure every later
 * call except abort fails with the same cause.
 * Status: PSR_EIO naming the file; PSR_ENOMEM.  printf, park and commit return the same. */
PSR_MUST_CHECK psr_status psr_outfile_write(psr_outfile *f, const void *bytes, size_t n,
                                            psr_err *err);

/* printf to the file, with '.' as decimal point in every locale. */
PSR_MUST_CHECK psr_status psr_outfile_printf(psr_outfile *f, psr_err *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Flushes the buffer and closes the descriptor.  From then on the file is open only during writes,
 * so that more files can be in progress than may be open at once.  Standard output and special
 * files are flushed and stay open. */
PSR_MUST_CHECK psr_status psr_outfile_park(psr_outfile *f, psr_err *err);

/* Closes and renames the file; frees f on success and on error.  On error the temporary file is
 * removed. */
PSR_MUST_CHECK psr_status psr_outfile_commit(psr_outfile *f, psr_err *err);

/* Closes and removes the temporary file; NULL is allowed. */
void psr_outfile_abort(psr_outfile *f);

/* Creates an empty file for what other programs write to a descriptor, such as their messages, which
 * can be read while they run.  It takes the place of a file of this name, of which other names
 * keep what they have.
 * Returned: *fd, for appending; the caller closes it; -1 on error
 * Status:   those of psr_outfile_create, PSR_EIO for what is not a regular file */
PSR_MUST_CHECK psr_status psr_outfile_open_messages(int *fd, const char *path, psr_err *err);

/* Whether the file was left by a run that was killed: its name is that of a file that was being
 * written, by a process that is no more, or a day ago on another machine. */
bool psr_outfile_is_leftover(const char *path);

/* --- groups of files -------------------------------------------------------------------------- */

/* Output files that get their final names together, or not at all.
 *
 * While a run writes the files, another run with the same files is rejected; the message gives the
 * process and host of the first.  Old files of these names are removed before the first new file is
 * renamed, so that a run killed at any moment leaves files of only one run under these names: some
 * of the old ones, or some of the new ones. */

typedef struct psr_output_group psr_output_group;

/* The files that a run claims.  Of two runs with the same root and kind, the second is rejected if
 * their numbers overlap or if both have common files. */
struct psr_output_group_desc {
    size_t size;         /* sizeof the struct */
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

/* Writes out all buffered bytes, removes the old files and renames the new ones; frees g on success and
 * on error.  On error the renamed files are removed.
 * Status: those of psr_outfile_commit */
PSR_MUST_CHECK psr_status psr_output_group_commit(psr_output_group *g, psr_err *err);

/* Removes the files not yet renamed; NULL is allowed. */
void psr_output_group_abort(psr_output_group *g);

/* --- inputs and outputs of a program ---------------------------------------------------------- */

/* Checks that no output is an input, and that no two outputs are one file.
 *
 * A program registers the names of all inputs and outputs before it writes.  Files are identified
 * by device and inode, through any links; a name that does not exist yet, by its folder.
 * Terminals, sockets and /dev/null may be shared. */

struct psr_overwrite_file;

/* Initialise with zeros.  Not thread-safe. */
struct psr_overwrite_check {
    struct psr_overwrite_file *file; /* [n] with capacity [room] */
    size_t n, room;
    uint32_t *slot; /* [nslot] 1 + index of a file, by hash; 0: free */
    size_t nslot;
    char *folder; /* folder of the last name, and its device and inode */
    uint64_t folder_dev, folder_ino;
    char *part_folder; /* folder of the last output, and what was being written there */
    char **part;       /* [npart] with capacity [part_room] */
    size_t npart, part_room;
};

/* Registers an input, and the files whose names are derived from its own: the .inf of a series, the
 * .stats of a mask, the .cand and .inf of a list of candidates.  NULL and a file that does not exist
 * are accepted.
 * Given:  path   copied; "-" is standard input
 * Status: PSR_EIO if it is already an output; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_overwrite_check_input(struct psr_overwrite_check *c, const char *path,
                                                    psr_err *err);

/* Registers an output, and removes what runs of this user that were killed have left of it.
 * Given:  path   copied; "-" is standard output; NULL is accepted
 *         of   the input that it is made from, for messages; NULL: none in particular; borrowed
 * Status: PSR_EIO if it is already an input or output, or as psr_outfile_check_path; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_overwrite_check_output(struct psr_overwrite_check *c,
                                                     const char *path, const char *of,
                                                     psr_err *err);

/* As psr_overwrite_check_output, for what the run can do without, such as a picture: where psr_outfile_check_path would
 * refuse it, the caller leaves it out when psr_outfile_create does.
 * Given:  path   copied; NULL is accepted
 * Status: PSR_EIO if it is already an input or output; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_overwrite_check_optional(struct psr_overwrite_check *c,
                                                       const char *path, psr_err *err);

void psr_overwrite_check_clear(struct psr_overwrite_check *c);

/* True if both names refer to the same existing file. */
bool psr_same_file(const char *a, const char *b);

/* Digest of a whole file (XXH3, 64 bits), which tells whether it has changed; no protection against
 * someone who wants to deceive.
 * Returned: *digest, *bytes
 * Status:   PSR_EIO naming the path, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_file_digest(uint64_t *digest, int64_t *bytes, const char *path,
                                          psr_err *err);

PSR_API_END
#endif
