/* beam_fft.cuh: a zero-padded transform of M x N places to 2M x 2N beams on tensor cores, in the
 * registers of the warps of one team (private to beam_form.cu).
 *
 * Along one axis, sum over n of x[n] exp(i pi n q / N) is C + i S at q and C - i S at 2N - q, with
 *   C[q] = sum x[n] cos(pi n q / N), S[q] = sum x[n] sin(pi n q / N), 0 < q < N:
 * real matrices, which halves the products.  Row 0 of S would be 0; it holds C[N] instead.
 *
 * The first product has the constants as its left factor and x as its right one, m along its
 * columns, so that a lane's result (two neighbouring m of one q) is its part of the right
 * factor of the second product, over m.  Lanes exchange nothing.  A warp has 8 of the q in
 * 0..N-1 and with them 8 of those above.  The beam's phase is not needed, only |E|^2. */
#ifndef PSR_KERNELS_BEAM_FFT_CUH
#define PSR_KERNELS_BEAM_FFT_CUH

#include "common/ptx.cuh"

/* Thread blocks on a multiprocessor, whatever they need. */
#if defined __CUDA_ARCH__ && (__CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900 || __CUDA_ARCH__ == 1000)
constexpr int MOST_BLOCKS = 32;
#else
constexpr int MOST_BLOCKS = 16;
#endif

/* TEAMS teams of warps have the same frequency and samples of their own.  A batch is QUADS times
 * two samples of two polarisations. */
template <int M_, int N_, int TEAMS_, int QUADS_, int BLOCKS_> struct beam_shape {
    static constexpr int M = M_, N = N_, TEAMS = TEAMS_, QUADS = QUADS_;
    static constexpr int BLOCKS =
        BLOCKS_ < MOST_BLOCKS ? BLOCKS_ : MOST_BLOCKS; /* a multiprocessor has, at least */
    static constexpr int MB = M / 8, NB = (N + 7) / 8; /* blocks of 8 places */
    static constexpr int TEAM_WARPS = NB, WARPS = NB * TEAMS, THREADS = 32 * WARPS;
    static constexpr int GROUPS = MB * NB, WORDS = 32 * GROUPS; /* of a plane of one sample */
    static constexpr int SAMPLES = 4 * QUADS;
    static constexpr int SAMPLE_WORDS = 2 * WORDS;         /* real and imaginary plane */
    static constexpr int ITEMS = (M * N + 127) / 128 * 32; /* four dishes each */
    static constexpr int SLOTS = 4 * ITEMS;
    static constexpr int LOADS = (ITEMS * QUADS + THREADS - 1) / THREADS;
    static constexpr int PLACES = GROUPS > WARPS ? GROUPS / WARPS : 1; /* pairs a thread has */
    static constexpr int ROUNDS = GROUPS * QUADS / WARPS;
    static constexpr int BEAMS = 4 * M * N;
    static constexpr int TABLE = (NB * NB + MB * MB) * 64;
    static_assert(M % 8 == 0 && N % 4 == 0 && GROUPS * QUADS % WARPS == 0, "shares");
    static_assert(GROUPS % WARPS == 0 || WARPS % GROUPS == 0, "a thread's pairs stay the same");
    static_assert(TEAMS * BEAMS <= SAMPLES * SAMPLE_WORDS, "sums fit where samples were");
    static_assert(SAMPLES % TEAMS == 0, "a team's samples");
};

#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800

/* What a lane keeps for all samples. */
template <class S> struct beam_lane {
    uint32_t first[2 * S::NB];         /* constants of the first product */
    uint32_t second[S::MB][2 * S::MB]; /* and of the second */
    __half2 pair;                      /* 1 where rows are C and S of one q, 0 where C and C */
    float even[S::MB][2][2];           /* |C|^2 + |S|^2 of p block, sign of q, column */
    float odd[2][2];                   /* |S|^2 of p block 0, which is not in even there */
    float cross[S::MB][2][2];          /* Im C Re S - Re C Im S */
};

/* G[q] and G[2N - q] from C and S; where the rows are C[0] and C[N], C[0] and -i C[N]. */
template <class S>
__device__ __forceinline__ void first_transform(const beam_lane<S> &l, uint32_t sample, int lane,
                                                uint32_t g[2][2][S::MB])
{
    constexpr int COUNT = 2 * S::MB * S::NB;
    uint32_t x[COUNT];
    for (int i = 0; i + 4 <= COUNT; i += 4)
        load_matrices(sample + 128 * i + 16 * lane, x + i);
    if (COUNT % 4)
        load_matrix_pair(sample + 128 * (COUNT / 4 * 4) + 16 * (lane & 15), x + COUNT / 4 * 4);
    for (int b = 0; b < S::MB; b++) {
        uint32_t re[2], im[2];
        multiply_rows<S::NB>(re, l.first, x + b * S::NB);
        multiply_rows<S::NB>(im, l.first, x + (S::MB + b) * S::NB);
        __half2 cr = as_half2(re[0]), sr = as_half2(re[1]);
        __half2 ci = as_half2(im[0]), si = as_half2(im[1]);
        g[0][0][b] = as_word(__hfma2(__hneg2(l.pair), si, cr));
        g[0][1][b] = as_word(__hfma2(l.pair, sr, ci));
        g[1][0][b] = as_word(__hfma2(l.pair, cr, si));
        g[1][1][b] = as_word(__hfma2(l.pair, ci, __hneg2(sr)));
    }
}

template <class S>
__device__ __forceinline__ void second_transform(beam_lane<S> &l, const uint32_t g[2][2][S::MB])
{
    for (int sign = 0; sign < 2; sign++)
        for (int b = 0; b < S::MB; b++) {
            float re[4], im[4];
            multiply_rows<S::MB>(re, l.second[b], g[sign][0]);
            multiply_rows<S::MB>(im, l.second[b], g[sign][1]);
            for (int e = 0; e < 2; e++) {
                float *odd = b ? &l.even[b][sign][e] : &l.odd[sign][e];
                l.even[b][sign][e] += re[e] * re[e];
                *odd += re[2 + e] * re[2 + e];
                l.cross[b][sign][e] += im[e] * re[2 + e];
                l.even[b][sign][e] += im[e] * im[e];
                *odd += im[2 + e] * im[2 + e];
                l.cross[b][sign][e] -= re[e] * im[2 + e];
            }
        }
}

template <class S>
__device__ __forceinline__ void prepare_lane(beam_lane<S> &l, const uint32_t *table, int block,
                                             int lane)
{
    for (int i = 0; i < 2 * S::NB; i++)
        l.first[i] = table[(block * 2 * S::NB + i) * 32 + lane];
    table += S::NB * 2 * S::NB * 32;
    for (int b = 0; b < S::MB; b++)
        for (int i = 0; i < 2 * S::MB; i++)
            l.second[b][i] = table[(b * 2 * S::MB + i) * 32 + lane];
    l.pair = __float2half2_rn(block == 0 && lane / 4 == 0 ? 0 : 1);
    for (int sign = 0; sign < 2; sign++)
        for (int e = 0; e < 2; e++) {
            l.odd[sign][e] = 0;
            for (int b = 0; b < S::MB; b++)
                l.even[b][sign][e] = l.cross[b][sign][e] = 0;
        }
}

/* A lane's sums to their places in sum[2M][2N], or to those of the negative p and q. */
template <class S>
__device__ __forceinline__ void put_sums(const beam_lane<S> &l, float *sum, int block, int lane,
                                         bool mirror)
{
    for (int sign = 0; sign < 2; sign++)
        for (int e = 0; e < 2; e++) {
            int q = 8 * block + 2 * (lane & 3) + e;
            if (q >= S::N)
                continue;
            if (q == 0)
                q = sign ? S::N : 0;
            else if (sign != mirror)
                q = 2 * S::N - q;
            for (int b = 0; b < S::MB; b++) {
                int p = 8 * b + lane / 4, opposite = p ? 2 * S::M - p : S::M;
                float even = l.even[b][sign][e], odd = b ? 0 : l.odd[sign][e];
                float cross = mirror ? -2 * l.cross[b][sign][e] : 2 * l.cross[b][sign][e];
                bool apart = p == 0; /* rows were C[0] and C[M] */
                /* rounding must not make a dark beam negative */
                sum[p * 2 * S::N + q] = apart ? even : fmaxf(even + odd + cross, 0);
                sum[opposite * 2 * S::N + q] = apart ? odd : fmaxf(even + odd - cross, 0);
            }
        }
}

#endif
#endif
