/* mask_correction_plan.h: what a mask correction holds between blocks (private). */
#ifndef PSR_SEARCH_DEDISP_MASK_MASK_CORRECTION_PLAN_H
#define PSR_SEARCH_DEDISP_MASK_MASK_CORRECTION_PLAN_H

#include "base/memory.h"
#include "mask_correction.h"

/* A step in samples of a channel as the plan sums them: sum q of downsamp samples gains part, and
 * every one after it gains whole. */
struct psr_mask_edge {
    uint32_t c;
    int64_t q;
    int64_t part, whole; /* fixed point */
};

struct psr_mask_scratch;
struct psr_mask_device;

struct psr_mask_correction {
    struct psr_mask_correction_desc d;
    struct psr_own own;
    int nthread;
    int shift;        /* values are counted in 2^-shift */
    int64_t *current; /* [nchan] */
    int64_t *level;   /* [ndm] what the last sample given on the host was off by */
    struct psr_mask_edge *edge, *sorted; /* [nedge] by channel and time; room for another order */
    size_t nedge, edge_room;
    size_t *first; /* [nchan + 2] edges of channel c are first[c] to first[c + 1] */
    bool off;      /* some level is not 0; on devices, some channel is off */
    struct psr_mask_scratch *scratch; /* [nthread] */
    size_t room;                      /* samples of each */
    int64_t ngiven;
    struct psr_mask_device *device; /* NULL before series on devices */
};

/* --- edges (mask_edges.c) --------------------------------------------------------------------- */

/* Takes steps, and sorts edges.
 * Status: those of psr_mask_correction_execute */
PSR_MUST_CHECK psr_status psr_mask_take_steps(psr_mask_correction *p, const struct psr_step *step,
                                              size_t nstep, psr_err *err);

/* Drops edges that every trial has met by now. */
void psr_mask_drop_edges(psr_mask_correction *p);

/* Samples by which edges of a channel are late in a trial. */
int64_t psr_mask_delay(const psr_mask_correction *p, size_t i, size_t c);

/* Of one unit of fixed point. */
double psr_mask_unit(const psr_mask_correction *p);

/* --- devices (mask_device.c) ------------------------------------------------------------------ */

/* Frees what devices hold; NULL is allowed. */
void psr_mask_device_destroy(struct psr_mask_device *d);

#endif
