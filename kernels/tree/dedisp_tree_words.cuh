/* dedisp_tree_words.cuh: what both stages of tree dedispersion in words of two outputs use. */
#ifndef PSR_KERNELS_DEDISP_TREE_WORDS_CUH
#define PSR_KERNELS_DEDISP_TREE_WORDS_CUH

#include "common/launch.cuh"
#include "common/ptx.cuh"
#include "tree/dedisp_tree_kernels.h"

namespace
{

constexpr int WARP = 32;

/* Thread blocks of so many words in time. */
inline unsigned blocks_of(size_t words, size_t each)
{
    return (unsigned)((words + each - 1) / each);
}

#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 900
#define WORDS_DEVICE

constexpr int TILE = WORDS_TILE / WARP; /* words of a lane */

__device__ __forceinline__ int lane_of_warp()
{
    return (int)threadIdx.x % WARP;
}

__device__ __forceinline__ int warp_of_block()
{
    return (int)threadIdx.x / WARP;
}

extern __shared__ uint4 shared_words[];

/* Addresses are those of shared memory, in one register. */
__device__ __forceinline__ uint32_t load(uint32_t at)
{
    uint32_t word;
    asm volatile("ld.shared.u32 %0,[%1];" : "=r"(word) : "r"(at) : "memory");
    return word;
}

__device__ __forceinline__ uint4 load_four(uint32_t at)
{
    uint4 w;
    asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3},[%4];"
                 : "=r"(w.x), "=r"(w.y), "=r"(w.z), "=r"(w.w)
                 : "r"(at)
                 : "memory");
    return w;
}

__device__ __forceinline__ void store(uint32_t at, uint32_t word)
{
    asm volatile("st.shared.u32 [%0],%1;" ::"r"(at), "r"(word) : "memory");
}

__device__ __forceinline__ void store_four(uint32_t at, uint4 w)
{
    asm volatile("st.shared.v4.u32 [%0],{%1,%2,%3,%4};" ::"r"(at), "r"(w.x), "r"(w.y), "r"(w.z),
                 "r"(w.w)
                 : "memory");
}

#endif

} // namespace
#endif
