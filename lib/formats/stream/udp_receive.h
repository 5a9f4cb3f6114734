/* udp_receive.h: receives the datagrams of a stream in a thread of its own, and puts them in order
 * (private).
 *
 * The thread takes batches of datagrams per system call.  What a datagram holds is for the caller's
 * function to say, so that any protocol with numbered frames of one size can be received. */
#ifndef PSR_FORMATS_STREAM_UDP_RECEIVE_H
#define PSR_FORMATS_STREAM_UDP_RECEIVE_H

#include "frame_order.h"
#include "udp_socket.h"

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

#endif
