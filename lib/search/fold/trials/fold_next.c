/* Plans the block of a candidate that comes next: its runs, and the values of replaced samples. */
#include "search/fold/fold_plan.h"
#include "search/fold/fold_replaced.h"

bool psr_fold_is_ready(const struct psr_fold *f, const struct psr_fold_cube *cube)
{
    return cube->next < psr_fold_blocks(f) && cube->next + cube->ahead < psr_fold_arrived(f);
}

psr_status psr_fold_plan_block(const struct psr_fold *f, struct psr_fold_cube *cube, psr_err *err)
{
    const size_t per_part = f->d.part_blocks, part = cube->next / per_part;
    const double block_s = (double)f->d.block * f->d.tsamp_s;
    psr_fold_replaced_find(f, cube);
    return psr_fold_runs_find(
        &cube->runs,
        &(struct psr_fold_samples){.begin_s = (double)(part * per_part) * block_s +
                                              (double)(cube->next % per_part) * block_s,
                                   .tsamp_s = f->d.tsamp_s,
                                   .n = f->d.block},
        err);
}
