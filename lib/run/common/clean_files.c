/* Writes what automatic cleaning removed: as JSON, and as a mask in PRESTO's layout. */
#include "clean_files.h"

#include "base/tool.h"
#include "rfi/rules/clean_internal.h"
#include <stdio.h>
#include <stdlib.h>

enum { NAME_BYTES = 4096 };

/* Thresholds of psr_clean_auto, for the mask's header. */
static const double limit = 5;

enum file { JSON, MASK, STATS, NFILE };
static const char *const ending[NFILE] = {"json", "mask", "stats"};

static void name_file(char name[NAME_BYTES], const char *root, enum file k)
{
    snprintf(name, NAME_BYTES, "%s.clean.%s", root, ending[k]);
}

psr_status psr_clean_files_names(const char *root,
                                 psr_status (*check)(void *ctx, const char *name, psr_err *err),
                                 void *ctx, psr_err *err)
{
    char name[NAME_BYTES];
    psr_status st = PSR_OK;
    for (enum file k = JSON; k < NFILE && !st; k++) {
        name_file(name, root, k);
        st = check(ctx, name, err);
    }
    return st;
}

/* --- JSON ------------------------------------------------------------------------------------- */

struct json_file {
    psr_outfile *f;
    psr_err *err;
    psr_status st;
};

static void put_text(void *ctx, const char *bytes, size_t n)
{
    struct json_file *w = ctx;
    if (!w->st)
        w->st = psr_outfile_write(w->f, bytes, n, w->err);
}

static void write_weights(struct psr_json *j, const unsigned char *weight, size_t nchan)
{
    psr_json_new_line(j, 1);
    psr_json_begin(j, "weights_of_channels_in_last_window", PSR_JSON_ARRAY);
    for (size_t c = 0; c < nchan; c++)
        psr_json_int(j, NULL, weight[c]);
    psr_json_end(j, PSR_JSON_ARRAY);
}

static psr_status write_json(psr_outfile *f, const char *input, const struct psr_obs *obs,
                             const struct psr_clean_auto_report *r, psr_err *err)
{
    const double n = (double)(r->nsamp > 0 ? r->nsamp : 1);
    struct json_file file = {f, err, PSR_OK};
    struct psr_json j = {.put = put_text, .ctx = &file};
    double total = 0;
    for (size_t c = 0; c < obs->nchan; c++)
        total += (double)r->masked[c];
    psr_json_begin(&j, NULL, PSR_JSON_OBJECT);
    psr_json_string(&j, "input", input);
    psr_json_new_line(&j, 1);
    psr_json_int(&j, "channels", (int64_t)obs->nchan);
    psr_json_int(&j, "spectra", r->nsamp);
    psr_json_double(&j, "sampling_time_s", obs->tsamp_s);
    psr_json_new_line(&j, 1);
    psr_json_int(&j, "block_spectra", (int64_t)r->block);
    psr_json_int(&j, "window_spectra", (int64_t)r->window);
    psr_json_int(&j, "windows", (int64_t)r->nwindow);
    psr_json_new_line(&j, 1);
    psr_json_int(&j, "windows_with_common_noise_subtracted", (int64_t)r->nfiltered);
    psr_json_int(&j, "spark_spectra", r->nspark);
    psr_json_new_line(&j, 1);
    psr_json_double(&j, "masked_fraction", total / n / (double)obs->nchan);
    psr_json_new_line(&j, 1);
    psr_json_begin(&j, "masked_fraction_of_channels", PSR_JSON_ARRAY);
    for (size_t c = 0; c < obs->nchan; c++)
        psr_json_double(&j, NULL, (double)r->masked[c] / n);
    psr_json_end(&j, PSR_JSON_ARRAY);
    if (r->weight)
        write_weights(&j, r->weight, obs->nchan);
    psr_json_end(&j, PSR_JSON_OBJECT);
    put_text(&file, "\n", 1);
    return file.st;
}

/* --- PRESTO's layout -------------------------------------------------------------------------- */

/* The place of channel c, counted from the lowest, in a spectrum. */
static size_t place_of(const struct psr_obs *obs, size_t c)
{
    const bool rising = psr_obs_freq_mhz(obs, 0) < psr_obs_freq_mhz(obs, obs->nchan - 1);
    return rising ? c : obs->nchan - 1 - c;
}

static psr_status allocate_mask(struct psr_mask *m, psr_err *err)
{
    const size_t cells = m->nchan * m->nint;
    m->zap_chans = calloc(m->nchan + 1, sizeof *m->zap_chans);
    m->zap_ints = calloc(m->nint + 1, sizeof *m->zap_ints);
    m->all_chan = calloc(m->nint + 1, 1);
    m->first = calloc(m->nint + 1, sizeof *m->first);
    m->chan = calloc(cells + 1, sizeof *m->chan);
    bool all = m->zap_chans && m->zap_ints && m->all_chan && m->first && m->chan;
    return all ? PSR_OK : psr_fail_nomem(err, "mask", (double)cells * sizeof *m->chan);
}

static bool is_masked_throughout(const struct psr_clean_auto_report *r, size_t nchan, size_t at)
{
    for (size_t i = 0; i < r->nwindow; i++)
        if (!r->mask[i * nchan + at])
            return false;
    return r->nwindow > 0;
}

/* Lists channels: those of an interval that is masked whole are not listed. */
static void fill_mask(struct psr_mask *m, const struct psr_obs *obs,
                      const struct psr_clean_auto_report *r)
{
    size_t n = 0;
    for (size_t c = 0; c < m->nchan; c++)
        if (is_masked_throughout(r, m->nchan, place_of(obs, c)))
            m->zap_chans[m->nzap_chan++] = (int32_t)c;
    for (size_t i = 0; i < m->nint; i++) {
        const size_t before = n;
        for (size_t c = 0; c < m->nchan; c++)
            if (r->mask[i * m->nchan + place_of(obs, c)])
                m->chan[n++] = (int32_t)c;
        if (n - before == m->nchan) {
            n = before;
            m->all_chan[i] = 1;
            m->zap_ints[m->nzap_int++] = (int32_t)i;
        }
        m->first[i + 1] = n;
    }
}

static psr_status write_mask(psr_outfile *f, const struct psr_obs *obs,
                             const struct psr_clean_auto_report *r, psr_err *err)
{
    const struct psr_mjd start = obs->began.day ? obs->began : obs->tstart;
    const struct psr_obs_band band = psr_obs_band(obs);
    struct psr_mask m = {
        .timesigma = limit,
        .freqsigma = limit,
        .mjd = (double)start.day + start.frac,
        .dtint_s = (double)r->window * obs->tsamp_s,
        .lofreq_mhz = band.lowest_mhz,
        .dfreq_mhz = band.spacing_mhz,
        .nchan = obs->nchan,
        .nint = r->nwindow,
        .ptsperint = (int64_t)r->window,
    };
    psr_status st = allocate_mask(&m, err);
    if (!st) {
        fill_mask(&m, obs, r);
        st = psr_mask_write(f, &m, err);
    }
    psr_mask_clear(&m);
    return st;
}

static psr_status write_stats(psr_outfile *f, const struct psr_obs *obs,
                              const struct psr_clean_auto_report *r, psr_err *err)
{
    const size_t nchan = obs->nchan, cells = nchan * r->nwindow;
    struct psr_rfi_stats s = {.nchan = nchan,
                              .nint = r->nwindow,
                              .ptsperint = (int64_t)r->window,
                              .lobin = PSR_RFI_LOBIN,
                              .numbetween = PSR_RFI_NUMBETWEEN,
                              .power = calloc(cells + 1, sizeof(float)),
                              .mean = calloc(cells + 1, sizeof(float)),
                              .sd = calloc(cells + 1, sizeof(float))};
    psr_status st =
        s.power && s.mean && s.sd ? PSR_OK : psr_fail_nomem(err, "statistics", 12 * (double)cells);
    for (size_t k = 0; k < cells && !st; k++) {
        size_t from = k / nchan * nchan + place_of(obs, k % nchan);
        s.power[k] = 1;
        s.mean[k] = r->level[from];
        s.sd[k] = r->sd[from];
    }
    if (!st)
        st = psr_rfi_stats_write(f, &s, err);
    psr_rfi_stats_clear(&s);
    return st;
}

psr_status psr_clean_files_write(psr_output_group *group, const char *root, const char *input,
                                 const struct psr_obs *obs,
                                 const struct psr_clean_auto_report *report, psr_err *err)
{
    char name[NAME_BYTES];
    psr_status st = PSR_OK;
    for (enum file k = JSON; k < NFILE && !st; k++) {
        psr_outfile *f;
        name_file(name, root, k);
        st = psr_output_group_add(group, name, &f, err);
        if (!st)
            st = k == JSON   ? write_json(f, input, obs, report, err)
                 : k == MASK ? write_mask(f, obs, report, err)
                             : write_stats(f, obs, report, err);
    }
    return st;
}
