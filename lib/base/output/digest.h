/* digest.h: 64-bit digests (xxHash) to detect changed data; not secure against an adversary
 * (private). */
#ifndef PSR_BASE_OUTPUT_DIGEST_H
#define PSR_BASE_OUTPUT_DIGEST_H

#include <psrkit/status.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define PSR_DIGEST_START UINT64_C(0)

/* Returns digest updated with n more bytes. */
uint64_t psr_digest_bytes(uint64_t digest, const void *bytes, size_t n);

/* Returns digest updated with a text and its terminator; NULL counts as empty. */
uint64_t psr_digest_text(uint64_t digest, const char *text);

/* Digest of regular files, independent of their order and names: their sizes, beginnings and
 * samples of the rest.  Changes elsewhere are detected by the modification time.  Pipes are
 * ignored.
 * Returned: *digest; *changed, the latest modification time
 * Status:   PSR_EIO */
PSR_MUST_CHECK psr_status psr_digest_files(uint64_t *digest, struct timespec *changed,
                                           const char *const *path, size_t npath, psr_err *err);

#endif
