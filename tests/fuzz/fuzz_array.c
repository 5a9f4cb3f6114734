/* fuzz_array: any bytes given as the file of an array give dishes that stand on its grid, or a
 * clear error. */
#include <psrkit/experimental/array.h>

#include "beam/beam_internal.h"
#include "fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct psr_array a;
    psr_err err = {.code = PSR_OK};
    const char *path = fuzz_file(data, size);
    psr_status st = psr_array_read(&a, path, &err);
    if (st) {
        fuzz_check_failure(st, &err, path);
        if (a.cell)
            abort();
        return 0;
    }
    for (size_t d = 0; d < a.ndish; d++)
        if (a.cell[d] < -1 || a.cell[d] >= (int32_t)(a.m * a.n))
            abort();
    if (psr_array_check(&a, path, NULL) || strlen(a.telescope) >= sizeof a.telescope ||
        strlen(a.standin) >= sizeof a.standin)
        abort();
    psr_array_clear(&a);
    return 0;
}
