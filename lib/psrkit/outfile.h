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

#ifdef __cplusplus
extern "C" {
#endif

typedef struct psr_outfile psr_outfile;

/* Creates the temporary file.  A path that exists and is no regular file (a terminal, /dev/full, a
 * pipe) is opened as it is and nothing is renamed.  "-" is standard output.
 * Status: PSR_EIO naming the path; PSR_ENOMEM. */
PSR_MUST_CHECK psr_status psr_outfile_create(psr_outfile **out, const char *path, psr_err *err);

/* Writes all n bytes, or fails.  EINTR and short writes are dealt with. */
PSR_MUST_CHECK psr_status psr_outfile_write(psr_outfile *f, const void *bytes, size_t n,
                                            psr_err *err);

/* printf to the file. */
PSR_MUST_CHECK psr_status psr_outfile_printf(psr_outfile *f, psr_err *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Gives the descriptor back to the system until the next write, so that more files may be under
 * way than may be open.  No effect on standard output and special files. */
PSR_MUST_CHECK psr_status psr_outfile_park(psr_outfile *f, psr_err *err);

/* Closes and renames; f is gone whatever the status.  On error the temporary file is removed. */
PSR_MUST_CHECK psr_status psr_outfile_commit(psr_outfile *f, psr_err *err);

/* Closes and removes the temporary file; NULL is fine. */
void psr_outfile_abort(psr_outfile *f);

#ifdef __cplusplus
}
#endif
#endif
