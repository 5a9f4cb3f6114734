/* Lists DMs between which a pulse widens by no more than a tolerance, as Heimdall does. */
#include <psrkit/ddplan.h>

#include "base/copy_desc.h"
#include "base/tool.h"
#include "ddplan_internal.h"
#include <math.h>
#include <stdlib.h>

static psr_status check_desc(const struct psr_dm_tolerance_desc *d, psr_err *err)
{
    if (!(d->lodm >= 0) || !(d->hidm > d->lodm) || !(d->hidm <= 1e6))
        return psr_fail_field(err, PSR_EINVAL, "hidm",
                              "DM %g to %g: must rise from 0 or more to 1e6 at most", d->lodm,
                              d->hidm);
    if (!(d->tolerance >= 1.0001) || !(d->tolerance <= 100))
        return psr_fail_field(err, PSR_EINVAL, "tolerance", "dm_tol = %g, must be 1.0001 to 100",
                              d->tolerance);
    if (!(d->width_s >= 0) || !(d->width_s <= 100))
        return psr_fail_field(err, PSR_EINVAL, "width_s",
                              "dm_pulse_width = %g us, must be 0 to 1e8", d->width_s * 1e6);
    return psr_band_check(&d->band, err);
}

/* Squares of widths: of a pulse without dispersion, in us; and what a unit of DM adds within a channel, and of its error
 * over a quarter of the band. */
struct widths {
    double undispersed, channel, band;
};

static struct widths find_widths(const struct psr_dm_tolerance_desc *d)
{
    const double channel_mhz = d->band.bw_mhz / (double)d->band.nchan;
    const double quarter = (double)d->band.nchan / 4, centre_ghz = d->band.fctr_mhz * 1e-3;
    const double tsamp_us = d->band.tsamp_s * 1e6, width_us = d->width_s * 1e6;
    const double us = 8.3 * channel_mhz / (centre_ghz * centre_ghz * centre_ghz);
    return (struct widths){tsamp_us * tsamp_us + width_us * width_us, us * us,
                           us * us * quarter * quarter};
}

/* The x at which undispersed + channel x^2 + band (x - dm)^2 is the square of the tolerance times undispersed + channel
 * dm^2. */
static double next_dm(const struct widths *w, double dm, double square)
{
    const double all = w->channel + w->band;
    const double room = w->undispersed * (square - 1) + square * w->channel * dm * dm;
    return (w->band * dm + sqrt(all * room - w->channel * w->band * dm * dm)) / all;
}

psr_status psr_dm_tolerance_list(const struct psr_dm_tolerance_desc *desc, double **dm, size_t *ndm,
                                 psr_err *err)
{
    size_t room = 0;
    struct psr_dm_tolerance_desc d;
    *dm = NULL;
    *ndm = 0;
    psr_status st = psr_copy_desc(&d, sizeof d, desc, "DMs by a tolerance", err);
    desc = &d;
    if (!st)
        st = check_desc(desc, err);
    if (st)
        return st;
    const struct widths w = find_widths(desc);
    const double square = desc->tolerance * desc->tolerance;
    float last = (float)desc->lodm; /* as Heimdall holds them */
    for (;;) {
        if (*ndm == PSR_DM_TOLERANCE_MOST)
            st = psr_fail_field(err, PSR_EINVAL, "tolerance",
                                "dm_tol = %g: more than %d DMs up to %g", desc->tolerance,
                                PSR_DM_TOLERANCE_MOST, desc->hidm);
        if (!st)
            st = psr_grow(dm, &room, *ndm, sizeof **dm, "DMs", err);
        if (st)
            break;
        (*dm)[(*ndm)++] = (double)last;
        if ((double)last >= desc->hidm)
            return PSR_OK;
        const float next = (float)next_dm(&w, (double)last, square);
        last = next > last ? next : nextafterf(last, INFINITY);
    }
    free(*dm);
    *dm = NULL;
    *ndm = 0;
    return st;
}
