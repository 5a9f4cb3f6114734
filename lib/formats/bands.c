/* Joins files of one time, whose bands lie side by side, to spectra of the whole band. */
#include "base/base.h"
#include "base/obs_internal.h"
#include "formats/spectra/unpack.h"
#include "multi_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 1 << 18 }; /* of one band */

struct bands {
    struct psr_reader base;
    struct psr_reader **band; /* [n] in the order of their channels */
    char **name;              /* [n] of their files */
    size_t n;
    uint8_t *rows; /* [nrow] spectra of one band */
    size_t nrow;
    int64_t pos; /* spectra given so far */
};

static psr_status read_band(const struct bands *r, size_t b, size_t n, psr_err *err)
{
    struct psr_reader *band = r->band[b];
    const size_t row_bytes = psr_row_bytes(band->obs.nchan, band->obs.nbit);
    psr_status st = PSR_OK;
    size_t done = 0;
    while (!st && done < n) {
        size_t more = 0;
        int64_t gap = 0;
        st = band->ops->next(band, n - done, r->rows + done * row_bytes, &more, &gap, err);
        if (!st && more == 0)
            st = psr_fail(err, gap ? PSR_EUNSUPPORTED : PSR_EIO,
                          "%s: %s spectrum %lld, must be whole to be joined with other bands",
                          r->name[b], gap ? "lacks data from" : "ends at",
                          (long long)(r->pos + (int64_t)done));
        done += more;
    }
    return st;
}

static psr_status next_spectra(struct psr_reader *base, size_t nsamp, void *block, size_t *nread,
                               int64_t *gap, psr_err *err)
{
    struct bands *r = (struct bands *)base;
    const size_t row_bytes = psr_row_bytes(base->obs.nchan, base->obs.nbit);
    const int64_t left = base->obs.nsamp - r->pos;
    size_t n = nsamp < r->nrow ? nsamp : r->nrow, at = 0;
    psr_status st = PSR_OK;
    *gap = 0;
    n = (int64_t)n < left ? n : (size_t)left;
    for (size_t b = 0; b < r->n && n && !st; b++) {
        const size_t band_bytes = psr_row_bytes(r->band[b]->obs.nchan, base->obs.nbit);
        st = read_band(r, b, n, err);
        for (size_t t = 0; t < n && !st; t++)
            memcpy((uint8_t *)block + t * row_bytes + at, r->rows + t * band_bytes, band_bytes);
        at += band_bytes;
    }
    *nread = st ? 0 : n;
    r->pos += (int64_t)*nread;
    return st;
}

static psr_status seek_spectrum(struct psr_reader *base, int64_t n, psr_err *err)
{
    struct bands *r = (struct bands *)base;
    psr_status st = PSR_OK;
    for (size_t b = 0; b < r->n && !st; b++)
        st = r->band[b]->ops->seek(r->band[b], n, err);
    r->pos = n;
    return st;
}

static void close_bands(struct psr_reader *base)
{
    struct bands *r = (struct bands *)base;
    for (size_t b = 0; b < r->n; b++) {
        r->band[b]->ops->close(r->band[b]);
        free(r->name ? r->name[b] : NULL);
    }
    psr_obs_clear(&base->obs);
    free(r->band);
    free(r->name);
    free(r->rows);
    free(r);
}

static const struct psr_reader_ops ops = {next_spectra, seek_spectrum, close_bands};

/* b follows a: a hundredth of a channel is the rounding of headers. */
static psr_status check_pair(const struct psr_obs *a, const struct psr_obs *b, const char *of_a,
                             const char *of_b, psr_err *err)
{
    const double rounding = 1e-2, next_mhz = a->fch1_mhz + (double)a->nchan * a->foff_mhz;
    if (a->nbit != b->nbit || a->kind != b->kind || fabs(a->tsamp_s / b->tsamp_s - 1) > 1e-9 ||
        a->freq_mhz || b->freq_mhz || fabs(a->foff_mhz - b->foff_mhz) > 1e-9 * fabs(a->foff_mhz))
        return psr_fail_field(err, PSR_EFORMAT, "foff",
                              "%s: nbits, tsamp and foff must be those of %s, which begins at the "
                              "same time, and channels equally spaced",
                              of_b, of_a);
    if (fabs(b->fch1_mhz - next_mhz) > rounding * fabs(a->foff_mhz))
        return psr_fail_field(err, PSR_EFORMAT, "fch1",
                              "%s: fch1 = %.10g MHz, must be %.10g MHz to lie beside %s, which "
                              "begins at the same time",
                              of_b, b->fch1_mhz, next_mhz, of_a);
    return PSR_OK;
}

static psr_status set_up(struct bands *r, const char *const *path, const struct psr_notes *notes,
                         psr_err *err)
{
    struct psr_obs *obs = &r->base.obs;
    int64_t longest = 0;
    r->name = calloc(r->n, sizeof *r->name);
    bool good = r->name != NULL;
    for (size_t b = 0; b < r->n && good; b++)
        good = (r->name[b] = strdup(psr_path_called(path[b]))) != NULL;
    psr_status st =
        good ? PSR_OK : psr_fail_nomem(err, "names of bands", (double)r->n * sizeof *r->name);
    if (!st)
        st = psr_obs_copy(obs, &r->band[0]->obs, err);
    r->base.file_nbit = r->band[0]->file_nbit;
    r->base.file_nif = r->band[0]->file_nif;
    r->base.pols = r->band[0]->pols;
    obs->nchan = 0;
    size_t widest = 1;
    for (size_t b = 0; b < r->n && !st; b++) {
        const struct psr_obs *of = &r->band[b]->obs;
        const size_t bytes = psr_row_bytes(of->nchan, of->nbit);
        st = b ? check_pair(&r->band[b - 1]->obs, of, path[b - 1], path[b], err) : PSR_OK;
        obs->nchan += of->nchan;
        obs->nsamp = of->nsamp < obs->nsamp ? of->nsamp : obs->nsamp;
        longest = of->nsamp > longest ? of->nsamp : longest;
        widest = bytes > widest ? bytes : widest;
    }
    if (st)
        return st;
    psr_note(notes, "%zu files are bands side by side: %zu channels from %.10g MHz on", r->n,
             obs->nchan, obs->fch1_mhz);
    if (longest > obs->nsamp)
        psr_note(notes, "the last %lld spectra, which not all bands have, are left out",
                 (long long)(longest - obs->nsamp));
    r->nrow = BLOCK_BYTES / widest + 1;
    r->rows = malloc(r->nrow * widest);
    return r->rows ? psr_obs_check(obs, "bands side by side", err)
                   : psr_fail_nomem(err, "spectra of a band", (double)r->nrow * (double)widest);
}

psr_status psr_bands_join(struct psr_reader **out, struct psr_reader **band,
                          const char *const *path, size_t n, const struct psr_notes *notes,
                          psr_err *err)
{
    struct bands *r = calloc(1, sizeof *r);
    *out = NULL;
    if (!r) {
        for (size_t b = 0; b < n; b++)
            band[b]->ops->close(band[b]);
        free(band);
        return psr_fail_nomem(err, "bands", sizeof *r);
    }
    *r = (struct bands){.base = {.ops = &ops}, .band = band, .n = n};
    psr_obs_init(&r->base.obs);
    psr_status st = set_up(r, path, notes, err);
    if (st)
        close_bands(&r->base);
    else
        *out = &r->base;
    return st;
}
