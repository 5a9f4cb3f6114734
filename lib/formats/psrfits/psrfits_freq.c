/* Computes the channel frequencies of a PSRFITS file. */
#include "psrfits.h"

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
    obs->freq_mhz = freq;
    if (psr_obs_band(obs).even) {
        obs->freq_mhz = NULL;
        free(freq);
    } else {
        psr_note(&f->notes, "%s: the channels of DAT_FREQ are not evenly spaced", f->path);
    }
    note_disagreement(f, obs, declared);
}

static bool holds_frequencies(const struct psr_fits *f, const struct psr_fits_column *column)
{
    return column->number && column->repeat >= (int64_t)f->nchan &&
           (column->type == 'E' || column->type == 'D');
}

psr_status psr_fits_read_freq(const struct psr_fits *f, struct psr_obs *obs,
                              struct psr_fits_band declared, psr_err *err)
{
    struct psr_fits_column column;
    psr_status code = psr_fits_find(f, "DAT_FREQ", &column, err);
    if (code)
        return code;
    if (!holds_frequencies(f, &column))
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

/* The first channel that is elsewhere by more than a tenth of a channel; n if none is, or the row has no frequencies.
 */
static size_t find_moved(const double *row, const double *first, size_t n, double chan_mhz)
{
    size_t c = 0;
    if (row[0] == 0 && row[n - 1] == 0)
        return n;
    while (c < n && fabs(row[c] - first[c]) <= 0.1 * chan_mhz)
        c++;
    return c;
}

/* PRESTO looks at the first row only. */
static psr_status refuse_row(const struct psr_fits *f, int64_t number, size_t c, const double *row,
                             const double *first, psr_err *err)
{
    if (!f->as_presto)
        return psr_fail_field(
            err, PSR_EFORMAT, "DAT_FREQ",
            "%s: row %lld: DAT_FREQ of channel %zu = %.10g MHz, must be that of row "
            "1, %.10g MHz",
            f->path, (long long)number, c, row[c], first[c]);
    psr_note(&f->notes,
             "%s: row %lld: DAT_FREQ of channel %zu = %.10g MHz: that of row 1, %.10g MHz, "
             "is used throughout, as PRESTO does",
             f->path, (long long)number, c, row[c], first[c]);
    return PSR_OK;
}

psr_status psr_fits_check_freq(const struct psr_fits *f, const struct psr_fits_rows *rows,
                               double chan_mhz, psr_err *err)
{
    const size_t n = f->nchan;
    struct psr_fits_column column;
    psr_status st = psr_fits_find(f, "DAT_FREQ", &column, err);
    if (st || !holds_frequencies(f, &column))
        return st;
    double *first = malloc(2 * n * sizeof *first), *row = first + n;
    if (!first)
        return psr_fail_nomem(err, "channel frequencies", 2 * (double)n * sizeof *first);
    size_t moved = n;
    st = psr_fits_read_doubles(f, &column, 1, 0, n, first, err);
    const bool known = !st && (first[0] != 0 || first[n - 1] != 0);
    for (size_t i = 0; known && i < rows->nlive && !st && moved == n; i++) {
        st = psr_fits_read_doubles(f, &column, rows->row[i].number, 0, n, row, err);
        moved = st ? n : find_moved(row, first, n, chan_mhz);
        if (moved < n)
            st = refuse_row(f, rows->row[i].number, moved, row, first, err);
    }
    free(first);
    return st;
}
