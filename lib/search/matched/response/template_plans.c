/* Transforms of powers of two, planned once and shared by threads. */
#include "template_plans.h"

#include <pthread.h>
#include <stdlib.h>

enum { MOST_LOG = 26 };

struct psr_template_plans {
    pthread_mutex_t lock;
    fftwf_plan plan[2][MOST_LOG + 1]; /* forward, back; NULL until one is wanted */
};

psr_status psr_template_plans_create(struct psr_template_plans **out, psr_err *err)
{
    struct psr_template_plans *p = calloc(1, sizeof *p);
    *out = p;
    if (!p)
        return psr_fail_nomem(err, "matched responses", sizeof *p);
    pthread_mutex_init(&p->lock, NULL);
    fftwf_make_planner_thread_safe();
    return PSR_OK;
}

static fftwf_plan make_plan(size_t n, int sign)
{
    float complex *x = fftwf_malloc(n * sizeof *x);
    fftwf_plan plan = x ? fftwf_plan_dft_1d((int)n, x, x, sign, FFTW_ESTIMATE) : NULL;
    fftwf_free(x);
    return plan;
}

fftwf_plan psr_template_plans_get(struct psr_template_plans *p, size_t n, int sign)
{
    int log = 0;
    while ((size_t)1 << log < n)
        log++;
    pthread_mutex_lock(&p->lock);
    fftwf_plan *plan = &p->plan[sign == FFTW_BACKWARD][log];
    if (!*plan)
        *plan = make_plan(n, sign);
    pthread_mutex_unlock(&p->lock);
    return *plan;
}

void psr_template_plans_destroy(struct psr_template_plans *p)
{
    if (!p)
        return;
    for (int log = 0; log <= MOST_LOG; log++)
        for (int way = 0; way < 2; way++)
            if (p->plan[way][log])
                fftwf_destroy_plan(p->plan[way][log]);
    pthread_mutex_destroy(&p->lock);
    free(p);
}
