/* companions.h: names that are derived from an input's (private). */
#ifndef PSR_BASE_OUTPUT_COMPANIONS_H
#define PSR_BASE_OUTPUT_COMPANIONS_H

#include <psrkit/status.h>

typedef psr_status psr_companion(void *ctx, const char *name, psr_err *err);

/* Passes on the names of files that are read with one of this name, whether they are there or not:
 * the .inf of a series, the .stats of a mask, the .cand and .inf of a list of candidates.
 * Status: that of take, which ends it; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_each_companion(const char *path, psr_companion *take, void *ctx,
                                             psr_err *err);

#endif
