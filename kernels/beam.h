/* beam.h: intensity beams of a grid of dishes on the device (Smith 2022).
 *
 * beam_k_form makes the sums I[f][k][p][q] of |E|^2 on the half-integer grid from voltages, by
 * short Fourier transforms on tensor cores for the grids it is compiled for, and beam_k_form_any
 * for every other grid, slowly.  beam_k_points and beam_k_product take them to directions, and
 * beam_k_give brings the result into the order of filterbanks.
 *
 * The tensor path works in units that keep half precision in range: weights are divided by
 * unit[f], a power of two, and what beam_k_form gives as halves is multiplied by bright[f]. */
#ifndef PSR_KERNELS_BEAM_H
#define PSR_KERNELS_BEAM_H

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    BEAM_ROUND = 32, /* dishes that a warp writes or reads at once, and banks */
};

/* How a compiled grid's dishes go through shared memory.  Voltages of dish d are put at slot
 * write[d].  The transform's input is "words" pairs of places (m, n), (m, n + 1), n even; pair i
 * is read from slots read[i][0] and read[i][1], and has the dishes dish[i][0] and dish[i][1]. */
struct beam_k_layout {
    int words;  /* pairs of places, 0: this grid is not compiled */
    int slots;  /* words of shared memory for each two samples of two polarisations */
    int dishes; /* at most */
    int tables; /* words of constants */
};
struct beam_k_layout beam_k_find_layout(size_t m, size_t n);

/* Place of half (0, 1) of pair i, as m N + n, or -1 beyond the grid's edge. */
int beam_k_place(size_t m, size_t n, int i, int half);

/* Voltages and what is to be summed.  All arrays are on the device.  nt >= 1, and there are fewer
 * than 65536 sums. */
struct beam_k_input {
    size_t m, n, ndish, nfreq, nt;
    const uint8_t *d_in;   /* [nt][nfreq][2][ndish]; for beam_k_form ndish is a multiple of 4 */
    uint8_t flip;          /* XORed with a byte: two's complement in both nibbles */
    int real_low;          /* the real part is in the low nibble */
    uint64_t t0;           /* of the stream: sample of the first */
    const uint32_t *d_tds; /* [nfreq] */
    uint32_t tds_min;
    const float *d_begun; /* [nfreq][4 m n] sums begun before t0 */
    float *d_left;        /* [nfreq][4 m n] those begun and not complete */
};

/* Sums, complete or not, that the samples of any channel have a part in, at most. */
static inline unsigned beam_k_sums(const struct beam_k_input *in)
{
    return (unsigned)((in->nt + in->tds_min - 2) / in->tds_min + 1);
}

/* What the sums become: floats, or halves times bright[f].  [nfreq][nrow][4 m n], row 0 being the
 * first sum of its channel that is complete after sample row_t0 of the stream. */
struct beam_k_grid {
    size_t nrow;
    uint64_t row_t0;
    float *d_float; /* NULL: as halves */
    void *d_half;
    const float *d_bright; /* [nfreq] */
};

/* Constants of the tensor path for a grid, and its weights. */
cudaError_t beam_k_make_tables(size_t m, size_t n, uint32_t *d_table, cudaStream_t stream);

struct beam_k_weights {
    const float *d_gain;   /* [nfreq][2][ndish][2]; NULL: all 1 */
    const int32_t *d_dish; /* [words][2], -1: none */
    const float *d_unit;   /* [nfreq] */
    int real_low;          /* as the input: then the conjugates are kept, and beams come mirrored */
    void *d_packed;        /* [nfreq][2][words] of 8 bytes */
};
/* ndish: of d_gain */
cudaError_t beam_k_pack_weights(const struct beam_k_weights *w, size_t nfreq, size_t ndish,
                                int words, cudaStream_t stream);

struct beam_k_tensor {
    const uint32_t *d_table;
    const uint16_t *d_write; /* [dishes] */
    const uint16_t *d_read;  /* [words][2] */
    const void *d_weight;    /* of beam_k_pack_weights */
    const float *d_unit;     /* [nfreq] */
};
cudaError_t beam_k_form(const struct beam_k_input *in, const struct beam_k_tensor *tensor,
                        const struct beam_k_grid *out, cudaStream_t stream);

/* --- to directions ---------------------------------------------------------------------------- */

/* Along one axis of n places a direction has 2n factors U (eq. 8).  For the tensor path they are
 * halves: "left", the registers of left factors (half.cuh), [nfreq][tiles of 16][2n / 8][lane] of 8
 * bytes; and "scale", [nfreq][tiles of 32][2n][8][4] factors of directions i, i + 8, ....
 * For any other grid they are floats, [nfreq][2n][ndir]. */
struct beam_k_axis {
    size_t n, ndir;
    const double *d_theta; /* [nfreq][ndir] */
    void *d_left, *d_scale;
    float *d_factor;
};
size_t beam_k_left_bytes(size_t n, size_t ndir, size_t nfreq);
size_t beam_k_scale_bytes(size_t n, size_t ndir, size_t nfreq);

/* Makes what has a place (is not NULL). */
cudaError_t beam_k_make_factors(const struct beam_k_axis *axis, size_t nfreq, cudaStream_t stream);

/* Sums on the grid to sums at directions, d_beam [nfreq][nrow][nbeam] floats. */
struct beam_k_steer {
    size_t m, n, nfreq, nrow;
    const void *d_half;      /* of beam_k_form */
    const float *d_float;    /* or of beam_k_form_any */
    const float *d_bright;   /* [nfreq] */
    const void *d_ns, *d_ew; /* factors: POINTS scale and left; PRODUCT left and left */
    size_t n_ns, n_ew;       /* directions of each; equal for points */
    float *d_beam;
};
cudaError_t beam_k_points(const struct beam_k_steer *s, cudaStream_t stream);
cudaError_t beam_k_product(const struct beam_k_steer *s, cudaStream_t stream);

/* --- any grid --------------------------------------------------------------------------------- */

struct beam_k_any {
    const int32_t *d_dish; /* [m n], -1: none */
    const float *d_gain;   /* [nfreq][2][ndish][2]; NULL: all 1 */
    float *d_part;         /* scratch, beam_k_any_bytes for each sample */
};
size_t beam_k_any_bytes(size_t m, size_t n, size_t nfreq);
cudaError_t beam_k_form_any(const struct beam_k_input *in, const struct beam_k_any *any,
                            const struct beam_k_grid *out, cudaStream_t stream);
/* product: 0 for points.  Factors are floats. */
cudaError_t beam_k_steer_any(const struct beam_k_steer *s, int product, cudaStream_t stream);

/* --- to rows of filterbanks ------------------------------------------------------------------- */

/* [nfreq][nrow][nbeam] to [nbeam][stride][nfreq], quantised; rows a channel does not have are 0. */
struct beam_k_rows {
    size_t nfreq, nrow, nbeam;
    const float *d_beam;
    uint64_t t0;
    size_t nt;
    const uint32_t *d_tds;
    int nbit;
    const float *d_offset, *d_scale;
    void *d_out;
};
cudaError_t beam_k_give(const struct beam_k_rows *rows, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
