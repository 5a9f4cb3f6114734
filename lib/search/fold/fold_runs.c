/* Finds which samples of a block lie in which bin: runs of whole ones, and fractions. */
#include "fold_plan.h"

#include "base/tool.h"
#include <math.h>
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

/* The run at hand. */
struct open_run {
    size_t begin, bin;
    bool is_open;
};

static psr_status end_run(struct psr_fold_runs *r, struct open_run *open, size_t end,
                          double fraction, bool completes, psr_err *err)
{
    psr_status st = psr_grow(&r->run, &r->room, r->n, sizeof *r->run, "the runs of a fold", err);
    if (!st)
        r->run[r->n++] = (struct psr_fold_run){.begin = (uint32_t)open->begin,
                                               .end = (uint32_t)end,
                                               .bin = (uint32_t)open->bin,
                                               .completes_turn = completes,
                                               .fraction = fraction};
    open->begin = end;
    return st;
}

/* Sample t from phase low on; *whole if it is in one bin and completes no turn. */
static psr_status take_sample(struct psr_fold_runs *r, struct open_run *open, size_t t, double low,
                              double width, bool *whole, psr_err *err)
{
    struct psr_fold_weight weight;
    psr_status st = PSR_OK;
    double before = 0;
    size_t nweight = 0;
    *whole = true;
    if (open->is_open && t - open->begin >= PSR_FOLD_RUN_MAX / 2)
        st = end_run(r, open, t, 0, false, err);
    psr_fold_spread_begin(&r->spread, low, width);
    while (!st && psr_fold_spread_next(&r->spread, &weight)) {
        if (open->is_open && weight.bin != open->bin)
            st = end_run(r, open, t, before, false, err);
        if (!open->is_open)
            open->begin = t;
        open->is_open = true;
        open->bin = weight.bin;
        before += weight.value;
        nweight++;
        if (!st && weight.completes_rotation)
            st = end_run(r, open, t, before, true, err);
        *whole &= !weight.completes_rotation;
    }
    *whole &= nweight == 1;
    if (!st && !nweight && open->is_open) { /* it has no extent */
        st = end_run(r, open, t, 0, false, err);
        open->is_open = false;
    }
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
static void skip_whole(struct psr_fold_runs *r, struct progress *p, size_t bin, double width)
{
    const double nbin = (double)r->spread.nbin, low = (double)p->low;
    const double room = psr_fold_least(((double)bin + 1) / nbin - low, 1 - r->spread.filled);
    const double most = room / width * (1 - 1e-5) - 1e-3; /* of which the whole ones count */
    if (!(width > 0) || !(most >= 2) || psr_fold_whole(low * nbin) != (double)bin)
        return;
    const double left = psr_fold_least((double)(p->block->n - p->t), PSR_FOLD_RUN_MAX / 2);
    const size_t t = p->t + (size_t)psr_fold_least(most, left);
    const long double phase = phase_of(r, p->block, t);
    const double step = (double)(phase - p->phase);
    if (!(step > 0) || !(step < room - clear))
        return;
    r->spread.filled += step;
    p->low += phase - p->phase;
    p->phase = phase;
    p->t = t;
}

/* Times are computed as prepfold does: those of the part, of the block in it, of the sample. */
psr_status psr_fold_runs_find(struct psr_fold_runs *r, const struct psr_fold_samples *block,
                              psr_err *err)
{
    psr_status st = PSR_OK;
    struct open_run open = {.is_open = false};
    struct progress p = {.block = block, .phase = phase_of(r, block, 0)};
    p.low = fraction_of(p.phase);
    r->n = 0;
    while (p.t < block->n && !st) {
        bool whole;
        const long double next = phase_of(r, block, p.t + 1), width = next - p.phase;
        const long double high = p.low + width;
        st = take_sample(r, &open, p.t, (double)p.low, (double)width, &whole, err);
        p.low = fraction_of(high);
        p.phase = next;
        p.t++;
        if (r->steady && open.is_open && p.t < block->n)
            skip_whole(r, &p, open.bin, (double)width);
    }
    if (!st && open.is_open)
        st = end_run(r, &open, block->n, 0, false, err);
    /* The marks of turns but for the last. */
    bool later = false;
    for (size_t i = r->n; i-- > 0;) {
        const bool completes = r->run[i].completes_turn;
        r->run[i].completes_turn = completes && !later;
        later |= completes;
    }
    return st;
}
