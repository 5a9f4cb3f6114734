/* Reads complex gains of dishes from text or .npy files. */
#include "base/path.h"
#include "beam_internal.h"
#include "formats/spectra/header_keys.h"

#include <psrkit/experimental/beam.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* So that the largest intensity of all dishes, summed over a long time, is within floats. */
static const double GAIN_MAX = 1e12;

struct gains {
    const char *name;
    size_t nfreq, ndish;
    float *weight; /* [nfreq][2][ndish][2] */
};

static size_t count(const struct gains *g)
{
    return g->nfreq * PSR_BEAM_NPOL * g->ndish;
}

/* --- text ------------------------------------------------------------------------------------- */

/* An index below n, or * for all of them. */
static psr_status take_index(const struct psr_text_row *row, int i, const char *what, size_t n,
                             size_t *from, size_t *to, psr_err *err)
{
    int64_t value = 0;
    if (i < row->n && !strcmp(row->word[i], "*")) {
        *from = 0;
        *to = n;
        return PSR_OK;
    }
    psr_status st = psr_text_row_int(row, i, what, 0, (int64_t)n - 1, &value, err);
    *from = (size_t)value;
    *to = *from + 1;
    return st;
}

static psr_status take_row(void *ctx, const struct psr_text_row *row, psr_err *err)
{
    struct gains *g = ctx;
    size_t f0, f1, p0, p1, d0, d1;
    double re, im;
    psr_status st = take_index(row, 0, "channel", g->nfreq, &f0, &f1, err);
    if (!st)
        st = take_index(row, 1, "polarisation", PSR_BEAM_NPOL, &p0, &p1, err);
    if (!st)
        st = take_index(row, 2, "dish", g->ndish, &d0, &d1, err);
    if (!st)
        st = psr_text_row_double(row, 3, "real part", -GAIN_MAX, GAIN_MAX, &re, err);
    if (!st)
        st = psr_text_row_double(row, 4, "imaginary part", -GAIN_MAX, GAIN_MAX, &im, err);
    if (!st && row->n > 5)
        st = psr_text_row_fail(row, err, "", "'%s' is a word too many", row->word[5]);
    for (size_t f = f0; !st && f < f1; f++)
        for (size_t p = p0; p < p1; p++)
            for (size_t d = d0; d < d1; d++) {
                float *w = g->weight + 2 * ((f * PSR_BEAM_NPOL + p) * g->ndish + d);
                w[0] = (float)re;
                w[1] = (float)im;
            }
    return st;
}

/* --- NumPy ------------------------------------------------------------------------------------ */

enum { NPY_HEADER_MAX = 65536 };
static const char npy_magic[] = "\x93NUMPY";

/* The text of the header, which is that of a Python dictionary, malloc'd. */
static psr_status read_npy_header(FILE *in, const struct gains *g, char **text, psr_err *err)
{
    unsigned char b[12];
    bool fine = fread(b, 1, 10, in) == 10 && !memcmp(b, npy_magic, sizeof npy_magic - 1) &&
                (b[6] == 1 || b[6] == 2 || b[6] == 3);
    size_t n = fine ? b[8] + 256u * b[9] : 0;
    if (fine && b[6] > 1) {
        fine = fread(b + 10, 1, 2, in) == 2;
        n += 65536u * b[10] + 16777216u * b[11];
    }
    if (!fine || n > NPY_HEADER_MAX)
        return psr_fail(err, PSR_EFORMAT, "%s: a NumPy header that is cut or too long", g->name);
    *text = calloc(n + 1, 1);
    if (!*text)
        return psr_fail_nomem(err, "a NumPy header", (double)n);
    if (fread(*text, 1, n, in) != n)
        return psr_fail(err, PSR_EFORMAT, "%s: ends within its NumPy header", g->name);
    return PSR_OK;
}

/* What follows 'KEY': in a Python dictionary, or "". */
static const char *npy_field(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    at = at ? strchr(at, ':') : NULL;
    return at ? at + 1 + strspn(at + 1, " ") : "";
}

static psr_status check_npy(const char *text, const struct gains *g, bool *is_double, psr_err *err)
{
    unsigned long long f = 0, p = 0, d = 0;
    const char *kind = npy_field(text, "'descr'"), *shape = npy_field(text, "'shape'");
    int n = 0;
    *is_double = !strncmp(kind, "'<c16'", 6);
    if (!*is_double && strncmp(kind, "'<c8'", 5) != 0)
        return psr_fail_field(err, PSR_EFORMAT, "descr",
                              "%s: numbers of kind %.*s, must be complex: '<c8' or '<c16'", g->name,
                              (int)strcspn(kind, ","), kind);
    if (strncmp(npy_field(text, "'fortran_order'"), "False", 5) != 0)
        return psr_fail_field(err, PSR_EFORMAT, "fortran_order",
                              "%s: in Fortran's order, must be in C's", g->name);
    if (sscanf(shape, "(%llu, %llu, %llu%n", &f, &p, &d, &n) != 3 || shape[n] != ')' ||
        f != g->nfreq || p != PSR_BEAM_NPOL || d != g->ndish)
        return psr_fail_field(
            err, PSR_EFORMAT, "shape",
            "%s: shape %.*s), must be (%zu, %d, %zu): channels, polarisations, dishes", g->name,
            (int)strcspn(shape, ")"), shape, g->nfreq, PSR_BEAM_NPOL, g->ndish);
    return PSR_OK;
}

static psr_status read_npy_numbers(FILE *in, struct gains *g, bool is_double, psr_err *err)
{
    bool fine = true;
    for (size_t i = 0; i < 2 * count(g) && fine; i++) {
        double x = 0;
        fine = is_double ? fread(&x, sizeof x, 1, in) == 1
                         : fread(&g->weight[i], sizeof *g->weight, 1, in) == 1;
        if (is_double)
            g->weight[i] = (float)x;
    }
    if (!fine)
        return psr_fail(err, PSR_EFORMAT, "%s: ends before its %zu numbers", g->name, count(g));
    if (fgetc(in) != EOF)
        return psr_fail(err, PSR_EFORMAT, "%s: goes on after its %zu numbers", g->name, count(g));
    return PSR_OK;
}

static psr_status read_npy(FILE *in, struct gains *g, psr_err *err)
{
    char *text = NULL;
    bool is_double = false;
    psr_status st = read_npy_header(in, g, &text, err);
    if (!st)
        st = check_npy(text, g, &is_double, err);
    if (!st)
        st = read_npy_numbers(in, g, is_double, err);
    free(text);
    return st;
}

/* --- either ----------------------------------------------------------------------------------- */

static psr_status check_range(const struct gains *g, psr_err *err)
{
    for (size_t i = 0; i < count(g); i++)
        if (!(fabs((double)g->weight[2 * i]) <= GAIN_MAX &&
              fabs((double)g->weight[2 * i + 1]) <= GAIN_MAX))
            return psr_fail(err, PSR_EFORMAT,
                            "%s: the gain of channel %zu, polarisation %zu, dish %zu is %g %+gi, "
                            "must be within %g",
                            g->name, i / g->ndish / PSR_BEAM_NPOL, i / g->ndish % PSR_BEAM_NPOL,
                            i % g->ndish, (double)g->weight[2 * i], (double)g->weight[2 * i + 1],
                            GAIN_MAX);
    return PSR_OK;
}

/* A row of text for each gain, however it is laid out, takes less than this. */
static int64_t most_bytes(const struct gains *g)
{
    const int64_t rows = 128 * (int64_t)count(g);
    return rows > PSR_TABLE_MAX_BYTES ? rows : PSR_TABLE_MAX_BYTES;
}

static psr_status read_file(struct gains *g, const char *path, psr_err *err)
{
    struct psr_text_lines in;
    psr_status st = psr_text_lines_open(&in, path, most_bytes(g), err);
    if (st)
        return st;
    int first = getc(in.file);
    ungetc(first, in.file);
    bool npy = first == (unsigned char)npy_magic[0];
    st = npy ? read_npy(in.file, g, err) : psr_text_table_take(&in, take_row, g, err);
    psr_text_lines_close(&in);
    return st ? st : check_range(g, err);
}

psr_status psr_gains_read(const char *path, size_t nfreq, size_t ndish, float **weight,
                          psr_err *err)
{
    struct gains g = {.name = psr_path_called(path), .nfreq = nfreq, .ndish = ndish};
    *weight = NULL;
    g.weight = calloc(count(&g), 2 * sizeof *g.weight);
    if (!g.weight)
        return psr_fail_nomem(err, "gains", (double)count(&g) * 2 * sizeof *g.weight);
    for (size_t i = 0; i < count(&g); i++)
        g.weight[2 * i] = 1;
    psr_status st = read_file(&g, path, err);
    if (st)
        free(g.weight);
    else
        *weight = g.weight;
    return st;
}
