/* Marks results that look like interference. */
#include "sift_state.h"

#include <psrkit/signif.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_frequency(const void *pa, const void *pb)
{
    const struct psr_bird *a = pa, *b = pb;
    return (a->freq_hz > b->freq_hz) - (a->freq_hz < b->freq_hz);
}

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

/* Frequency at the telescope over that of the list. */
static double find_scale(const struct psr_sift *s, const struct psr_sift_list *list)
{
    double v = s->d.baryv;
    if (!list->inf || !list->inf->barycentric)
        return 1;
    if (v != 0 || psr_sift_velocity(list->inf, list->tobs_s, &v))
        return 1 / (1 + v);
    return 1;
}

/* Lines cover much of a band in which a radar turns: a pulse of many harmonics has one there by chance.  What has its
 * power off all lines is none of them. */
static const double OFF_SHARE = 0.75, OFF_SIGMA = 7;

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
    return n && off >= OFF_SHARE * all &&
           psr_gauss_sigma(psr_chi2_logp(2 * off, 2.0 * n)) >= OFF_SIGMA;
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

/* A line stands for interference if it is stronger than the candidate by so many standard deviations: a pulse that is not much
 * shorter than its sweep is a line of almost its power at DM 0 itself. */
static const double LINE_SIGMA = 4;

/* The power of a line that speaks against a candidate of this power. */
static double find_least_power(const struct psr_sift_entry *e, double power)
{
    const double square = LINE_SIGMA * LINE_SIGMA;
    return e->verdict == PSR_SIFT_UNDISPERSED
               ? power
               : power + square / 2 + sqrt(square * (square / 4 + 2 * power));
}

static bool is_line(const struct psr_sift *s, const struct psr_sift_entry *e)
{
    const struct psr_sift_list *list = &s->list[e->list];
    if (!s->nline)
        return false;
    const double f_hz = e->f * find_scale(s, list), half_bin_hz = 0.5 / list->tobs_s;
    const double first = find_least_power(e, (double)e->first_power),
                 best = find_least_power(e, (double)e->best_power);
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
    cand->marks = is_line(s, e) && !psr_sift_is_off_dm0(e) ? PSR_SIFT_LINE : 0U;
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
