/* Marks results: known pulsars, and what looks like interference. */
#include "sift_state.h"

#include "astro/barycentre.h"
#include "stats/stats.h"
#include <math.h>
#include <psrkit/signif.h>
#include <stdlib.h>
#include <string.h>

/* --- recognises known pulsars: by period or a harmonic of it, DM and position ----------------- */

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

/* Velocity of the telescope towards the source over c during a list.
 * Returned: whether position, epoch and telescope are known */
static bool sift_velocity(const struct psr_inf *inf, double tobs_s, double *v)
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
    if (sift_velocity(inf, c->tobs_s, &v))
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

/* --- marks results that look like interference ------------------------------------------------ */

PSR_COMPARE(by_frequency, struct psr_bird, PSR_RISING(freq_hz));

psr_status psr_sift_sort_lines(struct psr_sift *s, psr_err *err)
{
    const struct psr_zaplist *l = s->d.lines;
    if (!l || s->d.presto)
        return PSR_OK;
    s->line = malloc((l->n + 1) * sizeof *s->line);
    if (!s->line)
        return psr_fail_nomem(err, "lines", (double)l->n * sizeof *s->line);
    for (size_t i = 0; i < l->n; i++) {
        s->line[i] = l->bird[i];
        s->line_width_hz = fmax(s->line_width_hz, l->bird[i].width_hz);
    }
    s->nline = l->n;
    qsort(s->line, s->nline, sizeof *s->line, by_frequency);
    return PSR_OK;
}

/* Whether a harmonic of that power is at a line, of half a bin at least, that is as strong.
 * Given: unknown   what of a line whose power is not known */
static bool is_at_line(const struct psr_sift *s, double f_hz, double half_bin_hz, double power,
                       bool unknown)
{
    const double reach = s->line_width_hz / 2 + half_bin_hz;
    size_t low = 0, high = s->nline;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (s->line[middle].freq_hz < f_hz - reach)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < s->nline && s->line[low].freq_hz <= f_hz + reach; low++) {
        const struct psr_bird *b = &s->line[low];
        if (fabs(b->freq_hz - f_hz) <= fmax(b->width_hz / 2, half_bin_hz) &&
            (b->power <= 0 ? unknown : b->power >= power))
            return true;
    }
    return false;
}

double psr_sift_topo_scale(const struct psr_sift *s, const struct psr_sift_list *list)
{
    double v = s->d.baryv;
    if (!list->inf || !list->inf->barycentric)
        return 1;
    if (v != 0 || sift_velocity(list->inf, list->tobs_s, &v))
        return 1 / (1 + v);
    return 1;
}

/* A line stands for interference if it is stronger than the candidate by so many standard deviations: a pulse that is not much
 * shorter than its sweep is a line of almost its power at DM 0 itself. */
static const double LINE_SIGMA = 4;

/* The power of a line that speaks against a candidate of this power. */
static double find_least_power(double power)
{
    const double square = LINE_SIGMA * LINE_SIGMA;
    return power + square / 2 + sqrt(square * (square / 4 + 2 * power));
}

/* Lines cover much of a band in which a radar turns: a pulse of many harmonics has one there by chance.  What has its
 * power off all lines is none of them. */
static const double OFF_SHARE = 0.75;

static bool is_significant(double power, int nharm)
{
    return nharm && psr_gauss_sigma(psr_chi2_logp(2 * power, 2.0 * nharm)) >= psr_sift_sure_sigma;
}

enum psr_sift_lines psr_sift_leave_lines_out(const struct psr_sift *s,
                                             const struct psr_sift_list *list, double scale,
                                             struct psr_accel_row *row, double *room)
{
    const double f_hz = row->r / list->tobs_s * scale, half_bin_hz = 0.5 / list->tobs_s;
    double off = 0, all = 0;
    int n = 0;
    int64_t divisor = 0;
    for (int h = 0; h < row->nharm; h++) {
        const double power = row->harm_power[h];
        const bool at_line =
            s->nline && is_at_line(s, f_hz * (h + 1), half_bin_hz, find_least_power(power), false);
        room[h] = at_line ? 1 : power;
        all += power;
        off += at_line ? 0 : power;
        n += !at_line;
        divisor = at_line ? psr_common_divisor(h + 1, divisor) : divisor;
    }
    if (divisor < 2 || off >= OFF_SHARE * all)
        return PSR_SIFT_NO_LINES;
    if (!is_significant(off, n))
        return PSR_SIFT_OF_LINES;
    row->harm_power = room;
    return PSR_SIFT_BESIDE_LINES;
}

static bool is_off_lines(const struct psr_sift *s, const struct psr_sift_entry *e, double f_hz,
                         double half_bin_hz)
{
    const float *power = s->all.power + e->harm;
    double off = 0, all = 0;
    int n = 0;
    for (int h = 0; h < e->nharm; h++) {
        all += (double)power[h];
        if (is_at_line(s, f_hz * (h + 1), half_bin_hz, 0, true))
            continue;
        off += (double)power[h];
        n++;
    }
    return off >= OFF_SHARE * all && is_significant(off, n);
}

/* A line of power P that is folded over k of its periods, and seen in one, has an S/N of sqrt(2 P / k) at most: whether one
 * has that of a fold, of which k are no shorter than the pulse. */
static bool is_folded_line(const struct psr_sift *s, const struct psr_sift_entry *e, double f_hz,
                           double half_bin_hz)
{
    const int most = (int)(e->nharm / psr_sift_fold_share);
    for (int k = 2; k <= most && e->folded; k++)
        if (is_at_line(s, k * f_hz, half_bin_hz, k * e->snr * e->snr / 2, false))
            return true;
    return false;
}

static bool is_line(const struct psr_sift *s, const struct psr_sift_entry *e)
{
    const struct psr_sift_list *list = &s->list[e->list];
    if (!s->nline)
        return false;
    const double f_hz = e->f * psr_sift_topo_scale(s, list), half_bin_hz = 0.5 / list->tobs_s;
    const bool undispersed = e->verdict == PSR_SIFT_UNDISPERSED;
    const double own[] = {(double)e->first_power, (double)e->best_power};
    const double first = undispersed ? own[0] : find_least_power(own[0]),
                 best = undispersed ? own[1] : find_least_power(own[1]);
    return is_at_line(s, f_hz, half_bin_hz, first, true) ||
           (is_at_line(s, f_hz * e->best, half_bin_hz, best, true) &&
            !is_off_lines(s, e, f_hz, half_bin_hz)) ||
           is_folded_line(s, e, f_hz, half_bin_hz);
}

/* Red noise rises as steeply as it likes over so few bins. */
static const double LEAST_TURNS = 3;

void psr_sift_mark(const struct psr_sift *s, const struct psr_sift_entry *e,
                   struct psr_sift_cand *cand)
{
    if (s->d.presto)
        return;
    const bool not_line = psr_sift_is_off_dm0(e) && e->lines != PSR_SIFT_OF_LINES;
    cand->marks = (!not_line && is_line(s, e)) || psr_sift_is_hum(s, e) ? PSR_SIFT_LINE : 0U;
    if (e->f * s->list[e->list].tobs_s < LEAST_TURNS)
        cand->marks |= PSR_SIFT_FEW_TURNS;
    if (e->verdict == PSR_SIFT_UNDISPERSED)
        cand->marks |= PSR_SIFT_DM0;
    if (e->verdict == PSR_SIFT_UNDETERMINED)
        cand->marks |= PSR_SIFT_DM_UNKNOWN;
}

static bool is_word(const char *text, size_t n, const char *word)
{
    return n == strlen(word) && !strncmp(text, word, n);
}

bool psr_sift_marks_count(const char *marks)
{
    while (*marks) {
        const size_t n = strcspn(marks, ",+");
        if (n && !is_word(marks, n, "-") && !is_word(marks, n, "dm?") && !is_word(marks, n, "clip"))
            return true;
        marks += n + (marks[n] != '\0');
    }
    return false;
}
