/* beam_backend.h: interface between beam.c and a backend (private).
 *
 * beam.c validates and copies the description, reduces directions and counts samples, so that all
 * backends agree on these. */
#ifndef PSR_BEAM_BEAM_BACKEND_H
#define PSR_BEAM_BEAM_BACKEND_H

#include "base/own.h"
#include <psrkit/experimental/beam.h>

/* A validated description.  Input [t][f][p][d], d < ndish; dish d is at grid position cell[d]. */
struct psr_beam_work {
    size_t m, n; /* grid size M and N, each in 1..PSR_ARRAY_GRID_MAX */
    size_t ndish, nfreq;
    int32_t *cell; /* [ndish] m N + n, or -1: input not used */
    size_t *tds;   /* [nfreq] */
    size_t tds_min, tds_max;
    uint8_t flip;     /* XORed with a byte, gives two's complement in both nibbles: 0 or 0x88 */
    bool real_low;    /* the real part is in the low nibble, otherwise in the high one */
    float *weight;    /* [nfreq][2][ndish][2]; NULL: all 1 */
    float weight_max; /* largest modulus of a weight of a dish on the grid; 1 if NULL */

    enum psr_beam_pattern pattern;
    size_t nbeam;      /* of any pattern */
    size_t n_ns, n_ew; /* lists' lengths: nbeam and nbeam for POINTS, 0 and 0 for GRID */
    double *theta_ns;  /* [nfreq][n_ns] reduced to [0, M); NULL for GRID.  psr_beam_point changes */
    double *theta_ew;  /* [nfreq][n_ew] reduced to [0, N) */

    int nbit;      /* of the output: 32 floats, 8 or 4.  psr_beam_quantise changes these */
    float *offset; /* [nfreq]; set where nbit < 32 */
    float *scale;  /* [nfreq] */

    int nthread;       /* >= 1 */
    int64_t mem_bytes; /* > 0 */
    int device;
    struct psr_own own;
};

/* Where rows go: [nbeam][stride] of nfreq nbit / 8 bytes. */
struct psr_beam_out {
    void *rows;
    size_t stride;
    bool on_device; /* the rows lie there; never where the device is the host */
};

struct psr_beam_ops {
    const char *name;

    /* Keeps w, which outlives the state.  PSR_EDEVICE if the device is absent. */
    psr_status (*create)(void **state, const struct psr_beam_work *w, psr_err *err);

    /* Applies w's new directions, or its new nbit, offset and scale. */
    psr_status (*point)(void *state, psr_err *err);
    psr_status (*quantise)(void *state, psr_err *err);

    /* Takes samples t0 .. t0 + nt - 1 of the stream and gives the sums of channel f numbered
     * t0 / tds[f] .. (t0 + nt) / tds[f] - 1 in rows 0, 1, ... of out.  nrow is the largest count of
     * any channel; nt and nrow may be 0.  Where w->tds_min < w->tds_max beam.c has put 0 into the
     * nrow rows of every beam, but for those on a device.  The first sum
     * goes on from what the last execute left of it (nothing where t0 is 0).  An output is
     * quantised as psr_beam_quantise_value does.  Where there is a wait, in and out may be in use until it
     * has returned with no more than "left" (0 or 1) executes under way; before a third begins, and
     * before point, quantise and reset, beam.c waits. */
    psr_status (*execute)(void *state, const uint8_t *in, size_t nt, uint64_t t0,
                          const struct psr_beam_out *out, size_t nrow, psr_err *err);
    psr_status (*wait)(void *state, size_t left, psr_err *err);
    void (*reset)(void *state);

    /* Suggested samples per execute. */
    size_t (*block)(const void *state);
    int64_t (*bytes)(const void *state); /* allocated */
    void (*destroy)(void *state);

    /* Allocates host memory for in and out; and, for rows that stay, memory of the device: NULL for a
     * backend whose device is the host. */
    psr_status (*alloc)(int device, size_t bytes, void **memory, psr_err *err);
    void (*free)(void *memory);
    psr_status (*alloc_device)(int device, size_t bytes, void **memory, psr_err *err);
    void (*free_device)(void *memory);
};

extern const struct psr_beam_ops psr_beam_cpu, psr_beam_cuda;

/* Quantised value of intensity x: rounds half to even, no fused multiply-add, 0 for NaN. */
static inline unsigned psr_beam_quantise_value(float x, float offset, float scale, float top)
{
    float y = (x - offset) * scale;
    y = y > 0 ? (y < top ? y : top) : 0;
    return (unsigned)__builtin_rintf(y);
}

#endif
