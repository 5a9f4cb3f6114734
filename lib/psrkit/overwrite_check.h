/* overwrite_check.h: files that are read are not written over. */
#ifndef PSRKIT_OVERWRITE_CHECK_H
#define PSRKIT_OVERWRITE_CHECK_H

#include <psrkit/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

PSR_API_BEGIN

struct psr_overwrite_file {
    dev_t dev;
    ino_t ino;
    const char *name;
};

/* Whether two names, of which one may be NULL, stand for one regular file that is there. */
bool psr_same_file(const char *a, const char *b);

/* Status: PSR_EINVAL where the two are one file. */
PSR_MUST_CHECK psr_status psr_overwrite_check_one(const char *output, const char *input,
                                                  psr_err *err);

/* Many inputs at once.  Empty where it is all zeros. */
struct psr_overwrite {
    struct psr_overwrite_file *file; /* [n] of room for [room] */
    size_t n, room;
};

/* Adds a file that is read; NULL and what is no regular file pass.  The name is borrowed.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_overwrite_add(struct psr_overwrite *g, const char *input,
                                            psr_err *err);

/* Once all have been added. */
void psr_overwrite_sort(struct psr_overwrite *g);

/* Status: PSR_EINVAL where output is one of the files, under whatever name. */
PSR_MUST_CHECK psr_status psr_overwrite_check(const struct psr_overwrite *g, const char *output,
                                              psr_err *err);

void psr_overwrite_clear(struct psr_overwrite *g);

PSR_API_END

#endif
