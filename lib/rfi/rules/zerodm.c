/* Subtracts the series at DM 0, in PRESTO's arithmetic. */
#include "zerodm.h"

#include <string.h>

float psr_zerodm_sum(const float *x, size_t nchan)
{
    float sum = 0;
    for (size_t c = 0; c < nchan; c++)
        sum += x[c];
    return sum;
}

/* The mask's padding, or else the means of the first block, stay the bandpass from then on. */
void psr_zerodm_balance(struct psr_zerodm *z, const float *padding, const float *x, size_t n)
{
    size_t nchan = z->nchan;
    memcpy(z->bandpass, padding, nchan * sizeof *z->bandpass);
    if (psr_zerodm_sum(z->bandpass, nchan) == 0)
        for (size_t c = 0; c < nchan; c++) {
            float sum = 0;
            for (size_t t = 0; t < n; t++)
                sum += x[t * nchan + c];
            z->bandpass[c] = sum / (float)n;
        }
    float total = psr_zerodm_sum(z->bandpass, nchan);
    for (size_t c = 0; c < nchan; c++)
        z->weight[c] = z->bandpass[c] / total;
    z->balanced = true;
}

void psr_zerodm_remove(const struct psr_zerodm *z, float *x, size_t n)
{
    size_t nchan = z->nchan;
    for (size_t t = 0; t < n; t++, x += nchan) {
        float power = psr_zerodm_sum(x, nchan);
        for (size_t c = 0; c < nchan; c++)
            x[c] -= z->weight[c] * power - z->bandpass[c];
    }
}
