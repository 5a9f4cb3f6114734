/* psrfits_bytes.c: bytes and numbers of the rows of SUBINT.
 *
 * They are read from the file itself: cfitsio reads records of 2880 bytes, loses the contents of a
 * last one that was cut off, and after one failure treats it as read.  Where the file is
 * compressed cfitsio has expanded it in memory, and gives the bytes. */
#include "base/input/readfd.h"
#include "base/portable.h"
#include "psrfits.h"

#include <fcntl.h>
#include <float.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

psr_status psr_fits_read_floats(const struct psr_fits *f, const struct psr_fits_column *column,
                                int64_t row, int64_t first, size_t n, float *values, psr_err *err)
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
