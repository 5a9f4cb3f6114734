/* accel_kernels.h: the matched search of accelsearch.h on the device, as a sieve.
 *
 * Bins are divided by the root of their local mean power (accel_level.cu), cut into blocks and
 * transformed (accel_block.cu).  A block times the
 * transform of a response, transformed back and squared, gives powers at half bins, of which the
 * most of a cell is kept as a bound (accel_correlate.cu).  Sums of bounds find the few places whose
 * harmonic sum may be above the cut (accel_scan.cu); the sums there are made again from the bins
 * (accel_scan.cu), with their error, so that the host need only look at what is above the cut or
 * within that error.
 *
 * Two spectra are searched at once: what is kept of powers are two halves, one of each. */
#ifndef PSR_KERNELS_ACCEL_KERNELS_H
#define PSR_KERNELS_ACCEL_KERNELS_H

#include "search/matched/response/accel_internal.h"

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    ACCEL_PAIR = 2,         /* spectra */
    ACCEL_BLOCK = 2048,     /* bins */
    ACCEL_ALIGN = 64,       /* lead and good are multiples of this */
    ACCEL_SCAN_CELLS = 256, /* of a thread block */
};

/* The precision of transforms. */
enum accel_k_number { ACCEL_FLOAT, ACCEL_HALF };

/* Normalised bins of a pair. */
struct accel_k_bins {
    const float *d_x[ACCEL_PAIR]; /* [nbin][2]; NULL: no such spectrum */
    int64_t nbin;
};

/* How correlations are cut into blocks and cells: block b is bins b good - lead .., and half bins 2 b
 * good .. 2 (b + 1) good - 1 come of it, in cells of so many half bins, 1, 2 or 4. */
struct accel_k_cut {
    int lead, good, cell;
};

/* --- normalisation ---------------------------------------------------------------------------- */

/* Of one spectrum by the medians of its blocks, to the bits of response.h. */
struct accel_k_level {
    float *d_x; /* [nbin][2] */
    int64_t nbin;
    const int64_t *d_first; /* [nblock + 1] where blocks begin, and the end */
    int nblock;
    int longest;                  /* of the blocks; shared memory has its powers, 48 KB for 12288 */
    const struct psr_span *d_zap; /* [nzap] ascending, apart, within the spectrum */
    int nzap;
    const uint64_t *d_bad; /* of accel_k_find_bad: if there is one, all bins become 0 */
    double *d_mean;        /* [nblock] returned */
};

/* Returned: *d_bad   the lowest of n floats that is not finite; all bits where none is */
cudaError_t accel_k_find_bad(const float *d_x, int64_t n, uint64_t *d_bad, cudaStream_t stream);

/* The mean power of blocks from that of their bins that are not zapped; and bins over its root, those
 * zapped and bin 0 as 0. */
cudaError_t accel_k_normalise(const struct accel_k_level *l, cudaStream_t stream);

/* --- factors ---------------------------------------------------------------------------------- */

/* Bytes of a transform's factors and of a response, and what they hold: the host fills them.
 * Given: re, im [2048] of the transform at whole bins, and of that half a bin above */
size_t accel_k_twiddle_bytes(enum accel_k_number kind);
size_t accel_k_response_bytes(enum accel_k_number kind);
void accel_k_twiddle_fill(enum accel_k_number kind, void *twiddle);
void accel_k_response_fill(enum accel_k_number kind, void *response, const float *const re[2],
                           const float *const im[2]);

/* --- blocks ----------------------------------------------------------------------------------- */

/* Transforms of nblock blocks of both spectra, from block first on. */
struct accel_k_blocks {
    enum accel_k_number kind;
    struct accel_k_bins bins;
    struct accel_k_cut cut;
    int64_t first;
    int nblock;
    const void *d_twiddle; /* of ACCEL_FLOAT */
    void *d_x;             /* [nblock] accel_k_block_bytes, over their rms amplitude */
    float *d_square;       /* [nblock][ACCEL_PAIR] mean |x|^2 */
};

size_t accel_k_block_bytes(enum accel_k_number kind);
cudaError_t accel_k_transform(const struct accel_k_blocks *b, cudaStream_t stream);

/* --- bounds ----------------------------------------------------------------------------------- */

/* Bounds of blocks that follow each other, of templates |j| <= jmax, |l| <= lmax.  Cell c, counted
 * from origin, of row (l + lmax)(2 jmax + 1) + j + jmax is number
 * (c mod nstream) pitch / nstream + c / nstream of the row, nstream = 16 / cell. */
struct accel_k_strip {
    int jmax, lmax;
    int64_t origin;
    int64_t pitch;     /* cells from row to row */
    uint32_t *d_bound; /* [rows][pitch] two halves */
};

struct accel_k_correlation {
    enum accel_k_number kind;
    struct accel_k_cut cut;
    int nblock;
    const void *d_x;
    const float *d_square;
    const void *d_twiddle, *d_response; /* of the kind; response (j, l) of the bank is number
                                      * (l + bank_lmax)(2 bank_jmax + 1) + j + bank_jmax */
    int bank_jmax, bank_lmax;
    struct accel_k_strip strip;
    float scale, shift; /* a bound is scale power + shift mean |x|^2 */
};

cudaError_t accel_k_correlate(const struct accel_k_correlation *c, cudaStream_t stream);

/* --- places ----------------------------------------------------------------------------------- */

/* A cell of the highest harmonic, from the first of the scan on, whose sum of 2^stage bounds is above
 * the cut. */
struct accel_k_entry {
    uint32_t cell;
    int16_t j, l;
    uint16_t stage, spec;
};

struct accel_k_scan {
    struct accel_k_strip strip[PSR_ACCELSEARCH_MAX_HARM + 1]; /* [k]: of fraction k / numharm */
    int numharm, nstage, cell;
    int64_t first;
    uint32_t ncell;
    int jlo, jhi, llo, lhi;            /* drifts and jerks, both ends included */
    float cut[PSR_ACCELSEARCH_NSTAGE]; /* below the search's by what halves are rounded */
    struct accel_k_entry *d_entry;
    uint32_t cap, *d_count; /* counts those that found no room, too */
};

/* The largest cut that halves can tell; all above passes it. */
#define ACCEL_MOST_CUT 60000.0F

cudaError_t accel_k_find(const struct accel_k_scan *s, cudaStream_t stream);

/* An entry whose best sum is at most high and at least low. */
struct accel_k_hit {
    struct accel_k_entry entry;
    float high, low;
};

struct accel_k_verify {
    struct accel_k_bins bins;
    const float *d_taps;  /* of the bank */
    const uint64_t *d_at; /* [ntemplate] where a template's begin */
    const int *d_half;    /* [ntemplate] bins to both sides */
    int bank_jmax, bank_lmax;
    int numharm, cell;
    int64_t first; /* cell of the scan */
    int64_t ilo, ihi;
    float cut[PSR_ACCELSEARCH_NSTAGE];
    const struct accel_k_entry *d_entry;
    const uint32_t *d_nentry;
    uint32_t entry_cap;
    struct accel_k_hit *d_hit; /* in any order */
    uint32_t cap, *d_count;
};

cudaError_t accel_k_confirm(const struct accel_k_verify *v, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
