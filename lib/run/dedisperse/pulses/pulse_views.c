/* Writes the pictures of pulses, a line of JSON each. */
#include "pulse_parts.h"

#include "formats/spectra/header_keys.h"
#include "search/singlepulse/singlepulse_internal.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void find_limits(const struct psr_pulse_picture *p, double *low, double *high)
{
    *low = INFINITY;
    *high = -INFINITY;
    for (size_t i = 0; i < p->nt * p->nf; i++)
        if (!isnan(p->value[i])) {
            *low = fmin(*low, (double)p->value[i]);
            *high = fmax(*high, (double)p->value[i]);
        }
    if (!(*low < *high)) {
        *low = *low < INFINITY ? *low - 1 : 0;
        *high = *low + 1;
    }
}

/* --- frequencies ------------------------------------------------------------------------------ */

enum { ROWS_MAX = 64 };

/* Rows of a picture at even distances; value is NULL where they are its own. */
struct rows {
    double first_mhz, row_mhz; /* edge of the first, and width, which may be negative */
    size_t n;
    float *value; /* [n][columns] owned */
};

static size_t nearest_channel(const struct psr_obs *obs, double mhz)
{
    size_t best = 0;
    for (size_t c = 1; c < obs->nchan; c++)
        if (fabs(psr_obs_freq_mhz(obs, c) - mhz) < fabs(psr_obs_freq_mhz(obs, best) - mhz))
            best = c;
    return best;
}

/* A band with gaps: rows where there is no channel stay empty. */
static psr_status spread_rows(struct rows *rows, const struct psr_pulse_picture *p,
                              const struct psr_obs *obs, const struct psr_obs_band *band,
                              psr_err *err)
{
    const double span_mhz = band->highest_mhz - band->lowest_mhz + band->chan_mhz;
    rows->n = (size_t)fmin(ROWS_MAX, ceil(span_mhz / band->chan_mhz));
    rows->first_mhz = band->lowest_mhz - band->chan_mhz / 2;
    rows->row_mhz = span_mhz / (double)rows->n;
    rows->value = malloc(rows->n * p->nt * sizeof *rows->value);
    if (!rows->value)
        return psr_fail_nomem(err, "the picture of a pulse", (double)rows->n * (double)p->nt * 4);
    for (size_t r = 0; r < rows->n; r++) {
        const double mhz = rows->first_mhz + ((double)r + 0.5) * rows->row_mhz;
        const size_t c = nearest_channel(obs, mhz);
        const bool has = fabs(psr_obs_freq_mhz(obs, c) - mhz) <=
                         fmax(rows->row_mhz, band->chan_mhz) * (0.5 + 1e-9);
        for (size_t k = 0; k < p->nt; k++)
            rows->value[r * p->nt + k] = has ? p->value[c / p->nrow_chan * p->nt + k] : NAN;
    }
    return PSR_OK;
}

static psr_status find_rows(struct rows *rows, const struct psr_pulse_picture *p,
                            const struct psr_obs *obs, psr_err *err)
{
    const struct psr_obs_band band = psr_obs_band(obs);
    const double step_mhz = band.rising ? band.spacing_mhz : -band.spacing_mhz;
    *rows = (struct rows){.first_mhz = psr_obs_freq_mhz(obs, 0) - step_mhz / 2,
                          .row_mhz = (double)p->nrow_chan * step_mhz,
                          .n = p->nf};
    return band.even || p->nf == 1 ? PSR_OK : spread_rows(rows, p, obs, &band, err);
}

/* --- lines ------------------------------------------------------------------------------------ */

static psr_status put_picture(struct psr_json *j, const char *name,
                              const struct psr_pulse_picture *p,
                              const struct psr_pulse_view_place *at, psr_err *err)
{
    const struct psr_obs *obs = at->obs;
    struct psr_pulse_picture shown = *p;
    struct rows rows;
    double low, high;
    psr_status st = find_rows(&rows, p, obs, err);
    if (st)
        return st;
    shown.nf = rows.n;
    shown.value = rows.value ? rows.value : p->value;
    find_limits(&shown, &low, &high);
    /* Cells are 01 (at low) to ff (at high); 00: no data. */
    const size_t n = shown.nt * shown.nf;
    char *cells = malloc(2 * n + 1);
    for (size_t i = 0; i < n && cells; i++) {
        const double x = (double)shown.value[i];
        const double share = fmin(fmax((x - low) / (high - low), 0), 1);
        snprintf(cells + 2 * i, 3, "%02x", isnan(x) ? 0U : 1U + (unsigned)lrint(254 * share));
    }
    free(rows.value);
    if (!cells)
        return psr_fail_nomem(err, "the picture of a pulse", 2 * (double)p->nt * (double)rows.n);
    psr_json_begin(j, name, PSR_JSON_OBJECT);
    psr_json_double(j, "start_s", ((double)(p->first - at->first) - at->width / 2) * obs->tsamp_s);
    psr_json_double(j, "step_s", (double)p->step * obs->tsamp_s);
    psr_json_double(j, "first_mhz", rows.first_mhz);
    psr_json_double(j, "row_mhz", rows.row_mhz);
    psr_json_int(j, "columns", (int64_t)p->nt);
    psr_json_int(j, "rows", (int64_t)rows.n);
    psr_json_double(j, "low", low);
    psr_json_double(j, "high", high);
    psr_json_string(j, "cells", cells);
    psr_json_end(j, PSR_JSON_OBJECT);
    free(cells);
    return PSR_OK;
}

psr_status psr_pulse_view_write(psr_outfile *f, const psr_pulse_view *view,
                                const struct psr_pulse_view_place *at, psr_err *err)
{
    struct psr_json j = {.put = psr_json_put, .ctx = f};
    struct psr_pulse_picture aligned, swept, series;
    psr_pulse_view_pictures(view, &aligned, &swept, &series);
    psr_json_begin(&j, NULL, PSR_JSON_OBJECT);
    psr_json_double(&j, "time_s", at->time_s);
    psr_json_double(&j, "dm", at->dm);
    psr_json_double(&j, "snr", at->snr);
    psr_json_double(&j, "width_s", at->width * at->obs->tsamp_s);
    psr_status st = put_picture(&j, "series", &series, at, err);
    if (!st)
        st = put_picture(&j, "aligned", &aligned, at, err);
    if (!st)
        st = put_picture(&j, "swept", &swept, at, err);
    psr_json_end(&j, PSR_JSON_OBJECT);
    return st ? st : psr_outfile_printf(f, err, "\n");
}
