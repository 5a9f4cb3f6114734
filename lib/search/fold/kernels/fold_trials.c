/* Trials around a fold, in prepfold's arithmetic: where rounding decides by how many bins a profile
 * is rotated, every operation matters. */
#include "fold_trials.h"

#include "base/threads/isa.h"
#include <psrkit/ddplan.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double find_highest(const struct psr_pfd *p)
{
    double high_mhz = 0;
    if (!p->sub_mhz)
        return p->lofreq_mhz + (p->nchan - 1.0) * p->width_mhz;
    for (int32_t j = 0; j < p->nsub; j++)
        high_mhz = fmax(high_mhz, p->sub_mhz[j]);
    return high_mhz;
}

psr_status psr_fold_trials_init(struct psr_fold_trials *t, const struct psr_pfd *fold,
                                const struct psr_fold_times *times, psr_err *err)
{
    *t = (struct psr_fold_trials){.fold = fold,
                                  .npart = (size_t)fold->npart,
                                  .nsub = (size_t)fold->nsub,
                                  .nbin = (size_t)fold->nbin,
                                  .nperiod = (size_t)fold->nperiod,
                                  .npdot = (size_t)fold->npdot,
                                  .high_mhz = find_highest(fold)};
    t->part_s = calloc(t->npart, sizeof *t->part_s);
    t->fdot = calloc(t->npdot, sizeof *t->fdot);
    t->fdotdot = calloc(t->npdot, sizeof *t->fdotdot);
    if (!t->part_s || !t->fdot || !t->fdotdot) {
        psr_fold_trials_clear(t);
        return psr_fail_nomem(err, "the trials of a fold", (double)(t->npart + 2 * t->npdot) * 8);
    }
    for (size_t i = 0; i < t->npart; i++)
        t->part_s[i] = (double)(i * times->part_blocks) * times->block_s;
    /* Steps of a derivative are those that delay the last part's end by pdstep bins. */
    const double length_s = times->length_s;
    const struct psr_pfd *p = t->fold;
    for (size_t i = 0; i < t->npdot; i++) {
        const double steps = (double)i - (double)((t->npdot - 1) / 2);
        const double turns = steps * p->pdstep / (double)t->nbin;
        t->fdot[i] = 2.0 * turns / (length_s * length_s);
        t->fdotdot[i] = 6.0 * turns / (length_s * length_s * length_s);
    }
    return PSR_OK;
}

void psr_fold_trials_clear(struct psr_fold_trials *t)
{
    free(t->part_s);
    free(t->fdot);
    free(t->fdotdot);
    t->part_s = t->fdot = t->fdotdot = NULL;
}

void psr_fold_trials_delays(const struct psr_fold_trials *t, size_t pddot, size_t pdot,
                            double *delay)
{
    const double fd = t->fdot[pdot], fdd = t->fdotdot[pddot], nbin = (double)t->nbin;
    for (size_t i = 0; i < t->npart; i++) {
        const double s = t->part_s[i], cubic = fdd * s * s * s / 6.0 * nbin;
        delay[i] = cubic + fd * s * s / 2.0 * nbin;
    }
}

/* x - trunc(x / n) n, which is exact, is fmod's result or n away from it where the quotient is
 * rounded; the sum below gives the same bits then. */
size_t psr_fold_trials_offset(const struct psr_fold_trials *t, double delay, size_t i,
                              size_t period)
{
    const double steps = (double)period - (double)((t->nperiod - 1) / 2), n = (double)t->nbin;
    const double whole = (double)i * (steps * t->fold->pstep);
    const double x = -(delay + whole / (double)t->npart);
    double rest = fma(-trunc(x / n), n, x);
    if (rest < 0)
        rest += n;
    const size_t offset = (size_t)(rest + 0.5);
    return offset < t->nbin ? offset : 0;
}

double psr_fold_trials_dm_bins(const struct psr_fold_trials *t, double dm, size_t j)
{
    const struct psr_pfd *p = t->fold;
    const double bins_per_s = p->fold.f * p->nbin, doppler = 1.0 + p->voverc;
    const double band_mhz = p->width_mhz * (p->nchan / p->nsub);
    const double first_mhz = p->lofreq_mhz + band_mhz - p->width_mhz;
    const double high_s = psr_delay_s(PSR_DMCONST_PRESTO, dm, t->high_mhz * doppler);
    const double mhz = (p->sub_mhz ? p->sub_mhz[j] : first_mhz + (double)j * band_mhz) * doppler;
    return (psr_delay_s(PSR_DMCONST_PRESTO, dm, mhz) - high_s) * bins_per_s;
}

void psr_fold_trials_dm_offsets(const struct psr_fold_trials *t, double dm, size_t *offset)
{
    for (size_t j = 0; j < t->nsub; j++) {
        const double bins = psr_fold_trials_dm_bins(t, dm, j);
        const double whole = bins < 0 ? ceil(bins - 0.5) : floor(bins + 0.5);
        const double rest = fmod(whole, t->fold->nbin);
        offset[j] = rest > 0 ? (size_t)rest : 0;
    }
}

PSR_CLONES static void add_profile(double *restrict to, const double *restrict from, size_t n)
{
    for (size_t b = 0; b < n; b++)
        to[b] += from[b];
}

/* to[b] += from[(b + offset) modulo n] */
static void add_rotated(double *to, const double *from, size_t n, size_t offset)
{
    add_profile(to, from + offset, n - offset);
    add_profile(to + (n - offset), from, offset);
}

void psr_fold_trials_add_bands(const struct psr_fold_trials *t, size_t i, const size_t *offset,
                               double *profile)
{
    const double *from = t->fold->profile + i * t->nsub * t->nbin;
    for (size_t j = 0; j < t->nsub; j++)
        add_rotated(profile, from + j * t->nbin, t->nbin, offset[j]);
}

void psr_fold_trials_add_stats(const struct psr_fold_trials *t, struct psr_fold_stats *stats)
{
    for (size_t i = 0; i < t->npart; i++) {
        const struct psr_fold_stats *from = t->fold->stats + i * t->nsub;
        struct psr_fold_stats s = {.numdata = from->numdata, .numprof = from->numprof};
        for (size_t j = 0; j < t->nsub; j++) {
            s.data_avg += from[j].data_avg;
            s.data_var += from[j].data_var;
            s.prof_avg += from[j].prof_avg;
            s.prof_var += from[j].prof_var;
        }
        stats[i] = s;
    }
}

static double find_chi2(const double *profile, size_t n, double avg, double var)
{
    double sum = 0;
    for (size_t b = 0; b < n; b++)
        sum += (profile[b] - avg) * (profile[b] - avg);
    return sum / var;
}

void psr_fold_trials_sum(const struct psr_fold_trials *t, const struct psr_fold_trial *trial,
                         const double *part, const struct psr_fold_stats *part_stats, double *delay,
                         double *profile, struct psr_fold_stats *stats)
{
    struct psr_fold_stats s = {.numprof = (double)t->nbin};
    psr_fold_trials_delays(t, trial->pddot, trial->pdot, delay);
    memset(profile, 0, t->nbin * sizeof *profile);
    for (size_t i = 0; i < t->npart; i++) {
        add_rotated(profile, part + i * t->nbin, t->nbin,
                    psr_fold_trials_offset(t, delay[i], i, trial->period));
        s.numdata += part_stats[i].numdata;
        s.data_avg += part_stats[i].data_avg;
        s.data_var += part_stats[i].data_var;
        s.prof_avg += part_stats[i].prof_avg;
        s.prof_var += part_stats[i].prof_var;
    }
    s.data_avg /= (double)t->npart;
    s.data_var /= (double)t->npart;
    if (t->nbin > 1)
        s.redchi = find_chi2(profile, t->nbin, s.prof_avg, s.prof_var) / ((double)t->nbin - 1.0);
    *stats = s;
}
