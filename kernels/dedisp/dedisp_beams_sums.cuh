/* dedisp_beams_sums.cuh: eight samples next to each other that a lane loads and adds up. */
#ifndef PSR_KERNELS_DEDISP_BEAMS_SUMS_CUH
#define PSR_KERNELS_DEDISP_BEAMS_SUMS_CUH

#include <stddef.h>
#include <stdint.h>

namespace
{

constexpr int WARP = 32;

/* --- what is loaded --------------------------------------------------------------------------- */

/* Words of two vectors of eight; word<S>(i) is word i of samples S .. S + 7. */
template <class T> struct vectors;

template <> struct vectors<uint8_t> {
    enum { WORDS = 2 };
    uint32_t w[4];

    __device__ __forceinline__ void set(const uint8_t *a, const uint8_t *b)
    {
        const uint2 x = __ldg((const uint2 *)a), y = __ldg((const uint2 *)b);
        w[0] = x.x, w[1] = x.y, w[2] = y.x, w[3] = y.y;
    }
    template <int S> __device__ __forceinline__ uint32_t word(int i) const
    {
        return S % 4 ? __funnelshift_r(w[S / 4 + i], w[S / 4 + i + 1], 8 * (S % 4)) : w[S / 4 + i];
    }
};

template <> struct vectors<uint16_t> {
    enum { WORDS = 4 };
    uint32_t w[8];

    __device__ __forceinline__ void set(const uint16_t *a, const uint16_t *b)
    {
        const uint4 x = __ldg((const uint4 *)a), y = __ldg((const uint4 *)b);
        w[0] = x.x, w[1] = x.y, w[2] = x.z, w[3] = x.w;
        w[4] = y.x, w[5] = y.y, w[6] = y.z, w[7] = y.w;
    }
    template <int S> __device__ __forceinline__ uint32_t word(int i) const
    {
        return S % 2 ? __funnelshift_r(w[S / 2 + i], w[S / 2 + i + 1], 16) : w[S / 2 + i];
    }
};

template <> struct vectors<uint32_t> {
    enum { WORDS = 8 };
    uint32_t w[16];

    __device__ __forceinline__ void set(const uint32_t *a, const uint32_t *b)
    {
        const uint4 x[4] = {__ldg((const uint4 *)a), __ldg((const uint4 *)a + 1),
                            __ldg((const uint4 *)b), __ldg((const uint4 *)b + 1)};
#pragma unroll
        for (int i = 0; i < 4; i++)
            w[4 * i] = x[i].x, w[4 * i + 1] = x[i].y, w[4 * i + 2] = x[i].z, w[4 * i + 3] = x[i].w;
    }
    template <int S> __device__ __forceinline__ uint32_t word(int i) const
    {
        return w[S + i];
    }
};

/* --- sums ------------------------------------------------------------------------------------- */

/* Bytes from bytes: four in a word, which cannot carry into each other. */
struct sums_8 {
    typedef uint8_t lane;
    uint32_t w[2];

    __device__ __forceinline__ void add(int i, uint32_t word, uint8_t)
    {
        w[i] += word;
    }
    __device__ __forceinline__ void put(uint8_t *to, double, double) const
    {
        *(uint2 *)to = make_uint2(w[0], w[1]);
    }
};

/* Pairs of 16 bits. */
struct sums_16 {
    typedef uint16_t lane;
    uint32_t w[4];

    __device__ __forceinline__ void add(int i, uint32_t word, uint8_t)
    {
        w[2 * i] += __byte_perm(word, 0, 0x4140);
        w[2 * i + 1] += __byte_perm(word, 0, 0x4342);
    }
    __device__ __forceinline__ void add(int i, uint32_t word, uint16_t)
    {
        w[i] += word;
    }
    __device__ __forceinline__ void put(uint16_t *to, double, double) const
    {
        *(uint4 *)to = make_uint4(w[0], w[1], w[2], w[3]);
    }
};

__device__ __forceinline__ void put_eight(uint32_t *to, const uint32_t (&w)[8], double, double)
{
    ((uint4 *)to)[0] = make_uint4(w[0], w[1], w[2], w[3]);
    ((uint4 *)to)[1] = make_uint4(w[4], w[5], w[6], w[7]);
}

__device__ __forceinline__ void put_eight(float *to, const uint32_t (&w)[8], double bias,
                                          double divisor)
{
    float x[8];
#pragma unroll
    for (int i = 0; i < 8; i++)
        x[i] = (float)(((double)w[i] - bias) / divisor);
    ((float4 *)to)[0] = make_float4(x[0], x[1], x[2], x[3]);
    ((float4 *)to)[1] = make_float4(x[4], x[5], x[6], x[7]);
}

/* 32 bits; TO: as such, or as outputs. */
template <class TO> struct sums_32 {
    typedef TO lane;
    uint32_t w[8];

    __device__ __forceinline__ void add(int i, uint32_t word, uint8_t)
    {
#pragma unroll
        for (int e = 0; e < 4; e++)
            w[4 * i + e] += word >> 8 * e & 0xff;
    }
    __device__ __forceinline__ void add(int i, uint32_t word, uint16_t)
    {
        w[2 * i] += word & 0xffff;
        w[2 * i + 1] += word >> 16;
    }
    __device__ __forceinline__ void add(int i, uint32_t word, uint32_t)
    {
        w[i] += word;
    }
    __device__ __forceinline__ void put(TO *to, double bias, double divisor) const
    {
        put_eight(to, w, bias, divisor);
    }
};

template <int S, class T, class SUMS, int COUNT>
__device__ __forceinline__ void add_shifted(SUMS (&sum)[COUNT], const vectors<T> (&v)[COUNT])
{
#pragma unroll
    for (int c = 0; c < COUNT; c++)
#pragma unroll
        for (int i = 0; i < vectors<T>::WORDS; i++)
            sum[c].add(i, v[c].template word<S>(i), T());
}

/* Samples shift .. shift + 7, which are the same for all lanes. */
template <class T, class SUMS, int COUNT>
__device__ __forceinline__ void add_vectors(SUMS (&sum)[COUNT], const vectors<T> (&v)[COUNT],
                                            int shift)
{
    switch (shift) {
    case 0:
        return add_shifted<0>(sum, v);
    case 1:
        return add_shifted<1>(sum, v);
    case 2:
        return add_shifted<2>(sum, v);
    case 3:
        return add_shifted<3>(sum, v);
    case 4:
        return add_shifted<4>(sum, v);
    case 5:
        return add_shifted<5>(sum, v);
    case 6:
        return add_shifted<6>(sum, v);
    default:
        return add_shifted<7>(sum, v);
    }
}

} // namespace
#endif
