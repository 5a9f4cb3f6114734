/* Chooses the number of threads. */
#include "threads.h"

int psr_count_threads(int asked)
{
#ifdef _OPENMP
    return asked > 0 ? asked : omp_get_max_threads();
#else
    (void)asked;
    return 1;
#endif
}
