/* Automatic cleaning: what is missing of the noise of each channel, and since when; and which samples
 * are masked, to be told again. */
#include "clean_auto_plan.h"

#include "base/tool.h"
#include "clean_auto_internal.h"
#include <math.h>
#include <stdlib.h>

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

/* Which blocks of the window are masked; what is left after them is as the last. */
static psr_status note_cells(psr_clean_auto *p, psr_err *err)
{
    const size_t nchan = p->d.nchan, at = p->account.report.nwindow;
    if (at >= p->changes.cell_room) {
        const size_t room = 2 * at + PSR_AUTO_BLOCKS;
        uint16_t *cell = realloc(p->changes.cell, room * nchan * sizeof *cell);
        if (!cell)
            return psr_fail_nomem(err, "the account of masked cells", 2.0 * (double)(room * nchan));
        p->changes.cell = cell;
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

psr_status psr_auto_note_missing(psr_clean_auto *p, psr_err *err)
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
