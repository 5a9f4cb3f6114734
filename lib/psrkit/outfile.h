/* outfile.h: output files that appear complete or not at all.
 *
 * Output goes to PATH.partXXXXXX beside the final path and is renamed on commit, so a killed or
 * failed run leaves no file that looks complete. */
#ifndef PSRKIT_OUTFILE_H
#define PSRKIT_OUTFILE_H

#include <psrkit/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

PSR_API_BEGIN

typedef struct psr_outfile psr_outfile;

/* Creates the temporary file.  A path that exists and is not a regular file (a terminal, /dev/full,
 * a pipe), or is a file descriptor (/dev/fd/3, /dev/stdout), is opened directly and not renamed.
 * "-" is standard output.
 * Status: PSR_EIO naming the path, also for a write-protected file, and as psr_outfile_check_path;
 *         PSR_ENOMEM
 * Notes:  a file is parked from the start if three quarters of the process's file descriptors, or
 *         all but 32, are in use.  Use each file from one thread at a time; different files are
 *         independent. */
PSR_MUST_CHECK psr_status psr_outfile_create(psr_outfile **out, const char *path, psr_err *err);

/* Checks that a file of this name can be created later in a run: the name and its longer temporary
 * form are short enough, and it is not a symbolic link, unless the link leads to something other
 * than a regular file.  The target of a link may belong to someone else or be expected by others
 * who follow it.
 * Status: PSR_EIO with the lengths, or with the link's target; psr_outfile_create returns the same
 */
PSR_MUST_CHECK psr_status psr_outfile_check_path(const char *path, psr_err *err);

/* Buffers writes shorter than this into writes of up to this length; default 64 KiB.  Has no effect
 * once data have been buffered. */
void psr_outfile_buffer(psr_outfile *f, size_t bytes);

/* Writes all n bytes, or fails.  EINTR and short writes are handled.  After a failure every later
 * call except abort fails with the same cause.
 * Status: PSR_EIO naming the file; PSR_ENOMEM.  printf, park and commit return the same. */
PSR_MUST_CHECK psr_status psr_outfile_write(psr_outfile *f, const void *bytes, size_t n,
                                            psr_err *err);

/* printf to the file, with '.' as decimal point in every locale. */
PSR_MUST_CHECK psr_status psr_outfile_printf(psr_outfile *f, psr_err *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Bytes written so far, including buffered ones. */
int64_t psr_outfile_size(const psr_outfile *f);

/* Truncates the file to size.
 * Status: PSR_EINVAL if size is not in 0..psr_outfile_size(f); PSR_EUNSUPPORTED for standard output
 *         and special files; PSR_EIO */
PSR_MUST_CHECK psr_status psr_outfile_truncate(psr_outfile *f, int64_t size, psr_err *err);

/* Flushes the buffer and closes the descriptor.  From then on the file is open only during writes,
 * so that more files can be in progress than may be open at once.  Standard output and special
 * files are flushed and stay open. */
PSR_MUST_CHECK psr_status psr_outfile_park(psr_outfile *f, psr_err *err);

/* Closes and renames the file; frees f on success and on error.  On error the temporary file is
 * removed. */
PSR_MUST_CHECK psr_status psr_outfile_commit(psr_outfile *f, psr_err *err);

/* Closes and removes the temporary file; NULL is allowed. */
void psr_outfile_abort(psr_outfile *f);

PSR_API_END
#endif
