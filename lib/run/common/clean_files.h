/* clean_files.h: the files that record what automatic cleaning removed (private). */
#ifndef PSR_RUN_COMMON_CLEAN_FILES_H
#define PSR_RUN_COMMON_CLEAN_FILES_H

#include <psrkit/experimental/clean.h>
#include <psrkit/experimental/clean_auto.h>

/* Calls check for each: ROOT.clean.json, ROOT.clean.mask and ROOT.clean.stats.  Status: that of
 * check */
PSR_MUST_CHECK psr_status psr_clean_files_names(const char *root,
                                                psr_status (*check)(void *ctx, const char *name,
                                                                    psr_err *err),
                                                void *ctx, psr_err *err);

/* Writes them in PRESTO's layouts: an interval is a window, the last of them complete or not; a
 * channel is masked in it if it was in more than half of it.
 * Given:  input   its name
 *         obs   of the input
 * Status: those of psr_output_group_add and psr_outfile_write; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_clean_files_write(psr_output_group *group, const char *root,
                                                const char *input, const struct psr_obs *obs,
                                                const struct psr_clean_auto_report *report,
                                                psr_err *err);

#endif
