/* subbands.h: files of sub-bands as prepsubband -sub writes them (private).
 *
 * ROOT.sub0, ROOT.sub1 and so on (as many digits as the last needs) hold one sub-band each, lowest
 * first, 16-bit integers; ROOT.sub.inf describes the channels they were summed from.  All of them
 * are one observation, whose channels are the sub-bands, each at the frequency of its highest
 * channel. */
#ifndef PSR_FORMATS_SUBBANDS_H
#define PSR_FORMATS_SUBBANDS_H

#include "reader.h"
#include <psrkit/inf.h>

enum { PSR_SUBBANDS_BLOCK = 1024 }; /* samples that PRESTO reads of a file at a time */

/* Whether path is named as one of a set: *.sub and digits. */
bool psr_subbands_named(const char *path);

/* The .sub.inf beside one of a set: malloc'd; NULL for want of memory, and for no such name. */
char *psr_subbands_inf(const char *path);

/* Given:    path [npath]   all of a set, in any order; its .sub.inf among them is passed over
 * Returned: inf   of the set; its caller's
 * Notes:    with desc->runavg the mean of each sub-band over each block, counted from the first
 *           sample read, is taken off, and samples are floats
 * Status:   PSR_EIO; PSR_EFORMAT naming the file for sets that are incomplete, mixed, of different
 *           lengths or at odds with their .inf; PSR_EUNSUPPORTED for desc->invert; PSR_ENOMEM. */
PSR_MUST_CHECK psr_status psr_subbands_open(struct psr_reader **out, const char *const *path,
                                            size_t npath, struct psr_inf *inf,
                                            const struct psr_source_desc *desc, psr_err *err);

#endif
