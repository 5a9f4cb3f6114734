/* Removes interference from spectra before dedispersion. */
#include "stage_clean.h"

#include "base/device/device_internal.h"
#include "base/obs_internal.h"
#include "base/tool.h"
#include "formats/spectra/header_keys.h"
#include "formats/spectra/unpack.h"
#include "rfi/auto/clean_auto_plan.h"
#include "rfi/rules/clean_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct psr_stage_clean {
    struct psr_stage_clean_desc d;
    unsigned char *keep; /* [nchan] */
    struct psr_mask mask;
    psr_clean *plan; /* NULL where nothing is to be cleaned, or automatically */
    psr_clean_auto *automatic;
    void *cleaned;  /* floats, or what automatic cleaning makes; NULL: cleaned in place */
    bool pinned;    /* that memory, which has two blocks: one is cleaned while the other is used */
    bool second;    /* the block that was made last */
    size_t room;    /* spectra of a block */
    int64_t ngiven; /* spectra so far */
    unsigned char *masked; /* [nchan] in a block, from the lowest frequency */
};

static bool is_ascending(const struct psr_obs *obs)
{
    return psr_obs_freq_mhz(obs, 0) < psr_obs_freq_mhz(obs, obs->nchan - 1);
}

static psr_status choose_channels(psr_stage_clean *c, psr_err *err)
{
    const struct psr_obs *obs = c->d.obs;
    c->keep = malloc(obs->nchan);
    if (!c->keep)
        return psr_fail_nomem(err, "the channel mask", (double)obs->nchan);
    memset(c->keep, 1, obs->nchan);
    c->masked = calloc(obs->nchan, 1);
    if (!c->masked)
        return psr_fail_nomem(err, "the channel mask", (double)obs->nchan);
    if (!c->d.ignorechan || (c->d.presto && c->d.from_subbands))
        return PSR_OK;
    return psr_ignore_channels(c->d.ignorechan, obs->nchan, is_ascending(obs), c->keep, err);
}

static psr_status read_mask(psr_stage_clean *c, psr_err *err)
{
    const char *name = c->d.mask;
    if (!name)
        return PSR_OK;
    if (c->d.from_subbands)
        return psr_fail(err, PSR_EINVAL,
                        "%s: a mask is of channels, and %s holds sub-bands of them", name,
                        c->d.input);
    psr_err why;
    psr_status st = psr_mask_read(&c->mask, name, c->d.mem_bytes, &why);
    if (st)
        return psr_fail_field(err, st, why.field, "%s%.500s", st == PSR_ENOMEM ? "-mem: " : "",
                              why.msg);
    st = psr_mask_check(&c->mask, c->d.obs, name, err);
    if (!st && !c->d.presto)
        st = psr_mask_check_extent(&c->mask, c->d.obs, name, err);
    return st;
}

static psr_status create_auto(psr_stage_clean *c, psr_err *err)
{
    const struct psr_stage_clean_desc *d = &c->d;
    struct psr_clean_auto_desc desc = {
        .size = sizeof desc,
        .nchan = d->obs->nchan,
        .nbit = d->obs->nbit,
        .kind = d->obs->kind,
        .tsamp_s = d->obs->tsamp_s,
        .clip_sigma = d->clip_sigma,
        .zerodm = d->zerodm,
        .keep = c->keep,
        .nthread = d->nthread,
        .weights = d->weights,
        .endless = d->endless,
        .ascending = is_ascending(d->obs),
        .backend = d->backend,
        .device = d->device,
    };
    psr_status st = psr_clean_auto_create(&c->automatic, &desc, err);
    if (st != PSR_EDEVICE)
        return st;
    desc.backend = NULL;
    return psr_clean_auto_create(&c->automatic, &desc, err);
}

/* Spectra of the observation before the first. */
static int64_t find_first(const struct psr_obs *obs)
{
    if (!obs->began.day)
        return 0;
    return (int64_t)(psr_mjd_diff_s(obs->began, obs->tstart) / obs->tsamp_s + 0.5);
}

const struct psr_mask *psr_stage_clean_mask(const psr_stage_clean *c)
{
    return c->d.mask ? &c->mask : NULL;
}

static psr_status create_plan(psr_stage_clean *c, psr_err *err)
{
    const struct psr_stage_clean_desc *d = &c->d;
    const struct psr_obs *obs = d->obs;
    double clip_sigma = d->zerodm ? 0 : d->clip_sigma;
    if (d->automatic)
        return create_auto(c, err);
    if (d->presto || (clip_sigma == 0 && !d->zerodm && !d->mask))
        return PSR_OK;
    return psr_clean_create(&c->plan,
                            &(struct psr_clean_desc){
                                .size = sizeof(struct psr_clean_desc),
                                .nchan = obs->nchan,
                                .nbit = obs->nbit,
                                .kind = obs->kind,
                                .ascending = is_ascending(obs),
                                .tsamp_s = obs->tsamp_s,
                                .first = find_first(obs),
                                .clip_sigma = clip_sigma,
                                .zerodm = d->zerodm,
                                .floats = d->floats,
                                .mask = psr_stage_clean_mask(c),
                                .keep = c->keep,
                                .nthread = d->nthread,
                                .clips = !d->endless,
                            },
                            err);
}

void psr_stage_clean_destroy(psr_stage_clean *c)
{
    if (!c)
        return;
    psr_clean_destroy(c->plan);
    psr_clean_auto_destroy(c->automatic);
    psr_mask_clear(&c->mask);
    free(c->keep);
    free(c->masked);
    if (c->pinned)
        psr_device_unpin(c->cleaned);
    else
        free(c->cleaned);
    free(c);
}

psr_status psr_stage_clean_create(psr_stage_clean **out, const struct psr_stage_clean_desc *desc,
                                  psr_err *err)
{
    *out = NULL;
    psr_stage_clean *c = calloc(1, sizeof *c);
    if (!c)
        return psr_fail_nomem(err, "cleaning", sizeof *c);
    c->d = *desc;
    psr_status st = choose_channels(c, err);
    if (!st)
        st = read_mask(c, err);
    if (!st)
        st = create_plan(c, err);
    if (st)
        psr_stage_clean_destroy(c);
    else
        *out = c;
    return st;
}

const unsigned char *psr_stage_clean_keep(const psr_stage_clean *c)
{
    return c->keep;
}

const psr_clean *psr_stage_clean_plan(const psr_stage_clean *c)
{
    return c->plan;
}

const psr_clean_auto *psr_stage_clean_auto(const psr_stage_clean *c)
{
    return c->automatic;
}

bool psr_stage_clean_on_device(const psr_stage_clean *c)
{
    return c->automatic && strcmp(psr_clean_auto_backend(c->automatic), "cpu") != 0;
}

size_t psr_stage_clean_block(const psr_stage_clean *c)
{
    return c->automatic ? psr_clean_auto_window(c->automatic) : c->plan ? PSR_CLEAN_BLOCK : 0;
}

int64_t psr_stage_clean_bytes(const psr_stage_clean *c)
{
    return c->automatic ? psr_clean_auto_bytes(c->automatic)
           : c->plan    ? psr_clean_bytes(c->plan)
                        : 0;
}

enum psr_kind psr_stage_clean_kind(const psr_stage_clean *c)
{
    return c->automatic ? PSR_UINT : c->plan ? psr_clean_kind(c->plan) : c->d.obs->kind;
}

int psr_stage_clean_nbit(const psr_stage_clean *c)
{
    return c->automatic ? 8 : c->plan ? psr_clean_nbit(c->plan) : c->d.obs->nbit;
}

size_t psr_stage_clean_row_bytes(const psr_stage_clean *c)
{
    const bool floats = c->plan && (c->d.zerodm || c->d.floats);
    const size_t bytes = c->automatic ? 1 : floats ? sizeof(float) : 0;
    return c->d.obs->nchan * (psr_stage_clean_on_device(c) ? 2 * bytes : bytes);
}

/* Blocks that are no whole ones of cleaning may bring one more with them. */
psr_status psr_stage_clean_reserve(psr_stage_clean *c, size_t nsamp, psr_err *err)
{
    size_t row_bytes = psr_stage_clean_row_bytes(c), block = psr_stage_clean_block(c);
    if (!row_bytes)
        return PSR_OK;
    c->room = nsamp % block ? nsamp + block : nsamp;
    c->pinned = psr_stage_clean_on_device(c);
    if (c->pinned)
        return psr_device_pin(&c->cleaned, c->room * row_bytes, err);
    c->cleaned = malloc(c->room * row_bytes);
    if (!c->cleaned)
        return psr_fail_nomem(err, "a block of data", (double)c->room * (double)row_bytes);
    return PSR_OK;
}

static psr_status run_auto(psr_stage_clean *c, struct psr_block *b, psr_err *err)
{
    size_t n;
    c->second = c->pinned && !c->second;
    void *to = (char *)c->cleaned + (c->second ? c->room * c->d.obs->nchan : 0);
    psr_status st = b->n ? psr_clean_auto_execute(c->automatic, b->spectra, b->n, to, &n, err)
                         : psr_clean_auto_finish(c->automatic, to, &n, err);
    if (st)
        return st;
    b->spectra = to;
    b->n = n;
    b->first = c->ngiven;
    b->nstep = 0;
    b->nmasked = psr_clean_auto_lost(c->automatic, &b->masked);
    b->nmissing = psr_clean_auto_missing(c->automatic, &b->missing);
    c->ngiven += (int64_t)n;
    return PSR_OK;
}

psr_status psr_stage_clean_run(psr_stage_clean *c, struct psr_block *b, psr_err *err)
{
    if (c->automatic)
        return run_auto(c, b, err);
    if (!c->plan)
        return PSR_OK;
    void *to = c->cleaned ? c->cleaned : b->spectra;
    size_t n;
    psr_status st = b->n ? psr_clean_execute(c->plan, b->spectra, b->n, to, &n, err)
                         : psr_clean_finish(c->plan, to, &n, err);
    if (st)
        return st;
    b->spectra = to;
    b->n = n;
    b->first = c->ngiven;
    b->nstep = psr_clean_steps(c->plan, &b->step);
    b->nmasked = psr_clean_lost(c->plan, &b->masked);
    c->ngiven += (int64_t)n;
    return PSR_OK;
}

size_t psr_stage_clean_clips(const psr_stage_clean *c, const struct psr_span **span)
{
    return c->plan ? psr_clean_clips(c->plan, span) : 0;
}

void psr_stage_clean_blank(const psr_stage_clean *c, struct psr_block *b, size_t n)
{
    size_t row_bytes = psr_row_bytes(c->d.obs->nchan, psr_stage_clean_nbit(c));
    b->first += (int64_t)b->n;
    b->n = n;
    b->nstep = 0;
    b->nmissing = 0;
    memset(b->spectra, 0, n * row_bytes);
}

static void mark_channels(psr_stage_clean *c, float *x)
{
    const size_t nchan = c->d.obs->nchan;
    const bool ascending = is_ascending(c->d.obs);
    for (size_t k = 0; k < nchan; k++)
        if (!c->keep[k] || c->masked[ascending ? k : nchan - 1 - k])
            x[k] = NAN;
}

/* The mask goes by whole blocks. */
void psr_stage_clean_mark(psr_stage_clean *c, int64_t first, size_t n, float *x)
{
    const struct psr_mask *mask = psr_stage_clean_mask(c);
    const double dt_s = c->d.obs->tsamp_s;
    int64_t known = -1;
    if (c->automatic) {
        psr_clean_auto_mark(c->automatic, first, n, x);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const int64_t t = first + (int64_t)i, block = t < 0 ? 0 : t / PSR_CLEAN_BLOCK;
        if (mask && block != known)
            psr_mask_span(mask, (double)(find_first(c->d.obs) + block * PSR_CLEAN_BLOCK) * dt_s,
                          PSR_CLEAN_BLOCK * dt_s, PSR_MASK_TOUCHED, c->masked);
        known = block;
        mark_channels(c, x + i * c->d.obs->nchan);
    }
}

/* Writes what automatic cleaning removed: as JSON, and as a mask in PRESTO's layout. */

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

static bool is_masked_throughout(const struct psr_clean_auto_report *r, size_t nchan, size_t at)
{
    for (size_t i = 0; i < r->nwindow; i++)
        if (!r->mask[i * nchan + at])
            return false;
    return r->nwindow > 0;
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
    const size_t cells = m.nchan * m.nint;
    m.zap_chans = calloc(m.nchan + 1, sizeof *m.zap_chans);
    m.zap_ints = calloc(m.nint + 1, sizeof *m.zap_ints);
    m.all_chan = calloc(m.nint + 1, 1);
    m.first = calloc(m.nint + 1, sizeof *m.first);
    m.chan = calloc(cells + 1, sizeof *m.chan);
    bool all = m.zap_chans && m.zap_ints && m.all_chan && m.first && m.chan;
    psr_status st = all ? PSR_OK : psr_fail_nomem(err, "mask", (double)cells * sizeof *m.chan);
    if (!st) {
        /* Lists channels: those of an interval that is masked whole are not listed. */
        size_t n = 0;
        for (size_t c = 0; c < m.nchan; c++)
            if (is_masked_throughout(r, m.nchan, place_of(obs, c)))
                m.zap_chans[m.nzap_chan++] = (int32_t)c;
        for (size_t i = 0; i < m.nint; i++) {
            const size_t before = n;
            for (size_t c = 0; c < m.nchan; c++)
                if (r->mask[i * m.nchan + place_of(obs, c)])
                    m.chan[n++] = (int32_t)c;
            if (n - before == m.nchan) {
                n = before;
                m.all_chan[i] = 1;
                m.zap_ints[m.nzap_int++] = (int32_t)i;
            }
            m.first[i + 1] = n;
        }
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
