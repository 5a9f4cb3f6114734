/* Writes the list of a search for slow pulsars. */
#include <psrkit/experimental/ffa.h>

#include "formats/spectra/row_output.h"

static const char header[] =
    "period_s,freq_hz,dm,snr,width_s,duty,nbin,marks,hits,tobs_s,tsamp_s,mjd,barycentric,telescope,"
    "ra_deg,dec_deg,low_mhz,high_mhz\n";

/* "DM:SNR" of each, with blanks between. */
static psr_status write_hits(psr_outfile *f, const struct psr_ffa_row *row, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t k = 0; k < row->nhit && !st; k++)
        st = psr_outfile_printf(f, err, "%s%.10g:%.2f", k ? " " : "", row->hit[k].dm,
                                row->hit[k].snr);
    return st;
}

/* The columns that all rows share. */
static psr_status write_origin(psr_outfile *f, const struct psr_ffa_list *list, psr_err *err)
{
    const struct psr_inf *inf = &list->inf;
    const double low_mhz = inf->lowest_mhz - inf->chan_width_mhz / 2;
    psr_status st = psr_outfile_printf(
        f, err, ",%.12g,%.12g,%ld.%013.0f,%d,", list->tobs_s, inf->tbin_s, inf->epoch.day,
        inf->epoch.frac < 1 - 1e-13 ? inf->epoch.frac * 1e13 : 1e13 - 1, inf->barycentric);
    if (!st)
        st = psr_csv_write_text(f, inf->telescope, err);
    return st ? st
              : psr_outfile_printf(f, err, ",%.10g,%.10g,%.10g,%.10g\n", inf->ra_deg, inf->dec_deg,
                                   low_mhz, low_mhz + inf->chan_width_mhz * (double)inf->nchan);
}

psr_status psr_ffa_list_write(psr_outfile *f, const struct psr_ffa_list *list, psr_err *err)
{
    psr_status st = psr_outfile_printf(f, err, "%s", header);
    for (size_t i = 0; i < list->n && !st; i++) {
        const struct psr_ffa_row *r = &list->row[i];
        char marks[PSR_SIFT_MARKS];
        st = psr_outfile_printf(f, err, "%.13g,%.13g,%.10g,%.3f,%.6g,%.6g,%d,", r->period_s,
                                r->freq_hz, r->dm, r->snr, r->width_s, r->duty, r->nbin);
        if (!st)
            st = psr_csv_write_text(f, psr_sift_name_marks(marks, r->marks), err);
        if (!st)
            st = psr_outfile_printf(f, err, ",");
        if (!st)
            st = write_hits(f, r, err);
        if (!st)
            st = write_origin(f, list, err);
    }
    return st;
}
