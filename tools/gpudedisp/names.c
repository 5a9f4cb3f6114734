/* The names of all outputs, none of which may be that of a file that is read. */
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
            st = guard_check(g, name, &j->err);
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
        st = guard_check(g, name, &j->err);
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
        st = guard_check(g, list, &j->err);
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
