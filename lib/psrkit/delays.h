/* delays.h: cold-plasma dispersion delays. */
#ifndef PSRKIT_DELAYS_H
#define PSRKIT_DELAYS_H

#include <psrkit/status.h>
#include <stddef.h>
#include <stdint.h>

PSR_API_BEGIN

/* The dispersion constant k of delay = k DM / f^2, in MHz^2 s pc^-1 cm^3. */
#define PSR_DMCONST_PRESTO  (1.0 / 2.41e-4) /* 4149.37759..., psrkit's default */
#define PSR_DMCONST_SIGPROC 4148.741601

/* Parses a dispersion constant.
 * Given:  text   "presto", "sigproc" or a number in MHz^2 s
 * Status: PSR_EINVAL */
PSR_MUST_CHECK psr_status psr_parse_dmconst(const char *text, double *dmconst, psr_err *err);

/* Delay relative to infinite frequency, in seconds. */
double psr_delay_s(double dmconst, double dm, double freq_mhz);

/* Rounds x to the nearest integer, halves away from zero (as PRESTO does). */
int64_t psr_round(double x);

/* Delay of freq_mhz relative to ref_mhz in whole samples of tsamp_s. */
int64_t psr_delay_samples(double dmconst, double dm, double freq_mhz, double ref_mhz,
                          double tsamp_s);

PSR_API_END
#endif
