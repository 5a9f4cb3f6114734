/* Opens and reads filterbanks in HDF5: what the process of a file does. */
#include "formats/hdf5/fbh5.h"

#include "base/base.h"

#ifdef PSR_HDF5_SO
#include <math.h>

hid_t psr_fbh5_type(const struct psr_hdf5 *h, int nbit, enum psr_kind kind)
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

hid_t psr_fbh5_access(const struct psr_hdf5 *h, const hsize_t chunk[3], const hsize_t dim[3],
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

/* --- attributes -------------------------------------------------------------------------------- */

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
    f->type = psr_fbh5_type(h, facts->nbit, facts->kind);
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
    const hid_t access = psr_fbh5_access(h, chunk, dim, bytes);
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
