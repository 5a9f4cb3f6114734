/* Joins the parts of a fold: longer ones, as of a slow candidate, whose turns do not fit into short ones. */
#include "fold_plan.h"
#include "search/fold/fold_internal.h"

#include <string.h>

/* The sum of n parts of one sub-band, nsub apart (variances by Chan, Golub and LeVeque 1983, eq. 2.1). */
static struct psr_fold_stats merge_stats(const struct psr_fold_stats *from, size_t n, size_t nsub,
                                         size_t nbin, const double *profile)
{
    double count = 0, mean = 0, square = 0;
    for (size_t i = 0; i < n; i++, from += nsub) {
        const double more = from->numdata, all = count + more, step = from->data_avg - mean;
        if (!(more > 0))
            continue;
        square += from->data_var * (more - 1) + step * step * count * more / all;
        mean += step * more / all;
        count = all;
    }
    return psr_fold_make_stats(nbin, count, mean, square, profile);
}

void psr_fold_merge_parts(const psr_fold *f, size_t i, size_t n, double *profile,
                          struct psr_fold_stats *stats)
{
    const struct psr_fold_cube *cube = &f->cube[i];
    const size_t nsub = f->d.nsub, nbin = cube->cand.nbin, size = nsub * nbin;
    for (size_t first = 0; first < f->d.npart; first += n, profile += size, stats += nsub) {
        const size_t left = f->d.npart - first, many = left < n ? left : n;
        memset(profile, 0, size * sizeof *profile);
        for (size_t k = 0; k < many; k++)
            for (size_t b = 0; b < size; b++)
                profile[b] += cube->profile[(first + k) * size + b];
        for (size_t j = 0; j < nsub; j++)
            stats[j] =
                merge_stats(cube->stats + first * nsub + j, many, nsub, nbin, profile + j * nbin);
    }
}
