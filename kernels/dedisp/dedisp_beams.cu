/* Tree dedispersion of beams that arrive: one level of rows, for all of a block of spectra.
 *
 * Thread block: a group of adjacent rows of a sub-band x tiles of 512 samples, a warp a row at a time,
 * a lane two times eight samples next to each other; the grid is (tiles, groups), and a thread block
 * goes on where there are more tiles.  Tiles are of equal time, not of equal elements, so that rows
 * that share a source read the same part of it while it is in the first cache.  A source begins at any
 * element: lanes load the two vectors around theirs and shift, which is the same for all lanes.
 * Bound: instructions, 2.3 times what device memory would allow, each row written and read once; then the
 * first cache, 16 wavefronts for 512 samples of a source of 16 bits. */
#include "dedisp/dedisp_beams_kernels.h"
#include "dedisp/dedisp_beams_sums.cuh"

namespace
{

constexpr int THREADS = 256, WARPS = THREADS / WARP;

/* --- where sources are ------------------------------------------------------------------------ */

constexpr int SPAN = 8 * WARP, COUNT = BEAMS_TILE / SPAN; /* of a warp; of a lane */

/* Elements 0 to n are wanted; mine is that of a lane's first vector, counted from u.  Beyond them there
 * is memory to read, but for circles. */
template <class T> struct part {
    int64_t u, n;
    int mine;

    __device__ __forceinline__ bool has(int c) const
    {
        return u + mine + c * SPAN >= 0 && u + mine + c * SPAN < n;
    }
    __device__ __forceinline__ void load(const T *from, vectors<T> (&v)[COUNT]) const
    {
#pragma unroll
        for (int c = 0; c < COUNT; c++)
            v[c].set(from + c * SPAN, from + c * SPAN + 8);
    }
};

/* Rows of the level below. */
template <class T> struct linear {
    const T *in;
    int64_t at;

    __device__ __forceinline__ int shift() const
    {
        return (int)(at & 7);
    }
    __device__ __forceinline__ void load(const part<T> &p, vectors<T> (&v)[COUNT]) const
    {
        p.load(in + (at & ~(int64_t)7) + p.u + p.mine, v);
    }
};

/* A channel's circle. */
template <class T> struct circle {
    const T *in;
    int32_t at, size;

    __device__ __forceinline__ int shift() const
    {
        return at & 7;
    }
    __device__ __forceinline__ void load(const part<T> &p, vectors<T> (&v)[COUNT]) const
    {
        int32_t first = (at & ~7) + (int32_t)p.u;
        first = first >= size ? first - size : first;
        if (first >= 0 && first + BEAMS_TILE + 8 <= size) {
            p.load(in + first + p.mine, v);
            return;
        }
#pragma unroll
        for (int c = 0; c < COUNT; c++) {
            int32_t e = first + p.mine + c * SPAN;
            e = e >= size ? e - size : e;
            v[c] = {};
            if (p.has(c))
                v[c].set(in + e, in + (e + 8 == size ? 0 : e + 8));
        }
    }
};

template <class T>
__device__ __forceinline__ linear<T> source_of(const struct beams_k_level &s, int64_t source,
                                               linear<T> *)
{
    return {(const T *)s.d_in, source};
}

template <class T>
__device__ __forceinline__ circle<T> source_of(const struct beams_k_level &s, int64_t source,
                                               circle<T> *)
{
    const int32_t k = (int32_t)(source >> 32), size = __ldg(s.circles.d_size + k);
    const int32_t at = __ldg(s.circles.d_head + k) + (int32_t)(source & 0xffffffff);
    return {(const T *)s.d_in + __ldg(s.circles.d_at + k), at >= size ? at - size : at, size};
}

/* --- a level ---------------------------------------------------------------------------------- */

/* Sources go in twos, so that the next one's loads do not wait for the first. */
template <class FROM, class T, class SUMS>
__device__ __forceinline__ void make_row(const struct beams_k_level &s,
                                         const struct beams_k_row &row, uint32_t number, int64_t u,
                                         int64_t n)
{
    const part<T> p = {u, n, 8 * (int)(threadIdx.x % WARP)};
    const int64_t *const source = s.d_source + row.src;
    SUMS sum[COUNT] = {};
    for (uint32_t j = 0; j < row.nsrc; j += 2) {
        const bool two = j + 1 < row.nsrc;
        const FROM a = source_of(s, __ldg(source + j), (FROM *)0);
        const FROM b = source_of(s, __ldg(source + (two ? j + 1 : j)), (FROM *)0);
        vectors<T> va[COUNT], vb[COUNT];
        a.load(p, va);
        if (two)
            b.load(p, vb);
        add_vectors(sum, va, a.shift());
        if (two)
            add_vectors(sum, vb, b.shift());
    }
    const double bias = s.d_bias ? s.d_bias[number] : 0;
    typename SUMS::lane *const to = (typename SUMS::lane *)s.d_out + row.at + u + p.mine;
#pragma unroll
    for (int c = 0; c < COUNT; c++)
        if (p.has(c))
            sum[c].put(to + c * SPAN, bias, s.divisor);
}

template <class FROM, class T, class SUMS>
__global__ void __launch_bounds__(THREADS)
    make_rows(const struct beams_k_level s, const uint32_t first)
{
    const struct beams_k_group g = s.d_group[first + blockIdx.y];
    const int64_t end = g.hi + (int64_t)s.n + 8; /* elements are rounded down to vectors */
    for (int64_t v = g.lo + (int64_t)blockIdx.x * BEAMS_TILE; v < end;
         v += (int64_t)gridDim.x * BEAMS_TILE)
        for (uint32_t r = threadIdx.x / WARP; r < g.nrow; r += WARPS) {
            const struct beams_k_row row = s.d_row[g.row + r];
            const int64_t u = (v - row.lo) & ~(int64_t)7, n = (int64_t)s.n + row.extra;
            if (u + BEAMS_TILE > 0 && u < n)
                make_row<FROM, T, SUMS>(s, row, g.row + r, u, n);
        }
}

typedef void kernel(struct beams_k_level, uint32_t);

template <class T, class SUMS> kernel *choose_input(bool ring)
{
    return ring ? make_rows<circle<T>, T, SUMS> : make_rows<linear<T>, T, SUMS>;
}

/* NULL: rows would be narrower than their sources. */
kernel *choose_kernel(const struct beams_k_level *s)
{
    const bool ring = s->ring != 0;
    if (s->in == BEAMS_8)
        return s->out == BEAMS_8    ? choose_input<uint8_t, sums_8>(ring)
               : s->out == BEAMS_16 ? choose_input<uint8_t, sums_16>(ring)
               : s->out == BEAMS_32 ? choose_input<uint8_t, sums_32<uint32_t>>(ring)
                                    : choose_input<uint8_t, sums_32<float>>(ring);
    if (s->in == BEAMS_16)
        return s->out == BEAMS_16   ? choose_input<uint16_t, sums_16>(ring)
               : s->out == BEAMS_32 ? choose_input<uint16_t, sums_32<uint32_t>>(ring)
               : s->out == BEAMS_8  ? NULL
                                    : choose_input<uint16_t, sums_32<float>>(ring);
    return s->out == BEAMS_32      ? choose_input<uint32_t, sums_32<uint32_t>>(ring)
           : s->out == BEAMS_FLOAT ? choose_input<uint32_t, sums_32<float>>(ring)
                                   : NULL;
}

} // namespace

extern "C" cudaError_t beams_k_run(const struct beams_k_level *level, cudaStream_t stream)
{
    kernel *const run = choose_kernel(level);
    const size_t ntile = (level->n + BEAMS_TILE - 1) / BEAMS_TILE + 1;
    cudaError_t e = run ? cudaSuccess : cudaErrorInvalidValue;
    for (size_t first = 0; first < level->ngroup && level->n && !e; first += BEAMS_LAUNCH) {
        const size_t left = level->ngroup - first;
        const dim3 grid((unsigned)ntile, (unsigned)(left < BEAMS_LAUNCH ? left : BEAMS_LAUNCH));
        run<<<grid, THREADS, 0, stream>>>(*level, (uint32_t)first);
        e = cudaGetLastError();
    }
    return e;
}
