/* pulse_device.h: what a kind of accelerator offers to the single-pulse search (private).
 *
 * Each device searches its share of the series and gives the pieces in which some boxcar is above
 * threshold; what in them is an event is settled on the host (singlepulse_device.c). */
#ifndef PSR_SEARCH_PULSE_DEVICE_H
#define PSR_SEARCH_PULSE_DEVICE_H

#include "pulse.h"

struct pulse_partition {
    int device;
    size_t first, nseries; /* of the plan's series */
    void *stream;          /* as in psr_device_series */
    size_t maxwidth, length;
    const struct pulse_scale *scale; /* read at create only */
    size_t block;                    /* samples of a push, about; 0: not known */
    float threshold;
    const size_t *sweep; /* [nseries] of the share; read at create only */
};

/* The next samples of the stream. */
struct pulse_chunk {
    const float *d_x; /* [nseries][stride] */
    size_t stride, n;
    int64_t pos;                        /* of the first */
    const struct psr_resample_bin *bin; /* [nbin] in order; their places count from sample at0 */
    size_t nbin, at0;
    size_t nout; /* samples that these become */
    const struct psr_span *mask;
    size_t nmask;
};

struct pulse_found {
    const struct pulse_loud *loud; /* [n] by series and piece */
    size_t n;
    const float
        *z; /* [maxwidth - 1 + length] flattened at each place: the end of the piece before, and
                       its own samples */
};

struct psr_pulse_device_ops {
    /* Status: PSR_EDEVICE, PSR_ENOMEM */
    psr_status (*create)(void **state, const struct pulse_partition *share, psr_err *err);
    /* Samples that one push takes, or makes of what it takes, at most. */
    size_t (*room)(const void *state);
    /* Enqueue the search of what a chunk completes; or, at the end of the stream, of all. */
    psr_status (*push)(void *state, const struct pulse_chunk *chunk, psr_err *err);
    psr_status (*finish)(void *state, int64_t end, psr_err *err);
    /* Waits for what was enqueued last and gives what it found in series *from and some after it;
     * *from becomes the next, *more says whether there is one.  To be called to the end before the
     * next push. */
    psr_status (*collect)(void *state, size_t *from, struct pulse_found *found, bool *more,
                          psr_err *err);
    /* That the device was busy with what has been collected. */
    double (*seconds)(const void *state);
    void (*destroy)(void *state);
};

extern const struct psr_pulse_device_ops psr_pulse_cuda;

#endif
