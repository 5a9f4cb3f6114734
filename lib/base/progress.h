/* progress.h: counts work that several threads share, and tells the caller (private). */
#ifndef PSR_BASE_PROGRESS_H
#define PSR_BASE_PROGRESS_H

#include "base/stop.h"

struct psr_progress {
    const struct psr_stop *stop;
    int64_t done, total;
};

/* Counts n more of it. */
static inline void psr_progress_add(struct psr_progress *w, int64_t n)
{
    if (!w->stop->progress)
        return;
#pragma omp critical(psr_progress)
    {
        w->done += n;
        w->stop->progress(w->stop->ctx, w->done, w->total);
    }
}

#endif
