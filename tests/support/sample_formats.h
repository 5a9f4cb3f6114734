/* sample_formats.h: every kind of samples that spectra may have, for tests. */
#ifndef PSR_SAMPLE_FORMATS_H
#define PSR_SAMPLE_FORMATS_H

#include "formats/spectra/unpack.h"

static const struct {
    int nbit;
    enum psr_kind kind;
} formats[] = {
    {1, PSR_UINT},  {2, PSR_UINT}, {4, PSR_UINT}, {8, PSR_UINT},   {16, PSR_UINT},
    {32, PSR_UINT}, {8, PSR_INT},  {16, PSR_INT}, {32, PSR_FLOAT},
};
enum { NFORMAT = sizeof formats / sizeof *formats };

#endif
