/* Reads filterbanks in HDF5. */
#include "fbh5.h"

#include "base/c_locale.h"
#include "base/obs_internal.h"
#include "base/path.h"
#include "formats/spectra/header_keys.h"
#include "formats/spectra/spectra_reader.h"

#ifdef PSR_HDF5_SO
#include <math.h>
#include <stdlib.h>

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

/* --- the header ------------------------------------------------------------------------------- */

struct fbh5_reader {
    struct psr_reader base;
    struct psr_hdf5 lib;
    char *name;
    hid_t file, data, type, space; /* -1: not open */
    hsize_t dim[3];                /* spectra, feeds, channels */
    int64_t pos;                   /* spectra given so far */
    struct psr_ifs ifs;
    unsigned char *raw; /* [RAW_SPECTRA] spectra of several feeds; NULL: blocks are as stored */
};

enum { RAW_SPECTRA = 64 };

/* Copies an attribute that is a text. */
static void read_text(const struct fbh5_reader *r, hid_t attribute, hid_t type, char *text)
{
    const struct psr_hdf5 *h = &r->lib;
    char *variable = NULL, fixed[4 * PSR_TEXT_MAX] = "";
    if (h->H5Tis_variable_str(type) > 0) {
        if (h->H5Aread(attribute, type, &variable) >= 0 && variable)
            snprintf(text, PSR_TEXT_MAX, "%s", variable);
        h->H5free_memory(variable);
    } else if (h->H5Tget_size(type) < sizeof fixed && h->H5Aread(attribute, type, fixed) >= 0)
        snprintf(text, PSR_TEXT_MAX, "%.*s", PSR_TEXT_MAX - 1, fixed);
}

/* Returned: an attribute of one value as text [PSR_TEXT_MAX], "" if there is none */
static void read_attribute(const struct fbh5_reader *r, const char *key, char *text)
{
    const struct psr_hdf5 *h = &r->lib;
    *text = '\0';
    if (h->H5Aexists(r->data, key) <= 0)
        return;
    const hid_t attribute = h->H5Aopen(r->data, key, H5P_DEFAULT), type = h->H5Aget_type(attribute),
                space = h->H5Aget_space(attribute);
    const H5T_class_t kind = h->H5Tget_class(type);
    double number = 0;
    if (h->H5Sget_simple_extent_npoints(space) == 1 && kind == H5T_STRING)
        read_text(r, attribute, type, text);
    else if (h->H5Sget_simple_extent_npoints(space) == 1 &&
             (kind == H5T_INTEGER || kind == H5T_FLOAT) &&
             h->H5Aread(attribute, *h->H5T_NATIVE_DOUBLE_g, &number) >= 0)
        psr_c_locale_snprintf(text, PSR_TEXT_MAX, "%.17g", number);
    h->H5Sclose(space);
    h->H5Tclose(type);
    h->H5Aclose(attribute);
}

/* Attributes that are numbers or angles, as lines. */
static psr_status read_keys(const struct fbh5_reader *r, struct psr_header_keys *k, psr_err *err)
{
    static const char *const keys[] = {
        "fch1",     "foff",     "tsamp",      "tstart", "nchans", "src_raj",      "src_dej",
        "az_start", "za_start", "machine_id", "ibeam",  "nbeams", "telescope_id", "barycentric"};
    char lines[sizeof keys / sizeof *keys * (PSR_TEXT_MAX + 16)] = "", text[PSR_TEXT_MAX];
    size_t n = 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        read_attribute(r, keys[i], text);
        text[strcspn(text, "\r\n")] = '\0';
        if (*text)
            n += (size_t)snprintf(lines + n, sizeof lines - n, "%s %s\n", keys[i], text);
    }
    return psr_header_keys_lines(k, lines, n, err);
}

/* Hours and degrees as numbers, or both as 12:34:56.7. */
static psr_status fill_position(struct psr_obs *obs, const struct psr_header_keys *k, psr_err *err)
{
    double hours = 0;
    const struct psr_header_number numbers[] = {{"src_raj", false, 0, 24, NULL, &hours},
                                                {"src_dej", false, -90, 90, NULL, &obs->dec_deg}};
    const char *raj = psr_header_keys_text(k, "src_raj");
    if (raj && strchr(raj, ':')) {
        obs->has_position =
            psr_header_keys_position(k, "src_raj", "src_dej", &obs->ra_deg, &obs->dec_deg);
        return PSR_OK;
    }
    psr_status st = psr_header_keys_numbers(k, numbers, 2, err);
    obs->ra_deg = hours * 15;
    obs->has_position = obs->ra_deg != 0 || obs->dec_deg != 0;
    return st;
}

static psr_status fill_header(const struct fbh5_reader *r, struct psr_obs *obs,
                              const struct psr_header_keys *k, psr_err *err)
{
    int64_t nchan = (int64_t)obs->nchan, ids[] = {-1, -1}, beams[] = {0, 0}, barycentric = 0;
    double tstart = 0;
    const struct psr_header_number numbers[] = {
        {"nchans", false, 1, 0x1p40, &nchan, NULL},
        {"fch1", true, -1e12, 1e12, NULL, &obs->fch1_mhz},
        {"foff", true, -1e12, 1e12, NULL, &obs->foff_mhz},
        {"tsamp", true, 0, 1e6, NULL, &obs->tsamp_s},
        {"tstart", false, 0, 1e6, NULL, &tstart},
        {"az_start", false, -1e12, 1e12, NULL, &obs->az_deg},
        {"za_start", false, -1e12, 1e12, NULL, &obs->za_deg},
        {"telescope_id", false, -1, 1e9, &ids[0], NULL},
        {"machine_id", false, -1, 1e9, &ids[1], NULL},
        {"ibeam", false, -1, 1e9, &beams[0], NULL},
        {"nbeams", false, -1, 1e9, &beams[1], NULL},
        {"barycentric", false, 0, 1, &barycentric, NULL},
    };
    psr_status st = psr_header_keys_numbers(k, numbers, sizeof numbers / sizeof *numbers, err);
    if (!st)
        st = fill_position(obs, k, err);
    if (st)
        return st;
    if (nchan != (int64_t)obs->nchan)
        return psr_fail_field(err, PSR_EFORMAT, "nchans",
                              "%s: nchans = %lld, data has %zu channels", r->name, (long long)nchan,
                              obs->nchan);
    obs->tstart = (struct psr_mjd){(long)floor(tstart), tstart - floor(tstart)};
    obs->telescope_id = (int)ids[0];
    obs->machine_id = (int)ids[1];
    obs->ibeam = (int)fmax(0, (double)beams[0]);
    obs->nbeam = (int)fmax(0, (double)beams[1]);
    obs->barycentric = barycentric != 0;
    snprintf(obs->telescope, sizeof obs->telescope, "%s", psr_telescope_name(obs->telescope_id));
    snprintf(obs->instrument, sizeof obs->instrument, "%s", psr_machine_name(obs->machine_id));
    read_attribute(r, "source_name", obs->source);
    return psr_obs_check(obs, r->name, err);
}

/* --- opening ---------------------------------------------------------------------------------- */

static psr_status find_samples(struct fbh5_reader *r, psr_err *err)
{
    const struct psr_hdf5 *h = &r->lib;
    struct psr_obs *obs = &r->base.obs;
    const hid_t stored = h->H5Dget_type(r->data);
    const H5T_class_t kind = h->H5Tget_class(stored);
    const size_t bytes = h->H5Tget_size(stored);
    obs->kind = kind == H5T_FLOAT                        ? PSR_FLOAT
                : h->H5Tget_sign(stored) == H5T_SGN_NONE ? PSR_UINT
                                                         : PSR_INT;
    h->H5Tclose(stored);
    obs->nbit = bytes <= 4 ? (int)bytes * 8 : 0;
    r->base.file_nbit = obs->nbit;
    r->type = psr_fbh5_type(h, obs->nbit, obs->kind);
    if ((kind != H5T_FLOAT && kind != H5T_INTEGER) || r->type < 0)
        return psr_fail_field(
            err, PSR_EUNSUPPORTED, "data",
            "%s: samples of %zu bytes, must be whole numbers of 1 or 2 or floats of 4", r->name,
            bytes);
    const bool has_shape = h->H5Sget_simple_extent_ndims(r->space) == 3 &&
                           h->H5Sget_simple_extent_dims(r->space, r->dim, NULL) == 3;
    if (!has_shape || r->dim[0] < 1 || r->dim[0] > INT64_MAX / 2 || r->dim[1] < 1 ||
        r->dim[1] > 16 || r->dim[2] < 1 || r->dim[2] > 1 << 20)
        return psr_fail_field(err, PSR_EFORMAT, "data",
                              "%s: the shape of data must be [spectra][1 to 16 feeds][1 to %d "
                              "channels]",
                              r->name, 1 << 20);
    obs->nsamp = (int64_t)r->dim[0];
    obs->nif = (int)r->dim[1];
    obs->nchan = (size_t)r->dim[2];
    return PSR_OK;
}

/* No filter saves so much; a damaged shape would be read as zeros without end.
 * Given: chunk   sizes of chunks that no filter changes, or NULL: then only whole ones are stored */
static psr_status check_stored(const struct fbh5_reader *r, const hsize_t *chunk, psr_err *err)
{
    const double most = 1e4, stored = (double)r->lib.H5Dget_storage_size(r->data),
                 each = chunk ? (double)chunk[0] * (double)chunk[1] * (double)chunk[2] *
                                    (double)r->base.obs.nbit / 8
                              : 1,
                 bytes = (double)r->dim[0] * (double)r->dim[1] * (double)r->dim[2] *
                         (double)r->base.obs.nbit / 8;
    if (bytes <= most * stored && each >= 1 && fmod(stored, each) == 0)
        return PSR_OK;
    return psr_fail_field(err, PSR_EFORMAT, "data",
                          "%s: data has %g bytes, of which the file stores %g: damaged, or never "
                          "written",
                          r->name, bytes, stored);
}

static psr_status check_filters(const struct fbh5_reader *r, hid_t how, psr_err *err)
{
    const struct psr_hdf5 *h = &r->lib;
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
                            r->name, (int)id, name);
    }
    return PSR_OK;
}

/* Opens the dataset again with room for the chunks that a spectrum passes through. */
static psr_status keep_chunks(struct fbh5_reader *r, psr_err *err)
{
    const struct psr_hdf5 *h = &r->lib;
    const double most = 0x1p30;
    const size_t bytes = (size_t)r->base.obs.nbit / 8;
    hsize_t chunk[3];
    const hid_t how = h->H5Dget_create_plist(r->data);
    psr_status st = check_filters(r, how, err);
    const bool chunked =
        h->H5Pget_layout(how) == H5D_CHUNKED && h->H5Pget_chunk(how, 3, chunk) == 3;
    if (!st)
        st = check_stored(r, chunked && h->H5Pget_nfilters(how) == 0 ? chunk : NULL, err);
    h->H5Pclose(how);
    if (st || !chunked)
        return st;
    if ((double)chunk[0] * (double)chunk[1] * (double)chunk[2] * (double)bytes > most)
        return psr_fail_field(
            err, PSR_EUNSUPPORTED, "data",
            "%s: chunks of %llu x %llu x %llu samples, must have at most %g bytes", r->name,
            (unsigned long long)chunk[0], (unsigned long long)chunk[1],
            (unsigned long long)chunk[2], most);
    const hid_t access = psr_fbh5_access(h, chunk, r->dim, bytes),
                again = h->H5Dopen2(r->file, "data", access);
    h->H5Pclose(access);
    if (again < 0)
        return psr_fail_nomem(err, r->name, most);
    h->H5Dclose(r->data);
    r->data = again;
    return PSR_OK;
}

static psr_status set_up(struct fbh5_reader *r, const char *path,
                         const struct psr_source_desc *desc, psr_err *err)
{
    struct psr_header_keys k = {.name = r->name};
    psr_status st = psr_hdf5_load(&r->lib, path, err);
    if (st)
        return st;
    r->file = r->lib.H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (r->file >= 0)
        r->data = r->lib.H5Dopen2(r->file, "data", H5P_DEFAULT);
    if (r->data >= 0)
        r->space = r->lib.H5Dget_space(r->data);
    if (r->space < 0)
        return psr_fail(err, PSR_EFORMAT, "%s: no dataset \"data\" in it, or a damaged HDF5 file",
                        path);
    st = find_samples(r, err);
    if (!st)
        st = keep_chunks(r, err);
    if (!st)
        st = read_keys(r, &k, err);
    if (!st)
        st = fill_header(r, &r->base.obs, &k, err);
    psr_header_keys_clear(&k);
    if (!st)
        st = psr_ifs_choose(&r->ifs, &r->base, r->name, desc, err);
    if (st || r->base.file_nif == 1)
        return st;
    r->raw = malloc(RAW_SPECTRA * r->ifs.spectrum_bytes);
    return r->raw ? PSR_OK
                  : psr_fail_nomem(err, "spectra of all feeds",
                                   RAW_SPECTRA * (double)r->ifs.spectrum_bytes);
}

/* --- the reader ------------------------------------------------------------------------------- */

static psr_status next_spectra(struct psr_reader *base, size_t nsamp, void *block, size_t *nread,
                               int64_t *gap, psr_err *err)
{
    struct fbh5_reader *r = (struct fbh5_reader *)base;
    const struct psr_hdf5 *h = &r->lib;
    size_t n = nsamp;
    *gap = 0;
    if (r->raw && n > RAW_SPECTRA)
        n = RAW_SPECTRA;
    if ((int64_t)n > base->obs.nsamp - r->pos)
        n = (size_t)(base->obs.nsamp - r->pos);
    *nread = n;
    if (n == 0)
        return PSR_OK;
    const hsize_t start[] = {(hsize_t)r->pos, 0, 0}, count[] = {n, r->dim[1], r->dim[2]};
    const hid_t memory = h->H5Screate_simple(3, count, NULL);
    const bool read =
        memory >= 0 &&
        h->H5Sselect_hyperslab(r->space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0 &&
        h->H5Dread(r->data, r->type, memory, r->space, H5P_DEFAULT, r->raw ? r->raw : block) >= 0;
    h->H5Sclose(memory);
    if (!read)
        return psr_fail(err, PSR_EFORMAT, "%s: damaged: spectra %lld to %lld cannot be read",
                        r->name, (long long)r->pos, (long long)r->pos + (long long)n - 1);
    if (r->raw)
        psr_ifs_merge(&r->ifs, base, n, r->raw, block);
    r->pos += (int64_t)n;
    return PSR_OK;
}

static psr_status seek_spectrum(struct psr_reader *base, int64_t n, psr_err *err)
{
    struct fbh5_reader *r = (struct fbh5_reader *)base;
    if (n < 0 || n > base->obs.nsamp)
        return psr_fail(err, PSR_EINVAL, "%s: spectrum %lld, must be 0 to %lld", r->name,
                        (long long)n, (long long)base->obs.nsamp);
    r->pos = n;
    return PSR_OK;
}

static void close_reader(struct psr_reader *base)
{
    struct fbh5_reader *r = (struct fbh5_reader *)base;
    if (r->space >= 0)
        r->lib.H5Sclose(r->space);
    if (r->data >= 0)
        r->lib.H5Dclose(r->data);
    if (r->file >= 0)
        r->lib.H5Fclose(r->file);
    psr_obs_clear(&base->obs);
    free(r->name);
    free(r->raw);
    free(r);
}

static const struct psr_reader_ops ops = {next_spectra, seek_spectrum, close_reader};

psr_status psr_fbh5_open(struct psr_reader **out, const char *path,
                         const struct psr_source_desc *desc, psr_err *err)
{
    *out = NULL;
    struct fbh5_reader *r = calloc(1, sizeof *r);
    if (!r)
        return psr_fail_nomem(err, "a reader of HDF5", sizeof *r);
    psr_obs_init(&r->base.obs);
    r->base.ops = &ops;
    r->file = r->data = r->space = -1;
    r->name = strdup(psr_path_called(path));
    psr_status st = r->name ? set_up(r, path, desc, err) : psr_fail_nomem(err, "a file name", 1);
    if (st) {
        close_reader(&r->base);
        return st;
    }
    *out = &r->base;
    return PSR_OK;
}

#else

psr_status psr_fbh5_open(struct psr_reader **out, const char *path,
                         const struct psr_source_desc *desc, psr_err *err)
{
    (void)desc;
    *out = NULL;
    return psr_fail(err, PSR_EUNSUPPORTED, "%s: HDF5, and psrkit was built without it",
                    psr_path_called(path));
}
#endif
