/* channel_list.h: parses lists of channels, of intervals and of trial DMs from text and from files (private). */
#ifndef PSR_FORMATS_SPECTRA_CHANNEL_LIST_H
#define PSR_FORMATS_SPECTRA_CHANNEL_LIST_H

#include <psrkit/status.h>
#include <stddef.h>
#include <stdint.h>

/* Clears channels in a mask of channels to keep, in the syntax of PRESTO's -ignorechan.
 * Given:    text   "3,5:9,20:30:5" (single channels, first:last, first:last:step; last is included;
 *                  an omitted bound, as in ":5", "20:" or "::2", is the end of the band), or the
 *                  name of a file of such text with lines and '#' comments; channel 0 is the lowest
 *                  in frequency
 *           ascending   the first channel of the data is the lowest in frequency
 *           keep [nchan]   in the order of the data
 * Returned: keep   0 for the listed channels, others unchanged; on error some are cleared
 * Status:   PSR_EINVAL naming the item that is not a channel range within 0..nchan-1; PSR_EIO;
 *           PSR_EFORMAT for a line of 4 KiB or more; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_ignore_channels(const char *text, size_t nchan, int ascending,
                                              unsigned char *keep, psr_err *err);

/* Parses such a list, not the name of a file, of n things.
 * Given:    what   option it belongs to, for messages
 * Returned: *list [*nlist] in the order of the text; malloc'd, caller frees; NULL on error
 * Status:   PSR_EINVAL naming the item that is not a range within 0..n-1; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_ranges_parse(const char *text, const char *what, size_t n,
                                           int32_t **list, size_t *nlist, psr_err *err);

/* Reads trial DMs, one per line (words may follow, but no number).  '#' comments and empty lines
 * are allowed.
 * Returned: *dm [*ndm] pc cm^-3 in file order; malloc'd, caller frees; NULL on error
 * Status:   PSR_EIO; PSR_EFORMAT naming file, line and value: a DM outside 0 to 1e6, two in a line,
 *           none at all, a line of 4 KiB or more; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_dms_read(const char *path, double **dm, size_t *ndm, psr_err *err);

/* Computes an even grid, trial i at lodm + i dmstep, with PRESTO's arithmetic.
 * Returned: *dm [ndm]; malloc'd, caller frees; NULL on error
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_dms_grid(double lodm, double dmstep, size_t ndm, double **dm,
                                       psr_err *err);

#endif
