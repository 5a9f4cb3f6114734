/* subbands.h: sub-bands as prepsubband -sub writes them: ROOT_DM12.00.sub0 and so on, 16 bits a
 * sample, and ROOT_DM12.00.sub.inf.  They appear under their names when they are whole. */
#ifndef PSR_TOOLS_SUBBANDS_H
#define PSR_TOOLS_SUBBANDS_H

#include <psrkit/inf.h>

struct subbands;

/* How samples become 16 bits. */
enum subbands_rule {
    SUBBANDS_SATURATE, /* the nearest number that there is */
    SUBBANDS_WRAP,     /* as PRESTO's cast makes it: what is too large wraps, and halves below 0 are
                          cut off */
};

/* Digits of a number in a file's name, as many as PRESTO gives them: 10 sub-bands have one. */
int subbands_digits(size_t nsub);

struct subbands_desc {
    const char *root;
    int dm_decimals;
    double dm;
    size_t nsub;
    int64_t nsamp; /* that are expected, for a look at the disk */
    enum subbands_rule rule;
};

/* *out is NULL on error: another run writes the same files, there is no room, a name too long. */
PSR_MUST_CHECK psr_status subbands_create(struct subbands **out, const struct subbands_desc *d,
                                          psr_err *err);

/* Appends n samples to sub-band s, 0 being the lowest. */
PSR_MUST_CHECK psr_status subbands_write(struct subbands *b, size_t s, const float *x, size_t n,
                                         psr_err *err);

/* Samples so far that 16 bits could not hold. */
int64_t subbands_saturated(const struct subbands *b);

/* Writes inf, but for its name, which is set here, and names all files.  b is gone whatever the
 * status. */
PSR_MUST_CHECK psr_status subbands_finish(struct subbands *b, struct psr_inf *inf, psr_err *err);

/* NULL is fine. */
void subbands_abort(struct subbands *b);

#endif
