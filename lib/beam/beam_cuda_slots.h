/* beam_cuda_slots.h: shared-memory layout of the dishes of a compiled grid (private). */
#ifndef PSR_BEAM_BEAM_CUDA_SLOTS_H
#define PSR_BEAM_BEAM_CUDA_SLOTS_H

#include "beam_internal.h"

#include <beam/beam_kernels.h>

/* Dishes in a row of voltages on the device: those of the array, plus dummies to make a multiple of
 * 4. */
size_t psr_beam_slots_dishes(const struct psr_beam_work *w);

/* The layout described in kernels/beam/beam_kernels.h: dish d is written at write[d]; half e of pair i
 * is read from read[2 i + e] and has dish[2 i + e], -1 for none.  No two dishes share a slot, and
 * no two of a round (32 of the same kind that are processed together) share a bank. */
struct psr_beam_slots {
    uint16_t *write, *read;
    int32_t *dish;
};

/* Status: PSR_ENOMEM.  Must be freed even on error. */
PSR_MUST_CHECK psr_status psr_beam_slots_make(struct psr_beam_slots *s,
                                              const struct beam_k_layout *l,
                                              const struct psr_beam_work *w, psr_err *err);
void psr_beam_slots_free(struct psr_beam_slots *s);

#endif
