/* Finds interference in files and writes rfifind's files. */
#include "base/base.h"

#include "base/input/readfd.h"
#include "compat/presto/dedisp_presto.h"
#include "formats/series/series_internal.h"
#include "formats/spectra/header_keys.h"
#include "rfi/rules/clean_internal.h"
#include <limits.h>
#include <math.h>
#include <psrkit/device.h>
#include <psrkit/experimental/clean.h>
#include <psrkit/experimental/source.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- what files hold -------------------------------------------------------------------------- */

/* Files, in the order in which they appear; the mask says that the others are there. */
enum psr_rfi_file {
    PSR_RFI_FILE_RFI,
    PSR_RFI_FILE_BYTEMASK,
    PSR_RFI_FILE_STATS,
    PSR_RFI_FILE_MOMENTS,
    PSR_RFI_FILE_ZAPLIST,
    PSR_RFI_FILE_BIRDS,
    PSR_RFI_FILE_INF,
    PSR_RFI_FILE_MASK,
    PSR_RFI_NFILE
};

/* An interval is read while another is measured where both take at most such a part of the memory limit. */
enum { PSR_RFI_READ_AHEAD_PART = 8 };

struct psr_rfi_reader {
    psr_source *source; /* borrowed */
    size_t nsamp;       /* spectra per interval */
    void *
        spectra[2]; /* [nsamp] of the interval that was taken, and of the next one; the second NULL:
                           intervals are not read ahead */
    int next;       /* which is the next one's */
    bool filled;    /* it was read: n spectra, with this status */
    size_t n;
    psr_status status;
    psr_err err;
    double seconds; /* spent reading */
};

/* Of a run. */
struct psr_rfi_state {
    const struct psr_rfi_run_desc *d;
    struct psr_source_desc source_desc; /* copies of those that d points to */
    struct psr_rfi_rules rules;
    struct psr_rfi_run_report *r;
    char stem[PATH_MAX], name[PSR_RFI_NFILE][PATH_MAX];
    psr_source *source;
    const struct psr_obs *obs; /* as its channels are understood */
    struct psr_presto_view view;
    bool reverse; /* the first channel of the data is the highest */
    size_t block, ptsperint;
    struct psr_mask old;
    unsigned char *keep;
    psr_rfifind *plan;
    struct psr_rfi_reader reader;
    struct psr_inf inf;
};

/* --- the files of a search for interference --------------------------------------------------- */

static const char *rfi_suffix(int file)
{
    static const char *const suffix[PSR_RFI_NFILE] = {
        [PSR_RFI_FILE_RFI] = "rfi",         [PSR_RFI_FILE_BYTEMASK] = "bytemask",
        [PSR_RFI_FILE_STATS] = "stats",     [PSR_RFI_FILE_MOMENTS] = "moments",
        [PSR_RFI_FILE_ZAPLIST] = "zaplist", [PSR_RFI_FILE_BIRDS] = "birds",
        [PSR_RFI_FILE_INF] = "inf",         [PSR_RFI_FILE_MASK] = "mask"};
    return suffix[file];
}

static bool rfi_is_written(const struct psr_rfi_state *u, int file)
{
    if (u->d->nocompute)
        return file == PSR_RFI_FILE_MASK || file == PSR_RFI_FILE_BYTEMASK;
    if (file == PSR_RFI_FILE_MOMENTS)
        return u->d->moments;
    if (file == PSR_RFI_FILE_ZAPLIST || file == PSR_RFI_FILE_BIRDS)
        return u->d->line_sigma > 0;
    return true;
}

/* The mask that was given, if one was.
 * Status: those of psr_mask_read */
static psr_status rfi_read_old_mask(struct psr_rfi_state *u, psr_err *err)
{
    if (!u->d->old_mask)
        return PSR_OK;
    return psr_mask_read(&u->old, u->d->old_mask, u->d->mem_bytes, err);
}

/* Status: PSR_ENOMEM */
static psr_status rfi_allocate_flags(struct psr_rfi_run_report *r, psr_err *err)
{
    const size_t n = r->stats.nint * r->stats.nchan;
    r->flags = malloc(n + 1);
    r->found = calloc(n + 1, 1);
    return r->flags && r->found ? PSR_OK : psr_fail_nomem(err, "the flags of cells", (double)n);
}

/* --- an earlier run --------------------------------------------------------------------------- */

static psr_status check_match(const struct psr_rfi_state *u, psr_err *err)
{
    const struct psr_rfi_stats *s = &u->r->stats;
    const struct psr_rfi_list *l = &u->r->list;
    if (s->nchan != l->nchan || s->nint != l->nint || s->ptsperint != l->ptsperint)
        return psr_fail(err, PSR_EFORMAT,
                        "%s: %zu intervals of %zu channels, and %s has %zu of %zu",
                        u->name[PSR_RFI_FILE_RFI], l->nint, l->nchan, u->name[PSR_RFI_FILE_STATS],
                        s->nint, s->nchan);
    if (u->inf.nchan != (long)s->nchan || !(u->inf.tbin_s > 0))
        return psr_fail(err, PSR_EFORMAT, "%s: %ld channels by %g s, and %s has %zu channels",
                        u->name[PSR_RFI_FILE_INF], u->inf.nchan, u->inf.tbin_s,
                        u->name[PSR_RFI_FILE_STATS], s->nchan);
    return PSR_OK;
}

/* Earlier runs with -compat presto, and rfifind's, have none. */
static psr_status read_moments(struct psr_rfi_state *u, psr_err *err)
{
    const char *name = u->name[PSR_RFI_FILE_MOMENTS];
    if (!u->d->moments || access(name, F_OK) != 0)
        return PSR_OK;
    return psr_rfi_moments_read(&u->r->stats, name, u->d->mem_bytes, err);
}

/* Of an earlier run.
 * Status: PSR_EFORMAT if files do not match; those of the readers */
static psr_status rfi_read_results(struct psr_rfi_state *u, psr_err *err)
{
    psr_status st = rfi_read_old_mask(u, err);
    if (!st)
        st = psr_inf_read(&u->inf, u->name[PSR_RFI_FILE_INF], err);
    if (!st)
        st = psr_rfi_stats_read(&u->r->stats, u->name[PSR_RFI_FILE_STATS], u->d->mem_bytes, err);
    if (!st)
        st = read_moments(u, err);
    if (!st)
        st = psr_rfi_list_read(&u->r->list, u->name[PSR_RFI_FILE_RFI], u->d->mem_bytes, err);
    if (!st)
        st = check_match(u, err);
    if (!st)
        st = rfi_allocate_flags(u->r, err);
    if (!st) {
        const size_t want = u->r->stats.nint * u->r->stats.nchan;
        char *bytes = NULL;
        size_t n = 0;
        st = psr_read_file(u->name[PSR_RFI_FILE_BYTEMASK], want, &bytes, &n, err);
        if (!st && n != want)
            st = psr_fail(err, PSR_EFORMAT, "%s: %zu bytes, and %s has %zu cells",
                          u->name[PSR_RFI_FILE_BYTEMASK], n, u->name[PSR_RFI_FILE_STATS], want);
        for (size_t k = 0; k < n && !st; k++)
            u->r->flags[k] = (unsigned char)bytes[k] & PSR_RFI_PADDING;
        free(bytes);
    }
    if (!st)
        psr_inf_to_obs(&u->inf, &u->r->obs);
    return st;
}

/* --- results ---------------------------------------------------------------------------------- */

/* Status: those of psr_rfi_mask */
static psr_status rfi_make_mask(struct psr_rfi_state *u, psr_err *err)
{
    struct psr_mask *m = &u->r->mask;
    struct psr_rfi_rules rules = u->rules;
    rules.old = u->d->old_mask ? &u->old : NULL;
    psr_status st = psr_rfi_mask(m, u->r->flags, u->r->found, &u->r->stats, &rules, err);
    m->mjd = (double)u->inf.epoch.day + u->inf.epoch.frac;
    m->dtint_s = (double)u->r->stats.ptsperint * u->inf.tbin_s;
    m->lofreq_mhz = u->inf.lowest_mhz;
    m->dfreq_mhz = u->inf.chan_width_mhz;
    return st;
}

static psr_status write_file(const struct psr_rfi_state *u, int k, psr_outfile *f, psr_err *err)
{
    const struct psr_rfi_run_report *r = u->r;
    switch (k) {
    case PSR_RFI_FILE_RFI:
        return psr_rfi_list_write(f, &r->list, err);
    case PSR_RFI_FILE_BYTEMASK:
        return psr_outfile_write(f, r->flags, r->stats.nint * r->stats.nchan, err);
    case PSR_RFI_FILE_STATS:
        return psr_rfi_stats_write(f, &r->stats, err);
    case PSR_RFI_FILE_MOMENTS:
        return psr_rfi_moments_write(f, &r->stats, err);
    case PSR_RFI_FILE_ZAPLIST:
        return psr_rfi_zaplist_write(f, &r->lines, err);
    case PSR_RFI_FILE_BIRDS:
        return psr_rfi_birds_write(f, &r->lines, err);
    case PSR_RFI_FILE_INF:
        return psr_inf_write(f, &u->inf, err);
    default:
        return psr_mask_write(f, &r->mask, err);
    }
}

/* Commits the group or aborts it.
 * Status: those of psr_output_group_commit */
static psr_status rfi_write_results(struct psr_rfi_state *u, psr_output_group *group, psr_err *err)
{
    psr_status st = PSR_OK;
    for (int k = 0; k < PSR_RFI_NFILE && !st; k++) {
        psr_outfile *f;
        if (!rfi_is_written(u, k))
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

/* --- reading intervals, the next one while another is measured -------------------------------- */

static void read_next(struct psr_rfi_reader *r)
{
    const double began = psr_seconds();
    r->status = psr_source_read(r->source, r->nsamp, r->spectra[r->next], &r->n, &r->err);
    r->filled = true;
    r->seconds += psr_seconds() - began;
}

/* Reads the next interval if it is not there already; r is a struct psr_rfi_reader.  What
 * psr_source_gaps returned before is no longer valid. */
static void rfi_reader_fill(void *reader)
{
    struct psr_rfi_reader *r = reader;
    if (!r->filled && r->spectra[1])
        read_next(r);
}

/* --- the run ---------------------------------------------------------------------------------- */

void psr_rfi_rules_set_defaults(struct psr_rfi_rules *rules, size_t size)
{
    const struct psr_rfi_rules all = {
        .time_sigma = 10, .freq_sigma = 4, .chan_frac = 0.7, .int_frac = 0.3};
    psr_give_desc(rules, size, &all, sizeof all);
}

void psr_rfi_run_set_defaults(struct psr_rfi_run_desc *desc, size_t size)
{
    const struct psr_rfi_run_desc all = {
        .interval_s = 30,
        .clip_sigma = 6,
    };
    psr_give_desc(desc, size, &all, sizeof all);
}

/* --- names ------------------------------------------------------------------------------------ */

static psr_status make_names(struct psr_rfi_state *u, psr_err *err)
{
    const char *root = u->d->root;
    const int n = snprintf(u->stem, sizeof u->stem, "%s_rfifind", root);
    if (n >= (int)sizeof u->stem - 16)
        return psr_fail(err, PSR_EINVAL,
                        "%.60s...: the name of an output has %d bytes, at most %zu", root, n,
                        sizeof u->stem - 17);
    for (int k = 0; k < PSR_RFI_NFILE; k++)
        snprintf(u->name[k], sizeof u->name[k], "%.*s.%s", (int)sizeof u->stem - 16, u->stem,
                 rfi_suffix(k));
    return psr_inf_set_name(&u->inf, u->stem, err);
}

/* With nocompute the input is not read, and the old mask may be the one that is replaced. */
static psr_status check_names(struct psr_rfi_state *u, psr_err *err)
{
    const struct psr_rfi_run_desc *d = u->d;
    struct psr_overwrite_check c = {0};
    char *stats = d->old_mask ? psr_path_beside(d->old_mask, ".stats") : NULL;
    const char *const beside[] = {d->nocompute ? NULL : d->old_mask, d->nocompute ? NULL : stats,
                                  d->ignorechan};
    psr_status st = PSR_OK;
    for (size_t k = 0; k < u->source_desc.npath && !st; k++)
        st = psr_overwrite_check_input(&c, u->source_desc.path[k], err);
    for (size_t k = 0; k < 3 && !st; k++)
        st = psr_overwrite_check_input(&c, beside[k], err);
    for (int k = 0; k < PSR_RFI_NFILE && !st; k++)
        st = rfi_is_written(u, k) ? psr_overwrite_check_output(&c, u->name[k], NULL, err)
                                  : psr_overwrite_check_input(&c, u->name[k], err);
    if (!st)
        st = psr_overwrite_check_optional(&c, d->also, err);
    psr_overwrite_check_clear(&c);
    free(stats);
    return st;
}

/* --- the input -------------------------------------------------------------------------------- */

static psr_status open_input(struct psr_rfi_state *u, psr_err *err)
{
    struct psr_source_desc desc = u->source_desc;
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
static psr_status choose_interval(struct psr_rfi_state *u, psr_err *err)
{
    const double block_s = (double)u->block * u->obs->tsamp_s;
    if (!(u->d->interval_s >= 0))
        return psr_fail_field(err, PSR_EINVAL, "interval_s", "intervals of %g s, must be 0 or more",
                              u->d->interval_s);
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

static psr_status choose_channels(struct psr_rfi_state *u, psr_err *err)
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

static psr_status create_plan(struct psr_rfi_state *u, psr_err *err)
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
                                   .freq_sigma = (double)(float)u->rules.freq_sigma,
                                   .nthread = u->d->nthread,
                                   .cells = u->d->moments,
                                   .burst_sigma = u->d->burst_sigma,
                                   .line_sigma = u->d->line_sigma,
                                   .meanwhile = rfi_reader_fill,
                                   .ctx = &u->reader},
        err);
    if (st)
        return st;
    const size_t bytes = psr_source_block_bytes(u->source, u->ptsperint);
    const double room = (double)psr_count_memory(u->d->mem_bytes) / PSR_RFI_READ_AHEAD_PART;
    const bool ahead = psr_count_threads(u->d->nthread) > 1 && 2 * (double)bytes <= room;
    u->reader = (struct psr_rfi_reader){.source = u->source, .nsamp = u->ptsperint};
    for (int k = 0; k < (ahead ? 2 : 1); k++)
        if (!(u->reader.spectra[k] = malloc(bytes)))
            return psr_fail_nomem(err, "an interval of spectra", (double)bytes);
    return PSR_OK;
}

/* --- reading it ------------------------------------------------------------------------------- */

static psr_status check_gaps(const struct psr_rfi_state *u, const struct psr_span *gap, size_t ngap,
                             psr_err *err)
{
    if (!ngap || !u->d->presto)
        return PSR_OK;
    return psr_fail(err, PSR_EUNSUPPORTED,
                    "%s: %lld spectra are missing from spectrum %lld on, and -compat presto does "
                    "not do what PRESTO does there",
                    psr_path_called(u->source_desc.path[0]), (long long)gap->count,
                    (long long)gap->first);
}

static psr_status take_interval(struct psr_rfi_state *u, size_t *n, psr_err *err)
{
    const struct psr_span *gap;
    const void *spectra;
    struct psr_rfi_reader *r = &u->reader;
    if (!r->filled)
        read_next(r);
    spectra = r->spectra[r->next];
    *n = r->n;
    r->filled = false;
    if (r->spectra[1])
        r->next = !r->next;
    if (r->status && err)
        *err = r->err;
    psr_status st = r->status;
    const double began = psr_seconds();
    const size_t ngap = psr_source_gaps(u->source, &gap);
    if (!st)
        st = check_gaps(u, gap, ngap, err);
    if (!st && *n)
        st = psr_rfifind_execute(u->plan, spectra, *n, gap, ngap, err);
    u->r->compute_s += psr_seconds() - began;
    u->r->read_s = u->reader.seconds;
    u->r->nread += (int64_t)*n;
    return st;
}

static psr_status read_all(struct psr_rfi_state *u, psr_err *err)
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
    if (!st && u->r->nread < (int64_t)u->block)
        st = psr_fail_field(err, PSR_EUNSUPPORTED, "time",
                            "%s: %lld spectra, %.6g s, are less than a block of %zu, %.6g s",
                            psr_path_called(u->source_desc.path[0]), (long long)u->r->nread,
                            (double)u->r->nread * psr_source_obs(u->source)->tsamp_s, u->block,
                            (double)u->block * psr_source_obs(u->source)->tsamp_s);
    if (!st)
        st = psr_rfifind_finish(u->plan, &u->r->stats, &u->r->list, err);
    if (!st)
        st = psr_rfifind_lines(u->plan, &u->r->lines, err);
    u->r->nclipped = psr_rfifind_clipped(u->plan);
    return st;
}

/* Of PSRFITS; where PRESTO reverses the band it rounds. */
static double lowest_as_presto(const struct psr_rfi_state *u)
{
    const struct psr_obs *obs = psr_source_obs(u->source);
    const double lowest = psr_obs_lowest_mhz(obs);
    bool descending = psr_obs_freq_mhz(obs, 0) > psr_obs_freq_mhz(obs, obs->nchan - 1);
    return descending ? (double)(float)lowest : lowest;
}

static psr_status compute(struct psr_rfi_state *u, psr_err *err)
{
    psr_status st = open_input(u, err);
    if (!st)
        st = choose_interval(u, err);
    if (!st)
        st = rfi_read_old_mask(u, err);
    if (!st)
        st = choose_channels(u, err);
    if (!st)
        st = create_plan(u, err);
    if (!st)
        st = read_all(u, err);
    if (!st)
        st = rfi_allocate_flags(u->r, err);
    if (st)
        return st;
    /* Intervals that the stream found incomplete, or in which data are missing, have these statistics;
     * no others do. */
    const size_t nchan = u->r->stats.nchan;
    for (size_t i = 0; i < u->r->stats.nint; i++) {
        bool padded = true;
        for (size_t k = i * nchan; k < (i + 1) * nchan && padded; k++)
            padded =
                u->r->stats.power[k] == 1 && u->r->stats.mean[k] == 0 && u->r->stats.sd[k] == 0;
        memset(u->r->flags + i * nchan, padded ? PSR_RFI_PADDING : 0, nchan);
    }
    char name[PSR_TEXT_MAX];
    strcpy(name, u->inf.name);
    psr_inf_from_obs(&u->inf, u->obs, psr_source_file_nbit(u->source));
    strcpy(u->inf.name, name);
    u->inf.nbin = u->r->nread;
    u->inf.tbin_s = u->obs->tsamp_s;
    if (u->d->presto && u->obs->block_nsamp > 0)
        u->inf.lowest_mhz = lowest_as_presto(u);
    return PSR_OK;
}

static void close_run(struct psr_rfi_state *u)
{
    psr_rfifind_destroy(u->plan);
    psr_source_close(u->source);
    psr_mask_clear(&u->old);
    free(u->keep);
    free(u->reader.spectra[0]);
    free(u->reader.spectra[1]);
    free(u);
}

/* Copies what a description points to. */
static psr_status take_descs(struct psr_rfi_state *u, psr_err *err)
{
    const struct psr_rfi_run_desc *d = u->d;
    if (!d->source)
        return psr_fail_field(err, PSR_EINVAL, "source", "rfifind: source is missing");
    psr_status st = psr_copy_desc(&u->source_desc, sizeof u->source_desc, d->source, "source", err);
    psr_rfi_rules_defaults(&u->rules);
    if (!st && d->rules)
        st = psr_copy_desc(&u->rules, sizeof u->rules, d->rules, "rules", err);
    return st;
}

static psr_status run(struct psr_rfi_run_report *report, const struct psr_rfi_run_desc *desc,
                      psr_err *err)
{
    psr_output_group *group = NULL;
    memset(report, 0, sizeof *report);
    psr_obs_init(&report->obs);
    struct psr_rfi_run_desc copy;
    psr_status st = psr_copy_desc(&copy, sizeof copy, desc, "rfifind", err);
    if (st)
        return st;
    struct psr_rfi_state *u = calloc(1, sizeof *u);
    if (!u)
        return psr_fail_nomem(err, "rfifind", sizeof *u);
    u->d = &copy;
    u->r = report;
    st = take_descs(u, err);
    if (!st)
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
                                            .notes = u->source_desc.notes},
            err);
    if (!st)
        st = copy.nocompute ? rfi_read_results(u, err) : compute(u, err);
    if (!st)
        st = rfi_make_mask(u, err);
    if (!st)
        st = rfi_write_results(u, group, err);
    else
        psr_output_group_abort(group);
    close_run(u);
    return st;
}

psr_status psr_rfi_run_sized(struct psr_rfi_run_report *report, size_t size,
                             const struct psr_rfi_run_desc *desc, psr_err *err)
{
    struct psr_rfi_run_report all;
    psr_status st = run(&all, desc, err);
    psr_give_desc(report, size, &all, sizeof all);
    return st;
}

void psr_rfi_run_clear(struct psr_rfi_run_report *r)
{
    psr_obs_clear(&r->obs);
    psr_rfi_stats_clear(&r->stats);
    psr_rfi_list_clear(&r->list);
    psr_mask_clear(&r->mask);
    psr_rfi_lines_clear(&r->lines);
    free(r->flags);
    free(r->found);
    r->flags = r->found = NULL;
}
