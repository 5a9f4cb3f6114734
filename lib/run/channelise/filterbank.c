/* Turns voltages into a filterbank: prepares and runs the parts. */
#include "base/base.h"
#include "base/obs_internal.h"
#include "filterbank_state.h"

#include <math.h>
#include <psrkit/ddplan.h>
#include <psrkit/device.h>
#include <psrkit/experimental/source.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Voltages to rows on a device: blocks go there as they are coded. */

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

/* Makes p->spectra and blocks for it, where the description's device is one that there is.
 * Status: PSR_EDEVICE, PSR_EUNSUPPORTED (only where a device is asked for), PSR_ENOMEM */
static psr_status filterbank_device_make(psr_filterbank *p, psr_err *err)
{
    const char *backend;
    int device;
    psr_status st = psr_device_choose(p->d.device, &backend, &device, err);
    if (st || !strcmp(backend, "cpu"))
        return st;
    st = make_spectra(p, backend, device, err);
    if (strcmp(backend, "auto") != 0 || (st != PSR_EDEVICE && st != PSR_EUNSUPPORTED))
        return st;
    psr_spectra_destroy(p->spectra);
    p->spectra = NULL;
    p->in.is_coded = false;
    p->rows.nthread = p->nthread;
    psr_baseband_use_threads(p->in.reader, p->nthread);
    free(p->good);
    p->good = NULL;
    for (int i = 0; i < PSR_FILTERBANK_BLOCKS; i++)
        psr_spectra_block_free(p->in.coded + i);
    if (psr_device_count(NULL) > 0)
        psr_note(&p->d.notes, "on the CPU, as the GPU cannot be used: %s", err->msg);
    return PSR_OK;
}

/* --- running ---------------------------------------------------------------------------------- */

/* One block is on its way while the rows of the one before are written; those of a stream are waited for. */
static psr_status filterbank_device_run(psr_filterbank *p, psr_err *err)
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
            psr_filterbank_find_good(p, psr_spectra_ready(p->spectra, block->nsamp));
            st = psr_spectra_push(p->spectra, block, p->good, err);
            under_way += !st;
        }
        if (!st && under_way > (more && !waits)) {
            const int64_t before = p->rows.nrow;
            const bool measured = p->rows.measured;
            const uint32_t *weight;
            float *x;
            size_t nrow;
            st = psr_spectra_collect(p->spectra, &x, &weight, &nrow, err);
            psr_charge(&p->channels_s, &since_s);
            if (!st)
                st = psr_filterbank_rows_take(&p->rows, x, weight, nrow, err);
            if (!st && psr_filterbank_input_is_stream(&p->in))
                st = psr_filterbank_send_rows(p, before, measured, err);
            psr_charge(&p->rows_s, &since_s);
            under_way--;
        }
        if (!st && p->d.progress)
            p->d.progress(p->d.ctx, p->in.first);
    }
    return st;
}

enum { HELD_BYTES = 1 << 26 }; /* of rows to measure the first scale on */

void psr_filterbank_set_defaults(struct psr_filterbank_desc *desc, size_t size)
{
    const struct psr_filterbank_desc all = {.pol = -1,
                                            .ntap = 1,
                                            .tsum = 1,
                                            .fsum = 1,
                                            .nbits = 2,
                                            .interval_s = 10,
                                            .scale = 1,
                                            .device = "auto"};
    psr_give_desc(desc, size, &all, sizeof all);
}

/* --- preparing -------------------------------------------------------------------------------- */

static psr_status open_input(psr_filterbank *p, psr_err *err)
{
    const struct psr_baseband_desc desc = {.size = sizeof desc,
                                           .path = p->d.path,
                                           .npath = p->d.npath,
                                           .freq_mhz = p->d.freq_mhz,
                                           .bw_mhz = p->d.bw_mhz,
                                           .npol = (size_t)p->d.npol,
                                           .nthread = (int)p->d.nthread,
                                           .notes = p->d.notes};
    psr_status st = psr_baseband_open(&p->in.reader, &desc, err);
    if (st)
        return st;
    const struct psr_baseband_header *h = p->header = psr_baseband_header(p->in.reader);
    if (p->d.pol >= (int64_t)h->npol)
        return psr_fail_field(err, PSR_EINVAL, "pol",
                              "filterbank: pol %lld, the input has %zu, counted from 0",
                              (long long)p->d.pol, h->npol);
    p->npol = p->d.pol < 0 ? h->npol : 1;
    p->in.skip = (int64_t)rint(p->d.start_s * h->rate_hz);
    p->in.left = p->d.total_s > 0 ? (int64_t)rint(p->d.total_s * h->rate_hz) : -1;
    return PSR_OK;
}

static psr_status make_channels(psr_filterbank *p, psr_err *err)
{
    const struct psr_baseband_header *h = p->header;
    const size_t nchan = p->d.nchan ? (size_t)p->d.nchan : h->nchan;
    const struct psr_channelise_desc desc = {.size = sizeof desc,
                                             .nchan_in = h->nchan,
                                             .npol = p->npol,
                                             .real = h->real,
                                             .freq_mhz = h->freq_mhz,
                                             .bw_mhz = h->bw_mhz,
                                             .nchan = nchan,
                                             .ntap = (size_t)p->d.ntap,
                                             .nfft = (size_t)p->d.freq_res,
                                             .dm = p->d.dm,
                                             .dmconst = PSR_DMCONST_PRESTO,
                                             .nthread = (int)p->d.nthread};
    if (h->real && nchan == h->nchan)
        return psr_fail_field(err, PSR_EINVAL, "nchan",
                              "filterbank: %zu channels of real voltages must be divided into more",
                              nchan);
    if (nchan % (size_t)p->d.fsum)
        return psr_fail_field(err, PSR_EINVAL, "fsum",
                              "filterbank: fsum %lld, must divide the %zu channels",
                              (long long)p->d.fsum, nchan);
    if (p->d.nbits < 8 && nchan / (size_t)p->d.fsum * (size_t)p->d.nbits % 8)
        return psr_fail_field(err, PSR_EINVAL, "nbits",
                              "filterbank: spectra of %zu channels of %d bits end within a byte",
                              nchan / (size_t)p->d.fsum, (int)p->d.nbits);
    psr_status st = psr_channelise_create(&p->channels, &desc, err);
    if (st)
        return st;
    psr_channelise_describe(p->channels, &p->shape);
    p->spectrum_nsamp = p->shape.step / p->shape.keep;
    return PSR_OK;
}

static enum psr_detect choose_products(int64_t products)
{
    static const enum psr_detect what[] = {[PSR_PRODUCTS_SUM] = PSR_DETECT_EACH,
                                           [PSR_PRODUCTS_EACH] = PSR_DETECT_EACH,
                                           [PSR_PRODUCTS_COHERENCE] = PSR_DETECT_COHERENCE,
                                           [PSR_PRODUCTS_STOKES] = PSR_DETECT_STOKES,
                                           [PSR_PRODUCTS_STOKES_CIRCULAR] =
                                               PSR_DETECT_STOKES_CIRCULAR};
    return what[products];
}

static void describe_rows(psr_filterbank *p)
{
    struct psr_filterbank_rows *r = &p->rows;
    const struct psr_filterbank_desc *d = &p->d;
    r->what = choose_products(d->products);
    r->npol = p->npol;
    r->nchan = (size_t)(d->nchan ? d->nchan : (int64_t)p->header->nchan);
    r->tsum = (size_t)d->tsum;
    r->fsum = (size_t)d->fsum;
    r->adds_pols = d->products == PSR_PRODUCTS_SUM && p->npol == 2;
    r->nthread = p->nthread;
    /* Levels of values of standard deviation 1: its sixth part of the range, or 1 with few bits. */
    const double half = (ldexp(1, (int)d->nbits) - 1) / 2;
    r->nbits = (int)d->nbits;
    r->middle = d->nbits == 16 ? 32768 : (float)half;
    r->shift = d->interval_s > 0 ? r->middle : 0;
    r->gain = (float)(d->scale * (d->interval_s > 0 && d->nbits > 2 ? (double)r->middle / 6 : 1));
}

static psr_status make_rows(psr_filterbank *p, psr_err *err)
{
    struct psr_filterbank_rows *r = &p->rows;
    const struct psr_filterbank_desc *d = &p->d;
    const double rows = d->interval_s / (p->shape.tsamp_s * (double)d->tsum);
    const int64_t interval = rows < 1 ? 1 : rows > 1e15 ? (int64_t)1e15 : (int64_t)rint(rows);
    const size_t row = psr_detect_nproduct(r->what, r->npol) * (r->nchan / r->fsum) * sizeof(float);
    const int64_t fit = HELD_BYTES / row > 0 ? (int64_t)(HELD_BYTES / row) : 1;
    r->held = (size_t)(interval < fit ? interval : fit);
    return psr_filterbank_rows_start(r, d->interval_s > 0 ? d->constant ? 0 : interval : -1, err);
}

static void copy_text(char *to, const char *instead, const char *from)
{
    if (instead || *from)
        snprintf(to, PSR_TEXT_MAX, "%s", instead ? instead : from);
}

/* One product is total intensity, or the power of one polarisation. */
static enum psr_pols kind_of_products(const struct psr_filterbank_rows *r)
{
    if (r->adds_pols || r->nproduct == 1)
        return PSR_POLS_INTENSITY;
    return r->what == PSR_DETECT_EACH        ? PSR_POLS_POWERS
           : r->what == PSR_DETECT_COHERENCE ? PSR_POLS_COHERENCE
                                             : PSR_POLS_STOKES;
}

static void describe_output(psr_filterbank *p)
{
    const struct psr_baseband_header *h = p->header;
    const struct psr_filterbank_rows *r = &p->rows;
    struct psr_obs *obs = &p->obs;
    const double width = fabs(h->bw_mhz) / (double)r->nchan;
    psr_obs_init(obs);
    obs->nchan = r->nchan / r->fsum;
    obs->nif = r->adds_pols ? 1 : (int)r->nproduct;
    obs->pols = kind_of_products(r);
    obs->nbit = r->nbits;
    obs->kind = r->nbits == 32 ? PSR_FLOAT : PSR_UINT;
    obs->foff_mhz = -width * (double)r->fsum;
    obs->fch1_mhz = psr_channelise_freq_mhz(p->channels, 0) - width * ((double)r->fsum - 1) / 2;
    obs->tsamp_s = p->shape.tsamp_s * (double)r->tsum;
    obs->tstart = psr_mjd_add(h->start, p->d.start_s + p->shape.first_s);
    obs->chan_dm = p->d.dm;
    obs->has_position = h->has_position;
    obs->ra_deg = h->ra_deg;
    obs->dec_deg = h->dec_deg;
    copy_text(obs->source, p->d.source, h->source);
    copy_text(obs->telescope, p->d.telescope, h->telescope);
    copy_text(obs->instrument, NULL, h->instrument);
    obs->telescope_id = psr_telescope_id(obs->telescope);
}

static psr_status open_output(psr_filterbank *p, psr_err *err)
{
    describe_output(p);
    psr_status st = psr_obs_check(&p->obs, p->d.output, err);
    if (!st)
        st = psr_outfile_create(&p->rows.file, p->d.output, err);
    if (!st)
        st = psr_spectra_write_header(p->rows.file, p->d.output, &p->obs, err);
    return st;
}

void psr_filterbank_destroy(psr_filterbank *p)
{
    if (!p)
        return;
    psr_spectra_destroy(p->spectra);
    psr_filterbank_input_end(&p->in);
    psr_channelise_destroy(p->channels);
    psr_filterbank_rows_free(&p->rows);
    psr_obs_clear(&p->obs);
    free(p->v);
    free(p->good);
    free(p);
}

psr_status psr_filterbank_create(psr_filterbank **out, const struct psr_filterbank_desc *desc,
                                 psr_err *err)
{
    *out = NULL;
    psr_filterbank *p = calloc(1, sizeof *p);
    if (!p)
        return psr_fail_nomem(err, "a filterbank", sizeof *p);
    psr_obs_init(&p->obs);
    psr_status st = psr_copy_desc(&p->d, sizeof p->d, desc, "psr_filterbank_desc", err);
    p->nthread = psr_count_threads((int)p->d.nthread);
    if (!st)
        st = psr_filterbank_check(&p->d, err);
    if (!st) {
        /* Before an input is waited for, which may be the output. */
        struct psr_overwrite_check c = {0};
        for (size_t i = 0; i < p->d.npath && !st; i++)
            st = psr_overwrite_check_input(&c, p->d.path[i], err);
        if (!st)
            st = psr_overwrite_check_output(&c, p->d.output, NULL, err);
        psr_overwrite_check_clear(&c);
    }
    if (!st)
        st = open_input(p, err);
    if (!st)
        st = make_channels(p, err);
    if (!st) {
        describe_rows(p);
        st = filterbank_device_make(p, err);
    }
    if (!st && !p->spectra)
        st = psr_filterbank_cpu_make(p, err);
    if (!st)
        st = make_rows(p, err);
    if (!st)
        st = open_output(p, err);
    if (st) {
        psr_filterbank_destroy(p);
        return st;
    }
    *out = p;
    return PSR_OK;
}

/* --- running ---------------------------------------------------------------------------------- */

psr_status psr_filterbank_run(psr_filterbank *p, psr_err *err)
{
    psr_status st = p->spectra ? filterbank_device_run(p, err) : psr_filterbank_cpu_run(p, err);
    if (!st)
        st = psr_filterbank_rows_finish(&p->rows, err);
    if (!st && p->rows.nrow == 0)
        st = psr_fail_field(err, PSR_EUNSUPPORTED, "nchan",
                            "%s: %lld samples are too few for a sum of %zu spectra, of %zu each",
                            psr_path_called(p->d.path[0]), (long long)p->in.first, p->rows.tsum,
                            p->shape.segment);
    return st;
}

psr_status psr_filterbank_finish(psr_filterbank *p, psr_err *err)
{
    psr_outfile *file = p->rows.file;
    p->rows.file = NULL;
    return psr_outfile_commit(file, err);
}

void psr_filterbank_describe_sized(const psr_filterbank *p, struct psr_filterbank_report *report,
                                   size_t size)
{
    const struct psr_baseband_header *h = p->header;
    const size_t sample = h->nchan * h->npol * (h->real ? 1 : 2);
    const struct psr_filterbank_latency *l = &p->in.latency;
    struct psr_baseband_count count;
    psr_baseband_describe(p->in.reader, &count);
    const struct psr_filterbank_report all = {
        .input = psr_path_called(p->d.path[0]),
        .format = h->format,
        .nchan_in = h->nchan,
        .npol_in = h->npol,
        .real = h->real,
        .nbit_in = h->nbit,
        .rate_hz = h->rate_hz,
        .nsamp = psr_baseband_nsamp(p->in.reader),
        .sample_bytes = (double)sample * h->nbit / 8,
        .nchan = p->rows.nchan,
        .nfft = p->shape.nfft,
        .early = p->shape.early,
        .late = p->shape.late,
        .out = &p->obs,
        .held = (int64_t)p->rows.held,
        .nthread = p->nthread,
        .backend = p->spectra ? psr_spectra_backend(p->spectra) : "cpu",
        .nread = p->in.first,
        .nlost = count.lost,
        .nrow = p->rows.nrow,
        .nrow_lost = p->rows.nlost,
        .read_s = p->read_s,
        .channels_s = p->channels_s,
        .rows_s = p->rows_s,
        .ntimed = l->nrow,
        .latency_s = l->nrow ? l->sum_s / (double)l->nrow : 0,
        .worst_s = l->worst_s,
        .block_s = (double)(p->in.block + p->shape.segment) / h->rate_hz,
        .hold_s = (double)psr_baseband_hold(p->in.reader) / h->rate_hz};
    psr_give_desc(report, size, &all, sizeof all);
}
