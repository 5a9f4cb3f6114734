/* outfile_steps.h: the single steps that complete an output file, for files that are renamed
 * together (private). */
#ifndef PSR_BASE_OUTPUT_OUTFILE_STEPS_H
#define PSR_BASE_OUTPUT_OUTFILE_STEPS_H

#include <psrkit/experimental/outfile.h>

/* psr_outfile_commit performs the first and the last of these steps and psr_outfile_abort, which
 * keeps a file that has been renamed.  For standard output and special files only the first step
 * has an effect. */

/* Writes all buffered bytes and closes the file. */
PSR_MUST_CHECK psr_status psr_outfile_close(psr_outfile *f, psr_err *err);

/* Status: PSR_EIO if the existing file of that name cannot be replaced */
PSR_MUST_CHECK psr_status psr_outfile_check_target(psr_outfile *f, psr_err *err);

/* Removes the file of that name: an older one, or this one. */
PSR_MUST_CHECK psr_status psr_outfile_remove_old(psr_outfile *f, psr_err *err);

/* Renames. */
PSR_MUST_CHECK psr_status psr_outfile_take_name(psr_outfile *f, psr_err *err);

/* The length checks of psr_outfile_check_path.  ROOT is a prefix of names and may be that of a
 * link. */
PSR_MUST_CHECK psr_status psr_outfile_check_length(const char *path, psr_err *err);

#endif
