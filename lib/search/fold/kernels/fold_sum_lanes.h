/* fold_sum_lanes.h: the inner loops of a fold's search, for one instruction set (private; included
 * once for each). */

ISA static void NAME(add)(float *to, const float *left, const float *right, size_t padded)
{
    for (size_t k = 0; k < padded; k += FOLD_VECTOR)
        PUT_FLOATS(to + k, GET_FLOATS(left + k) + GET_FLOATS(right + k));
}

/* The sum with 1.5 2^23 has the rounded value in its lower bits. */
ISA static void NAME(round)(int16_t *to, const float *left, const float *right, float scale,
                            size_t padded)
{
    for (size_t k = 0; k < padded; k += FOLD_VECTOR) {
        const floats sum = (GET_FLOATS(left + k) + GET_FLOATS(right + k)) * scale + 0x1.8p23f;
        PUT_WORDS(to + k, __builtin_convertvector((codes)sum, words));
    }
}

/* Square norm of the sum of a trial's groups. */
ISA static inline __attribute__((always_inline)) int32_t
NAME(norm)(const int16_t *table, const uint32_t *group, size_t ngroup, size_t padded, words used)
{
    int32_t norm = 0;
    for (size_t k = 0; k < padded; k += FOLD_VECTOR) {
        int16_t x[FOLD_VECTOR] __attribute__((aligned(2 * FOLD_VECTOR)));
        words sum = GET_WORDS(table + group[0] + k);
        for (size_t g = 1; g < ngroup; g++)
            sum += GET_WORDS(table + group[g] + k);
        PUT_WORDS(x, k + FOLD_VECTOR < padded ? sum : sum & used);
        int32_t part = 0;
        for (size_t i = 0; i < FOLD_VECTOR; i++)
            part += x[i] * x[i];
        norm += part;
    }
    return norm;
}

ISA static inline __attribute__((always_inline)) size_t
NAME(find_in)(const int16_t *table, const uint32_t *trial, size_t ngroup, size_t padded,
              const int16_t *used, size_t from, size_t n, int32_t least)
{
    const words mask = GET_WORDS(used);
    for (size_t i = from; i < n; i++)
        if (NAME(norm)(table, trial + i * ngroup, ngroup, padded, mask) >= least)
            return i;
    return n;
}

/* prepfold's defaults, 64 parts and at most 64 bins, get loops of their own. */
ISA static size_t NAME(find)(const int16_t *table, const uint32_t *trial, size_t ngroup,
                             size_t padded, const int16_t *used, size_t from, size_t n,
                             int32_t least)
{
    if (ngroup == 8 && padded == 64)
        return NAME(find_in)(table, trial, 8, 64, used, from, n, least);
    return NAME(find_in)(table, trial, ngroup, padded, used, from, n, least);
}

ISA static void NAME(measure)(const int16_t *table, const uint32_t *trial, size_t ngroup,
                              size_t padded, const int16_t *used, size_t n, int32_t *norm)
{
    const words mask = GET_WORDS(used);
    for (size_t i = 0; i < n; i++)
        norm[i] = NAME(norm)(table, trial + i * ngroup, ngroup, padded, mask);
}
