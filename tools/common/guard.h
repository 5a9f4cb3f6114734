/* guard.h: files that are read are not written over. */
#ifndef PSR_TOOLS_GUARD_H
#define PSR_TOOLS_GUARD_H

#include <psrkit/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct guard_file {
    dev_t dev;
    ino_t ino;
    const char *name;
};

/* Whether two names, of which one may be NULL, stand for one regular file that is there. */
bool guard_same(const char *a, const char *b);

/* Status: PSR_EINVAL where the two are one file. */
PSR_MUST_CHECK psr_status guard_input(const char *output, const char *input, psr_err *err);

/* Many inputs at once.  Empty where it is all zeros. */
struct guard {
    struct guard_file *file; /* [n] of room for [room] */
    size_t n, room;
};

/* Adds a file that is read; NULL and what is no regular file pass.  The name is borrowed.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status guard_add(struct guard *g, const char *input, psr_err *err);

/* Once all have been added. */
void guard_sort(struct guard *g);

/* Status: PSR_EINVAL where output is one of the files, under whatever name. */
PSR_MUST_CHECK psr_status guard_check(const struct guard *g, const char *output, psr_err *err);

void guard_clear(struct guard *g);

#endif
