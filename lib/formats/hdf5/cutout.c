/* Writes cut-outs of bursts in HDF5. */
#include "fbh5.h"

#include "base/base.h"
#include "base/obs_internal.h"
#include "base/output/outfile_internal.h"
#include "hdf5_library.h"

#ifdef PSR_HDF5_SO
#include <stdio.h>
#include <string.h>

enum { COMPRESSION = 4, TEXT = 256 };

struct writer {
    struct psr_hdf5 lib;
    hid_t file;
    const struct psr_cutout *c;
};

/* --- attributes ------------------------------------------------------------------------------- */

static bool put_number(const struct writer *w, const char *key, double x)
{
    return psr_hdf5_put(&w->lib, w->file, key, *w->lib.H5T_NATIVE_DOUBLE_g, &x);
}

static bool put_whole(const struct writer *w, const char *key, int64_t x)
{
    return psr_hdf5_put(&w->lib, w->file, key, *w->lib.H5T_NATIVE_INT64_g, &x);
}

static bool put_text(const struct writer *w, const char *key, const char *text)
{
    return psr_hdf5_put_text(&w->lib, w->file, key, text);
}

/* Numpy's arrays of truth values are an enumeration; [False] stands for no mask. */
static bool put_no_mask(const struct writer *w, const char *key)
{
    const struct psr_hdf5 *h = &w->lib;
    const int8_t values[] = {0, 1};
    const hsize_t dim[] = {1};
    const hid_t type = h->H5Tenum_create(*h->H5T_NATIVE_INT8_g);
    const bool done = h->H5Tenum_insert(type, "FALSE", &values[0]) >= 0 &&
                      h->H5Tenum_insert(type, "TRUE", &values[1]) >= 0 &&
                      psr_hdf5_put_array(h, w->file, key, type, dim, values);
    h->H5Tclose(type);
    return done;
}

static bool put_burst(const struct writer *w)
{
    const struct psr_cutout *c = w->c;
    char id[TEXT];
    psr_c_locale_snprintf(id, sizeof id, "cand_tstart_%.12f_tcand_%.7f_dm_%.5f_snr_%.5f",
                          (double)c->input->tstart.day + c->input->tstart.frac, c->t_s, c->dm,
                          c->snr);
    return put_text(w, "cand_id", id) && put_number(w, "tcand", c->t_s) &&
           put_number(w, "dm", c->dm) && put_whole(w, "dm_opt", -1) &&
           put_number(w, "snr", c->snr) && put_whole(w, "snr_opt", -1) &&
           put_whole(w, "width", c->width) && put_whole(w, "label", c->label) &&
           put_no_mask(w, "rfi_mask") && put_no_mask(w, "kill_mask");
}

static bool put_files(const struct writer *w)
{
    const char *path = w->c->path[0], *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path,
               *dot = strrchr(base, '.');
    const bool fits = psr_path_ends(path, ".fits") || psr_path_ends(path, ".sf");
    char stem[TEXT];
    snprintf(stem, sizeof stem, "%.*s", dot ? (int)(dot - base) : (int)strlen(base), base);
    return psr_hdf5_put_texts(&w->lib, w->file, "filelist", w->c->path, w->c->npath) &&
           put_text(w, "filename", path) && put_text(w, "basename", stem) &&
           put_text(w, "format", fits ? "fits" : "fil");
}

/* "native" is what was cut before sums; samples below 8 bits are read as bytes. */
static bool put_header(const struct writer *w)
{
    const struct psr_cutout *c = w->c;
    const struct psr_obs *obs = c->obs, *in = c->input;
    const double bw_mhz = (double)obs->nchan * obs->foff_mhz;
    const char *dtype = in->nbit <= 8    ? "uint8"
                        : in->nbit == 16 ? in->kind == PSR_INT ? "int16" : "uint16"
                                         : "float32";
    char date[TEXT];
    (void)psr_mjd_text(in->tstart, date, sizeof date);
    return put_text(w, "source_name", obs->source) && put_number(w, "ra_deg", in->ra_deg) &&
           put_number(w, "dec_deg", in->dec_deg) && put_number(w, "bw", bw_mhz) &&
           put_number(w, "center_freq", obs->fch1_mhz + (bw_mhz - obs->foff_mhz) / 2) &&
           put_whole(w, "nbits", in->nbit < 8 ? 8 : in->nbit) &&
           put_whole(w, "native_nbits", in->nbit) && put_text(w, "dtype", dtype) &&
           put_whole(w, "time_decimation_factor", c->tsum) &&
           put_whole(w, "frequency_decimation_factor", c->fsum) &&
           put_number(w, "native_tsamp", in->tsamp_s) &&
           put_number(w, "native_foff", obs->foff_mhz / (double)c->fsum) &&
           put_whole(w, "native_nchans", (int64_t)obs->nchan * c->fsum) &&
           put_whole(w, "native_nspectra", in->nsamp) && put_number(w, "fch1", obs->fch1_mhz) &&
           put_whole(w, "npol", 1) && put_text(w, "poln_order", "I") &&
           put_number(w, "tstart", (double)in->tstart.day + in->tstart.frac) &&
           put_number(w, "tsamp", obs->tsamp_s) && put_whole(w, "nchans", (int64_t)obs->nchan) &&
           put_number(w, "foff", obs->foff_mhz) && put_whole(w, "nspectra", in->nsamp / c->tsum) &&
           put_text(w, "tstart_utc", date);
}

/* --- datasets --------------------------------------------------------------------------------- */

static bool put_picture(const struct writer *w, const char *name, const char *const *label,
                        const hsize_t dim[2], const float *x)
{
    const struct psr_hdf5 *h = &w->lib;
    const hid_t type = *h->H5T_NATIVE_FLOAT_g, space = h->H5Screate_simple(2, dim, NULL),
                how = h->H5Pcreate(*h->H5P_CLS_DATASET_CREATE_ID_g);
    bool done = h->H5Pset_obj_track_times(how, false) >= 0 && h->H5Pset_chunk(how, 2, dim) >= 0;
    if (h->H5Zfilter_avail(H5Z_FILTER_DEFLATE) > 0)
        done = done && h->H5Pset_deflate(how, COMPRESSION) >= 0;
    const hid_t data =
        done ? h->H5Dcreate2(w->file, name, type, space, H5P_DEFAULT, how, H5P_DEFAULT) : -1;
    done = data >= 0 && h->H5Dwrite(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, x) >= 0 &&
           psr_hdf5_label(h, data, label, 2);
    h->H5Pclose(how);
    h->H5Sclose(space);
    return data >= 0 && h->H5Dclose(data) >= 0 && done;
}

static bool put_pictures(const struct writer *w)
{
    static const char *const freq_time[] = {"time", "frequency"}, *const dm_time[] = {"dm", "time"};
    const struct psr_cutout *c = w->c;
    const hsize_t freq_dim[] = {c->ntime, c->nfreq}, dm_dim[] = {c->ndm, c->ntime};
    return put_picture(w, "data_freq_time", freq_time, freq_dim, c->freq_time) &&
           put_picture(w, "data_dm_time", dm_time, dm_dim, c->dm_time);
}

psr_status psr_cutout_write(psr_outfile *f, const struct psr_cutout *c, psr_err *err)
{
    struct writer w = {.c = c};
    if (!psr_outfile_temp(f))
        return psr_fail_field(err, PSR_EIO, "format",
                              "HDF5 is written to a file, not to a pipe or a ring");
    psr_status st = psr_hdf5_load(&w.lib, psr_outfile_name(f), err);
    if (st)
        return st;
    w.file = w.lib.H5Fcreate(psr_outfile_temp(f), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    bool done = w.file >= 0 && put_burst(&w) && put_files(&w) && put_header(&w) && put_pictures(&w);
    if (w.file >= 0)
        done = w.lib.H5Fclose(w.file) >= 0 && done;
    return done ? PSR_OK
                : psr_fail(err, PSR_EIO, "%s: HDF5 cannot write a cut-out", psr_outfile_name(f));
}

#else

psr_status psr_cutout_write(psr_outfile *f, const struct psr_cutout *c, psr_err *err)
{
    (void)c;
    return psr_fail_field(err, PSR_EUNSUPPORTED, "format", "%s: psrkit was built without HDF5",
                          psr_outfile_name(f));
}
#endif
