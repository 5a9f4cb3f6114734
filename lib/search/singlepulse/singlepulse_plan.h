/* singlepulse_plan.h: the plan of the single-pulse search (private). */
#ifndef PSR_SEARCH_SINGLEPULSE_PLAN_H
#define PSR_SEARCH_SINGLEPULSE_PLAN_H

#include "pulse_device.h"

/* A series that is searched from what was before alone. */
struct pulse_trail {
    float *raw;                /* [length] of the piece at work */
    float *flat;               /* [maxwidth - 1 + length] before it and its own, flattened */
    double level[PULSE_TRAIL]; /* of part s at s % PULSE_TRAIL, not a number where there is none */
    double predicted[PULSE_PARTS][PULSE_LENGTHS]; /* of the parts of the piece, by length */
    double scatter, bound; /* of the piece; what its parts may be off by, in units of that */
    int ndead;             /* parts of the piece without data */
    int64_t since;         /* piece before which scatters are forgotten */
    bool known;            /* the piece has a scatter and levels from before */
    int64_t next;          /* part to be searched next */
};

/* One series. */
struct pulse_series_state {
    float *piece; /* [PULSE_SLOTS][length], piece k at k % PULSE_SLOTS, flattened once
                                     it can be; NULL: on a device */
    struct pulse_figures *figure; /* [PULSE_KEPT], of piece k at k % PULSE_KEPT */
    struct pulse_trail trail;     /* of a causal search, which has no pieces */
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
    bool causal, late, ended;
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

/* Replaces the masked samples of [pos, pos + n) of series i by not-a-numbers. */
void psr_pulse_blank(const struct psr_singlepulse *p, size_t i, int64_t pos, float *x, size_t n);

/* Series i of a causal search.  Given:  samples [PULSE_TRAIL_ROOM(p)]; x [n], the next */
#define PULSE_TRAIL_ROOM(p) (2 * (p)->length + (p)->maxwidth - 1)
void psr_pulse_trail_init(struct psr_singlepulse *p, size_t i, float *samples);
bool psr_pulse_trail_push(const struct psr_singlepulse *p, size_t i, struct pulse_bench *b,
                          const float *x, size_t n);
bool psr_pulse_trail_finish(const struct psr_singlepulse *p, size_t i, struct pulse_bench *b);

/* What a sum of 1 has of S/N in white noise. */
void psr_pulse_trail_scale(struct pulse_scale *s, size_t length);

/* Forgets masks that lie before p->pos. */
void psr_pulse_forget_masks(struct psr_singlepulse *p);

/* psr_singlepulse_finish where series lie on devices. */
PSR_MUST_CHECK psr_status psr_pulse_finish_partitions(struct psr_singlepulse *p, psr_err *err);
void psr_pulse_free_partitions(struct psr_singlepulse *p);

#endif
