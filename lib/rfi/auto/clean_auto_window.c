/* Cleans a window of spectra automatically, and keeps account of it. */
#include "clean_auto_plan.h"

#include "base/tool.h"
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- what is missing of the noise of each channel since when, and which samples are masked ---- */

static psr_status note_steps(psr_clean_auto *p, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t k = 0; k < p->win.nrange && !st; k++) {
        const struct psr_auto_block *b = &p->win.block[k];
        for (size_t t = b->first; t < b->first + b->n && !st; t++)
            if (t == b->first || p->band.spark[t] != p->band.spark[t - 1]) {
                st = PSR_OK;
                for (size_t c = 0; c < p->d.nchan && !st; c++) {
                    const float w = (float)p->weight[c] / PSR_AUTO_SIGMA;
                    const float missing = p->band.spark[t] || b->masked[c] ? 1 : 1 - w * w;
                    if (!p->keep[c] || missing == p->changes.missing[c])
                        continue;
                    st = psr_grow(&p->changes.step, &p->changes.step_room, p->changes.nstep,
                                  sizeof *p->changes.step, "what cleaning masked", err);
                    if (st)
                        break;
                    p->changes.step[p->changes.nstep++] =
                        (struct psr_step){p->account.report.nsamp + (int64_t)t, c, missing};
                    p->changes.missing[c] = missing;
                }
            }
    }
    return st;
}

static const char account_of_cells[] = "the account of masked cells";

/* Which blocks of the window are masked; what is left after them is as the last. */
static psr_status note_cells(psr_clean_auto *p, psr_err *err)
{
    const size_t nchan = p->d.nchan, at = p->account.report.nwindow;
    if (at >= p->changes.cell_room) {
        const size_t room = 2 * at + PSR_AUTO_BLOCKS;
        psr_status st = psr_resize(&p->changes.cell, room * nchan, sizeof *p->changes.cell,
                                   account_of_cells, err);
        if (st)
            return st;
        p->changes.cell_room = room;
    }
    for (size_t c = 0; c < nchan; c++) {
        unsigned bits = 0;
        for (size_t k = 0; k < p->win.nrange; k++)
            bits |= (unsigned)(p->win.block[k].masked[c] != 0)
                    << (k < PSR_AUTO_BLOCKS ? k : PSR_AUTO_BLOCKS - 1);
        p->changes.cell[at * nchan + c] = (uint16_t)bits;
    }
    if (at == 0)
        p->changes.first_size = p->win.size;
    return PSR_OK;
}

static psr_status note_sparks(psr_clean_auto *p, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t t = 0; t < p->win.n && !st; t++) {
        const int64_t now = p->account.report.nsamp + (int64_t)t;
        struct psr_span *last =
            p->changes.nspark ? &p->changes.spark_span[p->changes.nspark - 1] : NULL;
        if (!p->band.spark[t])
            continue;
        if (last && last->first + last->count == now) {
            last->count++;
            continue;
        }
        st = psr_grow(&p->changes.spark_span, &p->changes.spark_room, p->changes.nspark,
                      sizeof *p->changes.spark_span, "the account of sparks", err);
        if (!st)
            p->changes.spark_span[p->changes.nspark++] = (struct psr_span){now, 1};
    }
    return st;
}

/* Adds the window's changes to step. */
static psr_status auto_note_missing(psr_clean_auto *p, psr_err *err)
{
    psr_status st = note_steps(p, err);
    if (p->d.endless)
        return st;
    if (!st)
        st = note_cells(p, err);
    return st ? st : note_sparks(p, err);
}

size_t psr_clean_auto_missing(const psr_clean_auto *p, const struct psr_step **step)
{
    *step = p->changes.step;
    return p->changes.nstep;
}

/* --- told again ------------------------------------------------------------------------------- */

static void mark_cells(const psr_clean_auto *p, int64_t t, float *x)
{
    const size_t nchan = p->d.nchan, window = (size_t)t / p->window,
                 size = window ? p->usual : p->changes.first_size;
    size_t k = (size_t)t % p->window / size;
    k = k < PSR_AUTO_BLOCKS ? k : PSR_AUTO_BLOCKS - 1;
    for (size_t c = 0; c < nchan; c++) {
        const size_t at = window * nchan + c;
        const bool masked =
            !p->keep[c] || (p->changes.cell[at] >> k & 1) || !(p->account.all_sd[at] > 0);
        x[c] = masked ? NAN : x[c] / p->account.all_sd[at];
    }
}

void psr_clean_auto_mark(const psr_clean_auto *p, int64_t first, size_t n, float *x)
{
    const size_t nchan = p->d.nchan;
    for (size_t i = 0; i < n; i++) {
        const int64_t t = first + (int64_t)i;
        if (t >= 0 && t < p->account.report.nsamp)
            mark_cells(p, t, x + i * nchan);
        else
            for (size_t c = 0; c < nchan; c++)
                x[i * nchan + c] = NAN;
    }
    size_t low = 0, high = p->changes.nspark;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (p->changes.spark_span[middle].first + p->changes.spark_span[middle].count <= first)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < p->changes.nspark && p->changes.spark_span[low].first < first + (int64_t)n;
         low++) {
        const struct psr_span *s = &p->changes.spark_span[low];
        for (int64_t t = s->first > first ? s->first : first;
             t < s->first + s->count && t < first + (int64_t)n; t++)
            for (size_t c = 0; c < p->d.nchan; c++)
                x[(size_t)(t - first) * p->d.nchan + c] = NAN;
    }
}

/* --- cleans a window of spectra automatically, and keeps account of it ------------------------ */

enum { SHORTEST = 32, BLOCKS_LEAST = 4 };

/* --- the account ------------------------------------------------------------------------------ */

static psr_status add_lost(psr_clean_auto *p, const struct psr_auto_block *b, psr_err *err)
{
    const int64_t t0 = p->account.report.nsamp + (int64_t)b->first;
    for (size_t c = 0; c < p->d.nchan; c++)
        if (p->keep[c] && !b->masked[c])
            return PSR_OK;
    struct psr_span *last = p->account.nspan ? p->account.span + p->account.nspan - 1 : NULL;
    if (last && last->first + last->count == t0) {
        last->count += (int64_t)b->n;
        return PSR_OK;
    }
    psr_status st = psr_grow(&p->account.span, &p->account.span_room, p->account.nspan,
                             sizeof *p->account.span, "the account of masked spectra", err);
    if (!st)
        p->account.span[p->account.nspan++] = (struct psr_span){t0, (int64_t)b->n};
    return st;
}

static psr_status grow_report(psr_clean_auto *p, psr_err *err)
{
    const size_t nchan = p->d.nchan, n = p->d.endless ? 0 : p->account.report.nwindow;
    if (n < p->account.room)
        return PSR_OK;
    const size_t room = 2 * n + PSR_AUTO_BLOCKS;
    psr_status st = psr_resize(&p->account.mask, room * nchan, 1, account_of_cells, err);
    if (!st)
        st = psr_resize(&p->account.all_level, room * nchan, sizeof(float), account_of_cells, err);
    if (!st)
        st = psr_resize(&p->account.all_sd, room * nchan, sizeof(float), account_of_cells, err);
    p->account.room = st ? p->account.room : room;
    return st;
}

static psr_status record(psr_clean_auto *p, bool filtered, psr_err *err)
{
    const size_t nchan = p->d.nchan, at = p->d.endless ? 0 : p->account.report.nwindow * nchan;
    psr_status st = grow_report(p, err);
    for (size_t k = 0; k < p->win.nrange && !st; k++)
        st = add_lost(p, &p->win.block[k], err);
    if (st)
        return st;
    for (size_t c = 0; c < nchan; c++) {
        size_t masked = 0;
        for (size_t k = 0; k < p->win.nrange; k++)
            masked += p->win.block[k].masked[c] ? p->win.block[k].n : 0;
        p->account.masked[c] += (int64_t)masked;
        p->account.mask[at + c] = 2 * masked > p->win.n;
        p->account.all_level[at + c] = isfinite(p->levels.level[c]) ? p->levels.level[c] : 0;
        p->account.all_sd[at + c] = isfinite(p->levels.sd[c]) ? p->levels.sd[c] : 0;
    }
    for (size_t t = 0; t < p->win.n; t++)
        p->account.report.nspark += p->band.spark[t];
    p->account.report.nfiltered += filtered;
    p->account.report.nwindow++;
    p->account.report.nsamp += (int64_t)p->win.n;
    return PSR_OK;
}

/* --- a window --------------------------------------------------------------------------------- */

/* Finds noise common to sub-bands, or the mean of all channels.  Returned: *filtered, whether there is some */
static psr_status find_common(psr_clean_auto *p, bool *filtered, psr_err *err)
{
    struct psr_auto_products now[PSR_AUTO_WIDTHS];
    struct psr_auto_scale one = {0};
    struct psr_auto_modes m = {0};
    bool jumps = false;
    *filtered = p->d.zerodm;
    if (p->d.zerodm)
        return p->ops->find_mean(p, err);
    psr_status st = p->ops->find_jumps(p, &jumps, err);
    if (!st)
        st = p->ops->measure(p, now, &one, err);
    if (st)
        return st;
    psr_auto_choose_modes(p, now, &one, &m);
    *filtered = m.n > 0 || jumps;
    if (m.n)
        st = p->ops->find_offsets(p, &m, err);
    else if (p->d.weights || jumps)
        st = p->ops->clear_offsets(p, err);
    return st || !jumps ? st : p->ops->add_jumps(p, err);
}

psr_status psr_auto_clean_window(psr_clean_auto *p, const unsigned char *from, size_t n,
                                 unsigned char *to, psr_err *err)
{
    bool filtered = false;
    p->win.from = from;
    p->win.to = to;
    p->win.n = n;
    /* Blocks with statistics, and what is left after them. */
    p->win.size = p->usual;
    if (p->account.report.nwindow == 0 && p->win.n < BLOCKS_LEAST * p->usual &&
        p->win.n >= SHORTEST)
        p->win.size = p->win.n / BLOCKS_LEAST;
    p->win.nblock = p->win.n / p->win.size;
    if (p->win.nblock < BLOCKS_LEAST)
        p->win.nblock = 0;
    p->win.nrange = p->win.nblock;
    for (size_t k = 0; k < p->win.nblock; k++) {
        p->win.block[k].first = k * p->win.size;
        p->win.block[k].n = p->win.size;
    }
    const size_t whole = p->win.nblock * p->win.size;
    if (whole < p->win.n) {
        p->win.block[p->win.nrange].first = whole;
        p->win.block[p->win.nrange++].n = p->win.n - whole;
    }
    psr_status st = p->ops->sum(p, err);
    if (st)
        return st;
    psr_auto_judge(p);
    st = p->ops->quantise(p, err);
    if (!st)
        st = p->ops->find_sparks(p, err);
    if (!st) {
        st = find_common(p, &filtered, err);
        if (!st && p->d.weights)
            psr_auto_weigh(p);
        st = st || !(filtered || p->d.weights) ? st : p->ops->quantise_less(p, err);
    }
    if (!st)
        st = p->ops->blank(p, err);
    if (!st)
        st = auto_note_missing(p, err);
    return st ? st : record(p, filtered, err);
}

/* --- weights of channels by signal to noise --------------------------------------------------- */

enum { HEAVIEST = 10, BESIDE = 8 };

static bool is_known(const psr_clean_auto *p, size_t c)
{
    return p->keep[c] && p->levels.s_now[c] > 0;
}

/* The level around a channel, over its scatter; not a number if it is not known. */
static float find_ratio(const psr_clean_auto *p, size_t c)
{
    const size_t from = c > BESIDE ? c - BESIDE : 0, end = c + BESIDE + 1;
    float level[2 * BESIDE + 1];
    size_t n = 0;
    if (!is_known(p, c))
        return NAN;
    for (size_t k = from; k < end && k < p->d.nchan; k++)
        if (is_known(p, k))
            level[n++] = (float)p->levels.l_now[k];
    return (float)(psr_quantile_median(level, n) / p->levels.s_now[c]);
}

void psr_auto_weigh(psr_clean_auto *p)
{
    float *ratio = p->work, *sorted = p->work + p->d.nchan;
    size_t n = 0;
    for (size_t c = 0; c < p->d.nchan; c++) {
        ratio[c] = find_ratio(p, c);
        if (isfinite(ratio[c]))
            sorted[n++] = ratio[c];
    }
    const double middle = n ? psr_quantile_median(sorted, n) : 0;
    for (size_t c = 0; c < p->d.nchan; c++) {
        const double q = rint(PSR_AUTO_SIGMA * (double)ratio[c] / middle);
        p->weight[c] = !(middle > 0)  ? PSR_AUTO_SIGMA
                       : !(q > 0)     ? 0
                       : q > HEAVIEST ? HEAVIEST
                                      : (unsigned char)q;
    }
}
