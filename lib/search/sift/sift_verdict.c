/* Judges by the hits of a candidate whether it is dispersed.
 *
 * The summed power of a candidate at a DM is the logarithm of the likelihood of that DM, up to a constant:
 * so twice the difference to the power at another DM is chi-squared of one degree of freedom. */
#include "search/sift/sift_state.h"

#include <complex.h>
#include <math.h>
#include <psrkit/ddplan.h>
#include <psrkit/signif.h>

/* --- power against DM: the curve of a dispersed pulse, and its scatter ------------------------ */

/* Harmonic h of frequency f is swept over x = h f (sweep of the band) turns at a DM that is wrong. The
 * rest of its power is |mean over the band of exp(2 pi i x t)|^2, t being the delay as a share of the sweep.
 * Its amplitude at a wrong DM is the amplitude at the right one, times the mean, plus independent noise:
 * so both the expected power and its variance follow from the powers of the row at the right DM. */

struct psr_sift_power {
    double sum, var; /* of the powers of all harmonics */
};

/* Points of the band for each turn of the sweep; beyond MOST_TURNS what is left is a part in 400. */
enum { FEWEST_POINTS = 16, POINTS_PER_TURN = 8, MOST_TURNS = 20 };

static double sweep_of(const struct psr_sift_band *b)
{
    return b->low_mhz > 0 && b->high_mhz > b->low_mhz
               ? 1 / (b->low_mhz * b->low_mhz) - 1 / (b->high_mhz * b->high_mhz)
               : 0;
}

/* Turns by which 1 pc cm^-3 sweeps frequency f_hz over the band; 0 if the band is not known. */
static double count_turns(const struct psr_sift_band *band, double f_hz)
{
    return f_hz * PSR_DMCONST_PRESTO * sweep_of(band);
}

/* Share of its power that a harmonic keeps when the band sweeps it over x turns; 1 if the band is not known. */
static double share_of_band(const struct psr_sift_band *band, double x)
{
    const double sweep = sweep_of(band), step = band->high_mhz - band->low_mhz;
    x = fabs(x);
    if (!(sweep > 0) || x <= 0)
        return 1;
    if (x > MOST_TURNS)
        return 0;
    const int n = FEWEST_POINTS + (int)(POINTS_PER_TURN * x);
    double complex sum = 0;
    for (int k = 0; k < n; k++) {
        const double mhz = band->low_mhz + step * (k + 0.5) / n;
        const double late = (1 / (mhz * mhz) - 1 / (band->high_mhz * band->high_mhz)) / sweep;
        sum += cexp(2 * M_PI * I * x * late);
    }
    const double mean = cabs(sum) / n;
    return mean * mean;
}

/* Power of a signal of that many harmonics, dm off its DM.
 * Given:  part   of the sweep: 1, or less for a signal in a part of the band */
static struct psr_sift_power sift_curve_expect(const struct psr_sift_band *band, double f_hz,
                                               const float *power, int nharm, double dm,
                                               double part)
{
    const double x = count_turns(band, f_hz) * dm * part;
    struct psr_sift_power expected = {0, 0};
    for (int h = 1; h <= nharm; h++) {
        const double share = share_of_band(band, h * x), p = (double)power[h - 1];
        expected.sum += share * p + 1 - share;
        expected.var += 2 * share * (1 - share) * p + (1 - share) * (1 - share);
    }
    return expected;
}

double psr_sift_power_of(double sigma, int nharm)
{
    return psr_chi2_threshold(psr_gauss_logp(sigma), 2.0 * nharm) / 2;
}

/* The summed power of an entry in so many harmonics: its own, or that of equal sigma. */
static double sift_power_as(const struct psr_sift_entry *e, int nharm)
{
    return e->nharm == nharm ? e->power : psr_sift_power_of(e->sigma, nharm);
}

/* --- the verdict ------------------------------------------------------------------------------ */

/* A DM is rejected by so much of chi-squared, and by this share of the power, which levels of noise are not
 * better known than. */
static const double REJECT_CHI2 = 16, LEVEL_SHARE = 0.02;

/* Standard deviations beyond which a power is not as expected. */
static const double REJECT_SIGMA = 4;

/* A pulse of a part of the band keeps more of its power at a wrong DM; interference is in less than this part. */
static const double NARROW_PART = 0.25;

/* Of a power that is found from its sigma. */
static const double ROUNDING = 1e-9;

/* Sigmas of the best hits: at the lowest DM that was searched, up to low_dm_cutoff, above it. */
struct sigmas {
    double first, low, high;
    bool seen; /* at the first DM */
};

static struct sigmas find_sigmas(const struct psr_sift *s, size_t id)
{
    const double unseen = psr_sift_unseen(s);
    struct sigmas found = {unseen, unseen, unseen, false};
    for (; id != PSR_SIFT_NONE; id = s->all.entry[id].next) {
        const struct psr_sift_entry *h = &s->all.entry[id];
        const struct psr_sift_list *list = &s->list[h->list];
        double *to = list->dm <= s->d.low_dm_cutoff ? &found.low : &found.high;
        *to = fmax(*to, h->sigma);
        if (s->ndm && list->dm_key == s->dm_key[0]) {
            found.first = found.seen ? fmax(found.first, h->sigma) : h->sigma;
            found.seen = true;
        }
    }
    return found;
}

static double limit_of(double power)
{
    return REJECT_CHI2 + 2 * LEVEL_SHARE * power;
}

/* Share of the DMs that were searched: from the lowest to the highest hit that fits as well as its own. */
static double find_share_that_fits(const struct psr_sift *s, const struct psr_sift_entry *e)
{
    if (s->ndm < 2)
        return 1;
    const double all = (double)(s->dm_key[s->ndm - 1] - s->dm_key[0]);
    int64_t low = s->list[e->list].dm_key, high = low;
    for (const struct psr_sift_entry *h = e; h->next != PSR_SIFT_NONE;) {
        h = &s->all.entry[h->next];
        const int64_t key = s->list[h->list].dm_key;
        if (2 * (e->power - sift_power_as(h, e->nharm)) <= limit_of(e->power)) {
            low = key < low ? key : low;
            high = key > high ? key : high;
        }
    }
    return fmax((double)(high - low) / all, 1 / (double)s->ndm);
}

/* Whether the first DM has more power than a dispersed signal in a part of the band would have left there. */
static bool is_too_strong(const struct psr_sift *s, const struct psr_sift_entry *e, double first)
{
    const struct psr_sift_list *list = &s->list[e->list];
    const struct psr_sift_power left =
        sift_curve_expect(&list->band, e->f, s->all.power + e->harm, e->nharm,
                          list->dm - (double)s->dm_key[0] / PSR_SIFT_KEYS_PER_DM, NARROW_PART);
    return first > left.sum + REJECT_SIGMA * sqrt(left.var) + LEVEL_SHARE * e->power;
}

void psr_sift_compare_dms(struct psr_sift *s, size_t id)
{
    struct psr_sift_entry *e = &s->all.entry[id];
    const struct sigmas sigma = find_sigmas(s, id);
    const double first = fmin(psr_sift_power_of(sigma.first, e->nharm), e->power),
                 low = psr_sift_power_of(sigma.low, e->nharm),
                 high = psr_sift_power_of(sigma.high, e->nharm), limit = limit_of(e->power);
    const bool tested = psr_sift_searched_both(s);
    e->dm0_chi2 = 2 * (e->power - first);
    e->dm_share = find_share_that_fits(s, e);
    e->flat_fits = e->power - first < REJECT_SIGMA * sqrt(e->power + first);
    e->verdict = e->dm0_chi2 > limit ? PSR_SIFT_DISPERSED : PSR_SIFT_UNDETERMINED;
    if (tested && ((e->dm0_chi2 <= limit && 2 * (low - high) > limit) ||
                   (sigma.seen && e->flat_fits && is_too_strong(s, e, first))))
        e->verdict = PSR_SIFT_UNDISPERSED;
}

static bool is_expected(const struct psr_sift *s, const struct psr_sift_entry *e, int64_t place,
                        double least)
{
    const struct psr_sift_list *list = &s->list[e->list];
    if (place < 0 || place >= (int64_t)s->ndm)
        return false;
    const struct psr_sift_power p =
        sift_curve_expect(&list->band, e->f, s->all.power + e->harm, e->nharm,
                          (double)(s->dm_key[place] - list->dm_key) / PSR_SIFT_KEYS_PER_DM, 1);
    return p.sum - REJECT_SIGMA * sqrt(p.var) >= least * (1 - ROUNDING);
}

int64_t psr_sift_expect_dms(const struct psr_sift *s, const struct psr_sift_entry *e, int64_t place,
                            int64_t most)
{
    const double least = psr_sift_power_of(psr_sift_unseen(s), e->nharm);
    int64_t n = 1;
    for (int64_t k = place - 1; n < most && is_expected(s, e, k, least); k--)
        n++;
    for (int64_t k = place + 1; n < most && is_expected(s, e, k, least); k++)
        n++;
    return n;
}

/* The most power that e has in any list of a DM; 0 if it is not seen there. */
static double power_at(const struct psr_sift *s, const struct psr_sift_entry *e, int64_t dm_key)
{
    double power = 0;
    for (const struct psr_sift_entry *h = e;; h = &s->all.entry[h->next]) {
        if (s->list[h->list].dm_key == dm_key)
            power = fmax(power, sift_power_as(h, e->nharm));
        if (h->next == PSR_SIFT_NONE)
            return power;
    }
}

/* Whether the DM of b fits a far worse than its own, and a is not seen in b's list, or no stronger. */
static bool rejects_dm_of(const struct psr_sift *s, const struct psr_sift_entry *a,
                          const struct psr_sift_entry *b)
{
    const double least = psr_sift_power_of(b->sigma, a->nharm);
    return power_at(s, a, s->list[b->list].dm_key) <= least &&
           2 * (a->power - least) > limit_of(a->power);
}

/* Whether b is seen at the DM of a and fits it as well as its own. */
static bool fits_dm_of(const struct psr_sift *s, const struct psr_sift_entry *b,
                       const struct psr_sift_entry *a)
{
    const double power = power_at(s, b, s->list[a->list].dm_key);
    return power > 0 && 2 * (b->power - power) <= limit_of(b->power);
}

/* Lines of interference have power at other DMs each, and ratios of small numbers; others agree by chance, too. */
enum { SIMPLE_RATIO = 7 };

bool psr_sift_may_explain(const struct psr_sift *s, const struct psr_sift_entry *a,
                          const struct psr_sift_entry *b, int numer, int denom)
{
    if (s->d.presto)
        return true;
    if (psr_sift_is_no_fold_of_hum(s, a, b))
        return false;
    if (a->lines == PSR_SIFT_OF_LINES && b->lines == PSR_SIFT_BESIDE_LINES)
        return false;
    if (b->verdict != PSR_SIFT_DISPERSED)
        return true;
    if (a->verdict == PSR_SIFT_DISPERSED ? numer + denom <= SIMPLE_RATIO : !psr_sift_is_off_dm0(b))
        return true;
    return a->verdict != PSR_SIFT_UNDISPERSED && (!rejects_dm_of(s, a, b) || fits_dm_of(s, b, a));
}
