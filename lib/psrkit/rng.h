/* rng.h: random numbers by their place, not by their turn.
 *
 * Every number is a function of a seed, a stream and an index, so any thread may draw any stretch
 * of a stream at any time: the numbers do not depend on threads, blocks or instruction sets.
 *
 * The words are those of Threefry4x32 with 20 rounds (Salmon et al. 2011), which passes BigCrush.
 * Its key is (seed low, seed high, stream, 0) and its counter (block low, block high, 0, 0).  Words
 * come in groups of 64: word n is output n / 16 % 4 of block 16 (n / 64) + n % 16. */
#ifndef PSRKIT_RNG_H
#define PSRKIT_RNG_H

#include <psrkit/api.h>
#include <stddef.h>
#include <stdint.h>

PSR_API_BEGIN

/* Numbers in a group: stretches that begin and end on multiples of it are drawn fastest. */
enum { PSR_RNG_GROUP = 64 };

/* Words first .. first + n - 1 of a stream. */
void psr_rng_words(uint64_t seed, uint32_t stream, uint64_t first, size_t n, uint32_t *word);

/* The same stretch of the stream's Gaussian deviates of mean 0 and variance 1 (Box and Muller).
 * Notes: two outputs of a block make two deviates.  Radii are drawn from 2^31 values, so that
 *        nothing lies beyond 6.66; values are good to 1e-6 (1 + 0.1 / r), r^2 being the sum of the
 *        squares of a pair. */
void psr_rng_normal(uint64_t seed, uint32_t stream, uint64_t first, size_t n, float *x);

/* Number index of a stream, uniform in [0, 1): from words 2 index and 2 index + 1. */
double psr_rng_uniform(uint64_t seed, uint32_t stream, uint64_t index);

PSR_API_END
#endif
