/* Reads headers and columns of a PSRFITS file with cfitsio. */
#include "psrfits.h"

#include "base/tool.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* cfitsio would take a pipe into memory whole, which a long observation does not fit. */
static psr_status check_file(const char *path, psr_err *err)
{
    struct stat st;
    if (!strcmp(path, "-"))
        return psr_fail(err, PSR_EUNSUPPORTED,
                        "-: PSRFITS is read from files, not from standard input");
    if (strlen(path) >= FLEN_FILENAME)
        return psr_fail(err, PSR_EUNSUPPORTED, "%.40s...: cfitsio takes names of %d bytes at most",
                        path, FLEN_FILENAME - 1);
    if (stat(path, &st) || access(path, R_OK))
        return psr_fail_errno(err, "%s", path);
    if (!S_ISREG(st.st_mode))
        return psr_fail(err, PSR_EUNSUPPORTED,
                        "%s: PSRFITS is read from regular files, not from pipes or devices", path);
    return PSR_OK;
}

/* A recording that was cut off promises more rows than there are. */
static psr_status drop_missing_rows(struct psr_fits *f, psr_err *err)
{
    int64_t bytes;
    psr_status code = psr_fits_open_bytes(f, &bytes, err);
    if (code || bytes / f->row_bytes >= f->nrow)
        return code;
    int64_t have = bytes / f->row_bytes;
    psr_note(&f->notes, "%s: the file is cut off: NAXIS2 promises %lld rows, %lld are whole",
             f->path, (long long)f->nrow, (long long)have);
    f->nrow = have;
    return PSR_OK;
}

static psr_status check_kind(const struct psr_fits *f, psr_err *err)
{
    char text[PSR_TEXT_MAX] = "";
    psr_fits_text(f, "FITSTYPE", text);
    if (strcmp(text, "PSRFITS"))
        return psr_fail_field(err, PSR_EFORMAT, "FITSTYPE", "%s: FITSTYPE is '%s', not 'PSRFITS'",
                              f->path, text);
    *text = '\0';
    psr_fits_text(f, "OBS_MODE", text);
    if (strcmp(text, "SEARCH") && strcmp(text, "SRCH"))
        return psr_fail_field(err, PSR_EFORMAT, "OBS_MODE", "%s: OBS_MODE is '%s', not 'SEARCH'",
                              f->path, text);
    return PSR_OK;
}

psr_status psr_fits_open(struct psr_fits *f, const char *path, psr_err *err)
{
    char name[FLEN_FILENAME + 2];
    int status = 0;
    psr_status code = check_file(path, err);
    f->fd = -1;
    if (!code)
        code = psr_cfitsio_load(&f->lib, path, err);
    if (code)
        return code;
    f->path = strdup(path);
    if (!f->path)
        return psr_fail_nomem(err, "a file name", (double)strlen(path));
    /* It would leave blanks before a name out, and take ~ for a home. */
    snprintf(name, sizeof name, "%s%s", *path == ' ' || *path == '~' ? "./" : "", path);
    errno = 0;
    if (!f->lib.open_diskfile(&f->fptr, name, READONLY, &status))
        return check_kind(f, err);
    /* Where no call failed, the file ends within its header. */
    const bool ended = status == READ_ERROR && errno != EIO;
    psr_status st = psr_fits_fail(f, status, "no FITS file", err);
    if (ended && err)
        err->code = PSR_EFORMAT;
    return ended ? PSR_EFORMAT : st;
}

void psr_fits_shut(struct psr_fits *f)
{
    int status = 0;
    if (f->fptr)
        f->lib.close_file(f->fptr, &status);
    if (status)
        f->lib.clear_errmsg();
    if (f->fd >= 0)
        close(f->fd);
    free(f->path);
    *f = (struct psr_fits){.fd = -1};
}

psr_status psr_fits_enter(struct psr_fits *f, psr_err *err)
{
    int status = 0;
    LONGLONG nrow;
    char name[] = "SUBINT";
    if (f->lib.movnam_hdu(f->fptr, BINARY_TBL, name, 0, &status))
        return psr_fits_fail(f, status, "no SUBINT table", err);
    if (f->lib.get_num_rowsll(f->fptr, &nrow, &status))
        return psr_fits_fail(f, status, "NAXIS2 of SUBINT", err);
    psr_status code = psr_fits_count(f, "NAXIS1", 1, INT64_MAX / 2, &f->row_bytes, err);
    if (code)
        return code;
    f->nrow = nrow;
    code = drop_missing_rows(f, err);
    if (code)
        return code;
    if (f->nrow < 1)
        return psr_fail_field(err, PSR_EFORMAT, "NAXIS2",
                              "%s: SUBINT holds no whole row (NAXIS2 = %lld)", f->path,
                              (long long)nrow);
    return PSR_OK;
}

/* Optional keywords must leave nothing on cfitsio's error stack. */
static bool read_key(const struct psr_fits *f, int type, const char *key, void *value)
{
    int status = 0;
    f->lib.write_errmark();
    f->lib.read_key(f->fptr, type, key, value, NULL, &status);
    f->lib.clear_errmark();
    return !status;
}

double psr_fits_number(const struct psr_fits *f, const char *key, double absent)
{
    double value;
    return read_key(f, TDOUBLE, key, &value) && isfinite(value) ? value : absent;
}

bool psr_fits_text(const struct psr_fits *f, const char *key, char text[PSR_TEXT_MAX])
{
    char value[FLEN_VALUE] = "";
    if (!read_key(f, TSTRING, key, value))
        return false;
    char *from = value + strspn(value, " ");
    size_t n = strlen(from);
    while (n && from[n - 1] == ' ')
        n--;
    from[n] = '\0';
    if (!n || !strcmp(from, "*"))
        return false;
    memcpy(text, from, n + 1);
    return true;
}

/* From text, as cfitsio 4.2 writes beyond its buffer when it tells of one that is none.  A fraction
 * is dropped, as it does. */
static bool read_whole(const struct psr_fits *f, const char *key, int64_t *value)
{
    char text[PSR_TEXT_MAX];
    double x;
    if (!psr_fits_text(f, key, text))
        return false;
    if (psr_parse_int(key, text, INT64_MIN, INT64_MAX, value, NULL) == PSR_OK)
        return true;
    if (psr_parse_double(key, text, -0x1p62, 0x1p62, &x, NULL) != PSR_OK)
        return false;
    *value = (int64_t)x;
    return true;
}

psr_status psr_fits_count(const struct psr_fits *f, const char *key, int64_t min, int64_t max,
                          int64_t *value, psr_err *err)
{
    int64_t got;
    if (!read_whole(f, key, &got))
        return psr_fail_field(err, PSR_EFORMAT, key, "%s: %s is missing or no whole number",
                              f->path, key);
    if (got < min || got > max)
        return psr_fail_field(err, PSR_EFORMAT, key, "%s: %s = %lld is outside %lld to %lld",
                              f->path, key, (long long)got, (long long)min, (long long)max);
    *value = got;
    return PSR_OK;
}

/* Takes quotes and the blanks before the second of them off a text. */
static void strip_quotes(char *value)
{
    size_t n = strlen(value);
    if (n < 2 || *value != '\'' || value[n - 1] != '\'')
        return;
    n--;
    while (n > 1 && value[n - 1] == ' ')
        n--;
    memmove(value, value + 1, n - 1);
    value[n - 1] = '\0';
}

/* 16. and 1.6E1 are 16. */
static bool are_same(const char *a, const char *b)
{
    double x, y;
    if (psr_parse_double("", a, -HUGE_VAL, HUGE_VAL, &x, NULL) == PSR_OK &&
        psr_parse_double("", b, -HUGE_VAL, HUGE_VAL, &y, NULL) == PSR_OK)
        return !(x < y) && !(x > y);
    return strcmp(a, b) == 0;
}

/* The keyword of card i and its value.  False where it has none. */
static bool read_card(const struct psr_fits *f, int i, char name[FLEN_KEYWORD],
                      char value[FLEN_VALUE])
{
    char card[FLEN_CARD], comment[FLEN_COMMENT];
    int status = 0, n;
    *value = '\0';
    f->lib.write_errmark();
    f->lib.read_record(f->fptr, i, card, &status);
    f->lib.get_keyname(card, name, &n, &status);
    f->lib.parse_value(card, value, comment, &status);
    f->lib.clear_errmark();
    strip_quotes(value);
    return !status && *value;
}

psr_status psr_fits_check_twice(const struct psr_fits *f, psr_err *err)
{
    static const char *const used[] = {
        "NCHAN",    "NPOL",    "NBITS",   "NSBLK",    "TBIN",     "ZERO_OFF", "SIGNINT",
        "POL_TYPE", "CHAN_BW", "NSTOT",   "NSUBOFFS", "OBSFREQ",  "OBSBW",    "OBSNCHAN",
        "RA",       "DEC",     "CHAN_DM", "STT_IMJD", "STT_SMJD", "STT_OFFS", "BE_DELAY"};
    enum { NUSED = sizeof used / sizeof *used };
    char value[NUSED][FLEN_VALUE] = {{0}}, name[FLEN_KEYWORD], again[FLEN_VALUE];
    int n = 0, room, status = 0;
    if (f->lib.get_hdrspace(f->fptr, &n, &room, &status))
        return psr_fits_fail(f, status, "its header", err);
    for (int i = 1; i <= n; i++) {
        int k = 0;
        if (!read_card(f, i, name, again))
            continue;
        while (k < NUSED && strcmp(used[k], name) != 0)
            k++;
        if (k == NUSED)
            continue;
        if (*value[k] && !are_same(value[k], again))
            return psr_fail_field(err, PSR_EFORMAT, used[k], "%s: %s is %s, and it is %s", f->path,
                                  used[k], value[k], again);
        strcpy(value[k], again);
    }
    return PSR_OK;
}

/* Splits a TFORM such as 265104B or 1PE(12); false where it is none. */
static bool parse_tform(const char *text, int64_t *repeat, char *type)
{
    *repeat = isdigit((unsigned char)*text) ? 0 : 1;
    for (; isdigit((unsigned char)*text); text++) {
        if (*repeat > INT64_MAX / 32)
            return false;
        *repeat = 10 * *repeat + (*text - '0');
    }
    *type = *text;
    return *type != '\0';
}

static int64_t column_bytes(int64_t repeat, char type)
{
    static const struct {
        char type;
        int bytes;
    } width[] = {{'L', 1}, {'B', 1}, {'A', 1}, {'I', 2}, {'J', 4},  {'E', 4},
                 {'K', 8}, {'D', 8}, {'C', 8}, {'P', 8}, {'M', 16}, {'Q', 16}};
    if (type == 'X')
        return repeat / 8 + (repeat % 8 != 0);
    for (size_t i = 0; i < sizeof width / sizeof *width; i++)
        if (width[i].type == type)
            return repeat * width[i].bytes;
    return -1;
}

static psr_status place_column(const struct psr_fits *f, int number, struct psr_fits_column *column,
                               psr_err *err)
{
    int64_t end = 1;
    char key[FLEN_KEYWORD], text[FLEN_VALUE];
    for (int i = 1; i <= number; i++) {
        snprintf(key, sizeof key, "TFORM%d", i);
        *column = (struct psr_fits_column){.number = number, .first_byte = end};
        int64_t bytes = -1;
        if (read_key(f, TSTRING, key, text) && parse_tform(text, &column->repeat, &column->type))
            bytes = column_bytes(column->repeat, column->type);
        if (bytes < 0 || bytes > f->row_bytes - (end - 1))
            return psr_fail(err, PSR_EFORMAT, "%s: %s of SUBINT is no format that fits its rows",
                            f->path, key);
        end += bytes;
    }
    snprintf(key, sizeof key, "TSCAL%d", number);
    column->scale = psr_fits_number(f, key, 1);
    snprintf(key, sizeof key, "TZERO%d", number);
    column->zero = psr_fits_number(f, key, 0);
    return PSR_OK;
}

psr_status psr_fits_find(const struct psr_fits *f, const char *name, struct psr_fits_column *column,
                         psr_err *err)
{
    char wanted[FLEN_VALUE];
    int number = 0, status = 0;
    *column = (struct psr_fits_column){0};
    snprintf(wanted, sizeof wanted, "%s", name);
    f->lib.write_errmark();
    f->lib.get_colnum(f->fptr, CASEINSEN, wanted, &number, &status);
    f->lib.clear_errmark();
    if (status == COL_NOT_UNIQUE)
        return psr_fail(err, PSR_EFORMAT, "%s: SUBINT has more than one column %s", f->path, name);
    if (status)
        return PSR_OK;
    return place_column(f, number, column, err);
}
