/* Phases of samples, and how samples are spread over bins, as prepfold does. */
#include "fold_phase.h"

#include <math.h>

/* Phases closer than this count as equal. */
static const double tiny = 1e-12;

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

void psr_fold_spread_begin(struct psr_fold_spread *s, double phase, double width)
{
    s->place = phase * (double)s->nbin;
    s->left = s->width = width;
    s->over = 0;
}

/* The bin that the sample has reached receives what of the sample lies in it; where that completes
 * the turn, what exceeds it follows as a weight of its own. */
bool psr_fold_spread_next(struct psr_fold_spread *s, struct psr_fold_weight *weight)
{
    const double nbin = (double)s->nbin;
    if (!(s->left > tiny))
        return false;
    const double bin = floor(s->place + tiny), to_edge = (bin + 1 - s->place) / nbin;
    const double here = fmin(to_edge, s->left);
    weight->bin = (size_t)bin % s->nbin;
    weight->completes_rotation = false;
    if (s->over != 0) {
        weight->value = s->over / s->width;
        s->filled = s->over;
        s->over = 0;
    } else {
        const double room = 1 - s->filled, now = fmin(room, here);
        weight->value = now / s->width;
        s->filled += now;
        weight->completes_rotation = fabs(s->filled - 1) < tiny;
        if (weight->completes_rotation) {
            s->filled = 0;
            s->over = here - room;
            if (s->over != 0)
                return true;
        }
    }
    s->left -= here;
    s->place += here * nbin;
    return true;
}
