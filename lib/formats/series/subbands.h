/* subbands.h: reads sub-band files written by prepsubband -sub (private).
 *
 * ROOT.sub0, ROOT.sub1 and so on (all with the same number of digits) hold one sub-band each,
 * lowest first, as 16-bit integers; ROOT.sub.inf describes the channels that they were summed from.
 * Together they are one observation whose channels are the sub-bands, each at the frequency of its
 * highest channel. */
#ifndef PSR_FORMATS_SERIES_SUBBANDS_H
#define PSR_FORMATS_SERIES_SUBBANDS_H

#include "formats/spectra/spectra_reader.h"
#include <psrkit/series.h>

enum { PSR_SUBBANDS_BLOCK = 1024 }; /* samples per read of a file in PRESTO */

/* True if path is a sub-band file name: *.sub and digits. */
bool psr_subbands_named(const char *path);

/* The .sub.inf of a set: malloc'd; NULL if out of memory, or for any other name. */
char *psr_subbands_inf(const char *path);

/* Given:    path [npath]   all files of a set, in any order; a .sub.inf among them is ignored
 * Returned: inf of the set, owned by the caller
 * Notes:    with desc->runavg the mean of each sub-band over each block, counted from the first
 *           sample read, is subtracted, and samples are floats
 * Status:   PSR_EIO; PSR_EFORMAT naming the file for sets that are incomplete, mixed, of different
 *           lengths or inconsistent with their .inf; PSR_EUNSUPPORTED for desc->invert; PSR_ENOMEM
 */
PSR_MUST_CHECK psr_status psr_subbands_open(struct psr_reader **out, const char *const *path,
                                            size_t npath, struct psr_inf *inf,
                                            const struct psr_source_desc *desc, psr_err *err);

#endif
