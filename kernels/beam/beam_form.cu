/* beam_form.cu: voltages to sums of |E|^2 on the half-integer grid, on tensor cores.
 *
 * A thread block computes one sum (up to T_ds samples) of one frequency, in batches, or a part of it
 * if there are too few sums to occupy all multiprocessors; a second kernel adds the parts in order.
 * A thread loads 4 dishes in rows of 2 samples x 2 polarisations; transposing 4 x 4 bytes makes one
 * word of a dish's 4 voltages, which goes to shared memory.  Words are read back in the order of the
 * grid, two neighbouring dishes per thread, unpacked to halves, multiplied by the weights (which stay
 * in registers), and written as 8 x 8 matrices for ldmatrix (below); then each warp
 * transforms (beam_fft.cuh).  The host chooses the slots of words so that neither writing nor
 * reading has bank conflicts, whatever the order of dishes.
 *
 * 24 x 24: 96 threads, 4 blocks a multiprocessor, 11.8 KB of shared memory. */
#include "beam/beam_fft.cuh"
#include "beam/beam_kernels.h"

/* --- from voltages to weighted halves ------------------------------------------------------------ */

/* Converts a batch of voltages to words of one dish, and these to weighted halves in
 * the order of the grid: the steps before the transforms. */

namespace
{

struct form_args {
    struct beam_k_input in;
    struct beam_k_tensor tensor;
    struct beam_k_grid out;
    unsigned nsum, nsplit; /* sums of a channel; thread blocks of a sum */
};

#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800

/* --- voltages to words of one dish ------------------------------------------------------------ */

/* Where a thread loads and stores voltages. */
template <class S> struct beam_reader {
    uint32_t raw[S::LOADS][4];
    const uint8_t *from[S::LOADS]; /* first of four dishes, at the next batch's first sample */
    ushort4 slot[S::LOADS];
    int quad[S::LOADS]; /* -1: this thread has none */
};

template <class S>
__device__ __forceinline__ void place_reader(beam_reader<S> &r, const form_args &a, uint32_t t)
{
    const size_t row = a.in.ndish, sample = 2 * row * a.in.nfreq;
    for (int k = 0; k < S::LOADS; k++) {
        int item = (int)threadIdx.x + k * S::THREADS, dish = item % S::ITEMS * 4;
        int quad = item / S::ITEMS;
        r.quad[k] = quad < S::QUADS && dish < (int)a.in.ndish ? quad : -1;
        if (r.quad[k] < 0)
            continue;
        r.slot[k] = *reinterpret_cast<const ushort4 *>(a.tensor.d_write + dish);
        r.from[k] = a.in.d_in + (t + 2 * quad) * sample + blockIdx.x * 2 * row + dish;
    }
}

__device__ __forceinline__ uint32_t load_four(const uint8_t *from)
{
    return __ldcs(reinterpret_cast<const unsigned *>(from));
}

/* The batch that begins at t; samples beyond the end are 0. */
template <class S>
__device__ __forceinline__ void load_voltages(beam_reader<S> &r, const form_args &a, uint32_t t,
                                              uint32_t end)
{
    const size_t row = a.in.ndish, sample = 2 * row * a.in.nfreq;
    const uint32_t silent = a.in.flip * 0x01010101u;
    for (int k = 0; k < S::LOADS; k++) {
        if (r.quad[k] < 0)
            continue;
        const uint8_t *p = r.from[k];
        uint32_t at = t + 2 * r.quad[k];
        r.raw[k][0] = at < end ? load_four(p) : silent;
        r.raw[k][1] = at < end ? load_four(p + row) : silent;
        p += sample;
        r.raw[k][2] = at + 1 < end ? load_four(p) : silent;
        r.raw[k][3] = at + 1 < end ? load_four(p + row) : silent;
        r.from[k] += 2 * S::QUADS * sample;
    }
}

template <class S>
__device__ __forceinline__ void store_words(const beam_reader<S> &r, uint32_t *word)
{
    for (int k = 0; k < S::LOADS; k++) {
        if (r.quad[k] < 0)
            continue;
        const uint32_t *x = r.raw[k];
        uint32_t lo = __byte_perm(x[0], x[1], 0x5140), hi = __byte_perm(x[2], x[3], 0x5140);
        uint32_t lo2 = __byte_perm(x[0], x[1], 0x7362), hi2 = __byte_perm(x[2], x[3], 0x7362);
        uint32_t *to = word + r.quad[k] * S::SLOTS;
        to[r.slot[k].x] = __byte_perm(lo, hi, 0x5410);
        to[r.slot[k].y] = __byte_perm(lo, hi, 0x7632);
        to[r.slot[k].z] = __byte_perm(lo2, hi2, 0x5410);
        to[r.slot[k].w] = __byte_perm(lo2, hi2, 0x7632);
    }
}

/* --- words to weighted halves in the order of the grid ---------------------------------------- */

/* A thread's pairs of places: their slots, and their weights as (dish a, dish b). */
template <class S> struct beam_gridder {
    ushort2 slot[S::PLACES];
    __half2 re[S::PLACES][2], im[S::PLACES][2];
    uint32_t low, high; /* constants that make a half from a nibble */
};

/* A nibble x in the low bits of 1024 makes 1024 + x, and in the four bits above 1024 + 16 x. */
template <class S>
__device__ __forceinline__ void place_gridder(beam_gridder<S> &g, const form_args &a)
{
    const uint2 *weight =
        static_cast<const uint2 *>(a.tensor.d_weight) + (size_t)blockIdx.x * 2 * S::WORDS;
    const uint32_t flip = (0x88 ^ a.in.flip) * 0x00010001u; /* to offset binary */
    g.low = 0x64006400u ^ (flip & 0x000f000fu);
    g.high = 0x64006400u ^ (flip & 0x00f000f0u);
    for (int k = 0; k < S::PLACES; k++) {
        int i = ((int)threadIdx.x + k * S::THREADS) % S::WORDS;
        g.slot[k] = reinterpret_cast<const ushort2 *>(a.tensor.d_read)[i];
        for (int pol = 0; pol < 2; pol++) {
            uint2 w = weight[pol * S::WORDS + i];
            g.re[k][pol] = as_half2(w.x);
            g.im[k][pol] = as_half2(w.y);
        }
    }
}

/* (x & mask) ^ magic in one instruction. */
__device__ __forceinline__ __half2 pick_nibble(uint32_t x, uint32_t mask, uint32_t magic)
{
    uint32_t y;
    asm("lop3.b32 %0,%1,%2,%3,0x6a;" : "=r"(y) : "r"(x), "r"(mask), "r"(magic));
    return as_half2(y);
}

template <class S>
__device__ __forceinline__ void grid_voltages(const beam_gridder<S> &g, const uint32_t *word,
                                              uint32_t *half)
{
    for (int k = 0; k < S::ROUNDS; k++) {
        const int i = (int)threadIdx.x + k * S::THREADS, place = k % S::PLACES;
        const int quad = i / S::WORDS;
        const uint32_t *from = word + quad * S::SLOTS;
        uint32_t a = from[g.slot[place].x], b = from[g.slot[place].y];
        uint32_t *to = half + quad * 4 * S::SAMPLE_WORDS + i % S::WORDS;
        for (int t = 0; t < 2; t++) { /* both polarisations of one time */
            uint32_t both = __byte_perm(a, b, t ? 0x7632 : 0x5410);
            for (int pol = 0; pol < 2; pol++, both >>= 8, to += S::SAMPLE_WORDS) {
                __half2 lo = pick_nibble(both, 0x000f000fu, g.low);
                __half2 hi = pick_nibble(both, 0x00f000f0u, g.high);
                lo = __hadd2(lo, __float2half2_rn(-1032));
                hi = __hfma2(hi, __float2half2_rn(0.0625f), __float2half2_rn(-72));
                __half2 wr = g.re[place][pol], wi = g.im[place][pol];
                to[0] = as_word(__hfma2(hi, wr, __hneg2(__hmul2(lo, wi))));
                to[S::WORDS] = as_word(__hfma2(hi, wi, __hmul2(lo, wr)));
            }
        }
    }
}

#endif

} // namespace

namespace
{

/* Samples in a part of a sum, about: enough to outweigh a thread block's other work. */
constexpr int SPLIT_SAMPLES = 16;

#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800

/* --- one sum ---------------------------------------------------------------------------------- */

/* Samples begin .. end - 1 of this call belong to a sum; "carried" says that others came earlier.
 */
struct beam_span {
    uint32_t begin, end;
    bool carried, complete;
};

__device__ __forceinline__ beam_span find_span(const form_args &a, uint32_t k)
{
    const uint32_t tds = a.in.d_tds[blockIdx.x], nt = (uint32_t)a.in.nt;
    const uint64_t begun = a.in.t0 % tds, from = (uint64_t)k * tds, to = from + tds;
    beam_span s;
    s.begin = from > begun ? (uint32_t)min(from - begun, (uint64_t)nt) : 0;
    s.end = (uint32_t)min(to - begun, (uint64_t)nt);
    s.carried = k == 0 && begun;
    s.complete = to - begun <= nt;
    return s;
}

/* Samples of each of nsplit parts, in whole batches. */
template <class S>
__device__ __forceinline__ uint32_t split_span(const form_args &a, const beam_span &s)
{
    const uint32_t batches = (s.end - s.begin + 2 * S::QUADS - 1) / (2 * S::QUADS);
    return (batches + a.nsplit - 1) / a.nsplit * 2 * S::QUADS;
}

/* Where this block's sum is continued from and stored. */
struct sum_end {
    const float *begun; /* before t0; nullptr: nothing */
    float *to;          /* or as halves: */
    __half *half;
    float bright;
};

template <class S>
__device__ __forceinline__ sum_end find_end(const form_args &a, const beam_span &s)
{
    const size_t f = blockIdx.x, tds = a.in.d_tds[f];
    const size_t row = blockIdx.y + a.in.t0 / tds - a.out.row_t0 / tds;
    const size_t at = (f * a.out.nrow + row) * S::BEAMS;
    sum_end e = {};
    if (s.carried)
        e.begun = a.in.d_begun + f * S::BEAMS;
    if (!s.complete)
        e.to = a.in.d_left + f * S::BEAMS;
    else if (a.out.d_float)
        e.to = a.out.d_float + at;
    if (!e.to) {
        e.half = static_cast<__half *>(a.out.d_half) + at;
        e.bright = a.out.d_bright[f];
    }
    return e;
}

__device__ __forceinline__ void emit_sum(const sum_end &e, int i, float x)
{
    if (e.begun)
        x += e.begun[i];
    if (e.to)
        e.to[i] = x;
    else
        e.half[i] = __float2half_rn(x * e.bright);
}

/* Where part z of this block's channel and sum goes. */
template <class S> __device__ __forceinline__ float *find_part(const form_args &a, unsigned z)
{
    return a.tensor.d_split +
           (((size_t)z * a.nsum + blockIdx.y) * a.in.nfreq + blockIdx.x) * S::BEAMS;
}

/* Adds the sums of all teams. */
template <class S>
__device__ __forceinline__ void emit_sums(const form_args &a, const beam_span &s, const float *sum)
{
    const float unit = a.tensor.d_unit[blockIdx.x];
    const sum_end end = find_end<S>(a, s);
    float *part = a.nsplit > 1 ? find_part<S>(a, blockIdx.z) : nullptr;
    for (int i = (int)threadIdx.x; i < S::BEAMS; i += S::THREADS) {
        float x = sum[i];
        for (int team = 1; team < S::TEAMS; team++)
            x += sum[team * S::BEAMS + i];
        x *= unit * unit;
        if (part)
            part[i] = x;
        else
            emit_sum(end, i, x);
    }
}

/* Adds all parts. */
template <class S> __device__ __forceinline__ void join(const form_args &a)
{
    const beam_span s = find_span(a, blockIdx.y);
    if (s.begin >= s.end)
        return;
    const uint32_t each = split_span<S>(a, s), count = (s.end - s.begin + each - 1) / each;
    const sum_end end = find_end<S>(a, s);
    for (int i = (int)threadIdx.x; i < S::BEAMS; i += (int)blockDim.x) {
        float x = 0;
        for (uint32_t z = 0; z < count; z++)
            x += find_part<S>(a, z)[i];
        emit_sum(end, i, x);
    }
}

template <class S> __device__ __forceinline__ void form(const form_args &a)
{
    __shared__ __align__(128) uint32_t half[S::SAMPLES * S::SAMPLE_WORDS];
    __shared__ uint32_t word[S::QUADS * S::SLOTS];
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    const int block = warp % S::NB, team = warp / S::NB;
    beam_span s = find_span(a, blockIdx.y);
    if (s.begin < s.end && a.nsplit > 1) {
        const uint32_t each = split_span<S>(a, s);
        s.begin += blockIdx.z * each;
        s.end = min(s.end, s.begin + each);
    }
    if (s.begin >= s.end)
        return;
    beam_reader<S> reader;
    beam_gridder<S> gridder;
    beam_lane<S> l;
    place_reader(reader, a, s.begin);
    load_voltages(reader, a, s.begin, s.end);
    place_gridder(gridder, a);
    prepare_lane(l, a.tensor.d_table, block, lane);
    const uint32_t base = shared_address(half);
#pragma unroll 1
    for (uint32_t t = s.begin; t < s.end; t += 2 * S::QUADS) {
        store_words(reader, word);
        __syncthreads();
        load_voltages(reader, a, t + 2 * S::QUADS, s.end);
        grid_voltages(gridder, word, half);
        __syncthreads();
#pragma unroll 1
        for (int i = team; i < 2 * S::QUADS && t + i < s.end; i += S::TEAMS) {
            uint32_t g[2][2][2][S::MB], at = base + i * S::SAMPLE_WORDS * 8;
            first_transform<S>(l, at, lane, g[0]);
            first_transform<S>(l, at + S::SAMPLE_WORDS * 4, lane, g[1]);
            second_transform<S>(l, g[0]);
            second_transform<S>(l, g[1]);
        }
    }
    __syncthreads();
    float *sum = reinterpret_cast<float *>(half);
    put_sums(l, sum + team * S::BEAMS, block, lane, a.in.real_low);
    __syncthreads();
    emit_sums<S>(a, find_span(a, blockIdx.y), sum);
}

#endif

template <class S>
__global__ void __launch_bounds__(S::THREADS, S::BLOCKS) form_kernel(const form_args a)
{
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
    form<S>(a);
#endif
}

template <class S> __global__ void join_kernel(const form_args a)
{
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
    join<S>(a);
#endif
}

/* --- constants -------------------------------------------------------------------------------- */

/* C[q] and S[q] of position x of n, as the registers of a left factor: register r has row
 * 8 (r % 2) + lane / 4 of columns 8 (r / 2) + 2 (lane % 4) and the next. */
__device__ __forceinline__ uint32_t constant(int n, int block, int r, int lane)
{
    const int q = 8 * block + lane / 4, x = 8 * (r / 2) + 2 * (lane % 4);
    float y[2];
    for (int e = 0; e < 2; e++) {
        double phase = (double)((x + e) * (q ? q : r % 2 * n) % (2 * n)) / n;
        y[e] = (float)(r % 2 && q ? sinpi(phase) : cospi(phase));
        if (q >= n || x + e >= n)
            y[e] = 0;
    }
    return as_word(__floats2half2_rn(y[0], y[1]));
}

__global__ void make_tables(int m, int n, uint32_t *table)
{
    const int mb = m / 8, nb = (n + 7) / 8, lane = (int)threadIdx.x, first = 2 * nb * nb;
    for (int i = (int)blockIdx.x; i < first + 2 * mb * mb; i += (int)gridDim.x)
        table[i * 32 + lane] =
            i < first ? constant(n, i / (2 * nb), i % (2 * nb), lane)
                      : constant(m, (i - first) / (2 * mb), (i - first) % (2 * mb), lane);
}

__global__ void pack_weights(const beam_k_weights w, size_t ndish, int words)
{
    const size_t fp = blockIdx.x;
    const float unit = 1 / w.d_unit[fp / 2];
    for (int i = (int)threadIdx.x; i < words; i += (int)blockDim.x) {
        float re[2], im[2];
        for (int e = 0; e < 2; e++) {
            int d = w.d_dish[2 * i + e];
            const float *gain = w.d_gain ? w.d_gain + 2 * (fp * ndish + (d < 0 ? 0 : d)) : nullptr;
            re[e] = d < 0 ? 0 : (gain ? gain[0] : 1) * unit;
            im[e] = d < 0 || !gain ? 0 : gain[1] * (w.real_low ? -unit : unit);
        }
        static_cast<uint2 *>(w.d_packed)[fp * words + i] = make_uint2(
            as_word(__floats2half2_rn(re[0], re[1])), as_word(__floats2half2_rn(im[0], im[1])));
    }
}

/* --- the grids compiled ----------------------------------------------------------------------- */

template <class S> cudaError_t launch(const form_args &a, cudaStream_t stream)
{
    const dim3 sums((unsigned)a.in.nfreq, a.nsum), parts(sums.x, sums.y, a.nsplit);
    form_kernel<S><<<parts, S::THREADS, 0, stream>>>(a);
    if (a.nsplit > 1)
        join_kernel<S><<<sums, 256, 0, stream>>>(a);
    return cudaGetLastError();
}

struct compiled {
    int m, n, blocks; /* that a multiprocessor has */
    struct beam_k_layout layout;
    cudaError_t (*launch)(const form_args &, cudaStream_t);
};

template <class S> constexpr compiled entry()
{
    return {S::M, S::N, S::BLOCKS, {S::WORDS, S::SLOTS, 4 * S::ITEMS, S::TABLE}, launch<S>};
}

const compiled grids[] = {
    entry<beam_shape<8, 8, 1, 2, 20>>(),  entry<beam_shape<8, 12, 1, 2, 10>>(),
    entry<beam_shape<16, 16, 1, 2, 8>>(), entry<beam_shape<16, 20, 1, 1, 5>>(),
    entry<beam_shape<24, 24, 1, 1, 4>>(),
};

const compiled *find_grid(size_t m, size_t n)
{
    for (const compiled &g : grids)
        if ((size_t)g.m == m && (size_t)g.n == n)
            return &g;
    return nullptr;
}

/* Thread blocks that are resident on the device at once. */
size_t count_room(const compiled &g)
{
    int device = 0, count = 0;
    if (cudaGetDevice(&device) ||
        cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device))
        return 0;
    return (size_t)count * g.blocks;
}

} // namespace

extern "C" struct beam_k_layout beam_k_find_layout(size_t m, size_t n)
{
    const compiled *g = find_grid(m, n);
    return g ? g->layout : (struct beam_k_layout){};
}

extern "C" int beam_k_place(size_t m, size_t n, int i, int half)
{
    const int chunks = ((int)n + 7) / 8, group = i / 32;
    const int row = group / chunks * 8 + i % 32 / 4, col = group % chunks * 8 + i % 4 * 2 + half;
    return row < (int)m && col < (int)n ? row * (int)n + col : -1;
}

extern "C" cudaError_t beam_k_make_tables(size_t m, size_t n, uint32_t *d_table,
                                          cudaStream_t stream)
{
    make_tables<<<36, 32, 0, stream>>>((int)m, (int)n, d_table);
    return cudaGetLastError();
}

extern "C" cudaError_t beam_k_pack_weights(const struct beam_k_weights *w, size_t nfreq,
                                           size_t ndish, int words, cudaStream_t stream)
{
    pack_weights<<<(unsigned)(2 * nfreq), 128, 0, stream>>>(*w, ndish, words);
    return cudaGetLastError();
}

extern "C" size_t beam_k_split_bytes(size_t m, size_t n, size_t nfreq)
{
    const compiled *g = find_grid(m, n);
    const size_t room = g ? count_room(*g) : 0;
    return nfreq < room ? room * 4 * m * n * sizeof(float) : 0;
}

extern "C" cudaError_t beam_k_form(const struct beam_k_input *in,
                                   const struct beam_k_tensor *tensor,
                                   const struct beam_k_grid *out, cudaStream_t stream)
{
    const compiled *g = find_grid(in->m, in->n);
    if (!g)
        return cudaErrorInvalidValue;
    form_args a = {*in, *tensor, *out, beam_k_sums(in), 1};
    const size_t sums = in->nfreq * a.nsum, most = in->nt / SPLIT_SAMPLES;
    if (tensor->d_split && most > 1) {
        const size_t n = count_room(*g) / sums;
        a.nsplit = (unsigned)(n > most ? most : n > 1 ? n : 1);
    }
    return g->launch(a, stream);
}
