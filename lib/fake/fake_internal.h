/* fake_internal.h: random numbers and phases (private). */
#ifndef PSR_FAKE_FAKE_INTERNAL_H
#define PSR_FAKE_FAKE_INTERNAL_H

#include <psrkit/fake.h>

/* Generates words first .. first + n - 1 of a stream. */
void psr_rng_words(uint64_t seed, uint32_t stream, uint64_t first, size_t n, uint32_t *word);

/* Generates the same range of the stream's Gaussian deviates, mean 0 and variance 1 (Box and
 * Muller).
 * Notes: two outputs of a block make two deviates.  Radii take 2^31 values, so no value exceeds
 *        6.66; values are accurate to 1e-6 (1 + 0.1 / r), where r^2 is the sum of the squares of a
 *        pair. */
void psr_rng_normal(uint64_t seed, uint32_t stream, uint64_t first, size_t n, float *x);

/* Rotational phase of pulsar i at time t_s at the highest channel: whole turns, and the fraction in
 * [0, 1), accurate to 1e-16 t_s / period. */
void psr_fake_phase(const psr_fake *p, size_t i, double t_s, int64_t *turns, double *fraction);

/* Adds the signals of a plan without noise to samples that exist.  Each channel is scaled by its scatter over the
 * block, the median of the scatters of up to 16 pieces of it; snr is that of the best boxcar on the dedispersed
 * pulse as it is in the samples, the channels that vary divided by their scatter; of pulsars, of all pulses.
 * What is added is rounded by chance, so that its mean is right; of 1, 2 and 4 bits, what the highest level takes
 * away is added where there is room.
 * Given:    nbit, kind   of the samples, the same in all calls
 *           first, n   spectra, in ascending order; results depend on where blocks end
 *           rows   [n][nchan], packed
 * Returned: rows
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_fake_inject(psr_fake *p, int nbit, enum psr_kind kind, int64_t first,
                                          size_t n, uint8_t *rows, psr_err *err);

/* Given:    first, nsamp   from 0 on; earlier pulses are forgotten, so that ascending ranges are
 *                          fastest
 * Returned: x   [nsamp][nchan] real values, or pairs, of one polarisation, before they are coded
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_fakeband_values(psr_fakeband *p, size_t pol, int64_t first,
                                              size_t nsamp, float *x, psr_err *err);

#endif
