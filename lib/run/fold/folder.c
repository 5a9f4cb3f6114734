/* Prepares the folding of a description: input, clocks, candidates. */
#include "folder.h"

#include "base/base.h"
#include "base/output/outfile_internal.h"
#include "base/threads/threads.h"
#include "run/common/stage_clean.h"
#include "run/dedisperse/stage_barycentre.h"
#include "search/fold/fold_internal.h"
#include <config.h>
#include <math.h>
#include <psrkit/device.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- digests of everything that affects a fold ------------------------------------------------ */

static uint64_t digest_integers(uint64_t d, const int64_t *value, size_t n)
{
    return psr_digest_bytes(d, value, n * sizeof *value);
}

static uint64_t digest_options(uint64_t digest, const struct psr_folder_desc *d, int64_t nsamp)
{
    const int64_t integer[] = {
        nsamp,        d->input,      d->if_choice,  d->no_weights, d->no_scales,    d->no_offsets,
        d->invert,    d->noclip,     d->zerodm,     d->topo,       d->nsub,         d->npart,
        d->pstep,     d->pdstep,     d->dmstep,     d->npfact,     d->ndmfact,      d->nosearch,
        d->nopsearch, d->nopdsearch, d->nodmsearch, d->searchpdd,  d->mask != NULL, d->clean_auto,
        d->refine,    d->pols,       d->presto};
    const double number[] = {d->start, d->end,   d->clip_sigma, d->length_s,
                             d->dm_lo, d->dm_hi, d->stay_bins};
    digest = psr_digest_text(digest, "fold " PACKAGE_VERSION);
    digest = digest_integers(digest, integer, sizeof integer / sizeof *integer);
    digest = psr_digest_bytes(digest, number, sizeof number);
    digest = psr_digest_text(digest, d->ignorechan);
    digest = psr_digest_text(digest, d->position);
    return psr_digest_text(digest, d->site);
}

static psr_status add_files(uint64_t *digest, struct timespec *changed, const char *const *path,
                            size_t npath, psr_err *err)
{
    uint64_t files = 0;
    struct timespec when = {.tv_sec = 0};
    psr_status st = psr_digest_files(&files, &when, path, npath, err);
    *digest = psr_digest_bytes(*digest, &files, sizeof files);
    if (when.tv_sec > changed->tv_sec ||
        (when.tv_sec == changed->tv_sec && when.tv_nsec > changed->tv_nsec))
        *changed = when;
    return st;
}

/* Digest of the input and of what all candidates have in common.
 * Given:    nsamp   of the input
 * Returned: *changed, when the input or the mask was
 * Status:   PSR_EIO */
static psr_status fold_digest_run(uint64_t *digest, struct timespec *changed,
                                  const struct psr_folder_desc *d, int64_t nsamp, psr_err *err)
{
    *digest = digest_options(PSR_DIGEST_START, d, nsamp);
    *changed = (struct timespec){.tv_sec = 0};
    psr_status st = add_files(digest, changed, d->path, d->npath, err);
    if (!st && d->mask)
        st = add_files(digest, changed, &d->mask, 1, err);
    if (!st && d->ignorechan && access(d->ignorechan, R_OK) == 0)
        st = add_files(digest, changed, &d->ignorechan, 1, err);
    return st;
}

/* run, and what is a candidate's own; never 0. */
static uint64_t fold_digest_candidate(uint64_t run, const struct psr_fold_candidate *c,
                                      const struct psr_fold_orbit *o)
{
    const double number[] = {c->f,        c->fd,  c->fdd,     c->phase,     c->dm,
                             o->period_s, o->ecc, o->asini_s, o->omega_deg, o->t0_mjd};
    const int64_t nbin = (int64_t)c->nbin;
    uint64_t d = psr_digest_bytes(run, number, sizeof number);
    d = digest_integers(d, &nbin, 1);
    d = psr_digest_bytes(d, c->time_s, c->ndelay * sizeof *c->time_s);
    d = psr_digest_bytes(d, c->delay_s, c->ndelay * sizeof *c->delay_s);
    return d ? d : 1;
}

/* --- blocks and parts of what is folded ------------------------------------------------------- */

/* PRESTO's guard against fractions that are a little below a whole number. */
static const double fraction_tiny = 1e-14;

/* Begin and end of what is folded, in units of what is read at once. */
struct extent {
    int64_t first, end;
};

static struct extent find_extent(const psr_folder *f, int64_t all)
{
    return (struct extent){(int64_t)(f->d.start * (double)all + fraction_tiny),
                           (int64_t)(f->d.end * (double)all + fraction_tiny)};
}

static psr_status fail_short(const psr_folder *f, int64_t block, psr_err *err)
{
    return psr_fail(err, PSR_EUNSUPPORTED, "%s: %lld samples to fold, fewer than a block of %lld",
                    f->in.name, (long long)f->in.nsamp, (long long)block);
}

/* --- as prepfold ------------------------------------------------------------------------------ */

/* Whole blocks in equal parts; spectra that are left over are not folded. */
static psr_status set_presto_parts(psr_folder *f, psr_err *err)
{
    const int64_t block = (int64_t)f->in.block;
    const bool by_sample = f->in.is_series;
    const struct extent x = find_extent(f, by_sample ? f->in.nsamp : f->in.nsamp / block);
    const int64_t nblock = by_sample ? (x.end - x.first) / block : x.end - x.first;
    if (nblock < 1)
        return fail_short(f, block, err);
    if (nblock <= (int64_t)f->in.lookahead)
        return psr_fail(err, PSR_EUNSUPPORTED,
                        "%s: %lld samples to fold: prepfold would fold none of them, as it needs a "
                        "block of %lld after each (without -compat presto all are folded)",
                        f->in.name, (long long)f->in.nsamp, (long long)block);
    f->frame.npart = (size_t)(nblock < f->d.npart ? nblock : f->d.npart);
    if (nblock < f->d.npart)
        psr_note(&f->d.notes, "%s: %lld blocks: -npart is %lld", f->in.name, (long long)nblock,
                 (long long)nblock);
    f->part_blocks = (size_t)nblock / f->frame.npart;
    f->nblock = f->frame.npart * f->part_blocks;
    f->in.skip = by_sample ? x.first : x.first * block;
    f->wanted = by_sample ? x.end - x.first : x.end * block - f->in.skip;
    if (!by_sample && f->d.end == 1)
        f->wanted = f->in.nsamp - f->in.skip;
    return PSR_OK;
}

/* --- every sample ----------------------------------------------------------------------------- */

/* A way to cut n samples. */
struct cut {
    int64_t block, part_blocks, left; /* samples; blocks; samples that fill no block */
};

/* Of blocks of a length that makes up to npart parts, the last at least half as long as the others, those that leave the
 * fewest samples over. */
static struct cut choose_block(int64_t n, int64_t npart, int64_t part_blocks)
{
    const int64_t all = npart * part_blocks, least = (n + all - 1) / all;
    const int64_t most = 2 * n / ((2 * npart - 1) * part_blocks);
    struct cut best = {least, part_blocks, n % least};
    for (int64_t block = least + 1; block <= most && best.left > 0; block++)
        if (n % block < best.left)
            best = (struct cut){block, part_blocks, n % block};
    return best;
}

/* Longer blocks are folded faster: shorter ones are tried while more than a few samples in a million are left. */
static struct cut choose_cut(int64_t n, int64_t npart, int64_t longest)
{
    enum { WAYS = 16 };
    const int64_t few = 100000;
    const int64_t part = (n + npart - 1) / npart, fewest = (part + longest - 1) / longest;
    struct cut best = choose_block(n, npart, fewest);
    for (int64_t k = fewest + 1; k < fewest + WAYS && k <= part && best.left > n / few; k++) {
        const struct cut cut = choose_block(n, npart, k);
        if (cut.left < best.left)
            best = cut;
    }
    return best;
}

static psr_status set_whole_parts(psr_folder *f, psr_err *err)
{
    const struct extent x = find_extent(f, f->in.nsamp);
    const int64_t n = x.end - x.first;
    if (n < 1)
        return fail_short(f, 1, err);
    const struct cut cut = choose_cut(n, n < f->d.npart ? n : f->d.npart, (int64_t)f->in.block);
    f->in.block = (size_t)cut.block;
    f->in.lookahead = 0;
    f->in.skip = x.first;
    f->wanted = n;
    f->nblock = (size_t)(n / cut.block);
    f->part_blocks = (size_t)cut.part_blocks;
    f->frame.npart = (f->nblock + f->part_blocks - 1) / f->part_blocks;
    return PSR_OK;
}

/* Sets blocks and parts, and with them the first sample, its date and the length.
 * Status: PSR_EINVAL for an input that is too short */
static psr_status folder_set_parts(psr_folder *f, psr_err *err)
{
    psr_status st = f->d.presto ? set_presto_parts(f, err) : set_whole_parts(f, err);
    if (st)
        return st;
    struct psr_fold_frame *frame = &f->frame;
    const struct psr_mjd at = f->in.obs.tstart;
    const double block_s = (double)f->in.block * f->in.obs.tsamp_s;
    frame->length_s = (double)(frame->npart * f->part_blocks) * block_s;
    /* in prepfold's order of operations */
    const double first = (double)f->in.skip / (double)f->in.block;
    const double skipped_s =
        f->in.is_series || !f->d.presto ? (double)f->in.skip * f->in.obs.tsamp_s : first * block_s;
    frame->epoch_mjd = (double)at.day + at.frac + skipped_s / 86400;
    return PSR_OK;
}

/* --- prepares the folding of a description: input, clocks, candidates ------------------------- */

void psr_folder_set_defaults(struct psr_folder_desc *desc, size_t size)
{
    const struct psr_folder_desc all = {.if_choice = -1,
                                        .end = 1,
                                        .clip_sigma = 6,
                                        .device = "auto",
                                        .npart = 64,
                                        .pstep = 2,
                                        .pdstep = 4,
                                        .dmstep = 2,
                                        .npfact = 2,
                                        .ndmfact = 3};
    psr_give_desc(desc, size, &all, sizeof all);
}

/* --- what is folded --------------------------------------------------------------------------- */

static psr_status check_desc(const struct psr_folder_desc *d, psr_err *err)
{
    if (d->npath < 1 || d->ncand < 1 || !d->take)
        return psr_fail(err, PSR_EINVAL, "a fold needs an input, candidates and a taker");
    if (!(d->start >= 0 && d->start < d->end && d->end <= 1))
        return psr_fail(err, PSR_EINVAL, "-start %g and -end %g: must be 0 to 1, and ascend",
                        d->start, d->end);
    if (d->npart < 1 || d->npart > PSR_PFD_NPART_MAX)
        return psr_fail_field(err, PSR_EINVAL, "npart", "-npart %lld: must be 1 to %d",
                              (long long)d->npart, PSR_PFD_NPART_MAX);
    if (d->topo && d->ephemeris)
        return psr_fail(err, PSR_EINVAL, "-par and -topo: an ephemeris needs the barycentre");
    if (d->clean_auto && d->mask)
        return psr_fail_field(err, PSR_EINVAL, "clean_auto",
                              "folder: clean_auto finds what a mask would tell: not with mask");
    for (size_t i = 0; i < d->ncand; i++)
        if ((!(d->cand[i].f > 0) && !d->ephemeris) || d->cand[i].nbin < 0 ||
            d->cand[i].nbin > 1 << 20)
            return psr_fail(err, PSR_EINVAL,
                            "candidate %zu: f = %g Hz with %lld bins: f must be above 0, bins 0 to "
                            "%d",
                            i + 1, d->cand[i].f, (long long)d->cand[i].nbin, 1 << 20);
    return PSR_OK;
}

/* Fewer sub-bands do not show how a signal is dispersed; more than so many times the usual take too much memory. */
enum { FEWEST_NSUB = 8, MOST_TIMES = 8 };

/* prepfold's choice of sub-bands; where it has none, the largest divisor that it might have, or, where that is too small,
 * the next larger one. */
static size_t choose_nsub(size_t nchan)
{
    static const size_t few[] = {32, 30, 25, 20}, many[] = {128, 100};
    for (size_t i = 0; i < 4 && nchan <= 256; i++)
        if (nchan % few[i] == 0)
            return few[i];
    for (size_t per = 8; nchan > 256 && nchan <= 1024 && per <= 10; per += 2)
        if (nchan % per == 0)
            return nchan / per;
    for (size_t i = 0; i < 2 && nchan > 1024; i++)
        if (nchan % many[i] == 0)
            return many[i];
    const size_t most = nchan <= 256 ? few[0] : many[0];
    size_t nsub = most, more = most;
    while (nchan % nsub)
        nsub--;
    while (more < nchan && nchan % more)
        more++;
    return nsub < FEWEST_NSUB && nchan > most && more <= MOST_TIMES * most ? more : nsub;
}

/* A .pfd holds the lowest channel and a spacing, and no gaps. */
static psr_status set_sub_bands(psr_folder *f, const struct psr_obs_band *band, psr_err *err)
{
    struct psr_fold_frame *frame = &f->frame;
    const size_t nchan = f->in.obs.nchan;
    frame->sub_mhz = psr_own(&f->own, frame->nsub, sizeof *frame->sub_mhz);
    psr_status st = psr_own_check(&f->own, "sub-bands of a fold", err);
    if (st)
        return st;
    for (size_t c = 0; c < nchan; c++) {
        const size_t k = band->rising ? c : nchan - 1 - c;
        double *top = &frame->sub_mhz[k / (nchan / frame->nsub)];
        *top = fmax(*top, psr_obs_freq_mhz(&f->in.obs, c));
    }
    psr_note(
        &f->d.notes,
        "%s: channels are not evenly spaced: a .pfd can hold only the lowest, %.10g MHz, and the "
        "mean spacing, %.6g MHz, as prepfold writes it: programs that shift its sub-bands again "
        "do so by other delays than gpufold",
        f->in.name, band->lowest_mhz, band->spacing_mhz);
    return PSR_OK;
}

static psr_status set_bands(psr_folder *f, psr_err *err)
{
    const struct psr_obs_band band = psr_obs_band(&f->in.obs);
    const size_t nchan = f->in.obs.nchan;
    struct psr_fold_frame *frame = &f->frame;
    const struct psr_inf *inf = f->in.is_series ? &f->in.inf : f->in.spectra.inf;
    frame->nsub = f->d.nsub > 0 ? (size_t)f->d.nsub : choose_nsub(nchan);
    frame->nchan = inf ? (size_t)inf->nchan : nchan;
    frame->lowest_mhz = inf ? inf->lowest_mhz : band.lowest_mhz;
    frame->width_mhz = inf ? inf->chan_width_mhz : band.spacing_mhz;
    if (f->in.is_series)
        frame->nsub = 1;
    if (f->in.spectra.inf && f->d.nsub > 0 && frame->nsub != nchan)
        return psr_fail_field(err, PSR_EINVAL, "nsub",
                              "%s: -nsub %zu: must be the %zu of the files", f->in.name,
                              frame->nsub, nchan);
    if (f->in.spectra.inf)
        frame->nsub = nchan;
    if (!frame->nsub || nchan % frame->nsub)
        return psr_fail(err, PSR_EINVAL, "%s: -nsub %zu: must divide its %zu channels", f->in.name,
                        frame->nsub, nchan);
    return band.even ? PSR_OK : set_sub_bands(f, &band, err);
}

/* As with TEMPO's predictions, whose dates limit what is fitted, not what is predicted. */
static void note_extrapolation(const psr_folder *f)
{
    const struct psr_ephemeris *e = f->d.ephemeris;
    const double begin = f->frame.epoch_mjd, end = begin + f->frame.length_s / 86400;
    if (e && e->finish_mjd > 0 && begin > e->finish_mjd)
        psr_note(&f->d.notes,
                 "%s: begins %.1f days after FINISH of the ephemeris (MJD %.1f): extrapolated",
                 f->in.name, begin - e->finish_mjd, e->finish_mjd);
    if (e && e->start_mjd > 0 && end < e->start_mjd)
        psr_note(&f->d.notes,
                 "%s: ends %.1f days before START of the ephemeris (MJD %.1f): extrapolated",
                 f->in.name, e->start_mjd - end, e->start_mjd);
}

/* The position of the ephemeris, unless it is given. */
static void set_source(psr_folder *f)
{
    const struct psr_ephemeris *e = f->d.ephemeris;
    if (f->d.position || !e || !e->has_position)
        return;
    psr_ephemeris_position(e, f->frame.epoch_mjd, &f->in.obs.ra_deg, &f->in.obs.dec_deg);
    f->in.obs.has_position = true;
}

/* Whether times are moved to the barycentre.  Without a position only as prepfold does it, to 0, 0. */
static bool is_barycentred(const psr_folder *f)
{
    if ((f->in.is_series && !f->d.ephemeris) || f->d.topo || f->in.obs.barycentric)
        return false;
    if (!f->d.presto)
        return psr_can_barycentre(&f->in.obs, f->frame.epoch_mjd, false, f->in.name, &f->d.notes);
    if (!f->in.obs.has_position)
        psr_note(&f->d.notes,
                 "%s: the header has no position: barycentred towards 0, 0, as prepfold does",
                 f->in.name);
    return true;
}

/* The geocentre where the header does not name a telescope, as prepsubband. */
static psr_status set_bary(psr_folder *f, psr_err *err)
{
    struct psr_obs *obs = &f->in.obs;
    struct psr_site site;
    struct psr_bary target;
    psr_status st = PSR_OK;
    if (f->d.position) {
        st = psr_position_parse(f->d.position, &obs->ra_deg, &obs->dec_deg, err);
        obs->has_position = true;
    }
    if (!st && !f->d.topo && !obs->barycentric)
        set_source(f);
    if (st || !is_barycentred(f))
        return st;
    if (f->d.site)
        st = psr_site_parse(f->d.site, &site, err);
    else if (!psr_site_find_as_presto(obs->telescope, &site))
        psr_note(&f->d.notes, "%s: telescope '%s' is unknown: barycentred from the geocentre",
                 f->in.name, obs->telescope);
    if (st)
        return st;
    psr_bary_init(&target, &site, obs->has_position ? obs->ra_deg : 0,
                  obs->has_position ? obs->dec_deg : 0);
    return psr_fold_bary_init(&f->bary, &target, f->frame.epoch_mjd, f->frame.length_s, err);
}

/* --- candidates ------------------------------------------------------------------------------- */

static size_t choose_nbin(const psr_folder *f, const struct psr_folder_candidate *c,
                          double period_s)
{
    const double samples = (c->f > 0 ? 1 / c->f : period_s) / f->in.obs.tsamp_s + 0.5;
    if (c->nbin > 0)
        return (size_t)c->nbin;
    return samples < 64 ? (size_t)fmax(samples, 1) : 64;
}

/* Date of the first sample folded, on the candidate's clock. */
static double find_epoch(const psr_folder *f, const struct psr_folder_candidate *c)
{
    return f->bary.on ? psr_fold_bary_epoch(&f->frame, c->dm) : f->frame.epoch_mjd;
}

/* Spin and orbit of a candidate without an ephemeris. */
static psr_status set_values(psr_folder *f, size_t k, const struct psr_folder_candidate *c,
                             psr_err *err)
{
    const struct psr_fold_bary *b = &f->bary;
    const struct psr_fold_extent extent = {.epoch_mjd = find_epoch(f, c),
                                           .skipped_s = (double)f->in.skip * f->in.obs.tsamp_s,
                                           .length_s = (double)f->in.nsamp * f->in.obs.tsamp_s};
    struct psr_fold_spin spin;
    psr_status st = psr_fold_move_spin(&spin, c, &extent, err);
    if (st)
        return st;
    f->fold[k] = b->on ? psr_fold_convert(b->bary_s, b->topo_s, b->n, spin) : spin;
    f->orbit[k] = c->orbit;
    return c->orbit.period_s == 0 ? PSR_OK
                                  : psr_fold_delays_init(&f->delays[k], &f->orbit[k], b,
                                                         find_epoch(f, c), f->frame.length_s, err);
}

/* Each pair of a period and a derivative is a point of the picture, and of the search. */
static psr_status check_trials(const psr_folder *f, size_t nbin, psr_err *err)
{
    const double most = (double)psr_count_memory(f->d.mem_bytes) / 2, point = sizeof(float);
    const double ntrial = 2 * (double)f->d.npfact * (double)nbin + 1,
                 bytes = ntrial * ntrial * point;
    char need[PSR_SIZE_TEXT], have[PSR_SIZE_TEXT];
    if (f->d.nosearch || bytes <= most)
        return PSR_OK;
    return psr_fail_field(err, PSR_EINVAL, "nbin",
                          "%zu bins make %.0f trials of the period by as many of its derivative, "
                          "which take %s; %s of memory allow at most %.0f bins",
                          nbin, ntrial, psr_size_text(need, bytes), psr_size_text(have, most),
                          floor((sqrt(most / point) - 1) / 2 / (double)f->d.npfact));
}

/* Given: k   place in the arrays of candidates */
static psr_status set_candidate(psr_folder *f, size_t k, const struct psr_folder_candidate *c,
                                psr_err *err)
{
    psr_status st = f->d.ephemeris ? psr_fold_model_init(&f->delays[k], &f->fold[k], &f->orbit[k],
                                                         f->d.ephemeris, &f->bary, find_epoch(f, c),
                                                         f->frame.length_s, err)
                                   : set_values(f, k, c, err);
    if (st)
        return st;
    const double period_s = 1 / f->fold[k].f, samples = period_s / f->in.obs.tsamp_s;
    if (!(samples >= 2))
        return psr_fail_field(err, PSR_EINVAL, "period",
                              "period = %.10g s is %.3g samples, must be 2 or more", period_s,
                              samples);
    if (period_s > f->frame.length_s)
        return psr_fail_field(
            err, PSR_EINVAL, "period",
            "period = %.10g s, must be at most the %.6g s that are folded (-p is in "
            "seconds, -f in Hz)",
            period_s, f->frame.length_s);
    f->cand[k] = (struct psr_fold_candidate){.f = f->fold[k].f,
                                             .fd = f->fold[k].fd,
                                             .fdd = f->fold[k].fdd,
                                             .phase = c->phase,
                                             .dm = f->in.is_series ? 0 : c->dm,
                                             .nbin = choose_nbin(f, c, period_s),
                                             .time_s = f->delays[k].time_s,
                                             .delay_s = f->delays[k].delay_s,
                                             .ndelay = f->delays[k].n};
    return check_trials(f, f->cand[k].nbin, err);
}

/* Whether the caller has the fold of desc's candidate i, the next one here. */
static bool is_done(psr_folder *f, size_t i)
{
    const size_t k = f->ncand;
    f->digest[k] = fold_digest_candidate(f->run_digest, &f->cand[k], &f->orbit[k]);
    const bool done = f->d.skip && f->d.skip(f->d.ctx, i, f->digest[k], f->changed);
    f->nskipped += done;
    return done;
}

/* Those that cannot be folded are reported, and left out. */
static psr_status choose_candidates(psr_folder *f, psr_err *err)
{
    psr_err why, named;
    for (size_t i = 0; i < f->d.ncand; i++) {
        struct psr_folder_candidate *c = &f->given[i];
        *c = f->d.cand[i];
        if (f->d.ephemeris && c->dm < 0)
            c->dm = psr_ephemeris_dm(f->d.ephemeris, f->frame.epoch_mjd);
        f->index[f->ncand] = i;
        psr_status st = set_candidate(f, f->ncand, c, &why);
        if (!st && !is_done(f, i)) {
            f->ncand++;
            continue;
        }
        psr_fold_delays_clear(&f->delays[f->ncand]);
        if (!st)
            continue;
        psr_fail_field(&named, st, why.field, "%s: %.400s", c->name ? c->name : "candidate",
                       why.msg);
        if (st == PSR_ENOMEM || !f->d.refuse) {
            *err = named;
            return st;
        }
        f->d.refuse(f->d.ctx, i, &named);
    }
    if (!f->ncand && !f->nskipped)
        return psr_fail_field(err, PSR_EINVAL, "cand", "%s: no candidate can be folded",
                              f->in.name);
    return PSR_OK;
}

static psr_status set_candidates(psr_folder *f, psr_err *err)
{
    const size_t n = f->d.ncand;
    f->index = psr_own(&f->own, n, sizeof *f->index);
    f->given = psr_own(&f->own, n, sizeof *f->given);
    f->cand = psr_own(&f->own, n, sizeof *f->cand);
    f->digest = psr_own(&f->own, n, sizeof *f->digest);
    f->fold = psr_own(&f->own, n, sizeof *f->fold);
    f->orbit = psr_own(&f->own, n, sizeof *f->orbit);
    f->delays = psr_own(&f->own, n, sizeof *f->delays);
    psr_status st = psr_own_check(&f->own, "candidates", err);
    if (!st)
        st = fold_digest_run(&f->run_digest, &f->changed, &f->d, f->in.nsamp, err);
    return st ? st : choose_candidates(f, err);
}

/* As prepfold: without a search over anything, and one of DMs only with sub-bands. */
struct psr_fold_search_desc psr_folder_describe_search(const psr_folder *f)
{
    const struct psr_folder_desc *d = &f->d;
    const bool keep_all =
        d->nosearch || (d->nopsearch && d->nopdsearch && (d->nodmsearch || f->frame.nsub == 1));
    return (struct psr_fold_search_desc){.size = sizeof(struct psr_fold_search_desc),
                                         .keep_p = d->nopsearch || keep_all,
                                         .keep_pd = d->nopdsearch || keep_all,
                                         .keep_dm = d->nodmsearch || keep_all,
                                         .pddot = d->searchpdd && !keep_all,
                                         .should_stop = d->should_stop,
                                         .ctx = d->ctx};
}

static psr_status choose_devices(psr_folder *f, psr_err *err)
{
    psr_status st = psr_device_words(&f->devices, f->d.device, err);
    if (st)
        return st;
    f->backend = psr_own(&f->own, f->devices.n, sizeof *f->backend);
    f->device = psr_own(&f->own, f->devices.n, sizeof *f->device);
    st = psr_own_check(&f->own, "devices", err);
    for (size_t k = 0; k < f->devices.n && !st; k++)
        st = psr_device_choose(f->devices.name[k], &f->backend[k], &f->device[k], err);
    return st;
}

static psr_status make_search(psr_folder *f, psr_err *err)
{
    struct psr_fold_search_desc desc = psr_folder_describe_search(f);
    const bool keep_all = desc.keep_p && desc.keep_pd && desc.keep_dm;
    desc.nthread = (int)f->d.nthread;
    desc.mem_bytes = f->d.mem_bytes;
    psr_status st = choose_devices(f, err);
    if (st)
        return st;
    desc.backend = *f->backend;
    desc.device = *f->device;
    if (keep_all && strcmp(desc.backend, "auto") == 0)
        desc.backend = "cpu"; /* a device takes longer to start */
    return psr_fold_search_create(&f->search, &desc, err);
}

static psr_status set_all(psr_folder *f, psr_err *err)
{
    psr_status st = psr_fold_input_open(&f->in, &f->d, err);
    f->frame.desc = &f->d;
    f->frame.obs = &f->in.obs;
    f->frame.inf = f->in.is_series ? &f->in.inf : NULL;
    f->frame.bary = &f->bary;
    if (!st)
        st = set_bands(f, err);
    if (!st)
        st = folder_set_parts(f, err);
    if (!st && f->d.after && f->d.after->kept.complete && f->d.after->kept.skip == f->in.skip)
        f->in.kept = &f->d.after->kept;
    if (!st)
        st = set_bary(f, err);
    if (!st)
        note_extrapolation(f);
    if (!st)
        st = set_candidates(f, err);
    if (!st)
        st = make_search(f, err);
    return st;
}

psr_status psr_folder_clean_names(const char *clean_root,
                                  psr_status (*check)(void *ctx, const char *name, psr_err *err),
                                  void *ctx, psr_err *err)
{
    return psr_clean_files_names(clean_root, check, ctx, err);
}

psr_status psr_folder_create(psr_folder **out, const struct psr_folder_desc *desc, psr_err *err)
{
    *out = NULL;
    psr_folder *f = calloc(1, sizeof *f);
    if (!f)
        return psr_fail_nomem(err, "a folder", sizeof *f);
    psr_status st = psr_copy_desc(&f->d, sizeof f->d, desc, "folder", err);
    if (!st)
        st = check_desc(&f->d, err);
    if (!st)
        st = set_all(f, err);
    if (st)
        psr_folder_destroy(f);
    else
        *out = f;
    return st;
}

/* --- report ----------------------------------------------------------------------------------- */

void psr_folder_describe_sized(const psr_folder *f, struct psr_folder_report *report, size_t size)
{
    const struct psr_folder_report all = {.obs = &f->in.obs,
                                          .nsub = f->frame.nsub,
                                          .npart = f->frame.npart,
                                          .part_blocks = f->part_blocks,
                                          .block = f->in.block,
                                          .nsamp = f->in.nsamp - f->in.skip,
                                          .npass = f->npass,
                                          .nskipped = f->nskipped,
                                          .barycentred = f->bary.on,
                                          .voverc = f->bary.voverc,
                                          .clipped = f->clipped,
                                          .read_s = f->read_s,
                                          .fold_s = f->fold_s,
                                          .result_s = f->result_s};
    psr_give_desc(report, size, &all, sizeof all);
}

void psr_folder_destroy(psr_folder *f)
{
    if (!f)
        return;
    for (size_t i = 0; f->delays && i < f->d.ncand; i++)
        psr_fold_delays_clear(&f->delays[i]);
    psr_fold_search_destroy(f->search);
    psr_names_clear(&f->devices);
    psr_fold_bary_clear(&f->bary);
    psr_fold_input_close(&f->in);
    psr_fold_kept_clear(&f->kept);
    psr_own_free(&f->own);
    free(f);
}
