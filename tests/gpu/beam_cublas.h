/* beam_cublas.h: sums on the grid to directions by cuBLAS, as a comparison: arbitrary ones by one
 * product with the factors of all places, products of directions by two thin ones.  Halves, added
 * up as floats; the factors lie in memory. */
#ifndef PSR_TESTS_BEAM_CUBLAS_H
#define PSR_TESTS_BEAM_CUBLAS_H

#include "beam_wide.h"
#include "bench_cuda.h"

#include <cublas_v2.h>
#include <stdbool.h>

struct beam_cublas {
    size_t m, n, nfreq, nrow, n_ns, n_ew; /* points: n_ns is 1 */
    const void *d_grid;                   /* [nfreq][nrow][2m][2n] halves */
    bool product;
    cublasHandle_t handle;
    void *d_wide;      /* factors of places, or of the second axis: [nfreq][n_ew][...] */
    void *d_ns;        /* product: [nfreq][n_ns][2m] */
    void *d_between;   /* product: [nfreq][nrow][2m][n_ew] halves */
    const void **d_at; /* product: of each row, its matrices: A, B and C */
    float *d_beam;     /* [nfreq][nrow][n_ns][n_ew] */
};

static void beam_cublas_must(cublasStatus_t st)
{
    if (st)
        bench_stop(cublasGetStatusString(st));
}

/* What a row's second product reads and writes. */
static void beam_cublas_place(struct beam_cublas *b)
{
    const size_t rows = b->nfreq * b->nrow, v = 2 * b->m * b->n_ew * 2, u = b->n_ns * 2 * b->m * 2;
    const void **at = bench_take(3 * rows, sizeof *at);
    for (size_t i = 0; i < rows; i++) {
        at[i] = (char *)b->d_between + i * v;
        at[rows + i] = (char *)b->d_ns + i / b->nrow * u;
        at[2 * rows + i] = b->d_beam + i * b->n_ns * b->n_ew;
    }
    MUST(cudaMalloc((void **)&b->d_at, 3 * rows * sizeof *at));
    MUST(cudaMemcpy(b->d_at, at, 3 * rows * sizeof *at, cudaMemcpyHostToDevice));
    free(at);
}

static void beam_cublas_start(struct beam_cublas *b, const double *d_ns, const double *d_ew,
                              cudaStream_t stream)
{
    const size_t places = (b->product ? 1 : 2 * b->m) * 2 * b->n, beams = b->n_ns * b->n_ew;
    beam_cublas_must(cublasCreate(&b->handle));
    beam_cublas_must(cublasSetStream(b->handle, stream));
    MUST(cudaMalloc(&b->d_wide, b->nfreq * b->n_ew * places * 2));
    MUST(cudaMalloc((void **)&b->d_beam, b->nfreq * b->nrow * beams * sizeof(float)));
    MUST(cudaMemset(b->d_beam, 0xff, b->nfreq * b->nrow * beams * sizeof(float)));
    MUST(beam_wide_fill(b->d_wide, b->nfreq * b->n_ew, b->m, b->n, b->product ? NULL : d_ns, d_ew,
                        stream));
    if (!b->product)
        return;
    MUST(cudaMalloc(&b->d_ns, b->nfreq * b->n_ns * 2 * b->m * 2));
    MUST(cudaMalloc(&b->d_between, b->nfreq * b->nrow * 2 * b->m * b->n_ew * 2));
    MUST(beam_wide_fill(b->d_ns, b->nfreq * b->n_ns, b->m, b->n, d_ns, NULL, stream));
    beam_cublas_place(b);
}

static void beam_cublas_stop(struct beam_cublas *b)
{
    beam_cublas_must(cublasDestroy(b->handle));
    MUST(cudaFree(b->d_wide));
    MUST(cudaFree(b->d_ns));
    MUST(cudaFree(b->d_between));
    MUST(cudaFree((void *)b->d_at));
    MUST(cudaFree(b->d_beam));
}

static void beam_cublas_points(struct beam_cublas *b)
{
    const float one = 1, zero = 0;
    const int beams = (int)b->n_ew, rows = (int)b->nrow, places = (int)(4 * b->m * b->n);
    beam_cublas_must(cublasGemmStridedBatchedEx(
        b->handle, CUBLAS_OP_T, CUBLAS_OP_N, beams, rows, places, &one, b->d_wide, CUDA_R_16F,
        places, (long long)beams * places, b->d_grid, CUDA_R_16F, places, (long long)rows * places,
        &zero, b->d_beam, CUDA_R_32F, beams, (long long)beams * rows, (int)b->nfreq,
        CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
}

static void beam_cublas_product(struct beam_cublas *b)
{
    const float one = 1, zero = 0;
    const int n_ew = (int)b->n_ew, n_ns = (int)b->n_ns, p = (int)(2 * b->m), q = (int)(2 * b->n);
    const int lines = (int)b->nrow * p, rows = (int)(b->nfreq * b->nrow);
    beam_cublas_must(cublasGemmStridedBatchedEx(
        b->handle, CUBLAS_OP_T, CUBLAS_OP_N, n_ew, lines, q, &one, b->d_wide, CUDA_R_16F, q,
        (long long)n_ew * q, b->d_grid, CUDA_R_16F, q, (long long)lines * q, &zero, b->d_between,
        CUDA_R_16F, n_ew, (long long)lines * n_ew, (int)b->nfreq, CUBLAS_COMPUTE_32F,
        CUBLAS_GEMM_DEFAULT));
    beam_cublas_must(cublasGemmBatchedEx(b->handle, CUBLAS_OP_N, CUBLAS_OP_N, n_ew, n_ns, p, &one,
                                         b->d_at, CUDA_R_16F, n_ew, b->d_at + rows, CUDA_R_16F, p,
                                         &zero, (void **)(b->d_at + 2 * rows), CUDA_R_32F, n_ew,
                                         rows, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
}

static cudaError_t beam_cublas_run(void *ctx)
{
    struct beam_cublas *b = ctx;
    if (b->product)
        beam_cublas_product(b);
    else
        beam_cublas_points(b);
    return cudaGetLastError();
}

#endif
