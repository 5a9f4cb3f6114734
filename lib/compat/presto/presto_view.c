/* Interprets headers as prepsubband does. */
#include "presto_view.h"
#include "base/obs_internal.h"

#include <string.h>

static bool is_filterbank(const struct psr_obs *obs)
{
    return obs->block_nsamp == 0;
}

/* For a filterbank PRESTO treats fch1 as the highest channel, whatever the order, and reverses an
 * ascending band with or without -invert.  For PSRFITS with the highest channel first it stores the
 * lowest frequency in single precision, and computes the others from it. */
static double top_of_band_mhz(const struct psr_obs *obs, const struct psr_obs_band *band)
{
    size_t last = obs->nchan - 1;
    if (is_filterbank(obs))
        return obs->freq_mhz ? band->highest_mhz : obs->fch1_mhz;
    if (band->rising)
        return band->highest_mhz;
    return (double)(float)psr_obs_freq_mhz(obs, last) + (double)last * band->spacing_mhz;
}

void psr_presto_view_make(struct psr_presto_view *view, const struct psr_obs *obs, bool invert)
{
    const struct psr_obs_band band = psr_obs_band(obs);
    const bool filterbank = is_filterbank(obs), rising = band.rising;
    view->obs = *obs;
    view->obs.foff_mhz = -band.spacing_mhz;
    view->obs.fch1_mhz = top_of_band_mhz(obs, &band);
    view->obs.freq_mhz = NULL;
    /* PRESTO has names for machines, and forgets those it knows. */
    if (filterbank && strcmp(psr_machine_name(obs->machine_id), "Unknown") != 0)
        strcpy(view->obs.instrument, "unset");
    /* For PSRFITS PRESTO reverses a descending band once, with or without -invert. */
    view->reverse = filterbank ? !rising || invert : !rising && !invert;
}

/* Of sub-bands the .inf file tells of the channels they were summed from. */
static void describe_subbands(struct psr_compat_desc *d, size_t nsub, const struct psr_inf *inf)
{
    d->summed = true;
    d->nsub = nsub;
    d->nchan = (size_t)inf->nchan;
    d->lofreq_mhz = inf->lowest_mhz;
    d->width_mhz = inf->chan_width_mhz;
    d->reverse = false;
}

struct psr_compat_desc psr_presto_describe(const struct psr_presto_view *view,
                                           const struct psr_inf *inf, size_t nsub, const double *dm,
                                           size_t ndm)
{
    const struct psr_obs *obs = &view->obs;
    const double width_mhz = psr_obs_band(obs).spacing_mhz;
    struct psr_compat_desc d = {
        .nchan = obs->nchan,
        .nbit = obs->nbit,
        .kind = obs->kind,
        .reverse = view->reverse,
        .lofreq_mhz = obs->fch1_mhz - (double)(obs->nchan - 1) * width_mhz,
        .width_mhz = width_mhz,
        .tsamp_s = obs->tsamp_s,
        .block = obs->block_nsamp ? (size_t)obs->block_nsamp : PSR_COMPAT_BLOCK,
        .nsub = nsub,
        .ndm = ndm,
        .dm = dm,
    };
    if (inf)
        describe_subbands(&d, obs->nchan, inf);
    return d;
}

psr_status psr_presto_skip(const struct psr_compat_desc *desc, double start, int64_t nsamp,
                           int64_t *skip, psr_err *err)
{
    size_t worklen;
    psr_status st = psr_compat_worklen(desc, &worklen, err);
    if (!st)
        *skip = (int64_t)(start * (double)nsamp / (double)worklen) * (int64_t)worklen;
    return st;
}
