/* Finds bright lines, and takes their responses out of the hits around them. */
#include "accel_lines.h"
#include "direct.h"
#include "peaks.h"
#include "response.h"
#include "simplex.h"
#include "template_plans.h"

#include <psrkit/tool.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* BRIGHT: a line's power over the cut; AT: bins from a line within which a power is its own; BEYOND:
 * bins that responses are followed further than the widest template; WIDE: bins around a line that
 * its frequency is measured from. */
enum { BRIGHT = 4, MOST_LINES = 1024, AT = 2, BEYOND = 16, WIDE = 48, NEAR = 8 };
static const double MOST_LEFT = 0.05, MOST_SHARE = 0.5;
static const double UNIT[PSR_SIMPLEX_MOST] = {0.5, 2, 20}, STEP = 0.4, TOLERANCE = 1e-5;

struct line {
    double r, z, w, power;
    int64_t first;
    size_t n;
    float *re, *im; /* [n] its part of bins first .. */
};

struct psr_accel_lines {
    const struct psr_accel_search *s;
    int reach; /* of the widest template */
    struct psr_response_maker *maker;
    struct line *line; /* [n] */
    size_t n, room;
};

static void forget(struct psr_accel_lines *lines)
{
    for (size_t k = 0; k < lines->n; k++)
        free(lines->line[k].re);
    lines->n = 0;
}

psr_status psr_accel_lines_create(struct psr_accel_lines **out, const struct psr_accel_search *s,
                                  psr_err *err)
{
    struct psr_accel_lines *lines = calloc(1, sizeof *lines);
    *out = lines;
    if (!lines)
        return psr_fail_nomem(err, "lines", sizeof *lines);
    lines->s = s;
    lines->reach = psr_template_reach(s->jmax, s->lmax);
    psr_status st = psr_response_maker_create(&lines->maker, err);
    if (st) {
        psr_accel_lines_destroy(lines);
        *out = NULL;
    }
    return st;
}

void psr_accel_lines_destroy(struct psr_accel_lines *lines)
{
    if (!lines)
        return;
    forget(lines);
    psr_response_maker_destroy(lines->maker);
    free(lines->line);
    free(lines);
}

/* --- bins ------------------------------------------------------------------------------------- */

static void subtract(const struct line *line, int64_t first, size_t n, struct psr_split x)
{
    int64_t from = line->first > first ? line->first : first;
    int64_t end = line->first + (int64_t)line->n, last = first + (int64_t)n;
    for (end = end < last ? end : last; from < end; from++) {
        x.re[from - first] -= line->re[from - line->first];
        x.im[from - first] -= line->im[from - line->first];
    }
}

void psr_accel_lines_clean(const struct psr_accel_lines *lines, double r, int64_t first, size_t n,
                           struct psr_split x)
{
    for (size_t k = 0; k < lines->n; k++)
        if (fabs(lines->line[k].r - r) > AT)
            subtract(&lines->line[k], first, n, x);
}

/* --- one line --------------------------------------------------------------------------------- */

struct fit {
    const struct psr_accel_search *s;
    const struct psr_accel_template *around;
    double r, z, w;
};

static double minus_power(void *ctx, const double *x)
{
    const struct fit *f = ctx;
    const double w = f->s->lmax > 0 ? f->w + UNIT[2] * x[2] : 0;
    return -psr_accel_template_power(f->around, f->r + UNIT[0] * x[0], f->z + UNIT[1] * x[1], w);
}

/* Bins without the lines that are known. */
static void load(const struct psr_accel_lines *lines, const struct psr_accel_normalise *norm,
                 int64_t first, size_t n, struct psr_split x)
{
    psr_accel_normalise_load(norm, first, n, x);
    for (size_t k = 0; k < lines->n; k++)
        subtract(&lines->line[k], first, n, x);
}

/* Moves r, z and w to the highest power. */
static psr_status fit_line(const struct psr_accel_lines *lines,
                           const struct psr_accel_normalise *norm, struct line *line, psr_err *err)
{
    const struct psr_accel_search *s = lines->s;
    const int half =
        psr_response_halfwidth(fabs(line->z) + UNIT[1], fabs(line->w) + UNIT[2], false);
    const size_t n = 2 * (size_t)(half + WIDE);
    const int64_t first = (int64_t)floor(line->r) - half - WIDE;
    float *x = malloc(4 * n * sizeof *x);
    if (!x)
        return psr_fail_nomem(err, "a line's bins", 16.0 * (double)n);
    const struct psr_split bin = {x + 2 * n, x + 3 * n};
    load(lines, norm, first, n, bin);
    for (size_t i = 0; i < n; i++) {
        x[2 * i] = bin.re[i];
        x[2 * i + 1] = bin.im[i];
    }
    psr_accel_template *around;
    psr_status st = psr_accel_template_make(&around, s->plans, x, first, n, err);
    free(x);
    if (st)
        return st;
    double at[PSR_SIMPLEX_MOST] = {0};
    struct fit fit = {s, around, line->r, line->z, line->w};
    const struct psr_simplex f = {minus_power, &fit, s->lmax > 0 ? 3 : 2};
    psr_simplex_descend(&f, at, STEP, TOLERANCE);
    line->r += UNIT[0] * at[0];
    line->z += UNIT[1] * at[1];
    line->w = s->lmax > 0 ? line->w + UNIT[2] * at[2] : 0;
    psr_accel_template_destroy(around);
    return PSR_OK;
}

/* The line's part of its bins, at amplitude 1: its response over the level of each bin. */
static psr_status make_response(struct psr_accel_lines *lines,
                                const struct psr_accel_normalise *norm, struct line *line,
                                psr_err *err)
{
    const size_t n = line->n;
    float complex *k = malloc(n * sizeof *k);
    line->re = malloc(2 * n * sizeof *line->re);
    line->im = line->re + n;
    psr_status st = k && line->re ? PSR_OK : psr_fail_nomem(err, "a line", 16.0 * (double)n);
    if (!st)
        st = psr_response_make(lines->maker, line->z, line->w, (double)line->first - line->r, 1, n,
                               k, err);
    if (!st)
        psr_accel_normalise_scale(norm, line->first, n, line->im);
    const float level = sqrtf((float)psr_accel_normalise_at(norm, (int64_t)rint(line->r)));
    for (size_t i = 0; i < n && !st; i++) {
        const float scale = level * line->im[i];
        line->re[i] = crealf(k[i]) * scale;
        line->im[i] = cimagf(k[i]) * scale;
    }
    free(k);
    return st;
}

/* Gives a line the amplitude of least squares.
 * Returned: whether little of its power is left around it */
static bool scale_response(struct line *line, struct psr_split x)
{
    double re = 0, im = 0, own = 0, left = 0;
    const double near = NEAR + fabs(line->z) / 2 + fabs(line->w) / 12;
    int count = 0;
    for (size_t i = 0; i < line->n; i++) {
        const double kr = (double)line->re[i], ki = (double)line->im[i];
        re += (double)x.re[i] * kr + (double)x.im[i] * ki;
        im += (double)x.im[i] * kr - (double)x.re[i] * ki;
        own += kr * kr + ki * ki;
    }
    re = own > 0 ? re / own : 0;
    im = own > 0 ? im / own : 0;
    for (size_t i = 0; i < line->n; i++) {
        const double kr = (double)line->re[i], ki = (double)line->im[i];
        line->re[i] = (float)(re * kr - im * ki);
        line->im[i] = (float)(re * ki + im * kr);
        if (fabs((double)(line->first + (int64_t)i) - line->r) <= near) {
            left += pow((double)(x.re[i] - line->re[i]), 2);
            left += pow((double)(x.im[i] - line->im[i]), 2);
            count++;
        }
    }
    line->power = own * (re * re + im * im);
    return left <= count + 4 * sqrt(count) + MOST_LEFT * line->power;
}

/* --- what hits have without it ---------------------------------------------------------------- */

/* Hits by stage and frequency. */
struct hits {
    struct psr_accel_hit *hit;
    size_t first[PSR_ACCELSEARCH_NSTAGE + 1]; /* of each stage */
    double *own;                              /* [n] power without lines */
};

static int by_place(const void *pa, const void *pb)
{
    const struct psr_accel_hit *a = pa, *b = pb;
    if (a->stage != b->stage)
        return a->stage < b->stage ? -1 : 1;
    return (a->i > b->i) - (a->i < b->i);
}

/* The first hit of a stage at half bin i or above. */
static size_t find_hit(const struct hits *h, int stage, double i)
{
    size_t lo = h->first[stage], hi = h->first[stage + 1];
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if ((double)h->hit[mid].i < i)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Bins around a line, with it and without. */
struct pair {
    const struct psr_template_bank *bank;
    struct psr_direct with, without;
    double r;
    int away; /* bins up to which places change */
};

/* Changes the power of a hit by what harmonic h of H has from the line. */
static void change_hit(const struct pair *p, const struct psr_accel_hit *hit, int h, double *own)
{
    const int H = 1 << hit->stage;
    const int64_t i = psr_harmonic_bin(hit->i, h, H);
    const double away = fabs(0.5 * (double)i - p->r);
    if (away <= AT || away > p->away)
        return;
    const size_t t =
        psr_template_number(p->bank->jmax, p->bank->lmax, psr_harmonic_step(hit->j, h, H),
                            psr_harmonic_step(hit->l, h, H));
    *own += (double)psr_direct_power(&p->without, p->bank, t, i) -
            (double)psr_direct_power(&p->with, p->bank, t, i);
}

static void change_hits(const struct psr_accel_search *s, const struct pair *p, struct hits *hits)
{
    for (int stage = 0; stage < s->nstage; stage++)
        for (int h = 1; h <= 1 << stage; h++) {
            const double half_bins = 2.0 * (1 << stage) / h;
            size_t k = find_hit(hits, stage, (p->r - p->away - 1) * half_bins);
            const size_t end = find_hit(hits, stage, (p->r + p->away + 1) * half_bins);
            for (; k < end; k++)
                change_hit(p, &hits->hit[k], h, &hits->own[k]);
        }
}

/* --- all lines -------------------------------------------------------------------------------- */

/* Takes a line out of all hits if it is one. */
static psr_status take_line(struct psr_accel_lines *lines, const struct psr_accel_normalise *norm,
                            struct pair *p, struct line *line, struct hits *hits, psr_err *err)
{
    psr_status st = fit_line(lines, norm, line, err);
    p->r = line->r;
    p->away = lines->reach + (int)(fabs(line->z) / 2 + fabs(line->w) / 12) + BEYOND;
    p->with.first = (int64_t)floor(line->r) - p->away - lines->reach - 1;
    line->first = p->with.first;
    line->n = 2 * (size_t)(p->away + lines->reach + 1) + 1;
    if (!st)
        st = make_response(lines, norm, line, err);
    if (!st)
        st = psr_grow(&lines->line, &lines->room, lines->n, sizeof *lines->line, "lines", err);
    const size_t room = line->n + CORRELATE_LANES + 2;
    struct psr_split with = {psr_line_alloc(4 * room), NULL}, without;
    if (!st && !with.re)
        st = psr_fail_nomem(err, "a line's bins", 16.0 * (double)room);
    if (!st) {
        with.im = with.re + room;
        without = (struct psr_split){with.re + 2 * room, with.re + 3 * room};
        load(lines, norm, line->first, room, with);
        memcpy(without.re, with.re, 2 * room * sizeof *with.re);
        p->with = (struct psr_direct){line->first, (int64_t)room, with};
        p->without = (struct psr_direct){line->first, (int64_t)room, without};
        if (scale_response(line, with)) {
            subtract(line, line->first, room, without);
            change_hits(lines->s, p, hits);
        } else
            line->n = 0;
        lines->line[lines->n++] = *line;
        line->re = NULL;
    }
    free(with.re);
    free(line->re);
    return st;
}

/* Whether a place is that of a line, or around what is none. */
static bool is_known(const struct psr_accel_lines *lines, double r)
{
    for (size_t k = 0; k < lines->n; k++) {
        const struct line *line = &lines->line[k];
        if (fabs(line->r - r) <= (line->n ? AT : PSR_ACCEL_CLOSEST + fabs(line->z) / 2))
            return true;
    }
    return false;
}

struct rank {
    float power;
    size_t k;
};

static int brightest_first(const void *pa, const void *pb)
{
    const struct rank *a = pa, *b = pb;
    if (a->power > b->power || a->power < b->power)
        return a->power > b->power ? -1 : 1;
    return (a->k > b->k) - (a->k < b->k);
}

static psr_status take_lines(struct psr_accel_lines *lines, const struct psr_accel_normalise *norm,
                             const struct psr_template_bank *bank, struct hits *hits,
                             const struct rank *rank, size_t n, psr_err *err)
{
    const double least = BRIGHT * (double)lines->s->cut[0];
    psr_status st = PSR_OK;
    for (size_t k = 0; k < n && lines->n < MOST_LINES && !st; k++) {
        const struct psr_accel_hit *hit = &hits->hit[rank[k].k];
        struct line line = {
            .r = 0.5 * (double)hit->i, .z = PSR_STEP_Z * hit->j, .w = PSR_STEP_W * hit->l};
        struct pair p = {.bank = bank};
        if (hits->own[rank[k].k] >= least && !is_known(lines, line.r))
            st = take_line(lines, norm, &p, &line, hits, err);
    }
    return st;
}

/* Drops hits that are a line's. */
static void keep_own(const struct psr_accel_search *s, const struct hits *hits, size_t *n)
{
    size_t kept = 0;
    for (size_t k = 0; k < *n; k++) {
        struct psr_accel_hit hit = hits->hit[k];
        const float own = (float)hits->own[k];
        if (own <= s->cut[hit.stage] || own < MOST_SHARE * hit.power)
            continue;
        hit.power = own;
        hits->hit[kept++] = hit;
    }
    *n = kept;
}

static bool has_bright(const struct psr_accel_hits *hits, float least)
{
    for (size_t k = 0; k < hits->n; k++)
        if (hits->hit[k].stage == 0 && hits->hit[k].power >= least)
            return true;
    return false;
}

static size_t rank_hits(const struct hits *hits, float least, struct rank *rank)
{
    size_t n = 0;
    for (size_t k = 0; k < hits->first[1]; k++)
        if (hits->hit[k].power >= least)
            rank[n++] = (struct rank){hits->hit[k].power, k};
    qsort(rank, n, sizeof *rank, brightest_first);
    return n;
}

psr_status psr_accel_lines_subtract(struct psr_accel_lines *lines,
                                    const struct psr_accel_normalise *norm,
                                    const struct psr_template_bank *bank,
                                    struct psr_accel_hits *all, psr_err *err)
{
    const float least = BRIGHT * lines->s->cut[0];
    struct hits hits = {.hit = all->hit};
    forget(lines);
    if (!has_bright(all, least))
        return PSR_OK;
    qsort(all->hit, all->n, sizeof *all->hit, by_place);
    for (size_t k = 0; k < all->n; k++)
        for (int stage = all->hit[k].stage + 1; stage <= PSR_ACCELSEARCH_NSTAGE; stage++)
            hits.first[stage]++;
    struct rank *rank = malloc((hits.first[1] + 1) * sizeof *rank);
    hits.own = malloc(all->n * sizeof *hits.own);
    psr_status st = rank && hits.own ? PSR_OK : psr_fail_nomem(err, "lines", 24.0 * (double)all->n);
    if (!st) {
        for (size_t k = 0; k < all->n; k++)
            hits.own[k] = (double)all->hit[k].power;
        st = take_lines(lines, norm, bank, &hits, rank, rank_hits(&hits, least, rank), err);
    }
    if (!st)
        keep_own(lines->s, &hits, &all->n);
    free(rank);
    free(hits.own);
    return st;
}
