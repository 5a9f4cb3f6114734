/* dedisp_delay.h: computes the delay of a channel at a trial, on host and device (private).
 *
 * It uses only divisions, subtractions and one addition, which compilers cannot contract, so host
 * and device round alike. */
#ifndef PSR_SEARCH_DEDISP_DELAY_H
#define PSR_SEARCH_DEDISP_DELAY_H

#include <stdint.h>

#ifdef __CUDACC__
#define PSR_HOST_DEVICE __host__ __device__
#else
#define PSR_HOST_DEVICE
#endif

/* delay_s = dm / coeff; the coefficients of the highest and the lowest channel of the band, and the
 * sampling time of the output. */
struct psr_delay_frame {
    double coeff_top, coeff_low, dt_s;
};

/* d = round(x) for x >= 0, the only sign there is below the highest channel. */
static inline PSR_HOST_DEVICE int32_t psr_dedisp_delay_of(double dm, double coeff, double coeff_ref,
                                                          double dt_s)
{
    return (int32_t)((dm / coeff - dm / coeff_ref) / dt_s + 0.5);
}

/* Adds the delay relative to the first channel of the group, rounded once, to the delay of that
 * channel.  The delay of the lowest channel of the band limits the remainder, so that no later
 * sample is needed. */
static inline PSR_HOST_DEVICE int32_t psr_dedisp_delay_tolerant(double dm, double coeff,
                                                                double coeff_first,
                                                                const struct psr_delay_frame *f)
{
    int32_t delay = psr_dedisp_delay_of(dm, coeff_first, f->coeff_top, f->dt_s) +
                    psr_dedisp_delay_of(dm, coeff, coeff_first, f->dt_s);
    int32_t most = psr_dedisp_delay_of(dm, f->coeff_low, f->coeff_top, f->dt_s);
    return delay < most ? delay : most;
}

#endif
