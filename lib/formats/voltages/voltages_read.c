/* Reading voltages: memory copies one file's pages slower than several threads do, so that they
 * share blocks slice by slice, and go on to the next block while the slowest of them ends its own.
 */
#include "voltages.h"

#include "base/input/readfd.h"
#include "base/path.h"
#include "formats/dada/dada_internal.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SLICE_BYTES = 1 << 20 }; /* read by one thread at a time */

/* A block being read. */
struct block {
    size_t index;
    char *to;
    size_t got;  /* bytes of it that are assigned to a thread */
    int pending; /* pending slices, plus 1 while more may follow */
};

struct pump {
    struct psr_voltages *v;
    const struct psr_voltages_sink *sink;
    size_t want;             /* bytes of a block */
    pthread_mutex_t claim;   /* of the place in the input, and of: */
    struct block *now;       /* the one that slices are claimed of */
    size_t nblock;           /* begun */
    pthread_mutex_t account; /* of slices pending, of users of files, and of: */
    bool ended;
    psr_status status; /* of the first failure */
    psr_err err;
};

/* A thread's share: of the open file, or, without one, of a gap. */
struct slice {
    struct block *block;
    char *to;
    size_t n;
    struct voltages_file *file;
    const struct voltages_part *part;
    int64_t from;
};

static void stop(struct pump *p, psr_status st, const psr_err *err)
{
    pthread_mutex_lock(&p->account);
    p->ended = true;
    if (st && !p->status) {
        p->status = st;
        p->err = *err;
    }
    pthread_mutex_unlock(&p->account);
}

static bool has_ended(struct pump *p)
{
    pthread_mutex_lock(&p->account);
    bool ended = p->ended;
    pthread_mutex_unlock(&p->account);
    return ended;
}

/* --- claiming --------------------------------------------------------------------------------- */

/* One slice of a block less is pending; the last gives it away, unless it is empty. */
static void leave_block(struct pump *p, struct block *b, struct voltages_file *file)
{
    pthread_mutex_lock(&p->account);
    psr_voltages_drop(file);
    const bool last = --b->pending == 0, fine = !p->status;
    pthread_mutex_unlock(&p->account);
    if (!last)
        return;
    if (b->got > 0 || !fine)
        p->sink->full(p->sink->ctx, b->index, fine ? b->got / p->v->sample_bytes : 0);
    free(b);
}

static void enter_block(struct pump *p, struct block *b, struct voltages_file *file)
{
    pthread_mutex_lock(&p->account);
    b->pending++;
    if (file)
        file->users++;
    pthread_mutex_unlock(&p->account);
}

/* Returned: false where there is no room, or no memory to note the block */
static bool begin_block(struct pump *p)
{
    psr_err err;
    char *to = p->sink->room(p->sink->ctx, p->nblock);
    if (!to)
        return false;
    p->now = calloc(1, sizeof *p->now);
    if (!p->now) {
        stop(p, psr_fail_nomem(&err, "a block", sizeof *p->now), &err);
        return false;
    }
    *p->now = (struct block){.index = p->nblock++, .to = to, .pending = 1};
    return true;
}

/* Goes to the next file where one is at its end. */
static bool open_next(struct pump *p)
{
    struct psr_voltages *v = p->v;
    psr_err err;
    if (v->owed > 0 || v->done < v->part[v->now].bytes || v->now + 1 == v->npart)
        return true;
    pthread_mutex_lock(&p->account); /* of the users of the file that is left */
    psr_status st = psr_voltages_open_part(v, v->now + 1, &err);
    pthread_mutex_unlock(&p->account);
    if (st)
        stop(p, st, &err);
    return !st;
}

/* Takes up to SLICE_BYTES of whatever comes next; none at the end of the input. */
static void cut_slice(struct pump *p, struct slice *s)
{
    struct psr_voltages *v = p->v;
    const struct voltages_part *part = v->part + v->now;
    const bool gap = v->owed > 0;
    const int64_t left = gap ? v->owed : part->bytes - v->done;
    const size_t room = p->want - p->now->got, most = room < SLICE_BYTES ? room : SLICE_BYTES;
    *s = (struct slice){.block = p->now,
                        .to = p->now->to + p->now->got,
                        .n = left < (int64_t)most ? (size_t)left : most,
                        .file = gap ? NULL : v->file,
                        .part = part,
                        .from = part->h.header_bytes + v->done};
    *(gap ? &v->owed : &v->done) += gap ? -(int64_t)s->n : (int64_t)s->n;
    p->now->got += s->n;
}

/* Returned: false where there is nothing more to do; s->n is 0 where there is no room for *lacks */
static bool claim_slice(struct pump *p, struct slice *s, size_t *lacks)
{
    s->n = 0;
    pthread_mutex_lock(&p->claim);
    if (!has_ended(p) && (p->now || begin_block(p)) && open_next(p)) {
        cut_slice(p, s);
        if (s->n > 0)
            enter_block(p, p->now, s->file);
        else
            stop(p, PSR_OK, NULL);
    }
    if (p->now && (p->now->got == p->want || has_ended(p))) {
        leave_block(p, p->now, NULL);
        p->now = NULL;
    }
    *lacks = p->nblock;
    pthread_mutex_unlock(&p->claim);
    return s->n > 0 || !has_ended(p);
}

/* --- reading ---------------------------------------------------------------------------------- */

static psr_status read_slice(const struct slice *s, psr_err *err)
{
    ssize_t got = psr_read_at(s->file->fd, s->to, s->n, s->from);
    if (got < 0)
        return psr_fail_errno(err, "%s", s->part->path);
    if ((size_t)got < s->n)
        return psr_fail(err, PSR_EIO, "%s: became shorter while it was read", s->part->path);
    return PSR_OK;
}

/* Lets the sink do other work, and wait for room.  Returned: false to end the reading */
static bool should_continue(const struct psr_voltages_sink *sink, bool idle, size_t i)
{
    return sink->between ? sink->between(sink->ctx, idle, i) : !idle;
}

static void read_slices(struct pump *p)
{
    struct slice s = {.n = 1};
    size_t lacks = 0;
    psr_err err;
    while (should_continue(p->sink, s.n == 0, lacks) && claim_slice(p, &s, &lacks)) {
        psr_status st = PSR_OK;
        if (s.n == 0)
            continue;
        if (s.file)
            st = read_slice(&s, &err);
        else /* where voltages are missing */
            memset(s.to, p->v->part[0].h.nibbles.offset_binary ? 0x88 : 0, s.n);
        if (st)
            stop(p, st, &err);
        leave_block(p, s.block, s.file);
    }
}

static psr_status read_files(struct psr_voltages *v, size_t want,
                             const struct psr_voltages_sink *sink, psr_err *err)
{
    struct pump p = {.v = v, .sink = sink, .want = want};
    const int nthread = want > 2 * SLICE_BYTES ? v->nthread : 1;
    (void)nthread; /* without OpenMP */
    if (pthread_mutex_init(&p.claim, NULL))
        return psr_fail_nomem(err, "a lock", sizeof p.claim);
    if (pthread_mutex_init(&p.account, NULL)) {
        pthread_mutex_destroy(&p.claim);
        return psr_fail_nomem(err, "a lock", sizeof p.account);
    }
#pragma omp parallel num_threads(nthread)
    read_slices(&p);
    free(p.now);
    pthread_mutex_destroy(&p.account);
    pthread_mutex_destroy(&p.claim);
    if (p.status)
        *err = p.err;
    return p.status;
}

/* Waits for what a pipe may never bring.  Returned: false to end the reading */
static bool await_input(int fd, const struct psr_voltages_sink *sink, size_t i)
{
    enum { WAIT_MS = 100 };
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    while (sink->between && poll(&ready, 1, WAIT_MS) <= 0)
        if (!should_continue(sink, false, i))
            return false;
    return true;
}

/* Returned: *got of the n bytes of block i, fewer where the input ends; *on, false to end the
 *           reading */
static psr_status fill_block(const struct psr_voltages *v, const struct psr_voltages_sink *sink,
                             size_t i, char *to, size_t n, size_t *got, bool *on, psr_err *err)
{
    const int fd = v->file->fd;
    *got = 0;
    while (*got < n && (*on = await_input(fd, sink, i))) {
        ssize_t more = psr_read_some(fd, to + *got, n - *got);
        if (more < 0 && errno == EINTR && sink->between)
            continue;
        if (more < 0)
            return psr_fail_errno(err, "%s", psr_path_called(v->part[0].path));
        if (more == 0)
            break;
        *got += (size_t)more;
    }
    return PSR_OK;
}

static psr_status read_stream(struct psr_voltages *v, size_t want,
                              const struct psr_voltages_sink *sink, psr_err *err)
{
    const char *name = psr_path_called(v->part[0].path);
    size_t got = want;
    bool on = true;
    for (size_t i = 0; got == want; i++) {
        char *to = NULL;
        bool idle = false;
        while (should_continue(sink, idle, i) && !(to = sink->room(sink->ctx, i)))
            idle = true;
        if (!to)
            break;
        psr_status st = fill_block(v, sink, i, to, want, &got, &on, err);
        if (st || !on)
            return st;
        v->done += (int64_t)got;
        if (got < want)
            psr_voltages_note_cut(v, name, v->done, (int64_t)v->sample_bytes);
        if (got / v->sample_bytes > 0)
            sink->full(sink->ctx, i, got / v->sample_bytes);
    }
    return PSR_OK;
}

psr_status psr_voltages_pump(psr_voltages *v, size_t nt, const struct psr_voltages_sink *sink,
                             psr_err *err)
{
    const size_t want = nt * v->sample_bytes;
    if (want == 0)
        return PSR_OK;
    return v->stream ? read_stream(v, want, sink, err) : read_files(v, want, sink, err);
}

/* --- one block -------------------------------------------------------------------------------- */

struct one_block {
    void *to;
    size_t *nread;
};

static void *emit_once(void *ctx, size_t i)
{
    const struct one_block *b = ctx;
    return i == 0 ? b->to : NULL;
}

static void take_count(void *ctx, size_t i, size_t nt)
{
    const struct one_block *b = ctx;
    (void)i;
    *b->nread = nt;
}

psr_status psr_voltages_read(psr_voltages *v, size_t nt, void *block, size_t *nread, psr_err *err)
{
    struct one_block one = {.to = block, .nread = nread};
    const struct psr_voltages_sink sink = {&one, emit_once, take_count, NULL};
    *nread = 0;
    psr_status st = psr_voltages_pump(v, nt, &sink, err);
    if (st)
        *nread = 0;
    return st;
}
