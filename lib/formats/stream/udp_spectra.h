/* udp_spectra.h: which datagrams are of a filterbank that is received, and where their samples belong
 * (private).
 *
 * A stream is known when its header has come and 16 of the last 32 datagrams of samples are its; it
 * then begins with those.  Another one of the same spectra goes on with it after a silence, by the
 * same rule. */
#ifndef PSR_FORMATS_STREAM_UDP_SPECTRA_H
#define PSR_FORMATS_STREAM_UDP_SPECTRA_H

#include "formats/sigproc/sigproc_header.h"
#include "udp_quorum.h"
#include "udp_receive.h"
#include "udp_wire.h"

enum { PSR_UDP_HEADERS = 8 };

/* A header of a stream that may be received; of several of one stream the one that came most often is its. */
struct psr_udp_candidate {
    bool used;
    uint64_t stream, digest;
    int64_t came;
    struct psr_sigproc_header header;
    double arrival_s;
};

/* Initialise with zeros, then psr_udp_spectra_init.  All but the last is of the thread that receives, and does not
 * change once the beginning is ready but for what is said. */
struct psr_udp_spectra {
    const char *path;
    psr_udp_receiver *receiver;
    struct psr_udp_beginning beginning;
    bool known;
    struct psr_obs obs; /* of the header */
    struct psr_udp_shape shape;
    size_t row_bytes;
    int64_t first; /* number of the first packet */
    /* these change */
    uint64_t stream;
    int64_t base_number; /* what is added to numbers */
    double last_s;       /* when the last samples came */
    int64_t restarts;
    bool changed; /* another stream has come instead */
    bool said_end;
    int64_t said_total; /* of the last end that came, believed or not */
    struct psr_udp_candidate candidate[PSR_UDP_HEADERS];
    psr_udp_quorum *quorum; /* packets of samples that are not of the stream */
    /* The last packet that holds fewer spectra than others: only the end of the stream may. */
    struct {
        int64_t number; /* -1: none */
        uint32_t spectra;
        double arrival_s;
        unsigned char packet[PSR_UDP_HEAD + PSR_UDP_SAMPLES];
    } partial;
    /* set by the end, read by all */
    uint32_t last_spectra;
    _Atomic int64_t total; /* packets; -1: not known */
};

/* Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_udp_spectra_init(struct psr_udp_spectra *s, const char *path,
                                               psr_err *err);

/* As psr_udp_desc has them; ctx is the struct. */
enum psr_udp_what psr_udp_spectra_sort(void *ctx, const unsigned char *packet, size_t n,
                                       int64_t *number, const unsigned char **frame);
void psr_udp_spectra_settle(void *ctx);

/* Seconds of a packet. */
double psr_udp_spectra_packet_s(const struct psr_udp_spectra *s);

void psr_udp_spectra_clear(struct psr_udp_spectra *s);

#endif
