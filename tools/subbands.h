/* subbands.h: sub-bands as prepsubband -sub writes them: ROOT_DM12.00.sub0 and so on, 16 bits a
 * sample, and ROOT_DM12.00.sub.inf.  All or none appear under their names. */
#ifndef PSR_TOOLS_SUBBANDS_H
#define PSR_TOOLS_SUBBANDS_H

#include <psrkit/inf.h>

struct subbands;

/* *out is NULL on error. */
psr_status subbands_create(struct subbands **out, const char *root, int dm_decimals, double dm,
                           size_t nsub, psr_err *err);

/* Appends n samples to sub-band s, 0 being the lowest. */
psr_status subbands_write(struct subbands *b, size_t s, const float *x, size_t n, psr_err *err);

/* Writes inf, but for its name, which is set here, and names all files.  b is gone whatever the
 * status. */
psr_status subbands_finish(struct subbands *b, struct psr_inf *inf, psr_err *err);

/* NULL is fine. */
void subbands_abort(struct subbands *b);

#endif
