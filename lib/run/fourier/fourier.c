/* Plans of a Fourier search: what they search, and how many inputs at once. */
#include "fourier_state.h"

#include "base/base.h"
#include "base/device/device_internal.h"
#include "formats/series/series_internal.h"
#include "search/pulscan/pulscan_internal.h"

#include <math.h>
#include <psrkit/device.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH_MOST = 64 };

void psr_fourier_set_defaults(struct psr_fourier_desc *desc, size_t size)
{
    const struct psr_fourier_desc all = {
        .boxes = true,
        .zmax = 200,
        .wmax = -1,
        .numharm = 4,
        .sigma = 2,
        .flo_hz = 1,
        .fhi_hz = 10000,
        .rlo = -1,
        .rhi = -1,
        .maxcands = 200,
        .startwidth = 6,
        .endfreq_hz = 6,
        .device = "auto",
    };
    psr_give_desc(desc, size, &all, sizeof all);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* --- red noise -------------------------------------------------------------------------------- */

static struct psr_redden redden_by(const struct psr_fourier *f, int64_t endwidth)
{
    const struct psr_fourier_desc *d = &f->d;
    return (struct psr_redden){.start = (int)d->startwidth,
                               .end = (int)(d->endwidth ? d->endwidth : endwidth),
                               .stop_bin = d->endfreq_hz * f->shape.tobs_s};
}

/* Blocks that are not much longer than boxes are wide take drifting signals for noise. */
struct psr_redden psr_fourier_redden(const struct psr_fourier *f)
{
    return redden_by(f, f->d.zmax > 3 ? least(30 * f->d.zmax, PSR_FOURIER_ENDWIDTH) : 100);
}

struct psr_redden psr_fourier_whitening(const struct psr_fourier *f)
{
    return (struct psr_redden){
        .start = 6,
        .end = 200,
        .stop_bin = (double)f->shape.nbin,
        .presto = f->d.presto,
        .join_rest = !f->d.presto,
    };
}

/* --- what the plans search -------------------------------------------------------------------- */

/* Bins, as accelsearch has them, but that rlo and rhi count.  hi is as far as there are any. */
static psr_status choose_range(const struct psr_fourier *f, double *lo, double *hi, psr_err *err)
{
    const struct psr_fourier_desc *d = &f->d;
    const struct psr_fourier_shape *s = &f->shape;
    const bool bins = d->rlo >= 0 && !d->presto;
    *lo = bins ? d->rlo : fmin(d->flo_hz * s->tobs_s, 0x1p53);
    *hi = d->rhi >= 0 && !d->presto ? d->rhi : fmin(d->fhi_hz * s->tobs_s, 0x1p53);
    if (floor(*lo) < (double)s->nbin)
        return PSR_OK;
    return psr_fail_field(err, PSR_EINVAL, bins ? "rlo" : "flo",
                          "nothing to search: %s is bin %.10g, and the last of %lld is at %g Hz",
                          bins ? "-rlo" : "-flo", floor(*lo), (long long)s->nbin,
                          (double)(s->nbin - 1) / s->tobs_s);
}

static psr_status describe_boxes(const struct psr_fourier *f, struct psr_pulscan_desc *b,
                                 psr_err *err)
{
    const struct psr_fourier_desc *d = &f->d;
    const struct psr_fourier_shape *s = &f->shape;
    psr_status st = psr_device_choose(d->device, &b->backend, &b->device, err);
    if (st)
        return st;
    b->nbin = (size_t)s->nbin;
    b->series = s->series;
    if (s->reddened) {
        /* As realfft does where it is not told. */
        b->redden = redden_by(f, 100);
    } else if (d->rednoise)
        b->redden = psr_fourier_redden(f);
    b->batch = f->batch;
    b->zmax = (int)d->zmax;
    b->zstep = (int)d->zstep;
    if (d->zmax == 0) /* a line between two bins has 2/5 of its power in each: boxes of two too */
        b->zmax = b->zstep = 1;
    b->logz = d->logz;
    b->nharm = f->nharm;
    b->nnharm = f->nnharm;
    b->block = (size_t)d->chunkwidth;
    b->rblock = d->rblock;
    b->normblock = (size_t)least(d->normalizechunkwidth, s->nbin);
    if (!d->pulscan) {
        double lo, hi;
        if ((st = choose_range(f, &lo, &hi, err)))
            return st;
        b->rlo = (int64_t)lo;
        b->rhi = least((int64_t)ceil(hi), s->nbin - 1);
    }
    b->zap = f->zap;
    b->nzap = f->nzap;
    b->sigma = d->sigma;
    b->significance = d->significance;
    b->compat = d->pulscan;
    b->nthread = (int)d->nthread;
    b->mem_bytes = d->mem_bytes;
    b->should_stop = d->should_stop;
    b->ctx = d->ctx;
    b->progress = d->progress;
    return PSR_OK;
}

static enum psr_accelsearch_norm choose_norm(const struct psr_fourier_desc *d)
{
    return d->photon   ? PSR_ACCELSEARCH_PHOTON
           : d->locpow ? PSR_ACCELSEARCH_LOCAL
                       : PSR_ACCELSEARCH_MEDIAN;
}

static psr_status describe_matched(const struct psr_fourier *f, struct psr_accelsearch_desc *m,
                                   psr_err *err)
{
    const struct psr_fourier_desc *d = &f->d;
    const char *backend;
    int device;
    psr_status st = psr_device_choose(d->device, &backend, &device, err);
    if (st)
        return st;
    *m = (struct psr_accelsearch_desc){
        .size = sizeof *m,
        .nbin = (size_t)f->shape.nbin,
        .zmax = (int)d->zmax,
        .wmax = d->wmax > 0 ? (int)d->wmax : 0,
        .numharm = (int)d->numharm,
        .sigma = d->sigma,
        .norm = choose_norm(d),
        .zap = f->zap,
        .nzap = f->nzap,
        .max = d->presto || d->confirm ? 0 : (size_t)d->maxcands,
        .keep_harmonics = d->noharmremove,
        .free_harmonics = d->noharmpolish,
        .series = f->shape.series,
        .compat = d->presto,
        .compat_jerk = d->wmax >= 0,
        .compat_inmem = d->inmem,
        .nthread = (int)d->nthread,
        .mem_bytes = d->mem_bytes,
        .batch = d->boxes ? 1 : f->batch,
        .should_stop = d->should_stop,
        .ctx = d->ctx,
        .progress = d->progress,
        .backend = d->presto || !strcmp(backend, "hybrid") ? "cpu" : backend,
        .device = device,
    };
    if (!d->photon)
        m->redden = psr_fourier_whitening(f);
    st = choose_range(f, &m->rlo, &m->rhi, err);
    m->rlo = fmax(m->rlo, d->lobin);
    if (d->confirm) /* boxes have their limits at the fundamental */
        m->rhi = 0;
    return st;
}

/* --- creation --------------------------------------------------------------------------------- */

psr_status psr_fourier_create(psr_fourier **out, const struct psr_fourier_desc *d, psr_err *err)
{
    static const int sums[] = {1, 2, 3, 4, 8, 16, 32};
    psr_fourier *f = calloc(1, sizeof *f);
    *out = NULL;
    if (!f)
        return psr_fail_nomem(err, "a Fourier search", sizeof *f);
    psr_status st = psr_copy_desc(&f->d, sizeof f->d, d, "Fourier search", err);
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        if (sums[i] <= f->d.numharm)
            f->nharm[f->nnharm++] = sums[i];
    f->nslot = 1;
    if (st)
        psr_fourier_destroy(f);
    else
        *out = f;
    return st;
}

/* A GPU copies and searches a batch by pairs, of which none is left single.  256 MiB fill it: more takes long to page-lock,
 * twice as much pays where there are many batches.  On the CPU one after the other is as fast.  Two batches of long
 * spectra that no plan has room for stay within mem_bytes, or 8 GB. */
static size_t choose_batch(const struct psr_fourier *f, size_t ninput)
{
    enum { MANY = 64 };
    static const int64_t fill_bytes = INT64_C(1) << 28, long_bytes = INT64_C(8000000000);
    const struct psr_fourier_desc *d = &f->d;
    const bool is_auto = !strcmp(d->device, "auto");
    const bool cpu = !strcmp(d->device, "cpu") || (is_auto && psr_device_count(NULL) == 0);
    const int64_t most = d->presto ? 1 : d->batch ? d->batch : cpu ? 1 : BATCH_MOST;
    const size_t limit = (size_t)(d->max_batch ? least(most, d->max_batch) : most);
    const int64_t each = 8 * f->shape.nbin, room = d->mem_bytes ? d->mem_bytes : long_bytes;
    const int64_t fill = fill_bytes / each / 2 * 2;
    int64_t fits = (int64_t)ninput > MANY * fill ? 2 * fill : fill;
    if (fits < 4)
        fits = 4;
    if (!d->boxes && 2 * fits * each > room)
        fits = room > 4 * each ? room / (2 * each) : 1;
    if (d->batch || (int64_t)limit <= fits)
        fits = (int64_t)limit;
    return ninput > 0 && (int64_t)ninput < fits ? ninput : (size_t)fits;
}

/* The CPU has nothing to gain from a second plan: it would only share its threads. */
static psr_status create_boxes(struct psr_fourier *f, bool many, psr_err *err)
{
    struct psr_pulscan_desc b = {.size = sizeof b};
    struct psr_pulscan_info info;
    psr_status st = describe_boxes(f, &b, err);
    if (!st)
        st = psr_pulscan_create(&f->slot[0].boxes, &b, err);
    if (st)
        return st;
    psr_pulscan_describe(f->slot[0].boxes, &info);
    if (strcmp(info.backend, "cpu") != 0 && many) {
        st = psr_pulscan_create(&f->slot[1].boxes, &b, err);
        f->nslot = PSR_FOURIER_SLOTS;
    }
    return st;
}

/* Memory that a device copies fast, if there is one in use. */
static psr_status take_room(const struct psr_fourier *f, struct psr_fourier_slot *slot,
                            psr_err *err)
{
    const size_t bytes = 8 * (size_t)f->shape.nbin * f->batch;
    struct psr_accelsearch_info info;
    void *room = NULL;
    psr_accelsearch_describe(f->matched, &info);
    slot->pinned = strcmp(info.backend, "cpu") != 0;
    psr_status st = PSR_OK;
    if (slot->pinned)
        st = psr_device_pin(&room, bytes, err);
    else if (!(room = malloc(bytes)))
        st = psr_fail_nomem(err, "spectra", (double)bytes);
    slot->room = room;
    return st;
}

static psr_status create_matched(struct psr_fourier *f, bool many, psr_err *err)
{
    struct psr_accelsearch_desc m;
    psr_status st = describe_matched(f, &m, err);
    if (!st)
        st = psr_accelsearch_create(&f->matched, &m, err);
    if (st || f->d.boxes)
        return st;
    if (f->batch > 1 && many)
        f->nslot = PSR_FOURIER_SLOTS;
    for (size_t k = 0; k < f->nslot && !st; k++)
        st = take_room(f, &f->slot[k], err);
    return st;
}

static psr_status create_results(struct psr_fourier *f, psr_err *err)
{
    for (size_t k = 0; k < f->nslot; k++) {
        struct psr_fourier_slot *slot = &f->slot[k];
        slot->found = calloc(f->batch, sizeof *slot->found);
        slot->matched = calloc(f->batch, sizeof *slot->matched);
        if (!slot->found || !slot->matched)
            return psr_fail_nomem(err, "a batch", (double)f->batch * sizeof *slot->found);
    }
    return PSR_OK;
}

/* --- shapes ----------------------------------------------------------------------------------- */

/* Whether series are transformed before the plans get them: two searches take one spectrum, and
 * each plan transforms for itself alone. */
static bool transforms(const struct psr_fourier *f)
{
    const struct psr_fourier_desc *d = &f->d;
    return d->keep_spectra || d->pulscan || (d->matched && (d->boxes || d->presto || d->rednoise));
}

static struct psr_fourier_shape shape_of_plan(const struct psr_fourier *f,
                                              const struct psr_fourier_shape *shape)
{
    struct psr_fourier_shape s = *shape;
    s.series = s.series && !transforms(f);
    return s;
}

struct psr_fourier_shape psr_fourier_shape_of(const struct psr_spectrum_file *file)
{
    return (struct psr_fourier_shape){file->nbin, file->tobs_s, file->series, file->reddened};
}

bool psr_fourier_fits(const psr_fourier *f, const struct psr_fourier_shape *shape)
{
    const struct psr_fourier_shape *a = &f->shape, b = shape_of_plan(f, shape);
    return a->nbin == b.nbin && a->series == b.series && a->reddened == b.reddened &&
           !(a->tobs_s < b.tobs_s) && !(a->tobs_s > b.tobs_s);
}

static void release_plan(struct psr_fourier *f)
{
    for (struct psr_fourier_slot *slot = f->slot; slot < f->slot + PSR_FOURIER_SLOTS; slot++) {
        psr_pulscan_destroy(slot->boxes);
        if (slot->pinned)
            psr_device_unpin(slot->room);
        else
            free(slot->room);
        free(slot->found);
        free(slot->matched);
        *slot = (struct psr_fourier_slot){.room = NULL};
    }
    psr_accelsearch_destroy(f->matched);
    psr_rfft_destroy(f->rfft);
    free(f->zap);
    f->matched = NULL;
    f->rfft = NULL;
    f->zap = NULL;
    f->nzap = 0;
    f->nslot = 1;
    f->shape = (struct psr_fourier_shape){.nbin = 0};
}

enum { LEAST_BINS = 16 }; /* of the plans */

psr_status psr_fourier_plan(psr_fourier *f, const struct psr_fourier_shape *shape, size_t ninput,
                            psr_err *err)
{
    psr_status st = PSR_OK;
    if (shape->nbin < LEAST_BINS)
        return psr_fail_field(err, PSR_EUNSUPPORTED, "nbin",
                              "%lld bins, %.6g s, are too few to search, which takes %d",
                              (long long)shape->nbin, shape->tobs_s, LEAST_BINS);
    if (!psr_fourier_fits(f, shape)) {
        release_plan(f);
        f->shape = shape_of_plan(f, shape);
        f->batch = choose_batch(f, ninput);
        const bool many = ninput > 1;
        static const struct psr_zaplist none;
        const struct psr_fourier_desc *d = &f->d;
        st = psr_zaplist_bins(d->zaplist && !d->presto ? d->zaplist : &none, f->shape.tobs_s,
                              d->baryv, f->shape.nbin, &f->zap, &f->nzap, err);
        if (!st && d->boxes)
            st = create_boxes(f, many, err);
        if (!st && d->matched)
            st = create_matched(f, many, err);
        if (!st)
            st = create_results(f, err);
    }
    /* For long series it takes as much memory as half of one: only if one has come. */
    if (!st && shape->series && transforms(f) && !f->rfft)
        st = psr_rfft_create(&f->rfft, 2 * shape->nbin, err);
    if (st)
        release_plan(f);
    return st;
}

size_t psr_fourier_batch(const psr_fourier *f)
{
    return f->batch;
}

size_t psr_fourier_nslot(const psr_fourier *f)
{
    return f->nslot;
}

psr_pulscan *psr_fourier_boxes(psr_fourier *f, size_t slot)
{
    return f->slot[slot].boxes;
}

float *psr_fourier_room(psr_fourier *f, size_t slot, size_t i)
{
    struct psr_fourier_slot *s = &f->slot[slot];
    return s->boxes ? psr_pulscan_input(s->boxes, i) : s->room + 2 * i * (size_t)f->shape.nbin;
}

void psr_fourier_destroy(psr_fourier *f)
{
    if (!f)
        return;
    release_plan(f);
    free(f);
}
