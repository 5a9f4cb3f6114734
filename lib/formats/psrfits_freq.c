/* Computes the channel frequencies of a PSRFITS file. */
#include "psrfits.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

struct psr_fits_band psr_fits_read_band(const struct psr_fits *f)
{
    return (struct psr_fits_band){.centre_mhz = psr_fits_number(f, "OBSFREQ", 0),
                                  .width_mhz = psr_fits_number(f, "OBSBW", 0),
                                  .nchan = psr_fits_number(f, "OBSNCHAN", 0)};
}

/* The width of a single channel does not follow from frequencies. */
static double header_width(const struct psr_fits *f, struct psr_fits_band declared)
{
    double width = psr_fits_number(f, "CHAN_BW", 0);
    if (width == 0 && declared.nchan > 0)
        width = declared.width_mhz / declared.nchan;
    return width;
}

static psr_status take_header_freq(const struct psr_fits *f, struct psr_obs *obs,
                                   struct psr_fits_band declared, psr_err *err)
{
    double width = header_width(f, declared);
    if (!(declared.centre_mhz > 0) || width == 0)
        return psr_fail_field(
            err, PSR_EFORMAT, "DAT_FREQ",
            "%s: no channel frequencies: DAT_FREQ is missing or 0, OBSFREQ = %g MHz, "
            "CHAN_BW = %g MHz",
            f->path, declared.centre_mhz, width);
    obs->foff_mhz = width;
    obs->fch1_mhz = declared.centre_mhz - 0.5 * (double)(f->nchan - 1) * width;
    psr_note(&f->notes, "%s: DAT_FREQ is missing or 0: OBSFREQ and CHAN_BW give the frequencies",
             f->path);
    return PSR_OK;
}

/* DAT_FREQ is often stored as 32-bit floats, whose rounding is no irregularity. */
static bool is_regular(const double *freq, size_t nchan, double width)
{
    for (size_t c = 0; c < nchan; c++) {
        double tol = 2.0 * (double)FLT_EPSILON * fabs(freq[c]) + 1e-3 * fabs(width);
        if (!(fabs(freq[c] - (freq[0] + (double)c * width)) <= tol))
            return false;
    }
    return true;
}

/* The frequencies of the channels are what counts; the summary in the header is often stale. */
static void note_disagreement(const struct psr_fits *f, const struct psr_obs *obs,
                              struct psr_fits_band declared)
{
    double width = fabs(obs->foff_mhz);
    double nchan = (double)f->nchan;
    double centre = obs->fch1_mhz + 0.5 * (nchan - 1) * obs->foff_mhz;
    if (obs->freq_mhz || (declared.nchan > 0 && declared.nchan != nchan))
        return;
    if (declared.centre_mhz != 0 && fabs(declared.centre_mhz - centre) > width)
        psr_note(&f->notes,
                 "%s: OBSFREQ = %g MHz, but DAT_FREQ is centred on %g MHz, which is used", f->path,
                 declared.centre_mhz, centre);
    if (declared.width_mhz != 0 && fabs(fabs(declared.width_mhz) - nchan * width) > width)
        psr_note(&f->notes, "%s: OBSBW = %g MHz, but DAT_FREQ spans %g MHz, which is used", f->path,
                 declared.width_mhz, nchan * width);
}

static void take_table(const struct psr_fits *f, struct psr_obs *obs, double *freq,
                       struct psr_fits_band declared)
{
    size_t n = f->nchan;
    double width = n > 1 ? (freq[n - 1] - freq[0]) / (double)(n - 1) : header_width(f, declared);
    obs->fch1_mhz = freq[0];
    obs->foff_mhz = width;
    if (is_regular(freq, n, width)) {
        free(freq);
    } else {
        obs->freq_mhz = freq;
        psr_note(&f->notes, "%s: the channels of DAT_FREQ are not evenly spaced", f->path);
    }
    note_disagreement(f, obs, declared);
}

psr_status psr_fits_read_freq(const struct psr_fits *f, struct psr_obs *obs,
                              struct psr_fits_band declared, psr_err *err)
{
    struct psr_fits_column column;
    psr_status code = psr_fits_find(f, "DAT_FREQ", &column, err);
    if (code)
        return code;
    if (!column.number || column.repeat < (int64_t)f->nchan ||
        (column.type != 'E' && column.type != 'D'))
        return take_header_freq(f, obs, declared, err);
    double *freq = malloc(f->nchan * sizeof *freq);
    if (!freq)
        return psr_fail_nomem(err, "channel frequencies", (double)f->nchan * sizeof *freq);
    code = psr_fits_read_doubles(f, &column, 1, 0, f->nchan, freq, err);
    if (!code && freq[0] == 0 && freq[f->nchan - 1] == 0)
        code = take_header_freq(f, obs, declared, err);
    else if (!code) {
        take_table(f, obs, freq, declared);
        return PSR_OK;
    }
    free(freq);
    return code;
}
