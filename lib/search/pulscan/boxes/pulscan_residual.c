/* Reads normalised powers without those that candidates have claimed. */
#include "pulscan_boxes.h"

#include "search/pulscan/pulscan_internal.h"
#include "stats/stats.h"
#include <math.h>
#include <psrkit/signif.h>
#include <stdlib.h>

/* --- reads normalised powers without those that candidates have claimed ----------------------- */

enum { PAGE = 1024, FLANK = 24, LEAST_FLANK = 12, GAP = 3, REACH = 8, FAR = 4096 };
static const float END_OF_LINE = 18;   /* chi^2 that noise reaches in one bin of 8000 */
static const float BRIGHTER = 3;       /* factor over a line's own bins: another line's */
static const double LOOK_TWICE = 2;    /* evidence above which the local level is used */
static const double LEAST_LEVEL = 1.6; /* three times what the median scatters above 1 */
static const double LEAST_LOBE = 0.1;  /* chi^2 a bin; what is less far more bins add up to */

struct page {
    float bin[PAGE][2]; /* re, im */
    float power[PAGE];
    int64_t owner[PAGE]; /* -1: no candidate's */
    float line[PAGE];   /* chi^2 that fitted lines of candidates added, subtracted from the above */
    float lobe[PAGE];   /* chi^2 that the side lobes of candidates' lines leave in others' bins */
    int64_t from[PAGE]; /* the candidate of the last of them */
    bool held;          /* there are any of these */
};

struct psr_residual {
    psr_pulscan *plan;
    size_t s;
    const struct psr_pulscan_search *search;
    int64_t nbin;
    const struct psr_pulscan_lines *lines;
    bool *taken;        /* [lines->n] those of candidates */
    struct page **page; /* [nbin / PAGE + 1]; NULL before it is asked for */
    psr_status status;
    psr_err err;
};

psr_status psr_residual_create(struct psr_residual **out, psr_pulscan *plan, size_t s, psr_err *err)
{
    *out = NULL;
    struct psr_residual *r = calloc(1, sizeof *r);
    if (!r)
        return psr_fail_nomem(err, "powers", sizeof *r);
    r->plan = plan;
    r->s = s;
    r->search = psr_pulscan_resolved(plan);
    r->nbin = (int64_t)r->search->nbin;
    size_t npage = (size_t)r->nbin / PAGE + 1;
    r->page = calloc(npage, sizeof(struct page *));
    r->lines = psr_pulscan_lines_of(plan);
    r->taken = calloc(r->lines->n + 1, sizeof *r->taken);
    if (!r->page || !r->taken) {
        psr_residual_destroy(r);
        return psr_fail_nomem(err, "powers", (double)(npage * sizeof(struct page *)));
    }
    *out = r;
    return PSR_OK;
}

void psr_residual_destroy(struct psr_residual *r)
{
    if (!r)
        return;
    for (int64_t k = 0; r->page && k <= r->nbin / PAGE; k++)
        free(r->page[k]);
    free(r->page);
    free(r->taken);
    free(r);
}

psr_status psr_residual_status(const struct psr_residual *r, psr_err *err)
{
    return r->status ? psr_fail_field(err, r->status, r->err.field, "%s", r->err.msg) : PSR_OK;
}

int64_t psr_residual_bins(const struct psr_residual *r)
{
    return r->nbin;
}

/* --- pages ------------------------------------------------------------------------------------ */

static void forget_bin(struct page *p, int64_t i)
{
    p->power[i] = 2;
    p->bin[i][0] = p->bin[i][1] = 0;
}

static void zap(const struct psr_residual *r, int64_t first, struct page *p)
{
    for (size_t i = 0; i < r->search->nzap; i++) {
        const struct psr_span *z = &r->search->zap[i];
        int64_t from = z->first > first ? z->first : first, end = z->first + z->count;
        for (int64_t k = from; k < end && k < first + PAGE; k++)
            forget_bin(p, k - first);
    }
}

static struct page *read_page(struct psr_residual *r, int64_t k)
{
    struct page *p = malloc(sizeof *p);
    if (!p) {
        r->status = psr_fail_nomem(&r->err, "powers", sizeof *p);
        return NULL;
    }
    r->status = psr_pulscan_amplitudes(r->plan, r->s, k * PAGE, PAGE, &p->bin[0][0], &r->err);
    if (r->status) {
        free(p);
        return NULL;
    }
    p->held = false;
    for (int64_t i = 0; i < PAGE; i++) {
        float re = p->bin[i][0], im = p->bin[i][1], power = re * re + im * im;
        p->power[i] = power < PSR_PULSCAN_MOST ? power : PSR_PULSCAN_MOST;
        p->owner[i] = -1;
        p->lobe[i] = p->line[i] = 0;
    }
    zap(r, k * PAGE, p);
    return r->page[k] = p;
}

/* The page of a bin; NULL where the bin does not exist, or after something went wrong. */
static struct page *page_of(struct psr_residual *r, int64_t bin)
{
    if (bin < 0 || bin >= r->nbin || r->status)
        return NULL;
    struct page *p = r->page[bin / PAGE];
    return p ? p : read_page(r, bin / PAGE);
}

static float power_at(struct psr_residual *r, int64_t bin)
{
    const struct page *p = page_of(r, bin);
    if (!p)
        return 0;
    return p->owner[bin % PAGE] < 0 ? p->power[bin % PAGE] - p->lobe[bin % PAGE] : 2;
}

double psr_residual_power(struct psr_residual *r, int64_t first, int64_t n, float most)
{
    double sum = 0;
    for (int64_t k = first; k < first + n; k++)
        sum += (double)fminf(power_at(r, k), most);
    return sum;
}

/* The same, with bins that owner holds unchanged. */
static double residual_shared(struct psr_residual *r, int64_t first, int64_t n, float most,
                              int64_t owner)
{
    double sum = 0;
    for (int64_t k = first; k < first + n; k++) {
        const struct page *p = page_of(r, k);
        int64_t of = p ? p->owner[k % PAGE] : -1;
        sum += !p ? 0 : of < 0 || of == owner ? (double)fminf(p->power[k % PAGE], most) : 2;
    }
    return sum;
}

/* --- what is held ----------------------------------------------------------------------------- */

void psr_residual_add_held(const struct psr_residual *r, int64_t first, int64_t n,
                           struct psr_residual_held *sum)
{
    int64_t end = first + n < r->nbin ? first + n : r->nbin;
    for (int64_t k = first > 0 ? first : 0; k < end;) {
        const struct page *p = r->page[k / PAGE];
        int64_t stop = (k / PAGE + 1) * PAGE;
        stop = stop < end ? stop : end;
        for (; p && p->held && k < stop; k++) {
            int64_t i = k % PAGE;
            const bool held = p->owner[i] >= 0;
            const float most = held ? p->power[i] : p->lobe[i] + p->line[i];
            /* A line can take power from a bin, too. */
            sum->excess += (double)most - (held ? 2 : 0);
            if ((held || most > 0) && (sum->owner < 0 || most > sum->most)) {
                sum->owner = held ? p->owner[i] : p->from[i];
                sum->most = most;
            }
        }
        k = stop;
    }
}

static void hold_bin(struct psr_residual *r, int64_t bin, float most, int64_t owner)
{
    struct page *p = page_of(r, bin);
    if (!p || p->owner[bin % PAGE] >= 0 || p->power[bin % PAGE] > most)
        return;
    p->owner[bin % PAGE] = owner;
    p->bin[bin % PAGE][0] = p->bin[bin % PAGE][1] = 0;
    p->held = true;
}

/* The last bin of a line that goes on from a bin by step, over no more than a few bins of noise,
 * and up to where a brighter one begins. */
static int64_t end_of_line(struct psr_residual *r, int64_t bin, int step, float most)
{
    int64_t last = bin;
    for (int64_t k = bin + step; (k - last) * step <= GAP && page_of(r, k); k += step) {
        if (power_at(r, k) > most)
            break;
        if (power_at(r, k) > END_OF_LINE)
            last = k;
    }
    return last;
}

static float brightest(struct psr_residual *r, int64_t first, int64_t n)
{
    float most = 0;
    for (int64_t k = first; k < first + n; k++)
        most = fmaxf(most, power_at(r, k));
    return most;
}

/* Subtracts a fitted line from bins that nobody has claimed, but not from its own. */
static void subtract_line(struct psr_residual *r, const struct psr_pulscan_line *line,
                          const struct psr_span *own, int64_t owner)
{
    for (size_t i = 0; i < line->is.n; i++) {
        const int64_t k = line->is.first + (int64_t)i;
        const bool is_own = k >= own->first && k < own->first + own->count;
        struct page *p = is_own ? NULL : page_of(r, k);
        if (!p || p->owner[k % PAGE] >= 0)
            continue;
        p->bin[k % PAGE][0] -= line->is.re[i];
        p->bin[k % PAGE][1] -= line->is.im[i];
        const float left = fmaxf(0, p->power[k % PAGE] - line->adds[i]);
        p->line[k % PAGE] += p->power[k % PAGE] - left;
        p->power[k % PAGE] = left;
        p->from[k % PAGE] = owner;
        p->held = true;
    }
}

/* Subtracts the fitted line that has most of the power of some bins.
 * Returned: *bins, those of the line */
static void take_line(struct psr_residual *r, struct psr_span *bins, int64_t owner)
{
    const int64_t k = psr_pulscan_lines_in(r->lines, r->s, (double)bins->first,
                                           (double)(bins->first + bins->count - 1));
    if (k < 0)
        return;
    const struct psr_pulscan_line *line = &r->lines->line[k];
    const double power = psr_residual_power(r, bins->first, bins->count, HUGE_VALF);
    if (line->is.power < 0.5 * (power - 2 * (double)bins->count))
        return;
    *bins = psr_pulscan_lines_bins(line);
    if (!r->taken[k])
        subtract_line(r, line, bins, owner);
    r->taken[k] = true;
}

void psr_residual_hold(struct psr_residual *r, int64_t first, int64_t n, float most, int64_t owner)
{
    struct psr_span bins = {first, n};
    take_line(r, &bins, owner);
    first = bins.first;
    n = bins.count;
    float brighter = BRIGHTER * brightest(r, first - 2, n + 4);
    int64_t lo = end_of_line(r, first, -1, brighter);
    int64_t hi = end_of_line(r, first + n - 1, 1, brighter);
    for (int64_t k = lo; k <= hi; k++)
        hold_bin(r, k, most, owner);
}

void psr_residual_add_lobes(struct psr_residual *r, const struct psr_residual_source *line,
                            int64_t owner)
{
    const double far = fmin(sqrt(line->power / LEAST_LOBE), FAR);
    const int64_t fitted = psr_pulscan_lines_in(r->lines, r->s, line->lo, line->hi);
    const double known = fitted >= 0 && r->taken[fitted] ? PSR_PULSCAN_LINE_REACH : 0;
    for (int64_t k = (int64_t)ceil(line->lo - far); (double)k <= line->hi + far; k++) {
        const double d = fmax(line->lo - (double)k, (double)k - line->hi);
        struct page *p = d >= 1 && d >= known ? page_of(r, k) : NULL;
        if (!p || p->owner[k % PAGE] >= 0)
            continue;
        p->lobe[k % PAGE] += (float)(line->power / (d * d));
        p->from[k % PAGE] = owner;
        p->held = true;
    }
}

/* --- evidence --------------------------------------------------------------------------------- */

/* Mean power of noise around [lo, hi], over that of the block: red noise and remains of lines are no
 * evidence of another line. */
static double level_around(struct psr_residual *r, int64_t lo, int64_t hi)
{
    float power[2 * FLANK];
    size_t n = 0;
    for (int64_t d = 3; d < 3 + FLANK; d++)
        for (int side = 0; side < 2; side++) {
            int64_t bin = side ? hi + d : lo - d;
            const struct page *p = page_of(r, bin);
            if (p && bin > 0 && p->owner[bin % PAGE] < 0)
                power[n++] = p->power[bin % PAGE];
        }
    if (n < LEAST_FLANK)
        return 1;
    double level = psr_quantile_median(power, n) / (2 * M_LN2);
    return level > LEAST_LEVEL ? level : 1;
}

static double evidence_of(double power, double nbin)
{
    power = fmax(power, 0);
    if (nbin <= 1)
        return power / 2;
    return nbin <= 2 ? power / 2 - log1p(power / 2) : -psr_chi2_logp(power, 2 * nbin).ln_sf;
}

double psr_residual_evidence(struct psr_residual *r, int64_t lo, int64_t hi)
{
    double n = (double)(hi - lo + 1), power = psr_residual_power(r, lo, hi - lo + 1, HUGE_VALF);
    double found = evidence_of(power, n);
    return found > LOOK_TWICE ? evidence_of(power / level_around(r, lo, hi), n) : found;
}

/* Fourier interpolation from neighbouring bins. */
double psr_residual_line(struct psr_residual *r, double at)
{
    int64_t near = (int64_t)floor(at);
    double off = at - (double)near, re = 0, im = 0;
    if (off < 1e-6)
        return (double)power_at(r, near) / 2;
    if (off > 1 - 1e-6)
        return (double)power_at(r, near + 1) / 2;
    for (int64_t k = near - REACH + 1; k <= near + REACH; k++) {
        const struct page *p = page_of(r, k);
        double weight = 1 / (at - (double)k);
        re += p ? weight * (double)p->bin[k % PAGE][0] : 0;
        im += p ? weight * (double)p->bin[k % PAGE][1] : 0;
    }
    double scale = sin(M_PI * off) / M_PI;
    return scale * scale * (re * re + im * im) / 2;
}

double psr_residual_line_evidence(struct psr_residual *r, double at)
{
    double power = psr_residual_line(r, at);
    int64_t near = (int64_t)floor(at);
    return power > LOOK_TWICE ? power / level_around(r, near, near + 1) : power;
}

/* --- splits wide boxes that hold several signals side by side --------------------------------- */

enum { APART = PSR_PULSCAN_NEAR + 1 };
static const double EMPTY = 20;  /* chi^2 over the mean that noise reaches in so many bins: 1.4 % */
static const double DENSE = 128; /* and at least what the fainter part, going on, leaves in a gap */
static const double PART = 4;    /* scatters of noise that a part is above it */

struct part {
    double excess; /* chi^2 over noise */
    int64_t first, end;
};

struct parts {
    struct part last;
    double sum, brightest; /* chi^2 over noise: of all parts before the last */
};

static double density(const struct part *p)
{
    return p->excess / (double)(p->end - p->first);
}

/* Whether neither part goes on in the gap between them, though it is as faint as there. */
static bool are_apart(const struct part *a, const struct part *b)
{
    return fmin(density(a), density(b)) * (double)(b->first - a->end) >= DENSE;
}

static void count_last(struct parts *p)
{
    p->sum += p->last.excess;
    p->brightest = fmax(p->brightest, p->last.excess);
}

/* Adds a part, to the last one where the gap between them may be noise's. */
static void end_part(struct parts *p, const struct part *next)
{
    if (next->excess <= PART * sqrt(4 * (double)(next->end - next->first)))
        return;
    if (p->last.excess > 0 && !are_apart(&p->last, next)) {
        p->last.excess += next->excess;
        p->last.end = next->end;
        return;
    }
    count_last(p);
    p->last = *next;
}

double psr_blend_power(struct psr_residual *r, int64_t first, int64_t n, float most)
{
    double sum[APART + 1] = {0}; /* chi^2 over noise of the bins below, of each of the last bins */
    double below = 0;            /* of those below the part */
    struct parts parts = {0};
    int64_t begin = 0;
    if (n < APART + 2)
        return 0;
    for (int64_t k = 1; k <= n; k++) {
        double *now = &sum[k % (APART + 1)];
        *now = sum[(k - 1) % (APART + 1)] + psr_residual_power(r, first + k - 1, 1, most) - 2;
        const double before = k < APART ? 0 : sum[(k - APART) % (APART + 1)];
        if (k < APART || *now - before > EMPTY)
            continue;
        if (k - APART > begin)
            end_part(&parts, &(struct part){before - below, begin, k - APART});
        begin = k;
        below = *now;
    }
    if (n > begin)
        end_part(&parts, &(struct part){sum[n % (APART + 1)] - below, begin, n});
    count_last(&parts);
    return parts.sum - parts.brightest;
}

/* --- decides whether a box is part of a better one -------------------------------------------- */

static bool are_adjacent(const struct psr_pulscan_hit *a, const struct psr_pulscan_hit *b)
{
    return a->first <= b->first + b->z + PSR_PULSCAN_NEAR &&
           b->first <= a->first + a->z + PSR_PULSCAN_NEAR;
}

/* Whether there is power all the way between the two boxes, as with red noise and wide drifts: the
 * weaker box is then no peak of its own.  No bin counts for more than a few bins of noise, so that
 * lines in between do not connect them. */
static bool is_bridged(struct psr_residual *r, const struct psr_pulscan_hit *best, int64_t owner,
                       const struct psr_pulscan_hit *h)
{
    static const float most = 8;
    static const double share = 1 / 3.0, ln_p = -5;
    const struct psr_pulscan_hit *low = h->first < best->first ? h : best,
                                 *high = low == h ? best : h;
    const int64_t from = low->first + low->z + 1, n = high->first - from, width = h->z + 1;
    if (n > (low->z > high->z ? low->z : high->z))
        return false;
    const double own = residual_shared(r, h->first, width, most, owner) / (double)width;
    const double between = residual_shared(r, from, n, most, owner);
    return between / (double)n - 2 >= share * (own - 2) &&
           psr_chi2_logp(between, 2 * (double)n).ln_sf < ln_p;
}

/* Whether box h is near a line that a better box holds, and significant without it. */
static bool is_beside_line(psr_pulscan *plan, size_t spec, const struct psr_pulscan_hit *better,
                           const struct psr_pulscan_hit *h, float power)
{
    const struct psr_pulscan_lines *lines = psr_pulscan_lines_of(plan);
    struct psr_pulscan_hit box = *h;
    double left;
    box.power = power;
    if (psr_pulscan_lines_in(lines, spec, (double)better->first,
                             (double)(better->first + better->z)) < 0 ||
        !psr_pulscan_lines_apart(lines, spec, &box, &left))
        return false;
    psr_pulscan_weigh_hit(plan, &box, (float)left);
    return box.sigma > psr_pulscan_least_sigma(plan);
}

bool psr_pulscan_touches(const struct psr_pulscan_hit *best, int64_t c,
                         const struct psr_pulscan_hit *h, const struct psr_pulscan_place *p)
{
    if (!are_adjacent(best, h) && !(p && is_bridged(p->residual, best, c, h)))
        return false;
    return !p || !is_beside_line(p->plan, p->spec, best, h, p->whole);
}
