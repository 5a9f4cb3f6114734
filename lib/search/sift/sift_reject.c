/* Rejects candidates that cannot be a pulsar on their own, as sifting.py does. */
#include "sift_state.h"

#include "stats/stats.h"

#include <math.h>
#include <psrkit/signif.h>
#include <stdlib.h>

/* --- birdies ---------------------------------------------------------------------------------- */

/* Birds of one frame, by lower edges and by middles. */
struct frame {
    double *low;    /* [n] ascending */
    double *high;   /* [n] the highest upper edge of those up to here */
    double *middle; /* [n] ascending */
    size_t n;
};

struct psr_sift_birds {
    struct frame topo, bary;
    double scale; /* frequency at the barycentre over that at the telescope */
};

struct edges {
    double low, high;
};

PSR_COMPARE(by_low, struct edges, PSR_RISING(low));

PSR_COMPARE_VALUES(by_value, double);

static bool fill_frame(struct frame *frame, const struct psr_zaplist *list, bool barycentric)
{
    const size_t room = list->n ? list->n : 1;
    struct edges *edges = malloc(room * sizeof *edges);
    frame->low = malloc(room * sizeof *frame->low);
    frame->high = malloc(room * sizeof *frame->high);
    frame->middle = malloc(room * sizeof *frame->middle);
    const bool made = edges && frame->low && frame->high && frame->middle;
    for (size_t i = 0; i < list->n && made; i++) {
        const struct psr_bird *b = &list->bird[i];
        if (b->barycentric != barycentric)
            continue;
        edges[frame->n] =
            (struct edges){b->freq_hz - b->width_hz / 2, b->freq_hz + b->width_hz / 2};
        frame->middle[frame->n++] = b->freq_hz;
    }
    if (made) {
        qsort(edges, frame->n, sizeof *edges, by_low);
        qsort(frame->middle, frame->n, sizeof *frame->middle, by_value);
    }
    for (size_t i = 0; i < frame->n; i++) {
        frame->low[i] = edges[i].low;
        frame->high[i] =
            i && frame->high[i - 1] > edges[i].high ? frame->high[i - 1] : edges[i].high;
    }
    free(edges);
    return made;
}

/* The first of x [n] above value. */
static size_t find_above(const double *x, size_t n, double value)
{
    size_t lo = 0, hi = n;
    while (lo < hi) {
        const size_t mid = (lo + hi) / 2;
        if (x[mid] > value)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

static bool hits_frame(const struct frame *frame, double f_hz, double half_bin_hz)
{
    const size_t wide = find_above(frame->low, frame->n, f_hz);
    if (wide > 0 && f_hz <= frame->high[wide - 1])
        return true;
    const size_t next = find_above(frame->middle, frame->n, f_hz);
    return (next < frame->n && frame->middle[next] - f_hz <= half_bin_hz) ||
           (next > 0 && f_hz - frame->middle[next - 1] <= half_bin_hz);
}

/* Whether f_hz, of a list of this length and frame, is within a bird, each at least a bin wide.
 * Takes log n. */
static bool birds_hit(const struct psr_sift_birds *birds, double f_hz, double tobs_s,
                      bool barycentric)
{
    const double topo = barycentric ? f_hz / birds->scale : f_hz;
    const double bary = barycentric ? f_hz : f_hz * birds->scale;
    return hits_frame(&birds->topo, topo, 0.5 / tobs_s) ||
           hits_frame(&birds->bary, bary, 0.5 / tobs_s);
}

psr_status psr_sift_birds_create(struct psr_sift_birds **out, const struct psr_zaplist *list,
                                 double baryv, psr_err *err)
{
    struct psr_sift_birds *birds = calloc(1, sizeof *birds);
    *out = birds;
    if (birds && fill_frame(&birds->topo, list, false) && fill_frame(&birds->bary, list, true)) {
        birds->scale = 1 + baryv;
        return PSR_OK;
    }
    psr_sift_birds_destroy(birds);
    *out = NULL;
    return psr_fail_nomem(err, "birdies", 48.0 * (double)list->n);
}

static void clear_frame(struct frame *frame)
{
    free(frame->low);
    free(frame->high);
    free(frame->middle);
}

void psr_sift_birds_destroy(struct psr_sift_birds *birds)
{
    if (birds) {
        clear_frame(&birds->topo);
        clear_frame(&birds->bary);
    }
    free(birds);
}

/* --- reasons ---------------------------------------------------------------------------------- */

static const double NOISE_SIGMA = 2;

/* Without its strongest harmonic, what is no single line has this sigma. */
static const double REST_SIGMA = 5;

void psr_sift_limit_noise(struct psr_sift *s)
{
    for (int n = 1; n <= PSR_ACCEL_LIST_MAX_HARM; n++) {
        double low = 0, high = 100 + 4.0 * n;
        while (high - low > 1e-12 * high) {
            const double middle = (low + high) / 2;
            if (psr_gauss_sigma(psr_chi2_logp(2 * middle, 2.0 * n)) < NOISE_SIGMA)
                low = middle;
            else
                high = middle;
        }
        s->noise_limit[n] = high;
    }
}

/* Shares of the power of lines: what noise and their own sidelobes add to the others, and what the best of many places,
 * where these are below MOST_SIGMA. */
static const double OTHERS_SHARE = 0.05, MOST_SHARE = 0.25, MOST_SIGMA = 4;

/* Bit q, from 2 to n: the harmonics that are not multiples of q are noise, or next to nothing beside the others. */
static uint32_t find_lines(const struct psr_sift *s, const double *power, int n)
{
    uint32_t found = 0;
    double sum = 0;
    for (int h = 0; h < n; h++)
        sum += power[h];
    for (int q = 2; q <= n && q <= PSR_SIFT_MOST_HARMONIC; q++) {
        double rest = 0;
        for (int h = 1; h <= n; h++)
            rest += h % q ? power[h - 1] : 0;
        if (rest < s->noise_limit[n - n / q] || rest < OTHERS_SHARE * sum ||
            (rest < MOST_SHARE * sum &&
             psr_gauss_sigma(psr_chi2_logp(2 * rest, 2.0 * (n - n / q))) < MOST_SIGMA))
            found |= UINT32_C(1) << q;
    }
    return found;
}

bool psr_sift_has_others(const struct psr_sift *s, const struct psr_sift_entry *e, int n)
{
    const int m = e->nharm - e->nharm / n;
    double rest = 0;
    for (int h = 1; h <= e->nharm; h++)
        rest += h % n ? (double)s->all.power[e->harm + (size_t)h - 1] : 0;
    return m > 0 && psr_gauss_sigma(psr_chi2_logp(2 * rest, 2.0 * m)) >= psr_sift_sure_sigma;
}

/* Standard deviation of r of a sum of harmonics: a line of power P is known to 3 / (pi sqrt(6 P)) bins (Middleditch, Deich
 * and Kulkarni 1993). */
static double find_r_error(const double *power, int n)
{
    double sum = 0;
    for (int h = 1; h <= n; h++)
        sum += (double)h * h * fmax(power[h - 1] - 1, 0);
    return 3 / (M_PI * sqrt(6 * fmax(sum, 1)));
}

struct psr_sift_entry psr_sift_make_entry(const struct psr_sift *s, const struct psr_accel_row *row,
                                          double tobs_s)
{
    struct psr_sift_entry e = {
        .number = row->number,
        .list_sigma = row->fold_snr > 0 ? NAN : row->sigma,
        .coherent = row->coherent,
        .r = row->r,
        .z = row->z,
        .f = row->r / tobs_s,
        .nharm = row->nharm,
        .of = PSR_SIFT_NONE,
        .nhit = 1,
        .next = PSR_SIFT_NONE,
        .folded = row->fold_snr > 0,
        .fold_duty = row->fold_duty,
    };
    for (int h = 0; h < row->nharm; h++) {
        const double above = row->harm_power[h] - 1;
        e.power += row->harm_power[h];
        e.snr += sqrt(above < 0 ? 0 : above);
        if (h == 0 || row->harm_power[h] > (double)e.best_power) {
            e.best = h + 1;
            e.best_power = (float)row->harm_power[h];
        }
    }
    e.first_power = row->nharm ? (float)row->harm_power[0] : 0;
    e.on_lines = s->d.presto ? 0 : find_lines(s, row->harm_power, row->nharm);
    e.r_error = (float)find_r_error(row->harm_power, row->nharm);
    if (s->d.presto)
        e.sigma = psr_presto_sigma(e.power, e.nharm, 1);
    else
        e.sigma = psr_gauss_sigma(psr_chi2_logp(2 * e.power, 2.0 * e.nharm));
    e.sigma = e.sigma > 0 ? e.sigma : 0;
    if (e.folded)
        e.snr = row->fold_snr;
    return e;
}

static bool is_bird(const struct psr_sift *s, const struct psr_sift_entry *e, double tobs_s,
                    bool barycentric)
{
    const struct psr_sift_desc *d = &s->d;
    if (s->birds && birds_hit(s->birds, e->f, tobs_s, barycentric))
        return true;
    for (size_t i = 0; i < d->nbird_f && !d->presto; i++)
        if (fabs(e->f - d->bird_f[i].value) < d->bird_f[i].error)
            return true;
    for (size_t i = 0; i < d->nbird_p && !d->presto; i++)
        if (fabs(1 / e->f * 1000 - d->bird_p[i].value) < d->bird_p[i].error)
            return true;
    return false;
}

static bool misses_threshold(const struct psr_sift_desc *d, const struct psr_sift_entry *e)
{
    if (e->nharm == 1)
        return e->sigma < d->sigma_threshold && e->coherent < d->c_pow_threshold;
    return e->sigma < d->sigma_threshold;
}

/* The strongest harmonic is a high one, and much stronger than the next.  Not where the others are no noise
 * even without it. */
static bool is_rogue(const struct psr_sift *s, const double *power, int n, int best)
{
    double second = -INFINITY, rest = 0;
    for (int h = 0; h < n; h++) {
        rest += h != best ? power[h] : 0;
        if (h != best && power[h] > second)
            second = power[h];
    }
    if (!s->d.presto && n > 1 &&
        psr_gauss_sigma(psr_chi2_logp(2 * rest, 2.0 * (n - 1))) >= REST_SIGMA)
        return false;
    return (n >= 8 && best > 4 && power[best] > 2 * second) ||
           (n >= 4 && best > 2 && power[best] > 3 * second);
}

enum psr_sift_reason psr_sift_judge(const struct psr_sift *s, const struct psr_sift_entry *e,
                                    const double *power, double tobs_s, bool barycentric)
{
    const struct psr_sift_desc *d = &s->d;
    int best = 0;
    for (int h = 1; h < e->nharm; h++)
        if (power[h] > power[best])
            best = h;
    const double period_s = 1 / e->f;
    if (period_s > d->long_period_s && !e->folded)
        return PSR_SIFT_LONG_PERIOD;
    if (period_s < d->short_period_s)
        return PSR_SIFT_SHORT_PERIOD;
    if (is_bird(s, e, tobs_s, barycentric))
        return PSR_SIFT_KNOWN_BIRD;
    if (misses_threshold(d, e))
        return PSR_SIFT_THRESHOLD;
    if (e->folded) /* its harmonics are made */
        return PSR_SIFT_GOOD;
    if (power[best] < d->harm_pow_cutoff && (d->presto || e->sigma < psr_sift_sure_sigma))
        return PSR_SIFT_HARM_POWER;
    return is_rogue(s, power, e->nharm, best) ? PSR_SIFT_ROGUE_HARM : PSR_SIFT_GOOD;
}
