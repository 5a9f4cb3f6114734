/* Blocks of coded voltages in page-locked memory. */
#include "base/device/device_internal.h"
#include "spectra.h"

#include <psrkit/device.h>

#include <stdlib.h>
#include <string.h>

enum { FRAMES_MORE = 8, BYTES_MORE = 1 << 16 };

size_t psr_spectra_bytes(const struct baseband_layout *l, int nbit, size_t nsamp)
{
    const size_t sample = l->nplane * l->ndim * (size_t)nbit;
    if (l->frame_nsamp == SIZE_MAX)
        return nsamp * sample / 8 + BYTES_MORE;
    /* pieces of frames take whole ones */
    const size_t frames = nsamp / l->frame_nsamp + FRAMES_MORE;
    return frames * (l->frame_bytes + l->ngroup) + BYTES_MORE;
}

psr_status psr_spectra_block_make(struct psr_spectra_block *b, size_t bytes, psr_err *err)
{
    void *p = NULL;
    b->run = calloc(PSR_SPECTRA_RUNS, sizeof *b->run);
    if (!b->run)
        return psr_fail_nomem(err, "voltages", PSR_SPECTRA_RUNS * (double)sizeof *b->run);
    psr_status st = psr_device_pin(&p, bytes, err);
    b->bytes = p;
    b->room = bytes;
    return st;
}

void psr_spectra_block_free(struct psr_spectra_block *b)
{
    psr_device_unpin(b->bytes);
    free(b->run);
    *b = (struct psr_spectra_block){.bytes = NULL};
}

/* Whether frames go on where those of the run before end. */
static bool continues(const struct psr_spectra_block *b, const struct psr_baseband_piece *piece)
{
    if (b->nrun == 0 || piece->from || piece->some_absent)
        return false;
    const struct psr_spectra_run *last = b->run + b->nrun - 1;
    const size_t end = last->from + last->n;
    return !last->missing && last->flags == SIZE_MAX && piece->aligned &&
           end % piece->aligned == 0 && end + piece->nsamp < UINT32_MAX;
}

static void add_piece(struct psr_spectra_block *b, const struct psr_baseband_piece *piece)
{
    const bool on = !piece->missing && continues(b, piece);
    if (!on)
        b->run[b->nrun++] = (struct psr_spectra_run){
            .from = piece->from, .byte = b->nbytes, .flags = SIZE_MAX, .missing = piece->missing};
    struct psr_spectra_run *run = b->run + b->nrun - 1;
    run->n += piece->nsamp;
    b->nsamp += piece->nsamp;
    if (piece->missing)
        return;
    if (piece->bytes != b->bytes + b->nbytes) /* where it was read */
        memcpy(b->bytes + b->nbytes, piece->bytes, piece->nbytes);
    b->nbytes += piece->nbytes;
    if (piece->some_absent) {
        run->flags = b->nbytes;
        for (size_t i = 0; i < piece->nflag; i++)
            b->bytes[b->nbytes++] = piece->present[i];
    }
}

psr_status psr_spectra_block_fill(struct psr_spectra_block *b, psr_baseband *reader, size_t nsamp,
                                  psr_err *err)
{
    psr_status st = PSR_OK;
    b->nbytes = b->nsamp = b->nrun = 0;
    while (b->nsamp < nsamp && b->nrun < PSR_SPECTRA_RUNS && !st) {
        struct psr_baseband_piece piece;
        st = psr_baseband_take(reader, nsamp - b->nsamp, b->nsamp, b->bytes + b->nbytes,
                               b->room - b->nbytes, &piece, err);
        if (st || piece.nsamp == 0)
            break;
        add_piece(b, &piece);
    }
    return st;
}
