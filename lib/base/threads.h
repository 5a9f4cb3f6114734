/* threads.h: how many threads there are, and which one this is, with or without OpenMP (private).
 */
#ifndef PSR_BASE_THREADS_H
#define PSR_BASE_THREADS_H

#ifdef _OPENMP
#include <omp.h>
#endif

/* asked, or all cores where it is 0. */
static inline int psr_threads(int asked)
{
#ifdef _OPENMP
    return asked > 0 ? asked : omp_get_max_threads();
#else
    (void)asked;
    return 1;
#endif
}

/* From 0, within a parallel region. */
static inline int psr_thread_number(void)
{
#ifdef _OPENMP
    return omp_get_thread_num();
#else
    return 0;
#endif
}

#endif
