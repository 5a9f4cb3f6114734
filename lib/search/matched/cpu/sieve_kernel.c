/* The sieve's inner loops, for each instruction set. */
#include "search/matched/cpu/sieve.h"

#include "base/threads/isa.h"

#include <string.h>

/* A code is bits 20 to 27 of a float, from the exponent of 2^-6 on. */
enum { CUT_BITS = 20, ROUND_UP = (1 << CUT_BITS) - 1, LEAST_CODE = (127 - 6) << 3 };

typedef uint8_t bytes __attribute__((vector_size(SIEVE_LANES)));
typedef uint8_t any_bytes __attribute__((vector_size(SIEVE_LANES), aligned(1), may_alias));
typedef uint32_t words __attribute__((vector_size(4 * SIEVE_LANES)));
typedef float floats __attribute__((vector_size(4 * SIEVE_LANES)));
typedef float any_floats __attribute__((vector_size(4 * SIEVE_LANES), aligned(4), may_alias));
#define GET_BYTES(p)     ((bytes)(*(const any_bytes *)(p)))
#define GET_FLOATS(p)    ((floats)(*(const any_floats *)(p)))
#define PUT_FLOATS(p, v) (*(any_floats *)(p) = (v))

#define LOOPS(s)                                                                                   \
    {                                                                                              \
        encode_##s, decode_##s, add_##s, find_##s                                                  \
    }

#define PSR_LANES "search/matched/cpu/sieve_lanes.h"
#include "base/threads/isa_lanes.h"

static const struct psr_sieve_loops loops[PSR_NISA] = PSR_ISA_EACH(LOOPS);

const struct psr_sieve_loops *psr_sieve_loops_choose(void)
{
    return &loops[psr_isa_find()];
}

void psr_sieve_map_make(struct psr_sieve_map *map, int h, int log)
{
    map->h = h;
    map->log = log;
    for (int odd = 0; odd < 2; odd++)
        for (int k = 0; k < SIEVE_LANES; k++) {
            int first = SIEVE_LANES * odd;
            map->offset[odd][k] = (uint8_t)((((first + k) * h) >> log) - ((first * h) >> log));
        }
}

float psr_sieve_decode(uint8_t code)
{
    uint32_t bits = (uint32_t)(code + LEAST_CODE) << CUT_BITS;
    float power;
    memcpy(&power, &bits, sizeof power);
    return power;
}
