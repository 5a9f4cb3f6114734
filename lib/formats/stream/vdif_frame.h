/* vdif_frame.h: headers of VDIF frames (private).
 *
 * VDIF Specification, release 1.1.1 (2014): little-endian words of 32 bits, 4 in the legacy header
 * and 8 in the full one. */
#ifndef PSR_FORMATS_STREAM_VDIF_FRAME_H
#define PSR_FORMATS_STREAM_VDIF_FRAME_H

#include <psrkit/obs.h>

enum { PSR_VDIF_LEGACY = 16, PSR_VDIF_HEADER = 32, PSR_VDIF_THREADS = 1024 };

struct psr_vdif_frame {
    bool invalid, legacy, complex;
    uint32_t second, frame; /* since the epoch, and of the second */
    unsigned epoch;         /* half years since 2000 */
    unsigned version;
    size_t header_bytes, bytes; /* header; both header and payload */
    size_t nchan;
    int nbit; /* of a component */
    unsigned thread, station;
    double rate_hz; /* samples per second where the extended data tell; else 0 */
};

/* Parses PSR_VDIF_HEADER bytes, or PSR_VDIF_LEGACY of a legacy header.
 * Returned: true if frames of this kind can exist, whatever can be read of them */
bool psr_vdif_parse(struct psr_vdif_frame *f, const uint8_t *bytes, size_t n);

/* Makes a full header: not legacy, version 0; the rate is there if extended data can tell it. */
void psr_vdif_pack(uint8_t header[PSR_VDIF_HEADER], const struct psr_vdif_frame *f);

/* Changes the second of a frame. */
void psr_vdif_add_seconds(uint8_t *header, int64_t seconds);

/* Whether two frames can belong to one stream. */
bool psr_vdif_alike(const struct psr_vdif_frame *a, const struct psr_vdif_frame *b);

/* First header in bytes [n] that is like *like, or any if like is NULL, and that another one follows
 * after its frame, or the end of the bytes.
 * Returned: its offset, or n if there is none; *f */
size_t psr_vdif_find(struct psr_vdif_frame *f, const uint8_t *bytes, size_t n,
                     const struct psr_vdif_frame *like);

/* Date of the epoch. */
struct psr_mjd psr_vdif_epoch(unsigned epoch);

#endif
