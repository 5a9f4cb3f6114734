/* Reads PSRFITS search-mode files. */
#include "psrfits.h"

#include "base/obs_internal.h"
#include "formats/spectra/spectra_reader.h"
#include "formats/spectra/unpack.h"

#include <math.h>
#include <psrkit/obs.h>
#include <stdlib.h>
#include <string.h>

/* Finds the rows of a PSRFITS file that contain data, and their times. */

enum { NOTES_MAX = 8, LOOK_BYTES = 1 << 20 };

/* No observation is longer than 30 years. */
#define SECONDS_MAX 1e9

/* A run of zeros shorter than this may well be data. */
enum { ZERO_BITS_MIN = 64 };

/* Rows before the first one stored, if OFFS_SUB does not give them. */
static psr_status rows_before(const struct psr_fits *f, double *before, psr_err *err)
{
    struct psr_fits_column column;
    *before = psr_fits_number(f, "NSUBOFFS", 0);
    psr_status code = psr_fits_find(f, "INDEXVAL", &column, err);
    if (!code && column.number && column.type == 'D' && column.repeat > 0) {
        code = psr_fits_read_doubles(f, &column, 1, 0, 1, before, err);
        *before -= 1;
    }
    if (!(*before > 0 && *before < 1e9))
        *before = 0;
    return code;
}

static bool all_zero(const double *value, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (value[i] != 0)
            return false;
    return true;
}

/* OFFS_SUB of each row, seconds from the date in the header to the middle of the row; all 0 where
 * the file does not tell. */
static psr_status read_middles(const struct psr_fits *f, double *middle, psr_err *err)
{
    struct psr_fits_column column;
    psr_status code = psr_fits_find(f, "OFFS_SUB", &column, err);
    if (code)
        return code;
    if (column.number && column.repeat == 1 && (column.type == 'D' || column.type == 'E'))
        return psr_fits_read_doubles(f, &column, 1, 0, (size_t)f->nrow, middle, err);
    memset(middle, 0, (size_t)f->nrow * sizeof *middle);
    return PSR_OK;
}

static psr_status assume_contiguous(const struct psr_fits *f, struct psr_fits_rows *rows,
                                    psr_err *err)
{
    double before;
    psr_status code = rows_before(f, &before, err);
    if (code)
        return code;
    for (int64_t i = 0; i < f->nrow; i++)
        rows->row[i] = (struct psr_fits_row){.number = i + 1, .start = i * f->nsblk};
    rows->start_s = before * (double)f->nsblk * f->tbin_s;
    psr_note(&f->notes, "%s: OFFS_SUB is missing or 0 in every row: no row is taken as lost",
             f->path);
    return PSR_OK;
}

static void note_lost(const struct psr_fits *f, int64_t number, int64_t lost, int count)
{
    if (count <= NOTES_MAX)
        psr_note(&f->notes, "%s: %lld spectra are missing before row %lld", f->path,
                 (long long)lost, (long long)number);
}

/* Whole rows missing before the first move the start of the file; a part of a row is a gap in it.
 * Half a sample is neither: writers round OFFS_SUB.
 * An OFFS_SUB too early for the middle of a row can only be counted from the first one. */
static double first_middle(const struct psr_fits *f, double first, double *start_s)
{
    double row_s = (double)f->nsblk * f->tbin_s;
    double before = floor((first - 0.5 * (row_s - f->tbin_s)) / row_s);
    *start_s = 0;
    if (before < 0) {
        if (first < 0.5 * (row_s - f->tbin_s))
            psr_note(&f->notes,
                     "%s: OFFS_SUB = %g s of row 1 is not the middle of a row: rows are "
                     "timed from the first",
                     f->path, first);
        return first;
    }
    *start_s = before * row_s;
    return (before + 0.5) * row_s;
}

static psr_status time_rows(const struct psr_fits *f, struct psr_fits_rows *rows,
                            const double *middle, psr_err *err)
{
    double base = first_middle(f, middle[0], &rows->start_s);
    int64_t end = 0, lost = 0;
    int gaps = 0;
    for (int64_t i = 0; i < f->nrow; i++) {
        double at = round((middle[i] - base) / f->tbin_s);
        if (!(fabs(middle[i]) < SECONDS_MAX && fabs(at) < 0x1p53))
            return psr_fail_field(err, PSR_EFORMAT, "OFFS_SUB",
                                  "%s: row %lld: OFFS_SUB = %g s is no time", f->path,
                                  (long long)i + 1, middle[i]);
        int64_t start = (int64_t)at;
        /* Clocks of the writers jitter by a spectrum. */
        if (start == end - 1)
            start = end;
        if (start < end)
            return psr_fail_field(
                err, PSR_EFORMAT, "OFFS_SUB",
                "%s: row %lld: OFFS_SUB = %.9g s is %lld spectra before the end of row "
                "%lld",
                f->path, (long long)i + 1, middle[i], (long long)(end - start), (long long)i);
        if ((double)(start - end) * f->tbin_s > PSR_GAP_DAYS_MAX * PSR_DAY_S)
            return psr_fail_field(
                err, PSR_EFORMAT, "OFFS_SUB",
                "%s: row %lld: OFFS_SUB = %.9g s is %.6g days after the end of row "
                "%lld, at most %d is padded",
                f->path, (long long)i + 1, middle[i], (double)(start - end) * f->tbin_s / PSR_DAY_S,
                (long long)i, PSR_GAP_DAYS_MAX);
        if (start > end)
            note_lost(f, i + 1, start - end, ++gaps);
        lost += start - end;
        rows->row[i] = (struct psr_fits_row){.number = i + 1, .start = start};
        end = start + f->nsblk;
    }
    if (gaps > NOTES_MAX)
        psr_note(&f->notes, "%s: %lld spectra are missing in %d places in all", f->path,
                 (long long)lost, gaps);
    return PSR_OK;
}

static psr_status place_rows(const struct psr_fits *f, struct psr_fits_rows *rows, psr_err *err)
{
    double *middle = malloc((size_t)f->nrow * sizeof *middle);
    if (!middle)
        return psr_fail_nomem(err, "OFFS_SUB", (double)f->nrow * sizeof *middle);
    psr_status code = read_middles(f, middle, err);
    if (code)
        goto done;
    code = all_zero(middle, f->nrow) ? assume_contiguous(f, rows, err)
                                     : time_rows(f, rows, middle, err);
done:
    free(middle);
    return code;
}

static bool all_equal(const float *value, size_t n, float to)
{
    for (size_t i = 0; i < n; i++)
        if (value[i] != to)
            return false;
    return true;
}

/* Rows that hold no data: their weights are 0, or their scaling is no number. */
struct dead {
    int64_t unweighted, broken;
    unsigned bad; /* columns, as in psr_fits_scaling */
};

static psr_status report_dead(const struct psr_fits *f, const struct dead *dead, size_t nlive,
                              psr_err *err)
{
    if (!nlive && dead->broken == 0)
        return psr_fail_field(err, PSR_EFORMAT, "DAT_WTS", "%s: DAT_WTS is 0 in every row",
                              f->path);
    if (!nlive)
        return psr_fail(err, PSR_EFORMAT, "%s: no row holds data: %s of %lld are no numbers",
                        f->path, psr_fits_bad_columns(dead->bad), (long long)dead->broken);
    if (dead->unweighted)
        psr_note(&f->notes, "%s: %lld of %lld rows have weight 0 and hold no data", f->path,
                 (long long)dead->unweighted, (long long)f->nrow);
    if (dead->broken)
        psr_note(&f->notes, "%s: %lld of %lld rows hold no data: their %s are no numbers", f->path,
                 (long long)dead->broken, (long long)f->nrow, psr_fits_bad_columns(dead->bad));
    return PSR_OK;
}

/* Goes through the scaling of every row: rows of weight 0 were lost, and where nothing else than
 * scale 1, offset 0 and weight 1 is found samples are delivered as stored. */
static psr_status drop_dead_rows(struct psr_fits *f, struct psr_fits_rows *rows, psr_err *err)
{
    struct psr_fits_scaling s = {0};
    struct dead dead = {0};
    size_t n = f->nchan * (size_t)f->pols.count;
    psr_status code = psr_fits_scaling_init(&s, f, err);
    rows->nlive = 0;
    f->scaled = f->zero_off != 0;
    for (int64_t i = 0; i < f->nrow && !code; i++) {
        code = psr_fits_scaling_read(&s, f, rows->row[i].number, !f->scaled, err);
        bool no_data = !code && (f->weights.number || s.bad) && all_equal(s.weight, f->nchan, 0);
        if (code)
            continue;
        if (no_data && !f->as_presto) {
            *(s.bad ? &dead.broken : &dead.unweighted) += 1;
            dead.bad |= s.bad;
            continue;
        }
        rows->row[rows->nlive++] = rows->row[i];
        f->scaled = f->scaled || !all_equal(s.weight, f->nchan, 1) || !all_equal(s.scale, n, 1) ||
                    !all_equal(s.offset, n, 0);
    }
    free(s.store);
    return code ? code : report_dead(f, &dead, rows->nlive, err);
}

static bool bits_are_zero(const uint8_t *bytes, size_t bit0, size_t nbit)
{
    size_t end = bit0 + nbit;
    for (; bit0 < end && bit0 % 8; bit0++)
        if (bytes[bit0 / 8] >> (7 - bit0 % 8) & 1)
            return false;
    for (; bit0 + 8 <= end; bit0 += 8)
        if (bytes[bit0 / 8])
            return false;
    for (; bit0 < end; bit0++)
        if (bytes[bit0 / 8] >> (7 - bit0 % 8) & 1)
            return false;
    return true;
}

/* Spectra among the first *nspec of a row up to the last that is not all zeros. */
static psr_status trim_row(const struct psr_fits *f, int64_t number, int64_t *nspec, uint8_t *bytes,
                           size_t step, psr_err *err)
{
    size_t bits = psr_fits_spectrum_bits(f);
    while (*nspec > 0) {
        int64_t first = *nspec > (int64_t)step ? *nspec - (int64_t)step : 0;
        int64_t bit = first * (int64_t)bits;
        size_t skip = (size_t)(bit % 8);
        size_t n = (size_t)(*nspec - first);
        psr_status code =
            psr_fits_read_data(f, number, bit / 8, (skip + n * bits + 7) / 8, bytes, err);
        if (code)
            return code;
        while (n > 0 && bits_are_zero(bytes, skip + (n - 1) * bits, bits))
            n--;
        *nspec = first + (int64_t)n;
        if (n > 0)
            return PSR_OK;
    }
    return PSR_OK;
}

/* Writers fill up the last row with zeros. */
static psr_status trim_zeros(const struct psr_fits *f, struct psr_fits_rows *rows, psr_err *err)
{
    size_t bits = psr_fits_spectrum_bits(f);
    size_t step = bits / 8 < LOOK_BYTES ? LOOK_BYTES / (bits / 8 + 1) : 1;
    const size_t nbyte = step * bits / 8 + 2;
    const int64_t before = rows->nsamp;
    const struct psr_fits_rows whole = *rows;
    psr_status code = PSR_OK;
    uint8_t *bytes = malloc(nbyte);
    if (!bytes)
        return psr_fail_nomem(err, "a look at the last row", (double)nbyte);
    while (rows->nlive) {
        const struct psr_fits_row *last = &rows->row[rows->nlive - 1];
        code = trim_row(f, last->number, &rows->last_nspec, bytes, step, err);
        rows->nsamp = last->start + rows->last_nspec;
        if (code || rows->last_nspec)
            break;
        rows->nlive--;
        rows->last_nspec = f->nsblk;
    }
    free(bytes);
    if (code)
        return code;
    if (!rows->nlive)
        return psr_fail_field(err, PSR_EFORMAT, "DATA", "%s: DATA is 0 throughout", f->path);
    if ((double)(before - rows->nsamp) * (double)bits < ZERO_BITS_MIN)
        *rows = whole;
    else
        psr_note(&f->notes, "%s: the last %lld spectra are filled with zeros and are left out",
                 f->path, (long long)(before - rows->nsamp));
    return PSR_OK;
}

/* NSTOT counts the spectra stored, without the filling of the last row.  Less than the rows before
 * that hold, it is stale. */
static void apply_nstot(const struct psr_fits *f, struct psr_fits_rows *rows)
{
    double filled = (double)f->nrow * (double)f->nsblk - psr_fits_number(f, "NSTOT", 0);
    if (filled <= 0 || filled >= (double)f->nsblk)
        return;
    rows->last_nspec = f->nsblk - (int64_t)filled;
    psr_note(&f->notes, "%s: NSTOT leaves %lld spectra of the last row", f->path,
             (long long)rows->last_nspec);
}

/* psrfits.c: also decides f->scaled.  rows->row is to be freed, success or not. */
static psr_status fits_read_rows(struct psr_fits *f, struct psr_fits_rows *rows, psr_err *err)
{
    *rows = (struct psr_fits_rows){0};
    if ((double)f->nrow * (double)f->nsblk >= 0x1p53 || (uint64_t)f->nrow > SIZE_MAX / 64)
        return psr_fail(err, PSR_EFORMAT, "%s: %lld rows of %lld spectra are more than 2^53",
                        f->path, (long long)f->nrow, (long long)f->nsblk);
    rows->row = malloc((size_t)f->nrow * sizeof *rows->row);
    if (!rows->row)
        return psr_fail_nomem(err, "the list of rows", (double)f->nrow * sizeof *rows->row);
    psr_status code = place_rows(f, rows, err);
    if (code)
        return code;
    const struct psr_fits_row last = rows->row[f->nrow - 1];
    code = drop_dead_rows(f, rows, err);
    if (code)
        return code;
    rows->last_nspec = f->nsblk;
    rows->nsamp = last.start + f->nsblk;
    /* Behind rows of weight 0 there is no filling to be looked for. */
    if (f->as_presto || rows->row[rows->nlive - 1].number != last.number)
        return PSR_OK;
    apply_nstot(f, rows);
    rows->nsamp = last.start + rows->last_nspec;
    return trim_zeros(f, rows, err);
}

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
        code = fits_read_rows(&p->fits, &p->rows, err);
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
    if (desc->as_presto) {
        /* PRESTO keeps a date in one long double. */
        long double mjd = (long double)obs->tstart.day + (long double)obs->tstart.frac;
        obs->tstart.frac = (double)(mjd - (long double)obs->tstart.day);
    }
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
