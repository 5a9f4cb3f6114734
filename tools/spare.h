/* spare.h: inputs that must not become outputs. */
#ifndef PSR_TOOLS_SPARE_H
#define PSR_TOOLS_SPARE_H

#include <psrkit/status.h>
#include <stdbool.h>

/* Whether two names, of which one may be NULL, stand for one file that is there. */
bool spare_same(const char *a, const char *b);

/* Status: PSR_EINVAL where output is input by any name, and would take its place */
PSR_MUST_CHECK psr_status spare_input(const char *output, const char *input, psr_err *err);

#endif
