/* Holds the data of a search on a CUDA device and on the host. */
#include "base/device/device_internal.h"
#include "dsp/dsp.h"
#include "pulscan_cuda.h"

#include <limits.h>
#include <math.h>
#include <psrkit/device.h>
#include <psrkit/signif.h>
#include <stdlib.h>
#include <string.h>

/* Which boxes are tested, so that few are summed: every width of a search belongs to one test, of a
 * box that holds all boxes of its widths that start at, or less than 4^step bins behind, the test's
 * place.  A test that noise passes now and then costs little: the piece is searched in full. */

/* What tests of each step cost, per start; measured in instructions. */
static const double step_cost[PULSCAN_STEPS] = {3.2, 1.3};

/* How often noise may pass a test. */
static const double ln_rare = -10.8; /* 2e-5 */

enum { MAX_START = INT_MAX - (1 << 20) };

static int step_bins(int step)
{
    return 1 << 2 * step;
}

/* Whether any box of this width can be a hit: no sum of powers reaches 1e37. */
static bool is_searched(const struct psr_boxes *b)
{
    return b->lo < b->hi && b->floor < 1e37f;
}

/* The box of a test for widths up to z + 1. */
static int test_bins(int z, int step)
{
    int each = step_bins(step);
    return (z + each + each - 1) / each * each;
}

/* From width k on: how many widths a test of this step can stand for, 0 where noise would pass it
 * too often even for one.  Tests of step 0 always can. */
static size_t reach(const struct psr_pulscan_search *s, size_t h, size_t k, int step, float *floor)
{
    const struct psr_boxes *box = s->boxes + h * s->nz;
    size_t n = 0;
    float lowest = INFINITY;
    for (; k + n < s->nz; n++) {
        int bins = test_bins(s->z[k + n], step);
        float next = is_searched(&box[k + n]) ? fminf(lowest, box[k + n].floor) : lowest;
        double dof = psr_pulscan_dof(s->harm[h], bins - 1);
        bool exact = step == 0 && n == 0;
        if (!exact && isfinite(next) && psr_chi2_logp((double)next, dof).ln_sf > ln_rare)
            break;
        lowest = next;
    }
    *floor = lowest;
    return n;
}

/* The test that spares most work. */
static size_t choose_test(const struct psr_pulscan_search *s, size_t h, size_t k, int *step,
                          float *floor)
{
    size_t best = 0;
    double gain = 0;
    for (int n = 0; n < PULSCAN_STEPS; n++) {
        float lowest;
        size_t count = reach(s, h, k, n, &lowest);
        if ((double)count / step_cost[n] <= gain)
            continue;
        gain = (double)count / step_cost[n];
        best = count;
        *step = n;
        *floor = lowest;
    }
    return best;
}

/* Tests of one sum, with floors still as floats. */
struct draft {
    int step, bins;
    float floor;
    uint32_t groups;
};

static size_t draft_tests(const struct psr_boxes_plan *p, const struct psr_pulscan_search *s,
                          size_t h, struct draft *draft)
{
    size_t n = 0;
    for (size_t k = 0; k < s->nz;) {
        struct draft *d = &draft[n];
        size_t count = choose_test(s, h, k, &d->step, &d->floor);
        int last = s->z[k + count - 1];
        d->bins = test_bins(last, d->step);
        int z0 = s->z[k];
        d->groups = 0;
        for (int g = z0 >> p->group_shift; g <= last >> p->group_shift; g++)
            d->groups |= UINT32_C(1) << g;
        n += isfinite(d->floor);
        k += count;
    }
    return n;
}

/* The kernels' sums differ from exact ones by less than 3e-5. */
static uint32_t scaled_floor(float floor, float scale)
{
    double f = (double)floor * (1 - 3e-5) * (double)scale;
    return f > 0 ? (uint32_t)f : 0;
}

static psr_status set_tests(struct psr_boxes_plan *p, const struct psr_pulscan_search *s, size_t h,
                            psr_err *err)
{
    struct pulscan_k_sum *sum = &p->sum[h];
    struct draft *draft = calloc(s->nz, sizeof *draft);
    if (!draft)
        return psr_fail_nomem(err, "tests of boxes", (double)s->nz * sizeof *draft);
    size_t n = draft_tests(p, s, h, draft);
    /* Powers are cut above all floors and scaled so that no box of a test reaches 2^32. */
    double most = 1, widest = 1;
    for (size_t i = 0; i < n; i++) {
        most = fmax(most, (double)draft[i].floor);
        widest = fmax(widest, draft[i].bins);
    }
    most *= 1.001;
    sum->cut = (float)most;
    sum->scale = (float)exp2(floor(log2(0x1p32 / (widest * (most + 1)))));
    while ((ceil(most * (double)sum->scale) + 1) * widest >= 0x1p32)
        sum->scale /= 2;
    for (int step = 0; step < PULSCAN_STEPS; step++) {
        sum->test[step] = (uint32_t)p->ntest;
        for (size_t i = 0; i < n; i++) {
            const struct draft *d = &draft[i];
            if (d->step != step)
                continue;
            p->test[p->ntest++] = (struct pulscan_k_test){
                .m = (uint32_t)(d->bins / step_bins(step)),
                .floor = scaled_floor(d->floor, sum->scale),
                .groups = d->groups,
            };
            p->halo = d->bins > p->halo ? d->bins : p->halo;
        }
    }
    sum->test[PULSCAN_STEPS] = (uint32_t)p->ntest;
    free(draft);
    return PSR_OK;
}

psr_status psr_boxes_plan_make(struct psr_boxes_plan *p, const struct psr_pulscan_search *s,
                               psr_err *err)
{
    int zmax = s->z[s->nz - 1], widest = test_bins(zmax, PULSCAN_STEPS - 1);
    *p = (struct psr_boxes_plan){.begin = INT_MAX, .nwidth = (zmax + 8) / 8 * 8, .group_shift = 3};
    if (widest > pulscan_k_max_halo())
        return psr_fail_field(err, PSR_EUNSUPPORTED, "zmax",
                              "search on CUDA: zmax %d is above its limit of %d", zmax,
                              pulscan_k_max_halo() - 2 * step_bins(PULSCAN_STEPS - 1));
    if (s->nbin > MAX_START)
        return psr_fail_field(err, PSR_EUNSUPPORTED, "nbin",
                              "search on CUDA: %zu bins are above its limit of %d", s->nbin,
                              MAX_START);
    while (zmax >> p->group_shift >= PULSCAN_GROUPS)
        p->group_shift++;
    p->sum = calloc(s->nharm, sizeof *p->sum);
    p->test = calloc(s->nharm * s->nz + 1, sizeof *p->test);
    p->width = calloc(s->nharm * (size_t)p->nwidth, sizeof *p->width);
    if (!p->sum || !p->test || !p->width)
        return psr_fail_nomem(err, "tests of boxes", 48.0 * (double)(s->nharm * s->nz));
    psr_status st = PSR_OK;
    for (size_t h = 0; !st && h < s->nharm; h++) {
        struct pulscan_k_sum *sum = &p->sum[h];
        struct pulscan_k_width *width = p->width + h * (size_t)p->nwidth;
        *sum = (struct pulscan_k_sum){.nharm = s->harm[h], .begin = INT_MAX};
        for (int z = 0; z < p->nwidth; z++)
            width[z].floor = INFINITY;
        for (size_t k = 0; k < s->nz; k++) {
            const struct psr_boxes *b = &s->boxes[h * s->nz + k];
            if (!is_searched(b))
                continue;
            width[s->z[k]] =
                (struct pulscan_k_width){b->floor, (int)b->lo, (int)b->hi, (uint32_t)k};
            sum->begin = (int)b->lo < sum->begin ? (int)b->lo : sum->begin;
            sum->end = (int)b->hi > sum->end ? (int)b->hi : sum->end;
        }
        p->begin = sum->begin < p->begin ? sum->begin : p->begin;
        p->end = sum->end > p->end ? sum->end : p->end;
        st = set_tests(p, s, h, err);
    }
    const int end = p->end;
    int64_t last = end > 1 ? end - 2 : 0;
    p->npiece = (uint32_t)(last / s->block + 1) * pulscan_k_pieces(s->block);
    return st;
}

void psr_boxes_plan_free(struct psr_boxes_plan *p)
{
    free(p->sum);
    free(p->test);
    free(p->width);
    *p = (struct psr_boxes_plan){0};
}

enum {
    GROUP_BINS = 40 << 20, /* of spectra searched at once, about */
    FIRST_PEAKS = 1 << 20, /* room for peaks of a group, at first */
};

psr_status psr_pulscan_cuda_fail(const struct psr_pulscan_state *c, cudaError_t e, const char *what,
                                 psr_err *err)
{
    (void)cudaGetLastError();
    return psr_fail(err, e == cudaErrorMemoryAllocation ? PSR_ENOMEM : PSR_EDEVICE,
                    "device %d: %s: %s", c->s->device, what, cudaGetErrorString(e));
}

/* --- memory ----------------------------------------------------------------------------------- */

cudaError_t psr_pulscan_cuda_grow(struct psr_pulscan_state *c, struct psr_cuda_group *g, size_t n)
{
    size_t cap = n + n / 2;
    TRY(cudaFree(g->d_peak));
    g->d_peak = NULL;
    c->bytes -= (int64_t)(g->cap * sizeof *g->d_peak);
    g->cap = 0;
    TRY(psr_cuda_take(&g->d_peak, cap * sizeof *g->d_peak, &c->bytes));
    g->cap = cap;
    return cudaSuccess;
}

/* --- start and end ---------------------------------------------------------------------------- */

static size_t count_pieces(const struct psr_pulscan_state *c)
{
    return c->most * c->s->nharm * c->plan.npiece;
}

static cudaError_t take_group(struct psr_pulscan_state *c, struct psr_cuda_group *g)
{
    size_t pieces = count_pieces(c) * sizeof(uint32_t);
    TRY(cudaEventCreateWithFlags(&g->copied, cudaEventDisableTiming));
    TRY(cudaEventCreateWithFlags(&g->done, cudaEventDisableTiming));
    TRY(psr_cuda_take(&g->d_power, c->most * c->power_pitch * sizeof *g->d_power, &c->bytes));
    TRY(psr_cuda_take(&g->d_groups, pieces, &c->bytes));
    TRY(psr_cuda_take(&g->d_list, pieces, &c->bytes));
    TRY(psr_cuda_take(&g->d_count, sizeof *g->d_count, &c->bytes));
    TRY(psr_cuda_take_pinned(&g->h_count, sizeof *g->h_count, &c->bytes));
    return psr_pulscan_cuda_grow(c, g, FIRST_PEAKS);
}

static cudaError_t take_blocks(struct psr_pulscan_state *c)
{
    const struct psr_pulscan_search *s = c->s;
    if (!s->series || s->redden.start == 0)
        return cudaSuccess;
    c->nredden = psr_redden_blocks(&s->redden, (int64_t)s->nbin, NULL);
    struct psr_span *block = calloc(c->nredden, sizeof *block);
    if (!block)
        return cudaErrorMemoryAllocation;
    psr_redden_blocks(&s->redden, (int64_t)s->nbin, block);
    cudaError_t e = psr_cuda_upload(&c->d_redden, block, c->nredden * sizeof *block, &c->bytes);
    free(block);
    return e ? e
             : psr_cuda_take(&c->d_redness, c->most * c->nredden * sizeof *c->d_redness, &c->bytes);
}

static cudaError_t take_spectra(struct psr_pulscan_state *c)
{
    const struct psr_pulscan_search *s = c->s;
    size_t spectra = s->batch * c->pitch * 2 * sizeof(float);
    TRY(psr_cuda_take_pinned(&c->h_bad, s->batch * sizeof *c->h_bad, &c->bytes));
    TRY(psr_cuda_take(&c->d_bad, s->batch * sizeof *c->d_bad, &c->bytes));
    if (c->hybrid)
        return psr_cuda_take_pinned(&c->h_in, s->batch * c->power_pitch * sizeof(float), &c->bytes);
    TRY(psr_cuda_take_pinned(&c->h_in, spectra, &c->bytes));
    TRY(psr_cuda_take(&c->d_x, spectra, &c->bytes));
    TRY(psr_cuda_take(&c->d_level, s->batch * s->nnorm_block * sizeof *c->d_level, &c->bytes));
    TRY(take_blocks(c));
    TRY(psr_cuda_upload(&c->d_zap, s->zap, s->nzap * sizeof *s->zap, &c->bytes));
    return psr_cuda_upload(&c->d_norm_block, s->norm_block, s->nnorm_block * sizeof *s->norm_block,
                           &c->bytes);
}

static cudaError_t upload_plan(struct psr_pulscan_state *c)
{
    const struct psr_boxes_plan *p = &c->plan;
    size_t nharm = c->s->nharm;
    TRY(psr_cuda_upload(&c->d_sum, p->sum, nharm * sizeof *p->sum, &c->bytes));
    TRY(psr_cuda_upload(&c->d_z, c->s->z, c->s->nz * sizeof *c->s->z, &c->bytes));
    TRY(psr_cuda_upload(&c->d_test, p->test, (p->ntest + 1) * sizeof *p->test, &c->bytes));
    return psr_cuda_upload(&c->d_width, p->width, nharm * (size_t)p->nwidth * sizeof *p->width,
                           &c->bytes);
}

static cudaError_t take_all(struct psr_pulscan_state *c)
{
    TRY(cudaStreamCreateWithFlags(&c->in, cudaStreamNonBlocking));
    TRY(cudaStreamCreateWithFlags(&c->work, cudaStreamNonBlocking));
    TRY(upload_plan(c));
    TRY(take_spectra(c));
    TRY(take_group(c, c->group));
    return take_group(c, c->group + 1);
}

/* Groups are large enough to fill the device and, of a batch, small enough that copying and
 * searching overlap. */
static void set_sizes(struct psr_pulscan_state *c)
{
    const struct psr_pulscan_search *s = c->s;
    c->pitch = (s->nbin + 2) / 2 * 2; /* room for the highest frequency of a transform */
    c->power_pitch = (s->nbin + 3) / 4 * 4;
    c->most = GROUP_BINS / s->nbin + 1;
    if (c->most > (s->batch + 3) / 4)
        c->most = (s->batch + 3) / 4;
}

static double need(const struct psr_pulscan_state *c)
{
    double spectra = (double)c->s->batch * (double)c->pitch * 8 * (c->hybrid ? 1 : 2);
    double powers = 2 * (double)c->most * (double)c->power_pitch * 4;
    double pieces = 4 * 4 * (double)count_pieces(c);
    if (c->hybrid && c->s->series)
        spectra += psr_pulscan_series_bytes(c->s);
    return spectra + powers + pieces + 2.0 * FIRST_PEAKS * sizeof(struct psr_pulscan_peak);
}

static psr_status take_host(struct psr_pulscan_state *c, psr_err *err)
{
    const struct psr_pulscan_search *s = c->s;
    if (!c->hybrid)
        return PSR_OK;
    c->level = calloc(s->batch * s->nnorm_block, sizeof *c->level);
    c->given = calloc(s->batch, sizeof *c->given);
    if (!c->level || !c->given)
        return psr_fail_nomem(err, "a search", 32.0 * (double)(s->batch * s->nnorm_block));
    return s->series ? psr_pulscan_series_create(&c->series, s, err) : PSR_OK;
}

psr_status psr_pulscan_cuda_start(struct psr_pulscan_state *c, psr_err *err)
{
    const struct psr_pulscan_search *s = c->s;
    struct psr_device device;
    psr_err why;
    psr_status st = psr_device_describe(s->device, &device, &why);
    if (st)
        return psr_fail_field(err, st, why.field, "search on CUDA: %s", why.msg);
    if ((st = psr_boxes_plan_make(&c->plan, s, err)))
        return st;
    set_sizes(c);
    if (need(c) > (double)s->mem_bytes)
        return psr_fail(err, PSR_ENOMEM,
                        "search on CUDA: %zu spectra of %zu bins need %.0f MB, and the limit is "
                        "%.0f MB",
                        s->batch, s->nbin, need(c) / 1e6, (double)s->mem_bytes / 1e6);
    cudaError_t e = cudaSetDevice(s->device);
    c->started = !e;
    if (e || (e = take_all(c)))
        return psr_pulscan_cuda_fail(c, e, "start", err);
    if (s->series && !c->hybrid && (st = psr_cufft_open(&c->fft, 2 * s->nbin, c->work, err)))
        return st;
    return take_host(c, err);
}

static void free_group(struct psr_cuda_group *g)
{
    cudaFree(g->d_power);
    cudaFree(g->d_groups);
    cudaFree(g->d_list);
    cudaFree(g->d_count);
    cudaFree(g->d_peak);
    psr_device_unpin(g->h_count);
    if (g->copied)
        cudaEventDestroy(g->copied);
    if (g->done)
        cudaEventDestroy(g->done);
}

static void free_device(struct psr_pulscan_state *c)
{
    (void)cudaSetDevice(c->s->device);
    (void)cudaDeviceSynchronize();
    psr_cufft_close(&c->fft);
    free_group(c->group);
    free_group(c->group + 1);
    void *const device[] = {c->d_x,      c->d_norm_block, c->d_zap, c->d_level,
                            c->d_redden, c->d_redness,    c->d_bad, c->d_sum,
                            c->d_test,   c->d_width,      c->d_z};
    for (size_t n = 0; n < sizeof device / sizeof *device; n++)
        cudaFree(device[n]);
    psr_device_unpin(c->h_in);
    psr_device_unpin(c->h_bad);
    if (c->in)
        cudaStreamDestroy(c->in);
    if (c->work)
        cudaStreamDestroy(c->work);
}

void psr_pulscan_cuda_free(struct psr_pulscan_state *c)
{
    if (c->started)
        free_device(c);
    psr_boxes_plan_free(&c->plan);
    psr_pulscan_series_destroy(c->series);
    free(c->level);
    free(c->given);
}

/* --- what the kernels are told ---------------------------------------------------------------- */

struct pulscan_k_norm psr_pulscan_cuda_norm(const struct psr_pulscan_state *c,
                                            const struct psr_cuda_group *g)
{
    const struct psr_pulscan_search *s = c->s;
    return (struct pulscan_k_norm){
        .d_x = c->d_x + g->first * c->pitch * 2,
        .pitch = c->pitch,
        .nbin = s->nbin,
        .nspec = g->n,
        .d_norm_block = c->d_norm_block,
        .nnorm_block = s->nnorm_block,
        .normblock = s->normblock,
        .keep_flat = s->compat,
        .d_level = c->d_level + g->first * s->nnorm_block,
        .d_power = g->d_power,
        .power_pitch = c->power_pitch,
        .d_zap = c->d_zap,
        .nzap = s->nzap,
        .d_bad = c->d_bad + g->first,
    };
}

struct pulscan_k_search psr_pulscan_cuda_search(const struct psr_pulscan_state *c,
                                                const struct psr_cuda_group *g)
{
    const struct psr_pulscan_search *s = c->s;
    const struct psr_boxes_plan *p = &c->plan;
    return (struct pulscan_k_search){
        .d_power = g->d_power,
        .pitch = c->power_pitch,
        .nbin = s->nbin,
        .nspec = g->n,
        .spec0 = (uint32_t)g->first,
        .d_bad = c->d_bad + g->first,
        .d_sum = c->d_sum,
        .d_test = c->d_test,
        .d_width = c->d_width,
        .nsum = (int)s->nharm,
        .nharm = s->harm[s->nharm - 1],
        .nwidth = p->nwidth,
        .begin = p->begin,
        .end = p->end,
        .halo = p->halo,
        .group_shift = p->group_shift,
        .d_z = c->d_z,
        .by_block = s->by_block,
        .block = s->block,
        .npiece = p->npiece,
        .d_groups = g->d_groups,
        .d_list = g->d_list,
        .d_count = g->d_count,
        .d_peak = g->d_peak,
        .cap = (uint32_t)g->cap,
    };
}
