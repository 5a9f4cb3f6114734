/* threads.h: OpenMP's thread counts, 1 and 0 in a build without OpenMP (private). */
#ifndef PSR_BASE_THREADS_H
#define PSR_BASE_THREADS_H

#include <psrkit/device.h>

#ifdef _OPENMP
#include <omp.h>
#endif

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
