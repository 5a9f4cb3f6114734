/* Reads a filterbank that comes over UDP. */
#include "formats/spectra/spectra_reader.h"
#include "udp.h"

#include "base/base.h"
#include "base/obs_internal.h"

#include <stdlib.h>
#include <string.h>

/* Frames taken at once; time between reports. */
enum { FRAMES = 32 };
static const double report_s = 10;

struct udp_reader {
    struct psr_reader base;
    struct psr_notes notes;
    char *path;
    psr_udp_receiver *receiver;
    struct psr_udp_spectra in; /* of the thread that receives */
    /* of the thread that reads */
    unsigned char *frame; /* [FRAMES][PSR_UDP_HEAD + in.shape.bytes] */
    size_t nframe, at;    /* frames taken, and used up */
    size_t row_at;        /* spectra used up of frame at */
    int64_t gap;          /* spectra that are missing here */
    int64_t next;         /* packet */
    struct psr_ifs ifs;
    unsigned char *row; /* [in.shape.pieces in.shape.bytes] a spectrum of several packets */
    unsigned npiece;    /* of it */
    bool torn;          /* one of them was lost */
    bool ended;
    double reported_s;
    int64_t reported_lost, reported_dropped;
};

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
             (long long)f->duplicate, (long long)(c.foreign + f->rejected),
             (long long)(r->in.restarts + f->restarts));
    if (end && r->in.changed)
        psr_note(&r->notes,
                 "%s: another stream, of other spectra, has come instead: the input ends", r->path);
}

/* --- spectra, in the thread that reads -------------------------------------------------------- */

/* Counts lost packets as missing spectra: each that one of them is of, but not what the last would have had too much. */
static void lose(struct udp_reader *r, int64_t lost)
{
    const int64_t pieces = r->in.shape.pieces;
    r->next += lost;
    if (pieces == 1) {
        r->gap += lost * r->in.shape.spectra;
        if (r->next == r->in.total)
            r->gap -= r->in.shape.spectra - r->in.last_spectra;
        return;
    }
    const int64_t have = r->npiece + lost;
    r->gap += have / pieces;
    r->torn = have / pieces ? have % pieces > 0 : true;
    r->npiece = (unsigned)(have % pieces);
}

/* Numbers go on from another one; a spectrum that was not complete is lost, and one that is not there from its beginning. */
static void begin_again(struct udp_reader *r, int64_t number)
{
    const int64_t pieces = r->in.shape.pieces;
    r->next = number;
    r->gap += r->npiece > 0;
    r->npiece = (unsigned)(number % pieces);
    r->torn = r->npiece > 0;
}

static unsigned char *frame_at(const struct udp_reader *r, size_t i)
{
    return r->frame + i * (PSR_UDP_HEAD + r->in.shape.bytes);
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
    if (*end) {
        /* The spectra at the end that never came. */
        const int64_t total = r->in.total;
        if (total > r->next)
            lose(r, total - r->next);
    } else if (run.lost)
        lose(r, run.lost);
    else if (run.restart)
        begin_again(r, run.next);
    if (psr_seconds() - r->reported_s > report_s || (*end && !r->ended)) {
        report(r, *end);
        /* Apart from what the network lost: it is the reader's fault. */
        const struct psr_frame_counts f = psr_udp_counts(r->receiver).frames;
        if (f.dropped != r->reported_dropped) {
            r->reported_dropped = f.dropped;
            psr_note(
                &r->notes,
                "%s: too much for this machine: %lld packets, %.3g s in %lld blocks, were dropped "
                "unread and are "
                "missing",
                r->path, (long long)f.dropped, (double)f.dropped * psr_udp_spectra_packet_s(&r->in),
                (long long)f.drops);
        }
    }
    r->ended = *end;
    return PSR_OK;
}

/* Copies spectra of the frame that is used; returned: how many */
static size_t copy_spectra(struct udp_reader *r, size_t nsamp, unsigned char *block)
{
    struct psr_udp_packet p;
    const unsigned char *frame = frame_at(r, r->at);
    (void)psr_udp_unpack(&p, frame, PSR_UDP_HEAD + r->in.shape.bytes);
    const size_t left = p.spectra - r->row_at, n = left < nsamp ? left : nsamp;
    psr_ifs_merge(&r->ifs, &r->base, n, frame + PSR_UDP_HEAD + r->row_at * r->in.row_bytes, block);
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
    const size_t bytes = r->in.shape.bytes;
    memcpy(r->row + r->npiece++ * bytes, frame_at(r, r->at++) + PSR_UDP_HEAD, bytes);
    if (r->npiece < r->in.shape.pieces)
        return 0;
    r->npiece = 0;
    if (r->torn) {
        r->torn = false;
        r->gap++;
        return 0;
    }
    psr_ifs_merge(&r->ifs, &r->base, 1, r->row, block);
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
        unsigned char *at = to + *nread * r->ifs.row_bytes;
        if (r->at == r->nframe)
            st = take_frames(r, &end, err);
        else
            *nread +=
                r->in.shape.pieces > 1 ? add_piece(r, at) : copy_spectra(r, nsamp - *nread, at);
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
    psr_udp_spectra_clear(&r->in);
    psr_obs_clear(&base->obs);
    free(r->path);
    free(r->frame);
    free(r->row);
    free(r);
}

static const struct psr_reader_ops udp_ops = {next_spectra, NULL, close_reader};

/* --- beginning -------------------------------------------------------------------------------- */

static psr_status describe(struct udp_reader *r, const struct psr_source_desc *desc, psr_err *err)
{
    struct psr_obs *obs = &r->base.obs;
    psr_status st = psr_obs_copy(obs, &r->in.obs, err);
    if (st)
        return st;
    r->next = r->in.first;
    obs->nsamp = -1;
    obs->tstart =
        psr_mjd_add(obs->tstart, (double)(r->in.first / r->in.shape.pieces * r->in.shape.spectra) *
                                     obs->tsamp_s);
    r->base.file_nbit = obs->nbit;
    st = psr_ifs_choose(&r->ifs, &r->base, r->path, desc, err);
    if (st)
        return st;
    r->frame = malloc(FRAMES * (PSR_UDP_HEAD + (size_t)r->in.shape.bytes));
    r->row = malloc((size_t)r->in.shape.pieces * r->in.shape.bytes);
    return r->frame && r->row ? PSR_OK
                              : psr_fail_nomem(err, "packets", FRAMES * (double)r->in.shape.bytes);
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
    r->reported_s = psr_seconds();
    struct psr_udp_name name;
    psr_status st = psr_udp_parse(&name, path, err);
    if (!st && !(r->path = strdup(path)))
        st = psr_fail_nomem(err, "a name", (double)strlen(path));
    const struct psr_udp_desc d = {.name = &name,
                                   .sort = psr_udp_spectra_sort,
                                   .settle = psr_udp_spectra_settle,
                                   .ctx = &r->in,
                                   .path = r->path,
                                   .notes = desc->notes,
                                   .should_stop = desc->should_stop,
                                   .stop_ctx = desc->stop_ctx};
    if (!st)
        st = psr_udp_spectra_init(&r->in, r->path, err);
    if (!st)
        st = psr_udp_receive(&r->in.receiver, &d, err);
    r->receiver = r->in.receiver;
    if (!st)
        st = psr_udp_wait(r->receiver, &r->in.beginning, r->path, err);
    st = st ? st : describe(r, desc, err);
    if (st) {
        close_reader(&r->base);
        return st;
    }
    *out = &r->base;
    return PSR_OK;
}
