/* dedisp_rings.h: keeps the latest samples of each channel in circles (private).
 *
 * Channels have circles of different sizes: each holds samples as long as some trial needs them.
 * Sums of consecutive samples begin where the samples themselves are needed no more, so that a set
 * of circles is filled from those of the set before it. */
#ifndef PSR_SEARCH_DEDISP_CPU_DEDISP_RINGS_H
#define PSR_SEARCH_DEDISP_CPU_DEDISP_RINGS_H

#include "dedisp_cpu.h"

/* The same for all beams.  Samples are counted from the start of the stream; what came before is
 * blank. */
struct psr_rings {
    size_t nchan, store_bytes;
    int32_t *size; /* [nchan] samples */
    int32_t *skip; /* [nchan] a sample enters this many samples after its time */
    size_t *at;    /* [nchan] lanes before the circle */
    size_t lanes;  /* of all */
};

/* How far trials reach back, of which channel. */
struct psr_rings_need {
    const int32_t *youngest, *oldest; /* [nchan] samples before the latest one, >= 0 */
    size_t most;                      /* samples that arrive at a time */
};

/* Sizes the circles of a set.
 * Given:  next    the set filled from this one, already sized, and its ratio; NULL for the last
 *         arrive  samples enter at once
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_rings_create(struct psr_rings *r, size_t nchan, size_t store_bytes,
                                           const struct psr_rings_need *need,
                                           const struct psr_rings *next, size_t ratio,
                                           size_t next_most, bool arrive, psr_err *err);
void psr_rings_destroy(struct psr_rings *r);

double psr_rings_bytes(const struct psr_rings *r);

/* Sets all samples to "blank"; memory holds psr_rings_bytes. */
void psr_rings_clear(const struct psr_rings *r, void *memory, uint32_t blank, int nthread);

/* Samples first .. first + n - 1 of every channel enter: lane[k * stride], at once. */
void psr_rings_push(const struct psr_rings *r, void *memory, const void *lane, size_t stride,
                    int64_t first, size_t n, int nthread);

/* The time of sums first .. first + n - 1, each of "ratio" samples of "from", has come: those enter
 * that are "skip" older. */
void psr_rings_sum(const struct psr_rings *r, void *memory, const struct psr_rings *from,
                   const void *from_memory, size_t ratio, int64_t first, size_t n, int nthread);

/* Where the sums of a tile find channel k, if output sample 0 takes sample "sample" at delay
 * "least". */
struct psr_ring psr_rings_at(const struct psr_rings *r, const void *memory, size_t k,
                             int64_t sample, int32_t least);

#endif
