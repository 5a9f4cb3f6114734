/* Reads binary fields from a file in memory. */
#include "baseband.h"

#include <string.h>

psr_status psr_byte_cursor_take(struct psr_byte_cursor *c, void *to, size_t bytes, const char *what)
{
    if (bytes > c->n)
        return psr_fail(c->err, PSR_EFORMAT, "%s: ends inside %s: %zu of %zu bytes are there",
                        c->name, what, c->n, bytes);
    if (bytes)
        memcpy(to, c->at, bytes);
    c->at += bytes;
    c->n -= bytes;
    return PSR_OK;
}
