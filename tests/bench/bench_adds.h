/* bench_adds.h: how fast this machine adds 16-bit numbers, the ceiling of dedispersion on it. */
#ifndef PSR_BENCH_ADDS_H
#define PSR_BENCH_ADDS_H

#include "bench.h"
#include <omp.h>
#include <stdint.h>

enum { ADD_BYTES = 16 << 10, ADD_ROUNDS = 100000 };

/* Adds all registers of 16-bit numbers that begin one number into each 64-byte line of x. */
#define DEFINE_ADDS(name, BYTES, ISA)                                                              \
    typedef uint16_t name##_at __attribute__((vector_size(BYTES), aligned(2), may_alias));         \
    ISA static unsigned name(const char *x)                                                        \
    {                                                                                              \
        name##_at a = {0}, b = a, c = a, d = a;                                                    \
        for (int r = 0; r < ADD_ROUNDS; r++) {                                                     \
            for (int n = 2; n < ADD_BYTES; n += 4 * BYTES) {                                       \
                a += *(const name##_at *)(x + n);                                                  \
                b += *(const name##_at *)(x + n + BYTES);                                          \
                c += *(const name##_at *)(x + n + 2 * BYTES);                                      \
                d += *(const name##_at *)(x + n + 3 * BYTES);                                      \
            }                                                                                      \
            __asm__ volatile("" ::: "memory");                                                     \
        }                                                                                          \
        a += b + c + d;                                                                            \
        return a[0];                                                                               \
    }

DEFINE_ADDS(adds_base, 16, )
#if defined __x86_64__
DEFINE_ADDS(adds_avx2, 32, __attribute__((target("avx2"))))
DEFINE_ADDS(adds_avx512, 64, __attribute__((target("avx512f,avx512bw"))))
#endif

static unsigned run_adds(const char *x)
{
#if defined __x86_64__
    if (__builtin_cpu_supports("avx512bw"))
        return adds_avx512(x);
    if (__builtin_cpu_supports("avx2"))
        return adds_avx2(x);
#endif
    return adds_base(x);
}

/* 16-bit adds a second from the first cache, from unaligned places. */
__attribute__((unused)) static double bench_add_rate(int nthread)
{
    unsigned sink = 0;
    double start = bench_wall_s();
#pragma omp parallel num_threads(nthread) reduction(+ : sink)
    {
        char *x = bench_take(ADD_BYTES + 64, 1);
        memset(x, 1, ADD_BYTES + 64);
        sink += run_adds(x);
        free(x);
    }
    double took = bench_wall_s() - start;
    return sink == 1 ? 0 : (double)nthread * ADD_ROUNDS * (ADD_BYTES / 2) / took;
}

#endif
