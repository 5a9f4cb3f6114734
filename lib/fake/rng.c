/* Generates counter-based random numbers. */
#include "fake_internal.h"

#include <psrkit/fake.h>

#include "base/threads/isa.h"

#include <math.h>
#include <string.h>

#if defined __x86_64__
#include <immintrin.h>
#endif

/* Blocks in a group: as many as the widest vector has lanes. */
enum { NBLOCK = PSR_RNG_GROUP / 4 };

/* Rotations of rounds n and n + 8 (Salmon et al. 2011, table 3). */
static const unsigned rotation[8][2] = {{10, 26}, {11, 21}, {13, 27}, {23, 5},
                                        {6, 20},  {17, 11}, {25, 10}, {18, 20}};

/* log(1 + z) = z - z^2/2 + z^3 (sum of log_term[i] z^i), fitted at the Chebyshev points of
 * [2^-1/2 - 1, 2^1/2 - 1] to 1.2e-8. */
enum { NLOG = 8 };
static const float log_term[NLOG] = {0.333333286f, -0.250002965f, 0.200014686f, -0.166422476f,
                                     0.142021738f, -0.12972239f,  0.127123077f, -0.0810155833f};

#define PASTE_(a, b) a##_##b
#define PASTE(a, b)  PASTE_(a, b)
#define NAME(x)      PASTE(x, SUFFIX)

#define SUFFIX base
#define ISA
#define VECTOR 16
#if defined __x86_64__
#define SQRT(v) ((v) = (__typeof__(v))_mm_sqrt_ps((__m128)(v)))
#else
#define SQRT(v)                                                                                    \
    do {                                                                                           \
        for (int n = 0; n < 4; n++)                                                                \
            (v)[n] = sqrtf((v)[n]);                                                                \
    } while (0)
#endif
#include "rng_lanes.h"
#undef SUFFIX
#undef ISA
#undef VECTOR
#undef SQRT

#if defined __x86_64__
#define SUFFIX  avx2
#define ISA     PSR_ISA_FOR_AVX2
#define VECTOR  32
#define SQRT(v) ((v) = (__typeof__(v))_mm256_sqrt_ps((__m256)(v)))
#include "rng_lanes.h"
#undef SUFFIX
#undef ISA
#undef VECTOR
#undef SQRT

#define SUFFIX  avx512
#define ISA     PSR_ISA_FOR_AVX512
#define VECTOR  64
#define SQRT(v) ((v) = (__typeof__(v))_mm512_sqrt_ps((__m512)(v)))
#include "rng_lanes.h"
#undef SUFFIX
#undef ISA
#undef VECTOR
#undef SQRT
#endif

static void (*const draw_words[PSR_NISA])(uint64_t, const uint32_t *,
                                          uint32_t *) = PSR_ISA_TABLE(words_of);
static void (*const draw_normals[PSR_NISA])(uint64_t, size_t, const uint32_t *,
                                            float *) = PSR_ISA_TABLE(normals_of);

static void set_key(uint32_t *key, uint64_t seed, uint32_t stream)
{
    key[0] = (uint32_t)seed;
    key[1] = (uint32_t)(seed >> 32);
    key[2] = stream;
    key[3] = 0;
    key[4] = UINT32_C(0x1BD11BDA) ^ key[0] ^ key[1] ^ key[2] ^ key[3];
}

/* How many of the n numbers from first on lie in first's group. */
static size_t left_in_group(uint64_t first, size_t n)
{
    size_t left = PSR_RNG_GROUP - (size_t)(first % PSR_RNG_GROUP);
    return n < left ? n : left;
}

void psr_rng_words(uint64_t seed, uint32_t stream, uint64_t first, size_t n, uint32_t *word)
{
    uint32_t key[5], group[PSR_RNG_GROUP];
    enum psr_isa isa = psr_isa_find();
    set_key(key, seed, stream);
    for (size_t done = 0, got; done < n; done += got) {
        got = left_in_group(first + done, n - done);
        draw_words[isa]((first + done) / PSR_RNG_GROUP, key, group);
        memcpy(word + done, group + (first + done) % PSR_RNG_GROUP, got * sizeof *word);
    }
}

void psr_rng_normal(uint64_t seed, uint32_t stream, uint64_t first, size_t n, float *x)
{
    uint32_t key[5];
    float group[PSR_RNG_GROUP];
    enum psr_isa isa = psr_isa_find();
    set_key(key, seed, stream);
    for (size_t done = 0, got; done < n; done += got) {
        uint64_t at = first + done;
        got = at % PSR_RNG_GROUP ? 0 : (n - done) / PSR_RNG_GROUP * PSR_RNG_GROUP;
        if (got) {
            draw_normals[isa](at / PSR_RNG_GROUP, got / PSR_RNG_GROUP, key, x + done);
            continue;
        }
        got = left_in_group(at, n - done);
        draw_normals[isa](at / PSR_RNG_GROUP, 1, key, group);
        memcpy(x + done, group + at % PSR_RNG_GROUP, got * sizeof *x);
    }
}

double psr_rng_uniform(uint64_t seed, uint32_t stream, uint64_t index)
{
    uint32_t w[2];
    psr_rng_words(seed, stream, 2 * index, 2, w);
    return (double)((uint64_t)w[0] << 21 ^ w[1] >> 11) * 0x1p-53;
}
