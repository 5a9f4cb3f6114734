/* outfile_steps.h: the end of an output file, step by step, for files that take their names together
 * (private). */
#ifndef PSR_BASE_OUTFILE_STEPS_H
#define PSR_BASE_OUTFILE_STEPS_H

#include <psrkit/outfile.h>

/* psr_outfile_commit is the first of these, the last, and psr_outfile_abort, which leaves a file that
 * has its name.  Of standard output and special files only the first does anything. */

/* Brings all bytes to the system and closes. */
PSR_MUST_CHECK psr_status psr_outfile_close(psr_outfile *f, psr_err *err);

/* Status: PSR_EIO where what bears the name is no file that could be replaced. */
PSR_MUST_CHECK psr_status psr_outfile_check_target(psr_outfile *f, psr_err *err);

/* Removes what bears the name: an older file, or this one. */
PSR_MUST_CHECK psr_status psr_outfile_remove_old(psr_outfile *f, psr_err *err);

/* Renames. */
PSR_MUST_CHECK psr_status psr_outfile_take_name(psr_outfile *f, psr_err *err);

/* The part of psr_outfile_check_path that is about lengths: ROOT is the beginning of names, and may be
 * that of a link. */
PSR_MUST_CHECK psr_status psr_outfile_check_length(const char *path, psr_err *err);

#endif
