/* accel_correlate.cu: bounds of the powers of blocks and responses. */
#include "matched/accel_fft.cuh"
#include "matched/accel_kernels.h"

enum { ROWS = 24, BLOCKS = 3 };

/* --- types ------------------------------------------------------------------------------------ */

static __device__ __forceinline__ float most(float a, float b)
{
    return fmaxf(a, b);
}

static __device__ __forceinline__ __half2 most(__half2 a, __half2 b)
{
    return __hmax2(a, b);
}

/* Stores the bounds of both spectra, or of one, as element "at" of the strip. */
static __device__ __forceinline__ void put(uint32_t *bound, int64_t at, int, __half2 power,
                                           const float scale[2], const float shift[2])
{
    const float2 x = __half22float2(power);
    ((__half2 *)bound)[at] =
        __floats2half2_rn(fmaf(x.x, scale[0], shift[0]), fmaf(x.y, scale[1], shift[1]));
}

static __device__ __forceinline__ void put(uint32_t *bound, int64_t at, int spec, float power,
                                           const float scale[2], const float shift[2])
{
    const float x = fmaf(power, spec ? scale[1] : scale[0], spec ? shift[1] : shift[0]);
    ((__half *)bound)[2 * at + spec] = __float2half_rn(x);
}

template <class R> struct factors16 {
    accel_factor<R> x[ACCEL_POINTS];
};

/* Loads a thread's sixteen factors, 16 bytes at a time. */
template <class R> static __device__ __forceinline__ factors16<R> load_factors(const void *response)
{
    factors16<R> out;
    uint4 *to = (uint4 *)out.x;
    const uint4 *from = (const uint4 *)response + threadIdx.x;
#pragma unroll
    for (int n = 0; n < (int)(sizeof out / 16); n++)
        to[n] = __ldg(from + n * ACCEL_NTHREAD);
    return out;
}

/* --- transforms ------------------------------------------------------------------------------- */

/* Barrier for the 64 threads of a group. */
static __device__ __forceinline__ void wait_for_group()
{
    asm volatile("bar.sync %0, 64;" ::"r"(1 + threadIdx.x / 64) : "memory");
}

/* Twiddle factors of the second step: as halves they fit in shared memory. */
template <class R> struct twiddles {
    const accel_factor<R> *at;
    __device__ __forceinline__ twiddles(const accel_factor<R> *table, accel_factor<R> *)
        : at(table + accel_twiddle_2(threadIdx.x))
    {
    }
    __device__ __forceinline__ accel_factor<R> operator[](int n1) const
    {
        return {__ldg(&at[16 * n1].x)};
    }
    static constexpr int ROOM = 1;
};

template <> struct twiddles<__half2> {
    const accel_factor<__half2> *at;
    __device__ __forceinline__ twiddles(const accel_factor<__half2> *table,
                                        accel_factor<__half2> *room)
        : at(room + accel_twiddle_2(threadIdx.x) - ACCEL_TWIDDLES_1)
    {
        for (int k = threadIdx.x; k < ROOM; k += ACCEL_NTHREAD)
            room[k] = table[ACCEL_TWIDDLES_1 + k];
    }
    __device__ __forceinline__ accel_factor<__half2> operator[](int n1) const
    {
        return at[16 * n1];
    }
    static constexpr int ROOM = ACCEL_TWIDDLES - ACCEL_TWIDDLES_1;
};

template <class R>
static __device__ __forceinline__ void transform(accel_complex<R> *z, accel_complex<R> *room,
                                                 const accel_factor<R> *twiddle,
                                                 const twiddles<R> &twiddle2)
{
    const int thread = threadIdx.x;
    accel_first_step(z, twiddle);
    __syncthreads(); /* the previous transform has read it */
    accel_put_first(room, z, thread);
    __syncthreads();
    accel_get_second(z, room, thread);
    accel_dft16(z);
#pragma unroll
    for (int n1 = 0; n1 < 16; n1++)
        z[n1] = z[n1] * twiddle2[n1];
    wait_for_group();
    accel_put_second(room, z, thread);
    wait_for_group();
    accel_get_third(z, room, thread);
    accel_dft16(z);
}

/* --- powers ----------------------------------------------------------------------------------- */

/* Maxima over pairs of lanes that differ in BIT: lanes with the bit set keep the upper half of N
 * values, the others the lower half. */
template <int N, int BIT, class R> static __device__ __forceinline__ void share(R *power)
{
    const bool upper = threadIdx.x & BIT;
#pragma unroll
    for (int k = 0; k < N / 2; k++) {
        const R send = upper ? power[k] : power[k + N / 2];
        const R keep = upper ? power[k + N / 2] : power[k];
        power[k] = most(keep, __shfl_xor_sync(~0U, send, BIT));
    }
}

/* Powers of the cells that a thread keeps: those of its n1, from n2 = returned value on. */
template <int CELL, class R>
static __device__ __forceinline__ int gather(R *power, const accel_complex<R> *z)
{
    int first = 0;
#pragma unroll
    for (int k = 0; k < ACCEL_POINTS; k++)
        power[k] = accel_fma(z[k].re, z[k].re, z[k].im * z[k].im);
    if (CELL == 4) {
        share<16, 2>(power);
        share<8, 1>(power);
        first = (threadIdx.x & 2 ? 8 : 0) + (threadIdx.x & 1 ? 4 : 0);
    } else if (CELL == 2) {
        share<16, 1>(power);
        first = threadIdx.x & 1 ? 8 : 0;
    }
    return first;
}

template <int CELL, class R>
static __device__ __forceinline__ void store(const accel_k_correlation &c, int64_t row,
                                             const accel_complex<R> *z, int spec,
                                             const float scale[2], const float shift[2])
{
    const int nstream = 16 / CELL, lead = c.cut.lead / 8, good = c.cut.good / 8;
    const accel_place at = accel_third(threadIdx.x);
    R power[ACCEL_POINTS];
    const int first = gather<CELL>(power, z);
    const int64_t from = row * c.strip.pitch + at.n0 / CELL * (c.strip.pitch / nstream) +
                         (int64_t)blockIdx.x * good - lead;
#pragma unroll
    for (int k = 0; k < ACCEL_POINTS / CELL; k++) {
        const int i = at.low + 16 * (first + k);
        if (i >= lead && i < lead + good)
            put(c.strip.d_bound, from + i, spec, power[k], scale, shift);
    }
}

/* --- the kernel ------------------------------------------------------------------------------- */

/* Thread block: a block of bins and some rows; blockIdx.z, for floats: the spectrum. */
template <class R, int CELL>
static __global__ void __launch_bounds__(ACCEL_NTHREAD, BLOCKS)
    correlate_rows(const accel_k_correlation c, int nrow, int each)
{
    __shared__ accel_complex<R> room[ACCEL_ROOM];
    __shared__ accel_factor<R> twiddle1[ACCEL_TWIDDLES_1];
    const accel_factor<R> *table = (const accel_factor<R> *)c.d_twiddle;
    __shared__ accel_factor<R> room2[twiddles<R>::ROOM];
    const twiddles<R> twiddle2(table, room2);
    const int spec = blockIdx.z, nz = 2 * c.strip.jmax + 1, bank_nz = 2 * c.bank_jmax + 1;
    const accel_complex<R> *from =
        (const accel_complex<R> *)c.d_x + ((int64_t)blockIdx.x * gridDim.z + spec) * ACCEL_BINS;
    accel_complex<R> x[8];
    float scale[2], shift[2];
#pragma unroll
    for (int k = 0; k < 8; k++)
        x[k] = from[threadIdx.x + 256 * k];
    if (threadIdx.x < ACCEL_TWIDDLES_1)
        twiddle1[threadIdx.x] = table[threadIdx.x];
    __syncthreads();
    for (int p = 0; p < 2; p++) {
        const float square = c.d_square[ACCEL_PAIR * blockIdx.x + p];
        scale[p] = c.scale * square;
        shift[p] = c.shift * square;
    }
    const int end = min(nrow, (int)(blockIdx.y + 1) * each);
    for (int row = blockIdx.y * each; row < end; row++) {
        const int j = row % nz - c.strip.jmax, l = row / nz - c.strip.lmax;
        const int64_t number = (int64_t)(l + c.bank_lmax) * bank_nz + j + c.bank_jmax;
        const factors16<R> y =
            load_factors<R>((const char *)c.d_response +
                            number * 2 * ACCEL_BINS * (int64_t)sizeof(accel_factor<R>));
        accel_complex<R> z[ACCEL_POINTS];
#pragma unroll
        for (int k = 0; k < ACCEL_POINTS; k++)
            z[k] = x[k % 8] * y.x[k];
        transform(z, room, twiddle1 + accel_twiddle_1(threadIdx.x), twiddle2);
        store<CELL>(c, row, z, spec, scale, shift);
    }
}

template <class R>
static cudaError_t launch(const struct accel_k_correlation *c, cudaStream_t stream)
{
    const int nrow = (2 * c->strip.jmax + 1) * (2 * c->strip.lmax + 1);
    const int part = (nrow + ROWS - 1) / ROWS, each = (nrow + part - 1) / part;
    const dim3 grid(c->nblock, (nrow + each - 1) / each, c->kind == ACCEL_HALF ? 1 : ACCEL_PAIR);
    switch (c->cut.cell) {
    case 4:
        correlate_rows<R, 4><<<grid, ACCEL_NTHREAD, 0, stream>>>(*c, nrow, each);
        break;
    case 2:
        correlate_rows<R, 2><<<grid, ACCEL_NTHREAD, 0, stream>>>(*c, nrow, each);
        break;
    default:
        correlate_rows<R, 1><<<grid, ACCEL_NTHREAD, 0, stream>>>(*c, nrow, each);
    }
    return cudaGetLastError();
}

cudaError_t accel_k_correlate(const struct accel_k_correlation *c, cudaStream_t stream)
{
    return c->kind == ACCEL_HALF ? launch<__half2>(c, stream) : launch<float>(c, stream);
}
