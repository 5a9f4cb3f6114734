/* udp_frames.h: bytes of VDIF frames that come over UDP (private).
 *
 * A datagram holds whole frames of one size, alone or behind a sequence number of 8 bytes; which of
 * the two, how many frames, and of which time, is learnt when 16 of the last 32 agree, and anew when
 * none of them comes.  Others are foreign.  Frames are given out as they came: they are numbered themselves, and the reader of VDIF puts them in order. */
#ifndef PSR_FORMATS_STREAM_UDP_FRAMES_H
#define PSR_FORMATS_STREAM_UDP_FRAMES_H

#include <psrkit/obs.h>

typedef struct psr_udp_frames psr_udp_frames;

/* Given:    path    udp://..., borrowed
 *           notes   get counts each 10 s in which something was lost, and at the end
 * Status:   as psr_udp_parse and psr_udp_open_receiver; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_udp_frames_open(psr_udp_frames **out, const char *path,
                                              const struct psr_notes *notes, psr_err *err);

/* Waits for bytes of the next frames.
 * Returned: to [*got], *got <= n, 0 only at the end of the stream
 * Status:   as psr_udp_wait */
PSR_MUST_CHECK psr_status psr_udp_frames_read(psr_udp_frames *u, void *to, size_t n, size_t *got,
                                              psr_err *err);

/* When the first of the bytes that were read last came, by the monotonic clock. */
double psr_udp_frames_came(const psr_udp_frames *u);

/* Frees it; NULL is allowed. */
void psr_udp_frames_close(psr_udp_frames *u);

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
