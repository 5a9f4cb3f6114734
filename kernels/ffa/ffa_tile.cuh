/* ffa_tile.cuh: the tiles of a fold (private). */
#ifndef PSR_KERNELS_FFA_TILE_CUH
#define PSR_KERNELS_FFA_TILE_CUH

#include "ffa/ffa_kernels.h"

namespace
{

/* Of a node. */
inline __device__ uint32_t count_tiles(const struct ffa_k_sweep &w, const struct ffa_k_fold &fold,
                                       bool rate)
{
    const uint32_t rows =
        rate ? fold.s_hi - fold.s_lo : (fold.nrow + (1u << w.depth) - 1) >> w.depth;
    return (rows + w.tile - 1) / w.tile;
}

inline __host__ __device__ size_t bytes_of_tile(uint32_t rows)
{
    return (sizeof(struct ffa_k_tile) + rows * sizeof(struct ffa_k_recipe) + 15) / 16 * 16;
}

} // namespace
#endif
