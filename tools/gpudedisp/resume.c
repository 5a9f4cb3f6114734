/* -resume: which series are there already, and the run without them. */
#include "gpudedisp.h"

#include <stdlib.h>
#include <string.h>

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
        if (gpudedisp_line_is_independent(j, l) || !memchr(done + l->first, false, l->ndm))
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
                        gpudedisp_input_name(j));
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
