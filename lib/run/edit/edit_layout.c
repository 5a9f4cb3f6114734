/* Describes what is written: channels, their frequencies, and the start. */
#include "edit_state.h"

#include "base/obs_internal.h"

#include <stdlib.h>
#include <string.h>

static psr_status take_range(psr_edit *p, psr_err *err)
{
    const int64_t nchan = (int64_t)p->in.nchan, first = p->d.first_chan,
                  end = p->d.end_chan ? p->d.end_chan : nchan;
    if (first < 0 || first >= end || end > nchan)
        return psr_fail_field(err, PSR_EINVAL, "chans",
                              "edit: chans %lld:%lld, must be a range within 0:%lld",
                              (long long)first, (long long)end, (long long)nchan);
    p->channels.first = (size_t)first;
    p->channels.nchan = (size_t)(end - first);
    return PSR_OK;
}

/* Channels of a table need not be in order: then a band may have none between them that it lacks. */
static psr_status take_band(psr_edit *p, psr_err *err)
{
    size_t first = p->in.nchan, end = 0, n = 0;
    for (size_t c = 0; c < p->in.nchan; c++) {
        const double f = psr_obs_freq_mhz(&p->in, c);
        if (f < p->d.low_mhz || f > p->d.high_mhz)
            continue;
        first = n ? first : c;
        end = c + 1;
        n++;
    }
    if (!n)
        return psr_fail_field(err, PSR_EINVAL, "band",
                              "edit: band %.10g:%.10g MHz holds no channel of %.10g to %.10g MHz",
                              p->d.low_mhz, p->d.high_mhz, psr_obs_lowest_mhz(&p->in),
                              psr_obs_highest_mhz(&p->in));
    if (n != end - first)
        return psr_fail_field(err, PSR_EUNSUPPORTED, "band",
                              "edit: band %.10g:%.10g MHz: its channels are not side by side",
                              p->d.low_mhz, p->d.high_mhz);
    p->channels.first = first;
    p->channels.nchan = n;
    return PSR_OK;
}

static psr_status choose_channels(psr_edit *p, psr_err *err)
{
    const bool rising = psr_obs_band(&p->in).rising;
    const bool ranged = p->d.first_chan || p->d.end_chan;
    if (ranged && p->d.high_mhz > 0)
        return psr_fail_field(err, PSR_EINVAL, "band", "edit: chans and band, must be one of both");
    p->channels.nchan_in = p->in.nchan;
    p->channels.nbit = p->nbit;
    p->channels.reverse =
        (p->d.order == PSR_EDIT_UP && !rising) || (p->d.order == PSR_EDIT_DOWN && rising);
    return p->d.high_mhz > 0 ? take_band(p, err) : take_range(p, err);
}

static psr_status check_bytes(const psr_edit *p, psr_err *err)
{
    if (p->channels.nchan * (size_t)p->nbit % 8 == 0)
        return PSR_OK;
    return psr_fail_field(
        err, PSR_EINVAL, "chans",
        "edit: %zu channels of %d bits end within a byte, must be a multiple of %d",
        p->channels.nchan, p->nbit, 8 / p->nbit);
}

/* Samples that are neither summed nor of other bits are not touched. */
static psr_status make_values(psr_edit *p, psr_err *err)
{
    const bool rounds = p->kind == PSR_FLOAT && p->in.kind != PSR_FLOAT;
    const struct psr_edit_values_desc d = {.nchan = p->channels.nchan,
                                           .nbit = p->nbit,
                                           .kind = p->kind,
                                           .like_nbit = rounds ? p->in.nbit : 0,
                                           .like_kind = p->in.kind,
                                           .tsum = p->d.tsum,
                                           .fsum = p->d.fsum,
                                           .nbits = p->d.nbits,
                                           .nthread = p->nthread};
    psr_status st = psr_edit_values_create(&p->values, &d, err);
    if (st || d.tsum > 1 || d.fsum > 1 || psr_edit_values_nbit(p->values) != d.nbit ||
        psr_edit_values_kind(p->values) != d.kind)
        return st;
    psr_edit_values_destroy(p->values);
    p->values = NULL;
    return PSR_OK;
}

/* The whole band as it is keeps what its header says, to the last bit. */
static void set_band(psr_edit *p)
{
    const struct psr_edit_channels *c = &p->channels;
    const size_t last = c->first + c->nchan - 1, first = c->reverse ? last : c->first;
    p->out.nchan = c->nchan;
    if (first > 0)
        p->out.fch1_mhz = psr_obs_freq_mhz(&p->in, first);
    if (c->reverse)
        p->out.foff_mhz = -p->out.foff_mhz;
    for (size_t k = 0; p->out.freq_mhz && k < c->nchan; k++)
        p->out.freq_mhz[k] = p->in.freq_mhz[c->reverse ? last - k : c->first + k];
    if (p->out.freq_mhz)
        p->out.fch1_mhz = p->out.freq_mhz[0];
}

/* Centres of sums are the means of those of their channels. */
static void sum_band(struct psr_obs *out, size_t fsum)
{
    out->fch1_mhz = (psr_obs_freq_mhz(out, 0) + psr_obs_freq_mhz(out, fsum - 1)) / 2;
    out->foff_mhz = out->foff_mhz * (double)fsum;
    out->nchan /= fsum;
    for (size_t k = 0; out->freq_mhz && k < out->nchan; k++) {
        double sum = 0;
        for (size_t f = 0; f < fsum; f++)
            sum += out->freq_mhz[k * fsum + f];
        out->freq_mhz[k] = sum / (double)fsum;
    }
    if (out->freq_mhz)
        out->fch1_mhz = out->freq_mhz[0];
}

/* After the channels, before sums: delays are in spectra of the input. */
static psr_status make_shift(psr_edit *p, psr_err *err)
{
    if (p->d.dm == 0)
        return PSR_OK;
    struct psr_obs *out = &p->out;
    out->nbit = p->nbit;
    out->kind = p->kind;
    psr_status st = psr_edit_shift_create(&p->shift, out, p->d.dm, err);
    if (st)
        return st;
    out->refdm = p->d.dm;
    if (p->count < 0 || p->count > psr_edit_shift_max(p->shift))
        return PSR_OK;
    return psr_fail_field(err, PSR_EINVAL, "dm",
                          "edit: dm %g is a delay of %lld spectra, the range has %lld", p->d.dm,
                          (long long)psr_edit_shift_max(p->shift), (long long)p->count);
}

static psr_status set_samples(psr_edit *p, psr_err *err)
{
    const int64_t lost = p->shift ? psr_edit_shift_max(p->shift) : 0,
                  count = p->count < 0 ? -1 : p->count - lost;
    p->out.nsamp = count;
    p->out.nbit = p->nbit;
    p->out.kind = p->kind;
    if (!p->values)
        return PSR_OK;
    if (p->d.fsum > 1)
        sum_band(&p->out, (size_t)p->d.fsum);
    p->out.nbit = psr_edit_values_nbit(p->values);
    p->out.kind = psr_edit_values_kind(p->values);
    p->out.tsamp_s *= (double)p->d.tsum;
    if (count < 0)
        return PSR_OK;
    p->out.nsamp = count / p->d.tsum;
    if (p->out.nsamp > 0)
        return PSR_OK;
    return psr_fail_field(err, PSR_EINVAL, "tsum",
                          "edit: tsum %lld, must be at most the %lld spectra of the range",
                          (long long)p->d.tsum, (long long)count);
}

psr_status psr_edit_lay_out(psr_edit *p, psr_err *err)
{
    psr_status st = psr_obs_copy(&p->cut, &p->in, err);
    if (st)
        return st;
    if (p->start > 0) {
        p->cut.began = p->in.tstart;
        p->cut.tstart = psr_mjd_add(p->in.tstart, (double)p->start * p->in.tsamp_s);
    }
    p->cut.nsamp = p->in.nsamp < 0 ? -1 : p->in.nsamp - p->start;
    st = psr_edit_clean_create(p, err);
    if (!st)
        st = choose_channels(p, err);
    if (!st)
        st = psr_obs_copy(&p->out, &p->cut, err);
    if (st)
        return st;
    set_band(p);
    st = check_bytes(p, err);
    if (!st)
        st = make_shift(p, err);
    if (!st)
        st = make_values(p, err);
    return st ? st : set_samples(p, err);
}
