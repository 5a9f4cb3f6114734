/* Automatic cleaning: tells pulses that are dispersed from sparks, by delays across the band. */
#include "clean_auto_plan.h"

#include <math.h>
#include <string.h>

static const double alone_limit = 4, known_limit = 5, most_sigmas = 3, least_sigmas = 2,
                    width_share = 0.02;
enum {
    GROUPS = PSR_AUTO_GROUPS,
    PARTS = 4,
    LEAST = 3,                  /* sub-bands of a receiver */
    LOWEST = 2 * PSR_AUTO_SIGMA /* levels above 0 that samples which are there have on average */
};

/* A run of spectra with its neighbourhood, and what is summed over it. */
struct sums {
    size_t n, lag; /* spectra, and how far a spectrum looks ahead and back */
    double power, noise,
        slope; /* of the band: sum of squares; that of weights; change of a product with the weights, a
                                    spectrum of delay */
    double x[GROUPS], d[GROUPS]; /* of sub-bands: products with the band, and with the weights */
};

/* --- runs ------------------------------------------------------------------------------------- */

static bool is_spark(const psr_clean_auto *p, size_t t)
{
    return p->band.spark[t];
}

static bool is_pulse(const psr_clean_auto *p, size_t t)
{
    return p->band.pulse[t] && !p->band.spark[t] && !p->band.burst[t];
}

/* Of spectra that are so.  Returned: their number, in p->band.run */
static size_t list_runs(psr_clean_auto *p, bool (*is_so)(const psr_clean_auto *p, size_t t))
{
    size_t n = 0;
    bool before = false;
    for (size_t t = 0; t < p->win.n; t++) {
        const bool now = is_so(p, t);
        if (now && !before)
            p->band.run[n++] = (struct psr_auto_run){.first = t, .sparks = is_so == is_spark};
        if (now)
            p->band.run[n - 1].end = t + 1;
        before = now;
    }
    return n;
}

/* A quarter of a run's length on either side belongs to it, up to the next run. */
void psr_auto_widen_run(struct psr_auto_run *r, size_t low, size_t high)
{
    const size_t more = (r->end - r->first + PARTS - 1) / PARTS;
    r->from = r->first > low + more ? r->first - more : low;
    r->to = r->end + more < high ? r->end + more : high;
}

/* Ends of the runs beside run k of n. */
static size_t low_of(const psr_clean_auto *p, size_t k)
{
    return k ? p->band.run[k - 1].end : 0;
}

static size_t high_of(const psr_clean_auto *p, size_t k, size_t n)
{
    return k + 1 < n ? p->band.run[k + 1].first : p->win.n;
}

static void widen_runs(psr_clean_auto *p, size_t n)
{
    for (size_t k = 0; k < n; k++)
        psr_auto_widen_run(&p->band.run[k], low_of(p, k), high_of(p, k, n));
}

/* --- the delay of a run ----------------------------------------------------------------------- */

/* Fits d = c x, with one c for sub-bands up to a place and another for those above, as the gains of two receivers make it.
 * Returned: what is left of the squares of d at the best place */
static double fit_receivers(const psr_clean_auto *p, const struct sums *m)
{
    double xx[GROUPS + 1] = {0}, y[GROUPS + 1] = {0}, dd = 0, most = 0;
    size_t n[GROUPS + 1] = {0};
    const size_t all = p->ngroup;
    for (size_t g = 0; g < all; g++) {
        xx[g + 1] = xx[g] + m->x[g] * m->x[g];
        y[g + 1] = y[g] + m->x[g] * m->d[g];
        n[g + 1] = n[g] + (m->x[g] != 0);
        dd += m->d[g] * m->d[g];
    }
    for (size_t g = 0; g < all; g++)
        if (n[g] >= LEAST && n[all] - n[g] >= LEAST)
            most = fmax(most, y[g] * y[g] / xx[g] +
                                  (y[all] - y[g]) * (y[all] - y[g]) / (xx[all] - xx[g]));
    return dd - most;
}

/* Fits d = c x + b place x.  Returned: b, and its noise, larger where the fit is worse than noise explains; what is left
 * of the squares of d */
static double fit_place(const psr_clean_auto *p, const struct sums *m, double *noise, double *left)
{
    double xx = 0, ux = 0, uu = 0, y = 0, uy = 0, misfit = 0, n = 0;
    for (size_t g = 0; g < p->ngroup; g++) {
        const double x = m->x[g], ux_g = psr_auto_place(p, g) * x;
        xx += x * x;
        ux += x * ux_g;
        uu += ux_g * ux_g;
        y += x * m->d[g];
        uy += ux_g * m->d[g];
        n += x != 0;
    }
    const double det = xx * uu - ux * ux, b = (xx * uy - ux * y) / det, c = (y - b * ux) / xx;
    for (size_t g = 0; g < p->ngroup; g++) {
        const double rest = m->d[g] - (c + b * psr_auto_place(p, g)) * m->x[g];
        misfit += rest * rest;
    }
    *noise = n > 2 ? sqrt(fmax(m->noise, misfit / (n - 2)) * xx / det) : 0;
    *left = misfit;
    return b;
}

/* Delay of one end of the band to the other. */
static void find_delay(psr_clean_auto *p, struct psr_auto_run *r)
{
    struct sums m;
    double noise, left;
    double s[GROUPS], *prefix = p->band.prefix, *weight = p->band.prefix + p->window + 1;
    m = (struct sums){.n = r->to - r->from, .lag = (r->to - r->from + PARTS - 1) / PARTS};
    prefix[0] = 0;
    for (size_t i = 0; i < m.n; i++)
        prefix[i + 1] = prefix[i] + psr_auto_take_spectrum(p, r->from + i, r->sparks, s);
    /* What comes within the lag after each spectrum of the band, minus what comes before it,
     * less its mean. */
    const size_t n = m.n, lag = m.lag;
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        const double after = prefix[i + lag < n ? i + lag + 1 : n] - prefix[i + 1];
        weight[i] = after - (prefix[i] - prefix[i > lag ? i - lag : 0]);
        sum += weight[i];
    }
    for (size_t i = 0; i < n; i++)
        weight[i] -= sum / (double)n;
    for (size_t i = 0; i < m.n; i++) {
        const double band = psr_auto_take_spectrum(p, r->from + i, r->sparks, s);
        for (size_t g = 0; g < p->ngroup; g++) {
            m.x[g] += s[g] * band;
            m.d[g] += s[g] * weight[i];
        }
        m.power += band * band;
        m.noise += weight[i] * weight[i];
    }
    /* How the product of band and weights changes while the band comes later. */
    const size_t h = (m.lag + 1) / 2;
    double change = 0;
    for (size_t i = 0; i < m.n; i++) {
        const double later = i >= h ? prefix[i - h + 1] - prefix[i - h] : 0;
        const double sooner = i + h < m.n ? prefix[i + h + 1] - prefix[i + h] : 0;
        change += weight[i] * (later - sooner);
    }
    m.slope = change / (2 * (double)h);
    const double b = fit_place(p, &m, &noise, &left), spectra = m.power / m.slope;
    r->delay = (struct psr_auto_delay){0, 0};
    r->of_receivers = fit_receivers(p, &m) < left;
    if (!(m.slope < 0) || !isfinite(b) || !(noise > 0))
        return;
    r->delay.size = b * spectra;
    r->delay.noise = hypot(noise * spectra, width_share * (double)m.lag);
}

/* --- decisions -------------------------------------------------------------------------------- */

static double sigmas_of(const struct psr_auto_delay *d)
{
    return d->noise > 0 ? d->size / d->noise : 0;
}

/* The delay of a source of pulses, from the last runs: 0, there is none.  Each counts by its sigmas, few of them, so that
 * it takes several pulses, and so that bright sparks do not outweigh them. */
static double find_source(const psr_clean_auto *p)
{
    const size_t n = p->band.ndelay < PSR_AUTO_RUNS ? p->band.ndelay : PSR_AUTO_RUNS;
    double sum = 0, total = 0, below = 0, size[PSR_AUTO_RUNS], weight[PSR_AUTO_RUNS];
    size_t have = 0;
    for (size_t i = 0; i < n; i++)
        sum += psr_auto_clip(sigmas_of(&p->band.delay[i]), most_sigmas);
    if (!n || fabs(sum) < known_limit * sqrt((double)n))
        return 0;
    for (size_t i = 0; i < n; i++) {
        const double z = psr_auto_clip(sigmas_of(&p->band.delay[i]), most_sigmas),
                     now = p->band.delay[i].size;
        size_t k = have;
        if (z * sum <= 0)
            continue;
        for (have++; k > 0 && size[k - 1] > now; k--) {
            size[k] = size[k - 1];
            weight[k] = weight[k - 1];
        }
        size[k] = now;
        weight[k] = z * z;
        total += z * z;
    }
    for (size_t k = 0; k < have; k++) {
        below += weight[k];
        if (2 * below >= total)
            return size[k];
    }
    return 0;
}

/* Whether a run is delayed by itself, or as much as the source is; that is what a spark is not. */
static bool is_dispersed(const struct psr_auto_delay *d, double source)
{
    const double less = copysign(1, source) * (source - d->size);
    return fabs(sigmas_of(d)) > alone_limit ||
           (d->noise > 0 && source != 0 && less < most_sigmas * d->noise);
}

/* The same of what may be noise, a crest of hum, or receivers whose gains move. */
static bool is_delayed(const struct psr_auto_run *r, double source)
{
    return !r->of_receivers && is_dispersed(&r->delay, source) &&
           fabs(sigmas_of(&r->delay)) > least_sigmas;
}

static void mark_burst(psr_clean_auto *p, const struct psr_auto_run *r)
{
    memset(p->band.burst + r->from, 1, r->to - r->from);
    memset(p->band.pulse + r->from, 1, r->to - r->from);
}

/* Whether the band is below its level in a run. */
static bool is_dip(const psr_clean_auto *p, const struct psr_auto_run *r)
{
    double s[GROUPS], sum = 0;
    for (size_t t = r->first; t < r->end; t++)
        sum += psr_auto_take_spectrum(p, t, false, s);
    return sum < 0;
}

static void judge_sparks(psr_clean_auto *p, double *source)
{
    const size_t n = list_runs(p, is_spark);
    widen_runs(p, n);
    for (size_t k = 0; k < n; k++) {
        find_delay(p, &p->band.run[k]);
        p->band.delay[p->band.ndelay++ % PSR_AUTO_RUNS] = p->band.run[k].delay;
    }
    *source = find_source(p);
    for (size_t k = 0; k < n; k++)
        if (is_dispersed(&p->band.run[k].delay, *source) ||
            psr_auto_fits_delay(p, &p->band.run[k], low_of(p, k), high_of(p, k, n))) {
            memset(p->band.spark + p->band.run[k].first, 0,
                   p->band.run[k].end - p->band.run[k].first);
            mark_burst(p, &p->band.run[k]);
        }
}

static size_t judge_pulses(psr_clean_auto *p, double source)
{
    const size_t n = list_runs(p, is_pulse);
    widen_runs(p, n);
    for (size_t k = 0; k < n; k++) {
        find_delay(p, &p->band.run[k]);
        if (is_delayed(&p->band.run[k], source))
            mark_burst(p, &p->band.run[k]);
    }
    return n;
}

bool psr_auto_judge_run(psr_clean_auto *p, struct psr_auto_run *r)
{
    find_delay(p, r);
    const bool is = is_delayed(r, 0);
    if (is)
        mark_burst(p, r);
    return is;
}

/* Of spectra that most sub-bands have where samples are cut off there are no data: sparks, however many they are.  Nothing else would
 * bring them to their level, as nobody knows by how much they are below it. */
static void mark_lost(psr_clean_auto *p)
{
    for (const struct psr_auto_block *b = p->win.block; b < p->win.block + p->win.nrange; b++) {
        int32_t least[GROUPS];
        size_t n = 0;
        for (size_t g = 0; g < p->ngroup; g++) {
            least[g] = b->count[g] ? (LOWEST - PSR_AUTO_ZERO) * (int32_t)b->count[g] : INT32_MIN;
            n += b->count[g] > 0;
        }
        for (size_t t = b->first; t < b->first + b->n; t++) {
            const int32_t *sum = p->band.sum + t * p->ngroup;
            uint32_t low = 0;
            for (size_t g = 0; g < p->ngroup; g++)
                low += sum[g] < least[g];
            if (2 * low > n) {
                p->band.spark[t] = 1;
                p->band.burst[t] = 0;
            }
        }
    }
}

void psr_auto_find_bursts(psr_clean_auto *p)
{
    double source;
    memset(p->band.burst, 0, p->window);
    judge_sparks(p, &source);
    const size_t nrun = judge_pulses(p, source);
    size_t length[2] = {0, 0};
    for (const struct psr_auto_run *r = p->band.run; r < p->band.run + nrun; r++)
        length[is_dip(p, r)] += p->band.burst[r->first] ? 0 : r->end - r->first;
    const bool is_hum = PSR_AUTO_DIPS * length[1] > length[0];
    size_t n = 0;
    for (size_t t = 0; t < p->win.n; t++)
        n += p->band.pulse[t] && !p->band.burst[t];
    for (size_t t = 0; t < p->win.n && (is_hum || PSR_AUTO_RARE * n > p->win.n); t++)
        p->band.pulse[t] = p->band.burst[t];
    mark_lost(p);
}

/* --- tells pulses that are dispersed from sparks, by S/N at trial delays across the band ------ */

/* What has one shape in all sub-bands has at most the S/N at any delay that it has at delay 0, whatever its shape and spectrum:
 * with sub-bands shifted, the product with a template is a mean of products at delay 0, each of which is at most the best.  So only
 * noise makes a spark seem dispersed, by as much in chi-squared as is known. */

/* By how much a delay must fit better than none, in chi-squared: 2 sigmas, and a share of all, as shapes may differ. */
static const double gain_limit = 4, gain_share = 3e-3, delay_ratio = 1.4;

enum {
    BINS = 128,    /* of a run with its neighbourhood, at most */
    BESIDE = 2,    /* lengths of the run on either side */
    FEWEST = 8,    /* spectra on either side, where there are so many */
    WIDTHS = 12,   /* of templates */
    NARROWER = 4,  /* numbers of templates that a dispersed pulse may be narrower by */
    SHORTEST = 10, /* the first delay is this part of the width */
};

/* A run with its neighbourhood in bins, in sigmas; and sums over sub-bands. */
struct bins {
    size_t n, ngroup, first, end; /* bins, sub-bands that count, and bins of the run itself */
    double s[GROUPS][BINS], place[GROUPS];
    double sum[BINS];
};

/* Bins on either side in which a triangle falls to 0. */
static const size_t template_width[WIDTHS] = {1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64};

/* Sums over sub-bands, those at the end of the band so many bins later than those at its begin. */
static void sum_shifted(const psr_clean_auto *p, struct bins *b, double delay)
{
    const long n = (long)b->n;
    memset(b->sum, 0, sizeof b->sum);
    for (size_t g = 0; g < p->ngroup; g++) {
        const long shift = lrint(delay * b->place[g]), from = shift < 0 ? -shift : 0,
                   to = shift > 0 ? n - shift : n;
        for (long i = from; i < to; i++)
            b->sum[i] += b->s[g][i + shift];
    }
}

/* Whether the band is above its level in the run: lost packets are not dispersed. */
static bool is_above(const struct bins *b)
{
    double sum = 0;
    for (size_t i = b->first; i < b->end; i++)
        sum += b->sum[i];
    return sum > 0;
}

/* The best S/N of a triangle whose middle is among bins first .. end - 1, by two running sums over w bins. */
static double best_of_width(const struct bins *b, size_t w, size_t first, size_t end)
{
    double best = 0, prefix[BINS + 1], twice[2 * BINS + 1];
    prefix[0] = twice[0] = 0;
    for (size_t i = 0; i < b->n; i++)
        prefix[i + 1] = prefix[i] + b->sum[i];
    for (size_t i = 0; i + 1 < b->n + w; i++)
        twice[i + 1] =
            twice[i] + prefix[i < b->n ? i + 1 : b->n] - prefix[i + 1 > w ? i + 1 - w : 0];
    for (size_t i = first; i < end; i++)
        best = fmax(best, twice[i + w] - twice[i]);
    const double length = (double)w;
    return best / sqrt((double)b->ngroup * length * (2 * length * length + 1) / 3);
}

/* Returned: the best S/N without delay; *widest, number of its template */
static double best_at_once(const struct bins *b, size_t *widest)
{
    double best = 0;
    *widest = 0;
    for (size_t k = 0; k < WIDTHS && template_width[k] <= b->n; k++) {
        const double now = best_of_width(b, template_width[k], 0, b->n);
        *widest = now > best ? k : *widest;
        best = fmax(best, now);
    }
    return best;
}

bool psr_auto_fits_delay(const psr_clean_auto *p, const struct psr_auto_run *r, size_t low,
                         size_t high)
{
    struct bins b;
    size_t widest;
    const size_t length = r->end - r->first,
                 more = BESIDE * length > FEWEST ? BESIDE * length : FEWEST,
                 from = r->first > low + more ? r->first - more : low,
                 to = r->end + more < high ? r->end + more : high,
                 size = (to - from + BINS - 1) / BINS;
    double s[GROUPS];
    bool counts[GROUPS] = {false};
    memset(b.s, 0, sizeof b.s);
    b.n = (to - from) / size;
    b.first = (r->first - from) / size;
    b.end = (r->end - from) / size < b.n ? (r->end - from) / size : b.n;
    for (size_t t = from; t < from + b.n * size; t++) {
        psr_auto_take_spectrum(p, t, true, s);
        for (size_t g = 0; g < p->ngroup; g++) {
            b.s[g][(t - from) / size] += s[g] / sqrt((double)size);
            counts[g] |= s[g] != 0;
        }
    }
    b.ngroup = 0;
    for (size_t g = 0; g < p->ngroup; g++) {
        b.place[g] = psr_auto_place(p, g);
        b.ngroup += counts[g];
    }
    sum_shifted(p, &b, 0);
    if (!b.ngroup || !is_above(&b))
        return false;
    const double none = best_at_once(&b, &widest), sign = p->d.ascending ? -1 : 1,
                 limit = none * none * (1 + gain_share) + gain_limit;
    double delay = fmax(1, (double)template_width[widest] / SHORTEST);
    for (; delay < (double)b.n; delay *= delay_ratio) {
        sum_shifted(p, &b, sign * delay);
        for (size_t k = widest > NARROWER ? widest - NARROWER : 0; k <= widest; k++) {
            const double now = best_of_width(&b, template_width[k], b.first, b.end);
            if (now * now > limit)
                return true;
        }
    }
    return false;
}
