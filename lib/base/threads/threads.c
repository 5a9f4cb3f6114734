/* Chooses the number of threads, and checks limits. */
#include "threads.h"

int psr_count_threads(int asked)
{
#ifdef _OPENMP
    /* OMP_NUM_THREADS may say anything: beyond some for each core threads cost and bring nothing. */
    enum { MAX_PER_CORE = 4, MAX_OF_FEW = 64 };
    const int cores = omp_get_num_procs(), wanted = omp_get_max_threads();
    const int most = MAX_PER_CORE * cores > MAX_OF_FEW ? MAX_PER_CORE * cores : MAX_OF_FEW;
    return asked > 0 ? asked : wanted < most ? wanted : most;
#else
    (void)asked;
    return 1;
#endif
}

psr_status psr_check_resources(const char *what, int nthread, int64_t mem_bytes, psr_err *err)
{
    enum { MAX_THREADS = 4096 };
    if (nthread < 0 || nthread > MAX_THREADS)
        return psr_fail_field(err, PSR_EINVAL, "nthread", "%s: %d threads is outside 0 to %d", what,
                              nthread, MAX_THREADS);
    if (mem_bytes < 0)
        return psr_fail_field(err, PSR_EINVAL, "mem_bytes", "%s: memory of %lld bytes is below 0",
                              what, (long long)mem_bytes);
    return PSR_OK;
}
