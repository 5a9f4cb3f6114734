/* Receives the datagrams of a stream in a thread of its own. */
#include "udp_receive.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BATCH = 64, CONTROL_BYTES = 64, WINDOW = 256, WAIT_MS = 100 };
static const int64_t default_room = 256 << 20;
static const double after_end_s = 0.1; /* packets may come after the end was announced */

struct psr_udp_receiver {
    struct psr_udp_desc d;
    struct psr_udp_name name;
    int fd;
    int wake; /* eventfd for the thread that waits for frames */
    pthread_t thread;
    bool threaded;
    pthread_mutex_t lock;
    /* under the lock */
    psr_frame_order *order;
    struct psr_udp_counts counts;
    bool stopping, waiting, ended;
    psr_status status;
    psr_err err;
    double now_s;  /* when the batch came that is sorted */
    double last_s; /* when a packet of the stream came; 0: none yet */
    double end_s;  /* when its end was announced; 0: not yet */
    /* of the thread */
    struct mmsghdr message[BATCH];
    struct iovec part[BATCH];
    _Alignas(struct cmsghdr) char control[BATCH][CONTROL_BYTES];
    unsigned char *packet; /* [BATCH][PSR_UDP_PACKET_MAX] */
};

/* --- the thread ------------------------------------------------------------------------------- */

static void wake_reader(psr_udp_receiver *r)
{
    const uint64_t one = 1;
    if (r->waiting && write(r->wake, &one, sizeof one) == (ssize_t)sizeof one)
        r->waiting = false;
}

/* The kernel counts what it could not keep since the socket was opened. */
static void count_overflow(psr_udp_receiver *r, struct msghdr *m)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
        uint32_t lost;
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SO_RXQ_OVFL)
            continue;
        memcpy(&lost, CMSG_DATA(c), sizeof lost);
        r->counts.overflowed = lost;
    }
}

static void sort_packet(psr_udp_receiver *r, const unsigned char *packet, size_t n, bool cut)
{
    int64_t number = 0;
    const unsigned char *frame = NULL;
    const enum psr_udp_what what =
        cut ? PSR_UDP_FOREIGN : r->d.sort(r->d.ctx, packet, n, &number, &frame);
    r->counts.packets++;
    r->counts.foreign += what == PSR_UDP_FOREIGN;
    if (what != PSR_UDP_FOREIGN)
        r->last_s = r->now_s;
    if (what == PSR_UDP_FRAME && r->order) {
        psr_frame_order_clock(r->order, r->now_s);
        psr_frame_order_put(r->order, number, frame);
    }
    if (what == PSR_UDP_END && r->end_s == 0)
        r->end_s = r->now_s;
}

/* Takes what the socket has.  Returned: packets, 0 or less if there are none */
static int take_batch(psr_udp_receiver *r)
{
    for (size_t i = 0; i < BATCH; i++)
        r->message[i].msg_hdr = (struct msghdr){.msg_iov = &r->part[i],
                                                .msg_iovlen = 1,
                                                .msg_control = r->control[i],
                                                .msg_controllen = CONTROL_BYTES};
    const int n = recvmmsg(r->fd, r->message, BATCH, MSG_DONTWAIT, NULL);
    const int why = errno;
    pthread_mutex_lock(&r->lock);
    r->now_s = psr_seconds();
    for (int i = 0; i < n; i++) {
        count_overflow(r, &r->message[i].msg_hdr);
        sort_packet(r, r->part[i].iov_base, r->message[i].msg_len,
                    r->message[i].msg_hdr.msg_flags & MSG_TRUNC);
    }
    if (n < 0 && why != EAGAIN && why != EINTR && why != ECONNREFUSED) {
        errno = why;
        r->status = psr_fail_errno(&r->err, "udp: cannot receive at %s", r->name.address);
        r->ended = true;
    }
    wake_reader(r);
    pthread_mutex_unlock(&r->lock);
    return n;
}

/* When nothing comes, what is out of order is not waited for; nor is the stream, in the end. */
static void check_time(psr_udp_receiver *r, bool silent)
{
    const double now_s = psr_seconds();
    pthread_mutex_lock(&r->lock);
    const bool over = r->end_s > 0 && now_s - r->end_s > after_end_s,
               idle = r->name.idle_s > 0 && r->last_s > 0 && now_s - r->last_s > r->name.idle_s;
    if (r->order && (silent || over || idle))
        psr_frame_order_give_up(r->order);
    r->ended |= over || idle;
    wake_reader(r);
    pthread_mutex_unlock(&r->lock);
}

static bool goes_on(psr_udp_receiver *r)
{
    pthread_mutex_lock(&r->lock);
    const bool on = !r->stopping && !r->ended;
    pthread_mutex_unlock(&r->lock);
    return on;
}

static void *receive(void *arg)
{
    psr_udp_receiver *r = arg;
    while (goes_on(r)) {
        struct pollfd ready = {.fd = r->fd, .events = POLLIN};
        const bool some = poll(&ready, 1, WAIT_MS) > 0;
        while (some && take_batch(r) == BATCH && goes_on(r))
            continue;
        check_time(r, !some);
    }
    return NULL;
}

/* --- beginning and end ------------------------------------------------------------------------ */

/* Signals are for the threads of the program. */
static psr_status start_thread(psr_udp_receiver *r, psr_err *err)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    r->threaded = !pthread_create(&r->thread, NULL, receive, r);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return r->threaded ? PSR_OK : psr_fail(err, PSR_ENOMEM, "no thread to receive packets");
}

static psr_status set_up(psr_udp_receiver *r, psr_err *err)
{
    psr_status st = psr_udp_open_receiver(&r->fd, &r->counts.buffer, &r->name, err);
    if (st)
        return st;
    r->wake = eventfd(0, EFD_CLOEXEC);
    r->packet = malloc((size_t)BATCH * PSR_UDP_PACKET_MAX);
    if (r->wake < 0 || !r->packet)
        return psr_fail_nomem(err, "packets", (double)BATCH * PSR_UDP_PACKET_MAX);
    for (size_t i = 0; i < BATCH; i++)
        r->part[i] = (struct iovec){r->packet + i * PSR_UDP_PACKET_MAX, PSR_UDP_PACKET_MAX};
    return start_thread(r, err);
}

psr_status psr_udp_receive(psr_udp_receiver **out, const struct psr_udp_desc *desc, psr_err *err)
{
    *out = NULL;
    psr_udp_receiver *r = calloc(1, sizeof *r);
    if (!r)
        return psr_fail_nomem(err, "a receiver", sizeof *r);
    r->d = *desc;
    r->name = *desc->name;
    r->fd = r->wake = -1;
    pthread_mutex_init(&r->lock, NULL);
    *out = r; /* sort may need it at once */
    psr_status st = set_up(r, err);
    if (st) {
        *out = NULL;
        psr_udp_stop(r);
    }
    return st;
}

psr_status psr_udp_set_frames(psr_udp_receiver *r, size_t frame_bytes, psr_err *err)
{
    const int64_t bytes = r->name.room ? r->name.room : default_room;
    const size_t window = (size_t)psr_udp_window(r), most = (size_t)(bytes / (int64_t)frame_bytes);
    return psr_frame_order_create(
        &r->order,
        &(struct psr_frame_order_desc){.frame_bytes = frame_bytes,
                                       .window = window,
                                       .room = most > 2 * window ? most : 2 * window},
        err);
}

double psr_udp_now(const psr_udp_receiver *r)
{
    return r->now_s;
}

int64_t psr_udp_window(const psr_udp_receiver *r)
{
    return r->name.window ? r->name.window : WINDOW;
}

void psr_udp_begin(psr_udp_receiver *r, int64_t number)
{
    psr_frame_order_begin(r->order, number);
}

void psr_udp_stop(psr_udp_receiver *r)
{
    if (!r)
        return;
    pthread_mutex_lock(&r->lock);
    r->stopping = true;
    pthread_mutex_unlock(&r->lock);
    if (r->threaded)
        pthread_join(r->thread, NULL);
    pthread_mutex_destroy(&r->lock);
    psr_frame_order_destroy(r->order);
    if (r->fd >= 0)
        close(r->fd);
    if (r->wake >= 0)
        close(r->wake);
    free(r->packet);
    free(r);
}

/* --- what came -------------------------------------------------------------------------------- */

/* What has come is given out, in order or not.  Called with the lock. */
static bool stop_if_asked(psr_udp_receiver *r)
{
    if (!r->d.should_stop || !r->d.should_stop(r->d.stop_ctx))
        return false;
    if (r->order)
        psr_frame_order_give_up(r->order);
    r->ended = true;
    return true;
}

/* Waits for the thread to say that something came.  Called, and returns, with the lock. */
static psr_status wait_for_packets(psr_udp_receiver *r, psr_err *err)
{
    uint64_t n;
    struct pollfd ready = {.fd = r->wake, .events = POLLIN};
    if (stop_if_asked(r))
        return PSR_OK;
    r->waiting = true;
    pthread_mutex_unlock(&r->lock);
    const int found = poll(&ready, 1, r->d.should_stop ? WAIT_MS : -1);
    psr_status st = found < 0 && !(r->d.should_stop && errno == EINTR)
                        ? psr_fail_errno(err, "udp: waiting for %s", r->name.address)
                        : PSR_OK;
    if (found > 0 && read(r->wake, &n, sizeof n) < 0)
        st = psr_fail_errno(err, "udp: waiting for %s", r->name.address);
    pthread_mutex_lock(&r->lock);
    return st;
}

static psr_status status_of(const psr_udp_receiver *r, psr_err *err)
{
    if (r->status && err)
        *err = r->err;
    return r->status;
}

static psr_status begin_of(const struct psr_udp_beginning *b, const char *path, psr_err *err)
{
    if (!b->ready)
        return psr_fail(err, PSR_EIO, "%s: the stream ended before it began", path);
    if (b->status && err)
        *err = b->err;
    return b->status;
}

psr_status psr_udp_wait(psr_udp_receiver *r, const struct psr_udp_beginning *b, const char *path,
                        psr_err *err)
{
    psr_status st = PSR_OK;
    pthread_mutex_lock(&r->lock);
    while (!st && !r->ended && !b->ready)
        st = wait_for_packets(r, err);
    if (!st)
        st = status_of(r, err);
    if (!st)
        st = begin_of(b, path, err);
    pthread_mutex_unlock(&r->lock);
    return st;
}

psr_status psr_udp_take(psr_udp_receiver *r, size_t n, void *frames, struct psr_frame_run *run,
                        psr_err *err)
{
    psr_status st = PSR_OK;
    *run = (struct psr_frame_run){0};
    pthread_mutex_lock(&r->lock);
    while (!st) {
        if (r->order)
            *run = psr_frame_order_take(r->order, n, frames);
        if (!psr_frame_run_is_empty(run) || r->ended)
            break;
        st = wait_for_packets(r, err);
    }
    if (!st && psr_frame_run_is_empty(run))
        st = status_of(r, err);
    pthread_mutex_unlock(&r->lock);
    return st;
}

struct psr_udp_counts psr_udp_counts(psr_udp_receiver *r)
{
    pthread_mutex_lock(&r->lock);
    struct psr_udp_counts counts = r->counts;
    if (r->order)
        counts.frames = psr_frame_order_counts(r->order);
    pthread_mutex_unlock(&r->lock);
    return counts;
}
