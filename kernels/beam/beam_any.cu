/* beam_any.cu: the beamformer for grids of any size, without tensor cores: one thread per output,
 * floats, no tables.  Slow; bound by arithmetic. */
#include "beam/beam_kernels.h"

namespace
{

constexpr int THREADS = 256;

struct any_args {
    struct beam_k_input in;
    struct beam_k_any any;
    struct beam_k_grid out;
};

__device__ __forceinline__ size_t first_index()
{
    return (size_t)blockIdx.x * blockDim.x + threadIdx.x;
}

__device__ __forceinline__ float2 multiply(float2 a, float2 b)
{
    return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

/* exp(i pi k / n), k < 2n */
__device__ __forceinline__ float2 unit_phasor(unsigned k, unsigned n)
{
    float2 w;
    sincospif((float)k / (float)n, &w.y, &w.x);
    return w;
}

/* The weighted voltage of an input of sample tfp, ((t nfreq) + f) 2 + pol. */
__device__ __forceinline__ float2 voltage(const any_args &a, size_t tfp, int dish)
{
    const unsigned x = a.in.d_in[tfp * a.in.ndish + dish] ^ a.in.flip;
    const float high = (float)((int)(x << 24) >> 28), low = (float)((int)(x << 28) >> 28);
    const float2 e = a.in.real_low ? make_float2(low, high) : make_float2(high, low);
    if (!a.any.d_gain)
        return e;
    const size_t fp = tfp % (2 * a.in.nfreq);
    return multiply(e, reinterpret_cast<const float2 *>(a.any.d_gain)[fp * a.in.ndish + dish]);
}

/* Along n: part[tfp][m][q]. */
__global__ void sum_rows(const any_args a)
{
    const unsigned lines = 2 * (unsigned)a.in.n;
    const size_t count = a.in.nt * a.in.nfreq * 2 * a.in.m * lines;
    for (size_t i = first_index(); i < count; i += (size_t)gridDim.x * blockDim.x) {
        const unsigned q = (unsigned)(i % lines), m = (unsigned)(i / lines % a.in.m);
        float2 sum = {};
        for (unsigned n = 0, phase = 0; n < a.in.n; n++, phase = (phase + q) % lines) {
            const int dish = a.any.d_dish[m * a.in.n + n];
            if (dish < 0)
                continue;
            float2 x =
                multiply(voltage(a, i / lines / a.in.m, dish), unit_phasor(phase, lines / 2));
            sum.x += x.x;
            sum.y += x.y;
        }
        reinterpret_cast<float2 *>(a.any.d_part)[i] = sum;
    }
}

/* |E|^2 of one sample at (p, q): along m. */
__device__ __forceinline__ float beam_power(const any_args &a, size_t tfp, unsigned p, unsigned q)
{
    const unsigned lines = 2 * (unsigned)a.in.n, period = 2 * (unsigned)a.in.m;
    const float2 *part = reinterpret_cast<const float2 *>(a.any.d_part) + tfp * a.in.m * lines + q;
    float2 sum = {};
    for (unsigned m = 0, phase = 0; m < a.in.m; m++, phase = (phase + p) % period) {
        float2 x = multiply(part[m * lines], unit_phasor(phase, period / 2));
        sum.x += x.x;
        sum.y += x.y;
    }
    return sum.x * sum.x + sum.y * sum.y;
}

/* Sum blockIdx.y of this call of each channel. */
__global__ void sum_powers(const any_args a)
{
    const size_t beams = 4 * a.in.m * a.in.n, k = blockIdx.y;
    for (size_t i = first_index(); i < a.in.nfreq * beams; i += (size_t)gridDim.x * blockDim.x) {
        const size_t f = i / beams;
        const unsigned p = (unsigned)(i % beams / (2 * a.in.n)), q = (unsigned)(i % (2 * a.in.n));
        const uint64_t tds = a.in.d_tds[f], begun = a.in.t0 % tds;
        const uint64_t from = k ? k * tds - begun : 0, to = (k + 1) * tds - begun;
        if (from >= a.in.nt)
            continue;
        float sum = k == 0 && begun ? a.in.d_begun[i] : 0;
        for (uint64_t t = from; t < to && t < a.in.nt; t++)
            for (int pol = 0; pol < 2; pol++)
                sum += beam_power(a, (t * a.in.nfreq + f) * 2 + pol, p, q);
        if (to > a.in.nt)
            a.in.d_left[i] = sum;
        else
            a.out.d_float[(f * a.out.nrow + k + a.in.t0 / tds - a.out.row_t0 / tds) * beams +
                          i % beams] = sum;
    }
}

/* Factors as floats [nfreq][2n][ndir]. */
__global__ void steer_any(const beam_k_steer s, bool product)
{
    const size_t nbeam = product ? s.n_ns * s.n_ew : s.n_ns;
    const size_t count = s.nfreq * s.nrow * nbeam;
    for (size_t i = first_index(); i < count; i += (size_t)gridDim.x * blockDim.x) {
        const size_t b = i % nbeam, f = i / nbeam / s.nrow;
        const float *grid = s.d_float + i / nbeam * 4 * s.m * s.n;
        const float *ns =
            static_cast<const float *>(s.d_ns) + f * 2 * s.m * s.n_ns + (product ? b / s.n_ew : b);
        const float *ew =
            static_cast<const float *>(s.d_ew) + f * 2 * s.n * s.n_ew + (product ? b % s.n_ew : b);
        float sum = 0;
        for (size_t p = 0; p < 2 * s.m; p++) {
            float line = 0;
            for (size_t q = 0; q < 2 * s.n; q++)
                line += ew[q * s.n_ew] * grid[p * 2 * s.n + q];
            sum += ns[p * s.n_ns] * line;
        }
        static_cast<float *>(s.d_beam)[i] = sum;
    }
}

unsigned count_blocks(size_t threads)
{
    size_t n = (threads + THREADS - 1) / THREADS;
    return n < 1 << 16 ? (unsigned)n : 1 << 16;
}

} // namespace

extern "C" size_t beam_k_any_bytes(size_t m, size_t n, size_t nfreq)
{
    return nfreq * 2 * m * 2 * n * sizeof(float2);
}

extern "C" cudaError_t beam_k_form_any(const struct beam_k_input *in, const struct beam_k_any *any,
                                       const struct beam_k_grid *out, cudaStream_t stream)
{
    const any_args a = {*in, *any, *out};
    const dim3 blocks(count_blocks(4 * in->m * in->n * in->nfreq), beam_k_sums(in));
    sum_rows<<<count_blocks(in->nt * in->nfreq * 4 * in->m * in->n), THREADS, 0, stream>>>(a);
    sum_powers<<<blocks, THREADS, 0, stream>>>(a);
    return cudaGetLastError();
}

extern "C" cudaError_t beam_k_steer_any(const struct beam_k_steer *s, int product,
                                        cudaStream_t stream)
{
    const size_t nbeam = product ? s->n_ns * s->n_ew : s->n_ns;
    steer_any<<<count_blocks(s->nfreq * s->nrow * nbeam), THREADS, 0, stream>>>(*s, product);
    return cudaGetLastError();
}
