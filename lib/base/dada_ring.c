/* Moves bytes between psrdada's ring buffers and pipes. */
#include <config.h>

#include "dada_ring.h"

#include <string.h>

static const char scheme[] = "dada://";

bool psr_dada_ring_is_name(const char *path)
{
    return !strncmp(path, scheme, sizeof scheme - 1);
}

#ifdef HAVE_PSRDADA

#include <dada_hdu.h>

#include "readfd.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/shm.h>
#include <unistd.h>

enum { PIPE_BYTES = 1 << 20, HEADER_MAX = 1 << 20, KEY_DIGITS = 8 };

struct psr_dada_ring {
    char name[64];
    int fd; /* the thread's end of the pipe */
    multilog_t *log;
    dada_hdu_t *hdu;
    bool locked;
    pthread_t thread;
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

/* Starts a thread beside a pipe, whose other end is *fd.  Signals are for the threads of the program. */
static psr_status start(psr_dada_ring *r, bool writes, void *(*move)(void *), int *fd, psr_err *err)
{
    int ends[2];
    sigset_t all, before;
    if (pipe2(ends, O_CLOEXEC))
        return psr_fail_errno(err, "%s: no pipe", r->name);
    (void)fcntl(ends[0], F_SETPIPE_SZ, PIPE_BYTES);
    r->fd = ends[writes ? 0 : 1];
    *fd = ends[writes ? 1 : 0];
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failed = pthread_create(&r->thread, NULL, move, r);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!failed)
        return PSR_OK;
    close(*fd);
    *fd = -1;
    return psr_fail(err, PSR_ENOMEM, "%s: no thread", r->name);
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

static bool move_block(psr_dada_ring *r)
{
    uint64_t n, which;
    ipcio_t *data = r->hdu->data_block;
    if (ipcbuf_eod(&data->buf))
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
    if (!dada_hdu_open(r->hdu) && put(r->fd, r->hdu->header, r->hdu->header_size))
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
    st = start(r, false, move_out, fd, err);
    if (st)
        free_ring(r, false);
    else
        pthread_detach(r->thread);
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

static psr_status write_header(psr_dada_ring *r)
{
    enum { LEAST = 4096 };
    ipcbuf_t *block = r->hdu->header_block;
    const uint64_t room = ipcbuf_get_bufsz(block);
    char *header = ipcbuf_get_next_write(block);
    if (!header || room < LEAST)
        return psr_fail(&r->err, PSR_EIO, "%s: no header block of %d bytes or more", r->name,
                        (int)LEAST);
    memset(header, 0, room);
    if (take(r->fd, header, LEAST) < LEAST)
        return psr_fail(&r->err, PSR_EFORMAT, "%s: no DADA header was written", r->name);
    const char *text = strstr(header, "HDR_SIZE");
    const unsigned long bytes = text ? strtoul(text + 8, NULL, 10) : 0;
    if (bytes < LEAST || bytes > room)
        return psr_fail(&r->err, PSR_EFORMAT,
                        "%s: HDR_SIZE %lu, must be %d to %llu, the ring's header block", r->name,
                        bytes, (int)LEAST, (unsigned long long)room);
    if (take(r->fd, header + LEAST, bytes - LEAST) < bytes - LEAST)
        return psr_fail(&r->err, PSR_EFORMAT, "%s: the DADA header is cut", r->name);
    return ipcbuf_mark_filled(block, bytes) < 0
               ? psr_fail(&r->err, PSR_EIO, "%s: the header is not taken", r->name)
               : PSR_OK;
}

static psr_status write_data(psr_dada_ring *r)
{
    char *bytes = malloc(PIPE_BYTES);
    psr_status st = bytes ? PSR_OK : psr_fail_nomem(&r->err, r->name, PIPE_BYTES);
    for (size_t n = 1; n > 0 && !st;) {
        n = take(r->fd, bytes, PIPE_BYTES);
        if (n > 0 && ipcio_write(r->hdu->data_block, bytes, n) != (ssize_t)n)
            st = psr_fail(&r->err, PSR_EIO, "%s: the ring does not take %zu bytes", r->name, n);
    }
    free(bytes);
    return st;
}

static void *move_in(void *arg)
{
    psr_dada_ring *r = arg;
    r->status = write_header(r);
    if (!r->status)
        r->status = write_data(r);
    close(r->fd); /* who still writes learns that nobody reads */
    r->fd = -1;
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
    st = start(r, true, move_in, fd, err);
    if (st)
        free_ring(r, true);
    else
        *out = r;
    return st;
}

psr_status psr_dada_ring_finish(psr_dada_ring *r, psr_err *err)
{
    if (!r)
        return PSR_OK;
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

psr_status psr_dada_ring_finish(psr_dada_ring *r, psr_err *err)
{
    (void)r;
    (void)err;
    return PSR_OK;
}

#endif
