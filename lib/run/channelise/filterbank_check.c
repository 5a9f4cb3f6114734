/* Checks the description of a filterbank. */
#include "filterbank_state.h"

#include <string.h>

static psr_status check_whole(const char *field, int64_t value, int64_t min, int64_t max,
                              psr_err *err)
{
    if (value >= min && value <= max)
        return PSR_OK;
    return psr_fail_field(err, PSR_EINVAL, field, "filterbank: %s %lld, must be %lld to %lld",
                          field, (long long)value, (long long)min, (long long)max);
}

static psr_status check_number(const char *field, double value, double min, double max,
                               psr_err *err)
{
    if (value >= min && value <= max)
        return PSR_OK;
    return psr_fail_field(err, PSR_EINVAL, field, "filterbank: %s %g, must be %g to %g", field,
                          value, min, max);
}

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
    psr_status st = PSR_OK;
    for (size_t i = 0; i < sizeof whole / sizeof *whole && !st; i++)
        st = check_whole(whole[i].field, whole[i].value, whole[i].min, whole[i].max, err);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && !st; i++)
        st = check_number(numbers[i].field, numbers[i].value, numbers[i].min, numbers[i].max, err);
    return st;
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
