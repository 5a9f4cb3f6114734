/* fuzz_weights: any bytes given as gains, text or NumPy's, give numbers within bounds, or a clear
 * error. */
#include <psrkit/experimental/array.h>
#include <psrkit/experimental/beam.h>

#include "beam/beam_internal.h"
#include "fuzz_file.h"
#include <math.h>

enum { NFREQ = 3, NDISH = 5 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    float *weight;
    psr_err err = {.code = PSR_OK};
    const char *path = fuzz_file(data, size);
    psr_status st = psr_gains_read(path, NFREQ, NDISH, &weight, &err);
    if (st) {
        fuzz_check_failure(st, &err, path);
        if (weight)
            abort();
        return 0;
    }
    for (size_t i = 0; i < 2 * NFREQ * PSR_BEAM_NPOL * NDISH; i++)
        if (!(fabsf(weight[i]) <= 1e12f))
            abort();
    free(weight);
    return 0;
}
