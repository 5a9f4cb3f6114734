/* Converts the bytes of DATA to spectra of a block. */
#include "base/input/readfd.h"
#include "base/portable.h"
#include "formats/spectra/unpack.h"
#include "psrfits.h"

#include <fcntl.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* psrfits_sample.c: bytes and numbers of the rows of SUBINT.
 *
 * They are read from the file itself: cfitsio reads records of 2880 bytes, loses the contents of a
 * last one that was cut off, and after one failure treats it as read.  Where the file is
 * compressed cfitsio has expanded it in memory, and gives the bytes. */

enum { VALUES = 512 }; /* converted at once */

psr_status psr_fits_open_bytes(struct psr_fits *f, int64_t *bytes, psr_err *err)
{
    char type[FLEN_FILENAME];
    LONGLONG header, data, end;
    struct stat st;
    int status = 0;
    f->lib.url_type(f->fptr, type, &status);
    f->lib.get_hduaddrll(f->fptr, &header, &data, &end, &status);
    if (status)
        return psr_fits_fail(f, status, "place of SUBINT", err);
    *bytes = INT64_MAX;
    if (strcmp(type, "file://"))
        return PSR_OK;
    f->fd = open(f->path, O_RDONLY | O_CLOEXEC);
    if (f->fd < 0 || fstat(f->fd, &st))
        return psr_fail_errno(err, "%s", f->path);
    f->data_at = data;
    *bytes = st.st_size > data ? st.st_size - data : 0;
    return PSR_OK;
}

/* Bytes [first, first + n) of a row. */
static psr_status read_row(const struct psr_fits *f, int64_t row, int64_t first, size_t n, void *to,
                           psr_err *err)
{
    char what[80];
    int status = 0;
    if (f->fd >= 0) {
        ssize_t got = psr_read_at(f->fd, to, n, f->data_at + (row - 1) * f->row_bytes + first);
        if (got < 0)
            return psr_fail_errno(err, "%s: row %lld: cannot read", f->path, (long long)row);
        if ((size_t)got < n)
            return psr_fail(err, PSR_EIO, "%s: ended in row %lld of %lld while it was read",
                            f->path, (long long)row, (long long)f->nrow);
        return PSR_OK;
    }
    f->lib.read_tblbytes(f->fptr, row, first + 1, (LONGLONG)n, to, &status);
    if (!status)
        return PSR_OK;
    snprintf(what, sizeof what, "row %lld, byte %lld", (long long)row, (long long)first);
    return psr_fits_fail(f, status, what, err);
}

static double take_number(const struct psr_fits_column *column, const unsigned char *bytes)
{
    uint32_t word;
    uint64_t words;
    float single;
    double value;
    if (column->type == 'E') {
        memcpy(&word, bytes, sizeof word);
        word = be32toh(word);
        memcpy(&single, &word, sizeof word);
        value = (double)single;
    } else {
        memcpy(&words, bytes, sizeof words);
        words = be64toh(words);
        memcpy(&value, &words, sizeof words);
    }
    return column->scale == 1 && column->zero == 0 ? value : value * column->scale + column->zero;
}

psr_status psr_fits_read_doubles(const struct psr_fits *f, const struct psr_fits_column *column,
                                 int64_t row, int64_t first, size_t n, double *values, psr_err *err)
{
    unsigned char bytes[VALUES * sizeof(double)];
    const size_t width = column->type == 'E' ? 4 : 8;
    psr_status code = PSR_OK;
    while (n > 0 && !code) {
        const int64_t left = column->repeat - first;
        const int64_t at = column->first_byte - 1 + first * (int64_t)width;
        size_t some = n < VALUES ? n : VALUES;
        some = (int64_t)some < left ? some : (size_t)left; /* elements of one row */
        code = read_row(f, row, at, some * width, bytes, err);
        for (size_t i = 0; i < some && !code; i++)
            *values++ = take_number(column, bytes + i * width);
        n -= some;
        first += (int64_t)some;
        row += first == column->repeat;
        first %= column->repeat;
    }
    return code;
}

/* Elements [first, first + n) of a row, or of consecutive rows where n is beyond the row, of a
 * column of type E or D.  Status, as of the next: PSR_EIO, also for a file that has been cut since
 * it was opened. */
static psr_status fits_read_floats(const struct psr_fits *f, const struct psr_fits_column *column,
                                   int64_t row, int64_t first, size_t n, float *values,
                                   psr_err *err)
{
    double value[VALUES];
    psr_status code = PSR_OK;
    for (size_t done = 0; done < n && !code; done += VALUES) {
        size_t some = n - done < VALUES ? n - done : VALUES;
        code = psr_fits_read_doubles(f, column, row, first + (int64_t)done, some, value, err);
        for (size_t i = 0; i < some && !code; i++)
            values[done + i] = fabs(value[i]) <= (double)FLT_MAX ? (float)value[i] : NAN;
    }
    return code;
}

psr_status psr_fits_read_data(const struct psr_fits *f, int64_t row, int64_t first, size_t n,
                              void *bytes, psr_err *err)
{
    return read_row(f, row, f->data.first_byte - 1 + first, n, bytes, err);
}

size_t psr_fits_spectrum_bits(const struct psr_fits *f)
{
    return f->nchan * (size_t)f->npol * (size_t)f->nbit;
}

void psr_fits_block_format(const struct psr_fits *f, int *nbit, enum psr_kind *kind)
{
    bool summed = f->pols.count == 2;
    *nbit = summed ? 2 * f->nbit : f->nbit;
    *kind = f->is_signed ? PSR_INT : PSR_UINT;
    if (f->is_signed && *nbit < 8)
        *nbit = 8;
    if (f->scaled || *nbit > 16 || f->nbit == 32) {
        *nbit = 32;
        *kind = PSR_FLOAT;
    }
}

psr_status psr_fits_scaling_init(struct psr_fits_scaling *s, const struct psr_fits *f, psr_err *err)
{
    size_t n = f->nchan, npol = (size_t)f->pols.count;
    size_t total = n * (2 * npol + 1);
    s->store = malloc(total * sizeof *s->store);
    if (!s->store)
        return psr_fail_nomem(err, "channel scales", (double)total * sizeof *s->store);
    s->scale = s->store;
    s->offset = s->scale + n * npol;
    s->weight = s->offset + n * npol;
    for (size_t i = 0; i < n * npol; i++) {
        s->scale[i] = 1;
        s->offset[i] = 0;
    }
    for (size_t c = 0; c < n; c++)
        s->weight[c] = 1;
    return PSR_OK;
}

/* Some writers give one value a channel for all polarisations. */
static psr_status read_per_pol(const struct psr_fits *f, const struct psr_fits_column *column,
                               int64_t row, float *values, psr_err *err)
{
    size_t n = f->nchan, npol = (size_t)f->pols.count;
    if (!column->number)
        return PSR_OK;
    if (column->repeat >= (int64_t)n * f->npol)
        return fits_read_floats(f, column, row, (int64_t)n * f->pols.first, n * npol, values, err);
    psr_status code = fits_read_floats(f, column, row, 0, n, values, err);
    if (!code && npol == 2)
        memcpy(values + n, values, n * sizeof *values);
    return code;
}

const char *psr_fits_bad_columns(unsigned bad)
{
    static const char *const names[] = {"no column",
                                        "DAT_WTS",
                                        "DAT_SCL",
                                        "DAT_WTS and DAT_SCL",
                                        "DAT_OFFS",
                                        "DAT_WTS and DAT_OFFS",
                                        "DAT_SCL and DAT_OFFS",
                                        "DAT_WTS, DAT_SCL and DAT_OFFS"};
    return names[bad & 7];
}

/* A channel whose scaling is no number holds no data. */
static void drop_no_numbers(struct psr_fits_scaling *s, const struct psr_fits *f)
{
    s->ndropped = 0;
    for (size_t c = 0; c < f->nchan; c++) {
        unsigned bad = isfinite(s->weight[c]) ? 0 : 1;
        for (size_t i = c; i < f->nchan * (size_t)f->pols.count; i += f->nchan)
            bad |= (isfinite(s->scale[i]) ? 0U : 2U) | (isfinite(s->offset[i]) ? 0U : 4U);
        if (!bad)
            continue;
        s->bad |= bad;
        s->ndropped++;
        s->weight[c] = 0;
        for (size_t i = c; i < f->nchan * (size_t)f->pols.count; i += f->nchan)
            s->scale[i] = s->offset[i] = 0;
    }
}

psr_status psr_fits_scaling_read(struct psr_fits_scaling *s, const struct psr_fits *f, int64_t row,
                                 bool all, psr_err *err)
{
    psr_status code = PSR_OK;
    s->bad = 0;
    for (size_t c = 0; c < f->nchan; c++)
        s->weight[c] = 1;
    if (f->weights.number)
        code = fits_read_floats(f, &f->weights, row, 0, f->nchan, s->weight, err);
    if (!code && all)
        code = read_per_pol(f, &f->scales, row, s->scale, err);
    if (!code && all)
        code = read_per_pol(f, &f->offsets, row, s->offset, err);
    if (!code && !f->as_presto)
        drop_no_numbers(s, f);
    return code;
}

/* nbit is a constant where this is called, so that the inner loop unrolls. */
static inline void load_packed(const uint8_t *raw, size_t n, unsigned nbit, float *x)
{
    const unsigned per = 8 / nbit, mask = (1u << nbit) - 1;
    size_t i = 0;
    for (; i + per <= n; i += per, raw++)
        for (unsigned k = 0; k < per; k++)
            x[i + k] = (float)(*raw >> (8 - nbit * (k + 1)) & mask);
    for (unsigned k = 0; i + k < n; k++)
        x[i + k] = (float)(*raw >> (8 - nbit * (k + 1)) & mask);
}

static unsigned packed_sample(const struct psr_fits *f, const uint8_t *raw, size_t bit)
{
    unsigned nbit = (unsigned)f->nbit;
    unsigned shift = f->low_first ? (unsigned)(bit % 8) : 8 - nbit - (unsigned)(bit % 8);
    return raw[bit / 8] >> shift & ((1u << nbit) - 1);
}

static void load_sub_byte(const struct psr_fits *f, const uint8_t *raw, size_t bit, size_t n,
                          float *x)
{
    unsigned sign = f->is_signed ? 1u << (f->nbit - 1) : 0;
    if (bit % 8 || f->low_first || sign) {
        for (size_t i = 0; i < n; i++, bit += (size_t)f->nbit)
            x[i] = (float)((int)(packed_sample(f, raw, bit) ^ sign) - (int)sign);
        return;
    }
    raw += bit / 8;
    if (f->nbit == 1)
        load_packed(raw, n, 1, x);
    else if (f->nbit == 2)
        load_packed(raw, n, 2, x);
    else
        load_packed(raw, n, 4, x);
}

static void load_bytes(const struct psr_fits *f, const uint8_t *raw, size_t n, float *x)
{
    if (f->is_signed)
        for (size_t i = 0; i < n; i++)
            x[i] = (float)(int8_t)(raw[i] ^ f->flip);
    else
        for (size_t i = 0; i < n; i++)
            x[i] = (float)raw[i];
}

/* FITS is big-endian; samples hidden in a column of bytes are as the recorder had them, which is
 * taken for little-endian, as PRESTO does. */
static void load_words(const struct psr_fits *f, const uint8_t *raw, size_t n, float *x)
{
    const size_t high = f->data.type == 'B', low = !high;
    for (size_t i = 0; i < n; i++) {
        unsigned word = ((unsigned)raw[2 * i + high] << 8 | raw[2 * i + low]) ^ f->flip;
        x[i] = f->is_signed ? (float)(int16_t)word : (float)word;
    }
}

static void load_floats(const uint8_t *raw, size_t n, float *x)
{
    for (size_t i = 0; i < n; i++, raw += 4) {
        uint32_t word =
            (uint32_t)raw[0] << 24 | (uint32_t)raw[1] << 16 | (uint32_t)raw[2] << 8 | raw[3];
        memcpy(&x[i], &word, sizeof word);
    }
}

static void load_samples(const struct psr_fits *f, const uint8_t *raw, size_t bit, float *x)
{
    size_t n = f->nchan;
    if (f->nbit < 8)
        load_sub_byte(f, raw, bit, n, x);
    else if (f->nbit == 8)
        load_bytes(f, raw + bit / 8, n, x);
    else if (f->nbit == 16)
        load_words(f, raw + bit / 8, n, x);
    else
        load_floats(raw + bit / 8, n, x);
}

/* In single precision and in PRESTO's order, so that the values are PRESTO's. */
static void scale_samples(const struct psr_fits *f, const struct psr_fits_scaling *s, int pol,
                          float *x)
{
    const float zero = (float)f->zero_off;
    const float *scale = s->scale + (size_t)pol * f->nchan;
    const float *offset = s->offset + (size_t)pol * f->nchan;
    for (size_t c = 0; c < f->nchan; c++)
        x[c] = ((x[c] - zero) * scale[c] + offset[c]) * s->weight[c];
}

static void load_spectrum(const struct psr_fits *f, const struct psr_fits_scaling *s,
                          const uint8_t *raw, size_t bit, float *sum, float *work)
{
    size_t pol_bits = f->nchan * (size_t)f->nbit;
    bit += (size_t)f->pols.first * pol_bits;
    load_samples(f, raw, bit, sum);
    if (f->scaled)
        scale_samples(f, s, 0, sum);
    if (f->pols.count == 1)
        return;
    load_samples(f, raw, bit + pol_bits, work);
    if (f->scaled)
        scale_samples(f, s, 1, work);
    for (size_t c = 0; c < f->nchan; c++)
        sum[c] += work[c];
}

static void pack_samples(const float *x, size_t n, unsigned nbit, uint8_t *out)
{
    const unsigned per = 8 / nbit;
    memset(out, 0, (n + per - 1) / per);
    for (size_t i = 0; i < n; i++)
        out[i / per] |= (uint8_t)((unsigned)x[i] << i % per * nbit);
}

/* Blocks have the first channel in the low bits, PSRFITS in the high ones. */
static void reverse_bytes(const uint8_t *raw, size_t nbyte, int nbit, uint8_t *out)
{
    for (size_t i = 0; i < nbyte; i++)
        out[i] = psr_byte_reverse(raw[i], nbit);
}

/* One polarisation of whole bytes needs no arithmetic. */
static bool copy_spectra(const struct psr_fits *f, const uint8_t *raw, size_t bit0, size_t nspec,
                         uint8_t *block)
{
    size_t pol_bits = f->nchan * (size_t)f->nbit;
    if (f->scaled || f->pols.count != 1 || f->nbit > 8 || f->flip || bit0 % 8 || pol_bits % 8 ||
        (f->nbit < 8 && f->is_signed))
        return false;
    size_t nbyte = pol_bits / 8, stride = nbyte * (size_t)f->npol;
    raw += bit0 / 8 + nbyte * (size_t)f->pols.first;
    for (size_t t = 0; t < nspec; t++)
        if (f->nbit == 8 || f->low_first)
            memcpy(block + t * nbyte, raw + t * stride, nbyte);
        else
            reverse_bytes(raw + t * stride, nbyte, f->nbit, block + t * nbyte);
    return true;
}

void psr_fits_convert(const struct psr_fits *f, const struct psr_fits_scaling *s,
                      const uint8_t *raw, size_t bit0, size_t nspec, float *work, uint8_t *block)
{
    int nbit;
    enum psr_kind kind;
    const size_t bits = psr_fits_spectrum_bits(f);
    if (copy_spectra(f, raw, bit0, nspec, block))
        return;
    psr_fits_block_format(f, &nbit, &kind);
    const size_t nbyte = psr_row_bytes(f->nchan, nbit);
    for (size_t t = 0; t < nspec; t++) {
        load_spectrum(f, s, raw, bit0 + t * bits, work, work + f->nchan);
        const size_t n = f->nchan;
        uint8_t *out = block + t * nbyte;
        if (nbit < 8) {
            pack_samples(work, n, (unsigned)nbit, out);
        } else if (nbit == 8) {
            for (size_t i = 0; i < n; i++)
                out[i] = (uint8_t)(int)work[i];
        } else if (nbit == 16) {
            for (size_t i = 0; i < n; i++) {
                uint16_t word = (uint16_t)(int)work[i];
                memcpy(out + 2 * i, &word, sizeof word);
            }
        } else if (kind == PSR_FLOAT) {
            memcpy(out, work, n * sizeof *work);
        }
    }
}
