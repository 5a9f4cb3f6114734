/* Whether what was folded is in a small part of the band, and the rest is noise. */
#include "fold_harmonics.h"

#include "stats/spans.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The rest of the band is noise below this, in standard deviations: a pulsar whose scintles make an eighth of
 * the band bright is seen in the rest, too.  More than 3, since DM and period are those at which the rest
 * agrees best. */
static const double noise_sigma = 4;

/* Z^2 - 4 n of the small part, which noise exceeds once in 10^4. */
static const double least_excess = 23;

static void add(struct psr_fold_coefs *sum, const struct psr_fold_coefs *of_band, size_t first,
                size_t end)
{
    for (size_t j = first; j < end; j++)
        for (size_t k = 0; k < PSR_FOLD_HARMONICS; k++)
            sum->h[k] += of_band[j].h[k];
}

/* Z^2 of sub-bands begin .. end - 1 where these are all there is. */
static double power_of(const struct psr_fold_harmonics *h, const struct psr_fold_coefs *of_band,
                       size_t begin, size_t end, size_t n)
{
    const struct psr_fold_harmonics alone = {.nsub = end - begin, .var = h->var + begin};
    struct psr_fold_coefs sum = {.h = {0}};
    add(&sum, of_band, begin, end);
    return psr_fold_harmonics_power(&alone, &sum, n);
}

/* Whether the sub-bands from first on are significant, more so than all together, and their profile is
 * not in the others. */
static bool rest_is_noise(const struct psr_fold_harmonics *h, const struct psr_fold_coefs *of_band,
                          size_t first, size_t n)
{
    const size_t end = first + psr_band_span(h->nsub);
    struct psr_fold_coefs part = {.h = {0}}, rest = {.h = {0}};
    const double power = power_of(h, of_band, first, end, n);
    double var = 0;
    add(&part, of_band, first, end);
    add(&rest, of_band, 0, first);
    add(&rest, of_band, end, h->nsub);
    for (size_t j = 0; j < h->nsub; j++)
        var += j < first || j >= end ? h->var[j] : 0;
    return power - 4 * (double)n > least_excess && power > power_of(h, of_band, 0, h->nsub, n) &&
           psr_fold_coefs_project(&part, &rest, n) <
               noise_sigma * sqrt(psr_fold_coefs_project(&part, &part, n) * var / 2);
}

psr_status psr_fold_is_narrow(bool *narrow, const struct psr_pfd *fold, psr_err *err)
{
    const struct psr_fold_times times = {fold->stats[0].numdata * fold->tsamp_s, 1,
                                         fold->stats[0].numdata * fold->tsamp_s * fold->npart};
    const size_t nsub = (size_t)fold->nsub, npart = (size_t)fold->npart;
    struct psr_fold_harmonics h;
    *narrow = false;
    if (nsub < PSR_BAND_SHARES || fold->nbin < 3)
        return PSR_OK;
    psr_status st = psr_fold_harmonics_init(&h, fold, &times, err);
    if (st)
        return st;
    struct psr_fold_coefs *of_band = calloc(nsub, sizeof *of_band);
    double *work = calloc(npart + nsub, sizeof *work);
    unsigned char *counts = calloc(nsub, 1);
    if (of_band && work && counts) {
        /* Sub-bands at the best values, as prepfold advances them for these. */
        psr_fold_harmonics_best_turns(&h, fold, work);
        psr_fold_harmonics_bands(&h, work, of_band);
        for (size_t j = 0; j < h.nsub; j++) {
            struct psr_fold_coefs row = of_band[j];
            memset(&of_band[j], 0, sizeof of_band[j]);
            psr_fold_coefs_add(&of_band[j], &row, fold->dm * h.per_dm[j]);
        }
        /* A sub-band's share of the sum's profile; noise projected on itself is taken off. */
        double *a = work + npart;
        struct psr_fold_coefs sum = {.h = {0}};
        size_t first = 0;
        add(&sum, of_band, 0, h.nsub);
        const size_t n = psr_fold_harmonics_count(&h, &sum);
        for (size_t j = 0; j < h.nsub; j++) {
            counts[j] = h.var[j] > 0;
            a[j] =
                counts[j] ? psr_fold_coefs_project(&sum, &of_band[j], n) - (double)n * h.var[j] : 0;
        }
        *narrow =
            psr_band_is_narrow(a, counts, h.nsub, &first) && rest_is_noise(&h, of_band, first, n);
    } else
        st = psr_fail_nomem(err, "sub-bands of a fold", (double)nsub * sizeof *of_band);
    free(of_band);
    free(work);
    free(counts);
    psr_fold_harmonics_clear(&h);
    return st;
}
