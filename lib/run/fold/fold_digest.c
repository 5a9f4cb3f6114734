/* Digests of everything that affects a fold. */
#include "folder.h"

#include "base/output/outfile_internal.h"

#include <config.h>
#include <unistd.h>

static uint64_t digest_integers(uint64_t d, const int64_t *value, size_t n)
{
    return psr_digest_bytes(d, value, n * sizeof *value);
}

static uint64_t digest_options(uint64_t digest, const struct psr_folder_desc *d, int64_t nsamp)
{
    const int64_t integer[] = {
        nsamp,        d->input,      d->if_choice,  d->no_weights, d->no_scales,    d->no_offsets,
        d->invert,    d->noclip,     d->zerodm,     d->topo,       d->nsub,         d->npart,
        d->pstep,     d->pdstep,     d->dmstep,     d->npfact,     d->ndmfact,      d->nosearch,
        d->nopsearch, d->nopdsearch, d->nodmsearch, d->searchpdd,  d->mask != NULL, d->clean_auto,
        d->refine,    d->pols,       d->presto};
    const double number[] = {d->start, d->end,   d->clip_sigma, d->length_s,
                             d->dm_lo, d->dm_hi, d->stay_bins};
    digest = psr_digest_text(digest, "fold " PACKAGE_VERSION);
    digest = digest_integers(digest, integer, sizeof integer / sizeof *integer);
    digest = psr_digest_bytes(digest, number, sizeof number);
    digest = psr_digest_text(digest, d->ignorechan);
    digest = psr_digest_text(digest, d->position);
    return psr_digest_text(digest, d->site);
}

static psr_status add_files(uint64_t *digest, struct timespec *changed, const char *const *path,
                            size_t npath, psr_err *err)
{
    uint64_t files = 0;
    struct timespec when = {.tv_sec = 0};
    psr_status st = psr_digest_files(&files, &when, path, npath, err);
    *digest = psr_digest_bytes(*digest, &files, sizeof files);
    if (when.tv_sec > changed->tv_sec ||
        (when.tv_sec == changed->tv_sec && when.tv_nsec > changed->tv_nsec))
        *changed = when;
    return st;
}

psr_status psr_fold_digest_run(uint64_t *digest, struct timespec *changed,
                               const struct psr_folder_desc *d, int64_t nsamp, psr_err *err)
{
    *digest = digest_options(PSR_DIGEST_START, d, nsamp);
    *changed = (struct timespec){.tv_sec = 0};
    psr_status st = add_files(digest, changed, d->path, d->npath, err);
    if (!st && d->mask)
        st = add_files(digest, changed, &d->mask, 1, err);
    if (!st && d->ignorechan && access(d->ignorechan, R_OK) == 0)
        st = add_files(digest, changed, &d->ignorechan, 1, err);
    return st;
}

uint64_t psr_fold_digest_candidate(uint64_t run, const struct psr_fold_candidate *c,
                                   const struct psr_fold_orbit *o)
{
    const double number[] = {c->f,        c->fd,  c->fdd,     c->phase,     c->dm,
                             o->period_s, o->ecc, o->asini_s, o->omega_deg, o->t0_mjd};
    const int64_t nbin = (int64_t)c->nbin;
    uint64_t d = psr_digest_bytes(run, number, sizeof number);
    d = digest_integers(d, &nbin, 1);
    d = psr_digest_bytes(d, c->time_s, c->ndelay * sizeof *c->time_s);
    d = psr_digest_bytes(d, c->delay_s, c->ndelay * sizeof *c->delay_s);
    return d ? d : 1;
}
