/* Finds the trials that an earlier run has completed. */
#include "resume.h"
#include "formats/series/series_internal.h"

#include <string.h>

static bool is_later(struct timespec a, struct timespec b)
{
    return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
}

void psr_resume_find(const struct psr_trial_list *trials, const struct psr_series_desc *series,
                     struct timespec changed, const bool *independent, bool *done, size_t *ndone)
{
    *ndone = 0;
    for (size_t k = 0; k < trials->nline; k++) {
        const struct psr_line *l = &trials->line[k];
        bool *of = done + l->first;
        for (size_t i = 0; i < l->ndm; i++) {
            struct timespec made;
            of[i] = psr_series_exists(series, l->first + i, &made) && is_later(made, changed);
        }
        if (!independent[k] && memchr(of, false, l->ndm))
            memset(of, false, l->ndm);
        for (size_t i = 0; i < l->ndm; i++)
            *ndone += of[i];
    }
}
