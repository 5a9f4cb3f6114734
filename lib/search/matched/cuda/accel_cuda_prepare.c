/* Sends series or spectra to a CUDA device, and makes them normalised spectra there. */
#include "accel_cuda.h"

#include "dsp/dsp.h"

#include <dsp/dsp_kernels.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- plan ------------------------------------------------------------------------------------- */

enum { LEAST_BAND = 1024 };

static int64_t cells_of_block(const struct psr_accel_cuda_plan *p)
{
    return 2 * p->cut.good / p->cut.cell;
}

/* The cells of fraction k / numharm that cells of the highest harmonic ask for: the one below, and
 * the next. */
static void place_strip(struct psr_accel_cuda_plan *p, int k, int64_t first, int64_t count)
{
    struct psr_accel_strip *t = &p->strip[k];
    const int64_t each = cells_of_block(p), n = p->s->numharm;
    int64_t lo = first * k / n, hi = (first + count) * k / n + 1;
    t->block = lo / each;
    t->origin = t->block * each;
    t->nblock = (int)(hi / each - t->block + 1);
    t->pitch = t->nblock * each;
}

void psr_accel_cuda_plan_place(struct psr_accel_cuda_plan *p, int64_t first, int64_t count)
{
    if (p->whole) {
        int64_t low = p->first / p->s->numharm;
        place_strip(p, p->s->numharm, low, p->end - low);
        return;
    }
    for (int k = 1; k <= p->s->numharm; k++)
        place_strip(p, k, first, count);
}

static void size_strips(struct psr_accel_cuda_plan *p)
{
    for (int k = 1; k <= p->s->numharm; k++) {
        p->strip[k].jmax = psr_harmonic_step(p->s->jmax, k, p->s->numharm);
        p->strip[k].lmax = psr_harmonic_step(p->s->lmax, k, p->s->numharm);
    }
}

/* Bytes of strips and of the longest one's blocks. */
static double bytes_of_band(struct psr_accel_cuda_plan *p)
{
    const int64_t each = cells_of_block(p);
    double cells = 0;
    p->nblock = 0;
    psr_accel_cuda_plan_place(p, p->first, p->band);
    for (int k = p->whole ? p->s->numharm : 1; k <= p->s->numharm; k++) {
        struct psr_accel_strip *t = &p->strip[k];
        const int nblock = t->nblock + !p->whole; /* wherever the band lies */
        t->room = (2.0 * t->jmax + 1) * (2.0 * t->lmax + 1) * (double)nblock * (double)each;
        cells += t->room;
        p->nblock = nblock > p->nblock ? nblock : p->nblock;
    }
    double block = (double)accel_k_block_bytes(p->kind) + ACCEL_PAIR * sizeof(float);
    return 2.0 * sizeof(uint16_t) * cells + block * p->nblock;
}

static double taps_of(const struct psr_accel_search *s, int reach)
{
    double n = (2.0 * s->jmax + 1) * (2.0 * s->lmax + 1);
    return n * (4.0 * sizeof(float) * (double)psr_template_taps(reach) + 12);
}

static double bytes_of_slot(const struct psr_accel_cuda_plan *p)
{
    return p->npair * 8.0 * ((double)p->s->nbin + 1) + PSR_ACCEL_HITS * sizeof(struct accel_k_hit) +
           8;
}

static double fixed_bytes(const struct psr_accel_cuda_plan *p, int reach)
{
    const struct psr_accel_search *s = p->s;
    double n = (2.0 * s->jmax + 1) * (2.0 * s->lmax + 1);
    return n * (double)accel_k_response_bytes(p->kind) + taps_of(s, reach) +
           2.0 * (double)accel_k_twiddle_bytes(ACCEL_FLOAT) +
           PSR_ACCEL_ENTRIES * sizeof(struct accel_k_entry);
}

psr_status psr_accel_cuda_plan_make(struct psr_accel_cuda_plan *p, const struct psr_accel_search *s,
                                    enum accel_k_number kind, size_t batch, double limit_bytes,
                                    psr_err *err)
{
    const int reach = psr_template_reach(s->jmax, s->lmax);
    *p = (struct psr_accel_cuda_plan){.s = s, .kind = kind, .npair = batch > 1 ? 2 : 1};
    p->cut.cell = psr_cell_size(s->numharm);
    p->cut.lead = (reach + ACCEL_ALIGN) / ACCEL_ALIGN * ACCEL_ALIGN; /* above reach */
    p->cut.good = ACCEL_BLOCK - 2 * p->cut.lead;
    if (p->cut.good < ACCEL_ALIGN)
        return psr_fail(err, PSR_EUNSUPPORTED,
                        "search on CUDA: responses of zmax %d and wmax %d reach %d bins, more than "
                        "%d",
                        PSR_STEP_Z * s->jmax, PSR_STEP_W * s->lmax, reach,
                        (ACCEL_BLOCK - ACCEL_ALIGN) / 2 - 1);
    if (s->nbin > (size_t)1 << 31)
        return psr_fail(err, PSR_EUNSUPPORTED, "search on CUDA: %zu bins are more than 2^31",
                        s->nbin);
    p->first = s->ilo / p->cut.cell;
    p->end = s->ihi / p->cut.cell + 1;
    if (p->end <= p->first) /* no half bin is asked for */
        p->end = p->first + 1;
    size_strips(p);
    /* Fewer spectra on the device first, then bands, and one spectrum where two take more than
     * half of the memory. */
    const double fixed = fixed_bytes(p, reach);
    p->whole = true;
    p->band = p->end - p->first;
    for (p->nslot = batch > ACCEL_PAIR ? 2 : 1; p->nslot > 0; p->nslot--) {
        p->bytes = fixed + p->nslot * bytes_of_slot(p) + bytes_of_band(p);
        if (p->bytes <= limit_bytes)
            return PSR_OK;
    }
    p->nslot = 1;
    p->whole = false;
    if (bytes_of_slot(p) > limit_bytes / 2)
        p->npair = 1;
    while (p->bytes > limit_bytes && p->band > LEAST_BAND) {
        p->band = (p->band + 1) / 2;
        p->bytes = fixed + bytes_of_slot(p) + bytes_of_band(p);
    }
    if (p->bytes <= limit_bytes)
        return PSR_OK;
    return psr_fail(err, PSR_ENOMEM,
                    "search on CUDA: %d spectra of %zu bins, zmax %d and wmax %d need %.0f MB, and "
                    "the limit is %.0f MB",
                    p->npair, p->s->nbin, PSR_STEP_Z * p->s->jmax, PSR_STEP_W * p->s->lmax,
                    p->bytes / 1e6, limit_bytes / 1e6);
}

/* --- memory and plans ------------------------------------------------------------------------- */

static cudaError_t send_redden_blocks(struct psr_accel_cuda *c)
{
    const int64_t nbin = (int64_t)c->s->nbin;
    c->nredden = psr_redden_blocks(&c->s->redden, nbin, NULL);
    struct psr_span *block = calloc(c->nredden, sizeof *block);
    if (!block)
        return cudaErrorMemoryAllocation;
    psr_redden_blocks(&c->s->redden, nbin, block);
    cudaError_t e = psr_cuda_upload(&c->d_redden, block, c->nredden * sizeof *block, &c->bytes);
    free(block);
    return e ? e : psr_cuda_take(&c->d_redness, c->nredden * sizeof *c->d_redness, &c->bytes);
}

static cudaError_t take_levels(struct psr_accel_cuda *c)
{
    const int64_t *first;
    size_t longest;
    const size_t n = psr_accel_normalise_blocks(c->norm, &first, &longest);
    TRY(psr_cuda_upload(&c->d_first, first, (n + 1) * sizeof *first, &c->bytes));
    TRY(psr_cuda_upload(&c->d_zap, c->s->zap, c->s->nzap * sizeof *c->s->zap, &c->bytes));
    for (int k = 0; k < c->plan.nslot; k++) {
        struct psr_accel_slot *slot = &c->slot[k];
        const size_t bytes = ACCEL_PAIR * n * sizeof(double);
        TRY(psr_cuda_take(&slot->d_mean, bytes, &c->bytes));
        TRY(psr_cuda_take_pinned(&slot->h_mean, bytes, &c->bytes));
        TRY(psr_cuda_take(&slot->d_bad, ACCEL_PAIR * sizeof *slot->d_bad, &c->bytes));
        TRY(psr_cuda_take_pinned(&slot->h_bad, ACCEL_PAIR * sizeof *slot->h_bad, &c->bytes));
    }
    return cudaSuccess;
}

static cudaError_t take_stages(struct psr_accel_cuda *c)
{
    for (int k = 0; k < PSR_ACCEL_SLOTS; k++) {
        TRY(cudaEventCreateWithFlags(&c->staged[k], cudaEventDisableTiming));
        TRY(psr_cuda_take_pinned(&c->h_stage[k], 2 * sizeof(float) * PSR_ACCEL_STAGE, &c->bytes));
    }
    return cudaSuccess;
}

psr_status psr_accel_cuda_prepare(struct psr_accel_cuda *c, psr_err *err)
{
    const struct psr_accel_search *s = c->s;
    cudaError_t e = cudaSuccess;
    psr_status st =
        psr_accel_normalise_create(&c->norm, s, psr_template_reach(s->jmax, s->lmax), err);
    if (st)
        return st;
    e = psr_accel_cuda_levels(c) ? take_levels(c) : take_stages(c);
    if (!e && c->transforms && s->redden.start)
        e = send_redden_blocks(c);
    if (e)
        return psr_accel_cuda_fail(c, e, "start", err);
    return c->transforms ? psr_cufft_open(&c->fft, 2 * s->nbin, c->in, err) : PSR_OK;
}

/* --- normalised by the host ------------------------------------------------------------------- */

/* Bins from first on, interleaved. */
static void fill_part(const struct psr_accel_normalise *norm, size_t first, size_t n, float *out,
                      float *room)
{
    const struct psr_split x = {room, room + n};
    psr_accel_normalise_load(norm, (int64_t)first, n, x);
    for (size_t k = 0; k < n; k++) {
        out[2 * k] = x.re[k];
        out[2 * k + 1] = x.im[k];
    }
}

static cudaError_t send_pieces(struct psr_accel_cuda *c, float *d_x,
                               const struct psr_accel_normalise *norm)
{
    int current = 0;
    for (size_t first = 0; first < c->s->nbin; first += PSR_ACCEL_STAGE, current = !current) {
        const size_t left = c->s->nbin - first, n = left < PSR_ACCEL_STAGE ? left : PSR_ACCEL_STAGE;
        float *stage = c->h_stage[current];
        TRY(cudaEventSynchronize(c->staged[current]));
        /* Bins of a piece, by all threads. */
        enum { EACH = 1 << 12 };
        const int nthread = c->s->nthread;
        (void)nthread; /* without OpenMP */
#pragma omp parallel for num_threads(nthread)
        for (size_t k = 0; k < n; k += EACH) {
            float room[2 * EACH];
            fill_part(norm, first + k, n - k < EACH ? n - k : EACH, stage + 2 * k, room);
        }
        TRY(cudaMemcpyAsync(d_x + 2 * first, stage, 2 * n * sizeof *stage, cudaMemcpyHostToDevice,
                            c->in));
        TRY(cudaEventRecord(c->staged[current], c->in));
    }
    return cudaSuccess;
}

/* --- normalised by the device ----------------------------------------------------------------- */

/* The whitened spectrum goes back to the host, which measures candidates in it. */
static cudaError_t transform(struct psr_accel_cuda *c, float *d_x, float *spectrum)
{
    const size_t nbin = c->s->nbin;
    TRY(psr_cufft_execute(&c->fft, d_x, c->in));
    if (c->nredden)
        TRY(redden_k_remove(d_x, nbin, nbin, 1, c->d_redden, c->nredden, c->d_redness, c->in));
    return cudaMemcpyAsync(spectrum, d_x, 2 * nbin * sizeof *d_x, cudaMemcpyDeviceToHost, c->in);
}

static cudaError_t normalise(struct psr_accel_cuda *c, const struct psr_accel_slot *slot, size_t p)
{
    const int64_t *first;
    size_t longest;
    const size_t n = psr_accel_normalise_blocks(c->norm, &first, &longest);
    const struct accel_k_level level = {
        .d_x = slot->d_x[p],
        .nbin = (int64_t)c->s->nbin,
        .d_first = c->d_first,
        .nblock = (int)n,
        .longest = (int)longest,
        .d_zap = c->d_zap,
        .nzap = (int)c->s->nzap,
        .d_bad = slot->d_bad + p,
        .d_mean = slot->d_mean + p * n,
    };
    TRY(accel_k_normalise(&level, c->in));
    TRY(cudaMemcpyAsync(slot->h_bad + p, level.d_bad, sizeof *level.d_bad, cudaMemcpyDeviceToHost,
                        c->in));
    return cudaMemcpyAsync(slot->h_mean + p * n, level.d_mean, n * sizeof(double),
                           cudaMemcpyDeviceToHost, c->in);
}

static cudaError_t send_whole(struct psr_accel_cuda *c, const struct psr_accel_slot *slot, size_t p,
                              const struct psr_accelsearch_input *in)
{
    const size_t n = 2 * c->s->nbin;
    float *d_x = slot->d_x[p];
    TRY(cudaMemcpyAsync(d_x, in->x, n * sizeof *d_x, cudaMemcpyHostToDevice, c->in));
    TRY(accel_k_find_bad(d_x, (int64_t)n, slot->d_bad + p, c->in));
    if (c->transforms)
        TRY(transform(c, d_x, in->spectrum));
    return normalise(c, slot, p);
}

void psr_accel_cuda_take_levels(const struct psr_accel_cuda *c, const struct psr_accel_slot *slot,
                                size_t p, const struct psr_accel_batch *b)
{
    const int64_t *first;
    size_t longest;
    const size_t n = psr_accel_normalise_blocks(c->norm, &first, &longest);
    const size_t spec = slot->first + p;
    struct psr_accelsearch_input in = b->in[spec];
    if (!psr_accel_cuda_levels(c))
        return;
    in.x = c->transforms ? in.spectrum : in.x;
    psr_accel_normalise_take(b->norm[spec], &in, slot->h_mean + p * n);
    if (b->bad)
        b->bad[spec] = (int64_t)slot->h_bad[p];
}

/* --- a pair ----------------------------------------------------------------------------------- */

static psr_status send(struct psr_accel_cuda *c, const struct psr_accel_slot *slot, size_t p,
                       const struct psr_accel_batch *b, psr_err *err)
{
    const size_t spec = slot->first + p;
    cudaError_t e;
    if (psr_accel_cuda_levels(c)) {
        e = send_whole(c, slot, p, &b->in[spec]);
    } else {
        psr_status st = psr_accel_normalise_measure(b->norm[spec], &b->in[spec], err);
        if (st)
            return st;
        e = send_pieces(c, slot->d_x[p], b->norm[spec]);
    }
    return e ? psr_accel_cuda_fail(c, e, "spectra", err) : PSR_OK;
}

psr_status psr_accel_cuda_upload(struct psr_accel_cuda *c, struct psr_accel_slot *slot,
                                 const struct psr_accel_batch *b, size_t first, psr_err *err)
{
    const size_t left = b->n - first, npair = (size_t)c->plan.npair;
    slot->first = first;
    slot->n = left < npair ? left : npair;
    for (size_t p = 0; p < slot->n; p++) {
        psr_status st = send(c, slot, p, b, err);
        if (st)
            return st;
    }
    cudaError_t e = cudaEventRecord(slot->copied, c->in);
    if (!e)
        e = cudaStreamWaitEvent(c->work, slot->copied, 0);
    return e ? psr_accel_cuda_fail(c, e, "spectra", err) : PSR_OK;
}
