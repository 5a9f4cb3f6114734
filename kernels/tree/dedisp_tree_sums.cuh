/* dedisp_tree_sums.cuh: what a warp of tree dedispersion adds up at once: words of rows or of
 * channels, to sums of 16 or 32 bits. */
#ifndef PSR_KERNELS_DEDISP_TREE_SUMS_CUH
#define PSR_KERNELS_DEDISP_TREE_SUMS_CUH

#include <stddef.h>
#include <stdint.h>

namespace
{

constexpr int WARP = 32;
constexpr int MOST = 512; /* samples of a row that a warp adds up at once */

__device__ __forceinline__ int lane_of_warp()
{
    return (int)threadIdx.x % WARP;
}

extern __shared__ uint4 shared_rows[];

/* --- where words come from -------------------------------------------------------------------- */

/* Rows of the stage before, in device memory. */
template <class T> struct input {
    const T *at;

    __device__ __forceinline__ input after(int64_t element) const
    {
        return {at + element};
    }
    __device__ __forceinline__ uint32_t word(int32_t element, int k) const
    {
        return __ldg((const uint32_t *)(at + element) + lane_of_warp() + k);
    }
};

/* Channels; a sample has nplane bytes. */
struct channels {
    const uint8_t *at;
    size_t plane;
    int nplane;

    __device__ __forceinline__ channels after(int64_t element) const
    {
        return {at + element, plane, nplane};
    }
    /* Four samples from 4 (lane + k) on. */
    __device__ __forceinline__ uint32_t word(int32_t element, int k, int q = 0) const
    {
        const uint8_t *from = at + element + q * plane;
        const uintptr_t skip = (uintptr_t)from & 3;
        const uint32_t *word = (const uint32_t *)(from - skip) + lane_of_warp();
        return __funnelshift_r(__ldg(word + k), __ldg(word + k + 1), 8 * (unsigned)skip);
    }
};

/* Rows of the lower level. */
template <class T> struct shared_input {
    uint32_t at;

    __device__ __forceinline__ shared_input after(int64_t element) const
    {
        return {at + (uint32_t)element};
    }
    __device__ __forceinline__ uint32_t word(int32_t element, int k) const
    {
        const uint32_t first = (at + (uint32_t)element) * (uint32_t)sizeof(T) / 4;
        return ((const uint32_t *)shared_rows)[first + lane_of_warp() + k];
    }
};

/* --- sums ------------------------------------------------------------------------------------- */

/* What a lane sums of a row: N words for SPAN samples of a warp each.  Sources begin at an even
 * element, a word, or at an odd one, in the middle of a word. */

/* Pairs of 16 bits from pairs of 16 bits. */
template <int N> struct narrow_sums {
    typedef uint16_t lane;
    enum { SPAN = 2 * WARP, COUNT = N };
    uint32_t pair[N];

    template <class FROM> __device__ __forceinline__ void add_even(const FROM &from, int32_t a)
    {
#pragma unroll
        for (int k = 0; k < N; k++)
            pair[k] += from.word(a, k * WARP);
    }
    template <class FROM>
    __device__ __forceinline__ void add_even(const FROM &from, int32_t a, int32_t b)
    {
#pragma unroll
        for (int k = 0; k < N; k++)
            pair[k] += from.word(a, k * WARP) + from.word(b, k * WARP);
    }
    template <class FROM> __device__ __forceinline__ void add_odd(const FROM &from, int32_t a)
    {
#pragma unroll
        for (int k = 0; k < N; k++)
            pair[k] +=
                __funnelshift_r(from.word(a - 1, k * WARP), from.word(a - 1, k * WARP + 1), 16);
    }
    __device__ __forceinline__ void put(uint16_t *to, int k, int) const
    {
        ((uint32_t *)to)[lane_of_warp() + k * WARP] = pair[k];
    }
    __device__ __forceinline__ static int sample(int k)
    {
        return 2 * (lane_of_warp() + k * WARP);
    }
};

/* Samples 2 i and 2 i + 1 of 32 bits from pairs of 16 bits. */
template <int N> struct wide_sums {
    typedef uint32_t lane;
    enum { SPAN = 2 * WARP, COUNT = N, APART = 1 };
    uint32_t low[N], high[N];

    template <class FROM> __device__ __forceinline__ void add_even(const FROM &from, int32_t a)
    {
#pragma unroll
        for (int k = 0; k < N; k++) {
            const uint32_t pair = from.word(a, k * WARP);
            low[k] += pair & 0xffff;
            high[k] += pair >> 16;
        }
    }
    template <class FROM>
    __device__ __forceinline__ void add_even(const FROM &from, int32_t a, int32_t b)
    {
#pragma unroll
        for (int k = 0; k < N; k++) {
            const uint32_t one = from.word(a, k * WARP), other = from.word(b, k * WARP);
            low[k] += (one & 0xffff) + (other & 0xffff);
            high[k] += (one >> 16) + (other >> 16);
        }
    }
    template <class FROM> __device__ __forceinline__ void add_odd(const FROM &from, int32_t a)
    {
#pragma unroll
        for (int k = 0; k < N; k++) {
            low[k] += from.word(a - 1, k * WARP) >> 16;
            high[k] += from.word(a - 1, k * WARP + 1) & 0xffff;
        }
    }
    __device__ __forceinline__ void put(uint32_t *to, int k, int) const
    {
        ((uint2 *)to)[lane_of_warp() + k * WARP] = make_uint2(low[k], high[k]);
    }
    __device__ __forceinline__ static int sample(int k)
    {
        return 2 * (lane_of_warp() + k * WARP);
    }
};

/* Samples i and i + 32 of 32 bits from such; the plan calls all their elements even. */
template <int N> struct word_sums {
    typedef uint32_t lane;
    enum { SPAN = 2 * WARP, COUNT = N, APART = WARP };
    uint32_t low[N], high[N];

    template <class FROM> __device__ __forceinline__ void add_even(const FROM &from, int32_t a)
    {
#pragma unroll
        for (int k = 0; k < N; k++) {
            low[k] += from.word(a, 2 * k * WARP);
            high[k] += from.word(a, 2 * k * WARP + WARP);
        }
    }
    template <class FROM>
    __device__ __forceinline__ void add_even(const FROM &from, int32_t a, int32_t b)
    {
        add_even(from, a);
        add_even(from, b);
    }
    template <class FROM> __device__ __forceinline__ void add_odd(const FROM &from, int32_t a)
    {
        add_even(from, a);
    }
    __device__ __forceinline__ void put(uint32_t *to, int k, int limit) const
    {
        to[sample(k)] = low[k];
        if (sample(k) + WARP < limit)
            to[sample(k) + WARP] = high[k];
    }
    __device__ __forceinline__ static int sample(int k)
    {
        return lane_of_warp() + 2 * k * WARP;
    }
};

/* Of 16 bits from four bytes: samples 4 i and 4 i + 2, 4 i + 1 and 4 i + 3. */
template <int N> struct narrow_leaf_sums {
    typedef uint16_t lane;
    enum { SPAN = 4 * WARP, COUNT = N };
    uint32_t even[N], odd[N];

    __device__ __forceinline__ void add_even(const channels &from, int32_t a)
    {
#pragma unroll
        for (int k = 0; k < N; k++) {
            const uint32_t bytes = from.word(a, k * WARP);
            even[k] += __byte_perm(bytes, 0, 0x4240);
            odd[k] += __byte_perm(bytes, 0, 0x4341);
        }
        for (int q = 1; q < from.nplane; q++)
#pragma unroll
            for (int k = 0; k < N; k++) {
                const uint32_t bytes = from.word(a, k * WARP, q);
                even[k] += __byte_perm(bytes, 0, 0x4240) << 8 * q;
                odd[k] += __byte_perm(bytes, 0, 0x4341) << 8 * q;
            }
    }
    __device__ __forceinline__ void add_even(const channels &from, int32_t a, int32_t b)
    {
        if (from.nplane > 1) {
            add_even(from, a);
            add_even(from, b);
            return;
        }
#pragma unroll
        for (int k = 0; k < N; k++) {
            const uint32_t one = from.word(a, k * WARP), other = from.word(b, k * WARP);
            even[k] += __byte_perm(one, 0, 0x4240) + __byte_perm(other, 0, 0x4240);
            odd[k] += __byte_perm(one, 0, 0x4341) + __byte_perm(other, 0, 0x4341);
        }
    }
    __device__ __forceinline__ void add_odd(const channels &, int32_t)
    {
    }
    __device__ __forceinline__ void put(uint16_t *to, int k, int) const
    {
        ((uint2 *)to)[lane_of_warp() + k * WARP] =
            make_uint2(__byte_perm(even[k], odd[k], 0x5410), __byte_perm(even[k], odd[k], 0x7632));
    }
    __device__ __forceinline__ static int sample(int k)
    {
        return 4 * (lane_of_warp() + k * WARP);
    }
};

/* Four samples of 32 bits from four bytes. */
template <int N> struct wide_leaf_sums {
    typedef uint32_t lane;
    enum { SPAN = 4 * WARP, COUNT = N };
    uint4 four[N];

    __device__ __forceinline__ void add_even(const channels &from, int32_t a)
    {
        for (int q = 0; q < from.nplane; q++)
#pragma unroll
            for (int k = 0; k < N; k++) {
                const uint32_t bytes = from.word(a, k * WARP, q);
                four[k].x += (bytes & 0xff) << 8 * q;
                four[k].y += (bytes >> 8 & 0xff) << 8 * q;
                four[k].z += (bytes >> 16 & 0xff) << 8 * q;
                four[k].w += (bytes >> 24) << 8 * q;
            }
    }
    __device__ __forceinline__ void add_even(const channels &from, int32_t a, int32_t b)
    {
        add_even(from, a);
        add_even(from, b);
    }
    __device__ __forceinline__ void add_odd(const channels &, int32_t)
    {
    }
    __device__ __forceinline__ void put(uint32_t *to, int k, int) const
    {
        ((uint4 *)to)[lane_of_warp() + k * WARP] = four[k];
    }
    __device__ __forceinline__ static int sample(int k)
    {
        return 4 * (lane_of_warp() + k * WARP);
    }
};

/* The sums of TO from FROM. */
template <class FROM, class TO, int N> struct choose_sums;
template <int N> struct choose_sums<uint16_t, uint16_t, N> {
    typedef narrow_sums<N> type;
};
template <int N> struct choose_sums<uint16_t, uint32_t, N> {
    typedef wide_sums<N> type;
};
template <int N> struct choose_sums<uint32_t, uint32_t, N> {
    typedef word_sums<N> type;
};
template <int N> struct choose_sums<uint8_t, uint16_t, N> {
    typedef narrow_leaf_sums<(N + 1) / 2> type;
};
template <int N> struct choose_sums<uint8_t, uint32_t, N> {
    typedef wide_leaf_sums<(N + 1) / 2> type;
};

/* Samples of a row that a warp adds up at once: as many as there are registers for. */
template <class LANE> __device__ constexpr int part_of()
{
    return sizeof(LANE) == 2 ? MOST : MOST / 2;
}

} // namespace
#endif
