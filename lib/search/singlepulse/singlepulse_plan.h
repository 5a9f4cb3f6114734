/* singlepulse_plan.h: the plan of the single-pulse search (private). */
#ifndef PSR_SEARCH_SINGLEPULSE_PLAN_H
#define PSR_SEARCH_SINGLEPULSE_PLAN_H

#include "pulse_device.h"

/* One series. */
struct pulse_series_state {
    float *piece; /* [PULSE_SLOTS][length], piece k at k % PULSE_SLOTS, flattened once
                                     it can be; NULL: on a device */
    struct pulse_figures *figure; /* [PULSE_KEPT], of piece k at k % PULSE_KEPT */
    struct pulse_peaks picker;
};

/* What one thread needs. */
struct pulse_bench {
    float *flat; /* [room] the end of a piece and the next */
    float *work; /* [PULSE_SUMS][room] */
    struct pulse_room room;
};

struct psr_singlepulse {
    size_t nseries, maxwidth, length, room, block;
    struct pulse_scale scale;
    size_t *sweep; /* [nseries] */
    size_t maxsweep;
    float threshold;
    int nthread;
    int64_t pos; /* samples pushed */
    bool ended;
    struct psr_span *mask; /* that may still touch samples to come */
    size_t nmask, mask_room;
    struct pulse_series_state *series; /* [nseries] */
    struct pulse_bench *bench;         /* [nthread] */

    /* On the host; made when the first samples come from there. */
    float *samples;               /* of all lanes */
    struct pulse_figures *figure; /* of all lanes */

    /* On devices. */
    struct psr_device_series *device_series; /* [nshare] as the first call said */
    void **share; /* [nshare] state of each; NULL: the series lie on the host */
    size_t nshare;
};

/* Forgets masks that lie before p->pos. */
void psr_pulse_forget_masks(struct psr_singlepulse *p);

/* psr_singlepulse_finish where series lie on devices. */
PSR_MUST_CHECK psr_status psr_pulse_finish_partitions(struct psr_singlepulse *p, psr_err *err);
void psr_pulse_free_partitions(struct psr_singlepulse *p);

#endif
