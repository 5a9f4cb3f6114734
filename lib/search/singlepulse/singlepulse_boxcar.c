/* Boxcars of all widths over a flattened series, each from two narrower ones. */
#include "singlepulse_internal.h"

#include <math.h>

/* --- masks of a stream: blanks samples, and drops those that are no longer needed ------------- */

/* Samples [from, to) of n. */
static void blank(float *x, size_t n, int64_t from, int64_t to)
{
    for (int64_t j = from > 0 ? from : 0; j < to && j < (int64_t)n; j++)
        x[j] = NAN;
}

void psr_pulse_blank(const struct psr_singlepulse *p, size_t i, int64_t pos, float *x, size_t n)
{
    const int64_t sweep = (int64_t)p->sweep[i];
    for (size_t s = 0; s < p->nmask; s++) {
        const int64_t from = p->mask[s].first - pos, to = from + p->mask[s].count;
        if (p->late)
            blank(x, n, from, to + sweep);
        else
            blank(x, n, from - sweep, to);
    }
    if (p->late)
        blank(x, n, 0, sweep - pos);
}

void psr_pulse_forget_masks(struct psr_singlepulse *p)
{
    const int64_t reach = p->late ? (int64_t)p->maxsweep : 0;
    size_t kept = 0;
    for (size_t s = 0; s < p->nmask; s++)
        if (p->mask[s].first + p->mask[s].count + reach > p->pos)
            p->mask[kept++] = p->mask[s];
    p->nmask = kept;
}

/* --- boxcars of all widths over a flattened series, each from two narrower ones --------------- */

#define RECIPE(width, a, b, searched) {width, a, b, searched},
static const struct recipe {
    int32_t width, a, b;
    bool searched;
} recipes[PULSE_SUMS] = {{1, 0, 0, true}, PULSE_RECIPES(RECIPE)};

size_t psr_pulse_width_at_most(double limit)
{
    int32_t widest = 1;
    for (int i = 0; i < PULSE_SUMS; i++)
        if (recipes[i].searched && recipes[i].width <= limit)
            widest = recipes[i].width;
    return (size_t)widest;
}

PSR_CLONES
static void add_sums(float *restrict out, const float *a, const float *b, size_t n)
{
    for (size_t j = 0; j < n; j++)
        out[j] = a[j] + b[j];
}

enum { MANY = 32 };

/* The greatest of x [n] and 0. */
PSR_CLONES
static float find_most(const float *x, size_t n)
{
    float most[MANY] = {0}, found = 0;
    size_t j = 0;
    for (; j + MANY <= n; j += MANY)
        for (size_t l = 0; l < MANY; l++)
            most[l] = x[j + l] > most[l] ? x[j + l] : most[l];
    for (size_t l = 0; l < MANY; l++)
        found = most[l] > found ? most[l] : found;
    for (; j < n; j++)
        found = x[j] > found ? x[j] : found;
    return found;
}

static int find_recipe(int32_t width)
{
    int i = 0;
    while (recipes[i].width != width)
        i++;
    return i;
}

int psr_pulse_sums(struct pulse_sum sum[PULSE_WIDTHS], const float *z, size_t m, size_t maxwidth,
                   float *work)
{
    const float *at[PULSE_SUMS] = {z};
    int n = 0;
    sum[n++] = (struct pulse_sum){1, z};
    for (int i = 1; i < PULSE_SUMS && (size_t)recipes[i].width <= maxwidth; i++) {
        const struct recipe *r = &recipes[i];
        float *out = work + (size_t)(i - 1) * m;
        at[i] = out;
        if (m >= (size_t)r->width)
            add_sums(out, at[find_recipe(r->a)], at[find_recipe(r->b)] + r->a,
                     m - (size_t)r->width + 1);
        if (r->searched)
            sum[n++] = (struct pulse_sum){r->width, out};
    }
    return n;
}

void psr_pulse_add_up(struct pulse_figures *f, const struct pulse_scale *s, const float *flat,
                      size_t from, size_t n, float *work)
{
    struct pulse_sum sum[PULSE_WIDTHS];
    size_t carry = (size_t)s->maxwidth - 1;
    int nwidth = psr_pulse_sums(sum, flat, carry + n, (size_t)s->maxwidth, work);
    for (int c = 0; c < PULSE_COLUMNS; c++)
        f->most[c] = 0;
    for (int c = 0; c < nwidth; c++) {
        const float *first = sum[c].sum + carry + 1 - sum[c].width;
        f->most[c] = find_most(first, n);
        /* The boxcars that samples [from, from + n) of the piece give to the scatter of column
         * c; first: of the first sum that ends in them. */
        float unit = s->unit[f->length][c];
        for (int d = 0; d < PULSE_DRAWS; d++) {
            size_t end = (size_t)s->step * (size_t)(d + 1) - 1;
            if (end >= from)
                f->draw[d][c] = end < from + n ? first[end - from] * unit : NAN;
        }
    }
}
