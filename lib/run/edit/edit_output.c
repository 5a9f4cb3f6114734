/* Writes spectra in any format. */
#include "edit_state.h"

#include "base/input/dada_ring.h"
#include "base/obs_internal.h"
#include "base/tool.h"
#include "formats/spectra/spectra_reader.h"
#include "formats/spectra/unpack.h"

#include <string.h>

static enum psr_edit_format find_format(const char *path)
{
    static const struct {
        const char *suffix;
        enum psr_edit_format format;
    } suffixes[] = {{".fits", PSR_EDIT_PSRFITS}, {".sf", PSR_EDIT_PSRFITS},
                    {".fit", PSR_EDIT_PSRFITS},  {".dada", PSR_EDIT_DADA},
                    {".h5", PSR_EDIT_FBH5},      {".hdf5", PSR_EDIT_FBH5}};
    if (psr_dada_ring_is_name(path))
        return PSR_EDIT_DADA;
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (psr_path_ends(path, suffixes[i].suffix))
            return suffixes[i].format;
    return PSR_EDIT_SIGPROC;
}

/* Spectra in a row: all rows are full where that can be, for readers that ignore NSTOT. */
static size_t choose_nsblk(int64_t nsamp)
{
    const int64_t step = 8, least = 256, most = 4096, usual = 1024;
    for (int64_t n = most; n >= least; n -= step)
        if (nsamp % n == 0)
            return (size_t)n;
    return (size_t)(nsamp < usual ? (nsamp + step - 1) / step * step : usual);
}

static psr_status begin_psrfits(struct psr_edit_output *o, const struct psr_obs *obs, psr_err *err)
{
    struct psr_obs full = *obs; /* its table is borrowed */
    if (obs->nsamp < 0)
        return psr_fail_field(err, PSR_EUNSUPPORTED, "format",
                              "edit: PSRFITS says first how many spectra it has: a stream needs an "
                              "end, or another format");
    full.has_date = psr_mjd_text(obs->tstart, full.date, sizeof full.date);
    if (full.beam_arcsec < 0)
        full.beam_arcsec = psr_telescope_beam_arcsec(
            obs->telescope, (psr_obs_lowest_mhz(obs) + psr_obs_highest_mhz(obs)) / 2);
    return psr_psrfits_create(&o->fits, o->file, &full, choose_nsblk(obs->nsamp), err);
}

psr_status psr_edit_output_create(struct psr_edit_output *o, const char *path,
                                  psr_output_group *group, enum psr_edit_format format,
                                  const struct psr_obs *obs, psr_err *err)
{
    o->format = format == PSR_EDIT_BY_NAME ? find_format(path) : format;
    o->row_bytes = psr_row_bytes(obs->nchan, obs->nbit);
    if (o->format != PSR_EDIT_DADA && psr_dada_ring_is_name(path))
        return psr_fail_field(err, PSR_EUNSUPPORTED, "format", "edit: %s: a ring has DADA headers",
                              path);
    o->grouped = group != NULL;
    psr_status st = group ? psr_output_group_add(group, path, &o->file, err)
                          : psr_outfile_create(&o->file, path, err);
    if (st)
        return st;
    if (o->format == PSR_EDIT_PSRFITS)
        return begin_psrfits(o, obs, err);
    if (o->format == PSR_EDIT_FBH5)
        return psr_fbh5_create(&o->hdf5, o->file, obs, err);
    if (o->format == PSR_EDIT_YOUR)
        return PSR_OK;
    return o->format == PSR_EDIT_DADA
               ? psr_dada_write_spectra(o->file, obs, err)
               : psr_sigproc_write(o->file, obs, PSR_SIGPROC_FILTERBANK, err);
}

void psr_edit_output_scale(struct psr_edit_output *o, const float *scale, const float *offset)
{
    if (o->fits)
        psr_psrfits_set_scales(o->fits, scale, offset);
}

psr_status psr_edit_output_write(struct psr_edit_output *o, const uint8_t *rows, size_t nrow,
                                 psr_err *err)
{
    return o->fits   ? psr_psrfits_append(o->fits, rows, nrow, err)
           : o->hdf5 ? psr_fbh5_append(o->hdf5, rows, nrow, err)
           : o->cutout
               ? psr_edit_cutout_add(o->cutout, (const float *)(const void *)rows, nrow, err)
               : psr_outfile_write(o->file, rows, nrow * o->row_bytes, err);
}

psr_status psr_edit_output_finish(struct psr_edit_output *o, psr_err *err)
{
    psr_status st = o->fits     ? psr_psrfits_finish(o->fits, err)
                    : o->hdf5   ? psr_fbh5_finish(o->hdf5, err)
                    : o->cutout ? psr_edit_cutout_write(o->cutout, o->file, err)
                                : PSR_OK;
    psr_outfile *file = o->file;
    if (st)
        return st;
    o->file = NULL;
    return o->grouped ? PSR_OK : psr_outfile_commit(file, err);
}

void psr_edit_output_abort(struct psr_edit_output *o)
{
    psr_psrfits_destroy(o->fits);
    psr_fbh5_destroy(o->hdf5);
    psr_edit_cutout_destroy(o->cutout);
    if (!o->grouped)
        psr_outfile_abort(o->file);
    *o = (struct psr_edit_output){.file = NULL};
}
