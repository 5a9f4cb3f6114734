/* fakevolt.h: synthetic voltages of an array: noise of each input, and sources in the sky.
 *
 * A voltage's value depends on the description and its place only: not on the number of threads or
 * the block it is asked for in.  Time 0 is the beginning of sample 0; delays are against the
 * highest channel. */
#ifndef PSRKIT_FAKEVOLT_H
#define PSRKIT_FAKEVOLT_H

#include <psrkit/array.h>
#include <psrkit/dada.h>

PSR_API_BEGIN

typedef struct psr_fakevolt psr_fakevolt;

/* Unpolarised noise-like emission from one place in the sky. */
struct psr_fakevolt_source {
    double theta_ns, theta_ew; /* grid coordinates (array.h) at the centre of the band */
    double snr;     /* S/N of a beam at the place: power summed over channels, polarisations and the
                       time the source is on, before quantising */
    double width_s; /* of a burst, a top hat; 0: on all the time */
    double t_s;     /* burst: its middle at the highest channel */
    double dm;      /* pc cm^-3 */
};

struct psr_fakevolt_desc {
    const struct psr_array *array; /* copied */
    const struct psr_dada *header; /* band, tsamp, conventions; nant the array's; copied */
    int64_t nsamp;
    uint64_t seed;
    double dmconst; /* MHz^2 s; see delays.h */
    double sigma;   /* of each part of the noise, in units of the nibbles: 0 to 7 */
    size_t nsource;
    const struct psr_fakevolt_source *source; /* [nsource]; copied */
    int nthread;                              /* 0: all cores */
};

/* Status: PSR_EINVAL naming source, field, value and limit; PSR_EFORMAT (as psr_array_check);
 *         PSR_ENOMEM. */
PSR_MUST_CHECK psr_status psr_fakevolt_create(psr_fakevolt **out,
                                              const struct psr_fakevolt_desc *desc, psr_err *err);

/* Returned: out [nt][nchan][2][nant] bytes: samples first .. first + nt - 1; parts are rounded and
 *           clipped to -7 .. 7, and an input that is off the grid has noise alone
 * Status:   PSR_ENOMEM. */
PSR_MUST_CHECK psr_status psr_fakevolt_execute(psr_fakevolt *p, int64_t first, size_t nt,
                                               uint8_t *out, psr_err *err);

/* NULL is fine. */
void psr_fakevolt_destroy(psr_fakevolt *p);

PSR_API_END
#endif
