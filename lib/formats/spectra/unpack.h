/* unpack.h: converts between packed samples and floats, one spectrum at a time (private). */
#ifndef PSR_FORMATS_SPECTRA_UNPACK_H
#define PSR_FORMATS_SPECTRA_UNPACK_H

#include <psrkit/obs.h>

/* True if samples of this kind and number of bits exist. */
bool psr_row_known(int nbit, enum psr_kind kind);

/* Bytes of a spectrum; each begins on a byte boundary. */
size_t psr_row_bytes(size_t nchan, int nbit);

/* Given:    row   a spectrum, aligned for its samples
 * Returned: x [nchan], exact */
void psr_row_unpack(double *x, const void *row, size_t nchan, int nbit, enum psr_kind kind);

/* Packs floats: integers are rounded to the nearest (halves up) and clipped to their range. */
void psr_row_pack(void *row, const double *x, size_t nchan, int nbit, enum psr_kind kind);

/* Returned: a byte of 1, 2 or 4-bit samples in reverse order */
static inline uint8_t psr_byte_reverse(unsigned byte, int nbit)
{
    byte = byte << 4 | byte >> 4;
    if (nbit <= 2)
        byte = (byte & 0x33) << 2 | (byte >> 2 & 0x33);
    if (nbit == 1)
        byte = (byte & 0x55) << 1 | (byte >> 1 & 0x55);
    return (uint8_t)byte;
}

/* Reverses the order of the channels. */
void psr_row_reverse(void *row, size_t nchan, int nbit);

/* Storage type and function of the sum over IFs. */
struct psr_if_sum {
    int nbit; /* of the IFs */
    enum psr_kind kind;
    int sum_nbit; /* wide enough for 16 IFs */
    enum psr_kind sum_kind;
    /* out [nchan], in [nif][nchan], each IF from a byte boundary; both aligned for their samples */
    void (*add)(void *out, const void *in, size_t nchan, int nif);
};

/* Returned: the entry, in static storage, or NULL if there is none */
const struct psr_if_sum *psr_if_sum_find(int nbit, enum psr_kind kind);

#endif
