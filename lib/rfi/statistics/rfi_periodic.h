/* rfi_periodic.h: searches a channel's powers for periodic signals (private). */
#ifndef PSR_RFI_STATISTICS_RFI_PERIODIC_H
#define PSR_RFI_STATISTICS_RFI_PERIODIC_H

#include <psrkit/status.h>
#include <stddef.h>
#include <stdint.h>

/* Powers of one channel, in units of their mean in white noise. */
struct psr_rfi_powers {
    const float *whole, *half; /* [nbin] of bins k and k + 1/2; bins 0 .. n / 2 of n samples */
    size_t nbin;
    float largest;        /* of whole bins from PSR_RFI_LOBIN on */
    const uint32_t *seed; /* [nseed] half bins, j is bin j / 2, of powers above the seed */
    size_t nseed;
};

/* A detection: frequency of the lowest harmonic in bins, and its significance. */
struct psr_rfi_hit {
    double r, sigma;
    uint32_t order; /* of finding: by number of harmonics, then by r */
};

struct psr_rfi_hits {
    struct psr_rfi_hit *hit;
    size_t n, room;
};

/* Thresholds of a search. */
struct psr_rfi_threshold {
    double power[5]; /* [1 .. 4] of the sum of so many harmonics */
    double ln_trials;
    float seed; /* no sum reaches its threshold without a power above this */
};

/* The power that occurs by chance in noise, in the best of ntrials, as often as sigma. */
double psr_rfi_power_for_sigma(double sigma, int nharm, double ntrials);

void psr_rfi_threshold_set(struct psr_rfi_threshold *t, double sigma, size_t nbin);

/* Given:    work   room that is reused
 *           presto [2 nbin]   room for a search with the flaw of PRESTO's: where its list of
 *           detections grows (at 10, 20, 40 ..), the search of a sum of two or more harmonics goes on
 *           at that half bin, and adds harmonics again to the sums on the way.  NULL: without it
 * Returned: *largest, the power of whole bins
 *           hits   appended, best first
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_rfi_search(const struct psr_rfi_powers *x,
                                         const struct psr_rfi_threshold *t, float *largest,
                                         struct psr_rfi_hits *hits, struct psr_rfi_hits *work,
                                         float *presto, psr_err *err);

#endif
