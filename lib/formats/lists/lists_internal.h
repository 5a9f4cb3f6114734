/* lists_internal.h: lists of candidates and of pulsars, read from text in memory (private). */
#ifndef PSR_FORMATS_LISTS_LISTS_INTERNAL_H
#define PSR_FORMATS_LISTS_LISTS_INTERNAL_H

#include <psrkit/experimental/sift.h>

/* As psr_accel_read, from text of n bytes followed by a NUL byte; name is for messages. */
PSR_MUST_CHECK psr_status psr_accel_parse(struct psr_accel_rows *rows, const char *text, size_t n,
                                          const char *name, bool presto, psr_err *err);

/* As psr_catalogue_read, from text of n bytes followed by a NUL byte; name is for messages. */
PSR_MUST_CHECK psr_status psr_catalogue_parse(struct psr_catalogue *catalogue, const char *text,
                                              size_t n, const char *name, psr_err *err);

#endif
