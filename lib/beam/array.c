/* Reads array files, and converts between directions and grid coordinates. */
#include "astro/barycentre.h"

#include "base/base.h"
#include "beam_internal.h"
#include "formats/spectra/header_keys.h"

#include <erfa.h>
#include <erfam.h>
#include <math.h>
#include <psrkit/experimental/array.h>
#include <psrkit/experimental/beam.h>
#include <psrkit/obs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DISHES = PSR_ARRAY_GRID_MAX * PSR_ARRAY_GRID_MAX, ABSENT = -2 };

void psr_array_clear(struct psr_array *a)
{
    free(a->cell);
    *a = (struct psr_array){0};
}

/* --- checking --------------------------------------------------------------------------------- */

psr_status psr_array_check(const struct psr_array *a, const char *name, psr_err *err)
{
    if (a->m < 1 || a->m > PSR_ARRAY_GRID_MAX || a->n < 1 || a->n > PSR_ARRAY_GRID_MAX)
        return psr_fail_field(err, PSR_EFORMAT, "grid",
                              "%s: a grid of %zu x %zu is outside 1 to %d", name, a->m, a->n,
                              PSR_ARRAY_GRID_MAX);
    if (!isfinite(a->ns_m) || !isfinite(a->ew_m) || a->ns_m == 0 || a->ew_m == 0)
        return psr_fail_field(err, PSR_EFORMAT, "spacing",
                              "%s: a spacing of %g and %g m must be finite and not 0", name,
                              a->ns_m, a->ew_m);
    if (a->ndish < 1 || a->ndish > MOST_DISHES)
        return psr_fail_field(err, PSR_EFORMAT, "dish", "%s: %zu dishes is outside 1 to %d", name,
                              a->ndish, MOST_DISHES);
    size_t nplace = a->m * a->n, nused = 0;
    psr_status st = PSR_OK;
    int32_t *dish = malloc(nplace * sizeof *dish); /* at each place */
    if (!dish)
        return psr_fail_nomem(err, "the places of an array", (double)nplace * sizeof *dish);
    memset(dish, 0xff, nplace * sizeof *dish);
    for (size_t d = 0; d < a->ndish && !st; d++) {
        int32_t cell = a->cell[d];
        if (cell == -1)
            continue;
        if (cell < 0 || (size_t)cell >= nplace)
            st = psr_fail_field(err, PSR_EFORMAT, "dish",
                                "%s: dish %zu stands outside the %zu x %zu grid", name, d, a->m,
                                a->n);
        else if (dish[cell] >= 0)
            st = psr_fail_field(err, PSR_EFORMAT, "dish",
                                "%s: dishes %d and %zu both stand at %zu %zu", name,
                                (int)dish[cell], d, (size_t)cell / a->n, (size_t)cell % a->n);
        else
            dish[cell] = (int32_t)d;
        nused++;
    }
    if (!st && nused == 0)
        st = psr_fail_field(err, PSR_EFORMAT, "dish", "%s: none of %zu dishes is on the grid", name,
                            a->ndish);
    free(dish);
    return st;
}

/* --- reading ---------------------------------------------------------------------------------- */

struct parser {
    struct psr_array *a;
    size_t room; /* dishes that cell has room for */
};

static psr_status once(const struct psr_text_row *row, bool seen, psr_err *err)
{
    return seen ? psr_text_row_fail(row, err, row->word[0], "a second '%s'", row->word[0]) : PSR_OK;
}

static psr_status take_grid(void *ctx, const struct psr_text_row *row, psr_err *err)
{
    struct parser *p = ctx;
    int64_t m, n;
    psr_status st = once(row, p->a->m > 0, err);
    if (!st)
        st = psr_text_row_int(row, 1, "M", 1, PSR_ARRAY_GRID_MAX, &m, err);
    if (!st)
        st = psr_text_row_int(row, 2, "N", 1, PSR_ARRAY_GRID_MAX, &n, err);
    if (st)
        return st;
    p->a->m = (size_t)m;
    p->a->n = (size_t)n;
    return PSR_OK;
}

static psr_status take_spacing(void *ctx, const struct psr_text_row *row, psr_err *err)
{
    struct parser *p = ctx;
    psr_status st = once(row, p->a->ns_m != 0, err);
    if (!st)
        st = psr_text_row_double(row, 1, "spacing north-south (m)", -1e4, 1e4, &p->a->ns_m, err);
    if (!st)
        st = psr_text_row_double(row, 2, "spacing east-west (m)", -1e4, 1e4, &p->a->ew_m, err);
    if (!st && (p->a->ns_m == 0 || p->a->ew_m == 0))
        st = psr_text_row_fail(row, err, "spacing", "a spacing of 0 m");
    return st;
}

static psr_status take_site(void *ctx, const struct psr_text_row *row, psr_err *err)
{
    struct parser *p = ctx;
    psr_status st = once(row, p->a->has_site, err);
    if (!st)
        st =
            psr_text_row_double(row, 1, "longitude (degrees east)", -360, 360, &p->a->lon_deg, err);
    if (!st)
        st = psr_text_row_double(row, 2, "latitude (degrees north)", -90, 90, &p->a->lat_deg, err);
    if (!st)
        st = psr_text_row_double(row, 3, "height (m)", -1e4, 1e5, &p->a->height_m, err);
    p->a->has_site = true;
    return st;
}

static psr_status take_telescope(void *ctx, const struct psr_text_row *row, psr_err *err)
{
    struct parser *p = ctx;
    if (row->n < 2)
        return psr_text_row_fail(row, err, "name", "the name is missing");
    snprintf(p->a->telescope, sizeof p->a->telescope, "%s", row->word[1]);
    return PSR_OK;
}

/* "standin" and which of the values are placeholders. */
static psr_status take_placeholders(void *ctx, const struct psr_text_row *row, psr_err *err)
{
    static const char *const what[] = {"site", "spacing", "places", "inputs"};
    struct parser *p = ctx;
    char *to = p->a->standin;
    psr_status st = once(row, *to, err);
    for (int i = 1; i < row->n && !st; i++) {
        bool known = false;
        for (size_t k = 0; k < sizeof what / sizeof *what; k++)
            known = known || !strcmp(row->word[i], what[k]);
        if (!known)
            st = psr_text_row_fail(row, err, row->word[0],
                                   "'%s' is none of site, spacing, places, inputs", row->word[i]);
        else
            strcat(strcat(to, i > 1 ? ", " : ""), row->word[i]);
    }
    return st;
}

/* "dish INDEX M N" or "dish INDEX none". */
static psr_status take_dish(void *ctx, const struct psr_text_row *row, psr_err *err)
{
    struct parser *p = ctx;
    struct psr_array *a = p->a;
    int64_t d, m = 0, n = 0;
    bool none = row->n > 2 && !strcmp(row->word[2], "none");
    if (a->m == 0)
        return psr_text_row_fail(row, err, "dish", "a dish before the grid");
    if (none && row->n > 3)
        return psr_text_row_fail(row, err, "dish", "'%s' is a word too many", row->word[3]);
    psr_status st = psr_text_row_int(row, 1, "dish", 0, MOST_DISHES - 1, &d, err);
    if (!st && !none)
        st = psr_text_row_int(row, 2, "m", 0, (int64_t)a->m - 1, &m, err);
    if (!st && !none)
        st = psr_text_row_int(row, 3, "n", 0, (int64_t)a->n - 1, &n, err);
    if (st)
        return st;
    const size_t ndish = (size_t)d + 1;
    if (ndish > p->room)
        st = psr_reserve(&p->a->cell, &p->room, 2 * ndish, sizeof *p->a->cell, "dishes", err);
    if (st)
        return st;
    while (p->a->ndish < ndish)
        p->a->cell[p->a->ndish++] = ABSENT;

    if (a->cell[d] != ABSENT)
        return psr_text_row_fail(row, err, "dish", "dish %lld is listed twice", (long long)d);
    a->cell[d] = none ? -1 : (int32_t)(m * (int64_t)a->n + n);
    return PSR_OK;
}

static psr_status take_row(void *ctx, const struct psr_text_row *row, psr_err *err)
{
    static const struct psr_text_row_key keys[] = {
        {"telescope", take_telescope, 2}, {"site", take_site, 4}, {"grid", take_grid, 3},
        {"spacing", take_spacing, 3},     {"dish", take_dish, 4}, {"standin", take_placeholders, 5},
    };
    return psr_text_row_take(row, keys, sizeof keys / sizeof *keys, ctx, err);
}

static psr_status check_complete(const struct psr_array *a, const char *path, psr_err *err)
{
    if (a->m == 0)
        return psr_fail_field(err, PSR_EFORMAT, "grid", "%s: no 'grid M N' in it", path);
    if (a->ns_m == 0)
        return psr_fail_field(err, PSR_EFORMAT, "spacing", "%s: no 'spacing NS EW' in it", path);
    for (size_t d = 0; d < a->ndish; d++)
        if (a->cell[d] == ABSENT)
            return psr_fail_field(
                err, PSR_EFORMAT, "dish",
                "%s: dish %zu of 0 to %zu is missing (one that is off the grid is 'dish %zu none')",
                path, d, a->ndish - 1, d);
    return psr_array_check(a, path, err);
}

psr_status psr_array_read(struct psr_array *a, const char *path, psr_err *err)
{
    struct parser p = {.a = a};
    *a = (struct psr_array){.telescope = "Unknown"};
    psr_status st = psr_text_table_read(path, take_row, &p, err);
    if (!st)
        st = check_complete(a, psr_path_called(path), err);
    if (st)
        psr_array_clear(a);
    return st;
}

psr_status psr_array_set_site(struct psr_array *a, const char *text, psr_err *err)
{
    struct psr_site site;
    double east, north;
    psr_status st = psr_site_parse(text, &site, err);
    if (st)
        return st;
    if (eraGc2gd(ERFA_WGS84, site.xyz_m, &east, &north, &a->height_m) != 0)
        return psr_fail_field(err, PSR_EINVAL, "site",
                              "site '%.100s' has no place on the ellipsoid", text);
    a->lon_deg = east * ERFA_DR2D;
    a->lat_deg = north * ERFA_DR2D;
    a->has_site = true;
    return PSR_OK;
}

/* --- directions ------------------------------------------------------------------------------- */

/* Coordinate of one axis per unit of direction cosine. */
static double axis_scale(size_t places, double spacing_m, double freq_mhz)
{
    return (double)places * spacing_m * freq_mhz * 1e6 / PSR_LIGHT_M_S;
}

void psr_array_theta(const struct psr_array *a, double freq_mhz, double north, double east,
                     double *theta_ns, double *theta_ew)
{
    *theta_ns = north * axis_scale(a->m, a->ns_m, freq_mhz);
    *theta_ew = east * axis_scale(a->n, a->ew_m, freq_mhz);
}

void psr_array_cosines(const struct psr_array *a, double freq_mhz, double theta_ns, double theta_ew,
                       double *north, double *east)
{
    *north = theta_ns / axis_scale(a->m, a->ns_m, freq_mhz);
    *east = theta_ew / axis_scale(a->n, a->ew_m, freq_mhz);
}

/* --- gains --------------------------------------------------------------------------------------- */

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

static psr_status take_gains(void *ctx, const struct psr_text_row *row, psr_err *err)
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
    st = npy ? read_npy(in.file, g, err) : psr_text_table_take(&in, take_gains, g, err);
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
