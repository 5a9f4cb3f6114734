/* Writes filterbanks in HDF5. */
#include "fbh5.h"

#include "base/obs_internal.h"
#include "base/output/outfile_internal.h"
#include "formats/spectra/unpack.h"

#ifdef PSR_HDF5_SO
#include <stdlib.h>

enum { CHUNK_BYTES = 1 << 20, FILTER_BITSHUFFLE = 32008, BITSHUFFLE_LZ4 = 2 };

static const char *const dimensions[] = {"time", "feed_id", "frequency"};

struct psr_fbh5 {
    struct psr_hdf5 lib;
    const char *name;
    hid_t file, data, type;
    hsize_t nrow, nchan, chunk; /* rows written, and those of a chunk */
};

static psr_status fail(const struct psr_fbh5 *w, const char *what, psr_err *err)
{
    return psr_fail(err, PSR_EIO, "%s: HDF5 cannot %s", w->name, what);
}

/* Of fixed length: HDF5 1.10 follows damaged references to texts of any length out of its memory. */
static bool put_text(const struct psr_fbh5 *w, hid_t at, const char *key, const char *text)
{
    const struct psr_hdf5 *h = &w->lib;
    const hid_t type = h->H5Tcopy(*h->H5T_C_S1_g);
    const bool done =
        h->H5Tset_size(type, strlen(text) + 1) >= 0 && psr_hdf5_put(h, at, key, type, text);
    h->H5Tclose(type);
    return done;
}

/* Fields that are unknown are left out, but for the ids, which readers need. */
static psr_status put_header(const struct psr_fbh5 *w, const struct psr_obs *obs, psr_err *err)
{
    const double hours = obs->ra_deg / 15, tstart = (double)obs->tstart.day + obs->tstart.frac;
    const int32_t nchan = (int32_t)obs->nchan, nbit = obs->nbit, nif = obs->nif, data_type = 1,
                  barycentric = obs->barycentric;
    const bool beam = obs->ibeam > 0 || obs->nbeam > 0;
    const struct {
        const char *key;
        bool known;
        const double *number;
        const int32_t *whole;
    } keys[] = {
        {"fch1", true, &obs->fch1_mhz, NULL},
        {"foff", true, &obs->foff_mhz, NULL},
        {"tsamp", true, &obs->tsamp_s, NULL},
        {"tstart", true, &tstart, NULL},
        {"src_raj", obs->has_position, &hours, NULL},
        {"src_dej", obs->has_position, &obs->dec_deg, NULL},
        {"az_start", true, &obs->az_deg, NULL},
        {"za_start", true, &obs->za_deg, NULL},
        {"nchans", true, NULL, &nchan},
        {"nbits", true, NULL, &nbit},
        {"nifs", true, NULL, &nif},
        {"data_type", true, NULL, &data_type},
        {"telescope_id", true, NULL, &obs->telescope_id},
        {"machine_id", true, NULL, &obs->machine_id},
        {"ibeam", beam, NULL, &obs->ibeam},
        {"nbeams", beam, NULL, &obs->nbeam},
        {"barycentric", barycentric != 0, NULL, &barycentric},
    };
    const struct psr_hdf5 *h = &w->lib;
    bool done = put_text(w, w->file, "CLASS", "FILTERBANK") &&
                put_text(w, w->file, "VERSION", "1.0") &&
                put_text(w, w->data, "source_name", obs->source) &&
                psr_hdf5_label(h, w->data, dimensions, 3);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i].known)
            done = done && (keys[i].number ? psr_hdf5_put(h, w->data, keys[i].key,
                                                          *h->H5T_NATIVE_DOUBLE_g, keys[i].number)
                                           : psr_hdf5_put(h, w->data, keys[i].key,
                                                          *h->H5T_NATIVE_INT32_g, keys[i].whole));
    return done ? PSR_OK : fail(w, "write the header", err);
}

static psr_status check_writable(const struct psr_obs *obs, const char *path, psr_err *err)
{
    psr_status st = psr_obs_check(obs, "HDF5 header", err);
    if (st)
        return st;
    if (!path)
        return psr_fail_field(err, PSR_EIO, "format",
                              "HDF5 is written to a file, not to a pipe or a ring");
    if (obs->nbit < 8)
        return psr_fail_field(err, PSR_EUNSUPPORTED, "nbit",
                              "HDF5 header: samples of %d bits, must be 8, 16 or 32", obs->nbit);
    if (obs->freq_mhz)
        return psr_fail_field(err, PSR_EUNSUPPORTED, "freq_mhz",
                              "HDF5 header: a table of %zu frequencies, must be equally spaced",
                              obs->nchan);
    return PSR_OK;
}

/* Spectra can be added without end; a chunk holds whole ones. */
static psr_status create_data(struct psr_fbh5 *w, const struct psr_obs *obs, psr_err *err)
{
    const struct psr_hdf5 *h = &w->lib;
    const unsigned options[] = {0, BITSHUFFLE_LZ4};
    const size_t row_bytes = psr_row_bytes(obs->nchan, obs->nbit), fit = CHUNK_BYTES / row_bytes;
    const hsize_t dim[] = {0, 1, obs->nchan}, most[] = {H5S_UNLIMITED, 1, obs->nchan};
    hsize_t chunk[] = {fit > 0 ? fit : 1, 1, obs->nchan};
    if (obs->nsamp > 0 && chunk[0] > (hsize_t)obs->nsamp)
        chunk[0] = (hsize_t)obs->nsamp;
    w->chunk = chunk[0];
    w->type = psr_fbh5_type(h, obs->nbit, obs->kind);
    const hid_t space = h->H5Screate_simple(3, dim, most),
                how = h->H5Pcreate(*h->H5P_CLS_DATASET_CREATE_ID_g),
                access = psr_fbh5_access(h, chunk, dim, (size_t)obs->nbit / 8);
    bool done = h->H5Pset_obj_track_times(how, false) >= 0 && h->H5Pset_chunk(how, 3, chunk) >= 0;
    if (h->H5Zfilter_avail(FILTER_BITSHUFFLE) > 0)
        done =
            done && h->H5Pset_filter(how, FILTER_BITSHUFFLE, H5Z_FLAG_MANDATORY, 2, options) >= 0;
    if (done)
        w->data = h->H5Dcreate2(w->file, "data", w->type, space, H5P_DEFAULT, how, access);
    h->H5Pclose(access);
    h->H5Pclose(how);
    h->H5Sclose(space);
    return w->data >= 0 ? put_header(w, obs, err) : fail(w, "create the data", err);
}

psr_status psr_fbh5_create(psr_fbh5 **out, psr_outfile *f, const struct psr_obs *obs, psr_err *err)
{
    *out = NULL;
    psr_status st = check_writable(obs, psr_outfile_temp(f), err);
    if (st)
        return st;
    psr_fbh5 *w = calloc(1, sizeof *w);
    if (!w)
        return psr_fail_nomem(err, "a writer of HDF5", sizeof *w);
    *w =
        (struct psr_fbh5){.name = psr_outfile_name(f), .file = -1, .data = -1, .nchan = obs->nchan};
    st = psr_hdf5_load(&w->lib, w->name, err);
    if (!st) {
        w->file = w->lib.H5Fcreate(psr_outfile_temp(f), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
        st = w->file >= 0 ? create_data(w, obs, err) : fail(w, "create it", err);
    }
    if (st)
        psr_fbh5_destroy(w);
    else
        *out = w;
    return st;
}

psr_status psr_fbh5_append(psr_fbh5 *w, const void *rows, size_t nrow, psr_err *err)
{
    const struct psr_hdf5 *h = &w->lib;
    const hsize_t start[] = {w->nrow, 0, 0}, count[] = {nrow, 1, w->nchan},
                  size[] = {w->nrow + nrow, 1, w->nchan};
    if (nrow == 0)
        return PSR_OK;
    bool done = h->H5Dset_extent(w->data, size) >= 0;
    const hid_t file = h->H5Dget_space(w->data), memory = h->H5Screate_simple(3, count, NULL);
    done = done && h->H5Sselect_hyperslab(file, H5S_SELECT_SET, start, NULL, count, NULL) >= 0 &&
           h->H5Dwrite(w->data, w->type, memory, file, H5P_DEFAULT, rows) >= 0;
    h->H5Sclose(memory);
    h->H5Sclose(file);
    w->nrow += nrow;
    return done ? PSR_OK : fail(w, "write spectra", err);
}

/* Blimpy's files have a mask, for readers to fill: chunks that are not written take no room, and are zeros. */
static bool put_mask(const struct psr_fbh5 *w)
{
    const struct psr_hdf5 *h = &w->lib;
    const hsize_t dim[] = {w->nrow, 1, w->nchan}, most[] = {H5S_UNLIMITED, 1, w->nchan},
                  chunk[] = {w->chunk, 1, w->nchan};
    const hid_t space = h->H5Screate_simple(3, dim, most),
                how = h->H5Pcreate(*h->H5P_CLS_DATASET_CREATE_ID_g);
    hid_t mask = -1;
    if (h->H5Pset_obj_track_times(how, false) >= 0 && h->H5Pset_chunk(how, 3, chunk) >= 0)
        mask = h->H5Dcreate2(w->file, "mask", *h->H5T_NATIVE_UINT8_g, space, H5P_DEFAULT, how,
                             H5P_DEFAULT);
    const bool done = mask >= 0 && psr_hdf5_label(h, mask, dimensions, 3);
    h->H5Pclose(how);
    h->H5Sclose(space);
    return mask >= 0 && h->H5Dclose(mask) >= 0 && done;
}

psr_status psr_fbh5_finish(psr_fbh5 *w, psr_err *err)
{
    const bool mask = put_mask(w), data = w->lib.H5Dclose(w->data) >= 0,
               file = w->lib.H5Fclose(w->file) >= 0;
    w->data = w->file = -1;
    return mask && data && file ? PSR_OK : fail(w, "write the end", err);
}

void psr_fbh5_destroy(psr_fbh5 *w)
{
    if (!w)
        return;
    if (w->data >= 0)
        w->lib.H5Dclose(w->data);
    if (w->file >= 0)
        w->lib.H5Fclose(w->file);
    free(w);
}

#else

psr_status psr_fbh5_create(psr_fbh5 **out, psr_outfile *f, const struct psr_obs *obs, psr_err *err)
{
    (void)obs;
    *out = NULL;
    return psr_fail_field(err, PSR_EUNSUPPORTED, "format", "%s: psrkit was built without HDF5",
                          psr_outfile_name(f));
}

psr_status psr_fbh5_append(psr_fbh5 *w, const void *rows, size_t nrow, psr_err *err)
{
    (void)w, (void)rows, (void)nrow, (void)err;
    return PSR_EUNSUPPORTED;
}

psr_status psr_fbh5_finish(psr_fbh5 *w, psr_err *err)
{
    (void)w, (void)err;
    return PSR_EUNSUPPORTED;
}

void psr_fbh5_destroy(psr_fbh5 *w)
{
    (void)w;
}
#endif
