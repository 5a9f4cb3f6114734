/* fold_rows_lanes.h: the inner loops of a fold, for one instruction set (private; included once for
 * each). */

#define VECTOR    sizeof(NAME(words))
#define GET(p)    ((NAME(words))(*(const NAME(any_words) *)(const void *)(p)))
#define PUT(p, v) (*(NAME(any_words) *)(void *)(p) = (v))

/* A word holds two samples: sums of words, less 256 times those of their upper halves, are sums of
 * their lower halves. */
ISA static void NAME(sum_bytes)(uint16_t *even, uint16_t *odd, const unsigned char *const *x,
                                size_t nx, size_t n)
{
    for (size_t t = 0; t < n; t += 2 * VECTOR) {
        NAME(words) all0 = {0}, all1 = {0}, upper0 = {0}, upper1 = {0};
        for (size_t k = 0; k < nx; k++) {
            const NAME(words) x0 = GET(x[k] + t), x1 = GET(x[k] + t + VECTOR);
            all0 += x0;
            all1 += x1;
            upper0 += x0 >> 8;
            upper1 += x1 >> 8;
        }
        PUT(even + t / 2, all0 - (upper0 << 8));
        PUT(even + (t + VECTOR) / 2, all1 - (upper1 << 8));
        PUT(odd + t / 2, upper0);
        PUT(odd + (t + VECTOR) / 2, upper1);
    }
}

ISA static void NAME(moments)(const int16_t *x, size_t n, int32_t *sum, int32_t *square)
{
    int32_t all = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        all += x[i];
        squares += x[i] * x[i];
    }
    *sum = all;
    *square = squares;
}

/* Interleaving the first and the last four of eight vectors three times transposes them. */
ISA static void NAME(turn)(uint16_t *row, const uint16_t *piece)
{
    for (size_t i = 0; i < TILE / 16; i++)
        for (size_t p = 0; p < GROUP; p += VECTOR / 2) {
            NAME(words) x[8], y[8];
            for (size_t k = 0; k < 8; k++)
                x[k] = GET(piece + (8 * i + k) * GROUP + p);
            for (size_t k = 0; k < 4; k++) {
                y[2 * k] = PSR_ISA_SHUFFLE_PAIR(x[k], x[k + 4], NAME(lower));
                y[2 * k + 1] = PSR_ISA_SHUFFLE_PAIR(x[k], x[k + 4], NAME(upper));
            }
            for (size_t k = 0; k < 4; k++) {
                x[2 * k] = PSR_ISA_SHUFFLE_PAIR(y[k], y[k + 4], NAME(lower));
                x[2 * k + 1] = PSR_ISA_SHUFFLE_PAIR(y[k], y[k + 4], NAME(upper));
            }
            for (size_t k = 0; k < 4; k++) {
                y[2 * k] = PSR_ISA_SHUFFLE_PAIR(x[k], x[k + 4], NAME(lower));
                y[2 * k + 1] = PSR_ISA_SHUFFLE_PAIR(x[k], x[k + 4], NAME(upper));
            }
            for (size_t k = 0; k < 8; k++)
                PUT(row + 2 * (8 * i + k) * GROUP + p, y[k]);
        }
}

/* Sums of n rows; sums of "fitting" rows fit into words. */
ISA static inline __attribute__((always_inline)) void
NAME(add_rows)(int32_t *restrict sum, const uint16_t *restrict row, size_t n, size_t fitting)
{
    for (size_t j = 0; j < GROUP; j++)
        sum[j] = 0;
    for (size_t p = 0; p < GROUP; p += VECTOR / 2)
        for (size_t t = 0; t < n;) {
            const size_t end = n - t < fitting ? n : t + fitting;
            uint16_t part[VECTOR / 2];
            NAME(words) words = {0};
            for (; t < end; t++)
                words += GET(row + t * GROUP + p);
            PUT(part, words);
            for (size_t j = 0; j < VECTOR / 2; j++)
                sum[p + j] += part[j];
        }
}

ISA static inline __attribute__((always_inline)) void
NAME(end_turn)(const struct psr_fold_bins *bins)
{
    double *restrict sum = bins->sum, *restrict turn = bins->turn;
    for (size_t i = 0; i < bins->nbin * GROUP; i++) {
        sum[i] += turn[i];
        turn[i] = 0;
    }
}

ISA static void NAME(fold_words)(const struct psr_fold_bins *bins, const struct psr_fold_run *run,
                                 size_t nrun, const uint16_t *row, uint16_t most,
                                 const double *restrict offset)
{
    const size_t fitting = UINT16_MAX / (most ? most : 1);
    double *restrict carry = bins->carry;
    int32_t whole[GROUP];
    for (size_t i = 0; i < nrun; i++, run++) {
        const uint16_t *restrict last = row + run->end * (size_t)GROUP;
        double *restrict turn = bins->turn + run->bin * (size_t)GROUP;
        const double n = (double)(run->end - run->begin), fraction = run->fraction;
        NAME(add_rows)(whole, row + run->begin * (size_t)GROUP, run->end - run->begin, fitting);
        for (size_t j = 0; j < GROUP; j++) {
            const double part = fraction * ((double)(int32_t)last[j] + offset[j]);
            turn[j] += (double)whole[j] + n * offset[j] + (part - carry[j]);
            carry[j] = part;
        }
        if (run->completes_turn)
            NAME(end_turn)(bins);
    }
}

ISA static void NAME(fold_floats)(const struct psr_fold_bins *bins, const struct psr_fold_run *run,
                                  size_t nrun, const float *row)
{
    double *restrict carry = bins->carry;
    for (size_t i = 0; i < nrun; i++, run++) {
        const float *restrict last = row + run->end * (size_t)GROUP;
        double *restrict turn = bins->turn + run->bin * (size_t)GROUP;
        const double fraction = run->fraction;
        for (size_t j = 0; j < GROUP; j++) {
            const double part = fraction * (double)last[j];
            turn[j] += part - carry[j];
            carry[j] = part;
        }
        for (size_t t = run->begin; t < run->end; t++)
            for (size_t j = 0; j < GROUP; j++)
                turn[j] += (double)row[t * GROUP + j];
        if (run->completes_turn)
            NAME(end_turn)(bins);
    }
}

#undef VECTOR
#undef GET
#undef PUT
