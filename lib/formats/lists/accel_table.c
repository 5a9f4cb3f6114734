/* Writes candidates as comma-separated values and as JSON, one per line. */
#include <psrkit/experimental/accel.h>

#include "formats/spectra/text_table.h"

#include <psrkit/obs.h>

#include "base/tool.h"
#include <math.h>
#include <string.h>

enum { NFIELD = 23 };

static const char *const names[NFIELD] = {
    "cand",    "sigma",       "ln_p",   "power",     "dof",       "coherent",
    "numharm", "r",           "r_err",  "z",         "z_err",     "period_s",
    "freq_hz", "freq_err_hz", "fdot",   "accel_ms2", "box_first", "box_width",
    "members", "sign_known",  "tobs_s", "w",         "w_err",
};

static void list_values(const struct psr_accel_list *list, size_t i, double v[NFIELD])
{
    const struct psr_accel_cand *c = &list->cand[i];
    double t = list->tobs_s, hz = c->r.value / t, fdot = c->z.value / (t * t);
    const double all[NFIELD] = {
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
    memcpy(v, all, sizeof all);
}

psr_status psr_accel_write_csv_header(psr_outfile *f, psr_err *err)
{
    psr_status st = psr_outfile_printf(f, err, "file");
    for (size_t k = 0; k < NFIELD && st == PSR_OK; k++)
        st = psr_outfile_printf(f, err, ",%s", names[k]);
    return st == PSR_OK ? psr_outfile_printf(f, err, "\n") : st;
}

static psr_status write_csv_row(psr_outfile *f, const char *file, const double v[NFIELD],
                                psr_err *err)
{
    psr_status st = psr_csv_write_text(f, file, err);
    for (size_t k = 0; k < NFIELD && st == PSR_OK; k++)
        st = isfinite(v[k]) ? psr_outfile_printf(f, err, ",%.10g", v[k])
                            : psr_outfile_printf(f, err, ",");
    return st == PSR_OK ? psr_outfile_printf(f, err, "\n") : st;
}

static psr_status write_json_row(psr_outfile *f, const char *file, const double v[NFIELD],
                                 psr_err *err)
{
    struct psr_json_output to = {f, err, PSR_OK};
    struct psr_json j = {.put = psr_json_put, .ctx = &to};
    psr_json_begin(&j, NULL, PSR_JSON_OBJECT);
    psr_json_string(&j, "file", file);
    for (size_t k = 0; k < NFIELD; k++)
        psr_json_double(&j, names[k], v[k]);
    psr_json_end(&j, PSR_JSON_OBJECT);
    psr_json_put(&to, "\n", 1);
    return to.status;
}

static psr_status write_rows(psr_outfile *f, const struct psr_accel_list *list, const char *file,
                             psr_status (*write_row)(psr_outfile *f, const char *file,
                                                     const double v[NFIELD], psr_err *err),
                             psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t i = 0; i < list->ncand && st == PSR_OK; i++) {
        double v[NFIELD];
        list_values(list, i, v);
        st = write_row(f, file, v, err);
    }
    return st;
}

psr_status psr_accel_write_csv(psr_outfile *f, const struct psr_accel_list *list, const char *file,
                               psr_err *err)
{
    return write_rows(f, list, file, write_csv_row, err);
}

psr_status psr_accel_write_json(psr_outfile *f, const struct psr_accel_list *list, const char *file,
                                psr_err *err)
{
    return write_rows(f, list, file, write_json_row, err);
}
