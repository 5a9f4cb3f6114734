/* Moves bytes between psrdada's ring buffers and pipes. */
#include <config.h>

#include "dada_ring.h"

#include <stdlib.h>
#include <string.h>

static const char scheme[] = "dada://";

bool psr_dada_ring_is_name(const char *path)
{
    return !strncmp(path, scheme, sizeof scheme - 1);
}

unsigned long psr_dada_ring_key(const char *path)
{
    return strtoul(path + sizeof scheme - 1, NULL, 16);
}

#ifdef HAVE_PSRDADA

#include <ascii_header.h>
#include <dada_hdu.h>

#include "readfd.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/shm.h>
#include <unistd.h>

/* WAIT_MS is how often a ring is looked at: psrdada itself waits without an end. */
enum { PIPE_BYTES = 1 << 20, HEADER_MIN = 4096, KEY_DIGITS = 8, WAIT_MS = 5 };

struct psr_dada_ring {
    char name[64];
    int fd; /* the thread's end of the pipe */
    multilog_t *log;
    dada_hdu_t *hdu;
    bool locked;
    /* of a writer */
    pthread_t thread;
    atomic_bool stop; /* what has not been taken is dropped */
    sem_t ended;      /* by the thread */
    uint64_t filled;  /* bytes of the block that is written to */
    psr_status status;
    psr_err err;
};

/* --- beginning and end ------------------------------------------------------------------------ */

static psr_status parse_key(const char *path, key_t *key, psr_err *err)
{
    const char *text = path + sizeof scheme - 1;
    char *end;
    const unsigned long value = strtoul(text, &end, 16);
    if (*text == '\0' || *end || strlen(text) > KEY_DIGITS + 2 || value > 0xfffffffe)
        return psr_fail_field(err, PSR_EINVAL, "key",
                              "%s: must be dada://KEY, up to 8 hexadecimal digits", path);
    *key = (key_t)value;
    /* psrdada would say so in lines of its own */
    if (shmget(*key, 0, 0) < 0 || shmget(*key + 1, 0, 0) < 0)
        return psr_fail_errno(err, "%s: no ring has this key", path);
    return PSR_OK;
}

static void free_ring(psr_dada_ring *r, bool writes)
{
    if (r->locked)
        (void)(writes ? dada_hdu_unlock_write(r->hdu) : dada_hdu_unlock_read(r->hdu));
    if (r->hdu)
        dada_hdu_destroy(r->hdu);
    if (r->log)
        multilog_close(r->log);
    if (r->fd >= 0)
        close(r->fd);
    sem_destroy(&r->ended);
    free(r);
}

/* Connects, as the reader or the writer. */
static psr_status open_ring(psr_dada_ring **out, const char *path, bool writes, psr_err *err)
{
    key_t key = 0;
    psr_status st = parse_key(path, &key, err);
    psr_dada_ring *r = st ? NULL : calloc(1, sizeof *r);
    if (!r)
        return st ? st : psr_fail_nomem(err, path, sizeof *r);
    snprintf(r->name, sizeof r->name, "%s", path);
    r->fd = -1;
    sem_init(&r->ended, 0, 0);
    r->log = multilog_open("psrkit", 0);
    r->hdu = dada_hdu_create(r->log);
    dada_hdu_set_key(r->hdu, key);
    r->locked = !dada_hdu_connect(r->hdu) &&
                !(writes ? dada_hdu_lock_write(r->hdu) : dada_hdu_lock_read(r->hdu));
    if (!r->locked) {
        st = psr_fail(err, PSR_EIO, "%s: cannot become the %s of the ring", path,
                      writes ? "writer" : "reader");
        free_ring(r, writes);
        return st;
    }
    *out = r;
    return PSR_OK;
}

/* Starts a thread beside a pipe, whose other end is *fd.  Signals are for the threads of the program.
 * Returned: *thread, which is detached if it reads the ring, and frees r at any time then */
static psr_status start(psr_dada_ring *r, bool writes, void *(*move)(void *), pthread_t *thread,
                        int *fd, psr_err *err)
{
    int ends[2];
    sigset_t all, before;
    pthread_attr_t how;
    if (pipe2(ends, O_CLOEXEC))
        return psr_fail_errno(err, "%s: no pipe", r->name);
    (void)fcntl(ends[0], F_SETPIPE_SZ, PIPE_BYTES);
    r->fd = ends[writes ? 0 : 1];
    *fd = ends[writes ? 1 : 0];
    pthread_attr_init(&how);
    pthread_attr_setdetachstate(&how, writes ? PTHREAD_CREATE_JOINABLE : PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failed = pthread_create(thread, &how, move, r);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&how);
    if (!failed)
        return PSR_OK;
    psr_status st = psr_fail(err, PSR_ENOMEM, "%s: no thread", r->name);
    close(*fd);
    *fd = -1;
    return st;
}

/* --- reading ---------------------------------------------------------------------------------- */

static bool put(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        const ssize_t done = write(fd, bytes, n);
        if (done < 0)
            return false; /* nobody reads any more */
        bytes += done;
        n -= (size_t)done;
    }
    return true;
}

/* Waits for a full block.
 * Returned: false if nobody reads the pipe any more, or the ring is gone */
static bool await_full(const psr_dada_ring *r, ipcbuf_t *ring)
{
    struct pollfd pipe = {.fd = r->fd};
    int64_t n;
    while ((n = (int64_t)ipcbuf_get_nfull_iread(ring, ring->iread)) == 0)
        if (poll(&pipe, 1, WAIT_MS) > 0)
            return false;
    return n > 0;
}

/* The next header block; those that are empty only end an earlier observation. */
static char *next_header(const psr_dada_ring *r)
{
    ipcbuf_t *ring = r->hdu->header_block;
    uint64_t n = 0;
    while (await_full(r, ring)) {
        char *header = ipcbuf_get_next_read(ring, &n);
        if (!header || n)
            return header;
        ipcbuf_mark_cleared(ring);
        if (ipcbuf_eod(ring))
            ipcbuf_reset(ring);
    }
    return NULL;
}

/* Returned: false if no data can follow; the reader of the pipe says what is wrong with HDR_SIZE then */
static bool send_header(psr_dada_ring *r)
{
    const char *header = next_header(r);
    const size_t room = header ? ipcbuf_get_bufsz(r->hdu->header_block) : 0;
    const size_t all = room > HEADER_MIN ? room : HEADER_MIN;
    uint64_t size = all;
    char *copy = header ? calloc(1, all + 1) : NULL;
    if (!copy)
        return false;
    memcpy(copy, header, room);
    if (ascii_header_get(copy, "HDR_SIZE", "%" PRIu64, &size) != 1 && strlen(copy) + 64 < all)
        (void)ascii_header_set(copy, "HDR_SIZE", "%" PRIu64, size);
    r->hdu->header = copy; /* it is marked as cleared at the end */
    const bool good = size >= HEADER_MIN && size <= all;
    return put(r->fd, copy, good ? size : all) && good;
}

static bool move_block(psr_dada_ring *r)
{
    uint64_t n, which;
    ipcio_t *data = r->hdu->data_block;
    if (ipcbuf_eod(&data->buf) || !await_full(r, &data->buf))
        return false;
    const char *block = ipcio_open_block_read(data, &n, &which);
    if (!block)
        return false;
    const bool more = put(r->fd, block, n);
    return ipcio_close_block_read(data, n) >= 0 && more;
}

static void *move_out(void *arg)
{
    psr_dada_ring *r = arg;
    if (send_header(r))
        while (move_block(r))
            continue;
    free_ring(r, false);
    return NULL;
}

psr_status psr_dada_ring_read(int *fd, const char *path, psr_err *err)
{
    psr_dada_ring *r = NULL;
    *fd = -1;
    psr_status st = open_ring(&r, path, false, err);
    if (st)
        return st;
    pthread_t thread;
    st = start(r, false, move_out, &thread, fd, err);
    if (st)
        free_ring(r, false);
    return st;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Fills n bytes; returned: how many, fewer at the end */
static size_t take(int fd, char *to, size_t n)
{
    size_t got = 0;
    for (ssize_t more = 1; got < n && more > 0; got += more > 0 ? (size_t)more : 0)
        more = psr_read_some(fd, to + got, n - got);
    return got;
}

/* Whether all readers have cleared the block that is next. */
static bool is_clear(ipcbuf_t *ring)
{
    const char wanted = ring->count[ring->sync->w_buf_next % ring->sync->nbufs];
    for (unsigned i = 0; i < ring->sync->n_readers; i++)
        if ((int64_t)ipcbuf_get_nclear_iread(ring, (int)i) < wanted)
            return false;
    return true;
}

static psr_status await_clear(psr_dada_ring *r, ipcbuf_t *ring)
{
    while (!atomic_load(&r->stop)) {
        if (is_clear(ring))
            return PSR_OK;
        poll(NULL, 0, WAIT_MS);
    }
    return psr_fail(&r->err, PSR_EIO, "%s: stopped while no reader takes data", r->name);
}

/* Reads the header from the pipe.
 * Returned: *header [*n], malloc'd, caller frees */
static psr_status take_header(psr_dada_ring *r, char **header, size_t *n)
{
    const uint64_t room = ipcbuf_get_bufsz(r->hdu->header_block);
    if (room < HEADER_MIN)
        return psr_fail(&r->err, PSR_EIO, "%s: header blocks of %llu bytes, must be %d or more",
                        r->name, (unsigned long long)room, (int)HEADER_MIN);
    if (!(*header = calloc(1, room + 1)))
        return psr_fail_nomem(&r->err, r->name, (double)room);
    if (take(r->fd, *header, HEADER_MIN) < HEADER_MIN)
        return psr_fail(&r->err, PSR_EFORMAT, "%s: no DADA header was written", r->name);
    const char *text = strstr(*header, "HDR_SIZE");
    *n = text ? strtoul(text + 8, NULL, 10) : 0;
    if (*n < HEADER_MIN || *n > room)
        return psr_fail(&r->err, PSR_EFORMAT,
                        "%s: HDR_SIZE %zu, must be %d to %llu, the ring's header block", r->name,
                        *n, (int)HEADER_MIN, (unsigned long long)room);
    if (take(r->fd, *header + HEADER_MIN, *n - HEADER_MIN) < *n - HEADER_MIN)
        return psr_fail(&r->err, PSR_EFORMAT, "%s: the DADA header is cut", r->name);
    return PSR_OK;
}

static psr_status announce_header(psr_dada_ring *r, const char *header, size_t n)
{
    ipcbuf_t *ring = r->hdu->header_block;
    psr_status st = await_clear(r, ring);
    char *block = st ? NULL : ipcbuf_get_next_write(ring);
    if (st)
        return st;
    if (block) {
        memset(block, 0, ipcbuf_get_bufsz(ring));
        memcpy(block, header, n);
    }
    return !block || ipcbuf_mark_filled(ring, n) < 0
               ? psr_fail(&r->err, PSR_EIO, "%s: the header is not taken", r->name)
               : PSR_OK;
}

/* A full block is announced only once there is another, so that the end can always be announced with it. */
static psr_status write_bytes(psr_dada_ring *r, char *bytes, size_t n)
{
    ipcio_t *data = r->hdu->data_block;
    const uint64_t room = ipcbuf_get_bufsz(&data->buf);
    psr_status st = PSR_OK;
    while (n > 0 && !st) {
        const size_t left = room - r->filled % room, part = n < left ? n : left;
        if (r->filled % room == 0)
            st = await_clear(r, &data->buf);
        if (!st && ipcio_write(data, bytes, part) != (ssize_t)part)
            st = psr_fail(&r->err, PSR_EIO, "%s: the ring does not take %zu bytes", r->name, part);
        r->filled += part;
        bytes += part;
        n -= part;
    }
    return st;
}

/* The header is announced with the first data: of what ends before, readers learn nothing. */
static psr_status move_stream(psr_dada_ring *r, char **header, char *bytes)
{
    size_t nheader = 0;
    psr_status st = take_header(r, header, &nheader);
    ssize_t n = st ? 0 : psr_read_some(r->fd, bytes, PIPE_BYTES);
    if (!st && n <= 0)
        st = psr_fail(&r->err, PSR_EFORMAT, "%s: no data follow the DADA header", r->name);
    if (!st)
        st = await_clear(r, &r->hdu->data_block->buf);
    if (!st)
        st = announce_header(r, *header, nheader);
    for (; !st && n > 0; n = st ? 0 : psr_read_some(r->fd, bytes, PIPE_BYTES))
        st = write_bytes(r, bytes, (size_t)n);
    return st;
}

static void *move_in(void *arg)
{
    psr_dada_ring *r = arg;
    char *header = NULL, *bytes = malloc(PIPE_BYTES);
    r->status = bytes ? move_stream(r, &header, bytes)
                      : psr_fail_nomem(&r->err, r->name, (double)PIPE_BYTES);
    free(header);
    free(bytes);
    close(r->fd); /* who still writes learns that nobody reads */
    r->fd = -1;
    sem_post(&r->ended);
    return NULL;
}

psr_status psr_dada_ring_write(psr_dada_ring **out, int *fd, const char *path, psr_err *err)
{
    psr_dada_ring *r = NULL;
    *out = NULL;
    *fd = -1;
    psr_status st = open_ring(&r, path, true, err);
    if (st)
        return st;
    st = start(r, true, move_in, &r->thread, fd, err);
    if (st)
        free_ring(r, true);
    else
        *out = r;
    return st;
}

psr_status psr_dada_ring_finish(psr_dada_ring *r, bool all, psr_err *err)
{
    if (!r)
        return PSR_OK;
    atomic_store(&r->stop, !all);
    while (sem_wait(&r->ended))
        atomic_store(&r->stop, true); /* a signal means that the program wants to stop */
    pthread_join(r->thread, NULL);
    const psr_status st = r->status;
    if (st && err)
        *err = r->err;
    free_ring(r, true);
    return st;
}

#else

static psr_status fail_absent(const char *path, psr_err *err)
{
    return psr_fail(err, PSR_EUNSUPPORTED,
                    "%s: this build has no psrdada (./configure --with-psrdada=DIR)", path);
}

psr_status psr_dada_ring_read(int *fd, const char *path, psr_err *err)
{
    *fd = -1;
    return fail_absent(path, err);
}

psr_status psr_dada_ring_write(psr_dada_ring **out, int *fd, const char *path, psr_err *err)
{
    *out = NULL;
    *fd = -1;
    return fail_absent(path, err);
}

psr_status psr_dada_ring_finish(psr_dada_ring *r, bool all, psr_err *err)
{
    (void)r;
    (void)all;
    (void)err;
    return PSR_OK;
}

#endif
