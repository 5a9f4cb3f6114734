/* Automatic cleaning: how much of the noise of each channel is missing, and since when. */
#include "clean_auto_plan.h"

#include "base/grow.h"

static psr_status note_channels(psr_clean_auto *p, const struct psr_auto_block *b, size_t t,
                                psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t c = 0; c < p->d.nchan && !st; c++) {
        const float missing = p->spark[t] || b->masked[c] ? 1 : 0;
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

psr_status psr_auto_note_missing(psr_clean_auto *p, psr_err *err)
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

size_t psr_clean_auto_missing(const psr_clean_auto *p, const struct psr_step **step)
{
    *step = p->step;
    return p->nstep;
}
