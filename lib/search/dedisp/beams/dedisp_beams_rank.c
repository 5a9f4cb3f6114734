/* Puts the trials of beams into the order of lines. */
#include "base/tool.h"
#include "dedisp_line.h"
#include "plan/ddplan_internal.h"

#include <psrkit/ddplan.h>
#include <stdlib.h>

enum { MAXDOWNSAMP = 65536 };

/* Sums rise with DM, but where they are given. */
PSR_COMPARE(by_line, struct psr_beams_trial,
            PSR_THEN(PSR_RISING(downsamp), PSR_THEN(PSR_RISING(dm), PSR_RISING(i))));

/* Given sums are those of another plan, whose lines are to be these. */
static psr_status check_sums(const struct psr_beams_trial *rank, size_t ndm, psr_err *err)
{
    for (size_t k = 0; k < ndm; k++) {
        size_t n = rank[k].downsamp, before = k ? rank[k - 1].downsamp : 1;
        if (n < 1 || n > MAXDOWNSAMP || n % before)
            return psr_fail_field(err, PSR_EINVAL, "downsamp",
                                  "dedispersion: %zu samples summed, must be 1 to %d and a "
                                  "multiple of the next smaller number, %zu",
                                  n, MAXDOWNSAMP, before);
    }
    return PSR_OK;
}

psr_status psr_beams_rank_trials(struct psr_beams_trial **out,
                                 const struct psr_dedisp_beams_desc *d, psr_err *err)
{
    struct psr_beams_trial *rank = *out = malloc(d->ndm * sizeof *rank);
    if (!rank)
        return psr_fail_nomem(err, "trials", (double)d->ndm * sizeof *rank);
    /* Mean smearing of a channel per DM, in samples. */
    double low = d->freq_mhz[0], high = low;
    for (size_t c = 1; c < d->nchan; c++) {
        low = d->freq_mhz[c] < low ? d->freq_mhz[c] : low;
        high = d->freq_mhz[c] > high ? d->freq_mhz[c] : high;
    }
    double sweep_s = psr_delay_s(d->dmconst, 1, low) - psr_delay_s(d->dmconst, 1, high);
    double smear = d->nchan > 1 ? sweep_s / d->tsamp_s / (double)(d->nchan - 1) : 0;
    for (size_t i = 0; i < d->ndm; i++) {
        int64_t n = d->scrunch > 0 ? psr_scrunch(d->dm[i] * smear, d->scrunch, MAXDOWNSAMP) : 1;
        rank[i] = (struct psr_beams_trial){d->dm[i], i, d->downsamp ? d->downsamp[i] : (size_t)n};
    }
    qsort(rank, d->ndm, sizeof *rank, by_line);
    psr_status st = check_sums(rank, d->ndm, err);
    if (st) {
        free(rank);
        *out = NULL;
    }
    return st;
}
