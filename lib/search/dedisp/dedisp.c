/* Checks the description of a dedispersion plan, and drives its backend. */
#include "dedisp_internal.h"

#include "base/base.h"
#include "base/device/device_internal.h"
#include "base/threads/threads.h"
#include "formats/spectra/unpack.h"
#include "plan/ddplan_internal.h"

#include <config.h>
#include <math.h>
#include <psrkit/ddplan.h>
#include <stdlib.h>
#include <string.h>

/* --- compares the delays of a plan with exact ones -------------------------------------------- */

/* Barsdell et al. 2012 eq. A1 with A3 at the lowest frequency of the sub-band, which is eq. A4 for
 * equal sub-bands: f^2 = coeff dmconst, and delay = dm dmconst / f^2. */
static double linear_limit(const struct psr_dedisp_layout *s, double dm, size_t k0, size_t k1)
{
    double low = s->coeff[k1], ratio = sqrt(s->coeff[k0] / low);
    return 0.75 * dm / low * (ratio - 1) * (ratio - 1) / s->dt_s;
}

/* --- checks the description of a dedispersion plan, and drives its backend -------------------- */

/* In order of preference for "auto". */
static const struct psr_dedisp_ops *const backends[] = {
#ifdef HAVE_CUDA
    &psr_dedisp_cuda,
#endif
    &psr_dedisp_cpu,
};
enum { NBACKEND = sizeof backends / sizeof *backends };

struct psr_dedisp {
    struct psr_own own; /* what comes from the description */
    struct psr_dedisp_layout layout;
    const struct psr_dedisp_ops *ops;
    void *state;
    double dmconst, top_mhz;
    double *freq_mhz;  /* [nchan] */
    int32_t *position; /* [nchan] k of a kept channel, -1 of another */
    size_t nsub;
    uint64_t nraw; /* spectra taken */
};

static psr_status copy_desc(psr_dedisp *p, const struct psr_dedisp_desc *d, psr_err *err)
{
    struct psr_dedisp_layout *s = &p->layout;
    p->freq_mhz = psr_own(&p->own, d->nchan, sizeof *p->freq_mhz);
    p->position = psr_own(&p->own, d->nchan, sizeof *p->position);
    s->chan = psr_own(&p->own, d->nchan, sizeof *s->chan);
    s->pre = psr_own(&p->own, d->nchan, sizeof *s->pre);
    s->coeff = psr_own(&p->own, d->nchan, sizeof *s->coeff);
    s->dm = psr_own(&p->own, d->ndm, sizeof *s->dm);
    s->ndevice = d->ndevice ? d->ndevice : 1;
    s->device = psr_own(&p->own, s->ndevice, sizeof *s->device);
    psr_status st = psr_own_check(&p->own, "a dedispersion plan", err);
    if (st)
        return st;
    memcpy(p->freq_mhz, d->freq_mhz, d->nchan * sizeof *p->freq_mhz);
    memcpy(s->dm, d->dm, d->ndm * sizeof *s->dm);
    p->dmconst = d->dmconst;
    p->nsub = d->nsub;
    s->nchan = d->nchan;
    s->ndm = d->ndm;
    s->nthread = psr_count_threads(d->nthread);
    s->mem_bytes = psr_count_memory(d->mem_bytes);
    for (size_t n = 0; n < s->ndevice; n++)
        s->device[n] = d->ndevice ? d->devices[n] : d->device;
    s->algo = d->algo;
    s->tol = d->tol;
    s->smear = d->smear > 0 ? d->smear : PSR_DEDISP_SMEAR;
    s->dt_s = d->tsamp_s * (double)d->downsamp;
    return PSR_OK;
}

static bool makes(const struct psr_dedisp_ops *ops, enum psr_dedisp_algo algo, uint64_t sample_max,
                  size_t nkept)
{
    return algo != PSR_DEDISP_TREE || !ops->makes_tree || ops->makes_tree(sample_max, nkept);
}

static psr_status check_backend(const struct psr_dedisp_ops *ops, const struct psr_dedisp_layout *s,
                                psr_err *err)
{
    if (s->align && !ops->makes_late)
        return psr_fail_field(err, PSR_EUNSUPPORTED, "late",
                              "dedispersion: backend %s has no late trials", ops->name);
    if (!makes(ops, s->algo, psr_dedisp_layout_sample_max(s), s->nkept))
        return psr_fail_field(err, PSR_EUNSUPPORTED, "backend",
                              "dedispersion: backend %s has no tree algorithm for floats, "
                              "32-bit samples or sums beyond 32 bits",
                              ops->name);
    return PSR_OK;
}

static psr_status start_backend(psr_dedisp *p, const char *name, psr_err *err)
{
    psr_status st = PSR_OK;
    for (int b = 0; b < NBACKEND; b++) {
        if (!psr_backend_is_asked(name, backends[b]->name))
            continue;
        if (!(st = check_backend(backends[b], &p->layout, err))) {
            p->ops = backends[b];
            st = p->ops->create(&p->state, &p->layout, err);
        }
        if (!psr_backend_is_passed(name, st))
            return st;
    }
    return psr_backend_none(st, name, "dedispersion", err);
}

/* The first one of that name whose devices are there; NULL where there is none. */
static const struct psr_dedisp_ops *find_backend(const char *name, enum psr_dedisp_algo algo,
                                                 uint64_t sample_max, size_t nchan)
{
    for (int b = 0; b < NBACKEND; b++) {
        const struct psr_dedisp_ops *ops = backends[b];
        if (psr_backend_is_asked(name, ops->name) && makes(ops, algo, sample_max, nchan) &&
            (!ops->present || ops->present()))
            return ops;
    }
    return NULL;
}

bool psr_dedisp_sums_itself(const struct psr_dedisp_desc *d)
{
    uint64_t ones = d->kind != PSR_FLOAT && d->nbit < 32 ? (UINT64_C(1) << d->nbit) - 1 : 0;
    const struct psr_dedisp_ops *ops =
        find_backend(d->backend, d->algo, ones * d->downsamp, d->nchan);
    return ops && ops->sums_itself;
}

const char *psr_dedisp_backend(const char *name)
{
    const struct psr_dedisp_ops *ops = find_backend(name, PSR_DEDISP_DIRECT, 0, 1);
    return ops ? ops->name : psr_dedisp_cpu.name;
}

psr_status psr_dedisp_create(psr_dedisp **out, const struct psr_dedisp_desc *desc, psr_err *err)
{
    struct psr_dedisp_desc d;
    *out = NULL;
    psr_status st = psr_copy_desc(&d, sizeof d, desc, "dedispersion", err);
    return st ? st : psr_dedisp_create_summed(out, &d, 1, 0, err);
}

psr_status psr_dedisp_create_layout(psr_dedisp **out, const struct psr_dedisp_desc *desc,
                                    size_t summed, int sum_nbit, psr_err *err)
{
    psr_status st = psr_dedisp_check(desc, err);
    *out = NULL;
    if (st)
        return st;
    psr_dedisp *p = calloc(1, sizeof *p);
    if (!p)
        return psr_fail_nomem(err, "a dedispersion plan", sizeof *p);
    st = copy_desc(p, desc, err);
    if (!st) {
        /* How samples come in. */
        struct psr_dedisp_layout *s = &p->layout;
        uint64_t ones = desc->nbit < 32 ? (UINT64_C(1) << desc->nbit) - 1 : 0;
        s->nbit = summed > 1 ? sum_nbit : desc->nbit;
        s->kind = summed > 1 ? PSR_UINT : desc->kind;
        s->sample_max = ones * summed;
        s->sample_bias = desc->kind == PSR_INT ? (uint32_t)summed << (desc->nbit - 1) : 0;
        s->summed = summed;
        s->downsamp = desc->downsamp / summed;
        st = psr_dedisp_layout_make(&p->layout, desc, p->position, &p->top_mhz, err);
    }
    if (st)
        psr_dedisp_destroy(p);
    else
        *out = p;
    return st;
}

psr_status psr_dedisp_create_summed(psr_dedisp **out, const struct psr_dedisp_desc *desc,
                                    size_t summed, int sum_nbit, psr_err *err)
{
    psr_dedisp *p;
    *out = NULL;
    psr_status st = psr_dedisp_create_layout(&p, desc, summed, sum_nbit, err);
    if (st)
        return st;
    st = start_backend(p, desc->backend, err);
    if (st)
        psr_dedisp_destroy(p);
    else
        *out = p;
    return st;
}

psr_status psr_dedisp_measure(const struct psr_dedisp_desc *desc, size_t *maxshift, psr_err *err)
{
    struct psr_dedisp_desc d;
    psr_dedisp *p;
    psr_status st = psr_copy_desc(&d, sizeof d, desc, "dedispersion", err);
    if (!st)
        st = psr_dedisp_create_layout(&p, &d, 1, 0, err);
    if (st)
        return st;
    *maxshift = p->layout.maxshift;
    psr_dedisp_destroy(p);
    return PSR_OK;
}

const struct psr_dedisp_layout *psr_dedisp_layout(const psr_dedisp *p)
{
    return &p->layout;
}

size_t psr_dedisp_maxshift(const psr_dedisp *p)
{
    return p->layout.maxshift;
}

size_t psr_dedisp_shift(const psr_dedisp *p, size_t i)
{
    const struct psr_dedisp_layout *s = &p->layout;
    return (size_t)psr_dedisp_layout_last(s, i) + s->maxshift - (size_t)s->maxoff;
}

/* Blank samples before the first. */
static int64_t blank_of(const struct psr_dedisp_layout *s)
{
    return s->align ? (int64_t)s->maxshift : 0;
}

int64_t psr_dedisp_delay(const psr_dedisp *p, size_t i, size_t c)
{
    const struct psr_dedisp_layout *s = &p->layout;
    if (p->position[c] < 0)
        return psr_delay_samples(p->dmconst, s->dm[i], p->freq_mhz[c], p->top_mhz, s->dt_s) -
               (s->align ? (int64_t)psr_dedisp_shift(p, i) : 0);
    size_t k = (size_t)p->position[c];
    int32_t d;
    psr_dedisp_layout_delays(s, k, i, 1, &d);
    return d - blank_of(s) + psr_round((double)s->pre[k] / (double)s->downsamp);
}

void psr_dedisp_smearing(const psr_dedisp *p, size_t i, struct psr_dedisp_smearing *out)
{
    /* As psr_dedisp_smearing. */
    const struct psr_dedisp_layout *s = &p->layout;
    double dm = s->dm[i], square = 0, align = s->align ? s->align[i] : 0;
    *out = (struct psr_dedisp_smearing){.limit = s->tree.nlevel ? s->tree.difference[i] : NAN};
    for (size_t k = 0; k < s->nkept; k++) {
        int32_t delay;
        psr_dedisp_layout_delays(s, k, i, 1, &delay);
        double exact = (dm / s->coeff[k] - dm / s->coeff_top) / s->dt_s;
        double difference = fabs(delay - align - exact);
        square += difference * difference;
        out->largest = fmax(out->largest, difference);
    }
    out->rms = sqrt(square / (double)s->nkept);
    for (size_t k0 = 0; k0 < s->nkept; k0 += PSR_MERGE_LEAF) {
        size_t k1 = k0 + PSR_MERGE_LEAF < s->nkept ? k0 + PSR_MERGE_LEAF : s->nkept;
        out->linear = fmax(out->linear, linear_limit(s, dm, k0, k1 - 1));
    }
}

int64_t psr_dedisp_predelay(const psr_dedisp *p, size_t c)
{
    return p->position[c] < 0 ? 0 : p->layout.pre[p->position[c]];
}

static uint64_t outputs_of(const struct psr_dedisp_layout *s, uint64_t nraw)
{
    uint64_t n = nraw / s->downsamp + (uint64_t)blank_of(s);
    return n > s->maxshift ? n - s->maxshift : 0;
}

size_t psr_dedisp_ready(const psr_dedisp *p, size_t nsamp)
{
    return (size_t)(outputs_of(&p->layout, p->nraw + nsamp) - outputs_of(&p->layout, p->nraw));
}

/* Blocks need not be large against maxshift, as nothing is summed twice. */
size_t psr_dedisp_block(const psr_dedisp *p)
{
    const struct psr_dedisp_layout *s = &p->layout;
    struct psr_dedisp_info info;
    psr_dedisp_describe(p, &info);
    double room = (double)s->mem_bytes - (double)info.bytes;
    room = room < p->ops->block_bytes ? room : p->ops->block_bytes;
    double spectrum = (double)s->nchan * s->nbit / 8 + 4.0 * (double)s->ndm / (double)s->downsamp;
    double n = room / spectrum;
    n = n > 1 << 20 ? 1 << 20 : n;
    size_t whole = psr_dedisp_suit_block(p, n > 1 ? (size_t)n : 1);
    return whole > s->downsamp ? whole / s->downsamp * s->downsamp : whole;
}

size_t psr_dedisp_suit_block(const psr_dedisp *p, size_t nsamp)
{
    return p->ops->suit ? p->ops->suit(p->state, nsamp) : nsamp;
}

double psr_dedisp_block_bytes(const psr_dedisp *p)
{
    return p->ops->block_bytes;
}

psr_status psr_dedisp_execute(psr_dedisp *p, const void *in, size_t nsamp, float *out,
                              size_t stride, size_t *nout, psr_err *err)
{
    size_t n = psr_dedisp_ready(p, nsamp);
    *nout = 0;
    if (stride < n)
        return psr_fail_field(err, PSR_EINVAL, "stride",
                              "dedispersion: stride %zu is below the %zu samples ready", stride, n);
    psr_status st = p->ops->execute(p->state, in, nsamp, out, stride, n, err);
    if (st)
        return st;
    p->nraw += nsamp;
    *nout = n;
    return PSR_OK;
}

psr_status psr_dedisp_execute_device(psr_dedisp *p, const void *in, size_t nsamp, size_t *taken,
                                     const struct psr_device_series **device_series,
                                     size_t *ndevice_series, size_t *nout, psr_err *err)
{
    *taken = *ndevice_series = *nout = 0;
    if (!p->ops->execute_device)
        return psr_fail(err, PSR_EUNSUPPORTED,
                        "dedispersion: backend %s leaves no series on a device", p->ops->name);
    psr_status st = p->ops->execute_device(p->state, in, nsamp, taken, device_series,
                                           ndevice_series, nout, err);
    if (st)
        return st;
    size_t n = psr_dedisp_ready(p, *taken);
    p->nraw += *taken;
    if (n != *nout)
        return psr_fail(err, PSR_EDEVICE, "dedispersion: gave %zu samples, not %zu", *nout, n);
    return PSR_OK;
}

struct psr_dedisp_shared {
    const struct psr_dedisp_ops *ops;
    void *block;
    size_t row_bytes;
};

psr_status psr_dedisp_attach(psr_dedisp *p, struct psr_dedisp_shared **shared, psr_err *err)
{
    struct psr_dedisp_shared *sh = *shared;
    psr_status st = PSR_OK;
    if (!p->ops->share)
        return PSR_OK;
    if (!sh) {
        *shared = sh = calloc(1, sizeof *sh);
        if (!sh)
            return psr_fail_nomem(err, "spectra that plans share", sizeof *sh);
        sh->ops = p->ops;
        sh->row_bytes = psr_row_bytes(p->layout.nchan, p->layout.nbit);
        st = p->ops->share(&sh->block, &p->layout, err);
    }
    if (!st && sh->ops == p->ops)
        p->ops->attach(p->state, sh->block);
    return st;
}

psr_status psr_dedisp_upload(struct psr_dedisp_shared *shared, const void *in, size_t nsamp,
                             psr_err *err)
{
    return shared->ops->upload(shared->block, in, nsamp * shared->row_bytes, err);
}

void psr_dedisp_detach_all(struct psr_dedisp_shared *shared)
{
    if (shared && shared->block)
        shared->ops->unshare(shared->block);
    free(shared);
}

void psr_dedisp_reset(psr_dedisp *p)
{
    p->nraw = 0;
    p->ops->reset(p->state);
}

void psr_dedisp_describe_sized(const psr_dedisp *p, struct psr_dedisp_info *info, size_t size)
{
    struct psr_dedisp_info all = {
        .backend = p->ops->name,
        .adds_direct = (double)p->layout.nkept * (double)p->layout.ndm,
    };
    all.adds_planned = all.adds_direct;
    for (size_t i = 0; p->layout.tree.nlevel && i < p->layout.ndm; i++)
        all.difference = fmax(all.difference, p->layout.tree.difference[i]);
    p->ops->describe(p->state, &all);
    psr_give_desc(info, size, &all, sizeof all);
}

void psr_dedisp_destroy(psr_dedisp *p)
{
    if (!p)
        return;
    if (p->state)
        p->ops->destroy(p->state);
    free(p->layout.align);
    psr_merge_destroy(&p->layout.tree);
    psr_own_free(&p->own);
    free(p);
}
