/* Phases of samples, as prepfold computes them. */
#include "fold_phase.h"

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
