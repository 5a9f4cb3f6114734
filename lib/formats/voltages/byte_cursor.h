/* byte_cursor.h: reads binary fields from a file in memory, one after the other (private). */
#ifndef PSR_FORMATS_VOLTAGES_BYTE_CURSOR_H
#define PSR_FORMATS_VOLTAGES_BYTE_CURSOR_H

#include <psrkit/status.h>
#include <stdbool.h>
#include <stddef.h>

/* What is left of a file. */
struct psr_byte_cursor {
    const unsigned char *at;
    size_t n;
    const char *name; /* of the file, for messages; borrowed */
    psr_err *err;
    bool swap; /* the caller swaps the bytes of numbers */
};

/* Copies the next bytes.
 * Given:  what   the name of the field, for the message
 * Status: PSR_EFORMAT "NAME: ends inside WHAT: ..." */
PSR_MUST_CHECK psr_status psr_byte_cursor_take(struct psr_byte_cursor *c, void *to, size_t bytes,
                                               const char *what);

#endif
