/* Adds the turn that the end of the input cuts to the part in which it ends.  Bins that it does not reach get the mean
 * of the part's samples, so that the profile has no step. */
#include "fold_plan.h"

#include <math.h>
#include <stdlib.h>

enum { GROUP = PSR_FOLD_GROUP };

/* Share of each bin that the turn has filled: from the phase of the first sample on, as all turns.
 * Given: share   [nbin] */
static void find_shares(struct psr_fold_cube *cube, double *share)
{
    const double nbin = (double)cube->cand.nbin, filled = cube->runs.spread.filled * nbin;
    const long double phase = psr_fold_phase(&(struct psr_fold_clock){.cand = &cube->cand}, 0);
    const double begin = (double)(phase - floorl(phase)) * nbin;
    for (size_t b = 0; b < cube->cand.nbin; b++) {
        double sum = 0;
        for (int turn = 0; turn < 2; turn++) {
            const double low = (double)b + turn * nbin;
            sum += fmax(fmin(low + 1, begin + filled) - fmax(low, begin), 0);
        }
        share[b] = fmin(sum, 1);
    }
}

static void add_band(struct psr_fold_cube *cube, struct psr_fold_stats *stats, double *profile,
                     const double *turn, const double *share, double tsamp_s)
{
    const size_t nbin = cube->cand.nbin;
    const double per_bin = 1 / (cube->cand.f * tsamp_s * (double)nbin);
    for (size_t b = 0; b < nbin; b++)
        profile[b] += turn[b * GROUP] + (1 - share[b]) * per_bin * stats->data_avg;
    const double count = stats->numdata;
    *stats =
        psr_fold_make_stats(nbin, count, stats->data_avg, stats->data_var * (count - 1), profile);
}

psr_status psr_fold_add_last_turn(const struct psr_fold *f, struct psr_fold_slice *s, psr_err *err)
{
    struct psr_fold_cube *cube = s->cube;
    const size_t nbin = cube->cand.nbin;
    if (!cube->next || !(cube->runs.spread.filled > 0))
        return PSR_OK;
    double *share = calloc(nbin, sizeof *share);
    if (!share)
        return psr_fail_nomem(err, "the last turn", (double)nbin * sizeof *share);
    find_shares(cube, share);
    const size_t part = (cube->next - 1) / f->d.part_blocks;
    for (size_t j = 0; j < s->n; j++) {
        const size_t at = part * f->d.nsub + s->first + j;
        add_band(cube, &cube->stats[at], cube->profile + at * nbin, s->bins.turn + j, share,
                 f->d.tsamp_s);
    }
    free(share);
    return PSR_OK;
}
