/* fake_plan.h: the plan of a synthetic observation (private). */
#ifndef PSR_SIGNAL_FAKE_PLAN_H
#define PSR_SIGNAL_FAKE_PLAN_H

#include "fake_parts.h"

/* The next pulse in a channel: its first sample and its number. */
struct psr_fake_cursor {
    int64_t begin;
    size_t pulse;
};

/* Working memory of one thread. */
struct psr_fake_room {
    float *x;                       /* [tile_rows][nif][nchan] */
    uint8_t *level;                 /* the same, for samples below 8 bits */
    struct psr_fake_cursor *cursor; /* [nactive][nchan] */
};

struct psr_fake {
    struct psr_fake_frame frame;
    uint64_t seed;
    float noise_sigma, red_sigma;
    double red_index;
    float *gain, *gain_offset; /* [nchan] or NULL */
    bool even_odd;
    size_t row_values, row_bytes; /* of one spectrum of all IFs */
    size_t tile_rows;
    int nthread;
    size_t npart;
    struct psr_fake_part *part;
    struct psr_fake_room *room; /* [nthread] */
};

/* Streams of random numbers. */
enum { PSR_FAKE_NOISE = 0, PSR_FAKE_RED = 64 };

/* Adds red noise to rows first .. first + n - 1 of x (fake_red.c). */
void psr_fake_add_red(const struct psr_fake *p, int64_t first, size_t n, float *x);

#endif
