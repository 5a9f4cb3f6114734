/* rfi_bytes_lanes.h: inner loops over pairs of channels of bytes for one instruction set (private;
 * included once for each). */

typedef int16_t NAME(words) __attribute__((vector_size(2 * NAME(WORDS))));
typedef uint16_t NAME(pairs) __attribute__((vector_size(2 * NAME(WORDS)), aligned(1), may_alias));
typedef int32_t NAME(ints) __attribute__((vector_size(2 * NAME(WORDS))));

/* Sums of one channel of a block, by lanes: of d, its square and its cube; of squares of d d - MIDDLE,
 * their lower 16 bits and the others. */
struct NAME(sums) {
    NAME(ints) first, second, third, low, high;
};

ISA static inline __attribute__((always_inline)) int64_t NAME(total)(const NAME(ints) * v)
{
    int64_t sum = 0;
    for (size_t k = 0; k < NAME(WORDS) / 2; k++)
        sum += (*v)[k];
    return sum;
}

/* At most FOURTHS vectors of d = x - 128, from the lower or the upper bytes of pairs. */
ISA static inline __attribute__((always_inline)) void
NAME(add_few)(const NAME(pairs) * x, size_t count, int shift, struct NAME(sums) * s)
{
    NAME(words) first = {0};
    NAME(ints) fourth = {0};
    for (size_t k = 0; k < count; k++) {
        const NAME(words) d = (NAME(words))(x[k] >> shift & 255) - PSR_RFI_BYTES_ORIGIN;
        const NAME(words) square = d * d, e = square - MIDDLE;
        first += d;
        s->second += NAME(MADD)(d, d);
        s->third += NAME(MADD)(square, d);
        fourth += NAME(MADD)(e, e);
    }
    s->first += NAME(MADD)(first, (NAME(words)){0} + 1);
    s->low += fourth & 65535;
    s->high += fourth >> 16;
}

/* At most BLOCK vectors. */
ISA static inline __attribute__((always_inline)) void
NAME(add_block)(const uint8_t *pair, size_t count, int shift, int64_t sum[4])
{
    const NAME(pairs) *x = (const NAME(pairs) *)(const void *)pair;
    struct NAME(sums) s = {{0}, {0}, {0}, {0}, {0}};
    for (size_t k = 0; k < count; k += FOURTHS)
        NAME(add_few)(x + k, count - k < FOURTHS ? count - k : FOURTHS, shift, &s);
    const int64_t squares = NAME(total)(&s.second), n = (int64_t)(count * NAME(WORDS));
    sum[0] += NAME(total)(&s.first);
    sum[1] += squares;
    sum[2] += NAME(total)(&s.third);
    sum[3] += NAME(total)(&s.low) + 65536 * NAME(total)(&s.high) + 2 * MIDDLE * squares -
              n * MIDDLE * MIDDLE;
}

ISA static void NAME(add_powers)(const uint8_t *pair, size_t n, int64_t sum[2][4])
{
    const size_t count = n / NAME(WORDS);
    for (size_t k = 0; k < count; k += BLOCK)
        for (int c = 0; c < 2; c++)
            NAME(add_block)
    (pair + 2 * k * NAME(WORDS), count - k < BLOCK ? count - k : BLOCK, 8 * c, sum[c]);
}

ISA static void NAME(scale_pair)(const uint8_t *restrict x, size_t n, const float mean[2],
                                 const float factor[2], float *restrict a, float *restrict b)
{
    const float mean_a = mean[0], mean_b = mean[1], factor_a = factor[0], factor_b = factor[1];
    for (size_t t = 0; t < n; t++) {
        a[t] = ((float)x[2 * t] - mean_a) * factor_a;
        b[t] = ((float)x[2 * t + 1] - mean_b) * factor_b;
    }
}
