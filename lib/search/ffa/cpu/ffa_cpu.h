/* ffa_cpu.h: parts of the fast folding search on the CPU (private). */
#ifndef PSR_SEARCH_FFA_CPU_H
#define PSR_SEARCH_FFA_CPU_H

#include "ffa_cpu_kernel.h"
#include "search/ffa/ffa_backend.h"

/* Profiles that are made at a time; most rows that they need of half a sum; most parts whose sums are made whole. */
enum { PSR_FFA_CHUNK = 32, PSR_FFA_PART = PSR_FFA_CHUNK / 2 + 2, PSR_FFA_LEAVES = 8 };

/* Most steps whose samples are summed in one reading of a series. */
enum { PSR_FFA_GROUP = 256 };

/* A series as integers. */
struct psr_ffa_series {
    int32_t *sums; /* of a group of steps: a step's begin at its sums0 */
    float *level;  /* [2][blocks] */
    double rms;
    float centre, scale; /* X = (x - centre) scale */
    int64_t bad;
};

/* A step's samples, or their numbers outside gaps, and what is made of them. */
struct psr_ffa_side {
    void *q;       /* [n] elements of a step */
    void *rows;    /* sums of parts of the rows */
    void *spare;   /* of half of the largest part */
    void *part;    /* [PSR_FFA_LEAVES - 2][PSR_FFA_PART] rows of sums of several parts */
    void *chunk;   /* [PSR_FFA_CHUNK] profiles */
    double *total; /* prefix sums of a profile, int32 or double; sums of its boxes */
};

/* Memory of one thread; sizes are the largest of all steps, and PSR_FFA_PAD more. */
struct psr_ffa_room {
    float *part;                     /* [3][nparts] */
    struct psr_ffa_side data, count; /* count: if there are gaps */
};

/* Elements from one row of sums to the next: the widest vector's repeated, in whole vectors. */
static inline size_t psr_ffa_stride(size_t nbin)
{
    return (nbin + 63) / 32 * 32;
}

/* Fills series->rms and bad, and centre and scale if it can be searched. */
void psr_ffa_cpu_load(const struct psr_ffa_search *s, const struct psr_ffa_loops *loops,
                      const float *x, struct psr_ffa_series *series);

/* Sums of samples of steps step [nstep], nstep <= PSR_FFA_GROUP: series->sums. */
void psr_ffa_cpu_sum(const struct psr_ffa_search *s, const struct psr_ffa_loops *loops,
                     const float *x, struct psr_ffa_series *series, size_t nstep,
                     const struct psr_ffa_step *step);

/* Samples of a step from their sums: room->data.q; their numbers, if there are gaps. */
void psr_ffa_cpu_sample(const struct psr_ffa_search *s, const struct psr_ffa_step *k,
                        const struct psr_ffa_loops *loops, int32_t *sums,
                        struct psr_ffa_room *room);

struct psr_ffa_score {
    float snr;
    int width; /* index */
};

/* S/N of the trials of a fold of room->data.q.
 * Given: floor                below which trials may be left out
 *        use(ctx, i, score)   gets trial trial0 + i */
void psr_ffa_cpu_fold(const struct psr_ffa_search *s, const struct psr_ffa_loops *loops,
                      const struct psr_ffa_fold *fold, float floor, struct psr_ffa_room *room,
                      void (*use)(void *ctx, size_t i, struct psr_ffa_score score), void *ctx);

#endif
