/* Receives the datagrams of a stream in a thread of its own. */
#include "udp.h"

#include "base/base.h"
#include "base/portable.h"
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* --- puts the numbered frames of a network stream in order ------------------------------------ */

/* Frames are kept by position: numbers less a shift, which a jump changes so that positions go on. */
enum { CONFIRM = 16, NEAR = 16 };
static const int64_t number_max = INT64_C(1) << 62;

struct psr_frame_order {
    struct psr_frame_order_desc d;
    struct psr_frame_counts counts;
    bool started;
    int64_t next, end; /* positions: given out next; after the highest put */
    int64_t floor;     /* after the last jump: frames below it have other numbers */
    int64_t shift;     /* number of position 0 */
    int64_t given_up;  /* positions below are not waited for */
    struct {
        bool pending; /* at position floor, not given out yet */
        bool restart;
        int64_t lost;
        int64_t shift; /* before it */
    } jump;
    struct psr_own own;
    bool dropping;        /* until there is room again */
    unsigned char *frame; /* [room] slots */
    size_t *slot;         /* [room] of position p at p % room */
    size_t
        *spare; /* [nspare] free slots; the last one freed is taken first, so that few are used */
    size_t nspare;
    double now_s;
    double *arrival_s; /* [room] when the frame in a slot came */
    int64_t *position; /* [room] last one at p % room that had a frame; -1: none */
    struct {
        size_t n, age; /* age: frames in place since the first, at most CONFIRM */
        int64_t number[CONFIRM];
        unsigned char *frame; /* [CONFIRM] */
    } strange;
};

psr_status psr_frame_order_create(psr_frame_order **out, const struct psr_frame_order_desc *desc,
                                  psr_err *err)
{
    *out = NULL;
    if (desc->frame_bytes < 1)
        return psr_fail_field(err, PSR_EINVAL, "frame_bytes", "frames of 0 bytes");
    if (desc->window < 1)
        return psr_fail_field(err, PSR_EINVAL, "window", "a window of 0 frames, must be 1 or more");
    if (desc->room / 2 < desc->window || desc->room < CONFIRM ||
        desc->room > SIZE_MAX / 2 / desc->frame_bytes)
        return psr_fail_field(err, PSR_EINVAL, "room", "room for %zu frames, must be %zu or more",
                              desc->room, 2 * desc->window > CONFIRM ? 2 * desc->window : CONFIRM);

    psr_frame_order *o = calloc(1, sizeof *o);
    if (!o)
        return psr_fail_nomem(err, "the order of frames", sizeof *o);
    o->d = *desc;
    o->frame = psr_own(&o->own, desc->room, desc->frame_bytes);
    o->slot = psr_own(&o->own, desc->room, sizeof *o->slot);
    o->spare = psr_own(&o->own, desc->room, sizeof *o->spare);
    o->position = psr_own(&o->own, desc->room, sizeof *o->position);
    o->arrival_s = psr_own(&o->own, desc->room, sizeof *o->arrival_s);
    o->strange.frame = psr_own(&o->own, CONFIRM, desc->frame_bytes);
    psr_status st = psr_own_check(&o->own, "frames to be put in order", err);
    if (st) {
        psr_frame_order_destroy(o);
        return st;
    }
    for (size_t i = 0; i < desc->room; i++) {
        o->position[i] = -1;
        o->slot[i] = i;
        o->spare[i] = desc->room - 1 - i;
    }
    o->nspare = desc->room;
    *out = o;
    return PSR_OK;
}

void psr_frame_order_destroy(psr_frame_order *o)
{
    if (!o)
        return;
    psr_own_free(&o->own);
    free(o);
}

/* --- frames that come ------------------------------------------------------------------------- */

static size_t place_of(const psr_frame_order *o, int64_t position)
{
    return (size_t)(position % (int64_t)o->d.room);
}

static bool is_there(const psr_frame_order *o, int64_t position)
{
    return position >= 0 && o->position[place_of(o, position)] == position;
}

/* So that what is missing is few long blocks, and not many short ones. */
static bool has_room(psr_frame_order *o, int64_t position)
{
    const int64_t room = (int64_t)o->d.room, left = o->next + room - position;
    if (o->dropping ? left > room / 16 : left > 0) {
        o->dropping = false;
        return true;
    }
    o->counts.drops += !o->dropping;
    o->counts.dropped++;
    o->dropping = true;
    return false;
}

/* A frame without room will be lost when its turn comes. */
static void place(psr_frame_order *o, int64_t position, const void *frame)
{
    const size_t at = place_of(o, position);
    const int64_t end = position >= o->end ? position + 1 : o->end;
    const bool kept = has_room(o, position);
    o->end = end;
    if (!kept)
        return;
    o->slot[at] = o->spare[--o->nspare];
    memcpy(o->frame + o->slot[at] * o->d.frame_bytes, frame, o->d.frame_bytes);
    o->arrival_s[o->slot[at]] = o->now_s;
    o->position[at] = position;
    o->counts.accepted++;
}

static void forget_strange(psr_frame_order *o)
{
    o->counts.rejected += (int64_t)o->strange.n;
    o->strange.n = o->strange.age = 0;
}

static bool has_strange(const psr_frame_order *o, int64_t number)
{
    for (size_t i = 0; i < o->strange.n; i++)
        if (o->strange.number[i] == number)
            return true;
    return false;
}

static void put_strange(psr_frame_order *o, int64_t number, const void *frame)
{
    const int64_t near = (int64_t)(o->d.window > NEAR ? o->d.window : NEAR);
    if (o->strange.n && llabs(number - o->strange.number[o->strange.n - 1]) >= near)
        forget_strange(o);
    if (has_strange(o, number)) {
        o->counts.duplicate++;
        return;
    }
    o->strange.number[o->strange.n] = number;
    memcpy(o->strange.frame + o->strange.n * o->d.frame_bytes, frame, o->d.frame_bytes);
    if (++o->strange.n < CONFIRM)
        return;
    if (o->jump.pending)
        forget_strange(o);
    else {
        /* The strange frames are the stream: it goes on with them at the next position. */
        int64_t lowest = o->strange.number[0];
        for (size_t i = 1; i < o->strange.n; i++)
            lowest = o->strange.number[i] < lowest ? o->strange.number[i] : lowest;
        const int64_t missing = lowest - (o->end + o->shift);
        const bool restart = missing < 0 || (o->d.most_lost && missing > o->d.most_lost);
        o->jump.pending = true;
        o->jump.restart = restart;
        o->jump.lost = restart ? 0 : missing;
        o->counts.jumps += !restart;
        o->counts.restarts += restart;
        o->jump.shift = o->shift;
        o->floor = o->given_up = o->end;
        o->shift = lowest - o->end;
        for (size_t i = 0; i < o->strange.n; i++)
            place(o, o->strange.number[i] - o->shift, o->strange.frame + i * o->d.frame_bytes);
        o->strange.n = o->strange.age = 0;
    }
}

/* The stream begins with this number; otherwise with that of the first frame put. */
static void frame_order_begin(psr_frame_order *o, int64_t number)
{
    o->shift = number;
    o->started = true;
}

void psr_frame_order_clock(psr_frame_order *o, double now_s)
{
    o->now_s = now_s;
}

void psr_frame_order_put(psr_frame_order *o, int64_t number, const void *frame)
{
    if (number < 0 || number > number_max) {
        o->counts.rejected++;
        return;
    }
    if (!o->started)
        frame_order_begin(o, number);
    const int64_t position = number - o->shift;
    const bool ahead = position >= o->end + (int64_t)o->d.window;
    const bool behind = position < o->next - (int64_t)o->d.room;
    if (ahead || behind)
        put_strange(o, number, frame);
    else {
        if (o->strange.n && ++o->strange.age > CONFIRM)
            forget_strange(o);
        if (position >= o->floor && is_there(o, position))
            o->counts.duplicate++;
        else if (position < o->floor || position < o->next)
            o->counts.late++;
        else
            place(o, position, frame);
    }
}

void psr_frame_order_give_up(psr_frame_order *o)
{
    o->given_up = o->end;
}

/* --- frames given out ------------------------------------------------------------------------- */

/* Where what is known ends: at the highest frame put, or at a jump. */
static int64_t stop_of(const psr_frame_order *o)
{
    return o->jump.pending ? o->floor : o->end;
}

static struct psr_frame_run take_lost(psr_frame_order *o)
{
    const int64_t window = (int64_t)o->d.window, stop = stop_of(o),
                  sure = o->end - window > o->given_up ? o->end - window : o->given_up;
    struct psr_frame_run run = {0};
    while (o->next < stop && o->next < sure && !is_there(o, o->next)) {
        o->next++;
        run.lost++;
    }
    o->counts.lost += run.lost;
    return run;
}

static struct psr_frame_run take_run(psr_frame_order *o, size_t n, void *frames)
{
    const size_t bytes = o->d.frame_bytes;
    struct psr_frame_run run = {0};
    if (o->jump.pending && o->next == o->floor) {
        run.lost = o->jump.lost;
        run.restart = o->jump.restart;
        o->jump.pending = false;
        o->counts.lost += run.lost;
        if (run.lost || run.restart)
            return run;
    }
    const int64_t stop = stop_of(o);
    for (; run.n < n && o->next < stop && is_there(o, o->next); run.n++, o->next++) {
        const size_t slot = o->slot[place_of(o, o->next)];
        memcpy((unsigned char *)frames + run.n * bytes, o->frame + slot * bytes, bytes);
        run.arrival_s = run.n == 0 ? o->arrival_s[slot] : run.arrival_s;
        o->spare[o->nspare++] = slot;
    }
    return run.n ? run : take_lost(o);
}

struct psr_frame_run psr_frame_order_take(psr_frame_order *o, size_t n, void *frames)
{
    struct psr_frame_run run = take_run(o, n, frames);
    run.next = psr_frame_order_next(o);
    return run;
}

int64_t psr_frame_order_next(const psr_frame_order *o)
{
    return o->next + (o->jump.pending ? o->jump.shift : o->shift);
}

struct psr_frame_counts psr_frame_order_counts(const psr_frame_order *o)
{
    return o->counts;
}

/* --- receives the datagrams of a stream in a thread of its own -------------------------------- */

enum { BATCH = 64, CONTROL_BYTES = 64, WINDOW = 256, PSR_UDP_ROOM = 16, WAIT_MS = 100 };
static const int64_t default_room = 256 << 20;
static const double after_end_s = 0.1; /* packets may come after the end was announced */
static const double report_s = 10;     /* from one report of foreign packets to the next */
static const double patience_s = 2;    /* after which it is said that no stream has begun */

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
    double now_s;   /* when the batch came that is sorted */
    double first_s; /* when the first packet came; 0: none yet */
    double last_s;  /* when a packet of the stream came; 0: none yet */
    double end_s;   /* when its end was announced; 0: not yet */
    struct psr_udp_address from,
        foreign; /* the only sender, if there is one; that of the last foreign packet */
    size_t foreign_bytes;
    /* of the thread */
    struct mmsghdr message[BATCH];
    struct iovec part[BATCH];
    struct sockaddr_storage sender[BATCH];
    _Alignas(struct cmsghdr) char control[BATCH][CONTROL_BYTES];
    unsigned char *packet; /* [BATCH][PSR_UDP_PACKET_MAX] */
    /* of who waits */
    double reported_s; /* 0: never */
    int64_t reported;  /* foreign packets */
    double waited_s;   /* when it was said that no stream has begun; 0: never */
};

/* --- the thread ------------------------------------------------------------------------------- */

static void wake_reader(psr_udp_receiver *r)
{
    const uint64_t one = 1;
    if (r->waiting && write(r->wake, &one, sizeof one) == (ssize_t)sizeof one)
        r->waiting = false;
}

static void sort_packet(psr_udp_receiver *r, size_t i)
{
    const struct msghdr *m = &r->message[i].msg_hdr;
    const struct psr_udp_address from =
        m->msg_namelen ? psr_udp_address_of(m->msg_name) : (struct psr_udp_address){.n = 0};
    const size_t n = r->message[i].msg_len;
    int64_t number = 0;
    const unsigned char *frame = NULL;
    r->counts.packets++;
    r->first_s = r->first_s > 0 ? r->first_s : r->now_s;
    if (r->from.n && (r->from.n != from.n || memcmp(r->from.bytes, from.bytes, from.n))) {
        r->counts.elsewhere++;
        return;
    }
    const enum psr_udp_what what =
        m->msg_flags & MSG_TRUNC ? PSR_UDP_FOREIGN
                                 : r->d.sort(r->d.ctx, r->part[i].iov_base, n, &number, &frame);
    if (what == PSR_UDP_FOREIGN) {
        r->counts.foreign++;
        r->foreign = from;
        r->foreign_bytes = n;
    } else {
        r->last_s = r->now_s;
    }
    if (what == PSR_UDP_FRAME)
        psr_udp_put(r, number, frame, r->now_s);
    if (what == PSR_UDP_END && r->end_s == 0)
        r->end_s = r->now_s;
}

/* Takes what the socket has.  Returned: packets, 0 or less if there are none */
static int take_batch(psr_udp_receiver *r)
{
    for (size_t i = 0; i < BATCH; i++)
        r->message[i].msg_hdr = (struct msghdr){.msg_name = &r->sender[i],
                                                .msg_namelen = sizeof r->sender[i],
                                                .msg_iov = &r->part[i],
                                                .msg_iovlen = 1,
                                                .msg_control = r->control[i],
                                                .msg_controllen = CONTROL_BYTES};
    const int n = recvmmsg(r->fd, r->message, BATCH, MSG_DONTWAIT, NULL);
    const int why = errno;
    pthread_mutex_lock(&r->lock);
    r->now_s = psr_seconds();
    for (int i = 0; i < n; i++) {
        /* The kernel counts what it could not keep since the socket was opened. */
        for (struct cmsghdr *c = CMSG_FIRSTHDR(&r->message[i].msg_hdr); c;
             c = CMSG_NXTHDR(&r->message[i].msg_hdr, c)) {
            uint32_t lost;
            if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SO_RXQ_OVFL)
                continue;
            memcpy(&lost, CMSG_DATA(c), sizeof lost);
            r->counts.overflowed = lost;
        }
        sort_packet(r, (size_t)i);
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

/* What is held may begin the stream, before it ends. */
static void end_stream(psr_udp_receiver *r)
{
    if (!r->ended && r->d.settle)
        r->d.settle(r->d.ctx);
    if (r->order)
        psr_frame_order_give_up(r->order);
    r->ended = true;
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
        /* When nothing comes, what is out of order is not waited for; nor is the stream, in the end. */
        const bool silent = !some;
        const double now_s = psr_seconds();
        pthread_mutex_lock(&r->lock);
        const bool over = r->end_s > 0 && now_s - fmax(r->end_s, r->last_s) > after_end_s,
                   idle = r->name.idle_s > 0 && r->last_s > 0 && now_s - r->last_s > r->name.idle_s;
        if (r->order && silent)
            psr_frame_order_give_up(r->order);
        if (over || idle)
            end_stream(r);
        wake_reader(r);
        pthread_mutex_unlock(&r->lock);
    }
    return NULL;
}

/* --- beginning and end ------------------------------------------------------------------------ */

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
    /* Signals are for the threads of the program. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    r->threaded = !pthread_create(&r->thread, NULL, receive, r);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return r->threaded ? PSR_OK : psr_fail(err, PSR_ENOMEM, "no thread to receive packets");
}

psr_status psr_udp_receive(psr_udp_receiver **out, const struct psr_udp_desc *desc, psr_err *err)
{
    *out = NULL;
    psr_udp_receiver *r = calloc(1, sizeof *r);
    if (!r)
        return psr_fail_nomem(err, "a receiver", sizeof *r);
    r->d = *desc;
    r->name = *desc->name;
    if (*r->name.from && psr_udp_parse_address(&r->from, r->name.from, NULL))
        r->from.n = 0; /* as parsed before */
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

psr_status psr_udp_set_frames(psr_udp_receiver *r, size_t frame_bytes, int64_t most_lost,
                              psr_err *err)
{
    const int64_t bytes = r->name.room ? r->name.room : default_room;
    const size_t window = (size_t)psr_udp_window(r), most = (size_t)(bytes / (int64_t)frame_bytes),
                 least = 2 * window > PSR_UDP_ROOM ? 2 * window : PSR_UDP_ROOM;
    return psr_frame_order_create(
        &r->order,
        &(struct psr_frame_order_desc){.frame_bytes = frame_bytes,
                                       .window = window,
                                       .most_lost = most_lost,
                                       .room = most > least ? most : least},
        err);
}

void psr_udp_put(psr_udp_receiver *r, int64_t number, const void *frame, double arrival_s)
{
    if (!r->order)
        return;
    psr_frame_order_clock(r->order, arrival_s);
    psr_frame_order_put(r->order, number, frame);
}

void psr_udp_add_foreign(psr_udp_receiver *r, size_t n)
{
    r->counts.foreign += (int64_t)n;
}

int64_t psr_udp_end(const psr_udp_receiver *r)
{
    /* Number after the highest that was put in place. */
    return r->order->end + r->order->shift;
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
    frame_order_begin(r->order, number);
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
    end_stream(r);
    return true;
}

/* Foreign packets are no part of a stream that may never come: who waits for it is told.  Called, and returns, with
 * the lock. */
static void report_foreign(psr_udp_receiver *r)
{
    const double now_s = psr_seconds();
    const int64_t rejected = r->order ? psr_frame_order_counts(r->order).rejected : 0,
                  all = r->counts.foreign + rejected;
    const size_t bytes = r->foreign_bytes;
    char from[INET6_ADDRSTRLEN], last[128] = "";
    if (all == r->reported || (r->reported_s > 0 && now_s - r->reported_s < report_s))
        return;
    r->reported = all;
    r->reported_s = now_s;
    const struct psr_udp_address *a = &r->foreign;
    if (!a->n || !inet_ntop(a->n == 4 ? AF_INET : AF_INET6, a->bytes, from, INET6_ADDRSTRLEN))
        strcpy(from, "an unknown address");
    if (bytes > 0)
        snprintf(last, sizeof last, ", the last of %zu bytes from %s", bytes, from);
    pthread_mutex_unlock(&r->lock);
    psr_note(&r->d.notes, "%s: %lld packets are no part of the stream so far%s", r->d.path,
             (long long)all, last);
    pthread_mutex_lock(&r->lock);
}

/* Packets that come for a while and make no stream would otherwise be waited for in silence.  Called, and returns,
 * with the lock. */
static void report_waiting(psr_udp_receiver *r)
{
    const double now_s = psr_seconds();
    const int64_t packets = r->counts.packets;
    if (r->order || r->first_s == 0 || now_s - r->first_s < patience_s ||
        (r->waited_s > 0 && now_s - r->waited_s < report_s))
        return;
    r->waited_s = now_s;
    pthread_mutex_unlock(&r->lock);
    psr_note(&r->d.notes,
             "%s: %lld packets in %.0f s, but no stream yet: 16 of 32 must be of one, and its "
             "header must have come",
             r->d.path, (long long)packets, now_s - r->first_s);
    pthread_mutex_lock(&r->lock);
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
    report_foreign(r);
    report_waiting(r);
    return st;
}

static psr_status status_of(const psr_udp_receiver *r, psr_err *err)
{
    if (r->status && err)
        *err = r->err;
    return r->status;
}

static psr_status begin_of(const psr_udp_receiver *r, const struct psr_udp_beginning *b,
                           const char *path, psr_err *err)
{
    if (!b->ready)
        return psr_fail(err, PSR_EIO,
                        "%s: the stream ended before it began: of %lld packets too few are of one",
                        path, (long long)r->counts.packets);
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
        st = begin_of(r, b, path, err);
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
