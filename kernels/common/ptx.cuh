/* ptx.cuh: instructions for which CUDA C++ has no function: integer matrix products (from sm_80 on),
 * barriers that count bytes, and asynchronous copies (16 bytes a thread; bulk ones from sm_90 on).
 * Addresses are of shared memory, as shared_address gives them. */
#ifndef PSR_KERNELS_PTX_CUH
#define PSR_KERNELS_PTX_CUH

#include <cuda_fp16.h>
#include <stdint.h>

__device__ __forceinline__ uint32_t shared_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800

/* Four 8 x 8 matrices of 16-bit elements; lane l names row l % 8 of matrix l / 8. */
__device__ __forceinline__ void load_matrices(uint32_t row, uint32_t r[4])
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3},[%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(row));
}

/* c = init + a b of unsigned bytes, 16 x 32 by 32 x 8.  init is c itself or 0. */
__device__ __forceinline__ void multiply_add(int c[4], const uint32_t a[4], uint32_t b0,
                                             uint32_t b1)
{
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 "
                 "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
                 : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ void multiply(int c[4], const uint32_t a[4], uint32_t b0, uint32_t b1)
{
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 "
                 "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%10,%10,%10,%10};"
                 : "=r"(c[0]), "=r"(c[1]), "=r"(c[2]), "=r"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "r"(0));
}

/* d = a b or d += a b of halves, 16 x 16 by 16 x 8, the sums as halves. */
__device__ __forceinline__ void multiply_half_16(uint32_t d[2], const uint32_t a[4], uint32_t b0,
                                                 uint32_t b1)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1},{%2,%3,%4,%5},{%6,%7},{%8,%8};"
        : "=r"(d[0]), "=r"(d[1])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "r"(0));
}

/* The same with 16 x 8 by 8 x 8; init is d or 0. */
__device__ __forceinline__ void multiply_half_8(uint32_t d[2], const uint32_t a[2], uint32_t b,
                                                uint32_t init0, uint32_t init1)
{
    asm("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0,%1},{%2,%3},{%4},{%5,%6};"
        : "=r"(d[0]), "=r"(d[1])
        : "r"(a[0]), "r"(a[1]), "r"(b), "r"(init0), "r"(init1));
}

/* d += a b of halves, the sums as floats: 16 x 16 by 16 x 8 and 16 x 8 by 8 x 8. */
__device__ __forceinline__ void multiply_float_16(float d[4], const uint32_t a[4], uint32_t b0,
                                                  uint32_t b1)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ void multiply_float_8(float d[4], const uint32_t a[2], uint32_t b)
{
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
        "{%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(b));
}

/* Two 8 x 8 matrices of 16-bit elements; lane l < 16 names row l % 8 of matrix l / 8. */
__device__ __forceinline__ void load_matrix_pair(uint32_t row, uint32_t r[2])
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1},[%2];"
                 : "=r"(r[0]), "=r"(r[1])
                 : "r"(row));
}

/* 16 bytes by this thread; copies between two marks are a group. */
__device__ __forceinline__ void copy_16(uint32_t to, const void *from)
{
    asm volatile("cp.async.cg.shared.global [%0],[%1],16;" ::"r"(to), "l"(from) : "memory");
}

__device__ __forceinline__ void copies_mark()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Waits for all but the latest N groups. */
template <int N> __device__ __forceinline__ void copies_wait()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

/* Prefetches a line of 128 bytes to the L2 cache. */
__device__ __forceinline__ void prefetch_line(const void *from)
{
    asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
}

/* A barrier whose phase ends when "copiers" have announced bytes and all of these have arrived. */
__device__ __forceinline__ void barrier_init(uint32_t bar, int copiers)
{
    asm volatile("mbarrier.init.shared.b64 [%0],%1;" ::"r"(bar), "r"(copiers));
}

__device__ __forceinline__ void barrier_wait(uint32_t bar, int parity)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("{.reg .pred p; wait: mbarrier.try_wait.parity.shared.b64 p,[%0],%1; @p bra done; "
                 "bra wait; done:}" ::"r"(bar),
                 "r"(parity)
                 : "memory");
#else
    asm volatile(
        "{.reg .pred p; wait: mbarrier.test_wait.parity.shared.b64 p,[%0],%1; @p bra done; "
        "bra wait; done:}" ::"r"(bar),
        "r"(parity)
        : "memory");
#endif
}

#if __CUDA_ARCH__ >= 900

__device__ __forceinline__ void barrier_publish()
{
    asm volatile("fence.mbarrier_init.release.cluster;");
}

/* True in one lane of a converged warp. */
__device__ __forceinline__ bool elect_lane()
{
    uint32_t chosen;
    asm volatile("{.reg .pred p; elect.sync _|p,0xffffffff; selp.u32 %0,1,0,p;}" : "=r"(chosen));
    return chosen;
}

/* One thread announces the bytes, and any threads copy them. */
__device__ __forceinline__ void barrier_expect(uint32_t bar, uint32_t bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _,[%0],%1;" ::"r"(bar), "r"(bytes)
                 : "memory");
}

__device__ __forceinline__ void barrier_arrive(uint32_t bar)
{
    asm volatile("mbarrier.arrive.shared.b64 _,[%0];" ::"r"(bar) : "memory");
}

__device__ __forceinline__ void copy_bulk(uint32_t to, const void *from, uint32_t bytes,
                                          uint32_t bar)
{
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0],[%1],%2,[%3];" ::
            "r"(to),
        "l"(from), "r"(bytes), "r"(bar)
        : "memory");
}

#else

/* Arrives when this thread's copies are complete. */
__device__ __forceinline__ void barrier_arrive_copied(uint32_t bar)
{
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(bar) : "memory");
}

#endif
#endif

/* --- pairs of halves as words, and matrix products of halves in blocks of 8 ---------------------- */

__device__ __forceinline__ __half2 as_half2(uint32_t x)
{
    return *reinterpret_cast<__half2 *>(&x);
}

__device__ __forceinline__ uint32_t as_word(__half2 x)
{
    return *reinterpret_cast<uint32_t *>(&x);
}

#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800

/* A left factor of 16 rows and 8 K columns is 2 K registers: 2 k + h has row 8 h + lane / 4 of
 * columns 8 k + 2 (lane % 4) and the next.  A right factor of 8 columns is K: register k has
 * column lane / 4 of rows 8 k + 2 (lane % 4) and the next; so two registers of a product of halves
 * are a right factor of the product that follows. */
template <int K>
__device__ __forceinline__ void multiply_rows(uint32_t d[2], const uint32_t a[2 * K],
                                              const uint32_t b[K])
{
    static_assert(K <= 3, "one product of 16 at most");
    if (K > 1)
        multiply_half_16(d, a, b[0], b[K > 1]);
    if (K % 2)
        multiply_half_8(d, a + 2 * (K - 1), b[K - 1], K > 1 ? d[0] : 0, K > 1 ? d[1] : 0);
}

template <int K>
__device__ __forceinline__ void multiply_rows(float d[4], const uint32_t a[2 * K],
                                              const uint32_t b[K])
{
    d[0] = d[1] = d[2] = d[3] = 0;
    for (int k = 0; k + 1 < K; k += 2)
        multiply_float_16(d, a + 2 * k, b[k], b[k + 1]);
    if (K % 2)
        multiply_float_8(d, a + 2 * (K - 1), b[K - 1]);
}

#endif

#endif
