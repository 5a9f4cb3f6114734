/* rng_lanes.h: generates one group of random numbers, LANES blocks at a time, for one instruction
 * set (private; included once for each).
 *
 * Uses only operations that IEEE 754 rounds exactly, none of them fused, so every instruction set
 * gives the same bits. */

enum { NAME(lanes) = VECTOR / 4 };

typedef uint32_t NAME(words) __attribute__((vector_size(VECTOR)));
typedef int32_t NAME(ints) __attribute__((vector_size(VECTOR)));
typedef float NAME(floats) __attribute__((vector_size(VECTOR)));

#define WORDS  NAME(words)
#define INTS   NAME(ints)
#define FLOATS NAME(floats)
#define INLINE ISA static inline __attribute__((always_inline))

#define ROTATE(x, r)   ((x) << (r) | (x) >> (32 - (r)))
#define MIX(a, b, r)   ((a) += (b), (b) = ROTATE(b, r) ^ (a))
#define KEY(k, s)      ((k)[(s) % 5])
#define ROUND(r, b, d) (MIX(x[0], x[b], rotation[r][0]), MIX(x[2], x[d], rotation[r][1]))
/* Four rounds, then the key for the s-th time. */
#define FOUR(s, r)                                                                                 \
    (ROUND(r, 1, 3), ROUND((r) + 1, 3, 1), ROUND((r) + 2, 1, 3), ROUND((r) + 3, 3, 1),             \
     x[0] += KEY(k, s), x[1] += KEY(k, (s) + 1), x[2] += KEY(k, (s) + 2),                          \
     x[3] += KEY(k, (s) + 3) + (s))

INLINE void NAME(threefry)(WORDS *x, uint64_t block, const uint32_t *k)
{
    WORDS lane;
    for (uint32_t i = 0; i < NAME(lanes); i++)
        lane[i] = i;
    /* Blocks of a vector share their high word: they begin at a multiple of the lanes. */
    x[0] = lane + ((uint32_t)block + k[0]);
    x[1] = (WORDS){0} + ((uint32_t)(block >> 32) + k[1]);
    x[2] = (WORDS){0} + k[2];
    x[3] = (WORDS){0} + k[3];
    FOUR(1, 0);
    FOUR(2, 4);
    FOUR(3, 0);
    FOUR(4, 4);
    FOUR(5, 0);
}

/* -2 log((w / 2 + 1/2) / 2^31), w / 2 being whole: within 0 and 44.4. */
INLINE FLOATS NAME(minus_twice_log)(WORDS w)
{
    const int32_t half_sqrt = 0x3f3504f3; /* the bits of 2^-1/2: z below lies about 0 */
    FLOATS u = __builtin_convertvector((INTS)(w >> 1), FLOATS) + 0.5f;
    INTS bits = (INTS)u - half_sqrt;
    FLOATS e = __builtin_convertvector((bits >> 23) - 31, FLOATS);
    FLOATS z = (FLOATS)((bits & 0x7fffff) + half_sqrt) - 1.0f;
    FLOATS p = z * log_term[NLOG - 1] + log_term[NLOG - 2];
    for (int i = NLOG - 3; i >= 0; i--)
        p = p * z + log_term[i];
    FLOATS log_u = e * 0.693147181f + (z - z * z * 0.5f + z * z * z * p);
    return log_u * -2.0f;
}

/* Sine and cosine of 2 pi w / 2^32. */
INLINE void NAME(sine_cosine)(WORDS w, FLOATS *sine, FLOATS *cosine)
{
    WORDS quarter = (w + 0x20000000u) >> 30;
    FLOATS a = __builtin_convertvector((INTS)(w - (quarter << 30)), FLOATS) * 1.46291808e-9f;
    FLOATS a2 = a * a;
    FLOATS s = a + a * a2 * ((a2 * -0.000195879499f + 0.00833274863f) * a2 - 0.166666647f);
    FLOATS c = (a2 * -0.5f + 1.0f) +
               a2 * a2 * ((a2 * 2.45479913e-05f - 0.00138883033f) * a2 + 0.0416666647f);
    WORDS swap = -(quarter & 1), sbits = (WORDS)s, cbits = (WORDS)c;
    WORDS sine_bits = (sbits & ~swap) | (cbits & swap);
    WORDS cosine_bits = (cbits & ~swap) | (sbits & swap);
    *sine = (FLOATS)(sine_bits ^ (quarter >> 1 << 31));
    *cosine = (FLOATS)(cosine_bits ^ ((quarter + 1) >> 1 << 31));
}

ISA static void NAME(words_of)(uint64_t group, const uint32_t *key, uint32_t *out)
{
    for (size_t i = 0; i < NBLOCK; i += NAME(lanes)) {
        WORDS x[4];
        NAME(threefry)(x, group * NBLOCK + i, key);
        for (size_t k = 0; k < 4; k++)
            memcpy(out + k * NBLOCK + i, &x[k], sizeof x[k]);
    }
}

ISA static void NAME(normals_of)(uint64_t group, size_t ngroup, const uint32_t *key, float *out)
{
    for (size_t i = 0; i < ngroup * NBLOCK; i += NAME(lanes)) {
        float *to = out + i / NBLOCK * PSR_RNG_GROUP + i % NBLOCK;
        WORDS x[4];
        NAME(threefry)(x, group * NBLOCK + i, key);
        for (size_t k = 0; k < 4; k += 2) {
            FLOATS s, c, r = NAME(minus_twice_log)(x[k]);
            SQRT(r);
            NAME(sine_cosine)(x[k + 1], &s, &c);
            c *= r;
            s *= r;
            memcpy(to + k * NBLOCK, &c, sizeof c);
            memcpy(to + (k + 1) * NBLOCK, &s, sizeof s);
        }
    }
}

#undef WORDS
#undef INTS
#undef FLOATS
#undef INLINE
#undef ROTATE
#undef MIX
#undef KEY
#undef ROUND
#undef FOUR
