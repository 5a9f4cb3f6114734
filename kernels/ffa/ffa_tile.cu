/* Recipes of tiles: from the top, which rows of each node a tile needs, and of which rows each is made. */
#include "ffa/ffa_tile.cuh"

namespace
{

constexpr int WARP = 32, THREADS = 256, MOST_NODES = 2 << FFA_MAX_LEVELS;
constexpr unsigned ALL = ~0u;

/* Nodes of a tile, numbered as a heap: 1 is the result, 2 k and 2 k + 1 are the halves of k. */
struct nodes {
    uint32_t size[MOST_NODES], start[MOST_NODES]; /* rows; the first one, of the tile's node */
    uint32_t low[MOST_NODES], count[MOST_NODES];  /* rows that are needed */
    uint32_t offset[MOST_NODES];                  /* their place among those of the level */
    uint32_t total[FFA_MAX_LEVELS + 1];           /* rows of a level */
    uint32_t first[FFA_MAX_LEVELS + 2];           /* its first one among all levels' */
    uint32_t fold;
};

static __device__ uint32_t row_of(uint32_t s, uint32_t rows, uint32_t m)
{
    return (2 * s * (rows - 1) + (m - 1)) /
           (2 * (m - 1)); /* below 2^32: m is at most FFA_MAX_ROWS */
}

static __device__ void find_half(struct nodes &n, uint32_t k)
{
    const uint32_t of = k / 2, m = n.size[of], half = m / 2, low = n.low[of], count = n.count[of];
    const bool tail = k & 1;
    const uint32_t rows = tail ? m - half : half;
    n.size[k] = rows;
    n.start[k] = n.start[of] + (tail ? half : 0);
    n.low[k] = 0;
    n.count[k] = m == 1 && tail ? count : 0;
    if (m > 1 && count) {
        n.low[k] = row_of(low, rows, m);
        n.count[k] = row_of(low + count - 1, rows, m) + 1 - n.low[k];
    }
}

/* Places of the rows of one level, by a warp. */
static __device__ void place_rows(struct nodes &n, uint32_t level, int lane)
{
    const uint32_t nodes = 1u << level;
    uint32_t before = 0;
    for (uint32_t k = 0; k < nodes; k += WARP) {
        const uint32_t count = k + lane < nodes ? n.count[nodes + k + lane] : 0;
        uint32_t sum = count;
        for (int width = 1; width < WARP; width *= 2) {
            const uint32_t other = __shfl_up_sync(ALL, sum, width);
            sum += lane >= width ? other : 0;
        }
        if (k + lane < nodes)
            n.offset[nodes + k + lane] = before + sum - count;
        before += __shfl_sync(ALL, sum, WARP - 1);
    }
    if (lane == 0)
        n.total[level] = before;
}

/* Where a buffer has the row of a node, in pairs of bins. */
static __device__ uint16_t place_of(const struct nodes &n, uint32_t k, uint32_t row, uint32_t pitch)
{
    return (uint16_t)((n.offset[k] + row - n.low[k]) * (pitch / 2));
}

static __device__ struct ffa_k_recipe make_recipe(const struct nodes &n, uint32_t k, uint32_t s,
                                                  bool lowest, const struct ffa_k_fold &fold)
{
    const uint32_t m = n.size[k];
    if (lowest)
        return {FFA_NONE, (uint16_t)(n.start[k] + s), 0};
    if (m == 1)
        return {FFA_NONE, place_of(n, 2 * k + 1, 0, fold.pitch), 0};
    const uint32_t h = row_of(s, m / 2, m), t = row_of(s, m - m / 2, m);
    return {place_of(n, 2 * k, h, fold.pitch), place_of(n, 2 * k + 1, t, fold.pitch),
            (s - t) % fold.nbin};
}

/* Rows of all nodes below the one of so many rows, of which the tile has those from low to end. */
static __device__ void find_rows(struct nodes &n, uint32_t levels, uint32_t size, uint32_t low,
                                 uint32_t end)
{
    if (threadIdx.x == 0) {
        const uint32_t stop = end < size ? end : size;
        n.size[1] = size;
        n.start[1] = 0;
        n.low[1] = low;
        n.count[1] = low < stop ? stop - low : 0;
    }
    __syncthreads();
    for (uint32_t level = 1; level <= levels; level++) {
        for (uint32_t k = threadIdx.x; k < 1u << level; k += THREADS)
            find_half(n, (1u << level) + k);
        __syncthreads();
    }
    for (uint32_t level = threadIdx.x / WARP; level <= levels; level += THREADS / WARP)
        place_rows(n, level, threadIdx.x % WARP);
    __syncthreads();
    if (threadIdx.x == 0) {
        n.first[0] = 0;
        for (uint32_t level = 0; level <= levels; level++)
            n.first[level + 1] = n.first[level] + n.total[level];
    }
    __syncthreads();
}

static __global__ void __launch_bounds__(THREADS) make_tiles(const __grid_constant__ ffa_k_tiles t)
{
    __shared__ struct nodes n;
    const struct ffa_k_sweep &w = t.sweep;
    for (uint32_t i = threadIdx.x; i < t.nfold; i += THREADS)
        if (t.d_first[i] <= blockIdx.x && blockIdx.x < t.d_first[i + 1])
            n.fold = i;
    __syncthreads();
    const uint32_t at = n.fold, number = blockIdx.x - t.d_first[at];
    const struct ffa_k_fold fold = t.d_fold[at];
    const uint32_t tiles = count_tiles(w, fold, t.rate), larger = number / tiles,
                   size = (fold.nrow >> w.depth) + larger;
    if (larger && size << w.depth > fold.nrow + (1u << w.depth) - 1)
        return; /* no node has so many rows */
    const uint32_t low = (t.rate ? fold.s_lo : 0) + number % tiles * w.tile, end = low + w.tile;
    find_rows(n, w.levels, size, low, t.rate && end > fold.s_hi ? fold.s_hi : end);
    struct ffa_k_tile *tile =
        (struct ffa_k_tile *)((char *)t.d_tile + bytes_of_tile(w.rows) * blockIdx.x);
    struct ffa_k_recipe *recipe = (struct ffa_k_recipe *)(tile + 1);
    if (threadIdx.x < w.levels + 2)
        tile->first[threadIdx.x] = n.first[threadIdx.x];
    for (uint32_t k = 1 + threadIdx.x / WARP; k < 2u << w.levels; k += THREADS / WARP)
        for (uint32_t i = threadIdx.x % WARP; i < n.count[k]; i += WARP)
            recipe[n.first[31 - __clz(k)] + n.offset[k] + i] =
                make_recipe(n, k, n.low[k] + i, k >> w.levels, fold);
}

} // namespace

size_t ffa_k_tile_bytes(const struct ffa_k_sweep *sweep)
{
    return bytes_of_tile(sweep->rows);
}

cudaError_t ffa_k_make_tiles(const struct ffa_k_tiles *t, cudaStream_t stream)
{
    if (t->ntile)
        make_tiles<<<t->ntile, THREADS, 0, stream>>>(*t);
    return cudaGetLastError();
}
