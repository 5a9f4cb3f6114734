/* lost.h: breaks a device as a fault of its hardware would, for tests. */
#ifndef PSR_TESTS_LOST_H
#define PSR_TESTS_LOST_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Runs a kernel that traps on the current device: from then on every call of this process that has
 * to do with it fails.  Returned: the error of the kernel. */
cudaError_t lost_trap(void);

#ifdef __cplusplus
}
#endif
#endif
