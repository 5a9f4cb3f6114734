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

/* --- circles ------------------------------------------------------------------------------------- */

/* Entering: a thread block turns 64 outputs x 64 channels, 256 threads; threads next to each other read
 * channels next to each other, and write outputs next to each other from shared memory.  Bound: issue
 * slots, as samples are read one by one.
 *
 * Sums: a thread a sum, a thread block 1024 of a channel.  Bound: device memory. */

namespace
{

constexpr int SIDE = 64, THREADS = 256, EACH = THREADS / SIDE, SUMS = 1024;

__device__ __forceinline__ int32_t place_of(int64_t sample, int32_t size)
{
    const int64_t at = sample % size;
    return (int32_t)(at < 0 ? at + size : at);
}

__global__ void __launch_bounds__(THREADS) set_heads(const struct beams_k_circles c, int64_t first,
                                                     const int32_t *before_size, int64_t ratio)
{
    const size_t k = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (k >= c.nkept)
        return;
    const int64_t enters = first - c.d_skip[k];
    c.d_head[k] = place_of(first - c.d_back[k], c.d_size[k]);
    c.d_enter[k] = place_of(enters, c.d_size[k]);
    if (before_size)
        c.d_from[k] = place_of(enters * ratio, before_size[k]);
}

/* --- spectra ---------------------------------------------------------------------------------- */

__device__ __forceinline__ uint32_t sample_of(const struct beams_k_spectra &s, size_t t, uint32_t c)
{
    const uint8_t *row = (const uint8_t *)s.d_in + t * s.row_bytes;
    const size_t bit = (size_t)c * s.nbit;
    const uint32_t mask = s.nbit < 16 ? (1u << s.nbit) - 1 : 0xffff;
    uint32_t x = row[bit / 8];
    if (s.nbit == 16)
        x |= (uint32_t)row[bit / 8 + 1] << 8;
    return ((x >> bit % 8) + s.bias) & mask;
}

/* Output j: what came before belongs to the first one. */
__device__ __forceinline__ uint32_t sum_of(const struct beams_k_spectra &s, size_t j, size_t k)
{
    const size_t from = j ? j * s.downsamp - s.before : 0;
    const size_t end = (j + 1) * s.downsamp - s.before;
    const uint32_t c = s.d_chan[k];
    uint32_t sum = j || !s.before ? 0 : s.d_partial[k];
    for (size_t t = from; t < end && t < s.nsamp; t++)
        sum += sample_of(s, t, c);
    return sum;
}

/* Outputs of channel k0 + lane, of 64. */
__device__ __forceinline__ void read_column(const struct beams_k_spectra &s, size_t j0, size_t k,
                                            size_t nout, int lane, uint32_t (*sum)[SIDE + 1])
{
    const uint32_t c = s.d_chan[k], mask = s.nbit < 16 ? (1u << s.nbit) - 1 : 0xffff;
    const size_t bit = (size_t)c * s.nbit;
    const uint8_t *at = (const uint8_t *)s.d_in + (j0 + threadIdx.x / SIDE) * s.row_bytes + bit / 8;
    const int end = nout - j0 < SIDE ? (int)(nout - j0) : SIDE, shift = (int)(bit % 8);
    if (s.downsamp == 1 && s.nbit <= 8)
        for (int i = threadIdx.x / SIDE; i < end; i += EACH, at += EACH * s.row_bytes)
            sum[i][lane] = ((uint32_t)*at >> shift) + s.bias & mask;
    else
        for (int i = threadIdx.x / SIDE; i < end; i += EACH)
            sum[i][lane] = sum_of(s, j0 + i, k);
}

template <class T> struct alignas(4 * sizeof(T)) four {
    T x[4];
};

/* Four outputs of a thread go together if the circle's end and the block's are not between them. */
template <class T>
__device__ __forceinline__ void write_row(const struct beams_k_circles &c, T *ring, size_t k,
                                          size_t j, size_t nout, int i, int q,
                                          const uint32_t (*sum)[SIDE + 1])
{
    const int32_t size = c.d_size[k], enter = c.d_enter[k];
    const int64_t at = enter + (int64_t)j;
    T *const to = ring + c.d_at[k];
    if (enter % 4 == 0 && j + 4 <= nout) {
        *(four<T> *)(to + (at >= size ? at - size : at)) = {
            {(T)sum[q][i], (T)sum[q + 1][i], (T)sum[q + 2][i], (T)sum[q + 3][i]}};
        return;
    }
    for (int e = 0; e < 4 && j + e < nout; e++)
        to[at + e >= size ? at + e - size : at + e] = (T)sum[q + e][i];
}

template <class T>
__global__ void __launch_bounds__(THREADS)
    push_spectra(const struct beams_k_circles c, T *ring, const struct beams_k_spectra s,
                 const size_t nout)
{
    __shared__ uint32_t sum[SIDE][SIDE + 1];
    const size_t j0 = (size_t)blockIdx.x * SIDE, k0 = (size_t)blockIdx.y * SIDE;
    const int lane = threadIdx.x % SIDE, q = threadIdx.x % (SIDE / 4) * 4;
    if (k0 + lane < c.nkept)
        read_column(s, j0, k0 + lane, nout, lane, sum);
    __syncthreads();
    for (int i = threadIdx.x / (SIDE / 4); i < SIDE; i += THREADS / (SIDE / 4))
        if (k0 + i < c.nkept && j0 + q < nout)
            write_row(c, ring, k0 + i, j0 + q, nout, i, q, sum);
}

/* What is not complete after nout outputs. */
__global__ void __launch_bounds__(THREADS)
    keep_partial(const struct beams_k_spectra s, const size_t nkept, const size_t nout)
{
    const size_t k = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (k < nkept)
        s.d_partial[k] = sum_of(s, nout, k);
}

template <class T>
cudaError_t push(const struct beams_k_circles *c, void *d_ring, const struct beams_k_spectra *s,
                 size_t nout, cudaStream_t stream)
{
    const dim3 grid((unsigned)((nout + SIDE - 1) / SIDE), (unsigned)((c->nkept + SIDE - 1) / SIDE));
    if (nout)
        push_spectra<T><<<grid, THREADS, 0, stream>>>(*c, (T *)d_ring, *s, nout);
    return cudaGetLastError();
}

/* --- sums of samples -------------------------------------------------------------------------- */

template <class FROM, class TO>
__global__ void __launch_bounds__(THREADS)
    sum_samples(const struct beams_k_circles c, TO *ring, const struct beams_k_circles b,
                const FROM *before, const uint32_t ratio, const size_t n)
{
    const size_t k = blockIdx.y;
    const int32_t size = c.d_size[k], before_size = b.d_size[k];
    const int64_t enter = c.d_enter[k], from = c.d_from[k];
    TO *const to = ring + c.d_at[k];
    const FROM *const x = before + b.d_at[k];
    const size_t j0 = (size_t)blockIdx.x * SUMS, j1 = min(j0 + SUMS, n);
    for (size_t j = j0 + threadIdx.x; j < j1; j += THREADS) {
        int64_t at = from + (int64_t)(j * ratio);
        uint32_t sum = 0;
        at = at >= before_size ? at - before_size : at;
        for (uint32_t u = 0; u < ratio; u++) {
            sum += x[at];
            at = at + 1 == before_size ? 0 : at + 1;
        }
        at = enter + (int64_t)j;
        to[at >= size ? at - size : at] = (TO)sum;
    }
}

template <class FROM, class TO>
cudaError_t sum(const struct beams_k_circles *c, void *d_ring, const struct beams_k_circles *before,
                const void *d_before, size_t ratio, size_t n, cudaStream_t stream)
{
    const dim3 grid((unsigned)((n + SUMS - 1) / SUMS), (unsigned)c->nkept);
    sum_samples<FROM, TO><<<grid, THREADS, 0, stream>>>(*c, (TO *)d_ring, *before,
                                                        (const FROM *)d_before, (uint32_t)ratio, n);
    return cudaGetLastError();
}

/* --- fill ------------------------------------------------------------------------------------- */

template <class T>
__global__ void __launch_bounds__(THREADS) fill_ring(T *ring, const size_t n, const uint32_t value)
{
    for (size_t t = (size_t)blockIdx.x * THREADS + threadIdx.x; t < n;
         t += (size_t)gridDim.x * THREADS)
        ring[t] = (T)value;
}

constexpr unsigned FILL = 1024;

} // namespace

extern "C" cudaError_t beams_k_turn(const struct beams_k_circles *c, int64_t first,
                                    const struct beams_k_circles *before, size_t ratio,
                                    cudaStream_t stream)
{
    const unsigned n = (unsigned)((c->nkept + THREADS - 1) / THREADS);
    set_heads<<<n, THREADS, 0, stream>>>(*c, first, before ? before->d_size : NULL, (int64_t)ratio);
    return cudaGetLastError();
}

extern "C" cudaError_t beams_k_push(const struct beams_k_circles *c, void *d_ring,
                                    const struct beams_k_spectra *s, cudaStream_t stream)
{
    const size_t nout = (s->before + s->nsamp) / s->downsamp;
    const unsigned n = (unsigned)((c->nkept + THREADS - 1) / THREADS);
    cudaError_t e = c->kind == BEAMS_8    ? push<uint8_t>(c, d_ring, s, nout, stream)
                    : c->kind == BEAMS_16 ? push<uint16_t>(c, d_ring, s, nout, stream)
                                          : push<uint32_t>(c, d_ring, s, nout, stream);
    if (e || s->downsamp == 1)
        return e;
    keep_partial<<<n, THREADS, 0, stream>>>(*s, c->nkept, nout);
    return cudaGetLastError();
}

extern "C" cudaError_t beams_k_sum(const struct beams_k_circles *c, void *d_ring,
                                   const struct beams_k_circles *before, const void *d_before,
                                   size_t ratio, size_t n, cudaStream_t stream)
{
    if (!n)
        return cudaSuccess;
    if (before->kind == BEAMS_8)
        return c->kind == BEAMS_8
                   ? sum<uint8_t, uint8_t>(c, d_ring, before, d_before, ratio, n, stream)
               : c->kind == BEAMS_16
                   ? sum<uint8_t, uint16_t>(c, d_ring, before, d_before, ratio, n, stream)
                   : sum<uint8_t, uint32_t>(c, d_ring, before, d_before, ratio, n, stream);
    if (before->kind == BEAMS_16)
        return c->kind == BEAMS_16
                   ? sum<uint16_t, uint16_t>(c, d_ring, before, d_before, ratio, n, stream)
                   : sum<uint16_t, uint32_t>(c, d_ring, before, d_before, ratio, n, stream);
    return sum<uint32_t, uint32_t>(c, d_ring, before, d_before, ratio, n, stream);
}

extern "C" cudaError_t beams_k_fill(void *d_ring, enum beams_k_kind kind, size_t n, uint32_t value,
                                    cudaStream_t stream)
{
    if (kind == BEAMS_8)
        fill_ring<<<FILL, THREADS, 0, stream>>>((uint8_t *)d_ring, n, value);
    else if (kind == BEAMS_16)
        fill_ring<<<FILL, THREADS, 0, stream>>>((uint16_t *)d_ring, n, value);
    else
        fill_ring<<<FILL, THREADS, 0, stream>>>((uint32_t *)d_ring, n, value);
    return cudaGetLastError();
}

namespace
{

constexpr int WARPS = THREADS / WARP;

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
