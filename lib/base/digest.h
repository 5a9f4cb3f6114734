/* digest.h: 64 bits that stand for data, to tell whether they are the same as before (FNV-1a).  No
 * defence against an adversary (private). */
#ifndef PSR_BASE_DIGEST_H
#define PSR_BASE_DIGEST_H

#include <psrkit/status.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define PSR_DIGEST_START UINT64_C(14695981039346656037)

/* digest with n more bytes. */
uint64_t psr_digest_bytes(uint64_t digest, const void *bytes, size_t n);

/* digest with a text and its end; NULL counts as empty. */
uint64_t psr_digest_text(uint64_t digest, const char *text);

/* What stands for regular files, in any order, whatever their names: their sizes, their beginnings
 * and samples of the rest.  That a file was changed elsewhere its time tells.  Pipes count as
 * nothing.
 * Returned: *digest; *changed, when the youngest of them was last written
 * Status:   PSR_EIO */
PSR_MUST_CHECK psr_status psr_digest_files(uint64_t *digest, struct timespec *changed,
                                           const char *const *path, size_t npath, psr_err *err);

#endif
