/* Reads filterbanks in HDF5. */
#include "fbh5_process.h"

#include "base/obs_internal.h"
#include "base/path.h"
#include "formats/spectra/header_keys.h"

#ifdef PSR_HDF5_SO
#include <math.h>
#include <stdlib.h>

struct fbh5_reader {
    struct psr_reader base;
    psr_fbh5_process *process;
    const struct psr_fbh5_facts *facts;
    char *name;
    int64_t pos; /* spectra given so far */
    struct psr_ifs ifs;
};

/* --- the header ------------------------------------------------------------------------------- */

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
    snprintf(obs->source, sizeof obs->source, "%s", r->facts->source);
    return psr_obs_check(obs, r->name, err);
}

static psr_status read_header(struct fbh5_reader *r, const struct psr_source_desc *desc,
                              psr_err *err)
{
    struct psr_obs *obs = &r->base.obs;
    struct psr_header_keys k = {.name = r->name};
    obs->kind = r->facts->kind;
    obs->nbit = r->base.file_nbit = r->facts->nbit;
    obs->nsamp = (int64_t)r->facts->dim[0];
    obs->nif = (int)r->facts->dim[1];
    obs->nchan = (size_t)r->facts->dim[2];
    psr_status st = psr_header_keys_lines(&k, r->facts->keys, strlen(r->facts->keys), err);
    if (!st)
        st = fill_header(r, obs, &k, err);
    psr_header_keys_clear(&k);
    return st ? st : psr_ifs_choose(&r->ifs, &r->base, r->name, desc, err);
}

/* --- the reader ------------------------------------------------------------------------------- */

static psr_status next_spectra(struct psr_reader *base, size_t nsamp, void *block, size_t *nread,
                               int64_t *gap, psr_err *err)
{
    struct fbh5_reader *r = (struct fbh5_reader *)base;
    unsigned char *to = block;
    psr_status st = PSR_OK;
    *gap = 0;
    *nread = 0;
    while (!st && *nread < nsamp && r->pos < base->obs.nsamp) {
        const unsigned char *rows;
        size_t n;
        st = psr_fbh5_process_rows(r->process, r->pos, &rows, &n, err);
        if (st)
            break;
        if (n > nsamp - *nread)
            n = nsamp - *nread;
        if (base->file_nif > 1)
            psr_ifs_merge(&r->ifs, base, n, rows, to);
        else
            memcpy(to, rows, n * r->ifs.row_bytes);
        to += n * r->ifs.row_bytes;
        r->pos += (int64_t)n;
        *nread += n;
    }
    return st;
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
    psr_fbh5_process_end(r->process);
    psr_obs_clear(&base->obs);
    free(r->name);
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
    r->name = strdup(psr_path_called(path));
    psr_status st = r->name ? psr_fbh5_process_start(&r->process, &r->facts, path, r->name, err)
                            : psr_fail_nomem(err, "a file name", 1);
    if (!st)
        st = read_header(r, desc, err);
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
