/* Reads a filterbank that comes over UDP. */
#include "reader.h"
#include "sigproc_header.h"
#include "udp_packet.h"
#include "udp_receive.h"
#include "unpack.h"

#include "base/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Frames taken at once; silence after which another sender may go on, and time between reports. */
enum { FRAMES = 32 };
static const double silence_s = 0.2, report_s = 10;

struct udp_reader {
    struct psr_reader base;
    struct psr_notes notes;
    char *path;
    psr_udp_receiver *receiver;
    /* set by the thread that receives, before the beginning is ready */
    bool has_header;
    struct psr_sigproc_header header;
    struct psr_udp_beginning beginning;
    struct psr_udp_shape shape;
    size_t row_bytes;
    int64_t first; /* number of the first packet */
    /* of the thread that receives */
    uint64_t stream;
    int64_t base_number, highest; /* what is added to numbers; the highest so */
    double last_s;                /* when the last samples came */
    int64_t restarts;
    /* set by the end */
    uint32_t last_spectra;
    _Atomic int64_t total; /* packets; -1: not known */
    /* of the thread that reads */
    unsigned char *frame; /* [FRAMES][PSR_UDP_HEAD + shape.bytes] */
    size_t nframe, at;    /* frames taken, and used up */
    size_t row_at;        /* spectra used up of frame at */
    int64_t gap;          /* spectra that are missing here */
    int64_t next;         /* packet */
    unsigned char *row;   /* [shape.pieces shape.bytes] a spectrum of several packets */
    unsigned npiece;      /* of it */
    bool torn;            /* one of them was lost */
    bool ended;
    double reported_s;
    int64_t reported_lost, reported_dropped;
};

/* --- packets, in the thread that receives them ------------------------------------------------- */

static bool parse_header(struct udp_reader *r, const unsigned char *bytes, size_t n)
{
    psr_err err;
    struct psr_sigproc_header *h = &r->header;
    if (psr_sigproc_parse_header(h, bytes, n, r->path, NULL, &err))
        return false;
    if (h->obs.nif == 1 && h->data_type <= PSR_SIGPROC_FILTERBANK &&
        h->obs.nchan * (size_t)h->obs.nbit % 8 == 0)
        return true;
    psr_obs_clear(&h->obs);
    return false;
}

static bool has_shape(const struct psr_udp_shape *s, const struct psr_udp_packet *p)
{
    return p->pieces == s->pieces && p->bytes == s->bytes && p->spectra <= s->spectra;
}

static bool take_header(struct udp_reader *r, const struct psr_udp_packet *p,
                        const unsigned char *bytes)
{
    if (!parse_header(r, bytes, p->bytes))
        return false;
    r->row_bytes = psr_row_bytes(r->header.obs.nchan, r->header.obs.nbit);
    r->shape = psr_udp_shape(r->row_bytes);
    r->stream = p->stream;
    r->has_header = true;
    struct psr_udp_beginning *b = &r->beginning;
    b->status = psr_udp_set_frames(r->receiver, PSR_UDP_HEAD + r->shape.bytes, &b->err);
    b->ready |= b->status != PSR_OK;
    return true;
}

static double packet_s(const struct udp_reader *r)
{
    return r->header.obs.tsamp_s * r->shape.spectra / r->shape.pieces;
}

/* A sender of the same that begins after a silence goes on with the stream; its numbers follow those before by the
 * clock. */
static bool take_over(struct udp_reader *r, const struct psr_udp_packet *p,
                      const unsigned char *bytes)
{
    const double now_s = psr_udp_now(r->receiver);
    struct psr_sigproc_header h;
    if (!r->beginning.ready || now_s - r->last_s < silence_s ||
        psr_sigproc_parse_header(&h, bytes, p->bytes, r->path, NULL, NULL))
        return false;
    const struct psr_obs *a = &r->header.obs, *b = &h.obs;
    const bool same = a->nchan == b->nchan && a->nbit == b->nbit && a->nif == b->nif &&
                      a->kind == b->kind && fabs(a->tsamp_s / b->tsamp_s - 1) < 1e-9;
    psr_obs_clear(&h.obs);
    if (!same)
        return false;
    int64_t passed = llrint((now_s - r->last_s) / packet_s(r));
    passed += (r->shape.pieces - (r->highest + 1 + passed) % r->shape.pieces) % r->shape.pieces;
    r->base_number = r->highest + 1 + passed;
    r->stream = p->stream;
    r->restarts++;
    return true;
}

static void begin(struct udp_reader *r, int64_t number)
{
    r->first = number < psr_udp_window(r->receiver) ? 0 : number;
    r->first -= r->first % r->shape.pieces;
    r->next = r->first;
    psr_udp_begin(r->receiver, r->first);
    r->beginning.ready = true;
}

static enum psr_udp_what take_samples(struct udp_reader *r, const struct psr_udp_packet *p,
                                      int64_t *number)
{
    if (!r->has_header || r->beginning.status || !has_shape(&r->shape, p) || p->number >> 60)
        return PSR_UDP_FOREIGN;
    *number = (int64_t)p->number + r->base_number;
    if (!r->beginning.ready)
        begin(r, *number);
    r->highest = *number > r->highest ? *number : r->highest;
    r->last_s = psr_udp_now(r->receiver);
    return PSR_UDP_FRAME;
}

static enum psr_udp_what sort(void *ctx, const unsigned char *packet, size_t n, int64_t *number,
                              const unsigned char **frame)
{
    struct udp_reader *r = ctx;
    struct psr_udp_packet p;
    if (!psr_udp_unpack(&p, packet, n))
        return PSR_UDP_FOREIGN;
    const bool own = r->has_header && p.stream == r->stream;
    *frame = packet;
    switch (p.kind) {
    case PSR_UDP_KIND_HEADER:
        if (!r->has_header)
            return take_header(r, &p, packet + PSR_UDP_HEAD) ? PSR_UDP_OTHER : PSR_UDP_FOREIGN;
        return own || take_over(r, &p, packet + PSR_UDP_HEAD) ? PSR_UDP_OTHER : PSR_UDP_FOREIGN;
    case PSR_UDP_KIND_SAMPLES:
        return own ? take_samples(r, &p, number) : PSR_UDP_FOREIGN;
    case PSR_UDP_KIND_END:
        if (!own || p.number >> 60 || p.bytes > r->shape.spectra)
            return PSR_UDP_FOREIGN;
        r->last_spectra = p.bytes;
        r->total = (int64_t)p.number + r->base_number;
        return PSR_UDP_END;
    }
    return PSR_UDP_FOREIGN;
}

/* --- reports ---------------------------------------------------------------------------------- */

static void report(struct udp_reader *r, bool end)
{
    const struct psr_udp_counts c = psr_udp_counts(r->receiver);
    const struct psr_frame_counts *f = &c.frames;
    r->reported_s = psr_seconds();
    if (!end && f->lost == r->reported_lost)
        return;
    r->reported_lost = f->lost;
    psr_note(&r->notes,
             "%s: %lld packets received, %lld lost, of which %lld came late, %lld found the "
             "kernel's %lld "
             "bytes full and %lld ours; %lld came twice, %lld were foreign, %lld senders went on",
             r->path, (long long)f->accepted, (long long)f->lost, (long long)f->late,
             (long long)c.overflowed, (long long)c.buffer, (long long)f->dropped,
             (long long)f->duplicate, (long long)(c.foreign + f->rejected), (long long)r->restarts);
}

/* Apart from what the network lost: it is the reader's fault. */
static void report_dropped(struct udp_reader *r)
{
    const struct psr_frame_counts f = psr_udp_counts(r->receiver).frames;
    if (f.dropped == r->reported_dropped)
        return;
    r->reported_dropped = f.dropped;
    psr_note(&r->notes,
             "%s: too much for this machine: %lld packets, %.3g s in %lld blocks, were dropped "
             "unread and are "
             "missing",
             r->path, (long long)f.dropped, (double)f.dropped * packet_s(r), (long long)f.drops);
}

/* --- spectra, in the thread that reads -------------------------------------------------------- */

/* Counts lost packets as missing spectra: each that one of them is of, but not what the last would have had too much. */
static void lose(struct udp_reader *r, int64_t lost)
{
    const int64_t pieces = r->shape.pieces;
    r->next += lost;
    if (pieces == 1) {
        r->gap += lost * r->shape.spectra;
        if (r->next == r->total)
            r->gap -= r->shape.spectra - r->last_spectra;
        return;
    }
    const int64_t have = r->npiece + lost;
    r->gap += have / pieces;
    r->torn = have / pieces ? have % pieces > 0 : true;
    r->npiece = (unsigned)(have % pieces);
}

/* The spectra at the end that never came. */
static void lose_end(struct udp_reader *r)
{
    const int64_t total = r->total;
    if (total > r->next)
        lose(r, total - r->next);
}

static unsigned char *frame_at(const struct udp_reader *r, size_t i)
{
    return r->frame + i * (PSR_UDP_HEAD + r->shape.bytes);
}

/* Returned: *end, the stream has ended */
static psr_status take_frames(struct udp_reader *r, bool *end, psr_err *err)
{
    struct psr_frame_run run;
    psr_status st = psr_udp_take(r->receiver, FRAMES, r->frame, &run, err);
    if (st)
        return st;
    r->nframe = run.n;
    r->at = r->row_at = 0;
    r->next += (int64_t)run.n;
    *end = psr_frame_run_is_empty(&run);
    if (*end)
        lose_end(r);
    else if (run.lost)
        lose(r, run.lost);
    if (psr_seconds() - r->reported_s > report_s || (*end && !r->ended)) {
        report(r, *end);
        report_dropped(r);
    }
    r->ended = *end;
    return PSR_OK;
}

/* Copies spectra of the frame that is used; returned: how many */
static size_t copy_spectra(struct udp_reader *r, size_t nsamp, unsigned char *block)
{
    struct psr_udp_packet p;
    const unsigned char *frame = frame_at(r, r->at);
    (void)psr_udp_unpack(&p, frame, PSR_UDP_HEAD + r->shape.bytes);
    const size_t left = p.spectra - r->row_at, n = left < nsamp ? left : nsamp;
    memcpy(block, frame + PSR_UDP_HEAD + r->row_at * r->row_bytes, n * r->row_bytes);
    r->row_at += n;
    if (r->row_at == p.spectra) {
        r->at++;
        r->row_at = 0;
    }
    return n;
}

/* Adds a piece to a spectrum; returned: 1 if that is whole. */
static size_t add_piece(struct udp_reader *r, unsigned char *block)
{
    const size_t bytes = r->shape.bytes;
    memcpy(r->row + r->npiece++ * bytes, frame_at(r, r->at++) + PSR_UDP_HEAD, bytes);
    if (r->npiece < r->shape.pieces)
        return 0;
    r->npiece = 0;
    if (r->torn) {
        r->torn = false;
        r->gap++;
        return 0;
    }
    memcpy(block, r->row, r->row_bytes);
    return 1;
}

static psr_status next_spectra(struct psr_reader *base, size_t nsamp, void *block, size_t *nread,
                               int64_t *gap, psr_err *err)
{
    struct udp_reader *r = (struct udp_reader *)base;
    unsigned char *to = block;
    bool end = false;
    psr_status st = PSR_OK;
    *nread = 0;
    while (!st && !end && *nread < nsamp && !r->gap) {
        unsigned char *at = to + *nread * r->row_bytes;
        if (r->at == r->nframe)
            st = take_frames(r, &end, err);
        else
            *nread += r->shape.pieces > 1 ? add_piece(r, at) : copy_spectra(r, nsamp - *nread, at);
        if (r->at == r->nframe && *nread)
            break;
    }
    *gap = *nread ? 0 : r->gap;
    if (!*nread)
        r->gap = 0;
    return st;
}

static void close_reader(struct psr_reader *base)
{
    struct udp_reader *r = (struct udp_reader *)base;
    psr_udp_stop(r->receiver);
    if (r->has_header)
        psr_obs_clear(&r->header.obs);
    psr_obs_clear(&base->obs);
    free(r->path);
    free(r->frame);
    free(r->row);
    free(r);
}

static const struct psr_reader_ops udp_ops = {next_spectra, NULL, close_reader};

/* --- beginning -------------------------------------------------------------------------------- */

static psr_status describe(struct udp_reader *r, psr_err *err)
{
    struct psr_obs *obs = &r->base.obs;
    psr_status st = psr_obs_copy(obs, &r->header.obs, err);
    if (st)
        return st;
    obs->nsamp = -1;
    obs->tstart = psr_mjd_add(obs->tstart, (double)(r->first / r->shape.pieces * r->shape.spectra) *
                                               obs->tsamp_s);
    r->base.file_nbit = obs->nbit;
    r->base.file_nif = obs->nif;
    r->frame = malloc(FRAMES * (PSR_UDP_HEAD + (size_t)r->shape.bytes));
    r->row = malloc((size_t)r->shape.pieces * r->shape.bytes);
    return r->frame && r->row ? PSR_OK
                              : psr_fail_nomem(err, "packets", FRAMES * (double)r->shape.bytes);
}

static psr_status set_up(struct udp_reader *r, const char *path, const struct psr_source_desc *desc,
                         psr_err *err)
{
    struct psr_udp_name name;
    psr_status st = psr_udp_parse(&name, path, err);
    if (!st && !(r->path = strdup(path)))
        st = psr_fail_nomem(err, "a name", (double)strlen(path));
    const struct psr_udp_desc d = {.name = &name,
                                   .sort = sort,
                                   .ctx = r,
                                   .should_stop = desc->should_stop,
                                   .stop_ctx = desc->stop_ctx};
    if (!st)
        st = psr_udp_receive(&r->receiver, &d, err);
    if (!st)
        st = psr_udp_wait(r->receiver, &r->beginning, r->path, err);
    return st ? st : describe(r, err);
}

psr_status psr_udp_reader_open(struct psr_reader **out, const char *path,
                               const struct psr_source_desc *desc, psr_err *err)
{
    *out = NULL;
    struct udp_reader *r = calloc(1, sizeof *r);
    if (!r)
        return psr_fail_nomem(err, "a reader of packets", sizeof *r);
    psr_obs_init(&r->base.obs);
    r->base.ops = &udp_ops;
    r->notes = desc->notes;
    r->total = -1;
    r->highest = -1;
    r->reported_s = psr_seconds();
    psr_status st = set_up(r, path, desc, err);
    if (st) {
        close_reader(&r->base);
        return st;
    }
    *out = &r->base;
    return PSR_OK;
}
