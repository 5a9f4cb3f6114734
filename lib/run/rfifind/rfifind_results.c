/* The files of a search for interference. */
#include "rfifind_results.h"

#include "base/input/readfd.h"
#include "rfi/rules/clean_internal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *psr_rfi_suffix(int file)
{
    static const char *const suffix[PSR_RFI_NFILE] = {
        [PSR_RFI_FILE_RFI] = "rfi",         [PSR_RFI_FILE_BYTEMASK] = "bytemask",
        [PSR_RFI_FILE_STATS] = "stats",     [PSR_RFI_FILE_MOMENTS] = "moments",
        [PSR_RFI_FILE_ZAPLIST] = "zaplist", [PSR_RFI_FILE_BIRDS] = "birds",
        [PSR_RFI_FILE_INF] = "inf",         [PSR_RFI_FILE_MASK] = "mask"};
    return suffix[file];
}

bool psr_rfi_is_written(const struct psr_rfi_state *u, int file)
{
    if (u->d->nocompute)
        return file == PSR_RFI_FILE_MASK || file == PSR_RFI_FILE_BYTEMASK;
    if (file == PSR_RFI_FILE_MOMENTS)
        return u->d->moments;
    if (file == PSR_RFI_FILE_ZAPLIST || file == PSR_RFI_FILE_BIRDS)
        return u->d->line_sigma > 0;
    return true;
}

psr_status psr_rfi_read_old_mask(struct psr_rfi_state *u, psr_err *err)
{
    if (!u->d->old_mask)
        return PSR_OK;
    return psr_mask_read(&u->old, u->d->old_mask, u->d->mem_bytes, err);
}

psr_status psr_rfi_allocate_flags(struct psr_rfi_run_report *r, psr_err *err)
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

psr_status psr_rfi_read_results(struct psr_rfi_state *u, psr_err *err)
{
    psr_status st = psr_rfi_read_old_mask(u, err);
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
        st = psr_rfi_allocate_flags(u->r, err);
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

psr_status psr_rfi_make_mask(struct psr_rfi_state *u, psr_err *err)
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

psr_status psr_rfi_write_results(struct psr_rfi_state *u, psr_output_group *group, psr_err *err)
{
    psr_status st = PSR_OK;
    for (int k = 0; k < PSR_RFI_NFILE && !st; k++) {
        psr_outfile *f;
        if (!psr_rfi_is_written(u, k))
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
