/* beam_cpu_kernel.h: the inner loops of the CPU backend, compiled for what the processor has
 * (private). */
#ifndef PSR_BEAM_BEAM_CPU_KERNEL_H
#define PSR_BEAM_BEAM_CPU_KERNEL_H

#include <stddef.h>

enum { MIX_BEAMS = 8, MIX_LANES = 32 };

/* Cosines and sines of pi j / (2 n), j < 2 n. */
struct psr_beam_phasors {
    size_t n;
    double *cosine, *sine; /* [2n]; owned by whoever filled them */
};

struct psr_beam_loops {
    void (*add_power)(float *sum, const float *x, size_t n);
    void (*mix_rows)(float *mix, const float *x, size_t pitch, size_t n, const float *u, size_t np);
    float (*dot)(const float *a, const float *b, size_t n);
    void (*cotangents)(float *u, const struct psr_beam_phasors *phasors, double cos_a, double sin_a,
                       double sine);
};

const struct psr_beam_loops *psr_beam_loops_choose(void);

#endif
