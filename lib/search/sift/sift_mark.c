/* Marks results that look like interference, and moves them behind the others. */
#include "sift_state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the best sigma, what a hit near DM 0 has of a signal that was not dispersed. */
static const double SAME_SHARE = 0.9;

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

/* Whether a harmonic of that power is at a line, of half a bin at least, that is as strong. */
static bool is_at_line(const struct psr_sift *s, double f_hz, double half_bin_hz, double power)
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
            (b->power <= 0 || b->power >= power))
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

static bool is_line(const struct psr_sift *s, const struct psr_sift_entry *e)
{
    const struct psr_sift_list *list = &s->list[e->list];
    if (!s->nline)
        return false;
    const double f_hz = e->f * find_scale(s, list), half_bin_hz = 0.5 / list->tobs_s;
    return is_at_line(s, f_hz, half_bin_hz, (double)e->first_power) ||
           is_at_line(s, f_hz * e->best, half_bin_hz, (double)e->best_power);
}

void psr_sift_mark(const struct psr_sift *s, const struct psr_sift_entry *e,
                   struct psr_sift_cand *cand)
{
    if (s->d.presto)
        return;
    cand->marks = is_line(s, e) ? PSR_SIFT_LINE : 0U;
    for (size_t k = 0; k < cand->nhit && cand->hit[k].dm <= s->d.low_dm_cutoff; k++)
        if (cand->hit[k].sigma >= SAME_SHARE * cand->sigma)
            cand->marks |= PSR_SIFT_DM0;
}

static bool comes_later(const struct psr_sift_cand *c)
{
    return c->marks && !(c->known && c->known_chance <= PSR_SIFT_MOST_CHANCE);
}

psr_status psr_sift_rank(struct psr_sift_cand *cand, size_t n, psr_err *err)
{
    struct psr_sift_cand *later = malloc((n + 1) * sizeof *later);
    size_t nlater = 0, kept = 0;
    if (!later)
        return psr_fail_nomem(err, "results", (double)n * sizeof *later);
    for (size_t i = 0; i < n; i++)
        if (comes_later(&cand[i]))
            later[nlater++] = cand[i];
        else
            cand[kept++] = cand[i];
    memcpy(cand + kept, later, nlater * sizeof *later);
    free(later);
    return PSR_OK;
}

const char *psr_sift_name_marks(char text[PSR_SIFT_MARKS], unsigned marks)
{
    static const char *const name[] = {"line", "dm0"};
    text[0] = '\0';
    for (unsigned k = 0; k < sizeof name / sizeof *name; k++)
        if (marks & 1U << k)
            snprintf(text + strlen(text), PSR_SIFT_MARKS - strlen(text), "%s%s", *text ? "," : "",
                     name[k]);
    return *text ? text : strcpy(text, "-");
}
