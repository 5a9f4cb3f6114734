/* Recognises known pulsars: by period or a harmonic of it, DM and position. */
#include "sift_state.h"

#include "astro/barycentre.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_HARMONIC = 16 };

/* Relative frequency that may be off: rounding and slow changes; the Earth's motion where the
 * velocity is not known. */
static const double SLACK = 3e-6, EARTH = 1.1e-4;
static const double LN_RANGE = 9.2; /* of frequencies that candidates have: a factor of 10^4 */
static const double DM_OFF = 2, DM_SHARE = 0.1, SECONDS_PER_DAY = 86400;

/* A candidate as seen from the barycentre. */
struct seen {
    double f_hz, slack; /* relative */
    double mjd;         /* 0: not known */
    bool has_position;
    double ra_deg, dec_deg;
};

bool psr_sift_velocity(const struct psr_inf *inf, double tobs_s, double *v)
{
    struct psr_site site;
    struct psr_bary bary;
    if ((inf->ra_deg == 0 && inf->dec_deg == 0) || !inf->has_epoch ||
        !psr_site_find(inf->telescope, &site))
        return false;
    psr_bary_init(&bary, &site, inf->ra_deg, inf->dec_deg);
    return psr_bary_mean_velocity(&bary, inf->epoch, tobs_s, v, NULL) == PSR_OK;
}

static struct seen see(const struct psr_inf *inf, const struct psr_sift_cand *c)
{
    struct seen seen = {.f_hz = c->freq_hz, .slack = SLACK};
    double v = 0;
    seen.has_position = inf->ra_deg != 0 || inf->dec_deg != 0;
    seen.ra_deg = inf->ra_deg;
    seen.dec_deg = inf->dec_deg;
    seen.mjd = inf->has_epoch ? (double)inf->epoch.day + inf->epoch.frac : 0;
    if (inf->barycentric)
        return seen;
    if (psr_sift_velocity(inf, c->tobs_s, &v))
        seen.f_hz *= 1 + v;
    else
        seen.slack = EARTH;
    return seen;
}

static double separation_deg(double ra1, double dec1, double ra2, double dec2)
{
    const double rad = M_PI / 180;
    const double a = sin((dec2 - dec1) * rad / 2), b = sin((ra2 - ra1) * rad / 2);
    const double h = a * a + cos(dec1 * rad) * cos(dec2 * rad) * b * b;
    return 2 * asin(sqrt(h > 1 ? 1 : h)) / rad;
}

static bool is_beside(const struct seen *seen, const struct psr_pulsar *p, double dm,
                      double most_deg)
{
    if (!isnan(p->dm) && !(fabs(dm - p->dm) <= DM_OFF + DM_SHARE * p->dm))
        return false;
    if (!seen->has_position || isnan(p->ra_deg) || isnan(p->dec_deg))
        return true;
    return separation_deg(seen->ra_deg, seen->dec_deg, p->ra_deg, p->dec_deg) <= most_deg;
}

/* The largest velocity on the orbit over c. */
static double orbit_speed(const struct psr_pulsar *p)
{
    if (!(p->pb_d > 0) || !(p->a1_s > 0) || !(p->ecc < 1))
        return 0;
    return 2 * M_PI * p->a1_s / (p->pb_d * SECONDS_PER_DAY) * (1 + p->ecc) /
           sqrt(1 - p->ecc * p->ecc);
}

/* p or q 1, or both at most 5. */
static bool is_ratio(int numer, int denom)
{
    if (numer == 1 || denom == 1)
        return true;
    if (numer > 5 || denom > 5)
        return false;
    for (int k = 2; k <= numer && k <= denom; k++)
        if (numer % k == 0 && denom % k == 0)
            return false;
    return true;
}

/* Relative frequency by which a candidate may be off a pulsar's. */
static double allow(const struct seen *seen, const struct psr_pulsar *p, double error_hz)
{
    return seen->slack + orbit_speed(p) + error_hz / seen->f_hz;
}

/* The ratio p/q of smallest p + q at which the frequencies agree. */
static bool find_ratio(const struct seen *seen, const struct psr_pulsar *p, double error_hz,
                       int ratio[2])
{
    double f0 = p->f0_hz;
    if (seen->mjd > 0 && p->pepoch_mjd > 0)
        f0 += p->f1 * (seen->mjd - p->pepoch_mjd) * SECONDS_PER_DAY;
    const double most = allow(seen, p, error_hz) * seen->f_hz;
    for (int sum = 2; sum <= MOST_HARMONIC + 1; sum++)
        for (int numer = sum - 1; numer >= 1; numer--) {
            const int denom = sum - numer;
            if (!is_ratio(numer, denom) || !(fabs(seen->f_hz - f0 * numer / denom) < most))
                continue;
            ratio[0] = numer;
            ratio[1] = denom;
            return true;
        }
    return false;
}

static int count_ratios(int most_sum)
{
    int n = 0;
    for (int sum = 2; sum <= most_sum; sum++)
        for (int numer = 1; numer < sum; numer++)
            n += is_ratio(numer, sum - numer);
    return n;
}

void psr_sift_identify(const struct psr_sift *s, const struct psr_sift_list *list,
                       struct psr_sift_cand *cand)
{
    const struct psr_catalogue *all = s->d.catalogue;
    const struct seen seen = see(list->inf, cand);
    const double error_hz = s->d.r_err / cand->tobs_s;
    double best_off = INFINITY, width = 0;
    int best_sum = 2 * MOST_HARMONIC;
    for (size_t i = 0; i < all->n; i++) {
        const struct psr_pulsar *p = &all->pulsar[i];
        const double off = isnan(p->dm) ? 1e9 : fabs(cand->dm - p->dm);
        int ratio[2];
        if (!is_beside(&seen, p, cand->dm, s->d.catalogue_deg))
            continue;
        width += 2 * allow(&seen, p, error_hz);
        if (!find_ratio(&seen, p, error_hz, ratio))
            continue;
        const int sum = ratio[0] + ratio[1];
        if (sum > best_sum || (sum == best_sum && off >= best_off))
            continue;
        best_sum = sum;
        best_off = off;
        cand->known = p;
        cand->ratio[0] = ratio[0];
        cand->ratio[1] = ratio[1];
    }
    if (cand->known)
        cand->known_chance = width * count_ratios(best_sum) / LN_RANGE;
}
