/* ffa_cpu_lanes.h: loops of the fast folding search for one instruction set (private; included once for
 * each). */

#define VECTOR(type, name)                                                                         \
    typedef type NAME(name) __attribute__((vector_size(NAME(BYTES))));                             \
    typedef type NAME(loose_##name)                                                                \
        __attribute__((vector_size(NAME(BYTES)), aligned(sizeof(type)), may_alias))
VECTOR(int16_t, words);
VECTOR(int32_t, ints);
VECTOR(float, floats);
typedef double NAME(doubles) __attribute__((vector_size(NAME(BYTES))));
typedef float NAME(half_floats)
    __attribute__((vector_size(NAME(BYTES) / 2), aligned(4), may_alias));

#define WORDS_AT(p)      ((NAME(words))(*(const NAME(loose_words) *)(p)))
#define INTS_AT(p)       ((NAME(ints))(*(const NAME(loose_ints) *)(p)))
#define FLOATS_AT(p)     ((NAME(floats))(*(const NAME(loose_floats) *)(p)))
#define PUT_WORDS(p, v)  (*(NAME(loose_words) *)(p) = (v))
#define PUT_INTS(p, v)   (*(NAME(loose_ints) *)(p) = (v))
#define PUT_FLOATS(p, v) (*(NAME(loose_floats) *)(p) = (v))

enum { NAME(NWORD) = NAME(BYTES) / 2, NAME(NINT) = NAME(BYTES) / 4 };

/* --- sums of rows ----------------------------------------------------------------------------- */

#define SUM_WORDS(i)  PUT_WORDS(out + (i), NAME(ADD_WORDS)(WORDS_AT(a + (i)), WORDS_AT(c + (i))))
#define SUM_FLOATS(i) PUT_FLOATS(out + (i), FLOATS_AT(a + (i)) + FLOATS_AT(c + (i)))

#define ADD_FLOATS(x, y)      ((x) + (y))
#define COPY_WORDS(to, from)  PUT_WORDS(to, WORDS_AT(from))
#define COPY_FLOATS(to, from) PUT_FLOATS(to, FLOATS_AT(from))

/* Rows with their first bins repeated behind them, N and more, up to a whole number of vectors: sums of a and of
 * c from its shift on.  Sums of such rows are such rows; of rows of the series they are made so. */
#define DEFINE_MERGE(type, name, N, sum, copy, put, at, add, one)                                  \
    ISA static void NAME(repeat_##name)(type * out, size_t nbin, size_t length)                    \
    {                                                                                              \
        if (nbin >= 2 * NAME(N)) {                                                                 \
            copy(out + nbin, out);                                                                 \
            copy(out + length - NAME(N), out + length - NAME(N) - nbin);                           \
        } else                                                                                     \
            for (size_t i = nbin; i < length; i++)                                                 \
                out[i] = out[i - nbin];                                                            \
    }                                                                                              \
                                                                                                   \
    ISA static inline __attribute__((always_inline)) void NAME(add_##name)(                        \
        type * out, const type *a, const type *c, size_t n)                                        \
    {                                                                                              \
        size_t i = 0;                                                                              \
        for (; i + 3 * NAME(N) < n; i += 4 * NAME(N)) {                                            \
            sum(i);                                                                                \
            sum(i + NAME(N));                                                                      \
            sum(i + 2 * NAME(N));                                                                  \
            sum(i + 3 * NAME(N));                                                                  \
        }                                                                                          \
        for (; i < n; i += NAME(N))                                                                \
            sum(i);                                                                                \
    }                                                                                              \
                                                                                                   \
    /* Sums of three rows by the shifts of b and c. */                                             \
    ISA static inline __attribute__((always_inline)) void NAME(add_three_##name)(                  \
        type * out, const type *a, const type *b, size_t b_shift, const type *c, size_t c_shift,   \
        size_t nbin)                                                                               \
    {                                                                                              \
        const size_t length = (nbin + 2 * NAME(N) - 1) / NAME(N) * NAME(N);                        \
        for (size_t i = 0; i < nbin; i += NAME(N))                                                 \
            put(out + i, add(at(a + i), add(at(b + i + b_shift), at(c + i + c_shift))));           \
        for (size_t i = nbin - c_shift; i < nbin; i++)                                             \
            out[i] = one(a[i], one(b[(i + b_shift) % nbin], c[(i + c_shift) % nbin]));             \
        NAME(repeat_##name)(out, nbin, length);                                                    \
    }                                                                                              \
                                                                                                   \
    ISA static void NAME(sum_##name)(const void *rows, size_t nrow, size_t nbin, void *sums,       \
                                     size_t stride)                                                \
    {                                                                                              \
        const type *a = rows, *b = a + nbin, *c = b + nbin;                                        \
        type *out = sums;                                                                          \
        if (nrow == 3) {                                                                           \
            NAME(add_three_##name)(out, a, b, 0, c, 0, nbin);                                      \
            NAME(add_three_##name)(out + stride, a, b, 0, c, 1, nbin);                             \
            NAME(add_three_##name)(out + 2 * stride, a, b, 1, c, 2, nbin);                         \
            return;                                                                                \
        }                                                                                          \
        const size_t length = (nbin + 2 * NAME(N) - 1) / NAME(N) * NAME(N);                        \
        NAME(add_##name)(out, a, b, nbin);                                                         \
        NAME(repeat_##name)(out, nbin, length);                                                    \
        NAME(add_##name)(out + stride, a, b + 1, nbin);                                            \
        out[stride + nbin - 1] = one(a[nbin - 1], b[0]);                                           \
        NAME(repeat_##name)(out + stride, nbin, length);                                           \
    }                                                                                              \
                                                                                                   \
    ISA static void NAME(merge_##name)(const struct psr_ffa_merge *g)                              \
    {                                                                                              \
        const size_t nh = g->nrow / 2, nbin = g->nbin;                                             \
        const size_t length = (nbin + 2 * NAME(N) - 1) / NAME(N) * NAME(N);                        \
        struct walk h = begin_walk(g->first, nh, g->nrow);                                         \
        struct walk t = begin_walk(g->first, g->nrow - nh, g->nrow);                               \
        size_t shift = (g->first - t.row) % nbin, before = t.row;                                  \
        const size_t head0 = h.row * g->from_first, tail0 = t.row * g->from_first;                 \
        type *out = g->out;                                                                        \
        for (size_t s = g->first; s < g->end; s++, out += g->out_stride) {                         \
            const type *a = (const type *)g->head + (h.row - head0) * g->head_stride;              \
            const type *c = (const type *)g->tail + (t.row - tail0) * g->tail_stride;              \
            const size_t split = (nbin - shift + NAME(N) - 1) / NAME(N) * NAME(N);                 \
            NAME(add_##name)(out, a, c + shift, split);                                            \
            NAME(add_##name)(out + split, a + split, c + (split + shift - nbin), length - split);  \
            step_walk(&h);                                                                         \
            step_walk(&t);                                                                         \
            shift += t.row == before;                                                              \
            before = t.row;                                                                        \
            shift = shift < nbin ? shift : 0;                                                      \
        }                                                                                          \
    }
DEFINE_MERGE(int16_t, words, NWORD, SUM_WORDS, COPY_WORDS, PUT_WORDS, WORDS_AT, NAME(ADD_WORDS),
             add_word)
DEFINE_MERGE(float, floats, NINT, SUM_FLOATS, COPY_FLOATS, PUT_FLOATS, FLOATS_AT, ADD_FLOATS,
             ADD_FLOATS)
#undef DEFINE_MERGE
#undef SUM_WORDS
#undef SUM_FLOATS
#undef COPY_WORDS
#undef COPY_FLOATS
#undef ADD_FLOATS

/* --- boxcars ---------------------------------------------------------------------------------- */

/* Repeats n bins, and up to a vector more, behind the nbin of a row; nbin is at least a vector. */
ISA static inline __attribute__((always_inline)) void NAME(repeat_bins)(int16_t *x, size_t nbin,
                                                                        size_t n)
{
    for (size_t i = 0; i < n; i += NAME(NWORD))
        PUT_WORDS(x + nbin + i, WORDS_AT(x + i));
}

/* Sum and largest value of the row, behind which a vector is repeated. */
ISA static inline __attribute__((always_inline)) int NAME(sum_row)(const int16_t *x, size_t n,
                                                                   int *most)
{
    NAME(words) at;
    NAME(ints) total = {0};
    NAME(words) more = WORDS_AT(x);
    int sum = 0;
    size_t i = 0;
    for (; i + NAME(NWORD) <= n; i += NAME(NWORD)) {
        total += NAME(PAIRS)(WORDS_AT(x + i));
        more = NAME(MORE_WORDS)(more, WORDS_AT(x + i));
    }
    for (int k = 0; k < NAME(NWORD); k++)
        at[k] = (int16_t)k;
    total += NAME(PAIRS)(WORDS_AT(x + i) & (NAME(words))(at < (int16_t)(n - i)));
    more = NAME(MORE_WORDS)(more, WORDS_AT(x + i));
    for (int k = 0; k < NAME(NINT); k++)
        sum += total[k];
    *most = NAME(MOST)(more);
    return sum;
}

/* Sums of three boxes of x side by side, each "apart" bins from the next, of n phases and those repeated behind them,
 * in pairs of vectors: the largest. */
ISA static inline __attribute__((always_inline)) int NAME(sum_three)(const int16_t *x, size_t apart,
                                                                     size_t n, int16_t *out)
{
    NAME(words) most = {0}, more;
    most -= 32767;
    more = most;
    for (size_t i = 0; i < n; i += 2 * NAME(NWORD)) {
        const int16_t *p = x + i, *q = p + NAME(NWORD);
        const NAME(words) three = NAME(ADD_WORDS)(NAME(ADD_WORDS)(WORDS_AT(p), WORDS_AT(p + apart)),
                                                  WORDS_AT(p + 2 * apart));
        const NAME(words) next = NAME(ADD_WORDS)(NAME(ADD_WORDS)(WORDS_AT(q), WORDS_AT(q + apart)),
                                                 WORDS_AT(q + 2 * apart));
        PUT_WORDS(out + i, three);
        PUT_WORDS(out + i + NAME(NWORD), next);
        most = NAME(MORE_WORDS)(most, three);
        more = NAME(MORE_WORDS)(more, next);
    }
    return NAME(MOST)(NAME(MORE_WORDS)(most, more));
}

/* The largest sum of as many boxes of each level as digits say, side by side. */
ISA static int NAME(sum_boxes)(const struct psr_ffa_bounds *b, size_t w, int16_t *const *level,
                               size_t nbin)
{
    const int16_t *box[PSR_FFA_BOXES];
    size_t n = 0, at = 0, size = 1;
    NAME(words) most = {0};
    for (size_t l = 0; l < b->nlevel; l++, size *= 3) {
        const size_t digit = (size_t)b->digit[l][w];
        if (n + digit > PSR_FFA_BOXES)
            return INT16_MAX;
        for (size_t k = 0; k < digit; k++, at += size)
            box[n++] = level[l] + at;
        if (digit)
            memcpy(level[l] + nbin, level[l], at * sizeof **level);
    }
    most -= 32767;
    for (size_t i = 0; i < nbin; i += NAME(NWORD)) {
        const size_t from = i + NAME(NWORD) <= nbin ? i : nbin - NAME(NWORD);
        NAME(words) sum = WORDS_AT(box[0] + from);
        for (size_t k = 1; k < n; k++)
            sum = NAME(ADD_WORDS)(sum, WORDS_AT(box[k] + from));
        most = NAME(MORE_WORDS)(most, sum);
    }
    return NAME(MOST)(most);
}

/* Bounds of d and of z for all widths. */
ISA static inline __attribute__((always_inline)) bool
NAME(find_bounds)(const struct psr_ffa_bounds *b, const int *most, int sum, float *bounds)
{
    NAME(ints) above = {0};
    for (size_t w = 0; w < b->nwidth; w += NAME(NINT)) {
        NAME(floats) bound = {0};
        for (size_t l = 0; l < b->nlevel; l++)
            bound += FLOATS_AT(b->digit[l] + w) * (float)most[l];
        PUT_FLOATS(bounds + w, bound);
        const NAME(floats) z = FLOATS_AT(b->gain + w) * bound - FLOATS_AT(b->loss + w) * (float)sum;
        above |= (NAME(ints))(z > b->floor);
    }
    int any = 0;
    for (int k = 0; k < NAME(NINT); k++)
        any |= above[k];
    return any != 0;
}

ISA static bool NAME(may_exceed)(int16_t *x, size_t nbin, const struct psr_ffa_bounds *b,
                                 int16_t *scratch)
{
    int16_t *level[PSR_FFA_LEVELS] = {x};
    int most[PSR_FFA_LEVELS];
    float bound[PSR_FFA_BOUNDED];
    if (nbin < 3 * (size_t)NAME(NWORD))
        return true; /* rows have no room for what is repeated */
    NAME(repeat_bins)(x, nbin, NAME(NWORD));
    const int sum = NAME(sum_row)(x, nbin, &most[0]);
    for (size_t l = 1, apart = 1; l < b->nlevel; l++, apart *= 3) {
        level[l] = scratch + (l - 1) * (2 * nbin + PSR_FFA_PAD);
        if (2 * most[l - 1] >= INT16_MAX)
            return true; /* a sum of two boxes may saturate unseen */
        NAME(repeat_bins)(level[l - 1], nbin, 2 * apart + 2 * NAME(NWORD));
        most[l] = NAME(sum_three)(level[l - 1], apart, nbin, level[l]);
    }
    if (most[b->nlevel - 1] == INT16_MAX)
        return true; /* saturated: with others below 0 it would be no bound */
    if (!NAME(find_bounds)(b, most, sum, bound))
        return false;
    for (size_t w = 0; w < b->nwidth; w++) {
        if (!(b->gain[w] * bound[w] - b->loss[w] * (float)sum > b->floor))
            continue;
        const int d = bound[w] < INT16_MAX ? NAME(sum_boxes)(b, w, level, nbin) : INT16_MAX;
        if (d == INT16_MAX || b->gain[w] * (float)d - b->loss[w] * (float)sum > b->floor)
            return true;
    }
    return false;
}

ISA static int32_t NAME(largest)(const int32_t *total, size_t nbin, size_t w)
{
    int32_t best = total[w] - total[0];
    size_t i = 0;
    if (nbin >= (size_t)NAME(NINT)) {
        NAME(ints) most = INTS_AT(total + w) - INTS_AT(total);
        for (; i < nbin; i += NAME(NINT)) {
            const size_t at = i + NAME(NINT) <= nbin ? i : nbin - NAME(NINT);
            most = NAME(MORE_INTS)(most, INTS_AT(total + at + w) - INTS_AT(total + at));
        }
        for (int k = 0; k < NAME(NINT); k++)
            best = most[k] > best ? most[k] : best;
    }
    for (; i < nbin; i++)
        best = total[i + w] - total[i] > best ? total[i + w] - total[i] : best;
    return best;
}

ISA static float NAME(rate_counted)(const int32_t *total, const int32_t *count, size_t nbin,
                                    size_t w)
{
    const float all = (float)total[nbin], most = (float)count[nbin];
    NAME(floats) best = {0};
    float largest = -1e30f;
    best += largest;
    for (size_t i = 0; i < nbin; i += NAME(NINT)) {
        const size_t at = i + NAME(NINT) <= nbin || nbin < NAME(NINT) ? i : nbin - NAME(NINT);
        const NAME(ints) n = INTS_AT(count + at + w) - INTS_AT(count + at);
        const NAME(ints) left = count[nbin] - n;
        const NAME(floats) d =
            __builtin_convertvector(INTS_AT(total + at + w) - INTS_AT(total + at), NAME(floats));
        const NAME(floats) f = __builtin_convertvector(n, NAME(floats));
        const NAME(floats) square = f * most * __builtin_convertvector(left, NAME(floats));
        const NAME(floats) z = (d * most - f * all) / NAME(ROOTS)(square);
        const NAME(ints) more = (NAME(ints))(square > 0) & (NAME(ints))(z > best);
        best = (NAME(floats))CHOOSE((NAME(ints))z, (NAME(ints))best, more);
    }
    for (size_t k = 0; k < (size_t)NAME(NINT) && k < nbin; k++)
        largest = best[k] > largest ? best[k] : largest;
    return largest;
}

/* --- samples ---------------------------------------------------------------------------------- */

/* y within -32767 .. 32767, rounded by adding 1.5 2^23. */
ISA static inline __attribute__((always_inline)) NAME(ints) NAME(round_within)(NAME(floats) y)
{
    const NAME(floats) magic = (NAME(floats)){0} + 12582912.0f;
    const NAME(ints) low = (NAME(ints))(y < -32767), high = (NAME(ints))(y > 32767);
    const NAME(ints) inside = (NAME(ints))(y + magic) - (NAME(ints))magic;
    const NAME(ints) limit = (NAME(ints)){0} + 32767;
    return (inside & ~(low | high)) | (-limit & low) | (limit & high);
}

ISA static void NAME(round_samples)(const float *x, size_t n, float centre, float scale,
                                    int32_t *out)
{
    for (size_t i = 0; i < n; i += NAME(NINT))
        PUT_INTS(out + i, NAME(round_within)((FLOATS_AT(x + i) - centre) * scale));
}

ISA static void NAME(sum_block)(const float *x, double sum[16], double square[16])
{
    enum { N = NAME(BYTES) / 8, M = 16 / N };
    NAME(doubles) a[M], q[M];
    const double first = (double)x[0];
    for (int k = 0; k < M; k++)
        a[k] = q[k] = (NAME(doubles)){0};
    for (size_t i = 0; i < PSR_FFA_BLOCK; i += 16)
        for (int k = 0; k < M; k++) {
            const NAME(doubles) y =
                __builtin_convertvector(*(const NAME(half_floats) *)(x + i + N * k),
                                        NAME(doubles)) -
                first;
            a[k] += y;
            q[k] += y * y;
        }
    memcpy(sum, a, sizeof a);
    memcpy(square, q, sizeof q);
}

ISA static bool NAME(all_finite)(const float *x, size_t n)
{
    NAME(ints) bad = {0};
    int any = 0;
    size_t i = 0;
    for (; i + NAME(NINT) <= n; i += NAME(NINT))
        bad |= (NAME(ints))((INTS_AT(x + i) & 0x7f800000) == 0x7f800000);
    for (int k = 0; k < NAME(NINT); k++)
        any |= bad[k];
    for (; i < n; i++)
        any |= !__builtin_isfinite(x[i]);
    return !any;
}

/* Words of integers within their range. */
ISA static inline __attribute__((always_inline)) void NAME(put_narrow)(int16_t *out, NAME(ints) v)
{
    typedef int16_t half __attribute__((vector_size(NAME(BYTES) / 2), aligned(2), may_alias));
    *(half *)out = (half) __builtin_convertvector(v, half);
}

ISA static void NAME(round_sums)(const int32_t *d, size_t n, const struct psr_ffa_line *line,
                                 int16_t *out)
{
    typedef uint32_t counts __attribute__((vector_size(NAME(BYTES))));
    const NAME(floats) few = (NAME(floats)){0} + line->share[0];
    const NAME(floats) more = (NAME(floats)){0} + line->share[1];
    NAME(ints) at;
    counts low;
    for (int k = 0; k < NAME(NINT); k++) {
        at[k] = line->first + 2 * k;
        low[k] = line->low + (uint32_t)(k + 1) * line->advance;
    }
    for (size_t i = 0; i < n; i += NAME(NINT), at += 2 * NAME(NINT)) {
        const NAME(floats) t = __builtin_convertvector(at, NAME(floats)) * line->w;
        const NAME(ints) carry = (NAME(ints))(low < line->advance);
        const NAME(floats) share = (NAME(floats))CHOOSE((NAME(ints))more, (NAME(ints))few, carry);
        const NAME(floats) base = (line->base + line->slope * t) * share;
        const NAME(floats) y = __builtin_convertvector(INTS_AT(d + i), NAME(floats)) - base;
        NAME(put_narrow)(out + i, NAME(round_within)(y * line->scale));
        low += (uint32_t)NAME(NINT) * line->advance;
    }
}

/* What there is of a profile, whose numbers of samples are not below 0; the sum of its bins. */
ISA static inline __attribute__((always_inline)) struct psr_ffa_counts
NAME(count_row)(const int16_t *x, const int16_t *count, size_t nbin, int *sum)
{
    struct psr_ffa_counts of = {count[0], count[0], 0};
    NAME(ints) total = {0}, all = {0};
    size_t i = 0;
    *sum = 0;
    if (nbin >= NAME(NWORD)) {
        NAME(words) most = WORDS_AT(count), least = -most;
        for (; i + NAME(NWORD) <= nbin; i += NAME(NWORD)) {
            const NAME(words) n = WORDS_AT(count + i);
            total += NAME(PAIRS)(WORDS_AT(x + i));
            all += NAME(PAIRS)(n);
            most = NAME(MORE_WORDS)(most, n);
            least = NAME(MORE_WORDS)(least, -n);
        }
        of.most = NAME(MOST)(most);
        of.least = -NAME(MOST)(least);
    }
    for (int k = 0; k < NAME(NINT); k++) {
        *sum += total[k];
        of.all += all[k];
    }
    for (; i < nbin; i++) {
        *sum += x[i];
        of.all += count[i];
        of.least = count[i] < of.least ? count[i] : of.least;
        of.most = count[i] > of.most ? count[i] : of.most;
    }
    return of;
}

ISA static struct psr_ffa_counts NAME(centre)(const int16_t *x, const int16_t *count, size_t nbin,
                                              int16_t *out)
{
    typedef int16_t half __attribute__((vector_size(NAME(BYTES) / 2), aligned(2), may_alias));
    int sum;
    const struct psr_ffa_counts of = NAME(count_row)(x, count, nbin, &sum);
    const float mean = of.all > 0 ? (float)sum / (float)of.all : 0;
    for (size_t i = 0; i < nbin; i += NAME(NINT)) {
        const NAME(floats) y = __builtin_convertvector(*(const half *)(x + i), NAME(floats));
        const NAME(floats) n = __builtin_convertvector(*(const half *)(count + i), NAME(floats));
        NAME(put_narrow)(out + i, NAME(round_within)(y - n * mean));
    }
    return of;
}

/* Sums of integers that doubles hold. */
ISA static double NAME(total)(const int32_t *d, size_t n)
{
    typedef int32_t half __attribute__((vector_size(NAME(BYTES) / 2), aligned(4), may_alias));
    NAME(doubles) sum = {0};
    double total = 0;
    size_t i = 0;
    for (; i + NAME(NINT) / 2 <= n; i += NAME(NINT) / 2)
        sum += __builtin_convertvector(*(const half *)(d + i), NAME(doubles));
    for (int k = 0; k < NAME(NINT) / 2; k++)
        total += sum[k];
    for (; i < n; i++)
        total += d[i];
    return total;
}

ISA static size_t NAME(count_below)(const float *sorted, size_t n, float x)
{
    NAME(ints) count = {0}, at;
    int total = 0;
    for (int k = 0; k < NAME(NINT); k++)
        at[k] = k;
    for (size_t i = 0; i < n; i += NAME(NINT), at += NAME(NINT))
        count += (NAME(ints))(FLOATS_AT(sorted + i) < x) & (at < (int)n);
    for (int k = 0; k < NAME(NINT); k++)
        total -= count[k];
    return (size_t)total;
}

#undef VECTOR
#undef WORDS_AT
#undef INTS_AT
#undef FLOATS_AT
#undef PUT_WORDS
#undef PUT_INTS
#undef PUT_FLOATS
