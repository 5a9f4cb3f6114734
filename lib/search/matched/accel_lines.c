/* Finds bright lines, and takes their responses out of the hits around them. */
#include "accel_plan.h"
#include "peaks.h"
#include "search/matched/response/accel_internal.h"
#include "search/matched/response/response.h"

#include "base/tool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* BRIGHT: a line's power over the cut; AT: bins from a line within which a power is its own; BEYOND:
 * bins that a response is followed further than the widest template; WIDE: bins around a line that
 * its frequency is measured from. */
enum { BRIGHT = 4, MOST_LINES = 1024, AT = 2, BEYOND = 16, WIDE = 48 };
static const double MOST_SHARE = 0.5;

struct psr_accel_lines {
    const struct psr_accel_search *s;
    int reach; /* of the widest template */
    struct psr_response_maker *maker;
    struct psr_line_response *line; /* [n] */
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

void psr_accel_lines_clean(const struct psr_accel_lines *lines, double r, int64_t first, size_t n,
                           struct psr_split x)
{
    for (size_t k = 0; k < lines->n; k++)
        if (fabs(lines->line[k].r - r) > AT)
            psr_line_subtract(&lines->line[k], first, n, x);
}

bool psr_accel_lines_have(const struct psr_accel_lines *lines, double r)
{
    for (size_t k = 0; k < lines->n; k++)
        if (fabs(lines->line[k].r - r) <= AT)
            return true;
    return false;
}

/* --- one line --------------------------------------------------------------------------------- */

/* Bins without the lines that are known. */
static void load(const struct psr_accel_lines *lines, const struct psr_accel_normalise *norm,
                 int64_t first, size_t n, struct psr_split x)
{
    psr_accel_normalise_load(norm, first, n, x);
    for (size_t k = 0; k < lines->n; k++)
        psr_line_subtract(&lines->line[k], first, n, x);
}

/* Moves r, z and w to the highest power. */
static psr_status fit_line(const struct psr_accel_lines *lines,
                           const struct psr_accel_normalise *norm, struct psr_line_response *line,
                           psr_err *err)
{
    const struct psr_accel_search *s = lines->s;
    const int half = psr_response_halfwidth(fabs(line->z) + 2, fabs(line->w) + 20, false);
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
    psr_line_fit(line, around, s->lmax > 0);
    psr_accel_template_destroy(around);
    return PSR_OK;
}

/* With the levels that its bins are divided by. */
static psr_status make_response(struct psr_accel_lines *lines,
                                const struct psr_accel_normalise *norm,
                                struct psr_line_response *line, psr_err *err)
{
    const float level = sqrtf((float)psr_accel_normalise_at(norm, (int64_t)rint(line->r)));
    float *scale = malloc(line->n * sizeof *scale);
    if (!scale)
        return psr_fail_nomem(err, "a line", 4.0 * (double)line->n);
    psr_accel_normalise_scale(norm, line->first, line->n, scale);
    psr_status st = psr_line_make(line, lines->maker, err);
    for (size_t i = 0; i < line->n && !st; i++) {
        line->re[i] *= level * scale[i];
        line->im[i] *= level * scale[i];
    }
    free(scale);
    return st;
}

/* --- what hits have without it ---------------------------------------------------------------- */

/* Hits by stage and frequency. */
struct hits {
    struct psr_accel_hit *hit;
    size_t first[PSR_ACCELSEARCH_NSTAGE + 1]; /* of each stage */
    double *own;                              /* [n] power without lines */
};

PSR_COMPARE(by_place, struct psr_accel_hit, PSR_THEN(PSR_RISING(stage), PSR_RISING(i)));

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

/* --- all lines -------------------------------------------------------------------------------- */

/* Takes a line out of all hits if it is one. */
static psr_status take_line(struct psr_accel_lines *lines, const struct psr_accel_normalise *norm,
                            struct pair *p, struct psr_line_response *line, struct hits *hits,
                            psr_err *err)
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
        if (psr_line_scale(line, with, 1)) {
            psr_line_subtract(line, line->first, room, without);
            for (int stage = 0; stage < lines->s->nstage; stage++)
                for (int h = 1; h <= 1 << stage; h++) {
                    const double half_bins = 2.0 * (1 << stage) / h;
                    size_t k = find_hit(hits, stage, (p->r - p->away - 1) * half_bins);
                    const size_t end = find_hit(hits, stage, (p->r + p->away + 1) * half_bins);
                    for (; k < end; k++)
                        change_hit(p, &hits->hit[k], h, &hits->own[k]);
                }
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
        const struct psr_line_response *line = &lines->line[k];
        if (fabs(line->r - r) <= (line->n ? AT : PSR_ACCEL_CLOSEST + fabs(line->z) / 2))
            return true;
    }
    return false;
}

struct rank {
    float power;
    size_t k;
};

PSR_COMPARE(brightest_first, struct rank, PSR_THEN(PSR_FALLING(power), PSR_RISING(k)));

static psr_status take_lines(struct psr_accel_lines *lines, const struct psr_accel_normalise *norm,
                             const struct psr_template_bank *bank, struct hits *hits,
                             const struct rank *rank, size_t n, psr_err *err)
{
    const double least = BRIGHT * (double)lines->s->cut[0];
    psr_status st = PSR_OK;
    for (size_t k = 0; k < n && lines->n < MOST_LINES && !st; k++) {
        const struct psr_accel_hit *hit = &hits->hit[rank[k].k];
        struct psr_line_response line = {
            .r = 0.5 * (double)hit->i, .z = PSR_STEP_Z * hit->j, .w = PSR_STEP_W * hit->l};
        struct pair p = {.bank = bank};
        if (hits->own[rank[k].k] >= least && !is_known(lines, line.r))
            st = take_line(lines, norm, &p, &line, hits, err);
    }
    return st;
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
    if (!st) {
        /* Drops hits that are a line's. */
        size_t kept = 0;
        for (size_t k = 0; k < all->n; k++) {
            struct psr_accel_hit hit = hits.hit[k];
            const float own = (float)hits.own[k];
            if (own <= lines->s->cut[hit.stage] || own < MOST_SHARE * hit.power)
                continue;
            hit.power = own;
            hits.hit[kept++] = hit;
        }
        all->n = kept;
    }
    free(rank);
    free(hits.own);
    return st;
}
