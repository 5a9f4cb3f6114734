/* Voltages to rows on a device: blocks go there as they are coded. */
#include "filterbank_state.h"

#include "base/clock.h"
#include <psrkit/device.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A block is long enough to fill a device. */
enum { BLOCK_BYTES = 34000000, SEGMENTS_MIN = 4, ROWS_WORK = 4 };
static const double stream_s = 0.05; /* of a block of a stream, which others wait for */

/* --- preparing -------------------------------------------------------------------------------- */

/* Blocks of whole batches where those are shorter, or of whole steps; or of a frame where that is longer. */
static size_t choose_block(const psr_filterbank *p, const struct baseband_layout *l)
{
    const struct psr_baseband_header *h = p->header;
    const size_t sample_bits = h->nchan * h->npol * (h->real ? 1 : 2) * (size_t)h->nbit;
    const bool given = p->d.block_mb > 0;
    const double bytes = given ? 1e6 * p->d.block_mb : BLOCK_BYTES;
    const double fit = bytes * 8 / (double)sample_bits, soon = stream_s * h->rate_hz;
    const bool waits = psr_filterbank_input_is_stream(&p->in) && !given && soon < fit;
    const double nstep = (waits ? soon : fit) / (double)p->shape.step;
    const size_t least = given ? 1 : SEGMENTS_MIN, batch = psr_spectra_batch(p->channels);
    const size_t n = nstep > (double)least ? (size_t)nstep : least;
    const size_t block = p->shape.step * (n > batch ? n - n % batch : n);
    return l->frame_nsamp != SIZE_MAX && l->frame_nsamp > block ? l->frame_nsamp : block;
}

static psr_status make_blocks(psr_filterbank *p, size_t bytes, psr_err *err)
{
    psr_status st = PSR_OK;
    p->in.is_coded = true;
    for (int i = 0; i < PSR_FILTERBANK_BLOCKS && !st; i++)
        st = psr_spectra_block_make(p->in.coded + i, bytes, err);
    const size_t most = (p->in.block + p->shape.segment) / p->shape.step + 1;
    p->good = malloc(most * p->shape.keep * sizeof *p->good);
    if (!st && !p->good)
        st = psr_fail_nomem(err, "spectra", (double)most * (double)p->shape.keep);
    return st;
}

/* Rows are made while voltages are read: teams that have a processor each do not wait for each
 * other's threads.  A byte of rows, as floats, takes as long as four of voltages. */
static void share_threads(psr_filterbank *p)
{
    const struct psr_baseband_header *h = p->header;
    const struct psr_filterbank_rows *r = &p->rows;
    const size_t nvalue = psr_detect_nproduct(r->what, r->npol) * (r->nchan / r->fsum);
    const double row = ROWS_WORK * (double)(nvalue * sizeof(float)) / (double)r->tsum;
    const double sample = (double)(h->nchan * h->npol * (h->real ? 1 : 2)) * h->nbit / 8;
    const double share = row / (row + sample * (double)p->spectrum_nsamp);
    const int most = p->nthread * 3 / 4, want = (int)ceil(share * p->nthread);
    const int rows = want < most ? want : most > 1 ? most : 1;
    p->rows.nthread = rows;
    psr_baseband_use_threads(p->in.reader, p->nthread > rows ? p->nthread - rows : 1);
}

static psr_status make_spectra(psr_filterbank *p, const char *backend, int device, psr_err *err)
{
    const struct psr_filterbank_rows *r = &p->rows;
    const struct baseband_layout *layout = &p->in.reader->layout;
    const size_t block = choose_block(p, layout);
    const struct psr_spectra_desc desc = {.channels = p->channels,
                                          .layout = layout,
                                          .coding = &p->in.reader->coding,
                                          .npol = p->header->npol,
                                          .pol = p->d.pol,
                                          .what = r->what,
                                          .tsum = r->tsum,
                                          .fsum = r->fsum,
                                          .block = block,
                                          .block_bytes =
                                              psr_spectra_bytes(layout, p->header->nbit, block),
                                          .backend = backend,
                                          .device = device};
    psr_status st = psr_spectra_create(&p->spectra, &desc, err);
    if (st)
        return st;
    p->in.block = block;
    share_threads(p);
    return make_blocks(p, desc.block_bytes, err);
}

static void leave_device(psr_filterbank *p)
{
    psr_spectra_destroy(p->spectra);
    p->spectra = NULL;
    p->in.is_coded = false;
    p->rows.nthread = p->nthread;
    psr_baseband_use_threads(p->in.reader, p->nthread);
    free(p->good);
    p->good = NULL;
    for (int i = 0; i < PSR_FILTERBANK_BLOCKS; i++)
        psr_spectra_block_free(p->in.coded + i);
}

psr_status psr_filterbank_device_make(psr_filterbank *p, psr_err *err)
{
    const char *backend;
    int device;
    psr_status st = psr_device_choose(p->d.device, &backend, &device, err);
    if (st || !strcmp(backend, "cpu"))
        return st;
    st = make_spectra(p, backend, device, err);
    if (strcmp(backend, "auto") != 0 || (st != PSR_EDEVICE && st != PSR_EUNSUPPORTED))
        return st;
    leave_device(p);
    if (psr_device_count(NULL) > 0)
        psr_note(&p->d.notes, "on the CPU, as the GPU cannot be used: %s", err->msg);
    return PSR_OK;
}

/* --- running ---------------------------------------------------------------------------------- */

static psr_status push(psr_filterbank *p, const struct psr_spectra_block *block, psr_err *err)
{
    psr_filterbank_find_good(p, psr_spectra_ready(p->spectra, block->nsamp));
    return psr_spectra_push(p->spectra, block, p->good, err);
}

static psr_status collect(psr_filterbank *p, double *since_s, psr_err *err)
{
    const int64_t before = p->rows.nrow;
    const bool measured = p->rows.measured;
    const uint32_t *weight;
    float *x;
    size_t nrow;
    psr_status st = psr_spectra_collect(p->spectra, &x, &weight, &nrow, err);
    psr_charge(&p->channels_s, since_s);
    if (!st)
        st = psr_filterbank_rows_take(&p->rows, x, weight, nrow, err);
    if (!st && psr_filterbank_input_is_stream(&p->in))
        st = psr_filterbank_send_rows(p, before, measured, err);
    psr_charge(&p->rows_s, since_s);
    return st;
}

/* One block is on its way while the rows of the one before are written; those of a stream are waited for. */
psr_status psr_filterbank_device_run(psr_filterbank *p, psr_err *err)
{
    const bool waits = psr_filterbank_input_is_stream(&p->in);
    psr_status st = psr_filterbank_input_start(&p->in, err);
    int under_way = 0;
    for (bool more = true; (more || under_way) && !st;) {
        struct psr_spectra_block *block;
        double since_s = psr_seconds();
        if (more) {
            st = psr_filterbank_input_next_coded(&p->in, &block, err);
            psr_charge(&p->read_s, &since_s);
            more = !st && block->nsamp > 0;
        }
        if (!st)
            st = psr_filterbank_check_stop(p, err);
        if (!st && more) {
            st = push(p, block, err);
            under_way += !st;
        }
        if (!st && under_way > (more && !waits)) {
            st = collect(p, &since_s, err);
            under_way--;
        }
        if (!st && p->d.progress)
            p->d.progress(p->d.ctx, p->in.first);
    }
    return st;
}
