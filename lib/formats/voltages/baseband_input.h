/* baseband_input.h: buffered bytes of a file, a pipe or a network stream (private). */
#ifndef PSR_FORMATS_VOLTAGES_BASEBAND_INPUT_H
#define PSR_FORMATS_VOLTAGES_BASEBAND_INPUT_H

#include "formats/stream/udp_frames.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct psr_baseband_input {
    int fd;                  /* -1 of a network stream */
    psr_udp_frames *network; /* NULL of others */
    const char *name;        /* for messages; borrowed */
    bool stream;             /* cannot seek */
    int64_t size;            /* of a file */
    int64_t at;              /* bytes taken or skipped */
    uint8_t *buffer;
    size_t room, begin, end;
    bool ended;
    double
        arrival_s; /* of a stream: when the bytes that were read last came, by the monotonic clock */
    int nthread;   /* that read a file; 0: one */
};

/* Opens path; "-" is standard input, udp://... a network stream of VDIF frames.
 * Given:  notes  of what a network stream loses
 * Status: PSR_EIO; PSR_ENOMEM; PSR_EINVAL of such a name.  On error there is nothing to close. */
PSR_MUST_CHECK psr_status psr_baseband_input_open(struct psr_baseband_input **out, const char *path,
                                                  const struct psr_notes *notes, psr_err *err);
void psr_baseband_input_close(struct psr_baseband_input *in); /* NULL is allowed */

/* Shows the next n bytes without taking them.
 * Returned: *bytes [*got], *got < n only at the end; valid until the next call
 * Status:   PSR_EIO, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_baseband_input_peek(struct psr_baseband_input *in, size_t n,
                                                  const uint8_t **bytes, size_t *got, psr_err *err);

/* Copies the next n bytes: *got < n only at the end. */
PSR_MUST_CHECK psr_status psr_baseband_input_take(struct psr_baseband_input *in, void *to, size_t n,
                                                  size_t *got, psr_err *err);

/* Skips n bytes, or what there are. */
PSR_MUST_CHECK psr_status psr_baseband_input_skip(struct psr_baseband_input *in, int64_t n,
                                                  psr_err *err);

#endif
