/* Folds candidates in one pass: a window of channels moves over the spectra, and each block in it is
 * folded into every candidate's cube. */
#include "fold_check.h"
#include "fold_plan.h"

#include "base/copy_desc.h"
#include "base/memory.h"
#include "base/threads.h"
#include <psrkit/ddplan.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- delays, in prepfold's arithmetic --------------------------------------------------------- */

static double delay_at(const struct psr_fold_desc *d, double dm, double freq_mhz)
{
    return psr_delay_s(PSR_DMCONST_PRESTO, dm, freq_mhz * (1.0 + d->voverc));
}

/* Of channel k, from the lowest, behind the highest channel of its sub-band. */
static double find_delay(const struct psr_fold_desc *d, double dm, size_t k)
{
    const size_t per_band = d->nchan / d->nsub;
    const double band_mhz = d->width_mhz * (double)per_band;
    const double first_mhz = d->lofreq_mhz + band_mhz - d->width_mhz;
    return delay_at(d, dm, d->lofreq_mhz + (double)k * d->width_mhz) -
           delay_at(d, dm, first_mhz + (double)(k / per_band) * band_mhz);
}

static psr_status set_delays(struct psr_fold *f, size_t i, psr_err *err)
{
    const struct psr_fold_desc *d = &f->d;
    struct psr_fold_cube *cube = &f->cube[i];
    size_t most = 0, kept = 0;
    for (size_t k = 0; k < d->nchan; k++) {
        if (d->keep && !d->keep[d->ascending ? k : d->nchan - 1 - k])
            continue;
        const double delay = d->nchan > 1 ? find_delay(d, cube->cand.dm, k) / d->tsamp_s + 0.5 : 0;
        if (!(delay < 1e8))
            return psr_fail(err, PSR_EINVAL,
                            "fold: candidate %zu: DM = %g delays by %g samples within a sub-band, "
                            "must be below 1e8",
                            i + 1, cube->cand.dm, delay);
        cube->delay[kept] = delay > 0 ? (int32_t)delay : 0;
        most = (size_t)cube->delay[kept] > most ? (size_t)cube->delay[kept] : most;
        kept++;
    }
    cube->ahead = (most + d->block - 1) / d->block;
    cube->ahead = cube->ahead > d->ahead ? cube->ahead : d->ahead;
    f->ahead = cube->ahead > f->ahead ? cube->ahead : f->ahead;
    return PSR_OK;
}

/* --- create ----------------------------------------------------------------------------------- */

static psr_status allocate(void *at, double n, size_t size, psr_err *err)
{
    const double bytes = n * (double)size;
    void *got = bytes < (double)(SIZE_MAX / 2) ? calloc((size_t)n + 1, size) : NULL;
    if (!got)
        return psr_fail_nomem(err, "a fold", bytes);
    memcpy(at, &got, sizeof got);
    return PSR_OK;
}

static void list_channels(struct psr_fold *f)
{
    const struct psr_fold_desc *d = &f->d;
    const size_t per_band = d->nchan / d->nsub;
    for (size_t k = 0; k < d->nchan; k++) {
        const size_t c = d->ascending ? k : d->nchan - 1 - k;
        if (k % per_band == 0)
            f->band_first[k / per_band] = f->nkept;
        if (!d->keep || d->keep[c])
            f->chan[f->nkept++] = c;
    }
    f->band_first[d->nsub] = f->nkept;
}

static void set_store(struct psr_fold *f)
{
    f->store = f->d.nbit <= 8 ? PSR_FOLD_U8 : f->d.nbit == 16 ? PSR_FOLD_U16 : PSR_FOLD_F32;
    f->bias = f->d.kind == PSR_INT ? -ldexpf(1, f->d.nbit - 1) : 0;
}

static psr_status make_cubes(struct psr_fold *f, psr_err *err)
{
    const struct psr_fold_desc *d = &f->d;
    const double profiles = (double)d->npart * (double)d->nsub;
    psr_status st = PSR_OK;
    for (size_t i = 0; i < d->ncand && !st; i++) {
        struct psr_fold_cube *cube = &f->cube[i];
        cube->cand = d->cand[i];
        const double nbin = (double)cube->cand.nbin;
        if (!(st = allocate(&cube->delay, (double)d->nchan, sizeof *cube->delay, err)) &&
            !(st = allocate(&cube->profile, profiles * nbin, sizeof *cube->profile, err)) &&
            !(st = allocate(&cube->stats, profiles, sizeof *cube->stats, err)))
            st = set_delays(f, i, err);
    }
    return st;
}

static psr_status make_slice(struct psr_fold *f, size_t i, size_t per_cand, psr_err *err)
{
    struct psr_fold_slice *s = &f->slice[i];
    const size_t nsub = f->d.nsub, k = i % per_cand;
    s->cube = &f->cube[i / per_cand];
    s->first = nsub * k / per_cand;
    s->n = nsub * (k + 1) / per_cand - s->first;
    s->clock.cand = &s->cube->cand;
    s->spread.nbin = s->cube->cand.nbin;
    const double n = (double)s->n, cells = n * (double)s->spread.nbin;
    psr_status st = allocate(&s->rotation, cells, sizeof *s->rotation, err);
    if (!st)
        st = allocate(&s->sum, cells, sizeof *s->sum, err);
    if (!st)
        st = allocate(&s->mean, n, sizeof *s->mean, err);
    return st ? st : allocate(&s->square, n, sizeof *s->square, err);
}

static psr_status make_slices(struct psr_fold *f, psr_err *err)
{
    const size_t per_cand = psr_fold_slices(&f->d);
    f->nslice = f->d.ncand * per_cand;
    psr_status st = allocate(&f->slice, (double)f->nslice, sizeof *f->slice, err);
    for (size_t i = 0; i < f->nslice && !st; i++)
        st = make_slice(f, i, per_cand, err);
    return st;
}

static psr_status make_scratch(struct psr_fold *f, struct psr_fold_scratch *w, psr_err *err)
{
    const double nsub = (double)f->d.nsub, block = (double)f->d.block;
    psr_status st = allocate(&w->band, nsub * block, sizeof *w->band, err);
    if (!st)
        st = allocate(&w->row, nsub * block, sizeof *w->row, err);
    if (!st)
        st = allocate(&w->sum, block, sizeof *w->sum, err);
    if (!st)
        st = allocate(&w->run, nsub, sizeof *w->run, err);
    if (!st)
        st = allocate(&w->square, nsub, sizeof *w->square, err);
    if (!st)
        st = allocate(&w->shift, nsub, sizeof *w->shift, err);
    if (st)
        return st;
    return psr_cornerturn_create(&w->cornerturn,
                                 &(struct psr_cornerturn_desc){.nchan = f->d.block,
                                                               .nbit = 32,
                                                               .kind = PSR_FLOAT,
                                                               .nkept = f->d.block,
                                                               .chan = f->sample,
                                                               .pre = f->zeros,
                                                               .downsamp = 1,
                                                               .store_bytes = sizeof(float),
                                                               .nthread = 1},
                                 err);
}

static psr_status make_window(struct psr_fold *f, psr_err *err)
{
    const struct psr_fold_desc *d = &f->d;
    const double cells = (double)f->nkept * (double)(f->ahead + 1) * (double)d->block;
    psr_status st = psr_fold_check_memory(d, cells * (double)f->store, err);
    if (!st)
        st = allocate(&f->window, cells, (size_t)f->store, err);
    if (st || !f->nkept)
        return st;
    return psr_cornerturn_create(&f->cornerturn,
                                 &(struct psr_cornerturn_desc){.nchan = d->nchan,
                                                               .nbit = d->nbit,
                                                               .kind = d->kind,
                                                               .nkept = f->nkept,
                                                               .chan = f->chan,
                                                               .pre = f->zeros,
                                                               .downsamp = 1,
                                                               .store_bytes = f->store,
                                                               .nthread = d->nthread},
                                 err);
}

static psr_status make_all(struct psr_fold *f, psr_err *err)
{
    const struct psr_fold_desc *d = &f->d;
    const size_t most = d->nchan > d->block ? d->nchan : d->block;
    psr_status st = psr_fold_check_memory(d, 0, err);
    if (!st)
        st = allocate(&f->chan, (double)d->nchan, sizeof *f->chan, err);
    if (!st)
        st = allocate(&f->band_first, (double)d->nsub + 1, sizeof *f->band_first, err);
    if (!st)
        st = allocate(&f->zeros, (double)most, sizeof *f->zeros, err);
    if (!st)
        st = allocate(&f->sample, (double)d->block, sizeof *f->sample, err);
    if (!st)
        st = allocate(&f->cube, (double)d->ncand, sizeof *f->cube, err);
    if (!st)
        st = allocate(&f->scratch, d->nthread, sizeof *f->scratch, err);
    if (st)
        return st;
    for (size_t t = 0; t < d->block; t++)
        f->sample[t] = t;
    list_channels(f);
    set_store(f);
    if ((st = make_cubes(f, err)) || (st = make_slices(f, err)))
        return st;
    for (int i = 0; i < d->nthread && !st; i++)
        st = make_scratch(f, &f->scratch[i], err);
    return st ? st : make_window(f, err);
}

static psr_status create(psr_fold **out, const struct psr_fold_desc *desc, psr_err *err)
{
    psr_status st = psr_fold_check(desc, err);
    if (st)
        return st;
    struct psr_fold *f = calloc(1, sizeof *f);
    if (!f)
        return psr_fail_nomem(err, "a fold", sizeof *f);
    f->d = *desc;
    f->d.nthread = psr_count_threads(desc->nthread);
    if ((st = make_all(f, err))) {
        psr_fold_destroy(f);
        return st;
    }
    f->d.cand = NULL;
    f->d.keep = NULL;
    *out = f;
    return PSR_OK;
}

psr_status psr_fold_create(psr_fold **out, const struct psr_fold_desc *desc, psr_err *err)
{
    struct psr_fold_desc d;
    *out = NULL;
    psr_status st = psr_copy_desc(&d, sizeof d, desc, "fold", err);
    return st ? st : create(out, &d, err);
}

/* --- push ------------------------------------------------------------------------------------- */

static size_t count_blocks(const struct psr_fold *f)
{
    return f->d.npart * f->d.part_blocks;
}

/* Folds what is complete; the first block of the window is number begun. */
static void fold_window(struct psr_fold *f)
{
    const size_t arrived = f->begun + f->filled / f->d.block, all = count_blocks(f);
    const int nthread = f->d.nthread;
#pragma omp parallel for schedule(dynamic) num_threads(nthread) if (f->nslice > 1)
    for (size_t i = 0; i < f->nslice; i++) {
        struct psr_fold_slice *s = &f->slice[i];
        while (s->next < all && s->next + s->cube->ahead < arrived)
            psr_fold_block(f, s, &f->scratch[psr_thread_number()], s->next - f->begun);
    }
}

/* Forgets the first block of a full window. */
static void move_window(struct psr_fold *f)
{
    const size_t lane = (f->ahead + 1) * f->d.block * (size_t)f->store;
    const size_t block = f->d.block * (size_t)f->store;
    for (size_t k = 0; k < f->nkept; k++)
        memmove(f->window + k * lane, f->window + k * lane + block, lane - block);
    f->filled -= f->d.block;
    f->begun++;
}

bool psr_fold_is_full(const psr_fold *f)
{
    return f->begun >= count_blocks(f);
}

void psr_fold_push(psr_fold *f, const void *spectra, size_t nsamp)
{
    const size_t room = (f->ahead + 1) * f->d.block, block = f->d.block;
    const unsigned char *in = spectra;
    while (nsamp && !psr_fold_is_full(f)) {
        const size_t to_edge = block - f->filled % block, n = nsamp < to_edge ? nsamp : to_edge;
        if (f->cornerturn) {
            psr_cornerturn_reset(f->cornerturn);
            psr_cornerturn_run(f->cornerturn, in, n, f->window + f->filled * (size_t)f->store, room,
                               0);
        }
        in += n * psr_row_bytes(f->d.nchan, f->d.nbit);
        nsamp -= n;
        f->filled += n;
        if (f->filled % block == 0)
            fold_window(f);
        if (f->filled == room)
            move_window(f);
    }
}

/* A part that the end of the input cuts has the turns that are complete. */
void psr_fold_finish(psr_fold *f)
{
    for (size_t i = 0; i < f->nslice; i++) {
        struct psr_fold_slice *s = &f->slice[i];
        size_t part = s->next / f->d.part_blocks;
        for (; part < f->d.npart; part++)
            psr_fold_end_part(f, s, part);
    }
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

int64_t psr_fold_count(const psr_fold *f)
{
    size_t least = count_blocks(f);
    for (size_t i = 0; i < f->nslice; i++)
        least = f->slice[i].next < least ? f->slice[i].next : least;
    return (int64_t)(least * f->d.block);
}

void psr_fold_destroy(psr_fold *f)
{
    if (!f)
        return;
    for (size_t i = 0; f->cube && i < f->d.ncand; i++) {
        free(f->cube[i].delay);
        free(f->cube[i].profile);
        free(f->cube[i].stats);
    }
    for (size_t i = 0; f->slice && i < f->nslice; i++) {
        free(f->slice[i].rotation);
        free(f->slice[i].sum);
        free(f->slice[i].mean);
        free(f->slice[i].square);
    }
    for (int i = 0; f->scratch && i < f->d.nthread; i++) {
        struct psr_fold_scratch *w = &f->scratch[i];
        void *const owned[] = {w->band, w->row, w->sum, w->run, w->square, w->shift};
        for (size_t k = 0; k < sizeof owned / sizeof *owned; k++)
            free(owned[k]);
        psr_cornerturn_destroy(w->cornerturn);
    }
    void *const owned[] = {f->chan, f->band_first, f->zeros,   f->sample,
                           f->cube, f->slice,      f->scratch, f->window};
    for (size_t k = 0; k < sizeof owned / sizeof *owned; k++)
        free(owned[k]);
    psr_cornerturn_destroy(f->cornerturn);
    free(f);
}
