/* beam_cpu_resample.h: computes intensities of beams from those at the half-integer directions, on
 * the CPU (private). */
#ifndef PSR_BEAM_BEAM_CPU_RESAMPLE_H
#define PSR_BEAM_BEAM_CPU_RESAMPLE_H

#include "beam_internal.h"

enum { MIX_BEAMS = 8, MIX_LANES = 32 };

/* Cosines and sines of pi j / (2 n), j < 2 n. */
struct psr_beam_phasors {
    size_t n;
    double *cosine, *sine; /* [2n] */
};

/* The inner loops, compiled for what the processor has. */
struct psr_beam_loops {
    void (*add_power)(float *sum, const float *x, size_t n);
    void (*mix_rows)(float *mix, const float *x, size_t pitch, size_t n, const float *u, size_t np);
    float (*dot)(const float *a, const float *b, size_t n);
    void (*cotangents)(float *u, const struct psr_beam_phasors *phasors, double cos_a, double sin_a,
                       double sine);
};

enum { PSR_BEAM_GROUP = 16 }; /* sums resampled together with one kernel */

struct psr_resampler {
    struct psr_own own;
    const struct psr_beam_work *w;
    const struct psr_beam_loops *loops;
    struct psr_beam_phasors ns, ew;
};

/* Memory of one thread. */
struct psr_resample_scratch {
    struct psr_own own;
    float *mix;       /* [MIX_BEAMS][PSR_BEAM_GROUP][2N] */
    float *u_ns;      /* [2M][MIX_BEAMS] */
    float *u;         /* [2M] */
    float *u_ew;      /* [n_ew or 1][2N] */
    float *cotangent; /* [2 max(M, N)] */
};

/* Free what they own even on error.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_resampler_init(struct psr_resampler *r, const struct psr_beam_work *w,
                                             const struct psr_beam_loops *loops, psr_err *err);
PSR_MUST_CHECK psr_status psr_resample_scratch_take(struct psr_resample_scratch *s,
                                                    const struct psr_beam_work *w, psr_err *err);

/* Given:    level [2M][PSR_BEAM_GROUP][2N], nsum sums of channel f; those beyond are not used
 * Returned: to [nsum][nbeam] */
void psr_resample(const struct psr_resampler *r, struct psr_resample_scratch *s, const float *level,
                  size_t f, size_t nsum, float *to);

#endif
