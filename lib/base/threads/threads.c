/* Chooses the number of threads, and checks limits. */
#include "threads.h"

#include <time.h>

/* --- A lock and a condition that are made, and unmade, together ------------------------------- */

psr_status psr_monitor_init(struct psr_monitor *m, psr_err *err)
{
    if (!pthread_mutex_init(&m->lock, NULL)) {
        if (!pthread_cond_init(&m->changed, NULL))
            return PSR_OK;
        pthread_mutex_destroy(&m->lock);
    }
    return psr_fail_nomem(err, "a lock", sizeof *m);
}

void psr_monitor_destroy(struct psr_monitor *m)
{
    pthread_cond_destroy(&m->changed);
    pthread_mutex_destroy(&m->lock);
}

void psr_monitor_wait_briefly(struct psr_monitor *m)
{
    const long second_ns = 1000000000, brief_ns = second_ns / 10;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += brief_ns;
    if (until.tv_nsec >= second_ns) {
        until.tv_sec++;
        until.tv_nsec -= second_ns;
    }
    pthread_cond_timedwait(&m->changed, &m->lock, &until);
}

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

int psr_share_threads(int asked, size_t n)
{
    const int each = n > 1 ? psr_count_threads(asked) / (int)n : asked;
    return n > 1 && each < 1 ? 1 : each;
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
