/* Replaced samples of a fold.  Where they are constant throughout a block of a sub-band, as masked
 * channels mostly are, they are an offset of it, else they are added sample by sample. */
#include "fold_plan.h"

#include "base/tool.h"
#include <stdint.h>
#include <string.h>

/* Lists the steps of each channel. */
static void link_steps(struct psr_fold *f)
{
    for (size_t k = 0; k < f->nkept; k++)
        f->first_step[k] = SIZE_MAX;
    for (size_t i = f->nstep; i-- > 0;) {
        f->step[i].later = f->first_step[f->step[i].k];
        f->first_step[f->step[i].k] = i;
    }
}

psr_status psr_fold_replaced_take(struct psr_fold *f, const struct psr_step *step, size_t nstep,
                                  psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t i = 0; i < nstep && !st; i++) {
        const size_t k = f->place[step[i].c];
        if (k == SIZE_MAX)
            continue;
        st = psr_grow(&f->step, &f->step_room, f->nstep, sizeof *f->step,
                      "the values of replaced samples", err);
        if (!st)
            f->step[f->nstep++] =
                (struct psr_fold_step){.t = step[i].t, .k = k, .value = step[i].value};
    }
    if (nstep)
        link_steps(f);
    return st;
}

void psr_fold_replaced_forget(struct psr_fold *f)
{
    const int64_t begin = (int64_t)(f->begun * f->d.block);
    size_t kept = 0;
    for (size_t i = 0; i < f->nstep; i++) {
        const struct psr_fold_step *step = &f->step[i];
        if (step->t > begin) {
            f->step[kept++] = *step;
            continue;
        }
        f->nlevel += (step->value != 0) - (size_t)(f->level[step->k] != 0);
        f->level[step->k] = step->value;
    }
    if (kept < f->nstep) {
        f->nstep = kept;
        link_steps(f);
    }
}

/* Sample of a candidate's block at which a step takes effect. */
static int64_t find_sample(const struct psr_fold *f, const struct psr_fold_cube *cube,
                           const struct psr_fold_step *step)
{
    return step->t - (int64_t)(cube->next * f->d.block) - cube->delay[step->k];
}

void psr_fold_replaced_find(const struct psr_fold *f, struct psr_fold_cube *cube)
{
    const size_t nsub = f->d.nsub;
    cube->has_steps = false;
    for (size_t j = 0; j < nsub; j++)
        cube->offset[j] = (double)f->bias * (double)(f->band_first[j + 1] - f->band_first[j]);
    cube->has_values = f->nlevel || f->nstep;
    if (!cube->has_values)
        return;
    memcpy(cube->value, f->level, f->nkept * sizeof *cube->value);
    for (size_t i = 0; i < f->nstep; i++) {
        const int64_t t = find_sample(f, cube, &f->step[i]);
        if (t <= 0)
            cube->value[f->step[i].k] = f->step[i].value;
        cube->has_steps |= t > 0 && t < (int64_t)f->d.block;
    }
    for (size_t j = 0; j < nsub; j++)
        for (size_t k = f->band_first[j]; k < f->band_first[j + 1]; k++)
            cube->offset[j] += (double)cube->value[k];
}

static void add_value(float *x, float value, size_t from, size_t to)
{
    for (size_t t = from; t < to && value != 0; t++)
        x[t] += value;
}

/* Channels in order, whatever the order in which steps came: so sums are rounded alike. */
void psr_fold_replaced_add(const struct psr_fold *f, const struct psr_fold_cube *cube, size_t first,
                           size_t n, float *band)
{
    const size_t block = f->d.block;
    if (!cube->has_values)
        return;
    for (size_t k = f->band_first[first]; k < f->band_first[first + n]; k++) {
        float *x = band + (f->band[k] - first) * block, value = cube->value[k];
        size_t from = 0;
        for (size_t i = f->first_step[k]; i != SIZE_MAX; i = f->step[i].later) {
            const int64_t t = find_sample(f, cube, &f->step[i]);
            if (t <= 0 || t >= (int64_t)block)
                continue;
            add_value(x, value, from, (size_t)t);
            value = f->step[i].value;
            from = (size_t)t;
        }
        add_value(x, value, from, block);
    }
}
