/* Reads a pipe in a thread of its own, and drops whole blocks where they are taken too slowly. */
#include "multi_file.h"

#include "base/base.h"
#include "base/threads/threads.h"
#include "formats/spectra/unpack.h"

#include "formats/dada/dada_internal.h"
#include "formats/spectra/spectra_reader.h"
#include <ctype.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Bytes that are read at once, or what comes in that time if it is less; gaps that the ring can have, of which a quarter
 * of it lies between any two. */
enum { PIECE_BYTES = 1 << 16, GAPS = 8 };
static const double piece_s = 0.01, report_s = 10;

struct gap {
    int64_t at, count; /* before the spectrum of the ring; spectra that are missing */
};

struct drop_reader {
    struct psr_reader base;
    struct psr_source_desc desc; /* as the caller gave it */
    char *path;
    struct psr_reader *inner; /* of the thread, once it runs */
    struct psr_monitor monitor;
    bool monitored;
    struct psr_async_task task;
    atomic_bool closing;
    size_t row_bytes, piece; /* spectra read at once */
    int64_t capacity;        /* spectra */
    unsigned char *ring;     /* [capacity][row_bytes] spectrum i is in row i % capacity */
    unsigned char *scrap;    /* [piece][row_bytes] for what is dropped */
    /* under the lock */
    int64_t next, end; /* spectra of the ring: given out next; after the last read */
    struct gap gap[GAPS];
    size_t ngap;
    bool dropping, ended;
    psr_status status;
    psr_err err;
    int64_t dropped, drops; /* spectra, and blocks of them */
    /* of the thread that takes spectra */
    double reported_s;
    int64_t reported;
};

/* --- the thread that reads -------------------------------------------------------------------- */

static bool must_stop(void *ctx)
{
    struct drop_reader *r = ctx;
    return atomic_load(&r->closing) ||
           (r->desc.should_stop && r->desc.should_stop(r->desc.stop_ctx));
}

/* Once there is no room, until a quarter of the ring is free: few long blocks, not many short ones. */
static void decide(struct drop_reader *r)
{
    const int64_t left = r->capacity - (r->end - r->next), piece = (int64_t)r->piece;
    if (r->dropping) {
        r->dropping = left < r->capacity / 4 + piece;
        return;
    }
    r->dropping = left < piece;
    if (r->dropping) {
        r->drops++;
        r->gap[r->ngap++] = (struct gap){.at = r->end};
    }
}

static psr_status read_pieces(void *ctx, psr_err *err)
{
    struct drop_reader *r = ctx;
    bool on = true;
    (void)err;
    while (on) {
        size_t n, nread = 0;
        int64_t missing = 0;
        psr_err why;
        /* Where the next spectra go, and how many do. */
        psr_monitor_enter(&r->monitor);
        decide(r);
        const size_t row = (size_t)(r->end % r->capacity), left = (size_t)r->capacity - row;
        const bool dropping = r->dropping;
        psr_monitor_leave(&r->monitor);
        n = dropping || r->piece < left ? r->piece : left;
        unsigned char *to = dropping ? r->scrap : r->ring + row * r->row_bytes;
        psr_status st = r->inner->ops->next(r->inner, n, to, &nread, &missing, &why);
        psr_monitor_enter(&r->monitor);
        if (r->dropping) {
            r->gap[r->ngap - 1].count += (int64_t)nread;
            r->dropped += (int64_t)nread;
        } else {
            r->end += (int64_t)nread;
        }
        on = !st && nread && !must_stop(r);
        if (st)
            r->err = why;
        r->status = st;
        r->ended = !on;
        psr_monitor_leave_changed(&r->monitor);
    }
    return PSR_OK;
}

/* --- the thread that takes spectra ------------------------------------------------------------ */

static void report(struct drop_reader *r, bool end)
{
    psr_monitor_enter(&r->monitor);
    const int64_t dropped = r->dropped, drops = r->drops;
    psr_monitor_leave(&r->monitor);
    if (dropped == r->reported || (!end && psr_seconds() - r->reported_s < report_s))
        return;
    r->reported_s = psr_seconds();
    r->reported = dropped;
    psr_note(&r->desc.notes,
             "%s: too much for this machine: %lld spectra, %.3g s in %lld blocks, were dropped "
             "unread and are missing",
             r->path, (long long)dropped, (double)dropped * r->base.obs.tsamp_s, (long long)drops);
}

/* The spectra missing here so far; more may follow while they are dropped. */
static int64_t take_gap(struct drop_reader *r)
{
    struct gap *g = r->gap;
    if (!r->ngap || g->at != r->next)
        return 0;
    const int64_t count = g->count;
    g->count = 0;
    if (r->ngap > 1 || !r->dropping)
        memmove(g, g + 1, --r->ngap * sizeof *g);
    return count;
}

/* How many of the next spectra are there, in one piece of memory. */
static size_t count_there(const struct drop_reader *r, size_t most)
{
    const int64_t to_gap = r->ngap ? r->gap->at - r->next : INT64_MAX,
                  to_turn = r->capacity - r->next % r->capacity;
    int64_t n = r->end - r->next;
    n = n < to_gap ? n : to_gap;
    n = n < to_turn ? n : to_turn;
    return n < (int64_t)most ? (size_t)n : most;
}

static psr_status next_spectra(struct psr_reader *base, size_t nsamp, void *block, size_t *nread,
                               int64_t *gap, psr_err *err)
{
    struct drop_reader *r = (struct drop_reader *)base;
    report(r, false);
    psr_monitor_enter(&r->monitor);
    *nread = 0;
    while (!(*gap = take_gap(r)) && !(*nread = count_there(r, nsamp)) && !r->ended)
        psr_monitor_wait(&r->monitor);
    const unsigned char *from = r->ring + (size_t)(r->next % r->capacity) * r->row_bytes;
    psr_monitor_leave(&r->monitor);
    memcpy(block, from, *nread * r->row_bytes);
    psr_monitor_enter(&r->monitor);
    r->next += (int64_t)*nread;
    const psr_status st = *nread || *gap ? PSR_OK : r->status;
    if (st && err)
        *err = r->err;
    psr_monitor_leave(&r->monitor);
    if (!*nread && !*gap)
        report(r, true);
    return st;
}

static void close_reader(struct psr_reader *base)
{
    struct drop_reader *r = (struct drop_reader *)base;
    atomic_store(&r->closing, true);
    psr_async_task_end(&r->task);
    if (r->monitored) {
        report(r, true);
        psr_monitor_destroy(&r->monitor);
    }
    if (r->inner)
        r->inner->ops->close(r->inner);
    psr_obs_clear(&base->obs);
    free(r->path);
    free(r->ring);
    free(r->scrap);
    free(r);
}

static const struct psr_reader_ops drop_ops = {next_spectra, NULL, close_reader};

/* --- beginning -------------------------------------------------------------------------------- */

static psr_status measure(struct drop_reader *r, psr_err *err)
{
    char wanted[PSR_SIZE_TEXT], most[PSR_SIZE_TEXT];
    const struct psr_obs *obs = &r->base.obs;
    const double n = ceil(r->desc.drop_s / obs->tsamp_s), bytes = n * (double)r->row_bytes;
    const int64_t limit = psr_count_memory(0);
    const size_t in_time = (size_t)fmin(piece_s / obs->tsamp_s, PIECE_BYTES),
                 in_memory = PIECE_BYTES / r->row_bytes;
    r->piece = in_time < in_memory ? in_time : in_memory;
    r->piece = r->piece ? r->piece : 1;
    r->capacity = (int64_t)n;
    if (!(n >= 8 * (double)r->piece) || bytes > (double)limit)
        return psr_fail_field(
            err, PSR_EINVAL, "drop_s",
            "-drop %g s: room for %s, must be %zu spectra or more, and at most %s", r->desc.drop_s,
            psr_size_text(wanted, bytes), 8 * r->piece, psr_size_text(most, (double)limit));
    return PSR_OK;
}

/* All memory is taken now, not as it fills. */
static psr_status start(struct drop_reader *r, psr_err *err)
{
    psr_status st = psr_obs_copy(&r->base.obs, &r->inner->obs, err);
    if (st)
        return st;
    r->base.file_nbit = r->inner->file_nbit;
    r->base.file_nif = r->inner->file_nif;
    r->base.pols = r->inner->pols;
    r->row_bytes = psr_row_bytes(r->base.obs.nchan, r->base.obs.nbit);
    st = measure(r, err);
    if (st)
        return st;
    const size_t bytes = (size_t)r->capacity * r->row_bytes;
    r->ring = malloc(bytes);
    r->scrap = malloc(r->piece * r->row_bytes);
    if (!r->ring || !r->scrap)
        return psr_fail_nomem(err, "spectra read ahead", (double)bytes);
    memset(r->ring, 0, bytes);
    st = psr_monitor_init(&r->monitor, err);
    r->monitored = !st;
    if (!st && !psr_async_task_try(&r->task, read_pieces, r))
        st = psr_fail(err, PSR_ENOMEM, "no thread to read the input");
    return st;
}

psr_status psr_drop_reader_open(struct psr_reader **out, const char *path,
                                const struct psr_source_desc *desc, psr_reader_open *open,
                                psr_err *err)
{
    *out = NULL;
    struct drop_reader *r = calloc(1, sizeof *r);
    if (!r)
        return psr_fail_nomem(err, "a reader of a pipe", sizeof *r);
    psr_obs_init(&r->base.obs);
    r->base.ops = &drop_ops;
    r->desc = *desc;
    r->reported_s = psr_seconds();
    struct psr_source_desc inner = *desc;
    inner.should_stop = must_stop;
    inner.stop_ctx = r;
    r->path = strdup(psr_path_called(path));
    psr_status st = r->path ? open(&r->inner, path, &inner, err)
                            : psr_fail_nomem(err, "a name", (double)strlen(path));
    if (!st)
        st = start(r, err);
    if (st) {
        close_reader(&r->base);
        return st;
    }
    *out = &r->base;
    return PSR_OK;
}

/* --- reads spectra from a pipe, in the format that its first bytes tell ----------------------- */

/* A DADA header is text, a SIGPROC header begins with the length of a word. */
static psr_status parse_start(struct psr_spectra_header *h, const struct psr_spectra_start *start,
                              psr_err *err)
{
    const bool text = start->n > 0 && isprint(start->bytes[0]),
               dada = text && psr_dada_is_header(start->bytes, start->n);
    if (dada)
        return psr_dada_parse_start(h, start, err);
    const psr_status st = psr_sigproc_parse_start(h, start, err);
    h->need_more |=
        st && text && start->n < PSR_DADA_HEADER && !psr_is_fits(start->bytes, start->n);
    return st;
}

psr_status psr_pipe_open(struct psr_reader **out, const char *path,
                         const struct psr_source_desc *desc, psr_err *err)
{
    return psr_spectra_reader_open(out, path, desc, parse_start, err);
}
