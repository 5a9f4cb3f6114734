/* Filterbanks in HDF5: what the process of a file does to read one, and writes. */
#include "formats/hdf5/fbh5.h"

#include "base/base.h"
#include "base/obs_internal.h"
#include "base/output/outfile_internal.h"
#include "formats/spectra/unpack.h"

#ifdef PSR_HDF5_SO
#include <math.h>

/* The type of samples in memory, or -1 if HDF5 files do not have them. */
static hid_t fbh5_type(const struct psr_hdf5 *h, int nbit, enum psr_kind kind)
{
    const struct {
        int nbit;
        enum psr_kind kind;
        const hid_t *type;
    } types[] = {
        {8, PSR_UINT, h->H5T_NATIVE_UINT8_g},   {8, PSR_INT, h->H5T_NATIVE_INT8_g},
        {16, PSR_UINT, h->H5T_NATIVE_UINT16_g}, {16, PSR_INT, h->H5T_NATIVE_INT16_g},
        {32, PSR_UINT, h->H5T_NATIVE_UINT32_g}, {32, PSR_FLOAT, h->H5T_NATIVE_FLOAT_g},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (nbit == types[i].nbit && kind == types[i].kind)
            return *types[i].type;
    return -1;
}

static hid_t fbh5_access(const struct psr_hdf5 *h, const hsize_t chunk[3], const hsize_t dim[3],
                         size_t sample_bytes)
{
    const double most = 0x1p30;
    const size_t slots = 10007;
    double bytes = (double)sample_bytes * (double)chunk[0];
    for (int i = 1; i < 3; i++)
        bytes *= (double)((dim[i] + chunk[i] - 1) / chunk[i] * chunk[i]);
    const hid_t access = h->H5Pcreate(*h->H5P_CLS_DATASET_ACCESS_ID_g);
    if (access >= 0)
        (void)h->H5Pset_chunk_cache(access, slots, (size_t)fmin(fmax(bytes, 0x1p20), most), 1);
    return access;
}

/* --- attributes ------------------------------------------------------------------------------- */

/* Copies an attribute that is a text. */
static void read_text(const struct psr_fbh5_file *f, hid_t attribute, hid_t type, char *text)
{
    const struct psr_hdf5 *h = f->lib;
    char *variable = NULL, fixed[4 * PSR_TEXT_MAX] = "";
    if (h->H5Tis_variable_str(type) > 0) {
        if (h->H5Aread(attribute, type, &variable) >= 0 && variable)
            snprintf(text, PSR_TEXT_MAX, "%s", variable);
        h->H5free_memory(variable);
    } else if (h->H5Tget_size(type) < sizeof fixed && h->H5Aread(attribute, type, fixed) >= 0)
        snprintf(text, PSR_TEXT_MAX, "%.*s", PSR_TEXT_MAX - 1, fixed);
}

/* Returned: an attribute of one value as text [PSR_TEXT_MAX], "" if there is none */
static void read_attribute(const struct psr_fbh5_file *f, const char *key, char *text)
{
    const struct psr_hdf5 *h = f->lib;
    *text = '\0';
    if (h->H5Aexists(f->data, key) <= 0)
        return;
    const hid_t attribute = h->H5Aopen(f->data, key, H5P_DEFAULT), type = h->H5Aget_type(attribute),
                space = h->H5Aget_space(attribute);
    const H5T_class_t kind = h->H5Tget_class(type);
    double number = 0;
    if (h->H5Sget_simple_extent_npoints(space) == 1 && kind == H5T_STRING)
        read_text(f, attribute, type, text);
    else if (h->H5Sget_simple_extent_npoints(space) == 1 &&
             (kind == H5T_INTEGER || kind == H5T_FLOAT) &&
             h->H5Aread(attribute, *h->H5T_NATIVE_DOUBLE_g, &number) >= 0)
        psr_c_locale_snprintf(text, PSR_TEXT_MAX, "%.17g", number);
    h->H5Sclose(space);
    h->H5Tclose(type);
    h->H5Aclose(attribute);
}

static void read_keys(const struct psr_fbh5_file *f, struct psr_fbh5_facts *facts)
{
    static const char *const keys[] = {
        "fch1",     "foff",     "tsamp",      "tstart", "nchans", "src_raj",      "src_dej",
        "az_start", "za_start", "machine_id", "ibeam",  "nbeams", "telescope_id", "barycentric"};
    char text[PSR_TEXT_MAX];
    size_t n = 0;
    _Static_assert(sizeof keys / sizeof *keys * (PSR_TEXT_MAX + 16) < PSR_FBH5_KEYS, "room");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        read_attribute(f, keys[i], text);
        text[strcspn(text, "\r\n")] = '\0';
        if (*text)
            n +=
                (size_t)snprintf(facts->keys + n, sizeof facts->keys - n, "%s %s\n", keys[i], text);
    }
    read_attribute(f, "source_name", facts->source);
}

/* --- opening ---------------------------------------------------------------------------------- */

static psr_status find_samples(struct psr_fbh5_file *f, struct psr_fbh5_facts *facts, psr_err *err)
{
    const struct psr_hdf5 *h = f->lib;
    const hid_t stored = h->H5Dget_type(f->data);
    const H5T_class_t kind = h->H5Tget_class(stored);
    const size_t bytes = h->H5Tget_size(stored);
    hsize_t dim[3] = {0};
    facts->kind = kind == H5T_FLOAT                        ? PSR_FLOAT
                  : h->H5Tget_sign(stored) == H5T_SGN_NONE ? PSR_UINT
                                                           : PSR_INT;
    h->H5Tclose(stored);
    facts->nbit = bytes <= 4 ? (int)bytes * 8 : 0;
    f->type = fbh5_type(h, facts->nbit, facts->kind);
    if ((kind != H5T_FLOAT && kind != H5T_INTEGER) || f->type < 0)
        return psr_fail_field(
            err, PSR_EUNSUPPORTED, "data",
            "%s: samples of %zu bytes, must be whole numbers of 1 or 2 or floats of 4", f->name,
            bytes);
    const bool has_shape = h->H5Sget_simple_extent_ndims(f->space) == 3 &&
                           h->H5Sget_simple_extent_dims(f->space, dim, NULL) == 3;
    if (!has_shape || dim[0] < 1 || dim[0] > INT64_MAX / 2 || dim[1] < 1 ||
        dim[1] > PSR_FBH5_FEEDS || dim[2] < 1 || dim[2] > PSR_FBH5_CHANNELS)
        return psr_fail_field(err, PSR_EFORMAT, "data",
                              "%s: the shape of data must be [spectra][1 to %d feeds][1 to %d "
                              "channels]",
                              f->name, PSR_FBH5_FEEDS, PSR_FBH5_CHANNELS);
    for (int i = 0; i < 3; i++)
        facts->dim[i] = dim[i];
    return PSR_OK;
}

/* No filter saves so much; a damaged shape would be read as zeros without end.
 * Given: chunk   sizes of chunks that no filter changes, or NULL: then only whole ones are stored */
static psr_status check_stored(const struct psr_fbh5_file *f, const struct psr_fbh5_facts *facts,
                               const hsize_t *chunk, psr_err *err)
{
    const double most = 1e4, sample = facts->nbit / 8.0,
                 stored = (double)f->lib->H5Dget_storage_size(f->data),
                 each = chunk ? (double)chunk[0] * (double)chunk[1] * (double)chunk[2] * sample : 1,
                 bytes =
                     (double)facts->dim[0] * (double)facts->dim[1] * (double)facts->dim[2] * sample;
    if (bytes <= most * stored && each >= 1 && fmod(stored, each) == 0)
        return PSR_OK;
    return psr_fail_field(err, PSR_EFORMAT, "data",
                          "%s: data has %g bytes, of which the file stores %g: damaged, or never "
                          "written",
                          f->name, bytes, stored);
}

static psr_status check_filters(const struct psr_fbh5_file *f, hid_t how, psr_err *err)
{
    const struct psr_hdf5 *h = f->lib;
    for (int i = 0; i < h->H5Pget_nfilters(how); i++) {
        unsigned flags, config;
        size_t n = 0;
        char name[80] = "";
        const H5Z_filter_t id =
            h->H5Pget_filter2(how, (unsigned)i, &flags, &n, NULL, sizeof name, name, &config);
        if (id >= 0 && h->H5Zfilter_avail(id) <= 0)
            return psr_fail(err, PSR_EUNSUPPORTED,
                            "%s: compressed by HDF5's filter %d (%.40s), whose plugin is not in "
                            "HDF5_PLUGIN_PATH",
                            f->name, (int)id, name);
    }
    return PSR_OK;
}

/* Opens the dataset again with room for the chunks that a spectrum passes through, or with none where HDF5 can read
 * spectra as they lie in the file. */
static psr_status keep_chunks(struct psr_fbh5_file *f, const struct psr_fbh5_facts *facts,
                              psr_err *err)
{
    const struct psr_hdf5 *h = f->lib;
    const double most = 0x1p30;
    const size_t bytes = (size_t)facts->nbit / 8;
    const hsize_t dim[] = {facts->dim[0], facts->dim[1], facts->dim[2]};
    hsize_t chunk[3];
    const hid_t how = h->H5Dget_create_plist(f->data);
    psr_status st = check_filters(f, how, err);
    const bool chunked =
                   h->H5Pget_layout(how) == H5D_CHUNKED && h->H5Pget_chunk(how, 3, chunk) == 3,
               filtered = h->H5Pget_nfilters(how) != 0;
    if (!st)
        st = check_stored(f, facts, chunked && !filtered ? chunk : NULL, err);
    h->H5Pclose(how);
    if (st || !chunked)
        return st;
    f->chunk_bytes = (double)chunk[0] * (double)dim[1] * (double)dim[2] * (double)bytes;
    if ((double)chunk[0] * (double)chunk[1] * (double)chunk[2] * (double)bytes > most)
        return psr_fail_field(
            err, PSR_EUNSUPPORTED, "data",
            "%s: chunks of %llu x %llu x %llu samples, must have at most %g bytes", f->name,
            (unsigned long long)chunk[0], (unsigned long long)chunk[1],
            (unsigned long long)chunk[2], most);
    const hid_t access = fbh5_access(h, chunk, dim, bytes);
    if (!filtered && chunk[1] >= dim[1] && chunk[2] == dim[2])
        (void)h->H5Pset_chunk_cache(access, 0, 0, 1);
    h->H5Dclose(f->data); /* datasets that are open keep what they were opened with */
    f->data = h->H5Dopen2(f->file, "data", access);
    h->H5Pclose(access);
    return f->data >= 0 ? PSR_OK : psr_fail_nomem(err, f->name, most);
}

psr_status psr_fbh5_file_open(struct psr_fbh5_file *f, struct psr_fbh5_facts *facts,
                              const char *path, psr_err *err)
{
    f->file = f->lib->H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (f->file >= 0)
        f->data = f->lib->H5Dopen2(f->file, "data", H5P_DEFAULT);
    if (f->data >= 0)
        f->space = f->lib->H5Dget_space(f->data);
    if (f->space < 0)
        return psr_fail(err, PSR_EFORMAT, "%s: no dataset \"data\" in it, or a damaged HDF5 file",
                        f->name);
    psr_status st = find_samples(f, facts, err);
    if (!st)
        st = keep_chunks(f, facts, err);
    if (!st)
        read_keys(f, facts);
    return st;
}

psr_status psr_fbh5_file_read(const struct psr_fbh5_file *f, const struct psr_fbh5_facts *facts,
                              int64_t start, size_t n, void *to, psr_err *err)
{
    const struct psr_hdf5 *h = f->lib;
    const hsize_t first[] = {(hsize_t)start, 0, 0}, count[] = {n, facts->dim[1], facts->dim[2]};
    const hid_t memory = h->H5Screate_simple(3, count, NULL);
    const bool read =
        memory >= 0 &&
        h->H5Sselect_hyperslab(f->space, H5S_SELECT_SET, first, NULL, count, NULL) >= 0 &&
        h->H5Dread(f->data, f->type, memory, f->space, H5P_DEFAULT, to) >= 0;
    h->H5Sclose(memory);
    return read ? PSR_OK
                : psr_fail(err, PSR_EFORMAT, "%s: damaged: spectra %lld to %lld cannot be read",
                           f->name, (long long)start, (long long)start + (long long)n - 1);
}
#endif

/* --- writes filterbanks in HDF5. -------------------------------------------------------------- */

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
    w->type = fbh5_type(h, obs->nbit, obs->kind);
    const hid_t space = h->H5Screate_simple(3, dim, most),
                how = h->H5Pcreate(*h->H5P_CLS_DATASET_CREATE_ID_g),
                access = fbh5_access(h, chunk, dim, (size_t)obs->nbit / 8);
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
