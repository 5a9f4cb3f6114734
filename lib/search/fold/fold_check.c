/* A fold's description, and its parts: checks the former, and counts and makes the latter. */
#include "fold_plan.h"

#include "base/base.h"
#include "base/device/device_internal.h"
#include "base/portable.h"
#include "base/threads/isa.h"
#include "base/threads/threads.h"
#include "search/fold/kernels/fold_rows_kernel.h"
#include <config.h>
#include <math.h>
#include <psrkit/ddplan.h>
#include <psrkit/device.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* --- the device that folds -------------------------------------------------------------------- */

/* Selects the device backend; the one place that knows which were built. */
static const struct psr_fold_device_ops *const ops =
#ifdef HAVE_CUDA
    &psr_fold_cuda;
#else
    NULL;
#endif

/* Whether folds of this backend may run on a device, and need memory for it. */
static bool fold_device_wanted(const char *backend)
{
    if (!backend || !strcmp(backend, "cpu"))
        return false;
    return !psr_backend_is_any(backend) || (ops && psr_device_count(NULL) > 0);
}

psr_status psr_fold_device_open(struct psr_fold *f, psr_err *err)
{
    const char *name = f->d.backend;
    if (!fold_device_wanted(name))
        return PSR_OK;
    if (!ops || !psr_backend_is_asked(name, ops->name))
        return psr_backend_none(PSR_OK, name, "fold", err);
    psr_status st = ops->create(&f->device, f, f->d.device, err);
    if (!st)
        return PSR_OK;
    f->device = NULL;
    return psr_backend_is_passed(name, st) ? PSR_OK : st;
}

psr_status psr_fold_device_run(struct psr_fold *f, psr_err *err)
{
    return ops->run(f->device, f, err);
}

psr_status psr_fold_device_finish(struct psr_fold *f, psr_err *err)
{
    psr_status st = ops->run(f->device, f, err);
    return st ? st : ops->finish(f->device, f, err);
}

void psr_fold_device_close(struct psr_fold *f)
{
    if (f->device)
        ops->destroy(f->device);
    f->device = NULL;
}

/* --- the description -------------------------------------------------------------------------- */

enum { NBIN_MAX = 1 << 20, NCAND_MAX = 1 << 20, BLOCK_MAX = 1 << 20 };
static const size_t channels_max = 1 << 20;

static psr_status check_spectra(const struct psr_fold_desc *d, psr_err *err)
{
    if (d->nchan < 1 || d->nchan > channels_max || !psr_row_known(d->nbit, d->kind) ||
        (d->nbit == 32 && d->kind != PSR_FLOAT))
        return psr_fail(err, PSR_EUNSUPPORTED, "fold: %zu channels of %d bits cannot be folded",
                        d->nchan, d->nbit);
    if (d->nsub < 1 || d->nchan % d->nsub)
        return psr_fail(err, PSR_EINVAL, "fold: %zu sub-bands do not divide %zu channels", d->nsub,
                        d->nchan);
    if (!(d->tsamp_s > 0) || !isfinite(d->tsamp_s))
        return psr_fail(err, PSR_EINVAL, "fold: sampling time = %g s, must be above 0", d->tsamp_s);
    if (!(fabs(d->voverc) < 1))
        return psr_fail(err, PSR_EINVAL, "fold: velocity = %g c, must be below 1", d->voverc);
    if (d->nchan > 1 && !(d->lofreq_mhz > 0 && d->width_mhz > 0))
        return psr_fail(err, PSR_EINVAL,
                        "fold: lowest channel at %g MHz, width %g MHz, must be above 0",
                        d->lofreq_mhz, d->width_mhz);
    for (size_t c = 0; d->freq_mhz && c < d->nchan; c++)
        if (!(d->freq_mhz[c] > 0) || !isfinite(d->freq_mhz[c]))
            return psr_fail_field(err, PSR_EINVAL, "freq_mhz",
                                  "fold: channel %zu at %g MHz, must be above 0", c,
                                  d->freq_mhz[c]);
    return PSR_OK;
}

static psr_status check_parts(const struct psr_fold_desc *d, psr_err *err)
{
    if (d->block < 1 || d->block > BLOCK_MAX)
        return psr_fail(err, PSR_EINVAL, "fold: block = %zu spectra, must be 1 to %d", d->block,
                        BLOCK_MAX);
    if (d->npart < 1 || d->npart > PSR_PFD_NPART_MAX || d->part_blocks < 1 ||
        (double)d->npart * (double)d->part_blocks * (double)d->block > 9e15)
        return psr_fail(err, PSR_EINVAL,
                        "fold: %zu parts of %zu blocks, must be 1 to %d of 1 or more", d->npart,
                        d->part_blocks, PSR_PFD_NPART_MAX);
    if (d->nblock > d->part_blocks * d->npart)
        return psr_fail_field(err, PSR_EINVAL, "nblock",
                              "fold: %zu blocks, must be 0 to %zu, which the parts hold", d->nblock,
                              d->part_blocks * d->npart);
    if (d->ahead > d->part_blocks * d->npart)
        return psr_fail(err, PSR_EINVAL, "fold: %zu blocks ahead, of %zu in all", d->ahead,
                        d->part_blocks * d->npart);
    if (d->ncand < 1 || d->ncand > NCAND_MAX)
        return psr_fail(err, PSR_EINVAL, "fold: %zu candidates, must be 1 to %d", d->ncand,
                        NCAND_MAX);
    return PSR_OK;
}

static psr_status check_delays(const struct psr_fold_candidate *c, size_t number, psr_err *err)
{
    for (size_t i = 0; i < c->ndelay; i++)
        if (!isfinite(c->delay_s[i]) || !isfinite(c->time_s[i]) ||
            (i && !(c->time_s[i] > c->time_s[i - 1])))
            return psr_fail(err, PSR_EINVAL,
                            "fold: candidate %zu: delay %zu: times must ascend, delays be finite",
                            number, i);
    if (c->ndelay == 1)
        return psr_fail(err, PSR_EINVAL, "fold: candidate %zu: 1 delay, must be 0 or 2 and more",
                        number);
    return PSR_OK;
}

static psr_status check_candidate(const struct psr_fold_desc *d, size_t i, psr_err *err)
{
    const struct psr_fold_candidate *c = &d->cand[i];
    const double turn = 1 / (c->f * d->tsamp_s);
    if (c->nbin < 1 || c->nbin > NBIN_MAX)
        return psr_fail(err, PSR_EINVAL, "fold: candidate %zu: %zu bins, must be 1 to %d", i + 1,
                        c->nbin, NBIN_MAX);
    if (!(c->f > 0) || !isfinite(c->fd) || !isfinite(c->fdd) || !isfinite(c->phase))
        return psr_fail(err, PSR_EINVAL,
                        "fold: candidate %zu: f = %g Hz, fd = %g, fdd = %g, phase = %g: f must be "
                        "above 0, all finite",
                        i + 1, c->f, c->fd, c->fdd, c->phase);
    if (!(turn >= 2))
        return psr_fail(err, PSR_EINVAL,
                        "fold: candidate %zu: period = %.10g s is %.3g samples, must be 2 or more",
                        i + 1, 1 / c->f, turn);
    if (!(c->dm >= 0) || !(c->dm < 1e6))
        return psr_fail(err, PSR_EINVAL, "fold: candidate %zu: DM = %g, must be 0 to 1e6", i + 1,
                        c->dm);
    return check_delays(c, i + 1, err);
}

psr_status psr_fold_check(const struct psr_fold_desc *d, psr_err *err)
{
    psr_status st = check_spectra(d, err);
    if (!st)
        st = check_parts(d, err);
    for (size_t i = 0; i < d->ncand && !st; i++)
        st = check_candidate(d, i, err);
    return st;
}

/* Number of groups of sub-bands. */
static size_t fold_groups(const struct psr_fold_desc *d)
{
    return (d->nsub + PSR_FOLD_GROUP - 1) / PSR_FOLD_GROUP;
}

/* Runs of a block: at most as many as it has edges of bins and turns. */
static double count_runs(const struct psr_fold_desc *d, const struct psr_fold_candidate *c)
{
    return ceil(2 + (double)d->block * d->tsamp_s * c->f * ((double)c->nbin + 1));
}

/* --- the window ------------------------------------------------------------------------------- */

static double delay_at(const struct psr_fold_desc *d, double dm, double freq_mhz)
{
    return psr_delay_s(PSR_DMCONST_PRESTO, dm, freq_mhz * (1.0 + d->voverc));
}

static double table_mhz(const struct psr_fold_desc *d, size_t k)
{
    return d->freq_mhz[d->ascending ? k : d->nchan - 1 - k];
}

static double find_top(const struct psr_fold_desc *d, size_t band)
{
    const size_t per_band = d->in_phase ? d->nchan : d->nchan / d->nsub;
    const double band_mhz = d->width_mhz * (double)per_band;
    const double first_mhz = d->lofreq_mhz + band_mhz - d->width_mhz;
    double top_mhz = 0;
    if (d->in_phase)
        band = 0;
    if (!d->freq_mhz)
        return first_mhz + (double)band * band_mhz;
    for (size_t k = band * per_band; k < (band + 1) * per_band; k++)
        top_mhz = fmax(top_mhz, table_mhz(d, k));
    return top_mhz;
}

/* Delay of channel k, from the lowest, behind the highest channel of its sub-band, in samples, with
 * 1/2 to be rounded: in prepfold's arithmetic. */
static double fold_delay(const struct psr_fold_desc *d, double dm, size_t k,
                         struct psr_fold_top *top)
{
    const size_t band = k / (d->nchan / d->nsub);
    if (d->nchan == 1)
        return 0;
    if (top->end != band + 1)
        *top = (struct psr_fold_top){band + 1, find_top(d, band)};
    const double mhz = d->freq_mhz ? table_mhz(d, k) : d->lofreq_mhz + (double)k * d->width_mhz;
    return (delay_at(d, dm, mhz) - delay_at(d, dm, top->mhz)) / d->tsamp_s + 0.5;
}

/* Blocks that must follow a block, if the longest delay is "most" samples. */
static size_t fold_blocks_ahead(const struct psr_fold_desc *d, size_t most)
{
    const size_t ahead = (most + d->block - 1) / d->block;
    return ahead > d->ahead ? ahead : d->ahead;
}

/* Bytes of new spectra that a device is given at once: less if the memory limit is low. */
static size_t count_given(const struct psr_fold_desc *d)
{
    const int64_t part = psr_count_memory(d->mem_bytes) / 16;
    return part < PSR_FOLD_DEVICE_WINDOW ? (size_t)part : PSR_FOLD_DEVICE_WINDOW;
}

/* Bytes of a sample in the window. */
static size_t fold_store_bytes(int nbit)
{
    return nbit <= 8 ? sizeof(uint8_t) : nbit == 16 ? sizeof(uint16_t) : sizeof(float);
}

/* Room for a few blocks more than are needed saves moving the window after each one; a device is
 * given many at once. */
static size_t fold_window_blocks(const struct psr_fold_desc *d, size_t ahead, size_t nkept)
{
    const size_t least = ahead + 1 + (ahead < 4 ? ahead : 4),
                 all = ahead + d->npart * d->part_blocks;
    if (!fold_device_wanted(d->backend))
        return least;
    const size_t bytes = (nkept ? nkept : 1) * d->block * fold_store_bytes(d->nbit);
    const size_t many = ahead + count_given(d) / bytes, fitting = many < all ? many : all;
    return fitting > least ? fitting : least;
}

/* The highest DM has the longest delay.  Delays that are refused later count as none. */
static double count_window(const struct psr_fold_desc *d)
{
    double dm = 0, most = 0;
    struct psr_fold_top top = {0};
    size_t nkept = 0;
    for (size_t i = 0; i < d->ncand; i++)
        dm = fmax(dm, d->cand[i].dm);
    for (size_t k = 0; k < d->nchan; k++)
        if (!d->keep || d->keep[d->ascending ? k : d->nchan - 1 - k]) {
            most = fmax(most, fold_delay(d, dm, k, &top));
            nkept++;
        }
    const size_t ahead = fold_blocks_ahead(d, most < 1e8 ? (size_t)most : 0);
    const double samples = (double)fold_window_blocks(d, ahead, nkept) * (double)d->block;
    return (samples * (double)nkept + PSR_FOLD_SLACK) * (double)fold_store_bytes(d->nbit);
}

/* Lists of a device: those of each candidate that is folded at once, and two sets of all these, of
 * which one is pinned memory; and the parts that end. */
static double count_lists(const struct psr_fold_desc *d)
{
    const size_t ncand = d->ncand < PSR_FOLD_DEVICE_CHUNK ? d->ncand : PSR_FOLD_DEVICE_CHUNK;
    const size_t all = d->npart * d->part_blocks;
    const size_t fitting = count_given(d) / (d->nchan * d->block) + 1;
    const double nblock = (double)(fitting < all ? fitting : all);
    double most = 0, bins = 0;
    if (!fold_device_wanted(d->backend))
        return 0;
    for (size_t i = 0; i < d->ncand; i++) {
        most = fmax(most, count_runs(d, &d->cand[i]));
        bins = fmax(bins, (double)d->cand[i].nbin);
    }
    const double runs = nblock * (most * (double)sizeof(struct psr_fold_run) + 8 * (double)d->nsub);
    const double parts = ceil(nblock / (double)d->part_blocks) + 1;
    return (double)ncand * (4 * runs + 2 * parts * (double)d->nsub * 8 * (bins + 2));
}

/* --- memory ----------------------------------------------------------------------------------- */

double psr_fold_bytes(const struct psr_fold_desc *d)
{
    if (psr_fold_check(d, NULL))
        return 0;
    const double nsub = (double)d->nsub, block = (double)d->block, group = PSR_FOLD_GROUP;
    const double padded = (double)fold_groups(d) * group;
    double bytes = psr_count_threads(d->nthread) * (block * (10 * group + 2) + 40 * group);
    bytes += count_window(d) + count_lists(d);
    for (size_t i = 0; i < d->ncand; i++) {
        const double profiles = nsub * (double)d->npart, nbin = (double)d->cand[i].nbin;
        bytes += profiles * (8 * nbin + (double)sizeof(struct psr_fold_stats));
        bytes += padded * 16 * nbin + nsub * 24 + 8 * (double)d->nchan;
        bytes += count_runs(d, &d->cand[i]) * (double)sizeof(struct psr_fold_run);
    }
    return bytes;
}

/* Status: PSR_ENOMEM beyond the limit of desc */
static psr_status fold_check_memory(const struct psr_fold_desc *d, psr_err *err)
{
    char need[PSR_SIZE_TEXT], have[PSR_SIZE_TEXT];
    const double bytes = psr_fold_bytes(d);
    const int64_t most = psr_count_memory(d->mem_bytes);
    if (bytes <= (double)most)
        return PSR_OK;
    return psr_fail(err, PSR_ENOMEM, "fold: %zu candidates take %s, the limit is %s", d->ncand,
                    psr_size_text(need, bytes), psr_size_text(have, (double)most));
}

/* --- inner loops of each instruction set ------------------------------------------------------ */

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

/* --- delays ----------------------------------------------------------------------------------- */

static psr_status set_delays(struct psr_fold *f, size_t i, psr_err *err)
{
    const struct psr_fold_desc *d = &f->d;
    struct psr_fold_cube *cube = &f->cube[i];
    struct psr_fold_top top = {0};
    size_t most = 0, kept = 0;
    for (size_t k = 0; k < d->nchan; k++) {
        if (d->keep && !d->keep[d->ascending ? k : d->nchan - 1 - k])
            continue;
        const double delay = fold_delay(d, cube->cand.dm, k, &top);
        if (!(delay < 1e8))
            return psr_fail(err, PSR_EINVAL,
                            "fold: candidate %zu: DM = %g delays by %g samples within a sub-band, "
                            "must be below 1e8",
                            i + 1, cube->cand.dm, delay);
        cube->delay[kept] = delay > 0 ? (int32_t)delay : 0;
        most = (size_t)cube->delay[kept] > most ? (size_t)cube->delay[kept] : most;
        kept++;
    }
    cube->ahead = fold_blocks_ahead(d, most);
    f->ahead = cube->ahead > f->ahead ? cube->ahead : f->ahead;
    return PSR_OK;
}

/* --- create ----------------------------------------------------------------------------------- */

static const char what[] = "a fold";

/* One more, as loops may look at the one after the last. */
static void *own(struct psr_fold *f, size_t n, size_t size)
{
    return psr_own(&f->own, n + 1, size);
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
        const double length_s =
            (double)d->npart * (double)d->part_blocks * (double)d->block * d->tsamp_s;
        psr_fold_runs_begin(&cube->runs, &cube->cand, length_s);
        cube->delay = own(f, d->nchan, sizeof *cube->delay);
        cube->value = own(f, d->nchan, sizeof *cube->value);
        cube->offset = own(f, d->nsub, sizeof *cube->offset);
        cube->stats = own(f, d->npart * d->nsub, sizeof *cube->stats);
        st = psr_own_check(&f->own, what, err);
        if (!st)
            st = set_delays(f, i, err);
    }
    return st;
}

static psr_status make_slices(struct psr_fold *f, psr_err *err)
{
    f->nslice = f->d.ncand * fold_groups(&f->d);
    f->slice = own(f, f->nslice, sizeof *f->slice);
    for (size_t i = 0; i < f->nslice && f->slice; i++) {
        struct psr_fold_slice *s = &f->slice[i];
        const size_t nsub = f->d.nsub;
        s->cube = &f->cube[i % f->d.ncand];
        s->first = i / f->d.ncand * PSR_FOLD_GROUP;
        s->n = nsub - s->first < PSR_FOLD_GROUP ? nsub - s->first : PSR_FOLD_GROUP;
        s->bins.nbin = s->cube->cand.nbin;
        const size_t cells = PSR_FOLD_GROUP * (size_t)s->bins.nbin;
        s->bins.turn = own(f, cells, sizeof *s->bins.turn);
        s->bins.sum = own(f, cells, sizeof *s->bins.sum);
        s->bins.carry = own(f, PSR_FOLD_GROUP, sizeof *s->bins.carry);
        s->mean = own(f, s->n, sizeof *s->mean);
        s->square = own(f, s->n, sizeof *s->square);
    }
    return psr_own_check(&f->own, what, err);
}

static psr_status make_scratch(struct psr_fold *f, struct psr_fold_scratch *w, psr_err *err)
{
    /* Of sums of floats. */
    const size_t group = PSR_FOLD_GROUP, block = f->d.block;
    w->band = own(f, group * block, sizeof *w->band);
    w->row = own(f, group * (block + 1), sizeof *w->row);
    w->sum = own(f, block, sizeof *w->sum);
    w->run = own(f, group, sizeof *w->run);
    w->square = own(f, group, sizeof *w->square);
    w->shift = own(f, group, sizeof *w->shift);
    if (f->most) {
        /* Of sums of words. */
        w->word = own(f, (block + PSR_FOLD_TILE + 1) * group, sizeof *w->word);
        w->piece = own(f, PSR_FOLD_TILE * group, sizeof *w->piece);
        w->line = own(f, PSR_FOLD_TILE, sizeof *w->line);
        w->offset = own(f, group, sizeof *w->offset);
        w->lane = own(f, f->d.nchan, sizeof *w->lane);
    }
    psr_status st = psr_own_check(&f->own, what, err);
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
    f->room = fold_window_blocks(d, f->ahead, f->nkept) * d->block;
    const double cells = (double)f->nkept * (double)f->room + PSR_FOLD_SLACK;
    const double bytes = cells * (double)f->store;
    if (!(bytes < (double)(SIZE_MAX / 2)))
        return psr_fail_nomem(err, "a fold", bytes);
    f->is_pinned = fold_device_wanted(d->backend);
    psr_status st = PSR_OK;
    if (f->is_pinned)
        st = psr_device_pin((void **)&f->window, (size_t)bytes, err);
    else if (!(f->window = own(f, (size_t)cells, (size_t)f->store)))
        st = psr_own_check(&f->own, what, err);
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
static void make_lists(struct psr_fold *f)
{
    const size_t nchan = f->d.nchan, block = f->d.block;
    f->chan = own(f, nchan, sizeof *f->chan);
    f->place = own(f, nchan, sizeof *f->place);
    f->band = own(f, nchan, sizeof *f->band);
    f->level = own(f, nchan, sizeof *f->level);
    f->first_step = own(f, nchan, sizeof *f->first_step);
    f->band_first = own(f, f->d.nsub + 1, sizeof *f->band_first);
    f->zeros = own(f, nchan > block ? nchan : block, sizeof *f->zeros);
    f->sample = own(f, block, sizeof *f->sample);
}

psr_status psr_fold_make(struct psr_fold *f, psr_err *err)
{
    const struct psr_fold_desc *d = &f->d;
    psr_status st = fold_check_memory(d, err);
    if (st)
        return st;
    make_lists(f);
    f->cube = own(f, d->ncand, sizeof *f->cube);
    f->scratch = own(f, (size_t)d->nthread, sizeof *f->scratch);
    st = psr_own_check(&f->own, what, err);
    if (st)
        return st;
    for (size_t t = 0; t < d->block; t++)
        f->sample[t] = t;
    list_channels(f);
    for (size_t k = 0; k < f->nkept; k++)
        f->first_step[k] = SIZE_MAX;
    f->store = (enum psr_fold_store)fold_store_bytes(f->d.nbit);
    f->bias = f->d.kind == PSR_INT ? -ldexpf(1, f->d.nbit - 1) : 0;
    const double most = ldexp(1, f->d.nbit) - 1, all = most * (double)(f->d.nchan / f->d.nsub);
    f->most = f->store == PSR_FOLD_U8 && all <= INT16_MAX ? (size_t)all : 0;
    f->loops = &loops[psr_isa_find()];
    if ((st = make_cubes(f, err)) || (st = make_slices(f, err)))
        return st;
    for (int i = 0; i < d->nthread && !st; i++)
        st = make_scratch(f, &f->scratch[i], err);
    return st ? st : make_window(f, err);
}
