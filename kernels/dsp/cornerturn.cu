/* Corner turn: [t][c] packed, of any number of bits, to [c][t] in planes of bytes or floats.
 *
 * Whole bytes (cornerturn_bytes): integers of up to 16 bits that are not downsampled, in spectra of whole
 * 16 bytes.  Thread block: 128 bytes of 128 spectra, 256 threads; the grid is (128 spectra, 128
 * bytes).  Rows are loaded as 16-byte words into 16 KB of shared memory, swizzled so that neither stores
 * nor loads have bank conflicts; each thread transposes 4 bytes x 16 spectra and writes 16 samples of a channel (or of
 * one plane of it) at once, of a byte that holds several channels those of each.  Bound: device
 * memory, each byte read once and written once, 0.3 ms for 640 MB on an H200.
 *
 * Downsampled integers whose sums fit 16 bits (sum_words): each thread sums one 32-bit word of the
 * spectra of an output, in packed halves, to 16-bit samples, some MB at a time so that they stay in
 * the second cache, from which they are transposed as whole bytes.  Bound: device memory, each byte
 * read once.
 *
 * The rest (cornerturn). Thread block: a square of 64 channels x 64 outputs, 256 threads.  Threads next
 * to each other read channels next to each other, put the sums into shared memory (64 x 65 words,
 * so that neither way has bank conflicts), and write outputs next to each other.  The grid is (64
 * outputs, 64 channels). Bound: issue slots, as samples are read and written one by one; 3.4 ms for
 * 640 MB.
 *
 * Sliding: one thread block a run, 4 KB at a time between barriers, so that nothing is overwritten
 * before it has been read. */
#include "dsp/dsp_kernels.h"

namespace
{

constexpr int SIDE = 64, THREADS = 256;

struct job {
    struct cornerturn_k_desc d;
    const uint8_t *in;
    size_t first, n;
    uint8_t *runs;
};

static __device__ uint32_t integer_sample(const struct cornerturn_k_desc &d, const uint8_t *row,
                                          uint32_t c)
{
    if (d.nbit == 8)
        return (row[c] + d.bias) & 0xff;
    if (d.nbit == 16)
        return (row[2 * (size_t)c] + 256 * row[2 * (size_t)c + 1] + d.bias) & 0xffff;
    size_t bit = (size_t)c * d.nbit;
    return (row[bit / 8] >> bit % 8) & ((1u << d.nbit) - 1);
}

static __device__ double real_sample(const struct cornerturn_k_desc &d, const uint8_t *row,
                                     uint32_t c)
{
    const uint8_t *b = row + 4 * (size_t)c;
    uint32_t word = b[0] | b[1] << 8 | b[2] << 16 | (uint32_t)b[3] << 24;
    return d.is_float ? (double)__uint_as_float(word) : (double)word;
}

/* Sum n of channel k, as the bits to store. */
static __device__ uint32_t sum_samples(const struct job &job, size_t n, size_t k)
{
    const struct cornerturn_k_desc &d = job.d;
    const uint32_t c = d.d_chan[k];
    const uint8_t *row = job.in + (job.first + n * d.downsamp + d.d_pre[k]) * d.row_bytes;
    if (d.nplane) {
        uint32_t sum = 0;
        for (size_t u = 0; u < d.downsamp; u++, row += d.row_bytes)
            sum += integer_sample(d, row, c);
        return sum;
    }
    double sum = 0;
    for (size_t u = 0; u < d.downsamp; u++, row += d.row_bytes)
        sum += real_sample(d, row, c);
    return __float_as_uint((float)sum);
}

static __device__ void store(const struct job &job, size_t n, size_t k, uint32_t value)
{
    uint8_t *run = job.runs + k * job.d.pitch;
    if (!job.d.nplane)
        ((float *)run)[n] = __uint_as_float(value);
    for (int q = 0; q < job.d.nplane; q++)
        run[q * job.d.plane + n] = (uint8_t)(value >> 8 * q);
}

__global__ void __launch_bounds__(THREADS) cornerturn(const struct job job)
{
    __shared__ uint32_t square[SIDE][SIDE + 1];
    const size_t n0 = (size_t)blockIdx.x * SIDE, k0 = (size_t)blockIdx.y * SIDE;
    const int x = threadIdx.x % SIDE, y0 = threadIdx.x / SIDE;
    for (int y = y0; y < SIDE; y += THREADS / SIDE)
        if (n0 + y < job.n && k0 + x < job.d.nkept)
            square[y][x] = sum_samples(job, n0 + y, k0 + x);
    __syncthreads();
    for (int y = y0; y < SIDE; y += THREADS / SIDE)
        if (n0 + x < job.n && k0 + y < job.d.nkept)
            store(job, n0 + x, k0 + y, square[x][y]);
}

/* --- whole bytes ------------------------------------------------------------------------------ */

constexpr int TILE = 128, VECTORS = TILE / 16; /* bytes of a spectrum, and spectra */

/* 16 samples of a run, and which of them exist. */
struct strip {
    uint8_t *to;    /* of the first, 16-byte aligned */
    int first, end; /* those of the 16 that are wanted */
};

__device__ __forceinline__ void put_strip(const strip &s, const uint32_t v[4])
{
    if (s.first <= 0 && s.end >= 16) {
        *(uint4 *)s.to = make_uint4(v[0], v[1], v[2], v[3]);
        return;
    }
    for (int j = max(s.first, 0); j < min(s.end, 16); j++)
        s.to[j] = (uint8_t)(v[j / 4] >> j % 4 * 8);
}

/* 4 x 4 bytes: out[b] gets byte b of each of in[0..3]. */
__device__ __forceinline__ void transpose_square(const uint32_t in[4], uint32_t out[4])
{
    const uint32_t a = __byte_perm(in[0], in[1], 0x5140), b = __byte_perm(in[2], in[3], 0x5140);
    const uint32_t c = __byte_perm(in[0], in[1], 0x7362), d = __byte_perm(in[2], in[3], 0x7362);
    out[0] = __byte_perm(a, b, 0x5410);
    out[1] = __byte_perm(a, b, 0x7632);
    out[2] = __byte_perm(c, d, 0x5410);
    out[3] = __byte_perm(c, d, 0x7632);
}

/* Sixteen samples of one byte of the spectra, to the runs of the channels in it. */
__device__ __forceinline__ void put_byte(const struct job &job, size_t byte, const strip &s,
                                         const uint32_t v[4])
{
    const struct cornerturn_k_desc &d = job.d;
    const int each = d.nbit < 8 ? 8 / d.nbit : 1, bytes = d.nbit < 8 ? 1 : d.nbit / 8;
    const uint32_t mask = d.nbit < 8 ? ((1u << d.nbit) - 1) * 0x01010101u : ~0u;
    const int q = bytes > 1 ? (int)(byte % bytes) : 0;
    const uint32_t flip = (d.bias >> 8 * q & 0xff) * 0x01010101u;
    if (q >= d.nplane)
        return;
    for (int e = 0; e < each; e++) {
        const size_t c = byte / bytes * each + e;
        const int32_t k = c < d.nchan ? d.d_place[c] : -1;
        if (k < 0)
            continue;
        uint32_t w[4];
        for (int j = 0; j < 4; j++)
            w[j] = (v[j] >> e * d.nbit % 8 & mask) ^ flip;
        put_strip({s.to + q * d.plane + k * d.pitch, s.first, s.end}, w);
    }
}

/* The first of job.n samples goes "skip" bytes behind job.lane, which a line begins at. */
__global__ void __launch_bounds__(THREADS) cornerturn_bytes(const struct job job, int skip)
{
    __shared__ uint4 tile[TILE][VECTORS];
    const long long t0 = (long long)blockIdx.x * TILE - skip; /* sample of row 0 */
    const size_t b0 = (size_t)blockIdx.y * TILE;
#pragma unroll
    for (int i = threadIdx.x; i < TILE * VECTORS; i += THREADS) {
        const int row = i / VECTORS, v = i % VECTORS;
        const long long t = t0 + row;
        if (t >= 0 && t < (long long)job.n && b0 + 16 * v < job.d.row_bytes)
            tile[row][v ^ row / 16] =
                *(const uint4 *)(job.in + (job.first + t) * job.d.row_bytes + b0 + 16 * v);
    }
    __syncthreads();
    const int r = threadIdx.x % VECTORS, x = threadIdx.x / VECTORS; /* 16 spectra; 4 bytes */
    if (b0 + 4 * x >= job.d.row_bytes)
        return;
    uint32_t out[4][4];
#pragma unroll
    for (int y = 0; y < 4; y++) {
        uint32_t in[4], transposed[4];
#pragma unroll
        for (int j = 0; j < 4; j++)
            in[j] = ((const uint32_t *)&tile[16 * r + 4 * y + j][x / 4 ^ r])[x % 4];
        transpose_square(in, transposed);
#pragma unroll
        for (int b = 0; b < 4; b++)
            out[b][y] = transposed[b];
    }
    const long long at = t0 + 16 * r, left = (long long)job.n - at;
    const strip s = {job.runs + (size_t)blockIdx.x * TILE + 16 * r, at < 0 ? (int)-at : 0,
                     left < 16 ? (int)left : 16};
#pragma unroll
    for (int b = 0; b < 4; b++)
        put_byte(job, b0 + 4 * x + b, s, out[b]);
}

bool can_cornerturn_bytes(const struct cornerturn_k_desc *d, const void *d_in, size_t first)
{
    const size_t at = (size_t)d_in + first * d->row_bytes;
    return d->nplane && d->nbit <= 16 && d->downsamp == 1 && !d->maxpre &&
           d->nplane <= (d->nbit + 7) / 8 && d->row_bytes % 16 == 0 && at % 16 == 0 &&
           d->pitch % 16 == 0 && d->plane % 16 == 0;
}

/* --- sums of whole words ---------------------------------------------------------------------- */

constexpr size_t SUM_BYTES = 16 << 20; /* at once */

/* Outputs at once. */
size_t sum_room(const struct cornerturn_k_desc *d)
{
    const size_t n = SUM_BYTES / (2 * d->nchan) / TILE * TILE;
    return n > TILE ? n : TILE;
}

/* Samples j and j + 16 / NBIT of a word are the halves of its sum j. */
template <int NBIT>
__global__ void __launch_bounds__(THREADS)
    sum_words(const uint32_t *in, uint32_t words, uint32_t downsamp, uint32_t flip, uint32_t n,
              uint32_t *out)
{
    constexpr int HALVES = 16 / NBIT;
    constexpr uint32_t MASK = ((1u << NBIT) - 1) * 0x10001u;
    const uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= n * words)
        return;
    const uint32_t *from = in + (size_t)(i / words) * downsamp * words + i % words;
    uint32_t sum[HALVES] = {};
#pragma unroll 8
    for (uint32_t u = 0; u < downsamp; u++) {
        const uint32_t w = __ldcs(from + (size_t)u * words) ^ flip;
#pragma unroll
        for (int j = 0; j < HALVES; j++)
            sum[j] += w >> j * NBIT & MASK;
    }
    uint32_t *to = out + (size_t)i * HALVES;
#pragma unroll
    for (int j = 0; j < HALVES; j += 2) {
        to[j / 2] = __byte_perm(sum[j], sum[j + 1], 0x5410);
        to[(HALVES + j) / 2] = __byte_perm(sum[j], sum[j + 1], 0x7632);
    }
}

cudaError_t launch_sums(const struct cornerturn_k_desc *d, const uint8_t *in, uint32_t n,
                        cudaStream_t stream)
{
    const uint32_t words = (uint32_t)(d->row_bytes / 4), grid = (n * words + THREADS - 1) / THREADS;
    const uint32_t flip = (d->bias & 0xff) * 0x01010101u, ds = (uint32_t)d->downsamp;
    const uint32_t *from = (const uint32_t *)in;
    uint32_t *to = (uint32_t *)d->d_sum;
    if (d->nbit == 8)
        sum_words<8><<<grid, THREADS, 0, stream>>>(from, words, ds, flip, n, to);
    else if (d->nbit == 4)
        sum_words<4><<<grid, THREADS, 0, stream>>>(from, words, ds, flip, n, to);
    else if (d->nbit == 2)
        sum_words<2><<<grid, THREADS, 0, stream>>>(from, words, ds, flip, n, to);
    else
        sum_words<1><<<grid, THREADS, 0, stream>>>(from, words, ds, flip, n, to);
    return cudaGetLastError();
}

/* --- sliding ---------------------------------------------------------------------------------- */

constexpr int SLIDERS = 1024;

__global__ void __launch_bounds__(SLIDERS) slide(uint8_t *runs, size_t pitch, size_t from, size_t n)
{
    uint32_t *to = (uint32_t *)(runs + blockIdx.x * pitch);
    const uint32_t *old = (const uint32_t *)(runs + blockIdx.x * pitch + from / 4 * 4);
    const int bits = from % 4 * 8;
    const size_t words = (n + 3) / 4;
    for (size_t w0 = 0; w0 < words; w0 += SLIDERS) {
        size_t w = w0 + threadIdx.x;
        uint32_t v = w < words ? __funnelshift_r(old[w], old[w + 1], bits) : 0;
        __syncthreads();
        if (w < words)
            to[w] = v;
        __syncthreads();
    }
}

} // namespace

extern "C" size_t cornerturn_k_sum_bytes(const struct cornerturn_k_desc *d)
{
    const bool fits = d->downsamp > 1 && d->nbit <= 8 && !d->maxpre && d->nplane &&
                      d->nplane <= 2 && d->nchan % 8 == 0 && d->nchan * d->nbit % 32 == 0;
    return fits ? 2 * d->nchan * sum_room(d) : 0;
}

/* Sums, some outputs at a time, and transposes them. */
static cudaError_t cornerturn_sums(const struct cornerturn_k_desc *desc, const uint8_t *in,
                                   uint8_t *runs, size_t n, cudaStream_t stream)
{
    struct cornerturn_k_desc sums = *desc;
    sums.nbit = 16;
    sums.bias = 0;
    sums.row_bytes = 2 * desc->nchan;
    sums.downsamp = 1;
    sums.d_sum = nullptr;
    const size_t room = sum_room(desc);
    for (size_t at = 0; at < n; at += room) {
        const size_t some = n - at < room ? n - at : room;
        cudaError_t e =
            launch_sums(desc, in + at * desc->downsamp * desc->row_bytes, (uint32_t)some, stream);
        if (e == cudaSuccess)
            e = cornerturn_k_turn(&sums, desc->d_sum, 0, runs + at, some, stream);
        if (e != cudaSuccess)
            return e;
    }
    return cudaSuccess;
}

extern "C" cudaError_t cornerturn_k_turn(const struct cornerturn_k_desc *desc, const void *d_in,
                                         size_t first, void *d_runs, size_t n, cudaStream_t stream)
{
    struct job job = {*desc, (const uint8_t *)d_in, first, n, (uint8_t *)d_runs};
    if (desc->d_sum)
        return cornerturn_sums(desc, job.in + first * desc->row_bytes, job.runs, n, stream);
    if (can_cornerturn_bytes(desc, d_in, first)) {
        const int skip = (int)((size_t)d_runs % TILE); /* whole lines are written */
        dim3 tiles((unsigned)((n + skip + TILE - 1) / TILE),
                   (unsigned)((desc->row_bytes + TILE - 1) / TILE));
        job.runs -= skip;
        cornerturn_bytes<<<tiles, THREADS, 0, stream>>>(job, skip);
        return cudaGetLastError();
    }
    dim3 grid((unsigned)((n + SIDE - 1) / SIDE), (unsigned)((desc->nkept + SIDE - 1) / SIDE));
    cornerturn<<<grid, THREADS, 0, stream>>>(job);
    return cudaGetLastError();
}

extern "C" cudaError_t cornerturn_k_slide(void *d_run, size_t pitch, size_t nrun, size_t from,
                                          size_t n, cudaStream_t stream)
{
    slide<<<(unsigned)nrun, SLIDERS, 0, stream>>>((uint8_t *)d_run, pitch, from, n);
    return cudaGetLastError();
}
