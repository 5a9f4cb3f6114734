/* Folds candidates in one pass: a window of channels moves over the spectra, and each block in it is
 * folded into every candidate's cube. */
#include "base/base.h"
#include "base/device/device_internal.h"
#include "base/threads/threads.h"
#include "fold_plan.h"

#include <math.h>
#include <psrkit/device.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Adds the turn that the end of the input cuts to the part in which it ends.  Bins that it does not reach get the mean
 * of the part's samples, so that the profile has no step. */

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

/* Adds what the slice has of the turn that is not complete to the last part that was folded.
 * Status: PSR_ENOMEM */
static psr_status fold_add_last_turn(const struct psr_fold *f, struct psr_fold_slice *s,
                                     psr_err *err)
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

/* --- destroy ---------------------------------------------------------------------------------- */

void psr_fold_destroy(psr_fold *f)
{
    if (!f)
        return;
    psr_fold_device_close(f);
    if (f->profiles)
        (void)munmap(f->profiles, f->profile_bytes);
    if (f->is_pinned)
        psr_device_unpin(f->window);
    for (size_t i = 0; f->cube && i < f->d.ncand; i++)
        free(f->cube[i].runs.run);
    for (int i = 0; f->scratch && i < f->d.nthread; i++)
        psr_cornerturn_destroy(f->scratch[i].cornerturn);
    free(f->step);
    psr_cornerturn_destroy(f->cornerturn);
    psr_own_free(&f->own);
    free(f);
}

/* --- create ----------------------------------------------------------------------------------- */

psr_status psr_fold_create(psr_fold **out, const struct psr_fold_desc *desc, psr_err *err)
{
    struct psr_fold_desc d;
    *out = NULL;
    psr_status st = psr_copy_desc(&d, sizeof d, desc, "fold", err);
    if (st)
        return st;
    st = psr_fold_check(&d, err);
    if (st)
        return st;
    struct psr_fold *f = calloc(1, sizeof *f);
    if (!f)
        return psr_fail_nomem(err, "a fold", sizeof *f);
    f->d = d;
    f->d.nthread = psr_count_threads(d.nthread);
    f->d.nblock = d.nblock ? d.nblock : d.npart * d.part_blocks;
    if ((st = psr_fold_make(f, err)) || (st = psr_fold_device_open(f, err))) {
        psr_fold_destroy(f);
        return st;
    }
    f->d.cand = NULL;
    f->d.keep = NULL;
    f->d.backend = NULL;
    *out = f;
    return PSR_OK;
}

/* --- push ------------------------------------------------------------------------------------- */

static psr_status plan_blocks(struct psr_fold *f, psr_err *err)
{
    const int nthread = f->d.nthread;
    psr_status st = PSR_OK;
#pragma omp parallel for schedule(dynamic) num_threads(nthread) if (f->d.ncand > 1)
    for (size_t i = 0; i < f->d.ncand; i++) {
        psr_err why;
        f->cube[i].is_ready = psr_fold_is_ready(f, &f->cube[i]);
        const psr_status failed =
            f->cube[i].is_ready ? psr_fold_plan_block(f, &f->cube[i], &why) : PSR_OK;
        if (failed) {
#pragma omp critical(psr_fold_plan_blocks)
            {
                st = failed;
                if (err)
                    *err = why;
            }
        }
    }
    return st;
}

/* Folds what is complete.  A thread takes several candidates of the same sub-bands after each other:
 * so their channels stay in its cache. */
static psr_status fold_window(struct psr_fold *f, psr_err *err)
{
    const size_t ncand = f->d.ncand, ngroup = f->nslice / ncand;
    const int nthread = f->d.nthread;
    const size_t wanted = 4 * (size_t)nthread / ngroup + 1,
                 nchunk = wanted < ncand ? wanted : ncand;
    psr_status st = plan_blocks(f, err);
    if (st)
        return st;
#pragma omp parallel for schedule(dynamic) num_threads(nthread) if (f->nslice > 1)
    for (size_t task = 0; task < ngroup * nchunk; task++) {
        const size_t g = task / nchunk, q = task % nchunk;
        for (size_t i = ncand * q / nchunk; i < ncand * (q + 1) / nchunk; i++)
            if (f->cube[i].is_ready)
                psr_fold_block(f, &f->slice[g * ncand + i], &f->scratch[psr_thread_number()]);
    }
    for (size_t i = 0; i < ncand; i++)
        f->cube[i].next += f->cube[i].is_ready;
    return PSR_OK;
}

bool psr_fold_is_full(const psr_fold *f)
{
    return psr_fold_arrived(f) >= psr_fold_blocks(f) + f->ahead;
}

/* A device folds whole windows: spectra up to the end of this one, or of the input. */
static size_t to_full(const struct psr_fold *f)
{
    const size_t room = f->room - f->filled, missing = (size_t)psr_fold_missing(f);
    return missing < room ? missing : room;
}

enum { WORTH_THREADS = 1 << 20 }; /* bytes to move */

psr_status psr_fold_execute(psr_fold *f, const void *spectra, size_t nsamp,
                            const struct psr_step *step, size_t nstep, psr_err *err)
{
    const size_t block = f->d.block;
    const unsigned char *in = spectra;
    psr_status st = psr_fold_replaced_take(f, step, nstep, err);
    while (nsamp && !st && !psr_fold_is_full(f)) {
        const size_t to_edge = f->device ? to_full(f) : block - f->filled % block,
                     n = nsamp < to_edge ? nsamp : to_edge;
        if (f->cornerturn) {
            psr_cornerturn_reset(f->cornerturn);
            psr_cornerturn_run(f->cornerturn, in, n, f->window + f->filled * (size_t)f->store,
                               f->room, 0);
        }
        in += n * psr_row_bytes(f->d.nchan, f->d.nbit);
        nsamp -= n;
        f->filled += n;
        if (f->filled % block == 0 && !f->device)
            st = fold_window(f, err);
        else if (f->device && (f->filled == f->room || psr_fold_is_full(f)))
            st = psr_fold_device_run(f, err);
        if (f->filled == f->room) {
            /* Forgets what no candidate needs of a full window. */
            const size_t lane = f->room * (size_t)f->store;
            const size_t kept = f->ahead * f->d.block * (size_t)f->store;
            const int nthread = f->d.nthread;
#pragma omp parallel for num_threads(nthread) if (f->nkept * kept > WORTH_THREADS)
            for (size_t k = 0; k < f->nkept; k++)
                memmove(f->window + k * lane, f->window + (k + 1) * lane - kept, kept);
            f->begun += f->filled / f->d.block - f->ahead;
            f->filled = f->ahead * f->d.block;
            psr_fold_replaced_forget(f);
        }
    }
    return st;
}

/* A part that the end of the input cuts has the turns that are complete, and the rest of one with last_turn. */
psr_status psr_fold_finish(psr_fold *f, psr_err *err)
{
    psr_status st = f->device ? psr_fold_device_finish(f, err) : PSR_OK;
    if (st)
        return st;
    for (size_t i = 0; i < f->nslice; i++) {
        struct psr_fold_slice *s = &f->slice[i];
        for (size_t part = s->cube->next / f->d.part_blocks; part < f->d.npart; part++)
            psr_fold_end_part(f, s, part);
        if (!st && f->d.last_turn)
            st = fold_add_last_turn(f, s, err);
    }
    return st;
}

/* --- results ---------------------------------------------------------------------------------- */

double *psr_fold_profile(const psr_fold *f, size_t i)
{
    return f->cube[i].profile;
}

struct psr_fold_stats *psr_fold_statistics(const psr_fold *f, size_t i)
{
    return f->cube[i].stats;
}

int64_t psr_fold_missing(const psr_fold *f)
{
    const int64_t all = (int64_t)((psr_fold_blocks(f) + f->ahead) * f->d.block);
    const int64_t arrived = (int64_t)(f->begun * f->d.block + f->filled);
    return arrived < all ? all - arrived : 0;
}

int64_t psr_fold_count(const psr_fold *f)
{
    size_t least = psr_fold_blocks(f);
    for (size_t i = 0; i < f->d.ncand; i++)
        least = f->cube[i].next < least ? f->cube[i].next : least;
    return (int64_t)(least * f->d.block);
}

/* Joins the parts of a fold: longer ones, as of a slow candidate, whose turns do not fit into short ones. */

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
