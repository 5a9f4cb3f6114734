/* Searches spectra with boxcars on the CPU. */
#include "pulscan_cpu.h"
#include "pulscan_series.h"

#include "base/threads/clones.h"
#include "base/threads/threads.h"

#include <stdlib.h>
#include <string.h>

struct cpu {
    const struct psr_pulscan_search *s;
    struct psr_pulscan_series *series; /* NULL: spectra come as such */
    float *power;                      /* [nbin + pad] */
    float *sum;                        /* [nbin / 2 + pad] of two harmonics or more */
    float *work;                       /* [nthread][tile's work] */
    struct psr_norm_level *level;      /* [batch][nnorm_block] */
    const float **in;                  /* [batch] of the last execute */
    size_t pad;
    int64_t bytes;
};

static void destroy(void *state)
{
    struct cpu *c = state;
    psr_pulscan_series_destroy(c->series);
    free(c->power);
    free(c->sum);
    free(c->work);
    free(c->level);
    free(c->in);
    free(c);
}

static double need(const struct cpu *c)
{
    const struct psr_pulscan_search *s = c->s;
    double sums = 1.5 * (double)s->nbin + 2.0 * (double)c->pad;
    double work = s->nthread * ((double)psr_tile_work(s) + 2.0 * (double)s->normblock);
    double levels = (double)s->batch * (double)s->nnorm_block * sizeof *c->level;
    double spectra = s->series ? psr_pulscan_series_bytes(s) : 8.0 * (double)(s->batch * s->nbin);
    return 4 * (sums + work) + levels + spectra + (double)s->batch * sizeof *c->in;
}

static psr_status allocate(struct cpu *c, psr_err *err)
{
    const struct psr_pulscan_search *s = c->s;
    c->pad = psr_tile_work(s);
    double bytes = need(c);
    if (bytes > (double)s->mem_bytes)
        return psr_fail(err, PSR_ENOMEM, "search: %zu bins need %.0f MB, and the limit is %.0f MB",
                        s->nbin, bytes / 1e6, (double)s->mem_bytes / 1e6);
    c->bytes = (int64_t)bytes;
    c->power = calloc(s->nbin + c->pad, sizeof *c->power);
    c->sum = calloc(s->nbin / 2 + c->pad, sizeof *c->sum);
    c->work = calloc((size_t)s->nthread * psr_tile_work(s), sizeof *c->work);
    c->level = calloc(s->batch * s->nnorm_block, sizeof *c->level);
    c->in = calloc(s->batch, sizeof *c->in);
    if (!c->power || !c->sum || !c->work || !c->level || !c->in)
        return psr_fail_nomem(err, "a search", bytes);
    return s->series ? psr_pulscan_series_create(&c->series, s, err) : PSR_OK;
}

static psr_status create(void **state, const struct psr_pulscan_search *s, psr_err *err)
{
    struct cpu *c = calloc(1, sizeof *c);
    if (!c)
        return psr_fail_nomem(err, "a search", sizeof *c);
    c->s = s;
    psr_status st = allocate(c, err);
    if (st)
        destroy(c);
    else
        *state = c;
    return st;
}

/* Series are transformed where they are. */
static float *input(void *state, size_t slot)
{
    const struct cpu *c = state;
    return c->series ? psr_pulscan_series_room(c->series, slot) : NULL;
}

/* sum[i] += power[h i] + .. + power[h i + h - 1], from the left. */
PSR_CLONES
static void add_harmonic(float *restrict sum, const float *power, size_t h, size_t n)
{
    switch (h) { /* widths that the compiler can unroll */
    case 2:
        for (size_t i = 0; i < n; i++)
            sum[i] += power[2 * i] + power[2 * i + 1];
        break;
    case 3:
        for (size_t i = 0; i < n; i++)
            sum[i] += power[3 * i] + power[3 * i + 1] + power[3 * i + 2];
        break;
    case 4:
        for (size_t i = 0; i < n; i++)
            sum[i] += power[4 * i] + power[4 * i + 1] + power[4 * i + 2] + power[4 * i + 3];
        break;
    default:
        for (size_t i = 0; i < n; i++) {
            float d = power[h * i];
            for (size_t j = 1; j < h; j++)
                d += power[h * i + j];
            sum[i] += d;
        }
    }
}

/* From the sum of h - 1 harmonics to that of h. */
static void sum_harmonic(struct cpu *c, int h)
{
    enum { PIECE = 16384 };
    const int64_t n = psr_pulscan_length(c->s, h);
    if (h == 2)
        memcpy(c->sum, c->power, (size_t)n * sizeof *c->sum);
#pragma omp parallel for schedule(static) num_threads(c->s->nthread)
    for (int64_t i = 0; i < n; i += PIECE)
        add_harmonic(c->sum + i, c->power + h * i, (size_t)h,
                     (size_t)(n - i < PIECE ? n - i : PIECE));
    memset(c->sum + n, 0, c->pad * sizeof *c->sum);
}

static psr_status join(struct psr_pulscan_found *all, struct psr_pulscan_found *mine, uint32_t spec,
                       psr_err *err)
{
    psr_status st = psr_pulscan_room(all, mine->n, err);
    for (size_t i = 0; !st && i < mine->n; i++) {
        all->peak[all->n] = mine->peak[i];
        all->peak[all->n++].spec = spec;
    }
    free(mine->peak);
    return st;
}

static psr_status search_sum(struct cpu *c, size_t harm, const float *sum, uint32_t spec,
                             struct psr_pulscan_found *found, psr_err *err)
{
    const struct psr_pulscan_search *s = c->s;
    const int64_t n = psr_pulscan_length(s, s->harm[harm]);
    const size_t room = psr_tile_work(s);
    psr_status st = PSR_OK;
#pragma omp parallel num_threads(s->nthread)
    {
        struct psr_pulscan_found mine = {.most = found->most};
        float *work = c->work + (size_t)psr_thread_number() * room;
        psr_err why;
        psr_status mist = PSR_OK;
#pragma omp for schedule(dynamic)
        for (int64_t first = 1; first < n; first += PSR_TILE)
            if (!mist)
                mist = psr_tile_search(s, harm, sum, first, work, &mine, &why);
#pragma omp critical(psr_pulscan_join)
        {
            psr_status jst = join(found, &mine, spec, &why);
            mist = mist ? mist : jst;
            if (mist && !st) {
                st = mist;
                if (err)
                    *err = why;
            }
        }
    }
    return st;
}

static psr_status search_one(struct cpu *c, uint32_t spec, struct psr_pulscan_found *found,
                             psr_err *err)
{
    const struct psr_pulscan_search *s = c->s;
    psr_status st = psr_pulscan_powers(s, c->in[spec], c->level + spec * s->nnorm_block, c->power,
                                       &found->bad[spec], err);
    if (st || found->bad[spec] >= 0)
        return st;
    for (int h = 1, k = 0; !st && (size_t)k < s->nharm; h++) {
        if (h > 1)
            sum_harmonic(c, h);
        if (h == s->harm[k])
            st = search_sum(c, (size_t)k++, h == 1 ? c->power : c->sum, spec, found, err);
    }
    return st;
}

static psr_status execute(void *state, size_t nspec, const float *const *in,
                          struct psr_pulscan_found *found, psr_err *err)
{
    struct cpu *c = state;
    psr_status st = PSR_OK;
    if (c->series)
        st = psr_pulscan_series_transform(c->series, nspec, in, found->bad, err);
    for (size_t i = 0; !st && i < nspec; i++) {
        c->in[i] = c->series ? psr_pulscan_series_spectrum(c->series, i) : in[i];
        if (found->bad[i] < 0)
            st = search_one(c, (uint32_t)i, found, err);
    }
    return st;
}

static psr_status amplitudes(void *state, size_t slot, int64_t first, size_t n, float *x,
                             psr_err *err)
{
    const struct cpu *c = state;
    const struct psr_pulscan_search *s = c->s;
    (void)err;
    for (size_t i = 0; i < n; i++) {
        int64_t k = first + (int64_t)i;
        const struct psr_norm_level *level =
            &c->level[slot * s->nnorm_block + (size_t)k / (size_t)(s->norm_block[0].end)];
        for (int part = 0; part < 2; part++)
            x[2 * i + (size_t)part] =
                (c->in[slot][2 * k + part] - level->median[part]) * level->scale[part];
    }
    return PSR_OK;
}

static int64_t bytes(const void *state)
{
    return ((const struct cpu *)state)->bytes;
}

const struct psr_pulscan_ops psr_pulscan_cpu = {
    .name = "cpu",
    .create = create,
    .input = input,
    .execute = execute,
    .amplitudes = amplitudes,
    .bytes = bytes,
    .destroy = destroy,
};
