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
    p->channels.nbit = p->in.nbit;
    p->channels.reverse =
        (p->d.order == PSR_EDIT_UP && !rising) || (p->d.order == PSR_EDIT_DOWN && rising);
    psr_status st = p->d.high_mhz > 0 ? take_band(p, err) : take_range(p, err);
    if (!st && p->channels.nchan * (size_t)p->in.nbit % 8)
        st = psr_fail_field(err, PSR_EINVAL, "chans",
                            "edit: %zu channels of %d bits end within a byte, must be a multiple "
                            "of %d",
                            p->channels.nchan, p->in.nbit, 8 / p->in.nbit);
    return st;
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

psr_status psr_edit_lay_out(psr_edit *p, psr_err *err)
{
    psr_status st = choose_channels(p, err);
    if (!st)
        st = psr_obs_copy(&p->out, &p->in, err);
    if (st)
        return st;
    set_band(p);
    p->out.nsamp = p->count;
    if (p->start > 0) {
        p->out.began = p->in.tstart;
        p->out.tstart = psr_mjd_add(p->in.tstart, (double)p->start * p->in.tsamp_s);
    }
    return PSR_OK;
}
