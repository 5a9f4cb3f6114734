/* Automatic cleaning: tells pulses that are dispersed from sparks, by S/N at trial delays across the band.
 *
 * What has one shape in all sub-bands has at most the S/N at any delay that it has at delay 0, whatever its shape and spectrum:
 * with sub-bands shifted, the product with a template is a mean of products at delay 0, each of which is at most the best.  So only
 * noise makes a spark seem dispersed, by as much in chi-squared as is known. */
#include "clean_auto_plan.h"

#include <math.h>
#include <string.h>

/* By how much a delay must fit better than none, in chi-squared: 2 sigmas, and a share of all, as shapes may differ. */
static const double gain_limit = 4, gain_share = 3e-3, delay_ratio = 1.4;

enum {
    GROUPS = PSR_AUTO_GROUPS,
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

static void read_bins(const psr_clean_auto *p, const struct psr_auto_run *r, size_t low,
                      size_t high, struct bins *b)
{
    const size_t length = r->end - r->first,
                 more = BESIDE * length > FEWEST ? BESIDE * length : FEWEST,
                 from = r->first > low + more ? r->first - more : low,
                 to = r->end + more < high ? r->end + more : high,
                 size = (to - from + BINS - 1) / BINS;
    double s[GROUPS];
    bool counts[GROUPS] = {false};
    memset(b->s, 0, sizeof b->s);
    b->n = (to - from) / size;
    b->first = (r->first - from) / size;
    b->end = (r->end - from) / size < b->n ? (r->end - from) / size : b->n;
    for (size_t t = from; t < from + b->n * size; t++) {
        psr_auto_take_spectrum(p, t, true, s);
        for (size_t g = 0; g < p->ngroup; g++) {
            b->s[g][(t - from) / size] += s[g] / sqrt((double)size);
            counts[g] |= s[g] != 0;
        }
    }
    b->ngroup = 0;
    for (size_t g = 0; g < p->ngroup; g++) {
        b->place[g] = psr_auto_place(p, g);
        b->ngroup += counts[g];
    }
}

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
    read_bins(p, r, low, high, &b);
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
