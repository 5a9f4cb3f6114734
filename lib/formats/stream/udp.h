/* udp.h: datagrams of spectra and of VDIF frames: sockets, order, and what comes of them (private).
 *
 * A datagram of VDIF holds whole frames of one size, alone or behind a sequence number of 8 bytes; which of
 * the two, how many frames, and of which time, is learnt when 16 of the last 32 agree, and anew when
 * none of them comes.  Others are foreign.  Frames are given out as they came: they are numbered themselves, and the
 * reader of VDIF puts them in order. */
#ifndef PSR_FORMATS_STREAM_UDP_H
#define PSR_FORMATS_STREAM_UDP_H

#include "formats/sigproc/sigproc_header.h"
#include <psrkit/obs.h>
#include <psrkit/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sends datagrams of one size at a rate, and loses, repeats and disorders them for tests. */

/* All numbers are little-endian.  32 bytes come first:
 *    0  "PSRU"
 *    4  1: version
 *    5  kind: 1 header, 2 samples, 3 end
 *    6  uint16: datagrams of a spectrum, 1 if a datagram holds whole ones
 *    8  uint64: the stream, any number that a sender chooses when it begins
 *   16  uint64: number of the datagram of samples, from 0; of the end: how many there were
 *   24  uint32: spectra in a datagram of samples, 1 if a spectrum takes several
 *   28  uint32: bytes that follow; of the end: spectra in the last datagram
 * A header is followed by a SIGPROC header; it comes first, and again each second.  Datagrams of
 * samples are of one size; what the last has too much is zeros. */

/* Samples: fewer than 9000 bytes with all headers, for networks with frames of that size. */
enum { PSR_UDP_HEAD = 32, PSR_UDP_SAMPLES = 8192 };

enum psr_udp_kind { PSR_UDP_KIND_HEADER = 1, PSR_UDP_KIND_SAMPLES, PSR_UDP_KIND_END };

struct psr_udp_packet {
    enum psr_udp_kind kind;
    unsigned pieces;
    uint64_t stream, number;
    uint32_t spectra, bytes;
};

/* How spectra of row_bytes are dealt to datagrams. */
struct psr_udp_shape {
    unsigned pieces;
    uint32_t spectra, bytes;
};
struct psr_udp_shape psr_udp_shape(size_t row_bytes);

void psr_udp_pack(unsigned char head[PSR_UDP_HEAD], const struct psr_udp_packet *packet);

/* Given:    packet   [n] as received
 * Returned: false for what is no such datagram, or has another length than it says */
bool psr_udp_unpack(struct psr_udp_packet *to, const unsigned char *packet, size_t n);

typedef struct psr_udp_wire psr_udp_wire;

struct psr_udp_wire_desc {
    const char *to;  /* udp://ADDRESS:PORT */
    size_t bytes;    /* of a datagram */
    double each_s;   /* from one datagram to the next at rate 1 */
    double rate;     /* times that; 0: as fast as the network takes them */
    double loss;     /* fraction that is not sent */
    double twice;    /* fraction of the others that is sent twice */
    int64_t reorder; /* datagrams that one may be sent after its turn */
    uint64_t seed;   /* of these three */
};

/* Opens the socket.
 * Status: PSR_EINVAL naming the field, PSR_EIO, PSR_ENOMEM.  *out is NULL on error. */
PSR_MUST_CHECK psr_status psr_udp_wire_create(psr_udp_wire **out,
                                              const struct psr_udp_wire_desc *desc, psr_err *err);

/* Where the next datagram is put together. */
unsigned char *psr_udp_wire_room(const psr_udp_wire *w);

/* Sends it when it is due.
 * Notes:  returns early, at its rate, if a signal interrupts the wait
 * Status: PSR_EIO; a receiver that is not there yet is none */
PSR_MUST_CHECK psr_status psr_udp_wire_send(psr_udp_wire *w, psr_err *err);

/* Sends those that still wait for their turn. */
PSR_MUST_CHECK psr_status psr_udp_wire_flush(psr_udp_wire *w, psr_err *err);

/* Datagrams so far, sent or lost on purpose; *lost of them. */
int64_t psr_udp_wire_count(const psr_udp_wire *w, int64_t *lost);

/* Frees it; NULL is allowed. */
void psr_udp_wire_destroy(psr_udp_wire *w);

/* Which stream the datagrams that come belong to.
 *
 * One datagram proves nothing: it may be a stray, or hostile.  The last ones are held until enough of
 * them are of one stream, which then begins with them. */

typedef struct psr_udp_quorum psr_udp_quorum;

/* A stream is one if so many of the last ones are its. */
enum { PSR_UDP_QUORUM = 16, PSR_UDP_QUORUM_OF = 32 };

struct psr_udp_held {
    unsigned char *packet; /* [n] as it came */
    size_t n;
    double arrival_s;
};

/* Whether two datagrams can be of one stream. */
typedef bool psr_udp_alike(const struct psr_udp_held *a, const struct psr_udp_held *b);

/* Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_udp_quorum_create(psr_udp_quorum **out, psr_udp_alike *alike,
                                                psr_err *err);

/* Holds a copy of a datagram, instead of the oldest if there are enough.
 * Returned: how many of those held are like it, itself included; 0 if there is no memory for it */
size_t psr_udp_quorum_hold(psr_udp_quorum *q, const unsigned char *packet, size_t n,
                           double arrival_s);

/* Those held, the oldest first: i < psr_udp_quorum_count. */
size_t psr_udp_quorum_count(const psr_udp_quorum *q);
const struct psr_udp_held *psr_udp_quorum_at(const psr_udp_quorum *q, size_t i);

/* One of those that more than half of all are like; NULL if there is none. */
const struct psr_udp_held *psr_udp_quorum_most(const psr_udp_quorum *q);

/* Holds none. */
void psr_udp_quorum_clear(psr_udp_quorum *q);

/* Frees it; NULL is allowed. */
void psr_udp_quorum_destroy(psr_udp_quorum *q);

/* Puts the numbered frames of a network stream in order.
 *
 * The numbers of frames of one size increase by one; frames arrive early, late, twice or never.  A
 * frame is given out as soon as those before it have been given out or are lost, and one is lost when
 * it has not come although a frame "window" numbers higher has.  A number at least a window above the
 * highest, or far below what was given out, is not believed until 16 of the last 32 frames were around
 * it, so that stray or hostile frames cannot move a stream; then the stream has jumped ahead (frames
 * between are lost) or, if it was too far or back, has begun again.  Memory is used as far as frames are held.  Not thread-safe. */

typedef struct psr_frame_order psr_frame_order;

struct psr_frame_order_desc {
    size_t frame_bytes;
    size_t window;     /* frames; 1: a frame is lost when a later one comes */
    size_t room;       /* frames held for the caller, at least 2 windows */
    int64_t most_lost; /* by a jump ahead; by more the stream begins again.  0: any number */
};

/* Frames so far.  Each frame put is in one of the first four, or rejected. */
struct psr_frame_counts {
    int64_t accepted;
    int64_t duplicate;
    int64_t late; /* lost already when they came */
    int64_t
        dropped;   /* there was no room: the caller took frames too slowly.  Once a frame has none,
                         those after it are dropped until a sixteenth of the room is free */
    int64_t drops; /* such blocks */
    int64_t rejected; /* numbers out of place */
    int64_t lost;     /* given out as lost */
    int64_t jumps;    /* ahead by more than a window */
    int64_t restarts; /* began again at a lower number, or one too high */
};

/* Status: PSR_EINVAL naming the field, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_frame_order_create(psr_frame_order **out,
                                                 const struct psr_frame_order_desc *desc,
                                                 psr_err *err);

/* Frames that are put from now on came at this time, in seconds of any clock. */
void psr_frame_order_clock(psr_frame_order *o, double now_s);

/* Takes a frame.
 * Given:  number   any; those below 0 are out of place */
void psr_frame_order_put(psr_frame_order *o, int64_t number, const void *frame);

/* No frame before the highest is waited for any longer, as when no frames have come for a while. */
void psr_frame_order_give_up(psr_frame_order *o);

/* What comes next in order: n frames, or else lost ones, or else a new beginning; all 0 if that is not
 * known yet. */
struct psr_frame_run {
    size_t n;
    int64_t lost;
    bool restart;
    double arrival_s; /* when the first of the frames came; 0 without a clock */
    int64_t next;     /* as psr_frame_order_next, after the run */
};

static inline bool psr_frame_run_is_empty(const struct psr_frame_run *run)
{
    return !run->n && !run->lost && !run->restart;
}

/* Gives out the next frames.
 * Given:    frames   room for n of them
 * Returned: frames   those of the run */
struct psr_frame_run psr_frame_order_take(psr_frame_order *o, size_t n, void *frames);

/* Number of the next frame to be given out, after a run that is not all 0. */
int64_t psr_frame_order_next(const psr_frame_order *o);

struct psr_frame_counts psr_frame_order_counts(const psr_frame_order *o);

/* Frees it; NULL is allowed. */
void psr_frame_order_destroy(psr_frame_order *o);

/* --- sockets of udp://ADDRESS:PORT ------------------------------------------------------------ */

#define PSR_UDP_SCHEME "udp://"

/* Largest payload of a datagram of IPv4. */
enum { PSR_UDP_PACKET_MAX = 65507 };

/* What a name says: udp://ADDRESS:PORT, and settings that receivers take: ?idle=SECONDS&window=N&room=BYTES
 * &from=ADDRESS.
 * ADDRESS is numeric, IPv4 or [IPv6]; a multicast group is joined, on the interface of @ADDRESS if
 * that follows it. */
struct psr_udp_name {
    char address[64], interface[64], port[8];
    double idle_s;  /* the stream ends when nothing has come for so long; 0: never */
    int64_t window; /* packets that may be out of order; 0: default */
    int64_t room;   /* bytes held for a slow reader; 0: default */
    char from[64];  /* numeric address of the only sender; empty: any */
};

bool psr_udp_is_name(const char *path);

/* An address of IPv4 or IPv6 without its port. */
struct psr_udp_address {
    unsigned char bytes[16];
    size_t n; /* 4, 16, or 0: none */
};

/* The numeric address in a text; that of a sender, one of IPv4 that came by IPv6 as such.
 * Status: PSR_EINVAL naming the text */
PSR_MUST_CHECK psr_status psr_udp_parse_address(struct psr_udp_address *to, const char *text,
                                                psr_err *err);
struct sockaddr;
struct psr_udp_address psr_udp_address_of(const struct sockaddr *a);

/* Status: PSR_EINVAL naming the part, its value and its limits */
PSR_MUST_CHECK psr_status psr_udp_parse(struct psr_udp_name *name, const char *path, psr_err *err);

/* Opens a socket that receives what is sent to the address, and nothing else.
 * Returned: *fd, not blocking; *buffer   bytes that the kernel holds
 * Status:   PSR_EIO naming the address */
PSR_MUST_CHECK psr_status psr_udp_open_receiver(int *fd, int64_t *buffer,
                                                const struct psr_udp_name *name, psr_err *err);

/* Opens a socket whose datagrams go to the address. */
PSR_MUST_CHECK psr_status psr_udp_open_sender(int *fd, const struct psr_udp_name *name,
                                              psr_err *err);

/* Receives the datagrams of a stream in a thread of its own, and puts them in order.
 *
 * The thread takes batches of datagrams per system call.  What a datagram holds is for the caller's
 * function to say, so that any protocol with numbered frames of one size can be received. */

typedef struct psr_udp_receiver psr_udp_receiver;

/* What a datagram is. */
enum psr_udp_what {
    PSR_UDP_FOREIGN, /* no part of the stream: only counted */
    PSR_UDP_FRAME,
    PSR_UDP_OTHER, /* used by the function */
    PSR_UDP_END,   /* the stream has ended; used */
};

struct psr_udp_desc {
    const struct psr_udp_name *name;
    /* Given:    packet   [n] as it came
     * Returned: *number, *frame   of PSR_UDP_FRAME: frame_bytes of them, within packet or kept elsewhere
     *           until the next call
     * Notes:    called by the thread, with the receiver's lock held */
    enum psr_udp_what (*sort)(void *ctx, const unsigned char *packet, size_t n, int64_t *number,
                              const unsigned char **frame);
    void *ctx;
    bool (*should_stop)(void *ctx); /* polled by who waits: true ends the stream; NULL: never */
    void *stop_ctx;
    /* Is called, as sort is, when the stream ends, so that what is held begins one that had not begun; may be NULL. */
    void (*settle)(void *ctx);
    const char *path; /* for messages; borrowed */
    struct psr_notes
        notes; /* get foreign datagrams, at once and each 10 s in which others came, from who waits */
};

/* Starts to receive.  Frames count once psr_udp_set_frames has been called.
 * Status: as psr_udp_open_receiver; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_udp_receive(psr_udp_receiver **out, const struct psr_udp_desc *desc,
                                          psr_err *err);

/* Says what frames are, and how many a jump may lose, as psr_frame_order_desc; only in sort.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_udp_set_frames(psr_udp_receiver *r, size_t frame_bytes,
                                             int64_t most_lost, psr_err *err);

/* Puts a frame that came before; only in sort. */
void psr_udp_put(psr_udp_receiver *r, int64_t number, const void *frame, double arrival_s);

/* Counts datagrams that turned out to be foreign; only in sort. */
void psr_udp_add_foreign(psr_udp_receiver *r, size_t n);

/* Says with which number the stream begins, if not with that of the first frame; only in sort. */
void psr_udp_begin(psr_udp_receiver *r, int64_t number);

/* Number after the highest of the stream; only in sort. */
int64_t psr_udp_end(const psr_udp_receiver *r);

/* When the packet came, by the monotonic clock; only in sort. */
double psr_udp_now(const psr_udp_receiver *r);

/* How many numbers a frame may come late; only in sort. */
int64_t psr_udp_window(const psr_udp_receiver *r);

/* What sort has learnt of a stream, so that a reader can begin. */
struct psr_udp_beginning {
    bool ready; /* it has, or has failed: the status says how */
    psr_status status;
    psr_err err;
};

/* Waits until the beginning, which only sort writes, is ready.
 * Given:    path   for the message
 * Status:   its own; PSR_EIO if the stream ends before, if a signal whose handler was installed without SA_RESTART
 *           interrupts the wait, or if the socket fails */
PSR_MUST_CHECK psr_status psr_udp_wait(psr_udp_receiver *r, const struct psr_udp_beginning *b,
                                       const char *path, psr_err *err);

/* The next frames in order, waited for; all 0 at the end of the stream.
 * Status: as psr_udp_wait */
PSR_MUST_CHECK psr_status psr_udp_take(psr_udp_receiver *r, size_t n, void *frames,
                                       struct psr_frame_run *run, psr_err *err);

/* Counts so far. */
struct psr_udp_counts {
    struct psr_frame_counts frames;
    int64_t packets, foreign;
    int64_t elsewhere;  /* from other addresses than the one that is wanted */
    int64_t overflowed; /* packets that the kernel had no room for */
    int64_t buffer;     /* bytes that it has */
};
struct psr_udp_counts psr_udp_counts(psr_udp_receiver *r);

/* Ends the thread and frees the receiver; NULL is allowed. */
void psr_udp_stop(psr_udp_receiver *r);

/* Which datagrams are of a filterbank that is received, and where their samples belong.
 *
 * A stream is known when its header has come and 16 of the last 32 datagrams of samples are its; it
 * then begins with those.  Another one of the same spectra goes on with it after a silence, by the
 * same rule. */

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

/* Bytes of VDIF frames that come over UDP.
 *
 * A datagram holds whole frames of one size, alone or behind a sequence number of 8 bytes; which of
 * the two, how many frames, and of which time, is learnt when 16 of the last 32 agree, and anew when
 * none of them comes.  Others are foreign.  Frames are given out as they came: they are numbered themselves, and the reader of VDIF puts them in order. */

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
