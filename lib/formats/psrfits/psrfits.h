/* psrfits.h: the parts of the PSRFITS search-mode reader (private).
 *
 * cfitsio.c         the functions of cfitsio and its errors
 * psrfits_table.c   cfitsio: keywords and columns of the SUBINT table, errors as psr_err
 * psrfits_sample.c   bytes and numbers of its rows
 * psrfits_header.c  header to psr_obs and to the layout of a row
 * psrfits_header.c    channel frequencies
 * psrfits.c    which rows hold data, and when
 * psrfits_sample.c  bytes of DATA to spectra of a block
 * psrfits.c         the reader that source.c sees
 *
 * Rows are numbered from 1, spectra, channels and polarisations from 0. */
#ifndef PSR_FORMATS_PSRFITS_PSRFITS_H
#define PSR_FORMATS_PSRFITS_PSRFITS_H

#include "formats/spectra/spectra_reader.h"
#include <fitsio.h>
#include <psrkit/experimental/source.h>

/* Functions of cfitsio that are used, by the names of fitsio.h without "fits_". */
#define PSR_CFITSIO_FUNCTIONS(F)                                                                   \
    F(clear_errmark)                                                                               \
    F(clear_errmsg)                                                                                \
    F(close_file)                                                                                  \
    F(get_colnum)                                                                                  \
    F(get_errstatus)                                                                               \
    F(get_hdrspace)                                                                                \
    F(get_hduaddrll)                                                                               \
    F(get_keyname)                                                                                 \
    F(get_num_rowsll)                                                                              \
    F(movnam_hdu)                                                                                  \
    F(open_diskfile)                                                                               \
    F(parse_value)                                                                                 \
    F(read_errmsg)                                                                                 \
    F(read_key)                                                                                    \
    F(read_record)                                                                                 \
    F(read_tblbytes)                                                                               \
    F(url_type)                                                                                    \
    F(write_errmark)

struct psr_cfitsio {
#define PSR_CFITSIO_MEMBER(name) __typeof__(fits_##name) *name;
    PSR_CFITSIO_FUNCTIONS(PSR_CFITSIO_MEMBER)
#undef PSR_CFITSIO_MEMBER
};

/* Loads cfitsio, once in a process; it stays.
 * Given:  path   the FITS file that needs it, for the message
 * Status: PSR_EUNSUPPORTED where it is not there */
PSR_MUST_CHECK psr_status psr_cfitsio_load(struct psr_cfitsio *c, const char *path, psr_err *err);

struct psr_fits_column {
    int number;         /* from 1; 0 where the table has no such column */
    char type;          /* the letter of TFORM */
    int64_t repeat;     /* elements in a row */
    int64_t first_byte; /* in a row, from 1 */
    double scale, zero; /* TSCAL and TZERO */
};

/* A file open at its SUBINT table, and how a row of it is laid out. */
struct psr_fits {
    struct psr_cfitsio lib;
    fitsfile *fptr;
    char *path;      /* owned */
    int fd;          /* of the file, -1 where it is compressed */
    int64_t data_at; /* where its rows begin, with fd */
    struct psr_notes notes;
    bool as_presto; /* as in source.h */

    int64_t nrow; /* whole rows in the file */
    int64_t row_bytes;
    int64_t nsblk; /* spectra in a row */
    size_t nchan;
    int npol, nbit;
    bool is_signed; /* two's complement samples */
    unsigned flip;  /* sign bit that the file stores inverted, or 0 */
    bool low_first; /* sub-byte samples lie low bits first, against the standard */
    double zero_off;
    double tbin_s;

    struct psr_pol_choice pols; /* those that are read */
    bool scaled;                /* samples need zero_off, DAT_SCL, DAT_OFFS or DAT_WTS */

    struct psr_fits_column data, freq, scales, offsets, weights;
};

/* A row that holds data. */
struct psr_fits_row {
    int64_t number;
    int64_t start; /* its first spectrum, in spectra from the start of the file */
};

struct psr_fits_rows {
    struct psr_fits_row *row; /* [nlive] in time order, owned */
    size_t nlive;
    int64_t last_nspec; /* spectra of data in the last of them; nsblk in the others */
    int64_t nsamp;      /* from spectrum 0 to the end of the file, gaps counted */
    double start_s;     /* spectrum 0 after the date in the header */
};

/* DAT_SCL, DAT_OFFS and DAT_WTS of a row, for the polarisations used. */
struct psr_fits_scaling {
    float *scale, *offset; /* [pols.count][nchan] */
    float *weight;         /* [nchan] */
    size_t ndropped;       /* channels of weight 0 because a weight, scale or offset is no number */
    unsigned bad;          /* in which columns: 1 weights, 2 scales, 4 offsets */
    float *store;          /* holds the three, owned */
};

/* psrfits_table.c */

/* Opens path at its primary header, having checked that it is search-mode PSRFITS; fptr and path
 * are set.  f is zeroed before, and psr_fits_shut after, success or not. */
PSR_MUST_CHECK psr_status psr_fits_open(struct psr_fits *f, const char *path, psr_err *err);
void psr_fits_shut(struct psr_fits *f);

/* Status: PSR_EFORMAT where a keyword that is used stands in the current header with two values. */
PSR_MUST_CHECK psr_status psr_fits_check_twice(const struct psr_fits *f, psr_err *err);

/* Moves to the SUBINT table; sets row_bytes, and nrow to the rows that the file really holds. */
PSR_MUST_CHECK psr_status psr_fits_enter(struct psr_fits *f, psr_err *err);

/* A message with cfitsio's own text for status; empties cfitsio's error stack. */
psr_status psr_fits_fail(const struct psr_fits *f, int status, const char *what, psr_err *err);

/* Keyword of the current header, or absent where it is missing or no number ('*'). */
double psr_fits_number(const struct psr_fits *f, const char *key, double absent);

/* Keyword without leading and trailing blanks; false, and text untouched, where it is missing,
 * empty or '*'. */
bool psr_fits_text(const struct psr_fits *f, const char *key, char text[PSR_TEXT_MAX]);

/* A keyword that must be there as an integer in [min, max]. */
PSR_MUST_CHECK psr_status psr_fits_count(const struct psr_fits *f, const char *key, int64_t min,
                                         int64_t max, int64_t *value, psr_err *err);

/* The column of that name; number 0 where there is none. */
PSR_MUST_CHECK psr_status psr_fits_find(const struct psr_fits *f, const char *name,
                                        struct psr_fits_column *column, psr_err *err);

/* psrfits_sample.c */

/* Opens the bytes of the SUBINT table, where the header stands; psr_fits_shut closes them.
 * Returned: *bytes, how many the file holds from the first row on; INT64_MAX where that is not
 *           known */
PSR_MUST_CHECK psr_status psr_fits_open_bytes(struct psr_fits *f, int64_t *bytes, psr_err *err);

PSR_MUST_CHECK psr_status psr_fits_read_doubles(const struct psr_fits *f,
                                                const struct psr_fits_column *column, int64_t row,
                                                int64_t first, size_t n, double *values,
                                                psr_err *err);

/* Bytes [first, first + n) of DATA in a row, as they are in the file. */
PSR_MUST_CHECK psr_status psr_fits_read_data(const struct psr_fits *f, int64_t row, int64_t first,
                                             size_t n, void *bytes, psr_err *err);

/* psrfits_header.c */

/* Fills the layout of f, and obs but for its nsamp, nbit and kind; tstart is the date in the
 * header. */
PSR_MUST_CHECK psr_status psr_fits_read_header(struct psr_fits *f, struct psr_obs *obs,
                                               const struct psr_source_desc *desc, psr_err *err);

/* psrfits_header.c */

/* The band in the primary header: OBSFREQ, OBSBW and OBSNCHAN, 0 where absent. */
struct psr_fits_band {
    double centre_mhz, width_mhz, nchan;
};

/* Refuses rows whose channels are at other frequencies than those of row 1.
 * Given:  chan_mhz   width of a channel
 * Status: PSR_EFORMAT naming the row; those of psr_fits_read_doubles, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_fits_check_freq(const struct psr_fits *f,
                                              const struct psr_fits_rows *rows, double chan_mhz,
                                              psr_err *err);

/* psrfits_sample.c */

/* Scales 1, offsets 0, weights 1, which stay where the file has no such column or it is not wanted.
 * s->store is to be freed. */
PSR_MUST_CHECK psr_status psr_fits_scaling_init(struct psr_fits_scaling *s,
                                                const struct psr_fits *f, psr_err *err);

/* The scaling of a row; the weights alone where not all is wanted. */
PSR_MUST_CHECK psr_status psr_fits_scaling_read(struct psr_fits_scaling *s,
                                                const struct psr_fits *f, int64_t row, bool all,
                                                psr_err *err);

/* The columns of bad, as messages name them. */
const char *psr_fits_bad_columns(unsigned bad);

/* Bits of a spectrum, all polarisations, as stored. */
size_t psr_fits_spectrum_bits(const struct psr_fits *f);

/* How blocks hold the samples: whole numbers as they are or, summed, in the next depth that holds
 * them; else floats. */
void psr_fits_block_format(const struct psr_fits *f, int *nbit, enum psr_kind *kind);

/* Converts stored spectra to a block's.
 * Given:    raw     bytes of DATA; bit0 the bit where the first spectrum begins
 *           s       scaling of the row, used where f->scaled
 *           work    [2 nchan]
 * Returned: block   [nspec][nchan] as psr_fits_block_format says */
void psr_fits_convert(const struct psr_fits *f, const struct psr_fits_scaling *s,
                      const uint8_t *raw, size_t bit0, size_t nspec, float *work, uint8_t *block);

#endif
