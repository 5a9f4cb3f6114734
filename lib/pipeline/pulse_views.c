/* Writes the pictures of pulses, a line of JSON each. */
#include "pulse_views.h"

#include "formats/row_output.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Cells are 01 (at low) to ff (at high); 00: no data. */
static char *encode(const struct psr_pulse_picture *p, double low, double high)
{
    const size_t n = p->nt * p->nf;
    char *text = malloc(2 * n + 1);
    for (size_t i = 0; i < n && text; i++) {
        const double x = (double)p->value[i];
        const double share = fmin(fmax((x - low) / (high - low), 0), 1);
        snprintf(text + 2 * i, 3, "%02x", isnan(x) ? 0U : 1U + (unsigned)lrint(254 * share));
    }
    return text;
}

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

static psr_status put_picture(struct psr_json *j, const char *name,
                              const struct psr_pulse_picture *p,
                              const struct psr_pulse_view_place *at, psr_err *err)
{
    double low, high;
    find_limits(p, &low, &high);
    char *cells = encode(p, low, high);
    if (!cells)
        return psr_fail_nomem(err, "the picture of a pulse", 2 * (double)p->nt * (double)p->nf);
    const struct psr_obs *obs = at->obs;
    const double first_mhz = psr_obs_freq_mhz(obs, 0), half = obs->foff_mhz / 2;
    psr_json_begin(j, name, PSR_JSON_OBJECT);
    psr_json_double(j, "start_s", ((double)(p->first - at->first) - at->width / 2) * obs->tsamp_s);
    psr_json_double(j, "step_s", (double)p->step * obs->tsamp_s);
    psr_json_double(j, "first_mhz", first_mhz - half);
    psr_json_double(j, "row_mhz", (double)p->nrow_chan * obs->foff_mhz);
    psr_json_int(j, "columns", (int64_t)p->nt);
    psr_json_int(j, "rows", (int64_t)p->nf);
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
    struct psr_json_output to = {f, err, PSR_OK};
    struct psr_json j = {.put = psr_json_put, .ctx = &to};
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
    psr_json_put(&to, "\n", 1);
    return st ? st : to.status;
}
