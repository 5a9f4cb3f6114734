/* ffa_cpu.h: parts of the fast folding search on the CPU (private). */
#ifndef PSR_SEARCH_FFA_CPU_H
#define PSR_SEARCH_FFA_CPU_H

#include "search/ffa/ffa_backend.h"

/* Elements behind each buffer that vectors may read and write. */
enum { PSR_FFA_PAD = 64 };

/* A series as integers. */
struct psr_ffa_series {
    uint32_t *prefix; /* [nsamp + 1] */
    float *level;     /* [2][blocks] */
    double rms;
    int64_t bad;
};

/* Memory of one thread; sizes are the largest of all steps. */
struct psr_ffa_room {
    int32_t *sums; /* [n] samples of a step */
    float *part;   /* [3][nparts] */
    char *q;       /* [n] elements of a step */
    char *rows[2]; /* sums of rows */
    char *row;     /* one profile */
    double *total; /* prefix sums of a profile, int32 or double */
};

/* Fills series->rms and bad, and prefix if it can be searched. */
void psr_ffa_cpu_load(const struct psr_ffa_search *s, const float *x,
                      struct psr_ffa_series *series);

/* Samples of a step, room->q. */
void psr_ffa_cpu_sample(const struct psr_ffa_search *s, const struct psr_ffa_step *k,
                        const uint32_t *prefix, struct psr_ffa_room *room);

struct psr_ffa_score {
    float snr;
    int width; /* index */
};

/* S/N of all trials of a fold of room->q.
 * Given: use(ctx, i, score)   gets trial trial0 + i */
void psr_ffa_cpu_fold(const struct psr_ffa_search *s, const struct psr_ffa_fold *fold,
                      struct psr_ffa_room *room,
                      void (*use)(void *ctx, size_t i, struct psr_ffa_score score), void *ctx);

#endif
