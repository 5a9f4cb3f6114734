/* dedisp_tree_cuda.h: what the tests of tree dedispersion on a CUDA device share. */
#ifndef DEDISP_TREE_CUDA_H
#define DEDISP_TREE_CUDA_H

#include "tests/support/dedisp_shape.h"

#include <psrkit/device.h>

static bool is_refused(const struct shape *s)
{
    psr_dedisp *p;
    psr_err err;
    psr_status st = psr_dedisp_create(&p, &s->d, &err);
    psr_dedisp_destroy(p);
    return st == PSR_EUNSUPPORTED && strstr(err.msg, "tree");
}

#endif
