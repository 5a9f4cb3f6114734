/* Reads PSRFITS search-mode files. */
#include "psrfits.h"
#include "base/obs_internal.h"
#include "formats/spectra/spectra_reader.h"
#include "formats/spectra/unpack.h"

#include <stdlib.h>

enum { CHUNK_BYTES = 1 << 20 };

struct reader {
    struct psr_reader base;
    struct psr_fits fits;
    struct psr_fits_rows rows;
    struct psr_fits_scaling scaling;
    int64_t scaled_row; /* the row that scaling is of; 0 none yet */
    bool told_no_numbers;
    uint8_t *raw; /* chunk_spectra as stored */
    size_t chunk_spectra;
    float *work;     /* [2 nchan] */
    int64_t at;      /* spectrum that comes next */
    size_t next_row; /* first of rows that ends after it */
};

static int64_t row_end(const struct reader *p, size_t i)
{
    bool last = i + 1 == p->rows.nlive;
    return p->rows.row[i].start + (last ? p->rows.last_nspec : p->fits.nsblk);
}

static psr_status load_scaling(struct reader *p, int64_t row, psr_err *err)
{
    if (!p->fits.scaled || p->scaled_row == row)
        return PSR_OK;
    p->scaled_row = 0;
    psr_status code = psr_fits_scaling_read(&p->scaling, &p->fits, row, true, err);
    if (code)
        return code;
    p->scaled_row = row;
    if (p->scaling.ndropped && !p->told_no_numbers)
        psr_note(
            &p->fits.notes,
            "%s: row %lld: %s of %zu channels: no numbers; these count as weight 0, there and in "
            "later rows",
            p->fits.path, (long long)row, psr_fits_bad_columns(p->scaling.bad),
            p->scaling.ndropped);
    p->told_no_numbers |= p->scaling.ndropped > 0;
    return PSR_OK;
}

static psr_status next_spectra(struct psr_reader *r, size_t nsamp, void *block, size_t *nread,
                               int64_t *gap, psr_err *err)
{
    struct reader *p = (struct reader *)r;
    const size_t nbyte = psr_row_bytes(r->obs.nchan, r->obs.nbit);
    const size_t bits = psr_fits_spectrum_bits(&p->fits);
    uint8_t *out = block;
    *nread = 0;
    *gap = 0;
    while (*nread < nsamp && p->next_row < p->rows.nlive) {
        const struct psr_fits_row *row = &p->rows.row[p->next_row];
        if (p->at < row->start)
            break;
        int64_t left = row_end(p, p->next_row) - p->at;
        size_t n = nsamp - *nread < p->chunk_spectra ? nsamp - *nread : p->chunk_spectra;
        if ((int64_t)n > left)
            n = (size_t)left;
        const int64_t bit = (p->at - row->start) * (int64_t)bits;
        const size_t skip = (size_t)(bit % 8);
        psr_status code = load_scaling(p, row->number, err);
        if (!code)
            code = psr_fits_read_data(&p->fits, row->number, bit / 8, (skip + n * bits + 7) / 8,
                                      p->raw, err);
        if (code)
            return code;
        psr_fits_convert(&p->fits, &p->scaling, p->raw, skip, n, p->work, out + *nread * nbyte);
        *nread += n;
        p->at += (int64_t)n;
        p->next_row += (int64_t)n == left;
    }
    if (!*nread && nsamp) {
        bool more = p->next_row < p->rows.nlive;
        *gap = (more ? p->rows.row[p->next_row].start : p->rows.nsamp) - p->at;
        p->at += *gap;
    }
    return PSR_OK;
}

static psr_status seek_spectrum(struct psr_reader *r, int64_t n, psr_err *err)
{
    struct reader *p = (struct reader *)r;
    if (n < 0 || n > p->rows.nsamp)
        return psr_fail(err, PSR_EINVAL, "%s: no spectrum %lld: the file has %lld", p->fits.path,
                        (long long)n, (long long)p->rows.nsamp);
    size_t low = 0, high = p->rows.nlive;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (row_end(p, mid) > n)
            high = mid;
        else
            low = mid + 1;
    }
    p->next_row = low;
    p->at = n;
    return PSR_OK;
}

static void close_reader(struct psr_reader *r)
{
    struct reader *p = (struct reader *)r;
    psr_fits_shut(&p->fits);
    psr_obs_clear(&r->obs);
    free(p->rows.row);
    free(p->scaling.store);
    free(p->raw);
    free(p->work);
    free(p);
}

static psr_status allocate_buffers(struct reader *p, psr_err *err)
{
    const size_t bits = psr_fits_spectrum_bits(&p->fits);
    p->chunk_spectra = CHUNK_BYTES / (bits / 8 + 1);
    if (!p->chunk_spectra)
        p->chunk_spectra = 1;
    size_t raw_bytes = p->chunk_spectra * bits / 8 + 2;
    p->raw = malloc(raw_bytes);
    p->work = malloc(2 * p->fits.nchan * sizeof *p->work);
    if (!p->raw || !p->work)
        return psr_fail_nomem(err, "spectra of a PSRFITS file", (double)raw_bytes);
    return psr_fits_scaling_init(&p->scaling, &p->fits, err);
}

/* PRESTO keeps a date in one long double. */
static void round_date(struct psr_mjd *date)
{
    long double mjd = (long double)date->day + (long double)date->frac;
    date->frac = (double)(mjd - (long double)date->day);
}

static psr_status open_reader(struct reader *p, const char *path,
                              const struct psr_source_desc *desc, psr_err *err)
{
    struct psr_obs *obs = &p->base.obs;
    p->fits.notes = desc->notes;
    p->fits.as_presto = desc->as_presto;
    psr_status code = psr_fits_open(&p->fits, path, err);
    if (!code)
        code = psr_fits_read_header(&p->fits, obs, desc, err);
    if (!code)
        code = psr_fits_read_rows(&p->fits, &p->rows, err);
    if (!code)
        code = allocate_buffers(p, err);
    if (code)
        return code;
    psr_fits_block_format(&p->fits, &obs->nbit, &obs->kind);
    p->base.file_nbit = p->fits.nbit;
    p->base.file_nif = p->fits.npol;
    p->base.pols = p->fits.pols;
    obs->nsamp = p->rows.nsamp;
    obs->tstart = psr_mjd_add(obs->tstart, p->rows.start_s);
    if (desc->as_presto)
        round_date(&obs->tstart);
    code = psr_obs_check(obs, path, err);
    return code ? code : psr_fits_check_freq(&p->fits, &p->rows, psr_obs_band(obs).chan_mhz, err);
}

psr_status psr_psrfits_open(struct psr_reader **out, const char *path,
                            const struct psr_source_desc *desc, psr_err *err)
{
    static const struct psr_reader_ops ops = {next_spectra, seek_spectrum, close_reader};
    *out = NULL;
    struct reader *p = calloc(1, sizeof *p);
    if (!p)
        return psr_fail_nomem(err, "a PSRFITS reader", sizeof *p);
    p->base.ops = &ops;
    psr_obs_init(&p->base.obs);
    psr_status code = open_reader(p, path, desc, err);
    if (code) {
        close_reader(&p->base);
        return code;
    }
    *out = &p->base;
    return PSR_OK;
}
