/* pulse_search.h: runs the single-pulse search over whole series, cut in blocks, for its tests. */
#ifndef PSR_PULSE_SEARCH_H
#define PSR_PULSE_SEARCH_H

#include "pulse_tests.h"
#include "search/singlepulse/singlepulse_internal.h"

struct setup {
    const float *x; /* [nseries][n] */
    size_t nseries, n;
    double maxwidth_s, threshold, detrend; /* sampling time is 1 ms */
    const size_t *sweep;
    const struct psr_span *mask;
    size_t nmask;
    int nthread;
    bool causal, late;
    uint64_t *cut; /* cuts blocks at random; NULL: one block */
};

/* Runs the plan over s->x.  Caller destroys. */
__attribute__((unused)) static psr_singlepulse *search(const struct setup *s)
{
    psr_err err = {0};
    psr_singlepulse *p =
        plan_search((struct psr_singlepulse_desc){.size = sizeof(struct psr_singlepulse_desc),
                                                  .nseries = s->nseries,
                                                  .sweep = s->sweep,
                                                  .threshold = s->threshold,
                                                  .maxwidth_s = s->maxwidth_s,
                                                  .detrend = s->detrend,
                                                  .causal = s->causal,
                                                  .late = s->late,
                                                  .nthread = s->nthread});
    bool fine = true;
    for (size_t k = 0; fine && k < s->nmask; k++)
        fine = !psr_singlepulse_mask(p, s->mask[k], &err);
    for (size_t done = 0; fine && done < s->n;) {
        size_t take = s->n - done;
        if (s->cut) {
            size_t most = (size_t)1 << tap_between(s->cut, 0, 12);
            size_t want = (size_t)tap_between(s->cut, 0, (int64_t)most);
            take = want < take ? want : take;
        }
        fine = !psr_singlepulse_execute(p, s->x + done, s->n, take, &err);
        done += take;
    }
    fine = fine && !psr_singlepulse_finish(p, &err);
    if (!fine) {
        diag("search failed: %s", err.msg);
        exit(EXIT_FAILURE);
    }
    return p;
}

__attribute__((unused)) static bool same_events(const struct psr_event *a,
                                                const struct psr_event *b, size_t n)
{
    bool same = true;
    for (size_t e = 0; e < n; e++)
        same = same && a[e].sample == b[e].sample && a[e].width == b[e].width;
    return same;
}

/* S/N of a rectangular pulse of S/N 1 in the boxcar of the list that suits it best. */
__attribute__((unused)) static double match(int width)
{
    double best = 0;
    for (int i = 0; i < NLIST; i++) {
        double w = list_of_widths[i], narrow = fmin(w, width);
        best = fmax(best, narrow / sqrt(w * width));
    }
    return best;
}

#endif
