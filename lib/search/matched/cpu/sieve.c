/* Computes upper bounds of all powers, in bands that fit into memory. */
#include "sieve.h"

#include "base/base.h"
#include "base/threads/isa.h"

#include "search/matched/accel_plan.h"
#include "search/matched/cpu/sieve.h"

#include <stdlib.h>
#include <string.h>

/* The search on the CPU. */

struct cpu {
    struct psr_correlator *correlator;
    struct psr_template_bank *bank;
    struct psr_sieve *sieve;
};

/* NULL is fine. */
static void sieve_destroy(struct psr_sieve *v)
{
    if (!v)
        return;
    for (int k = 0; k <= PSR_ACCELSEARCH_MAX_HARM; k++)
        free(v->strip[k].code);
    free(v);
}

static const struct psr_template_bank *bank(const void *state)
{
    return ((const struct cpu *)state)->bank;
}

static void destroy(void *state)
{
    struct cpu *c = state;
    sieve_destroy(c->sieve);
    psr_template_bank_destroy(c->bank);
    psr_correlator_destroy(c->correlator);
    free(c);
}

static double bytes(const void *state)
{
    return ((const struct cpu *)state)->sieve->bytes;
}

static int64_t first_cell(const struct psr_sieve *v)
{
    return v->s->ilo / v->cell / SIEVE_SPAN * SIEVE_SPAN;
}

static int64_t end_cell(const struct psr_sieve *v)
{
    return (v->s->ihi / v->cell + SIEVE_SPAN) / SIEVE_SPAN * SIEVE_SPAN;
}

/* --- size ------------------------------------------------------------------------------------- */

static int64_t cells_of_block(const struct psr_sieve *v)
{
    return 2 * (int64_t)v->c->good / v->cell;
}

enum { TOGETHER = 16, SLACK = 2 * SIEVE_SPAN };

/* The cells of fraction k / numharm that cells of the highest harmonic need. */
static void place_strip(struct psr_sieve *v, int k, int64_t first, int64_t count)
{
    struct psr_sieve_strip *t = &v->strip[k];
    const int64_t each = cells_of_block(v), n = v->s->numharm;
    int64_t lo = first * k / n, hi = (first + count) * k / n + SIEVE_LANES;
    t->block = lo / each;
    t->origin = t->block * each;
    t->nblock = (size_t)(hi / each - t->block + 1);
    t->pitch = t->nblock * (size_t)each + SLACK;
}

/* One strip from the lowest frequency that any harmonic has. */
static void place_whole(struct psr_sieve *v)
{
    int64_t first = first_cell(v) / v->s->numharm;
    place_strip(v, v->s->numharm, first, end_cell(v) - first);
}

/* What a thread works with. */
struct worker {
    float *block; /* [together] transforms */
    float *work, *power;
    float *shift; /* [together] */
    uint8_t *code;
};

static double bytes_of_worker(const struct psr_sieve *v)
{
    double floats = (double)(v->together * (psr_correlator_block(v->c) + 1)) +
                    (double)psr_correlator_work(v->c) + 10.0 * (double)v->c->points;
    return floats * sizeof(float);
}

static psr_status worker_make(struct worker *w, const struct psr_sieve *v, psr_err *err)
{
    *w = (struct worker){
        .block = psr_line_alloc(v->together * psr_correlator_block(v->c)),
        .work = psr_line_alloc(psr_correlator_work(v->c)),
        .power = psr_line_alloc(PSR_PHASES * v->c->points),
        .shift = malloc(v->together * sizeof *w->shift),
        .code = malloc(PSR_PHASES * v->c->points),
    };
    if (w->block && w->work && w->power && w->shift && w->code)
        return PSR_OK;
    return psr_fail_nomem(err, "a sieve", bytes_of_worker(v));
}

/* Transforms in single precision are off by some 4e-7 of the block's rms amplitude d: |a| <= |b| +
 * 5 d always holds, and so |a|^2 <= (1 + 1/64) |b|^2 + 65 (5 d)^2. */
static const float SCALE = 1 + 1.0F / 64, SHIFT = 65 * 25 * 1.6e-13F;

/* out[ngroup i + g] = in[g][i]; vectors are made where the number of groups is a constant. */
PSR_CLONES
static void interleave_codes(uint8_t *restrict out, const uint8_t *restrict in, size_t ngroup,
                             size_t n)
{
    if (ngroup == 2)
        for (size_t i = 0; i < n; i++)
            for (size_t g = 0; g < 2; g++)
                out[2 * i + g] = in[g * n + i];
    else if (ngroup == 4)
        for (size_t i = 0; i < n; i++)
            for (size_t g = 0; g < 4; g++)
                out[4 * i + g] = in[g * n + i];
    else
        for (size_t i = 0; i < n; i++)
            for (size_t g = 0; g < 8; g++)
                out[8 * i + g] = in[g * n + i];
}

static void take_template(const struct psr_sieve *v, struct worker *w, size_t t, size_t nblock,
                          uint8_t *row)
{
    const struct psr_correlator *c = v->c;
    float *const response[2] = {psr_template_spectrum(v->bank, t, 0),
                                psr_template_spectrum(v->bank, t, 1)};
    const size_t ngroup = PSR_PHASES / (size_t)v->cell, from = c->lead / 4, n = c->good / 4;
    for (size_t slot = 0; slot < nblock; slot++) {
        float *block = w->block + slot * psr_correlator_block(c);
        psr_correlator_most(c, block, response, (size_t)v->cell, w->work, w->power);
        for (size_t g = 0; g < ngroup; g++)
            v->loops->encode(w->code + g * n, w->power + g * c->points + from, n, SCALE,
                             w->shift[slot]);
        interleave_codes(row + slot * ngroup * n, w->code, ngroup, n);
    }
}

static psr_status take_blocks(const struct psr_sieve *v, struct worker *w,
                              struct psr_sieve_strip *t, size_t first, psr_err *err)
{
    size_t n = t->nblock - first < v->together ? t->nblock - first : v->together;
    for (size_t slot = 0; slot < n; slot++) {
        int64_t block = t->block + (int64_t)(first + slot);
        const struct psr_correlator *c = v->c;
        struct psr_split x = psr_split_at(w->work, c->bins);
        psr_accel_normalise_load(v->norm, block * (int64_t)c->good - (int64_t)c->lead, c->bins, x);
        double sum = 0;
        for (size_t i = 0; i < c->bins; i++)
            sum += (double)x.re[i] * (double)x.re[i] + (double)x.im[i] * (double)x.im[i];
        w->shift[slot] = SHIFT * (float)(sum / (double)c->bins);
        psr_correlator_take_block(c, w->work, w->block + slot * psr_correlator_block(c));
    }
    uint8_t *row = t->code + first * (size_t)cells_of_block(v);
    for (int l = -t->lmax; l <= t->lmax; l++) {
        if (psr_is_stopped(&v->s->stop))
            return psr_fail(err, PSR_ESTOPPED, "stopped");
        for (int j = -t->jmax; j <= t->jmax; j++, row += t->pitch)
            take_template(v, w, psr_template_number(v->bank->jmax, v->bank->lmax, j, l), n, row);
    }
    return PSR_OK;
}

/* --- bounds ----------------------------------------------------------------------------------- */

/* Fills the strips of a band; each thread takes some blocks at a time.
 * Given: work   in cells, which are as many for the strips together as for the scan */
static psr_status fill_strips(struct psr_sieve *v, int64_t count, struct psr_progress *work,
                              psr_err *err)
{
    const int nstrip = v->whole ? 1 : v->s->numharm;
    psr_status all = PSR_OK;
#pragma omp parallel num_threads(v->s->nthread)
    {
        struct worker w;
        psr_err why;
        psr_status st = worker_make(&w, v, &why);
        for (int k = v->whole ? v->s->numharm : 1; k <= v->s->numharm; k++) {
            struct psr_sieve_strip *t = &v->strip[k];
#pragma omp for schedule(dynamic) nowait
            for (size_t first = 0; first < t->nblock; first += v->together) {
                const size_t left = t->nblock - first, n = left < v->together ? left : v->together;
                if (!st)
                    st = take_blocks(v, &w, t, first, &why);
                psr_progress_add(work, count * (int64_t)n / (int64_t)t->nblock / nstrip);
            }
        }
#pragma omp critical(psr_sieve)
        if (st && !all) {
            all = st;
            if (err)
                *err = why;
        }
        free(w.block);
        free(w.work);
        free(w.power);
        free(w.shift);
        free(w.code);
    }
    return all;
}

/* Adds the best place of every cell and stage in which one exceeds the cut, of the spectrum that norm
 * has measured; of equal ones that of lowest l, j and i.
 * Status: PSR_ENOMEM */
static psr_status sieve_search(struct psr_sieve *v, const struct psr_accel_normalise *norm,
                               struct psr_accel_hits *hits, struct psr_progress *work, psr_err *err)
{
    psr_status st = PSR_OK;
    v->norm = norm;
    for (int64_t first = first_cell(v); first < end_cell(v) && !st; first += v->band) {
        int64_t left = end_cell(v) - first, count = left < v->band ? left : v->band;
        if (v->whole)
            place_whole(v);
        else
            for (int k = 1; k <= v->s->numharm; k++)
                place_strip(v, k, first, count);
        st = fill_strips(v, count, work, err);
        if (!st)
            st = psr_sieve_scan(v, first, count, hits, work, err);
    }
    return st;
}

static psr_status search(void *state, const struct psr_accel_batch *b, psr_err *err)
{
    struct psr_sieve *v = ((struct cpu *)state)->sieve;
    struct psr_progress work = {&v->s->stop, 0, 2 * (int64_t)b->n * (end_cell(v) - first_cell(v))};
    psr_status st = PSR_OK;
    for (size_t i = 0; i < b->n && !st; i++) {
        st = psr_accel_normalise_measure(b->norm[i], &b->in[i], err);
        if (!st)
            st = sieve_search(v, b->norm[i], &b->hits[i], &work, err);
        if (!st && b->found)
            st = b->found(b->ctx, i, err);
    }
    return st;
}

static void size_strips(struct psr_sieve *v)
{
    const struct psr_accel_search *s = v->s;
    for (int k = 1; k <= s->numharm; k++) {
        struct psr_sieve_strip *t = &v->strip[k];
        t->jmax = psr_harmonic_step(s->jmax, k, s->numharm);
        t->lmax = psr_harmonic_step(s->lmax, k, s->numharm);
        t->reach = psr_template_reach(t->jmax, t->lmax);
    }
}

static size_t rows_of(const struct psr_sieve_strip *t)
{
    return (2 * (size_t)t->jmax + 1) * (2 * (size_t)t->lmax + 1);
}

static double bytes_of_whole(struct psr_sieve *v)
{
    struct psr_sieve_strip *t = &v->strip[v->s->numharm];
    place_whole(v);
    t->room = rows_of(t) * t->pitch;
    return (double)t->room;
}

static double bytes_of_band(struct psr_sieve *v, int64_t band)
{
    double bytes = 0;
    for (int k = 1; k <= v->s->numharm; k++) {
        place_strip(v, k, 0, band);
        /* Depending on its position, a band may touch one block more. */
        v->strip[k].room = rows_of(&v->strip[k]) * (v->strip[k].pitch + (size_t)cells_of_block(v));
        bytes += (double)v->strip[k].room;
    }
    return bytes;
}

/* As many cells in a band as memory holds. */
static psr_status choose_band(struct psr_sieve *v, double held, psr_err *err)
{
    const double limit = (double)v->s->mem_bytes;
    held += v->s->nthread * (bytes_of_worker(v) + psr_sieve_scan_bytes(v));
    v->whole = true;
    v->band = end_cell(v) - first_cell(v);
    v->bytes = held + bytes_of_whole(v);
    while (v->bytes > limit && v->band > SIEVE_SPAN) {
        v->whole = false;
        v->band = (v->band / 2 + SIEVE_SPAN - 1) / SIEVE_SPAN * SIEVE_SPAN;
        v->bytes = held + bytes_of_band(v, v->band);
    }
    if (v->bytes <= limit)
        return PSR_OK;
    return psr_fail(err, PSR_ENOMEM, "search: %zu templates need %.0f MB, and the limit is %.0f MB",
                    v->bank->n, v->bytes / 1e6, limit / 1e6);
}

/* --- create and destroy ----------------------------------------------------------------------- */

static psr_status allocate(struct psr_sieve *v, psr_err *err)
{
    for (int k = v->whole ? v->s->numharm : 1; k <= v->s->numharm; k++) {
        v->strip[k].code = malloc(v->strip[k].room);
        if (!v->strip[k].code)
            return psr_fail_nomem(err, "bounds of powers", (double)v->strip[k].room);
    }
    return PSR_OK;
}

/* All arguments must outlive the sieve.  held_bytes is what the plan has taken so far.
 * Status: PSR_ENOMEM, also where mem_bytes does not suffice */
static psr_status sieve_create(struct psr_sieve **out, const struct psr_accel_search *s,
                               const struct psr_correlator *c, const struct psr_template_bank *bank,
                               double held_bytes, psr_err *err)
{
    struct psr_sieve *v = calloc(1, sizeof *v);
    *out = NULL;
    if (!v)
        return psr_fail_nomem(err, "a sieve", sizeof *v);
    v->s = s;
    v->c = c;
    v->bank = bank;
    v->loops = psr_sieve_loops_choose();
    v->cell = psr_cell_size(s->numharm);
    size_t blocks = (size_t)((v->s->ihi / 2) / (int64_t)v->c->good + 1);
    size_t each = blocks / (8 * (size_t)v->s->nthread);
    v->together = each < 1 ? 1 : each < TOGETHER ? each : TOGETHER;
    size_strips(v);
    psr_status st = choose_band(v, held_bytes, err);
    if (!st)
        st = allocate(v, err);
    if (st)
        sieve_destroy(v);
    else
        *out = v;
    return st;
}

static psr_status fill(struct cpu *c, const struct psr_accel_search *s, psr_err *err)
{
    const int reach = psr_template_reach(s->jmax, s->lmax);
    psr_status st =
        psr_correlator_create(&c->correlator, reach, psr_correlator_bins(reach, 0), err);
    if (st)
        return st;
    double bytes = psr_template_bank_bytes(c->correlator, s->jmax, s->lmax, true);
    if (bytes > (double)s->mem_bytes)
        return psr_fail_field(
            err, PSR_ENOMEM, "mem_bytes",
            "search: zmax %d and wmax %d need %.0f MB of templates, and the limit is %.0f MB",
            2 * s->jmax, 20 * s->lmax, bytes / 1e6, (double)s->mem_bytes / 1e6);
    st = psr_template_bank_create(&c->bank, c->correlator, s->jmax, s->lmax, false, true,
                                  s->nthread, &s->stop, err);
    if (st)
        return st;
    return sieve_create(&c->sieve, s, c->correlator, c->bank, bytes, err);
}

static psr_status create(void **state, const struct psr_accel_search *s, size_t batch, psr_err *err)
{
    (void)batch; /* one after the other */
    struct cpu *c = calloc(1, sizeof *c);
    if (!c)
        return psr_fail_nomem(err, "a search", sizeof *c);
    psr_status st = fill(c, s, err);
    if (st)
        destroy(c);
    else
        *state = c;
    return st;
}

const struct psr_accel_ops psr_accel_cpu = {
    .name = "cpu",
    .create = create,
    .search = search,
    .bank = bank,
    .bytes = bytes,
    .destroy = destroy,
};
