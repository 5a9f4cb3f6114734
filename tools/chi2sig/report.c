/* Prints rows of output, and the text around them. */
#include "chi2sig.h"

#include "base/tool.h"
#include "tools/common/cli.h"
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

static void put_bytes(void *ctx, const char *bytes, size_t n)
{
    struct chi2sig_text *out = ctx;
    memcpy(out->data + out->used, bytes, n);
    out->used += n;
}

static void put_text_row(const struct chi2sig_job *job, const double *value,
                         struct chi2sig_text *out)
{
    const char between = job->format == FORMAT_CSV ? ',' : ' ';
    char *p = out->data + out->used;
    bool first = true;
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        if (!job->column[i])
            continue;
        if (!first)
            *p++ = between;
        p += fast_number_put(p, value[i]);
        first = false;
    }
    *p++ = '\n';
    out->used = (size_t)(p - out->data);
}

void chi2sig_add_row(const struct chi2sig_job *job, const struct chi2sig_row *row,
                     struct chi2sig_text *out)
{
    struct chi2sig_row found = *row;
    double value[COLUMN_COUNT];
    if (job->inverse)
        found.power = psr_chi2_threshold(job->target, row->dof);
    struct psr_logp one = psr_chi2_logp(found.power, found.dof);
    struct psr_logp p = psr_logp_trials(one, job->ntrials, job->how);
    value[COLUMN_POWER] = found.power;
    value[COLUMN_DOF] = found.dof;
    value[COLUMN_LN_P] = p.ln_sf;
    value[COLUMN_LOG10_P] = p.ln_sf * 0.43429448190325182765;
    value[COLUMN_LN_1MP] = p.ln_cdf;
    value[COLUMN_SIGMA] = job->column[COLUMN_SIGMA] ? psr_gauss_sigma(p) : 0;
    value[COLUMN_LISTED_SIGMA] = found.listed_sigma;
    if (job->column[COLUMN_POLY_LN_P]) {
        /* Whether the polynomial is within 2 % counts as holding. */
        const double ln_p = one.ln_sf;
        double poly = psr_pulscan_logp(found.power, found.dof);
        value[COLUMN_POLY_LN_P] = poly;
        value[COLUMN_POLY_ERROR] = poly - ln_p;
        value[COLUMN_POLY_HOLDS] = fabs(poly - ln_p) <= 0.02 * fabs(ln_p);
    }
    if (!make_room(out))
        return;
    if (job->format == FORMAT_JSON) {
        /* Every record but the first follows another; chi2sig_write drops the comma of the first. */
        struct psr_json j = {.put = put_bytes, .ctx = out, .after_value = true};
        psr_json_new_line(&j, 1);
        psr_json_begin(&j, NULL, PSR_JSON_OBJECT);
        for (size_t i = 0; i < COLUMN_COUNT; i++) {
            char digits[NUMTEXT_MAX];
            if (job->column[i] && isfinite(value[i]))
                psr_json_digits(&j, column_name[i], digits, fast_number_put(digits, value[i]));
            else if (job->column[i])
                psr_json_double(&j, column_name[i], value[i]);
        }
        psr_json_end(&j, PSR_JSON_OBJECT);
    } else
        put_text_row(job, value, out);
}

void chi2sig_print_head(const struct chi2sig_job *job)
{
    bool bare = !job->column[COLUMN_POWER]; /* -gauss: for scripts */
    if (job->format == FORMAT_JSON) {
        struct psr_json j = {.put = cli_put_json, .ctx = stdout};
        psr_json_begin(&j, NULL, PSR_JSON_ARRAY);
    }
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
    struct psr_json j = {.put = cli_put_json, .ctx = stdout, .after_value = true};
    if (job->format != FORMAT_JSON)
        return;
    psr_json_new_line(&j, 0);
    psr_json_end(&j, PSR_JSON_ARRAY);
    putchar('\n');
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
