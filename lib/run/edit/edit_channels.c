/* Copies ranges of channels of packed spectra, in either order. */
#include "edit_channels.h"

#include "formats/spectra/unpack.h"

#include <string.h>

/* Eight at a time: this is the common case, and must keep up with memory. */
static void reverse_bytes(uint8_t *out, const uint8_t *in, size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t v;
        memcpy(&v, in + n - i - 8, sizeof v);
        v = __builtin_bswap64(v);
        memcpy(out + i, &v, sizeof v);
    }
    for (; i < n; i++)
        out[i] = in[n - 1 - i];
}

#define DEFINE_REVERSE(NAME, TYPE)                                                                 \
    static void NAME(uint8_t *out, const uint8_t *in, size_t n)                                    \
    {                                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            memcpy(out + i * sizeof(TYPE), in + (n - 1 - i) * sizeof(TYPE), sizeof(TYPE));         \
    }
DEFINE_REVERSE(reverse_16, uint16_t)
DEFINE_REVERSE(reverse_32, uint32_t)

/* Given: turned [256]   each byte with its samples in reverse order */
static void reverse_row(uint8_t *out, const uint8_t *in, size_t nchan, int nbit,
                        const uint8_t *turned)
{
    const size_t nbyte = nchan * (size_t)nbit / 8;
    if (nbit == 32)
        reverse_32(out, in, nchan);
    else if (nbit == 16)
        reverse_16(out, in, nchan);
    else
        reverse_bytes(out, in, nbyte);
    for (size_t i = 0; nbit < 8 && i < nbyte; i++)
        out[i] = turned[out[i]];
}

/* Whole bytes from a bit on that is not the first of its byte: they touch one byte more. */
static void shift_bits(uint8_t *out, const uint8_t *in, size_t bit, size_t nbyte)
{
    const uint8_t *from = in + bit / 8;
    const unsigned shift = bit % 8;
    for (size_t i = 0; i < nbyte; i++)
        out[i] = (uint8_t)((from[i] | (unsigned)from[i + 1] << 8) >> shift);
}

static void copy_row(const struct psr_edit_channels *c, uint8_t *out, const uint8_t *in,
                     const uint8_t *turned)
{
    const size_t bit = c->first * (size_t)c->nbit, nbyte = c->nchan * (size_t)c->nbit / 8;
    if (bit % 8) {
        shift_bits(out, in, bit, nbyte);
        if (c->reverse)
            psr_row_reverse(out, c->nchan, c->nbit);
    } else if (c->reverse) {
        reverse_row(out, in + bit / 8, c->nchan, c->nbit, turned);
    } else {
        memcpy(out, in + bit / 8, nbyte);
    }
}

void psr_edit_channels_copy(const struct psr_edit_channels *c, uint8_t *out, const uint8_t *in,
                            size_t nsamp)
{
    const size_t in_bytes = psr_row_bytes(c->nchan_in, c->nbit),
                 out_bytes = psr_row_bytes(c->nchan, c->nbit);
    uint8_t turned[256] = {0};
    for (unsigned v = 0; v < sizeof turned && c->nbit < 8; v++)
        turned[v] = psr_byte_reverse(v, c->nbit);
    for (size_t t = 0; t < nsamp; t++)
        copy_row(c, out + t * out_bytes, in + t * in_bytes, turned);
}
