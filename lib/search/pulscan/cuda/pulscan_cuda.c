/* Spectra through a CUDA device, group after group: while one is searched, the next is copied in,
 * and the peaks of the one before are fetched. */
#include "pulscan_cuda.h"
#include "formats/series/series_internal.h"

#include <dsp/dsp_kernels.h>
#include <psrkit/series.h>
#include <stdlib.h>
#include <string.h>

enum { COPY_BYTES = 1 << 20 }; /* that a thread copies at once */

/* Where the host keeps what goes over for a spectrum. */
static float *input_of(const struct psr_pulscan_state *c, size_t spec)
{
    return c->h_in + spec * (c->hybrid ? c->power_pitch : 2 * c->pitch);
}

/* --- to the device ---------------------------------------------------------------------------- */

/* Copies with all threads: a single one is slower than the bus. */
static void copy_bytes(const struct psr_pulscan_state *c, void *to, const void *from, size_t bytes)
{
    const int nthread = c->s->nthread;
    (void)nthread; /* without OpenMP */
#pragma omp parallel for num_threads(nthread)
    for (size_t n = 0; n < bytes; n += COPY_BYTES)
        memcpy((char *)to + n, (const char *)from + n,
               bytes - n < COPY_BYTES ? bytes - n : COPY_BYTES);
}

static psr_status upload_spectra(struct psr_pulscan_state *c, const struct psr_cuda_group *g,
                                 const float *const *in, psr_err *err)
{
    const size_t bytes = 2 * c->s->nbin * sizeof(float);
    for (size_t n = g->first; n < g->first + g->n; n++) {
        float *from = input_of(c, n);
        if (in[n] != from)
            copy_bytes(c, from, in[n], bytes);
        cudaError_t e =
            cudaMemcpyAsync(c->d_x + n * 2 * c->pitch, from, bytes, cudaMemcpyHostToDevice, c->in);
        if (e)
            return psr_pulscan_cuda_fail(c, e, "spectra", err);
    }
    return PSR_OK;
}

static psr_status upload_powers(struct psr_pulscan_state *c, struct psr_cuda_group *g,
                                const float *const *in, struct psr_pulscan_found *found,
                                psr_err *err)
{
    for (size_t n = 0; n < g->n; n++) {
        const size_t spec = g->first + n;
        const float *from = c->series ? psr_pulscan_series_spectrum(c->series, spec) : in[spec];
        float *power = input_of(c, spec);
        const struct psr_pulscan_search *s = c->s;
        psr_status st = PSR_OK;
        c->given[spec] = from;
        if (found->bad[spec] < 0)
            st = psr_pulscan_powers(s, from, c->level + spec * s->nnorm_block, power,
                                    &found->bad[spec], err);
        c->h_bad[spec] = found->bad[spec] < 0 ? INT64_MAX : found->bad[spec];
        if (st)
            return st;
        cudaError_t e = cudaMemcpyAsync(g->d_power + n * c->power_pitch, power,
                                        c->s->nbin * sizeof *power, cudaMemcpyHostToDevice, c->in);
        if (e)
            return psr_pulscan_cuda_fail(c, e, "powers", err);
    }
    cudaError_t e = cudaMemcpyAsync(c->d_bad + g->first, c->h_bad + g->first,
                                    g->n * sizeof *c->h_bad, cudaMemcpyHostToDevice, c->in);
    return e ? psr_pulscan_cuda_fail(c, e, "powers", err) : PSR_OK;
}

/* --- on the device ---------------------------------------------------------------------------- */

static cudaError_t transform(struct psr_pulscan_state *c, const struct psr_cuda_group *g)
{
    for (size_t n = g->first; n < g->first + g->n; n++)
        TRY(psr_cufft_execute(&c->fft, c->d_x + n * 2 * c->pitch, c->work));
    return cudaSuccess;
}

static cudaError_t normalise(struct psr_pulscan_state *c, const struct psr_cuda_group *g)
{
    const struct pulscan_k_norm norm = psr_pulscan_cuda_norm(c, g);
    if (c->s->series)
        TRY(transform(c, g));
    if (c->nredden)
        TRY(redden_k_remove(c->d_x + g->first * 2 * c->pitch, c->pitch, c->s->nbin, g->n,
                            c->d_redden, c->nredden, c->d_redness, c->work));
    TRY(cudaMemsetAsync(norm.d_bad, 0x7f, g->n * sizeof *norm.d_bad, c->work));
    TRY(pulscan_k_normalise(&norm, c->work));
    return cudaMemcpyAsync(c->h_bad + g->first, norm.d_bad, g->n * sizeof *norm.d_bad,
                           cudaMemcpyDeviceToHost, c->work);
}

static cudaError_t search(struct psr_pulscan_state *c, struct psr_cuda_group *g)
{
    const struct pulscan_k_search job = psr_pulscan_cuda_search(c, g);
    const size_t pieces = g->n * c->s->nharm * c->plan.npiece;
    TRY(cudaMemsetAsync(g->d_groups, 0, pieces * sizeof *g->d_groups, c->work));
    TRY(cudaMemsetAsync(g->d_count, 0, sizeof *g->d_count, c->work));
    TRY(pulscan_k_prefilter(&job, c->work));
    TRY(pulscan_k_peaks(&job, c->work));
    TRY(cudaMemcpyAsync(g->h_count, g->d_count, sizeof *g->d_count, cudaMemcpyDeviceToHost,
                        c->work));
    return cudaEventRecord(g->done, c->work);
}

static cudaError_t launch(struct psr_pulscan_state *c, struct psr_cuda_group *g)
{
    TRY(cudaEventRecord(g->copied, c->in));
    TRY(cudaStreamWaitEvent(c->work, g->copied, 0));
    if (!c->hybrid)
        TRY(normalise(c, g));
    return search(c, g);
}

/* --- from the device -------------------------------------------------------------------------- */

/* There was no room for all peaks: they are looked for once more. */
static cudaError_t search_again(struct psr_pulscan_state *c, struct psr_cuda_group *g)
{
    TRY(psr_pulscan_cuda_grow(c, g, g->h_count->npeak));
    const struct pulscan_k_search job = psr_pulscan_cuda_search(c, g);
    g->h_count->taken = g->h_count->npeak = g->h_count->held = 0;
    TRY(cudaMemcpyAsync(g->d_count, g->h_count, sizeof *g->d_count, cudaMemcpyHostToDevice,
                        c->work));
    TRY(pulscan_k_peaks(&job, c->work));
    TRY(cudaMemcpyAsync(g->h_count, g->d_count, sizeof *g->d_count, cudaMemcpyDeviceToHost,
                        c->work));
    return cudaStreamSynchronize(c->work);
}

static psr_status fetch(struct psr_pulscan_state *c, struct psr_cuda_group *g,
                        struct psr_pulscan_found *found, psr_err *err)
{
    if (!g->n)
        return PSR_OK;
    cudaError_t e = cudaEventSynchronize(g->done);
    if (e)
        return psr_pulscan_cuda_fail(c, e, "search", err);
    const size_t n = g->h_count->npeak;
    psr_status st = psr_pulscan_room(found, n, err);
    if (!st && n > g->cap && (e = search_again(c, g)))
        return psr_pulscan_cuda_fail(c, e, "search", err);
    g->n = 0;
    if (st || !n)
        return st;
    e = cudaMemcpy(found->peak + found->n, g->d_peak, n * sizeof *g->d_peak,
                   cudaMemcpyDeviceToHost);
    if (e)
        return psr_pulscan_cuda_fail(c, e, "peaks", err);
    /* Leaves those of the last n peaks that no box beyond their piece outdoes. */
    const struct psr_pulscan_peak *from = found->peak + found->n;
    for (size_t k = 0; k < n; k++)
        if (from[k].power > PULSCAN_OUTDONE)
            found->peak[found->n++] = from[k];
    return PSR_OK;
}

/* --- the backends ----------------------------------------------------------------------------- */

/* Every group in turn, while the one before is under way. */
static psr_status search_groups(struct psr_pulscan_state *c, size_t nspec, const float *const *in,
                                struct psr_pulscan_found *found, psr_err *err)
{
    psr_status st = PSR_OK;
    int current = 0;
    for (size_t first = 0; !st && first < nspec; first += c->most, current = !current) {
        struct psr_cuda_group *g = &c->group[current];
        if ((st = fetch(c, g, found, err)))
            return st;
        g->first = first;
        g->n = nspec - first < c->most ? nspec - first : c->most;
        st = c->hybrid ? upload_powers(c, g, in, found, err) : upload_spectra(c, g, in, err);
        cudaError_t e = st ? cudaSuccess : launch(c, g);
        if (e)
            st = psr_pulscan_cuda_fail(c, e, "search", err);
    }
    if (!st && !(st = fetch(c, &c->group[current], found, err)))
        st = fetch(c, &c->group[!current], found, err);
    return st;
}

static psr_status execute(void *state, size_t nspec, const float *const *in,
                          struct psr_pulscan_found *found, psr_err *err)
{
    struct psr_pulscan_state *c = state;
    psr_status st = PSR_OK;
    cudaError_t e = cudaSetDevice(c->s->device);
    if (e)
        return psr_pulscan_cuda_fail(c, e, "search", err);
    if (c->series)
        st = psr_pulscan_series_transform(c->series, nspec, in, found->bad, err);
    if (!st)
        st = search_groups(c, nspec, in, found, err);
    (void)cudaStreamSynchronize(c->in);
    (void)cudaStreamSynchronize(c->work);
    c->group[0].n = c->group[1].n = 0;
    if (!st) {
        if (!c->hybrid) {
            for (size_t n = 0; n < nspec; n++)
                if (c->h_bad[n] < PULSCAN_NO_BIN) {
                    /* A series that holds no number somewhere has none in any bin of its spectrum. */
                    int64_t bin = c->h_bad[n];
                    int64_t sample =
                        c->s->series ? psr_spectrum_bad(in[n], 2 * (int64_t)c->s->nbin) : -1;
                    found->bad[n] = sample < 0 ? bin : sample;
                }
        }
    }
    return st;
}

static float *input(void *state, size_t slot)
{
    const struct psr_pulscan_state *c = state;
    return c->hybrid ? NULL : input_of(c, slot);
}

static psr_status amplitudes(void *state, size_t slot, int64_t first, size_t n, float *x,
                             psr_err *err)
{
    const struct psr_pulscan_state *c = state;
    const struct psr_pulscan_search *s = c->s;
    const size_t each = (size_t)s->norm_block[0].end, k0 = (size_t)first / each;
    const size_t nlevel = ((size_t)first + n - 1) / each - k0 + 1;
    struct psr_norm_level *level = calloc(nlevel, sizeof *level);
    if (!level)
        return psr_fail_nomem(err, "amplitudes", (double)nlevel * sizeof *level);
    cudaError_t e = cudaSuccess;
    if (c->hybrid) {
        memcpy(level, c->level + slot * s->nnorm_block + k0, nlevel * sizeof *level);
        memcpy(x, c->given[slot] + 2 * first, 2 * n * sizeof *x);
    } else if (!(e = cudaSetDevice(s->device)) &&
               !(e = cudaMemcpy(level, c->d_level + slot * s->nnorm_block + k0,
                                nlevel * sizeof *level, cudaMemcpyDeviceToHost))) {
        e = cudaMemcpy(x, c->d_x + 2 * (slot * c->pitch + (size_t)first), 2 * n * sizeof *x,
                       cudaMemcpyDeviceToHost);
    }
    for (size_t i = 0; !e && i < 2 * n; i++) {
        const struct psr_norm_level *l = &level[((size_t)first + i / 2) / each - k0];
        x[i] = (x[i] - l->median[i % 2]) * l->scale[i % 2];
    }
    free(level);
    return e ? psr_pulscan_cuda_fail(c, e, "amplitudes", err) : PSR_OK;
}

static int64_t bytes(const void *state)
{
    return ((const struct psr_pulscan_state *)state)->bytes;
}

static void destroy(void *state)
{
    psr_pulscan_cuda_free(state);
    free(state);
}

/* Leaves nothing behind where it fails, so that another backend can be tried. */
static psr_status create(void **state, const struct psr_pulscan_search *s, bool hybrid,
                         psr_err *err)
{
    struct psr_pulscan_state *c = calloc(1, sizeof *c);
    *state = NULL;
    if (!c)
        return psr_fail_nomem(err, "a search", sizeof *c);
    c->s = s;
    c->hybrid = hybrid;
    psr_status st = psr_pulscan_cuda_start(c, err);
    if (st)
        destroy(c);
    else
        *state = c;
    return st;
}

static psr_status create_cuda(void **state, const struct psr_pulscan_search *s, psr_err *err)
{
    return create(state, s, false, err);
}

static psr_status create_hybrid(void **state, const struct psr_pulscan_search *s, psr_err *err)
{
    return create(state, s, true, err);
}

const struct psr_pulscan_ops psr_pulscan_cuda = {
    .name = "cuda",
    .create = create_cuda,
    .input = input,
    .execute = execute,
    .amplitudes = amplitudes,
    .bytes = bytes,
    .destroy = destroy,
};

/* The paper's heterogeneous version: levels and powers by the host, boxes on the device. */
const struct psr_pulscan_ops psr_pulscan_hybrid = {
    .name = "hybrid",
    .by_name_only = true,
    .create = create_hybrid,
    .input = input,
    .execute = execute,
    .amplitudes = amplitudes,
    .bytes = bytes,
    .destroy = destroy,
};
