/* Fits bright lines, and computes what they add to boxes. */
#include "pulscan_internal.h"

#include "base/tool.h"
#include "search/matched/response/accel_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* MOST_Z: drift of a line; WIDE: bins to both sides that it is fitted to; AT: bins of a line that are
 * its own. */
enum { MOST_LINES = 256, MOST_Z = 32, WIDE = 64, AT = 2, ROOM = 2 * PSR_PULSCAN_LINE_REACH + 1 };
static const double BRIGHT =
    200; /* chi^2 of one bin: a fainter line has no noticeable side lobes */

static void drop(struct psr_pulscan_line *line)
{
    free(line->is.re);
    free(line->adds);
}

static void forget(struct psr_pulscan_lines *lines)
{
    for (size_t k = 0; k < lines->n; k++)
        drop(&lines->line[k]);
    lines->n = 0;
}

psr_status psr_pulscan_lines_create(struct psr_pulscan_lines **out,
                                    const struct psr_pulscan_search *s, psr_err *err)
{
    struct psr_pulscan_lines *lines = calloc(1, sizeof *lines);
    *out = lines;
    if (!lines)
        return psr_fail_nomem(err, "lines", sizeof *lines);
    lines->s = s;
    return psr_response_maker_create(&lines->maker, err);
}

void psr_pulscan_lines_destroy(struct psr_pulscan_lines *lines)
{
    if (!lines)
        return;
    forget(lines);
    psr_response_maker_destroy(lines->maker);
    free(lines->line);
    free(lines);
}

/* --- one line --------------------------------------------------------------------------------- */

/* Finds where the line is, around bin r. */
static psr_status fit(struct psr_line_response *line, float *x, struct psr_split bin, psr_err *err)
{
    const int64_t first = (int64_t)line->r - WIDE;
    const size_t skip = (size_t)(first - line->first);
    psr_accel_template *around;
    struct psr_accel_template_peak peak;
    for (size_t i = 0; i < 2 * WIDE; i++) {
        x[2 * i] = bin.re[skip + i];
        x[2 * i + 1] = bin.im[skip + i];
    }
    psr_status st = psr_accel_template_create(&around, x, first, 2 * WIDE, err);
    if (st)
        return st;
    const double away = MOST_Z / 2 + 1;
    (void)psr_accel_template_search(around, line->r - away, line->r + away, -MOST_Z, MOST_Z, 2,
                                    &peak);
    line->r = peak.r;
    line->z = peak.z;
    psr_line_fit(line, around, false);
    psr_accel_template_destroy(around);
    return PSR_OK;
}

/* Clears what a spectrum does not have. */
static void clear_missing(const struct psr_pulscan_search *s, struct psr_line_response *line)
{
    for (size_t i = 0, z = 0; i < line->n; i++) {
        const int64_t k = line->first + (int64_t)i;
        while (z < s->nzap && k >= s->zap[z].first + s->zap[z].count)
            z++;
        if (k < 1 || k >= (int64_t)s->nbin || (z < s->nzap && k >= s->zap[z].first))
            line->re[i] = line->im[i] = 0;
    }
}

/* Adds the line of a peak, or one without bins where there is none. */
static psr_status add_line(struct psr_pulscan_lines *lines, const struct psr_pulscan_reader *plan,
                           size_t spec, int64_t bin, float *room, psr_err *err)
{
    const struct psr_split x = {room, room + ROOM};
    struct psr_pulscan_line line = {
        .spec = spec,
        .is = {.r = (double)bin, .first = bin - PSR_PULSCAN_LINE_REACH, .n = ROOM},
        .adds = malloc(ROOM * sizeof(float))};
    psr_status st = psr_grow(&lines->line, &lines->room, lines->n, sizeof line, "lines", err);
    if (!st && !line.adds)
        st = psr_fail_nomem(err, "a line", 4.0 * ROOM);
    if (!st) {
        const int64_t first = line.is.first;
        float *alternate = room + 2 * ROOM;
        const int64_t from = first > 1 ? first : 1, nbin = (int64_t)lines->s->nbin;
        const int64_t last = first + (int64_t)ROOM, end = last < nbin ? last : nbin;
        /* Bins around the line, less the lines before it. */
        memset(alternate, 0, 2 * ROOM * sizeof *alternate);
        if (from < end)
            st = plan->ops->amplitudes(plan->state, spec, from, (size_t)(end - from),
                                       alternate + 2 * (from - first), err);
        for (size_t i = 0; i < ROOM && !st; i++) {
            x.re[i] = alternate[2 * i];
            x.im[i] = alternate[2 * i + 1];
        }
        for (size_t k = 0; k < lines->n && !st; k++)
            if (lines->line[k].spec == spec)
                psr_line_subtract(&lines->line[k].is, first, ROOM, x);
    }
    if (!st)
        st = fit(&line.is, room + 2 * ROOM, x, err);
    if (!st)
        st = psr_line_make(&line.is, lines->maker, err);
    if (st) {
        drop(&line);
        return st;
    }
    clear_missing(lines->s, &line.is);
    if (psr_line_scale(&line.is, x, 2)) {
        /* Bins x [n] of a line: what it adds to their powers. */
        for (size_t i = 0; i < line.is.n; i++) {
            const double re = (double)(x.re[i] - line.is.re[i]),
                         im = (double)(x.im[i] - line.is.im[i]);
            line.adds[i] = (float)((double)x.re[i] * (double)x.re[i] +
                                   (double)x.im[i] * (double)x.im[i] - re * re - im * im);
        }
    } else
        line.is.n = 0;
    lines->line[lines->n++] = line;
    return PSR_OK;
}

/* --- all lines -------------------------------------------------------------------------------- */

static double width_of(const struct psr_line_response *line)
{
    return AT + fabs(line->z) / 2;
}

/* Whether a bin is that of a known line, or around what is none. */
static bool is_known(const struct psr_pulscan_lines *lines, size_t spec, double r)
{
    for (size_t k = 0; k < lines->n; k++) {
        const struct psr_line_response *line = &lines->line[k].is;
        const double far = width_of(line) + (line->n ? 0 : PSR_PULSCAN_NEAR);
        if (lines->line[k].spec == spec && fabs(line->r - r) <= far)
            return true;
    }
    return false;
}

/* What lines add to bins first .. first + n - 1. */
static double sum_adds(const struct psr_pulscan_lines *lines, size_t spec, int64_t first, int64_t n)
{
    double sum = 0;
    for (size_t k = 0; k < lines->n; k++) {
        const struct psr_pulscan_line *line = &lines->line[k];
        const int64_t end = line->is.first + (int64_t)line->is.n, last = first + n;
        if (line->spec == spec)
            for (int64_t i = first > line->is.first ? first : line->is.first;
                 i < (last < end ? last : end); i++)
                sum += (double)line->adds[i - line->is.first];
    }
    return sum;
}

PSR_COMPARE(brightest_first, struct psr_pulscan_peak,
            PSR_THEN(PSR_RISING(spec), PSR_THEN(PSR_FALLING(power), PSR_RISING(first))));

/* Bright peaks of one bin.
 * Returned: how many; peak [*n], if not NULL */
static size_t take_bright(const struct psr_pulscan_search *s, const struct psr_pulscan_found *found,
                          struct psr_pulscan_peak *peak)
{
    size_t n = 0;
    for (size_t k = 0; k < found->n; k++) {
        const struct psr_pulscan_peak *p = &found->peak[k];
        if (s->harm[p->harm] != 1 || s->z[p->z] != 0 || (double)p->power < BRIGHT)
            continue;
        if (peak)
            peak[n] = *p;
        n++;
    }
    return n;
}

psr_status psr_pulscan_lines_find(struct psr_pulscan_lines *lines,
                                  const struct psr_pulscan_reader *plan,
                                  const struct psr_pulscan_found *found, psr_err *err)
{
    const size_t n = take_bright(lines->s, found, NULL);
    forget(lines);
    if (n == 0)
        return PSR_OK;
    struct psr_pulscan_peak *peak = malloc(n * sizeof *peak);
    float *room = malloc(4 * ROOM * sizeof *room);
    psr_status st =
        peak && room ? PSR_OK : psr_fail_nomem(err, "lines", 24.0 * (double)n + 16.0 * ROOM);
    if (!st) {
        (void)take_bright(lines->s, found, peak);
        qsort(peak, n, sizeof *peak, brightest_first);
    }
    for (size_t k = 0, of_spec = 0; k < n && !st; k++) {
        const struct psr_pulscan_peak *p = &peak[k];
        of_spec = k > 0 && p->spec == p[-1].spec ? of_spec : 0;
        if (of_spec == MOST_LINES || is_known(lines, p->spec, (double)p->first) ||
            (double)p->power - sum_adds(lines, p->spec, p->first, 1) < BRIGHT)
            continue;
        st = add_line(lines, plan, p->spec, p->first, room, err);
        of_spec++;
    }
    free(peak);
    free(room);
    return st;
}

/* --- boxes ------------------------------------------------------------------------------------ */

int64_t psr_pulscan_lines_in(const struct psr_pulscan_lines *lines, size_t spec, double lo,
                             double hi)
{
    for (size_t k = 0; k < lines->n; k++) {
        const struct psr_line_response *line = &lines->line[k].is;
        const double wide = width_of(line);
        if (lines->line[k].spec == spec && line->n && line->r + wide >= lo && line->r - wide <= hi)
            return (int64_t)k;
    }
    return -1;
}

struct psr_span psr_pulscan_lines_bins(const struct psr_pulscan_line *line)
{
    const int64_t first = (int64_t)ceil(line->is.r - width_of(&line->is));
    return (struct psr_span){first, (int64_t)floor(line->is.r + width_of(&line->is)) - first + 1};
}

bool psr_pulscan_lines_apart(const struct psr_pulscan_lines *lines, size_t spec,
                             const struct psr_pulscan_hit *box, double *power)
{
    const double noise = psr_pulscan_dof(box->nharm, box->z);
    *power = (double)box->power;
    for (int h = 1; h <= box->nharm && lines->n; h++)
        *power -= sum_adds(lines, spec, h * box->first, (int64_t)h * (box->z + 1));
    return *power - noise >= 0.5 * ((double)box->power - noise);
}
