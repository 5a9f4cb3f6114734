/* Finds the rows of a PSRFITS file that contain data, and their times. */
#include "psrfits.h"
#include <psrkit/obs.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

psr_status psr_fits_read_rows(struct psr_fits *f, struct psr_fits_rows *rows, psr_err *err)
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
