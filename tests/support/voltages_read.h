/* voltages_read.h: reads one block of voltages through psr_voltages_pump. */
#ifndef PSR_TESTS_SUPPORT_VOLTAGES_READ_H
#define PSR_TESTS_SUPPORT_VOLTAGES_READ_H

#include "formats/dada/dada_internal.h"

struct one_block {
    void *to;
    size_t *nread;
};

static void *emit_once(void *ctx, size_t i)
{
    const struct one_block *b = ctx;
    return i == 0 ? b->to : NULL;
}

static void take_count(void *ctx, size_t i, size_t nt)
{
    const struct one_block *b = ctx;
    (void)i;
    *b->nread = nt;
}

/* Returned: block   [*nread][nchan][2][nant], *nread < nt only at the end */
static psr_status read_voltages(psr_voltages *v, size_t nt, void *block, size_t *nread,
                                psr_err *err)
{
    struct one_block one = {.to = block, .nread = nread};
    const struct psr_voltages_sink sink = {&one, emit_once, take_count, NULL};
    *nread = 0;
    psr_status st = psr_voltages_pump(v, nt, &sink, err);
    if (st)
        *nread = 0;
    return st;
}

#endif
