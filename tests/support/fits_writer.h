/* fits_writer.h: small PSRFITS search-mode files for tests, written through cfitsio. */
#ifndef PSR_TESTS_FITS_WRITER_H
#define PSR_TESTS_FITS_WRITER_H

#include <fitsio.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

enum { FITS_ROWS_MAX = 6 };

struct fits_spec {
    size_t nchan;
    int npol, nbit;
    bool is_signed;
    int64_t nsblk, nrow;
    const char *pol_type;
    double foff_mhz, zero_off;
    size_t freq_step;  /* frequencies from this channel on are 5 MHz higher; 0 none */
    int64_t moved_row; /* the band of rows from this one on, from 1, is moved_mhz higher; 0: none */
    double moved_mhz;
    float *raw;             /* [nrow][nsblk][npol][nchan] numbers as stored; owned */
    float *scl, *offs;      /* [nrow][npol][nchan] or NULL: 1 and 0; owned */
    float *wts;             /* [nrow][nchan] or NULL: 1; owned unless set by the test */
    const double *middle_s; /* OFFS_SUB of each row, or NULL: no row is lost */
    const char *edit;       /* "KEY=VALUE" written over the header it belongs to, or "NSTOT" */
    int64_t nstot;
    bool short_scales; /* one of scl and offs a channel, that of the first polarisation, for all */
    char letter;       /* of DATA's TFORM; 0: by the depth */
    float shift;       /* what reading adds to raw */
    double offs_scale, offs_shift; /* what reading makes of offs: times (0: 1), plus */
    size_t mix;                    /* reading exchanges channels c and c ^ mix */
};

static inline size_t fits_index(const struct fits_spec *s, int64_t row, int64_t t, int pol,
                                size_t c)
{
    return ((size_t)(row * s->nsblk + t) * (size_t)s->npol + (size_t)pol) * s->nchan + c;
}

static inline void fits_spec_free(struct fits_spec *s)
{
    free(s->raw);
    free(s->scl);
    free(s->offs);
    free(s->wts);
}

/* Random samples over the full range, 3 to 6 rows of 8 to 60 spectra, the last one not all 0. */
static inline struct fits_spec fits_random_spec(uint64_t *seed, size_t nchan, int npol, int nbit,
                                                bool is_signed)
{
    struct fits_spec s = {.nchan = nchan, .npol = npol, .nbit = nbit, .is_signed = is_signed};
    s.nsblk = 8 * tap_between(seed, 1, 7) + 4 * (nchan % 2 == 0);
    s.nrow = tap_between(seed, 3, FITS_ROWS_MAX);
    s.pol_type = npol == 1 ? "AA+BB" : "IQUV";
    s.foff_mhz = -0.5;
    size_t n = fits_index(&s, s.nrow, 0, 0, 0);
    s.raw = malloc(n * sizeof *s.raw);
    int64_t range = nbit == 32 ? 1000000 : INT64_C(1) << nbit;
    int64_t low = is_signed ? -range / 2 : 0;
    for (size_t i = 0; i < n; i++)
        s.raw[i] = (float)tap_between(seed, low, low + range - 1);
    s.raw[n - 1] = 1;
    return s;
}

static inline void fits_random_scaling(struct fits_spec *s, uint64_t *seed)
{
    size_t n = (size_t)s->nrow * (size_t)s->npol * s->nchan;
    size_t nwts = (size_t)s->nrow * s->nchan;
    s->scl = malloc(n * sizeof *s->scl);
    s->offs = malloc(n * sizeof *s->offs);
    s->wts = malloc(nwts * sizeof *s->wts);
    for (size_t i = 0; i < n; i++) {
        s->scl[i] = (float)(0.5 + tap_uniform(seed));
        s->offs[i] = (float)(3 * tap_uniform(seed));
    }
    for (size_t i = 0; i < nwts; i++)
        s->wts[i] = (float)tap_between(seed, i % s->nchan != 0 ? 0 : 1, 2) * 0.5f;
}

/* "KEY=VALUE": letters in quotes are a string; "+KEY=VALUE" is a second card of that name. */
static inline void fits_edit(fitsfile *f, const char *edit, int *status)
{
    if (*edit == '+') {
        char card[81];
        const char *value = strchr(edit, '=') + 1;
        snprintf(card, sizeof card, "%-8.*s= %s", (int)(value - edit) - 2, edit + 1, value);
        fits_write_record(f, card, status);
        return;
    }
    char key[16] = "", text[64] = "";
    const char *equal = strchr(edit, '=');
    snprintf(key, sizeof key, "%.*s", (int)(equal - edit), edit);
    if (equal[1] == '\'') {
        snprintf(text, sizeof text, "%.*s", (int)strlen(equal + 2) - 1, equal + 2);
        fits_update_key(f, TSTRING, key, text, NULL, status);
    } else {
        double value = strtod(equal + 1, NULL);
        fits_update_key(f, TDOUBLE, key, &value, NULL, status);
    }
}

static inline bool fits_is_primary_key(const char *edit)
{
    static const char *const keys[] = {"OBS_MODE", "FITSTYPE", "STT_",    "RA=",      "DEC=",
                                       "TELESCOP", "OBSFREQ",  "BACKEND", "BE_DELAY", "CHAN_DM"};
    edit += *edit == '+';
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!strncmp(edit, keys[i], strlen(keys[i])))
            return true;
    return false;
}

static inline void fits_write_primary(fitsfile *f, const struct fits_spec *s, int *status)
{
    static const char *const texts[][2] = {
        {"FITSTYPE", "PSRFITS"}, {"OBS_MODE", "SEARCH"}, {"TELESCOP", "PARKES"},
        {"BACKEND", "BACK"},     {"OBSERVER", ""},       {"SRC_NAME", "B0531+21"},
        {"RA", "05:34:31.5"},    {"DEC", "-00:30:36.0"}, {"PROJID", "P1"},
    };
    const struct {
        const char *key;
        double value;
    } numbers[] = {{"STT_IMJD", 59000},
                   {"STT_SMJD", 43200},
                   {"STT_OFFS", 0.25},
                   {"OBSFREQ", 1500 + 0.5 * (double)(s->nchan - 1) * s->foff_mhz},
                   {"OBSBW", (double)s->nchan * s->foff_mhz},
                   {"OBSNCHAN", (double)s->nchan}};
    fits_create_img(f, BYTE_IMG, 0, NULL, status);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char value[64];
        snprintf(value, sizeof value, "%s", texts[i][1]);
        fits_write_key(f, TSTRING, texts[i][0], value, NULL, status);
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        double value = numbers[i].value;
        fits_write_key(f, TDOUBLE, numbers[i].key, &value, NULL, status);
    }
    if (s->edit && strchr(s->edit, '=') && fits_is_primary_key(s->edit))
        fits_edit(f, s->edit, status);
}

enum { FITS_POINTING = 2 }; /* columns TEL_AZ and TEL_ZEN, the last ones */

/* Columns OFFS_SUB, DATA, DAT_FREQ, DAT_WTS and, where wanted, DAT_OFFS and DAT_SCL; TEL_AZ, TEL_ZEN. */
static inline void fits_write_table(fitsfile *f, const struct fits_spec *s, int *status)
{
    char names[6][9] = {"OFFS_SUB", "DATA", "DAT_FREQ", "DAT_WTS", "DAT_OFFS", "DAT_SCL"};
    char forms[6][32], pointing[FITS_POINTING][9] = {"TEL_AZ", "TEL_ZEN"}, degrees[] = "1D";
    char *name[6 + FITS_POINTING], *form[6 + FITS_POINTING], extension[] = "SUBINT", pol_type[16];
    const int ncolumn = s->scl ? 6 : 4;
    size_t bits = s->nchan * (size_t)s->npol * (size_t)s->nbit * (size_t)s->nsblk;
    size_t unit = s->nbit <= 8 ? 8 : (size_t)s->nbit;
    char letter = s->nbit == 32 ? 'E' : s->nbit == 16 ? 'I' : 'B';
    if (s->letter) {
        letter = s->letter;
        unit = letter == 'X' ? 1 : letter == 'B' ? 8 : unit;
    }
    snprintf(forms[0], sizeof forms[0], "1D");
    snprintf(forms[1], sizeof forms[1], "%zu%c", bits / unit, letter);
    snprintf(forms[2], sizeof forms[2], "%zuD", s->nchan);
    snprintf(forms[3], sizeof forms[3], "%zuE", s->nchan);
    const size_t nscale = s->short_scales ? s->nchan : s->nchan * (size_t)s->npol;
    snprintf(forms[4], sizeof forms[4], "%zuE", nscale);
    snprintf(forms[5], sizeof forms[5], "%zuE", nscale);
    for (int i = 0; i < 6; i++) {
        name[i] = names[i];
        form[i] = forms[i];
    }
    for (int i = 0; i < FITS_POINTING; i++) {
        name[ncolumn + i] = pointing[i];
        form[ncolumn + i] = degrees;
    }
    fits_create_tbl(f, BINARY_TBL, s->nrow, ncolumn + FITS_POINTING, name, form, NULL, extension,
                    status);
    const struct {
        const char *key;
        double value;
    } numbers[] = {
        {"TBIN", 0.001},           {"NCHAN", (double)s->nchan}, {"NPOL", s->npol},
        {"NBITS", s->nbit},        {"NSBLK", (double)s->nsblk}, {"ZERO_OFF", s->zero_off},
        {"SIGNINT", s->is_signed}, {"CHAN_BW", s->foff_mhz},    {"NSTOT", (double)s->nstot}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        double value = numbers[i].value;
        fits_write_key(f, TDOUBLE, numbers[i].key, &value, NULL, status);
    }
    snprintf(pol_type, sizeof pol_type, "%s", s->pol_type);
    fits_write_key(f, TSTRING, "POL_TYPE", pol_type, NULL, status);
}

/* As a little-endian recorder dumps them. */
static inline void fits_write_bytes16(fitsfile *f, const struct fits_spec *s, int64_t row,
                                      int *status)
{
    size_t first = fits_index(s, row, 0, 0, 0), n = fits_index(s, 1, 0, 0, 0);
    uint8_t *bytes = malloc(2 * n);
    for (size_t i = 0; i < n; i++) {
        unsigned code = (unsigned)(int)s->raw[first + i];
        bytes[2 * i] = (uint8_t)code;
        bytes[2 * i + 1] = (uint8_t)(code >> 8);
    }
    fits_write_col(f, TBYTE, 2, row + 1, 1, (LONGLONG)(2 * n), bytes, status);
    free(bytes);
}

/* High bits first, one long stream of bits through the row. */
static inline void fits_write_data(fitsfile *f, const struct fits_spec *s, int64_t row, int *status)
{
    size_t first = fits_index(s, row, 0, 0, 0), n = fits_index(s, 1, 0, 0, 0);
    size_t nbit = (size_t)s->nbit;
    if (s->nbit == 16 && s->letter == 'B') {
        fits_write_bytes16(f, s, row, status);
        return;
    }
    if (s->nbit > 8) {
        fits_write_col(f, TFLOAT, 2, row + 1, 1, (LONGLONG)n, s->raw + first, status);
        return;
    }
    uint8_t *bytes = calloc(n * nbit / 8 + 1, 1);
    for (size_t i = 0; i < n; i++) {
        unsigned code = (unsigned)(int)s->raw[first + i] & ((1u << nbit) - 1);
        bytes[i * nbit / 8] |= (uint8_t)(code << (8 - nbit - i * nbit % 8));
    }
    fits_write_col(f, TBYTE, 2, row + 1, 1, (LONGLONG)(n * nbit / 8), bytes, status);
    free(bytes);
}

static inline void fits_write_row(fitsfile *f, const struct fits_spec *s, int64_t row, int *status)
{
    size_t n = s->nchan, npol = (size_t)s->npol;
    double middle = ((double)row + 0.5) * (double)s->nsblk * 0.001;
    if (s->middle_s)
        middle = s->middle_s[row];
    fits_write_col(f, TDOUBLE, 1, row + 1, 1, 1, &middle, status);
    fits_write_data(f, s, row, status);
    for (size_t c = 0; c < n; c++) {
        double freq = 1500 + (double)c * s->foff_mhz + (s->freq_step && c >= s->freq_step ? 5 : 0);
        if (s->moved_row && row + 1 >= s->moved_row)
            freq += s->moved_mhz;
        float weight = s->wts ? s->wts[(size_t)row * n + c] : 1;
        fits_write_col(f, TDOUBLE, 3, row + 1, (LONGLONG)c + 1, 1, &freq, status);
        fits_write_col(f, TFLOAT, 4, row + 1, (LONGLONG)c + 1, 1, &weight, status);
    }
    double azimuth = 123.25 + (double)row, zenith = 45.5 + (double)row;
    fits_write_col(f, TDOUBLE, s->scl ? 7 : 5, row + 1, 1, 1, &azimuth, status);
    fits_write_col(f, TDOUBLE, s->scl ? 8 : 6, row + 1, 1, 1, &zenith, status);
    if (!s->scl)
        return;
    const size_t at = (size_t)row * n * npol, nscale = s->short_scales ? n : n * npol;
    fits_write_col(f, TFLOAT, 5, row + 1, 1, (LONGLONG)nscale, s->offs + at, status);
    fits_write_col(f, TFLOAT, 6, row + 1, 1, (LONGLONG)nscale, s->scl + at, status);
}

/* Writes path anew; returns where the rows begin in it, or 0 on failure. */
static inline int64_t fits_write_spec(const char *path, const struct fits_spec *s)
{
    fitsfile *f;
    LONGLONG header = 0, data = 0, end = 0;
    int status = 0;
    remove(path);
    if (fits_create_diskfile(&f, path, &status))
        return 0;
    fits_write_primary(f, s, &status);
    fits_write_table(f, s, &status);
    for (int64_t row = 0; row < s->nrow; row++)
        fits_write_row(f, s, row, &status);
    if (s->edit && strchr(s->edit, '=') && !fits_is_primary_key(s->edit))
        fits_edit(f, s->edit, &status);
    fits_get_hduaddrll(f, &header, &data, &end, &status);
    fits_close_file(f, &status);
    if (status)
        fits_report_error(stderr, status);
    return status ? 0 : data;
}

#endif
