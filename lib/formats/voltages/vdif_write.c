/* Writes and sends VDIF frames. */
#include <psrkit/experimental/source.h>

#include "base/base.h"
#include "formats/stream/udp.h"

#include <erfa.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
