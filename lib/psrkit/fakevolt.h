/* fakevolt.h: generates synthetic voltages of an array: noise of each input, and sources in the
 * sky.
 *
 * A voltage depends only on the description and on its time, channel, polarisation and input, not
 * on threads or block lengths.  Time 0 is the beginning of sample 0; delays are relative to the
 * highest channel. */
#ifndef PSRKIT_FAKEVOLT_H
#define PSRKIT_FAKEVOLT_H

#include <psrkit/array.h>
#include <psrkit/dada.h>

PSR_API_BEGIN

typedef struct psr_fakevolt psr_fakevolt;

/* Unpolarised noise-like emission from one direction. */
struct psr_fakevolt_source {
    double theta_ns, theta_ew; /* grid coordinates (array.h) at the centre of the band */
    double snr;     /* S/N of a beam in this direction, before quantisation: power summed over
                       channels, polarisations and the time that the source is on */
    double width_s; /* top-hat width of a burst; 0: always on */
    double t_s;     /* burst: its centre at the highest channel */
    double dm;      /* pc cm^-3 */
};

struct psr_fakevolt_desc {
    const struct psr_array *array; /* copied */
    const struct psr_dada *header; /* band, tsamp, conventions; nant that of the array; copied */
    int64_t nsamp;
    uint64_t seed;
    double dmconst; /* MHz^2 s; see delays.h */
    double sigma;   /* standard deviation of the real and of the imaginary part, in nibble units:
                       0 to 7 */
    size_t nsource;
    const struct psr_fakevolt_source *source; /* [nsource]; copied */
    int nthread;                              /* 0: all cores */
};

/* Status: PSR_EINVAL naming source, field, value and limit; PSR_EFORMAT (as psr_array_check);
 *         PSR_ENOMEM. */
PSR_MUST_CHECK psr_status psr_fakevolt_create(psr_fakevolt **out,
                                              const struct psr_fakevolt_desc *desc, psr_err *err);

/* Returned: out   [nt][nchan][2][nant] bytes: samples first .. first + nt - 1, rounded and clipped
 *                 to -7 .. 7; inputs that are off the grid have noise only
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_fakevolt_execute(psr_fakevolt *p, int64_t first, size_t nt,
                                               uint8_t *out, psr_err *err);

/* Frees the generator; NULL is allowed. */
void psr_fakevolt_destroy(psr_fakevolt *p);

PSR_API_END
#endif
