/* Copies host memory that devices cannot read at full speed. */
#include "dedisp_cuda.h"

#include <string.h>

enum { COPY_BYTES = 1 << 20 }; /* that a thread copies at once */

void psr_cuda_copy_rows(int nthread, void *to, size_t to_pitch, const void *from, size_t from_pitch,
                        size_t bytes, size_t nrow)
{
    (void)nthread; /* without OpenMP */
#pragma omp parallel for num_threads(nthread) if (bytes * nrow > COPY_BYTES)
    for (size_t n = 0; n < nrow; n++)
        memcpy((char *)to + n * to_pitch, (const char *)from + n * from_pitch, bytes);
}

void psr_cuda_copy(int nthread, void *to, const void *from, size_t bytes)
{
    size_t whole = bytes / COPY_BYTES, done = whole * COPY_BYTES;
    psr_cuda_copy_rows(nthread, to, COPY_BYTES, from, COPY_BYTES, COPY_BYTES, whole);
    memcpy((char *)to + done, (const char *)from + done, bytes - done);
}

bool psr_cuda_is_pinned(const void *p)
{
    struct cudaPointerAttributes a;
    if (cudaPointerGetAttributes(&a, p) == cudaSuccess)
        return a.type == cudaMemoryTypeHost;
    (void)cudaGetLastError();
    return false;
}
