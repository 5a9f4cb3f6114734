/* Searches around folds on a CUDA device: memory, copies and launches. */
#include "fold_state.h"

#include "base/base.h"
#include "base/device/cuda_call.h"
#include "fold/fold_kernels.h"

#include "base/device/device_internal.h"

#include <stdlib.h>

enum { HITS = 1 << 20, OLDEST_SM = 80 };

/* Memory of the device that grows with the folds. */
enum room { PROFILE, BANDS, DELAY, PART, FACTOR, DMS, TRIALS, NROOM };

struct state {
    int device;
    cudaStream_t stream;
    void *d_room[NROOM], *host[NROOM]; /* host: pinned, of what is sent */
    size_t bytes[NROOM];
    int64_t taken, pinned;
    struct fold_k_hit *d_hit;
    struct fold_k_best *d_best, *best; /* best: [HITS] on the host */
    struct fold_k_counts *d_counts;
    struct fold_k_search k; /* of the fold at hand */
};

/* --- memory ----------------------------------------------------------------------------------- */

static cudaError_t make_room(struct state *c, enum room r, size_t bytes)
{
    if (bytes <= c->bytes[r])
        return cudaSuccess;
    TRY(cudaFree(c->d_room[r]));
    c->taken -= (int64_t)c->bytes[r];
    c->d_room[r] = NULL;
    c->bytes[r] = 0;
    TRY(psr_cuda_take(&c->d_room[r], bytes, &c->taken));
    c->bytes[r] = bytes;
    return cudaSuccess;
}

/* On the state's stream, as other threads send theirs; what was sent to r before has arrived. */
static cudaError_t send(struct state *c, enum room r, const void *from, size_t bytes)
{
    if (bytes > c->bytes[r] || !c->host[r]) {
        psr_device_unpin(c->host[r]);
        c->host[r] = NULL;
        TRY(psr_cuda_take_pinned(&c->host[r], bytes, &c->pinned));
    }
    TRY(make_room(c, r, bytes));
    memcpy(c->host[r], from, bytes);
    return cudaMemcpyAsync(c->d_room[r], c->host[r], bytes, cudaMemcpyHostToDevice, c->stream);
}

static cudaError_t take_all(struct state *c)
{
    TRY(cudaSetDevice(c->device));
    TRY(cudaStreamCreateWithFlags(&c->stream, cudaStreamNonBlocking));
    TRY(psr_cuda_take(&c->d_hit, HITS * sizeof *c->d_hit, &c->taken));
    TRY(psr_cuda_take(&c->d_best, HITS * sizeof *c->d_best, &c->taken));
    return psr_cuda_take(&c->d_counts, sizeof *c->d_counts, &c->taken);
}

static void destroy(void *state)
{
    struct state *c = state;
    (void)cudaSetDevice(c->device);
    if (c->stream) {
        (void)cudaStreamSynchronize(c->stream);
        cudaStreamDestroy(c->stream);
    }
    for (int r = 0; r < NROOM; r++) {
        cudaFree(c->d_room[r]);
        psr_device_unpin(c->host[r]);
    }
    cudaFree(c->d_hit);
    cudaFree(c->d_best);
    cudaFree(c->d_counts);
    free(c->best);
    free(c);
}

static psr_status create(void **state, int device, psr_err *err)
{
    psr_status st = psr_cuda_check_sm(device, OLDEST_SM, err);
    if (st)
        return st;
    struct state *c = calloc(1, sizeof *c);
    if (c)
        c->best = calloc(HITS, sizeof *c->best);
    if (!c || !c->best) {
        free(c);
        return psr_fail_nomem(err, "a fold search", HITS * (double)sizeof *c->best);
    }
    c->device = device;
    const cudaError_t e = take_all(c);
    if (!e) {
        *state = c;
        return PSR_OK;
    }
    st = psr_cuda_fail(device, e, "start", err);
    destroy(c);
    return st;
}

/* --- a fold ----------------------------------------------------------------------------------- */

static struct fold_k_search describe(const struct state *c, const struct psr_fold_search *s)
{
    const struct psr_fold_trials *t = &s->trials;
    return (struct fold_k_search){.npart = t->npart,
                                  .nsub = t->nsub,
                                  .nbin = t->nbin,
                                  .ndm = s->end_dm - s->first_dm,
                                  .nperiod = t->nperiod,
                                  .pstep = t->fold->pstep,
                                  .prof_avg = s->prof_avg,
                                  .prof_var = s->prof_var,
                                  .d_hit = c->d_hit,
                                  .d_best = c->d_best,
                                  .nhit = HITS,
                                  .d_counts = c->d_counts};
}

static size_t count_padded(size_t n, size_t unit)
{
    return (n + unit - 1) / unit * unit;
}

/* Bytes of the device that a fold of this shape takes, with all its trials. */
static double count_bytes(const struct fold_k_search *k, size_t npdot)
{
    const double cells = (double)k->npart * (double)k->nbin;
    const double trials = (double)count_padded(npdot * k->nperiod, FOLD_K_TRIALS);
    return cells * 8 * (double)(k->nsub + k->ndm) + (double)fold_k_factor_bytes(k) +
           trials * FOLD_K_PARTS + 8 * (double)(k->npart * npdot) + 4 * (double)(k->ndm * k->nsub) +
           HITS * (double)(sizeof(struct fold_k_hit) + sizeof(struct fold_k_best));
}

static bool is_suitable(const struct state *c, const struct psr_fold_search *s)
{
    const struct psr_fold_trials *t = &s->trials;
    const struct fold_k_search k = describe(c, s);
    return t->npart <= FOLD_K_PARTS && t->nbin <= FOLD_K_BINS &&
           count_bytes(&k, t->npdot) <= (double)psr_count_memory(s->d.mem_bytes);
}

static cudaError_t take_fold(struct state *c, const struct psr_fold_search *s, const uint32_t *band)
{
    struct fold_k_search *k = &c->k;
    const size_t cells = k->npart * k->nbin;
    TRY(cudaSetDevice(c->device));
    TRY(send(c, PROFILE, s->trials.fold->profile, cells * k->nsub * sizeof(double)));
    TRY(send(c, BANDS, band, k->ndm * k->nsub * sizeof *band));
    TRY(make_room(c, PART, cells * k->ndm * sizeof(double)));
    TRY(make_room(c, FACTOR, fold_k_factor_bytes(k)));
    TRY(make_room(c, DMS, count_padded(k->ndm, FOLD_K_DMS) * sizeof *k->d_dm));
    k->d_profile = c->d_room[PROFILE];
    k->d_dm_offset = c->d_room[BANDS];
    k->d_part = c->d_room[PART];
    k->d_factor = c->d_room[FACTOR];
    k->d_dm = c->d_room[DMS];
    return fold_k_sum_bands(k, c->stream);
}

static psr_status begin(void *state, const struct psr_fold_search *s, psr_err *err)
{
    struct state *c = state;
    if (!is_suitable(c, s))
        return PSR_EUNSUPPORTED;
    /* [ndm][nsub] bins by which sub-bands are advanced. */
    const struct psr_fold_trials *t = &s->trials;
    const size_t ndm = s->end_dm - s->first_dm;
    uint32_t *band = calloc(ndm * t->nsub, sizeof *band);
    size_t *offset = calloc(t->nsub, sizeof *offset);
    for (size_t i = 0; band && offset && t->fold->ndm && i < ndm; i++) {
        psr_fold_trials_dm_offsets(t, t->fold->trial_dm[s->first_dm + i], offset);
        for (size_t j = 0; j < t->nsub; j++)
            band[i * t->nsub + j] = (uint32_t)offset[j];
    }
    if (!offset) {
        free(band);
        band = NULL;
    }
    free(offset);
    if (!band)
        return psr_fail_nomem(err, "a fold search", (double)s->trials.nsub * 8);
    c->k = describe(c, s);
    const cudaError_t e = take_fold(c, s, band);
    free(band);
    return e ? psr_cuda_fail(c->device, e, "search around a fold", err) : PSR_OK;
}

/* --- a range ---------------------------------------------------------------------------------- */

static cudaError_t find_hits(struct state *c, const double *delay, struct fold_k_counts *counts)
{
    struct fold_k_search *k = &c->k;
    const size_t ntrial = count_padded(k->npdots * k->nperiods, FOLD_K_TRIALS);
    TRY(cudaSetDevice(c->device));
    TRY(send(c, DELAY, delay, k->npdots * k->npart * sizeof *delay));
    TRY(make_room(c, TRIALS, ntrial * FOLD_K_PARTS));
    k->d_delay = c->d_room[DELAY];
    k->d_trial = c->d_room[TRIALS];
    TRY(fold_k_list(k, c->stream));
    TRY(fold_k_find(k, c->stream));
    TRY(cudaMemcpyAsync(counts, c->d_counts, sizeof *counts, cudaMemcpyDeviceToHost, c->stream));
    TRY(cudaStreamSynchronize(c->stream));
    if (counts->nhit > HITS)
        return cudaSuccess;
    TRY(cudaMemcpyAsync(c->best, c->d_best, counts->nbest * sizeof *c->best, cudaMemcpyDeviceToHost,
                        c->stream));
    return cudaStreamSynchronize(c->stream);
}

/* The first of the best; trials are numbered in the order of the search. */
static const struct fold_k_best *choose(const struct fold_k_best *best, size_t n)
{
    const struct fold_k_best *first = best;
    for (size_t i = 1; i < n; i++)
        if (best[i].redchi > first->redchi ||
            (best[i].redchi == first->redchi &&
             (best[i].dm < first->dm || (best[i].dm == first->dm && best[i].trial < first->trial))))
            first = best + i;
    return first;
}

static psr_status find(void *state, const struct psr_fold_search *s, const struct psr_fold_range *r,
                       struct psr_fold_device_hit *hit, int64_t *nsummed, psr_err *err)
{
    struct state *c = state;
    const struct psr_fold_trials *t = &s->trials;
    struct fold_k_counts counts;
    c->k.first_period = r->first_period;
    c->k.nperiods = r->end_period - r->first_period;
    c->k.npdots = r->end_pdot - r->first_pdot;
    double *delay = calloc(c->k.npdots * t->npart, sizeof *delay);
    if (!delay)
        return psr_fail_nomem(err, "a fold search", (double)(c->k.npdots * t->npart) * 8);
    for (size_t i = 0; i < c->k.npdots; i++)
        psr_fold_trials_delays(t, r->pddot, r->first_pdot + i, delay + i * t->npart);
    const cudaError_t e = find_hits(c, delay, &counts);
    free(delay);
    if (e)
        return psr_cuda_fail(c->device, e, "search around a fold", err);
    if (counts.nhit > HITS)
        return PSR_EUNSUPPORTED;
    hit->redchi = 0;
    *nsummed = counts.nbest;
    if (counts.nbest == 0)
        return PSR_OK;
    const struct fold_k_best *best = choose(c->best, counts.nbest);
    hit->redchi = best->redchi;
    hit->trial = (struct psr_fold_trial){.dm = s->first_dm + best->dm,
                                         .pddot = r->pddot,
                                         .pdot = r->first_pdot + best->trial / c->k.nperiods,
                                         .period = r->first_period + best->trial % c->k.nperiods};
    return PSR_OK;
}

const struct psr_fold_search_device_ops psr_fold_search_cuda = {
    .name = "cuda", .create = create, .begin = begin, .find = find, .destroy = destroy};
