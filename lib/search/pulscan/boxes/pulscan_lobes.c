/* Removes peaks that are side lobes of bright lines. */
#include "search/pulscan/pulscan_internal.h"

#include <stdlib.h>

/* Bins beyond which not even the brightest line has noticeable side lobes. */
enum { FAR = 4096 };

static double excess(const struct psr_pulscan_search *s, const struct psr_pulscan_peak *k)
{
    return (double)k->power - psr_pulscan_dof(s->harm[k->harm], s->z[k->z]);
}

/* Peaks of one spectrum and sum, by width and start: those of one bin come first. */
struct group {
    const struct psr_pulscan_search *s;
    const struct psr_pulscan_lines *fitted;
    struct psr_pulscan_peak *peak;
    size_t n;
    struct psr_pulscan_peak *line; /* [nline] of one bin, brighter than the faintest peak */
    size_t nline;
};

/* The first line at bin first or behind. */
static size_t first_line(const struct group *g, int64_t first)
{
    size_t lo = 0, hi = g->nline;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (g->line[mid].first < first)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Whether a line at a start of the sum, d bins from a box, is one whose response is known there. */
static bool is_fitted(const struct group *g, const struct psr_pulscan_peak *k, int64_t at,
                      int64_t d)
{
    const int H = g->s->harm[k->harm];
    for (int h = 1; h <= H && (d + g->s->z[k->z] + 1) * h <= PSR_PULSCAN_LINE_REACH / 2; h++)
        if (psr_pulscan_lines_in(g->fitted, k->spec, (double)(h * at), (double)(h * at + h - 1)) >=
            0)
            return true;
    return false;
}

/* A line of power E in its bin has side lobes of at most E / 4 d^2 d bins away, if its frequency is
 * between two bins; with noise, up to four times that, twice the amplitude.  This is the sum of
 * 1 / (d^2 - 1/4) over the bins d .. d + z of a box; of all lines, or only of those not fitted. */
static double sum_lobes(const struct group *g, const struct psr_pulscan_peak *k, bool all)
{
    const int64_t last = k->first + g->s->z[k->z];
    const double own = excess(g->s, k);
    double lobes = 0;
    for (size_t i = first_line(g, k->first - FAR); i < g->nline; i++) {
        const int64_t at = g->line[i].first, d = at < k->first ? k->first - at : at - last;
        if (at > last + FAR)
            break;
        const double bins = (double)(last - k->first) + 1, near = (double)d - 0.5;
        const double power = excess(g->s, &g->line[i]);
        if (d > 0 && power > own && (all || !is_fitted(g, k, at, d)))
            lobes += power * bins / (near * (near + bins));
    }
    return lobes;
}

/* What may be a side lobe is none if it has most of its power without the lines that are fitted. */
static bool is_lobe(const struct group *g, const struct psr_pulscan_peak *k)
{
    const double own = excess(g->s, k), lobes = sum_lobes(g, k, true);
    /* Without lobes, what has less power than noise is none either. */
    if (!(lobes > 0 && lobes >= own))
        return false;
    const struct psr_pulscan_hit box = {
        .first = k->first, .power = k->power, .nharm = g->s->harm[k->harm], .z = g->s->z[k->z]};
    const double others = sum_lobes(g, k, false);
    double power;
    return !(others < lobes) || !psr_pulscan_lines_apart(g->fitted, k->spec, &box, &power) ||
           power <= (double)g->s->boxes[k->harm * g->s->nz + k->z].floor ||
           (others > 0 && others >= power - psr_pulscan_dof(box.nharm, box.z));
}

/* Returned: how many are left, in their order */
static size_t drop_lobes(struct group *g, struct psr_pulscan_peak *to)
{
    size_t n = 0;
    /* The smallest excess of any peak: lines not above it have no noticeable side lobes. */
    double bright = excess(g->s, &g->peak[0]);
    for (size_t k = 1; k < g->n; k++) {
        double here = excess(g->s, &g->peak[k]);
        bright = here < bright ? here : bright;
    }
    g->nline = 0;
    for (size_t k = 0; k < g->n && g->s->z[g->peak[k].z] == 0; k++)
        if (excess(g->s, &g->peak[k]) > bright)
            g->line[g->nline++] = g->peak[k];
    for (size_t k = 0; k < g->n; k++)
        if (g->nline == 0 || !is_lobe(g, &g->peak[k]))
            to[n++] = g->peak[k];
    return n;
}

psr_status psr_pulscan_drop_lobes(const struct psr_pulscan_search *s,
                                  const struct psr_pulscan_lines *lines,
                                  struct psr_pulscan_found *found, psr_err *err)
{
    size_t kept = 0, n = 0;
    struct group g = {.s = s, .fitted = lines};
    if (found->n == 0)
        return PSR_OK;
    g.line = malloc(found->n * sizeof *g.line);
    if (!g.line)
        return psr_fail_nomem(err, "lines", (double)found->n * sizeof *g.line);
    for (size_t k = 0; k < found->n; k += n) {
        g.peak = found->peak + k;
        for (n = 1; k + n < found->n && g.peak[n].spec == g.peak->spec; n++)
            if (g.peak[n].harm != g.peak->harm)
                break;
        g.n = n;
        kept += drop_lobes(&g, found->peak + kept);
    }
    found->n = kept;
    free(g.line);
    return PSR_OK;
}
