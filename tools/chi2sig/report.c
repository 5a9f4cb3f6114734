/* Prints rows of output, and the text around them. */
#include "chi2sig.h"

#include "fast_number_io.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More than one row can take: every column's name, number and punctuation. */
enum { ROW_MAX = COLUMN_COUNT * (NUMTEXT_MAX + 24) };

static const char *const column_name[COLUMN_COUNT] = {
    [COLUMN_POWER] = "power",
    [COLUMN_DOF] = "dof",
    [COLUMN_LN_P] = "ln_p",
    [COLUMN_LOG10_P] = "log10_p",
    [COLUMN_LN_1MP] = "ln_1mp",
    [COLUMN_SIGMA] = "sigma",
    [COLUMN_LISTED_SIGMA] = "listed_sigma",
    [COLUMN_POLY_LN_P] = "poly_ln_p",
    [COLUMN_POLY_ERROR] = "poly_error",
    [COLUMN_POLY_HOLDS] = "poly_holds",
};

/* Whether the polynomial is within 2 % counts as holding. */
static void evaluate_polynomial(const struct chi2sig_row *row, double ln_p, double *value)
{
    double poly = psr_pulscan_logp(row->power, row->dof);
    value[COLUMN_POLY_LN_P] = poly;
    value[COLUMN_POLY_ERROR] = poly - ln_p;
    value[COLUMN_POLY_HOLDS] = fabs(poly - ln_p) <= 0.02 * fabs(ln_p);
}

static void evaluate(const struct chi2sig_job *job, const struct chi2sig_row *row, double *value)
{
    struct psr_logp one = psr_chi2_logp(row->power, row->dof);
    struct psr_logp p = psr_logp_trials(one, job->ntrials, job->how);
    value[COLUMN_POWER] = row->power;
    value[COLUMN_DOF] = row->dof;
    value[COLUMN_LN_P] = p.ln_sf;
    value[COLUMN_LOG10_P] = p.ln_sf * 0.43429448190325182765;
    value[COLUMN_LN_1MP] = p.ln_cdf;
    value[COLUMN_SIGMA] = job->column[COLUMN_SIGMA] ? psr_gauss_sigma(p) : 0;
    value[COLUMN_LISTED_SIGMA] = row->listed_sigma;
    if (job->column[COLUMN_POLY_LN_P])
        evaluate_polynomial(row, one.ln_sf, value);
}

static bool make_room(struct chi2sig_text *out)
{
    if (out->room - out->used >= ROW_MAX)
        return true;
    size_t room = 2 * out->room + 4 * ROW_MAX;
    char *grown = out->nomem ? NULL : realloc(out->data, room);
    if (!grown) {
        out->nomem = true;
        return false;
    }
    out->data = grown;
    out->room = room;
    return true;
}

static char *put_text(char *p, const char *text)
{
    size_t n = strlen(text);
    memcpy(p, text, n);
    return p + n;
}

/* One number, in JSON with its name and null for what JSON cannot say. */
static char *put_value(char *p, enum chi2sig_format format, size_t column, double value)
{
    if (format == FORMAT_JSON) {
        *p++ = '"';
        p = put_text(p, column_name[column]);
        p = put_text(p, "\": ");
        if (!isfinite(value))
            return put_text(p, "null");
    }
    return p + fast_number_put(p, value);
}

void chi2sig_add_row(const struct chi2sig_job *job, const struct chi2sig_row *row,
                     struct chi2sig_text *out)
{
    static const char *const begin[] = {"", "", ",\n {"}, *const between[] = {" ", ",", ", "},
                             *const end[] = {"\n", "\n", "}"};
    struct chi2sig_row found = *row;
    double value[COLUMN_COUNT];
    if (job->inverse)
        found.power = psr_chi2_threshold(job->target, row->dof);
    evaluate(job, &found, value);
    if (!make_room(out))
        return;
    char *p = put_text(out->data + out->used, begin[job->format]);
    bool first = true;
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        if (!job->column[i])
            continue;
        if (!first)
            p = put_text(p, between[job->format]);
        p = put_value(p, job->format, i, value[i]);
        first = false;
    }
    p = put_text(p, end[job->format]);
    out->used = (size_t)(p - out->data);
}

void chi2sig_print_head(const struct chi2sig_job *job)
{
    bool bare = !job->column[COLUMN_POWER]; /* -gauss: for scripts */
    if (job->format == FORMAT_JSON)
        putchar('[');
    if (job->format == FORMAT_JSON || (job->format == FORMAT_TEXT && bare))
        return;
    const char *before = job->format == FORMAT_TEXT ? "# " : "";
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        if (!job->column[i])
            continue;
        printf("%s%s", before, column_name[i]);
        before = job->format == FORMAT_TEXT ? " " : ",";
    }
    putchar('\n');
}

void chi2sig_print_tail(const struct chi2sig_job *job)
{
    if (job->format == FORMAT_JSON)
        fputs("\n]\n", stdout);
}

psr_status chi2sig_write(const struct chi2sig_job *job, struct chi2sig_text *out, int64_t *nwrite,
                         psr_err *err)
{
    if (out->nomem)
        return psr_fail_nomem(err, "rows of output", (double)out->room);
    if (out->used == 0)
        return PSR_OK;
    /* Every JSON record begins with the comma that parts it from the one before. */
    size_t skip = job->format == FORMAT_JSON && *nwrite == 0;
    ++*nwrite;
    size_t n = out->used - skip;
    out->used = 0;
    if (fwrite(out->data + skip, 1, n, stdout) != n)
        return psr_fail_errno(err, "standard output");
    return PSR_OK;
}
