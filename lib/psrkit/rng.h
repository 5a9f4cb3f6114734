/* rng.h: counter-based random numbers (Threefry).
 *
 * Every number is a function of a seed, a stream and an index.  Any thread can therefore generate
 * any range of a stream at any time, and the numbers do not depend on threads, blocks or
 * instruction sets.
 *
 * The generator is Threefry4x32 with 20 rounds (Salmon et al. 2011), which passes BigCrush.  Its
 * key is (seed low, seed high, stream, 0), its counter (block low, block high, 0, 0).  Words come
 * in groups of 64: word n is output n / 16 % 4 of block 16 (n / 64) + n % 16. */
#ifndef PSRKIT_RNG_H
#define PSRKIT_RNG_H

#include <psrkit/api.h>
#include <stddef.h>
#include <stdint.h>

PSR_API_BEGIN

/* Numbers per group; ranges that begin and end at multiples of it are fastest. */
enum { PSR_RNG_GROUP = 64 };

/* Generates words first .. first + n - 1 of a stream. */
void psr_rng_words(uint64_t seed, uint32_t stream, uint64_t first, size_t n, uint32_t *word);

/* Generates the same range of the stream's Gaussian deviates, mean 0 and variance 1 (Box and
 * Muller).
 * Notes: two outputs of a block make two deviates.  Radii take 2^31 values, so no value exceeds
 *        6.66; values are accurate to 1e-6 (1 + 0.1 / r), where r^2 is the sum of the squares of a
 *        pair. */
void psr_rng_normal(uint64_t seed, uint32_t stream, uint64_t first, size_t n, float *x);

/* Returns number index of a stream, uniform in [0, 1), from words 2 index and 2 index + 1. */
double psr_rng_uniform(uint64_t seed, uint32_t stream, uint64_t index);

PSR_API_END
#endif
