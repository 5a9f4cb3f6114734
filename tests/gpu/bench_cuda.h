/* bench_cuda.h: what programs share that print a figure of speed of a CUDA device. */
#ifndef PSR_BENCH_CUDA_H
#define PSR_BENCH_CUDA_H

#include "ceilings.h"
#include "tests/bench/bench.h"

enum { BENCH_REPEAT = 7 };

__attribute__((unused)) static void bench_must_cuda(cudaError_t e, const char *call)
{
    char why[512];
    if (!e)
        return;
    snprintf(why, sizeof why, "%s: %s", call, cudaGetErrorString(e));
    bench_stop(why);
}
#define MUST(call) bench_must_cuda(call, #call)

/* Seconds between two events, when both have come. */
__attribute__((unused)) static double bench_between_s(cudaEvent_t from, cudaEvent_t to)
{
    float ms;
    MUST(cudaEventSynchronize(to));
    MUST(cudaEventElapsedTime(&ms, from, to));
    return 1e-3 * (double)ms;
}

/* Median seconds that the device takes for what run queues on the stream; once more warms up. */
__attribute__((unused)) static double bench_device_s(cudaError_t (*run)(void *), void *ctx,
                                                     cudaStream_t stream)
{
    cudaEvent_t from, to;
    double s[BENCH_REPEAT + 1];
    MUST(cudaEventCreate(&from));
    MUST(cudaEventCreate(&to));
    for (int n = 0; n <= BENCH_REPEAT; n++) {
        MUST(cudaEventRecord(from, stream));
        MUST(run(ctx));
        MUST(cudaEventRecord(to, stream));
        s[n] = bench_between_s(from, to);
    }
    MUST(cudaEventDestroy(from));
    MUST(cudaEventDestroy(to));
    return bench_median(s + 1, BENCH_REPEAT);
}

/* --- ceilings --------------------------------------------------------------------------------- */

struct bench_ceiling {
    cudaError_t (*run)(void *d_sink, double *amount); /* of ceilings.h */
    void *d_sink;
    double amount;
};

__attribute__((unused)) static cudaError_t bench_run_ceiling(void *ctx)
{
    struct bench_ceiling *c = ctx;
    return c->run(c->d_sink, &c->amount);
}

/* Of what run does, a second. */
__attribute__((unused)) static double bench_ceiling_rate(cudaError_t (*run)(void *, double *))
{
    struct bench_ceiling c = {.run = run};
    MUST(cudaMalloc(&c.d_sink, 1 << 20));
    double s = bench_device_s(bench_run_ceiling, &c, 0);
    MUST(cudaFree(c.d_sink));
    return c.amount / s;
}

struct bench_copy {
    void *to;
    const void *from;
    size_t bytes;
    enum cudaMemcpyKind kind;
};

__attribute__((unused)) static cudaError_t bench_run_copy(void *ctx)
{
    const struct bench_copy *c = ctx;
    return cudaMemcpyAsync(c->to, c->from, c->bytes, c->kind, 0);
}

/* Random bytes a second that the device copies from its memory to its memory, read and written
 * counted. */
__attribute__((unused)) static double bench_copy_rate(void)
{
    struct bench_copy c = {.bytes = (size_t)1 << 30, .kind = cudaMemcpyDeviceToDevice};
    void *d;
    MUST(cudaMalloc(&d, 2 * c.bytes));
    MUST(ceiling_fill(d, 2 * c.bytes, 1));
    c.from = d;
    c.to = (char *)d + c.bytes;
    double s = bench_device_s(bench_run_copy, &c, 0);
    MUST(cudaFree(d));
    return 2 * (double)c.bytes / s;
}

/* Random bytes a second that reach the device from pinned memory. */
__attribute__((unused)) static double bench_upload_rate(void)
{
    struct bench_copy c = {.bytes = (size_t)1 << 30, .kind = cudaMemcpyHostToDevice};
    void *h;
    MUST(cudaMalloc(&c.to, c.bytes));
    MUST(cudaMallocHost(&h, c.bytes));
    MUST(ceiling_fill(c.to, c.bytes, 1));
    MUST(cudaMemcpy(h, c.to, c.bytes, cudaMemcpyDeviceToHost));
    c.from = h;
    double s = bench_device_s(bench_run_copy, &c, 0);
    MUST(cudaFree(c.to));
    MUST(cudaFreeHost(h));
    return (double)c.bytes / s;
}

#endif
