/* dedisp_cpu_lane.h: the kernels for one lane type and one instruction set (private).
 *
 * dedisp_cpu.c includes it once per combination and defines STORE, NODE, TOTAL (types), ISA
 * (a function attribute), VECTOR (bytes of a register) and NAME(x).
 *
 * Almost all time is spent summing unaligned vectors.  Four registers at a time accumulate all
 * sources, so that a source costs one load-and-add per register and no intermediate result is
 * stored. */

enum {
    NAME(width) = VECTOR / sizeof(NODE),
    NAME(span) = 4 * NAME(width),
    NAME(wide_width) = VECTOR / sizeof(TOTAL),
    NAME(wide_span) = 4 * NAME(wide_width),
};

typedef NODE NAME(vec) __attribute__((vector_size(VECTOR)));
typedef NODE NAME(vec_node)
    __attribute__((vector_size(VECTOR), aligned(__alignof__(NODE)), may_alias));
typedef STORE NAME(vec_store) __attribute__((vector_size(VECTOR / sizeof(NODE) * sizeof(STORE)),
                                             aligned(__alignof__(STORE)), may_alias));

typedef TOTAL NAME(wide) __attribute__((vector_size(VECTOR)));
typedef TOTAL NAME(wide_node)
    __attribute__((vector_size(VECTOR), aligned(__alignof__(TOTAL)), may_alias));
typedef NODE NAME(narrow_node) __attribute__((vector_size(VECTOR / sizeof(TOTAL) * sizeof(NODE)),
                                              aligned(__alignof__(NODE)), may_alias));

#define GET_NODE(p) (*(const NAME(vec_node) *)(p))
#ifdef WIDEN
#define GET_STORE(p) ((NAME(vec))WIDEN(p))
#else
#define GET_STORE(p) __builtin_convertvector(*(const NAME(vec_store) *)(p), NAME(vec))
#endif
#define GET_WIDE(p) (*(const NAME(wide_node) *)(p))
#ifdef WIDEN_NODE
#define GET_NARROW(p) ((NAME(wide))WIDEN_NODE(p))
#else
#define GET_NARROW(p) __builtin_convertvector(*(const NAME(narrow_node) *)(p), NAME(wide))
#endif
#define PUT_NODE(p, v) (*(NAME(vec_node) *)(p) = (v))
#define PUT_WIDE(p, v) (*(NAME(wide_node) *)(p) = (v))

/* dst[0 .. span - 1], then dst[0 .. width - 1], of the sum of all sources at t; and all n of it. */
#define DEFINE_SUM(sum, TYPE, GET, TO, VEC, WIDTH, PUT)                                            \
    ISA static inline void NAME(sum##_span)(TO * dst, const TYPE *const *src, size_t nsrc,         \
                                            size_t t)                                              \
    {                                                                                              \
        const size_t w = NAME(WIDTH);                                                              \
        const TYPE *p = src[0] + t;                                                                \
        NAME(VEC) a = GET(p), b = GET(p + w), c = GET(p + 2 * w), d = GET(p + 3 * w);              \
        for (size_t k = 1; k < nsrc; k++) {                                                        \
            p = src[k] + t;                                                                        \
            a += GET(p);                                                                           \
            b += GET(p + w);                                                                       \
            c += GET(p + 2 * w);                                                                   \
            d += GET(p + 3 * w);                                                                   \
        }                                                                                          \
        PUT(dst, a);                                                                               \
        PUT(dst + w, b);                                                                           \
        PUT(dst + 2 * w, c);                                                                       \
        PUT(dst + 3 * w, d);                                                                       \
    }                                                                                              \
    ISA static inline void NAME(sum##_width)(TO * dst, const TYPE *const *src, size_t nsrc,        \
                                             size_t t)                                             \
    {                                                                                              \
        NAME(VEC) a = GET(src[0] + t);                                                             \
        for (size_t k = 1; k < nsrc; k++)                                                          \
            a += GET(src[k] + t);                                                                  \
        PUT(dst, a);                                                                               \
    }                                                                                              \
    ISA static inline void NAME(sum)(TO * dst, const TYPE *const *src, size_t nsrc, size_t n)      \
    {                                                                                              \
        size_t t = 0;                                                                              \
        for (; t + 4 * NAME(WIDTH) <= n; t += 4 * NAME(WIDTH))                                     \
            NAME(sum##_span)(dst + t, src, nsrc, t);                                               \
        for (; t < n; t += NAME(WIDTH))                                                            \
            NAME(sum##_width)(dst + t, src, nsrc, t);                                              \
    }

DEFINE_SUM(sum_nodes, NODE, GET_NODE, NODE, vec, width, PUT_NODE)
DEFINE_SUM(sum_stores, STORE, GET_STORE, NODE, vec, width, PUT_NODE)
DEFINE_SUM(widen_nodes, NODE, GET_NARROW, TOTAL, wide, wide_width, PUT_WIDE)
DEFINE_SUM(sum_wide, TOTAL, GET_WIDE, TOTAL, wide, wide_width, PUT_WIDE)

/* A product with the reciprocal has the bits of the quotient where downsamp is a power of two. */
ISA static inline void NAME(convert)(float *restrict out, const TOTAL *restrict total, size_t n,
                                     double bias, double downsamp)
{
    double factor = 1 / downsamp;
    if (factor * downsamp == 1 && __builtin_popcount((unsigned)downsamp) == 1)
        for (size_t j = 0; j < n; j++)
            out[j] = (float)(((double)total[j] - bias) * factor);
    else
        for (size_t j = 0; j < n; j++)
            out[j] = (float)(((double)total[j] - bias) / downsamp);
}

/* Adds n lanes to a trial's total, at sample t of the tile. */
ISA static inline void NAME(total)(const struct psr_tile *tile, int32_t head, size_t trial,
                                   size_t t, const NODE *restrict lane, size_t n)
{
    TOTAL *restrict total = (TOTAL *)tile->total + trial * tile->trial_stride + t;
    if (head & PSR_STEP_FIRST)
        for (size_t j = 0; j < n; j++)
            total[j] = lane[j];
    else
        for (size_t j = 0; j < n; j++)
            total[j] += lane[j];
    if (!(head & PSR_STEP_LAST))
        return;
    size_t valid = tile->nsamp > t ? tile->nsamp - t : 0;
    float *out = tile->out + trial * tile->out_stride + t;
    NAME(convert)(out, total, valid < n ? valid : n, tile->bias, tile->downsamp);
}

ISA static void NAME(close_trial)(const struct psr_tile *tile, int32_t head, size_t trial,
                                  const NODE *const *src, size_t nsrc)
{
    _Alignas(64) NODE lane[NAME(span)];
    size_t t = 0;
    for (; t + NAME(span) <= tile->length; t += NAME(span)) {
        NAME(sum_nodes_span)(lane, src, nsrc, t);
        NAME(total)(tile, head, trial, t, lane, NAME(span));
    }
    for (; t < tile->length; t += NAME(width)) {
        NAME(sum_nodes_width)(lane, src, nsrc, t);
        NAME(total)(tile, head, trial, t, lane, NAME(width));
    }
}

ISA static const int32_t *NAME(run_trial)(const struct psr_tile *tile, const int32_t *code)
{
    const NODE *src[PSR_MAXSRC];
    int32_t head = code[0];
    size_t nsrc = (size_t)(head >> PSR_STEP_SHIFT), trial = (size_t)code[1], k = 0;
    NODE *so_far = (NODE *)tile->scratch + trial * tile->trial_stride;
    for (; k < nsrc; k++)
        src[k] = (const NODE *)tile->scratch + code[2 + k];
    if (!(head & PSR_STEP_OPEN))
        src[k++] = so_far;
    if (head & PSR_STEP_CLOSE)
        NAME(close_trial)(tile, head, trial, src, k);
    else
        NAME(sum_nodes)(so_far, src, k, tile->length);
    return code + 2 + nsrc;
}

ISA static const int32_t *NAME(run_node)(const struct psr_tile *tile, const int32_t *code)
{
    const NODE *src[PSR_MAXSRC];
    NODE *scratch = tile->scratch;
    size_t nsrc = (size_t)(code[0] >> PSR_STEP_SHIFT);
    for (size_t k = 0; k < nsrc; k++)
        src[k] = scratch + code[3 + k];
    NAME(sum_nodes)(scratch + code[1], src, nsrc, tile->length + (size_t)code[2]);
    return code + 3 + nsrc;
}

/* Where a channel's sample at this delay is in its ring, and in *left how many follow it there. */
static inline const STORE *NAME(find_in_ring)(const struct psr_tile *tile, int32_t channel,
                                              int32_t delay, int32_t *left)
{
    const struct psr_ring *ring = tile->ring + channel;
    int32_t at = ring->head + tile->first + delay - ring->least;
    while (at >= ring->size)
        at -= ring->size;
    *left = ring->size - at;
    return (const STORE *)ring->base + at;
}

/* A leaf of channels in rings: whole registers up to where the next ring ends. */
ISA static void NAME(sum_rings)(const struct psr_tile *tile, const int32_t *code, size_t nsrc)
{
    const STORE *src[PSR_MAXSRC];
    int32_t left[PSR_MAXSRC], n = (int32_t)tile->length + code[2];
    NODE *dst = (NODE *)tile->scratch + code[1];
    for (size_t k = 0; k < nsrc; k++)
        src[k] = NAME(find_in_ring)(tile, code[3 + 2 * k], code[4 + 2 * k], left + k);
    while (n > 0) {
        int32_t step = n;
        for (size_t k = 0; k < nsrc; k++) {
            int32_t up = (left[k] + PSR_LANE_ROUND - 1) / PSR_LANE_ROUND * PSR_LANE_ROUND;
            step = up < step ? up : step;
        }
        NAME(sum_stores)(dst, src, nsrc, (size_t)step);
        dst += step;
        n -= step;
        for (size_t k = 0; k < nsrc; k++) {
            int32_t back = left[k] <= step ? tile->ring[code[3 + 2 * k]].size : 0;
            src[k] += step - back;
            left[k] += back - step;
        }
    }
}

ISA static const int32_t *NAME(run_leaf)(const struct psr_tile *tile, const int32_t *code)
{
    const STORE *src[PSR_MAXSRC];
    size_t nsrc = (size_t)(code[0] >> PSR_STEP_SHIFT);
    if (tile->ring) {
        NAME(sum_rings)(tile, code, nsrc);
        return code + 3 + 2 * nsrc;
    }
    for (size_t k = 0; k < nsrc; k++)
        src[k] =
            (const STORE *)tile->runs + (size_t)code[3 + 2 * k] * tile->stride + code[4 + 2 * k];
    NAME(sum_stores)((NODE *)tile->scratch + code[1], src, nsrc, tile->length + (size_t)code[2]);
    return code + 3 + 2 * nsrc;
}

/* The steps of the tree algorithm whose sums need wide lanes: of nodes, and of wide nodes. */
#define DEFINE_WIDE(step, TYPE, sum)                                                               \
    ISA static const int32_t *NAME(run_##step)(const struct psr_tile *tile, const int32_t *code)   \
    {                                                                                              \
        const TYPE *src[PSR_MAXSRC];                                                               \
        size_t nsrc = (size_t)(code[0] >> PSR_STEP_SHIFT);                                         \
        for (size_t k = 0; k < nsrc; k++)                                                          \
            src[k] = (const TYPE *)tile->scratch + code[3 + k];                                    \
        NAME(sum)((TOTAL *)tile->scratch + code[1], src, nsrc, tile->length + (size_t)code[2]);    \
        return code + 3 + nsrc;                                                                    \
    }                                                                                              \
    ISA static const int32_t *NAME(run_##step##_out)(const struct psr_tile *tile,                  \
                                                     const int32_t *code)                          \
    {                                                                                              \
        _Alignas(64) TOTAL total[NAME(wide_span)];                                                 \
        const TYPE *src[PSR_MAXSRC];                                                               \
        const size_t nsrc = (size_t)(code[0] >> PSR_STEP_SHIFT), span = NAME(wide_span);           \
        float *out = tile->out + (size_t)code[1] * tile->out_stride;                               \
        double bias = tile->row_bias ? tile->row_bias[code[1]] : tile->bias;                       \
        for (size_t k = 0; k < nsrc; k++)                                                          \
            src[k] = (const TYPE *)tile->scratch + code[2 + k];                                    \
        for (size_t t = 0; t < tile->nsamp; t += span) {                                           \
            size_t n = tile->nsamp - t < span ? tile->nsamp - t : span;                            \
            NAME(sum##_span)(total, src, nsrc, t);                                                 \
            NAME(convert)(out + t, total, n, bias, tile->downsamp);                                \
        }                                                                                          \
        return code + 2 + nsrc;                                                                    \
    }

DEFINE_WIDE(widen, NODE, widen_nodes)
DEFINE_WIDE(wide, TOTAL, sum_wide)

/* Prefetches the samples of the next group while this one is summed: the run of each channel is too
 * short for the hardware prefetcher. */
ISA static const int32_t *NAME(run_fetch)(const struct psr_tile *tile, const int32_t *code)
{
    size_t nsrc = (size_t)(code[0] >> PSR_STEP_SHIFT);
    code++;
    for (size_t k = 0; k < nsrc; k++, code += 3) {
        int32_t n = (int32_t)tile->length + code[2], left = n;
        const STORE *src =
            tile->ring ? NAME(find_in_ring)(tile, code[0], code[1], &left)
                       : (const STORE *)tile->runs + (size_t)code[0] * tile->stride + code[1];
        const char *at = (const char *)src, *end = (const char *)(src + (left < n ? left : n));
        for (; at < end; at += 64)
            __builtin_prefetch(at, 0, 2);
    }
    return code;
}

ISA static void NAME(run)(const struct psr_tile *tile)
{
    const int32_t *code = tile->program->code, *end = code + tile->program->ncode;
    while (code < end)
        switch (*code & PSR_STEP_KIND) {
        case PSR_STEP_LEAF:
            code = NAME(run_leaf)(tile, code);
            break;
        case PSR_STEP_NODE:
            code = NAME(run_node)(tile, code);
            break;
        case PSR_STEP_FETCH:
            code = NAME(run_fetch)(tile, code);
            break;
        case PSR_STEP_WIDEN:
            code = NAME(run_widen)(tile, code);
            break;
        case PSR_STEP_WIDE:
            code = NAME(run_wide)(tile, code);
            break;
        case PSR_STEP_OUT:
            code = NAME(run_widen_out)(tile, code);
            break;
        case PSR_STEP_OUTW:
            code = NAME(run_wide_out)(tile, code);
            break;
        default:
            code = NAME(run_trial)(tile, code);
        }
}

#undef GET_NODE
#undef GET_STORE
#undef GET_WIDE
#undef GET_NARROW
#undef PUT_NODE
#undef PUT_WIDE
#undef DEFINE_SUM
#undef DEFINE_WIDE
