/* rfi_block_moments.h: moments to the fourth order of every channel of a block, by the functions that measure
 * cells. */
#ifndef PSR_TEST_RFI_BLOCK_MOMENTS_H
#define PSR_TEST_RFI_BLOCK_MOMENTS_H

#include "rfi/statistics/rfi_statistics.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_WIDTH = PSR_RFI_BYTES_WIDTH, BLOCK_LANES = 8 };

static void take_bytes(const struct psr_layout *l, const unsigned char *in, size_t n,
                       const unsigned char *skip, uint8_t *pair, struct psr_rfi_moments *m)
{
    for (size_t c0 = 0; c0 < l->nchan; c0 += BLOCK_WIDTH) {
        const size_t width = l->nchan - c0 < BLOCK_WIDTH ? l->nchan - c0 : BLOCK_WIDTH;
        psr_rfi_bytes_transpose(l, in, n, c0, width, pair);
        for (size_t c = 0; c < width; c += 2) {
            const uint8_t *x = pair + c * n;
            struct psr_rfi_power_sums s[2];
            psr_rfi_bytes_power_sums(x, n, s);
            for (size_t k = 0; k < 2 && c + k < width; k++) {
                for (size_t t = 0; skip && t < n; t++)
                    if (skip[t])
                        psr_rfi_power_sums_add(&s[k], x[2 * t + k], -1);
                m[c0 + c + k] = psr_rfi_moments_from_sums(&s[k]);
            }
        }
    }
}

static void take_integers(const struct psr_layout *l, const unsigned char *in, size_t n,
                          const unsigned char *skip, float *row, struct psr_rfi_power_sums *s,
                          struct psr_rfi_moments *m)
{
    memset(s, 0, l->nchan * sizeof *s);
    for (size_t t = 0; t < n; t++) {
        if (skip && skip[t])
            continue;
        psr_spectrum_widen(l, in + t * l->row_bytes, row);
        for (size_t c = 0; c < l->nchan; c++)
            psr_rfi_power_sums_add(&s[c], (int64_t)row[c], 1);
    }
    for (size_t c = 0; c < l->nchan; c++)
        m[c] = psr_rfi_moments_from_sums(&s[c]);
}

static void take_floats(const struct psr_layout *l, const unsigned char *in, size_t n,
                        const unsigned char *skip, float *row, float *x, struct psr_rfi_moments *m)
{
    for (size_t c0 = 0; c0 < l->nchan; c0 += BLOCK_LANES) {
        const size_t width = l->nchan - c0 < BLOCK_LANES ? l->nchan - c0 : BLOCK_LANES;
        const struct psr_layout part = {width, l->nbit, l->kind, l->row_bytes};
        size_t kept = 0;
        for (size_t t = 0; t < n; t++) {
            if (skip && skip[t])
                continue;
            psr_spectrum_widen(&part, in + t * l->row_bytes + c0 * (size_t)l->nbit / 8, row);
            for (size_t k = 0; k < width; k++)
                x[k * n + kept] = row[k];
            kept++;
        }
        for (size_t k = 0; k < width; k++)
            m[c0 + k] = psr_rfi_moments_of_floats(x + k * n, kept);
    }
}

/* Moments of every channel of a block by the functions that measure cells.
 * Given:    in     [n] spectra, n at most 2^31
 *           skip   [n]   1: the spectrum is left out; NULL: none is
 * Returned: m [nchan], in the order of the data
 * Status:   PSR_ENOMEM */
static psr_status find_block_moments(const struct psr_layout *l, const void *in, size_t n,
                                     const unsigned char *skip, struct psr_rfi_moments *m,
                                     psr_err *err)
{
    const bool bytes = l->kind == PSR_UINT && l->nbit <= 8;
    const bool exact = l->kind != PSR_FLOAT && l->nbit <= 16;
    const size_t room = bytes   ? BLOCK_WIDTH * n
                        : exact ? l->nchan * sizeof(struct psr_rfi_power_sums)
                                : BLOCK_LANES * n * sizeof(float);
    void *work = malloc(room ? room : 1);
    float *row = malloc(l->nchan * sizeof *row);
    psr_status st = PSR_OK;
    if (!work || !row)
        st = psr_fail_nomem(err, "moments", (double)room);
    else if (bytes)
        take_bytes(l, in, n, skip, work, m);
    else if (exact)
        take_integers(l, in, n, skip, row, work, m);
    else
        take_floats(l, in, n, skip, row, work, m);
    free(work);
    free(row);
    return st;
}

#endif
