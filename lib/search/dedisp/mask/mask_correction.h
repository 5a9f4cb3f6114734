/* mask_correction.h: restores the contribution of masked samples in dedispersed series (private).
 *
 * psr_clean outputs replaced samples as 0, so that integers stay integers, and a list of steps with
 * their values.  A step changes the value of all replaced samples of a channel from one spectrum
 * on.  In each trial it takes effect after that channel's delay, and between two changes the series
 * needs a constant correction, so the cost depends on the number of steps and not on the number of
 * replaced samples.  Sums are in fixed point: the result has the same bits for any block lengths.
 *
 * psr_clean_auto does not restore what it masks: its steps say how much of a channel's noise is missing, and
 * psr_mask_correction_equalise gives series a common scatter. */
#ifndef PSR_SEARCH_DEDISP_MASK_MASK_CORRECTION_H
#define PSR_SEARCH_DEDISP_MASK_MASK_CORRECTION_H

#include "base/base.h"
#include <psrkit/device.h>
#include <psrkit/experimental/clean.h>
#include <psrkit/experimental/dedisp.h>
#include <stdbool.h>

typedef struct psr_mask_correction psr_mask_correction;

struct psr_mask_correction_desc {
    const psr_dedisp *plan; /* plan that made the series; must outlive this object */
    size_t nchan, ndm, downsamp;
    double largest; /* upper limit of the absolute value of a step */
    int nthread;    /* 0: all cores */
    const unsigned char
        *keep; /* [nchan] 0: steps of a channel that is not in the series are passed over; borrowed;
                                  NULL: all are */
};

/* Status: PSR_EINVAL naming field, value and limit; PSR_ENOMEM. */
PSR_MUST_CHECK psr_status psr_mask_correction_create(psr_mask_correction **out,
                                                     const struct psr_mask_correction_desc *desc,
                                                     psr_err *err);

/* True if the next execute with nstep steps may change samples; otherwise its out may be NULL. */
bool psr_mask_correction_touches(const psr_mask_correction *p, size_t nstep);

/* Given:    step [nstep]   steps of kept channels for the spectra that the plan took since the last
 *                          execute here; in time order within a channel
 *           out [ndm][stride]   the n samples of each trial that the plan returned since then
 * Returned: out   plus (1/downsamp) x the sum of the values of the replaced samples
 * Status:   PSR_EINVAL (a value beyond largest), PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_mask_correction_execute(psr_mask_correction *p,
                                                      const struct psr_step *step, size_t nstep,
                                                      float *out, size_t stride, size_t n,
                                                      psr_err *err);

/* Noise of a series, of which steps tell what part is missing. */
struct psr_mask_noise {
    double level;    /* of the series */
    double variance; /* with all channels, in units of steps */
};

/* Less noise than this share leaves too little of a series. */
#define PSR_MASK_LEAST 0.125

/* As psr_mask_correction_execute, for steps of the missing variance v(t) of channels; their sum over the channels
 * of a sample of a series is V.
 * Given:    in [ndm][stride]
 * Returned: out [ndm][stride]   level + (in - level) sqrt(variance / (variance - V)), which has the scatter that
 *                               it has with all channels; not a number if variance - V is below PSR_MASK_LEAST
 *                               of variance; not in
 * Notes:    V of a sum of downsamp samples is their mean */
PSR_MUST_CHECK psr_status psr_mask_correction_equalise(psr_mask_correction *p,
                                                       const struct psr_step *step, size_t nstep,
                                                       const struct psr_mask_noise *noise,
                                                       const float *in, float *out, size_t stride,
                                                       size_t n, psr_err *err);

/* As psr_mask_correction_execute, for series on devices, with the same bits; an object takes either these or series on
 * the host.
 * Given:    series [nseries]   all series, in order; the same devices, series and streams in every call
 * Status:   PSR_EINVAL, PSR_ENOMEM, PSR_EDEVICE
 * Notes:    enqueues only */
PSR_MUST_CHECK psr_status psr_mask_correction_execute_device(
    psr_mask_correction *p, const struct psr_step *step, size_t nstep,
    const struct psr_device_series *series, size_t nseries, size_t n, psr_err *err);

/* As psr_mask_correction_equalise, in the same way.
 * Given:    in [nin]   all series, in order; the same devices, series and streams in every call
 * Returned: *out [nin], on the same devices and streams, valid until the next call; p's
 * Status:   PSR_EINVAL, PSR_ENOMEM, PSR_EDEVICE
 * Notes:    enqueues only */
PSR_MUST_CHECK psr_status psr_mask_correction_equalise_device(
    psr_mask_correction *p, const struct psr_step *step, size_t nstep,
    const struct psr_mask_noise *noise, const struct psr_device_series *in, size_t nin, size_t n,
    const struct psr_device_series **out, psr_err *err);

/* Frees the object; NULL is allowed. */
void psr_mask_correction_destroy(psr_mask_correction *p);

/* --- what a correction holds between blocks ---------------------------------------------------- */

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

/* --- edges (mask_device.c) --------------------------------------------------------------------- */

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

/* --- corrections on devices ------------------------------------------------------------------- */

/* What is missing of a series at a sample is a sum over channels of what is missing of each, delayed.
 * That depends on no earlier sample, so tiles of a series are independent. */

/* A change of what is missing of a channel, in fixed point: before it this much, at sample q by part more
 * and from sample q + 1 on by whole. */
struct psr_mask_device_edge {
    int64_t q, before, part, whole;
};

/* A channel and its edges [first, end), in the order of q; edge number end has "before" only. */
struct psr_mask_device_channel {
    uint32_t c, first, end;
};

struct psr_mask_device_partition {
    int device;
    void *stream; /* as in psr_device_series */
    size_t nseries, nchan;
    const int32_t
        *delay; /* [nseries][nchan] samples by which a series meets edges early; read at create */
};

/* Samples, and all edges that some series meets in them. */
struct psr_mask_device_chunk {
    float *d_in; /* [nseries][stride] */
    size_t stride, n;
    int64_t now; /* number of the first sample */
    const struct psr_mask_device_channel *channel;
    const struct psr_mask_device_edge *edge;
    size_t nchannel, nedge;
    int64_t constant; /* missing in other channels */
    double unit;      /* of fixed point */
    bool restore;     /* add what is missing to the series; else equalise them: */
    double level, variance;
};

struct psr_mask_device_ops {
    /* Status: PSR_EDEVICE, PSR_ENOMEM */
    psr_status (*create)(void **state, const struct psr_mask_device_partition *d, psr_err *err);
    /* Enqueues; what the chunk points to on the host may change afterwards.
     * Returned: *d_out [nseries][*stride], valid on the stream until the next run; to restore, d_in */
    psr_status (*run)(void *state, const struct psr_mask_device_chunk *chunk, float **d_out,
                      size_t *stride, psr_err *err);
    void (*destroy)(void *state);
};

extern const struct psr_mask_device_ops psr_mask_device_cuda;

#endif
