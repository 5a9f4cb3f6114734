/* channel_list.h: lists of channels and of trial DMs from text and from files. */
#ifndef PSRKIT_CHANNEL_LIST_H
#define PSRKIT_CHANNEL_LIST_H

#include <psrkit/status.h>
#include <stddef.h>

PSR_API_BEGIN

/* Leaves channels out of a kill mask, as PRESTO's -ignorechan says them.
 * Given:    text   "3,5:9,20:30:5" (single channels, first:last, first:last:step; the last is
 *                  included; a bound left out, as in ":5", "20:" or "::2", is the end of the
 *                  band), or the name of a file of such text, lines and '#' comments allowed;
 *                  channel 0 is the lowest in frequency
 *           ascending   whether the data's first channel is the lowest in frequency
 *           keep [nchan]   in the order of the data
 * Returned: keep   0 for the channels named, others untouched; on error for some of them
 * Status:   PSR_EINVAL naming the piece that is no channel range of 0..nchan-1; PSR_EIO;
 *           PSR_EFORMAT for a line of 4 KiB; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_ignore_channels(const char *text, size_t nchan, int ascending,
                                              unsigned char *keep, psr_err *err);

/* Reads trial DMs, one a line (words may follow, but no number), '#' comments and empty lines
 * allowed.
 * Returned: *dm [*ndm] pc cm^-3 in the file's order; malloc'd, caller frees; NULL on error
 * Status:   PSR_EIO; PSR_EFORMAT naming file, line and value: a DM outside 0 to 1e6, two in a line,
 *           none at all, a line of 4 KiB; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_dms_read(const char *path, double **dm, size_t *ndm, psr_err *err);

/* Trial i of an even grid: lodm + i dmstep, in PRESTO's arithmetic.
 * Returned: *dm [ndm]; malloc'd, caller frees; NULL on error
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_dms_grid(double lodm, double dmstep, size_t ndm, double **dm,
                                       psr_err *err);

PSR_API_END
#endif
