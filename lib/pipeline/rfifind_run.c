/* Finds interference in files and writes rfifind's files. */
#include "base/clock.h"
#include "base/copy_desc.h"
#include "base/path.h"
#include "base/read_file.h"
#include "formats/channel_list.h"
#include "formats/unpack.h"
#include "presto_view.h"
#include <psrkit/clean.h>

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Files, in the order in which they appear; the mask says that the others are there. */
enum { RFI, BYTEMASK, STATS, INF, MASK, NFILE };
static const char *const suffix[NFILE] = {"rfi", "bytemask", "stats", "inf", "mask"};

struct run {
    const struct psr_rfi_run_desc *d;
    struct psr_rfi_run_report *r;
    char stem[PATH_MAX], name[NFILE][PATH_MAX];
    psr_source *source;
    const struct psr_obs *obs; /* as its channels are understood */
    struct psr_presto_view view;
    bool reverse; /* the first channel of the data is the highest */
    size_t block, ptsperint;
    struct psr_mask old;
    unsigned char *keep;
    psr_rfifind *plan;
    void *spectra;
    struct psr_inf inf;
};

void psr_rfi_run_defaults(struct psr_rfi_run_desc *desc)
{
    *desc = (struct psr_rfi_run_desc){
        .size = sizeof *desc,
        .source = {.size = sizeof desc->source, .if_choice = -1},
        .interval_s = 30,
        .clip_sigma = 6,
        .rules = {.time_sigma = 10, .freq_sigma = 4, .chan_frac = 0.7, .int_frac = 0.3},
    };
}

/* --- names ------------------------------------------------------------------------------------ */

static psr_status make_names(struct run *u, psr_err *err)
{
    const char *root = u->d->root;
    const int n = snprintf(u->stem, sizeof u->stem, "%s_rfifind", root);
    if (n >= (int)sizeof u->stem - 16)
        return psr_fail(err, PSR_EINVAL,
                        "%.60s...: the name of an output has %d bytes, at most %zu", root, n,
                        sizeof u->stem - 17);
    for (int k = 0; k < NFILE; k++)
        snprintf(u->name[k], sizeof u->name[k], "%.*s.%s", (int)sizeof u->stem - 16, u->stem,
                 suffix[k]);
    return psr_inf_set_name(&u->inf, u->stem, err);
}

static bool is_written(const struct run *u, int k)
{
    return !u->d->nocompute || k == MASK || k == BYTEMASK;
}

/* With nocompute the old mask may be the one that is made anew, and the input is not read. */
static psr_status check_names(struct run *u, psr_err *err)
{
    const struct psr_rfi_run_desc *d = u->d;
    struct psr_overwrite_check c = {0};
    char *stats = d->old_mask ? psr_path_beside(d->old_mask, ".stats") : NULL;
    const char *const beside[] = {d->nocompute ? NULL : d->old_mask, d->nocompute ? NULL : stats,
                                  d->ignorechan};
    psr_status st = PSR_OK;
    for (size_t k = 0; k < d->source.npath && !st; k++)
        st = psr_overwrite_check_input(&c, d->source.path[k], err);
    for (size_t k = 0; k < 3 && !st; k++)
        st = psr_overwrite_check_input(&c, beside[k], err);
    for (int k = 0; k < NFILE && !st; k++)
        st = is_written(u, k) ? psr_overwrite_check_output(&c, u->name[k], NULL, err)
                              : psr_overwrite_check_input(&c, u->name[k], err);
    if (!st)
        st = psr_overwrite_check_output(&c, d->also, NULL, err);
    psr_overwrite_check_clear(&c);
    free(stats);
    return st;
}

/* --- the input -------------------------------------------------------------------------------- */

static psr_status open_input(struct run *u, psr_err *err)
{
    struct psr_source_desc desc = u->d->source;
    desc.as_presto = u->d->presto;
    psr_status st = psr_source_open(&u->source, &desc, err);
    if (st)
        return st;
    const struct psr_obs *obs = psr_source_obs(u->source);
    u->obs = obs;
    u->reverse = psr_obs_freq_mhz(obs, 0) > psr_obs_freq_mhz(obs, obs->nchan - 1);
    if (u->d->presto) {
        psr_presto_view_make(&u->view, obs, desc.invert);
        u->obs = &u->view.obs;
        u->reverse = u->view.reverse;
    }
    u->block = obs->block_nsamp > 0 ? (size_t)obs->block_nsamp : PSR_COMPAT_BLOCK;
    return psr_obs_copy(&u->r->obs, u->obs, err);
}

/* As rfifind rounds it. */
static psr_status choose_interval(struct run *u, psr_err *err)
{
    const double block_s = (double)u->block * u->obs->tsamp_s;
    double nblock =
        u->d->nblock > 0 ? (double)u->d->nblock : floor(u->d->interval_s / block_s + 0.5);
    nblock = fmax(nblock, 1);
    if (!(nblock * (double)u->block <= INT32_MAX))
        return psr_fail(err, PSR_EINVAL,
                        "intervals of %.0f spectra (%g s), at most %d fit into the files",
                        nblock * (double)u->block, nblock * block_s, INT32_MAX);
    u->ptsperint = (size_t)nblock * u->block;
    return PSR_OK;
}

static psr_status read_old_mask(struct run *u, psr_err *err)
{
    if (!u->d->old_mask)
        return PSR_OK;
    return psr_mask_read(&u->old, u->d->old_mask, u->d->mem_bytes, err);
}

static psr_status choose_channels(struct run *u, psr_err *err)
{
    const size_t nchan = u->obs->nchan;
    u->keep = malloc(nchan);
    if (!u->keep)
        return psr_fail_nomem(err, "the channel mask", (double)nchan);
    memset(u->keep, 1, nchan);
    if (!u->d->ignorechan)
        return PSR_OK;
    return psr_ignore_channels(u->d->ignorechan, nchan, !u->reverse, u->keep, err);
}

static psr_status create_plan(struct run *u, psr_err *err)
{
    const struct psr_obs *obs = psr_source_obs(u->source);
    if (u->d->old_mask && u->old.nchan != obs->nchan)
        return psr_fail(err, PSR_EINVAL, "%s: a mask of %zu channels, and the data have %zu",
                        u->d->old_mask, u->old.nchan, obs->nchan);
    psr_status st = psr_rfifind_create(
        &u->plan,
        &(struct psr_rfifind_desc){.size = sizeof(struct psr_rfifind_desc),
                                   .nchan = obs->nchan,
                                   .nbit = obs->nbit,
                                   .kind = obs->kind,
                                   .reverse = u->reverse,
                                   .tsamp_s = obs->tsamp_s,
                                   .block = u->block,
                                   .ptsperint = (int64_t)u->ptsperint,
                                   .clip_sigma = u->d->zerodm ? 0 : u->d->clip_sigma,
                                   .zerodm = u->d->zerodm,
                                   .padding = u->old.padding,
                                   .keep = u->keep,
                                   .presto = u->d->presto,
                                   .freq_sigma = (double)(float)u->d->rules.freq_sigma,
                                   .nthread = u->d->nthread},
        err);
    const size_t bytes = psr_source_block_bytes(u->source, u->ptsperint);
    if (!st && !(u->spectra = malloc(bytes)))
        st = psr_fail_nomem(err, "an interval of spectra", (double)bytes);
    return st;
}

/* --- reading it ------------------------------------------------------------------------------- */

static psr_status check_gaps(const struct run *u, const struct psr_span *gap, size_t ngap,
                             psr_err *err)
{
    if (!ngap || !u->d->presto)
        return PSR_OK;
    return psr_fail(err, PSR_EUNSUPPORTED,
                    "%s: %lld spectra are missing from spectrum %lld on, and -compat presto does "
                    "not do what PRESTO does there",
                    psr_path_called(u->d->source.path[0]), (long long)gap->count,
                    (long long)gap->first);
}

static psr_status take_interval(struct run *u, size_t *n, psr_err *err)
{
    const struct psr_span *gap;
    const double began = psr_seconds();
    psr_status st = psr_source_read(u->source, u->ptsperint, u->spectra, n, err);
    const double read = psr_seconds();
    u->r->read_s += read - began;
    const size_t ngap = psr_source_gaps(u->source, &gap);
    if (!st)
        st = check_gaps(u, gap, ngap, err);
    if (!st && *n)
        st = psr_rfifind_push(u->plan, u->spectra, *n, gap, ngap, err);
    u->r->compute_s += psr_seconds() - read;
    u->r->nread += (int64_t)*n;
    return st;
}

static psr_status read_all(struct run *u, psr_err *err)
{
    const struct psr_rfi_run_desc *d = u->d;
    psr_status st = PSR_OK;
    for (size_t n = u->ptsperint; n == u->ptsperint && !st;) {
        if (d->should_stop && d->should_stop(d->ctx))
            return psr_fail(err, PSR_ESTOPPED, "stopped");
        st = take_interval(u, &n, err);
        if (d->progress)
            d->progress(d->ctx, u->r->nread, psr_source_obs(u->source)->nsamp);
    }
    if (!st)
        st = psr_rfifind_finish(u->plan, &u->r->stats, &u->r->list, err);
    u->r->nclipped = psr_rfifind_clipped(u->plan);
    return st;
}

/* Of PSRFITS; where PRESTO turns the band it rounds. */
static double lowest_as_presto(const struct run *u)
{
    const struct psr_obs *obs = psr_source_obs(u->source);
    const double lowest = psr_obs_lowest_mhz(obs);
    bool turned = psr_obs_freq_mhz(obs, 0) > psr_obs_freq_mhz(obs, obs->nchan - 1);
    return turned ? (double)(float)lowest : lowest;
}

static void describe(struct run *u)
{
    char name[PSR_TEXT_MAX];
    strcpy(name, u->inf.name);
    psr_inf_from_obs(&u->inf, u->obs, psr_source_file_nbit(u->source));
    strcpy(u->inf.name, name);
    u->inf.nbin = u->r->nread;
    u->inf.tbin_s = u->obs->tsamp_s;
    if (u->d->presto && u->obs->block_nsamp > 0)
        u->inf.lowest_mhz = lowest_as_presto(u);
}

/* Intervals that the stream found incomplete, or in which data are missing, have these statistics;
 * no others do. */
static void flag_padding(struct psr_rfi_run_report *r)
{
    const size_t nchan = r->stats.nchan;
    for (size_t i = 0; i < r->stats.nint; i++) {
        bool padded = true;
        for (size_t k = i * nchan; k < (i + 1) * nchan && padded; k++)
            padded = r->stats.power[k] == 1 && r->stats.mean[k] == 0 && r->stats.sd[k] == 0;
        memset(r->flags + i * nchan, padded ? PSR_RFI_PADDING : 0, nchan);
    }
}

static psr_status allocate_flags(struct psr_rfi_run_report *r, psr_err *err)
{
    const size_t n = r->stats.nint * r->stats.nchan;
    r->flags = malloc(n ? n : 1);
    return r->flags ? PSR_OK : psr_fail_nomem(err, "the flags of cells", (double)n);
}

static psr_status compute(struct run *u, psr_err *err)
{
    psr_status st = open_input(u, err);
    if (!st)
        st = choose_interval(u, err);
    if (!st)
        st = read_old_mask(u, err);
    if (!st)
        st = choose_channels(u, err);
    if (!st)
        st = create_plan(u, err);
    if (!st)
        st = read_all(u, err);
    if (!st)
        st = allocate_flags(u->r, err);
    if (st)
        return st;
    flag_padding(u->r);
    describe(u);
    return PSR_OK;
}

/* --- an earlier run --------------------------------------------------------------------------- */

static psr_status read_flags(struct run *u, psr_err *err)
{
    const size_t want = u->r->stats.nint * u->r->stats.nchan;
    char *bytes = NULL;
    size_t n = 0;
    psr_status st = psr_read_file(u->name[BYTEMASK], want, &bytes, &n, err);
    if (!st && n != want)
        st = psr_fail(err, PSR_EFORMAT, "%s: %zu bytes, and %s has %zu cells", u->name[BYTEMASK], n,
                      u->name[STATS], want);
    for (size_t k = 0; k < n && !st; k++)
        u->r->flags[k] = (unsigned char)bytes[k] & PSR_RFI_PADDING;
    free(bytes);
    return st;
}

static psr_status check_match(const struct run *u, psr_err *err)
{
    const struct psr_rfi_stats *s = &u->r->stats;
    const struct psr_rfi_list *l = &u->r->list;
    if (s->nchan != l->nchan || s->nint != l->nint || s->ptsperint != l->ptsperint)
        return psr_fail(err, PSR_EFORMAT,
                        "%s: %zu intervals of %zu channels, and %s has %zu of %zu", u->name[RFI],
                        l->nint, l->nchan, u->name[STATS], s->nint, s->nchan);
    if (u->inf.nchan != (long)s->nchan || !(u->inf.tbin_s > 0))
        return psr_fail(err, PSR_EFORMAT, "%s: %ld channels by %g s, and %s has %zu channels",
                        u->name[INF], u->inf.nchan, u->inf.tbin_s, u->name[STATS], s->nchan);
    return PSR_OK;
}

static psr_status read_results(struct run *u, psr_err *err)
{
    psr_status st = read_old_mask(u, err);
    if (!st)
        st = psr_inf_read(&u->inf, u->name[INF], err);
    if (!st)
        st = psr_rfi_stats_read(&u->r->stats, u->name[STATS], u->d->mem_bytes, err);
    if (!st)
        st = psr_rfi_list_read(&u->r->list, u->name[RFI], u->d->mem_bytes, err);
    if (!st)
        st = check_match(u, err);
    if (!st)
        st = allocate_flags(u->r, err);
    if (!st)
        st = read_flags(u, err);
    if (!st)
        psr_inf_to_obs(&u->inf, &u->r->obs);
    return st;
}

/* --- results ---------------------------------------------------------------------------------- */

static psr_status make_mask(struct run *u, psr_err *err)
{
    struct psr_mask *m = &u->r->mask;
    struct psr_rfi_rules rules = u->d->rules;
    rules.old = u->d->old_mask ? &u->old : NULL;
    psr_status st = psr_rfi_mask(m, u->r->flags, &u->r->stats, &rules, err);
    m->mjd = (double)u->inf.epoch.day + u->inf.epoch.frac;
    m->dtint_s = (double)u->r->stats.ptsperint * u->inf.tbin_s;
    m->lofreq_mhz = u->inf.lowest_mhz;
    m->dfreq_mhz = u->inf.chan_width_mhz;
    return st;
}

static psr_status write_file(const struct run *u, int k, psr_outfile *f, psr_err *err)
{
    const struct psr_rfi_run_report *r = u->r;
    switch (k) {
    case RFI:
        return psr_rfi_list_write(f, &r->list, err);
    case BYTEMASK:
        return psr_outfile_write(f, r->flags, r->stats.nint * r->stats.nchan, err);
    case STATS:
        return psr_rfi_stats_write(f, &r->stats, err);
    case INF:
        return psr_inf_write(f, &u->inf, err);
    default:
        return psr_mask_write(f, &r->mask, err);
    }
}

static psr_status write_files(struct run *u, psr_output_group *group, psr_err *err)
{
    psr_status st = PSR_OK;
    for (int k = 0; k < NFILE && !st; k++) {
        psr_outfile *f;
        if (!is_written(u, k))
            continue;
        st = psr_output_group_add(group, u->name[k], &f, err);
        if (!st)
            st = write_file(u, k, f, err);
    }
    if (!st)
        return psr_output_group_commit(group, err);
    psr_output_group_abort(group);
    return st;
}

static void close_run(struct run *u)
{
    psr_rfifind_destroy(u->plan);
    psr_source_close(u->source);
    psr_mask_clear(&u->old);
    free(u->keep);
    free(u->spectra);
    free(u);
}

psr_status psr_rfi_run(struct psr_rfi_run_report *report, const struct psr_rfi_run_desc *desc,
                       psr_err *err)
{
    psr_output_group *group = NULL;
    memset(report, 0, sizeof *report);
    psr_obs_init(&report->obs);
    struct psr_rfi_run_desc copy;
    psr_status st = psr_copy_desc(&copy, sizeof copy, desc, "rfifind", err);
    if (st)
        return st;
    struct run *u = calloc(1, sizeof *u);
    if (!u)
        return psr_fail_nomem(err, "rfifind", sizeof *u);
    u->d = &copy;
    u->r = report;
    st = make_names(u, err);
    if (!st)
        st = check_names(u, err);
    if (!st)
        st = psr_output_group_create(
            &group,
            &(struct psr_output_group_desc){.size = sizeof(struct psr_output_group_desc),
                                            .root = u->stem,
                                            .kind = "rfifind",
                                            .first = 1,
                                            .last = 0,
                                            .common = true,
                                            .notes = copy.source.notes},
            err);
    if (!st)
        st = copy.nocompute ? read_results(u, err) : compute(u, err);
    if (!st)
        st = make_mask(u, err);
    if (!st)
        st = write_files(u, group, err);
    else
        psr_output_group_abort(group);
    close_run(u);
    return st;
}

void psr_rfi_run_clear(struct psr_rfi_run_report *r)
{
    psr_obs_clear(&r->obs);
    psr_rfi_stats_clear(&r->stats);
    psr_rfi_list_clear(&r->list);
    psr_mask_clear(&r->mask);
    free(r->flags);
    r->flags = NULL;
}
