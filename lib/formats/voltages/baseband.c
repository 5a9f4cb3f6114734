/* Opens voltages of any format, and joins files that follow each other. */
#include "baseband.h"

#include "base/base.h"
#include "base/output/outfile_internal.h"
#include "base/threads/threads.h"

#include "base/obs_internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double report_s = 10; /* between reports of what a network stream loses */

/* --- opening ---------------------------------------------------------------------------------- */

static void close_input(psr_baseband *b)
{
    if (b->format && b->state)
        b->format->close(b->state);
    b->state = NULL;
    psr_baseband_input_close(b->input);
    b->input = NULL;
}

/* VDIF comes last: it has no mark that others lack. */
static psr_status find_format(psr_baseband *b, psr_err *err)
{
    static const struct baseband_format *const formats[] = {&psr_baseband_guppi, &psr_baseband_dada,
                                                            &psr_baseband_vdif};
    enum { LOOK_BYTES = 1 << 16 };
    const uint8_t *bytes;
    size_t got;
    psr_status st = psr_baseband_input_peek(b->input, LOOK_BYTES, &bytes, &got, err);
    if (st)
        return st;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i]->matches(bytes, got)) {
            b->format = formats[i];
            return PSR_OK;
        }
    return psr_fail_field(err, PSR_EFORMAT, "format", "%s: %s", b->input->name,
                          got ? "neither VDIF, DADA nor GUPPI raw voltages" : "is empty");
}

/* Voltages must come at the rate of their bandwidth: channels do not overlap. */
static psr_status check_rate(psr_baseband *b, psr_err *err)
{
    struct psr_baseband_header *h = &b->header;
    const char *name = b->input->name;
    if (b->d.freq_mhz > 0)
        h->freq_mhz = b->d.freq_mhz;
    if (b->d.bw_mhz != 0)
        h->bw_mhz = b->d.bw_mhz;
    const double rate = (h->real ? 2e6 : 1e6) * fabs(h->bw_mhz) / (double)h->nchan;
    if (!(h->freq_mhz > 0))
        return psr_fail_field(err, PSR_EINVAL, "freq_mhz",
                              "%s: the header has no frequency: the centre of the band must be "
                              "given",
                              name);
    if (h->bw_mhz == 0)
        return psr_fail_field(err, PSR_EFORMAT, "bw_mhz", "%s: the bandwidth is 0", name);
    if (!(fabs(rate - h->rate_hz) <= 1e-3 * rate))
        return psr_fail_field(err, PSR_EUNSUPPORTED, "bw_mhz",
                              "%s: %.9g samples/s, %zu %s channels of %.9g MHz have %.9g", name,
                              h->rate_hz, h->nchan, h->real ? "real" : "complex",
                              fabs(h->bw_mhz) / (double)h->nchan, rate);
    if (h->freq_mhz <= fabs(h->bw_mhz) / 2)
        return psr_fail_field(err, PSR_EFORMAT, "bw_mhz",
                              "%s: the band of %g MHz about %g MHz goes below 0", name,
                              fabs(h->bw_mhz), h->freq_mhz);
    return PSR_OK;
}

/* Opens part i and reads its header. */
static psr_status open_part(psr_baseband *b, size_t i, psr_err *err)
{
    struct psr_mjd start = {0, 0};
    close_input(b);
    psr_status st = psr_baseband_input_open(&b->input, b->part[i].path, &b->d.notes, err);
    if (!st)
        b->input->nthread = b->nthread;
    if (!st && b->input->stream && b->npart > 1)
        st = psr_fail_field(err, PSR_EINVAL, "path", "%s: must be the only input, as any pipe",
                            b->input->name);
    if (!st)
        st = find_format(b, err);
    if (st)
        return st;
    b->header = (struct psr_baseband_header){.format = b->format->name};
    st = b->format->open(b, &start, err);
    b->part[i].start = b->header.start = start;
    b->now = i;
    return st ? st : check_rate(b, err);
}

static psr_status check_like(const psr_baseband *b, const struct psr_baseband_header *first,
                             psr_err *err)
{
    const struct psr_baseband_header *h = &b->header;
    const struct {
        const char *field, *unit;
        double is, was;
    } same[] = {{"nchan", "", (double)h->nchan, (double)first->nchan},
                {"npol", "", (double)h->npol, (double)first->npol},
                {"nbit", "", h->nbit, first->nbit},
                {"rate_hz", " Hz", h->rate_hz, first->rate_hz},
                {"freq_mhz", " MHz", h->freq_mhz, first->freq_mhz},
                {"bw_mhz", " MHz", h->bw_mhz, first->bw_mhz}};
    if (h->format != first->format || h->real != first->real)
        return psr_fail_field(err, PSR_EFORMAT, "format", "%s: is %s %s, the first file %s %s",
                              b->input->name, h->real ? "real" : "complex", h->format,
                              first->real ? "real" : "complex", first->format);
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (same[i].is != same[i].was)
            return psr_fail_field(
                err, PSR_EFORMAT, same[i].field, "%s: %s is %.12g%s, in the first file %.12g%s",
                b->input->name, same[i].field, same[i].is, same[i].unit, same[i].was, same[i].unit);
    return PSR_OK;
}

static int by_time(const void *pa, const void *pb)
{
    const struct baseband_part *a = pa, *b = pb;
    const double seconds = psr_mjd_diff_s(a->start, b->start);
    return seconds > 0 ? -1 : seconds < 0;
}

static psr_status place_parts(psr_baseband *b, psr_err *err)
{
    struct psr_baseband_header first = {.nchan = 0};
    psr_status st = PSR_OK;
    for (size_t i = 0; i < b->npart && !st; i++) {
        st = open_part(b, i, err);
        if (!st && i == 0)
            first = b->header;
        if (!st)
            st = check_like(b, &first, err);
        if (!st)
            b->bytes = b->input->stream ? -1 : b->bytes + b->input->size;
    }
    if (st || b->npart == 1)
        return st;
    qsort(b->part, b->npart, sizeof *b->part, by_time);
    for (size_t i = 1; i < b->npart; i++)
        b->part[i].first =
            psr_baseband_sample(psr_mjd_diff_s(b->part[0].start, b->part[i].start) * first.rate_hz);
    return open_part(b, 0, err);
}

/* The same for the same layout and coding. */
static uint64_t mark_layout(const psr_baseband *b)
{
    const struct baseband_layout *l = &b->layout;
    const struct baseband_coding *c = &b->coding;
    const uint64_t whole[] = {l->frame_nsamp, l->frame_bytes,    l->sample_bits,    l->ngroup,
                              l->ndim,        (uint64_t)c->code, (uint64_t)c->nbit, c->high_first};
    const float scales[] = {c->scale, c->shift};
    uint64_t mark = psr_digest_bytes(0, whole, sizeof whole);
    mark = psr_digest_bytes(mark, scales, sizeof scales);
    mark = psr_digest_bytes(mark, l->plane_bits, l->nplane * sizeof *l->plane_bits);
    return psr_digest_bytes(mark, l->plane_group, l->nplane * sizeof *l->plane_group);
}

static psr_status prepare(psr_baseband *b, psr_err *err)
{
    if (b->d.npath < 1)
        return psr_fail_field(err, PSR_EINVAL, "npath", "voltages: no input");
    psr_status st = psr_check_resources("voltages", b->d.nthread, 0, err);
    if (st)
        return st;
    b->part = calloc(b->d.npath, sizeof *b->part);
    if (!b->part)
        return psr_fail_nomem(err, "a list of files", (double)b->d.npath * sizeof *b->part);
    b->npart = b->d.npath;
    b->nthread = psr_count_threads(b->d.nthread);
    b->names = psr_path_copies(b->d.path, b->npart);
    if (!b->names)
        return psr_fail_nomem(err, "names of files", (double)b->npart);
    for (size_t i = 0; i < b->npart; i++)
        b->part[i].path = b->names[i];
    st = place_parts(b, err);
    if (st)
        return st;
    b->like = mark_layout(b);
    return b->format->begin(b, b->part, err);
}

psr_status psr_baseband_open(psr_baseband **out, const struct psr_baseband_desc *desc, psr_err *err)
{
    *out = NULL;
    psr_baseband *b = calloc(1, sizeof *b);
    if (!b)
        return psr_fail_nomem(err, "a reader", sizeof *b);
    psr_status st = psr_copy_desc(&b->d, sizeof b->d, desc, "psr_baseband_desc", err);
    if (!st)
        st = prepare(b, err);
    b->last_report_s = psr_seconds();
    b->d.path = NULL;
    if (st) {
        psr_baseband_close(b);
        return st;
    }
    *out = b;
    return PSR_OK;
}

void psr_baseband_close(psr_baseband *b)
{
    if (!b)
        return;
    close_input(b);
    free(b->layout.plane_bits);
    free(b->part);
    free(b->lost);
    free(b->mark);
    free(b->names);
    free(b);
}

const struct psr_baseband_header *psr_baseband_header(const psr_baseband *b)
{
    return &b->header;
}

int64_t psr_baseband_nsamp(const psr_baseband *b)
{
    return b->bytes < 0 ? -1 : (int64_t)((double)b->bytes / b->sample_bytes);
}

void psr_baseband_describe(const psr_baseband *b, struct psr_baseband_count *count)
{
    *count = b->count;
}

void psr_baseband_use_threads(psr_baseband *b, int n)
{
    b->nthread = n;
    if (b->input)
        b->input->nthread = n;
}

size_t psr_baseband_marks(const psr_baseband *b, const struct psr_baseband_mark **mark)
{
    *mark = b->mark;
    return b->nmark;
}

int64_t psr_baseband_hold(const psr_baseband *b)
{
    return b->hold;
}

void psr_baseband_leave_lost(psr_baseband *b)
{
    b->leaves_lost = true;
}

size_t psr_baseband_lost(const psr_baseband *b, const struct psr_span **span)
{
    *span = b->lost;
    return b->nlost;
}

/* --- reading ---------------------------------------------------------------------------------- */

static psr_status add_lost(psr_baseband *b, size_t at, size_t n, psr_err *err)
{
    struct psr_span *last = b->nlost ? b->lost + b->nlost - 1 : NULL;
    b->count.lost += (int64_t)n;
    if (last && last->first + last->count == (int64_t)at) {
        last->count += (int64_t)n;
        return PSR_OK;
    }
    psr_status st = psr_grow(&b->lost, &b->lost_room, b->nlost, sizeof *b->lost, "gaps", err);
    if (!st)
        b->lost[b->nlost++] = (struct psr_span){(int64_t)at, (int64_t)n};
    return st;
}

/* Zeroes samples [at, at + n) of plane p, where planes are stride apart, unless they are to be left. */
static void zero_samples(const psr_baseband *b, size_t p, float *out, size_t stride, size_t at,
                         size_t n)
{
    if (!b->leaves_lost)
        memset(out + (p * stride + at) * b->layout.ndim, 0, n * b->layout.ndim * sizeof *out);
}

static void report_losses(const psr_baseband *b)
{
    const struct psr_baseband_count *c = &b->count;
    if (c->lost || c->missing || c->invalid || c->duplicates || c->skipped)
        psr_note(&b->d.notes,
                 "%s: of %lld samples %lld are lost; %lld %s read, %lld missing, %lld invalid, "
                 "%lld came twice or too late; %lld bytes are no frame",
                 b->input->name, (long long)c->nsamp, (long long)c->lost, (long long)c->nframe,
                 b->layout.ngroup ? "frames" : "blocks", (long long)c->missing,
                 (long long)c->invalid, (long long)c->duplicates, (long long)c->skipped);
}

/* From time to time, of what does not end. */
static void tell_on_the_way(psr_baseband *b)
{
    const double now_s = psr_seconds();
    if (!b->input->network || now_s - b->last_report_s < report_s)
        return;
    if (b->told_missing != b->count.missing)
        report_losses(b);
    b->last_report_s = now_s;
    b->told_missing = b->count.missing;
}

static psr_status next_part(psr_baseband *b, psr_err *err)
{
    const int64_t at = b->count.nsamp;
    if (b->now + 1 == b->npart) {
        b->ended = true;
        report_losses(b);
        return PSR_OK;
    }
    const struct psr_baseband_header first = b->header;
    psr_status st = open_part(b, b->now + 1, err);
    if (!st)
        st = check_like(b, &first, err);
    b->header = first;
    if (st)
        return st;
    b->other = mark_layout(b) != b->like;
    const struct baseband_part *part = b->part + b->now, *before = part - 1;
    const double seconds = (double)(part->first - at) / first.rate_hz;
    if (part->first + b->overlap < at)
        return psr_fail(err, PSR_EFORMAT, "%s overlaps %s by %lld samples (%.6g s)", part->path,
                        before->path, (long long)(at - part->first), -seconds);
    if (part->first > at)
        psr_note(&b->d.notes, "%s begins %lld samples (%.6g s) after the end of %s", part->path,
                 (long long)(part->first - at), seconds, before->path);
    return b->format->begin(b, part, err);
}

/* Notes when samples of the chunk came; of one without any, that the stream has ended. */
static psr_status add_mark(psr_baseband *b, psr_err *err)
{
    const struct baseband_chunk *chunk = &b->chunk;
    if (!b->input->stream)
        return PSR_OK;
    const size_t n = chunk->marked ? chunk->marked : chunk->nsamp;
    const double arrival_s = chunk->marked ? chunk->arrival_s : b->input->arrival_s;
    psr_status st = psr_grow(&b->mark, &b->mark_room, b->nmark, sizeof *b->mark, "marks", err);
    if (!st)
        b->mark[b->nmark++] = (struct psr_baseband_mark){chunk->first + (int64_t)n - 1,
                                                         b->input->ended ? NAN : arrival_s};
    return st;
}

/* Gets a chunk that holds sample "at" or later ones. */
static psr_status next_chunk(psr_baseband *b, int64_t at, psr_err *err)
{
    psr_status st = PSR_OK;
    while (!st && !b->ended && b->chunk.first + (int64_t)b->chunk.nsamp <= at) {
        const int64_t before = b->chunk.first + (int64_t)b->chunk.nsamp;
        struct baseband_chunk chunk = {.nsamp = 0};
        st = b->format->next(b, &chunk, err);
        if (st)
            break;
        if (chunk.nsamp == 0)
            st = next_part(b, err);
        else if (chunk.first + (int64_t)chunk.nsamp <= at)
            b->count.duplicates++;
        else if (!b->input->network && /* which may be silent for long */
                 (double)(chunk.first - at) > PSR_BASEBAND_GAP_S * b->header.rate_hz)
            st = psr_fail(err, PSR_EFORMAT, "%s: a gap of %.6g s after sample %lld, limit %d s",
                          b->input->name, (double)(chunk.first - at) / b->header.rate_hz,
                          (long long)before, PSR_BASEBAND_GAP_S);
        b->chunk = st || chunk.nsamp == 0 ? (struct baseband_chunk){.first = at} : chunk;
        if (!st)
            st = add_mark(b, err);
        tell_on_the_way(b);
    }
    return st;
}

/* Notes the frames of the chunk that are absent, within [from, from + n), which is at "at", and zeroes
 * them in out unless that is NULL. */
static psr_status drop_absent(psr_baseband *b, size_t from, size_t n, float *out, size_t stride,
                              size_t at, psr_err *err)
{
    const size_t frame = b->layout.frame_nsamp;
    psr_status st = PSR_OK;
    for (size_t t = from; t < from + n && !st;) {
        const size_t k = t / frame, stop = (k + 1) * frame;
        const size_t count = (stop < from + n ? stop : from + n) - t;
        bool any = false;
        for (size_t p = 0; p < b->layout.nplane; p++)
            if (!b->chunk.present[k * b->layout.ngroup + b->layout.plane_group[p]]) {
                if (out)
                    zero_samples(b, p, out, stride, at + t - from, count);
                any = true;
            }
        if (any)
            st = add_lost(b, at + t - from, count, err);
        t += count;
    }
    return st;
}

static psr_status lose_samples(psr_baseband *b, float *out, size_t stride, size_t at, size_t n,
                               psr_err *err)
{
    for (size_t p = 0; p < b->layout.nplane; p++)
        zero_samples(b, p, out, stride, at, n);
    return add_lost(b, at, n, err);
}

/* How many of samples [from, from + n) of the chunk come before a frame that is wholly *absent, or not, unlike
 * the first. */
static size_t count_alike(const psr_baseband *b, size_t from, size_t n, bool *absent)
{
    const size_t ngroup = b->layout.ngroup, frame = b->layout.frame_nsamp;
    size_t k = from / frame;
    const bool *present = b->chunk.present;
    *absent = present && !memchr(present + k * ngroup, true, ngroup * sizeof *present);
    if (!present)
        return n;
    while (++k * frame < from + n &&
           *absent == !memchr(present + k * ngroup, true, ngroup * sizeof *present))
        continue;
    return k * frame < from + n ? k * frame - from : n;
}

/* Puts up to n samples to "at" of the planes: *done of them. */
static psr_status put_samples(psr_baseband *b, float *out, size_t stride, size_t at, size_t n,
                              size_t *done, psr_err *err)
{
    const int64_t now = b->count.nsamp;
    if (b->chunk.first > now) {
        const int64_t gap = b->chunk.first - now;
        *done = gap < (int64_t)n ? (size_t)gap : n;
        return lose_samples(b, out, stride, at, *done, err);
    }
    const size_t from = (size_t)(now - b->chunk.first), left = b->chunk.nsamp - from;
    bool absent;
    *done = count_alike(b, from, left < n ? left : n, &absent);
    if (absent)
        return lose_samples(b, out, stride, at, *done, err);
    psr_baseband_unpack(&b->layout, &b->coding, b->chunk.bytes, from, *done,
                        out + at * b->layout.ndim, stride, b->nthread);
    return b->chunk.present ? drop_absent(b, from, *done, out, stride, at, err) : PSR_OK;
}

psr_status psr_baseband_read(psr_baseband *b, size_t nsamp, float *out, size_t *nread, psr_err *err)
{
    psr_status st = PSR_OK;
    *nread = 0;
    b->nlost = b->nmark = 0;
    while (*nread < nsamp && !st) {
        size_t done = 0;
        st = next_chunk(b, b->count.nsamp, err);
        if (st || b->ended)
            break;
        st = put_samples(b, out, nsamp, *nread, nsamp - *nread, &done, err);
        b->count.nsamp += (int64_t)done;
        *nread += done;
    }
    return st;
}

/* --- coded samples ---------------------------------------------------------------------------- */

/* The frames that hold samples [from, from + n) of the chunk. */
static void find_frames(const psr_baseband *b, size_t from, size_t n,
                        struct psr_baseband_piece *piece)
{
    enum { BYTE = 8 }; /* samples that fill bytes, of any number of bits */
    const struct baseband_layout *l = &b->layout;
    const bool framed = l->frame_nsamp != SIZE_MAX;
    const size_t unit = framed ? l->frame_nsamp : BYTE;
    const size_t unit_bytes = framed ? l->frame_bytes : l->sample_bits;
    const size_t first = from / unit, stop = (from + n + unit - 1) / unit;
    const size_t last_bits = (from + n - first * unit) * l->sample_bits;
    piece->nsamp = n;
    piece->from = from - first * unit;
    piece->aligned = framed ? unit : l->sample_bits % BYTE ? BYTE : 1;
    piece->bytes = b->chunk.bytes + first * unit_bytes;
    piece->nbytes = framed ? (stop - first) * unit_bytes : (last_bits + 7) / 8;
    if (b->chunk.present) {
        piece->present = b->chunk.present + first * l->ngroup;
        piece->nflag = (stop - first) * l->ngroup;
    }
}

/* What is next, without taking it. */
static void find_piece(const psr_baseband *b, size_t nsamp, size_t at, size_t room,
                       struct psr_baseband_piece *piece)
{
    const int64_t now = b->count.nsamp, gap = b->chunk.first - now;
    *piece = (struct psr_baseband_piece){.missing = gap > 0};
    if (gap > 0) {
        piece->nsamp = gap < (int64_t)nsamp ? (size_t)gap : nsamp;
        return;
    }
    const size_t from = (size_t)-gap, left = b->chunk.nsamp - from;
    const bool whole = b->layout.frame_nsamp != SIZE_MAX;
    find_frames(b, from, left < nsamp ? left : nsamp, piece);
    if (at > 0 && ((whole && left > nsamp) || piece->nbytes + piece->nflag > room))
        piece->nsamp = 0;
}

psr_status psr_baseband_take(psr_baseband *b, size_t nsamp, size_t at, uint8_t *to, size_t room,
                             struct psr_baseband_piece *piece, psr_err *err)
{
    *piece = (struct psr_baseband_piece){.nsamp = 0};
    b->nlost = at > 0 ? b->nlost : 0;
    b->nmark = at > 0 ? b->nmark : 0;
    b->place = (struct psr_baseband_place){to, room, nsamp};
    psr_status st = next_chunk(b, b->count.nsamp, err);
    b->place.bytes = NULL;
    if (st || b->ended || nsamp == 0)
        return st;
    if (b->other)
        return psr_fail_field(
            err, PSR_EUNSUPPORTED, "layout",
            "%s: has samples in another order or coding than the first file: only "
            "the CPU reads both in one run",
            b->input->name);
    find_piece(b, nsamp, at, room, piece);
    if (piece->nbytes + piece->nflag > room && piece->nsamp > 0)
        return psr_fail(err, PSR_EUNSUPPORTED, "%s: frames of %zu bytes, limit %zu of a block",
                        b->input->name, piece->nbytes, room);
    const int64_t lost = b->count.lost;
    if (piece->missing)
        st = add_lost(b, at, piece->nsamp, err);
    else if (piece->present && piece->nsamp > 0)
        st = drop_absent(b, (size_t)(b->count.nsamp - b->chunk.first), piece->nsamp, NULL, 0, at,
                         err);
    piece->some_absent = !piece->missing && b->count.lost > lost;
    b->count.nsamp += (int64_t)piece->nsamp;
    return st;
}
