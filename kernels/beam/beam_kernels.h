/* beam_kernels.h: computes intensity beams of a grid of dishes on the device (Smith 2022).
 *
 * beam_k_form computes the sums I[f][k][p][q] of |E|^2 on the half-integer grid from voltages, with
 * short Fourier transforms on tensor cores for compiled grids; beam_k_form_any is the slow version
 * for all other grids.  beam_k_refine and beam_k_points convert them to arbitrary directions,
 * beam_k_product to products of directions, and beam_k_emit reorders the result for filterbanks.
 *
 * The tensor path uses units that stay within the range of half precision: weights are divided by
 * unit[f], a power of two, and half-precision results of beam_k_form must be multiplied by
 * bright[f]. */
#ifndef PSR_KERNELS_BEAM_KERNELS_H
#define PSR_KERNELS_BEAM_KERNELS_H

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    BEAM_ROUND = 32, /* dishes that a warp writes or reads at once; number of banks */
};

/* Shared-memory layout of a compiled grid.  Voltages of dish d are written to slot write[d].  The
 * input of the transform is "words" pairs of positions (m, n), (m, n + 1), n even; pair i is read
 * from slots read[i][0] and read[i][1], and has the dishes dish[i][0] and dish[i][1]. */
struct beam_k_layout {
    int words;  /* pairs of positions, 0: this grid is not compiled */
    int slots;  /* words of shared memory for each two samples of two polarisations */
    int dishes; /* at most */
    int tables; /* words of constants */
};
struct beam_k_layout beam_k_find_layout(size_t m, size_t n);

/* Position of half (0, 1) of pair i, as m N + n, or -1 outside the grid. */
int beam_k_place(size_t m, size_t n, int i, int half);

/* Voltages and sums to compute.  All arrays are on the device.  nt >= 1, and there are fewer than
 * 65536 sums. */
struct beam_k_input {
    size_t m, n, ndish, nfreq, nt;
    const uint8_t *d_in;   /* [nt][nfreq][2][ndish]; for beam_k_form ndish is a multiple of 4 */
    uint8_t flip;          /* XORed with a byte: two's complement in both nibbles */
    int real_low;          /* the real part is in the low nibble */
    uint64_t t0;           /* index in the stream of the first sample */
    const uint32_t *d_tds; /* [nfreq] */
    uint32_t tds_min;
    const float *d_begun; /* [nfreq][4 m n] sums begun before t0 */
    float *d_left;        /* [nfreq][4 m n] those begun and not complete */
};

/* Largest number of sums, complete or not, that the samples of any channel contribute to. */
static inline unsigned beam_k_sums(const struct beam_k_input *in)
{
    return (unsigned)((in->nt + in->tds_min - 2) / in->tds_min + 1);
}

/* Output of the sums: floats, or halves times bright[f]. [nfreq][nrow][4 m n], where row 0 is the
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
    int real_low;          /* as the input: the conjugates are then used, and beams are mirrored */
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
    float *d_split; /* scratch of beam_k_split_bytes; NULL: a sum is one thread block's always */
};
size_t beam_k_split_bytes(size_t m, size_t n, size_t nfreq);
cudaError_t beam_k_form(const struct beam_k_input *in, const struct beam_k_tensor *tensor,
                        const struct beam_k_grid *out, cudaStream_t stream);

/* --- to directions ---------------------------------------------------------------------------- */

/* Along one axis of n places a direction has 2n factors U (eq. 8).  For beam_k_product they are
 * halves, the registers of left factors (ptx.cuh), [nfreq][tiles of 16][2n / 8][lane] of 8 bytes;
 * for any other grid they are floats, [nfreq][2n][ndir]. */
struct beam_k_axis {
    size_t n, ndir;
    const double *d_theta; /* [nfreq][ndir] */
    void *d_left;
    float *d_factor;
};
size_t beam_k_left_bytes(size_t n, size_t ndir, size_t nfreq);

/* Computes the outputs whose pointers are not NULL. */
cudaError_t beam_k_make_factors(const struct beam_k_axis *axis, size_t nfreq, cudaStream_t stream);

/* For arbitrary beams the sums are refined along the second axis, to 4n places, of which a beam
 * needs 5.  Quad i is places 4i .. 4i + 3; [nfreq][nrow][n quads][2m][4] halves. */
enum {
    BEAM_QUAD = 4,
    BEAM_TAPS = 5,
    BEAM_TILE = 32, /* beams of a channel whose places begin in one quad; some may be missing */
};

/* Arbitrary beams in tiles, those of quad i being first[i] .. first[i + 1] - 1; a channel has room
 * for "tiles" of them.  Along the second axis a beam has a factor of each place of two quads, along
 * the first its factors U, those of beams i, i + 8, i + 16, i + 24 together. */
struct beam_k_beams {
    size_t m, n, nbeam, tiles;
    const double *d_ns, *d_ew; /* [nfreq][nbeam] directions */
    uint32_t *d_first;         /* [nfreq][n + 1] */
    int32_t *d_beam;           /* [nfreq][tiles][32], -1: missing */
    void *d_taps;              /* [nfreq][tiles][32][8] halves */
    void *d_factor;            /* [nfreq][tiles][2m][8][4] halves */
};
size_t beam_k_tiles(size_t n, size_t nbeam);
cudaError_t beam_k_make_beams(const struct beam_k_beams *beams, size_t nfreq, cudaStream_t stream);

/* Converts sums of beam_k_form to refined ones. */
struct beam_k_finer {
    size_t m, n, nfreq, nrow;
    const uint32_t *d_table; /* of beam_k_make_refine_table */
    const void *d_half;
    void *d_fine;
};
size_t beam_k_refine_table_bytes(size_t n);
cudaError_t beam_k_make_refine_table(size_t n, uint32_t *d_table, cudaStream_t stream);
cudaError_t beam_k_refine(const struct beam_k_finer *r, cudaStream_t stream);

/* Intensities of a channel as lines of "length" elements: floats, or levels of a byte each.  Rows
 * last (hold > 0), [nfreq][nbeam][length]: of each "hold" elements the first "run" are rows.  Rows
 * first, [nfreq][nrow][tiles][n_ns][side]: element j of a tile's side is a beam if tile * side + j
 * is below n_ew.  A channel has fewer than 2^32 elements. */
struct beam_k_lines {
    size_t count, length; /* of a channel; of one */
    unsigned hold, run;
    unsigned tiles, side, n_ew;
};
struct beam_k_lines beam_k_points_lines(size_t nbeam, size_t nrow, int levels);
struct beam_k_lines beam_k_product_lines(size_t n_ns, size_t n_ew, size_t nrow, int levels);

/* Converts sums on the grid to intensities in directions, quantised if nbit is not 32. */
struct beam_k_steer {
    size_t m, n, nfreq, nrow;
    const void *d_half;   /* of beam_k_form; of beam_k_refine for beam_k_points */
    const float *d_float; /* or of beam_k_form_any */
    const float *d_bright;
    const struct beam_k_beams *beams; /* of beam_k_points, else: */
    const void *d_ns, *d_ew;          /* factors */
    size_t n_ns, n_ew;                /* directions of each; equal for points */
    int nbit;
    const float *d_offset, *d_scale; /* [nfreq] */
    void *d_beam;                    /* lines of the functions above; rows first of beam_k_any */
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
/* product: 0 for points.  Factors are floats; intensities too, rows first. */
cudaError_t beam_k_steer_any(const struct beam_k_steer *s, int product, cudaStream_t stream);

/* --- to rows of filterbanks ------------------------------------------------------------------- */

/* Converts lines to the first nrow of [nbeam][stride][nfreq], quantised; rows that a channel does not
 * have are 0. */
struct beam_k_rows {
    size_t nfreq, nrow, stride;
    struct beam_k_lines lines;
    int levels; /* they are: 0 for floats */
    const void *d_beam;
    uint64_t t0;
    size_t nt;
    const uint32_t *d_tds;
    int nbit;
    const float *d_offset, *d_scale;
    void *d_out;
};
cudaError_t beam_k_emit(const struct beam_k_rows *rows, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
