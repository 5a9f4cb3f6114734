/* presto_kernel.h: the inner loop of sums of whole planes, compiled for what the processor has
 * (private). */
#ifndef PSR_COMPAT_PRESTO_PRESTO_KERNEL_H
#define PSR_COMPAT_PRESTO_PRESTO_KERNEL_H

#include <stddef.h>
#include <stdint.h>

enum { PRESTO_LANES = 8 };

/* Where PRESTO_LANES half bins that follow each other find those of a fraction of their frequency:
 * at first + offset[], first from the beginning of a row. */
struct psr_presto_place {
    int64_t first;
    int32_t offset[PRESTO_LANES]; /* 0 .. 7 */
};

/* sum[8 g + k] += row[place[g].first + place[g].offset[k]]; eight floats from each first on are
 * read. */
typedef void psr_presto_add(float *sum, const float *row, const struct psr_presto_place *place,
                            size_t ngroup);

psr_presto_add *psr_presto_add_choose(void);

#endif
