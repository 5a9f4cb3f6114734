/* mask_device.h: what a kind of accelerator offers to a mask correction (private).
 *
 * What is missing of a series at a sample is a sum over channels of what is missing of each, delayed.
 * That depends on no earlier sample, so tiles of a series are independent. */
#ifndef PSR_SEARCH_DEDISP_MASK_MASK_DEVICE_H
#define PSR_SEARCH_DEDISP_MASK_MASK_DEVICE_H

#include <psrkit/device.h>
#include <stdbool.h>

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
