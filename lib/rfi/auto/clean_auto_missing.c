/* Automatic cleaning: what is missing of the noise of each channel, and since when; and which samples
 * are masked, to be told again. */
#include "clean_auto_plan.h"

#include "base/tool.h"
#include "clean_auto_internal.h"
#include <math.h>
#include <stdlib.h>

static psr_status note_channels(psr_clean_auto *p, const struct psr_auto_block *b, size_t t,
                                psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t c = 0; c < p->d.nchan && !st; c++) {
        const float w = (float)p->weight[c] / PSR_AUTO_SIGMA;
        const float missing = p->spark[t] || b->masked[c] ? 1 : 1 - w * w;
        if (!p->keep[c] || missing == p->missing[c])
            continue;
        st = psr_grow(&p->step, &p->step_room, p->nstep, sizeof *p->step, "what cleaning masked",
                      err);
        if (st)
            break;
        p->step[p->nstep++] = (struct psr_step){p->report.nsamp + (int64_t)t, c, missing};
        p->missing[c] = missing;
    }
    return st;
}

static psr_status note_steps(psr_clean_auto *p, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t k = 0; k < p->nrange && !st; k++) {
        const struct psr_auto_block *b = &p->block[k];
        for (size_t t = b->first; t < b->first + b->n && !st; t++)
            if (t == b->first || p->spark[t] != p->spark[t - 1])
                st = note_channels(p, b, t, err);
    }
    return st;
}

/* Which blocks of the window are masked; what is left after them is as the last. */
static psr_status note_cells(psr_clean_auto *p, psr_err *err)
{
    const size_t nchan = p->d.nchan, at = p->report.nwindow;
    if (at >= p->cell_room) {
        const size_t room = 2 * at + PSR_AUTO_BLOCKS;
        uint16_t *cell = realloc(p->cell, room * nchan * sizeof *cell);
        if (!cell)
            return psr_fail_nomem(err, "the account of masked cells", 2.0 * (double)(room * nchan));
        p->cell = cell;
        p->cell_room = room;
    }
    for (size_t c = 0; c < nchan; c++) {
        unsigned bits = 0;
        for (size_t k = 0; k < p->nrange; k++)
            bits |= (unsigned)(p->block[k].masked[c] != 0)
                    << (k < PSR_AUTO_BLOCKS ? k : PSR_AUTO_BLOCKS - 1);
        p->cell[at * nchan + c] = (uint16_t)bits;
    }
    if (at == 0)
        p->first_size = p->size;
    return PSR_OK;
}

static psr_status note_sparks(psr_clean_auto *p, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t t = 0; t < p->n && !st; t++) {
        const int64_t now = p->report.nsamp + (int64_t)t;
        struct psr_span *last = p->nspark ? &p->spark_span[p->nspark - 1] : NULL;
        if (!p->spark[t])
            continue;
        if (last && last->first + last->count == now) {
            last->count++;
            continue;
        }
        st = psr_grow(&p->spark_span, &p->spark_room, p->nspark, sizeof *p->spark_span,
                      "the account of sparks", err);
        if (!st)
            p->spark_span[p->nspark++] = (struct psr_span){now, 1};
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
    *step = p->step;
    return p->nstep;
}

/* --- told again ------------------------------------------------------------------------------- */

static void mark_cells(const psr_clean_auto *p, int64_t t, float *x)
{
    const size_t nchan = p->d.nchan, window = (size_t)t / p->window,
                 size = window ? p->usual : p->first_size;
    size_t k = (size_t)t % p->window / size;
    k = k < PSR_AUTO_BLOCKS ? k : PSR_AUTO_BLOCKS - 1;
    for (size_t c = 0; c < nchan; c++) {
        const size_t at = window * nchan + c;
        const bool masked = !p->keep[c] || (p->cell[at] >> k & 1) || !(p->all_sd[at] > 0);
        x[c] = masked ? NAN : x[c] / p->all_sd[at];
    }
}

static void mark_sparks(const psr_clean_auto *p, int64_t first, size_t n, float *x)
{
    size_t low = 0, high = p->nspark;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (p->spark_span[middle].first + p->spark_span[middle].count <= first)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < p->nspark && p->spark_span[low].first < first + (int64_t)n; low++) {
        const struct psr_span *s = &p->spark_span[low];
        for (int64_t t = s->first > first ? s->first : first;
             t < s->first + s->count && t < first + (int64_t)n; t++)
            for (size_t c = 0; c < p->d.nchan; c++)
                x[(size_t)(t - first) * p->d.nchan + c] = NAN;
    }
}

void psr_clean_auto_mark(const psr_clean_auto *p, int64_t first, size_t n, float *x)
{
    const size_t nchan = p->d.nchan;
    for (size_t i = 0; i < n; i++) {
        const int64_t t = first + (int64_t)i;
        if (t >= 0 && t < p->report.nsamp)
            mark_cells(p, t, x + i * nchan);
        else
            for (size_t c = 0; c < nchan; c++)
                x[i * nchan + c] = NAN;
    }
    mark_sparks(p, first, n, x);
}
