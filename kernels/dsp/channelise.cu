/* Coded voltages to detected spectra: what comes before, between and behind cuFFT's transforms.
 *
 * Threads of a warp take samples that follow each other in time; where a sample of all planes is
 * long, they unpack planes that follow each other, 8 samples each. */
#include "dsp/dsp_kernels.h"

#include <cuda_runtime.h>

namespace
{

constexpr int THREADS = 256, SAMPLES = 8, LANES = 32;

/* Spectra that are loaded at a time; the more, the longer the sums, as those have fewer threads. */
constexpr int AHEAD = 8, FAR_AHEAD = 32, LONG_SUM = 128;

int count_blocks(size_t n, size_t each)
{
    const size_t blocks = (n + each - 1) / each, most = 1 << 30;
    return (int)(blocks < most ? blocks : most);
}

/* Division is much shorter with 32 bits. */
__device__ inline size_t divide(size_t a, size_t b)
{
    return (a | b) >> 32 ? a / b : (size_t)((uint32_t)a / (uint32_t)b);
}

/* --- unpacking -------------------------------------------------------------------------------- */

enum kind { BITS, BYTES, WORDS, FLOATS };

template <kind KIND>
__device__ inline float value_at(const channelise_k_coding &c, const uint8_t *bytes, size_t bit)
{
    const uint8_t *at = bytes + bit / 8;
    if (KIND == BITS) {
        const int low = (int)(bit % 8), shift = c.high_first ? 8 - c.nbit - low : low;
        return __ldg(c.d_value + (*at >> shift & ((1 << c.nbit) - 1)));
    }
    if (KIND == BYTES)
        return ((float)(int8_t)(*at ^ (c.is_offset ? 0x80 : 0)) + c.shift) * c.scale;
    const unsigned low = at[0] | (unsigned)at[1] << 8;
    if (KIND == WORDS)
        return ((c.is_offset ? (float)((int)low - 32768) : (float)(int16_t)low) + c.shift) *
               c.scale;
    const float x = __uint_as_float(low | (unsigned)at[2] << 16 | (unsigned)at[3] << 24);
    return isfinite(x) ? x : 0;
}

template <kind KIND>
__device__ inline void unpack_sample(const channelise_k_coding &c, const channelise_k_run &r,
                                     size_t plane, size_t plane_bits, uint32_t t)
{
    float *to = r.d_to + (plane * r.stride + t) * c.ndim;
    const uint32_t sample = r.from + t;
    const uint32_t frame = c.frame_nsamp == UINT32_MAX ? 0 : sample / c.frame_nsamp;
    const uint32_t within = sample - frame * c.frame_nsamp;
    const bool there =
        r.d_bytes && (!r.d_present || r.d_present[frame * c.ngroup + c.d_plane_group[plane]]);
    const uint8_t *bytes = r.d_bytes + frame * c.frame_bytes;
    const size_t bit = plane_bits + within * c.sample_bits;
    if (c.ndim == 1)
        *to = there ? value_at<KIND>(c, bytes, bit) : 0;
    else
        *(float2 *)to = there ? make_float2(value_at<KIND>(c, bytes, bit),
                                            value_at<KIND>(c, bytes, bit + (size_t)c.nbit))
                              : make_float2(0, 0);
}

/* Blocks of threads have a plane, or LANES of them. */
template <kind KIND, bool ACROSS>
__global__ void __launch_bounds__(THREADS)
    unpack(const channelise_k_coding c, const channelise_k_run r)
{
    constexpr int PLANES = ACROSS ? LANES : 1;
    const size_t ngroup = (c.nplane + PLANES - 1) / PLANES, group = blockIdx.x % ngroup;
    const size_t plane = group * PLANES + threadIdx.x % PLANES;
    const size_t tile = blockIdx.x / ngroup * (THREADS / PLANES * SAMPLES);
    if (plane >= c.nplane)
        return;
    const size_t bits = c.d_plane_bits[plane];
#pragma unroll
    for (int k = 0; k < SAMPLES; k++) {
        const size_t t =
            tile + (ACROSS ? threadIdx.x / PLANES * SAMPLES + k : k * THREADS + threadIdx.x);
        if (t < r.n)
            unpack_sample<KIND>(c, r, plane, bits, (uint32_t)t);
    }
}

/* Fields of planes in turn, without frames: a thread takes four values of each plane from a word. */
template <kind KIND, int NPLANE, int NDIM>
__global__ void __launch_bounds__(THREADS)
    unpack_turns(const channelise_k_coding c, const channelise_k_run r)
{
    constexpr int FIELDS = 4 * NPLANE, EACH = 4 / NDIM; /* samples */
    const size_t k = (size_t)blockIdx.x * THREADS + threadIdx.x;
    const size_t bits = FIELDS * (size_t)c.nbit;
    const uint8_t *from = r.d_bytes + (r.from * c.sample_bits + k * bits) / 8;
    float value[FIELDS];
    if (k * EACH >= r.n)
        return;
    if (KIND == BYTES) {
#pragma unroll
        for (int w = 0; w < NPLANE; w++) {
            const unsigned word = ((const unsigned *)from)[w];
#pragma unroll
            for (int b = 0; b < 4; b++)
                value[4 * w + b] =
                    ((float)(int8_t)(word >> 8 * b ^ (c.is_offset ? 0x80 : 0)) + c.shift) * c.scale;
        }
    } else {
        unsigned word = 0;
        for (int b = 0; b < (int)bits / 8; b++)
            word |= (unsigned)from[b] << 8 * b;
#pragma unroll
        for (int f = 0; f < FIELDS; f++)
            value[f] = __ldg(c.d_value + (word >> f * c.nbit & ((1u << c.nbit) - 1)));
    }
#pragma unroll
    for (int p = 0; p < NPLANE; p++) {
        float v[4];
#pragma unroll
        for (int e = 0; e < 4; e++)
            v[e] = value[(e / NDIM * NPLANE + p) * NDIM + e % NDIM];
        *(float4 *)(r.d_to + (p * r.stride + k * EACH) * NDIM) =
            make_float4(v[0], v[1], v[2], v[3]);
    }
}

/* Whether words of this run are whole, and places are aligned to those of four values; runs that are
 * not of whole words are unpacked value by value. */
bool is_in_turns(const channelise_k_coding &c, const channelise_k_run &r)
{
    const size_t bits = 4 * c.nplane * (size_t)c.nbit, start = r.from * c.sample_bits;
    const size_t align = c.nbit == 8 ? 4 : 1;
    return r.d_bytes && !r.d_present && c.in_turns && c.nplane <= 2 && c.nbit <= 8 &&
           !(c.high_first && c.nbit < 8) && bits % 8 == 0 && start % 8 == 0 &&
           (uintptr_t)(r.d_bytes + start / 8) % align == 0 && (uintptr_t)r.d_to % 16 == 0 &&
           r.stride * c.ndim % 4 == 0 && r.n % (4 / c.ndim) == 0;
}

template <kind KIND>
void launch_turns(const channelise_k_coding &c, const channelise_k_run &r, cudaStream_t stream)
{
    const int blocks = count_blocks(r.n * c.ndim / 4, THREADS);
    if (c.nplane == 1 && c.ndim == 1)
        unpack_turns<KIND, 1, 1><<<blocks, THREADS, 0, stream>>>(c, r);
    else if (c.nplane == 1)
        unpack_turns<KIND, 1, 2><<<blocks, THREADS, 0, stream>>>(c, r);
    else if (c.ndim == 1)
        unpack_turns<KIND, 2, 1><<<blocks, THREADS, 0, stream>>>(c, r);
    else
        unpack_turns<KIND, 2, 2><<<blocks, THREADS, 0, stream>>>(c, r);
}

template <kind KIND>
void launch_unpack(const channelise_k_coding &c, const channelise_k_run &r, cudaStream_t stream)
{
    const bool across = c.sample_bits >= 16 * c.ndim * (size_t)c.nbit && c.nplane >= LANES;
    const size_t planes = across ? LANES : 1, tile = THREADS / planes * SAMPLES;
    const size_t blocks = (c.nplane + planes - 1) / planes * ((r.n + tile - 1) / tile);
    if (across)
        unpack<KIND, true><<<(unsigned)blocks, THREADS, 0, stream>>>(c, r);
    else
        unpack<KIND, false><<<(unsigned)blocks, THREADS, 0, stream>>>(c, r);
}

/* --- segments --------------------------------------------------------------------------------- */

__global__ void __launch_bounds__(THREADS)
    move(const float *from, size_t from_apart, float *to, size_t to_apart, size_t n, size_t total)
{
    for (size_t k = (size_t)blockIdx.x * THREADS + threadIdx.x; k < total;
         k += (size_t)gridDim.x * THREADS) {
        const size_t plane = divide(k, n), i = k - plane * n;
        to[plane * to_apart + i] = from[plane * from_apart + i];
    }
}

__global__ void __launch_bounds__(THREADS) weigh(const channelise_k_taps t, size_t total)
{
    for (size_t k = (size_t)blockIdx.x * THREADS + threadIdx.x; k < total;
         k += (size_t)gridDim.x * THREADS) {
        const size_t job = divide(k, t.nsum), u = k - job * t.nsum;
        const size_t plane = divide(job, t.nsegment), s = job - plane * t.nsegment;
        const float *x = t.d_x + plane * t.stride + s * t.step + u;
        float sum = 0;
        if (!t.d_window) {
            t.d_y[k] = *x;
            continue;
        }
        const float *w = t.d_window + (t.ndim == 2 ? u / 2 : u);
        const size_t apart = t.ndim == 2 ? t.nsum / 2 : t.nsum;
        for (size_t tap = 0; tap < t.ntap; tap++)
            sum += w[tap * apart] * x[tap * t.nsum];
        t.d_y[k] = sum;
    }
}

/* Index of bin b, in order of frequency, in cuFFT's output. */
__device__ inline size_t find_bin(size_t b, size_t nbin, bool real)
{
    const size_t below = real ? 0 : nbin / 2;
    return b < below ? b + nbin - below : b - below;
}

__global__ void __launch_bounds__(THREADS) take(const channelise_k_bins c, size_t total)
{
    for (size_t k = (size_t)blockIdx.x * THREADS + threadIdx.x; k < total;
         k += (size_t)gridDim.x * THREADS) {
        const size_t job = divide(k, c.nbin), b = k - job * c.nbin;
        const size_t i = divide(b, c.nfft), q = b - i * c.nfft, half = c.nfft / 2;
        float2 y = c.d_z[job * c.apart + find_bin(b, c.nbin, c.real)];
        if (c.d_response) {
            const size_t input = divide(divide(job, c.nsegment), c.npol);
            const float2 h = c.d_response[input * c.nbin + b];
            y = make_float2(y.x * h.x - y.y * h.y, y.x * h.y + y.y * h.x);
        }
        c.d_part[job * c.nbin + i * c.nfft + (q < half ? q + c.nfft - half : q - half)] =
            make_float2(y.x * c.scale, y.y * c.scale);
    }
}

/* --- detection -------------------------------------------------------------------------------- */

/* Where the spectra of output channel c are, those of one polarisation. */
struct series {
    const float2 *v;
    size_t apart; /* from a segment to the next */
};

__device__ inline series find_series(const channelise_k_spectra &d, size_t c, size_t pol)
{
    const size_t o = d.upper ? d.nchan - 1 - c : c, input = divide(o, d.n), i = o - input * d.n;
    const size_t at = d.nfft > 1 ? i * d.nfft + d.early : find_bin(i, d.n, d.real);
    return {d.d_v + (input * d.npol + pol) * d.nsegment * d.apart + at, d.apart};
}

/* Spectrum t; 0 where it does not count, which adds nothing. */
__device__ inline float2 voltage_at(const channelise_k_spectra &d, const series &s, size_t t,
                                    size_t stop)
{
    if (t >= stop || (d.d_good && !d.d_good[t]))
        return make_float2(0, 0);
    const size_t segment = d.keep == 1 ? t : divide(t, d.keep);
    const float2 v = s.v[segment * s.apart + (t - segment * d.keep)];
    return make_float2(v.x * d.scale, v.y * d.scale);
}

__device__ inline float power_of(float2 v)
{
    return v.x * v.x + v.y * v.y;
}

/* Spectra of a row that are in this batch; whether the row begins here. */
struct part {
    size_t from, stop;
    bool begins;
};

__device__ inline part find_part(const channelise_k_spectra &d, size_t row)
{
    const size_t first = row * d.tsum, stop = first + d.tsum - d.fill;
    return {first < d.fill ? 0 : first - d.fill, stop < d.nspectrum ? stop : d.nspectrum,
            first >= d.fill};
}

/* Each power of its own: a thread a value of a row. */
template <int DEPTH>
__global__ void __launch_bounds__(THREADS) detect_each(const channelise_k_spectra d, size_t total)
{
    const size_t k = (size_t)blockIdx.x * THREADS + threadIdx.x;
    const size_t nout = d.nchan / d.fsum, nvalue = d.npol * nout;
    if (k >= total)
        return;
    const size_t row = divide(k, nvalue), value = k - row * nvalue, pol = value >= nout;
    const size_t c = (value - pol * nout) * d.fsum;
    const part p = find_part(d, row);
    float sum = p.begins ? 0 : d.d_row[k];
    if (d.fsum > 1)
        for (size_t t = p.from; t < p.stop; t++)
            for (size_t f = 0; f < d.fsum; f++)
                sum += power_of(voltage_at(d, find_series(d, c + f, pol), t, p.stop));
    else {
        const series s = find_series(d, c, pol);
        for (size_t t = p.from; t < p.stop; t += DEPTH) {
            float2 v[DEPTH];
#pragma unroll
            for (int a = 0; a < DEPTH; a++)
                v[a] = voltage_at(d, s, t + a, p.stop);
#pragma unroll
            for (int a = 0; a < DEPTH; a++)
                sum += power_of(v[a]);
        }
    }
    d.d_row[k] = sum;
}

struct products {
    float x[4];
};

__device__ inline void add_products(const channelise_k_spectra &d, float2 a, float2 b, products *s)
{
    const bool stokes = d.what != CHANNELISE_K_COHERENCE;
    const float twice = stokes ? 2 : 1, sign = d.upper ? 1 : -1;
    const float pp = power_of(a), qq = power_of(b);
    s->x[0] += stokes ? pp + qq : pp;
    s->x[1] += stokes ? pp - qq : qq;
    s->x[2] += twice * (a.x * b.x + a.y * b.y);
    s->x[3] += twice * sign * (a.x * b.y - a.y * b.x);
}

/* All products: a thread a channel of a row. */
__global__ void __launch_bounds__(THREADS)
    detect_products(const channelise_k_spectra d, size_t total)
{
    const size_t k = (size_t)blockIdx.x * THREADS + threadIdx.x, nout = d.nchan / d.fsum;
    if (k >= total)
        return;
    const size_t row = divide(k, nout), c = k - row * nout;
    /* where each is stored: V of circular polarisations is the second product */
    const bool circular = d.what == CHANNELISE_K_CIRCULAR;
    const int place[4] = {0, circular ? 3 : 1, circular ? 1 : 2, circular ? 2 : 3};
    const part p = find_part(d, row);
    float *x = d.d_row + row * 4 * nout + c;
    products s = {{0, 0, 0, 0}};
    for (int i = 0; i < 4 && !p.begins; i++)
        s.x[i] = x[place[i] * nout];
    for (size_t t = p.from; t < p.stop; t++)
        for (size_t f = 0; f < d.fsum; f++)
            add_products(d, voltage_at(d, find_series(d, c * d.fsum + f, 0), t, p.stop),
                         voltage_at(d, find_series(d, c * d.fsum + f, 1), t, p.stop), &s);
    for (int i = 0; i < 4; i++)
        x[place[i] * nout] = s.x[i];
}

} // namespace

cudaError_t channelise_k_unpack(const struct channelise_k_coding *c,
                                const struct channelise_k_run *run, cudaStream_t stream)
{
    if (run->n == 0)
        return cudaSuccess;
    if (is_in_turns(*c, *run) && c->nbit == 8)
        launch_turns<BYTES>(*c, *run, stream);
    else if (is_in_turns(*c, *run))
        launch_turns<BITS>(*c, *run, stream);
    else if (c->is_float)
        launch_unpack<FLOATS>(*c, *run, stream);
    else if (c->nbit == 16)
        launch_unpack<WORDS>(*c, *run, stream);
    else if (c->nbit == 8)
        launch_unpack<BYTES>(*c, *run, stream);
    else
        launch_unpack<BITS>(*c, *run, stream);
    return cudaGetLastError();
}

cudaError_t channelise_k_move(const float *d_from, size_t from_apart, float *d_to, size_t to_apart,
                              size_t n, size_t nplane, cudaStream_t stream)
{
    if (n == 0)
        return cudaSuccess;
    move<<<count_blocks(n * nplane, THREADS), THREADS, 0, stream>>>(d_from, from_apart, d_to,
                                                                    to_apart, n, n * nplane);
    return cudaGetLastError();
}

cudaError_t channelise_k_weigh(const struct channelise_k_taps *t, cudaStream_t stream)
{
    const size_t total = t->nsum * t->nplane * t->nsegment;
    weigh<<<count_blocks(total, THREADS), THREADS, 0, stream>>>(*t, total);
    return cudaGetLastError();
}

cudaError_t channelise_k_take(const struct channelise_k_bins *b, cudaStream_t stream)
{
    const size_t total = b->njob * b->nbin;
    take<<<count_blocks(total, THREADS), THREADS, 0, stream>>>(*b, total);
    return cudaGetLastError();
}

cudaError_t channelise_k_detect(const struct channelise_k_spectra *d, cudaStream_t stream)
{
    const size_t nrow = (d->fill + d->nspectrum + d->tsum - 1) / d->tsum, nout = d->nchan / d->fsum;
    const bool each = d->what == CHANNELISE_K_EACH || d->npol == 1;
    const size_t total = nrow * nout * (each ? d->npol : 1);
    if (d->nspectrum == 0)
        return cudaSuccess;
    if (each && d->tsum >= LONG_SUM)
        detect_each<FAR_AHEAD><<<count_blocks(total, THREADS), THREADS, 0, stream>>>(*d, total);
    else if (each)
        detect_each<AHEAD><<<count_blocks(total, THREADS), THREADS, 0, stream>>>(*d, total);
    else
        detect_products<<<count_blocks(total, THREADS), THREADS, 0, stream>>>(*d, total);
    return cudaGetLastError();
}
