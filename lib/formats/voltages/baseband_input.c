/* Buffers bytes of a file, a pipe or a network stream, so that headers can be looked at before they are taken. */
#include "baseband.h"

#include "base/base.h"
#include "base/input/readfd.h"
#include "base/threads/isa.h"
#include "formats/stream/udp.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- unpacks coded voltages to floats --------------------------------------------------------- */

/* Samples that a thread unpacks at a time, and values that a second thread is worth its start. */
enum { PIECE = 8192, TEAM_MIN = 1 << 16 };

psr_status psr_baseband_make_planes(struct baseband_layout *l, psr_err *err)
{
    free(l->plane_bits);
    l->plane_bits = calloc(2 * l->nplane, sizeof *l->plane_bits);
    if (!l->plane_bits)
        return psr_fail_nomem(err, "channels", (double)l->nplane * sizeof(size_t));
    l->plane_group = l->plane_bits + l->nplane;
    return PSR_OK;
}

/* --- values ----------------------------------------------------------------------------------- */

static float value_of(const struct baseband_coding *c, unsigned level)
{
    static const float two_bits[] = {-3.3165052F, -1, 1, 3.3165052F};
    const int half = 1 << (c->nbit - 1);
    const int value = c->code == BASEBAND_OFFSET ? (int)level - half : ((int)level ^ half) - half;
    if (c->nbit == 1)
        return level ? 1 : -1;
    if (c->nbit == 2)
        return two_bits[value + half];
    return c->scale > 0 ? (float)value * c->scale : (float)value;
}

void psr_baseband_fill_values(struct baseband_coding *c)
{
    if (c->nbit <= 8)
        for (unsigned level = 0; level < 1U << c->nbit; level++)
            c->value[level] = value_of(c, level);
}

/* --- runs of samples -------------------------------------------------------------------------- */

/* How bytes become values. */
struct bytes_to {
    uint8_t flip;
    float shift, scale;
};

/* Components that follow each other. */
PSR_CLONES static void unpack_bytes_in_turn(struct bytes_to c, const uint8_t *restrict from,
                                            size_t n, float *restrict out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = ((float)(int8_t)(from[i] ^ c.flip) + c.shift) * c.scale;
}

/* Complex samples of one of two planes in turn. */
PSR_CLONES static void unpack_bytes_of_two(struct bytes_to c, const uint8_t *restrict from,
                                           size_t n, float *restrict out)
{
    for (size_t t = 0; t < n; t++)
        for (size_t e = 0; e < 2; e++)
            out[2 * t + e] = ((float)(int8_t)(from[4 * t + e] ^ c.flip) + c.shift) * c.scale;
}

/* n samples of ndim components each, step bytes apart. */
static void unpack_bytes(const struct baseband_coding *coding, const uint8_t *from, size_t step,
                         size_t n, size_t ndim, float *out)
{
    const struct bytes_to c = {.flip = coding->code == BASEBAND_OFFSET ? 0x80 : 0,
                               .shift = coding->shift,
                               .scale = coding->scale > 0 ? coding->scale : 1};
    if (step == ndim)
        unpack_bytes_in_turn(c, from, n * ndim, out);
    else if (step == 4 && ndim == 2)
        unpack_bytes_of_two(c, from, n, out);
    else
        for (size_t t = 0; t < n; t++)
            unpack_bytes_in_turn(c, from + t * step, ndim, out + t * ndim);
}

static float read_wide(const struct baseband_coding *c, const uint8_t *from)
{
    uint32_t bits = from[0] | (uint32_t)from[1] << 8;
    float value;
    if (c->code != BASEBAND_FLOAT)
        return ((c->code == BASEBAND_OFFSET ? (float)((int)bits - 32768) : (float)(int16_t)bits) +
                c->shift) *
               (c->scale > 0 ? c->scale : 1);
    bits |= (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
    memcpy(&value, &bits, sizeof value);
    return isfinite(value) ? value : 0;
}

static void unpack_wide(const struct baseband_coding *c, const uint8_t *from, size_t step, size_t n,
                        size_t ndim, float *out)
{
    const size_t bytes = (size_t)c->nbit / 8;
    for (size_t t = 0; t < n; t++)
        for (size_t e = 0; e < ndim; e++)
            out[t * ndim + e] = read_wide(c, from + t * step + e * bytes);
}

/* Samples [from, from + n) of a plane, frame by frame. */
static void unpack_plane(const struct baseband_layout *l, const struct baseband_coding *c,
                         const uint8_t *bytes, size_t plane, size_t from, size_t n, float *out)
{
    while (n > 0) {
        const size_t frame = from / l->frame_nsamp, within = from % l->frame_nsamp;
        const size_t left = l->frame_nsamp - within, part = n < left ? n : left;
        const uint8_t *frame_bytes = bytes + frame * l->frame_bytes;
        const size_t bit = l->plane_bits[plane] + within * l->sample_bits;
        if (c->nbit < 8) {
            const size_t step = l->sample_bits;
            const size_t ndim = l->ndim;
            const unsigned nbit = (unsigned)c->nbit, mask = (1U << nbit) - 1;
            for (size_t t = 0; t < part; t++)
                for (size_t e = 0; e < ndim; e++) {
                    const size_t at = bit + t * step + e * nbit;
                    const unsigned low = (unsigned)(at % 8),
                                   shift = c->high_first ? 8 - nbit - low : low;
                    out[t * ndim + e] = c->value[frame_bytes[at / 8] >> shift & mask];
                }
        } else if (c->nbit == 8)
            unpack_bytes(c, frame_bytes + bit / 8, l->sample_bits / 8, part, l->ndim, out);
        else
            unpack_wide(c, frame_bytes + bit / 8, l->sample_bits / 8, part, l->ndim, out);
        from += part;
        n -= part;
        out += part * l->ndim;
    }
}

void psr_baseband_unpack(const struct baseband_layout *l, const struct baseband_coding *c,
                         const uint8_t *bytes, size_t from, size_t n, float *out, size_t stride,
                         int nthread)
{
    const size_t npiece = (n + PIECE - 1) / PIECE;
    const int team = n * l->nplane * l->ndim < TEAM_MIN ? 1 : nthread;
    (void)team; /* without OpenMP */
#pragma omp parallel for num_threads(team) schedule(static)
    for (size_t k = 0; k < npiece * l->nplane; k++) {
        const size_t piece = k / l->nplane, plane = k % l->nplane, at = piece * PIECE;
        unpack_plane(l, c, bytes, plane, from + at, n - at < PIECE ? n - at : PIECE,
                     out + (plane * stride + at) * l->ndim);
    }
}

/* SLICE_BYTES of a file, several of them, are worth a thread. */
enum { READ_BYTES = 1 << 20, SLICE_BYTES = 1 << 18, SLICES_MIN = 16 };

psr_status psr_baseband_input_open(struct psr_baseband_input **out, const char *path,
                                   const struct psr_notes *notes, psr_err *err)
{
    struct psr_baseband_input *in = calloc(1, sizeof *in);
    *out = NULL;
    if (!in)
        return psr_fail_nomem(err, "an input", sizeof *in);
    in->name = psr_path_called(path);
    in->fd = -1;
    in->stream = psr_udp_is_name(path);
    psr_status st = in->stream ? psr_udp_frames_open(&in->network, path, notes, err)
                               : psr_open_input(&in->fd, &in->stream, &in->size, path, err);
    if (st) {
        psr_baseband_input_close(in);
        return st;
    }
    in->size = in->stream ? -1 : in->size;
    *out = in;
    return PSR_OK;
}

void psr_baseband_input_close(struct psr_baseband_input *in)
{
    if (!in)
        return;
    if (in->fd >= 0)
        close(in->fd);
    psr_udp_frames_close(in->network);
    free(in->buffer);
    free(in);
}

/* Makes room for n bytes from begin on. */
static psr_status make_room(struct psr_baseband_input *in, size_t n, psr_err *err)
{
    const size_t held = in->end - in->begin, want = n + READ_BYTES;
    if (in->begin + want <= in->room)
        return PSR_OK;
    if (held)
        memmove(in->buffer, in->buffer + in->begin, held);
    in->begin = 0;
    in->end = held;
    return psr_reserve(&in->buffer, &in->room, want, 1, in->name, err);
}

/* Reads up to n bytes into to: *got, 0 only at the end. */
static psr_status read_some(struct psr_baseband_input *in, void *to, size_t n, size_t *got,
                            psr_err *err)
{
    *got = 0;
    if (in->network) {
        psr_status st = psr_udp_frames_read(in->network, to, n, got, err);
        in->ended = !st && *got == 0;
        in->arrival_s = psr_udp_frames_came(in->network);
        return st;
    }
    const ssize_t more = psr_read_some(in->fd, to, n);
    if (more < 0)
        return psr_fail_errno(err, "%s", in->name);
    *got = (size_t)more;
    in->ended = more == 0;
    in->arrival_s = psr_seconds();
    return PSR_OK;
}

psr_status psr_baseband_input_peek(struct psr_baseband_input *in, size_t n, const uint8_t **bytes,
                                   size_t *got, psr_err *err)
{
    psr_status st = in->end - in->begin < n ? make_room(in, n, err) : PSR_OK;
    while (!st && in->end - in->begin < n && !in->ended) {
        size_t more;
        st = read_some(in, in->buffer + in->end, in->room - in->end, &more, err);
        in->end += more;
    }
    const size_t held = in->end - in->begin;
    *bytes = in->buffer ? in->buffer + in->begin : (const uint8_t *)"";
    *got = held < n ? held : n;
    return st;
}

static size_t take_held(struct psr_baseband_input *in, void *to, size_t n)
{
    const size_t held = in->end - in->begin, part = held < n ? held : n;
    if (part && to)
        memcpy(to, in->buffer + in->begin, part);
    in->begin += part;
    in->at += (int64_t)part;
    return part;
}

/* Bytes of slices that follow each other, up to one that is short; -1 with errno. */
static ssize_t read_slices(int fd, uint8_t *to, size_t n, off_t from, int nthread)
{
    const size_t nslice = (n + SLICE_BYTES - 1) / SLICE_BYTES;
    ssize_t got = 0;
    size_t first = nslice; /* that is short */
    int error = 0;
    (void)nthread; /* without OpenMP */
#pragma omp parallel for num_threads(nthread) schedule(dynamic)
    for (size_t i = 0; i < nslice; i++) {
        const size_t at = i * SLICE_BYTES, left = n - at;
        const size_t want = left < SLICE_BYTES ? left : SLICE_BYTES;
        const ssize_t more = psr_read_at(fd, to + at, want, from + (off_t)at);
        const int why = more < 0 ? errno : 0;
#pragma omp critical
        if (more < (ssize_t)want && i < first) {
            first = i;
            got = more < 0 ? -1 : (ssize_t)at + more;
            error = why;
        }
    }
    errno = error;
    return first == nslice ? (ssize_t)n : got;
}

psr_status psr_baseband_input_take(struct psr_baseband_input *in, void *to, size_t n, size_t *got,
                                   psr_err *err)
{
    psr_status st = PSR_OK;
    const uint8_t *bytes;
    size_t more = 1;
    *got = take_held(in, to, n);
    if (!in->stream && in->nthread > 1 && n - *got >= SLICES_MIN * SLICE_BYTES) {
        const off_t from = lseek(in->fd, 0, SEEK_CUR);
        const ssize_t read =
            from < 0 ? -1 : read_slices(in->fd, (uint8_t *)to + *got, n - *got, from, in->nthread);
        more = read < 0 ? 0 : (size_t)read;
        if (read < 0 || lseek(in->fd, from + read, SEEK_SET) < 0)
            return psr_fail_errno(err, "%s", in->name);
        *got += more;
        in->at += (int64_t)more;
    }
    while (!st && n - *got >= READ_BYTES && more > 0) { /* without a copy */
        st = read_some(in, (char *)to + *got, n - *got, &more, err);
        *got += more;
        in->at += (int64_t)more;
    }
    if (!st && *got < n && more > 0) {
        st = psr_baseband_input_peek(in, n - *got, &bytes, &more, err);
        *got += st ? 0 : take_held(in, (char *)to + *got, n - *got);
    }
    return st;
}

psr_status psr_baseband_input_skip(struct psr_baseband_input *in, int64_t n, psr_err *err)
{
    psr_status st = PSR_OK;
    const uint8_t *bytes;
    size_t got = 1;
    n -= (int64_t)take_held(in, NULL, n > READ_BYTES ? READ_BYTES : (size_t)n);
    while (!st && n > 0 && got > 0) {
        const size_t most = n < READ_BYTES ? (size_t)n : READ_BYTES;
        st = psr_baseband_input_peek(in, most, &bytes, &got, err);
        n -= st ? 0 : (int64_t)take_held(in, NULL, got);
    }
    return st;
}

/* --- binary fields of a file in memory --------------------------------------------------------- */

psr_status psr_byte_cursor_take(struct psr_byte_cursor *c, void *to, size_t bytes, const char *what)
{
    if (bytes > c->n)
        return psr_fail(c->err, PSR_EFORMAT, "%s: ends inside %s: %zu of %zu bytes are there",
                        c->name, what, c->n, bytes);
    if (bytes)
        memcpy(to, c->at, bytes);
    c->at += bytes;
    c->n -= bytes;
    return PSR_OK;
}
