/* Keeps the latest samples of each channel in circles. */
#include "dedisp_rings.h"

#include <stdlib.h>
#include <string.h>

enum {
    MORE = 128, /* lanes, for registers rounded up */
    WHOLE = 64, /* samples: circles are of whole vectors, and of whole sums of the next set */
};

/* --- sizes ------------------------------------------------------------------------------------ */

/* Samples from the oldest one that a trial, or the next set, reads to the latest one. */
static int64_t count_samples(const struct psr_rings *r, size_t k, const struct psr_rings_need *need,
                             const struct psr_rings *next, size_t ratio, size_t next_most)
{
    int64_t n = need->oldest[k] + (int64_t)need->most, skip = r->skip[k];
    if (next) {
        int64_t read = (int64_t)ratio * (next->skip[k] + (int64_t)next_most + 1);
        n = read > n ? read : n;
    }
    n = n - skip + MORE;
    int64_t step = (int64_t)ratio;
    while (step % WHOLE)
        step *= 2;
    return (n + step - 1) / step * step;
}

psr_status psr_rings_create(struct psr_rings *r, size_t nchan, size_t store_bytes,
                            const struct psr_rings_need *need, const struct psr_rings *next,
                            size_t ratio, size_t next_most, bool arrive, psr_err *err)
{
    *r = (struct psr_rings){.nchan = nchan, .store_bytes = store_bytes};
    r->size = calloc(2 * nchan, sizeof *r->size);
    r->at = calloc(nchan, sizeof *r->at);
    if (!r->size || !r->at)
        return psr_fail_nomem(err, "samples of channels", 16.0 * (double)nchan);
    r->skip = r->size + nchan;
    for (size_t k = 0; k < nchan; k++) {
        int64_t skip = arrive ? 0 : need->youngest[k];
        int64_t limit = next ? (int64_t)ratio * next->skip[k] : skip;
        r->skip[k] = (int32_t)(skip < limit ? skip : limit);
        int64_t size = count_samples(r, k, need, next, ratio, next_most);
        if (size > 1 << 30)
            return psr_fail_field(err, PSR_EINVAL, "dm",
                                  "dedispersion: a channel keeps %lld samples, more than 2^30",
                                  (long long)size);
        r->size[k] = (int32_t)size;
        r->at[k] = r->lanes;
        r->lanes += (size_t)size + PSR_RING_PAD;
        r->lanes = (r->lanes + 63) / 64 * 64;
    }
    return PSR_OK;
}

void psr_rings_destroy(struct psr_rings *r)
{
    free(r->size);
    free(r->at);
    *r = (struct psr_rings){0};
}

double psr_rings_bytes(const struct psr_rings *r)
{
    return (double)r->lanes * (double)r->store_bytes;
}

/* --- samples ---------------------------------------------------------------------------------- */

static int64_t place_of(int64_t sample, int32_t size)
{
    int64_t at = sample % size;
    return at < 0 ? at + size : at;
}

static unsigned char *start_of(const struct psr_rings *r, void *memory, size_t k)
{
    return (unsigned char *)memory + r->at[k] * r->store_bytes;
}

/* Repeats the first samples behind the last. */
static void repeat_start(const struct psr_rings *r, unsigned char *ring, size_t k)
{
    memcpy(ring + (size_t)r->size[k] * r->store_bytes, ring, PSR_RING_PAD * r->store_bytes);
}

void psr_rings_clear(const struct psr_rings *r, void *memory, uint32_t blank, int nthread)
{
    if (!blank) {
        memset(memory, 0, r->lanes * r->store_bytes);
        return;
    }
#pragma omp parallel for num_threads(nthread)
    for (size_t k = 0; k < r->nchan; k++) {
        unsigned char *ring = start_of(r, memory, k);
        for (int32_t n = 0; n < r->size[k] + PSR_RING_PAD; n++)
            memcpy(ring + (size_t)n * r->store_bytes, &blank, r->store_bytes);
    }
}

void psr_rings_push(const struct psr_rings *r, void *memory, const void *lane, size_t stride,
                    int64_t first, size_t n, int nthread)
{
    const size_t bytes = r->store_bytes;
#pragma omp parallel for num_threads(nthread)
    for (size_t k = 0; k < r->nchan; k++) {
        unsigned char *ring = start_of(r, memory, k);
        const unsigned char *from = (const unsigned char *)lane + k * stride * bytes;
        size_t at = (size_t)place_of(first, r->size[k]), room = (size_t)r->size[k] - at;
        size_t part = n < room ? n : room;
        memcpy(ring + at * bytes, from, part * bytes);
        memcpy(ring, from + part * bytes, (n - part) * bytes);
        repeat_start(r, ring, k);
    }
}

/* name: n sums of "ratio" samples. */
#define DEFINE_SUMS(name, FROM, TO)                                                                \
    static void name(void *to, const void *from, size_t n, size_t ratio)                           \
    {                                                                                              \
        TO *restrict sum = to;                                                                     \
        const FROM *restrict x = from;                                                             \
        if (ratio == 2)                                                                            \
            for (size_t q = 0; q < n; q++)                                                         \
                sum[q] = (TO)((TO)x[2 * q] + (TO)x[2 * q + 1]);                                    \
        else                                                                                       \
            for (size_t q = 0; q < n; q++) {                                                       \
                TO all = 0;                                                                        \
                for (size_t u = 0; u < ratio; u++)                                                 \
                    all = (TO)(all + x[q * ratio + u]);                                            \
                sum[q] = all;                                                                      \
            }                                                                                      \
    }

DEFINE_SUMS(sums_8_8, uint8_t, uint8_t)
DEFINE_SUMS(sums_8_16, uint8_t, uint16_t)
DEFINE_SUMS(sums_8_32, uint8_t, uint32_t)
DEFINE_SUMS(sums_16_16, uint16_t, uint16_t)
DEFINE_SUMS(sums_16_32, uint16_t, uint32_t)
DEFINE_SUMS(sums_32_32, uint32_t, uint32_t)

typedef void (*sum_function)(void *to, const void *from, size_t n, size_t ratio);

static sum_function choose_sums(size_t from, size_t to)
{
    if (from == 1)
        return to == 1 ? sums_8_8 : to == 2 ? sums_8_16 : sums_8_32;
    if (from == 2)
        return to == 2 ? sums_16_16 : sums_16_32;
    return sums_32_32;
}

void psr_rings_sum(const struct psr_rings *r, void *memory, const struct psr_rings *from,
                   const void *from_memory, size_t ratio, int64_t first, size_t n, int nthread)
{
    sum_function sums = choose_sums(from->store_bytes, r->store_bytes);
#pragma omp parallel for num_threads(nthread)
    for (size_t k = 0; k < r->nchan; k++) {
        unsigned char *ring = start_of(r, memory, k);
        const unsigned char *source =
            (const unsigned char *)from_memory + from->at[k] * from->store_bytes;
        int64_t q = first - r->skip[k], end = q + (int64_t)n;
        while (q < end) {
            int64_t to = place_of(q, r->size[k]), x = place_of(q * (int64_t)ratio, from->size[k]);
            int64_t room = r->size[k] - to, have = (from->size[k] - x) / (int64_t)ratio;
            int64_t part = end - q < room ? end - q : room;
            part = part < have ? part : have;
            sums(ring + (size_t)to * r->store_bytes, source + (size_t)x * from->store_bytes,
                 (size_t)part, ratio);
            q += part;
        }
        repeat_start(r, ring, k);
    }
}

struct psr_ring psr_rings_at(const struct psr_rings *r, const void *memory, size_t k,
                             int64_t sample, int32_t least)
{
    return (struct psr_ring){
        .base = (const unsigned char *)memory + r->at[k] * r->store_bytes,
        .size = r->size[k],
        .head = (int32_t)place_of(sample, r->size[k]),
        .least = least,
    };
}
