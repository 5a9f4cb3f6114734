/* Writes accelsearch's .cand records and .txtcand lines, and candidates as comma-separated values and as JSON. */
#include "base/output/outfile_internal.h"
#include "base/tool.h"
#include "formats/spectra/header_keys.h"
#include "search/matched/response/accel_internal.h"
#include <psrkit/experimental/accel.h>
#include <psrkit/obs.h>

#include <math.h>
#include <string.h>

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
