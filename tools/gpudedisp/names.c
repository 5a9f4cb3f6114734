/* The names of all outputs, none of which may be that of a file that is read, and what they take. */
#include "gpudedisp.h"

#include "base/path.h"
#include "formats/series_name.h"
#include "tools/common/guard.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 4096 };

static psr_status add_inputs(struct gpudedisp_job *j, struct guard *g, const char *stats)
{
    const struct gpudedisp_options *o = &j->opt;
    const char *const beside[] = {o->mask, stats, o->dms, o->plan, o->ignorechan};
    psr_status st = PSR_OK;
    for (size_t k = 0; k < j->npath && !st; k++)
        st = guard_add(g, j->path[k], &j->err);
    for (size_t k = 0; k < sizeof beside / sizeof *beside && !st; k++)
        st = guard_add(g, beside[k], &j->err);
    guard_sort(g);
    return st;
}

static psr_status check_name(struct gpudedisp_job *j, const struct guard *g, const char *name)
{
    psr_status st = psr_outfile_check_path(name, &j->err);
    return st ? st : guard_check(g, name, &j->err);
}

/* Of one trial. */
static psr_status check_trial(struct gpudedisp_job *j, const struct guard *g, double dm)
{
    const struct gpudedisp_options *o = &j->opt;
    bool tim = !strcmp(o->format, "tim"), series = !o->nowrite && !o->sub;
    const struct {
        const char *suffix;
        bool wanted;
    } file[] = {
        {".dat", series && !tim}, {".inf", series && !tim},         {".tim", series && tim},
        {".sub.inf", o->sub},     {".singlepulse", o->singlepulse},
    };
    char stem[PSR_TEXT_MAX], name[NAME_BYTES];
    psr_status st = PSR_OK;
    psr_series_stem(stem, o->root, dm, (int)o->dmprec);
    for (size_t k = 0; k < sizeof file / sizeof *file && !st; k++) {
        snprintf(name, sizeof name, "%s%s", stem, file[k].suffix);
        if (file[k].wanted)
            st = check_name(j, g, name);
    }
    return st;
}

static psr_status check_subbands(struct gpudedisp_job *j, const struct guard *g)
{
    size_t nsub = gpudedisp_count_subbands(j);
    psr_status st = PSR_OK;
    for (size_t s = 0; s < nsub && !st; s++) {
        char stem[PSR_TEXT_MAX], name[NAME_BYTES];
        psr_series_stem(stem, j->opt.root, j->dm[0], (int)j->opt.dmprec);
        snprintf(name, sizeof name, "%s.sub%0*zu", stem, subbands_digits(nsub), s);
        st = check_name(j, g, name);
    }
    return st;
}

static psr_status check_all(struct gpudedisp_job *j, const struct guard *g)
{
    const struct gpudedisp_options *o = &j->opt;
    char list[NAME_BYTES];
    psr_status st = PSR_OK;
    for (size_t i = 0; i < j->ndm && !st; i++)
        st = check_trial(j, g, j->dm[i]);
    if (!st && o->sub)
        st = check_subbands(j, g);
    snprintf(list, sizeof list, "%s.cand", o->root);
    if (!st && o->singlepulse)
        st = check_name(j, g, list);
    if (!st && o->plot)
        st = guard_check(g, o->plot, &j->err);
    return st;
}

psr_status gpudedisp_check_names(struct gpudedisp_job *j)
{
    struct guard g = {0};
    if (!j->opt.root || !strcmp(j->opt.root, "-"))
        return PSR_OK;
    char *stats = j->opt.mask ? psr_path_beside(j->opt.mask, ".stats") : NULL;
    psr_status st = add_inputs(j, &g, stats);
    if (!st)
        st = check_all(j, &g);
    guard_clear(&g);
    free(stats);
    return st;
}

psr_status gpudedisp_claim_outputs(struct gpudedisp_job *j)
{
    const struct gpudedisp_options *o = &j->opt;
    struct psr_output_group_desc claim = psr_series_claim(&(struct psr_series_desc){
        .root = o->root, .dm_decimals = (int)o->dmprec, .ndm = j->ndm, .dm = j->dm});
    if (o->nowrite && !o->singlepulse)
        claim.root = NULL;
    claim.common = o->singlepulse;
    if (!o->quiet)
        claim.notes = (struct psr_notes){cli_note, &j->tool};
    return psr_output_group_create(&j->group, &claim, &j->err);
}

/* Samples of a series; of a pipe, those that were asked for. */
static double expect_length(const struct gpudedisp_job *j, const struct gpudedisp_line *l)
{
    int64_t nsamp = psr_source_obs(j->source)->nsamp;
    if (j->opt.numout)
        return (double)j->opt.numout;
    if (nsamp < 0)
        return 0;
    return (double)(j->opt.nopad ? nsamp / l->downsamp : psr_good_length(nsamp / l->downsamp));
}

psr_status gpudedisp_check_room(struct gpudedisp_job *j)
{
    double samples = 0;
    for (const struct gpudedisp_line *l = j->line; l < j->line + j->nline; l++)
        samples += (double)l->ndm * expect_length(j, l);
    return j->opt.nowrite ? PSR_OK
                          : psr_output_group_check_room(j->group, samples * sizeof(float), &j->err);
}

psr_status gpudedisp_create_subbands(struct gpudedisp_job *j, size_t nsub, enum subbands_rule rule,
                                     struct subbands **bands)
{
    int64_t nsamp = psr_source_obs(j->source)->nsamp, n = nsamp < 0 ? 0 : nsamp / j->line->downsamp;
    if (j->opt.numout && (nsamp < 0 || j->opt.numout < n))
        n = j->opt.numout;
    return subbands_create(bands,
                           &(struct subbands_desc){.root = j->opt.root,
                                                   .dm_decimals = (int)j->opt.dmprec,
                                                   .dm = j->dm[0],
                                                   .nsub = nsub,
                                                   .nsamp = n,
                                                   .rule = rule},
                           &j->err);
}
