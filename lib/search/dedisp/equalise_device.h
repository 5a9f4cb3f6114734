/* equalise_device.h: what a kind of accelerator offers to psr_mask_correction_equalise_device (private).
 *
 * What is missing of a series at a sample is a sum over channels of what is missing of each, delayed.
 * That depends on no earlier sample, so tiles of a series are independent. */
#ifndef PSR_SEARCH_DEDISP_EQUALISE_DEVICE_H
#define PSR_SEARCH_DEDISP_EQUALISE_DEVICE_H

#include <psrkit/device.h>

/* A change of what is missing of a channel, in fixed point: before it this much, at sample q by part more
 * and from sample q + 1 on by whole. */
struct psr_equalise_edge {
    int64_t q, before, part, whole;
};

/* A channel and its edges [first, end), in the order of q; edge number end has "before" only. */
struct psr_equalise_channel {
    uint32_t c, first, end;
};

struct psr_equalise_partition {
    int device;
    void *stream; /* as in psr_device_series */
    size_t nseries, nchan;
    const int32_t
        *delay; /* [nseries][nchan] samples by which a series meets edges early; read at create */
};

/* Samples, and all edges that some series meets in them. */
struct psr_equalise_chunk {
    const float *d_in; /* [nseries][stride] */
    size_t stride, n;
    int64_t now; /* number of the first sample */
    const struct psr_equalise_channel *channel;
    const struct psr_equalise_edge *edge;
    size_t nchannel, nedge;
    int64_t constant; /* missing in other channels */
    double unit;      /* of fixed point */
    double level, variance;
};

struct psr_equalise_ops {
    /* Status: PSR_EDEVICE, PSR_ENOMEM */
    psr_status (*create)(void **state, const struct psr_equalise_partition *d, psr_err *err);
    /* Enqueues; what the chunk points to on the host may change afterwards.
     * Returned: *d_out [nseries][*stride], valid on the stream until the next run */
    psr_status (*run)(void *state, const struct psr_equalise_chunk *chunk, float **d_out,
                      size_t *stride, psr_err *err);
    void (*destroy)(void *state);
};

extern const struct psr_equalise_ops psr_equalise_cuda;

#endif
