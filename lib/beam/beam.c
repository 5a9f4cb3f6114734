/* Checks the description of a beamforming plan, and drives its backend. */
#include "beam_internal.h"

#include "base/base.h"
#include "base/device/device_internal.h"
#include "base/threads/threads.h"

#include <config.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* In order of preference for "auto". */
static const struct psr_beam_ops *const backends[] = {
#ifdef HAVE_CUDA
    &psr_beam_cuda,
#endif
    &psr_beam_cpu,
};
enum { NBACKEND = sizeof backends / sizeof *backends };

enum { MOST_CHANNELS = 1 << 20, MOST_BEAMS = 1 << 20, MOST_TDS = 1 << 20 };

struct psr_beam {
    struct psr_beam_work work;
    const struct psr_beam_ops *ops;
    void *state;
    uint64_t nseen;   /* samples taken */
    size_t under_way; /* starts not waited for, 2 at most */
};

/* --- validation ------------------------------------------------------------------------------- */

static psr_status check_sums(const struct psr_beam_desc *d, psr_err *err)
{
    if (d->nfreq < 1 || d->nfreq > MOST_CHANNELS)
        return psr_fail_field(err, PSR_EINVAL, "nfreq", "beams: %zu channels is outside 1 to %d",
                              d->nfreq, MOST_CHANNELS);
    for (size_t f = 0; f < d->nfreq; f++)
        if (d->tds[f] < 1 || d->tds[f] > MOST_TDS)
            return psr_fail_field(err, PSR_EINVAL, "tds",
                                  "beams: %zu samples in a sum of channel %zu is outside 1 to %d",
                                  d->tds[f], f, MOST_TDS);
    return psr_check_resources("beams", d->nthread, d->mem_bytes, err);
}

static psr_status check_weights(const struct psr_beam_desc *d, psr_err *err)
{
    const float *w = d->weight;
    size_t ndish = d->array->ndish, n = d->nfreq * PSR_BEAM_NPOL * ndish;
    for (size_t i = 0; w && i < n; i++)
        if (!isfinite(w[2 * i]) || !isfinite(w[2 * i + 1]))
            return psr_fail_field(
                err, PSR_EINVAL, "weight",
                "beams: the weight of channel %zu, polarisation %zu, dish %zu is %g "
                "%+gi, must be finite",
                i / ndish / PSR_BEAM_NPOL, i / ndish % PSR_BEAM_NPOL, i % ndish, (double)w[2 * i],
                (double)w[2 * i + 1]);
    return PSR_OK;
}

static psr_status check_pattern(const struct psr_beam_desc *d, psr_err *err)
{
    size_t n = d->nbeam;
    if (d->pattern == PSR_BEAM_GRID)
        return PSR_OK;
    if (d->pattern == PSR_BEAM_PRODUCT) {
        if (d->n_ns < 1 || d->n_ew < 1 || d->n_ns > MOST_BEAMS || d->n_ew > MOST_BEAMS)
            return psr_fail_field(err, PSR_EINVAL, "n_ns",
                                  "beams: %zu x %zu beams is outside 1 to %d", d->n_ns, d->n_ew,
                                  MOST_BEAMS);
        n = d->n_ns * d->n_ew;
    } else if (d->pattern != PSR_BEAM_POINTS) {
        return psr_fail_field(err, PSR_EINVAL, "pattern", "beams: no pattern %d", (int)d->pattern);
    }
    if (n < 1 || n > MOST_BEAMS)
        return psr_fail_field(err, PSR_EINVAL, "nbeam", "beams: %zu beams is outside 1 to %d", n,
                              MOST_BEAMS);
    return PSR_OK;
}

/* Reduces directions to [0, places), where the beams are the same. */
static psr_status reduce(const char *axis, size_t places, const double *theta, size_t n, size_t per,
                         double *reduced, psr_err *err)
{
    const double period = (double)places, furthest = 1e9;
    for (size_t i = 0; i < n; i++) {
        if (!(fabs(theta[i]) <= furthest))
            return psr_fail_field(err, PSR_EINVAL, axis[0] == 'n' ? "theta_ns" : "theta_ew",
                                  "beams: direction %zu of channel %zu is %g %s, must be within %g",
                                  i % per, i / per, theta[i], axis, furthest);
        double x = fmod(theta[i], period);
        x += x < 0 ? period : 0;
        reduced[i] = x < period ? x : 0;
    }
    return PSR_OK;
}

static psr_status set_directions(struct psr_beam_work *w, const double *theta_ns,
                                 const double *theta_ew, psr_err *err)
{
    psr_status st =
        reduce("north-south", w->m, theta_ns, w->nfreq * w->n_ns, w->n_ns, w->theta_ns, err);
    if (!st)
        st = reduce("east-west", w->n, theta_ew, w->nfreq * w->n_ew, w->n_ew, w->theta_ew, err);
    return st;
}

/* --- copies ----------------------------------------------------------------------------------- */

static psr_status copy_array(struct psr_beam_work *w, const struct psr_array *a, psr_err *err)
{
    psr_status st = psr_array_check(a, "beams: the array", err);
    if (st)
        return st;
    w->m = a->m;
    w->n = a->n;
    w->ndish = a->ndish;
    w->cell = psr_own(&w->own, a->ndish, sizeof *w->cell);
    if (w->cell)
        memcpy(w->cell, a->cell, a->ndish * sizeof *w->cell);
    return psr_own_check(&w->own, "dishes", err);
}

static psr_status copy_sums(struct psr_beam_work *w, const struct psr_beam_desc *d, psr_err *err)
{
    w->nfreq = d->nfreq;
    w->tds = psr_own(&w->own, d->nfreq, sizeof *w->tds);
    w->offset = psr_own(&w->own, d->nfreq, sizeof *w->offset);
    w->scale = psr_own(&w->own, d->nfreq, sizeof *w->scale);
    psr_status st = psr_own_check(&w->own, "channels", err);
    if (st)
        return st;
    w->tds_min = w->tds_max = d->tds[0];
    for (size_t f = 0; f < d->nfreq; f++) {
        w->tds[f] = d->tds[f];
        w->tds_min = d->tds[f] < w->tds_min ? d->tds[f] : w->tds_min;
        w->tds_max = d->tds[f] > w->tds_max ? d->tds[f] : w->tds_max;
    }
    return PSR_OK;
}

static psr_status copy_weights(struct psr_beam_work *w, const struct psr_beam_desc *d, psr_err *err)
{
    size_t n = d->nfreq * PSR_BEAM_NPOL * w->ndish;
    w->weight_max = d->weight ? 0 : 1;
    if (!d->weight)
        return PSR_OK;
    w->weight = psr_own(&w->own, n, 2 * sizeof *w->weight);
    psr_status st = psr_own_check(&w->own, "weights", err);
    if (st)
        return st;
    memcpy(w->weight, d->weight, n * 2 * sizeof *w->weight);
    for (size_t i = 0; i < n; i++) {
        float modulus = hypotf(w->weight[2 * i], w->weight[2 * i + 1]);
        if (w->cell[i % w->ndish] >= 0 && modulus > w->weight_max)
            w->weight_max = modulus;
    }
    return PSR_OK;
}

static psr_status copy_pattern(struct psr_beam_work *w, const struct psr_beam_desc *d, psr_err *err)
{
    w->pattern = d->pattern;
    if (d->pattern == PSR_BEAM_GRID) {
        w->nbeam = 4 * w->m * w->n;
        return PSR_OK;
    }
    bool points = d->pattern == PSR_BEAM_POINTS;
    w->n_ns = points ? d->nbeam : d->n_ns;
    w->n_ew = points ? d->nbeam : d->n_ew;
    w->nbeam = points ? d->nbeam : d->n_ns * d->n_ew;
    w->theta_ns = psr_own(&w->own, w->nfreq * w->n_ns, sizeof *w->theta_ns);
    w->theta_ew = psr_own(&w->own, w->nfreq * w->n_ew, sizeof *w->theta_ew);
    psr_status st = psr_own_check(&w->own, "directions", err);
    return st ? st : set_directions(w, d->theta_ns, d->theta_ew, err);
}

/* --- the plan --------------------------------------------------------------------------------- */

static psr_status start_backend(psr_beam *p, const char *name, psr_err *err)
{
    psr_status st = PSR_OK;
    for (int b = 0; b < NBACKEND; b++) {
        if (!psr_backend_is_asked(name, backends[b]->name))
            continue;
        p->ops = backends[b];
        st = p->ops->create(&p->state, &p->work, err);
        if (!psr_backend_is_passed(name, st))
            return st;
    }
    return psr_backend_none(st, name, "beams", err);
}

static psr_status create(psr_beam **out, const struct psr_beam_desc *desc, psr_err *err)
{
    psr_status st;
    psr_beam *p = calloc(1, sizeof *p);
    if (!p)
        return psr_fail_nomem(err, "a plan for beams", sizeof *p);
    struct psr_beam_work *w = &p->work;
    if ((st = copy_array(w, desc->array, err)) || (st = check_sums(desc, err)) ||
        (st = check_pattern(desc, err)) || (st = check_weights(desc, err)) ||
        (st = copy_sums(w, desc, err)) || (st = copy_weights(w, desc, err)) ||
        (st = copy_pattern(w, desc, err)))
        goto done;
    w->flip = desc->nibbles.offset_binary ? 0x88 : 0;
    w->real_low = desc->nibbles.real_low;
    w->nbit = 32;
    w->nthread = psr_count_threads(desc->nthread);
    w->mem_bytes = psr_count_memory(desc->mem_bytes);
    w->device = desc->device;
    st = start_backend(p, desc->backend, err);
done:
    if (st)
        psr_beam_destroy(p);
    else
        *out = p;
    return st;
}

psr_status psr_beam_create(psr_beam **out, const struct psr_beam_desc *desc, psr_err *err)
{
    struct psr_beam_desc d;
    *out = NULL;
    psr_status st = psr_copy_desc(&d, sizeof d, desc, "beams", err);
    if (!st && !(d.array && d.tds))
        st = psr_fail_field(err, PSR_EINVAL, d.array ? "tds" : "array", "beams: %s is NULL",
                            d.array ? "tds" : "array");
    const bool none = d.pattern == PSR_BEAM_POINTS && d.nbeam == 0; /* which create refuses */
    if (!st && !none && d.pattern != PSR_BEAM_GRID && !(d.theta_ns && d.theta_ew))
        st = psr_fail_field(err, PSR_EINVAL, d.theta_ns ? "theta_ew" : "theta_ns",
                            "beams: directions are NULL");
    return st ? st : create(out, &d, err);
}

size_t psr_beam_count(const psr_beam *p)
{
    return p->work.nbeam;
}

psr_status psr_beam_point(psr_beam *p, const double *theta_ns, const double *theta_ew, psr_err *err)
{
    if (p->work.pattern == PSR_BEAM_GRID)
        return psr_fail_field(err, PSR_EINVAL, "pattern",
                              "beams: those of the grid cannot be pointed");
    psr_status st = set_directions(&p->work, theta_ns, theta_ew, err);
    if (!st)
        st = psr_beam_wait(p, 0, err);
    return st ? st : p->ops->point(p->state, err);
}

psr_status psr_beam_quantise(psr_beam *p, int nbit, const float *offset, const float *scale,
                             psr_err *err)
{
    struct psr_beam_work *w = &p->work;
    if (nbit != 4 && nbit != 8 && nbit != 32)
        return psr_fail_field(err, PSR_EINVAL, "nbit", "beams: %d bits is none of 4, 8, 32", nbit);
    if (nbit == 4 && w->nfreq % 2)
        return psr_fail_field(err, PSR_EINVAL, "nbit",
                              "beams: spectra of %zu channels of 4 bits end within a byte",
                              w->nfreq);
    for (size_t f = 0; f < w->nfreq && nbit < 32; f++) {
        if (!isfinite(offset[f]) || !isfinite(scale[f]))
            return psr_fail_field(err, PSR_EINVAL, "scale",
                                  "beams: offset %g and scale %g of channel %zu must be finite",
                                  (double)offset[f], (double)scale[f], f);
        w->offset[f] = offset[f];
        w->scale[f] = scale[f];
    }
    w->nbit = nbit;
    psr_status st = psr_beam_wait(p, 0, err);
    return st ? st : p->ops->quantise(p->state, err);
}

size_t psr_beam_row_bytes(const psr_beam *p)
{
    return p->work.nfreq * (size_t)p->work.nbit / 8;
}

size_t psr_beam_block(const psr_beam *p)
{
    return p->ops->block(p->state);
}

size_t psr_beam_ready(const psr_beam *p, size_t f, size_t nt)
{
    uint64_t tds = p->work.tds[f];
    return (size_t)((p->nseen + nt) / tds - p->nseen / tds);
}

/* Sums of different lengths end at different times, so the shortest need not be the most numerous: if
 * the end of one has just been missed, there may be fewer of them than of longer ones. */
size_t psr_beam_rows(const psr_beam *p, size_t nt)
{
    const struct psr_beam_work *w = &p->work;
    size_t most = psr_beam_ready(p, 0, nt);
    for (size_t f = 1; f < w->nfreq && w->tds_min < w->tds_max; f++) {
        size_t n = psr_beam_ready(p, f, nt);
        most = n > most ? n : most;
    }
    return most;
}

psr_status psr_beam_wait(psr_beam *p, size_t left, psr_err *err)
{
    psr_status st = PSR_OK;
    if (p->under_way > left && p->ops->wait)
        st = p->ops->wait(p->state, left, err);
    p->under_way = st ? 0 : p->under_way < left ? p->under_way : left;
    return st;
}

static psr_status start(psr_beam *p, const uint8_t *in, size_t nt, const struct psr_beam_out *out,
                        size_t *nrow, psr_err *err)
{
    size_t n = psr_beam_rows(p, nt), row = psr_beam_row_bytes(p);
    *nrow = 0;
    if (out->stride < n)
        return psr_fail_field(err, PSR_EINVAL, "stride",
                              "beams: stride %zu is below the %zu rows ready", out->stride, n);
    if (p->work.tds_min < p->work.tds_max && !out->on_device)
        for (size_t b = 0; b < p->work.nbeam; b++)
            memset((char *)out->rows + b * out->stride * row, 0, n * row);
    psr_status st = psr_beam_wait(p, 1, err);
    if (!st)
        st = p->ops->execute(p->state, in, nt, p->nseen, out, n, err);
    if (st) {
        p->under_way = 0;
        return st;
    }
    p->under_way++;
    p->nseen += nt;
    *nrow = n;
    return PSR_OK;
}

psr_status psr_beam_start(psr_beam *p, const uint8_t *in, size_t nt, void *out, size_t stride,
                          size_t *nrow, psr_err *err)
{
    const struct psr_beam_out to = {out, stride, false};
    return start(p, in, nt, &to, nrow, err);
}

psr_status psr_beam_start_device(psr_beam *p, const uint8_t *in, size_t nt, void *d_out,
                                 size_t stride, size_t *nrow, psr_err *err)
{
    const struct psr_beam_out to = {d_out, stride, p->ops->alloc_device != NULL};
    return start(p, in, nt, &to, nrow, err);
}

psr_status psr_beam_execute(psr_beam *p, const uint8_t *in, size_t nt, void *out, size_t stride,
                            size_t *nrow, psr_err *err)
{
    psr_status st = psr_beam_start(p, in, nt, out, stride, nrow, err);
    return st ? st : psr_beam_wait(p, 0, err);
}

void psr_beam_reset(psr_beam *p)
{
    p->nseen = 0;
    p->under_way = 0;
    p->ops->reset(p->state);
}

psr_status psr_beam_alloc(const psr_beam *p, size_t bytes, void **memory, psr_err *err)
{
    return p->ops->alloc(p->work.device, bytes, memory, err);
}

void psr_beam_free(const char *backend, void *memory)
{
    for (int b = 0; b < NBACKEND && memory; b++)
        if (!strcmp(backend, backends[b]->name))
            backends[b]->free(memory);
}

psr_status psr_beam_alloc_device(const psr_beam *p, size_t bytes, void **memory, psr_err *err)
{
    return p->ops->alloc_device ? p->ops->alloc_device(p->work.device, bytes, memory, err)
                                : p->ops->alloc(p->work.device, bytes, memory, err);
}

void psr_beam_free_device(const char *backend, void *memory)
{
    for (int b = 0; b < NBACKEND && memory; b++)
        if (!strcmp(backend, backends[b]->name))
            (backends[b]->free_device ? backends[b]->free_device : backends[b]->free)(memory);
}

void psr_beam_describe_sized(const psr_beam *p, struct psr_beam_info *info, size_t size)
{
    const struct psr_beam_info all = {.backend = p->ops->name, .bytes = p->ops->bytes(p->state)};
    psr_give_desc(info, size, &all, sizeof all);
}

void psr_beam_destroy(psr_beam *p)
{
    if (!p)
        return;
    if (p->state)
        p->ops->destroy(p->state);
    psr_own_free(&p->work.own);
    free(p);
}
