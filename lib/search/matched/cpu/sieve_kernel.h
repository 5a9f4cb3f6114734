/* sieve_kernel.h: powers as bytes, and sums of them, compiled for what the processor has (private).
 *
 * A code stands for a power of at most 2^(e - 6) (1 + m / 8), e the upper five bits and m the lower
 * three; 0 for 2^-6 at most.  So the sum of these limits is an upper bound of the sum of powers, about 6 %
 * above it.  A larger code means a larger power. */
#ifndef PSR_SEARCH_MATCHED_CPU_SIEVE_KERNEL_H
#define PSR_SEARCH_MATCHED_CPU_SIEVE_KERNEL_H

#include <stddef.h>
#include <stdint.h>

enum { SIEVE_LANES = 16, SIEVE_SPAN = 8 * SIEVE_LANES };

/* The largest bound is none for larger powers. */
#define SIEVE_MOST 0x1.ep25f

/* Where cell C of the highest harmonic finds harmonic h of H: in cells floor(C h/H) and the next.
 * For groups of SIEVE_LANES cells of the highest harmonic, even and odd ones. */
struct psr_sieve_map {
    int h, log; /* H = 2^log */
    uint8_t offset[2][SIEVE_LANES];
};

struct psr_sieve_loops {
    /* code[i] stands for scale power[i] + shift, i < n, a multiple of SIEVE_LANES. */
    void (*encode)(uint8_t *code, const float *power, size_t n, float scale, float shift);

    /* bound[i] = what code[i] stands for, i < SIEVE_LANES ngroup. */
    void (*decode)(float *bound, const uint8_t *code, size_t ngroup);

    /* Adds to bound of groups first .. first + ngroup - 1 of the highest harmonic the larger of the
     * two codes that the map leads to; code[0] is that of cell origin.  SIEVE_LANES cells beyond the
     * last may be read. */
    void (*add)(float *bound, const uint8_t *code, int64_t origin, const struct psr_sieve_map *map,
                int64_t first, size_t ngroup);

    /* Where the first span, of those from bound[from] on, begins that has a bound above cut; n, a multiple
     * of SIEVE_SPAN: none. */
    size_t (*find)(const float *bound, size_t from, size_t n, float cut);
};

const struct psr_sieve_loops *psr_sieve_loops_choose(void);

void psr_sieve_map_make(struct psr_sieve_map *map, int h, int log);

/* The power that a code stands for. */
float psr_sieve_decode(uint8_t code);

#endif
