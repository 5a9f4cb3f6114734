/* Checks a description of a fold, and counts its memory. */
#include "fold_plan.h"

#include "base/base.h"
#include "base/device/device_internal.h"
#include "base/threads/threads.h"
#include "search/fold/kernels/fold_rows_kernel.h"

#include <config.h>
#include <math.h>
#include <psrkit/ddplan.h>
#include <psrkit/device.h>
#include <string.h>

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

size_t psr_fold_groups(const struct psr_fold_desc *d)
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

double psr_fold_delay(const struct psr_fold_desc *d, double dm, size_t k, struct psr_fold_top *top)
{
    const size_t band = k / (d->nchan / d->nsub);
    if (d->nchan == 1)
        return 0;
    if (top->end != band + 1)
        *top = (struct psr_fold_top){band + 1, find_top(d, band)};
    const double mhz = d->freq_mhz ? table_mhz(d, k) : d->lofreq_mhz + (double)k * d->width_mhz;
    return (delay_at(d, dm, mhz) - delay_at(d, dm, top->mhz)) / d->tsamp_s + 0.5;
}

size_t psr_fold_blocks_ahead(const struct psr_fold_desc *d, size_t most)
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

/* Room for a few blocks more than are needed saves moving the window after each one; a device is
 * given many at once. */
size_t psr_fold_window_blocks(const struct psr_fold_desc *d, size_t ahead, size_t nkept)
{
    const size_t least = ahead + 1 + (ahead < 4 ? ahead : 4),
                 all = ahead + d->npart * d->part_blocks;
    if (!psr_fold_device_wanted(d->backend))
        return least;
    const size_t bytes = (nkept ? nkept : 1) * d->block * psr_fold_store_bytes(d->nbit);
    const size_t many = ahead + count_given(d) / bytes, fitting = many < all ? many : all;
    return fitting > least ? fitting : least;
}

size_t psr_fold_store_bytes(int nbit)
{
    return nbit <= 8 ? sizeof(uint8_t) : nbit == 16 ? sizeof(uint16_t) : sizeof(float);
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
            most = fmax(most, psr_fold_delay(d, dm, k, &top));
            nkept++;
        }
    const size_t ahead = psr_fold_blocks_ahead(d, most < 1e8 ? (size_t)most : 0);
    const double samples = (double)psr_fold_window_blocks(d, ahead, nkept) * (double)d->block;
    return (samples * (double)nkept + PSR_FOLD_SLACK) * (double)psr_fold_store_bytes(d->nbit);
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
    if (!psr_fold_device_wanted(d->backend))
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
    const double padded = (double)psr_fold_groups(d) * group;
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

psr_status psr_fold_check_memory(const struct psr_fold_desc *d, psr_err *err)
{
    char need[PSR_SIZE_TEXT], have[PSR_SIZE_TEXT];
    const double bytes = psr_fold_bytes(d);
    const int64_t most = psr_count_memory(d->mem_bytes);
    if (bytes <= (double)most)
        return PSR_OK;
    return psr_fail(err, PSR_ENOMEM, "fold: %zu candidates take %s, the limit is %s", d->ncand,
                    psr_size_text(need, bytes), psr_size_text(have, (double)most));
}

/* --- the device that folds ----------------------------------------------------------------------- */

/* Selects the device backend; the one place that knows which were built. */
static const struct psr_fold_device_ops *const ops =
#ifdef HAVE_CUDA
    &psr_fold_cuda;
#else
    NULL;
#endif

bool psr_fold_device_wanted(const char *backend)
{
    if (!backend || !strcmp(backend, "cpu"))
        return false;
    return !psr_backend_is_any(backend) || (ops && psr_device_count(NULL) > 0);
}

psr_status psr_fold_device_open(struct psr_fold *f, psr_err *err)
{
    const char *name = f->d.backend;
    if (!psr_fold_device_wanted(name))
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
