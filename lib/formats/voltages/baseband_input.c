/* Buffers bytes of a file, a pipe or a network stream, so that headers can be looked at before they are taken. */
#include "baseband.h"

#include "formats/stream/udp.h"

#include "base/clock.h"
#include "base/input/readfd.h"
#include "base/path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    if (want <= in->room)
        return PSR_OK;
    uint8_t *grown = realloc(in->buffer, want);
    if (!grown)
        return psr_fail_nomem(err, in->name, (double)want);
    in->buffer = grown;
    in->room = want;
    return PSR_OK;
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
