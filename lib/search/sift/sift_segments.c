/* Makes one candidate of what several segments of an observation hold of a pulsar. */
#include "sift_state.h"

#include <math.h>

static double middle_s(const struct psr_sift *s, const struct psr_sift_entry *e)
{
    return (s->list[e->list].segment.number - 0.5) * psr_sift_tobs(s, e);
}

/* Whether b is where a, or a harmonic of it, has drifted to by b's time.  Both drifts are known to a bin, and drift,
 * of an orbit: so the tolerance grows by a bin for each length of the shorter one that is between them. */
static bool is_near(const struct psr_sift *s, const struct psr_sift_entry *a,
                    const struct psr_sift_entry *b, int p, int q)
{
    const double ta = psr_sift_tobs(s, a), tb = psr_sift_tobs(s, b), shorter_s = fmin(ta, tb);
    const double apart_s = middle_s(s, b) - middle_s(s, a), ratio = (double)p / q;
    const double fd = (ratio * a->z / (ta * ta) + b->z / (tb * tb)) / 2;
    const double most = (s->d.r_err + fabs(apart_s) / shorter_s) * fmax(1, ratio) / shorter_s;
    return fabs(ratio * a->f + fd * apart_s - b->f) < most &&
           (p == q || 2 * most < 0.05 * fmin(a->f, b->f));
}

/* Returned: whether b is a or, in a->ratio, a harmonic */
static bool find_ratio(const struct psr_sift *s, const struct psr_sift_entry *a,
                       const struct psr_sift_entry *b, int ratio[2])
{
    const double over = b->f > a->f ? b->f / a->f : a->f / b->f;
    const int n = (int)fmin(round(over), PSR_SIFT_MOST_HARMONIC + 1);
    ratio[0] = b->f > a->f ? n : 1;
    ratio[1] = b->f > a->f ? 1 : n;
    return n <= PSR_SIFT_MOST_HARMONIC && is_near(s, a, b, ratio[0], ratio[1]);
}

void psr_sift_segments(struct psr_sift *s)
{
    bool any = false;
    for (size_t i = 0; i < s->nlist; i++)
        any |= s->list[i].segment.of > 1;
    for (size_t i = 0; any && i < s->norder; i++)
        for (size_t k = i + 1; k < s->norder; k++) {
            const struct psr_sift_entry *a = &s->all.entry[s->order[i]];
            struct psr_sift_entry *b = &s->all.entry[s->order[k]];
            int ratio[2];
            if (a->reason != PSR_SIFT_GOOD || b->reason != PSR_SIFT_GOOD ||
                psr_sift_same_segment(s, a, b) || !find_ratio(s, a, b, ratio))
                continue;
            psr_sift_reject_harmonic(b, s->order[i], ratio[0], ratio[1]);
            if (ratio[0] == ratio[1])
                b->reason = PSR_SIFT_DUPLICATE;
        }
    if (any)
        psr_sift_drop(s);
}
