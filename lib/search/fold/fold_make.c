/* Makes the parts of a fold: delays, cubes, slices, scratch and window. */
#include "fold_plan.h"

#include "base/device/device_internal.h"
#include "base/portable.h"
#include "base/threads/isa.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* --- inner loops of each instruction set --------------------------------------------------------- */

enum { GROUP = PSR_FOLD_GROUP, TILE = PSR_FOLD_TILE };

/* A vector of the instruction set, and the places that interleave the lower, or upper, halves of each
 * 16 bytes of two vectors of n elements. */
#define WORDS(name, bytes)                                                                         \
    typedef uint16_t words_##name __attribute__((vector_size(bytes)));                             \
    typedef uint16_t any_words_##name __attribute__((vector_size(bytes), aligned(1), may_alias))
#define MIX(i, n)                                                                                  \
    (i), (n) + (i), (i) + 1, (n) + (i) + 1, (i) + 2, (n) + (i) + 2, (i) + 3, (n) + (i) + 3
#define MIX_2(i, n) MIX(i, n), MIX((i) + 8, n)
#define MIX_4(i, n) MIX_2(i, n), MIX_2((i) + 16, n)
WORDS(base, 16);
static const words_base lower_base = {MIX(0, 8)}, upper_base = {MIX(4, 8)};
#if defined __x86_64__
WORDS(avx2, 32);
WORDS(avx512, 64);
static const words_avx2 lower_avx2 = {MIX_2(0, 16)}, upper_avx2 = {MIX_2(4, 16)};
static const words_avx512 lower_avx512 = {MIX_4(0, 32)}, upper_avx512 = {MIX_4(4, 32)};
#endif

#define LOOPS(s)                                                                                   \
    {                                                                                              \
        sum_bytes_##s, moments_##s, turn_##s, fold_words_##s, fold_floats_##s                      \
    }

#define PSR_LANES "search/fold/kernels/fold_rows_lanes.h"
#include "base/threads/isa_lanes.h"

static const struct psr_fold_rows_loops loops[PSR_NISA] = PSR_ISA_EACH(LOOPS);

static const struct psr_fold_rows_loops *fold_rows_choose(void)
{
    return &loops[psr_isa_find()];
}

/* --- delays -------------------------------------------------------------------------------- */

static psr_status set_delays(struct psr_fold *f, size_t i, psr_err *err)
{
    const struct psr_fold_desc *d = &f->d;
    struct psr_fold_cube *cube = &f->cube[i];
    struct psr_fold_top top = {0};
    size_t most = 0, kept = 0;
    for (size_t k = 0; k < d->nchan; k++) {
        if (d->keep && !d->keep[d->ascending ? k : d->nchan - 1 - k])
            continue;
        const double delay = psr_fold_delay(d, cube->cand.dm, k, &top);
        if (!(delay < 1e8))
            return psr_fail(err, PSR_EINVAL,
                            "fold: candidate %zu: DM = %g delays by %g samples within a sub-band, "
                            "must be below 1e8",
                            i + 1, cube->cand.dm, delay);
        cube->delay[kept] = delay > 0 ? (int32_t)delay : 0;
        most = (size_t)cube->delay[kept] > most ? (size_t)cube->delay[kept] : most;
        kept++;
    }
    cube->ahead = psr_fold_blocks_ahead(d, most);
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
        f->place[c] = SIZE_MAX;
        if (d->keep && !d->keep[c])
            continue;
        f->place[c] = f->nkept;
        f->band[f->nkept] = k / per_band;
        f->chan[f->nkept++] = c;
    }
    f->band_first[d->nsub] = f->nkept;
}

/* Many threads fill them first: with large pages they wait less for the system. */
static psr_status map_profiles(struct psr_fold *f, psr_err *err)
{
    const size_t rows = f->d.npart * f->d.nsub;
    double bytes = 0;
    for (size_t i = 0; i < f->d.ncand; i++)
        bytes += (double)rows * (double)f->d.cand[i].nbin * sizeof *f->profiles;
    if (!(bytes < (double)(SIZE_MAX / 2)))
        return psr_fail_nomem(err, "a fold", bytes);
    f->profile_bytes = (size_t)bytes;
    void *got =
        mmap(NULL, f->profile_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (got == MAP_FAILED)
        return psr_fail_nomem(err, "a fold", bytes);
    f->profiles = got;
    (void)madvise(got, f->profile_bytes, MADV_HUGEPAGE);
    double *at = f->profiles;
    for (size_t i = 0; i < f->d.ncand; at += rows * f->d.cand[i].nbin, i++)
        f->cube[i].profile = at;
    return PSR_OK;
}

static psr_status make_cubes(struct psr_fold *f, psr_err *err)
{
    psr_status st = map_profiles(f, err);
    for (size_t i = 0; i < f->d.ncand && !st; i++) {
        f->cube[i].cand = f->d.cand[i];
        struct psr_fold_cube *cube = &f->cube[i];
        const struct psr_fold_desc *d = &f->d;
        const double profiles = (double)d->npart * (double)d->nsub;
        const double length_s =
            (double)d->npart * (double)d->part_blocks * (double)d->block * d->tsamp_s;
        psr_fold_runs_begin(&cube->runs, &cube->cand, length_s);
        st = allocate(&cube->delay, (double)d->nchan, sizeof *cube->delay, err);
        if (!st)
            st = allocate(&cube->value, (double)d->nchan, sizeof *cube->value, err);
        if (!st)
            st = allocate(&cube->offset, (double)d->nsub, sizeof *cube->offset, err);
        if (!st)
            st = allocate(&cube->stats, profiles, sizeof *cube->stats, err);
        if (!st)
            st = set_delays(f, i, err);
    }
    return st;
}

static psr_status make_slices(struct psr_fold *f, psr_err *err)
{
    f->nslice = f->d.ncand * psr_fold_groups(&f->d);
    psr_status st = allocate(&f->slice, (double)f->nslice, sizeof *f->slice, err);
    for (size_t i = 0; i < f->nslice && !st; i++) {
        struct psr_fold_slice *s = &f->slice[i];
        const size_t nsub = f->d.nsub;
        s->cube = &f->cube[i % f->d.ncand];
        s->first = i / f->d.ncand * PSR_FOLD_GROUP;
        s->n = nsub - s->first < PSR_FOLD_GROUP ? nsub - s->first : PSR_FOLD_GROUP;
        s->bins.nbin = s->cube->cand.nbin;
        const double n = (double)s->n, cells = PSR_FOLD_GROUP * (double)s->bins.nbin;
        st = allocate(&s->bins.turn, cells, sizeof *s->bins.turn, err);
        if (!st)
            st = allocate(&s->bins.sum, cells, sizeof *s->bins.sum, err);
        if (!st)
            st = allocate(&s->bins.carry, PSR_FOLD_GROUP, sizeof *s->bins.carry, err);
        if (!st)
            st = allocate(&s->mean, n, sizeof *s->mean, err);
        if (!st)
            st = allocate(&s->square, n, sizeof *s->square, err);
    }
    return st;
}

static psr_status make_scratch(struct psr_fold *f, struct psr_fold_scratch *w, psr_err *err)
{
    /* Of sums of floats. */
    const double group = PSR_FOLD_GROUP, block = (double)f->d.block;
    psr_status st = allocate(&w->band, group * block, sizeof *w->band, err);
    if (!st)
        st = allocate(&w->row, group * (block + 1), sizeof *w->row, err);
    if (!st)
        st = allocate(&w->sum, block, sizeof *w->sum, err);
    if (!st)
        st = allocate(&w->run, group, sizeof *w->run, err);
    if (!st)
        st = allocate(&w->square, group, sizeof *w->square, err);
    if (!st)
        st = allocate(&w->shift, group, sizeof *w->shift, err);
    if (!st && f->most) {
        /* Of sums of words. */
        const double rows = (double)f->d.block + PSR_FOLD_TILE + 1;
        st = allocate(&w->word, rows * PSR_FOLD_GROUP, sizeof *w->word, err);
        if (!st)
            st = allocate(&w->piece, PSR_FOLD_TILE * PSR_FOLD_GROUP, sizeof *w->piece, err);
        if (!st)
            st = allocate(&w->line, PSR_FOLD_TILE, sizeof *w->line, err);
        if (!st)
            st = allocate(&w->offset, PSR_FOLD_GROUP, sizeof *w->offset, err);
        if (!st)
            st = allocate(&w->lane, (double)f->d.nchan, sizeof *w->lane, err);
    }
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
    f->room = psr_fold_window_blocks(d, f->ahead, f->nkept) * d->block;
    const double cells = (double)f->nkept * (double)f->room + PSR_FOLD_SLACK;
    const double bytes = cells * (double)f->store;
    if (!(bytes < (double)(SIZE_MAX / 2)))
        return psr_fail_nomem(err, "a fold", bytes);
    f->is_pinned = psr_fold_device_wanted(d->backend);
    psr_status st = f->is_pinned ? psr_device_pin((void **)&f->window, (size_t)bytes, err)
                                 : allocate(&f->window, cells, (size_t)f->store, err);
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

/* Of channels. */
static psr_status make_lists(struct psr_fold *f, psr_err *err)
{
    const double nchan = (double)f->d.nchan, block = (double)f->d.block;
    psr_status st = allocate(&f->chan, nchan, sizeof *f->chan, err);
    if (!st)
        st = allocate(&f->place, nchan, sizeof *f->place, err);
    if (!st)
        st = allocate(&f->band, nchan, sizeof *f->band, err);
    if (!st)
        st = allocate(&f->level, nchan, sizeof *f->level, err);
    if (!st)
        st = allocate(&f->first_step, nchan, sizeof *f->first_step, err);
    if (!st)
        st = allocate(&f->band_first, (double)f->d.nsub + 1, sizeof *f->band_first, err);
    if (!st)
        st = allocate(&f->zeros, fmax(nchan, block), sizeof *f->zeros, err);
    return st ? st : allocate(&f->sample, block, sizeof *f->sample, err);
}

psr_status psr_fold_make(struct psr_fold *f, psr_err *err)
{
    const struct psr_fold_desc *d = &f->d;
    psr_status st = psr_fold_check_memory(d, err);
    if (!st)
        st = make_lists(f, err);
    if (!st)
        st = allocate(&f->cube, (double)d->ncand, sizeof *f->cube, err);
    if (!st)
        st = allocate(&f->scratch, d->nthread, sizeof *f->scratch, err);
    if (st)
        return st;
    for (size_t t = 0; t < d->block; t++)
        f->sample[t] = t;
    list_channels(f);
    for (size_t k = 0; k < f->nkept; k++)
        f->first_step[k] = SIZE_MAX;
    f->store = (enum psr_fold_store)psr_fold_store_bytes(f->d.nbit);
    f->bias = f->d.kind == PSR_INT ? -ldexpf(1, f->d.nbit - 1) : 0;
    const double most = ldexp(1, f->d.nbit) - 1, all = most * (double)(f->d.nchan / f->d.nsub);
    f->most = f->store == PSR_FOLD_U8 && all <= INT16_MAX ? (size_t)all : 0;
    f->loops = fold_rows_choose();
    if ((st = make_cubes(f, err)) || (st = make_slices(f, err)))
        return st;
    for (int i = 0; i < d->nthread && !st; i++)
        st = make_scratch(f, &f->scratch[i], err);
    return st ? st : make_window(f, err);
}
