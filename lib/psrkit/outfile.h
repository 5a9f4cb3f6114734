/* outfile.h: files that are whole or absent.
 *
 * Output goes to PATH.partXXXXXX beside the final path and takes its name only when committed, so
 * that a killed or failed run leaves nothing that looks whole. */
#ifndef PSRKIT_OUTFILE_H
#define PSRKIT_OUTFILE_H

#include <psrkit/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

PSR_API_BEGIN

typedef struct psr_outfile psr_outfile;

/* Creates the temporary file.  A path that exists and is no regular file (a terminal, /dev/full, a
 * pipe), or stands for a descriptor (/dev/fd/3, /dev/stdout), is opened as it is and nothing is
 * renamed.  "-" is standard output.
 * Status: PSR_EIO naming the path, also for a file that is write-protected, and as
 *         psr_outfile_check_path; PSR_ENOMEM.
 * Notes:  a file made when three quarters of the descriptors the process may have, or all but 32,
 *         are in use is parked from the start.  One file, one thread at a time; different files are
 *         independent. */
PSR_MUST_CHECK psr_status psr_outfile_create(psr_outfile **out, const char *path, psr_err *err);

/* Whether a file of that name can be made, for files that are created late in a run: a name is short
 * enough, as is the longer one that the file has meanwhile; and it is no link, unless it leads to what
 * is no regular file.  What a link leads to belongs to somebody else, or is what others who follow it
 * expect.
 * Status: PSR_EIO with the lengths, or with what it leads to; psr_outfile_create says the same */
PSR_MUST_CHECK psr_status psr_outfile_check_path(const char *path, psr_err *err);

/* Gathers writes shorter than this into writes of up to this length; 64 KiB if never called.  No
 * effect once something was gathered. */
void psr_outfile_buffer(psr_outfile *f, size_t bytes);

/* Writes all n bytes, or fails.  EINTR and short writes are dealt with.  After a failure every
 * later call but abort fails with the same cause.
 * Status: PSR_EIO naming the file; PSR_ENOMEM.  Those of printf, park and commit are the same. */
PSR_MUST_CHECK psr_status psr_outfile_write(psr_outfile *f, const void *bytes, size_t n,
                                            psr_err *err);

/* printf to the file, with a decimal point whatever the locale. */
PSR_MUST_CHECK psr_status psr_outfile_printf(psr_outfile *f, psr_err *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Bytes written so far, gathered ones included. */
int64_t psr_outfile_size(const psr_outfile *f);

/* Drops what lies beyond size.  Status: PSR_EINVAL where size is not in 0..psr_outfile_size(f);
 * PSR_EUNSUPPORTED for standard output and special files; PSR_EIO. */
PSR_MUST_CHECK psr_status psr_outfile_truncate(psr_outfile *f, int64_t size, psr_err *err);

/* Writes out what was gathered and gives the descriptor back.  From then on the file is open only
 * while bytes go to the system, so that more files may be under way than may be open.  Standard
 * output and special files are written out and stay open. */
PSR_MUST_CHECK psr_status psr_outfile_park(psr_outfile *f, psr_err *err);

/* Closes and renames; f is gone whatever the status.  On error the temporary file is removed. */
PSR_MUST_CHECK psr_status psr_outfile_commit(psr_outfile *f, psr_err *err);

/* Closes and removes the temporary file; NULL is fine. */
void psr_outfile_abort(psr_outfile *f);

PSR_API_END
#endif
