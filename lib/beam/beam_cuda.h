/* beam_cuda.h: beams on a CUDA device (private).
 *
 * The state (beam_cuda_state.c) holds the data on the device.  The stream (beam_cuda.c) processes
 * pieces of voltages. */
#ifndef PSR_BEAM_BEAM_CUDA_H
#define PSR_BEAM_BEAM_CUDA_H

#include "base/device/cuda_call.h"
#include "beam_internal.h"
#include <beam/beam_kernels.h>

/* One of two: a piece's voltages and its rows, on the device. */
struct psr_beam_buffer {
    uint8_t *d_in, *h_in; /* h_in: page-locked, made for a caller whose memory is not */
    void *d_rows;
    cudaEvent_t copied, freed;  /* voltages have come; voltages are not needed any more */
    cudaEvent_t given, drained; /* rows are made; rows have gone */
};

struct psr_beam_cuda {
    const struct psr_beam_work *w;
    bool tensor;                 /* the grid is one that is compiled; else the slow kernels run */
    size_t row;                  /* bytes of a channel's polarisation at one time: a dish each */
    bool even;                   /* all channels have sums of one length */
    struct beam_k_layout layout; /* of the tensor path */

    uint32_t *d_tds;
    float *d_unit, *d_bright; /* [nfreq] of the tensor path */
    float *d_gain;            /* NULL: all 1 */
    int32_t *d_dish;          /* at each place or pair of places */
    uint32_t *d_table;
    uint16_t *d_write, *d_read;
    void *d_weight;
    struct beam_k_axis ns, ew; /* what of them the pattern and the path need */
    struct beam_k_beams beams; /* arbitrary ones of the tensor path */
    uint32_t *d_refine;        /* constants */
    float *d_offset, *d_scale;
    float *d_sum[2]; /* sums begun: before a piece, and after */
    float *d_part;   /* scratch of the slow path */
    float *d_split;  /* scratch of sums that are several thread blocks'; NULL: none are */

    void *d_grid; /* [nfreq][rows][4 m n]; NULL where beams are those of the grid */
    void *d_fine; /* that refined, for arbitrary beams of the tensor path */
    void *d_beam; /* intensities: psr_beam_cuda_lines */
    size_t rows;  /* that there is room for */
    size_t piece; /* samples at once */
    struct psr_beam_buffer buffer[2];
    cudaStream_t in, work, out;
    int current;               /* the buffer that the next piece uses */
    cudaEvent_t done[2];       /* of the last block begun and the one before, by turns */
    unsigned nblock;           /* begun */
    int64_t bytes, rows_bytes; /* allocated; of it what depends on rows */
    int64_t limit, refused;    /* of bytes; what would have gone beyond, 0: nothing */
    bool started;              /* the device was there */
};

/* Selects the device and allocates all memory.  c must be freed even on error. */
PSR_MUST_CHECK psr_status psr_beam_cuda_start(struct psr_beam_cuda *c, psr_err *err);
void psr_beam_cuda_free(struct psr_beam_cuda *c);

/* Layout of the intensities of nrow rows in d_beam. */
struct beam_k_lines psr_beam_cuda_lines(const struct psr_beam_cuda *c, size_t nrow, bool levels);

/* Intensities are made as levels. */
static inline bool psr_beam_cuda_levels(const struct psr_beam_cuda *c)
{
    return c->tensor && c->w->pattern != PSR_BEAM_GRID && c->w->nbit < 32;
}

/* Room for so many rows at once. */
cudaError_t psr_beam_cuda_make_room(struct psr_beam_cuda *c, size_t rows);

/* Counts bytes about to be allocated; cudaErrorMemoryAllocation where they go beyond the limit. */
cudaError_t psr_beam_cuda_count(struct psr_beam_cuda *c, size_t bytes);

/* The status of a call that failed at "what". */
psr_status psr_beam_cuda_fail(const struct psr_beam_cuda *c, cudaError_t e, const char *what,
                              psr_err *err);

/* Applies the work's directions and its output format. */
cudaError_t psr_beam_cuda_point(struct psr_beam_cuda *c);
cudaError_t psr_beam_cuda_quantise(struct psr_beam_cuda *c);

/* --- the dishes of a compiled grid in shared memory ------------------------------------------- */

/* The layout described in kernels/beam/beam_kernels.h: dish d is written at write[d]; half e of pair i
 * is read from read[2 i + e] and has dish[2 i + e], -1 for none.  No two dishes share a slot, and
 * no two of a round (32 of the same kind that are processed together) share a bank. */
struct psr_beam_slots {
    uint16_t *write, *read;
    int32_t *dish;
};

/* Status: PSR_ENOMEM.  Must be freed even on error. */
PSR_MUST_CHECK psr_status psr_beam_slots_make(struct psr_beam_slots *s,
                                              const struct beam_k_layout *l,
                                              const struct psr_beam_work *w, psr_err *err);
void psr_beam_slots_free(struct psr_beam_slots *s);

#endif
