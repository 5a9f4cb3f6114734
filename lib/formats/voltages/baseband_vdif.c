/* Reads and writes voltages in VDIF: frames of one or several threads, in about the order of time. */
#include "base/obs_internal.h"

#include "base/base.h"
#include "baseband.h"
#include "formats/stream/udp.h"
#include <erfa.h>
#include <math.h>
#include <psrkit/experimental/source.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LOOK_BYTES = 1 << 23, /* searched for threads and for the number of frames of a second */
    LOOK_LIVE = 1 << 19, /* of a network stream whose rate is known: it is not to be kept waiting */
    BATCH_BYTES = 1 << 21, /* of payload */
    BATCH_MIN = 16,        /* frames of each thread */
    BATCH_MAX = 1 << 14,
    BATCH_LIVE = 128, /* of a network stream: more than packets are out of order */
    SELDOM = 4,       /* a thread with so many times fewer frames than another is none */
    FIRST_S = 60,     /* frames further from the first one than this have a wrong date */
};

/* Frames of all threads over some time: a frame may come before those of the batch before. */
struct batch {
    int64_t first; /* frame, from the first one of the input */
    uint8_t *bytes;
    bool *present, *seen; /* [nframe][nthread] */
    size_t nseen;
    int64_t last; /* the last of those that came, from the first of the batch, and when it did */
    double arrival_s;
};

struct state {
    struct psr_vdif_frame like;      /* the first frame */
    size_t place[PSR_VDIF_THREADS];  /* of a thread; nthread: unknown */
    size_t nthread, payload, nframe; /* threads; bytes; frames of a batch */
    size_t frame_nsamp;
    int64_t per_second;    /* frames of a thread */
    int64_t zero;          /* number of the first frame, since the epoch */
    int64_t from;          /* its sample */
    struct batch batch[2]; /* the earlier one is now */
    int now;
    bool ended;
};

/* --- the header ------------------------------------------------------------------------------- */

static bool is_vdif(const uint8_t *bytes, size_t n)
{
    struct psr_vdif_frame f;
    return psr_vdif_find(&f, bytes, n, NULL) < n ||
           (psr_vdif_parse(&f, bytes, n) && f.bytes > n && f.version <= 1 && f.nbit <= 16 &&
            !(f.nbit & (f.nbit - 1)));
}

/* What the first frames tell. */
struct look {
    const uint8_t *bytes;
    size_t n, at;                     /* the frames begin at at */
    size_t threads[PSR_VDIF_THREADS]; /* frames */
    uint32_t frames;                  /* in a second; 0 if no second is complete */
};

/* Visits all frames, also those behind bytes that are none.  A second that ends tells its frames:
 * some may be lost, or come after the first ones of the next. */
static void look_at_frames(struct look *l, const struct psr_vdif_frame *like)
{
    struct psr_vdif_frame f = *like;
    uint32_t top = 0;
    bool ends = false;
    for (size_t at = l->at; at < l->n;) {
        const bool now = f.second == like->second, next = f.second == like->second + 1;
        l->threads[f.thread]++;
        ends |= next;
        top = (now || next) && f.frame > top ? f.frame : top;
        at += f.bytes;
        if (at < l->n &&
            !(psr_vdif_parse(&f, l->bytes + at, l->n - at) && psr_vdif_alike(&f, like)))
            at += psr_vdif_find(&f, l->bytes + at, l->n - at, like);
    }
    l->frames = ends ? top + 1 : 0;
}

/* The rate that frames tell, or what the given band needs, or what the frames of a second make. */
static psr_status find_rate(psr_baseband *b, struct state *s, const struct look *l, psr_err *err)
{
    struct psr_baseband_header *h = &b->header;
    const double per_mhz = (h->real ? 2e6 : 1e6) / (double)h->nchan;
    const double given = fabs(b->d.bw_mhz) * per_mhz;
    const double counted = (double)l->frames * (double)s->frame_nsamp;
    h->rate_hz = s->like.rate_hz > 0 ? s->like.rate_hz : given > 0 ? given : counted;
    h->bw_mhz = h->rate_hz / per_mhz;
    if (!(h->rate_hz > 0))
        return psr_fail_field(err, PSR_EINVAL, "bw_mhz",
                              "%s: frames do not tell the sampling rate: the bandwidth must be "
                              "given",
                              b->input->name);
    const double frames = h->rate_hz / (double)s->frame_nsamp;
    s->per_second = (int64_t)rint(fmin(frames, 1 << 24));
    if (s->per_second < 1 || fabs(frames - (double)s->per_second) > 1e-6 * frames)
        return psr_fail_field(err, PSR_EFORMAT, "rate_hz",
                              "%s: %.9g samples/s in frames of %zu: a second has %.9g frames, must "
                              "be 1 to 2^24, whole",
                              b->input->name, h->rate_hz, s->frame_nsamp, frames);
    return PSR_OK;
}

/* Threads in the order of their numbers; a stray frame makes none. */
static void list_threads(struct state *s, const struct look *l)
{
    size_t place = 0, most = 0;
    for (size_t i = 0; i < PSR_VDIF_THREADS; i++)
        most = l->threads[i] > most ? l->threads[i] : most;
    for (size_t i = 0; i < PSR_VDIF_THREADS; i++)
        s->nthread += l->threads[i] * SELDOM > most;
    for (size_t i = 0; i < PSR_VDIF_THREADS; i++)
        s->place[i] = l->threads[i] * SELDOM > most ? place++ : s->nthread;
}

/* Two polarisations come in turn: in threads if their number is even, else in channels. */
static psr_status choose_npol(psr_baseband *b, const struct state *s, psr_err *err)
{
    const size_t npol = b->d.npol ? b->d.npol : s->nthread % 2 ? 1 : 2;
    b->header.npol = npol;
    b->header.nchan = s->nthread * s->like.nchan / npol;
    if (npol > 2 || s->nthread * s->like.nchan % npol)
        return psr_fail_field(err, PSR_EINVAL, "npol",
                              "%s: %zu polarisations of %zu threads of %zu channels",
                              b->input->name, npol, s->nthread, s->like.nchan);
    return PSR_OK;
}

static int64_t number_frame(const struct state *s, const struct psr_vdif_frame *f)
{
    return (int64_t)f->second * s->per_second + (int64_t)f->frame;
}

/* The earliest of the first frames: threads may be apart. */
static void find_first(struct state *s, const struct look *l)
{
    struct psr_vdif_frame f;
    const int64_t first = number_frame(s, &s->like);
    size_t at = l->at;
    s->zero = first;
    for (size_t i = 0; i < 4 * s->nthread && at < l->n; i++, at += f.bytes) {
        if (!psr_vdif_parse(&f, l->bytes + at, l->n - at) || !psr_vdif_alike(&f, &s->like))
            break;
        const int64_t number = number_frame(s, &f);
        if (number < s->zero && first - number < FIRST_S * s->per_second)
            s->zero = number;
    }
}

static psr_status read_header(psr_baseband *b, struct state *s, struct look *l, psr_err *err)
{
    const char *name = b->input->name;
    struct psr_vdif_frame f;
    psr_status st = psr_baseband_input_peek(b->input, LOOK_LIVE, &l->bytes, &l->n, err);
    const bool known = b->d.bw_mhz != 0 || (psr_vdif_parse(&f, l->bytes, l->n) && f.rate_hz > 0);
    if (!st && !(b->input->network && known))
        st = psr_baseband_input_peek(b->input, LOOK_BYTES, &l->bytes, &l->n, err);
    if (st)
        return st;
    l->at = psr_vdif_find(&s->like, l->bytes, l->n, NULL);
    if (l->at == l->n)
        return psr_fail_field(err, PSR_EFORMAT, "frame",
                              "%s: no whole VDIF frame in the first %zu bytes", name, l->n);
    const struct psr_vdif_frame *like = &s->like;
    if (like->nbit > 16 || (like->nbit & (like->nbit - 1)))
        return psr_fail_field(err, PSR_EUNSUPPORTED, "bits",
                              "%s: frames of %d bits per sample, must be 1, 2, 4, 8 or 16", name,
                              like->nbit);
    if (like->nchan > 1 << 16)
        return psr_fail_field(err, PSR_EUNSUPPORTED, "channels",
                              "%s: frames of %zu channels, limit %d", name, like->nchan, 1 << 16);

    look_at_frames(l, &s->like);
    list_threads(s, l);
    st = choose_npol(b, s, err);
    if (!st) {
        struct psr_baseband_header *h = &b->header;
        const size_t ndim = s->like.complex ? 2 : 1, element = ndim * (size_t)s->like.nbit;
        const bool by_thread = h->npol == 2 && s->nthread % 2 == 0;
        h->nbit = s->like.nbit;
        h->real = !s->like.complex;
        s->payload = s->like.bytes - s->like.header_bytes;
        s->frame_nsamp = s->payload * 8 / (s->like.nchan * element);
        b->layout.frame_nsamp = s->frame_nsamp;
        b->layout.frame_bytes = s->nthread * s->payload;
        b->layout.sample_bits = s->like.nchan * element;
        b->layout.nplane = h->nchan * h->npol;
        b->layout.ndim = ndim;
        b->layout.ngroup = s->nthread;
        st = psr_baseband_make_planes(&b->layout, err);
        for (size_t i = 0; i < b->layout.nplane && !st; i++) {
            const size_t pol = i % h->npol, chan = i / h->npol;
            const size_t thread = by_thread ? chan / s->like.nchan * 2 + pol : i / s->like.nchan;
            const size_t within = by_thread ? chan % s->like.nchan : i % s->like.nchan;
            b->layout.plane_group[i] = thread;
            b->layout.plane_bits[i] = thread * s->payload * 8 + within * element;
        }
    }
    if (!st)
        st = find_rate(b, s, l, err);
    if (!st)
        find_first(s, l);
    return st;
}

static psr_status open_vdif(psr_baseband *b, struct psr_mjd *start, psr_err *err)
{
    struct look l = {.n = 0};
    struct state *s = b->state = calloc(1, sizeof *s);
    if (!s)
        return psr_fail_nomem(err, "a reader", sizeof *s);
    psr_status st = read_header(b, s, &l, err);
    if (st)
        return st;
    static const struct {
        int nbit;
        float scale, shift; /* levels are this part of the standard deviation */
    } scales[] = {{4, 1 / 2.95F, 0}, {8, 1 / 35.5F, 0.5F}, {16, 1 / (35.5F * 256), 0.5F}};
    b->coding = (struct baseband_coding){.nbit = b->header.nbit, .code = BASEBAND_OFFSET};
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++)
        if (scales[i].nbit == b->coding.nbit) {
            b->coding.scale = scales[i].scale;
            b->coding.shift = scales[i].shift;
        }
    psr_baseband_fill_values(&b->coding);
    snprintf(b->header.instrument, sizeof b->header.instrument, "VDIF");
    b->sample_bytes = (double)(s->like.bytes * s->nthread) / (double)s->frame_nsamp;
    const int64_t second = s->zero / s->per_second;
    *start =
        psr_mjd_add(psr_vdif_epoch(s->like.epoch),
                    (double)second + (double)(s->zero % s->per_second) / (double)s->per_second);
    return PSR_OK;
}

/* --- frames ----------------------------------------------------------------------------------- */

static psr_status make_batches(struct state *s, bool live, psr_err *err)
{
    /* Frames of a batch: of a network stream, those of a short time. */
    const size_t fit = BATCH_BYTES / (s->payload * s->nthread),
                 least = live ? BATCH_LIVE : BATCH_MIN;
    const size_t soon = (size_t)(s->per_second / 20), want = live && soon < fit ? soon : fit;
    s->nframe = want < least ? least : want > BATCH_MAX ? BATCH_MAX : want;
    const size_t n = s->nframe * s->nthread;
    for (int i = 0; i < 2; i++) {
        struct batch *a = s->batch + i;
        a->bytes = malloc(n * s->payload);
        a->present = calloc(n, sizeof *a->present);
        a->seen = calloc(n, sizeof *a->seen);
        if (!a->bytes || !a->present || !a->seen)
            return psr_fail_nomem(err, "frames", (double)(n * s->payload));
        a->first = i * (int64_t)s->nframe;
    }
    return PSR_OK;
}

static psr_status begin_vdif(psr_baseband *b, const struct baseband_part *part, psr_err *err)
{
    struct state *s = b->state;
    s->from = part->first;
    psr_status st = make_batches(s, b->input->network, err);
    /* a frame that does not come is waited for until one is beyond both batches */
    b->hold = (2 * (int64_t)s->nframe + 1) * (int64_t)s->frame_nsamp;
    return st;
}

static int64_t number_here(const struct state *s, const struct psr_vdif_frame *f)
{
    return number_frame(s, f) - s->zero;
}

static bool is_known(const struct state *s, struct psr_vdif_frame *f, const uint8_t *bytes,
                     size_t n)
{
    return psr_vdif_parse(f, bytes, n) && psr_vdif_alike(f, &s->like) &&
           s->place[f->thread] < s->nthread && f->frame < (uint64_t)s->per_second;
}

/* After bytes that are no frame one must be of the right time, or be followed by another. */
static bool is_frame(const struct state *s, struct psr_vdif_frame *f, const uint8_t *bytes,
                     size_t n)
{
    struct psr_vdif_frame next;
    if (!is_known(s, f, bytes, n) || n < f->bytes)
        return false;
    const int64_t ahead = number_here(s, f) - s->batch[s->now].first;
    return (ahead >= 0 && ahead < 2 * (int64_t)s->nframe) ||
           is_known(s, &next, bytes + f->bytes, n - f->bytes);
}

/* The next frame's header, after what is no frame; *f.bytes is 0 at the end of the input. */
static psr_status find_frame(psr_baseband *b, const struct state *s, struct psr_vdif_frame *f,
                             psr_err *err)
{
    const size_t want = 2 * s->like.bytes + PSR_VDIF_HEADER;
    const uint8_t *bytes;
    size_t got, at = 0;
    psr_status st = psr_baseband_input_peek(b->input, s->like.bytes, &bytes, &got, err);
    if (!st && got == s->like.bytes && is_known(s, f, bytes, got))
        return PSR_OK;
    do {
        st = st ? st : psr_baseband_input_peek(b->input, want, &bytes, &got, err);
        if (st)
            return st;
        const size_t most = got == want ? want - s->like.bytes - PSR_VDIF_HEADER : got;
        for (at = 0; at < most && !is_frame(s, f, bytes + at, got - at);)
            at++;
        b->count.skipped += (int64_t)at;
        st = psr_baseband_input_skip(b->input, (int64_t)at, err);
        if (!st && at < most)
            return PSR_OK;
    } while (!st && got == want);
    f->bytes = 0;
    return st;
}

/* Copies the frame's payload into a batch, or drops it. */
static psr_status take_frame(psr_baseband *b, struct state *s, const struct psr_vdif_frame *f,
                             struct batch *to, psr_err *err)
{
    const size_t k =
        to ? (size_t)(number_here(s, f) - to->first) * s->nthread + s->place[f->thread] : 0;
    size_t got;
    psr_status st = psr_baseband_input_skip(b->input, (int64_t)f->header_bytes, err);
    if (st)
        return st;
    b->count.nframe++;
    if (!to || to->seen[k]) {
        b->count.duplicates++;
        return psr_baseband_input_skip(b->input, (int64_t)s->payload, err);
    }
    st = psr_baseband_input_take(b->input, to->bytes + k * s->payload, s->payload, &got, err);
    to->seen[k] = true;
    to->present[k] = !f->invalid && !st && got == s->payload;
    to->nseen++;
    if (number_here(s, f) - to->first >= to->last) {
        to->last = number_here(s, f) - to->first;
        to->arrival_s = b->input->arrival_s;
    }
    b->count.invalid += f->invalid;
    return st;
}

/* Goes on where the next frame is, after a gap. */
static void jump(psr_baseband *b, struct state *s, int64_t number)
{
    struct batch *early = s->batch + s->now, *late = s->batch + !s->now;
    const int64_t n = (int64_t)s->nframe, first = number - n / 2;
    b->count.missing += (first - early->first) * (int64_t)s->nthread;
    early->first = first;
    late->first = first + n;
}

/* Puts the next frame where it belongs; *beyond is set if that is after both batches, which are not
 * empty. */
static psr_status place_frame(psr_baseband *b, struct state *s, const struct psr_vdif_frame *f,
                              bool *beyond, psr_err *err)
{
    struct batch *early = s->batch + s->now, *late = s->batch + !s->now;
    const int64_t n = (int64_t)s->nframe, number = number_here(s, f);
    bool real = true;
    if (number >= late->first + n) {
        const size_t want = s->like.bytes + PSR_VDIF_HEADER;
        struct psr_vdif_frame next;
        const uint8_t *bytes;
        size_t got;
        psr_status st = psr_baseband_input_peek(b->input, want, &bytes, &got, err);
        /* a jump of one frame alone is an error in it */
        real = !st && got > s->like.bytes &&
               psr_vdif_parse(&next, bytes + s->like.bytes, got - s->like.bytes) &&
               llabs(number_here(s, &next) - number) <= n;
        *beyond = real && early->nseen + late->nseen > 0;
        if (st || *beyond)
            return st;
        if (real)
            jump(b, s, number);
    }
    if (!real) {
        b->count.invalid++;
        return psr_baseband_input_skip(b->input, (int64_t)f->bytes, err);
    }
    struct batch *to = number < late->first ? early : late;
    return take_frame(b, s, f, number < early->first ? NULL : to, err);
}

/* The frames up to the last that came, where nothing follows. */
static size_t count_frames(const struct state *s, const struct batch *a)
{
    size_t n = s->nframe * s->nthread;
    while (s->ended && s->batch[!s->now].nseen == 0 && n > 0 && !a->seen[n - 1])
        n--;
    return (n + s->nthread - 1) / s->nthread;
}

static psr_status next_vdif(psr_baseband *b, struct baseband_chunk *chunk, psr_err *err)
{
    struct state *s = b->state;
    struct batch *out = s->batch + !s->now; /* the one given out before */
    const int64_t n = (int64_t)s->nframe;
    if (b->chunk.bytes == out->bytes) {
        memset(out->present, 0, s->nframe * s->nthread * sizeof *out->present);
        memset(out->seen, 0, s->nframe * s->nthread * sizeof *out->seen);
        out->nseen = 0;
        out->last = 0;
        out->first = s->batch[s->now].first + n;
    }
    /* Puts frames into the batches until the first is complete, or a frame is beyond both. */
    psr_status st = PSR_OK;
    bool beyond = false;
    while (!st && !s->ended && !beyond && s->batch[s->now].nseen < s->nframe * s->nthread) {
        struct psr_vdif_frame f;
        st = find_frame(b, s, &f, err);
        s->ended = !st && f.bytes == 0;
        if (!st && !s->ended)
            st = place_frame(b, s, &f, &beyond, err);
    }
    struct batch *a = s->batch + s->now;
    const size_t nframe = st ? 0 : count_frames(s, a);
    *chunk =
        (struct baseband_chunk){.first = s->from + a->first * (int64_t)s->frame_nsamp,
                                .nsamp = nframe * s->frame_nsamp,
                                .bytes = a->bytes,
                                .present = a->present,
                                .marked = a->nseen ? (size_t)(a->last + 1) * s->frame_nsamp : 0,
                                .arrival_s = a->arrival_s};
    if (nframe > 0)
        b->count.missing += (int64_t)(nframe * s->nthread) - (int64_t)a->nseen;
    s->now = !s->now;
    return st;
}

static void close_vdif(void *state)
{
    struct state *s = state;
    for (int i = 0; s && i < 2; i++) {
        free(s->batch[i].bytes);
        free(s->batch[i].present);
        free(s->batch[i].seen);
    }
    free(s);
}

const struct baseband_format psr_baseband_vdif = {"VDIF",     is_vdif,   open_vdif,
                                                  begin_vdif, next_vdif, close_vdif};

/* --- writes and sends VDIF frames ------------------------------------------------------------- */

enum { PAYLOAD_MAX = 8192, PER_SECOND_MAX = 1 << 24 };

struct psr_vdif_writer {
    struct psr_vdif_writer_desc d;
    psr_udp_wire *wire;   /* NULL: to the file */
    unsigned char *frame; /* of the file */
    struct psr_vdif_frame like;
    size_t payload, frame_nsamp;
    int64_t per_second, number; /* frames of a thread */
    int64_t first;              /* frame, since the epoch */
};

/* --- what frames are -------------------------------------------------------------------------- */

/* The longest frame of which a second has a whole number. */
static psr_status choose_frames(psr_vdif_writer *w, psr_err *err)
{
    const size_t bits = w->d.nchan * (size_t)w->d.nbit * (w->d.real ? 1 : 2);
    for (size_t bytes = PAYLOAD_MAX; bytes > 0; bytes -= 8) {
        const size_t nsamp = bytes * 8 / bits;
        const double frames = nsamp ? w->d.rate_hz / (double)nsamp : 0.5;
        if (bytes * 8 % bits || frames != floor(frames) || frames > PER_SECOND_MAX)
            continue;
        w->payload = bytes;
        w->frame_nsamp = nsamp;
        w->per_second = (int64_t)frames;
        return PSR_OK;
    }
    return psr_fail_field(err, PSR_EINVAL, "rate_hz",
                          "vdif: %.9g samples/s of %zu bits: no frame of up to %d bytes divides a "
                          "second",
                          w->d.rate_hz, bits, PAYLOAD_MAX);
}

static psr_status find_start(psr_vdif_writer *w, psr_err *err)
{
    int year = 0, month = 0, day;
    double part;
    const struct psr_mjd at = w->d.start;
    if (eraJd2cal(2400000.5, (double)at.day, &year, &month, &day, &part) != 0 || year < 2000 ||
        year > 2031)
        return psr_fail_field(err, PSR_EINVAL, "start",
                              "vdif: MJD %ld, frames have dates from 2000 to 2031 (MJD 51544 to "
                              "63231)",
                              at.day);
    w->like.epoch = (unsigned)(2 * (year - 2000) + (month > 6));
    const int64_t days = at.day - psr_vdif_epoch(w->like.epoch).day;
    w->first = days * 86400 * w->per_second + llrint(at.frac * 86400 * (double)w->per_second);
    return PSR_OK;
}

static psr_status check_desc(const struct psr_vdif_writer_desc *d, psr_err *err)
{
    if (!d->file == !d->to)
        return psr_fail_field(err, PSR_EINVAL, "to", "vdif: needs either a file or an address");
    if (d->nchan < 1 || d->nchan > 1 << 16 || (d->nchan & (d->nchan - 1)))
        return psr_fail_field(err, PSR_EINVAL, "nchan",
                              "vdif: %zu channels, must be a power of 2, up to %d", d->nchan,
                              1 << 16);
    if (d->npol < 1 || d->npol > PSR_VDIF_THREADS)
        return psr_fail_field(err, PSR_EINVAL, "npol", "vdif: %zu threads, must be 1 to %d",
                              d->npol, PSR_VDIF_THREADS);
    if (d->nbit < 1 || d->nbit > 16 || (d->nbit & (d->nbit - 1)))
        return psr_fail_field(err, PSR_EINVAL, "nbit", "vdif: %d bits, must be 1, 2, 4, 8 or 16",
                              d->nbit);
    if (!(d->rate_hz >= 1 && d->rate_hz <= 1e12))
        return psr_fail_field(err, PSR_EINVAL, "rate_hz", "vdif: %g samples/s, must be 1 to 1e12",
                              d->rate_hz);
    return PSR_OK;
}

/* --- beginning and end ------------------------------------------------------------------------ */

static psr_status set_up(psr_vdif_writer *w, psr_err *err)
{
    psr_status st = choose_frames(w, err);
    if (!st)
        st = find_start(w, err);
    if (st)
        return st;
    w->like.bytes = PSR_VDIF_HEADER + w->payload;
    w->like.nchan = w->d.nchan;
    w->like.nbit = w->d.nbit;
    w->like.complex = !w->d.real;
    w->like.rate_hz = w->d.rate_hz;
    if (w->d.file) {
        w->frame = malloc(w->like.bytes);
        return w->frame ? PSR_OK : psr_fail_nomem(err, "a frame", (double)w->like.bytes);
    }
    const struct psr_udp_wire_desc wire = {.to = w->d.to,
                                           .bytes = w->like.bytes,
                                           .each_s = (double)w->frame_nsamp / w->d.rate_hz /
                                                     (double)w->d.npol,
                                           .rate = w->d.speed,
                                           .loss = w->d.loss,
                                           .twice = w->d.twice,
                                           .reorder = w->d.reorder,
                                           .seed = w->d.seed};
    return psr_udp_wire_create(&w->wire, &wire, err);
}

psr_status psr_vdif_writer_create(psr_vdif_writer **out, const struct psr_vdif_writer_desc *desc,
                                  psr_err *err)
{
    *out = NULL;
    psr_vdif_writer *w = calloc(1, sizeof *w);
    if (!w)
        return psr_fail_nomem(err, "a writer of frames", sizeof *w);
    psr_status st = psr_copy_desc(&w->d, sizeof w->d, desc, "vdif", err);
    if (!st)
        st = check_desc(&w->d, err);
    if (!st)
        st = set_up(w, err);
    if (st) {
        psr_vdif_writer_destroy(w);
        return st;
    }
    *out = w;
    return PSR_OK;
}

void psr_vdif_writer_destroy(psr_vdif_writer *w)
{
    if (!w)
        return;
    psr_udp_wire_destroy(w->wire);
    free(w->frame);
    free(w);
}

/* --- frames ----------------------------------------------------------------------------------- */

size_t psr_vdif_writer_nsamp(const psr_vdif_writer *w)
{
    return w->frame_nsamp;
}

psr_status psr_vdif_writer_append(psr_vdif_writer *w, const void *const *levels, size_t nframe,
                                  psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t i = 0; i < nframe && !st; i++, w->number++)
        for (size_t k = 0; k < w->d.npol && !st; k++) {
            const unsigned char *samples = (const unsigned char *)levels[k] + i * w->payload;
            const int64_t number = w->first + w->number;
            unsigned char *to = w->wire ? psr_udp_wire_room(w->wire) : w->frame;
            w->like.second = (uint32_t)(number / w->per_second);
            w->like.frame = (uint32_t)(number % w->per_second);
            w->like.thread = (unsigned)k;
            psr_vdif_pack(to, &w->like);
            memcpy(to + PSR_VDIF_HEADER, samples, w->payload);
            st = w->wire ? psr_udp_wire_send(w->wire, err)
                         : psr_outfile_write(w->d.file, to, w->like.bytes, err);
        }
    return st;
}

psr_status psr_vdif_writer_finish(psr_vdif_writer *w, psr_err *err)
{
    return w->wire ? psr_udp_wire_flush(w->wire, err) : PSR_OK;
}

int64_t psr_vdif_writer_count(const psr_vdif_writer *w, int64_t *lost)
{
    *lost = 0;
    return w->wire ? psr_udp_wire_count(w->wire, lost) : w->number * (int64_t)w->d.npol;
}
