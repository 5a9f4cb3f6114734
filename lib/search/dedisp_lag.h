/* dedisp_lag.h: the delay of a channel at a trial, for the host and for kernels (private).
 *
 * Divisions, subtractions and one addition: nothing that a compiler may contract, so host and
 * device round alike. */
#ifndef PSR_SEARCH_DEDISP_LAG_H
#define PSR_SEARCH_DEDISP_LAG_H

#include <stdint.h>

#ifdef __CUDACC__
#define PSR_HOST_DEVICE __host__ __device__
#else
#define PSR_HOST_DEVICE
#endif

/* delay_s = dm / law; laws of the highest and the lowest channel of the band, and the sampling time
 * of the output. */
struct psr_lag_frame {
    double law_top, law_low, dt_s;
};

/* d = round(x) for x >= 0, the only sign there is below the highest channel. */
static inline PSR_HOST_DEVICE int32_t psr_lag(double dm, double law, double law_ref, double dt_s)
{
    return (int32_t)((dm / law - dm / law_ref) / dt_s + 0.5);
}

/* Adds the delay against the first channel of the group, rounded once, to the delay of that
 * channel.  The lowest channel of the band bounds what is left, so that no sample is needed beyond
 * its. */
static inline PSR_HOST_DEVICE int32_t psr_lag_tolerant(double dm, double law, double law_first,
                                                       const struct psr_lag_frame *f)
{
    int32_t lag =
        psr_lag(dm, law_first, f->law_top, f->dt_s) + psr_lag(dm, law, law_first, f->dt_s);
    int32_t most = psr_lag(dm, f->law_low, f->law_top, f->dt_s);
    return lag < most ? lag : most;
}

#endif
