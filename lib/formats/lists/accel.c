/* Writes lists of accelerated candidates: accelsearch's three files, comma-separated values, JSON. */
#include "base/output/outfile_internal.h"

#include "base/base.h"
#include "base/input/readfd.h"
#include "formats/series/series_internal.h"
#include "formats/spectra/header_keys.h"
#include "lists_internal.h"
#include "search/matched/response/accel_internal.h"
#include <math.h>
#include <psrkit/experimental/accel.h>
#include <psrkit/obs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* --- .cand records and .txtcand lines --------------------------------------------------------- */

/* The offset of each number; .cand is little-endian, as is every machine that PRESTO runs on. */
static const struct field {
    size_t member;
    int at;
} doubles[] = {{offsetof(struct psr_accel_record, r), 0},
               {offsetof(struct psr_accel_record, z), 16},
               {offsetof(struct psr_accel_record, w), 32}},
  floats[] = {
      {offsetof(struct psr_accel_record, rerr), 8},
      {offsetof(struct psr_accel_record, zerr), 24},
      {offsetof(struct psr_accel_record, werr), 40},
      {offsetof(struct psr_accel_record, pow), 44},
      {offsetof(struct psr_accel_record, powerr), 48},
      {offsetof(struct psr_accel_record, sig), 52},
      {offsetof(struct psr_accel_record, rawpow), 56},
      {offsetof(struct psr_accel_record, phs), 60},
      {offsetof(struct psr_accel_record, phserr), 64},
      {offsetof(struct psr_accel_record, cen), 68},
      {offsetof(struct psr_accel_record, cenerr), 72},
      {offsetof(struct psr_accel_record, pur), 76},
      {offsetof(struct psr_accel_record, purerr), 80},
      {offsetof(struct psr_accel_record, locpow), 84},
};

void psr_accel_pack(const struct psr_accel_record *record,
                    unsigned char bytes[PSR_ACCEL_RECORD_BYTES])
{
    const char *from = (const char *)record;
    memset(bytes, 0, PSR_ACCEL_RECORD_BYTES);
    for (size_t i = 0; i < sizeof doubles / sizeof *doubles; i++)
        memcpy(bytes + doubles[i].at, from + doubles[i].member, sizeof(double));
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
        memcpy(bytes + floats[i].at, from + floats[i].member, sizeof(float));
}

void psr_accel_unpack(struct psr_accel_record *record,
                      const unsigned char bytes[PSR_ACCEL_RECORD_BYTES])
{
    char *to = (char *)record;
    for (size_t i = 0; i < sizeof doubles / sizeof *doubles; i++)
        memcpy(to + doubles[i].member, bytes + doubles[i].at, sizeof(double));
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
        memcpy(to + floats[i].member, bytes + floats[i].at, sizeof(float));
}

psr_status psr_accel_write_cand(psr_outfile *f, const struct psr_accel_list *list, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t i = 0; i < list->ncand && st == PSR_OK; i++) {
        unsigned char bytes[PSR_ACCEL_RECORD_BYTES];
        const struct psr_accel_cand *c = &list->cand[i];
        const struct psr_accel_harm *h = &c->harm[0];
        double power = h->power.value, sig2 = 2 * power - log(M_PI * power);
        const struct psr_accel_record record = {
            .r = c->r.value,
            .z = c->z.value,
            .w = c->w.value,
            .rerr = (float)c->r.error,
            .zerr = (float)c->z.error,
            .werr = (float)c->w.error,
            .pow = (float)power,
            .powerr = (float)h->power.error,
            .sig = (float)(power > 0 && sig2 > 0 ? sqrt(sig2) : 0),
            .rawpow = (float)h->raw,
            .phs = (float)h->phase_rad.value,
            .phserr = (float)h->phase_rad.error,
            .cen = (float)h->centroid.value,
            .cenerr = (float)h->centroid.error,
            .pur = (float)h->purity.value,
            .purerr = (float)h->purity.error,
            .locpow = (float)(power > 0 ? h->raw / power : 1),
        };
        psr_accel_pack(&record, bytes);
        st = psr_outfile_write(f, bytes, sizeof bytes, err);
    }
    return st;
}

psr_status psr_accel_write_txtcand(psr_outfile *f, double power, double sigma, int nharm, double r,
                                   double z, double w, double tobs_s, psr_err *err)
{
    return psr_outfile_printf(f, err, "%-7.2f  %-7.4f  %-2d  %-14.4f  %-14.9f  %-10.4f %-10.4f\n",
                              power, sigma, nharm, r, r / tobs_s, z, w);
}

/* --- comma-separated values and JSON ---------------------------------------------------------- */

enum { NFIELD = 23 };

static const char *const names[NFIELD] = {
    "cand",    "sigma",       "ln_p",   "power",     "dof",       "coherent",
    "numharm", "r",           "r_err",  "z",         "z_err",     "period_s",
    "freq_hz", "freq_err_hz", "fdot",   "accel_ms2", "box_first", "box_width",
    "members", "sign_known",  "tobs_s", "w",         "w_err",
};

psr_status psr_accel_write_csv_header(psr_outfile *f, psr_err *err)
{
    psr_outfile_put(f, "file");
    for (size_t k = 0; k < NFIELD; k++)
        psr_outfile_put(f, ",%s", names[k]);
    return psr_outfile_printf(f, err, "\n");
}

static void put_csv_row(psr_outfile *f, const char *file, const double v[NFIELD])
{
    psr_csv_put_text(f, file);
    for (size_t k = 0; k < NFIELD; k++)
        if (isfinite(v[k]))
            psr_outfile_put(f, ",%.10g", v[k]);
        else
            psr_outfile_put(f, ",");
    psr_outfile_put(f, "\n");
}

static void put_json_row(psr_outfile *f, const char *file, const double v[NFIELD])
{
    struct psr_json j = {.put = psr_json_put, .ctx = f};
    psr_json_begin(&j, NULL, PSR_JSON_OBJECT);
    psr_json_string(&j, "file", file);
    for (size_t k = 0; k < NFIELD; k++)
        psr_json_double(&j, names[k], v[k]);
    psr_json_end(&j, PSR_JSON_OBJECT);
    psr_outfile_put(f, "\n");
}

static psr_status
write_rows(psr_outfile *f, const struct psr_accel_list *list, const char *file,
           void (*put_row)(psr_outfile *f, const char *file, const double v[NFIELD]), psr_err *err)
{
    for (size_t i = 0; i < list->ncand; i++) {
        const struct psr_accel_cand *c = &list->cand[i];
        double t = list->tobs_s, hz = c->r.value / t, fdot = c->z.value / (t * t);
        const double v[NFIELD] = {
            (double)i + 1,
            c->sigma,
            c->ln_p,
            c->power,
            c->dof,
            c->coherent,
            c->nharm,
            c->r.value,
            c->r.error,
            c->z.value,
            c->z.error,
            1 / hz,
            hz,
            c->r.error / t,
            fdot,
            fdot * PSR_LIGHT_M_S / hz,
            (double)c->first,
            (double)c->width,
            (double)c->members,
            c->sign_known,
            t,
            list->jerk ? c->w.value : NAN,
            list->jerk ? c->w.error : NAN,
        };
        put_row(f, file, v);
    }
    return psr_outfile_status(f, err);
}

psr_status psr_accel_write_csv(psr_outfile *f, const struct psr_accel_list *list, const char *file,
                               psr_err *err)
{
    return write_rows(f, list, file, put_csv_row, err);
}

psr_status psr_accel_write_json(psr_outfile *f, const struct psr_accel_list *list, const char *file,
                                psr_err *err)
{
    return write_rows(f, list, file, put_json_row, err);
}

/* --- the text file: candidates, their harmonics, the .inf ------------------------------------- */

/* Formats a value with its error in parentheses, as PRESTO does. */

static const double EPS = 1e-14;

/* What both forms are made from. */
struct rounded {
    int err_exp, err; /* the error is err x 10^(err_exp - digits + 1) */
    double value;     /* to the place of the error's last digit */
    int exp;          /* of value */
    double mantissa;  /* value / 10^exp, signed */
};

static int decimal_exponent(double x)
{
    return x == 0 ? 0 : (int)floor(log10(fabs(x)));
}

static struct rounded round_to_error(double value, double error, int digits)
{
    struct rounded r = {.err_exp = decimal_exponent(error)};
    int limit = digits == 1 ? 10 : 100;
    r.err = (int)floor(fabs(error) * pow(10, digits - 1 - r.err_exp) + EPS + 0.5);
    if (r.err == limit) {
        r.err = limit / 10;
        r.err_exp++;
    }
    int place = r.err_exp - (digits - 1);
    r.value = pow(10, place) * floor(value * pow(10, -place) + 0.5);
    r.exp = decimal_exponent(r.value);
    r.mantissa = r.value * pow(10, -r.exp);
    return r;
}

/* Digits in front of the point that log10 counts. */
static int whole_digits(double value)
{
    int n = value == 0 ? 1 : (int)ceil(log10(fabs(value)));
    return n == 0 ? 1 : n;
}

static int at_least_0(int n)
{
    return n < 0 ? 0 : n;
}

/* Values below 1e-4. */
static void format_2_small(char *text, const struct rounded *r)
{
    const int X = r->exp, decimals = X - r->err_exp + 1, e = r->err;
    if (decimals >= 2)
        psr_c_locale_snprintf(text, PSR_UNCERTAINTY_MAX, "% .*f(%.2d)x10^%d", decimals, r->mantissa,
                              e, X);
    else if (decimals == 0)
        psr_c_locale_snprintf(text, PSR_UNCERTAINTY_MAX, "% .1f(%d.%d)x10^%d", r->mantissa / 10,
                              e / 10, e % 10, X + 1);
    else
        psr_c_locale_snprintf(text, PSR_UNCERTAINTY_MAX, "% .1f(%d.%d)x10^%d", r->mantissa, e / 10,
                              e % 10, X);
}

/* Errors of less than 1. */
static void format_2_fraction(char *text, const struct rounded *r)
{
    const int E = r->err_exp, e = r->err;
    /* What is 0 to all digits has no sign. */
    double value = fabs(r->value) * pow(10, 1 - E) < 0.1 ? fabs(r->value) : r->value;
    if (fabs(value) <= EPS && E < -4)
        psr_c_locale_snprintf(text, PSR_UNCERTAINTY_MAX, "0.0(%d.%d)x10^%d", e / 10, e % 10, E);
    else
        psr_c_locale_snprintf(text, PSR_UNCERTAINTY_MAX, "% .*f(%.2d)", 1 - E, value, e);
}

/* Errors of 10 and more. */
static void format_2_large(char *text, const struct rounded *r)
{
    const int X = r->exp, E = r->err_exp, e = r->err;
    double m = r->mantissa;
    if (X == E && E > 1) {
        psr_c_locale_snprintf(text, PSR_UNCERTAINTY_MAX, "% .1f(%d.%d)x10^%d", m, e / 10, e % 10,
                              E);
    } else if (E - X == 1) {
        m = fabs(m) < 1 - EPS ? fabs(m) : m;
        psr_c_locale_snprintf(text, PSR_UNCERTAINTY_MAX, "% .1f(%d.%d)x10^%d", m / 10, e / 10,
                              e % 10, E);
    } else if (E > 1 && X > E) {
        psr_c_locale_snprintf(text, PSR_UNCERTAINTY_MAX, "% .*f(%.2d)x10^%d", X - E + 1, m, e, X);
    } else {
        psr_c_locale_snprintf(text, PSR_UNCERTAINTY_MAX, "% lld(%.2d)", (long long)r->value, e);
    }
}

void psr_format_uncertainty(char text[PSR_UNCERTAINTY_MAX], double value, double error, int digits)
{
    static const double MOST = 1e15; /* whole numbers beyond it are none */
    if (!(fabs(value) <= MOST) || !(fabs(error) <= MOST)) {
        bool finite = isfinite(value) && isfinite(error);
        psr_c_locale_snprintf(text, PSR_UNCERTAINTY_MAX, finite ? "% .6g(%.1g)" : " nan", value,
                              error);
    } else if (digits == 1) {
        const struct rounded r = round_to_error(value, error, 1);
        const int X = r.exp, E = r.err_exp;
        int precision = whole_digits(value) - E + (fabs(fabs(r.mantissa) - 1) < EPS);
        double m = copysign(r.mantissa, r.value < 0 ? -1.0 : 1.0);
        if ((X >= 0 && E > 0 && X > E) || (X < -4 && X >= E))
            psr_c_locale_snprintf(text, PSR_UNCERTAINTY_MAX, "% .*f(%d)x10^%d",
                                  at_least_0(precision - 1), m, r.err, X);
        else if (X >= 0 && E > 0 && X == E)
            psr_c_locale_snprintf(text, PSR_UNCERTAINTY_MAX, "% lld(%d)x10^%d", (long long)m, r.err,
                                  X);
        else if (X < E && E != 0)
            psr_c_locale_snprintf(text, PSR_UNCERTAINTY_MAX, "% lld(%d)x10^%d",
                                  (long long)(m + EPS), r.err, E);
        else if (E == 0 && fabs(r.value) < 1e-15)
            psr_c_locale_snprintf(text, PSR_UNCERTAINTY_MAX, "% d(%d)", 0, r.err);
        else if (fabs(r.value) <= EPS && E < -5)
            psr_c_locale_snprintf(text, PSR_UNCERTAINTY_MAX, "0.0(%d)x10^%d", r.err, E + 1);
        else
            psr_c_locale_snprintf(text, PSR_UNCERTAINTY_MAX, "% .*f(%d)", at_least_0(-E), r.value,
                                  r.err);
    } else {
        const struct rounded r = round_to_error(value, error, 2);
        const int E = r.err_exp;
        if (r.exp < -4)
            format_2_small(text, &r);
        else if (E - decimal_exponent(value) > 1 && E != 0 && E != 1)
            psr_c_locale_snprintf(text, PSR_UNCERTAINTY_MAX, "0.0(%d.%d)x10^%d", r.err / 10,
                                  r.err % 10, E);
        else if (E == 0)
            psr_c_locale_snprintf(text, PSR_UNCERTAINTY_MAX, "% .1f(%d.%d)",
                                  fabs(r.value) < 0.1 ? fabs(r.value) : r.value, r.err / 10,
                                  r.err % 10);
        else if (E < 0)
            format_2_fraction(text, &r);
        else
            format_2_large(text, &r);
    }
}

enum { CELL_MAX = 80 };

/* A row of either table. */
struct row {
    const struct psr_accel_list *list;
    size_t i;  /* candidate */
    int h;     /* harmonic, from 0 */
    size_t at; /* the number to print, in the struct of its candidate or harmonic */
};

struct column {
    int width;
    const char *title[2];
    bool jerk; /* stands in lists with w only */
    void (*print)(char *cell, const struct row *row);
    size_t at; /* for row */
};

static const struct psr_accel_cand *cand_of(const struct row *row)
{
    return &row->list->cand[row->i];
}

static const struct psr_accel_harm *harm_of(const struct row *row)
{
    return &cand_of(row)->harm[row->h];
}

static void print_value(char *cell, struct psr_accel_value v, int digits)
{
    psr_format_uncertainty(cell, v.value, v.error, digits);
}

/* Errors that end in a 5 are rounded as accelsearch rounds them only where they come of the same
 * operations: in single precision. */
static struct psr_accel_value divide(struct psr_accel_value v, double divisor)
{
    return (struct psr_accel_value){v.value / divisor, (double)(float)(v.error / divisor)};
}

static void print_number(char *cell, const struct row *row)
{
    psr_c_locale_snprintf(cell, CELL_MAX, "%-4zu", row->i + 1);
}

static void print_cand_number(char *cell, const struct row *row)
{
    const void *number = (const char *)cand_of(row) + row->at;
    psr_c_locale_snprintf(cell, CELL_MAX, "%.2f", *(const double *)number);
}

static void print_nharm(char *cell, const struct row *row)
{
    psr_c_locale_snprintf(cell, CELL_MAX, "%d", cand_of(row)->nharm);
}

static void print_period(char *cell, const struct row *row)
{
    const struct psr_accel_value *r = &cand_of(row)->r;
    const double t = row->list->tobs_s,
                 error = (double)(float)(t * r->error / (r->value * r->value));
    psr_format_uncertainty(cell, t / r->value * 1000, error * 1000, 1);
}

static void print_frequency(char *cell, const struct row *row)
{
    print_value(cell, divide(cand_of(row)->r, row->list->tobs_s), 1);
}

static const struct psr_accel_value *cand_value(const struct row *row)
{
    return (const void *)((const char *)cand_of(row) + row->at);
}

static void print_cand_bins(char *cell, const struct row *row)
{
    /* ACCEL_sift.py reads only what precedes the bracket.  Errors of 100 bins and drifts below 1e-4, which
     * accelsearch does not have, therefore get no power of ten. */
    struct psr_accel_value v = *cand_value(row);
    psr_format_uncertainty(cell, v.value, v.error, 2);
    if (!strchr(cell, 'x') || !(fabs(v.value) > 0))
        return;
    int exponent = v.error > 0 ? (int)floor(log10(v.error)) : 0;
    if (exponent >= 0)
        psr_c_locale_snprintf(cell, CELL_MAX, "% .0f(%.0f)", v.value, v.error);
    else
        psr_c_locale_snprintf(cell, CELL_MAX, "% .*f(%.0f)", 1 - exponent, v.value,
                              v.error * pow(10, 1 - exponent));
}

static void print_fdot(char *cell, const struct row *row)
{
    print_value(cell, divide(cand_of(row)->z, row->list->tobs_s * row->list->tobs_s), 1);
}

static void print_w(char *cell, const struct row *row)
{
    print_value(cell, cand_of(row)->w, 2);
}

static void print_accel(char *cell, const struct row *row)
{
    const double t = row->list->tobs_s, divisor = t * t * (cand_of(row)->r.value / t);
    const struct psr_accel_value *z = &cand_of(row)->z;
    psr_format_uncertainty(cell, z->value * PSR_LIGHT_M_S / divisor,
                           z->error * PSR_LIGHT_M_S / divisor, 2);
}

#define CAND(member) offsetof(struct psr_accel_cand, member)
#define HARM(member) offsetof(struct psr_accel_harm, member)

static const struct column candidates[] = {
    {4, {"", "Cand"}, false, print_number, 0},
    {5, {"", "Sigma"}, false, print_cand_number, CAND(sigma)},
    {6, {"Summed", "Power"}, false, print_cand_number, CAND(power)},
    {8, {"Coherent", "Power"}, false, print_cand_number, CAND(coherent)},
    {4, {"Num", "Harm"}, false, print_nharm, 0},
    {16, {"Period", "(ms)"}, false, print_period, 0},
    {15, {"Frequency", "(Hz)"}, false, print_frequency, 0},
    {15, {"FFT 'r'", "(bin)"}, false, print_cand_bins, CAND(r)},
    {15, {"Freq Deriv", "(Hz/s)"}, false, print_fdot, 0},
    {11, {"FFT 'z'", "(bins)"}, false, print_cand_bins, CAND(z)},
    {11, {"FFT 'w'", "(bins)"}, true, print_w, 0},
    {15, {"Accel", "(m/s^2)"}, false, print_accel, 0},
    {20, {"", "Notes"}, false, NULL, 0},
};

static void print_predicted(char *cell, const struct row *row)
{
    psr_c_locale_snprintf(cell, CELL_MAX, "%.2f", cand_value(row)->value * (row->h + 1));
}

static void print_harm_value(char *cell, const struct row *row)
{
    const void *value = (const char *)harm_of(row) + row->at;
    print_value(cell, *(const struct psr_accel_value *)value, 2);
}

static void print_harm_cand(char *cell, const struct row *row)
{
    if (row->h == 0)
        psr_c_locale_snprintf(cell, CELL_MAX, " %-4zu", row->i + 1);
    else
        strcpy(cell, "     ");
}

static void print_harm_number(char *cell, const struct row *row)
{
    psr_c_locale_snprintf(cell, CELL_MAX, "%-4d", row->h + 1);
}

static void print_harm_sigma(char *cell, const struct row *row)
{
    psr_c_locale_snprintf(cell, CELL_MAX, "%.2f", harm_of(row)->sigma);
}

static void print_raw(char *cell, const struct row *row)
{
    psr_c_locale_snprintf(cell, CELL_MAX, "%.3g", harm_of(row)->raw);
}

static const struct column harmonics[] = {
    {5, {"", "Cand"}, false, print_harm_cand, 0},
    {4, {"", "Harm"}, false, print_harm_number, 0},
    {5, {"", "Sigma"}, false, print_harm_sigma, 0},
    {15, {"Power /", "Loc Pow"}, false, print_harm_value, HARM(power)},
    {11, {"Raw", "Power"}, false, print_raw, 0},
    {18, {"FFT 'r'", "(bin)"}, false, print_harm_value, HARM(r)},
    {13, {"Pred 'r'", "(bin)"}, false, print_predicted, CAND(r)},
    {12, {"FFT 'z'", "(bins)"}, false, print_harm_value, HARM(z)},
    {9, {"Pred 'z'", "(bins)"}, false, print_predicted, CAND(z)},
    {12, {"FFT 'w'", "(bins)"}, true, print_harm_value, HARM(w)},
    {9, {"Pred 'w'", "(bins)"}, true, print_predicted, CAND(w)},
    {12, {"Phase", "(rad)"}, false, print_harm_value, HARM(phase_rad)},
    {10, {"Centroid", "(0-1)"}, false, print_harm_value, HARM(centroid)},
    {10, {"Purity", "<p> = 1"}, false, print_harm_value, HARM(purity)},
    {20, {"", "Notes"}, false, NULL, 0},
};

struct table {
    const struct column *column;
    size_t n;
};

static const struct table fundamentals_table = {candidates, sizeof candidates / sizeof *candidates};
static const struct table harmonics_table = {harmonics, sizeof harmonics / sizeof *harmonics};

/* Centred in width, and cut to it. */
static void put_centred(psr_outfile *f, const char *text, int width, const char *end)
{
    int n = (int)strlen(text);
    n = n > width ? width : n;
    int left = (width - n) / 2;
    psr_outfile_put(f, "%*s%.*s%*s%s", left, "", n, text, width - n - left, "", end);
}

static void put_header(psr_outfile *f, const struct table *t, bool jerk)
{
    for (int line = 0; line < 2; line++)
        for (size_t c = 0; c < t->n; c++)
            if (jerk || !t->column[c].jerk)
                put_centred(f, t->column[c].title[line], t->column[c].width,
                            c + 1 < t->n ? "  " : "\n");
    for (size_t c = 0; c < t->n; c++) {
        static const char dashes[] = "--------------------------------";
        int n = t->column[c].width + (c + 1 < t->n ? 2 : 0);
        if (jerk || !t->column[c].jerk)
            psr_outfile_put(f, "%.*s%s", n, dashes, c + 1 < t->n ? "" : "\n");
    }
}

/* Two more blanks precede the notes; empty notes are 20 blanks in the first table, 19 in the second. */
static void put_row(psr_outfile *f, const struct table *t, const struct row *row, const char *note)
{
    for (size_t c = 0; c + 1 < t->n; c++) {
        char cell[CELL_MAX];
        if (t->column[c].jerk && !row->list->jerk)
            continue;
        struct row r = *row;
        r.at = t->column[c].at;
        t->column[c].print(cell, &r);
        put_centred(f, cell, t->column[c].width, "  ");
    }
    psr_outfile_put(f, "  %.20s\n", note);
}

static psr_status write_inf(psr_outfile *f, const char *inf_path, psr_err *err)
{
    char *text;
    size_t n;
    psr_status st = psr_read_file(inf_path, PSR_INF_MAX_BYTES, &text, &n, err);
    if (st == PSR_OK)
        st = psr_outfile_write(f, text, n, err);
    free(text);
    return st;
}

psr_status psr_accel_write(psr_outfile *f, const struct psr_accel_list *list, const char *inf_path,
                           psr_err *err)
{
    static const char no_note[] = "                    ";
    struct row row = {.list = list};
    put_header(f, &fundamentals_table, list->jerk);
    for (row.i = 0; row.i < list->ncand; row.i++)
        put_row(f, &fundamentals_table, &row,
                *list->cand[row.i].note ? list->cand[row.i].note : &no_note[0]);
    psr_outfile_put(f, "\n\n");
    put_header(f, &harmonics_table, list->jerk);
    for (row.i = 0; row.i < list->ncand; row.i++)
        for (row.h = 0; row.h < list->cand[row.i].nharm; row.h++)
            put_row(f, &harmonics_table, &row, &no_note[1]);
    psr_status st = psr_outfile_printf(f, err, "\n\n");
    return st == PSR_OK && inf_path ? write_inf(f, inf_path, err) : st;
}
