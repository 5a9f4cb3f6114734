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

#endif
