/* Voltages to rows on the CPU: blocks are unpacked as they are read. */
#include "filterbank_state.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of floats of a block of voltages. */
enum { BLOCK_BYTES = 1 << 23, SEGMENTS_MIN = 4 };
static const double stream_s = 0.05; /* of a block of a stream, which others wait for */

/* Blocks of whole steps, so that no block is without a spectrum. */
psr_status psr_filterbank_cpu_make(psr_filterbank *p, psr_err *err)
{
    const struct psr_baseband_header *h = p->header;
    const size_t sample = h->nchan * h->npol * (h->real ? 1 : 2) * sizeof(float);
    const double soon = stream_s * h->rate_hz, most_here = (double)(BLOCK_BYTES / sample);
    const bool waits = psr_filterbank_input_is_stream(&p->in) && soon < most_here;
    const size_t fit = (size_t)(waits ? soon : most_here), step = p->shape.step;
    const size_t nstep = fit / step > SEGMENTS_MIN ? fit / step : SEGMENTS_MIN;
    p->in.block = nstep * step;
    if (p->shape.keep == 1) /* no spectrum that is used has a lost sample in its segment */
        psr_baseband_leave_lost(p->in.reader);
    const size_t most = (nstep + p->shape.segment / step + 1) * p->shape.keep;
    p->v = malloc(most * p->npol * 2 * (h->nchan * p->spectrum_nsamp) * sizeof *p->v);
    p->good = malloc(most * sizeof *p->good);
    if (!p->v || !p->good)
        return psr_fail_nomem(err, "spectra", (double)most * (double)sample);
    return PSR_OK;
}

/* --- running ---------------------------------------------------------------------------------- */

/* Moves the chosen polarisation's planes together: [nchan][n]. */
static void choose_pol(const psr_filterbank *p, float *planes, size_t n)
{
    const struct psr_baseband_header *h = p->header;
    const size_t plane = n * (h->real ? 1 : 2);
    for (size_t c = 0; c < h->nchan && p->npol < h->npol; c++)
        memmove(planes + c * plane, planes + (c * h->npol + (size_t)p->d.pol) * plane,
                plane * sizeof *planes);
}

static psr_status process(psr_filterbank *p, float *planes, size_t n, psr_err *err)
{
    const int64_t nrow = p->rows.nrow;
    const bool measured = p->rows.measured;
    double since_s = psr_seconds();
    size_t nspectrum;
    choose_pol(p, planes, n);
    psr_filterbank_find_good(p, psr_channelise_ready(p->channels, n));
    psr_status st = psr_channelise_execute(p->channels, planes, n, p->good, p->v, &nspectrum, err);
    psr_charge(&p->channels_s, &since_s);
    if (st)
        return st;
    st = psr_filterbank_rows_add(&p->rows, p->v, p->good, nspectrum, err);
    if (!st && psr_filterbank_input_is_stream(&p->in))
        st = psr_filterbank_send_rows(p, nrow, measured, err);
    psr_charge(&p->rows_s, &since_s);
    return st;
}

psr_status psr_filterbank_cpu_run(psr_filterbank *p, psr_err *err)
{
    psr_status st = psr_filterbank_input_start(&p->in, err);
    for (size_t n = 1; n > 0 && !st;) {
        double since_s = psr_seconds();
        float *planes;
        st = psr_filterbank_input_next(&p->in, &planes, &n, err);
        psr_charge(&p->read_s, &since_s);
        if (!st)
            st = psr_filterbank_check_stop(p, err);
        if (!st && n > 0)
            st = process(p, planes, n, err);
        if (!st && p->d.progress)
            p->d.progress(p->d.ctx, p->in.first);
    }
    return st;
}

/* --- checks the description of a filterbank --------------------------------------------------- */

static psr_status check_ranges(const struct psr_filterbank_desc *d, psr_err *err)
{
    const struct {
        const char *field;
        int64_t value, min, max;
    } whole[] = {{"npol", d->npol, 0, 2},
                 {"pol", d->pol, -1, 1},
                 {"nchan", d->nchan, 0, PSR_CHANNELISE_CHAN_MAX},
                 {"ntap", d->ntap, 0, PSR_CHANNELISE_TAPS_MAX},
                 {"freq_res", d->freq_res, 0, PSR_CHANNELISE_FFT_MAX},
                 {"products", d->products, 0, PSR_PRODUCTS_STOKES_CIRCULAR},
                 {"tsum", d->tsum, 1, 1 << 24},
                 {"fsum", d->fsum, 1, PSR_CHANNELISE_CHAN_MAX},
                 {"nbits", d->nbits, 1, 32},
                 {"nthread", d->nthread, 0, 4096}};
    const struct {
        const char *field;
        double value, min, max;
    } numbers[] = {{"freq_mhz", d->freq_mhz, 0, 1e9},     {"bw_mhz", d->bw_mhz, -1e9, 1e9},
                   {"start_s", d->start_s, 0, 1e9},       {"total_s", d->total_s, 0, 1e9},
                   {"interval_s", d->interval_s, 0, 1e9}, {"dm", d->dm, 0, 1e6},
                   {"scale", d->scale, 1e-9, 1e9},        {"block_mb", d->block_mb, 0, 1e6}};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (!(whole[i].value >= whole[i].min && whole[i].value <= whole[i].max))
            return psr_fail_field(err, PSR_EINVAL, whole[i].field,
                                  "filterbank: %s %lld, must be %lld to %lld", whole[i].field,
                                  (long long)whole[i].value, (long long)whole[i].min,
                                  (long long)whole[i].max);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!(numbers[i].value >= numbers[i].min && numbers[i].value <= numbers[i].max))
            return psr_fail_field(err, PSR_EINVAL, numbers[i].field,
                                  "filterbank: %s %g, must be %g to %g", numbers[i].field,
                                  numbers[i].value, numbers[i].min, numbers[i].max);
    return PSR_OK;
}

psr_status psr_filterbank_check(const struct psr_filterbank_desc *d, psr_err *err)
{
    psr_status st = check_ranges(d, err);
    if (!st && (d->nbits & (d->nbits - 1)))
        st = psr_fail_field(err, PSR_EINVAL, "nbits",
                            "filterbank: nbits %d, must be 1, 2, 4, 8, 16 or 32", (int)d->nbits);
    if (!st && !d->device)
        st = psr_fail_field(err, PSR_EINVAL, "device", "filterbank: no device");
    if (!st && !d->output)
        st = psr_fail_field(err, PSR_EINVAL, "output", "filterbank: no output");
    if (!st && d->npath < 1)
        st = psr_fail_field(err, PSR_EINVAL, "npath", "filterbank: no input");
    return st;
}

psr_status psr_filterbank_check_stop(const psr_filterbank *p, psr_err *err)
{
    const bool stops = p->d.should_stop && p->d.should_stop(p->d.ctx);
    return stops ? psr_fail(err, PSR_ESTOPPED, "stopped") : PSR_OK;
}
