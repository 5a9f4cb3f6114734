/* beam_wide.h: the factors of directions as plain matrices, for a library of matrix products. */
#ifndef PSR_TESTS_BEAM_WIDE_H
#define PSR_TESTS_BEAM_WIDE_H

#include <cuda_runtime_api.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* U_p(ns) U_q(ew) of each direction, as halves: d_to [ndir][2m][2n].  Where one axis' directions
 * are NULL it has one place, whose factor is 1. */
cudaError_t beam_wide_fill(void *d_to, size_t ndir, size_t m, size_t n, const double *d_ns,
                           const double *d_ew, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
