/* threads.h: OpenMP's counts, which are 1 and 0 in a build without it (private). */
#ifndef PSR_BASE_THREADS_H
#define PSR_BASE_THREADS_H

#ifdef _OPENMP
#include <omp.h>
#endif

/* Threads to run: those asked for, or all on offer where that is 0. */
static inline int psr_count_threads(int asked)
{
#ifdef _OPENMP
    return asked > 0 ? asked : omp_get_max_threads();
#else
    (void)asked;
    return 1;
#endif
}

/* The calling thread's number in its team. */
static inline int psr_thread_number(void)
{
#ifdef _OPENMP
    return omp_get_thread_num();
#else
    return 0;
#endif
}

#endif
