/* beam_words.cuh: converts a batch of voltages to words of one dish, and these to weighted halves in
 * the order of the grid: the steps of beam_form.cu before the transforms. */
#ifndef PSR_KERNELS_BEAM_WORDS_CUH
#define PSR_KERNELS_BEAM_WORDS_CUH

#include "beam/beam_fft.cuh"
#include "beam/beam_kernels.h"

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

#endif
