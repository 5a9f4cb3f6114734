/* What made a series, told in its .inf file, and which series are there already (-resume). */
#include "gpudedisp.h"

#include "digest.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_subband(const struct gpudedisp_job *j, const struct gpudedisp_line *l)
{
    return !strcmp(j->opt.algo, "subband") && l->nsub > 0;
}

/* Sums of floats may depend on which trials share them; those of integers are exact. */
static bool has_floats(const struct gpudedisp_job *j)
{
    int nbit = j->clean ? psr_clean_nbit(j->clean) : psr_source_obs(j->source)->nbit;
    return nbit == 32;
}

/* Whether each trial of a line is what it is whatever the others are. */
static bool is_independent(const struct gpudedisp_job *j, const struct gpudedisp_line *l)
{
    return !is_subband(j, l) && !j->opt.tol && !has_floats(j);
}

/* --- notes ------------------------------------------------------------------------------------ */

static uint64_t digest_mask(uint64_t d, const struct psr_mask *m)
{
    if (!m->nint)
        return d;
    d = digest_bytes(d, &m->dtint_s, sizeof m->dtint_s);
    d = digest_bytes(d, m->zap_chan, m->nchan);
    d = digest_bytes(d, m->zap_int, m->nint);
    d = digest_bytes(d, m->all_chan, m->nint);
    d = digest_bytes(d, m->first, (m->nint + 1) * sizeof *m->first);
    d = digest_bytes(d, m->chan, m->first[m->nint] * sizeof *m->chan);
    return digest_bytes(d, m->padding, m->nchan * sizeof *m->padding);
}

/* All that decides on the samples of any series, but for the trials. */
static uint64_t digest_run(const struct gpudedisp_job *j)
{
    const struct gpudedisp_options *o = &j->opt;
    const struct psr_obs *obs = psr_source_obs(j->source);
    const struct {
        const void *at;
        size_t n;
    } part[] = {
        {&o->filterbank, sizeof o->filterbank},
        {&o->psrfits, sizeof o->psrfits},
        {&o->no_weights, sizeof o->no_weights},
        {&o->no_scales, sizeof o->no_scales},
        {&o->no_offsets, sizeof o->no_offsets},
        {&o->invert, sizeof o->invert},
        {&o->if_choice, sizeof o->if_choice},
        {&o->offset, sizeof o->offset},
        {&o->start, sizeof o->start},
        {&o->clip_sigma, sizeof o->clip_sigma},
        {&o->noclip, sizeof o->noclip},
        {&o->zerodm, sizeof o->zerodm},
        {&o->runavg, sizeof o->runavg},
        {&o->tol, sizeof o->tol},
        {&o->nobary, sizeof o->nobary},
        {&o->numout, sizeof o->numout},
        {&o->nopad, sizeof o->nopad},
        {&j->dmconst, sizeof j->dmconst},
        {&j->input_digest, sizeof j->input_digest},
        {&obs->nsamp, sizeof obs->nsamp},
        {j->keep, obs->nchan},
    };
    uint64_t d = digest_text(DIGEST_START, PSRKIT_VERSION);
    for (size_t k = 0; k < sizeof part / sizeof *part; k++)
        d = digest_bytes(d, part[k].at, part[k].n);
    d = digest_text(digest_text(d, o->site), o->position);
    return digest_mask(d, &j->mask);
}

/* The longest sweep decides on the length of all series of a line. */
static uint64_t digest_line(const struct gpudedisp_job *j, const struct gpudedisp_line *l,
                            uint64_t run)
{
    uint64_t maxshift = l->plan ? psr_dedisp_maxshift(l->plan) : 0;
    uint64_t d = digest_bytes(run, &l->downsamp, sizeof l->downsamp);
    d = digest_bytes(d, &maxshift, sizeof maxshift);
    if (is_subband(j, l) || j->opt.sub)
        d = digest_bytes(d, &l->nsub, sizeof l->nsub);
    if (has_floats(j))
        d = digest_bytes(d, j->dm, j->ndm * sizeof *j->dm);
    else if (!is_independent(j, l))
        d = digest_bytes(d, j->dm + l->first, l->ndm * sizeof *j->dm);
    return digest_text(d, is_subband(j, l) ? "subband" : j->opt.sub ? "sub" : "direct");
}

static void write_note(const struct gpudedisp_job *j, struct gpudedisp_line *l, uint64_t digest)
{
    char algo[32] = "direct";
    struct psr_dedisp_info info = {.backend = "cpu"};
    if (l->plan)
        psr_dedisp_describe(l->plan, &info);
    if (j->opt.sub)
        strcpy(algo, "sub-bands");
    else if (is_subband(j, l))
        snprintf(algo, sizeof algo, "subband %lld", (long long)l->nsub);
    else if (j->opt.tol)
        snprintf(algo, sizeof algo, "direct tol %lld", (long long)j->opt.tol);
    snprintf(l->note, sizeof l->note, "psrkit %s gpudedisp, %s, %s, settings %016llx",
             PSRKIT_VERSION, algo, info.backend, (unsigned long long)digest);
}

psr_status gpudedisp_take_notes(struct gpudedisp_job *j)
{
    for (size_t k = 0; k < j->nline; k++)
        j->line[k].most = -1;
    if (j->opt.nowrite)
        return PSR_OK;
    psr_status st = digest_files(&j->input_digest, &j->input_changed, j->path, j->npath, &j->err);
    if (st != PSR_OK)
        return st;
    uint64_t run = digest_run(j);
    for (struct gpudedisp_line *l = j->line; l < j->line + j->nline; l++)
        write_note(j, l, digest_line(j, l, run));
    return PSR_OK;
}

/* An input that is gone was changed too. */
void gpudedisp_check_notes(struct gpudedisp_job *j)
{
    uint64_t digest;
    struct timespec now, then = j->input_changed;
    if (digest_files(&digest, &now, j->path, j->npath, NULL) == PSR_OK &&
        digest == j->input_digest && now.tv_sec == then.tv_sec && now.tv_nsec == then.tv_nsec)
        return;
    for (struct gpudedisp_line *l = j->line; l < j->line + j->nline; l++)
        strcpy(strstr(l->note, ", settings"), ", input changed meanwhile");
}

/* --- resuming --------------------------------------------------------------------------------- */

static bool is_later(struct timespec a, struct timespec b)
{
    return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
}

/* Returned: how many are done. */
static size_t find_done(const struct gpudedisp_job *j, const struct psr_series_desc *desc,
                        bool *done)
{
    size_t n = 0;
    for (size_t i = 0; i < j->ndm; i++) {
        struct timespec made;
        done[i] = psr_series_is_there(desc, i, &made) && is_later(made, j->input_changed);
        n += done[i];
    }
    return n;
}

/* Trials that depend on each other are made together or not at all. */
static size_t keep_together(const struct gpudedisp_job *j, bool *done, size_t ndone)
{
    for (const struct gpudedisp_line *l = j->line; l < j->line + j->nline; l++) {
        size_t first = has_floats(j) ? 0 : l->first, n = has_floats(j) ? j->ndm : l->ndm;
        if (is_independent(j, l) || !memchr(done + first, false, n))
            continue;
        for (size_t i = l->first; i < l->first + l->ndm; i++) {
            ndone -= done[i];
            done[i] = false;
        }
    }
    return ndone;
}

/* Closes the gaps that trials leave which are done, and those of lines that have none left. */
static void drop_done(struct gpudedisp_job *j, const bool *done)
{
    int64_t nsamp = psr_source_obs(j->source)->nsamp;
    size_t ndm = 0, nline = 0;
    for (size_t k = 0; k < j->nline; k++) {
        struct gpudedisp_line l = j->line[k];
        size_t first = ndm;
        for (size_t i = l.first; i < l.first + l.ndm; i++)
            if (!done[i])
                j->dm[ndm++] = j->dm[i];
        l.most = nsamp / l.downsamp - (int64_t)psr_dedisp_maxshift(l.plan);
        l.first = first;
        l.ndm = ndm - first;
        psr_resample_destroy(l.resample);
        l.resample = NULL;
        l.plan = NULL;
        if (l.ndm)
            j->line[nline++] = l;
    }
    j->ndm = ndm;
    j->nline = nline;
}

/* Plans and epochs again, for the trials that are left, without saying all again. */
static psr_status plan_again(struct gpudedisp_job *j)
{
    bool quiet = j->opt.quiet;
    psr_fanout_destroy(j->fan);
    j->fan = NULL;
    free(j->bary.epoch);
    j->bary.epoch = NULL;
    j->bary.voverc = 0;
    if (j->ndm == 0)
        return PSR_OK;
    j->opt.quiet = true;
    psr_status st = gpudedisp_prepare_bary(j);
    if (st == PSR_OK)
        st = gpudedisp_create_plans(j);
    j->opt.quiet = quiet;
    return st;
}

psr_status gpudedisp_resume(struct gpudedisp_job *j)
{
    struct psr_series_desc desc;
    if (!j->opt.resume)
        return PSR_OK;
    if (psr_source_obs(j->source)->nsamp < 0)
        return psr_fail(&j->err, PSR_EINVAL, "%s: -resume needs files, which can be told again",
                        j->path[0]);
    psr_status st = gpudedisp_describe_series(j, &desc);
    bool *done = malloc(j->ndm * sizeof *done);
    if (st == PSR_OK && !done)
        st = psr_fail_nomem(&j->err, "the list of trials", (double)j->ndm);
    if (st == PSR_OK) {
        size_t all = j->ndm, n = keep_together(j, done, find_done(j, &desc, done));
        if (!j->opt.quiet)
            psr_note(&(struct psr_notes){cli_note, &j->tool},
                     "%zu of %zu trials are there already and stay as they are", n, all);
        if (n > 0) {
            drop_done(j, done);
            st = plan_again(j);
        }
    }
    free(done);
    return st;
}
