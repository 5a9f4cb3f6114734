/* Finds which samples of a block lie in which bin: runs of whole ones, and fractions. */
#include "fold_plan.h"

#include "base/tool.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* --- phases of samples, as prepfold computes them --------------------------------------------- */

static void find_interval(struct psr_fold_clock *clock, double time_s)
{
    const struct psr_fold_candidate *c = clock->cand;
    while (clock->node + 2 < c->ndelay && time_s > c->time_s[clock->node + 1])
        clock->node++;
    while (clock->node > 0 && time_s < c->time_s[clock->node])
        clock->node--;
}

static long double delay_at(struct psr_fold_clock *clock, double time_s)
{
    const struct psr_fold_candidate *c = clock->cand;
    find_interval(clock, time_s);
    const double *t = c->time_s + clock->node, *delay = c->delay_s + clock->node;
    return delay[0] + (time_s - t[0]) * (delay[1] - delay[0]) / (t[1] - t[0]);
}

long double psr_fold_phase(struct psr_fold_clock *clock, double time_s)
{
    const struct psr_fold_candidate *c = clock->cand;
    const double half_fd = c->fd / 2, sixth_fdd = c->fdd / 6;
    long double t = time_s;
    if (c->ndelay)
        t -= delay_at(clock, time_s);
    return t * (t * (t * sixth_fdd + half_fd) + c->f) + c->phase;
}

/* --- runs of samples in one bin --------------------------------------------------------------- */

/* Turns by which a sample must be clear of the end of its bin to be passed over. */
static const double clear = 1e-9;

/* --- create ----------------------------------------------------------------------------------- */

/* Whether time on the candidate's clock always ascends. */
static bool is_ascending(const struct psr_fold_candidate *c)
{
    for (size_t i = 1; i < c->ndelay; i++)
        if (!(fabs(c->delay_s[i] - c->delay_s[i - 1]) < 0.5 * (c->time_s[i] - c->time_s[i - 1])))
            return false;
    return true;
}

static double find_largest(const double *x, size_t n)
{
    double largest = 0;
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(x[i]));
    return largest;
}

void psr_fold_runs_begin(struct psr_fold_runs *r, const struct psr_fold_candidate *cand,
                         double length_s)
{
    const double beyond_s = find_largest(cand->delay_s, cand->ndelay) + length_s / 2;
    const double end_s = length_s + beyond_s;
    const double drift = fabs(cand->fd) * end_s + fabs(cand->fdd) * end_s * end_s / 2;
    r->clock.cand = cand;
    r->spread.nbin = cand->nbin;
    r->steady = is_ascending(cand) && drift < cand->f / 2;
}

/* --- phases ----------------------------------------------------------------------------------- */

/* floorl takes longer than the phase. */
static long double fraction_of(long double turns)
{
    if (!(fabsl(turns) < 0x1p62L))
        return turns - floorl(turns);
    const long double whole = (long double)(int64_t)turns;
    return turns - (turns < whole ? whole - 1 : whole);
}

/* --- one block -------------------------------------------------------------------------------- */

/* The run at hand, and where runs go: copies of what a block begins with, which stay in registers. */
struct writer {
    struct psr_fold_spread spread;
    struct psr_fold_run *run; /* [n] */
    size_t n, begin, bin;
    bool is_open;
    size_t most;  /* runs of a sample of so many turns */
    double turns; /* at least those of the sample at hand */
};

static inline void end_run(struct writer *w, size_t end, double fraction, bool completes)
{
    w->run[w->n++] = (struct psr_fold_run){.begin = (uint32_t)w->begin,
                                           .end = (uint32_t)end,
                                           .bin = (uint32_t)w->bin,
                                           .completes_turn = completes,
                                           .fraction = fraction};
    w->begin = end;
}

/* Sample t from phase low on. */
static inline void take_sample(struct writer *w, size_t t, double low, double width)
{
    struct psr_fold_weight weight;
    double before = 0;
    bool has_extent = false;
    if (w->is_open && t - w->begin >= PSR_FOLD_RUN_MAX / 2)
        end_run(w, t, 0, false);
    psr_fold_spread_begin(&w->spread, low, width);
    while (psr_fold_spread_next(&w->spread, &weight)) {
        if (w->is_open && weight.bin != w->bin)
            end_run(w, t, before, false);
        if (!w->is_open)
            w->begin = t;
        w->is_open = true;
        w->bin = weight.bin;
        before += weight.value;
        has_extent = true;
        if (weight.completes_rotation)
            end_run(w, t, before, true);
    }
    if (!has_extent && w->is_open) {
        end_run(w, t, 0, false);
        w->is_open = false;
    }
}

/* Makes room for the runs of a sample: at most two for each bin that it is in. */
static psr_status make_room(struct psr_fold_runs *r, struct writer *w, double width, psr_err *err)
{
    enum { BESIDE = 12 };
    psr_status st = PSR_OK;
    if (!(width <= w->turns)) {
        w->turns = fmax(1.01 * width, 0);
        w->most = (size_t)(2 * w->turns * (double)r->spread.nbin) + BESIDE;
    }
    while (!st && w->n + w->most > r->room)
        st = psr_grow(&r->run, &r->room, r->room, sizeof *r->run, "the runs of a fold", err);
    w->run = r->run;
    return st;
}

/* A block's samples, and how far they have been taken. */
struct progress {
    const struct psr_fold_samples *block;
    size_t t;          /* the next one */
    long double phase; /* at its beginning */
    long double low;   /* within the turn */
};

static long double phase_of(struct psr_fold_runs *r, const struct psr_fold_samples *block, size_t t)
{
    return psr_fold_phase(&r->clock, block->begin_s + (double)t * block->tsamp_s);
}

/* Passes over samples that are wholly in the bin that the next one begins in, but for the last. */
static inline void skip_whole(struct psr_fold_runs *r, struct writer *w, struct progress *p,
                              double width)
{
    const double nbin = (double)w->spread.nbin, low = (double)p->low, bin = (double)w->bin;
    const double room = psr_fold_least((bin + 1) / nbin - low, 1 - w->spread.filled);
    const double most = room / width * (1 - 1e-5) - 1e-3; /* of which the whole ones count */
    if (!(width > 0) || !(most >= 2) || psr_fold_whole(low * nbin) != bin)
        return;
    const double left = psr_fold_least((double)(p->block->n - p->t), PSR_FOLD_RUN_MAX / 2);
    const size_t t = p->t + (size_t)psr_fold_least(most, left);
    const long double phase = phase_of(r, p->block, t);
    const double step = (double)(phase - p->phase);
    if (!(step > 0) || !(step < room - clear))
        return;
    w->spread.filled += step;
    p->low += phase - p->phase;
    p->phase = phase;
    p->t = t;
}

/* Times are computed as prepfold does: those of the part, of the block in it, of the sample. */
psr_status psr_fold_runs_find(struct psr_fold_runs *r, const struct psr_fold_samples *block,
                              psr_err *err)
{
    psr_status st = PSR_OK;
    struct writer w = {.spread = r->spread, .run = r->run, .turns = -INFINITY};
    struct progress p = {.block = block, .phase = phase_of(r, block, 0)};
    p.low = fraction_of(p.phase);
    while (p.t < block->n) {
        const long double next = phase_of(r, block, p.t + 1), width = next - p.phase;
        const long double high = p.low + width;
        if (!((double)width <= w.turns) || w.n + w.most > r->room)
            st = make_room(r, &w, (double)width, err);
        if (st)
            break;
        take_sample(&w, p.t, (double)p.low, (double)width);
        p.low = fraction_of(high);
        p.phase = next;
        p.t++;
        if (r->steady && w.is_open && p.t < block->n)
            skip_whole(r, &w, &p, (double)width);
    }
    if (!st && w.is_open)
        end_run(&w, block->n, 0, false);
    r->spread = w.spread;
    r->n = w.n;
    /* The marks of turns but for the last. */
    bool later = false;
    for (size_t i = r->n; i-- > 0;) {
        const bool completes = r->run[i].completes_turn;
        r->run[i].completes_turn = completes && !later;
        later |= completes;
    }
    return st;
}

/* --- replaced samples ------------------------------------------------------------------------- */

/* Replaced samples of a fold.  Where they are constant throughout a block of a sub-band, as masked
 * channels mostly are, they are an offset of it, else they are added sample by sample. */

/* Lists the steps of each channel. */
static void link_steps(struct psr_fold *f)
{
    for (size_t k = 0; k < f->nkept; k++)
        f->first_step[k] = SIZE_MAX;
    for (size_t i = f->nstep; i-- > 0;) {
        f->step[i].later = f->first_step[f->step[i].k];
        f->first_step[f->step[i].k] = i;
    }
}

psr_status psr_fold_replaced_take(struct psr_fold *f, const struct psr_step *step, size_t nstep,
                                  psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t i = 0; i < nstep && !st; i++) {
        const size_t k = f->place[step[i].c];
        if (k == SIZE_MAX)
            continue;
        st = psr_grow(&f->step, &f->step_room, f->nstep, sizeof *f->step,
                      "the values of replaced samples", err);
        if (!st)
            f->step[f->nstep++] =
                (struct psr_fold_step){.t = step[i].t, .k = k, .value = step[i].value};
    }
    if (nstep)
        link_steps(f);
    return st;
}

void psr_fold_replaced_forget(struct psr_fold *f)
{
    const int64_t begin = (int64_t)(f->begun * f->d.block);
    size_t kept = 0;
    for (size_t i = 0; i < f->nstep; i++) {
        const struct psr_fold_step *step = &f->step[i];
        if (step->t > begin) {
            f->step[kept++] = *step;
            continue;
        }
        f->nlevel += (step->value != 0) - (size_t)(f->level[step->k] != 0);
        f->level[step->k] = step->value;
    }
    if (kept < f->nstep) {
        f->nstep = kept;
        link_steps(f);
    }
}

/* Sample of a candidate's block at which a step takes effect. */
static int64_t find_sample(const struct psr_fold *f, const struct psr_fold_cube *cube,
                           const struct psr_fold_step *step)
{
    return step->t - (int64_t)(cube->next * f->d.block) - cube->delay[step->k];
}

void psr_fold_replaced_find(const struct psr_fold *f, struct psr_fold_cube *cube)
{
    const size_t nsub = f->d.nsub;
    cube->has_steps = false;
    for (size_t j = 0; j < nsub; j++)
        cube->offset[j] = (double)f->bias * (double)(f->band_first[j + 1] - f->band_first[j]);
    cube->has_values = f->nlevel || f->nstep;
    if (!cube->has_values)
        return;
    memcpy(cube->value, f->level, f->nkept * sizeof *cube->value);
    for (size_t i = 0; i < f->nstep; i++) {
        const int64_t t = find_sample(f, cube, &f->step[i]);
        if (t <= 0)
            cube->value[f->step[i].k] = f->step[i].value;
        cube->has_steps |= t > 0 && t < (int64_t)f->d.block;
    }
    for (size_t j = 0; j < nsub; j++)
        for (size_t k = f->band_first[j]; k < f->band_first[j + 1]; k++)
            cube->offset[j] += (double)cube->value[k];
}

static void add_value(float *x, float value, size_t from, size_t to)
{
    for (size_t t = from; t < to && value != 0; t++)
        x[t] += value;
}

/* Channels in order, whatever the order in which steps came: so sums are rounded alike. */
void psr_fold_replaced_add(const struct psr_fold *f, const struct psr_fold_cube *cube, size_t first,
                           size_t n, float *band)
{
    const size_t block = f->d.block;
    if (!cube->has_values)
        return;
    for (size_t k = f->band_first[first]; k < f->band_first[first + n]; k++) {
        float *x = band + (f->band[k] - first) * block, value = cube->value[k];
        size_t from = 0;
        for (size_t i = f->first_step[k]; i != SIZE_MAX; i = f->step[i].later) {
            const int64_t t = find_sample(f, cube, &f->step[i]);
            if (t <= 0 || t >= (int64_t)block)
                continue;
            add_value(x, value, from, (size_t)t);
            value = f->step[i].value;
            from = (size_t)t;
        }
        add_value(x, value, from, block);
    }
}
